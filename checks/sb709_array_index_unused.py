"""All tasks of a job array do the same work: nothing in the job reads the task's index.

Each task of an array runs the whole script. Where neither the script nor its programs read SLURM_ARRAY_TASK_ID, all
tasks do the same at the same time, and usually write the same files.

A warning where the job's programs are known: published tools such as `samtools`, and Python programs of the project
whose modules could all be read, and which read neither their environment nor anything else that differs. So is an array
whose tasks all load and save the same checkpoint. Advice for other programs, which may read the index themselves.

A warning, too, where the same command is in a comment, with the index.

An error where a number replaces the index, or its only copy: `n=$SLURM_ARRAY_TASK_ID`, then `n=3`.

Not reported: an array whose tasks run one after the other (`%1`), as long runs are continued this way from checkpoints;
a script that passes its programs anything else that differs between tasks, such as the job's id, a random number or the
time; and workers that take their work from a queue.

## Fix

None: select each task's part by `$SLURM_ARRAY_TASK_ID`, or remove --array.

## References

sbatch(1), "Job arrays"; live runs of Slurm 22.05 (tests/slurm); CoBrALab/qbatch#239.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import comment_on
from sbatchlint.analysis.expansion.array_elements import INDEX, several_elements
from sbatchlint.analysis.expansion.reads import TESTS, Use, use_of
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.launch.serial_programs import is_serial
from sbatchlint.analysis.script.threads import is_tool
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import Phase, expansions, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span, shortened
from sbatchlint.job.argv import program_options
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import has_trait
from sbatchlint.source import lookups
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB709", "array-index-unused", severity="error", fix="never", since="0.1.0", when=Options("array"),
    whole_script=True, seen="live runs of Slurm 22.05", batch=True,
    unseen="Equal results of all tasks, or one result that each of them overwrites.",
)  # fmt: skip

_INDEX = Regex(r"ARRAY_(?:TASK|JOB)")
_IN_ANY_CASE = Regex(r"(?i)array_?(?:task|job)")
_DIRECTIVE = Regex(r"(?m)^#SBATCH.*")
# Variables and commands by which the tasks of an array may differ.
_OWN = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "RANDOM", "SRANDOM", "$", "BASHPID", "HOSTNAME", "EPOCHSECONDS"})
_VARYING = frozenset({"date", "mktemp", "uuidgen", "shuf", "hostname", "squeue", "scontrol"})
# What lists files: the same ones for all tasks, unless one of them takes a file away, or looks for results.
_LISTING = frozenset({"ls", "find"})
_TAKING = frozenset({"mv", "rm", "unlink", "rsync", "tar", "gzip", "flock", "mkdir"})
# A command with the index that is commented out.
_COMMENTED = Regex(r"(?m)^[ \t]*#(?!!|SBATCH)[^\n]*\$\{?SLURM_ARRAY_TASK_ID\b[^\n]*")
# What a comment on the array says where its tasks are meant to do the same.
_REPEATED = Regex(
    r"(?i)\b(?:\d+|two|three|five|ten|twenty|several|multiple|many) times\b|\brepe(?:at|tition)|\breplicat"
)
_QUEUE = Regex(
    r"(?i)(?:^|[\W_])(?:agents?|workers?|clients?|runners?|celery|dask\w*|optuna|queue|consumer|engine)(?:[\W_]|$)|(?:^|/)orion$"
)
# Options that name a checkpoint to save or to load.
_CHECKPOINT = Regex(
    r"(?:^|[-_.+])(?:(?P<save>save|output)|load|resume|restore|init)(?:[-_](?:from|dir|path|folder|checkpoint|ckpt))*$"
)
_FILE = Regex(r"[\w./-]*\w\.[A-Za-z]\w{0,3}")
# Names in Python programs that may make tasks differ.
_IDENTITY = ("array", "environ", "getenv", "random", "seed", "time", "subprocess", "glob", "exists", "lock")
# Options of programs whose value is code.
_CODE = {"matlab": ("-r", "-batch"), "Rscript": ("-e",), "julia": ("-e", "-E"), "octave": ("--eval",)}
_MOST_BYTES = 1 << 18
_SAME = 2  # how many words of two commands are equal where they run the same program: `python train.py`


def check(job: Job) -> Iterator[Finding]:
    array = several_elements(job)
    if array is None or not job.is_shell:
        return
    yield from _overwritten(job, array.tasks)
    yield from _copy_overwritten(job, array.tasks)
    if array.throttle == 1:
        return
    setting = job.request.setting("array")
    if setting is None or _uses_index(job) or _REPEATED.search(comment_on(job, setting)):
        return
    works = [each for each in job.invocations if not each.children and weight(job, each) >= Weight.PROGRAM]
    if not works or any(is_unclear_source(each, personal=False) for each in job.invocations):
        return
    # tasks may share out the files that they list: they move or remove some, or test which are there
    take_turns = any(each.name in TESTS or each.name in _TAKING for each in job.invocations)
    varying = _VARYING | _LISTING if take_turns else _VARYING
    if any(not has_trait(each.name, "prints") and _differs_between_tasks(each, varying) for each in job.invocations):
        return
    known = [_reads_index(job, each) for each in works]
    if True in known:
        return
    # what looks for a free port, or asks a server, is not what the tasks are for
    main = next((each for each in works if not has_trait(each.name, "looks", "connects")), works[0])
    severity, work, related = "warning", main, []
    path = next(filter(None, map(_continued, works)), None)
    happens = f"{all_of(array.tasks, 'task')} of this array do the same work"
    if path is not None:
        message = f"{all_of(array.tasks, 'task')} of this array load and save {path} at once; to run them one by one"
        message = f"{message}, write `--array={setting.text}%1`"
    elif (off := _commented_out(job, works)) is not None:
        related = [(off, "not run")]
        message = f"{happens}: line {job.line(off.start)}, which passes the index, is commented out"
        message = f"{message}; pass the index, or remove --array"
    elif None in known:
        unknown = [each for each, reads in zip(works, known, strict=True) if reads is None]
        severity, work = "info", main if main in unknown else unknown[0]
        message = f"{all_of(array.tasks, 'array task')} run the same command; {_advice(job, work)}"
    else:
        message = f"{happens}: nothing uses {INDEX}; use it, or remove --array"
    related.append((work.place, "every task runs this"))
    yield Finding(setting.value_place, message, severity, related)


def _advice(job: Job, work: Invocation) -> str:
    """How a program gets the index, unless it reads it itself."""
    code = next((word for word in work.words[1:] if word in _CODE.get(work.name or "", ())), None)
    if code is not None:
        return f"unless the code after `{code}` reads {INDEX} itself, use `${INDEX}` in it"
    input_ = _input_of_matlab(job, work)
    if input_ is not None:
        return f"unless `{input_}` reads {INDEX} itself, use `getenv('{INDEX}')` in it"
    name = _name(work).rpartition("/")[2]
    return f"unless {f'`{name}`' if name else 'the program'} splits the work itself, pass it `${INDEX}`"


def _input_of_matlab(job: Job, command: Invocation) -> str | None:
    """The m-file that MATLAB or Octave reads as its input, to which no word can be passed."""
    if command.name not in ("matlab", "octave"):
        return None
    found = [each for each in command.redirects if each.operator == "<" and each.target is not None]
    return shortened(job.source.slice(span_of(found[-1].target or ())).rpartition("/")[2]) if found else None


def _overwritten(job: Job, tasks: int) -> Iterator[Finding]:
    """The finding on a number that replaces the index which Slurm gave to the task."""
    for assignment in job.assignments:
        if assignment.name != INDEX or assignment.context.conditional or assignment.context.guards:
            continue
        context = assignment.context
        if any(name == INDEX for each in job.invocations for name, _ in each.variables):
            return  # set for one command
        if context.phase is not Phase.BATCH or context.shell.kind != "script" or context.loops:
            continue
        if (value := _number(assignment)) is not None:
            happens = f"{all_of(tasks, 'task')} of this array do the work of task {value}"
            yield Finding(assignment.span, f"{happens}: this line overwrites the index that Slurm sets; remove it")


def _copy_overwritten(job: Job, tasks: int) -> Iterator[Finding]:
    """The finding on a number that replaces the only copy of the index: `n=$SLURM_ARRAY_TASK_ID`, then `n=3`."""
    places = {each.span for each in job.trace.reads if each.name == INDEX}
    copies = [each for each in job.assignments if any(each.span.contains(place) for place in places)]
    if len(places) != 1 or len(copies) != 1 or len(_INDEX.findall(job.source.own.text)) != 1:
        return
    copy, context = copies[0], copies[0].context
    others = [each for each in job.assignments if each.name == copy.name and each is not copy]
    if len(others) != 1 or context.conditional or context.guards or context.loops or others[0].context.conditional:
        return
    other, value = others[0], _number(others[0])
    if value is None or other.context.shell is not context.shell or other.context.guards or other.context.loops:
        return
    if other.order < copy.order or other.span.start < copy.span.end or copy.exported:
        return
    if any(each.name == copy.name and each.span.start < other.span.start for each in job.trace.reads):
        return
    yield Finding(
        other.span,
        f"{all_of(tasks, 'task')} of this array do the work of task {value}: this line replaces {copy.name}, which "
        f"line {job.line(copy.span.start)} sets to the index; remove it",
        related=[(copy.span, "the index")],
    )


def _number(assignment: VariableAssignment) -> str | None:
    """The only value of an assignment if it is a number; None otherwise."""
    return assignment.value if assignment.value is not None and assignment.value.isdecimal() else None


def _continued(command: Invocation) -> str | None:
    """The path from which a program loads a checkpoint and to which it saves the next; None if there is none."""
    named: dict[str, set[str]] = {}
    for option, value, _ in program_options(command.argv[1:], _CHECKPOINT.search):
        text, found = None if value is None else text_of(value), _CHECKPOINT.search(option)
        if text is not None and "/" in text and found is not None:
            named.setdefault(text, set()).add("save" if found["save"] else "load")
    return next((path for path, kinds in named.items() if len(kinds) == 2), None)


def _uses_index(job: Job) -> bool:
    """Whether a script names the index of its tasks outside its directives, other than to print it."""
    text = job.source.text
    if _INDEX.search(text):
        printed = {each.span: True for each in job.trace.reads if each.name == INDEX}
        for read in (each for each in job.trace.reads if each.name == INDEX):
            printed[read.span] &= _is_only_printed(use_of(job, read))
        for span in sorted((span for span, only in printed.items() if only), reverse=True):
            text = text[: span.start] + text[span.end :]
    return _IN_ANY_CASE.search(_COMMENTED.sub("", _DIRECTIVE.sub("", text))) is not None


def _commented_out(job: Job, works: list[Invocation]) -> Span | None:
    """A comment that is a command of the same program as the job's work, but gets the index; None if there is none."""
    if job.source.text != job.source.own.text:
        return None
    for match in _COMMENTED.finditer(job.source.text):
        words = match[0].lstrip(" \t#").split()
        if any(words[:_SAME] == job.source.slice(each.span).split()[:_SAME] for each in works):
            return Span(match.start() + len(match[0]) - len(match[0].lstrip()), match.end())
    return None


def _is_only_printed(use: Use) -> bool:
    command = use.command
    if command is None or command.name == "printf" and "-v" in command.words[1:2]:
        return False  # into a variable
    return use.kind == "print" and not command.piped_to and not command.redirects


def _name(command: Invocation) -> str:
    """The name by which a message calls the program of a command."""
    files = [word for field in command.argv[1:4] if _FILE.fullmatch(word := shown_text(field))]
    name = None if has_trait(command.name, "slurm") else command.name
    return files[0] if files else name or ""


def _differs_between_tasks(command: Invocation, varying: frozenset[str]) -> bool:
    """Whether a command gets something that differs between the tasks, or takes its work from a queue."""
    fields = [*command.argv, *(value for _, value in command.variables), *(to.target or () for to in command.redirects)]
    for expansion in (each for field in fields for each in expansions(field)):
        if expansion.name in _OWN or any(words and words[0] in varying for words in expansion.commands):
            return True
    if command.name == "flock":
        return True
    return any(_QUEUE.search(word) for word in command.words[:4])


def _reads_index(job: Job, command: Invocation) -> bool | None:
    """Whether a program may find out which task it is; None where that is unknown."""
    program = python_program(job, command)
    if program is not None:
        if program.mentions(*_IDENTITY):
            return True
        return False if is_serial(program) else None
    for field in command.argv[:4]:
        path = job.beside.path(command, field)
        data = None if path is None else lookups.read(path, _MOST_BYTES)
        if data is not None and (b"ARRAY" in data or b"environ" in data or b"getenv" in data):
            return True
    return False if is_tool(command.name) else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1-10»
        python simulate.py --steps 1000
        """,
        severity="warning",
        files={
            "simulate.py": """\
            import sys
            import numpy as np

            steps = int(sys.argv[2])
            np.save("out.npy", np.arange(steps) ** 2)
            """
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1-10»
        module load R
        Rscript simulate.R
        """,
        severity="info",
        title="a program that is not known",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-6
        export «SLURM_ARRAY_TASK_ID="3"»
        sed -n "${SLURM_ARRAY_TASK_ID}p" jobs.txt | bash
        """,
        title="the environment of another job, copied",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-10
        Rscript simulate.R
        """,
        files={"simulate.R": 'task <- as.integer(Sys.getenv("SLURM_ARRAY_TASK_ID"))\n'},
        title="the program asks itself",
    ),
    Good("#!/bin/bash\n#SBATCH --array=1-10%1\nsrun ./train --resume last.ckpt\n", title="one after the other"),
    Good("#!/bin/bash\n#SBATCH --array=1-10\nwandb agent ada/sweep/x7k2\n", title="workers of a queue"),
    Good("#!/bin/bash\n#SBATCH --array=1-10\n./simulate --seed $RANDOM --out run-$SLURM_JOB_ID\n", title="samples"),
]
