"""Centres whose ordinary queues give jobs whole nodes, where a script, or its name, says that it is for one of them.

This is the door for all that a centre decides: what is requested elsewhere (GPUs, CPUs) comes with the nodes there.

TACC (Frontera, Stampede, Lonestar, Longhorn, Maverick), SURF's former Cartesius and Lisa, and CSCS's Piz Daint, where
`--constraint=gpu` was the request, know no GRES of GPUs: a queue of GPU nodes gives all that is on them
(docs.tacc.utexas.edu/hpc/frontera, "Queues"). ARCHER2, OLCF, NERSC (Edison, Cori and Perlmutter, but for queues named
`shared`), JSC, Niagara, Shaheen, SuperMUC, Beskow, and some queues of LUMI, DKRZ, LLNL, SDSC, PSC and PDC give whole
nodes too, as their user guides say. On Frontier and on CSCS's Alps these come with all GPUs.
"""

import os

from sbatchlint.analysis.site.defaults import in_whole_nodes
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex, occurs

# Folders of TACC have the number of their owner: /work/01234/ada.
_GPUS_OF_NODE = Regex(
    r"\bibrun\b|/(?:work2?|scratch\d?|home\d?)/\d{5}/\w"
    r"|\$\{?STOCKYARD\b|/capstor/|/iopsstor/"
    r"|(?i:(?<![a-z])(?:tacc|stampede[23]?|frontera|lonestar[456]|ls6|longhorn|maverick2|cartesius|daint)(?![a-z]))"
    r"|(?i:(?<![a-z])(?:clariden|todi)(?![a-z]))"
)
# Of Frontera, Maverick2 and Vista, and of SURF's Lisa.
_GPU_QUEUES = frozenset({"rtx", "rtx-dev", "gtx", "gpu_titanrtx", "gpu_titanrtx_short", "gh", "gh-dev"})
# Of these, names that only that centre has.
_OWN_GPU_QUEUES = frozenset({"rtx-dev", "gh-dev", "gpu_titanrtx", "gpu_titanrtx_short"})
_WHOLE_NODES = Regex(
    r"/lustre/orion/|/gpfs/alpine/|/ccs/(?:home|proj)/|\bccs\.ornl\.gov\b|\bOLCF\b"
    r"|/global/(?:cscratch1?|homes|cfs|common/software|project)/|/project/projectdirs/|\bnersc\.gov\b|\bNERSC\b"
    r"|\$\{?PSCRATCH\b|/p/(?:project|scratch|home/jusers)[\w/]|\bNiaEnv\b|/scinet/niagara"
    r"|\bSYSTEMNAME\b|(?<![a-z])jutil env\b"
    r"|(?i:(?<![a-z])(?:archer2|edison|juwels|jureca|jusuf|jedi|jsc|shaheen|supermuc|beskow|frontier)(?![a-z]))"
)
# Queues of whole nodes, and what names their centre: LUMI, DKRZ, SDSC, PSC, PDC.
_WHOLE_QUEUES = {
    "standard": Regex(r"\bproject_46\d{7}\b|(?i:(?<![a-z])lumi(?![a-z]))"),
    "compute": Regex(
        r"/(?:work|scratch)/(?:\w/)?[a-z]{1,2}\d{4,6}\b|/expanse/|/oasis/scratch/"
        r"|(?i:(?<![a-z])(?:levante|mistral|expanse|comet)(?![a-z]))"
    ),
    "compute2": Regex(r"/work/[a-z]{2}\d{4}\b|(?i:(?<![a-z])mistral(?![a-z]))"),
    "batch": Regex(r"(?i:(?<![a-z])(?:frontier|summit|crusher|andes)(?![a-z]))"),
    "main": Regex(r"/cfs/klemming/|(?i:(?<![a-z])(?:pdc|dardel)(?![a-z]))"),
}
# Queues that only such a centre has.
_OWN_QUEUES = frozenset(
    {"standard-g", "RM", "RM-512", "pbatch", "pdebug", "booster", "develbooster", "dc-gpu", "dc-cpu", "dc-gpu-devel"}
    | {"dc-cpu-devel", "develgpus", "skx", "skx-dev", "skx-normal", "icx", "icx-normal", "spr", "gg"}
)
_OF_CORI = frozenset({"haswell", "knl"})
# Of Perlmutter, where a constraint chooses between its two kinds of nodes.
_OF_PERLMUTTER = frozenset({"cpu", "gpu"})
_QOS_OF_NERSC = frozenset({"regular", "premium", "preempt", "overrun", "debug"})
_SHARED = Regex(r"(?i)(?<![a-z])(?:shared|small|serial|single|interactive|workshop|login|data|transfer|xfer)(?![a-z])")
# A partition that is named after what it gives: `v100_full_node`.
_WHOLE_BY_NAME = Regex(r"(?i)(?:full|whole|entire)[-_]?nodes?(?![a-z])|(?<![a-z])exclusive(?![a-z])")
# Of PSC's Bridges-2, Cambridge's CSD3 and Pawsey's Setonix, whose GPU partitions give each GPU its part of the cores.
_CPUS_WITH_GPUS = Regex(
    r"/ocean/projects/|(?i:(?<![a-z])(?:bridges-?2|csd3|wilkes-?[23]|setonix)(?!\d))"
    r"|/rds/rds-|\brhel[78]/default-(?:amp|gpu)\b"
)
# Of Alvis, Berzelius, Baskerville, Isambard-AI, HoreKa and NHR@FAU's clusters, where each GPU brings its part too.
_CORES_WITH_GPUS = Regex(
    r"/mimer/NOBACKUP/|/cephyr/|/proj/berzelius|/bask/|/(?:lus|projects)/(?:lfs1aip\d?|brics)\b|/hkfs/"
    r"|/home/(?:atuin|vault)/|\bnhr\.fau\.de\b"
    r"|(?i:(?<![a-z])(?:alvis|c3se|berzelius|baskerville|isambard-?ai|horeka|tinygpu)(?![a-z]))"
)
# What a centre's own template says beside the request for GPUs.
_CPUS_OF_GPU = Regex(
    r"(?i)\b(?:cpus?|cores?)\b[^.\n]{0,30}\b(?:per|for (?:each|every)|with (?:each|every))[ -]gpus?\b"
    r"|\b(?:half|whole|full|entire|quarter)\b[^.\n]{0,12}\bnode\b"
)
# A comment on nodes that jobs take whole.
_SAYS_WHOLE = Regex(r"(?im)^[ \t]*#(?!SBATCH)[^\n]*\b(?:whole|complete|full|entire)[ \t]+(?:compute[ \t]+)?nodes?\b")
_NEAR = 4  # lines
_WORDS = Regex(r"\w+")
_PARTS = ("cpus-per-task", "mem", "mem-per-cpu")


# Of OLCF, where each job has its nodes, with all their GPUs, for itself.
_OF_OLCF = Regex(r"/lustre/orion/|/ccs/(?:home|proj)/|\bccs\.ornl\.gov\b|\bOLCF\b")
_OF_CRAY, _FRONTIER = Regex(r"craype-accel-amd-gfx90a"), Regex(r"(?i)frontier")
_OF_NERSC = Regex(
    r"/global/(?:cscratch1?|homes|cfs|common/software)/|\bnersc\.gov\b|\bNERSC\b|\$\{?PSCRATCH\b|(?i:\bperlmutter\b)"
)
# Of IDRIS, where accounts and queues name the kind of nodes: `abc@cpu`, `qos_gpu-t3`.
_ACCOUNT_OF_IDRIS = Regex(r"\w+@(?:cpu|v100|a100|h100|gpu)")
_QOS_OF_IDRIS = Regex(r"qos_(?:cpu|gpu)(?:_\w+)?-(?:dev|t[1-4])")
# Of IDRIS, and of TACC, whose folders have the number of their owner.
_MEMORY_OF_NODES = Regex(
    r"\bibrun\b|/(?:work2?|scratch\d?|home\d?)/\d{5}/\w|\$\{?STOCKYARD\b|/gpfs(?:scratch|work|store|dswork)/"
    r"|\bidris\.fr\b|(?i:(?<![a-z])(?:tacc|stampede[23]?|frontera|jean[-_ ]?zay)(?![a-z]))"
)
# Of Princeton and Mila, whose own example jobs load a module of conda and then activate an environment.
_CONDA_BY_MODULE = Regex(
    r"\bprinceton\.edu\b|/scratch/gpfs/|/home/mila/\w|/network/(?:scratch|projects|tmp1)/\w/|\bmila\.quebec\b"
)
# Of CSD3, where the account names the kind of nodes.
_GPU_PARTITIONS_OF_CSD3 = frozenset({"ampere", "pascal"})
_GPU_ACCOUNT_OF_CSD3 = Regex(r"(?i).+-GPU")


def _names_olcf(text: str) -> bool:
    """Whether a script is for OLCF (Frontier): srun gets GPUs there that no directive requests."""
    return occurs(_OF_OLCF, text) or occurs(_OF_CRAY, text) and occurs(_FRONTIER, text)


@once
def gets_gpus_of_nodes(job: Job) -> bool:
    """Whether jobs get all GPUs of their nodes without a request, as the settings or the script's centre say."""
    if job.site.gpus is not None:
        return job.site.gpus == "whole-node"
    if any(occurs(_GPUS_OF_NODE, each) or _names_olcf(each) for each in _signs(job)):
        return True
    if job.request.partition in _OWN_GPU_QUEUES:
        return True
    return job.request.partition in _GPU_QUEUES and not job.request.has_any_option(_PARTS)


def _signs(job: Job) -> tuple[str, str]:
    """What may name a centre: the script, and its own name and folder (`stampede/train.slurm`)."""
    folder, name = os.path.split(os.path.abspath(job.source.path))
    return job.source.text, f"{os.path.basename(folder)} {name}"


@once
def defines_conda_by_module(job: Job) -> bool:
    """Whether the script is for a centre whose modules of conda and Python define the function `conda`."""
    return names_nersc(job) or occurs(_CONDA_BY_MODULE, job.source.text)


@once
def names_nersc(job: Job) -> bool:
    """Whether the script is for NERSC, by its folders or by what its directives choose there."""
    kinds = {each.lower() for each in (job.request.value("constraint") or "").split("&")}
    if not kinds.isdisjoint(_OF_CORI | _OF_PERLMUTTER) and job.request.value("qos") in _QOS_OF_NERSC:
        return True
    return occurs(_OF_NERSC, job.source.text)


@once
def gets_whole_nodes(job: Job) -> bool:
    """Whether the script is for a centre, or a partition of the profile, whose jobs get all CPUs of their nodes."""
    if in_whole_nodes(job):
        return True
    constraint = job.request.value("constraint") or ""
    queue = job.request.value("qos") or job.request.partition or ""
    if not _OF_CORI.isdisjoint(_WORDS.findall(constraint.lower())) and "shared" not in queue:
        return True
    if not _OF_PERLMUTTER.isdisjoint(constraint.lower().split("&")) and job.request.value("qos") in _QOS_OF_NERSC:
        return True
    if _WHOLE_BY_NAME.search(job.request.partition or "") is not None:
        return True
    if gets_gpus_of_nodes(job):
        return True
    queues = {job.request.value("qos") or "", job.request.partition or ""}
    if any(map(_SHARED.search, queues)):
        return False
    if not _OWN_QUEUES.isdisjoint(queues) or any(occurs(_WHOLE_NODES, each) for each in _signs(job)):
        return True
    return any(_WHOLE_QUEUES[each].search(sign) for each in queues & _WHOLE_QUEUES.keys() for sign in _signs(job))


@once
def gets_memory_of_nodes(job: Job) -> bool:
    """Whether the script is for a centre whose jobs get all memory of their whole nodes without a request.

    At IDRIS (Jean Zay), where `--mem` is disabled, memory goes with the CPUs.
    """
    queues = {job.request.value("qos") or "", job.request.partition or ""}
    if any(map(_SHARED.search, queues)):
        return False
    account = job.request.value("account") or ""
    if _ACCOUNT_OF_IDRIS.fullmatch(account) or any(map(_QOS_OF_IDRIS.fullmatch, queues)):
        return True
    if names_nersc(job):
        return True
    return any(occurs(sign, each) for sign in (_MEMORY_OF_NODES, _WHOLE_NODES) for each in _signs(job))


@once
def takes_whole_nodes(job: Job) -> bool:
    """Whether a job has its nodes to itself: by `--exclusive`, its centre, or a comment on them."""
    if job.request.exclusive == "" or gets_whole_nodes(job):
        return True
    return _SAYS_WHOLE.search(job.source.text) is not None


@once
def gets_cpus_with_gpus(job: Job) -> bool:
    """Whether each GPU of a job brings CPUs, as the script's centre does it, or as a comment at the request says."""
    text = job.source.text
    if gets_whole_nodes(job) or occurs(_CPUS_WITH_GPUS, text) or occurs(_CORES_WITH_GPUS, text):
        return True
    account = job.request.value("account") or ""
    if job.request.partition in _GPU_PARTITIONS_OF_CSD3 and _GPU_ACCOUNT_OF_CSD3.fullmatch(account):
        return True
    lines = text.split("\n")
    for setting in job.request.gpu_settings():
        row = job.line(setting.span.start)
        near = lines[max(row - 1 - _NEAR, 0) : row + _NEAR]
        if any(each.lstrip()[:1] == "#" and _CPUS_OF_GPU.search(each.partition("#")[2]) for each in near):
            return True
    return False
