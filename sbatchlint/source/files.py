"""Reading and writing files.

A file is written to a temporary file in the same folder, which then replaces it by a rename, so that it is never half
written. Its mode and, where permitted, its owner are kept.
"""

import errno
import os
import stat
import sys
from typing import BinaryIO

from sbatchlint.source.text import Source, Undecodable


class InputError(Exception):
    """A path, option or configuration that cannot be used. Its message is one line; the exit code is 2."""

    @classmethod
    def of_several(cls, said: list[str]) -> "InputError":
        """One for several errors: the first is its message, the others are its notes."""
        error = cls(said[0])
        for each in said[1:]:
            error.add_note(f"error: {each}")
        return error


def reason(error: OSError) -> str:
    """The system's message, without the error number and the path."""
    return (error.strerror or str(error)).lower()


def unreadable(path: str, error: OSError | UnicodeDecodeError, kind: str = "file") -> InputError:
    """The error of a file that cannot be read. `kind`: what it is meant to be, where that is not clear."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"there is no {kind} {path}")
    why = reason(error) if isinstance(error, OSError) else "it is not text in UTF-8"
    return InputError(f"cannot read {'' if kind == 'file' else f'the {kind} '}{path}: {why}")


def installed_file(package: str, name: str) -> str | None:
    """The path of a file in an installed package, which is not imported; None where there is none."""
    from importlib.util import find_spec  # rarely needed

    spec = find_spec(package) if package.isidentifier() else None
    places = spec.submodule_search_locations or () if spec is not None else ()
    return next((path for place in places if os.path.isfile(path := os.path.join(place, name))), None)


# No script is larger; a file that is named may be.
LARGEST = 64 << 20
# Most scripts are smaller; to ask for more takes memory for all that is asked for.
_USUAL = 1 << 16
# Where the shell puts what `<(command)` prints, and standard input.
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
# Linux: /dev/zero, /dev/full, /dev/random and /dev/urandom.
_ENDLESS = frozenset({(1, 5), (1, 7), (1, 8), (1, 9)})
_OUTPUTS = ("/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/self/fd/")


def content(path: str) -> bytes:
    """The bytes of a file. Raises `OSError` where it cannot be read; of a device or FIFO, too: it may never end."""
    with open(path, "rb", opener=regular) as file:
        data = file.read(_USUAL)
        if len(data) == _USUAL:
            data += file.read(LARGEST + 1 - _USUAL)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, "it is larger than 64 MB")
    return data


def is_stream(path: str) -> bool:
    """Whether a path stands for what a process has open, which has no folder and can be read once."""
    return path.startswith(_STREAMS)


def regular(path: str, flags: int) -> int:
    """Opens a file, as `opener` of `open`. Raises `OSError` for a device or a FIFO."""
    handle = os.open(path, flags if is_stream(path) else flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not is_stream(path) and not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise OSError(errno.EINVAL, "it is not a regular file")
    return handle


def writable(path: str, flags: int) -> int:
    """Opens a file to be written, as `opener` of `open`. Raises `OSError` for a FIFO: it may never have a reader."""
    if path.startswith(_OUTPUTS):
        return os.open(path, flags, 0o666)
    try:
        handle = os.open(path, flags | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nobody reads it
            raise OSError(errno.EINVAL, "it is not a regular file") from None
        raise
    mode = os.fstat(handle).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file")
    os.set_blocking(handle, True)
    return handle


def read_bytes(path: str) -> bytes:
    """The bytes of a file. Raises `InputError` where it cannot be read."""
    try:
        return content(path)
    except OSError as error:
        raise unreadable(path, error) from None


def read(path: str) -> Source:
    """Reads and decodes a file. Raises `InputError` where it cannot be read or is not text."""
    return _decoded(read_bytes(path), path)


def _decoded(data: bytes, path: str) -> Source:
    try:
        return Source.from_bytes(data, path)
    except Undecodable as error:
        raise InputError(f"cannot read {path}: {error}") from None


def standard_input() -> BinaryIO:
    """The bytes of standard input. Raises `InputError` where it is closed, cannot be read, or never ends."""
    if sys.stdin is None:
        raise InputError("cannot read standard input: it is closed")
    stream = sys.stdin.buffer
    try:
        handle = stream.fileno()
    except (OSError, ValueError):  # what stands for it in a program
        return stream
    try:
        os.read(handle, 0)
        status = os.fstat(handle)
    except OSError as error:
        raise InputError(f"cannot read standard input: {reason(error)}") from None
    if stat.S_ISCHR(status.st_mode) and (os.major(status.st_rdev), os.minor(status.st_rdev)) in _ENDLESS:
        raise InputError("cannot read standard input: it is a device that never ends")
    return stream


def standard_input_bytes() -> bytes:
    """All of standard input. Raises `InputError` where it cannot be read."""
    stream = standard_input()
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            part: bytes | None = stream.read(_USUAL)
            if part is None:  # nothing is there yet, and reading does not wait
                from select import select  # rare

                select([stream], [], [])
                continue
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                raise OSError(errno.EFBIG, "it is larger than 64 MB")
    except OSError as error:
        raise InputError(f"cannot read standard input: {reason(error)}") from None


def read_standard_input(path: str) -> Source:
    """Decodes standard input, to be reported as `path`. Raises `InputError`."""
    return _decoded(standard_input_bytes(), path)


class Uninterrupted:
    """Puts off signals that would end the process between two steps of writing a file, until both are done."""

    def __enter__(self) -> None:
        import signal  # used for writing only

        if hasattr(signal, "pthread_sigmask"):
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP, signal.SIGINT})

    def __exit__(self, *error: object) -> None:
        import signal

        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def write(path: str, data: bytes, before: bytes | None = None) -> None:
    """Replaces the contents of a file in one step. Raises `InputError` where that is not possible.

    `before`: what was read; a file that holds something else by now is left alone.

    Of a symbolic link, the target is replaced. A file with several hard links is written in place, as a rename would
    separate it from the others.
    """
    try:
        with Uninterrupted():
            _write(os.path.realpath(path), data, before)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from None


def _write(target: str, data: bytes, before: bytes | None) -> None:
    from tempfile import mkstemp  # slow to import, and used for fixes only

    temporary = None
    try:
        status = os.stat(target)
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "the file is read-only")
        if before is not None and content(target) != before:
            raise OSError(errno.EBUSY, "it was changed meanwhile; run again")
        if status.st_nlink > 1:
            with open(target, "r+b") as file:
                file.write(data)
                file.truncate()
            return
        handle, temporary = mkstemp(prefix=".sbatchlint-", dir=os.path.dirname(target))
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _take_over(temporary, status)
        os.replace(temporary, target)
        temporary = None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def create(path: str, data: bytes) -> None:
    """Writes a file that is not there yet, or nothing. Raises `OSError`."""
    with Uninterrupted(), open(path, "xb") as file:
        try:
            file.write(data)
            file.flush()
        except BaseException:
            os.unlink(path)
            raise


def _take_over(temporary: str, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        own = os.stat(temporary)
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            try:
                os.chown(temporary, status.st_uid, status.st_gid)
            except OSError:
                pass  # only root may change the owner
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
