"""What the usual options of sbatch and srun mean, for people."""

import json
import os.path
from functools import cache
from typing import NamedTuple

from sbatchlint.slurm.grammar.dependencies import TYPES
from sbatchlint.slurm.options import COMMANDS, Option, plugin_options, table
from sbatchlint.slurm.versions import MAJORS, describe

_DATA = os.path.join(os.path.dirname(__file__), "data", "notes.json")


class Note(NamedTuple):
    """What an option is, what holds without it, and in which unit or form its value is; "" where nothing is said."""

    meaning: str
    default: str
    unit: str


@cache
def notes(command: str) -> dict[str, Note]:
    """The notes by the long name of the option, as this command takes it: for srun, as a step in a job does."""
    with open(_DATA, encoding="utf-8") as file:
        rows = json.load(file)["notes"]
    told = {name: {**row, **row.get(command, {})} for name, row in rows.items()}
    return {name: Note(row["is"], row.get("default", ""), row.get("unit", "")) for name, row in told.items()}


def options_of(command: str, versions: tuple[str, ...]) -> dict[str, Option]:
    """The options that a command has in some of these releases, by long name; those of known plugins last."""
    found: dict[str, Option] = {}
    for version in reversed(versions):
        for name, option in table(command, version).names.items():
            found.setdefault(name, option)
    for name, option in plugin_options().items():
        if command in option.commands:
            found.setdefault(name, option)
    return found


def words_of(option: Option) -> list[str]:
    """The words that an option takes as its value, or with which it begins, as far as they are known."""
    if option.kind == "dependency":
        return [*(f"{each}:" for each in TYPES if each != "expand"), "singleton"]
    return [word.removesuffix("N") if word.endswith("=N") else word for word in option.words]


def releases_of(option: Option) -> str:
    """Which commands have the option, where not in all releases that are known: "sbatch since 23.02, srun"."""
    told = []
    for command in COMMANDS:
        releases = option.commands.get(command)
        if releases:
            when = describe(releases, MAJORS)
            told.append(f"{command} {when}" if when else command)
    return ", ".join(told)


def text_of(option: Option, command: str) -> str:
    """What is known of an option of a command, as Markdown."""
    note = notes(command).get(option.canonical)
    letter = f" (`-{option.letter}`)" if option.letter else ""
    lines = [f"`--{option.name}`{letter}" + (f": {note.meaning}" if note is not None else "")]
    if note is not None and note.unit:
        lines.append(f"- value: {note.unit}")
    elif option.form:
        lines.append(f"- value: `{option.form}`")
    words = words_of(option)
    if words:
        lines.append("- words: " + ", ".join(f"`{word}`" for word in words))
    if note is not None and note.default:
        lines.append(f"- without it: {note.default}")
    lines.append(f"- accepted by {releases_of(option)}" + (f" (plugin {option.plugin})" if option.plugin else ""))
    return "\n".join(lines)
