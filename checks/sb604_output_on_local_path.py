"""What the job writes lands on one node's own disk, or in a container, where nobody finds it.

/tmp, /dev/shm and the local disks belong to one node each. A log with `#SBATCH --output=/tmp/…` lies on the first node
of the job, which you cannot log in to afterwards and which often clears /tmp when the job ends. Of a checkpoint that
all nodes write below /tmp each node keeps only what its own ranks wrote, so that it cannot be loaded again. Files below
a folder of a container's image are gone with the container. And what the batch shell (or a script on the login node)
puts into /tmp does not exist for tasks on other nodes.

A path is left alone where the script copies it to another place afterwards, or where it names the node. Which folders
are local or shared can be said in the settings: `local-paths`, `shared-paths`.

## Fix

None: where the job's files belong is known to you alone.

## References

sbatch(1), --output: the file is written on the node of the batch script; Slurm's job_container/tmpfs plugin gives each
job a /tmp of its own, which is removed with the job; pyxis removes an unnamed container when the step ends
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card("SB604", "output-on-local-path", severity="warning", fix="never", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.lost_outputs():
        why = each.location.reason
        several = each.step is not None and bool(each.step.several_nodes)
        nodes = f"the {each.step.nodes} nodes of the step on line {job.line(each.step.span.start)}" if each.step else ""
        if each.kind == "log":
            where = "the node that writes it" if each.step else "the job's first node"
            message = f"{each.name} puts the log on {where} ({why}), where you do not find it afterwards; write it "
            message += "to a folder that all nodes see"
        elif each.kind in ("given", "submitted"):
            where = "the first node" if each.kind == "given" else "the login node"
            reader = f"{nodes} look" if each.kind == "given" else "the job that is submitted looks"
            at = "" if each.user is None else f" (line {job.line(each.user.span.start)})"
            message = (
                f"{each.name} makes this on {where} alone ({why}), and {reader} for it{at}: No such file or directory; "
                "use a folder that all nodes see"
            )
        elif each.location.kind == "node-local":
            what = "the logs lie" if each.kind == "program log" else "results lie"
            message = f"with {each.name} {what} on each node's own disk ({why})"
            if each.kind == "result":
                message += f", and each of {nodes} has only what its own processes wrote"
            message += "; use a folder that all nodes see, or copy it there before the job ends"
        else:
            what = "the logs are" if each.kind == "program log" else "results are"
            message = f"with {each.name} {what} written into the container ({why}), and are gone with it"
            message += f" on each of {nodes}" if several else ""
            message += "; mount a folder of the cluster there"
        yield Finding(
            each.span,
            message,
            related=[] if each.user is None else [(each.user.name_span, "looks for it")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --output=«/tmp/train-%j.log»
        srun python train.py
        """,
        title="the job's log",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        srun python pretrain_gpt.py --save «/tmp/checkpoints» --tensorboard-dir «$TMPDIR/tb»
        """,
        title="a checkpoint in parts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh python train.py --output_dir=«/workspace/out»
        """,
        title="in a container that is removed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        CONFIG=«$(mktemp)»
        envsubst < template.yaml > "$CONFIG"
        srun python train.py --config "$CONFIG"
        """,
        title="made on the first node for all of them",
    ),
    Bad(
        """\
        #!/bin/bash
        WORK=«$(mktemp -d /tmp/args.XXXXXX)»
        python make_arguments.py --out "$WORK"
        sbatch --mem=2G --wrap "python run.py $WORK/first.pkl"
        """,
        title="made on the login node for a job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --output=/tmp/train-%j.log
        srun python train.py --output_dir /tmp/out
        srun cp -r /tmp/out /lustre/team/results
        cp /tmp/train-$SLURM_JOB_ID.log /lustre/team/results
        """,
        title="copied afterwards",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh --container-mounts=/lustre/me:/workspace python x.py --save /workspace/out
        """,
        title="mounted",
    ),
]
