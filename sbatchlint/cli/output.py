"""Standard output that tells, at any write, that it takes no more; and standard error, which then loses the rest."""

import errno
import io
import os
import sys
from typing import TextIO


class OutputError(BaseException):
    """Standard output takes no more. Nothing on the way that handles errors keeps it from ending the run."""


class _Output(io.FileIO):
    """A descriptor to write to. After the first failure, what follows is lost."""

    def __init__(self, handle: int, telling: bool) -> None:
        super().__init__(handle, "wb", closefd=False)
        self._telling = telling
        self._is_lost = False

    def write(self, data, /):  # type: ignore[no-untyped-def]  # typeshed and Python differ in what a buffer is
        if not self._is_lost:
            try:
                while (written := super().write(data)) is None:
                    self._wait()
                if not written and memoryview(data).nbytes:  # the buffer would try for ever
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return written
            except OSError as error:
                self._is_lost = True
                if self._telling:
                    raise OutputError(error) from None
        return memoryview(data).nbytes

    def _wait(self) -> None:
        """Waits until a descriptor that does not block takes more."""
        from select import select  # rare

        select([], [self], [])


def guard_streams() -> None:
    """Lets a failing write to standard output raise `OutputError`, and one to standard error be lost."""
    closed = [handle for handle, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)) if stream is None]
    for handle in closed:  # or a file that is opened would be in its place
        if os.open(os.devnull, os.O_RDONLY) != handle:
            break
    sys.stdout = _guarded(sys.stdout, 1, True)
    sys.stderr = _guarded(sys.stderr, 2, False)


def _guarded(stream: TextIO | None, handle: int, telling: bool) -> TextIO:
    raw = _Output(handle, telling)
    by_line = not telling
    if isinstance(stream, io.TextIOWrapper):
        by_line |= stream.line_buffering or stream.write_through
    encoding = "utf-8" if stream is None else stream.encoding
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=by_line)


def told(error: OutputError) -> int:
    """Says what is wrong with standard output; returns the exit code."""
    cause = error.args[0]
    if cause.errno == errno.EPIPE:
        return 141
    why = "it is closed" if cause.errno == errno.EBADF else (cause.strerror or str(cause)).lower()
    print(f"error: cannot write to standard output: {why}", file=sys.stderr)
    return 2
