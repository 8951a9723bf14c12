"""Image references: what pyxis, enroot and other container programs make of the name of an image.

pyxis (0.1 to 0.24) takes a value that begins with `/` or `.` for a squashfs file, keeps `docker://` and `dockerd://`,
and puts `docker://` in front of all others. enroot reads `docker://[USER@][REGISTRY#]IMAGE[:TAG]`; a registry in front
of a slash is understood since 4.0, and before only where enroot's credentials name it. Everybody else wants the slash.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.launch.step_options import only_in
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, known_prefix, shown_text, text_of
from sbatchlint.job.commands.argv import read, syntax
from sbatchlint.job.containers import Container
from sbatchlint.job.steps import directive_value
from sbatchlint.source.edits import Edit
from sbatchlint.source.records import NamedTuple
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# A registry's host in front of a slash: with a dot or a port.
_REGISTRY = Regex(r"(?:docker://)?(?:[^/@#]+@)?((?:[\w-]+\.)+[A-Za-z][\w-]*(?::\d+)?|[\w.-]+:\d+)/(?=[a-z0-9_$\ue000])")
_HASH = Regex(r"docker://[\w.:-]+#|(?:[\w-]+\.)+[A-Za-z][\w-]*(?::\d+)?#")
_FILE = Regex(r"[^:#@]+\.(?:sqsh|sqfs|squashfs|squash)")
_SCHEME = Regex(r"(\w[\w+.-]*):(?://|(?=/))")
_FILE_ENDINGS = (".sqsh", ".sqfs", ".squashfs", ".squash", ".sif", ".tar", ".img")
_IMPORT = syntax("a/arch arch o/output output", "")
_BUILDERS = frozenset({"docker", "podman", "podman-hpc", "buildah", "nerdctl"})


class Image(NamedTuple):
    """An image that a container is made of. `place`: where the container is asked for; `reader`: who reads the name."""

    reference: Pieces
    place: Span
    reader: str
    inherited: bool = False

    @property
    def span(self) -> Span:
        """The reference, where it is written."""
        first, last = self.reference[0], self.reference[-1]
        return Span(first.start, last.end if last.end > first.start else first.end)


class ImageFault(NamedTuple):
    """An image that is not found under its name.

    `kind`: `registry` (a slash behind it where enroot wants a `#`), `hash` (the other way round), `file` (a squashfs
    file without its folder), `tilde`, `scheme` (none that pyxis knows), `local` (built by a docker of this machine).
    `part`: the registry, or the scheme. `instead`: what to write. `edits`: that write it; `safe` as the design has it.
    """

    kind: str
    image: Image
    part: str
    instead: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False


def images(job: Job) -> Iterator[Image]:
    """The images of the job's containers, and those that enroot imports, each place once."""
    seen: set[tuple[int, str]] = set()
    for each in _all_images(job):
        if each.reference and (each.span.start, each.reader) not in seen:
            seen.add((each.span.start, each.reader))
            yield each


def _all_images(job: Job) -> Iterator[Image]:
    for setting in job.directives.settings:
        value = directive_value(setting) if setting.name == "container-image" else None
        if value is not None:
            yield Image(value, setting.span, "pyxis", True)
    for step in job.steps:
        given = [each for each in step.given if each.name == "container-image"]
        for option in given:
            if option.value is not None:
                yield Image(option.value, option.span, "pyxis")
        own = step.container.image if step.container is not None and not given else None
        if own is not None and not step.request.asked("container-image"):
            yield Image(own, step.invocation.name_span, "pyxis")
    for invocation in job.invocations:
        info = getattr(invocation.spawn, "info", None)
        if isinstance(info, Container) and info.image is not None and info.kind not in ("pyxis", "enroot"):
            yield Image(info.image, invocation.name_span, info.kind)
        elif invocation.name == "enroot" and len(invocation.argv) > 2 and text_of(invocation.argv[1]) == "import":
            operand = read(invocation.argv, 2, _IMPORT).operand
            if operand is not None:
                yield Image(invocation.argv[operand], invocation.name_span, "enroot")


def image_faults(job: Job) -> Iterator[ImageFault]:
    """The images that nothing is found under."""
    for image in images(job):
        found = _of_pyxis(job, image) if image.reader in ("pyxis", "enroot") else _of_others(job, image)
        if found is not None:
            yield found


def _of_others(job: Job, image: Image) -> ImageFault | None:
    """apptainer, docker and others know no `#`."""
    prefix = known_prefix(image.reference)
    match = _HASH.match(prefix)
    if match is None or prefix.startswith(("/", ".", "~")) or image.reader == "charliecloud":
        return None
    return _separated(job, image, "hash", match.end() - 1, "/")


def _of_pyxis(job: Job, image: Image) -> ImageFault | None:
    shown, text = shown_text(image.reference), text_of(image.reference)
    prefix = known_prefix(image.reference)
    if prefix.startswith(("/", ".")) or "#" in shown or not prefix:
        return None
    if prefix.startswith("~/"):
        return ImageFault("tilde", image, "", "$HOME" + prefix[1:] + ("" if text else "…"))
    scheme = _SCHEME.match(prefix)
    if scheme is not None and scheme.group(1) not in ("docker", "dockerd", "podman") and image.reader == "pyxis":
        return ImageFault("scheme", image, scheme.group(1), "")
    if prefix.startswith(("dockerd://", "podman://")):
        return None
    if text is not None and image.reader == "pyxis" and _FILE.fullmatch(text):
        edits = () if image.inherited else tuple(_inserted(job, image))
        return ImageFault("file", image, "", f"./{text}", edits)
    match = _REGISTRY.match(prefix if text is not None else shown)
    if match is not None and len(prefix) > match.end(1):
        if not prefix.endswith(_FILE_ENDINGS):
            return _separated(job, image, "registry", match.end(1), "#")
        return None
    if text is not None and image.reader == "pyxis" and "/" not in text and _built_here(job, text):
        return ImageFault("local", image, "", f"dockerd://{text}")
    return None


def _separated(job: Job, image: Image, kind: str, at: int, separator: str) -> ImageFault:
    """A registry with the wrong character behind it, which stands at `at` in the reference."""
    shown = shown_text(image.reference).replace("\ue000", "…")
    registry = shown[:at].rpartition("://")[2].rpartition("@")[2]
    instead = shown[:at] + separator + shown[at + 1 :]
    edits: tuple[Edit, ...] = ()
    safe = False
    if image.inherited:
        setting = next(each for each in job.directives.settings if each.span == image.place)
        if setting.value is not None and not job.is_embedded:
            edits, safe = (job.directives.replacement(setting, instead),), True
    else:
        offset = _offset(image.reference, at)
        if offset is not None and job.source.text[offset] in "/#" and only_in(job, offset, _readers(job, image)):
            edits, safe = (Edit(Span(offset, offset + 1), separator),), True
    return ImageFault(kind, image, registry, instead, edits, safe)


def _readers(job: Job, image: Image) -> list[Invocation]:
    """The commands for which the same spelling is right."""
    if image.reader not in ("pyxis", "enroot"):
        return [each for each in job.invocations if each.name not in ("srun", "enroot")]
    return [step.invocation for step in job.steps] + [each for each in job.invocations if each.name == "enroot"]


def _inserted(job: Job, image: Image) -> Iterator[Edit]:
    offset = _offset(image.reference, 0)
    if offset is not None and only_in(job, offset, [step.invocation for step in job.steps]):
        yield Edit(Span(offset, offset), "./")


def _offset(field: Pieces, at: int) -> int | None:
    """Where a character of a field stands in the file, if it stands there as it is."""
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if at < size:
            return None if piece.text is None or piece.expansion is not None else piece.offset(at)
        at -= size
    return None


def _built_here(job: Job, text: str) -> bool:
    """Whether the script builds an image of that name, or its tag says that it is a local one."""
    if text.endswith(":local"):
        return True
    for invocation in job.invocations:
        if invocation.name in _BUILDERS and len(invocation.argv) > 2:
            words = [text_of(field) for field in invocation.argv[1:]]
            if ("build" in words[:2] or "tag" in words[:1]) and text in words:
                return True
    return False
