"""Programs without a launcher that can be one of many processes under srun, such as those with Lightning and JAX.

Lightning gets ranks from Slurm, with a task per device (lightning/fabric/plugins/environments/slurm.py, 2.5). So does
`jax.distributed.initialize()`, but with `local_device_ids` it is one process per node (jax/_src/clusters/cluster.py,
0.10). Programs with Megatron get them from RANK and similar variables.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.containers.container_starts import runs_script
from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES, LIGHTNING_NODES, RankSign, rank_sign
from sbatchlint.analysis.script.work import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.convert.launcher import CONVERTED
from sbatchlint.convert.replacing import meeting
from sbatchlint.convert.spawning import Spawning, spawning_of, start_spawning
from sbatchlint.convert.tasks import RANKS
from sbatchlint.convert.words import exports_above, refuse_daemon, srun_of, start_of, without_geometry
from sbatchlint.job import Job
from sbatchlint.job.argv import program_options
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.launches import container_of
from sbatchlint.job.python.program import python_program
from sbatchlint.job.steps import enclosing_commands
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.regex import Regex

# Programs that spread over nodes by daemons of their own, and what these are.
_BY_DAEMONS = {
    "vllm": "on several nodes vLLM works on a Ray cluster that is started before (`ray start` on each node)",
    "sglang": "on several nodes SGLang is started on each with --nnodes, --node-rank and --dist-init-addr",
    "spark-submit": "on several nodes Spark wants a master and workers of its own (start-master.sh, start-worker.sh)",
}
# Programs that start a launcher which their options name.
_BY_OPTION = ("axolotl",)
# Modules that start other programs, such as paddle.distributed.launch.
_LAUNCHING = Regex(r"\w+(?:\.\w+)*\.(?:launch|launcher|distributed\.run)")
_DEVICES, _NODES = ("--devices", "-devices"), ("--num_nodes", "--num-nodes")


class Program(NamedTuple):
    """A program, and the sign that it can be one of many processes.

    `per_gpu`: whether it needs a process per GPU; else one per node. `number`: the index of its step; -1 for a program
    of the batch shell.
    """

    invocation: Invocation
    sign: RankSign
    per_gpu: bool
    number: int = -1
    spawning: Spawning | None = None


def program_of(job: Job) -> Program:
    """The only program of a job that can be one of many processes. Raises `NotConvertible`."""
    found = [(-1, each) for each in batch_programs(job) if _is_program(each)]
    for number, step in enumerate(job.steps):
        found.extend((number, each) for each in step.program if _is_program(each) and not each.children)
    lines = ", ".join(sorted({str(job.line(each.span.start)) for _, each in found}))
    if not found:
        raise NotConvertible(_unknown_start(job))
    if len({each.span for _, each in found}) == 1 and found[0][1].context.may_repeat:
        raise NotConvertible(
            f"the program on line {lines} is started several times, in a loop: convert it with one iteration"
        )
    if len({each.span for _, each in found}) > 1:
        raise NotConvertible(
            f"it starts no launcher, but several programs (line {lines}): convert each as a script of its own"
        )
    number, invocation = found[0]
    spawning = spawning_of(job, invocation)
    if spawning is not None:
        if number >= 0:
            raise NotConvertible(f"the program on line {lines} is under srun: leave that out; a new one is written")
        of_node = RankSign(spawning.kind, spawning.words, invocation.name_span, spawning.devices)
        return Program(invocation, of_node, False, number, spawning)
    sign = rank_sign(job, invocation)
    per_gpu, words = _of_jax(job, invocation)
    if words and (sign is None or sign.kind == "jax"):
        return Program(invocation, RankSign("jax", words, invocation.name_span), per_gpu, number)
    daemons = _by_daemons(invocation)
    if daemons:
        raise NotConvertible(f"{daemons} on line {lines} is not converted: {_BY_DAEMONS[daemons]}")
    module = _module(invocation)
    if sign is None and _LAUNCHING.fullmatch(module):
        raise NotConvertible(f"{module} on line {lines} is not converted, only {CONVERTED} are")
    if sign is None or sign.kind == "jax":
        raise NotConvertible(f"the program on line {lines} has no launcher, and {_unread(job, invocation)}")
    return Program(invocation, sign, True, number)


def _unknown_start(job: Job) -> str:
    """Why the processes that a job starts are unknown."""
    for command in job.invocations:
        line = job.line(command.span.start)
        daemons = _by_daemons(command)
        if daemons:
            return f"{daemons} on line {line} is not converted: {_BY_DAEMONS[daemons]}"
        if (command.name or "").endswith(".py"):
            name = shown_text(command.argv[0])
            return f"{name} on line {line} is started as a command, which may be any program: write python {name}"
        if command.name == "accelerate" and {"launch", "--cpu"} <= {text_of(field) for field in command.argv}:
            return f"accelerate launch on line {line} has --cpu, which is not converted: start it by torchrun"
        if command.name in _BY_OPTION and text_of(command.argv[1] if command.argv[1:] else ()) == "train":
            names = dict.fromkeys(each.name for field in command.argv for each in expansions(field) if each.name)
            which = f"{', '.join(names)}: write it" if names else "what its words say: write them"
            return f"how {command.name} on line {line} starts its processes depends on {which} in the script"
        if runs_script(command):
            inside = " in the container" if container_of(command) is not None else ""
            name = shown_text(command.argv[1 if command.name in ("bash", "sh") else 0])
            return f"what {name} on line {line} starts{inside} cannot be read here: write its launcher in this script"
        if (
            command.name in ("docker-compose", "podman-compose")
            or text_of(command.argv[1] if command.argv[1:] else ()) == "compose"
        ):
            return f"{command.name} compose on line {line} starts what its own file says: write it as docker run"
    return "it starts no launcher that is known"


def _by_daemons(command: Invocation) -> str:
    """The program of a command that spreads over nodes by daemons of its own, also as a module of Python; "" else."""
    if command.name in _BY_DAEMONS:
        return command.name
    module = _module(command).partition(".")[0]
    return module if module in _BY_DAEMONS else ""


def _module(command: Invocation) -> str:
    """The module that a command runs by Python; "" if none."""
    python = python_of(command)
    words = [] if python is None else [text_of(each) or "" for each in command.argv[1 : python.after + 1]]
    return next((after for word, after in pairwise(words) if word == "-m"), "")


def _is_program(invocation: Invocation) -> bool:
    return bool(invocation.argv) and (is_python(invocation.argv[0]) or invocation.name in ("litgpt", "fairseq-train"))


def _of_jax(job: Job, invocation: Invocation) -> tuple[bool, str]:
    """Whether a program with JAX needs a process per GPU, and the call that makes it one of several; "" if none."""
    program = python_program(job, invocation)
    for call in program.calls if program is not None else ():
        if call.name == "jax.distributed.initialize" and program is not None:
            whole = call.given("local_device_ids") or len(call.node.args) > 3
            return not whole, f"{call.name} of {program.path}"
    return True, ""


def _unread(job: Job, invocation: Invocation) -> str:
    if python_program(job, invocation) is None:
        return "its file cannot be read here: nothing tells that it is made to be one process of several"
    return "nothing in its file or on its command line tells that it is made to be one process of several"


def start_program(job: Job, program: Program, goal: Goal, gpus: int) -> Iterator[Edit]:
    """The edits that start the program as tasks of a step. Raises `NotConvertible`."""
    command, step = program.invocation, None if program.number < 0 else job.steps[program.number]
    refuse_daemon(container_of(command))
    start = _start(job, command)
    if program.spawning is not None:
        yield from start_spawning(job, command, program.spawning, start, gpus)
        return
    if step is None:
        own = program.sign.kind in ("megatron", "rank-variables")
        ranks = f"bash -c '{RANKS}; exec \"$@\"' bash " if own else ""
        yield from exports_above(job, start, meeting(command) if own else [])
        yield insert(start, f"{srun_of(job)} {ranks}")
    else:
        yield from without_geometry(job, step)
    if program.sign.kind == "lightning":
        yield from _counts(job, command, goal, gpus)


def _start(job: Job, command: Invocation) -> int:
    """The start of the outermost command that runs the program."""
    command = [command, *enclosing_commands(command)][-1]
    start = start_of(command)
    if start != command.name_span.start:
        return start
    inside = command.span.start <= start < command.span.end
    start = start if inside else command.span.start
    if start >= len(job.source.own.text):
        raise NotConvertible("the program is not started by the script itself: start it there")
    return start


def _counts(job: Job, command: Invocation, goal: Goal, gpus: int) -> Iterator[Edit]:
    """The edits of the numbers of devices and nodes on the command line of Lightning's Trainer."""
    python = python_of(command)
    last: tuple[str, Pieces, Pieces] | None = None
    has_nodes = False
    for option, value, field in program_options(command.argv[python.after if python is not None else 1 :]):
        if value is None:
            continue
        if LIGHTNING_DEVICES.fullmatch(option) or option in _DEVICES:
            last = option, value, field
            number = text_of(value)
            if number is not None and number.isdigit() and number != str(gpus):
                yield _changed(job, value, str(gpus))
        elif LIGHTNING_NODES.fullmatch(option) or option in _NODES:
            has_nodes = True
            counted = any(each.name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES") for each in expansions(value))
            if not counted and text_of(value) != str(goal.nodes):
                yield _changed(job, value, '"$SLURM_JOB_NUM_NODES"')
    if last is not None and not has_nodes:
        name = last[0].rpartition("devices")[0] or last[0].rpartition("gpus")[0]
        end = span_of(last[1]).end
        if end > len(job.source.own.text):
            raise NotConvertible(
                "the number of nodes cannot be added to the words of the program: write them where it is started"
            )
        end += job.source.text[end : end + 1] in ('"', "'")
        between = "=" if "=" in (text_of(last[2]) or "=") else " "
        yield insert(end, f' {name}num_nodes{between}"$SLURM_JOB_NUM_NODES"')


def todos_of(job: Job, program: Program) -> list[str]:
    """What of a converted program only the user can see to."""
    if program.spawning is not None:
        return program.spawning.todos
    command = program.invocation
    python = python_program(job, command)
    plain = {name for name, _, _ in program_options(command.argv) if name in _DEVICES or name in _NODES}
    told = python is not None and python.mentions("num_nodes")
    if program.sign.kind != "lightning" or not plain & {*_DEVICES} or plain & {*_NODES} or told:
        return []
    return ["see that the program takes --num_nodes: Lightning refuses to begin where it is not that of Slurm"]


def _changed(job: Job, value: Pieces, content: str) -> Edit:
    span, text = span_of(value), job.source.own.text
    if span.end > len(text) or text[span.start : span.end] != text_of(value):
        raise NotConvertible("a number of the program's words does not follow its option: write it there")
    return Edit(span, content if text[span.start - 1] not in "\"'" else content.strip('"'))
