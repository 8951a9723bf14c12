"""Masks: ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, which name AMD's GPUs by number, and go into containers.

Slurm sets ROCR_VISIBLE_DEVICES for a step. In a container that holds only the job's GPUs these count from 0; whether
the mask does so too depends on the site (gres.conf, ConstrainDevices), which no script tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.values import shown_text

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step

MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# AMD's nodes of several GPUs have so many.
_NODE = 8


class Mask(NamedTuple):
    """A step whose container gets the mask of its host. `gpus`: those of the job on a node."""

    step: Step
    name: str
    gpus: int


def handed_masks(job: Job) -> Iterator[Mask]:
    """Each srun that starts a container of pyxis on a part of a node's AMD GPUs, and leaves the mask as it is."""
    request = job.request
    gpus = request.gpus_per_node()
    if gpus is None or not 0 < gpus < (job.site.gpus_per_node or _NODE) or request.exclusive is not None:
        return
    seen = set()
    for step in job.steps:
        container = step.container
        if container is None or container.kind != "pyxis" or container.image is None or step.span in seen:
            continue
        if job.site.gpu_vendor != "amd" and "rocm" not in shown_text(container.image).lower():
            continue
        export = step.option("export")
        if export is not None and (export.text or "").partition(",")[0] != "ALL":
            continue
        if not any(name in step.invocation.state.variables for name in MASKS):
            seen.add(step.span)
            yield Mask(step, MASKS[0], gpus)
