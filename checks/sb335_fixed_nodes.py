"""The launcher fails on other nodes: it gets fixed names, but Slurm chooses the nodes of each job.

`mpiexec -hosts n1,n2`, `mpirun -H n1:8`, or a hostfile next to the script: a launcher starts its processes on the nodes
that it is told. On nodes of another job it refuses (`A hostfile was provided that contains at least one node not
present in the allocation`; srun, which Hydra uses: `Unable to create step for job 7: Requested node configuration is
not available`), or starts them there by ssh. What was written for one job, or for a cluster of fixed machines, is right
only by chance.

An error where more nodes are named than the job has. Not reported where the script writes the file, where `--nodelist`
names these nodes, and for the launcher's own host.

## Fix

None: the format differs between launchers. `scontrol show hostnames "$SLURM_JOB_NODELIST"` names the job's nodes.

## References

`fetch_hostfile()` in deepspeed/launcher/runner.py (0.16); orte/util/hostfile/help-hostfile.txt of Open MPI 4.1; a live
run of Slurm 22.05 (srun for a node outside the job)
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Launch, Span
from sbatchlint.job.launchers.model import Setting
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB335", "fixed-nodes", severity="error", fix="never", since="0.1.0", when=Launchers(),
    seen="deepspeed/launcher/runner.py of 0.16",
)  # fmt: skip

_LINE = Regex(r"\s*([A-Za-z0-9][\w.-]*)(?::\d+)?(?:\s+(?:slots|max_slots)\s*=\s*\d+)*\s*(?:#.*)?")
_HOST = Regex(r"([A-Za-z][\w.-]*\d|\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?")
_OWN = frozenset({"localhost", "127.0.0.1"})
_MOST_BYTES = 1 << 16


def check(job: Job) -> Iterator[Finding]:
    found: dict[str | None, list[Finding]] = {}
    for launch in job.launches:
        for finding in _of_launch(job, launch):
            found.setdefault(finding.severity, []).append(finding)
    for first, *others in found.values():
        places = dict.fromkeys(each.span for each in others if each.span != first.span)
        related = [*first.related, *((each, "also names nodes") for each in places)]
        yield first._replace(related=related[:4])


def _of_launch(job: Job, launch: Launch) -> Iterator[Finding]:
    setting = launch.launcher.hostfile or launch.launcher.setting("hostfile", "machinefile")
    names, where = _of_file(job, launch, setting), "`{}` always names"
    if not names:
        setting = launch.launcher.setting("hosts", "host")
        names, where = _of_option(setting), "the launcher always gets"
    nodelist = job.request.value("nodelist")
    unknown = job.request.has_option("nodelist") and nodelist is None
    if setting is None or not names or unknown or set(names) & {*_OWN, *(hosts(nodelist) or ())}:
        return
    shown = ", ".join(names[:2]) + (" …" if len(names) > 2 else "")
    nodes = job.request.exact_nodes()
    chosen = "nodes" if nodes is None else "node" if nodes == 1 else f"{nodes} nodes"
    place = _literal(job, launch, setting) if where.startswith("the launcher") else None
    yield Finding(
        setting.span if place is None else place,
        f"{where.format(setting.text)} {shown}, but Slurm chooses the {chosen} of each job; use "
        '`scontrol show hostnames "$SLURM_JOB_NODELIST"`',
        "error" if nodes is not None and len(set(names)) > nodes else "warning",
        related=() if place is None else [(setting.span, "the launcher gets them here")],
    )


def _literal(job: Job, launch: Launch, setting: Setting) -> Span | None:
    """Where the script has the names that a launcher gets through variables; None where they are in its command."""
    span = span_of(setting.value) if setting.value else None
    if span is None or launch.invocation.span.contains(span) or setting.span.contains(span):
        return None
    return span if job.source.slice(span).strip("\"'") == setting.text else None


def _of_file(job: Job, launch: Launch, setting: Setting | None) -> list[str]:
    """The nodes that a launcher's hostfile names; empty where that is not known, or the script may write it."""
    if setting is None or not setting.value:
        return []
    path = job.beside.path(launch.invocation, setting.value)
    data = None if path is None else lookups.read(path, _MOST_BYTES)
    return _names(data) if data and not _may_be_written(job, launch.invocation, setting) else []


def _of_option(setting: Setting | None) -> list[str]:
    """The nodes that an option lists; empty where some of them are not known."""
    if setting is None or setting.text is None or setting.from_environment:
        return []
    found = [_HOST.fullmatch(each) for each in setting.text.split(",")]
    return [each[1] for each in found if each is not None] if all(found) else []


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
        severity="warning",
        files={"hostfile": "worker-1 slots=8\nworker-2 slots=8\n"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        mpirun «--hostfile» conf/nodes -np 8 ./solver
        """,
        severity="warning",
        files={"conf/nodes": "# the two of us\nnode07\nnode08\n"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=16
        mpiexec -n 16 -ppn 8 «-hosts» node07,node08 ./solver
        """,
        title="more nodes than the job has",
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
