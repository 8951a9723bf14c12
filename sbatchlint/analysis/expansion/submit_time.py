"""What the shell that submits a job expands in its script, though only the job can know it.

In `sbatch <<EOF` and `sbatch --wrap="…"` the submitting shell expands every `$` that is not escaped. Variables of the
wrapper are meant to be expanded there; those that Slurm sets in the job are not set yet, and those that the script
assigns itself have no value, or another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.syntax.tree import For
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import Expansion, Phase, shown_text
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Read by the commands of Slurm, and therefore set by people and sites.
_INPUTS = (
    "SLURM_ACCOUNT SLURM_CLUSTERS SLURM_CONF SLURM_CONF_SERVER SLURM_EXCLUSIVE SLURM_HINT SLURM_JWT SLURM_PARTITION"
    " SLURM_QOS SLURM_RESERVATION SLURM_ROOT SLURM_HOME SLURM_TIME_FORMAT SLURM_TIMELIMIT SLURM_VERSION"
)
INPUTS = frozenset(_INPUTS.split())
# Those that tell a job from the one that submits it.
_OWN = (
    "SLURM_JOB_ID SLURM_JOBID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_PROCID SLURM_LOCALID SLURM_NODEID"
    " SLURM_JOB_NODELIST SLURM_NODELIST SLURMD_NODENAME SLURM_STEP_ID SLURM_STEPID"
)
OWN = frozenset(_OWN.split())
# Commands that say something else on a node of the job than on the login node.
LOCAL = frozenset({"hostname", "nproc", "nvidia-smi", "rocm-smi", "srun", "lscpu", "nvcc"})
PATTERNS = {"SLURM_JOB_ID": "%j", "SLURM_JOBID": "%j", "SLURM_ARRAY_JOB_ID": "%A", "SLURM_ARRAY_TASK_ID": "%a"}
AWK = frozenset({"awk", "gawk", "mawk", "nawk"})
_slurm = re.compile(r"SLURMD?_[A-Z_]+\Z").match
_default = re.compile(r"\$\{\w+:?[-+?=]").match
_comment = re.compile(r"(?:^|\s)#(?!SBATCH\b)").search
_awk_place = re.compile(r"(?:\bprintf?|[{(,;=+*/!~<>&|-]|^)\s*\Z").search


class SubmitTime(NamedTuple):
    """A use of a value that the submitting shell fixes.

    `kind`: `slurm` (Slurm sets it in the job), `own` (the job's script assigns it), `local` (a command that looks at
    the machine), `status` (`$?`, `$!`), `field` (a field of awk), `once` (`$RANDOM` in an array: the same for all).
    `name`: the variable, or the substitution as written. `inside`: the submitting script is a job itself. `pattern`:
    what sbatch puts in its place in the name of a log. `edits`, `safe`: what repairs it.
    """

    kind: str
    name: str
    span: Span
    inside: bool
    pattern: str | None
    edits: tuple[Edit, ...]
    safe: bool


def find_submit_time(job: Job) -> list[SubmitTime]:
    """Such uses in a script that another one submits, each place once, in the order of the text."""
    submission, outer = job.submission, job.outer
    if submission is None or outer is None or submission.quoted:
        return []
    if submission.command is None and outer.phase is Phase.BATCH:
        return []  # a file that the job writes, and that nobody is seen to submit
    return list(_Finder(job, outer).found())


class _Finder:
    """One look at a submitted script."""

    def __init__(self, job: Job, outer: Job) -> None:
        self.job = job
        self.file = job.source.text
        assert job.submission is not None
        self.body = job.submission.span
        command = job.submission.command
        self.inside = outer.phase is not Phase.SUBMIT
        # one backslash is enough only where no other shell reads the text before
        self.plain = outer.submission is None and (command is None or not any(a.text for a in command.ancestors()))
        self.set_outside = {each.name for each in outer.assigned}
        state = command.state if command is not None else outer.invocations[-1].state if outer.invocations else None
        if state is not None:
            self.set_outside.update(name for name, each in state.variables.items() if each.alternatives)
        self.assigned = self._assigned()
        self.fields = self._awk_fields()

    def _assigned(self) -> dict[str, int]:
        """The variables that the job's script sets, and where it does so first."""
        found: dict[str, int] = {}
        for each in self.job.assigned:
            own = [piece.expansion for one in each.alternatives for f in one.fields or () for piece in f]
            if any(expansion is not None and expansion.name == each.name for expansion in own):
                found.setdefault(each.name, len(self.file))  # `X=$X`: the wrapper's value is handed on
            found.setdefault(each.name, each.span.end)
        for node in nodes(self.job.program):
            if isinstance(node, For):
                found.setdefault(node.name, self.job.text.offset(node.start))
        return found

    def _awk_fields(self) -> set[Span]:
        """`$1` and the like in awk's programs."""
        found: set[Span] = set()
        for each in self.job.invocations:
            if each.name not in AWK:
                continue
            for field in each.argv[1:]:
                for number, piece in enumerate(field):
                    expansion = piece.expansion
                    if expansion is None or not (expansion.name.isdigit() or expansion.name in ("NF", "NR")):
                        continue
                    if _awk_place(shown_text(field[:number])):
                        found.add(expansion.span)
        return found

    def found(self) -> Iterator[SubmitTime]:
        seen: set[Span] = set()
        at = 0
        string = self.job.text.string
        for piece in self.job.text.field:
            start = at
            at += 1 if piece.text is None else len(piece.text)
            expansion = piece.expansion
            if expansion is None or expansion.span in seen or expansion.phase is Phase.TASK:
                continue
            seen.add(expansion.span)
            line = string[string.rfind("\n", 0, start) + 1 : start]
            if _comment(line):
                continue
            judged = self._judge(expansion, line)
            if judged is not None:
                yield judged

    def _judge(self, expansion: Expansion, line: str) -> SubmitTime | None:
        kind, safe = self._kind(expansion, line)
        if kind is None:
            return None
        name = expansion.name
        directive = line.startswith("#SBATCH")
        pattern = PATTERNS.get(name) if directive and re.search(r"--(?:output|error|input)\b|\s-[oei]", line) else None
        if directive and (self.inside or kind != "slurm"):
            return None
        edits: tuple[Edit, ...] = ()
        if pattern is not None:
            if self.file[expansion.span.start] == "$":
                edits = (Edit(expansion.span, pattern),)
        elif not directive and self.plain and self._in_body(expansion.span):
            edits = self._escapes(expansion)
        safe = safe and not self.inside and self._is_direct(expansion.span)
        return SubmitTime(kind, name, expansion.span, self.inside, pattern, edits, safe)

    def _kind(self, expansion: Expansion, line: str) -> tuple[str | None, bool]:
        """How an expansion is wrong, if it is, and whether escaping it is certainly right."""
        name = expansion.name
        if expansion.span in self.fields:
            return "field", True
        if name in ("?", "!"):
            return ("status", True) if self._in_body(expansion.span) else (None, False)
        if name in ("RANDOM", "$"):
            # unless each job of the array reads it again
            return ("once", False) if self.job.request.array is not None else (None, False)
        if name.startswith(("$(", "<(")):
            within = [each for each in expansion.inputs if self._of_variable(each) is not None]
            if within:
                others = [each for each in expansion.inputs if each not in within]
                return self._of_variable(within[0]), not others
            first = expansion.commands[0] if expansion.commands else ()
            if first[:1] and first[0].rpartition("/")[2] in LOCAL and not re.search(r"\b(?:echo|printf)\b", line):
                return ("local", True) if self._in_body(expansion.span) and not self.inside else (None, False)
            return None, False
        return self._of_variable(expansion), True

    def _of_variable(self, expansion: Expansion) -> str | None:
        name = expansion.name
        if _default(self.file, expansion.span.start):
            return None
        if _slurm(name) and name not in INPUTS and name not in self.set_outside:
            return "slurm" if not self.inside or name in OWN else None
        first = self.assigned.get(name)
        if first is not None and name not in self.set_outside and self._in_body(expansion.span):
            return "own" if first <= expansion.span.start else None
        return None

    def _in_body(self, span: Span) -> bool:
        return self.body.start <= span.start and span.end <= self.body.end

    def _is_direct(self, span: Span) -> bool:
        """Whether it stands in the heredoc or in the option itself, and not in a variable with other uses."""
        submission = self.job.submission
        if submission is None or submission.command is None or not submission.wrapped:
            return True
        own = submission.command.span
        return own.start <= span.start and span.end <= own.end

    def _escapes(self, expansion: Expansion) -> tuple[Edit, ...]:
        """A backslash before each `$`, or around backquotes."""
        start, end = expansion.span
        written = self.file[start:end]
        if not expansion.name.startswith("$("):
            return (Edit(Span(start, start), "\\"),) if written.startswith("$") else ()
        if "\\" in written or "`" in written[1:-1] or "$((" in written or written.count("$(") > 1:
            return ()
        marks = [match.start() + start for match in re.finditer(r"\$(?=[\w({?!])|`", written)]
        late = {each.span.start for each in expansion.inputs if self._of_variable(each) is not None}
        return tuple(Edit(Span(at, at), "\\") for at in marks if at == start or at in late or self.file[at] == "`")
