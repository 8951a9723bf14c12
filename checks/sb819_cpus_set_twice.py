"""srun ends with an error: the script changes SLURM_CPUS_PER_TASK, but not SLURM_TRES_PER_TASK.

From 23.11 on sbatch sets both for `--cpus-per-task`, and srun reads both as its own options. Where they differ, it ends
with `cpus-per-task set by two different environment variables SLURM_CPUS_PER_TASK=8 != SLURM_TRES_PER_TASK=cpu=4`
before it creates the step. srun of 22.05 reads neither, and that of 23.02 only SLURM_TRES_PER_TASK. An srun with its
own `--cpus-per-task` ignores both.

## Fix

None: `srun --cpus-per-task=8` works the same in every release, but the variable may be meant for something else.

## References

`_set_tres_per_task_from_sibling_opt()` of src/common/slurm_opt.c, 23.11 to 26.05; `env_vars[]` of src/srun/opt.c,
23.02; https://github.com/scalableminds/webknossos-libs/issues/1483
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.step_cpus import cpus_per_task
from sbatchlint.triggers import Variables

CARD = Card(
    "SB819", "cpus-set-twice", severity="error", fix="never", since="0.1.0",
    when=Variables("SLURM_CPUS_PER_TASK", "SLURM_TRES_PER_TASK"),
    seen="live runs of Slurm 23.11, 24.11, 25.11 and 26.05; scalableminds/webknossos-libs#1483",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        found = {version: cpus_per_task(step, version) for version in job.versions.majors}
        refusing = tuple(version for version, each in found.items() if each.conflict)
        variable = found[refusing[-1]].variable if refusing else None
        if variable is None or step.in_other_job or not step.certain:
            continue
        number = variable.text if variable.written == "SLURM_CPUS_PER_TASK" else found[refusing[-1]].number
        yield Finding(
            variable.span,
            f"srun fails{job.versions.suffix(refusing)}: `{variable.as_written}` contradicts "
            f"{found[refusing[-1]].conflict}; write `srun --cpus-per-task={number}` instead",
            related=[(step.invocation.name_span, "this srun reads both")],
            versions=refusing,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1 --cpus-per-task=4
        export SLURM_CPUS_PER_TASK=«8»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH --ntasks=4 -c 4\nSLURM_CPUS_PER_TASK=«2» srun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=1 --cpus-per-task=4\nsrun --cpus-per-task=2 ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=4\nexport SLURM_CPUS_PER_TASK=1\nsrun ./a.out\n",
        title="the job says nothing of CPUs",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -n 1 -c 4\nunset SLURM_TRES_PER_TASK\nexport SLURM_CPUS_PER_TASK=2\nsrun ./a.out\n",
        title="the other is taken away",
    ),
]
