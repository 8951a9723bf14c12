"""glibc's getopt_long, as sbatch, srun and salloc call it.

The optstring begins with `+`: the first word that is not an option ends the options. Unique prefixes of long options
count, an exact name wins over longer ones, spellings of one option are not ambiguous; a required value may be the next
word, whatever it looks like, an optional one must be attached. (glibc posix/getopt.c; Slurm slurm_option_table_create.)

Words may contain `UNKNOWN`, a character that stands for an unknown part: a value that contains it is unknown, a word
that begins with it is skipped and makes the result uncertain.
"""

from collections.abc import Sequence

from sbatchlint.slurm.options import Meaning, Option, letter_meanings, meanings, plugin_options
from sbatchlint.source.records import Record

# A value, the index of its word, and its offset there.
_Value = tuple[str | None, int | None, int | None]
NO_VALUE: _Value = (None, None, None)

# The same character as bash.values.UNKNOWN_CHARACTER; this package does not import that one.
UNKNOWN = "\ue000"


class ParsedOption(Record):
    """An option on a command line.

    `name`: its canonical long name. `written`: as written, `-N` or `--node`. `value`: None for an option without one.
    `word`: the index of its word, `start`: its offset in that word (that of the letter in a cluster such as `-vN2`).
    `value_word`, `value_start`: the index of the word with the value and its offset there; None without a value.
    `versions`: the releases for which this holds, None for all. `option`: its row; None for one known by name only.
    """

    name: str
    written: str
    value: str | None
    word: int
    start: int
    value_word: int | None
    value_start: int | None
    versions: tuple[str, ...] | None
    option: Option | None

    @property
    def separate(self) -> bool:
        """Whether the value is a separate word."""
        return self.value_word is not None and self.value_word != self.word


class OptionFault(Record):
    """A word that getopt refuses.

    `kind`: `unknown-option`, `ambiguous-option`, `missing-value` or `unexpected-value`. `written`: the option without
    its value. `message`: that of getopt. `candidates`: the long names that an ambiguous one may stand for, or that of
    the option. `versions`: the releases that refuse it, None for all.
    """

    kind: str
    written: str
    word: int
    start: int
    message: str
    candidates: tuple[str, ...]
    versions: tuple[str, ...] | None


class Parsed(Record):
    """The result of parsing a command line.

    `rest`: the index of the first word that is not an option (the command of an srun), or the number of words.
    `ended`: whether `--` ended the options. `uncertain`: whether unknown words or options may hide other options or
    affect `rest`.
    """

    options: tuple[ParsedOption, ...]
    rest: int
    problems: tuple[OptionFault, ...]
    uncertain: bool
    ended: bool


def parse(
    words: Sequence[str],
    command: str,
    versions: Sequence[str],
    extra: Sequence[str] = (),
    start: int = 0,
) -> Parsed:
    """The parsed arguments of a command; `words` are without the name of the command.

    `versions`: the major releases of interest. `extra`: long options that the site adds: `NAME`, `NAME=` (requires a
    value), `NAME[=]` (may have one). `start`: the index of the first word to parse.
    """
    return _Parser(words, command, tuple(versions), extra).run(start)


def site_option(text: str) -> tuple[str, str]:
    """The name of an entry of `extra`, and its argument: `required`, `optional`, or `any` for a bare name."""
    name = text.strip().lstrip("-")
    if name.endswith("[=]"):
        return name[:-3], "optional"
    if name.endswith("="):
        return name[:-1], "required"
    return name, "any"


def site_names(texts: Sequence[str]) -> frozenset[str]:
    """The names of such entries of `extra`."""
    return frozenset(site_option(text)[0] for text in texts)


class _Parser:
    def __init__(self, words: Sequence[str], command: str, versions: tuple[str, ...], extra: Sequence[str]) -> None:
        self.words = words
        self.command = command
        self.versions = versions
        self.extra = dict([site_option(text) for text in extra]) if extra else {}
        self.options: list[ParsedOption] = []
        self.problems: list[OptionFault] = []
        self.uncertain = False

    def run(self, index: int) -> Parsed:
        words = self.words
        ended = False
        while index < len(words):
            word = words[index]
            if word.startswith(UNKNOWN):
                self.uncertain = True
                index += 1
            elif word == "--":
                ended = True
                index += 1
                break
            elif word.startswith("--"):
                index = self.long(index, word)
            elif len(word) > 1 and word[0] == "-":
                index = self.cluster(index, word)
            else:
                break
        return Parsed(tuple(self.options), index, tuple(self.problems), self.uncertain, ended)

    def fault(
        self,
        kind: str,
        written: str,
        index: int,
        start: int,
        message: str,
        meaning: Meaning | None = None,
        candidates: tuple[str, ...] = (),
    ) -> None:
        versions = None if meaning is None else meaning.versions
        self.problems.append(OptionFault(kind, written, index, start, message, candidates, versions))

    def long(self, index: int, word: str) -> int:
        """Reads a word that begins with `--`; returns the index after it and its value."""
        name, equals, value = word[2:].partition("=")
        written = word[: 2 + len(name)]
        if UNKNOWN in name:
            self.uncertain = True
            return index + 1
        attached = (value, index, len(written) + 1) if equals else NO_VALUE
        if name in self.extra:
            return self.take_site_option(index, name, written, attached)
        used = 1
        known = False
        for meaning in meanings(name, self.command, self.versions):
            option = meaning.option
            if option is None:
                if meaning.candidates:
                    listed = " ".join(f"'--{each}'" for each in meaning.candidates)
                    message = f"option '{word}' is ambiguous; possibilities: {listed}"
                    self.fault("ambiguous-option", written, index, 0, message, meaning, meaning.candidates)
                else:
                    message = f"unrecognized option '{word}'"
                    self.fault("unknown-option", written, index, 0, message, meaning)
                continue
            known = True
            if equals and meaning.argument == "none":
                message = f"option '--{option.name}' doesn't allow an argument"
                self.fault("unexpected-value", written, index, 0, message, meaning, (option.name,))
            elif not equals and meaning.argument == "required":
                used = self.take_next(meaning, option, written, index, 0)
            else:
                self.add(meaning, option, written, index, 0, attached)
        if not known and not equals:
            # The next word may or may not be its value.
            self.uncertain = True
        return index + used

    def cluster(self, index: int, word: str) -> int:
        """Reads a word of short options such as `-n4` or `-vHN2`."""
        at = 1
        while at < len(word):
            letter = word[at]
            written = "-" + letter
            if letter == UNKNOWN:
                self.uncertain = True
                return index + 1
            used = 1
            last = False
            known = False
            for meaning in letter_meanings(letter, self.command, self.versions):
                option = meaning.option
                if option is None:
                    self.fault("unknown-option", written, index, at, f"invalid option -- '{letter}'", meaning)
                    continue
                known = True
                has_rest = at + 1 < len(word) and meaning.argument != "none"
                last = last or has_rest or meaning.argument == "required"
                if meaning.argument == "required" and not has_rest:
                    used = self.take_next(meaning, option, written, index, at)
                else:
                    rest = (word[at + 1 :], index, at + 1) if has_rest else NO_VALUE
                    self.add(meaning, option, written, index, at, rest)
            if last:
                return index + used
            if not known:
                # The rest may be its value or more letters.
                self.uncertain = True
                return index + 1
            at += 1
        return index + 1

    def take_next(self, meaning: Meaning, option: Option, written: str, index: int, start: int) -> int:
        """Takes the next word as the value of an option; returns how many words were used."""
        if index + 1 < len(self.words):
            self.add(meaning, option, written, index, start, (self.words[index + 1], index + 1, 0))
            return 2
        if written.startswith("--"):
            message = f"option '--{option.name}' requires an argument"
        else:
            message = f"option requires an argument -- '{written[1:]}'"
        self.fault("missing-value", written, index, start, message, meaning, (option.name,))
        return 1

    def take_site_option(self, index: int, name: str, written: str, value: _Value) -> int:
        argument, used = self.extra[name], 1
        if value is NO_VALUE and index + 1 < len(self.words):
            following = self.words[index + 1]
            if argument == "required" or argument == "any" and following[:1] != "-":
                self.uncertain = self.uncertain or argument == "any"
                value, used = (following, index + 1, 0), 2
        known = plugin_options().get(name)  # the site says how it takes values; the table, which plugin adds it
        self.options.append(ParsedOption(name, written, value[0], index, 0, value[1], value[2], None, known))
        return index + used

    def add(self, meaning: Meaning, option: Option, written: str, index: int, start: int, value: _Value) -> None:
        name, versions = option.canonical, meaning.versions
        self.options.append(ParsedOption(name, written, value[0], index, start, value[1], value[2], versions, option))
