"""srun starts nothing: it gets an option that only sbatch knows.

Both share most of their options, but what controls the submission (`--array`, `--wrap`, `--requeue`, `--batch`,
`--wait-all-nodes`) belongs to sbatch alone: `srun: unrecognized option '--array=1-4'`, and the step fails. `--wait`
exists twice: for sbatch it is a flag, for srun it takes seconds, and the next word is read as those.

Options that srun has in other releases (`--uid`, `--parsable`) are reported by removed-option and option-too-new.

## Fix

None: a directive at the head of the script would set it for the whole job, which may not be what was meant.

## References

srun(1), sbatch(1); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.unknown_options import submission_options
from sbatchlint.bash.values import span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.steps import Step
from sbatchlint.source.numbers import is_number
from sbatchlint.triggers import Problems, StepOptions

CARD = Card(
    "SB114", "submission-option-on-step", severity="error", fix="never", since="0.1.0", alone=True,
    when=Problems("unknown-option") | StepOptions("wait"), seen="a live run of Slurm 22.05",
)  # fmt: skip


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    argv = step.invocation.argv
    for problem, name in submission_options(step, job.versions):
        when = job.versions.suffix(problem.versions)
        message = f"the step does not start{when}: `{problem.written}` is an sbatch option, which srun does not know"
        advice = f"remove `{problem.written}`" if name == "wrap" else f"write it as #SBATCH --{name}"
        yield Finding(span_of(argv[problem.word + 1]), f"{message}; {advice}", versions=problem.versions)
    wait = step.option("wait")
    if wait is None or wait.word == wait.value_word or wait.text is None:
        return
    if is_number(wait.text.strip().removeprefix("+").removeprefix("-")):
        return
    message = f"srun reads `{wait.text}` as the number of seconds for its {wait.written}"
    advice = f"write {wait.written}{'=' if wait.written[:2] == '--' else ' '}SECONDS, or pass the flag to sbatch"
    yield Finding(span_of(argv[wait.word]), f"{message}; {advice}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «--array=1-4» ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun -N 2 «--wait-all-nodes=1» ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun «--wrap» './a.out'\n", title="srun takes the command itself"),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun «--wait» ./a.out\n", title="a flag of sbatch, seconds of srun"),
    Good("#!/bin/bash\n#SBATCH --array=1-4\nsrun --wait=60 --dependency=singleton ./a.out\n", title="srun has these"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out --array=1-4 --requeue\n", title="the program's own options"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsbatch --wrap='./a.out' --requeue\n", title="an sbatch in the job"),
]
