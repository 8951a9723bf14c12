"""Whose exit status is the job's: which work of a script may fail without the job being FAILED.

The state of a job follows from the exit status of its batch script, which is that of the last command, unless something
looks at the others (live runs on 22.05, 23.11, 24.11 and 26.05: `srun …` then `echo` is COMPLETED 0:0 whatever srun
returned, and so is `srun … | tee log` without pipefail, errexit or not).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.interpreter.protocol import Spawn
from sbatchlint.bash.syntax.tree import Heredoc, Pipeline
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Invocation, Ran
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import is_python, python_command
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# What looks around rather than computes.
_LOOKS_NAMES = (
    "[ [[ : arch awk basename cat cut date df dirname du echo env export false file find free getent git grep groups"
    " head hostname hwloc-ls id ip ldconfig ldd ls lscpu lsof lspci lstopo module nproc ntpdate nvcc nvidia-smi pip"
    " pip3 printenv printf ps pwd readlink realpath rocm-smi rocminfo sacct scontrol sed seff sinfo sleep sort squeue"
    " sstat stat tail tee test timedatectl top true ulimit umask uname uniq uptime wc which whoami who xargs"
)
_LOOKS = frozenset(_LOOKS_NAMES.split())
# What a script does once the work is done, and whose failure nobody minds.
_CLOSES_NAMES = (
    "cd conda deactivate exit kill mamba micromamba ml popd pushd rm rmdir scancel set unset wait mail mailx sendmail"
    " curl mkdir touch chmod time sync stty trap return break continue shopt source . local eval let read shift"
)
_CLOSES = _LOOKS | frozenset(_CLOSES_NAMES.split())
# What a pipeline ends in without being its work; the status that counts is that of what writes into it.
_FILTERS_NAMES = (
    "annotate-output awk bzip2 cat col cut egrep fgrep gawk grep gzip lbzip2 logger lz4 mawk nl pigz pbzip2 pv rg"
    " rotatelogs sed tail tee tr ts unbuffer xz zstd"
)
_FILTERS = frozenset(_FILTERS_NAMES.split())
# Of these, the ones that read to the end whatever comes, and fail for no other reason than that they cannot write.
_PATIENT_NAMES = "annotate-output bzip2 cat col cut gzip lbzip2 logger lz4 nl pigz pbzip2 pv tail tee tr ts xz zstd"
_PATIENT = frozenset(_PATIENT_NAMES.split())


class Piped(NamedTuple):
    """A workload whose exit status a pipeline replaces by that of its last command, `filter`.

    `tested`: the script looks at the pipeline's status, and so at the wrong one.
    """

    ran: Ran
    workload: Invocation
    filter: Invocation
    tested: bool


class Masked(NamedTuple):
    """The last workload of a script whose exit status commands behind it replace.

    `last`: the command whose status is the job's. `work`: the first of them that does more than tell or tidy up; None
    where there is no such command.
    """

    ran: Ran
    workload: Invocation
    last: Invocation
    work: Invocation | None


class ExitStatus:
    """What becomes of the exit status of a script's workloads."""

    __slots__ = ("_launches", "_steps", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        self._steps = {id(step.invocation) for step in job.steps}
        self._launches = {id(launch.invocation) for launch in job.launches}

    # --- workloads ---------------------------------------------------------------------------

    def is_workload(self, invocation: Invocation) -> bool:
        """Whether a command does the work of the job: a step, a launcher, a container, a program of Python or a `./x`.

        Commands that only look around (`srun hostname`) do not; what is not known, in a step, does.
        """
        below = invocation.descendants()
        if id(invocation) in self._steps or invocation.name == "srun":
            own = [each for each in below if not each.children]
            return not own or any(self._works(each) for each in own)
        if id(invocation) in self._launches or any(id(each) in self._launches for each in below):
            return any(self._works(each) for each in below if not each.children) if below else True
        if isinstance(invocation.spawn, Spawn) and isinstance(invocation.spawn.info, Container):
            return any(self._works(each) for each in below if not each.children)
        if below:
            return any(each.kind and self.is_workload(each) for each in invocation.children)
        return self._works(invocation) and self._is_program(invocation)

    def _is_program(self, invocation: Invocation) -> bool:
        if is_python(invocation.argv[0]):
            return True
        name = text_of(invocation.argv[0])
        if name is None or name.startswith("$"):
            return False
        return invocation.name in ("Rscript", "julia", "matlab") or name.startswith("./")

    @staticmethod
    def _works(invocation: Invocation) -> bool:
        name = invocation.name
        if name is None:
            return True
        if is_python(invocation.argv[0]):
            command = python_command(invocation.argv)
            return command is None or (
                command.kind in ("script", "module") and command.text not in ("pip", "venv", "site")
            )
        words = [text_of(field) for field in invocation.argv[1:3]]
        return name not in _LOOKS and not ({"--version", "-V", "--help"} & set(words))

    def place(self, ran: Ran, workload: Invocation) -> Span:
        """The word that names a workload, where it stands in its statement."""
        for each in (*[e for e in workload.descendants() if e.name == "srun"], workload):
            span = each.name_span
            if ran.span.start <= span.start and span.end <= ran.span.end and span.end > span.start:
                return span
        line = self.job.source.line_of(workload.span.start)
        if workload.span.end <= line.end:
            return workload.span
        shown = self.job.source.text[workload.span.start : line.end].rstrip(" \t\\")
        return Span(workload.span.start, workload.span.start + len(shown))

    # --- pipelines ---------------------------------------------------------------------------

    def piped(self) -> list[Piped]:
        """The workloads whose status a pipeline hides, each once."""
        found: dict[int, Piped] = {}
        reads = set(self.job.trace.pipe_status_reads)
        for ran in self.job.ran:
            if len(ran.elements) < 2 or ran.pipefail is not False or ran.context.phase is Phase.SUBMIT:
                continue
            context = ran.context
            if context.captured or context.handler or ran.order + 1 in reads or not ran.elements[-1]:
                continue
            last = ran.elements[-1][0]
            if last.name not in _FILTERS or not ran.elements[0] or (ran.tested and last.name != "tee"):
                continue
            first = ran.elements[0][-1]
            if first.parent is not last.parent and first.parent is not None:
                first = next((e for e in ran.elements[0] if e.parent is last.parent), first)
            if self.is_workload(first):
                found.setdefault(ran.span.start, Piped(ran, first, last, ran.tested))
        return list(found.values())

    def pipefail_is_safe(self, hidden: list[Piped]) -> bool:
        """Whether `set -o pipefail` at the top changes the status of these pipelines alone, as far as anyone looks."""
        starts = {each.ran.span.start for each in hidden}
        if any(each.filter.name not in _PATIENT for each in hidden):
            return False
        reads = set(self.job.trace.status_reads)
        seen = set()
        last = max((ran.order for ran in self.job.ran), default=0)
        for ran in self.job.ran:
            if len(ran.elements) < 2:
                continue
            seen.add(ran.span.start)
            if ran.span.start in starts:
                continue
            if (
                ran.tested
                or ran.errexit is not False
                or ran.order + 1 in reads
                or ran.order == last
                or ran.context.calls
            ):
                return False
        pipelines = {
            self.job.span(node.start, node.end).start
            for node in nodes(self.job.program)
            if isinstance(node, Pipeline) and len(node.commands) > 1
        }
        return pipelines <= seen

    # --- the end of the script ---------------------------------------------------------------

    def masked(self) -> Masked | None:
        """The last workload, where its status is lost because the script goes on and ends with another's."""
        job = self.job
        if job.phase is not Phase.BATCH or not job.complete or job.program.errors or self._has_handler():
            return None
        own = [
            ran
            for ran in job.ran
            if ran.context.parent is None and not ran.context.captured and not ran.context.handler
        ]
        candidates = [(ran, each) for ran in own if (each := self._workload_of(ran)) is not None]
        if not candidates:
            return None
        ran, workload = candidates[-1]
        context = ran.context
        if ran.tested or workload.context.background or context.shell or ran.errexit is not False:
            return None
        guards = workload.guards
        own_commands = [each for element in ran.elements for each in element]
        index = max(child.index for each in own_commands for child in (each, *each.descendants()))
        following = [
            each
            for each in own
            if each.order > ran.order
            and each.elements[0]
            and each.elements[0][0].index > index
            and merge_guards(guards, each.elements[0][0].guards) is not None
        ]
        # a bare `exit` ends with the status of what stands before it
        following = [each for each in following if each.elements[-1][:1] and not _is_bare_exit(each.elements[-1][0])]
        if not following or any(ran.order < read <= following[0].order for read in job.trace.status_reads):
            return None
        commands = [element for each in following for element in each.elements[-1]]
        if any(each.context.background for each in commands) or self._decides(commands):
            return None
        certain = [each for each in following if not each.context.conditional or ran.context.conditional]
        if not certain or not certain[-1].elements[-1]:
            return None
        if (certain[-1].elements[-1][0].name or "").startswith("-"):
            return None  # the rest of a broken line, which fails
        work = next((each for each in commands if not _closes(each)), None)
        return Masked(ran, workload, certain[-1].elements[-1][0], work)

    def _workload_of(self, ran: Ran) -> Invocation | None:
        """The workload in a statement, in whichever element of a pipeline."""
        found = [each for element in ran.elements for each in element if self.is_workload(each)]
        # of a group, the last one; one in the background counts as soon as there is one
        return next((each for each in found if each.context.background), found[-1] if found else None)

    def _has_handler(self) -> bool:
        """Whether a trap looks at failures, or ends the script with a status of its own."""
        return any(
            each.name == "trap"
            and "ERR" in [text_of(field) for field in each.argv[2:]]
            or each.name == "exit"
            and each.context.handler
            for each in self.job.invocations
        )

    @staticmethod
    def _decides(commands: list[Invocation]) -> bool:
        """Whether the script ends with a status of its own choice behind the workload."""
        for each in commands:
            if each.name in ("exit", "return") and len(each.argv) > 1 and text_of(each.argv[1]) != "0":
                return True
        return False

    def is_alone(self, masked: Masked) -> bool:
        """Whether the workload stands in lines of its own and always runs, once: its status can be kept behind it."""
        context = masked.ran.context
        source = self.job.source
        if context.conditional or context.looped or context.calls or context.shell or self.job.is_embedded:
            return False
        if any(each.stdin is not None for each in masked.ran.elements[0]):
            return False  # a heredoc's body stands behind the line
        exits = [each for each in self.job.invocations if each.name == "exit" and each.index > masked.workload.index]
        if any(each is not masked.last for each in exits):
            return False
        if any(isinstance(node, Heredoc) and not node.closed for node in nodes(self.job.program)):
            return False
        span = masked.ran.span
        before = source.text[source.line_of(span.start).start : span.start]
        behind = source.text[span.end : source.line_of(span.end).end].strip()
        return not before.strip() and (not behind or behind.startswith("#"))


def _closes(invocation: Invocation) -> bool:
    """Whether a command tells something or tidies up; True for one that is not known."""
    if invocation.name in ("docker", "podman", "apptainer", "singularity", "enroot"):
        words = {text_of(field) for field in invocation.argv[1:3]}
        return bool(words & {"rm", "rmi", "stop", "kill", "logs", "remove", "prune"})
    return invocation.name is None or invocation.name in _CLOSES


def _is_bare_exit(invocation: Invocation) -> bool:
    return invocation.name == "exit" and len(invocation.argv) == 1
