"""The table of programs: every name once, every trait told and asked for, and rows where one looks for them."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from sbatchlint import programs
from sbatchlint.programs import PROGRAMS, TRAITS, has_trait, programs_with

ROOT = Path(__file__).parent.parent


def test_a_program_stands_in_one_row() -> None:
    names = " ".join(PROGRAMS).split()
    assert sorted(names) == sorted(set(names))


def test_rows_have_known_traits_in_their_order() -> None:
    for names, row in PROGRAMS.items():
        traits = row.split()
        assert traits == [each for each in TRAITS if each in traits], names


def test_rows_are_sorted_below_their_headings() -> None:
    text = Path(programs.__file__).read_text()
    lines = text[text.index("PROGRAMS = {") : text.index("@cache")].splitlines()[1:]
    for heading, rows in groupby(lines, key=lambda line: line.strip().startswith('"')):
        first = [row.split('"')[1].lower() for row in rows if heading]
        assert first == sorted(first)
    for names in PROGRAMS:
        assert names.split() == sorted(names.split(), key=str.lower), names


def test_every_trait_is_told_and_asked_for() -> None:
    sources = [path for folder in ("sbatchlint", "checks") for path in sorted((ROOT / folder).rglob("*.py"))]
    text = "\n".join(path.read_text() for path in sources)
    asked = set()
    for call in re.finditer(r"\b(?:has_trait|is_a|programs_with)\(([^\n]*)", text):
        asked.update(re.findall(r'"([a-z-]+)"', call[1]))
    assert all(TRAITS.values()) and not TRAITS.keys() - asked


def test_asking() -> None:
    assert has_trait("cp", "copies") and has_trait("cp", "kills", "copies")
    assert not has_trait("cp", "kills") and not has_trait("a.out", "copies") and not has_trait(None, "copies")
    assert programs_with("conda") == {"conda", "mamba", "micromamba"}
    with pytest.raises(KeyError):
        programs_with("cooks")
