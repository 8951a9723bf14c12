"""Reads the option block of a batch script as sbatch does (`_opt_batch_script()`, src/sbatch/opt.c, 20.11 to 26.05).

The words of all directive lines of a component make one argument vector; reading stops at the first line that is
neither blank nor a comment. Where releases differ, the newest of the range counts; settings and problems that exist
only in some of them are marked with these. All spans are offsets in the file.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.lines import DirectiveLine, Readable
from sbatchlint.slurm.model import Problem, Refused, Setting, StopLine
from sbatchlint.slurm.reading import Reading, parse_words, read
from sbatchlint.slurm.versions import DEFAULT, Range

if TYPE_CHECKING:
    from sbatchlint.slurm.foreign import Foreign

__all__ = ["UNKNOWN", "DirectiveLine", "Directives", "Problem", "Refused", "Setting", "StopLine", "read_directives"]

# Options that are reset for each component of a heterogeneous job (`reset_each_pass`, src/common/slurm_opt.c 26.05).
_RESET = (
    "bb consolidate-segments constraint contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task"
    " distribution exclusive external extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket"
    " gpus-per-task gres gres-flags hint licenses mail-type mail-user mem-bind mem-per-cpu mem-per-gpu mincpus network"
    " nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres"
    " overcommit oversubscribe partition resources resv-ports segment sockets-per-node spread-job spread-segments"
    " switches thread-spec threads-per-core tmp tres-bind tres-per-task umask use-min-nodes"
)
RESET_PER_COMPONENT = frozenset(_RESET.split())


def carries_over(name: str) -> bool:
    """Whether an option of one component of a heterogeneous job also applies to the later ones."""
    return name not in RESET_PER_COMPONENT


_component = attrgetter("component")


class Directives:
    """The option block of a script, as read.

    `lines`: the directive lines that are read; `unread`: those after `stop`, the line that ended the reading.
    `settings`: in order. `problems`: in the order in which sbatch finds them; it exits at the first. `certain`: whether
    there can be no other options: no unknown words, nothing dropped.
    `cut`: the first line that is not read because there are too many; None if all are read.
    `components`: those of a heterogeneous job; 1 for other jobs. `overriding`: the options on the command line of the
    job's sbatch, if they are known; `submitted`: these as a block, where they are set beside the script and not in
    one. `appended_at`: where to add options for the string of a --wrap; else None.
    `command`: who reads the options, sbatch except on a command line (`job.command_lines`); `in_job`: they are those of
    an srun in a running job, so slurmctld never sees options for allocations.
    `conditional`: only some jobs run the command, or its words may be others.
    """

    def __init__(self, string: Readable, versions: Range, extra: tuple[str, ...], reading: Reading) -> None:
        self.text = string
        self.versions = versions
        self.extra = extra
        self.lines: tuple[DirectiveLine, ...] = tuple(reading.lines)
        self.unread: tuple[DirectiveLine, ...] = tuple(reading.unread)
        self.stop = reading.stop
        self.settings: tuple[Setting, ...] = tuple(reading.settings)
        self.problems: tuple[Problem, ...] = tuple(reading.problems)
        self.certain = reading.certain
        self.components = reading.components
        self.cut = reading.cut
        self.overriding: tuple[Setting, ...] = ()
        self.submitted: Directives | None = None
        self.appended_at: int | None = None
        self.command = "sbatch"
        self.in_job = False
        self.conditional = False
        self._by_name: dict[str, list[Setting]] = {}
        for setting in self.settings:
            self._by_name.setdefault(setting.name, []).append(setting)
        self._carried = _carried(self.settings, self.components) if self.components > 1 else []

    def settings_on(self, line: DirectiveLine) -> list[Setting]:
        """The settings of which the option or the value is on a line."""
        return self._by_line.get(line.start, [])

    @cached_property
    def _by_line(self) -> dict[int, list[Setting]]:
        found: dict[int, list[Setting]] = {}
        for setting in self.settings:
            for start in {setting.line.start, (setting.value_line or setting.line).start}:
                found.setdefault(start, []).append(setting)
        return found

    @cached_property
    def faulty_words(self) -> frozenset[int]:
        """Where the options that are wrong by themselves begin, and what is plainly their values."""
        wrong = [each for each in self.problems if each.kind != "stray-word"]
        return frozenset(token.start for each in wrong for token in (each.token, each.value_token) if token is not None)

    @cached_property
    def refused(self) -> tuple[Refused, ...]:
        """The settings whose values Slurm refuses, in order; those with unknown values are not included."""
        return self._refused_of(self.settings)

    @cached_property
    def overriding_refused(self) -> tuple[Refused, ...]:
        """The options on the command line of sbatch whose values Slurm refuses, in order."""
        return self._refused_of(self.overriding)

    def _refused_of(self, settings: Sequence[Setting]) -> tuple[Refused, ...]:
        found: list[Refused] = []
        for setting in settings:
            if setting.value is None or setting.option is None or setting.option.early or not setting.known:
                continue
            versions = setting.versions or self.versions.majors
            for refusal in refusals(setting.option, setting.value, versions, self.command):
                if self.in_job and refusal.stage == "controller":
                    continue
                if refusal.versions is None and setting.versions is not None:
                    refusal = refusal._replace(versions=setting.versions)
                found.append(Refused(setting, refusal))
        return tuple(found)

    @cached_property
    def foreign(self) -> "Foreign | None":
        """The #PBS or #BSUB directives, which sbatch reads after all others; None without such lines."""
        string = self.text.string
        if "#PBS" not in string and "#BSUB" not in string or self.last("ignore-pbs") is not None:
            return None
        from sbatchlint.slurm.foreign import read_foreign  # few scripts have such lines

        return read_foreign(self.text, self.versions.majors)

    @property
    def end(self) -> int:
        """The offset in the text at which sbatch stops reading directives."""
        return len(self.text.string) if self.stop is None else self.stop.start

    @property
    def has_comments(self) -> bool:
        """Whether there are comments other than `#SBATCH` lines among these, or a line after them that may be one."""
        string = self.text.string
        others = string.count("#", 0, self.end) - len(self.lines) - string.startswith("#!")
        old = any(line.magic != "#SBATCH" for line in self.lines)
        return bool(others) or old or "SBATCH" in string[self.end : self.end + 40]

    def all(self, name: str, component: int = 0) -> list[Setting]:
        """All settings of an option that apply to this component, in order; those of the command line come last."""
        found = self._by_name.get(name, [])
        if self.components > 1:
            start = 0 if carries_over(name) else bisect_left(found, component, key=_component)
            found = found[start : bisect_right(found, component, key=_component)]
        return [*found, *(each for each in self.overriding_for(component) if each.name == name)]

    @property
    def every_setting(self) -> tuple[Setting, ...]:
        """The settings of the block, then those of the command line."""
        return (*self.settings, *self.overriding)

    def overriding_for(self, component: int) -> tuple[Setting, ...]:
        """The options of the command line that apply to this component: they are set for the first one."""
        return self.overriding if component == 0 else tuple(each for each in self.overriding if carries_over(each.name))

    def settings_for(self, component: int = 0, version: str | None = None) -> list[Setting]:
        """The settings that apply to this component, in order; with `version` only those of that release.

        Of those that carry over from the components before it, only the last of each option.
        """
        found = self.settings
        if self.components > 1:
            own = found[bisect_left(found, component, key=_component) : bisect_right(found, component, key=_component)]
            found = (*self._carried[component], *own)
        return [each for each in found if version is None or each.versions is None or version in each.versions]

    def last(self, name: str, component: int = 0) -> Setting | None:
        """The setting of an option that takes effect; None if it is not set."""
        found = self.all(name, component) if self.has_option(name) else ()
        return found[-1] if found else None

    def has_option(self, name: str) -> bool:
        """Whether an option is set for any component."""
        return name in self._by_name or any(each.name == name for each in self.overriding)

    def read_line(self, line: DirectiveLine) -> tuple[list[Setting], bool]:
        """The options of a line by itself, for a line that is not read; and whether sbatch would accept them."""
        words = [(line, token) for token in line.tokens]
        settings, problems, _ = parse_words(self.text, words, line.component, self.versions.majors, self.extra)
        return settings, not problems and line.fault is None


def _carried(settings: Sequence[Setting], components: int) -> list[tuple[Setting, ...]]:
    """For each component, what applies to it of the settings of those before it: the last of each option."""
    found: list[tuple[Setting, ...]] = []
    last: dict[tuple[str, tuple[str, ...] | None], Setting] = {}
    at = 0
    for component in range(components):
        found.append(tuple(last.values()))
        while at < len(settings) and settings[at].component == component:
            setting = settings[at]
            if carries_over(setting.name):
                last.pop((setting.name, setting.versions), None)
                last[setting.name, setting.versions] = setting
            at += 1
    return found


def read_directives(text: Readable, versions: tuple[str, str] = DEFAULT, extra: Sequence[str] = ()) -> Directives:
    """The option block of a script.

    `text`: the script (bash.values.Text). `versions`: the first and last major release of interest. `extra`: long
    options that plugins of the site add (see `getopt.parse`).
    """
    within = Range(*versions)
    site = tuple(extra)
    return Directives(text, within, site, read(text, within, site))
