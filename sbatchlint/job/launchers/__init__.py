"""Recognising launchers: commands that start the workers of a distributed program."""

from functools import lru_cache
from importlib import import_module

from sbatchlint.bash.values import Pieces, span_of
from sbatchlint.job.argv import Argv, Lookup, basename
from sbatchlint.job.launchers import accelerate, deepspeed, mpi, swift, torchrun
from sbatchlint.job.launchers.accelerate import Accelerate
from sbatchlint.job.launchers.deepspeed import DeepSpeed
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting
from sbatchlint.job.launchers.mpi import Mpi
from sbatchlint.job.launchers.python import Python, is_interpreter, is_python, python_command, python_of
from sbatchlint.job.launchers.swift import Swift, TorchrunByVariables
from sbatchlint.job.launchers.torchrun import Torchrun
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.text import Span

__all__ = [
    "Accelerate",
    "DeepSpeed",
    "Launcher",
    "Mpi",
    "Python",
    "Rendezvous",
    "Setting",
    "Swift",
    "Torchrun",
    "TorchrunByVariables",
    "is_interpreter",
    "is_python",
    "may_launch",
    "nothing_exported",
    "python_command",
    "python_of",
    "recognise",
]

_FILES = {
    "torch/distributed/run.py": "torch.distributed.run",
    "torch/distributed/launch.py": "torch.distributed.launch",
    "accelerate/commands/launch.py": "accelerate.commands.launch",
    "deepspeed/launcher/runner.py": "deepspeed.launcher.runner",
    "deepspeed/launcher/launch.py": "deepspeed.launcher.launch",
}

_FILE_NAMES = frozenset(path.rpartition("/")[2] for path in _FILES)

# The modules of rare launchers, by command. A module is imported only if a script calls its command, which saves the
# time for six modules; the function in it has the name of the command, with `_` for `-`.
_RARE = {
    "axolotl": "axolotl",
    "colossalai": "colossalai",
    "composer": "composer",
    "fabric": "fabric",
    "ft_launcher": "ft_launcher",
    "horovodrun": "horovod",
    "lightning": "fabric",
    "llamafactory-cli": "swift",
    "lmf": "swift",
    "ray": "ray",
    "torchpack": "horovod",
    "trl": "trl",
    "tune": "fabric",
}
# The names of all launchers, so that other commands are rejected at once.
_NAMES = programs_with("mpi").union(
    _RARE, ("accelerate", "accelerate-launch", "deepspeed", "deepspeed.pt", "ds", "megatron", "swift", "torchrun")
)
_RARE_MODULES = {
    "axolotl.cli.main": "axolotl",
    "colossalai.cli": "colossalai",
    "composer": "composer",
    "composer.cli.launcher": "composer",
    "horovod.run": "horovodrun",
    "horovod.runner.launch": "horovodrun",
    "lightning.fabric.cli": "fabric",
    "llamafactory.cli": "llamafactory-cli",
    "nvidia_resiliency_ext.fault_tolerance.launcher": "ft_launcher",
    "ray.scripts.scripts": "ray",
}


@lru_cache(maxsize=4096)  # scripts call the same programs again and again
def may_launch(name: str) -> bool:
    """Whether a program of this name may be a launcher, or run one, as python does."""
    return name in _NAMES or is_interpreter(name)


def nothing_exported(name: str) -> Pieces | None:
    """The lookup for a script that exports nothing."""
    return None


def recognise(argv: Argv, environment: Lookup = nothing_exported) -> Launcher | None:
    """The launcher that an argv calls; None for other programs, and for unknown ones.

    Only the command's own name counts (its last path component), or the module after `python -m`. Wrappers must have
    been removed (`job.commands.wrappers`). `environment`: the exported variables, such as PET_NNODES, NPROC_PER_NODE.
    """
    if not argv:
        return None
    name = basename(argv[0])
    if name is None:
        return None
    if name not in _NAMES:
        return _of_python(argv, name, environment) if is_interpreter(name) else None
    return _named(name, Call(name, argv, 0, 1, span_of(argv[0]), environment))


def _of_python(argv: Argv, interpreter: str, environment: Lookup) -> Launcher | None:
    command = python_command(argv)
    if command is None or command.target is None:
        return None
    written = command.text or ""
    call = Call(f"{interpreter} {written}", argv, command.at, command.after, _interpreted(argv, command), environment)
    if command.kind == "module":
        return _module(written, call._replace(name=f"{interpreter} -m {written}"))
    name = basename(command.target) if command.kind == "script" else None
    if name in _FILE_NAMES:
        for path, module in _FILES.items():
            if written == path or written.endswith("/" + path):
                return _module(module, call)
    return _named(name, call._replace(name=f"{interpreter} {name}")) if name in _NAMES else None


def _interpreted(argv: Argv, command: Python) -> Span:
    """The place of the interpreter and what it runs."""
    span = span_of(argv[0])
    end = span_of(argv[command.at]) if command.at < len(argv) else span
    return Span(span.start, end.end) if end.start >= span.end else end


def _module(module: str, call: Call) -> Launcher | None:
    module = module.removesuffix(".__main__")
    if module in torchrun.MODULES:
        return torchrun.torchrun(torchrun.MODULES[module], call)
    if module in accelerate.MODULES:
        return accelerate.accelerate(call)
    if module in deepspeed.MODULES:
        return deepspeed.deepspeed(deepspeed.MODULES[module], call)
    if module in swift.MODULES:
        return swift.swift(call)
    return _rare(_RARE_MODULES[module], call) if module in _RARE_MODULES else None


def _named(base: str, call: Call) -> Launcher | None:
    if base == "torchrun":
        return torchrun.torchrun("torchrun", call)
    if base == "accelerate":
        return accelerate.accelerate(call.subcommand()) if call.verb == "launch" else None
    if base == "accelerate-launch":
        return accelerate.accelerate(call)
    if base in ("deepspeed", "deepspeed.pt", "ds"):
        found = deepspeed.deepspeed("deepspeed", call)
        # `ds` is the runner's short name, but also the name of other commands.
        return found if base != "ds" or (found.program_name or "").endswith(".py") else None
    if base in ("swift", "megatron"):
        return swift.swift(call)
    return mpi.mpi(call) if has_trait(base, "mpi") else _rare(base, call)


def _rare(base: str, call: Call) -> Launcher | None:
    """A rare launcher, whose module is imported only now."""
    found: Launcher | None = getattr(import_module(f"{__name__}.{_RARE[base]}"), base.replace("-", "_"))(call)
    return found
