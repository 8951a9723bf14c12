"""Starts the launcher of a single-node script on all nodes, with the node rank of each.

The words of the user stay unquoted and in place: `bash -c 'exec torchrun --node-rank="$SLURM_NODEID" "$@"' torchrun
PROGRAM…` passes them on unchanged. The number of nodes and the rendezvous are set once, from Slurm's variables.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.containers.container_starts import runs_script
from sbatchlint.analysis.editing.options import name_span
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Phase, expansions, shown_text, text_of
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.convert.launcher_in_string import InsideWords, is_inside, told_in_string
from sbatchlint.convert.words import ADDRESS, PORT, CommandWords, exports_before, without_geometry
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import integer, program_options
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.ranks import is_told_distributed
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.edits import Edit


class Names(NamedTuple):
    """The option names of a launcher: nodes, node rank, rendezvous address and port, workers per node or in all."""

    nodes: str
    rank: str
    address: str
    port: str
    workers: str


NAMES = {
    "torchrun": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "torch.distributed.launch": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "swift": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "llamafactory": Names("nnodes", "node_rank", "master_addr", "master_port", "nproc_per_node"),
    "accelerate": Names("num_machines", "machine_rank", "main_process_ip", "main_process_port", "num_processes"),
    "fabric": Names("num_nodes", "node_rank", "main_address", "main_port", "devices"),
    # It is told the processes of all nodes, and takes the ranks of a node from its number.
    "composer": Names("world_size", "node_rank", "master_addr", "master_port", "nproc"),
}
# What a refusal of another launcher names.
CONVERTED = "torchrun, accelerate, deepspeed, composer, fabric, swift, llamafactory-cli, mpirun and srun"
_STATIC = ("accelerate", "fabric", "composer")
# Launchers around torchrun that run it with --standalone if they are told no --rdzv-endpoint, so that each node meets
# by itself (torchtune/_cli/run.py, 0.5).
_STANDALONE = ("tune run",)
_OF_TORCH = ("torchrun", "torch.distributed.launch")
_LAST_PORT = 65535


def setting_of(launcher: Launcher, name: str) -> Setting | None:
    """The setting on the command line or in the environment; None if none, or if a configuration file has it."""
    setting = launcher.setting(name)
    configured = launcher.configured or {}
    return None if setting is not None and setting is configured.get(name) else setting


def is_of_job(setting: Setting) -> bool:
    """Whether an address comes from Slurm; a literal one names a host that the job may not get."""
    found = expansions(setting.value or ()) if setting.text is None else ()
    return any("scontrol" in each.name or "SLURM" in each.name for each in found)


def holds_for_all(setting: Setting, is_address: bool) -> bool:
    """Whether all nodes can use an address or a port as it is written."""
    is_free = setting.number == 0  # for which each node takes a free one of its own
    return is_of_job(setting) if is_address else not is_free and (setting.number or 0) <= _LAST_PORT


def _is_unread_port(launcher: Launcher, setting: Setting) -> bool:
    """Whether an unknown port had no effect so far, so that nothing tells that it can be used.

    torchrun takes that of its rendezvous with --standalone and c10d (torch/distributed/run.py, 2.5).
    """
    backend = launcher.setting("rdzv_backend")
    is_static = "standalone" not in launcher.flags and (backend is None or backend.text == "static")
    return launcher.kind in _OF_TORCH and setting.number is None and not is_static


def start_everywhere(job: Job, launch: Launch, goal: Goal, gpus: int) -> list[Edit]:
    """The edits that start the launcher on every node of the job, as one world. Raises `NotConvertible`."""
    words, lines = (InsideWords if is_inside(job, launch) else CommandWords)(job, launch), list[str]()
    edits = [*without_geometry(job, launch.step), *_started(words, goal, gpus, lines)]
    return [*exports_before(job, launch, lines, edits), *edits]


# Options that override a configuration file of accelerate. DeepSpeed's runner would look for ssh and a hostfile.
_OVERRIDES = {"deepspeed_multinode_launcher": "standard", "rdzv_backend": "static"}


def _override_configuration(words: CommandWords, added: list[str]) -> Iterator[Edit]:
    """Sets the options of accelerate for the rendezvous that a configuration file or DeepSpeed would decide otherwise.

    Returns edits of existing options; new ones are appended to `added`.
    """
    launchers = [each.launcher for each in words.alternatives]
    if not any("config_file" in each.options or "use_deepspeed" in each.flags for each in launchers):
        return
    ids = (words.launcher.configured or {}).get("gpu_ids")
    if ids is not None and ids.text != "all":
        added.append("--gpu_ids=all")  # else those of the file, which Slurm counts anew
    for name, value in _OVERRIDES.items():
        if name == "rdzv_backend" or any(name not in each.options for each in launchers):  # that of the script goes
            added.append(f"--{name}={value}")
        for launcher in launchers:
            setting, option = launcher.setting(name), launcher.options.get(name)
            is_other = option is not None and text_of(option.value or ()) != value
            if name == "deepspeed_multinode_launcher" and is_other and setting is not None:
                edit = words.other_value(setting, value)
                if edit:
                    yield edit


def unread_configuration(job: Job, launch: Launch) -> Iterator[str]:
    """To-dos for the file of accelerate that is not known, which may start the processes apart."""
    launcher, file = launch.launcher, launch.launcher.options.get("config_file")
    told = launcher.flags.keys() & {"multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm"}
    if launcher.kind == "accelerate" and file is not None and launcher.configured is None and not told:
        line, name = job.line(launcher.span.start), shown_text(file.value or ()).rpartition("/")[2]
        yield (
            f"line {line}: see that {name} has distributed_type: MULTI_GPU, FSDP or DEEPSPEED, and gpu_ids: all: "
            "with NO each node trains by itself"
        )


def _as_distributed(words: CommandWords) -> list[str]:
    """The option for one process on each node, without which accelerate starts each of them alone."""
    launchers = [each.launcher for each in words.alternatives]
    are_told = {is_told_distributed(each) for each in launchers}
    if are_told == {True}:
        return []
    if len(are_told) > 1 or any("config_file" in each.options for each in launchers):
        raise NotConvertible("accelerate starts one process on a node alone: write --multi_gpu, or --use_deepspeed")
    return ["--multi_gpu"]


def _refuse_behind_script(launcher: Launcher, names: Names, gpus: int) -> None:
    """Raises `NotConvertible` for an option of fabric behind its script, where click reads it too and the last wins."""
    for name, value, _ in program_options(launcher.program_words[1:]):
        option = name.lstrip("-").replace("-", "_")
        if not name.startswith("--") or option not in names:
            continue
        number = integer(value)
        if option == names.port and number or option == names.workers and number == gpus:
            continue
        raise NotConvertible(f"{launcher.name} takes {name} behind its script as its own: write it before the script")


def _started(words: CommandWords, goal: Goal, gpus: int, lines: list[str]) -> Iterator[Edit]:
    """The edits, except for the lines before the command, which are appended to `lines`."""
    launcher = words.launcher
    names = NAMES[launcher.kind]
    if launcher.kind == "fabric":
        _refuse_behind_script(launcher, names, gpus)
    alternatives = words.alternatives
    elastic = any(_is_elastic(each.launcher) for each in alternatives)
    style = (
        "-"
        if any("-" in words.written(other_option.span)[2:] for other_option in launcher.all_options)
        or launcher.kind == "fabric"
        or (not launcher.all_options and launcher.kind != "composer")
        else "_"
    )
    added: list[str] = []

    def option(name: str, value: str) -> str:
        return f'--{name.replace("_", style)}="{value}"'

    nodes, all_nodes = (
        "$SLURM_JOB_NUM_NODES",
        "$SLURM_JOB_NUM_NODES" if gpus == 1 else f"$((SLURM_JOB_NUM_NODES * {gpus}))",
    )
    total = all_nodes if launcher.kind == "accelerate" else gpus
    for name, value in (
        (names.nodes, all_nodes if launcher.kind == "composer" else nodes),
        (names.workers, str(total)),
    ):
        setting = setting_of(launcher, name)
        if setting is None:
            added.append(option(name, value) if "$" in value else f"--{name.replace('_', style)}={value}")
        elif str(setting.number) == value:
            continue
        elif (
            total != gpus and setting.number == gpus and name == names.workers and (more := words.times_nodes(setting))
        ):
            yield more
        elif edit := words.other_value(setting, value):
            yield edit
    if launcher.kind == "accelerate":
        yield from _override_configuration(words, added)
        if gpus == 1 and goal.nodes > 1:
            added += _as_distributed(words)
    backend = goal.rendezvous or ("c10d" if elastic or is_standalone(launcher) else "static")
    if backend == "static" and is_standalone(launcher):
        raise NotConvertible(f"{launcher.name} has no static rendezvous with several nodes: leave out --rdzv")
    if launcher.kind in _STATIC and backend != "static":
        raise NotConvertible(f"{launcher.kind} is converted to a static rendezvous only: leave out --rdzv")
    dropped = [
        "standalone",
        "base_rank",
        names.rank,
        "gpu_ids",  # numbers of another machine's GPUs; Slurm says which a task sees, and counts them from 0
    ]
    edits = dict[Edit, None]()
    for alternative in alternatives:
        own = alternative.launcher
        names_there = [*dropped, *(option.name for option in own.all_options if option.name.startswith("rdzv_"))]
        there = [name for name in dict.fromkeys(names_there) if name in own.options or name in own.flags]
        edits |= {type(words)(words.job, alternative).without(name): None for name in there}
    yield from edits
    for name, variable, value in ((names.address, "MASTER_ADDR", ADDRESS), (names.port, "MASTER_PORT", PORT)):
        setting = setting_of(launcher, name)
        if backend != "static":
            if setting is not None and not setting.from_environment:
                yield words.without(name)
        elif (
            setting is not None
            and holds_for_all(setting, name == names.address)
            and not (name == names.port and _is_unread_port(launcher, setting))
        ):
            continue
        elif setting is None:
            added.append(option(name, f"${variable}"))
        elif edit := words.origin(setting, value, f"${variable}"):
            yield edit
            if edit.content == value:
                continue  # a variable of the script has it
        lines.append(f"export {variable}={value}")
    if backend != "static":
        added += ["--rdzv-backend=c10d", '--rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT"', '--rdzv-id="$SLURM_JOB_ID"']
    rank = option(names.rank, "$SLURM_NODEID") if backend == "static" else None
    yield from words.started(rank, added)


def is_standalone(launcher: Launcher) -> bool:
    """Whether each node meets by itself, whatever address it is told, unless that is an --rdzv-endpoint."""
    return launcher.name.endswith(_STANDALONE)


def _is_elastic(launcher: Launcher) -> bool:
    """Whether nodes may come and go, or workers are restarted, which need a new rendezvous."""
    restarts = launcher.setting("max_restarts") if launcher.kind == "torchrun" else None
    return isinstance(launcher.nnodes, tuple) or restarts is not None and restarts.text != "0"


def start_by_variables(job: Job, launch: Launch, gpus: int) -> Iterator[Edit]:
    """The edits that start ms-swift or LLaMA-Factory, which run torchrun, on every node. Raises `NotConvertible`.

    It reads variables: NODE_RANK is set in a shell of each task, the others are the same on all nodes.
    """
    words, launcher = CommandWords(job, launch), launch.launcher
    edits, lines = list(without_geometry(job, launch.step)), []
    wanted = {
        "nnodes": "$SLURM_JOB_NUM_NODES",
        "nproc_per_node": str(gpus),
        "master_addr": ADDRESS,
        "master_port": PORT,
    }
    for option, value in wanted.items():
        setting = launcher.setting(option)
        if setting is None:
            lines.append(f"export {option.upper()}={value}")
        elif _is_other(setting, option, value) and (edit := words.other_value(setting, value)):
            edits.append(edit)
    if words.quote and launch.step is None:
        raise NotConvertible("the words of the launcher are in a string: write them as a command")
    if launcher.kind == "llamafactory" and exported(launch.invocation, "FORCE_TORCHRUN") is None:
        lines.append("export FORCE_TORCHRUN=1")  # else one of a single GPU runs without it
    in_string = job.in_quoted_text(name_span(launch).start)
    yield from edits
    yield from exports_before(job, launch, lines, edits)
    if in_string:
        yield from told_in_string(words, "NODE_RANK")
    else:
        yield from words.wrapped_in_shell('export NODE_RANK="$SLURM_NODEID"; ')


def read_by_others(job: Job) -> Iterator[str]:
    """To-dos for scripts after a launch which is told of nodes by exported variables, that they would read too."""
    launches = [each for each in job.launches if each.launcher.kind in ("swift", "llamafactory")]
    launches += [each for each in job.launches if exported(each.invocation, "PET_NNODES") is not None]
    first = min((each.invocation.index for each in launches if each.step is not None), default=None)
    for command in job.invocations if first is not None else ():
        variables = command.state.variables
        told = [name for name in ("NNODES", "PET_NNODES") if name in variables and variables[name].exported]
        is_unread = runs_script(command) and command.phase is Phase.BATCH and enclosing_step(command.context) is None
        if told and is_unread and command.index > (first or 0):
            name = shown_text(command.argv[-1 if command.name in ("bash", "sh") else 0])
            line = job.line(command.span.start)
            yield f"line {line}: {name} gets {told[0]} too, by which launchers wait for all nodes: unset it before"


def _is_other(setting: Setting, option: str, value: str) -> bool:
    """Whether a variable has another value than it needs; an address of the job is any that comes from Slurm."""
    if option in ("master_addr", "master_port"):
        return not holds_for_all(setting, option == "master_addr")
    return setting.text != value
