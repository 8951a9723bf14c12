"""The folder below which files may be read, and the only way to read one."""

import os
import stat

from sbatchlint.source.files import LARGEST, InputError, unreadable

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A folder that somebody allowed. `path`: where it is, without links."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        if not os.path.isdir(self.path):
            raise InputError(f"--root: {path} is not a folder")

    def parts(self, path: str) -> list[str]:
        """The names that lead from the folder to a path in it. Raises `InputError` for one that is elsewhere."""
        try:
            below = os.fsdecode(path.encode("utf-8", "surrogateescape"))  # the agent's text, whatever the locale
        except UnicodeEncodeError:
            below = ""
        if not below or "\0" in below:
            raise InputError(f"{path!r} is not a path")
        if os.path.isabs(below):
            below = below.removeprefix(os.path.join(self.path, ""))
        names = [each for each in below.split("/") if each not in ("", ".")]
        if os.path.isabs(below) or ".." in names or not names:
            raise InputError(f"{path} may not be read: it does not lie below the allowed folder {self.path}")
        return names

    def full(self, path: str) -> str:
        """The absolute path of one that is below."""
        return os.path.join(self.path, *self.parts(path))

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises `InputError` for one that is elsewhere, and where a link leads to it."""
        names = self.parts(path)
        at = os.open(self.path, _FLAGS | os.O_DIRECTORY)
        try:
            for number, name in enumerate(names):
                is_last = number + 1 == len(names)
                inner = os.open(name, _FLAGS | (0 if is_last else os.O_DIRECTORY), dir_fd=at)
                os.close(at)
                at = inner
            return _content(path, at)
        except OSError as error:
            if self._is_link(names):
                raise InputError(f"{path} may not be read: links are not followed") from None
            raise unreadable(path, error) from None
        finally:
            os.close(at)

    def _is_link(self, names: list[str]) -> bool:
        return any(os.path.islink(os.path.join(self.path, *names[: number + 1])) for number in range(len(names)))


def _content(path: str, handle: int) -> bytes:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise InputError(f"cannot read {path}: it is not a regular file")
    parts = list[bytes]()
    left = LARGEST + 1
    while left and (data := os.read(handle, min(left, 1 << 20))):
        parts.append(data)
        left -= len(data)
    if not left:
        raise InputError(f"cannot read {path}: it is larger than 64 MB")
    return b"".join(parts)
