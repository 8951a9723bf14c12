"""Anyone who reaches the node can use your account: a server asks for no login.

Whoever opens the port of a Jupyter server with an empty token can run commands as the owner of the job, and read all of
their files; on most clusters every user can reach the compute nodes. The same holds for `code-server --auth none`, a
terminal of `ttyd`, a desktop (`x11vnc`, `vncserver -SecurityTypes None`) or RStudio without a login, and databases that
are told to listen everywhere and to ask for no password. Servers of models (vLLM, SGLang, Ollama, llama.cpp, TGI), of
MLflow and the dashboard of Ray ask for nothing unless they are told to: with `--host 0.0.0.0`, everybody on the cluster
can use the job's GPUs, read what it serves, or start work through it.

An error where the server runs commands and certainly asks for no login; a warning for databases and other servers that
are told to listen everywhere, for `python -m http.server`, which shows all files below its folder, and where Jupyter
has an empty token, but may ask for a password that `jupyter server password` has saved. Advice where a server of models
listens everywhere because nothing says otherwise, as vLLM does, and for TensorBoard and Streamlit, which mostly show
something.

The scheduler of Dask runs the code that a client sends. It asks for no certificate unless it has the options for them:
advice, as most clusters use it so.

Where the script tells of a tunnel to the address of the node (`ssh -L 6006:$HOSTNAME:6006 login`), a server on
127.0.0.1 is out of reach for its owner, too: then a password or a key is advised, and nothing said of programs that
know neither.

A server that listens on 127.0.0.1 alone can still be reached by other users of its node: that is not reported.

## Fix

None: leave out the option that turns the login off (Jupyter then prints a token into the log), or set a password or a
key that is not in the script. A server for the programs of its own node needs only `127.0.0.1`.

## References

Jupyter Server, "Security"; code-server, `--auth`; redis.conf, protected-mode; mongod, `--bind_ip_all`;
vLLM, "Security" (`--api-key`, VLLM_API_KEY) and vllm/entrypoints/openai/api_server.py; SGLang, "Server Arguments"; the
FAQ of Ollama (OLLAMA_HOST); llama-server, `--api-key-file`; Ray, "Security"; MLflow, `--app-name basic-auth`; x11vnc(1)
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.script.servers import server_name
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import hides_options, partition
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
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
    "mongod": (Regex(r"--noauth|--bind_ip_all|--bind_ip[= ](?:\S*,)?0\.0\.0\.0"), Regex(r"--auth|--keyFile.*"), False),
    "rserver": (Regex(r"--auth-none[= ](?:1|true)"), Regex(r"--www-address[= ](?:127\..*|localhost)"), True),
    "x11vnc": (
        Regex(r"-nopw|-forever|-shared|-display|-create"),
        Regex(r"-rfbauth|-passwd.*|-usepw|-localhost|-unixpw.*|-listen (?:localhost|127\..*)|-storepasswd|-ssl"),
        True,
    ),
    "ttyd": (Regex(r"-W|--writable"), Regex(r"(?:-c|--credential)\b.*|--auth-header.*"), True),
}
_SERVERS["vncserver"] = _SERVERS["Xvnc"] = (Regex(r"-SecurityTypes[= ]None"), Regex(r"-localhost|-kill|-list"), True)
_SERVERS.update(dict.fromkeys(("jupyter-lab", "jupyter-notebook", "jupyter-server"), _SERVERS["jupyter"]))
_EVERYWHERE = Regex(
    r"(?:--ip|--\w+\.ip|--bind-addr|--bind|--host|--bind_ip)[= ](?:0\.0\.0\.0|::|\*|\ue000)(?::\S*)?|--bind_ip_all"
)
_NO_PASSWORD = Regex(r"--\w+\.(?:hashed_)?password=(?:''|\"\")?")
_SCHEDULERS = frozenset({"dask-scheduler", "dask"})
_LOCAL = frozenset({"127.0.0.1", "localhost", "--host=127.0.0.1", "--host=localhost", "lo", "--interface=lo"})
_DATABASES = frozenset({"redis-server", "mongod"})


class Open(NamedTuple):
    """A server that asks for no login unless it is told to.

    `name`: for messages. `address`: the option with its address. `everywhere`: whether it listens on all addresses
    without it. `login`: what demands a key or a password, as an option or a variable. `advice`: what to write.
    `tunnelled`: that where its owner needs the address of the node, None where nothing else helps.
    `severity`: where it is told to listen everywhere; `by_itself`: where it does so by itself, None for those to leave.
    """

    name: str
    address: Regex
    everywhere: bool
    login: Regex
    advice: str
    severity: str = "warning"
    by_itself: str | None = "info"
    tunnelled: str | None = None


_HOST = Regex(r"--host")
_KEY = Regex(r"--api[-_]keys?(?:[-_]file)?|(?:VLLM_|SGLANG_|LLAMA_)?API_KEY")
_NONE = Regex(r"(?!)")
_VLLM = Open(
    "vLLM server", _HOST, True, _KEY, "read VLLM_API_KEY from a file, or add `--host 127.0.0.1`",
    tunnelled="read VLLM_API_KEY from a file",
)  # fmt: skip
_SGLANG = Open(
    "SGLang server", _HOST, False, _KEY, "write `--host 127.0.0.1`, or give it `--api-key`",
    tunnelled="give it `--api-key`",
)  # fmt: skip
_FILES = Open(
    "web server", Regex(r"-b|--bind"), True, _NONE, "add `--bind 127.0.0.1`", by_itself="warning"
)  # fmt: skip
_MLFLOW = Open(
    "MLflow server", Regex(r"-h|--host"), False, Regex(r"--app-name"),
    "write `127.0.0.1`, or add `--app-name basic-auth`", tunnelled="add `--app-name basic-auth`",
)  # fmt: skip
_TENSORBOARD = Open("TensorBoard", Regex(r"--host"), False, _NONE, "remove this option", "info")
# By what `server_name` calls it.
_OPEN = {
    "vllm serve": _VLLM,
    "vllm.entrypoints.openai.api_server": _VLLM,
    "vllm.entrypoints.api_server": _VLLM,
    "sglang serve": _SGLANG,
    "sglang.launch_server": _SGLANG,
    "llama-server": Open(
        "llama.cpp server", _HOST, False, _KEY, "write `--host 127.0.0.1`, or add `--api-key-file`",
        tunnelled="add `--api-key-file`",
    ),
    "text-generation-launcher": Open(
        "TGI server", Regex(r"--hostname"), True, _KEY, "read API_KEY from a file, or add `--hostname 127.0.0.1`",
        tunnelled="read API_KEY from a file",
    ),
    "trtllm-serve serve": Open("TensorRT-LLM server", _HOST, False, _KEY, "write `--host 127.0.0.1`"),
    "trtllm-serve": Open("TensorRT-LLM server", _HOST, False, _KEY, "write `--host 127.0.0.1`"),
    "lmdeploy serve": Open("LMDeploy server", Regex(r"--server-name"), True, _KEY, "add `--server-name 127.0.0.1`"),
    "mlflow server": _MLFLOW,
    "mlflow ui": _MLFLOW,
    "streamlit run": Open(
        "Streamlit app", Regex(r"--server\.address"), True, _NONE, "write `127.0.0.1`", "info", None
    ),
    "tensorboard": _TENSORBOARD,
    "tensorboard.main": _TENSORBOARD,
    "http.server": _FILES,
    "ray": Open(
        "Ray dashboard", Regex(r"--dashboard-host"), False, Regex(r"RAY_AUTH_MODE"),
        "remove the option, or set RAY_AUTH_MODE=token", tunnelled="set RAY_AUTH_MODE=token",
    ),
}  # fmt: skip
# What such an address is, in the value of an option or of OLLAMA_HOST.
_ALL_ADDRESSES = Regex(r"(?:https?://)?(?:0\.0\.0\.0|\[?::\]?|\*)(?::\S*)?/?")
_HOSTNAME = Regex(r"\$\(\s*hostname\b|HOSTNAME$|SLURMD_NODENAME$")
# A tunnel that a login node opens to the address of the node, as the script prints or notes it: one that listens on
# localhost is not reached through it.
_TUNNEL = Regex(
    r"(?<![\w-])-\w*L[ \t]*[\"']?(?:[\w.*]+:)?[^\s:]{1,60}:(?!(?:localhost|127\.|\[?::1))"
    r"(?:\$\([^()\n]{1,60}\)|[^\s:()]){1,80}:[^\s:]"
)
_ISOLATED = frozenset({"docker", "podman"})
_CALLED = ("vllm", "sglang", "llama-server", "text-generation-launcher", "trtllm-serve", "lmdeploy", "mlflow",
           "streamlit", "tensorboard", "ollama", "ray")  # fmt: skip

CARD = Card(
    "SB906", "server-without-login", severity="error", fix="never", since="0.1.0",
    when=Commands(*_SERVERS, *sorted(_SCHEDULERS), *_CALLED, "python*"),
    seen="the documentation of Jupyter Server",
    unseen="Nothing; others may use the server.",
)  # fmt: skip


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    name = command.name or ""
    if name in _SCHEDULERS:
        yield from _of_dask(command)
        return
    if name not in _SERVERS:
        yield from _of_open_server(job, command)
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
    if name == "x11vnc":
        advice = "add `-rfbauth FILE`" if _is_tunnelled(job) else "add `-localhost`, or `-rfbauth FILE`"
        message = f"without a password, anyone who can reach the node can use {what} as you"
    if name == "redis-server":  # without a password, the clients on other nodes need this option
        advice = "set one with `--requirepass`"
        message += " without a password"
    yield Finding(span_of(word), f"{message}; {advice}", severity)


@once
def _is_tunnelled(job: Job) -> bool:
    """Whether the owner reaches a server by the address of the node, through a tunnel that the script tells of."""
    text = job.source.own.text
    return "ssh" in text and _TUNNEL.search(text) is not None


def _of_open_server(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on a server that asks for no login by itself, and listens on all addresses."""
    container = container_of(command)
    if container is not None and container.kind in _ISOLATED:
        return  # its ports are its own
    name = server_name(command)
    if name == "ollama serve":
        yield from () if _is_tunnelled(job) else _of_ollama(command)
        return
    if command.name == "ray" and command.words[1:2] == ["start"]:
        name = "ray"
    server = _OPEN.get(name or "")
    if server is None or "--headless" in command.words or any(map(hides_options, command.argv[1:])):
        return
    words = command.words
    if any(server.login.fullmatch(word.partition("=")[0]) for word in words):
        return
    if any(server.login.fullmatch(each) for each in command.state.variables):
        return
    login = "key" if server.login is _KEY else "login"
    what = f"anyone who can reach the node can use this {server.name} without a {login}"
    found = _address(command, server.address)
    advice = server.advice
    if _is_tunnelled(job):
        if server.tunnelled is None:
            return  # listening on localhost, its only remedy, locks the owner out
        advice = server.tunnelled
    if server is _TENSORBOARD and "--bind_all" in words:
        place = span_of(command.argv[words.index("--bind_all")])
        yield Finding(place, f"with `--bind_all`, {what}; {advice}", server.severity)
    elif found is not None:
        word, value = found
        if _is_everywhere(value):
            yield Finding(span_of(word), f"{what}; {advice}", server.severity)
    elif server.everywhere and server.by_itself is not None:
        yield Finding(command.name_span, f"{what}; {advice}", server.by_itself)


def _of_ollama(command: Invocation) -> Iterator[Finding]:
    own = dict(command.variables).get("OLLAMA_HOST")
    value = exported(command, "OLLAMA_HOST") if own is None else own
    if value and _ALL_ADDRESSES.fullmatch(shown_text(value)):
        message = "anyone who can reach the node can use this Ollama server, which knows no login"
        place = span_of(value)
        yield Finding(place, f"{message}; write 127.0.0.1 for programs of the same node", "warning")


def _address(command: Invocation, option: Regex) -> tuple[Pieces, Pieces] | None:
    """The last option with the address of a server and its value; None where there is none."""
    found = None
    for at, field in enumerate(command.argv[1:], 1):
        name, value = partition(field, "=")
        if option.fullmatch(shown_text(name)):
            if value is not None:
                found = (field, value)
            elif at + 1 < len(command.argv):
                found = (field, command.argv[at + 1])
    return found


def _is_everywhere(value: Pieces) -> bool:
    """Whether an address is that of the node in its network, or all of its addresses."""
    text = text_of(value)
    if text is not None:
        return _ALL_ADDRESSES.fullmatch(text) is not None
    if _ALL_ADDRESSES.fullmatch(shown_text(value)) and value[0].text is not None:
        return True  # with a port that is not known
    return any(_HOSTNAME.search(each.name) for each in expansions(value[:1]))


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
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        vllm serve meta-llama/Llama-3.1-8B «--host» 0.0.0.0 --port 8000
        """,
        severity="warning",
        title="a server of models",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=8:00:00
        node=$(hostname)
        echo "ssh -N -L 6006:${node}.example.org:6006 $USER@login"
        tensorboard --logdir logs --host $node --port 6006
        """,
        title="its owner reaches it by the node's address, and it knows no login",
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
