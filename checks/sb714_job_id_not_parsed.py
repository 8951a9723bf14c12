"""Slurm refuses a job ID: it is the whole output of sbatch, or another word of it, not the number.

sbatch answers with a sentence, `Submitted batch job 4711`. `JOB=$(sbatch a.sh)` holds all four words, and
`--dependency=afterok:$JOB` then reads `Submitted` as the job, and `batch` as the script. The second job is never
submitted; scancel and squeue refuse the sentence as well. The number is the fourth word: `awk '{print $3}'` gives
`job`, and `cut -f4` without `-d ' '` all of it, as it looks for tabs. After `--parsable` there is no fourth word.

## Fix

Adds `--parsable`, with which sbatch prints only the id. Unsafe: where the sentence is also shown to users, they would
see only the id. None for a filter.

## References

sbatch(1), "--parsable"; live runs of Slurm 22.05: `Unable to open file batch`, `Job dependency problem`, `Invalid job
id Submitted`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Pieces, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.once import once
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB714", "job-id-not-parsed", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("sbatch"), seen="live runs of Slurm 22.05",
)  # fmt: skip

_DEPENDENCY = Regex(r"(?:--dependency|-d)(?:=.*)?|(?:after\w*|singleton)[:,?].*")
_CHANGES_OUTPUT = Regex(r"-\w*[Q]\w*|--quiet|--test-only|--par\w*|--wrap|--help|--version|-V|-h")
_CHANGES_WORDS = Regex(r"-\w*[Q]\w*|--quiet|--test-only|--help|--version|-V|-h|-M.*|--clusters?.*|-\w*W\w*")
_SENTENCE = ("Submitted", "batch", "job", "NUMBER")
_AWK = Regex(r"[gm]?awk[ \t]+'[ \t]*\{[ \t]*print[ \t]*\(?\$([1-9])\)?[ \t]*;?[ \t]*\}[ \t]*'")
_CUT = Regex(
    r"cut(?:[ \t]+(?:-d[ \t]*|--delimiter[= ])(?P<before>' '|\" \"|\\ |\S+))?"
    r"[ \t]+(?:-f[ \t]*|--fields[= ])(?P<field>[1-9])"
    r"(?:[ \t]+(?:-d[ \t]*|--delimiter[= ])(?P<after>' '|\" \"|\\ |\S+))?"
)
_TAKING_IDS = frozenset({"scancel", "squeue", "sacct", "scontrol", "seff", "sattach", "sstat"})


def check(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        if command.name not in _TAKING_IDS and command.name not in ("sbatch", "srun"):
            continue
        for at, field in enumerate(command.argv):
            output = _sentence(field)
            if output is None or not _is_job_id(command, at):
                continue
            cut = _cut(output.name)
            if cut is not None:
                yield from _of_other_word(job, command, output, cut)
                continue
            source = _submission(job, output)
            if source is None:
                continue
            at_end = source.name_span.end
            exact = job.source.slice(source.name_span) == "sbatch"
            fix = Fix("add --parsable", [insert(at_end, " --parsable")], safe=False) if exact else None
            yield Finding(
                source.name_span,
                f"line {job.line(command.span.start)} uses all of `Submitted batch job NUMBER` as the job ID, which "
                "Slurm refuses; write `sbatch --parsable`",
                related=[(command.span, "uses it as a job ID")],
                fix=fix,
            )


def _sentence(field: Pieces) -> Expansion | None:
    """The command substitution of an sbatch in a word, unchanged; None where there is none."""
    for piece in field:
        if piece.text is None and piece.expansion is not None and piece.expansion.name.startswith("$(sbatch "):
            return piece.expansion
    return None


def _cut(substitution: str) -> tuple[str, int] | None:
    """The filter after an sbatch in a substitution, and which word of the sentence it prints, 0 for all of it."""
    _, bar, last = map(str.strip, substitution.removesuffix(")").partition("|"))
    awk = _AWK.fullmatch(last)
    if awk is not None:
        return last, parse_integer(awk[1])
    cut = _CUT.fullmatch(last)
    if not bar or cut is None:
        return None
    delimiter = cut["before"] or cut["after"]
    if delimiter is None:
        return last, 0
    return (last, parse_integer(cut["field"])) if delimiter.strip("\"'\\") == " " else None


def _of_other_word(job: Job, command: Invocation, output: Expansion, cut: tuple[str, int]) -> Iterator[Finding]:
    """The finding on an id that a filter takes from the wrong place in what sbatch prints."""
    words = _written_submission(output.name)
    if words is None:
        return
    parsable = any(each.startswith("--pars") for each in words)
    filter_, number = cut
    if number == (1 if parsable else 4) or not number and parsable:
        return
    if parsable:
        gives, advice = "prints nothing: `sbatch --parsable` prints only the number", "remove the filter"
    else:
        what = "nothing" if number else "the whole line"
        if 0 < number <= len(_SENTENCE):
            what = f"`{_SENTENCE[number - 1]}`"
        gives, advice = f"takes {what} from `Submitted batch job NUMBER`", "use `sbatch --parsable` without it"
    at = job.source.text.find(filter_, output.span.start, output.span.end)
    place = Span(at, at + len(filter_)) if at >= 0 else output.span
    yield Finding(
        place,
        f"`{filter_}` {gives}, so the job ID on line {job.line(command.span.start)} is wrong; {advice}",
        related=[(command.span, "uses it as a job ID")],
    )


def _written_submission(substitution: str) -> list[str] | None:
    """The words of the sbatch before the filter; None where another command is there, or words are not known."""
    first = substitution.removeprefix("$(").partition("|")[0]
    if any(each in first for each in ";&`\n") or "$(" in first:
        return None
    words = first.split()
    options = [each for each in words[1:] if each.startswith("-")]
    return None if not words or words[0] != "sbatch" or any(map(_CHANGES_WORDS.fullmatch, options)) else words


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
        unsafe_fixed={"FIRST=$(sbatch prepare.sh)": "FIRST=$(sbatch --parsable prepare.sh)"},
    ),
    Bad(
        """\
        #!/bin/bash
        job=$(«sbatch» --time=10 prepare.sh)
        squeue -j "$job"
        """,
        unsafe_fixed={"job=$(sbatch --time=10": "job=$(sbatch --parsable --time=10"},
    ),
    Bad(
        """\
        #!/bin/bash
        first=$(sbatch prepare.sh | «cut -d ' ' -f 3»)
        sbatch --dependency=afterok:$first train.sh
        """,
        title="another word",
    ),
    Bad(
        """\
        #!/bin/bash
        first=$(sbatch --parsable prepare.sh | «awk '{print $4}'»)
        sbatch -d afterok:$first train.sh
        """,
        title="no such word",
    ),
    Bad(
        """\
        #!/bin/bash
        first=$(sbatch prepare.sh | «cut -f4»)
        scancel $first
        """,
        title="words between tabs",
    ),
    Good(
        """\
        #!/bin/bash
        a=$(sbatch a.sh | cut -d ' ' -f 4)
        b=$(sbatch --parsable b.sh | cut -d ';' -f 1)
        c=$(sbatch c.sh | cut -f 4 -d" ")
        d=$(sbatch d.sh | awk '{print $NF}')
        sbatch -d afterok:$a:$b:$c:$d e.sh
        """,
        title="the right word",
    ),
    Good("#!/bin/bash\nFIRST=$(sbatch --parsable a.sh)\nsbatch --dependency=afterok:$FIRST b.sh\n"),
    Good("#!/bin/bash\nFIRST=$(sbatch a.sh | awk '{print $4}')\nsbatch -d afterok:$FIRST b.sh\n", title="cut out"),
    Good("#!/bin/bash\nFIRST=$(sbatch a.sh)\nsbatch -d afterok:${FIRST##* } b.sh\n", title="its last word"),
    Good('#!/bin/bash\nFIRST=$(sbatch a.sh)\necho "$FIRST"\n', title="only shown"),
]
