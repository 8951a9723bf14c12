"""Slurm's programs, and `module`, inside containers, whose images hardly ever have them."""

import re

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Mounted paths that bring Slurm into a container.
_BRINGS = Regex(r"slurm|munge|^(?:/host)?(?:/usr)?(?:/(?:local|s?bin))?/?$")
_BINDINGS = Regex(r"bindings|singularity|apptainer|lumi", re.IGNORECASE)
_LOOKING = frozenset({"command", "type", "which", "hash"})


def provides_slurm(container: Container) -> bool:
    """Whether a container may have Slurm: it is mounted, or the image's name says so."""
    for mount in container.mounts:
        if any(_BRINGS.search(shown_text(path)) for path in (mount.source, mount.target) if path):
            return True
    image = container.image or container.name
    return image is not None and "slurm" in shown_text(image).lower()


def site_binds_slurm(job: Job) -> bool:
    """Whether a module may bind Slurm into apptainer's containers, as LUMI's singularity-bindings does."""
    loaded = (word for each in job.invocations if has_trait(each.name, "module") for word in each.words[1:])
    return any(_BINDINGS.search(word) for word in loaded)


def is_tested_for(job: Job, command: Invocation) -> bool:
    """Whether the script tests whether a command's program exists."""
    return any(each.name in _LOOKING and command.name in each.words[1:] for each in job.invocations)
