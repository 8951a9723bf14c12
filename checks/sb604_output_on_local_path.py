"""Output is lost: the job writes it to a node's local disk, or into a container.

/tmp, /dev/shm and the local disks belong to one node each. A log with `#SBATCH --output=/tmp/…` is on the first node of
the job, to which you cannot log in afterwards and which often clears /tmp when the job ends. When all nodes write a
checkpoint below /tmp, each node keeps only what its own ranks wrote, so it cannot be loaded again. Files in a folder of
the container's image are lost with the container. And what the batch shell (or a script on the login node) puts into
/tmp does not exist for tasks on other nodes.

Where a program of a job on one node gets the job's own folder (`$SLURM_TMPDIR`, `$TMPDIR`) for its results, it is
reported if nothing else in the script names the folder afterwards: the line that copied them may have become a comment.
That is advice where the program reports to a service such as Weights & Biases.

A path is not reported where the script copies it elsewhere afterwards, or where it contains the node's name. The
settings `local-paths` and `shared-paths` say which folders are local or shared.

## Fix

None: only you know where the job's files belong.

## References

sbatch(1), --output: the file is written on the node of the batch script; Slurm's job_container/tmpfs plugin gives each
job a /tmp of its own, which is removed with the job; pyxis removes an unnamed container when the step ends
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.analysis.script.shell_history import commands_before
from sbatchlint.analysis.script.work import UTILITIES, Weight, weight
from sbatchlint.analysis.storage.node_files import ELSEWHERE, HANDLING, is_made_there, opened
from sbatchlint.analysis.storage.written_paths import (
    WRITING,
    created_paths,
    named_paths,
    names_logs,
    names_output,
    operands,
    redirected_paths,
    values_in,
    words,
)
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Phase, Pieces, cut, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job import Step
from sbatchlint.job.commands import container_commands
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import CONTAINER_LOCAL, IMAGE, NODE_LOCAL, Location, classify, key, under
from sbatchlint.job.programs import by_program, commands_named, commands_with_option
from sbatchlint.job.steps import directive_value, enclosing_step
from sbatchlint.job.worlds import from_submission
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB604", "output-on-local-path", severity="warning", fix="never", since="0.1.0", whole_script=True,
)  # fmt: skip

# Programs that read from a folder with such an option.
READERS = Regex(r"litgpt|lit_gpt")
TRANSFERS = programs_with("copies", "stores", "packs") | {"globus", "hf", "huggingface-cli"}


# An option that may name a place of results; `--save_interval` counts too, and leaves the check silent.
_TELLS_OUTPUT = Regex(r"(?i)-{0,2}[\w.-]*(?:out|result|save|report|export|write|dump|store)")

# Services that keep what a program reports, and places on the network.
_SERVICE = Regex(r"(?i)wandb|mlflow|comet|neptune|push_to_hub|\b(?:s3|gs)://")

# A drive of Windows, as its subsystem for Linux names it: Slurm and the one who submits are on the same machine.
_ONE_MACHINE = Regex(r"(?<![\w.-])/mnt/[a-z]/")


def check(job: Job) -> Iterator[Finding]:
    if _is_of_one_machine(job.source.text):
        return
    seen: set[int] = set()
    for find in (_logs, _results, _left_on_node, _made_for_tasks, _made_for_submitted):
        for finding in find(job):
            if finding.span.start not in seen:
                seen.add(finding.span.start)
                yield finding


@lru_cache(maxsize=4)  # for all jobs in a file
def _is_of_one_machine(text: str) -> bool:
    return _ONE_MACHINE.search(text) is not None


# --- logs --------------------------------------------------------------------------------------------


def _logs(job: Job) -> Iterator[Finding]:
    for name in ("output", "error"):
        setting = job.request.setting(name)
        value = None if setting is None or not setting.known else directive_value(setting)
        yield from _log(job, name, value or (), None)
    for step, option in [(step, step.option(name)) for step in job.steps for name in ("output", "error")]:
        if option is not None:
            yield from _log(job, option.name, option.value or (), step)


def _log(job: Job, name: str, value: Pieces, step: Step | None) -> Iterator[Finding]:
    if shown_text(value)[:1] not in ("/", "~", "$", UNKNOWN_CHARACTER):
        return  # it is in the folder where the job was submitted
    location = classify(value, job.site)
    index = -1 if step is None else step.invocation.index
    if location.kind == NODE_LOCAL and not _is_fetched(job, value, index):
        where = "the job's first node" if step is None else "the node that writes it"
        yield Finding(
            span_of(value),
            f"`--{name}`: only {where} has the log ({location.reason}), and may delete it later; use a shared folder",
        )


def _is_fetched(job: Job, path: Pieces, index: int) -> bool:
    """Whether something uses a path, or copies its folder, after the command with this index."""
    wanted = key(path)
    folder, _, name = wanted.rpartition("/")
    for command in job.invocations:
        if command.index <= index or command.name in HANDLING:
            continue
        if any(under(target, wanted) for target in named_paths(command)):
            return True
        if command.name in TRANSFERS:
            for source in _sources(command):
                if under(wanted, source) or "%" in name and under(source, folder) and _may_be(source, wanted):
                    return True
    return False


def _may_be(path: str, pattern: str) -> bool:
    """Whether a path may match the name of a log with Slurm's patterns (`%j`)."""
    ending = re.split(r"%\w?", pattern)[-1]
    return path.startswith(pattern.partition("%")[0]) and (path.endswith(ending) or "*" in path)


def _sources(command: Invocation) -> list[str]:
    """The sources of a command that copies or packs, with `FOLDER/*` as the folder."""
    if command.name == "tar" and any(re.match(r"-?\w*x|--(?:extract|get)", each) for each in words(command)[:2]):
        return []
    packing = has_trait(command.name, "packs")
    return [re.sub(r"/[*?]+$", "", each) for each in operands(command)[: None if packing else -1]]


# --- results of programs -----------------------------------------------------------------------------


def _results(job: Job) -> Iterator[Finding]:
    """Results that are lost in every way in which their command may run."""
    found: dict[tuple[Span, str], list[Finding | None]] = {}
    for command in commands_with_option(job, names_output) if _may_lose_results(job) else ():
        if command.children or command.text is not None or command.name in UTILITIES or command.phase is Phase.SUBMIT:
            continue
        options = list(_output_options(command))
        if not options or command.context.restricted:
            continue
        if any(READERS.search(word) for word in command.words[:3]):
            continue
        for name, value in options:
            result = _result(job, command, name, value)
            ways = found.setdefault((command.span, name), [])
            if result is not None or not from_submission(value[:1]):
                ways.append(result)  # most runs get the default of `${DIR:-/tmp/x}`
    yield from (ways[0] for ways in found.values() if ways and ways[0] is not None and None not in ways)


def _may_lose_results(job: Job) -> bool:
    """Whether a command may run in a container, or on several nodes."""
    steps = any(step.several_nodes or step.container is not None for step in job.steps)
    return steps or not container_commands.NAMES.isdisjoint(by_program(job))


def _result(job: Job, command: Invocation, name: str, value: Pieces) -> Finding | None:
    container, step = container_of(command), enclosing_step(command.context)
    several = step is not None and bool(step.several_nodes)
    if container is None and not several:
        return None  # with one node, its local disk may be meant
    relative = not key(value).startswith(("/", "${"))
    location = classify(value, job.site, container, _workdir(job, command, container) if relative else None)
    in_container = location.kind in (CONTAINER_LOCAL, IMAGE)
    if not (_is_removed(container) if in_container else location.kind == NODE_LOCAL and several):
        return None
    if location.per_node or location.per_task or shown_text(value).startswith("/dev/null"):
        return None
    if _is_prepared(job, value, command) or _is_fetched(job, value, command.index):
        return None
    what = "logs" if names_logs(name) else "results"
    if in_container:
        message = f"the {what} of `{name}` are lost when the container ends ({location.reason})"
        return Finding(span_of(value), f"{message}; mount a folder there")
    return Finding(
        span_of(value),
        f"`{name}` leaves {what} on each node's own disk ({location.reason}); use a shared folder",
    )


def _left_on_node(job: Job) -> Iterator[Finding]:
    """Results of a job on one node that stay on its disk: all that a program writes goes there, and nothing else does.

    What comes after, or runs at the end, must not name the folder: it may fetch or read them.
    """
    if job.phase is not Phase.BATCH or commands_named(job, "trap"):
        return
    works = [each for each in job.invocations if not each.children and weight(job, each) >= Weight.PROGRAM]
    for command in works:
        if command.phase is Phase.SUBMIT or command.alternatives > 1 or container_of(command) is not None:
            continue
        options = [] if command.name in UTILITIES else list(_output_options(command))
        # not the place of logs, or of work in between
        options = [(name, value) for name, value in options if not names_logs(name) and "work" not in name]
        lost = [value for _, value in options if _is_left(job, value, command)]
        if lost and len(lost) == sum(_TELLS_OUTPUT.match(each) is not None for each in command.words[1:]):
            name, value = options[0]
            reason = classify(value, job.site).reason
            message = f"`{name}` leaves the results on the node's own disk ({reason}), and nothing copies them"
            severity = "info" if _is_sent_elsewhere(command) else "warning"
            yield Finding(span_of(value), f"{message}; use a shared folder", severity)


def _is_sent_elsewhere(command: Invocation) -> bool:
    """Whether a program reports to a service, or uploads what it makes: `--tune_wandb`, `--push_to_hub`."""
    return any(_SERVICE.search(word) for word in command.words[1:])


def _is_left(job: Job, value: Pieces, command: Invocation) -> bool:
    """Whether a program's output stays on its node: no other command can get it, as far as the script shows."""
    location = classify(value, job.site)
    path = key(value)
    if location.kind != NODE_LOCAL or location.per_node or location.per_task or path[:2] != "${":
        return False  # a folder that is not the job's own may be looked at later
    root = path.partition("/")[0]
    for other in job.invocations:
        if other is command or other.index < command.index and other.name not in TRANSFERS | {"cd", "pushd"}:
            continue
        if other.index < command.index:
            used = _sources(other) if other.name in TRANSFERS else [key(each) for each in other.argv if each]
        else:
            targets = [each.target for each in other.redirects if each.target]
            used = [key(each) for each in (*other.argv, *targets) if each]
        if any(root in each for each in used):
            return False
    return True


def _output_options(command: Invocation) -> Iterator[tuple[str, Pieces]]:
    """The options that name a program's output, with their values."""
    argv = command.argv
    words = command.words
    for number in [number for number, word in enumerate(words) if number and names_output(word)]:
        text, equals, _ = words[number].partition("=")
        value = cut(argv[number], len(text) + 1, len(words[number])) if equals else None
        if value is None and not text.startswith("-"):
            continue
        if value is None and number + 1 < len(argv):
            value = argv[number + 1]
        if value and "/" in key(value):
            yield text, value


def _workdir(job: Job, command: Invocation, container: Container | None) -> Pieces | None:
    """The folder in which a command runs; None where the script does not show it."""
    for invocation in commands_before(job, command):
        if invocation.name in ("cd", "pushd") and len(invocation.argv) == 2:
            if (container_of(invocation) is None) == (container is None):
                return invocation.argv[1]
    return None if container is None else container.workdir


def _is_removed(container: Container | None) -> bool:
    """Whether a container's files are removed when its command ends."""
    if container is None or container.kind not in ("pyxis", "docker", "podman", "enroot"):
        return False
    if container.image is not None and not shown_text(container.image):
        return False  # a placeholder, and so may the mounts be
    if container.name is not None or container.option("container-save", "name") is not None:
        return False
    return container.kind in ("pyxis", "enroot") or container.option("rm") is not None


def _is_prepared(job: Job, path: Pieces, command: Invocation) -> bool:
    """Whether the script put something under the path on the nodes before, to be read there."""
    wanted = key(path)
    copying = [each for each in job.invocations[: command.index] if each.name in TRANSFERS | ELSEWHERE]
    made = (path for each in copying for path in (*redirected_paths(each), *created_paths(each)))
    return any(under(wanted, path) and path.count("/") > 1 for path in made)


# --- files for others --------------------------------------------------------------------------------


_MAKING = frozenset({"mkdir", "tee", "cp", "mv", "git"})


class Made(NamedTuple):
    """A file or folder that a shell creates. `folder`: whether it is one, which a program may also create itself."""

    path: str
    name: str
    span: Span
    location: Location
    order: int
    folder: bool


def _made_for_tasks(job: Job) -> Iterator[Finding]:
    """What the batch shell creates on the first node, and tasks on other nodes look for."""
    steps = [step for step in job.steps if step.several_nodes]
    made = _made(job, Phase.BATCH) if steps else []
    for step in steps:
        earlier = [each for each in made if each.order < step.invocation.index]
        for command in step.program:
            if command.context.restricted:
                continue
            for use in _used(job, command, earlier, Phase.BATCH):
                if not is_made_there(job, use.path, command, folder=use.folder):
                    yield Finding(
                        use.span,
                        f"{use.name} creates this only on the first node ({use.location.reason}), but {step.nodes} "
                        f"nodes look for it (line {job.line(command.span.start)}); use a shared folder",
                        related=[(command.name_span, "looks for it")],
                    )


def _made_for_submitted(job: Job) -> Iterator[Finding]:
    """What a script creates on the login node, and a job that it submits looks for."""
    sbatches = [each for each in commands_named(job, "sbatch") if each.phase is Phase.SUBMIT]
    if not sbatches:
        return
    made = _made(job, Phase.SUBMIT)
    for command in (*sbatches, *(each for inner in job.submits for each in inner.invocations)):
        # of an sbatch itself only the arguments of its script count, which come after it
        start = len(command.argv) if command.name == "sbatch" else 0
        if command.name == "sbatch" and command.spawn.command is not None:
            start = command.spawn.command + 1
        for use in _used(job, command, made, Phase.SUBMIT, start):
            yield Finding(
                use.span,
                f"{use.name} creates this on the login node ({use.location.reason}), but the submitted job looks "
                f"for it (line {job.line(command.span.start)}); use a shared folder",
                related=[(command.name_span, "looks for it")],
            )


def _made(job: Job, phase: Phase) -> list[Made]:
    """What a script's own shell creates on the disk of its node, in this phase."""
    found: list[Made] = []

    for command in job.invocations:
        if command.name not in _MAKING and not command.redirects or command.phase is not phase:
            continue
        if command.name == "srun" or enclosing_step(command.context) is not None:
            continue
        targets = [each.target for each in command.redirects if each.operator in WRITING and each.target]
        made = [("a redirection", target) for target in targets]
        fields = [field for field in command.argv[1:] if field and not shown_text(field).startswith("-")]
        if command.name in ("mkdir", "tee"):
            made += [(command.name, field) for field in fields]
        elif phase is Phase.BATCH:
            pass  # staged data is for data-staged-on-one-node (SB817)
        elif command.name in ("cp", "mv") and len(fields) > 1:
            made.append((command.name, fields[-1]))
        elif command.name == "git" and len(fields) > 2 and shown_text(fields[0]) == "clone":
            made.append(("git clone", fields[-1]))
        for name, value in made:
            location = classify(value, job.site)
            if location.kind == NODE_LOCAL and not location.per_node and not _by_mktemp(value):
                found.append(Made(key(value), name, span_of(value), location, command.index, name == "mkdir"))
    return found


def _by_mktemp(value: Pieces) -> Expansion | None:
    """The `$(mktemp …)` at the beginning of a path; None where there is none."""
    first = value[0].expansion if value else None
    return first if first is not None and any(command[:1] == ("mktemp",) for command in first.commands) else None


def _used(job: Job, command: Invocation, made: list[Made], phase: Phase, start: int = 0) -> Iterator[Made]:
    """The created files and folders that a command looks for."""
    if command.name in HANDLING:
        return
    fields = [(each, False) for field in opened(job, command)[start:] for each in values_in(field)]
    fields += [(each.target, True) for each in command.redirects if each.operator in WRITING and each.target]
    for field, written in fields:
        location = classify(field, job.site)
        if location.kind != NODE_LOCAL or location.per_node:
            continue
        temporary = _by_mktemp(field)
        if temporary is not None:
            if temporary.phase is phase and (not written or len(field) > 1):
                yield Made(key(field[:1]), "mktemp", temporary.span, location, -1, True)
            continue
        path = key(field)
        for thing in made:
            # a program creates the folders named by its options itself, but the shell does not
            wanted = written and path != thing.path or command.name in ("cd", "pushd")
            if wanted and under(path, thing.path) if thing.folder else path == thing.path and not written:
                yield thing


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --output=«/tmp/train-%j.log»
        srun python train.py
        """,
        title="the job's log",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        srun python pretrain_gpt.py --save «/tmp/checkpoints» --tensorboard-dir «$TMPDIR/tb»
        """,
        title="a checkpoint in parts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh python train.py --output_dir=«/workspace/out»
        """,
        title="in a container that is removed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        CONFIG=«$(mktemp)»
        envsubst < template.yaml > "$CONFIG"
        srun python train.py --config "$CONFIG"
        """,
        title="made on the first node for all of them",
    ),
    Bad(
        """\
        #!/bin/bash
        WORK=«$(mktemp -d /tmp/args.XXXXXX)»
        python make_arguments.py --out "$WORK"
        sbatch --mem=2G --wrap "python run.py $WORK/first.pkl"
        """,
        title="made on the login node for a job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --output=/tmp/train-%j.log
        srun python train.py --output_dir /tmp/out
        srun cp -r /tmp/out /lustre/team/results
        cp /tmp/train-$SLURM_JOB_ID.log /lustre/team/results
        """,
        title="copied afterwards",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh --container-mounts=/lustre/me:/workspace python x.py --save /workspace/out
        """,
        title="mounted",
    ),
]
