"""What launchers are told, and what is not a launcher."""

from __future__ import annotations

import pytest

from argv_helper import argv, exported
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job import Job, Site
from sbatchlint.job.launchers import DeepSpeed, Launcher, Mpi, Rendezvous, Swift, python_command, python_of, recognise
from sbatchlint.source.text import Source


def launcher(line: str, **environment: str) -> Launcher:
    found = recognise(argv(line), exported(**environment))
    assert found is not None, line
    return found


def rendezvous(line: str, **environment: str) -> Rendezvous:
    found = launcher(line, **environment).rendezvous
    assert found is not None
    return found


def program(line: str, **environment: str) -> str | None:
    found = launcher(line, **environment)
    return None if found.program is None else shown_text(found.argv[found.program]).replace("\ue000", "?")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("torchrun x.py", "torchrun"),
        ("/opt/venv/bin/torchrun x.py", "torchrun"),
        ("$VENV/bin/torchrun x.py", "torchrun"),
        ("$(which torchrun) x.py", "torchrun"),
        ("python $(which torchrun) x.py", "torchrun"),
        ("python /opt/bin/torchrun x.py", "torchrun"),
        ("python -m torch.distributed.run x.py", "torchrun"),
        ("python3.11 -u -W ignore -X dev -m torch.distributed.run x.py", "torchrun"),
        ("python -um torch.distributed.launch x.py", "torch.distributed.launch"),
        ("python -mtorch.distributed.launch x.py", "torch.distributed.launch"),
        ("python $X/torch/distributed/run.py x.py", None),
        ("python /v/torch/distributed/run.py x.py", "torchrun"),
        ("accelerate launch x.py", "accelerate"),
        ("accelerate-launch x.py", "accelerate"),
        ("python -m accelerate.commands.launch x.py", "accelerate"),
        ("accelerate config", None),
        ("accelerate", None),
        ("deepspeed x.py", "deepspeed"),
        ("python -m deepspeed.launcher.runner x.py", "deepspeed"),
        ("python -m deepspeed.launcher.launch x.py", "deepspeed.launch"),
        ("mpirun ./a", "mpi"),
        ("$MPI_HOME/bin/mpirun ./a", "mpi"),
        ("mpiexecjl --project=. -n 4 julia x.jl", "mpi"),
        ("mpiexec.hydra ./a", "mpi"),
        ("prterun ./a", "mpi"),
        ("ibrun ./a", "mpi"),
        ("colossalai run x.py", "colossalai"),
        ("colossalai check", None),
        ("composer x.py", "composer"),
        ("composer install --no-dev", None),
        ("ds --num_gpus 2 x.py", "deepspeed"),
        ("ds list", None),
        ("ray start --head", "ray"),
        ("ray job submit", None),
        ("horovodrun -np 4 python x.py", "horovod"),
        ("torchpack dist-run -np 4 python x.py", "torchpack"),
        ("fabric run --devices 2 x.py", "fabric"),
        ("tune run --nproc_per_node 2 full_finetune_distributed", "torchrun"),
        # The name in a path, an argument, a file or a module of another kind is no launcher.
        ("echo torchrun x.py", None),
        ("python train.py --launcher torchrun", None),
        ("./run-with-torchrun.sh", None),
        ("python run_torchrun.py", None),
        ("cat /opt/torchrun/README", None),
        ("/opt/torchrun/bin/python x.py", None),
        ("python accelerate/examples/x.py", None),
        ("python deepspeed_train.py --deepspeed", None),
        ("python -c 'import torch.distributed.run'", None),
        ("python", None),
        ("$TORCHRUN x.py", None),
        ('"$@"', None),
        ("srun torchrun x.py", None),
        ("bash -c torchrun", None),
    ],
)
def test_recognised_by_name_alone(line: str, kind: str | None) -> None:
    found = recognise(argv(line))
    assert (found.kind if found else None) == kind


def test_nothing_is_no_launcher() -> None:
    assert recognise([]) is None


def test_torchrun_options() -> None:
    found = launcher("torchrun --nnodes=4 --nproc-per-node 8 --node_rank=$SLURM_NODEID -r 3 train.py --nnodes 9")
    assert found.options.keys() == {"nnodes", "nproc_per_node", "node_rank", "redirects"}
    assert found.nnodes == 4
    assert found.processes_per_task == 8
    assert found.node_rank is not None and found.node_rank.value is not None
    assert found.node_rank.value[0].expansion is not None
    assert found.node_rank.value[0].expansion.name == "SLURM_NODEID"
    assert found.spawns and found.certain
    assert [text_of(each) for each in found.program_words] == ["train.py", "--nnodes", "9"]


def test_spans_are_those_of_the_words() -> None:
    line = "torchrun --nnodes=4 --nproc_per_node 8 x.py"
    found = launcher(line)
    given = found.options["nproc_per_node"]
    assert line[given.span.start : given.span.end] == "--nproc_per_node"
    assert (given.at, given.value_at) == (2, 3)
    value = found.options["nnodes"].value
    assert value is not None and line[value[0].start : value[0].end] == "4"
    module = "python -u -m torch.distributed.run x.py"
    assert module[slice(*launcher(module).span)] == "python -u -m torch.distributed.run"
    assert launcher(module).name == "python -m torch.distributed.run"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torchrun --nproc 8 x.py", "nproc_per_node"),
        ("torchrun --nproc-per=8 x.py", "nproc_per_node"),
        ("torchrun --nn 8 x.py", "nnodes"),
        ("torchrun --rdzv_en 8 x.py", "rdzv_endpoint"),
        ("torchrun --master-a 8 x.py", "master_addr"),
    ],
)
def test_beginnings_of_options(line: str, name: str) -> None:
    assert launcher(line).options.keys() == {name}


def test_an_ambiguous_beginning_is_not_an_option() -> None:
    assert "rdzv_id" not in launcher("torchrun --rdzv x.py").options


@pytest.mark.parametrize(
    ("nnodes", "expected"),
    [("1", 1), ("2:2", 2), ("1:4", (1, 4)), (" 3", 3)],
)
def test_numbers_of_nodes(nnodes: str, expected: object) -> None:
    assert launcher(f'torchrun "--nnodes={nnodes}" x.py').nnodes == expected


def test_nodes_that_are_not_known() -> None:
    found = launcher("torchrun --nnodes=$NNODES x.py").nnodes
    assert isinstance(found, tuple) and shown_text(found) == "\ue000"  # type: ignore[arg-type]
    assert launcher("torchrun x.py").nnodes is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("8", 8), ("auto", "auto"), ("gpu", "auto"), ("$N", None), ("eight", None)],
)
def test_processes_of_torchrun(value: str, expected: object) -> None:
    assert launcher(f"torchrun --nproc_per_node={value} x.py").processes_per_task == expected


def test_processes_default_to_one_only_where_nothing_hides() -> None:
    assert launcher("torchrun x.py").processes_per_task == 1
    assert launcher("torchrun $ARGS x.py").processes_per_task is None
    assert launcher("torchrun x.py", PET_NPROC_PER_NODE="4").processes_per_task == 4


def test_the_environment_stands_in_for_options() -> None:
    found = launcher("torchrun x.py", PET_NNODES="3", PET_MASTER_ADDR="host", MASTER_PORT="1", PET_STANDALONE="0")
    assert found.nnodes == 3
    setting = found.setting("nnodes")
    assert setting is not None and setting.from_environment and setting.name == "PET_NNODES"
    assert not found.standalone
    address = found.rendezvous.address if found.rendezvous else None
    assert address is not None and address.text == "host"
    # torchrun reads no MASTER_PORT.
    assert found.rendezvous is not None and found.rendezvous.port is None
    assert launcher("torchrun --nnodes 2 x.py", PET_NNODES="3").nnodes == 2
    assert launcher("torchrun x.py", PET_STANDALONE="1").standalone


def test_static_rendezvous() -> None:
    found = rendezvous("torchrun --nnodes 2 --master_addr $HEAD --master_port=29501 x.py")
    assert found.backend == "static"
    assert found.address is not None and found.address.name == "master_addr"
    assert found.port is not None and found.port.text == "29501"
    assert rendezvous("torchrun x.py").address is None
    assert rendezvous("torchrun $OPTS x.py").backend is None


def test_the_endpoint_wins() -> None:
    found = rendezvous("torchrun --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 --master_addr other x.py")
    assert found.backend == "c10d"
    assert found.address is not None and found.address.value is not None
    assert shown_text(found.address.value) == "\ue000"
    assert found.port is not None and found.port.text == "29500"
    # A master address means nothing for c10d.
    assert rendezvous("torchrun --rdzv_backend c10d --master_addr h x.py").address is None
    six = rendezvous("torchrun --rdzv-endpoint=[::1]:29500 x.py")
    assert six.address is not None and six.address.text == "[::1]"
    assert six.port is not None and six.port.text == "29500"


def test_standalone_replaces_the_rendezvous() -> None:
    found = launcher("torchrun --standalone --rdzv_endpoint=h:1 x.py")
    assert found.standalone
    assert found.rendezvous == Rendezvous("c10d", None, None, None)


@pytest.mark.parametrize(
    ("line", "expected", "certain"),
    [
        ("torchrun --nproc_per_node 2 x.py a b", "x.py", True),
        ("torchrun $DIST_ARGS x.py", "x.py", False),
        ('torchrun "${DIST_ARGS[@]}" x.py', "x.py", False),
        ('torchrun --nnodes 2 "$@"', None, False),
        ("torchrun --nnodes 2 $SCRIPT --lr 3", "?", True),
        ('torchrun --nnodes 2 "$1" "$@"', "?", True),
        ('torchrun "$X" train.py', "train.py", False),
        ("torchrun --nnodes 2 $X --lr 3", "?", False),
        ("torchrun $X --nnodes 2 x.py", "x.py", False),
        ("torchrun --nnodes 2 -- x.py", "x.py", True),
        ("torchrun -m pkg.train --lr 2", "pkg.train", True),
        ("torchrun -m $MODULE $ARGS", "?", True),
        ("torchrun --nnodes 2", None, True),
        ("torchrun $DIR/train.py", "?/train.py", True),
        ("torchrun --nnodes=$A --nproc_per_node $B x.py", "x.py", True),
        ("torchrun --$X x.py", "x.py", False),
        ("torchrun --max_restarts -1 x.py", "x.py", True),
    ],
)
def test_where_the_program_begins(line: str, expected: str | None, certain: bool) -> None:
    found = launcher(line)
    assert program(line) == expected
    assert found.certain is certain


def test_options_behind_an_unknown_word_count() -> None:
    found = launcher("torchrun $EXTRA_ARGS --nproc_per_node 8 x.py")
    assert found.processes_per_task == 8
    assert not found.certain and launcher("torchrun x.py").certain


def test_kinds_of_program() -> None:
    assert launcher("torchrun -m pkg").program_kind == "module"
    assert launcher("torchrun --no-python ./a").program_kind == "command"
    assert launcher("torchrun x.py").program_kind == "script"
    assert launcher("accelerate launch -m pkg").program_kind == "module"
    assert launcher("mpirun python x.py").program_kind == "command"


def test_the_old_launcher_knows_use_env() -> None:
    assert "use_env" in launcher("python -m torch.distributed.launch --use_env --nproc_per_node 2 x.py").flags


def test_accelerate_counts_over_all_machines() -> None:
    found = launcher(
        "accelerate launch --multi_gpu --num-processes 16 --num_machines 2 --machine_rank $R "
        "--main_process_ip h --main_process_port 1 --fsdp_sharding_strategy FULL_SHARD t.py --num_machines 3"
    )
    assert found.processes_per_task == 8
    assert found.nnodes == 2
    assert found.total_processes is not None and found.total_processes.number == 16
    assert found.machines is not None and found.node_rank is not None and found.config_file is None
    assert found.rendezvous is not None and found.rendezvous.backend == "static"
    assert found.rendezvous.address is not None and found.rendezvous.address.text == "h"
    assert found.program_name == "t.py"


def test_accelerate_with_a_configuration_file() -> None:
    found = launcher("accelerate launch --config_file conf.yaml --num_processes 8 t.py")
    assert found.config_file is not None and found.config_file.text == "conf.yaml"
    # The file may say how many machines there are, and which backend.
    assert found.processes_per_task is None
    assert found.rendezvous is not None and found.rendezvous.backend is None


def test_accelerate_on_processors_starts_one_process() -> None:
    found = launcher("accelerate launch --cpu --num_processes 4 t.py")
    assert found.cpu and not found.spawns and found.processes_per_task == 1


def test_accelerate_takes_no_abbreviations() -> None:
    assert "num_processes" not in launcher("accelerate launch --num_proc 4 t.py").options


def test_accelerate_defaults() -> None:
    assert launcher("accelerate launch t.py").processes_per_task == "auto"
    assert launcher("accelerate launch $ARGS t.py").processes_per_task is None
    assert launcher("accelerate launch --num_processes 8 t.py").processes_per_task == 8
    assert launcher("accelerate launch --num_processes 8 --num_machines 0 t.py").processes_per_task is None


def test_deepspeed() -> None:
    found = launcher("deepspeed --hostfile $H --num_nodes 2 --num_gpus 4 --master_port 1 t.py --deepspeed ds.json")
    assert isinstance(found, DeepSpeed)
    assert found.hostfile is not None and found.nnodes == 2 and found.processes_per_task == 4
    assert not found.no_ssh
    assert found.program_name == "t.py"
    inside = launcher("deepspeed --no_ssh --node_rank=$SLURM_NODEID -H hosts --launcher slurm t.py")
    assert isinstance(inside, DeepSpeed)
    assert inside.no_ssh and inside.hostfile is not None
    assert launcher("deepspeed t.py").processes_per_task == "auto"
    assert launcher("deepspeed --include localhost:0,1 t.py").processes_per_task == 2
    assert launcher("deepspeed --include a:0,1@b:0 t.py").processes_per_task is None


def test_swift_becomes_torchrun_by_its_environment() -> None:
    line = "swift sft --model m --dataset d"
    alone = launcher(line)
    assert not alone.spawns and alone.processes_per_task == 1
    found = launcher(line, NPROC_PER_NODE="8", NNODES="2", NODE_RANK="$SLURM_NODEID", MASTER_ADDR="h")
    assert isinstance(found, Swift)
    assert found.spawns and found.processes_per_task == 8 and found.nnodes == 2
    assert found.node_rank is not None and found.node_rank.from_environment
    assert found.rendezvous is not None and found.rendezvous.address is not None
    assert found.name == "swift sft"
    # NNODES alone means one worker a node.
    assert launcher(line, NNODES="2").processes_per_task == 1


def test_methods_of_swift() -> None:
    assert recognise(argv("swift export --model m"), exported(NPROC_PER_NODE="8")) is None
    assert launcher("megatron export --model m", NPROC_PER_NODE="8").spawns
    assert recognise(argv("swift $METHOD")) is None
    assert recognise(argv("swift")) is None
    assert not launcher("swift sft config.yaml", NPROC_PER_NODE="8").certain


@pytest.mark.parametrize(
    ("line", "total", "per_node", "inside"),
    [
        ("mpirun -np 8 ./a -n 3", 8, None, "./a"),
        ("mpiexec -n 8 -ppn 4 ./a", 8, 4, "./a"),
        ("mpirun --map-by ppr:4:node:pe=2 -x PATH --mca btl self ./a", None, 4, "./a"),
        ("mpirun -genv A 1 -hosts a,b -perhost 2 ./a", None, 2, "./a"),
        ("mpirun --npernode 2 --bind-to none --oversubscribe --allow-run-as-root ./a", None, 2, "./a"),
        ("mpirun -np $N -N 4 ./a", None, 4, "./a"),
        ("mpirun ./a", None, None, "./a"),
        ("mpiexecjl --project=. -n 4 julia x.jl", 4, None, "julia"),
        ("mpiexecjl --project -n 4 julia x.jl", 4, None, "julia"),
        ("jsrun -n 6 -a 1 -g 1 -c 7 ./a", 6, None, "./a"),
        ("aprun -n 32 -N 16 ./a", 32, 16, "./a"),
        ("ibrun -n 4 -o 8 ./a", 4, None, "./a"),
        ("mpirun --hostfile h --tag-output python x.py", None, None, "python"),
    ],
)
def test_mpi(line: str, total: int | None, per_node: int | None, inside: str) -> None:
    found = launcher(line)
    assert isinstance(found, Mpi)
    assert (found.total_processes.number if found.total_processes else None) == total
    assert found.processes_per_node == per_node
    assert program(line) == inside
    assert not found.spawns


def test_other_launchers() -> None:
    assert launcher("composer -n 8 --world_size 16 x.py").processes_per_task == 8
    assert launcher("composer x.py", NODE_RANK="1").node_rank is not None
    found = launcher("colossalai run --nproc_per_node 4 --host a,b --master_addr a x.py")
    assert found.processes_per_task is None and found.hostfile is not None and found.program_name == "x.py"
    assert launcher("colossalai run --nproc_per_node 4 x.py").processes_per_task == 4
    assert launcher("horovodrun -np 4 python x.py").processes_per_task == 4
    horovod = launcher("horovodrun -np 8 -H a:4,b:4 python x.py")
    assert horovod.total_processes is not None and horovod.total_processes.number == 8
    assert horovod.processes_per_task is None
    assert program("horovodrun -np 8 -H a:4,b:4 python x.py") == "python"
    assert program("torchpack dist-run -np 8 python x.py") == "python"
    assert not launcher("tune run lora_finetune_single_device --config c").spawns
    assert launcher("tune run --nnodes 2 --nproc_per_node 8 recipe --config c").nnodes == 2
    assert program("ray start --head --port=6379 --block") is None


def test_a_node_of_ray_runs_no_program() -> None:
    worker = launcher("ray start --address $HEAD:6379 --num-gpus=8")
    assert worker.processes_per_task is None and worker.program is None


def test_ft_launcher_is_a_torchrun_that_meets_by_c10d() -> None:
    found = launcher(
        "ft_launcher --nnodes=4 --nproc-per-node 8 --ft-rank-heartbeat-timeout 600 --ft-ignore-missing-cfg "
        "--master_addr n1 --max-restarts=3 train.py --lr 1"
    )
    assert found.kind == "torchrun" and found.nnodes == 4 and found.processes_per_task == 8
    assert found.program_name == "train.py"
    rendezvous = found.rendezvous
    assert rendezvous is not None and rendezvous.backend == "c10d"
    assert rendezvous.address is not None and rendezvous.address.text == "n1"
    given = launcher("ft_launcher --rdzv_endpoint=n2:29500 --master_addr=n1 train.py").rendezvous
    assert given is not None and given.address is not None and given.address.text == "n2"
    module = launcher("python -m nvidia_resiliency_ext.fault_tolerance.launcher --nproc-per-node=4 -m train")
    assert module.program_kind == "module" and module.processes_per_task == 4


def test_one_start_of_torchpack_counts_the_workers_of_all_hosts() -> None:
    found = launcher("torchpack dist-run -np 16 -H n1:8,n2:8 python x.py")
    assert found.total_processes is not None and found.total_processes.number == 16
    assert found.hostfile is not None


@pytest.mark.parametrize(
    ("line", "kind", "target"),
    [
        ("python x.py -m y", "script", "x.py"),
        ("python -u -W error x.py", "script", "x.py"),
        ("python -m pkg.mod -c", "module", "pkg.mod"),
        ("python -Bm pkg", "module", "pkg"),
        ("python -c pass -m y", "code", "pass"),
        ("python - a", "stdin", None),
        ("python", "stdin", None),
        ("python -X faulthandler", "stdin", None),
        ("python3.12 --check-hash-based-pycs always x.py", "script", "x.py"),
        ("python -- x.py", "script", "x.py"),
        ("pypy3 x.py", "script", "x.py"),
    ],
)
def test_commands_of_python(line: str, kind: str, target: str | None) -> None:
    found = python_command(argv(line))
    assert found is not None
    assert (found.kind, found.text) == (kind, target)


def test_commands_that_are_not_python() -> None:
    for line in (
        "pythonista x.py",
        "python-config --libs",
        "bash x.py",
        "$PYTHON x.py",
        "python $ARGS x.py",
        "python -Z x",
    ):
        assert python_command(argv(line)) is None, line


def test_a_command_is_read_as_a_call_of_python_once_for_its_words() -> None:
    script = "#!/bin/bash\nsrun python a.py : python -m b\necho python\n"
    job = Job.from_source(Source(script, "job.sh"), Site())
    calls = [python_of(each) for each in job.invocations]
    assert [each.text for each in calls if each is not None] == ["a.py", "b"]
    assert [python_of(each) for each in job.invocations] == calls
    command = next(each for each in job.invocations if python_of(each) is not None)
    command.end_at(1)
    again = python_of(command)
    assert again is not None and again.kind == "stdin"
