"""Reading of the logs named on the command line."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from sbatchlint.diagnose.findings import Findings, Symptoms
from sbatchlint.diagnose.pasted import pasted_record
from sbatchlint.diagnose.reading import add_context, read_log
from sbatchlint.diagnose.silent_faults import last_line
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.source.files import InputError, reason, standard_input, unreadable

STANDARD_INPUT = "<stdin>"
# In a folder, scripts and data are not logs. A folder of a larger job has a file for each task.
MOST_FILES = 10_000
_NOT_LOGS = re.compile(
    r"\.(?:py[cdo]?|sh|sbatch|slurm|ya?ml|toml|json[l]?|csv|tsv|npy|npz|pt|pth|bin|safetensors|h5|hdf5|parquet|arrow|png"
    r"|jpe?g|gif|pdf|svg|html|md|zip|tar|t?gz|bz2|xz|zst|so|a|o|sqsh|sif|db|sqlite)$",
    re.IGNORECASE,
)
# The folder of a job.
_NUMBERED = re.compile(r"(?:[A-Za-z][\w.-]*[-_.])?\d{3,10}(?:_\d+)?")
# Standard input is read twice: it is buffered in memory up to this size, and in a temporary file beyond.
IN_MEMORY, BLOCK = 16 << 20, 1 << 20
# Where a file shows whether it is text: so many bytes of its beginning, and of its end.
LOOKED_AT = 1 << 16
_HOLE = re.compile(rb"\0{16,}")
# Control characters that no terminal is sent, and what stands for bytes that are not UTF-8.
_NO_TEXT = frozenset(map(chr, {*range(32), 127} - set(b"\a\b\t\n\v\f\r\x1b"))) | {"\ufffd"}


def log_paths(names: list[str]) -> list[str]:
    """The files named by arguments; a folder stands for the logs in it. Raises `InputError`."""
    found: list[str] = []
    for name in names:
        if name == "-" or not os.path.isdir(name):
            found.append(name)
            continue
        logs = list(islice((each for each in _inside(name) if not _is_binary_file(each)), MOST_FILES))
        if not logs:
            raise InputError(f"there is no log in the folder {name}")
        found.extend(logs)
    if found.count("-") > 1:
        raise InputError("- (standard input) can be read once")
    return found


def _inside(folder: str) -> list[str]:
    """The logs in a folder, and in those folders in it that are named by a number, as for a job each."""
    try:
        entries = sorted(os.scandir(folder), key=lambda each: _by_number(each.name))
    except OSError as error:
        raise InputError(f"cannot read {folder}: {reason(error)}") from None
    # a link to itself is passed over, at which `each.is_file()` raises an error
    logs = [each.path for each in entries if os.path.isfile(each.path) and not each.name.startswith(".")]
    found = [each for each in logs if not _NOT_LOGS.search(each)]
    for entry in entries:
        if len(found) < MOST_FILES and entry.is_dir(follow_symlinks=False) and _NUMBERED.fullmatch(entry.name):
            found.extend(_inside(entry.path))
    return found


def _by_number(name: str) -> list[tuple[int, str]]:
    """The sort key of names with numbers: task 10 comes after task 9."""
    return [(len(each), each) if each.isdigit() else (0, each) for each in re.split(r"(\d+)", name)]


@lru_cache(maxsize=1)
def _searched() -> Symptoms:
    return Symptoms(symptoms().values())


def read_logs(paths: list[str]) -> Findings:
    """The findings in all logs. Raises `InputError` if one cannot be read."""
    findings = Findings(_searched())
    for number, path in enumerate(paths):
        shown = STANDARD_INPUT if path == "-" else path
        try:
            with _opened(path) as stream:
                _read(stream, shown, number, findings)
        except OSError as error:
            raise unreadable(shown, error) from None
    return findings


def findings_in(logs: Mapping[str, bytes]) -> Findings:
    """The findings in the contents of logs, by their names."""
    findings = Findings(_searched())
    for number, (name, data) in enumerate(logs.items()):
        _read(BytesIO(data), name, number, findings)
    return findings


def is_binary(stream: BinaryIO) -> bool:
    """Whether what is in a stream is not a log: it has NUL bytes, and more than a tenth of its two ends is not text.

    A run of NUL bytes does not count, as a log that was truncated while the job wrote on begins with a hole.
    """
    beginning = stream.read(LOOKED_AT)
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(len(beginning), size - LOOKED_AT))
    looked = beginning + stream.read(LOOKED_AT)
    stream.seek(0)
    if b"\0" not in looked:
        return False
    rest = _HOLE.sub(b"", looked)
    odd = sum(character in _NO_TEXT for character in rest.decode("utf-8", "replace"))
    return odd * 10 > len(rest)


def _is_binary_file(path: str) -> bool:
    try:
        with _opened(path) as stream:
            return is_binary(stream)
    except OSError:
        return False  # which is told where it is read


def _read(stream: BinaryIO, shown: str, number: int, findings: Findings) -> None:
    if is_binary(stream):
        raise InputError(f"cannot read {shown}: it is not a text file (it contains NUL bytes)")
    findings.lines[shown] = read_log(stream, shown, number, findings)
    findings.last = last_line(stream, shown, number, findings.lines[shown]) or findings.last
    findings.record = findings.record or pasted_record(stream, shown, number)
    add_context(stream, [each for each in findings.events.values() if each.file == number])


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """The log as a seekable stream."""
    if path != "-":
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                yield file
                return
            if path.startswith(("/dev/fd/", "/proc/self/fd/", "/dev/stdin")):
                os.set_blocking(handle, True)
                with _spooled(file) as copy:
                    yield copy
                return
            raise InputError(f"cannot read {path}: it is not a regular file")
    with _spooled(standard_input()) as copy:
        yield copy


@contextmanager
def _spooled(stream: BinaryIO) -> Iterator[BinaryIO]:
    with SpooledTemporaryFile(IN_MEMORY) as copy:
        while block := stream.read(BLOCK):
            copy.write(block)
        copy.seek(0)
        yield cast(BinaryIO, copy)
