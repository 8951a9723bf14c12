"""The result of reading an option block: settings, problems, and the line that ended it. Spans are of the file."""

from typing import NamedTuple

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.lines import DirectiveLine, Token
from sbatchlint.slurm.options import Option
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span


class StopLine(NamedTuple):
    """The line that ended the reading.

    `start`: its offset in the text that is read; `offset`: that of its first non-whitespace character in the file.
    `certain`: False if the line begins with unknown text, which may not be a command.
    """

    span: Span
    offset: int
    certain: bool
    start: int


class Setting(Record):
    """An option in the block.

    `name`: its canonical long name; `written`: as written (`-N`, `--node`). `value`: None for an option without one,
    with `UNKNOWN` for unknown parts. `span`: option and value; `option_span`: the option alone, without `=`;
    `value_span`: the value with its quotes, None if there is none. `value_line`: the line of the value, which may be
    after that of the option. `plugin`: the SPANK plugin that adds it, `site` for one of the site's options, None for
    Slurm's. `versions`: the releases that read it so, None for all.
    """

    name: str
    written: str
    value: str | None
    begin: int
    end: int
    option_end: int
    value_span: Span | None
    line: DirectiveLine
    value_line: DirectiveLine | None
    component: int
    plugin: str | None
    versions: tuple[str, ...] | None
    option: Option | None
    token: Token
    start: int
    value_token: Token | None
    value_start: int

    @property
    def span(self) -> Span:
        return self.line.text.span(self.begin, self.end)

    @property
    def option_span(self) -> Span:
        return self.line.text.span(self.begin, self.option_end)

    @property
    def value_place(self) -> Span:
        """The place of the value; that of the whole setting where it has none."""
        return self.value_span or self.span

    @property
    def known(self) -> bool:
        """Whether the value is known, or there is none."""
        return self.value is None or UNKNOWN not in self.value

    @property
    def text(self) -> str | None:
        """The value; None if it is unknown or there is none."""
        return self.value if self.known else None

    @property
    def shown(self) -> str:
        """The option in full for a message, with its value if that is known and short."""
        if self.text is None or len(self.text) > 30:
            return f"--{self.name}"
        return f"`--{self.name}={self.text}`"

    @property
    def as_written(self) -> str:
        """The option and its value as one would write them: `--ntasks=4`, `-n 4`."""
        return f"{self.written}{'=' if self.written.startswith('--') else ' '}{self.value or ''}"

    @property
    def separate(self) -> bool:
        """Whether the value is a separate word."""
        return self.value_token is not None and self.value_token is not self.token


class ForeignSetting(NamedTuple):
    """An option of sbatch that a foreign directive sets.

    `name`: its canonical long name; only PBS's `-W umask=` sets `umask`. `value`: as for sbatch's option, None for an
    option without one, with UNKNOWN for unknown parts. `span`: the foreign option, or an item of `-l` such as
    `walltime=1:00:00`. `joins`: whether an earlier value of the option comes `before` it or `behind` it, with a comma,
    or is replaced (''). `versions`: None for all.
    """

    name: str
    value: str | None
    span: Span
    line: DirectiveLine
    joins: str
    versions: tuple[str, ...] | None
    option: Option | None

    @property
    def text(self) -> str | None:
        """The value; None if it is unknown or there is none."""
        return None if self.value is None or UNKNOWN in self.value else self.value

    def applied_to(self, value: str | None) -> str | None:
        """The resulting value of the option, which had this value before."""
        if not self.joins or not value:
            return self.value
        return f"{value},{self.value}" if self.joins == "before" else f"{self.value},{value}"


class Problem(NamedTuple):
    """An error for which sbatch refuses the script.

    `kind`: `unknown-option`, `ambiguous-option`, `missing-value`, `unexpected-value`, `stray-word`, `unmatched-quote`
    or `leading-colon`. `message`: that of sbatch. `written`: the option or word. `candidates`: the long names that an
    abbreviation matches. `versions`: the releases that refuse it, None for all.
    `value_token`: the next word of the line if it is plainly the value of an unknown option.
    """

    kind: str
    span: Span
    message: str
    written: str
    line: DirectiveLine
    candidates: tuple[str, ...]
    versions: tuple[str, ...] | None
    token: Token | None = None
    value_token: Token | None = None
    start: int = 0

    @property
    def name(self) -> str:
        """The option without its dashes, as written."""
        return self.written.lstrip("-") if self.written[:2] == "--" else self.written[1:]


class Refused(NamedTuple):
    """A setting whose value Slurm refuses, and why."""

    setting: Setting
    refusal: Refusal
