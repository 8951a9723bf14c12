"""srun ignores an option: a step in a job has no partition, account or dependency of its own.

Inside a batch job srun starts a step on the nodes of the job. `srun --partition=gpu` does not use another partition,
`srun --dependency=afterok:7` waits for nothing, and `srun --mail-type=END` sends no mail: srun accepts these options
and silently ignores them, but for `--begin`, of which it prints that it is ignored. `--time` is different: it limits
the step. Where the value is the job's own, this is only advice.

## Fix

Removes the option, which changes nothing: safe. Such an option belongs in the job's directives, or on the command line
of its sbatch.

## References

srun(1), options that apply to job allocations; `create_job_step()` in src/srun/libsrun/launch.c of 22.05 and
src/srun/launch.c of 26.05, which do not send them; live runs of 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import dashed
from sbatchlint.analysis.editing.options import remove_step_option
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.launchers import mpi
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import StepOptions

CARD = Card(
    "SB331", "partition-on-step", severity="warning", fix="sometimes", since="0.1.0",
    when=StepOptions(
        "account", "begin", "deadline", "dependency", "hold", "mail-type", "mail-user", "partition", "priority", "qos",
        "reservation", "time-min",
    ),
    batch=True,
    unseen="Nothing: the step runs in the job's own partition.",
)  # fmt: skip

WAITING = ("begin", "dependency", "hold")
# Variables with the job's own value: set by Slurm, or read by srun and sbatch instead of the option.
OWN = {
    option: {f"{prefix}_{option.upper()}" for prefix in ("SLURM_JOB", "SLURM", "SBATCH")}
    for option in ("account", "partition", "qos", "reservation")
}
# `-pmix` is `-p mix`.
MPI = Regex(r"-(pmix(?:_v\d)?|pmi[12x]?)")
EFFECTS = {
    "account": "the step is charged to the job's account",
    "partition": "the step runs in the job's partition",
    "qos": "the step has the job's QOS",
    "reservation": "the step runs in the job's reservation",
    **dict.fromkeys(WAITING, "the step starts at once"),
    **dict.fromkeys(("mail-type", "mail-user"), "no mail is sent for a step"),
    **dict.fromkeys(("deadline", "priority", "time-min"), "only an allocation has one"),
}


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    if "SLURM_JOB_ID" in step.invocation.state.variables or not {"test-only", "pty"}.isdisjoint(step.options):
        return  # srun may request an allocation of its own; interactive work does (SB809)
    for option in step.options.values():
        if option.name in EFFECTS and not _lacks_dash(option) and not _may_be_of_program(job, step, option):
            yield _finding(job, step, option)


def _lacks_dash(option: StepOption) -> bool:
    """Whether a long option of srun has one dash (`-pty`), which another check reports (SB109)."""
    return dashed(option.as_written.replace(" ", ""), "srun") is not None


def _may_be_of_program(job: Job, step: Step, option: StepOption) -> bool:
    """Whether a word before the option is the program where another branch has set its variable."""
    return not step.certain and any(
        other.invocation.span == step.invocation.span
        and all(each.span != option.span for each in other.options.values())
        for other in job.steps
    )


def _finding(job: Job, step: Step, option: StepOption) -> Finding:
    same = option.text is not None and option.text == _of_job(job, step, option) or _is_own(option)
    # where one of the two values is not known, they may be the same
    unknown = step.request.has_option(option.name) and None in (option.text, step.request.value(option.name))
    advice = "remove the option" if same else f"remove the option, or pass --{option.name} to sbatch"
    plugin = MPI.fullmatch(option.as_written.replace(" ", ""))
    if plugin is not None:
        advice = f"write `--mpi={plugin[1]}`, if that is intended"
    edit = remove_step_option(job, step, option) if plugin is None else None
    written = _as_written(job, option)
    message = f"inside a job, srun ignores `{written}`: {EFFECTS[option.name]}; {advice}"
    if plugin is None and _is_of_mpirun(written):
        read = f"`{option.written}` (--{option.name})"
        message = f"srun reads `{written}`, an option of mpirun, as {read}, and ignores it inside a job; remove it"
    apart = not step.invocation.span.contains(option.span)  # the option comes from a variable
    return Finding(
        option.span,
        message,
        "info" if same or unknown else None,
        related=[(step.place, "the step")] if apart else (),
        fix=None if edit is None else Fix(f"remove {option.written}", [edit], safe=True),
    )


def _is_of_mpirun(written: str) -> bool:
    """Whether a word that srun reads as a letter and its value is an option of mpirun: `-display-map`, `-bynode`."""
    name = written.partition(" ")[0].removeprefix("-")
    known = name in mpi.SYNTAX.flags or name in mpi.SYNTAX.values
    return known and len(name) > 1 and name[0] != "-"


def _of_job(job: Job, step: Step, option: StepOption) -> str | None:
    """The job's own value; the default partition of the profile where the job names none."""
    if option.name == "partition" and not step.request.has_option("partition") and job.site.profile is not None:
        return job.site.profile.default_partition
    return step.request.value(option.name)


def _as_written(job: Job, option: StepOption) -> str:
    """The option as the script has it; as one would write it where its text comes from elsewhere."""
    written = job.source.slice(option.span)
    closed = all(written.count(quote) % 2 == 0 for quote in "\"'")
    return written if written.startswith(option.written) and closed and "\n" not in written else option.as_written


def _is_own(option: StepOption) -> bool:
    """Whether the value is only a variable with the job's own value."""
    if option.value is None or len(option.value) != 1 or option.value[0].expansion is None:
        return False
    return option.value[0].expansion.name in OWN.get(option.name, ())


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «--partition=gpu» --ntasks=2 python train.py
        """,
        fixed={"--partition=gpu --ntasks=2": "--ntasks=2"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun «-p batch» -n 2 ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2\nsrun -n 2 ./a.out\n",
        settings={"site": {"profile": "example"}}, severity="info", title="the default partition of the profile",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --partition=gpu
        srun «-p gpu» -n 2 ./a.out
        """,
        fixed={"-p gpu -n": "-n"},
        severity="info",
        title="the job's own",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «--account="$SLURM_ACCOUNT»" «-p $SLURM_JOB_PARTITION» -n 2 ./a.out
        """,
        fixed={'--account="$SLURM_ACCOUNT" -p $SLURM_JOB_PARTITION -n': "-n"},
        severity="info",
        title="from the variables that pass it to the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        first=$(sbatch --parsable prepare.sh)
        srun «--dependency=afterok:»$first ./a.out
        """,
        fixed={"--dependency=afterok:$first ./a.out": "./a.out"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\nsrun -l «-pmix» ./a.out\n",
        title="a plugin of MPI, with one hyphen too few",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun --time=10:00 --constraint=a100 -w node1 ./a.out\n", title="of a step"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nunset SLURM_JOB_ID\nsrun --partition=gpu ./a.out\n",
        title="no longer inside the job",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out --partition=8 -p 3\n", title="the program's own options"),
]  # fmt: skip
