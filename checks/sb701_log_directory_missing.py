"""A log is opened in a folder that does not exist yet.

Slurm opens the files of `--output` and `--error` before the script runs, so a `mkdir -p logs` in the script comes too
late. From 23.02 on Slurm makes missing folders itself. Before that the job fails at once (JobLaunchFailure, exit code
0:53), the script never starts, and there is no log that would say why; a folder named after the job (`logs/%j/`) can
never be there in time. A path that ends in `/` fails in all releases: Slurm wants a file.

The shell has the same trouble: in `srun … | tee logs/run.log` tee opens its file long before a task of that step runs
`mkdir -p logs`, and with `> logs/run.log` bash does not even start the command. srun makes no folder for its own
`--output` either.

A folder that merely is not beside the script, nor in the folders of the project above it, is advice: the job may be
submitted from somewhere else. Which releases count is said by `slurm-version`.

## Fix

Puts `mkdir -p` before the command whose file cannot be opened. Safe: the script makes the same folder later anyway. For
a path that ends in `/`, a file name is added; unsafe, since it is a guess. What a directive needs before the job starts
is nothing that the script can do.

## References

sbatch(1), "filename pattern"; release notes of Slurm 23.02; src/slurmd/slurmstepd/io.c, 23.02 and 26.05, and
src/srun/fname.c, 26.05; `srun: error: Could not open stdout file: No such file or directory`, Slurm 22.05.
"""

import os.path
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import raw_value, typo
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.step_programs import UTILITIES
from sbatchlint.analysis.storage.written_paths import WRITING, named_paths, operands, redirected_paths
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import Phase, Pieces, shown_text
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.included_files import project_root
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import HERE, key, under
from sbatchlint.job.steps import Step, step_around
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.versions import is_before
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Options

CARD = Card(
    "SB701", "log-directory-missing", severity="error", fix="sometimes", since="0.1.0",
    when=Options("output", "error") | Commands("mkdir", "install"), seen="live runs of Slurm 22.05",
)  # fmt: skip

# Patterns with another value in each job: no folder named by them is there before it.
_OF_JOB = frozenset("jJAS")
# The variables in which the script has what a pattern stands for.
_VARIABLES = {"j": "SLURM_JOB_ID", "A": "SLURM_ARRAY_JOB_ID", "a": "SLURM_ARRAY_TASK_ID", "x": "SLURM_JOB_NAME",
              "u": "USER", "N": "SLURMD_NODENAME"}  # fmt: skip
_NEW = Regex(r"\$\{(?:SLURM_(?:JOB_?ID|ARRAY_JOB_ID)|\$\((?:date|mktemp)\b)")
# What no path of a log has, unless sbatch is not the first to read it.
_FILLED_IN = Regex(r"[$~{}<>`\\]|\A(?:none|/dev/.*)\Z")
_UNKNOWN = Regex(r"\$\{(?:\W?|\d+)\}|[*?]")
# Commands that make no folder, unless for what their words name.
_HARMLESS_NAMES = (
    "pushd popd let local declare readonly shopt eval ml conda mamba micromamba deactivate dirname basename realpath"
    " readlink tr cut seq sync time sinfo sstat sacctmgr lsof nvcc rocminfo shift alias getent [[ (( exec install"
)
_HARMLESS = (UTILITIES - {"find"}) | frozenset(_HARMLESS_NAMES.split())
# Those whose words may name a folder that still is not there afterwards.
_NAMING = frozenset({"echo", "printf", "export", "local", "declare", "readonly", "rm", "dirname", "basename"})
_BRINGING = frozenset({"git", "tar", "wget", "curl", "cp", "mv", "rsync", "ln", "touch", "sbcast"})
_MAKING = Regex(r"\b(?:mkdir|makedirs|install\s+-d)\b")
_SUBMITTING = Regex(r"(?<![#\w])sbatch\b")
_DIRECTIVE = Regex(r"(?m)^#SBATCH\b")
_COMMENT = Regex(r"(?m)^[ \t]*#(?!SBATCH\b|!).*")
_WORD = Regex(r"(?:\"[^\"\n]*\"|[\w./${}:@%+,=-]+)$")
_PLAIN = Regex(r"(?:[\w./:@%+,=-]|\$\{\w+\}|\$\w+)+")
_MOST_FILES, _MOST_BYTES = 100, 1 << 16


def check(job: Job) -> Iterator[Finding]:
    if job.directives.certain:
        yield from _logs_of_job(job)
    if job.phase is Phase.BATCH and job.is_shell:
        yield from _logs_of_script(job)


# --- what Slurm opens before the script runs -----------------------------------------------------------


def _logs_of_job(job: Job) -> Iterator[Finding]:
    old = tuple(version for version in job.versions.majors if is_before(version, "23.02"))
    seen: set[str] = set()
    for name in ("output", "error"):
        setting = job.request.given(name)
        path = None if setting is None else setting.text
        if setting is None or not path or _FILLED_IN.search(path) or typo(job.directives, setting) is not None:
            continue
        if find_placeholder(name, raw_value(job.directives, setting)) is not None:
            continue
        if path.endswith(("/", "/.", "/..")) or path in (".", ".."):
            yield _no_file(job, setting, name, path)
            continue
        if _is_folder(job, path):
            message = f"`{path}` is a folder beside the script, and where --{name} names one the job fails at once"
            yield Finding(setting.value_span or setting.span, f"{message}; name a file in it", "warning")
            continue
        folder = posixpath.normpath(patterns.directory(path) or ".")
        if old and folder not in (".", "/") and folder not in seen and set(folder) - set("./"):
            seen.add(folder)
            finding = _missing(job, setting, folder, old)
            if finding is not None:
                yield finding


def _no_file(job: Job, setting: Setting, name: str, path: str) -> Finding:
    array = job.request.asked("array")
    file = ("%x-%A_%a" if array else "%x-%j") + (".err" if name == "error" else ".out")
    instead = posixpath.join(path, file)
    span = setting.value_span or setting.span
    message = f"`{path}` is a folder, not a file, so the job fails at once and leaves no log; write `{instead}`"
    exact = path.endswith("/") and job.source.slice(span) == path
    return Finding(span, message, fix=Fix("add a file name", [insert(span.end, file)]) if exact else None)


def _missing(job: Job, setting: Setting, folder: str, old: tuple[str, ...]) -> Finding | None:
    """What is to be said of the folder of a log, before Slurm 23.02."""
    span, when = setting.value_span or setting.span, job.versions.said(old)
    worst = "error" if job.versions.all_before("23.02") else "warning"
    for use in patterns.found(folder):
        if use.letter in _OF_JOB:
            message = f"Slurm{when} makes no folder `{folder}`, so the job fails at once without a log"
            return Finding(span, f"{message}; put `{folder[use.start : use.end]}` into the file name", worst)
    if any(each.name == "sbatch" for each in job.invocations) or _is_made_outside(job, folder):
        return None
    names = _names(job, folder)
    maker = next((each for each in job.invocations if not names.isdisjoint(_made(job, each))), None)
    if maker is not None:
        if maker.context.handler or container_of(maker) is not None or maker.phase is Phase.SUBMIT:
            return None
        row = job.line(maker.span.start)
        message = f"line {row} makes `{folder}` too late for Slurm{when}, which opens the log first"
        message = f"{message}: without the folder the job fails at once; run mkdir before sbatch"
        return Finding(span, message, worst, related=[(maker.span, "runs after the log is opened")])
    if "%" in folder or folder.startswith("/") or not _project(job) or _is_announced(job, folder):
        return None
    message = f"Slurm{when} does not make `{folder}`, and where it is missing the job fails at once"
    return Finding(span, f"{message}; run `mkdir -p {folder}` before sbatch", "info")


def _names(job: Job, folder: str) -> set[str]:
    """The names by which the script may make a folder of --output."""
    found = {folder}
    if "%" in folder:
        name = job.request.text("job-name")
        found = {folder if name is None else folder.replace("%x", name)}
        for use in reversed(list(patterns.found(folder))):
            folder = folder[: use.start] + "${" + _VARIABLES.get(use.letter, "") + "}" + folder[use.end :]
        found.add(folder)
    start = job.request.text("chdir") or ""
    return found | {posixpath.normpath(posixpath.join(start, each)) for each in found if start.startswith("/")}


def _is_made_outside(job: Job, folder: str) -> bool:
    """Whether the folder is there for what is known, or somebody makes it before the job is submitted."""
    outer = job.outer
    while outer is not None:
        for each in outer.invocations:
            for path in (*_made(outer, each), *(operands(each) if each.name == "mkdir" else ())):
                if "$" in path or under(path, folder):
                    return True
        outer = outer.outer
    name = posixpath.basename(folder)
    if any(name in line and "mkdir" in line for line in _COMMENT.findall(job.source.text)):
        return True
    start = job.request.text("chdir") or ""
    if folder.startswith("/") or start.startswith("/"):
        return False
    names = {each for each in _names(job, folder) if "$" not in each}
    project = _project(job)
    if project and any(os.path.abspath(project[0]).endswith(os.sep + each) for each in names):
        return True
    if any(lookups.is_folder(os.path.join(each, start, name)) for each in project for name in names):
        return True
    return any(_makes_for_jobs(text, name) for text in _texts_beside(job))


def _is_announced(job: Job, folder: str) -> bool:
    """Whether the job starts elsewhere, or a comment says that the folder has to be there."""
    if job.request.asked("chdir"):
        return True
    mentioned = Regex(rf"\b{re.escape(posixpath.basename(folder))}\b")
    wanted = Regex(r"(?i)\b(?:exist|creat|make|mkdir|folder|director)")
    return any(mentioned.search(line) and wanted.search(line) for line in _COMMENT.findall(job.source.text))


def _project(job: Job) -> tuple[str, ...]:
    """The script's folder and those above it, up to that of the project; none for a script that is no file."""
    if not lookups.exists(job.source.path):
        return ()
    folder = os.path.dirname(os.path.abspath(job.source.path))
    root, found = project_root(folder), [folder]
    while found[-1] != root:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


def _is_folder(job: Job, path: str) -> bool:
    if path.startswith("/") or "%" in path or job.request.asked("chdir"):
        return False
    return any(lookups.is_folder(os.path.join(folder, path)) for folder in _project(job)[:1])


@once
def _texts_beside(job: Job) -> list[str]:
    """The texts beside the script, and in the folders above it, that make a folder."""
    found: list[str] = []
    for folder in _project(job):
        for name in [each for each in lookups.names_in(folder) if not each.startswith(".")][:_MOST_FILES]:
            path = os.path.join(folder, name)
            data = lookups.read(path, _MOST_BYTES) or b""
            if not any(word in data for word in (b"mkdir", b"makedirs", b"install")):
                continue  # only to be quick: most files have none of them
            text = data.decode("utf-8", "replace")
            if _MAKING.search(text) and not lookups.is_same_file(path, job.source.path):
                found.append(text)
    return found


def _makes_for_jobs(text: str, name: str) -> bool:
    """Whether a text makes a folder of this name, and not for a job of its own."""
    return name in text and (_SUBMITTING.search(text) is not None or _DIRECTIVE.search(text) is None)


# --- which command makes which folder -------------------------------------------------------------------


def _folder_at(job: Job, command: Invocation) -> str | None:
    """The folder in which a command runs: '' for that in which the job starts, None where it is not known."""
    shells = set()
    shell: Shell | None = command.context.shell
    while shell is not None:
        shells.add(id(shell))
        shell = shell.parent
    for each in reversed(job.invocations[: command.index]):
        if each.name in ("cd", "pushd", "popd") and id(each.context.shell) in shells:
            if each.name == "popd" or len(each.argv) != 2:
                return None
            target = key(each.argv[1])
            if target in HERE:
                if target == "${SLURM_SUBMIT_DIR}":
                    return None if job.request.asked("chdir") else ""
                continue
            return target if target.startswith(("/", "${")) and not _UNKNOWN.search(target) else None
    return ""


def _resolved(job: Job, command: Invocation, path: str) -> str | None:
    """A path of a command, relative to where the job starts if it lies there; None where it is not known."""
    if not path or _UNKNOWN.search(path):
        return None
    start = _folder_at(job, command)
    if not path.startswith(("/", "${")):
        return None if start is None else posixpath.normpath(posixpath.join(start, path))
    for here in HERE - {"."}:
        if under(path, here):
            if start is None or start and here == "${PWD}" or job.request.asked("chdir") and here != "${PWD}":
                return None
            return posixpath.normpath(path[len(here) :].lstrip("/") or ".")
    return posixpath.normpath(path)


def _made(job: Job, command: Invocation) -> list[str]:
    """The folders that a command makes, by mkdir or install."""
    if command.name == "install":
        options = [shown_text(each) for each in command.argv[1:]]
        if not any(each == "--directory" or each[:1] == "-" and each[1:2] != "-" and "d" in each for each in options):
            return []
    elif command.name != "mkdir":
        return []
    return [found for path in operands(command) if (found := _resolved(job, command, path)) is not None]


# --- what the script opens too early --------------------------------------------------------------------


class Opening(NamedTuple):
    """A file that is opened for what a command prints. `start`: the first command of its pipeline."""

    command: Invocation
    folder: str
    span: Span
    start: int
    effect: str


def _logs_of_script(job: Job) -> Iterator[Finding]:
    makers = [each for each in job.invocations if each.name in ("mkdir", "install") and not each.context.handler]
    if not makers:
        return
    seen: set[str] = set()
    for opening in _openings(job):
        if opening.folder in seen:
            continue
        maker = next((each for each in makers if _is_too_late(job, each, opening)), None)
        if maker is None or _may_be_there(job, opening, maker):
            continue
        seen.add(opening.folder)
        certain = _NEW.search(opening.folder) is not None and not opening.command.context.conditional
        inside = maker.phase is Phase.TASK or container_of(maker) is not None
        when = "only once the step runs" if inside else "only later"
        shown = opening.folder.replace("${", "$").replace("}", "") if "$(" not in opening.folder else "the folder"
        first = "" if certain else "at the first run "
        message = f"line {job.line(maker.span.start)} makes `{shown}` {when}, so {first}{opening.effect}"
        yield Finding(
            opening.span, f"{message}; run `mkdir -p` before", "error" if certain else "warning",
            related=[(maker.span, "makes the folder")], fix=_fix(job, opening),
        )  # fmt: skip


def _openings(job: Job) -> Iterator[Opening]:
    starts: dict[int, int] = {}
    for ran in job.pipelines:
        first = min((each.index for element in ran.elements for each in element), default=0)
        for element in ran.elements:
            if len([each for each in element if not each.kind]) == 1:  # what else stands in it may run before
                starts.update((each.index, first) for each in element)
    own = {id(step.invocation): step for step in job.steps}
    for each in job.invocations:
        if each.phase is not Phase.BATCH or each.alternatives > 1 or each.context.handler:
            continue
        if step_around(each.context) is not None or container_of(each) is not None and id(each) not in own:
            continue
        start = starts.get(each.index, each.index)
        for redirect in each.redirects:
            if redirect.operator in WRITING and redirect.target:
                effect = "bash cannot open this file and does not run the command"
                yield from _opening(job, each, redirect.target, redirect.span, start, effect)
        if each.name == "tee":
            for field in each.argv[1:]:
                if not shown_text(field).startswith("-"):
                    yield from _opening(job, each, field, each.span, start, "tee cannot open its file")
        if id(each) in own:
            yield from _of_step(job, own[id(each)], start)


def _of_step(job: Job, step: Step, start: int) -> Iterator[Opening]:
    for name in ("output", "error"):
        option = step.option(name)
        value = None if option is None else option.value
        if option is None or not value or step.option("chdir") is not None:
            continue
        # Files of single tasks and nodes are opened by slurmstepd, which makes folders from 23.02 on.
        of_tasks = any(use.letter in "tnNu" for use in patterns.found(shown_text(value)))
        if of_tasks and not job.versions.all_before("23.02"):
            continue
        effect = f"srun cannot open its --{name}, and the step fails"
        yield from _opening(job, step.invocation, value, option.span or step.span, start, effect)


def _opening(
    job: Job, command: Invocation, target: Pieces, span: Span, start: int, effect: str
) -> Iterator[Opening]:  # fmt: skip
    folder, slash, _ = key(target).rpartition("/")
    found = _resolved(job, command, folder) if slash else None
    if found is not None and found not in (".", "/") and "%" not in found and not found.startswith("/dev/"):
        yield Opening(command, found, span, start, effect)


def _is_too_late(job: Job, maker: Invocation, opening: Opening) -> bool:
    """Whether a command makes the folder of an opening when that is past."""
    if maker.index < opening.start or merge_guards(maker.guards, opening.command.guards) is None:
        return False
    if container_of(maker) is not None and not opening.folder.startswith(("/", "${")):
        return False  # another folder
    return any(under(path, opening.folder) for path in _made(job, maker))


def _may_be_there(job: Job, opening: Opening, maker: Invocation) -> bool:
    """Whether something may have made the folder before a file is opened in it, or proves that it was there."""
    folder = opening.folder
    for name in ("output", "error"):
        path = job.request.text(name)
        if path is not None and any(under(each, folder) for each in _names(job, patterns.directory(path) or ".")):
            return True
    for each in job.invocations:
        if each.index > maker.index:
            break
        if each.index >= opening.start:
            # What runs beside it in the same pipeline may be quicker; and what is moved away was there.
            if each.name in ("rm", "mv") and any(under(path, folder) for path in _paths(job, each)):
                return True
            continue
        if each.name == "mkdir" and each.argv[1:] and None in [_resolved(job, each, path) for path in operands(each)]:
            return True
        paths = _paths(job, each)
        if each.name not in _NAMING and any(under(path, folder) for path in paths):
            return True
        named = folder.startswith(("/", "${")) and not any(under(folder, path) for path in paths)
        if each.name in _BRINGING and not named or is_unclear_source(each):
            return True
        if not each.children and each.name not in _HARMLESS:
            return True
    return maker.phase is Phase.BATCH and maker.context.shell.kind == "pipeline" and container_of(maker) is None


def _paths(job: Job, command: Invocation) -> list[str]:
    paths = (*named_paths(command), *redirected_paths(command))
    return [found for each in paths if (found := _resolved(job, command, each)) is not None]


def _fix(job: Job, opening: Opening) -> Fix | None:
    """Makes the folder on a line of its own before the statement."""
    file = job.source.text
    word = _WORD.search(job.source.slice(opening.span))
    raw = "" if word is None else re.sub(r"\A--\w+=", "", word.group().strip('"')).rpartition("/")[0]
    name = raw.rpartition("/")[2]
    first = job.invocations[opening.start]
    line = job.source.line_of(first.span.start)
    indent = file[line.start : first.span.start]
    before = file[: line.start].rstrip()
    if job.outer is not None or indent.strip() or first.parent is not None or first.context.calls:
        return None
    if not _PLAIN.fullmatch(raw) or "$" not in name and name != posixpath.basename(opening.folder):
        return None
    if before.endswith(("\\", "|", "&&", "||", "(", "if", "while", "!")) or job.in_quoted_text(line.start):
        return None
    return Fix("make the folder before", [insert(line.start, f'{indent}mkdir -p "{raw}"\n')], safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --output=«logs/%x-%j.out»
        #SBATCH --error=logs/%x-%j.err
        mkdir -p logs
        srun ./a.out
        """,
        severity="warning",
        title="mkdir runs after the log is opened",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --output=«runs/%j/log.txt»\nsrun ./a.out\n",
        settings={"slurm-version": "22.05"},
        title="a folder for each job",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --output=«logs/»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\nsrun ./a.out\n",
        title="a folder for a file",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        LOGS=$SCRATCH/logs
        srun bash -c "mkdir -p $LOGS && python train.py" 2>&1 | «tee $LOGS/train.log»
        """,
        severity="warning",
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        LOGS=$SCRATCH/logs
        mkdir -p "$LOGS"
        srun bash -c "mkdir -p $LOGS && python train.py" 2>&1 | tee $LOGS/train.log
        """,
        title="made by the tasks, needed before",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --output=logs/%x-%j.out\nmkdir -p logs\nsrun ./a.out\n",
        settings={"slurm-version": "23.02"},
        title="Slurm makes the folder",
    ),
    Good(
        """\
        #!/bin/bash
        # usage: mkdir -p logs && sbatch job.sh
        #SBATCH --output=logs/%x-%j.out
        mkdir -p logs
        srun ./a.out
        """,
        title="the user is told to make it",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nmkdir -p out\nsrun python train.py 2>&1 | tee out/train.log\n",
        title="made before",
    ),
]
