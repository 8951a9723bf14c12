"""Lightning under a launcher: its Trainer counts devices × num_nodes, which has to be the number of processes.

Without `num_nodes` it takes one node, and refuses more processes than it has devices (`TorchElasticEnvironment`,
lightning/fabric/plugins/environments/torchelastic.py, 2.5). Without a launcher see programs.py.
"""

import os.path
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sbatchlint.analysis.launch.configuration_files import configuration_of
from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES, LIGHTNING_NODES
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.convert.in_files import is_told
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.job.launchers import python_command
from sbatchlint.job.python.program import python_program
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.yaml_files import Value, read_yaml

# The commands of LightningCLI, and options that only a Trainer of Lightning has.
_COMMANDS = ("fit", "validate", "test", "predict")
_OF_TRAINER = Regex(
    r"(?:\w+[.])?(?:trainer|pl_trainer)[.](?:accelerator|strategy|devices|gpus|precision|limit_\w+_batches|fast_dev_run)"
)


# Options that no other trainer has.
_ONLY_ITS = Regex(
    r"accumulate_grad_batches|default_root_dir|limit_\w+_batches|num_sanity_val_steps|check_val_every_n_epoch"
    r"|fast_dev_run|val_check_interval|gradient_clip_algorithm"
)
# Keys of the block of a trainer in a file, one of which is there.
_BLOCK = frozenset({"devices", "gpus", "num_nodes", "strategy", "accelerator", "max_epochs", "max_steps", "precision"})
_PACKAGES = ("lightning", "pytorch_lightning", "lightning_fabric")
_NODES = Regex(r"--?(?:num[_-]?)?nodes|--?nnodes|--?n[_-]nodes")


class Devices(NamedTuple):
    """The option for the devices, its value, and how the one for the nodes is written before its value."""

    option: str
    value: Pieces
    nodes: str


def _devices(job: Job, launch: Launch) -> Devices | None:
    """The devices of a Trainer whose number of nodes nothing says; None where something does, or there are none."""
    words: Argv = launch.launcher.program_words[1:]
    if not launch.launcher.spawns or is_told(words, LIGHTNING_NODES):
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


def _trainer_sign(words: Argv, are_tasks: bool) -> str:
    """What of the words tells that a program has a Trainer of Lightning; "" if nothing."""
    texts = [shown_text(each) for each in words]
    names = [each.partition("=")[0].lstrip("-+") for each in texts]
    found = [each for each, name in zip(texts, names, strict=True) if _OF_TRAINER.fullmatch(name)]
    if found:
        return found[0]
    command = next((each for each in texts if each in _COMMANDS), "")
    if command and {"--config", "-c"} & {each.partition("=")[0] for each in texts}:
        return f"{command} --config"
    plain = next((name for name in names if _ONLY_ITS.fullmatch(name.rpartition(".")[2])), "")
    with_devices = are_tasks or {"devices", "accelerator", "strategy"} <= set(names)
    return plain or ("--devices" if "devices" in names and with_devices else "")


def _in_file(job: Job, command: Invocation, words: Argv, nodes: int) -> str:
    """What of a YAML file among the words tells so, where its num_nodes is not that of the job; "" if nothing."""
    for text, trainer in _trainers_of_files(job, command, words):
        number = trainer.get("num_nodes")
        if number is None or isinstance(number, str) and is_number(number) and parse_integer(number) != nodes:
            return f"the trainer of {text.rpartition('/')[2]}"
    return ""


def _trainers_of_files(job: Job, command: Invocation, words: Argv) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """The YAML files among the words, each with a block of a trainer in it."""
    for text in dict.fromkeys(shown_text(each).rpartition("=")[2] for each in words):
        path = job.beside.named(command, text) if text.endswith((".yaml", ".yml")) else None
        for trainer in _trainers({} if path is None else read_yaml(path) or {}):
            yield text, trainer


def _trainers(values: Value, depth: int = 3) -> Iterator[Mapping[str, Value]]:
    for name, value in values.items() if isinstance(values, Mapping) and depth else ():
        if name in ("trainer", "pl_trainer") and isinstance(value, Mapping) and not _BLOCK.isdisjoint(value):
            yield value
        else:
            yield from _trainers(value, depth - 1)


def _in_program(job: Job, command: Invocation, words: Argv, nodes: int) -> str:
    """The Trainer in the program's own text, where nothing there or in the words tells it the nodes; "" if none."""
    import ast

    program = python_program(job, command)
    if program is None or program.mentions("LightningCLI", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
        return ""
    for call in program.calls:
        if call.last not in ("Trainer", "Fabric") or call.name.partition(".")[0] not in _PACKAGES or not call.certain:
            continue
        given = next((each.value for each in call.node.keywords if each.arg == "num_nodes"), None)
        strategy = call.keyword("strategy")
        alone = call.keyword("accelerator") in ("cpu", "tpu", "mps") or strategy in ("dp", "ddp_spawn", "ddp_notebook")
        told = isinstance(given, ast.Constant) and given.value == nodes
        by_word = given is not None and is_told(words, _NODES)
        if not alone and not told and not by_word:
            return f"{call.last}() in {os.path.basename(program.path)}"
    return ""


def _untold(job: Job, nodes: int) -> Iterator[str]:
    """To-dos for programs with a Trainer, whose number of nodes no word says."""
    starts = [(each.invocation, each.launcher.program_words, False) for each in job.launches if each.launcher.spawns]
    starts = [each for each in starts if not is_told(each[1], LIGHTNING_DEVICES)]
    for step in job.steps:
        if step.all_tasks not in (None, 1):
            starts += [(each, each.argv, True) for each in step.program if not each.children]
    for command, words, are_tasks in starts:
        python = python_command(words)
        own = words[(python.after if python is not None else 1) :]
        names = [shown_text(each).partition("=")[0].lstrip("-+") for each in own]
        if any(each.rpartition(".")[2].replace("-", "_") == "num_nodes" for each in names):
            continue
        line, program = job.line(command.span.start), _in_program(job, command, own, nodes)
        if program:
            yield f"line {line}: {program} may take one node: tell it num_nodes={nodes}"
            continue
        sign = _in_file(job, command, own, nodes) or (
            _trainer_sign(own, are_tasks) if not _says_all(job, command, own, nodes) else ""
        )
        if sign:
            by_hydra = any("=" in each and each[:1] != "-" for each in map(shown_text, own))
            option = "++trainer.num_nodes" if by_hydra else "--trainer.num_nodes"
            yield f"line {line}: by {sign} Lightning may take one node: add num_nodes, as {option}={nodes}"


def _says_all(job: Job, command: Invocation, words: Argv, nodes: int) -> bool:
    """Whether a YAML file among the words says the number of nodes of the job."""
    return any(each.get("num_nodes") == str(nodes) for _, each in _trainers_of_files(job, command, words))


def untold_nodes(job: Job, nodes: int) -> Iterator[str]:
    """To-dos for Trainers that are to be told the number of nodes."""
    if nodes > 1:
        yield from _untold(job, nodes)
    for launch in job.launches if nodes > 1 else ():
        found = _devices(job, launch)
        if found is not None:
            line = job.line(span_of(found.value).start)
            yield f"line {line}: with {found.option} alone Lightning takes one node: add {found.nodes}{nodes}"
