"""What scontrol shows of a job, as fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

# Fields of a job that are a line of their own, and may hold anything.
WHOLE_LINES = ("AdminComment", "Command", "Comment", "Extra", "StdErr", "StdIn", "StdOut", "SubmitLine", "WorkDir")
PATTERNS = ("StdErr", "StdIn", "StdOut")


def parse_jobs(shown: str) -> list[dict[str, str]]:
    """What `scontrol show job` printed, as the fields of each record."""
    key = r"[A-Z][A-Za-z:/_]*"
    found = []
    for record in shown.split("\n\n"):
        fields: dict[str, str] = {}
        for line in record.split("\n"):
            name, equals, value = line.strip(" ").partition("=")
            if equals and name in WHOLE_LINES:
                fields[name] = value
            elif name == "JobId" and "JobName=" in value:
                numbers, _, fields["JobName"] = line.partition("JobName=")
                fields.update(re.findall(rf"({key})=(\S*)", numbers))
            else:
                fields.update(re.findall(rf"(?:^|(?<= ))({key})=(.*?)(?= +{key}=|$)", line.strip(" ")))
        if "JobId" in fields:
            found.append(fields)
    return found


def component(job: Mapping[str, str]) -> tuple[int, int]:
    """Where a record stands among those of a heterogeneous job, and its number."""
    return int(job.get("HetJobOffset", 0)), int(job["JobId"])


def normal(job: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The fields without what differs from run to run: the folder, and the job's number in the names of its files."""
    found = {name: value.replace(f"{folder}/", "") for name, value in job.items()}
    if found.get("WorkDir") == str(folder):
        found["WorkDir"] = "."
    for name in PATTERNS:
        if name in found:
            path = job[name].removeprefix(f"{job['WorkDir']}/").removeprefix(f"{folder}/")
            found[name] = path.replace(job["JobId"], "%j")
    return found
