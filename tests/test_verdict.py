"""What sbatch does with whole scripts, and in which order it complains, compared with live Slurms.

tests/data/verdicts.jsonl holds option lines that took a closer look, tests/data/more_directives.jsonl scripts with one
oddity each, both with what four Slurms (22.05.8, 23.11.4, 24.11.7 and 26.05.3; two nodes of 64 CPUs and 8 GPUs, job
4000001 an array that is held) did with them when they were submitted with `--hold`: the message, None where the job was
taken, or the fields of the job that differ from those of one without options. What those clusters refused for reasons
of their own is left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sbatchlint.bash.values import Text
from sbatchlint.slurm.directives import Directives, read_directives
from sbatchlint.slurm.verdict import CONTROLLER, OPTION, VERIFY, verdict
from shown import is_same, shown

DATA = Path(__file__).parent / "data"
LIVE = ("22.05", "23.11", "24.11", "26.05")
# The folder that a script is submitted from, and the file of its output.
NOT_SET = {
    "WorkDir": ".",
    "StdIn": "/dev/null",
    "StdOut": "slurm-%j.out",
    "TimeLimit": "UNLIMITED",
    "Nice": "0",
    "Requeue": "1",
}


def read(script: str, version: str) -> Directives:
    return read_directives(Text.of_file(script), (version, version))


def of_lines(*lines: str) -> str:
    return "#!/bin/bash\n" + "".join(f"#SBATCH {line}\n" for line in lines) + "echo done\n"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def bare(message: str) -> str:
    return re.sub(r"^(?:error|fatal): (?:job\.sh: line \d+: )?", "", message).strip()


def test_order_and_combinations() -> None:
    wrong = []
    seen = Counter[bool]()
    for row in rows("verdicts.jsonl"):
        for versions, message in row["slurm"].items():
            for version in versions.split():
                ours = verdict(read(of_lines(*row["lines"]), version), version)
                seen[message is None] += 1
                if (ours.message is None) != (message is None) or (ours.message or "").strip() != (
                    message or ""
                ).strip():
                    wrong.append(f"{version} {row['lines']}: {ours.message!r}, Slurm: {message!r}")
    assert not wrong, "\n".join(wrong)
    assert seen[True] > 80 and seen[False] > 120


def test_more_scripts() -> None:
    wrong = []
    seen = Counter[str]()
    for row in rows("more_directives.jsonl"):
        for version in LIVE:
            theirs = row["slurm"].get(version) or row["slurm"].get("all")
            if theirs is None:
                continue
            ours = verdict(read(row["script"], version), version)
            seen["scripts"] += 1
            if ours.accepted != theirs["accepted"]:
                wrong.append(f"{version} {row['script']!r}: {ours.message}, Slurm: {theirs.get('message', 'accepted')}")
            elif not ours.accepted:
                seen["refused"] += 1
                if not says(theirs["message"], ours.message or ""):
                    wrong.append(f"{version} {row['script']!r}: {ours.message!r}, Slurm: {theirs['message']!r}")
    assert not wrong, "\n".join(wrong[:20])
    assert seen["scripts"] > 1400 and seen["refused"] > 500


def says(messages: str, expected: str) -> bool:
    if "is ambiguous" in expected:
        return sorted(re.findall(r"'--[^']*'", expected)) == sorted(re.findall(r"'--[^']*'", messages))
    return bare(expected.split("\n")[0]) in [bare(line) for line in messages.split("\n")]


def test_fields_of_more_scripts() -> None:
    """Every field that is predicted, and that Slurm shows otherwise than for a job without options."""
    wrong = []
    seen = Counter[str]()
    for row in rows("more_directives.jsonl"):
        for version in LIVE:
            theirs = row["slurm"].get(version) or row["slurm"].get("all")
            if not theirs or not theirs["accepted"]:
                continue
            components = shown(read(row["script"], version), version)
            assert len(components) == len(theirs["jobs"]), row["script"]
            plain = shown(read("#!/bin/bash\necho done\n", version), version)[0]
            for ours, job in zip(components, theirs["jobs"], strict=True):
                for name, value in ours.items():
                    expected = job.get(name, plain.get(name, NOT_SET.get(name, "(null)")))
                    seen[name] += 1
                    if not is_same(name, value, expected, version):
                        wrong.append(f"{version} {row['script']!r}: {name}={value}, Slurm: {expected}")
    assert not wrong, "\n".join(wrong[:20])
    assert seen["NumTasks"] > 900 and seen["TresPerTask"] > 20 and seen["ArrayTaskId"] > 5


def test_stages() -> None:
    """Who refuses a script."""

    def stage(*lines: str) -> str | None:
        return verdict(read(of_lines(*lines), "26.05"), "26.05").stage

    assert stage("--nodes=many") == OPTION
    assert stage("--mem=1G --mem-per-cpu=1G") == VERIFY
    assert stage("--time=5 --time-min=10") == CONTROLLER
    assert stage("--time=10 --time-min=5") is None


def test_what_is_not_known_is_not_refused() -> None:
    for line in (
        "--batch={{ feature }} --constraint=blue",
        "--batch=blue --constraint={{ feature }}",
        "--time-min={{ least }} --time=5",
        "--time-min=10 --time={{ most }}",
        "--nodelist={{ nodes }} --exclude=node1",
        "--deadline={{ end }} --begin=now+1hour --time=10",
        "--gpus-per-task={{ gpus }} --ntasks=2",
        "--wckey={{ key }}",
    ):
        for version in LIVE:
            assert verdict(read(of_lines(line), version), version).accepted is None, line
