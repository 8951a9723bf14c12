"""`config`: the settings that hold for a path, and where each of them comes from."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import NamedTuple

from sbatchlint.cli.arguments import (
    Parser,
    add_configuration_options,
    add_site_option,
    add_version_option,
    overrides,
)
from sbatchlint.configuration import Layer, joins, merge_tables, read_layers
from sbatchlint.keys import KEYS, SITE_KEYS
from sbatchlint.registry import registry
from sbatchlint.report.cells import escape
from sbatchlint.report.json import clean_shown_path
from sbatchlint.report.model import shown_path
from sbatchlint.settings import Resolver
from sbatchlint.source.files import InputError

FORMATS = ("text", "json")
DEFAULT = "default"
COMMAND_LINE = "command line"
_MOST_TOLD = 10  # of checks that do not run
_UNSHOWN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Part(NamedTuple):
    """What one origin (a file, the command line, the defaults) gives to a key."""

    origin: str
    value: object


class Setting(NamedTuple):
    """The value of a key, None where it is not set; `parts`: what it is made of, the lowest first."""

    table: str
    name: str
    value: object
    parts: list[Part]

    @property
    def key(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


def parser() -> Parser:
    made = Parser(
        "config",
        "Prints the settings for a file or folder, and where each of them comes from.",
    )
    made.add_argument("path", nargs="?", default=".", metavar="PATH", help="a file or folder (default: this folder)")
    add_version_option(made)
    add_site_option(made)
    made.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    add_configuration_options(made)
    return made


def config(arguments: list[str]) -> int:
    """Runs `sbatchlint config [PATH]`; returns the exit code."""
    options = parser().parse_args(arguments)
    if not os.path.exists(options.path):
        raise InputError(f"there is no file or folder {options.path}")
    given = overrides(options)
    is_folder = os.path.isdir(options.path)
    settings = Resolver(given).settings(os.path.join(options.path, "*") if is_folder else options.path)
    files = (read_layers(settings.origin, given.configuration is not None) or []) if settings.origin is not None else []
    version = {} if given.slurm_version is None else {"slurm-version": given.slurm_version}
    found = list(_settings([_defaults(), *files, Layer(COMMAND_LINE, dict(given.pairs) | version)]))
    entries = settings.selected if is_folder else settings.checks(options.path)
    running = [entry.code for entry in entries]
    read = [layer.origin for layer in reversed(files)]
    if options.output_format == "json":
        values = {each.key: {"value": each.value, "from": [part._asdict() for part in each.parts]} for each in found}
        shown = {"path": clean_shown_path(options.path), "files": read, "checks": running, "settings": values}
        print(json.dumps(shown, indent=2, default=str))
        return 0
    print(f"# {escape(shown_path(options.path))}: {len(running)} of {len(registry().entries)} checks run")
    print(f"# read: {escape(', extends '.join(read)) or 'no configuration file'}")
    for line in _not_run(set(running)):
        print(f"# {line}")
    print("\n".join(_text(found)))
    return 0


def _not_run(running: set[str]) -> list[str]:
    """Which checks do not run, and why, where they are few."""
    left = [each for each in registry().entries if each.code not in running]
    if len(left) > _MOST_TOLD:
        return []
    stages = [registry().load(each).card.stage for each in left]
    why = {"preview": "a preview: select it by its code", "optional": "optional: select it by its code"}
    return [
        f"not run: {each.code} {each.name} ({why.get(stage, 'left out by the settings')})"
        for each, stage in zip(left, stages, strict=True)
    ]


def _defaults() -> Layer:
    return Layer(DEFAULT, {name: key.default for name, key in KEYS.items() if key.default is not None})


def _settings(layers: list[Layer]) -> Iterator[Setting]:
    merged = merge_tables(layer.table for layer in layers)
    for table, keys in (("", KEYS), ("site", SITE_KEYS)):
        values = _inside(merged, table)
        for name in keys:
            if name not in ("extend", "site"):
                parts = [Part(each.origin, _inside(each.table, table).get(name)) for each in layers]
                parts = [part for part in parts if part.value is not None]
                joined = joins(name) or isinstance(values.get(name), Mapping)
                yield Setting(table, name, values.get(name), parts if joined else parts[-1:])


def _inside(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = table.get(name, {}) if name else table
    return found if isinstance(found, Mapping) else {}


def _text(found: list[Setting]) -> Iterator[str]:
    """TOML, with the origins as comments."""
    plain = [each for each in found if not isinstance(each.value, Mapping)]
    for table in ("", "site"):
        if table:
            yield f"\n[{table}]"
        rows = [each for each in plain if each.table == table]
        for row in rows:
            if row.value is not None:
                yield from _assigned(row)
        unset = [each.name for each in rows if each.value is None]
        if unset:
            yield from wrap(
                f"not set: {', '.join(unset)}",
                110,
                initial_indent="# ",
                subsequent_indent="#   ",
                break_on_hyphens=False,
            )
    for setting in found:
        if isinstance(setting.value, Mapping):
            yield from _tables(setting.name, setting.value, setting.parts)


def _assigned(setting: Setting) -> Iterator[str]:
    lists = [part for part in setting.parts if isinstance(part.value, list)]
    if len(lists) < 2:
        yield f"{setting.name} = {_toml(setting.value)}  # {escape(setting.parts[-1].origin)}"
        return
    yield f"{setting.name} = ["
    for part in lists:
        for value in part.value if isinstance(part.value, list) else ():
            yield f"    {_toml(value)},  # {escape(part.origin)}"
    yield "]"


def _tables(name: str, table: Mapping[str, object], parts: list[Part]) -> Iterator[str]:
    """A table of free keys, and those in it; each key belongs to the last that gives it."""
    simple = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if simple or not table:
        yield f"\n[{name}]"
    for key, value in simple.items():
        origin = next(part.origin for part in reversed(parts) if isinstance(part.value, Mapping) and key in part.value)
        yield f"{_key(key)} = {_toml(value)}  # {escape(origin)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            inner = [Part(part.origin, _inside(part.value, key)) for part in parts if isinstance(part.value, Mapping)]
            yield from _tables(f"{name}.{_key(key)}", value, inner)


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: object) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, str):
        # JSON leaves alone what TOML, or a terminal, does not bear.
        text = json.dumps(value, ensure_ascii=False)
        return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return str(value).lower() if isinstance(value, bool) else str(value)
