"""conda is not found: the script looks for it in the environment that was active at submission.

CONDA_PREFIX is the prefix of the active environment, not that of conda: only the base environment has
`etc/profile.d/conda.sh`. A job inherits the variable of the submitting shell. With another environment active there, or
none, the file is not found, `conda activate` fails, and the job goes on with the system's Python, or ends there under
`set -u` or `set -e`. Nothing is reported after the start files of a shell, which may activate the base environment.

Anything else that is read from it before `conda activate` is another environment's as well:
`LD_LIBRARY_PATH=$CONDA_PREFIX/lib` above `conda activate train` is `/lib`, or the folder of what was active at
submission.

## Fix

Writes `$(conda info --base)` instead. Unsafe: it needs conda in PATH. The path of the installation works as well. None
for what belongs below the activation.

## References

conda's documentation, "Managing environments": CONDA_PREFIX is the active environment.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assigned_names, guarded_names, use_of
from sbatchlint.analysis.script.activations import (
    calls_conda_function,
    may_define_conda_function,
    sources_activate,
    sources_startup_file,
)
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB617", "conda-prefix-of-submit-shell", severity="warning", fix="sometimes", since="0.1.0",
    when=Variables("CONDA_PREFIX"), seen="public scripts; conda's documentation", batch=True,
)  # fmt: skip

_INSTALLATION = Regex(r"/(?:etc/profile\.d/(?:conda|mamba)\.sh|bin/(?:activate|conda|mamba)|condabin/.*)")
_PROVIDER = Regex(r"(?i)conda|mamba|forge|python")
_WRITTEN = Regex(r"\$CONDA_PREFIX\b|\$\{CONDA_PREFIX\}")


# What only the base environment has.
_OF_BASE = Regex(r"\}?/(?:etc/profile\.d/|condabin/|envs/|pkgs/|bin/(?:activate|conda|mamba)\b)")


def check(job: Job) -> Iterator[Finding]:
    found = list(_of_installation(job))
    yield from found or _before_activation(job)


def _before_activation(job: Job) -> Iterator[Finding]:
    """The finding on the first read of CONDA_PREFIX before the script activates its environment."""
    setups = [each for each in job.invocations if sources_startup_file(each) or may_define_conda_function(each)]
    first = min((each.index for each in (*setups, *filter(_may_activate, job.invocations))), default=0)
    activates = next((each for each in job.invocations[first:] if _activates(each)), None)
    if activates is None or activates.index != first or "CONDA_PREFIX" in guarded_names(job) | assigned_names(job):
        return
    early = []
    for read in job.trace.reads:
        if read.name != "CONDA_PREFIX" or read.order > first or read.operator or read.context.phase is not Phase.BATCH:
            continue
        if read.span.start < activates.span.start and not _OF_BASE.match(job.source.text, read.span.end):
            use = use_of(job, read)
            sourced = use.command is not None and use.command.name in ("source", ".")
            if use.kind not in ("print", "test", "guard") and not sourced:
                early.append(read.span)
    for place in early[:1]:
        yield Finding(
            place,
            "CONDA_PREFIX is empty here, or another environment's, as line "
            f"{job.line(activates.span.start)} activates the environment only later; move this below that line",
            related=[(activates.span, "activated here"), *((each, "also") for each in early[1:4] if each != place)],
        )


def _activates(command: Invocation) -> bool:
    """Whether the batch shell activates an environment of conda's in any case."""
    conda = calls_conda_function(command) and command.words[1] == "activate" or sources_activate(command)
    return conda and command.phase is Phase.BATCH and not command.context.conditional


def _of_installation(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        if command.name not in ("source", "."):
            if _may_activate(command):
                return
            continue
        if sources_startup_file(command):
            return
        if len(command.argv) < 2 or not command.argv[1]:
            continue
        first = command.argv[1][0]
        if first.expansion is None or first.expansion.name != "CONDA_PREFIX" or first.text is not None:
            continue
        rest = shown_text(command.argv[1][1:])
        if not _INSTALLATION.fullmatch(rest) or "CONDA_PREFIX" in command.state.variables:
            continue
        place = first.expansion.span
        fix = None
        if _WRITTEN.fullmatch(job.source.slice(place)):
            fix = Fix("ask conda for its folder", [replace(place, "$(conda info --base)")], safe=False)
        yield Finding(
            place,
            "CONDA_PREFIX is the environment that was active at submission, but only base has this file; write "
            "`$(conda info --base)`",
            fix=fix,
        )
        return


def _may_activate(command: Invocation) -> bool:
    """Whether a command may set CONDA_PREFIX to the installation: an activation, or a module of conda's."""
    words = " ".join(command.words[1:])
    if has_trait(command.name, "conda"):
        return words.startswith("activate")
    if sources_activate(command):
        return True
    return has_trait(command.name, "module") and _PROVIDER.search(words) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        source «$CONDA_PREFIX»/etc/profile.d/conda.sh
        conda activate train
        srun python train.py
        """,
        unsafe_fixed={"$CONDA_PREFIX/etc/profile.d/conda.sh": "$(conda info --base)/etc/profile.d/conda.sh"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        source /opt/miniforge3/etc/profile.d/conda.sh
        export LD_LIBRARY_PATH=«$CONDA_PREFIX»/lib:$LD_LIBRARY_PATH
        conda activate train
        srun python train.py
        """,
        title="before the activation",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        source /opt/miniforge3/etc/profile.d/conda.sh
        conda activate train
        srun python train.py --env $CONDA_PREFIX
        """
    ),
]
