"""Jobs that somebody works in for as long as they want: notebooks, desktops, editors in a browser."""

from sbatchlint.analysis.script.servers import VERBS
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait

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
