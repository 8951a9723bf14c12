"""The steps of a plan: their shape, and what the script alone decides. `slurm/test_plan_live.py` asks running jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sbatchlint.analysis.planning.plan import plan_of
from sbatchlint.analysis.planning.steps import steps_of
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job, Site
from sbatchlint.job.exports import exports_of
from sbatchlint.job.ranks import MOST_TASKS
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"


def job_of(script: str, version: str = "24.11", path: str = "job.sbatch") -> Job:
    return Job.from_source(Source(script, path), Site(slurm_versions=(version, version)))


def steps(commands: str, head: str = HEAD, version: str = "24.11") -> list[dict[str, Any]]:
    found = steps_of(job_of(head + commands + "\n", version))
    assert json.loads(json.dumps(found)) == found
    return found


def step(commands: str, head: str = HEAD, version: str = "24.11") -> dict[str, Any]:
    (found,) = steps(commands, head, version)
    return found


def test_a_step_has_the_documented_shape() -> None:
    found = step(
        'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n'
        "srun --container-image=image.sqsh bash -c 'torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 "
        "--node_rank $SLURM_NODEID --master_addr $MASTER_ADDR train.py --lr 0.1'"
    )
    del found["by_task"]
    arguments = "--nnodes 2 --nproc_per_node 8 --node_rank ? --master_addr ? train.py --lr 0.1"
    assert found == {
        "line": 6,
        "command": "srun",
        "phase": "batch",
        "nodes": 2,
        "tasks": 2,
        "tasks_per_node": 1,
        "background": False,
        "gpus_on_node": 8,
        "gpus_per_task": 8,
        "container": {"kind": "pyxis", "image": "image.sqsh"},
        "launcher": {
            "kind": "torchrun",
            "line": 6,
            "processes_per_task": 8,
            "nnodes": 2,
            "node_rank": "task:SLURM_NODEID",
            "rendezvous": {"backend": "static", "address": "batch:MASTER_ADDR"},
            "argv": ["torchrun", *(None if word == "?" else word for word in arguments.split())],
        },
        "processes": 16,
        "program": "python train.py",
        "argv": ["train.py", "--lr", "0.1"],
    }


@pytest.mark.parametrize(
    ("commands", "origin"),
    [
        ("srun torchrun --nnodes 2 --node_rank $SLURM_NODEID t.py", "batch:SLURM_NODEID"),
        ("srun bash -c 'torchrun --nnodes 2 --node_rank $SLURM_PROCID t.py'", "task:SLURM_PROCID"),
        ("srun bash -c 'RANK=$SLURM_NODEID; torchrun --nnodes 2 --node_rank=$RANK t.py'", "task:SLURM_NODEID"),
        ('RANK=$SLURM_NODEID\nsrun bash -c "torchrun --nnodes 2 --node_rank=$RANK t.py"', "batch:SLURM_NODEID"),
        ("srun bash -c 'torchrun --nnodes 2 --node_rank=$((SLURM_NODEID)) t.py'", "task:SLURM_NODEID"),
        ("srun torchrun --nnodes 2 --node_rank 1 t.py", 1),
        ("srun torchrun --nnodes 2 --node_rank $WHICH t.py", "batch:WHICH"),
        ("srun bash -c 'torchrun --nnodes 2 --node_rank $WHICH t.py'", "task:WHICH"),
        ("srun torchrun --nnodes 2 t.py", None),
    ],
)
def test_a_rank_says_where_it_was_fixed(commands: str, origin: object) -> None:
    assert step(commands)["launcher"]["node_rank"] == origin


def ranks(found: dict[str, Any], name: str) -> list[str | None]:
    return [rank.get(name) for task in found["by_task"] for rank in task["processes"]]


def test_processes_get_their_ranks_from_the_launcher() -> None:
    found = step("srun bash -c 'torchrun --nnodes 2 --nproc_per_node 2 --node_rank $SLURM_NODEID t.py'")
    assert ranks(found, "RANK") == ["0", "1", "2", "3"]
    assert ranks(found, "LOCAL_RANK") == ["0", "1", "0", "1"]
    assert set(ranks(found, "WORLD_SIZE")) == {"4"}
    early = step('srun bash -c "torchrun --nnodes 2 --nproc_per_node 2 --node_rank $SLURM_NODEID t.py"')
    assert ranks(early, "RANK") == ["0", "1", "0", "1"]
    elastic = step("srun torchrun --nnodes 2 --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint h:1 t.py")
    assert ranks(elastic, "RANK") == [None] * 4
    assert set(ranks(elastic, "WORLD_SIZE")) == {"4"}


def test_tasks_that_do_something_else_are_told_apart() -> None:
    text = "if [ $SLURM_PROCID = 0 ]; then python a.py; else torchrun --nproc_per_node 3 b.py; fi"
    found = step(f"srun -n 2 bash -c '{text}'")
    assert [task["argv"][-1] for task in found["by_task"]] == ["a.py", "b.py"]
    assert [len(task["processes"]) for task in found["by_task"]] == [1, 3]
    assert found["processes"] == 4
    alone = step("srun bash -c '[ $SLURM_NODEID = 1 ] && python a.py'")
    assert [task["argv"] for task in alone["by_task"]] == [None, ["python", "a.py"]]
    assert alone["processes"] == 1


@pytest.mark.parametrize(
    ("options", "commands", "version", "gpus"),
    [
        ("--ntasks-per-node=2 --gpus-per-node=4", "srun ./a", "24.11", [[0, 1, 2, 3]] * 4),
        ("--ntasks-per-node=2 --gpus-per-task=2", "srun ./a", "24.11", [[0, 1], [2, 3]] * 2),
        ("--ntasks-per-node=2 --gres=gpu:4", "srun --gpus-per-task=1 ./a", "24.11", [[0], [1]] * 2),
        ("--ntasks-per-node=2 --gpus-per-node=4", "srun --gpu-bind=map_gpu:3,2 ./a", "24.11", [[3], [2]] * 2),
        ("--ntasks-per-node=2 --gpus-per-node=4", "srun --gpu-bind=none ./a", "22.05", [None] * 4),
        ("--ntasks-per-node=2 --gpus-per-node=4", "srun --gpu-bind=closest ./a", "24.11", [None] * 4),
        ("--ntasks-per-node=2 --gpus-per-node=4", "srun --gpus-per-node=0 ./a", "24.11", [[]] * 4),
        ("--ntasks-per-node=1 --gpus-per-node=4", "srun --gpus-per-task=1 ./a", "24.11", [[0, 1, 2, 3]] * 2),
        ("--ntasks-per-node=1 --gpus-per-node=4", "srun --gpus-per-task=1 ./a", "26.05", [[0]] * 2),
        ("--ntasks-per-node=1 --gpus=8", "srun ./a", "24.11", [None] * 2),
        (
            "--ntasks-per-node=2 --gpus-per-node=4",
            "srun bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID ./a'",
            "24.11",
            [[0], [1]] * 2,
        ),
        (
            "--ntasks-per-node=1 --gpus-per-node=2",
            "export CUDA_VISIBLE_DEVICES=1\nsrun bash -c ./a",
            "24.11",
            [[0, 1]] * 2,
        ),
    ],
)
def test_each_task_sees_its_gpus(options: str, commands: str, version: str, gpus: list[list[int] | None]) -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=2\n" + "".join(f"#SBATCH {each}\n" for each in options.split())
    assert [task["gpus"] for task in step(commands, head, version)["by_task"]] == gpus


def test_gpus_that_srun_replaces_are_not_shown() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=2 --gpus-per-node=4\n"
    for commands in ("CUDA_VISIBLE_DEVICES=0 srun ./a", "export CUDA_VISIBLE_DEVICES=0\nsrun ./a"):
        tasks = step(commands, head)["by_task"]
        assert [task["gpus"] for task in tasks] == [[0, 1, 2, 3]] * 2
        assert not any("CUDA_VISIBLE_DEVICES" in task["variables"] for task in tasks)
    (task, _) = step("srun bash -c 'CUDA_VISIBLE_DEVICES=2 ./a'", head)["by_task"]
    assert task["gpus"] == [2] and task["variables"]["CUDA_VISIBLE_DEVICES"] == "2"


def test_a_total_of_gpus_is_requested_on_fewer_nodes_too() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=4 --gpus=8\n"
    found = step("srun -N2 --gpus-per-node=1 ./a", head)
    assert found["refused"] == "2 of the job's 4 nodes have 6 GPUs at most, and srun requests all 8"
    assert "refused" not in step("srun --gpus-per-node=1 ./a", head)


@pytest.mark.parametrize(
    ("options", "commands", "tasks"),
    [
        ("--nodes=2 --ntasks=8", "srun --multi-prog a.conf", 8),
        ("--nodes=2 --ntasks=8", "srun -n4 --multi-prog a.conf", 4),
        ("--nodes=2", "srun --multi-prog a.conf", None),
    ],
)
def test_tasks_of_several_programs_are_counted(options: str, commands: str, tasks: int | None) -> None:
    assert step(commands, f"#!/bin/bash\n#SBATCH {options}\n")["tasks"] == tasks


def test_what_is_not_decided_is_none() -> None:
    uneven = step("srun python t.py", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=16\n")
    assert (uneven["nodes"], uneven["tasks"], uneven["tasks_per_node"], uneven["processes"]) == (2, 16, None, 16)
    assert uneven["by_task"][5]["node"] is None
    outside = step('srun -n "$COUNT" "$PROGRAM" --lr 0.1')
    assert (outside["tasks"], outside["processes"], outside["by_task"]) == (None, None, None)
    assert outside["argv"] == [None, "--lr", "0.1"]
    sometimes = step("srun bash -c 'if [ -n \"$FAST\" ]; then python a.py; fi'")
    assert (sometimes["tasks"], sometimes["processes"]) == (2, None)


def test_alternatives_are_one_step_and_rounds_are_several() -> None:
    found = step('FLAG=--a\nif [ -n "$X" ]; then FLAG=--b; fi\nsrun python t.py $FLAG end')
    assert found["argv"] == ["python", "t.py", None, "end"]
    assert (found["tasks"], "conditional" in found) == (2, False)
    assert [each["argv"][-1] for each in steps("for i in 1 2 3; do srun python t.py $i; done")] == ["1", "2", "3"]
    assert [each["tasks"] for each in steps("run() { srun -n $1 python t.py; }\nrun 1\nrun 2")] == [1, 2]


@pytest.mark.parametrize("value", ["${B[@]%.*}", "${B[@]/x/z}", "${@#a}", "${!B[@]}"])
def test_releases_of_bash_disagree_what_joins_elements_beside_an_operator(value: str) -> None:
    head = f'B=(a.x b.y); set -- "${{B[@]}}"; IFS=,; v="{value}"; '
    assert step(head + 'srun p "$v"')["argv"] == ["p", None]
    assert step(head.replace("IFS=,; ", "") + 'srun p "$v"')["argv"][1].count(" ") == 1


def test_a_counter_in_a_loop_is_not_its_first_value() -> None:
    found = step("i=0\nfor h in $HOSTS; do\n  srun -w $h python t.py $i\n  i=$((i + 1))\ndone")
    assert found["argv"] == ["python", "t.py", None]
    assert found["repeated"] is True


def test_a_branch_that_never_runs_is_no_step() -> None:
    assert steps("DEBUG=0\nif [ $DEBUG = 1 ]; then srun python a.py; fi") == []
    assert step('if [ -n "$X" ]; then srun python a.py; fi')["conditional"] is True


# What may not run is marked by `?`, in the order of the steps.
@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ("mkdir x && srun a", "a?"),
        ("cd x && { srun a; srun b; }", "a? b?"),
        ("srun a && srun b || srun c", "a b? c?"),
        ("! test -e x && srun a; srun b", "a? b"),
        ("true && srun a; : && srun b; false || srun c", "a b c"),
        ("cd x || exit\nsrun a", "a?"),
        ("if [ ! -f x ]; then exit 1; fi\nsrun a", "a?"),
        ("case $X in a) N=1;; *) exit 1;; esac\nsrun a", "a?"),
        ("srun a || { echo no; exit 1; }\nsrun b", "a b?"),
        ("srun a &\nwait $! || exit 2\nsrun b", "a b?"),
        ("( cd x || exit; srun a )\nsrun b", "a? b"),
        ("bash -c 'cd x || exit; srun a'\nsrun b", "a? b"),
        ("f() { [ -f x ] || return; srun a; }\nf\nsrun b", "a? b"),
        ("f() { [ -f x ] || exit; srun a; }\nf\nsrun b", "a? b?"),
        ("set -e\ncd x\nsrun a", "a"),
        ("for i in a b; do [ -f $i ] || continue; srun $i; done\nsrun c", "a? b? c"),
        ("while true; do srun a; [ -f x ] && break; srun b; done\nsrun c", "a b? c"),
        ("for i in a b; do srun $i || exit; done\nsrun c", "a? b? c?"),
        ("for i in a b; do srun $i; done", "a b"),
        ("for i in a b; do case $i in a) N=1;; *) N=2;; esac; srun -n $N $i; done", "a b"),
        ("case $X in a) N=1;; b) N=2;; *) N=4;; esac\nsrun -n $N a", "a"),
        ("case $X in a) srun a;; *) srun b;; esac", "a? b?"),
        ("case $X in a) M=a;; *) M=b;; esac\nrun() { srun $1; }\nrun $M", "a? b?"),
        ('if [ -n "$X" ]; then L=srun; fi\n$L a', "a?"),
        ('if [ -n "$X" ]; then L=srun; else L="mpirun -n 2"; fi\n$L a', "a"),
        ('if [ -n "$X" ]; then N=1; else N=2; fi\nenv A=1 srun -n $N a', "a"),
        ('if [ -n "$X" ]; then C="srun a"; else C="true"; fi\neval "$C"', "a?"),
        ("${L:-srun} a; srun -n ${N:-2} b", "a? b"),
        ("cd x || exit\nmpirun -n 2 a", "a?"),
        ("cd x || exit\npython a", "a?"),
        ("bash -ec 'false; srun a' || true\nsrun b", "b"),
        ("bash -ec 'false || true; srun a' || true", "a"),
        ("(set -e; false; srun a) || true", "a"),
        ("set -e\n/bin/false\nsrun a", ""),
        ("/bin/false || srun a; /bin/true && srun b; /bin/false && srun c", "a b"),
        ("kill $$\nsrun a", ""),
        ("kill -s KILL $$\nsrun a", ""),
        ("kill -0 $$ && srun a; kill $P; srun b", "a? b"),
        ("trap 'echo x' TERM\nkill $$\nsrun a", "a?"),
        ("[ -f x ] || kill $$\nsrun a", "a?"),
        ("(kill $$); bash -c 'kill $$'; srun a", "a"),
        (": ${FOO:?not set}\nsrun a", "a?"),
        ("unset FOO; echo ${FOO?}\nsrun a", "a?"),
        ("FOO=x; : ${FOO:?not set}\nsrun a", "a"),
        ("(: ${FOO:?not set}); srun a", "a"),
        ("set -u; unset FOO\necho $FOO\nsrun a", "a?"),
        ("set -u\necho $HOME ${FOO:-x}\nsrun a", "a"),
        # where a loop or function goes on by a guard, it may have exited after that
        ("for t in 1 2; do [ -n $X ] && continue; exit; done; srun a", "a?"),
        ("for t in 1; do [ -n $X ] && break; exit; done; srun a", "a?"),
        ("for t in 1 2; do case $X in ?*) continue ;; esac; exit; done; srun a", "a?"),
        ("for t in 1 2; do while :; do [ -n $X ] && continue 2; exit; done; done; srun a", "a?"),
        ("while true; do if [ -n $X ]; then break; fi; exit; done; srun a", "a?"),
        ("while true; do [ -n $X ] && break; kill $$; done; srun a", "a?"),
        ("while read l; do [ -n $X ] && continue; exit; done <<< b; srun a", "a?"),
        ("f() { [ -n $X ] && return; exit; }; f; srun a", "a?"),
        ("f() { [ -n $X ] && return; exec b; }; g() { f; }; g; srun a", "a?"),
        ("set -e; f() { [ -n $X ] && return; false; }; f; srun a", "a?"),
        ("f() { for t in $X; do return; done; exit; }; f; srun a", "a?"),
        ("f() { [ -n $X ] && return; exit; }; (f); x=$(f); f | cat; srun a", "a"),
        ("for t in 1 2; do [ $t = 1 ] && continue; break; exit; done; srun a", "a"),
        ("f() { if [ -n $X ]; then return; else return 1; fi; exit; }; f; srun a", "a"),
        ("f() { while true; do [ -n $X ] && return; break; done; }; f; srun a", "a"),
        ("case $X in b) exit ;& c) ;; *) ;; esac; srun a", "a?"),
        # arithmetic that fails whatever X is
        ("v=$((11 >> ((X 1) & 7))); srun a", "a?"),
        ("v=$((X / 0)); srun a", "a?"),
        ("while read -r j; do v=$((11 >> (($j >> 1) & 7))); done <<< 'a b'; srun a", "a?"),
        ("v=$((X / 1)); srun a", "a"),
        ("case $X in b) exit ;;& c) ;; *) ;; esac; srun a", "a?"),
    ],
)
def test_a_step_says_that_it_may_not_run(commands: str, expected: str) -> None:
    names = [(each["argv"] or ["?"])[-1] + "?" * ("conditional" in each) for each in steps(commands)]
    assert " ".join(names) == expected


@pytest.mark.parametrize(
    ("commands", "version", "why"),
    [
        ("srun --array=0-1 python t.py", "24.11", "srun does not accept --array"),
        ("srun --tres-per-task=cpu:2 python t.py", "22.05", "srun does not accept --tres-per-task"),
        ("srun --site-profile=x python t.py", "24.11", None),
        ("srun $OPTIONS --array=0-1 python t.py", "24.11", None),
        ('srun "$PROGRAM" --array=0-1', "24.11", None),
        ("srun --nodes=3 --ntasks=3 python t.py", "24.11", "the job has 2 nodes and srun requests 3"),
        ("srun --gres=gpu:2 python t.py", "26.05", "srun does not accept --gres=gpu together with --gpus-per-node"),
        ("srun --gres=gpu:2 python t.py", "25.11", None),
        ("srun --gres=nic:1 python t.py", "26.05", None),
        ("srun --nodes=3 --ntasks=2 python t.py", "24.11", None),
        ("srun --gpus-per-task=1 python t.py", "23.11", None),
        ("srun --gpus-per-node=9 python t.py", "24.11", "the job has 8 GPUs a node and srun requests 9"),
        ("srun --gpus=17 python t.py", "24.11", "the job has 16 GPUs and srun requests 17"),
    ],
)
def test_a_step_that_srun_refuses_says_why(commands: str, version: str, why: str | None) -> None:
    found = step(commands, version=version)
    assert found.get("refused") == why
    if why is not None:
        assert [found[name] for name in ("nodes", "tasks", "tasks_per_node", "by_task")] == [None] * 4
        assert found["processes"] == 0


def test_launchers_of_the_batch_shell_are_steps_of_one_task() -> None:
    found = step("torchrun --standalone --nproc_per_node=gpu train.py", HEAD.replace("nodes=2", "nodes=1"))
    assert (found["command"], found["nodes"], found["tasks"], found["processes"]) == (None, 1, 1, 8)
    mpi = step("mpirun -np 8 --map-by ppr:4:node ./a.out")
    assert (mpi["command"], mpi["nodes"], mpi["tasks"], mpi["tasks_per_node"], mpi["program"]) == (
        "mpirun", 2, 8, 4, "./a.out",
    )  # fmt: skip


def test_launchers_under_mpirun_start_processes_of_their_own() -> None:
    found = step("mpirun -np 2 torchrun --nproc-per-node=4 train.py")
    assert (found["tasks"], found["processes"]) == (2, 8)


def test_a_large_step_shows_its_first_tasks() -> None:
    found = step("srun bash -c 'python t.py $SLURM_PROCID'", HEAD.replace("node=1", "node=100"))
    assert (found["tasks"], found["processes"], len(found["by_task"])) == (200, 200, MOST_TASKS)


def test_components_of_a_het_job_have_their_own_tasks() -> None:
    head = "#!/bin/bash\n#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --nodes=2\n#SBATCH --ntasks=4\n"
    found = steps("srun python a.py\nsrun --het-group=1 python b.py\nsrun --het-group=0,1 python c.py", head)
    assert [each["tasks"] for each in found] == [1, 4, 1, 4]
    # SLURM_NTASKS of the first component counts where the second has none of its own
    without = head.replace("--ntasks=4", "--ntasks-per-node=2")
    assert step("srun --het-group=1 python b.py", without)["tasks"] is None


def test_submitted_scripts_have_steps_and_the_options_of_sbatch() -> None:
    script = (
        "#!/bin/bash\nsbatch --nodes=3 <<'EOF'\n#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"
        'srun python t.py\nEOF\nsbatch -N 2 --ntasks-per-node=1 --wrap "srun python $SLURM_PROCID.py"\n'
    )
    job = job_of(script, path="submit.sh")
    found = [steps_of(each)[0] for each in job.submits]
    assert [(each["line"], each["nodes"], each["tasks"]) for each in found] == [(6, 3, 6), (8, 2, 2)]
    assert [each["argv"][0] for each in found] == ["python", "python"]
    plan = plan_of(job)
    assert plan["steps"] == []
    assert [each["steps"][0]["tasks"] for each in plan["submits"]] == [6, 2]


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        ("{ echo '#!/bin/bash'; echo 'python t.py 1'; } > run.sh\nsrun bash run.sh", ["python", "t.py", "1"]),
        ("{ date; echo 'python t.py'; } > run.sh\nsrun bash run.sh", ["bash", "run.sh"]),
        ("(echo 'python t.py') > run.sh\nsrun bash run.sh", ["python", "t.py"]),
        ("{ if [ -n \"$X\" ]; then echo 'python a.py'; fi; } > run.sh\nsrun bash run.sh", ["bash", "run.sh"]),
        ("srun xargs -n 1 python t.py < list", ["python", "t.py", None]),
        ("srun xargs -I{} python t.py --name={} end < list", ["python", "t.py", None, "end"]),
        ("N=$(expr $SLURM_NNODES \\* 4)\nsrun python t.py $N", ["python", "t.py", "8"]),
        ("N=$(expr $SLURM_NNODES / 0)\nsrun python t.py \"$N\"", ["python", "t.py", None]),
        ("export A=1 B=2\nsrun --export=PATH,A bash -c 'python t.py $A ${B:-none}'", ["python", "t.py", "1", "none"]),
        ("export A=1\nsrun --export=ALL,B=2 bash -c 'python t.py $A $B'", ["python", "t.py", "1", "2"]),
        ("export A=1\nsrun --export=NONE bash -c 'python t.py ${A:-none}'", ["python", "t.py", "none"]),
        ("srun bash -c 'python t.py \"$0\" \"$1\"' x $Y z", ["python", "t.py", "x", None]),
        # where `$X` is no word, `y` is `$0`
        ("srun bash -c 'python t.py \"$0\" \"$1\"' $X y", ["python", "t.py", None, None]),
        ('srun -N 2 "$SCRIPT" --nodes 7', [None, "--nodes", "7"]),
        ("srun bash -c 'cd x && nvidia-smi; python t.py; echo done'", ["python", "t.py"]),
        ("srun hostname", ["hostname"]),
    ],
)  # fmt: skip
def test_words_are_followed_through(commands: str, words: list[str | None]) -> None:
    assert step(commands)["argv"] == words


def test_aliases_count_for_other_shells_than_bash() -> None:
    commands = "#SBATCH -n 4\nalias go='srun -n 2'\nsrun ./a\n"
    assert [
        job_of(f"#!{shell}\n{commands}").steps[0].invocation.state.doubtful
        for shell in ("/bin/sh", "/bin/bash", "/usr/bin/env bash", "/bin/bash -l", "/bin/dash")
    ] == [True, False, False, False, True]


def test_a_file_beside_the_script_is_followed(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("torchrun --nnodes 2 --node_rank $SLURM_NODEID --nproc_per_node 4 t.py\n")
    path = tmp_path / "job.sbatch"
    path.write_text(HEAD + "srun bash run.sh\n")
    job = job_of(path.read_text(), path=str(path))
    (found,) = steps_of(job)
    assert (found["line"], found["launcher"]["line"], found["launcher"]["path"]) == (5, 1, str(tmp_path / "run.sh"))
    assert ranks(found, "RANK") == [str(number) for number in range(8)]
    assert job.source.text.count("torchrun") == 1


def test_distribution_decides_which_node_a_task_is_on() -> None:
    def nodes(options: str) -> list[int | None]:
        return [task["node"] for task in step(f"srun -n4 --ntasks-per-node=2 {options} python t.py")["by_task"] or []]

    assert nodes("") == nodes("-m block") == nodes("--distribution=block:cyclic") == [0, 0, 1, 1]
    assert nodes("-m cyclic") == [0, 1, 0, 1]
    assert nodes("-m plane=2") in ([], [None] * 4)


def test_23_11_refuses_gpus_per_task_beside_the_cpus_per_task_of_the_job() -> None:
    head = HEAD + "#SBATCH --cpus-per-task=4\n"
    why = "srun of 23.11.0 to 23.11.6 does not accept --gpus-per-task in a job with --cpus-per-task"
    assert step("srun --gpus-per-task=1 python t.py", head, "23.11").get("refused") == why
    assert "refused" not in step("srun --gpus-per-task=1 python t.py", head, "24.11")
    assert "refused" not in step("unset SLURM_TRES_PER_TASK\nsrun --gpus-per-task=1 python t.py", head, "23.11")


def test_components_of_a_step() -> None:
    found = steps(
        "srun -N1 -n1 ./server --listen : -N1 -n3 bash -c 'python worker.py --rank $SLURM_PROCID'",
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --exclusive\n",
    )
    assert [each["component"] for each in found] == [{"number": 1, "of": 2}, {"number": 2, "of": 2}]
    assert [(each["nodes"], each["tasks"], each["program"]) for each in found] == [
        (1, 1, "./server"),
        (1, 3, "python worker.py"),
    ]
    ranks = [task["variables"] for each in found for task in each["by_task"]]
    assert [each["SLURM_PROCID"] for each in ranks] == ["0", "1", "2", "3"]
    assert [each["SLURM_NODEID"] for each in ranks] == ["0", "1", "1", "1"]
    assert {each["SLURM_NTASKS"] for each in ranks} == {"4"}
    assert found[1]["by_task"][2]["argv"] == ["python", "worker.py", "--rank", "3"]


def test_components_of_the_job() -> None:
    head = "#!/bin/bash\n#SBATCH --ntasks=2 --nodes=1\n#SBATCH hetjob\n#SBATCH --ntasks=4 --nodes=2\n"
    found = steps("srun ./a : ./b\nsrun --het-group=0-1 ./c\nsrun --het-group=1 ./d\nsrun --het-group=2 ./e", head)
    assert [(each["line"], each.get("component"), each["nodes"], each["tasks"]) for each in found] == [
        (5, {"number": 1, "of": 2}, 1, 2),
        (5, {"number": 2, "of": 2}, 2, 4),
        (6, {"number": 1, "of": 2}, 1, 2),
        (6, {"number": 2, "of": 2}, 2, 4),
        (7, None, 2, 4),
        (8, None, None, None),
    ]


@pytest.mark.parametrize("option", ["-npernode 00", "-ppn 0", "--map-by ppr:0:node"])
def test_no_process_on_a_node_is_no_count(option: str) -> None:
    (found,) = steps(f"mpirun -np 8 {option} ./a.out")
    assert (found["tasks"], found["tasks_per_node"]) == (8, None)


def test_application_contexts_of_mpirun() -> None:
    found = steps("mpirun -np 1 ./server : -np 3 ./worker --fast")
    assert [(each["tasks"], each["program"], each["component"]["number"]) for each in found] == [
        (1, "./server", 1),
        (3, "./worker", 2),
    ]


@pytest.mark.parametrize(
    ("before", "command", "expected"),
    [
        ("export A=1 B=2", "srun", ("1", "2")),
        ("export A=1 B=2", "srun --export=A", ("1", None)),
        ("export A=1 B=2", "srun --export=NONE", (None, None)),
        ("export A=1 B=2", "srun --export=NONE,A", (None, None)),
        ("export A=1 B=2", "srun --export=B=3", (None, "3")),
        ("export A=1", "srun --export=ALL,A=2,B=3", ("1", "3")),
        ("A=1", "srun --export=ALL,A=2", ("2", None)),
        ("export A=1 B=2", "SLURM_EXPORT_ENV=NONE srun", (None, None)),
        ("export A=1 B=2", "SLURM_EXPORT_ENV=NONE srun --export=ALL", ("1", "2")),
        ("export A=1 B=2 SLURM_EXPORT_ENV=NONE", "SRUN_EXPORT_ENV=B srun", (None, "2")),
        ("#SBATCH --export=NONE\nexport A=1 B=2", "srun", (None, None)),
        ("#SBATCH --export=A\nexport A=1 B=2", "srun", ("1", None)),
        ("#SBATCH --export=ALL,C=1\nexport A=1 B=2", "srun", ("1", "2")),
        ("#SBATCH --export=NONE\nexport A=1 B=2\nunset SLURM_EXPORT_ENV", "srun", ("1", "2")),
        ("#SBATCH --export=NONE\nexport A=1 B=2", "srun --export=ALL", ("1", "2")),
    ],
)
def test_the_environment_of_tasks(before: str, command: str, expected: tuple[str | None, str | None]) -> None:
    job = job_of(f"#!/bin/bash\n{before}\n{command} /bin/program\n")
    program = job.steps[0].program[-1]
    assert program.name == "program"
    values = [exported(program, name) for name in "AB"]
    assert tuple(None if value is None else text_of(value) for value in values) == expected
    everything = exports_of(job.steps[0]).whole_environment
    assert ("environment" in steps_of(job)[0]) is not everything


@pytest.mark.parametrize(
    ("commands", "head", "expected"),
    [
        ("srun torchrun --nproc_per_node=gpu t.py", HEAD, 16),
        ("srun torchrun --nproc_per_node=auto t.py", HEAD, 16),
        ("srun torchrun --nproc_per_node=cpu t.py", HEAD, None),
        ("srun --gpus-per-node=2 torchrun --nproc_per_node=gpu t.py", HEAD, 4),
        ("srun --gres=none torchrun --nproc_per_node=auto t.py", HEAD, None),
        ("srun bash -c 'CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=gpu t.py'", HEAD, 4),
        ("srun bash -c 'CUDA_VISIBLE_DEVICES=$X torchrun --nproc_per_node=gpu t.py'", HEAD, None),
        ("CUDA_VISIBLE_DEVICES=0,1 srun torchrun --nproc_per_node=gpu t.py", HEAD, 16),
        ("torchrun --nproc_per_node=gpu t.py", HEAD, 8),
        ("torchrun --nproc_per_node=cpu t.py", HEAD, None),
        ("export CUDA_VISIBLE_DEVICES=0,1,2\ntorchrun --nproc_per_node=gpu t.py", HEAD, 3),
        ("export CUDA_VISIBLE_DEVICES=\ntorchrun --nproc_per_node=auto t.py", HEAD, None),
        ("export CUDA_VISIBLE_DEVICES=GPU-1a,GPU-2b\ntorchrun --nproc_per_node=gpu t.py", HEAD, None),
        ("torchrun --nproc_per_node=auto t.py", "#!/bin/bash\n#SBATCH --nodes=1\n", None),
    ],
)
def test_launchers_that_count_devices(commands: str, head: str, expected: int | None) -> None:
    job = job_of(head + commands + "\n")
    (found,) = steps_of(job)
    assert found["processes"] == expected
    (world,) = find_worlds(job)
    each = world.processes
    assert (None if each is None else each * found["tasks"]) == expected


@pytest.mark.parametrize(
    ("commands", "programs"),
    [
        ("module load x\ncd run\npython train.py --lr 1\n./post", ["python train.py", "./post"]),
        ("apptainer exec --nv img.sif python train.py", ["python train.py"]),
        ("srun ./a.out\npython plot.py", ["./a.out"]),
        ("torchrun t.py\npython plot.py", ["python t.py"]),
        ("srun -n1 ray start --head --block &\nsleep 9\npython train.py", ["ray start", "python train.py"]),
        ("bash -c 'python train.py'", ["python train.py"]),
        ("VERSION=$(python -V)\necho $VERSION\nmkdir out", []),
    ],
)
def test_programs_of_a_job_without_a_step(commands: str, programs: list[str]) -> None:
    found = steps(commands)
    assert [each["program"] for each in found] == programs
    own = [each for each in found if each["command"] is None and each["launcher"] is None]
    assert all((each["nodes"], each["tasks"], each["gpus_per_task"]) == (1, 1, 8) for each in own)


TORCHRUN = "srun torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=n1"


@pytest.mark.parametrize(
    "commands, reason",
    [
        (f"{TORCHRUN} --nproc_per_node=2 train.py", None),
        (f"{TORCHRUN} --epochs=2 train.py", "it has no option --epochs"),
        (f"{TORCHRUN} --nproc_per_node=2x train.py", "--nproc_per_node=2x is not a number of processes"),
        (f"{TORCHRUN} --nproc_per_node 2", "no program follows its options"),
        (f"{TORCHRUN} $ARGS --epochs=2 train.py", None),
        ("srun deepspeed --num-gpus 2 train.py", "it has no option --num-gpus"),
        ("deepspeed --num_nodes 2 train.py", "--num_nodes above 1 needs a hostfile"),
        ("deepspeed --num_nodes 2 --hostfile hosts train.py", None),
        (
            "accelerate launch --multi_gpu --num_machines 2 --num_processes 4 train.py",
            "several machines need --machine_rank, unless the configuration file of the user has one",
        ),
        ("accelerate launch --multi_gpu --num_machines 2 --num_processes 4 --rdzv_backend c10d train.py", None),
        ("srun bash -c 'CUDA_VISIBLE_DEVICES= torchrun --nproc_per_node=gpu t.py'",
         "--nproc_per_node=gpu finds none: CUDA_VISIBLE_DEVICES is empty"),
        ("srun bash -c 'if ((SLURM_PROCID)); then torchrun --x a.py; else torchrun --y a.py; fi'",
         "it has no option --x"),
    ],
)  # fmt: skip
def test_a_launcher_that_refuses_its_words_starts_nothing(commands: str, reason: str | None) -> None:
    found = step(f"#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2\n{commands}")
    assert found["launcher"].get("refused") == reason
    assert "refused" not in found
    if reason is not None:
        assert found["processes"] == 0 == found["launcher"]["processes_per_task"]
        assert [each["processes"] for each in found["by_task"] or ()] == [[]] * len(found["by_task"] or ())


def test_a_launcher_that_some_tasks_refuse_is_not_refused() -> None:
    commands = "srun bash -c 'if ((SLURM_PROCID)); then torchrun --nproc_per_node=2 a.py; else torchrun --y a.py; fi'"
    found = step(f"#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2\n{commands}")
    assert "refused" not in found["launcher"]
    assert found["processes"] == 2
    assert [len(each["processes"]) for each in found["by_task"]] == [0, 2]


@pytest.mark.parametrize("module, refused", [("openmpi/5.0", True), ("mpich/4.2", False), ("gcc/13", False)])
def test_mpirun_with_too_few_slots_is_refused_by_open_mpi(module: str, refused: bool) -> None:
    found = step(f"#SBATCH --nodes=2 --ntasks-per-node=1\nmodule load {module}\nmpirun -np 8 ./a.out")
    assert ("refused" in found) is refused
    assert found["processes"] == (0 if refused else 8)


@pytest.mark.parametrize(
    "version, commands, why",
    [
        ("24.05", "export SLURM_CPUS_PER_TASK=8; srun ./a.out",
         "SLURM_CPUS_PER_TASK=8 and SLURM_TRES_PER_TASK=cpu=2 say different numbers"),
        ("24.05", "export SLURM_CPUS_PER_TASK=8; srun -c 2 ./a.out", None),
        ("24.05", "unset SLURM_TRES_PER_TASK; export SLURM_CPUS_PER_TASK=8; srun ./a.out",
         "the job has 4 CPUs and srun requests 16"),
        ("22.05", "export SLURM_CPUS_PER_TASK=8; srun ./a.out", None),
        ("23.02", "SRUN_CPUS_PER_TASK=8 srun ./a.out", "the job has 4 CPUs and srun requests 16"),
    ],
)  # fmt: skip
def test_the_cpus_of_a_task_are_what_srun_reads(version: str, commands: str, why: str | None) -> None:
    found = step(f"#SBATCH --nodes=1 --ntasks=2 --cpus-per-task=2\n{commands}", "#!/bin/bash\n", version=version)
    assert found.get("refused") == why
