"""Reading and writing files.

Writing goes through a temporary file in the same folder that is renamed over the old one, so that a file is always
either the old or the new one; its mode and, where allowed, its owner stay.
"""

from __future__ import annotations

import os
import stat
import sys

from sbatchlint.source.text import Source, Undecodable


class InputError(Exception):
    """Something the user gave cannot be used: a path, an option, a configuration. One line, exit code 2."""


def reason(error: OSError) -> str:
    """What the system says, without the number and the path."""
    return (error.strerror or str(error)).lower()


def read_bytes(path: str) -> bytes:
    """The bytes of a file. Raises `InputError` where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from None


def read(path: str) -> Source:
    """Reads and decodes a file. Raises `InputError` where it cannot be read or is not text."""
    try:
        return Source.from_bytes(read_bytes(path), path)
    except Undecodable as error:
        raise InputError(f"cannot read {path}: {error}") from None


def read_standard_input(path: str) -> Source:
    """Decodes standard input, to be reported as `path`."""
    try:
        return Source.from_bytes(sys.stdin.buffer.read(), path)
    except Undecodable as error:
        raise InputError(f"cannot read {path}: {error}") from None


def write(path: str, data: bytes) -> None:
    """Replaces the contents of a file in one step. Raises `InputError` where that is not possible.

    A symbolic link stays one: what it points to is replaced. A file with further hard links is written in place,
    since a rename would part it from them.
    """
    from tempfile import mkstemp

    target = os.path.realpath(path)
    temporary = None
    try:
        status = os.stat(target)
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "the file is read-only")
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
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _take_over(temporary: str, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        own = os.stat(temporary)
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            try:
                os.chown(temporary, status.st_uid, status.st_gid)
            except OSError:
                pass  # only root may give files away
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
