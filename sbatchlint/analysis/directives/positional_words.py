"""Words of a directive that are neither options nor values, and what was meant by them.

sbatch gives up at the first one: `Invalid directive found in batch script: X` (src/sbatch/opt.c, 20.11 to 26.05), or,
for a word that begins with a colon, ``Unexpected `:` in […]``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.placeholders import placeholder
from sbatchlint.analysis.directives.typos import (
    BLANK_AT_EQUALS,
    HASH,
    INVISIBLE,
    SINGLE_DASH,
    dashed,
    gap_at_equals,
    took_an_option,
    typo,
)
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.lines import BLANKS, Token, read_words
from sbatchlint.slurm.options import Option, find, table
from sbatchlint.slurm.rewriting import quote
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Problem, Setting

# The kinds of `Stray`.
ESCAPED_BLANK = "escaped-blank"
COMMENT = "comment"
SEPARATOR = "separator"
EQUALS = "equals"
NO_VALUE = "no-value"
DASHES = "dashes"
JOIN = "join"
QUOTE = "quote"
GLUED = "glued"
COLON = "colon"
PLACEHOLDER = "placeholder"
BACKSLASH = "backslash"
EXPANSION = "expansion"
OTHER = "other"

_FREE = (
    "chdir comment container container-image container-mounts container-workdir container-save error extra input"
    " job-name nodefile output wrap"
)
_FREE_TEXT = frozenset(_FREE.split())
_LISTED = "array-spec gres gpu-spec hostlist hostlist-or-path license-list mail-type name-list"
_LISTS = frozenset(_LISTED.split())
_OPENS = Regex(r"[,:=%+&|*@/.\[(-]\Z")
_CLOSES = Regex(r"[,:=%+&|*@/.\])-]")
_UNIT = Regex(r"([KMGTkmgt])(?:i?[Bb])?|(?i:(k)ilo|(m)ega|(g)iga|(t)era)(?i:bytes?)")
_CLOCK = Regex(r"\d{1,2}(?::\d\d){0,2}")
# What stands behind a number of these for a time, `{}` being the number.
_TIMES = {"m": "{}", "h": "{}:00:00", "d": "{}-00:00:00"}
_TIME_UNIT = Regex(r"(?:([mhd])|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(d)ays?)", re.IGNORECASE)
_OPEN_EXPANSION = Regex(r"\$\([^()]*\Z|\$\{[^}]*\Z")
_BRACED = Regex(r"(?<!\$)\{[^{}]*\}")
_SHELL = Regex(r"[\"']?(?:\$[\w{(@*]|`)")
_PROSE = Regex(r"(?:[(;\[/<].*|.*[)\]]|[A-Za-z][A-Za-z'/-]*[.,;:!?]*|\d+|[&+=-]+)\Z")
_NEXT_OPTION = Regex(r"[ \t]+(?:--?[A-Za-z]|#)")
_SEPARATORS = Regex(r"(?:[,;&|]|&&)\Z")


class Stray(NamedTuple):
    """`start`, `end`: the words in the text; `word`: the first of them. `setting`: the option in front of them.

    `kind`: the shape, which says what was meant: `escaped-blank`, `comment`, `separator`, `equals` (an optional value
    needs `=`), `no-value` (the option takes none), `dashes` (an option's are missing), `join` (a list or a unit),
    `quote` (a value with blanks), `glued` (to the magic word), `colon`, `backslash`, `expansion` (of a shell),
    `placeholder` (a template not filled in) or `other`. `instead`: what to write for the option, or ''. `edits`: of the
    file; empty where nothing is plainly meant. `versions`: see `Problem`.
    """

    kind: str
    start: int
    end: int
    word: str
    setting: Setting | None
    instead: str
    edits: tuple[Edit, ...]
    versions: tuple[str, ...] | None
    problem: Problem


def strays(directives: Directives) -> list[Stray]:
    """See `Directives.strays`."""
    found: list[Stray] = []
    for problem in directives.problems:
        if problem.kind not in ("stray-word", "leading-colon"):
            continue
        place = _Place(directives, problem)
        if not place.is_explained():
            found.append(place.stray())
    return found


class _Place:
    """A problem, and what stands around it. All offsets are of the text."""

    def __init__(self, directives: Directives, problem: Problem) -> None:
        self.directives = directives
        self.text = directives.text
        self.problem = problem
        line = self.line = problem.line
        begin, end = problem.span.start, problem.span.end
        if line.fault is not None and problem.kind == "leading-colon":
            self.start, self.end = line.fault.start, self._colon_end(line.fault.start)
            words = [self.text.string[self.start : self.end]]
        else:
            tokens = [token for token in line.tokens if self._within(token, begin, end)]
            self.start, self.end = tokens[0].start, tokens[-1].end
            words = [token.text for token in tokens]
        self.words = words
        self.before = [token for token in line.tokens if token.end <= self.start]
        self.after = [token for token in line.tokens if token.start >= self.end]
        self.setting = self._setting()

    def _within(self, token: Token, start: int, end: int) -> bool:
        span = self.text.span(token.start, token.end)
        return start <= span.start and span.end <= end

    def _colon_end(self, start: int) -> int:
        string = self.text.string
        while start < self.line.end and string[start] not in BLANKS:
            start += 1
        return start

    def _setting(self) -> Setting | None:
        """The option to which the word in front belongs."""
        if not self.before:
            return None
        last = self.before[-1]
        versions = self.problem.versions
        for each in self.directives.settings:
            if each.value_token is not None and each.value_line is not None:
                line, token = each.value_line, each.value_token
            else:
                line, token = each.line, each.token
            if line.start == self.line.start and token.start == last.start and token.end == last.end:
                if versions is None or each.versions is None or set(versions) & set(each.versions):
                    return each
        return None

    @property
    def value_start(self) -> int:
        """Where the value in front begins, or the stray words where there is none."""
        setting = self.setting
        if setting is None or setting.value_token is None:
            return self.start
        return setting.value_token.part(setting.value_start)[0]

    def is_explained(self) -> bool:
        """Whether another fault of the line explains the words."""
        string = self.text.string
        raw = string[self.before[0].start if self.before else self.start : self.end]
        words = "".join(self.words)
        if UNKNOWN in raw or UNKNOWN in words or INVISIBLE.search(raw):
            return True
        behind = string[self.end : self.line.end].lstrip(BLANKS)
        if not words.strip() and behind[:1] in ("", "#"):
            # A backslash at the end of the line.
            return True
        if self.line.magic == "#SLURM" and not self.before:
            return True
        value = string[self.value_start : self.end]
        if _BRACED.search(value) or self.setting is not None and placeholder(self.setting.name, value) is not None:
            return True
        if self.setting is not None:
            if typo(self.directives, self.setting) in (BLANK_AT_EQUALS, SINGLE_DASH, HASH):
                return True
            if took_an_option(self.setting):
                return True
            return _leaves_open(string[self.value_start : self.before[-1].end])
        last = self.before[-1] if self.before else None
        if last is not None:
            if dashed(last.text) is not None:
                return True
            for each in self.directives.problems:
                if each.kind != "stray-word" and last in (each.token, each.value_token):
                    return True
            # Behind `--time =`: the words in front belong to an option that lost its value.
            for setting in self.directives.settings:
                if setting.line.start == self.line.start:
                    gap = gap_at_equals(self.directives, setting)
                    if gap is not None and gap.start <= self.start <= gap.last:
                        return True
        return False

    # --- what was meant --------------------------------------------------------------------------

    def stray(self) -> Stray:
        word = self.words[0]
        if placeholder("", self.text.string[self.start : self.end]) is not None:
            return self._given(PLACEHOLDER)
        if self.setting is None and _SHELL.match(self.text.string, self.start):
            return self._given(EXPANSION)
        for shape in (self._escaped, self._colon, self._glued, self._separator, self._no_dashes):
            found = shape(word)
            if found is not None:
                return found
        setting = self.setting
        if setting is not None:
            found = self._no_value(setting) if setting.value is None else self._value(setting)
            if found is not None:
                return found
        if self._is_prose():
            return self._comment()
        return self._given(OTHER)

    def _given(self, kind: str, instead: str = "", edits: tuple[Edit, ...] = ()) -> Stray:
        problem = self.problem
        return Stray(kind, self.start, self.end, self.words[0], self.setting, instead, edits, problem.versions, problem)

    def _edit(self, start: int, end: int, content: str) -> Edit:
        return Edit(self.text.span(start, end), content)

    def _rewritten(self, kind: str, setting: Setting, value: str) -> Stray:
        """The option with another value in place of its own and the stray words."""
        start = self.value_start
        edit = self._edit(start, self.end, quote(value))
        sign = "=" if setting.written.startswith("--") and not setting.separate else " "
        return self._given(kind, f"{setting.written}{sign}{quote(value)}", (edit,))

    def _escaped(self, word: str) -> Stray | None:
        string = self.text.string
        if self.setting is None or string[self.start - 2 : self.start] != "\\ ":
            return None
        start = self.value_start
        words = read_words(string, start, self.line.end, escaped_blank=True)
        if words.fault is not None or not words.tokens or " " not in words.tokens[0].text:
            return None
        token = words.tokens[0]
        self.end = max(self.end, token.end) if token.end >= self.end else self.end
        value = token.text
        stray = self._given(ESCAPED_BLANK, quote(value), (self._edit(start, token.end, quote(value)),))
        return stray._replace(end=token.end)

    def _colon(self, word: str) -> Stray | None:
        if self.problem.kind != "leading-colon":
            return None
        setting = self.setting
        if setting is None or setting.value is None:
            if self.start == self.line.words_start:
                rest = self.start + len(word) - len(word.lstrip(":"))
                blank = "" if rest == self.end else " "
                return self._given(COLON, "#SBATCH ", (self._edit(self.start, rest, blank),))
            return self._given(COLON)
        given = _NEXT_OPTION.split(self.text.string[self.start : self.line.end].rstrip(BLANKS))[0]
        joined = "".join(given.split())
        if not self._is_taken(setting, setting.value + joined):
            return self._given(COLON)
        self.end = self.start + len(given)
        return self._rewritten(COLON, setting, setting.value + joined)

    def _glued(self, word: str) -> Stray | None:
        if self.start != self.line.words_start:
            return None
        rest = word.lstrip("_=;,.")
        if rest != word and rest.startswith("-"):
            return self._given(GLUED, "#SBATCH ", (self._edit(self.start, self.start + len(word) - len(rest), " "),))
        return self._given(GLUED)

    def _separator(self, word: str) -> Stray | None:
        string = self.text.string
        if set(word) == {"\\"} and len(self.words) == 1 and not self.after:
            start = self.before[-1].end if self.before else self.start
            return self._given(BACKSLASH, "", (self._edit(start, self.end, ""),))
        if string.startswith("\\ ", self.start):
            return self._given(BACKSLASH, "", (self._edit(self.start, self.start + 2, ""),))
        if len(self.words) > 1 or not _SEPARATORS.match(word) or self.line.fault is not None:
            return None
        if self.after and self.after[0].text[:1] != "-":
            return None
        start = self.before[-1].end if self.before else self.start
        return self._given(SEPARATOR, "", (self._edit(start, self.end, ""),))

    def _no_dashes(self, word: str) -> Stray | None:
        """`nodes=2`, `- nodes=2`, `-- nodes=2`, and options behind a lone `--`."""
        string = self.text.string
        lone = self.before[-1] if self.before and self.before[-1].text == "--" else None
        if lone is not None and word[:1] == "-":
            return self._given(DASHES, word, (self._edit(lone.start, self.start, ""),))
        if lone is not None and len(self.words) > 1 and not self.after and self._is_sentence():
            return self._given(COMMENT, "", (self._edit(lone.start, self.start, "# "),))
        start, name = self.start, word
        if word in ("-", "--") and len(self.words) > 1:
            name = self.words[1]
        elif word == "-" and self.after:
            name = self.after[0].text
        elif lone is not None:
            start = lone.start
        bare = name.lstrip("-").partition("=")[0]
        if word == "-" and len(bare) == 1 and bare in table("sbatch", self.directives.versions.last).letters:
            at = string.find(name, self.start + 1)
            return self._given(DASHES, f"-{name}", (self._edit(self.start + 1, at, ""),))
        option = find(bare)
        if option is None or len(bare) < 3:
            return None
        if start == self.start and name == word and "=" not in word and not self._takes_next(option):
            return None
        if name.startswith("-") and name is word:
            return None
        at = string.find(name, self.start)
        dashes = len(name) - len(name.lstrip("-"))
        written = "--" + name.lstrip("-")
        return self._given(DASHES, written, (self._edit(start, at + dashes, "--"),))

    def _takes_next(self, option: Option) -> bool:
        """Whether the line is the name of an option and its value: `nodes 2`."""
        majors = self.directives.versions.majors
        return (
            not self.before
            and not self.after
            and len(self.words) == 2
            and option.argument(majors[-1]) == "required"
            and any(character.isdigit() for character in self.words[1])
            and not refusals(option, self.words[1], majors)
        )

    def _no_value(self, setting: Setting) -> Stray | None:
        argument = setting.option.argument(self.directives.versions.last) if setting.option is not None else "none"
        joined = "".join(self.words)
        if argument == "optional" and self._is_taken(setting, joined):
            long = setting.written.startswith("--")
            if long or setting.start + 1 == len(setting.token.text):
                sign = "=" if long else ""
                edit = self._edit(self.before[-1].end, self.end, sign + quote(joined))
                return self._given(EQUALS, f"{setting.written}{sign}{quote(joined)}", (edit,))
        if self._is_prose() and (self._is_note() or len(self.words) > 1):
            return self._comment()
        return self._given(OTHER if argument == "required" else NO_VALUE)

    def _value(self, setting: Setting) -> Stray | None:
        value = setting.value or ""
        kind = setting.option.kind if setting.option is not None else ""
        raw = self.text.string[self.value_start : self.end]
        if raw.lstrip("\"'")[:1] in ("$", "`"):
            return None
        spaced = value + self.text.string[self.before[-1].end : self.start] + " ".join(self.words)
        parts = [value, *self.words]
        unit = _with_unit(kind, value, self.words[0]) if len(parts) == 2 else None
        if unit is not None:
            return self._rewritten(JOIN, setting, unit)
        if setting.name in _FREE_TEXT:
            if self._is_note():
                return self._comment()
            return self._rewritten(QUOTE, setting, spaced)
        connected = all(_OPENS.search(a) or _CLOSES.match(b) for a, b in pairwise(parts))
        if connected and self._is_taken(setting, "".join(parts)):
            return self._rewritten(JOIN, setting, "".join(parts))
        if kind in ("timestamp", "feature-expr") and self._is_taken(setting, spaced) and not self._is_note():
            joined = spaced if kind == "timestamp" else "".join(parts)
            return self._rewritten(QUOTE if joined == spaced else JOIN, setting, joined) if self._plain() else None
        if kind == "env-list" and all(re.match(r"[A-Za-z_]\w*(?:=|,?\Z)", word) for word in self.words):
            return self._rewritten(JOIN, setting, ",".join(part.strip(",") for part in parts))
        if kind in _LISTS and not self._is_note():
            listed = ",".join(part.strip(",") for part in parts)
            if len(set(self.words)) == len(self.words) and self._is_taken(setting, listed) and self._plain():
                return self._rewritten(JOIN, setting, listed)
        return None

    def _plain(self) -> bool:
        """Whether the words look like values, not like a sentence."""
        return all(any(each in word for each in "0123456789,:&|") or word.isupper() for word in self.words)

    def _is_taken(self, setting: Setting, value: str) -> bool:
        option = setting.option
        return option is None or not refusals(option, value, self.directives.versions.majors)

    def _is_note(self) -> bool:
        """Whether the words begin as a comment does that is none to sbatch: `(minutes)`, `; default: 4`."""
        return self.words[0][:1] in ("(", ";", "#") or self.words[0][:2] in ("//", "<-", "/*") or self.words[0] == "--"

    def _is_prose(self) -> bool:
        """Whether the words look like a comment, and nothing but that is left of the line."""
        if self.after or self.line.fault is not None or self.line.dropped is not None:
            return False
        if self.setting is None and any(token.text[:1] == "-" for token in self.before):
            return False
        last = self.before[-1].text if self.before else ""
        return self._is_note() or last[-1:] == ";" or self._is_sentence()

    def _is_sentence(self) -> bool:
        return any(word[:1].isalpha() for word in self.words) and all(_PROSE.match(word) for word in self.words)

    def _comment(self) -> Stray:
        if self.after:
            return self._given(COMMENT)
        string = self.text.string
        if not self.before:
            # Nothing but prose: the whole line becomes a comment.
            return self._given(COMMENT, "", (self._edit(self.line.start + 1, self.line.start + 1, " "),))
        if string[self.before[-1].end - 1] == ";":
            edit = self._edit(self.before[-1].end - 1, self.start, "  # ")
        elif self.words[0][:2] in ("//", "/*"):
            edit = self._edit(self.start, self.start + 2, "#" + ("" if len(self.words[0]) == 2 else " "))
        elif self.words[0] == ";" or self.words[0][:1] == ";":
            edit = self._edit(self.start, self.start + 1, "#" + ("" if len(self.words[0]) == 1 else " "))
        else:
            edit = self._edit(self.start, self.start, "# ")
        return self._given(COMMENT, "", (edit,))


def _with_unit(kind: str, value: str, word: str) -> str | None:
    """A number with the unit, or the clock time, that stands apart from it: `4 GB`, `24 hours`, `1 12:00:00`."""
    if not value.isdigit():
        return None
    if kind == "mem":
        size = _UNIT.fullmatch(word)
        return value + next(each for each in size.groups() if each).upper() if size is not None else None
    if kind != "time":
        return None
    if _CLOCK.fullmatch(word) and ":" in word:
        return f"{value}-{word}"
    unit = _TIME_UNIT.fullmatch(word)
    if unit is None:
        return None
    return _TIMES[next(each for each in unit.groups() if each).lower()].format(value)


def _leaves_open(value: str) -> bool:
    """Whether an expansion begins in a value and does not end there."""
    return _OPEN_EXPANSION.search(value) is not None or value.count("`") % 2 == 1


__all__ = ["Stray", "strays"]
