"""Files that a job writes under a fixed name and uses itself: two jobs at a time overwrite each other's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.interpreter.programs import file_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, cut, shown_text, span_of
from sbatchlint.job.paths import NODE_LOCAL, classify
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Folders that are the same for every run of the script.
FIXED = frozenset({"HOME", "SLURM_SUBMIT_DIR", "PWD"})
# Commands that do not use what is in a file.
_HANDLING = "[ cat chmod cp echo head ls mv printf rm sed tail tee test touch wc"
HANDLING = frozenset(_HANDLING.split())


class GeneratedFile(NamedTuple):
    """A file of a fixed name. `appended`: the script only ever adds to it. `user`: the command that uses it.
    `array`: the jobs of an array do so at the same time. `edits`: put the job's number into its name everywhere."""

    name: str
    span: Span
    appended: bool
    user: Invocation
    array: bool
    edits: tuple[Edit, ...]


def find_generated_files(job: Job) -> Iterator[GeneratedFile]:
    """Each such file at the place where the script writes it first."""
    seen: set[str] = set()
    moved = False
    uses: _Uses | None = None
    for each in job.invocations:
        if each.phase is not Phase.BATCH:
            continue
        if each.name in ("cd", "pushd"):
            moved = moved or not _is_fixed_folder(job, each)
        if each.name == "rm":
            seen.update(name for field in each.argv[1:] if (name := file_name(field)) is not None)
        for redirect in each.redirects:
            name = file_name(redirect.target) if redirect.target and ">" in redirect.operator else None
            if name is None or name in seen:
                continue
            seen.add(name)
            if each.stdin is None or each.name not in ("cat", "tee") or each.context.conditional:
                continue
            if redirect.target is None or not _is_fixed(job, redirect.target, moved):
                continue
            uses = uses or _Uses(job)
            user = uses.first_after(each, name)
            if user is not None:
                edits = _edits(job, uses.places[name])
                shown = shown_text(redirect.target)
                append, array = redirect.operator == ">>", job.request.array is not None
                yield GeneratedFile(shown, span_of(redirect.target), append, user, array, edits)


def _is_fixed(job: Job, target: Pieces, moved: bool) -> bool:
    """Whether a path is the same in every run."""
    folders = [piece for piece in target if piece.expansion is not None]
    if any(piece.expansion is not None and piece.expansion.name not in FIXED for piece in folders):
        return False
    if any(piece is not target[0] for piece in folders) or any(piece.text is None for piece in target[1:]):
        return False
    if not folders and not shown_text(target).startswith("/"):
        return not moved
    return classify(target, job.site).kind != NODE_LOCAL and not shown_text(target).startswith(("/dev/", "/proc/"))


def _is_fixed_folder(job: Job, command: Invocation) -> bool:
    target = command.argv[1] if len(command.argv) == 2 else ()
    return bool(target) and _is_fixed(job, target, moved=False)


class _Uses:
    """Where each file's name stands in the words and redirects of commands."""

    def __init__(self, job: Job) -> None:
        self.users: dict[str, list[Invocation]] = {}
        self.places: dict[str, list[Pieces]] = {}
        for each in job.invocations:
            for field in each.argv:
                for name in _names(field):
                    self.places.setdefault(name, []).append(field)
                    if each.name not in HANDLING:
                        self.users.setdefault(name, []).append(each)
            for redirect in each.redirects:
                for name in _names(redirect.target or ()):
                    self.places.setdefault(name, []).append(redirect.target or ())

    def first_after(self, writer: Invocation, name: str) -> Invocation | None:
        """The first command behind that runs the file, or gets its name."""
        return next((each for each in self.users.get(name, ()) if each.index > writer.index), None)


def _names(field: Pieces) -> Iterator[str]:
    """The file that a word names, or an option in it (`--config=NAME`)."""
    name = file_name(field)
    if name is None:
        return
    yield name
    word = shown_text(field)
    at = word.find("=") + 1
    value = file_name(cut(field, at, len(word))) if at > 0 else None
    if value is not None:
        yield value


def _edits(job: Job, fields: list[Pieces]) -> tuple[Edit, ...]:
    """The job's number before the ending of the name, at each place where it is written; none where one is odd."""
    file = job.source.text
    places: set[int] = set()
    for field in fields:
        word = shown_text(field)
        dot = word.rfind(".", word.rfind("/") + 2)
        where = _offset(field, dot if dot > 0 else len(word), file)
        if where is None:
            return ()
        places.add(where)
    return tuple(
        Edit(Span(at, at), "-$SLURM_JOB_ID" if file[at] == "." else "-${SLURM_JOB_ID}") for at in sorted(places)
    )


def _offset(field: Pieces, index: int, file: str) -> int | None:
    """Where a character of a word stands in the file; None where it is not literal, or in single quotes."""
    at = 0
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if index < at + size or index == at + size and piece is field[-1]:
            if piece.expansion is not None or piece.text is None or size != piece.end - piece.start:
                return None
            if file[piece.start - 1] == "'" or file[piece.end : piece.end + 1] == "'":
                return None
            where = piece.start + index - at
            return where if where < len(file) else None
        at += size
    return None
