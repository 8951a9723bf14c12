"""What checks say of steps, against a real Slurm: which wait, which read the input of a loop, and what they lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.analysis.planning.steps import steps_of
from sbatchlint.engine import inspect
from sbatchlint.job import Job, Site
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

from .conftest import selected
from .local_slurm import LocalSlurm, Outcome

# Directives, and how each of two steps in the background is started; a step that has to wait says so.
STEPS = (
    ("--nodes=1 --ntasks=2", "srun -n1", "srun -n1"),
    ("--nodes=1 --ntasks=2", "srun -n1 --exact", "srun -n1 --exact"),
    ("--nodes=1 --ntasks=2", "srun -n1 --exclusive", "srun -n1 --exclusive"),
    ("--nodes=1 --ntasks=2", "srun -n1 -c1", "srun -n1 -c1"),
    ("--nodes=1 --ntasks=2", "srun --exact", "srun --exact"),
    ("--nodes=1 --ntasks=2 --mem=100", "srun -n1 --overlap", "srun -n1"),
    ("--nodes=1 --ntasks=2 --mem=100", "srun -n1 --exact", "srun -n1 --exact"),
    ("--nodes=1 --ntasks=2 --mem=100", "srun -n1 --exact --mem=50", "srun -n1 --exact --mem=50"),
    ("--nodes=1 --ntasks=2 --mem=0", "srun -n1 --exact", "srun -n1 --exact"),
    ("--nodes=1 --ntasks=2 --mem-per-cpu=10", "srun -n1 --exact", "srun -n1 --exact"),
    ("--nodes=1 --ntasks=2 --gres=gpu:2", "srun -n1 --exact", "srun -n1 --exact"),
    ("--nodes=1 --ntasks=2 --gres=gpu:2", "srun -n1 --exact --gres=gpu:1", "srun -n1 --exact --gres=gpu:1"),
    ("--nodes=1 --ntasks=2 --gpus-per-node=2", "srun -n1 --exact --gpus=1", "srun -n1 --exact --gpus=1"),
    ("--nodes=2 --ntasks-per-node=2", "srun -N1 -n1", "srun -N1 -n1"),
    ("--nodes=1 --ntasks=1 --cpus-per-task=4", "srun -c4", "srun -c4"),
    ("--nodes=1 --ntasks=1 --cpus-per-task=4", "srun -c2", "srun -c2"),
)  # fmt: skip
# A loop over three lines: how it is fed, what its turn does.
LOOPS = (
    ("", "srun true", "< LIST"),
    ("cat LIST |", "srun true", ""),
    ("", "srun true", '<<< "$(cat LIST)"'),
    ("", "srun echo | cat", "< LIST"),
    ("", "srun --input=0 true", "< LIST"),
    ("", "srun --input=none true", "< LIST"),
    ("", "srun true < /dev/null", "< LIST"),
    ("", "echo | srun cat", "< LIST"),
    ("cat LIST |", "srun --overlap true & wait", ""),
)
# Directives, lines above, and the srun with what it starts: whether that is found, and knows what the script exports.
EXPORTS = (
    ("--ntasks=1", "", "srun"),
    ("--ntasks=1", "", "srun --export=A=1"),
    ("--ntasks=1", "", "srun --export=NONE"),
    ("--ntasks=1", "", "srun --export=ALL,A=1"),
    ("--ntasks=1", "", "srun --export=A=1,ALL"),
    ("--ntasks=1", "", "srun --export=PATH,MINE,A=1"),
    ("--ntasks=1 --export=NONE", "", "srun"),
    ("--ntasks=1 --export=A=1", "", "srun"),
    ("--ntasks=1 --export=ALL,A=1", "", "srun"),
    ("--ntasks=1 --export=NONE", "", "srun --export=ALL"),
    ("--ntasks=1 --export=NONE", "unset SLURM_EXPORT_ENV", "srun"),
    ("--ntasks=1 --export=NONE", "export SLURM_EXPORT_ENV=ALL", "srun"),
    ("--ntasks=1", "export SLURM_EXPORT_ENV=NONE", "srun"),
)
TERMINALS = """#!/bin/bash
#SBATCH --ntasks=1
read -p "How many? " steps; echo "read: $? <$steps>"
bash; echo "bash: $?"
srun --pty bash -i; echo "shell: $?"
srun --pty echo started
env -u TERM clear || echo "clear fails"
"""
# What sets the CPUs of a task, in a job of two tasks with two CPUs each; the step with more than four is refused.
CPUS = (
    "export SLURM_CPUS_PER_TASK=4; srun true",
    "SLURM_CPUS_PER_TASK=4; srun true",
    "SLURM_CPUS_PER_TASK=4 srun true",
    "export SRUN_CPUS_PER_TASK=4; srun true",
    "SRUN_CPUS_PER_TASK=4; srun true",
    "env SRUN_CPUS_PER_TASK=4 srun true",
    "if true; then export SRUN_CPUS_PER_TASK=4; srun true; fi",
    "run() { local SLURM_CPUS_PER_TASK=4 SRUN_CPUS_PER_TASK; srun true; }; run",
    "unset SLURM_CPUS_PER_TASK; srun --ntasks=4 true",
    "export SRUN_CPUS_PER_TASK=4; unset SRUN_CPUS_PER_TASK; srun true",
    "export SLURM_NTASKS=4; srun true",
    "SLURM_NTASKS=8; srun true",
    "run() { local SLURM_NTASKS=1; srun true; }; run",
    "export SLURM_TRES_PER_TASK=cpu=4; srun true",
    "export SRUN_CPUS_PER_TASK=4; srun --cpus-per-task=1 true",
)
CPUS_OF_JOB = "--nodes=1 --ntasks=2 --cpus-per-task=2"
# A folder that is a disk of the first node alone, as its slurmd has mounts of its own.
STAGED = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --overcommit
OWN=/tmp/own-$SLURM_JOB_ID
mkdir -p "$OWN"
mount -t tmpfs tmpfs "$OWN"
cp {data} "$OWN/part.json"
srun python3 -m json.tool "$OWN/part.json"
cp {data} "$OWN/a.json"; echo "#all"
srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 cp {data} "$OWN/part.json"
srun python3 -m json.tool "$OWN/part.json"
umount "$OWN"
rm -rf "$OWN"
"""
# The script ends by the failure of its step, and its handler runs all the same.
MARKED_BY_TRAP = """#!/bin/bash
#SBATCH --ntasks=1
set -e
mark() {
    touch "/tmp/run-$SLURM_JOB_ID.done"
    ls "/tmp/run-$SLURM_JOB_ID.done"
    rm "/tmp/run-$SLURM_JOB_ID.done"
}
trap mark EXIT
srun /no/such/solver
echo never
"""
DIRECTIVES = tuple(dict.fromkeys(case[0] for case in EXPORTS))
SHELLS = ("bash", "/bin/bash")
LIST = "/tmp/list-$SLURM_JOB_ID"


def steps_script(directives: str, first: str, second: str) -> str:
    return f"#!/bin/bash\n#SBATCH {directives}\n{first} sleep 2 &\nsleep 0.5\n{second} sleep 1 &\nwait\n"


def loop_script(before: str, iteration: str, after: str) -> str:
    lines = f"{before} while read -r x; do\n    echo @$x\n    {iteration}\ndone {after}\n".lstrip()
    return f"#!/bin/bash\n#SBATCH --ntasks=1\n{lines}"


def all_loops() -> str:
    """All loops in one job, each behind its number."""
    bodies = [f"echo '#{at}'\n" + body_of(loop_script(*loop)).replace("LIST", LIST) for at, loop in enumerate(LOOPS)]
    return f"#!/bin/bash\n#SBATCH --ntasks=1\nprintf 'a\\nb\\nc\\n' > {LIST}\n{''.join(bodies)}rm {LIST}\n"


def exports_script(directives: str, above: str, step: str, shell: str) -> str:
    return f"#!/bin/bash\n#SBATCH {directives}\nexport MINE=1\n{above}\n{step} {shell} -c 'echo {shell}@$MINE'\n"


def all_exports(directives: str) -> str:
    """All steps with these directives in one job, each behind its number, by the name of the shell and by its path."""
    bodies = [
        f"echo '#{at}'\n" + "".join(f"( {body_of(exports_script(*case, shell))})\n" for shell in SHELLS)
        for at, case in enumerate(EXPORTS)
        if case[0] == directives
    ]
    return f"#!/bin/bash\n#SBATCH {directives}\n{''.join(bodies)}"


def cpus_script(line: str) -> str:
    return f"#!/bin/bash\n#SBATCH {CPUS_OF_JOB}\n{line}\n"


def all_cpus() -> str:
    """All of them in one job, each behind its number in a shell of its own, with its exit status."""
    bodies = [f"echo '#{at}'\n( {line} )\necho exit $?\n" for at, line in enumerate(CPUS)]
    return f"#!/bin/bash\n#SBATCH {CPUS_OF_JOB}\n{''.join(bodies)}"


def staged_script() -> str:
    return STAGED.replace("{data}", str(Path(__file__).parent / "programs" / "part.json"))


def body_of(script: str) -> str:
    return script.split("\n", 2)[2]


def output_of(outcome: Outcome, number: int) -> str:
    return outcome.output.partition(f"#{number}\n")[2].partition("#")[0]


def found(script: str, code: str, version: str) -> bool:
    settings = Settings.of_table({"slurm-version": version})
    return any(each.code == code for each in inspect(Source(script, "job.sbatch"), settings).diagnostics)


@pytest.fixture(scope="module", autouse=True)
def ahead(request: pytest.FixtureRequest, slurm: LocalSlurm) -> None:
    slurm.run_ahead([all_loops(), all_cpus(), *map(all_exports, DIRECTIVES), TERMINALS])
    slurm.run_ahead(steps_script(*steps) for steps in selected(request, "steps"))


@pytest.fixture(scope="module")
def loops(slurm: LocalSlurm) -> Outcome:
    return slurm.run(all_loops())


@pytest.fixture(scope="module")
def exported(slurm: LocalSlurm) -> dict[str, Outcome]:
    return {each: slurm.run(all_exports(each)) for each in DIRECTIVES}


@pytest.fixture(scope="module")
def cpus(slurm: LocalSlurm) -> Outcome:
    return slurm.run(all_cpus())


@pytest.mark.parametrize("number", range(len(CPUS)), ids=lambda number: CPUS[number])
def test_srun_takes_cpus_from_variables_of_the_script(slurm: LocalSlurm, cpus: Outcome, number: int) -> None:
    output = output_of(cpus, number)
    job = Job.from_source(Source(cpus_script(CPUS[number]), "job.sbatch"), Site(slurm_versions=(slurm.version,) * 2))
    refused = [step.get("refused") for step in steps_of(job)]
    assert refused.count(None) == (1 if "exit 0" in output else 0), (refused, output)
    if refused != [None] and "and srun requests" in (refused[0] or ""):
        assert "More processors requested than permitted" in output
    differing = "by two different environment" in output
    assert found(cpus_script(CPUS[number]), "SB819", slurm.version) is differing, output


@pytest.mark.parametrize("steps", STEPS, ids=" | ".join)
def test_a_step_waits_for_another(slurm: LocalSlurm, steps: tuple[str, str, str]) -> None:
    script = steps_script(*steps)
    outcome = slurm.run(script)
    assert outcome.state == "COMPLETED", outcome
    # From 23.02 on srun says that it waits only after a minute; what it says at the end is the same.
    waits = "srun: Step created for" in outcome.output
    assert found(script, "SB802", slurm.version) is waits, outcome


@pytest.mark.parametrize("number", range(len(LOOPS)), ids=lambda number: " | ".join(LOOPS[number]))
def test_srun_reads_the_input_of_a_loop(slurm: LocalSlurm, loops: Outcome, number: int) -> None:
    turns = output_of(loops, number).count("@")
    assert turns in (1, 3), loops
    assert found(loop_script(*LOOPS[number]), "SB803", slurm.version) is (turns == 1), loops


@pytest.mark.parametrize("number", range(len(EXPORTS)), ids=lambda number: " | ".join(EXPORTS[number]))
def test_a_step_lacks_the_environment(slurm: LocalSlurm, exported: dict[str, Outcome], number: int) -> None:
    case = EXPORTS[number]
    by_name, by_path = (exports_script(*case, shell) for shell in SHELLS)
    output = output_of(exported[case[0]], number)
    lost = "execve(): bash: No such file or directory" in output
    assert f"{SHELLS[1]}@" in output
    # a task without PATH has none of the script's variables either
    assert (f"{SHELLS[1]}@1" not in output) is lost
    assert found(by_name, "SB609", slurm.version) is lost
    # NONE on the srun itself, and a program with its path: that is on purpose
    assert found(by_path, "SB609", slurm.version) is (lost and "srun --export=NONE" not in by_path)


def test_a_batch_job_has_no_terminal(slurm: LocalSlurm) -> None:
    output = slurm.run(TERMINALS).output
    for line in ("read: 1 <>", "bash: 0", "shell: 0", "started", "clear fails"):
        assert line in output
    assert output.count("Not using a pseudo-terminal, disregarding --pty option") == 2
    diagnostics = inspect(Source(TERMINALS, "job.sbatch"), Settings.of_table({})).diagnostics
    assert [each.severity for each in diagnostics if each.code == "SB809"] == ["warning", "info", "warning", "info"]


def test_only_the_first_node_has_what_was_copied_to_its_disk(slurm: LocalSlurm) -> None:
    outcome = slurm.run(staged_script())
    before, _, after = outcome.output.partition("#all")
    assert before.count('"part": 1') == 1 and "No such file or directory" in before, outcome
    assert after.count('"part": 1') == 2, outcome
    assert found(STAGED.partition('cp {data} "$OWN/a')[0], "SB817", slurm.version)


def test_a_trap_for_exit_runs_however_the_script_ends(slurm: LocalSlurm) -> None:
    outcome = slurm.run(MARKED_BY_TRAP)
    assert outcome.state == "FAILED", outcome
    assert ".done\n" in outcome.output and "never" not in outcome.output, outcome
    assert found(MARKED_BY_TRAP, "SB719", slurm.version)
