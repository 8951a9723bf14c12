"""Comments that switch checks off: which findings each reaches, and how they are written."""

import subprocess

import pytest

from conftest import HEAD, Command
from counting import executed_lines
from sbatchlint.cli import lint
from sbatchlint.engine import inspect
from sbatchlint.ignores import with_ignores
from sbatchlint.settings import Settings
from sbatchlint.source.files import InputError, write
from sbatchlint.source.text import Source

# Each finding has a line of its own, in any place a script can have one.
PLACES = f"""\
{HEAD}echo one \\
    two WRONG \\
    three
cat <<EOF
WRONG
EOF
if true; then
    X="a
    WRONG"
    for i in 1 2; do WRONG; done
fi
case $1 in
a) WRONG ;;
esac
f() {{
    srun bash -c '
        WRONG
    ' &&
        echo WRONG
}}
echo "$(
    WRONG
)"
"""


def left(text: str) -> list[int]:
    """The rows on which the toy check still reports something."""
    inspection = inspect(Source(text, "a.sbatch"), Settings.of_table(select=["toy-wrong"]))
    assert not inspection.faults
    return [each.source.row(each.span.start) for each in inspection.diagnostics if each.name == "toy-wrong"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo WRONG # sbatchlint: ignore[toy-wrong]\necho WRONG\n", [4]),
        ("echo WRONG # sbatchlint: ignore[SB110, SB2] why not\necho WRONG\n", [4]),
        ("# sbatchlint: ignore[SB110]\n\n# more words\necho WRONG\necho WRONG\n", [7]),
        ("# sbatchlint: ignore[SB110]\n# WRONG\n#WRONG\necho\n# WRONG\n", [7]),
        ("#   sbatchlint:ignore [ SB110 ]\necho WRONG\n", []),
        ("echo WRONG # sbatchlint: ignore[toy-guess]\n", [3]),
        ("# sbatchlint: disable[SB110]\necho WRONG\n# sbatchlint: enable[SB110]\necho WRONG\n", [6]),
        ("echo WRONG\n# sbatchlint: disable[SB110]\necho WRONG\n", [3]),
        ("# sbatchlint: ignore-file[SB110]\necho WRONG\necho WRONG\n", []),
        ("echo WRONG\n# sbatchlint: ignore-file[SB110]\n", [3]),
        ("echo a \\\n  WRONG \\\n  b # sbatchlint: ignore[SB110]\necho WRONG\n", [6]),
        ("# sbatchlint: ignore[SB110]\ncat <<EOF\nWRONG\nEOF\necho WRONG\n", [7]),
        ("cat <<EOF > x # sbatchlint: ignore[SB110]\nWRONG\nEOF\n", []),
        ("cat <<EOF\n# sbatchlint: ignore[SB110]\nWRONG\nEOF\n", []),
        ("srun bash -c '\n  # sbatchlint: ignore[SB110]\n  WRONG\n  '\n", []),
        ("# sbatchlint: ignore[SB110]\nfor i in WRONG; do\n  echo WRONG\ndone\n", [5]),
        ("echo WRONG #sbatchlint: ignore[SB110]\r\n", []),
        ("echo x#sbatchlint: ignore[SB110] WRONG\n", [3]),
    ],
)
def test_what_a_comment_reaches(command: Command, text: str, expected: list[int]) -> None:
    assert left(HEAD + text) == expected


def test_ignored_findings_are_counted_and_not_repaired(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG # sbatchlint: ignore[toy-wrong]\necho WRONG\n")
    result = command("--fix")
    assert "1 fixed (SB110); no findings left in 1 script; 1 ignored" in result.out
    assert path.read_text() == f"{HEAD}echo WRONG # sbatchlint: ignore[toy-wrong]\necho RIGHT\n"
    assert command("--no-ignores").code == 1


def test_what_is_unused_or_wrong_can_be_ignored_itself(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}# sbatchlint: ignore-file[SB011]\n# sbatchlint: ignore\necho\n")
    assert command().code in (0, 1)


def test_comments_are_written_wherever_a_finding_stands(command: Command) -> None:
    path = command.write("a.sbatch", PLACES)
    result = command("--add-ignore=it is old")
    assert (result.code, result.out) == (0, "8 findings ignored by comments in 1 file\n"), result.err
    after = path.read_text()
    assert left(after) == []
    added = [line for line in after.splitlines() if "sbatchlint:" in line]
    assert all(line.strip() == "# sbatchlint: ignore[toy-wrong] it is old" for line in added)
    assert [line for line in after.splitlines() if line not in added] == PLACES.splitlines()
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0
    assert command("--add-ignore").out == "0 findings ignored by comments in 0 files\n"


def test_a_file_that_cannot_be_written_keeps_no_other_back(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_all_but_one(path: str, data: bytes, before: bytes | None = None) -> None:
        if path == "b.sbatch":
            raise InputError("cannot write b.sbatch: the file is read-only")
        write(path, data, before)

    monkeypatch.setattr(lint, "write", write_all_but_one)
    for name in ("a.sbatch", "b.sbatch", "c.sbatch"):
        command.write(name, f"{HEAD}WRONG\n")
    result = command("--add-ignore=why")
    assert (result.code, result.out) == (2, "2 findings ignored by comments in 2 files\n")
    assert result.err == "error: cannot write b.sbatch: the file is read-only\n"
    assert [path.name for path in command.folder.glob("*.sbatch") if "ignore" not in path.read_text()] == ["b.sbatch"]


def test_the_reason_is_not_a_path(command: Command) -> None:
    """`--add-ignore jobs` is about the folder, and writes into no other."""
    for name in ("jobs/a.sbatch", "b.sbatch"):
        command.write(name, f"{HEAD}WRONG\n")
    assert command("--add-ignore", "jobs").out == "1 finding ignored by comments in 1 file\n"
    assert (command.folder / "b.sbatch").read_text() == f"{HEAD}WRONG\n"
    result = command("--add-ignore", "it is old", "b.sbatch")
    assert (result.code, result.out) == (2, "") and "a reason is written --add-ignore=REASON" in result.err
    assert (command.folder / "b.sbatch").read_text() == f"{HEAD}WRONG\n"
    assert (command.folder / "jobs/a.sbatch").read_text() == f"{HEAD}# sbatchlint: ignore[toy-wrong]\nWRONG\n"


def test_one_line_is_ignored(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG 1\necho WRONG 2\necho WRONG 3\n")
    other = command.write("b.sbatch", f"{HEAD}echo WRONG\n")
    assert command("--add-ignore=meant", "a.sbatch:4:6").out == "1 finding ignored by comments in 1 file\n"
    assert path.read_text() == (
        f"{HEAD}echo WRONG 1\n# sbatchlint: ignore[toy-wrong] meant\necho WRONG 2\necho WRONG 3\n"
    )
    result = command("--add-ignore=meant", "a.sbatch:3", "a.sbatch:6", "b.sbatch")
    assert (result.code, result.out) == (0, "3 findings ignored by comments in 2 files\n")
    assert left(path.read_text()) == left(other.read_text()) == []
    result = command("--add-ignore", "a.sbatch:1")
    assert result.code == 2 and "there is no finding on line 1 of a.sbatch" in result.err
    assert command("a.sbatch:4").code == 2  # a line is for --add-ignore alone


def test_findings_of_a_baseline_stay_there(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    assert command("--write-baseline", "old.json").code == 0
    path.write_text(f"{HEAD}# WRONG\n#SBATCH -n 1\necho WRONG\n")
    result = command("--baseline", "old.json", "--add-ignore=wanted")
    assert (result.code, result.out, result.err) == (0, "1 finding ignored by comments in 1 file\n", "")
    assert command("--baseline", "old.json").code == 0


def test_a_comment_that_is_there_gets_the_new_name(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}# sbatchlint: ignore[toy-wrong] because\necho WRONG GUESS\n")
    assert command("--add-ignore=new").code == 0
    assert path.read_text() == f"{HEAD}# sbatchlint: ignore[toy-wrong, toy-guess] because\necho WRONG GUESS\n"


def test_a_line_that_is_named_leaves_the_baseline(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    row = HEAD.count("\n") + 1
    assert command("--write-baseline", "old.json").code == 0
    result = command("--baseline", "old.json", "--add-ignore=meant", f"a.sbatch:{row}")
    assert (result.code, result.out, result.err) == (0, "1 finding ignored by comments in 1 file\n", "")
    assert path.read_text() == f"{HEAD}# sbatchlint: ignore[toy-wrong] meant\necho WRONG\n"


def test_nothing_stands_above_the_first_line(command: Command) -> None:
    source = Source("#!/bin/WRONG\n#SBATCH -n 1\n", "a.sbatch")
    found = inspect(Source("#!/bin/WRONG\n#SBATCH -n 1\n", "a.sbatch"), Settings.of_table(select=["toy-wrong"]))
    after = with_ignores(source, found.diagnostics, "").text
    assert after.startswith("#!/bin/WRONG\n")
    assert after == source.text or "# sbatchlint: ignore-file[toy-wrong]\n" in after


@pytest.mark.parametrize("option", ["--fix", "--diff", "--no-ignores"])
def test_options_that_do_not_go_together(command: Command, option: str) -> None:
    assert command("--add-ignore", option, ".").code == 2


@pytest.mark.parametrize("name", ["SB106", "SB", "directives", "a name"])
def test_the_codes_of_one_comment_cost_what_they_are(name: str) -> None:
    """Ten times as many take ten times as long, also where there is a finding for each of them."""

    def lines(size: int) -> int:
        names = ", ".join(f"SB{100 + number % 900}" if number % 2 else name for number in range(size))
        body = f"# sbatchlint: ignore-file[{names}] why\n" + "#SBATCH --ntaks=2\n" * size
        source = Source(f"#!/bin/bash\n{body}srun a\n", "a.sbatch")
        return executed_lines(lambda: inspect(source, Settings.of_table({})))

    lines(3)
    assert lines(400) < 13 * lines(40)
