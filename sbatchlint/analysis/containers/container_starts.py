"""Commands that start a container, or enter one: docker, podman, apptainer and their kin, where they stand and run.

A command may run in several ways: in a function called twice, or with options that a branch decides. What is said of
it has to hold for all of them. What belongs to an engine follows its documents and runs: the client of docker 20.10,
podman 4.3.
"""

from functools import cached_property

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text, span_of, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import CommandOption, basename, hides_options, is_unknown
from sbatchlint.job.containers import Container
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

_VERBS = frozenset({"run", "exec", "shell", "start", "test", "shared-run"})
_DAEMONS = frozenset({"docker", "nvidia-docker"})
# Engines whose containers have a network and a /dev/shm of their own unless they are told otherwise.
_ISOLATING = frozenset({"docker", "nvidia-docker", "nerdctl", "podman"})


class ContainerStart:
    """One way in which a command of the script starts a container.

    `engine`: the name of the command (`docker`, `podman-hpc`, `singularity` …). `verb`: `run`, `exec` …, '' for engines
    that have none. `step`: in whose tasks it runs; None: the batch shell's.
    """

    def __init__(self, job: Job, invocation: Invocation, container: Container) -> None:
        self.job = job
        self.invocation = invocation
        self.container = container
        self.engine = basename(invocation.argv[0]) or ""
        self.step: Step | None = enclosing_step(invocation.context)
        self._verb = next((at for at, field in enumerate(invocation.argv) if text_of(field) in _VERBS), None)
        self.verb = "" if self._verb is None else text_of(invocation.argv[self._verb]) or ""

    @property
    def by_daemon(self) -> bool:
        """Whether docker's daemon runs the container, and not this command's own process."""
        return self.engine in _DAEMONS

    @property
    def is_isolated(self) -> bool:
        """Whether its network and its /dev/shm are its own, as far as no option that is seen says otherwise."""
        return self.engine in _ISOLATING and self.verb == "run" and self.is_certain

    @cached_property
    def program(self) -> list[Invocation]:
        """Every command that is known to run in the container."""
        return self.invocation.descendants()

    @cached_property
    def launches(self) -> list[Launch]:
        inside = {id(each) for each in self.program}
        return [each for each in self.job.launches if id(each.invocation) in inside]

    @property
    def is_certain(self) -> bool:
        """Whether all its options are known, so that one which is not seen is not given."""
        container = self.container
        if not container.certain:
            return False
        image = container.image if container.image is not None else container.name
        if image is None or self.verb == "exec" and self.container.kind in ("docker", "podman"):
            return False
        # `$EXTRA image command`: what is unknown and may be several words could be options
        if not is_unknown(image) or not any(piece.open for piece in image):
            return True
        name = " ".join(piece.expansion.name for piece in image if piece.expansion is not None).upper()
        return any(word in name for word in ("IMAGE", "IMG", "SIF", "CONTAINER", "SQSH", "CONT")) and not hides_options(
            image
        )

    @property
    def place(self) -> Span:
        """The command's name and verb, where they stand side by side."""
        first = self.container.span
        if self._verb is None:
            return first
        verb = span_of(self.invocation.argv[self._verb])
        between = self.job.source.slice(Span(first.end, verb.start)) if first.end <= verb.start else "\n"
        return Span(first.start, verb.end) if not between.strip() and "\n" not in between else first

    def flag(self, name: str) -> CommandOption | None:
        """The option that switches something on; None where it is off."""
        found = self.container.option(name)
        return None if found is None or found.text in ("false", "0", "no") else found

    # --- edits -------------------------------------------------------------------------------

    def added(self, options: str) -> Edit | None:
        """Puts options, as the shell must see them, after the verb; None where it stands nowhere in the file."""
        if self._verb is None:
            return None
        span = span_of(self.invocation.argv[self._verb])
        if self.job.source.slice(span) != self.verb:
            return None
        return insert(span.end, " " + options)


def runs_script(command: Invocation) -> bool:
    """Whether a command runs a script of the shell that cannot be read here: `bash train.sh`, `./train.sh`."""
    words = command.argv[:2] if command.name in ("bash", "sh") else command.argv[:1]
    return not command.children and bool(words) and shown_text(words[-1]).endswith((".sh", ".bash"))


@once
def container_starts(job: Job) -> list[list[ContainerStart]]:
    """The starts of a job, all ways of one command together, in the order of running."""
    found: dict[tuple[Span, Span], list[ContainerStart]] = {}
    for invocation in job.invocations:
        info = invocation.spawn.info
        if isinstance(info, Container) and invocation.phase is not Phase.SUBMIT:
            found.setdefault((invocation.span, info.span), []).append(ContainerStart(job, invocation, info))
    return list(found.values())
