"""The configuration file of `accelerate launch` (accelerate 1.15, commands/config/config_args.py), which is YAML.

Its options stand at the top, those of a plugin in a block of its own, such as `deepspeed_config`, from which they are
copied (`_validate_launch_command` in commands/launch.py). A file of which any of them is not known is unknown.
"""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, Piece
from sbatchlint.job.beside import FilesBeside
from sbatchlint.job.launchers.model import Launcher, Setting
from sbatchlint.source.yaml_files import Value, read_yaml

_OPTIONS = ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port", "rdzv_backend",
            "gpu_ids", "use_cpu")  # fmt: skip
_OF_DEEPSPEED = "deepspeed_config_file"
# Values of distributed_type with which it starts processes as torchrun does.
_KINDS = ("MULTI_GPU", "FSDP", "MEGATRON_LM")


def configure(launcher: Launcher, file: Setting, invocation: Invocation, beside: FilesBeside) -> None:
    """Sets `launcher.configured` from its configuration file, if that is part of the project and can be read."""
    path = None if file.value is None else beside.path(invocation, file.value)
    values = None if path is None else read_yaml(path)
    if path is None or values is None or values.get("compute_environment", "LOCAL_MACHINE") != "LOCAL_MACHINE":
        return
    kind = values.get("distributed_type")
    if kind == "DEEPSPEED":
        if values.get("num_machines", "1") != "1" and _multinode_launcher(values.get("deepspeed_config")) != "standard":
            return  # its own runner may start the other nodes
    elif kind not in _KINDS:
        return
    if not all(isinstance(values.get(option), str | None) for option in _OPTIONS):
        return
    name = path.rpartition("/")[2]
    launcher.configured = {}
    plugin = values.get("deepspeed_config")
    of_plugin = plugin.get(_OF_DEEPSPEED) if isinstance(plugin, dict) and kind == "DEEPSPEED" else None
    for option, value in (*((each, values.get(each)) for each in _OPTIONS), (_OF_DEEPSPEED, of_plugin)):
        if isinstance(value, str) and value not in ("", "None"):
            source = Expansion(f"{name}: {option}", file.span, Phase.BATCH)
            piece = Piece(value, file.span.start, file.span.end, source)
            launcher.configured[option] = Setting((piece,), file.span, None, option)


def _multinode_launcher(settings: Value) -> Value:
    """How DeepSpeed starts the other nodes: `standard` is what torchrun does, on each (utils/launch.py)."""
    return settings.get("deepspeed_multinode_launcher") if isinstance(settings, dict) else None
