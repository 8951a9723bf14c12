r"""sbatch refuses the script: its lines end in DOS line breaks.

`sbatch: error: Batch script contains DOS line breaks (\r\n)`: one such line anywhere is enough, in a here-document too.
They come from editors on Windows, and from git there (`core.autocrlf`): a line `*.sbatch text eol=lf` in the
repository's `.gitattributes` keeps them away.

## Fix

Removes the carriage return from every line that ends in one. Safe: sbatch takes no script that has them.

## References

`_get_script_buffer()` in src/sbatch/sbatch.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove

CARD = Card(
    "SB003", "dos-line-endings", severity="error", fix="always", since="0.1.0", seen="runs of Slurm 22.05 and 26.05"
)  # fmt: skip

# A file with more such lines was not written by hand, and gets no fix.
MOST_REMOVED = 100_000


def check(job: Job) -> Iterator[Finding]:
    if job.is_embedded or "\r\n" not in job.source.own.text:  # an inner script's lines are lines of the file
        return
    text = job.source.own.text
    returns = [match.start() for match in re.finditer(r"\r+(?=\n)", text)]
    lines = job.source.rows
    description = "all its lines have" if len(returns) == lines else f"{len(returns)} of its {lines} lines have"
    if len(returns) == 1:
        description = f"line {job.line(returns[0])} has"
    message = f"sbatch refuses the script: {description} DOS line endings (\\r\\n); convert them to Unix ones (\\n)"
    fix = None
    if len(returns) <= MOST_REMOVED:
        fix = Fix("convert line breaks to \\n", [remove(Span(at, text.index("\n", at))) for at in returns], safe=True)
    yield Finding(Span(returns[0], returns[0] + 1), message, fix=fix)


CASES = [
    Bad(
        "#!/bin/bash«\r»\n#SBATCH --nodes=2\r\nsrun ./a.out\r\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out «\r»\n# mixed\r\r\necho done\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out \n# mixed\necho done\n",
        title="only some lines",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -N1\ncat > parameters <<'EOF'\nsteps = 5«\r»\nEOF\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH -N1\ncat > parameters <<'EOF'\nsteps = 5\nEOF\nsrun ./a.out\n",
        title="the text of a file",
    ),
    Bad(
        "#!/bin/bash«\r»\nsbatch <<'EOF'\r\n#!/bin/bash\r\n#SBATCH -N1\r\nsrun ./a.out\r\nEOF\r\n",
        fixed="#!/bin/bash\nsbatch <<'EOF'\n#!/bin/bash\n#SBATCH -N1\nsrun ./a.out\nEOF\n",
        title="once, for the script inside as well",
    ),
    Bad(
        "#!/bin/bash«\r»\n#SBATCH -N1\r\nsrun ./a.out \\\r\n  --steps 5\r\nif true; then\r\n  echo done\r\nfi",
        fixed="#!/bin/bash\n#SBATCH -N1\nsrun ./a.out \\\n  --steps 5\nif true; then\n  echo done\nfi",
        title="no newline at the end",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -N1\nprintf '50 %%\\r\\n'\nsrun ./a.out $'a\\r\\n'\n", title="as escapes"),
    Good("#!/bin/bash\n#SBATCH -N1\nprintf '50 %%\r100 %%'\nsrun ./a.out\n", title="a carriage return within a line"),
    Good("#!/bin/bash\n#SBATCH -N1\n\nsrun ./a.out\n\n\n", title="blank lines"),
    Good("#!/bin/bash\n#SBATCH -N1\nsrun ./a.out\n# the end\r", title="the last character of the file"),
]
