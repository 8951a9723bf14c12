"""Words that may stand for the names of files: `*.txt`, `[ab]?`, `@(a|b)`.

Which files there are is not known. Such a word keeps its text, which is what a command gets where no file matches, but
is *open*: it may be any number of words, also none. Whatever depends on how many there are, or on what they are, is
unknown.
"""

import re
from operator import attrgetter

from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.tree import Literal
from sbatchlint.bash.values import Piece, Pieces

_OPEN = attrgetter("open")
_WILD = re.compile(r"[*?]|\[[^]]+\]|[@+!]\(")
# No file is reckoned with whose name looks like an option, an assignment, an address, or an element of an array.
_UNLIKELY = re.compile(r"-|[A-Za-z_][\w.:-]*=|[a-z]+:/|[A-Za-z_]\w*\[(?:\d+|[A-Za-z_]\w*|[*@])\]$")


def is_wild(part: Literal) -> bool:
    """Whether a literal of a word is a pattern; a parenthesis in a word belongs to one like `@(a|b)`."""
    text = part.text
    if part.quoted or not ("*" in text or "?" in text or "[" in text or text == "("):
        return False
    return len(text) == part.end - part.start and (text == "(" or _WILD.search(text) is not None)


def opened(pieces: Pieces, state: State) -> Pieces:
    """The pieces of a pattern, which is one unless `set -f` is in force."""
    return pieces if state.option("noglob") is True else _opened(pieces)


def may_be_wild(text: str) -> bool:
    """Whether a part of a value may be a pattern where it is not quoted."""
    return _WILD.search(text) is not None


def opened_value(piece: Piece, state: State) -> Piece:
    """A part of a value that is not quoted, open if it is a pattern."""
    is_pattern = piece.text and may_be_wild(piece.text) and state.option("noglob") is not True
    return piece.replace(open=True) if is_pattern else piece


def _opened(pieces: Pieces) -> Pieces:
    return tuple([piece.replace(open=True) for piece in pieces])


def matched(field: Pieces, state: State) -> Pieces:
    """A field with its open patterns, as the options of the shell let them match."""
    if not any(map(_OPEN, field)) or not any(piece.open and piece.text for piece in field):
        return field
    stays = state.option("nullglob") is False and state.option("failglob") is False
    if stays and _UNLIKELY.match(field[0].text or ""):
        return tuple([piece.replace(open=False) if piece.text else piece for piece in field])
    if not stays:
        return printed(field)
    is_extended = any(piece.open and piece.text == "(" for piece in field)  # of `@(a|b)`
    return _opened(field) if is_extended else field


def printed(field: Pieces) -> Pieces:
    """A field as a command prints it: what a pattern becomes is not known."""
    if not any(piece.open and piece.text for piece in field):
        return field
    return (Piece(None, field[0].start, field[-1].end, field[0].expansion, open=True),)
