"""Reads configuration files, and says what is wrong with one: which keys there are, and of which kind."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sbatchlint.registry import did_you_mean
from sbatchlint.source.files import InputError, read_bytes

CONFIGURATION_FILES = (".sbatchlint.toml", "sbatchlint.toml", "pyproject.toml")
LEVELS = ("info", "warning", "error")
_VERSION = re.compile(r"\d\d\.\d\d(?:-\d\d\.\d\d)?")


class Key(NamedTuple):
    """A key of the configuration.

    `kind`: of its value: text, texts, flag, number, level, version, table, levels, lists.
    """

    kind: str
    help: str
    choices: tuple[str, ...] = ()


KEYS: Mapping[str, Key] = {
    "extend": Key("text", "another configuration file, read first"),
    "select": Key("texts", "the checks that run: codes, prefixes of codes, names, groups, or ALL"),
    "extend-select": Key("texts", "checks that run as well"),
    "ignore": Key("texts", "checks that do not run"),
    "per-file-ignores": Key("lists", "checks that do not run on files that match a pattern"),
    "severity": Key("levels", "another severity for a check: error, warning or info"),
    "fail-on": Key("level", "the least severity that makes a run fail", LEVELS),
    "slurm-version": Key("version", "the Slurm the jobs meet: 23.11, or 23.11-25.05"),
    "exclude": Key("texts", "patterns of paths that are left out, instead of the default ones"),
    "extend-exclude": Key("texts", "patterns of paths that are left out as well"),
    "plugin-options": Key("texts", "long options that plugins of the site add to sbatch and srun"),
    "plugin-options-from": Key("text", "a file with what `sbatch --help` prints on the cluster, for the same"),
    "site": Key("table", "what holds on the cluster"),
    "checks": Key("table", "options of single checks, in a table each"),
}

SITE_KEYS: Mapping[str, Key] = {
    "shared-paths": Key("texts", "folders that every node sees"),
    "local-paths": Key("texts", "folders that each node has for itself"),
    "home-is-shared": Key("flag", "whether every node sees the home folders"),
    "gpus-required": Key("flag", "whether a job without a GPU request is refused, or gets none"),
    "gpu-partitions": Key("texts", "partitions whose jobs get GPUs without asking"),
    "gpus-per-node": Key("number", "how many GPUs a node has"),
    "gpu-vendor": Key("text", "nvidia, amd or intel", ("nvidia", "amd", "intel")),
    "gpu-arch": Key("text", "the architecture of the GPUs, for instance sm_90"),
    "pyxis": Key("text", "the version of the pyxis plugin"),
    "pyxis-in-sbatch": Key("flag", "whether sbatch takes the options of pyxis"),
    "container-home-mounted": Key("flag", "whether containers see the home folder when no option says so"),
}


def read_configuration(path: str, required: bool = False) -> dict[str, object] | None:
    """The table of a file, checked and merged with those it extends; None for a pyproject.toml without a part for us.

    `required`: the user named the file, so it must have one. Raises `InputError` where it is invalid.
    """
    return _read(path, required, ())


def _read(path: str, required: bool, chain: tuple[str, ...]) -> dict[str, object] | None:
    real = os.path.realpath(path)
    if real in chain:
        raise InputError(f"{path}: extends itself")
    relative = os.path.relpath(path)
    shown = path if relative.startswith("..") else relative
    data = read_bytes(path)
    in_project = os.path.basename(path) == "pyproject.toml"
    if in_project and not required and b"sbatchlint" not in data:
        return None
    table = parse(data, shown)
    if in_project:
        tool = table.get("tool", {})
        own = tool.get("sbatchlint") if isinstance(tool, dict) else None
        if own is None:
            return {} if required else None
        if not isinstance(own, dict):
            raise InputError(f"{shown}: tool.sbatchlint must be a table")
        table = own
    check_table(table, shown)
    listing = table.get("plugin-options-from")
    if isinstance(listing, str):
        table["plugin-options-from"] = os.path.join(os.path.dirname(path), os.path.expanduser(listing))
    base = table.get("extend")
    if isinstance(base, str):
        target = os.path.join(os.path.dirname(path), os.path.expanduser(base))
        if not os.path.isfile(target):
            raise InputError(f"{shown}: extend: there is no file {base}")
        table = _merge(_read(target, True, (*chain, real)) or {}, table)
    return table


def _merge(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Merges two tables: `above` replaces values of `below`, but adds to `ignore`, to `extend-` lists and to tables."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge(old, value) if key in ("site", "checks") else {**old, **value}
        elif isinstance(old, list) and isinstance(value, list) and (key.startswith("extend-") or key == "ignore"):
            merged[key] = [*old, *value]
        else:
            merged[key] = value
    return merged


def parse(data: bytes, shown: str) -> dict[str, object]:
    """Parses TOML. Raises `InputError`, which says where it is invalid."""
    import tomllib  # heavy, and many runs have no configuration

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"{shown}: is not UTF-8") from None
    except (ValueError, RecursionError) as error:  # also where it holds a number of more digits than Python reads
        raise InputError(f"{shown}: is not valid TOML: {error}") from None


def parse_pair(text: str) -> dict[str, object]:
    """The table of one `KEY=VALUE` of the command line. Raises `InputError` where it is invalid."""
    table = parse(text.encode("utf-8", "surrogateescape"), f"--config '{text}'")
    check_table(table, f"--config '{text}'")
    return table


def merge_tables(tables: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Merges tables; later ones win."""
    merged: dict[str, object] = {}
    for table in tables:
        merged = _merge(merged, table)
    return merged


def check_table(table: Mapping[str, object], where: str) -> None:
    """Raises `InputError` for the first unknown key or value of the wrong kind."""
    _check_keys(table, KEYS, where, "")
    site = table.get("site")
    if isinstance(site, Mapping):
        _check_keys(site, SITE_KEYS, where, "site.")


def _check_keys(table: Mapping[str, object], keys: Mapping[str, Key], where: str, prefix: str) -> None:
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            elsewhere = f" (did you mean 'site.{name}'?)" if not prefix and name in SITE_KEYS else ""
            raise InputError(
                f"{where}: unknown key '{prefix}{name}'{elsewhere or did_you_mean(name, keys, lambda k: prefix + k)}"
            )
        wrong = _wrong(key, value)
        if wrong:
            raise InputError(f"{where}: {prefix}{name}: {wrong}, not {_shown(value)}")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


def _wrong(key: Key, value: object) -> str:
    """What is wrong with a value ("must be a list of texts"); "" for a valid one."""
    if key.kind == "texts":
        return "" if _is_texts(value) else "must be a list of texts"
    if key.kind == "flag":
        return "" if isinstance(value, bool) else "must be true or false"
    if key.kind == "number":
        right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return "" if right else "must be a whole number"
    if key.kind in ("table", "levels", "lists"):
        if not isinstance(value, Mapping):
            return "must be a table"
        if key.kind == "levels" and not all(each in LEVELS for each in value.values()):
            return "must give error, warning or info for each check"
        if key.kind == "lists" and not all(_is_texts(each) for each in value.values()):
            return "must give a list of checks for each pattern"
        return ""
    if not isinstance(value, str):
        return "must be text"
    if key.choices and value not in key.choices:
        return "must be " + ", ".join(key.choices[:-1]) + f" or {key.choices[-1]}"
    if key.kind == "version":
        return wrong_version(value)
    return ""


def wrong_version(value: str) -> str:
    """What is wrong with a Slurm version or a range of two; "" for a valid one."""
    if not _VERSION.fullmatch(value):
        return "must be a Slurm version such as 23.11, or a range such as 23.11-25.05"
    low, _, high = value.partition("-")
    return "must begin with the older version" if high and high < low else ""
