"""Commands that serve until they are stopped, and jobs that somebody works in: notebooks, desktops."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex

SERVERS = programs_with("serves")
# Programs that serve with one of these verbs as their first argument.
VERBS = {
    "jupyter": ("lab", "notebook", "server"), "vllm": ("serve",), "ollama": ("serve",), "mlflow": ("server", "ui"),
    "sglang": ("serve",), "trtllm-serve": ("serve",), "streamlit": ("run",), "flask": ("run",), "bentoml": ("serve",),
    "dask": ("scheduler", "worker"), "lmdeploy": ("serve",), "trl": ("vllm-serve",),
}  # fmt: skip
# Python modules and scripts that serve, by their names.
_MODULE = Regex(
    r"(?:.*[./_-])?(?:http\.server|api_server|launch_server|launch_router|jupyter\w*|notebook|tensorboard)(?:\.main)?"
)
_NOT_SERVING = frozenset(
    {"--version", "--help", "-h", "list", "stop", "--generate-config", "password", "--daemonize", "--fork", "--daemon"}
    | {"-d", "--detach", "dev", "build", "extension"}
)


def server_name(command: Invocation) -> str | None:
    """The name of the server that a command starts, for messages; None for other commands."""
    if not command.argv or not _NOT_SERVING.isdisjoint(text_of(word) for word in command.argv[1:]):
        return None
    if command.name in SERVERS:
        return command.name
    if command.name in VERBS and len(command.argv) > 1:
        verb = text_of(command.argv[1])
        return f"{command.name} {verb}" if verb in VERBS[command.name] else None
    if command.name == "ray":
        return "ray start" if "--block" in command.words and "start" in command.words[1:2] else None
    python = python_of(command)
    target = None if python is None or python.kind not in ("module", "script") else python.text
    return target if target is not None and _MODULE.fullmatch(target.removesuffix(".py")) else None


_MODULES = frozenset({"jupyter", "jupyterlab", "notebook"})


@once
def is_session(job: Job) -> bool:
    """Whether a job opens a session that lasts until its user ends it."""
    return any(_opens_session(each) for each in job.invocations)


def _opens_session(command: Invocation) -> bool:
    if command.name == "jupyter":
        return not set(VERBS["jupyter"]).isdisjoint(command.words[1:3])
    if has_trait(command.name, "session"):
        return True
    python = python_of(command) if command.argv and is_python(command.argv[0]) else None
    return python is not None and python.kind == "module" and python.text in _MODULES
