"""The words of an srun, as its getopt reads them: its own options, and where the command begins that it starts."""

from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, exported, values_of
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Piece,
    Pieces,
    cut,
    expansions,
    is_open,
    shown_text,
    span_of,
    text_of,
)
from sbatchlint.job.argv import hides_options, is_unknown, names_program
from sbatchlint.slurm import getopt
from sbatchlint.slurm.site import Site
from sbatchlint.slurm.versions import Range
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.text import Span

# So many components a step may have (MAX_HET_JOB_COMPONENTS of src/common/slurm_protocol_defs.h).
MOST_COMPONENTS = 128


class StepOption:
    """One option of an srun. `value`: None without one. `span`: option and value, where they are written together.

    `word`, `value_word`: their indices in argv; 0 where a variable says it, whose name is `written`.
    """

    __slots__ = ("name", "span", "value", "value_word", "word", "written")

    def __init__(self, name: str, written: str, value: Pieces | None, span: Span, word: int, value_word: int) -> None:
        self.name = name
        self.written = written
        self.value = value
        self.span = span
        self.word = word
        self.value_word = value_word

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)

    @property
    def as_written(self) -> str:
        """Option and value as one would write them: `--ntasks=4`, `-n $COUNT`."""
        value = self.text
        if value is None:
            names = [each.name for each in expansions(self.value or ())]
            value = f"${names[0]}" if names else "…"
        return f"{self.written}{' ' if self.written[0] == '-' != self.written[1:2] else '='}{value}"


class OwnVariable(NamedTuple):
    """What a script makes of a variable that srun reads.

    `how`: `""` where it leaves it alone, `set`, `unset`, or `unknown`. `value`: what it is set to.
    """

    how: str
    value: Pieces | None = None

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)


_LEFT_ALONE = OwnVariable("")


def own_variable(invocation: Invocation, name: str, from_slurm: bool | None = None) -> OwnVariable:
    """What the environment of a command has of a variable, as far as the script changes it.

    `from_slurm`: whether Slurm has set it for the batch shell. The shell then exports what is assigned to it, and keeps
    to itself what is assigned to another; None where that is not known.
    """
    found = invocation.state.variables.get(name)
    if found is None:
        return _LEFT_ALONE
    if not found.alternatives:
        return OwnVariable("unset")
    value = exported(invocation, name)
    if value is None and not found.exported and from_slurm is not None:
        if not from_slurm:
            return OwnVariable("")
        values = values_of(invocation, found)
        value = values[0][0] if len(values) == 1 and values[0] else None
    return OwnVariable("unknown") if value is None else OwnVariable("set", value)


class SrunWords:
    """What an srun is told on its command line: one component of it, where it has several (`srun a : b`).

    `options`: by canonical name, the last of each. `problems`: the words that its getopt refuses, with indices from the
    word after `srun`. `certain`: no unknown word may be an option. `command`: the index in argv at which the command
    begins, None where there is none, or it is unknown. `end`: the index of the `:` that ends it, None without one.

    The components are separated at each word `:` behind the options (`initialize_and_process_args()` of
    src/srun/opt.c, 20.11 to 26.05).
    """

    __slots__ = ("all_options", "certain", "command", "end", "invocation", "options", "problems")

    def __init__(self, invocation: Invocation, versions: Range, site: Site) -> None:
        self.invocation = invocation
        words = invocation.words[1:]
        parsed = getopt.parse(words, "srun", versions.majors, site.plugin_options)
        if parsed.uncertain:
            program = _unknown_program(invocation, parsed)
            if program is not None:
                parsed = getopt.parse(words[:program], "srun", versions.majors, site.plugin_options)
        self.all_options = tuple(_option(invocation.argv, each) for each in parsed.options)
        self.options = {each.name: each for each in self.all_options}
        self.problems = parsed.problems
        self.certain = not parsed.uncertain
        colon = next((at for at in range(parsed.rest, len(words)) if words[at] == ":"), len(words))
        self.end = colon + 1 if colon < len(words) else None
        self.command = parsed.rest + 1 if parsed.rest < colon else None

    def option(self, name: str) -> StepOption | None:
        return self.options.get(name)

    def variable(self, name: str, variable: str, from_slurm: bool | None = None) -> StepOption | None:
        """What the script says of an option by a variable that srun reads; None where it does not, or not for certain.

        The command line wins over it. `from_slurm`: see `own_variable`.
        """
        own = own_variable(self.invocation, variable, from_slurm)
        return None if own.value is None else StepOption(name, variable, own.value, span_of(own.value), 0, 0)

    def groups(self, default: int) -> tuple[int, ...]:
        """The components of a heterogeneous job in which this runs, each for itself; () where they are not known."""
        option = self.option("het-group")
        if option is None:
            return (default,)
        found: list[int] = []
        for item in (option.text or "").strip("[]").split(","):
            first, dash, last = item.partition("-")
            if not is_number(first) or dash and not is_number(last):
                return ()
            start, end = parse_integer(first), parse_integer(last if dash else first)
            if end >= MOST_COMPONENTS:
                return ()
            found.extend(range(start, end + 1))
        return tuple(sorted(set(found)))


def options_of(invocation: Invocation, command: str, versions: Range, site: Site) -> dict[str, StepOption]:
    """The options among the words of an sbatch or salloc, the last of each, by canonical name."""
    words = invocation.words[1:]
    parsed = getopt.parse(words, command, versions.majors, site.plugin_options)
    return {each.name: _option(invocation.argv, each) for each in parsed.options}


def _option(argv: tuple[Pieces, ...], given: getopt.ParsedOption) -> StepOption:
    word = value_word = given.word + 1
    span = span_of(argv[word])
    value = None
    if given.value_word is not None and given.value_start is not None:
        value_word = given.value_word + 1
        source = argv[value_word]
        value = cut(source, given.value_start, len(shown_text(source)))
        if value_word != word and (end := span_of(source).end) >= span.start:
            span = Span(span.start, end)
    return StepOption(given.name, given.written, value, span, word, value_word)


def component_after(argv: tuple[Pieces, ...], colon: int) -> tuple[Pieces, ...]:
    """The words of the component behind a `:` as a command of their own; the `:` stands in the place of its name."""
    return ((Piece(text_of(argv[0]), *span_of(argv[colon])),), *argv[colon + 1 :])


def _unknown_program(invocation: Invocation, parsed: getopt.Parsed) -> int | None:
    """The index (from the word after `srun`) of the first unknown word that must be the command; None without one.

    It is a path, its name says so, or options follow that srun does not have.
    """
    argv = invocation.argv[1:]
    taken = {word for each in parsed.options for word in (each.word, each.value_word)}
    strange = [each.word for each in parsed.problems if each.kind == "unknown-option" and each.versions is None]
    for index, field in enumerate(argv[: parsed.rest]):
        if index in taken:
            continue
        if shown_text(field)[:2] == UNKNOWN_CHARACTER + "/":
            return index  # a path
        if not is_unknown(field) or hides_options(field):
            continue
        if names_program(field) or not is_open(field) and any(word > index for word in strange):
            return index
    return None
