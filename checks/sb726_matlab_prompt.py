"""MATLAB hides a failure of its program, or runs nothing: it starts at its interactive prompt.

`matlab -r "simulate"` types its text at MATLAB's prompt. After an error the rest of the text is not run, not even an
`exit` in it: MATLAB is at its prompt again, where a batch job has no input (/dev/null), so it ends, and with status 0.
The job is COMPLETED, `set -e` and `&&` go on, and jobs that wait with `afterok` start. Without an `exit` MATLAB is at
its prompt after success as well: where its input is a pipe that stays open, it waits until the time limit. `-batch`,
since R2019a, runs the same text without a prompt, and returns 1 after an error.

`matlab < simulate.m` types each line of the file there: after an error the next lines run on, without what was not
computed, and at the end MATLAB ends with 0.

`matlab simulate.m simulate.out` has neither `-r` nor `<`: no program reads the words, and MATLAB ends at once.

A warning where it reads a file, as it computes on, and where nothing in the text ends MATLAB and something reads the
status (mail of a failure, a job that depends on this one, `set -e`, a test); otherwise advice. Nothing is reported
where the text has `try` and `catch`, or where the m-file that it calls, beside the script, has them.

## Fix

Replaces `-r` by `-batch`. Unsafe: releases before R2019a do not know it. None where such a one is loaded; write
`-r "try, simulate, catch e, disp(getReport(e)), exit(1), end, exit"`.

## References

MATLAB, "matlab (Linux)": `-r`, `-batch`; sbatch(1), `--input`: standard input of a batch script is /dev/null.
"""

import os.path
from collections.abc import Iterator

from sbatchlint.analysis.outcome.state_readers import state_reader, told_by_mail
from sbatchlint.analysis.storage.project_folders import project_folders
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, is_open, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace, shortened
from sbatchlint.job.programs import commands_of
from sbatchlint.programs import has_trait
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB726", "matlab-prompt", severity="error", fix="sometimes", since="0.1.0", batch=True,
    when=Commands("matlab", "matlab-*"), seen="a review of public scripts",
    unseen="Nothing: MATLAB ends with status 0.",
)  # fmt: skip

_ENDS = Regex(r"(?i)\b(?:exit|quit)\b")
_CATCHES = Regex(r"\btry\b[\s\S]*\bcatch\b|\b(?:exit|quit)\s*\(\s*(?!0\s*[,)])[^)\s'\"]|\bonCleanup\b")
# Arguments and texts within the statements, in which no statement stands.
_INNER = Regex(r"\([^()]*\)|'[^']*'")
_CALLED = Regex(r"\s*(?:run\s*\(\s*['\"])?([\w./-]+?)(?:\.m)?['\"]?\s*(?:[(;,)]|$)")
# Variables of Slurm that hold a number.
_NUMBERS = frozenset(
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CPUS_PER_TASK", "SLURM_PROCID"}
    | {"SLURM_NTASKS", "SLURM_CPUS_ON_NODE", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"}
)
# Options with which MATLAB runs something else, or only tells something.
_OTHER = frozenset({"-batch", "-h", "-help", "-n", "-e", "-version", "-dmlworker"})
_MOST_BYTES = 1 << 18
_SHORT = 24  # statements that a message repeats
_FEW_LINES = 12  # that fit between quotes
_THROUGH_CAT = "pass it to `cat > NAME.m` and run `matlab -batch NAME`"
# A release before `-batch`, as modules and folders name it: `MATLAB/2017a`, `matlab/R2018b`, `matlab-9.4`.
_OLD = Regex(r"(?i)matlab[\W_]*(?:R?20(?:0\d|1[0-8])(?!\d)|[78]\.\d|9\.[0-5](?!\d))")


def check(job: Job) -> Iterator[Finding]:
    prompts: dict[tuple[str, str | None], list[Finding]] = {}
    places: set[Span] = set()  # a function may be called again
    for command in commands_of(job, lambda name: name == "matlab" or name.startswith("matlab-")):
        for finding in _of_command(job, command):
            if finding.span not in places:
                prompts.setdefault((finding.message, finding.severity), []).append(finding)
            places.add(finding.span)
    for found in prompts.values():
        first, others = found[0], [(each.span, "the same") for each in found[1:]]
        edits = [replace(each.span, "-batch") for each in found if each.fix is not None]
        fix = None if first.fix is None else Fix("run it with -batch", edits, safe=False)
        yield first._replace(related=others[:5], fix=fix)


def _of_command(job: Job, command: Invocation) -> Iterator[Finding]:
    words = [word.replace("--", "-", 1) if word.startswith("--") else word for word in command.words]
    if command.phase is Phase.SUBMIT or command.children or any(map(_may_be_words, command.argv)):
        return
    at = next((number for number, word in enumerate(words) if word == "-r"), None)
    if at is None:
        if _OTHER.isdisjoint(words) and UNKNOWN_CHARACTER not in "".join(words):
            yield from _from_input(job, command)
            yield from _without_program(job, command, words)
        return
    if at + 1 == len(words):
        return
    text = words[at + 1]
    plain = text
    for _ in range(4):
        plain = _INNER.sub("", plain)
    if _CATCHES.search(text) or UNKNOWN_CHARACTER in plain:
        return
    program = _program(job, text)
    if program is not None and _CATCHES.search(program):
        return
    ends = _ENDS.search(text) is not None or program is not None and _ENDS.search(program) is not None
    option = span_of(command.argv[at])
    fix: Fix | None = Fix("run it with -batch", [replace(option, "-batch")], safe=False)
    advice = f"write `-batch` instead of `{job.source.slice(option)}` (R2019a or later)"
    if _is_before_batch(job, command):
        short = len(text) <= _SHORT and not set(text) & set('"$`\\\n') and UNKNOWN_CHARACTER not in text
        code = text.strip(" ;,") if short and not ends else "STATEMENTS"
        fix, advice = None, f'write `-r "try {code}, catch e, disp(getReport(e)), exit(1), end, exit"`'
    yield Finding(
        option,
        f"if a statement fails, MATLAB still exits with status 0; {advice}",
        "info" if ends or not _is_status_read(job, command) else "warning",
        fix=fix if job.source.slice(option) == "-r" else None,
    )


def _may_be_words(field: Pieces) -> bool:
    """Whether a word may be several, or none; an index or a count of Slurm's is one."""
    if not is_open(field):
        return False
    pieces = [piece for piece in field if piece.open]
    return not all(piece.expansion is not None and piece.expansion.name in _NUMBERS for piece in pieces)


def _is_status_read(job: Job, command: Invocation) -> bool:
    """Whether the script, or something that reads the state of the job, tells success from failure."""
    if command.context.tested or "$?" in job.source.text:
        return True
    ends = command.state.option("errexit") is not False and command.index + 1 < len(job.invocations)
    return ends or state_reader(job, command) is not None or told_by_mail(job) is not None


def _is_before_batch(job: Job, command: Invocation) -> bool:
    """Whether a module, or the folder of the program, names a release before R2019a, which has no `-batch`."""
    loads = (each for each in job.invocations[: command.index] if has_trait(each.name, "loads"))
    words = [word for each in loads for word in each.words[1:]]
    return any(_OLD.search(word) for word in (*words, command.words[0]))


def _from_input(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on a MATLAB whose standard input is a file of statements, none of which catches errors."""
    reader = next((each for each in (command, *command.ancestors()) if each.inputs), None)
    if reader is None:
        return
    last = reader.inputs[-1]
    path = text_of(last.target) if last.operator == "<" and last.target else None
    program = reader.stdin.string if reader.stdin is not None else None
    if path is not None and not path.startswith("/dev/"):
        program = _read(job, path) or ""
    elif path is None and last.operator == "<" and last.target and shown_text(last.target).endswith(".m"):
        program = ""  # a file of another name each time
    if program is None or _CATCHES.search(program):
        return
    name = os.path.basename(path or "").removesuffix(".m")
    folder = os.path.dirname(path or "")
    # the option replaces a redirect with its file, whose name would be an argument without the `<`
    instead = f" instead of `{shortened(job.source.slice(last.span))}`" if last.operator == "<" else ""
    lines, rows = "its input", len(program.strip().splitlines())
    if _is_before_batch(job, command):
        statements = name if name.isidentifier() and not folder else "STATEMENTS"
        advice = f'write `-r "try, {statements}, catch e, disp(getReport(e)), exit(1), end, exit"`{instead}'
    elif reader.stdin is not None and rows > 1:
        lines = "the here-document" if last.operator.startswith("<<") and last.operator != "<<<" else "these lines"
        advice = "put the code in NAME.m and run `matlab -batch NAME`"
        if "$" in job.source.slice(reader.stdin.span(0, len(reader.stdin.string))):  # bash would not expand it there
            advice = 'run the code with `matlab -batch "…"`' if rows <= _FEW_LINES else _THROUGH_CAT
        advice = f"{advice} (R2019a or later)"
    else:
        advice = f"write {_batch(name, folder)}{instead or ' instead'} (R2019a or later)"
    message = f"MATLAB goes on after an error in {lines} and exits with 0; {advice}"
    yield Finding(command.name_span, message, "warning")


def _batch(name: str, folder: str) -> str:
    """The option that runs an m-file, which MATLAB finds by its name only in the folder of the job or on its path."""
    if not name.isidentifier():
        return '`-batch "STATEMENTS"`'
    if not folder:
        return f"`-batch {name}`"
    if len(folder) < _SHORT:
        return f"`-batch \"addpath('{folder}'), {name}\"`"
    return f"`-batch \"run('{shortened(f'{folder}/{name}.m')}')\"`"


def _without_program(job: Job, command: Invocation, words: list[str]) -> Iterator[Finding]:
    """The finding on a MATLAB that gets m-files as words, and no input."""
    if any(each.piped_from or each.stdin is not None or each.inputs for each in (command, *command.ancestors())):
        return
    file = next((word for word in words[1:] if word.endswith(".m") and not word.startswith("-")), None)
    if file is None or job.request.has_option("input"):
        return
    name, folder = os.path.basename(file).removesuffix(".m"), os.path.dirname(file)
    message = f"MATLAB does not run `{shortened(file)}` without `-r` or `<`, and ends at once"
    yield Finding(command.name_span, f"{message}; write {_batch(name, folder)}")


def _program(job: Job, text: str) -> str | None:
    """The m-file that a text calls first, where it is beside the script."""
    called = _CALLED.match(text)
    return _read(job, f"{called[1]}.m") if called else None


def _read(job: Job, path: str) -> str | None:
    """The text of a file of the project, by its path from the script's folder."""
    folders = project_folders(job)
    data = lookups.read(os.path.join(folders[0], path), _MOST_BYTES) if folders else None
    return None if data is None else data.decode("utf-8", "replace")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --mail-type=FAIL
        module load matlab
        matlab -nodisplay «-r» "simulate($SLURM_JOB_ID)"
        """,
        unsafe_fixed={"-r": "-batch"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «matlab» -nodisplay simulate.m simulate.out
        """,
        title="no program",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun matlab -nodisplay «-r» "addpath('lib'); simulate; exit"
        """,
        unsafe_fixed={"-r": "-batch"},
        severity="info",
        title="an exit that errors do not reach",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nmatlab -batch simulate\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        matlab -nodisplay -r "try, simulate, catch e, disp(getReport(e)), exit(1), end, exit"
        """,
        title="an error is caught",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\n«matlab» -nodisplay < simulate.m > simulate.out\n",
        severity="warning",
        title="from a file",
    ),
]
