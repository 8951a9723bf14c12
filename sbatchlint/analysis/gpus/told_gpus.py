"""How many GPUs a command is told to use, by its options or by CUDA_VISIBLE_DEVICES before it."""

from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.job.argv import program_options
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span


class ToldGpus(NamedTuple):
    """What a command is told of GPUs.

    `least`, `most`: the number that it uses, in each reading of the option. `last`: the highest index that it names,
    -1 where it names none. `shown`: the option as a message names it.
    """

    least: int
    most: int
    last: int
    span: Span
    shown: str


# Options whose number counts GPUs.
_COUNT = Regex(
    r"-{0,2}\+{0,2}(?:\w[\w.]*[._])?(?:num(?:ber)?_(?:of_)?gpus?|n_gpus?|ngpus?|gpus_per_node|gpu_count|gpu_num|gpunum)"
    r"|-{0,2}\+{0,2}(?:\w+\.)*(?:trainer|train|pl_trainer)[._](?:devices|gpus)"
)
# Options whose number counts GPUs in some programs, and is an index in others.
_COUNT_OR_INDEX = Regex(r"--gpus|-{0,2}\+{0,2}(?:\w+\.)*devices|gpus")
# Options whose value is an index, or a list of them.
_INDEX = Regex(
    r"--?(?:gpu_ids?|gpuids?|gpu_idx|gpu_index|device_ids?|cuda_device|cuda_id|visible_gpus|gpu_list|gpu_device)"
)
_DEVICE = Regex(r"-{0,2}\+{0,2}(?:\w[\w.]*[._])?(?:device|gpu)")
_CUDA_INDEX = Regex(r"cuda:([0-9]{1,3})")
_LIST = Regex(r"\[?\s*([0-9]{1,3}(?:\s*,\s*[0-9]{1,3})*)\s*,?\s*\]?")
# Programs whose `-gpu_id 01` names two GPUs.
_DIGITS = ("gmx", "mdrun")
# Where `gpus_per_node` counts for each node, each trial or each worker of something else.
_OF_OTHERS = Regex(r".*(?:trial|worker|actor|replica|min_|max_).*")


def told_gpus(command: Invocation) -> ToldGpus | None:
    """What a command is told of the GPUs that it is to use; None where nothing, or not everything, is known of it."""
    found: list[ToldGpus] = []
    for name, field in command.variables:
        if name in DEVICE_VARIABLES:
            ids = _indexes(text_of(field) or "")
            if not ids:
                return None
            found.append(ToldGpus(len(ids), len(ids), max(ids), span_of(field), f"{name}={text_of(field)}"))
    options = [*program_options(command.argv[1:], _kind)]
    places = {id(field): at for at, field in enumerate(command.argv)} if options else {}
    for option, value, word in options:
        dashed = option.startswith("-")
        equals = "=" in (text_of(word) or "=")
        if not dashed and not equals and not (option.isupper() and is_number(text_of(value or ()) or "")):
            continue  # a word; pairs such as `NUM_GPUS 8` are settings of YACS
        text = text_of(value or ()) or ""
        further = _further(command, places[id(word)] + 2) if not equals and is_number(text) else []
        if further and _kind(option) != "index":
            return None  # a list, or a number and words of something else
        told = None if value is None else _of_value(_kind(option), ",".join([text, *further]))
        if told is None:
            if _kind(option) == "device":
                continue  # `--device cuda`, `--gpu`: it does not say how many
            return None
        written = " ".join([f"{option}{'=' if equals else ' '}{text}", *further])
        found.append(ToldGpus(*told, span_of(word if equals else (*word, *(value or ()))), written))
    if not found or (command.name or "").startswith(_DIGITS):
        return None
    # the narrowest counts: `CUDA_VISIBLE_DEVICES=0 python train.py --gpus 1`
    return min(found, key=lambda each: each.most)


def _further(command: Invocation, at: int) -> list[str]:
    """The numbers that go on from a word: the `1` of `--device-ids 0 1`, the first eight at most."""
    words = [text_of(field) or "" for field in command.argv[at : at + 8]]
    return [*takewhile(is_number, words)]


@lru_cache(maxsize=4096)  # programs have the same options again and again
def _kind(option: str) -> str:
    """What the value of an option says: `count`, `either`, `index`, `device`; "" for another option."""
    name = option.lower().replace("-", "_")
    name = option[: len(option) - len(option.lstrip("-"))] + name.lstrip("_")
    if _OF_OTHERS.fullmatch(name):
        return ""
    if _COUNT.fullmatch(name):
        return "count"
    if _COUNT_OR_INDEX.fullmatch(name):
        return "either"
    if _INDEX.fullmatch(name):
        return "index"
    return "device" if _DEVICE.fullmatch(name) else ""


def _of_value(kind: str, text: str) -> tuple[int, int, int] | None:
    """The least and the largest number of GPUs, and the highest index, that a value means; None where unclear."""
    text = text.strip("'\" ")
    ids = _indexes(text)
    if kind == "device":
        match = _CUDA_INDEX.fullmatch(text)
        if match is not None:
            return 1, 1, parse_integer(match[1])
        return (len(ids), len(ids), max(ids)) if len(ids) > 1 else None
    if not ids:
        return None
    single = is_number(text)
    if kind == "index" or not single:
        return len(ids), len(ids), max(ids)
    number = ids[0]
    if kind == "count":
        return (number, number, -1) if number else None
    return min(number, 1), max(number, 1), -1


def _indexes(text: str) -> list[int]:
    """The numbers of a list such as `0,1` or `[0, 1]`; none where it is something else, or one occurs twice."""
    match = _LIST.fullmatch(text.strip())
    ids = [parse_integer(each) for each in match[1].replace(" ", "").split(",")] if match is not None else []
    return ids if len(set(ids)) == len(ids) else []


def is_told(command: Invocation) -> bool:
    """Whether some word of a command, or a variable before it, may say which GPUs it is to use."""
    return any(_kind((text_of(each) or "").partition("=")[0]) for each in command.argv[1:]) or any(
        name in DEVICE_VARIABLES for name, _ in command.variables
    )
