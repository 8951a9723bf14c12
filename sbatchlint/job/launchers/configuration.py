"""The configuration file of `accelerate launch` (accelerate 1.15, commands/config/config_args.py): one option per line.

It is YAML, of which only the plain form that `accelerate config` writes is read: `name: value` at the left margin, with
indented lines that belong to the name above. A file with anything else is unknown.
"""

import re

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, Piece
from sbatchlint.job.beside import FilesBeside
from sbatchlint.job.launchers.model import Launcher, Setting
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_MOST_BYTES = 1 << 14
_LINE = Regex(r"([a-z_]\w*):(?:[ \t]+(.*))?")
_OPTIONS = ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port", "rdzv_backend",
            "gpu_ids", "use_cpu")  # fmt: skip
# Values of distributed_type with which it starts processes as torchrun does.
_KINDS = ("MULTI_GPU", "FSDP", "MEGATRON_LM")


def configure(launcher: Launcher, file: Setting, invocation: Invocation, beside: FilesBeside) -> None:
    """Sets `launcher.configured` from its configuration file, if that is part of the project and plain."""
    path = None if file.value is None else beside.path(invocation, file.value)
    data = None if path is None else lookups.read(path, _MOST_BYTES + 1)
    if data is None or len(data) > _MOST_BYTES:
        return
    values = plain_mapping(data.decode("utf-8", "replace"))
    if values is None or values.get("compute_environment", "LOCAL_MACHINE") != "LOCAL_MACHINE":
        return
    kind = values.get("distributed_type", "")
    if kind == "DEEPSPEED":
        if values.get("num_machines", "1") != "1":
            return  # its own runner may start the other nodes
    elif kind not in _KINDS:
        return
    name = (path or "").rpartition("/")[2]
    launcher.configured = {}
    for option in _OPTIONS:
        value = values.get(option, "")
        if value not in ("", "null", "~", "None"):
            source = Expansion(f"{name}: {option}", file.span, Phase.BATCH)
            piece = Piece(value, file.span.start, file.span.end, source)
            launcher.configured[option] = Setting((piece,), file.span, None, option)


def plain_mapping(string: str) -> dict[str, str] | None:
    """The names at the left margin of a plain YAML file, with their values as strings; None for other forms."""
    found: dict[str, str] = {}
    for line in string.splitlines():
        if not line.strip() or line[:1] in " \t#" or line.strip() == "---":
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        value = re.sub(r"(?:^|\s)#.*", "", match.group(2) or "").strip()
        if value[:1] in "&*!|>{[%@`" and value:
            value = ""  # a value of several lines or words, which none of the options has
        elif value[:1] in "'\"":
            value = value[1:-1] if len(value) > 1 and value[-1] == value[0] else ""
        found[match.group(1)] = value
    return found
