"""Files that a script sources and that cannot be read here, so that they may set any variable."""

from collections.abc import Iterable

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, expansions, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.source.regex import Regex

# Files that set up a shell or one tool, and set no variables that a job script would use.
_SETUPS = Regex(
    r"/etc/(?:profile|bash|z?sh|csh|environment|modules?|lmod|default|conda|sysconfig).*"
    r"|(?:.*/)?(?:activate.*|(?:conda|(?:micro)?mamba).*|modules?(?:\.\w+)?|lmod\w*(?:\.sh)?|z00_lmod\.sh|bash|sh"
    r"|bash_completion|deactivate|profile\.modules|(?:set|mpi|mkl|tbb|ipp|psxe|compiler|iccv|ifort)?vars\.sh|thisroot\.sh"
    r"|GMXRC(?:\.bash)?|SetUpFreeSurfer\.sh|fsl\.sh|jobsetup|nvm\.sh)|.*/(?:spack|spack/.*)/setup-env\.sh"
)
# Startup files of the user's own shell.
_PERSONAL = Regex(r"(?:.*/)?\.?(?:bashrc|bash_profile|bash_aliases|profile|zshrc|zprofile)")
# `eval "$(conda shell.bash hook)"` and the like.
_HOOKS = Regex(r"conda|mamba|module|spack| hook|shellenv|ssh-agent")

# Options of a shell that reads them: a login shell, or an interactive one.
_LOGIN = Regex(r"--login\b|-\w*[li]")

_ERREXIT = Regex(r"(?:^| )[-+]\w*e|errexit")

# Commands that run a file or a string in the shell itself.
_SOURCING = frozenset({"source", ".", "eval"})


def is_unclear_source(command: Invocation, *, personal: bool = False) -> bool:
    """Whether a command runs in its own shell what cannot be read here, and what may set any variable.

    `personal`: whether the startup files of the user's shell count too (~/.bashrc).
    """
    if command.name not in _SOURCING or command.children or len(command.argv) < 2:
        return False
    if command.name == "eval":
        names = " ".join(each.name for field in command.argv[1:] for each in expansions(field))
        return _HOOKS.search(names) is None
    name = shown_text(command.argv[1]).rpartition(UNKNOWN_CHARACTER)[2]
    return _SETUPS.fullmatch(name) is None and (personal or _PERSONAL.fullmatch(name) is None)


@once
def unclear_sources(job: Job) -> list[Invocation]:
    """The commands that source a file or string which cannot be read here."""
    found = [each for each in commands_named(job, *_SOURCING) if is_unclear_source(each)]
    followed = {id(each.context.parent) for each in job.assignments} if found else set()
    return [each for each in found if id(each) not in followed]


def may_set_errexit(job: Job, command: Invocation) -> Invocation | None:
    """The last file of the project that the script sources before a command, and that may run `set -e`.

    It cannot be read here. None where the script itself sets the option after it, and for what another shell runs.
    """
    if command.context.parent is not None:
        return None
    # a fixed place is mostly one of the site's
    last = next(
        (
            each
            for each in reversed(unclear_sources(job))
            if each.name != "eval" and each.context.parent is None and each.index < command.index
            if not shown_text(each.argv[1]).startswith("/")
        ),
        None,
    )
    if last is None:
        return None
    options = [each for each in commands_named(job, "set") if last.index < each.index < command.index]
    return None if any(_ERREXIT.search(" ".join(each.words[1:])) for each in options) else last


def reads_startup_files(options: Iterable[str]) -> bool:
    """Whether a shell with these options reads the startup files of the site and the user, which may set anything."""
    return any(map(_LOGIN.match, options))


def may_set_variables(job: Job, *, personal: bool = True) -> bool:
    """Whether a file that cannot be read here may set the script's own variables."""
    return _may_set_variables(job, personal)


@once
def _may_set_variables(job: Job, personal: bool) -> bool:
    return any(is_unclear_source(each, personal=personal) for each in job.invocations)
