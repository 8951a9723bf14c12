"""The job may end early: `set -u` holds while conda or a start file reads unset variables.

`set -u` applies to every file that the shell sources. Scripts that packages put into a conda environment
(`etc/conda/activate.d`), older releases of conda itself, and the start files of many systems (`/etc/bashrc` tests
BASHRCSOURCED) read variables that are not set. The job then ends with `unbound variable` before any work, or does so as
soon as a package is added.

Advice for conda, whose newer releases take care of this; a warning for start files.

## Fix

Turns `set -u` off around these lines. Unsafe: the loaded files may rely on it.

## References

conda/conda#8186, #3200; conda-forge/compilers; /etc/bashrc of RHEL 8 and 9
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.activations import calls_conda_function, sources_activate, sources_startup_file
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, insert
from sbatchlint.triggers import Commands

CARD = Card(
    "SB611", "nounset-before-activation", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("conda", "mamba", "micromamba", "source", "."),
)  # fmt: skip


# Lines between two of these commands over which `set -u` need not be on again: they load things, too, or are empty.
_LOADING = re.compile(r"(?:[ \t]*(?:#.*|(?:module|ml|source|\.|conda|mamba)[ \t].*)?\n)+")


def check(job: Job) -> Iterator[Finding]:
    unset = [each for each in job.invocations if each.state.options.get("nounset") and not each.context.captured]
    found = [each for each in unset if _is_conda(each) or sources_startup_file(each)]
    if not found:
        return
    first = next((each for each in found if not _is_conda(each)), found[0])
    places = [each for each in dict.fromkeys(each.span for each in found) if each != first.span]
    what = "conda's activation scripts read" if _is_conda(first) else "shell startup files often read"
    yield Finding(
        first.span,
        f"`set -u` ends the job at an unset variable, and {what} unset ones; write `set +u` above, and `set -u` below",
        "info" if _is_conda(first) else None,
        related=[(each, "here too") for each in places[:3]],
        fix=_without_nounset(job, found),
    )


def _is_conda(command: Invocation) -> bool:
    return calls_conda_function(command) and command.name != "micromamba" or sources_activate(command)


def _without_nounset(job: Job, found: list[Invocation]) -> Fix | None:
    """The fix that puts `set +u` before each block of lines with such commands, and `set -u` after it."""
    rows = set()
    for command in found:
        line = job.source.line_of(command.span.start)
        if command.context.parent is not None or job.in_quoted_text(command.span.start):
            return None
        if line.end < command.span.end or not re.match(r"\s*$", job.source.text[line.start : command.span.start]):
            return None
        if re.search(r"(?:&&|\|\||\\|[|;({])\s*$", job.source.text[command.span.end : line.end]):
            return None
        rows.add((line.start, line.end))
    edits: list[Edit] = []
    runs: list[list[tuple[int, int]]] = []
    for row in sorted(rows):
        if runs and _LOADING.fullmatch(job.source.text[runs[-1][-1][1] : row[0]]):
            runs[-1].append(row)
        else:
            runs.append([row])
    for run in runs:
        start, end = run[0][0], run[-1][1]
        text = job.source.text[start:end]
        spaces = text[: len(text) - len(text.lstrip())]
        edits += [insert(start, f"{spaces}set +u\n"), insert(end, f"\n{spaces}set -u")]
    return Fix("turn `set -u` off around it", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -euo pipefail
        source ~/miniforge3/etc/profile.d/conda.sh
        «conda activate train»
        python train.py
        """,
        severity="info",
        unsafe_fixed={
            "conda activate train": "set +u\nconda activate train",
            "python train.py": "set -u\npython train.py",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -eu
        «source ~/.bashrc»
        python train.py
        """,
        unsafe_fixed={"source ~/.bashrc": "set +u\nsource ~/.bashrc", "python train.py": "set -u\npython train.py"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        source ~/miniforge3/etc/profile.d/conda.sh
        conda activate train
        set -euo pipefail
        python train.py
        """,
        title="afterwards",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -u
        source venv/bin/activate
        set +u
        conda activate train
        """,
        title="a virtual environment; and turned off",
    ),
]
