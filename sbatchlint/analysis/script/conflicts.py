"""What a merge leaves in a file where both sides changed the same lines."""

import re

from sbatchlint.source.regex import Regex

_OPENING = Regex(r"<{7} [^\r\n]*")
_REST = Regex(r"^(={7}\r?$|>{7} )", re.MULTILINE)


def conflict_marker(string: str, at: int) -> tuple[int, int] | None:
    """The range of the line with this offset, where it opens a conflict that `=======` and `>>>>>>>` lines go on with.

    git-merge(1), HOW CONFLICTS ARE PRESENTED.
    """
    start = string.rfind("\n", 0, at) + 1
    opening = _OPENING.match(string, start)
    if opening is None:
        return None
    rest = [each[1][0] for each in _REST.finditer(string, opening.end())]
    return opening.span() if rest[:2] == ["=", ">"] else None
