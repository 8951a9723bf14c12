"""Shapes that are found in guides to Slurm (tests/data/document_snippets.md): each fault is named once the snippet is
put into a script, and those that are right, however odd they look, are left alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

TEXT = (Path(__file__).parent / "data" / "document_snippets.md").read_text()
SNIPPET = re.compile(r"^## (?:Right|(SB\d+), line (\d+)): ([^\n]+)\n\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """`code`: what must be found, on which `line` of the script (from 1); '' and 0 for a right one."""

    code: str
    line: int
    title: str
    script: str


SNIPPETS = [Snippet(code or "", int(line or 0), title, script) for code, line, title, script in SNIPPET.findall(TEXT)]
FAULTY = [each for each in SNIPPETS if each.code]
RIGHT = [each for each in SNIPPETS if not each.code]


def named(snippets: list[Snippet]) -> list[str]:
    return [f"{each.code} {each.title}".strip() for each in snippets]


def test_every_snippet_is_read() -> None:
    assert len(SNIPPETS) == TEXT.count("\n## ") and RIGHT


@pytest.mark.parametrize("snippet", FAULTY, ids=named(FAULTY))
def test_a_faulty_snippet_is_found_on_its_line(snippet: Snippet) -> None:
    source = Source(snippet.script, "job.sh")
    found = inspect(source, Settings.of_table({})).diagnostics
    lines = {source.row(each.span.start) for each in found if each.code == snippet.code}
    assert lines == {snippet.line}


@pytest.mark.parametrize("snippet", RIGHT, ids=named(RIGHT))
def test_a_right_snippet_is_left_alone(snippet: Snippet) -> None:
    found = inspect(Source(snippet.script, "job.sh"), Settings.of_table({})).diagnostics
    of_interest = [each for each in found if each.code.startswith(("SB3", "SB4")) and each.severity != "info"]
    assert [each.message for each in of_interest] == []


@pytest.mark.parametrize("snippet", FAULTY, ids=named(FAULTY))
def test_what_the_fixes_of_a_snippet_leave_is_no_worse(snippet: Snippet) -> None:
    """What --fix makes of it is stable, and has no finding that was not there before."""
    source = Source(snippet.script, "job.sh")
    before = inspect(source, Settings.of_table({})).diagnostics
    fixed = fix_source(source, Settings.of_table({}), unsafe=True).source
    after = inspect(fixed, Settings.of_table({})).diagnostics
    assert {each.code for each in after if each.severity == "error"} <= {each.code for each in before}
    assert fix_source(fixed, Settings.of_table({}), unsafe=True).source.text == fixed.text
