"""From the segments of an expanded word to fields: field splitting by IFS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.bash.state import State
from sbatchlint.bash.values import Piece, Pieces, cut, text_of
from sbatchlint.bash.variables import Fields
from sbatchlint.source.regex import Regex

BLANKS = " \t\n"
WORDS = Regex(r"[^ \t\n]+|[ \t\n]+")


class Segment(NamedTuple):
    """A piece on its way into a field; `split`: it came from an expansion without quotes. None ends the field."""

    piece: Piece | None
    split: bool


BREAK = Segment(None, False)
Segments = tuple[Segment, ...]
# Without the constructor around it: most of what a run makes is segments.
_new = tuple.__new__


def segments_of(pieces: Iterable[Piece], split: bool) -> Segments:
    """The segments of the pieces of one expansion."""
    return tuple([_new(Segment, (piece, split)) for piece in pieces])


def separators_of(state: State) -> str | None:
    """IFS; None where it is unknown."""
    variable = state.variables.get("IFS")
    if variable is None or not variable.alternatives:
        return BLANKS
    if len(variable.alternatives) != 1 or variable.alternatives[0].fields is None:
        return None
    return text_of(variable.alternatives[0].fields[0]) if variable.alternatives[0].fields else ""


def split_fields(segments: Segments, separators: str | None = BLANKS) -> Fields:
    """Field splitting of the unquoted expansions, as in POSIX 2.6.5; `separators`: IFS, None where it is unknown."""
    if not any(piece is None or split for piece, split in segments):
        return (tuple([piece for piece, _ in segments if piece is not None]),) if segments else ()
    fields: list[Pieces] = []
    current: list[Piece] | None = None
    closed = False  # a field ended at a blank, so that one separator that is none belongs to its end
    separating = BLANKS if separators is None else separators
    blanks = "".join([each for each in separating if each in BLANKS])
    if separating == BLANKS:
        words = WORDS
    else:
        # one separator at a time, as two of them that are no blanks have an empty field between them
        inside = re.escape(separating)
        words = Regex(f"[^{inside}]+|[{inside}]" if separating else "(?s:.+)")
    for piece, split in segments:
        if piece is None:
            if current is not None:
                fields.append(tuple(current))
            current = None
            closed = False
            continue
        if not split or piece.text is None or separators is None and piece.text.strip(BLANKS):
            if split:
                # what another IFS makes of it is as unknown as an unknown text
                piece = piece._replace(text=None, open=True)
            current = current if current is not None else []
            current.append(piece)
            continue
        text = piece.text
        if words is WORDS and text and " " not in text and "\t" not in text and "\n" not in text:
            current = current if current is not None else []
            current.append(piece)
            continue
        for match in words.finditer(text):
            first = match[0][0]
            if first not in separating:
                current = current if current is not None else []
                current.extend(cut((piece,), match.start(), match.end()))
            elif first in blanks:
                if current is not None:
                    fields.append(tuple(current))
                    current, closed = None, True
            elif current is not None or not closed:
                fields.append(tuple(current or (Piece("", piece.start, piece.start, piece.expansion),)))
                current, closed = None, False
            else:
                closed = False
    if current is not None:
        fields.append(tuple(current))
    return tuple(fields)
