"""Bounds: what a script may cost, and that a run says which of them it met."""

from __future__ import annotations

import gc
import time

import pytest

from sbatchlint.bash.limits import MOST_WORK
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import inspect
from sbatchlint.job import Job, Site
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=1\n"


def findings(body: str) -> list[Diagnostic]:
    inspection = inspect(Source(HEAD + body, "a.sbatch"), Settings.of_table({}))
    assert not inspection.faults
    return inspection.diagnostics


def codes(body: str) -> set[str]:
    return {each.code for each in findings(body)}


def test_what_stands_behind_too_many_statements_is_not_judged() -> None:
    wrong = 'srun torchrun --nproc_per_node=8 train.py\nsrun bash -c "echo $SLURM_PROCID"\n'
    many = "echo x\n" * MOST_WORK
    assert codes(wrong) - {"SB710"} <= codes(wrong + many)
    found = findings(many + wrong)
    assert {(each.code, each.severity) for each in found} == {("SB012", "warning")}
    assert found[0].source.row(found[0].span.start) == MOST_WORK + 3


def test_a_check_of_what_is_missing_is_silent_where_the_end_was_not_seen() -> None:
    assert "SB710" in codes("python train.py | tee log\necho done\n")
    assert "SB710" not in codes("python train.py | tee log\n" + "echo x\n" * MOST_WORK)


@pytest.mark.parametrize(
    "body",
    [
        "A=x\n" + 'A="$A$A"\n' * 60 + "srun a $A\n",
        'A="x$Y"\n' + 'A="$A$A"\n' * 60 + "srun a $A\n",
        "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 60 + 'srun a "${A[@]}"\n',
        "A=(x y)\n" + 'A[0]="${A[0]}${A[0]}"\n' * 60 + 'srun a "${A[@]}"\n',
        "A=xx\n" + "A=${A//x/xx}\n" * 60 + "srun a $A\n",
        "A=xx\n" + "A=${A//x/$A}\n" * 60 + "srun a $A\n",
        "A=x\n" + "A=$(echo $A $A)\n" * 60 + "srun a $A\n",
        "A=x\n" + 'printf -v A "%s%s" "$A" "$A"\n' * 60 + "srun a $A\n",
        "A=x\n" + 'eval "A=\\"\\$A\\$A\\""\n' * 60 + "srun a $A\n",
        "A=x\n" + 'read A <<< "$A$A"\n' * 60 + "srun a $A\n",
        "f() { f; f; }\nf\nsrun a\n",
        "f() { g; g; }\ng() { f; f; }\nf\nsrun a\n",
        "for a in 1 2 3 4 5 6; do\n" * 8 + "X=$X$a\nsrun a $X\n" + "done\n" * 8,
        "while true; do\n" * 30 + "srun a\n" + "done\n" * 30,
        "if a; then X=$X-1; fi\n" * 60 + "srun a $X\n",
        "srun a " + "x" * 2_000_000 + "\n",
        'srun a "' + "x $Y " * 400_000 + '"\n',
        "srun a " + "$Y " * 400_000 + "\n",
        "echo x\n" * 25_000 + "srun a\n",
        "if true; then\n" * 3000 + "srun a\n" + "fi\n" * 3000,
        "(" * 3000 + "srun a" + ")" * 3000 + "\n",
        "X=" + "$(echo " * 3000 + "a" + ")" * 3000 + "\n",
        "X=$((" + "(" * 5000 + "1" + ")" * 5000 + "))\nY=$((" + "-" * 5000 + "1))\n",
        "X=${A:-" * 3000 + "b" + "}" * 3000 + "\n",
        'srun bash -c "' * 20 + '"' * 20 + "\n",
        "echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}\necho {a,b}" + "{a,b}" * 40 + "\n",
        "cat <<A\n$X\nA\n" * 2000,
        "case x in\n" + "a) X=$X-a;;\n" * 2000 + "esac\nsrun a $X\n",
    ],
    ids=range(28),
)
def test_no_script_is_too_much(body: str) -> None:
    """In CPU seconds; three times the bound that is promised, as a machine may be busy."""
    start = time.process_time()
    findings(body)
    assert time.process_time() - start < 6


def test_records_are_let_go_of() -> None:
    job = Job.from_source(Source(HEAD + "srun bash -c 'echo a'\n", "a.sbatch"), Site())
    commands = list(job.invocations)
    assert any(each.children for each in commands)
    job.let_go()
    assert not job.invocations and not any(each.children for each in commands)


def test_nothing_is_left_to_the_collector() -> None:
    """What holds no circle is freed by counting references, at once."""
    inner = "sbatch <<'END'\n#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun train.py\nEND\n"
    body = "f() { srun bash -c 'echo $1'; }\nfor i in 1 2; do f $i | tee a; done\n[[ $X ]] && f $((Y + 1))\n" + inner
    sources = [Source(HEAD + body, "a.sbatch"), Source("#!/usr/bin/env python3\n#SBATCH --nodes=2\n", "a.py")]
    settings = Settings.of_table({})
    for source in sources:
        inspect(source, settings)  # loads the checks
    gc.collect()
    gc.disable()
    try:
        for source in sources:
            inspect(source, settings)
        assert gc.collect() == 0
    finally:
        gc.enable()


SHAPES = {
    "lines": lambda size: "".join(f'CMD="$CMD --opt{i} $A"\nsrun -n1 a $A\n' for i in range(size)),
    "turns": lambda size: f"for i in $(seq {size}); do X=$((i+1)); srun a $X; done\n" * 10,
    "functions": lambda size: "".join(f"f{i}() {{\n  echo $1 {i}\n}}\nf{i} a\n" for i in range(size)),
    "words": lambda size: "srun a" + "".join(f" --opt{i} $A" for i in range(10 * size)) + "\n",
    "heredocs": lambda size: "cat > a.yaml <<EOF\na: $A\nEOF\n" * size,
    "programs": lambda size: "".join(f'srun bash -c "echo $A; a --x {i}"\n' for i in range(size)),
    "branches": lambda size: "".join(f'if [ "$A{i}" = x ]; then B="$B -{i}"; fi\n' for i in range(size)),
    "directives": lambda size: "".join(f"#SBATCH --comment=x{i}\n" for i in range(size)),
    "launchers": lambda size: "".join(
        f"srun torchrun --nnodes=2 --nproc_per_node=8 t.py {i}\n" for i in range(size // 3)
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_length(shape: str) -> None:
    """Ten times the script takes about ten times as long (at most twice that, as a machine may be busy)."""

    def least(body: str, rounds: int) -> float:
        found = []
        for _ in range(rounds):
            start = time.process_time()
            findings(body)
            found.append(time.process_time() - start)
        return min(found)

    make = SHAPES[shape]
    findings(make(30))  # loads the checks
    short, long = least(make(100), 5), least(make(1000), 1)
    if long > 20 * short:
        short, long = least(make(100), 20), least(make(1000), 3)
    assert long < 20 * short
