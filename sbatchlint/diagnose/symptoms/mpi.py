"""Open MPI, PRRTE, MPICH, Intel MPI and what is between them and Slurm (PMI, PMIx)."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import matches, possible, says
from sbatchlint.diagnose.evidence import (
    TASKS,
    assigned,
    commands,
    containing,
    options,
    own_commands,
    settings,
    shown,
    spans_of,
    step_options,
)
from sbatchlint.diagnose.questions import assigns, calls, steps
from sbatchlint.diagnose.subjects import named
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.text import Span


def _steps_without_mpi_option(job: Job, event: Event) -> Verdict:
    """The steps without --mpi, which use the site's default; else the --mpi options."""
    found = tuple(each.span for each in job.steps if each.option("mpi") is None and each.tasks != 1)
    return shown(found, "certain") or shown(step_options(job, "mpi"))


def _mpi_option(job: Job, event: Event) -> Verdict:
    """The --mpi of a step; without one, the site's default does not fit."""
    mpi_options = step_options(job, "mpi")
    container_steps = [
        each for each in job.steps if each.container is not None or _IN_IMAGE.search(job.source.slice(each.span))
    ]
    if not mpi_options and container_steps:
        message = "srun starts the MPI of the image without the PMI that it wants: the image brings its own Open MPI, which knows only PMIx"
        return Shown(spans_of(container_steps), message, "likely")
    return shown(mpi_options) or shown(spans_of(job.steps), "possible")


_calls_mpirun = calls(*programs_with("mpi"))
# Commands that go to another machine by ssh.
_SSH_PROGRAMS = ("ssh", "scp", "sftp", "rsync", "sshfs", "git")


# A message of ssh itself.
_is_from_ssh = matches(r"^Host key verification|\(publickey|^ssh: ")


def _logs_in(job: Job, event: Event) -> Verdict:
    """The commands that go to another machine by ssh, in a script without mpirun."""
    if any(has_trait(each.name, "mpi") for each in job.invocations):
        return None
    own = [each for each in own_commands(job) if each.name in _SSH_PROGRAMS]
    return shown(containing(job, own, event.groups.get("host", "")) or spans_of(own))


_IN_IMAGE = re.compile(r"\b(?:apptainer|singularity) (?:exec|run)\b")


_OTHER_MPI = re.compile(r"(?i)(?:^|/)(?:intel-?(?:oneapi-)?mpi|impi|mpich|mvapich\d?|cray-mpich)(?:[/_-]|$)")


def _other_mpirun(job: Job, event: Event) -> Verdict:
    """The mpirun commands of a script that loads a module of another MPI than Open MPI and runs no step."""
    loads = commands_named(job, "module", "ml", "spack")
    loaded = [each for each in loads if any(_OTHER_MPI.search(text_of(word) or "") for word in each.argv[1:])]
    mpiruns = commands(job, *programs_with("mpi"))
    return Shown((*spans_of(loaded), *mpiruns), None, "certain") if loaded and mpiruns and not job.steps else None


# MPICH's error stack, below the message, comes from the network layer.
_of_network = matches(
    r"OFI (?:poll|endpoint|\w+ open|call|get|domain)\b|\bofi_\w+\.c|UNDELIVERABLE|UCX  ?ERROR|Transport retry|local QP",
    below=6,
)


def _mpi_written(job: Job, event: Event) -> Verdict:
    """Each `--mpi=…` of the script, even in an srun command that is an argument of another program."""
    found = re.finditer(r"--mpi[= ]\S+", job.source.own.text)
    return shown(tuple(Span(each.start(), each.end()) for each in found))


# It is MPI's own start that failed.
_at_start = matches(r"(?i)_init(?:_thread)?\b|(?:before|runtime) (?:MPI_)?init")


def _not_listed(event: Event) -> bool | None:
    """`srun --mpi=list` is above, and has no PMIx."""
    has_list = any("MPI" in line and "types are" in line for line in event.above)
    has_pmix = any("pmix" in line.lower() for line in event.above[: len(event.above) // 2 + 2])
    return True if has_list and not has_pmix else None


def _tasks_of_several_cpus(job: Job, event: Event) -> Verdict:
    """The directives for tasks and for several CPUs each, in a script that starts no MPI itself."""
    if commands(job, *programs_with("mpi")) or job.steps:
        return None
    cpus = [each for each in settings(job, "cpus-per-task") if each.value not in ("1", None)]
    return shown(spans_of(cpus) + options(job, *TASKS)) if cpus else None


def _under_srun(job: Job, event: Event) -> Verdict:
    """An mpirun in the tasks of a step."""
    found = [(each, enclosing_step(each.context)) for each in job.invocations if has_trait(each.name, "mpi")]
    spans = tuple(span for each, step in found if step is not None for span in (step.span, each.span))
    return shown(spans, "certain") or (RULED_OUT if job.is_shell and not job.limits.exhausted and found else None)


def _alone(event: Event) -> bool | None:
    """Several processes call themselves the only one."""
    alone = event.groups.get("size", event.groups.get("only")) == "1" and event.groups.get("rank", "0") == "0"
    return possible(alone and event.count > 1 or re.search("singletons|only one MPI", event.text))


def _mca_variables(job: Job, event: Event) -> Verdict:
    """Where the script sets parameters of Open MPI, PMIx or PRRTE."""
    prefixes = ("OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_")
    return shown(spans_of(each for each in job.assignments if each.name.startswith(prefixes)))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="network-device-named",
        title="a named network device does not exist on the node",
        docs="UCX_NET_DEVICES, NCCL_IB_HCA and the like name devices of one kind of node; `ibv_devinfo`, `ucx_info -d` and `ip link` show those of a node.\n",
        printed_by="UCX, NCCL, Gloo",
        literals=("network device",),
        patterns=(r"UCX\s+(?:WARN|ERROR)\s+network device '(?P<device>[^']+)' is not available",),
        causes=(
            Cause("device-of-script", "script", "the script names the network device {device}, which this node does not have", "leave the variable out, or name a device that all nodes of the partition have", script=named),
            Cause("device", "submission", "the environment names the network device {device}, which this node does not have", "unset UCX_NET_DEVICES, or name a device that all nodes of the partition have"),
        ),
        matches="[1700.1] [n01:4242:0]    ucp_context.c:1071 UCX  WARN  network device 'mlx5_2:1' is not available, please use one or more of: 'ib0'(tcp)\n",
    ),
    Symptom(
        id="openmpi-without-pmi",
        title="Open MPI and srun do not speak the same PMI",
        docs="srun starts Open MPI programs by PMIx (`--mpi=pmix`, which Slurm must have: `srun --mpi=list`); Open MPI up to 4 also by PMI-2 if it was built with it. Otherwise use mpirun.\n",
        printed_by="Open MPI (ess_pmi, help-mpi-runtime.txt, help-ess-base.txt)",
        releases="`OMPI was not built with SLURM's PMI support` 3.x and 4.x; `PMIX ERROR`, `PMI server` in all",
        literals=("SLURM's PMI", "direct launched using \"srun\"", "was direct launched", "PMI server not found", "PMI_Init", "_GetId returned", " init failed", "_KVS_", "_Init failed", "_Init returned", "PMIx_Init", "PMI support", "unable to obtain the necessary connection", "I_MPI_PMI_LIBRARY", " failed to initialize, returning", " initialized but returned bad", "PMIX ERROR: NOT-FOUND", "PMIX ERROR: UNREACH", "OPAL ERROR: Unreachable"),
        patterns=(
            r"not built with SLURM's PMI support",
            r"PMI server not found|set I_MPI_PMI_LIBRARY",
            r"OPAL ERROR: (?:Unreachable|Not initialized) in file .*pmix|PMIX ERROR: (?:UNREACHABLE|NOT-FOUND|ERROR) in file .*(?:init|client)",
            r"PMI2?_(?:Init|Job_GetId|KVS_\w+) (?:failed|returned)|PMIx_Init (?:failed|returned)|PMI2? (?:failed to initialize|initialized but returned bad|init failed)",
        ),
        causes=(
            Cause("other-mpirun", "script", "the program is one of Open MPI, and mpirun is that of another MPI, which starts its processes by srun", "before mpirun, load the Open MPI that the program was built with, or build the program with the MPI that is loaded", script=_other_mpirun, log=says("SLURM's PMI")),
            Cause("mpi-option", "script", "srun does not offer the PMI that the program was built for", "give srun --mpi=pmix (MPICH and Intel MPI need pmi2), or start it with mpirun", script=_mpi_option),
            Cause("library-not-named", "script", "Intel MPI started by srun does not find Slurm's PMI, so each task is a world of its own", "export I_MPI_PMI_LIBRARY=/…/libpmi2.so (the site says where) with srun --mpi=pmi2, or start it with mpirun", script=lambda job, event: None if assigned(job, "I_MPI_PMI_LIBRARY") else shown(spans_of(job.steps)), log=says("I_MPI_PMI_LIBRARY")),
            Cause("slurm-without-pmix", "cluster", "Slurm, or the MPI library, was built without the PMI that the other one wants", "look at `srun --mpi=list`: pmix for Open MPI, --mpi=pmi2 for MPICH and Intel MPI; else start it with its own mpirun, or ask the site for that plugin of Slurm", log=_not_listed),
        ),
        matches="""\
but OMPI was not built with SLURM's PMI support and therefore cannot
MPI startup(): PMI server not found. Please set I_MPI_PMI_LIBRARY variable if it is not a singleton case.
[n1:4711] OPAL ERROR: Unreachable in file ext3x_client.c at line 112 pmix3x
PMI2_Init failed to initialize.  Return code: 14
"PMI2 failed to initialize, returning an error code of 14.
MPIR_pmi_init(158)....: PMI2_Job_GetId returned 14
MPIDI_CH3_Init(105)....: PMI2 init failed: 14
""",
        others="The application appears to have been direct launched using \"srun\",\n",
    ),
    Symptom(
        id="mpi-singletons",
        title="every process believes that it is the only one",
        docs="The program found no PMI, so each task became a world of one: `rank 0 of 1` from all of them. The work is done as often as there are tasks.\n",
        printed_by="Open MPI 5, MPICH, programs",
        releases="Open MPI 5 without any warning; `singletons will be started` some 5.x",
        role="warning",
        literals=("only one MPI process", "umber of MPI ", "rank ", "Rank ", "proc ", "process ", "Process ", "processor ", "singletons will be started"),
        patterns=(r"\b(?:[Rr]ank|[Pp]roc(?:ess(?:or)?)?)\s*:?\s*(?P<rank>\d+) (?:of|out of|/) ?(?P<size>\d+)\b", r"singletons will be started|^(?!.*Error: ).*only one MPI process|[Nn]umber of MPI (?:[Pp]rocesses|[Rr]anks|[Tt]asks)\s*[:=]\s*(?P<only>\d+)$"),
        causes=(
            Cause("no-pmi", "script", "srun starts the program without the PMI that its MPI wants, so every task is a world of its own", "give srun --mpi=pmix, or start it with mpirun", codes=("SB318",), script=_steps_without_mpi_option, log=_alone),
            Cause("other-mpi", "cluster", "the program finds no PMI of Slurm, so every task is a world of its own", "look at `srun --mpi=list`, and at the MPI that the program was built with", log=_alone),
        ),
        matches="Hello from proc 0 of 1\nI am rank 0 of 1 on node n1\nNOTE: singletons will be started\n MPI Enabled;    Number of MPI Processes: 1\n",
        others="step 0 of 100\n",
    ),
    Symptom(
        id="mpirun-daemons",
        title="mpirun could not start its daemons on other nodes",
        docs="mpirun starts a daemon on each node: by srun where it finds it, else by ssh. Inside of srun, or of a container, it finds neither.\n",
        printed_by="Open MPI (orte, prte), Hydra",
        releases="`ORTE was unable to reliably start` 1.x to 4.x; `PRTE has lost communication` 5.x",
        literals=("ORTE was unable to reliably", "installed without the mpiexec", "invalid PMI", "process starter for OpenMPI", "ORTE daemon has unexpectedly", "PRTE was unable", "PRTE daemon has", "ORTE has lost communication", "PRTE has lost communication", "Host key verification failed", "Permission denied (publickey", "unable to run ", "unable to spawn", "HYDU_sock_connect", "launcher cannot launch", "launching processes", "unable to start a daemon", "rsh agent", "ssh: connect to host"),
        patterns=(
            r"(?:ORTE|PRTE) (?:was unable to reliably start|has lost communication|daemon has unexpectedly failed)|An (?:ORTE|PRTE) daemon has unexpectedly failed|[Uu]nable to start a daemon on the local node|process starter for OpenMPI was unable to locate a|is installed without the mpiexec/mpirun commands",
            r"^Host key verification failed|Permission denied \(publickey|ssh: connect to host (?P<host>\S+) port",
            r"mpi/pmi2?: invalid (?:PMI1 init )?command",
            r"HYD\w+ \([^)]*\): (?:launcher (?:cannot launch|returned error while launching)|unable to (?:run|spawn) )|\([^)]*\): unable to run \w*proxy on|HYDU_sock_connect \([^)]*\): unable to connect",
        ),
        causes=(
            Cause("under-srun", "script", "srun starts mpirun in every task, and each tries to start daemons on the other nodes", "start the program itself with srun (--mpi=pmix), or mpirun without srun", codes=("SB318", "SB317", "SB813"), script=_under_srun),
            Cause("in-container", "script", "mpirun runs in a container, which has no srun and no ssh to the other nodes", "let srun --mpi=pmix start the container, and the program in it", codes=("SB515",)),
            Cause("no-srun", "script", "mpirun sees the variables of the job and needs srun to start its daemons, but there is none where it runs, usually in a container", "let srun --mpi=pmix start the container, and the program in it", script=_calls_mpirun, log=says("process starter")),
            Cause("no-mpirun", "script", "this Open MPI has no mpirun: the site requires that srun starts its programs", "start the program with srun, with --mpi=pmix where `srun --mpi=list` has it", script=_calls_mpirun, log=says("installed without")),
            Cause("pmi-of-two", "submission", "mpirun runs in the tasks of an srun, and asks Slurm's PMI for what only its own daemons know", "start the program itself with srun, or mpirun without srun", log=says("invalid PMI")),
            Cause("logs-in", "script", "a command of the script goes to another machine by ssh, which does not get there from a compute node: no way leads there, or the job has no key for it", "copy on the login node, before or after the job; where the node may go there, use a key without a passphrase, and log in once by hand (known_hosts)", script=_logs_in, log=_is_from_ssh),
            Cause("ssh", "cluster", "mpirun could not start daemons on the other nodes", "check whether srun is in its PATH; ssh between nodes may be off", unproven="possible"),
        ),
        matches="""\
ORTE was unable to reliably start one or more daemons.
The SLURM process starter for OpenMPI was unable to locate a
is installed without the mpiexec/mpirun commands to prevent
slurmstepd: error: mpi/pmi2: invalid PMI1 init command: `error'
An ORTE daemon has unexpectedly failed after launch and before
Host key verification failed.
ada@n2: Permission denied (publickey,password).
[mpiexec@n1] HYDU_create_process (lib/utils/launch.c:74): unable to run proxy on n2
""",
    ),
    Symptom(
        id="mpi-component-missing",
        title="the MPI installation lacks a component",
        docs="Open MPI and PMIx load plugins, which need libraries of the node (munge, UCX, PMIx): another node has them, or another release of MPI is in LD_LIBRARY_PATH or in the environment (OMPI_MCA_…, PMIX_MCA_…).\n",
        printed_by="Open MPI, PMIx, PRRTE (help-mca-base.txt)",
        literals=("A requested component was not found", "mca_base_component_repository_open", "unable to open mca_", "omponents were able to be opened"),
        patterns=(r"^A requested component was not found|mca_base_component_repository_open: unable to open|[Nn]o components were able to be opened in the (?P<framework>\w+) framework",),
        causes=(
            Cause("settings", "script", "the script asks for a component of MPI that is not there", "leave the OMPI_MCA_… or PMIX_MCA_… variable out", script=_mca_variables),
            Cause("installation", "cluster", "a component of the MPI installation, or a library that it wants, is not on the node", "tell the site; PMIX_MCA_psec=native works around a missing munge"),
        ),
        matches="A requested component was not found, or was unable to be opened.  This\n[n1:4711] mca_base_component_repository_open: unable to open mca_pml_ucx: libucp.so.0: cannot open shared object file\nNo components were able to be opened in the pml framework.\n",
    ),
    Symptom(
        id="mpi-slots",
        title="more processes than Slurm gives slots",
        docs="mpirun takes a slot for each task of the job: ask for as many tasks as processes, and for `--cpus-per-task` where each has threads.\n",
        printed_by="Open MPI, PRRTE",
        releases="help-orte-rmaps-base.txt, help-prte-rmaps-base.txt, all",
        literals=("not enough slots available", "no allocated resources for the application", "requested hosts are not included in the current allocation", "All nodes which are allocated for this job are already filled", "conflicting number of processes", "would result in binding", "processes than cpus"),
        patterns=(r"There are not enough slots available|All nodes which are allocated for this job are already filled", r"no allocated resources for the application|Some of the requested hosts are not included in the current allocation", r"requested a conflicting number of processes|binding more$|more processes than cpus"),
        causes=(
            Cause("tasks-of-script", "script", "mpirun is to start more processes than the job has tasks", "ask for as many tasks (--ntasks), or leave -np out", codes=("SB318", "SB206", "SB203", "SB335", "SB329"), script=_calls_mpirun),
            Cause("tasks-as-threads", "script", "the program starts its own mpirun with as many processes as the job asks CPUs for, and Open MPI counts tasks", "ask for the processes as tasks: --ntasks-per-node=N with --cpus-per-task=1, where --cpus-per-task=N stands now", script=_tasks_of_several_cpus),
            Cause("tasks", "submission", "mpirun is to start more processes than the job has tasks", "ask for as many tasks (--ntasks)"),
        ),
        matches="""\
There are not enough slots available in the system to satisfy the 8
Some of the requested hosts are not included in the current allocation for the
A request was made to bind to that would result in binding more
   processes than cpus: more processes than cpus on a resource
""",
    ),
    Symptom(
        id="mpi-root",
        title="mpirun refuses to run as root",
        docs="In containers the user is often root.\n",
        printed_by="Open MPI, PRRTE",
        releases="1.10 and later",
        literals=("has detected an attempt to run as root", "detected an attempt to run as root"),
        patterns=(r"detected an attempt to run as root",),
        causes=(Cause("root", "submission", "mpirun refuses to run as root", "run it as a user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", unproven="certain"),),
        matches="mpirun has detected an attempt to run as root.\n",
    ),
    Symptom(
        id="mpi-gpu-support",
        title="MPI is to send from GPUs, but the program lacks the library for it",
        docs="MPICH_GPU_SUPPORT_ENABLED=1 needs the GTL library in the program: it is linked if the GPU module (craype-accel-…) was loaded when the program was built.\n",
        printed_by="Cray MPICH",
        releases="8.1 and later",
        literals=("GTL library is not linked",),
        patterns=(r"GPU_SUPPORT_ENABLED is requested, but GTL library is not linked",),
        causes=(
            Cause("variable", "script", "the script turns on MPI between GPUs (MPICH_GPU_SUPPORT_ENABLED), and the program was not built for it", "leave the variable out, or build the program with the module craype-accel-… loaded", script=assigns("MPICH_GPU_SUPPORT_ENABLED")),
            Cause("build", "code", "MPICH_GPU_SUPPORT_ENABLED is set, and the program was not built for it", "set it to 0, or build the program with the module craype-accel-… loaded"),
        ),
        matches="MPIDI_CRAY_init: GPU_SUPPORT_ENABLED is requested, but GTL library is not linked\n",
    ),
    Symptom(
        id="mpi-transport",
        title="MPI processes do not reach each other",
        docs="A transport that a node does not have (`UCX`, `openib`, `libfabric`), or an interface that leads nowhere (docker0, virbr0).\n",
        printed_by="Open MPI, UCX, libfabric, MPICH",
        literals=("at least one MPI process is unreachable", "PML add procs failed", "failed to TCP connect to a peer", "UCX  ERROR", "OFI call", "No OpenFabrics connection schemes", "failed to handshake with a connecting peer", "unexpected process identifier", "ransport retry count exceeded", "Failed to receive UCX worker", "know how to route a message", "fi_getinfo", "Destination is unreachable"),
        patterns=(r"at least one MPI process is unreachable|[Tt]ransport retry count exceeded|Failed to receive UCX worker address|PML add procs failed|received unexpected process identifier|does not know how to route a message|failed to (?:TCP connect to|handshake with) a(?: connecting)? peer", r"UCX +ERROR (?P<error>.+)", r"OFI .*(?:fi_getinfo|call|endpoint).* failed|No OpenFabrics connection schemes"),
        causes=(
            Cause("link", "cluster", "a node lost its connection to the network: what was sent was not confirmed", "submit again with --exclude of that node, and tell the site, with the names of the node and of its card", log=says("ransport retry", "local QP")),
            Cause("fabric", "cluster", "the MPI processes of two nodes do not reach each other", "name the network: OMPI_MCA_btl_tcp_if_include, UCX_NET_DEVICES, FI_PROVIDER; tell the site which nodes"),
        ),
        matches="""\
MPI_INIT has failed because at least one MPI process is unreachable
[1700000000.1] [n1:4711:0] ib_device.c:1171 UCX  ERROR ibv_create_ah failed: Connection timed out
MPIDI_OFI_mpi_init_hook: OFI call fi_getinfo failed
[n1][[411,1],0][btl_tcp_endpoint.c:626:mca_btl_tcp_endpoint_recv_connect_ack] received unexpected process identifier [[411,1],3]
""",
    ),
    Symptom(
        id="pmi-lost",
        title="an MPI process lost its process manager",
        docs="The program speaks PMI-1 or PMI-2 to what started it (srun, Hydra), and nothing answers: another `--mpi=`, a program between them that closes files, or a manager that has ended.\n",
        printed_by="MPICH, Intel MPI, MVAPICH (simple PMI)",
        literals=("]: write_line error", "]: readline failed", "write_line failure", "PMIU_", "PMK_KVS_Barrier", "pmi: "),
        patterns=(r"\[cli_\d+\]: (?:write_line error|readline failed)|PMIU_(?:readline|writeline|parse)\S*.*(?:error|fail)", r"PMK_KVS_Barrier (?:duplicate request|task count inconsistent)"),
        causes=(
            Cause("mpi-option", "script", "srun does not offer the PMI that the program was built for", "give srun --mpi=pmi2 (or pmix), or start it with mpirun", script=steps("possible")),
            Cause("program", "code", "the MPI process lost the connection to what started it", "check what runs between srun and the program, and srun --mpi"),
        ),
        matches="[cli_0]: write_line error; fd=12 buf=:cmd=barrier_in\nsrun: error: PMK_KVS_Barrier duplicate request from task 0\n",
    ),
    Symptom(
        id="mpiexec-words",
        title="mpiexec does not understand its command line",
        docs="Hydra (MPICH, Intel MPI) and Open MPI accept different options, and different files of hosts and configuration. Which mpiexec comes first in PATH depends on the modules and environments that are loaded.\n",
        printed_by="mpiexec (Hydra)",
        releases="src/pm/hydra/mpiexec/mpiexec.c, all releases",
        literals=("[mpiexec@",),
        patterns=(r"\[mpiexec@[^\]]*\] .*(?:error parsing (?:parameters|input|config|executable|command)|unrecognized argument|unable to parse|_get_parameters)",),
        causes=(
            Cause("words-of-script", "script", "mpiexec does not understand the arguments that the script gives it", "check which mpiexec it is (`which mpiexec`), and the form that its -configfile or options take", codes=("SB336",), script=_calls_mpirun),
            Cause("words", "submission", "mpiexec does not understand the arguments that it was given", "check which mpiexec it is (`which mpiexec`), and the form that its -configfile or options take"),
        ),
        matches="""\
[mpiexec@n1] mpiexec_get_parameters (pm/hydra/mpiexec/params.c:9): assert (argv[1] != NULL) failed
[mpiexec@n1] main (pm/hydra/mpiexec/mpiexec.c:7): error parsing parameters
""",
        others="[mpiexec@n1] wait_completion (bstrap.c:7): error waiting for completion\n",
    ),
    Symptom(
        id="mpi-process-died",
        title="an MPI process failed, and all others with it",
        docs="What it printed itself is above: these lines only name its rank and signal (9: killed, usually for memory; 11: segmentation fault).\n",
        printed_by="mpirun, mpiexec (Hydra), MPI libraries",
        tells_end=True,
        role="consequence",
        literals=("noticed that process rank", "BAD TERMINATION OF ONE OF YOUR", "MPI_ABORT was invoked", "MPI_Abort(", "Abort(", "Fatal error in ", "Primary job  terminated normally", "terminated normally, but", "has exited due to process rank", "It looks like ", "MPI_ERRORS_ARE_FATAL", "application called MPI_Abort", "exited on signal", "An error occurred in MPI_", "PMIX ERROR"),
        patterns=(
            r"noticed that process rank (?P<rank>\d+) .*exited on signal (?P<signal>\d+)|exited on signal (?P<sig>\d+)",
            r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
            r"MPI_ABORT was invoked|application called MPI_Abort|^Abort\(\d+\)",
            r"Fatal error in P?MPI_|An error occurred in MPI_|MPI_ERRORS_ARE_FATAL",
            r"has exited due to process rank|terminated normally, but \d+|It looks like [\w ]+ failed for some reason",
            r"PMIX ERROR: ",
        ),
        causes=(
            Cause("tasks-mismatch", "script", "the script starts a number of MPI processes that does not fit the job's tasks", "see the finding", codes=("SB318",)),
            Cause("start-option", "script", "MPI could not start: srun does not offer the PMI that the program speaks", "name the PMI of the program's MPI (`srun --mpi=list`; --mpi=pmix, or --mpi=pmi2 for Intel MPI and MPICH), or start it with its own mpirun", script=_mpi_written, log=_at_start),
            Cause("no-memory-left", "submission", "an MPI process was killed (signal 9), usually because memory ran out", "ask for more with --mem or --mem-per-cpu, or put fewer ranks on a node; `sacct -j JOB --format=JobID,State,MaxRSS,ReqMem` shows it", log=matches(r"(?i)signal:? 9\b|exit(?: code|ed)?:? 137\b", below=6), unproven="likely"),
            Cause("network", "cluster", "MPI lost the network between two nodes, or could not open it", "submit again with --exclude of that node if it happens again; tell the site; FI_PROVIDER or UCX_TLS selects another transport", log=_of_network),
            Cause("pmix-store", "cluster", "PMIx could not lock the memory in which it keeps its data", "export PMIX_MCA_gds=hash in the script, before srun or mpirun", log=says("gds_ds")),
            Cause("start", "cluster", "MPI could not start: it does not find what started it (PMI), or its network", "look at srun --mpi, and at the MPI that the program was built with", log=_at_start),
            Cause("program", "code", "an MPI process failed", "look at what that rank printed before", unproven="possible"),
        ),
        matches="""\
mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 9 (Killed).
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
Abort(1090959) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error
*** An error occurred in MPI_Recv
Primary job  terminated normally, but 1 process returned
It looks like pmix_init failed for some reason; your parallel process is
[n1:4711] PMIX ERROR: OUT-OF-RESOURCE in file base/bfrop_base_unpack.c at line 750
""",
    ),
)
