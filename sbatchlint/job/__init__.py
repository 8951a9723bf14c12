"""The model of a job: what it requests, what it runs, where and how often."""

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sbatchlint.bash.interpreter.interpreter import ScriptInterpreter
from sbatchlint.bash.interpreter.programs import shell_flags
from sbatchlint.bash.limits import MOST_WORK
from sbatchlint.bash.state import ZSH, State
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Program
from sbatchlint.bash.syntax.walk import quoted_ranges, release
from sbatchlint.bash.trace import NOTHING, Invocation, PipelineRun, Submission, Trace, VariableAssignment
from sbatchlint.bash.values import Phase, Pieces, Text, literal
from sbatchlint.job.beside import FilesBeside
from sbatchlint.job.hooks import JobHooks
from sbatchlint.job.included_files import IncludedFiles
from sbatchlint.job.launchers import Launcher
from sbatchlint.job.launches import Launch, by_step
from sbatchlint.job.request import Request
from sbatchlint.job.steps import Step
from sbatchlint.site import Site
from sbatchlint.slurm.directives import Directives, read_directives
from sbatchlint.slurm.versions import Range
from sbatchlint.source.discover import is_batch_name
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span
from sbatchlint.source.workspace import SBATCH_OPTIONS, Workspace

if TYPE_CHECKING:
    from sbatchlint.source.ignores import IgnoreComment, Selector

__all__ = ["Invocation", "Job", "Launch", "Phase", "Request", "Site", "Step"]

DEEPEST = 3  # how deep jobs that jobs submit are followed
MOST_LAUNCHES = 500  # a launcher takes as long to check as ten other commands
# A line for bash below comments, or with a wrong character before it, and its options.
_MEANT_FOR_BASH = Regex(
    r"(?:[ \t\r]*(?:#(?!!)[^\n]*)?\n)*[ \t]*(?:\w{0,3}#?!|#[ \t]+!)[ \t]*/[^ \t\n]*[/ ]bash(?:[ \t]([^\n]*)|[\r\n])"
)
EVALUATED_SHELLS = frozenset({"bash", "sh", "dash", "ksh", ZSH})


class Job:
    """One batch script: the file itself, or a script inside it.

    `directives` and `request`: what sbatch reads; `text`: what a shell reads, and `program`: its syntax tree (empty for
    other languages). `steps`: its sruns; `launches`: its launchers; `invocations`: all commands, in the order in which
    they run; `pipelines`: statements with their exit status; `submits`: the batch scripts inside it. `phase`: the phase
    in which its commands run (SUBMIT for a script of the login node). All spans are those of the file.

    `source`: the file, with those that the script includes. `versions`: the range of Slurm releases; `site`: the
    settings. `is_shell`: whether the commands are known at all; `interpreter_line`: the interpreter and its words.
    `is_embedded`: whether it is part of `outer`, which submits it by `submission`; `is_wrapped`: as the text of --wrap.
    `directives_expand`: whether the outer shell expands the directives too. `trace`: all that was recorded; `reached`:
    the number of commands before each statement of the program that was reached; `ended`: the end of the statement that
    leaves the shell for certain, None if there is none. `ignores`: the comments that switch checks off;
    `unused_ignores`: the parts of these that had no effect.
    """

    def __init__(
        self, source: Workspace, string: Text, site: Site, *, submission: Submission | None = None,
        outer: "Job | None" = None, shell: bool = True, options: str = "", spent: int = 0,
        proceed: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.source = source
        self.proceed = proceed
        self.text = string.without_template_marks()
        self.site = site
        self.versions = Range(*site.slurm_versions)
        self.is_embedded = submission is not None
        self.is_wrapped = submission is not None and submission.wrapped
        self.directives_expand = submission is not None and not submission.quoted
        self.submission, self.outer = submission, outer
        if submission is None:
            read = _attached(source, options) if options else string
            self.directives: Directives = read_directives(read, site.slurm_versions, site.plugin_options)
            if site.submit_options:
                block = _attached(source, site.submit_options, site.submit_origin)
                given = read_directives(block, site.slurm_versions, site.plugin_options)
                self.directives.submitted = given
                self.directives.overriding = tuple(
                    each for each in given.settings if each.option is None or not each.option.early
                )
        else:
            from sbatchlint.job.submission import submitted_directives

            self.directives = submitted_directives(submission, self.versions, site)
        self.request = Request(self.directives)
        if site.profile is not None:
            from sbatchlint.site.facts import of_partitions  # most runs know no cluster

            self.site = of_partitions(site, self.request.partition)
        self.interpreter_line = _interpreter(string.string)
        string = self.text
        self.is_shell = shell and self.interpreter_line[0] in EVALUATED_SHELLS
        self.phase = Phase.BATCH if self._is_batch() else Phase.SUBMIT
        self.program: Program = parse(string.string) if self.is_shell else Program((), ())
        if self.program.errors and self.interpreter_line[0] in ("ksh", ZSH):  # their grammars are others than bash's
            self.is_shell, self.program = False, Program((), ())
        self.hooks = hooks = JobHooks(self.request, self.versions, site, IncludedFiles(source))
        interpreter = ScriptInterpreter(hooks)
        interpreter.proceed = proceed
        # Scripts of one file share a budget: `spent` is what those before this one have cost together, and
        # `submitted_work` with what the jobs cost that are submitted inside the script, at any depth.
        self.spent = interpreter.limits.work = spent if outer is None else outer.submitted_work
        self.submitted_work: int = self.spent
        self.trace: Trace = interpreter.trace
        self.parsed, self.programs = interpreter.parsed, interpreter.programs  # so that nothing is parsed twice
        self.steps: list[Step] = hooks.steps
        self.answers: dict[Hashable, Any] = {}  # the cache of `once`
        self.submits: list[Job] = []
        with self._released_on_error():
            self.evaluate(interpreter)
        self.limits = interpreter.limits
        if outer is not None:
            self.submitted_work = self.limits.work
        if hooks.files.left_out is not None:
            self.limits.note("files", hooks.files.left_out)
        if self.directives.cut is not None:
            self.limits.note("options", self.directives.cut)
        self.reached, self.ended = interpreter.reached, interpreter.ended
        self.proved = 0  # how many characters were reevaluated to prove repairs
        # Known after all other checks have run.
        self.ignores: "tuple[IgnoreComment, ...]" = ()
        self.unused_ignores: "tuple[tuple[IgnoreComment, Selector], ...]" = ()
        self.depth: int = 0 if outer is None else outer.depth + 1
        if self.depth < DEEPEST and self.trace.submissions:
            with self._released_on_error():
                self._add_submitted()

    @classmethod
    def from_source(
        cls, source: Source, site: Site, options: str = "", spent: int = 0, proceed: Callable[[], None] | None = None
    ) -> "Job":
        """The job of a file. `options` replace its own; `spent`: what other scripts in the same document have cost.

        `proceed` is called now and then while it is evaluated and asked, and raises what ends that.
        A UTF-16 file has no commands, as a shell reads its bytes.
        """
        return cls(Workspace(source), _text(source), site, options=options, spent=spent, proceed=proceed)

    def evaluate(self, interpreter: ScriptInterpreter) -> None:
        """Evaluates the script's commands."""
        if interpreter.limits.work > MOST_WORK:
            interpreter.limits.note("work", self.text.span(0, len(self.text.string.partition("\n")[0])))
        elif self.is_shell:
            interpreter.run(self.text, self.program, self.phase, self.first_state())

    def first_state(self) -> State:
        """The state of its shell at the start: the options of the shebang, and what the submitting script exported."""
        state = State()
        if "@" in self.site.unset:
            state.positional = ()
        submission = self.submission
        command = None if submission is None or not submission.alone else submission.command
        if command is not None and (self.request.value("export") or "ALL").startswith("ALL"):
            state.variables = command.state.child().variables
        if self.interpreter_line[0] == ZSH:
            state.options[ZSH] = True
        if self.interpreter_line[0] not in ("", "bash"):  # bash alone ignores them in scripts
            state.options["expand_aliases"] = True
        for flag in shell_flags(tuple(_words(self.interpreter_line[1])), 9):
            state.options[flag] = True
        return state

    def _is_batch(self) -> bool:
        if self.directives.lines or self.is_embedded or is_batch_name(self.source.path):
            return True
        # options of sbatch that are known for it say so too, even none
        submitted = self.directives.unread or self.site.submit_options is not None
        return bool(submitted) and not self._has_inner_script()

    def _has_inner_script(self) -> bool:
        return len(re.findall(r"^#!", self.text.string, re.MULTILINE)) > 1 or "sbatch" in self.text.string

    @contextmanager
    def _released_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.release()
            raise

    def _add_submitted(self) -> None:
        for submission in self.trace.submissions:
            string = submission.text.string
            is_script = submission.wrapped or submission.command is not None and string.startswith("#!")
            if is_script or "#SBATCH" in string:
                if self.submitted_work > MOST_WORK:
                    self.limits.note("work", submission.span)
                    break
                job = Job(
                    self.source, submission.text, self.site, submission=submission, outer=self, proceed=self.proceed
                )
                self.submits.append(job)
                self.submitted_work = job.submitted_work

    @property
    def work(self) -> int:
        """What its evaluation has cost, and that of the jobs that it submits."""
        return self.limits.work + self.submitted_work - 2 * self.spent

    # --- what ran ----------------------------------------------------------------------------

    @property
    def invocations(self) -> list[Invocation]:
        return self.trace.invocations

    @property
    def pipelines(self) -> list[PipelineRun]:
        return self.trace.pipelines

    @property
    def assignments(self) -> list[VariableAssignment]:
        return self.trace.assignments

    @cached_property
    def launches(self) -> list[Launch]:
        found = self.hooks.launches(self.invocations)
        if len(found) > MOST_LAUNCHES:
            self.limits.note("work", found[MOST_LAUNCHES].invocation.span)
        return found[:MOST_LAUNCHES]

    def launches_of(self, step: Step) -> list[Launch]:
        """The launchers that run in the tasks of a step."""
        return self._by_step.get(id(step), [])

    def launcher_of(self, invocation: Invocation) -> Launcher | None:
        """The launcher that a command calls; None for other commands."""
        launch = self.launch_of(invocation)
        return None if launch is None else launch.launcher

    def launch_of(self, invocation: Invocation) -> Launch | None:
        """What a command starts as a launcher; None for other commands."""
        return self._by_command.get(id(invocation))

    @cached_property
    def _by_command(self) -> dict[int, Launch]:
        return {id(each.invocation): each for each in self.launches}

    @cached_property
    def _by_step(self) -> dict[int, list[Launch]]:
        return by_step(self.launches)

    @cached_property
    def beside(self) -> FilesBeside:
        """The files of the project, by the names that commands use."""
        return FilesBeside(self.hooks.files, self.invocations, self.hooks.host_paths)

    def with_submitted(self) -> "list[Job]":
        """This job and all jobs inside its script, at any depth; a job comes before those that it submits."""
        jobs = [self]
        for job in jobs:
            jobs.extend(job.submits)
        return jobs

    def release(self) -> None:
        """Breaks the reference cycles between commands, so that an unused job is freed at once."""
        for command in (*self.trace.invocations, *self.trace.outside):
            command.children.clear()
            command.spawn = NOTHING
        for step in self.steps:
            step.parts.clear()
        self.trace.clear()
        self.answers.clear()
        release()
        for job in self.submits:
            job.release()
        self.submits.clear()

    # --- places ------------------------------------------------------------------------------

    def line(self, offset: int) -> int:
        """The line number of a place, from 1; in a message it also names the file, if that is not the script."""
        return self.source.row(offset)

    def in_quoted_text(self, offset: int) -> bool:
        """Whether a place of the file is within a heredoc's body or a quoted string."""
        starts, ends = self._quoted
        at = bisect_right(starts, offset) - 1
        return any(ends[index] > offset for index in range(at, max(at - 40, -1), -1))

    @cached_property
    def _quoted(self) -> tuple[list[int], list[int]]:
        """The starts and the ends of quoted text in the file."""
        found = sorted(self.text.span(start, end) for start, end in quoted_ranges(self.program))
        return [span.start for span in found], [span.end for span in found]

    def span(self, start: int, end: int) -> Span:
        """The place in the file of a range of this script's own text."""
        return self.text.span(start, end)


def _attached(source: Workspace, options: str, origin: str = "") -> Text:
    """The options of an sbatch, which the settings `origin` name, as an option block that is not part of the file."""
    block = f"#!/bin/bash\n#SBATCH {options}\n"
    path = f"{SBATCH_OPTIONS} {origin}" if origin else SBATCH_OPTIONS
    return Text((literal(block, source.attach(Source(block, path), Span(0, 0))),))


def _interpreter(string: str) -> tuple[str, str]:
    """The interpreter of the shebang (bash without one), and its words.

    sbatch refuses a file that does not begin with `#!`; where only the place or a character of a line for bash is
    wrong, its options are those of the script once it is corrected.
    """
    if not string.startswith("#!"):
        meant = _MEANT_FOR_BASH.match(string)
        return "bash", "" if meant is None else " ".join(("bash", *(meant[1] or "").split()))
    words = string[2:].partition("\n")[0].split()
    while words and (words[0].rpartition("/")[2] == "env" or words[0][0] == "-" or "=" in words[0]):
        words = words[1:]  # env, its options, and what it sets
    return (words[0].rpartition("/")[2] if words else "bash"), " ".join(words)


def _words(line: str) -> list[Pieces]:
    return [(literal(word, 0),) for word in line.split()]


def _text(source: Source) -> Text:
    return Text((), source.text) if source.is_utf_16 else Text.of_file(source.text)


def has_directives(source: Source, site: Site) -> bool:
    """Whether a file has directives that sbatch reads."""
    return bool(read_directives(_text(source), site.slurm_versions, site.plugin_options).lines)
