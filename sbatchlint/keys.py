"""The keys of a configuration, with types and descriptions; imported only when a configuration is read."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert
from msgspec.structs import fields

from sbatchlint.registry import did_you_mean, registry
from sbatchlint.site import FOUND
from sbatchlint.site import Site as Facts
from sbatchlint.source.discover import DEFAULT_EXCLUDE
from sbatchlint.source.files import InputError

# Read by both mypy and msgspec. A key that is not set stays UNSET, so that the schema does not allow null for it.
Level = Literal["info", "warning", "error"]
Format = Literal[
    "full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown"
]
Vendor = Literal["nvidia", "amd", "intel"]
Gpus = Literal["gres", "whole-node"]

# So many patterns of one key take up to half a second for some dozens of files.
MOST_PATTERNS, MOST_PATTERN_CHARACTERS = 1000, 50_000


class Site(Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """What holds on the cluster."""

    shared_paths: Annotated[list[str] | UnsetType, Meta(description="folders that every node sees")] = UNSET
    local_paths: Annotated[list[str] | UnsetType, Meta(description="folders of which each node has its own")] = UNSET
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
        Meta(description="the minimum severity that makes a run fail", extra_json_schema={"default": "warning"}),
    ] = UNSET
    min_severity: Annotated[
        Level | UnsetType,
        Meta(description="the minimum severity that is reported", extra_json_schema={"default": "warning"}),
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
            description="the Slurm of the cluster: 23.11, or 23.11-25.05; without it, faults before 23.11 are info",
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
        wanted = get_args(union)[0] if UnsetType in get_args(union) else union  # a key that must be there has no UNSET
        found[field.encode_name] = Key(wanted, meta.description, default)
    return found


KEYS = keys(Configuration)
SITE_KEYS, SUBMISSION_KEYS = keys(Site), keys(Submission)


def kind(type_: Any) -> str:
    """A type as a phrase: "a list of texts", "info, warning or error"."""
    origin, arguments = get_origin(type_), get_args(type_)
    if arguments == (Submission,):
        return "a list of tables with paths and options"
    if origin is Annotated:
        return kind(arguments[0])
    if origin is Literal:
        return f"{', '.join(arguments[:-1])} or {arguments[-1]}"
    simple = {str: "text", bool: "true or false", int: "a whole number", list: "a list of strings"}
    return simple.get(origin or type_, "a table")


def problems(table: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with a configuration, each with the path of its key."""
    try:
        convert(table, Configuration)
    except ValidationError:
        found = list(_wrong_in(table, KEYS, ""))
        yield from found or ["must be a table of settings"]
    yield from _too_many_patterns(table)
    yield from _unknown_checks(table)
    checks = table.get("checks")
    if isinstance(checks, Mapping):
        yield from _wrong_options(checks)


def _too_many_patterns(table: Mapping[str, object]) -> Iterator[str]:
    """The keys with more patterns than each path may be compared with."""
    submissions = table.get("submit")
    tables = submissions if isinstance(submissions, list) else ()
    of_submissions = [each.get("paths") for each in tables if isinstance(each, Mapping)]
    given = [(key, [table.get(key)]) for key in ("include", "exclude", "extend-exclude", "per-file-ignores")]
    for key, groups in (*given, ("submit.paths", of_submissions)):
        patterns = [
            str(each)
            for group in groups
            for each in ([group] if isinstance(group, str) else group if isinstance(group, (list, Mapping)) else ())
        ]
        size = sum(map(len, patterns))
        if len(patterns) > MOST_PATTERNS or size > MOST_PATTERN_CHARACTERS:
            yield (
                f"{key}: has {len(patterns)} patterns, of {size} characters; it may have {MOST_PATTERNS}, of"
                f" {MOST_PATTERN_CHARACTERS}: write patterns for whole folders"
            )


def _unknown_checks(table: Mapping[str, object]) -> Iterator[str]:
    """The names of checks in a configuration that are not the name of any."""
    named: list[tuple[str, object]] = [("", table.get(key)) for key in ("select", "extend-select", "ignore")]
    ignores, severities = table.get("per-file-ignores"), table.get("severity")
    named += [("", value) for value in ignores.values()] if isinstance(ignores, Mapping) else []
    named += [("severity: ", list(severities))] if isinstance(severities, Mapping) else []
    for where, selectors in named:
        for selector in selectors if isinstance(selectors, list) else ():
            try:
                registry().select(str(selector))
            except InputError as error:
                yield f"{where}{error}"


def _wrong_options(table: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with the options of single checks."""
    expected = {"str": "text", "bool": "true or false", "int": "a number", "tuple": "a list"}
    for key, value in table.items():
        entry = registry().find(key)
        if entry is None:
            yield f"checks: unknown check '{key}'{registry().suggestion(key)}"
            continue
        known = {option.name: option for option in registry().load(entry).card.options}
        for name, setting in value.items() if isinstance(value, Mapping) else ():
            at = f"checks.{entry.name}"
            if name not in known:
                yield f"{at}: unknown key '{name}'{did_you_mean(name, known)}"
                continue
            default = known[name].default
            given = tuple(setting) if isinstance(setting, list) else setting
            if default is not None and type(given) is not type(default):
                wanted = type(default).__name__
                yield f"{at}.{name}: must be {expected.get(wanted, wanted)}, not {setting!r}"


def _wrong_in(table: Mapping[str, object], known: Mapping[str, Key], prefix: str) -> Iterator[str]:
    """The problems of a table; msgspec names neither the value nor, in a table of arbitrary keys, the key."""
    for name, value in table.items():
        if name not in known:
            elsewhere = f" (did you mean 'site.{name}'?)" if not prefix and name in SITE_KEYS else ""
            if not prefix and name == "tool":  # as in pyproject.toml
                elsewhere = ": outside of pyproject.toml, settings stand at the top level, without [tool.sbatchlint]"
            yield f"unknown key '{prefix}{name}'{elsewhere or did_you_mean(name, known, lambda key: prefix + key)}"
            continue
        expected = known[name].type
        if _is_valid(value, expected):
            continue
        path = prefix + name
        if expected is Site and isinstance(value, Mapping):
            yield from _wrong_in(value, SITE_KEYS, f"{path}.")
        elif get_origin(expected) is dict and isinstance(value, Mapping):
            inner = get_args(expected)[1]
            for key, each in value.items():
                if not _is_valid(each, inner):
                    yield _wrong_value(f"{path}.{key}", each, inner)
        elif get_args(expected) == (Submission,) and isinstance(value, list):
            for each in value:
                yield from _wrong_submission(each, path)
        else:
            yield _wrong_value(path, value, expected)


def _wrong_submission(value: object, path: str) -> Iterator[str]:
    """What is wrong with one table of submissions."""
    if not isinstance(value, Mapping):
        yield f"{path}: must be a table with paths and options, not {shown(value)}"
        return
    wrong = list(_wrong_in(value, SUBMISSION_KEYS, f"{path}."))
    missing = [name for name in SUBMISSION_KEYS if name not in value]
    yield from wrong or [f"{path}: a table has no {' and no '.join(missing)}"] if missing else wrong


def _wrong_value(path: str, value: object, expected: Any) -> str:
    least = ", 0 or more" if isinstance(value, int) and kind(expected) == "a whole number" else ""
    return f"{path}: must be {kind(expected)}{least}, not {shown(value)}"


def _is_valid(value: object, expected: Any) -> bool:
    try:
        convert(value, expected)
    except ValidationError:
        return False
    return True


def shown(value: object) -> str:
    """A value as shown in a message."""
    return str(value).lower() if isinstance(value, bool) else repr(value)
