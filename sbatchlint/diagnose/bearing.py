"""Which findings on the script bear on a message: those of the checks that a cause names, and those that mention what
the message names."""

import re
from collections.abc import Iterable, Sequence

from sbatchlint.diagnose.subjects import topics
from sbatchlint.diagnose.symptom import Cause, Confidence, Event
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

# The variables and options that a message names, and the tools whose caches its paths are in (`/root/.cache/uv/…`).
_VARIABLE = Regex(r"(?<![\w$/.-])\$?\{?([A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])\b")
_OPTION = Regex(r"(?<![\w-])(--[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)")
_CACHE = Regex(r"/\.cache/([a-z][\w-]+)|/\.(triton|nv|nemo|keras|cargo|conda)/")
# The groups of patterns with what a message is about.
_GROUPS = ("option", "command", "program", "name", "image", "port", "host")
# Who refuses a request: what it objects to and what a finding is about have to be the same.
_REFUSING = Regex(r"\b(?:sbatch|srun|salloc)(?:\.bin)?: (?:error|fatal): ")
# Checks of what a script may do, and of comments for the linter: no message is due to them.
_NEVER = ("SB0", "SB9")


# An argument of the program, in the line that a traceback quotes, and exceptions that its value may raise.
_ARGUMENT = Regex(r"(?<![\w.])(?:args?|opts?|options|FLAGS)\.([a-z]\w+)")
_OF_VALUE = ("TypeError", "ValueError", "AttributeError", "AssertionError")


def _arguments(event: Event) -> list[str]:
    """The options of which a program used the value where it failed: `int(args.rank)` of none."""
    if not event.groups.get("type", "").endswith(_OF_VALUE):
        return []
    quoted = [each for each in event.above[-2:] if each.strip("\t ^~")][-1:]
    found = [name for line in quoted if line.startswith(" ") for name in _ARGUMENT.findall(line)]
    return [f"--{name}" for each in found for name in (each, each.replace("_", "-"))]


def names_in(event: Event) -> list[str]:
    """What a message names, of which a finding may speak."""
    found = [event.groups[each].strip("'\"`") for each in _GROUPS if event.groups.get(each)]
    found += _VARIABLE.findall(event.text) + _OPTION.findall(event.text)
    found += _arguments(event)
    for groups in _CACHE.findall(event.text):
        found += [f"{each.upper().replace('-', '_')}_" for each in groups if each]
    return [each for each in dict.fromkeys(found) if len(each) > 1]


def bearing(cause: Cause, event: Event, findings: Sequence[Diagnostic], source: Source) -> list[Diagnostic]:
    """The findings by which a cause is confirmed.

    Where the message names an option that the script has, only those at this option count; where some of them mention
    another thing that it names, only these do.
    """
    found = [each for each in findings if each.code in cause.codes and re.search(cause.told, each.message)]
    option = event.groups.get("option", "")
    if option.startswith("--") and option in source.text:
        return [each for each in found if option in source.slice(source.line(source.row(each.span.start)))]
    names = names_in(event)
    return [each for each in found if _speaks(each, names)] or found


def is_sure(event: Event, found: Iterable[Diagnostic]) -> bool:
    """Whether findings and message are about the same: a refusal of memory is not due to a finding on GPUs."""
    if not _REFUSING.search(event.text):
        return True
    objected = topics(event.text)
    return not objected or any(not (told := topics(each.message)) or objected & told for each in found)


def advised(event: Event, found: Iterable[Diagnostic]) -> Confidence:
    """How sure findings make a cause that are only advice: they are about the same value, or may be about another."""
    names = names_in(event)
    return "likely" if any(_speaks(each, names) for each in found) else "possible"


def speaking_of(event: Event, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings that mention a variable, an option or a command that the message names, those of most weight."""
    names = [each for each in names_in(event) if each.startswith("--") or "_" in each or each == _command(event)]
    found = [each for each in findings if not each.code.startswith(_NEVER) and _speaks(each, names)]
    return [each for each in found if each.severity != "info"] or found


def _command(event: Event) -> str:
    return event.groups.get("command", "") or event.groups.get("program", "")


def _speaks(finding: Diagnostic, names: Iterable[str]) -> bool:
    """Whether a finding mentions one of these; a name that ends with `_` is the beginning of a variable's."""
    ended = (re.escape(each) + ("" if each.endswith("_") else r"(?![\w-])") for each in names)
    return any(re.search(rf"(?<![\w-]){each}", finding.message) for each in ended)
