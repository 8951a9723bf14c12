"""Occasions: what a script must have for a check to have anything to say. Cheap to tell, and asked before it is loaded.

A check names its occasion on its card (`when`); one without a name is always asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sbatchlint.bash.values import known_prefix
from sbatchlint.job.commands.argv import basename
from sbatchlint.job.containers import is_pyxis_option
from sbatchlint.slurm.options import find
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.job import Job

# The beginning of Slurm's variables, and how it is misspelled.
_SLURM_NAMES = ("SLURM", "SLRUM_", "SLUM_", "SULRM_", "SLRM_", "SLUMR_", "SLURN_")
# What the options and commands that enter a container are called.
_CONTAINERS = (
    "container-",
    "PYXIS_",
    "apptainer",
    "singularity",
    "docker",
    "podman",
    "nerdctl",
    "shifter",
    "enroot",
    "ch-run",
)
_SIZES = Regex(r"parallel[_-]size|batch[_-]size|megatron|run_recipe")
_COMPILED = Regex(
    r"(?:TRITON_(?:CACHE_DIR|HOME)|TORCH(?:INDUCTOR_CACHE|_EXTENSIONS)_DIR|MIOPEN_|NUMBA_CACHE|CUDA_CACHE|XDG_CACHE)"
)
_OLD_CACHE = Regex(r"TRANSFORMERS_CACHE|PYTORCH_PRETRAINED_BERT_CACHE|HUGGINGFACE_(?:HUB|ASSETS)_CACHE")
# How a path may begin that is one node's own, and what brings containers, whose paths are theirs.
_LOCAL = Regex(
    r"/tmp|/dev/shm|/local|/raid|/l?scratch|/nvme|/ssd|/mnt/|TMP|TEMP\b|LOCAL|RUNTIME_DIR|SCRATCH|mktemp|/root"
    r"|--container-|docker|podman|enroot"
)
_UV = Regex(r"\buv\b")
_INSTALL = Regex(r"\buv\b|\bpip3?(?:\.\d+)?\s")
# What the names of variables that hold a secret end in (`sbatchlint.analysis.storage.secrets` knows them exactly).
_SECRETS = ("TOKEN ", "KEY ", "SECRET", "PASS", "CREDENTIAL", "JWT", "_PAT ", "PW ")

# Programs, and packages of modules, that start others.
_LAUNCHERS = frozenset({"accelerate", "composer", "deepspeed", "mpiexec", "mpirun", "torch", "torchrun", "python"})


def _asks(job: Job, *names: str) -> bool:
    return any(each.name in names for each in job.directives.settings)


def _in_directives(job: Job, signs: str) -> bool:
    string = job.directives.text.string
    return any(sign in string[line.words_start : line.end] for line in job.directives.lines for sign in signs)


def _has_rare_option(job: Job) -> bool:
    """Whether not every release may take all options, and their values, of the job and its steps."""
    if job.directives.problems or job.directives.refused or job.directives.components > 1:
        return True
    return any(step.problems or step.has_rare_options or "cpu-bind" in step.options for step in job.steps)


def _has_late_option(job: Job) -> bool:
    """Whether something behind the command of a step looks like an option of srun."""
    for step in job.steps:
        argv = step.invocation.argv
        for at in range(len(argv) if step.command is None else step.command + 1, len(argv)):
            prefix = known_prefix(argv[at])
            if prefix[:1] != "-":
                continue
            name = prefix[2:].partition("=")[0]
            if prefix[:2] == "--" and (is_pyxis_option(name) or find(name, "srun") is not None):
                return True
            # the word behind a shell's string
            if "c" in (known_prefix(argv[at - 2]) if known_prefix(argv[at - 2])[:1] == "-" else ""):
                return True
    return False


def _may_nest(job: Job) -> bool:
    """Whether an srun stands in another, or a launcher in a place where another one starts it several times."""
    for launch in job.launches:
        launcher = launch.launcher
        program = None if launcher.program is None else basename(launcher.argv[launcher.program])
        name = (program or "").partition(".")[0]
        if launcher.kind in ("mpi", "horovod", "torchpack") or name in _LAUNCHERS:
            return True
    return sum(each.name == "srun" for each in job.invocations) > len(job.steps)


def _has_uncounted_tasks(job: Job) -> bool:
    """Whether a step only says how many CPUs a task has, and the job has more, or may have."""
    if not job.steps or _asks(job, "ntasks", "ntasks-per-node"):
        return False
    whole_nodes = _asks(job, "exclusive") and _asks(job, "cpus-per-task")
    return any("ntasks" not in each.options and (whole_nodes or "cpus-per-task" in each.options) for each in job.steps)


def _has_secret(job: Job) -> bool:
    """Whether a variable of the script has a name like that of a secret."""
    names = " ".join({each.name for each in job.trace.reads} | {each.name for each in job.assigned}).upper() + " "
    return any(word in names for word in _SECRETS)


def _has_dollar(job: Job) -> bool:
    return "$" in job.source.text or "`" in job.source.text


def _has_several_nodes(job: Job) -> bool:
    """Whether the job may have more than one node, and runs something that spreads over them."""
    from sbatchlint.job.steps import job_nodes

    nodes = job_nodes(job.request)
    if nodes is None or nodes < 2:
        return False
    return any(word in job.source.text for word in ("python", "litgpt")) or bool(job.launches)


OCCASIONS: Mapping[str, Callable[[Job], bool]] = {
    "cache for compiled code": lambda job: bool(job.steps) and _COMPILED.search(job.source.text) is not None,
    "cache with an old name": lambda job: _OLD_CACHE.search(job.source.text) is not None,
    "accelerate": lambda job: any(each.launcher.kind == "accelerate" for each in job.launches),
    "array": lambda job: bool(job.directives.refused) or _asks(job, "array"),
    "assignment": lambda job: bool(job.assigned or job.trace.reads),
    "carriage return": lambda job: "\r" in job.source.text,
    "collective step": lambda job: (
        any(step.several_nodes for step in job.steps) and bool(job.launches or "python" in job.source.text)
    ),
    "comment": lambda job: job.directives.has_comments,
    "comment in a directive": lambda job: any(line.comment is not None for line in job.directives.lines),
    "conflict": lambda job: bool(job.conflicts()),
    "container": lambda job: any(word in job.source.text for word in _CONTAINERS),
    "continuation": lambda job: _in_directives(job, "\\"),
    "count": lambda job: bool(job.directives.refused) or _asks(job, "nodelist"),
    "cut command": lambda job: job.may_break_commands,
    "deepspeed": lambda job: "deepspeed" in job.source.text and bool(job.launches),
    "CUDA connections": lambda job: (
        "CUDA_DEVICE_MAX_CONNECTIONS" in job.source.text or _SIZES.search(job.source.text) is not None
    ),
    "devices": lambda job: bool(job.request.asks_for_gpus) and "_DEVICES" in job.source.text,
    "dependency": lambda job: bool(job.directives.refused) or _asks(job, "dependency"),
    "container in a directive": lambda job: _asks(job, "container-image", "container-name"),
    "docker": lambda job: any(word in job.source.text for word in ("docker", "podman")),
    "dollar": _has_dollar,
    "equals": lambda job: any(line.tokens for line in job.directives.lines) and _in_directives(job, "="),
    "expansion in a directive": lambda job: _in_directives(job, "$`~"),
    "foreign directive": lambda job: job.directives.foreign is not None,
    "heredoc": lambda job: "<<" in job.source.text,
    "invisible character": lambda job: not job.directives.text.whole.isascii() or "\0" in job.directives.text.whole,
    "late option": _has_late_option,
    "launch": lambda job: bool(job.launches),
    "meeting": lambda job: bool(job.launches or job.steps and "MASTER_ADDR" in job.source.text),
    "launch or Python": lambda job: bool(job.launches or job.steps and "python" in job.source.text),
    "install in a job with steps": lambda job: bool(job.steps) and _INSTALL.search(job.source.text) is not None,
    "Megatron's own script": lambda job: "pretrain_" in job.source.text,
    "local path": lambda job: bool(job.site.local_paths) or _LOCAL.search(job.source.text) is not None,
    "mail": lambda job: _asks(job, "mail-type", "mail-user"),
    "memory": lambda job: _asks(job, "mem", "mem-per-cpu", "mem-per-gpu"),
    "MPI": lambda job: (
        any(each.launcher.kind == "mpi" for each in job.launches) or any("mpi" in each.options for each in job.steps)
    ),
    "nested": _may_nest,
    "no first line": lambda job: not job.directives.text.string.startswith("#!"),
    "no GPUs": lambda job: job.request.asks_for_gpus is False,
    "pyxis": lambda job: bool(job.steps) and ("container-" in job.source.text or "PYXIS_" in job.source.text),
    "parallel sizes": lambda job: _SIZES.search(job.source.text) is not None,
    "old launcher": lambda job: "torch.distributed.launch" in {each.launcher.kind for each in job.launches},
    "plugin option": lambda job: bool(
        job.directives.problems or any(each.plugin is not None for each in job.directives.settings)
    ),
    "port": lambda job: bool(job.launches) or "MASTER_PORT" in job.source.text,
    "problem": lambda job: bool(job.directives.problems),
    "quotes": lambda job: job.source.text.count('"') > 2,
    "rare option": _has_rare_option,
    "refused": lambda job: bool(job.directives.refused),
    "repeat": lambda job: len({each.name for each in job.directives.settings}) < len(job.directives.settings),
    "rm": lambda job: any(each.name == "rm" for each in job.invocations),
    "secret": _has_secret,
    "several statements": lambda job: len(job.ran) > 1 or "|" in job.source.text,
    "sh": lambda job: job.interpreter_line[0] in ("sh", "dash"),
    "several nodes": _has_several_nodes,
    "short option": lambda job: job.directives.has_other_dashes,
    "spelling": lambda job: bool(
        job.directives.problems or any(each.written[2:] != each.name for each in job.directives.settings)
    ),
    "Slurm variable": lambda job: any(name in job.source.text for name in _SLURM_NAMES),
    "step": lambda job: bool(job.steps),
    "step and GPUs": lambda job: bool(job.steps) and bool(job.request.asks_for_gpus),
    "step and dollar": lambda job: bool(job.steps) and _has_dollar(job),
    "submission": lambda job: job.submission is not None,
    "submission option": lambda job: (
        any(each.option is not None and each.option.early for each in job.directives.settings)
        or _asks(job, "test-only", "uid", "gid", "wrap", "parsable", "wait")
    ),
    "syntax error": lambda job: bool(job.program.errors),
    "task count": lambda job: job.submission is not None or any(each is not None for each in job.counts()),
    "time": lambda job: _asks(job, "time", "time-min"),
    "torchrun beside uv": lambda job: "torchrun" in job.source.text and _UV.search(job.source.text) is not None,
    "typed GPUs": lambda job: any(":" in (each.value or "") for each in job.request.gpu_settings()),
    "unread": lambda job: bool(job.directives.unread),
    "uncounted tasks": _has_uncounted_tasks,
    "world size": lambda job: (
        bool(job.steps or job.launches)
        and "WORLD_SIZE=" in job.source.text
        or bool(job.launches)
        and "RANK=" in job.source.text
    ),
    "value": lambda job: bool(job.directives.refused or job.directives.problems) or job.directives.has_later_values,
}


def has_occasion(job: Job, name: str) -> bool:
    """Whether the script gives this occasion. Raises KeyError for a name that there is not."""
    return OCCASIONS[name](job)
