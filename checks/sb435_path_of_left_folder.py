"""A path does not exist: it begins with the folder that the script has already entered.

`cd data/raw; align data/raw/a.fasta` looks for `data/raw/data/raw/a.fasta`: the program does not find its input, or
bash cannot write the file, and the work is not done. The path was right in the folder where the job was submitted.

Reported where the same folder below itself is unlikely: for two names in a row (`data/raw`), where both come from the
same variable (`cd $OUT; ./solver > $OUT/log`), and where the script itself has just made the folder. A folder with one
name is often in a folder of the same name (`cd repo; python repo/main.py`).

The other way round, a relative path is left behind: `mkdir -p out; cd src; ./solver > out/log` writes to `src/out`,
which nobody has made, and after `export TMPDIR=./tmp; cd work` programs find no folder for their temporary files.
Warnings; advice after a `cd` to a whole path, as the job may be submitted there.

## Fix

None: write the path without the folder, or an absolute one: `OUT=$PWD/out`.

## References

chdir(2), path_resolution(7)
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.script.samples import is_unfinished
from sbatchlint.analysis.storage.written_paths import WRITING
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.launchers import python_of
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import HERE, key
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB435", "path-of-left-folder", severity="error", fix="never", since="0.1.0", when=Commands("cd"), batch=True,
    seen="a review of public scripts",
)  # fmt: skip

# Commands whose words are not files, or that make what they name.
_OTHER = frozenset({"cd", "pushd", "popd", "mkdir", "[", "[[", "test", "rm", "export", "module", "ls", "find", "git"})

# What a program puts in place of before the job is submitted: `REPLACE-PWD`, `WORK_DIR`, `@DIR@`, `__DIR__`.
_SLOT = Regex(r"[A-Z]+(?:[-_][A-Z]+)+|[@_%{]+\w+[@_%}]+|X{3,}\w+X{3,}")
# Not a relative path, or one that something else fills in.
_SLOTTED = Regex(r"[/$~.]|[A-Z_]+(?:/|$)")
_TEMPORARY = frozenset({"TMPDIR", "TMP", "TEMP"})
_BEGINS = Regex(r"\$\{?\w+\}?/")
_EXPORTING = Regex(r"\b(?:export|declare|typeset)[ \t]")
_VARIABLE = Regex(r"\$\{?(\w+)\}?[\"']?$")


def check(job: Job) -> Iterator[Finding]:
    changing = commands_named(job, "cd", "pushd", "popd")
    ends = [*(each.index for each in changing[1:]), len(job.invocations)]
    made = _last_made(job)
    yield from _left_behind(job, changing)
    for cd, end in zip(changing, ends, strict=False):  # none of a job that changes no folder
        folder = _folder(job, cd)
        if folder is None:
            continue
        shell = cd.context.shell
        if made.get(folder, -1) > cd.index:
            continue
        for command in job.invocations[cd.index + 1 : end]:
            if command.span.start < cd.span.start or _is_elsewhere(command):
                continue
            if shell not in command.context.shell.enclosing_shells():
                continue
            field = _field_in(job, cd, command, folder)
            if field is not None:
                line = job.line(cd.span.start)
                place = span_of(field)
                written = job.source.slice(place).strip("\"'")
                variable = _BEGINS.match(written)
                begin = f"{folder}/" if written.removeprefix("./").startswith(folder) or not variable else variable[0]
                advice = f"remove `{begin}` from it"
                if _others_break(job.invocations[command.index : end], folder):
                    yield _of_several(job, cd, command, place, folder)
                    break
                yield Finding(
                    place if command.span.contains(place) else command.span,
                    f"after `cd` on line {line}, this path means `{folder}/{folder}/…`; {advice}",
                    related=[(cd.span, "enters the folder")],
                )
                break


def _others_break(commands: Sequence[Invocation], folder: str) -> bool:
    """Whether other paths of these commands begin as a folder does, but are outside it: `data/raw`, `data/x`."""
    return any(_is_outside(shown_text(field), folder) for each in commands for field in each.argv[1:])


def _of_several(job: Job, cd: Invocation, command: Invocation, place: Span, folder: str) -> Finding:
    """The finding on several relative paths that a `cd` has made wrong, at the command with the first of them.

    `place`: the path that shows it, in `command`; the script of Python that it names lies where that of others does.
    """
    first, wrong = command, place
    for each in job.invocations[cd.index + 1 : command.index]:
        if _is_elsewhere(each) or each.span.start < cd.span.start:
            continue
        outer = next((field for field in each.argv[1:] if _is_outside(shown_text(field), folder)), None)
        if outer is not None or _runs_relative(job, each) and _runs_relative(job, command):
            first, wrong = each, each.span if outer is None else span_of(outer)
            break
    wrong = wrong if first.span.contains(wrong) else first.span
    happens = "relative paths here and below are wrong"
    if wrong == place:
        happens = f"this path means `{folder}/{folder}/…`, and others are wrong as well"
    elif first.span == wrong:
        wrong = first.name_span
    related = [(cd.span, "enters the folder"), (place, f"means `{folder}/{folder}/…`")]
    return Finding(
        wrong,
        f"after `cd` on line {job.line(cd.span.start)}, {happens}; "
        f"write `cd -` above line {job.line(first.span.start)}",
        related=related[: 1 if wrong == place else 2],
    )


def _is_outside(path: str, folder: str) -> bool:
    """Whether a relative path begins as a folder does, but is outside it: `data/x` of `data/raw`."""
    first, inner = f"{folder.partition('/')[0]}/", f"{folder}/"
    return "/" in folder and path.removeprefix("./").startswith(first) and not path.removeprefix("./").startswith(inner)


def _runs_relative(job: Job, command: Invocation) -> bool:
    """Whether a command runs a script of Python that it names by a relative path, perhaps by a launcher."""
    launcher = job.launcher_of(command)
    if launcher is not None and launcher.program_certain and launcher.program is not None:
        return launcher.program_kind == "script" and command.words[launcher.program][0] not in "/~$"
    python = python_of(command)
    return python is not None and python.kind == "script" and (python.text or "/")[0] not in "/~$"


def _left_behind(job: Job, changing: list[Invocation]) -> Iterator[Finding]:
    """Findings on relative folders that the script makes, or tells programs of, before it enters another one."""
    moves = [each for each in changing if _is_plain(each)]
    yield from _temporary(job, moves)
    if len(moves) != len(changing) or not moves:
        return
    first = moves[0]
    makes = [(each.index, key(field)) for each in commands_named(job, "mkdir") for field in each.argv[1:]]
    left = {path for at, path in makes if at < first.index} - {path for at, path in makes if at > first.index}
    line = job.line(first.span.start)
    for command in job.invocations[first.index + 1 : moves[1].index if len(moves) > 1 else None]:
        for redirect in command.redirects:
            path = "" if redirect.target is None else key(redirect.target)
            folder = path.rpartition("/")[0]
            if redirect.operator not in WRITING or folder not in left or _SLOTTED.match(folder):
                continue
            if _enters(first, folder) or command.phase is not Phase.BATCH:
                continue
            if any(has_trait(each.name, "copies") or each.children for each in job.invocations[: command.index]):
                continue  # they may bring the folder along
            message = f"`{folder}` was made before `cd` on line {line}, and is not in that folder"
            severity = "warning"
            if _may_be_of_submission(first):
                message, severity = f"{message} unless the job is submitted there", "info"
            message += "; write an absolute path"
            yield Finding(redirect.span, message, severity, related=[(first.span, "enters another folder")])
            return


def _may_be_of_submission(cd: Invocation) -> bool:
    """Whether a `cd` may lead to the folder in which the job starts, as one to a folder with a whole path may."""
    path = shown_text(cd.argv[1])
    return not path or path[0] in f"/~{UNKNOWN_CHARACTER}"


def _temporary(job: Job, moves: list[Invocation]) -> Iterator[Finding]:
    """Findings on relative folders for temporary files that a `cd` leaves."""
    for assigned in job.assignments:
        values = [field for each in assigned.alternatives for field in each.fields or ()]
        if assigned.name not in _TEMPORARY or assigned.context.parent is not None or len(values) != 1:
            continue
        prefix = known_prefix(values[0]).removeprefix("./")
        after = next((each for each in moves if each.index >= assigned.order), None)
        if not prefix or prefix[0] in "/~$." or after is None or after.index + 1 >= len(job.invocations):
            continue
        read_later = any(each.order > after.index and each.name == assigned.name for each in job.trace.reads)
        if not read_later and not _is_exported_here(job, assigned):
            continue  # no program is known to get it; the login shell may have exported it
        message = f"after `cd` on line {job.line(after.span.start)}, {assigned.name} names a folder that is not there"
        yield Finding(
            assigned.span,
            f"{message}; write an absolute path",
            "warning",
            related=[(after.span, "enters another folder")],
        )


def _is_exported_here(job: Job, assigned: VariableAssignment) -> bool:
    """Whether the script itself exports a variable, with the assignment or apart."""
    before = job.source.slice(Span(job.source.line_of(assigned.span.start).start, assigned.span.start))
    if _EXPORTING.search(before):
        return True
    return any(assigned.name in each.words for each in commands_named(job, "export", "declare", "typeset"))


def _is_plain(cd: Invocation) -> bool:
    """Whether the batch shell certainly enters another folder by a `cd`."""
    if not _enters_once(cd) or cd.context.parent or cd.context.shell.kind != "script":
        return False
    return key(cd.argv[1]) not in HERE and not cd.words[1].startswith("..")


def _enters_once(cd: Invocation) -> bool:
    """Whether a command of the job is a `cd` to one folder, in any case and once."""
    context = cd.context
    if cd.name != "cd" or len(cd.argv) != 2 or cd.alternatives > 1 or context.phase is not Phase.BATCH:
        return False
    return not (context.conditional or context.loops or context.calls or context.captured or context.handler)


def _enters(cd: Invocation, folder: str) -> bool:
    """Whether a `cd` enters a folder, or one inside it, whose name a path begins with."""
    entered = key(cd.argv[1])
    return entered == folder or entered.startswith(f"{folder}/") or folder.startswith(f"{entered}/")


def _folder(job: Job, cd: Invocation) -> str | None:
    """The relative folder that a `cd` certainly enters, without a slash at its end; None for others."""
    if not _enters_once(cd):
        return None
    text = (text_of(cd.argv[1]) or "").removeprefix("./").rstrip("/")
    parts = text.split("/")
    if text.isupper() and is_unfinished(job):
        return None  # what the user of a template replaces, perhaps by an absolute path
    if not text or text[0] in "/~-$." or _SLOT.fullmatch(parts[0]) or ".." in parts or "." in parts:
        return None
    return text


def _is_elsewhere(command: Invocation) -> bool:
    """Whether a command runs, or may run, in another folder, or its words are not files."""
    if command.name in _OTHER or command.children:
        return True
    if has_trait(command.name, "text", "prints", "slurm", "loads", "conda"):
        return True
    container = container_of(command)
    if container is not None and container.kind not in ("apptainer", "singularity"):
        return True
    step = enclosing_step(command.context)
    return step is not None and step.option("chdir") is not None or command.phase is Phase.SUBMIT


def _field_in(job: Job, cd: Invocation, command: Invocation, folder: str) -> Pieces | None:
    """The word of a command, or the target of a redirect, that begins with a folder; None if there is none."""
    targets = [each.target for each in command.redirects if each.target is not None]
    for field in (*command.argv[1:], *targets):
        shown = shown_text(field)
        path = shown.removeprefix("./")
        if not path.startswith(f"{folder}/") or path == f"{folder}/" or path.startswith(f"{folder}/{folder}/"):
            continue
        made_before = _first_made(job).get(folder, cd.index) < cd.index
        if "/" in folder or _same_variable(job, cd, command) or made_before:
            return field
    return None


def _same_variable(job: Job, cd: Invocation, command: Invocation) -> bool:
    """Whether the line of a command has a path that begins with the variable that a `cd` enters."""
    variable = _VARIABLE.search(job.source.slice(cd.span))
    if variable is None:
        return False
    line = job.source.text[command.span.start : job.source.text.find("\n", command.span.end)]
    return f"${variable[1]}/" in line or f"${{{variable[1]}}}/" in line


@once
def _first_made(job: Job) -> dict[str, int]:
    """The index of the first command that certainly makes a folder."""
    found: dict[str, int] = {}
    for command in commands_named(job, "mkdir"):
        for word in command.words[1:] if not command.context.conditional else ():
            found.setdefault(word.rstrip("/"), command.index)
    return found


@once
def _last_made(job: Job) -> dict[str, int]:
    """The index of the last command that makes a folder, or one in it."""
    found: dict[str, int] = {}
    for command in commands_named(job, "mkdir"):
        for word in command.words[1:]:
            folders = (word[:at] for at, character in enumerate(word) if character == "/")
            found.update(dict.fromkeys((*folders, word), command.index))
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd data/raw
        ./align "«data/raw/a.fasta»"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OUT=results
        cd $OUT
        «./solver» > $OUT/solver.log
        """,
        title="the same variable",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p run7
        cd run7
        srun ./solver --out «run7/out.dat»
        """,
        title="a folder that was just made",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p out
        cd src
        ./solver «> out/solver.log»
        """,
        severity="warning",
        title="a folder that was made elsewhere",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p tmp
        export «TMPDIR=./tmp»
        cd work
        sort -S 1G data.txt > sorted.txt
        """,
        severity="warning",
        title="a relative TMPDIR",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\ncd repo\npython repo/main.py\n", title="a package in its repository"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\ncd data/raw\n./align a.fasta\ncd ../..\n./report data/raw/a.txt\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nOUT=/scratch/out\ncd $OUT\n./solver > $OUT/solver.log\n", title="absolute"),
]
