"""torchrun (torch.distributed.elastic): the rendezvous, and the end of workers."""

import re

from sbatchlint.diagnose.clues import group_matches, matches, possible
from sbatchlint.diagnose.evidence import shown, spans_of
from sbatchlint.diagnose.symptom import Cause, Event, Example, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.worlds import find_worlds


def _in_batch_shell(job: Job, event: Event) -> Verdict:
    """The launchers for several nodes that run in the batch shell, on the first node alone."""
    found = [world for world in find_worlds(job) if world.launch is not None and world.in_batch_shell]
    several = [world for world in found if world.nodes_setting.several is not False]
    return shown(spans_of(several))


def _on_all_nodes(job: Job, event: Event) -> Verdict:
    """Launchers that srun starts once on each node."""
    worlds = [world for world in find_worlds(job) if world.launch is not None and world.several_nodes]
    found = [world for world in worlds if not world.in_batch_shell and world.starts_per_node == 1]
    return shown(spans_of(found))


def _default_endpoint(job: Job, event: Event) -> Verdict:
    """The launchers with no `endpoint` in the words after them, if the script uses a rendezvous at all."""
    text = job.source.text
    spans = spans_of(world for world in find_worlds(job) if world.launch is not None)
    without_endpoint = tuple(each for each in spans if "endpoint" not in text[each.start : each.end + 400])
    return shown(without_endpoint) if "rdzv" in text else None


def _launches(job: Job, event: Event) -> Verdict:
    return shown(tuple(world.span for world in find_worlds(job) if world.launch is not None), "possible")


# The words of launchers that start workers: a frame in a file of theirs, or the option that they give to a worker.
_LAUNCHER = re.compile(
    r'^ *File "[^"]{0,400}/(?:accelerate|deepspeed|torch/distributed|colossalai|horovod)/|--local[_-]rank[=\'" ]'
)


def _by_launcher(event: Event) -> bool | None:
    """A launcher raises it: the frames above or the command itself are those of one."""
    return possible(any(map(_LAUNCHER.search, (event.text, *event.above))))


_WORLD = (
    "SB303", "SB304", "SB305", "SB306", "SB307", "SB308", "SB309", "SB312", "SB313", "SB321", "SB301", "SB401", "SB402",
)  # fmt: skip

# fmt: off
SYMPTOMS = (
    Symptom(
        id="rendezvous-shutdown",
        title="the rendezvous was lost: its store belongs to another job, or is gone",
        docs="Several jobs on one node that use the default endpoint (localhost:29400) share the store of the first; when that ends, the others lose it. In a job of several nodes, the launchers that outlive the first one print it.\n",
        printed_by="torch (dynamic_rendezvous.py, c10d_rendezvous_backend.py)",
        releases="torch 1.9 and later",
        role="consequence",
        literals=("has failed to shutdown the rendezvous", "has failed to send a keep-alive heartbeat", "The connection to the C", "RendezvousConnectionError", "RendezvousGracefulExitError", "RendezvousClosedError", "SignalException", "RendezvousStateError"),
        patterns=(
            r"has failed to (?:shutdown the rendezvous|send a keep-alive heartbeat to the rendezvous) .*due to an error of type (?P<error>\w+)",
            r"(?P<error>Rendezvous(?:Connection|Closed|GracefulExit|State)Error)\b",
        ),
        causes=(
            Cause("shared", "script", "several jobs on the node use the default endpoint of the rendezvous, and share one store", "give each its own: --rdzv-endpoint=localhost:0, or --standalone", codes=("SB322", "SB332", "SB305"), script=_default_endpoint),
            Cause("nodes-apart", "script", "the launchers cannot find each other", "see the finding", codes=(*_WORLD, "SB320")),
            Cause("first-node", "code", "the launcher that holds the store did not start, or had already ended", "look at the log of the first node", unproven="possible"),
        ),
        matches="""\
WARNING:torch.distributed.elastic.rendezvous.dynamic_rendezvous:The node 'n4_388_0' has failed to shutdown the rendezvous '9987' due to an error of type RendezvousConnectionError
torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.
torch.distributed.elastic.rendezvous.api.RendezvousClosedError
""",
    ),
    Symptom(
        id="rendezvous-timeout",
        title="not all launchers joined the rendezvous",
        docs="""\
torchrun (and accelerate) waits for `--nnodes` launchers. One that runs in the batch shell, without srun, is alone; so is one
whose endpoint, id or node rank differs from the others'.
""",
        printed_by="torch (dynamic_rendezvous.py, static_tcp_rendezvous.py)",
        releases="torch 1.9 and later",
        literals=("RendezvousTimeoutError", "Timed out waiting for all", "did not join the rendezvous"),
        patterns=(r"RendezvousTimeoutError",),
        causes=(
            Cause("first-node-only", "script", "the launcher runs in the batch shell, on the first node alone", "start it with srun, one task for each node", codes=("SB312", *_WORLD[:7], *_WORLD[8:], "SB320"), script=_in_batch_shell),
            Cause("not-reached", "cluster", "the script starts a launcher on every node, and not all reached the others: a node started late, or the network between them does not let them through", "look at the output of each node; try the address of another interface as endpoint, and --exclude the node that is missing", script=_on_all_nodes),
            Cause("nodes-missing", "submission", "some of the expected launchers never joined: they were not started, or use another endpoint or id", "start one on every node with srun, all with the same endpoint and id"),
        ),
        matches="torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
    ),
    Symptom(
        id="torchrun-arguments",
        title="torchrun rejects its options",
        docs="Often a variable is empty where the launcher runs.\n",
        printed_by="torch (run.py, rendezvous/utils.py)",
        releases="torch 1.9 and later",
        literals=("MIN:MAX", "nproc_per_node value", "rdzv_endpoint", "run id must be a non-empty", "min_nodes must be", "rendezvous endpoint must be", "port number of the rendezvous endpoint", "hostname of the rendezvous endpoint", "rank is absent in RendezvousParameters", "error: argument --nproc", "error: argument --nnodes", "error: argument --node", "error: argument --master", "error: argument --rdzv", "error: argument --num_processes", "error: argument --num_machines", "error: argument --machine_rank", "error: argument --main_process", "is absent in Rendezvous"),
        patterns=(
            r"is not in \"MIN:MAX\" format|Unsupported nproc_per_node value: |min_nodes must be > 0",
            r"(?:port number|hostname) of the rendezvous endpoint '(?P<value>[^']*)' must|run id must be a non-empty string|is absent in RendezvousParameters",
            r"error: argument (?P<option>--?(?:nproc|nnodes|node|master|rdzv|num_processes|num_machines|machine_rank|main_process)[\w-]*)\S*: (?:expected|invalid)",
        ),
        causes=(
            Cause("empty-variable", "script", "an option of the launcher gets an empty or wrong value from the script", "see the finding: the variable is not set where the launcher starts", codes=("SB409", "SB414", "SB410", "SB401", "SB405", "SB408", "SB411", "SB419", "SB425", "SB613", "SB415", "SB431", "SB614", "SB430", "SB320")),
            Cause("option", "script", "an option of the launcher has a value that it does not accept", "look at the launcher's options as the log shows them", script=_launches),
            Cause("option-elsewhere", "submission", "an option of the launcher has a value that it does not accept", "look at the launcher's options, and at the variables in them"),
        ),
        matches="""\
RuntimeError: nnodes=  is not in "MIN:MAX" format
ValueError: Unsupported nproc_per_node value: gpu:4
ValueError: The port number of the rendezvous endpoint 'n1:' must be an integer between 0 and 65536.
torchrun: error: argument --nproc-per-node/--nproc_per_node: expected one argument
accelerate: error: argument --num_processes: invalid int value: ''
""",
    ),
    Symptom(
        id="worker-failed",
        title="a worker of the launcher failed",
        docs="The launcher's report says which rank failed first (`Root Cause`) and how; the error itself is in that rank's own output. -9 is SIGKILL (usually out of host memory), -11 SIGSEGV, -6 SIGABRT, -15 SIGTERM.\n",
        printed_by="torch (elastic), accelerate, deepspeed, subprocess",
        releases="torch 1.9 and later",
        role="teardown",
        literals=("ChildFailedError", "failed (exitcode: ", "Root Cause (first observed", "exits with return code", "returned non-zero exit status", "Killing subprocess", "exitcode  :", "Sending process", "closing signal", "traceback : Signal", "CalledProcessError", "ProcessRaisedException", "ProcessExitedException", "RayTaskError", "got signal: ", "closing signal SIGTERM"),
        patterns=(
            r"^torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError|elastic\.multiprocessing\.api\.SignalException|got signal: \d+",
            r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<rank>\d+)",
            r"Root Cause \(first observed failure\)",
            r"multiprocessing\.spawn\.Process(?:Raised|Exited)Exception|ray\.exceptions\.RayTaskError",
            r"exits with return code = (?P<code>-?\d+)|Killing subprocess \d+",
            r"Sending process \d+ closing signal|traceback : Signal \d+",
        ),
        causes=(
            Cause("killed", "submission", "a worker was killed from outside, with nothing in the log that says why: usually host memory", "look at `sacct -j JOB --format=JobID,State,MaxRSS,ReqMem`", log=group_matches("code", "^-9$"), unproven="possible"),
            Cause("program", "code", "a worker failed; its own output has the reason", "look at the first traceback above, or run with TORCHELASTIC_ERROR_FILE or @record", unproven="possible"),
        ),
        matches="""\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
E0512 failed (exitcode: -9) local_rank: 3 (pid: 4711) of binary: /opt/venv/bin/python
Root Cause (first observed failure):
torch.multiprocessing.spawn.ProcessRaisedException:
[2024-05-12 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = 1
W0512 Sending process 4712 closing signal SIGTERM
""",
    ),
    Symptom(
        id="command-failed",
        title="a command that a Python program started failed",
        docs="The command has printed its reason above, unless the program took its output. Launchers (accelerate, deepspeed) end so as well, after one of their workers has failed.\n",
        printed_by="python (subprocess)",
        role="teardown",
        literals=("CalledProcessError",),
        patterns=(r"subprocess\.CalledProcessError: Command .* (?:returned non-zero exit status|died with)",),
        causes=(
            Cause("not-reached", "cluster", "a node could not be reached by ssh", "ssh between nodes may be disabled, or require a key: let srun start the workers", log=matches(r"Command \W*(?:ssh|pdsh|scp|rsync)\b")),
            Cause("worker", "code", "a worker of the launcher failed; its own output has the reason", "look at the first traceback above, or run with TORCHELASTIC_ERROR_FILE or @record", log=_by_launcher, unproven="possible"),
            Cause("command", "code", "a command that the program runs failed", "look at what the command printed above; if there is nothing, let the program print its `stderr`", unproven="possible"),
        ),
        matches="subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.\n",
        examples=(
            Example("  File \"/work/prepare.py\", line 3, in <module>\n    subprocess.check_call(['git', 'clone', 'x'])\nsubprocess.CalledProcessError: Command '['git', 'clone', 'x']' returned non-zero exit status 128.\n", None, "command", "possible"),
            Example("  File \"/venv/lib/python3.11/site-packages/accelerate/commands/launch.py\", line 763, in simple_launcher\n    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)\nsubprocess.CalledProcessError: Command '['/venv/bin/python', 'train.py']' returned non-zero exit status 1.\n", None, "worker", "possible"),
            Example("subprocess.CalledProcessError: Command '['/usr/bin/python', '-u', 'train.py', '--local_rank=3']' returned non-zero exit status 1.\n", None, "worker", "possible"),
        ),
    ),
    Symptom(
        id="harmless-launcher-warning",
        title="harmless: a launcher reports its defaults",
        docs="`OMP_NUM_THREADS` is set to 1 for each process; `master_addr` is used by the static rendezvous only.\n",
        printed_by="torch (run.py)",
        releases="torch 1.9 and later",
        role="harmless",
        literals=("OMP_NUM_THREADS environment variable", "master_addr is only used for static", "barrier will use", "destroy_process_group() was not called", "no error file defined for parent"),
        patterns=(r"no error file defined for parent|Setting OMP_NUM_THREADS environment variable|master_addr is only used for static|destroy_process_group\(\) was not called",),
        matches="Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded\nmaster_addr is only used for static rdzv_backend and when rdzv_endpoint is not specified.\n",
    ),
)
