"""slurmstepd: the beginning and the end of a task or a step."""

import re

from sbatchlint.diagnose.clues import possible, says
from sbatchlint.diagnose.evidence import MEMORY, lacks, matching, options, settings, shown, spans_of, step_options
from sbatchlint.diagnose.heaps import heap_of_script
from sbatchlint.diagnose.printed import release_named
from sbatchlint.diagnose.questions import has_word, not_set, sets
from sbatchlint.diagnose.silence import not_silent, silent
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.text import Span

_FUNCTIONS = (
    "module", "ml", "conda", "mamba", "micromamba", "nvm", "spack", "source", "export", "cd", "ulimit", "set", "alias",
)  # fmt: skip
# What makes an environment, and folders of which each node has its own.
_MAKES = re.compile(r"\b(?:virtualenv|venv|(?:conda|mamba|micromamba) create|uv (?:venv|sync)|tar|unzip)\b")
_OWN_FOLDER = re.compile(r"\$\{?(?:SLURM_)?TMPDIR\b|(?<![\w.])/(?:tmp|dev/shm|local\w*)/")


def _no_memory(job: Job, event: Event) -> Verdict:
    """A job that asks for no memory gets the site's default, usually a share for each CPU."""
    if options(job, *MEMORY, "exclusive"):
        return RULED_OUT
    return Shown(options(job, "partition")) if lacks(job, *MEMORY) else None


def _memory_of_cpus(job: Job, event: Event) -> Verdict:
    """The memory for each CPU, in a job that asks for no other."""
    return None if options(job, "mem", "mem-per-gpu") else shown(options(job, "mem-per-cpu"))


def _minutes(job: Job, event: Event) -> Verdict:
    """A time limit of the form MM:SS, which usually means hours and minutes, or a small plain number."""
    for setting in settings(job, "time")[-1:]:
        match = re.fullmatch(r"(\d{1,2})(?::(\d\d))?", setting.value or "")
        if match is None or not match[2] and len(match[1]) > 1 and match[1] > "48":
            return None
        meant = f"{setting.value}:00" if match[2] else f"{setting.value}:00:00"
        says = f"the time limit {setting.value} is read as minutes{' and seconds' if match[2] else ''}, so the job's time was up that soon"
        return Shown((setting.span,), says + f"; {meant} is hours", "likely")
    return None


_SUBMITTERS = re.compile(
    r"Canu \d|canu\b.*-correct|based on SLURM_ARRAY_TASK_ID=\d+ and offset|Building DAG of jobs|N E X T F L O W|\.command\.(?:run|sh)\b|cromwell-execution"
    r"|\brule \w+:$|snakejob|toil\.|dask_worker|distributed\.worker|process_worker_pool|parsl\b.*worker|submitit|Cylc job script"
)


def _of_workflow(event: Event) -> bool | None:
    """The lines above are those of a job that a workflow program submitted."""
    return possible(any(map(_SUBMITTERS.search, event.above)))


def _writes_shared(job: Job, event: Event) -> Verdict:
    """The commands of an array that name the file, or its stem, at which the log stops, the same for each element."""
    path = _stopped_at(event)
    stem = re.sub(r"(?<=.)\.[^/]*$", "", path.rsplit("/", 1)[-1])
    if len(stem) <= 3 or not options(job, "array"):
        return None
    text = job.source.own.text
    found = [Span(*each.span()) for each in re.finditer(rf"[^\s'\"=]*{re.escape(stem)}[^\s'\"]*", text)]
    for name in sorted({each.name for each in job.assignments if any(_within(each.span, span) for span in found)}):
        found += [Span(*each.span()) for each in re.finditer(rf"\$\{{?{re.escape(name)}\b\}}?", text)]
    return shown(tuple(found))


def _within(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end + 1


def _stopped_at(event: Event) -> str:
    """The file that the last line of output before a cancellation writes, locks or waits for; '' for another line."""
    last = event.above[-1] if event.above else ""
    match = re.search(r"(?i)\b(?:sav|writ|lock|wait|flush|dump|append|updat|open)\w*\b.*?(/[\w./+-]+\w)", last)
    return match[1] if match else ""


def _no_path(job: Job, event: Event) -> Verdict:
    """`--export` without ALL leaves the tasks without PATH."""
    given = [(each.value or "", each.span) for each in settings(job, "export")]
    given += [(option.text or "", option.span) for step in job.steps if (option := step.option("export")) is not None]
    spans = tuple(span for value, span in given if value and "ALL" not in value.upper() and "PATH" not in value)
    return shown(spans, "certain") or RULED_OUT


def _in_container(job: Job, event: Event) -> Verdict:
    """A step in a container looks for its program in the image."""
    spans = step_options(job, "container-image", "container-name")
    return Shown(spans_of(job.steps), None, "likely") if spans else RULED_OUT


def _made_on_first_node(job: Job, event: Event) -> Verdict:
    """Where the batch shell of several nodes makes an environment in a folder that each node has for itself."""
    in_batch_shell = [each for each in job.invocations if enclosing_step(each.context) is None]
    made = frozenset(matching(job, in_batch_shell, _MAKES))
    found = tuple(each for each in matching(job, in_batch_shell, _OWN_FOLDER) if each in made)
    return shown(found) if options(job, "nodes", "ntasks") else None


def _is_script(event: Event) -> bool | None:
    """It is the batch script itself that could not be started."""
    return possible(event.groups.get("program", "").endswith("slurm_script") or "bad interpreter(" in event.text)


def _first_line(job: Job, event: Event) -> Verdict:
    """The first line of the script, where it names the interpreter that is not there."""
    first = job.source.own.line(1)
    interpreter = event.groups.get("program", "") if "bad interpreter(" in event.text else ""
    return Shown((first,)) if interpreter and interpreter in job.source.own.slice(first) else None


# fmt: off
SYMPTOMS = (
    Symptom(
        id="harmless-memory-limit",
        title="harmless: the memory limit was reached once, usually by the page cache",
        docs="Up to 17.02 this was printed whenever the limit was reached, even where the kernel only dropped cached pages of files. Nothing was killed.\n",
        printed_by="slurmstepd (task/cgroup)",
        releases="`Exceeded step memory limit at some point` up to 17.02; `hit memory limit at least once` (an info) 17.11 to 26.05",
        role="warning",
        literals=("memory limit at some point", "memory limit at least once", "memory+swap limit at least once"),
        patterns=(r"(?:Exceeded (?:step|job) memory limit at some point|hit memory(?:\+swap)? limit at least once)",),
        causes=(
            Cause("page-cache", "script", "the memory limit was reached, but nothing was killed: cached pages of files count as well", "nothing, where the job completed; else ask for more memory", script=lambda job, event: Shown(spans) if (spans := options(job, *MEMORY)) else None),
        ),
        matches="""\
slurmstepd: Exceeded step memory limit at some point.
slurmstepd: error: Exceeded job memory limit at some point.
slurmstepd: StepId=7.batch hit memory limit at least once during execution. This may or may not result in some failure.
""",
    ),
    Symptom(
        id="host-oom",
        title="out of main memory",
        docs="""\
The kernel ended a process because the job's processes together passed the memory that the job has on the node. GPU memory
is another matter: that message is `CUDA out of memory`.
""",
        printed_by="slurmstepd (task/cgroup, jobacct_gather), srun, the kernel",
        releases="""`Detected 1 oom-kill event(s) in step 7.0 cgroup` 17.11 to 20.11, `… in StepId=7.0` 21.08 and 22.05,
`Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.` from 23.02 on;
`Step 7.0 exceeded memory limit (a > b), being killed` where JobAcctGatherParams=OverMemoryKill""",
        literals=("oom-kill event", "oom_kill event", "Out Of Memory", "exceeded memory limit", "Out of memory: Kill", "cgroup out of memory", "oom-kill:", "OUT_OF_MEMORY"),
        patterns=(
            r"Detected \d+ oom[-_]kill event",
            r"tasks? [\d,-]+: Out Of Memory",
            r"(?:[Ss]tep\S*|[Jj]ob\S*) .{0,40}exceeded memory limit \(\d+ > \d+\)",
            r"(?:Out of memory: Kill|[Mm]emory cgroup out of memory|oom-kill:constraint)",
            r"\bOUT_OF_MEMORY\b(?: *0:\d+| *$)",
        ),
        causes=(
            Cause("tiny-memory", "script", "the memory that is asked for reads as gigabytes and is megabytes", "write the unit", codes=("SB124", "SB215"), told=r"\bMB\b|megabyte"),
            Cause("heap-beyond-memory", "script", "the heap of Java or Spark, or the workers of Dask, may grow beyond the memory of the job", "set -Xmx (--driver-memory, --memory-limit) somewhat below --mem", codes=("SB620",), script=heap_of_script),
            Cause("no-memory-asked", "script", "the job asks for no memory, and got less than it needs", "ask for memory with --mem or --mem-per-cpu", codes=("SB209",), script=_no_memory),
            Cause("submitted-by-program", "submission", "the job was submitted by a program, which asked for less memory than the work needs", "give that step more memory in the settings of the program (Nextflow: `memory`, Snakemake: `mem_mb`, Canu: gridOptions), or let it retry with more", log=_of_workflow),
            Cause("memory-of-submission", "submission", "the job was submitted with less memory than its processes need", "ask for more with --mem where it is submitted, or look whether every rank loads what one could"),
            Cause("every-rank", "code", "the processes of a node need more memory together than the job has there", "ask for more with --mem, or look whether every rank loads what one could"),
            Cause("too-little-for-each-cpu", "script", "the memory that the job asks for each CPU is less than the processes there need", "ask for more with --mem-per-cpu, or start fewer processes at once", script=_memory_of_cpus, unproven="possible"),
            Cause("too-little-memory", "script", "the job asks for less memory than its processes need", "ask for more with --mem", script=sets(*MEMORY), unproven="possible"),
        ),
        matches="""\
slurmstepd: error: Detected 1 oom-kill event(s) in step 3495064.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.
slurmstepd: error: Detected 2 oom_kill events in StepId=12.batch. Some of the step tasks have been OOM Killed.
srun: error: node-01: task 4: Out Of Memory
slurmstepd: error: Step 77.0 exceeded memory limit (2097160 > 2097152), being killed
slurmstepd: error: StepId=77.0 exceeded memory limit (2097160 > 2097152), being killed
[123.4] Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB
77.batch   OUT_OF_MEMORY   0:125
""",
        others="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        examples=(
            Example("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n", "#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n", "no-memory-asked"),
        ),
    ),
    Symptom(
        id="time-limit",
        title="the time of the job was up",
        docs="""\
First look at what stood before it: minutes of silence, or steps that wait, mean that the job hung, and more time would not
have helped. A job without `--time` has the default of the partition, which can be short.
""",
        printed_by="slurmstepd, slurmctld (sacct)",
        releases="src/slurmd/slurmstepd/req.c: `*** JOB 7 ON n1 CANCELLED AT … DUE TO TIME LIMIT ***`, all releases",
        role="consequence",
        literals=("DUE TO TIME LIMIT", "due to time limit", "hitting max wall clock limit"),
        patterns=(r"DUE TO TIME LIMIT", r"due to time limit", r"Job killed due hitting max wall clock limit"),
        causes=(
            Cause("ambiguous-time", "script", "the time limit reads as hours and is minutes, or sbatch did not read it", "write hours, minutes and seconds: HH:MM:SS, or D-HH:MM:SS", codes=("SB122", "SB214", "SB814", "SB101"), script=_minutes),
            Cause("wait-without-end", "script", "the job waited for something that did not come, until its time was up", "see the finding", codes=("SB816", "SB815", "SB323", "SB311", "SB312", "SB303", "SB305", "SB306", "SB307", "SB308", "SB309", "SB436", "SB809", "SB802")),
            Cause("one-cpu-for-each-task", "script", "srun does not inherit --cpus-per-task here, so all threads of a task share one CPU, and the work takes many times as long", "give it to the step: srun --cpus-per-task=$SLURM_CPUS_PER_TASK, or export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK before it", codes=("SB804",), log=release_named),
            Cause("shared-file", "script", "all elements of the array write or lock one file, and the log stops where this one waits for it", "give each element a file, or a copy, of its own (SLURM_ARRAY_TASK_ID in its name); more time does not help", script=_writes_shared),
            Cause("submitted-by-program", "submission", "the job was submitted by a program, which gives its jobs a time of its own, or none: then the default of the partition", "name the time in the settings of that program (Nextflow: `time`, Snakemake: `runtime`, Canu: gridOptions=\"--time=…\"), not in the first job", log=_of_workflow),
            Cause("silence", "code", "nothing was printed for long before the time was up: the job hung, and more time would not have helped", "find what it waited for: the rank whose log stops first, a lock, a peer that never came (py-spy dump shows it)", log=silent),
            Cause("no-time", "script", "the script gives no --time, so the job had the default time of its partition", "add --time", codes=("SB918",), script=not_set("time", beside="partition"), log=not_silent),
            Cause("time-too-short", "script", "the work takes longer than the time that the script asks for", "ask for more, write checkpoints, or continue in the next job", script=sets("time"), log=not_silent, unproven="possible"),
            Cause("time-of-submission", "submission", "the job was submitted with less time than its work takes, or with the default of the partition", "give it --time where it is submitted"),
        ),
        matches="""\
slurmstepd: error: *** JOB 3884617 ON node023 CANCELLED AT 2018-08-19T16:30:21 DUE TO TIME LIMIT ***
slurmstepd: error: *** STEP 71.0 ON n1 CANCELLED AT 2025-01-19T16:30:21 DUE TO TIME LIMIT ***
srun: error: Job killed due hitting max wall clock limit
slurmctld: job 71 cancelled due to time limit
""",
    ),
    Symptom(
        id="preempted",
        title="the job was preempted",
        docs="A job of higher priority took its nodes. With PreemptMode=REQUEUE it begins again; what it printed before may be gone (see `--open-mode`).\n",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/req.c, all releases",
        literals=("DUE TO PREEMPTION", "due to preemption"),
        patterns=(r"DUE TO PREEMPTION|[Pp]reempted .*due to preemption|due to preemption",),
        causes=(
            Cause("log-lost", "script", "a job of higher priority took the nodes, and the restart empties the log", "add --open-mode=append", codes=("SB706",)),
            Cause("priority", "cluster", "a job of higher priority took the nodes", "write checkpoints and use --requeue, or take a partition or QOS that is not preempted", unproven="certain"),
        ),
        matches="slurmstepd: error: *** JOB 71 ON n1 CANCELLED AT 2025-01-19T16:30:21 DUE TO PREEMPTION ***\n",
    ),
    Symptom(
        id="node-failed",
        title="a node failed",
        docs="The node went down, or stopped answering the controller. Slurm requeues the job where it may.\n",
        printed_by="slurmstepd, srun, slurmctld",
        releases="src/slurmd/slurmstepd/req.c, src/srun/libsrun/srun_job.c, all releases",
        literals=("DUE TO NODE FAILURE", "DUE TO NODE", "Node failure on", "due to failure of node", "due node failure", "to failed node", "on failed node", "not responding"),
        patterns=(r"DUE TO NODE ?(?:FAILURE|$)", r"(?:srun|salloc): error: Node failure on (?P<node>\S+)", r"due to failure of node (?P<node>\S+)", r"Job killed due node failure", r"Killing \S+ (?:due to|on) failed node (?P<node>\S+)", r"error: Nodes (?P<node>\S+) not responding"),
        causes=(Cause("node", "cluster", "a node of the job went down ({node})", "submit again, with --exclude of that node where it happens twice", unproven="certain"),),
        matches="""\
slurmstepd: error: *** JOB 71 ON n1 CANCELLED AT 2025-01-19T16:30:21 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***
srun: error: Node failure on gpu-07
[2023-08-28T16:55:46.905] requeue job JobId=10 due to failure of node dy-a10g-1
srun: error: Job killed due node failure
srun: Killing StepId=7.0 due to failed node n3
[2023-08-28T16:55:46.905] error: Nodes c[1-2] not responding, setting DOWN
""",
    ),
    Symptom(
        id="job-requeued",
        title="the job was put back into the queue",
        docs="By `scontrol requeue`, by a failed node or prolog, or by preemption; the log before this line belongs to the first run.\n",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/req.c, all releases",
        role="teardown",
        literals=("DUE TO JOB REQUEUE", "Requeuing JobId"),
        patterns=(r"DUE TO JOB REQUEUE|Requeuing JobId=\d+",),
        causes=(Cause("requeued", "cluster", "the job was ended and put back into the queue", "look at `sacct -D -j JOB` for the reason", unproven="possible"),),
        matches="slurmstepd: error: *** JOB 71 ON n1 CANCELLED AT 2025-01-19T16:30:21 DUE TO JOB REQUEUE ***\n",
    ),
    Symptom(
        id="processes-not-ending",
        title="processes of the job did not end when they were killed",
        docs="""\
A process that waits in the kernel, for a file system or a device that does not answer, cannot be killed. Slurm gives up after
UnkillableStepTimeout and drains the node.
""",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/step_terminate_monitor.c, all releases",
        role="teardown",
        literals=("STEPD TERMINATED ON",),
        patterns=(r"\*\*\* .* STEPD TERMINATED ON \S+ AT \S+ DUE TO JOB NOT (?:ENDING|RUNNING)",),
        causes=(Cause("kernel", "cluster", "processes hung in the kernel, mostly on a file system, and could not be killed", "ask your administrators about this node", unproven="possible"),),
        matches="""\
slurmstepd: error: *** JOB 71 STEPD TERMINATED ON n1 AT 2025-01-19T16:30:21 DUE TO JOB NOT ENDING WITH SIGNALS ***
[2026-01-19T16:30:21.104] error: *** STEP 71.0 STEPD TERMINATED ON n1 AT 2026-01-19T16:30:21 DUE TO JOB NOT RUNNING ***
""",
    ),
    Symptom(
        id="exec-not-found",
        title="the program of a task was not found",
        docs="""\
slurmstepd starts a program file, from the PATH of the task. It knows no functions of a shell (module, conda), and where PATH did
not come with the job (`--export=NONE`) it finds nothing.
""",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/task.c, all releases",
        literals=("execve(", "couldn't exec"),
        patterns=(r"error: execve\((?:\w*)\): (?P<program>\S+): No such file", r"error: execve\((?P<program>[^)]+)\): No such file", r"execve\(\): bad interpreter\((?P<program>[^)]*)\)"),
        causes=(
            Cause("interpreter-line", "script", "what the first line of the script names is not there on the node", "name an interpreter by its path on the nodes (`#!/bin/bash`)", codes=("SB007",), script=_first_line, log=_is_script),
            Cause("spool", "cluster", "slurmd's own folder on the node is not usable, so the batch script was not there", "submit again with --exclude of that node, and tell the site", log=lambda event: event.groups.get("program", "").endswith("slurm_script")),
            Cause("shell-function", "script", "{program} is a function or a built-in of the shell, and srun starts program files only", "call it without srun before the step, or inside `srun bash -lc '…'`", script=has_word("program"), log=lambda event: possible(event.groups.get("program") in _FUNCTIONS)),
            Cause("no-path", "script", "--export without ALL leaves the tasks without PATH, so {program} is not found", "write --export=ALL,NAME=value", codes=("SB609", "SB619", "SB430"), script=_no_path),
            Cause("in-container", "script", "the image has no program {program}: paths of the host are not valid in it", "name the program as the image has it, or mount its folder", codes=("SB507", "SB515", "SB520"), script=_in_container),
            Cause("environment-of-one-node", "script", "the batch shell makes an environment on the disk of the first node, and the other nodes have no {program}", "make it on each node (srun --ntasks-per-node=1), or on a file system that all nodes share", script=_made_on_first_node),
            Cause("not-there", "script", "there is no program {program} on the node: not in PATH, or not at that path", "load what provides it inside the job, or give its full path", script=has_word("program")),
            Cause("word-of-launcher", "code", "a program put the word {program} where its command belongs", "update that launcher, or give it the options that it wants", log=lambda event: event.groups.get("program") in ("nil", "null", "None", "undefined", "(null)") or False),
            Cause("environment", "submission", "the environment of the job has no PATH to {program} (--export=NONE, SLURM_EXPORT_ENV)", "unset SLURM_EXPORT_ENV, or submit with --export=ALL; else load what provides the program inside the job"),
        ),
        matches="""\
slurmstepd: error: execve(): python3: No such file or directory
slurmstepd: error: execve(/opt/run.sh): No such file or directory
slurmstepd: error: execve(): bad interpreter(/bin/zsh): No such file or directory
""",
        examples=(
            Example(
                "slurmstepd: error: execve(): accelerate: No such file or directory\n",
                "#!/bin/bash\n#SBATCH --nodes=2\n«virtualenv $SLURM_TMPDIR/env»\nsource $SLURM_TMPDIR/env/bin/activate\nsrun accelerate launch a.py\n",
                "environment-of-one-node",
                "likely",
            ),
            Example("slurmstepd: error: execve(): bad interpreter(/bin/zsh): No such file or directory\n", "«#!/bin/zsh»\n#SBATCH -n 2\nsrun ./a\n", "interpreter-line"),
            Example("slurmstepd: error: execve(): module: No such file or directory\n", "#!/bin/bash\n#SBATCH -n 2\n«srun module load gcc»\n", "shell-function", "likely"),
            Example("slurmstepd: error: execve(): python: No such file or directory\n", "#!/bin/bash\n#SBATCH -n 2\nsrun «--export=SEED=1» python train.py\n", "no-path"),
        ),
    ),
    Symptom(
        id="exec-not-permitted",
        title="the program of a task may not be executed",
        docs="The file lacks the x bit, its file system is mounted noexec, something still writes it (`Text file busy`), or it is not a program (`Exec format error`: a script without `#!`, or another architecture).\n",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/task.c, all releases",
        literals=("execve(", "access denied"),
        patterns=(r"error: execve\(\w*\): (?P<program>\S+): (?:Permission denied|Exec format error|Text file busy|Argument list too long)", r"error: execve\((?P<program>[^)]+)\): (?:Permission denied|Exec format error)", r"error: Could not run (?P<program>\S+) \[[^]]*\]: access denied"),
        causes=(
            Cause("interpreter-line", "script", "what the first line of the script names cannot be executed", "write `#!/bin/bash`: the path from the root, without blanks in it", codes=("SB007",), log=_is_script),
            Cause("too-long", "submission", "the words and the environment of {program} are longer than the kernel accepts", "pass lists in a file, and export less", log=says("Argument list too long"), unproven="certain"),
            Cause("busy", "submission", "{program} is open for writing: something compiles or copies it", "build it before the job, or under a name of its own", log=says("Text file busy"), unproven="certain"),
            Cause("not-executable", "script", "srun is given a file that may not be executed: {program}", "chmod +x it, or start it with its interpreter: `srun bash {program}`", script=has_word("program")),
            Cause("not-executable-file", "submission", "{program} may not be executed on the node", "chmod +x it, give it a first line `#!/bin/bash`, and keep it on a file system that is not noexec"),
        ),
        matches="""\
slurmstepd: error: execve(): ./agent.sh: Permission denied
slurmstepd: error: execve(): run.py: Exec format error
slurmstepd: error: execve(/scratch/run.py): Permission denied
slurmstepd: error: Could not run /etc/prolog.sh [task prolog]: access denied
""",
        examples=(
            Example("slurmstepd: error: execve(): python: Argument list too long\n", None, "too-long"),
            Example("slurmstepd: error: execve(): ./a.out: Text file busy\n", None, "busy"),
        ),
    ),
    Symptom(
        id="working-folder",
        title="the working folder is not there on the node",
        docs="The job goes on in /tmp. The folder where sbatch was called, or `--chdir`, is not on a file system that the node has, or may not be entered.\n",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/task.c, mgr.c, all releases",
        literals=("couldn't chdir", "couldn't open `", "getcwd failed"),
        patterns=(r"couldn't chdir to `(?P<path>[^']*)'", r"couldn't chdir to /tmp", r"error: getcwd failed"),
        causes=(
            Cause("chdir", "script", "the folder that --chdir names is not there on the node: {path}", "name one that all nodes see", codes=("SB115", "SB707", "SB132"), script=sets("chdir")),
            Cause("submit-folder", "submission", "the folder in which the job was submitted is not there on the node: {path}", "submit from a folder that all nodes see (not /tmp of the login node)"),
        ),
        matches="""\
slurmstepd: error: couldn't chdir to `/data/ada/run': No such file or directory: going to /tmp instead
slurmstepd: error: couldn't chdir to /tmp either. dying.
sbatch: error: getcwd failed: No such file or directory
""",
    ),
    Symptom(
        id="task-setup-failed",
        title="the node could not set up the task",
        docs="cgroups, namespaces, or the user are not as slurmstepd needs them: the node is misconfigured.\n",
        printed_by="slurmstepd, slurmd",
        releases="src/slurmd/slurmstepd, src/plugins/task/cgroup, job_container, namespace; all releases",
        literals=("container_p_join", "namespace_g_", "cannot find name for", "Failed to invoke task plugins", "unable to create cgroup", "Could not look up user", "unable to instantiate", "pam_open_session", "batch script setup failed", "Slurmd could not", "slurm_script: No such file", "Could not apply device constrain", "user not found", "Unable to find user"),
        patterns=(
            r"error: (?:container_p_join|namespace_g_join|namespace_g_\w+\()",
            r"cannot find name for (?:user|group) ID",
            r"error: (?:\S+: )?Failed to invoke task plugins",
            r"error: (?:\S+: )?[Uu]nable to (?:create|instantiate) .{0,60}cgroup",
            r"error: (?:Could not look up user|batch script setup failed|pam_open_session|Could not apply device constrain)",
            r"Slurmd could not (?:create a batch directory|set up environment|set UID|execve|connect IO)",
            r"job\d+/slurm_script: No such file",
        ),
        causes=(Cause("node", "cluster", "the node is not set up as Slurm needs it", "submit again with --exclude of that node, and tell the site", unproven="certain"),),
        matches="""\
slurmstepd: error: container_p_join: open failed for /var/spool/c/71/.ns: No such file or directory
groups: cannot find name for group ID 4711
slurmstepd: error: Failed to invoke task plugins: task_p_pre_launch error
slurmstepd: error: unable to create cgroup '/sys/fs/cgroup/x' : No space left on device
slurmstepd: error: Could not look up user home directory
srun: error: Application launch failed: Slurmd could not set up environment for batch job
/bin/bash: /var/spool/slurmd/job00071/slurm_script: No such file or directory
""",
    ),
    Symptom(
        id="cgroup-fault",
        title="the node's cgroups do not work as Slurm needs them",
        docs="slurmstepd cannot make or enter the cgroup of a step, mostly that of memory: the kernel has no more of them (their number is limited, and dead ones stay), or the node's configuration does not fit its kernel. The step may run all the same, without its limits.\n",
        printed_by="slurmstepd",
        releases="src/plugins/task/cgroup, src/plugins/cgroup, src/plugins/jobacct_gather/cgroup; all releases",
        role="consequence",
        near_end=400,
        literals=("cgroup", "memory cg "),
        patterns=(r"^slurm(?:step)?d\S*: error: (?!.*oom)(?!.*(?:Failed to invoke|[Uu]nable to (?:create|instantiate))).*(?:\bmemory cg\b|cgroup)",),
        causes=(
            Cause("cgroup", "cluster", "the node's cgroups, by which Slurm limits memory and processors, do not work for this step", "submit again with --exclude of that node, and tell the site: slurmd's cgroup settings, or cgroups that the kernel does not free"),
        ),
        matches="""\
slurmstepd: error: task/cgroup: unable to add task[pid=4711] to memory cg '(null)'
slurmstepd: error: error from open of cgroup '/sys/fs/cgroup/x': Permission denied
slurmstepd: error: cgroup_p_task_addto: could not join
""",
        others="slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0 cgroup.\n",
    ),
    Symptom(
        id="limit-not-propagated",
        title="harmless: a limit of the login shell is not available on the node",
        docs="sbatch passes the limits of the shell on (`--propagate`); those above what the node allows are skipped.\n",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/ulimits.c, all releases",
        role="harmless",
        literals=("Can't propagate RLIMIT", "can't propagate RLIMIT"),
        patterns=(r"[Cc]an't propagate RLIMIT_(?P<limit>\w+)",),
        matches="slurmstepd: error: Can't propagate RLIMIT_NOFILE of 65536 from submit host: Operation not permitted\n",
    ),
    Symptom(
        id="exit-message-lost",
        title="harmless: a step's last messages did not arrive",
        docs="What ended the step is above.\n",
        printed_by="slurmstepd",
        role="harmless",
        literals=("Failed to send MESSAGE_TASK_EXIT", "to unblock task", "error from srun", "Retrying job complete RPC"),
        patterns=(r"Failed to send MESSAGE_TASK_EXIT|to unblock task \d+ failed|Retrying job complete RPC",),
        matches="slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection refused\nslurmstepd: error: write to unblock task 0 failed: Broken pipe\n",
    ),
    Symptom(
        id="cancelled",
        title="the job or step was cancelled",
        docs="""\
No reason after the time: a signal, by `scancel` of the user or an administrator, by a program, or by srun after another task had
failed. `sacct -j JOB -o State%30` names the user: `CANCELLED by 1000`.
""",
        printed_by="slurmstepd",
        releases="src/slurmd/slurmstepd/req.c, all releases; `DUE to SIGNAL` since 25.05",
        role="teardown",
        literals=("CANCELLED AT", "FAILED (non-zero exit code"),
        patterns=(r"\*\*\* JOB .* CANCELLED AT \S+ (?:DUE to SIGNAL .*)?\*\*\*", r"\*\*\* .* ON \S+ FAILED \(non-zero exit code"),
        causes=(
            Cause("cancels-itself", "script", "the script cancels jobs itself, this one included", "see the finding", codes=("SB718", "SB812")),
            Cause("scancel", "submission", "the job was cancelled: by scancel of a user, an administrator or a program", "ask `sacct -j JOB -o JobID,State%30` who did it"),
        ),
        matches="""\
slurmstepd: error: *** JOB 3 ON c1 CANCELLED AT 2025-02-13T15:47:35 ***
[2026-02-13T15:47:35.208] error: *** JOB 3 ON c1 CANCELLED AT 2026-02-13T15:47:35 DUE to SIGNAL Terminated ***
slurmstepd: error: *** JOB 3 ON c1 FAILED (non-zero exit code or other failure mode) ***
""",
        others="slurmstepd: error: *** JOB 71 ON n1 CANCELLED AT 2025-01-19T16:30:21 DUE TO TIME LIMIT ***\nslurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2021-10-27T19:35:36 ***\n",
    ),
)
