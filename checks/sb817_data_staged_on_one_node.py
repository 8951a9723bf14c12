"""Tasks on other nodes do not find their data: it is copied only to the first node's local disk.

Commands of the script run once, on the first node of the job. What `cp -r data $TMPDIR/`, `tar -xf data.tar -C /tmp` or
`python -m venv $TMPDIR/env` puts on a node's local disk does not exist for the tasks that srun starts on other nodes:
they end with "No such file or directory", or read what an earlier job left.

Reported where a step on several nodes gets such a path to read or to run, also as the image of its container, or runs
in such a folder or in an environment activated there. Only advice where a variable such as PATH or DATA_DIR leads
there. An unknown program is not reported, as it may use MPI, and perhaps only its first rank reads the files. A folder
that `mkdir` makes on the first node, and whose name the tasks get in a variable, is reported as well: a warning for
TMPDIR, and where the script empties it first, as the other nodes keep what an earlier job left. The settings
`local-paths` and `shared-paths` say which folders are local.

## Fix

Starts the command on each node: `srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1`. Unsafe: the data may be meant
only for the first node. A single file can also be sent by `sbcast`.

## References

srun(1), sbcast(1); srun's tasks on each node were seen on Slurm 22.05 to 26.05, a file only on the first node's disk on
22.05 (tests/slurm).
"""

import posixpath
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.script.activations import calls_conda_function
from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.storage.node_files import HANDLING, is_made_there, opened
from sbatchlint.analysis.storage.written_paths import names_output, operands, values_in
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, cut, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.argv import partition
from sbatchlint.job.launchers import is_interpreter, is_python
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import NODE_LOCAL, classify, key, under
from sbatchlint.job.programs import commands_named, commands_of
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB817", "data-staged-on-one-node", severity="warning", fix="sometimes", since="0.1.0", when=Steps(),
    seen="srun(1)",
)  # fmt: skip

_COPYING = frozenset({"cp", "mv", "rsync", "install"})
# The options with which other programs name the target.
_PLACE = {
    "tar": ("-C", "--directory"), "unzip": ("-d",), "wget": ("-P", "-O"), "curl": ("-o", "--output"),
    "hf": ("--local-dir",), "huggingface-cli": ("--local-dir",), "conda": ("-p", "--prefix"),
    "mamba": ("-p", "--prefix"),
}  # fmt: skip
# Words of storage clients for a copy.
_FETCHING_WORDS = frozenset({"cp", "sync", "copy", "rsync", "get", "mirror"})
# Commands that may stage something, apart from `python -m venv`.
_STAGING = (
    _COPYING | programs_with("stores") | _PLACE.keys() | {"git", "dd", "virtualenv", "scp", "apptainer", "singularity"}
)
# Search paths, and variables that name data to read.
_SEARCHED = frozenset({"PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "R_LIBS", "R_LIBS_USER", "PERL5LIB"})
_DATA = Regex(
    r"(?:\w*_)?(?:DATA|DATASETS?|INPUTS?|CORPUS|IMAGES|MODEL|WEIGHTS)(?:_(?:DIR|PATH|ROOT|FOLDER|HOME|FILE))?"
)
_TEMPORARY = frozenset({"TMPDIR", "TMP", "TEMP"})
# Folders that may contain anything.
_ROOT = Regex(r"/tmp|/var/tmp|/dev/shm|/scratch|/local\w*|\$\{\w+\}")
_INPUT = Regex(
    r"(?i)-{0,2}(?:[\w.]+[-_.])?(?:data|dataset|input|in|train|val|test|corpus|images?|source|src)(?:[-_]\w+)?"
)
# What starts one task on each node of the job.
_ON_EACH = "srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1"


class Staged(NamedTuple):
    """What a command stages on the first node. `path`: the target; `names`: the files there, None if unknown."""

    command: Invocation
    path: str
    names: tuple[str, ...] | None
    reason: str


class Use(NamedTuple):
    """A path that the tasks of a step need.

    `option`: the one that names it. `by`: the command that needs it; `likely`: whether that is not certain.
    """

    path: str
    option: str
    by: Invocation
    likely: bool = False


def check(job: Job) -> Iterator[Finding]:
    steps = [step for step in job.steps if step.several_nodes]
    staged = _by_place(_staged(job)) if steps else {}
    reported: set[int] = set()
    for step in steps if staged else ():
        for use in _uses(job, step):
            # of the path and of its parent folders
            roots = [use.path.rstrip("/"), *(use.path[:at] for at, each in enumerate(use.path) if each == "/")]
            near = (found for root in roots for found in staged.get(root, ()))
            for _, copy in sorted(dict(near).items()):
                if copy.command.index in reported or copy.command.index > step.invocation.index:
                    continue
                if not _leads_to(copy, use.path, use.option):
                    continue
                # something may also copy the data to the other nodes, or create it there
                if not any(is_made_there(job, path, use.by, folder=True) for path in {use.path, copy.path}):
                    reported.add(copy.command.index)
                    yield _finding(job, copy, use, step.nodes)
    if steps:
        yield from _made_on_first_node(job, steps)


def _made_on_first_node(job: Job, steps: list[Step]) -> Iterator[Finding]:
    """Findings on folders that the batch shell makes on its own node, and that tasks on others get in a variable."""
    for command in commands_named(job, "mkdir"):
        if command.phase is not Phase.BATCH or enclosing_step(command.context) is not None or command.context.captured:
            continue
        places = [_local(job, command, field) for field in command.argv[1:] if not shown_text(field).startswith("-")]
        for path in [place[0] for place in places if place is not None]:
            found = next((each for step in steps if (each := _inherits(job, step, command, path)) is not None), None)
            if found is None:
                continue
            step, name = found
            emptied = any(each.name == "rm" and path in operands(each) for each in job.invocations[: command.index])
            yield Finding(
                command.span,
                f"only the first node gets this folder, but line {job.line(step.span.start)} uses it on "
                f"{step.nodes or 'several'} nodes; write `{_ON_EACH} mkdir …`",
                "warning" if emptied or name in _TEMPORARY else "info",
                related=[(step.place, f"uses the folder, by {name}")],
            )
            break


def _inherits(job: Job, step: Step, command: Invocation, path: str) -> tuple[Step, str] | None:
    """The step with the variable in which its tasks get a folder; None where they do not, or where they make it."""
    start = step.invocation
    if start.index < command.index or start.guards != command.guards and command.guards:
        return None
    for name in start.state.variables:
        value = exported(start, name)
        if value is not None and key(value) == path:
            makers = [each for each in commands_named(job, "mkdir", "install") if each.phase is Phase.TASK]
            made = is_made_there(job, path, start, folder=True) or any(path in operands(each) for each in makers)
            return None if made else (step, name)
    return None


def _by_place(staged: list[Staged]) -> dict[str, list[tuple[int, Staged]]]:
    """The staged data, numbered, by the paths that lead to it."""
    found: dict[str, list[tuple[int, Staged]]] = {}
    for number, copy in enumerate(staged):
        for path in (copy.path, *(f"{copy.path}/{name}" for name in copy.names or ())):
            found.setdefault(path.rstrip("/"), []).append((number, copy))
    return found


def _uses(job: Job, step: Step) -> Iterator[Use]:
    for command in step.program:
        if command.context.restricted or command.name in HANDLING:
            continue
        for option, field in _read(job, command):
            path = _local(job, step.invocation, field)
            if path is not None:
                yield Use(path[0], option, command)
    containers = [step.container, *(container_of(each) for each in step.program)]
    for container in containers:
        image = None if container is None or container.image is None else _local(job, step.invocation, container.image)
        if image is not None:
            yield Use(image[0], "", step.invocation)
    if containers[0] is None:
        yield from _by_environment(job, step)


@once
def _activations(job: Job) -> list[tuple[Invocation, Pieces]]:
    """The commands with which the batch shell activates an environment, and the words that name it."""
    found = []
    for command in job.invocations:
        in_script = command.phase is Phase.BATCH and command.parent is None and not command.context.shell.depth
        if not in_script or len(command.argv) < 2:
            continue
        sources = command.name in ("source", ".") and shown_text(command.argv[1]).endswith("/activate")
        if sources or calls_conda_function(command):
            found.append((command, command.argv[1 if sources else -1]))
    return found


def _by_environment(job: Job, step: Step) -> Iterator[Use]:
    """The paths that a step needs through the environment that it inherits."""
    command = step.invocation
    for invocation, folder in _activations(job):
        path = _local(job, invocation, folder) if invocation.index < command.index else None
        if path is not None:
            yield Use(path[0], "", command)
    readers = [each for each in step.program if len(opened(job, each)) > 1]
    for name in command.state.variables:
        value = exported(command, name) if name in _SEARCHED or readers and _DATA.fullmatch(name) else None
        if value is not None and classify(value, job.site).kind == NODE_LOCAL:
            yield from (Use(part, "", command, True) for part in key(value).split(":"))


def _local(job: Job, command: Invocation, field: Pieces) -> tuple[str, str] | None:
    """A path on a node's local disk, also a relative one, with the reason why it is local; None for others."""
    if shown_text(field)[:1] not in ("/", "~", UNKNOWN_CHARACTER):
        folder = folder_of(job, command)
        location = None if folder is None else classify(folder, job.site)
        path = None if folder is None else posixpath.normpath(posixpath.join(key(folder), key(field)))
    else:
        location, path = classify(field, job.site), key(field)
    if path is None or location is None or location.kind != NODE_LOCAL or location.per_node or location.per_task:
        return None
    return None if "mktemp" in path else (path, location.reason)


def _staged(job: Job) -> list[Staged]:
    found: list[Staged] = []
    for command in commands_of(job, lambda name: name in _STAGING or is_interpreter(name)):
        if command.name not in _STAGING and "-m" not in command.words:
            continue
        if command.phase is not Phase.BATCH or enclosing_step(command.context) is not None or command.children:
            continue
        if command.context.captured or command.context.handler or command.alternatives > 1:
            continue
        target = _target(command)
        local = _local(job, command, target) if target else None
        if local is not None:
            names = _names(command, local[0]) if command.name in _COPYING else None
            found.append(Staged(command, local[0], names, local[1]))
    return found


def _names(command: Invocation, target: str) -> tuple[str, ...] | None:
    """The names that a copy puts into a folder; None where they are unknown, or the target is the copy itself."""
    sources = [shown_text(field) for field in command.argv[1:] if field and not shown_text(field).startswith("-")]
    names = tuple(posixpath.basename(each.rstrip("/")) for each in sources[:-1])
    if command.name == "rsync" and any(each.endswith("/") for each in sources[:-1]):
        return None
    if any(not name or set(name) & set("*?$[" + UNKNOWN_CHARACTER) for name in names):
        return None
    return names if len(names) > 1 or sources[-1].endswith("/") or _ROOT.fullmatch(target) else None


def _target(command: Invocation) -> Pieces | None:
    """The target to which a command copies, unpacks or downloads something."""
    fields = [field for field in command.argv[1:] if field]
    plain = [field for field in fields if not shown_text(field).startswith("-")]
    if command.name in _COPYING:
        return plain[-1] if len(plain) > 1 and ":" not in shown_text(plain[-1]) else None
    first = shown_text(plain[0]) if plain else ""
    if command.name == "git":
        return plain[-1] if len(plain) > 2 and first == "clone" else None
    if command.name == "dd":
        return next((cut(field, 3, len(shown_text(field))) for field in plain if shown_text(field)[:3] == "of="), None)
    if has_trait(command.name, "stores"):
        return plain[-1] if len(plain) > 2 and any(shown_text(each) in _FETCHING_WORDS for each in plain[:3]) else None
    if command.name in ("virtualenv", "scp"):
        return plain[-1] if plain and ":" not in shown_text(plain[-1]) else None
    if is_python(command.argv[0]) and len(fields) > 2 and shown_text(fields[0]) == "-m":
        return plain[-1] if shown_text(fields[1]) in ("venv", "virtualenv") and len(plain) > 1 else None
    if command.name in ("apptainer", "singularity"):
        return plain[1] if first in ("pull", "build") and len(plain) > 2 else None
    options = _PLACE.get(command.name or "", ())
    return next((value for option, value in pairwise(fields) if shown_text(option) in options), None)


def _read(job: Job, command: Invocation) -> Iterator[tuple[str, Pieces]]:
    """The paths that a command opens, each with the option that names it, without those for its output."""
    previous = ""
    for field in opened(job, command):
        name, value = partition(field, "=") if field else ((), None)
        option = shown_text(name) if value else previous
        previous = shown_text(field)
        if field and not names_output(option):
            yield from ((option if option.startswith("-") or value else "", each) for each in values_in(field))


def _leads_to(staged: Staged, path: str, option: str) -> bool:
    """Whether a path leads to staged data."""
    if staged.names is not None:
        if path == staged.path and not _ROOT.fullmatch(path):
            return True
        return any(under(path, f"{staged.path}/{name}") for name in staged.names)
    if not under(path, staged.path):
        return False
    if _ROOT.fullmatch(staged.path):
        return path != staged.path and (not option or _INPUT.fullmatch(option) is not None)
    return True


def _finding(job: Job, staged: Staged, use: Use, nodes: int | None) -> Finding:
    command, user = staged.command, use.by
    start = command.span.start
    line = job.source.line_of(start)
    name = f"{command.name} -m venv" if is_python(command.argv[0]) else command.name
    copies = command.name in _COPYING or command.name in ("tar", "unzip", "wget", "curl", "git")
    alone = copies and not job.source.text[line.start : start].strip()
    alone = alone and not command.piped_from and not command.redirects
    folders = [each for each in commands_named(job, "mkdir") if each.phase is Phase.BATCH]
    made = any(under(staged.path, path) for each in folders for path in operands(each))
    fix = None
    if alone and not made and not command.context.calls and command.context.parent is None and job.outer is None:
        fix = Fix("copy on each node", [insert(start, f"{_ON_EACH} ")], safe=False)
    return Finding(
        command.span,
        f"this reaches only the first node ({staged.reason}), but line {job.line(user.span.start)} needs it on "
        f"{nodes or 'several'} nodes; write `{_ON_EACH} {name} …`",
        "info" if use.likely else None,
        related=[(user.name_span, "looks for it")],
        fix=fix,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        «cp -r /shared/imagenet $TMPDIR/»
        srun python train.py --data $TMPDIR/imagenet
        """,
        unsafe_fixed={"cp": "srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 cp"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        «tar -xf data.tar -C /tmp»
        srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            train.py --data-dir=/tmp/data
        """,
        unsafe_fixed={"tar -xf": "srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 tar -xf"},
        title="unpacked",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 cp -r /shared/imagenet $TMPDIR/
        srun python train.py --data $TMPDIR/imagenet
        """,
        title="on each node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4
        cp -r /shared/imagenet $TMPDIR/
        srun python train.py --data $TMPDIR/imagenet
        """,
        title="one node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cp model.tar /tmp/model.tar
        sbcast /tmp/model.tar /tmp/model.tar
        srun tar -xf /tmp/model.tar -C /tmp
        """,
        title="sent to the others",
    ),
]
