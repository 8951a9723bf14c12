"""A training script does not find its modules: Megatron-LM's folder is not on PYTHONPATH.

Python looks for `megatron` in the folder of the script that it runs, which is enough for `python
3rdparty/Megatron-LM/pretrain_gpt.py` itself; processes that this starts may find another one, and so may an installed
package `megatron` with its own import hooks. `python -m pretrain_gpt` and `torchrun -m` look in the working folder
instead: started elsewhere, they end with ModuleNotFoundError.

A warning for these, and where `uv run` starts the script: the project's environment has a `megatron` of its own.
Otherwise advice.

## Fix

Sets PYTHONPATH for this command, where its path is written out. Safe: it is the script's own folder, which Python
already has on its path for this script.

## References

https://docs.python.org/3/library/sys_path_init.html
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.installs import install_of
from sbatchlint.analysis.script.shell_history import commands_before, folder_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.argv import is_unknown
from sbatchlint.job.launchers import python_of
from sbatchlint.job.programs import all_words
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Launchers

CARD = Card(
    "SB608", "pythonpath-missing", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("python*", "ipython*", "pypy*") | Launchers(), seen="https://docs.python.org/3/library/sys_path_init.html",
    absent=True,
)  # fmt: skip

SCRIPT = Regex(r"(?P<folder>.*?3rdparty/Megatron-LM)/pretrain_\w+\.py", re.DOTALL)
MODULE = Regex(r"pretrain_(?:gpt|bert|t5|vlm|mamba|retro|ict|vision_\w+)")
MEGATRON = Regex(r"megatron", re.IGNORECASE)


def check(job: Job) -> Iterator[Finding]:
    if "pretrain_" not in all_words(job):
        return
    if any("-e" in each.words and install_of(each) is not None for each in job.invocations):
        return
    for command in job.invocations:
        if command.children or command.state.sourced or "pretrain_" not in "\n".join(command.words):
            continue
        kind, field = _program(job, command)
        if field is None or _is_on_path(command):
            continue
        text = shown_text(field)
        if kind == "module" and MODULE.fullmatch(text) and _is_elsewhere(job, command):
            yield Finding(
                span_of(field),
                f"python looks for `{text}` in the working folder, which is not Megatron-LM's; put "
                "Megatron-LM's folder on PYTHONPATH",
                "warning",
            )
        elif kind != "module" and SCRIPT.fullmatch(text):
            yield Finding(
                span_of(field),
                f"`{text.rpartition('/')[2]}` runs without Megatron-LM's folder on PYTHONPATH, and may find another "
                "`megatron`; set PYTHONPATH to that folder",
                "warning" if any(each.name == "uv" for each in command.ancestors()) else "info",
                fix=_path_set(job, command, field),
            )


def _program(job: Job, command: Invocation) -> tuple[str, Pieces | None]:
    """What Python runs: its kind (`script` or `module`), and the word that names it."""
    launcher = job.launcher_of(command)
    if launcher is not None:
        return launcher.program_kind, None if launcher.program is None else launcher.argv[launcher.program]
    python = python_of(command)
    return ("", None) if python is None or python.target is None else (python.kind, python.target)


def _is_on_path(command: Invocation) -> bool:
    """Whether PYTHONPATH contains Megatron's folder, or may contain it."""
    variable = command.state.variables.get("PYTHONPATH")
    values = [] if variable is None else [field for way in variable.alternatives for field in way.fields or ()]
    values += [value for name, value in command.variables if name == "PYTHONPATH"]
    for value in values:
        if MEGATRON.search(shown_text(value)) or is_unknown(value):
            return True
        if any(each.name not in ("PYTHONPATH", "PWD", "HOME") for each in expansions(value)):
            return True
    return False


def _is_elsewhere(job: Job, command: Invocation) -> bool:
    """Whether a command certainly does not run in Megatron's folder, and no module or environment may provide it."""
    folder = folder_of(job, command)
    last = "" if folder is None else shown_text(folder).rstrip("/").rpartition("/")[2]
    if not re.fullmatch(r"[\w.-]+", last, re.ASCII) or MEGATRON.search(last) is not None and "ridge" not in last:
        return False
    return not any(each.name in ("module", "conda") for each in commands_before(job, command))


def _path_set(job: Job, command: Invocation, field: Pieces) -> Fix | None:
    """The fix that sets PYTHONPATH before the command, where this is a statement of the script or a task's shell."""
    folder = job.source.slice(span_of(field)).rpartition("/")[0]
    dollar = _dollar(job, command)
    if dollar is None or not re.fullmatch(r"(?:\$\w|\$\{\w+\}|[\w./-])+", folder) or command.variables:
        return None
    added = insert(command.span.start, f"PYTHONPATH={folder}:{dollar}{{PYTHONPATH:-}} ")
    return Fix("set PYTHONPATH for it", [added], safe=True)


def _dollar(job: Job, command: Invocation) -> str | None:
    """A dollar sign as written for the shell that reads the command; None where that is unclear."""
    parent = command.context.parent
    if parent is None:
        return "$"
    if parent.name not in ("bash", "sh") or parent.text is None or command.kind:
        return None
    first = parent.text.field[0].start if parent.text.field else 0
    return {"'": "$", '"': "\\$"}.get(job.source.text[first - 1 : first])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd /lustre/team/experiment
        srun torchrun --nproc_per_node=8 -m «pretrain_gpt» --bf16
        """,
        title="as a module, from another folder",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="cd $ROOT && \\
        python «$ROOT/3rdparty/Megatron-LM/pretrain_gpt.py»"
        srun bash -c "$CMD"
        """,
        fixed={"python": "PYTHONPATH=$ROOT/3rdparty/Megatron-LM:\\${PYTHONPATH:-} python"},
        severity="info",
        title="as a file",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun python «3rdparty/Megatron-LM/pretrain_bert.py»
        """,
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export PYTHONPATH=$ROOT/3rdparty/Megatron-LM:$PYTHONPATH
        srun python 3rdparty/Megatron-LM/pretrain_gpt.py
        srun torchrun -m pretrain_gpt
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd Megatron-LM
        srun torchrun --nproc_per_node=8 -m pretrain_gpt
        """,
        title="started in Megatron's folder",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        pip install -e 3rdparty/Megatron-LM
        srun python 3rdparty/Megatron-LM/pretrain_gpt.py
        """,
        title="installed in place",
    ),
]
