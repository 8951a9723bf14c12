"""Caches of compiled code: kernels and extensions that each node builds for itself, and writes while others read.

They are the opposite of the caches in `caches`: on storage that the nodes share their writers get in each other's way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.varying import of_job
from sbatchlint.analysis.storage.caches import CacheSetting, cache_settings
from sbatchlint.bash.values import Phase
from sbatchlint.job.paths import SHARED
from sbatchlint.source.edits import Edit

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step

_COMPILED = "its files vanish while another node reads them (`Stale file handle`, FileNotFoundError)"
_LOCKED = "its SQLite files are locked and damaged (`database is locked`)"
# What goes wrong where several nodes write into one folder, by variable: how bad it is, and what happens.
COMPILE_CACHES = {
    "TRITON_CACHE_DIR": ("warning", _COMPILED),
    "TRITON_HOME": ("warning", _COMPILED),
    "TORCHINDUCTOR_CACHE_DIR": ("warning", _COMPILED),
    "TORCH_EXTENSIONS_DIR": (
        "warning",
        "all wait for one lock file, which a job that was killed leaves there for good",
    ),
    "MIOPEN_USER_DB_PATH": ("warning", _LOCKED),
    "MIOPEN_CUSTOM_CACHE_DIR": ("warning", _LOCKED),
    "NUMBA_CACHE_DIR": ("warning", _COMPILED),
    "CUDA_CACHE_PATH": ("info", "each kernel is written by all of them, and network locks make that slow"),
    "XDG_CACHE_HOME": ("info", "compilers keep their results below it, and get in each other's way"),
}
# Variables that are the same in all tasks of a job.
_CONSTANT = frozenset({"HOME", "USER", "LOGNAME", "PWD", "SCRATCH", "WORK", "PROJECT", "SLURM_SUBMIT_DIR"})


class SharedCompileCache(NamedTuple):
    """A cache of compiled code that the tasks of a step have in common. `edits`: give each node one of its own."""

    step: Step
    setting: CacheSetting
    severity: str
    consequence: str
    edits: tuple[Edit, ...]


def shared_compile_caches(job: Job) -> Iterator[SharedCompileCache]:
    """Each such setting once, with the first step that uses it."""
    seen = set()
    for step in job.steps:
        names = [
            name
            for name in COMPILE_CACHES
            if name in job.source.text and (step.several_nodes or name[:6] == "MIOPEN" and step.geometry.several)
        ]
        for each in cache_settings(step, job.site, names) if names else ():
            if each.location.kind != SHARED or each.span in seen or _differs(each):
                continue
            seen.add(each.span)
            severity, consequence = COMPILE_CACHES[each.name]
            yield SharedCompileCache(step, each, severity, consequence, _edits(job, each))


def _differs(setting: CacheSetting) -> bool:
    """Whether nodes or tasks have folders of their own, or are meant to, or nobody knows."""
    if setting.location.per_node or setting.location.per_task:
        return True
    found = [piece.expansion for piece in setting.value if piece.expansion is not None and piece.text is None]
    return any(each.phase is Phase.TASK and each.name not in _CONSTANT and not of_job(each) for each in found)


def _edits(job: Job, setting: CacheSetting) -> tuple[Edit, ...]:
    text, span = job.source.text, setting.span
    written = text[span.start : span.end]
    quote = text[span.start - 1 : span.start]
    if quote == "'" or not re.fullmatch(r"[\w./${}-]+", written):
        return ()
    kind = setting.name.partition("_")[0].lower()
    kind = {"torch": "torch-extensions", "xdg": "cache"}.get(kind, kind)
    return (Edit(span, f"/tmp/{kind}-$USER-$SLURM_JOB_ID"),)
