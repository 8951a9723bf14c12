"""The work of a job: the commands whose failure is a failure of the job.

Any command may be work. Listed are those that are not: commands that inspect, print, prepare the shell or tidy up.
"""

from enum import IntEnum

from sbatchlint.bash.state import NAME
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, text_of
from sbatchlint.job import Job, Step
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait, only_shows, programs_with
from sbatchlint.source.numbers import has_between
from sbatchlint.source.regex import Regex


class Weight(IntEnum):
    """How much of the job's work a command is. `STAGING` (copying, building, installing) is work if nothing else is."""

    NONE = 0
    STAGING = 1
    PROGRAM = 2
    STEP = 3


# Python modules that inspect or install.
_MINOR_MODULES = frozenset({"site", "json.tool", "http.server", "torch.utils.collect_env", "platform", "sysconfig"})
_STAGING_MODULES = frozenset({"pip", "venv", "virtualenv", "ensurepip", "zipfile", "tarfile", "build"})
# Words that say what a command of any name does: it describes itself, or stops something.
_ASKING = frozenset({"--version", "-version", "-V", "--help", "-h", "-help", "version", "help"})
# Words with which a program only tells what it would do.
_LOOKING = frozenset({"--dry-run", "--dryrun", "--dag", "--rulegraph", "--filegraph", "--unlock"})
_ENDING = Regex(r"-*(?:stop|kill|shutdown|terminate|teardown|tear-down|cleanup|clean-up|clean|logout|disconnect)\w*")
_STARTING = frozenset({"start", "--start", "init", "login", "activate", "status", "info", "list", "query", "logs"})
_PULLING = frozenset({"pull", "build", "load", "import", "create", "save", "tag", "push"})
_FETCHING = frozenset({"pull", "download", "install", "fetch", "clone", "build", "sync", "venv", "pip"})
# Their targets are words of the project: `make info`.
_MAKERS = frozenset({"make", "gmake", "ninja"})
# What builds an environment of conda: `conda create`, `mamba env update`.
_BUILDING = frozenset({"create", "install", "update", "upgrade"})
# Scripts and functions that prepare the shell or its software: `setup_env`, `./install.sh`.
_SETTING_UP = Regex(
    r"(?i)(?:.*[-_.])?(?:set[-_]?up|install|env|environment|activate|modules?|configure|bootstrap|(?:pro|epi)log(?:ue)?)"
    r"(?:[-_.].*)?"
)
_ENDS_CONTAINER = frozenset(
    {"rm", "rmi", "stop", "kill", "logs", "remove", "prune", "ps", "images", "inspect", "instance"}
)
# Names of functions that are defined elsewhere.
_TELLING = Regex(
    r"(?i)(?:\w*_)?(?:log|print|echo|say|msg|info|warn|debug|banner|notify|note|usage|help|title)"
    r"(?:[-_]\w+|info|err|error|msg|line|ing)?|\w+_(?:load|unload|init|setup|activate|env)|(?:enable|setup|activate)_\w+"
    r"|(?:\w+[-_])?quota"
)
# Words of the shell by their letters, which a slip of the fingers puts in another order.
_LETTERS = {"".join(sorted(word)): word for word in ("echo", "export", "source", "module", "mkdir", "conda")}
_INVISIBLE = Regex("[\u00a0\u200b-\u200f\u2028-\u202f\u2060\ufeff]")
_EMPTY = Regex(r"(?:^|[\s;])\w+=[ \t]+$")
_BEFORE = 60  # characters in which an assignment before a command stands
_SHORT = 240
_PRINTS = Regex(r"\bprint\b|version|is_available|device_count")


def has_work(job: Job, start: int, end: int, least: Weight = Weight.PROGRAM) -> bool:
    """Whether a command from one index up to before another does at least so much of the job's work."""
    return has_between(_working(job, least), start, end)


@once
def _working(job: Job, least: Weight) -> list[int]:
    """The indexes of the commands that do at least so much of the job's work."""
    return [each.index for each in job.invocations if weight(job, each) >= least]


@once
def _steps_and_launchers(job: Job) -> frozenset[int]:
    """The commands that start a step or a launcher, by identity."""
    steps = [step.invocation for step in job.steps]
    return frozenset(map(id, [*steps, *(launch.invocation for launch in job.launches)]))


@once
def weight(job: Job, command: Invocation) -> Weight:
    """How much of the job's work a command does, with all that it starts."""
    name, calls = command.name, bool(command.state.functions)
    if has_trait(name, "minor") and not calls and not command.children and command.argv[0][0].expansion is None:
        return _of_minor(command)  # most commands; none of these is a launcher
    if name == "trap":
        return Weight.NONE  # its commands run later
    if len(command.argv) == 1 and command.phase is Phase.BATCH and _is_slot(command.argv[0]):
        return Weight.NONE  # perhaps a directive, or nothing
    if _is_slip(job, command):
        return Weight.NONE
    if _is_argument(command):
        return Weight.STEP
    below = command.descendants() if command.children else _called(job, command) if calls else []
    starters = _steps_and_launchers(job)
    starts = id(command) in starters or name == "srun"
    leaves = [each for each in below if not each.children]
    if not leaves:
        asks = command.words[1:2] == command.words[1:] and not _ASKING.isdisjoint(command.words[1:])
        return Weight.STEP if starts and not asks else _of_leaf(command)
    starts = starts or not starters.isdisjoint(map(id, below))
    heaviest = max(map(_of_leaf, leaves))
    return Weight.STEP if starts and heaviest is Weight.PROGRAM else heaviest


def fetches_by_git(command: Invocation) -> bool:
    """Whether a command copies a repository, which is minor beside other work, but may be all that a job does."""
    return command.name == "git" and any(word in _GIT_TRANSFERS for word in command.words[1:4])


_GIT_TRANSFERS = frozenset({"clone", "pull", "fetch", "lfs", "submodule", "gc", "push"})


def _is_slot(field: Pieces) -> bool:
    """Whether the submitting shell puts something unknown in place of a whole line."""
    expansion = field[0].expansion
    return len(field) == 1 and field[0].text is None and expansion is not None and expansion.phase is Phase.SUBMIT


def _is_slip(job: Job, command: Invocation) -> bool:
    """Whether what bash runs as a command was clearly never meant as a program: `ehco done`, `OUT= out`, `N = 4`."""
    name = command.name or ""
    if len(command.argv) > 1 and text_of(command.argv[1]) == "=" and NAME.fullmatch(name):
        return True
    if _INVISIBLE.search(name) or _LETTERS.get("".join(sorted(name)), name) != name and not command.calls_function:
        return True
    start = command.span.start
    before = job.source.text[max(start - _BEFORE, 0) : start]
    return len(command.argv) == 1 and _EMPTY.search(before) is not None and job.source.text[start : start + 1] in "$/"


def _is_argument(command: Invocation) -> bool:
    """Whether the command is an argument of the script, and so the script's purpose: `"$@"`, `$1 --fast`."""
    expansion = command.argv[0][0].expansion if command.argv and command.argv[0] else None
    return expansion is not None and expansion.phase is Phase.BATCH and expansion.name in ("@", "*", "1")


def _called(job: Job, command: Invocation) -> list[Invocation]:
    """The commands of the function that a command calls; none for other commands."""
    found: list[Invocation] = []
    depth = len(command.context.calls)
    for index in range(command.index + 1, len(job.invocations)):
        each = job.invocations[index]
        if len(each.context.calls) <= depth or each.context.calls[depth] != command.name:
            break
        found.append(each)
    return found


def _of_leaf(command: Invocation) -> Weight:
    """The weight of a command that is not seen to start another."""
    if has_trait(command.name, "minor"):
        return _of_minor(command)
    words = command.words[1:]
    asks = len(words) <= 1 and not _ASKING.isdisjoint(words)
    asks = asks or words == ["-v"] and "/" not in shown_text(command.argv[0])
    if asks or not _LOOKING.isdisjoint(words) or only_shows(command.name, words):
        return Weight.NONE
    if is_python(command.argv[0]):
        return _of_python(command)
    name = command.name
    if has_trait(name, "loads") and words[:1] == ["load"]:
        return Weight.NONE  # `spack load`: without the software the work fails
    written = shown_text(command.argv[0])
    if "=" in written or ":" in written and not command.kind or written.startswith("!/"):
        return Weight.NONE  # not a program: a template's assignment, the rest of a path, or a shebang without its `#`
    if name == "sudo" and words:
        name = words[0].rpartition("/")[2]
    if name is None:
        return Weight.NONE if _says_minor(words) else Weight.PROGRAM
    if name == "srun":
        return Weight.PROGRAM if words and not _says_minor(words) else Weight.NONE
    if name.startswith("-"):  # arguments of a container's own program, or the rest of a broken line
        return Weight.PROGRAM if command.kind else Weight.NONE
    if not name.strip("#*_~.") or has_trait(name, "minor") or _is_text(shown_text(command.argv[0])):
        return Weight.NONE
    if name == "ssh":  # a tunnel
        return Weight.NONE if any(word[:1] == "-" and {"N", "f"} & set(word) for word in words) else Weight.PROGRAM
    if has_trait(name, "container"):
        first = next((word for word in words if not word.startswith("-")), "")
        if first in _ENDS_CONTAINER:
            return Weight.NONE
        return Weight.STAGING if first in _PULLING else Weight.PROGRAM
    if name == "ray":
        return Weight.NONE if words[:1] != ["job"] else Weight.PROGRAM
    if name in _MAKERS and words and _says_minor(words) and len(words) == 1:
        return Weight.NONE
    builds = words[:1] == ["build"] and not has_trait(name, "stages", "installs", "container", "software", "loads")
    if has_trait(name, "stages") or words[:1] and words[0] in _FETCHING and not builds:
        return Weight.STAGING
    operands = [word for word in words if word[:1] != "-"]
    # `setup_env.sh`, but not `with_environment.sh ./solver`
    file, *rest = operands or [""] if has_trait(name, "shell") else [name, *operands]
    if not rest and _SETTING_UP.fullmatch(file.rpartition("/")[2]):
        return Weight.STAGING
    return Weight.NONE if _says_minor(words) or _TELLING.fullmatch(name) else Weight.PROGRAM


def _is_text(word: str) -> bool:
    """Whether a command is a text, which bash does not find as one: it has line breaks, or spaces without a folder."""
    return "\n" in word or " " in word and "/" not in word.partition(" ")[0]


def _of_minor(command: Invocation) -> Weight:
    """The weight of a program that is never the purpose of a job, unless it builds an environment."""
    builds = has_trait(command.name, "conda") and not _BUILDING.isdisjoint(command.words[1:3])
    return Weight.STAGING if builds else Weight.NONE


def _says_minor(words: list[str]) -> bool:
    """Whether the words of a command of any name say that it does no work."""
    return any(word in _STARTING or _ENDING.fullmatch(word) for word in words[:2])


def _of_python(command: Invocation) -> Weight:
    python = python_of(command)
    if python is None:
        return Weight.PROGRAM if len(command.argv) > 1 else Weight.NONE
    text = python.text or ""
    if python.kind == "code":
        if len(text) < _SHORT:
            return Weight.NONE if _only_prints(text) else Weight.STAGING
        return Weight.PROGRAM
    if python.kind == "module":
        module = text.partition(" ")[0]
        if module in _MINOR_MODULES or only_shows(module, command.words[python.after :]):
            return Weight.NONE
        return Weight.STAGING if module in _STAGING_MODULES else Weight.PROGRAM
    if python.kind == "stdin":
        return Weight.NONE if command.stdin is not None and _only_prints(command.stdin.string) else Weight.PROGRAM
    if python.kind == "script" and text.rpartition("/")[2] == "setup.py":
        return Weight.STAGING
    return Weight.PROGRAM


def _only_prints(code: str) -> bool:
    """Whether a few lines of Python only print something."""
    return len(code) < _SHORT and _PRINTS.search(code) is not None


def is_demonstration(command: Invocation) -> bool:
    """Whether a command is clearly a demonstration: `./hello`, `python demo.py`."""
    leaves = command.leaves()
    words = [text_of(field) or "" for each in leaves for field in each.argv[:2]]
    return any(_SHOWN.search(word.rpartition("/")[2]) for word in words)


_SHOWN = Regex(r"(?i)^(?:hello|demo)|(?:hello|demo)[^/]*\.\w+$")


# Commands that prepare, print, copy or wait, and have no settings, caches or results of their own.
UTILITIES = programs_with("minor", "copies")


def step_programs(step: Step) -> list[Invocation]:
    """The commands of a step that do its work: no shells or wrappers, nor commands that only prepare, print or copy."""
    return [
        command
        for command in step.program
        if not command.children and command.text is None and command.name not in UTILITIES and command.argv
    ]


def only_prepares(step: Step) -> bool:
    """Whether a step runs only utilities such as mkdir or hostname, of which several copies on a node do no harm."""
    return bool(step.program) and not step_programs(step)


def is_after_all_work(job: Job, command: Invocation) -> bool:
    """Whether the job has done work, and from a command on nothing more that computes, writes or puts results away."""
    first, last = _extent(job)
    # what a command that certainly fails would do is no work
    return 0 <= first < command.index and last <= command.index and not command.context.loops


@once
def _extent(job: Job) -> tuple[int, int]:
    """The indexes of the first and the last command that does some of the work; -1 without one."""
    found = [each.index for each in job.invocations if weight(job, each) >= Weight.STAGING]
    return (found[0], found[-1]) if found else (-1, -1)


@once
def batch_programs(job: Job) -> list[Invocation]:
    """The commands of the batch shell that do the job's work, in order; none if a step or a launcher does it.

    `ray start` does not count: it only makes the cluster for a program, which the batch shell often runs. A command
    that starts another (`apptainer exec … python`) is represented by that one.
    """
    if job.phase is not Phase.BATCH or any(launch.launcher.kind != "ray" for launch in job.launches):
        return []
    clusters = {id(launch.step) for launch in job.launches}
    if any(id(step) not in clusters for step in job.steps):
        return []
    leaves = [each for each in job.invocations if each.phase is Phase.BATCH and each.argv and not each.children]
    return [each for each in leaves if not each.context.captured and weight(job, each) is Weight.PROGRAM]


# Wrappers, which are repeatable if the command that they start is.
_STARTERS = frozenset({"apptainer", "bash", "env", "exec", "nice", "numactl", "sh", "singularity", "stdbuf", "taskset",
                       "time", "timeout"})  # fmt: skip


def is_repeatable(invocation: Invocation) -> bool:
    """Whether a command has the same effect however often a node runs it."""
    return bool(invocation.name in _STARTERS and invocation.children) or has_trait(invocation.name, "repeatable")


def is_repeatable_step(step: Step) -> bool:
    """Whether a step has the same effect with any number of tasks per node."""
    return bool(step.program) and all(map(is_repeatable, step.program))
