"""The job loses its output: it opens its own log again, which empties it.

In a batch script /dev/stdout and /dev/stderr are the files of `--output` and `--error`. `> /dev/stderr` and
`2> /dev/stderr` open the file again, as `>` does with every file: what the job has written so far is gone. So does
`tee /dev/stderr`. On a terminal, and in a pipe, nothing is lost, so a script that was tested there looks right.

What is written through the new opening then starts at the beginning of the file again, over other lines.

An error where a program has run before, whose output is lost; otherwise a warning, and advice where only messages of
the script are lost. Nothing is reported where standard output is not the log: in a pipeline, in `$(…)`, after
`exec > FILE`, in a step.

## Fix

Writes `>>` for `>`, and `tee -a` for `tee`: the log goes on. `>&2` does the same for messages.

## References

open(2), O_TRUNC; proc(5), /proc/PID/fd; bash(1), "REDIRECTION"; live runs of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.work import Weight, has_work, weight
from sbatchlint.bash.trace import Invocation, Redirection
from sbatchlint.bash.values import Phase, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, joined_alike, replace
from sbatchlint.job.launches import container_of
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB728", "log-emptied", severity="warning", fix="always", since="0.1.0", batch=True,
    seen="live runs of Slurm 22.05", unseen="The log begins in the middle of the job.",
)  # fmt: skip

_LOG = Regex(r"/dev/(?:std(?:out|err)|fd/[12])|/proc/self/fd/[12]")
_OUTPUT = Regex(r"/dev/stdout|.*/1")
_EMPTYING = frozenset({">", ">|", "&>", ">&"})
# A redirect of several commands at once, which may be that of the command.
_OF_GROUP = Regex(r"(?m)(?:\}|\)|\bdone|\bfi|\besac)[ \t]*(?:\d?>|&>|\|)")


def check(job: Job) -> Iterator[Finding]:
    return joined_alike(_all(job), "the same")


def _all(job: Job) -> Iterator[Finding]:
    if not job.is_shell:
        return
    for command in job.invocations:
        context = command.context
        if context.phase is not Phase.BATCH or context.captured or container_of(command) is not None:
            continue
        if command.name == "exec" and command.redirects and len(command.argv) == 1:
            return
        if command.alternatives > 1 or context.background is not None:
            continue
        for redirect in command.redirects:
            target = text_of(redirect.target) if redirect.target else None
            if target is not None and _empties(job, command, redirect, target):
                written = job.source.slice(redirect.span)
                at = redirect.span.start + written.index(">")
                size = 2 if written[at - redirect.span.start + 1 :][:1] in "|&" else 1
                fix = Fix("append to the log", [replace(Span(at, at + size), ">>")], safe=True)
                yield _finding(job, command, redirect.span, f"`{written}`", "write `>>`", fix)
        if command.name == "tee" and not any(word in ("-a", "--append") for word in command.words[1:]):
            for field in command.argv[1:]:
                target = text_of(field) or ""
                if _LOG.fullmatch(target) and _is_log(job, command, target):
                    fix = Fix("append to the log", [insert(command.name_span.end, " -a")], safe=True)
                    yield _finding(job, command, span_of(field), f"`tee {target}`", "write `tee -a`", fix)
                    break


def _finding(job: Job, command: Invocation, place: Span, happens: str, advice: str, fix: Fix) -> Finding:
    lost = has_work(job, 0, command.index)
    message = f"{happens} empties the job's log, so what was written before is lost; {advice}"
    beside = [each for run in runs_of(job, command) for element in run.elements for each in element]
    told = all(weight(job, each) < Weight.PROGRAM for each in (command, *beside))
    if not lost and not any(has_trait(each.name, "tells") for each in job.invocations[: command.index]):
        message = f"{happens} writes to the job's log from its beginning, over lines that are there; {advice}"
        told = False
    return Finding(place, message, "info" if told and not lost else None, fix=fix)  # only the script's own messages


def _empties(job: Job, command: Invocation, redirect: Redirection, target: str) -> bool:
    """Whether a redirect opens the log, and not what is in its place."""
    if redirect.operator not in _EMPTYING or not _LOG.fullmatch(target) or ">" not in job.source.slice(redirect.span):
        return False
    number = "1" if _OUTPUT.fullmatch(target) else "2"
    before = command.redirects[: command.redirects.index(redirect)]
    moved = any(each.operator.startswith("&") or (each.fd or "1") == number for each in before if ">" in each.operator)
    return not moved and _is_log(job, command, target)


def _is_log(job: Job, command: Invocation, target: str) -> bool:
    """Whether /dev/stdout or /dev/stderr is the job's log for a command."""
    if _OF_GROUP.search(job.source.text) is not None or command.context.parent is not None:
        return False
    is_last = any(command in run.elements[-1] for run in runs_of(job, command))
    piped = command.piped_to or command.context.shell.kind == "pipeline" and not is_last
    return not (piped and _OUTPUT.fullmatch(target))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python prepare.py
        python train.py «2> /dev/stderr»
        """,
        fixed={"train.py 2>": "train.py 2>>"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./solver
        echo "solver has ended" | tee «/dev/stderr»
        """,
        fixed={"tee /dev/stderr": "tee -a /dev/stderr"},
        title="by tee",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        echo "job starts" «> /dev/stdout»
        srun ./solver
        """,
        fixed={'starts" >': 'starts" >>'},
        title="before the work",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\npython train.py «2> /dev/stderr»\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=1\npython train.py 2>> /dev/stderr\n",
        title="the first output of the job",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nsrun ./solver\necho done >&2\nls >> /dev/stdout\n"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun ./solver\nls > /dev/stdout | tee list\nn=$(ls > /dev/stdout)\n",
        title="a pipe",
    ),
]
