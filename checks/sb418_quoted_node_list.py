"""All nodes are taken for one: the array of node names has one element, the whole list.

`nodes=("$(scontrol show hostnames)")` keeps the list together because of the quotes: `${nodes[0]}` is all names with
newlines between them, `${nodes[1]}` is empty, and `${#nodes[@]}` is 1 whatever the job has. An address built from it is
not a host name, and a loop over the nodes runs once. `nodes=($SLURM_JOB_NODELIST)` is one element too, as Slurm
abbreviates the list (`node[01-04]`).

## Fix

Removes the quotes, or lets scontrol expand the list. Safe: node names contain no spaces and no wildcards.

## References

bash(1), "Arrays" and "Word Splitting"; scontrol(1), `show hostnames`.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.environment import NODE_LISTS, shows_hostnames
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Variables

CARD = Card(
    "SB418", "quoted-node-list", severity="error", fix="always", since="0.1.0",
    when=Commands("scontrol") | Variables(*NODE_LISTS), seen="bash(1)",
)  # fmt: skip

# `nodes=("…")`, and `nodes=…`, which is not an array, but acts as one with one element when it is indexed.
_ELEMENT = Regex(r"(?s)\w+=(?:\(\s*(?P<array>\"(?P<inner>.*)\"|\S+)\s*\)|(?P<plain>\"(?P<text>.*)\"|[^(].*))")
_ALL = ("[@]}", "[*]}")


def check(job: Job) -> Iterator[Finding]:
    if job.request.exact_nodes() == 1:
        return  # one node is one element
    seen: set[Span] = set()
    for assigned in job.assignments:
        short = _single(assigned)
        if short is None or assigned.span in seen or job.phase is Phase.SUBMIT:
            continue
        seen.add(assigned.span)
        use = _indexed(job, assigned)
        found = _ELEMENT.fullmatch(job.source.slice(assigned.span))
        if use is None or found is None:
            continue
        group = "array" if found["array"] else "plain"
        place = Span(assigned.span.start + found.start(group), assigned.span.start + found.end(group))
        written = f'$(scontrol show hostnames "${short}")' if short else found["inner"] or found["text"] or found[group]
        what = "Slurm abbreviates the list" if short else "quotes keep the list as one word"
        if group == "plain":
            what, written = "this is not an array", f"({written})"
        array = f"{assigned.name}={written if group == 'plain' else f'({written})'}"
        yield Finding(
            place,
            f"{what}, so line {job.line(use.start)} treats all nodes as one; write `{array}`",
            related=[(use, "expects one node, or their number")],
            fix=Fix("make each node its own element", [replace(place, written)], safe=True),
        )


def _single(assigned: VariableAssignment) -> str | None:
    """The variable whose node list an array gets as its only element, '' for scontrol's list; None otherwise."""
    if not assigned.alternatives:
        return None
    for alternative in assigned.alternatives:
        if alternative.fields is None or len(alternative.fields) != 1 or len(alternative.fields[0]) != 1:
            return None
        piece = alternative.fields[0][0]
        if piece.text is not None or piece.expansion is None:
            return None
        if piece.expansion.name in NODE_LISTS:
            return piece.expansion.name
        # of `scontrol show hostnames`, with nothing after it that selects a part
        commands = piece.expansion.commands
        if piece.open or not commands or not all(map(shows_hostnames, commands)):
            return None
    return ""


def _indexed(job: Job, assigned: VariableAssignment) -> Span | None:
    """Where an element of the array, or the number of elements, is read, before another value is assigned."""
    others = [each for each in job.assignments if each.name == assigned.name and each.span != assigned.span]
    until = min((each.order for each in others if each.order >= assigned.order), default=None)
    for read in job.trace.reads:
        if read.name == assigned.name and read.order >= assigned.order and (until is None or read.order <= until):
            written = job.source.slice(read.span)
            before = job.source.text[read.span.start - 1 : read.span.start]
            if "[" in written and (written.startswith("${#") or before == '"' or not written.endswith(_ALL)):
                return read.span
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        nodes=(«"$(scontrol show hostnames "$SLURM_JOB_NODELIST")"»)
        head=${nodes[0]}
        srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint="$head:29500" train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        head=${nodes[0]}
        srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint="$head:29500" train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        nodes=(«$SLURM_JOB_NODELIST»)
        export MASTER_ADDR=${nodes[0]}
        srun python train.py
        """,
        fixed={"nodes=($SLURM_JOB_NODELIST)": 'nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))'},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        first=("$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)")
        srun python train.py --addr ${nodes[0]} ${first[0]}
        """
    ),
]
