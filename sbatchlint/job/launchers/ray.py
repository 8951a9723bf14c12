"""`ray start`, which makes a node of a Ray cluster and runs no program (ray/scripts/scripts.py, 2.5)."""

from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import Argv, Lookup, read, syntax
from sbatchlint.job.launchers.model import Launcher
from sbatchlint.source.text import Span

SYNTAX = syntax(
    "node-ip-address address port node-name redis-password redis-username redis-shard-ports object-manager-port "
    "node-manager-port min-worker-port max-worker-port worker-port-list ray-client-server-port object-store-memory "
    "num-cpus num-gpus resources dashboard-host dashboard-port dashboard-agent-listen-port "
    "dashboard-agent-grpc-port metrics-export-port temp-dir plasma-directory object-spilling-directory log-style "
    "log-color labels labels-file storage system-config autoscaling-config runtime-env-agent-port include-dashboard",
    "head block disable-usage-stats enable-object-reconstruction no-redirect-output no-monitor verbose v/verbose help",
)


def ray(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher of `ray start`; None for other subcommands."""
    if after >= len(argv) or text_of(argv[after]) != "start":
        return None
    reading = read(argv, after + 1, SYNTAX)._replace(operand=None)
    return Launcher("ray", f"{name} start", index, span, argv, reading, environment)
