"""Reading of configuration files: how they extend one another, and how their tables are merged."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sbatchlint.source import lookups
from sbatchlint.source.files import InputError, installed_file, read_bytes
from sbatchlint.source.regex import Regex

CONFIGURATION_FILES = (".sbatchlint.toml", "sbatchlint.toml", "pyproject.toml")
LEVELS = ("info", "warning", "error")
_VERSION = Regex(r"\d\d\.\d\d(?:-\d\d\.\d\d)?")
_PATCHED = Regex(r"\d\d\.\d\d(?:\.\d+)?")


class Layer(NamedTuple):
    """A table of settings and its origin: the path of its file as shown to the user."""

    origin: str
    table: dict[str, object]


def read_configuration(path: str, required: bool = False) -> dict[str, object] | None:
    """The validated table of a file, merged with those it extends; None for a pyproject.toml without `tool.sbatchlint`.

    `required`: the user named the file, so it must have a table. Raises `InputError` if it is invalid.
    """
    layers = read_layers(path, required)
    return None if layers is None else merge_tables(layer.table for layer in layers)


def read_layers(path: str, required: bool = False) -> list[Layer] | None:
    """The tables that `read_configuration` merges, the extended ones first."""
    return _read(path, required, ())


def _read(path: str, required: bool, chain: tuple[str, ...]) -> list[Layer] | None:
    real = os.path.realpath(path)
    relative = os.path.relpath(path)
    shown = path if relative.startswith("..") else relative
    if real in chain:
        raise InputError(f"{shown}: extends itself")
    if lookups.is_out_of_bounds(path):
        raise InputError(f"{shown}: lies outside of what may be read")
    data = read_bytes(path)
    in_project = os.path.basename(path) == "pyproject.toml"
    if in_project and not required and b"sbatchlint" not in data:
        return None
    table = parse(data, shown)
    if chain and isinstance(table.get("format"), int):  # the profile of a cluster
        return [Layer(shown, {"site": {"profile": path}})]
    if in_project:
        tool = table.get("tool", {})
        own = tool.get("sbatchlint") if isinstance(tool, dict) else None
        if own is None:
            return [] if required else None
        if not isinstance(own, dict):
            raise InputError(f"{shown}: tool.sbatchlint must be a table")
        table = own
    check_table(table, shown)
    for key in ("baseline", "plugin-options-from"):
        named = table.get(key)
        if isinstance(named, str) and named:
            table[key] = _beside(path, named)
    site = table.get("site")
    if isinstance(site, dict) and is_path(site.get("profile")):
        site["profile"] = _beside(path, site["profile"])
    base = table.get("extend")
    below: list[Layer] = []
    if isinstance(base, str):
        target = _beside(path, base)
        if not lookups.is_out_of_bounds(target) and not os.path.isfile(target):
            target = installed_file(base, "sbatchlint.toml") or installed_file(base, "site.toml") or ""
            if not target:
                told = (
                    f", and no installed package {base} with a sbatchlint.toml or site.toml"
                    if base.isidentifier()
                    else ""
                )
                raise InputError(f"{shown}: extend: there is no file {base}{told}")
        below = _read(target, True, (*chain, real)) or []
    return [*below, Layer(shown, table)]


def _beside(path: str, named: str) -> str:
    """The path of a file that the configuration file `path` names: from its folder on, with ~ and $HOME filled in."""
    return os.path.join(os.path.dirname(path), os.path.expandvars(os.path.expanduser(named)))


def is_path(profile: object) -> bool:
    """Whether the profile of a site is named by its file, rather than as an example or a package."""
    return isinstance(profile, str) and ("/" in profile or profile.endswith(".toml"))


def joins(key: str) -> bool:
    """Whether a list under this key is appended to that of the extended file, rather than replacing it."""
    return key.startswith("extend-") or key == "ignore"


def _merge(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """The table in which `above` replaces the values of `below`, but adds to `ignore`, `extend-` lists and tables."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge(old, value) if key in ("site", "checks") else {**old, **value}
        elif isinstance(old, list) and isinstance(value, list) and joins(key):
            merged[key] = [*old, *value]
        else:
            merged[key] = value
    return merged


# tomllib needs time and memory quadratic in the number of parts of a dotted key.
_LONG_KEY = Regex(rb"(?<![\w\"'-])[\w\"'-]+(?:[ \t]*\.[ \t]*[\w\"'-]+){64}")


def parse(data: bytes, shown: str) -> dict[str, object]:
    """The table of a TOML document. Raises `InputError` if it is invalid."""
    import tomllib  # heavy, and many runs have no configuration

    if _LONG_KEY.search(data) is not None:
        raise InputError(f"{shown}: a key has more than 64 parts")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"{shown}: is not UTF-8") from None
    except (ValueError, RecursionError) as error:  # also for a number with more digits than Python converts
        raise InputError(f"{shown}: is not valid TOML: {error}") from None


def parse_pair(text: str) -> dict[str, object]:
    """The table of one `KEY=VALUE` of the command line. Raises `InputError` if it is invalid."""
    try:
        table = parse(text.encode("utf-8", "surrogateescape"), f"--config '{text}'")
    except InputError as error:
        raise InputError(f"{error}; text needs quotes: KEY=\"VALUE\"") from None
    check_table(table, f"--config '{text}'")
    return table


def merge_tables(tables: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """The merged table, in which later tables win."""
    merged: dict[str, object] = {}
    for table in tables:
        merged = _merge(merged, table)
    return merged


def check_table(table: Mapping[str, object], where: str) -> None:
    """Raises `InputError` for unknown keys and values of the wrong type; it reports all of them."""
    if not table:
        return
    from sbatchlint.keys import problems  # heavy, and many runs have no configuration

    said = list(problems(table))
    version = table.get("slurm-version")
    if isinstance(version, float):
        said = [each for each in said if not each.startswith("slurm-version:")]
        said.append(f'slurm-version: needs quotes: "{version:05.2f}"')
    if isinstance(version, str):
        said = [each for each in said if not each.startswith("slurm-version:")]
        problem = version_problem(version)
        if problem:
            told = "" if version in problem else f", not {version!r}"
            said.append(f"slurm-version: {problem}{told}")
    if said:
        raise InputError.of_several([f"{where}: {each}" for each in said])


def version_problem(value: str) -> str:
    """What is wrong with a Slurm version or a range of two; "" for a valid one."""
    if not _VERSION.fullmatch(value):
        if all(map(_PATCHED.fullmatch, value.split("-"))):
            return "must be without the last number, such as 23.11"
        return "must be a Slurm version such as 23.11, or a range such as 23.11-25.05"
    from sbatchlint.slurm.versions import MAJORS, major  # most runs name no version

    low, _, high = value.partition("-")
    for version in filter(None, (low, high)):
        try:
            major(version)
        except ValueError:
            return f"must name releases that sbatchlint knows, {', '.join(MAJORS[:-1])} or {MAJORS[-1]}: not {version}"
    return "must begin with the older version" if high and high < low else ""
