"""A container's output is taken for its ID: `docker run` without `-d` waits for the container.

`id=$(docker run image train)` runs the whole training first, and keeps what it printed: nothing of it reaches the log,
and `docker wait $id`, `docker logs $id` or `docker stop $id` then find no container of that name. Where such a command
is the last one, the job always fails; a trap that it is in stops nothing. An error where the job works in the container
or fetches its files by the ID; otherwise a warning, as the container has run to its end.

Only with `-d` (`--detach`) does `docker run` print the id of the container, and return at once.

## Fix

Adds `-d`. Unsafe: what comes after it then no longer waits for the container, unless `docker wait` does. None with
`--rm` where its log or its files are asked for later: it is gone then.

## References

docker run manual, "Foreground and background"; a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.once import once
from sbatchlint.source.text import Nested
from sbatchlint.triggers import Containers

CARD = Card(
    "SB521", "container-id-is-output", severity="error", fix="sometimes", since="0.1.0",
    when=Containers("docker", "podman"), seen="a review of public scripts",
)  # fmt: skip

_CLIENTS = frozenset({"docker", "nvidia-docker", "podman", "sudo"})
# Commands that are used on a container that has ended.
_AFTERWARDS = frozenset({"commit", "cp", "export", "inspect", "logs"})
# Those that work in it, or fetch what it computed.
_WORKING = frozenset({"attach", "commit", "cp", "exec", "export", "restart", "start"})
# Commands that take the ID of a container.
_BY_ID = frozenset(
    {"attach", "commit", "cp", "exec", "export", "inspect", "kill", "logs", "pause", "port", "rm", "restart", "start"}
    | {"stop", "top", "unpause", "update", "wait"}
)


def check(job: Job) -> Iterator[Finding]:
    for ways in container_starts(job):
        start = ways[0]
        run = start.invocation
        if start.verb != "run" or not run.context.captured or any(not way.is_certain for way in ways):
            continue
        if any(way.flag("detach") for way in ways) or run.redirects:
            continue
        users = sorted(dict.fromkeys(_users(job).around(run.span)), key=lambda each: each.span.start)
        if not users:
            continue
        line, verb = job.line(users[0].span.start), _verb(users[0])
        name = run.words[0].rpartition("/")[2]
        # with `--rm` nothing is left of a container once it has ended
        lost = any(way.flag("rm") for way in ways) and any(_verb(each) in _AFTERWARDS for each in users)
        remove = " without `--rm`" if lost else ""
        # the container has run to its end by then, and what it computed is there
        severity = None if any(_verb(each) in _WORKING for each in users) else "warning"
        yield Finding(
            start.place,
            f"without `-d` this captures the container's output, not its ID, so `{name} {verb}` on line {line} "
            f"fails; write `{name} run -d`{remove}",
            severity,
            fix=None if lost else Fix("add -d", [insert(start.place.end, " -d")], safe=False),
            related=[(each.span, "gets what the container printed") for each in users[:3]],
        )


def _verb(command: Invocation) -> str | None:
    """What a client does to a container by its id; None for anything else."""
    if command.name not in _CLIENTS:
        return None
    words = [text_of(field) for field in command.argv[1:4]]
    return next((word for word in words if word in _BY_ID), None)


@once
def _users(job: Job) -> Nested[Invocation]:
    """The commands with a verb of which a word is an output and nothing else, by the places of the outputs."""
    using = [command for command in job.invocations if _verb(command)]
    alone = [(field[0], command) for command in using for field in command.argv[2:] if len(field) == 1]
    return Nested((piece.span, command) for piece, command in alone if piece.expansion is not None)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(«docker run» --rm --gpus all trainer:1 python train.py)
        trap 'docker stop $id' EXIT
        docker wait $id
        """,
        unsafe_fixed={"--rm": "-d --rm"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(«docker run» --gpus all trainer:1 sleep 1h)
        docker exec $id python train.py
        """,
        unsafe_fixed={"--gpus": "-d --gpus"},
        title="the work is in it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        ID=`«podman run» --device nvidia.com/gpu=all trainer:1`
        podman logs "$ID"
        """,
        unsafe_fixed={"--device": "-d --device"},
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(docker run -d --init --gpus all trainer:1 python train.py)
        trap 'docker stop $id' EXIT
        docker wait $id
        """,
        title="it returns at once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        version=$(docker run --rm --init trainer:1 cat /VERSION)
        docker run --rm --init trainer:$version python train.py
        """,
        title="its output is wanted",
    ),
]
