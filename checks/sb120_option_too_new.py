"""Older releases of Slurm refuse the script: they do not know an option, or a value of one, yet.

`sbatch: unrecognized option '--tres-per-task=cpu:4'`: nothing is submitted, although the script is right for a newer
release. `--requeue` takes a value, `expedite`, from 25.11 on. Other values that are too new are reported with the
values that no release takes.

`slurm-version` says which releases the script has to run on; without it those from 22.05 to 26.05 count.

A warning, as the script was probably written for a newer Slurm; an error where the setting `slurm-version` names
releases that refuse it.

## Fix

None: an older Slurm has no way to express what a newer option asks for.

## References

sbatch(1), srun(1); release notes of Slurm 22.05 to 26.05; `common_options[]` in src/common/slurm_opt.c, 20.11 to
26.05.
"""

from collections.abc import Collection, Iterator

from sbatchlint.analysis.directives.unknown_options import missing_options, missing_step_options
from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.triggers import Problems, Refused

CARD = Card(
    "SB120", "option-too-new", severity="warning", fix="never", since="0.1.0", alone=True,
    when=Problems("unknown-option", "unexpected-value") | Refused("release"),
    seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for command, found in (("sbatch", missing_options(job)), ("srun", missing_step_options(job))):
        for span, missing in found:
            if missing.kind == "new":
                refused = _refused(job, command, missing.absent)
                yield _new(job, span, f"`{missing.written}` came with Slurm {missing.since}: {refused}", missing.absent)
    for problem in job.directives.problems:
        if problem.kind == "unexpected-value" and problem.candidates == ("requeue",) and problem.token is not None:
            value = problem.token.text.partition("=")[2]
            if value.lower() == "expedite":
                refused = _refused(job, "sbatch", problem.versions)
                yield _new(job, problem.span, f"`--requeue={value}` came with Slurm 25.11: {refused}", problem.versions)
    for wrong in wrong_values(job, "release"):
        fault = wrong.fault
        if " before Slurm " in fault.removesuffix(wrong.reason):
            fault = fault.removesuffix(f": {wrong.reason}")
        message = f"{fault}; remove it, or set sbatchlint's `slurm-version` if yours is newer"
        yield _new(job, wrong.span, message, wrong.versions)


def _new(job: Job, span: Span, message: str, versions: Collection[str] | None) -> Finding:
    """The finding: an error where the site has named its releases, or no release has the option."""
    return Finding(span, message, "error" if job.site.versions_named else None, versions=versions)


def _refused(job: Job, command: str, versions: tuple[str, ...] | None) -> str:
    """What the releases without the option do, and what to do about it."""
    failure = "refuses the script" if command == "sbatch" else "fails"
    if job.versions.suffix(versions):
        return f"an older {command} {failure}; remove it, or set sbatchlint's `slurm-version`"
    return f"your {command} is older, and {failure}; remove it, or correct sbatchlint's `slurm-version`"


CASES = [
    Bad("#!/bin/bash\n#SBATCH --ntasks=4\n#SBATCH «--tres-per-task»=cpu:4,gres/gpu:1\nsrun ./a.out\n", severity="info"),
    Bad(
        "#!/bin/bash\n#SBATCH «--stepmgr»\n#SBATCH «--segment»=4\nsrun ./a.out\n",
        settings={"slurm-version": "23.11"},
        severity="error",
        title="the site's only release",
    ),
    Bad("#!/bin/bash\n#SBATCH -n 8\nsrun «--async» ./a.out\n", title="on srun"),
    Bad("#!/bin/bash\n#SBATCH «--requeue=expedite»\nsrun ./a.out\n", title="a value"),
    Bad(
        "#!/bin/bash\n#SBATCH -n 8 --gpus=4\nsrun --gres-flags=«allow-task-sharing» ./a.out\n",
        title="a value of srun's option",
        severity="info",
    ),
    Good("#!/bin/bash\n#SBATCH --prefer=fast --requeue --exclusive=user\nsrun --exact -n 1 ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH --segment=4 --requeue=expedite\nsrun --async ./a.out\n",
        settings={"slurm-version": "26.05"},
        title="the site's Slurm is new enough",
    ),
]
