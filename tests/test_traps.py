"""Commands of a trap see variables as they are when it runs, and not as they were when it was set.

What bash gives a `srun` in a trap on EXIT is what the plan says of that step, or the plan says that it is not known.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sbatchlint import api

# The script, and the last word of the step in its trap as the plan has it.
SCRIPTS: dict[str, str | None] = {
    "s=1; trap 'srun ./a \"$s\"' EXIT; t=2": "1",
    "s=1; trap 'srun ./a \"$s\"' EXIT; s=2": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; s+=2": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; export s=2": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; unset s": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; read s <<< 2": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; for s in 2 3; do :; done": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; (( s++ ))": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; let s+=1": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; printf -v s %d 4": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; eval 's=2'": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; declare -n r=s; r=2": None,
    "s=1; trap 'srun ./a \"$s\"' EXIT; : ${t:=2}": "1",
    "trap 'srun ./a \"${s:-0}\"' EXIT; : ${s:=2}": None,
    "trap 'srun ./a \"${s:-0}\"' EXIT; s=2": None,
    "s=(1 2); trap 'srun ./a ${s[1]}' EXIT; s[1]=9": None,
    "s=(1); trap 'srun ./a ${s[0]}' EXIT; mapfile -t s <<< q": None,
    "set -- x; trap 'srun ./a \"$1\"' EXIT; set -- y": None,
    "for s in 1 2; do trap 'srun ./a $s' EXIT; done": None,
    "s=1; f() { s=2; }; trap 'srun ./a \"$s\"' EXIT; f": None,
    's=1; f() { srun ./a "$s"; }; trap f EXIT; s=2': None,
    's=1; g() { srun ./a "$s"; }; f() { g; }; trap f EXIT; s=2': None,
    's=1; f() { srun ./a "$s"; }; trap f EXIT; t=2': "1",
    "s=1; declare -n r=s; trap 'srun ./a $r' EXIT; s=2": None,
    "s=1; r=s; trap 'srun ./a ${!r}' EXIT; s=2": None,
    "s=1; r=s; trap 'srun ./a ${!r}' EXIT; r=t; t=3": None,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_trap_on_exit_sees(script: str, tmp_path: Path) -> None:
    (tmp_path / "srun").write_text('#!/bin/sh\necho "$@" >> "$STARTED"\n')
    (tmp_path / "srun").chmod(0o755)
    started = tmp_path / "started"
    environment = {"PATH": f"{tmp_path}:{os.defpath}", "STARTED": str(started)}
    subprocess.run(["bash", "-c", script], env=environment, cwd=tmp_path, check=False)
    run = started.read_text().rstrip("\n").split(" ")
    planned = [step["argv"] for step in api.plan(f"#!/bin/bash\n#SBATCH --nodes=1\n{script}\n").data["steps"]]
    assert planned == [["./a", SCRIPTS[script]]]
    assert SCRIPTS[script] in (None, run[1])
