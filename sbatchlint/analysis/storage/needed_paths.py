"""The files and folders that have to be there for a command: those that it reads, enters, runs, or writes into."""

from collections.abc import Iterator

from sbatchlint.analysis.storage.written_paths import WRITING
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, span_of
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import container_of
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span

# Programs that only read the files among their operands.
READERS = frozenset(
    {"cat", "head", "tail", "wc", "sort", "uniq", "cut", "md5sum", "sha256sum", "gzip", "gunzip", "bgzip", "paste"}
    | {"less", "more", "zcat", "tac", "diff", "cmp", "join", "comm", "chmod", "file", "source", "."}
)
# Those whose first operand is no file.
FILTERS = frozenset({"grep", "egrep", "fgrep", "sed", "awk", "gawk", "chmod"})
ENTERING = frozenset({"cd", "pushd"})
# Those that run the file that they are given.
_SHELLS = frozenset({"bash", "sh", "Rscript", "perl", "julia", "csh", "tcsh", "zsh"})
_PUTTING = frozenset({"cp", "mv"})
_PRINTING = frozenset({"cat", "head", "tail", "wc", "less", "more", "file", "diff", "md5sum"})


class Need(Record):
    """A path that a command needs.

    `field`: the word. `above`: whether only the folder above it has to be there. `into`: whether the command writes
    there, so that the folder has to be there already. `printing`: whether only the log lacks something without it.
    """

    field: Pieces
    span: Span
    above: bool = False
    into: bool = False
    printing: bool = False


def needed_paths(command: Invocation) -> Iterator[Need]:
    """What must be there for a command that certainly runs on the job's node, outside of containers and tests."""
    context = command.context
    if command.phase is Phase.SUBMIT or command.alternatives > 1 or context.tested or context.handler:
        return
    if container_of(command) is not None or context.background is not None:
        return
    for redirect in command.redirects:
        if redirect.target and redirect.operator == "<":
            yield Need(redirect.target, span_of(redirect.target))
        elif redirect.target and redirect.operator in WRITING:
            yield Need(redirect.target, redirect.span, above=True, into=True)
    name = command.name
    operands = [field for field in command.argv[1:] if field and not shown_text(field).startswith("-")]
    quiet = any(each.operator[-1:] == ">" and each.fd == "2" for each in command.redirects)
    if name in READERS or name in FILTERS:
        printing = name in _PRINTING and not command.redirects and not command.piped_to and not context.captured
        for field in operands[name in FILTERS :]:
            yield Need(field, span_of(field), printing=printing or quiet)
    elif name in ENTERING or name in _SHELLS or command.argv and is_python(command.argv[0]):
        for field in command.argv[1:2]:
            if field and not shown_text(field).startswith("-"):
                yield Need(field, span_of(field))
    elif name in _PUTTING and len(operands) > 1:
        for field in operands[:-1]:
            yield Need(field, span_of(field), printing=quiet)
        last = operands[-1]
        is_folder = len(operands) > 2 or shown_text(last).endswith("/")
        yield Need(last, span_of(last), above=not is_folder, into=True)
    if command.argv and not command.kind and "/" in shown_text(command.argv[0]):
        yield Need(command.argv[0], span_of(command.argv[0]))
