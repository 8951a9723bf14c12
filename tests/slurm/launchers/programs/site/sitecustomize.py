"""Python imports this at its start: writes down every launcher and every program of the test that starts.

A record has the words of the command (the launcher's or program's name first), the node, the process, the nearest
recorded process that started it, and the variables that matter.
"""

import atexit
import json
import os
import re
import socket
import sys
from types import ModuleType

LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "swift", "megatron", "composer", "colossalai", "horovodrun", "ray"}
MODULES = {"torch.distributed.run", "torch.distributed.launch"}
KEPT = {"RANK", "WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "NNODES", "NPROC_PER_NODE", "CUDA_VISIBLE_DEVICES"}
PREFIXES = ("SLURM_", "PET_", "OMPI_", "LOCAL_", "MASTER_")
PROGRAM = re.compile(r"(?:pre)?train\w*\.py|.*/sft\.py")
PARENT = "SBATCHLINT_PARENT"


def words() -> list[str]:
    """The command; without the interpreter where a launcher is called by its own name."""
    argv = list(sys.orig_argv)
    if len(argv) > 1 and os.path.basename(argv[1]) in LAUNCHERS:
        return [os.path.basename(argv[1]), *argv[2:]]
    return [os.path.basename(argv[0]), *argv[1:]]


def is_kept(argv: list[str]) -> bool:
    if argv[0] in LAUNCHERS or len(argv) > 2 and argv[1] == "-m" and argv[2] in MODULES:
        return True
    return any(PROGRAM.fullmatch(word) for word in argv[1:4])


def record(folder: str) -> None:
    argv = words()
    if not is_kept(argv):
        return
    name = f"{socket.gethostname()}:{os.getpid()}"
    found = {
        "program": argv[0],
        "argv": argv,
        "node": socket.gethostname(),
        "pid": os.getpid(),
        "parent": os.environ.get(PARENT),
        "environment": {k: v for k, v in os.environ.items() if k in KEPT or k.startswith(PREFIXES)},
    }
    os.environ[PARENT] = name
    path = os.path.join(folder, f"{name}.start")
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(found, file)
    os.rename(f"{path}.new", path)
    if argv[0] in LAUNCHERS:
        atexit.register(open, os.path.join(folder, f"{name}.end"), "w")


def load_less(argv: list[str]) -> None:
    """Has a launcher import less of torch."""
    if argv[0] == "torchrun" or argv[1:2] == ["-m"] and argv[2] in MODULES:
        import lean_torch

        lean_torch.install()
    elif argv[0] == "deepspeed" or "deepspeed.launcher.launch" in argv:
        import lean_torch

        lean_torch.install_deepspeed()
    elif argv[0] in LAUNCHERS or "train_torch.py" in argv:
        # A third of the whole: what torch knows of tensors that have a shape and no values.
        sys.modules["torch._meta_registrations"] = ModuleType("torch._meta_registrations")


if "SBATCHLINT_RECORDS" in os.environ:
    record(os.environ["SBATCHLINT_RECORDS"])
    if "SBATCHLINT_ALL_LAUNCHES" not in os.environ:
        load_less(words())
