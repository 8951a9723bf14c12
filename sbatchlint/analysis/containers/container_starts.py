"""Commands that start or enter a container: docker, podman, apptainer and the like.

A command may run in several ways: in a function called twice, or with options that a branch decides. A finding has to
hold for all of them. Facts about the engines are from their documentation and from runs of the docker 20.10 client and
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
# Engines whose containers have their own network and /dev/shm by default.
_ISOLATING = frozenset({"docker", "nvidia-docker", "nerdctl", "podman"})


class ContainerStart:
    """One way in which a command of the script starts a container.

    `engine`: the name of the command (`docker`, `podman-hpc`, `singularity` …). `verb`: `run`, `exec` …, '' for engines
    that have none. `step`: the step in whose tasks it runs; None for the batch shell.
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
    def has_small_memory(self) -> bool:
        """Whether the container has a /dev/shm of its own, in which docker and podman give 64 MB, and no option or
        mount says more."""
        container = self.container
        ipc = container.option("ipc")
        if container.option("shm-size") is not None or ipc is not None and ipc.text not in ("private", "shareable"):
            return False
        return not any(
            (each.target_text or "/dev/shm").rstrip("/") in ("/dev/shm", "/dev") for each in container.mounts
        )

    @property
    def by_daemon(self) -> bool:
        """Whether docker's daemon runs the container, not a process of this command."""
        return self.engine in _DAEMONS

    @property
    def is_isolated(self) -> bool:
        """Whether the container has its own network and /dev/shm, unless an option says otherwise."""
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
        """Whether all its options are known, so that an option which is not among them is not set."""
        container = self.container
        if not container.certain:
            return False
        image = container.image if container.image is not None else container.name
        if image is None or self.verb == "exec" and self.container.kind in ("docker", "podman"):
            return False
        # `$EXTRA image command`: an unknown value that may be several words could hold options
        if not is_unknown(image) or not any(piece.open for piece in image):
            return True
        name = " ".join(piece.expansion.name for piece in image if piece.expansion is not None).upper()
        return any(word in name for word in ("IMAGE", "IMG", "SIF", "CONTAINER", "SQSH", "CONT")) and not hides_options(
            image
        )

    @property
    def place(self) -> Span:
        """The place of the command's name, and of its verb if that follows on the same line."""
        first = self.container.span
        if self._verb is None:
            return first
        verb = span_of(self.invocation.argv[self._verb])
        between = self.job.source.slice(Span(first.end, verb.start)) if first.end <= verb.start else "\n"
        return Span(first.start, verb.end) if not between.strip() and "\n" not in between else first

    def flag(self, name: str) -> CommandOption | None:
        """The option that switches something on; None if it is off."""
        found = self.container.option(name)
        return None if found is None or found.text in ("false", "0", "no") else found

    @property
    def cleaning(self) -> CommandOption | None:
        """The option that makes apptainer drop the environment; None where none does."""
        return next((each for name in ("cleanenv", "containall", "compat") if (each := self.flag(name))), None)

    # --- edits -------------------------------------------------------------------------------

    def added(self, options: str) -> Edit | None:
        """The edit that inserts options, as the shell must see them, after the verb; None if the file lacks that."""
        if self._verb is None:
            return None
        span = span_of(self.invocation.argv[self._verb])
        if self.job.source.slice(span) != self.verb:
            return None
        return insert(span.end, " " + options)


def runs_script(command: Invocation) -> bool:
    """Whether a command runs a shell script that cannot be read here: `bash train.sh`, `./train.sh`."""
    words = command.argv[:2] if command.name in ("bash", "sh") else command.argv[:1]
    return not command.children and bool(words) and shown_text(words[-1]).endswith((".sh", ".bash"))


@once
def container_starts(job: Job) -> list[list[ContainerStart]]:
    """The container starts of a job, in the order in which they run, with all ways of one command together."""
    found: dict[tuple[Span, Span], list[ContainerStart]] = {}
    for invocation in job.invocations:
        info = invocation.spawn.info
        if isinstance(info, Container) and invocation.phase is not Phase.SUBMIT:
            found.setdefault((invocation.span, info.span), []).append(ContainerStart(job, invocation, info))
    return list(found.values())
