"""A removal deletes everything if a variable is empty or a folder does not exist.

`rm -rf $SCRATCH/*` is `rm -rf /*` if SCRATCH is empty: it removes all that the user may remove, the home folder first.
What a login shell sets is often missing in a batch job (SCRATCH, a variable of a module), and so is an argument that
was forgotten after `sbatch job.sh`, and the output of a command that failed.
`rm -rf /project/runs/$OLD` removes all runs where OLD comes from a command
that failed, and `[ -d /project/runs/$OLD ]` is true then. `cd $WORK; rm -rf *` removes the files of the folder in which
the job was submitted if WORK is not a folder, and those of the home folder if WORK is empty.

Only removals of whole folders are reported; for the rest see ShellCheck (SC2115, SC2164). `cd $BUILD; rm -rf build-*`
is advice, as the folder of submission may have nothing of that name.

TMPDIR is never empty in a job: where it is missing or not writable, slurmstepd sets it to /tmp. `rm -rf $TMPDIR/*`
then removes what the user's other jobs keep there on this node. That is advice, as many sites give each job its own.

`rm -rf /scratch/me/$PBS_JOBID` removes all of `/scratch/me`, as Slurm sets no such variable; so does the name of a
variable that the script leaves empty, which is a warning.

An error where the name is certainly empty in some runs of the script; a warning where a command that prints or enters
the folder may fail.

## Fix

Writes `${SCRATCH:?}`, which ends the script there, and `|| exit 1` after the `cd`. Safe: where the variable is set and
the folder exists, nothing changes.

## References

bash(1), (
    "Parameter "
    "Expansion"
); cd in bash(1); `_make_tmpdir()` in src/slurmd/slurmstepd/task.c, Slurm 20.11 to 26.05; https://www.shellcheck.net/wiki/SC2115
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.pipeline_runs import begun_by
from sbatchlint.analysis.script.work import Weight, has_work
from sbatchlint.analysis.storage.made_folders import moves_before, named_folders
from sbatchlint.analysis.storage.written_paths import is_recursive
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, known_prefix, shown_text, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, replace, shortened
from sbatchlint.job.environment import FOREIGN_NAMES
from sbatchlint.job.once import once
from sbatchlint.job.paths import key
from sbatchlint.job.programs import commands_named, is_called_between
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.slurm.environment import misspelling_of, variables
from sbatchlint.source.numbers import others
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands

CARD = Card(
    "SB903", "dangerous-removal", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("rm", "find"), seen="ShellCheck's SC2115", batch=True,
    unseen="Files that are gone, when it is too late.",
)  # fmt: skip

# Variables that every shell has, in a job or not.
_ALWAYS = frozenset({"HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "PATH", "SHELL", "HOSTNAME", "UID", "EUID", "RANDOM"})
# What remains of a word without its variables: the root, or everything in it.
_SLASHES = Regex(r"//+")
_EVERYTHING = Regex(r"/+(?:\.?\*)?/*|/+(?:home|scratch|work|data|projects?|users?)/*(?:\*)?")
# Variables of folders that exist, and commands in between that create or test one.
_EXISTING = frozenset({"SLURM_SUBMIT_DIR", "HOME", "PWD", "OLDPWD"})
_MAKING = frozenset({"[", "[[", "test", "mkdir"})
_HERE = Regex(r"(?:\./)?\*|\./?|\.\*")
_TEST_LINE = Regex(r"(?:\[|\btest|\bcase)\s[^\n]*")
_NAME = Regex(r"(?:\$\{?|-v\s+)(\w+)")
_REQUIRED = Regex(r"\$\{(\w+):?[?=]")
_RUNNING_RM = frozenset((option, rm) for option in ("-exec", "-execdir") for rm in ("rm", "/bin/rm"))
# Commands that print something whatever happens, and filters of what they print.
_SURE = frozenset(
    {"date", "basename", "dirname", "hostname", "whoami", "id", "pwd", "echo", "printf", "mktemp", "uname", "seq"}
)
_FILTERS = frozenset({"cut", "tr", "sed", "awk", "head", "tail", "bc", "rev", "xargs", "sort"})
_LAST_NAME = Regex(r"\$\{?(\w+)\}?[\"']?/*\*?[\"']?$")
# What other batch systems set.
_FOREIGN = frozenset(" ".join(FOREIGN_NAMES.values()).split())
# A word that is one variable, and the last folder in a path, a variable.
_WHOLE = Regex(r"[\"']?\$\{?([A-Za-z_]\w*)\}?[\"']?/?\*?")
_INNER = Regex(r"/\$\{?([A-Za-z_]\w*)\}?[\"']?/*\*?[\"']?\Z")
_LEAST_SLASHES = 3  # `/scratch/me/`
_MANY = 5  # removals by a pattern
_EXISTENCE = Regex(r"(?:!\s*)?-[defrwx]\s")


def check(job: Job) -> Iterator[Finding]:
    if not job.directives.lines:
        return
    entered: set[tuple[Span, ...]] = set()
    for command in job.invocations:
        for field in _removed(command):
            finding = (
                _of_empty(job, command, field)
                or _of_inner(job, command, field)
                or _of_failed_command(job, command, field)
            )
            if finding is None and _is_relative(field):
                finding = _of_folder(job, command, field)
                places = () if finding is None else tuple(each for each, _ in finding.related)
                if places and places in entered:
                    continue  # the same `cd`
                entered.add(places)
            if finding is not None:
                yield finding
                break


def _removed(command: Invocation) -> list[Pieces]:
    """The folders that a command removes with everything in them."""
    words = command.words
    deletes = "-delete" in words or any(pair in _RUNNING_RM for pair in pairwise(words))
    if command.name == "find" and deletes:
        return [field for field in command.argv[1:2] if not shown_text(field).startswith("-")]
    if command.name != "rm":
        return []
    fields = [field for field in command.argv[1:] if not shown_text(field).startswith("-")]
    return fields if is_recursive(command) else [field for field in fields if _HERE.fullmatch(text_of(field) or "")]


# --- an empty variable -----------------------------------------------------------------------------------


def _of_empty(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    found = [piece for piece in field if piece.text is None]
    if command.guards if command.context.handler else depends_on_test(command):
        return None
    rest = "".join(piece.text or "" for piece in field)
    rest = _SLASHES.sub("/", rest)
    if rest == "/" and command.name == "rm" and "--no-preserve-root" not in command.words:
        return None  # rm refuses that
    if not found and _EVERYTHING.fullmatch(rest) and "home" not in rest and rest.strip("/*.") == "":
        if command.alternatives > 1 or command.phase is Phase.SUBMIT:
            return None
        words = job.source.slice(command.span).split()
        written = next((each for each in words if "$" in each and each.strip('"').endswith(rest)), "")
        what = f"this is `{command.name} … {rest}`, which"
        if written:
            what = f"`{shortened(written)}` is `{rest}` here, so this"
        return Finding(command.span, f"{what} removes everything it can; name the folder")
    if not found or (field[0].text or "").strip("/") or not _EVERYTHING.fullmatch(rest):
        return None  # below a folder that is named
    if len(found) == 1 and _is_tmpdir(found[0], command) and "TMPDIR" not in _tested(job) and rest.strip("/*.") == "":
        return Finding(
            command.span,
            "if TMPDIR is /tmp, this removes files of your other jobs on the node; work in "
            "`$TMPDIR/$SLURM_JOB_ID`, and remove that",
            "info",
        )
    names = [_unset(job, command, piece.expansion) for piece in found]
    if any(name is None for name in names):
        return None
    name = names[0]
    argument = name is not None and name.isdigit()
    why = f"without an argument ${name}" if argument else f"if {name} is not set in the job"
    edits = [_checked(piece.expansion) for piece in found if piece.expansion is not None]
    return Finding(
        command.span,
        f"{why}, this is `{command.name} … {rest}`, which removes everything it can; write `${{{name}:?}}`",
        None if name is not None and _is_certain(job, name, command) else "warning",
        fix=Fix("stop the script if it is empty", edits, safe=True),
    )


def _of_inner(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    """The finding on a removal of a whole folder where the name of the one in it is certainly empty."""
    folder = (text_of(field) or "").rstrip("*")
    if not folder.endswith("/") or folder.count("/") < _LEAST_SLASHES or command.alternatives > 1:
        return None
    if depends_on_test(command) or command.context.handler or command.context.loops:
        return None
    word = next((each for each in job.source.slice(command.span).split() if each.startswith(("$", "/", '"'))), "")
    whole = _WHOLE.fullmatch(word)
    if whole is not None:
        given = [each for each in job.assignments if each.name == whole[1]]
        if len(given) != 1 or given[0].context.conditional:
            return None
        word = job.source.slice(given[0].span)
    inner = _INNER.search(word)
    if inner is None or (empty := _emptied(job, command, inner[1])) is None:
        return None
    return Finding(
        command.span,
        f"{inner[1]} is empty here, so this removes all of `{shortened(folder.rstrip('/'))}`; name the folder in it",
        empty,
    )


def _emptied(job: Job, command: Invocation, name: str) -> str | None:
    """How severe it is that a variable is empty; None where it may have a value."""
    variable = command.state.variables.get(name)
    if variable is not None:
        fields = [each.fields for each in variable.alternatives]
        is_empty = all(each is not None and not "".join(map(shown_text, each)) for each in fields)
        return "warning" if fields and is_empty else None
    if name in _tested(job) or may_set_variables(job) or name in _ALWAYS:
        return None
    if name in _FOREIGN or _is_certain(job, name, command):
        return "error"
    return None


def _of_failed_command(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    """The finding on a removal of a whole folder where the command that prints the name of one in it has failed."""
    pieces = [piece for piece in field if piece.text != ""]
    tail = ""
    while pieces and pieces[-1].text is not None and not pieces[-1].text.strip("/*"):
        tail = f"{pieces.pop().text}{tail}"
    if not pieces or pieces[-1].text is not None:
        return None
    # `rm -rf $DIR/*`; rm refuses to remove `/` itself
    is_root = len(pieces) == 1 and tail[:1] == "/" and tail.endswith("*") and command.name == "rm"
    if not is_root and (len(pieces) == 1 or not (pieces[-2].text or "").endswith("/")):
        return None
    expansion = pieces[-1].expansion
    if expansion is None or not expansion.commands or command.alternatives > 1 or command.context.loops:
        return None  # a loop over the output of a command has no iteration where there is none
    programs = [words[0].rpartition("/")[2] for words in expansion.commands if words]
    risky = next((each for each in programs if each not in _SURE and each not in _FILTERS), None)
    if risky is None and programs[0] in _SURE or command.state.option("errexit") is not False:
        return None
    if any(each.context.tested and each.span.contains(expansion.span) for each in job.assignments):
        return None  # `X=$(…) || exit`
    name = _LAST_NAME.search(_written(job, command, field))
    is_direct = command.span.contains(expansion.span)
    if not is_direct and (name is None or name[1] in _tested_for_text(job)):
        return None
    what = "`/*`" if is_root else "the whole folder above"
    return Finding(
        command.span,
        f"if `{risky or programs[0]}` on line {job.line(expansion.span.start)} fails, "
        f"{name[1] if name else 'its output'} is empty and this removes {what}; "
        f"{f'write `${{{name[1]}:?}}`' if name else 'keep it in a variable X, and write `${X:?}`'}",
        "warning",
        related=[(expansion.span, "prints the name")],
    )


def _written(job: Job, command: Invocation, field: Pieces) -> str:
    """A word of a command as it is written there; "" where that is not clear."""
    words = job.source.slice(command.span).split()
    return words[command.argv.index(field)] if len(words) == len(command.argv) else ""


@once
def _tested_for_text(job: Job) -> frozenset[str]:
    """The variables that the script tests other than for being the name of a file, or that must be set."""
    string = job.text.string
    lines = [line for line in _TEST_LINE.findall(string) if not _EXISTENCE.search(line)]
    return frozenset(name for line in lines for name in _NAME.findall(line)).union(_REQUIRED.findall(string))


def _is_tmpdir(piece: Piece, command: Invocation) -> bool:
    """Whether a piece is TMPDIR as Slurm sets it in a job."""
    name = None if piece.expansion is None else piece.expansion.name
    return name == "TMPDIR" and command.phase is not Phase.SUBMIT and command.state.variables.get(name) is None


def _unset(job: Job, command: Invocation, expansion: Expansion | None) -> str | None:
    """The name of a variable that may be empty: nothing in the script sets it, or tests whether it is set."""
    if expansion is None:
        return None
    name = expansion.name
    plain = job.source.slice(expansion.span) in (f"${name}", f"${{{name}}}")
    if name == "TMPDIR" and command.phase is not Phase.SUBMIT:
        return None  # slurmstepd sets it
    if not plain or name in _ALWAYS or command.state.option("nounset") is not False:
        return None
    if not name.isdigit():
        entry = variables().get(name)
        if not name.isidentifier() or entry is not None and not _is_certain(job, name, command):
            return None
        if command.state.variables.get(name) is not None or may_set_variables(job):
            return None
    if name in _tested(job) or name.isdigit() and "#" in _tested(job):
        return None
    return name


def _is_certain(job: Job, name: str, command: Invocation) -> bool:
    """Whether Slurm certainly does not set a variable with this name in this job."""
    misspelt = misspelling_of(name)
    if misspelt is not None and misspelt.certain:
        return True
    return JobEnvironment(job.request).lookup(name, command.context) is False


def _checked(expansion: Expansion) -> Edit:
    return replace(expansion.span, f"${{{expansion.name}:?}}")


# --- a missing folder ------------------------------------------------------------------------------------


def _is_relative(field: Pieces) -> bool:
    """Whether a word names something in the working folder, and nothing above it."""
    text = known_prefix(field)
    return bool(text) and text[0] not in "/~" and not text.startswith("..") and not text.startswith("$")


def _of_folder(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    cd = next(moves_before(job, command), None)
    if cd is None or cd.name == "popd" or len(cd.argv) != 2 or cd.context.tested or cd.context.depth:
        return None
    run = begun_by(job, cd)
    is_sure = is_called_between(job, _MAKING, cd.index + 1, command.index)
    if run is None or len(run.elements) > 1 or run.errexit or run.tested or is_sure:
        return None
    target, folder = shown_text(cd.argv[1]), key(cd.argv[1])
    unknown = [piece.expansion for piece in cd.argv[1] if piece.expansion is not None and piece.text is None]
    empty = [each for each in unknown if _unset(job, cd, each) is not None]
    alone = len(cd.argv[1]) == len(unknown) == 1
    if target.strip("./") in ("", "-", "tmp") or alone and unknown[0].name in _EXISTING:
        return None
    if folder == "${TMPDIR}" or folder in named_folders(job) and not empty:
        return None
    here = _HERE.fullmatch(text_of(field) or "") is not None
    if not here and has_work(job, cd.index + 1, command.index, Weight.STAGING):
        return None  # it may make what is removed, in whatever folder that is
    entered = job.source.slice(cd.span)
    one = [each for each in command.argv[1:] if not shown_text(each).startswith("-")]
    names = f"`{shortened(shown_text(field), 30)}`"
    what = "everything" if here else names if len(one) == 1 else f"{names} and {others(len(one) - 1, 'name')}"
    edits = [_checked(each) for each in empty] + [insert(cd.span.end, " || exit 1")]
    ends = re.match(r"[ \t]*(?:;(?!;)|#|\n|$)", job.source.text[cd.span.end : cd.span.end + 40])
    where = f", and `${{{empty[0].name}:?}}` in it" if empty else f" on line {job.line(cd.span.start)}"
    advice = f"`cd … || exit 1`{where}"
    name = f"`{shortened(entered, 30)}`"
    message = f"{name} on line {job.line(cd.span.start)} fails, this removes {what} in {_folder_before(job, cd)}"
    message = f"if {message}; write {advice}"
    return Finding(
        command.span,
        message if len(message) <= MOST else message.replace(name, "`cd`", 1),
        "warning" if (here or _clears(job, cd)) and run.errexit is False else "info",
        related=[(cd.span, "may fail")],
        fix=Fix("stop the script if it fails", edits, safe=True) if ends else None,
    )


def _folder_before(job: Job, cd: Invocation) -> str:
    """How a message names the folder in which the script is where a `cd` fails."""
    last = next(moves_before(job, cd), None)
    if last is not None:
        return f"the folder that line {job.line(last.span.start)} enters"
    return "the folder of --chdir" if job.request.has_option("chdir") else "the submission folder"


def _clears(job: Job, cd: Invocation) -> bool:
    """Whether many removals by a pattern follow a `cd`: they may match what is in any folder."""
    removals = _by_pattern(job)
    return len(removals) - bisect_right(removals, cd.index) >= _MANY


@once
def _by_pattern(job: Job) -> list[int]:
    """The indexes of the removals of folders by a pattern."""
    removals = filter(is_recursive, commands_named(job, "rm"))
    return [each.index for each in removals if any("*" in word for word in each.words)]


@once
def _tested(job: Job) -> frozenset[str]:
    """The variables that the script tests, or that must be set: `[ -z $X ]`, `${X:?}`, `case $X`."""
    string = job.text.string
    found = {name for line in _TEST_LINE.findall(string) for name in _NAME.findall(line)}
    return frozenset(found.union(_REQUIRED.findall(string))) | ({"#"} if "$#" in string else set())


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «rm -rf $SCRATCH/*»
        srun ./simulate
        """,
        fixed={"$SCRATCH/*": "${SCRATCH:?}/*"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd "$WORKDIR/run"
        «rm -rf *»
        srun ./simulate
        """,
        fixed={'"$WORKDIR/run"': '"${WORKDIR:?}/run" || exit 1'},
        severity="warning",
        title="in a folder that may not be there",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «rm -rf "$SLURM_SUBMITDIR"/*»
        """,
        fixed={'"$SLURM_SUBMITDIR"/*': '"${SLURM_SUBMITDIR:?}"/*'},
        title="no variable of Slurm",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun ./simulate\n«rm -rf $TMPDIR/*»\n",
        severity="info",
        title="of all jobs on the node, where that is /tmp",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nrm -rf ${SCRATCH:?}/*\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nSCRATCH=/scratch/$USER\nrm -rf $SCRATCH/*\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nset -u\nrm -rf $SCRATCH/*\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nrm -rf $SCRATCH/$SLURM_JOB_ID\n", title="a name after it"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\ncd $SCRATCH/run || exit 1\nrm -rf *\n"),
]
