"""The YAML file that a Python program's command line names, and what it sets.

Hydra's `--config-path` (hydra/_internal/config_search_path_impl.py, 1.3) is relative to the program's folder, and its
`--config-name` has no suffix. LightningCLI's file is that of `--config` or `-c`.
"""

import os.path
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, program_options
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span
from sbatchlint.source.yaml_files import Value, read_yaml

_KINDS = {"--config-path": "folder", "--config-name": "name", "--config": "file"}
_KINDS |= {"-cp": "folder", "-cn": "name", "-c": "file"}
# An item of Hydra's `defaults` that sets nothing of the program: of Hydra itself, or within a block of its own.
_HARMLESS = Regex(r"_self_|(?:optional[ \t]+)?(?:override[ \t]+)?/?hydra/\S+")


class NamedFile(NamedTuple):
    """A file of YAML by its name, and the place that names it. `prefix`: of options that override its values."""

    name: str
    place: Span
    prefix: str = ""


class Configuration(NamedTuple):
    """What a file sets: blocks of values. `name`: without its folder. `place`, `prefix`: as in `NamedFile`."""

    values: Mapping[str, Value]
    name: str
    place: Span
    prefix: str

    def block(self, name: str) -> Mapping[str, Value]:
        """A block of the file by its dotted name; an empty one where it is not there, or not known."""
        found: Value = self.values
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def number(self, block: str, name: str) -> int | None:
        """A positive number of a block; None where there is none, or it is not known."""
        return positive(self.block(block).get(name))


def positive(value: Value) -> int | None:
    return parse_integer(value) or None if isinstance(value, str) and is_number(value) and len(value) < 13 else None


def named_file(program: Pieces, words: Argv) -> NamedFile | None:
    """The file that the words of a program name; None without one."""
    values: dict[str, tuple[str, Span]] = {}
    for option, value, _ in program_options(words, _KINDS.__contains__):
        text = None if value is None else text_of(value)
        if text and value is not None:
            values[_KINDS[option]] = (text, span_of(value))
    if "folder" in values and "name" in values:
        script = text_of(program)
        if script is None:
            return None
        name, place = values["name"]
        name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
        return NamedFile(os.path.normpath(os.path.join(os.path.dirname(script), values["folder"][0], name)), place)
    name, place = values.get("file", ("", Span(0, 0)))
    return NamedFile(name, place, "--") if name.endswith((".yaml", ".yml")) else None


def names_file(option: str) -> bool:
    """Whether an option may name such a file."""
    return option in _KINDS


def configuration_of(job: Job, invocation: Invocation, program: Pieces, words: Argv) -> Configuration | None:
    """What the file of a program sets, if no other file may set more of it; None where that is not known."""
    if (text_of(program) or "")[:1] == "-":  # a module, whose folder is not known
        return None
    if sum(1 for _ in program_options(words, ("--config", "-c", "--config-dir", "-cd").__contains__)) > 1:
        return None  # the last one overrides parts of the others
    named = named_file(program, words)
    path = None if named is None else job.beside.named(invocation, named.name)
    values = None if path is None else read_yaml(path)
    if path is None or values is None or named is None or not _is_whole(values.get("defaults")):
        return None
    return Configuration(values, os.path.basename(path), named.place, named.prefix)


def _is_whole(defaults: Value) -> bool:
    """Whether no file of Hydra's list of defaults sets what the program reads at the top or in a block."""
    if not isinstance(defaults, list):
        return defaults is None
    return all(isinstance(item, str) and _HARMLESS.fullmatch(item) for item in _items(defaults))


def _items(defaults: list[Value]) -> Iterator[Value]:
    """The items, those of a group by its name; those that are turned off, or go to a deeper block, are left out."""
    for item in defaults:
        for name, value in item.items() if isinstance(item, Mapping) else ((item, ""),):
            package = name.partition("@")[2] if isinstance(name, str) else ""
            if value is not None and package.count(".") == 0:
                yield name
