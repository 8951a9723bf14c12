"""Replaces a launcher by another one, for the same program with the same words.

DeepSpeed's runner adds `--local_rank=N` to the words of its program (deepspeed/launcher/launch.py, 0.19), so other
launchers do that as well. To reach other nodes it needs ssh, or a hostfile and a runner on each node with its node rank
(`--no_ssh`, since 0.14.5).
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.editing.options import name_span
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Expansion, Pieces, text_of
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.convert.words import ADDRESS, PORT, CommandWords, exports_before, without_geometry
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.source.edits import Edit

_MEETING = '--master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT"'


class Target(NamedTuple):
    """How a launcher is written for several nodes: its command and module, the option for the node rank, the others."""

    command: str
    module: str
    rank: str
    options: str
    is_module: str = "-m"


TARGETS = {
    "torchrun": Target(
        "torchrun",
        "torch.distributed.run",
        "--node_rank",
        f'--nnodes="$SLURM_JOB_NUM_NODES" {_MEETING} --nproc_per_node={{gpus}}',
    ),
    "accelerate": Target(
        "accelerate launch",
        "accelerate.commands.launch",
        "--machine_rank",
        '--multi_gpu --num_machines="$SLURM_JOB_NUM_NODES" --num_processes="$((SLURM_JOB_NUM_NODES * {gpus}))" '
        '--main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT"',
    ),
    "deepspeed": Target(
        "deepspeed",
        "deepspeed.launcher.runner",
        "--node_rank",
        '--hostfile="hostfile.$SLURM_JOB_ID" --no_ssh --no_local_rank --num_nodes="$SLURM_JOB_NUM_NODES" '
        "--num_gpus={gpus} " + _MEETING,
        "--module",
    ),
}
# Options for the number and place of processes, which the new launcher gets in its own syntax.
_GEOMETRY = {
    "torchrun": "nnodes nproc_per_node node_rank master_addr master_port standalone rdzv_backend rdzv_endpoint rdzv_id",
    "accelerate": "num_processes num_machines machine_rank main_process_ip main_process_port multi_gpu gpu_ids "
    "same_network",
    "deepspeed": "num_gpus include num_nodes hostfile node_rank master_addr master_port no_ssh no_ssh_check ssh_port "
    "launcher no_local_rank",
}
_PROGRAM = {"module", "no_python"}
_HOSTFILE = 'scontrol show hostnames "$SLURM_JOB_NODELIST" | sed \'s/$/ slots={gpus}/\' > "hostfile.$SLURM_JOB_ID"'


def start_other(job: Job, launch: Launch, target: str, goal: Goal, gpus: int) -> Iterator[Edit]:
    """The edits that start another launcher on every node, with the same program. Raises `NotConvertible`."""
    launcher, new = launch.launcher, TARGETS[target]
    geometry = _GEOMETRY.get(launcher.kind)
    if geometry is None:
        raise NotConvertible(f"from {launcher.name} to {target} is not converted")
    others = sorted({each.name for each in launcher.all_options} - {*geometry.split(), *_PROGRAM})
    if others:
        raise NotConvertible(f"{target} has no counterpart of --{others[0]} of {launcher.name}: leave it out")
    if goal.rendezvous == "c10d":
        raise NotConvertible("a launcher that replaces another meets by a static rendezvous only: leave out --rdzv")
    words = CommandWords(job, launch)
    yield from without_geometry(job, launch.step)
    lines = meeting(launch.invocation, _port(words))
    if target == "deepspeed":
        lines.append(_HOSTFILE.format(gpus=gpus))
    yield from exports_before(job, launch, lines)
    command = _command(words.written(name_span(launch)), new)
    program = _program(launcher, new)
    start = launch_words(target, gpus, command, f" \\\n{words.indentation}    ")
    if target == launcher.kind and "no_local_rank" not in launcher.flags:
        start = start.replace(" --no_local_rank", "")
    yield from words.replaced(f"{start} {program}", words.program_start)


# What the commands run that run accelerate by themselves, in all of their releases.
_MODULES = {"axolotl": "axolotl.cli.{}", "axolotl.cli.main": "axolotl.cli.{}", "trl": "trl.scripts.{}"}


def module_of(launcher: Launcher) -> str:
    """The module of a launcher such as `axolotl train`, which accelerate starts; "" for another launcher."""
    command, _, method = launcher.name.rpartition(" ")
    module = _MODULES.get(command.split()[-1].rpartition("/")[2]) if command else None
    return "" if module is None else module.format(method)


def start_module(job: Job, launch: Launch, goal: Goal, gpus: int) -> Iterator[Edit]:
    """The edits that start the module of such a launcher by accelerate on every node. Raises `NotConvertible`."""
    launcher, words = launch.launcher, CommandWords(job, launch)
    instead = f"accelerate launch -m {module_of(launcher)}"
    others = {each.name for each in launcher.all_options} - {"num_processes", "main_process_port", "config"}
    if others or launcher.kind != "accelerate" or any(text_of(each) in ("--", "--launcher") for each in launcher.argv):
        raise NotConvertible(f"{launcher.name} is told how to launch: write {instead} with these options in its place")
    if goal.rendezvous == "c10d":
        raise NotConvertible("accelerate is converted to a static rendezvous only: leave out --rdzv")
    yield from without_geometry(job, launch.step)
    yield from exports_before(job, launch, meeting(launch.invocation, _port(words)))
    for name in ("num_processes", "main_process_port"):
        if name in launcher.options:
            yield words.without(name)
    start = launch_words("accelerate", gpus, between=f" \\\n{words.indentation}    ")
    yield from words.replaced(f"{start} -m {module_of(launcher)} ", words.program_start)


def launch_words(target: str, gpus: int, command: str = "", between: str = " ") -> str:
    """The words of a launcher up to its program, with a shell of each task that adds the node rank.

    `between`: the separator after the command string of that shell.
    """
    new = TARGETS[target]
    shell = f'bash -c \'exec {command or new.command} {new.rank}="$SLURM_NODEID" "$@"\''
    return f"{shell}{between}{target} {new.options.format(gpus=gpus)}"


def meeting(command: Invocation, port: str = PORT) -> list[str]:
    """The lines that export MASTER_ADDR and MASTER_PORT, unless the script exports them from Slurm."""
    found = []
    for name, value in (("MASTER_ADDR", ADDRESS), ("MASTER_PORT", port)):
        known = exported(command, name)
        of_one_node = known is None or name == "MASTER_ADDR" and text_of(known) or text_of(known) == "0"
        if of_one_node or port != PORT and value == port:
            found.append(f"export {name}={value}")
    return found


def _port(words: CommandWords) -> str:
    """The port of the launcher, as a shell word."""
    launch = words.launch
    setting: Setting | None = launch.launcher.setting("master_port", "main_process_port")
    if setting is None or setting.value is None or setting.from_environment:
        return PORT
    if _values(setting.value) == _values(exported(launch.invocation, "MASTER_PORT") or ()):
        return PORT  # the script exports it already
    text = setting.text
    written = None if text == "0" else words.moved(setting)
    if written is not None:
        return f'"{written}"' if "(" in written else written
    if text is not None:
        return PORT if text == "0" else text
    return PORT  # drawn or looked for when the script runs, so any port does


def _values(field: Pieces) -> list[tuple[str | None, Expansion | None]]:
    return [(each.text, each.expansion) for each in field]


def _command(written: str, new: Target) -> str:
    """The command of the new launcher in the form of the old one: as a module, or in the same folder."""
    before, module, _ = written.rpartition(" -m ")
    if module:
        return f"{before} -m {new.module}"
    folder = written.split()[0].rpartition("/")[0]
    return f"{folder}/{new.command}" if folder else new.command


def _program(launcher: Launcher, new: Target) -> str:
    """The words before those of the program: how to run it, with `--local_rank` if the old launcher added that."""
    if launcher.kind != "deepspeed" or new is TARGETS["deepspeed"] or "no_local_rank" in launcher.flags:
        kinds = {"module": f"{new.is_module} ", "command": "--no_python "}
        return kinds.get(launcher.program_kind, "")
    run = {"module": "python -u -m ", "command": ""}.get(launcher.program_kind, "python -u ")
    return f'--no_python bash -c \'exec {run}"$0" --local_rank="$LOCAL_RANK" "$@"\' '
