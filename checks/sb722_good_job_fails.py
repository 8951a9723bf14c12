"""A successful job ends as FAILED: a command that finds nothing ends the script.

Some commands return 1 although nothing is wrong: `grep` that finds no line (`grep -c` prints 0 then), `((i++))` while i
is 0, `read -d ''` at the end of its input, a test that is false. Under `set -e` each of them ends the script, in an
assignment too (`n=$(grep -c ERROR log)`), and with `pipefail` also inside a pipeline; `… | head` then ends what still
writes to it, which counts as a failure. Without `set -e` the last command decides: `[ $status -ne 0 ] && exit $status`
at the end makes a job fail just when all went well. So does `killall solver` after a solver that has ended, as it finds
no process, and `kill $server; wait $server`, as `wait` returns the 143 of the process that was killed (an srun: 137),
which is a warning, as all work is done by then.

Nothing is reported for `env | grep SLURM`, which finds something in every job, for the reports of programs such as
`bcftools stats`, which have the same lines for any input, and for a last `[ -n "$SLURM_JOB_ID" ] && …`, which is true
in each job. Reported are commands after the job's work that only print something, and those that fail for certain. A
`grep -q`, or one whose output is stored, may be a check of the results.

## Fix

None: `|| true` after the command, `i=$((i + 1))`, `if [ … ]; then …; fi`, or `exit $status` at the end, with the status
of the work.

## References

bash(1), `set -e`, `let`, `read`, `wait`; grep(1), EXIT STATUS; killall(1); ComputationalRadiationPhysics/picongpu#198;
live runs of Slurm 22.05: a last `srun killall` without a process to kill is FAILED with exit code 1.
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.expansion.reads import assignments_by_name
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import AndOr, Simple, TestCommand
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB722", "good-job-fails", severity="error", fix="never", since="0.1.0", batch=True, whole_script=True,
    seen="bash(1)",
)  # fmt: skip

_GREPS = frozenset({"grep", "egrep", "fgrep", "rg", "zgrep"})
_QUIET = Regex(r"-[A-Za-z]*q[A-Za-z]*|--quiet|--silent")
_COUNTS = Regex(r"-[A-Za-z]*c[A-Za-z]*|--count")
_ENVIRONMENT = frozenset({"env", "printenv", "set", "export", "declare"})
_ALWAYS_SET = Regex(r"\^?(?:SLURM|SLURMD|PATH|HOME|USER|PWD)|^[a-z]$|^$")
# Programs whose report has the same lines whatever they look at, with the words for that.
_REPORTS = {
    "bcftools": ("stats",), "samtools": ("flagstat", "stats", "idxstats", "coverage", "version"),
    "sambamba": ("flagstat",), "seqkit": ("stats", "stat"), "scontrol": ("show",),
    "lscpu": (), "free": (), "df": (), "uname": (), "ulimit": (), "nvidia-smi": (), "rocm-smi": (), "seff": (),
}  # fmt: skip
_COUNTING = Regex(r"\(\(\s*(\w+)\+\+\s*\)\)")
_STATUS_TEST = Regex(r"\s*(?:\[\[?|test)\s+\"?\$\{?(\w+|\?)\}?\"?\s+(?:-ne|!=|-gt)\s+\"?0\"?")
# Whether a variable is set, or a rank is that of the batch shell.
_SET_TEST = Regex(r"\s*(?:\[\[?|test)\s+(?:-n\s+)?\"?\$\{?(\w+)(?::?[-+]\w*)?\}?\"?\s*\]{0,2}\s*")
_WITH_DEFAULT = Regex(r"\w+=\"?\$\{\w+:[-=][^}$`\"']+\}\"?")
_RANK_TEST = Regex(
    r"\s*(?:\[\[?|test)\s+\"?\$\{?(SLURM_(?:PROC|LOCAL|NODE)ID)\}?\"?\s+(?:-eq|==?)\s+[\"']?0[\"']?\s*\]{0,2}\s*"
)
# Words of `kill` with which it ends a process.
_ENDING = frozenset({"-9", "-15", "-TERM", "-KILL", "-SIGTERM", "-SIGKILL", "-s", "TERM", "KILL", "--"})
_STORING = Regex(r"(?:^|[;\n]|\bdo\b|\bthen\b)\s*\w+=\"?\$\(\s*$")


def check(job: Job) -> Iterator[Finding]:
    found = exit_statuses(job)
    programs = [command.index for command, weight in found.met if weight >= Weight.PROGRAM]
    work, begun = max(programs, default=-1), min(programs, default=-1)
    yield from _counters(job, found.arithmetic)
    for run in job.pipelines:
        if run.errexit and not run.tested and not run.context.handler:
            yield from _under_errexit(job, run, work, begun)
    if work >= 0:
        yield from _last_test(job)
        yield from _last_kill(job, found.met)


def _counters(job: Job, commands: list[Span]) -> Iterator[Finding]:
    """Findings on `((i++))` while i is 0."""
    for span in dict.fromkeys(commands):
        match = _COUNTING.fullmatch(job.source.slice(span))
        if match is None:
            continue
        name, before = match[1], job.source.text[: span.start]
        values = [each for each in job.assignments if each.name == name]
        zero = all(each.value == "0" for each in values)
        changed = Regex(rf"\b{name}(?:\+\+|--|\s*[-+*/%]=)|(?:let|\(\()\s*\"?{name}\s*=").search(before)
        if values and zero and not changed and values[0].span.start < span.start:
            yield Finding(
                span,
                f"`{match[0]}` returns 1 while {name} is 0, and `set -e` ends the job there; write "
                f"`{name}=$(({name} + 1))`",
                related=[(values[0].span, "set to 0")],
            )


def _under_errexit(job: Job, run: PipelineRun, work: int, begun: int) -> Iterator[Finding]:
    first = run.elements[0][0] if run.elements and run.elements[0] else None
    if first is None:
        return
    if first.name == "read" and len(run.elements) == 1:
        words = [text_of(field) for field in first.argv]
        if "-d" in words and words[words.index("-d") + 1 : words.index("-d") + 2] == [""] and not first.context.loops:
            happens = "`read -d ''` returns 1 at the end of its input, and `set -e` ends the job"
            yield Finding(first.span, f"{happens}; add `|| true`")
        return
    deciding = [each[0] for each in (run.elements if run.pipefail else run.elements[-1:]) if each]
    grep = next((each for each in deciding if each.name in _GREPS), None)
    if grep is None or any(_QUIET.fullmatch(word) for word in grep.words[1:]):
        return
    if first.context.shell.kind == "substitution" or first.context.captured:
        if not 0 <= begun < grep.index:
            return  # before any work, nothing to work on may well end the job
        stored = _STORING.search(job.source.text[max(run.span.start - 80, 0) : run.span.start])
        if stored and any(_COUNTS.fullmatch(word) for word in grep.words[1:]):
            finding = _finding(grep, "`grep -c` returns 1 when it counts 0")
            # the queue has at least the job that asks
            yield finding._replace(severity="info") if first.name == "squeue" else finding
        return
    before = deciding[deciding.index(grep) - 1] if grep in deciding[1:] else first
    if before.name in _ENVIRONMENT and any(_ALWAYS_SET.search(word) for word in grep.words[1:]):
        return  # `env | grep SLURM` finds something in every job
    if _is_report(before) or _reads_report(job, grep):
        return  # the owner knows the lines of it
    last = run.elements[-1][0] if run.elements[-1] else grep
    to_file = any(each.operator in (">", ">>", "&>", ">|") and each.fd != "2" for each in last.redirects)
    if 0 <= work < grep.index and grep.context.parent is None and not to_file:
        head = run.pipefail and last.name == "head"
        yield _finding(grep, "`grep` returns 1 if it finds no line" + (", or `head` ends it" if head else ""))


def _is_report(command: Invocation) -> bool:
    words = _REPORTS.get(command.name or "")
    return words is not None and (not words or command.words[1:2] != [] and command.words[1] in words)


def _reads_report(job: Job, grep: Invocation) -> bool:
    """Whether a file is searched that such a program has written."""
    written = _reports(job)
    return bool(written) and any(shown_text(field) in written for field in grep.argv[2:])


@once
def _reports(job: Job) -> frozenset[str]:
    redirects = (each for command in job.invocations if _is_report(command) for each in command.redirects)
    return frozenset(shown_text(each.target) for each in redirects if each.target and each.operator in (">", ">>"))


def _finding(grep: Invocation, reason: str) -> Finding:
    message = f"{reason}, and then `set -e` fails a job that did its work; add `|| true`"
    return Finding(grep.name_span, message, "warning")


def _last_test(job: Job) -> Iterator[Finding]:
    """The finding on a `[ … ] &&` at the end of the script."""
    statements = job.program.statements
    last = statements[-1] if statements else None
    if not isinstance(last, AndOr) or last.operator != "&&" or job.program.errors:
        return
    written = job.text.string[last.left.start : last.left.end]
    is_test = isinstance(last.left, Simple) and written.startswith(("[ ", "test "))
    if not is_test and not isinstance(last.left, TestCommand):
        return
    if job.phase is Phase.BATCH and _holds_in_jobs(written) or _is_never_empty(job, written):
        return
    span = job.span(last.start, last.end)
    tested = _STATUS_TEST.match(written)
    happens, severity = f"if `{written}` is false, the script ends with 1 and the job is FAILED", "warning"
    if tested and (tested[1] == "?" or Regex(rf"\b{tested[1]}=\"?\$(?:\?|\{{PIPEST)").search(job.text.string)):
        happens = f"`{written}` returns 1 if the status is 0, so the job is FAILED when everything went well"
        severity = "error"
    yield Finding(span, f"{happens}; write `if {written}; then …; fi`", severity)


def _holds_in_jobs(test: str) -> bool:
    """Whether a test is true in each job: that a variable is set which Slurm always sets, or is the first rank."""
    match = _SET_TEST.fullmatch(test) or _RANK_TEST.fullmatch(test)
    found = None if match is None else find(match[1])
    return found is not None and bool(found.batch) and found.when == "always"


def _is_never_empty(job: Job, test: str) -> bool:
    """Whether a test is true because the variable has a value that is not empty: `X="${X:-4}"`."""
    match = _SET_TEST.fullmatch(test)
    made = [] if match is None else assignments_by_name(job).get(match[1], [])
    return bool(made) and all(each.value or _WITH_DEFAULT.fullmatch(job.source.slice(each.span)) for each in made)


def _last_kill(job: Job, met: Sequence[tuple[Invocation, Weight]]) -> Iterator[Finding]:
    """The finding on a last command that has no process left to kill, or that waits for one that was killed."""
    statements = job.program.statements
    last = statements[-1] if statements else None
    if not isinstance(last, Simple) or job.program.errors:
        return
    span = job.span(last.start, last.end)
    for command in job.invocations:
        if not span.start <= command.span.start < span.end:
            continue
        if command.name in ("killall", "pkill") and not command.context.background:
            names = {text_of(field) for field in command.argv[1:]}
            earlier = [each for each, _ in met if each.index < command.index]
            ran = {name for one in earlier for each in (one, *one.descendants()) if (name := each.name or "") in names}
            if ran and not any(each.context.background for each in job.invocations[: command.index]):
                happens = f"`{min(ran)}` has ended by then, so `{command.name}` finds no process and returns 1"
                yield Finding(command.name_span, f"{happens}: a successful job is FAILED; remove it, or add `|| true`")
                return
        elif command.name == "wait" and len(command.argv) == 2 and command.context.parent is None:
            killed = _killed_before(job, command)
            if killed is not None:
                happens = "`wait` returns the status of a process that was killed, and a successful job is FAILED"
                related = [(killed.span, "killed here")]
                yield Finding(command.span, f"{happens}; add `|| true`", "warning", related)
                return


def _processes(field: Pieces) -> set[object]:
    """What tells apart the variables that hold the ids of processes: where a `$!` is read, or the name."""
    return {each.span if each.name == "!" else each.name for each in expansions(field)}


def _killed_before(job: Job, wait: Invocation) -> Invocation | None:
    """The `kill` after which a `wait` for the same process comes, with no other work between them."""
    for command in reversed(job.invocations[: wait.index]):
        if command.name == "kill" and command.context.shell is wait.context.shell and not command.context.conditional:
            asks = {text_of(field) for field in command.argv[1:-1]}
            same = _processes(wait.argv[1]) & _processes(command.argv[-1])
            return command if same and asks <= _ENDING and not command.context.handler else None
        if weight(job, command) >= Weight.PROGRAM:
            return None
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -euo pipefail
        srun ./train > train.log
        «grep» "iteration" train.log | tail -n 25
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -e
        i=0
        for input in *.inp; do
            srun ./solver "$input"
            «((i++))»
        done
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./solver
        status=$?
        cp -r out results
        «[ $status -ne 0 ] && echo "solver failed"»
        """,
        title="a test at the end",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./train > log\ngrep iteration log || true\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./solver > log\ngrep -q converged log\n", title="a check of the results"
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./train > log\ngrep loss log | tail -n 3\n", title="without pipefail"),
]
