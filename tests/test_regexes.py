"""No regular expression of the project takes exponential time, whatever it is matched with."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import sbatchlint
from ambiguity import begins_with_loop, is_ambiguous
from conftest import ROOT
from sbatchlint.diagnose import submitters
from sbatchlint.registry import registry
from sbatchlint.source import secret_hooks
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_lines import PLACES_OF_LINES
from sbatchlint.source.secret_places import PLACES

OF_RE = ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")


def _patterns() -> Iterator[tuple[str, str | bytes, int]]:
    """The patterns in the variables of all modules, and those that calls have; each with where it stands."""
    names = [each.name for each in pkgutil.walk_packages(sbatchlint.__path__, "sbatchlint.")]
    for name in names:
        if not name.endswith("__main__"):
            yield from _of_value(name, vars(importlib.import_module(name)))
    for check in registry().load_all():
        yield from _of_value(check.card.code, vars(check.module))
    for path in (*(ROOT / "sbatchlint").rglob("*.py"), *(ROOT / "checks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{each}" for each in OF_RE}:
                if isinstance(node.args[0], ast.Constant):
                    yield f"{path.name}:{node.lineno}", node.args[0].value, 0


def _of_value(name: str, value: Any) -> Iterator[tuple[str, str | bytes, int]]:
    if isinstance(value, (Regex, re.Pattern)):
        yield name, value.pattern, value.flags
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("__builtins__", "HTML_SEQUENCES"):  # of markdown-it-py, which `_html_block` guards
                yield from _of_value(f"{name} {key}"[:80], each)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _of_value(name, each)


@pytest.mark.slow
def test_no_loop_reads_a_text_in_two_ways() -> None:
    patterns = {(pattern, flags): name for name, pattern, flags in _patterns()}
    assert len(patterns) > 1000
    assert [f"{name}: {each[0]!r}" for each, name in patterns.items() if is_ambiguous(*each)] == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(a+)+b", True),
        (r"[A-Z]{3,}(?:[._-]?[A-Z]{2,})*", True),
        (r"[A-Z]{3,}(?:[._-][A-Z]{2,})*", False),
        (r"(?:\$\w+|[\w.])+", True),
        (r"(?:\$\w|[\w.])+", False),
        (r"(?:--?\S+ )*?x", True),
        (r"(?:(?>--?\S+) )*?x", False),
        (r"(?:#[^\n]*|[\s(])+", True),
        (r"(?:#[^\n]*+|[\s(])+", False),
        (r"x(?=(?:a|aa)*b)", True),
        (r".*a.*b", False),
    ],
)
def test_what_is_ambiguous(pattern: str, expected: bool) -> None:
    assert is_ambiguous(pattern) is expected


def test_no_search_in_lines_of_any_length_begins_with_a_loop() -> None:
    patterns = [pattern for _, pattern in (*PLACES, *PLACES_OF_LINES, *secret_hooks._COMPILED)] + [submitters._TYPED]
    assert len(patterns) > 100
    assert [each.pattern for each in patterns if begins_with_loop(each.pattern, each.flags)] == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\w*key=", True),
        (r"(?:a|\w+)=", True),
        (r"x?\w*=", True),
        (r"(?=\w*=)\w", True),
        (r"(?<!\w)\w*key=", False),
        (r"\b\w*key=", False),
        (r"\w{0,80}key=", False),
        (r"key\w*=", False),
    ],
)
def test_what_begins_with_a_loop(pattern: str, expected: bool) -> None:
    assert begins_with_loop(pattern) is expected
