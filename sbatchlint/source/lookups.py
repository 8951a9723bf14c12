"""What the evaluation of a script and the checks ask of the file system, and a record of it.

A result that was kept holds as long as the same questions have the same answers. So nothing that bears on findings
looks at files, folders or programs but through these functions.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

# The name of a function below and what it is asked with; and its answer, of a file's content the digest.
Question = tuple[str | int, ...]
Answer = bool | str | None
Content = TypeVar("Content", bytes, tuple[str, ...])
About = TypeVar("About", int, tuple[str, ...])
Noted = TypeVar("Noted", bound=Answer | bytes)


class Record:
    """The questions, and what was answered. `lasting`: the same answers lead to the same findings."""

    __slots__ = ("answers", "lasting")

    def __init__(self) -> None:
        self.answers: dict[Question, Answer] = {}
        self.lasting = True


_record: Record | None = None


def begin_record() -> Record:
    """Everything that is asked from now on goes into a new record, until `end_record`."""
    global _record
    _record = Record()
    return _record


def end_record() -> None:
    global _record
    _record = None


def mark_uncertain() -> None:
    """What is found now may not be found the next time: a program took too long, memory ran out."""
    if _record is not None:
        _record.lasting = False


# The folders outside which nothing is looked at; None for no bounds.
_bounds: tuple[str, ...] | None = None


@contextmanager
def confined(folders: Sequence[str]) -> Iterator[None]:
    """Inside of it, nothing seems to be there but what is in one of these folders; programs are found as ever."""
    global _bounds
    before = _bounds
    _bounds = tuple(os.path.join(os.path.realpath(each), "") for each in folders)
    try:
        yield
    finally:
        _bounds = before


def is_out_of_bounds(path: str) -> bool:
    """Whether nothing may be said of a path; where its links lead decides."""
    if _bounds is None:
        return False
    try:
        return not os.path.join(os.path.realpath(path), "").startswith(_bounds)
    except ValueError:  # a NUL byte
        return True


def exists(path: str) -> bool:
    return _noted(("exists", path), not is_out_of_bounds(path) and os.path.exists(path))


def has_any(folder: str, *names: str) -> bool:
    """Whether a folder has a file or folder of one of these names."""
    found = not is_out_of_bounds(folder) and bool(_kept(folder, names, stat.S_ISDIR, _present))
    return _noted(("has_any", folder, *names), found)


def is_file(path: str) -> bool:
    return _noted(("is_file", path), not is_out_of_bounds(path) and os.path.isfile(path))


def is_folder(path: str) -> bool:
    return _noted(("is_folder", path), not is_out_of_bounds(path) and os.path.isdir(path))


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths lead to one file; False where one of them leads nowhere."""
    try:
        same = not is_out_of_bounds(path) and os.path.samefile(path, other)
    except OSError:
        same = False
    return _noted(("is_same_file", path, other), same)


def real_path(path: str) -> str:
    """The path with all links followed."""
    return _noted(("real_path", path), path if is_out_of_bounds(path) else os.path.realpath(path))


def names_in(folder: str) -> Sequence[str]:
    """The names of the files and folders in a folder, sorted; none where it cannot be read."""
    names = () if is_out_of_bounds(folder) else _kept(folder, 0, stat.S_ISDIR, _listed) or ()
    if _record is not None:
        _noted(("names_in", folder), "\0".join(names).encode("utf-8", "surrogateescape"))
    return names


def read(path: str, most: int) -> bytes | None:
    """The first bytes of a file, `most` of them; None where it cannot be read, or is a device or a pipe."""
    return _noted(("read", path, most), None if is_out_of_bounds(path) else _kept(path, most, stat.S_ISREG, _beginning))


def _present(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if os.path.exists(os.path.join(folder, name)))


def _listed(folder: str, _: int) -> tuple[str, ...]:
    return tuple(sorted(os.listdir(folder)))


def _beginning(path: str, most: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(most)


# What was read last, as the scripts of a folder look at the same files: what tells that it has not changed, and it.
_recent: dict[tuple[str, object], tuple[tuple[int, ...], Any]] = {}
_MOST_RECENT, _MOST_KEPT = 256, 1 << 14  # the latter in bytes of a file, names of a folder
# What changed so lately (in nanoseconds) may change again, and the file system's clock not tell.
_SETTLED = 2_000_000_000
_at_rest = False


def assume_unchanged(begins: bool) -> None:
    """From now on no file is taken to change, so that what is kept of it is not compared; or files may change again.

    A run that writes nothing looks a hundred thousand times at a thousand files.
    """
    global _at_rest
    _at_rest = begins
    _recent.clear()


def _kept(
    path: str, about: About, is_kind: Callable[[int], bool], take: Callable[[str, About], Content]
) -> Content | None:
    """What a file or folder holds, read once while it stays as it is; None where it is not one, or unreadable."""
    known = _recent.get((path, about))
    found: Content
    if known is not None and _at_rest:
        found = known[1]
        return found
    try:
        status = os.stat(path)
        if not is_kind(status.st_mode):
            return None
        mark = (status.st_mtime_ns, status.st_size, status.st_ino)
        if known is not None and known[0] == mark:
            found = known[1]
            return found
        found = take(path, about)
    except (OSError, ValueError):
        return None
    if len(found) <= _MOST_KEPT and time.time_ns() - status.st_mtime_ns > _SETTLED:
        if len(_recent) == _MOST_RECENT:
            _recent.clear()
        _recent[path, about] = mark, found
    return found


def program(name: str) -> str | None:
    """The path of a program that the shell would find."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            status = os.stat(path)
            _noted(("program", name), f"{path} {status.st_size} {status.st_mtime_ns}")
            return path
    return _noted(("program", name), None)


def ask_again(question: Question) -> Answer:
    """The answer of today."""
    record = begin_record()
    try:
        name, *arguments = question
        _BY_NAME[str(name)](*arguments)
    finally:
        end_record()
    return record.answers[question]


def digest(data: bytes) -> str:
    from hashlib import blake2b  # slow to import, and a run over few files keeps no record

    return blake2b(data, digest_size=16).hexdigest()


def _noted(question: Question, answer: Noted) -> Noted:
    """The answer, which goes into the record."""
    if _record is not None:
        _record.answers[question] = digest(answer) if isinstance(answer, bytes) else answer
    return answer


_FUNCTIONS = (exists, has_any, is_file, is_folder, is_same_file, real_path, names_in, read, program)
_BY_NAME: Mapping[str, Callable[..., object]] = {each.__name__: each for each in _FUNCTIONS}
