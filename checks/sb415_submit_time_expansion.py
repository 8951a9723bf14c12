"""The job gets values of the submitting shell: it expands variables and commands meant for the job.

`sbatch <<EOF` without quotes around EOF, and `sbatch --wrap="…"`, are expanded before sbatch sees them, on the login
node. `$SLURM_JOB_ID` and all other variables of the job are empty there; a variable that the job's script assigns
itself still has its value from outside, usually none; `$(hostname)` is the login node; `$?` and awk's `$1` belong to
the wrapper. The job runs without an error, in a folder called `run-`, or on 0 steps.

Variables that the wrapper sets are meant to be expanded there, and are not reported. Where the wrapper is a job itself,
`$SLURM_JOB_ID` is that job's number, which may be meant: advice. A warning where only a line of a list lacks the
value. Advice where only a message or a label of the job lacks it, also where one `echo` line is to print when the job
starts or ends and `$(date)` prints when it was submitted (a warning where the script prints two, which are equal);
where nothing reads the variable that gets it, and where the job leaves that folder at once for one with a whole path.
All places of a variable that the job sets are one finding, and all such times.

## Fix

A backslash before the `$`, so that the job's shell expands it; in the name of a log `%j`, `%A` or `%a`. Safe: on a
login node the variable has no value. Unsafe where the wrapper is a job itself.

## References

sbatch(1), "--wrap" and the example with a heredoc; seen with Slurm 22.05 and 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.labels import is_in_label
from sbatchlint.analysis.expansion.program_variables import is_for_programs
from sbatchlint.analysis.expansion.reach import is_for_absent_program
from sbatchlint.analysis.expansion.reads import enclosing_assignment, read_names
from sbatchlint.analysis.expansion.varying import of_task
from sbatchlint.bash.syntax.tree import For
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Submission
from sbatchlint.bash.values import Expansion, Phase, known_prefix, shown_text
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, joined, replace
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Submitted

CARD = Card("SB415", "submit-time-expansion", severity="error", fix="sometimes", since="0.1.0", when=Submitted())

# Input variables of Slurm's commands, which users and sites set.
_INPUT_NAMES = (
    "SLURM_ACCOUNT SLURM_CLUSTERS SLURM_CONF SLURM_CONF_SERVER SLURM_EXCLUSIVE SLURM_HINT SLURM_JWT SLURM_PARTITION"
    " SLURM_QOS SLURM_RESERVATION SLURM_ROOT SLURM_HOME SLURM_TIME_FORMAT SLURM_TIMELIMIT SLURM_VERSION"
)
_INPUTS = frozenset(_INPUT_NAMES.split())
# Variables that differ between a job and the one that submits it.
_OWN_NAMES = (
    "SLURM_JOB_ID SLURM_JOBID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_PROCID SLURM_LOCALID SLURM_NODEID"
    " SLURM_JOB_NODELIST SLURM_NODELIST SLURMD_NODENAME SLURM_STEP_ID SLURM_STEPID"
)
_OWN = frozenset(_OWN_NAMES.split())
# Commands whose output differs between a node of the job and the login node.
_LOCAL = frozenset({"hostname", "nproc", "nvidia-smi", "rocm-smi", "srun", "lscpu", "nvcc"})
# The pattern that sbatch replaces in a log name, by the variable of the same value.
_PATTERNS = {"SLURM_JOB_ID": "%j", "SLURM_JOBID": "%j", "SLURM_ARRAY_JOB_ID": "%A", "SLURM_ARRAY_TASK_ID": "%a"}
_AWK = frozenset({"awk", "gawk", "mawk", "nawk"})
_NAME_OF_SLURM = Regex(r"SLURMD?_[A-Z_]+")
_DEFAULT = Regex(r"\$\{\w+:?[-+?=]")
_COMMENT = Regex(r"(?:^|\s)#(?!SBATCH\b)")
# A line that prints when something in the job happens.
_PRINTS = Regex(r"\s*(?:echo|printf|logger|seff|sacct|sstat|squeue|scontrol\s+show\s+job)\b")
# What makes more of it than a message: another program gets it, or a file has nothing else.
_WRITES = Regex(r"\||(?<![>0-9&])>(?![>&])")
# A file to which a line is added, and what begins and ends the commands of a substitution.
_ADDED_TO = Regex(r">>[ \t]*([^\s;&|<>()]+)")
_MARKS = Regex(r"\$\(|`|[()]")
_MOMENT = Regex(
    r"(?i)^(?!.*(?:submi|generat|creat)).*(?:\b(?:start|begin|began|end|finish|done|complet|stop|now)|running)"
)
_LOG = Regex(r"--(?:output|error|input)\b|\s-[oei]")
_AWK_PLACE = Regex(r"(?:\bprintf?|[{(,;=+*/!~<>&|-]|^)\s*\Z")

HAPPENS = {
    "slurm": "the shell that submits the job expands {}, which Slurm has not set there",
    "own": "the shell that submits the job expands {} before the script assigns it",
    "local": "{} runs on the login node, when the job is submitted",
    "status": "the shell that submits the job expands {}, so it says nothing of the job's commands",
    "field": "the shell that submits the job expands {}, so awk never gets it",
    "time": "{} runs at submission, so this prints that time, not the time when the job runs",
    "once": "{} is expanded once, when the array is submitted, and is the same in all its elements",
}


def check(job: Job) -> Iterator[Finding]:
    by_name: dict[str, list[Finding]] = {}
    for name, finding in _all(job):
        by_name.setdefault(name, []).append(finding)
    for name, found in by_name.items():
        one = joined(found, "also here")
        if name == "time" and len(found) > 1:
            one = one._replace(severity="warning")  # a start and an end that are equal tell a duration that is none
        yield one if all(each.fix for each in found) else one._replace(fix=None)


def _all(job: Job) -> Iterator[tuple[str, Finding]]:
    """The findings, each with its variable of the job, or a name of its own."""
    submission, outer = job.submission, job.outer
    if submission is None or outer is None or submission.quoted:
        return
    if submission.command is None and outer.phase is Phase.BATCH:
        return  # the job writes this file, but no command seen here submits it
    inside = outer.phase is not Phase.SUBMIT  # the submitting script is a job itself
    for expansion, line, rest in _expansions(job):
        kind, cause, certain = _fault(job, expansion, line)
        directive = line.startswith("#SBATCH")
        if kind is None or directive and (inside or kind != "slurm"):
            continue
        happens = HAPPENS[kind].format(_shown(cause))
        is_message = _is_message(job, line, rest)
        # what is wrong misleads, and a list lacks a line; of a message that lacks a word nothing depends
        told = is_message and kind in ("slurm", "own") and ">>" not in line + rest
        told = told or is_in_label(job, expansion.span, empty=True) or kind == "time"
        severity = "info" if told else "warning" if inside or is_message or kind == "once" else "error"
        if inside and kind == "slurm":
            happens = f"the job that submits this one expands {_shown(cause)}, so it is that of the first job"
            in_array = outer.request.has_option("array") or not cause.name.startswith("SLURM_ARRAY")
            if not of_task(cause) and in_array:
                severity = "info"  # a job may well pass its own id to the next
        set_here = enclosing_assignment(job, expansion.span)
        if set_here is not None and is_for_absent_program(job, set_here.name):
            severity = "info" if severity == "warning" else "warning"
        if set_here is not None and not is_for_programs(set_here.name) and set_here.name not in read_names(job):
            severity = "info" if not set_here.exported else severity  # nothing reads what is made of it
        if _is_left_again(job, expansion):
            severity = "info"
        edits: list[Edit] = []
        pattern = _PATTERNS.get(expansion.name) if directive and _LOG.search(line) else None
        if pattern is not None:
            if job.source.text[expansion.span.start] == "$":
                edits = [replace(expansion.span, pattern)]
        elif not directive and _is_read_once(submission, outer) and submission.span.contains(expansion.span):
            edits = _escapes(job, expansion)
        advice = "escape each `$`, or quote the text"
        if pattern or len(edits) == 1:
            advice = f"write `{pattern}`" if pattern else f"write `\\{_shown(expansion)}`"
        safe = certain and not inside and _is_direct(submission, expansion.span)
        fix = Fix("let the job expand it", edits, safe) if edits else None
        name = cause.name if kind == "own" else kind if kind == "time" else f"{kind} at {expansion.span.start}"
        yield name, Finding(expansion.span, f"{happens}; {advice}", severity, fix=fix)


def _is_message(job: Job, line: str, rest: str) -> bool:
    """Whether a line of the job only prints a place, with `line` before and `rest` after it, or adds it to a list."""
    if _PRINTS.match(line) is None or _WRITES.search(line + rest) is not None or _is_substituted(line):
        return False
    added = _ADDED_TO.search(line + rest)
    return added is None or added[1] not in _files_read(job)


def _is_substituted(before: str) -> bool:
    """Whether what follows on a line is in a command substitution: `echo $(ls `."""
    open_marks: list[str] = []
    for mark in _MARKS.finditer(before):
        if mark[0] == "`" and open_marks[-1:] == ["`"] or mark[0] == ")" and open_marks:
            open_marks.pop()
        elif mark[0] != ")":
            open_marks.append(mark[0])
    return not {"$(", "`"}.isdisjoint(open_marks)


@once
def _files_read(job: Job) -> frozenset[str]:
    """The words of the job's script, without those that only get another line."""
    return frozenset(_ADDED_TO.sub("", job.text.string).split())


def _is_left_again(job: Job, expansion: Expansion) -> bool:
    """Whether the place is the folder of a `cd`, and the job enters a folder by its whole path before it uses one."""
    changes = (each for each in commands_named(job, "cd") if len(each.argv) <= 2)
    entered = next((each for each in changes if each.span.contains(expansion.span)), None)
    if entered is None or entered.state.option("errexit") is not False or entered.context.conditional:
        return False
    for command in job.invocations[entered.index + 1 :]:
        if command.name == "cd" and len(command.argv) == 2 and not command.guards and not command.context.conditional:
            return known_prefix(command.argv[1]).startswith("/")
        if command.redirects or command.name not in ("module", "ml", "echo", "date", "hostname", "export", "ulimit"):
            return False
    return False


def _shown(expansion: Expansion) -> str:
    return expansion.name if expansion.name.startswith(("$(", "<(")) else f"${expansion.name}"


def _expansions(job: Job) -> Iterator[tuple[Expansion, str, str]]:
    """The expansions by the submitting shell, each place once, with the text of the line before and after them."""
    seen: set[Span] = set()
    at = 0
    string = job.text.string
    for piece in job.text.field:
        line = string[string.rfind("\n", 0, at) + 1 : at]
        at += 1 if piece.text is None else len(piece.text)
        expansion = piece.expansion
        if expansion is None or expansion.span in seen or expansion.phase is Phase.TASK:
            continue
        seen.add(expansion.span)
        if not _COMMENT.search(line):
            end = string.find("\n", at)
            yield expansion, line, string[at : len(string) if end < 0 else end]


def _fault(job: Job, expansion: Expansion, line: str) -> tuple[str | None, Expansion, bool]:
    """The fault of an expansion (a key of `HAPPENS`, or None), what causes it, and whether escaping is surely right."""
    assert job.submission is not None
    name, in_body = expansion.name, job.submission.span.contains(expansion.span)
    if expansion.span in _awk_fields(job):
        return "field", expansion, True
    if name in ("?", "!"):
        return "status" if in_body else None, expansion, True
    if name in ("RANDOM", "$"):
        # without an array there is only one job to read it
        return "once" if job.request.has_option("array") else None, expansion, False
    if not name.startswith(("$(", "<(")):
        return _fault_of_variable(job, expansion), expansion, True
    within = [each for each in expansion.inputs if _fault_of_variable(job, each) is not None]
    if within:
        return _fault_of_variable(job, within[0]), within[0], len(within) == len(expansion.inputs)
    first = expansion.commands[0] if expansion.commands else ()
    start, end = expansion.span
    before, after = job.source.line_of(start), job.source.line_of(end)
    told = job.source.text[before.start : start] + job.source.text[end : after.end]
    if in_body and first[:1] == ("date",) and _PRINTS.match(line) and _MOMENT.search(told):
        return "time", expansion, True
    local = first[:1] and first[0].rpartition("/")[2] in _LOCAL and not re.search(r"\b(?:echo|printf)\b", line)
    inside = job.outer is not None and job.outer.phase is not Phase.SUBMIT
    return "local" if local and in_body and not inside else None, expansion, True


def _fault_of_variable(job: Job, expansion: Expansion) -> str | None:
    submission, outer, name = job.submission, job.outer, expansion.name
    assert submission is not None and outer is not None
    if _DEFAULT.match(job.source.text, expansion.span.start) or name in _set_outside(job):
        return None
    if _NAME_OF_SLURM.fullmatch(name) and name not in _INPUTS:
        return "slurm" if outer.phase is Phase.SUBMIT or name in _OWN else None
    first = _first_assigned(job).get(name)
    own = first is not None and first <= expansion.span.start and submission.span.contains(expansion.span)
    return "own" if own else None


@once
def _set_outside(job: Job) -> set[str]:
    """The variables that the submitting script sets before it submits the job."""
    outer, submission = job.outer, job.submission
    if outer is None or submission is None:
        return set()
    last = submission.command or (outer.invocations[-1] if outer.invocations else None)
    variables = {} if last is None else last.state.variables
    return {each.name for each in outer.assignments} | {name for name, each in variables.items() if each.alternatives}


@once
def _first_assigned(job: Job) -> dict[str, int]:
    """The variables that the job's script sets, each with the end of its first assignment."""
    found: dict[str, int] = {}
    for assignment in job.assignments:
        own = [piece.expansion for one in assignment.alternatives for f in one.fields or () for piece in f]
        if any(expansion is not None and expansion.name == assignment.name for expansion in own):
            found.setdefault(assignment.name, len(job.source.text))  # `X=$X` passes the wrapper's value on
        found.setdefault(assignment.name, assignment.span.end)
    for node in nodes_of(job.program, For):
        found.setdefault(node.name, job.text.offset(node.start))
    return found


@once
def _awk_fields(job: Job) -> set[Span]:
    """`$1` and the like in awk's programs."""
    found: set[Span] = set()
    submission = job.submission
    for field in [field for each in job.invocations if each.name in _AWK for field in each.argv[1:]]:
        for number, piece in enumerate(field):
            expansion = piece.expansion
            if expansion is not None and (is_number(expansion.name) or expansion.name in ("NF", "NR")):
                # an operand alone: the value of a variable that the submitting script sets
                operand = len(field) == 1 and submission is not None and not submission.span.contains(expansion.span)
                if not operand and _AWK_PLACE.search(shown_text(field[:number])):
                    found.add(expansion.span)
    return found


def _is_read_once(submission: Submission, outer: Job) -> bool:
    """Whether no other shell reads the string before, so that one backslash is enough."""
    command = submission.command
    return outer.submission is None and (command is None or not any(each.text for each in command.ancestors()))


def _is_direct(submission: Submission, span: Span) -> bool:
    """Whether a place is in the heredoc or the option itself, and not in a variable with other uses."""
    return submission.command is None or not submission.wrapped or submission.command.span.contains(span)


def _escapes(job: Job, expansion: Expansion) -> list[Edit]:
    """A backslash before each `$`, or around backquotes."""
    start = expansion.span.start
    written = job.source.slice(expansion.span)
    if not expansion.name.startswith("$("):
        return [insert(start, "\\")] if written.startswith("$") else []
    if "\\" in written or "`" in written[1:-1] or "$((" in written or "$[" in written or written.count("$(") > 1:
        return []
    marks = [match.start() + start for match in re.finditer(r"\$(?=[\w({?!])|`", written)]
    late = {each.span.start for each in expansion.inputs if _fault_of_variable(job, each) is not None}
    return [insert(at, "\\") for at in marks if at == start or at in late or job.source.text[at] == "`"]


CASES = [
    Bad(
        """\
        #!/bin/bash
        for seed in 1 2 3; do
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=seed-$seed
        #SBATCH --output=log-«$SLURM_JOB_ID».txt
        OUT=/data/run-$seed-«$SLURM_JOB_ID»
        mkdir -p «$OUT»
        srun python train.py --seed $seed --out \\$OUT
        EOF
        done
        """,
        fixed={
            "--output=log-$SLURM_JOB_ID.txt": "--output=log-%j.txt",
            "OUT=/data/run-$seed-$SLURM_JOB_ID": "OUT=/data/run-$seed-\\$SLURM_JOB_ID",
            "-p $OUT": "-p \\$OUT",
        },
        title="a heredoc without quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        sbatch --array=0-9 --wrap="srun python train.py --part «$SLURM_ARRAY_TASK_ID» --data $1"
        """,
        fixed={"$SLURM_ARRAY_TASK_ID": "\\$SLURM_ARRAY_TASK_ID"},
        title="--wrap in double quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER_ADDR=«$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)»
        srun python train.py
        if [ «$?» -ne 0 ]; then exit 1; fi
        EOF
        sbatch job.sh
        """,
        fixed="""\
        #!/bin/bash
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER_ADDR=\\$(scontrol show hostnames \\$SLURM_JOB_NODELIST | head -n1)
        srun python train.py
        if [ \\$? -ne 0 ]; then exit 1; fi
        EOF
        sbatch job.sh
        """,
        title="in a file that is submitted",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        sbatch --dependency=afterok:$SLURM_JOB_ID --wrap="python collect.py --job «$SLURM_JOB_ID»"
        """,
        unsafe_fixed={'$SLURM_JOB_ID"': '\\$SLURM_JOB_ID"'},
        severity="info",
        title="from within another job",
    ),
    Good(
        """\
        #!/bin/bash
        NAME=first
        sbatch <<'EOF'
        #!/bin/bash
        #SBATCH --nodes=2
        echo "job $SLURM_JOB_ID on $(hostname)"
        EOF
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=$NAME
        # $SLURM_JOB_ID is not known here
        srun python train.py --name $NAME --data $PWD/data --job \\$SLURM_JOB_ID --date $(date +%F)
        EOF
        sbatch --wrap='srun python train.py --part $SLURM_ARRAY_TASK_ID'
        """,
        title="a quoted delimiter, the wrapper's own variables, single quotes",
    ),
]
