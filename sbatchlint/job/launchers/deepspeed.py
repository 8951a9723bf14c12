"""The `deepspeed` runner and `python -m deepspeed.launcher.launch` (deepspeed/launcher/runner.py, launch.py).

Without a hostfile (default /job/hostfile), the runner uses only its own node. With one, it starts workers on the other
nodes itself (pdsh, ssh, mpirun, srun); with --no_ssh, every node starts its own runner with --node_rank. Options are
read by argparse, written with `_`.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, count

_FLAGS = """h/help q/quiet module no_python no_local_rank no_ssh no_ssh_check force_multi save_pid elastic_training
bind_cores_to_rank"""
_VALUES = """H/hostfile i/include e/exclude num_nodes min_elastic_nodes max_elastic_nodes num_accelerators/num_gpus
master_port master_addr node_rank launcher launcher_args enable_each_rank_log autotuning comment account
log_level bind_core_list ssh_port venv_script"""

SYNTAX = syntax(_VALUES, _FLAGS, abbreviations=True, numbers=True)
LAUNCH_SYNTAX = syntax(
    "node_rank master_addr master_port world_info enable_each_rank_log save_pid min_elastic_nodes max_elastic_nodes "
    "bind_core_list log_level",
    "h/help module no_python enable_elastic_training no_local_rank bind_cores_to_rank",
    abbreviations=True,
    numbers=True,
)

MODULES = {
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed.launch",
}


class DeepSpeed(Launcher):
    """The runner, or what it starts on each node; `kind` tells them apart."""

    @property
    def hostfile(self) -> Setting | None:
        return self.setting("hostfile")

    @property
    def no_ssh(self) -> bool:
        """Whether each node starts its own runner."""
        return "no_ssh" in self.flags

    @property
    def machines(self) -> Setting | None:
        return self.setting("num_nodes")

    @property
    def processes_per_task(self) -> int | str | None:
        if self.kind != "deepspeed":
            return None
        setting = self.setting("num_gpus")
        if setting is None:
            chosen = self.setting("include")
            _, colon, slots = ("" if chosen is None else chosen.text or "").partition(":")
            if colon and slots and "@" not in slots:  # localhost:0,1
                return len(slots.split(","))
            for name in ("include", "exclude", "hostfile"):
                if name in self.options:
                    return None
            return "auto" if self.certain else None
        found = count(setting)
        return None if found == -1 else found

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank")

    @property
    def rendezvous(self) -> Rendezvous:
        return Rendezvous("static", self.setting("master_addr"), self.setting("master_port"), None)


def deepspeed(kind: str, call: Call) -> Launcher:
    """The launcher of a call; `kind`: that of `DeepSpeed`."""
    launcher = DeepSpeed(kind, call, call.read(LAUNCH_SYNTAX if kind == "deepspeed.launch" else SYNTAX))
    launcher.read_program_kind()
    return launcher
