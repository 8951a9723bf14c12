"""`ray start`: one node of a Ray cluster, its head or a worker.

ray/scripts/scripts.py (2.5): `--head` starts a cluster, `--address` joins one (the variable RAY_ADDRESS does so only
for programs, not for `ray start`); without either the command fails. The node's CPUs and GPUs are counted unless
--num-cpus and --num-gpus say otherwise. It returns at once, with its daemons left behind, unless --block is given.
"""

from __future__ import annotations

from sbatchlint.bash.values import text_of
from sbatchlint.job.commands.argv import Argv, Lookup, read, syntax
from sbatchlint.job.launchers.model import Launcher, Setting
from sbatchlint.source.text import Span

SYNTAX = syntax(
    "node-ip-address address port node-name redis-password redis-username redis-shard-ports object-manager-port "
    "node-manager-port min-worker-port max-worker-port worker-port-list ray-client-server-port object-store-memory "
    "num-cpus num-gpus resources dashboard-host dashboard-port dashboard-agent-listen-port "
    "dashboard-agent-grpc-port metrics-export-port temp-dir plasma-directory object-spilling-directory log-style "
    "log-color labels labels-file storage system-config autoscaling-config runtime-env-agent-port include-dashboard",
    "head block disable-usage-stats enable-object-reconstruction no-redirect-output no-monitor verbose v/verbose help",
)


class Ray(Launcher):
    """A node of a Ray cluster; it runs no program."""

    __slots__ = ()

    @property
    def head(self) -> bool:
        return "head" in self.flags

    @property
    def blocks(self) -> bool:
        """Whether it stays in the foreground. A step whose commands have ended takes the daemons with it."""
        return "block" in self.flags

    @property
    def address(self) -> Setting | None:
        """`host:port` of the head that a worker joins."""
        return self.setting("address")


def ray(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """`ray start`; None for all other commands of ray."""
    if after >= len(argv) or text_of(argv[after]) != "start":
        return None
    reading = read(argv, after + 1, SYNTAX)._replace(operand=None)
    return Ray("ray", f"{name} start", index, span, argv, reading, environment)
