"""Steps after a command that surely fails under errexit: bash never comes there, and no plan has them.

The programs of each are what bash runs where every `srun` succeeds; tests/test_drawn_programs.py draws others.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sbatchlint import api

# The script, and the programs that its steps start.
SCRIPTS = {
    "set -e; srun ./1; false; srun ./2": "1",
    "set -o errexit; (exit 1); srun ./2": "",
    "set -e; [ a = b ]; srun ./2": "",
    "set -e; [[ a == b ]]; srun ./2": "",
    'set -e; test -n ""; srun ./2': "",
    "set -e; i=0; (( i++ )); srun ./2": "",
    "set -e; let 0; srun ./2": "",
    "set -e; command false; srun ./2": "",
    "set -e; eval false; srun ./2": "",
    "set -e; time false; srun ./2": "",
    "set -e; srun ./1; X=5; [ $X -lt 3 ]; srun ./2": "1",
    "set -e; f() { return 1; }; f; srun ./2": "",
    "set -e; f() { false; srun ./1; }; f; srun ./2": "",
    "set -e; f() { false && true; }; f; srun ./2": "",
    "set -e; f() { false; srun ./1; }; f || true; srun ./2": "1 2",
    "set -e; f() { false; srun ./1; }; if f; then srun ./3; fi; srun ./2": "1 3 2",
    "set -e; ! true; srun ./2": "2",
    "set -e; false || true; srun ./2": "2",
    "set -e; false && true; srun ./2": "2",
    "set -e; true && false; srun ./2": "",
    "set -e; { false && true; }; srun ./2": "2",
    "set -e; ( false && true ); srun ./2": "",
    "set -e; ( false; srun ./1; true ) || srun ./3; srun ./2": "1 2",
    "set -e; ( false; srun ./1 ); srun ./2": "",
    "set -e; if false; then srun ./1; fi; srun ./2": "2",
    "set -e; while false; do :; done; srun ./2": "2",
    "set -e; if true; then false; fi; srun ./2": "",
    "set -e; case a in a) false ;; esac; srun ./2": "",
    "set -e; for i in 1 2; do false; srun ./1; done; srun ./2": "",
    "set -e; for i in 1 2; do [ $i = 1 ]; srun ./a$i; done; srun ./2": "a1",
    "set -e; for i in 1 2; do [ $i -lt 3 ]; srun ./a$i; done; srun ./2": "a1 a2 2",
    "set -e; false | true; srun ./2": "2",
    "set -e; true | false; srun ./2": "",
    "set -eo pipefail; false | true; srun ./2": "",
    "set -eo pipefail; g() { false; }; g | cat; srun ./2": "",
    "set -e; x=$(false); srun ./2": "",
    "set -e; x=$(false; echo hi); srun ./2 $x": "2",
    "set -e; x=$(set -e; false; echo hi); srun ./2 $x": "",
    "set -e; export x=$(false); srun ./2": "2",
    "set -e; set +e; false; srun ./2": "2",
    "set -e; false & wait; srun ./2": "2",
    "trap 'exit 1' ERR; false; srun ./2": "",
    "trap 'exit 1' ERR; ( false; srun ./1 ); srun ./2": "1 2",
    "trap 'exit 1' ERR; f() { false; srun ./1; }; f; srun ./2": "1 2",
    "bash -ec 'false; srun ./1'; srun ./2": "2",
    "false || exit 3; srun ./2": "",
    "if true; then exit 1; fi; srun ./2": "",
}


def in_bash(script: str, folder: Path) -> str:
    stub = folder / "srun"
    stub.write_text('#!/bin/bash\necho "${1#./}" >> "$RECORD"\n')
    stub.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(folder / "record")}
    (folder / "record").touch()
    subprocess.run(["bash", "-c", script], env=environment, cwd=folder, capture_output=True, check=False)
    return " ".join((folder / "record").read_text().split())


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_fails_ends_the_plan(script: str, tmp_path: Path) -> None:
    steps = api.plan(f"#!/bin/bash\n#SBATCH --nodes=2\n{script}\n").data["steps"]
    planned = " ".join([step["argv"][0].removeprefix("./") for step in steps])
    assert (planned, in_bash(script, tmp_path)) == (SCRIPTS[script], SCRIPTS[script])


def test_a_place_to_be_filled_in_ends_nothing() -> None:
    script = '#!/bin/bash\n#SBATCH --nodes=2\nDATA=\n[ -z "$DATA" ] && exit 1\nsrun ./1\n'
    assert [step["argv"] for step in api.plan(script).data["steps"]] == [["./1"]]


# Scripts of more combinations than are told one by one, and the words of their steps: None for what a variable from
# outside may make something else.
MANY = {
    "srun ./1 -x ${A:-1} ${B:-2} ${C:-3} ${D:-4}": [["./1", "-x", None, None, None, None]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; srun ./1 a$E -y': [["./1", None, "-y"]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; X=$(echo $E); srun ./1 "$X"': [["./1", None]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; printf -v X %s "$E"; srun ./1 "$X"': [["./1", None]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; X=$((E + 1)); srun ./1 $X': [["./1", None]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; if [ $E = 1234 ]; then srun ./1; else srun ./2; fi': [["./1"], ["./2"]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; if [[ $E == 1234 ]]; then srun ./1; else srun ./2; fi': [["./1"], ["./2"]],
    'E="${A:-1}${B:-2}${C:-3}${D:-4}"; case $E in 1234) srun ./1 ;; *) srun ./2 ;; esac': [["./1"], ["./2"]],
    "srun ./1 {${A:-1},${B:-2},${C:-3},${D:-4},${X:-9}}": [["./1", None, None, None, None, None]],
}


@pytest.mark.parametrize("script", MANY)
def test_many_defaults_are_no_certain_values(script: str) -> None:
    steps = api.plan(f"#!/bin/bash\n#SBATCH --nodes=2\n{script}\n").data["steps"]
    assert [step["argv"] for step in steps] == MANY[script]


def test_counts_from_many_defaults_are_not_known() -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=2\nsrun -n ${N:-4} ./1 ${A:-1} ${B:-2} ${C:-3}\n"
    (step,) = api.plan(script).data["steps"]
    assert step["tasks"] is None and step["by_task"] is None


# What a branch or an unknown word may have changed.
UNSURE = {
    'A[3]=z; srun ./1 "${A[3]}" ${#A[@]}': [["./1", "z", None]],
    'printf -v A[3] z; srun ./1 "${A[3]}" ${#A[@]}': [["./1", "z", None]],
    'A=(a b c); unset "A[$U]"; srun ./1 "${A[@]}"': [["./1", None]],
    'X=a; [ -n "$U" ] && readonly X; X=b; srun ./1 $X': [["./1", None]],
}


@pytest.mark.parametrize("script", UNSURE)
def test_what_may_have_changed_is_not_known(script: str) -> None:
    steps = api.plan(f"#!/bin/bash\n#SBATCH --nodes=2\n{script}\n").data["steps"]
    assert [step["argv"] for step in steps] == UNSURE[script]
