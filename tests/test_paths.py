"""Where paths lead, on the host and inside containers."""

from __future__ import annotations

import pytest

from argv_helper import argv, exported, field
from sbatchlint.job import Job
from sbatchlint.job.commands.wrappers import unwrap
from sbatchlint.job.containers import Container, pyxis_container
from sbatchlint.job.paths import classify, host_paths, key, mount_of, under
from sbatchlint.site import Site
from sbatchlint.source.text import Source, Span


def on_host(path: str, **site: object) -> str:
    return classify(field(path), Site(**site)).kind  # type: ignore[arg-type]


def pyxis(mounts: str = "", *flags: str) -> Container:
    options = [("container-image", field("x.sqsh"), Span(0, 1))]
    if mounts:
        options.append(("container-mounts", field(mounts), Span(0, 1)))
    found = pyxis_container([*options, *((flag, None, Span(0, 1)) for flag in flags)])
    assert found is not None
    return found


def command(line: str) -> Container:
    found = unwrap(argv(line), exported())
    assert found is not None and isinstance(found.info, Container)
    return found.info


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/x", "shared"),
        ("/lustre/fs1/x", "shared"),
        ("/lustre", "shared"),
        ("/gpfs/x", "shared"),
        ("/gpfswork/rech/x", "shared"),
        ("/fsx/x", "shared"),
        ("/mnt/beegfs/x", "shared"),
        ("/projects/p", "shared"),
        ("/tmp/x", "node-local"),
        ("/tmp", "node-local"),
        ("//tmp//x", "node-local"),
        ("/var/tmp/x", "node-local"),
        ("/dev/shm/x", "node-local"),
        ("/local/x", "node-local"),
        ("/local_scratch/x", "node-local"),
        ("/raid/x", "node-local"),
        ("/mnt/nvme0/x", "node-local"),
        ("/mnt/localdisk/x", "node-local"),
        ("/root/.cache", "node-local"),
        ("/lustre/../tmp/x", "node-local"),
        # These differ from cluster to cluster.
        ("/scratch/x", "unknown"),
        ("/data/x", "unknown"),
        ("/mnt/x", "unknown"),
        ("/tmpfoo/x", "unknown"),
        ("/homeless", "unknown"),
        ("relative/x", "unknown"),
        ("", "unknown"),
        # Symbolic roots.
        ("~/x", "shared"),
        ("~", "shared"),
        ("$HOME/x", "shared"),
        ("$SCRATCH/x", "shared"),
        ("$TMPDIR/x", "node-local"),
        ("$SLURM_TMPDIR", "node-local"),
        ("$LOCAL_SCRATCH/x", "node-local"),
        ("$(mktemp -d)/x", "node-local"),
        ("$(mktemp -d -p $SCRATCH)/x", "shared"),
        ("$(mktemp -d /lustre/x.XXXX)", "shared"),
        ('$(mktemp -d "$PWD/x.XXXX")', "unknown"),
        ("$(mktemp -d /tmp/x.XXXX)/y", "node-local"),
        ("$(mktemp --tmpdir=/local x.XXXX)", "node-local"),
        ("$(mktemp -t x.XXXX)", "node-local"),
        ("$(mktemp x.XXXX)", "unknown"),
        ('$(mktemp -d "${SCRATCH:-/tmp}/x.XXXX")', "unknown"),
        ("$MYDIR/x", "unknown"),
        ("$PWD/x", "unknown"),
        ("$HOMEDIR/x", "unknown"),
        ("x$HOME", "unknown"),
        ("$@", "unknown"),
    ],
)
def test_paths_of_the_host(path: str, kind: str) -> None:
    assert on_host(path) == kind


def test_settings_come_first() -> None:
    assert on_host("/scratch/x", shared_paths=("/scratch",)) == "shared"
    assert on_host("/scratch/x", local_paths=("/scratch/",)) == "node-local"
    assert on_host("/tmp/x", shared_paths=("/tmp",)) == "shared"
    assert on_host("/data/fast/x", shared_paths=("/data",), local_paths=("/data/fast",)) == "node-local"
    assert on_host("/data/fast2/x", shared_paths=("/data",), local_paths=("/data/fast",)) == "shared"
    assert on_host("$TMPDIR/x", shared_paths=("$TMPDIR",)) == "shared"
    assert on_host("$FAST/x", local_paths=("${FAST}",)) == "node-local"


def test_homes_that_are_not_shared() -> None:
    for path in ("/home/me", "$HOME/x", "~/x"):
        assert on_host(path, home_is_shared=False) == "node-local"
        assert on_host(path, home_is_shared=True) == "shared"


def test_relative_paths_need_a_working_directory() -> None:
    assert classify(field("logs/x"), workdir=field("/tmp/run")).kind == "node-local"
    assert classify(field("./x"), workdir=field("$HOME")).kind == "shared"
    assert classify(field("../x"), workdir=field("/lustre/a")).kind == "shared"
    assert classify(field("x"), workdir=field("also/relative")).kind == "unknown"


def test_intent_per_node_and_per_task() -> None:
    found = classify(field("/lustre/cache/$SLURM_NODEID/r$SLURM_PROCID"))
    assert found.kind == "shared"
    assert [each.name for each in found.per_node] == ["SLURM_NODEID"]
    assert [each.name for each in found.per_task] == ["SLURM_PROCID"]
    assert classify(field("/lustre/$(hostname -s)")).per_node
    # HOSTNAME is the first node's name in every task, and a job's number is the same everywhere.
    assert not classify(field("/lustre/$HOSTNAME/$SLURM_JOB_ID")).per_node


def test_a_mount_decides() -> None:
    box = pyxis("/lustre/me:/workspace,/tmp/x:/fast,/scratch/y:/y,$HOME/.cache:/root/.cache,$DATA:/data")
    assert classify(field("/workspace/c"), container=box).kind == "shared"
    assert classify(field("/workspace"), container=box).kind == "shared"
    assert classify(field("/fast/c"), container=box).kind == "node-local"
    assert classify(field("/y/c"), container=box).kind == "unknown"
    assert classify(field("/root/.cache/uv"), container=box).kind == "shared"
    assert classify(field("/data/x"), container=box).kind == "unknown"
    assert classify(field("/workspace2/c"), container=box).kind == "container-local"
    assert "mounted from /lustre/me" in classify(field("/workspace/c"), container=box).reason


def test_the_longest_target_decides() -> None:
    box = pyxis("/lustre:/data,/tmp:/data/fast")
    assert classify(field("/data/fast/x"), container=box).kind == "node-local"
    assert classify(field("/data/x"), container=box).kind == "shared"
    found = mount_of(field("/data/fast/x"), box)
    assert found is not None and found[1] == "/x" and found[0].target_text == "/data/fast"
    assert mount_of(field("/other"), box) is None


def test_a_mount_of_a_variable() -> None:
    box = pyxis("$SCRATCH/run:$SCRATCH/run")
    assert classify(field("$SCRATCH/run/x"), container=box).kind == "shared"
    assert classify(field("$SCRATCH/other"), container=box).kind == "unknown"


def test_home_in_a_container() -> None:
    without = pyxis("", "no-container-mount-home")
    for path in ("$HOME/.cache", "~/.cache", "/home/me/x", "/root/.cache"):
        assert classify(field(path), container=without).kind == "container-local", path
    with_home = pyxis("", "container-mount-home")
    assert classify(field("$HOME/.cache"), container=with_home).kind == "shared"
    assert classify(field("$HOME/x"), Site(home_is_shared=False), with_home).kind == "node-local"
    unknown = pyxis()
    assert classify(field("$HOME/.cache"), container=unknown).kind == "unknown"
    assert classify(field("$HOME/x"), Site(container_home_mounted=False), unknown).kind == "container-local"


def test_folders_of_the_image() -> None:
    for path in ("/opt/x", "/workspace/x", "/usr/share", "/app", "/var/cache"):
        assert classify(field(path), container=pyxis()).kind == "image", path
    assert classify(field("/opt/x"), container=pyxis("/lustre:/opt")).kind == "shared"


def test_temporary_folders_in_containers() -> None:
    # enroot puts a tmpfs on /tmp, docker keeps the image's, apptainer brings in the node's.
    assert classify(field("/tmp/x"), container=pyxis()).kind == "container-local"
    assert classify(field("/tmp/x"), container=command("docker run i ./a")).kind == "container-local"
    assert classify(field("/tmp/x"), container=command("apptainer exec i.sif ./a")).kind == "node-local"
    assert classify(field("/tmp/x"), container=command("apptainer exec -C i.sif ./a")).kind == "container-local"
    assert classify(field("/dev/shm/x"), container=pyxis()).kind == "node-local"


def test_what_the_site_may_mount() -> None:
    assert classify(field("/lustre/x"), container=pyxis()).kind == "unknown"
    assert classify(field("/lustre/x"), container=command("apptainer exec i.sif ./a")).kind == "unknown"
    assert classify(field("/lustre/x"), container=command("docker run i ./a")).kind == "container-local"
    assert classify(field("/anything/x"), container=command("apptainer exec i.sif ./a")).kind == "unknown"


def test_mounts_that_may_hide_leave_it_unknown() -> None:
    box = command("docker run $DOCKER_ARGS $IMAGE ./a")
    for path in ("/root/.cache", "/workspace", "/lustre/x", "/tmp/x"):
        assert classify(field(path), container=box).kind == "unknown"
    known = command("docker run $DOCKER_ARGS -v /lustre/x:/w $IMAGE ./a")
    assert classify(field("/w/x"), container=known).kind == "shared"


def test_volumes_of_docker_are_private() -> None:
    box = command("docker run -v cache:/cache -v $PWD:/w i ./a")
    found = classify(field("/cache/x"), container=box)
    assert found.kind == "container-local" and found.private
    assert classify(field("/w/x"), container=box).kind == "unknown"


def test_keys() -> None:
    assert key(field("/a//b/./c/")) == "/a/b/c"
    assert key(field("$A/b$C")) == "${A}/b${C}"
    assert key(field("~/x")) == "${HOME}/x"
    assert key(field("/")) == "/"
    assert under("/a/b", "/a") and under("/a", "/a/") and under("/a", "/") and not under("/ab", "/a")


@pytest.mark.parametrize(
    "step",
    [
        "srun docker run -v /shared/team:/w trainer bash /w/run.sh",
        "srun --container-image=/x.sqsh --container-mounts=$(pwd):/w bash /w/near.sh",
        "srun --container-image=/x.sqsh --container-mounts=/data:/data,$PWD:/w /w/near.sh",
        "srun apptainer exec -B $SLURM_SUBMIT_DIR:/w x.sif bash -c 'source /w/near.sh'",
    ],
)
def test_a_script_is_found_through_the_mount_of_its_container(step: str) -> None:
    files = "cat > {} <<'EOF'\ntorchrun train.py\nEOF\n"
    script = "#!/bin/bash\n" + files.format("/shared/team/run.sh") + files.format("near.sh") + step + "\n"
    job = Job.from_source(Source(script, "job.sbatch"), Site())
    assert [launch.launcher.kind for launch in job.launches] == ["torchrun"]


def test_names_of_a_mounted_file_outside() -> None:
    container = pyxis("/lustre/team:/w,tmpfs:/w/tmp")
    assert [key(each) for each in host_paths(field("/w/a/run.sh"), container)] == ["/lustre/team/a/run.sh"]
    assert host_paths(field("/w/tmp/run.sh"), container) == host_paths(field("/x/run.sh"), container) == []
