"""torch.distributed: stores, process groups, collectives."""

import re

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.diagnose.clues import begins, matches, number, possible, says
from sbatchlint.diagnose.evidence import containing, matching, settings, several_tasks, shown, spans_of, variables
from sbatchlint.diagnose.printed import before
from sbatchlint.diagnose.questions import assigns, steps
from sbatchlint.diagnose.subjects import working
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex


def _fixed_port(job: Job, event: Event) -> Verdict:
    """The port of the message is written in the script."""
    port = event.groups.get("port")
    return shown(containing(job, variables(job, "MASTER_PORT"), port), "certain") if port else None


def _several_nodes(job: Job, event: Event) -> Verdict:
    """The request for several nodes, and what starts the processes there; ruled out on one node."""
    asked = settings(job, "nodes")
    is_several = any(re.search(r"[2-9]|\d\d", each.text or "") for each in asked)
    return shown(spans_of((*asked, *job.steps))) if is_several else RULED_OUT


def _several_failed(event: Event) -> bool | None:
    """Several tasks of a node say it, or end, or share a GPU; of two jobs with one port each has one that does."""
    near = " ".join((*event.above, *event.below))
    several = re.search(r"srun: error: \S+: tasks \d+[-,]|Duplicate GPU detected", near)
    return possible(several or len(event.tasks) > 1)


def _ephemeral(event: Event) -> bool | None:
    """Ports from 32768 on are those that Linux assigns by itself (net.ipv4.ip_local_port_range)."""
    port = number(event, "port")
    return None if port is None else port >= 32768


def _port_in_script(job: Job, event: Event) -> Verdict:
    """The commands and assignments of the script with the port of the message."""
    port = event.groups.get("port")
    if not port:
        return None
    written = rf"(?<![\w.]){port}(?![\w.])"
    found = matching(job, job.assignments, written) + matching(job, job.invocations, written)
    return shown(tuple(dict.fromkeys(found))[:3])


_LAUNCHERS = re.compile(r"torchrun|torch\.distributed|accelerate|deepspeed|MASTER_PORT|srun|mpirun")


def _no_launcher(job: Job, event: Event) -> Verdict:
    """A script that starts no launcher, and the command that does its work."""
    if _LAUNCHERS.search(job.source.text):
        return None
    return shown(tuple(command.span for _, command in working(job))[-1:])


_IN_LAUNCHER = Regex(r"/bin/torchrun|torch/distributed/run\.py|/bin/accelerate|/bin/deepspeed")


def _in_launcher(event: Event) -> bool | None:
    """The traceback is that of a launcher."""
    return possible(any(map(_IN_LAUNCHER.search, event.above[-12:])))


def _one_launcher(job: Job, event: Event) -> Verdict:
    """Launchers of which each node starts several; with one task there is only one."""
    found = tuple(world.span for world in find_worlds(job) if (world.starts_per_node or 1) > 1)
    found = found or (several_tasks(job) if not job.steps else ())
    if found:
        return Shown(found, None, "likely")
    return RULED_OUT if job.steps and all(each.tasks == 1 for each in job.steps) else None


# What programs print of how many ranks there are: `world_size=8`, `nranks 8`, `MEMBER: 1/8`, `Starting with 8 processes`.
_ALL_RANKS = re.compile(
    r"(?i)\bworld[_ ]?size\W{1,4}(\d{1,6})\b|\bnranks\W{1,3}(\d{1,6})\b|\bMEMBER: \d{1,6}/(\d{1,6})\b"
    r"|\bStarting with (\d{1,6}) processes\b"
)


def _without_rank_zero(event: Event) -> bool | None:
    """All ranks waited but rank 0, of as many as the log says that there are, and the first collective had gone well."""
    ranks = {parse_integer(each[4:]) for each in event.tasks if re.fullmatch(r"rank\d{1,6}", each)}
    told = {parse_integer(number) for line in before(event) for number in _numbers(line)}
    return possible(ranks and told == {len(ranks) + 1} and ranks == set(range(1, len(ranks) + 1))
                    and not _first_collective(event))  # fmt: skip


def _numbers(line: str) -> list[str]:
    return [number for match in _ALL_RANKS.finditer(line) for number in match.groups() if number]


def _first_node_only(job: Job, event: Event) -> Verdict:
    """Launchers that the batch shell starts once, and that are told of several nodes."""
    found = [world for world in find_worlds(job) if world.launcher is not None and world.in_batch_shell]
    return shown(spans_of(world for world in found if world.nodes_setting.several))


def _own_network(job: Job, event: Event) -> Verdict:
    """Containers of docker and podman that do not share the network of the node, in a job of several nodes."""
    starts = [start for ways in container_starts(job) for start in ways if start.is_isolated]
    found = [each for each in starts if each.container.option("network", "net") is None]
    nodes = job.request.nodes
    return None if nodes is not None and nodes.maximum == 1 else shown(tuple(each.place for each in found))


def _submit_host(job: Job, event: Event) -> Verdict:
    """The address comes from a variable that names no node of the job."""
    return shown(containing(job, job.assignments, "SLURM_SUBMIT_HOST", "SLURM_LAUNCH_NODE_IPADDR"), "certain")


# Where the script sets the address.
_address = assigns("MASTER_ADDR", "MAIN_PROCESS_IP", "head_node_ip", "HEAD_NODE_IP", "RDZV_HOST", confidence="possible")


def _low_port(job: Job, event: Event) -> Verdict:
    """The port is written in the script, perhaps with zeros before it."""
    port = event.groups.get("port")
    return shown(matching(job, job.assignments, rf"(?:^|=)['\" ]*0*{port}['\" ]*$"), "certain") if port else None


# Other ranks wait for the identity that rank 0 distributes before the first collective.
_of_rank_zero = matches(r"ncclUniqueId from \[0\]")


# The ranks work together from the first one on: where that does not end, it is not the work that keeps them.
_first_collective = matches(r"\bSeqNum=1\b")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="port-privileged",
        title="the port of the rendezvous is below 1024",
        docs="Ports below 1024 are for root.\n",
        printed_by="torch (c10d socket), Python",
        releases="`errno: 13 - Permission denied`; from torch 2.2 on `code: -13, name: EACCES`",
        literals=("failed to bind to", "name: EACCES"),
        patterns=(r"failed to bind to \S+:(?P<port>\d+) \(errno: 13", r"port: (?P<port>\d{1,3}),.*name: EACCES"),
        causes=(
            Cause("low-port", "script", "port {port} is below 1024, which only root may take", "take a port from 10000 to 32767", script=_low_port),
            Cause("low-port-given", "submission", "port {port} is below 1024, which only root may take", "take a port from 10000 to 32767", unproven="certain"),
        ),
        matches="""\
[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:97 (errno: 13 - Permission denied).
torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 97, useIpv6: false, code: -13, name: EACCES, message: permission denied
""",
    ),
    Symptom(
        id="address-in-use",
        title="the port of the rendezvous is in use",
        docs="""\
The process that is to listen for all others cannot: another process of the node has the port. Where all tasks of a node
but one say so, each task starts a launcher of its own. Where one says so, another job of the node has the same port.
""",
        printed_by="torch (c10d TCPStore, elastic), Python, gRPC, Ray, vLLM",
        releases="`errno: 98 - Address already in use`; from torch 2.2 on `code: -98, name: EADDRINUSE` (socket.cpp)",
        literals=("EADDRINUSE", "ddress already in use", "already in use)", "already in use", "(errno: ", " is not available"),
        patterns=(
            r"port: (?P<port>\d+),.*EADDRINUSE",
            r"(?:\]|0\.0\.0\.0|\S):(?P<port>\d+) \(errno: 98",
            r"\('[\w.:]*', (?P<port>\d+)\): address already in use",
            r"EADDRINUSE|[Aa]ddress already in use",
            r"^already in use\)",
            r"[Pp]ort:? (?P<port>\d+) (?:is )?(?:already in use|not available)",
        ),
        causes=(
            Cause("launcher-per-task", "script", "every task of the node starts a launcher, and only the first can have the port", "start one task for each node, and let the launcher start the processes", codes=("SB301", "SB302", "SB314", "SB317"), script=_one_launcher),
            Cause("port-of-two-launchers", "script", "two launchers of this job take the same port", "give each its own port", codes=("SB332",)),
            Cause("one-node-rank", "script", "the launchers of the nodes do not agree on one server and its port", "see the finding", codes=("SB308", "SB305")),
            Cause("several-launchers", "submission", "several tasks of a node start a launcher each, and only the first can have the port", "start one task for each node, and let the launcher start the processes", log=_several_failed),
            Cause("ephemeral-port", "cluster", "port {port} is one of those that Linux assigns by itself: any program of the node may have it", "take a port from 10000 to 32767, or let the rendezvous choose one", log=_ephemeral),
            Cause("fixed-port", "script", "port {port} is in the script, and another job of the node has it", "derive the port from the job: MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))", codes=("SB322",), script=_fixed_port),
            Cause("port-of-script", "script", "port {port} is in the script, and another program of the node, of this job or of another, has it", "derive the port from the job: PORT=$((10000 + SLURM_JOB_ID % 20000)), and give each program of the job its own", script=_port_in_script),
            Cause("launcher-of-program", "code", "the program that the script calls starts a launcher itself, which takes its default port {port}, and another job of the node has it", "let the program start it with --standalone, or hand it a port of the job (MASTER_PORT, --master_port)", script=_no_launcher, log=_in_launcher),
            Cause("other-job", "cluster", "another program of the node has the port", "derive the port from the job: MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))", unproven="possible"),
        ),
        matches="""\
torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 57062, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use
RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).
address. The server socket has failed to bind to [::]:29600 (errno: 98 - Address
already in use). The server socket has failed to bind to 0.0.0.0:29600 (errno:
OSError: [Errno 98] Address already in use
ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use
RuntimeError: Port 29500 is already in use
""",
        others="The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).\n",
        examples=(
            Example(
                "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n",
                "#!/bin/bash\n#SBATCH --nodes=2\n«#SBATCH --ntasks-per-node=4»\n#SBATCH --gpus-per-node=4\n«srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$E train.py»\n",
                "launcher-per-task",
            ),
        ),
    ),
    Symptom(
        id="server-cannot-listen",
        title="the store of the rendezvous cannot listen",
        docs="The reason is in the lines above: the port is taken, is below 1024, or the address is not one of this node.\n",
        printed_by="torch (c10d socket)",
        releases="torch 1.10 on, socket.cpp",
        role="consequence",
        literals=("failed to listen on any local network", "Cannot assign requested address"),
        patterns=(r"The server socket has failed to listen on any local network", r"^(?!.*client socket).*Cannot assign requested address"),
        causes=(
            Cause("address", "script", "the store of the rendezvous cannot listen at that address: it is not one of this node", "take the name of the job's first node", codes=("SB306", "SB404"), script=_address),
            Cause("address-of-node", "submission", "the store of the rendezvous cannot listen at that address", "look at MASTER_ADDR and MASTER_PORT", unproven="possible"),
        ),
        matches="""\
[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.
OSError: [Errno 99] Cannot assign requested address
""",
    ),
    Symptom(
        id="store-unreachable",
        title="nothing listens at the address of the rendezvous",
        docs="""\
The processes look for rank 0's store at MASTER_ADDR and MASTER_PORT, or at `--rdzv_endpoint`. It is not there when the address is not
that of a node of the job (the submit host, localhost), when no process of that node was started, or when a firewall is between.
""",
        printed_by="torch (c10d socket, TCPStore)",
        releases="`The client socket has timed out after 900s` 1.10 and later; `TCP client failed to connect/validate to host` 2.5 and later; `connect() timed out` before 1.10",
        literals=("client socket has timed out", "failed to connect/validate to host", "has failed to connect to any network address", "connect() timed out", "Timed out after "),
        patterns=(
            r"client socket has timed out after \S+ while trying to connect to \((?P<host>[^,]+), (?P<port>\d+)\)",
            r"failed to connect/validate to host (?P<host>\S+?):(?P<port>\d+)",
            r"client socket has failed to connect to any network address of \((?P<host>[^,]+), (?P<port>\d+)\)",
            r"RuntimeError: connect\(\) timed out",
            r"Timed out after \d+ seconds waiting for clients",
        ),
        causes=(
            Cause("submit-host", "script", "the address is not that of a node of the job, so nothing listens at {host}", "take the first node: scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n1", script=_submit_host),
            Cause("rendezvous-apart", "script", "the processes look for each other at different addresses", "see the finding", codes=("SB306", "SB309", "SB401", "SB402", "SB403", "SB404", "SB405", "SB417", "SB418", "SB321")),
            Cause("not-all-started", "script", "not all of the expected processes are started", "see the finding", codes=("SB312", "SB304", "SB307", "SB308", "SB311", "SB313", "SB324", "SB303")),
            Cause("one-node", "script", "the batch shell starts the launcher on the first node only, and it waits for the others", "start it with srun, once on each node", script=_first_node_only),
            Cause("container-network", "script", "the processes run in containers with a network of their own", "give docker --network=host", codes=("SB510",)),
            Cause("address-of-script", "script", "nothing listens at {host}, the address that the script gives", "take the first node of the job, and look whether rank 0 started", script=_address),
            Cause("rank-zero", "cluster", "nothing listens at {host}: rank 0 did not start or ended before, or a firewall is between the nodes", "look at the log of rank 0, and whether the nodes reach each other there"),
        ),
        matches="""\
[E socket.cpp:860] [c10d] The client socket has timed out after 900s while trying to connect to (head-1, 12234)
torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500).
[rank3]:[E] TCP client failed to connect/validate to host gpu01:29500 - timed out
[W socket.cpp:436] [c10d] The client socket has failed to connect to any network address of (gpu01, 29500).
RuntimeError: connect() timed out.
torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/16 clients joined.
""",
    ),
    Symptom(
        id="own-name-not-resolved",
        title="the name of a node cannot be resolved",
        docs="torch warns of it for each kind of address (IPv6, IPv4); where only one of them is missing, the job goes on.\n",
        printed_by="torch (c10d socket)",
        releases="torch 1.11 on, socket.cpp",
        near_end=60,
        role="consequence",
        literals=("cannot be retrieved (gai error",),
        patterns=(r"addresses of \((?P<host>[^,]+), \d+\) cannot be retrieved \(gai error",),
        causes=(
            Cause("not-a-host", "script", "{host} is not the name of a host: the script turns it into something else", "see the finding", codes=("SB418", "SB404", "SB403", "SB401", "SB417", "SB419", "SB405", "SB409", "SB306")),
            Cause("name-of-script", "script", "the nodes do not know {host}, the name that the script gives", "take the name of a node as `scontrol show hostnames` prints it", script=_submit_host),
            Cause("dns", "cluster", "the node cannot resolve the name {host}", "let the site put it into DNS or /etc/hosts, or use the address"),
        ),
        matches="[W socket.cpp:601] [c10d] The IPv6 network addresses of (user, 53821) cannot be retrieved (gai error: -3 - Temporary failure in name resolution).\n",
    ),
    Symptom(
        id="host-not-resolved",
        title="the name of a host cannot be resolved",
        docs="The node does not know the name: it is not in DNS or /etc/hosts, or the value is not a name of a host at all (a whole node list, a name that is expanded too early).\n",
        printed_by="torch (c10d socket), Python, ssh, the C library",
        releases="`gai error: -3 - Temporary failure in name resolution`, `[Errno -2] Name or service not known`",
        literals=("Name or service not known", "failure in name resolution", "Could not resolve hostname", "No address associated with hostname", "nodename nor servname"),
        patterns=(
            r"Could not resolve hostname (?P<host>[^:\s]+)",
            r"Name or service not known|failure in name resolution|No address associated with hostname|nodename nor servname",
        ),
        causes=(
            Cause("not-a-host", "script", "{host} is not the name of a host: the script turns it into something else", "see the finding", codes=("SB418", "SB404", "SB403", "SB401", "SB417", "SB419", "SB405", "SB409", "SB306", "SB335", "SB441")),
            Cause("name-of-script", "script", "the nodes do not know {host}, the name that the script gives", "take the name of a node as `scontrol show hostnames` prints it", script=_submit_host),
            Cause("container-network", "script", "the container has a network of its own, in which the names of the nodes are not known", "give docker run --network=host", codes=("SB510",), script=_own_network),
            Cause("no-internet", "cluster", "the compute node has no access to the internet", "download before the job, or use the site's proxy", log=lambda event: None if any(word in event.text + " ".join(event.above[-4:]) for word in ("http", "urllib", "huggingface", "wandb", "pypi", "git")) else False),
            Cause("dns", "cluster", "the node cannot resolve the name {host}", "let the site put it into DNS or /etc/hosts, or use the address"),
        ),
        matches="""\
ssh: Could not resolve hostname gpu[01-02]: Name or service not known
socket.gaierror: [Errno -2] Name or service not known
""",
    ),
    Symptom(
        id="rank-variable-missing",
        title="the program was not started by a launcher, and got no rank",
        docs="`init_process_group` with `env://` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which torchrun sets and srun does not.\n",
        printed_by="torch (rendezvous.py)",
        releases="torch 1.0 and later",
        literals=("initializing torch.distributed using env", "environment variable RANK expected", "expected, but not set", "KeyError: 'RANK'", "KeyError: 'LOCAL_RANK'", "KeyError: 'WORLD_SIZE'", "KeyError: 'MASTER_ADDR'", "KeyError: 'MASTER_PORT'", "KeyError: 'SLURM_"),
        patterns=(r"environment variable (?P<name>\w+) expected, but not set", r"KeyError: '(?P<name>RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|SLURM_\w+)'"),
        causes=(
            Cause("not-exported", "script", "{name} is set in the script, but not for the program", "export it", codes=("SB408", "SB508", "SB515", "SB324", "SB401", "SB405", "SB409", "SB316", "SB413")),
            Cause("no-launcher", "script", "the program needs {name}, which nothing that starts it sets", "start it with torchrun, or set RANK from SLURM_PROCID, LOCAL_RANK from SLURM_LOCALID and WORLD_SIZE from SLURM_NTASKS in each task", codes=("SB333", "SB311", "SB312", "SB609", "SB514"), script=steps("possible")),
            Cause("not-by-slurm", "submission", "the program needs {name}, which Slurm sets in its jobs and steps, and was not started by it", "start it with srun, in a job", log=begins("name", "SLURM_")),
            Cause("started-alone", "code", "the program needs {name}, which nothing that starts it sets", "start it with torchrun, or let it take its rank from Slurm"),
        ),
        matches="""\
ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set
KeyError: 'LOCAL_RANK'
KeyError: 'SLURM_PROCID'
""",
    ),
    Symptom(
        id="no-gpus-for-nccl",
        title="the process group needs GPUs, but there are none",
        docs="The process sees no GPU: see `no-gpu`.\n",
        printed_by="torch (ProcessGroupNCCL.cpp)",
        releases="torch 1.8 and later",
        literals=("ProcessGroupNCCL is only supported with GPUs", "doesn't have NCCL built in"),
        patterns=(r"ProcessGroupNCCL is only supported with GPUs, no GPUs found", r"doesn't have NCCL built in"),
        causes=(
            Cause("not-asked", "script", "the job, or the step, has no GPU", "ask for GPUs", codes=("SB201", "SB208", "SB206", "SB512", "SB212", "SB211")),
            Cause("not-seen", "cluster", "the process sees no GPU", "look at `nvidia-smi` and CUDA_VISIBLE_DEVICES in the step"),
        ),
        matches="ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!\nRuntimeError: Distributed package doesn't have NCCL built in\n",
    ),
    Symptom(
        id="store-lost",
        title="the store of the ranks is gone",
        docs="Rank 0, or the launcher that holds the store, has ended: another process failed before.\n",
        printed_by="torch (c10d TCPStore)",
        releases="torch 1.10 and later",
        role="consequence",
        literals=("Connection reset by peer", "Broken pipe", "Connection was likely closed", "recvValue failed", "sendBytes failed", "Connection closed by peer", "recvVector failed", "failed to recv, got", "Socket closed", "TCPStore server shut down", "Failed to check the \"should dump\" flag", "Socket Timeout", "Connection refused", "wait timeout after"),
        patterns=(
            r"(?:recvValue|recvVector|sendBytes) failed|Connection was likely closed|failed to recv, got 0 bytes",
            r"(?:torch\.distributed\.Dist\w+Error|RuntimeError|ConnectionResetError|ConnectionRefusedError|BrokenPipeError): (?:\[[^\]]*\] ?)*:? ?(?:Connection (?:reset by peer|refused|closed by peer)|Broken pipe|Socket Timeout)",
            r"gloo/transport.*(?:Connection closed by peer|Connection reset|Timed out|Broken pipe)",
            r"TCPStore server shut down too early|Failed to check the \"should dump\" flag",
            r"torch\.distributed\.DistStoreError: (?:wait timeout|Socket Timeout)",
            r"wait timeout after \d+ms",
        ),
        causes=(
            Cause("on-loopback", "script", "gloo meets on a loopback address, by which only processes of the same node reach each other: the nodes know their own names as 127.0.…", "export GLOO_SOCKET_IFNAME with the interface of the network (`ip -br addr` on a node names it) before srun; tell the site of its /etc/hosts", script=_several_nodes, log=matches(r"gloo/.*\[?\b127\.0\.\d+\.\d+")),
            Cause("rank-zero", "code", "rank 0 did not answer within the timeout: it ended before (an exception, memory), was still busy (a download, a checkpoint), or is not reached", "look at the output of rank 0 first; where it only was slow, give init_process_group a longer timeout; where only ranks of other nodes say it, try other nodes", log=_of_rank_zero),
            Cause("other-rank", "code", "another process ended before, and with it the connection", "look for the rank whose log stops first", unproven="possible"),
        ),
        matches="""\
torch.distributed.DistNetworkError: failed to recv, got 0 bytes
[W socket] recvValue failed on SocketImpl(fd=3, addr=[n1]:4711, remote=[n0]:29500): Connection reset by peer
RuntimeError: Broken pipe
RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:4711
ConnectionRefusedError: [Errno 111] Connection refused
[W] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early)
torch.distributed.DistStoreError: Socket Timeout
torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cuda//init
torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0
""",
    ),
    Symptom(
        id="collective-timeout",
        title="a collective did not end: some ranks did not come",
        docs="""\
The ranks wait for each other in a collective, and the watchdog ends them after its timeout. One of them ended before, does other
work (a checkpoint, an evaluation on rank 0 alone), hangs, or calls another collective. The first rank to stop has the reason.
""",
        printed_by="torch (ProcessGroupNCCL.cpp, ProcessGroupGloo.cpp)",
        releases="`Watchdog caught collective operation timeout` 1.8 and later; `Timeout(ms)=1800000` by default, 600000 from 2.2 on",
        role="consequence",
        literals=("collective operation timeout", "Some NCCL operations have failed or timed out", "NCCL watchdog thread terminated", "atchdog got stuck", "monitoredBarrier", "heartbeat monitor timed out", "Timed out waiting ", "terminate called after throwing an instance of 'c"),
        patterns=(r"collective operation timeout", r"Some NCCL operations have failed or timed out", r"NCCL watchdog thread terminated with exception|ProcessGroupNCCL's watchdog got stuck|[Ww]atchdog got stuck|heartbeat monitor timed out", r"monitoredBarrier after \d+|failed to pass monitoredBarrier|Timed out waiting \d+ms for (?:recv|send) operation", r"terminate called after throwing an instance of 'c10::DistBackendError'"),
        causes=(
            Cause("ranks-apart", "script", "the ranks do not all belong together as the script starts them", "see the finding", codes=("SB303", "SB304", "SB310", "SB311", "SB313", "SB324", "SB603", "SB601", "SB811")),
            Cause("never-connected", "cluster", "the very first collective did not end: the ranks never reached each other", "look at NCCL_SOCKET_IFNAME and NCCL_DEBUG=INFO between the nodes; on one node, try NCCL_P2P_DISABLE=1 and tell the site where it helps", log=_first_collective),
            Cause("rank-zero-alone", "code", "all other ranks waited in a collective, and rank 0 did not come: it may do by itself what they do not (an evaluation, plots, a checkpoint, a download)", "let all ranks do it, or keep the collectives of that part to rank 0; a longer limit (init_process_group(timeout=…)) only hides it", log=_without_rank_zero),
            Cause("one-rank", "code", "some ranks did not come to a collective: one ended before, hangs, or does other work", "find the rank that stopped first; TORCH_NCCL_TRACE_BUFFER_SIZE and py-spy show where each one is", unproven="possible"),
        ),
        matches="""\
[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800123 milliseconds before timing out.
[E] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.
[rank0]:[E] [PG ID 0 Rank 0] ProcessGroupNCCL's watchdog got stuck for 600 seconds without making progress
RuntimeError: Rank 2 failed to pass monitoredBarrier in 30000 ms
terminate called after throwing an instance of 'c10::DistBackendError'
""",
    ),
    Symptom(
        id="collective-mismatch",
        title="the ranks call different collectives",
        docs="The program takes different ways on different ranks, or the ranks have different sizes of a tensor.\n",
        printed_by="torch",
        releases="torch 1.9 and later; TORCH_DISTRIBUTED_DEBUG=DETAIL",
        literals=("Detected mismatch between collectives", "Expected to have finished reduction in the prior", "Default process group has not been initialized", "verify_params_across_processes", "DDP expects same model across all ranks", "marked as ready twice", "ncclInvalidUsage: This usually reflects invalid usage", "Invalid rank "),
        patterns=(r"Detected mismatch between collectives|DDP expects same model across all ranks", r"Expected to have finished reduction in the prior iteration", r"Default process group has not been initialized", r"marked as ready twice|mark a variable ready only once"),
        causes=(Cause("unused-parameters", "code", "parameters of the model take no part in the loss on this step, and DistributedDataParallel waits for their gradients", "DistributedDataParallel(…, find_unused_parameters=True), or let the loss depend on all outputs", log=says("not used in producing loss", "unused parameters")),
            Cause("program", "code", "the program uses the process group in another way on some ranks, or before it is there", "see the message; TORCH_DISTRIBUTED_DEBUG=DETAIL tells more"),),
        matches="""\
RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE)
RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.
ValueError: Default process group has not been initialized, please make sure to call init_process_group.
RuntimeError: Expected to mark a variable ready only once. This error is caused by parameters marked as ready twice
""",
    ),
)
