"""From the segments of an expanded word to fields: field splitting by IFS."""

import re
from itertools import chain
from typing import NamedTuple

from sbatchlint.bash.state import State
from sbatchlint.bash.values import Piece, Pieces, cut, text_of
from sbatchlint.bash.variables import Fields
from sbatchlint.source.regex import Regex

WHITESPACE = " \t\n"
WORDS = Regex(r"[^ \t\n]+|[ \t\n]+")


class Segment(NamedTuple):
    """Consecutive pieces of a field to be; None ends the field. `split`: they come from an unquoted expansion."""

    pieces: Pieces | None
    split: bool


# The constructor without its wrapper: twice as fast, and most segments are made here.
_new = tuple.__new__
BREAK = Segment(None, False)
Segments = tuple[Segment, ...]


def segments_of(pieces: Pieces, split: bool) -> Segments:
    """The segments of the pieces of one expansion."""
    return (_new(Segment, (pieces, split)),) if pieces else ()


def joined(segments: Segments) -> Pieces:
    """The pieces of all segments."""
    return tuple(chain.from_iterable([pieces for pieces, _ in segments if pieces is not None]))


def separators_of(state: State) -> str | None:
    """The value of IFS; None where it is unknown."""
    variable = state.variables.get("IFS")
    if variable is None or not variable.alternatives:
        return WHITESPACE
    if len(variable.alternatives) != 1 or variable.alternatives[0].fields is None:
        return None
    return text_of(variable.alternatives[0].fields[0]) if variable.alternatives[0].fields else ""


def split_fields(segments: Segments, separators: str | None = WHITESPACE) -> Fields:
    """Field splitting of the unquoted expansions, as in POSIX 2.6.5; `separators`: IFS, None where it is unknown."""
    for pieces, split in segments:
        if pieces is None or split:
            break
    else:
        return (joined(segments),) if segments else ()
    if len(segments) == 1 and pieces is not None and len(pieces) == 1 and separators == WHITESPACE:
        text = pieces[0].text  # the usual `$NAME`
        if text is None:
            if pieces[0].open:
                return (pieces,)
            return ((_new(Piece, (None, pieces[0].start, pieces[0].end, pieces[0].expansion, True)),),)
        if text and " " not in text and "\t" not in text and "\n" not in text:
            return (pieces,)
    fields: list[Pieces] = []
    current: list[Piece] | None = None
    closed = False  # whitespace ended a field, so that one other separator still belongs to its end
    separating = WHITESPACE if separators is None else separators
    whitespace = "".join([each for each in separating if each in WHITESPACE])
    if separating == WHITESPACE:
        words = WORDS
    else:
        # one separator at a time: two that are not whitespace have an empty field between them
        inside = re.escape(separating)
        words = Regex(f"[^{inside}]+|[{inside}]" if separating else "(?s:.+)")
    for pieces, split in segments:
        if pieces is None:
            if current is not None:
                fields.append(tuple(current))
            current = None
            closed = False
            continue
        if not split:
            current = current if current is not None else []
            current.extend(pieces)
            continue
        for piece in pieces:
            text = piece.text
            if text is None or separators is None and text.strip(WHITESPACE):
                # split by an unknown IFS, any text is unknown
                current = current if current is not None else []
                current.append(piece._replace(text=None, open=True))
                continue
            if words is WORDS and text and " " not in text and "\t" not in text and "\n" not in text:
                current = current if current is not None else []
                current.append(piece)
                continue
            for match in words.finditer(text):
                first = match[0][0]
                if first not in separating:
                    current = current if current is not None else []
                    current.extend(cut((piece,), match.start(), match.end()))
                elif first in whitespace:
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
