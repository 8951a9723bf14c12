"""Bounds: what a script may cost, and that a run says which of them it met."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import tracemalloc
import weakref
from functools import cache
from pathlib import Path

import pytest

import sbatchlint.cli  # noqa: F401  (collects garbage as seldom as a run does)
from conftest import ALL
from counting import calls, executed_lines
from sbatchlint.analysis.planning.plan import plan_of
from sbatchlint.bash.limits import MOST_FIELDS, MOST_WORK
from sbatchlint.bash.syntax.bounds import MOST_NODES
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Simple
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import inspect
from sbatchlint.job import Job, Site
from sbatchlint.job.argv import is_unknown
from sbatchlint.report.plan_html import as_html
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=1\n"


def findings(body: str) -> list[Diagnostic]:
    inspection = inspect(Source(HEAD + body, "a.sbatch"), Settings.of_table({}))
    assert not inspection.faults
    return inspection.diagnostics


def seconds(body: str) -> float:
    """CPU seconds, to be compared with others of the same run."""
    start = time.process_time()
    findings(body)
    return time.process_time() - start


@cache
def seconds_of_the_longest(attempt: int) -> float:
    """Those of a script that is looked at to its last statement, measured once for all scripts of a run."""
    return seconds("srun a\n" * MOST_WORK)


def codes(body: str) -> set[str]:
    return {each.code for each in findings(body)}


@pytest.mark.slow
def test_what_stands_behind_too_many_statements_is_not_judged() -> None:
    wrong = 'srun torchrun --nproc_per_node=8 train.py\nsrun bash -c "echo $SLURM_PROCID"\n'
    many = "echo x\n" * MOST_WORK
    assert codes(wrong) - {"SB710"} <= codes(wrong + many)
    found = findings(many + wrong)
    assert {(each.code, each.severity) for each in found} == {("SB012", "warning")}
    assert found[0].source.row(found[0].span.start) == MOST_WORK + 3


@pytest.mark.slow
def test_a_check_of_what_is_missing_is_silent_where_the_end_was_not_seen() -> None:
    assert "SB710" in codes("python train.py | tee log\necho done\n")
    assert "SB710" not in codes("python train.py | tee log\n" + "echo x\n" * MOST_WORK)


@pytest.mark.parametrize(
    ("body", "severity", "code"),
    [
        ('A="$A$A"\n' * 60 + "srun a $A\n", "warning", 0),
        ("echo x\n" * MOST_WORK, "warning", 1),
        pytest.param("echo x\n" * MOST_WORK, "error", 0, marks=pytest.mark.slow),
    ],
    ids=range(3),
)
def test_a_run_says_what_was_not_looked_at(tmp_path: Path, body: str, severity: str, code: int) -> None:
    (tmp_path / "a.sbatch").write_text(f"{HEAD}A=x\n{body}")
    command = [sys.executable, "-m", "sbatchlint", f"--min-severity={severity}", "--output-format=json", "a.sbatch"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    (found,) = json.loads(done.stdout)
    assert (found["code"], done.returncode) == ("SB012", code)


@pytest.mark.slow
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
        "a | " * 400_000 + "b\n",
        "a && " * 400_000 + "b\n",
        "[[ a ]] || " * 200_000 + "b\n",
        "srun a " + "`a` " * 400_000 + "\n",
        'srun a "' + "$(a) ${Y:-x}" * 100_000 + '"\n',
        "A=x " * 500_000 + "\n",
        "A=(" + "x " * 700_000 + ")\n",
        "for a in " + "x " * 700_000 + "; do srun a; done\n",
        "X=$((" + "Y+" * 700_000 + "1))\n",
        "#SBATCH " + "-n 2 " * 400_000 + "\nsrun a\n",
        "#SBATCH --array=" + "1," * 700_000 + "1\nsrun a\n",
        "".join(f"a > f{i}\n" for i in range(25_000)),
        "".join(f"cat > f{i} <<E\n$Y\nE\n" for i in range(25_000)),
        "".join(f'sbatch --wrap="srun a {i}"\n' for i in range(25_000)),
        "srun a\n" * 25_000,
        "if [ $X = 1 ]; then A=$A-1; fi\n" * 25_000,
        "for ((i=0; i<3; i++)); do a $i; done\n" * 25_000,
        "srun bash -c 'a $Y'\n" * 25_000,
        "#SBATCH --array=1-9 --output=%x-%x-%x.out\na " + "x-" * 50_000 + "\nls a.out\n",
    ],
    ids=range(47),
)
def test_no_script_is_too_much(body: str) -> None:
    """None takes many times as long as one that is looked at to its last statement."""
    assert any(seconds(body) < 6 * seconds_of_the_longest(attempt) for attempt in range(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "srun a " + "$Y " * 400_000 + "\n",
        "a | " * 400_000 + "b\n",
        "for i in 1 2; do " + "a; " * 200_000 + "done\n",
        "bash -c '" + "a; " * 200_000 + "'\n",
        "#SBATCH " + "-n 2 " * 400_000 + "\n",
    ],
)
def test_of_a_text_that_is_too_long_the_beginning_is_judged(body: str) -> None:
    before = "#SBATCH --ntaks=2\n" + ("" if body[0] == "#" else "srun --exclusiv a\nsrun nproc\n")
    expected = {code for code in codes(before) if code != "SB710"}
    assert expected and codes(before + body) >= {*expected, "SB012"}
    (bound,) = [each for each in findings(before + body) if each.code == "SB012"]
    assert bound.severity == "warning" and bound.source.row(bound.span.start) == before.count("\n") + 3


def test_what_is_read_of_a_text_is_bounded() -> None:
    program = parse("a $Y;" * 400_000)
    assert program.cut is not None and not program.errors
    assert len(nodes_of(program, Simple)) <= MOST_NODES // 2
    assert parse("echo `a`\n" * 2_000).cut is None  # for each of them the text before is copied
    assert parse("a\n" * 20_000).cut is None


@pytest.mark.slow
def test_what_a_statement_starts_is_work_too() -> None:
    """The 25,000th is looked at where each only assigns, and not where each submits a job."""
    for line, most in (("A=1\n", MOST_WORK), ("srun a\n", MOST_WORK / 3), ("sbatch --wrap=a\n", MOST_WORK / 11)):
        job = Job.from_source(Source(HEAD + line * 21_000, "a.sbatch"), Site())
        assert len(job.reached) <= most + 1
        assert job.limits.exhausted


def test_all_jobs_that_a_script_submits_share_a_bound() -> None:
    """Each of them would be followed for 20,000 statements by itself."""
    bomb = "f() { g; g; g; g; g; }; g() { h; h; h; h; h; }; h() { i; i; i; i; i; }; i() { j; j; j; j; j; }; "
    bomb += "j() { k; k; k; k; k; }; k() { date; date; date; date; date; }; f"
    job = Job.from_source(Source(f"{HEAD}A='{bomb}'\n" + 'sbatch --wrap="$A"\n' * 20, "a.sbatch"), Site())
    assert len(job.submits) < 4 and job.limits.exhausted
    assert sum(len(each.trace.invocations) for each in job.with_submitted()) < 2 * MOST_WORK


@pytest.mark.parametrize(
    "line", ["--gpus-per-task=4G", "--gpus-per-node=4G --gpu-bind=map:0", "-n 2000000000 --gpus=8 -N1"]
)
def test_no_number_is_counted_up_to(line: str) -> None:
    body = f"srun -n2 {line} python train.py\nsrun {line} --gpu-bind=per_task:2 python train.py\n"
    assert plan_of(Job.from_source(Source(f"#!/bin/bash\n#SBATCH {line}\n{body}", "a.sbatch"), Site()))
    findings(body)


@pytest.mark.parametrize("body", ["export CUDA_VISIBLE_DEVICES=0,1\nsrun", "srun env CUDA_VISIBLE_DEVICES=0,1"])
def test_gpus_of_a_node_are_not_counted_up(body: str) -> None:
    source = Source(f"#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=3000000\n{body} python a.py\n", "a.sbatch")
    tracemalloc.start()
    try:
        inspect(source, Settings.of_table())
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # each number takes some 70 bytes
    finally:
        tracemalloc.stop()


def test_gpus_are_not_counted_one_by_one() -> None:
    """Each task sees all of its node's, which are a thousand million."""
    body = "srun --gpus-per-task=1000 --gpu-bind=per_task:2000000 bash -c './a $SLURM_PROCID'\n"
    job = Job.from_source(Source(f"#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=500000\n{body}", "a.sbatch"), Site())
    plan = plan_of(job)
    assert executed_lines(lambda: as_html([(plan, {}, [])])) < 50_000


def test_records_are_let_go_of() -> None:
    job = Job.from_source(Source(HEAD + "srun bash -c 'echo a'\n", "a.sbatch"), Site())
    commands = list(job.invocations)
    assert any(each.children for each in commands)
    job.release()
    assert not job.invocations and not any(each.children for each in commands)


def test_the_syntax_of_a_script_is_let_go_of() -> None:
    """A folder of large scripts takes no more memory than the largest."""
    job = Job.from_source(Source(HEAD + "srun a\n", "a.sbatch"), Site())
    assert len(nodes_of(job.program, Simple)) == 1
    program = weakref.ref(job.program)
    job.release()
    del job
    assert program() is None


def test_words_behind_the_most_that_are_kept_are_one_unknown() -> None:
    words = f"srun a {'x ' * (MOST_FIELDS + 5)}$Y\n"
    job = Job.from_source(Source(HEAD + words, "a.sbatch"), Site())
    argv = job.steps[0].invocation.argv
    assert len(argv) == MOST_FIELDS + 1 and is_unknown(argv[-1])
    assert "value" in job.limits.met


@pytest.mark.slow
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
    "pieces": lambda size: 'C="$C --opt=$V"\n' * (3 * size) + "srun a $C\n",
    "arrays": lambda size: "A=()\n" + "A+=(--opt $V)\n" * (3 * size) + 'srun a "${A[@]}"\n',
    "strangers": lambda size: "".join(f'A{i}_x=1\nsrun a "$name{i}_x" $word{i}\n' for i in range(size)),
    "exported": lambda size: "".join(f'export A{i}=1\nsrun bash -c "a $A{i}"\n' for i in range(size)),
    "loops": lambda size: "".join(f"while read a{i}; do echo $a{i}; done < f{i}\n" for i in range(size)),
    "folders": lambda size: "".join(f"mkdir -p out/{i}\nsrun a > out/{i}/log\n" for i in range(size)),
    "removals": lambda size: "".join(f"cp -r data{i} $TMPDIR/\nrm -rf $TMPDIR/data{i}\n" for i in range(size)),
    "images": lambda size: "".join(f"singularity exec a{i}.sif python t.py\n" for i in range(size)),
    "runners": lambda size: "".join(f"deepspeed --num_gpus 8 t.py {i}\n" for i in range(size)),
    "jobs": lambda size: "".join(f'sbatch --wrap="srun a {i}"\n' for i in range(size)),
    "elements": lambda size: "".join(f"A[{i}]=x{i}\n" for i in range(size)) + 'srun a "${A[@]}"\n',
    "traps": lambda size: "".join(f"trap 'echo {i}; kill $P{i}' TERM\nsrun a {i}\n" for i in range(size)),
    "placeholders": lambda size: "./configs/PATH_TO_CONFIG.yaml  # replace it\n" * (8 * size),
    "components": lambda size: "#SBATCH --nodes=1 --ntasks=2\n#SBATCH hetjob\n" * size + "#SBATCH -n1\nsrun a\n",
    "options": lambda size: "srun --ntasks-per-node=4 -A$SLURM_JOB_ACCOUNT torchrun --nnodes=2 t.py\n" * (size // 2),
    "ranks": lambda size: "".join(f"export RANK{i}=$SLURM_PROCID\nsrun a {i}\n" for i in range(size)),
    "ports": lambda size: "torchrun --nnodes=1 --master_port=29501 t.py &\nwait\n" * (size // 2),
    "background": lambda size: "for i in 1 2; do\n  python t.py $i &\ndone\nwait\n" * (size // 2),
    "staged": lambda size: "".join(f"cp d{i} $TMPDIR/d{i}\nsrun a $TMPDIR/d{i}\n" for i in range(size // 2)),
    "dispatches": lambda size: "".join(f'if [ "$X" = {i} ]; then python t.py {i}; fi\n' for i in range(size)),
    "launchers": lambda size: "".join(
        f"srun torchrun --nnodes=2 --nproc_per_node=8 t.py {i}\n" for i in range(size // 3)
    ),
}


PLANNED = {
    "steps": lambda size: "".join(f"srun -n2 --gpus-per-node=2 a {i}\n" for i in range(size)),
    "plain": lambda size: "".join(f"if [ $X{i} ]; then A=1; else A=2; fi\nsrun a $A\n" for i in range(size // 2)),
    "launchers": lambda size: "".join(f"srun torchrun --nnodes=2 t.py {i}\n" for i in range(size)),
    "mpi": lambda size: "".join(f"mpirun -np 4 torchrun --nproc_per_node=2 t.py {i}\n" for i in range(size)),
}


@pytest.mark.parametrize(
    "shape", [pytest.param(each, marks=[pytest.mark.slow] * (each in ("steps", "launchers"))) for each in PLANNED]
)
def test_time_of_a_plan_grows_with_the_steps(shape: str) -> None:
    """Counted in calls, which a busy machine does not change."""

    def cost(size: int) -> int:
        job = Job.from_source(Source("#!/bin/bash\n#SBATCH -N2\n" + PLANNED[shape](size), "a.sbatch"), Site())
        return calls(lambda: plan_of(job))

    cost(5)  # what is imported and kept between jobs
    assert cost(300) < 12 * cost(30)


@pytest.mark.parametrize(
    "shape",
    [
        *("elements", "programs", "runners"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("dispatches", "exported", "jobs")),
    ],
)
def test_work_grows_with_the_length(shape: str) -> None:
    """A search for each finding shows in the lines that are executed."""

    def lines(size: int) -> int:
        body = SHAPES[shape](size)
        return executed_lines(lambda: findings(body))

    lines(5)  # what is imported and kept between jobs
    assert lines(300) < 10.5 * lines(30)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_length(shape: str) -> None:
    """Ten times the script takes about ten times as long, and what is quadratic a hundred times.

    The bound between is wide, and a bad figure is measured again: what else runs on a machine slows the long script
    more than the short one, as it leaves less of the caches. tools/bench.py prints the ratios themselves.
    """
    make, size = SHAPES[shape], 100 if ALL else 50
    findings(make(30))  # loads the checks
    short, long = min(seconds(make(size)) for _ in range(3)), seconds(make(10 * size))
    for _ in range(8):
        if long > 20 * short:
            short, long = min(short, *(seconds(make(size)) for _ in range(3))), min(long, seconds(make(10 * size)))
    assert long < 20 * short


def test_an_array_that_doubles_itself_costs_what_its_words_cost() -> None:
    """Each of many doublings on one line is charged, not the line alone."""
    doubled = "x=(a)\n" + 'x+=("${x[@]}") ' * 30 + "\n"
    job = Job.from_source(Source(HEAD + doubled, "a.sbatch"), Site())
    assert "work" in job.limits.met
    appended = "".join(f"x+=(a{number})\n" for number in range(500))
    few = Job.from_source(Source(HEAD + appended + "srun ./a\n", "a.sbatch"), Site())
    assert not few.limits.met
