"""What a job's picture answers beyond what stands in it: each question loads its room only where it has something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from ..shell.values import Phase
from ..source.regex import Regex
from .environment import TASK_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ..shell.broken_commands import Broken
    from ..shell.syntax import Program
    from ..shell.trace import Submission, Trace
    from ..shell.values import Text
    from ..slurm.combined.conflicts import Cause
    from ..slurm.combined.counts import Counts
    from ..slurm.combined.gpu_pairs import TwiceAsked
    from ..slurm.directives import Directives
    from ..slurm.mistakes.invisible import Invisible
    from ..slurm.mistakes.unknown import Missing
    from ..slurm.script import InterpreterFault
    from ..slurm.versions import Range
    from ..source.text import Span
    from ..source.workspace import Workspace
    from . import Job
    from .bashisms import Bashism
    from .caches import CacheSetting, UnsetCache
    from .crowds import Crowd
    from .dollar_names import DollarName
    from .early import EarlyUse, Repair
    from .faults import SyntaxFault
    from .foreign import ForeignEffect
    from .generated_files import GeneratedFile
    from .gpu_use import GpuNeed
    from .inner_quotes import InnerQuotes
    from .limits import DoubtfulTime, LostStep, TinyMemory, TooManyHosts
    from .literal_dollars import LiteralDollar
    from .lone_ranks import LoneRank
    from .placing import Given
    from .request import Request
    from .site import Site
    from .status import ExitStatus
    from .steps import Step
    from .submission_options import SubmissionOption
    from .submit_time import SubmitTime
    from .variables import Variables

# What the programs and containers are called whose caches have to be named.
_CACHING = ("container", "docker", "apptainer", "singularity", "podman", "enroot", "swift", "megatron")
# Options without which there is one task on each node.
_COUNTED = frozenset(("ntasks", "threads-per-core", "cores-per-socket", "sockets-per-node", "extra-node-info", "hint"))
# A backslash, or a line that begins with an option: without either no command is cut.
_BREAK = Regex(r"\\|^[ \t]*-", re.MULTILINE)


class Rooms:
    """The questions; `Job` has the answers' ground, and is the only class of this kind."""

    source: Workspace
    text: Text
    site: Site
    versions: Range
    directives: Directives
    request: Request
    program: Program
    phase: Phase
    steps: list[Step]
    trace: Trace
    is_embedded: bool
    is_wrapped: bool
    submission: Submission | None
    interpreter_line: tuple[str, str]
    _conflicts: list[Cause] | None = None
    _early: tuple[list[EarlyUse], list[EarlyUse]] | None = None
    _dollars: list[LiteralDollar] | None = None
    _programs: list[tuple[Text, Program]] | None = None
    parsed: Callable[[str], Program]
    _variables: Variables | None = None

    @property
    def job(self) -> Job:
        return cast("Job", self)

    def early_uses(self) -> list[EarlyUse]:
        """Variables of a task that the batch shell expands before a step's tasks start, each by its worst use."""
        return self._early_by_kind[0]

    def early_ranks(self) -> list[EarlyUse]:
        """Those of them that the batch shell assigns to a rank variable, once for all tasks of a step."""
        return self._early_by_kind[1]

    @property
    def _early_by_kind(self) -> tuple[list[EarlyUse], list[EarlyUse]]:
        if self._early is None:
            self._early = self._find_early()
        return self._early

    def _find_early(self) -> tuple[list[EarlyUse], list[EarlyUse]]:
        if not self.steps or not any(name in self.source.text for name in TASK_VARIABLES):
            return [], []
        from .early import find_early

        return find_early(self.steps, self.job.assigned)

    def early_span(self, use: EarlyUse) -> Span:
        """Where it stands: `$NAME`, or the bare name in arithmetic."""
        span, name, text = use.expansion.span, use.expansion.name, self.source.text
        if span.start < span.end:
            return span
        start = text.find(name, span.start, span.start + 1000)
        return span if start < 0 else span._replace(start=start, end=start + len(name))

    def early_repair(self, use: EarlyUse) -> Repair | None:
        from .early import repair

        found = repair(use, self.source.text, self.variables.used_by_batch_shell)
        if found is None or not self.is_embedded:
            return found
        # In a script inside a string or heredoc a backslash more may be one for the shell outside.
        escaped = self.source.text[found.start - 1 : found.start] == "\\"
        return None if escaped or found.kind == "wrap" and self.is_wrapped else found

    @property
    def variables(self) -> Variables:
        """Which variables are expanded too early, are not set, or are not seen by programs."""
        if self._variables is None:
            from .variables import Variables

            self._variables = Variables(self.job)
        return self._variables

    def programs(self) -> list[tuple[Text, Program]]:
        """The script's own program, and each that a shell in it reads again: `bash -c`, `eval`, heredocs, its files."""
        if self._programs is None:
            texts = {each.text.field: each.text for each in self.job.invocations if each.text is not None}
            self._programs = [(self.text, self.program), *((text, self.parsed(text.string)) for text in texts.values())]
        return self._programs

    def broken_commands(self) -> list[Broken]:
        """Commands that end in the middle, because a backslash is missing or has something behind it."""
        if self.phase is Phase.SUBMIT and not self.text.string.startswith("#!"):
            return []
        file = self.source.text
        if _BREAK.search(file) is None:
            return []
        from ..shell.broken_commands import find_broken

        return [each for text, program in self.programs() for each in find_broken(text, program, file)]

    def dollar_names(self) -> Iterable[DollarName]:
        """Assignments whose name begins with a dollar."""
        if "$" not in self.source.text:
            return ()
        from .dollar_names import find_dollar_names

        return find_dollar_names(self.job)

    def inner_quotes(self) -> Iterable[InnerQuotes]:
        """Double quotes inside of double quotes, which end the string around them."""
        if self.source.text.count('"') < 3:
            return ()
        from .inner_quotes import find_inner_quotes

        return find_inner_quotes(self.job)

    def literal_dollars(self) -> list[LiteralDollar]:
        """Variables that reach a program as text, because no shell expands them."""
        if self._dollars is None:
            self._dollars = []
            if "$" in self.source.text:
                from .literal_dollars import find_literal_dollars

                self._dollars = list(find_literal_dollars(self.job))
        return self._dollars

    def submit_time(self) -> list[SubmitTime]:
        """What the shell that submits this script expands in it, though only the job can know it."""
        if self.submission is None:
            return []
        from .submit_time import find_submit_time

        return find_submit_time(self.job)

    def generated_files(self) -> Iterable[GeneratedFile]:
        """Files of a fixed name that the batch script writes from a heredoc, and uses."""
        if self.phase is not Phase.BATCH or "<<" not in self.text.string:
            return ()
        from .generated_files import find_generated_files

        return find_generated_files(self.job)

    @property
    def exit_status(self) -> ExitStatus:
        """Whose exit status is the job's, and whose is lost."""
        from .status import ExitStatus

        return ExitStatus(self.job)

    def interpreter_fault(self) -> InterpreterFault | None:
        """How the script lacks its first line, `#!` and an interpreter; see `slurm.script`."""
        if self.text.string.startswith("#!"):
            return None
        from ..slurm.script import interpreter_fault

        return interpreter_fault(self.directives, self.source.path, self.is_embedded)

    def invisible(self) -> list[Invisible]:
        """Words of directives that hold characters which only look like blanks, dashes or quotes."""
        if self.text.string.isascii():
            return []
        from ..slurm.mistakes.invisible import find_invisible

        return find_invisible(self.directives)

    def bashisms(self) -> list[Bashism]:
        """What dash does not understand, in a script that asks for `sh`, in the order of the text."""
        if self.interpreter_line[0] not in ("sh", "dash"):
            return []
        from .bashisms import find_bashisms

        return find_bashisms(self.job)

    def syntax_fault(self) -> SyntaxFault | None:
        """The first error of syntax on which bash agrees; see `job.faults`."""
        if not self.program.errors:
            return None
        from .faults import syntax_fault

        return syntax_fault(self.job)

    def foreign_effects(self) -> list[ForeignEffect]:
        """What the script's `#PBS` or `#BSUB` lines change in the job, or why sbatch refuses them."""
        if self.directives.foreign is None:
            return []
        from .foreign import foreign_effects

        return foreign_effects(self.directives)

    def conflicts(self) -> list[Cause]:
        """Settings that do not go together, of all components, in the order in which sbatch meets them."""
        if self._conflicts is None:
            self._conflicts = []
            own = self.directives
            if own.may_conflict:
                from ..slurm.combined.conflicts import causes

                self._conflicts.extend(each for index in range(own.components) for each in causes(own, index))
        return self._conflicts

    def twice_asked_gpus(self, cause: Cause) -> TwiceAsked | None:
        """The GPUs of `--gres` and of `--gpus-per-node`, where these two are what does not go together."""
        from ..slurm.combined.gpu_pairs import twice_asked

        return twice_asked(self.directives, cause)

    def counts(self) -> list[Counts | None]:
        """The nodes and tasks of each component as the newest release makes them of the options.

        None where they are not known, and where no number of tasks or threads is given.
        """
        directives = self.directives
        given = {each.name for each in directives.settings}
        if not directives.certain or not given & _COUNTED and self.submission is None:
            return [None] * directives.components
        if self.submission is not None and directives.components == 1:
            return [self.request.counts]
        from ..slurm.combined.conflicts import values_of
        from ..slurm.combined.counts import job_counts

        newest = self.versions.last
        each = (values_of(directives, component, newest) for component in range(directives.components))
        return [job_counts(values, newest) for values in each]

    def submission_options(self) -> list[SubmissionOption]:
        """Options of sbatch that sruns were given, and do not take."""
        if not any(step.problems or "wait" in step.options for step in self.steps):
            return []
        from .submission_options import submission_options

        return [found for step in self.steps for found in submission_options(step, self.versions)]

    def give(self, steps: Iterable[Step], option: str, like: Collection[str]) -> Given | None:
        """Puts an option into these steps, each behind its last one whose name is in `like`; see `job.placing`."""
        from .placing import give

        return give(self.job, steps, option, like)

    @property
    def crowds(self) -> list[Crowd]:
        """Launchers that a step starts several times on a node, though one start fills it."""
        if not self.steps or not self.job.launches:
            return []
        from .crowds import find_crowds

        return find_crowds(self.job)

    def private_caches(self) -> list[tuple[Step, CacheSetting]]:
        """Caches of steps on several nodes that each node has for itself, and nothing puts there on purpose."""
        found: list[tuple[Step, CacheSetting]] = []
        names_a_cache = "CACHE" in self.source.text or "_HOME" in self.source.text
        if not names_a_cache or not any(step.several_nodes for step in self.steps):
            return found
        from .caches import cache_settings, filled_on_every_node
        from .paths import SHARED

        for step in self.steps:
            if not step.several_nodes:
                continue
            settings = list(cache_settings(step, self.site))
            shared = {each.name for each in settings if each.location.kind == SHARED}
            for each in settings:
                own = each.location.per_node or each.location.per_task
                covered = each.name == "NEMO_HOME" and "NEMO_DATASETS_CACHE" in shared
                if each.location.private and not own and not covered:
                    if not filled_on_every_node(each, step, self.job.invocations):
                        found.append((step, each))
        return found

    def unset_caches(self) -> list[tuple[Step, UnsetCache]]:
        """Caches that a step's programs need in common, and that the script does not name."""
        several = any(step.several_nodes or step.geometry.several for step in self.steps)
        if not several or not any(word in self.source.text for word in _CACHING):
            return []
        from .caches import unset_caches

        return [(step, each) for step in self.steps for each in unset_caches(step)]

    def shared_sibling(self, step: Step, setting: CacheSetting) -> str | None:
        """A path beside another cache of the script that all nodes see."""
        from .caches import shared_sibling

        return shared_sibling(setting, step, self.site)

    def shell_placeholders(self) -> list[tuple[Span, str]]:
        """Placeholders in the commands that bash reads as redirections."""
        if "<" not in self.text.string:
            return []
        from .blanks import shell_placeholders

        return shell_placeholders(self.job)

    def missing_step_options(self) -> list[tuple[Step, Span, Missing]]:
        """Options of the sruns that not all releases of the range have."""
        if not any(step.problems or step.has_rare_options for step in self.steps):
            return []
        from .missing import missing_step_options

        return missing_step_options(self.job)

    @property
    def lone_ranks(self) -> list[LoneRank]:
        """Programs that want one task for each GPU, in steps of one task per node."""
        if not any(step.tasks_per_node == 1 for step in self.steps):
            return []
        from .lone_ranks import find_lone_ranks

        return find_lone_ranks(self.job)

    def doubtful_times(self) -> Iterable[DoubtfulTime]:
        """Limits of time that can be read in two ways (`24:00`)."""
        if not any(each.name in ("time", "time-min") for each in self.directives.settings):
            return ()
        from .limits import doubtful_times

        return doubtful_times(self.job)

    def lost_array_steps(self) -> Iterable[LostStep]:
        """Steps of `--array` that have no effect (`1-10%2:3`)."""
        if self.request.array is None and self.directives.components == 1:
            return ()
        from .limits import lost_array_steps

        return lost_array_steps(self.job)

    def tiny_memory(self) -> Iterable[TinyMemory]:
        """Amounts of memory that were hardly meant as megabytes (`--mem=4`)."""
        if not any(each.name.startswith("mem") for each in self.directives.settings):
            return ()
        from .limits import tiny_memory

        return tiny_memory(self.job)

    def too_many_hosts(self) -> Iterable[TooManyHosts]:
        """Lists of hosts that are longer than `--nodes` allows, for releases before 23.02."""
        if not any(setting.name == "nodelist" for setting in self.directives.settings):
            return ()
        from .limits import too_many_hosts

        return too_many_hosts(self.job)

    def gpu_need(self) -> GpuNeed | None:
        """GPUs that the job's commands use although none is asked for."""
        if self.request.asks_for_gpus is not False:
            return None
        from .gpu_use import find_signs, gpu_need

        signs = list(find_signs(self.job.launches, self.job.invocations, self.job.assigned))
        return gpu_need(self.source.own, self.directives, self.request, signs, self.steps, self.job.launches, self.site)
