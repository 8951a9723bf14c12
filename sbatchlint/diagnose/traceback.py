"""Tracebacks of Python in the lines above an event."""

import re
from collections.abc import Sequence

_FRAME = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<row>\d+), in (?P<function>\S+)')
# The line of a frame.
FRAME = re.compile(r'\s*File "[^"]+", line \d+')
_LIBRARIES = ("site-packages/", "dist-packages/", "/lib/python", "<frozen", "<string>", "<stdin>")


def own_frame(above: Sequence[str]) -> str:
    """The last frame in the user's own files of the traceback that ends after these lines; '' if there is none."""
    last = ""
    for line in reversed(above):
        if line.startswith("Traceback (most recent call last)"):
            return last
        match = _FRAME.match(line)
        if match:
            if not last and not any(each in match["path"] for each in _LIBRARIES):
                last = line.strip()
        elif not line.startswith((" ", "\t")) and not last:
            return ""  # other output in between
    return last


def files(above: Sequence[str]) -> frozenset[str]:
    """The names, without folders, of the user's own files in the traceback that ends after these lines."""
    frames = (_FRAME.match(line) for line in above)
    paths = (match["path"] for match in frames if match)
    return frozenset(path.rpartition("/")[2] for path in paths if not any(each in path for each in _LIBRARIES))
