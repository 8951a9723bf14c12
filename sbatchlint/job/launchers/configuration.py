"""The configuration file of `accelerate launch` (accelerate 1.15, commands/config/config_args.py): one option a line.

It is YAML, of which the plain form that `accelerate config` writes is read: `name: value` at the left margin, deeper
lines belonging to the name above them. Whatever else stands there makes the file unknown.
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
# Where its processes are those of torchrun.
_KINDS = ("MULTI_GPU", "FSDP", "MEGATRON_LM")


def configure(launcher: Launcher, file: Setting, invocation: Invocation, beside: FilesBeside) -> None:
    """Gives a launcher what its configuration file says, if that lies beside the script and is plain."""
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
    """The names at the left margin of a plain YAML file, with their values as text; None for other forms."""
    found: dict[str, str] = {}
    for line in string.splitlines():
        if not line.strip() or line[:1] in " \t#" or line.strip() == "---":
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        value = re.sub(r"(?:^|\s)#.*", "", match.group(2) or "").strip()
        if value[:1] in "&*!|>{[%@`" and value:
            value = ""  # a value of several lines or words, which no option here has
        elif value[:1] in "'\"":
            value = value[1:-1] if len(value) > 1 and value[-1] == value[0] else ""
        found[match.group(1)] = value
    return found
