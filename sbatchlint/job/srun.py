"""The words of an srun, as its getopt reads them: its own options, and the beginning of its command."""

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
from sbatchlint.site import Site
from sbatchlint.slurm import getopt
from sbatchlint.slurm.versions import Range
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span

# The maximum number of components of a step (MAX_HET_JOB_COMPONENTS of src/common/slurm_protocol_defs.h).
MOST_COMPONENTS = 128


class StepOption(Record):
    """One option of an srun. `value`: None if there is none. `span`: option and value, if they are adjacent.

    `word`, `value_word`: their indexes in argv; 0 if a variable sets the option, whose name is then `written`.
    """

    name: str
    written: str
    value: Pieces | None
    span: Span
    word: int
    value_word: int

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)

    @property
    def as_written(self) -> str:
        """Option and value as one would write them: `--ntasks=4`, `-n $COUNT`."""
        value = self.text
        if self.value is None:
            return self.written
        if value is None:
            names = [each.name for each in expansions(self.value or ())]
            value = f"${names[0]}" if names else "…"
        return f"{self.written}{' ' if self.written[0] == '-' != self.written[1:2] else '='}{value}"


class VariableChange(NamedTuple):
    """How a script changes a variable that srun reads.

    `how`: `""` for not at all, `set`, `unset`, or `unknown`. `value`: what it is set to.
    """

    how: str
    value: Pieces | None = None

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)


_LEFT_ALONE = VariableChange("")


def variable_change(invocation: Invocation, name: str, from_slurm: bool | None = None) -> VariableChange:
    """How the script changes a variable in the environment of a command.

    `from_slurm`: whether Slurm sets the variable for the batch shell, None where that is not known. If it does, the
    shell exports what the script assigns; if not, an assignment alone does not reach the command.
    """
    found = invocation.state.variables.get(name)
    if found is None:
        return _LEFT_ALONE
    if not found.alternatives:
        return VariableChange("unknown" if found.exported else "unset")  # `local X` hides one that is exported
    value = exported(invocation, name)
    if value is None and not found.exported and from_slurm is not None:
        if not from_slurm:
            return _LEFT_ALONE
        values = values_of(invocation, found)
        value = values[0][0] if len(values) == 1 and values[0] else None
    return VariableChange("unknown") if value is None else VariableChange("set", value)


class SrunWords:
    """The command line of an srun, or one component of it if there are several (`srun a : b`).

    `options`: by canonical name, the last of each. `problems`: the words that getopt refuses, with indexes from the
    word after `srun`. `certain`: whether no unknown word may be an option. `command`: the index in argv at which the
    command begins, None if there is none, or where it is unknown. `end`: the index of the `:` that ends it, None
    without one. Each word `:` after the options separates components (`initialize_and_process_args()` of
    src/srun/opt.c, 20.11 to 26.05). `shared`: the words of the program that a component without one of its own runs,
    which is that of the next component with one (`srun -n1 : -n4 ./a`; seen with 22.05).
    """

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
        self.shared: tuple[Pieces, ...] = ()
        if self.command is None and self.end is not None and self.certain:
            self.shared = _shared_program(invocation.argv, self.end, versions, site)
            self.command = self.end if self.shared else None

    def option(self, name: str) -> StepOption | None:
        return self.options.get(name)

    def variable(self, name: str, variable: str, from_slurm: bool | None = None) -> StepOption | None:
        """An option that the script sets by a variable that srun reads; None where it does not, or not certainly.

        The command line overrides it. `from_slurm`: see `variable_change`.
        """
        own = variable_change(self.invocation, variable, from_slurm)
        return None if own.value is None else StepOption(name, variable, own.value, span_of(own.value), 0, 0)

    def groups(self, default: int) -> tuple[int, ...]:
        """The components of a heterogeneous job in which this runs, separately; () where they are not known."""
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
    """The options of an sbatch or salloc, the last of each, by canonical name."""
    words = invocation.words[1:]
    parsed = getopt.parse(words, command, versions.majors, site.plugin_options)
    return {each.name: _option(invocation.argv, each) for each in parsed.options}


def _option(argv: tuple[Pieces, ...], parsed: getopt.ParsedOption) -> StepOption:
    word = value_word = parsed.word + 1
    span = span_of(argv[word])
    value = None
    if parsed.value_word is not None and parsed.value_start is not None:
        value_word = parsed.value_word + 1
        source = argv[value_word]
        value = cut(source, parsed.value_start, len(shown_text(source)))
        if value_word != word and (end := span_of(source).end) >= span.start:
            span = Span(span.start, end)
    return StepOption(parsed.name, parsed.written, value, span, word, value_word)


def component_after(argv: tuple[Pieces, ...], colon: int) -> tuple[Pieces, ...]:
    """The words of the component after a `:` as a command of their own, with the name at the place of the `:`."""
    return ((Piece(text_of(argv[0]), *span_of(argv[colon])),), *argv[colon + 1 :])


def _shared_program(argv: tuple[Pieces, ...], colon: int, versions: Range, site: Site) -> tuple[Pieces, ...]:
    """The program of the first component after a `:` that has one, with its arguments; () where it is not known."""
    for _ in range(MOST_COMPONENTS):
        argv = component_after(argv, colon)
        words = [shown_text(field) for field in argv[1:]]
        parsed = getopt.parse(words, "srun", versions.majors, site.plugin_options)
        colon = next((at for at in range(parsed.rest, len(words)) if words[at] == ":"), len(words)) + 1
        if parsed.uncertain:
            return ()
        if parsed.rest + 1 < colon or colon > len(words):
            return argv[parsed.rest + 1 : colon]
    return ()


def _unknown_program(invocation: Invocation, parsed: getopt.Parsed) -> int | None:
    """The index (from the word after `srun`) of the first unknown word that must be the command; None if there is none.

    It must be if it is a path, if its name says so, or if options follow that srun does not have.
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
