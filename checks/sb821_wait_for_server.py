"""The job idles until its time limit: it waits for a server, which never ends by itself.

A bare `wait` returns when every process in the background has ended. A server that the script has started there
(dask-scheduler, redis-server, `ray start --block`, `vllm serve`, Xvfb) does not end when its clients have: the work is
done, the nodes stay allocated until the time limit, what follows the `wait` is never reached, and the job ends as
TIMEOUT. So does `wait $server_pid`.

Reported where the script itself runs work beside the server, or means to go on after the `wait`. A server alone, a
Jupyter or a script that says how to connect, is a session: it is to last. Nothing is reported where something between
the two may stop the server. Advice where a client of Dask may do so, and cannot be read.

## Fix

None: `wait "$client"` for the processes that end, with the `$!` of each, and then `kill` the server; or put
`kill $server` before the `wait`.

## References

bash(1), "wait"; the manuals of the servers.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.appending import last_line
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launchers import python_of
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands

CARD = Card(
    "SB821", "wait-for-server", severity="warning", fix="never", since="0.1.0", when=Commands("wait"),
    batch=True, whole_script=True, seen="a review of public scripts",
    unseen="Nothing: the last line is that of the work, and the job goes on until its time limit.",
)  # fmt: skip

# Words of a command, or of a program, that may stop a server.
_STOPS = Regex(r"(?i)(?:.*[\W_])?(?:stop|shut[-_]?down|kill|quit|terminate|exit|close|retire_workers)(?:[\W_].*)?")
# What only looks whether a server is there, or makes it known.
_BESIDE = Regex(r"(?i).*(?:wait|health|ready|check|ping|regist|tunnel|proxy|router|gateway|warm|monitor|watch|log).*")
# A worker of the server, which ends only with it: `dask worker`, `dask-worker`.
_WORKER = Regex(r"(?:[\w-]+-)?workers?")
_SESSION = Regex(r"(?i)\bssh\b.*\s-\w*[NLR]|\btunnel|https?://")


def check(job: Job) -> Iterator[Finding]:
    waits = [each for each in job.invocations if each.name == "wait" and not each.context.handler]
    servers = [each for each in job.invocations if waits and _is_server(each)]
    if not servers or any(map(_is_session, job.invocations)):
        return
    for wait in waits:
        awaited = [each for each in servers if _awaits(job, wait, each)]
        if not awaited or depends_on_test(wait):
            continue
        server = awaited[0]
        between = job.invocations[server.index + 1 : wait.index]
        if any(_may_stop(job, each) for each in between):
            return
        together = [each for each in between if merge_guards(each.guards, server.guards) is not None]
        clients = [each for each in together if _is_client(job, each)]
        later = [each for each in job.invocations[wait.index + 1 :] if _is_meant_to_run(each, wait)]
        client = next((each for each in reversed(clients) if each.context.background is None), None)
        if client is None and later and len(wait.argv) == 1:
            client = next(iter(clients), None)
        if client is None:
            continue
        name = server_name(server)
        started = [each for each in between if _is_other_work(each, server)]
        work = started[-1] if started else client
        lost = f" and line {job.line(later[0].span.start)} never runs" if later else ""
        may_stop = "dask" in (name or "") and python_of(client) is not None
        unread = may_stop and python_program(job, client) is None
        unless = " if nothing else ends it" if may_stop else ""
        message = f"`wait` lasts until the time limit{lost}, as `{name}` never ends; "
        message += f"{_advice(job, started, client, server, between)}{unless}"
        yield Finding(
            wait.span,
            message if len(message) <= MOST else message.removesuffix(unless),
            "info" if unread else None,
            related=[(server.name_span, "never ends by itself"), (work.name_span, "the work")],
        )
        return


def _is_server(command: Invocation) -> bool:
    """Whether a command is a server in the background, and nothing limits its time."""
    if command.context.background is None or command.children or has_trait(command.name, "session"):
        return False
    limited = any(each.name in ("timeout", "docker", "podman") for each in command.ancestors())
    name = server_name(command)
    return name is not None and not limited and not name.startswith("jupyter")


def _is_session(command: Invocation) -> bool:
    """Whether a command says how to connect, or opens a session for its user."""
    if has_trait(command.name, "prints") or command.name == "cat" and command.stdin is not None:
        words = " ".join(command.words[1:]) + (command.stdin.string if command.stdin is not None else "")
        return _SESSION.search(words) is not None
    return has_trait(command.name, "session") or command.name == "ssh"


def _is_other_work(command: Invocation, server: Invocation) -> bool:
    """Whether `wait` waits for this command of the background too, which does not belong to the server."""
    background = command.context.background
    words = [word for each in (command, *command.descendants()) for word in each.words[:2]]
    inner = any(server_name(each) is not None for each in command.descendants())  # `srun ray start --address=… &`
    beside = inner or any(map(_WORKER.fullmatch, words))
    apart = background is not None and background != server.context.background
    return apart and not beside and not _is_server(command)


def _advice(
    job: Job, started: list[Invocation], client: Invocation, server: Invocation, between: list[Invocation]
) -> str:
    """What to write instead of a `wait` for all; `started`: the work in the background, `between`: all after the
    server."""
    shells = {each.context.background for each in started}
    last = next((each.context.background for each in reversed(between) if each.context.background is not None), None)
    loops = any(each.context.loops for each in (server, *started))
    if len(shells) == 1 and last in shells and not loops:  # so that `$!` is its ID
        line = last_line(job, server)
        return f"write `server=$!` below line {line}, and `wait $!; kill $server` here"
    if started:
        return f"`wait` for line {job.line(started[-1].span.start)} only, then `kill` the server"
    return f"`kill` the server after `{client.name}` on line {job.line(client.span.start)}"


def _awaits(job: Job, wait: Invocation, server: Invocation) -> bool:
    """Whether a `wait` returns only when the server has ended."""
    background = server.context.background
    if background is None or wait.index < server.index or wait.context.shell is not background.parent:
        return False
    if len(wait.argv) == 1:
        return True
    started = {each.context.background.span for each in job.invocations if each.context.background is not None}
    for field in wait.argv[1:]:
        for expansion in expansions(field):
            if expansion.name != "!":
                continue
            before = [each for each in started if each.end <= expansion.span.start]
            if max(before, key=lambda each: each.end, default=None) == background.span:
                return True
    return False


def _may_stop(job: Job, command: Invocation) -> bool:
    """Whether a command may end a server."""
    if has_trait(command.name, "kills") or any(map(_STOPS.fullmatch, command.words)):
        return True
    program = python_program(job, command)
    return program is not None and program.mentions("shutdown", "terminate", "kill", "stop", "retire_workers")


def _is_client(job: Job, command: Invocation) -> bool:
    """Whether a command is work, and no server."""
    if command.children or command.context.captured or command.context.handler or server_name(command) is not None:
        return False
    return weight(job, command) >= Weight.PROGRAM and not any(map(_BESIDE.fullmatch, command.words[:3]))


def _is_meant_to_run(command: Invocation, wait: Invocation) -> bool:
    """Whether a command does something after the `wait` in its shell or one of its subshells, more than print."""
    context = command.context
    if context.shell.awaiting is not wait.context.shell or context.handler or context.conditional or context.parent:
        return False
    return not has_trait(command.name, "prints", "kills") and command.name not in ("exit", "wait", "date", "trap")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        dask-scheduler --scheduler-file scheduler.json &
        srun dask-worker --scheduler-file scheduler.json &
        python simulate.py scheduler.json
        «wait»
        """,
        severity="info",
        title="a program that cannot be read may stop the server",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        vllm serve my/model --port 8000 &
        server=$!
        python generate.py
        «wait $server»
        cp answers.json results/
        """,
        title="by its number",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=2
        redis-server --port 7000 &
        ./producer &
        ./consumer &
        «wait»
        rm -rf work
        """,
        title="what follows is never reached",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        vllm serve my/model --port 8000 &
        server=$!
        python generate.py
        kill $server
        wait
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        redis-server --port 7000 &
        ./producer & producer=$!
        wait $producer
        """,
        title="for the client alone",
    ),
    Good("#!/bin/bash\n#SBATCH --gpus=1\nvllm serve my/model --port 8000 &\nwait\n", title="the server is the job"),
]
