"""Tasks of an array interfere with each other: each creates the same environment, clone or file.

Tasks of an array start together. `python -m venv env` in each of them writes one folder from all: one task replaces
files that another installs into or already imports, and pip fails or leaves half a package. `conda create` asks whether
to remove what is there, gets no answer, and ends. `git clone` refuses a folder that another task has begun.

A test before it does not help: `[ -f ref.fa.fai ] || samtools faidx ref.fa` finds the file missing in all tasks that
start together. All write it, and one that comes later finds a file that is not complete yet.

Nothing is reported where the place is that of the task or on its node, where only one task of the array does it, where
the tasks run one by one (`%1`), and where `flock` is used.

## Fix

None: make it once, before the array is submitted, or in a job that the array waits for (`--dependency=afterok`), or for
each task in `$SLURM_TMPDIR`.

## References

sbatch(1), "Job arrays"; venv(1); git-clone(1): "Cloning into an existing directory is only allowed if the directory is
empty"; run with Python 3.11 and git 2.39, two at once.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

from sbatchlint.analysis.expansion.array_elements import INDEX, index_names, is_at_one_place, several_elements
from sbatchlint.analysis.storage.written_paths import values_in
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.launchers import python_of
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import classify, key
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.slurm.grammar.arrays import indexes
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB727", "made-by-every-task", severity="warning", fix="never", since="0.1.0", batch=True,
    seen="a review of public scripts", unseen="In some tasks: a half-installed package, a file that is not complete.",
)  # fmt: skip

_CONDA = programs_with("conda")
# Options of venv, virtualenv and `git clone` with a value.
_VALUES = frozenset(
    {"-p", "--python", "--prompt", "--app-data", "--creator", "--seeder", "--upgrade-deps", "-b", "--branch", "--depth"}
    | {"-c", "--config", "-j", "--jobs", "-o", "--origin", "--reference", "--filter", "--pip", "--setuptools", "-u"}
)
_TESTS = frozenset({"[", "[[", "test"})
_MISSING = Regex(r"-[efsdrL]")
# Commands that make a whole file at once, or that fail without harm if it is there.
_AT_ONCE = frozenset({"mkdir", "touch", "ln", "mv", "rm", "install", "sbatch", "srun", "scancel", "git"})


def check(job: Job) -> Iterator[Finding]:
    if not _is_array(job) or any(each.name == "flock" for each in job.invocations):
        return
    reported: set[str] = set()
    for command in job.invocations:
        if command.phase is not Phase.BATCH or _is_of_some_tasks(job, command) or command.alternatives > 1:
            continue
        made = _made(command)
        if made is not None:
            what, place, span = made
            if place is None or _is_shared(job, command, place):
                shown = f" `{shown_text(place)}`" if place is not None and span_of(place) != span else ""
                happens = "and all but one fail" if what == "clone" else "and may damage it"
                act = f"create the environment{shown}"
                if what == "clone":
                    act = f"clone into{shown}" if shown else "clone this repository"
                yield Finding(
                    span, f"all array tasks {act} at the same time, {happens}; do it once, before you submit the array"
                )
            continue
        missing = _tested(job, command)
        if missing is not None and key(missing) not in reported and _is_shared(job, command, missing):
            reported.add(key(missing))  # the commands that write a file after one test have one cause
            yield Finding(
                command.name_span,
                f"array tasks that start together all find `{shown_text(missing)}` missing and all write it; create it "
                "before you submit the array",
            )


def _is_array(job: Job) -> bool:
    """Whether the script is for an array: by its directives, or as it reads the index that sbatch's options give."""
    array = several_elements(job)
    if array is not None:
        return array.throttle != 1
    text = job.request.value("array")
    if text is not None:
        return indexes(text) is None and "-" in text and "%1" not in text  # `1-N`, not filled in yet
    return not job.request.has_option("array") and any(each.name == INDEX for each in job.trace.reads)


def _is_of_some_tasks(job: Job, command: Invocation) -> bool:
    """Whether a test of the task's index, or of something unknown, decides which tasks run a command."""
    if command.context.restricted or command.context.handler:
        return True
    tests = [str(branch[1]) for branch, _ in command.context.guards if isinstance(branch, tuple) and len(branch) > 1]
    names = index_names(job)
    return any(Regex(rf"\b{name}\b").search(test) for name in names for test in tests)


def _is_shared(job: Job, command: Invocation, place: Pieces) -> bool:
    if container_of(command) is not None or not is_at_one_place(job, command, place):
        return False
    return not classify(place, job.site).private


def _made(command: Invocation) -> tuple[str, Pieces | None, Span] | None:
    """What a command makes (`environment`, `clone`), where, None for conda's own folder, and the place of a finding."""
    argv, words = command.argv, command.words
    if any("help" in word for word in words[1:]):
        return None
    python = python_of(command)
    is_module = python is not None and python.kind == "module" and python.text in ("venv", "virtualenv")
    if is_module or command.name == "virtualenv" or words[:2] == ["uv", "venv"]:
        operands = _operands(command, python.after if python is not None else 1 if command.name == "virtualenv" else 2)
        return ("environment", operands[0], span_of(operands[0])) if operands else None
    if command.name in _CONDA and (words[1:2] == ["create"] or words[1:3] == ["env", "create"]):
        first, last = span_of(argv[0]), span_of(argv[1 if words[1] == "create" else 2])
        span = Span(first.start, last.end) if first.end <= last.start else first
        for before, field in pairwise(argv):
            if shown_text(before) in ("-n", "--name", "-p", "--prefix"):
                return "environment", field, span
        return ("environment", None, span) if words[1] == "env" else None
    if words[:2] == ["git", "clone"]:
        operands = _operands(command, 2)
        return ("clone", operands[-1], span_of(operands[-1])) if operands else None
    return None


def _operands(command: Invocation, start: int) -> list[Pieces]:
    fields = command.argv[start:]
    before = ["", *(shown_text(each) for each in fields)]
    return [
        each
        for each, option in zip(fields, before, strict=False)
        if each and not shown_text(each).startswith("-") and option not in _VALUES
    ]


def _tested(job: Job, command: Invocation) -> Pieces | None:
    """The file that a command makes after a test that did not find it; None for other commands."""
    if command.words[1:2] in (["pull"], ["build"]) and has_trait(command.name, "container"):
        return None  # an image is put in its place when it is complete
    if command.name in _AT_ONCE or command.name in BUILTINS or command.context.parent is not None:
        return None
    if has_trait(command.name, "prints", "conda", "module", "shell", "slurm"):
        return None
    taken = {str(branch[1]): side for branch, side in command.context.guards if isinstance(branch, tuple)}
    tests = _tests(job) if taken else {}
    found: list[tuple[int, Pieces]] = []
    for text, side in taken.items():
        of_text = tests.get((text, side), [])
        at = bisect_left(of_text, command.index, key=itemgetter(0))
        found += of_text[at - 1 : at] if at else []
    path = max(found, key=itemgetter(0))[1] if found else None
    return path if path is not None and _makes(command, key(path)) else None


@once
def _tests(job: Job) -> dict[tuple[str, object], list[tuple[int, Pieces]]]:
    """The files that tests look for, each with its index, by its text and the side where they are missing."""
    found: dict[tuple[str, object], list[tuple[int, Pieces]]] = {}
    for test in commands_named(job, *_TESTS):
        words = [each for each in test.words[1:] if each not in ("]", "]]")]
        negated = words[:1] == ["!"]
        if len(words) == (3 if negated else 2) and _MISSING.fullmatch(words[-2]):
            of_text = found.setdefault((job.source.slice(test.span), 0 if negated else 1), [])
            of_text.append((test.index, test.argv[3 if negated else 2]))
    return found


def _makes(command: Invocation, path: str) -> bool:
    """Whether a command names a file, or one from whose name that of the file is made: `ref.fa`, `ref.fa.fai`."""
    fields = [*command.argv[1:], *(each.target for each in command.redirects if each.target and ">" in each.operator)]
    named = {key(value) for field in fields for value in values_in(field)}
    return path in named or any(path.startswith(f"{each}.") for each in named if len(each) > 1)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-9
        python -m venv «env»
        source env/bin/activate
        pip install -r requirements.txt
        python train.py --fold $SLURM_ARRAY_TASK_ID
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-9
        REF=genome/ref.fa
        [ -f $REF.fai ] || «samtools» faidx $REF
        bcftools mpileup -f $REF sample$SLURM_ARRAY_TASK_ID.bam > $SLURM_ARRAY_TASK_ID.bcf
        """,
        title="after a test",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-9
        git clone «https://github.com/ada/solver.git»
        srun solver/run $SLURM_ARRAY_TASK_ID
        """,
        title="a clone",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-9
        python -m venv $SLURM_TMPDIR/env
        source $SLURM_TMPDIR/env/bin/activate
        pip install -r requirements.txt
        python train.py --fold $SLURM_ARRAY_TASK_ID
        """,
        title="on the node of each",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-9
        if [ "$SLURM_ARRAY_TASK_ID" -eq 1 ]; then
            git clone https://github.com/ada/solver.git
        fi
        [ -d out ] || mkdir out
        srun ./run $SLURM_ARRAY_TASK_ID
        """,
        title="one task does it",
    ),
]
