"""What the configuration file of a program, beside the script, says of nodes, devices and batches."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sbatchlint.analysis.launch.configuration_files import configuration_of, positive
from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES, LIGHTNING_NODES
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, program_options
from sbatchlint.source.regex import Regex
from sbatchlint.source.yaml_files import Value, read_yaml

SETTINGS_FILE = Regex(r".+\.(?:ya?ml|json)")
# The samples of one process at a time: of transformers and LLaMA-Factory, and of axolotl.
SAMPLES, _OF_AXOLOTL, STEPS = "per_device_train_batch_size", "micro_batch_size", "gradient_accumulation_steps"


class Batch(NamedTuple):
    """The samples of a process at a time, and how often it takes some for one step. `name`: of the file."""

    samples: int
    steps: int
    name: str


def stale_in_files(job: Job, nodes: int, gpus: int | None) -> Iterator[str]:
    """What a file tells Lightning of nodes, or of devices on each, that launchers start otherwise, as sentences."""
    for launch in job.launches:
        words = launch.launcher.program_words
        found = configuration_of(job, launch.invocation, words[0], words[1:]) if words else None
        if found is None:
            continue
        line = job.line(found.place.start)
        number, devices = found.number("trainer", "num_nodes"), found.number("trainer", "devices")
        if number not in (None, nodes) and not is_told(words[1:], LIGHTNING_NODES):
            what = f"trainer.num_nodes is {number} in {found.name}, where the program has {nodes} nodes"
            yield f"line {line}: {what}: add {found.prefix}trainer.num_nodes={nodes}"
        if gpus is not None and devices not in (None, gpus) and not is_told(words[1:], LIGHTNING_DEVICES):
            what = f"trainer.devices is {devices} in {found.name}, where each node has {gpus} processes"
            yield f"line {line}: {what}: add {found.prefix}trainer.devices={gpus}"


def is_told(words: Argv, option: Regex) -> bool:
    """Whether the words of a program have such an option."""
    return any(True for _ in program_options(words, option.fullmatch))


def batch_in_file(job: Job, command: Invocation, words: Argv) -> Batch | None:
    """The batch that the one file among the words of a program sets; None where none does, or it is not known."""
    names = {shown_text(word).rpartition("=")[2] for word in words}
    files = {name: job.beside.named(command, name) for name in names if SETTINGS_FILE.fullmatch(name)}
    found = {name: values for name, path in files.items() if path and (values := read_yaml(path)) is not None}
    batches = [batch for name, values in found.items() if (batch := _batch(name, values)) is not None]
    return batches[0] if len(batches) == 1 and len(found) == len(files) else None


def _batch(name: str, values: Mapping[str, Value]) -> Batch | None:
    is_axolotl = SAMPLES not in values and "global_batch_size" not in values and STEPS in values
    samples, steps = values.get(_OF_AXOLOTL if is_axolotl else SAMPLES), values.get(STEPS, "1")
    number, times = positive(samples), positive(steps)
    return None if number is None or times is None else Batch(number, times, name.rpartition("/")[2])
