"""conda is not found: the script looks for it in the environment that was active at submission.

CONDA_PREFIX is the prefix of the active environment, not that of conda: only the base environment has
`etc/profile.d/conda.sh`. A job inherits the variable of the submitting shell. With another environment active there, or
none, the file is not found, `conda activate` fails, and the job goes on with the system's Python, or ends there under
`set -u` or `set -e`. Nothing is reported after the start files of a shell, which may activate the base environment.

## Fix

Writes `$(conda info --base)` instead. Unsafe: it needs conda in PATH. The path of the installation works as well.

## References

conda's documentation, "Managing environments": CONDA_PREFIX is the active environment.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.activations import sources_startup_file
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
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


def check(job: Job) -> Iterator[Finding]:
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
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        source $(conda info --base)/etc/profile.d/conda.sh
        conda activate train
        srun python train.py
        """,
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
