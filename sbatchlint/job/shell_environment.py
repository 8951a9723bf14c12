"""Values of Slurm's variables in the shells of a job, as far as the script determines them.

They follow from the directives; options on sbatch's command line, which would override these, are unknown. The batch
shell is task 0 of a step with one task on the first node: there, task variables are set to 0.
"""

from sbatchlint.bash.trace import Context, Invocation
from sbatchlint.bash.values import Expansion, Phase
from sbatchlint.job.containers import Container
from sbatchlint.job.environment import (
    COUNTING_OPTIONS,
    GPU_OPTIONS,
    NEVER_IN_BATCH,
    NODE_COUNTS,
    TASK_COUNTS,
    TASK_FACTORS,
    TASK_VARIABLES,
    ZERO_IN_BATCH,
    shows_hostnames,
)
from sbatchlint.job.request import Request
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm import environment as table

_FIRST_LINE = (("head", "-n1"), ("head", "-n", "1"), ("head", "-1"), ("sort",))


# Options that say how large a job is in nodes, tasks or CPUs.
_SIZES = ("nodes", "nodelist", "exclusive", "cpus-per-task", *COUNTING_OPTIONS, *GPU_OPTIONS)


class JobEnvironment:
    """The environment of the job's shells, for the interpreter."""

    def __init__(
        self, request: Request | None, unset: frozenset[str] = frozenset(), *, sized_elsewhere: bool = False
    ) -> None:
        self.request = request
        # whether the command line of sbatch is taken to say how many tasks there are where no directive does
        self.sized_elsewhere = sized_elsewhere
        self.unset = unset
        # set while a branch is walked that runs outside jobs only
        self.is_outside = False
        self.answers_of_jobs = 0
        self._in_batch: dict[str, str | bool | None] = {}

    def differs(self, name: str) -> bool:
        return name in TASK_VARIABLES

    def certainly_prints(self, expansion: Expansion) -> bool:
        """Whether a substitution certainly prints something: the nodes of a job, or the first of them."""
        first, *others = expansion.commands or ((),)
        nodes = shows_hostnames(first) and all(each in _FIRST_LINE for each in others)
        return nodes and expansion.phase is not Phase.SUBMIT

    def lookup(self, name: str, context: Context) -> str | bool | None:
        """The value where it is known; False if it is certainly not set, True if it is set and not empty."""
        request = self.request
        if name in self.unset:
            return False
        if request is None:
            return None
        if name in NEVER_IN_BATCH:
            return self._in_job(False, context) if context.phase is Phase.BATCH and self._is_slurms else None
        if context.phase is Phase.SUBMIT and self.is_outside:
            return False if self._of_job(name, request) is True else None
        if not name.startswith(("SLURM", "CUDA_")) or context.phase is Phase.SUBMIT:
            return None
        if request.heterogeneous and context.phase is not Phase.TASK:
            return "0" if name in ZERO_IN_BATCH and context.phase is Phase.BATCH else None
        if context.phase is Phase.TASK:
            value = self._in_task(name, context, request)
        else:
            if name not in self._in_batch:
                self._in_batch[name] = self._of_job(name, request)
            value = self._in_batch[name]
        return self._in_job(True, context) if value is True else value

    def has_program(self, name: str, context: Context) -> bool | None:
        """Whether a program is in PATH: Slurm's own commands are wherever a batch script runs."""
        inside = any(isinstance(each.spawn.info, Container) for each in _parents(context))
        if context.phase is Phase.BATCH and not inside and self._is_slurms and has_trait(name, "slurm"):
            return self._in_job(True, context)
        return None

    def is_terminal(self, fd: str, context: Context) -> bool | None:
        """Whether a file descriptor is a terminal: a batch script has /dev/null and its log (sbatch(1), --input)."""
        if context.phase is Phase.BATCH and fd in ("0", "1", "2") and self._is_slurms:
            return self._in_job(False, context)
        return None

    @property
    def _is_slurms(self) -> bool:
        """Whether the script has options for Slurm, and not only for a system whose directives sbatch reads too."""
        return self.request is not None and bool(self.request.directives.every_setting)

    def _in_job(self, answer: bool, context: Context) -> bool | None:
        """An answer that holds in jobs only; None where something in between has cleared the environment."""
        if any(each.spawn.cleared and each.spawn.kind != "srun" for each in _parents(context)):
            return None
        self.answers_of_jobs += 1
        return answer

    def _of_job(self, name: str, request: Request) -> str | bool | None:
        """The value in the batch shell."""
        entry = table.variables().get(name)
        if entry is None:
            return None
        releases = request.directives.versions.majors
        if entry.batch.isdisjoint(releases):
            return False
        if name in NODE_COUNTS:
            nodes = request.exact_nodes()
            return True if nodes is None else str(nodes)
        if name in TASK_COUNTS:
            return self._tasks(entry, request)
        if entry.when == "options":
            if not request.has_any_option(entry.options):
                return False if request.directives.certain else None
            everywhere = entry.batch.issuperset(releases)
            return request.value(entry.option) if entry.option is not None and everywhere else None
        if name == "SLURM_GPUS_ON_NODE":
            gpus = request.gpus_per_node()
            return None if gpus is None else str(gpus)
        value = request.value("job-name") if name == "SLURM_JOB_NAME" else None
        if entry.value == "0":
            value = "0"
        return True if value is None and entry.when == "always" and entry.batch.issuperset(releases) else value

    def _tasks(self, entry: table.Entry, request: Request) -> str | bool | None:
        """The value of SLURM_NTASKS, which is set only if the job requests tasks (with --nodes alone it is unset)."""
        if request.tasks is not None:
            return str(request.tasks)
        if not request.has_any_option(entry.options):
            if request.has_any_option(TASK_FACTORS) and (request.counts is None or request.counts.multiplied):
                return None if request.counts is None else str(request.counts.ntasks)
            if self.sized_elsewhere and not request.has_any_option(_SIZES):
                return None
            return False if request.directives.certain else None
        nodes = request.exact_nodes()
        if not request.has_option("ntasks") and request.tasks_per_node is not None and nodes is not None:
            return str(nodes * request.tasks_per_node)
        return None

    def _in_task(self, name: str, context: Context, request: Request) -> str | bool | None:
        step = enclosing_step(context)
        if name in TASK_VARIABLES:
            if step is not None and name in ZERO_IN_BATCH:
                if step.parts[0] is not step and name != "SLURM_LOCALID":
                    return None
                alone = step.tasks == 1 or step.nodes == 1 and name == "SLURM_NODEID"
                alone = alone or step.tasks_per_node == 1 and name == "SLURM_LOCALID"
                return "0" if alone else None
            return None
        if name == "SLURM_JOB_NUM_NODES" and not request.heterogeneous:
            return self._of_job(name, request)
        if name == "SLURM_NNODES":
            return None if step is None or step.all_nodes is None else str(step.all_nodes)
        if name in TASK_COUNTS:
            return None if step is None or step.all_tasks is None else str(step.all_tasks)
        if request.heterogeneous:
            return None
        if name == "SLURM_CPUS_PER_TASK" and step is not None and (option := step.option("cpus-per-task")) is not None:
            return option.text
        entry = table.variables().get(name)
        if entry is None or entry.batch != entry.task:
            return None
        if entry.when == "options" and (step is None or not step.certain or _changes(step, entry)):
            return None
        if name == "SLURM_GPUS_ON_NODE" and (step is None or _has_own_gpus(step, request)):
            return None
        if name == "SLURM_JOB_NAME" and step is not None and step.option("job-name") is not None:
            return None
        return self._of_job(name, request)


def _parents(context: Context) -> list[Invocation]:
    """The commands that started the shell, innermost first."""
    return [] if context.parent is None else [context.parent, *context.parent.ancestors()]


def _changes(step: Step, entry: table.Entry) -> bool:
    """Whether a step's own options may change a variable that it inherits from the job."""
    if any(name in step.options for name in entry.options):
        return True
    of_gpus = any(name in GPU_OPTIONS or "gpu" in name for name in entry.options)
    return of_gpus and any(name in GPU_OPTIONS or "gpu" in name for name in step.options)


def _has_own_gpus(step: Step, request: Request) -> bool:
    """Whether a step may have other GPUs than the job has on the node."""
    return request.gpus.per_task is not None or any(name in step.options for name in GPU_OPTIONS)
