"""The GPUs of a step: how many it has on each node, how its tasks share them, and which of them each task sees.

In each form of a request, a step requests what the options of its srun say, or else what srun inherits from the job by
SLURM_GPUS, SLURM_GPUS_PER_NODE, SLURM_GPUS_PER_TASK and the like. Where neither names a GPU, the controller copies the
job's own request, also `--gres` (`_copy_job_tres_to_step()`, src/stepmgr/stepmgr.c). How tasks share the GPUs is from
`_get_usable_gres()` in src/interfaces/gres.c. All of it was run on Slurm 22.05, 23.11, 24.11 and 26.05
(tests/slurm/test_gpus.py); where a release between them may differ, the answer is None.

The indexes of GPUs are those in CUDA_VISIBLE_DEVICES on nodes whose GPUs all belong to the job. Where Slurm constrains
devices, the GPUs of a job, a step or a task are numbered from 0, but are the same ones.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.request import Request, gpu_count
from sbatchlint.job.srun import StepOption, variable_change
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.versions import answers, is_before, is_release
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span

# Forms in which GPUs are requested; the first four may be combined.
FORMS = ("gpus-per-node", "gpus-per-task", "gpus", "gpus-per-socket", "gres", "tres-per-task")
BINDINGS = ("gpu-bind", "tres-bind")
# Variables that change what an srun requests, or how its tasks share GPUs: like the option, or in further ways.
_VARIABLES = {
    "gpus": "SLURM_GPUS", "gpus-per-node": "SLURM_GPUS_PER_NODE", "gpus-per-task": "SLURM_GPUS_PER_TASK",
    "gres": "SLURM_GRES", "gpu-bind": "SLURM_GPU_BIND",
}  # fmt: skip
_OTHERS = (
    "SLURM_GPUS_PER_SOCKET", "SLURM_STEP_GRES", "SLURM_TRES_BIND", "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_GPU",
)  # fmt: skip
_READ_BY_SRUN = frozenset((*_VARIABLES.values(), *_OTHERS))
# Options that determine how tasks share GPUs.
_REASONS = (*BINDINGS, "ntasks-per-gpu", "gpus-per-task", "tres-per-task")
# Options by name.
GpuOptions = dict[str, StepOption]
# If a node has more GPUs or tasks than this, they are not computed one by one.
MOST_ON_NODE = 1024
# Variables by which programs select their GPUs.
DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


class Binding(NamedTuple):
    """How the tasks on a node share its GPUs.

    `kind`: '' if each sees all of the step's GPUs, else the kind of `--gpu-bind`: `per_task`, `single`, `map`, `mask`,
    `closest`, `none`. `number`: GPUs per task (`per_task`), or tasks per GPU (`single`). `ids`: the indexes of `map`,
    or the bit masks of `mask`.
    """

    kind: str
    number: int = 0
    ids: tuple[int, ...] = ()


class Sharing(NamedTuple):
    """The GPUs of a step and its tasks in one release.

    `on_node`: the step's GPUs on each of its nodes, None where they are not known or differ. `share`: GPUs that are
    allocated for each task, None if they are not allocated by task. `binding`: None where it is not known.
    `binds_one`: whether a task that is alone on its node is bound like others; not before 25.11. `none_tells`: whether
    CUDA_VISIBLE_DEVICES has all of the step's GPUs for unbound tasks; before 23.11 it is not set.
    """

    on_node: int | None
    share: int | None
    binding: Binding | None
    binds_one: bool
    none_tells: bool

    def seen(self, tasks: int, local: int) -> tuple[int, ...] | None:
        """The GPUs that a task sees, by the number of tasks on its node and its index there; None if not known."""
        if self.on_node is None or self.on_node > MOST_ON_NODE or self.binding is None:
            return None
        every = tuple(range(self.on_node))
        kind, number, ids = self.binding
        if not every or not kind or tasks == 1 and not self.binds_one:
            return every
        if kind == "none":
            return every if self.none_tells else None
        if kind == "per_task":
            # A task for which no GPU is left gets the first.
            return every[local * number : (local + 1) * number] or every[:1]
        if kind == "map":
            found = ids[local % len(ids)]
            return (found,) if found in every else every[:1]
        if kind == "mask":
            mask = ids[local % len(ids)]
            return tuple(each for each in every if mask >> each & 1) or every[:1]
        return every if len(every) == 1 else None  # single, closest: by the cores that the task runs on

    def per_task(self, tasks: int | None, several: bool | None) -> int | None:
        """How many GPUs every task sees; None where that differs or is not known.

        `tasks`: the tasks per node, None if not known; `several`: whether some node has more than one.
        """
        if self.binding is None:
            return None
        kind, number, _ = self.binding
        if kind == "single" and (self.share == 1 or self.on_node and (self.binds_one or several)):
            return 1 if self.on_node != 0 else 0
        if kind == "per_task" and self.share == number:
            return number
        if tasks is None or tasks > MOST_ON_NODE:
            if not kind:
                return self.on_node
            several = True if self.binds_one else several
            enough = self.on_node is not None and kind == "per_task" and several and number >= self.on_node
            return self.on_node if enough else None
        differing = tasks if kind in ("per_task", "map", "mask") else min(tasks, 1)
        counts = {None if seen is None else len(seen) for seen in (self.seen(tasks, at) for at in range(differing))}
        return counts.pop() if len(counts) == 1 else None


class StepGpus(Record):
    """The GPUs of a step in the releases of the job's range; None where releases differ, if nothing else is said."""

    step: Step
    sharings: tuple[Sharing, ...]

    @property
    def on_node(self) -> int | None:
        """How many GPUs the step has on each of its nodes."""
        return _same(each.on_node for each in self.sharings)

    @property
    def per_task(self) -> int | None:
        """How many GPUs every task of the step sees."""
        return _same(self._per_task())

    @property
    def most(self) -> int | None:
        """How many GPUs a task sees at most, in any release of the range; None where that is not known."""
        counts = self._per_task()
        return None if None in counts else max((count for count in counts if count is not None), default=None)

    @property
    def least(self) -> int | None:
        """How many GPUs every task sees at least, in all releases of the range; None where that is not known."""
        counts = self._per_task()
        return None if None in counts else min((count for count in counts if count is not None), default=None)

    def _per_task(self) -> list[int | None]:
        """How many GPUs every task sees in each release; None where that differs between tasks or is not known."""
        geometry = self.step.geometry
        return [each.per_task(geometry.tasks_per_node, geometry.several) for each in self.sharings]

    @property
    def bound(self) -> bool | None:
        """Whether each task sees only its own part of the step's GPUs."""
        found = {sharing.binding is not None and sharing.binding.kind in ("per_task", "single", "map", "mask")
                 for sharing in self.sharings}  # fmt: skip
        if any(each.binding is None for each in self.sharings):
            return None
        return found.pop() if len(found) == 1 else None

    @property
    def meant(self) -> int | None:
        """How many GPUs each task has as its own, in all releases; None where tasks are not bound by number."""
        return _same(_number(each.binding) for each in self.sharings)

    def seen(self, local: int | None) -> tuple[int, ...] | None:
        """The GPUs that a task sees, by its index on its node; () for none, None where they are not known."""
        tasks = self.step.geometry.tasks_per_node
        if tasks is None or local is None:
            return None
        found = {each.seen(tasks, local) for each in self.sharings}
        return found.pop() if len(found) == 1 else None


def _number(binding: Binding | None) -> int | None:
    if binding is None or binding.kind in ("", "none", "closest"):
        return None
    if binding.kind == "mask":
        return max(mask.bit_count() for mask in binding.ids)
    return binding.number if binding.kind == "per_task" else 1


def _same(values: Iterable[int | None]) -> int | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None


@once
def step_gpus(job: Job, step: Step) -> StepGpus:
    """The GPUs of a step; unknown where the script alone does not decide them.

    Releases whose srun refuses the options are left out.
    """
    options = gpu_options_of(step)
    found: list[Sharing | None] = [_UNKNOWN]
    if not _is_unclear(step):
        found = [each for _, each in answers(lambda version: _sharing(step, version, options), job.versions.majors)]
    return StepGpus(step, tuple(dict.fromkeys(each for each in found if each is not None)))


_UNBOUND = Binding("")
_UNKNOWN = Sharing(None, None, None, True, True)


class _Requested(NamedTuple):
    """The GPUs that srun requests, in each form; 0 if it requests none in that form, None where that is not known."""

    per_node: int | None
    per_task: int | None
    total: int | None


def _sharing(step: Step, version: str, options: GpuOptions) -> Sharing | None:
    """The GPUs of a step and its tasks in one release; None where its srun refuses the options."""
    request = step.request
    if is_before(version, "22.05") or "gpus-per-socket" in step.options or request.has_option("gpus-per-socket"):
        return _UNKNOWN
    if _refuses_gres(step, version, options):
        return None
    requested = _requested(step, version, options)
    if requested is None or None in requested:
        return _UNKNOWN
    per_node, per_task, total = requested
    share: int | None = None
    on_node: int | None
    tasks, nodes = step.geometry.tasks_per_node, step.nodes
    if per_node:
        on_node = per_node
    elif per_task:
        share = per_task
        on_node = None if tasks is None else per_task * tasks
    elif total:
        on_node = total if nodes == 1 else 1 if nodes == total else None
    else:
        # A job that requests none has all GPUs where Slurm does not manage them, or where jobs get whole nodes.
        on_node = 0 if request.asks_for_gpus else None
    if request.has_option("ntasks-per-gpu"):
        share = 1  # there are as many tasks as GPUs, or a multiple of that
    binding = _binding(step, version, options)
    return Sharing(on_node, share, binding, not is_before(version, "25.11"), not is_before(version, "23.11"))


def refuses_gres(step: Step, version: str) -> bool:
    """Whether srun refuses its --gres together with --gpus-per-node, its own or inherited from the job.

    Since 26.05 it refuses any GPUs in --gres (`validate_options_salloc_sbatch_srun()` in src/common/slurm_opt.c; srun
    reads SLURM_GPUS_PER_NODE as --gpus-per-node), before 23.02 --gres=none.
    """
    return _refuses_gres(step, version, gpu_options_of(step))


def _refuses_gres(step: Step, version: str, options: GpuOptions) -> bool:
    gres = options.get("gres")
    if gres is None or not ("gpus-per-node" in options or _inherits(step, "gpus-per-node")):
        return False
    if (gres.text or "").lower() == "none":
        return is_before(version, "23.02")
    return not is_before(version, "26.05") and gpu_count("gres", gres.text or "", version) is not None


def _requested(step: Step, version: str, options: GpuOptions) -> _Requested | None:
    """The GPUs that a step requests by its own options and the job's; None where that is not known."""
    request = step.request
    if "ntasks-per-gpu" in options or "ntasks-per-tres" in options:
        return None
    if options.keys().isdisjoint(FORMS):
        return _requested_by_job(request, version)
    own = {name: _own_count(options, name, version) for name in FORMS if name in options}
    gpus = request.gpus
    gres = own.pop("gres", 0)
    if "gres" in options and gres is None and options["gres"].text is None:
        return None
    if any(value is None for value in own.values()) or request.has_option("ntasks-per-gpu"):
        return None
    names = ("gpus-per-node", "gpus", "gpus-per-task", "tres-per-task")
    inherited = {name: _inherits(step, name) for name in names}
    per_node = own.get("gpus-per-node", gpus.per_node if inherited["gpus-per-node"] else 0)
    of_variable = inherited["gpus-per-node"] or "gpus-per-node" in own
    if "gpus" in step.options and "gpus-per-node" not in step.options and of_variable:
        # Since 24.05.5, srun's --gpus replaces SLURM_GPUS_PER_NODE.
        if is_release(version, "24.05"):
            return None
        per_node = per_node if is_before(version, "24.05") else 0
    forms = ("gpus-per-task", "tres-per-task")
    if any(name in own for name in forms) and request.has_any_option(forms) and not is_before(version, "23.02"):
        # SLURM_TRES_PER_TASK repeats the job's option, and the release decides whether it or the step's own counts.
        return None
    per_task = own.get("gpus-per-task", own.get("tres-per-task"))
    if per_task is None:
        per_task = gpus.per_task if inherited["gpus-per-task"] or inherited["tres-per-task"] else 0
    total = own.get("gpus", gpus.total if inherited["gpus"] else 0)
    if "gres" in options:
        merged = _with_gres(options, version, gres, per_node, inherited["gpus-per-node"] or "gpus-per-node" in own)
        if merged is None:
            return None
        if merged < 0:
            return _Requested(0, 0, 0)
        per_node = merged
    return _Requested(per_node, per_task, total)


def _requested_by_job(request: Request, version: str) -> _Requested | None:
    """The GPUs that a step without GPU options of its own requests; None where that is not known."""
    # All of it is from the job: by variables, or copied by the controller, which has the same result.
    values = request.values()
    gpus = request.gpus
    if request.asks_for_gpus is None or "ntasks-per-gpu" in values and not request.asks_for_gpus:
        return None
    per_node = gpus.per_node if "gpus-per-node" in values or "gres" in values else 0
    if per_node is None and "gres" in values and "gpus-per-node" not in values:
        per_node = 0 if _has_no_gpu(request, version) else None
    per_task = gpus.per_task if "gpus-per-task" in values or "tres-per-task" in values else 0
    if per_task is None and "gpus-per-task" not in values:
        per_task = 0 if gpu_count("tres-per-task", request.value("tres-per-task") or "?", version) is None else None
    return _Requested(per_node, per_task, gpus.total if "gpus" in values else 0)


def _with_gres(options: GpuOptions, version: str, gres: int | None, per_node: int | None, both: bool) -> int | None:
    """The GPUs per node with `--gres` of an srun; -1 if it clears all forms, None where that is not known."""
    if (options["gres"].text or "").lower() == "none":
        return None if both and is_before(version, "23.11") else -1
    if not both:
        return gres if gres is not None else 0
    if gres is None:
        return per_node  # it is not about GPUs
    return gres or per_node  # --gres is read last, and counts unless it is 0


def _own_count(options: GpuOptions, name: str, version: str) -> int | None:
    """The GPUs in the value of an srun's option; None where they are not known, or a --gres without GPUs."""
    text = options[name].text
    if text is None:
        return None
    found = gpu_count(name, text, version)
    if found is None:
        return None if name == "gres" else 0
    return found.number


def _has_no_gpu(request: Request, version: str) -> bool:
    text = request.value("gres")
    return text is not None and gpu_count("gres", text, version) is None


def gpu_options_of(step: Step) -> GpuOptions:
    """The options of a step that affect GPUs: those of its srun, and those that the script sets by a variable."""
    if not step.invocation.state.variables.among(_READ_BY_SRUN):
        return step.options
    found = {name: each for name, variable in _VARIABLES.items() if (each := step.variable(name, variable)) is not None}
    return {**found, **step.options}


def _inherits(step: Step, name: str) -> bool:
    """Whether srun inherits the job's value of an option by its environment."""
    if not step.request.has_option(name):
        return False
    variable = _VARIABLES.get(name)
    return variable is None or not variable_change(step.invocation, variable).how


def _is_unclear(step: Step) -> bool:
    """Whether a step's options are not known, or the script sets a variable for srun in a way that is not known."""
    if not step.certain or not step.request.directives.certain or not step.has_known_component:
        return True
    if not step.invocation.state.variables.among(_READ_BY_SRUN):
        return False
    if any(variable_change(step.invocation, name).how for name in _OTHERS):
        return True
    return any(variable_change(step.invocation, name).how == "unknown" for name in _VARIABLES.values())


# --- how tasks share them ------------------------------------------------------------------------------


def _binding(step: Step, version: str, options: GpuOptions) -> Binding | None:
    request = step.request
    if options.keys().isdisjoint(_REASONS) and not request.has_any_option(_REASONS):
        return _UNBOUND
    if "gpu-bind" in options or "tres-bind" in options:
        name = "gpu-bind" if "gpu-bind" in options else "tres-bind"
        return None if "tres-bind" in options and name != "tres-bind" else read_binding(name, options[name].text)
    bindings = [name for name in BINDINGS if _inherits(step, name)]
    if bindings:
        return read_binding(bindings[0], request.value(bindings[0])) if len(bindings) == 1 else None
    if request.has_option("ntasks-per-gpu"):
        number = request.tasks_per_gpu
        return None if number is None else Binding("single", number)
    per_task = [name for name in ("gpus-per-task", "tres-per-task") if name in options]
    inherited = [name for name in ("gpus-per-task", "tres-per-task") if _inherits(step, name)]
    if inherited and not (per_task and is_before(version, "23.02")):
        number = request.gpus.per_task
        if number is None and inherited == ["tres-per-task"]:
            # it may not be about GPUs
            number = 0 if gpu_count("tres-per-task", request.value("tres-per-task") or "?", version) is None else None
        return None if number is None else Binding("per_task", number) if number else Binding("")
    if per_task:
        number = _own_count(options, per_task[0], version)
        return None if number is None else Binding("per_task", number) if number else Binding("")
    return Binding("")


def read_binding(name: str, string: str | None) -> Binding | None:
    """The binding of GPUs by a value of `--gpu-bind` or `--tres-bind`; None where that is not known."""
    if string is None:
        return None
    value = string.lower()
    if name == "tres-bind":
        parts = [part.partition(":")[2] for part in value.split("+") if part.startswith("gres/gpu:")]
        if len(parts) != 1:
            return Binding("") if not parts and value else None
        value = parts[0]
    for prefix in ("verbose,", "v,"):
        value = value.removeprefix(prefix)
    kind, _, rest = value.partition(":")
    if kind in ("none", "closest") and not rest:
        return Binding(kind)
    if kind in ("single", "per_task"):
        number = whole(rest)
        return Binding(kind, number) if number else None
    kind = kind.removesuffix("_gpu")
    if kind in ("map", "mask") and rest:
        try:
            ids = tuple(parse_integer(each, 16 if kind == "mask" else 0) for each in rest.split(","))
        except ValueError:
            return None  # with repetitions (`0*4`), or of another form
        return Binding(kind, 0, ids)
    return None


def binding_reason(step: Step) -> tuple[Span, str] | None:
    """The option or directive that determines how tasks share GPUs: its place, and as one would write it; or None."""
    if step.options.keys().isdisjoint(_REASONS) and not step.request.has_any_option(_REASONS):
        return None
    for name in _REASONS:
        option = step.option(name)
        if option is not None:
            return option.span, option.as_written
        setting = step.request.setting(name)
        if setting is not None:
            return setting.span, setting.as_written
    return None


# --- what a program sees -------------------------------------------------------------------------------


def devices_chosen(invocation: Invocation, step: Step | None) -> bool:
    """Whether the script itself selects the GPUs that a command sees, so that Slurm's selection does not count.

    What the batch shell exports does not reach a step's tasks: Slurm sets CUDA_VISIBLE_DEVICES for each of them, or
    unsets it (22.05 and 24.11).
    """
    before = {} if step is None else step.invocation.state.variables
    of_srun = set() if step is None else {name for name, _ in step.invocation.variables}
    for name in DEVICE_VARIABLES:
        if any(name == variable for variable, _ in invocation.variables):
            return True
        if name in of_srun:
            continue
        variable = invocation.state.variables.get(name)
        if variable is not None and variable.alternatives and variable is not before.get(name):
            return True
    return False


def chosen_devices(invocation: Invocation) -> int | None:
    """How many GPUs the script selects for a command; None where that is not known."""
    values = [value for name in DEVICE_VARIABLES if (value := exported(invocation, name)) is not None]
    texts = {text_of(value) for value in values}
    text = texts.pop() if len(texts) == 1 else None
    if text is None:
        return None
    devices = [device.strip() for device in text.split(",")] if text else []
    return len(devices) if len(set(devices)) == len(devices) and all(map(is_number, devices)) else None
