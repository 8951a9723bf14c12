"""What decides whether a finding is acted on: why it matters, what it rests on, how sure it is, what silences it."""

from sbatchlint import COMMENT_MARK
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.registry import Check, registry
from sbatchlint.source.regex import Regex

# By CONTRIBUTING.md, "the job hangs" is for certain faults, "the job may hang" for possible ones.
_POSSIBLE = Regex(r"\b(?:may|might|perhaps|possibly|probably|likely|unless)\b")
_QUOTED = Regex(r"`[^`]*`|'[^']*'|\"[^\"]*\"")


def sections(check: Check) -> tuple[str, list[tuple[str, str]]]:
    """The text below the summary, and the `## ` sections, title and body each."""
    _, _, body = (check.module.__doc__ or "").strip().partition("\n")
    first, *rest = ("\n" + body).split("\n## ")
    found = []
    for part in rest:
        title, _, text = part.partition("\n")
        found.append((title.strip(), text.strip()))
    return first.strip(), found


def check_of(diagnostic: Diagnostic) -> Check:
    """The check of a finding."""
    entry = registry().find(diagnostic.code)
    assert entry is not None
    return registry().load(entry)


def references(check: Check) -> str:
    """What a check rests on, in one line: manuals, source files with their releases, live runs, threads."""
    found = dict(sections(check)[1]).get("References", "")
    known = [found, check.card.seen] if check.card.seen not in found else [found]
    return "; ".join(" ".join(each.split()).rstrip(".") for each in known if each)


def certainty(diagnostic: Diagnostic) -> str:
    """`possible` if the message says what may happen, `certain` if what will; an error happens whatever the site."""
    consequence = _QUOTED.sub("", diagnostic.message.partition("; ")[0])
    is_possible = diagnostic.severity != "error" and _POSSIBLE.search(consequence) is not None
    return "possible" if is_possible else "certain"


def silencing(diagnostic: Diagnostic) -> str:
    """The comment that suppresses a finding, for the line above it."""
    return f"# {COMMENT_MARK} ignore[{diagnostic.name}]"
