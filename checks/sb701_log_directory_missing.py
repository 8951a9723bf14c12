"""The job fails at once, or leaves no log: the folder of a log does not exist yet.

Slurm opens the files of `--output` and `--error` before the script runs, so a `mkdir -p logs` in the script comes too
late. From 23.02 on Slurm creates missing folders itself. Before that the job fails at once (JobLaunchFailure, exit code
0:53), the script never starts, and there is no log to say why; a folder named after the job (`logs/%j/`) can never
exist in time. A path that ends in `/` fails in all releases: Slurm needs a file name.

The shell has the same problem: in `srun … | tee logs/run.log` tee opens its file long before a task of that step runs
`mkdir -p logs`, and with `> logs/run.log` bash does not even start the command. From 23.02 on srun also creates the
folder of its own `--output`.

What holds only before 23.02 is advice, unless the setting `slurm-version` names such a release; then it is an error,
and a warning for the output of a step. Always advice is a folder that is only missing next to the script, and in the
project's folders above it, as the job may be submitted from somewhere else.

## Fix

Puts `mkdir -p` before the command whose file cannot be opened. Safe: the script creates the same folder later anyway.
For a path that ends in `/`, a file name is added; unsafe, since it is a guess. None for what a directive needs before
the job starts, as the script comes too late for that.

## References

sbatch(1), "filename pattern"; release notes of Slurm 23.02; src/slurmd/slurmstepd/io.c, 23.02 and 26.05, and
`mkdirpath()` in src/srun/launch.c, 23.02.0 to 26.05; `srun: error: Could not open stdout file: No such file or
directory`, Slurm 22.05.
"""

import os.path
import posixpath
import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import raw_value, typo
from sbatchlint.analysis.storage.made_folders import (
    Opening,
    is_too_late,
    log_folders,
    makers,
    makers_by_folder,
    may_be_there,
    openings,
    resolved,
)
from sbatchlint.analysis.storage.project_folders import (
    is_announced,
    is_made_before_job,
    is_started_by_maker,
    project_folders,
)
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, Pieces, cut, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import key
from sbatchlint.job.programs import commands_named
from sbatchlint.job.srun import options_of
from sbatchlint.slurm.directives import UNKNOWN, Setting
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.versions import is_before
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Options, StepOptions

CARD = Card(
    "SB701", "log-directory-missing", severity="error", fix="sometimes", since="0.1.0",
    when=Options("output", "error") | Commands("mkdir", "install", "sbatch") | StepOptions("output", "error"),
    seen="live runs of Slurm 22.05",
)  # fmt: skip

# Patterns with a different value in each job: a folder named by one cannot exist before the job.
_LETTERS_OF_JOB = frozenset("jJAS")
# A word that a program replaces before it submits the script: JOB_OUT.
_LONG = 44  # a folder that a message has no room for
_SLOT = Regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
# Values that no earlier run had: of `date` only those that name a day of a year.
_RANDOM = frozenset({"$", "BASHPID", "RANDOM", "SRANDOM", "EPOCHSECONDS", "EPOCHREALTIME"})
_NEW_DAY = Regex(r"%-?[scFDxN]|(?=.*%[-^]?[mbBh])(?=.*%-?[de])|%-?j")
_OF_ANOTHER_DAY = Regex(r"-[a-zA-Z]*[drf]|--(?:date|reference|file)")
# Values that differ in each job.
_OF_JOB = Regex(r"\$\{(?:SLURM_(?:JOB_?ID|ARRAY_JOB_ID)|\$\((?:date|mktemp)\b)")
# Characters that a log path only has if something fills them in before sbatch reads it.
_FILLED_IN = Regex(r"[$~{}<>`\\]|\A(?:none|/dev/.*)\Z")
_WORD = Regex(r"(?:\"[^\"\n]*\"?|[\w./${}:@%+,=-]+)$")
_PLAIN = Regex(r"(?:[\w./:@%+,=-]|\$\{\w+\}|\$\w|\$\$)+")


def check(job: Job) -> Iterator[Finding]:
    if job.directives.certain:
        yield from _logs_of_job(job)
    if _old(job):
        yield from _logs_of_submits(job)
    if job.phase is Phase.BATCH and job.is_shell:
        yield from _logs_of_script(job)


def _old(job: Job) -> tuple[str, ...]:
    """The releases that do not create folders."""
    return tuple(version for version in job.versions.majors if is_before(version, "23.02"))


# --- what Slurm opens before the script runs -----------------------------------------------------------


def _logs_of_job(job: Job) -> Iterator[Finding]:
    old = _old(job)
    seen: set[str] = set()
    for name in ("output", "error"):
        setting = job.request.setting(name)
        path = None if setting is None else setting.value
        if setting is None or not path or _FILLED_IN.search(path):
            continue
        folder = patterns.directory(path)
        folder = posixpath.normpath(folder) if folder else "."
        no_file = setting.known and (path.endswith(("/", "/.", "/..")) or path in (".", ".."))
        is_folder = setting.known and not no_file and _is_folder(job, path)
        in_folder = bool(old) and folder not in seen and not set(folder) <= set("./")
        if not (no_file or is_folder or in_folder) or typo(job.directives, setting) is not None:
            continue
        if find_placeholder(name, raw_value(job.directives, setting)) is not None:
            continue
        if no_file:
            yield _no_file(job, setting, name, path)
        elif is_folder:
            message = f"`{path}` is a folder next to the script, and the job fails at once if --{name} is a folder"
            yield Finding(setting.value_place, f"{message}; write a file name", "warning")
        else:
            seen.add(folder)
            finding = _missing(job, setting, folder, old)
            if finding is not None:
                yield finding


def _no_file(job: Job, setting: Setting, name: str, path: str) -> Finding:
    array = job.request.has_option("array")
    file = ("%x-%A_%a" if array else "%x-%j") + (".err" if name == "error" else ".out")
    instead = posixpath.join(path, file)
    span = setting.value_place
    message = f"`{path}` is a folder, not a file, so the job fails at once and leaves no log; write `{instead}`"
    exact = path.endswith("/") and job.source.slice(span) == path
    return Finding(span, message, fix=Fix("add a file name", [insert(span.end, file)]) if exact else None)


def _missing(job: Job, setting: Setting, folder: str, old: tuple[str, ...]) -> Finding | None:
    """The finding on the folder of a log before Slurm 23.02; None where the folder may exist."""
    span, slurm = setting.value_place, job.versions.slurm(old)
    of_job = _part_of_each_job(folder)
    if of_job is not None:
        return _of_each_job(job, span, folder.replace(UNKNOWN, "…"), of_job)
    if UNKNOWN in folder:
        return _of_heredoc(job, setting, old)
    if commands_named(job, "sbatch"):
        return None
    names = log_folders(job.request, folder)
    maker = next((maker for maker, made in makers(job) if not names.isdisjoint(made)), None)
    if maker is not None:
        if maker.context.handler or container_of(maker) is not None or maker.phase is Phase.SUBMIT:
            return None
        if is_made_before_job(job, folder):
            return None
        row = job.line(maker.span.start)
        message = f"line {row} creates this folder too late: {slurm} needs it at the start, or the job fails"
        # its words may hold variables of the script, or follow a `cd`
        plain = "%" not in folder and len(folder) < _LONG
        message = f"{message}; run `mkdir -p {folder if plain else 'FOLDER'}` before sbatch"
        return Finding(span, message, related=[(maker.span, "runs after the log is opened")], versions=old)
    if _SLOT.fullmatch(folder.partition("/")[0]):
        return None  # a program that writes the script fills it in
    if "%" in folder or folder.startswith("/") or not project_folders(job) or is_announced(job, folder):
        return None
    if is_made_before_job(job, folder):
        return None
    advice = f"run `mkdir -p {folder}` before sbatch" if len(folder) < 24 else "create it before sbatch"
    message = f"{slurm} does not create this folder: if it is missing, the job fails at once"
    return Finding(span, f"{message}; {advice}", "info", versions=old)


def _of_each_job(job: Job, span: Span, folder: str, of_job: str) -> Finding:
    message = (
        f"{job.versions.slurm(_old(job))} does not create `{shortened(folder)}`, so the job fails at once without a log"
    )
    return Finding(span, f"{message}; put `{of_job}` into the file name", versions=_old(job))


def _logs_of_submits(job: Job) -> Iterator[Finding]:
    """Findings on the logs named by options of sbatch, in a script that submits jobs."""
    commands = commands_named(job, "sbatch")
    if not commands:
        return
    inside = {id(each.submission.command) for each in job.submits if each.submission is not None}
    places: set[Span] = set()
    for command in commands:
        if command.span in places or command.context.handler:
            continue
        places.add(command.span)
        options = options_of(command, "sbatch", job.versions, job.site)
        seen: set[str] = set()
        for name in ("output", "error"):
            option = options.get(name)
            if option is None or not option.value:
                continue
            start, end = option.span.start, max(option.span.end, option.value[-1].end)
            span = Span(start, end) if command.span.start <= start < end <= command.span.end else command.name_span
            folder = posixpath.dirname(key(option.value))
            of_job = None if id(command) in inside else _part_of_each_job(re.sub(r"\$\{[^{}]*\}", "", folder))
            if folder in seen or "chdir" in options and not folder.startswith(("/", "${")):
                continue
            seen.add(folder)
            if of_job is not None:
                yield _of_each_job(job, span, folder, of_job)
            else:
                yield from _new_folder(job, command, option.value, span)


def _of_heredoc(job: Job, setting: Setting, old: tuple[str, ...]) -> Finding | None:
    """The finding on a folder whose name the outer script writes into the directive."""
    submission, token = job.submission, setting.value_token
    command = None if submission is None else submission.command
    if submission is None or job.outer is None or command is None or token is None:
        return None
    if setting in job.directives.overriding:
        return None
    value = submission.text.pieces(token.offset(setting.value_start), token.end)
    return next(_new_folder(job.outer, command, value, setting.value_place), None)


def _new_folder(job: Job, command: Invocation, value: Pieces, span: Span) -> Iterator[Finding]:
    """The finding on a folder with a new name, which nothing creates before the job is submitted."""
    path = posixpath.dirname(shown_text(value))
    new_part = next((each for each in expansions(cut(value, 0, len(path))) if _is_new(each)), None)
    folder = None if new_part is None else resolved(job, command, posixpath.dirname(key(value)))
    if new_part is None or folder is None or may_be_there(job, folder, command.index, command.index):
        return
    if is_started_by_maker(job):
        return
    old = _old(job)
    shown = new_part.name if new_part.name.startswith("$(") else f"${new_part.name}"
    message = f"nothing creates this folder (`{shown}`), and {job.versions.slurm(old)} does not either:"
    opening = Opening(command, folder, span, command.index, "output")
    message = f"{message} the job fails; run `mkdir -p` before sbatch"
    yield Finding(span, message, fix=_fix(job, opening), versions=old)


def _part_of_each_job(folder: str) -> str | None:
    """The first pattern in a folder's name that differs in each job; None where there is none."""
    return next((folder[use.start : use.end] for use in patterns.found(folder) if use.letter in _LETTERS_OF_JOB), None)


def _is_new(expansion: Expansion) -> bool:
    """Whether an expansion has a value that no earlier run had: a date, a time or a random name."""
    if expansion.name in _RANDOM:
        return True
    for words in expansion.commands:
        if words[:1] == ("uuidgen",) or words[:1] == ("mktemp",) and {"-u", "--dry-run"} & set(words):
            return True
        if words[:1] == ("date",) and not any(_OF_ANOTHER_DAY.match(word) for word in words[1:]):
            form = next((word for word in words if word[:1] == "+"), None)
            return "+" not in expansion.name if form is None else _NEW_DAY.search(form) is not None
    return False


def _is_folder(job: Job, path: str) -> bool:
    if path.startswith("/") or "%" in path or job.request.has_option("chdir") or not job.source.own.has_files_beside:
        return False
    target = os.path.join(os.path.dirname(job.source.path), path)
    return lookups.is_folder(target) and lookups.exists(job.source.path)


# --- what the script opens too early --------------------------------------------------------------------


def _logs_of_script(job: Job) -> Iterator[Finding]:
    by_folder = makers_by_folder(job)
    has_makers = any(not maker.context.handler for maker, _ in makers(job))
    seen: set[str] = set()
    for opening in openings(job):
        folder = opening.folder
        if folder in seen:
            continue
        if not has_makers and opening.is_option and _is_never_made(job, opening):
            seen.add(folder)
            message = f"srun{job.versions.suffix(_old(job))} does not create this folder: if it is missing, the step"
            message = f"{message} fails; run `mkdir -p {folder}` before srun"
            yield Finding(opening.span, message, "warning", versions=_old(job))
            continue
        maker = next((maker for maker in by_folder.get(folder, ()) if is_too_late(maker, opening)), None)
        if maker is None or may_be_there(job, folder, opening.start, maker.index):
            continue
        if maker.phase is Phase.BATCH and maker.context.shell.kind == "pipeline" and container_of(maker) is None:
            continue  # it may be faster
        seen.add(folder)
        yield _too_early(job, opening, maker)


def _is_never_made(job: Job, opening: Opening) -> bool:
    """Whether the folder of a step's output is not in the project, and nothing is known that could create it."""
    folder = opening.folder
    if folder.startswith(("/", "${", "..")) or "$" in folder or not project_folders(job) or is_announced(job, folder):
        return False
    return not (may_be_there(job, folder, opening.start, opening.start) or is_made_before_job(job, folder))


def _too_early(job: Job, opening: Opening, maker: Invocation) -> Finding:
    """The finding on a file that is opened before its folder is created."""
    folder = opening.folder
    certain = _OF_JOB.search(folder) is not None and not opening.command.context.conditional
    inside = maker.phase is Phase.TASK or container_of(maker) is not None
    when = "only once the step runs" if inside else "only later"
    shown = folder.replace("${", "$").replace("}", "") if "$(" not in folder else "the folder"
    if opening.is_option:
        effect = f"srun{job.versions.suffix(_old(job))} cannot open its --{opening.by}, and the step fails"
    elif opening.by == "tee":
        effect = "tee cannot open its file"
    else:
        effect = "bash cannot open this file and skips the command"
    first = "" if certain else "on the first run "
    return Finding(
        opening.span,
        f"line {job.line(maker.span.start)} creates `{shown}` {when}, so {first}{effect}; run `mkdir -p` first",
        "error" if certain else "warning",
        related=[(maker.span, "creates the folder")],
        fix=_fix(job, opening),
        versions=_old(job) if opening.is_option else None,
    )


def _fix(job: Job, opening: Opening) -> Fix | None:
    """The fix that creates the folder on a line before the statement."""
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
    return Fix("create the folder first", [insert(line.start, f'{indent}mkdir -p "{raw}"\n')], safe=True)


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
        title="mkdir runs after the log is opened",
        severity="info",
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
        "#!/bin/bash\n#SBATCH --nodes=2\nmkdir -p out\nsrun python train.py 2>&1 | tee out/train.log\n",
        title="made before",
    ),
]
