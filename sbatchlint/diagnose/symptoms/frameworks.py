"""Lightning, accelerate, DeepSpeed, Megatron-LM and their like: worlds that do not fit the job."""

from sbatchlint.bash.values import Phase
from sbatchlint.diagnose.clues import begins, group_matches, number, possible, says, says_not
from sbatchlint.diagnose.evidence import TASKS, assigned, options, shown, spans_of, step_options
from sbatchlint.diagnose.questions import requests
from sbatchlint.diagnose.subjects import working
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.launchers import python_of
from sbatchlint.job.programs import commands_named
from sbatchlint.job.worlds import find_worlds


def _starts_it(job: Job, event: Event) -> Verdict:
    """The commands that start the program, which the script gives no such variable."""
    spans = spans_of([each for _, each in working(job)])
    return shown(spans[-2:]) if event.groups.get("name", "") not in job.source.text else None


def _unlaunched(job: Job, event: Event) -> Verdict:
    """Programs of steps, or of the batch shell, that no launcher starts."""
    return shown(tuple(world.span for world in find_worlds(job) if world.launch is None) or spans_of(job.steps)[-1:])


def _plain_programs(job: Job, event: Event) -> Verdict:
    """Programs that are not started by a launcher: their steps, and the option that says how many tasks there are."""
    found = tuple(world.span for world in find_worlds(job) if world.launch is None)
    found = found or tuple(each.span for each in job.steps if not job.launches)
    return Shown(options(job, "nodes", "ntasks", "ntasks-per-node") + found) if found else None


def _fewer_tasks(job: Job, event: Event) -> Verdict:
    """Steps that certainly start fewer tasks than the log says that the program waits for, and the options for tasks."""
    size = number(event, "size")
    small = [step for step in job.steps if step.tasks is not None and size is not None and step.tasks < size]
    if not small or len(small) < len(job.steps):
        return None
    spans = options(job, *TASKS) + step_options(job, *TASKS) + spans_of(small)
    return Shown(spans, f"the step starts {small[0].tasks or 0} of the {size} tasks for which the program waits")


def _gpu_options(job: Job, event: Event) -> Verdict:
    names = ("gres", "gpus", "gpus-per-node", "gpus-per-task", "gpu-bind", "ntasks-per-gpu")
    return shown(options(job, *names) + step_options(job, *names))


def _more_workers(event: Event) -> bool | None:
    """More processes joined than the world has: every task starts all of them."""
    workers, world = number(event, "workers"), number(event, "world")
    return possible(workers is not None and world is not None and workers > world)


def _fewer_workers(event: Event) -> bool | None:
    workers, world = number(event, "workers"), number(event, "world")
    return possible(workers is not None and world is not None and workers < world)


def _in_batch_shell(job: Job, event: Event) -> Verdict:
    found = tuple(world.span for world in find_worlds(job) if world.in_batch_shell)
    if found or job.steps or job.launches:
        return shown(found, "certain") or RULED_OUT
    # the log shows that the program is one of several ranks, which its name need not
    programs = [each for _, each in working(job) if each.phase is Phase.BATCH and python_of(each) is not None]
    return shown(spans_of(programs)) or RULED_OUT


def _devices_named(job: Job, event: Event) -> Verdict:
    """`--include` of deepspeed, or CUDA_VISIBLE_DEVICES, with numbers of the node."""
    prefixes = ("--include", "--exclude", "-i", "-e")
    started = commands_named(job, "deepspeed")
    named = spans_of(each for each in started if any(word.startswith(prefixes) for word in each.words[1:]))
    return shown(named + assigned(job, "CUDA_VISIBLE_DEVICES"), "certain")


_WORLD = ("SB301", "SB303", "SB304", "SB310", "SB311", "SB312", "SB313", "SB317", "SB324", "SB203", "SB302")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="variable-wanted",
        title="the program needs an environment variable",
        docs="The program looks at a variable when it starts, and ends where it is not set, or has a value that does not suit its settings. It has to be exported before the step, and a container has to get it.\n",
        printed_by="Megatron-LM, Python",
        releases="Megatron-LM (arguments.py): `requires setting the environment variable` 2.0 on, `require` from core 0.11 on, `FSDP always requires` core 0.9 and later",
        near_end=400,
        literals=("environment variable", "CUDA_DEVICE_MAX_CONNECTIONS", "environ"),
        patterns=(
            r"requires? (?:setting )?(?:the )?(?:environment variable )?(?P<name>CUDA_DEVICE_MAX_CONNECTIONS)(?: to (?P<value>\S+)| value)?",
            r"(?:Error|Exception): .*requires? (?:setting )?(?:the )?environment variable [`'\"]?(?P<name>[A-Z][A-Z0-9_]+)",
            r"(?:Error|Exception|ERROR|error): .*environment variable [`'\"]?(?P<name>[A-Z][A-Z0-9_]+)[`'\"]? (?:is )?(?:not (?:set|defined|found)|unset|missing|must be|has to be|needs to be)",
            r"(?:Error|Exception|ERROR|error): .*(?:[Pp]lease|must|need to) (?:set|export|define) (?:the )?(?:environment variable )?[`'\"$]?(?P<name>[A-Z][A-Z0-9]*_[A-Z0-9_]+)",
        ),
        causes=(
            Cause("setting-of-script", "script", "{name} does not suit what the script starts", "see the finding", codes=("SB327",), log=says("CUDA_DEVICE_MAX_CONNECTIONS")),
            Cause("not-handed-over", "script", "{name} is set in the script, but not for the program", "export it before the step, and pass it to the container", codes=("SB408", "SB508", "SB506", "SB513", "SB517", "SB609", "SB401"), script=lambda job, event: shown(assigned(job, event.groups.get("name", "")))),
            Cause("not-set", "script", "the program needs {name}, which the script does not set", "export it before the step that starts the program, and pass it to the container", script=_starts_it),
            Cause("not-given", "submission", "the program needs {name}, which nothing sets", "export it in the script, and pass it to the container"),
        ),
        matches="""\
AssertionError: Using async gradient all reduce requires setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1
AssertionError: Using tensor model parallelism or context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1
AssertionError: FSDP always requires CUDA_DEVICE_MAX_CONNECTIONS value large than one
RuntimeError: This backend requires setting the environment variable LAB_MODE
ValueError: The environment variable DATA_ROOT is not set
ValueError: Please set the environment variable MODEL_DIR
""",
        others="the environment variable OMP_NUM_THREADS is not set, using 1\n",
        examples=(
            Example(
                "AssertionError: Using sequence parallelism requires setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1\n",
                "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=h100:8\n«srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-id=1 --rdzv-backend=c10d --rdzv-endpoint=$E pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 4»\n",
                "setting-of-script",
            ),
        ),
    ),
    Symptom(
        id="launcher-wanted",
        title="the program has to be started by a launcher",
        docs="It looks for RANK or WORLD_SIZE, which torchrun, mpirun or accelerate set for each process, and does not know the variables that srun sets (SLURM_PROCID, SLURM_NTASKS).\n",
        printed_by="Python programs, launchers",
        near_end=400,
        literals=("torchrun", "torch.distributed", "mpirun", "mpiexec", "accelerate launch", "deepspeed"),
        patterns=(
            r"(?:must|should|has to|needs? to|can only|have to) be (?:launched|run|started|executed|called) (?:with|using|by|via|through|under) [`'\"]?(?P<program>torchrun|torch\.distributed\S*|python -m torch\S+|mpirun|mpiexec|accelerate launch|deepspeed)",
            r"(?i)please (?:run|use|launch|start)(?: it| this| the script)?(?: with| using| via)?:? [`'\"]?(?P<program>torchrun|python -m torch\.distributed\S*|mpirun|mpiexec|accelerate launch|deepspeed)\b",
        ),
        causes=(
            Cause("no-launcher", "script", "the script starts the program without {program}, and srun does not set the variables by which it knows its rank", "start it with {program}, or set RANK from SLURM_PROCID, LOCAL_RANK from SLURM_LOCALID and WORLD_SIZE from SLURM_NTASKS in each task", codes=("SB333", "SB311", "SB312"), script=_unlaunched),
            Cause("no-launcher-given", "submission", "the program was started without {program}", "start it with {program}, or set RANK, LOCAL_RANK and WORLD_SIZE"),
        ),
        matches="""\
This script must be launched with torchrun. Please run: torchrun --nproc_per_node N script.py
ERROR: please run with torchrun
RuntimeError: this test has to be run with mpirun -n 2
""",
        others="launched with torchrun on 8 processes\n",
    ),
    Symptom(
        id="submitit-signal",
        title="submitit was told that the job will end",
        docs="Slurm sends the signal that `--signal` names, before the time limit and where the job is preempted; submitit tells them apart by the time that is left, and submits or requeues the job where it may.\n",
        printed_by="submitit (core/job_environment.py)",
        releases="1.0 and later",
        role="consequence",
        literals=("this job is timed-out", "this job is preempted"),
        patterns=(r"Caught signal (?P<signal>\S+) on \S+: this job is (?P<why>timed-out|preempted)",),
        causes=(
            Cause("time", "submission", "the time that submitit gave the job is up", "set timeout_min higher, or write a checkpoint method that continues", log=begins("why", "timed-out")),
            Cause("preempted", "cluster", "the job is preempted, or requeued at its time limit", "look at `sacct -D -j JOB`; write a checkpoint method that continues", log=begins("why", "preempted")),
        ),
        matches="submitit WARNING (2022-08-12 02:06:11,453) - Caught signal SIGUSR2 on n1: this job is preempted.\n",
    ),
    Symptom(
        id="lightning-members",
        title="Lightning waits for ranks that nothing starts",
        docs="""\
Each rank prints `GLOBAL_RANK: 2, MEMBER: 3/8` once, and training begins when all are there. The first line alone: the program is not
under srun, or NODE_RANK is set. Every rank several times: one task per node where Lightning needs one per GPU.
""",
        printed_by="Lightning",
        releases="`initializing ddp: GLOBAL_RANK` up to 1.5, `Initializing distributed: GLOBAL_RANK` 1.6 and later",
        role="warning",
        literals=("GLOBAL_RANK: ",),
        patterns=(r"GLOBAL_RANK: 0, MEMBER: 1/(?P<size>[2-9]|\d\d+)",),
        causes=(
            Cause("tasks-per-node", "script", "srun starts one task per node, and Lightning needs one for each GPU: both nodes number their ranks alike", "add --ntasks-per-node with the number of GPUs of a node", codes=("SB311", "SB302"), script=_plain_programs, log=lambda event: possible(event.count > 1)),
            Cause("fewer-tasks", "script", "the step starts fewer tasks than the {size} for which the program waits", "let --ntasks be the number of nodes times --ntasks-per-node, or leave it out", codes=("SB302",), script=_fewer_tasks),
            Cause("alone", "script", "one process was started, and it waits for {size}", "start it with srun, one task for each GPU", codes=("SB312", "SB311"), script=_in_batch_shell),
            Cause("inherited-rank", "cluster", "the environment has a rank of its own (NODE_RANK, LOCAL_RANK), so Lightning starts no further processes", "unset NODE_RANK and LOCAL_RANK before it", log=lambda event: None if event.count == 1 and len(event.below) < 6 else False),
        ),
        matches="initializing ddp: GLOBAL_RANK: 0, MEMBER: 1/8\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/16\n",
        others="Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/1\nInitializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8\n",
    ),
    Symptom(
        id="lightning-slurm-mismatch",
        title="Lightning and Slurm disagree on nodes or tasks",
        docs="Under Slurm, Lightning needs `--nodes` as its num_nodes and `--ntasks-per-node` as its devices; `--ntasks` alone it does not take.\n",
        printed_by="Lightning (plugins/environments/slurm.py)",
        releases="Lightning 2.0 and later",
        literals=("does not match. HINT: Set `", "You set `--ntasks=", "You requested gpu: [", "You requested GPUs: [", "ut your machine only has"),
        patterns=(r"number of (?:tasks per node|nodes) configured in SLURM `--(?P<option>[\w-]+)=(?P<slurm>\d+)` does not match", r"You set `--(?P<option>ntasks)=(?P<slurm>\d+)` in your", r"You requested (?:gpu|GPUs): \[(?P<wanted>[\d, ]*)\]|[Bb]ut your machine only has: \["),
        causes=(
            Cause("fewer-gpus", "script", "the program needs the GPUs [{wanted}], and each task sees fewer", "ask for as many GPUs on a node, and do not bind them to tasks", codes=("SB211", "SB201"), script=_gpu_options, log=says("equested", "machine")),
            Cause("option-of-script", "script", "--{option}={slurm} of the job is not what the Trainer is given", "write --nodes as num_nodes and --ntasks-per-node as devices; no --ntasks", codes=("SB310", "SB304", "SB203"), script=requests("ntasks-per-node", "nodes", "ntasks", confidence="certain"), log=says_not("machine", "equested")),
            Cause("ntasks", "submission", "Lightning runs in a job, or a shell of one, that was given --ntasks", "give --ntasks-per-node, or start it outside the allocation's variables", log=group_matches("option", "^ntasks$")),
            Cause("trainer", "code", "the Trainer's num_nodes or devices are not those of the job", "take them from SLURM_NNODES and SLURM_NTASKS_PER_NODE"),
        ),
        matches="""\
ValueError: You set `devices=4` in Lightning, but the number of tasks per node configured in SLURM `--ntasks-per-node=1` does not match. HINT: Set `devices=1`.
RuntimeError: You set `--ntasks=8` in your SLURM bash script, but this variable is not supported. HINT: Use `--ntasks-per-node=8` instead.
pytorch_lightning.utilities.exceptions.MisconfigurationException: You requested gpu: [0, 1, 2, 3] But your machine only has: [0]
                But your machine only has: [0]
""",
    ),
    Symptom(
        id="lightning-without-srun",
        title="Lightning is not started by srun",
        docs="On a machine with Slurm it says so, and trains on one node alone.\n",
        printed_by="Lightning",
        releases="Lightning 1.8 and later",
        role="warning",
        literals=("The `srun` command is available",),
        patterns=(r"The `srun` command is available on your system but is not used",),
        causes=(Cause("no-srun", "script", "the program is started without srun, so only one process of the job runs", "start it with srun", codes=("SB312", "SB311")),),
        matches="PossibleUserWarning: The `srun` command is available on your system but is not used. HINT: If your intention is to run Lightning on SLURM, prepend your python command with `srun`\n",
    ),
    Symptom(
        id="world-size-mismatch",
        title="the number of ranks is not what the program expects",
        docs="More ranks than expected: every task starts all of them. Fewer: some are not started. The parallel sizes of the program must divide their number.\n",
        printed_by="Megatron-LM, DeepSpeed, torch, JAX, TensorFlow",
        literals=("world_size", "world size", "WORLD_SIZE", "train_batch_size is not equal", "not divisible by", "worker_count", "store based barrier", "must be divisible", "not a multiple of", "Invalid rank "),
        patterns=(
            r"(?:Error|Exception): .*(?:world[_ ]size|WORLD_SIZE) ?[(=]?\(?(?P<size>\d+)?\)? .*(?:not divisible|is not equal|must be|does not match|expected)",
            r"Check batch related parameters\. train_batch_size is not equal",
            r"(?:Error|Exception): .*(?:number of (?:GPUs|gpus|processes|ranks|devices)).*(?:not divisible|must be divisible|not a multiple)",
            r"world_size=(?P<world>\d+), worker_count=(?P<workers>\d+)",
            r"worker_count=(?P<workers>\d+), world_size=(?P<world>\d+)",
            r"ValueError: rank \d+ is (?:not less than|greater than|out of)|Invalid rank \d+, rank should be in the interval",
        ),
        causes=(
            Cause("ranks-of-script", "script", "the script starts more or fewer ranks than the program expects", "see the finding", codes=("SB325", "SB326", "SB304", *_WORLD, "SB402", "SB401", "SB334", "SB339", "SB207", "SB329", "SB335")),
            Cause("all-of-each-task", "code", "{workers} processes joined a world of {world}: every task starts all of them", "start the program once for each node, or let it take its rank from Slurm", log=_more_workers),
            Cause("some-missing", "submission", "not all processes of the world joined: {workers} of {world}", "look at the logs of the others, and whether every node starts its part", log=_fewer_workers),
            Cause("batch", "code", "the sizes of the batch do not fit the number of ranks: train_batch_size must be the micro batch of a GPU × the accumulation steps × all ranks", "leave one of the three out of the configuration (\"auto\"), or correct it for the number of GPUs of the job", log=says("train_batch_size")),
            Cause("sizes", "code", "the number of ranks does not fit the parallel sizes that the program is given", "nodes × ranks per node must be divisible by tensor × pipeline × context parallel size"),
        ),
        matches="""\
AssertionError: world_size (8) is not divisible by tensor_model_parallel_size (3)
AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 1 * 8
ValueError: The number of GPUs must be divisible by the tensor parallel size
RuntimeError: Timed out initializing process group in store based barrier on rank: 2, for key: store_based_barrier_key:1 (world_size=2, worker_count=4, timeout=0:30:00)
Waiting in store based barrier: worker_count=128, world_size=16
ValueError: Invalid rank 9, rank should be in the interval [0, 7]
""",
        others="INFO: world_size is 8\n",
    ),
    Symptom(
        id="deepspeed-hosts",
        title="deepspeed and its list of hosts or GPUs",
        docs="The GPUs of a job are numbered from 0, whichever they are on the node; the list of hosts has `name slots=N` lines.\n",
        printed_by="deepspeed (launcher/runner.py)",
        literals=("No slot '", "not found in hostfile", "parse_inclusion_exclusion", "no extra nodes available via hostfile", "Hostfile is empty", "Hostfile contains", "launcher 'pdsh' not installed", "' not installed.", "are mutually exclusive."),
        patterns=(
            r"No slot '?(?P<slot>\d+)'? specified on host",
            r"^ *active_resources = parse_inclusion_exclusion\(",
            r"Hostname '(?P<host>[^']*)' not found in hostfile|Hostfile (?:is empty|contains)|no extra nodes available via hostfile",
            r"launcher '(?P<launcher>\w+)' not installed",
        ),
        causes=(
            Cause("physical-numbers", "script", "the script names GPUs by their numbers on the node; the job's GPUs are numbered from 0", "leave --include out: the launcher takes all GPUs that it sees", codes=("SB212",), script=_devices_named, log=says("lot '", "active_resources")),
            Cause("hostfile", "script", "the list of hosts is missing, or does not fit the job", "write one line `HOST slots=GPUS` for each node of the job", codes=("SB315", "SB314")),
            Cause("launcher", "cluster", "the launcher by which deepspeed starts other nodes is not installed ({launcher})", "use --launcher=slurm, or start one launcher per node with srun", log=says("not installed")),
            Cause("hosts", "submission", "the hosts or GPUs that deepspeed was given are not there", "look at --include, --hostfile and CUDA_VISIBLE_DEVICES"),
        ),
        matches="""\
ValueError: No slot '4' specified on host 'localhost'
    active_resources = parse_inclusion_exclusion(resource_pool,
ValueError: Hostname 'gpu7' not found in hostfile
RuntimeError: launcher 'pdsh' not installed.
""",
    ),
    Symptom(
        id="deepspeed-no-hostfile",
        title="deepspeed found no list of hosts, and uses this node only",
        docs="Right for a job of one node.\n",
        printed_by="deepspeed (launcher/runner.py)",
        role="warning",
        literals=("Unable to find hostfile",),
        patterns=(r"Unable to find hostfile, will proceed with training with local resources only",),
        causes=(Cause("several-nodes", "script", "the job has several nodes, and deepspeed uses the first only", "give it --hostfile, or start one launcher per node with srun", codes=("SB315",)),),
        matches="[WARNING] [runner.py:122:fetch_hostfile] Unable to find hostfile, will proceed with training with local resources only.\n",
    ),
    Symptom(
        id="accelerate-arguments",
        title="accelerate cannot start what it is told to",
        docs="The number of processes, the GPUs and the kind of training do not fit each other.\n",
        printed_by="accelerate",
        releases="0.20 and later",
        literals=("You need to use at least", "Tried to launch on distributed with multinode", "GPU ids were configured and tried", "You can only use one of `--", "manually pass in `--num_processes`"),
        patterns=(r"You need to use at least 2 processes to use `--multi_gpu`|Less than two GPU ids were configured|You can only use one of `--\w+`|manually pass in `--num_processes`", r"Tried to launch on distributed with multinode, but `(?P<name>\w+)` env was not set"),
        causes=(
            Cause("world-of-script", "script", "the processes that accelerate is told to start do not fit the job", "see the finding", codes=("SB313", "SB310", "SB312", "SB408", "SB414", "SB409")),
            Cause("config", "submission", "the processes that accelerate is told to start, by options or by its configuration file, do not fit", "give --num_processes, --num_machines and --multi_gpu"),
        ),
        matches="ValueError: You need to use at least 2 processes to use `--multi_gpu`.\nValueError: Tried to launch on distributed with multinode, but `MASTER_ADDR` env was not set, please try exporting rank 0's hostname as `MASTER_ADDR`\n",
    ),
)
