"""The log has a meaningless number in its name: `%a` is for job arrays, and this job is not one.

`%a` is the index of a task of a job array. In a job that is not an array it is a meaningless number: `run_%A_%a.out`
becomes `run_4711_4294967294.out`. Whatever looks for the log by its name does not find it.

Nothing is reported where the script reads SLURM_ARRAY_TASK_ID, or a file of the project shows that it is submitted with
--array; but it is where the script only prints its index, and shows in a comment how it is submitted, as no array.
`%A` alone is then the job's id, and does no harm. Advice where a directive for an array is commented out, and in a
sweep: it is an array now and then.

## Fix

Writes `%j`, the job's id, or drops `%a` where the name already has an id. Unsafe: the array may come from the command
line. None where a directive for an array is commented out.

## References

sbatch(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; a live run of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.script.submit_lines import is_shown_alone, may_be_array
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB703", "array-pattern-without-array", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("output", "error", "input"), seen="a live run of Slurm 22.05", batch=True, certain=True,
)  # fmt: skip

_BOTH = Regex(r"%[0-9]*A[-_.]?%[0-9]*a")
_ELEMENT = Regex(r"SLURM_ARRAY_")
_MESSAGE = Regex(r"(?m)^[ \t]*(?:echo|printf|#)[ \t][^\n;&|>]*$")
_ALONE = Regex(r"[-_.]?%[0-9]*a")
_AFTER_ID = Regex(r"(?:[-_.]?%[0-9]*A)?[-_.]?%[0-9]*a")
# An array that is off for now: `##SBATCH --array=1-9`.
_SWITCHED_OFF = Regex(r"(?m)^[ \t]*#(?!SBATCH\b)[# \t]*SBATCH[ \t]+(?:[^\n]*[ \t])?(?:--array\b|-a[ =\d])")


def check(job: Job) -> Iterator[Finding]:
    directives, request = job.directives, job.request
    if request.has_option("array") or directives.unread:
        return
    by_path: dict[str, list[Span]] = {}
    for name in ("output", "error", "input"):
        setting = request.setting(name)
        path = None if setting is None else setting.text
        if setting is None or not path or not patterns.uses(path, "a") or typo(directives, setting) is not None:
            continue
        by_path.setdefault(path, []).append(setting.value_span or setting.span)
    if not by_path or may_be_array(job) and not (is_shown_alone(job) and _only_prints_index(job)):
        return
    for path, spans in by_path.items():
        instead = _without_index(path)
        fix = None
        if all(job.source.slice(span) == path for span in spans):
            fix = Fix(f"write {instead}", [replace(span, instead) for span in spans], safe=False)
        message = f"`%a` becomes 4294967294 in the name: the job is not an array; write `{instead}`, or add --array"
        # a sweep is often submitted as an array
        switched = _SWITCHED_OFF.search(job.source.own.text) is not None
        severity = "info" if switched or "wandb agent" in job.source.own.text else None
        yield Finding(spans[0], message, severity, fix=None if switched else fix)


def _only_prints_index(job: Job) -> bool:
    """Whether the script does nothing with the variables of an array, but print them."""
    return _ELEMENT.search(_MESSAGE.sub("", job.source.own.text)) is None


def _without_index(path: str) -> str:
    named = any(patterns.uses(path, letter) for letter in "jJ")
    path = _AFTER_ID.sub("", path) if named else _BOTH.sub("%j", path)
    named = named or patterns.uses(path, "j") or patterns.uses(path, "A")
    return _ALONE.sub("" if named else lambda found: found.group().partition("%")[0] + "%j", path)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --output=«run_%A_%a.out»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=run_%j.out\nsrun ./a.out\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -o «%x-%a-%j.out»\n#SBATCH -e %x-%a-%j.out\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -o %x-%j.out\n#SBATCH -e %x-%j.out\nsrun ./a.out\n",
        title="two names alike are reported once",
    ),
    Good("#!/bin/bash\n#SBATCH --array=1-9\n#SBATCH --output=run_%A_%a.out\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n"),
    Good(
        "#!/bin/bash\n#SBATCH --output=run_%A_%a.out\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n",
        title="the array comes from the command line",
    ),
    Good("#!/bin/bash\n# sbatch --array=1-9 job.sh\n#SBATCH --output=run_%A_%a.out\nsrun ./a.out\n", title="as shown"),
    Good("#!/bin/bash\n#SBATCH --output=run_%A.out\nsrun ./a.out\n", title="the job's own id"),
    Good("#!/bin/bash\n#SBATCH --output=run_%%a.out\nsrun ./a.out\n", title="a plain percent sign"),
]
