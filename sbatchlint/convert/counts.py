"""Names and commands that count the devices, processes or nodes of a job, as scripts and programs write them."""

from sbatchlint.source.regex import Regex

_WORD = Regex(r"[a-z]+|\d+")
_CAMEL = Regex(r"(?<=[a-z0-9])(?=[A-Z])")
# What is counted, and words that say alone that it is.
_THINGS = frozenset({"gpu", "device", "npu", "proc", "process", "worker", "rank", "accelerator", "card", "world"})
_COUNTED = frozenset(
    {
        "gpus", "ngpu", "ngpus", "numgpu", "numgpus", "gpunum", "npus", "nnpu", "nproc", "nprocs", "procs", "processes",
        "worldsize", "ndevices", "nworkers", "nranks", "numprocs", "np", "gpucount", "gpun", "ndev", "ntasks",
    }
)  # fmt: skip
_HOW_MANY = frozenset({"n", "num", "number", "nums", "count", "cnt", "total", "size", "all", "nb", "no"})
# Other sizes, and what is counted for each device or node.
_OTHERS = frozenset(
    {
        "batch", "bs", "mem", "memory", "type", "model", "name", "cache", "util", "utilization", "dir", "path",
        "loader", "loaders", "data", "dataloader", "lora", "micro", "growth", "seed", "log", "tensor", "pipeline",
        "expert", "context", "thread", "threads", "frac", "fraction", "arch", "time", "id", "ids", "visible", "order",
        "embed", "head", "download",
    }
)  # fmt: skip
_DEVICES = frozenset({"gpus", "gpu", "devices", "device", "cuda", "gpuid", "gpuids"})
_LISTS = _DEVICES | {"ids", "id"}
# What says of itself that it is of one node, or of one process.
OF_ONE_NODE = Regex(
    r"(?i).*(?:thread|num_?workers|visible_devices|gpu_device_ordinal|per_?node|_on_node|per_?proc|per_?rank|per_?task"
    r"|local_?(?:world)?_?size|nproc_per|per-node|num-workers|cpus?(?:_|-|$)|memory|shm|(?:^|[^a-z])np?roc_)"
)
_NODES = Regex(
    r"(?i)(?:[a-z]\w*_)?(?:n?nodes|n_nodes|num_?nodes|num_of_nodes|node_?(?:num|count|size)|num_?machines|nnode|machines)"
)
# Commands that print how many devices a node has, or which.
MEASURES = Regex(
    r"device_count|(?:nvidia|rocm|npu|amd|xpu)-smi\b[^\n]{0,200}(?:-[lL]\b|--list|--show|count|index|uuid|\bwc\b)"
    r"|/dev/nvidia|VISIBLE_DEVICES|GPUS_ON_NODE|list_physical_devices"
)
# Variables in which Slurm counts the nodes, or the tasks of all of them.
SLURM_NODES = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NPROCS")
OF_NODES = Regex("|".join(SLURM_NODES))
# Those in which it counts the devices or tasks of one.
OF_NODE = ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE")


def parts_of(name: str) -> list[str]:
    """The words of a name: `NUM_GPUS`, `numGpus` and `num-gpus` have `num` and `gpus`."""
    return _WORD.findall(_CAMEL.sub("_", name).lower())


def counts_nodes(name: str) -> bool:
    return _NODES.fullmatch(name.replace("-", "_")) is not None


def counts_devices(name: str) -> bool:
    """Whether a name says that it counts devices or processes, also those of one node."""
    parts = parts_of(name)
    if not parts or "per" in parts and parts[-1] not in ("node", "machine", "host") or not _OTHERS.isdisjoint(parts):
        return False
    if any("batch" in each for each in parts):
        return False
    if not _COUNTED.isdisjoint(parts):
        return True
    things = _THINGS & {"process" if each.startswith("process") else each.removesuffix("s") for each in parts}
    return bool(things) and not _HOW_MANY.isdisjoint(parts)


def counts_parts(name: str) -> bool:
    """Whether a name says into how many parts the processes divide the work: `--num_shards`, `--world`."""
    parts = {each.removesuffix("s") for each in parts_of(name)}
    return bool(parts & {"shard", "replica", "partition", "peer", "world", "chunk"}) and not parts & {"id", "index"}


def counts_replicas(name: str) -> bool:
    """Whether a name says how many processes share the data: `--dp_size`, `--data_parallel_shard_degree`."""
    parts = parts_of(name)
    if not {"tp", "tensor", "pp", "pipeline", "batch", "backend", "type", "mode", "strategy"}.isdisjoint(parts):
        return False
    return (
        parts in (["dp"], ["ddp"])
        or {"data", "parallel"} <= {*parts}
        or (
            not {"dp", "ddp", "fsdp"}.isdisjoint(parts)
            and not {"size", "degree", "shard", "replicate"}.isdisjoint(parts)
        )
    )


def lists_devices(name: str) -> bool:
    """Whether a name says that it lists devices by their numbers."""
    parts = parts_of(name)
    if not parts or "per" in parts or not _HOW_MANY.isdisjoint(parts):
        return False
    return parts[-1] in _LISTS and not _DEVICES.isdisjoint(parts)
