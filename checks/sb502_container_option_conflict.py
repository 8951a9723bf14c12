"""srun fails: it gets two pyxis options that exclude each other.

`--container-mount-home` with `--no-container-mount-home`, `--container-writable` with `--container-readonly` and so on,
or two different images: pyxis prints `both --container-writable and --container-readonly were specified`, or
`--container-image specified multiple times`, and srun starts nothing. Unlike with Slurm's own options, the last one
does not win. An option in a directive applies to every srun of the job, so an srun cannot undo it. `--container-mounts`
and `--container-env` add up.

## Fix

Keeps the later option, which an srun's own always is, and removes the other where no other step needs it. Unsafe: which
of the two was meant is a guess.

## References

args.c of pyxis, 0.3 to 0.24; `spank_process_env_options()` of Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.pyxis import PyxisOption, is_heterogeneous, pyxis_options
from sbatchlint.analysis.editing.options import remove_step_option
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.job import Step
from sbatchlint.job.containers import opposite
from sbatchlint.job.once import once
from sbatchlint.slurm.rewriting import removal
from sbatchlint.triggers import Options, StepOptions

CARD = Card(
    "SB502", "container-option-conflict", severity="error", fix="sometimes", since="0.1.0",
    when=StepOptions("container-*", "no-container-*") | Options("container-*", "no-container-*"),
    seen="runs of pyxis 0.24 on Slurm 22.05",
)  # fmt: skip

# A second, different value for one of these is an error (args.c, 0.1 to 0.24); mounts, env and unshare add up.
ONCE = frozenset({"container-image", "container-name", "container-workdir", "container-save"})


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        if is_heterogeneous(step):
            continue
        options = pyxis_options(step)
        for index, second in enumerate(options):
            for first in options[:index]:
                if first.name == opposite(second.name):
                    what = f"`--{second.name}` with `--{first.name}`"
                elif _is_repeated(first, second):
                    what = f"a second `--{first.name}`"
                else:
                    continue
                inherited = ", inherited by srun" if first.inherited and not second.inherited else ""
                effect = "sbatch refuses the script" if second.inherited else "srun starts nothing"
                edits = _without_first(job, step, first, second)
                yield Finding(
                    second.span,
                    f"pyxis refuses {what} (line {job.line(first.span.start)}{inherited}): {effect}; keep one of them",
                    related=[(first.span, "conflicts with this")],
                    fix=Fix(f"keep the later --{second.name}", edits) if edits else None,
                )


def _is_repeated(first: PyxisOption, second: PyxisOption) -> bool:
    """Whether an option is set twice to different values; in two directives sbatch itself refuses that."""
    if first.name != second.name or first.name not in ONCE or second.inherited:
        return False
    one, other = first.text, second.text
    if one is None or other is None:
        return False
    # pyxis keeps the name without its flag, and compares it with the whole of the next one.
    return (one.partition(":")[0] if first.name == "container-name" else one) != other


def _without_first(job: Job, step: Step, first: PyxisOption, second: PyxisOption) -> list[Edit]:
    """Edits that remove the earlier option, where no other step would lose it."""
    if not first.inherited:
        option = next(each for each in step.all_options if each.span == first.span)
        edit = remove_step_option(job, step, option)
        return [] if edit is None else [edit]
    own = None if second.inherited else _options_of_all(job)
    if own is not None and second.name not in own:
        return []
    setting = next((each for each in job.directives.every_setting if each.span == first.span), None)
    return [] if setting is None or job.is_embedded else removal(job.directives, [setting])


@once
def _options_of_all(job: Job) -> set[str] | None:
    """The options that every srun with a container sets itself; None where there is no such srun."""
    starting = [step for step in job.steps if step.container is not None]
    options = [{each.name for each in pyxis_options(step) if not each.inherited} for step in starting]
    return set.intersection(*options) if options else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=train.sqsh --container-mount-home «--no-container-mount-home» python train.py
        """,
        unsafe_fixed={"--container-mount-home --no-container-mount-home": "--no-container-mount-home"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --no-container-mount-home
        srun --container-image=train.sqsh «--container-mount-home» python train.py
        """,
        unsafe_fixed={"#SBATCH --no-container-mount-home\n": ""},
        title="one stands in a directive",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        ARGS=(--container-image=/img/a.sqsh --container-writable)
        srun "${ARGS[@]}" «--container-image=/img/b.sqsh» «--container-readonly» python train.py
        """,
        unsafe_fixed={"ARGS=(--container-image=/img/a.sqsh --container-writable)": "ARGS=()"},
        title="an array has the other",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-mounts=/data:/data
        srun --container-image=a.sqsh --container-mounts=/lustre --container-mounts=/home python train.py
        """,
        title="mounts add up",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ -n "$KEEP_HOME" ]; then HOME_OPTION=--container-mount-home; else HOME_OPTION=--no-container-mount-home; fi
        srun --container-image=train.sqsh $HOME_OPTION python train.py
        """,
        title="one or the other",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-image=train.sqsh
        srun --container-image=train.sqsh --no-container-mount-home python train.py
        """,
        title="the same image again",
    ),
]
