"""Scripts inside documents: which are read, where what is found in them stands, and what repairs change."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, examples
from sbatchlint.bash.limits import MOST_WORK
from sbatchlint.documents import document_with_ignores, fix_document, inspect_document
from sbatchlint.engine import Inspection, inspect
from sbatchlint.fix import fix_source
from sbatchlint.settings import Settings
from sbatchlint.source.documents import snippets
from sbatchlint.source.text import Source

ALL = Settings.of_table({})

# Documents with `-N=2`, which is refused, where a reader would copy it.
MARKDOWN = {
    "a fence": "```bash\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n",
    "tildes, and a name": '~~~ sh title="job.sh"\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n~~~\n',
    "attributes": "``` { .bash .copy }\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n",
    "a list": "1. Write:\n\n    ```slurm\n    #!/bin/bash\n\n    #SBATCH -N=2\n    srun ./a\n    ```\n",
    "a quotation": "> ```bash\n> #!/bin/bash\n>\n> #SBATCH -N=2\n> srun ./a\n> ```\n",
    "a list in a quotation": "> - x\n>   ```\n>   #!/bin/bash\n>   #SBATCH -N=2\n>   srun ./a\n>   ```\n",
    "a tab of MkDocs": '=== "Here"\n\n    ```bash\n    #!/bin/bash\n    #SBATCH -N=2\n    srun ./a\n    ```\n',
    "a note without a blank line": "!!! note\n    ```bash\n    #!/bin/bash\n    #SBATCH -N=2\n    srun ./a\n    ```\n",
    "no label": "```\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n",
    "directives alone": "```\n#SBATCH -N=2\n```\n",
    "a command alone": "```bash\nsbatch -N=2 job.sh\n```\n",
    "a prompt": "```console\n$ ls\na b\n$ sbatch -N=2 job.sh\nSubmitted batch job 7\n```\n",
    "a prompt with a name": "```\n(base) [ada@login1 ~]$ srun -N=2 hostname\nnode1\n```\n",
    "a prompt, continued": "```bash\n$ sbatch \\\n>   -N=2 job.sh\n```\n",
    "what a command printed": "```console\n$ cat job.sh\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n$ sbatch job.sh\n```\n",
    "a directive of MyST": "```{code-block} bash\n:caption: A job\n\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n",
    "a fence in a directive": "````{note}\n```bash\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n````\n",
    "marks of notes": "```bash\n#!/bin/bash\n#SBATCH -N=2 (1)\nsrun ./a # (2)!\n```\n",
    "no end": "```bash\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n",
    "a heredoc": "```bash\ncat > job.sh << EOF\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\nEOF\nsbatch job.sh\n```\n",
    "line ends of DOS": "- x\r\n\r\n  ```bash\r\n  #!/bin/bash\r\n  #SBATCH -N=2\r\n  srun ./a\r\n  ```\r\n",
}  # fmt: skip
MDX = {"in a component": "<Tabs>\n<TabItem>\n      ```bash\n      #SBATCH -N=2\n      ```\n</TabItem>\n</Tabs>\n"}
RESTRUCTURED = {
    "a directive": "Text\n\n.. code-block:: bash\n   :linenos:\n\n   #!/bin/sh\n\n   #SBATCH -N=2\n   srun ./a\n\n.\n",
    "in a note": ".. note::\n\n   .. code:: sh\n\n      #!/bin/bash\n      #SBATCH -N=2\n      srun ./a\n",
    "a literal block": "Write::\n\n    #!/bin/bash\n    #SBATCH -N=2\n    srun ./a\n\nand submit it.\n",
    "a language for all": ".. highlight:: bash\n\nWrite::\n\n  sbatch -N=2 job.sh\n",
    "a prompt": ".. prompt:: bash $\n\n   sbatch -N=2 job.sh\n",
}
PYTHON = {
    "written": 'from pathlib import Path\nPath("job.sh").write_text("""#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n""")\n',
    "a constant": 'JOB = """\\\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n"""\n\ndef f(p):\n    with open(p, "w") as é:\n'
    "        é.write(JOB)\n",
    "dedented": 'def f(file):\n    file.write(dedent("""\n        #!/bin/bash\n\n        #SBATCH -N=2\n'
    '        srun ./a\n    """).strip())\n',
    "a command line": 'os.system("sbatch -N=2 job.sh")\n',
}
EXAMPLES = [
    (f"page{ending}", title, text)
    for ending, texts in ((".md", MARKDOWN), (".mdx", MDX), (".rst", RESTRUCTURED), (".py", PYTHON))
    for title, text in texts.items()
]


@pytest.mark.parametrize(("path", "text"), [(path, text) for path, _, text in EXAMPLES], ids=[e[1] for e in EXAMPLES])
def test_findings_and_fixes_have_their_places_in_the_document(path: str, text: str) -> None:
    source = Source(text, path)
    found = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    assert [(each.source, source.slice(each.span)) for each in found] == [(source, "-N=2")]
    (edit,) = found[0].fix.edits if found[0].fix else ()
    assert source.slice(edit.span) == "=" and source.row(edit.span.start) == text[: text.index("-N=2")].count("\n") + 1
    assert fix_document(source, ALL).source.text == text.replace("-N=2", "-N 2")


def test_strings_with_escapes_have_places() -> None:
    text = 'run(["sbatch"], input="#!/bin/bash\\n"\n    "#SBATCH\\t-N=2\\nsrun ./é\\n")\n'
    source = Source(text, "page.py")
    (found,) = [each for each in inspect_document(source, ALL).diagnostics if each.code == "SB107"]
    assert source.slice(found.span) == "-N=2"
    assert fix_document(source, ALL).source.text == text.replace("-N=2", "-N 2")


def test_messages_name_the_lines_of_the_document() -> None:
    text = "# Title\n\n- x\n  ```bash\n  #!/bin/bash\n  srun ./a\n  #SBATCH -N 2\n  ```\n"
    (found,) = [each for each in inspect_document(Source(text, "a.md"), ALL).diagnostics if each.code == "SB101"]
    assert "on line 7 " in found.message


def codes(text: str, path: str = "a.md", **kinds: str) -> set[str]:
    found = inspect_document(Source(dedent(text), path), ALL).diagnostics
    return {each.code for each in found if each.severity != "info"}


def test_what_is_not_in_a_piece_may_stand_elsewhere() -> None:
    """Directives alone, a script without its first line, one with something left out."""
    for text in (
        "```\n#SBATCH --mail-user=ada@example.org\n```",
        "```bash\n#SBATCH --mail-user=ada@example.org\nsrun ./a\n```",
        "```bash\n#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n```",
        "```bash\n#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n...\nsrun ./a\n```",
        "```bash\n#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n# [...] modules\nsrun ./a\n```",
    ):
        assert codes(text) == set(), text
    assert codes("```bash\n#!/bin/bash\n#SBATCH --mail-user=ada@example.org\nsrun ./a\n```") == {"SB131"}
    # a job on a command line is whole
    whole = 'sbatch -N2 --gpus-per-node=8 --wrap="srun torchrun --nproc_per_node=8 --standalone t.py"'
    assert codes(f"```bash\n{whole}\n```") == {"SB309"}
    without = whole.replace(" --gpus-per-node=8", "")
    assert codes(f"```bash\n{without}\n```") == {"SB201", "SB309"}


@pytest.mark.parametrize(
    "line",
    ["#SBATCH --<resource>=<amount>", "#SBATCH ...", "#SBATCH option=value", "#SBATCH -t or #SBATCH --time"],
)
def test_lines_that_show_a_form_are_advice(line: str) -> None:
    assert codes(f"```bash\n{line}\n```") == set()
    assert codes(f"```bash\n#!/bin/bash\n{line}\nsrun ./a\n```") == set()


@pytest.mark.parametrize(
    "text",
    [
        "Write `#SBATCH -N=2` not at all.\n",
        "```python\nsbatch -N=2 x\n```\n",
        "```\nsbatch -N=2 job.sh\n```\n",
        "```diff\n #SBATCH -N=2\n```\n",
        "```bash\necho '-N=2' # of sbatch\n```\n",
        "```console\n$ cat x\nsbatch -N=2 x\n```\n",
    ],
)
def test_what_is_no_script(text: str) -> None:
    assert codes(text) == set()


def test_a_string_that_is_one_of_several_is_a_piece() -> None:
    parts = 'with open("j.sh", "w") as f:\n    f.write("""#!/bin/bash\n#SBATCH -N 2\nsrun a\n""")\n    f.write(x)\n'
    (found,) = snippets(Source(parts, "a.py"))
    assert found.is_fragment
    (found,) = snippets(Source(parts.replace("    f.write(x)\n", ""), "a.py"))
    assert not found.is_fragment


def test_files_beside_a_document_are_not_those_of_its_scripts(tmp_path: Path) -> None:
    (tmp_path / "env.sh").write_text("#SBATCH -N=2\nexport A=$(\n")
    text = "```bash\n#!/bin/bash\n#SBATCH -N 2\nsource env.sh\nsrun ./a\n```\n"
    path = tmp_path / "a.md"
    path.write_text(text)
    assert inspect_document(Source(text, str(path)), ALL).diagnostics == []


def test_comments_ignore_in_documents() -> None:
    text = "> ```bash\n> #!/bin/bash\n> # sbatchlint: ignore[SB107] on purpose\n> #SBATCH -N=2\n> srun ./a\n> ```\n"
    inspection = inspect_document(Source(text, "a.md"), ALL)
    assert inspection.diagnostics == [] and inspection.ignored == 1
    bare = Source(text.replace("> # sbatchlint: ignore[SB107] on purpose\n", ""), "a.md")
    found = inspect_document(bare, ALL).diagnostics
    written = document_with_ignores(bare, ALL, found, "why").text
    assert written == text.replace("[SB107] on purpose", "[short-option-equals] why")
    unused = inspect_document(Source(text.replace("-N=2", "-N 2"), "a.md"), ALL).diagnostics
    assert [(each.code, each.source.row(each.span.start)) for each in unused] == [("SB010", 3)]


@pytest.mark.slow
def test_the_scripts_of_a_document_share_a_budget() -> None:
    script = "#!/bin/bash\n#SBATCH -N 2\n" + "echo x\n" * (MOST_WORK // 3) + "srun -N=2 ./a\n"
    source = Source("".join(f"```bash\n{script}# {number}\n```\n" for number in range(10)), "a.md")
    inspection = inspect_document(source, ALL)
    *wrong, cut = [each for each in inspection.diagnostics if each.code in ("SB012", "SB107")]
    assert {each.code for each in wrong} == {"SB107"} and len(wrong) in (1, 2)
    assert (cut.code, cut.severity) == ("SB012", "warning") and "the file is too large" in cut.message
    # what is left out is not repaired either
    assert fix_document(source, ALL, first=inspection).source.text == source.text.replace("-N=2", "-N 2", len(wrong))


def test_scripts_of_the_same_text_are_looked_at_once_and_named_by_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(source: Source, settings: Settings, spent: int = 0) -> Inspection:
        looked.append(source.text)
        return inspect(source, settings, spent=spent)

    monkeypatch.setattr("sbatchlint.documents.inspect", counted)
    monkeypatch.setattr("sbatchlint.fix.inspect", counted)
    script = "#!/bin/bash\n#SBATCH -N=2\n#SBATCH --time=10\n#SBATCH --time=20\nsrun ./a\n"
    quoted = "".join(f"> {line}" for line in f"```bash\n{script}```\n".splitlines(True))
    blocks = [f"```bash\n{script}```\n", f"- ```bash\n{indent(script, '  ')}  ```\n", quoted]
    source = Source("\n".join(blocks * 2), "a.md")
    first = inspect_document(source, ALL)
    assert looked == [script]
    told = [each for each in first.diagnostics if each.code == "SB116"]
    assert len(told) == 6
    for each in told:
        (row,) = re.findall(r"line (\d+)", each.message)
        assert "--time=20" in source.text.splitlines()[int(row) - 1]
    fixed = fix_document(source, ALL, first=first)
    assert fixed.source.text == source.text.replace("-N=2", "-N 2")
    assert looked == [script, script.replace("-N=2", "-N 2")]
    assert [each.message for each in fixed.inspection.diagnostics] == [
        each.message for each in inspect_document(fixed.source, ALL).diagnostics
    ]


def test_the_example_of_the_documentation() -> None:
    page = (ROOT / "docs" / "documents.md").read_text()
    example = page.partition("````markdown\n")[2].partition("````")[0]
    (found,) = inspect_document(Source(example, "guide.md"), ALL).diagnostics
    assert (found.code, found.source.position(found.span.start)) == ("SB107", (5, 11))
    assert "found at 5:11" in page


# --- properties ------------------------------------------------------------------------------------

LINES = [
    "#SBATCH -N=2",
    "#SBATCH --mail-user=ada@example.org",
    "#SBATCH --time = 5",
    "#SBATCH -job-name=x",
    "",
    "  # a comment ```",
    "srun ./a | tee log",
    "cd x",
    "\tsrun \\\n  ./b",
    "#SBATCH --ntasks=4",
    "cat <<E\ntext\nE",
    "if true; then\n    srun c\nfi",
    "echo é \U0001f680",
]
FRAMES = [
    ("a.md", "", "```bash", "```"),
    ("a.md", "", "~~~~ sh", "~~~~~"),
    ("a.md", "> ", "```bash", "```"),
    ("a.md", "> > ", "~~~sh", "~~~"),
    ("a.md", "    ", "~~~~", "~~~~"),
    ("a.md", "\t", "~~~bash", "~~~"),
    ("a.mdx", "        ", "````bash", "````"),
    ("a.rst", "   ", ".. code-block:: bash\n", ""),
    ("a.rst", "\t", "Write::\n", ""),
]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=9),
    st.sampled_from(FRAMES),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_repair_changes_the_characters_of_the_script_alone(
    lines: list[str], frame: tuple[str, str, str, str], dos: bool, seed: int
) -> None:
    """What is found and repaired is what is found in the script itself, and what stands around it stays."""
    path, prefix, opening, closing = frame
    script = "\n".join(["#!/bin/bash", *lines, "srun ./last"]) + "\n"
    if path == "a.rst":
        before, after = f"Title\n\n{opening}\n", "\nText ```bash\n"
        body = indent(script, prefix)
    else:
        before, after = f"Title\n\n{prefix}{opening}\n", f"{prefix}{closing}\n\nText\n"
        empty = random.Random(seed).choice([prefix, prefix.rstrip()])
        body = "".join((prefix if line else empty) + line + "\n" for line in script.split("\n")[:-1])
    text = before + body + after
    if dos:
        text = text.replace("\n", "\r\n")
    source = Source(text, path)
    found = snippets(source)
    assert [each.text for each in found] == [script]
    inside = [(each.code, source.slice(each.span)) for each in inspect_document(source, ALL).diagnostics]
    alone = found[0].with_text(script)
    expected = [(each.code, alone.slice(each.span)) for each in inspect(alone, ALL).diagnostics]
    assert [each for each in inside if "\n" not in each[1]] == [each for each in expected if "\n" not in each[1]]
    fixed = fix_document(source, ALL, unsafe=True)
    end = "\r\n" if dos else "\n"
    assert fixed.source.text.startswith(before.replace("\n", end))
    assert fixed.source.text.endswith(after.replace("\n", end))
    assert [each.text for each in snippets(fixed.source)] == [fix_source(alone, ALL, unsafe=True).source.text]


PARTS = [
    *("```bash\n", "```\n", "> ", "- ", "    ", "\t", "#!/bin/bash\n", "#SBATCH -N=2\n", "srun a\n", "\r", "\0", "\n"),
    *(".. code-block:: bash\n", "::\n", "$ ", "```{note}\n", '"""', "f.write(", ")", "<Tabs>", "(1)"),
]


@settings(max_examples=examples(50), deadline=None)
@given(
    st.sampled_from(["a.md", "a.mdx", "a.rst", "a.py"]),
    st.lists(
        st.one_of(
            st.sampled_from(PARTS),
            st.text(max_size=8),
        ),
        max_size=30,
    ),
)
def test_any_text_is_read(path: str, parts: list[str]) -> None:
    """Every character of a snippet stands where it says, and nothing of a document is an accident."""
    source = Source("".join(parts) + "\n```bash\nsrun a\n```\n", path)
    for snippet in snippets(source):
        for index, character in enumerate(snippet.text):
            if character != "\n" and snippet.lines is not None:
                assert source.text[snippet.place(index)] == character
    fixed = fix_document(source, ALL, unsafe=True)
    assert inspect_document(source, ALL).faults == [] and fixed.inspection.faults == []


# --- the command -----------------------------------------------------------------------------------

PAGE = "Text\n\n```bash\n#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n```\n"


def run(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": ""}
    environment["SBATCHLINT_CACHE_DIR"] = str(folder / ".cache")
    command = [sys.executable, "-m", "sbatchlint", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False)


def listed(folder: Path, *arguments: str) -> list[str]:
    return sorted(run(folder, "--show-files", *arguments).stdout.split())


def test_which_documents_are_read(tmp_path: Path) -> None:
    for name in ("README.md", "docs/a.rst", "docs/b.mdx", "tool.py", "job.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/bash\n#SBATCH -N 2\nsrun a\n" if name == "job.sh" else PAGE)
    everything = ["README.md", "docs/a.rst", "docs/b.mdx", "job.sh", "tool.py"]
    assert listed(tmp_path) == ["job.sh"]
    assert listed(tmp_path, *everything) == everything
    assert listed(tmp_path, "--force-exclude", *everything) == ["job.sh"]  # as hooks call it
    (tmp_path / "sbatchlint.toml").write_text('include = ["docs/", "*.md"]\nexclude = ["docs/b.mdx"]\n')
    assert listed(tmp_path) == ["README.md", "docs/a.rst", "job.sh"]
    assert listed(tmp_path, "--force-exclude", *everything) == ["README.md", "docs/a.rst", "job.sh"]
    assert listed(tmp_path, "--isolated") == ["job.sh"]
    noted = run(tmp_path, "-v", "--force-exclude", "tool.py").stderr
    assert "tool.py is left out: it is a document that the setting `include` does not name" in noted


@pytest.mark.slow
def test_the_command_repairs_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(PAGE)
    done = run(tmp_path, "--output-format", "json", "a.md")
    (found,) = json.loads(done.stdout)
    assert (found["location"], found["filename"]) == ({"row": 5, "column": 9}, "a.md")
    assert (
        found["fix"]["edits"]
        == [{"content": " ", "location": {"row": 5, "column": 11}, "end_location": {"row": 5, "column": 12}}]
        or found["fix"]["edits"][0]["location"]["row"] == 5
    )
    assert run(tmp_path, "-", "--stdin-filename", "a.md", "--fix", text=PAGE).stdout == PAGE.replace("=", " ")
    assert "+#SBATCH -N 2" in run(tmp_path, "--diff", "a.md").stdout
    assert run(tmp_path, "--add-ignore=on purpose", "a.md").returncode == 0
    assert "# sbatchlint: ignore[short-option-equals] on purpose\n#SBATCH -N=2" in (tmp_path / "a.md").read_text()
    (tmp_path / "a.md").write_text(PAGE)
    assert run(tmp_path, "--fix", "a.md").returncode == 0
    assert (tmp_path / "a.md").read_text() == PAGE.replace("=", " ")


def test_documents_load_what_reads_them_and_scripts_do_not(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(PAGE)
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun a\n")
    program = "import sys; from sbatchlint.cli import main; main({!r}); print(*sys.modules)"
    for name, loads in (("a.md", True), ("job.sh", False)):
        command = [sys.executable, "-c", program.format([name, "--no-cache"])]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ("markdown_it" in done.stdout) is loads, done.stderr
