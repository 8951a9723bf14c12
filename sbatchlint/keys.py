"""The keys of a configuration, with types and descriptions; imported only when a configuration is read."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert
from msgspec.structs import fields

from sbatchlint.registry import did_you_mean
from sbatchlint.site import FOUND
from sbatchlint.site import Site as Facts
from sbatchlint.source.discover import DEFAULT_EXCLUDE

# Read by both mypy and msgspec. A key that is not set stays UNSET, so that the schema does not allow null for it.
Level = Literal["info", "warning", "error"]
Format = Literal[
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown"
]
Vendor = Literal["nvidia", "amd", "intel"]
Gpus = Literal["gres", "whole-node"]


class Site(Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """What holds on the cluster."""

    shared_paths: Annotated[list[str] | UnsetType, Meta(description="folders that every node sees")] = UNSET
    local_paths: Annotated[list[str] | UnsetType, Meta(description="folders that each node has for itself")] = UNSET
    home_is_shared: Annotated[bool | UnsetType, Meta(description="whether every node sees the home folders")] = UNSET
    gpus: Annotated[
        Gpus | UnsetType,
        Meta(description="how a job gets GPUs: gres, if it requests them; whole-node, with the nodes it has to itself"),
    ] = UNSET
    gpus_required: Annotated[
        bool | UnsetType, Meta(description="whether a job without a GPU request is refused, or gets none")
    ] = UNSET
    gpu_partitions: Annotated[
        list[str] | UnsetType, Meta(description="partitions whose jobs get GPUs without asking")
    ] = UNSET
    gpus_per_node: Annotated[Annotated[int, Meta(ge=0)] | UnsetType, Meta(description="how many GPUs a node has")] = (
        UNSET
    )
    gpu_vendor: Annotated[Vendor | UnsetType, Meta(description="who made the GPUs")] = UNSET
    gpu_arch: Annotated[
        str | UnsetType, Meta(description="the architecture of the GPUs, for instance sm_90", examples=["sm_90"])
    ] = UNSET
    pyxis: Annotated[str | UnsetType, Meta(description="the version of the pyxis plugin", examples=["0.20.0"])] = UNSET
    pyxis_in_sbatch: Annotated[bool | UnsetType, Meta(description="whether sbatch takes the options of pyxis")] = UNSET
    container_home_mounted: Annotated[
        bool | UnsetType, Meta(description="whether containers see the home folder when no option says so")
    ] = UNSET
    profile: Annotated[
        str | UnsetType,
        Meta(
            description="the cluster, as `sbatchlint site` describes it: a file, an installed package, or an example",
            examples=["cluster.toml"],
            extra_json_schema={"default": FOUND},
        ),
    ] = UNSET


class Submission(Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """How scripts are submitted."""

    paths: Annotated[list[str], Meta(description="patterns of scripts")]
    options: Annotated[str, Meta(description="the options of their sbatch", examples=["--nodes=2"])]


class Configuration(Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The settings of sbatchlint."""

    extend: Annotated[str | UnsetType, Meta(description="another configuration file, read first")] = UNSET
    select: Annotated[
        list[str] | UnsetType,
        Meta(
            description="the checks that run: codes, prefixes of codes, names, groups, or ALL",
            extra_json_schema={"default": ["ALL"]},
        ),
    ] = UNSET
    extend_select: Annotated[list[str] | UnsetType, Meta(description="checks that run as well")] = UNSET
    ignore: Annotated[list[str] | UnsetType, Meta(description="checks that do not run")] = UNSET
    per_file_ignores: Annotated[
        dict[str, list[str]] | UnsetType, Meta(description="checks that do not run on files that match a pattern")
    ] = UNSET
    severity: Annotated[dict[str, Level] | UnsetType, Meta(description="another severity for a check")] = UNSET
    fail_on: Annotated[
        Level | UnsetType,
        Meta(description="the least severity that makes a run fail", extra_json_schema={"default": "warning"}),
    ] = UNSET
    min_severity: Annotated[
        Level | UnsetType,
        Meta(description="the least severity that is reported", extra_json_schema={"default": "warning"}),
    ] = UNSET
    output_format: Annotated[
        Format | UnsetType,
        Meta(
            description="how reports are written; where several files hold, that of the first path",
            extra_json_schema={"default": "full"},
        ),
    ] = UNSET
    slurm_version: Annotated[
        Annotated[str, Meta(pattern="^[0-9]{2}[.][0-9]{2}(-[0-9]{2}[.][0-9]{2})?$")] | UnsetType,
        Meta(
            description="the Slurm the jobs meet: 23.11, or 23.11-25.05; without it, faults before 23.11 are info",
            examples=["23.11", "23.11-25.05"],
            extra_json_schema={"default": "-".join(Facts().slurm_versions)},
        ),
    ] = UNSET
    include: Annotated[
        list[str] | UnsetType,
        Meta(description="patterns of documents whose scripts are read in folders and by hooks, too"),
    ] = UNSET
    exclude: Annotated[
        list[str] | UnsetType,
        Meta(
            description="patterns of paths that are left out, instead of the default ones",
            extra_json_schema={"default": [*DEFAULT_EXCLUDE]},
        ),
    ] = UNSET
    extend_exclude: Annotated[
        list[str] | UnsetType, Meta(description="patterns of paths that are left out as well")
    ] = UNSET
    baseline: Annotated[
        str | UnsetType,
        Meta(
            description="a file that --write-baseline wrote, whose findings are not reported",
            examples=["baseline.json"],
        ),
    ] = UNSET
    plugin_options: Annotated[
        list[str] | UnsetType, Meta(description="long options that plugins of the site add to sbatch and srun")
    ] = UNSET
    plugin_options_from: Annotated[
        str | UnsetType,
        Meta(description="a file with what `sbatch --help` prints on the cluster, for the same"),
    ] = UNSET
    submit: Annotated[
        list[Submission] | UnsetType, Meta(description="scripts, and the options of the sbatch that submits them")
    ] = UNSET
    site: Annotated[Site | UnsetType, Meta(description="what holds on the cluster")] = UNSET
    checks: Annotated[
        dict[str, dict[str, Any]] | UnsetType, Meta(description="options of single checks, in a table each")
    ] = UNSET


class Key(NamedTuple):
    """A key: the type of its values, without UNSET, its description, and what holds without it; None for nothing."""

    type: Any
    help: str
    default: Any


def keys(table: type[Struct]) -> dict[str, Key]:
    """The keys of a table by name."""
    found = {}
    for field in fields(table):
        union, meta = get_args(field.type)
        default = (meta.extra_json_schema or {}).get("default")
        found[field.encode_name] = Key(get_args(union)[0], meta.description, default)
    return found


KEYS = keys(Configuration)
SITE_KEYS = keys(Site)


def kind(type_: Any) -> str:
    """A type as a phrase: "a list of texts", "info, warning or error"."""
    origin, arguments = get_origin(type_), get_args(type_)
    if arguments == (Submission,):
        return "a list of tables with paths and options"
    if origin is Annotated:
        return kind(arguments[0])
    if origin is Literal:
        return f"{', '.join(arguments[:-1])} or {arguments[-1]}"
    simple = {str: "text", bool: "true or false", int: "a whole number", list: "a list of texts"}
    return simple.get(origin or type_, "a table")


def first_problem(table: Mapping[str, object]) -> str:
    """The first problem of a configuration, with the path of its key; "" for a valid one."""
    try:
        convert(table, Configuration)
    except ValidationError:
        return _wrong_in(table, KEYS, "") or "must be a table of settings"
    return ""


def _wrong_in(table: Mapping[str, object], known: Mapping[str, Key], prefix: str) -> str:
    """The first problem of a table; msgspec names neither the value nor, in a table of arbitrary keys, the key."""
    for name, value in table.items():
        if name not in known:
            elsewhere = f" (did you mean 'site.{name}'?)" if not prefix and name in SITE_KEYS else ""
            if not prefix and name == "tool":  # as in pyproject.toml
                elsewhere = ": outside of pyproject.toml, settings stand at the top level, without [tool.sbatchlint]"
            return f"unknown key '{prefix}{name}'{elsewhere or did_you_mean(name, known, lambda key: prefix + key)}"
        expected = known[name].type
        if _is_valid(value, expected):
            continue
        path = prefix + name
        if expected is Site and isinstance(value, Mapping):
            return _wrong_in(value, SITE_KEYS, f"{path}.")
        if get_origin(expected) is dict and isinstance(value, Mapping):
            expected = get_args(expected)[1]
            name, value = next((key, each) for key, each in value.items() if not _is_valid(each, expected))
            path += f".{name}"
        least = ", 0 or more" if isinstance(value, int) and kind(expected) == "a whole number" else ""
        return f"{path}: must be {kind(expected)}{least}, not {shown(value)}"
    return ""


def _is_valid(value: object, expected: Any) -> bool:
    try:
        convert(value, expected)
    except ValidationError:
        return False
    return True


def shown(value: object) -> str:
    """A value as shown in a message."""
    return str(value).lower() if isinstance(value, bool) else repr(value)
