"""Commands never run in time: a server before them runs in the foreground.

A server runs until it is stopped: the client after it, the loop that monitors it, or the message that explains how to
connect, comes only then. The job idles until its time limit, and as that ends the job, the rest of the script never
runs.

## Fix

None: put `&` after the server, then run the client once the server answers, and `kill $!` or `wait` at the end. A
message that explains how to connect belongs above the server.

## References

The manuals of the servers; https://docs.vllm.ai, "OpenAI-Compatible Server".
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.servers import SERVERS, VERBS, server_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import program_options
from sbatchlint.job.launchers import is_interpreter, python_of
from sbatchlint.job.programs import commands_of
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB815", "server-before-client", severity="warning", fix="never", since="0.1.0", seen="public scripts",
    when=Commands(*SERVERS, *VERBS, "python*", "ipython*", "pypy*"), batch=True,
)  # fmt: skip

# Of more servers one after the other only the last are compared with what follows.
_MOST_SERVERS = 20
_CLIENTS = programs_with("connects")
_HERE = Regex(r"(?i)\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\b")
_HOW_TO_CONNECT = Regex(r"(?i)\bssh\b.*\s-\w*[NLR]|https?://(?:localhost|127\.0\.0\.1|\W)|\btunnel")
_PRINTING = programs_with("prints") | {"cat"}


class Server(NamedTuple):
    """A command that serves. `name`: for messages; `waiting`: the command itself and those that start it."""

    command: Invocation
    name: str
    waiting: tuple[Invocation, ...]


def check(job: Job) -> Iterator[Finding]:
    may_serve = commands_of(job, lambda name: name in SERVERS or name in VERBS or is_interpreter(name))
    starting = {id(each.command): each for each in map(partial(_server, job), may_serve) if each is not None}
    servers: list[Server] = []
    for command in job.invocations if starting else ():
        for before in servers:
            what = _use(command, before.command) if _runs_after(before, command) else None
            if what is not None:
                servers.remove(before)
                where = job.line(before.command.span.start)
                advice = "put it above the server" if command.name in _PRINTING else "put `&` after the server"
                yield Finding(
                    command.span,
                    f"{what} only after the server `{before.name}` on line {where} has stopped; {advice}",
                    related=[(before.command.name_span, "serves until it is stopped")],
                )
                break
        if id(command) in starting:
            servers.append(starting[id(command)])
            del servers[:-_MOST_SERVERS]


def _server(job: Job, command: Invocation) -> Server | None:
    """The server that a command starts in the foreground; None for other commands."""
    name = server_name(command)
    if name is None:
        return None
    waiting = (command, *command.ancestors())
    if any(each.context.background or each.context.captured or each.name == "timeout" for each in waiting):
        return None
    runs = runs_of(job, command)[:1]
    filters = {each.name for run in runs for element in run.elements for each in element if each is not command}
    if command.context.conditional or command.piped_to and not (runs and filters <= {"cat", "tee"}):
        return None  # a filter may end it early
    return Server(command, name, waiting)


def _runs_after(server: Server, command: Invocation) -> bool:
    """Whether a command of the same shell runs after the server, or what started it, has ended."""
    if command.context.handler:
        return False
    parent, shell = command.context.parent, command.context.shell.awaiting
    for invocation in server.waiting:
        if invocation.context.parent is parent and invocation.context.shell.awaiting is shell:
            after = invocation is not command and command.span.start >= invocation.span.end
            return after and merge_guards(command.guards, invocation.guards) is not None
    return False


def _use(command: Invocation, server: Invocation) -> str | None:
    """How a command uses the server, as the beginning of a sentence; None where it does not."""
    words = " ".join(command.words[1:])
    ports = {text_of(value) for _, value, _ in program_options(server.argv, ("--port", "-p").__contains__) if value}
    if command.name in _CLIENTS and (_HERE.search(words) or ports & {*words.replace(":", " ").split()}):
        return f"`{command.name}` runs"
    if command.name == "cat" and command.stdin is not None:
        words = command.stdin.string
    if command.name in _PRINTING and _HOW_TO_CONNECT.search(words):
        return "this is printed"
    return "this program runs" if python_of(command) is not None and _HERE.search(words) else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        vllm serve my/model --port 8000
        «curl http://localhost:8000/v1/models»
        python generate.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        port=8888
        apptainer exec notebook.sif jupyter lab --no-browser --port=$port
        «echo "on your machine: ssh -N -L $port:$(hostname):$port cluster"»
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        vllm serve my/model --port 8000 &
        until curl -sf http://localhost:8000/health; do
            kill -0 $! || exit 1
            sleep 10
        done
        python generate.py
        """
    ),
]
