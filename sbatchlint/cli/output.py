"""Standard output that tells, at any write, that it takes no more; and standard error, which then loses the rest."""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NoReturn, TextIO


class OutputError(BaseException):
    """Standard output takes no more. Nothing on the way that handles errors keeps it from ending the run."""


class _Output(io.FileIO):
    """A descriptor to write to. After the first failure, which `failed` is told, what follows is lost."""

    def __init__(self, handle: int, failed: Callable[[OSError], object]) -> None:
        super().__init__(handle, "wb", closefd=False)
        self._failed = failed
        self.is_lost = False

    def write(self, data, /):  # type: ignore[no-untyped-def]  # typeshed and Python differ in what a buffer is
        if not self.is_lost:
            try:
                while (written := super().write(data)) is None:
                    self._wait()
                if not written and memoryview(data).nbytes:  # the buffer would try forever
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return written
            except OSError as error:
                self.is_lost = True
                failure = error
            self._failed(failure)
        return memoryview(data).nbytes

    def _wait(self) -> None:
        """Waits until a descriptor that does not block takes more."""
        from select import select  # rare

        select([], [self], [])


def _raise(error: OSError) -> NoReturn:
    raise OutputError(error)


def _leave(error: OSError) -> NoReturn:
    code = told(OutputError(error))
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def input_of_server() -> Iterator[None]:
    """Says that standard input cannot be read, where that ends a server. Raises `InputError`."""
    from sbatchlint.source.files import InputError, reason  # not for --version

    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read standard input: {reason(error)}") from None
    except ExceptionGroup as group:
        failed = group.subgroup(OSError)
        first: BaseException | None = failed
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        if not isinstance(first, OSError):
            raise
        raise InputError(f"cannot read standard input: {reason(first)}") from None


@contextmanager
def output_of_server() -> Iterator[BinaryIO]:
    """Standard output for the messages of a server alone. What else is printed meanwhile goes to standard error.

    When it takes no more, the process ends at once: nobody listens, and what drives a server would hold an error back.
    """
    handle = os.dup(1)
    os.dup2(2, 1)
    try:
        yield io.BufferedWriter(_Output(handle, _leave))
    finally:
        os.dup2(handle, 1)
        os.close(handle)


def guard_streams() -> None:
    """Lets a failing write to standard output raise `OutputError`, and one to standard error be lost."""
    closed = [handle for handle, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)) if stream is None]
    for handle in closed:  # or a file that is opened would be in its place
        if (_unconnected() if handle else os.open(os.devnull, os.O_RDONLY)) != handle:
            break
    sys.stdout = _guarded(sys.stdout, 1, _raise)
    sys.stderr = _guarded(sys.stderr, 2, lambda _: None)


def _unconnected() -> int:
    """A handle that nothing can be written to, and that refuses who opens /dev/stdout in its stead."""
    import socket

    return socket.socket(socket.AF_UNIX).detach()


def _guarded(stream: TextIO | None, handle: int, failed: Callable[[OSError], object]) -> TextIO:
    raw = _Output(handle, failed)
    by_line = handle == 2
    if isinstance(stream, io.TextIOWrapper):
        by_line |= stream.line_buffering or stream.write_through
    encoding = "utf-8" if stream is None else stream.encoding
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=by_line)


def write_bytes(data: bytes) -> None:
    """Writes to standard output what its encoding may not change, at once: a failure comes before what is said next."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def is_lost(stream: TextIO) -> bool:
    """Whether a stream has taken no more."""
    stream.flush()
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return isinstance(raw, _Output) and raw.is_lost


def told(error: OutputError) -> int:
    """Says what is wrong with standard output; returns the exit code."""
    cause = error.args[0]
    if cause.errno == errno.EPIPE:
        return 141
    if cause.errno in (errno.EBADF, errno.ENOTCONN):  # see `_unconnected`
        print("error: standard output is closed", file=sys.stderr)
    else:
        why = (cause.strerror or str(cause)).lower()
        print(f"error: cannot write to standard output: {why}", file=sys.stderr)
    return 2
