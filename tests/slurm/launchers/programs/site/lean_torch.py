"""Of torch and DeepSpeed what their launchers ask, in a third of the time: their own modules, and the stores by which
nodes meet.

All of that is the real thing. What is left out is what `import torch` and `import deepspeed` load besides, and a
launcher never calls: tensors, operators, compilers. The programs that are started import torch as ever.
"""

import importlib
import multiprocessing
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace


def package(name: str, *folders: str) -> ModuleType:
    """A package that has the modules of these folders, and whose own code does not run."""
    found = ModuleType(name)
    found.__path__ = list(folders)
    found.__spec__ = ModuleSpec(name, None, is_package=True)
    sys.modules[name] = found
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, found)
    return found


def folder_of(name: str) -> str:
    spec = PathFinder.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"there is no {name}")
    (folder,) = spec.submodule_search_locations
    return folder


def install() -> None:
    """Makes this the torch of the process."""
    folder = folder_of("torch")
    torch = package("torch", folder)
    compiled = importlib.import_module("torch._C")
    vars(torch).update({name: value for name, value in vars(compiled).items() if name[0] != "_"})
    torch.version = importlib.import_module("torch.version")
    torch.__version__ = torch.version.__version__
    # There is no GPU here.
    torch.cuda = torch.xpu = torch.accelerator = SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)
    package("torch.utils", os.path.join(folder, "utils"))
    processes = package("torch.multiprocessing")
    vars(processes).update({name: value for name, value in vars(multiprocessing).items() if name[:2] != "__"})
    processes._set_thread_name = compiled._set_thread_name
    distributed = package("torch.distributed", os.path.join(folder, "distributed"))
    distributed.is_available = lambda: True
    compiled._c10d_init()
    stores = importlib.import_module("torch._C._distributed_c10d")
    for name in ("Store", "FileStore", "HashStore", "PrefixStore", "TCPStore"):
        setattr(distributed, name, getattr(stores, name))


def install_deepspeed() -> None:
    """Makes this, with a torch of the same kind, the DeepSpeed of the process."""
    folder = folder_of("deepspeed")
    install()
    package("deepspeed", folder)
    utils = package("deepspeed.utils", os.path.join(folder, "utils"))
    for module, names in (("logging", ("logger", "set_log_level_from_string")), ("numa", ("get_numactl_cmd",))):
        found = importlib.import_module(f"deepspeed.utils.{module}")
        for name in names:
            setattr(utils, name, getattr(found, name))
    package("deepspeed.autotuning").Autotuner = None
