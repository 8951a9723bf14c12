"""Nothing is done: a program is only told to show what it would do.

`snakemake -n`, `rsync -n` and `make -n` print what they would do, and end with 0: the job is COMPLETED at once, and has
done nothing. Mostly the option was there for a first look.

Reported where the option is written as it is, no run of the same program without it goes with it, and nothing looks at
what is printed. Nothing is reported for a job or a script with "dry" or "test" in its name.

## Fix

None: remove the option.

## References

snakemake, rsync(1) and parallel(1): `--dry-run`; make(1), `--just-print`; sbatch(1), `--test-only`
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.pipeline_runs import begun_by
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, span_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

_PROGRAMS = ("gmake", "make", "nextflow", "parallel", "rsync", "sbatch", "snakemake")

CARD = Card(
    "SB732", "dry-run-left-in", severity="warning", fix="never", since="0.1.0", batch=True,
    when=Commands(*_PROGRAMS),
    seen="a review of public scripts", unseen="What the program would do, as its own output.",
)  # fmt: skip

# The options by which a program only shows what it would do, alone or among other letters.
_DRY = {
    "gmake": Regex(r"-n|--(?:just-print|dry-run|recon)"),
    "make": Regex(r"-n|--(?:just-print|dry-run|recon)"),
    "nextflow": Regex(r"-preview"),
    "parallel": Regex(r"--dry-?run"),
    "rsync": Regex(r"-[avzrtlpgoDuhxPHAXSiWcdkKLqE]*n[avzrtlpgoDuhxPHAXSiWcdkKLqE]*|--dry-run"),
    "sbatch": Regex(r"--test-only"),
    "snakemake": Regex(r"-[prqFRk]*n[prqFRk]*|--dry-?run"),
}
_TRIAL = Regex(r"(?i)dry|test|trial|preview|check")


def check(job: Job) -> Iterator[Finding]:
    found: dict[str, list[Finding]] = {}
    for command in commands_named(job, *_PROGRAMS):
        for finding in _of_command(job, command):
            found.setdefault(finding.message, []).append(finding)
    for first, *others in found.values():
        yield first._replace(related=[(each.span, "the same") for each in others[:3]])


def _of_command(job: Job, command: Invocation) -> Iterator[Finding]:
    option = _option(command)
    if option is None or command.phase is Phase.SUBMIT or command.alternatives > 1:
        return
    context = command.context
    if context.tested or context.captured or command.redirects and not command.piped_to or _is_read(job, command):
        return
    if any(merge_guards(each.guards, command.guards) is not None for each in _real(job, str(command.name))):
        return
    field = command.argv[option]
    if any(piece.expansion is not None for piece in field) or not command.span.contains(span_of(field)):
        return
    if _TRIAL.search(f"{job.request.value('job-name') or ''} {job.source.path or ''}"):
        return
    word = command.words[option]
    yield Finding(
        span_of(field),
        f"with `{word}` {command.name} only shows what it would do, and the job does no work; remove `{word}`",
    )


def _is_read(job: Job, command: Invocation) -> bool:
    """Whether a program reads the output of a command; `tee` only passes it on."""
    run = begun_by(job, command)
    return run is not None and any(each.name != "tee" for element in run.elements[1:] for each in element)


@once
def _real(job: Job, name: str) -> list[Invocation]:
    """The commands of a name that do what they say."""
    return [each for each in commands_named(job, name) if _option(each) is None]


def _option(command: Invocation) -> int | None:
    """The index of the word by which a command only shows what it would do."""
    dry = _DRY[command.name or ""]
    end = command.spawn.command if command.spawn.command is not None else len(command.argv)
    return next((number for number, word in enumerate(command.words[:end]) if number and dry.fullmatch(word)), None)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        snakemake --cores 8 «-n» all
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./model --out results
        rsync «-avn» results/ backup:/home/ada/results/
        """,
        title="a copy",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        snakemake --cores 8 -n all
        snakemake --cores 8 all
        """,
        title="a look before the work",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        if snakemake -n --quiet all; then
            echo "the workflow is in order"
        fi
        snakemake -n all > plan.txt
        rsync -avn a/ b/ | wc -l
        """,
        title="something looks at what is printed",
    ),
]
