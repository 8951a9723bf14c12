"""A setting has no effect: nothing reads the variable, or another value replaces it first.

`EPOCHS=50` in the head of a script looks like a setting. If the command below says `--epochs 10`, or reads `$EPOCH`,
changing it changes nothing, and nobody notices. The same goes for an option that the script reads from its command
line (`-g) GPUS=$OPTARG`), and then sets itself: `sbatch job.sh -g 2` runs as if `-g` were not there. `MODEL=small`
followed by `MODEL=$1` is not a default: without an argument MODEL is empty.

CMake knows no `CMAKE_CC_COMPILER`: it says so in a line at the end, and takes the compiler that it finds.

No program reads `omp_num_threads`, `CUDA_VISIBLE_DEVICE` or `PYTHONBUFFERED` either, whatever it is set to.

Nor does NCCL know each level: `NCCL_DEBUG=DEBUG` prints nothing at all, not even warnings; it is advice.

A warning for such a name, where an option or argument of the script is lost, and for options of a program that runs
without them (`SRUN_ARGS="--kill-on-bad-exit=1"` above `srun ./a`), otherwise advice. Names that are
exported, that bash, Slurm or programs read themselves, or that occur once more anywhere in the file are not reported as
unread.

## Fix

None: the value may belong into the command, or the line may be left over. `MODEL=${1:-small}` is a default.

## References

bash(1), "Shell Parameters"; `ncclDebugInit()` in src/debug.cc of NCCL; https://www.shellcheck.net/wiki/SC2034
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import mentions, similar_variable, unset_reads
from sbatchlint.analysis.expansion.program_variables import is_for_programs, meant_for_programs
from sbatchlint.analysis.expansion.reads import nounset_at, read_names
from sbatchlint.analysis.expansion.replaced import ARGUMENT, is_replaced
from sbatchlint.analysis.expansion.unread_variables import is_unread
from sbatchlint.bash.syntax.tree import Simple
from sbatchlint.bash.trace import Invocation, VariableAssignment, VariableRead
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import is_templated
from sbatchlint.triggers import Commands, Variables

CARD = Card(
    "SB437", "setting-without-effect", severity="warning", fix="never", since="0.1.0", batch=True,
    when=Variables("*") | Commands("cmake"),
    whole_script=True, seen="a review of public scripts",
    unseen="Nothing: the job runs with a value other than the one that was set.",
)  # fmt: skip

_OLD_TOKEN = "HUGGING_FACE_HUB_TOKEN"  # the name before HF_TOKEN
_COMPOUND = Regex(r"\w_\w")
_PLURALS = frozenset(
    {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "JULIA_NUM_THREADS"}
    | {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "OMP_PLACES"}
)
# A command that may be run for more than its output.
_COMMAND = Regex(r"=[\"']?(?:\$\((?!\()|`)")
# A copy of a variable of Slurm's: nothing to set.
_COPY = Regex(r"=[\"']?\$\{?SLURM_\w+\}?[\"']?$")
# One of several fixed values, of which a script may list all that there are.
_FIXED = Regex(r"=(?:\"[^\"$`]+\"|'[^']+')$")
_LEAST_UNUSED = 4
# A variable for the options of a program, and its value.
_OF_PROGRAM = Regex(r"([A-Z0-9]+)_(?:ARGS|ARGUMENTS|OPTS|OPTIONS|FLAGS)")
_FIRST_IS_OPTION = Regex(r"\A\w+=[\"'\s\\]*-")
_OPTION = Regex(r"(?<![\w-])--?[a-zA-Z][\w-]*")


# The levels of NCCL_DEBUG, in any case, and those of others with the one that was probably meant.
_LEVELS = frozenset({"VERSION", "WARN", "INFO", "ABORT", "TRACE", "NONE", "OFF"})
_MEANT = {"WARN": "WARN", "ERR": "WARN", "FATAL": "WARN", "CRIT": "WARN"}
# Names that are taken for variables of CMake, by the language that it calls otherwise.
_LANGUAGES = {"CC": "C", "CPP": "CXX", "C++": "CXX", "FC": "Fortran", "F90": "Fortran", "FORTRAN": "Fortran"}
_OF_CMAKE = Regex(r"(?:-D)?CMAKE_(CC|CPP|C\+\+|FC|F90|FORTRAN)_(COMPILER|FLAGS)(?::\w+)?=.+")
_LEVEL = Regex(r"=[\"']?([A-Za-z]+)[\"']?$")


def check(job: Job) -> Iterator[Finding]:
    if job.program.errors or is_templated(job.source.text):
        return
    yield from _unknown_levels(job)
    yield from _unknown_to_cmake(job)
    if job.is_embedded:
        return
    assignments = [each for each in job.assignments if each.context.parent is None and not each.context.handler]
    settings = [each for each in assignments if not _is_of_command(job, each)]
    unread = [each for each in settings if is_unread(job, each)]
    reads: dict[str, VariableRead] = {}
    for read in unset_reads(job) if unread else ():
        reads.setdefault(read.name, read)
    for setting in unread:
        plural = setting.name.removesuffix("s") if setting.name[-1:] == "s" else f"{setting.name}s"
        used = reads.get(plural)
        if used is not None and not nounset_at(job, used):
            line = job.line(used.span.start)
            message = f"`{setting.name}` is set but never used, and line {line} uses `{plural}`, which is not set"
            related = [(used.span, "empty")]
            yield Finding(setting.name_span, f"{message}; use one name for both", "warning", related=related)
            return
    for setting in unread:
        command = _misses_options(job, setting)
        if command is not None:
            line, name = job.line(command.span.start), command.name
            message = f"`{setting.name}` is set but never used, so `{name}` on line {line} runs without these options"
            related = [(command.place, "without them")]
            yield Finding(setting.name_span, f"{message}; write `{name} ${setting.name}`", "warning", related=related)
            return
    yield from _never_used(job, unread, reads)
    yield from _unknown_names(job, assignments)
    yield from _overwritten(job, assignments)


def _misses_options(job: Job, setting: VariableAssignment) -> Invocation | None:
    """The program after whose name a variable with options is called, and that runs without any of them."""
    named, value = _OF_PROGRAM.fullmatch(setting.name), job.source.slice(setting.span)
    told = frozenset(_OPTION.findall(value))
    if named is None or not told or _FIRST_IS_OPTION.search(value) is None:
        return None
    started = [each for each in commands_named(job, named[1].lower()) if each.index >= setting.order]
    given = {word.partition("=")[0] for each in started for word in each.words}
    return started[0] if started and told.isdisjoint(given) else None


def _never_used(job: Job, unread: list[VariableAssignment], reads: dict[str, VariableRead]) -> Iterator[Finding]:
    """The finding on settings that nothing reads; `reads`: variables that are read and not set, which may be meant."""
    similar_names = {similar.name for each in reads.values() if (similar := similar_variable(job, each)) is not None}
    unread = [each for each in unread if each.name not in similar_names]  # undefined-launcher-variable reports these
    unread = [each for each in unread if not _COPY.search(job.source.slice(each.span))]
    unread = [each for each in unread if each.name_span not in _menus(job)]
    if unread:
        first = unread[0]
        yield Finding(
            first.name_span,
            f"`{first.name}` is set but never used; use it, or remove it",
            "info",
            related=[(each.name_span, "also never used") for each in unread[1:4]],
        )


def _unknown_names(job: Job, assignments: list[VariableAssignment]) -> Iterator[Finding]:
    """Findings on names that are almost those of variables which programs read."""
    for assigned in assignments:
        name, meant = assigned.name, _meant(assigned.name)
        if meant is not None and mentions(job)[name] == 1:
            message = f"no program reads `{name}`; write `{meant}`"
            if meant == name.upper():
                message = f"no program reads `{name}` because names are case-sensitive; write `{meant}`"
            if meant == _OLD_TOKEN:
                message = f"huggingface_hub does not read `{name}`; write `HF_TOKEN`"
            yield Finding(assigned.name_span, message)


def _overwritten(job: Job, assignments: list[VariableAssignment]) -> Iterator[Finding]:
    """Findings on values that another assignment replaces before anything reads them."""
    plain = {
        job.span(word.start, word.end).start
        for statement in job.program.statements
        if isinstance(statement, Simple)
        for word in statement.words or statement.assignments  # not `NAME=value command`
    }
    last: dict[str, VariableAssignment] = {}
    for later in sorted(assignments, key=lambda each: each.order):
        earlier = last.get(later.name)
        last[later.name] = later
        if earlier is None or _is_of_command(job, earlier) or later.span.start not in plain:
            continue
        if not is_replaced(job, earlier, later):
            continue
        line, name = job.line(later.name_span.start), later.name
        old, new = job.source.slice(earlier.span), job.source.slice(later.span)
        severity, related = "info", [(later.name_span, "set again here")]
        message = f"this value is never used: line {line} sets `{name}` again; remove this assignment"
        if ARGUMENT.search(old) and "SLURM_ARRAY_TASK_ID" in new:
            message = f"line {line} overwrites `{name}` in each task of the array; remove this line"
        elif ARGUMENT.search(old):
            argument, severity, related = old.partition("=")[2].strip("\"'"), "warning", []
            message = f"line {line} overwrites `{name}`, so the argument `{argument}` has no effect; "
            message += f"delete line {line}, or write `{name}=${{{name}:-…}}` there"
        elif ARGUMENT.search(new):
            number, related = new.rpartition("$")[2].strip("\"'{}"), []
            default = f"${{{number}:-{old.partition('=')[2]}}}"
            message = f"line {line} sets `{name}` again, even without an argument; write `{default}` there"
        yield Finding(earlier.name_span, message, severity, related=related)


def _unknown_to_cmake(job: Job) -> Iterator[Finding]:
    """Findings on compilers and flags that a name gives to CMake which it does not know, as it calls C and C++ so."""
    for command in commands_named(job, "cmake"):
        words = [shown_text(each) for each in command.argv]
        for field, word in zip(command.argv, words, strict=True):
            match = _OF_CMAKE.fullmatch(word)
            name = "" if match is None else f"CMAKE_{_LANGUAGES[match[1]]}_{match[2]}"
            # a project that has such a variable of its own gets the other one, too
            if match is not None and not any(name in each for each in words):
                written = f"CMAKE_{match[1]}_{match[2]}"
                what = "compiler stays the default" if match[2] == "COMPILER" else "flags are not used"
                message = f"CMake does not know `{written}`, so the {what}; write `{name}`"
                yield Finding(span_of(field), message, "warning")


def _unknown_levels(job: Job) -> Iterator[Finding]:
    """The finding on a level of NCCL_DEBUG that NCCL does not know."""
    for assigned in job.assignments:
        written = _LEVEL.search(job.source.slice(assigned.span)) if assigned.name == "NCCL_DEBUG" else None
        if written is not None and written[1].upper() not in _LEVELS and not assigned.context.handler:
            meant = next((level for word, level in _MEANT.items() if written[1].upper().startswith(word)), "INFO")
            message = f"NCCL has no debug level `{written[1]}`, so it does not even print warnings; write `{meant}`"
            yield Finding(assigned.span, message, "info")
            return


def _is_of_command(job: Job, assigned: VariableAssignment) -> bool:
    return _COMMAND.search(job.source.slice(assigned.span)) is not None


def _meant(name: str) -> str | None:
    """The variable of programs that was meant by a name in lower case, or with a letter too few, too many or wrong."""
    if name[:1] == "_":
        return None  # switched off
    if _is_known(name) or not _COMPOUND.search(name):
        return None if _is_known(name) else meant_for_programs(name)
    if name.islower() and _is_known(name.upper()):
        return name.upper()
    plural = next((each for each in (f"{name}S", name.removesuffix("S")) if each in _PLURALS), None)
    return plural or meant_for_programs(name)


def _is_known(name: str) -> bool:
    omp = name.startswith("OMP_") and is_for_programs(name)
    return name in _PLURALS or name in ENVIRONMENT_NAMES and "_" in name or omp


@once
def _menus(job: Job) -> set[Span]:
    """The names in rows of fixed values of which some are used: a list from which whoever edits the script chooses."""
    rows: list[list[VariableAssignment]] = []
    for assigned in sorted(job.assignments, key=lambda each: each.span.start):
        if _FIXED.search(job.source.slice(assigned.span)) is None:
            continue
        near = rows and job.line(assigned.span.start) - job.line(rows[-1][-1].span.start) in (1, 2)
        rows[-1].append(assigned) if near else rows.append([assigned])
    found: set[Span] = set()
    for row in rows:
        unused = sum(each.name not in read_names(job) for each in row)
        if _LEAST_UNUSED <= unused < len(row):
            found.update(each.name_span for each in row)
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=4
        export «NCCL_DEBUG=DEBUG»
        srun python train.py
        """,
        severity="info",
        title="a level that does not exist",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «EPOCHS»=50
        MODEL=small
        srun python train.py --model "$MODEL" --epochs 10
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        while getopts g:d: option; do
            case $option in
                g) «GPUS»=$OPTARG ;;
                d) DATA=$OPTARG ;;
            esac
        done
        GPUS=$(nvidia-smi -L | wc -l)
        torchrun --nproc_per_node="$GPUS" train.py --data "$DATA"
        """,
        title="an option of the script",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «MODEL»=small
        MODEL=$1
        srun python train.py --model "$MODEL"
        """,
        severity="info",
        title="no default",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «THREADS»=8
        THREADS=16
        ./solver --threads "$THREADS"
        """,
        severity="info",
        title="set twice",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --cpus-per-task=8\nexport «omp_num_threads»=8\n./solver\n",
        title="in lower case",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --gpus=2\nexport «CUDA_VISIBLE_DEVICE»=0\npython train.py\n",
        title="a letter is missing",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks=1\nexport «PYTHONBUFFERED»=1\npython train.py\n",
        title="two letters are missing",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        RESULT=
        VERBOSE=0
        if [ -f result.txt ]; then
            RESULT=result.txt
        fi
        NAME=first
        srun ./solver "$NAME"
        NAME=second
        srun ./solver "$NAME" --verbose=$VERBOSE ${RESULT:+--continue}
        """,
        title="each value is read",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        LEVEL=3
        source settings.sh
        srun ./solver
        """,
        title="a sourced file may read it",
    ),
]
