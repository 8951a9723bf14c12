"""Results are lost: the job removes its work folder even if they could not be copied from it.

`cp -r $WORK/out /home/me/results; rm -rf $WORK` removes the results whatever `cp` gave. It fails where a quota is used
up, the disk is full, or the folder of the target does not exist, which nobody notices before the job has ended.

Reported where a job that computes something copies or moves from a folder or a file, and removes this afterwards
without a look at the exit status. Advice where the folder is on a node's own disk, which most sites clear after it,
where the script is being debugged, and in an example.

## Fix

None: `cp -r $WORK/out /home/me/results && rm -rf $WORK` keeps the folder if the copy fails.

## References

cp(1), "Exit status"; bash(1), "Lists"
"""

from bisect import bisect_left
from collections.abc import Iterator

from sbatchlint.analysis.script.appending import where_to_append
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.script.work import has_work
from sbatchlint.analysis.storage.written_paths import is_recursive
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES, classify, key, under
from sbatchlint.job.programs import commands_named, is_called_between
from sbatchlint.source.numbers import has_between
from sbatchlint.triggers import Commands

CARD = Card(
    "SB730", "only-copy-removed", severity="warning", fix="never", since="0.1.0", when=Commands("rm"), batch=True,
    seen="a review of public scripts", unseen="Results that are nowhere; a line of `cp` or `mv` in the log.",
)  # fmt: skip

_TRANSFERS = frozenset({"cp", "mv", "rsync", "scp"})
# Commands that leave the script, a function or a loop, or end the job.
_LEAVING = frozenset({"exit", "return", "break", "continue", "exec", "kill", "scancel"})
_LONGEST = 30  # characters of a path that a message shows
_MOST = 20  # copies before a removal that are looked at


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if command.phase is Phase.SUBMIT or command.context.handler or command.alternatives > 1:
        return
    removed = _operands(command)
    transfers = _transfers(job)
    before = bisect_left(transfers, command.index, key=lambda each: each.index)
    for transfer in reversed(transfers[max(before - _MOST, 0) : before]):
        if not _runs_after_failure(job, transfer, command):
            continue
        field = next((each for each in removed if _takes_from(job, command, each, transfer)), None)
        if field is None or not has_work(job, 0, transfer.index):
            continue  # what is only fetched can be fetched again
        root = _place(job, command, field).partition("*")[0].rstrip("/")
        if root and (_is_fetched(job, root, transfer) or _is_unpacked(job, root, transfer)):
            continue
        local = classify(field, job.site, None, folder_of(job, command)).private
        debugs = any("debug" in str(branch).lower() for branch, _ in command.context.guards)
        yield Finding(
            command.span,
            f"if `{transfer.name}` on line {job.line(transfer.span.start)} fails, this removes the only copy of "
            f"{_copied(job, transfer)}; {_advice(job, transfer, command)}",
            "info" if local or is_sample(job) or debugs else None,
            related=[(transfer.span, "exit status not checked")],
        )
        return


def _copied(job: Job, transfer: Invocation) -> str:
    """What a command should have copied, as the script has it."""
    *sources, _ = _operands(transfer) or [()]
    span = span_of(sources[0]) if len(sources) == 1 else None
    written = job.source.slice(span) if span is not None and transfer.span.contains(span) else ""
    fits = written.strip('*./"') and len(written) < _LONGEST and "\n" not in written
    return f"`{written}`" if fits else "the files"


def _advice(job: Job, transfer: Invocation, removal: Invocation) -> str:
    """How the removal is made to depend on the copy: joined to it, or after a check of it further above."""
    if not job.source.slice(Span(min(transfer.span.end, removal.span.start), removal.span.start)).strip(" \t\n;"):
        return f"write `{transfer.name} … && rm …`"
    line = job.line(transfer.span.start)
    advice = where_to_append(job, "|| exit 1", transfer)
    return advice.replace("this command", f"`{transfer.name}` on line {line}")


def _runs_after_failure(job: Job, earlier: Invocation, later: Invocation) -> bool:
    """Whether a later command of the same shell certainly runs even if an earlier one fails.

    False as well where something between the two looks at a status or leaves: perhaps that is because of the failure.
    """
    earlier, later = _started(job, earlier), _started(job, later)
    runs, ends = runs_of(job, earlier), runs_of(job, later)
    if not runs or not ends or earlier.context.tested or any(each.tested or each.errexit is not False for each in runs):
        return False
    if earlier.context.shell.awaiting is not later.context.shell.awaiting:
        return False
    if earlier.context.calls != later.context.calls or not later.context.guards <= earlier.context.guards:
        return False
    if is_called_between(job, _LEAVING, earlier.index + 1, later.index):
        return False
    first, last = runs[-1].order, ends[-1].order
    return first < last and not has_between(_status_reads(job), first + 1, last + 1)


@once
def _status_reads(job: Job) -> list[int]:
    return sorted(job.trace.status_reads)


def _started(job: Job, command: Invocation) -> Invocation:
    """The command of the shell that starts a command: `timeout 2h cp a b` for its `cp`."""
    while not runs_of(job, command) and command.parent is not None:
        command = command.parent
    return command


@once
def _transfers(job: Job) -> list[Invocation]:
    found = [each for each in job.invocations if each.name in _TRANSFERS and len(each.argv) > 2]
    return [each for each in found if each.alternatives == 1 and each.phase is Phase.BATCH]


def _takes_from(job: Job, command: Invocation, field: Pieces, transfer: Invocation) -> bool:
    """Whether a copy takes what a removal removes, to another place."""
    root, _, pattern = _place(job, command, field).partition("*")
    whole = is_recursive(command) or not pattern
    root = root.rstrip("/")
    if not root.strip("/.") or root in {f"${{{name}}}" for name in LOCAL_VARIABLES} or root == "${HOME}":
        return False
    operands = _operands(transfer)
    if len(operands) < 2 or under(_place(job, transfer, operands[-1]), root):
        return False
    sources = [_place(job, transfer, each) for each in operands[:-1]]
    return whole and any(under(source, root) for source in sources)


def _is_fetched(job: Job, root: str, transfer: Invocation) -> bool:
    """Whether what is removed was cloned, so that it can be fetched again."""
    for other in commands_named(job, "git"):
        if other.words[1:2] == ["clone"] and len(other.argv) > 2 and other.index < transfer.index:
            last = _place(job, other, other.argv[-1])
            name = last.rstrip("/").rpartition("/")[2].removesuffix(".git")
            if last == root or name and root.rpartition("/")[2] == name:
                return True
    return False


def _is_unpacked(job: Job, root: str, transfer: Invocation) -> bool:
    """Whether the script has made what is removed from an archive or a copy, and nothing has worked on it since."""
    makers = [each for each in _makers(job) if each.index < transfer.index]
    for maker in reversed(makers[-_MOST:]):
        if _makes(job, maker, root):
            return not has_work(job, maker.index + 1, transfer.index)
    return False


@once
def _makers(job: Job) -> list[Invocation]:
    """The commands that unpack an archive, or copy."""
    found = [each for name in ("tar", "unzip", "cp", "rsync") for each in commands_named(job, name)]
    plain = [each for each in found if each.alternatives == 1 and not each.context.handler]
    return sorted(plain, key=lambda each: each.index)


def _makes(job: Job, maker: Invocation, root: str) -> bool:
    """Whether a command makes a file or folder out of something that stays."""
    words, operands = maker.words[1:], _operands(maker)
    name = root.rpartition("/")[2]
    if maker.name in ("cp", "rsync"):
        if len(operands) < 2 or "--remove-source-files" in words:
            return False
        target = _place(job, maker, operands[-1]).rstrip("/")
        names = {_place(job, maker, each).rstrip("/").rpartition("/")[2] for each in operands[:-1]}
        return target == root or name in names and f"{target}/{name}" in (root, f"./{root}")
    letters = "" if not words or words[0].startswith("--") else words[0]
    if maker.name == "tar" and "x" not in letters and not {"--extract", "--get"} & set(words):
        return False
    # an archive most often has the name of the folder that is in it
    archives = [_place(job, maker, each) for each in operands]
    here = _place(job, maker, maker.argv[0][:0])
    beside = root.rpartition("/")[0]
    return any(each.rpartition("/")[2].partition(".")[0] == name for each in archives) and beside == here.rstrip("/")


def _operands(command: Invocation) -> list[Pieces]:
    """The words after a command's name that are not options."""
    return [field for field in command.argv[1:] if field and not shown_text(field).startswith("-")]


def _place(job: Job, command: Invocation, field: Pieces) -> str:
    """A path, in the folder to which the script has changed."""
    path = key(field).removeprefix("./")
    folder = folder_of(job, command)
    if path.startswith(("/", "$")) or folder is None:
        return path
    return f"{key(folder)}/{path}" if path not in (".", "") else key(folder)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        WORK=/scratch/$USER/$SLURM_JOB_ID
        mkdir -p $WORK
        cd $WORK
        srun ./model --out model.h5
        cp model.h5 /home/ada/results
        «rm -rf $WORK»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./model --out work/model.h5
        mv work/*.h5 /home/ada/results/
        echo moved
        «rm -r work»
        """,
        title="moved",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./model --out $WORK/run
        if [ -n "$MODEL_DEBUG" ]; then
            cp -r $WORK/run kept
            «rm -rf $WORK/run»
        fi
        """,
        severity="info",
        title="for debugging",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./model --out work/model.h5
        cp work/*.h5 /home/ada/results/ && rm -r work
        """,
        title="only after a good copy",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        srun ./model --out work/model.h5
        cp work/*.h5 /home/ada/results/
        rm -r work
        """,
        title="a failure ends the script",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cp -r /home/ada/input work
        srun ./model --in work --out /home/ada/results
        rm -r work
        """,
        title="the input is a copy",
    ),
]
