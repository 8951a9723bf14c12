"""Commands that enter a container: apptainer, singularity, docker, podman, podman-hpc, shifter, enroot, ch-run.

Options from the manual pages: apptainer 1.4 (and singularity 3), docker 28, podman 5, shifter 18.03 (udiRoot),
enroot 3.5, charliecloud 0.38.
"""

from collections.abc import Callable, Iterable
from functools import partial

from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import Pieces, cut, is_open, shown_text, span_of, text_of
from sbatchlint.job.argv import (
    Argv,
    CommandOption,
    Lookup,
    Reading,
    Syntax,
    assignment_of,
    hides_options,
    is_unknown,
    partition,
    read,
    split,
    syntax,
)
from sbatchlint.job.containers import Container, Mount, bind, binds, hides_binds, mount_option

_APPTAINER = syntax(
    "add-caps app apply-cgroups authfile B/bind bind blkio-weight blkio-weight-device cpu-shares cpus cpuset-cpus "
    "cpuset-mems cwd pwd/cwd device dns docker-host drop-caps env env-file fusemount H/home home hostname memory "
    "memory-reservation memory-swap mount netns-path network network-args no-mount o/overlay overlay pem-path "
    "pids-limit S/scratch scratch security W/workdir workdir cdi-dirs shell",
    "allow-setuid e/cleanenv cleanenv compat c/contain contain C/containall containall disable-cache docker-login "
    "f/fakeroot fakeroot ignore-fakeroot-command ignore-subuid ignore-userns i/ipc ipc intel-hpu keep-privs n/net net "
    "no-compat no-eval no-home no-https nohttps no-init no-pid no-privs no-tmp-sandbox no-umask nv nvccli oci "
    "oom-kill-disable passphrase p/pid pid rocm sharens tmp-sandbox u/userns userns underlay unsquash uts "
    "w/writable writable writable-tmpfs vm",
)
_APPTAINER_GLOBAL = syntax("c/config config", "d/debug debug nocolor q/quiet quiet s/silent silent v/verbose verbose")

_DOCKER_VALUES = """add-host annotation a/attach attach blkio-weight blkio-weight-device cap-add cap-drop
cgroup-parent cgroupns cidfile cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime c/cpu-shares
cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device device-cgroup-rule device-read-bps device-read-iops
device-write-bps device-write-iops dns dns-opt dns-option dns-search domainname entrypoint e/env env env-file expose
gpus group-add health-cmd health-interval health-retries health-start-interval health-start-period health-timeout
h/hostname hostname io-maxbandwidth io-maxiops ip ip6 ipc isolation kernel-memory l/label label label-file link
link-local-ip log-driver log-opt mac-address m/memory memory memory-reservation memory-swap memory-swappiness mount
name net/network network network-alias oom-score-adj pid pids-limit platform p/publish publish pull restart runtime
security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit u/user user userns uts v/volume volume
volume-driver volumes-from w/workdir workdir"""
_DOCKER_FLAGS = """d/detach detach disable-content-trust help init i/interactive interactive no-healthcheck
oom-kill-disable privileged P/publish-all publish-all q/quiet quiet read-only rm sig-proxy t/tty tty
use-api-socket"""
_PODMAN_VALUES = """arch authfile cert-dir cgroup-conf cgroups chrootdirs conmon-pidfile cpuset creds decryption-key
env-merge gidmap group-entry hostuser image-volume init-path os passwd-entry personality pidfile pod pod-id-file
preserve-fds rdt-class requires retry retry-delay rootfs-opt sdnotify seccomp-policy secret shm-size-systemd
subgidname subuidname systemd timeout tz uidmap umask unsetenv variant hooks-dir module"""
_PODMAN_FLAGS = """env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi rootfs tls-verify
unsetenv-all gpu cuda-mpi mpi openmpi-pmi2 openmpi-pmix cvmfs nccl"""
_DOCKER = syntax(_DOCKER_VALUES, _DOCKER_FLAGS)
_PODMAN = syntax(_DOCKER_VALUES + " " + _PODMAN_VALUES, _DOCKER_FLAGS + " " + _PODMAN_FLAGS)
_DOCKER_EXEC = syntax(
    "detach-keys e/env env env-file u/user user w/workdir workdir preserve-fds",
    "d/detach detach i/interactive interactive privileged t/tty tty l/latest latest",
)
_DOCKER_GLOBAL = syntax(
    "config c/context context H/host host l/log-level log-level tlscacert tlscert tlskey root runroot storage-driver "
    "storage-opt url connection identity runtime cgroup-manager conmon events-backend hooks-dir module namespace "
    "network-cmd-path network-config-dir out ssh tmpdir volumepath additional-image-store squash-dir",
    "D/debug debug tls tlsverify v/version version r/remote remote noout syslog transient-store",
)
_SHIFTER = syntax(
    "i/image image V/volume volume w/workdir workdir e/env env env-file m/module module u/user user",
    "h/help help v/verbose verbose E/clearenv clearenv entrypoint",
)
_ENROOT = syntax("c/conf conf rc e/env env m/mount mount", "r/root root w/rw rw h/help help")
_CH_RUN = syntax(
    "b/bind bind c/cd cd g/gid gid join-ct join-pid join-tag u/uid uid unset-env storage s/storage",
    "j/join join m/mount mount no-home no-passwd t/private-tmp private-tmp set-env unsafe q/quiet quiet v/verbose "
    "verbose w/write write W/write-fake write-fake env-no-expand home feature warnings test",
)


def _operands(argv: Argv, start: int, known: Syntax) -> tuple[tuple[CommandOption, ...], int | None, bool]:
    """The options from `start` on, the index of the image, and whether no word hides further options.

    An unquoted `$IMAGE` could be several words, but is taken as the image; only names such as `$OPTS`, or an unknown
    word before another one with the name of an image, are taken as options.
    """
    reading = read(argv, start, known)
    if reading.operand is not None and reading.certain:
        return reading.options, reading.operand, True
    options: list[CommandOption] = []
    at = start
    certain = True
    while at < len(argv):
        part = read(argv, at, known, one_word=False)
        # Read up to the next word of which nothing is known.
        stop = next((i for i in range(at, len(argv)) if is_unknown(argv[i]) and not _is_value(part.options, i)), None)
        if stop is None or (part.operand is not None and part.operand < stop):
            options.extend(part.options)
            return tuple(options), part.operand, certain
        before = read(argv[:stop], at, known)
        options.extend(before.options)
        if before.operand is not None:
            return tuple(options), before.operand, certain
        field = argv[stop]
        following = argv[stop + 1] if stop + 1 < len(argv) else None
        may_be_options = hides_options(field) or (
            is_open(field)
            and following is not None
            and (_names_image(following) or shown_text(following).startswith("-"))
            and not _names_image(field)
        )
        if not may_be_options:
            return tuple(options), stop, certain
        certain = False
        at = stop + 1
    return tuple(options), None, certain


def _is_value(options: tuple[CommandOption, ...], index: int) -> bool:
    return any(each.value_at == index and each.at != index for each in options)


def _names_image(field: Pieces) -> bool:
    text = shown_text(field)
    if text.endswith((".sif", ".simg", ".img", ".sqsh")) or "://" in text:
        return True
    names = [piece.expansion.name.upper() for piece in field if piece.text is None and piece.expansion is not None]
    return is_unknown(field) and any(
        word in name for name in names for word in ("IMAGE", "IMG", "SIF", "CONTAINER", "SQSH")
    )


def _all(options: tuple[CommandOption, ...], name: str) -> list[Pieces]:
    return [each.value for each in options if each.name == name and each.value is not None]


def _one(options: tuple[CommandOption, ...], name: str) -> Pieces | None:
    values = _all(options, name)
    return values[-1] if values else None


def _passed(options: tuple[CommandOption, ...]) -> tuple[dict[str, Pieces | None], bool]:
    """The variables that `--env` passes in, with their values (None: the host's), and whether all names are known."""
    passed: dict[str, Pieces | None] = {}
    certain = True
    for field in _all(options, "env"):
        pair, text = assignment_of(field), text_of(field)
        if pair is not None:
            passed[pair[0]] = pair[1]
        elif text is not None:
            passed[text] = None
        else:
            certain = False
    return passed, certain


def _assigned(fields: Iterable[Pieces]) -> dict[str, Pieces | None]:
    """The variables that words `NAME=value` set."""
    return dict(pair for pair in map(assignment_of, fields) if pair is not None)


def _flag(options: tuple[CommandOption, ...], *names: str) -> bool:
    """Whether a flag is set and not switched off (`--rm=false`)."""
    return any(each.name in names and each.text not in ("false", "0") for each in options)


def _exported(lookup: Lookup, *names: str) -> list[Pieces]:
    """The values of these variables that are exported and not empty."""
    return [value for name in names if (value := lookup(name))]


def _either(lookup: Lookup, *names: str) -> list[Pieces]:
    """The same of variables of apptainer, which reads those of singularity too."""
    return _exported(lookup, *(prefix + name for prefix in ("APPTAINER_", "SINGULARITY_") for name in names))


def _truthy(values: list[Pieces]) -> bool:
    """Whether one of these values switches something on."""
    return any((text_of(value) or "").lower() not in ("", "0", "false", "no") for value in values)


# `APPTAINERENV_X=1` sets X in the container, with --cleanenv too.
_RENAMING = ("SINGULARITYENV_", "APPTAINERENV_")


def _entered(container: Container, command: int | None, prefix: tuple[Pieces, ...] = ()) -> Spawn:
    """How the container starts the command at index `command`; None where the image's own program runs."""
    variables = tuple((name, value) for name, value in container.passed.items() if value is not None)
    kept = tuple(name for name, value in container.passed.items() if value is None)
    return Spawn(
        container.kind, command, variables=variables, cleared=not container.inherits, info=container, prefix=prefix,
        kept=kept, renaming=_RENAMING if container.kind == "apptainer" else (),
    )  # fmt: skip


def apptainer(argv: Argv, lookup: Lookup) -> Spawn | None:
    """What `apptainer exec|run|shell [options] IMAGE [command…]` starts, also for singularity; None for other verbs."""
    top = read(argv, 1, _APPTAINER_GLOBAL)
    at = top.operand
    verb = None if at is None else text_of(argv[at])
    if at is None or verb not in ("exec", "run", "shell", "test"):
        return None
    options, image, certain = _operands(argv, at + 1, _APPTAINER)
    field = None if image is None else argv[image]
    mounts: list[Mount] = []
    for values in (*_all(options, "bind"), *_either(lookup, "BIND", "BINDPATH")):
        mounts.extend(binds(values))
        certain = certain and not hides_binds(values)
    mounts.extend(found for entry in _all(options, "mount") if (found := mount_option(entry)) is not None)
    mounts.extend(Mount((), each, "", span_of(each)) for each in _all(options, "scratch"))
    home_source = _one(options, "home") or next(iter(_either(lookup, "HOME")), None)
    contained = _flag(options, "contain", "containall", "compat") or _truthy(_either(lookup, "CONTAIN", "CONTAINALL"))
    without_home = _flag(options, "no-home") or _truthy(_either(lookup, "NO_HOME"))
    unmounted = {text_of(part) for value in _all(options, "no-mount") for part in split(value, ",")}
    if home_source is not None and (mount := bind(home_source)) is not None:
        mounts.append(mount)
    home = not (contained or without_home or "home" in unmounted or home_source is not None)
    cleaned = _flag(options, "cleanenv", "containall", "compat") or _truthy(_either(lookup, "CLEANENV"))
    container = Container(
        "apptainer",
        span_of(argv[0]),
        image=field,
        mounts=mounts,
        home_mounted=home if certain or not home else None,
        workdir=_one(options, "cwd"),
        inherits=not cleaned,
        passed=_assigned(part for entry in _all(options, "env") for part in split(entry, ",")),
        hidden_environment=bool(_one(options, "env-file")) or cleaned,
        system_mounts=True,
        tmp=not contained and "tmp" not in unmounted,
        options=options,
        certain=certain,
    )
    if verb == "test" or image is None or image + 1 >= len(argv):
        return _entered(container, None)
    if verb == "shell":  # its arguments are those of the shell: `singularity shell IMAGE -c "…"`
        return _entered(container, image + 1, (cut(argv[at], 0, len("sh")),))
    return _entered(container, image + 1)


def docker(kind: str, argv: Argv, lookup: Lookup) -> Spawn | None:
    """What `docker [options] run|exec [options] IMAGE|NAME [command…]` starts, also for podman and nerdctl."""
    top = read(argv, 1, _DOCKER_GLOBAL)
    at = top.operand
    verb = None if at is None else text_of(argv[at])
    if verb == "container" and at is not None and at + 1 < len(argv):
        at += 1
        verb = text_of(argv[at])
    if at is None or verb not in ("run", "exec", "shared-run"):
        return None
    known = _DOCKER_EXEC if verb == "exec" else _PODMAN if kind == "podman" else _DOCKER
    options, operand, certain = _operands(argv, at + 1, known)
    passed, known_names = _passed(options)
    certain = certain and known_names
    mounts: list[Mount] = []
    volumes = [(value, _volume(value)) for value in _all(options, "volume")]
    for value, mount in (*volumes, *((value, mount_option(value)) for value in _all(options, "mount"))):
        if mount is None:
            certain = certain and not is_unknown(value)
        else:
            mounts.append(mount)
    mounts.extend(Mount((), partition(each, ":")[0], "", span_of(each)) for each in _all(options, "tmpfs"))
    if any(each.name == "volumes-from" for each in options):
        certain = False
    field = None if operand is None else argv[operand]
    container = Container(
        kind,
        span_of(argv[0]),
        image=None if verb == "exec" else field,
        name=field if verb == "exec" else _one(options, "name"),
        mounts=mounts,
        # The mounts of a running container are not known where a command enters it.
        home_mounted=None if verb == "exec" or not certain else False,
        workdir=_one(options, "workdir"),
        inherits=_flag(options, "env-host"),
        passed=passed,
        hidden_environment=verb == "exec" or bool(_one(options, "env-file")),
        system_mounts=verb == "exec",
        tmp=False,
        options=options,
        certain=certain and verb != "exec",
    )
    index = None if operand is None or operand + 1 >= len(argv) else operand + 1
    entry = _one(options, "entrypoint")
    if entry is not None and text_of(entry) != "":
        return _entered(container, index if index is not None else len(argv), (entry,))
    return _entered(container, index)


def _volume(field: Pieces) -> Mount | None:
    """The mount of `-v SRC:DST[:options]`; a source that is not a path names a volume, `-v DST` is an anonymous one."""
    if is_unknown(field) and len(field) == 1:
        return None
    mount = bind(field, target_required=True)
    if mount is None:
        return Mount((), field, "", span_of(field))
    source = shown_text(mount.source)
    if source and source[0].isalnum() and not is_unknown(mount.source[:1]):
        return mount._replace(source=())
    return mount


def shifter(argv: Argv, lookup: Lookup) -> Spawn | None:
    """What `shifter [--image=IMAGE] [options] command…` starts; the image may come from #SBATCH --image."""
    reading = read(argv, 1, _SHIFTER)
    mounts = [
        m for each in _all(reading.options, "volume") for part in split(each, ";") if (m := bind(part)) is not None
    ]
    container = Container(
        "shifter",
        span_of(argv[0]),
        image=_one(reading.options, "image") or next(iter(_exported(lookup, "SHIFTER_IMAGE")), None),
        mounts=mounts,
        workdir=_one(reading.options, "workdir"),
        inherits=not _flag(reading.options, "clearenv"),
        passed=_assigned(_all(reading.options, "env")),
        hidden_environment=bool(_one(reading.options, "env-file")),
        system_mounts=True,
        options=reading.options,
        certain=reading.certain,
    )
    return _entered(container, reading.operand)


def enroot(argv: Argv, lookup: Lookup) -> Spawn | None:
    """What `enroot start [options] NAME|IMAGE [command…]` starts; None for other verbs."""
    if len(argv) < 2 or text_of(argv[1]) not in ("start", "exec"):
        return None
    starts = text_of(argv[1]) == "start"
    options, operand, certain = _operands(argv, 2, _ENROOT)
    mounts = [m for each in _all(options, "mount") if (m := bind(each)) is not None]
    passed, _ = _passed(options)
    value = lookup("ENROOT_MOUNT_HOME")
    text = None if value is None else (text_of(value) or "").lower()
    container = Container(
        "enroot",
        span_of(argv[0]),
        image=argv[operand] if operand is not None and starts else None,
        mounts=mounts,
        home_mounted={"y": True, "yes": True, "n": False, "no": False}.get(text or ""),
        # enroot passes on only what the container's configuration names.
        inherits=False,
        passed=passed,
        hidden_environment=True,
        system_mounts=True,
        options=options,
        certain=certain and starts,
    )
    index = None if operand is None or operand + 1 >= len(argv) else operand + 1
    return _entered(container, index)


def charliecloud(argv: Argv, lookup: Lookup) -> Spawn | None:
    """What `ch-run [options] IMAGE -- command…` starts."""
    options, image, certain = _operands(argv, 1, _CH_RUN)
    mounts = [m for each in _all(options, "bind") if (m := bind(each)) is not None]
    container = Container(
        "charliecloud",
        span_of(argv[0]),
        image=None if image is None else argv[image],
        mounts=mounts,
        # Mounted by default up to 0.26 (unless --no-home), only with --home since.
        home_mounted=True if _flag(options, "home") else False if _flag(options, "no-home") else None,
        workdir=_one(options, "cd"),
        passed=_assigned(_all(options, "set-env")),
        tmp=not _flag(options, "private-tmp"),
        options=options,
        certain=certain,
    )
    index = None if image is None else image + 1
    if index is not None and index < len(argv) and text_of(argv[index]) == "--":
        index += 1
    return _entered(container, index if index is not None and index < len(argv) else None)


def options_after_image(container: Container, argv: Argv) -> Reading | None:
    """The words after the image, read as options of the engine; None without an image."""
    at = next((index for index, field in enumerate(argv) if field is container.image), None)
    known = {"apptainer": _APPTAINER, "docker": _DOCKER, "podman": _PODMAN}.get(container.kind)
    return None if at is None or known is None else read(argv, at + 1, known)


def enter(name: str, argv: Argv, lookup: Lookup) -> Spawn | None:
    """What the command `name` starts in a container; None where it enters none."""
    return _ENGINES[name](argv, lookup) if name in _ENGINES else None


_ENGINES: dict[str, Callable[[Argv, Lookup], Spawn | None]] = {
    "apptainer": apptainer,
    "singularity": apptainer,
    **dict.fromkeys(("docker", "nvidia-docker", "nerdctl"), partial(docker, "docker")),
    **dict.fromkeys(("podman", "podman-hpc"), partial(docker, "podman")),
    "shifter": shifter,
    "enroot": enroot,
    "ch-run": charliecloud,
}
NAMES = frozenset(_ENGINES)
