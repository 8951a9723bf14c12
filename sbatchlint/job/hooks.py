"""What the evaluator asks: which commands start others, and in which phase these run."""

from __future__ import annotations

from ..shell.evaluate import Spawn
from ..shell.trace import Invocation
from ..shell.values import Phase, Pieces, shown_text, text_of
from ..slurm import getopt
from ..slurm.versions import Range
from .environment import JobEnvironment
from .launchers import mpi, recognise
from .launches import exported
from .request import Request
from .site import Site
from .steps import Step
from .words import assignment_of, split
from .wrappers import WRAPPERS, unwrap


class JobHooks:
    """Knows srun, sbatch, MPI launchers and wrappers."""

    def __init__(self, request: Request, versions: Range, site: Site) -> None:
        self.request = request
        self.versions = versions
        self.site = site
        self.environment = JobEnvironment(request)
        self.steps: list[Step] = []

    def spawn(self, invocation: Invocation) -> Spawn | None:
        name = invocation.name
        if name == "srun":
            return self._srun(invocation)
        if name == "sbatch":
            words = [shown_text(field) for field in invocation.argv[1:]]
            parsed = getopt.parse(words, "sbatch", self.versions.majors, self.site.plugin_options)
            return Spawn("sbatch", parsed.rest + 1 if parsed.rest < len(words) else None, Phase.SUBMIT)
        if name in mpi.NAMES:
            launcher = recognise(invocation.argv)
            if launcher is not None and launcher.program is not None:
                return Spawn("mpi", launcher.program, Phase.TASK, info=launcher)
            return None
        if name not in WRAPPERS:
            return None

        def lookup(variable: str) -> Pieces | None:
            return exported(invocation, variable)

        wrapped = unwrap(invocation.argv, lookup)
        if wrapped is None:
            return None
        return Spawn(
            wrapped.kind,
            wrapped.index,
            invocation.phase,
            tuple(wrapped.variables),
            frozenset(wrapped.dropped),
            wrapped.cleared,
            wrapped.container,
            wrapped.prefix,
            wrapped.kept,
        )

    def _srun(self, invocation: Invocation) -> Spawn:
        step = Step(invocation, self.request, self.versions, self.site)
        if invocation.phase is Phase.BATCH:
            self.steps.append(step)
        elif invocation.phase is Phase.SUBMIT:
            # an srun on the login node makes an allocation of its own
            return Spawn("srun", step.command, Phase.TASK)
        variables, cleared = _exports(step)
        return Spawn("srun", step.command, Phase.TASK, variables, frozenset(), cleared, step)


def _exports(step: Step) -> tuple[tuple[tuple[str, Pieces], ...], bool]:
    """What --export adds to the environment of the tasks, and whether it drops the rest (all but SLURM_*)."""
    option = step.option("export")
    if option is None or option.value is None:
        return (), False
    variables = []
    whole = True
    for item in split(option.value, ","):
        assignment = assignment_of(item)
        if assignment is not None:
            variables.append(assignment)
        if text_of(item) == "ALL" or text_of(item) is None and assignment is None:
            whole = False
    return tuple(variables), whole
