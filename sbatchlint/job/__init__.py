"""The picture of a job: what it asks for, what it runs, where and how often."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from ..shell.evaluate import Interpreter
from ..shell.parse import parse
from ..shell.programs import shell_flags
from ..shell.state import State
from ..shell.syntax import Program
from ..shell.trace import Assigned, Invocation, Ran, Submission, Trace
from ..shell.values import Phase, Pieces, Text, literal
from ..slurm.directives import Directives, read_directives
from ..slurm.versions import Range
from ..source.discover import is_batch_name
from ..source.text import Source, Span
from ..source.workspace import Workspace
from .environment import TASK_VARIABLES
from .hooks import JobHooks
from .launches import Launch, find_launches
from .request import Request
from .site import Site
from .steps import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..shell.broken_commands import Broken
    from ..slurm.combined.conflicts import Cause
    from ..slurm.combined.counts import Counts
    from ..slurm.combined.gpu_pairs import TwiceAsked
    from ..slurm.mistakes.invisible import Invisible
    from ..slurm.mistakes.unknown import Missing
    from ..slurm.script import InterpreterFault
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
    from .status import ExitStatus
    from .submission_options import SubmissionOption
    from .submit_time import SubmitTime
    from .variables import Variables

__all__ = ["Invocation", "Job", "Launch", "Phase", "Request", "Site", "Step"]

DEEPEST = 3  # jobs that jobs submit are followed so far
EVALUATED_SHELLS = frozenset({"bash", "sh", "dash", "ksh"})


class Job:
    """One batch script: the file itself, or a script inside it.

    `directives` and `request`: what sbatch reads. `program`: the syntax of its commands (empty for other languages).
    `steps`: its sruns; `launches`: its launchers; `invocations`: all commands in order of running; `ran`: statements
    with their exit status; `submits`: the batch scripts inside it. `phase`: in which phase its commands run (SUBMIT for
    a script of the login node). All spans are those of the file.
    """

    def __init__(
        self, source: Workspace, text: Text, site: Site, *, submission: Submission | None = None,
        outer: Job | None = None, shell: bool = True,
    ) -> None:  # fmt: skip
        self.source = source
        self.text = text
        self.site = site
        self.versions = Range(*site.slurm_versions)
        self.is_embedded = submission is not None
        self.is_wrapped = submission is not None and submission.wrapped
        self.directives_expand = submission is not None and not submission.quoted
        self.submission, self.outer = submission, outer
        if submission is None:
            self.directives: Directives = read_directives(text, site.slurm_versions, site.plugin_options)
            self.request = Request(self.directives)
        else:
            from .submission import SubmittedDirectives

            self.directives = directives = SubmittedDirectives(submission, self.versions, site)
            self.request = Request(directives, overriding=directives.overriding)
        self.interpreter_line = _interpreter(text.string)
        self.is_shell = shell and self.interpreter_line[0] in EVALUATED_SHELLS
        self.phase = Phase.BATCH if self._is_batch() else Phase.SUBMIT
        self.program: Program = parse(text.string) if self.is_shell else Program((), ())
        self.hooks = hooks = JobHooks(self.request, self.versions, site, source)
        interpreter = Interpreter(hooks)
        self.trace: Trace = interpreter.trace
        self.evaluate(interpreter)
        self.complete = interpreter.complete
        self.steps: list[Step] = hooks.steps
        self._launches: list[Launch] | None = None
        self._conflicts: list[Cause] | None = None
        self._early: tuple[list[EarlyUse], list[EarlyUse]] | None = None
        self._dollars: list[LiteralDollar] | None = None
        self._programs: list[tuple[Text, Program]] | None = None
        self._quoted: tuple[list[int], list[int]] | None = None
        self._variables: Variables | None = None
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.submits: list[Job] = self._submitted() if self.depth < DEEPEST and self.trace.submissions else []

    @classmethod
    def from_source(cls, source: Source, site: Site) -> Job:
        """The job of a file. One in UTF-16 has no commands: sbatch and the shell read its bytes."""
        text = Text((), source.text) if source.is_utf_16 else Text.of_file(source.text)
        return cls(Workspace(source), text, site)

    def evaluate(self, interpreter: Interpreter) -> None:
        """Walks the script's commands."""
        if self.is_shell:
            state = State()
            for flag in shell_flags(tuple(_words(self.interpreter_line[1])), 9):
                state.options[flag] = True
            interpreter.run(self.text, self.program, self.phase, state)

    def _is_batch(self) -> bool:
        return bool(self.directives.lines or self.is_embedded or is_batch_name(self.source.path)) or bool(
            self.directives.unread and not self._has_inner_script()
        )

    def _has_inner_script(self) -> bool:
        return len(re.findall(r"^#!", self.text.string, re.MULTILINE)) > 1 or "sbatch" in self.text.string

    def _submitted(self) -> list[Job]:
        jobs = []
        for submission in self.trace.submissions:
            string = submission.text.string
            given = submission.wrapped or submission.command is not None and string.startswith("#!")
            if given or "#SBATCH" in string:
                jobs.append(Job(self.source, submission.text, self.site, submission=submission, outer=self))
        return jobs

    # --- what ran ----------------------------------------------------------------------------

    @property
    def invocations(self) -> list[Invocation]:
        return self.trace.invocations

    @property
    def ran(self) -> list[Ran]:
        return self.trace.ran

    @property
    def assigned(self) -> list[Assigned]:
        return self.trace.assigned

    @property
    def launches(self) -> list[Launch]:
        if self._launches is None:
            self._launches = find_launches(self.invocations)
        return self._launches

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

        return find_early(self.steps, self.assigned)

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

            self._variables = Variables(self)
        return self._variables

    def programs(self) -> list[tuple[Text, Program]]:
        """The script's own program, and each that a shell in it reads again: `bash -c`, `eval`, heredocs, its files."""
        if self._programs is None:
            texts = {each.text.field: each.text for each in self.invocations if each.text is not None}
            self._programs = [(self.text, self.program), *((text, parse(text.string)) for text in texts.values())]
        return self._programs

    def broken_commands(self) -> list[Broken]:
        """Commands that end in the middle, because a backslash is missing or has something behind it."""
        if self.phase is Phase.SUBMIT and not self.text.string.startswith("#!"):
            return []
        from ..shell.broken_commands import find_broken

        file = self.source.text
        return [each for text, program in self.programs() for each in find_broken(text, program, file)]

    def dollar_names(self) -> Iterable[DollarName]:
        """Assignments whose name begins with a dollar."""
        from .dollar_names import find_dollar_names

        return find_dollar_names(self)

    def inner_quotes(self) -> Iterable[InnerQuotes]:
        """Double quotes inside of double quotes, which end the string around them."""
        from .inner_quotes import find_inner_quotes

        return find_inner_quotes(self)

    def literal_dollars(self) -> list[LiteralDollar]:
        """Variables that reach a program as text, because no shell expands them."""
        if self._dollars is None:
            from .literal_dollars import find_literal_dollars

            self._dollars = list(find_literal_dollars(self)) if "$" in self.text.string else []
        return self._dollars

    def submit_time(self) -> list[SubmitTime]:
        """What the shell that submits this script expands in it, though only the job can know it."""
        if self.submission is None:
            return []
        from .submit_time import find_submit_time

        return find_submit_time(self)

    def generated_files(self) -> Iterable[GeneratedFile]:
        """Files of a fixed name that the batch script writes from a heredoc, and uses."""
        if self.phase is not Phase.BATCH or "<<" not in self.text.string:
            return ()
        from .generated_files import find_generated_files

        return find_generated_files(self)

    @property
    def exit_status(self) -> ExitStatus:
        """Whose exit status is the job's, and whose is lost."""
        from .status import ExitStatus

        return ExitStatus(self)

    def interpreter_fault(self) -> InterpreterFault | None:
        """How the script lacks its first line, `#!` and an interpreter; see `slurm.script`."""
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

        return find_bashisms(self)

    def syntax_fault(self) -> SyntaxFault | None:
        """The first error of syntax on which bash agrees; see `job.faults`."""
        if not self.program.errors:
            return None
        from .faults import syntax_fault

        return syntax_fault(self)

    def foreign_effects(self) -> list[ForeignEffect]:
        """What the script's `#PBS` or `#BSUB` lines change in the job, or why sbatch refuses them."""
        if self.directives.foreign is None:
            return []
        from .foreign import foreign_effects

        return foreign_effects(self.directives)

    def conflicts(self) -> list[Cause]:
        """Settings that do not go together, of all components, in the order in which sbatch meets them."""
        if self._conflicts is None:
            from ..slurm.combined.conflicts import causes

            own = self.directives
            self._conflicts = [cause for component in range(own.components) for cause in causes(own, component)]
        return self._conflicts

    def twice_asked_gpus(self, cause: Cause) -> TwiceAsked | None:
        """The GPUs of `--gres` and of `--gpus-per-node`, where these two are what does not go together."""
        from ..slurm.combined.gpu_pairs import twice_asked

        return twice_asked(self.directives, cause)

    def counts(self) -> list[Counts | None]:
        """The nodes and tasks of each component as the newest release makes them of the options; None: not known."""
        directives = self.directives
        if not directives.certain:
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

        return give(self, steps, option, like)

    @property
    def crowds(self) -> list[Crowd]:
        """Launchers that a step starts several times on a node, though one start fills it."""
        if not self.steps or not self.launches:
            return []
        from .crowds import find_crowds

        return find_crowds(self)

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
                    if not filled_on_every_node(each, step, self.invocations):
                        found.append((step, each))
        return found

    def unset_caches(self) -> list[tuple[Step, UnsetCache]]:
        """Caches that a step's programs need in common, and that the script does not name."""
        if not any(step.several_nodes or step.geometry.several for step in self.steps):
            return []
        from .caches import unset_caches

        return [(step, each) for step in self.steps for each in unset_caches(step)]

    def shared_sibling(self, step: Step, setting: CacheSetting) -> str | None:
        """A path beside another cache of the script that all nodes see."""
        from .caches import shared_sibling

        return shared_sibling(setting, step, self.site)

    def shell_placeholders(self) -> list[tuple[Span, str]]:
        """Placeholders in the commands that bash reads as redirections."""
        from .blanks import shell_placeholders

        return shell_placeholders(self)

    def missing_step_options(self) -> list[tuple[Step, Span, Missing]]:
        """Options of the sruns that not all releases of the range have."""
        if not self.steps:
            return []
        from .missing import missing_step_options

        return missing_step_options(self)

    @property
    def lone_ranks(self) -> list[LoneRank]:
        """Programs that want one task for each GPU, in steps of one task per node."""
        if not any(step.tasks_per_node == 1 for step in self.steps):
            return []
        from .lone_ranks import find_lone_ranks

        return find_lone_ranks(self)

    def doubtful_times(self) -> Iterable[DoubtfulTime]:
        """Limits of time that can be read in two ways (`24:00`)."""
        from .limits import doubtful_times

        return doubtful_times(self)

    def lost_array_steps(self) -> Iterable[LostStep]:
        """Steps of `--array` that have no effect (`1-10%2:3`)."""
        if self.request.array is None and self.directives.components == 1:
            return ()
        from .limits import lost_array_steps

        return lost_array_steps(self)

    def tiny_memory(self) -> Iterable[TinyMemory]:
        """Amounts of memory that were hardly meant as megabytes (`--mem=4`)."""
        from .limits import tiny_memory

        return tiny_memory(self)

    def too_many_hosts(self) -> Iterable[TooManyHosts]:
        """Lists of hosts that are longer than `--nodes` allows, for releases before 23.02."""
        if not any(setting.name == "nodelist" for setting in self.directives.settings):
            return ()
        from .limits import too_many_hosts

        return too_many_hosts(self)

    def gpu_need(self) -> GpuNeed | None:
        """GPUs that the job's commands use although none is asked for."""
        if self.request.asks_for_gpus is not False:
            return None
        from .gpu_use import find_signs, gpu_need

        signs = list(find_signs(self.launches, self.invocations, self.assigned))
        return gpu_need(self.source.own, self.directives, self.request, signs, self.steps, self.launches, self.site)

    # --- places ------------------------------------------------------------------------------

    def line(self, offset: int) -> int:
        """The row of a place, counted from 1; in a message it names its file where that is not the script's own."""
        return self.source.row(offset)

    def in_quoted_text(self, offset: int) -> bool:
        """Whether a place of the file stands inside a heredoc's body or a quoted string."""
        if self._quoted is None:
            from ..shell.walk import quoted_ranges

            found = sorted(self.text.span(start, end) for start, end in quoted_ranges(self.program))
            self._quoted = ([span.start for span in found], [span.end for span in found])
        starts, ends = self._quoted
        at = bisect_right(starts, offset) - 1
        return any(ends[index] > offset for index in range(at, max(at - 40, -1), -1))

    def span(self, start: int, end: int) -> Span:
        """The place in the file of a range of this script's own text."""
        return self.text.span(start, end)


def _interpreter(string: str) -> tuple[str, str]:
    """The interpreter that the first line names (bash without one), and the line's words."""
    if not string.startswith("#!"):
        return "bash", ""
    words = string[2:].partition("\n")[0].split()
    while words and words[0].rpartition("/")[2] in ("env", "-S"):
        words = words[1:]
    return (words[0].rpartition("/")[2] if words else "bash"), " ".join(words)


def _words(line: str) -> list[Pieces]:
    return [(literal(word, 0),) for word in line.split()]
