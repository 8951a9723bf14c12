"""Containers that commands enter: their kinds, their mounts, and the environment that they pass on.

Containers come from pyxis options of srun (pyxis 0.1 to 0.24) and from the commands apptainer, singularity, docker,
podman, podman-hpc, shifter, enroot and ch-run (`sbatchlint.job.commands.container_commands`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.job.argv import CommandOption, Lookup, partition, split
from sbatchlint.site import Site
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span

# A pyxis option of srun: its name with or without dashes, its value, and its place.
Triple = tuple[str, Pieces | None, Span]


class Mount(NamedTuple):
    """A folder or file of the host that a container sees. `source`, `target`: the fields as written.

    `source` is () for a mount without one (`tmpfs`, `--scratch`): what is written below its target is lost.
    """

    source: Pieces
    target: Pieces
    options: str
    span: Span

    @property
    def source_text(self) -> str | None:
        return text_of(self.source) if self.source else None

    @property
    def target_text(self) -> str | None:
        return text_of(self.target)

    @property
    def private(self) -> bool:
        """Whether it has no folder of the host (a tmpfs, a named volume)."""
        return not self.source


class Container(Record):
    """A container that a command runs in.

    `kind`: `pyxis`, `apptainer`, `docker`, `podman`, `shifter`, `enroot`, `charliecloud`. `image`: as written, None
    where a name or an instance replaces it. `name`: of a named container. `mounts`: in order. `home_mounted`: whether
    the host's home folder is mounted; None where the site decides. `inherits`: whether the program has the host's
    environment. `passed`: variables that are passed explicitly, with their values (None: the host's).
    `hidden_environment`: whether further variables may come from a file. `system_mounts`: whether the site may mount
    more (usually its shared file systems). `tmp`: whether /tmp is the node's; None where that depends. `options`: all
    options; `span`: of the command's name, or of the first option. `certain`: whether no word may hide further options.
    """

    kind: str
    span: Span
    image: Pieces | None = None
    name: Pieces | None = None
    mounts: Sequence[Mount] = ()
    home_mounted: bool | None = None
    workdir: Pieces | None = None
    inherits: bool = True
    passed: Mapping[str, Pieces | None] = {}
    hidden_environment: bool = False
    system_mounts: bool = False
    tmp: bool | None = None
    options: Sequence[CommandOption] = ()
    certain: bool = True

    def option(self, *names: str) -> CommandOption | None:
        """The last option with one of these names; None if there is none."""
        return next((each for each in reversed(self.options) if each.name in names), None)

    def passes(self, variable: str) -> bool | None:
        """Whether an exported variable of the host reaches the program; None where that is not known."""
        if self.inherits or variable in self.passed:
            return True
        if any(name.endswith("*") and variable.startswith(name[:-1]) for name in self.passed):
            return True
        return None if self.hidden_environment or not self.certain else False


def bind(field: Pieces, *, target_required: bool = False) -> Mount | None:
    """The mount of `SRC[:DST[:options]]`, where DST is SRC by default; None for an empty field."""
    if not field:
        return None
    source, rest = partition(field, ":")
    if rest is None:
        return None if target_required else Mount(source, source, "", span_of(field))
    target, options = partition(rest, ":")
    return Mount(source, target or source, "" if options is None else shown_text(options), span_of(field))


def binds(field: Pieces) -> list[Mount]:
    """The mounts of a list of binds, without unknown elements, which may be several mounts."""
    found = [bind(part) for part in split(field, ",") if part and not _may_be_several(part)]
    return [mount for mount in found if mount is not None]


def hides_binds(field: Pieces) -> bool:
    """Whether a list of binds has an element that may be several mounts (`--container-mounts=$MOUNTS`)."""
    return any(_may_be_several(each) for each in split(field, ","))


# Variables, and a command, whose value is always a single folder.
_ONE_FOLDER = frozenset({"PWD", "HOME", "SLURM_SUBMIT_DIR", "SCRATCH", "TMPDIR", "SLURM_TMPDIR", "$(pwd)"})


def _may_be_several(element: Pieces) -> bool:
    """Whether nothing is known of an element in a list of binds, not even that it is a single folder."""
    if len(element) != 1 or element[0].text is not None:
        return False
    expansion = element[0].expansion
    return expansion is None or expansion.name not in _ONE_FOLDER


def _key_values(field: Pieces) -> dict[str, Pieces]:
    """A list such as `type=bind,source=/a,target=/b,readonly` as a mapping; words without `=` map to ()."""
    found: dict[str, Pieces] = {}
    for part in split(field, ","):
        name, value = partition(part, "=")
        key = text_of(name)
        if key is not None:
            found[key.strip()] = () if value is None else value
    return found


def mount_option(field: Pieces) -> Mount | None:
    """The mount of `--mount type=bind,source=…,target=…` (docker, podman, apptainer); None without a target."""
    values = _key_values(field)
    target = values.get("target") or values.get("destination") or values.get("dst")
    if not target:
        return None
    source = values.get("source") or values.get("src") or ()
    kind = text_of(values["type"]) if "type" in values else "volume"
    if kind != "bind":
        source = ()
    return Mount(source, target, "ro" if "readonly" in values or "ro" in values else "", span_of(field))


# Options of pyxis with a value, whose defaults are PYXIS_CONTAINER_IMAGE and so on (since pyxis 0.21).
_PYXIS_VALUES = (
    *("container-image", "container-mounts", "container-workdir", "container-name", "container-save", "container-env"),
    *("container-unshare", "container-entrypoint-log"),
)
_PYXIS_VARIABLES = {name: "PYXIS_" + name.upper().replace("-", "_") for name in _PYXIS_VALUES}
_PYXIS_OPPOSITES = {
    "container-mount-home": "no-container-mount-home",
    "container-remap-root": "no-container-remap-root",
    "container-entrypoint": "no-container-entrypoint",
    "container-writable": "container-readonly",
}
PYXIS_OPTIONS = frozenset({*_PYXIS_VALUES, *_PYXIS_OPPOSITES, *_PYXIS_OPPOSITES.values()})


def is_pyxis_option(name: str) -> bool:
    """Whether an option is one of pyxis, unlike Slurm's own --container and --container-id."""
    return name.lstrip("-") in PYXIS_OPTIONS


def opposite(name: str) -> str | None:
    """The pyxis option with the opposite effect; None if there is none."""
    return next((off if name == on else on for on, off in _PYXIS_OPPOSITES.items() if name in (on, off)), None)


def _pyxis_home(options: Sequence[CommandOption], environment: Lookup, site: Site | None) -> bool | None:
    """Whether options, environment or site mount the home folder; None where none says so, or options conflict."""
    named = {each.name for each in options if each.name in ("container-mount-home", "no-container-mount-home")}
    if named:
        return None if len(named) > 1 else "container-mount-home" in named
    for variable, values in (
        ("PYXIS_CONTAINER_MOUNT_HOME", {"1": True, "0": False}),
        ("ENROOT_MOUNT_HOME", {"y": True, "yes": True, "n": False, "no": False}),
    ):
        value = environment(variable)
        text = None if value is None else (text_of(value) or "").lower()
        if text in values:
            return values[text]
    if environment("ENROOT_MOUNT_HOME") is not None or site is None:
        return None
    return site.container_home_mounted


def pyxis_container(
    options: Iterable[Triple], site: Site | None = None, environment: Lookup | None = None
) -> Container | None:
    """The container of an srun with these options (its own and those it inherits from sbatch); None if there is none.

    pyxis starts a container only for --container-image or --container-name, or their variables
    PYXIS_CONTAINER_IMAGE and PYXIS_CONTAINER_NAME (0.21). Without either home flag, ENROOT_MOUNT_HOME or the site's
    enroot.conf decides. The program has the host's environment, but variables that the image sets take precedence
    unless --container-env names them.
    """
    lookup = environment or (lambda name: None)
    own = [
        CommandOption(name.lstrip("-"), value, -1, span, -1) for name, value, span in options if is_pyxis_option(name)
    ]
    settings = [(each.name, each.value) for each in own]
    names = {each.name for each in own}
    settings += [(name, lookup(variable) or None) for name, variable in _PYXIS_VARIABLES.items() if name not in names]
    values: dict[str, Pieces] = {}
    mounts: list[Mount] = []
    passed: dict[str, Pieces | None] = {}
    certain = True
    for option, value in settings:
        if value is None:
            continue
        if option == "container-mounts":
            certain = certain and not hides_binds(value)
            mounts += _pyxis_mounts(value)
        elif option == "container-env":
            passed.update((text, None) for part in split(value, ",") if (text := text_of(part)))
        else:
            values[option] = value
    image = values.get("container-image")
    name = values.get("container-name")
    if image is None and name is None:
        return None
    span = next((each.span for each in own if each.name in ("container-image", "container-name")), None)
    if span is None:
        span = own[0].span if own else Span(0, 0)
    return Container(
        "pyxis",
        span,
        image=image,
        name=None if name is None else partition(name, ":")[0],
        mounts=mounts,
        home_mounted=_pyxis_home(own, lookup, site),
        workdir=values.get("container-workdir"),
        passed=passed,
        system_mounts=True,
        options=own,
        certain=certain,
    )


def _pyxis_mounts(field: Pieces) -> list[Mount]:
    """The mounts of a list of `SRC[:DST[:FLAGS]]`; `tmpfs:DST` has no source, and `umount:DST` is not a mount."""
    found = []
    for mount in binds(field):
        kind = mount.source_text
        if kind == "umount":
            continue
        found.append(mount._replace(source=()) if kind == "tmpfs" else mount)
    return found
