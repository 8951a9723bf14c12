"""Batch scripts in the cells of notebooks: which cells are read, where their lines stand, what repairs change."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from sbatchlint.documents import fix_document, inspect_document
from sbatchlint.settings import Settings
from sbatchlint.source.documents import read_document, snippets
from sbatchlint.source.text import SLOT, Source

ALL = Settings.of_table({})


def notebook(*cells: str, language: str = "python", indent: int | None = 1, lines: bool = True) -> Source:
    """A notebook with these cells of code after one of text."""
    made: list[dict[str, object]] = [{"cell_type": "markdown", "source": ["# sbatch -N=2 job.sh\n"], "metadata": {}}]
    for cell in cells:
        text = dedent(cell)
        source = text.splitlines(keepends=True) if lines else text
        output = {"output_type": "stream", "name": "stdout", "text": ["#!/bin/bash\n", "#SBATCH -N=2\n", "srun x\n"]}
        made.append({"cell_type": "code", "metadata": {}, "outputs": [output], "source": source, "execution_count": 1})
    whole = {"cells": made, "metadata": {"kernelspec": {"language": language}}, "nbformat": 4, "nbformat_minor": 5}
    return Source(json.dumps(whole, indent=indent) + "\n", "a.ipynb")


CELLS = {
    "a shell": "%%bash\nsbatch -N=2 job.sh\n",
    "a shell with arguments": "%%script bash -x\nsbatch -N=2 job.sh\n",
    "a file": "%%writefile jobs/a.sbatch\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n",
    "a file that is appended": "%%writefile -a a.sh\n#SBATCH -N=2\nsrun ./a\n",
    "a job": "%%sbatch\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n",
    "a command": "x = 1\n!sbatch -N=2 job.sh\n",
    "a command whose output is kept": "if x:\n    out = !sbatch -N=2 job.sh\nprint(out)\n",
    "a command of two lines": "!sbatch \\\n  -N=2 job.sh\nx = 1\n",
    "a magic of slurm-magic": "%sbatch -N=2 job.sh\n",
    "a command without a mark": "srun -N=2 hostname\n",
    "Python": 'f = open("a.sh", "w")\nf.write("""#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n""")\n',
    "Python in a file": '%%writefile launch.py\nopen("a.sh", "w").write("""#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n""")\n',
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize(("indent", "lines"), [(1, True), (None, False)])
def test_findings_and_fixes_have_their_places(cell: str, indent: int | None, lines: bool) -> None:
    source = notebook("y = 1\n", cell, indent=indent, lines=lines)
    (found,) = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    row = cell[: cell.index("-N=2")].count("\n") + 1
    assert source.slice(found.span) == "-N=2"
    assert found.message.endswith(f"(line {row} of cell 3)")
    if indent:
        place = next(at for at, line in enumerate(source.text.split("\n"), 1) if "-N=2" in line and at > 40)
        assert source.row(found.span.start) == place
    after = fix_document(source, ALL).source.text
    expected = json.loads(source.text)
    got = json.loads(after)
    assert got["cells"][0] == expected["cells"][0] and got["cells"][2]["outputs"] == expected["cells"][2]["outputs"]
    assert "".join(got["cells"][2]["source"]) == cell.replace("-N=2", "-N 2")
    assert len(after) == len(source.text)


def test_the_cells_of_python_are_one_program() -> None:
    cells = (
        "N = 2\n%matplotlib inline\n!ls\n",
        'TEXT = """#!/bin/bash\n#SBATCH -N {0}\n./a {1}\n"""',
        'with open("é.sh", "w") as f:\n    f.write(TEXT.format(N, "a"))\n',
    )
    (found,) = snippets(notebook(*cells))
    assert found.text == f"#!/bin/bash\n#SBATCH -N {SLOT}\n./a {SLOT}\n" and not found.is_fragment
    (found,) = snippets(notebook(*cells, "def broken(:\n"))  # each by itself
    assert found.text == "#!/bin/bash\n#SBATCH -N {0}\n./a {1}\n" and found.is_fragment


@pytest.mark.parametrize(
    ("cell", "command"),
    [
        ("!sbatch -N {n + 1} $path", "sbatch -N _ _"),
        ("!sbatch --export=A=${HOME} job.sh", "sbatch --export=A=_ job.sh"),
        ("ids = !sbatch --parsable {name}.sh", "sbatch --parsable _.sh"),
    ],
)
def test_what_ipython_fills_in_is_not_known(cell: str, command: str) -> None:
    (found,) = snippets(notebook(cell))
    assert found.text == command.replace("_", SLOT) and found.is_fragment


@pytest.mark.parametrize(
    "cell",
    [
        "%%html\n<pre>sbatch -N=2 job.sh</pre>",
        "%%writefile notes.md\nsbatch -N=2 job.sh\n",
        "# !sbatch -N=2 job.sh",
        'print("sbatch -N=2 job.sh")',
        "sbatch = 2",
    ],
)
def test_what_is_not_read(cell: str) -> None:
    assert snippets(notebook(cell)) == []


def test_kernels_of_other_languages() -> None:
    assert [each.text for each in snippets(notebook("sbatch -N 2 a.sh\n", language="bash"))] == ["sbatch -N 2 a.sh\n"]
    assert snippets(notebook('open("a.sh", "w").write("sbatch a")', language="R")) == []
    assert len(snippets(notebook("%%bash\nsbatch -N 2 a.sh\n", language="R"))) == 1


def test_other_lines_are_named_as_people_see_them() -> None:
    source = notebook("%%writefile a.sh\n#!/bin/bash\nsrun ./a\n#SBATCH -N 2\n")
    (found,) = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB101"]
    assert "on line 4 of cell 2 is only" in found.message and found.message.endswith("(line 3 of cell 2)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"sbatch"', "it is not JSON"),
        ('{"worksheets": ["sbatch"]}', "it is not a notebook of format 4"),
        ("[" * 100_000 + '"sbatch"', "it is not JSON"),
    ],
)
def test_a_file_that_is_no_notebook_says_so(text: str, reason: str) -> None:
    assert read_document(Source(text, "a.ipynb")).reason.startswith(reason)


PARTS = st.sampled_from(
    [
        "%%bash\n",
        "!sbatch a\n",
        "#SBATCH -N=2\n",
        "srun a",
        "\n",
        "\\",
        '"',
        "{x}",
        "é",
        "\U0001f680",
        "\ud83d",
        "\t",
        "x = ",
    ]
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(PARTS, max_size=8), max_size=4), st.booleans(), st.booleans())
def test_any_cell_is_read(cells: list[list[str]], lines: bool, ascii_only: bool) -> None:
    """Every character of a script stands where it says, and repairs leave JSON."""
    whole = {
        "metadata": {},
        "cells": [
            {"cell_type": "code", "source": parts if lines else "".join(parts)}
            for parts in [*cells, ["!sbatch -N=2 x"]]
        ],
    }
    text = json.dumps(whole, ensure_ascii=ascii_only)
    source = Source(text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"), "a.ipynb")
    inspection = inspect_document(source, ALL)
    assert inspection.faults == []
    for snippet in snippets(source):
        for index, character in enumerate(snippet.text):
            written = source.slice(snippet.span(snippet.line(1)._replace(start=index, end=index + 1)))
            assert character == SLOT or json.loads(f'"{written}"').endswith(character)
    json.loads(fix_document(source, ALL, unsafe=True).source.text)
