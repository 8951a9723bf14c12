"""Whether a job's commands use GPUs, and whether it requests any.

That includes what the text of a Python program beside the script certainly does, whatever its options say.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.continuations import continuations
from sbatchlint.analysis.directives.invisible_characters import invisible_characters
from sbatchlint.analysis.directives.near_misses import near_misses
from sbatchlint.analysis.directives.typos import swallowed, typo
from sbatchlint.analysis.expansion.reads import DEFAULTS, nounset_at
from sbatchlint.analysis.gpus.gpu_signs import (
    BY_NAME,
    COMMUNICATION,
    COMPILES,
    GPU_IMAGE,
    PREPARING,
    PROCESSORS,
    STRONG,
    WEAK,
    Sign,
    environment_sign,
    gpu_signs,
    is_for_processors,
    may_be_sign,
)
from sbatchlint.analysis.script.centres import gets_gpus_of_nodes
from sbatchlint.analysis.script.submit_lines import is_submitted_with_gpus, is_submitted_with_gpus_elsewhere
from sbatchlint.analysis.script.work import Weight, step_programs, weight
from sbatchlint.analysis.site.defaults import partitions_with_gpus, whole_nodes_decided
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import Phase, expansions, shown_text, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.job.launches import Launch, container_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.job.python.module import Call, Module, constant
from sbatchlint.job.python.program import PythonProgram, python_program
from sbatchlint.job.request import GPU_OPTIONS, Request
from sbatchlint.job.srun import options_of
from sbatchlint.job.steps import Step
from sbatchlint.slurm import getopt
from sbatchlint.slurm.lines import magic_of
from sbatchlint.slurm.model import Setting
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import end_of_line

if TYPE_CHECKING:
    import ast  # slow to import, and not needed for most scripts

    from sbatchlint.slurm.directives import Directives

_RESOURCE_OPTIONS = frozenset({
    "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "time", "partition", "constraint",
    "exclusive", "account", "qos",
})  # fmt: skip
_ENOUGH_KINDS = 2
# The strengths of signs that a command only prepares for GPUs, or only inspects them.
_HINT, _LOOK = "hint", "look"
# Directives of a site's own command around sbatch, which names the kind of GPUs.
_OF_WRAPPER = Regex(r"(?m)^#YBATCH\b")
# The end of the words of a variable that chooses GPUs, for the batch shell or for steps.
_CHOSEN = "_VISIBLE_DEVICES selects GPUs"
_SEVERAL_DEVICES = Regex(r"\d(?:,\d+)+")
_GPU_PARTITION = Regex(
    r"gpu(?!less)|(?<![a-z0-9])(?:[ahvlp]\d{2,3}|gh?200|rtx[a-z0-9]*|dgx[a-z0-9]*|mi\d{3}[a-z0-9]*)(?![a-z0-9])"
)
# Partitions for other work.
_HAS_NO_GPU = Regex(r"cpu|prepost|compil|transfer|download|archive|serial")
# Options that bring GPUs, or may do so.
GPU_WANTING = frozenset({*GPU_OPTIONS, "exclusive", "constraint", "nodelist", "reservation", "jobid"})
# What a line that sbatch does not read may have requested.
_ASKING = Regex(r"gres|gpu|[ \t]-[Gp]|exclusive|partition|\$", re.IGNORECASE)
_ASKING_GPUS = Regex(r"gres|gpu|[ \t]-G", re.IGNORECASE)
# Variables that count GPUs.
_COUNT_NAME = Regex(
    r"(?i)(?:(?:num|n|nb|max|total)_?)?(?:gpus|gpus?_(?:per|on|a)_\w+|gpu_?(?:count|num))|(?:num|n|nb)_?gpu|devices_per_node"
)
# Commands that inspect GPUs or prepare for them, but do not use them.
LOOKING = frozenset(
    ["nvidia-smi", "dcgmi", "rocm-smi", "amd-smi", "rocminfo", "module", "ml", "spack", "nvcc", "hipcc"]
)


class GpuNeed(NamedTuple):
    """A use of GPUs by a job that requests none.

    `place`: the directive to report at. `signs`: what uses them, at most three. `per_node`: how many per node the job
    seems to need; None where that is not known. `certain`: whether they are used, not only inspected. `alone`: whether
    nothing but one such sign as `--nv`, a module or the partition's name mentions GPUs. `whole_nodes`: whether the job
    seems to have its nodes to itself, which at some sites gives it all their GPUs.
    """

    place: Setting
    signs: list[Sign]
    per_node: int | None
    certain: bool
    alone: bool
    whole_nodes: bool


@once
def gpu_need(job: Job) -> GpuNeed | None:
    """The use of GPUs by a job that requests none; None if there is none, or where that is not known."""
    directives, request = job.directives, job.request
    signs = _signs_without_request(job) or []
    found = [sign for sign in signs if sign.strength == STRONG]
    if not found and is_gpu_partition(request):
        found = [sign for sign in signs if sign.strength in (_HINT, _LOOK, WEAK)]
        if all(sign.words.startswith("the module ") for sign in found):
            return None  # a module only shows what the software is built for
    if not found or is_submitted_with_gpus_elsewhere(job):
        return None
    if gets_gpus_of_nodes(job) and partitions_with_gpus(job) is None:
        return None
    if _OF_WRAPPER.search(directives.text.string):
        return None
    if any(_ASKING.search(line) for line in _lost_lines(directives)):
        return None  # they are requested, but in a line that sbatch does not read
    first = {sign.span: sign for sign in reversed(found)}
    return GpuNeed(
        _place(job),
        sorted(first.values(), key=lambda sign: sign.span)[:3],
        gpus_wanted(job),
        any(sign.strength != _LOOK for sign in found),
        _is_alone(signs, request),
        _seems_whole(request),
    )


@once
def is_told_gpus(job: Job) -> bool:
    """Whether the job ends without a number of GPUs from its environment: who submits it passes that to sbatch, too."""
    set_here = {each.name for each in job.assignments}
    return any(
        _COUNT_NAME.fullmatch(each.name) and each.name not in set_here and each.variable is None
        for each in job.trace.reads
        if each.operator in (":?", "?") or each.operator not in DEFAULTS and nounset_at(job, each)
    )


def _seems_whole(request: Request) -> bool:
    """Whether a job requests whole nodes, or all of their memory; --exclusive=user only keeps other users out."""
    return request.may_have_all_gpus or request.value("mem") == "0"


def _is_alone(signs: list[Sign], request: Request) -> bool:
    """Whether no sign says by itself that GPUs are used, and there is only one kind of those that may.

    `apptainer --nv` is often written for nodes without GPUs too, and modules are loaded out of habit, also both;
    nvidia-smi beside them only tells the log what the node has. Where GPUs are not a GRES, the name of a partition is
    all that is needed.
    """
    if any(sign.strength == STRONG and not _says_little(sign) for sign in signs):
        return False
    if all(sign.words.endswith(COMMUNICATION) for sign in signs) or all(sign.words == BY_NAME for sign in signs):
        return True  # set out of habit, too, and by programs on processors; a name says little
    kinds = {"habit" if _says_little(sign) or sign.strength == _LOOK else sign.words for sign in signs}
    return len(kinds) + is_gpu_partition(request) < _ENOUGH_KINDS


def _says_little(sign: Sign) -> bool:
    return sign.words.startswith(("--nv", "--rocm", "the module ")) or sign.words.endswith(COMPILES)


@once
def component_needs(job: Job) -> list[GpuNeed]:
    """The components of a heterogeneous job whose own steps certainly use GPUs, and that request none."""
    needs = []
    by_component: dict[int, list[Step]] = {}
    for step in job.steps if job.request.heterogeneous else ():
        if step.has_known_component and step.certain:
            by_component.setdefault(step.request.component, []).append(step)
    for component, steps in by_component.items() if not gets_gpus_of_nodes(job) else ():
        request = steps[0].request
        settings = [setting for setting in job.directives.settings if setting.component == component]
        if not settings or not _asks_for_none(job, request, steps) or is_submitted_with_gpus_elsewhere(job):
            continue
        signs = list(_command_signs(job, [command for step in steps for command in step.program]))
        found = {sign.span: sign for sign in reversed(signs) if sign.strength == STRONG}
        if not found or any(sign.strength == PROCESSORS for sign in signs):
            continue
        place = ([setting for setting in settings if setting.name in _RESOURCE_OPTIONS] or settings)[-1]
        first = sorted(found.values(), key=lambda sign: sign.span)[:3]
        whole_nodes = _seems_whole(request)
        wanted = _workers([launch for launch in job.launches if launch.step in steps])
        needs.append(GpuNeed(place, first, wanted, True, _is_alone(signs, request), whole_nodes))
    return needs


class AllocationNeed(NamedTuple):
    """A use of GPUs in an allocation of salloc that requests none: the salloc, and what uses them."""

    command: Invocation
    sign: Sign


def allocation_needs(job: Job) -> Iterator[AllocationNeed]:
    """The allocations of salloc whose command uses GPUs, and that request none."""
    for command in commands_named(job, "salloc") if not gets_gpus_of_nodes(job) else ():
        parsed = getopt.parse(command.words[1:], "salloc", job.versions.majors, job.site.plugin_options)
        options = {each.name: each.value for each in parsed.options}
        starts = [each for each in command.descendants() if each.name == "srun"]
        inner = [options_of(each, "srun", job.versions, job.site) for each in starts]
        if parsed.uncertain or GPU_WANTING & {*options, *(name for each in inner for name in each)}:
            continue
        partitions = (options.get("partition") or "").split(",")
        if _HAS_NO_GPU.search(partitions[0].lower()) or any(each in job.site.gpu_partitions for each in partitions):
            continue
        by_command = {id(launch.invocation): launch.launcher for launch in job.launches}
        signs = [
            sign
            for each in command.descendants()
            for sign in gpu_signs(each.argv, by_command.get(id(each)), container_of(each))
        ]
        found = next((each for each in signs if each.strength == STRONG), None)
        if found is not None and not any(each.strength == PROCESSORS for each in signs):
            yield AllocationNeed(command, found)


@once
def shows_gpus(job: Job) -> bool:
    """Whether a command or a variable of the job is for GPUs, whatever the job requests."""
    return any(sign.strength != PROCESSORS for sign in _signs(job))


@once
def _signs_without_request(job: Job) -> list[Sign] | None:
    """The signs that a job uses GPUs; None where it may have requested some, or a sign contradicts it."""
    if not job.directives.every_setting or job.request.heterogeneous or not _asks_for_none(job, job.request, job.steps):
        return None
    signs = list(_signs(job))
    return None if any(sign.strength == PROCESSORS for sign in signs) else signs


def _asks_for_none(job: Job, request: Request, steps: Iterable[Step]) -> bool:
    """Whether neither the request nor the steps or the submission ask for GPUs, and the partition brings none."""
    if request.asks_for_gpus is not False or request.declines_gpus:
        return False
    if any(typo(job.directives, setting) is not None for setting in request.gpu_settings()):
        return False  # a number of GPUs is meant; the typo is another fault
    if request.partition is not None and any(name in job.site.gpu_partitions for name in request.partition.split(",")):
        return False
    if _HAS_NO_GPU.search((request.partition or "").lower()):
        return False
    if any(not step.options.keys().isdisjoint(GPU_OPTIONS) for step in steps):
        return False
    return not is_submitted_with_gpus(job)


@once
def unseen_gpus(job: Job) -> tuple[Step, Sign] | None:
    """The first step that uses GPUs in an exclusive job that requests none, with its sign; None if there is none.

    Only the batch shell of such a job has GPUs, as that of a job in a partition that gives whole nodes.
    """
    if job.request.exclusive != "" and not whole_nodes_decided(job) or gets_gpus_of_nodes(job):
        return None
    if partitions_with_gpus(job) is not None:
        return None  # nor does that
    need = gpu_need(job)
    if need is None:
        return _hinted(job)
    for step in job.steps:
        sign = next((each for each in _command_signs(job, step.program) if each.strength == STRONG), None)
        if sign is not None:
            return step, sign
    # weak signs and a partition for GPUs
    return None if any(each.strength == STRONG and _CHOSEN not in each.words for each in need.signs) else _hinted(job)


def _hinted(job: Job) -> tuple[Step, Sign] | None:
    """A step with a hint of GPUs, where no command certainly uses them; None if there is none.

    Hints are enough there: whole nodes together with NCCL's variables, or a number of GPUs, are for nothing else.
    """
    if _signs_without_request(job) is None:
        return None
    working = [step for step in job.steps if weight(job, step.invocation) is Weight.STEP]
    if not working:
        return None
    found: tuple[Step, Sign] | None = None
    for step in working:
        sign = next(_hints_of_step(step), None)
        if sign is not None:
            found = step, sign
    if found is None:
        signs = _signs_without_request(job) or ()
        hints = [each for each in signs if each.strength == _HINT or _CHOSEN in each.words]
        hints.extend(
            Sign(_HINT, f"the variable {assignment.name} counts GPUs", assignment.span)
            for assignment in job.assignments
            if _counts_gpus(assignment)
        )
        found = (working[-1], hints[0]) if hints else None
    if found is None or is_submitted_with_gpus_elsewhere(job):
        return None

    return None if any(_ASKING_GPUS.search(line) for line in _lost_lines(job.directives)) else found


def _hints_of_step(step: Step) -> Iterator[Sign]:
    """Hints of GPUs in the words of an srun and its program."""
    for command in (step.invocation, *step.program):
        for field in command.argv:
            for expansion in expansions(field) if len(field) != 1 or field[0].expansion is not None else ():
                if _COUNT_NAME.fullmatch(expansion.name):
                    yield Sign(_HINT, f"the variable {expansion.name} counts GPUs", span_of(field))
        container = container_of(command)
        if container is not None and container.image is not None:
            if GPU_IMAGE.match(shown_text(container.image)) and not _only_prepares(step):
                yield Sign(_HINT, "an image from NVIDIA's registry", span_of(container.image))


def _only_prepares(step: Step) -> bool:
    programs = step_programs(step)
    words = [" ".join(map(shown_text, each.argv[:3])) for each in programs]
    return bool(words) and all(map(PREPARING.search, words))


def _counts_gpus(each: VariableAssignment) -> bool:
    """Whether a variable holds a number of GPUs, at least 1."""
    if not _COUNT_NAME.fullmatch(each.name) or len(each.alternatives) != 1 or not each.alternatives[0].fields:
        return False
    text = text_of(each.alternatives[0].fields[0])
    return text is not None and is_number(text) and parse_integer(text) > 0


def _signs(job: Job) -> Iterator[Sign]:
    """The signs in all commands and exported variables of a job.

    What only inspects GPUs, or prepares for them (nvidia-smi, modules, variables), is a hint: scripts for several
    machines are full of that. A choice of several GPUs by their numbers is more. Where all programs are for processors,
    variables are left over from another script.
    """
    yield from _command_signs(job, job.invocations)
    for assignment in job.assignments:
        if assignment.exported and len(assignment.alternatives) == 1 and assignment.alternatives[0].fields:
            found = environment_sign(assignment.name, assignment.alternatives[0].fields[0], assignment.span)
            if found is not None and not _works_on_processors(job):
                value = text_of(assignment.alternatives[0].fields[0]) or ""
                several = assignment.name.endswith("_VISIBLE_DEVICES") and _SEVERAL_DEVICES.fullmatch(value)
                yield found._replace(strength=_HINT) if found.strength == STRONG and not several else found


@once
def _works_on_processors(job: Job) -> bool:
    """Whether the job runs programs, all of which say that they work on processors."""
    leaves = [each for each in job.invocations if each.phase is not Phase.SUBMIT and not each.children]
    programs = [each for each in leaves if weight(job, each) >= Weight.PROGRAM]
    return bool(programs) and all(is_for_processors(each.argv) for each in programs)


def _command_signs(job: Job, commands: Iterable[Invocation]) -> Iterator[Sign]:
    by_command = {id(launch.invocation): launch.launcher for launch in job.launches}
    for command in commands:
        if command.phase is Phase.SUBMIT or not command.argv:
            continue
        launcher, container = by_command.get(id(command)), container_of(command)
        if launcher is None and container is None and command.name is not None and not may_be_sign(command.name):
            continue  # most commands end here
        looking = command.name in LOOKING
        for sign in gpu_signs(command.argv, launcher, container):
            yield sign._replace(strength=_LOOK) if looking and sign.strength == STRONG else sign
        program = python_program(job, command)
        shown = None if program is None else gpu_call(program)
        if program is not None and shown is not None:
            yield Sign(STRONG, f"{program.path} calls {shown}", command.name_span)


def _place(job: Job) -> Setting:
    partition = job.request.setting("partition")
    if partition is not None and is_gpu_partition(job.request):
        return partition
    settings = job.directives.settings or job.directives.every_setting
    return ([setting for setting in settings if setting.name in _RESOURCE_OPTIONS] or settings)[-1]


def is_gpu_partition(request: Request) -> bool:
    """Whether the partition's name indicates GPUs."""
    return _GPU_PARTITION.search((request.partition or "").lower()) is not None


def gpus_wanted(job: Job) -> int | None:
    """The GPUs per node that launchers, CUDA_VISIBLE_DEVICES or the settings show; None where none of them does."""
    workers = _workers(job.launches)
    if workers is not None:
        return workers
    for assignment in job.assignments:
        if assignment.exported and assignment.name in DEVICE_VARIABLES and len(assignment.alternatives) == 1:
            fields = assignment.alternatives[0].fields
            ids = (text_of(fields[0]) or "").split(",") if fields else []
            if ids and ids == [str(number) for number in range(len(ids))]:
                return len(ids)  # a later one alone is a choice among GPUs that nothing assigns
    return job.site.gpus_per_node


def _workers(launches: Iterable[Launch]) -> int | None:
    """The largest number of workers that one launch starts on a node; None where one of the numbers is not known."""
    counts = [launch.launcher.processes_per_task for launch in launches if launch.launcher.spawns]
    if counts and all(isinstance(count, int) and count > 0 for count in counts):
        return max(count for count in counts if isinstance(count, int))
    return None


# --- lines that sbatch does not read, or not whole ---------------------------------------------------
#
# The job does not have what they request; but the fault to report is the one because of which they are not read.

# Near misses that sbatch does read.
_READ = ("old-word", "banner", "bare")


def _lost_lines(directives: "Directives") -> Iterator[str]:
    """The text of each directive with a fault, each that is not read, and each line that was meant as a directive."""
    string = directives.text.string
    faulty = {problem.line.start for problem in directives.problems}
    for line in directives.lines:
        if line.start in faulty or line.fault is not None or line.dropped is not None:
            yield string[line.start : line.end]
        elif line.comment is not None and magic_of(string, line.comment_start) is not None:
            yield string[line.comment_start : line.end]
    for line in directives.unread:
        yield string[line.start : line.end]
    for miss in near_misses(directives):
        if miss.kind not in _READ:
            yield string[miss.start : miss.last]
    for continuation in continuations(directives):
        for piece in continuation.pieces:
            yield string[piece.start : piece.end]
    for setting in directives.settings:
        token, line = setting.value_token, setting.line
        if line.comment is not None and (swallowed(setting) or token is not None and token.end == line.comment_start):
            yield string[setting.token.start : line.end]
    for found in invisible_characters(directives):
        yield string[found.start : end_of_line(string, found.start)]


_DEVICE = Regex(r"cuda(?::\d+)?")
_MOST_FUNCTIONS = 50


def gpu_call(program: PythonProgram) -> str | None:
    """A call by which a program fails without a GPU, as `.cuda()`; None if none certainly runs."""
    calls = {id(each.node): each for each in program.main.calls}
    for node in _reached(program.main):
        shown = _shown(calls[id(node)]) if id(node) in calls else None
        if shown is not None:
            return shown
    return None


def _shown(call: Call) -> str | None:
    """A call that needs a GPU, as a message names it; None for others."""
    arguments = call.node.args
    first = constant(arguments[0]) if arguments else None
    device = call.keyword("device")
    if call.name == ".cuda" and (not arguments or isinstance(first, int)):
        return ".cuda()"
    if call.name == "torch.cuda.set_device":
        return "torch.cuda.set_device()"
    if call.name in (".to", "torch.device") and isinstance(first, str) and _DEVICE.fullmatch(first):
        return f"{call.name}('{first}')"
    if isinstance(device, str) and _DEVICE.fullmatch(device) and call.name.startswith("torch."):
        return f"{call.name}(device='{device}')"
    return None


def _reached(module: Module) -> "Iterator[ast.Call]":
    """The calls that run whenever the file is run: in no branch, and in no function that is not called so."""
    import ast

    functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    entered: set[str] = set()
    waiting: list[ast.AST] = list(reversed(module.tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.Try):
            continue  # not run, or not certainly
        if isinstance(node, ast.If):
            waiting.extend(reversed(node.body) if _is_main(node.test) else [node.test])
            continue
        if isinstance(node, ast.IfExp | ast.BoolOp):
            waiting.append(node.values[0] if isinstance(node, ast.BoolOp) else node.test)
            continue
        if isinstance(node, ast.Call):
            yield node
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in functions and name not in entered and len(entered) < _MOST_FUNCTIONS:
                entered.add(name)
                waiting.extend(reversed(_body(functions[name])))
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _body(definition: "ast.FunctionDef | ast.ClassDef") -> "list[ast.stmt]":
    """What runs if a function or class of a file is called, up to what may leave it early."""
    import ast

    body = definition.body
    if isinstance(definition, ast.ClassDef):
        starts = [each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        body = starts[0].body if starts else []
    elif definition.decorator_list:
        return []  # something else may decide whether it runs
    found: list[ast.stmt] = []
    for each in body:
        if any(isinstance(inner, ast.Return) for inner in ast.walk(each)):
            break
        found.append(each)
    return found


def _is_main(test: "ast.expr") -> bool:
    """Whether a test is `__name__ == "__main__"`."""
    import ast

    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
