"""A pyxis option such as `--no-container-mount-home` in a directive: sbatch may refuse it, and every step gets it.

pyxis adds `--container-…` to srun. sbatch takes these options only where pyxis 0.12 or newer is installed with its
sbatch support on: elsewhere `sbatch: unrecognized option '--no-container-mount-home'`, and nothing is submitted. Where
it is taken, pyxis complains that it ignores the option (the batch script runs in no container), complains again at each
srun without a container, and then applies it to all the others.

Tell sbatchlint which of the two your site is by `pyxis-in-sbatch`: an error for false, an advice for true. With
`--container-image` in a directive the batch script itself runs in a container, which batch-script-in-container reports.

## Fix

Takes the option out of the directive and gives it to each srun with a container that has neither it nor its opposite.
Safe where all of these are plain in the file. Unsafe where an srun may have options that cannot be known, or none has a
container. `--container-save` is never given to several steps: each would write the same file.

## References

pyxis README and pyxis_args.c, 0.11 to 0.24; `spank_init_allocator()` and sbatch.c of Slurm 22.05 to 26.05; live runs.
"""

from collections.abc import Collection, Iterator, Sequence

from sbatchlint.analysis.editing.options import add_step_option, knows_all_steps
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, quoted, remove
from sbatchlint.job.containers import PYXIS_OPTIONS, opposite
from sbatchlint.job.steps import Step
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal
from sbatchlint.triggers import Options

CARD = Card(
    "SB501", "container-option-in-directive", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("container-*", "no-container-*"), seen="runs of pyxis 0.24 on Slurm 22.05; Azure/az-hop#1023",
)  # fmt: skip

# By what the settings say of the site: whether sbatch takes the options of pyxis.
EFFECTS = {
    None: ("belongs to srun: sbatch refuses it or gives it to every step", "warning"),
    False: ("belongs to srun, and sbatch refuses the script", "error"),
    True: ("in a directive goes to every step, and those without a container complain", "info"),
}


def check(job: Job) -> Iterator[Finding]:
    settings = [each for each in job.directives.settings if each.name in PYXIS_OPTIONS]
    if any(each.name in ("container-image", "container-name") for each in settings):
        return
    targets = [step for step in job.steps if step.container is not None and step.container.kind == "pyxis"]
    places = {step.invocation.name_span: job.line(step.span.start) for step in targets}
    effect, severity = EFFECTS[job.site.pyxis_in_sbatch]
    for setting in settings:
        yield Finding(
            setting.span,
            f"--{setting.name} {effect}; give it to {_named(places.values())}",
            severity=severity,
            related=[(span, "this srun starts a container") for span in list(places)[:3]],
            fix=_fix(job, setting, targets),
        )


def _named(rows: Collection[int]) -> str:
    lines = sorted(set(rows))
    if not lines:
        return "the srun that starts the container"
    if len(lines) == 1:
        return f"the srun on line {lines[0]}"
    return "the sruns on lines " + ", ".join(map(str, lines[:-1])) + f" and {lines[-1]}"


def _fix(job: Job, setting: Setting, targets: Sequence[Step]) -> Fix | None:
    if job.directives.components > 1 or setting.versions is not None:
        return None
    edits = removal(job.directives, [setting])
    if job.is_embedded and edits != [remove(setting.line.full)] and "$" in job.source.slice(setting.line.full):
        return None  # what is expanded may stand elsewhere
    if not targets:
        certain = all(step.certain for step in job.steps)
        return Fix("take it out of the directive", edits) if certain else None
    several = len({step.span for step in targets}) > 1
    lacking = [step for step in targets if not _has(step, setting)]
    written = _written(job, setting)
    if written is None or setting.name == "container-save" and several:
        return None
    word, same = written
    added = add_step_option(job, lacking, word, PYXIS_OPTIONS, as_in_file=True)
    if added is None:
        return None
    adds_up = setting.name == "container-env" and any(step.option(setting.name) for step in lacking)
    safe = same and not adds_up and knows_all_steps(job)
    return Fix(f"give it to the srun{'s' if several else ''} with a container", [*edits, *added], safe=safe)


def _has(step: Step, setting: Setting) -> bool:
    """Whether an srun has the option, or its opposite, itself. Lists add up, so that only the same one counts."""
    if setting.name in ("container-mounts", "container-env"):
        return any(each.name == setting.name and each.text == setting.text for each in step.all_options)
    return step.option(setting.name) is not None or step.option(opposite(setting.name) or "") is not None


def _written(job: Job, setting: Setting) -> tuple[str, bool] | None:
    """The option as a word of the shell, and whether it means the same there."""
    name = f"--{setting.name}"
    if setting.value is None:
        return name, True
    value = setting.text
    raw = job.source.text[setting.option_span.start : setting.line.full.end].split()[0]
    if job.directives_expand and "$" in raw:
        # in a heredoc, whose variables mean the same on all its lines
        return (raw, True) if raw.startswith(f"{name}=") and not set(raw) & set("\\\"'`()#") else None
    if value is None or job.is_embedded and quoted(value) != value:
        return None
    if "$" in value or "`" in value:
        # sbatch expands nothing, but its author hoped so
        return (f'{name}="{value}"', False) if not set(value) & set('"`\\') else None
    return f"{name}={quoted(value)}", True


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--no-container-mount-home»

        srun --container-image=train.sqsh --container-mounts=/data:/data python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2

        srun --container-image=train.sqsh --container-mounts=/data:/data --no-container-mount-home python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--container-mounts="/my data:/data"»  # read only
        #SBATCH «--container-workdir=/data»
        srun hostname
        srun \\
            --container-image=train.sqsh \\
            --container-remap-root \\
            python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2  # read only
        srun hostname
        srun \\
            --container-image=train.sqsh \\
            --container-remap-root \\
            --container-mounts='/my data:/data' \\
            --container-workdir=/data \\
            python train.py
        """,
        severity="warning",
        title="one option a line; a step without a container gets none",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--no-container-mount-home»  # the image has its own
        ARGS=(--container-image=train.sqsh --container-mounts="$PWD:/work")
        srun "${ARGS[@]}" python prepare.py
        srun "${ARGS[@]}" python train.py
        """,
        fixed="""\
        #!/bin/bash
        # the image has its own
        ARGS=(--container-image=train.sqsh --container-mounts="$PWD:/work" --no-container-mount-home)
        srun "${ARGS[@]}" python prepare.py
        srun "${ARGS[@]}" python train.py
        """,
        severity="warning",
        title="the options stand in an array",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--container-mount-home»
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        srun python train.py
        """,
        settings={"site": {"pyxis-in-sbatch": False}},
        severity="error",
        title="no srun has a container",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --container-image=train.sqsh --no-container-mount-home
        python train.py
        """,
        title="the batch script itself runs in the container",
    ),
    Good("#!/bin/bash\n#SBATCH --container=bundle\nsrun ./a.out\n", title="Slurm's own option for OCI bundles"),
]
