"""The script asks for `sh`, and uses what only bash has.

`/bin/sh` is dash on Debian and Ubuntu. There `[[` and `source` are not found, an array ends the script with `Syntax
error: "(" unexpected`, and `module` and `conda activate`, which are functions of bash, do not exist. Most of this goes
by as a line in the log, and the job runs on without its modules or its environment. On a cluster whose `/bin/sh` is
bash the script works until it is taken elsewhere: a warning, and an error only for what dash cannot even read, or
where dash itself is asked for.

Reported once, with the places. Not looked at: text for another shell (`bash -c '…'`), and scripts that look at
`BASH_VERSION` or start bash themselves.

## Fix

Asks for bash, with the same arguments. Unsafe: in its own mode bash differs from `sh` in more than what is reported.
None for the text of `sbatch --wrap`, which sbatch runs by `/bin/sh` in any case.

## References

dash(1); POSIX.1-2024, which has `set -o pipefail`; seen with dash 0.5.12 and bash 5.2, in jobs of Slurm 22.05 and
26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.triggers import Shebang

CARD = Card("SB006", "sh-shebang", severity="error", fix="sometimes", since="0.1.0", when=Shebang("sh", "dash"))

MOST = 3


def check(job: Job) -> Iterator[Finding]:
    if job.phase.name != "BATCH":
        return
    found = job.bashisms()
    if not found:
        return
    first: dict[str, str] = {}
    for each in found:
        row = job.line(job.span(each.start, each.end).start)
        first.setdefault(each.what, f"{_shown(each.what)} (line {row})")
    shown = list(first.values())
    more = len(shown) - MOST
    listed = ", ".join(shown[:MOST]) + (f" and {more} more" if more > 0 else "")
    if job.is_wrapped:
        yield Finding(
            job.span(found[0].start, found[0].end),
            f"sbatch runs the text of --wrap by sh, and dash, which is sh on Debian and Ubuntu, does not understand "
            f"{listed}; submit a script that begins with #!/bin/bash",
            # nobody asked for sh here, and on most clusters it is bash
            "warning" if any(each.severity == "error" for each in found) else "info",
        )
        return
    line = job.text.string.partition("\n")[0].rstrip()
    bash = job.interpreter_line[0] == "dash"
    where = "dash" if bash else "dash, which is sh on Debian and Ubuntu,"
    at = line.rindex("sh", 0, _end_of_name(line))
    start = at - 2 if bash else at
    edit = replace(job.span(start, at + 2), "bash") if bash else insert(job.span(at, at).start, "ba")
    asked = line[:start] + "bash" + line[at + 2 :]
    yield Finding(
        job.span(0, len(line)),
        f"{where} does not understand {listed}; write {asked}",
        "error" if any(each.severity == "error" for each in found) else "warning",
        [(Span(*job.span(each.start, each.end)), f"{_shown(each.what)} is {each.effect}") for each in found[:MOST]],
        Fix(f"write {asked}", [edit]),
    )


def _end_of_name(line: str) -> int:
    """Where the name of the shell ends in the first line."""
    words = line[2:].split()
    name = next(word for word in words if word.rpartition("/")[2] in ("sh", "dash"))
    return line.index(name) + len(name)


def _shown(what: str) -> str:
    return what if what.startswith(("an ", "the ")) or " in " in what or what == "braces" else f"`{what}`"


CASES = [
    Bad(
        """\
        «#!/bin/sh»
        #SBATCH --nodes=1
        module load cuda
        source venv/bin/activate
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        module load cuda
        source venv/bin/activate
        srun python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        «#!/bin/sh -e»
        #SBATCH --array=0-3
        seeds=(1 2 3 5)
        if [[ -n "$1" ]]; then echo "$1"; fi
        srun ./a.out "${seeds[$SLURM_ARRAY_TASK_ID]}" &> log
        """,
        unsafe_fixed="""\
        #!/bin/bash -e
        #SBATCH --array=0-3
        seeds=(1 2 3 5)
        if [[ -n "$1" ]]; then echo "$1"; fi
        srun ./a.out "${seeds[$SLURM_ARRAY_TASK_ID]}" &> log
        """,
    ),
    Bad(
        """\
        «#!/usr/bin/env sh»
        #SBATCH --nodes=1
        for i in {1..4}; do srun ./a.out "$i"; done
        """,
        unsafe_fixed="""\
        #!/usr/bin/env bash
        #SBATCH --nodes=1
        for i in {1..4}; do srun ./a.out "$i"; done
        """,
        severity="warning",
    ),
    Good(
        """\
        #!/bin/sh
        #SBATCH --nodes=1
        . /etc/profile.d/modules.sh
        module load cuda
        . venv/bin/activate
        [ "$1" = x ] && srun ./a.out "${1:-y}" > log 2>&1
        """,
    ),
    Good("#!/bin/sh\n#SBATCH -N1\nsrun bash -c 'source env.sh; [[ -n $X ]]'\n", title="text for another shell"),
    Good("#!/bin/bash\n#SBATCH -N1\nif [[ -n $1 ]]; then srun ./a.out; fi\n"),
]
