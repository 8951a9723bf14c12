"""Variables that are read but never set: not by the script, Slurm, a login, or a file that cannot be read here.

Names that the submit environment, `sbatch --export` or a module may set look the same. The rest of the script shows
a mistake: `similar_variable` finds the variable that was meant.
"""

import re
from collections import Counter
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from sbatchlint.analysis.expansion.reads import (
    DEFAULTS,
    assigned_names,
    enclosing_assignment,
    guarded_names,
    read_names,
)
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, For
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES, SHARED_VARIABLES
from sbatchlint.programs import has_trait
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.environment import find, glued_to, known_names, misspelling_of
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Set by a login shell, a module or bash, and so not by scripts.
# Of a site, which tells its machines apart by them: `SYSTEMNAME` at JSC, NERSC_HOST, TACC_SYSTEM.
_OF_SITES = (
    r"(?:NERSC|TACC|CRAY|CRAYPE|PE|OLCF|CSCS|CINECA|HPC|SITE)_\w+|SYSTEM_?NAME|CLUSTER_?NAME|CC_CLUSTER|STOCKYARD"
)
_PREFIXES = rf"(?:CUDA|ROCM|MPI|OMPI|CONDA|VIRTUAL_ENV|SLURM|SLURMD|PBS|LSB|SGE|LMOD|EB|BASH|EPOCH)\w*|{_OF_SITES}"
_PREFIXED = Regex(_PREFIXES)
_USUAL = Regex(
    rf"{_PREFIXES}|\w*(?:HOME|ROOT|DIR|PATH)"
    r"|S?RANDOM|SECONDS|LINENO|E?UID|PPID|HOST(?:NAME|TYPE)?|OSTYPE|MACHTYPE|(?:OLD)?PWD|USER|LOGNAME|SHELL|TERM|LANG"
    r"|(?:https?|ftp|all|no)_proxy|(?:HTTPS?|FTP|ALL|NO)_PROXY"
    r"|(?:APPTAINER|SINGULARITY)_(?:CONTAINER|NAME|ENVIRONMENT|COMMAND|BIND)"
    r"|NSLOTS|JOB_ID|OPTARG|OPTIND|REPLY|SHLVL|IFS|GROUPS|FUNCNAME|DIRSTACK|PIPESTATUS|COPROC"
)
# Lines and options by which a job gets a burst buffer, and the variables that tell where it is.
_BURST_BUFFER = Regex(r"(?m)^#(?:DW|BB)[ \t]+(.*)")
_OF_BUFFER = Regex(r"(?:DW|BB)_\w+")
_NAME_OF_BUFFER = Regex(r"(?:^|\s)persistentdw\b.*?\sname=(\w+)")
# Variables of every login shell, or of bash itself, that are common in file names.
_LOGIN = frozenset({"USER", "HOSTNAME", "HOME", "PWD", "RANDOM", "LOGNAME", "TMPDIR"})
# A comment that shows how the script is submitted.
_SUBMISSION = Regex(r"(?m)^[ \t]*#(?!SBATCH)[^\n]*\bsbatch[ \t]([^\n]*)")
_BREAK = Regex(r"_|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])|(?<=[0-9])(?=[a-zA-Z])")
# A script that reads more unset names than this gets them from elsewhere.
MOST_STRANGERS = 100
_OPTIONS = Regex(r"args|opts|options|flags|params")
_SHORTEST_TYPO = 6  # of a variable that is read rightly elsewhere
_LONG_NAME = 8  # of a name that is read without its last letter
_SHORTEST_START = 3  # of a name with which another begins
_SHORTEST_NAME = 4  # a shorter name is similar to too many others
_SHORTEST_MODULE = 4  # with whose name a variable may begin
_NAME = Regex(r"[A-Za-z0-9_]+")
_DOLLAR = Regex(r"\$\{?([A-Za-z_]\w*)")
# The folders after a variable in a path.
_FOLDERS = Regex(r"((?:/[\w.-]+)+)(?=/)")


def outer_jobs(job: Job) -> list[Job]:
    """A job, and the outer jobs that submit it: it inherits their exported variables."""
    found = [job]
    while found[-1].is_embedded and found[-1].outer is not None:
        found.append(found[-1].outer)
    return found


@lru_cache(maxsize=1024)
def is_common_name(name: str) -> bool:
    """Whether a login, a module, Slurm or bash itself may set a variable of this name."""
    return find(name) is not None or _USUAL.fullmatch(name) is not None


def is_set_by_site(name: str) -> bool:
    """Whether Slurm, a prolog or modules set a variable of this name: SLURM_TMPDIR, MYSCRATCH, CUDA_HOME."""
    known = name in LOCAL_VARIABLES or name in SHARED_VARIABLES or name in _LOGIN or name.endswith("SCRATCH")
    return known or find(name) is not None or _PREFIXED.fullmatch(name) is not None


def unless_exported(job: Job, name: str, phase: Phase) -> str:
    """On what it depends that a variable which the script does not set has a value: `unless you export it …`."""
    if phase is Phase.SUBMIT:
        return "unless you export it before this script runs"
    exported = job.request.value("export")
    if exported is None or "ALL" in exported.upper().split(","):
        return "unless you export it before sbatch"
    return f"unless sbatch is called with --export={name}=…"


@once
def may_come_from_files(job: Job) -> bool:
    """Whether a file that cannot be read here may set the script's own variables."""
    return any(unclear_sources(each) for each in outer_jobs(job))


@once
def set_names(job: Job) -> frozenset[str]:
    """The variables that the script, or an outer one, sets anywhere: also in loops and in unreachable code."""
    names: set[str] = set()
    for outer_job in outer_jobs(job):
        names |= assigned_names(outer_job)
        for _, program in programs(outer_job):
            names.update([node.name for node in nodes_of(program, For)])
            names.update([node.name for node in nodes_of(program, Assignment)])
    return frozenset(names)


@once
def mentioned_names(job: Job) -> frozenset[str]:
    """The variables that the script sets, tests, or has a default for."""
    return set_names(job).union(_names_of_buffers(job), *[guarded_names(each) for each in outer_jobs(job)])


@once
def _names_of_buffers(job: Job) -> frozenset[str]:
    """The variables that Slurm sets for the burst buffers of a job (burst_buffer_datawarp.c, 20.11 to 24.05).

    `#DW persistentdw name=X` sets DW_PERSISTENT_STRIPED_X, and `#DW jobdw` DW_JOB_STRIPED or DW_JOB_PRIVATE. What else
    is in a file, or a site's script in Lua sets, is not known.
    """
    lines = _BURST_BUFFER.findall(job.directives.text.string)
    by_option = job.request.has_any_option(("bb", "bbf"))
    if not lines and not by_option:
        return frozenset()
    named = {f"DW_PERSISTENT_STRIPED_{name}" for line in lines for name in _NAME_OF_BUFFER.findall(line)}
    unclear = by_option or any("$" in line or not line.startswith(("jobdw", "persistentdw", "stage")) for line in lines)
    names = [each for each in read_names(job) if _OF_BUFFER.fullmatch(each)]
    return frozenset(
        each for each in names if unclear or each in named or not each.startswith("DW_PERSISTENT_STRIPED_")
    )


@lru_cache(maxsize=1024)  # most scripts read the same names
def _is_odd(name: str) -> bool:
    return name.isidentifier() and (not is_common_name(name) or glued_to(name) is not None)


@once
def unset_reads(job: Job) -> list[VariableRead]:
    """Reads of variables that nothing in the script sets or tests, once per place; the submit environment may set them.

    Common names are left out, except those that continue a name of Slurm's.
    """
    names = frozenset([each for each in read_names(job) if _is_odd(each) or is_misspelt(job, each)])
    odd = [each for each in job.trace.reads if each.variable is None and each.name in names] if names else []
    mentioned = mentioned_names(job) if odd else ()
    found: dict[Span, VariableRead] = {}
    for read in odd:
        if read.name not in mentioned and read.operator not in DEFAULTS and not read.context.handler:
            found.setdefault(read.span, read)
    return [each for each in found.values() if not is_on_comment(job, each)]


def is_on_comment(job: Job, read: VariableRead) -> bool:
    """Whether a variable is read in a comment of a text that the script writes, as in `##SBATCH --mem=$MEM`."""
    line = job.source.line_of(read.span.start)
    start = job.source.text[line.start : read.span.start].lstrip()
    return start[:1] == "#" and start[:7] != "#SBATCH" and start[:2] != "#!"


class _Mentions(NamedTuple):
    """Words of a script: those that are not expansions, names that are assigned or exported, and those in `$NAME=`."""

    words: frozenset[str]
    assigned: frozenset[str]
    dollar: frozenset[str]


@once
def _mentions(job: Job) -> _Mentions:
    text = job.source.text
    words = re.findall(r"(?<![$\w./-])(?<!\$\{)([A-Za-z_]\w*)", text)
    assigned = re.findall(r"(?<![\w./-])([A-Za-z_]\w*)=|\bexport\s+([A-Za-z_]\w*)", text)
    dollar = re.findall(r"\$([A-Za-z_]\w*)=", text)
    for line in _SUBMISSION.findall(text) if "sbatch" in text else ():
        dollar += re.findall(r"\$\{?([A-Za-z_]\w*)", line)  # the shell that submits it has them
    return _Mentions(frozenset(words), frozenset(chain.from_iterable(assigned)), frozenset(dollar))


def is_mentioned(job: Job, name: str) -> bool:
    """Whether the script mentions a variable other than by expanding it: in a comment, in `--export`, in its usage.

    For a plain word in lower case, which any sentence may have, only assignments and exports count.
    """
    mentions = _mentions(job)
    plain = name.islower() and "_" not in name
    return name in (mentions.assigned if plain else mentions.words) or name in mentions.dollar


class Glued(NamedTuple):
    """The variable that was meant where the text after its name became part of it.

    `certain`: whether the longer name cannot be a variable.
    """

    prefix: str
    certain: bool


@once
def glued_name(job: Job, read: VariableRead) -> Glued | None:
    """The variable that was meant where an unset one is read without braces; None where the name may be right."""
    name = read.name
    parts = () if read.operator else _parts(name)
    if not parts or job.source.slice(read.span) != f"${name}":
        return None
    for prefix, rest, certain in parts:
        if certain or prefix in set_names(job):
            if certain or _is_other_case(prefix, rest) or not rest.strip("_"):
                return Glued(prefix, True)
            return Glued(prefix, False) if rest[0] == "_" and is_lone_lowercase_name(job, read) else None
    return None


@lru_cache(maxsize=1024)  # most scripts read the same names
def _parts(name: str) -> tuple[tuple[str, str, bool], ...]:
    """The ways to split a name into a shorter one and the text after it, the longest name first.

    The last value says whether the whole name cannot be a variable. Empty for a known name or a misspelled one.
    """
    if name in known_names():
        return ()
    prefix = glued_to(name)
    if prefix is not None:
        return ((prefix, name[len(prefix) :], True),)
    if misspelling_of(name) is not None or is_common_name(name):
        return ()
    starts = sorted((each.start() for each in _BREAK.finditer(name)), reverse=True)
    parts = [(name[:start], name[start:]) for start in starts]
    return tuple([(each, rest, each in _LOGIN and _is_other_case(each, rest)) for each, rest in parts])


def is_lone_lowercase_name(job: Job, read: VariableRead) -> bool:
    """Whether a name in lower case, which no environment uses, is the only one that the script does not set."""
    if read.name.isupper() or may_come_from_files(job) or unusual_names(job) != {read.name}:
        return False
    return not is_mentioned(job, read.name)


@once
def unusual_names(job: Job) -> frozenset[str]:
    """The names that are read but never set, and that no environment uses."""
    return frozenset(each.name for each in unset_reads(job) if not is_common_name(each.name))


def _is_other_case(prefix: str, rest: str) -> bool:
    letters = rest.strip("_0123456789")
    return prefix.isupper() and letters.islower() or prefix.islower() and letters.isupper() and len(letters) > 1


def similar_variable(job: Job, read: VariableRead) -> VariableAssignment | None:
    """The assignment of a variable that is never read, and whose name is similar to an unset one; None if none."""
    if len(unusual_names(job)) > MOST_STRANGERS:
        return None
    enclosing = enclosing_assignment(job, read.span)
    slips = _slips(job, read)
    candidates = _alike_names(job, read.name) + _longer_names(job, read.name) + slips
    if is_list(job, read):
        candidates = [name for name in _assigned(job) if name in candidates or _shares_word(name, read.name)]
    for name in candidates:
        if enclosing is not None and enclosing.name == name:
            continue
        own = not is_common_name(name) or _continues(name, read.name) and not is_set_by_site(name)
        if (not own or _is_read(job, name)) and not is_certain(name, read.name):
            continue
        for assignment in _assigned(job)[name]:
            if (
                name in slips
                or _is_alike(name, read.name)
                or _continues(name, read.name)
                or job.source.slice(assignment.span).endswith(")")
            ):
                return assignment
    return None


def is_of_path(job: Job, read: VariableRead) -> bool:
    """Whether a variable is a part of a path, which leads elsewhere without it."""
    text, (start, end) = job.source.text, read.span
    return text[end : end + 1] == "/" or text[start - 1 : start] == "/"


def is_made_of(assigned: VariableAssignment, name: str) -> bool:
    """Whether the value of a variable has that of another in it."""
    fields = [field for each in assigned.alternatives for field in each.fields or ()]
    return any(source.name == name for field in fields for each in expansions(field) for source in each.all())


@once
def times_written(job: Job) -> Counter[str]:
    """How often each variable is written with its dollar, in comments too."""
    return Counter(_DOLLAR.findall(job.source.text))


@once
def mentions(job: Job) -> Counter[str]:
    """How often each name occurs in the file."""
    return Counter(_NAME.findall(job.source.text))


def folders_of_both(job: Job, assignment: VariableAssignment, read: VariableRead) -> str:
    """The folders after a variable with which the other's value ends, so that they would be there twice."""
    rest = _FOLDERS.match(job.source.text, read.span.end)
    folders = "" if rest is None else rest[1]
    return folders if folders and job.source.slice(assignment.span).rstrip("/\"'").endswith(folders) else ""


@once
def _assigned(job: Job) -> dict[str, list[VariableAssignment]]:
    """The assignments of the script and of those that submit it, by name."""
    found: dict[str, list[VariableAssignment]] = {}
    for assignment in (each for outer in outer_jobs(job) for each in outer.assignments):
        found.setdefault(assignment.name, []).append(assignment)
    return found


def _slips(job: Job, read: VariableRead) -> list[str]:
    """The short names in small letters that are set and never read, and from which an unset one, the only one in small
    letters, differs in one letter: `ref` where `$reft` is read."""
    name = read.name
    if not name.islower() or len(name) > 2 * _SHORTEST_NAME or not is_lone_lowercase_name(job, read):
        return []
    return _one_letter_off(job, name)


@once
def _one_letter_off(job: Job, name: str) -> list[str]:
    """The names in small letters that are set and never read, and differ from another one in one letter."""
    return [
        each
        for each in _assigned(job)
        if each.islower()
        and min(len(each), len(name)) >= _SHORTEST_START
        and each[0] == name[0]
        and each.rstrip("s") != name.rstrip("s")
        and _one_letter_apart(each, name)
        and not _is_read(job, each)
    ]


@once
def _alike_names(job: Job, name: str) -> list[str]:
    return [each for each in _assigned(job) if _is_alike(each, name)]


@once
def _longer_names(job: Job, name: str) -> list[str]:
    """The variables that are set and never read, and whose names begin with another: `OUTDIR` where `$OUT` is read.

    One that is exported may be for a program, unless the script exports variables that it reads itself as well.
    """
    own = any(each.exported and _is_read(job, each.name) for found in _assigned(job).values() for each in found)
    return [
        each
        for each, found in _assigned(job).items()
        if _continues(each, name) and (own or not any(assigned.exported for assigned in found))
    ]


def _continues(name: str, read: str) -> bool:
    """Whether a name is another one with letters after it: `OUTDIR` after `OUT`, but not `OUT_SIZE`."""
    return len(read) >= _SHORTEST_START and name.startswith(read) and name[len(read) :].isalpha()


def is_list(job: Job, read: VariableRead) -> bool:
    """Whether all elements of an array are read, which no environment can hold."""
    return job.source.slice(read.span).endswith(("[@]}", "[*]}"))


@once
def _is_read(job: Job, name: str) -> bool:
    """Whether the file mentions a variable other than by setting it."""
    return re.search(rf"(?<!\w){name}\b(?!\+?=|\[\w*\]\+?=)", job.source.text) is not None


def _is_alike(one: str, other: str) -> bool:
    """Whether two names differ only in case, underscores, the order of words, one letter, or the kind of options."""
    if one == other:
        return False
    first, second = one.lower(), other.lower()
    short, long = sorted((first, second), key=len)
    if _OPTIONS.fullmatch(short) and long.endswith(f"_{short}"):
        return True
    if first.replace("_", "") == second.replace("_", "") or sorted(first.split("_")) == sorted(second.split("_")):
        return True
    return min(len(one), len(other)) > _SHORTEST_NAME and _one_letter_apart(first, second)


@once
def is_misspelt(job: Job, name: str) -> bool:
    """Whether a name that nothing sets has a letter too few or too many, next to one that the script sets."""
    if find(name) is not None or not name.isidentifier() or len(name) < _SHORTEST_TYPO or name in set_names(job):
        return False
    return any(_is_misspelt(each, name) for each in set_names(job))


def _is_misspelt(name: str, read: str) -> bool:
    """Whether a name lacks a letter of another, has one twice, or has two swapped, or a long one lacks its last."""
    if name[:-1] == read and len(read) > _LONG_NAME and name[-1].isalpha() and name[-1] not in "sS":
        return True
    swapped = len(name) == len(read) and sorted(name) == sorted(read)
    # `A_XY` and `A_YX` may be two names, `DATADIR` and `DATADRI` are one
    ends = name[-2:] == read[-2:] or swapped and len(name.rpartition("_")[2]) > _SHORTEST_TYPO
    if min(len(name), len(read)) < _SHORTEST_TYPO or not ends or name[0] != read[0]:
        return False
    return (swapped or len(name) != len(read)) and _one_letter_apart(name, read)


def is_certain(name: str, read: str) -> bool:
    """Whether two names are so similar that one was meant where the other is read, although it is read elsewhere."""
    if _is_misspelt(name, read):
        return True
    mixed = not read.isupper() and "_" not in read and len(read) >= _SHORTEST_TYPO  # of no environment: `numberSteps`
    return mixed and not read.islower() and name.lower().replace("_", "") == read.lower()


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether one letter is missing or different, or two are swapped. Names that differ in a digit are different."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if other[start].isdigit() or start < len(one) and one[start].isdigit():
        return False
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    swapped = one[start : start + 2][::-1] == other[start : start + 2] and one[start + 2 :] == other[start + 2 :]
    return swapped or len(one) > 2 * _SHORTEST_NAME and one[start + 1 :] == other[start + 1 :]


def _shares_word(one: str, other: str) -> bool:
    """Whether two names have a word in common: `cuda_modules`, `worker_modules`."""
    words = {word for word in one.lower().split("_") if len(word) >= _SHORTEST_NAME}
    return not words.isdisjoint(other.lower().split("_"))


def is_of_submission(job: Job, read: VariableRead) -> bool:
    """Whether only the submission may set a variable, and nothing in the script shows which other one was meant."""
    name = read.name
    if read.operator or is_common_name(name) or is_set_by_site(name) or _is_of_module(job, name):
        return False
    if is_mentioned(job, name) or is_misspelt(job, name) or misspelling_of(name) is not None:
        return False
    return glued_name(job, read) is None and similar_variable(job, read) is None


def _is_of_module(job: Job, name: str) -> bool:
    """Whether a module of this name is loaded, which may set the variable: `module load picard`, then `$PICARD`, or
    `module load spark`, then `$SPARKURL`."""
    small = name.lower()
    ends = range(_SHORTEST_MODULE, len(small) + 1) if name.isupper() else ()
    return small.partition("_")[0] in _modules(job) or any(small[:end] in _modules(job) for end in ends)


@once
def _modules(job: Job) -> frozenset[str]:
    """The names, without their versions, of the modules that are loaded."""
    loaded = (each for each in job.invocations if has_trait(each.name, "loads"))
    return frozenset(word.lower().partition("/")[0] for each in loaded for word in each.words[1:])


# The text of a word before and after a variable.
_WORD_BEFORE = Regex(r"([\w.${}-]*)\Z")
_WORD_AFTER = Regex(r"[\w./-]+")
_VARIABLE_IN_WORD = Regex(r"(\$\{?(\w++)\}?)([\w./-]+)")
_SHORTEST_PATH = 5  # of a path after a variable that tells which one was meant: `$BIN/mdrun`
# Places with the same after a variable that are compared.
_MOST_ALIKE = 50


def in_same_word(job: Job, read: VariableRead) -> Span | None:
    """Where the same word occurs with a similar variable that is set: a file's name that was meant to be the same."""
    text, (start, end) = job.source.text, read.span
    before, after = _WORD_BEFORE.search(text[max(start - 200, 0) : start]), _WORD_AFTER.match(text, end)
    if before is None or after is None or min(len(after[0]), len(read.name)) < 2:
        return None
    if len(before[1]) < 2 and (before[1] or after[0][0] != "/" or len(after[0]) < _SHORTEST_PATH):
        return None
    for (name, _), span in _places_before(job).get(after[0], {}).items():
        if name != read.name and text.endswith(before[1], 0, span.start) and edit_distance(name, read.name) <= 2:
            return span
    return None


@once
def _places_before(job: Job) -> dict[str, dict[tuple[str, str], Span]]:
    """The first places of variables that are set before each text that goes on their words.

    By their names, and by what is before them.
    """
    found: dict[str, dict[tuple[str, str], Span]] = {}
    text = job.source.text
    for match in _VARIABLE_IN_WORD.finditer(text):
        alike = found.setdefault(match[3], {})
        if match[2] in set_names(job) and len(alike) < _MOST_ALIKE:
            before = _WORD_BEFORE.search(text[max(match.start() - 200, 0) : match.start()])
            assert before is not None
            alike.setdefault((match[2], before[1]), Span(match.start(1), match.end(1)))
    return found
