"""From the segments of an expanded word to fields: field splitting by IFS."""

import re
from functools import lru_cache
from itertools import chain

from sbatchlint.bash.expansion.globs import may_be_wild, opened_value
from sbatchlint.bash.state import State
from sbatchlint.bash.values import Piece, Pieces, part_of, text_of, texts_of
from sbatchlint.bash.variables import Fields
from sbatchlint.source.regex import Regex

WHITESPACE = " \t\n"

# Consecutive pieces of a field to be, and whether they are split, as they come from an unquoted expansion. None instead
# of pieces ends the field; a soft break may not be there, as the element of an array beside it may be none.
Segment = tuple[Pieces | None, bool]
Segments = tuple[Segment, ...]
BREAK: Segment = (None, False)
SOFT_BREAK: Segment = (None, True)


def segments_of(pieces: Pieces, split: bool) -> Segments:
    """The segments of the pieces of one expansion."""
    return ((pieces, split),) if pieces else ()


def joined(segments: Segments) -> Pieces:
    """The pieces of all segments."""
    if len(segments) == 1:
        return segments[0][0] or ()
    return tuple(chain.from_iterable([pieces for pieces, _ in segments if pieces is not None]))


def separators_of(state: State) -> str | None:
    """The value of IFS; None where it is unknown."""
    variable = state.variables.get("IFS")
    if variable is None or not variable.alternatives:
        return WHITESPACE
    if len(variable.alternatives) != 1 or variable.alternatives[0].fields is None:
        return None
    return text_of(variable.alternatives[0].fields[0]) if variable.alternatives[0].fields else ""


@lru_cache(maxsize=16)
def _words_and_separators(separating: str) -> Regex:
    """Words, and separators one at a time: two that are not whitespace have an empty field between them."""
    inside = re.escape(separating)
    return Regex(f"[^{inside}]+|[{inside}]" if separating else "(?s:.+)")


def split_fields(segments: Segments, state: State) -> Fields:
    """Field splitting of the unquoted expansions, as in POSIX 2.6.5."""
    if not segments:
        return ()
    if not any(pieces is None or split for pieces, split in segments):
        return (joined(segments),)
    fields: list[Pieces] = []
    current: list[Piece] | None = None
    closed = False  # whitespace ended a field, so that one other separator still belongs to its end
    separators = separators_of(state)
    separating = WHITESPACE if separators is None else separators
    whitespace = "".join([each for each in separating if each in WHITESPACE])
    words = _words_and_separators(separating)
    soft: list[int] = []  # the fields that end with a soft break
    for pieces, split in segments:
        if pieces is None:
            if current is not None:
                if split:
                    soft.append(len(fields))
                fields.append(tuple(current))
            current = None
            closed = False
            continue
        if not split:
            current = current or []
            current.extend(pieces)
            continue
        if len(pieces) > 1 and separators is not None and _stays(pieces, separating):
            current = current or []
            current.extend(pieces)
            continue
        for piece in pieces:
            text = piece.text
            if text is None or separators is None and text.strip(WHITESPACE):
                # split by an unknown IFS, any text is unknown
                current = current or []
                current.append(piece if separators == WHITESPACE and _is_one_word(piece) else _opened(piece))
                continue
            for match in words.finditer(text):
                first = match[0][0]
                if first not in separating:
                    current = current or []
                    current.append(opened_value(piece if match[0] == text else part_of(piece, *match.span()), state))
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
    return tuple(_joined_softly(fields, soft) if soft else fields)


def _stays(pieces: Pieces, separating: str) -> bool:
    """Whether splitting leaves all pieces as they are: asked at once of a value, which may have hundreds."""
    texts = texts_of(pieces)
    if None in texts or "" in texts:
        return False
    text = "".join(texts)  # type: ignore[arg-type]
    return not (set(separating) & set(text)) and not may_be_wild(text)


def _joined_softly(fields: list[Pieces], soft: list[int]) -> list[Pieces]:
    """The fields without the soft breaks that may not be there.

    Where something stands before or behind an element that may be none, it and what is beyond the break may be one
    field: they become one, as the element stands for any number of fields. An open piece without text marks the break.
    """
    soft = [number for number in soft if number + 1 < len(fields)]
    gone: set[int] = set()
    for number in soft:
        *before, element = fields[number]
        if element.open and (before or number - 1 in gone):
            gone.add(number)
    for number in reversed(soft):
        element, *behind = fields[number + 1]
        if element.open and (behind or number + 1 in gone):
            gone.add(number)
    found: list[Pieces] = []
    for number, field in enumerate(fields):
        if number - 1 in gone:
            start = field[0].start
            # what a name's pattern was is not known, as it may be part of the name of another file
            known = [_opened(piece) if piece.open and piece.text else piece for piece in (*found.pop(), *field)]
            found.append((*known[: -len(field)], Piece("", start, start, None, True), *known[-len(field) :]))
        else:
            found.append(field)
    return found


def _is_one_word(piece: Piece) -> bool:
    """Whether an unknown piece is one word: a number, or a variable of the job (a command may print several lines)."""
    found = piece.expansion
    return (
        piece.filled and not piece.loose and found is not None and (found.name[:2] != "$(" or found.name[:3] == "$((")
    )


def _opened(piece: Piece) -> Piece:
    """The piece as one that may be any number of fields."""
    return Piece(None, piece.start, piece.end, piece.expansion, True)
