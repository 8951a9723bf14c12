"""Slurm refuses the job, or runs it without its limit: the array is not valid.

`Batch job submission failed: Invalid job array specification`. An array is a list of indexes and ranges, `1,3,5-9:2`,
and may end in a limit of tasks that run at a time, `%4`. A range goes up, and its step is at least 1.

A step after the limit (`1-10%2:3`) is silently dropped, and every index runs: a warning.

## Fix

Writes the array that was probably meant: `1..10` becomes `1-10`, `1-10%2:3` becomes `1-10:3%2`. A guess, and so unsafe.

## References

sbatch(1); `slurm_parse_array_tok()` in src/common/slurm_protocol_defs.c and `_valid_array_inx()` in
src/slurmctld/job_mgr.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, corrected
from sbatchlint.slurm.grammar.arrays import indexes
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, Refused

CARD = Card(
    "SB126", "invalid-array", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Options("array") | Refused("array"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

# A range with no index yet, as a script has it whose list is empty.
_OF_NONE = Regex(r"(?<![\d-])1-0(?![\d])")


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "array"):
        if _OF_NONE.search(job.source.slice(wrong.span)):  # the last index is still to be written
            yield Finding(wrong.span, f"{wrong.fault}; write the last index", "warning", versions=wrong.versions)
        elif not _OF_NONE.search(wrong.setting.text or ""):  # `1-${#FILES[@]}`: how many a loop adds is not known
            yield corrected(wrong.span, wrong.fault, wrong.instead, wrong.edits, wrong.versions)
    yield from _step_after_limit(job)


def _step_after_limit(job: Job) -> Iterator[Finding]:
    """The finding on `1-10%2:3`, which Slurm reads as `1-10%2`: all 10 tasks run, not every third."""
    for setting in job.directives.every_setting:
        if setting.name != "array" or not setting.text or typo(job.directives, setting) is not None:
            continue
        array = indexes(setting.text, job.versions.last)
        if array is None or not array.dropped_step:
            continue
        head, _, after = setting.text.partition("%")
        limit, step, rest = after.partition(array.dropped_step)
        intended = f"{head[:-1]}{step}]%{limit}{rest}" if head.endswith("]") else f"{head}{step}%{limit}{rest}"
        moved = indexes(intended, job.versions.last)
        if moved is not None and moved.tasks < array.tasks:
            tasks = all_of(array.tasks, "task")
            message = f"Slurm ignores `{step}` after the limit `%{limit}`, so {tasks} run; write {intended}"
            fix = Fix(f"write {intended}", [replacement(job.directives, setting, intended)])
            yield Finding(setting.value_place, message, "warning", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1..10» --time=5
        srun ./a.out
        """,
        unsafe_fixed={"--array=1..10": "--array=1-10"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -a «10-1»
        srun ./a.out
        """,
        unsafe_fixed={"10-1": "1-10"},
        title="a range goes up",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1-10%2:3»
        srun ./a.out
        """,
        unsafe_fixed={"--array=1-10%2:3": "--array=1-10:3%2"},
        severity="warning",
        title="the step is dropped",
    ),
    Bad("#!/bin/bash\n#SBATCH --array=«1-0»\nsrun ./a.out\n", severity="warning", title="no index yet"),
    Good(
        "#!/bin/bash\n#SBATCH --time=5\nFILES=()\nwhile read -r each; do FILES+=($each); done < list.txt\n"
        "N=${#FILES[@]}\n[ $N -gt 0 ] || exit 1\nsbatch --array=1-$N --time=5 work.sh\n",
        title="as many as the loop adds",
    ),
    Bad("#!/bin/bash\n#SBATCH --array=«1-ten»\nsrun ./a.out\n", title="words"),
    Bad("#!/bin/bash\n#SBATCH --array=«-1-5»\nsrun ./a.out\n", title="no index is negative"),
    Good("#!/bin/bash\n#SBATCH --array=1-10:2%4\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --array=[1-10],20,1%0\nsrun ./a.out\n", title="brackets, duplicates, no limit"),
    Good("#!/bin/bash\n#SBATCH -a 1-5%2,8,\nsrun ./a.out\n", title="the limit is for all of it"),
]
