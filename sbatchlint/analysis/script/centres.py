"""Centres whose ordinary queues give jobs whole nodes, where a script says that it is for one of them.

TACC (Frontera, Stampede, Lonestar, Longhorn, Maverick) and SURF's former Cartesius and Lisa know no GRES of GPUs: a
queue of GPU nodes gives all that is on them (docs.tacc.utexas.edu/hpc/frontera, "Queues"). ARCHER2, OLCF, and the
Haswell and KNL nodes of NERSC's Cori gave whole nodes too.
"""

from functools import lru_cache

from sbatchlint.analysis.site.defaults import in_whole_nodes
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex

# Folders of TACC have the number of their owner: /work/01234/ada.
_GPUS_OF_NODE = Regex(
    r"\bTACC\b|\bibrun\b|/(?:work2?|scratch\d?|home\d?)/\d{5}/\w"
    r"|(?i:(?<![a-z])(?:stampede[23]?|frontera|lonestar[456]|longhorn|maverick2|cartesius)(?![a-z]))"
)
# Of Frontera and Maverick2, and of SURF's Lisa.
_GPU_QUEUES = frozenset({"rtx", "rtx-dev", "gtx", "gpu_titanrtx", "gpu_titanrtx_short"})
_WHOLE_NODES = Regex(
    r"/lustre/orion/|/gpfs/alpine/|/ccs/(?:home|proj)/|\bccs\.ornl\.gov\b|\bOLCF\b|(?i:(?<![a-z])archer2(?![a-z]))"
)
_OF_CORI = frozenset({"haswell", "knl"})
_WORDS = Regex(r"\w+")
_PARTS = ("cpus-per-task", "mem", "mem-per-cpu")


@once
def gets_gpus_of_nodes(job: Job) -> bool:
    """Whether jobs get all GPUs of their nodes without a request, as the settings or the script's centre say."""
    if job.site.gpus is not None:
        return job.site.gpus == "whole-node"
    if _names_a_centre(job.source.text):
        return True
    return job.request.partition in _GPU_QUEUES and not job.request.has_any_option(_PARTS)


@lru_cache(maxsize=4)
def _names_a_centre(text: str) -> bool:
    """Kept for the many jobs that one file may submit."""
    return _GPUS_OF_NODE.search(text) is not None


@once
def gets_whole_nodes(job: Job) -> bool:
    """Whether the script is for a centre, or a partition of the profile, whose jobs get all CPUs of their nodes."""
    if in_whole_nodes(job):
        return True
    constraint = job.request.value("constraint") or ""
    queue = job.request.value("qos") or job.request.partition or ""
    if not _OF_CORI.isdisjoint(_WORDS.findall(constraint.lower())) and "shared" not in queue:
        return True
    return gets_gpus_of_nodes(job) or _names_whole_nodes(job.source.text)


@lru_cache(maxsize=4)
def _names_whole_nodes(text: str) -> bool:
    return _WHOLE_NODES.search(text) is not None  # kept as above
