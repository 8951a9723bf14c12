"""A command fails: it needs a file or a folder that the script has removed or moved away above.

`rm -rf $OUT` and then `./model > $OUT/log` ends with "No such file or directory": bash makes no folders. After
`mv data old`, `cat data/x.csv` finds nothing, and `cd data` leaves the script in the folder where it was.

Reported where the later command runs only after the removal, nothing between the two may have made the path again, and
it cannot do without: a file that is read, a folder that is entered or written to. What a program might make itself,
such as the folder after `--output`, is not reported, and nothing is known of what other programs leave behind.

An error; a warning where only a command that prints is without its file.

## Fix

None: whether the removal or the later command is wrong is not known.

## References

bash(1), "REDIRECTION"; cp(1), mv(1).
"""

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.script.work import UTILITIES
from sbatchlint.analysis.storage.needed_paths import ENTERING, FILTERS, READERS, needed_paths
from sbatchlint.analysis.storage.written_paths import is_recursive, named_paths, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import key, under
from sbatchlint.job.programs import is_called_between
from sbatchlint.programs import programs_with
from sbatchlint.source.numbers import has_between
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB738", "removed-path-used", severity="error", fix="never", since="0.1.0", when=Commands("rm", "mv", "rmdir"),
    batch=True, seen="a review of public scripts", unseen="`No such file or directory` in the log.",
)  # fmt: skip

_READING = frozenset({"read", "shift", "mapfile", "readarray"})
# Commands between the two of which nothing is lost or made but what their words name.
_PLAIN = UTILITIES - programs_with("copies", "packs", "opens", "repeats", "spreads")
_MAKING_BY_NAME = frozenset({"mkdir", "touch", "tee", "cp", "mv", "ln", "rsync", "install"})
_COPYING = frozenset({"cp", "mv", "rsync", "ln"})
# Those that make nothing of what their words name.
_NAMING_ONLY = frozenset({"rm", "rmdir", "echo", "printf", "cd", "ls", "export"})
_SEVERAL = Regex(r"[*?\[]|\$\{\}")
_UNCLEAR = Regex(r"\$\{(?:[^}]*[^\w}][^}]*|\d*)\}|\n")
_NAME = Regex(r"\$\{(\w+)\}")
_MOST = 40  # removed paths that are remembered


class Removal(Record):
    """A path that is gone. `pattern`: it has wildcards; `whole`: what is below it is gone as well.

    `if_there`: it is removed only if it is there (`[ -d out ] && rm -r out`), so that it is gone on either way.
    """

    path: str
    command: Invocation
    pattern: bool
    whole: bool
    if_there: bool


def check(job: Job) -> Iterator[Finding]:
    gone: list[Removal] = []
    for command in job.invocations:
        if gone:
            for use, path, printing in _needs(job, command):
                removal = next((each for each in gone if _lacks(each, path, command)), None)
                if removal is None or _is_reassigned(job, removal, command):
                    continue
                gone = [each for each in gone if each is not removal]  # what follows from it is no other fault
                how = "moves it away" if removal.command.name == "mv" else "removes it"
                name = path.replace("${", "$").replace("}", "")
                line = job.line(removal.command.span.start)
                redirected = any(each.span == use for each in command.redirects)
                place = use if redirected or command.span.contains(use) else command.span
                message = f"nothing is at `{_short(name)}`: line {line} {how}, and nothing makes it again"
                severity = "warning" if printing or command.context.conditional else None
                yield Finding(place, message, severity, related=[(removal.command.span, f"`{removal.command.name}`")])
            gone = _left(command, gone)
        if len(gone) < _MOST:
            gone.extend(_removed(job, command))


def _short(name: str) -> str:
    return name if len(name) <= 40 else "…" + name[-38:]


def _is_reassigned(job: Job, removal: Removal, command: Invocation) -> bool:
    """Whether a variable of the path may have got another value since the removal."""
    names, (start, end) = set(_NAME.findall(removal.path)), (removal.command.index, command.index)
    if not names:
        return False
    orders = _assignment_orders(job)
    assigned = any(has_between(orders.get(name, []), start + 1, end + 1) for name in names)
    return assigned or is_called_between(job, _READING, start, end)


@once
def _assignment_orders(job: Job) -> dict[str, list[int]]:
    """How many commands had run before each assignment, by the variable."""
    found: dict[str, list[int]] = {}
    for each in job.assignments:
        found.setdefault(each.name, []).append(each.order)
    return {name: sorted(orders) for name, orders in found.items()}


def _path(job: Job, command: Invocation, field: Pieces) -> str | None:
    """A path in the folder to which the script last changed; None where it is not known."""
    text = key(field)
    if not text or _UNCLEAR.search(text) or ".." in text:
        return None
    if not text.startswith(("/", "${")):
        folder = folder_of(job, command)
        text = text if folder is None else f"{key(folder)}/{text}"
        if _UNCLEAR.search(text):
            return None
    for here in ("${SLURM_SUBMIT_DIR}/", "${PWD}/"):
        if text.startswith(here) and folder_of(job, command) is None:
            text = text[len(here) :]
    return posixpath.normpath(text)


def _operands(command: Invocation) -> list[Pieces]:
    return [field for field in command.argv[1:] if field and not shown_text(field).startswith("-")]


def _removed(job: Job, command: Invocation) -> Iterator[Removal]:
    """What a command certainly removes or moves away."""
    if command.name not in ("rm", "mv", "rmdir") or command.phase is not Phase.BATCH or command.alternatives > 1:
        return
    if command.context.handler or command.context.background is not None or container_of(command) is not None:
        return
    fields = _operands(command)
    for field in fields[:-1] if command.name == "mv" else fields:
        path = _path(job, command, field)
        if path is None or path in (".", "/") or "{" in path.replace("${", ""):
            continue
        pattern = any(each in path for each in "*?[")
        yield Removal(
            path, command, pattern, is_recursive(command) or command.name == "mv", _is_tested(job, command, path)
        )


def _is_tested(job: Job, command: Invocation, path: str) -> bool:
    """Whether the command just before a removal tests whether the path is there."""
    test = job.invocations[command.index - 1] if command.index else None
    if test is None or test.name not in ("[", "test") or not test.context.tested or test.alternatives > 1:
        return False
    words = test.words[1:3]
    return len(words) == 2 and words[0] in ("-d", "-e", "-f") and _path(job, test, test.argv[2]) == path


def _lacks(removal: Removal, path: str, command: Invocation) -> bool:
    """Whether a path is gone wherever a command runs."""
    context, earlier = command.context, removal.command.context
    free = removal.command.guards - command.guards
    if len(free) > removal.if_there or context.loops[: len(earlier.loops)] != earlier.loops:
        return False
    if (
        earlier.conditional
        and not context.conditional
        and not removal.if_there
        or earlier.shell not in context.shell.enclosing_shells()
    ):
        return False
    if not removal.pattern:
        return under(path, removal.path)
    if removal.path == path:
        return True
    folder, _, last = removal.path.rpartition("/")
    inner, _, name = path.rpartition("/")
    if any(each in folder for each in "*?["):
        return False
    if removal.whole and last == "*" and under(path, folder) and path != folder:
        return not path[len(folder) + 1 :].startswith(".")
    return inner == folder and fnmatchcase(name, last) and not any(each in name for each in "*?[")


def _needs(job: Job, command: Invocation) -> Iterator[tuple[Span, str, bool]]:
    """What must be there for a command: the place, the path, and whether only the log lacks something without it."""
    for need in needed_paths(command):
        path = _path(job, command, need.field)
        path = _folder(path) if need.above else path
        if path:
            yield need.span, path, need.printing


def _folder(path: str | None) -> str | None:
    return None if path is None else path.rpartition("/")[0] or None


def _left(command: Invocation, gone: list[Removal]) -> list[Removal]:
    """What is still gone after a command, which may have made some of it."""
    if command.calls_function or command.name in (".", "source") and command.children:
        return gone  # what it runs comes after it
    known = command.name in READERS or command.name in FILTERS or command.name in ENTERING
    known = known or command.name in _PLAIN or command.name in _MAKING_BY_NAME
    return _unnamed(command, gone) if known and not command.children else []


def _unnamed(command: Invocation, gone: list[Removal]) -> list[Removal]:
    """The removals of which a command names nothing, and which it cannot have made under another name."""
    written = redirected_paths(command)
    named = written if command.name in _NAMING_ONLY else [*named_paths(command), *written]
    if not named:
        return gone
    if command.name in _COPYING and any(_SEVERAL.search(each) for each in named):
        return []  # it may put anything there
    parts = {part for each in named for part in each.removeprefix("./").split("/")}
    return [each for each in gone if not any(_is_of(part, each) for part in parts)]


def _is_of(part: str, removal: Removal) -> bool:
    """Whether a part of a path may be the name of what a removal removes, or of a folder on the way there."""
    last = removal.path.rpartition("/")[2]
    return part == last or removal.pattern and fnmatchcase(part, last)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        OUT=/scratch/team/run1
        mkdir -p $OUT
        rm -rf $OUT
        ./model «> $OUT/log.txt»
        """,
        title="written below",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        mv data old
        cat «data/x.csv» > all.csv
        ./model all.csv
        """,
        title="moved away",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        rm -rf out
        mkdir out
        ./model > out/log.txt
        rm -rf work
        ./prepare
        cat work/list.txt
        """,
        title="made again",
    ),
]
