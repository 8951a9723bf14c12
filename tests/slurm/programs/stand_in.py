"""Stands in for python, torchrun, accelerate, deepspeed, mpirun and any other program of a test job.

Under whatever name it is called it writes what it received into `records`, a folder beside the one that it lies in:
its words, its node, its process, the one that started it, and the variables that matter. As a launcher it then starts
its workers, with the ranks that the real one would give them for these arguments: torchrun and
`python -m torch.distributed.run` as torch 2.x does (torch/distributed/run.py), `accelerate launch` as accelerate 1.x
(utils/launch.py), deepspeed as its runner does without a hostfile, mpirun over the nodes of the job.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(sys.argv[0]))
RECORDS = os.path.join(os.path.dirname(FOLDER), "records")
KEPT = {"RANK", "WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "NNODES", "NPROC_PER_NODE", "CUDA_VISIBLE_DEVICES"}
PREFIXES = ("SLURM_", "PET_", "OMPI_", "LOCAL_", "MASTER_")


def record(program: str, argv: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(PREFIXES)}
    found = {
        "program": program,
        "argv": argv,
        "node": socket.gethostname(),
        "pid": os.getpid(),
        "parent": os.environ.get("STAND_IN_PARENT"),
        "environment": environment,
    }
    os.makedirs(RECORDS, exist_ok=True)
    path = os.path.join(RECORDS, f"{socket.gethostname()}.{os.getpid()}.{os.environ.get('SLURM_STEP_ID', 'batch')}")
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.rename(f"{path}.new", f"{path}.json")


def start(argv: list[str], **variables: object) -> subprocess.Popen[bytes]:
    own = {"STAND_IN_PARENT": f"{socket.gethostname()}:{os.getpid()}", **{k: str(v) for k, v in variables.items()}}
    path = shutil.which(argv[0], path=f"{FOLDER}:{os.environ.get('PATH', '')}")
    return subprocess.Popen([path or argv[0], *argv[1:]], env={**os.environ, **own})


def wait(processes: list[subprocess.Popen[bytes]]) -> int:
    return max([process.wait() for process in processes], default=0)


def parser(flags: str, values: str, environment: str = "") -> argparse.ArgumentParser:
    """Options that may be written with - or _; their defaults come from `environment` and the option's name."""
    found = argparse.ArgumentParser(allow_abbrev=bool(environment))
    for group, how in ((flags, {"action": "store_true"}), (values, {})):
        for word in group.split():
            name, _, letter = word.partition("/")
            spellings = dict.fromkeys([f"--{name}", "--" + name.replace("_", "-"), *([f"-{letter}"] if letter else [])])
            default = os.environ.get(environment + name.upper()) if environment and how == {} else None
            found.add_argument(*spellings, dest=name, **({"default": default, **how} if how == {} else how))
    found.add_argument("rest", nargs=argparse.REMAINDER)
    return found


def devices() -> int:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return len(visible.split(",")) if visible else 1


def workers(first: int, count: int, world: int, nodes: int, node: int, command: list[str], **more: object) -> int:
    return wait(
        [
            start(
                command,
                RANK=first + local,
                LOCAL_RANK=local,
                WORLD_SIZE=world,
                LOCAL_WORLD_SIZE=count,
                GROUP_RANK=node,
                **more,
            )
            for local in range(count)
        ]
    )


def torchrun(arguments: list[str]) -> int:
    values = """nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts monitor_interval
    start_method role log_dir redirects/r tee/t node_rank master_addr master_port local_addr"""
    given = parser("standalone module/m no_python run_path", values, "PET_").parse_args(arguments)
    nodes = int((given.nnodes or "1").split(":")[-1])
    count = given.nproc_per_node or "1"
    local = devices() if count in ("auto", "gpu") else int(count)
    static = (given.rdzv_backend or "static") == "static" and not given.standalone
    node = int(given.node_rank or 0) if static else 0 if nodes == 1 else int(os.environ.get("SLURM_NODEID", 0))
    address = (given.rdzv_endpoint or "").partition(":")[0] or given.master_addr or "127.0.0.1"
    command = [] if given.no_python else ["python", "-u"] + (["-m"] if given.module else [])
    return workers(node * local, local, nodes * local, nodes, node, [*command, *given.rest],
                   MASTER_ADDR=address, MASTER_PORT=given.master_port or 29500)  # fmt: skip


def accelerate(arguments: list[str]) -> int:
    values = """config_file mixed_precision num_processes num_machines machine_rank main_process_ip main_process_port
    rdzv_backend dynamo_backend deepspeed_config_file zero_stage gpu_ids num_cpu_threads_per_process"""
    flags = "cpu multi_gpu use_deepspeed use_fsdp module/m no_python same_network debug"
    given = parser(flags, values).parse_args(arguments)
    machines = int(given.num_machines or 1)
    total = int(given.num_processes) if given.num_processes else devices() * machines
    command = [] if given.no_python else ["python"] + (["-m"] if given.module else [])
    if total == 1 or given.cpu:
        return wait([start([*command, *given.rest])])
    node, local = int(given.machine_rank or 0), total // machines
    if not given.no_python:
        command.insert(1, "-u")
    address, port = given.main_process_ip or "127.0.0.1", given.main_process_port or 29500
    return workers(node * local, local, machines * local, machines, node, [*command, *given.rest],
                   MASTER_ADDR=address, MASTER_PORT=port)  # fmt: skip


def deepspeed(arguments: list[str]) -> int:
    values = "hostfile/H include/i exclude/e num_nodes num_gpus master_port master_addr node_rank launcher"
    given = parser("module no_python no_local_rank no_ssh force_multi", values).parse_args(arguments)
    local = int(given.num_gpus or devices())
    words = given.rest if given.no_python else ["python", "-u", *(["-m"] if given.module else []), *given.rest]
    processes = []
    for rank in range(local):
        argv = [*words[: -len(given.rest) + 1 or None], f"--local_rank={rank}", *given.rest[1:]]
        processes.append(start(argv, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=local, MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=given.master_port or 29500))  # fmt: skip
    return wait(processes)


def mpirun(arguments: list[str]) -> int:
    """Copies over the nodes of the job: as many on each as `-ppn`, `--npernode` or `--map-by ppr:N:node` says."""
    count, each, at = None, None, 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name = arguments[at].lstrip("-")
        if name in ("np", "n", "c"):
            count = int(arguments[at + 1])
        elif name in ("ppn", "npernode", "N"):
            each = int(arguments[at + 1])
        elif name == "map-by" and arguments[at + 1].startswith("ppr:"):
            each = int(arguments[at + 1].split(":")[1])
        at += {"mca": 3, "oversubscribe": 1, "allow-run-as-root": 1, "tag-output": 1}.get(name, 2)
    shown = subprocess.run(["scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"]], stdout=subprocess.PIPE)
    hosts = shown.stdout.decode().split()
    total = count if count is not None else (each or int(os.environ.get("SLURM_NTASKS", 1))) * len(hosts)
    command = arguments[at:]
    processes = []
    for rank in range(total):
        host = hosts[rank // each] if each else hosts[0]
        where = [] if host == socket.gethostname() else ["srun", "--overlap", "-N1", "-n1", "-w", host, "--mem=0"]
        path = shutil.which(command[0]) or command[0]
        processes.append(start([*where, path, *command[1:]], OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE=total))
    return wait(processes)


LAUNCHERS = {
    "torchrun": torchrun,
    "torch.distributed.run": torchrun,
    "torch.distributed.launch": torchrun,
    "accelerate": lambda arguments: accelerate(arguments[1:]) if arguments[:1] == ["launch"] else 0,
    "accelerate.commands.launch": accelerate,
    "deepspeed": deepspeed,
    "deepspeed.launcher.runner": deepspeed,
    "mpirun": mpirun,
    "mpiexec": mpirun,
}


def main() -> int:
    program, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    record(program, [program, *arguments])
    if program.startswith("python"):
        words = [word for word in arguments if word != "-u"]
        if words[:1] != ["-m"]:
            return 0
        program, arguments = words[1], words[2:]
    return LAUNCHERS[program](arguments) if program in LAUNCHERS else 0


if __name__ == "__main__":
    sys.exit(main())
