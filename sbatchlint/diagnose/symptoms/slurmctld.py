"""slurmctld: why it accepts no job, allocation or step. sbatch, salloc and srun print its messages."""

import re

from sbatchlint.analysis.script.samples import is_unfinished
from sbatchlint.diagnose.clues import by_program, possible, says, says_not
from sbatchlint.diagnose.evidence import (
    CPUS,
    SIZES,
    TASKS,
    captured_submissions,
    certainly,
    lacks,
    options,
    settings,
    several_tasks,
    shown,
    spans_of,
    step_options,
)
from sbatchlint.diagnose.questions import not_set, sets, submits
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Role, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import SLOT


def _size(job: Job, event: Event) -> Verdict:
    """The options that say how large the job is; for a step those of its srun."""
    names = (*SIZES, "constraint", "nodelist")
    spans = step_options(job, *names) if "step" in event.text else ()
    spans = spans or options(job, *names)
    return shown(spans) or RULED_OUT


def _of_step(job: Job, event: Event) -> Verdict:
    """The GPUs and nodes that sruns of the script ask for; without any, the sruns on a part of the job's nodes."""
    asked = step_options(job, *GPU_OPTIONS)
    return shown(asked or step_options(job, "nodelist", "exclude", "nodes"))


def _spread(job: Job, event: Event) -> Verdict:
    """Several GPUs for the whole job (--gpus), which may lie on several nodes, as nothing says how many nodes it has."""
    found = settings(job, "gpus")
    count = parse_integer((found[-1].text or "").rpartition(":")[2]) if found else None
    if count is None or count < 2 or not lacks(job, "nodes", "gpus-per-node"):
        return None
    if any(re.search(r"(?:^|,|/)gpu(?:$|[:=,])", each.text or "") for each in settings(job, "gres")):
        return None
    return shown((found[-1].span, *options(job, "ntasks", "gpus-per-task")))


def _wide_steps(job: Job, event: Event) -> Verdict:
    """The steps that say themselves how many CPUs each task gets, which the job does not."""
    if options(job, "cpus-per-task", "ntasks", "ntasks-per-node"):
        return None
    asked = [each for each in job.steps if each.option("cpus-per-task") and each.option("ntasks")]
    return shown(spans_of(asked))


def _literal_dollar(job: Job, event: Event) -> Verdict:
    """The shell does not expand directives: `$NAME` in it reaches the controller as it stands."""
    named = settings(job, "account", "partition", "qos", "gres")
    return certainly(job, spans_of(each for each in named if "$" in (each.value or "")))


def _filled_in(job: Job, event: Event) -> Verdict:
    """A --gres without a value, or with a word that a template fills in."""
    found = [each for each in settings(job, "gres") if each.value is not None]
    open_ones = [each for each in found if not each.value or SLOT in each.value]
    if is_unfinished(job):
        open_ones += [each for each in found if each.value and ":" not in each.value and each not in open_ones]
    return shown(spans_of(open_ones))


def _same_partition(job: Job, event: Event) -> Verdict:
    """The partition of the message is one that the directives name."""
    named = event.groups.get("partition", "")
    found = [each for each in settings(job, "partition") if named in (each.value or "").split(",")]
    return certainly(job, spans_of(found))


def refusal(
    name: str,
    title: str,
    text: str,
    docs: str,
    causes: tuple[Cause, ...],
    *,
    role: Role = "cause",
    more: tuple[str, ...] = (),
    of_submission: tuple[str, ...] = (),
    examples: tuple[Example, ...] = (),
) -> Symptom:
    """A text of the table in slurm_errno.c, after what the command was about or alone on its line.

    `of_submission`: texts that other commands have for other reasons, and that count only after a submission.
    """
    texts = (text, *more)
    submitted = tuple(rf"(?:submission failed|allocate resources): {each}" for each in of_submission)
    return Symptom(
        id=name,
        title=title,
        docs=docs,
        printed_by="slurmctld, by way of sbatch, salloc, srun",
        releases="src/common/slurm_errno.c, 20.11 to 26.05 alike",
        role=role,
        literals=(*texts, *of_submission),
        patterns=(*(r"(?:^|: )" + each.replace("(", r"\(").replace(")", r"\)") for each in texts), *submitted),
        causes=causes,
        matches="".join(
            f"sbatch: error: Batch job submission failed: {other_text}\nsrun: error: Unable to allocate resources: {other_text}\n{other_text}\n"
            for other_text in texts
        )
        + "".join(f"sbatch: error: Batch job submission failed: {other_text}\n" for other_text in of_submission),
        others="".join(f"  if grep -q '{each}' err.log; then\n" for each in texts)
        + "".join(f"scancel: error: Kill job error on job id 7: {each}\n" for each in of_submission),
        examples=examples,
    )


# What was submitted is not the script at hand: a workflow program, a wrapper or the command line made it up.
_LIMITED = (("Wall", ("time",)), ("Submit", ("array",)), ("Node", ("nodes",)), ("GRES", GPU_OPTIONS), ("Cpu", ("cpus-per-task", "ntasks", "ntasks-per-node")), ("Mem", ("mem", "mem-per-cpu")))  # fmt: skip


def _of_limit(job: Job, event: Event) -> Verdict:
    """The directives for what a limit counts, beside those for the QOS that has it."""
    limit = event.groups.get("limit", "")
    names = next((names for word, names in _LIMITED if word.lower() in limit.lower()), ())
    found = options(job, *names) if names else ()
    return shown((*found, *options(job, "qos"))) if found else None


def _submitted(says: str, advice: str, *names: str) -> Cause:
    return Cause("submitted-otherwise", "submission", says, advice, script=submits(*names), log=by_program)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="cpus-per-node-too-many",
        title="more CPUs on a node than any node has",
        docs="The line above the refusal says which of the sizes no node can satisfy. One task cannot spread over nodes.\n",
        printed_by="sbatch, salloc, srun",
        releases="src/slurmctld/node_mgr.c, job_mgr.c, 18.08 to 26.05",
        literals=("CPU count per node can not be satisfied",),
        patterns=("error: CPU count per node can not be satisfied",),
        causes=(
            Cause("cpus-of-script", "script", "the job asks for more CPUs on a node than any node has", "lower --cpus-per-task or --ntasks-per-node", script=sets(*TASKS, *CPUS)),
            _submitted("a job was submitted that asks for more CPUs on a node than any node has", "lower the CPUs of one task in what submits it", "cpus-per-task", "ntasks-per-node", "ntasks"),
        ),
        matches="sbatch: error: CPU count per node can not be satisfied\n",
    ),
    Symptom(
        id="memory-per-node-too-much",
        title="more memory on a node than any node has",
        docs="The memory that Slurm can give is RealMemory of `scontrol show node`, which is less than what is installed. `--mem-per-cpu` counts for each CPU, and `--mem-per-gpu` for each GPU.\n",
        printed_by="sbatch, salloc, srun",
        releases="src/slurmctld/job_mgr.c, 18.08 to 26.05",
        literals=("Memory specification can not be satisfied",),
        patterns=("error: Memory specification can not be satisfied",),
        causes=(
            Cause("memory-of-script", "script", "the job asks for more memory on a node than any node has", "lower --mem, or take nodes with more memory", script=sets("mem", "mem-per-cpu", "mem-per-gpu")),
            _submitted("a job was submitted that asks for more memory on a node than any node has", "lower its memory: RealMemory of `scontrol show node` is what a node can give", "mem", "mem-per-cpu", "mem-per-gpu"),
        ),
        matches="sbatch: error: Memory specification can not be satisfied\n",
    ),
    Symptom(
        id="specification-unsatisfiable",
        title="no node has what is asked for",
        docs="The line above the refusal says what: features, sockets and threads, or local disk (`--tmp`).\n",
        printed_by="sbatch, salloc, srun",
        releases="src/slurmctld/job_mgr.c, node_scheduler.c, 18.08 to 26.05",
        literals=("can not be satisfied", "Reached jobs per hour limit", "Required nodes outside of"),
        patterns=(r"error: (?P<what>Node feature requirements|Socket, core and/or thread specification|Temporary disk specification) can not be satisfied", r"error: (?P<which>Reached jobs per hour limit|Required nodes outside of)"),
        causes=(
            Cause("option-of-script", "script", "no node of the partition has what the script asks for: {what}", "compare with `scontrol show node`", script=sets("constraint", "sockets-per-node", "cores-per-socket", "threads-per-core", "extra-node-info", "tmp", "nodelist")),
            _submitted("no node of the partition has what was asked for: {what}", "compare with `scontrol show node`", "constraint", "tmp", "nodelist"),
        ),
        matches="sbatch: error: Node feature requirements can not be satisfied\nsbatch: error: Temporary disk specification can not be satisfied\nsbatch: error: Reached jobs per hour limit\n",
    ),
    refusal(
        "node-configuration-unavailable",
        "no node has what is asked for",
        "Requested node configuration is not available",
        """\
No node of the partition, whether free or not, has the CPUs, the memory, the GPUs or the features that are asked for. A line
above it may say which. Cores that the site keeps for the system do not count. It is also printed when nodes have lost their
GPUs (`Gres=(null)` in `scontrol show node`), when the partition is down, and when its limits on nodes or time are lower.
""",
        (
            Cause("step-outside-job", "script", "the step asks for nodes, CPUs or GPUs that its job does not have", "let the srun ask for what the directives ask for, or for less", codes=("SB206", "SB329", "SB410"), log=says("step")),
            Cause("list-as-one-node", "script", "quotes keep the list of nodes together, so srun is asked for all of them where one is meant", "see the finding", codes=("SB418",), log=says("step")),
            Cause("option-mismatch", "script", "the options of the job contradict each other, so no node can have them all", "make them agree", codes=("SB202", "SB203", "SB205", "SB207", "SB410", "SB335")),
            Cause("larger-than-node", "script", "the job asks for more on a node than any node of the partition has", "compare with `scontrol show node`: CPUs, memory and GPUs of one node", codes=("SB915", "SB912",), script=_size),
            _submitted("what was submitted asks for more on a node than any node has, or for GPUs that no node has any more", "look at what was really submitted (`sbatch --test-only -vv`), and at `scontrol show partition` and `scontrol show node`"),
        ),
        more=(
            "Requested partition configuration not available now",
            "Requested topology configuration is not available",
        ),
    ),
    refusal(
        "invalid-account",
        "the account may not be used",
        "Invalid account or account/partition combination specified",
        """\
The account does not exist, the user has no association with it, or not one for this partition. Without `--account` the
user's default account counts. `sacctmgr show assoc user=$USER format=account,partition,qos` lists what may be used.
""",
        (
            Cause("variable-in-directive", "script", "the account in the directive is a variable, which sbatch does not expand", 'give it on the command line: sbatch --account="$ACCOUNT" …', codes=("SB115",), script=_literal_dollar),
            Cause("placeholder", "script", "the account in the script was left to be filled in", "fill in an account of yours", codes=("SB118", "SB417")),
            Cause("unknown-account", "script", "no user of the cluster has the account that the script names", "name an account of `sacctmgr show assoc user=$USER`", codes=("SB921",)),
            Cause("account-of-script", "script", "the user may not use the account that the script names (in this partition)", "name an account of `sacctmgr show assoc user=$USER`", script=sets("account")),
            Cause("no-account", "script", "the script names no account, and the default account may not use the partition", "add --account with an account of `sacctmgr show assoc user=$USER`", script=not_set("account", beside="partition")),
            Cause("account", "submission", "the user may not use the account that was submitted", "compare with `sacctmgr show assoc user=$USER`"),
        ),
        more=("Invalid or unknown association",),
    ),
    Symptom(
        id="partition-named",
        title="there is no such partition",
        docs="The controller names the partition that it does not have. `sinfo -s` lists those of this cluster.\n",
        printed_by="slurmctld, by way of sbatch, salloc, srun",
        releases="src/slurmctld/job_mgr.c, 20.11 to 26.05",
        literals=("invalid partition specified: ",),
        patterns=(r"invalid partition specified: (?P<partition>\S+)",),
        causes=(
            Cause("partition-of-script", "script", "the script names the partition {partition}, which does not exist on this cluster", "name one that `sinfo -s` lists", script=_same_partition),
            _submitted("a job was submitted to the partition {partition}, which does not exist on this cluster", "name one that `sinfo -s` lists where it is submitted (command line, configuration of a workflow, SBATCH_PARTITION)", "partition"),
        ),
        matches="sbatch: error: invalid partition specified: gpu-big\n",
        examples=(
            Example("sbatch: error: invalid partition specified: gpux\n", "#!/bin/bash\n«#SBATCH --partition=gpux»\nsrun ./a.out\n", "partition-of-script"),
            Example("sbatch: error: invalid partition specified: gpux\n", "#!/bin/bash\n#SBATCH --partition=cpu\nnextflow run x\n", "submitted-otherwise", "likely"),
        ),
    ),
    refusal(
        "invalid-partition",
        "there is no such partition",
        "Invalid partition name specified",
        "`sinfo -s` lists the partitions of this cluster; names differ from cluster to cluster.\n",
        (
            Cause("variable-in-directive", "script", "the partition in the directive is a variable, which sbatch does not expand", 'give it on the command line: sbatch --partition="$PARTITION" …', codes=("SB115",), script=_literal_dollar),
            Cause("partition-of-script", "script", "the partition that the script names does not exist on this cluster", "name one that `sinfo -s` lists", codes=("SB118", "SB910"), script=sets("partition", "clusters")),
            _submitted("the partition that was submitted does not exist on this cluster", "name one that `sinfo -s` lists", "partition"),
        ),
    ),
    refusal(
        "no-partition",
        "no partition was named, and there is no default one",
        "No partition specified or system default partition",
        "The cluster has no default partition (a `*` in `sinfo`).\n",
        (
            Cause("no-partition", "script", "the script names no partition, and the cluster has no default one", "add --partition", script=not_set("partition")),
            Cause("no-partition-submitted", "submission", "no partition was named, and the cluster has no default one", "name one with --partition"),
        ),
    ),
    refusal(
        "partition-not-permitted",
        "the user may not use the partition",
        "User's group not permitted to use this partition",
        "The partition is for certain groups or accounts (AllowGroups, AllowAccounts of `scontrol show partition`), or the controller does not know the user's groups.\n",
        (
            Cause("partition-of-script", "script", "the user may not use the partition that the script names", "take another partition, or ask the site for it", script=sets("partition", "reservation")),
            Cause("not-permitted", "submission", "the user may not use the partition", "take another partition, or ask the site for it"),
        ),
        of_submission=("Access/permission denied",),
    ),
    refusal(
        "time-limit-invalid",
        "the time limit is missing, or above what is allowed",
        "Requested time limit is invalid (missing or exceeds some limit)",
        "`sinfo -o '%P %l'` shows the limit of each partition; a QOS or an account may have a lower one. Some sites demand `--time`.\n",
        (
            Cause("ambiguous-time", "script", "the time reads as minutes or hours, and Slurm takes it for more than is allowed", "write D-HH:MM:SS", codes=("SB121", "SB122", "SB214")),
            Cause("time-of-script", "script", "the job asks for more time than the partition allows", "lower --time, or take a partition with a longer limit", codes=("SB914",), script=sets("time", "time-min")),
            Cause("no-time", "script", "the script gives no --time, and the site demands it (or the default is above the limit)", "add --time", script=not_set("time", beside="partition")),
            _submitted("what was submitted asks for more time than the partition allows, or for none where the site demands it", "set the time of the jobs in what submits them", "time", "partition"),
        ),
        more=(
            "The requested time limit is invalid (missing or exceeds some limit)",
            "Time limit specification required, but not provided",
            "Invalid time-min specification (exceeds job's time or other limits)",
        ),
    ),
    refusal(
        "array-invalid",
        "the array is larger than the cluster accepts",
        "Invalid job array specification",
        """\
The highest index has to be below MaxArraySize (1001 unless the site raised it), however many elements there are; `%N`
does not help. `scontrol show config | grep MaxArraySize` tells it.
""",
        (
            Cause("array-malformed", "script", "Slurm does not accept the array as it is written", "write it as --array=0-15", codes=("SB126",)),
            Cause("array-of-script", "script", "the array of the script goes beyond MaxArraySize of the cluster", "submit it in parts, or let each element do several", codes=("SB916",), script=sets("array")),
            _submitted("the array that was submitted goes beyond MaxArraySize of the cluster", "submit it in parts, or let each element do several", "array"),
        ),
    ),
    Symptom(
        id="accounting-limit",
        title="a limit of the account or QOS does not allow the job",
        docs="""\
The name tells the limit: `AssocMaxSubmitJobLimit` and `QOSMaxSubmitJobPerUserLimit` count the jobs in the queue (every
element of an array is one), `QOSMaxWallDurationPerJobLimit` the time, `QOSMaxGRESPerUser` the GPUs, `AssocGrpBillingMinutes`
what is left of the budget. `sacctmgr show qos` and `sshare -U` show them.
""",
        printed_by="slurmctld, by way of sbatch, salloc, srun, squeue",
        releases="slurm_errno.c and src/common/job_state_reason.c, 20.11 to 26.05",
        literals=(
            "accounting/QOS policy",
            "error: Assoc",
            "error: QOS",
                "account has breached",
            "MaxJobCount limit",
            "(QOSMax",
            "(AssocMax",
            "(AssocGrp",
            "(QOSGrp",
        ),
        patterns=(
            r"error: (?P<limit>(?:Assoc|QOS)(?:Max|Grp|Min|Usage|Not|Time|Resource|Job)\w*)",
            r"\((?P<limit>(?:Assoc|QOS)(?:Max|Grp)\w+)\)",
            r"Job violates accounting/QOS policy",
            r"Requested account has breached requested QOS usage threshold",
            r"(?:^|: )MaxJobCount limit reached",
        ),
        causes=(
            Cause("array-counts", "script", "every element of the array counts as a job, and that many are not allowed at once", "submit it in parts, or let each element do several", codes=("SB807",), script=sets("array"), log=says("Submit", "violates")),
            Cause("beyond-qos", "script", "the job asks for more than its QOS or that of its partition allows, or for less than it takes", "compare with `sacctmgr show qos`, and ask for less or name another QOS", codes=("SB914", "SB920")),
            Cause("limit-of-script", "script", "the job asks for more than {limit} allows", "compare with `sacctmgr show qos` and `sshare -U`, and ask for less, or name another QOS or partition", script=_of_limit, log=lambda event: possible(not by_program(event))),
            _submitted("what was submitted goes beyond a limit of the account or QOS; every element of an array counts as a job", "submit less at once, or another account, QOS or size", "array", "time", "nodes"),
        ),
        matches="""\
sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: QOSMaxGRESPerUser
       8123   gpu-part  train  ada PD   0:00   2 (QOSMaxCpuPerUserLimit)
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)
salloc: error: Job submit/allocate failed: Requested account has breached requested QOS usage threshold
sbatch: error: Batch job submission failed: MaxJobCount limit reached
""",
        others="sbatch: error: Associations are cached\n",
    ),
    refusal(
        "invalid-qos",
        "the QOS may not be used",
        "Invalid qos specification",
        "The QOS does not exist, or is not allowed for this account or in this partition: `sacctmgr show assoc user=$USER format=account,qos`.\n",
        (
            Cause("qos-of-script", "script", "the QOS that the script names may not be used with this account or partition", "name one that is allowed there, or none", codes=("SB118", "SB911"), script=sets("qos")),
            Cause("partition-needs-qos", "script", "the partition needs a QOS, and the script names none", "add --qos", script=not_set("qos", beside="partition")),
            _submitted("the QOS that was submitted may not be used with this account or partition", "name one that is allowed there, or none", "qos", "partition"),
        ),
        more=("Invalid QOS specification, relative QOS",),
    ),
    refusal(
        "invalid-gres",
        "the GPUs, or other generic resources, are not there as asked for",
        "Invalid generic resource (gres) specification",
        """\
The name or type of the resource is not configured (`sinfo -o '%P %G'` lists them), the site needs a type, or another
option asks for the same resource in another way. srun says it for a step that inherits requests of an outer job.
""",
        (
            Cause("step-outside-job", "script", "the step asks for what its job does not have on the nodes of the step", "let the srun ask for what the directives ask for, or for less (--gres=none for a step without GPUs)", codes=("SB206",), log=says("step")),
            Cause("gpu-options", "script", "the GPU options of the job contradict each other, or are not written as Slurm expects them", "ask for GPUs in one way", codes=("SB205", "SB410", "SB125", "SB207")),
            Cause("gpus-spread", "script", "--gpus counts the GPUs of the whole job, and Slurm may take them from several nodes: a step on one of these cannot have them all", "ask for them on one node: --gpus-per-node=N, with --nodes=1", script=_spread, log=says("step")),
            Cause("step-of-script", "script", "the step asks for GPUs, or inherits them, in a way that does not fit what its job has on the nodes of the step", "give the srun a --gres=gpu:N of its own, no more than the job has on a node", script=_of_step, log=says("step")),
            Cause("variable-in-directive", "script", "the value in the directive is a variable, which sbatch does not expand", "write the value, or give it on the command line of sbatch", codes=("SB115",), told="gres|gpu"),
            Cause("placeholder", "script", "the resource in the script was left to be filled in", "name one that `sinfo -o '%P %G'` lists, or leave the option out", codes=("SB118", "SB417"), told="gres|gpu"),
            Cause("filled-in", "script", "--gres of the script is empty, or is what a template fills in, which may be nothing", "leave the whole option out where the job needs no such resource; else name one that `sinfo -o '%P %G'` lists", script=_filled_in, log=says_not("step")),
            Cause("gres-of-script", "script", "no node has the resource by this name and type", "name one that `sinfo -o '%P %G'` lists", codes=("SB912",), script=sets("gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task")),
            Cause("inherited", "submission", "the step inherits a request for resources from the job around it", "unset SLURM_GRES, SLURM_GPUS and SLURM_TRES_PER_TASK before it", log=says("step")),
            _submitted("no node has the resource that was submitted, by this name and type", "name one that `sinfo -o '%P %G'` lists", "gres", "gpus"),
        ),
        more=(
            "Invalid GRES specification (with and without type identification)",
            "Invalid Trackable RESource (TRES) specification",
            "Duplicate generic resource (gres) specification",
            "Requested GRES option unsupported by configured SelectType plugin",
        ),
    ),
    refusal(
        "insufficient-gres",
        "the step asks for more GPUs than the job has",
        "Insufficient GRES available in allocation",
        "A step can have what the job has, on the nodes where the step runs.\n",
        (
            Cause("step-exceeds-job", "script", "the step asks for GPUs that the job does not have", "ask for them in the job, or for fewer in the step", codes=("SB206", "SB205", "SB201"), script=sets("gpus", "gres", "gpus-per-task", "gpus-per-node")),
            Cause("step-gres", "submission", "the step asks for GPUs that the job does not have", "ask for them in the job, or for fewer in the step"),
        ),
    ),
    refusal(
        "invalid-feature",
        "no node has the feature",
        "Invalid feature specification",
        "`sinfo -o '%P %f'` lists the features that nodes have.\n",
        (
            Cause("variable-in-directive", "script", "the feature in the directive is a variable, which sbatch does not expand", "write the feature, or give it on the command line of sbatch", codes=("SB115",), told="constraint|prefer"),
            Cause("constraint-of-script", "script", "no node of the cluster has the feature that --constraint names", "name one that `sinfo -o '%P %f'` lists", codes=("SB913",), script=sets("constraint", "prefer", "batch")),
            _submitted("no node of the cluster has the feature that was asked for", "name one that `sinfo -o '%P %f'` lists", "constraint"),
        ),
        more=("Invalid preferred feature specification",),
    ),
    refusal(
        "node-count-invalid",
        "the number of nodes is not possible",
        "Node count specification invalid",
        "More nodes than the partition has or allows (MinNodes, MaxNodes), or fewer than the tasks need.\n",
        (
            Cause("option-mismatch", "script", "the numbers of nodes and tasks do not match", "make them agree", codes=("SB202", "SB203", "SB204", "SB206")),
            Cause("nodes-of-script", "script", "the partition does not give a job this many nodes", "ask for a number between MinNodes and MaxNodes of `scontrol show partition`", codes=("SB915",), script=sets("nodes", "nodelist", "ntasks")),
            _submitted("the partition does not give a job this many nodes", "ask for a number between MinNodes and MaxNodes of `scontrol show partition`", "nodes"),
        ),
    ),
    refusal(
        "cpu-count-invalid",
        "the numbers of tasks and CPUs are not possible",
        "CPU count specification invalid",
        "The numbers of tasks, of tasks per core, and of CPUs per task do not match each other or the nodes.\n",
        (
            Cause("option-mismatch", "script", "the numbers of tasks and CPUs do not match", "make them agree", codes=("SB202", "SB203", "SB210", "SB206")),
            Cause("counts-of-script", "script", "the numbers of tasks and CPUs do not fit the nodes", "compare with `scontrol show node`", script=sets(*TASKS, *CPUS)),
            Cause("counts", "submission", "the numbers of tasks and CPUs do not fit the nodes", "compare with `scontrol show node`"),
        ),
        more=(
            "Task count specification invalid",
            "Task distribution specification invalid",
            "Cannot request more threads per core than the job allocation",
        ),
    ),
    refusal(
        "too-many-processors",
        "a step asks for more than the job has",
        "More processors requested than permitted",
        "srun inside a job can start tasks × CPUs per task as the job has them. Cores that the site keeps for the system do not count.\n",
        (
            Cause("step-exceeds-job", "script", "srun asks for more tasks or CPUs than the job has", "ask for them in the directives, or for fewer on the srun line", codes=("SB206", "SB203", "SB804", "SB329")),
            Cause("step-too-wide", "script", "srun asks for more tasks and CPUs on a node than the job has there: cores that the site keeps for the system do not count", "fewer CPUs for each task (-c), or fewer tasks on a node; SLURM_JOB_CPUS_PER_NODE says how many there are", script=_wide_steps),
            Cause("job-too-small", "script", "a program starts a step that is larger than the job", "ask for as many tasks in the directives", script=sets("ntasks", "nodes", "ntasks-per-node", "cpus-per-task", "threads-per-core", "ntasks-per-core" )),
            Cause("job-of-one-task", "script", "srun is to start several tasks, and the job asks for none, which makes one", "ask for as many tasks (--ntasks) in the directives", script=lambda job, event: shown(several_tasks(job))),
            Cause("step-of-program", "submission", "a step was started that is larger than its job", "ask for as many tasks and CPUs in the job"),
        ),
    ),
    refusal(
        "dependency-problem",
        "the dependency is not one that Slurm accepts",
        "Job dependency problem",
        "The number of a job that does not exist (any more), or a text that is not a number: without `--parsable` sbatch prints `Submitted batch job 7`.\n",
        (
            Cause("not-a-job-id", "script", "what sbatch prints was taken for a job's number", "use sbatch --parsable", codes=("SB714", "SB129"), script=lambda job, event: shown(captured_submissions(job))),
            _submitted("the dependency can never be met, or is not one: the job is not known (any more), or afterok names one that failed or was cancelled", "look at the jobs that it names: sacct -j; take numbers from sbatch --parsable, leave out jobs that ended, and use afterany where success is not needed", "dependency", "depend"),
        ),
        more=("Circular job dependency",),
    ),
    refusal(
        "reservation-invalid",
        "the reservation cannot be used",
        "Requested reservation is invalid",
        "The reservation does not exist, is over, or is for others: `scontrol show reservation`.\n",
        (
            Cause("reservation-of-script", "script", "the reservation that the script names does not exist any more, or is for others", "take the option out, or name one of `scontrol show reservation`", script=sets("reservation")),
            Cause("reservation", "submission", "the reservation does not exist any more, or is for others", "leave --reservation out"),
        ),
        more=(
            "Access denied to requested reservation",
            "Requested reservation not usable now",
            "Requested reservation is in use",
        ),
    ),
    refusal(
        "invalid-licenses",
        "there is no such licence",
        "Invalid license specification",
        "`scontrol show licenses` lists what may be asked for with `--licenses`; at some sites file systems are licences.\n",
        (
            Cause("licenses-of-script", "script", "the cluster has no licence by this name, or not that many", "name one that `scontrol show licenses` lists", script=sets("licenses")),
            Cause("licenses", "submission", "the cluster has no licence by this name, or not that many", "leave --licenses out, or name one that `scontrol show licenses` lists"),
        ),
        more=("Licenses currently unavailable",),
    ),
    refusal(
        "invalid-node-name",
        "the nodes that were named are not there",
        "Invalid node name specified",
        "`--nodelist` or `--exclude` names nodes that Slurm does not know, or that are not in the partition.\n",
        (
            Cause("nodes-of-script", "script", "the script names nodes that the cluster, or the partition, does not have", "take --nodelist and --exclude out, or name nodes of `sinfo -N`", codes=("SB335", "SB919"), script=sets("nodelist", "exclude", "nodefile", "partition")),
            _submitted("nodes were named that the cluster, or the partition, does not have", "name nodes of `sinfo -N`", "nodelist", "exclude"),
        ),
        more=("Requested nodes not in this partition",),
    ),
    refusal(
        "task-memory-unavailable",
        "a step asks for more memory than the job has",
        "Memory required by task is not available",
        "srun's memory options, or `SLURM_MEM_PER_CPU` and `SLURM_MEM_PER_NODE` of an outer job, ask for more than this job has.\n",
        (
            Cause("step-memory", "script", "the step asks for more memory than the job has on a node", "ask for it in the directives, or for less on the srun line", codes=("SB206", "SB124"), script=sets("mem", "mem-per-cpu", "mem-per-gpu")),
            Cause("inherited-memory", "submission", "a request for memory was inherited from the job around this one", "unset SLURM_MEM_PER_CPU, SLURM_MEM_PER_NODE and SLURM_MEM_PER_GPU"),
        ),
    ),
    refusal(
        "submissions-disabled",
        "the cluster accepts no jobs now",
        "System submissions disabled",
        "Usually maintenance: `scontrol show partition` and the site's news tell until when.\n",
        (
            Cause("maintenance", "cluster", "the cluster or the partition accepts no jobs at the moment", "submit again when it is back", unproven="certain"),
        ),
        more=(
            "Required partition not available (inactive or drain)",
            "Partition in DOWN state",
            "Job can not start due to maintenance reservation.",
        ),
    ),
    refusal(
        "node-not-available",
        "nodes that the job needs are down, drained or reserved",
        "Required node not available (down, drained or reserved)",
        "The job waits until they are back, or never starts where the script names them.\n",
        (
            Cause("named-nodes", "script", "the script names nodes that are down, drained or reserved", "take --nodelist out, or name others", script=sets("nodelist", "nodefile")),
            Cause("nodes-down", "cluster", "nodes that the job needs are down, drained or reserved", "wait, or submit to another partition", unproven="certain"),
        ),
    ),
)
