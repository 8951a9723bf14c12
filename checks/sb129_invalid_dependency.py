"""The job does not wait as intended: Slurm refuses its dependency, or reads it differently.

The controller answers `Batch job submission failed: Job dependency problem`, and nothing is submitted. A dependency is
`singleton` or `TYPE:JOB[:JOB…]` with the types after, afterany, afterok, afternotok, aftercorr, afterburstbuffer and
expand; several are joined by `,` (all) or `?` (any), which from 25.11 on cannot be mixed.

A job id alone is the old form, and means afterany: `afterok:1,2` is `afterok:1,afterany:2`, and the job starts even if
job 2 failed. A dependency without any type (`--dependency=$JOB`) is only advice: perhaps that is meant.

## Fix

Writes what was probably meant: `afterok=1` becomes `afterok:1`, `afterok:1,2` becomes `afterok:1:2`. Unsafe.

## References

sbatch(1); `_parse_dependency_str()` and `update_job_dependency()` in src/slurmctld/job_scheduler.c, Slurm 20.11 to
26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.directives.wrong_values import span_of_words, wrong_values
from sbatchlint.bash.values import Pieces, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.programs import commands_named
from sbatchlint.job.srun import options_of
from sbatchlint.slurm.grammar.dependencies import DependencyFault, parse
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Options, Refused

CARD = Card(
    "SB129", "invalid-dependency", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Options("dependency") | Refused("dependency") | Commands("sbatch"),
    seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

_JOB = Regex(r"[1-9]\d*")


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "dependency"):
        fix = Fix(f"write {wrong.instead}", wrong.edits) if wrong.edits else None
        advice = "write TYPE:JOB, such as afterok:1234" if wrong.instead is None else f"write {wrong.instead}"
        if "mixed" in wrong.reason:
            advice = "use only `,` or only `?`"
        yield Finding(wrong.span, f"{wrong.fault}; {advice}", fix=fix, versions=wrong.versions)
    yield from _bare_jobs(job)
    for setting in job.directives.every_setting:
        if setting.name == "dependency" and _JOB.fullmatch(setting.text or ""):
            yield Finding(setting.value_place, *_untyped(setting.text))
    for command in commands_named(job, "sbatch"):
        option = options_of(command, "sbatch", job.versions, job.site).get("dependency")
        if option is not None and option.value and (_is_job(option.value) or _JOB.fullmatch(option.text or "")):
            yield Finding(span_of(command.argv[option.word]), *_untyped(option.text))


def _untyped(text: str | None) -> tuple[str, str]:
    """The message and the severity for a dependency that is only a job ID."""
    named = text or "a job ID"
    message = f"{named} alone means afterany: this job starts even if that one fails"
    return f"{message}; write `afterok:` before the ID to prevent that", "info"


def _is_job(value: Pieces) -> bool:
    """Whether a value is only what an sbatch printed: the id of a job."""
    if len(value) != 1 or value[0].expansion is None:
        return False
    return any(words and words[0] == "sbatch" for words in value[0].expansion.commands)


def _bare_jobs(job: Job) -> Iterator[Finding]:
    """The finding on `afterok:1,2`, which Slurm reads as `afterok:1,afterany:2`."""
    for setting in job.directives.every_setting:
        text = setting.text
        if setting.name != "dependency" or not text or typo(job.directives, setting) is not None:
            continue
        try:
            terms = parse(text, job.versions.last)
        except DependencyFault:
            continue
        kind, intended = "", text
        bare: list[str] = []
        for term in reversed(terms):
            before = next((each for each in reversed(terms) if each.end <= term.start and not each.bare), None)
            if not term.bare or before is None or before.type in ("afterany", "singleton"):
                continue
            kind = before.type
            bare.insert(0, text[term.start : term.end])
            joined = ":" if text[term.start - 1] == "," else f"?{kind}:"
            intended = intended[: term.start - 1] + joined + intended[term.start :]
        if bare:
            ids = " and ".join(f"`{each}`" for each in bare)
            message = f"{ids} without a type {'means' if len(bare) == 1 else 'mean'} afterany, not {kind}"
            fix = Fix(f"write {intended}", [replacement(job.directives, setting, intended)])
            yield Finding(span_of_words(job.directives, setting, tuple(bare)), f"{message}; write {intended}", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --dependency=afterok:1200,«1201»
        srun ./a.out
        """,
        unsafe_fixed={"--dependency=afterok:1200,1201": "--dependency=afterok:1200:1201"},
        title="a bare id is afterany",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -d «afterok=1200»
        srun ./a.out
        """,
        unsafe_fixed={"afterok=1200": "afterok:1200"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --dependency=«after_ok:1200» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"--dependency=after_ok:1200": "--dependency=afterok:1200"},
    ),
    Bad("#!/bin/bash\n#SBATCH --dependency=«afterok:»\nsrun ./a.out\n", title="no job"),
    Bad(
        "#!/bin/bash\n#SBATCH -d «afterok:1,afterok:2?afterany:3»\nsrun ./a.out\n",
        severity="warning",
        title="mixed signs, from 25.11 on",
    ),
    Good("#!/bin/bash\n#SBATCH --dependency=singleton\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -d afterok:1200:1201,afterany:1300\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -d afterany:1200,1201\nsrun ./a.out\n", title="afterany all the same"),
    Good("#!/bin/bash\n#SBATCH -d after:1200+5,aftercorr:1300_*\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -d afterok:$JOB\nsrun ./a.out\n", title="an expansion is reported by its own check"),
]
