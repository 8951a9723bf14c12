"""Slurm refuses a job id: it is the whole output of sbatch, and not the number alone.

sbatch answers with a sentence, `Submitted batch job 4711`. `JOB=$(sbatch a.sh)` holds all four words, and
`--dependency=afterok:$JOB` then reads `Submitted` as the job, and `batch` as the script. The second job is never
submitted; scancel and squeue refuse the sentence as well.

## Fix

Adds `--parsable`, with which sbatch prints only the id. Unsafe: where the sentence is also shown to users, they would
see only the id.

## References

sbatch(1), "--parsable"; live runs of Slurm 22.05: `Unable to open file batch`, `Job dependency problem`, `Invalid job
id Submitted`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Pieces, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB714", "job-id-not-parsed", severity="error", fix="always", since="0.1.0",
    when=Commands("sbatch"), seen="live runs of Slurm 22.05",
)  # fmt: skip

_DEPENDENCY = Regex(r"(?:--dependency|-d)(?:=.*)?|(?:after\w*|singleton)[:,?].*")
_CHANGES_OUTPUT = Regex(r"-\w*[Q]\w*|--quiet|--test-only|--par\w*|--wrap|--help|--version|-V|-h")
_TAKING_IDS = frozenset({"scancel", "squeue", "sacct", "scontrol", "seff", "sattach", "sstat"})


def check(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        if command.name not in _TAKING_IDS and command.name not in ("sbatch", "srun"):
            continue
        for at, field in enumerate(command.argv):
            output = _sentence(field)
            if output is None or not _is_job_id(command, at):
                continue
            source = _submission(job, output)
            if source is None:
                continue
            at_end = source.name_span.end
            exact = job.source.slice(source.name_span) == "sbatch"
            fix = Fix("add --parsable", [insert(at_end, " --parsable")], safe=False) if exact else None
            yield Finding(
                source.name_span,
                f"line {job.line(command.span.start)} uses all of `Submitted batch job NUMBER` as the job id, which "
                "Slurm refuses; write `sbatch --parsable`",
                related=[(command.span, "uses it as a job id")],
                fix=fix,
            )


def _sentence(field: Pieces) -> Expansion | None:
    """The command substitution of an sbatch in a word, unchanged; None where there is none."""
    for piece in field:
        if piece.text is None and piece.expansion is not None and piece.expansion.name.startswith("$(sbatch "):
            return piece.expansion
    return None


def _is_job_id(command: Invocation, at: int) -> bool:
    word = shown_text(command.argv[at])
    before = text_of(command.argv[at - 1]) or ""
    if command.name in ("sbatch", "srun"):
        return _DEPENDENCY.match(word) is not None or before in ("--dependency", "-d")
    return at > 0


@once
def _submissions(job: Job) -> list[Invocation]:
    """All sbatch commands, sorted by their places."""
    return sorted([each for each in job.invocations if each.name == "sbatch"], key=lambda command: command.span)


def _submission(job: Job, output: Expansion) -> Invocation | None:
    """The sbatch that prints the sentence; None where something else is printed, or the output is cut."""
    submissions = _submissions(job)
    first = bisect_left(submissions, output.span.start, key=lambda command: command.span.start)
    last = bisect_right(submissions, output.span.end, key=lambda command: command.span.start)
    found = [command for command in submissions[first:last] if output.span.contains(command.span)]
    if len(found) != 1 or "|" in output.name or ";" in output.name or len(output.commands) != 1:
        return None
    for field in found[0].argv[1:]:
        word = shown_text(field)
        if text_of(field) is None and not word.strip(UNKNOWN_CHARACTER):
            return None
        if not word.startswith("-"):
            break
        if word.startswith("--par") or _CHANGES_OUTPUT.fullmatch(word) and not word.startswith("--wrap"):
            return None
    return found[0]


CASES = [
    Bad(
        """\
        #!/bin/bash
        FIRST=$(«sbatch» prepare.sh)
        sbatch --dependency=afterok:$FIRST train.sh
        """,
        unsafe_fixed="""\
        #!/bin/bash
        FIRST=$(sbatch --parsable prepare.sh)
        sbatch --dependency=afterok:$FIRST train.sh
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        job=$(«sbatch» --time=10 prepare.sh)
        squeue -j "$job"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        job=$(sbatch --parsable --time=10 prepare.sh)
        squeue -j "$job"
        """,
    ),
    Good("#!/bin/bash\nFIRST=$(sbatch --parsable a.sh)\nsbatch --dependency=afterok:$FIRST b.sh\n"),
    Good("#!/bin/bash\nFIRST=$(sbatch a.sh | awk '{print $4}')\nsbatch -d afterok:$FIRST b.sh\n", title="cut out"),
    Good('#!/bin/bash\nFIRST=$(sbatch a.sh)\nsbatch -d afterok:${FIRST##* } b.sh\n', title="its last word"),
    Good('#!/bin/bash\nFIRST=$(sbatch a.sh)\necho "$FIRST"\n', title="only shown"),
]
