"""Reading the words of a command: its name, its options, and where its operands begin.

An argv is a sequence of fields (`sbatchlint.bash.values`). Options that may hide in `$ARGS` or `"$@"` make a reading
uncertain, so that no check concludes that an option is missing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Piece,
    Pieces,
    cut,
    is_open,
    known_prefix,
    part_of,
    shown_text,
    span_of,
    text_of,
)
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

Argv = Sequence[Pieces]
# The value of an exported variable, or None where it is not exported (as far as the script tells).
Lookup = Callable[[str], Pieces | None]

OPTION_NAMES = Regex(
    r"(?:^|_|[a-z0-9])(?:ARGS?|OPTS?|OPTIONS?|FLAGS?|PARAMS?|PARAMETERS|BINDS?|MOUNTS?|EXTRA)\d*$", re.IGNORECASE
)
PROGRAM_NAMES = Regex(
    r"(?:^|_)(?:\w*SCRIPT|PROGRAM|PROG|EXE|EXECUTABLE|BINARY|MAIN|ENTRY\w*|TRAINER|\w*PY|(?:PY|PYTHON|TRAIN\w*)_?FILE)\d*$",
    re.IGNORECASE,
)


class CommandOption(Record):
    """An option on the command line of a command.

    `name`: its canonical name without dashes (the full one for an abbreviation). `value`: None for a flag, and for an
    option whose value is missing. `at`: the index in argv of the option's word; `span`: the place of that word.
    `value_at`: the index of the word that holds the value (the same word for `--name=value`).
    """

    name: str
    value: Pieces | None
    at: int
    span: Span
    value_at: int

    @property
    def text(self) -> str | None:
        """The value as a string; None if there is none, or where it is not known."""
        return None if self.value is None else text_of(self.value)


class Syntax(Record):
    """The options of a command, and how they are written.

    `values`, `flags`: options with and without a value, as long names and single letters, which can be joined (`-it`,
    `-n4`). `aliases`: other spellings, with their canonical names. `underscores`: `-` and `_` are the same within
    names, the canonical name has `_`. `abbreviations`: a unique prefix of a long name is enough. `single_dash`: long
    names may have one dash. `greedy`: an unknown option takes the next word unless that begins with a dash. `numbers`:
    `-12` is an operand or an option by itself, never letters. `pairs`: options of `values` that take two words
    (`--mca key value`).
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = {}
    underscores: bool = False
    abbreviations: bool = False
    single_dash: bool = False
    greedy: bool = False
    numbers: bool = False
    pairs: frozenset[str] = frozenset()


class Reading(NamedTuple):
    """Options in order, the index of the first operand (None: there is none), and whether all options are known.

    `operand_certain`: whether the operand is not just a guess. `ended`: whether a `--` precedes the operand.
    """

    options: tuple[CommandOption, ...]
    operand: int | None
    certain: bool
    operand_certain: bool = True
    ended: bool = False


def syntax(
    values: str = "",
    flags: str = "",
    *,
    underscores: bool = False,
    abbreviations: bool = False,
    single_dash: bool = False,
    greedy: bool = False,
    numbers: bool = False,
    pairs: str = "",
) -> Syntax:
    """A `Syntax` from names separated by spaces; `o/output` makes `o` another spelling of `output`."""
    spellings: dict[str, str] = {}
    named: list[set[str]] = []
    for group in (values, flags):
        names: set[str] = set()
        for word in group.split():
            *others, name = word.split("/")
            if underscores:
                name = name.replace("-", "_")
            names.add(name)
            for other in others:
                spellings[other] = name
        named.append(names)
    return Syntax(
        frozenset(named[0]),
        frozenset(named[1]),
        spellings,
        underscores,
        abbreviations,
        single_dash,
        greedy,
        numbers,
        frozenset(pairs.split()),
    )


def basename(field: Pieces) -> str | None:
    """The last component of a path, even where the folder is not known (`$VENV/bin/torchrun`); None where unknown.

    `$(which torchrun)` and `$(command -v torchrun)` are torchrun.
    """
    text = text_of(field)
    if text is not None:
        return text.rsplit("/", 1)[-1] if "/" in text else text
    if not field:
        return None
    last = field[-1]
    if last.text is not None:
        tail = ""
        for piece in reversed(field):
            if piece.text is None:
                break
            tail = piece.text + tail
        return tail.rsplit("/", 1)[1] if "/" in tail else None
    return looked_up(field)


def program_name(invocation: Invocation) -> str | None:
    """The `basename` of the program that a command calls."""
    if invocation.name is not None or not invocation.argv:
        return invocation.name
    return basename(invocation.argv[0])


def shown_program(invocation: Invocation) -> str:
    """The name of what a command starts, for messages: the script of `bash train.sh`; '' where it is not known."""
    name = invocation.name or ""
    if not has_trait(name, "shell"):
        return name
    for field in invocation.argv[1:]:
        word = shown_text(field)
        if word[:1] in "-+" and (word[:2] == "--" or "c" not in word):
            continue
        return name if word[:1] in "-+" else basename(field) or name
    return name


def looked_up(field: Pieces) -> str | None:
    """The program whose path is the whole field (torchrun for `$(which torchrun)`); None for other fields."""
    if len(field) != 1 or field[0].expansion is None:
        return None
    found = re.fullmatch(r"\$\(\s*(?:which|command -v|type -p|type -P)\s+([\w./+-]+)\s*\)", field[0].expansion.name)
    return found.group(1).rsplit("/", 1)[-1] if found else None


def variable_name(field: Pieces) -> str | None:
    """The variable that is the whole of an unknown field (`$ARGS`, `"${ARGS[@]}"`); None for other fields."""
    if len(field) == 1 and field[0].text is None and field[0].expansion is not None:
        return field[0].expansion.name
    return None


def hides_options(field: Pieces) -> bool:
    """Whether an unknown field is likely to hold options: `$ARGS`, `"$@"`, `"${TORCHRUN_OPTS[@]}"`."""
    name = variable_name(field)
    return name is not None and (name in "@*" or bool(OPTION_NAMES.search(name)))


# The output of these is a path.
_PATH_PRINTED = Regex(r"(?:\$\(|`)\s*(?:realpath|readlink)\s")


def names_program(field: Pieces) -> bool:
    """Whether an unknown field is a program by its name, not an option: `$SCRIPT`, `"$PROGRAM"`, `$(which python)`."""
    if looked_up(field) is not None:
        return True
    name = variable_name(field)
    if name is not None and _PATH_PRINTED.match(name):
        return True
    return name is not None and not hides_options(field) and bool(PROGRAM_NAMES.search(name[-200:]))


def is_unknown(field: Pieces) -> bool:
    """Whether nothing at all is known of a field."""
    for piece in field:
        if piece.text is not None:
            return False
    return bool(field)


def split(field: Pieces, separator: str) -> list[Pieces]:
    """The parts of a field between separators of one character; unknown pieces stay whole."""
    parts: list[Pieces] = []
    part: list[Piece] = []
    for piece in field:
        text = piece.text
        if text is None or separator not in text:
            if text != "":
                part.append(piece)
            continue
        start = 0
        while (at := text.find(separator, start)) >= 0:
            if start < at:
                part.append(part_of(piece, start, at))
            parts.append(tuple(part))
            part, start = [], at + 1
        if start < len(text):
            part.append(part_of(piece, start, len(text)))
    return [*parts, tuple(part)]


def partition(field: Pieces, separator: str) -> tuple[Pieces, Pieces | None]:
    """The parts of a field before and after the first separator; the second is None if there is none."""
    text = shown_text(field)
    at = text.find(separator)
    if at < 0:
        return field, None
    return cut(field, 0, at), cut(field, at + len(separator), len(text))


def assignment_of(field: Pieces) -> tuple[str, Pieces] | None:
    """The name and value of a word `NAME=value`; None for other words."""
    prefix = known_prefix(field)
    if "=" not in prefix:
        return None
    found = re.match(r"([A-Za-z_][A-Za-z0-9_]*)=", prefix)
    if not found:
        return None
    return found.group(1), cut(field, found.end(), len(shown_text(field)))


def integer(field: Pieces | None) -> int | None:
    """The integer in a field; None where it is not one, or not known."""
    text = None if field is None else text_of(field)
    if text is None or not re.fullmatch(r"\s*[+-]?\d+\s*", text):
        return None
    return parse_integer(text)


def _canonical(name: str, known: Syntax) -> str | None:
    if known.underscores and len(name) > 1:
        name = name.replace("-", "_")
    if name in known.values or name in known.flags:
        return name
    other = known.aliases.get(name)
    if other is not None:
        return other
    if known.abbreviations and len(name) > 1:
        names = {each for each in known.values if len(each) > 1 and each.startswith(name)}
        names.update(each for each in known.flags if len(each) > 1 and each.startswith(name))
        if len(names) == 1:
            return names.pop()
    return None


class _Reader:
    """The state of one reading."""

    def __init__(self, argv: Argv, start: int, known: Syntax) -> None:
        self.argv = argv
        self.at = start
        self.known = known
        self.options: list[CommandOption] = []
        self.certain = True

    def option(self, field: Pieces, string: str) -> None:
        """Reads the option at the current word."""
        known = self.known
        if string.startswith("--"):
            self._long(field, string, 2)
            return
        name = string[1:].partition("=")[0]
        if known.single_dash and len(name) > 1 and _canonical(name, known) is not None:
            self._long(field, string, 1)
        else:
            self._letters(field, string)

    def _value(self, name: str, field: Pieces, index: int, *, optional: bool = False) -> None:
        """Takes the next word as the value of the option at `index`."""
        following = index + 1
        if following >= len(self.argv) or (optional and known_prefix(self.argv[following]).startswith("-")):
            self.options.append(CommandOption(name, None, index, span_of(field), index))
            self.at = following
            return
        value = self.argv[following]
        if hides_options(value) and is_open(value):
            self.certain = False
        self.options.append(CommandOption(name, value, index, span_of(field), following))
        self.at = following + (2 if name in self.known.pairs else 1)

    def _long(self, field: Pieces, string: str, dashes: int) -> None:
        index = self.at
        written, equals, _ = string[dashes:].partition("=")
        prefix = known_prefix(field)
        self.at += 1
        if len(prefix) < dashes + len(written):
            # A part of the option's name is not known.
            self.certain = False
            return
        name = _canonical(written, self.known)
        if equals:
            value = cut(field, dashes + len(written) + 1, len(string))
            self.options.append(CommandOption(name or written, value, index, span_of(field), index))
        elif name is not None and name in self.known.values:
            self._value(name, field, index)
        elif name is not None or not self.known.greedy:
            self.options.append(CommandOption(name or written, None, index, span_of(field), index))
        else:
            self._value(written, field, index, optional=True)

    def _letters(self, field: Pieces, string: str) -> None:
        index = self.at
        self.at += 1
        letters = string[1:]
        if self.known.numbers and is_number(letters[:1]):
            self.options.append(CommandOption(letters, None, index, span_of(field), index))
            return
        for place, letter in enumerate(letters):
            if len(known_prefix(field)) <= place + 1:
                self.certain = False
                return
            name = _canonical(letter, self.known)
            if name is not None and name in self.known.values:
                rest = letters[place + 1 :]
                if not rest:
                    self._value(name, field, index)
                else:
                    skip = 1 if rest.startswith("=") else 0
                    value = cut(field, place + 2 + skip, len(string))
                    self.options.append(CommandOption(name, value, index, span_of(field), index))
                return
            if name is None and self.known.greedy and len(letters) == 1:
                self._value(letter, field, index, optional=True)
                return
            self.options.append(CommandOption(name or letter, None, index, span_of(field), index))


def read(argv: Argv, start: int, known: Syntax, *, one_word: bool = True, trusting: bool = False) -> Reading:
    """Reads options from `argv[start]` up to the first operand.

    An unknown word in place of an option is taken as the operand if its name says so (`$SCRIPT`), if it is one word, or
    if nothing else can be the operand; if it may hold options, the reading is not certain. With `one_word` False, not
    even a quoted unknown word is taken as the operand; with `trusting`, every unknown word is whose name does not
    suggest options.
    """
    reader = _Reader(argv, start, known)
    candidate: int | None = None
    while reader.at < len(argv):
        index = reader.at
        field = argv[index]
        text = shown_text(field)
        if not text:
            # An empty word, mostly from a quoted empty variable: a program would take it as its operand.
            return Reading(tuple(reader.options), candidate if candidate is not None else index, reader.certain)
        if text[0] == UNKNOWN_CHARACTER and is_unknown(field):
            if names_program(field) or trusting and not hides_options(field):
                return Reading(tuple(reader.options), index, reader.certain)
            hidden = hides_options(field)
            if (
                not hidden
                and reader.options
                and reader.options[-1].name == "module"
                and reader.options[-1].value is None
            ):
                # `-m $MODULE`: the flag takes no value, but the next word is hardly an option.
                return Reading(tuple(reader.options), index, reader.certain)
            following = argv[index + 1] if index + 1 < len(argv) else None
            if not hidden and not is_open(field) and one_word and not _is_script(following):
                return Reading(tuple(reader.options), index, reader.certain)
            reader.certain = False
            if not hidden:
                candidate = index
            reader.at += 1
            continue
        if text == "--":
            after = index + 1
            return Reading(
                tuple(reader.options), after if after < len(argv) else None, reader.certain, candidate is None, True
            )
        if text[0] != "-" or text == "-":
            certain = reader.certain or candidate is None
            return Reading(tuple(reader.options), index, reader.certain, certain)
        if candidate is not None:
            # After a word that may have been the operand, an unknown option belongs to that.
            name = text.lstrip("-").partition("=")[0]
            if _canonical(name, known) is None and (text.startswith("--") or _canonical(text[1], known) is None):
                return Reading(tuple(reader.options), candidate, False, False)
        reader.option(field, text)
    return Reading(tuple(reader.options), candidate, reader.certain, candidate is None)


def _is_script(field: Pieces | None) -> bool:
    return field is not None and shown_text(field).endswith((".py", ".sh"))


_PLAIN = Regex(r"[\w@%+=:,./^-]+", re.ASCII)


def is_plain(value: str) -> bool:
    """Whether a value is the same shell word with and without quotes."""
    return _PLAIN.fullmatch(value) is not None


def quoted(value: str) -> str:
    """A value as a shell word, quoted if necessary."""
    if is_plain(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'


def program_options(
    argv: Argv, fits: Callable[[str], object] | None = None
) -> Iterable[tuple[str, Pieces | None, Pieces]]:
    """Every word that may be an option, its value (after `=` or in the next word), and the word itself.

    With `fits`, only options whose names it accepts.
    """
    for at, field in enumerate(argv):
        text = shown_text(field)
        name, equals, _ = text.partition("=")
        if fits is not None and not fits(name):
            continue
        if text_of(field) is None:
            if equals and UNKNOWN_CHARACTER not in name:
                yield name, None, field
        elif equals:
            yield name, cut(field, len(name) + 1, len(text)), field
        else:
            yield name, argv[at + 1] if at + 1 < len(argv) else None, field
