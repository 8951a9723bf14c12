"""A command is not found, or another one runs: it is an alias, which bash does not expand in a script.

bash expands aliases only in interactive shells. After `alias py=/opt/python/bin/python3`, the line `py train.py` of a
batch script ends with "py: command not found"; after `alias python=python3.11` the `python` of PATH runs, whatever its
version. `shopt -s expand_aliases` changes that for the lines after it, but not for what another program starts: srun,
mpirun, nohup and `bash -c` know no alias of the script.

An error where no program has the name of the alias, a warning where one has; advice where the alias only adds options.
A warning, too, where a test decides whether the alias is made (`command -v py || alias py=…`), as the jobs that make
none may have a program of that name, and where the alias only prints, and the job goes on without it. Not
reported for aliases of commands that only print or tidy up, such as `ls` and `rm`, and where the shell may not be bash.

## Fix

None: a function does what the alias was for, `py() { /opt/python/bin/python3 "$@"; }`, in this shell.

## References

bash(1), "ALIASES"; run with bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import may_not_run
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.programs import by_program
from sbatchlint.programs import has_trait, is_known
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB459", "alias-not-expanded", severity="error", fix="never", since="0.1.0", when=Commands("alias"), batch=True,
    seen="a run of bash 5.2", unseen="`NAME: command not found`, where NAME is an alias of the script.",
)  # fmt: skip

_ALIAS = Regex(r"(?s)([\w.+-]+)=(.*)")
_LONGEST = 40  # characters of a value that a message shows
_CLEAN = Regex(r"[\w./~ +:=-]+")


def check(job: Job) -> Iterator[Finding]:
    shell, line = job.interpreter_line
    if shell != "bash" or any(word.startswith("-") and "i" in word for word in line.split()[1:]):
        return
    for name, (definition, value) in _aliases(job).items():
        same = value.split()[:1] == [name]
        minor = has_trait(name, "minor", "looks", "copies")
        users = [each for each in by_program(job).get(name, ()) if _is_meant(job, each, definition, name)]
        if not users or same and minor:
            continue
        user = users[0]
        shown = f"`{value}`" if len(value) <= _LONGEST and _CLEAN.fullmatch(value) else "its value"
        row = job.line(definition.span.start)
        if user.parent is not None and user.kind:
            happens = f"`{user.parent.name}` knows no aliases of the script"
            advice = f"write {shown} here"
        else:
            happens = "bash expands no aliases here"
            advice = f"write {shown}, or a function"
        program = value.split()[0].rpartition("/")[2] if value else ""
        if same or is_known(name) or _is_release(program, name):
            severity, ends = "info" if same or minor else "warning", f"so the program `{name}` itself runs, if any"
        else:
            mild = may_not_run(definition) or all(_only_prints(program, each) for each in users)
            severity, ends = "warning" if mild else "error", f"so `{name}` (line {row}) is not found"
        related = [(definition.span, "the alias")]
        yield Finding(user.place, f"{happens}, {ends}; {advice}", severity, related=related)


def _only_prints(program: str, user: Invocation) -> bool:
    """Whether only a line of the log is lost where a command is not found, and the job goes on."""
    goes_on = user.state.option("errexit") is False and not user.context.captured and not user.redirects
    prints = has_trait(program, "prints") or has_trait(program, "tells") and has_trait(program, "quick")
    return goes_on and not user.piped_to and prints


def _is_release(program: str, name: str) -> bool:
    """Whether a program has the name with a number: `python3.11` for `python`."""
    return program.startswith(name) and program[len(name) : len(name) + 1] in set("0123456789-.")


def _aliases(job: Job) -> dict[str, tuple[Invocation, str]]:
    """The aliases that the batch shell sets by known words, each with its first definition and its value."""
    found: dict[str, tuple[Invocation, str]] = {}
    for command in by_program(job).get("alias", ()):
        sourced = all(each.name in (".", "source") for each in command.ancestors())
        if sourced and command.phase is Phase.BATCH and command.alternatives == 1:
            for field in command.argv[1:]:
                match = _ALIAS.fullmatch(shown_text(field))
                if match is not None:
                    found.setdefault(match[1], (command, match[2].strip()))
    return found


def _is_meant(job: Job, command: Invocation, definition: Invocation, name: str) -> bool:
    """Whether a command after the definition has the name of the alias, and the shell does not expand it there."""
    state, starter = command.state, command.parent
    if command.index <= definition.index or not command.argv or text_of(command.argv[0]) != name:
        return False
    if command.alternatives > 1 or command.calls_function or command.context.tested:
        return False
    if starter is not None and starter.name not in (".", "source"):
        # what is given to a shell may set the alias itself; `command ls` and `env` want the program
        starts = starter.text is None and starter.name not in ("command", "env", "exec", "sudo", "which", "ssh")
        outer = command.ancestors()[-1].state
        return starts and command.phase is not Phase.SUBMIT and name not in outer.functions
    return not any(state.option(each) is not False for each in ("expand_aliases", "posix")) and not state.doubtful


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        alias py=/opt/python/bin/python3
        «py» train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        shopt -s expand_aliases
        alias sv="/opt/solver/bin/solver --quiet"
        srun «sv» input.nml
        """,
        title="behind srun",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        alias python=python3.11
        «python» train.py
        """,
        title="a program of that name",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        command -v stamp >/dev/null 2>&1 || alias stamp='python3 -c "import time; print(time.time())"'
        «stamp» start
        ./a.out
        """,
        title="only where the program is missing",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        alias stamp="date +%s"
        «stamp»
        ./a.out
        """,
        title="it only prints",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        alias stamp="date +%s"
        ./a.out --seed $(«stamp»)
        """,
        title="a program gets what it prints",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        shopt -s expand_aliases
        alias py=/opt/python/bin/python3
        alias rm="rm -i"
        py train.py
        rm -f core
        """,
        title="expanded",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        alias py=/opt/python/bin/python3
        py() { /opt/python/bin/python3 "$@"; }
        py train.py
        """,
        title="a function",
    ),
]
