"""`id USER`: the groups of a user, below a heading in the language of whoever printed it."""

from sbatchlint.site.outputs.records import Damaged
from sbatchlint.source.regex import Regex

_ID = Regex(r"uid=\d+\(([^()]*)\) gid=\d+(?:\([^()]*\))? \w+=(.+)")
_GROUP = Regex(r"\d+\(([^()]*)\)")


def is_id(line: str) -> bool:
    return line.startswith("uid=") and line[4:].partition("(")[0].isdigit()


def read_groups(line: str, user: str) -> tuple[str, ...]:
    """The names of the groups. Raises `Damaged`, also where they are those of another user."""
    found = _ID.match(line)
    groups = found[2].partition(" context=")[0].rstrip() if found is not None else ""
    if found is None or groups.endswith(",") or groups.count("(") != groups.count(")"):
        raise Damaged("what `id` prints has no groups: is the output cut off?")
    if found[1] != user:
        raise Damaged(f"what `id` prints is of the user {found[1]}, not of {user}")
    return tuple(_GROUP.findall(groups))
