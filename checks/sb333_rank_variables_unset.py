"""The program fails: it reads its rank from variables that only a launcher sets, and none starts it.

torchrun gives each process RANK, LOCAL_RANK and WORLD_SIZE; srun does not: its tasks have SLURM_PROCID, SLURM_LOCALID
and SLURM_NTASKS. `os.environ["RANK"]` then ends each task with a KeyError, and `init_process_group` without a rank says
"environment variable RANK expected, but not set".

The program is next to the script and is read, never run. A variable is reported if the program needs it on every path:
not within a test or `try`, without a default, and neither the program nor the script sets it.

## Fix

None: a launcher (`srun torchrun …`) and variables derived from Slurm's in each task are both right, with different
numbers of tasks.

## References

torch/distributed/rendezvous.py, `_env_rendezvous_handler()` (2.5); src/slurmd/slurmstepd/task.c, 22.05 to 26.05.
https://github.com/pytorch/pytorch/issues/22131
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.nobody_sets import may_come_from_files
from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.python.module import Module, constant
from sbatchlint.job.python.program import PythonProgram, python_programs
from sbatchlint.job.worlds import world_of
from sbatchlint.triggers import Commands

if TYPE_CHECKING:
    import ast

CARD = Card(
    "SB333", "rank-variables-unset", severity="error", fix="never", since="0.1.0",
    when=Commands("python*", "*.py"), seen="torch/distributed/rendezvous.py of 2.5",
)  # fmt: skip

# Variables that a launcher sets, with their counterparts in Slurm.
_SLURM_VARIABLES = {"RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID", "WORLD_SIZE": "SLURM_NTASKS"}
# Other sources of ranks that a program may know.
_OTHER_SOURCES = ("slurm_procid", "slurm_localid", "pmi_rank", "pmix_rank", "ompi_comm_world", "mpi4py", "idr_torch")
# Packages that set these variables themselves, or start processes that have them.
_SETTING = frozenset({
    "accelerate", "colossalai", "composer", "deepspeed", "horovod", "lightning", "pytorch_lightning", "ray", "submitit",
})  # fmt: skip
_MEETING = "torch.distributed.init_process_group"
_DEPTH = 6


class Need(NamedTuple):
    """A variable that a program needs, the line that reads it, and the error without it."""

    name: str
    line: int
    error: str


def check(job: Job) -> Iterator[Finding]:
    for command, program in python_programs(job):
        if not _is_bare(job, command) or may_come_from_files(job):
            continue
        need = _first_need(program, command)
        if need is not None:
            yield Finding(command.name_span, _message(command, program, need))


def _is_bare(job: Job, command: Invocation) -> bool:
    """Whether only srun, mpirun or the batch shell starts a program."""
    world = world_of(job, command)
    if world.launcher is not None and world.launcher.kind != "mpi" or command.alternatives > 1:
        return False
    container = container_of(command)  # a hook of enroot sets these variables from Slurm's
    return container is None or container.kind not in ("pyxis", "enroot")


def _message(command: Invocation, program: PythonProgram, need: Need) -> str:
    by = "srun" if any(each.name == "srun" for each in command.ancestors()) else "nothing here"
    verb = "does not set" if by == "srun" else "sets"
    begin = f"{program.path} needs {need.name} (line {need.line}), which {by} {verb}, and {need.error}"
    tasks = f", or give each task `{need.name}=${_SLURM_VARIABLES[need.name]}`" if by == "srun" else ""
    return f"{begin}; start it with torchrun{tasks}"


def _first_need(program: PythonProgram, command: Invocation) -> Need | None:
    """The first missing variable; None where the program may get its rank elsewhere."""
    if not program.complete or not program.foreign.isdisjoint(_SETTING) or program.mentions(*_OTHER_SOURCES):
        return None
    for need in _CertainReads(program.main).needs:
        if not is_set(command, need.name) and not any(_has_other_use(each, need.name) for each in program.modules):
            return need
    return None


def _has_other_use(module: Module, name: str) -> bool:
    """Whether a module uses the name of a variable other than in a read that fails without it."""
    import ast

    if name not in module.strings:
        return False
    needed = sum(_needed(node) == name for node in ast.walk(module.tree))
    named = sum(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(module.tree))
    return named > needed


def _needed(node: "ast.AST") -> str | None:
    """The name of the variable that a node reads as `os.environ["NAME"]`; None for other nodes."""
    import ast

    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    of = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    name = constant(node.slice)
    return name if of == "environ" and isinstance(name, str) else None


class _CertainReads:
    """Variables read on every path through a program: by its statements and the functions that these always call."""

    def __init__(self, module: Module) -> None:
        import ast

        self.needs: list[Need] = []
        self.calls = {id(call.node): call for call in module.calls}
        self.functions = {each.name: each for each in module.tree.body if isinstance(each, ast.FunctionDef)}
        self.called: set[str] = set()
        self.body(module.tree.body, 0)

    def body(self, statements: "list[ast.stmt]", depth: int) -> None:
        import ast

        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                continue
            if isinstance(statement, ast.If | ast.While):
                self.expression(statement.test, depth)
                if _is_main(statement.test):
                    self.body(statement.body, depth)
                elif any(self.leaves(node) for node in ast.walk(statement)):
                    return
            elif isinstance(statement, ast.With):
                for item in statement.items:
                    self.expression(item, depth)
                self.body(statement.body, depth)
            elif isinstance(statement, ast.Try | ast.For):
                continue
            else:
                self.expression(statement, depth)
                if isinstance(statement, ast.Return | ast.Raise):
                    return

    def leaves(self, node: "ast.AST") -> bool:
        """Whether the program may end at a node, or a function return."""
        import ast

        call = self.calls.get(id(node))
        return isinstance(node, ast.Return) or call is not None and call.last in ("exit", "_exit", "quit")

    def expression(self, node: "ast.AST", depth: int) -> None:
        import ast

        if isinstance(node, ast.Lambda | ast.IfExp | ast.BoolOp | ast.GeneratorExp | ast.ListComp):
            return
        for child in ast.iter_child_nodes(node):
            self.expression(child, depth)
        name = _needed(node)
        if name in _SLURM_VARIABLES:
            self.needs.append(Need(name, getattr(node, "lineno", 0), "it fails with a KeyError"))
        call = self.calls.get(id(node))
        if call is None:
            return
        keys = {each.arg for each in call.node.keywords}
        if call.name == _MEETING and call.certain and len(call.node.args) < 2:
            by_environment = "init_method" not in keys or call.keyword("init_method") == "env://"
            if by_environment and keys.isdisjoint({"rank", "world_size", "store"}) and call.keyword("backend") != "mpi":
                self.needs.append(Need("RANK", call.node.lineno, "init_process_group fails"))
        function = self.functions.get(call.name)
        if function is not None and call.name not in self.called and depth < _DEPTH:
            self.called.add(call.name)
            self.body(function.body, depth + 1)


def _is_main(test: "ast.expr") -> bool:
    import ast

    return isinstance(test, ast.Compare) and getattr(test.left, "id", "") == "__name__"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1) MASTER_PORT=29500
        srun «python» train.py
        """,
        files={
            "train.py": """\
                import os
                import torch
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
                torch.distributed.init_process_group("nccl")
                """
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        «python» train.py
        """,
        files={
            "train.py": """\
                import torch.distributed as dist

                def main():
                    dist.init_process_group(backend="nccl")

                if __name__ == "__main__":
                    main()
                """
        },
        title="no launcher at all",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1) MASTER_PORT=29500
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS exec python train.py'
        """,
        files={"train.py": 'import os\nprint(os.environ["LOCAL_RANK"], os.environ["RANK"])\n'},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        torchrun --standalone --nproc_per_node=4 train.py
        """,
        files={"train.py": 'import os\nprint(os.environ["LOCAL_RANK"])\n'},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        srun python train.py
        """,
        files={
            "train.py": """\
                import os
                if "RANK" in os.environ:
                    print(os.environ["RANK"])
                """
        },
        title="only where there is one",
    ),
]
