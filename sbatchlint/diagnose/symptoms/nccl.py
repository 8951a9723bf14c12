"""NCCL (and RCCL, which is made from it): how the GPUs of a job reach each other."""

from sbatchlint.diagnose.clues import matches, says, says_not
from sbatchlint.diagnose.evidence import commands, shown, spans_of
from sbatchlint.diagnose.questions import assigns, small_shm
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.worlds import find_worlds

# The interface is named in the script.
_interface = assigns(
    "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "TP_SOCKET_IFNAME", "NCCL_COMM_ID",
    confidence="certain",
)  # fmt: skip


def _no_limit(job: Job, event: Event) -> Verdict:
    """The script leaves the number of open files as the shell has it."""
    return RULED_OUT if commands(job, "ulimit", "prlimit") else Shown(spans_of(job.steps), None, "likely")


def _each_sees_all(job: Job, event: Event) -> Verdict:
    """Launchers of which a node starts several, each for all of its GPUs."""
    found = [world for world in find_worlds(job) if world.launcher is not None and (world.starts_per_node or 1) > 1]
    return shown(spans_of(found))


def _ib_settings(job: Job, event: Event) -> Verdict:
    """Where the script sets how NCCL or UCX use the network."""
    prefixes = ("NCCL_IB", "NCCL_NET", "NCCL_CROSS_NIC", "UCX_NET")
    return shown(spans_of(each for each in job.assignments if each.name.startswith(prefixes)), "possible")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="duplicate-gpu",
        title="two ranks use the same GPU",
        docs="""\
Each rank needs a GPU of its own. Either several launchers run on a node and each starts a rank for each GPU, or the program does not
choose its GPU (`torch.cuda.set_device(local_rank)`) and every rank takes the first.
""",
        printed_by="NCCL (init.cc), torch",
        releases="`Duplicate GPU detected` since NCCL 2.7; `Multiple Ranks are using the same GPU` since 2.30",
        literals=("Duplicate GPU detected", "Multiple Ranks are using the same GPU"),
        patterns=(r"Duplicate GPU detected(?: : rank (?P<one>\d+) and rank (?P<two>\d+))?", r"Multiple Ranks are using the same GPU"),
        causes=(
            Cause("launchers", "script", "each task of a node starts ranks for all GPUs of the node", "start one task for each node: --ntasks-per-node=1", codes=("SB301", "SB302", "SB317", "SB310", "SB314", "SB338"), script=_each_sees_all),
            Cause("binding", "script", "the tasks see other GPUs than the program expects", "see the finding", codes=("SB211", "SB212", "SB402", "SB401", "SB324")),
            Cause("set-device", "code", "the program does not choose a GPU for each rank, so several use the first one", "call torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before anything else"),
        ),
        matches="""\
Duplicate GPU detected : rank 2 and rank 10 both on CUDA device 50000
node1:123:456 [0] init.cc:522 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000
NCCL WARN Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this
""",
    ),
    Symptom(
        id="nccl-no-interface",
        title="NCCL finds no network interface",
        docs="`NCCL_SOCKET_IFNAME` is the beginning of a name (`=eth0` the exact name). Nodes name theirs differently: `ip -br addr` in a step lists them.\n",
        printed_by="NCCL (bootstrap.cc, socket.cc), Gloo",
        releases="`Bootstrap : no socket interface found` all; `neither AF_INET … nor AF_INET6` 2.8 and later; `verify NCCL_OOB_NET_IFNAME` 2.28 and later",
        literals=("no socket interface found", "is neither AF_INET", "Unable to find address for", "No interface found", "Unable to find interface for", "Failed to look up the IP address for interface", "Bootstrap : no"),
        patterns=(r"no socket interface found|No interface found in the same subnet", r"is neither AF_INET\(?", r"Unable to find (?:address|interface) for:? ?(?P<name>\S*)", r"Failed to look up the IP address for interface (?P<name>\S+)"),
        causes=(
            Cause("named-interface", "script", "the script names a network interface that the node does not have", "leave NCCL_SOCKET_IFNAME unset, or exclude instead: NCCL_SOCKET_IFNAME=^lo,docker", script=_interface),
            Cause("interfaces", "cluster", "NCCL finds no network interface that it can use", "name one of `ip -br addr` in NCCL_SOCKET_IFNAME"),
        ),
        matches="""\
NCCL WARN Bootstrap : no socket interface found
ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)
RuntimeError: Unable to find address for: ib9
ValueError: Failed to look up the IP address for interface ib9.
""",
    ),
    Symptom(
        id="nccl-many-interfaces",
        title="NCCL also takes interfaces that lead nowhere",
        docs="Bridges and virtual interfaces of docker or libvirt (`br-…`, `docker0`, `veth…`, `virbr0`) have the same addresses on every node; connections over them do not arrive.\n",
        printed_by="NCCL (net_socket.cc)",
        releases="NCCL 2.4 on, with NCCL_DEBUG=INFO",
        role="warning",
        literals=("NET/Socket : Using", "Bootstrap : Using", "NET/OFI"),
        patterns=(r"(?:NET/Socket|Bootstrap) : Using .*\](?:br-|veth|docker|virbr|cni|flannel|cali|podman)",),
        causes=(
            Cause("named-interface", "script", "the script lets NCCL take bridges and virtual interfaces of the node", "name the real one: NCCL_SOCKET_IFNAME", script=_interface),
            Cause("bridges", "cluster", "NCCL takes bridges and virtual interfaces of the node, over which other nodes are not reached", "set NCCL_SOCKET_IFNAME to the interface of the real network", log=lambda event: any(name in event.symptoms for name in ("nccl-system-error", "nccl-remote-error", "collective-timeout", "nccl-connection"))),
        ),
        matches="node1:1:1 [0] NCCL INFO NET/Socket : Using [0]bond0:10.0.0.1<0> [1]br-05ab815fa14e:172.19.0.1<0>\n",
        others="node1:1:1 [0] NCCL INFO NET/Socket : Using [0]ib0:10.0.0.1<0>\n",
    ),
    Symptom(
        id="open-files-limit",
        title="too many open files",
        docs="The limit of open files of the shell (`ulimit -n`) is 1024 in many batch shells; NCCL's start-up, data loaders and Ray need more, the more nodes the sooner.\n",
        printed_by="the kernel, by way of NCCL, Python and others",
        literals=("Too many open files", "too many open files"),
        patterns=(r"[Tt]oo many open files",),
        causes=(
            Cause("data-loaders", "code", "the workers of a data loader hand over tensors by open files, and reach the limit", "torch.multiprocessing.set_sharing_strategy('file_system') in the program, or `ulimit -n $(ulimit -Hn)` before it", log=says("Communication with the workers")),
            Cause("soft-limit", "script", "the processes open more files and sockets than the shell allows", "add `ulimit -n 65536`, or `ulimit -n $(ulimit -Hn)`, before they start", script=_no_limit),
            Cause("limit", "submission", "the processes open more files and sockets than the shell of the job allows (usually 1024)", "add `ulimit -n $(ulimit -Hn)` to the script, before they start", script=lambda job, event: RULED_OUT),
            Cause("leak", "code", "the processes open more files than the limit that the script sets", "look for files that are not closed; torch.multiprocessing.set_sharing_strategy('file_system') helps data loaders"),
        ),
        matches="""\
NCCL WARN ncclOsSocketTryAccept: Accept failed: Too many open files
OSError: [Errno 24] Too many open files: '/proc/net/dev'
""",
    ),
    Symptom(
        id="nccl-infiniband",
        title="InfiniBand, or RoCE, does not carry NCCL's messages",
        docs="""\
The adapters of two nodes do not reach each other: rails that are not connected (NCCL_CROSS_NIC), the wrong GID for RoCE
(NCCL_IB_GID_INDEX), a link that went down, or memory that may not be pinned (`ulimit -l`). NCCL_IB_DISABLE=1 takes TCP instead.
""",
        printed_by="NCCL (net_ib.cc, ibvwrap.cc)",
        releases="`Call to ibv_modify_qp failed` and `Got completion from peer … with status=12` in all",
        literals=("ibv_modify_qp", "NET/IB : Got completion", "NET/IB : ", "ibv_reg_mr", "ibv_create_qp", "ibv_create_cq", "ibv_poll_cq", "ibv_post_send", "ibv_open_device"),
        patterns=(
            r"Call to (?P<call>ibv_\w+) failed(?: with| with error)? ?(?P<error>.*)",
            r"NET/IB : (?:\S+ )?Got completion from peer .* (?:with )?status=(?P<status>\d+)",
            r"^(?!.*NCCL INFO).*NET/IB : .*(?:async fatal event|Got async event|unable to open device|No device found)",
            r"ibv_post_(?:send|recv)\(\) failed with error",
            r"NET/IB : Attempted to (?:connect|merge) incompatible devices",
        ),
        causes=(
            Cause("locked-memory", "cluster", "the node does not let the job pin memory for InfiniBand", "`ulimit -l unlimited`; the site sets the limit (LimitMEMLOCK of slurmd)", log=lambda event: "Cannot allocate memory" in event.text),
            Cause("link-down", "cluster", "the link of an adapter of the node went down: its port reported an error", "submit again with --exclude of that node, and tell the site, which looks at cable and port (ibqueryerrors)", log=matches(r"[Gg]ot async (?:fatal )?event ?: (?:port|device|link)")),
            Cause("settings", "script", "the adapters of two nodes do not reach each other with the NCCL_IB_… settings of the script", "leave them out, or take those that the site gives", script=_ib_settings),
            Cause("fabric", "cluster", "the adapters of two nodes do not reach each other: rails, GID index of RoCE, or a link that is down", "try NCCL_CROSS_NIC=0, or NCCL_IB_DISABLE=1 to prove it; tell the site which nodes"),
        ),
        matches="""\
host-01:1:2 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR
NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory
node1:1:1 [0] net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4711> with status=12 opcode=0 len=0 vendor err 129
NCCL WARN NET/IB : mlx5_0:1 Got async event : port error
NCCL WARN ibv_post_send() failed with error Bad address, Bad WR 0x0, First WR 0x0
NCCL WARN NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE.
""",
        others="node1:1:1 [0] NCCL INFO NET/IB : No device found.\nnode1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>\n",
    ),
    Symptom(
        id="nccl-shared-memory",
        title="NCCL finds no room in shared memory",
        docs="Ranks of a node share memory in /dev/shm; a container of docker has 64 MB there, and files of dead jobs may fill it.\n",
        printed_by="NCCL (shmutils.cc)",
        releases="`Call to posix_fallocate failed : No space left on device` before 2.14; `Error while creating shared memory segment` 2.14 and later; `failed to extend /dev/shm/nccl-…` all",
        literals=("shared memory segment", "/dev/shm", "posix_fallocate failed", "shared memory (shm)", "to file </torch_"),
        patterns=(r"Error while (?:creating|attaching to) shared memory segment|Error: (?:failed to extend|Could not map) /dev/shm", r"posix_fallocate failed", r"/dev/shm.*No space left on device|No space left on device.*/dev/shm|unable to \w+(?: to)? (?:file|shared memory object) <?/(?:dev/shm/)?torch_", r"insufficient shared memory \(shm\)"),
        causes=(
            Cause("container-shm", "script", "/dev/shm of the container is too small for its processes: docker gives it 64 MB", "give docker run --ipc=host or --shm-size=16g", codes=("SB511",), script=small_shm),
            Cause("full-shm", "cluster", "/dev/shm of the node is full, or the job's memory does not reach for it (it counts as memory)", "ask for more memory; files of dead jobs in /dev/shm are the site's to remove"),
        ),
        matches="""\
NCCL WARN Error while creating shared memory segment /dev/shm/nccl-4a7Bcd (size 9637888)
NCCL WARN Error: failed to extend /dev/shm/nccl-4a7Bcd to 33030532 bytes
NCCL WARN Call to posix_fallocate failed : No space left on device
RuntimeError: unable to write to file </torch_4711_12>: No space left on device (28)
RuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit: insufficient shared memory (shm)
""",
    ),
    Symptom(
        id="nccl-version",
        title="the ranks have different releases of NCCL, or one too old for the driver",
        docs="Nodes with different environments or images, or a library from LD_LIBRARY_PATH in place of that of the wheel.\n",
        printed_by="NCCL",
        literals=("Mismatched NCCL version", "NCCL version mismatch", "NCCL library is too old", "NCCL library is not backwards compatible", "undefined symbol: nccl", "Cuda failure 'CUDA driver version"),
        patterns=(r"Mismatched NCCL version detected|NCCL version mismatch with remote peer|NCCL library is (?:too old|not backwards compatible)", r"undefined symbol: nccl\w+"),
        causes=(
            Cause("search-path", "script", "the script puts another NCCL before that of the program", "take it out of LD_LIBRARY_PATH, or unload the module", script=assigns("LD_LIBRARY_PATH", "LD_PRELOAD")),
            Cause("environments", "submission", "the processes load different releases of NCCL", "use one environment or image on all nodes, and no NCCL in LD_LIBRARY_PATH"),
        ),
        matches="NCCL WARN Mismatched NCCL version detected : rank 0 version 21805 rank 8 version 22005\nImportError: libtorch_cuda.so: undefined symbol: ncclCommRegister\n",
    ),
    Symptom(
        id="nccl-nvlink",
        title="the GPUs of the node do not reach each other",
        docs="Fabric manager, NVLink, IMEX channels or peer access of the node are not right. NCCL_NVLS_ENABLE=0 or NCCL_P2P_DISABLE=1 are ways around.\n",
        printed_by="NCCL",
        releases="NVLS since 2.17, MNNVL since 2.21",
        literals=("NVLink SHARP (NVLS)", "MNNVL", "failed to peer with device", "fabric is not initialized", "system not yet initialized", "peer mapping resources exhausted"),
        patterns=(r"Failed to bind NVLink SHARP \(NVLS\)|MNNVL .* not working on this system", r"failed to peer with device", r"system not yet initialized|peer mapping resources exhausted"),
        causes=(Cause("node", "cluster", "the GPUs of the node do not reach each other: fabric manager, NVLink or IMEX", "submit again with --exclude of that node, and tell the site; NCCL_NVLS_ENABLE=0 goes around NVLS"),),
        matches="""\
NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'the operation cannot be performed in the present state'.
NCCL WARN failed to peer with device 3(=b1000): 217 peer access is not supported between these two devices
RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized
""",
    ),
    Symptom(
        id="nccl-connection",
        title="a rank does not reach another one",
        docs="The address is one that other nodes do not reach (a bridge, another network), a firewall is between, or the other rank has ended.\n",
        printed_by="NCCL (socket.cc)",
        role="consequence",
        literals=("Net : Connection closed", "Connection closed by remote peer", "exceeded error retry", "NCCL WARN", "returned Connection", "returned No route", "Call to connect"),
        patterns=(r"(?:Call to (?:connect|recv|send|write|read|bind) (?:(?:to|from) (?P<other>\S+) )?(?:returned|failed)|[Cc]onnect to (?P<peer>[^\s<]+)\S* (?:returned|failed)).*", r"Connection closed by remote peer (?P<remote>\S+)|Net : Connection closed"),
        causes=(
            Cause("interface", "script", "the ranks do not reach each other over the interface that the script names", "leave NCCL_SOCKET_IFNAME unset, or name that of the real network", script=_interface, log=says_not("closed")),
            Cause("refused", "cluster", "nobody listens at {peer}: the process there has ended, or its node does not let others in", "`getent hosts` of that address names the node: submit again with --exclude of it, and tell the site; NCCL_DEBUG=INFO shows which interface each rank takes", log=says("refused", "No route")),
            Cause("network", "cluster", "the ranks do not reach each other: wrong interface, firewall, or another rank that ended before", "set NCCL_DEBUG=INFO, and name the interface of the real network in NCCL_SOCKET_IFNAME", unproven="possible"),
        ),
        matches="""\
NCCL WARN Call to connect returned Connection timed out
NCCL WARN socketProgress: Connection closed by remote peer node7<4711>
NCCL WARN ncclSocketPollConnect: connect to 172.17.0.1<4711> returned Connection refused, exceeded error retry count after 35 attempts
""",
    ),
    Symptom(
        id="nccl-cuda-error",
        title="NCCL met an error of CUDA",
        docs="With NCCL_DEBUG=WARN the line `NCCL WARN Cuda failure …` names it: out of memory, an invalid device, another rank that failed.\n",
        printed_by="NCCL, torch",
        role="consequence",
        literals=("unhandled cuda error", "ncclUnhandledCudaError", "Cuda failure", "unhandled system error", "ncclInternalError", "ncclInvalidUsage", "ncclInvalidArgument", "ncclRemoteError", "remote process exited", "NCCL error in:", "NCCL Error", "NCCL communicator was aborted"),
        patterns=(
            r"unhandled cuda error|ncclUnhandledCudaError|NCCL WARN Cuda failure (?:\d+ )?'(?P<error>[^']*)'",
            r"ncclInternalError|ncclInvalidUsage|ncclInvalidArgument|NCCL error in: |NCCL Error \d+",
            r"ncclRemoteError|remote process exited|NCCL communicator was aborted",
        ),
        causes=(
            Cause("ranks-and-gpus", "script", "the ranks and the GPUs of the job do not fit", "see the finding", codes=("SB301", "SB310", "SB211", "SB317", "SB201")),
            Cause("nccl", "code", "NCCL stopped; NCCL_DEBUG=WARN prints the reason right before", "run it again with NCCL_DEBUG=INFO, and look for the first rank that failed", unproven="possible"),
        ),
        matches="""\
torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1970, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
ncclUnhandledCudaError: Call to CUDA function failed.
NCCL WARN Cuda failure 2 'out of memory'
ncclInternalError: Internal check failed.
ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.
""",
    ),
    Symptom(
        id="nccl-system-error",
        title="a system call failed under NCCL",
        docs="A socket, memory or a file: the line `Last error:` below, or `NCCL WARN` above, says which.\n",
        printed_by="NCCL, torch",
        role="consequence",
        literals=("ncclSystemError", "unhandled system error"),
        patterns=(r"ncclSystemError: System call|unhandled system error",),
        causes=(
            Cause("interface", "script", "a call of the system failed under NCCL, which has its interface from the script", "leave NCCL_SOCKET_IFNAME unset, or name that of the real network", script=_interface),
            Cause("network", "cluster", "a system call failed in NCCL, usually because of the network between the nodes", "set NCCL_DEBUG=INFO; name the interface of the real network in NCCL_SOCKET_IFNAME"),
        ),
        matches="ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nncclSystemError: System call (socket, malloc, munmap, etc) failed.\nRuntimeError: NCCL error: unhandled system error, NCCL version 2.10.3\n",
    ),
    Symptom(
        id="nccl-plugin",
        title="harmless: NCCL looks for plugins and finds none",
        docs="It takes what is built in.\n",
        printed_by="NCCL",
        role="harmless",
        literals=("NET/Plugin", "TUNER/Plugin", "PROFILER/Plugin", "No plugin found", "libnccl-net"),
        patterns=(r"NCCL (?:INFO|WARN) .*(?:NET|TUNER|PROFILER|ENV)/Plugin",),
        matches="node1:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n",
    ),
)
