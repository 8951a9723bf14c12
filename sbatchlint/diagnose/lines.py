"""Lines of a log without control sequences, and without the prefixes that launchers add."""

import re
from typing import NamedTuple

# The maximum number of characters of a line that are looked at.
LONGEST_LINE = 4096

# ECMA-48: control sequences, strings for the terminal (titles, links), and short sequences.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]"
)
# Who printed a line: srun --label, torch (`[rank0]:`), torchrun --redirects (`[default0]:`, `[trainer0]:`), mpirun
# --tag-output, Ray (`(Worker pid=7, ip=10.0.0.1)`), and names of nodes with a number (pdsh, DeepSpeed).
_LABEL = re.compile(
    r"(?:(?P<task> *\d{1,6}): ?"
    r"|\[(?P<rank>(?:rank|default|trainer|worker|node)? ?\d{1,6}(?:/\d{1,6})?)\]:? ?"
    r"|\[\d+,(?P<mpi>\d+)\](?:<std(?:out|err|diag)>)?: ?"
    r"|\((?P<actor>\w[\w.]* pid=\d+(?:, ip=[\w.:]+)?)\) ?"
    r"|(?P<node>(?!python|perl|ruby|lua|libc|gcc|slurm|srun|sbatch)"
    r"[a-z][a-z-]{0,40}\d[a-z\d_-]{0,40}(?:\.[a-z\d_.-]{1,60})?): (?=\S))"
)
# Prefixes that programs add to the output of another one.
_STREAM = re.compile(r"[Ss](?:td(?:err|out)|TD(?:ERR|OUT)) ?[=:>|] ?(?=\S)")
_TIME = re.compile(
    r"[\[(]?(?P<date>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)?[\])]?"
    r"(?:[: ]+|$)"
    r"|\[(?P<bare>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\] *"
)
# The prefixes of syslog and the kernel, whose times cannot be compared with others.
_SYSLOG = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<host>[\w.-]+) (?=[\w./()-]+(?:\[\d+\])?: )|\[ *\d+\.\d{6}\] )"
)


class Line(NamedTuple):
    """`text`: as the program wrote it; `label`: who printed it, `time`: when, both '' if the line does not say."""

    text: str
    label: str
    time: str


def plain(raw: bytes) -> str:
    """A line as text without control sequences; bytes that are not UTF-8 are replaced."""
    text = raw[: 4 * LONGEST_LINE].decode("utf-8", "replace")
    return text if text.isprintable() else _CONTROL.sub("", text)


def segments(raw: bytes) -> list[bytes]:
    """The successive states of a line: a progress bar returns to its start and overwrites it."""
    return [each for each in raw.split(b"\r") if each] if b"\r" in raw else [raw]


def read_line(raw: bytes) -> Line:
    """The parsed line, or segment of a line."""
    text = plain(raw).rstrip()
    label = time = ""
    match = _SYSLOG.match(text)
    if match:
        label, text = match["host"] or "", text[match.end() :]
    for _ in range(4):
        match = _LABEL.match(text)
        if match:
            label = label or next(each for each in match.groups() if each).strip()
        else:
            match = None if time else _TIME.match(text)
            if match is None:
                break
            time = f"{match['date'].replace('/', '-')} {match['clock']}" if match["date"] else match["bare"]
        text = text[match.end() :]
    match = _STREAM.match(text)
    return Line(text[match.end() if match else 0 :][:LONGEST_LINE], label, time)


def read_last(raw: bytes) -> Line:
    """The last segment of a line, parsed."""
    return read_line(segments(raw)[-1] if raw.strip(b"\r") else b"")
