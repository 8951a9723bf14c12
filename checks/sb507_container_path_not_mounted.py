"""A command in a container uses a path of the host that the container does not see.

Docker and Podman show a container nothing of the host but what `-v` and `--mount` name; pyxis what `--container-mounts`
names and the site mounts for everybody. Inside, a folder has the path of the mount's target: with
`--container-mounts=/lustre/team/data:/data` the file `/lustre/team/data/train.bin` is `/data/train.bin`, and the first
name is `No such file or directory`; outside it is the other way round. A file that the script writes with a relative
name lies where the job was submitted, which need not be the folder that is the container's working directory.

Silent wherever the path may be there after all: a mount that is not known, folders that images bring along, file
systems that the site may mount (with pyxis: all that the script does not mount itself elsewhere), and Apptainer's own
binds.

## Fix

None: whether the path or the mount is wrong is not written down.

## References

README of pyxis; enroot's conf/mounts; docker run, `--volume`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Good, Job, Span

CARD = Card("SB507", "container-path-not-mounted", severity="warning", fix="never", since="0.1.0")

ADVICE = {"pyxis": "add it to --container-mounts", "apptainer": "add it to --bind", "docker": "mount it with -v"}


def check(job: Job) -> Iterator[Finding]:
    reported: set[Span] = set()
    for each in job.unmounted_paths():
        if each.span not in reported:
            reported.add(each.span)
            yield Finding(each.span, _message(job, each), related=_related(each))


def _message(job: Job, each: Any) -> str:
    path, line = _shown(each.path), job.line(each.container.span.start)
    advice = ADVICE.get(each.container.kind, "mount it")
    source = "" if each.mount is None else _shown_field(job, each.mount.source)
    if each.kind == "moved":
        target = _shown_field(job, each.mount.target)
        return (
            f"{path} is a path of the host: the container of line {line} sees {source} as {target}; "
            f"write {_shown(each.instead)}"
        )
    if each.kind == "other":
        there = job.line(each.teller.span.start)
        return f"{path} is not seen in the container of line {line}: that of line {there} mounts {source}; {advice}"
    if each.kind == "beside":
        return f"{path} is not seen in the container of line {line}, which mounts {source}, and not this; {advice}"
    if each.kind == "home":
        return f"the container of line {line} does not see the home folder, and so not {path}; {advice}"
    if each.kind == "written":
        return (
            f"{path} is written to the folder of submission, and the container of line {line} looks for it in "
            f"{_shown(each.instead)}, which is {source}: it is there only when sbatch runs in that folder; "
            f"write it to {source}"
        )
    if each.kind == "inside":
        return (
            f"{path} is a path of the container of line {line}, and this command runs on the host, where it is "
            f"{_shown(each.instead)}; write that, or run the command in the container"
        )
    return f"{path} is a path of the host, and no mount of the container on line {line} holds it; {advice}"


def _shown(path: str) -> str:
    return path.replace("${", "$").replace("}", "") if path.startswith("${") else path


def _shown_field(job: Job, field: Any) -> str:
    names = (piece.text or "${" + (piece.expansion.name if piece.expansion else "") + "}" for piece in field)
    return _shown("".join(names))


def _related(each: Any) -> list[tuple[Span, str]]:
    found = [(span, "so is this") for span in each.others]
    return found if each.mount is None else [*found, (each.mount.span, "what is mounted")]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=/images/train.sqsh --container-mounts=/lustre/team/data:/data \\
            python train.py --data-path «/lustre/team/data/train.bin»
        """,
        title="mounted under another name",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun docker run --rm -v /lustre/team/code:/workspace trainer python train.py --data=«/lustre/team/data»
        """,
        title="docker mounts nothing else",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/a.sqsh --container-mounts=/fsx/team:/fsx/team python prepare.py /fsx/team/data
        srun --container-image=/images/a.sqsh python train.py «/fsx/team/data»
        """,
        title="only the other step mounts it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        host_workspace=/data/projects/llm
        docker_workspace=/workspace
        cat > run.sh <<'EOF'
        python train.py
        EOF
        srun docker run --rm -v $host_workspace:$docker_workspace -w $docker_workspace trainer bash «run.sh»
        """,
        title="the script lies in the folder of submission",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=/images/train.sqsh --container-mounts=/lustre/team/code:/work \\
            python /work/train.py --data-path /lustre/team/data/train.bin
        """,
        title="the site may mount /lustre for everybody",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun docker run --rm -v /lustre/team:/lustre/team trainer python /opt/app/train.py --data=/lustre/team/data
        srun docker run --rm $MOUNTS trainer python train.py --data=/lustre/team/data
        """,
        title="mounted, in the image, or not known",
    ),
]
