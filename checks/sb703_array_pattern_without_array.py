"""The log has a meaningless number in its name: `%a` is for job arrays, and this job is not one.

`%a` is the index of a task of a job array. In a job that is not an array it is a meaningless number: `run_%A_%a.out`
becomes `run_4711_4294967294.out`, which is advice. Where the name has no other number, two jobs at a time write one
file: a warning.

Nothing is reported where a comment or a file of the project shows or says that it is submitted with --array. Advice
where the script reads SLURM_ARRAY_TASK_ID, unless it only prints it and a comment shows that it is submitted as no
array; where a directive for an array is commented out, and in a sweep: it is an array now and then. `%A` alone is then
the job's id, and does no harm.

## Fix

Writes `%j`, the job's id, or drops `%a` where the name already has an id. Unsafe: the array may come from the command
line. None where a directive for an array is commented out, or the index is read.

## References

sbatch(1), "filename pattern"; src/slurmd/common/fname.c, 20.11 to 25.05; a live run of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.near_misses import is_turned_off
from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.expansion.reads import unprepared_reads
from sbatchlint.analysis.script.submit_lines import is_array_by_command_line, is_shown_alone, may_be_array, shows_array
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, joined, replace, shortened
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB703", "array-pattern-without-array", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("output", "error", "input"), seen="a live run of Slurm 22.05", batch=True, certain=True,
    unseen="A log whose name has 4294967294 in place of the index.",
)  # fmt: skip

_BOTH = Regex(r"%[0-9]*A[-_.]?%[0-9]*a")
_INDEX = "SLURM_ARRAY_TASK_ID"
_AT_START = Regex(r"(?:^|(?<=/))%[0-9]*a[-_.]+(?=[^/])")
_ELEMENT_PATTERN = Regex(r"(?<!%)%[0-9]*a")
_ELEMENT = Regex(r"SLURM_ARRAY_")
_MESSAGE = Regex(r"(?m)^[ \t]*(?:echo|printf|#)[ \t][^\n;&|>]*$")
_ALONE = Regex(r"[-_.]?%[0-9]*a")
_AFTER_ID = Regex(r"(?:[-_.]?%[0-9]*A)?[-_.]?%[0-9]*a")


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
        by_path.setdefault(path, []).append(setting.value_place)
    if not by_path or shows_array(job) or is_array_by_command_line(job):
        return
    found_all: list[Finding] = []
    reads_index = may_be_array(job) and not (is_shown_alone(job) and _only_prints_index(job))
    for path, spans in by_path.items():
        instead = _without_index(path)
        found = _ELEMENT_PATTERN.search(path)
        index = "%a" if found is None else found.group()
        message = f"the job is not an array, so `{index}` in the log's name becomes 4294967294"
        message = f"{message}; write `{shortened(instead, 40)}`, or add `#SBATCH --array=FIRST-LAST`"
        if reads_index:
            always = f"unless sbatch is called with --array, `{index}` in the log's name becomes 4294967294"
            message = f"{always}; write `{shortened(instead, 25)}`, or add `#SBATCH --array=FIRST-LAST`"
            read = next((each for each in unprepared_reads(job) if each.name == _INDEX), None)
            if read is not None:  # which needs the array in any case
                row = job.line(read.span.start)
                message = f"{always}; line {row} also uses the index, so add `#SBATCH --array=FIRST-LAST`"
        meant = reads_index or is_turned_off(job, "array")
        # a sweep is often submitted as an array
        # with an id the name is unique, and only ugly
        unique = any(patterns.uses(path, letter) for letter in "jJA")
        severity = "info" if meant or unique or "wandb agent" in job.source.own.text else None
        fix = None
        if not meant and all(job.source.slice(span) == path for span in spans):
            fix = Fix(f"write {instead}", [replace(span, instead) for span in spans], safe=False)
        found_all.append(Finding(spans[0], message, severity, [(span, "the same") for span in spans[1:]], fix))
    yield joined(found_all, "the same")  # one `--array` serves them all


def _only_prints_index(job: Job) -> bool:
    """Whether the script only prints the variables of an array."""
    return _ELEMENT.search(_MESSAGE.sub("", job.source.own.text)) is None


def _without_index(path: str) -> str:
    named = any(patterns.uses(path, letter) for letter in "jJ")
    path = _AFTER_ID.sub("", path) if named else _BOTH.sub("%j", path)
    named = named or patterns.uses(path, "j") or patterns.uses(path, "A")
    path = _AT_START.sub("", path) if named else path
    return _ALONE.sub("" if named else lambda found: found.group().partition("%")[0] + "%j", path)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --output=«run_%A_%a.out»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=run_%j.out\nsrun ./a.out\n",
        severity="info",
        title="only ugly",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --output=«log/run_%a.out»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=log/run_%j.out\nsrun ./a.out\n",
        title="each submission writes the same file",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -o «%x-%a-%j.out»\n#SBATCH -e %x-%a-%j.out\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -o %x-%j.out\n#SBATCH -e %x-%j.out\nsrun ./a.out\n",
        severity="info",
        title="two equal names are reported once",
    ),
    Good("#!/bin/bash\n#SBATCH --array=1-9\n#SBATCH --output=run_%A_%a.out\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n"),
    Bad(
        "#!/bin/bash\n#SBATCH --output=«run_%A_%a.out»\nsrun ./a.out $SLURM_ARRAY_TASK_ID\n",
        severity="info",
        title="perhaps the array comes from the command line",
    ),
    Good("#!/bin/bash\n# sbatch --array=1-9 job.sh\n#SBATCH --output=run_%A_%a.out\nsrun ./a.out\n", title="as shown"),
    Good("#!/bin/bash\n#SBATCH --output=run_%A.out\nsrun ./a.out\n", title="the job's own id"),
    Good("#!/bin/bash\n#SBATCH --output=run_%%a.out\nsrun ./a.out\n", title="a plain percent sign"),
]
