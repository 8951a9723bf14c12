"""Runs a batch script in real bash, with stubs in the place of srun, launchers, containers and programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

STUB = Path(__file__).parent / "stubs" / "stub"
NAMES = (
    "srun scontrol apptainer singularity docker podman sudo uv torchrun accelerate deepspeed swift llamafactory-cli "
    "axolotl tune composer fabric lightning horovodrun trl fairseq-train python python3 mpirun mpiexec nvidia-smi "
    "module tee hostname litgpt megatron"
)
# What a script runs beside the programs that are asked for.
_OTHERS = frozenset({"nvidia-smi", "module", "tee", "hostname"})


class Record(NamedTuple):
    """A program that a stub stands for: its words, and its environment."""

    argv: list[str]
    environment: dict[str, str]


def run(text: str, folder: Path, plan: dict[str, Any]) -> list[Record]:
    """The programs that a script starts as a job of this plan, in order. Raises `AssertionError` if it fails."""
    stubs, records, work = folder / "bin", folder / "records", folder / "work"
    for each in (stubs, records, work):
        each.mkdir(parents=True, exist_ok=True)
    for path in records.iterdir():
        path.unlink()
    programs = [(task["argv"] or [None])[0] for step in plan["steps"] for task in step["by_task"] or ()]
    for place in [stubs / name for name in NAMES.split()] + [
        work / name for name in programs if name is not None and "/" in name and not name.startswith("/")
    ]:
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(STUB)
    script = folder / "job.sh"
    script.write_text(text)
    (component,) = plan["request"]["components"]
    nodes = (component["nodes"] or {"min": 1})["min"]
    job = {
        "SLURM_JOB_ID": "42",
        "SLURM_JOB_NODELIST": "node[0-9]",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_NNODES": str(nodes),
        "SLURM_NTASKS_PER_NODE": str(component["tasks_per_node"] or 1),
        "SLURM_CPUS_PER_TASK": str(component["cpus_per_task"] or 1),
        "PATH": f"{stubs}:{os.environ['PATH']}",
        "RECORDS": str(records),
        "HOME": str(work),
    }
    ran = subprocess.run(
        ["bash", str(script)],
        cwd=work,
        env=job,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert "declare -" not in ran.stdout, "a bare export or declare prints all variables"
    found = []
    for path in sorted(records.glob("*.argv")):
        argv = path.read_bytes().decode().split("\0")[:-1]
        pairs = path.with_suffix(".env").read_bytes().decode().split("\0")
        if Path(argv[0]).name not in _OTHERS:
            found.append(Record(argv, dict(pair.partition("=")[::2] for pair in pairs if pair)))
    return found
