"""`uv run` in containers on several nodes: the environment is created once, before all nodes use it.

Each `uv run` updates the environment of its project; on all nodes at once, in a shared folder, they would write the
same files. So `uv sync` runs once, in a container of its own, and the launcher with `--no-sync`.
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import lines_before
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.convert.written_words import WrittenWords
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import read, syntax
from sbatchlint.job.containers import is_pyxis_option
from sbatchlint.source.edits import Edit, insert

# Options of `uv run` that `uv sync` has too (uv 0.9).
_SHARED = "extra group only-group no-group p/python python project directory package"
_FLAGS = "all-extras all-groups dev no-dev only-dev frozen locked no-editable all-packages"
_RUN = syntax(_SHARED, _FLAGS)


def synced(job: Job, launch: Launch) -> Iterator[Edit]:
    """The edits that create the environment once; none if that is not needed, or it is unknown how."""
    uv = next((each for each in launch.invocation.ancestors() if each.name == "uv"), None)
    container = launch.container
    if uv is None or container is None or len(uv.argv) < 2 or text_of(uv.argv[1]) != "run":
        return
    reading = read(uv.argv, 2, _RUN)
    names = {each.name for each in reading.options}
    if not names <= {*_words(_SHARED), *_FLAGS.split()} or job.in_quoted_text(uv.name_span.start):
        return
    words = WrittenWords(job, uv)
    run = words.span(1)
    inside = _in_container(job, launch, words)
    options = [words.text(at) for at in range(2, reading.operand or 2)]
    line = lines_before(job, launch, [" ".join([inside, "uv sync", *options])]) if inside else None
    if line is not None and run is not None:
        yield line
        yield insert(run.end, " --no-sync")


def _words(names: str) -> set[str]:
    return {each.rpartition("/")[2] for each in names.split()}


def _in_container(job: Job, launch: Launch, uv: WrittenWords) -> str | None:
    """The words that start a command once in the container of a launch; None if they are unknown."""
    step = launch.step
    if launch.container is not None and launch.container.kind == "pyxis":
        if step is None or not step.certain:
            return None
        words = WrittenWords(job, step.invocation)
        options = [
            words.text(option.word)
            if option.word == option.value_word
            else f"{words.text(option.word)} {words.text(option.value_word)}"
            for option in step.all_options
            if is_pyxis_option(option.name) and option.word
        ]
        return " ".join(["srun --nodes=1 --ntasks=1", *options])
    entering: Invocation | None = uv.command.context.parent
    if entering is None or entering.name not in ("apptainer", "singularity"):
        return None
    text = job.source.own.text[entering.name_span.start : uv.command.name_span.start]
    return text.replace("\\\n", " ").strip()
