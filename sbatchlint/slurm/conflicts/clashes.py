"""Options of a job that exclude each other, and inconsistent numbers, by release of Slurm.

In the order of sbatch: `validate_options_salloc_sbatch_srun()` of src/common/slurm_opt.c, `_opt_verify()` of
src/sbatch/opt.c, then the sums of GPUs; read in 20.11 to 26.05. Rules that depend on the configuration of a site are
left out (`--core-spec` without AllowSpecResourcesUsage, `--resv-ports` without a step manager, shared GPUs).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from sbatchlint.slurm.conflicts.by_task import UnknownValue, task_fault
from sbatchlint.slurm.conflicts.clash import CONTROLLER, IGNORED, JOB, WARNING, Clash
from sbatchlint.slurm.conflicts.controller import GRES, NO_NODES, TASKS, moment, refused_late
from sbatchlint.slurm.conflicts.counts import Client, client_counts, described, options_overriding_hint
from sbatchlint.slurm.conflicts.gpu_arithmetic import INVALID, Values, number, resources_of
from sbatchlint.slurm.grammar.choices import distribution
from sbatchlint.slurm.versions import answers, is_before, is_release

Rule = Callable[["Values", str], Iterator[Clash]]

_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
_PER_GPU = ("ntasks-per-gpu", "ntasks-per-tres")


def clashes(values: Values, versions: Sequence[str], component: int = 0, components: int = 1) -> dict[str, list[Clash]]:
    """The clashes of the options of one component of a job, by release; see `counts` for the mapping.

    Rules about unknown values are skipped.
    """
    unruled = [name for name, others in _UNRULED_WITHOUT.items() if name in values and others.isdisjoint(values)]
    if components < 2:
        unruled.append("array")
    ruled = tuple([each for each in values.items() if each[0] not in _UNRULED and each[0] not in unruled])
    return _clashes(ruled, tuple(versions), min(component, 1), min(components, 2))


# Options without rules: they differ from script to script, while many scripts share the others, which are cached.
_UNRULED_NAMES = (
    "account chdir comment dependency error export input job-name mail-type mail-user no-requeue open-mode output"
    " partition qos requeue reservation signal wait-all-nodes"
)
_UNRULED = frozenset(_UNRULED_NAMES.split())
# Options that have rules only together with one of these.
_UNRULED_WITHOUT = {
    "constraint": frozenset({"batch"}),
    "exclude": frozenset({"nodelist"}),
    "exclusive": frozenset({"oversubscribe"}),
    "mem": frozenset({"mem-per-cpu", "mem-per-gpu"}),
    "mem-per-cpu": frozenset({"mem", "mem-per-gpu"}),
    "time": frozenset({"deadline", "time-min"}),
}


@lru_cache(maxsize=1024)
def _clashes(
    settings: tuple[tuple[str, str | None], ...], versions: tuple[str, ...], component: int, components: int
) -> dict[str, list[Clash]]:
    values = dict(settings)
    found: dict[str, list[Clash]] = {version: [] for version in versions}

    def apply(rule: Rule) -> None:
        for version, result in answers(lambda release: _clashes_by(rule, values, release), versions):
            found[version].extend(result)

    def late(values: Values, version: str) -> Iterator[Clash]:
        return refused_late(values, version, component, components)

    for rule in (_excluded, _task_resources, _value_rules, _counted, late):
        apply(rule)
    return found


def _clashes_by(rule: Rule, values: Values, version: str) -> list[Clash]:
    found: list[Clash] = []
    try:
        found.extend(rule(values, version))
    except UnknownValue:
        pass  # the clashes found before the unknown value count
    return found


def _excluded(values: Values, version: str) -> Iterator[Clash]:
    """Options that exclude each other, whatever their values."""
    per_gpu = tuple(name for name in _PER_GPU if name in values)
    if per_gpu:
        for order, name in enumerate(("tres-per-task", "gpus-per-task", "gpus-per-socket", "ntasks-per-node"), 20):
            if name in values and (name != "tres-per-task" or not is_before(version, "23.02")):
                message = f"--{name} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
                yield Clash("tasks-per-gpu", (name, *per_gpu), message, order)
        if len(per_gpu) == 2 and is_before(version, "21.08"):
            message = "--ntasks-per-gpu and --ntasks-per-tres are mutually exclusive"
            yield Clash("tasks-per-gpu", per_gpu, message, 19)
    if "core-spec" in values and "thread-spec" in values:
        if not is_before(version, "21.08"):
            message = "-S/--core-spec and --thred-spec options are mutually exclusive"
            yield Clash("core-spec", ("core-spec", "thread-spec"), message, 30)
        else:
            yield Clash("core-spec", ("core-spec", "thread-spec"), "", 930, effect=IGNORED)
    memory = tuple(name for name in _MEMORY if name in values)
    if len(memory) > 1:
        message = "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
        yield Clash("memory", memory, message, 125 if is_before(version, "21.08") else 40)
    if "exclusive" in values and "oversubscribe" in values:
        pair = ("exclusive", "oversubscribe")
        if not is_before(version, "23.02"):
            message = "--exclusive and --oversubscribe options are mutually exclusive"
            yield Clash("exclusive", pair, message, 50)
        else:
            yield Clash("exclusive", pair, "", 950, effect=IGNORED)
    if "bb" in values and "bbf" in values:
        yield Clash("burst-buffer", ("bb", "bbf"), "Cannot specify both --burst-buffer and --bbf", 100)
    rivals = options_overriding_hint(values, version)
    if rivals:
        yield Clash("hint", ("hint", *rivals), "", 900, effect=IGNORED)
    if distribution(values.get("distribution") or "") == ("arbitrary",):
        if "nodes" in values and not is_before(version, "23.11"):
            message = "--nodes is incompatible with --distribution=arbitrary"
            yield Clash("arbitrary", ("nodes", "distribution"), message, 80)
        if "nodelist" not in values and "nodefile" not in values:
            message = "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option"
            yield Clash("arbitrary-without-nodes", ("distribution",), message, 200, JOB)


def _task_resources(values: Values, version: str) -> Iterator[Clash]:
    """`--tres-per-task` with the options that it includes, and `--cpus-per-gpu` with `--cpus-per-task`."""
    if "tres-per-task" not in values and "gpus-per-task" not in values and "cpus-per-gpu" not in values:
        return
    resources = values.get("tres-per-task")
    if is_before(version, "23.02"):
        resources = None
    elif "tres-per-task" in values and resources is None:
        raise UnknownValue
    text = (resources or "").lower()
    cpus = tuple(name for name in ("cpus-per-task",) if name in values)
    newer = not is_before(version, "24.05")
    if resources is not None and "gpus-per-task" in values:
        pair = ("tres-per-task", "gpus-per-task")
        if newer:
            for kind in _gpu_kinds(values["gpus-per-task"]):
                if f"gres/gpu{kind}" in re.sub(r"gres:", "gres/", text):
                    message = (
                        f"You can not have --tres-per-task=gres/gpu{kind}= and --gpus-per-task please use one or the"
                        " other"
                    )
                    yield Clash("tres-per-task", pair, message, 60)
                    break
        elif not is_before(version, "23.11"):
            yield Clash("tres-per-task", pair, "gpus-per-task is mutually exclusive with tres-per-task", 60)
        elif "gpu:" in text:
            message = "You can not have --tres-per-task=gres:gpu: and --gpus-per-task please use one or the other"
            yield Clash("tres-per-task", pair, message, 60)
    if newer and resources is None and "gpus-per-task" in values:
        fault = task_fault(values, version)
        if fault is not None:
            yield Clash("gpu-types", ("gpus-per-task",), fault, 60)
    cpu = "cpu" in text if newer else "cpu:" in text
    if cpu and cpus:
        words = "cpu= and --cpus-per-task" if newer else "cpu: and -c"
        message = f"You can not have --tres-per-task={words} please use one or the other"
        yield Clash("tres-per-task", ("tres-per-task", *cpus), message, 61)
    if "cpus-per-gpu" in values and (cpus or cpu) and not is_before(version, "23.11"):
        message = "--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive"
        yield Clash("cpus-per-gpu", ("cpus-per-gpu", *(cpus or ("tres-per-task",))), message, 70)


def _gpu_kinds(string: str | None) -> list[str]:
    """The types in `--gpus-per-task` as `:a100`, '' for none. Raises UnknownValue."""
    if string is None:
        raise UnknownValue
    return [f":{kind}" if kind else "" for kind in (part.rpartition(":")[0] for part in string.split(","))]


def _value_rules(values: Values, version: str) -> Iterator[Clash]:
    """Options whose values exclude each other, except for counts."""
    for rule in (_gres_twice, _unequal_tasks_per_gpu, _segment, _begin):
        try:
            yield from rule(values, version)
        except UnknownValue:
            continue


def _gres_twice(values: Values, version: str) -> Iterator[Clash]:
    """GPUs both in `--gres` and in `--gpus-per-node`: before 26.05 the number in `--gres` wins."""
    if "gres" not in values or "gpus-per-node" not in values or values["gres"] is None:
        return
    pair = ("gpus-per-node", "gres")
    if not is_before(version, "26.05"):
        # Any item with this prefix, whatever its count.
        if any(part.removeprefix("gres/").startswith("gpu") for part in values["gres"].split(",")):
            yield Clash("gres-twice", pair, "--gpus-per-node and --gres=gpu are mutually exclusive.", 10)
    elif any(item.name == "gpu" and item.count for item in resources_of(values["gres"], version)):
        yield Clash("gres-twice", pair, "", 910, effect=IGNORED)


def _unequal_tasks_per_gpu(values: Values, version: str) -> Iterator[Clash]:
    if is_before(version, "21.08") or not all(name in values for name in _PER_GPU):
        return
    gpu, tres = (number(values[name]) for name in _PER_GPU)
    if gpu != tres:
        message = f"Inconsistent values set to --ntasks-per-gpu={gpu} and --ntasks-per-tres={tres} "
        yield Clash("tasks-per-gpu", _PER_GPU, message, 19)


def _segment(values: Values, version: str) -> Iterator[Clash]:
    if "segment" not in values or "nodes" not in values or is_before(version, "26.05"):
        return
    segment = number(values["segment"])
    client = client_counts({"nodes": values["nodes"]}, version)
    nodes = client.max_nodes if client.sizes is not None and client.max_nodes else client.min_nodes
    if segment and nodes > segment and nodes % segment:
        message = (
            f"--segment={segment} does not fit the job size ({nodes}): node count must be evenly divisible by segment"
            " size"
        )
        yield Clash("segment", ("segment", "nodes"), message, 90)


def _begin(values: Values, _: str) -> Iterator[Clash]:
    if "begin" in values and "deadline" in values:
        begin, deadline = moment(values["begin"]), moment(values["deadline"])
        if begin[0] == deadline[0] and deadline[1:] < begin[1:]:
            message = "Incompatible begin and deadline time specification"
            yield Clash("begin", ("begin", "deadline"), message, 160)


def _counted(values: Values, version: str) -> Iterator[Clash]:
    """Inconsistent counts."""
    client = client_counts(values, version)
    minimum, maximum = client.verified_nodes
    if maximum and minimum > maximum:
        message = f"invalid number of nodes (-N {minimum}-{maximum})"
        yield Clash("nodelist", ("nodes", "nodelist"), message, 120)
    if client.too_few_for_plane:
        names = tuple(name for name in ("nodes", "nodelist", "ntasks", "ntasks-per-node") if name in values)
        message = "Too few processes for the requested {plane,node} distribution"
        yield Clash("plane", ("distribution", *names), message, 130)
    if client.shrunk_from is not None:
        message = (
            f"can't run {client.ntasks} processes on {client.shrunk_from} nodes, setting nnodes to {client.ntasks}"
        )
        names = tuple(name for name in ("nodes", "nodelist") if name in values)
        yield Clash("fewer-tasks", (*names, "ntasks"), message, 140, effect=WARNING)
    threads, cores = client.threads, client.ntasks_per_core
    if threads is not None and cores is not None and threads < cores and not is_before(version, "23.02"):
        option = max(("threads-per-core", "extra-node-info", "hint"), key=lambda name: _place(values, name))
        message = f"--ntasks-per-core ({cores}) can not be bigger than --threads-per-core ({threads})"
        yield Clash("ntasks-per-core", ("ntasks-per-core", option), message, 150)
    if is_release(version, "20.11") and "gpus-per-socket" in values and client.sockets is None:
        message = "--gpus-per-socket option requires --sockets-per-node specification"
        yield Clash("gpus-per-socket", ("gpus-per-socket",), message, 170)
    yield from _sent(client, values, version)


def _place(values: Values, name: str) -> int:
    return list(values).index(name) if name in values else -1


def _sent(client: Client, values: Values, version: str) -> Iterator[Clash]:
    """Inconsistent sums of GPUs, and what slurmctld refuses."""
    job, mismatch = described(client, values, version)
    if mismatch is not None:
        if is_release(version, "20.11"):
            yield Clash(mismatch.kind, mismatch.names, INVALID, GRES, CONTROLLER)
        else:
            yield Clash(mismatch.kind, mismatch.names, mismatch.message, 210, JOB)
        return
    tasks, nodes = job.num_tasks, job.min_nodes
    if tasks and nodes and tasks < nodes and not is_before(version, "23.02"):
        involved = ("nodes", "nodelist", "ntasks", "gpus", "gpus-per-task", "tres-per-task", *_PER_GPU)
        names = tuple(name for name in involved if name in values)
        yield Clash("tasks-below-nodes", names, "Task count specification invalid", TASKS, CONTROLLER)
    if client.ntasks_set and client.ntasks == 0 and not client.nodes_set and "extra-node-info" in values:
        # A held job is accepted nevertheless.
        message = "Batch job submission failed: Node count specification invalid"
        yield Clash("no-tasks", ("extra-node-info",), message, NO_NODES, CONTROLLER)
