"""The name of a node is wrong: the script cuts it out of Slurm's node list, which is abbreviated.

`SLURM_JOB_NODELIST` is not a list of names. Slurm joins names that differ in their numbers: `node[01-02,07]`, and of
the same job on other nodes `node01,node08`. `${SLURM_NODELIST:0:9}` finds a name where all have the length that they
had on the author's cluster; `${SLURM_NODELIST%%,*}`, `cut -d, -f1`, `tr , '\\n'` and `IFS=,` cut at a comma that may
stand within brackets, so that a launcher waits for a host named `node[01-02`.

Nothing is reported in jobs of one node, whose list is its name, nor where the script looks for the bracket. Advice
where positions are cut behind as many letters as the partition's name has: its nodes are probably named after it.

## Fix

`${SLURM_NODELIST:0:9}` and the like are written by `scontrol show hostnames`. Not made: where the pieces are put
together differs. `scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1` is the first node.

## References

scontrol(1), `show hostnames`; `hostlist_ranged_string()` in src/common/hostlist.c (all releases)
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Parameter, Pipeline, Program, Simple, Word
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.environment import NODE_LISTS
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB441", "node-list-cut", severity="warning", fix="never", since="0.1.0",
    when=Variables(*NODE_LISTS), batch=True, seen="scontrol(1)",
)  # fmt: skip

_CUTTING = frozenset({":", "%", "%%", "#", "##", "/", "//"})
# What cuts a list at its commas, or at a place, in a pipeline.
_TOOLS = Regex(
    r"cut\s+.*-(?:c\s*\d|d\s*[\"']?,).*|tr\s+(?:-s\s+)?[\"']?,[\"']?\s+\S.*|(?:g|m)?awk\s+-F\s*[\"']?,.*"
    r"|sed\s+(?:-[Ee]\s+)?[\"']?s(.),.*"
)
_BEGINNING = Regex(r":[ ]*0[ ]*:[ ]*(\d+)[ ]*\}$")
# What takes one name of a list, and the command that takes it of lines.
_WANTED = (
    (Regex(r"LIST%%|LIST:|-c\s*\d|-f\s*1(?![\d,-])|\$1(?!\d)"), " | head -n 1"),
    (Regex(r"LIST##|\$NF"), " | tail -n 1"),
)


def check(job: Job) -> Iterator[Finding]:
    if job.request.exact_nodes() == 1 or job.phase is not Phase.BATCH:
        return
    for text, program in programs(job):
        string = text.string
        for start, end in _cuts(string, program):
            if "[" in string[start:end]:
                continue
            by_place = string[start:end].startswith("$") and ":" in string[start:end]
            happens = "Slurm shortens lists (`node[01-02]`), so this finds no node name"
            if by_place:
                happens = "this cuts fixed positions out of a list such as `node[01-02]`"
            place = next((each for pattern, each in _WANTED if pattern.search(string, start, end)), "")
            advice = f'scontrol show hostnames "$SLURM_JOB_NODELIST"{place}'
            if string[start] == "$":  # in place of an expansion, not of commands
                advice = f"$({advice})"
            severity = "info" if by_place and _fits_partition(job, string[start:end]) else None
            yield Finding(text.span(start, end), f"{happens}; use `{advice}`", severity)
            break


def _fits_partition(job: Job, written: str) -> bool:
    """Whether `${LIST:0:9}` takes as many letters as the name of a partition has: `learnfair[0012,0107]`."""
    taken = _BEGINNING.search(written)
    names = (job.request.partition or "").split(",")
    return taken is not None and any(len(each) == parse_integer(taken[1]) for each in names)


def _cuts(string: str, program: Program) -> list[tuple[int, int]]:
    """The places that cut the list as a text, in the order of the script."""
    found = [(each.start, each.end) for each in nodes_of(program, Parameter) if _is_cut(each)]
    for pipeline in nodes_of(program, Pipeline):
        first, after = pipeline.commands[0], pipeline.commands[1:2]
        if isinstance(first, Simple) and _prints_list(string, first) and after and isinstance(after[0], Simple):
            if after[0].words and _TOOLS.fullmatch(string, after[0].start, after[0].end):
                found.append((pipeline.start, after[0].words[-1].end))
    for command in nodes_of(program, Simple):
        fed = any(each.operator == "<<<" and _is_list(each.target) for each in command.redirects)
        if fed and _is_split(string, command):
            found.append((command.start, command.end))
    return sorted(found)


def _is_cut(each: Parameter) -> bool:
    """Whether an expansion takes a part of the list, or replaces its commas."""
    if each.name not in NODE_LISTS or each.operator not in _CUTTING or not each.arguments:
        return False
    pattern = literal_text(each.arguments[0])
    if each.operator == ":":  # `:5:-1` takes the brackets away on purpose
        return pattern is not None and not any((literal_text(word) or "").startswith("-") for word in each.arguments)
    return pattern is not None and "," in pattern and "[" not in pattern


def _prints_list(string: str, command: Simple) -> bool:
    """Whether a command prints nothing but the list."""
    name = string[command.words[0].start : command.words[0].end] if command.words else ""
    return has_trait(name, "prints") and _is_list(command.words[-1] if isinstance(command.words[-1], Word) else None)


def _is_list(word: Word | None) -> bool:
    part = word.parts[0] if word is not None and len(word.parts) == 1 else None
    return isinstance(part, Parameter) and part.name in NODE_LISTS and not part.operator


def _is_split(string: str, command: Simple) -> bool:
    """Whether a command that reads the list splits it at its commas."""
    split = any(each.name == "IFS" and "," in string[each.start : each.end] for each in command.assignments)
    words = string[command.words[0].start : command.words[-1].end] if command.words else ""
    return split or _TOOLS.fullmatch(words) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=8 --gpus-per-node=8
        first=«${SLURM_JOB_NODELIST:0:9}»${SLURM_JOB_NODELIST:10:4}
        srun python train.py --dist_url "tcp://$first:40000"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        export MASTER_ADDR=«${SLURM_NODELIST%%,*}»
        srun python train.py
        """,
        title="up to the first comma",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        «echo "$SLURM_JOB_NODELIST" | tr ',' '\\n'» > hosts.txt
        mpirun --hostfile hosts.txt ./solver
        """,
        title="commas to lines",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        «IFS=, read -ra NODES <<< "$SLURM_JOB_NODELIST"»
        for node in "${NODES[@]}"; do
            ssh "$node" hostname
        done
        """,
        title="read as an array",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=8
        first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        echo "${SLURM_JOB_NODELIST}" | tr -d ' '
        srun python train.py --dist_url "tcp://$first:40000"
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8
        port=${SLURM_NODELIST:4:2}000
        srun python train.py --port "$port"
        """,
        title="one node",
    ),
]
