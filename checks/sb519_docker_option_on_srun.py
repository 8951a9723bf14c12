"""srun reads a docker option as its own, which means something else.

srun and docker share the names of some options, and srun passes none of its own on to a container. `--network=host`
sets options of the interconnect for srun: without such a plugin it does nothing, and the Slingshot and Cray plugins
refuse the word. `-e NAME=VALUE` writes the errors of the step into a file named `NAME=VALUE`, `-v /a:/b` is a flag that
makes srun verbose and leaves `/a:/b` as the program to start, `-w /folder` is a list of nodes in a file.

A container of pyxis needs none of them: it has the host's network, and the job's environment. Mounts are
`--container-mounts`, the working folder is `--container-workdir`.

An error where srun fails or starts another program; a warning where the option only has a different effect from what
was meant.

## Fix

None: what was meant must be written differently, or is not needed.

## References

srun(1); docker-run(1); README of pyxis; switch_p_alloc_jobinfo() and its parsers in src/plugins/switch.
"""

from collections.abc import Iterator

from sbatchlint.bash.values import known_prefix, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job import Step
from sbatchlint.job.argv import assignment_of
from sbatchlint.job.srun import StepOption
from sbatchlint.triggers import StepOptions

CARD = Card(
    "SB519", "docker-option-on-srun", severity="error", fix="never", since="0.1.0",
    when=StepOptions("network", "error", "verbose", "nodelist"),
)  # fmt: skip

# Networks of docker; Slurm's plugins do not know these words.
NETWORKS = ("host", "bridge", "none", "container:")


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    yield from filter(None, (_meant_for_docker(step, option) for option in step.all_options))


def _meant_for_docker(step: Step, option: StepOption) -> Finding | None:
    """The finding on an option that makes sense only for docker; None for others."""
    written, text = option.written, option.text
    if option.name == "network" and text is not None and text.startswith(NETWORKS):
        rest = "pyxis uses the host's network anyway" if step.container is not None else "remove it"
        what = f"srun's `--network` sets interconnect options, not docker's network `{text}`; {rest}"
        return Finding(option.span, f"{what}, so remove it" if step.container is not None else what, "warning")
    if written == "-e" and option.value is not None:
        setting = assignment_of(option.value)
        if setting is not None and setting[0].isupper():
            what = f"srun's `-e` sets the error file, not {setting[0]}; export {setting[0]} before srun"
            return Finding(option.span, what, "warning")
    if written == "-w" and option.value is not None and known_prefix(option.value).startswith("/") and step.container:
        return Finding(option.span, "srun reads `-w` as a file with node names; write `--container-workdir`")
    if written == "-v" and step.command is not None and step.command == option.word + 1:
        program = step.invocation.argv[step.command]
        words = shown_text(program).split(":")
        if len(words) in (2, 3) and words[1].startswith("/") and not any(each.text is None for each in program[1:]):
            what = f"srun's `-v` takes no value, so srun starts `{shown_text(program)}` as the program"
            return Finding(span_of(program), f"{what}; mount with `--container-mounts`")
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh «--network=host» python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh «-e NCCL_DEBUG=INFO» python train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh -v «/data:/data» python train.py
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --network=single_node_vni -e errors.txt -v python train.py
        srun docker run --network=host -e NCCL_DEBUG=INFO -v /data:/data train python train.py
        """,
        title="srun's own, and docker's where they belong",
    ),
]
