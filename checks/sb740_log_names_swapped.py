"""The names of the two logs are swapped: what the program prints goes into the `.err`, its errors into the `.out`.

Whoever looks for the reason of a failure opens the `.err`, finds the output of the program there and takes the job for
a good one, or looks through a log of results for warnings. Only names that both say what they are for are reported:
`.err` or `.stderr` for the output, and `.out`, `.stdout` or `.log` for the errors.

## Fix

Swaps the two names. Unsafe, as something may read the files by these names.

## References

sbatch(1), --output and --error; a review of public scripts
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB740", "log-names-swapped", severity="warning", fix="always", since="0.1.0", when=Options("error"), batch=True,
    certain=True, seen="a review of public scripts",
    unseen="The output of the program in the file for errors.",
)  # fmt: skip

_ERRORS = Regex(r"(?i)(?:.*[/._-])?(?:std)?err(?:ors?)?(?:\.(?:txt|log))?")
_OUTPUT = Regex(r"(?i)(?:.*[/._-])?(?:(?:std)?out(?:put)?(?:\.(?:txt|log))?|log)")
_SAYS_ERROR = Regex(r"(?i)err")


def check(job: Job) -> Iterator[Finding]:
    found = {setting.name: (setting, path) for setting, path in plain_paths(job, "output", "error")}
    if len(found) < 2:
        return
    (output, output_path), (error, error_path) = found["output"], found["error"]
    if _ERRORS.fullmatch(output_path) is None or _OUTPUT.fullmatch(error_path) is None:
        return
    if _SAYS_ERROR.search(error_path) is not None:
        return  # `errors/%j.out`: the folder says it
    edits = [
        replacement(job.directives, output, error.text or ""),
        replacement(job.directives, error, output.text or ""),
    ]
    yield Finding(
        output.value_place,
        f"what the program prints goes into `{output_path.rpartition('/')[2]}`, and its errors into "
        f"`{error_path.rpartition('/')[2]}`; swap the two names",
        related=[(error.value_place, "the file for errors")],
        fix=Fix("swap the two names", edits, safe=False),
    )


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --output=«%x-%j.err»\n#SBATCH --error=%x-%j.out\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=%x-%j.out\n#SBATCH --error=%x-%j.err\nsrun ./a.out\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -o «logs/err.txt»\n#SBATCH -e logs/out.txt\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -o logs/out.txt\n#SBATCH -e logs/err.txt\nsrun ./a.out\n",
    ),
    Good("#!/bin/bash\n#SBATCH --output=%x-%j.out\n#SBATCH --error=%x-%j.err\nsrun ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH --output=%j.err\n#SBATCH --error=%j.err\nsrun ./a.out\n",
        title="both in one file, whatever it is called",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --output=logs/%j.out\n#SBATCH --error=errors/%j.out\nsrun ./a.out\n",
        title="the folders say which is which",
    ),
]
