"""What wrappers run, by the word of argv at which the command inside begins."""

from __future__ import annotations

import pytest

from argv_helper import argv, exported, started, unwrapped
from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job.commands.wrappers import WRAPPERS, unwrap
from sbatchlint.job.containers import Container


def inside(line: str) -> str | None:
    """The command inside the outermost wrapper; None where there is none, '?' for each unknown piece."""
    fields = argv(line)
    spawn = unwrap(fields, exported())
    if spawn is None:
        return None
    return " ".join(shown_text(each).replace("\ue000", "?") for each in started(fields, spawn))


def wrapped(line: str) -> Spawn:
    found = unwrap(argv(line), exported())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("env A=b python x.py", "python x.py"),
        ("env -i -u HOME -C /tmp A=b C=$D python x.py", "python x.py"),
        ("env - A=b python", "python"),
        ("env", ""),
        ("env A=b", ""),
        ("env -u HOME -- python x.py", "python x.py"),
        ("nohup ./a.out -n 4", "./a.out -n 4"),
        ("/usr/bin/time -v -o log python -u x.py", "python -u x.py"),
        ("time -f %e ./a", "./a"),
        ("timeout 10m python x.py", "python x.py"),
        ("timeout -s KILL -k 5 --preserve-status $LIMIT torchrun x.py", "torchrun x.py"),
        ("timeout --signal=TERM 4h srun hostname", "srun hostname"),
        ("nice -n 10 ./a", "./a"),
        ("nice -19 ./a", "./a"),
        ("ionice -c 2 -n7 ./a", "./a"),
        ("stdbuf -oL -eL python x.py", "python x.py"),
        ("stdbuf -o 0 --error=L python x.py", "python x.py"),
        ("setsid -w ./a", "./a"),
        ("taskset -c 0-7 ./a -c 3", "./a -c 3"),
        ("taskset 0xff ./a", "./a"),
        ("taskset -c $CPUS python x.py", "python x.py"),
        ("taskset -p 123", None),
        ("numactl --cpunodebind=0 --membind 0 ./a", "./a"),
        ("numactl -N 0 -m 0 -l ./a", "./a"),
        ("numactl -C $CORES -i all ./a", "./a"),
        ("chrt -f 99 ./a", "./a"),
        ("chrt -p 1 22", None),
        ("catchsegv ./a", "./a"),
        ("strace -f -e trace=open -o out ./a -o 3", "./a -o 3"),
        ("gdb -batch -ex run -ex bt --args ./a -x 1", "./a -x 1"),
        ("gdb ./a core", ""),
        ("valgrind --tool=massif --leak-check=full ./a", "./a"),
        ("sudo -E -u me A=b ./a", "./a"),
        ("unshare -rm --map-user 3 ./a", "./a"),
        ("dumb-init -- python x.py", "python x.py"),
        ("xvfb-run -a -s -screen python x.py", "python x.py"),
        ("direnv exec . python x.py", "python x.py"),
        ("dotenv -f .env run -- python x.py", "python x.py"),
        # Environments of Python.
        ("uv run train.py --lr 3", "python train.py --lr 3"),
        ("uv run python train.py", "python train.py"),
        ("uv run --no-sync --with torch --extra cu12 -p 3.11 --active torchrun x.py", "torchrun x.py"),
        (
            "uv run --isolated --frozen --directory=$DIR -m torch.distributed.run x.py",
            "python -m torch.distributed.run x.py",
        ),
        ("uv --project p run --script tool args", "python tool args"),
        ("uv run -- python x.py", "python x.py"),
        ("uv sync --frozen", None),
        ("uv pip install x", None),
        ("uv run", ""),
        ("uvx ruff check", "ruff check"),
        ("poetry run python x.py", "python x.py"),
        ("poetry install", None),
        ("pipenv run python x.py", "python x.py"),
        ("pixi run -e gpu python x.py", "python x.py"),
        ("conda run -n env --no-capture-output python x.py", "python x.py"),
        ("micromamba run -p /opt/env python x.py", "python x.py"),
        ("conda activate x", None),
        ("coverage run --source pkg -p x.py 1", "python x.py 1"),
        (
            "python -u -m coverage run -m torch.distributed.run x.py",
            "python -m torch.distributed.run x.py",
        ),
        ("coverage report", None),
        ("kernprof -l -v x.py", "python x.py"),
        ("python -m cProfile -o out.prof x.py --lr 1", "python x.py --lr 1"),
        ("viztracer --log_async -o r.json -- x.py 1", "python x.py 1"),
        ("py-spy record -o p.svg --rate 100 -- python x.py", "python x.py"),
        ("py-spy top --pid 3", None),
        # Profilers.
        ("nsys profile -t cuda,nvtx -o out --force-overwrite true -w true python x.py", "python x.py"),
        ("nsys profile --trace=cuda --stats=true -e A=b torchrun x.py", "torchrun x.py"),
        ("nsys stats report.nsys-rep", None),
        ("ncu --set full -f -o out --target-processes all python x.py", "python x.py"),
        ("nvprof -f --profile-from-start off -o out ./a", "./a"),
        ("rocprof --hip-trace -d out ./a", "./a"),
        ("rocprofv3 --hip-trace --output-directory d -- ./a -x", "./a -x"),
        ("omniperf profile -n run -- ./a", "./a"),
        ("vtune -collect hotspots -r dir -- ./a", "./a"),
        ("perf stat -e cycles -r 3 ./a", "./a"),
        ("perf record -g -F 99 -- ./a -g", "./a -g"),
        ("perf report", None),
        # Not wrappers: what an unknown program does with its arguments is unknown.
        ("./set_affinity.sh python x.py", None),
        ("python x.py", None),
        ("echo env A=b python", None),
        ("srun python x.py", None),
        ("$WRAPPER python x.py", None),
    ],
)
def test_the_command_inside(line: str, command: str | None) -> None:
    assert inside(line) == command


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("singularity exec --nv img.sif python x.py", "python x.py"),
        ("apptainer --quiet exec -B /a:/b,/c --env A=b --pwd /w $SIF python x.py", "python x.py"),
        ("singularity exec $OPTS $IMG bash -c x", "bash -c x"),
        ("singularity exec $BIND_ARGS --nv $CONTAINER python x.py", "python x.py"),
        ('singularity exec --nv "$IMG" python x.py', "python x.py"),
        ("singularity exec -B $A:$B,$C --nv x.sif ./a", "./a"),
        ("apptainer run --rocm img.sif", ""),
        ("apptainer build x.sif x.def", None),
        ("singularity shell x.sif", ""),
        ("docker run --rm -it --gpus all -v $PWD:/w -w /w -e A -eB=c img:tag python x.py -v", "python x.py -v"),
        ("docker run -d --name=n img", ""),
        ("docker run --entrypoint python img x.py", "python x.py"),
        ("docker run --entrypoint bash img", "bash"),
        ("docker exec -i -e A=b name python x.py", "python x.py"),
        ("docker pull img", None),
        ("podman-hpc run --gpu --mpi --rm img ./a", "./a"),
        ("podman run --userns keep-id --env-host img ./a", "./a"),
        ("shifter --image=docker:x/y:1 -V /a:/b --module=gpu,mpich ./a", "./a"),
        ("shifter ./a", "./a"),
        ("enroot start --rw -m /a:/b -e A=b name ./a", "./a"),
        ("ch-run -b /a:/b -w /img -- ./a -w", "./a -w"),
    ],
)
def test_the_command_inside_a_container(line: str, command: str | None) -> None:
    assert inside(line) == command


def test_what_env_changes() -> None:
    found = wrapped("env -i -u OLD -C /work A=b C=$D torchrun x.py")
    assert [(name, shown_text(value)) for name, value in found.variables] == [("A", "b"), ("C", "\ue000")]
    assert found.dropped == {"OLD"}
    assert found.cleared
    assert not wrapped("env A=b x").cleared


def test_env_splits_a_string() -> None:
    fields = argv('env -S "A=1 python -u x.py" more')
    found = unwrap(fields, exported())
    assert found is not None
    assert [text_of(each) for each in started(fields, found)] == ["python", "-u", "x.py", "more"]
    assert [name for name, _ in found.variables] == ["A"]
    # Words cut from the string stand where their characters stand.
    assert started(fields, found)[0][0].span == (12, 18)


def test_words_put_in_front_stand_at_the_wrapper() -> None:
    fields = argv("uv run train.py")
    found = unwrap(fields, exported())
    assert found is not None
    assert started(fields, found)[0][0].span == (0, 0)
    assert started(fields, found)[1] is fields[2]


def test_wrappers_in_wrappers() -> None:
    words, wrappers, container = unwrapped(
        "timeout 1h env A=1 numactl -l apptainer exec --nv i.sif nsys profile uv run python -m cProfile t.py 1"
    )
    assert [text_of(each) for each in words] == ["python", "t.py", "1"]
    kinds = [each.kind for each in wrappers]
    assert kinds == ["timeout", "env", "numactl", "apptainer", "nsys profile", "uv run", "cProfile"]
    assert container is not None and container.kind == "apptainer"


def test_the_environment_of_docker_is_what_is_named() -> None:
    found = wrapped("docker run -e SLURM_PROCID -e A=1 img python")
    assert found.cleared
    assert found.kept == ("SLURM_PROCID",)
    assert [name for name, _ in found.variables] == ["A"]
    assert not wrapped("podman run --env-host img python").cleared


def test_lookup_gives_bind_variables() -> None:
    found = unwrap(argv("singularity exec i.sif ./a"), exported(SINGULARITY_BIND="/scratch:/data,/work"))
    assert found is not None and isinstance(found.info, Container)
    assert [(m.source_text, m.target_text) for m in found.info.mounts] == [
        ("/scratch", "/data"),
        ("/work", "/work"),
    ]


def test_the_names_of_wrappers() -> None:
    assert {"env", "uv", "python3.11", "nsys", "docker", "apptainer", "timeout"} <= WRAPPERS
    assert not {"torchrun", "srun", "bash", "echo", "mpirun", "exec"} & WRAPPERS
