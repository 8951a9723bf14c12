"""Characters in directives that only look like spaces, dashes or quotes, or are invisible.

sbatch splits words at the whitespace of the C locale, and knows only `-`, `"` and `'` (`get_argument()`,
src/sbatch/opt.c; run on 22.05 and 26.05). What a word processor or a web page puts in their place is an ordinary
character of a word.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.directives.typos import INVISIBLE
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, magic_of, read_words
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.options import find
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import end_of_line

BLANK, UNSEEN, DASH, QUOTE = "blank", "unseen", "dash", "quote"

NAMES = {
    "\u00a0": ("no-break space", BLANK),
    "\u2007": ("figure space", BLANK),
    "\u2009": ("thin space", BLANK),
    "\u200a": ("hair space", BLANK),
    "\u202f": ("narrow no-break space", BLANK),
    "\u00ad": ("soft hyphen", UNSEEN),
    "\u200b": ("zero-width space", UNSEEN),
    "\u200c": ("zero-width non-joiner", UNSEEN),
    "\u200d": ("zero-width joiner", UNSEEN),
    "\u2060": ("word joiner", UNSEEN),
    "\ufeff": ("byte-order mark", UNSEEN),
    "\u2010": ("hyphen", DASH),
    "\u2011": ("non-breaking hyphen", DASH),
    "\u2012": ("figure dash", DASH),
    "\u2013": ("en dash", DASH),
    "\u2014": ("em dash", DASH),
    "\u2015": ("horizontal bar", DASH),
    "\u2212": ("minus sign", DASH),
    "\u2018": ("curly quote", QUOTE),
    "\u2019": ("curly quote", QUOTE),
    "\u201c": ("curly quote", QUOTE),
    "\u201d": ("curly quote", QUOTE),
}
_STRAIGHT = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}
_DASHES = "".join(character for character, (_, kind) in NAMES.items() if kind == DASH)
_LEADING_DASHES = Regex(f"[-{_DASHES}]+")
# Options whose values are free text or file names, which may hold any character.
_TEXTS = "batch bbf chdir comment container error export extra input job-name nodefile output wckey wrap"
_FREE = frozenset(_TEXTS.split())
# A line that would be a directive but for invisible characters around or within its `#SBATCH`.
_UNSEEN = "".join(character for character, (_, kind) in NAMES.items() if kind in (BLANK, UNSEEN))
_HIDDEN = Regex(f"[{_UNSEEN} \\t]*" + f"[{_UNSEEN}]*".join("#SBATCH"))


class Invisible(NamedTuple):
    """The characters of one line that only look like others, or are invisible.

    `place`: `word` (in the words of a directive), `magic` (at its `#SBATCH`), or `stop` (on a line that looks blank, or
    like a comment, and after which sbatch reads no directives). `start`, `end`: the words, in the script's text;
    `characters`: those at fault. `edits`: ranges of the text and what belongs there, None where it is not clear.
    `safe`: whether nothing else can have been meant.
    """

    place: str
    start: int
    end: int
    characters: str
    edits: tuple[tuple[int, int, str], ...] | None
    safe: bool

    @property
    def name(self) -> str:
        """The Unicode name of the first character."""
        return NAMES[self.characters[0]][0]

    @property
    def kind(self) -> str:
        """What the first character is: `blank`, `unseen`, `dash` or `quote`."""
        return NAMES[self.characters[0]][1]


def invisible_characters(directives: Directives) -> list[Invisible]:
    """Every line of the option block with such characters outside its comment, in order."""
    string = directives.text.string
    if string.isascii():
        return []
    found = [each for line in directives.lines for each in _in_line(directives, line)]
    end = len(string) if directives.stop is None else end_of_line(string, directives.stop.start)
    line_starts = {string.rfind("\n", 0, match.start()) + 1 for match in INVISIBLE.finditer(string, 0, end)}
    for start in line_starts:
        if magic_of(string, start) is None:
            leading = _at_line_start(directives, start, end)
            if leading is not None:
                found.append(leading)
    return sorted(found, key=lambda each: each.start)


def _at_line_start(directives: Directives, start: int, block_end: int) -> Invisible | None:
    """The characters that hide a directive, or that make a command of a line that looks blank or like a comment."""
    string = directives.text.string
    end = end_of_line(string, start)
    hidden = _HIDDEN.match(string, start, end)
    shown = "".join(INVISIBLE.findall(hidden.group())) if hidden is not None else ""
    if hidden is not None and shown:
        return Invisible("magic", start, hidden.end(), shown, ((start, hidden.end(), "#SBATCH"),), True)
    bare = string[start:end].lstrip(_UNSEEN + BLANKS)
    prefix = string[start : end - len(bare)]
    shown = "".join(INVISIBLE.findall(prefix))
    if directives.unread and end == block_end and shown and bare[:1] in ("", "#"):
        return Invisible("stop", start, start + len(prefix), shown, ((start, start + len(prefix), ""),), True)
    return None


class _Place(NamedTuple):
    """The offset of such a character, whether it is quoted, and the setting whose value holds it (None: none)."""

    at: int
    quoted: bool
    setting: Setting | None

    @property
    def free(self) -> bool:
        return self.setting is not None and (self.setting.plugin is not None or self.setting.name in _FREE)


def _in_line(directives: Directives, line: DirectiveLine) -> Iterator[Invisible]:
    string = directives.text.string
    end = line.comment_start if line.comment is not None else line.end
    if INVISIBLE.search(string, line.words_start, end) is None:
        return
    places = list(_places(directives, line, end))
    if line.fault is not None:
        # After an unclosed quote, only another quote can be the reason.
        places = [each for each in places if each.at < line.fault.start or NAMES[string[each.at]][1] == QUOTE]
    edits: list[tuple[int, int, str]] = []
    characters: list[int] = []
    safe = fixable = True
    opened = _opened(string, places)
    for place in places:
        kind = NAMES[string[place.at]][1]
        correction: tuple[tuple[int, int, str], bool] | None = None
        if kind == QUOTE:
            if opened or not place.free:
                correction = (place.at, place.at + 1, _STRAIGHT[string[place.at]]), False
        elif kind == DASH:
            correction = _dash(string, place, line)
        elif kind == UNSEEN:
            correction = _unseen(string, place)
        else:
            correction = _blank(string, place, end)
        if correction is not None:
            edit, is_safe = correction
            characters.append(place.at)
            safe = safe and is_safe
            if not edits or edits[-1] != edit:
                edits.append(edit)
    if not characters:
        return
    if any(first[1] > second[0] for first, second in pairwise(edits)) or not _can_be_split(string, line, edits):
        fixable = False
    start, stop = _enclosing_words(line, characters[0], characters[-1])
    shown = "".join(string[at] for at in characters)
    yield Invisible("word", start, stop, shown, tuple(edits) if fixable else None, safe and fixable)


def _places(directives: Directives, line: DirectiveLine, end: int) -> Iterator[_Place]:
    string = directives.text.string
    values = [each for each in directives.settings_on(line) if each.value_token is not None and each.value_line is line]
    quote = ""
    at = line.words_start
    while at < end:
        character = string[at]
        if character == "\\":
            at += 2
            continue
        if quote:
            if character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        if character in NAMES:
            setting = None
            for value in values:
                token = value.value_token
                assert token is not None
                if token.part(value.value_start)[0] <= at < token.end:
                    setting = value
            yield _Place(at, bool(quote), setting)
        at += 1


def _opened(string: str, places: list[_Place]) -> bool:
    """Whether a curly quote opens a value, so that the quotes are meant to quote it."""
    return any(
        NAMES[string[place.at]][1] == QUOTE and not place.quoted and string[place.at - 1] in BLANKS + "="
        for place in places
    )


def _dash(string: str, place: _Place, line: DirectiveLine) -> tuple[tuple[int, int, str], bool] | None:
    """The edit that makes `-` or `--` of a dash, and whether it is safe; None where the dash may be meant."""
    at = place.at
    token = next((each for each in line.tokens if each.start <= at < each.end), None)
    if token is not None and not place.quoted:
        leading = _LEADING_DASHES.match(string, token.start)
        if leading is not None and at < leading.end():
            name = re.sub(f"[{_DASHES}]", "-", re.split(r"[=\s]", string[leading.end() : token.end])[0])
            option = find(name) is not None
            if place.free and not option:
                return None
            written = "--" if option or len(name) > 1 and not is_number(name[1:]) else "-"
            return (token.start, leading.end(), written), False
    if place.free:
        return None
    return (at, at + 1, "-"), False


def _unseen(string: str, place: _Place) -> tuple[tuple[int, int, str], bool] | None:
    at = place.at
    around = string[at - 1 : at] + string[at + 1 : at + 2]
    if place.free and any(not each.isascii() and each not in NAMES for each in around):
        return None  # some writing systems need it between their letters
    return (at, at + 1, ""), True


def _blank(string: str, place: _Place, end: int) -> tuple[tuple[int, int, str], bool] | None:
    at = place.at
    if place.quoted:
        return None if place.free else ((at, at + 1, ""), False)
    first, last = at, at + 1
    while NAMES.get(string[first - 1], ("", ""))[1] == BLANK:
        first -= 1
    while last < end and NAMES.get(string[last], ("", ""))[1] == BLANK:
        last += 1
    after = string[last : last + 1] if last < end else ""
    if string[first - 1] == "=" or after == "=":
        return (first, last, ""), True
    ends = after == "" or after in BLANKS or after in "-#"
    if place.setting is not None and not ends and place.at > _value_begin(place.setting):
        # within a value: part of a name, or between a number and its unit
        return None if place.free else ((first, last, ""), False)
    return (first, last, " "), True


def _value_begin(setting: Setting) -> int:
    assert setting.value_token is not None
    return setting.value_token.part(setting.value_start)[0]


def _can_be_split(string: str, line: DirectiveLine, edits: list[tuple[int, int, str]]) -> bool:
    """Whether sbatch can split the line into words once the edits are made."""
    parts: list[str] = []
    at = line.words_start
    for start, end, content in edits:
        parts += [string[at:start], content]
        at = end
    text = "".join(parts) + string[at : line.end]
    return read_words(text, 0, len(text)).fault is None


def _enclosing_words(line: DirectiveLine, first: int, last: int) -> tuple[int, int]:
    start, end = first, last + 1
    for token in line.tokens:
        if token.start <= first < token.end:
            start = token.start
        if token.start <= last < token.end:
            end = token.end
    return start, end
