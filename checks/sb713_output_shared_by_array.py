"""Tasks of a job array overwrite each other's results: all of them write the same file.

`./model --case $SLURM_ARRAY_TASK_ID > result.csv` overwrites the file in every task. Tasks that run at the same time
overwrite each other's lines, and in the end one task's result is left, or pieces of several. The same happens with
`--output result.csv`, with `| tee result.csv`, with `cp case_$SLURM_ARRAY_TASK_ID.yaml case.yaml` and with `sed -i` on
a file that all of them read.

Reported where the command gets the index of its task, so that each one writes something different, and the name of the
file is certainly the same for all: it contains no variable of the task or the job, the script does not change to a
folder of its own before, and the file is not on a node's local disk. `>>` is not reported. A warning where the file is
a log, as for the job's own log (SB702).

## Fix

Puts `_${SLURM_ARRAY_TASK_ID}` into the name, where it is written once. Unsafe: something else may look for the file.

## References

sbatch(1), "Job arrays"; bash(1), "Redirections"; live runs of Slurm 22.05 (tests/slurm).
"""

from bisect import bisect_left
from collections.abc import Iterator

from sbatchlint.analysis.expansion.array_elements import (
    INDEX,
    differs,
    index_names,
    is_at_one_place,
    several_elements,
    works_by_index,
)
from sbatchlint.analysis.expansion.nobody_sets import similar_variable, unset_reads
from sbatchlint.analysis.storage.written_paths import OVERWRITING, place_before_suffix, place_of
from sbatchlint.bash.trace import Invocation, VariableRead
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Pieces, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.argv import Argv, partition
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import classify
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB713", "output-shared-by-array", severity="error", fix="sometimes", since="0.1.0", when=Variables(INDEX),
    seen="bash(1), \"Redirections\"", batch=True,
)  # fmt: skip

# Options that name an output file.
_RESULT = Regex(
    r"-{1,2}(?:[\w.]+[-_.])?(?:o|O|out|output|outfile|out[-_]?(?:put)?[-_]?(?:file|path|csv|name)?(?:name)?"
    r"|results?(?:[-_](?:file|path))?|report(?:[-_]file)?|save[-_]?(?:file|path|as))"
)
_RESULT_FOLDER = Regex(r"(?i)-{1,2}(?:out|output|result|save|dest|work)s?[-_]?(?:dir|folder|path|root|prefix)\w*")
_IN_LOGS = Regex(r"(?i)(?:^|/)logs?/[^/]*$")
_LOG_NAME = Regex(r"(?i)(?:^|[._-])(?:log|stdout|stderr|console)(?:[._-]|$)")
_FILE = Regex(r".*[^/.][^/]*\.[A-Za-z]\w{0,7}")
# Options whose value may become part of the file's name or its folder.
_NAMING = Regex(r"-{1,2}.*(?:name|prefix|suffix|tag|label|dir|folder|path|root|run|exp|id)\w*")
# A part of a name that a reader or a program fills in, and that ends where the name goes on.
_SLOT = Regex(r"(?:<[A-Za-z][\w -]*>|(?<![$\w])\{[A-Za-z]\w*\})[\w./-]*\Z")
# Tests after which tasks leave only with an index beyond some limit, an existing result or a missing input, by the
# number of the branch in which they leave.
_BEYOND = (
    Regex(r"TASK_ID[}\"']*\s+(?:-g[te]|>=?)\s|\[\s+(?:!\s+)?-[defs]\s"),
    Regex(r"TASK_ID[}\"']*\s+(?:-l[te]|<=?)\s|\[\s+(?:!\s+)?-[defs]\s"),
)
# Options and variables with the rank of a process among those that work together.
_RANK = Regex(r"(?i)-{0,2}(?:[\w-]*[-_])?(?:rank|(?:process|node|machine|host)[-_]?(?:id|idx|index))")
# Commands that create input files, not results.
_COPYING = frozenset({"cp", "mv", "ln"})
_PREPARING = _COPYING | {"sed"}
_OTHERS = frozenset({"sbatch", "salloc", "ssh", "git", "tar", "echo", "printf", "gcc", "g++", "gfortran", "nvcc", "cc"})


def check(job: Job) -> Iterator[Finding]:
    array = several_elements(job)
    if not job.is_shell or array is None:
        return
    indexed = _indexed_commands(job)
    for command in job.invocations:
        context = command.context
        if command.index not in indexed or context.handler or context.captured or command.alternatives > 1:
            continue
        if array.throttle == 1 and command.name in _PREPARING:
            continue  # one task runs after the other
        for path, place in _written(job, command):
            if _is_shared(job, command, path) and not _has_slot(job, place):
                yield _finding(job, command, path, place)


def _indexed_commands(job: Job) -> set[int]:
    """The commands that run in every task and get the index, or are in a pipeline with one that does."""
    found = {each.index for each in job.invocations if works_by_index(job, each)}
    for run in job.pipelines:
        members = {each.index for element in run.elements for each in element}
        if len(run.elements) > 1 and members & found:
            found |= members
    alone = _first_of_some(job)
    return {each for each in found if each < alone and not job.invocations[each].context.conditional}


def _first_of_some(job: Job) -> int:
    """The index of the first `exit` or `return` by which some tasks of the array leave after a test."""
    tests = [each.index for each in job.invocations if each.name in ("[", "[[", "test") and works_by_index(job, each)]
    for command in job.invocations:
        leaves = command.name in ("exit", "return") and any(0 < command.index - test < 5 for test in tests)
        if leaves and not any(_BEYOND[taken].search(str(test)) for test, taken in command.guards if taken in (0, 1)):
            return command.index
    return len(job.invocations)


def _written(job: Job, command: Invocation) -> Iterator[tuple[Pieces, Span]]:
    """The files that a command overwrites, and the place of a finding on each."""
    if command.stdin is None or command.name not in ("cat", "tee"):  # generated files are SB416's
        for redirect in command.redirects:
            if redirect.operator in OVERWRITING and redirect.target and redirect.fd in (None, "1"):
                yield redirect.target, redirect.span
    yield from ((field, place_of(job, field)) for field in _written_operands(job, command))


def _written_operands(job: Job, command: Invocation) -> Iterator[Pieces]:
    """The words of a command, and values of its options, that name files which it overwrites."""
    argv, words = command.argv, command.words
    if command.name == "tee":
        yield from () if "-a" in words or "--append" in words else argv[1:]
    elif command.name in _PREPARING:
        in_place = any(word == "--in-place" or word[:2] == "-i" for word in words[1:]) and not differs(job, argv[-1])
        edits = command.name != "sed" or in_place
        if edits and _FILE.fullmatch(words[-1]) and any(differs(job, field) for field in argv[1:-1]):
            yield argv[-1]
    elif command.name is not None and command.name not in _OTHERS and not _is_named_by_option(job, command):
        if _is_rank(job, command):
            return  # one of the ranks writes it, or all together
        for _, value in _options(argv[1 : command.spawn.command if command.children else None], _RESULT):
            if value and _FILE.fullmatch(shown_text(value)) and "%" not in shown_text(value):
                yield value


def _is_rank(job: Job, command: Invocation) -> bool:
    """Whether the tasks of the array are the ranks of one program: the index is its rank."""
    named = (*_options(command.argv[1:], _RANK), *(each for each in command.variables if _RANK.fullmatch(each[0])))
    return any(value and differs(job, value) for _, value in named) or any(map(_RANK.fullmatch, index_names(job)))


def _options(argv: Argv, names: Regex) -> Iterator[tuple[str, Pieces | None]]:
    """The options with such names among some words, each with the value after its `=`, or else the next word."""
    for field, following in zip(argv, (*argv[1:], None)):
        name, value = partition(field, "=")
        if names.fullmatch(shown_text(name)):
            yield shown_text(name), following if value is None else value


def _is_named_by_option(job: Job, command: Invocation) -> bool:
    """Whether an option may pass the index for the file name, which the program then composes."""
    words = command.words
    for number, field in enumerate(command.argv):
        if number and differs(job, field):
            option, sign, _ = words[number].partition("=")
            if _NAMING.fullmatch(option if sign else words[number - 1] if number > 1 else ""):
                return True
    return False


def _is_shared(job: Job, command: Invocation, path: Pieces) -> bool:
    text = shown_text(path)
    if text.startswith(("/dev/", "/proc/", "-", "&")) or not is_at_one_place(job, command, path):
        return False
    container, step = container_of(command), enclosing_step(command.context)
    if container is not None and not text.startswith("/"):
        return False
    if step is not None and step.option("chdir") is not None:
        return False
    return not classify(path, job.site, container).private


def _has_slot(job: Job, place: Span) -> bool:
    """Whether a part of the name is still to be written: `<SLOT>.csv`, which the shell reads as a redirection."""
    text = job.source.text
    line = text.rfind("\n", 0, place.start) + 1
    return _SLOT.search(text, line, place.end) is not None


def _is_log(command: Invocation, path: str) -> bool:
    """Whether a file holds what a program tells, and not its results: of a script, standard output is such a file."""
    ending = path.rpartition(".")[2]
    script = bool(command.argv) and (has_trait(command.name, "shell") or is_python(command.argv[0]))
    if _IN_LOGS.search(path) or _LOG_NAME.search(path.rpartition("/")[2]):
        return True
    return ending in ("log", "err") or ending == "out" and script


def _has_own_results(job: Job, command: Invocation) -> bool:
    """Whether an option gives the program a file or folder of the task for its results."""
    named = [*_options(command.argv[1:], _RESULT), *_options(command.argv[1:], _RESULT_FOLDER)]
    return any(value and differs(job, value) for _, value in named)


@once
def _unset(job: Job) -> list[VariableRead]:
    return sorted(unset_reads(job), key=lambda read: read.span.start)


def _unset_in(job: Job, place: Span) -> VariableRead | None:
    """The first variable in a place that nothing sets."""
    at = bisect_left(_unset(job), place.start, key=lambda read: read.span.start)
    return next((read for read in _unset(job)[at : at + 1] if place.contains(read.span)), None)


def _finding(job: Job, command: Invocation, path: Pieces, place: Span) -> Finding:
    word = shown_text(path)
    where = place_before_suffix(path, job.source.text)
    fix = None
    name = word.rpartition("/")[2]
    if where is not None and job.source.text.count(name) == 1:
        fix = Fix("add the index to the name", [insert(where, f"_${{{INDEX}}}")], safe=False)
    name = "the same file" if UNKNOWN_CHARACTER in name else f"`{name}`"
    is_output = any(each.target == path for each in command.redirects)
    what = f"all tasks of the array {'edit' if command.name == 'sed' else 'write'} {name}"
    advice, why = "add `$SLURM_ARRAY_TASK_ID` to the name", ""
    lost = _unset_in(job, command.span) or _unset_in(job, place)
    meant = similar_variable(job, lost) if lost is not None else None
    names = {each.expansion.name for each in path if each.expansion is not None}
    if lost is not None and meant is not None and lost.name in names:
        why = f", as `${lost.name}` is not set"
        advice, fix = f"did you mean {meant.name} (line {job.line(meant.span.start)})?", None
    return Finding(
        place,
        f"{what}, so only one task's output is left{why}; {advice}",
        "warning" if _is_log(command, word) or is_output and _has_own_results(job, command) else None,
        related=[] if job.line(place.start) == job.line(command.span.start) else [(command.span, "writes it")],
        fix=fix,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        python model.py --case $SLURM_ARRAY_TASK_ID «> result.csv»
        """,
        unsafe_fixed={"result.csv": "result_${SLURM_ARRAY_TASK_ID}.csv"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        sample=$(sed -n "${SLURM_ARRAY_TASK_ID}p" samples.txt)
        samtools sort -o «sorted.bam» "$sample.bam"
        """,
        unsafe_fixed={"sorted.bam": "sorted_${SLURM_ARRAY_TASK_ID}.bam"},
        title="by an option",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-3
        sed -i "s/^seed:.*/seed: $SLURM_ARRAY_TASK_ID/" «config.yaml»
        srun ./model config.yaml
        """,
        title="one settings file for all",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        python model.py --case $SLURM_ARRAY_TASK_ID > result_$SLURM_ARRAY_TASK_ID.csv
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        mkdir -p case_$SLURM_ARRAY_TASK_ID && cd case_$SLURM_ARRAY_TASK_ID
        python ../model.py --case $SLURM_ARRAY_TASK_ID > result.csv
        """,
        title="in a folder of its own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        ./model --case $SLURM_ARRAY_TASK_ID >> results.csv
        squeue --job $SLURM_JOB_ID > $SCRATCH/queue.txt
        """,
        title="lines of each; the same for all",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-1
        torchrun --nnodes=2 --node_rank=$SLURM_ARRAY_TASK_ID --master_addr=$MAIN train.py --save-path model.pth
        python train.py --world-size 2 --rank $SLURM_ARRAY_TASK_ID --output model.pth
        JAX_PROCESS_ID=$SLURM_ARRAY_TASK_ID python train.py --seed $SLURM_ARRAY_TASK_ID --out model.pth
        """,
        title="the tasks are the ranks of one program",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-1
        python train.py --world-size 2 --rank $SLURM_ARRAY_TASK_ID «> train.txt»
        """,
        unsafe_fixed={"train.txt": "train_${SLURM_ARRAY_TASK_ID}.txt"},
        title="but each of them opens the file of its output",
    ),
]
