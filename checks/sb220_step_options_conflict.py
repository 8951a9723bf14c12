"""srun starts nothing: its options exclude each other, or one set by the job.

`srun: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.`, and the step does not start; without
`set -e` the script goes on as if it had run. Other pairs are `--exclusive` with `--overlap`, `--exact` with `--whole`,
`--pty` with `--output`, `--relative` with `--nodelist`, and `--ntasks-per-gpu` with `--ntasks-per-node` or
`--gpus-per-task`.

srun reads what it inherits as options, too. `srun --ntasks-per-gpu=1` fails in a job with `--ntasks-per-node`, because
of SLURM_NTASKS_PER_NODE; each srun fails in a job with `--mem` whose script exports SLURM_MEM_PER_CPU; and from 23.11
to 24.11 no srun starts in a job with `--ntasks-per-gpu` and `--cpus-per-task`, which sbatch exports as
SLURM_TRES_PER_TASK; that is a warning.

## Fix

None: which of the two is meant is not known. What the step inherits can be removed: `env -u SLURM_NTASKS_PER_NODE
srun …`.

## References

`_opt_verify()` in src/srun/opt.c and `validate_options_salloc_sbatch_srun()` in src/common/slurm_opt.c, Slurm 22.05 to
26.05; live runs of 22.05; ticket 17913, "TRES_PER_TASK and NTASKS_PER_GPUS are not always incompatible"
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.srun import StepOption, variable_change
from sbatchlint.job.steps import Step
from sbatchlint.slurm.conflicts.of_step import MEMORY, OF_JOB, PAIRS, WITH_JOB, StepClash
from sbatchlint.slurm.versions import is_before
from sbatchlint.triggers import StepOptions, Steps, Variables

CARD = Card(
    "SB220", "step-options-conflict", severity="error", fix="never", since="0.1.0",
    when=StepOptions(*(each.first for each in (*PAIRS, *WITH_JOB))) | Variables(*MEMORY) | Steps(), batch=True,
    seen="live runs of Slurm 22.05",
)  # fmt: skip


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    if step.in_other_job or job.request.heterogeneous:
        return
    found = _on_command_line(job, step) or _with_job(job, step) or _of_job(job, step) or _of_variables(step)
    if found is not None:
        yield found


def _versions(job: Job, clash: StepClash) -> tuple[str, ...]:
    """The releases of the range in which srun refuses these options."""
    return tuple(
        each
        for each in job.versions.majors
        if (clash.since is None or not is_before(each, clash.since))
        and (clash.until is None or is_before(each, clash.until))
    )


def _on_command_line(job: Job, step: Step) -> Finding | None:
    for clash in PAIRS:
        first, second = step.option(clash.first), step.option(clash.second)
        if first is not None and second is not None and (versions := _versions(job, clash)):
            earlier, later = sorted((first, second), key=lambda each: each.word)
            when = job.versions.suffix(versions)
            message = f"srun refuses `{_shown(earlier)}` with `{_shown(later)}`{when}: they exclude each other"
            related = [(earlier.span, "conflicts with this")]
            return Finding(later.span, f"{message}; keep one of them", related=related, versions=versions)
    return None


def _shown(option: StepOption) -> str:
    return option.written if option.value is None else option.as_written


def _with_job(job: Job, step: Step) -> Finding | None:
    """The finding on an option of the step that does not go with one of the job."""
    for clash in WITH_JOB:
        option, setting = step.option(clash.first), step.request.setting(clash.second)
        if option is None or setting is None or variable_change(step.invocation, clash.inherited).how:
            continue
        message = f"srun refuses `{_shown(option)}` in a job with {setting.shown} (line {job.line(setting.span.start)})"
        message = f"{message}: they exclude each other; write `env -u {clash.inherited} srun`"
        return Finding(option.span, message, related=[(setting.span, "the job's option")])
    return None


def _of_job(job: Job, step: Step) -> Finding | None:
    """The finding on a step of a job in which no step starts."""
    settings = [step.request.setting(each) for each in (OF_JOB.first, OF_JOB.second)]
    versions = _versions(job, OF_JOB)
    if None in settings or not versions or variable_change(step.invocation, OF_JOB.inherited).how:
        return None
    when, options = job.versions.suffix(versions), f"--{OF_JOB.first} and --{OF_JOB.second}"
    return Finding(
        step.place,
        f"srun fails in a job with {options}{when}; write `env -u {OF_JOB.inherited} srun`",
        "warning",
        related=[(each.span, "the job's option") for each in settings if each is not None],
        versions=versions,
    )


def _of_variables(step: Step) -> Finding | None:
    """The finding on a step that inherits two amounts of memory, of which one is the script's own."""
    if not step.certain or any(each in step.options for each in MEMORY.values()):
        return None
    own = [name for name in MEMORY if variable_change(step.invocation, name, False).how == "set"]
    others = [
        name
        for name, option in MEMORY.items()
        if name not in own and step.request.has_option(option) and not variable_change(step.invocation, name).how
    ]
    if not own or len(own) + len(others) < 2:
        return None
    first, second = (*own, *others)[:2]
    message = f"srun refuses {first} together with {second} because both set its memory"
    return Finding(step.place, f"{message}; pass --{MEMORY[first]} to srun")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        srun --mem=8G «--mem-per-cpu=2G» ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun «--ntasks-per-gpu=1» ./a.out
        """,
        title="with what it inherits",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=4 --ntasks-per-gpu=1 --cpus-per-task=8
        «srun» ./a.out
        """,
        title="from 23.11 to 24.11",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --mem=64G
        export SLURM_MEM_PER_CPU=2G
        «srun» ./a.out
        """,
        title="two amounts of memory",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --mem=64G
        srun --mem-per-cpu=2G ./a.out
        """,
        title="the command line overrides the job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        env -u SLURM_NTASKS_PER_NODE srun --ntasks-per-gpu=1 ./a.out
        """,
        title="removed from what it inherits",
    ),
]
