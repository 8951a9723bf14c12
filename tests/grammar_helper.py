"""What is asked of the grammars of option values in the tables of tests."""

from __future__ import annotations

from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.options import Option, find

# The releases that were asked what they say to each value of a table.
SEEN = ("22.05", "23.11", "24.11", "26.05")


def words(text: str, *others: str) -> list[str]:
    return [*text.split(), *others]


def option(name: str) -> Option:
    found = find(name)
    assert found is not None
    return found


def said(name: str, value: str, version: str) -> str:
    """What a release says to a value; '' where it takes it."""
    found = refusals(option(name), value, (version,))
    return found[0].message if found else ""


def check_table(name: str, message: str, taken: list[str], refused: list[str]) -> None:
    for version in SEEN:
        for value in taken:
            assert said(name, value, version) == "", (version, value)
        for value in refused:
            assert said(name, value, version) == message, (version, value)
