"""A long option that is not written in full: it works until another option begins like it.

sbatch takes `--out=x.log` for `--output`, as long as no other option begins with `out`. `--cons` (for `--constraint`)
worked until 25.11 brought `--consolidate-segments`: `sbatch: option '--cons=a' is ambiguous`, and nothing is submitted.
Options of plugins count too. And some beginnings are read as something else than anybody would think: `--tasks=4` is
`--ntasks-per-node=4`, `--cores=4` is `--cores-per-socket=4`. A letter with two dashes (`--t=10`) begins many names.

## Fix

Writes the name in full. Safe where all releases that take the beginning read it as that option; a guess, and so unsafe,
where it may have been meant for another one.

## References

getopt_long(3); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace

CARD = Card("SB112", "abbreviated-option", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for each in job.directives.abbreviations():
        if each.unknown:
            continue  # an option that some releases do not have: option-too-new or removed-option
        start = text.span(each.token.start, each.token.end).start
        span = Span(start, start + len(each.written))
        message, severity = _message(job, each)
        fix = None
        if job.source.slice(span) == each.written:
            name, safe = _name(each)
            if name:
                fix = Fix(f"write --{name}", [replace(span, f"--{name}")], safe=safe)
        yield Finding(span, message, severity, fix=fix)


def _message(job: Job, each: Any) -> tuple[str, str]:
    names = ", ".join(f"--{name}" for name in each.candidates[:4]) + (", …" if len(each.candidates) > 4 else "")
    if not each.meanings:
        advice = "write the name in full" if not each.likely else f"write --{each.likely}, if that is meant"
        return f"{each.written} may stand for {names}: sbatch refuses the script; {advice}", "error"
    if len(each.meanings) > 1:
        first, last = each.meanings[0], each.meanings[-1]
        message = f"{each.written} is read as --{first} by older releases, as --{last} by newer ones"
        return f"{message}; write the one that is meant in full", "error"
    full = each.full
    if each.ambiguous:
        when = job.versions.said(each.ambiguous)
        message = f"{each.written} may stand for {names}{when}, and sbatch refuses the script"
        return f"{message}; write --{full}", "error"
    if each.likely:
        return (
            f"{each.written} is read as --{full}, not as --{each.likely}; write the one that is meant in full",
            "error",
        )
    return f"{each.written} is taken for --{full} only while no other option begins like it; write --{full}", "warning"


def _name(each: Any) -> tuple[str, bool]:
    """The name to write, and whether it is the one that was meant for certain."""
    if each.full:
        return each.likely or each.full, not each.likely
    if not each.meanings and each.likely:
        return each.likely, False
    plural = f"{each.written[2:]}s"
    return (plural, False) if not each.meanings and plural in each.candidates else ("", False)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--out»=x.log «--license»=matlab
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --output=x.log --licenses=matlab
        srun ./a.out
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        #SBATCH «--gpu»=2
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        #SBATCH --gpus=2
        srun ./a.out
        """,
        title="the beginning of several options",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--cons»=a100
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --constraint=a100
        srun ./a.out
        """,
        title="of several in newer releases",
    ),
    Bad("#!/bin/bash\n#SBATCH «--extra»=2:8\nsrun ./a.out\n", title="another option in newer releases"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--tasks»=4
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=4
        srun ./a.out
        """,
        title="not what it looks like",
    ),
    Good("#!/bin/bash\n#SBATCH --tasks-per-node=8 --cluster=c1 -o x.log\nsrun ./a.out\n", title="second spellings"),
    Good("#!/bin/bash\n#SBATCH --extra=2:8\nsrun ./a.out\n", settings={"slurm-version": "24.05"}),
]
