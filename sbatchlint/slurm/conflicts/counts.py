"""The nodes, tasks and CPUs of a job that result from its options together.

sbatch determines most of them (`_opt_verify()`, src/sbatch/opt.c, and `slurm_opt_create_job_desc()`,
src/common/slurm_opt.c), slurmctld the rest (`validate_job_create_req()` and `_copy_job_desc_to_job_record()`,
src/slurmctld/job_mgr.c); read in 20.11 to 26.05.

Options are a mapping from long names to values as written (None for an option without a value), in the order in which
they are set: of `--extra-node-info` and `--threads-per-core` the later one wins. Options that are not set are missing.
"""

from typing import NamedTuple

from sbatchlint.slurm.conflicts.by_task import UnknownValue
from sbatchlint.slurm.conflicts.gpu_arithmetic import Description, Mismatch, Values, number, settle, task_resources
from sbatchlint.slurm.grammar.choices import distribution, hints, plane_size
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import node_count
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex


class Counts(NamedTuple):
    """The numbers of a job as recorded by slurmctld; None for a number that is not set.

    `max_nodes`: since 26.05 at most the number of tasks. `sizes`: the node counts that a list (`-N 2,4`) allows.
    `ntasks_given`: whether the options determine it, also by `--ntasks-per-node`, by GPUs or (`multiplied`) because
    sbatch sets a task for each requested socket, core or thread. `shrunk_from`: the number of nodes requested, if it
    was reduced to the number of tasks. `requested_nodes`: the minimum and maximum as requested.
    """

    min_nodes: int
    max_nodes: int | None
    sizes: tuple[int, ...] | None
    requested_nodes: tuple[int, int] | None
    ntasks: int
    ntasks_given: bool
    multiplied: bool
    shrunk_from: int | None
    ntasks_per_node: int | None
    ntasks_per_socket: int | None
    ntasks_per_core: int | None
    ntasks_per_gpu: int | None
    cpus_per_task: int | None
    sockets_per_node: int | None
    cores_per_socket: int | None
    threads_per_core: int | None


class Client:
    """The numbers in sbatch after `_opt_verify()`, before the GPU options apply."""

    def __init__(self) -> None:
        self.min_nodes, self.max_nodes = 1, 0
        self.nodes_set = self.ntasks_set = self.extra = self.multiplied = False
        self.arbitrary = self.too_few_for_plane = False
        self.requested: tuple[int, int] | None = None
        self.sizes: tuple[int, ...] | None = None
        self.ntasks = 1
        self.ntasks_per_node: int | None = None
        self.ntasks_per_socket: int | None = None
        self.ntasks_per_core: int | None = None
        self.ntasks_per_gpu: int | None = None
        self.cpus_per_task: int | None = None
        self.sockets: int | None = None
        self.cores: int | None = None
        self.threads: int | None = None
        self.hosts: list[str] | None = None
        self.plane: int | None = None
        self.shrunk_from: int | None = None
        # The minimum and maximum of nodes with those of a node list, before the tasks reduce them.
        self.verified_nodes = (1, 0)


# Options for which sbatch drops a hint; the second tuple since 25.11.
_HINT_RIVALS = ("ntasks-per-core", "threads-per-core", "extra-node-info")
_HINT_RIVALS_NEW = (*_HINT_RIVALS, "cores-per-socket", "sockets-per-node")

# The name of a hint inherited from an earlier component of a heterogeneous job, among the options.
INHERITED_HINT = "SLURM_HINT"
# As many tasks on a core as it has threads.
_AS_MANY = 65535

# Items of a list of hosts: commas in brackets do not separate them.
_HOSTS = Regex(r"(?:[^,\[]|\[[^\[\]]*\])+")


def options_overriding_hint(values: Values, version: str) -> tuple[str, ...]:
    """The options for which sbatch drops `--hint` (`validate_hint_option()`)."""
    if "hint" not in values:
        return ()
    return tuple(name for name in _hint_rivals(version) if name in values)


def _hint_rivals(version: str) -> tuple[str, ...]:
    return _HINT_RIVALS if is_before(version, "25.11") else _HINT_RIVALS_NEW


def job_counts(values: Values, version: str) -> Counts | None:
    """The numbers of a job; None if a value that affects them is unknown.

    If Slurm refuses the job, they are the numbers at that point.
    """
    try:
        client = client_counts(values, version)
        job, _ = described(client, values, version)
        return _recorded(client, job, values, version)
    except UnknownValue:
        return None


def client_counts(values: Values, version: str) -> Client:
    """The numbers that sbatch derives from the options. Raises UnknownValue."""
    client = Client()
    _read(client, values, version)
    _apply_hint(client, values, version)
    _count_hosts(client, values, version)
    old = is_before(version, "23.02")
    exact = client.max_nodes in (0, client.min_nodes)
    if old and client.ntasks_per_node and not client.ntasks_set and exact:
        client.ntasks = client.min_nodes * client.ntasks_per_node
        client.ntasks_set = True
    client.verified_nodes = (client.min_nodes, client.max_nodes)
    if client.plane:
        nodes = client.min_nodes
        few = nodes <= 0 or client.ntasks // client.plane < nodes
        client.too_few_for_plane = few and (nodes - 1) * client.plane >= client.ntasks
    per_node = None if old else client.ntasks_per_node
    if (client.nodes_set or client.extra) and exact and per_node is None and not client.ntasks_set:
        client.ntasks = max(client.min_nodes, 1)
        for factor in (client.sockets, client.cores, client.threads):
            if factor is not None:
                client.ntasks *= factor
                client.ntasks_set = client.multiplied = True
    elif client.nodes_set and client.ntasks_set:
        client.max_nodes = min(client.max_nodes, client.ntasks)
        if client.ntasks < client.min_nodes:
            client.shrunk_from = client.min_nodes
            client.min_nodes = client.max_nodes = client.ntasks
    if client.arbitrary and client.hosts is not None:
        if not client.ntasks_set:
            # If the list was counted for the nodes, sbatch has already removed duplicates from it.
            counted = old or is_before(version, "23.11") and client.requested is None
            named = set(client.hosts) if counted else client.hosts
            client.ntasks, client.ntasks_set = len(named), True
        if not client.nodes_set:
            client.min_nodes = client.max_nodes = len(set(client.hosts))
            client.nodes_set = True
    return client


def _read(client: Client, values: Values, version: str) -> None:
    """Sets the numbers in the options."""
    if "nodes" in values:
        nodes = node_count(values["nodes"], version)
        if nodes is None:
            raise UnknownValue
        client.min_nodes, client.max_nodes, client.sizes = nodes.minimum, nodes.maximum, nodes.sizes or None
        client.nodes_set = True
        client.requested = (client.min_nodes, client.max_nodes)
    if "ntasks" in values:
        client.ntasks, client.ntasks_set = number(values["ntasks"]), True
    for name, value in values.items():
        if name == "extra-node-info":
            client.extra = True
            client.sockets, client.cores, client.threads = _extra_node_info(value)
        elif name in _NUMBERS:
            setattr(client, _NUMBERS[name], number(value))
    if "ntasks-per-tres" in values:
        client.ntasks_per_gpu = number(values["ntasks-per-tres"])
    if "tres-per-task" in values and not is_before(version, "23.02"):
        cpus, _ = task_resources(values["tres-per-task"], version)
        client.cpus_per_task = cpus if cpus is not None else client.cpus_per_task
    how = values.get("distribution") or ""
    client.plane = plane_size(how)
    client.arbitrary = distribution(how) == ("arbitrary",)


_NUMBERS = {
    "ntasks-per-node": "ntasks_per_node",
    "ntasks-per-socket": "ntasks_per_socket",
    "ntasks-per-core": "ntasks_per_core",
    "ntasks-per-gpu": "ntasks_per_gpu",
    "cpus-per-task": "cpus_per_task",
    "sockets-per-node": "sockets",
    "cores-per-socket": "cores",
    "threads-per-core": "threads",
}


def _extra_node_info(string: str | None) -> tuple[int | None, int | None, int | None]:
    """The sockets, cores and threads of `2:4:1`; None for `*` or a missing one."""
    parts = (string or "").split(":")
    if not string or len(parts) > 3:
        raise UnknownValue
    found: list[int | None] = [None if part in ("", "*") else number(part.partition("-")[0]) for part in parts]
    sockets, cores, threads = (*found, None, None)[:3]
    return sockets, cores, threads


def _apply_hint(client: Client, values: Values, version: str) -> None:
    hint = values.get(INHERITED_HINT, values.get("hint"))
    if hint is None and "hint" not in values or any(name in values for name in _hint_rivals(version)):
        return
    if INHERITED_HINT not in values:
        client.sockets = client.cores = client.threads = client.ntasks_per_core = None
    for word in hints((hint or "").lower()):
        if word == "compute_bound":
            client.sockets = client.cores = None
            client.threads = 1
        elif word == "memory_bound":
            client.cores = client.threads = 1
        elif word == "multithread":
            client.threads, client.ntasks_per_core = None, _AS_MANY
        elif word == "nomultithread":
            client.threads = 1
        else:
            raise UnknownValue


def _count_hosts(client: Client, values: Values, version: str) -> None:
    """Takes the number of nodes from `--nodelist` without `--nodes`; before 23.02 also raises that of `--nodes`."""
    if "nodefile" not in values and "nodelist" not in values:
        return
    old = is_before(version, "23.02")
    if not old and client.nodes_set and not client.arbitrary:
        return
    client.hosts = _hosts(None if "nodefile" in values else values["nodelist"], version)
    count = len(set(client.hosts))
    if client.nodes_set:
        client.min_nodes = max(client.min_nodes, count) if old else client.min_nodes
    else:
        client.min_nodes, client.nodes_set = count, True


def _hosts(string: str | None, version: str) -> list[str]:
    """The nodes of a list, with duplicates. Raises UnknownValue, also for the name of a file."""
    found: list[str] = []
    for item in _HOSTS.findall(string or "/"):
        names = hosts(item, version)
        if names is None:
            raise UnknownValue
        found += names
    return found


def described(client: Client, values: Values, version: str) -> tuple[Description, Mismatch | None]:
    """The job as sbatch describes it, and the sum of GPUs for which it exits, None if none. Raises UnknownValue."""
    job = Description()
    job.num_tasks = client.ntasks if client.ntasks_set else None
    job.ntasks_per_node = client.ntasks_per_node
    job.ntasks_per_socket = client.ntasks_per_socket
    job.ntasks_per_gpu = client.ntasks_per_gpu
    job.sockets_per_node = client.sockets
    job.cpus_per_task = client.cpus_per_task
    if client.nodes_set:
        job.min_nodes = client.min_nodes
        job.max_nodes = client.max_nodes or None
    elif client.ntasks_set and client.ntasks_per_node and not is_before(version, "23.11"):
        job.min_nodes = -(-client.ntasks // client.ntasks_per_node)
    if "clusters" in values:
        return job, None
    return job, settle(values, job, version)


def _recorded(client: Client, job: Description, values: Values, version: str) -> Counts:
    """The numbers that slurmctld records for a job."""
    per_node, tasks = job.ntasks_per_node, job.num_tasks
    is_set = tasks is not None
    minimum, maximum = job.min_nodes, job.max_nodes
    if not is_before(version, "23.02"):
        minimum = 1 if minimum is None else minimum
        if tasks is None and per_node:
            tasks, is_set = minimum * per_node, True
    elif tasks is None and minimum is not None and per_node:
        tasks, is_set = minimum * per_node, True
    minimum = 1 if minimum is None else minimum
    if maximum is None and tasks and not is_before(version, "26.05") and "spread-job" not in values:
        maximum = tasks
    sizes = client.sizes
    if sizes is not None and (maximum is None or maximum < sizes[-1]):
        # slurmctld cannot parse a list of sizes that exceeds the maximum.
        sizes = None
    return Counts(
        minimum,
        maximum,
        sizes,
        client.requested,
        tasks or minimum,
        is_set,
        client.multiplied,
        client.shrunk_from,
        per_node,
        job.ntasks_per_socket,
        None if client.ntasks_per_core == _AS_MANY else client.ntasks_per_core,
        client.ntasks_per_gpu,
        job.cpus_per_task,
        job.sockets_per_node,
        client.cores,
        client.threads,
    )
