"""An unquoted `#` ends a directive, also in the middle of a word.

`--job-name=run#3` is a job called `run`, and `--container-image=nvcr.io#nvidia/pytorch:24.01-py3` asks for an image
`nvcr.io`. All that follows on the line is a comment, further options as well: several directives pasted into one line
are one directive and a comment. `#SBATCH -J #3` even takes the first word of the next directive for the job's name.

## Fix

Quotes the value: safe for a container image, whose name is no good without the rest; a guess otherwise. Where a comment
was meant, it gets a blank before it, which changes nothing. Directives in one line become lines of their own (unsafe).

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05, seen on 22.05 and 26.05; README of NVIDIA/pyxis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, remove, replace

CARD = Card("SB105", "hash-in-value", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for cut in job.directives.cuts():
        yield _finding(job, cut)


def _finding(job: Job, cut: Any) -> Finding:
    text = job.directives.text
    if cut.kind == "directive":
        span = text.span(cut.start, cut.end)
        newline = job.source.newline
        edits = [replace(text.span(_before(text.string, part), part), newline) for part in cut.parts]
        if not cut.line.tokens:
            edits[0] = remove(text.span(cut.line.start, cut.start))
        message = (
            "`#SBATCH` inside of a directive begins a comment, so what follows is not read; write one line for each"
        )
        return Finding(span, message, fix=Fix("write one line for each", edits))
    name = cut.name
    value = cut.setting.value if cut.setting is not None else None
    if cut.kind in ("swallowed", "lost"):
        span = text.span(cut.start, cut.end)
        what = f"gets the next directive, `{value}`, for its value" if value is not None else "has no value"
        advice = "write its own in front of the `#`" if cut.whole is None else f"quote its own: {cut.whole}"
        message = f"`#` begins a comment, so --{name} {what}; {advice}"
        quoted = None
        if cut.whole is not None:
            quoted = Fix("quote the value", [replace(text.span(cut.hash, cut.end), cut.whole)])
        return Finding(span, message, fix=quoted)
    span = text.span(cut.start, cut.end)
    if cut.kind == "comment":
        fix = Fix("write a blank before the comment", [insert(text.span(cut.hash, cut.hash).start, " ")], safe=True)
        message = f"the `#` stands inside of a word, which sbatch cuts to `{value}`; write a blank before a comment"
        return Finding(text.span(cut.start, cut.hash + 1), message, "warning", fix=fix)
    advice = "quote the value"
    repair = None
    if cut.whole is not None:
        advice = f"quote the value: {cut.whole}"
        repair = Fix("quote the value", [replace(span, cut.whole)], safe=name == "container-image")
    gets = f"`{value}`" if value else "an empty value"
    if not value and cut.whole is None and cut.setting is not None and cut.setting.option is not None:
        advice = "remove the `#`"
    return Finding(span, f"an unquoted `#` begins a comment, so --{name} gets {gets}; {advice}", fix=repair)


def _before(string: str, offset: int) -> int:
    """The beginning of the blanks in front of an offset."""
    while string[offset - 1] in " \t":
        offset -= 1
    return offset


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --container-image=«nvcr.io#nvidia/pytorch:24.01-py3»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --container-image="nvcr.io#nvidia/pytorch:24.01-py3"
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J «run#3» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -J "run#3" --nodes=2
        srun ./a.out
        """,
        title="the rest of the line is lost as well",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --account=«project_2001736#» the project for billing
        #SBATCH --nodes=«2#»two
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --account=project_2001736 # the project for billing
        #SBATCH --nodes=2 #two
        srun ./a.out
        """,
        severity="warning",
        title="a comment was meant",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=x «#SBATCH --nodes=2 #SBATCH -t 10»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --job-name=x
        #SBATCH --nodes=2
        #SBATCH -t 10
        srun ./a.out
        """,
        title="pasted into one line",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «-J #3»\n#SBATCH --nodes=2\nsrun ./a.out\n",
        unsafe_fixed='#!/bin/bash\n#SBATCH -J "#3"\n#SBATCH --nodes=2\nsrun ./a.out\n',
        title="the job is called `--nodes=2`",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --container-image=nvcr.io\\#nvidia/cuda -J 'run#3' # x\n#SBATCH -N2 # #SBATCH -N4\n./a\n"
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2 #two\n#SBATCH --exclusive# whole nodes\nsrun ./a.out\n", title="comments"),
]
