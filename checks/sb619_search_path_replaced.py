"""Programs or libraries are not found: the script replaces a search path instead of extending it.

`export PATH=$HOME/bin` leaves no folder with the commands of the system: every command after it, `srun` included, is
"command not found". With LD_LIBRARY_PATH or PYTHONPATH, what modules have put there before is lost: a warning for
LD_LIBRARY_PATH, to which nearly all modules add, and advice for PYTHONPATH. So is an LD_LIBRARY_PATH of one folder in a
script that loads no module: a job inherits that of the shell that submits it. Not reported after modules of tools alone
(`git`, `cmake`), which bring no libraries, nor, for PYTHONPATH, after those that only choose a software stack, a target
or a compiler (`StdEnv`, `LUMI/22.08`, `PrgEnv-gnu`).

## Fix

Appends the old value. Safe for PATH: no command would be found otherwise. Unsafe for the others: some leave out the old
value on purpose.

## References

bash(1), "PATH"; ld.so(8); https://github.com/ArjunaCluster/ArjunaUsers/issues/223
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import extends, reads_of
from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.outcome.state_readers import costs_work
from sbatchlint.bash.trace import Invocation, VariableAssignment, values_of
from sbatchlint.bash.values import Pieces, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.launches import container_of
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import at_lines
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

_LATER_ONES = frozenset({"LD_LIBRARY_PATH", "PYTHONPATH"})

CARD = Card(
    "SB619", "search-path-replaced", severity="error", fix="sometimes", since="0.1.0",
    when=Variables("PATH", *sorted(_LATER_ONES)), seen="ArjunaCluster/ArjunaUsers#223",
)  # fmt: skip

_PLACEHOLDER = Regex(r"\.{3}|…|<[^<>]+>|/path/to\b.*")
# Modules of tools that most systems have themselves, and others that bring programs, and no libraries for others.
_TOOLS = Regex(
    r"(?i)(?:\w+/)?(?:git(?:-lfs)?|tmux|screen|n?vim|emacs|nano|htop|cmake|ninja|make|rsync|rclone|pigz|parallel"
    r"|nextflow|snakemake|apptainer|singularity)(?:[-/].*)?"
)
# Modules that choose a software stack, or what it is built for and with: they bring nothing for Python themselves.
_STACKS = Regex(
    r"(?i)(?:StdEnv|CrayEnv|NiaEnv|CCEnv|LUMI|Stages|GenTools|cpe|gentoo|slurm|shared|dot|null|use\.own)(?:/.*)?"
    r"|(?:partition|env|arch|release|stack|software|toolchain|cluster)/.*|rhel\d+/.*"
    r"|(?:PrgEnv|craype|cpe)-.*|prgenv/.*"
    r"|(?:gcc|gnu\d*|intel(?:-compilers)?|aocc|cce|llvm|clang|nvhpc|pgi)(?:/.*)?"
)
_CONDA = Regex(r"(?i)(?:\w+/)?(?:ana|mini|micro)?(?:conda|mamba|forge)\d?(?:[-/].*)?")
_OF_PYTHON = Regex(r"(?i)py|conda|mamba|forge|torch|tensor|jax|horovod|keras")
_SYSTEM = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})


# The second part of a value, on a line of its own: `all/lib:/opt/lib:$LD_LIBRARY_PATH`.
_REST = Regex(r"\n[\w./:-]+:\$\{?(\w+)\}?[ \t]*(?:\n|\Z)")


def check(job: Job) -> Iterator[Finding]:
    for assignment in job.assignments:
        if assignment.name not in ("PATH", *_LATER_ONES) or extends(job, assignment):
            continue
        if assignment.name == "PATH":
            yield from _of_commands(job, assignment)
        else:
            yield from _of_modules(job, assignment)


def _folders(assignment: VariableAssignment) -> list[str] | None:
    """The folders of the new value; None where it is unknown, or has the old one in it."""
    only = assignment.alternatives[0] if len(assignment.alternatives) == 1 else None
    if only is None or not only.fields or only.guards or assignment.context.conditional:
        return None
    return _known_folders(only.fields[0], assignment.name)


def _known_folders(field: Pieces, name: str) -> list[str] | None:
    """The folders of a value of this variable; None where it is unknown, or has the environment's in it."""
    if any(each.name == name or each.name[:1] in "$`" for each in expansions(field)):
        return None
    if any(piece.text is None and (piece.expansion is None or piece.start == field[0].start) for piece in field):
        if not (field[0].expansion is not None and field[0].expansion.name == "HOME"):
            return None
    folders = [part.rstrip("/") for part in shown_text(field).split(":")]
    return None if {f"${name}", f"${{{name}}}"} & set(folders) else folders  # over-escaped


def _of_commands(job: Job, assignment: VariableAssignment) -> Iterator[Finding]:
    folders = _folders(assignment)
    if folders is None or not _SYSTEM.isdisjoint(folders) or not any(folders):
        return
    later = job.invocations[assignment.order :]
    lost = next((each for each in later if _is_external(each) and _runs_after(each, assignment)), None)
    if lost is None or any(each.name in ("module", "source", ".") for each in later[: lost.index]):
        return
    if not _is_lost(lost) or _is_replaced_again(job, assignment, lost):
        return
    written = job.source.slice(assignment.span)
    quote = written[-1] if written[-1:] in "\"'" else ""
    at = assignment.span.end - len(quote)
    fix = None if quote == "'" else Fix("append the old value", [insert(at, ":$PATH")], safe=True)
    placeholder = next((each for each in folders if _PLACEHOLDER.fullmatch(each)), None)
    happens, advice = "this removes the system folders from PATH", "append `:$PATH`"
    if placeholder is not None:
        happens = f"`{placeholder}` is a placeholder, and PATH has no system folders"
        advice, fix = "write `PATH=FOLDER:$PATH`", None
    elif _is_folder(job):  # with the old value, the paths that begin with it would be wrong
        advice, fix = "give this folder a name of its own", None
    yield Finding(
        assignment.span,
        f"{happens}, so line {job.line(lost.span.start)} cannot find `{lost.name}`; {advice}",
        None if costs_work(job, lost) else "warning",
        related=[(lost.name_span, "not found")],
        fix=fix,
    )


def _is_folder(job: Job) -> bool:
    """Whether the script begins paths with `$PATH`, as with a variable of its own."""
    return any(job.source.text[each.span.end : each.span.end + 1] == "/" for each in reads_of(job).get("PATH", ()))


def _is_lost(command: Invocation) -> bool:
    """Whether no folder of the system is on PATH where a command is looked for."""
    path = command.state.variables.get("PATH")
    values = values_of(command, path) if path is not None else ()
    folders = [_known_folders(each[0], "PATH") if each else None for each in values]
    return bool(folders) and all(each is not None and _SYSTEM.isdisjoint(each) for each in folders)


def _is_replaced_again(job: Job, assignment: VariableAssignment, lost: Invocation) -> bool:
    """Whether another assignment before the command replaces PATH, and has lost the folders itself."""
    between = (each for each in job.assignments if each.name == "PATH" and each.order <= lost.index)
    return any(each.span > assignment.span and not extends(job, each) for each in between)


def _is_external(command: Invocation) -> bool:
    """Whether a command is looked for on PATH."""
    if command.name is None or command.calls_function or container_of(command) is not None:
        return False
    return "/" not in command.words[0] and has_trait(command.name, "slurm", "files", "shell", "mpi")


def _runs_after(command: Invocation, assignment: VariableAssignment) -> bool:
    """Whether a command gets its environment from the shell of an assignment."""
    shells = command.context.shell.enclosing_shells()
    return assignment.context.shell in shells and command.context.phase is assignment.context.phase


def _of_modules(job: Job, assignment: VariableAssignment) -> Iterator[Finding]:
    folders = _folders(assignment)
    before = job.invocations[: assignment.order]
    loads = [each for each in before if each.name in ("module", "ml") and {"load", "add"} & set(each.words[1:2])]
    beyond = [each for each in loads if not all(map(_TOOLS.fullmatch, each.words[2:]))]
    if assignment.name == "LD_LIBRARY_PATH":
        modules = [each for each in beyond if not all(map(_brings_no_libraries, each.words[2:]))]
    else:
        beyond = [each for each in beyond if not all(map(_brings_nothing_for_python, each.words[2:]))]
        modules = [each for each in beyond if any(map(_OF_PYTHON.search, each.words[2:]))] or beyond
    if modules and folders and all(_is_named(each, folders) for module in modules for each in module.words[2:]):
        return  # their folders are in the new value
    if not folders or not any(folders) or not assignment.exported or may_set_variables(job):
        return  # also where it is emptied, on purpose: `PYTHONPATH=`
    if not modules:
        # a script that loads tools alone, or lists several folders, counts on nothing else
        whole = bool(loads and not beyond) or sum(map(bool, folders)) > 1
        if assignment.name == "LD_LIBRARY_PATH" and not whole and not _is_for_one_command(job, assignment):
            yield Finding(
                assignment.span,
                "this assignment drops what you or modules put into LD_LIBRARY_PATH before sbatch; append "
                "`${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}`",
                "info",
            )
        return
    lines = sorted({job.line(each.span.start) for each in modules})[-3:]
    rest = _REST.match(job.source.text, assignment.span.end)
    if rest is not None and rest[1] == assignment.name:
        return  # its value continues on the next line, which no-such-command reports
    what = "modules" if len(modules) > 1 or _loads_several(modules[0]) else "module"
    places = at_lines(lines, "and")
    append = f"append `:${assignment.name}` to keep it"
    if job.source.slice(assignment.span).endswith("'"):
        append = f"append `:${assignment.name}`, in double quotes"
    yield Finding(
        assignment.span,
        f"this assignment drops what the {what} on {places} may have added to {assignment.name}; {append}",
        "warning" if assignment.name == "LD_LIBRARY_PATH" else "info",
        related=[(each.span, "modules" if _loads_several(each) else "a module") for each in modules[-3:]],
    )


def _brings_no_libraries(module: str) -> bool:
    return _TOOLS.fullmatch(module) is not None or _CONDA.fullmatch(module) is not None


def _brings_nothing_for_python(module: str) -> bool:
    return _TOOLS.fullmatch(module) is not None or _STACKS.fullmatch(module) is not None


def _is_named(module: str, folders: list[str]) -> bool:
    """Whether a folder is that of a module by its name and version: `/opt/cuda-11.8.0/lib64`, `CUDA/11.8.0`."""
    name, _, version = module.lower().partition("/")
    found = [each.lower() for each in folders if name in each.lower()]
    return any(version.lstrip("v").partition("-")[0] in each for each in found)


def _loads_several(command: Invocation) -> bool:
    """Whether a command loads more than one module."""
    return sum(not word.startswith("-") for word in command.words[2:]) > 1


def _is_for_one_command(job: Job, assignment: VariableAssignment) -> bool:
    """Whether an assignment precedes a command, and holds only for that."""
    line = job.source.line_of(assignment.span.end)
    before = job.source.text[line.start : assignment.span.start].split()
    after = job.source.text[assignment.span.end : line.end].split()
    return not before and bool(after) and after[0][0] not in ";&|#"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        export «PATH="$HOME/apps/bin"»
        srun ./relax
        """,
        fixed={'PATH="$HOME/apps/bin"': 'PATH="$HOME/apps/bin:$PATH"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load fftw
        export «LD_LIBRARY_PATH=/opt/relax/lib»
        srun ./relax
        """,
        severity="warning",
        title="after a module",
    ),
    Good("#!/bin/bash\n#SBATCH -n4\nexport PATH=$HOME/apps/bin:$PATH\nsrun ./relax\n"),
    Good("#!/bin/bash\n#SBATCH -n4\nexport PATH=/opt/relax/bin:/usr/bin:/bin\nsrun ./relax\n", title="all of it"),
    Good("#!/bin/bash\n#SBATCH -n4\nPATH=/opt/relax/bin\n/usr/bin/srun ./relax\n", title="no later command"),
    Good("#!/bin/bash\n#SBATCH -n4\nPATH=/opt/relax/bin ./prepare\nsrun ./relax\n", title="for one command"),
]
