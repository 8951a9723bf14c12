"""Variables are empty in the container: nothing passes them into it.

docker and podman start with the image's environment, and add only the variables that `-e` names. In `docker run IMAGE
bash -c 'torchrun --node_rank=$SLURM_NODEID …'` the variable is empty, torchrun stops with an argument error, and a
program that takes its rank from Slurm runs as many times as there are tasks, each alone. apptainer and singularity pass
the environment on, unless `--cleanenv` or `--containall` is set.

An error where a shell in the container expands such a variable, or a launcher reads its settings from it. A warning
where it is only printed, where the program that MASTER_ADDR and the like are exported for cannot be read, and for
exported settings of libraries (NCCL_DEBUG) where all programs run in such containers.

## Fix

Adds `-e NAME` for each of them: docker takes the value from its own environment. Safe: the container gets what it
reads, and nothing else. None for variables that are not exported, under sudo (which drops them before docker sees
them), and for apptainer, where `--env` needs the value.

## References

docker run manual, --env; runs of podman 4.3: `-e NAME`, `-e 'SLURM_*'` and `--env-host` pass them, nothing else does
(but for PATH, TERM, HOME, HOSTNAME, `container` and the variables of a proxy); apptainer exec manual, --cleanenv,
--containall and --env.
"""

from collections.abc import Iterable, Iterator

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts, runs_script
from sbatchlint.analysis.expansion.reads import DEFAULTS, use_of
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.launch.rank_signs import rank_sign
from sbatchlint.bash.trace import Invocation, VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.launchers import python_of
from sbatchlint.job.once import once
from sbatchlint.job.steps import enclosing_commands
from sbatchlint.slurm.environment import find
from sbatchlint.source.numbers import listed
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB508", "container-env-not-passed", severity="error", fix="sometimes", since="0.1.0",
    when=Containers("docker", "podman", "apptainer"), seen="runs of podman 4.3; apptainer exec manual, --cleanenv",
)  # fmt: skip

# Prefixes of variables that apptainer passes into the container under the rest of the name.
PASSED_PREFIXES = ("APPTAINERENV_", "SINGULARITYENV_")
# Masks of devices, which Slurm sets for jobs with GPUs.
DEVICES = frozenset({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
# Variables that programs read to get their rank from Slurm.
RANKS = ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID")
RENDEZVOUS = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"})
# Settings that libraries read themselves, and names of paths on the host, which mean nothing in a container.
SETTINGS = Regex(r"(?:NCCL|UCX|GLOO|TORCH|PYTORCH|CUDA|NVTE|HF|WANDB|HSA|RCCL|MIOPEN|TOKENIZERS|TRITON|OMP)_[A-Z0-9_]+")
PATHS = Regex(r".*_(?:HOME|PATH|ROOT|DIR|CACHE)|CUDA_VISIBLE_DEVICES")
# Variables that images define themselves: a program in the container does not mean the host's value.
OF_IMAGES = Regex(
    r"(?:LD_LIBRARY_|LIBRARY_|PYTHON|MAN|CPATH|CMAKE_PREFIX_|PKG_CONFIG_|GO|NODE_)?PATH|\w+_VERSION|LANG|LC_\w+|TZ|TMPDIR"
    r"|(?:CUDA|ROCM|CONDA|JAVA|VIRTUAL|NVIDIA)_\w+|DEBIAN_FRONTEND"
)


def check(job: Job) -> Iterator[Finding]:
    starts = container_starts(job)
    dropping = [ways for ways in starts if all(map(_drops_environment, ways))]
    yield from filter(None, (_lost_variables(job, ways) for ways in dropping))
    if dropping and len(dropping) == len(starts) and not _runs_outside(job, dropping):
        yield from filter(None, (_lost_settings(job, ways) for ways in dropping))


# --- variables that a program reads ------------------------------------------------------------------


class Lost:
    """The variables lost in one of the ways in which a container may be started.

    `reads`: by name, the places where a shell in the container expands it. `wanted`: names that programs read
    themselves. `harmful`: names without which the program fails. `ranks`: a program reads its rank from Slurm's
    variables.
    """

    def __init__(self, job: Job, start: ContainerStart) -> None:
        self.reads: dict[str, list[Span]] = {}
        self.wanted: dict[str, None] = {}
        self.harmful: set[str] = set()
        self.ranks = False
        self._of_shells(job, start)
        self._of_programs(job, start)

    def _of_shells(self, job: Job, start: ContainerStart) -> None:
        inside = _reads_inside(job).get(id(start.invocation), [])
        prepared = {each.name for each in inside if each.operator in DEFAULTS or use_of(job, each).kind == "guard"}
        sourced = any(start.invocation in each.ancestors() for each in unclear_sources(job)) if inside else False
        for read in inside:
            if read.variable is not None or read.name in prepared or _gets(start, read.name) is not False:
                continue
            if not _is_set_outside(job, start, read.name) or sourced and not read.name.startswith("SLURM_"):
                continue
            shells = _shells(read)
            if any(read.name in each.state.variables for each in shells[: shells.index(start.invocation)]):
                continue
            self.reads.setdefault(read.name, []).append(read.span)
            if use_of(job, read).kind != "print":
                self.harmful.add(read.name)

    def _of_programs(self, job: Job, start: ContainerStart) -> None:
        """Adds what launchers and programs in the container read from the environment and the script exports."""
        variables = start.invocation.state.variables
        own = {name for name, each in variables.items() if each.exported and each.alternatives}
        several = start.step is not None and (start.step.geometry.several or start.step.several_nodes)
        launchers = {id(each.invocation): each.launcher for each in start.launches}
        for command in start.program:
            wanted: list[str] = []
            certain = True
            launcher = launchers.get(id(command))
            python = python_of(command)
            sign = rank_sign(job, command) if several and python is not None else None
            if launcher is not None:
                wanted += [name for name in launcher.variables.values() if name in own]
                if launcher.is_a("by-variables"):
                    wanted += [name for name in ("NPROC_PER_NODE", "NNODES", "NODE_RANK", "MASTER_ADDR") if name in own]
            elif sign is not None and sign.kind in ("slurm-launcher", "lightning"):
                wanted += RANKS
                self.ranks = self.ranks or _gets(start, "SLURM_PROCID") is False
            elif several and (runs_script(command) if python is None else python.kind in ("script", "module")):
                wanted += sorted(own & RENDEZVOUS)
                certain = not RENDEZVOUS.isdisjoint(start.container.passed)
            for name in wanted:
                set_inside = name in command.state.variables or name in dict(command.variables)
                if not set_inside and _gets(start, name) is False:
                    self.wanted[name] = None
                    if certain:
                        self.harmful.add(name)


def _lost_variables(job: Job, ways: list[ContainerStart]) -> Finding | None:
    """The finding for variables that a container lacks in every way in which it may be started."""
    losses = [Lost(job, each) for each in ways]
    start, lost = ways[0], losses[0]
    names = [name for name in lost.reads if all(name in each.reads for each in losses)]
    names += [name for name in lost.wanted if name not in names and all(name in each.wanted for each in losses)]
    if not names:
        return None
    variables = start.invocation.state.variables
    unexported = [
        name for name in names if (own := variables.get(name)) is not None and own.alternatives and not own.exported
    ]
    cleaned, by_sudo = _cleaning(start), _runs_under_sudo(start)
    reads = sorted({span for name in names for span in lost.reads.get(name, ())})
    if cleaned is not None:
        cause, advice = f"`{cleaned}` drops the environment", "remove it, or pass them with `--env`"
    elif by_sudo and any(name in start.container.passed for name in names):
        cause = "sudo drops the environment"
        advice = f"write `sudo --preserve-env={','.join(names)}`"
    else:
        cause, advice = f"{start.engine} does not pass on the job's variables", f"add {_flags(names)}"
    if unexported and cleaned is None:
        advice = f'write `-e {unexported[0]}="${unexported[0]}"` (it is not exported)'
    where = f" (line {job.line(reads[0].start)})" if reads else ""
    effect = f"{listed(names, 4)}{where} {'is' if len(names) == 1 else 'are'} empty in the container"
    if lost.ranks:
        effect = "each task in the container runs as if it were alone"
    added = None if cleaned or unexported or by_sudo else start.added(" ".join(f"-e {name}" for name in names))
    return Finding(
        start.place,
        f"{cause}, so {effect}; {advice}",
        "warning" if lost.harmful.isdisjoint(names) else "error",
        related=[(span, "read in the container") for span in reads[:3]],
        fix=None if added is None else Fix("pass them on", [added], safe=True),
    )


def _drops_environment(start: ContainerStart) -> bool:
    container = start.container
    if container.kind in ("docker", "podman"):
        return start.verb in ("run", "shared-run") and start.is_certain and not container.inherits
    instance = shown_text(container.image or ()).startswith("instance:")
    return container.kind == "apptainer" and _cleaning(start) is not None and start.is_certain and not instance


def _cleaning(start: ContainerStart) -> str | None:
    """The option or variable that makes apptainer drop the environment; None where nothing does."""
    if start.container.kind != "apptainer" or start.container.inherits:
        return None
    option = start.cleaning
    if option is None:
        return "APPTAINER_CLEANENV"
    return start.job.source.slice(option.span) if option.span.end - option.span.start < 16 else f"--{option.name}"


def _runs_under_sudo(start: ContainerStart) -> bool:
    """Whether sudo drops the environment before it reaches the engine."""
    for command in enclosing_commands(start.invocation):
        if command.spawn.kind == "sudo":
            kept = any(word.startswith(("-E", "--preserve-env")) for word in command.words)
            return command.spawn.cleared and not kept
    return False


def _gets(start: ContainerStart, name: str) -> bool | None:
    """Whether the program in the container gets a variable of the host; None where that is not known."""
    container = start.container
    if container.option("env-file", "env-merge", "env-host") is not None:
        return None
    beginnings = tuple(each[:-1] for each in container.passed if each.endswith("*"))
    if name in container.passed or name.startswith(beginnings):
        return container.passed.get(name) is not None or not _runs_under_sudo(start)
    if container.kind == "apptainer":
        if any(prefix + name in start.invocation.state.variables for prefix in PASSED_PREFIXES):
            return True
        # `export SINGULARITYENV_$name=…`
        return None if any(f"{prefix}$" in start.job.source.text for prefix in PASSED_PREFIXES) else False
    return container.passes(name)


@once
def _reads_inside(job: Job) -> dict[int, list[VariableRead]]:
    """The variables that are read in the programs of each command (by its id), in order."""
    found: dict[int, list[VariableRead]] = {}
    for read in job.trace.reads:
        for shell in _shells(read):
            found.setdefault(id(shell), []).append(read)
    return found


def _shells(read: VariableRead) -> list[Invocation]:
    """The commands in whose programs a variable is read, the innermost first."""
    parent = read.context.parent
    return [] if parent is None else [parent, *parent.ancestors()]


def _is_set_outside(job: Job, start: ContainerStart, name: str) -> bool:
    """Whether the command that starts the container has the variable, as far as the script and Slurm show."""
    if name in DEVICES:
        return job.request.asks_for_gpus is True
    if name in ENVIRONMENT_NAMES or OF_IMAGES.fullmatch(name):
        return False
    variable = start.invocation.state.variables.get(name)
    if variable is not None:
        return bool(variable.alternatives) and all(way.fields is not None for way in variable.alternatives)
    entry = find(name)
    if entry is None or job.phase is not Phase.BATCH:
        return False
    return bool(entry.batch) or start.step is not None and bool(entry.task)


def _flags(names: list[str]) -> str:
    return "`" + " ".join(f"-e {name}" for name in names[:3]) + ("` …" if len(names) > 3 else "`")


# --- settings of libraries ---------------------------------------------------------------------------


@once
def _settings(job: Job) -> list[VariableAssignment]:
    """The settings of libraries that the batch script exports, in order."""
    exported = [each for each in job.assignments if each.exported and each.context.parent is None]
    return [each for each in exported if SETTINGS.fullmatch(each.name) and not PATHS.fullmatch(each.name)]


def _lost_settings(job: Job, ways: list[ContainerStart]) -> Finding | None:
    """The finding for library settings that the script exports, but no program gets because all run in containers."""
    start = ways[0]
    works = start.launches or any(python_of(each) is not None for each in start.program)
    if start.container.kind == "apptainer" or not works:
        return None
    places: dict[str, Span] = {}
    for setting in _settings(job):
        if setting.order > start.invocation.index:
            break
        if all(_gets(way, setting.name) is False for way in ways):
            if not any(setting.name in command.state.variables for command in start.program):
                places[setting.name] = setting.name_span
    if not places:
        return None
    names, spans = list(places), list(places.values())
    added = None if _runs_under_sudo(start) else start.added(" ".join(f"-e {name}" for name in names))
    return Finding(
        start.place,
        f"{start.engine} does not pass on the job's variables, so {listed(names, 4)} (line "
        f"{job.line(spans[0].start)}) {'does' if len(names) == 1 else 'do'} not reach the container; add "
        f"{_flags(names)}",
        "warning",
        related=[(span, "exported here") for span in spans[:3]],
        fix=None if added is None else Fix("pass them on", [added], safe=True),
    )


def _runs_outside(job: Job, dropping: Iterable[list[ContainerStart]]) -> bool:
    """Whether programs that may read the settings run outside these containers."""
    starts = [way for ways in dropping for way in ways]
    inside = {id(each) for way in starts for each in way.program}
    steps = {id(way.step) for way in starts}
    if any(id(each) not in steps for each in job.steps):
        return True
    if any(id(each.invocation) not in inside for each in job.launches):
        return True
    return any(id(each) not in inside and python_of(each) is not None for each in job.invocations)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        cat > train.sh <<'EOF'
        torchrun --nnodes $SLURM_NTASKS --node_rank $SLURM_PROCID --nproc_per_node 8 train.py
        EOF
        srun «docker run» --rm --gpus all -v $PWD:/work -w /work train:1 bash train.sh
        """,
        fixed={"--rm": "-e SLURM_NTASKS -e SLURM_PROCID --rm"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun «podman run» --rm -e SLURM_NODEID train:1 \\
            bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py'
        """,
        fixed={"--rm": "-e MASTER_ADDR --rm"},
        title="one is passed in, the other is not",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun «apptainer exec» --nv --cleanenv train.sif bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py'
        """,
        title="apptainer was told to drop them",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export NCCL_DEBUG=INFO
        «docker run» --rm --gpus all train:1 torchrun --nproc_per_node=8 train.py
        """,
        fixed={"--rm": "-e NCCL_DEBUG --rm"},
        severity="warning",
        title="a setting of a library",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun bash -c 'docker run --rm -e NODE_RANK=$SLURM_NODEID train:1 \\
            bash -c "torchrun --nnodes=2 --node_rank=\\$NODE_RANK train.py"'
        srun docker run --rm --env-file job.env train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun podman run --rm --env-host train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun apptainer exec train.sif bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        """,
        title="passed in, expanded by the host's shell, or an engine that passes all on",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun docker run --rm $DOCKER_ARGS train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        docker run --rm train:1 bash -c 'echo ${SLURM_JOB_ID:-none}; N=4; python train.py --workers $N --home $HOME'
        """,
        title="options that are not known, a default, and the container's own",
    ),
]
