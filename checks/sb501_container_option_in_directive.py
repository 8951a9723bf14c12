"""sbatch refuses a pyxis option, or applies it to every step: it belongs to srun.

pyxis adds `--container-…` to srun. sbatch accepts these options only where pyxis 0.12 or newer is installed with its
sbatch support enabled: elsewhere it prints `sbatch: unrecognized option '--no-container-mount-home'`, and nothing is
submitted. Where it accepts the option, pyxis complains that it ignores it (the batch script does not run in a
container), complains again at each srun without a container, and then applies it to all the others.

The same holds for options on the command line of sbatch and salloc, whether in a script for the login node or in a job.

Tell sbatchlint which of the two applies to your site with `pyxis-in-sbatch`: false makes this an error, true advice.
With `--container-image` in a directive the batch script itself runs in a container, which batch-script-in-container
reports.

## Fix

Moves the option from the directive to each srun with a container that has neither it nor its opposite. Safe where all
of these are written out in the file. Unsafe where an srun may have unknown options, or none has a container. There is
no fix for a command line.
`--container-save` is never moved to several steps: each would write the same file.

## References

pyxis README and pyxis_args.c, 0.11 to 0.24; `spank_init_allocator()` and sbatch.c of Slurm 22.05 to 26.05; live runs.
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.editing.options import add_step_option, knows_all_steps
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, quoted, remove
from sbatchlint.job.containers import PYXIS_OPTIONS, opposite
from sbatchlint.job.programs import commands_named
from sbatchlint.job.srun import options_of
from sbatchlint.job.steps import Step
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal
from sbatchlint.source.numbers import at_lines
from sbatchlint.triggers import Commands, Options

CARD = Card(
    "SB501", "container-option-in-directive", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("container-*", "no-container-*") | Commands("sbatch", "salloc"),
    seen="runs of pyxis 0.24 on Slurm 22.05; Azure/az-hop#1023",
)  # fmt: skip

_STARTING = "the srun that starts the container"
# By the setting `pyxis-in-sbatch`: whether sbatch accepts the options of pyxis.
EFFECTS = {
    None: ("belongs on srun: {} refuses it or passes it to every step", "warning"),
    False: ("belongs on srun: {} refuses it, so nothing starts", "error"),
    True: ("passed to {} reaches every step, and steps without a container print errors", "info"),
}


def check(job: Job) -> Iterator[Finding]:
    yield from _on_command_lines(job)
    # those on the command line of an sbatch in a script are reported there
    block = job.directives.settings if job.directives.submitted is None else job.directives.every_setting
    settings = [each for each in block if each.name in PYXIS_OPTIONS]
    if any(each.name in ("container-image", "container-name") for each in settings):
        return
    targets = [step for step in job.steps if step.container is not None and step.container.kind == "pyxis"]
    places = {step.invocation.name_span: job.line(step.span.start) for step in targets}
    lines = sorted(set(places.values()))
    where = f"the srun{'s' if len(lines) > 1 else ''} on {at_lines(lines, 'and')}" if lines else _STARTING
    effect, severity = EFFECTS[job.site.pyxis_in_sbatch]
    for setting in settings:
        yield Finding(
            setting.span,
            f"--{setting.name} {effect.format('sbatch')}; pass it to {where}",
            severity=severity,
            related=[(span, "this srun starts a container") for span in list(places)[:3]],
            fix=_fix(job, setting, targets),
        )


def _on_command_lines(job: Job) -> Iterator[Finding]:
    """The findings on the options of each sbatch and salloc, even where these stand in an array or a variable."""
    effect, severity = EFFECTS[job.site.pyxis_in_sbatch]
    for command in commands_named(job, "sbatch", "salloc"):
        if not any("container" in word for word in command.words):
            continue
        options = options_of(command, command.name or "", job.versions, job.site)
        if "container-image" in options or "container-name" in options:
            continue
        for option in options.values():
            if option.name in PYXIS_OPTIONS:
                message = f"--{option.name} {effect.format(command.name)}; pass it to {_STARTING}"
                yield Finding(option.span, message, severity=severity)


def _fix(job: Job, setting: Setting, targets: Sequence[Step]) -> Fix | None:
    if job.directives.components > 1 or setting.versions is not None:
        return None
    edits = removal(job.directives, [setting])
    if job.is_embedded and edits != [remove(setting.line.full)] and "$" in job.source.slice(setting.line.full):
        return None  # the expanded value may be written elsewhere
    if not targets:
        certain = all(step.certain for step in job.steps)
        return Fix("remove it from the directive", edits) if certain else None
    several = len({step.span for step in targets}) > 1
    steps_without = [step for step in targets if not _has(step, setting)]
    written = _written(job, setting)
    if written is None or setting.name == "container-save" and several:
        return None
    word, same = written
    added = add_step_option(job, steps_without, word, PYXIS_OPTIONS, as_in_file=True)
    if added is None:
        return None
    adds_up = setting.name == "container-env" and any(step.option(setting.name) for step in steps_without)
    safe = same and not adds_up and knows_all_steps(job)
    return Fix(f"move it to the srun{'s' if several else ''} with a container", [*edits, *added], safe=safe)


def _has(step: Step, setting: Setting) -> bool:
    """Whether an srun itself has the option or its opposite. Lists add up, so for these only the same value counts."""
    if setting.name in ("container-mounts", "container-env"):
        return any(each.name == setting.name and each.text == setting.text for each in step.all_options)
    return step.option(setting.name) is not None or step.option(opposite(setting.name) or "") is not None


def _written(job: Job, setting: Setting) -> tuple[str, bool] | None:
    """The option as a word for the shell, and whether it means the same there; None where it cannot be written."""
    name = f"--{setting.name}"
    if setting.value is None:
        return name, True
    value = setting.text
    raw = job.source.text[setting.option_span.start : setting.line.full.end].split()[0]
    if job.directives_expand and "$" in raw:
        # in a heredoc a variable means the same on every line
        return (raw, True) if raw.startswith(f"{name}=") and not set(raw) & set("\\\"'`()#") else None
    if value is None or job.is_embedded and quoted(value) != value:
        return None
    if "$" in value or "`" in value:
        # sbatch does not expand it, but the author expected that
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
        fixed={"#SBATCH --no-container-mount-home\n": "", "python": "--no-container-mount-home python"},
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
        fixed={
            "#SBATCH --no-container-mount-home  #": "#",
            '--container-mounts="$PWD:/work")': '--container-mounts="$PWD:/work" --no-container-mount-home)',
        },
        severity="warning",
        title="the options stand in an array",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--container-mount-home»
        srun python train.py
        """,
        unsafe_fixed={"#SBATCH --container-mount-home\n": ""},
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
