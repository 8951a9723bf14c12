"""Nobody sees what goes wrong: the job's log is thrown away, with all error messages.

With `--output=/dev/null` (or `none`, which Slurm takes for the same) everything that the job prints is gone: the
message of a program that crashes, of bash that does not find a command, and of Slurm itself, which writes to this file
that the job was cancelled due to its time limit or its memory. squeue and sacct show a state, and nothing tells why.

Reported where the output of the work goes nowhere else: no redirection, no `tee`, no `--output` of an srun, no option
for a log, and where `--error` keeps no messages either. Advice for an array, of which the logs are many.

## Fix

Writes `--output=%x-%j.out` (`%x-%A_%a.out` in an array). Unsafe: perhaps nobody wants the files.

## References

sbatch(1), --output and --error; `arg_set_ofname()` of src/common/slurm_opt.c (`none`).
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.storage.written_paths import WRITING, names_logs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.steps import enclosing_step
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB739", "log-discarded", severity="warning", fix="always", since="0.1.0", when=Options("output"), batch=True,
    certain=True, homogeneous=True, seen="a review of public scripts",
    unseen="A job that FAILED, and no message that tells why.",
)  # fmt: skip

# A redirect of several commands at once, or of the shell itself.
_OF_GROUP = Regex(
    r"(?m)(?:[})]|\bdone|\bfi|\besac)[ \t]*(?:\d?>|&>|\|)|^[ \t]*exec[ \t]+(?:\d?>|&>|\d?>>)|\btee\b|\blogger\b"
)
# Programs that keep a log of their own.
_LOGGING = frozenset({"nextflow", "snakemake", "g09", "g16", "gmx", "gmx_mpi", "lmp", "lmp_mpi", "abaqus", "abq"})
_LOG = Regex(r"(?i)(?<![a-z])logs?(?![a-z])|\.out\b")


def check(job: Job) -> Iterator[Finding]:
    request, setting = job.request, job.request.setting("output")
    if setting is None or not _is_nowhere(request.value("output")) or not job.is_shell:
        return
    if request.has_option("error") and not _is_nowhere(request.value("error")):
        return
    works = [each for each in job.invocations if not each.children and weight(job, each) >= Weight.PROGRAM]
    if not works or any(_is_logged(each) for each in works) or _OF_GROUP.search(job.text.string):
        return
    array = request.has_option("array")
    instead = "%x-%A_%a.out" if array else "%x-%j.out"
    line = job.line(works[0].span.start)
    yield Finding(
        setting.span,
        f"all output and error messages of line {line} and of Slurm are thrown away; write `--output={instead}`",
        "info" if array else None,
        related=[(works[0].name_span, "prints to this log only")],
        fix=Fix(f"write {instead}", [replacement(job.directives, setting, instead)], safe=False),
    )


def _is_nowhere(path: str | None) -> bool:
    return path is not None and (path == "/dev/null" or path.lower() == "none")


def _is_logged(command: Invocation) -> bool:
    """Whether the output of a command, or its messages, may be kept somewhere."""
    if command.piped_to or command.context.captured:
        return True
    step = enclosing_step(command.context)
    if step is not None and any(name in step.options for name in ("output", "error")):
        return True
    around = (command, *command.ancestors())
    if command.name in _LOGGING or command.name == "R" and "BATCH" in command.words:
        return True
    targets = (each for one in around for each in one.redirects if each.operator in (*WRITING, ">&"))
    if any(each.target and text_of(each.target) not in ("/dev/null", "1", "2") for each in targets):
        return True
    words = [shown_text(field) for one in around for field in one.argv[1:]]
    return any(names_logs(word.partition("=")[0]) or _LOG.search(word) for word in words)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH «--output=/dev/null»
        module load solver
        srun ./solver input.nml
        """,
        unsafe_fixed={"/dev/null": "%x-%j.out"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-500
        #SBATCH «-o none»
        #SBATCH -e NONE
        ./solver $SLURM_ARRAY_TASK_ID
        """,
        unsafe_fixed={"-o none": "-o %x-%A_%a.out"},
        severity="info",
        title="an array",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --output=/dev/null
        #SBATCH --error=%x-%j.err
        srun ./solver input.nml
        """,
        title="error messages are kept",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --output=/dev/null
        srun ./solver input.nml > solver.log 2>&1
        """,
        title="the work has a log of its own",
    ),
]
