"""Whether the program still runs in the container in which it ran, with the same folders and variables."""

from collections.abc import Iterator

from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of


def container_of_start(job: Job) -> Container | None:
    """The container in which the processes of a job start, by a launcher or as the tasks of a step."""
    for launch in job.launches:
        if launch.launcher.spawns:
            return launch.container
    found = (container_of(each) for step in job.steps for each in step.program if step.tasks_per_node != 1)
    return next((each for each in found if each is not None), None)


def differences(before: Container | None, after: Container | None) -> list[str]:
    """What a container had that the other has not."""
    if before is None:
        return []
    if after is None:
        return ["the program would not run in its container"]
    return list(_differences(before, after))


def _differences(before: Container, after: Container) -> Iterator[str]:
    if before.kind == after.kind and before.image is not None and after.image is not None:
        if shown_text(before.image) != shown_text(after.image):
            yield "the program would run in another image"
    for mount in set(_mounts(before)) - set(_mounts(after)):
        yield f"the container would not see {mount[0]} as {mount[1]}"
    if before.workdir is not None and shown_text(before.workdir) != shown_text(after.workdir or ()):
        yield f"the program would not start in {shown_text(before.workdir)}"
    for name in before.passed:
        if after.passes(name) is False:
            yield f"{name} would not reach the program"


def _mounts(container: Container) -> list[tuple[str, str, bool]]:
    return [
        (
            shown_text(each.source),
            shown_text(each.target),
            bool({"ro", "readonly"} & set(each.options.replace("+", ",").split(","))),
        )
        for each in container.mounts
        if not each.private
    ]
