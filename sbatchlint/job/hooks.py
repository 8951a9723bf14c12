"""What the interpreter asks the job: which commands start others, in which phase, and which files they read."""

from sbatchlint.bash.trace import Invocation, Spawn, exported
from sbatchlint.bash.values import Phase, Pieces, Text, cut, shown_text, text_of
from sbatchlint.job.argv import program_name
from sbatchlint.job.beside import FilesBeside
from sbatchlint.job.commands.wrappers import WRAPPERS, unwrap
from sbatchlint.job.exports import spawn_of
from sbatchlint.job.included_files import IncludedFiles
from sbatchlint.job.launchers import recognise
from sbatchlint.job.launches import Launch, container_of, find_launches
from sbatchlint.job.paths import host_paths
from sbatchlint.job.request import Request
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.job.srun import component_after
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.site import Site
from sbatchlint.slurm import getopt
from sbatchlint.slurm.versions import Range
from sbatchlint.source.text import Span


class JobHooks:
    """The job's answers to the interpreter: srun, sbatch, MPI launchers and wrappers, the environment, files.

    `steps`: the steps of the batch phase, in order.
    """

    def __init__(self, request: Request, versions: Range, site: Site, files: IncludedFiles) -> None:
        self.files = files
        self.request = request
        self.versions = versions
        self.site = site
        self.environment = JobEnvironment(request, site.unset, sized_elsewhere=True)
        self.steps: list[Step] = []

    def spawn(self, invocation: Invocation) -> Spawn | None:
        name = invocation.name
        if name == "srun":
            return self._srun(invocation)
        if name == "salloc":
            parsed = getopt.parse(invocation.words[1:], name, self.versions.majors, self.site.plugin_options)
            return Spawn(name, parsed.rest + 1)
        if name == "sbatch":
            words = invocation.words[1:]
            parsed = getopt.parse(words, "sbatch", self.versions.majors, self.site.plugin_options)
            rest = parsed.rest + 1 if parsed.rest < len(words) else None
            return Spawn("sbatch", rest, Phase.SUBMIT, prefix=_wrapped(invocation, parsed))
        if has_trait(program_name(invocation), "mpi"):  # `$MPI_HOME/bin/mpirun` too
            return _mpi(invocation)
        if name not in WRAPPERS:
            return None

        def lookup(variable: str) -> Pieces | None:
            return exported(invocation, variable)

        return unwrap(invocation.argv, lookup)

    def file(self, name: str, included_from: Span) -> Text | None:
        return self.files.read(name, included_from)

    def launches(self, invocations: list[Invocation]) -> list[Launch]:
        """The launchers among the commands of an evaluation."""
        return find_launches(invocations, FilesBeside(self.files, invocations, self.host_paths))

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        container = container_of(command)
        if container is None or not container.mounts:
            return []
        return host_paths(path, container)

    def _srun(self, invocation: Invocation) -> Spawn:
        step = Step(invocation, self.request, self.versions, self.site)
        following = step.next_part()
        if step.end is not None:
            invocation.end_at(step.end, step.shared)
        if invocation.phase is Phase.BATCH:
            self.steps.append(step)
        elif invocation.phase is Phase.SUBMIT:
            # an srun on the login node gets its own allocation
            return Spawn("srun", step.command, Phase.TASK, component=following)
        return spawn_of(step, following)


def _mpi(invocation: Invocation) -> Spawn | None:
    """What mpirun starts: the program of one of its application contexts, which `:` separates; None if not known."""
    argv = invocation.argv
    launcher = recognise(argv)
    if launcher is None or launcher.program is None:
        return None
    colon = next((at for at in range(launcher.program, len(argv)) if text_of(argv[at]) == ":"), None)
    following = None
    if colon is not None:
        invocation.end_at(colon)
        launcher = recognise(invocation.argv)
        following = component_after(argv, colon)
    if launcher is None or launcher.program is None:
        return None
    launcher.joined = following is not None or invocation.before is not None
    return Spawn("mpi", launcher.program, Phase.TASK, info=launcher, component=following)


def _wrapped(invocation: Invocation, parsed: getopt.Parsed) -> tuple[Pieces, ...]:
    """The value of sbatch's --wrap, as a word; empty without one."""
    for option in reversed(parsed.options):
        if option.name == "wrap" and option.value_word is not None and option.value_start is not None:
            field = invocation.argv[option.value_word + 1]
            return (cut(field, option.value_start, len(shown_text(field))),)
    return ()
