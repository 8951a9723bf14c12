"""Results are lost: the job removes its work folder even if they could not be copied from it.

`cp -r $WORK/out /home/me/results; rm -rf $WORK` removes the results whatever `cp` gave. It fails where a quota is used
up, the disk is full, or the folder of the target does not exist, which nobody notices before the job has ended.

Reported where a job copies, moves or packs a folder or a file (`tar czf`, `zip`, `gzip -c … >`, `cat … >`), and removes
this afterwards without a look at the exit status: what it has computed itself, or what was there before and what the
script names nowhere else. Not reported for what it has fetched, unpacked or filtered out of another file, nor for a
file that `mv` renames in its folder (`mv log 1.log`, `rm log`): that fails only where the file is not there. Advice
where the folder is on a node's own disk, which most sites clear after it, where the script is being debugged, and in an
example.

## Fix

None: `cp -r $WORK/out /home/me/results && rm -rf $WORK` keeps the folder if the copy fails.

## References

cp(1), "Exit status"; bash(1), "Lists"
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, islice

from sbatchlint.analysis.script.appending import where_to_append
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.script.work import UTILITIES, has_work
from sbatchlint.analysis.storage.written_paths import is_recursive, named_paths, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, span_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES, classify, key, under
from sbatchlint.job.programs import commands_named, is_called_between
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import at_lines, has_between
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB730", "only-copy-removed", severity="warning", fix="never", since="0.1.0", when=Commands("rm"), batch=True,
    seen="a review of public scripts", unseen="Results that are nowhere; a line of `cp` or `mv` in the log.",
)  # fmt: skip

_TRANSFERS = frozenset({"cp", "mv", "rsync", "scp"})
# Commands that leave the script, a function or a loop, or end the job.
_LEAVING = frozenset({"exit", "return", "break", "continue", "exec", "kill", "scancel"})
_PACKING = frozenset({"gzip", "pigz", "bzip2", "xz", "zstd", "bgzip"})
_TO_OUTPUT = Regex(r"-[a-zA-Z]*c[a-zA-Z]*|--stdout|--to-stdout")
_MOVES = Regex(r"-[a-zA-Z]*m[a-zA-Z]*|--move")  # zip removes what it has packed itself
_LONGEST = 30  # characters of a path that a message shows
_GOES_ON = Regex(r"[$\w/.{*?-]")  # after a part of a word
_DEEPEST = 20  # folders of a path
_MOST = 20  # copies before a removal that are looked at


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if command.phase is Phase.SUBMIT or command.context.handler or command.alternatives > 1:
        return
    removed = _operands(command)
    transfers = _transfers(job)
    before = bisect_left(transfers, command.index, key=lambda each: each.index)
    earlier = transfers[max(before - _MOST, 0) : before]
    for transfer in reversed(earlier):
        if not _runs_after_failure(job, transfer, command):
            continue
        field = next((each for each in removed if _takes_from(job, command, each, transfer)), None)
        if field is None:
            continue
        root = _place(job, command, field).partition("*")[0].rstrip("/")
        if not has_work(job, 0, transfer.index) and _is_named_before(job, root, transfer):
            continue  # what is only fetched can be fetched again
        if root and (_is_fetched(job, root, transfer) or _is_unpacked(job, root, transfer)):
            continue
        if not is_recursive(command) and _renames(job, transfer):
            continue
        if _is_filtered(job, root, transfer) or _has_another_copy(job, root, transfer, earlier):
            continue
        arms = [transfer, *(each for each in earlier if _is_other_arm(job, transfer, each))]
        alike = [
            each
            for each in earlier
            if each.name == transfer.name and each.context.guards == transfer.context.guards and each not in arms
            if _runs_after_failure(job, each, command) and _takes_from(job, command, field, each)
        ]
        arms += alike
        advice = _advice(job, transfer, command) if not alike else "append `|| exit 1` to each"
        what = _copied(job, transfer) if not alike else "its files"
        lines = sorted({job.line(each.span.start) for each in arms})
        local = classify(field, job.site, None, folder_of(job, command)).private
        debugs = any("debug" in str(branch).lower() for branch, _ in command.context.guards)
        yield Finding(
            command.span,
            f"if `{transfer.name}` on {at_lines(lines, 'or')} fails, this removes the only copy of "
            f"{what}; {advice}",
            "info" if local or is_sample(job) or debugs else None,
            related=[(each.span, "exit status not checked") for each in arms],
        )
        return


def _renames(job: Job, transfer: Invocation) -> bool:
    """Whether a command gives one file another name in the same folder."""
    sources, targets = _source_places(job, transfer), [_place(job, transfer, each) for each in _targets(transfer)]
    if transfer.name != "mv" or len(sources) != 1 or len(targets) != 1 or targets[0].endswith("/"):
        return False
    return sources[0].rpartition("/")[0] == targets[0].rpartition("/")[0] and targets[0] not in (".", "..")


def _has_another_copy(job: Job, root: str, transfer: Invocation, earlier: list[Invocation]) -> bool:
    """Whether another command copies or moves the same before or after, whenever this one runs.

    What is moved before it is gone, and what another one copies is not lost with this one.
    """
    sources = _source_places(job, transfer)
    for each in earlier:
        if each is transfer or _source_places(job, each) != sources:
            continue
        inside = any(under(_place(job, each, target), root) for target in _targets(each))
        if not inside and each.context.guards <= transfer.context.guards:
            if each.index < transfer.index or transfer.name != "mv":
                return True
    return False


def _is_other_arm(job: Job, transfer: Invocation, other: Invocation) -> bool:
    """Whether another command does the same to the same files in another branch."""
    if other is transfer or other.name != transfer.name or _source_places(job, other) != _source_places(job, transfer):
        return False
    return merge_guards(transfer.context.guards, other.context.guards) is None


def _source_places(job: Job, transfer: Invocation) -> list[str]:
    return [_place(job, transfer, each) for each in _sources(transfer)]


def _is_filtered(job: Job, root: str, transfer: Invocation) -> bool:
    """Whether a filter of the script has written the file that is removed, so that it can again."""
    return _first_filtered(job).get(root, transfer.index) < transfer.index


@once
def _first_filtered(job: Job) -> dict[str, int]:
    """The files that filters write, each with the index of the first such command."""
    found: dict[str, int] = {}
    for each in job.invocations:
        if each.redirects and (each.name in UTILITIES or has_trait(each.name, "patient", "choosy")):
            for path in redirected_paths(each):
                found.setdefault(path, each.index)
    return found


def _is_named_before(job: Job, root: str, transfer: Invocation) -> bool:
    """Whether the script names what is removed before it copies it, so that it may have fetched or made it.

    What is only copied and removed was there before the job, and nobody else has it.
    """
    named, below = _first_named(job)
    around = accumulate(root.split("/"), "{}/{}".format)
    first = min((named.get(each, transfer.index) for each in around), default=transfer.index)
    return not root or min(first, below.get(root, transfer.index)) < transfer.index


@once
def _first_named(job: Job) -> tuple[dict[str, int], dict[str, int]]:
    """The index of the first command that names a path, and of the first that names it or something below it."""
    named: dict[str, int] = {}
    below: dict[str, int] = {}
    for each in job.invocations:
        if each.name in ("cd", "ls", "echo", "module"):
            continue
        for path in (*named_paths(each), *redirected_paths(each)):
            named.setdefault(path, each.index)
            for folder in islice(accumulate(path.split("/"), "{}/{}".format), _DEEPEST):
                below.setdefault(folder, each.index)
    return named, below


def _copied(job: Job, transfer: Invocation) -> str:
    """What a command should have copied, as the script has it."""
    sources = _sources(transfer)
    span = span_of(sources[0]) if len(sources) == 1 else None
    written = job.source.slice(span) if span is not None and transfer.span.contains(span) else ""
    if span is not None and _GOES_ON.match(job.source.text, span.end):  # a part of a word alone
        written = ""
    if len(written) >= _LONGEST and "\n" not in written:  # its name says enough
        written = written.rstrip('/"').rpartition("/")[2]
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
    found = [each for each in job.invocations if _sources(each)]
    return [each for each in found if each.alternatives == 1 and each.phase is Phase.BATCH]


def _sources(command: Invocation) -> list[Pieces]:
    """What a command copies, moves or packs into another place; empty for other commands."""
    operands = _operands(command)
    if command.name in _TRANSFERS:
        return operands[:-1]
    if command.name == "tar":
        first = shown_text(command.argv[1]) if len(command.argv) > 1 else "--"
        letters = "" if first.startswith("--") else first.lstrip("-")
        removes = any(word in ("--remove-files", "-C", "--directory", "-T") for word in command.words)
        if "c" not in letters or "f" not in letters or removes:
            return []
        return operands[1:] if first.startswith("-") else operands[2:]
    if command.name == "zip":
        return [] if any(_MOVES.fullmatch(word) for word in command.words[1:]) else operands[1:]
    if any(each.operator == ">" and each.fd in (None, "1") for each in command.redirects) and not command.piped_to:
        if (
            command.name == "cat"
            or command.name in _PACKING
            and any(_TO_OUTPUT.fullmatch(each) for each in command.words)
        ):
            return operands
    return []


def _targets(command: Invocation) -> list[Pieces]:
    """Where a command puts what it copies."""
    written = [each.target for each in command.redirects if each.target and each.operator == ">"]
    operands = _operands(command)
    if written or command.name in _TRANSFERS:
        return written or operands[-1:]
    packs_plainly = command.name == "tar" and not shown_text(command.argv[1]).startswith("-")
    return operands[1:2] if packs_plainly else operands[:1]


def _takes_from(job: Job, command: Invocation, field: Pieces, transfer: Invocation) -> bool:
    """Whether a copy takes what a removal removes, to another place."""
    root, _, pattern = _place(job, command, field).partition("*")
    whole = is_recursive(command) or not pattern
    root = root.rstrip("/")
    if not root.strip("/.") or root in {f"${{{name}}}" for name in LOCAL_VARIABLES} or root == "${HOME}":
        return False
    if any(under(_place(job, transfer, each), root) for each in _targets(transfer)):
        return False
    sources = [_place(job, transfer, each) for each in _sources(transfer)]
    path = _place(job, command, field)
    return any(source == path or whole and under(source, root) for source in sources)


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
