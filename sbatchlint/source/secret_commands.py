"""Command lines as bash reads them: each word without its quotes, and variables as what they are set to.

`reaching` asks of such lines where they have a secret, as of any text, and tells where in the file each value stands
that ends there: a place that takes a secret takes it however the word is written, and wherever its value comes from.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_flow import ECHOED, QUOTES, REFERENCE, Flow, Value, words_of_format
from sbatchlint.source.secret_words import value_at

# Stands for a value where what takes it is not known yet: drawn, so that it may be a secret of every kind.
_MARK = "Qz7Kx2Vb9Lm4Rt8Wn3Yd"
# The same where another value is tried: unknown, and no part of it.
_UNKNOWN = "${Q_______________0}"
# Stands for a character that ends a word without quotes.
_STAND_IN = "+"
_SPECIAL = Regex(r"[\s;|&<>()'\"`]")
# A word with quotes, and its parts.
_RUN = Regex(
    r"(?:[^\s'\"\\;|&<>()`{}\[\],$]|\\[^\n]|\$\{[^{}\n'\"]{0,100}\}|\$"
    r"|'[^'\n]{0,400}'|\"(?:\\[^\n]|[^\"\\\n]){0,400}\")+"
)
_PART = Regex(r"'[^'\n]*'|\"(?:\\[^\n]|[^\"\\\n])*\"|(?:[^'\"\\]|\\[^\n])+")
_QUOTES = Regex(r"\$?['\"]{0,3}\$?['\"]?")
# A format with words, and what of it stands for one.
_FORMAT = Regex(
    r"(?P<output>\$\([ \t]*)?\bprintf[ \t]+(?:--[ \t]+)?"
    r"(?P<quote>['\"])(?P<format>(?:(?!(?P=quote))[^\n\\]|\\[^\n]){1,400})(?P=quote)(?=[ \t])"
)
_CONVERSION = Regex(r"%[sqb]|\\n")
_INPUT = Regex(r"<[ \t]+<\([ \t]*(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|['\"]?%s(?:\\n)?['\"]?[ \t]+)?(?=\S)")
# What is before and after the name of an option or a variable; an address before a part of it.
_BEFORE_NAME, _AFTER_NAME = Regex(r"--?\Z"), Regex(r"['\"]?(?:=|:[ \t])")
_OF_ADDRESS = Regex(r"://[^\s'\"]{0,200}\Z")
_ESCAPE = Regex(r"\\(?=[^\w\s'\"$`;|&<>()\\])")
_CLOSE = Regex(r"['\"]?[ \t]*(?:\|[^\n()`|]{0,80})?\s{0,9}(?:\w{1,40}\s)?[)`]")
# What of a value is more than one word, or names a user beside it; what is none of this.
_IN_PARTS = Regex(r"(?=.*[A-Za-z])(?:-.*|[^/~.].*[\s:%,].*)", re.DOTALL)
_WORD = Regex(r"[^\s'\"]{1,80}")
_BEFORE_COMMAND = Regex(r"(?:^|[;|&({\n])[ \t]*(?:(?:then|do|else|if|srun|exec|env|time|sudo|nohup|!)[ \t]+)*['\"]?\Z")
# So much of a text is around what stands in it, at most.
_LINES_BEFORE, _LINES_AFTER = 3, 2
_BEFORE, _AFTER = 400, 300
_LONGEST = 400
# How many values are tried in one place, in how many places, how often, and how long the lines may be together.
_VALUES, _ALL_VALUES, _PLACES, _ROUNDS = 4, 400, 3, 4
_MOST, _TIMES = 20_000, 6

Places = Iterable[tuple[tuple[int, int], str]]


class Reached(NamedTuple):
    """A value that ends where a secret is taken. `name`: of what takes it; `None` where it is written right there."""

    name: str | None
    value: str
    span: tuple[int, int]


class _Reference(NamedTuple):
    """Where lines have a mark, and for which variables."""

    start: int
    end: int
    keys: list[str]


class _Context(NamedTuple):
    """The lines around a reference: what is before and after it, and where that is in which lines."""

    before: str
    after: str
    lines: "_Lines"
    start: int
    end: int


class _Lines:
    """Lines with the places where their parts stand in the file, and the references in them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.pieces: list[tuple[int, int, int, bool]] = []  # place here, size, place in the file, is of a value
        self.references: list[_Reference] = []

    def add(self, text: str, at: int | None = None, is_value: bool = False) -> None:
        if at is not None and text:
            self.pieces.append((self.size, len(text), at, is_value))
        self.parts.append(text)
        self.size += len(text)

    def add_part(self, other: "_Lines", start: int, text: str) -> None:
        """Adds a part of other lines, with where it stands in the file."""
        end = start + len(text)
        first = max(bisect(other.pieces, (start, 1 << 60)) - 1, 0)
        for at, size, place, is_value in other.pieces[first : bisect_left(other.pieces, (end,))]:
            low, high = max(start, at), min(end, at + size)
            if low < high:
                self.pieces.append((self.size + low - start, high - low, place + low - at, is_value))
        self.add(text.replace(_MARK, _UNKNOWN))

    def refer(self, keys: list[str]) -> None:
        if keys:
            self.references.append(_Reference(self.size, self.size + len(_MARK), keys))
        self.add(_MARK if keys else _UNKNOWN)

    @property
    def text(self) -> str:
        return "".join(self.parts)


def reaching(string: str, told: Callable[[str], Places]) -> Iterator[Reached]:
    """The values that end where a text has a secret, by the places that `told` finds and how it names these."""
    if any(sign in string for sign in ("$", "`", "'", '"', "<(")):
        yield from _Evaluation(string, told).reached()


class _Evaluation:
    def __init__(self, string: str, told: Callable[[str], Places]) -> None:
        self.string = string
        self.told = told
        self.flow = Flow(string)
        self.lines = _Lines()
        self.left = _MOST + _TIMES * len(string)
        # of variables that reach a secret: what takes it, and the lines that do
        self.wanted: dict[str, str] = {}
        self.contexts: dict[str, list[_Context]] = {}
        self.new: list[str] = []
        self.tried: set[tuple[str, str, int]] = set()

    def reached(self) -> Iterator[Reached]:
        edits = sorted(
            (
                *self._references(0, len(self.string)),
                *_quotes(self.string, 0, len(self.string)),
                *_outputs(self.string),
            ),
            key=lambda edit: (edit[0], -edit[1]),
        )
        if all(keys == [] for _, _, _, keys in edits) and "printf" not in self.string:
            return
        self._write(edits)
        first = self.lines
        yield from self._judged(first)
        lines = self._in_parts(first)
        self._add_formatted(lines)
        for _ in range(_ROUNDS):
            self._try_values(lines)
            if not lines.size:
                return
            yield from self._judged(lines)
            lines = _Lines()

    def _references(self, start: int, end: int) -> Iterator[tuple[int, int, str, list[str] | None]]:
        """The references to what something is known of, and others beside quotes, which may end their names."""
        for match in REFERENCE.finditer(self.string, start, end):
            rest = match["rest"] or ""
            keys = [] if rest.startswith(("+", ":+")) else self._known_keys(match, match.start())
            beside = self.string[max(match.start() - 1, 0) : match.start()], self.string[match.end() : match.end() + 1]
            if match["function"] is not None and not keys:  # another command, with words of its own
                yield from self._references(match.end("function"), match.end())
            elif keys or '"' in beside or "'" in beside:
                yield *match.span(), "", keys

    def _known_keys(self, match: re.Match[str], place: int) -> list[str]:
        return [each for each in self.flow.keys(match, place) if self.flow.is_known(each)]

    def _write(self, edits: list[tuple[int, int, str, list[str] | None]]) -> None:
        """Writes the lines that have a reference or a quote to remove, with some around them."""
        at = 0  # how far it is written
        for start, end, instead, keys in edits:
            if start < at:
                continue
            begin = self._line_before(start)
            if begin > at:
                close = self._line_after(at)
                self.lines.add(self.string[at : min(close, begin)], at)
                self.lines.add("" if close >= begin else "\n\n")
                at = max(at, begin) if close < begin else min(close, begin)
            self.lines.add(self.string[at:start], at)
            if keys is None:
                self.lines.add(instead, start)
            else:
                self.lines.refer(keys)
            at = end
        self.lines.add(self.string[at : self._line_after(at)], at)

    def _line_before(self, at: int) -> int:
        least, start = max(at - _BEFORE, 0), at
        for _ in range(_LINES_BEFORE):
            start = self.string.rfind("\n", least, max(start, least))
            if start < 0:
                return least
        return start

    def _line_after(self, at: int) -> int:
        most, end = min(at + _AFTER, len(self.string)), at
        for _ in range(_LINES_AFTER):
            end = self.string.find("\n", end, most) + 1
            if end == 0:
                return most
        return end

    def _judged(self, lines: _Lines) -> Iterator[Reached]:
        """What of these lines is a secret, and which variables are from now on wanted."""
        text = lines.text
        starts = [each[0] for each in lines.pieces]
        marks = [each.start for each in lines.references]
        for (start, end), name in self.told(text):
            touched = lines.references[max(bisect(marks, start) - 1, 0) : bisect_left(marks, end)]
            touched = [each for each in touched if each.end > start]
            for reference in touched:
                context = _context(lines, text, reference)
                for key in reference.keys:
                    self._want(key, name, [context])
            pieces = lines.pieces[max(bisect(starts, start) - 1, 0) : bisect_left(starts, end)] if not touched else []
            has_value = any(is_value and at + size > start for at, size, _, is_value in pieces)
            spans: list[tuple[int, int]] = []
            for at, size, place, is_value in pieces:
                low, high = max(start, at), min(end, at + size)
                if low < high and is_value == has_value:
                    begin, close = place + low - at, place + high - at
                    if spans and _QUOTES.fullmatch(self.string, spans[-1][1], begin) is not None:
                        begin = spans.pop()[0]  # one word
                    spans.append((begin, close))
            for span in spans:
                yield Reached(name if has_value else None, self.string[slice(*span)], span)

    def _want(self, key: str, name: str, contexts: list[_Context]) -> None:
        known = self.contexts.setdefault(key, [])
        if len(known) < _PLACES:
            known += [each for each in contexts if each not in known][: _PLACES - len(known)]
        if key not in self.wanted:
            self.wanted[key] = name
            self.new.append(key)

    def _try_values(self, lines: _Lines) -> None:
        """Writes each value of what is newly wanted where it is."""
        new, self.new = self.new, []
        for key in new:  # grows by what these variables are set to
            for value in self.flow.of_key(key):
                whole = REFERENCE.fullmatch(value.text)
                for match in REFERENCE.finditer(value.text):
                    for other in self._known_keys(match, value.span[0]):
                        self._want(other, self.wanted[key], self.contexts[key])
                new += self.new
                self.new = []
                if whole is None and not _is_substituted(value.text):
                    for context in self.contexts[key]:
                        self._add(lines, context, [value])

    def _in_parts(self, first: _Lines) -> _Lines:
        """Lines with what variables are set to that are several words, or a name and a password in one."""
        lines, text = _Lines(), first.text
        tried: dict[str, int] = {}
        for reference in first.references:
            is_quoted = text[reference.start - 1 : reference.start] == '"' == text[reference.end : reference.end + 1]
            before = text[max(reference.start - _BEFORE, 0) : reference.start]
            takes_words = _BEFORE_COMMAND.search(before) is not None or _OF_ADDRESS.search(before) is not None
            takes_words |= _BEFORE_NAME.search(before) is not None or _AFTER_NAME.match(text, reference.end) is not None
            # every value in the first places of a variable, and in the others a few
            number = tried[reference.keys[0]] = tried.get(reference.keys[0], 0) + 1
            context: _Context | None = None
            for words in self._alternatives(reference.keys, takes_words, _ALL_VALUES if number <= _PLACES else _VALUES):
                context = context or _context(first, text, reference)
                if len(words) > 1 and is_quoted:
                    bare = context._replace(before=context.before[:-1], after=context.after[1:], end=context.end + 1)
                    self._add(lines, bare, words)
                else:
                    self._add(lines, context, words)
        return lines

    def _alternatives(self, keys: list[str], takes_words: bool, most: int) -> Iterator[list[Value]]:
        """What variables may stand for that is more than a value."""
        wanted = list(keys)
        for key in wanted:  # grows by what these are set to
            yield from self.flow.together.get(key, [])[:most]
            for value in self.flow.of_key(key)[:most] if key[-1:] != "@" else ():
                whole = REFERENCE.fullmatch(value.text)
                if whole is not None and len(wanted) < _VALUES:
                    wanted += [each for each in self.flow.keys(whole, value.span[0]) if each not in wanted]
                elif whole is not None or _is_substituted(value.text):
                    continue
                elif _IN_PARTS.fullmatch(value.text) or takes_words and _WORD.fullmatch(value.text):
                    yield [value]

    def _add(self, lines: _Lines, context: _Context, words: list[Value]) -> None:
        """Writes lines with words in the place of a reference."""
        size = len(context.before) + len(context.after) + sum([len(each.text) for each in words])
        tried = (context.before, context.after, words[0].span[0] if words else 0)
        if not words or size > self.left or tried in self.tried:
            return
        self.tried.add(tried)
        self.left -= size
        # what these words themselves refer to is sought first, and then unknown
        for is_sought in (True, False) if any("$" in each.text for each in words) else (False,):
            lines.add_part(context.lines, context.start, context.before)
            for number, word in enumerate(words):
                lines.add(" " if number else "")
                self._add_value(lines, word, len(words) > 1, is_sought)
            lines.add_part(context.lines, context.end, context.after)
            lines.add("\n\n")

    def _add_formatted(self, lines: _Lines) -> None:
        """Writes what `printf` makes of its words."""
        for match in _FORMAT.finditer(self.string) if "printf" in self.string else ():
            words = words_of_format(self.string, match.end())
            start = max(self.string.rfind("\n", 0, match.start()), match.start() - _BEFORE, 0)
            end = words[-1].span[1] if words else match.end()
            close = self.string.find("\n", end, end + _AFTER)
            close = min(end + _AFTER, len(self.string)) if close < 0 else close
            if match["format"].replace("\\n", "") == "%s" or not words or close - start > self.left:
                continue
            self.left -= close - start
            # in the place of a substitution, or as the words of another command
            before, after = ("", ")") if match["output"] else (f"echo {match['quote']}", match["quote"])
            lines.add(self.string[start : match.start()] + before)
            at, left = match.start("format"), iter(words)
            for conversion in _CONVERSION.finditer(self.string, at, match.end("format")):
                lines.add(self.string[at : conversion.start()], at)
                word = None if conversion[0] == "\\n" else next(left, None)
                if word is not None:
                    self._add_value(lines, word, True, True)
                elif conversion[0] == "\\n" and conversion.end() < match.end("format"):
                    lines.add("\n")
                at = conversion.end()
            lines.add(self.string[at : match.end("format")], at)
            rest = self.string[end:close].lstrip(QUOTES)
            lines.add(f"{rest.removeprefix(after) if match['output'] else after + rest}\n\n")

    def _add_value(self, lines: _Lines, value: Value, is_word: bool, is_sought: bool) -> None:
        start = at = value.span[0]
        if _is_substituted(value.text):
            lines.add(_UNKNOWN)
            return
        if self.string[start : value.span[1]] != value.text:
            # of another spelling: a whole array or all parameters
            for match in REFERENCE.finditer(value.text):
                lines.refer(self._known_keys(match, start) if is_sought else [])
            return
        end = start + min(len(value.text), _LONGEST)
        edits: list[tuple[int, int, str, list[str] | None]] = [
            (*match.span(), "", self._known_keys(match, match.start()) if is_sought else [])
            for match in REFERENCE.finditer(self.string, start, end)
        ]
        is_open = not is_word and re.search(r"\s", value.text) is not None
        edits += _quotes(self.string, start, end)
        edits += [
            (*match.span(), _STAND_IN, None)
            for match in _SPECIAL.finditer(self.string, start, end)
            if not (is_open and match[0].isspace())
        ]
        for low, high, instead, known in sorted(edits, key=lambda edit: (edit[0], edit[2])):
            if low < at:
                continue
            lines.add(self.string[at:low], at, True)
            if known is None:
                lines.add(instead, low, True)
            else:
                lines.refer(known)
            at = high
        lines.add(self.string[at:end], at, True)


def _context(lines: _Lines, text: str, reference: _Reference) -> _Context:
    """The lines around a reference."""
    begin = text.rfind("\n\n", max(reference.start - _BEFORE, 0), reference.start)
    close = text.find("\n\n", reference.end, reference.end + _AFTER)
    before = text[max(begin, reference.start - _BEFORE, 0) : reference.start]
    after = text[reference.end : reference.end + _AFTER if close < 0 else close]
    before = "\n".join(before.split("\n")[-_LINES_BEFORE - 1 :])
    after = "\n".join(after.split("\n")[: _LINES_AFTER + 1])
    return _Context(before, after, lines, reference.start - len(before), reference.end)


def _is_substituted(text: str) -> bool:
    """Whether a part of a value is the output of a command."""
    return "$(" in text or "`" in text


def _quotes(string: str, start: int, end: int) -> Iterator[tuple[int, int, str, None]]:
    """The quotes to remove from words that are partly quoted, and what in them would end a word without quotes."""
    for run in _RUN.finditer(string, start, end):
        text = run[0]
        if "'" not in text and '"' not in text:
            continue
        parts, is_address = list(_PART.finditer(text)), "://" in text
        if len(parts) == 1:
            if re.search(r"\s", text) is not None and _has_more_quotes(text):
                yield from _quotes(string, run.start() + 1, run.end() - 1)
            continue
        if len(parts) == 2 and parts[0][0][-1] == "=" and parts[1][0][0] in QUOTES:
            continue  # `NAME="…"` is known in any text
        is_key = parts[0][0][0] in QUOTES and parts[1][0][0] in ":,"  # of an object of JSON
        before = ""
        for part in parts:
            if part[0][0] not in QUOTES:
                for escape in _ESCAPE.finditer(part[0]):
                    at = run.start() + part.start() + escape.start()
                    yield at, at + 1, "", None
            elif not is_key:
                yield from _of_part(string, run.start() + part.start(), part[0], before, is_address)
            before = part[0]


def _outputs(string: str) -> Iterator[tuple[int, int, str, None]]:
    """What to remove of commands that print a word, so that the word is left."""
    for match in _INPUT.finditer(string) if "<(" in string else ():
        value = value_at(string, match.end())
        close = None if value is None else _CLOSE.match(string, value[1][1])
        if value is not None and close is not None:
            yield match.start(), value[1][0], "<<< ", None
            yield value[1][1], close.end(), "", None
    for match in ECHOED.finditer(string) if "$(" in string or "`" in string else ():
        value = value_at(string, match.end())
        close = None if value is None else _CLOSE.match(string, value[1][1])
        if value is not None and close is not None:
            start = match.start() + (match[0][0] in QUOTES)
            yield start, value[1][0], "", None
            yield value[1][1], close.end(), "", None


def _has_more_quotes(part: str) -> bool:
    return ('"' if part[0] == "'" else "'") in part


def _of_part(string: str, at: int, part: str, before: str, of_address: bool) -> Iterator[tuple[int, int, str, None]]:
    """The same of a part of a word that is in quotes."""
    has_blank = re.search(r"\s", part) is not None
    is_name = part[-2:-1] in ("=", ":") and string[at + len(part) : at + len(part) + 1].strip() == ""  # and no value
    if is_name or "$(" in part or "`" in part or has_blank and before[-1:] != "%" and not of_address:
        if has_blank and _has_more_quotes(part):
            yield from _quotes(string, at + 1, at + len(part) - 1)
        return
    is_coded = part[0] == "'" and before[-1:] == "$"
    yield at - is_coded, at + 1, "", None
    for match in _SPECIAL.finditer(string, at + 1, at + len(part) - 1):
        yield *match.span(), _STAND_IN, None
    yield at + len(part) - 1, at + len(part), "", None
