"""A symptom asks the linter: findings on the script come first, where message and finding are about the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.cli import main
from sbatchlint.diagnose.answers import Answer, codes_of, overrides_for, picture_of, rows_of
from sbatchlint.diagnose.diagnosis import diagnose
from sbatchlint.diagnose.logs import findings_in
from sbatchlint.diagnose.places import places
from sbatchlint.diagnose.seen import bites, symptoms_of
from sbatchlint.diagnose.subjects import variable_words
from sbatchlint.registry import registry
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source

SETTINGS = Resolver(overrides_for(Overrides(isolated=True))).settings("job.sh")
NODES = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8\n"
TORCHRUN = (
    "srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id=1 --rdzv-endpoint=$(hostname):29500"
)


def best(log: str, script: str) -> tuple[Answer, list[int]]:
    """The first answer, and the rows of the script with it."""
    picture = picture_of(Source(script, "job.sh"), SETTINGS)
    answer = diagnose(findings_in({"job.log": log.encode()}), picture).answers[0]
    return answer, rows_of(answer, picture.source)


@pytest.mark.parametrize(
    ("log", "script", "cause", "code", "row"),
    [
        (
            "srun: error: Unable to create step for job 7: Requested node configuration is not available\n",
            "#!/bin/bash\n#SBATCH --nodes=2 --nodelist=n[1-2]\nsrun -w n9 -N1 -n1 hostname\n",
            "step-outside-job", "SB206", 3,
        ),
        (
            "bash: line 1: scontrol: command not found\nenvironment variable MASTER_ADDR expected, but not set\n",
            NODES + "srun --container-image=/images/a.sqsh bash -c "
            "'export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1); python t.py'\n",
            "slurm-in-container", "SB515", 3,
        ),
        (
            "/var/spool/slurmd/job7/slurm_script: line 4: srun: command not found\n",
            "#!/bin/bash\n#SBATCH --nodes=1\nexport PATH=$HOME/bin\nsrun ./relax\n",
            "path-replaced", "SB619", 3,
        ),
        (
            "AssertionError: TP and CP require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1",
            NODES.replace("=8", "=h100:8")
            + TORCHRUN
            + " pretrain_gpt.py --num-layers 8 --tensor-model-parallel-size 4\n",
            "setting-of-script", "SB327", 3,
        ),
    ],
)  # fmt: skip
def test_a_finding_is_the_answer(log: str, script: str, cause: str, code: str, row: int) -> None:
    answer, rows = best(log, script)
    assert (answer.cause.key, answer.where, answer.confidence) == (cause, "script", "certain")
    assert code in codes_of(answer.findings) and row in rows


@pytest.mark.parametrize(
    ("log", "script", "cause", "row", "advice"),
    [
        (
            "bash: line 2: uv: command not found\n",
            NODES + "srun --container-image=/images/a.sqsh bash -c 'cd /work && uv run t.py'\n",
            "not-in-image", 3, "image",
        ),
        (
            "ERROR: Unexpected bus error in worker. This might be caused by insufficient shared memory (shm).\n",
            NODES + "srun docker run --rm --gpus all lab/train:2 bash run.sh\n",
            "container-shm", 3, "--ipc=host",
        ),
        (
            "Unable to find image 'lab/train:2' locally\ndocker: Error response from daemon: dial tcp.\n",
            NODES + "srun docker run --rm --gpus all lab/train:2 bash run.sh\n",
            "image-of-script", 3, "docker load",
        ),
        (
            "This script must be launched with torchrun.\n",
            "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8\nsrun python t.py\n",
            "no-launcher", 3, "torchrun",
        ),
    ],
)  # fmt: skip
def test_what_the_script_starts_is_the_answer(log: str, script: str, cause: str, row: int, advice: str) -> None:
    answer, rows = best(log, script)
    assert (answer.cause.key, answer.where, answer.confidence) == (cause, "script", "likely")
    assert row in rows and advice in answer.advice


def test_advice_is_no_proof() -> None:
    """A finding that is only advice makes its cause possible only."""
    log = "iteration 7\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:30:00 DUE TO TIME LIMIT ***\n"
    answer, rows = best(log, NODES + "#SBATCH --time=00:30:00\n" + TORCHRUN + " t.py\n")
    assert answer.cause.key in ("time-too-short", "wait-without-end") and answer.confidence != "certain"
    assert "SB323" not in codes_of(answer.findings) and rows


def test_a_finding_on_another_thing_is_not_certain() -> None:
    """Slurm objects to memory, and the finding is about nodes."""
    log = "srun: error: Unable to create step for job 7: Memory required by task is not available\n"
    answer, _ = best(log, "#!/bin/bash\n#SBATCH --nodes=2 --nodelist=n[1-2]\nsrun -w n9 -N1 -n1 hostname\n")
    assert answer.confidence != "certain"


def test_a_silence_by_one_clock() -> None:
    """Where the last line has a time of the log's own, a silence of whole hours is no difference of clocks."""
    log = (
        "[2026-01-01 10:00:00] epoch 0\n"
        "{}slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T12:00:00 DUE TO TIME LIMIT ***\n"
    )
    script = NODES + "#SBATCH --time=2:00:00\nsrun ./a.out\n"
    assert best(log.format("[2026-01-01 12:00:00] "), script)[0].cause.key == "silence"
    assert best(log.format(""), script)[0].cause.key != "silence"


def test_no_binding() -> None:
    """`--gpu-bind=none` binds nothing, so it hides no GPU from a task."""
    log = "RuntimeError: CUDA error: invalid device ordinal\n"
    bound, _ = best(log, NODES + "srun --gpu-bind=single:1 python t.py\n")
    free, _ = best(log, NODES + "srun --gpu-bind=none python t.py\n")
    assert bound.cause.key == "bound" and free.cause.key != "bound"


VARIABLES = "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are"
OF_GPUS = "SLURM_NTASKS_PER_NODE is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"


@pytest.mark.parametrize(
    ("log", "directives", "step", "cause"),
    [
        ("--mem, --mem-per-cpu, and --mem-per-gpu are", "--mem=2G --mem-per-cpu=1G", "srun a", "two-options"),
        (VARIABLES, "--mem=2G", "srun --mem-per-cpu=1G a", "two-options"),
        (OF_GPUS, "--ntasks-per-node=2", "srun --ntasks-per-gpu=1 a", "options-of-script"),
        (VARIABLES, "--mem=2G", "srun a", "inherited"),
        ("--gpus-per-node and --gres=gpu are", "--gres=gpu:2", "srun a", "inherited"),
    ],
)
def test_both_halves(log: str, directives: str, step: str, cause: str) -> None:
    """Two options exclude each other: certain only where the script has both, by themselves or by their variables."""
    text = log if "mutually" in log else f"{log} mutually exclusive."
    answer, rows = best(f"srun: fatal: {text}\n", f"#!/bin/bash\n#SBATCH --nodes=2 {directives}\n{step}\n")
    expected = ("submission", "likely") if cause == "inherited" else ("script", "certain")
    assert (answer.cause.key, answer.where, answer.confidence) == (cause, *expected)
    assert 2 in rows


def test_what_is_on_the_line_is_not_advised() -> None:
    log = "PMI server not found. Please set I_MPI_PMI_LIBRARY\n"
    assert "--mpi=pmix" in best(log, "#!/bin/bash\n#SBATCH -n 8\nsrun --mpi=pmi2 ./a.out\n")[0].advice
    assert "--mpi=pmix" not in best(log, "#!/bin/bash\n#SBATCH -n 8\nsrun --mpi=pmix ./a.out\n")[0].advice


@pytest.mark.parametrize("rule", ["at most 32 tasks on a node", "ask for fewer CPUs", "not so many cores"])
def test_a_rule_on_sizes_points_to_the_sizes(rule: str) -> None:
    log = (
        f"sbatch: error: You must keep to the limits: {rule}\nsbatch: error: cli_filter plugin terminated with error\n"
    )
    script = "#!/bin/bash\n#SBATCH --time=10\n#SBATCH --ntasks-per-socket=32 --cpus-per-task=4\nsrun a\n"
    answer, rows = best(log, script)
    assert (answer.event.symptom.id, answer.where, rows) == ("site-rule", "script", [3])


@pytest.mark.parametrize("name", ["sbatch", "sbatch.bin"])
def test_commands_by_another_name(name: str) -> None:
    log = f"{name}: error: Batch job submission failed: Invalid qos specification\n"
    assert best(log, "#!/bin/bash\n#SBATCH --qos=long\nsrun a\n")[0].cause.key == "qos-of-script"
    log = f"{name}: error: You must name a type of GPU\n"
    assert best(log, "#!/bin/bash\n#SBATCH --gres=gpu:2\nsrun a\n")[0].event.symptom.id == "site-rule"


def test_another_cache_is_not_blamed() -> None:
    """The disk with uv's cache is full: it is not where HF_HOME leads."""
    log = "failed to write to file `/root/.cache/uv/x`: No space left on device (os error 28)\n"
    script = NODES + (
        "export HF_HOME=/lustre/hf\n"
        "srun --container-image=/images/a.sqsh --no-container-mount-home bash -c 'cd /w && uv sync && uv run t.py'\n"
    )
    answer, rows = best(log, script)
    assert (answer.cause.key, codes_of(answer.findings)) == ("cache-unset", ["SB602"]) and rows == [4]


def test_a_word_of_the_message_finds_its_finding() -> None:
    """No symptom knows the message, and it names the variable of a finding."""
    log = "RuntimeError: bad value of MASTER_PORT for this fabric\n"
    answer, _ = best(log, NODES + "export MASTER_PORT=80\nexport MASTER_ADDR=$(hostname)\n" + TORCHRUN + " t.py\n")
    if answer.findings:
        assert all("MASTER_PORT" in each.message for each in answer.findings) and answer.confidence == "likely"


def test_each_check_is_reached() -> None:
    """A check whose failure prints something is reached from that; of the others it is said what one sees."""
    for entry in registry().entries:
        reached = bool(symptoms_of(entry.code))
        unseen = registry().load(entry).card.unseen
        assert reached or unseen, f"{entry.code}: name it in a cause of a symptom, or say unseen= on its card"
        assert bites(entry.code)


def test_two_places_with_reasons() -> None:
    """Where the answer is not certain, another place may stand with its reason; a certain one stands alone."""
    picture = picture_of(Source(NODES + TORCHRUN + " t.py\n", "job.sh"), SETTINGS)
    found = diagnose(findings_in({"a": b"srun: error: n1: task 0: Illegal instruction (core dumped)\n"}), picture)
    assert [each.where for each in places(found.answers, picture.source)] == ["code", "submission"]
    found = diagnose(findings_in({"a": b"srun: error: Node failure on n1\n"}), picture)
    assert [each.where for each in places(found.answers, picture.source)] == ["cluster"]


@pytest.mark.parametrize(
    ("log", "script", "where"),
    [
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n", NODES + TORCHRUN + " t.py\n", "cluster"),
        (
            "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
            NODES + TORCHRUN.removeprefix("srun ") + " t.py\n",
            "script",
        ),
        ("OSError: [Errno 28] No space left on device: '/tmp/x/y'\n", NODES + "srun a\n", "cluster"),
        ("OSError: [Errno 122] Disk quota exceeded: '/home/ada/y'\n", NODES + "srun a\n", "data"),
        ("slurmd: error: Munge decode failed: Rewound credential\n", NODES + "srun a\n", "cluster"),
        (
            "socket.gaierror: [Errno -2] Name or service not known\n",
            NODES + "srun docker run --rm lab/a python t.py\n",
            "script",
        ),
        (
            "0: FileExistsError: [Errno 17] File exists: 'out'\n1: FileExistsError: [Errno 17] File exists: 'out'\n",
            "#!/bin/bash\n#SBATCH -n 4\nsrun ./a.out\n",
            "code",
        ),
    ],
)
def test_where_it_lies(log: str, script: str, where: str) -> None:
    assert best(log, script)[0].where == where


def test_help_texts_of_mpi_are_no_errors() -> None:
    """What Open MPI explains between two rulers is not the message that it explains."""
    ruler = "-" * 74 + "\n"
    prose = "An internal error has occurred in a library.\nThis is a fatal error; your job will likely abort.\n"
    log = f"{ruler}{prose}{ruler}ValueError: three columns\nsrun: error: n1: task 0: Exited with exit code 1\n"
    assert best(log, NODES + "srun a\n")[0].event.text == "ValueError: three columns"


@pytest.mark.parametrize(
    ("log", "script", "code"),
    [
        ("job.sh: line 4: bismark: command not found\n", "srun -n1 apptainer exec tools.sif\nbismark a\n", "SB337"),
        ("OMP: Warning #2: OMP_NUM_THREADS: Invalid\n", "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n./a\n", "SB409"),
    ],
)  # fmt: skip
def test_families_of_reports(log: str, script: str, code: str) -> None:
    answer, _ = best(log, f"#!/bin/bash\n#SBATCH --nodes=1\n{script}")
    assert (codes_of(answer.findings), answer.confidence) == ([code], "certain")


def test_of_a_directive_the_message_of_sbatch_comes_first() -> None:
    for code in ("SB104", "SB108"):
        (section,) = bites(code)
        first = next(line for line in section[1].splitlines() if line.startswith("- "))
        assert first.startswith("- `sbatch: error: Invalid directive found in batch script: "), code
    (section,) = bites("SB439")
    assert "`shell-test`" in section[1] and "`command-not-found`" in section[1]


def test_another_answer_says_what_its_finding_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.log").write_text(
        "srun: error: Unable to create step for job 7: Requested node configuration is not available\n"
    )
    (tmp_path / "job.sh").write_text(
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --output=job.log\n"
        'nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")\nall=("$nodes")\nhead=${all[0]}\n'
        'srun --nodes=1 --ntasks=1 -w "$head" ray start --head --block &\nwait\n'
    )
    main(["diagnose", str(tmp_path / "job.log"), "--script", str(tmp_path / "job.sh"), "--isolated"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "see the finding" not in shown
    assert "write `all=($nodes)`" in shown


def test_a_word_with_variables_that_nearly_comes_to_a_path() -> None:
    script = "#!/bin/bash\n#SBATCH -n1\n./a $a.$b.$c.$d.$e/last.bam data/$x/$y.txt\n"
    job = picture_of(Source(script, "job.sh"), SETTINGS).jobs[0]
    assert list(variable_words(job, "." * 900 + "/last.ba")) == []
    assert [values for _, values in variable_words(job, "/work/data/s1/.txt")] == [["s1", ""]]


def test_an_argument_in_the_quoted_line_is_named() -> None:
    """The message names no option, but the line that raised it does: the finding on it is the answer."""
    log = (
        "Traceback (most recent call last):\n"
        '  File "/opt/env/lib/python3.11/site-packages/accelerate/utils/launch.py", line 114, in prepare\n'
        '    setattr(args, "node_rank", int(args.{}))\n'
        "                               ^^^^^^^^^^^^^^^^^\n"
        "TypeError: int() argument must be a string or a real number, not 'NoneType'\n"
    )
    script = NODES + "srun accelerate launch --num_machines 2 --num_processes 16 --main_process_ip a train.py\n"
    answer, rows = best(log.format("machine_rank"), script)
    assert answer.where == "script" and codes_of(answer.findings) == ["SB307"] and 3 in rows
    assert not best(log.format("seed"), script)[0].findings


def test_an_image_cut_at_a_hash() -> None:
    log = "slurmstepd: error: pyxis:     curl: (6) Could not resolve host: registry-1.docker.io\n"
    cut, rows = best(log, "#!/bin/bash\n#SBATCH --container-image=images.example.org:5000#tools\n./a.out\n")
    assert (cut.cause.key, cut.confidence, rows) == ("cut-at-hash", "certain", [2])
    whole, _ = best(log, '#!/bin/bash\n#SBATCH --container-image="images.example.org:5000#tools"\n./a.out\n')
    assert whole.cause.key != "cut-at-hash"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("sbatch: error: fetch_config: DNS SRV lookup failed\n", "no-configuration"),
        ("sbatch: fatal: Could not establish a configuration source\n", "no-configuration"),
        (
            "srun: error: _fetch_child: failed to fetch remote configs: Unable to contact slurm controller\n",
            "controller-down",
        ),
        (
            "sbatch: error: Batch job submission failed: I/O error writing script/environment to file\n",
            "disk-of-controller",
        ),
    ],
)
def test_what_is_not_the_script(log: str, cause: str) -> None:
    answer = diagnose(findings_in({"job.log": log.encode()}), None).answers[0]
    assert (answer.cause.key, answer.where) == (cause, "cluster")
    assert cause == "controller-down" or answer.confidence == "likely"


def test_only_a_traceback_that_is_there_is_pointed_at() -> None:
    message = "RuntimeError: the two tensors are on different devices\n"
    frames = 'Traceback (most recent call last):\n  File "/home/ada/model.py", line 3, in <module>\n    a @ b\n'
    alone, traced = (
        diagnose(findings_in({"job.log": log.encode()}), None).answers[0].advice for log in (message, frames + message)
    )
    assert "has no traceback" in alone and "has no traceback" not in traced


@pytest.mark.parametrize(
    ("message", "directive", "word", "cause"),
    [
        (
            "--index=: invalid literal for int() with base 10: ''",
            "",
            "--index=$SLURM_ARRAY_TASK_ID",
            "index-of-no-array",
        ),
        ("--seed=: invalid literal for int() with base 10: ''", "", "--index=$SLURM_ARRAY_TASK_ID", ""),
        ("--index=x: invalid literal for int() with base 10: 'x'", "", "--index=$SLURM_ARRAY_TASK_ID", ""),
        ("--index=: invalid literal for int() with base 10: ''", "", "--index=${SLURM_ARRAY_TASK_ID:-1}", ""),
        (
            "--index=: invalid literal for int() with base 10: ''",
            "#SBATCH --array=1-3\n",
            "--index=$SLURM_ARRAY_TASK_ID",
            "",
        ),
    ],
)
def test_the_index_of_no_array(message: str, directive: str, word: str, cause: str) -> None:
    """The option that gets an empty value has the array's index, and no directive makes the job an array."""
    answer, rows = best(f"search.py: error: {message}\n", f"#!/bin/bash\n{directive}./search.py {word}\n")
    assert (answer.cause.key == "index-of-no-array") == bool(cause)
    assert not cause or (answer.confidence, rows) == ("likely", [2])


def test_a_program_in_place_of_the_image() -> None:
    log = "FATAL:   could not open image /home/ada/python3: lstat /home/ada/python3: no such file or directory\n"
    without, rows = best(log, NODES + "srun apptainer exec --nv --bind /data:/data python3 train.py\n")
    assert (without.cause.key, without.where, rows) == ("no-image-in-script", "script", [3])
    named, _ = best(log, NODES + "srun apptainer exec --nv ubuntu.sif python3 train.py\n")
    assert named.cause.key != "no-image-in-script"
