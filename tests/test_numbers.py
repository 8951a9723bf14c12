"""Numbers of any length: nothing but `parse_integer` turns the text of a script into a number."""

from __future__ import annotations

import ast

import pytest

from conftest import ROOT
from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.source.numbers import LARGEST, parse_integer
from sbatchlint.source.text import Source

FILES = [path for name in ("sbatchlint", "checks") for path in (ROOT / name).rglob("*.py")]


def test_short_and_long_numbers() -> None:
    assert [parse_integer(text) for text in ("7", "-3", "+04", " 5 ")] == [7, -3, 4, 5]
    assert parse_integer("ff", 16) == 255
    assert parse_integer("9" * 5000) == LARGEST == -parse_integer("-" + "9" * 5000)
    for text in ("", "x", "²", "1.5", "x" * 5000 + "-"):
        with pytest.raises(ValueError):
            parse_integer(text)


def is_of_text(call: ast.Call) -> bool:
    """Whether `int(…)` may be given a text: all but truth values, and arithmetic on numbers."""
    argument = call.args[0]
    if isinstance(argument, (ast.Compare, ast.UnaryOp)):
        return False
    if isinstance(argument, ast.BinOp):
        return isinstance(argument.op, ast.Add)
    if isinstance(argument, ast.Name):
        return argument.id not in ("self", "line")  # rows that know their file
    return not (isinstance(argument, ast.Call) and getattr(argument.func, "id", "") in ("bool", "max", "min"))


def test_no_text_is_given_to_int() -> None:
    found = []
    for path in FILES:
        if path.name == "numbers.py" and path.parent.name == "source":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        direct = [call for call in calls if getattr(call.func, "id", "") == "int" and is_of_text(call)]
        mapped = [
            call for call in calls if any(isinstance(each, ast.Name) and each.id == "int" for each in call.args[:1])
        ]
        found += [f"{path.relative_to(ROOT)}:{call.lineno}" for call in direct + mapped]
    assert not found, "write parse_integer(…)"


LONG = "9" * 5000


@pytest.mark.parametrize(
    "script",
    [
        f"#SBATCH --time={LONG}\n#SBATCH --mem={LONG} --nodes={LONG} -a 1-{LONG}%{LONG} --signal={LONG}@{LONG}",
        f"#SBATCH --time={LONG}:{LONG}:{LONG} --begin=now+{LONG} --gres=gpu:{LONG} -B {LONG}:{LONG} --nice={LONG}",
        f"#SBATCH --dependency=afterok:{LONG}+{LONG} --constraint=a*{LONG} --cpu-bind=map_cpu:{LONG} -N{LONG}-{LONG}",
        f"#SBATCH --output=%{LONG}j --gpus=a:{LONG} --ntasks={LONG}\n#PBS -l nodes={LONG}:ppn={LONG},walltime={LONG}",
        f"X={LONG}; Y=$(({LONG} * 3)); Z=$((16#{LONG})); echo ${{X:{LONG}:{LONG}}} ${{{LONG}}} $(({LONG}#1)); echo $X",
        f"for i in {{1..{LONG}}}; do echo $i; done; for i in $(seq {LONG}); do srun -n $i a; done; break {LONG}",
        f'printf "%{LONG}d %.{LONG}s" 3 a; [ {LONG} -gt 3 ] && exit {LONG}; [[ {LONG} -lt {LONG} ]]; shift {LONG}',
        f"srun -n {LONG} -c {LONG} -N {LONG} --gpus={LONG} torchrun --nnodes={LONG} --nproc_per_node={LONG} t.py",
        f"A[{LONG}]=1; A=([{LONG}]=2); echo ${{A[{LONG}]}} ${{A[@]:{LONG}}}; read -n {LONG} x; declare -i n={LONG}",
        f"mpirun -np {LONG} a; accelerate launch --num_processes {LONG} --num_machines {LONG} t.py; sleep {LONG}",
        f"srun python pretrain_gpt.py --tensor-model-parallel-size {LONG} --num-layers {LONG}",
        f"docker run --shm-size={LONG}g --gpus {LONG} a; export CUDA_VISIBLE_DEVICES=0,{LONG}; srun torchrun t.py",
        "#SBATCH --nodes=² --mem=٣ --time=²\nsrun -n ² -c ٣ torchrun --nnodes=² --nproc_per_node=٣ t.py; exit ²",
        "echo {1..²} $((² + 3)) ${A[²]} ${²}; break ²; A[²]=1; [ ² -gt ٣ ]; printf '%²d' ٣; shift ²; sleep ²",
    ],
)
def test_numbers_of_5000_digits(script: str) -> None:
    head = "" if script.startswith("#") else "#SBATCH --nodes=2 --gpus-per-node=8\n"
    lint_source(Source(f"#!/bin/bash\n{head}{script}\n", "a.sbatch"), Settings.of_table({}, select=["ALL"]))
