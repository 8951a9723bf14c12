"""Tasks damage an environment: all of them install packages into it at the same time.

`uv sync`, `pip install` and `uv pip install` in the command of a step run once in each of its tasks, and so does the
sync with which a plain `uv run` begins. Eight tasks of a node then write one environment: a rank imports a package that
another is replacing at that moment (ModuleNotFoundError, a truncated file), and where the environment is on shared
storage, all nodes do so. A sleep in the other tasks only guesses how long the install takes.

Let one task do it once, in a step before: `srun --nodes=1 --ntasks=1 uv sync`; the others start with `uv run
--no-sync`. Where each node has its own environment, in a container or on a local disk, an install by one task per node
is right, and only costs time.

A warning where tasks on several nodes write to one environment at the same time, or sleep while one installs into a
container, which is new in each job; advice on one node, where locks help, and for work that is only repeated.

## Fix

Adds `--no-sync` to `uv run` where the script has run `uv sync` before. Safe: nothing is left to sync. A `uv sync` is
not moved: only you know which step should do it, and in which container.

## References

https://github.com/astral-sh/uv/issues/12751, https://github.com/astral-sh/uv/issues/13870;
https://docs.astral.sh/uv/concepts/projects/sync/
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.installs import Install, image_of, install_of
from sbatchlint.analysis.script.shell_history import commands_before, folder_of
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, cut, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job import Step
from sbatchlint.job.argv import is_unknown
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import SHARED, UNKNOWN, Location, classify
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB606", "uv-sync-in-every-task", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("uv", "pip*", "python*", "ipython*", "pypy*"),
)  # fmt: skip

# Loops in which the other tasks may wait for a signal.
WAITING = Regex(r"\b(?:while|until)\b")


def check(job: Job) -> Iterator[Finding]:
    installs = [each for each in map(install_of, job.invocations) if each is not None]
    for install in installs:
        on_host = install.command.phase is Phase.BATCH
        yield from filter(None, [_on_host(job, install) if on_host else _in_step(job, install, installs)])


def _on_host(job: Job, install: Install) -> Finding | None:
    """A sync in the batch shell, of a job whose later steps run in a container."""
    if install.kind != "uv sync" or container_of(install.command) is not None:
        return None
    for step in job.steps:
        if step.invocation.index > install.command.index and any(container_of(each) for each in step.program):
            return _finding(
                install,
                step,
                f"`{install.kind}` creates an environment for the host, but the step on line "
                f"{job.line(step.span.start)} runs in a container; run it in a step with the same container",
                "info",
            )
    return None


def _in_step(job: Job, install: Install, installs: list[Install]) -> Finding | None:
    command, kind = install.command, install.kind
    step = enclosing_step(command.context)
    if step is None or not (step.several_nodes or step.geometry.several):
        return None
    if command.context.restricted:
        # one task installs, and the others run `else sleep 10`
        if kind == "uv run" or not _others_sleep(job, command):
            return None
        return _finding(
            install,
            step,
            f"one task runs `{kind}`, and the others sleep for a fixed time, which may be too short; run it earlier, "
            "in a step of one task",
            None if _is_lost(command) else "info",  # else the environment is there in the next run
        )
    if depends_on_test(command, step.invocation):
        return None
    line = job.line(step.span.start)
    tasks = f"{step.tasks} tasks" if step.tasks else "all tasks"
    warm = _warm_up(install, installs)
    if kind == "uv run":
        if step.geometry.several is not True:
            return None
        fix = _no_sync(job, install, installs)
        instead = "write `uv run --no-sync`" if fix or warm else "run `uv sync` earlier, then `uv run --no-sync`"
        message = f"{tasks} of the step on line {line} sync one environment at once with `uv run`; {instead}"
        # uv locks the environment, which may only fail between nodes
        return _finding(install, step, message, "info" if step.nodes == 1 else None, fix)
    if kind == "uv sync" and step.geometry.several is not True and warm is not None:
        return None
    place = _environment_place(job, install)
    if step.geometry.several is True or place.kind == SHARED and not place.per_node:
        instead = "run it earlier, with `srun --nodes=1 --ntasks=1`"
        if warm is not None:
            instead = f"remove it: line {job.line(warm.span.start)} has already done it"
        return _finding(
            install,
            step,
            f"{tasks} of the step on line {line} run `{kind}` at once in one environment; {instead}",
            None if warm is None else "info",
        )
    if not _is_lost(command) or "container-name" in step.options:
        return None  # pyxis keeps a container with a name
    return _finding(
        install,
        step,
        f"`{kind}` runs in every job, on each node of the step on line {line}, and is lost with the container; put "
        "the packages in the image",
        "info",
    )


def _is_lost(command: Invocation) -> bool:
    """Whether an environment ends with the container in which it is made."""
    container = container_of(command)
    return container is not None and container.kind in ("pyxis", "docker", "podman", "enroot")


def _finding(install: Install, step: Step, message: str, severity: str | None, fix: Fix | None = None) -> Finding:
    """A finding at the words that name the action: `uv sync`, `pip install`."""
    command = install.command
    first, last, whole = span_of(command.argv[0]), span_of(command.argv[install.at]), command.span
    # a word may be written elsewhere: `PIP=pip3; srun $PIP install`
    start, end = max(first.start, whole.start), min(last.end, whole.end)
    span = Span(start, end) if start < end else first
    return Finding(span, message, severity, related=[(step.invocation.name_span, "the step")], fix=fix)


def _warm_up(install: Install, installs: list[Install]) -> Invocation | None:
    """The command that did the same before with the same image, in a step of one task or the batch shell."""
    image = image_of(install.command)
    for earlier in installs:
        command = earlier.command
        if command.index >= install.command.index:
            break
        if image_of(command) != image or (earlier.kind == "pip install") != (install.kind == "pip install"):
            continue
        step = enclosing_step(command.context)
        if command.phase is not Phase.TASK or step is not None and step.tasks == 1:
            return command
    return None


def _others_sleep(job: Job, command: Invocation) -> bool:
    """Whether the other tasks only sleep while one runs this command."""
    context = command.context
    text = None if context.parent is None else context.parent.text
    if text is not None and WAITING.search(text.string):
        return False
    sleeps = [each.context for each in commands_named(job, "sleep")]
    return any(each.parent is context.parent and each.restricted == context.restricted for each in sleeps)


def _no_sync(job: Job, install: Install, installs: list[Install]) -> Fix | None:
    """The fix that adds `--no-sync` to `uv run`, where the script has run `uv sync` with the same image before."""
    command = install.command
    image = image_of(command)
    earlier = [each.command for each in installs if each.kind == "uv sync" and each.command.index < command.index]
    synced = any(image_of(each) == image for each in earlier)
    word = span_of(command.argv[install.at])
    if not synced or job.source.slice(word) != "run":
        return None
    return Fix("stop uv run from syncing", [Edit(Span(word.end, word.end), " --no-sync")], safe=True)


# --- the place of an environment ----------------------------------------------------------------------


def _environment_place(job: Job, install: Install) -> Location:
    """The location of the environment that a command writes to, as far as the script shows."""
    command, site, uv = install.command, job.site, install.uv
    container = container_of(command)
    if install.kind != "uv sync" or uv is None:
        return _pip_place(job, command)
    named = exported(command, "UV_PROJECT_ENVIRONMENT")
    if named and (shown_text(named).startswith(("/", "~")) or is_unknown(named[:1])):
        return classify(named, site, container)
    folder = uv.value("project") or uv.value("directory") or folder_of(job, command)
    if folder is not None:
        found = classify(folder, site, container)
        if found.kind != UNKNOWN or container is not None:
            return found
    # a project's own folder is the folder of submission, or another of the user's
    return Location(UNKNOWN) if container is not None else Location(SHARED, "the project's folder")


def _pip_place(job: Job, command: Invocation) -> Location:
    site, container = job.site, container_of(command)
    words = list(command.argv)
    for number, field in enumerate(words):
        text = shown_text(field)
        if text in ("-t", "--target", "--prefix", "-p", "--python") and number + 1 < len(words):
            return classify(words[number + 1], site, container)
        if text.startswith(("--target=", "--prefix=", "--python=")):
            return classify(cut(field, text.index("=") + 1, len(text)), site, container)
        if text == "--user":
            return Location(SHARED, "the home folder") if container is None else Location(UNKNOWN)
    for invocation in commands_before(job, command):
        field = invocation.argv[1] if invocation.name in ("source", ".") and len(invocation.argv) > 1 else ()
        if shown_text(field).endswith("/bin/activate"):
            return classify(cut(field, 0, len(shown_text(field)) - len("/bin/activate")), site, container)
        if has_trait(invocation.name, "conda") and container is None and len(invocation.argv) == 3:
            if text_of(invocation.argv[1]) == "activate":
                named = "/" not in shown_text(invocation.argv[2])
                return Location(SHARED, "conda's environment") if named else classify(invocation.argv[2], site)
    return Location(UNKNOWN)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun bash -c "cd /lustre/project && «uv sync» && uv run --no-sync python train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --nodes=1 --ntasks=1 uv sync
        srun «uv run» python train.py
        """,
        fixed={"python": "--no-sync python"},
        title="uv run syncs as well",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        srun bash -c 'if [ $SLURM_LOCALID -eq 0 ]; then «uv sync»; else sleep 10; fi; uv run --no-sync ./train.py'
        """,
        severity="info",
        title="a sleep is not a barrier",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun --container-image=train.sqsh bash -c '«pip install» einops; torchrun --nnodes=4 train.py'
        """,
        severity="info",
        title="in each container again",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --nodes=1 --ntasks=1 uv sync
        srun uv run --no-sync python train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export UV_PROJECT_ENVIRONMENT=/tmp/venv-$SLURM_JOB_ID
        srun bash -c 'uv sync && uv run --no-sync torchrun --nnodes=2 train.py'
        """,
        title="an environment on each node's own disk",
    ),
]
