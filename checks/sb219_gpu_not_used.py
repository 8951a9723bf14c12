"""The job's GPUs stay idle: none of its programs uses one.

The GPUs are idle for the whole job, other jobs wait for them, and the work runs on a few CPUs. It happens when a script
is copied, and in PyTorch when the model is never moved to the GPU.

Reported where all programs of the job are next to the script and were read, with their own modules: nothing in them
mentions CUDA, a GPU or a device, and none of the packages that they import uses GPUs by itself. So is a job that loads
modules, activates an environment or installs packages, and starts nothing. A job that only copies, fetches
or packs files, or sleeps, is advice where it has one GPU, which its partition may demand.

## Fix

None: perhaps the request is wrong, perhaps the program.

## References

https://pytorch.org/docs/stable/notes/cuda.html; sbatch(1), --gpus
"""

import os.path
from collections.abc import Iterator

from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, gpu_signs
from sbatchlint.analysis.launch.serial_jobs import small_work
from sbatchlint.analysis.launch.serial_programs import SERIAL
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.work import UTILITIES, Weight, weight
from sbatchlint.bash.syntax.tree import Heredoc
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job import Phase
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.job.python.program import PythonProgram, python_program
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB219", "gpu-not-used", severity="warning", fix="never", since="0.1.0",
    when=Options("gpus", "gpus-per-node", "gpus-per-task", "gres"), batch=True, homogeneous=True,
    unseen="Nothing: the job runs on CPUs, and its GPUs stay idle.",
)  # fmt: skip

# Packages that find GPUs without an option.
_USING_GPUS = frozenset({"cupy", "numba", "xgboost", "lightgbm", "spacy", "timm", "gensim", "sklearn"})
# Modules of which a short text needs no GPU.
_PLAIN_MODULES = frozenset({"sys", "os", "platform", "time", "socket", "datetime", "math", "json", "random"})
_IMPORT = Regex(r"\bimport (\w+)(?![\w.,]| as)")
# What keeps a job alive for somebody who logs in.
_COPYING = ("copies", "packs", "stores", "files")
_PATIENT = programs_with("screen", "serves") | {"sleep", "tail", "read", "wait"}
# A sleep of an hour or more.
_LONG = Regex(r"inf(?:inity)?|[0-9]+[dh]|[0-9]{3,}m|[0-9]{4,}s?")
_WORDS = ("cuda", "gpu", "device", "rocm", "xpu", "nvidia", "nvml", "backend", "subprocess", "ctypes", "system")
# A program that is commented out.
_KEPT = Regex(
    r"(?m)^[ \t]*#+[ \t]*(?:srun|mpi(?:run|exec)|python[\d.]*|torchrun|accelerate|deepspeed|Rscript|julia"
    r"|bash|sh|\./\S+)[ \t]+\S"
)
# A program that is kept in a variable.
_HELD = Regex(
    r"=[\"'](?:srun|mpi(?:run|exec)|python[\d.]*|torchrun|accelerate|deepspeed|apptainer|singularity|\./\S+)[ \t]+\S"
)
_TO_COME = Regex(
    r"(?mi)^[ \t]*#(?!SBATCH|!)[^\n]{0,60}\b(?:put|insert|add|write|place|your|run)\b[^\n]{0,60}\b(?:here|below)\b"
)
_OF_GPUS = Regex(r"(?i)gpu|cuda|[avh]100|mig(?![a-z])|rtx")  # in the name of a partition
# What sets up a shell, tells something, or makes a folder.
_HARMLESS = frozenset(
    {"module", "ml", "cd", "export", "echo", "printf", "date", "hostname", "pwd", "mkdir", "set", "unset", "activate"}
    | {"deactivate", "ulimit", "umask", "ls", "true", ":", "shopt"}
)
_SET_UP = Regex(
    r"/activate$|(?:^|/)\.?(?:bashrc|bash_profile|profile|zshrc)$|/(?:conda|mamba|lmod|modules?)\.sh$|/init/\w+$"
)
_INSTALLERS = frozenset({"conda", "mamba", "micromamba", "pip", "pip3", "uv"})
_INSTALLING = frozenset({"install", "create", "env", "update", "sync"})
_TRIAL = Regex(r"(?i)(?<![a-z])(?:test|testing|debug|hello|dummy|try|trial|install|setup)(?![a-z])")
_OF_CONDA = frozenset(
    {"activate", "deactivate", "install", "create", "env", "update", "init", "info", "list", "config"}
)
# Packages that are built here, perhaps with a look at the GPU.
_FROM_SOURCE = Regex(r"^\.|^-e$|^--(?:editable|no-build|no-binary)|git\+|flash|apex|^(?!-|https?:)[^=]*/")
_FROM_FILES = frozenset({"cat", "cp", "install", "mv", "rsync", "sed"})
# Commands that prepare a program's environment.
_PREPARING = UTILITIES | programs_with("installs") | {"activate", "if"}


def check(job: Job) -> Iterator[Finding]:
    settings = job.request.gpu_settings()
    if job.request.asks_for_gpus is not True or not settings:
        return
    one = job.request.gpus.total == 1 or job.request.gpus_per_node() == 1 and job_nodes(job.request) == 1
    one = one or job.request.value("gpus-per-task") == "1" and job.request.effective_tasks() == 1
    idle = "the requested GPU stays idle" if one else "the requested GPUs stay idle"
    if job.outer is not None and _continues_files(job.outer):
        return  # what was written of it here may be its beginning alone
    copying = _copying(job)
    if copying is not None:
        message = f"{idle}: neither {copying.name} nor anything else here uses one"
        work = [(copying.name_span, "the work of this job")]
        severity = "info" if one or job.request.value("gpus-per-task") == "1" else "warning"
        yield Finding(settings[0].span, f"{message}; remove the request", severity, work)
        return
    prepares = _only_prepares(job)
    if prepares is not None:
        unused = "its GPU stays" if one else "its GPUs stay"
        message = f"the script sets up an environment but runs no program, so {unused} idle"
        # its programs are commented out, or are still to be written
        quiet = _is_done_once(job) or _KEPT.search(job.source.text) or _TO_COME.search(job.source.text)
        later = "info" if quiet else None
        held = next((each for each in job.assignments if _HELD.search(job.source.slice(each.span))), None)
        if held is not None:
            message = f"{idle}: nothing runs the command in `{held.name}`; write `${held.name}` at the end"
            yield Finding(settings[0].span, message, later, related=[(held.span, "the command")])
            return
        request = f"`{settings[0].as_written}`" if len(settings) == 1 else "the request"
        advice = f"add a program, or remove {request}"
        if _OF_GPUS.search(job.request.partition or "") is not None:
            advice += " and choose a CPU partition"
        yield Finding(settings[0].span, f"{message}; {advice}", later, related=[(prepares, "the script ends here")])
        return
    sleep = _only_sleep(job)
    if sleep is not None:
        message = f"{idle}: the job only sleeps; use salloc or srun --pty for an interactive session"
        yield Finding(settings[0].span, message, "info", [(sleep.span, "all that the job does")])
        return
    programs: list[PythonProgram] = []
    others: list[Invocation] = []
    inline: list[Invocation] = []
    for command in job.invocations:
        if not command.argv or command.phase is Phase.SUBMIT or command.children or command.text is not None:
            continue
        if command.name in _PREPARING or command.calls_function:
            others.append(command)
            continue
        if _is_plain_text(command):
            inline.append(command)
            continue
        program = python_program(job, command)
        if program is None or _shows_gpu_use(command) or not _uses_no_gpu(program):
            return  # it may use GPUs
        programs.append(program)
    if (programs or inline) and not any(map(_shows_gpu_use, others)):
        name = programs[0].path if programs else "`python -c`"
        yield Finding(
            settings[0].span,
            f"{idle}: nothing in {name} uses one; remove the request, or move the work to a GPU",
            None if programs or not _is_done_once(job) else "info",
        )


def _is_plain_text(command: Invocation) -> bool:
    """Whether a command is Python with a text of its own, `python -c "print(1)"`, that certainly uses no GPU."""
    if not is_python(command.argv[0]) or command.words[1:2] != ["-c"] or len(command.argv) != 3:
        return False
    program = text_of(command.argv[2])
    if program is None or any(word in program.lower() for word in (*_WORDS, "__", "exec", "eval", "open")):
        return False
    imported = _IMPORT.findall(program)
    return program.count("import") == len(imported) and _PLAIN_MODULES.issuperset(imported)


@once
def _continues_files(job: Job) -> bool:
    """Whether a script copies files or appends to them, such as a batch script that it writes in parts."""
    for command in job.invocations:
        if command.name in _FROM_FILES and len(command.argv) > 1 or command.name == "tee" and "-a" in command.words:
            return True
        if any(each.operator in (">>", "&>>") for each in command.redirects):
            return True
    return False


def _copying(job: Job) -> Invocation | None:
    """The command that copies or packs files, in a job that does nothing else; None for other jobs."""
    if _PATIENT & by_program(job).keys():
        return None
    works = [each for each in job.invocations if each.parent is None and weight(job, each) is not Weight.NONE]
    if not all(weight(job, each) is Weight.STAGING and has_trait(each.name, *_COPYING) for each in works):
        works = []
    works = works or [each for each in small_work(job) if each.name != "cmake"]
    unclear = any(each.state.sourced or _shows_gpu_use(each) for each in job.invocations)
    return None if unclear or not works else works[0]


def _is_done_once(job: Job) -> bool:
    """Whether a job installs packages, perhaps beside a GPU so that the right ones are chosen, or is a short test."""
    if any(each.name in _INSTALLERS and not _INSTALLING.isdisjoint(each.words[1:3]) for each in job.invocations):
        return True
    names = (job.request.partition, job.request.value("job-name"), os.path.basename(job.source.path))
    return any(_TRIAL.search(each or "") for each in names)


def _only_prepares(job: Job) -> Span | None:
    """Where the last command stands of a job that prepares an environment, and does nothing else; None for others."""
    if job.program.errors or job.text.string[:2] != "#!":
        return None
    if any(not node.closed for node in nodes_of(job.program, Heredoc)):
        return None  # what follows it is swallowed
    commands = [each for each in job.invocations if each.argv]
    prepares = any(each.name in ("conda", "mamba", "pip", "pip3", "activate", "module", "ml") for each in commands)
    if not prepares or not all(map(_is_preparation, commands)):
        return None
    return commands[-1].name_span


def _is_preparation(command: Invocation) -> bool:
    """Whether a command certainly only sets up an environment, tells something, or installs packages by their names."""
    words, name = command.words, command.name
    if command.calls_function or command.state.functions or command.phase is Phase.SUBMIT or command.children:
        return False
    if name in _HARMLESS:
        return True
    if name in ("source", "."):
        return len(words) > 1 and (words[1] == "activate" or _SET_UP.search(words[1]) is not None)
    if name in ("conda", "mamba", "micromamba"):
        return len(words) > 1 and words[1] in _OF_CONDA
    if name in ("pip", "pip3") and words[1:2] == ["install"]:
        return not any(_FROM_SOURCE.search(each) for each in words[2:])
    return False


def _only_sleep(job: Job) -> Invocation | None:
    """The long `sleep` of a job that does nothing else; None for other jobs."""
    if any(server_name(each) is not None or has_trait(each.name, "session", "screen") for each in job.invocations):
        return None
    if any(weight(job, each) is not Weight.NONE or each.state.functions for each in job.invocations):
        return None
    sleeps = [each for each in job.invocations if each.name == "sleep" and len(each.argv) == 2]
    return next((each for each in sleeps if _LONG.fullmatch(text_of(each.argv[1]) or "")), None)


def _shows_gpu_use(command: Invocation) -> bool:
    """Whether the words of a command show that it uses GPUs; a loaded module does not."""
    signs = () if command.name in ("module", "ml") else gpu_signs(command.argv)
    return any(sign.strength != PROCESSORS for sign in signs)


def _uses_no_gpu(program: PythonProgram) -> bool:
    """Whether a program certainly does not use a GPU."""
    return program.complete and program.foreign <= SERIAL - _USING_GPUS and not program.mentions(*_WORDS)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH «--gres=gpu:1»
        module load python
        srun python train.py
        """,
        files={
            "train.py": """\
            import torch
            from torchvision.models import resnet18

            model = resnet18()
            loss = model(torch.randn(8, 3, 224, 224)).sum()
            loss.backward()
            """
        },
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun python train.py
        """,
        files={
            "train.py": """\
            import torch
            from torchvision.models import resnet18

            model = resnet18().to("cuda")
            """
        },
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun python prepare.py
        srun ./train
        """,
        files={"prepare.py": "import numpy\nnumpy.save('a.npy', numpy.ones(3))\n"},
        title="another program uses it",
    ),
]
