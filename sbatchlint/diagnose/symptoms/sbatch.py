"""sbatch, salloc and srun: what they refuse themselves, before the controller hears of it."""

import re

from sbatchlint.diagnose.clues import begins, matches, possible, says
from sbatchlint.diagnose.evidence import assigned, certainly, lacks, options, shown, spans_of, step_options
from sbatchlint.diagnose.questions import assigns, sets, submits
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.source.text import Span


def _named_option(job: Job, event: Event) -> Verdict:
    """The option that the message names, where the script gives it."""
    name = (event.groups.get("option") or "").lstrip("-").split("=")[0]
    if not name:
        return None
    named = [each for each in job.directives.settings if name in (each.name, each.written.lstrip("-"))]
    return certainly(job, spans_of(named) or step_options(job, name))


def _stray_word(job: Job, event: Event) -> Verdict:
    """The directives in which the word of the message stands, not as an option."""
    word = (event.groups.get("word") or "").strip()
    lines = [line for line in job.directives.lines if any(each.text == word for each in line.tokens)]
    return certainly(job, spans_of(lines)) if word else None


# The variables of the environment whose names are not those of their options.
_OPTIONS_OF = {"SLURM_MEM_PER_NODE": "mem", "SLURM_TASKS_PER_NODE": "ntasks-per-node", "SLURM_JOB_NUM_NODES": "nodes"}


def _excluded(event: Event) -> dict[str, str]:
    """The options that exclude each other, as a message names them: by themselves or by their variables."""
    names = re.findall(r"--([a-z][a-z-]+)|\b(S(?:LURM|BATCH|RUN)_[A-Z_]+[A-Z])", event.text)
    found = {}
    for option, variable in names:
        name = option or _OPTIONS_OF.get(variable) or variable.split("_", 1)[1].lower().replace("_", "-")
        found[name] = variable or f"--{option}"
    return found


def _places(job: Job, event: Event) -> dict[str, tuple[Span, ...]]:
    """Where the script sets each of these options: in directives, in an srun, or by the variable."""
    found = {}
    for name, written in _excluded(event).items():
        variable = written if written.startswith("S") else f"SLURM_{name.upper().replace('-', '_')}"
        places = options(job, name) + step_options(job, name) + assigned(job, variable)
        if places:
            found[name] = places
    return found


# Slurm found an MPI plugin, and the plugin could not begin.
_plugin_fails = matches(r"init\(\) callback failed|(?:can ?not|can't|unable to) load (?:pmix|PMIx)", above=3, below=2)


def _both(job: Job, event: Event) -> Verdict:
    """Two of the options that exclude each other stand in the script."""
    found = _places(job, event)
    if len(found) > 1:
        return Shown(tuple(span for spans in found.values() for span in spans))
    return RULED_OUT if _excluded(event) and job.directives.certain else None


def _one_of_them(job: Job, event: Event) -> Verdict:
    """One of the options that exclude each other is in the script; the other comes from elsewhere."""
    return shown(tuple(span for spans in _places(job, event).values() for span in spans))


def _raised_cpus(job: Job, event: Event) -> Verdict:
    """More memory for a CPU than the site allows makes Slurm raise the CPUs; the environment then has both numbers."""
    if lacks(job, "mem-per-cpu"):
        return RULED_OUT
    return shown(options(job, "mem-per-cpu", "cpus-per-task", "tres-per-task") + spans_of(job.steps))


def _of_pyxis(event: Event) -> bool | None:
    """The options that pyxis gives srun; Slurm's own is `--container`."""
    known = event.text.startswith("srun") and event.groups.get("option", "").startswith("--container-")
    return possible(known)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="script-not-opened",
        title="sbatch finds no script of that name",
        docs="The path is looked for in the folder where sbatch is called. An empty argument (`sbatch \"$EXTRA\" job.sh`) is taken for the name of the script too.\n",
        printed_by="sbatch",
        releases="src/sbatch/sbatch.c, 20.11 to 26.05",
        literals=("Unable to open file",),
        patterns=(r"sbatch: error: Unable to open file ?(?P<path>\S*)",),
        causes=(Cause("path", "submission", "sbatch finds no script of the name it was given ({path})", "give a path that exists there, and no empty argument before it", script=submits()),),
        matches="sbatch: error: Unable to open file train/job.sbatch\nsbatch: error: Unable to open file\n",
    ),
    Symptom(
        id="not-a-batch-script",
        title="sbatch does not recognise the file as a batch script",
        docs="The first line has to be `#!` and an interpreter; lines end with a newline alone; there is no NUL character (a file in UTF-16 has them); and there is something to run.\n",
        printed_by="sbatch",
        releases="src/sbatch/sbatch.c, 20.11 to 26.05",
        literals=("This does not look like a batch script", "contains DOS line breaks", "Batch script is empty", "contains only whitespace", "The Slurm controller does not allow scripts that"),
        patterns=(r"sbatch: error: (?:This does not look like a batch script|Batch script (?:contains DOS line breaks|is empty|contains only whitespace)|The Slurm controller does not allow scripts that)",),
        causes=(
            Cause("file-of-script", "script", "sbatch does not recognise the file as a batch script", "see the message: `#!/bin/bash` as the first line, Unix line breaks, UTF-8", codes=("SB002", "SB003", "SB004")),
            Cause("line-breaks", "script", "the script has line breaks of DOS (\\r\\n), as editors on Windows write them", "`dos2unix job.sh`, or `sed -i 's/\\r$//' job.sh`; keep git from changing them (.gitattributes)", log=lambda event: "DOS" in event.text),
            Cause("other-file", "submission", "sbatch does not recognise what it was given as a batch script", "give it a file whose first line is `#!/bin/bash`, or use --wrap", unproven="certain"),
        ),
        matches="""\
sbatch: error: This does not look like a batch script.  The first
sbatch: error: Batch script contains DOS line breaks (\\r\\n)
sbatch: error: Batch script is empty!
sbatch: error: The Slurm controller does not allow scripts that
""",
    ),
    Symptom(
        id="stray-word",
        title="a word in a directive is neither an option nor a value",
        docs="sbatch refuses the script at the first such word: of a value with a space that is not quoted, beside a space next to `=`, in a placeholder that was left, or of a comment without its `#`.\n",
        printed_by="sbatch",
        releases="`get_argument()` and its caller in src/sbatch/opt.c, 20.11 to 26.05",
        literals=("Invalid directive found",),
        patterns=(r"sbatch: error: Invalid directive found in batch script: *(?P<word>.*)",),
        causes=(
            Cause("word-of-script", "script", "{word} stands alone in a directive: sbatch takes it neither for an option nor for the value of one", "quote a value with spaces, write no space next to `=`, and `#` before a comment", codes=("SB104", "SB108", "SB118", "SB102", "SB005"), script=_stray_word),
            Cause("word-of-call", "submission", "{word} stands alone in a directive of the script that was submitted, which is another one or was made by a program", "look at what calls sbatch, and at the script that it hands over", script=submits()),
        ),
        examples=(
            Example(
                "sbatch: error: Invalid directive found in batch script: Job\n",
                "#!/bin/bash\n#SBATCH -N1\n«#SBATCH --job-name=My Job»\nsrun ./a.out\n",
                "word-of-script",
            ),
            Example(
                "sbatch: error: Invalid directive found in batch script: 2\n",
                "#!/bin/bash\n«#SBATCH --nodes = 2»\nsrun ./a.out\n",
                "word-of-script",
            ),
        ),
        matches="sbatch: error: Invalid directive found in batch script: gpu\n",
        others="sbatch: error: Unable to open file job.sh\n",
    ),
    Symptom(
        id="unknown-option",
        title="an option is unknown, or used in the wrong way",
        docs="getopt prints it for sbatch, salloc and srun: an option of another release, of another command, misspelled, or with a value where none belongs.\n",
        printed_by="sbatch, salloc, srun",
        releases="getopt_long of the C library; `--workdir` is `--chdir` since 17.11",
        literals=("unrecognized option", "invalid option -- ", "is ambiguous", "requires an argument", "allow an argument"),
        patterns=(
            r"(?:sbatch|srun|salloc): (?:unrecognized|invalid) option (?:-- )?['‘](?P<option>[^'’]+)",
            r"(?:sbatch|srun|salloc): option ['‘](?P<option>[^'’]+)['’] (?:is ambiguous|requires an argument|doesn.t allow an argument)",
            r"(?:sbatch|srun|salloc): option requires an argument -- ['‘](?P<option>[^'’]+)",
        ),
        causes=(
            Cause("option-of-script", "script", "{option} is not an option that this release accepts there", "write it as the release knows it, or leave it out", codes=("SB111", "SB112", "SB113", "SB114", "SB119", "SB120", "SB501", "SB519", "SB109", "SB130", "SB005", "SB102", "SB117"), script=_named_option, log=lambda event: possible(_of_pyxis(event) is False)),
            Cause("of-pyxis", "cluster", "{option} is an option of pyxis, which Slurm does not load here", "ask the site for pyxis (plugstack.conf), or run on nodes that have it", log=_of_pyxis),
            Cause("of-open-mpi", "code", "an Open MPI before 4.0.2 starts its daemons by srun with {option}, which only Slurm 19.05.0 does not accept", "ask the site for a later release of Slurm, take a later Open MPI, or start the program with srun", log=begins("option", "--cpu_bind")),
            Cause("option-of-call", "submission", "the command line had {option}, which this release does not accept there", "look at what calls sbatch or srun", script=submits()),
        ),
        examples=(
            Example("srun: unrecognized option '--container-image'\n", "#!/bin/bash\nsrun --container-image=x.sqsh ./a.out\n", "of-pyxis", "likely"),
            Example(
                "sbatch: unrecognized option '--chdir=/data'\n",
                "#!/bin/bash\n#SBATCH --err=log\n«#SBATCH --chdir=/data»\nsrun ./a.out\n",
                "option-of-script",
            ),
        ),
        matches="""\
sbatch: unrecognized option '--workdir=/scratch/x'
srun: invalid option -- 'z'
sbatch: option '--exclusive-user' is ambiguous; possibilities: '--exclusive' '--exclude'
srun: option '--label' doesn't allow an argument
sbatch: option requires an argument -- 'p'
""",
        others="train.py: error: unrecognized option '--lr'\n",
    ),
    Symptom(
        id="invalid-option-value",
        title="an option has a value that Slurm does not accept",
        docs="The message names the option. Where the script does not have it, something between the user and sbatch changed the words: a wrapper that loses quotes, a generator, the environment (`SBATCH_…`).\n",
        printed_by="sbatch, salloc, srun",
        releases="src/common/slurm_opt.c, proc_args.c, 20.11 to 26.05",
        literals=("Invalid --", "Invalid argument: ", "invalid number of ", "Invalid numeric value", "specification invalid", "Invalid signal name", "unrecognized --", "is not valid."),
        patterns=(
            r"(?:^|sbatch: |srun: |salloc: )(?:error: |fatal: )?Invalid (?P<option>--[\w-]+) (?:specification|argument|value|node file|combo)",
            r"(?:sbatch|srun|salloc): (?:error|fatal): (?:invalid number of \w+|Invalid numeric value|Invalid argument: |Invalid signal name|Invalid -W)",
            r"(?:sbatch|srun|salloc): (?:error|fatal): (?:unrecognized )?(?P<option>--[\w-]+)(?:=\S+)? (?:argument \"|is not valid\.)",
        ),
        causes=(
            Cause("value-of-script", "script", "Slurm rejects the value that the script gives to {option}", "write it as sbatch(1) has it", codes=("SB105", "SB106", "SB107", "SB108", "SB121", "SB123", "SB125", "SB127", "SB128", "SB130", "SB115", "SB118", "SB005", "SB122", "SB132"), script=_named_option),
            Cause("value-of-call", "submission", "{option} got a value that Slurm does not accept, and not from the script", "look at what calls sbatch: a wrapper, a generator, quotes that were lost", script=submits()),
        ),
        matches="""\
sbatch: error: Invalid --exclusive specification
Invalid --distribution specification
sbatch: error: Invalid --time specification
srun: error: invalid number of tasks (-n four)
sbatch: error: Invalid numeric value "abc" for --cpus-per-task.
srun: error: unrecognized --cpu-bind argument "coress"
sbatch: error: --propagate=LOTS is not valid.
""",
        others="  --exclusive            Invalid --exclusive values are refused\n",
    ),
    Symptom(
        id="memory-options-exclusive",
        title="memory is asked for in two ways",
        docs="Only one of `--mem`, `--mem-per-cpu` and `--mem-per-gpu` may be given; none of them is the memory of a GPU. With the names of variables the message is about the environment: a job that is submitted from inside another one inherits its request.\n",
        printed_by="sbatch, salloc, srun",
        releases="src/common/slurm_opt.c, 20.11 to 26.05",
        literals=("are mutually exclusive",),
        patterns=(r"(?:SLURM_MEM_PER_CPU|--mem), (?:SLURM_MEM_PER_GPU|--mem-per-cpu), and \S+ are mutually exclusive",),
        causes=(
            Cause("inherited", "submission", "the environment has the memory request of an outer job beside that of this one", "unset SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE before submitting from inside a job", codes=("SB615",), script=_one_of_them, log=says("SLURM_MEM")),
            Cause("two-options", "script", "the script asks for memory in two ways", "keep one of --mem, --mem-per-cpu and --mem-per-gpu", codes=("SB202", "SB220"), script=_both),
            Cause("command-line", "submission", "the submission asks for memory in two ways: in the script and on the command line, or through SBATCH_MEM_PER_…", "keep one of them", script=submits("mem", "mem-per-cpu", "mem-per-gpu")),
        ),
        matches="""\
sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.
srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.
""",
    ),
    Symptom(
        id="cpus-per-task-conflict",
        title="the environment has two numbers of CPUs per task",
        docs="A script that sets SLURM_CPUS_PER_TASK leaves the job's number in SLURM_TRES_PER_TASK, and srun stops. So does `--mem-per-cpu` above the site's MaxMemPerCPU, which makes Slurm raise the CPUs of a task, in the first of the two variables only.\n",
        printed_by="srun",
        releases="src/common/slurm_opt.c: `cpu:N` in 23.11, `cpu=N` from 24.05 on",
        literals=("set by two different environment variables",),
        patterns=(r"set by two different environment variables (?P<one>\w+)=(?P<number>\d+) != SLURM_TRES_PER_TASK",),
        causes=(
            Cause("set-in-script", "script", "the script sets SLURM_CPUS_PER_TASK, and SLURM_TRES_PER_TASK still has the job's number", "give srun --cpus-per-task instead, or set a variable of another name", codes=("SB819",), script=assigns("SLURM_CPUS_PER_TASK", "SLURM_TRES_PER_TASK", confidence="certain")),
            Cause("raised-cpus", "script", "the memory for each CPU is above what the site allows, so Slurm raised the CPUs of a task, and srun finds two numbers", "ask for --mem instead of --mem-per-cpu, or add `unset SLURM_TRES_PER_TASK` before srun", script=_raised_cpus),
            Cause("inherited", "submission", "the job was submitted from inside another one: {one}={number} is that one's, and was passed on with the environment", "submit from a shell outside jobs, or unset the variables that begin with SLURM_ before sbatch; in the script, `unset {one}` before srun", codes=("SB615", "SB220")),
        ),
        matches="srun: fatal: cpus_per_task set by two different environment variables SLURM_CPUS_PER_TASK=4 != SLURM_TRES_PER_TASK=cpu=1\n",
        examples=(
            Example(
                "srun: fatal: cpus_per_task set by two different environment variables SLURM_CPUS_PER_TASK=8 != SLURM_TRES_PER_TASK=cpu=4\n",
                "#!/bin/bash\n#SBATCH -n 1 --cpus-per-task=4\nexport SLURM_CPUS_PER_TASK=«8»\n«srun ./a.out»\n",
                "set-in-script",
            ),
        ),
    ),
    Symptom(
        id="exclusive-options",
        title="two options exclude each other",
        docs="They may come from the script, from the command line, or from the environment of an outer job.\n",
        printed_by="sbatch, salloc, srun",
        releases="src/common/slurm_opt.c, src/srun/libsrun/opt.c, 20.11 to 26.05",
        literals=("mutually exclusive", "incompatible with", "Inconsistent values set", "please use one or the other", "overlaps with excluded", "Are required nodes explicitly excluded"),
        patterns=(
            r"(?:sbatch|srun|salloc): (?:error|fatal): (?P<option>--[\w-]+)\S*(?: |, ).*(?:mutually exclusive|incompatible with)",
            r"(?:sbatch|srun|salloc): (?:error|fatal): .*(?:mutually exclusive|Inconsistent values set|please use one or the other|overlaps with excluded|Are required nodes explicitly excluded)",
        ),
        causes=(
            Cause("options-of-script", "script", "options of the script exclude each other", "keep one of them", codes=("SB202", "SB205", "SB220"), script=_both),
            Cause("inherited", "submission", "options exclude each other, and one of them comes from the environment of an outer job or from the command line", "unset the SLURM_… variable, or keep one of the options", script=_one_of_them),
        ),
        matches="""\
sbatch: fatal: --gpus-per-node and --gres=gpu are mutually exclusive.
srun: error: --exclusive and --overlap are mutually exclusive
srun: fatal: SLURM_NTASKS_PER_NODE is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU
sbatch: error: Requested nodelist node[1-4] overlaps with excluded node2.
""",
    ),
    Symptom(
        id="script-arguments-with-wrap",
        title="--wrap and a script were both given",
        docs="`--wrap=COMMAND` takes one word; without quotes the rest of the command is taken for a script and its arguments.\n",
        printed_by="sbatch",
        releases="src/sbatch/opt.c, 20.11 to 26.05",
        literals=("Script arguments not permitted",),
        patterns=(r"sbatch: error: Script arguments not permitted with (?:the )?--wrap",),
        causes=(Cause("quotes", "submission", "--wrap got one word of a command, and the rest is taken for a script", "put the whole command into quotes: --wrap='python train.py'", script=submits("wrap"), unproven="certain"),),
        matches="sbatch: error: Script arguments not permitted with --wrap option\n",
    ),
    Symptom(
        id="script-too-big",
        title="the script is larger than Slurm accepts",
        docs="max_script_size is 4 MB unless the site changed it.\n",
        printed_by="sbatch, slurmctld",
        releases="src/sbatch/sbatch.c, 20.11 to 26.05",
        literals=("is too big, read", "is too large", "Pathname of a file, directory or other parameter too long"),
        patterns=(r"fatal: Script (?:from STDIN|file|\S+) \S* ?is too (?:big|large)", r"fatal: Script \S+ is too big", r": Pathname of a file, directory or other parameter too long"),
        causes=(Cause("size", "submission", "the script, or its environment, is larger than Slurm accepts", "keep data in files beside the script; submit with --export=NONE where the environment is huge, and write `unset SLURM_EXPORT_ENV` before srun", unproven="certain"),),
        matches="""\
sbatch: fatal: Script file /home/ada/gen.sh is too large
sbatch: fatal: Script gen.sh is too big, read 4194305 > 4194304 bytes.
sbatch: error: Batch job submission failed: Pathname of a file, directory or other parameter too long
""",
    ),
    Symptom(
        id="host-file",
        title="the file of hosts does not fit the step",
        docs="`--distribution=arbitrary` and SLURM_HOSTFILE need one line for each task.\n",
        printed_by="srun, sbatch",
        releases="src/common/slurm_opt.c, 20.11 to 26.05",
        literals=("Slurm Hostfile", "NodeNames from hostfile", "tasks in hostfile", "Asked for more tasks", "of hostfile", "Invalid node list", "Invalid hostlist", "Hostlist is empty"),
        patterns=(r"error: (?:Too few NodeNames in Slurm Hostfile|Not enough tasks in hostfile|Asked for more tasks \(\d+\) than have in nodelist|Failure getting NodeNames from hostfile|Line \d+, of hostfile)", r"(?:error|fatal): Invalid (?:node list|hostlist)", r"error: Hostlist is empty"),
        causes=(
            Cause("nodes-of-script", "script", "the list of nodes that the script gives cannot be read, or has too few names", "write names of the job's nodes, one for each task", script=sets("nodelist", "nodefile", "exclude", "distribution")),
            Cause("nodes", "submission", "the list of nodes cannot be read, or has too few names", "look at --nodelist, SLURM_HOSTFILE and what made them"),
        ),
        matches="""\
srun: error: Too few NodeNames in Slurm Hostfile
srun: fatal: Invalid node list specified
srun: error: Hostlist is empty!  Can't run job.
""",
    ),
    Symptom(
        id="tasks-per-node-not-honoured",
        title="srun ignores --ntasks-per-node",
        docs="srun's number of tasks is not the nodes times `--ntasks-per-node` of the job; it says so and spreads them as it likes. The step runs.\n",
        printed_by="srun",
        releases="src/srun/libsrun/opt.c; `Warning:` up to 22.05, `warning:` from 23.02 on",
        role="warning",
        literals=("honor --ntasks-per-node",),
        patterns=(r"can't honor --ntasks-per-node set to (?P<per_node>\d+) which doesn't match the requested tasks (?P<tasks>\d+)",),
        causes=(
            Cause("task-count", "script", "srun starts {tasks} tasks, which are not {per_node} on each node, and ignores --ntasks-per-node", "make -n the nodes times --ntasks-per-node: `srun -n $SLURM_JOB_NUM_NODES --ntasks-per-node=1`", codes=("SB203", "SB302", "SB206"), script=lambda job, event: Shown(options(job, "ntasks-per-node") + step_options(job, "ntasks", "ntasks-per-node"))),
        ),
        matches="""\
srun: warning: can't honor --ntasks-per-node set to 40 which doesn't match the requested tasks 90 with the maximum number of requested nodes 3. Ignoring --ntasks-per-node.
srun: Warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 2 with the number of requested nodes 1. Ignoring --ntasks-per-node.
""",
    ),
    Symptom(
        id="fewer-tasks-than-nodes",
        title="fewer tasks than nodes: some nodes stay idle",
        docs="A step cannot have more nodes than tasks.\n",
        printed_by="srun, sbatch",
        releases="src/srun/libsrun/opt.c; `Warning:` up to 22.05, `warning:` from 23.02 on",
        role="warning",
        literals=("setting nnodes to",),
        patterns=(r"can't run (?P<tasks>\d+) processes on (?P<nodes>\d+) nodes, setting nnodes to",),
        causes=(
            Cause("tasks", "script", "{tasks} tasks cannot run on {nodes} nodes, so the step gets fewer nodes", "start at least one task for each node, or ask for fewer nodes", codes=("SB204", "SB203", "SB206"), script=lambda job, event: Shown(step_options(job, "ntasks", "nodes")) if job.steps else None),
        ),
        matches="srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n",
    ),
    Symptom(
        id="mpi-type-unknown",
        title="Slurm has no such MPI plugin",
        docs="`srun --mpi=list` lists those of this installation. Without PMIx in it, Open MPI 5 cannot be started by srun; mpirun can.\n",
        printed_by="srun, slurmstepd",
        releases="src/interfaces/mpi.c up to 25.11, src/srun/srun_job.c of 26.05: `Invalid MPI type`; plugin errors of the loader in all releases",
        literals=("Invalid MPI type", "--mpi=list for acceptable types", "mpi plugin", "mpi context", "plugin name for mpi", "MPI plugin", "load pmix", "load PMIx"),
        patterns=(r"Invalid MPI type '?(?P<type>[^',]*)", r"(?:cannot find|Couldn't find the specified) (?:mpi )?plugin (?:name )?for (?P<type>mpi/\w+)", r"error: (?:Couldn't load|cannot create) .*(?P<type>mpi/\w+)", r"(?:^|: )Invalid MPI plugin name", r"MPI plugin's pre-launch setup failed", r"mpi/pmix: \w+: .*(?:cannot|can.t|unable to) load pmix", r"mpi/pmix\w*: .*can not load PMIx"),
        causes=(
            Cause("plugin-broken", "cluster", "Slurm has this MPI plugin, and cannot load what it needs on that machine: its PMIx library is gone, or of another release", "tell the site; until then take another one of `srun --mpi=list`, or start with mpirun", log=_plugin_fails),
            Cause("mpi-of-script", "script", "this Slurm has no MPI plugin by the name that the script gives", "take one that `srun --mpi=list` lists, or start with mpirun", codes=("SB120", "SB130"), script=lambda job, event: RULED_OUT if _plugin_fails(event) is None else Shown(spans) if (spans := step_options(job, "mpi")) else None),
            Cause("mpi-of-site", "cluster", "this Slurm has no such MPI plugin, or cannot load it on that node", "ask the site for PMIx, or start with mpirun"),
        ),
        matches="""\
srun: error: Invalid MPI type 'pmix_v5', --mpi=list for acceptable types
srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files
srun: error: cannot find mpi plugin for mpi/pmix
slurmstepd: error: mpi/pmix: load_pmix: unable to load pmix library
srun: error: cannot create mpi context for mpi/pmix
srun: error:  mpi/pmix_v3: init: (null) [0]: mpi_pmix.c:139: pmi/pmix: can not load PMIx library
srun: error: Application launch failed: Invalid MPI plugin name
srun: error: Unable to create step for job 7: MPI plugin's pre-launch setup failed
""",
    ),
    Symptom(
        id="multi-prog-file",
        title="the file of --multi-prog is wrong",
        docs="Every task of the step needs a line in it: `0-3 ./a.out`, `* ./b.out`.\n",
        printed_by="srun",
        releases="src/srun/libsrun/multi_prog.c, 20.11 to 26.05",
        literals=("multi_prog config file", "of configuration file", "configuration for task", "configuration file not specified", "no command for task id"),
        patterns=(r"error: (?:Could not (?:open|stat)|Error reading) multi_prog config file", r"error: Line \d+ of configuration file \S+ (?:is )?invalid", r"error: Line \d+ of configuration file [^ ,]+, program", r"error: (?:_?\w+: )?no command for task id", r"error: configuration file not specified"),
        causes=(
            Cause("file", "script", "the file of --multi-prog is not there, not right, or has no line for a task of the step", "write a line for every task, and programs by their full path", script=lambda job, event: Shown(spans, None, "likely") if (spans := step_options(job, "multi-prog")) else None),
            Cause("file-of-call", "submission", "the file of --multi-prog is not there, not right, or has no line for a task of the step", "write a line for every task, and programs by their full path"),
        ),
        matches="""\
srun: error: Could not open multi_prog config file tasks.conf
srun: error: Line 3 of configuration file tasks.conf is invalid
srun: error: Line 3 of configuration file tasks.conf, program ./x not executable
slurmstepd: error: _handle_task: no command for task id 7
srun: error: configuration file not specified
""",
    ),
)
