'''A variable of Slurm is read that is not set.

Many SLURM_ variables exist only where the option of the same name was given: SLURM_NTASKS with just `--nodes` is unset,
SLURM_GPUS_PER_NODE with `--gres=gpu:8` too, SLURM_CPUS_PER_TASK without `--cpus-per-task`. Others are not what Slurm
calls them: SLURM_JOB_NUMNODES, SLURM_NODE_ID. Bash expands both to nothing, or to 0 in arithmetic: a world of 0
processes, `--nproc_per_node` without a value, an OMP_NUM_THREADS that is ignored.

An error in arithmetic, in a launcher's arguments, and for a name that Slurm does not know; a warning elsewhere; advice
where an option's variable is only printed. Names that the script sets, tests or gives a default are left alone. The
option may still come from the command line of sbatch.

## Fix

The right name for a misspelled one; `${SLURM_CPUS_PER_TASK:-1}` and `${SLURM_NTASKS_PER_NODE:-1}`, which is what Slurm
does without the option; SLURM_GPUS_ON_NODE in place of SLURM_GPUS_PER_NODE. These are safe. Unsafe for SLURM_NTASKS:
one task for each node is only what a bare srun would start.

## References

setup_env() in src/common/env.c and job_scheduler.c, Slurm 20.11 to 26.05; environments of live jobs on 22.05 to 26.05;
awsome-distributed-training issue 71; gpt-neox pull request 1069; oslo pull request 150.
'''

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace

CARD = Card("SB409", "slurm-variable-not-set", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.variables.missing():
        use = each.use
        vital = use.kind == "arithmetic" or job.variables.in_launcher(use)
        result = "0" if use.read.operator == "arithmetic" else "empty"
        fix = None
        if each.text is not None:
            fix = Fix(f"write {each.text}", [replace(each.span, each.text)], safe=each.safe)
        if each.entry is None:
            severity = "error" if each.certain and use.kind != "print" else "warning"
            message = f"{each.name} is no variable that Slurm sets, so that it is {result} here"
            message += f"; write {each.text or each.meant}"
        else:
            severity = "error" if vital else "info" if use.kind == "print" else "warning"
            options = [f"--{name}" for name in each.entry.options[:2]]
            asked = [option for option in options if job.request.asked(option[2:])]
            why = f"set only with {' or '.join(options)}"
            if asked:
                why = f"no longer set by Slurm {min(set(job.versions.majors) - each.entry.batch)}"
            message = f"{each.name} is {why}, so that it is {result} here unless the command line gives it"
            message += f"; write {each.text}" if each.text else "; give the option, or a default"
        yield Finding(each.span, message, severity, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gres=gpu:8
        srun torchrun --nnodes=2 --nproc_per_node=«$SLURM_GPUS_PER_NODE» train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gres=gpu:8
        srun torchrun --nnodes=2 --nproc_per_node=$SLURM_GPUS_ON_NODE train.py
        """,
        title="GPUs asked for in another form",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        export WORLD_SIZE=$((«SLURM_JOB_NUMNODES» * SLURM_NTASKS_PER_NODE))
        srun python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        export WORLD_SIZE=$((SLURM_JOB_NUM_NODES * SLURM_NTASKS_PER_NODE))
        srun python train.py
        """,
        title="misspelled",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        export OMP_NUM_THREADS=«$SLURM_CPUS_PER_TASK»
        srun ./solve
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=1
        export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
        srun ./solve
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export WORLD_SIZE=$((«$SLURM_NTASKS» * 8))
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        export WORLD_SIZE=$((${SLURM_NTASKS:-$SLURM_JOB_NUM_NODES} * 8))
        """,
        title="tasks that nobody asked for",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=8
        #SBATCH --cpus-per-task=16
        export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
        srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_PER_NODE train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        if [ -z "$SLURM_NTASKS" ]; then
            SLURM_NTASKS=2
        fi
        ./run -n "$SLURM_NTASKS" -t "${SLURM_CPUS_PER_TASK:-4}"
        """,
        title="tested, set, or with a default",
    ),
]
