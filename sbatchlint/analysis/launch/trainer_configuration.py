"""The numbers of Lightning's Trainer in a YAML file beside the program: Hydra's (as NeMo has it), or LightningCLI's.

`--config-path` of Hydra (hydra/_internal/config_search_path_impl.py, 1.3) is relative to the program's folder; the name
has no ending. LightningCLI is told a file by `--config` or `-c`.
"""

import os.path
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import program_options
from sbatchlint.job.launchers import python_of
from sbatchlint.source import lookups
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_MOST_BYTES = 1 << 16
_KINDS = {"--config-path": "folder", "--config-name": "name", "--config": "file"}
_KINDS |= {"-cp": "folder", "-cn": "name", "-c": "file"}
# Its block; the list of the files of which Hydra puts the configuration together may name one for it, too.
_BLOCK = Regex(r"(?m)^trainer:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*(?:#.*)?\n)+)")
_ELSEWHERE = Regex(r"(?m)^[ \t]*-[ \t]*(?:override[ \t]+)?/?trainer(?:@\S+)?:")
_NUMBER = Regex(r"(?m)^[ \t]+(devices|gpus|num_nodes):[ \t]*([^\s#]+)[ \t]*(?:#.*)?$")


class Configured(NamedTuple):
    """What the file says of the processes on a node, and of nodes; None where it gives no number. `path`: its name."""

    devices: int | None
    nodes: int | None
    path: str


def trainer_configuration(job: Job, invocation: Invocation) -> Configured | None:
    """What the file says that a Python program is given on its command line; None where there is none, or no number."""
    name = _file(invocation)
    path = None if name is None else job.beside.named(invocation, name)
    data = None if path is None else lookups.read(path, _MOST_BYTES + 1)
    if path is None or data is None or len(data) > _MOST_BYTES:
        return None
    text = data.decode("utf-8", "replace") + "\n"
    block = _BLOCK.search(text)
    if block is None or _ELSEWHERE.search(text):
        return None
    found = dict(_NUMBER.findall(block[1]))
    devices, nodes = _number(found.get("devices", found.get("gpus"))), _number(found.get("num_nodes"))
    return None if devices is None and nodes is None else Configured(devices, nodes, os.path.basename(path))


def _file(invocation: Invocation) -> str | None:
    python = python_of(invocation)
    if python is None or python.target is None or python.kind != "script":
        return None
    given: dict[str, str] = {}
    for option, value, _ in program_options(invocation.argv[python.after :], _KINDS.__contains__):
        text = None if value is None else text_of(value)
        if text:
            given[_KINDS[option]] = text
    if "folder" in given and "name" in given:
        program = text_of(python.target)
        if program is None:
            return None
        name = given["name"] if given["name"].endswith((".yaml", ".yml")) else f"{given['name']}.yaml"
        return os.path.normpath(os.path.join(os.path.dirname(program), given["folder"], name))
    return given["file"] if given.get("file", "").endswith((".yaml", ".yml")) else None


def _number(text: str | None) -> int | None:
    text = (text or "").strip("\"'")
    return parse_integer(text) if is_number(text) else None
