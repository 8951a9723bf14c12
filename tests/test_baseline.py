"""A baseline hides what was there, shows what is new, and only shrinks."""

import json
from pathlib import Path

import pytest

from conftest import HEAD, Command

FILE = "base.json"


def written(command: Command) -> dict[str, dict[str, list[str]]]:
    files: dict[str, dict[str, list[str]]] = json.loads(Path(FILE).read_text())["files"]
    return files


def test_what_was_there_is_not_reported(command: Command) -> None:
    command.write("jobs/a.sbatch", f"{HEAD}echo WRONG\necho GUESS\n")
    result = command("--write-baseline", FILE)
    assert (result.code, result.out) == (
        0,
        'base.json: 2 findings in 1 file; write baseline = "base.json" into sbatchlint.toml, or pass --baseline\n',
    )
    assert {file: {code: len(each) for code, each in codes.items()} for file, codes in written(command).items()} == {
        "jobs/a.sbatch": {"SB110": 1, "SB120": 1}
    }
    result = command("--baseline", FILE)
    assert result.code == 0
    assert result.out.startswith("no findings in 1 script; 2 in the baseline")
    assert not result.err


def test_only_the_new_one_is_reported_wherever_it_stands(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG 1\necho WRONG 2\n")
    command("--write-baseline", FILE)
    for text, row in (
        ("echo WRONG 3\necho WRONG 1\necho WRONG 2\n", 3),
        ("\n\necho WRONG 1\necho WRONG 3\necho WRONG 2\n", 6),
        ("echo WRONG 1\necho WRONG 1\necho WRONG 2\n", 4),
    ):
        path.write_text(HEAD + text)
        result = command("--baseline", FILE, "--output-format", "concise")
        assert result.code == 1
        assert result.out.splitlines()[0].startswith(f"a.sbatch:{row}:")
        assert "1 finding (1 error) in 1 of 1 script" in result.out


def test_as_many_as_before_are_hidden_though_their_lines_changed(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    command("--write-baseline", FILE)
    path.write_text(f"{HEAD}\n\necho other WRONG words\n")
    assert command("--baseline", FILE).code == 0


def test_it_only_shrinks(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG\necho WRONG 2\n")
    command.write("gone.sbatch", f"{HEAD}echo WRONG\n")
    command("--write-baseline", FILE)
    path.write_text(f"{HEAD}echo WRONG 2\n")
    Path("gone.sbatch").unlink()
    assert "note: 1 finding of the baseline is gone" in command("--baseline", FILE).err
    assert "base.json: 2 removed, 1 left" in command("--baseline", FILE, "--update-baseline").err
    assert {file: len(codes["SB110"]) for file, codes in written(command).items()} == {"a.sbatch": 1}
    path.write_text(f"{HEAD}echo WRONG 2\necho WRONG 3\n")
    result = command("--baseline", FILE, "--update-baseline")
    assert result.code == 1
    assert "base.json: 0 removed, 1 left" in result.err


def test_files_that_were_not_looked_at_stay(command: Command) -> None:
    command.write("a/a.sbatch", f"{HEAD}echo WRONG\n")
    command.write("b/b.sbatch", f"{HEAD}echo WRONG\n")
    command("--write-baseline", FILE)
    assert "0 removed, 2 left" in command("--baseline", FILE, "--update-baseline", "a").err
    assert not command("--baseline", FILE, "--select", "toy-guess").err


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"version": 2, "files": {}}', '{"version": 1, "files": {"a": 1}}']
)
def test_what_is_no_baseline_is_an_error(command: Command, content: str) -> None:
    Path(FILE).write_text(content)
    result = command("--baseline", FILE)
    assert result.code == 2
    assert result.err.startswith("error: the baseline base.json is not")


def test_errors_of_usage(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    assert command("--baseline", "none.json").code == 2
    assert command("--update-baseline").code == 2
    assert command("--baseline", FILE, "--fix", "--update-baseline").code == 2
    assert command("--write-baseline", FILE).code == 0
    before = Path(FILE).read_bytes()
    assert "exists" in command("--write-baseline", FILE).err
    assert Path(FILE).read_bytes() == before
    assert command("--baseline", FILE, "--update-baseline", "--select", "SB1").code == 2
    assert command("--write-baseline", "none/base.json").code == 2


def test_the_settings_name_one(command: Command) -> None:
    """Each part of a repository may have its own, beside the settings that name it."""
    command.write("sbatchlint.toml", 'baseline = "old/base.json"\n')
    command.write("part/sbatchlint.toml", 'extend = "../sbatchlint.toml"\nbaseline = "part.json"\n')
    paths = [command.write(name, f"{HEAD}WRONG\n") for name in ("a.sbatch", "part/b.sbatch")]
    assert "there is no baseline" in command("--output-format", "concise").err
    (command.folder / "old").mkdir()
    assert command("--write-baseline", "old/base.json", "a.sbatch").code == 0
    assert command("--write-baseline", "part/part.json", "part").code == 0
    result = command()
    assert (result.code, result.err) == (0, "") and "no findings in 2 scripts; 2 in the baseline" in result.out
    for path in paths:
        path.write_text(f"{HEAD}WRONG\nWRONG now\n")
    result = command("--output-format", "concise")
    assert [line.split(": ")[0] for line in result.out.splitlines()[:-1]] == ["a.sbatch:4:1", "part/b.sbatch:4:1"]
    assert result.code == 1
    assert len(command("--isolated", "--output-format", "concise").out.splitlines()) == 5
    assert len(command("--config", 'baseline = ""', "--output-format", "concise", "a.sbatch").out.splitlines()) == 3
    paths[0].write_text(HEAD)
    result = command("--update-baseline")
    assert "base.json: 1 removed, 0 left" in result.err and "part.json: 0 removed, 1 left" in result.err
    paths[1].unlink()
    assert "part.json: 1 removed, 0 left" in command("--update-baseline", "--baseline", "part/part.json", "part").err


def test_a_renamed_file_keeps_what_was_there(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG 1\necho WRONG 2\necho GUESS\n")
    command.write("b.sbatch", f"{HEAD}echo WRONG 5\n")
    command("--write-baseline", FILE)
    Path("jobs").mkdir()
    path.rename("jobs/train.sbatch")
    run = command("--baseline", FILE)
    assert run.code == 0 and "4 in the baseline" in run.out and not run.err
    Path("jobs/train.sbatch").write_text(f"{HEAD}echo WRONG 1\necho WRONG 2\necho GUESS\necho WRONG 3\n")
    run = command("--baseline", FILE, "--output-format", "concise")
    assert run.code == 1 and run.out.startswith("jobs/train.sbatch:6:") and "1 finding (1 error)" in run.out
    assert "0 removed, 4 left" in command("--baseline", FILE, "--update-baseline").err
    assert sorted(written(command)) == ["b.sbatch", "jobs/train.sbatch"]


def test_a_new_file_is_not_an_old_one_that_is_gone(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG 1\necho WRONG 2\n")
    command("--write-baseline", FILE)
    command.write("copy.sbatch", path.read_text())
    assert command("--baseline", FILE).code == 1  # the old one is still there
    Path("copy.sbatch").unlink()
    path.unlink()
    command.write("b.sbatch", f"{HEAD}echo WRONG 3\necho WRONG 4\necho WRONG 1\n")
    assert "3 findings" in command("--baseline", FILE).out


def test_many_renamed_files(command: Command) -> None:
    for number in range(60):
        command.write(f"a/{number}.sbatch", f"{HEAD}echo WRONG\necho WRONG {number}\n")
    command("--write-baseline", FILE)
    Path("a").rename("b")
    assert command("--baseline", FILE).code == 0


def test_the_settings_may_name_it_already(command: Command) -> None:
    command.write("sbatchlint.toml", f'baseline = "{FILE}"\n')
    command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    assert command("--write-baseline", FILE).out == "base.json: 1 finding in 1 file; sbatchlint.toml names it already\n"


def test_no_baseline_reports_what_it_holds(command: Command) -> None:
    command.write("sbatchlint.toml", f'baseline = "{FILE}"\n')
    command.write("a.sbatch", f"{HEAD}echo WRONG\n")
    command("--write-baseline", FILE)
    assert command().code == 0
    result = command("--no-baseline")
    assert result.code == 1 and "baseline" not in result.out + result.err
    assert command("--no-baseline", "--baseline", FILE).code == 2
