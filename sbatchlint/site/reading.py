"""Profiles in TOML: where they are found, and how they are read."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_type_hints

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from sbatchlint.site.model import Accounts, Nodes, Partition, Profile, Qos
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.versions import major
from sbatchlint.source.files import InputError, content, installed_file, unreadable

FORMAT = 1
_EXAMPLES = os.path.join(os.path.dirname(__file__), "examples")
_NO_TIME = ("NONE", "UNLIMITED")


def examples() -> list[str]:
    """The names of the profiles that come with sbatchlint."""
    return sorted(name.removesuffix(".toml") for name in os.listdir(_EXAMPLES) if name.endswith(".toml"))


def is_example(path: str) -> bool:
    """Whether a file is one of the profiles that come with sbatchlint."""
    return os.path.dirname(path) == _EXAMPLES


def path_of(name: str, folder: str = "") -> str:
    """The file of a profile that settings name: a path from `folder` on, an example, or an installed package.

    A package has it as its `site.toml`; it is not imported. Raises `InputError`.
    """
    if "/" in name or name.endswith(".toml"):
        return os.path.join(folder, os.path.expanduser(name))
    if name in examples():
        return os.path.join(_EXAMPLES, f"{name}.toml")
    installed = installed_file(name, "site.toml")
    if installed is not None:
        return installed
    known = ", ".join(examples())
    raise InputError(f"there is no profile '{name}': neither a path (./{name}.toml), nor an example ({known}), nor an"
                     " installed package with a site.toml")  # fmt: skip


def read_profile(path: str) -> Profile:
    """The profile in a file. Raises `InputError` if there is none."""
    relative = os.path.relpath(path)
    shown = path if relative.startswith("..") else relative
    try:
        return parsed(content(path), shown)
    except OSError as error:
        raise unreadable(shown, error, "profile") from None


@lru_cache(maxsize=8)  # each folder with settings asks
def parsed(data: bytes, shown: str) -> Profile:
    """The profile in a TOML document. Raises `InputError` if it is invalid."""
    import tomllib  # heavy

    try:
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"{shown}: is not UTF-8") from None
    except (ValueError, RecursionError) as error:  # also for a number with more digits than Python converts
        raise InputError(f"{shown}: is not valid TOML: {error}") from None
    said = _problem(table)
    if said:
        raise InputError(f"{shown}: {said}")
    profile: Profile = convert(table, Profile)
    return profile


def _problem(table: dict[str, Any]) -> str:
    """The first problem of a profile; "" for a valid one."""
    if "format" not in table:
        return "is not a profile of a cluster, which `sbatchlint site` writes: `format = 1` is missing"
    if table["format"] != FORMAT:
        return f"its format is {table['format']!r}, and this sbatchlint reads {FORMAT}"
    for name, kind in (("partitions", Partition), ("qos", Qos)):
        tables = table.get(name, {})
        if not isinstance(tables, dict):
            return f"{name}: must be a table of tables"
        for key, value in tables.items():
            said = _problem_in(value, kind)
            if said:
                return f"{name}.{key}{said}"
    lists: tuple[tuple[str, type[Struct]], ...] = (("nodes", Nodes), ("accounts", Accounts))
    for name, listed in lists:
        every = table.get(name, [])
        if not isinstance(every, list):
            return f"{name}: must be a list of tables: [[{name}]]"
        for number, value in enumerate(every, 1):
            said = _problem_in(value, listed)
            if said:
                return f"{name}, number {number}{said}"
    if "any-account" in table:
        said = _problem_in(table["any-account"], Accounts)
        if said:
            return f"any-account{said}"
    return _problem_in(table, Profile).removeprefix(": ").removeprefix(".") or _contradiction(table)


def _problem_in(value: object, kind: type[Struct]) -> str:
    if not isinstance(value, Mapping):
        return ": must be a table"
    known = {field.encode_name: field for field in fields(kind)}
    hints = get_type_hints(kind)
    for name, each in value.items():
        field = known.get(name)
        if field is None:
            from difflib import get_close_matches  # slow to import

            near = get_close_matches(name, known, n=1)
            return f".{name}: unknown key" + (f" (did you mean '{near[0]}'?)" if near else "")
        try:
            convert(each, hints[field.name])
        except ValidationError as error:
            return f".{name}: {error}"
        if name.endswith("-time") and each.upper() not in _NO_TIME and minutes(each) is None:
            return f".{name}: {each!r} is not a time, such as 1-00:00:00"
        if isinstance(each, (int, float)) and each < 0:
            return f".{name}: must be 0 or more"
    missing = [name for name, field in known.items() if field.required and name not in value]
    return f": {missing[0]} is missing" if missing else ""


def _contradiction(table: dict[str, Any]) -> str:
    """What does not fit together."""
    partitions = table.get("partitions", {})
    for number, each in enumerate(table.get("nodes", []), 1):
        for name in each.get("partitions", ()) if partitions else ():
            if name not in partitions:
                return f"nodes, number {number}.partitions: there is no [partitions.{name}]"
    release = table.get("release")
    if release is not None:
        try:
            major(release)
        except ValueError:
            return f"release: {release!r} is not a Slurm release that sbatchlint knows, such as 23.11.4"
    if table.get("gpus") not in (None, "gres", "whole-node"):
        return f"gpus: must be gres or whole-node, not {table['gpus']!r}"
    return ""
