"""glibc's getopt_long, as sbatch, srun and salloc call it.

The optstring begins with `+`: the first word that is no option ends the options. Unique prefixes of long options count,
an exact name wins over longer ones, spellings of one option are not ambiguous; a required value may be the next word,
whatever it looks like, an optional one must be glued on. (glibc posix/getopt.c; Slurm slurm_option_table_create.)

Words may hold `UNKNOWN`, a character that stands for a part that is not known: a value that holds it is not known, a
word that begins with it is skipped and makes the result uncertain.
"""

from collections.abc import Sequence

from sbatchlint.slurm.options import Meaning, Option, letter_meanings, meanings, plugin_options

# The same character as bash.values.UNKNOWN_CHARACTER; the shell package is no concern of this one.
UNKNOWN = "\ue000"


class ParsedOption:
    """One option that was given.

    `name`: its canonical long name. `written`: as written, `-N` or `--node`. `value`: None for an option without one.
    `word`: the index of its word, `start`: where it begins in that word (in a cluster such as `-vN2`, the letter).
    `value_word`, `value_start`: the word in which the value stands and where it begins there; None without a value.
    `versions`: the releases for which this holds, None for all. `option`: its row; None for one known by name only.
    """

    __slots__ = ("name", "option", "start", "value", "value_start", "value_word", "versions", "word", "written")

    def __init__(
        self, name: str, written: str, value: str | None, word: int, start: int, value_word: int | None,
        value_start: int | None, versions: tuple[str, ...] | None, option: Option | None,
    ) -> None:  # fmt: skip
        self.name = name
        self.written = written
        self.value = value
        self.word = word
        self.start = start
        self.value_word = value_word
        self.value_start = value_start
        self.versions = versions
        self.option = option

    @property
    def separate(self) -> bool:
        """Whether the value is a word of its own."""
        return self.value_word is not None and self.value_word != self.word


class OptionFault:
    """A word that getopt refuses.

    `kind`: `unknown-option`, `ambiguous-option`, `missing-value` or `unexpected-value`. `written`: the option without
    its value. `message`: what getopt says. `candidates`: long names that an ambiguous one may stand for, or the one
    that it is. `versions`: the releases that refuse it, None for all.
    """

    __slots__ = ("candidates", "kind", "message", "start", "versions", "word", "written")

    def __init__(
        self, kind: str, written: str, word: int, start: int, message: str, candidates: tuple[str, ...],
        versions: tuple[str, ...] | None,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.written = written
        self.word = word
        self.start = start
        self.message = message
        self.candidates = candidates
        self.versions = versions


class Parsed:
    """`rest`: the index of the first word that is no option (the command of an srun), or how many words there are.

    `ended`: whether `--` ended the options. `uncertain`: whether unknown words or options may hide other options, or
    may have moved `rest`.
    """

    __slots__ = ("ended", "options", "problems", "rest", "uncertain")

    def __init__(
        self,
        options: tuple[ParsedOption, ...],
        rest: int,
        problems: tuple[OptionFault, ...],
        uncertain: bool,
        ended: bool,
    ) -> None:
        self.options = options
        self.rest = rest
        self.problems = problems
        self.uncertain = uncertain
        self.ended = ended


def parse(
    words: Sequence[str],
    command: str,
    versions: Sequence[str],
    extra: Sequence[str] = (),
    start: int = 0,
) -> Parsed:
    """Parses the arguments of a command; `words` without the command's own name.

    `versions`: the major releases of interest. `extra`: long options that the site adds: `NAME`, `NAME=` (needs a
    value), `NAME[=]` (may have one). `start`: the index of the first word to look at.
    """
    parser = _Parser(words, command, tuple(versions), extra)
    return parser.run(start)


def site_option(text: str) -> tuple[str, str]:
    """Name and argument of an entry of `extra`; a bare name may or may not take a value: `any`."""
    name = text.strip().lstrip("-")
    if name.endswith("[=]"):
        return name[:-3], "optional"
    if name.endswith("="):
        return name[:-1], "required"
    return name, "any"


def site_names(texts: Sequence[str]) -> frozenset[str]:
    """The names of such entries."""
    return frozenset(site_option(text)[0] for text in texts)


class _Parser:
    __slots__ = ("command", "extra", "options", "problems", "uncertain", "versions", "words")

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
        """Reads a word that begins with `--`; gives the index after what it took."""
        name, equals, value = word[2:].partition("=")
        written = word[: 2 + len(name)]
        if UNKNOWN in name:
            self.uncertain = True
            return index + 1
        given = value if equals else None
        at = len(written) + 1
        if name in self.extra:
            return self.take_site_option(index, name, written, given)
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
            if given is not None:
                if meaning.argument == "none":
                    message = f"option '--{option.name}' doesn't allow an argument"
                    self.fault("unexpected-value", written, index, 0, message, meaning, (option.name,))
                else:
                    self.add(meaning, option, written, given, index, 0, index, at)
            elif meaning.argument == "required":
                used = self.take_next(meaning, option, written, index, 0)
            else:
                self.add(meaning, option, written, None, index, 0, None, None)
        if not known and given is None:
            # Whether the next word belonged to it is not known.
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
                if meaning.argument == "none":
                    self.add(meaning, option, written, None, index, at, None, None)
                elif at + 1 < len(word):
                    last = True
                    self.add(meaning, option, written, word[at + 1 :], index, at, index, at + 1)
                elif meaning.argument == "required":
                    last = True
                    used = self.take_next(meaning, option, written, index, at)
                else:
                    self.add(meaning, option, written, None, index, at, None, None)
            if last:
                return index + used
            if not known:
                # What follows the letter is as likely its value as more letters.
                self.uncertain = True
                return index + 1
            at += 1
        return index + 1

    def take_next(self, meaning: Meaning, option: Option, written: str, index: int, start: int) -> int:
        """Gives an option the next word as its value; how many words were used."""
        if index + 1 < len(self.words):
            self.add(meaning, option, written, self.words[index + 1], index, start, index + 1, 0)
            return 2
        if written.startswith("--"):
            message = f"option '--{option.name}' requires an argument"
        else:
            message = f"option requires an argument -- '{written[1:]}'"
        self.fault("missing-value", written, index, start, message, meaning, (option.name,))
        return 1

    def take_site_option(self, index: int, name: str, written: str, value: str | None) -> int:
        argument = self.extra[name]
        value_word: int | None = index
        value_start: int | None = len(written) + 1
        used = 1
        if value is None:
            value_word = value_start = None
            following = self.words[index + 1] if index + 1 < len(self.words) else None
            if following is not None and (argument == "required" or argument == "any" and following[:1] != "-"):
                if argument == "any":
                    self.uncertain = True
                value, value_word, value_start, used = following, index + 1, 0, 2
        known = plugin_options().get(name)  # the site says how it takes values, we know whose it is
        self.options.append(ParsedOption(name, written, value, index, 0, value_word, value_start, None, known))
        return index + used

    def add(
        self,
        meaning: Meaning,
        option: Option,
        written: str,
        value: str | None,
        index: int,
        start: int,
        value_word: int | None,
        value_start: int | None,
    ) -> None:
        self.options.append(
            ParsedOption(
                option.canonical, written, value, index, start, value_word, value_start, meaning.versions, option
            )
        )
