"""Whether the program still runs in its container, with the same folders and variables."""

from collections.abc import Iterator, Sequence

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of
from sbatchlint.source.text import Span


def written_at(command: Invocation) -> Span:
    """The outermost command that runs this one."""
    return [command, *command.ancestors()][-1].span


def containers_of_starts(job: Job) -> list[Container | None]:
    """The containers (None: none) of the places where processes start, by a launcher or as tasks of a step."""
    found: dict[object, Container | None] = {}
    for launch in job.launches:
        if launch.launcher.spawns:
            found.setdefault((launch.launcher.span, written_at(launch.invocation)), launch.container)
    if found:
        return list(found.values())
    for step in job.steps:
        if step.tasks_per_node != 1:
            inside = (container_of(each) for each in step.program)
            key = step.span, written_at(step.invocation)
            found[key] = found.get(key) or next((each for each in inside if each is not None), None)
    return list(found.values())


def differences(before: Sequence[Container | None], after: Sequence[Container | None]) -> list[str]:
    """What is lost between containers and their replacements, as clauses; several may have become one."""
    lost: list[str] = []
    for at, container in enumerate(before):
        other = after[min(at, len(after) - 1)] if after else None
        if container is not None:
            lost += ["the program would not run in its container"] if other is None else _differences(container, other)
    return list(dict.fromkeys(lost))


def _differences(before: Container, after: Container) -> Iterator[str]:
    if before.kind == after.kind and before.image is not None and after.image is not None:
        if shown_text(before.image) != shown_text(after.image):
            yield "the program would run in another image"
    after_mounts = set(_mounts(after))
    for mount in dict.fromkeys(each for each in _mounts(before) if each not in after_mounts):
        yield f"the container would not see {mount[0]} as {mount[1]}"
    if before.workdir is not None and shown_text(before.workdir) != shown_text(after.workdir or ()):
        yield f"the program would not start in {shown_text(before.workdir)}"
    for name in before.passed:
        if after.passes(name) is False:
            yield f"{name} would not reach the program"


def _mounts(container: Container) -> list[tuple[str, str, bool]]:
    return [
        (
            shown_text(mount.source),
            shown_text(mount.target),
            bool({"ro", "readonly"} & set(mount.options.replace("+", ",").split(","))),
        )
        for mount in container.mounts
        if not mount.private
    ]
