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

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
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
    uses: _Uses | None = None
    for ways in container_starts(job):
        start = ways[0]
        run = start.invocation
        if start.verb != "run" or not run.context.captured or any(not way.is_certain for way in ways):
            continue
        if any(way.flag("detach") for way in ways) or run.redirects:
            continue
        uses = uses or _Uses(job)
        users = uses.of_output(run.span)
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


class _Uses:
    """The commands with a verb of which a word is an output and nothing else, by the places of the outputs."""

    def __init__(self, job: Job) -> None:
        users: dict[Span, list[Invocation]] = {}
        for command in job.invocations:
            alone = [field[0] for field in command.argv[2:] if len(field) == 1] if _verb(command) else ()
            for span in dict.fromkeys(each.span for each in alone if each.expansion is not None):
                users.setdefault(span, []).append(command)
        self._users = users
        self._spans = sorted(users)
        self._furthest = list(accumulate((span.end for span in self._spans), max))

    def of_output(self, span: Span) -> list[Invocation]:
        """Those that get what the command at a place prints."""
        found: list[Invocation] = []
        at = bisect_right(self._spans, span.start, key=lambda each: each.start) - 1
        while at >= 0 and self._furthest[at] >= span.end:
            found += self._users[self._spans[at]] if self._spans[at].contains(span) else ()
            at -= 1
        return sorted(dict.fromkeys(found), key=lambda each: each.span.start)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(«docker run» --rm --gpus all trainer:1 python train.py)
        trap 'docker stop $id' EXIT
        docker wait $id
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(docker run -d --rm --gpus all trainer:1 python train.py)
        trap 'docker stop $id' EXIT
        docker wait $id
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(«docker run» --gpus all trainer:1 sleep 1h)
        docker exec $id python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        id=$(docker run -d --gpus all trainer:1 sleep 1h)
        docker exec $id python train.py
        """,
        title="the work is in it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        ID=`«podman run» --device nvidia.com/gpu=all trainer:1`
        podman logs "$ID"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        ID=`podman run -d --device nvidia.com/gpu=all trainer:1`
        podman logs "$ID"
        """,
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
