"""deepspeed runs in the batch shell of a job of several nodes and has no hostfile, so it uses the first node only.

The runner of deepspeed learns of other nodes from a hostfile. It does not look at Slurm: without `--hostfile` (and
without /job/hostfile) it prints one warning, sets the master to 127.0.0.1 and trains on its own node, also with
`--launcher slurm`. The other nodes are paid for and idle. With `--num_nodes=4` it stops with an error instead.

## Fix

Writes a hostfile of the job's nodes, and gives it to the runner. Unsafe: deepspeed must be able to reach the nodes by
ssh, or by the launcher that it is told.

## References

`fetch_hostfile()` and `main()` in deepspeed/launcher/runner.py (0.19);
https://github.com/deepspeedai/DeepSpeed/issues/2958, https://github.com/deepspeedai/DeepSpeed/issues/5221
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB315", "deepspeed-without-hostfile", severity="warning", fix="sometimes", since="0.1.0",
    when=Launchers("deepspeed"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for runner in job.deepspeed_runners():
        launch = runner.launch
        if launch.step is not None:
            continue
        nodes = "the nodes" if runner.nodes is None else f"{runner.nodes} nodes"
        if runner.fate == "refused":
            happens = "stops with an error, as --num_nodes is more than one"
        else:
            others = "the other stays" if runner.nodes == 2 else "the others stay"
            happens = f"trains on the first node alone, and {others} idle"
        yield Finding(
            launch.launcher.span,
            f"no hostfile tells {launch.launcher.name} of the job's {nodes}: it {happens}; write a hostfile from "
            "`scontrol show hostnames` and give it with --hostfile",
            fix=None if runner.edits is None else Fix("write a hostfile of the job's nodes", runner.edits),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        «deepspeed» train.py --deepspeed ds.json
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s/\\$/ slots=8/" > "hostfile.$SLURM_JOB_ID"
        deepspeed --hostfile="hostfile.$SLURM_JOB_ID" train.py --deepspeed ds.json
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        ARGS="--num_nodes=2 --num_gpus=4 --launcher slurm"
        conda run -n train «deepspeed» $ARGS train.py
        """,
        title="--launcher does not find the nodes by itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=8/' > hosts
        deepspeed --hostfile hosts train.py --deepspeed ds.json
        """,
        title="with a hostfile",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --gpus-per-node=8
        deepspeed "$@" train.py
        """,
        title="options that nobody sees",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=8\ndeepspeed train.py\n", title="one node"),
]
