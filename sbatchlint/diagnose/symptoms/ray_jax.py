"""Ray, JAX, TensorFlow, Dask: clusters inside a job."""

import re

from sbatchlint.diagnose.clues import says
from sbatchlint.diagnose.evidence import matching, options, shown, spans_of
from sbatchlint.diagnose.questions import assigns, calls
from sbatchlint.diagnose.symptom import Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.programs import commands_named
from sbatchlint.job.worlds import find_worlds

_PORT_OR_FOLDER = re.compile("--(?:port|temp-dir)")


def _ray_port(job: Job, event: Event) -> Verdict:
    """A head with a port of its own, or a folder that is named."""
    named = [each for each in commands_named(job, "ray") if any(map(_PORT_OR_FOLDER.match, each.words))]
    return shown(spans_of(named))


def _plain_programs(job: Job, event: Event) -> Verdict:
    return shown(tuple(world.span for world in find_worlds(job) if world.launch is None), "possible")


_PARALLEL = re.compile(
    r"--(?:tensor|pipeline|data)[-_]parallel[-_]size[ =]|(?<![\w-])-(?:tp|pp)[ =]|--tp[ =]|--pp[ =]|--num[-_]gpus[ =]"
)


def _parallel_sizes(job: Job, event: Event) -> Verdict:
    """The commands that say over how many GPUs a model is spread, and the directives for GPUs."""
    found = matching(job, job.invocations, _PARALLEL)
    return shown((*options(job, *GPU_OPTIONS), *found[:2])) if found else None


# fmt: off
SYMPTOMS = (
    Symptom(
        id="ray-process-ended",
        title="a process of Ray ended soon after its start",
        docs="`ray start` prints which one, and not why: that is in `session_latest/logs` below its `--temp-dir` (/tmp/ray) on that node. Often an older Ray still holds the port or the folder, the folder has no room or belongs to another user, or the step has too little memory.\n",
        printed_by="Ray (scripts.py)",
        releases="Ray 1.x and 2.x",
        literals=("Ray subprocesses exited unexpectedly",),
        patterns=(r"Some Ray subprocesses exited unexpectedly",),
        causes=(
            Cause("start-of-script", "script", "a process of the Ray that the script starts ended at once", "look at session_latest/logs (raylet.err, gcs_server.err) below --temp-dir on that node; give each job a folder of its own (--temp-dir=/tmp/ray-$SLURM_JOB_ID) and a port of its own", script=calls("ray"), unproven="possible"),
            Cause("start", "code", "a process of Ray ended at once", "look at session_latest/logs (raylet.err, gcs_server.err) below its temporary folder on that node", unproven="possible"),
        ),
        matches="Some Ray subprocesses exited unexpectedly:\n",
    ),
    Symptom(
        id="socket-path-too-long",
        title="the path of a socket is too long",
        docs="Linux takes 107 characters for the path of a socket. Ray, Jupyter, VS Code and multiprocessing put sockets below TMPDIR.\n",
        printed_by="Python, Ray, ssh, PMIx",
        literals=("AF_UNIX path", "too long for Unix domain socket", "Unix socket path", "socket path is too long", "socket name exceeded"),
        patterns=(r"AF_UNIX path (?:length|too long)", r"too long for Unix domain socket|Unix socket path .*too long|socket path is too long|Unix socket name exceeded maximum length"),
        causes=(
            Cause("folder-of-script", "script", "the folder for sockets that the script sets is too deep", "take a short one: export TMPDIR=/tmp/$SLURM_JOB_ID, or ray --temp-dir", script=assigns("TMPDIR", "RAY_TMPDIR", "TEMP", "TMP", confidence="certain")),
            Cause("folder-of-site", "cluster", "the TMPDIR of the job is too deep for sockets", "set a short one: export TMPDIR=/tmp/$SLURM_JOB_ID, or ray --temp-dir", unproven="certain"),
        ),
        matches="""\
OSError: AF_UNIX path length cannot exceed 107 bytes: '/net/people/ada/slurm_jobdir/1355700/tmp/ray/session_x/sockets/plasma_store'
OSError: AF_UNIX path too long
unix_listener: path "/scratch/x" too long for Unix domain socket
""",
    ),
    Symptom(
        id="ray-worker-registration",
        title="Ray's workers do not start in time",
        docs="`ray.init()` starts a worker for each core of the machine, not of the job: give num_cpus. Starting many at once from a slow file system takes longer than Ray waits.\n",
        printed_by="Ray (core_worker.cc, worker_pool.cc)",
        releases="Ray 1.x and 2.x",
        literals=("Failed to register worker", "have not registered within the timeout", "Some workers of the worker process", "worker processes failed to", "Unable to register worker with raylet"),
        patterns=(r"Failed to register worker|Unable to register worker with raylet|have not registered within the timeout",),
        causes=(
            Cause("cpus", "script", "Ray starts a worker for each core of the machine, and the job may use only a few of them", "ray start --num-cpus=$SLURM_CPUS_PER_TASK", codes=("SB616", "SB213")),
            Cause("too-many-workers", "code", "Ray starts a worker for each core of the machine, and they do not start in time", "ray.init(num_cpus=int(os.environ[\"SLURM_CPUS_PER_TASK\"]))"),
        ),
        matches="""\
[2022-11-03 21:18:32,436 E 251378 251378] core_worker.cc:149: Failed to register worker 01000000 to Raylet. IOError: [RayletClient] Unable to register worker with raylet. No such file or directory
(raylet) [worker_pool.cc:544] Some workers of the worker process(4711) have not registered within the timeout.
""",
    ),
    Symptom(
        id="ray-head-unreachable",
        title="Ray's head cannot be reached",
        docs="The workers start before the head listens, look for it at another address or port, or meet the head of another job on the same node (ports 6379, 8265, 10001).\n",
        printed_by="Ray (gcs_client, services.py)",
        releases="Ray 1.x: `Unable to connect to Redis`; 1.11 on: GCS",
        literals=("Failed to connect to GCS", "Unable to connect to GCS", "Unable to connect to Redis", "Could not find any running Ray instance", "Ray is trying to start at", "current node timed out during startup", "Failed to get node info", "Session name ", "could not be reached by the", "gcs_server", "Could not connect to socket", "Redis has started but no raylets", "No available node", "ConnectionError: Ray", "GCS has started but no raylets", "Failed to connect to Ray"),
        patterns=(
            r"(?:Failed|Unable) to connect to (?:GCS|Redis)(?: at (?:address )?(?P<host>[\w.\-\[\]:]+))?",
            r"Could not find any running Ray instance|Could not connect to socket|(?:GCS|Redis) has started but no raylets",
            r"current node timed out during startup|Failed to get node info",
            r"Ray is trying to start at (?P<where>\S+), but is already running",
            r"Session name \S+ does not match persisted value",
        ),
        causes=(
            Cause("head-first", "script", "the workers of Ray start before the head listens, or the head is lost", "wait until `ray status` answers before the workers start", codes=("SB815", "SB816", "SB801", "SB306", "SB404", "SB403", "SB401", "SB418")),
            Cause("shared-port", "script", "another job on the node has a Ray head at the same port", "derive the port from the job: --port=$((10000 + SLURM_JOB_ID % 20000))", codes=("SB322", "SB332"), script=_ray_port, log=says("already running", "Session name")),
            Cause("ray-of-script", "script", "the workers do not reach Ray's head", "take the address of the first node, and look at the head's log", script=calls("ray")),
            Cause("head", "submission", "Ray's head cannot be reached: it did not start, is at another address, or belongs to another job", "look at the head's log in /tmp/ray/session_latest/logs"),
        ),
        matches="""\
[gcs_rpc_client.h:179] Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.
ConnectionError: Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag
Exception: The current node timed out during startup. This could happen because some of the Ray processes failed to startup.
ConnectionError: Ray is trying to start at 10.0.0.1:6379, but is already running at 10.0.0.1:6379.
AssertionError: Session name session_b does not match persisted value session_a.
""",
    ),
    Symptom(
        id="ray-resources",
        title="Ray has fewer GPUs or CPUs than it is asked for",
        docs="`ray status` shows what the nodes have reported to the head. A worker node that has not joined does not count.\n",
        printed_by="Ray",
        releases="Ray 1.x and 2.x",
        role="consequence",
        literals=("No available node types can fulfill", "cannot be scheduled right now", "Cannot provide a placement group", "is infeasible", "Total available GPUs", "The number of required GPUs exceeds", "placement group"),
        patterns=(r"No available node types can fulfill resource request|cannot be scheduled right now|Cannot provide a placement group|The number of required GPUs exceeds|Total available GPUs \d+(?:\.\d+)? is less than", r"Error: .*placement group.*(?:timed? ?out|infeasible)"),
        causes=(
            Cause("nodes-of-script", "script", "not all nodes of the job joined Ray's cluster, or it has no GPUs", "see the finding", codes=("SB201", "SB310", "SB208", "SB206", "SB815", "SB339", "SB221")),
            Cause("parallel-of-script", "script", "the script spreads the model over more GPUs than the job has", "ask for as many GPUs as --tensor-parallel-size times --pipeline-parallel-size, or lower these", script=_parallel_sizes),
            Cause("request", "code", "the program asks Ray for more than its nodes have", "compare with `ray status`: GPUs per worker × workers"),
        ),
        matches="""\
(autoscaler +15s) Error: No available node types can fulfill resource request {'GPU': 8.0}.
ValueError: Total available GPUs 0 is less than total desired GPUs 8
ValueError: Cannot provide a placement group of placement_group_specs=[{'GPU': 1.0}] within 1800 seconds.
The actor or task cannot be scheduled right now.
TimeoutError: placement group creation timed out
""",
    ),
    Symptom(
        id="ray-node-died",
        title="a node, or a worker, of Ray died",
        docs="Its own log says why; the memory monitor of Ray kills workers when the node is almost full.\n",
        printed_by="Ray",
        releases="Ray 1.x and 2.x",
        role="consequence",
        literals=("has been marked dead", "raylet died", "Raylet is terminated", "The actor died", "RayActorError", "WorkerCrashedError", "died unexpectedly", "low on memory", "OutOfMemoryError", "NodeDiedError", "Raylet died", "ActorDiedError", "LocalRayletDiedError"),
        patterns=(r"killed due to the node running low on memory|ray\.exceptions\.OutOfMemoryError", r"has been marked dead because|(?:[Rr]aylet|The actor) died|Raylet is terminated|(?:RayActor|ActorDied|WorkerCrashed|NodeDied|LocalRayletDied)Error|A worker died or was killed|worker died unexpectedly"),
        causes=(
            Cause("memory", "code", "the node ran out of memory, so Ray killed workers", "ask for more memory, or give tasks more CPUs so that fewer run at once", log=says("emory")),
            Cause("node", "cluster", "a node or a worker of Ray ended", "look at the logs of that node in /tmp/ray/session_latest/logs", unproven="possible"),
        ),
        matches="""\
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
The node with node id: 4711 and address: 10.0.0.2 has been marked dead because the detector has missed too many heartbeats from it.
ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.
""",
    ),
    Symptom(
        id="jax-processes-missing",
        title="not all processes of JAX joined",
        docs="`jax.distributed.initialize` waits for num_processes; under Slurm it takes them from SLURM_NTASKS, so each has to be a task of one srun.\n",
        printed_by="JAX (coordination service)",
        releases="all releases; `/job:jax_worker/replica:0/task:` names those that are missing",
        literals=("Barrier timed out", "PjRT_Client_Connect", "coordination service", "CoordinationService", "Coordination service", "heartbeat timeout", "Timed out task names", "Unexpected task registration"),
        patterns=(r"DEADLINE_EXCEEDED: .*(?:Barrier timed out|PjRT_Client_Connect|RegisterTask|Getting key)", r"Barrier timed out\. (?:Barrier_id|Id): ?(?P<barrier>[^. ]+)", r"DEADLINE_EXCEEDED.*[Cc]oordination ?[Ss]ervice|Failed to connect to (?:the )?(?:distributed|coordination) service"),
        causes=(
            Cause("tasks-of-script", "script", "not all processes that JAX waits for are started", "start them with one srun, one task for each process", codes=("SB311", "SB312", "SB324", "SB304", "SB401", "SB402", "SB306", "SB404")),
            Cause("processes", "code", "the program waits for more processes than are started", "call jax.distributed.initialize() without arguments under srun, or take num_processes from SLURM_NTASKS"),
        ),
        matches="""\
jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:
E0512 Barrier timed out. Id: PjRT_Client_Connect::0::1. # of tasks that reached the barrier: 1/8.
RuntimeError: DEADLINE_EXCEEDED: Failed to connect to coordination service
""",
    ),
    Symptom(
        id="jax-task-lost",
        title="a process of JAX is gone",
        docs="The others end themselves; the one that went first has the reason.\n",
        printed_by="JAX (coordination service)",
        role="consequence",
        literals=("Terminating process because the", "heartbeat timeout", "unhealthy tasks", "has disconnected", "JAX distributed service detected fatal errors", "detected fatal errors"),
        patterns=(r"Terminating process because the JAX distributed service|JAX distributed service detected fatal errors|heartbeat timeout\. This indicates|unhealthy tasks",),
        causes=(Cause("other", "code", "another process of JAX ended", "look for the task whose log stops first", unproven="possible"),),
        matches="F0512 client.h:77] Terminating process because the JAX distributed service detected fatal errors.\n/job:jax_worker/task:3 heartbeat timeout. This indicates that the remote task has failed\n",
    ),
    Symptom(
        id="jax-initialize",
        title="jax.distributed.initialize was called in the wrong way",
        docs="It has to be called before anything else of JAX, once in each process, and with what Slurm does not provide.\n",
        printed_by="JAX (distributed.py)",
        releases="0.4 and later",
        literals=("coordinator_address should be defined", "Number of processes must be defined", "jax.distributed.initialize() must be called before", "distributed.initialize should only be called once", "process_id and num_processes must be"),
        patterns=(r"coordinator_address should be defined|Number of processes must be defined|jax\.distributed\.initialize\(\) must be called before|distributed\.initialize should only be called once|process_id and num_processes must be",),
        causes=(
            Cause("not-under-srun", "script", "the program is not a task of srun, so JAX does not learn its rank", "start it with srun", codes=("SB312", "SB311"), script=_plain_programs, log=says("defined")),
            Cause("program", "code", "the program calls jax.distributed.initialize in the wrong way", "call it first, once, and without arguments under srun"),
        ),
        matches="ValueError: coordinator_address should be defined.\nRuntimeError: jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA backend.\n",
    ),
)
