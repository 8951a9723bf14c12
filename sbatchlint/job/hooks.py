"""What the interpreter asks of the job: which commands start others, in which phase; the files beside the script."""

from sbatchlint.bash.trace import Invocation, Spawn, exported
from sbatchlint.bash.values import Phase, Pieces, Text, cut, shown_text, text_of
from sbatchlint.job.argv import assignment_of, split
from sbatchlint.job.commands.wrappers import WRAPPERS, unwrap
from sbatchlint.job.included_files import IncludedFiles
from sbatchlint.job.launchers import mpi, recognise
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import host_paths
from sbatchlint.job.request import Request
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.job.steps import Step
from sbatchlint.slurm import getopt
from sbatchlint.slurm.site import Site
from sbatchlint.slurm.versions import Range
from sbatchlint.source.text import Span


class JobHooks:
    """The job's answers to the interpreter: srun, sbatch, MPI launchers and wrappers, the environment, files.

    `steps`: those of the batch phase, in order.
    """

    def __init__(self, request: Request, versions: Range, site: Site, files: IncludedFiles) -> None:
        self.files = files
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
            rest = parsed.rest + 1 if parsed.rest < len(words) else None
            return Spawn("sbatch", rest, Phase.SUBMIT, prefix=_wrapped(invocation, parsed))
        if name in mpi.NAMES:
            launcher = recognise(invocation.argv)
            if launcher is not None and launcher.program is not None:
                return Spawn("mpi", launcher.program, Phase.TASK, info=launcher)
            return None
        if name not in WRAPPERS:
            return None

        def lookup(variable: str) -> Pieces | None:
            return exported(invocation, variable)

        return unwrap(invocation.argv, lookup)

    def file(self, name: str, included_from: Span) -> Text | None:
        return self.files.read(name, included_from)

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        container = container_of(command)
        if container is None or not container.mounts:
            return []
        return host_paths(path, container)

    def _srun(self, invocation: Invocation) -> Spawn:
        step = Step(invocation, self.request, self.versions, self.site)
        if invocation.phase is Phase.BATCH:
            self.steps.append(step)
        elif invocation.phase is Phase.SUBMIT:
            # an srun on the login node gets an allocation of its own
            return Spawn("srun", step.command, Phase.TASK)
        variables, kept = _exports(step)
        dropped: frozenset[str] = frozenset()
        if kept is not None:
            own = {name for name, each in invocation.state.variables.items() if each.exported and each.alternatives}
            dropped = frozenset(name for name in own if name not in kept and not name.startswith("SLURM_"))
            kept = (*kept, *(name for name in own if name.startswith("SLURM_")))
        return Spawn("srun", step.command, Phase.TASK, variables, dropped, kept is not None, step, kept=kept or ())


def _exports(step: Step) -> tuple[tuple[tuple[str, Pieces], ...], tuple[str, ...] | None]:
    """The variables that --export adds for the tasks, and those that it keeps beside SLURM_* (None: all)."""
    option = step.option("export")
    if option is None or option.value is None:
        return (), None
    variables = []
    kept: tuple[str, ...] | None = ()
    for item in split(option.value, ","):
        assignment = assignment_of(item)
        name = text_of(item)
        if assignment is not None:
            variables.append(assignment)
        elif name == "ALL" or name is None:
            kept = None
        elif kept is not None:
            kept = (*kept, name)
    return tuple(variables), kept


def _wrapped(invocation: Invocation, parsed: getopt.Parsed) -> tuple[Pieces, ...]:
    """The text of sbatch's --wrap; empty without one."""
    for each in reversed(parsed.options):
        if each.name == "wrap" and each.value_word is not None and each.value_start is not None:
            field = invocation.argv[each.value_word + 1]
            return (cut(field, each.value_start, len(shown_text(field))),)
    return ()
