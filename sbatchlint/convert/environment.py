"""A launcher that is told by its environment how many nodes there are: ms-swift, which makes a torchrun of itself.

NNODES, NPROC_PER_NODE, MASTER_ADDR and MASTER_PORT are the same on all nodes; NODE_RANK is set by a shell of each task.
"""

from collections.abc import Iterator

from sbatchlint.convert.wish import NotConvertible
from sbatchlint.convert.words import ADDRESS, PORT, CommandWords, exports_before, without_geometry
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Setting
from sbatchlint.source.edits import Edit


def start_told(job: Job, launch: Launch, gpus: int) -> Iterator[Edit]:
    """The edits that start the launcher on every node with the variables that it reads. Raises `NotConvertible`."""
    words, launcher = CommandWords(job, launch), launch.launcher
    edits, lines = list(without_geometry(job, launch.step)), []
    wanted = {"nnodes": "$SLURM_NNODES", "nproc_per_node": str(gpus), "master_addr": ADDRESS, "master_port": PORT}
    for option, value in wanted.items():
        setting = launcher.setting(option)
        if setting is None:
            lines.append(f"export {option.upper()}={value}")
        elif _is_other(setting, option, value) and (edit := words.other_value(setting, value)):
            edits.append(edit)
    if words.holder.quote:
        raise NotConvertible("the words of the launcher stand in a string: write them as a command")
    yield from edits
    yield from exports_before(job, launch, lines, edits)
    yield from words.told('export NODE_RANK="$SLURM_NODEID"; ')


def _is_other(setting: Setting, option: str, value: str) -> bool:
    if option == "master_port":
        return False
    return option == "master_addr" or setting.text != value
