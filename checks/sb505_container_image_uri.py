"""The name of a container's image is not what the program that reads it takes for one.

pyxis knows three forms: a squashfs file, whose name must begin with `/` or `.`; `docker://` or `dockerd://`; else it is
an image of Docker Hub, unless the registry stands before a `#`. So `nvcr.io/nvidia/pytorch:24.05-py3` is looked for on
Docker Hub (`registry-1.docker.io/v2/nvcr.io/nvidia/pytorch ... 401 Unauthorized`) by an enroot before 4.0 that has no
credentials for nvcr.io, and `train.sqsh` by all of them. Docker and Apptainer, on the other hand, want the slash and
refuse the `#`.

## Fix

`registry/image` becomes `registry#image`, which every enroot takes: safe where nothing else uses that text, such as a
`docker pull`. The other way round for Docker and Apptainer. `./` before the name of a file is unsafe: it need not lie
in the working directory.

## References

pyxis_slurmstepd.c of pyxis, 0.1 to 0.24; `docker::_parse_uri()` and docker.sh of enroot, 3.2 to 4.1;
https://github.com/NVIDIA/pyxis/issues/39, https://github.com/NVIDIA/pyxis/issues/78,
https://github.com/NVIDIA/pyxis/issues/168
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB505", "container-image-uri", severity="warning", fix="sometimes", since="0.1.0")

MESSAGES = {
    "registry": "enroot before 4.0 looks for this on Docker Hub, unless it has credentials for {part}, and fails with "
    "401 Unauthorized; write {instead}",
    "hash": "{reader} does not know the # of enroot, and refuses the name as invalid; write {instead}",
    "file": "pyxis takes this for an image of Docker Hub, as a file's name must begin with / or .; write {instead}",
    "tilde": "the shell leaves a ~ inside of a word as it is, and pyxis takes it for an image of Docker Hub; "
    "write {instead}",
    "scheme": "pyxis knows docker:// and dockerd:// only, and looks for docker://{part}:…, an invalid name; "
    "write the path of a squashfs file",
    "local": "pyxis looks for this on Docker Hub, not among the images that were built here; write {instead}, or "
    "import it into a squashfs file",
}
TITLES = {"registry": "separate the registry by #", "hash": "separate the registry by /", "file": "name it as a file"}


def check(job: Job) -> Iterator[Finding]:
    for fault in job.image_faults():
        image = fault.image
        message = MESSAGES[fault.kind].format(part=fault.part, instead=fault.instead, reader=image.reader)
        line = job.line(image.place.start)
        elsewhere = line != job.line(image.span.start)
        yield Finding(
            image.span,
            message,
            related=[(image.place, "the image of this container")] if elsewhere else (),
            fix=_fix(fault),
        )


def _fix(fault: Any) -> Fix | None:
    return Fix(TITLES[fault.kind], fault.edits, safe=fault.safe) if fault.edits else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=«nvcr.io/nvidia/pytorch:24.05-py3» python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-image=«nvcr.io/nvidia/pytorch:24.05-py3»
        python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --container-image="nvcr.io#nvidia/pytorch:24.05-py3"
        python train.py
        """,
        title="in a directive the # is quoted",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        IMAGE=«train.sqsh»
        srun --container-image=$IMAGE python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        IMAGE=./train.sqsh
        srun --container-image=$IMAGE python train.py
        """,
        title="a file without its folder",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun apptainer exec --nv «docker://nvcr.io#nvidia/pytorch:24.05-py3» python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        srun apptainer exec --nv docker://nvcr.io/nvidia/pytorch:24.05-py3 python train.py
        """,
        title="enroot's spelling given to another program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 python train.py
        srun --container-image=/images/nvcr.io/train.sqsh python train.py
        srun --container-image=nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi
        """,
        title="a registry with #, a path, an image of Docker Hub",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=$REGISTRY/pytorch:$TAG python train.py
        srun apptainer exec docker://nvcr.io/nvidia/pytorch:24.05-py3 python train.py
        """,
        title="unknown, or read by another program",
    ),
]
