"""Whether an expansion has the same value in the whole job, or differs between tasks, nodes or processes.

Task variables are in Slurm's table; substitutions are known by the commands that they run. `$$` and `$RANDOM` differ
between any two processes. For what is not recognised there is no answer.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.values import Expansion
from sbatchlint.job.environment import PER_NODE, PER_TASK, TASK_VARIABLES
from sbatchlint.programs import programs_with
from sbatchlint.slurm.environment import find

TASK, NODE, PROCESS = "task", "node", "process"

# Commands whose output describes the node on which they run: its name, its addresses, its devices.
_OF_NODE = programs_with("node")
_NODE_NAMES = frozenset({"hostname", "hostnamectl", "uname", "cat", "ip", "ifconfig"})
_OF_PROCESS = frozenset({"mktemp", "uuidgen", "shuf"})
# The commands whose output `variation_of_output` may find to differ; None as an unknown one may start such a command.
VARYING_OUTPUTS: frozenset[str | None] = _OF_NODE | _OF_PROCESS | {"uname", "cat", None}
# Commands that ask Slurm, which gives the same answer everywhere, whatever their arguments are.
_OF_JOB = programs_with("asks-slurm") | {"srun", "nodeset"}
_PROCESS_VARIABLES = frozenset({"$", "BASHPID", "RANDOM", "SRANDOM"})
# Variables that `variation` finds to differ, without Slurm's task variables.
PLACE_VARIABLES = _PROCESS_VARIABLES | {"HOSTNAME"}


# Parts of the names of options and variables: of the place where all processes meet, and of a process's own place.
# Other names may be either, as the first node's name is mostly passed on purpose.
_MEETING_PARTS = (
    "addresses chief connect coord coordinator dist driver endpoint first head init join leader lead main master peer "
    "primary rdzv redis remote rendezvous root router scheduler server servers tracker url"
)
_MEETING = frozenset(_MEETING_PARTS.split())
_OWN = frozenset({"advertise", "bind", "client", "host", "local", "my", "node", "own", "self", "this", "worker"})
_PLACE = frozenset({"addr", "address", "hostname", "ip", "name", "nodename"})
# Things of which there are several, each with a number.
_SEVERAL_PARTS = "chunk host machine member node part partition proc process replica shard split task worker"
_OF_SEVERAL = frozenset(_SEVERAL_PARTS.split())


class Variation(NamedTuple):
    """How a value varies. `by`: `task`, `node`, or `process` (any two). `name`: it is a node's name or address."""

    by: str
    name: bool


def variation(expansion: Expansion) -> Variation | None:
    """How the value of an expansion varies; None if it is the same everywhere, or if that is not known."""
    name = expansion.name
    if name in TASK_VARIABLES:
        return Variation(TASK if name in PER_TASK else NODE, name == "SLURMD_NODENAME")
    if name == "HOSTNAME":
        return Variation(NODE, True)
    if name in _PROCESS_VARIABLES:
        return Variation(PROCESS, False)
    if not name.startswith("$("):
        return None
    commands = [words[0].rpartition("/")[2] for words in expansion.commands if words]
    if any(each in _OF_JOB for each in commands):
        return None
    return next(filter(None, map(variation_of_output, expansion.commands)), None)


def variation_of_output(words: Sequence[str]) -> Variation | None:
    """How the output of a command with these words varies; None if it is not known to."""
    command = words[0].rpartition("/")[2] if words else ""
    if command in _OF_NODE or command == "uname" and any(flag in words for flag in ("-n", "--nodename", "-a")):
        return Variation(NODE, command in _NODE_NAMES)
    if command == "cat" and any(word in ("/etc/hostname", "/proc/sys/kernel/hostname") for word in words):
        return Variation(NODE, True)
    return Variation(PROCESS, False) if command in _OF_PROCESS else None


@lru_cache(maxsize=4096)  # most scripts have the same names
def names_own_host(name: str) -> bool:
    """Whether an option or variable of this name tells a process its own host: `local-addr`, `NODE_IP`."""
    parts = set(re.split(r"[-_.]", name.lower()))
    if parts & _MEETING:
        return False
    return bool(parts & _OWN and parts & _PLACE) or parts <= {"hostname", "nodename"}


@lru_cache(maxsize=4096)
def names_rank(name: str) -> bool:
    """Whether an option or variable of this name tells a process its rank: `node-rank`, `WORKER_ID`."""
    parts = re.split(r"[-_.]", name.lower())
    if parts[-1] in ("rank", "rankid", "procid", "nodeid", "localid"):
        return True
    return len(parts) > 1 and parts[-1] in ("id", "index", "idx") and parts[-2] in _OF_SEVERAL


def of_task(expansion: Expansion) -> bool:
    """Whether it is a task variable, which the batch shell has too, with the value of the first task."""
    return expansion.name in TASK_VARIABLES


def of_job(expansion: Expansion) -> bool:
    """Whether it is a Slurm variable that is the same in all tasks of a step."""
    entry = find(expansion.name) if expansion.name.startswith("SLURM_") else None
    return entry is not None and not entry.varies and entry.when in ("always", "options") and bool(entry.batch)


def same_in_all_tasks(expansion: Expansion, tasks: int | None, nodes: int | None, per_node: int | None) -> bool:
    """Whether the batch shell's value is right in every task of a step with these numbers (None: not known)."""
    if expansion.name == "SLURM_LOCALID":
        return per_node == 1 or tasks == 1
    found = variation(expansion)
    if found is not None and found.by == NODE and (expansion.name in PER_NODE or not of_task(expansion)):
        return nodes == 1 or tasks == 1
    return tasks == 1
