"""`ray start`, which makes a node of a Ray cluster and runs no program (ray/scripts/scripts.py, 2.5)."""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.model import Call, Launcher

SYNTAX = syntax(
    "node-ip-address address port node-name redis-password redis-username redis-shard-ports object-manager-port "
    "node-manager-port min-worker-port max-worker-port worker-port-list ray-client-server-port object-store-memory "
    "num-cpus num-gpus resources dashboard-host dashboard-port dashboard-agent-listen-port "
    "dashboard-agent-grpc-port metrics-export-port temp-dir plasma-directory object-spilling-directory log-style "
    "log-color labels labels-file storage system-config autoscaling-config runtime-env-agent-port include-dashboard",
    "head block disable-usage-stats enable-object-reconstruction no-redirect-output no-monitor verbose v/verbose help",
)


def ray(call: Call) -> Launcher | None:
    """The launcher of `ray start`; None for other subcommands."""
    if call.verb != "start":
        return None
    start = call.subcommand()
    return Launcher("ray", start, start.read(SYNTAX)._replace(operand=None))
