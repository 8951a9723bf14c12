"""The containers that srun options and commands describe."""

from __future__ import annotations

from argv_helper import argv, exported, field
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job.commands.wrappers import unwrap
from sbatchlint.job.containers import Container, Triple, is_pyxis_option, pyxis_container
from sbatchlint.site import Site
from sbatchlint.source.text import Span


def options(*words: str) -> list[Triple]:
    """srun options as triples, each at a place of its own."""
    found: list[Triple] = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        found.append((name, field(value, at * 100) if equals else None, Span(at * 100, at * 100 + len(word))))
    return found


def pyxis(*words: str, site: Site | None = None, **environment: str) -> Container:
    found = pyxis_container(options(*words), site, exported(**environment))
    assert found is not None
    return found


def entered(line: str, **environment: str) -> Container:
    found = unwrap(argv(line), exported(**environment))
    assert found is not None and isinstance(found.info, Container)
    return found.info


def mounts(container: Container) -> list[tuple[str, str]]:
    return [(shown_text(m.source).replace("\ue000", "?"), shown_text(m.target)) for m in container.mounts]


def test_pyxis_needs_an_image_or_a_name() -> None:
    assert pyxis_container(options("container-mounts=/a:/b", "no-container-mount-home")) is None
    assert pyxis_container(options("container=/bundle", "container-id=3")) is None
    assert pyxis_container([]) is None
    assert pyxis("--container-image=x.sqsh").kind == "pyxis"
    assert text_of(pyxis("container-name=box:exec").name or ()) == "box"
    assert pyxis(PYXIS_CONTAINER_IMAGE="x.sqsh").image is not None


def test_names_of_pyxis_options() -> None:
    assert is_pyxis_option("--container-image") and is_pyxis_option("no-container-remap-root")
    assert not is_pyxis_option("--container") and not is_pyxis_option("--container-id")
    assert not is_pyxis_option("--no-container-image")


def test_pyxis_mounts() -> None:
    found = pyxis("container-image=i", "container-mounts=/data:/data,/a:/b:ro+nosuid,/c,tmpfs:/scratch,umount:/x")
    assert mounts(found) == [("/data", "/data"), ("/a", "/b"), ("/c", "/c"), ("", "/scratch")]
    assert found.mounts[1].options == "ro+nosuid"
    assert found.mounts[3].private and not found.mounts[0].private
    assert found.certain


def test_pyxis_mounts_add_up() -> None:
    found = pyxis("container-mounts=/a", "container-image=i", "container-mounts=/b")
    assert mounts(found) == [("/a", "/a"), ("/b", "/b")]
    # The variable counts only without an option.
    assert mounts(pyxis("container-image=i", PYXIS_CONTAINER_MOUNTS="/c")) == [("/c", "/c")]
    assert mounts(pyxis("container-image=i", "container-mounts=/a", PYXIS_CONTAINER_MOUNTS="/c")) == [("/a", "/a")]


def test_mounts_that_are_not_known() -> None:
    assert not pyxis("container-image=i", "container-mounts=$MOUNTS").certain
    found = pyxis("container-image=i", "container-mounts=$HOME/x:/x,$A:$B")
    assert found.certain
    assert mounts(found)[0] == ("?/x", "/x")
    assert found.mounts[0].source_text is None and found.mounts[0].target_text == "/x"


def test_the_home_folder_of_pyxis() -> None:
    image = "container-image=i"
    assert pyxis(image, "container-mount-home").home_mounted is True
    assert pyxis(image, "no-container-mount-home").home_mounted is False
    assert pyxis(image).home_mounted is None
    assert pyxis(image, site=Site(container_home_mounted=True)).home_mounted is True
    assert pyxis(image, "no-container-mount-home", site=Site(container_home_mounted=True)).home_mounted is False
    assert pyxis(image, PYXIS_CONTAINER_MOUNT_HOME="0", site=Site(container_home_mounted=True)).home_mounted is False
    assert pyxis(image, ENROOT_MOUNT_HOME="y").home_mounted is True
    # Both at once is an error of srun; neither is known to hold.
    assert pyxis(image, "container-mount-home", "no-container-mount-home").home_mounted is None


def test_the_environment_of_pyxis() -> None:
    found = pyxis("container-image=i", "container-env=A,B", "container-workdir=/w", "container-writable")
    assert found.passes("ANYTHING") is True
    assert set(found.passed) == {"A", "B"}
    assert found.workdir is not None and text_of(found.workdir) == "/w"


def test_options_of_a_container_have_places() -> None:
    found = pyxis("container-mounts=/a", "container-image=i")
    assert found.span == Span(100, 117)
    given = found.option("container-mounts")
    assert given is not None and given.span == Span(0, 19)
    assert found.option("container-save") is None


def test_apptainer() -> None:
    found = entered("singularity exec --nv -B /a:/b:ro,$X:$Y --bind /c -W /tmp/w --pwd=/p --env A=1,B=2 i.sif ./a")
    assert found.kind == "apptainer" and found.image is not None and text_of(found.image) == "i.sif"
    assert mounts(found) == [("/a", "/b"), ("?", "\ue000"), ("/c", "/c")]
    assert found.workdir is not None and text_of(found.workdir) == "/p"
    assert set(found.passed) == {"A", "B"}
    assert found.inherits and found.home_mounted is True and found.tmp is True
    assert found.option("nv") is not None


def test_apptainer_without_the_home_folder() -> None:
    for option in ("--no-home", "-c", "--contain", "-C", "--containall", "--no-mount home", "--no-mount tmp,home"):
        assert entered(f"apptainer exec {option} i.sif ./a").home_mounted is False, option
    assert entered("apptainer exec i.sif ./a", APPTAINER_CONTAINALL="1").home_mounted is False
    assert mounts(entered("apptainer exec -H /data/me:/root i.sif ./a")) == [("/data/me", "/root")]


def test_apptainer_with_a_clean_environment() -> None:
    for option in ("-e", "--cleanenv", "-C", "--containall"):
        assert not entered(f"apptainer exec {option} i.sif ./a").inherits, option
    clean = entered("apptainer exec -e --env A=1 i.sif ./a")
    # APPTAINERENV_ variables still go in, and nobody knows which there are.
    assert clean.passes("A") is True and clean.passes("SLURM_PROCID") is None


def test_docker() -> None:
    found = entered(
        "docker run --rm -it --network=host --shm-size 8g -v $PWD:/w -v data:/data -v /cache "
        "--mount type=bind,src=/s,dst=/d,readonly --tmpfs /run:size=1g -w /w -e A -e B=2 --env SLURM_PROCID img:tag ./a"
    )
    assert mounts(found) == [("?", "/w"), ("", "/data"), ("", "/cache"), ("/s", "/d"), ("", "/run")]
    assert found.home_mounted is False and not found.inherits
    assert found.passes("A") is True and found.passes("SLURM_PROCID") is True and found.passes("SLURM_NODEID") is False
    assert {each.name for each in found.options} >= {"rm", "interactive", "tty", "network", "shm-size"}


def test_docker_environments_that_are_not_known() -> None:
    assert entered("docker run --env-file f img ./a").passes("A") is None
    assert entered("docker run $OPTS img ./a").passes("A") is None
    assert entered("docker run -e $X img ./a").passes("A") is None
    assert entered("docker exec box ./a").passes("A") is None
    assert entered("podman run -e SLURM_* img ./a").passes("SLURM_NODEID") is True
    assert entered("podman run --env-host img ./a").passes("A") is True


def test_images_of_variables() -> None:
    found = entered("docker run --rm $DOCKER_ARGS $IMAGE python x.py")
    assert found.image is not None and shown_text(found.image) == "\ue000" and not found.certain
    assert entered("docker run --rm $IMAGE python x.py").certain
    assert entered('docker run --rm "$IMAGE" python x.py').certain


def test_other_containers() -> None:
    found = entered("shifter --image=docker:a/b:1 -V /a:/b;/c:/d ./a")
    assert found.kind == "shifter" and mounts(found) == [("/a", "/b"), ("/c", "/d")]
    found = entered("enroot start --rw -m /a:/b -e A box ./a")
    assert found.kind == "enroot" and mounts(found) == [("/a", "/b")]
    found = entered("ch-run --home -b /a:/b /img -- ./a")
    assert found.kind == "charliecloud" and found.home_mounted is True
    assert entered("ch-run /img -- ./a").home_mounted is None


def test_an_empty_word_is_no_option() -> None:
    assert unwrap(argv("apptainer exec '' a.sif python train.py"), exported()) is not None
