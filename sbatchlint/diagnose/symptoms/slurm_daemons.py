"""The logs of slurmctld and slurmd, and what squeue, sacct and scontrol say of a job."""

from sbatchlint.diagnose.clues import begins
from sbatchlint.diagnose.questions import requests, sets, submits
from sbatchlint.diagnose.symptom import Cause, Example, Symptom

# fmt: off
SYMPTOMS = (
    Symptom(
        id="output-not-writable",
        title="the log of the job could not be opened",
        docs="""\
The job ends before its first command, and leaves no log: sacct shows `0:53`, scontrol `RaisedSignal:53`. The folder of
`--output` is missing (before 23.02) or may not be written; `mkdir` inside the script comes too late. Without `--output`
the log goes into the folder where sbatch was called.
""",
        printed_by="sacct, scontrol, slurmd",
        releases="job_rc 4021 (ESLURMD_IO_ERROR) & 127 = 53, 20.11 to 26.05",
        literals=("RaisedSignal:", "slurm_rc =", "job_rc =", "ExitCode=", "FAILED "),
        patterns=(r"^(?!JobState=).*RaisedSignal:53\b", r"job_rc = 4021", r"^(?!JobState=).*\bExitCode=0:53\b", r"\bFAILED +0:53\b"),
        causes=(
            Cause("log-folder", "script", "the log cannot be opened: its folder is not there when the job starts, or may not be written", "make the folder before the job is submitted", codes=("SB701", "SB115"), script=requests("output", "error")),
            Cause("submit-folder", "submission", "the log cannot be opened: the folder of submission may not be written on the node, or is not there", "submit from a folder that all nodes share and that you may write to, or give --output", unproven="certain"),
        ),
        matches="""\
   RaisedSignal:53(Real-time signal 19)
[18:10:53.635] [80.batch] JobId=80 completed with slurm_rc = 0, job_rc = 4021
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:53
80           FAILED      0:53
""",
    ),
    Symptom(
        id="node-not-started",
        title="the cloud did not start the node",
        docs="Nodes that are started on demand need capacity in the cloud and a quota for it; the job goes back into the queue.\n",
        printed_by="slurmctld",
        releases="src/slurmctld/power_save.c, cloud plugins of the providers",
        literals=("InstanceCapacity", "Failure when resuming", "ResumeTimeout reached", "not resumed by ResumeTimeout", "ZONE_RESOURCE_POOL_EXHAUSTED", "AllocationFailed", "SpotMaxPriceTooLow", "VcpuLimitExceeded"),
        patterns=(r"\(Code:(?P<code>\w+)\)", r"(?P<code>InsufficientInstanceCapacity|LimitedInstanceCapacity|ZONE_RESOURCE_POOL_EXHAUSTED|AllocationFailed|VcpuLimitExceeded|SpotMaxPriceTooLow)", r"not resumed by ResumeTimeout|ResumeTimeout reached"),
        causes=(Cause("capacity", "cluster", "the cloud did not start the node ({code})", "wait, or take another type of instance or region", unproven="certain"),),
        matches="""\
[2023-08-28T16:55:46.905] update_node: node dy-a10g-1 reason set to: (Code:LimitedInstanceCapacity)Failure when resuming nodes
node dy-p4d-1: InsufficientInstanceCapacity in us-east-1a
slurmctld: node cloud3 not resumed by ResumeTimeout(600), setting DOWN and POWERED_DOWN
""",
    ),
    Symptom(
        id="launch-failed-held",
        title="the job could not be started and is held",
        docs="The node failed when the job was to start (its prolog, or slurmd). `scontrol release JOB` lets it try again.\n",
        printed_by="squeue, scontrol",
        releases="src/common/job_state_reason.c, all releases",
        literals=("launch failed requeued held", "launch_failed_requeued_held", "launch failure limit exceeded"),
        patterns=(r"launch.failed.requeued.held|launch failure limit exceeded",),
        causes=(Cause("node", "cluster", "the job could not be started on its node, and is held since", "scontrol release JOB after a look at the node; submit with --exclude of it", unproven="certain"),),
        matches="  71 gpu train ada PD 0:00 1 (launch failed requeued held)\n   JobState=PENDING Reason=launch_failed_requeued_held Dependency=(null)\n",
    ),
    Symptom(
        id="node-registration",
        title="a node has less than its configuration says",
        docs="slurmctld drains a node that registers with less memory, fewer CPUs or less room in /tmp than slurm.conf says.\n",
        printed_by="slurmctld",
        releases="src/slurmctld/node_mgr.c, all releases",
        literals=("low real_memory size", "low socket*core", "low cpu count", "low tmp_disk size", "_slurm_rpc_node_registration"),
        patterns=(r"low (?:real_memory size|socket\*core|cpu count|tmp_disk size)", r"_slurm_rpc_node_registration node=\S+: Invalid argument"),
        causes=(Cause("node", "cluster", "the node has less than slurm.conf says, so it is drained", "tell the site: `slurmd -C` on the node prints what it has", unproven="certain"),),
        matches="debug:  Node n1 has low real_memory size (435161 < 443596)\nerror: _slurm_rpc_node_registration node=n1: Invalid argument\n",
    ),
    Symptom(
        id="nodes-unavailable",
        title="the nodes of the job are not there at the moment",
        docs="They are drained, down, or reserved (maintenance): the job waits. `sinfo -R` has the reasons.\n",
        printed_by="squeue, scontrol, salloc",
        releases="src/common/job_state_reason.c, all releases",
        role="consequence",
        literals=("ReqNodeNotAvail", "Nodes required for job are DOWN", "PartitionDown", "(NodeDown)", "(Reservation)", "PartitionInactive"),
        patterns=(r"\((?:ReqNodeNotAvail|Nodes_required_for_job_are_DOWN|Nodes required for job are DOWN|PartitionDown|PartitionInactive|NodeDown|Reservation)\b", r"Reason=(?:ReqNodeNotAvail|Nodes_required_for_job|PartitionDown|PartitionInactive|NodeDown)"),
        causes=(
            Cause("named-nodes", "script", "the script names nodes, or a reservation, that are not there at the moment", "take the option out", script=sets("nodelist", "reservation", "nodefile")),
            Cause("maintenance", "cluster", "the nodes are drained, down or reserved; the job waits for them", "wait, or submit to another partition; a shorter --time may fit in before a maintenance", unproven="certain"),
        ),
        matches="""\
(ReqNodeNotAvail, UnavailableNodes:d[001-032],f[001-024])
  71 gpu train ada PD 0:00 1 (Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions)
   JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n1 Dependency=(null)
""",
    ),
    Symptom(
        id="dependency-never",
        title="the job can never start: what it depends on failed",
        docs="`afterok` waits for success. `--kill-on-invalid-dep=yes` removes such jobs.\n",
        printed_by="squeue, scontrol",
        releases="src/common/job_state_reason.c, all releases",
        literals=("DependencyNeverSatisfied",),
        patterns=(r"DependencyNeverSatisfied",),
        causes=(
            Cause("status-lost", "script", "the job that this one depends on ended with an error", "see the finding", codes=("SB129",)),
            Cause("earlier-job", "submission", "the job that this one depends on failed, so it can never start", "cancel it; use afterany where success is not needed", script=submits("dependency")),
        ),
        matches="  72 gpu eval ada PD 0:00 1 (DependencyNeverSatisfied)\n",
    ),
    Symptom(
        id="slurm-library-not-begun",
        title="a program calls Slurm's library as older releases allowed",
        docs="From 23.11.1 on the library ends a program that calls it before slurm_init() (NEWS of 23.11.1).\n",
        printed_by="programs that are linked with libslurm",
        releases="23.11.1 and later",
        literals=("No hash plugins loaded", "Was slurm_init() called"),
        patterns=(r"No hash plugins loaded|Was slurm_init\(\) called",),
        causes=(
            Cause("older", "code", "the program calls Slurm's library without slurm_init(), which it has to since 23.11: it was written for an older release", "take a newer release of the program, or build it without its support for Slurm"),
        ),
        matches="solver: fatal: No hash plugins loaded. Was slurm_init() called before calling any Slurm API functions?\n",
    ),
    Symptom(
        id="accounting-off",
        title="the cluster keeps no records of jobs",
        docs="sacct and sreport need slurmdbd; programs that ask them for the state of their jobs (R's slurmR, Snakemake, Toil) fail without.\n",
        printed_by="sacct, sreport, sacctmgr",
        releases="src/sacct/options.c, all releases",
        literals=("ccounting storage is disabled",),
        patterns=(r"(?i)slurm accounting storage is disabled",),
        causes=(
            Cause("off", "cluster", "the cluster keeps no records of jobs (no slurmdbd), so a program that asks sacct for its jobs learns nothing", "let the program ask squeue or scontrol, if it can; else ask the site for AccountingStorageType=accounting_storage/slurmdbd"),
        ),
        matches="Slurm accounting storage is disabled\n",
    ),
    Symptom(
        id="bad-constraints",
        title="the job cannot start as it is",
        docs="The job stays in the queue: somebody holds it, its account or QOS may not be used, or its request was possible when it was submitted, and is not now.\n",
        printed_by="squeue, scontrol",
        releases="src/common/job_state_reason.c, all releases",
        literals=("BadConstraints", "PartitionNodeLimit", "PartitionTimeLimit", "InvalidAccount", "InvalidQOS", "JobHeldAdmin", "JobHeldUser"),
        patterns=(r"[(=](?P<reason>BadConstraints|PartitionNodeLimit|PartitionTimeLimit|InvalidAccount|InvalidQOS|JobHeldAdmin|JobHeldUser)\b",),
        causes=(
            Cause("held", "submission", "the job is held ({reason})", "release it with `scontrol release`; what an administrator holds (JobHeldAdmin) only the site can release", script=sets("hold"), log=begins("reason", "JobHeld"), unproven="certain"),
            Cause("account", "submission", "the account or the QOS of the job may not be used ({reason})", "look at `sacctmgr show assoc user=$USER`, and submit with others", script=sets("account", "qos"), log=begins("reason", "Invalid"), unproven="certain"),
            Cause("request", "script", "the job cannot start as it is asked for ({reason})", "compare its size and time with `scontrol show partition` and `scontrol show node`", script=sets("constraint", "nodes", "time")),
            Cause("limits", "submission", "the job cannot start as it was submitted ({reason})", "compare its size and time with `scontrol show partition` and `scontrol show node`"),
        ),
        matches="  72 gpu eval ada PD 0:00 1 (BadConstraints)\n   JobState=PENDING Reason=PartitionTimeLimit Dependency=(null)\n",
        examples=(
            Example("  72 gpu eval ada PD 0:00 1 (JobHeldUser)\n", "#!/bin/bash\n#SBATCH -n 2 «--hold»\nsrun ./a.out\n", "held", "likely"),
            Example("  72 gpu eval ada PD 0:00 1 (JobHeldAdmin)\n", None, "held"),
            Example("  72 gpu eval ada PD 0:00 1 (InvalidQOS)\n", None, "account"),
        ),
    ),
)
