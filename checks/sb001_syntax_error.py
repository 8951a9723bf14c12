"""The shell cannot parse the script: it runs up to the error, and then the job fails.

bash reads a script as it goes. A missing `fi`, an unclosed quote or a stray `)` shows after hours of work, when all
that stands before it has run; sbatch does not look at the commands, and accepts the script.

Reported is what both the parser of sbatchlint and `bash -n`, which reads without running anything, cannot parse. Where
there is no bash nothing is said. Templates (`{{ … }}`, `<% … %>`) are no scripts yet, and are left alone.

## Fix

None: what is missing, and where, only the author knows.

## References

bash(1), `-n`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import SyntaxErrors

CARD = Card("SB001", "syntax-error", severity="error", fix="never", since="0.1.0", when=SyntaxErrors())


def check(job: Job) -> Iterator[Finding]:
    fault = job.syntax_fault()
    if fault is not None:
        yield Finding(
            fault.span,
            f"bash runs what stands above, and gives up here: {fault.complaint}; mend it, and check with `bash -n`",
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./prepare
        for step in 1 2 3; do
            srun ./a.out "$step"
        «fi»
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./a.out "$HOME/in «"»
        echo done
        """,
        missed=True,
    ),
    Good("#!/bin/bash\n#SBATCH -N1\nif true; then\n  srun ./a.out\nfi\n"),
]
