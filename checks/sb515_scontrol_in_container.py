"""A Slurm command is not found: the script calls it inside a container.

Images seldom contain `scontrol`, `srun` or `squeue`, or the configuration and the key that they need: the command is
not found. With `MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)` the address is empty, and with
`|| echo localhost` after it each node assumes that it is the master. The batch shell has these commands.

Nothing is reported where a mount or the image's name mentions Slurm, or the script tests whether the command exists.

## Fix

Looks up the first node before the step, and exports it. Safe where the container is pyxis' or Apptainer's, which pass
the environment on, and the list is the job's. Unsafe where it is the step's, or there is a default.

## References

https://github.com/mlc-ai/pith-train/pull/91; README of pyxis
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.containers.pyxis import STARTING
from sbatchlint.analysis.containers.slurm_tools import is_tested_for, provides_slurm, site_binds_slurm
from sbatchlint.analysis.launch.rendezvous import unshared_addresses
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB515", "scontrol-in-container", severity="warning", fix="sometimes", since="0.1.0", when=Containers(),
    seen="https://github.com/mlc-ai/pith-train/pull/91",
)  # fmt: skip

# NAME=$(scontrol show hostnames "$LIST" | head -n1), with a default for the list, or for all of it.
FIRST_NODE = Regex(
    r"(\w+)=\"?\$\(\s*scontrol show hostnames? \"?\$(?:\{(?=.*\}))?(SLURM_(?:JOB_|STEP_)?NODELIST)(:-\w*)?\}?\"?"
    r"\s*\|\s*(?:head -n ?1|head -1|sed -n 1p|sed -n '1p')\s*(\|\| echo \w+\s*)?\)\"?"
)


def check(job: Job) -> Iterator[Finding]:
    if job.request.has_any_option(STARTING):
        return  # the batch script itself runs in the container
    calls: dict[Span, tuple[Invocation, Container]] = {}
    doubtful: set[Span] = set()
    for command in job.invocations:
        if not has_trait(command.name, "slurm") or command.phase is Phase.SUBMIT or command.context.parent is None:
            continue
        container = container_of(command)
        if container is None or command.name == "srun" and command.kind == "apptainer":
            continue  # `apptainer exec IMAGE srun …` is for container-without-gpus (SB512)
        if not container.certain or provides_slurm(container) or is_tested_for(job, command):
            doubtful.add(command.span)
        elif container.kind != "apptainer" or not site_binds_slurm(job):
            calls.setdefault(command.span, (command, container))
    for span, (command, container) in calls.items():
        fallback = _fallback(job, command)
        if span in doubtful or fallback and _launchers_meet_there(job, span):
            continue
        if fallback:
            result = f"each node falls back to `{fallback}`"
        else:
            result = "its result is empty" if command.context.captured else "the command is not found"
        start = command.name_span.start
        yield Finding(
            Span(start, span.end) if span.start <= start < span.end else span,
            f"`{command.name}` runs in the container on line {job.line(container.span.start)}, whose image rarely has "
            f"Slurm: {result}; run it in the batch script",
            fix=_computed_before_step(job, command, container),
        )


def _launchers_meet_there(job: Job, span: Span) -> bool:
    """Whether launchers meet at the address that the command prints, or its fallback: another check reports these."""
    places = (each.place for each in unshared_addresses(job) if each.kind == "fallback")
    return any(place.start <= span.start < place.end for place in places)


def _fallback(job: Job, command: Invocation) -> str:
    """What an `echo` after `||` prints if a command fails; '' where there is none."""
    for other in job.invocations[command.index :]:
        if other.context.parent is command.context.parent and other.name == "echo" and len(other.argv) == 2:
            if any(f"{command.name} " in str(branch) and way for branch, way in other.context.guards):
                return text_of(other.argv[1]) or ""
    return ""


def _computed_before_step(job: Job, command: Invocation, container: Container) -> Fix | None:
    """`NAME=$(scontrol show hostnames … | head -n1)` of a container, moved before the step and exported."""
    same_shell = [each for each in job.assignments if each.context.parent is command.context.parent]
    found = [each for each in same_shell if each.span.start <= command.span.start < each.span.end]
    if not found or not container.inherits or job.is_embedded or job.phase is not Phase.BATCH:
        return None
    name, assigned = found[0].name, found[0].span
    if any(each.name != name for each in found) or any(e.name == name and e.span != assigned for e in job.assignments):
        return None
    match = FIRST_NODE.fullmatch(job.source.slice(assigned).replace("\\", ""))
    outermost = ([command, *command.ancestors()])[-1]
    row = job.source.line_of(outermost.span.start)
    indent = job.source.text[row.start : outermost.span.start]
    before = job.source.text[: row.start].rstrip("\n")
    again = outermost.context.may_repeat or outermost.context.calls
    removed = _statement(job, assigned)
    if match is None or indent.strip() or before.endswith("\\") or again or removed is None:
        return None
    new = f'{indent}export {name}=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
    safe = match.group(2) == "SLURM_JOB_NODELIST" and match.group(3) is None and match.group(4) is None
    return Fix(f"export {name} before the step", [Edit(Span(row.start, row.start), new), Edit(removed, "")], safe)


def _statement(job: Job, span: Span) -> Span | None:
    """An assignment with its `export` and the separator after it; its whole line where nothing else is on it."""
    text = job.source.text
    row = job.source.line_of(span.start)
    before = re.search(r"(^|['\";&]|&& )[ \t]*(?:export[ \t]+)?$", text[row.start : span.start])
    after = re.match(r"[ \t]*(?:;|&&)?[ \t]*", text[span.end :])
    if before is None or after is None:
        return None
    end = span.end + after.end()
    if before.start() == before.end(1) == 0 and text[end : end + 2].lstrip("\\")[:1] == "\n":
        return Span(row.start, text.index("\n", end) + 1)
    if not re.search(r";|&&", after.group()):
        return None
    return Span(row.start + before.end(1), end)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun --container-image=/images/train.sqsh bash -c '
            export MASTER_ADDR=$(«scontrol show hostnames "$SLURM_JOB_NODELIST"» | head -n1)
            torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
        '
        """,
        fixed={
            "srun": 'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\nsrun',
            '    export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n': "",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun docker run --rm trainer bash -c "HOSTS=\\$(«scontrol show hostnames») ./train.sh"
        """,
        title="docker passes no environment on either",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun --container-image=/images/train.sqsh torchrun --rdzv-endpoint=$HEAD:29500 train.py
        """,
        title="the batch script runs on the host",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        MOUNTS=/usr/bin/scontrol:/usr/bin/scontrol,/etc/slurm:/etc/slurm,/run/munge:/run/munge
        srun --container-image=/images/train.sqsh --container-mounts=$MOUNTS bash -c 'scontrol show hostnames'
        """,
        title="Slurm is mounted",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh --container-mounts=$MOUNTS bash -c 'scontrol show hostnames'
        """,
        title="unknown mounts",
    ),
]
