"""A hostfile next to the script names nodes, but Slurm chooses others for each job.

A launcher with a hostfile starts its processes on the nodes that it names: by ssh on nodes of another job, or it
refuses (`A hostfile was provided that contains at least one node not present in the allocation`). A file that was
written for one job, or for a cluster of fixed machines, is right only by chance.

Not reported where the script writes the file, where `--nodelist` names these nodes, and for the launcher's own host.

## Fix

None: the format differs between launchers. `scontrol show hostnames "$SLURM_JOB_NODELIST"` names the job's nodes.

## References

`fetch_hostfile()` in deepspeed/launcher/runner.py (0.16); orte/util/hostfile/help-hostfile.txt of Open MPI 4.1
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job, Launch
from sbatchlint.job.launchers.model import Setting
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB335", "hostfile-of-fixed-nodes", severity="warning", fix="never", since="0.1.0", stage="preview",
    when=Launchers(), seen="deepspeed/launcher/runner.py of 0.16",
)  # fmt: skip

_LINE = Regex(r"\s*([A-Za-z0-9][\w.-]*)(?::\d+)?(?:\s+(?:slots|max_slots)\s*=\s*\d+)*\s*(?:#.*)?")
_OWN = frozenset({"localhost", "127.0.0.1"})
_MOST_BYTES = 1 << 16


def check_launch(job: Job, launch: Launch) -> Iterator[Finding]:
    setting = launch.launcher.hostfile or launch.launcher.setting("hostfile", "machinefile")
    if setting is None or not setting.value:
        return
    path = job.beside.path(launch.invocation, setting.value)
    data = None if path is None else lookups.read(path, _MOST_BYTES)
    names = _names(data) if data else []
    nodelist = job.request.value("nodelist")
    unknown = job.request.has_option("nodelist") and nodelist is None
    if not names or unknown or set(names) & {*_OWN, *(hosts(nodelist) or ())}:
        return
    if _may_be_written(job, launch.invocation, setting):
        return
    shown = ", ".join(names[:2]) + (" …" if len(names) > 2 else "")
    yield Finding(
        setting.span,
        f"`{setting.text}` beside the script always names {shown}, but Slurm chooses the nodes of each job; write "
        'it from `scontrol show hostnames "$SLURM_JOB_NODELIST"`',
    )


def _may_be_written(job: Job, launcher: Invocation, setting: Setting) -> bool:
    """Whether a command before the launcher names the file, and so may write it."""
    name = (setting.text or "").rpartition("/")[2]
    ancestors = launcher.ancestors()
    for command in job.invocations[: launcher.index]:
        fields = [*command.argv[1:], *(redirect.target for redirect in command.redirects if redirect.target)]
        if command not in ancestors and any(shown_text(field).endswith(name) for field in fields):
            return True
    return False



def _names(data: bytes) -> list[str]:
    """The nodes of a hostfile; empty where it has another format."""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.split("#")[0].strip()]
    found = [_LINE.fullmatch(line) for line in lines]
    return [each[1] for each in found if each is not None] if all(found) else []


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        deepspeed «--hostfile=hostfile» train.py
        """,
        files={"hostfile": "worker-1 slots=8\nworker-2 slots=8\n"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        mpirun «--hostfile» conf/nodes -np 8 ./solver
        """,
        files={"conf/nodes": "# the two of us\nnode07\nnode08\n"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=8/' > hostfile
        deepspeed --hostfile=hostfile train.py
        """,
        files={"hostfile": "worker-1 slots=8\nworker-2 slots=8\n"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --nodelist=node[07-08]
        mpirun --hostfile nodes -np 8 ./solver
        """,
        files={"nodes": "node07\nnode08\n"},
        title="these nodes are asked for",
    ),
]
