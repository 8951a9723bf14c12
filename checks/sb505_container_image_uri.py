"""The image is not found: its name does not have the form that the program reading it expects.

pyxis knows three forms: a squashfs file, whose name must begin with `/` or `.`; `docker://` or `dockerd://` (from pyxis
0.15 on); anything else is an image on Docker Hub, unless the registry is written before a `#`. So
`nvcr.io/nvidia/pytorch:24.05-py3` is looked up on Docker Hub (`registry-1.docker.io/v2/nvcr.io/nvidia/pytorch ... 401
Unauthorized`) by an enroot before 4.0 without credentials for nvcr.io, and `train.sqsh` by every release. The slash
fails only with enroot before 4.0 without credentials, so it is info. Docker and Apptainer, on the other hand, need the
slash and refuse the `#`. Without `docker://` Apptainer takes the whole name for that of a file.

## Fix

`registry/image` becomes `registry#image`, which every enroot accepts: safe where nothing else, such as a `docker pull`,
uses the same text. The other way round for Docker and Apptainer. `./` before a file name is unsafe: the file need not
be in the working directory.

## References

pyxis_slurmstepd.c of pyxis, 0.7 to 0.24 (a value that begins with `/` or `.` is a file, `docker://` is put before all
others; from 0.15 on not before one that has it, or `dockerd://`); `docker::_parse_uri()` and docker.sh of enroot, 3.2
to 4.1 (`docker://[USER@][REGISTRY#]IMAGE[:TAG]`, the slash since 4.0); https://github.com/NVIDIA/pyxis/issues/39,
https://github.com/NVIDIA/pyxis/issues/78, https://github.com/NVIDIA/pyxis/issues/168
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from sbatchlint.analysis.editing.words import reaches_only
from sbatchlint.bash.values import Pieces, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.argv import read, syntax
from sbatchlint.job.containers import Container
from sbatchlint.job.once import once
from sbatchlint.job.steps import directive_value
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Containers, Options

CARD = Card(
    "SB505", "container-image-uri", severity="warning", fix="sometimes", since="0.1.0",
    when=Containers() | Options("container-image") | Commands("enroot"),
)  # fmt: skip

# A registry's host, with a dot or a port, before a slash.
REGISTRY = Regex(r"(?:docker://)?(?:[^/@#]+@)?((?:[\w-]+\.)+[A-Za-z][\w-]*(?::\d+)?|[\w.-]+:\d+)/(?=[a-z0-9_$\ue000])")
HASH = Regex(r"docker://[\w.:-]+#|(?:[\w-]+\.)+[A-Za-z][\w-]*(?::\d+)?#")
FILE = Regex(r"[^:#@]+\.(?:sqsh|sqfs|squashfs|squash)")
FILE_ENDINGS = (".sqsh", ".sqfs", ".squashfs", ".squash", ".sif", ".tar", ".img")
SCHEME = Regex(r"(\w[\w+.-]*):(?://|(?=/))")
IMPORT = syntax("a/arch arch o/output output", "")
BUILDERS = frozenset({"docker", "podman", "podman-hpc", "buildah", "nerdctl"})


class Image(NamedTuple):
    """The image of a container. `place`: where the container is requested; `reader`: what reads the name."""

    reference: Pieces
    place: Span
    reader: str
    inherited: bool = False

    @property
    def span(self) -> Span:
        """The place where the reference is written."""
        return span_of(self.reference)


def check(job: Job) -> Iterator[Finding]:
    seen: set[tuple[int, str]] = set()
    for image in _images(job):
        if not image.reference or (image.span.start, image.reader) in seen:
            continue
        seen.add((image.span.start, image.reader))
        found = _of_pyxis(job, image) if image.reader in ("pyxis", "enroot") else _of_others(job, image)
        if found is not None:
            elsewhere = job.line(image.place.start) != job.line(image.span.start)
            yield found._replace(related=[(image.place, "the image of this container")] if elsewhere else ())


def _images(job: Job) -> Iterator[Image]:
    """The images of the job's containers, and those that enroot imports."""
    for setting in job.directives.every_setting:
        value = directive_value(setting) if setting.name == "container-image" else None
        if value is not None:
            yield Image(value, setting.span, "pyxis", True)
    for step in job.steps:
        own_options = [each for each in step.all_options if each.name == "container-image"]
        for option in own_options:
            if option.value is not None:
                yield Image(option.value, option.span, "pyxis")
        own = step.container.image if step.container is not None and not own_options else None
        if own is not None and not step.request.has_option("container-image"):
            yield Image(own, step.invocation.name_span, "pyxis")
    for invocation in job.invocations:
        info = invocation.spawn.info
        if isinstance(info, Container) and info.image is not None and info.kind not in ("pyxis", "enroot"):
            yield Image(info.image, invocation.name_span, info.kind)
        elif invocation.name == "enroot" and len(invocation.argv) > 2 and text_of(invocation.argv[1]) == "import":
            operand = read(invocation.argv, 2, IMPORT).operand
            if operand is not None:
                yield Image(invocation.argv[operand], invocation.name_span, "enroot")


def _of_others(job: Job, image: Image) -> Finding | None:
    """A `#` in the name of an image for apptainer, docker and others, which do not know it."""
    prefix = known_prefix(image.reference)
    match = HASH.match(prefix)
    if match is None or prefix.startswith(("/", ".", "~")) or image.reader == "charliecloud":
        return None
    instead, fix = _separated(job, image, match.end() - 1, "/")
    if image.reader == "apptainer" and not prefix.startswith("docker://"):
        if (text_of(image.reference) or FILE_ENDINGS[0]).endswith(FILE_ENDINGS):
            return None  # perhaps a file with that name
        message = f"apptainer reads this as a file name; write `docker://{instead}`, or the path of the file"
        return Finding(image.span, message)
    return Finding(image.span, f"{image.reader} refuses the `#` that enroot knows; write `{instead}`", fix=fix)


def _of_pyxis(job: Job, image: Image) -> Finding | None:
    """A name that pyxis or enroot takes neither for a file nor for one with a registry, and looks up on Docker Hub."""
    shown, text = shown_text(image.reference), text_of(image.reference)
    prefix = known_prefix(image.reference)
    if prefix.startswith(("/", ".")) or "#" in shown or not prefix:
        return None
    if prefix.startswith("~/"):
        instead = "$HOME" + prefix[1:] + ("" if text else "…")
        return Finding(
            image.span,
            "the shell does not expand `~` inside a word, so pyxis looks for the image on Docker Hub; write "
            f"`{instead}`",
        )
    scheme = SCHEME.match(prefix)
    if scheme is not None and scheme.group(1) not in ("docker", "dockerd", "podman") and image.reader == "pyxis":
        name = scheme.group(1)
        return Finding(
            image.span,
            f"pyxis does not know `{name}:`, and looks for the invalid name `docker://{name}:…`; write the path of a "
            "squashfs file",
        )
    if prefix.startswith(("dockerd://", "podman://")):
        return None
    if text is not None and image.reader == "pyxis" and FILE.fullmatch(text):
        start = None if image.inherited else _offset(image.reference, 0)
        read_by_steps = start is not None and reaches_only(job, start, [step.invocation for step in job.steps])
        return Finding(
            image.span,
            f"pyxis looks for this image on Docker Hub: a file name must begin with `/` or `.`; write `./{text}`",
            fix=Fix("write it as a file name", [insert(start, "./")]) if start is not None and read_by_steps else None,
        )
    match = REGISTRY.match(prefix if text is not None else shown)
    if match is not None and len(prefix) > match.end(1):
        if prefix.endswith(FILE_ENDINGS):
            return None
        instead, fix = _separated(job, image, match.end(1), "#")
        registry = match.group(1)
        return Finding(
            image.span,
            f"enroot before 4.0 looks for this image on Docker Hub unless it has credentials for {registry}; write "
            f"`{instead if len(instead) < 35 else registry + '#…'}`",
            "info",
            fix=fix,
        )
    if text is not None and image.reader == "pyxis" and "/" not in text and _is_built_here(job, text):
        return Finding(
            image.span,
            f"pyxis looks for this image on Docker Hub, not among docker's local images; write `dockerd://{text}`, or "
            "import it into a squashfs file",
        )
    return None


def _separated(job: Job, image: Image, at: int, separator: str) -> tuple[str, Callable[[], Fix | None]]:
    """The reference with another character after the registry, at `at`, and a function that builds the fix."""
    shown = shown_text(image.reference).replace("\ue000", "…")
    instead = shown[:at] + separator + shown[at + 1 :]
    written = f'"{instead}"' if image.inherited and separator == "#" else instead  # a directive ends at a bare `#`
    return written, partial(_separate, job, image, at, separator, instead)


def _separate(job: Job, image: Image, at: int, separator: str, instead: str) -> Fix | None:
    title = f"separate the registry with {separator}"
    if image.inherited:
        setting = next(each for each in job.directives.every_setting if each.span == image.place)
        if setting.value is None or job.is_embedded:
            return None
        return Fix(title, [replacement(job.directives, setting, instead)], safe=True)
    offset = _offset(image.reference, at)
    if image.reader in ("pyxis", "enroot"):
        readers = [step.invocation for step in job.steps] + [each for each in job.invocations if each.name == "enroot"]
    else:
        readers = [each for each in job.invocations if each.name not in ("srun", "enroot")]
    if offset is None or job.source.text[offset] not in "/#" or not reaches_only(job, offset, readers):
        return None
    return Fix(title, [Edit(Span(offset, offset + 1), separator)], safe=True)


def _offset(field: Pieces, at: int) -> int | None:
    """The offset in the file of a character of a field; None where it comes from an expansion."""
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if at < size:
            return None if piece.text is None or piece.expansion is not None else piece.offset(at)
        at -= size
    return None


def _is_built_here(job: Job, text: str) -> bool:
    """Whether the script builds an image with that name, or its tag says that it is local."""
    return text.endswith(":local") or text in _built_images(job)


@once
def _built_images(job: Job) -> frozenset[str | None]:
    """The words of the commands that build or tag images."""
    words = [[text_of(field) for field in each.argv[1:]] for each in job.invocations if each.name in BUILDERS]
    building = (each for each in words if len(each) > 1 and ("build" in each[:2] or "tag" in each[:1]))
    return frozenset(chain.from_iterable(building))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=«nvcr.io/nvidia/pytorch:24.05-py3» python train.py
        """,
        fixed={
            "--container-image=nvcr.io/nvidia/pytorch:24.05-py3": "--container-image=nvcr.io#nvidia/pytorch:24.05-py3",
        },
        severity="info",
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
        severity="info",
        title="in a directive the # is quoted",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        IMAGE=«train.sqsh»
        srun --container-image=$IMAGE python train.py
        """,
        unsafe_fixed={"IMAGE=train.sqsh": "IMAGE=./train.sqsh"},
        title="a file without its folder",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun apptainer exec --nv «docker://nvcr.io#nvidia/pytorch:24.05-py3» python train.py
        """,
        fixed={"docker://nvcr.io#nvidia/pytorch:24.05-py3": "docker://nvcr.io/nvidia/pytorch:24.05-py3"},
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
