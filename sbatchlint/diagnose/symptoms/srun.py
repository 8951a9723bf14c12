"""srun: steps that do not start, or end."""

import re

from sbatchlint.diagnose.clues import group_matches, possible, says, says_not
from sbatchlint.diagnose.evidence import MEMORY, assigned, shown, spans_of
from sbatchlint.diagnose.questions import has_word, sets, sets_or_lacks, steps
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.steps import enclosing_step


def _in_container(job: Job, event: Event) -> Verdict:
    """The command is started in a container, and srun looks for it on the host."""
    found = [each for each in job.steps if each.option("container-image") or each.option("container-name")]
    if not found and not any(each.name.startswith("container") for each in job.directives.settings):
        return RULED_OUT
    return Shown(spans_of(found))


def _several_steps(job: Job, event: Event) -> Verdict:
    """Steps at the same time, or inside each other, need options that let them share."""
    own = [(each, each.invocation.context) for each in job.steps if each.option("overlap") is None]
    found = [step for step, context in own if context.background is not None or enclosing_step(context) is not None]
    return shown(spans_of(found), "certain")


def _one_step(job: Job, event: Event) -> Verdict:
    return RULED_OUT if len(job.steps) == 1 and not job.steps[0].invocation.context.may_repeat else None


# By SIGKILL, which is what the kernel sends where memory ran out.
_killed = says_not("Terminated", "exit code 143", "exit code 130")


def _batch_script(job: Job, event: Event) -> Verdict:
    """Directives, which only sbatch reads."""
    settings = spans_of(job.directives.settings)
    return Shown(settings[:1]) if settings and job.steps else None


def _says_why(event: Event) -> bool | None:
    """An error of the program's own is above what srun says of its end."""
    said = (each for each in event.above if not each.startswith(("srun:", "slurmstepd:")))
    return possible(any(re.search(r"(?i)\berror\b", each) for each in said))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="srun-cannot-execute",
        title="srun finds no such program on this host",
        docs="With `--bcast`, or where the site sets LaunchParameters=test_exec, srun itself looks for the program on the host, even where it is meant for a container. A name without a path it replaces by the path that it finds there.\n",
        printed_by="srun",
        releases="src/srun/libsrun/opt.c, all releases",
        literals=("Can not execute",),
        patterns=(r"(?:srun|salloc): fatal: Can not execute (?P<program>\S+)",),
        causes=(
            Cause("container-path", "script", "{program} is in the image only, and srun looks for it on the host", "start it with `bash -c '{program} …'`, which is on the host too", script=_in_container),
            Cause("path", "script", "there is no program {program} on the node where srun runs, or it may not be executed", "correct the path, or chmod +x it", script=has_word("program")),
            Cause("not-there", "submission", "there is no program {program} on the node where srun runs, or it may not be executed", "correct the path, or chmod +x it"),
        ),
        matches="srun: fatal: Can not execute /opt/venv/bin/python\n",
    ),
    Symptom(
        id="step-waits",
        title="a step waits until others of its job are done",
        docs="""\
Since 20.11 a step owns what it uses: a second one, or an srun inside an srun, waits. `--overlap` lets it share; `--exact` with
`-n`, `-c` and `--mem` lets several fit side by side. The message is harmless where `Step created` follows.
""",
        printed_by="srun",
        releases="src/srun/libsrun/launch.c: `temporarily disabled`, then `still disabled`; all releases",
        role="consequence",
        literals=("step creation temporarily disabled", "step creation still disabled"),
        patterns=(r"step creation (?:temporarily|still) disabled, retrying",),
        recovered_by=r"srun: Step created for|srun: error: Unable to create step for",
        recovery=("Step created for", "Unable to create step for"),
        causes=(
            Cause("steps-share", "script", "a step waits for what another step of the job holds", "give srun --overlap, or --exact with -n, -c and --mem for steps side by side", codes=("SB206", "SB815", "SB802"), script=_several_steps),
            Cause("prolog", "cluster", "the step cannot start yet: the node's prolog still runs, or the node does not answer", "ask the site where it lasts for minutes", log=says("Prolog", "onfigur")),
            Cause("steps-of-program", "submission", "a program starts more steps at once than fit into the job: since 20.11 each owns what it uses", "give its srun --overlap, or --exact and --mem", script=_one_step),
        ),
        matches="""\
srun: Job 9479148 step creation temporarily disabled, retrying (Requested nodes are busy)
srun: Job 71 step creation still disabled, retrying (Required node not available (down, drained or reserved))
""",
    ),
    Symptom(
        id="cpu-binding-outside",
        title="the CPUs to bind to do not belong to the step",
        docs="A step inside a step inherits SLURM_CPU_BIND, whose masks are those of the outer one; or a mask was written by hand for other nodes.\n",
        printed_by="slurmd, by way of srun",
        releases="src/plugins/task/affinity, 21.08 to 26.05",
        literals=("CPU binding outside of job step allocation", "Unable to satisfy cpu bind request", "Unable to layout tasks on given cpus"),
        patterns=(r"CPU binding outside of job step allocation", r": Unable to (?:satisfy cpu bind request|layout tasks on given cpus)"),
        causes=(
            Cause("written-mask", "script", "the mask of CPUs in the script does not fit the CPUs that the step has", "leave --cpu-bind to Slurm, or ask for whole nodes with --exclusive", script=lambda job, event: Shown(spans) if (spans := tuple(o.span for s in job.steps if (o := s.option("cpu-bind")) and o.text and ("map" in o.text or "mask" in o.text)) + assigned(job, "SLURM_CPU_BIND")) else None),
            Cause("inherited-binding", "submission", "the step inherits the CPU binding of the step or job around it", "unset SLURM_CPU_BIND, SLURM_CPU_BIND_LIST and SLURM_CPU_BIND_TYPE before srun, or give it --cpu-bind=none", codes=("SB615",)),
        ),
        matches="""\
srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x0003.
srun: error: Task launch for StepId=1932.2 failed on node node40: Unable to satisfy cpu bind request
srun: error: Application launch failed: Unable to layout tasks on given cpus
""",
    ),
    Symptom(
        id="prolog-failed",
        title="the prolog of the node failed",
        docs="The node is drained by it. The job is requeued, or held.\n",
        printed_by="srun, slurmd, slurmctld",
        releases="src/common/slurm_errno.c, src/slurmd/slurmd/req.c, all releases",
        literals=("Job prolog failed", "prolog failed", "Prolog hung", "prolog_error", "Prolog error", "Prolog failure", "task-prolog failed", "PrologSlurmctld"),
        patterns=(r": Job prolog failed", r"(?:srun|TaskProlog|task-prolog) ?prolog failed|--task-prolog failed status", r"[Pp]rolog (?:error|hung|failed|failure)"),
        causes=(
            Cause("task-prolog", "script", "the prolog that the script names failed", "look at that script, or leave the option out", script=lambda job, event: Shown(spans) if (spans := tuple(o.span for s in job.steps for n in ("prolog", "task-prolog") if (o := s.option(n)))) else RULED_OUT),
            Cause("prolog-of-node", "cluster", "a prolog of the site failed on the node", "submit again with --exclude of that node, and tell the site", unproven="certain"),
        ),
        matches="""\
srun: error: Task launch for StepId=12.0 failed on node gpu07: Job prolog failed
slurmstepd: error: --task-prolog failed status=1
slurmctld: error: Prolog hung on node gpu07
salloc: Prolog failure on node gpu07
""",
    ),
    Symptom(
        id="credential",
        title="the node rejects the controller's credential",
        docs="Clocks that differ, keys of munge that differ, or a step that starts long after it was made.\n",
        printed_by="srun, slurmd",
        releases="src/common/slurm_errno.c, all releases",
        literals=("ob credential", "uthentication credential", "Protocol authentication error", "unge encode failed", "unge decode failed", "Rewound credential", "Expired credential", "credential is in the future", "Unable to confirm credential"),
        patterns=(r"(?:Rewound|Expired) credential|credential is in the future", r"(?:Invalid job credential|Job credential (?:expired|revoked|replayed)|Error generating job credential)", r"(?:Invalid|Expired) authentication credential|Authentication credential expired|Protocol authentication error", r"[Mm]unge (?:en|de)code failed"),
        causes=(Cause("munge", "cluster", "the machines of the cluster do not trust each other: clocks or munge keys differ, or munged does not run", "tell the site, with the names of the nodes", unproven="certain"),),
        matches="""\
srun: error: Task launch for StepId=34.0 failed on node node4: Job credential expired
srun: error: Unable to create step for job 7: Error generating job credential
slurmd: error: Munge decode failed: Invalid credential
error: Munge decode: Rewound credential
sbatch: error: Batch job submission failed: Protocol authentication error
""",
    ),
    Symptom(
        id="log-not-opened",
        title="srun cannot open the file for its output",
        docs="srun opens the file of `--output` before the tasks run. From 23.02 on slurmstepd and srun make missing folders, where they may.\n",
        printed_by="srun, slurmstepd",
        releases="src/srun/libsrun/fname.c, src/slurmd/slurmstepd/io.c, all releases",
        literals=("Could not open stdout file", "Could not open stderr file", "Could not open output file", "Could not open error file", "Could not open stdin file", "IO setup failed"),
        patterns=(r"error: (?:\w+: )?Could not open (?P<which>\w+) file ?['`]?(?P<path>[^'`:]*)", r"error: (?:\w+: )?IO setup failed"),
        causes=(
            Cause("folder", "script", "the log {path} cannot be opened: its folder is not there, or may not be written", "make the folder before the job is submitted", codes=("SB701", "SB115", "SB703"), script=sets("output", "error", "input")),
            Cause("folder-elsewhere", "submission", "the log {path} cannot be opened: its folder is not there on the node, or may not be written", "submit from a folder that all nodes share and that you may write to"),
        ),
        matches="""\
srun: error: Could not open stdout file: No such file or directory
slurmstepd: error: Could not open stdout file /scratch/ada/logs/7.out: No such file or directory
slurmstepd: error: job_manager: IO setup failed: No such file or directory
slurmstepd: error: Could not open output file /data/slurm-7.out: Permission denied
""",
    ),
    Symptom(
        id="cpus-above-job",
        title="a step asks for more CPUs per task than the job has",
        docs="srun warns, and may wait forever.\n",
        printed_by="srun",
        releases="src/common/slurm_opt.c, 22.05 to 26.05",
        role="consequence",
        literals=("--cpus-per-task value exceeds that of job",),
        patterns=(r"Job step's --cpus-per-task value exceeds that of job \((?P<step>\d+) > (?P<job>\d+)\)",),
        causes=(
            Cause("cpus", "script", "srun asks for {step} CPUs for each task, and the job has {job}", "ask for as many in the directives", codes=("SB206", "SB804"), script=sets("cpus-per-task")),
            Cause("cpus-inherited", "submission", "srun asks for {step} CPUs for each task (SRUN_CPUS_PER_TASK?), and the job has {job}", "unset it, or ask for as many in the job"),
        ),
        matches="srun: Job step's --cpus-per-task value exceeds that of job (8 > 4). Job step may never run.\n",
    ),
    Symptom(
        id="task-illegal-instruction",
        title="a program uses instructions that the processor does not have",
        docs="It was built for newer processors (`-march=native` on the login node).\n",
        printed_by="srun, bash",
        literals=("llegal instruction", "llegal opcode", "processor support Intel"),
        patterns=(r"[Ii]llegal (?:instruction|opcode)(?! was encountered)|operating system and the processor support Intel",),
        causes=(Cause("architecture", "code", "the program was built for newer processors than those of the node", "build it on a node of that partition (without -march=native), or choose nodes with --constraint"), Cause("other-nodes", "submission", "the job got nodes of an older kind than those that the program was built for", "name the kind with --constraint or --partition"),),
        matches="""\
srun: error: node12: tasks 0-3: Illegal instruction (core dumped)
/var/spool/slurmd/job0012/slurm_script: line 12: 265387 Illegal instruction     (core dumped) ./solver in.dat
Error: illegal instruction, illegal opcode
Please verify that both the operating system and the processor support Intel(R) X87, CMOV, AVX512F instructions.
""",
    ),
    Symptom(
        id="first-task-exited",
        title="a task ended, and the others went on without it",
        docs="srun waits for the others, which may wait for the one that is gone. `--kill-on-bad-exit=1` ends them; `--wait=SECONDS` after a while.\n",
        printed_by="srun",
        releases="src/srun/libsrun/step_launch.c, all releases",
        role="consequence",
        literals=("First task exited",),
        patterns=(r"First task exited (?P<seconds>\d+)s ago",),
        causes=(
            Cause("survivors", "script", "one task ended early, and the others stayed until the step was ended", "find what ended the first one (its log stops first); --kill-on-bad-exit=1 ends the others at once", codes=("SB323",)),
            Cause("uneven", "code", "one task ended {seconds} seconds before the others", "find what ended it: its log stops first", unproven="possible"),
        ),
        matches="srun: First task exited 600s ago\n",
    ),
    Symptom(
        id="task-segfault",
        title="a program crashed",
        docs="Memory that is not its own: a bug, a library of a different release from the one the program was built with, or a stack that is too small (`ulimit -s unlimited` for Fortran). `Bus error` is also a full /dev/shm or a file that was cut short.\n",
        printed_by="srun, bash, the kernel's signals",
        role="consequence",
        literals=("Segmentation fault", "Bus error", "Floating point exception", "segfault at", "stack smashing detected", "Aborted (core", "Aborted     ", ": Aborted", "double free or corruption", "malloc(): ", "free(): invalid", "corrupted size vs"),
        patterns=(
            r"(?:tasks? [\d,-]+|line \d+: +\d+): (?P<signal>Segmentation fault|Bus error|Floating point exception|Aborted)",
            r"line \d+: +\d+ (?P<signal>Segmentation fault|Bus error|Floating point exception|Aborted)",
            r"^(?:\[[^\]]*\] )?(?:Fatal Python error: |\*\*\* Process received signal|Caught signal \d+ \(|(?:\[\w+\] ?)?Caught error: )?(?P<signal>Segmentation fault|Bus error|Floating point exception)",
            r"(?P<signal>stack smashing detected|double free or corruption|malloc\(\): [a-z ]+|free\(\): invalid \w+|corrupted size vs\. prev_size)",
        ),
        causes=(
            Cause("shared-memory", "script", "the program was ended by a bus error, as where /dev/shm of its container is full", "give the container a larger /dev/shm", codes=("SB511",), log=says("Bus error")),
            Cause("cut-short", "cluster", "the program was ended by a bus error: memory that it maps is not there, as /dev/shm is full, or a file system does not answer", "look at the size of /dev/shm, and whether the file systems of the node work; submit again with --exclude of that node", log=says("Bus error")),
            Cause("abort", "code", "the program ended itself ({signal})", "look at what it printed before", log=says("Aborted"), unproven="possible"),
            Cause("crash", "code", "the program crashed ({signal})", "look at what it printed last; a core file and `ulimit -c unlimited` tell where"),
        ),
        matches="""\
srun: error: node12: task 3: Segmentation fault (core dumped)
/var/spool/slurmd/job7/slurm_script: line 9:  4711 Segmentation fault      (core dumped) ./a.out
srun: error: n1: tasks 0-3: Bus error
Segmentation fault (core dumped)
Fatal Python error: Segmentation fault
*** stack smashing detected ***: terminated
double free or corruption (!prev)
./run.sh: line 4: 23 Aborted     ./a.out
""",
        others="# Segmentation faults were fixed in release 2\n",
    ),
    Symptom(
        id="srun-without-program",
        title="srun was given no program",
        docs="Its line is cut, a variable that holds the program is empty, or an option took the program for its value.\n",
        printed_by="srun",
        releases="src/srun/libsrun/opt.c, all releases",
        literals=("No command given to execute",),
        patterns=(r"srun: (?:fatal|error): No command given to execute",),
        causes=(
            Cause("words-broken", "script", "srun gets no program: a line is cut, or a variable is empty", "see the finding", codes=("SB411", "SB414", "SB419", "SB424", "SB425", "SB409", "SB337")),
            Cause("no-program", "script", "srun gets no program: its line is cut, or a variable is empty", "write the program on the same line, or end the line with a backslash", script=steps()),
        ),
        matches="srun: fatal: No command given to execute.\n",
    ),
    Symptom(
        id="srun-own-job",
        title="srun asked for a job of its own",
        docs="srun does so where it is not inside one: a batch script that is run by hand, and not by sbatch, is read by a shell for which `#SBATCH` lines are comments.\n",
        printed_by="srun",
        releases="src/api/allocate.c, all releases",
        role="warning",
        literals=("queued and waiting for resources", "has been allocated resources"),
        patterns=(r"^srun: job \d+ (?:queued and waiting for resources|has been allocated resources)",),
        causes=(
            Cause("by-hand", "submission", "the script was run by hand, and not by sbatch: its directives did not count, and each srun asked for a job of its own", "submit it with sbatch", script=_batch_script),
            Cause("outside", "submission", "srun was run outside a job", "run it in a batch script, or give it all options of the job"),
        ),
        matches="srun: job 22207 queued and waiting for resources\nsrun: job 22207 has been allocated resources\n",
        examples=(
            Example("srun: job 22207 queued and waiting for resources\n", "#!/bin/bash\n«#SBATCH --ntasks=4»\nsrun ./a.out\n", "by-hand"),
        ),
    ),
    Symptom(
        id="task-killed",
        title="a task was killed",
        docs="SIGKILL leaves no message of the program's own: the kernel out of memory, `scancel`, the end of the step, or srun after another task failed.\n",
        printed_by="srun, bash",
        tells_end=True,
        role="teardown",
        literals=("Killed", "Terminated", "Exited with exit code", "WTERMSIG", "SIGKILL", "illed by signal", "ed by signal"),
        patterns=(r"tasks? [\d,-]+: (?:Killed|Terminated)", r"Exited with exit code (?:137|143|130)\b", r"line \d+: +\d+ (?:Killed|Terminated)", r"^(?:Killed|Terminated)$", r"JobId=\d+ WTERMSIG 9\b", r"terminated (?:with|by) signal (?:SIGKILL|9\b)|died with <Signals\.SIGKILL|[Kk]illed by signal 9\b"),
        causes=(
            Cause("memory-of-script", "script", "a process was killed, and nothing in the log says why: usually the memory that the script asks for ran out", "ask for more with --mem where `sacct -j JOB --format=JobID,State,ExitCode,MaxRSS,ReqMem` shows that it ran out", script=sets_or_lacks(*MEMORY), log=_killed, unproven="possible"),
            Cause("memory", "submission", "a process was killed; nothing in the log says why (memory that ran out, or the end of its step)", "ask for more with --mem where `sacct -j JOB --format=JobID,State,ExitCode,MaxRSS,ReqMem` shows that it ran out", log=_killed, unproven="possible"),
            Cause("terminated", "submission", "a process was told to end (SIGTERM): by scancel, at the time limit, or by srun after another task failed", "look at the state of the job (sacct), and at what ended first", unproven="possible"),
        ),
        matches="""\
srun: error: node12: tasks 0-3: Killed
srun: error: node12: task 1: Terminated
srun: error: node12: task 1: Exited with exit code 143
/var/spool/slurmd/job7/slurm_script: line 9:  4711 Killed                  python train.py
Killed
_job_complete: JobId=127441 WTERMSIG 9
Exception: process 0 terminated with signal SIGKILL
""",
    ),
    Symptom(
        id="task-not-found",
        title="a command of a task was not found",
        docs="127 is the shell's status for a command that it does not find, 126 for one that it may not execute.\n",
        printed_by="srun",
        releases="src/srun/libsrun/launch.c, all releases",
        role="consequence",
        literals=("Exited with exit code",),
        patterns=(r"Exited with exit code (?P<code>127|126)\b",),
        causes=(
            Cause("own-words", "code", "a program ended with exit code {code}, and says above it why", "look at what it printed before", log=_says_why, unproven="possible"),
            Cause("command", "script", "a task's shell did not find its command, or may not execute it (exit code {code})", "load what provides it inside the job, or give its full path; chmod +x", script=steps(), log=lambda event: possible(_says_why(event) is False)),
            Cause("command-elsewhere", "submission", "a task's shell did not find its command, or may not execute it (exit code {code})", "load what provides it inside the job, or give its full path; chmod +x", log=lambda event: possible(_says_why(event) is False)),
        ),
        matches="srun: error: n1: task 0: Exited with exit code 127\n",
        others="srun: error: n1: task 0: Exited with exit code 1\n",
    ),
    Symptom(
        id="task-failed",
        title="a task ended with an error",
        docs="srun only reports the exit code of a program; the error is above, in the program's own words. 137 is SIGKILL (usually memory), 139 SIGSEGV, 134 SIGABRT, 143 SIGTERM.\n",
        printed_by="srun",
        releases="src/srun/libsrun/launch.c, all releases",
        tells_end=True,
        role="consequence",
        literals=("Exited with exit code", "DUE TO TASK FAILURE"),
        patterns=(r"Exited with exit code (?P<code>\d+)", r"DUE TO TASK FAILURE"),
        causes=(
            Cause("task", "code", "a task failed, and Slurm ended the step", "look at what that task printed before", log=says("TASK FAILURE"), unproven="possible"),
            Cause("last-command", "script", "a command that found nothing to do ended with an error, although the work went well", "see the finding", codes=("SB722", "SB720", "SB521")),
            Cause("crash", "code", "a program of the step crashed: exit code {code} is 128 and the number of a signal (134 it aborted itself, 135 bus error, 136 division or overflow, 139 segmentation fault)", "look at what it printed last; `ulimit -c unlimited` leaves a core file; for Fortran try `ulimit -s unlimited`", log=group_matches("code", "^13[4569]$")),
            Cause("program", "code", "a program of the step ended with exit code {code} and nothing in the log says why", "look at the task's own log, if --output sends it elsewhere", unproven="possible"),
        ),
        matches="srun: error: node12: tasks 0-3,7: Exited with exit code 1\nerror: *** STEP 7.0 ON n1 CANCELLED AT 2026-04-29T23:36:37 DUE TO TASK FAILURE ***\n",
    ),
    Symptom(
        id="step-ends",
        title="the step is being ended",
        docs="srun ends the other tasks after one failed, or after a signal.\n",
        printed_by="srun",
        releases="src/srun/libsrun, src/api/step_launch.c, all releases",
        role="teardown",
        literals=("Job step aborted", "Terminating StepId", "Terminating job step", "forcing job termination", "Force Terminated", "got SIGCONT", "sending Ctrl-C", "job abort in progress", "Timed out waiting for job step", "Job allocation ", "interrupt (one more", "Job has been cancelled", "*** STEP"),
        patterns=(r"srun: (?:error: )?(?:Job step aborted|Terminating (?:StepId|job step)|forcing job termination|Force Terminated|got SIGCONT|sending Ctrl-C|job abort in progress|Timed out waiting for job step|interrupt \(one more|Job has been cancelled)", r"(?:srun|salloc): (?:error: )?Job allocation \d+ has been revoked", r"\*\*\* STEP \S+ ON \S+ CANCELLED AT \S+ (?:DUE to SIGNAL .*)?\*\*\*"),
        matches="""\
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
srun: Terminating StepId=7.0
srun: Terminating job step 3495064.0
srun: forcing job termination
srun: error: Timed out waiting for job step to complete
salloc: Job allocation 71 has been revoked.
slurmstepd: error: *** STEP 3495064.0 ON node-01-01 CANCELLED AT 2021-10-27T19:35:36 ***
[2026-01-19T16:30:21.207] error: *** STEP 71.0 ON n1 CANCELLED AT 2026-01-19T16:30:21 DUE to SIGNAL Terminated ***
""",
    ),
    Symptom(
        id="launch-failed",
        title="Slurm could not start the tasks of a step",
        docs="The reason is after the last colon, or in the lines above: this one only says that it was so.\n",
        printed_by="srun",
        releases="src/srun/libsrun/launch.c, src/api/step_launch.c, all releases",
        role="consequence",
        literals=("Task launch for", "Application launch failed", "launch failed:", "aborted before step completely launched", "timeout waiting for task launch"),
        patterns=(r"Task launch for \S+ failed on node (?P<node>[^\s:]+): (?P<reason>.+)", r"Application launch failed: (?P<reason>.+)", r"error: task \d+ launch failed: (?P<reason>.+)", r"aborted before step completely launched|timeout waiting for task launch"),
        causes=(
            Cause("node", "cluster", "Slurm could not start the tasks on {node}: {reason}", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="""\
srun: error: Task launch for StepId=34.0 failed on node node4: Kill task failed
srun: error: Application launch failed: Invalid container id specified
srun: error: task 3 launch failed: Plugin initialization failed
srun: StepId=7.0 aborted before step completely launched.
""",
    ),
    Symptom(
        id="plugin-failed",
        title="a plugin of the site failed",
        docs="SPANK plugins (pyxis is one) add options to srun and work on the nodes. The error is in the lines above.\n",
        printed_by="srun, sbatch, slurmstepd",
        releases="src/common/spank.c, plugstack.c, all releases",
        role="consequence",
        literals=("required plugin ", "spank plugin stack", "spank_task_init", "plugin stack", "spank_user failed", "Plugin stack", "Plug-in initialization failed"),
        patterns=(r"spank: required plugin (?P<plugin>\S+?): ", r"error: (?:Failed to invoke spank plugin stack|spank_\w+ failed|Failure in local plugin stack|Failed to initialize plugin stack|Plugin stack (?:post-option processing|initialization) failed|Plug-in initialization failed)"),
        causes=(Cause("plugin", "cluster", "a plugin of the site failed ({plugin})", "look at the lines above, and ask the site", unproven="possible"),),
        matches="""\
slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1
slurmstepd: error: Failed to invoke spank plugin stack
slurmstepd: error: spank_task_init_privileged failed
srun: error: Plugin stack post-option processing failed
""",
    ),
    Symptom(
        id="plugin-missing",
        title="harmless: a SPANK plugin that the site lists is not there",
        docs="The site's plugstack.conf names an optional plugin that this machine lacks, often x11.so.\n",
        printed_by="srun, sbatch",
        releases="src/common/spank.c, all releases",
        role="harmless",
        literals=("Plugin file not found", "no SPANK plugin found"),
        patterns=(r"spank: \S+: Plugin file not found", r"no SPANK plugin found to process option"),
        matches="sbatch: error: spank: x11.so: Plugin file not found\nslurmstepd: no SPANK plugin found to process option \"foo\"\n",
    ),
)
