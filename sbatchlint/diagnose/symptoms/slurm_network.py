"""Slurm's own network: the controller, and the slurmd of the nodes, do not answer."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import possible
from sbatchlint.diagnose.evidence import shown, spans_of
from sbatchlint.diagnose.symptom import Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import programs_with

_CLIENTS = programs_with("asks-slurm") | {"sbatch", "srun", "scancel"}


def _in_loop(job: Job, event: Event) -> Verdict:
    """Commands of Slurm in a loop: hundreds of them at once keep the controller busy."""
    return shown(spans_of(each for each in commands_named(job, *_CLIENTS) if each.context.may_repeat), "possible")


def _watches(job: Job, event: Event) -> Verdict:
    """The `watch` commands that ask Slurm again and again."""
    found = [each for each in commands_named(job, "watch") if not _CLIENTS.isdisjoint(map(text_of, each.argv))]
    return shown(spans_of(found))


_NO_CONFIGURATION = re.compile(
    r"Could not establish a configuration source|unable to status file|DNS SRV lookup failed"
)


def _unconfigured(event: Event) -> bool | None:
    """The command knows no controller, so it asked none."""
    near = "\n".join((*event.above[-4:], *event.below[:4]))
    asked = re.search(r"Unable to contact|failed to fetch remote configs|timed out|Connection ", near)
    return possible(_NO_CONFIGURATION.search(event.text) and not asked)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="node-not-answering",
        title="a node did not answer srun",
        docs="srun talks to slurmd on each node, and slurmd back to srun. Possible causes: a firewall, another munge key, a wrong address of the node, or a node that is overloaded.\n",
        printed_by="srun",
        releases="src/api/step_launch.c, src/api/step_io.c, src/common/slurm_errno.c, all releases",
        literals=("Task launch for", "Application launch failed", "_server_read: fd ", "io error with slurmstepd"),
        patterns=(
            r"Task launch for \S+ failed on node (?P<node>[^\s:]+): (?:Socket timed out on send/recv operation|Communication connection failure|Connection (?:refused|timed out)|No route to host|Message (?:send|receive) failure|Unable to contact|Zero Bytes)",
            r"Application launch failed: (?:Socket timed out on send/recv operation|Communication connection failure|Connection (?:refused|timed out))",
            r"_server_read: fd \d+ .*error|io error with slurmstepd on node",
        ),
        causes=(Cause("slurmd", "cluster", "the node {node} did not answer srun: its munge key, a firewall, its address, or its slurmd", "submit again with --exclude of that node, and tell the site", unproven="certain"),),
        matches="""\
srun: error: Task launch for StepId=34.0 failed on node node4: Socket timed out on send/recv operation
srun: error: Application launch failed: Communication connection failure
srun: error: _server_read: fd 18 error reading header: Connection reset by peer
srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 1
""",
    ),
    Symptom(
        id="controller-unreachable",
        title="the controller of Slurm cannot be reached",
        docs="slurmctld is down, or this machine (or container) is not a client of it: no slurm.conf, no munge, another network. Do not rely on what else the command says about the job.\n",
        printed_by="all commands of Slurm",
        releases="src/common/slurm_errno.c, all releases; `Could not establish a configuration source` since 20.02",
        literals=("Unable to contact slurm controller", "Could not establish a configuration source", "unable to status file", "failed to fetch remote configs", "DNS SRV lookup failed", "Unable to establish configuration", "Incompatible versions of client and server", "cluster backup controller in standby", "Unable to establish controller", "controller at "),
        patterns=(r"Unable to contact slurm controller", r"Could not establish a configuration source|unable to status file \S*slurm\.conf|failed to fetch remote configs|DNS SRV lookup failed", r": Incompatible versions of client and server code"),
        causes=(
            Cause("in-container", "script", "a command of Slurm is called in a container, which has neither Slurm's configuration nor munge", "call it outside, and pass the answer on", codes=("SB515",)),
            Cause("no-configuration", "cluster", "the command found no configuration of Slurm: neither a slurm.conf nor a DNS record of the controller", "call it on a machine of the cluster (not in a container), or set SLURM_CONF to its slurm.conf; waiting does not help", log=_unconfigured),
            Cause("controller-down", "cluster", "the controller of Slurm did not answer: it is down, or this machine is not a client of it", "try again later; tell your administrators if it persists", unproven="certain"),
        ),
        matches="""\
srun: error: Unable to confirm allocation for job 60564: Unable to contact slurm controller (connect failure)
slurm_load_jobs error: Unable to contact slurm controller (connect failure)
sbatch: fatal: Could not establish a configuration source
srun: error: Unable to create step for job 7: Incompatible versions of client and server code
""",
    ),
    Symptom(
        id="controller-busy",
        title="the controller of Slurm did not answer in time",
        docs="It is busy, usually with very many requests at once (hundreds of sbatch, squeue or srun in a loop). The job may have been submitted all the same.\n",
        printed_by="all commands of Slurm",
        releases="src/common/slurm_errno.c, all releases; `Rate limit exceeded` since 23.02",
        literals=("Socket timed out on send/recv", "Rate limit exceeded", "RPC limit exceeded"),
        patterns=(
            r"(?:submission failed|allocate resources|submit/allocate failed|slurm_load_\w+ error|create step for job \d+|confirm allocation for job \d+|scontrol|squeue|scancel|sinfo|sacct)\b.*: Socket timed out on send/recv operation",
            r"Rate limit exceeded, please retry|RPC limit exceeded by uid",
            r"^Socket timed out on send/recv operation",
        ),
        causes=(
            Cause("many-requests", "script", "commands of Slurm in a loop keep the controller busy", "ask rarely, and use an array or one srun instead of many", codes=("SB810", "SB807"), script=_in_loop),
            Cause("watch", "script", "watch asks the controller again and again", "ask once a minute at most", script=_watches),
            Cause("busy", "cluster", "the controller was too busy to answer in time", "submit again after a while (check first whether the job was accepted); send fewer requests at once"),
        ),
        matches="""\
sbatch: error: Batch job submission failed: Socket timed out on send/recv operation.
slurm_load_jobs error: Socket timed out on send/recv operation
sbatch: error: Slurm temporarily unable to accept job, RPC limit exceeded by uid 1000, sleeping and retrying
srun: error: Rate limit exceeded, please retry momentarily
Socket timed out on send/recv operation
""",
    ),
    Symptom(
        id="slurm-message-lost",
        title="a message between Slurm's parts was lost",
        docs="The result is below: a launch that failed, a job that was not accepted.\n",
        printed_by="srun, slurmstepd, slurmd",
        releases="src/common/slurm_protocol_api.c, all releases",
        role="consequence",
        literals=("slurm_receive_msg", "slurm_send_", "Unable to resolve ", "Zero Bytes were transmitted", "Transport endpoint", "slurm_unpack_received_msg", "slurm_msg_sendto", "slurm_get_addr", "slurm_set_addr", "find address for host"),
        patterns=(
            r"(?:error: )?slurm_(?:receive_msgs?(?:_\w+)?|send_\w+|unpack_received_msg|msg_sendto)\b.*(?:failed|error|[Tt]imed out|Zero Bytes|not connected)",
            r"error: (?:slurm_(?:set|get)_addr: )?Unable to resolve \"?(?P<host>[^\s\"]+)",
            r"^(?:srun|sbatch|salloc|\w+): error: .*(?:Zero Bytes were transmitted or received|Transport endpoint is not connected)",
            r"can't find address for host (?P<host>\S+), check slurm\.conf",
        ),
        causes=(Cause("network", "cluster", "the parts of Slurm could not reach each other over the network", "tell the site, with the names of the nodes"),),
        matches="""\
srun: error: Unable to create step for job 7: Zero Bytes were transmitted or received
srun: error: slurm_receive_msgs: [[node4]:6818] failed: Socket timed out on send/recv operation
slurmstepd: error: slurm_send_recv_rc_msg_only_one failed: Connection timed out
srun: error: Unable to resolve "node17": Unknown host
srun: error: fwd_tree_thread: can't find address for host node17, check slurm.conf
""",
    ),
    Symptom(
        id="job-over",
        title="the job was over when a step was to start",
        docs="srun, or another command of Slurm, names a job that has ended or that the controller does not know: a shell that outlived its job, SLURM_JOB_ID of another job or cluster.\n",
        printed_by="srun, scontrol, squeue",
        releases="src/common/slurm_errno.c, src/srun/libsrun/allocate.c, all releases",
        role="consequence",
        literals=("Invalid job id specified", "Job/step already completing or completed", "Expired or invalid job", "has expired", "Invalid job allocation", "No running or pending steps"),
        patterns=(r"(?:^|: )Invalid job id specified", r": Job/step already completing or completed", r"Expired or invalid job \d+", r"error: Slurm job \d+ has expired", r": No running or pending steps in the job"),
        causes=(
            Cause("inherited-job", "submission", "SLURM_JOB_ID names a job that is over, or one of another cluster", "unset the SLURM_… variables of the outer job, or find out why the job ended early"),
        ),
        matches="""\
srun: error: Unable to confirm allocation for job 60564: Invalid job id specified
srun: error: Unable to create step for job 7: Job/step already completing or completed
srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 60564
srun: error: Slurm job 71 has expired
scancel: error: Kill job error on job id 71: No running or pending steps in the job
""",
    ),
)
