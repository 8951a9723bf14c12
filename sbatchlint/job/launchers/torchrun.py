"""torchrun, `python -m torch.distributed.run`, `python -m torch.distributed.launch`.

Options and environment as in torch/distributed/run.py, launch.py and argparse_util.py of torch 2.13: every option but
--logs-specs, --numa-binding and --use-env takes its default from PET_<NAME>; argparse reads the options, so unique
prefixes of them are enough; the first word that is not an option is the program.
"""

from functools import cached_property
from typing import ClassVar

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher, Rendezvous, Setting, count, host_and_port

VALUES = """nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts monitor_interval
start_method event_log_handler role log_dir r/redirects t/tee local_ranks_filter duplicate_stdout_filters
duplicate_stderr_filters node_rank master_addr master_port local_addr logs_specs numa_binding signals_to_handle
shutdown_timeout"""
FLAGS = "standalone m/module no_python run_path virtual_local_rank h/help"

SYNTAX = syntax(VALUES, FLAGS, underscores=True, abbreviations=True, numbers=True)
LAUNCH_SYNTAX = syntax(VALUES, FLAGS + " use_env", underscores=True, abbreviations=True, numbers=True)

VARIABLES = {
    name: "PET_" + name.upper() for name in (SYNTAX.values | SYNTAX.flags) - {"logs_specs", "numa_binding", "help"}
}

MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launcher.api": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "torch.distributed.elastic.multiprocessing.api": "torchrun",
}


class Torchrun(Launcher):
    """torchrun and its module forms."""

    default_backend: ClassVar[str] = "static"

    @cached_property
    def standalone(self) -> bool:
        return self.has_flag("standalone")

    @property
    def takes_free_port(self) -> bool:
        """Whether it may meet at a free port of its own node without an option for that.

        It does with one node, the static backend, and neither port nor endpoint, from torch 2.12 on (run.py, `run`;
        pytorch/pytorch#175699). Before, the port was 29500.
        """
        rendezvous = self.rendezvous
        if not self.certain or self.standalone or rendezvous.backend != "static" or rendezvous.endpoint is not None:
            return False
        return rendezvous.port is None and self.nnodes in (None, 1) and (self.machines is None or self.nnodes == 1)

    @property
    def processes_per_task(self) -> int | str | None:
        setting = self.setting("nproc_per_node")
        if setting is None:
            return 1 if self.certain else None
        return count(setting)

    @property
    def machines(self) -> Setting | None:
        return self.setting("nnodes")

    @property
    def node_rank(self) -> Setting | None:
        return self.setting("node_rank")

    @cached_property
    def rendezvous(self) -> Rendezvous:
        if self.standalone:
            # run.py: --standalone replaces backend, endpoint and id by a c10d store on a free port of localhost.
            return Rendezvous("c10d", None, None, None)
        setting = self.setting("rdzv_backend")
        default = self.default_backend if self.certain else None
        backend = default if setting is None else setting.text
        endpoint = self.setting("rdzv_endpoint")
        if endpoint is not None and endpoint.text != "":
            address, port = host_and_port(endpoint)
            return Rendezvous(backend, address, port, endpoint)
        if backend is not None and backend != "static":
            return Rendezvous(backend, None, None, None)
        return Rendezvous(backend, self.setting("master_addr"), self.setting("master_port"), None)


def torchrun(kind: str, call: Call) -> Launcher:
    """The launcher of a call; `kind`: `torchrun` or `torch.distributed.launch`."""
    known = LAUNCH_SYNTAX if kind == "torch.distributed.launch" else SYNTAX
    launcher = Torchrun(kind, call, call.read(known), variables=VARIABLES)
    launcher.read_program_kind()
    return launcher
