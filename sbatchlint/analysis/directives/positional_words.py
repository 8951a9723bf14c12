"""Words of a directive that are neither options nor values, and what was probably meant by them."""

import re
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.directives.placeholders import placeholder
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.lines import BLANKS, Token, read_words
from sbatchlint.slurm.model import Problem, Setting
from sbatchlint.slurm.options import Option, find, table
from sbatchlint.slurm.rewriting import quote
from sbatchlint.source.edits import Edit
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex

# Options whose values are free text or file names; and kinds of values that are lists.
_FREE_TEXT = frozenset({
    "chdir", "comment", "container", "container-image", "container-mounts", "container-workdir", "container-save",
    "error", "extra", "input", "job-name", "nodefile", "output", "wrap",
})  # fmt: skip
_LISTS = frozenset({
    "array-spec", "gres", "gpu-spec", "hostlist", "hostlist-or-path", "license-list", "mail-type", "name-list",
})  # fmt: skip
_OPENS = Regex(r"[,:=%+&|*@/.\[(-]\Z")
_CLOSES = Regex(r"[,:=%+&|*@/.\])-]")
_UNIT = Regex(r"([KMGTkmgt])(?:i?[Bb])?|(?i:(k)ilo|(m)ega|(g)iga|(t)era)(?i:bytes?)")
_CLOCK = Regex(r"\d{1,2}(?::\d\d){0,2}")
# How a time limit in each unit is written; `{}` is the number.
_TIMES = {"m": "{}", "h": "{}:00:00", "d": "{}-00:00:00"}
_TIME_UNIT = Regex(r"(?:([mhd])|(m)in(?:ute)?s?|(h)(?:ou)?rs?|(d)ays?)", re.IGNORECASE)
_SHELL = Regex(r"[\"']?(?:\$[\w{(@*]|`)")
_PROSE = Regex(r"(?:[(;\[/<].*|.*[)\]]|[A-Za-z][A-Za-z'/-]*[.,;:!?]*|\d+|[&+=-]+)\Z")
_NEXT_OPTION = Regex(r"(?<![ \t])[ \t]+(?:--?[A-Za-z]|#)")
_SEPARATORS = Regex(r"(?:[,;&|]|&&)\Z")


class Meant(NamedTuple):
    """What to write instead of the words: `advice` for the message, and `edits` where it is clear what was meant.

    `title`: that of the fix, '' for the advice. `safe`: whether that is certain. `fault`: what is wrong, '' where it is
    that the words are neither an option nor a value. `end`: where the words end, if not where sbatch ends them.
    """

    advice: str
    edits: tuple[Edit, ...] = ()
    title: str = ""
    safe: bool = False
    fault: str = ""
    end: int | None = None


class PositionalWords:
    """The words of a problem, with the words around them. All offsets are into the text.

    `start`, `end`, `words`: sbatch fails at the first of them; the others follow it up to the next option. `before`,
    `after`: the other words of the line. `setting`: the option to which the previous word belongs.
    """

    def __init__(self, directives: Directives, problem: Problem) -> None:
        self.directives = directives
        self.string = directives.text.string
        self.problem = problem
        line = self.line = problem.line
        if line.fault is not None and problem.kind == "leading-colon":
            self.start = self.end = line.fault.start
            while self.end < line.end and self.string[self.end] not in BLANKS:
                self.end += 1
            self.words = [self.string[self.start : self.end]]
        else:
            tokens = [token for token in line.tokens if self._is_within(token)]
            self.start, self.end = tokens[0].start, tokens[-1].end
            self.words = [token.text for token in tokens]
        self.before = [token for token in line.tokens if token.end <= self.start]
        self.after = [token for token in line.tokens if token.start >= self.end]
        self.setting = self._setting()

    def _is_within(self, token: Token) -> bool:
        return self.problem.span.contains(self.directives.text.span(token.start, token.end))

    def _setting(self) -> Setting | None:
        if not self.before:
            return None
        last = self.before[-1]
        versions = self.problem.versions
        for setting in self.directives.settings_on(self.line):
            if setting.value_token is not None and setting.value_line is not None:
                line, token = setting.value_line, setting.value_token
            else:
                line, token = setting.line, setting.token
            if line.start == self.line.start and token.start == last.start and token.end == last.end:
                if versions is None or setting.versions is None or set(versions) & set(setting.versions):
                    return setting
        return None

    @property
    def value_start(self) -> int:
        """Where the value before the words begins; where the words begin, if there is none."""
        setting = self.setting
        if setting is None or setting.value_token is None:
            return self.start
        return setting.value_token.part(setting.value_start)[0]

    def meant(self) -> Meant:
        """What to write instead of the words."""
        word, setting = self.words[0], self.setting
        if placeholder("", self.string[self.start : self.end]) is not None:
            return Meant("replace the placeholder")
        if setting is None and _SHELL.match(self.string, self.start):
            return Meant("write the options themselves, as no shell expands them")
        shapes = (self._escaped, self._colon, self._glued, self._separator, self._underscores, self._no_dashes)
        for shape in shapes:
            found = shape(word)
            if found is not None:
                return found
        if setting is not None:
            found = self._no_value(setting) if setting.value is None else self._value(setting)
            if found is not None:
                return found
        if self._is_prose():
            return self._comment()
        return _ANYTHING

    def _edit(self, start: int, end: int, content: str) -> Edit:
        return Edit(self.directives.text.span(start, end), content)

    def _rewritten(self, setting: Setting, value: str, quoted: bool = False) -> Meant:
        """The edit that replaces the option's value and the words by another value."""
        edit = self._edit(self.value_start, self.end, quote(value))
        sign = "=" if setting.written.startswith("--") and not setting.separate else " "
        instead = f"`{setting.written}{sign}{quote(value)}`"
        if quoted:
            return Meant(f"quote the value: {instead}", (edit,), "quote the value")
        return Meant(f"write {instead}", (edit,))

    def _escaped(self, word: str) -> Meant | None:
        """A value that goes on after an escaped space, as releases from 24.05 on read it."""
        if self.setting is None or self.string[self.start - 2 : self.start] != "\\ ":
            return None
        start = self.value_start
        words = read_words(self.string, start, self.line.end, escaped_space=True)
        if words.fault is not None or not words.tokens or " " not in words.tokens[0].text:
            return None
        token = words.tokens[0]
        value = quote(token.text)
        edits = (self._edit(start, token.end, value),)
        fault = "a backslash does not escape a space here"
        return Meant(f"write `{value}`", edits, safe=self.problem.versions is not None, fault=fault, end=token.end)

    def _colon(self, word: str) -> Meant | None:
        if self.problem.kind != "leading-colon":
            return None
        setting, fault = self.setting, "a word in a directive cannot begin with `:`"
        if setting is not None and setting.value is not None:
            rest_of_value = _NEXT_OPTION.split(self.string[self.start : self.line.end].rstrip(BLANKS))[0]
            value = setting.value + "".join(rest_of_value.split())
            if self._is_accepted(setting, value):
                self.end = self.start + len(rest_of_value)
                return self._rewritten(setting, value)._replace(fault=fault)
        elif self.start == self.line.words_start:
            rest = self.start + len(word) - len(word.lstrip(":"))
            space = "" if rest == self.end else " "
            return Meant("write `#SBATCH`", (self._edit(self.start, rest, space),), fault=fault)
        return Meant("remove it, or quote the value with it", fault=fault)

    def _glued(self, word: str) -> Meant | None:
        if self.start != self.line.words_start:
            return None
        fault = f"`{word}` is glued to `#SBATCH`"
        advice = "write `#SBATCH ` and an option, or `##SBATCH` to disable the line"
        rest = word.lstrip("_=;,.")
        if rest != word and rest.startswith("-"):
            edits = (self._edit(self.start, self.start + len(word) - len(rest), " "),)
            return Meant(advice, edits, fault=fault)
        return Meant(advice, fault=fault)

    def _separator(self, word: str) -> Meant | None:
        string = self.string
        if set(word) == {"\\"} and len(self.words) == 1 and not self.after:
            start = self.before[-1].end if self.before else self.start
            return _BACKSLASH._replace(edits=(self._edit(start, self.end, ""),))
        if string.startswith("\\ ", self.start):
            return _BACKSLASH._replace(edits=(self._edit(self.start, self.start + 2, ""),))
        if len(self.words) > 1 or not _SEPARATORS.match(word) or self.line.fault is not None:
            return None
        if self.after and self.after[0].text[:1] != "-":
            return None
        start = self.before[-1].end if self.before else self.start
        return Meant("remove it: options need only a space between them", (self._edit(start, self.end, ""),))

    def _underscores(self, word: str) -> Meant | None:
        """An option with underscores in place of dashes: `__time=5`, `_c 4`, `__mail_type=END`."""
        written, equals, _ = word.partition("=")
        name = written.lstrip("_").replace("_", "-")
        dashes = "-" * (len(written) - len(written.lstrip("_")))
        options = table("sbatch", self.directives.versions.last)
        is_known = name in options.letters if len(dashes) == 1 else len(dashes) == 2 and find(name) is not None
        if self.before or not is_known or equals and len(dashes) == 1:
            return None
        instead = f"{dashes}{name}"
        return Meant(f"write `{instead}`", (self._edit(self.start, self.start + len(written), instead),))

    def _no_dashes(self, word: str) -> Meant | None:
        """An option without its dashes (`nodes=2`, `- nodes=2`, `-- nodes=2`), or after a lone `--`."""
        string = self.string
        lone = self.before[-1] if self.before and self.before[-1].text == "--" else None
        if lone is not None and word[:1] == "-":
            return Meant(f"write `{word}`", (self._edit(lone.start, self.start, ""),))
        if lone is not None and len(self.words) > 1 and not self.after and self._is_sentence():
            return _COMMENT._replace(edits=(self._edit(lone.start, self.start, "# "),))
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
            return Meant(f"write `-{name}`", (self._edit(self.start + 1, at, ""),))
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
        return Meant(f"write `{written}`", (self._edit(start, at + dashes, "--"),))

    def _takes_next(self, option: Option) -> bool:
        """Whether the line consists of an option's name and a value for it: `nodes 2`."""
        majors = self.directives.versions.majors
        return (
            not self.before
            and not self.after
            and len(self.words) == 2
            and option.argument(majors[-1]) == "required"
            and any(is_number(character) for character in self.words[1])
            and not refusals(option, self.words[1], majors)
        )

    def _no_value(self, setting: Setting) -> Meant | None:
        argument = setting.option.argument(self.directives.versions.last) if setting.option is not None else "none"
        joined = "".join(self.words)
        if argument == "optional" and self._is_accepted(setting, joined):
            long = setting.written.startswith("--")
            if long or setting.start + 1 == len(setting.token.text):
                sign = "=" if long else ""
                edit = self._edit(self.before[-1].end, self.end, sign + quote(joined))
                return Meant(f"write `{setting.written}{sign}{quote(joined)}`", (edit,))
        if self._is_prose() and (self._is_note() or len(self.words) > 1):
            return self._comment()
        if argument == "required":
            return _ANYTHING
        if argument == "optional":
            return Meant(f"remove it, or join a value with `=`: {setting.written}=VALUE")
        return Meant(f"remove it: {setting.written} takes no value here")

    def _value(self, setting: Setting) -> Meant | None:
        value = setting.value or ""
        kind = setting.option.kind if setting.option is not None else ""
        raw = self.string[self.value_start : self.end]
        if raw.lstrip("\"'")[:1] in ("$", "`"):
            return None
        spaced = value + self.string[self.before[-1].end : self.start] + " ".join(self.words)
        parts = [value, *self.words]
        unit = _with_unit(kind, value, self.words[0]) if len(parts) == 2 else None
        if unit is not None:
            return self._rewritten(setting, unit)
        if setting.name in _FREE_TEXT:
            if self._is_note() or self._is_set_apart() and self._is_prose():
                return self._comment()
            return self._rewritten(setting, spaced, quoted=True)
        connected = all(_OPENS.search(a) or _CLOSES.match(b) for a, b in pairwise(parts))
        if connected and self._is_accepted(setting, "".join(parts)):
            return self._rewritten(setting, "".join(parts))
        if kind == "timestamp" and self._is_accepted(setting, spaced) and not self._is_note():
            return self._rewritten(setting, spaced, True) if self._are_values() else None
        if kind == "env-list" and all(re.match(r"[A-Za-z_]\w*(?:=|,?\Z)", word) for word in self.words):
            return self._rewritten(setting, ",".join(part.strip(",") for part in parts))
        if kind in _LISTS and not self._is_note():
            listed = ",".join(part.strip(",") for part in parts)
            is_list = len(set(self.words)) == len(self.words) and self._are_values()
            if is_list and self._is_accepted(setting, listed):
                return self._rewritten(setting, listed)
        return None

    def _are_values(self) -> bool:
        """Whether the words look like values, not like a sentence."""
        return all(any(each in word for each in "0123456789,:&|") or word.isupper() for word in self.words)

    def _is_accepted(self, setting: Setting, value: str) -> bool:
        option = setting.option
        return option is None or not refusals(option, value, self.directives.versions.majors)

    def _is_note(self) -> bool:
        """Whether the words begin like a comment, though not with sbatch's `#`: `(minutes)`, `; default: 4`."""
        return self.words[0][:1] in ("(", ";", "#") or self.words[0][:2] in ("//", "<-", "/*") or self.words[0] == "--"

    def _is_set_apart(self) -> bool:
        """Whether the value before the words ends with its quote, or a wide gap parts it from a sentence."""
        end = self.before[-1].end
        gap = self.string[end : self.start]
        return self.string[end - 1] in "\"'" or len(self.words) > 1 and (len(gap) > 2 or "\t" in gap)

    def _is_prose(self) -> bool:
        """Whether the words look like a comment that goes on to the end of the line."""
        if self.after or self.line.fault is not None or self.line.dropped is not None:
            return False
        if self.setting is None and any(token.text[:1] == "-" for token in self.before):
            return False
        last = self.before[-1].text if self.before else ""
        return self._is_note() or last[-1:] == ";" or self._is_sentence()

    def _is_sentence(self) -> bool:
        return any(word[:1].isalpha() for word in self.words) and all(_PROSE.match(word) for word in self.words)

    def _comment(self) -> Meant:
        if self.after:
            return _COMMENT
        string = self.string
        if not self.before:
            # Nothing but prose: the whole line becomes a comment.
            return _COMMENT._replace(edits=(self._edit(self.line.start + 1, self.line.start + 1, " "),))
        if string[self.before[-1].end - 1] == ";":
            edit = self._edit(self.before[-1].end - 1, self.start, "  # ")
        elif self.words[0][:2] in ("//", "/*"):
            edit = self._edit(self.start, self.start + 2, "#" + ("" if len(self.words[0]) == 2 else " "))
        elif self.words[0] == ";" or self.words[0][:1] == ";":
            edit = self._edit(self.start, self.start + 1, "#" + ("" if len(self.words[0]) == 1 else " "))
        else:
            edit = self._edit(self.start, self.start, "# ")
        return _COMMENT._replace(edits=(edit,))


_COMMENT = Meant("write `#` before the comment", title="write # before the comment")
_BACKSLASH = Meant("remove the backslash")
_ANYTHING = Meant("quote a value with spaces, and write `#` before a comment")


def _with_unit(kind: str, value: str, word: str) -> str | None:
    """A number joined with the unit or clock time after it (`4 GB`, `24 hours`, `1 12:00:00`); None if none."""
    if not is_number(value):
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
