"""A launcher inside a string that a shell in a container reads: `apptainer exec IMAGE bash -c "cd /w; torchrun …"`.

The whole container runs on every node, and no other shell is needed: the one that reads the string gets its node from
Slurm, if the container inherits the environment of the job.
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import DOLLARS, is_proven, name_span
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.words import CommandWords
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Setting
from sbatchlint.job.steps import Step
from sbatchlint.programs import programs_with
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

# Commands that may run on every node.
_HARMLESS = frozenset({
    ".", ":", "[", "[[", "activate", "basename", "cat", "cd", "cut", "date", "declare", "dirname", "echo", "env",
    "exec", "exit", "export", "expr", "grep", "head", "hostname", "id", "ls", "module", "nproc", "nvidia-smi",
    "printf", "pwd", "read", "readlink", "realpath", "rocm-smi", "seq", "set", "shopt", "sleep", "source", "tail",
    "test", "time", "tr", "trap", "true", "type", "ulimit", "umask", "uname", "unset", "wait", "wc", "which",
    "whoami",
})  # fmt: skip
# Commands that change the container, of which every node has one.
_INSTALLING = programs_with("installs")


class InsideWords(CommandWords):
    """The words of a launcher in such a string. Raises `NotConvertible` if they cannot be changed there."""

    def start(self, command: Invocation, name: Span) -> int:
        if name.end > len(self.text):
            raise NotConvertible("the launcher is not in the script itself: write it there")
        if self.launch.container is not None and not self.launch.container.passes("SLURM_NODEID"):
            raise NotConvertible("its container does not get the environment of the job, and cannot know its node")
        return command.name_span.start

    def origin(self, setting: Setting, value: str, variable: str) -> Edit | None:
        """Changes the value of the option itself, since the string runs on all nodes."""
        piece = self._literal(setting.value)
        if piece is None:
            raise NotConvertible(f"the value of {setting.name} is put together of several parts: write it as one")
        return self._replaced(piece, variable) if self.job.in_quoted_text(piece.start) else super().origin(
            setting, value, variable
        )  # fmt: skip

    def _replaced(self, piece: Span, value: str) -> Edit:
        return Edit(piece, value) if self.job.in_quoted_text(piece.start) else super()._replaced(piece, value)

    def started(self, rank: str | None, added: list[str]) -> list[Edit]:
        start, end = self.prefix.start, name_span(self.launch).end
        before = [insert(start, self.srun)] if self.srun else []
        words = "".join(f" {each}" for each in added).replace('"', "")
        if rank is None:
            return [*before, insert(end, words)] if words else before
        option = rank.replace('"', "")
        name = option[2:].partition("=")[0].replace("-", "_")
        removed = [self.without(name)] if name in self.launcher.options else []
        for dollar in DOLLARS:
            edits = [*before, insert(end, f" {option.replace('$', dollar)}{words}")]
            if is_proven(self.job, self.launch, [*edits, *removed], partial(_knows_node, name)):
                return edits
        raise NotConvertible(f"{self.launcher.name} cannot be told its node inside this string")

    def replaced(self, shell: str, end: int) -> list[Edit]:
        raise NotConvertible(f"{self.launcher.name} is inside a string: start it on its own")


def told_in_string(words: CommandWords, variable: str) -> Iterator[Edit]:
    """The edits that start a launcher in a string, whose shell sets `variable` to the node of its task.

    Raises `NotConvertible`.
    """
    job, launch = words.job, words.launch
    first = launch.invocation
    while first.parent is not None and first.parent is not words.reader:
        first = first.parent
    start, srun = first.name_span.start, [insert(words.prefix.start, words.srun)] if words.srun else []
    accept = partial(_knows_node, "node_rank")
    if launch.step is not None and accept(launch):
        return
    for dollar in DOLLARS if job.in_quoted_text(start) else ():
        edits = [*srun, insert(start, f"{variable}={dollar}SLURM_NODEID ")]
        if is_proven(job, launch, edits, accept):
            yield from edits
            return
    raise NotConvertible(f"{launch.launcher.name} cannot be told its node inside this string")


def _knows_node(name: str, launch: Launch) -> bool:
    """Whether a launcher is told by its option or variable `name` the node of its task, in the task."""
    setting = launch.launcher.setting(name)
    return setting is not None and any(
        expansion.name == "SLURM_NODEID" and expansion.phase is Phase.TASK
        for expansion in expansions(setting.value or ())
    )


def is_inside(job: Job, launch: Launch) -> bool:
    """Whether a launcher is in a string that a shell in a container reads."""
    return launch.container is not None and job.in_quoted_text(launch.launcher.span.start)


def is_in_other_file(job: Job, launch: Launch) -> bool:
    """Whether a launcher is in a file other than the script."""
    return name_span(launch).end > len(job.source.own.text)


def on_every_node(job: Job, launch: Launch) -> Iterator[str]:
    """To-dos for the other commands of the string or the file, which now run on all nodes."""
    if not is_inside(job, launch) and not is_in_other_file(job, launch):
        return
    enclosing = list(launch.invocation.ancestors())
    shell = next((each for each in enclosing if not isinstance(each.spawn.info, Step) and each.text is not None), None)
    own = {each.span for each in (launch.invocation, *enclosing)}
    for command in () if shell is None else shell.descendants():
        known = command.name in _HARMLESS | _INSTALLING or command.span in own
        if not known and launch.invocation not in command.ancestors():
            line = job.line(command.span.start)
            yield f"see that {command.name} on line {line} may run on every node, as it does now"
