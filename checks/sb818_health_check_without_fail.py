"""A server that is not ready counts as ready: its health check accepts every answer, even an error.

curl ends with 0 as soon as a server answers, even with 404, 500 or 503. `if curl -s -o /dev/null $URL/health` is
therefore true for a server that is not ready or has failed: clients start too early, or a job keeps its nodes for days
with a server that only returns errors.

Advice where the server is vLLM, which opens its port only once the model is loaded. Reported where curl's status is
tested, its output is discarded, and the address is a health endpoint.

## Fix

Adds `-f`, with which curl ends with 22 for an answer of 400 and above. Unsafe: a server that does not know this address
answers 404.

## References

curl(1), `--fail`.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import is_open, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB818", "health-check-without-fail", severity="warning", fix="sometimes", since="0.1.0", when=Commands("curl"),
    seen="curl(1); a public script",
    unseen="Nothing: the check passes, whatever the node answers.",
)  # fmt: skip

_HEALTH = Regex(r"/(?:\w+_)?(?:health|healthz|health_generate|ready|readyz|livez?|ping)(?:[/?].*)?\Z")
_FAILS = Regex(r"-[a-zA-Z]*f[a-zA-Z]*|--fail\S*")
_VLLM = Regex(r"(?i)\bvllm\b")
_OTHERS = Regex(
    r"(?i)sglang|llama[-_.]?(?:cpp|server)|triton(?:server|_)|tgi\b|text-generation|uvicorn|gunicorn|fastapi|trtllm"
)
_NOWHERE = "/dev/null"


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if not command.context.tested or command.piped_to or command.context.captured:
        return
    words = command.words[1:]
    if not any(_HEALTH.search(word) for word in words) or any(_FAILS.fullmatch(word) for word in words):
        return
    if any(is_open(word[:1]) for word in command.argv[1:]) or not _discards_output(command, words):
        return  # a variable may contain the option
    place = command.name_span
    written = place.start == command.span.start and job.source.slice(place).endswith("curl")
    late = _opens_late(job)
    such = "" if late else ", such as 503 from a server that is not ready"
    yield Finding(
        place,
        f"without `-f` curl succeeds even on an error answer{such}; write `curl -f`",
        "info" if late else None,
        fix=Fix("add -f", [insert(place.end, " -f")], safe=False) if written else None,
    )


def _opens_late(job: Job) -> bool:
    """Whether the only server that the script names, vLLM, opens its port once its model is loaded."""
    return _VLLM.search(job.source.text) is not None and _OTHERS.search(job.source.text) is None


def _discards_output(command: Invocation, words: list[str]) -> bool:
    """Whether the answer of the server is discarded."""
    discarded = _NOWHERE in words or "-o/dev/null" in words
    return discarded or any(
        redirect.target is not None
        and shown_text(redirect.target) == _NOWHERE
        and redirect.operator in (">", "&>", ">&")
        for redirect in command.redirects
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python -m sglang.launch_server --port 8000 &
        for i in $(seq 60); do
            «curl» -s -o /dev/null http://localhost:8000/health && break
            sleep 10
        done
        python generate.py
        """,
        unsafe_fixed={"curl -s": "curl -f -s"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python -m sglang.launch_server --port 8000 &
        for i in $(seq 60); do
            curl -sf -o /dev/null http://localhost:8000/health && break
            sleep 10
        done
        curl -s http://localhost:8000/health
        """
    ),
]
