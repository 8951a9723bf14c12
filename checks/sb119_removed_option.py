"""Newer releases of Slurm no longer have an option, or a value of one.

A script that worked before an upgrade is refused after it: `sbatch: unrecognized option '--workdir=/tmp'`. `--workdir`
became `--chdir`, `--share` became `--oversubscribe`; `--power` was removed in 24.05, the value of `--get-user-env` in
25.05, and srun's `--uid` and `--gid` in 23.02.5. Counts of several features (`--constraint="a*2&b*4"`) need brackets
from 23.02 on. Names that still work for now (`packjob`, `--pack-group`) are only pointed out.

`slurm-version` says which releases count.

An error where sbatch or srun refuses it; a warning for a value that srun ignores, advice where it starts one task;
advice for old names that still work.

## Fix

Writes the new name where Slurm renamed an option, also in comments that name it, and removes the value that
`--get-user-env` no longer takes. Safe: it means the same. An option that was removed for good has no fix.

## References

sbatch(1), srun(1); release notes of Slurm 19.05 to 25.05; `common_options[]` in src/common/slurm_opt.c, 20.11 to
26.05; `slurm_verify_cpu_bind()` in src/common/slurm_resource_info.c, 24.11; `_feature_string2list()` in
src/slurmctld/job_scheduler.c, 23.02.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.directives.unknown_options import MissingOption, missing_options, missing_step_options
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, replace
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Problems, Refused, StepOptions, Written

CARD = Card(
    "SB119", "removed-option", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("unknown-option", "unexpected-value") | StepOptions("cpu-bind", "het-group") | Written("dropped")
    | Refused("constraint"),
)  # fmt: skip

_COMMENT = Regex(r"[ \t]*#(?!SBATCH\b)")


def check(job: Job) -> Iterator[Finding]:
    for span, missing in missing_options(job):
        if missing.kind != "new":
            yield _removed(job, span, missing)
    for problem in job.directives.problems:
        if problem.kind == "unexpected-value" and problem.candidates == ("get-user-env",):
            when = job.versions.suffix(problem.versions)
            span = Span(problem.span.start + len(problem.written), problem.span.end)
            exact = job.source.slice(problem.span).startswith(f"{problem.written}=")
            message = f"--get-user-env no longer takes a value, so sbatch refuses the script{when}; remove the value"
            fix = Fix("remove the value", [remove(span)], safe=True) if exact else None
            yield Finding(problem.span, message, fix=fix, versions=problem.versions)
    for setting, refusal in job.directives.refused:
        if refusal.kind == "constraint" and typo(job.directives, setting) is None:
            instead = f"; write {refusal.instead}" if refusal.instead else ""
            when = job.versions.suffix(refusal.versions)
            message = f"counts of several features need brackets, and slurmctld refuses the job{when}{instead}"
            yield Finding(setting.value_place, message, versions=refusal.versions)
    yield from _separators(job)
    for span, missing in missing_step_options(job):
        if missing.kind != "new":
            since = "23.02.5" if missing.written in ("--uid", "--gid") else missing.since
            message = f"the step fails: srun has no `{missing.written}` in Slurm {since} and later; remove it"
            yield Finding(span, message, versions=missing.absent)
    yield from _steps(job)


def _removed(job: Job, span: Span, missing: MissingOption) -> Finding:
    written, absent = missing.written, missing.absent
    if missing.gone is not None and missing.gone.name is not None:
        name = f"--{missing.gone.name}"
        message = f"sbatch refuses `{written}`, the old name of `{name}`; write `{name}`"
        exact = job.source.slice(span) == written
        edits = [replace(each, name) for each in {span, *_named_in_comments(job, written)}]
        fix = Fix(f"write {name}", edits, safe=True) if exact else None
        return Finding(span, message, fix=fix, versions=absent)
    if missing.kind == "gap":
        message = f"sbatch has no `{written}`{job.versions.suffix(missing.absent)}, and refuses the script there"
        return Finding(span, f"{message}; remove it, or set sbatchlint's `slurm-version`", versions=absent)
    message = f"Slurm {missing.since} removed `{written}`, so sbatch refuses the script; remove it"
    return Finding(span, message, versions=absent)


def _named_in_comments(job: Job, written: str) -> Iterator[Span]:
    """The places where comments of the script name an option."""
    text = job.source.own.text
    for found in re.finditer(rf"(?<![\w-]){re.escape(written)}(?![\w-])", text if written[:2] == "--" else ""):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if _COMMENT.match(line) is not None and not job.in_quoted_text(found.start()):
            yield Span(*found.span())


def _separators(job: Job) -> Iterator[Finding]:
    """Findings on lines between the components of a heterogeneous job that use the old name."""
    text = job.directives.text
    for line in job.directives.lines:
        at = text.string.lower().find("packjob", line.words_start, line.end) if line.separator else -1
        if at >= 0 and not text.string[line.words_start : at].strip():
            span = text.span(at, at + len("packjob"))
            fix = Fix("write hetjob", [replace(span, "hetjob")], safe=True)
            yield Finding(span, "packjob has been called hetjob since Slurm 20.02; write hetjob", "info", fix=fix)


def _steps(job: Job) -> Iterator[Finding]:
    """Findings on names and values of srun options that newer releases have dropped."""
    ignoring = [version for version in job.versions.majors if not is_before(version, "24.11")]
    for step in job.steps:
        for option in step.all_options:
            if option.written == "--pack-group":
                exact = job.source.slice(option.span).startswith(option.written)
                name = Span(option.span.start, option.span.start + len(option.written))
                fix = Fix("write --het-group", [replace(name, "--het-group")], safe=True) if exact else None
                message = "--pack-group has been called --het-group since Slurm 20.02; write --het-group"
                yield Finding(option.span, message, "info", fix=fix)
            elif option.name == "cpu-bind" and ignoring and "rank" in (option.text or "").lower().split(","):
                message = f"srun ignores the obsolete --cpu-bind=rank{job.versions.suffix(ignoring)}"
                message += "; write --cpu-bind=cores, or another binding"
                yield Finding(option.span, message, "info" if step.tasks == 1 else "warning")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--workdir»=/scratch/run
        #SBATCH «--share»
        srun ./a.out
        """,
        fixed={"--workdir=/scratch/run": "--chdir=/scratch/run", "--share": "--oversubscribe"},
        title="renamed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --export=NONE
        #SBATCH «--get-user-env=30L»  # from 25.05 on without a value
        srun ./a.out
        """,
        fixed={"--get-user-env=30L": "--get-user-env"},
        severity="warning",
    ),
    Bad(
        "#!/bin/bash\n#SBATCHES «--workdir»=/scratch/run\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCHES --chdir=/scratch/run\nsrun ./a.out\n",
        title="on a line that looks like a comment",
    ),
    Bad("#!/bin/bash\n#SBATCH «--power»=level\nsrun ./a.out\n", title="removed for good"),
    Bad("#!/bin/bash\n#SBATCH -N2\nsrun «--uid=1000» ./a.out\n", title="on srun"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH «packjob»
        #SBATCH --nodes=2
        srun ./a.out
        """,
        fixed={"packjob": "hetjob"},
        severity="info",
    ),
    Bad(
        '#!/bin/bash\n#SBATCH --nodes=6\n#SBATCH --constraint=«"a*2&b*4"»\nsrun ./a.out\n',
        title="counts without brackets",
    ),
    Good("#!/bin/bash\n#SBATCH --chdir=/tmp --oversubscribe --get-user-env\nsrun ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH --power=level --get-user-env=L\nsrun --uid=1000 ./a.out\n",
        settings={"slurm-version": "22.05"},
        title="the site's Slurm still has them",
    ),
]
