"""sbatch refuses the script: it gets an option of srun.

`--mpi`, `--cpu-bind`, `--label`, `--kill-on-bad-exit`, `--exact`, `--unbuffered`, `--pty` and the like say how a step
is started. The job has no use for them: `sbatch: unrecognized option '--mpi=pmix'`. `--x11` is only a warning: before
Slurm had it, a plugin added it to sbatch too.

## Fix

Moves the option from the directive to the srun of the script, where there is exactly one. Unsafe: the step then runs
differently than in a script without that line.

## References

srun(1); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.unknown_options import unknown_options
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.model import Problem
from sbatchlint.slurm.rewriting import removal
from sbatchlint.triggers import Problems

CARD = Card(
    "SB113", "step-option-in-directive", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("unknown-option"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for directives, problem, commands in unknown_options(job):
        if directives.command != "sbatch" or "srun" not in commands or "sbatch" in commands:
            continue
        end = problem.span.end
        if problem.value_token is not None:
            end = directives.text.span(problem.value_token.start, problem.value_token.end).end
        span = Span(problem.span.start, end)
        fix = _fix(job, problem, span) if directives is job.directives else None
        if problem.name == "x11" and not job.site.plugins_listed:
            message = "sbatch refuses --x11, an srun option, unless the old X11 plugin adds it"
            yield Finding(span, f"{message}; move it to the srun command that needs it", "warning", fix=fix)
            continue
        advice = _advice(job, job.source.slice(span))
        yield Finding(span, f"sbatch refuses {problem.written}, an srun option; {advice}", fix=fix)


def _advice(job: Job, option: str) -> str:
    """Where an option belongs: to an srun of the script, or to one with which a program is to be started."""
    option = shortened(option, 24)
    if job.steps or any(job.submits) or commands_named(job, "srun"):
        return "move it to the srun command that needs it"
    launch = next((each for each in job.launches if each.step is None), None)
    if launch is not None:
        return f"remove it, or start the program with `srun {option}` and not with `{launch.launcher.name}`"
    return f"remove it, or write `srun {option}` before the program that needs it"


def _fix(job: Job, problem: Problem, span: Span) -> Fix | None:
    if len(job.steps) != 1 or problem.start > 1 or any(job.submits):
        return None
    place = job.steps[0].invocation.name_span
    if job.source.slice(place) != "srun":
        return None
    edits = [*removal(job.directives, [problem]), insert(place.end, " " + job.source.slice(span))]
    return Fix("move it to srun", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--mpi=pmix»
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --mpi=pmix\nsrun ./a.out": "srun --mpi=pmix ./a.out"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--cpu-bind none»  # the launcher binds
        srun --label ./a.out
        """,
        unsafe_fixed={"--cpu-bind none ": "", "--label": "--cpu-bind none --label"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--kill-on-bad-exit=1»
        srun ./prepare
        srun ./a.out
        """,
        title="two steps: which one is meant cannot be known",
    ),
    Bad("#!/bin/bash\n#SBATCH «-l»\n./a.out\n", title="no step at all"),
    Good("#!/bin/bash\n#SBATCH -W --wait-all-nodes=1\nsrun --mpi=pmix -l ./a.out\n", title="sbatch has its own -W"),
    Good("#!/bin/bash\n#SBATCH --container-image=x.sqsh\nsrun ./a.out\n", title="an option of a plugin"),
]
