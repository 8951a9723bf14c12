"""Lightning under a launcher: its Trainer counts devices × num_nodes, which has to be the number of processes.

Without `num_nodes` it takes one node, and refuses more processes than it has devices (`TorchElasticEnvironment`,
lightning/fabric/plugins/environments/torchelastic.py, 2.5). Without a launcher see programs.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.launch.configuration_files import configuration_of
from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES, LIGHTNING_NODES
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.job.launchers import python_command
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.regex import Regex

# The commands of LightningCLI, and options that only a Trainer of Lightning has.
_COMMANDS = ("fit", "validate", "test", "predict")
_OF_TRAINER = Regex(
    r"(?:\w+[.])?(?:trainer|pl_trainer)[.](?:accelerator|strategy|devices|gpus|precision|limit_\w+_batches|fast_dev_run)"
)


class Devices(NamedTuple):
    """The option for the devices, its value, and how the one for the nodes is written before its value."""

    option: str
    value: Pieces
    nodes: str


def _devices(job: Job, launch: Launch) -> Devices | None:
    """The devices of a Trainer whose number of nodes nothing says; None where something does, or there are none."""
    words: Argv = launch.launcher.program_words[1:]
    if not launch.launcher.spawns or any(True for _ in program_options(words, LIGHTNING_NODES.fullmatch)):
        return None
    found = [each for each in program_options(words, LIGHTNING_DEVICES.fullmatch) if each[1] is not None]
    if not found or integer(found[-1][1]) is None:
        return None
    configured = configuration_of(job, launch.invocation, launch.launcher.program_words[0], words)
    if configured is not None and configured.number("trainer", "num_nodes") is not None:
        return None
    option, value, field = found[-1]
    assert value is not None
    name = option.rpartition("devices")[0] or option.rpartition("gpus")[0]
    return Devices(option, value, f"{name}num_nodes{'=' if '=' in (text_of(field) or '=') else ' '}")


def tell_nodes(job: Job, launch: Launch) -> Iterator[Edit]:
    """The edit that tells Lightning the number of nodes behind that of devices, where it is written plainly."""
    found = _devices(job, launch)
    if found is None:
        return
    text, span = job.source.own.text, span_of(found.value)
    if span.end > len(text) or text[span.start : span.end] != text_of(found.value) or job.in_quoted_text(span.start):
        return
    if text[span.end : span.end + 1] in (" ", "\t", "\n", ";", ")", ""):
        yield insert(span.end, f' {found.nodes}"$SLURM_JOB_NUM_NODES"')


def _trainer_sign(words: Argv) -> str:
    """What tells that a program has a Trainer of Lightning whose number of nodes no word says; "" if nothing."""
    texts = [shown_text(each) for each in words]
    names = [each.partition("=")[0].lstrip("-+") for each in texts]
    if any(each.rpartition(".")[2].replace("-", "_") == "num_nodes" for each in names):
        return ""
    found = [each for each, name in zip(texts, names, strict=True) if _OF_TRAINER.fullmatch(name)]
    by_command = texts[:1] and texts[0] in _COMMANDS and {"--config", "-c"} & {each.partition("=")[0] for each in texts}
    plain = {"devices", "accelerator", "strategy"} <= set(names)
    return found[0] if found else f"{texts[0]} --config" if by_command else "--devices" if plain else ""


def _untold(job: Job, nodes: int) -> Iterator[str]:
    """To-dos for programs that only look like those of Lightning, or that are tasks of a step."""
    starts = [(each.invocation, each.launcher.program_words) for each in job.launches if each.launcher.spawns]
    starts = [(each, words) for each, words in starts if not any(True for _ in _says_devices(words))]
    for step in job.steps:
        if step.all_tasks not in (None, 1):
            starts += [(each, each.argv) for each in step.program if not each.children]
    for command, words in starts:
        python = python_command(words)
        own = words[(python.after if python is not None else 1) :]
        sign = _trainer_sign(own)
        if sign:
            line = job.line(command.span.start)
            advice = f"add num_nodes, as --trainer.num_nodes={nodes}"
            yield f"line {line}: by {sign} Lightning may take one node: {advice}"


def _says_devices(words: Argv) -> Iterator[str]:
    yield from (name for name, _, _ in program_options(words, LIGHTNING_DEVICES.fullmatch))


def untold_nodes(job: Job, nodes: int) -> Iterator[str]:
    """To-dos for Trainers that are to be told the number of nodes."""
    if nodes > 1:
        yield from _untold(job, nodes)
    for launch in job.launches if nodes > 1 else ():
        found = _devices(job, launch)
        if found is not None:
            line = job.line(span_of(found.value).start)
            yield f"line {line}: with {found.option} alone Lightning takes one node: add {found.nodes}{nodes}"
