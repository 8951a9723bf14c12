"""Ten times the input costs at most thirteen times the executed lines, whatever it is that grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from textwrap import indent

import pytest

from conftest import ALL
from counting import calls, executed_lines
from sbatchlint.analysis.planning.plan import plan_of
from sbatchlint.bash.limits import CHARACTERS_OF_A_STATEMENT, MOST_WORK, WORDS_OF_A_STATEMENT
from sbatchlint.cli import audit, main, submit
from sbatchlint.convert.conversion import convert
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.diagnose import as_json
from sbatchlint.diagnose import as_text as diagnosis_as_text
from sbatchlint.diagnose.run import judged
from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source, redacted_diff
from sbatchlint.job import Job, Site
from sbatchlint.linting import fix_file, inspect_file
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

MOST = 13
SMALL, LARGE = 30, 300
HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=1\n"


def repeated(template: str) -> Callable[[int], str]:
    """A body of so many lines, with their numbers for `@`."""
    return lambda size: "".join([template.replace("@", str(number)) for number in range(size)])


def case(arm: str) -> Callable[[int], str]:
    """A `case` of so many arms."""
    return lambda size: f"case $X in\n{repeated(arm)(size)}esac\nsrun a $A $B\n"


def joined(template: str, separator: str, before: str, after: str = "\n") -> Callable[[int], str]:
    """One command with so many words, pieces or parts."""
    return lambda size: (
        before + separator.join([template.replace("@", str(number)) for number in range(3 * size)]) + after
    )


def nested(begin: str) -> Callable[[int], str]:
    """Loops that begin so, inside each other, 2 deep in what is small and 20 in what is large."""
    return lambda size: f"{repeated(begin)(size // 15 or 1)}srun a $v0 $v1{'; done' * (size // 15 or 1)}\n"


SHAPES: dict[str, Callable[[int], str]] = {
    "an unset variable that is printed": joined("$a", "", 'echo "', '"\n'),
    "outputs of containers": repeated("x=$(docker run img a@); docker logs $x; docker rm $x\n"),
    "ranks among the words of one srun": joined("-x=$SLURM_PROCID/@", " ", "srun a "),
    "ranks among the words of one srun with options": joined('-x="$SLURM_PROCID"/@', " ", "srun $OPTIONS a "),
    "traps and what is assigned after them": repeated("f@() { A@=1; }\ntrap 'echo $A@' USR1\n"),
    "traps of functions": repeated("cleanup@() { rm -r $W; }\ntrap cleanup@ USR1\n"),
    "removals of one variable": repeated("rm -rf $OUT\nsrunup@=\n"),
    "case: variables": case("a@) A@=x ;;\n"),
    "case: values": case("a@) B=$B-@; srun a@ ;;\n"),
    "case: functions": case("a@) f@() { srun a; } ;;\n"),
    "case: files": case("a@) echo $A > f@ ;;\n"),
    "case: exits": case("a@) A@=2; exit @ ;;\n"),
    "case: next patterns": case("a@) A@=x; B=$B@ ;;&\n"),
    "case: arms that run on": case("a@) A@=x ;&\n"),
    "case: files of arms that run on": case("a@) echo $A > f@ ;&\n"),
    "case: functions of arms that run on": case("a@) f@() { srun a; } ;&\n"),
    "case: arms of all kinds": case("a@) A@=x ;&\nb@) B=$A@ ;;&\nc@) srun a$B ;;\n"),
    "case: a first arm of many variables": lambda size: case("a@) A=x ;;\n")(size).replace(
        "in\n", f"in\nq) {repeated('Q@=1; ')(size)};;\n"
    ),
    "case: several of one word": lambda size: (
        case("a@) A@=x ;;\n*@) C=x ;;\n")(size) + case("a@) B=$A@-x ;;\n")(size) * 2
    ),
    "case: options of the script": lambda size: (
        f"while [[ $# -gt 0 ]]; do\n{case('--a@) A@=$2; shift 2 ;;')(size).replace('$X', '$1')}done\nsrun a $A1\n"
    ),
    "elif: variables": lambda size: f"if a; then A=0\n{repeated('elif [ $X = @ ]; then A@=x' + chr(10))(size)}fi\n",
    "elif: values": lambda size: (
        f"if a; then A=0\n{repeated('elif [ $X = @ ]; then A=x@' + chr(10))(size)}fi\nsrun a $A\n"
    ),
    "elif: steps": lambda size: (
        f"if a; then b\n{repeated('elif [ -f $X@ ]; then srun a@' + chr(10))(4 * size)}else c; fi\n"
    ),
    "settings of branches": repeated("if [ -f $x ]; then A@=1; else B@=2; fi\n"),
    "ifs that exit": repeated('if [ -z "$A@" ]; then echo no; exit @; fi\nsrun a @\n'),
    "a function with many returns": lambda size: (
        f"f() {{\n{repeated('if [ $1 = @ ]; then A@=1; return @; fi' + chr(10))(size)}}}\nf a\nsrun a\n"
    ),
    "guards of a loop": lambda size: (
        f"for a in 1 2 3; do\n{repeated('[ $a -gt @ ] && continue' + chr(10) + 'A@=$a' + chr(10))(size)}done\nsrun a\n"
    ),
    "the body of a loop": lambda size: f"for a in 1 2 3; do\n{repeated('A@=$a; srun a $A@' + chr(10))(size)}done\n",
    "loops in loops": repeated("for a in 1 2 3; do for b in 4 5; do srun a@ $a $b; done; done\n"),
    "loops around loops": nested("for v@ in x y; do "),
    "loops of one item around loops": nested("for v@ in x; do "),
    "loops around loops, of which it is not known how often they run": nested("for v@ in $(ls @); do "),
    "loops around loops that count": nested("for ((v@ = 0; v@ < 2; v@++)); do "),
    "loops around loops that read": nested("while read -r v@; do "),
    "loops around loops that are left": nested("for v@ in 1 2 3; do [ $v@ -gt 1 ] && break; "),
    "and": joined("A@=$(x)", " && ", ""),
    "or": joined("a@", " || ", ""),
    "pipeline": joined("grep a@", " | ", "srun a | "),
    "subshells": repeated("(cd d@; A=1; srun a $A)\n"),
    "substitutions": repeated("A@=$(cat f@ | head -1)\nsrun a $A@\n"),
    "sources": repeated("source env@.sh\nsrun a\n"),
    "a heredoc": lambda size: f"cat > a <<E\n{repeated('line $A@ x' + chr(10))(5 * size)}E\nsrun a\n",
    "paths of a variable": lambda size: (
        f"cat > a <<E\n{repeated('path: ${OUT}/dir@' + chr(10))(4 * size)}E\nsrun a --config a\n"
    ),
    "an array": lambda size: f'A=()\n{repeated("[ $X@ ] && A+=(a@)" + chr(10))(size)}srun a "${{A[@]}}"\n',
    "an array that loops append to": lambda size: (
        f'A=()\n{repeated("for k in 1 2; do A+=(o@_$k); done" + chr(10))(size)}srun a "${{A[@]}}"\n'
    ),
    "keys": lambda size: (
        f'declare -A A\n{repeated("A[k@]=v@" + chr(10))(size)}for k in "${{!A[@]}}"; do srun a $k ${{A[$k]}}; done\n'
    ),
    "pieces of a word": joined("$A@", " x", 'srun a "', '"\n'),
    "options of an srun": joined("--comment=a@", " ", "srun ", " a\n"),
    "components": lambda size: "srun " + " : ".join(["-n1 a"] * size) + "\n",
    "background steps": repeated("srun -n1 --exact a @ &\n"),
    "launchers in the background": repeated("CUDA_VISIBLE_DEVICES=@ torchrun --nproc_per_node=1 t.py &\n"),
    "containers": repeated("srun --container-image=img@ --container-mounts=/a@:/b@ a\n"),
    "jobs that wait for each other": repeated("J=$(sbatch --dependency=afterok:$J a@.sh)\n"),
    "directives": repeated("#SBATCH --nodez@=1\n"),
    "components of a heterogeneous job": repeated("#SBATCH --ntasks=2 --mem=@G --comment=a@\n#SBATCH hetjob\n"),
    "words of a directive": joined("--comment=a@", " ", "#SBATCH "),
    "a set of tasks": joined("@", ",", "#SBATCH --array="),
    "disable and enable": repeated("# sbatchlint: disable[SB101]\nsrun a @\n# sbatchlint: enable[SB101]\n"),
    "misspelt directives": repeated("#SBATCH nodes=@\n#SBATCH -nodes @\n#SBATCH --node s=2\n"),
    "values that are none": repeated("#SBATCH --mem=x@ --time=q@ --gres=gpu:x:@\n"),
    "ifs in ifs": lambda size: (
        repeated("if [ $A@ = @ ]; then B@=1; srun a $B@\n")(size // 10) + "fi\n" * (size // 10) + "srun a\n"
    ),
    "functions whose local variables are unset": repeated("f@() { local x=1; unset x; srun a $x; }\nf@\n"),
    "patterns of files": repeated('v@=(*.x@); srun a "${v@[@]}" *.q [ab]@\n'),
    "choices of a user": repeated("select x@ in a b; do srun a $x@; break; done\n"),
    "unknown codes of an ignore comment": joined("SB1@x", ",", "srun a # sbatchlint: ignore[", "]\n"),
    "ignore comments of unknown codes": lambda size: (
        repeated("# sbatchlint: ignore[SB1@x]\n")(size) + repeated("# sbatchlint: enable[no-@]\nsrun ./a\n")(size)
    ),
    "codes of an ignore comment": joined("SB101", ",", "srun a # sbatchlint: ignore[", "]\n"),
    "loops that enter folders": repeated("for d in a@ b@; do cd $d; ./run; echo x > out.txt; cd ..; done\n"),
    "terms of a test": joined('"$A@" = x', " -o ", "if [ ", " ]; then srun ./a; fi\n"),
    "terms of a test in double brackets": joined("$A@ == x*", " || ", "if [[ ", " ]]; then srun ./a; fi\n"),
    "submissions that export": repeated("sbatch --export=T=@ run@.sh\n"),
    "case: arms with loops": case("a@) for i in 1 2; do srun ./a@ $i; done ;;\n"),
    "variables made of each other": repeated('a="p ${f}.x $b"\nb="$c $a"\nc="$a $b"\neval $a @\n'),
    "passwords of commands": repeated(
        "export P@_PASSWORD=pw@xYz7q\nsrun ./a --password $P@_PASSWORD --token pw@xY7q\n"
    ),
    "traps that wait": lambda size: (
        "#SBATCH --signal=B:USR1@60\n" + repeated("trap 'kill -USR1 $P@' USR1\nsrun ./a@ & P@=$!\nwait $P@\n")(size)
    ),
    "folders in one loop": lambda size: (
        f"for d in a b c; do\n{repeated('cd $d/x@' + chr(10) + './a@ > log' + chr(10))(size)}done\n"
    ),
    "loops that are left": repeated("for d in a@ b@; do ./run || break; done\n"),
    "dry runs": repeated("rsync -avn a@ b@\n"),
    "functions that nothing calls": repeated("f@() { ./a@; }\n"),
    "files under other names": repeated("./a > f_@.txt\ncat f-@.txt\n"),
    "files emptied": repeated("sort f@ > f@\n"),
    "broken tests": repeated("if [$X@ = a ]; then echo @; fi\n"),
    "programs that are built": repeated("make -j 16 t@\n"),
    "bare shells": repeated("bash\n"),
    "folders made and entered": repeated("mkdir -p w@\ncd w@\ncp w@/x y@\n"),
    "files that each task of an array tests for": lambda size: (
        "#SBATCH --array=1-9\n" + repeated("if [ ! -d e@ ]; then python -m venv e@; ./mk e@; fi\n")(size)
    ),
    "clones of an array in folders": lambda size: (
        "#SBATCH --array=1-9\n" + repeated("cd d@; git clone https://h/a@ b@; cd ..\n")(size)
    ),
    "removals in folders of subshells": repeated("(cd $W@; ./a@; rm -rf *)\n"),
    "modules that are purged": repeated("module purge\nmodule load a@/1 b@/2\n"),
    "search paths": repeated("export LD_LIBRARY_PATH=/a@:$LD_LIBRARY_PATH PATH=/b@:$PATH\n./a@\n"),
    "programs that write logs": repeated("cd v@\nmpirun vasp_std > v.out\ng16 a@.com > a@.log\ncd ..\n"),
    "removals in folders": repeated("cd $W@\nrm -rf *.tmp\n"),
    "launchers of steps": repeated(
        "srun accelerate launch --num_processes 4 --num_machines 2 --machine_rank $SLURM_NODEID t@.py\n"
    ),
}
# Those that grew with the square once, and cost little.
REPAIRED = (
    "case: variables",
    "case: a first arm of many variables",
    "case: arms that run on",
    "and",
)


def ratio(work: Callable[[int], object], part: int = 1) -> float:
    """What the work on ten times as much costs; `part`: of sizes that are so many times smaller than the usual ones."""
    work(5)  # what is imported and kept between jobs
    small = executed_lines(lambda: work(SMALL // part))
    return executed_lines(lambda: work(LARGE // part)) / small


@pytest.mark.parametrize(
    "shape", [pytest.param(each, marks=() if each in REPAIRED else pytest.mark.slow) for each in SHAPES]
)
def test_a_script_that_grows(shape: str) -> None:
    """To read and to lint it; and to plan the job that was made of it."""
    plans: list[int] = []

    def plan(job: Job) -> None:
        plans.append(executed_lines(lambda: plan_of(job)))

    def lint(size: int) -> None:
        assert not inspect(Source(HEAD + SHAPES[shape](size), "a.sbatch"), Settings.of_table({}), ask=plan).faults

    assert ratio(lint) < MOST
    _, small, large = plans
    assert large < MOST * small


def test_directives_that_are_misspelled_are_compared_with_what_is_around_once() -> None:
    """What a search in a text costs is not seen in executed lines, but in the number of searches."""

    def searches(size: int) -> int:
        source = Source(HEAD + repeated("##SBATCH -N @\n# SBATCH -n @\n#sbatch -c @\n")(size), "a.sbatch")
        return calls(lambda: inspect(source, Settings.of_table({})), "c_call")

    searches(5)
    small = searches(SMALL)
    assert searches(LARGE) < MOST * small


# Each value is the one before and more.
EXTENDING = {
    "exports": "export V@n=$V@/x\n",
    "in quotes": 'V@n="$V@/x"\n',
    "one variable": 'export A="$A:/opt/x@"\n',
    "readonly": "readonly V@n=$V@/x\n",
}


@pytest.mark.parametrize("name", EXTENDING)
def test_values_that_extend_each_other(name: str) -> None:
    """Up to the bound of the pieces of a value, and beyond."""
    line = EXTENDING[name]

    def lint(size: int) -> None:
        lines = [line.replace("@n", str(number + 1)).replace("@", str(number)) for number in range(size)]
        script = f"{HEAD}V0=1\nA=1\n{''.join(lines)}srun a $V{size} $A\n"
        assert not inspect(Source(script, "a.sbatch"), Settings.of_table({})).faults

    lint(5)
    small = executed_lines(lambda: lint(5 * SMALL))
    assert executed_lines(lambda: lint(5 * LARGE)) < MOST * small


# What grows with each line, so that all of it grows with the square: up to a bound.
GROWING: dict[str, Callable[[int], str]] = {
    "words": repeated('A="$A x@"; srun a $A\n'),
    "arguments": lambda size: 'set -- "$@" --option v; srun a "$@"\n' * size,
    "a script that is submitted": repeated("cat >> f.sh <<E\n#SBATCH --comment=@\nE\nsbatch f.sh\n"),
    "a command that is submitted": repeated('A="$A srun x@;"; sbatch --wrap="$A"\n'),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", GROWING)
def test_what_grows_by_itself_is_bounded(shape: str) -> None:
    job = Job.from_source(Source(HEAD + GROWING[shape](1000), "a.sbatch"), Site())
    jobs = job.with_submitted()
    assert job.limits.exhausted or "value" in job.limits.met
    assert sum(len(each.argv) for one in jobs for each in one.invocations) < 2 * MOST_WORK * WORDS_OF_A_STATEMENT
    assert sum(len(one.text.string) for one in jobs) < MOST_WORK * CHARACTERS_OF_A_STATEMENT


# Blocks of a document, of which each costs much: all of them together cost what one script may cost.
BLOCKS = {
    "functions": "f() { g; g; g; g; }; g() { h; h; h; h; }; h() { date; date; date; date; }; f; f; f; f; f; f\n",
    "loops": "for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6; do srun a $i $j; done; done\n" * 9,
    "jobs": "sbatch --wrap='srun a; srun b; srun c'\n" * 10,
    "launchers": "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_endpoint=localhost:29500 t.py\n" * 9,
}


def document(kind: str, size: int) -> Source:
    blocks = (f"```bash\n{HEAD}{BLOCKS[kind]}# {number}\n```\n\n" for number in range(size))
    return Source("".join(blocks), "a.md")


@pytest.mark.slow
@pytest.mark.parametrize("kind", BLOCKS)
def test_a_document_of_many_blocks_costs_no_more_than_a_script(kind: str) -> None:
    inspection = inspect_file(document(kind, 900), Settings.of_table({}))
    assert [found.code for found in inspection.diagnostics].count("SB012") == 1
    assert inspection.cost < 2.2 * MOST_WORK  # that of all jobs that are submitted counts by itself


@pytest.mark.slow
def test_blocks_behind_the_last_that_is_looked_at_cost_next_to_nothing() -> None:
    source = document("functions", 60), document("functions", 600)
    settings = Settings.of_table({})
    inspect_file(document("functions", 2), settings)
    small, large = [executed_lines(partial(inspect_file, each, settings)) for each in source]
    assert large < 1.3 * small


def fixes(text: str) -> None:
    source = Source(text, "a.sbatch")
    redacted_diff(source, fix_source(source, Settings.of_table({}), True).source, "a.sbatch")


FIXED: dict[str, Callable[[int], str]] = {
    "one each line": lambda size: HEAD + repeated("srun -N=2 a@\n")(size),
    "directives": lambda size: HEAD + repeated("#SBATCH --nodez@=1\n#SBATCH -N=1\n")(size),
    "programs in strings": lambda size: HEAD + repeated('srun bash -c "echo $SLURM_PROCID @"\n')(size),
    "pipelines": lambda size: HEAD + repeated("srun a@ | tee log@\n")(size),
    "several kinds": lambda size: HEAD + repeated("srun -N=2 a@\ncd $PBS_O_WORKDIR\n#SBATCH --mem = 3\n")(size),
    "ignore comments": lambda size: HEAD + repeated("# sbatchlint: ignore[SB101, SB102]\nsrun a@\n")(size),
    "scripts in heredocs": lambda size: HEAD + repeated("sbatch <<E\n#!/bin/bash\n#SBATCH -N=2\nsrun a@\nE\n")(size),
    "line ends of DOS": lambda size: (HEAD + repeated("srun a@\n")(size)).replace("\n", "\r\n"),
    "all": lambda size: HEAD + "cd $PBS_O_WORKDIR\nsrun a\n" * size,
    "one that sbatch refuses": lambda size: (
        "#!/bin/bash\n#SBATCH --mem=4G\n#SBTACH --mem-per-cpu=2G\n" + "cd $PBS_O_WORKDIR\nsrun a\n" * size
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", FIXED)
def test_fixes_of_a_script_that_grows(shape: str) -> None:
    assert ratio(lambda size: fixes(FIXED[shape](size))) < MOST


JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=9@\n#SBATCH -c=4\nsrun python t@.py | tee log\n"
CELL = '{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["%%%%writefile j@.sh\\n", %s]}'
CELL %= ", ".join(json.dumps(line) for line in JOB.splitlines(True))


def notebook(size: int) -> str:
    return f'{{"cells": [{",".join([CELL.replace("@", str(number)) for number in range(size)])}]}}'


# Documents of so many scripts, by name.
DOCUMENTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "blocks": ("a.md", repeated(f"```bash\n{JOB}```\n")),
    "a block that is repeated": ("a.md", repeated(f"```bash\n{JOB.replace('@', '')}```\n")),
    "blocks of a quotation": ("a.md", repeated("".join(f"> {line}" for line in f"```\n{JOB}```\n".splitlines(True)))),
    "blocks of heredocs": ("a.md", repeated(f"```bash\ncat > j.sh <<'E'\n{JOB}E\nsbatch -N=2 j.sh\n```\n")),
    "blocks of code": ("a.rst", repeated(f".. code-block:: bash\n\n{indent(JOB, '   ')}\n\nText\n\n")),
    "cells": ("a.ipynb", notebook),
    "strings": ("a.py", repeated(f"open('j@.sh', 'w').write('''{JOB}''')\n")),
    "strings with a slot": ("a.py", repeated(f"open('j@.sh', 'w').write(f'''{JOB}srun -n {{n}} a\n''')\n")),
    "lists": ("a.py", repeated(f"open('j@.sh', 'w').write('\\n'.join({JOB.splitlines()}))\n")),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", DOCUMENTS)
def test_fixes_of_a_document_that_grows(shape: str) -> None:
    name, text = DOCUMENTS[shape]
    found: list[int] = []

    def fix(size: int) -> None:
        source = Source(text(size), name)
        fixed = fix_file(source, Settings.of_table({}), True)
        redacted_diff(source, fixed.source, name)
        found.append(len(fixed.applied))

    fix(2)
    small, large = (executed_lines(partial(fix, size)) for size in ((10, 100) if ALL else (5, 50)))
    assert large < MOST * small
    assert found[2] == 10 * found[1] >= 10


# Texts of one long line, with so many findings, by the names of their files.
ONE_LINE: dict[str, Callable[[int], str]] = {
    "a.ipynb": notebook,
    "a.sh": lambda size: HEAD + "; ".join(f"srun -N=2 a{number}" for number in range(size)) + "\n",
    "a.md": lambda size: "```bash\n" + "; ".join(f"sbatch -N=2 j{number}.sh" for number in range(size)) + "\n```\n",
    "a.py": lambda size: "import os; " + "; ".join(f"os.system('sbatch -N=2 {number}.sh')" for number in range(size)),
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_the_report_of_a_line_that_grows(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name

    def report(size: int) -> None:
        path.write_text(ONE_LINE[name](size))
        main(["--isolated", "--output-format", "full", str(path)])

    report(2)
    small, large = (executed_lines(partial(report, size)) for size in (15, 150))
    assert large < MOST * small
    assert capsys.readouterr().out.count("help: ") >= 165


# Documents of which some fixes cannot be written, or that bash cannot read.
UNFIXED: dict[str, tuple[str, Callable[[int], str]]] = {
    "fences that are not closed": ("a.md", repeated("```bash\n#!/bin/bash\n#SBATCH -N=@\n``\n~~~\n")),
    "lists that are started": (
        "a.py",
        repeated(
            f"def job@(p):\n    with open(f'{{p}}.sh', 'w') as f:\n        f.write('''{JOB}''')\n"
            "    subprocess.run(['sbatch', '-N=2', f'{p}.sh'])\n"
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", UNFIXED)
def test_fixes_that_a_document_that_grows_cannot_hold(shape: str) -> None:
    name, text = UNFIXED[shape]

    def fix(size: int) -> None:
        fix_file(Source(text(size), name), Settings.of_table({}), True)

    fix(2)
    small, large = (executed_lines(partial(fix, size)) for size in (10, 100))
    assert large < MOST * small


UNCLOSED: dict[str, Callable[[int], str]] = {
    "lines with a quote": lambda size: repeated('echo "a@\n')(2 * size) + 'echo "\n',
    "lines with two quotes": lambda size: repeated('echo "a@" b\n')(size) + 'echo "\n',
    "lines with a backquote": lambda size: repeated("A@=`b\n")(2 * size) + "echo `\n",
    "lines with a substitution": repeated("A@=$(b @\n"),
    "lines with a quote in a substitution": repeated('A@="$(b @\n'),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", UNCLOSED)
def test_the_search_for_what_is_not_closed(shape: str) -> None:
    assert ratio(lambda size: inspect(Source(HEAD + UNCLOSED[shape](size), "a.sh"), Settings.of_table({}))) < MOST


HERE = "#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=8 --cpus-per-task=32 --time=1:00:00\n"
LAUNCH = "torchrun --nproc_per_node=8 train.py\n"
CONVERTED: dict[str, Callable[[int], str]] = {
    "commands before": lambda size: HERE + repeated("echo a@\n")(size) + LAUNCH,
    "commands behind": lambda size: HERE + LAUNCH + repeated("echo a@\n")(size),
    "variables": lambda size: HERE + repeated("export A@=x@\n")(size) + LAUNCH,
    "arguments": lambda size: HERE + joined("--a@ $B@", " ", LAUNCH[:-1] + " ")(size),
    "directives": lambda size: HERE + repeated("#SBATCH --comment=@\n")(size) + LAUNCH,
    "functions": lambda size: HERE + repeated("f@() { echo a; }\nf@\n")(size) + LAUNCH,
    "branches": lambda size: HERE + repeated("if [ -f a@ ]; then A@=1; fi\n")(size) + LAUNCH,
    "staged files": lambda size: HERE + repeated("cp data@ /tmp/data@\n")(size) + LAUNCH,
    "steps": lambda size: HERE + repeated("srun ./a@\n b\n")(8 * size),
    "programs on one node": lambda size: HERE + repeated("python prepare@.py\n")(size) + LAUNCH,
    "mounts": lambda size: HERE + joined("--bind /a@:/b@", " ", "apptainer exec ", " a.sif " + LAUNCH)(size),
    "places of data": lambda size: HERE + joined("--data@ /tmp/d@/x", " ", LAUNCH[:-1] + " ")(size),
    "files of places": lambda size: HERE + repeated("./put /tmp/d@/x\n")(size) + LAUNCH[:-1] + " --a /tmp/b",
    "sums": lambda size: HERE + "N=8\n" + joined("--a@ $((64 / N + @))", " ", LAUNCH[:-1] + " ")(size),
    "counts": lambda size: HERE + repeated("NGPU_@=8\n")(size) + LAUNCH,
    "counts of nodes": lambda size: HERE + repeated("NNODES=1\n")(size) + LAUNCH,
    "devices": lambda size: HERE + joined("--gpu@_gpus 8", " ", LAUNCH[:-1] + " ")(size),
    "a heredoc": lambda size: HERE + f"cat > c.yaml <<E\n{repeated('line@ $A@' + chr(10))(4 * size)}E\n" + LAUNCH,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", CONVERTED)
def test_the_conversion_of_a_script_that_grows(shape: str) -> None:
    settings = Settings.of_table({})

    def work(size: int) -> None:
        with suppress(NotConvertible):  # which is known only after all steps were looked at
            convert(Source(CONVERTED[shape](size), "a.sbatch"), Goal(4), settings)

    assert ratio(work, part=2) < MOST


LOGS: dict[str, Callable[[int], str]] = {
    "tasks that fail": repeated("srun: error: node@: task @: Exited with exit code 1\n"),
    "one line": repeated("RuntimeError: CUDA out of memory.\n"),
    "tracebacks of ranks": repeated(
        '[rank@]: Traceback (most recent call last):\n[rank@]:   File "a.py", line @, in main\n[rank@]:     x()\n'
        "[rank@]: RuntimeError: NCCL error in: a.cpp:@, unhandled system error\n"
    ),
    "tracebacks in tracebacks": repeated(
        "Traceback (most recent call last):\n  File \"a.py\", line @, in f\nKeyError: '@'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
    ),
    "modules": repeated("Traceback (most recent call last):\nModuleNotFoundError: No module named 'm@'\n"),
    "progress": repeated(" 12%|#2        | @/1000 [00:12<01:28,  9.97it/s]\r"),
    "warnings": repeated("WARNING: something @ is odd\n"),
    "torchrun": repeated("W0501 10:00:00.1234 140 torch/distributed/run.py:757] @\nx.errors.ChildFailedError: @\n"),
    "steps": repeated(
        "slurmstepd: error: *** STEP 123.@ ON n@ CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***\n"
    ),
    "kills": repeated(
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.@. Some of the step tasks were killed.\n"
    ),
    "words of a line": joined("word@ error@:", " ", "x "),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", LOGS)
def test_the_diagnosis_of_a_log_that_grows(shape: str, tmp_path: Path) -> None:
    log, script = tmp_path / "job.log", tmp_path / "job.sbatch"
    script.write_text(HERE + LAUNCH)

    def diagnose(size: int) -> None:
        log.write_text(LOGS[shape](10 * size))
        run = judged([str(log)], str(script), searching=False)
        diagnosis_as_text.render(run, Terminal(60, True))
        as_json.render(run)

    assert ratio(diagnose) < MOST


# --- for a cluster, at submission, in an audit ----------------------------------------------------------


def cluster(size: int) -> bytes:
    """A profile of so many partitions, kinds of nodes, QOS and licences."""
    head = "format = 1\nrelease = '23.11'\ncomplete = ['partitions', 'nodes', 'qos']\nenforce-part-limits = 'ALL'\n"
    head += "submit-plugins = []\ngres-types = ['gpu']\n"
    head += f"licenses = {{ {', '.join(f'l{number} = {number}' for number in range(size))} }}\n"
    partitions = repeated("[partitions.p@]\nnodes = 4\nmax-time = '1:00:00'\n")(size)
    kind = "[[nodes]]\nnames = 'n@'\ncount = 1\ncpus = 8\ngres = ['gpu:a@:4']\nfeatures = ['f@']\npartitions = ['p@']\n"
    return (head + partitions + repeated(kind)(size) + repeated("[qos.q@]\n")(size)).encode()


WORDS: dict[str, Callable[[int], list[str]]] = {
    "partitions": lambda size: [f"-p{','.join(f'p{number}' for number in range(size))}"],
    "nodes": lambda size: ["-pp0", f"-w{','.join(f'n{number}' for number in range(size))}"],
    "resources": lambda size: ["-pp0", f"--gres={','.join(f'gpu:b{number}:1' for number in range(size))}"],
    "licences": lambda size: ["-pp0", f"-L{','.join(f'l{number}:9' for number in range(size))}"],
    "features": lambda size: ["-pp0", f"-C{'&'.join(f'g{number}' for number in range(size))}"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "large"), [*((each, False) for each in WORDS), ("features", True)])
def test_a_submission_whose_words_or_cluster_grow(shape: str, large: bool, tmp_path: Path) -> None:
    script, site = tmp_path / "job.sh", tmp_path / "site.toml"
    script.write_text("#!/bin/bash\nsrun hostname\n")

    def submitted(size: int) -> None:
        site.write_bytes(cluster(size if large else 3))
        options = submit.parser().parse_args(["--lint-only", f"--lint-site={site}"])
        made = submit._script([*WORDS[shape](3 if large else size), str(script)], options)
        assert made is not None
        submit._lint(made, options)

    assert ratio(submitted) < MOST


def test_the_report_of_an_audit_that_grows(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    row = '{"path": "@", "user": "u@", "partition": "p", "gpu_hours": 1.0, "findings": {"SB1@": ["x", "error", 1]}}\n'

    def merged(size: int) -> None:
        state.write_text(repeated(row)(10 * size))
        audit.merge([str(state)])

    assert ratio(merged) < MOST


@pytest.mark.slow
def test_an_audit_of_files_that_grows(tmp_path: Path) -> None:
    def examined(size: int) -> None:
        folder = tmp_path / str(size)
        folder.mkdir(exist_ok=True)
        for number in range(size // 3):
            (folder / f"{number}.sh").write_text(f"#!/bin/bash\n#SBATCH -N 2\nsrun a{number}\n")
        audit.audit(["--jobs", "1", "--isolated", str(folder)])

    assert ratio(examined) < MOST
