"""The state of the files of this installation, for caches that depend on them."""

import os
import sys
import time
from importlib.util import find_spec

import sbatchlint
from sbatchlint.registry import folder as folder_of_checks

# Seconds after writing a file within which another write may not change its time.
_JUST_NOW = 2


def state() -> str | None:
    """The versions, and the size and time of each file, also of the parsers; None if one was just written."""
    parts: list[object] = [sbatchlint.__version__, sys.version]
    newest = 0
    folders = [os.path.dirname(os.path.abspath(sbatchlint.__file__)), folder_of_checks()]
    for reader in map(find_spec, ("markdown_it", "yaml")):
        folders += reader.submodule_search_locations or () if reader is not None else ()
    for folder in folders:
        parts.append(folder)
        with os.scandir(folder) as listed:
            for file in sorted(listed, key=lambda entry: entry.name):
                if file.is_dir():
                    if file.name != "__pycache__" and file.path not in folders:
                        folders.append(file.path)
                else:
                    status = file.stat()
                    parts.append((file.name, status.st_size, status.st_mtime_ns))
                    newest = max(newest, status.st_mtime_ns)
    if newest > (time.time() - _JUST_NOW) * 1e9:
        return None
    return repr(parts)
