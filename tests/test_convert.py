"""`convert`: what becomes of a script or a command, that it is proven, and what is refused."""

from __future__ import annotations

import json

import pytest

import in_bash
from convert_cases import CASES
from in_bash import Converting

command = in_bash.command


@pytest.mark.parametrize("name", CASES)
def test_conversion(command: Converting, name: str) -> None:
    case = CASES[name]
    path = command.write("job.sh", case.before)
    if case.file is not None:
        command.write(*case.file)
    result = command("convert", *case.options.split(), "job.sh")
    assert (result.out, result.code) == (case.after, case.code), result.err
    assert path.read_text() == case.before
    command.write("done.sh", result.out)
    again = command("convert", *case.options.split(), "done.sh")
    assert again.out == case.after and again.code in (0, case.code), again.err


@pytest.mark.parametrize(("gres", "others"), [("gpu:8", []), ("lscratch:4", ["--gpus-per-node=8"])])
def test_a_gres_of_the_goal_takes_the_place_of_that_of_the_script(
    command: Converting, gres: str, others: list[str]
) -> None:
    lines = "#SBATCH --nodes=1 --gres=gpu:4 --time=1:00:00 --cpus-per-task=8\ntorchrun --nproc_per_node=8 t.py\n"
    command.write("job.sh", f"#!/bin/bash\n{lines}")
    result = command("convert", "--nodes", "2", "--set", f"gres={gres}", "job.sh")
    assert result.code == 0, result.err
    words = [word for line in result.out.splitlines() if line.startswith("#SBATCH") for word in line.split()[1:]]
    assert [word for word in words if "gres" in word or "gpus" in word] == [f"--gres={gres}", *others]


def test_to_tasks_and_back_is_the_same_job(command: Converting) -> None:
    command.write("job.sh", CASES["torchrun"].after)
    options = ["--nodes", "2", "--output-format", "json", "--to"]
    native = json.loads(command("convert", *options, "srun", "job.sh").out)
    assert native["script"].count("export MASTER_ADDR=") == native["script"].count("export MASTER_PORT=") == 1
    command.write("native.sh", native["script"])
    back = json.loads(command("convert", *options, "torchrun", "native.sh").out)
    (before,), (after,) = native["before"]["steps"], back["after"]["steps"]
    for key in ("nodes", "tasks", "processes", "program", "argv"):
        assert before[key] == after[key], key
    assert native["before"]["request"]["components"][0]["cpus_per_task"] == 4
    assert back["after"]["request"]["components"][0]["cpus_per_task"] == 4


def test_a_command_line(command: Converting) -> None:
    result = command("convert", "--nodes", "2", "--", "torchrun", "--nproc-per-node=8", "train.py", "--name", "a b")
    assert result.code == 1
    assert "--nproc-per-node=8 train.py --name 'a b'\n" in result.out
    assert "##SBATCH --time=HH:MM:SS\n" in result.out and "##SBATCH --cpus-per-task=CPUS\n" in result.out
    assert "to do: fill in, and write #SBATCH: --time=HH:MM:SS" in result.err


def test_the_configuration_file_of_accelerate_has_no_say_in_nodes(command: Converting) -> None:
    command.write(
        "job.sh", "#!/bin/bash\n#SBATCH -t5 -c8\naccelerate launch --config_file a.yaml --num_processes 8 a.py\n"
    )
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "see that a.yaml has distributed_type" in result.err  # it is not at hand
    assert "--deepspeed_multinode_launcher=standard --rdzv_backend=static " in result.out
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_the_cpus_that_only_an_srun_asks_for_stay(command: Converting) -> None:
    text = "#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=4 --gres=gpu:4 -t5\nsrun -c 8 python train.py\n"
    command.write("job.sh", text)
    assert command("convert", "--nodes", "2", "job.sh").out == text.replace("-N1", "-N2")
    command.write("one.sh", text.replace("python", "torchrun --nproc-per-node=4").replace("node=4 --g", "node=1 --g"))
    assert "srun -c 8 bash -c " in command("convert", "--nodes", "2", "one.sh").out


def test_the_cpus_of_all_tasks_of_the_node_count(command: Converting) -> None:
    header = "#SBATCH --ntasks=2 --ntasks-per-node=2 --cpus-per-task=4 --gpus-per-node=2 -t5"
    command.write("job.sh", f"#!/bin/bash\n{header}\nsrun python train.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert "--ntasks-per-node=2 --cpus-per-task=4 --gpus-per-node=2 -t5" in result.out, result.err


def test_what_is_left_to_do_is_not_written(command: Converting) -> None:
    path = command.write("job.sh", "#!/bin/bash\ntorchrun --nproc-per-node=8 train.py\n")
    out = path.with_name("out.sbatch")
    assert command("convert", "--nodes", "2", "job.sh", "-o", "out.sbatch").code == 1
    assert not out.exists()
    assert command("convert", "--nodes", "2", "job.sh", "-o", "out.sbatch", "--allow-todo").code == 1
    assert out.read_text().startswith("#!/bin/bash\n#SBATCH --nodes=2\n")
    before = out.read_text()
    assert command("convert", "--nodes", "4", "job.sh", "-o", "out.sbatch", "--allow-todo").code == 2
    assert out.read_text() == before


def test_the_difference_of_a_plain_script_is_short(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH --gpus-per-node=8 --cpus-per-task=64\n#SBATCH --time=5\n"
                  "module load cuda\ntorchrun --nproc-per-node=8 train.py\n")  # fmt: skip
    result = command("convert", "--nodes", "2", "--diff", "job.sh")
    changed = [line for line in result.out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert result.code == 0 and len(changed) < 12
    assert command("convert", "--nodes", "2", "--check", "job.sh").out == ""


@pytest.mark.parametrize(
    ("script", "options", "reason"),
    [
        ("echo hello\n", "", "it starts no launcher that is known"),
        ("vllm serve lab/m --tensor-parallel-size 8\n", "", "vLLM works on a Ray cluster that is started before"),
        ("spark-submit --master 'local[16]' job.py\n", "", "spark-submit on line 2 is not converted"),
        ("python -m vllm.entrypoints.openai.api_server --model m -tp 16\n", "", "vLLM works on a Ray cluster"),
        ("python -m sglang.launch_server --model-path m --tp 16\n", "", "started on each with --nnodes, --node-rank"),
        ("./train.py --epochs 3\n", "", "write python ./train.py"),
        ("python train.py\n", "", "its file cannot be read here"),
        ("python a.py\npython b.py\n", "", "several programs (line 2, 3)"),
        ("python train.py trainer.devices=8\n", "--to torchrun", "becomes tasks of srun"),
        ("torchrun train.py\n", "", "how many GPUs a node has is not known"),
        ("deepspeed --num_gpus 8 --autotuning run train.py\n", "", "line 2: torchrun has no counterpart"),
        ("ray start --head\npython train.py\n", "", "ray start on line 2 is not converted"),
        ("torchrun --nproc-per-node=8 $ARGS\n", "", "not all words of torchrun on line 2 are known"),
        ("torchrun --nproc-per-node=8 a.py\ntorchrun --nproc-per-node=1 b.py\n", "", "line 2 and line 3 start"),
        ("torchrun --nproc-per-node=8 a.py &\ntorchrun --nproc-per-node=8 b.py\n", "", "in the background"),
        ("for i in 1 2; do torchrun --nproc-per-node=$i a.py; done\n", "", "differ in each iteration of its loop"),
        ("C='torchrun --nproc-per-node=8 a'\n[ $X ] && C='torchrun --nproc-per-node=8 b'\n$C\n", "", "one command"),
        ("docker run x torchrun --nproc-per-node=8 a.py\n", "", "line 2: docker is converted to"),
        ("#PBS -l walltime=1:00:00\ntorchrun --nproc-per-node=8 a.py\n", "", "another scheduler"),
        ("#SBATCH -F nodes\ntorchrun --nproc-per-node=8 a.py\n", "", "--nodefile on line 2 places it"),
        ("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\ntorchrun --nproc-per-node=8 a.py\n", "", "heterogeneous"),
        ("torchrun --nproc-per-node=8 --max-restarts 3 a.py\n", "--to accelerate", "of torchrun: leave it out"),
        ("accelerate launch --num_processes 8 --mixed_precision bf16 a.py\n", "--to torchrun", "of --mixed_precision"),
        ("mpirun -np 8 --am tuned.conf ./a\n", "", "told by --am is not converted"),
        ("mpirun -np 8 -H other ./a\n", "", "told by -H is not converted"),
        ("mpirun -np 1 ./a\nmpirun -np 1 ./b\n", "", "lines 2, 3 start one process each"),
        ("mpirun -np 8 --map-by ppr:4:socket ./a\n", "", "line 2: what mpirun is told by --map-by is"),
        ("if true; then\n", "", "a syntax error on line 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted(command: Converting, script: str, options: str, reason: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n{script}")
    result = command("convert", "--nodes", "2", *options.split(), "job.sh")
    assert result.code == 4 and reason in result.err, result.out + result.err
    assert result.out == ""


@pytest.mark.parametrize(
    "arguments",
    ["", "--nodes 0 a.sh", "--nodes 2", "--nodes 2 no-such.sh", "--nodes 2 a.sh --set tim=5", "--nodes 2 --",
     "--nodes 2 a.sh --diff --check"],
)  # fmt: skip
def test_wrong_usage(command: Converting, arguments: str) -> None:
    command.write("a.sh", "#!/bin/bash\ntorchrun --nproc-per-node=8 a.py\n")
    assert command("convert", *arguments.split()).code == 2


def test_what_a_script_includes_stays_where_it_is(command: Converting) -> None:
    command.write("env.sh", "export HF_HOME=/shared/hf\n")
    command.write(
        "job.sh", "#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\nsource env.sh\ntorchrun --nproc_per_node=2 a.py\n"
    )
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "HF_HOME" not in result.out, result.out + result.err


@pytest.mark.parametrize("start", ["mpirun ./solve in", "mpirun -np 32 ./solve in", "srun ./solve in"])
def test_processes_of_cpus_are_tasks_without_gpus(command: Converting, start: str) -> None:
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -N1 -n32\n{start}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == ("mpirun" in start), result.err
    assert "#SBATCH --ntasks-per-node=32\n" in result.out and "gpu" not in result.out and "-n32" not in result.out
    assert "64 tasks, 64 processes" in result.err and "cpus-per-task" not in result.out
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_how_many_processes_of_cpus_may_be_told(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -t5 -N1\nmpirun ./solve in\n")
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "say --set ntasks-per-node=N" in refused.err
    result = command("convert", "--nodes", "2", "--set", "ntasks-per-node=16", "job.sh")
    assert "32 tasks, 32 processes" in result.err and "#SBATCH --ntasks-per-node=16\n" in result.out
    command.write("job.sh", "#!/bin/bash\n#SBATCH -t5 -N1\nmpirun -n 1000000 ./solve in\n")
    assert "more than a node has CPUs" in command("convert", "--nodes", "2", "job.sh").err


def test_an_array_that_is_set_nowhere_is_empty(command: Converting) -> None:
    text = '#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\ntorchrun --nproc_per_node=2 "${EXTRA[@]}" train.py\n'
    command.write("job.sh", text)
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "none of these is set: EXTRA" in result.err and '"${EXTRA[@]}" train.py' in result.out
    command.write("job.sh", text.replace('"${EXTRA[@]}"', "$EXTRA"))
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "EXTRA may hold options: set it in the script" in refused.err
    command.write("job.sh", text.replace('"${EXTRA[@]}"', "$EXTRA").replace("torchrun", "EXTRA=\ntorchrun"))
    assert command("convert", "--nodes", "2", "job.sh").code == 0


def test_another_launcher_in_a_string_is_written_out(command: Converting) -> None:
    text = '#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\nL="deepspeed --num_gpus 2"\n$L train.py\n'
    command.write("job.sh", text)
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "deepspeed and its program are written in two places" in refused.err
    command.write("job.sh", text.replace("$L", "deepspeed --num_gpus 2"))
    assert command("convert", "--nodes", "2", "job.sh").code == 0


@pytest.mark.parametrize(("start", "said"), [("$CMD", True), ('eval "$CMD"', False)])
def test_what_prints_the_command_as_it_was_is_told(command: Converting, start: str, said: bool) -> None:
    text = '#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\nCMD="torchrun --nproc_per_node=2 a.py"\necho $CMD\n'
    command.write("job.sh", f"{text}{start}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and ("prints the command as it was" in result.err) is said, result.err


@pytest.mark.parametrize(
    ("option", "made"),
    [
        ("--nproc_per_node=$SLURM_NTASKS_PER_NODE", "--nproc_per_node=2 a.py"),
        ('--nproc_per_node "$(nvidia-smi -L | wc -l)"', "--nproc_per_node 2 a.py"),
        ("--nproc_per_node ${N} --master_addr=$(hostname)", '--nproc_per_node 2 --master_addr="$MASTER_ADDR" a.py'),
    ],
)
def test_a_number_that_the_job_reckons_is_written_out(command: Converting, option: str, made: str) -> None:
    header = "#!/bin/bash\n#SBATCH -t5 -c4 -N1 -n2 --gpus-per-node=2\nN=$(($SLURM_NTASKS / $SLURM_JOB_NUM_NODES))\n"
    command.write("job.sh", f"{header}torchrun --nnodes 1 {option} a.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and made in result.out, result.out + result.err
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_workers_that_start_again_meet_by_c10d(command: Converting) -> None:
    command.write(
        "job.sh", "#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\ntorchrun --max-restarts=3 --nproc-per-node=2 a.py\n"
    )
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "--rdzv-backend=c10d" in result.out and "node-rank" not in result.out, result.err


def test_the_processes_of_a_loop_are_counted_once(command: Converting) -> None:
    loop = "for c in 2,1; do\n    IFS=, read -r A B <<< $c\n    torchrun --nproc_per_node=2 a.py --a $A\ndone\n"
    text = f"#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\n{loop}"
    command.write("job.sh", text)
    assert "2 processes become 4" in command("convert", "--nodes", "2", "job.sh").err


def test_tasks_of_several_commands_grow_and_get_no_launcher(command: Converting) -> None:
    header = "#!/bin/bash\n#SBATCH -t5 -N1 --exclusive --gpus-per-node=8 --ntasks-per-node=8\n"
    command.write("job.sh", f'{header}srun -l bash -c "cd /w; python train.py; echo done"\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "8 processes become 16" in result.err, result.err
    refused = command("convert", "--nodes", "2", "--to", "torchrun", "job.sh")
    assert refused.code == 4 and "line 3: which program the tasks run is not known" in refused.err


def test_an_option_with_a_line_of_its_own_takes_no_indentation_along(command: Converting) -> None:
    words = "torchrun \\\n  --nproc_per_node=2 \\\n  --standalone \\\n      train.py \\\n      --lr 1\n"
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\n{words}")
    result = command("convert", "--nodes", "2", "job.sh")
    assert "  --nproc_per_node=2 \\\n      train.py \\\n      --lr 1\n" in result.out, result.err


def test_neighbours_that_are_taken_out_share_a_blank(command: Converting) -> None:
    """The last option of a value takes the blank before it along, and the one before it that same blank."""
    words = "--nproc-per-node=2 --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$HOST:29500"
    command.write(
        "job.sh", f'#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\nARGS="{words}"\nsrun torchrun $ARGS train.py\n'
    )
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and '\nARGS="--nproc-per-node=2 "\n' in result.out, result.err


def test_gpus_of_tasks_count_for_a_node_and_loopback_is_no_address(command: Converting) -> None:
    header = "#!/bin/bash\n#SBATCH -t5 --ntasks=2 --ntasks-per-node=2 --cpus-per-task=4 --gpus-per-task=l40s:1\n"
    command.write("job.sh", f'{header}export MASTER_PORT=29500\nexport MASTER_ADDR="127.0.0.1"\nsrun python main.py\n')
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "4 tasks, 4 processes" in result.err, result.err
    assert "--gpus-per-task=l40s:1\n" in result.out and "127.0.0.1" not in result.out
    assert 'export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"\n' in result.out
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_a_variable_that_counts_the_gpus_of_a_node_goes_on_counting_them(command: Converting) -> None:
    text = "#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:4\nGPUS_PER_NODE=4\n"
    text += "accelerate launch --num_processes $GPUS_PER_NODE a.py\n"
    command.write("job.sh", text)
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "\nGPUS_PER_NODE=4\n" in result.out, result.err
    assert '--num_processes "$((SLURM_JOB_NUM_NODES * GPUS_PER_NODE))" a.py' in result.out
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_a_shell_under_mpirun_is_no_other_program(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -t5 -N1 -n4\nmpirun bash -c 'export A=1; ./solve in'\n")
    assert "look at" not in command("convert", "--nodes", "2", "job.sh").err


DOCKER = "docker run -w /w -v /w:/w x/y torchrun --nproc_per_node=2"


@pytest.mark.parametrize(
    ("body", "options", "steps"),
    [
        ("torchrun --nproc_per_node=2 a.py && torchrun --nproc_per_node=2 b.py", "", 2),
        ("if [ $1 ]; then\ntorchrun --nproc_per_node=2 a.py\nelse\ntorchrun --nproc_per_node=gpu b.py\nfi", "", 2),
        ("run() { torchrun --nproc_per_node=2 $@; }\nrun a.py\nrun b.py", "", 1),
        ("L='torchrun --nproc_per_node=2'\n$L a.py\n$L b.py", "", 2),
        ('L=(torchrun --nproc_per_node=2)\n"${L[@]}" a.py\n"${L[@]}" b.py', "", 1),
        ('A="torchrun --nproc_per_node=2 a.py"\nB="torchrun --nproc_per_node=2 b.py"\neval $A\neval $B', "", 2),
        ("accelerate launch --num_processes 2 a.py\naccelerate launch --num_processes 2 b.py", "", 2),
        ("until torchrun --nproc_per_node=2 a.py; do sleep 5; done", "", 1),
        ("while read f; do\n  torchrun --nproc_per_node=2 a.py $f\ndone < list", "", 1),
        ("for f in *.yaml; do\n  torchrun --nproc_per_node=2 a.py $f\ndone", "--to srun", 1),
        ("torchrun --nproc_per_node=2 a.py\ntorchrun --nproc_per_node=2 b.py", "--to accelerate", 2),
        ("srun -n2 python a.py\nsrun -n2 python b.py", "", 2),
        (f"{DOCKER} a.py\n{DOCKER} b.py", "--container apptainer", 2),
    ],
)  # fmt: skip
def test_each_of_several_starts_is_converted(command: Converting, body: str, options: str, steps: int) -> None:
    command.write("list", "one\ntwo\n")
    command.write("one.yaml", "")
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\n{body}\n")
    result = command("convert", "--nodes", "2", *options.split(), "job.sh")
    assert result.code == 0 and result.out.count("srun ") == steps, result.out + result.err
    assert result.out.count("export MASTER_ADDR=") == ("-n2" not in body)
    processes = {line.split(",")[-1] for line in result.err.splitlines() if line.startswith("after")}
    assert processes == {" 4 processes"}
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", *options.split(), "done.sh").out == result.out


def test_several_starts_to_tasks_and_back_are_the_same_job(command: Converting) -> None:
    body = "torchrun --nproc_per_node=2 a.py --lr 1\nfor i in 1 2; do\n  torchrun --nproc_per_node=2 b.py\ndone\n"
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\n{body}")
    plans = []
    for target in ("torchrun", "srun", "torchrun"):
        made = json.loads(command("convert", "--nodes", "2", "--output-format", "json", "--to", target, "job.sh").out)
        command.write("job.sh", made["script"])
        plans.append(made["after"])
    here, _, there = ([{**step, "line": 0, "launcher": 0} for step in plan["steps"]] for plan in plans)
    assert len(here) == 2 and here == there


ON_16 = "#!/bin/bash\n#SBATCH -t5 -c64\n"


@pytest.mark.parametrize(
    ("script", "processes"),
    [
        ("torchrun --nproc_per_node=${2:-16} a.py $1\n", 32),
        ("G=$1\nG=${G:-4}\ntorchrun --nproc_per_node=$G a.py\n", 8),
        ("if [ $# -ge 1 ]; then G=$1; else G=8; fi\ntorchrun --nproc_per_node=$G a.py\n", 16),
    ],
)
def test_the_default_of_an_argument_counts(command: Converting, script: str, processes: int) -> None:
    command.write("job.sh", f"{ON_16}{script}")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and f"2 tasks, {processes} processes" in result.err, result.err
    assert f"#SBATCH --gpus-per-node={processes // 2}\n" in result.out
    assert "its arguments are left out, so that their defaults count" in result.err
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_an_argument_without_a_default_is_asked_for(command: Converting) -> None:
    command.write("job.sh", f"{ON_16}G=$2\ntorchrun --nproc_per_node=$G a.py $1\n")
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "line 4 takes it from an argument of the script; say --gpus-per-node" in refused.err
    result = command("convert", "--nodes", "2", "--gpus-per-node", "8", "job.sh")
    assert result.code == 0 and "--nproc_per_node=8 a.py $1\n" in result.out, result.err


def test_an_argument_by_which_the_launcher_is_reached_is_left_to_do(command: Converting) -> None:
    branch = 'if [ "$G" -gt 1 ]; then\n  torchrun --nproc_per_node=$G a.py\nelse\n  python a.py\nfi\n'
    command.write("job.sh", f"{ON_16}G=$1\n{branch}")
    result = command("convert", "--nodes", "2", "--gpus-per-node", "4", "job.sh")
    assert result.code == 1, result.err
    assert "submit it with 4 as argument 1: it decides whether line 5 is reached" in result.err


@pytest.mark.parametrize(
    ("option", "made"),
    [
        ("--master_addr='localhost'", '--master_addr="$MASTER_ADDR" a.py'),
        ("--master_addr 'localhost' --master_port '29500'", '--master_addr "$MASTER_ADDR" --master_port'),
        ("--nnodes='1'", '--nnodes="$SLURM_JOB_NUM_NODES" a.py'),
    ],
)
def test_a_value_in_single_quotes_is_replaced(command: Converting, option: str, made: str) -> None:
    command.write("job.sh", f"{ON_16}torchrun --nproc_per_node=8 {option} a.py\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and made in result.out, result.out + result.err


@pytest.mark.parametrize("modes", ["${1:-train}", "${MODE:-train}"])
def test_what_starts_with_other_values_is_not_left_out(command: Converting, modes: str) -> None:
    starts = "if [ $M = eval ]; then\ntorchrun --nproc_per_node=$G b.py\nelse\ntorchrun --nproc_per_node=$G a.py\nfi\n"
    command.write("job.sh", f"{ON_16}M={modes}\nG=${{2:-8}}\n{starts}")
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "would run python b.py is not known: write their number" in refused.err


def test_an_mpirun_in_a_container_gives_srun_its_options(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -t5 -N1 -n4\napptainer exec a.sif mpirun -np 4 ./solve in\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.out.endswith("srun --kill-on-bad-exit=1 --mpi=pmix apptainer exec a.sif ./solve in\n"), result.err


@pytest.mark.parametrize(("option", "code"), [("", 1), ("--use_env ", 0)])
def test_the_local_rank_that_only_a_launcher_gives_is_left_to_do(command: Converting, option: str, code: int) -> None:
    words = f"python -m torch.distributed.launch {option}--nproc_per_node=2 train.py"
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -c8 --gres=gpu:2\n{words}\n")
    result = command("convert", "--nodes", "2", "--to", "srun", "job.sh")
    assert result.code == code and ("see that the program reads LOCAL_RANK" in result.err) is bool(code), result.err


@pytest.mark.parametrize("word", ["--local_rank=$SLURM_LOCALID", "--rank $RANK"])
def test_words_that_differ_between_tasks_are_none_of_a_launcher(command: Converting, word: str) -> None:
    words = f"srun bash -c 'export RANK=$SLURM_PROCID; exec python train.py {word}'"
    command.write("job.sh", f"#!/bin/bash\n#SBATCH -t5 -c2 -N1 -n2 --gres=gpu:2\n{words}\n")
    refused = command("convert", "--nodes", "2", "--to", "torchrun", "job.sh")
    assert refused.code == 4 and "line 3: a word of the program is another in each task" in refused.err, refused.out


STRINGS = """\
#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --gres=gpu:4 -c 8 -t 5
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
NNODES=4
export CMD="train.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2"
export LAUNCHER="torchrun --nproc_per_node 4 --nnodes $NNODES --master_addr $MASTER_ADDR --master_port 6000"
srun bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD'
"""


def test_a_number_of_nodes_in_a_script_for_many_becomes_that_of_slurm(command: Converting) -> None:
    command.write("job.sh", STRINGS)
    result = command("convert", "--nodes", "8", "job.sh")
    assert result.code == 0 and "32 processes" in result.err, result.err
    assert result.out == STRINGS.replace("--nodes=4", "--nodes=8").replace("NNODES=4", "NNODES=$SLURM_JOB_NUM_NODES")
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "8", "done.sh").out == result.out


def test_what_the_new_number_of_nodes_makes_wrong_is_left_to_do(command: Converting) -> None:
    command.write("job.sh", STRINGS.replace("size 2", "size 4"))
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "NNODES=$SLURM_JOB_NUM_NODES\n" in result.out
    assert "SB325 world-size-not-divisible: the 8 processes" in result.err, result.err


def test_what_mpirun_runs_once_stays(command: Converting) -> None:
    solve = "mpirun -np 4 -bind-to none -map-by slot -x LD_LIBRARY_PATH -H localhost:4 ./solve in\n"
    text = f"#!/bin/bash\n#SBATCH -t5 -N1 -n4\nmpirun -n 1 ./prepare in\n{solve}mpirun -n 1 ./collect out\n"
    command.write("job.sh", text)
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "after: 2 nodes, 8 tasks, 8 processes\n" in result.err, result.err
    made = "srun --kill-on-bad-exit=1 --mpi=pmix --cpu-bind=none ./solve in\n"
    assert result.out.endswith(f"mpirun -n 1 ./prepare in\n{made}mpirun -n 1 ./collect out\n")
    command.write("done.sh", result.out)
    assert command("convert", "--nodes", "2", "done.sh").out == result.out


def test_the_places_of_a_script_are_bounded(command: Converting) -> None:
    command.write("job.sh", "#!/bin/bash\n#SBATCH -t5 -c8\n" + "torchrun --nproc_per_node=2 a.py\n" * 40)
    refused = command("convert", "--nodes", "2", "job.sh")
    assert refused.code == 4 and "in 40 places, more than 32: convert parts of it" in refused.err
