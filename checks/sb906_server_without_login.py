"""Anyone who reaches the node can use your account: a server asks for no login.

Whoever opens the port of a Jupyter server with an empty token can run commands as the owner of the job, and read all of
their files; on most clusters every user can reach the compute nodes. The same holds for `code-server --auth none`, a
terminal of `ttyd` without a login, and databases that are told to listen everywhere and to ask for no password.

An error where the server runs commands and certainly asks for no login; a warning for databases, and where Jupyter has
an empty token, but may ask for a password that `jupyter server password` has saved.

The scheduler of Dask runs the code that a client sends. It asks for no certificate unless it has the options for them:
advice, as most clusters use it so.

A server that listens on 127.0.0.1 alone can still be reached by other users of its node: that is not reported.

## Fix

None: leave out the option that turns the login off (Jupyter then prints a token into the log), or set a password that
is not in the script.

## References

Jupyter Server, "Security"; code-server, `--auth`; redis.conf, protected-mode; mongod, `--bind_ip_all`
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

# By program: options that turn the login off, options that demand one, and whether it listens everywhere by default.
_SERVERS: dict[str, tuple[Regex, Regex, bool]] = {
    "jupyter": (
        Regex(r"--\w+\.token=(?:''|\"\")?"),
        Regex(r"--\w+\.(?:hashed_)?password=.+"),
        False,
    ),
    "code-server": (Regex(r"--auth=none|--auth none"), Regex(r"(?!)"), False),
    "redis-server": (Regex(r"--protected-mode no"), Regex(r"--requirepass .+"), True),
    "mongod": (Regex(r"--noauth|--bind_ip_all"), Regex(r"--auth|--keyFile.*"), False),
    "ttyd": (Regex(r"-W|--writable"), Regex(r"(?:-c|--credential)\b.*|--auth-header.*"), True),
}
_SERVERS.update(dict.fromkeys(("jupyter-lab", "jupyter-notebook", "jupyter-server"), _SERVERS["jupyter"]))
_EVERYWHERE = Regex(
    r"(?:--ip|--\w+\.ip|--bind-addr|--bind|--host|--bind_ip)[= ](?:0\.0\.0\.0|::|\*|\ue000)(?::\S*)?|--bind_ip_all"
)
_NO_PASSWORD = Regex(r"--\w+\.(?:hashed_)?password=(?:''|\"\")?")
_SCHEDULERS = frozenset({"dask-scheduler", "dask"})
_LOCAL = frozenset({"127.0.0.1", "localhost", "--host=127.0.0.1", "--host=localhost", "lo", "--interface=lo"})
_DATABASES = frozenset({"redis-server", "mongod"})
CARD = Card(
    "SB906", "server-without-login", severity="error", fix="never", since="0.1.0",
    when=Commands(*_SERVERS, *sorted(_SCHEDULERS)),
    seen="the documentation of Jupyter Server",
    unseen="Nothing; others may use the server.",
)  # fmt: skip


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    name = command.name or ""
    if name in _SCHEDULERS:
        yield from _of_dask(command)
        return
    opening, demanding, everywhere = _SERVERS[name]
    words = command.words
    # each option with the word after it, as both spellings occur
    options = [(word, f"{word} {following}".strip()) for word, following in zip(words, (*words[1:], ""))]
    found = next((at for at, each in enumerate(options) if any(map(opening.fullmatch, each))), None)
    if found is None or any(demanding.fullmatch(text) for each in options for text in each):
        return
    if not everywhere and not any(_EVERYWHERE.fullmatch(text) for each in options for text in each):
        return
    word = command.argv[found]
    option, equals, _ = shown_text(word).partition("=")
    written = shown_text(word) if opening.fullmatch(options[found][0]) else options[found][1]
    turned_off = f"an empty `{option}`" if equals and name.startswith("jupyter") else f"`{written}`"
    what = "this Jupyter server" if name.startswith("jupyter") else f"this {name}"
    message = f"with {turned_off}, anyone who can reach the node can use {what} as you"
    saved = name.startswith("jupyter") and not any(map(_NO_PASSWORD.fullmatch, words))
    severity = "warning" if saved or name in _DATABASES else "error"
    advice = "remove the option, or set a password"
    if name == "redis-server":  # without a password, the clients on other nodes need this option
        advice = "set one with `--requirepass`"
        message += " without a password"
    yield Finding(span_of(word), f"{message}; {advice}", severity)


def _of_dask(command: Invocation) -> Iterator[Finding]:
    """The advice on a scheduler of Dask without certificates: it runs whatever a client sends to it."""
    words = command.words[1:]
    if command.name == "dask" and words[:1] != ["scheduler"]:
        return
    if any(each.startswith(("--tls", "--preload", "--help", "--version")) for each in words) or _LOCAL & set(words):
        return
    message = "anyone who can reach the node can run code as you through this Dask scheduler; give it --tls-ca-file"
    yield Finding(command.name_span, f"{message}, --tls-cert and --tls-key", "info")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        jupyter lab --no-browser --ip=0.0.0.0 --port=8888 «--ServerApp.token=»''
        """,
        severity="warning",
        title="a password may be saved",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        HOST=$(hostname)
        jupyter notebook --ip=$HOST «--NotebookApp.token=»"" --NotebookApp.password=""
        """,
        title="on the address of the node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        srun code-server «--auth» none --bind-addr 0.0.0.0:8080
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        redis-server «--protected-mode» no --port 6379 &
        python work.py
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        jupyter lab --no-browser --ip=0.0.0.0 --port=8888
        """,
        title="it prints a token",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        jupyter lab --no-browser --ip=127.0.0.1 --ServerApp.token=''
        redis-server --protected-mode no --requirepass "$REDIS_PASSWORD" &
        """,
        title="only on the node itself, or with a password",
    ),
]
