"""Launchers with few users: colossalai run, composer, ray start, horovodrun, torchpack dist-run, fabric run, tune run.

Options from the sources of each: colossalai/cli/launcher, composer/cli/launcher.py, ray/scripts/scripts.py,
horovod/runner/launch.py, torchpack/launch/launchers/drunner.py, lightning/fabric/cli.py, torchtune/_cli/run.py.
"""

from __future__ import annotations

from ...shell.values import Pieces, text_of
from ...source.text import Span
from ..words import Argv, Lookup, read, syntax
from .model import Launcher, Rendezvous, Setting, count, nodes
from .torchrun import Torchrun, torchrun

_COLOSSALAI = syntax(
    "H/host host hostfile include exclude num_nodes nproc_per_node master_port master_addr extra_launch_args ssh-port",
    "m help",
    single_dash=True,
)
_COMPOSER = syntax(
    "n/nproc nproc stdout stderr world_size base_rank node_rank master_addr master_port",
    "version v/verbose verbose m/module_mode module_mode c/command_mode command_mode help",
    abbreviations=True,
    numbers=True,
)
_RAY = syntax(
    "node-ip-address address port node-name redis-password object-manager-port node-manager-port min-worker-port "
    "max-worker-port worker-port-list ray-client-server-port object-store-memory num-cpus num-gpus resources "
    "dashboard-host dashboard-port dashboard-agent-listen-port dashboard-agent-grpc-port metrics-export-port temp-dir "
    "plasma-directory log-style log-color labels storage system-config autoscaling-config runtime-env-agent-port "
    "include-dashboard",
    "head block disable-usage-stats no-monitor verbose v/verbose help autoscaling",
)
_HOROVOD = syntax(
    "np/num-proc num-proc H/hosts hosts hostfile/hostfile hostfile p/ssh-port ssh-port i/ssh-identity-file "
    "ssh-identity-file start-timeout network-interface network-interfaces output-filename config-file min-np max-np "
    "slots-per-host host-discovery-script mpi-args",
    "v/version cb/check-build disable-cache verbose gloo mpi jsrun tcp help autotune timeline-mark-cycles",
    single_dash=True,
    greedy=True,
)
_TORCHPACK = syntax("np/nproc nproc H/hosts hosts hostfile", "v/verbose verbose help", single_dash=True)
_FABRIC = syntax(
    "accelerator strategy devices num_nodes node_rank main_address main_port precision",
    "help",
    underscores=True,
)

NAMES = frozenset({"colossalai", "composer", "ray", "horovodrun", "torchpack", "fabric", "tune"})
MODULES = {
    "composer.cli.launcher": "composer",
    "composer": "composer",
    "colossalai.cli": "colossalai",
    "horovod.runner.launch": "horovodrun",
    "horovod.run": "horovodrun",
    "ray.scripts.scripts": "ray",
    "lightning.fabric.cli": "fabric",
}
_COMPOSER_VARIABLES = {
    "nproc": "LOCAL_WORLD_SIZE",
    "world_size": "WORLD_SIZE",
    "base_rank": "BASE_RANK",
    "node_rank": "NODE_RANK",
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
}


class Other(Launcher):
    """One of these; what their options are called differs, what they mean does not."""

    __slots__ = ()

    @property
    def processes_per_task(self) -> int | str | None:
        setting = self.setting("nproc_per_node", "devices") if self.kind != "composer" else self.setting("nproc")
        if setting is not None:
            found = count(setting)
            return None if isinstance(found, int) and found < 0 else found
        if self.kind == "composer" and self.certain:
            return "auto"
        return None

    @property
    def total_processes(self) -> Setting | None:
        names = {"horovod": ("num-proc",), "torchpack": ("nproc",), "composer": ("world_size",)}
        return self.setting(*names.get(self.kind, ()))

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_nodes")

    @property
    def nnodes(self) -> int | tuple[int, int] | Pieces | None:
        return nodes(self.setting("num_nodes"))

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank", "base_rank")

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("hostfile", "host", "hosts")

    @property
    def rendezvous(self) -> Rendezvous | None:
        if self.kind not in ("colossalai", "composer", "fabric"):
            return None
        return Rendezvous(
            "static", self.setting("master_addr", "main_address"), self.setting("master_port", "main_port"), None
        )


def other(base: str, name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher `base`, where the word after its name makes it one (`ray start`, `colossalai run`)."""
    verbs = {"colossalai": "run", "ray": "start", "torchpack": "dist-run", "fabric": "run", "tune": "run"}
    verb = verbs.get(base)
    if verb is not None:
        if after >= len(argv) or text_of(argv[after]) != verb:
            return None
        after += 1
        name = f"{name} {verb}"
    if base == "tune":
        return _tune(name, argv, index, after, span, environment)
    known = {
        "colossalai": _COLOSSALAI,
        "composer": _COMPOSER,
        "ray": _RAY,
        "horovodrun": _HOROVOD,
        "torchpack": _TORCHPACK,
        "fabric": _FABRIC,
    }[base]
    reading = read(argv, after, known)
    kind = "horovod" if base == "horovodrun" else base
    variables = _COMPOSER_VARIABLES if kind == "composer" else {}
    launcher = Other(kind, name, index, span, argv, reading, environment, variables=variables)
    if kind in ("horovod", "torchpack") or "command_mode" in launcher.flags:
        launcher.program_kind = "command"
    elif "module_mode" in launcher.flags or "m" in launcher.flags:
        launcher.program_kind = "module"
    if (
        kind == "composer"
        and launcher.program_kind == "script"
        and not (launcher.program_name or ".py").endswith(".py")
    ):
        # PHP's package manager has the same name.
        return None
    return launcher


def _tune(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher:
    """`tune run` of torchtune takes torchrun's options; without any of them it starts one process."""
    launcher = torchrun("torchrun", name, argv, index, after, span, environment)
    assert isinstance(launcher, Torchrun)
    launcher.program_kind = "command"
    launcher.spawns = bool(launcher.given) or not launcher.certain
    return launcher
