"""`convert` with containers: docker to pyxis and to Apptainer, and launchers in containers that are there already.

tests/slurm/test_convert_live.py runs those with `processes`, with stand-ins for pyxis and Apptainer.
"""

from __future__ import annotations

import pytest

import in_bash
from conftest import ROOT
from convert_cases import CPUS, MEETING, Case
from in_bash import Converting

command = in_bash.command

HEADER = """\
#!/bin/bash
#SBATCH --gpus-per-node=2 --cpus-per-task=4 --time=5
"""
NODES = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
WORDS = '--nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" --nproc_per_node=2'
ENTERING = (
    "--container-image=/images/train.sqsh --container-mounts=/shared:/shared,/shared/app:/opt/app "
    "--container-workdir=/opt/app --no-container-mount-home"
)
DOCKER = (
    HEADER
    + """\
IMAGE=nvcr.io/nvidia/pytorch:24.05-py3
OPTIONS="--rm --gpus all"
sudo docker run $OPTIONS -it --shm-size=16g --ulimit memlock=-1 -p 8080:80 --name train \\
    -v "$PWD":/workspace -v ~/data:/data:ro,z --mount type=bind,source=/etc,target=/host,readonly \\
    -w /workspace -e HF_HOME=/data/hf -e "TAG=a b" -e WANDB_MODE --user "$(id -u):$(id -g)" \\
    $IMAGE \\
    torchrun --standalone --nproc_per_node=2 train.py --tag 'run 1'
"""
)

CASES = {
    "docker-to-pyxis": Case(
        DOCKER,
        "--nodes 2 --container pyxis",
        f"""\
{HEADER}{NODES}IMAGE=nvcr.io/nvidia/pytorch:24.05-py3
OPTIONS="--rm --gpus all"
export HF_HOME=/data/hf "TAG=a b"
{MEETING}srun {CPUS} --kill-on-bad-exit=1 \\
    --container-image="${{IMAGE/\\//#}}" \\
    --container-mounts="$PWD":/workspace,$HOME/data:/data:ro,/etc:/host:ro \\
    --container-workdir=/workspace \\
    --no-container-mount-home \\
    --container-env=HF_HOME,TAG,WANDB_MODE \\
    bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
        torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "docker-to-apptainer": Case(
        DOCKER,
        "--nodes 2 --container apptainer",
        f"""\
{HEADER}{NODES}IMAGE=nvcr.io/nvidia/pytorch:24.05-py3
OPTIONS="--rm --gpus all"
{MEETING}srun --kill-on-bad-exit=1 {CPUS} apptainer exec --nv \\
    --bind "$PWD":/workspace \\
    --bind $HOME/data:/data:ro \\
    --bind /etc:/host:ro \\
    --pwd /workspace \\
    --env HF_HOME=/data/hf \\
    --env "TAG=a b" \\
    docker://$IMAGE \\
    bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "docker-with-a-shell": Case(
        HEADER
        + """\
docker run --rm --gpus all -v $PWD:/w -w /w nvcr.io/nvidia/pytorch:24.05-py3 bash -c "
    export TAG=1
    torchrun --nnodes=1 --node_rank=0 --nproc_per_node=2 --master_addr=localhost --master_port=6000 train.py --lr 1
"
""",
        "--nodes 2 --container pyxis",
        f"""\
{HEADER}{NODES}{MEETING.splitlines()[0]}
srun {CPUS} --kill-on-bad-exit=1 --container-image=nvcr.io#nvidia/pytorch:24.05-py3 --container-mounts=$PWD:/w \
--container-workdir=/w --no-container-mount-home bash -c "
    export TAG=1
    torchrun --node_rank=\\$SLURM_NODEID --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=2 --master_addr=$MASTER_ADDR \
--master_port=6000 train.py --lr 1
"
""",
        "torch",
    ),
    "node-by-node": Case(
        HEADER
        + """\
# on node 0
docker run --gpus all -v /d:/d -e NODE_RANK=0 -e NNODES=2 -e MASTER_ADDR=10.0.0.1 nvcr.io/nvidia/pytorch:24.05-py3 \\
    bash -c 'torchrun --nnodes $NNODES --node_rank $NODE_RANK --nproc_per_node 2 --master_addr $MASTER_ADDR train.py a'
# on node 1
docker run --gpus all -v /d:/d -e NODE_RANK=1 -e NNODES=2 -e MASTER_ADDR=10.0.0.1 nvcr.io/nvidia/pytorch:24.05-py3 \\
    bash -c 'torchrun --nnodes $NNODES --node_rank $NODE_RANK --nproc_per_node 2 --master_addr $MASTER_ADDR train.py a'
""",
        "--nodes 2 --container pyxis",
        f"""\
{HEADER}{NODES}export NNODES="$SLURM_JOB_NUM_NODES" {MEETING.splitlines()[0].removeprefix("export ")}
{MEETING.splitlines()[1]}
srun {CPUS} --kill-on-bad-exit=1 --container-image=nvcr.io#nvidia/pytorch:24.05-py3 --container-mounts=/d:/d \
--no-container-mount-home --container-env=NNODES,MASTER_ADDR \
\\
    bash -c 'export NODE_RANK=$SLURM_NODEID; torchrun --node_rank=$SLURM_NODEID --master_port=$MASTER_PORT \
--nnodes $NNODES --nproc_per_node 2 \
--master_addr $MASTER_ADDR train.py a'
""",
        "torch",
    ),
    "swift-in-docker": Case(
        HEADER
        + """\
docker run --gpus all -v /d:/d -e NODE_RANK=0 nvcr.io/nvidia/pytorch:24.05-py3 \\
    bash -c "NPROC_PER_NODE=2 swift sft --model base --system 'be brief'"
""",
        "--nodes 2 --container pyxis",
        f"""\
{HEADER}{NODES}export NODE_RANK=0
export NNODES=$SLURM_JOB_NUM_NODES
{MEETING}srun {CPUS} --kill-on-bad-exit=1 --container-image=nvcr.io#nvidia/pytorch:24.05-py3 --container-mounts=/d:/d \
--no-container-mount-home --container-env=NODE_RANK \
\\
    bash -c "NPROC_PER_NODE=2 NODE_RANK=\\$SLURM_NODEID swift sft --model base --system 'be brief'"
""",
        "swift",
    ),
    "docker-entered": Case(
        HEADER
        + """\
docker rm -f train 2>/dev/null || true
docker run -dit --name train --gpus all -v /d:/d -w /w -e TAG=1 nvcr.io/nvidia/pytorch:24.05-py3 sleep infinity
docker exec -w /d -e HF_HOME=/d/hf train \\
    torchrun --standalone --nproc_per_node=2 train.py --tag 'run 1'
docker stop train
""",
        "--nodes 2 --container pyxis",
        f"""\
{HEADER}{NODES}export TAG=1 HF_HOME=/d/hf
{MEETING}srun {CPUS} --kill-on-bad-exit=1 --container-image=nvcr.io#nvidia/pytorch:24.05-py3 --container-mounts=/d:/d \
--container-workdir=/d --no-container-mount-home --container-env=TAG,HF_HOME \\
    bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
        torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "uv-pyxis": Case(
        HEADER + "cd /opt/app\nuv run --extra gpu torchrun --standalone --nproc_per_node=2 train.py --tag 'run 1'\n",
        "--nodes 2 --container pyxis --image /images/train.sqsh --mounts /shared:/shared,/shared/app:/opt/app",
        f"""\
{HEADER}{NODES}srun --nodes=1 --ntasks=1 {ENTERING} uv sync --extra gpu
{MEETING}srun {CPUS} --kill-on-bad-exit=1 {ENTERING} \
bash -c 'exec uv run --no-sync --extra gpu torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "uv-apptainer": Case(
        HEADER + "apptainer exec --nv -B /a:/b a.sif uv run torchrun --standalone --nproc_per_node=2 train.py\n",
        "--nodes 2",
        f"""\
{HEADER}{NODES}apptainer exec --nv -B /a:/b a.sif uv sync
{MEETING}srun --kill-on-bad-exit=1 {CPUS} apptainer exec --nv -B /a:/b a.sif \
bash -c 'exec uv run --no-sync torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py
""",
        "torch",
    ),
    "docker-of-arrays": Case(
        HEADER
        + """\
DOCKER=(
    --rm --gpus all    # all of them
    -v ${PWD}:${PWD}
    -w "$PWD"
)
docker run "${DOCKER[@]}" nvcr.io/a/b torchrun --nproc_per_node=2 train.py
""",
        "--nodes 2 --container apptainer",
        f"""\
{HEADER}{NODES}DOCKER=(
    --rm --gpus all    # all of them
    -v ${{PWD}}:${{PWD}}
    -w "$PWD"
)
{MEETING}srun --kill-on-bad-exit=1 {CPUS} apptainer exec --nv --bind ${{PWD}}:${{PWD}} --pwd "$PWD" \
docker://nvcr.io/a/b bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py
""",
        "torch",
    ),
    "pyxis": Case(
        HEADER
        + """\
srun -N1 -n1 --container-image=/images/train.sqsh --container-mounts=/data:/data \\
    torchrun --standalone --nproc_per_node=2 train.py --tag 'run 1'
""",
        "--nodes 2",
        f"""\
{HEADER}{NODES}{MEETING}srun {CPUS} --container-image=/images/train.sqsh --container-mounts=/data:/data \\
    bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
        torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "apptainer": Case(
        HEADER
        + """\
IMAGE=/images/train.sif
singularity exec --nv -B "$PWD:/work" "$IMAGE" torchrun --standalone --nproc_per_node=2 train.py --tag 'run 1'
""",
        "--nodes 2",
        f"""\
{HEADER}{NODES}IMAGE=/images/train.sif
{MEETING}srun --kill-on-bad-exit=1 {CPUS} singularity exec --nv -B "$PWD:/work" "$IMAGE" \
bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py --tag 'run 1'
""",
        "torch",
    ),
    "apptainer-clean": Case(
        HEADER + "singularity exec --cleanenv --nv a.sif torchrun --standalone --nproc_per_node=2 train.py\n",
        "--nodes 2",
        f"""\
{HEADER}{NODES}{MEETING}srun --kill-on-bad-exit=1 {CPUS} \
bash -c 'exec singularity exec --cleanenv --nv a.sif torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun {WORDS} train.py
""",
        "torch",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conversion(command: Converting, name: str) -> None:
    case = CASES[name]
    command.write("job.sh", case.before)
    result = command("convert", *case.options.split(), "job.sh")
    assert (result.out, result.code) == (case.after, 0), result.err
    command.write("done.sh", result.out)
    again = command("convert", *case.options.split(), "done.sh")
    assert (again.out, again.code) == (case.after, 0), again.err


def converted(command: Converting, options: str, to: str = "pyxis", image: str = "nvcr.io/a/b:1") -> str:
    """What becomes of options of docker: the words of the container, or the reason against it, and what is told."""
    command.write("job.sh", f"{HEADER}docker run {options} {image} torchrun --nproc_per_node=2 train.py\n")
    result = command("convert", "--nodes", "2", "--container", to, "job.sh")
    return result.out + result.err


@pytest.mark.parametrize(
    ("options", "to", "expected"),
    [
        ("--tmpfs /scratch", "pyxis", "--container-mounts=tmpfs:/scratch"),
        ("-v /cache --entrypoint=", "apptainer", "--scratch /cache"),
        ("--mount type=tmpfs,target=/x", "pyxis", "--container-mounts=tmpfs:/x"),
        ("-v /a:/b:ro,rslave", "pyxis", "--container-mounts=/a:/b:ro+rslave"),
        ("-v /a:/b:rslave", "apptainer", "rslave of a mount: Apptainer has one propagation"),
        ("-v ${A:-/x}:/b", "pyxis", "--container-mounts=${A:-/x}:/b"),
        ("-v ~/c:/root/.cache", "pyxis", "--container-remap-root"),
        ("-v ~/c:/root/.cache -w /w", "apptainer", "to do: bind to $HOME instead of /root"),
        ("-u root", "apptainer", "--fakeroot"),
        ("-e PATH=/opt/bin:$PATH", "pyxis", "env PATH=/opt/bin:$PATH bash -c 'exec torchrun"),
        ("-e LIST=a,b", "apptainer", "export APPTAINERENV_LIST=a,b"),
        ("--env-file a.env", "pyxis", "set -a; source ./a.env; set +a"),
        ("--env-file a.env", "apptainer", "--env-file ./a.env"),
        ("--device /dev/kfd --device /dev/dri -w /w", "apptainer", "apptainer exec --rocm"),
        ("--entrypoint /usr/bin/nice", "pyxis", "bash -c 'exec /usr/bin/nice torchrun"),
        ("--network=host --privileged --cap-add=SYS_PTRACE", "pyxis", "--privileged --cap-add=SYS_PTRACE of docker"),
        ("-p 80:80", "pyxis", "-p 80:80 of docker: there are no ports of its own"),
        ("--add-host a:1.2.3.4", "pyxis", "to do: --add-host a:1.2.3.4 of docker has no counterpart"),
        ("--rm", "apptainer", "to do: add --pwd"),
        ("-d", "pyxis", "not convertible: line 3: a container in the background (-d)"),
        ("-v data:/data", "pyxis", "not convertible: line 3: data is a volume of docker"),
        ("-v /var/run/docker.sock:/s", "pyxis", "talks to docker's daemon"),
        ("--volumes-from x", "pyxis", "not convertible"),
        ("--network=mine", "pyxis", "--network=mine is a network of docker"),
        ("--ipc=container:x", "pyxis", "--ipc=container:x is shared with another container"),
        ("-v /a:/b:copy-up", "pyxis", "the flag copy-up of a mount has no counterpart"),
        ("-e HOME=/w", "apptainer", "HOME cannot be set for Apptainer"),
        ("$OPTS", "pyxis", "not all words of docker on line 3 are known"),
    ],
)  # fmt: skip
def test_options_of_docker(command: Converting, options: str, to: str, expected: str) -> None:
    found = converted(command, options, to)
    assert expected in found, found


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("ubuntu:22.04", "--container-image=ubuntu:22.04"),
        ("ubuntu:22.04", "to do: see that ubuntu:22.04 is on Docker Hub"),
        ("pytorch/pytorch:2.3", "--container-image=pytorch/pytorch:2.3"),
        ("docker.io/library/python:3.12", "--container-image=library/python:3.12"),
        ('"nvcr.io/nvidia/pytorch:$TAG"', '--container-image="nvcr.io#nvidia/pytorch:$TAG"'),
        ("registry:5000/a", "--container-image=registry:5000#a"),
        ('"${IMAGE}"', '--container-image="${IMAGE}"'),
        ('"${IMAGE}"', "to do: see that \"${IMAGE}\" is an image as pyxis reads it"),
        ("localhost/mine", "to do: localhost/mine is on one machine only"),
    ],
)  # fmt: skip
def test_images(command: Converting, image: str, expected: str) -> None:
    found = converted(command, "--gpus all", image=image)
    assert expected in found, found


def test_another_image_is_taken(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}docker run mine torchrun --nproc_per_node=2 train.py\n")
    result = command("convert", "--nodes", "2", "--container", "pyxis", "--image", "/images/mine.sqsh", "job.sh")
    assert result.code == 0 and "--container-image=/images/mine.sqsh" in result.out, result.err


def test_docker_under_srun_and_beside_the_launcher(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}docker pull nvcr.io/a/b\ndocker run nvcr.io/a/b python prepare.py\n"
                  "srun -N1 docker run nvcr.io/a/b torchrun --nproc_per_node=2 train.py\n")  # fmt: skip
    result = command("convert", "--nodes", "2", "--container", "pyxis", "job.sh")
    assert result.code == 1 and "to do: see whether docker pull on line 3 is needed still" in result.err
    once = "srun --nodes=1 --ntasks=1 --container-image=nvcr.io#a/b --no-container-mount-home python prepare.py\n"
    assert once in result.out
    assert f"srun {CPUS} --container-image=nvcr.io#a/b --no-container-mount-home bash -c" in result.out


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("docker exec x torchrun --nproc-per-node=2 a.py\n", "enters x, a container that the script does not start"),
        ("docker exec x$1 torchrun --nproc-per-node=2 a.py\n", "enters x…, a container that the script does not start"),
        (('if [ $K = h ]; then M="mpirun ./r.sh"; else M=./r.sh; fi\nRUN="docker run nvcr.io/a/b"\n'
          "$RUN torchrun --nproc-per-node=2 a.py $M\n"), ""),
        ("srun $OPTIONS docker run nvcr.io/a/b torchrun --nproc-per-node=2 a.py\n", "options of the srun on line 3"),
        ("docker run nvcr.io/a/b\ntorchrun --nproc-per-node=2 a.py\n", "it runs the image's own program"),
        ("bash -c 'docker run nvcr.io/a/b torchrun --nproc-per-node=2 a.py'\n", "is inside a string"),
        (("docker run -d --name x nvcr.io/a/b sleep 9\ndocker exec x pip install y\n"
          "docker exec x torchrun --nproc-per-node=2 a.py\n"), "lines 4, 5 run commands in the container x: write one"),
        ("docker run -d --name x nvcr.io/a/b ./s\ndocker exec x torchrun --nproc-per-node=2 a.py\n", "runs ./s in"),
        ("time -p docker run nvcr.io/a/b torchrun --nproc-per-node=2 a.py\n", ""),
    ],
)  # fmt: skip
def test_docker_that_is_not_converted(command: Converting, script: str, reason: str) -> None:
    command.write("job.sh", f"{HEADER}{script}")
    result = command("convert", "--nodes", "2", "--container", "pyxis", "job.sh")
    assert reason in result.err and (result.code == 4) is bool(reason), result.out + result.err


def test_a_clean_environment_does_not_know_the_node(command: Converting) -> None:
    words = 'singularity exec --cleanenv a.sif bash -c "cd /w; torchrun --nproc_per_node=2 train.py"'
    command.write("job.sh", f"{HEADER}{words}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 4 and "its container does not get the environment of the job" in result.err


def test_the_example_of_the_documentation(command: Converting) -> None:
    text = (ROOT / "docs" / "convert.md").read_text()
    before, after = text[text.index("## Containers") :].split("```bash\n")[1:3]
    command.write("job.sh", before.partition("```")[0])
    result = command("convert", "--nodes", "2", "--container", "pyxis", "job.sh")
    assert (result.out, result.code) == (after.partition("```")[0], 0), result.err


def test_lines_that_differ_in_more_than_the_node_stay_several(command: Converting) -> None:
    lines = [f"torchrun --nnodes 2 --node_rank {n} --nproc_per_node 2 train.py --seed {s}" for n, s in ((0, 7), (1, 9))]
    command.write("job.sh", HEADER + "\n".join(lines) + "\n")
    assert "line 4 starts one node of several" in command("convert", "--nodes", "2", "job.sh").err


def test_lines_for_one_node_each_without_a_container(command: Converting) -> None:
    words = "torchrun --nnodes 3 --node_rank {} --nproc_per_node 2 --master_addr node7 --master_port 6000 train.py"
    command.write("job.sh", HEADER + "".join(f"# Machine {n}:\n{words.format(n)} &\n" for n in range(3)))
    result = command("convert", "--nodes", "3", "job.sh")
    assert result.code == 0 and "6 processes become 6" in result.err and "Machine" not in result.out, result.err
    assert (
        result.out.count("torchrun --nnodes") == 1 and '--master_addr "$MASTER_ADDR" --master_port 6000' in result.out
    )


@pytest.mark.parametrize(
    ("script", "options", "expected"),
    [
        ("module load x\ntorchrun --nproc_per_node=2 a.py\n", "--mounts /a", "has what module on line 3 sets up"),
        ("torchrun --nproc_per_node=2 a.py\n", "", "say --mounts: the container has to see the working directory"),
        ("srun torchrun --nproc_per_node=2 a.py\n", "--mounts /a", "srun --container-image=b.sif"),
        ("uv run --with x torchrun --nproc_per_node=2 a.py\n", "--mounts /a", "exec uv run --with x torchrun"),
    ],
)  # fmt: skip
def test_into_a_container(command: Converting, script: str, options: str, expected: str) -> None:
    command.write("job.sh", f"{HEADER}{script}")
    result = command("convert", "--nodes", "2", "--container", "pyxis", "--image", "b.sif", *options.split(), "job.sh")
    found = result.out.replace(f" {CPUS}", "") + result.err
    assert expected in found, found


def test_a_container_needs_an_image(command: Converting) -> None:
    command.write("job.sh", f"{HEADER}torchrun --nproc_per_node=2 a.py\n")
    assert "say --image" in command("convert", "--nodes", "2", "--container", "pyxis", "job.sh").err


def test_the_address_of_a_machine_is_replaced_wherever_it_stands(command: Converting) -> None:
    command.write("job.sh", HEADER + "docker run -it nvcr.io/a/b /bin/bash \\\n-c 'cd /a; torchrun --nproc_per_node=2 "
                  "--nnodes=2 --node_rank=1 --master_addr=172.25.0.81 --master_port=12355 train.py'\n")  # fmt: skip
    result = command("convert", "--nodes", "2", "--container", "pyxis", "job.sh")
    assert result.code == 0 and "172.25" not in result.out and "--master_addr=$MASTER_ADDR" in result.out, result.err


def test_cpus_are_not_asked_for_where_nothing_changes(command: Converting) -> None:
    words = "srun --container-image=/a.sqsh python train.py\n"
    for line in ("", "#SBATCH --exclusive\n"):
        header = f"#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8 --time=5\n{line}"
        command.write("job.sh", header + words)
        result = command("convert", "--nodes", "2", "job.sh")
        assert result.code == 0 and "cpus" not in result.out, result.err


@pytest.mark.parametrize("program", ["srun -n2 python a.py", "python a.py trainer.devices=2", "srun -n2 ./a"])
def test_a_container_that_is_asked_for_is_not_left_out(command: Converting, program: str) -> None:
    command.write("job.sh", f"{HEADER}{program}\n")
    result = command("convert", "--nodes", "2", "--container", "pyxis", "--image", "/a.sqsh", "job.sh")
    assert result.code == 4 and "one launcher alone is put into one" in result.err


def test_a_launcher_in_a_loop_goes_into_the_container(command: Converting) -> None:
    loop = "for c in 2,1; do\n    IFS=, read -r A B <<< $c\n    torchrun --nproc_per_node=2 a.py --a $A\ndone\n"
    command.write("job.sh", f"{HEADER}{loop}")
    options = ["--container", "pyxis", "--image", "/a.sqsh", "--mounts", "/a:/a"]
    result = command("convert", "--nodes", "2", *options, "job.sh")
    assert result.code == 0 and f"    srun {CPUS} --kill-on-bad-exit=1 --container-image=/a.sqsh" in result.out
