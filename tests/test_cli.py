"""The command line: exit codes, files, selection, configuration, errors of users."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path
from typing import IO, get_args

import pytest

from conftest import HEAD, ROOT, Command
from sbatchlint.keys import Format
from sbatchlint.report import FORMATS
from sbatchlint.source import discover
from sbatchlint.source.discover import git_environment


def names(command: Command, *arguments: str) -> list[str]:
    result = command(*arguments, "--output-format", "json")
    return [each["name"] for each in json.loads(result.out)]


def test_exit_codes(command: Command) -> None:
    command.write("good.sbatch", HEAD)
    command.write("bad.sbatch", f"{HEAD}echo WRONG\n")
    command.write("warned.sbatch", f"{HEAD}echo GUESS\n")
    assert command("good.sbatch").code == 0
    assert command("bad.sbatch").code == 1
    assert command().code == 1
    assert command("--exit-zero").code == 0
    assert command("warned.sbatch").code == 1
    assert command("--fail-on", "error", "warned.sbatch").code == 0
    assert command("--fix", "bad.sbatch").code == 0
    assert command("no-such-file").code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.sbatch"], "error: there is no file or folder missing.sbatch"),
        (["--sellect", "SB1"], "error: unknown option '--sellect' (did you mean '--select'?)"),
        (["--select", "toy-wrog"], "error: unknown check 'toy-wrog' (did you mean 'toy-wrong'?)"),
        (["--output-format", "yaml"], "there is no 'yaml'; it can be full, concise"),
        (["--config", "fail-on=error"], "text needs quotes"),
        (["--slurm-version", "23"], "must be a Slurm version such as 23.11"),
        (["--slurm-version", "26.11"], "not 26.11"),
        (["--slurm-version", "22.05-23.13"], "not 23.13"),
        (["plan", "--slurm-version", "26.11"], "not 26.11"),
        (["--slurm-version", "24.05-23.11"], "must begin with the older version"),
        (["--jobs", "0"], "must be a number, 1 or more"),
        (["-", "a.sbatch"], "cannot be mixed"),
        (["--stdin-filename", "x"], "--stdin-filename needs -"),
        (["--config", "nothing.toml"], "there is no file nothing.toml"),
        (["--config", "select = 3"], "select: must be a list of strings, not 3"),
        (["--config", "colour = true"], "unknown key 'colour'"),
        (["help"], "there is no command, file or folder help (did you mean '--help'?)"),
        (["checks", "all"], "error: unexpected argument 'all'"),
        (["explain", "nonsense"], "error: there is no check and no symptom 'nonsense'"),
        (["explain", "cuda-out-of-memory"], "(did you mean the symptom 'gpu-out-of-memory'"),
        (["explain", "SB1I0"], "(did you mean the check 'SB110'?)"),
        (["explain"], "error: the following arguments are required"),
        (["explain", "SB9"], "there is no check in 'SB9' yet"),
        (["-q", "-v"], "exclude each other"),
    ],
)
def test_errors_of_users(command: Command, arguments: list[str], message: str) -> None:
    result = command(*arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select = [", "sbatchlint.toml: is not valid TOML"),
        ("selekt = []", "sbatchlint.toml: unknown key 'selekt' (did you mean 'select'?)"),
        ("[site]\ngpu-partition = []", "unknown key 'site.gpu-partition' (did you mean 'site.gpu-partitions'?)"),
        ("[tool.sbatchlint]\nignore = []", "unknown key 'tool': outside of pyproject.toml, settings stand at the top"),
        ("ignore = ['SB1I0']", "unknown check 'SB1I0' (did you mean 'SB110'?)"),
        ("ignore = ['SB999']", "unknown check 'SB999'\n"),
        ("gpus-per-node = 8", "unknown key 'gpus-per-node' (did you mean 'site.gpus-per-node'?)"),
        ("[site]\nhome-is-shared = 1", "site.home-is-shared: must be true or false, not 1"),
        ("[site]\ngpu-vendor = 'voodoo'", "must be nvidia, amd or intel, not 'voodoo'"),
        ("fail-on = 'never'", "fail-on: must be info, warning or error"),
        ("slurm-version = '23.13'", "slurm-version: must name releases that sbatchlint knows"),
        ("slurm-version = 24.05", 'slurm-version: needs quotes: "24.05"'),
        ("slurm-version = '24.05.1'", "slurm-version: must be without the last number, such as 23.11"),
        ("slurm-version = 'old'", "slurm-version: must be a Slurm version"),
        ("[severity]\ntoy-hint = 'loud'", "severity.toy-hint: must be info, warning or error, not 'loud'"),
        (
            "[per-file-ignores]\n'a/*' = ['SB1']\n'b/*' = 'SB1'",
            "per-file-ignores.b/*: must be a list of strings, not 'SB1'",
        ),
        ("[checks]\ntoy-limit = 3", "sbatchlint.toml: checks.toy-limit: must be a table, not 3"),
        ("site = 3", "sbatchlint.toml: site: must be a table, not 3"),
        ("[site]\ngpus-per-node = 'x'", "sbatchlint.toml: site.gpus-per-node: must be a whole number, not 'x'"),
        ("[site]\ngpus-per-node = -1", "site.gpus-per-node: must be a whole number, 0 or more, not -1"),
        ("[site]\nshared-paths = ['/a', 3]", "site.shared-paths: must be a list of strings, not ['/a', 3]"),
        ("extend = 2024-01-01", "extend: must be text, not "),
        ("select = ['toy-rong']", "sbatchlint.toml: unknown check 'toy-rong' (did you mean 'toy-wrong'?)"),
        ("[checks.toy-limit]\nmist = 1", "checks.toy-limit: unknown key 'mist' (did you mean 'most'?)"),
        ("[checks.toy-limit]\nmost = 'x'", "checks.toy-limit.most: must be a number, not 'x'"),
        ("[checks.nobody]\nmost = 1", "checks: unknown check 'nobody'"),
        ("extend = 'elsewhere.toml'", "extend: there is no file elsewhere.toml"),
        ("extend = 'sbatchlint.toml'", "error: sbatchlint.toml: extends itself"),
    ],
)
def test_errors_in_configuration_files(command: Command, text: str, message: str) -> None:
    command.write("sbatchlint.toml", text)
    command.write("a.sbatch", HEAD)
    result = command("a.sbatch")
    assert (result.code, message in result.err) == (2, True), result.err
    assert command("--isolated", "a.sbatch").code == 0


def test_undecodable_files(command: Command) -> None:
    command.write("binary.sbatch", b"\x7fELF\0\0#SBATCH -N1\n")
    command.write("sixteen.sbatch", "ELF".encode("utf-16"))
    command.write("good.sbatch", f"{HEAD}WRONG\n")
    result = command("binary.sbatch", "sixteen.sbatch", "good.sbatch")
    assert result.code == 2
    assert result.err.count("is not a text file") == 2
    assert "toy-wrong" in result.out
    assert command(".").code == 1  # in a folder, what is no text is no script


def test_scripts_with_odd_bytes_are_found_and_keep_them(command: Command) -> None:
    wrong = f"{HEAD}echo WRONG\n".encode()
    odd = {
        "mark.sh": b"\xef\xbb\xbf" + wrong,
        "nul.sh": wrong + b"echo \0 \xff\xfe\n",
        "dos.sh": wrong.replace(b"\n", b"\r\n"),
        "latin.sh": wrong + b"# \xe4\r",
        "archive.sh": wrong + b"exit\n" + b"\0\xff" * (1 << 17),
    }
    for name, data in odd.items():
        command.write(name, data)
    sixteen = f"{HEAD}echo WRONG\n".encode("utf-16")
    path = command.write("sixteen.sh", sixteen)
    command.write("other.bin", b"\0" + wrong)
    assert sorted(command("--show-files").out.split()) == sorted([*odd, "sixteen.sh"])
    assert command("--fix").code == 0
    for name, data in odd.items():
        assert (command.folder / name).read_bytes() == data.replace(b"WRONG", b"RIGHT")
    assert path.read_bytes() == sixteen


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(command: Command) -> None:
    command.write("a.sbatch", HEAD).chmod(0)
    result = command("a.sbatch")
    assert result.code == 2
    assert "cannot read a.sbatch: permission denied" in result.err


@pytest.mark.parametrize("with_git", [True, False])
def test_unreadable_folders(command: Command, with_git: bool) -> None:
    """What was not looked at is not clean. A root without its privilege is as good as another user."""
    command.write("jobs/a.sbatch", HEAD)
    if with_git:
        for arguments in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *arguments], cwd=command.folder, check=True, env=git_environment())
    (command.folder / "jobs").chmod(0)
    drop = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if drop and not shutil.which(drop[0]):
        pytest.skip("setpriv is not installed")
    python = [*drop, sys.executable, "-m", "sbatchlint"]
    for path in (".", "jobs"):
        done = subprocess.run([*python, path], cwd=command.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        assert "error: cannot read jobs" in done.stderr and "permission denied" in done.stderr
        assert done.stdout == ""


def test_a_link_to_nothing_and_an_empty_folder(command: Command) -> None:
    (command.folder / "a.sbatch").symlink_to("gone")
    assert "it is a link to nothing" in command("a.sbatch").err
    (command.folder / "empty").mkdir()
    result = command("empty")
    assert result.code == 0
    assert "no batch script found" in result.err


def test_files_are_found_by_content(command: Command) -> None:
    command.write("a.sbatch", "echo no directive\n")
    command.write("b.txt", "notes\n#SBATCH is a word\n")
    command.write("run", f"{HEAD}\n")
    command.write("late.sh", "echo\n#SBATCH -N1\n")
    command.write("python.py", "#!/usr/bin/env python\n#SBATCH -N1\nprint()\n")
    command.write("template.py", 'text = """\n#SBATCH -N1\n"""\n')
    command.write("data.bin", b"\0#SBATCH -N1\n")
    command.write("node_modules/x.sbatch", HEAD)
    command.write("wrap.sh", '#!/bin/bash\nsbatch -N1 --wrap="srun x"\n')
    result = command("--show-files")
    assert result.out.split() == ["late.sh", "python.py", "run", "wrap.sh"]
    assert command("--show-files", "a.sbatch", "b.txt").out.split() == ["a.sbatch"]


@pytest.mark.parametrize("with_git", [True, False])
def test_gitignore_is_respected(command: Command, with_git: bool) -> None:
    for name in ("a.sbatch", "out/b.sbatch", "keep/c.sbatch", "keep/d.sbatch", "sub/out/e.sbatch"):
        command.write(name, HEAD)
    command.write(".gitignore", "[z-a]\nout/\n[y-s]x\n")
    command.write("keep/.gitignore", "*.sbatch\n!c.sbatch\n")
    if with_git:
        subprocess.run(["git", "init", "-q"], check=True)
    assert command("--show-files").out.split() == ["a.sbatch", "keep/c.sbatch"]
    assert command("--show-files", "keep").out.split() == ["keep/c.sbatch"]
    assert command("--show-files", "out/b.sbatch").out.split() == ["out/b.sbatch"]
    assert command("--show-files", "out").out.split() == ["out/b.sbatch"]


def test_of_gitignore_so_many_lines_are_heeded(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "MOST_GITIGNORE_LINES", 3)
    for name in ("a.sbatch", "b.sbatch", "sub/c.sbatch", "sub/d.sbatch"):
        command.write(name, HEAD)
    command.write(".gitignore", "a.sbatch\n\n")
    command.write("sub/.gitignore", "c.sbatch\nd.sbatch\n")
    assert command("--show-files").out.split() == ["b.sbatch", "sub/d.sbatch"]


def test_git_variables_of_a_hook_do_not_matter(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command.write("inner/a.sbatch", HEAD)
    subprocess.run(["git", "init", "-q", "inner"], check=True)
    subprocess.run(["git", "init", "-q", "other"], check=True)
    monkeypatch.setenv("GIT_DIR", str(command.folder / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    assert command("--show-files", "inner").out.split() == ["inner/a.sbatch"]


def test_a_program_named_by_a_repository_is_not_run(command: Command) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    hook = command.write("hook", "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(hook)], check=True)
    command.write("a.sbatch", HEAD)
    assert command("--show-files").out.split() == ["a.sbatch"]
    assert not (command.folder / "ran").exists()


def test_patterns_that_git_does_not_get_through(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is walked without git then, and the pattern matched in linear time."""
    monkeypatch.setattr(discover, "_PATIENCE", 0.2)
    for name in ("b", "x"):
        command.write(f"{240 * 'a'}{name}.sh", HEAD)
    command.write(".gitignore", f"*{10 * 'a*'}ax.sh\n")
    subprocess.run(["git", "init", "-q"], check=True)
    assert command("--show-files").out.split() == [f"{240 * 'a'}b.sh"]


def test_exclude(command: Command) -> None:
    command.write("a.sbatch", HEAD)
    command.write("old/b.sbatch", HEAD)
    command.write("sbatchlint.toml", 'extend-exclude = ["old/", "[z-a]"]\n')
    assert command("--show-files").out.split() == ["a.sbatch"]
    assert command("--show-files", "old/b.sbatch").out.split() == ["old/b.sbatch"]
    assert command("--show-files", "--force-exclude", "old/b.sbatch", "a.sbatch").out.split() == ["a.sbatch"]


def test_selection(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG GUESS HINT MAYBE\n")
    assert names(command) == ["toy-wrong", "toy-guess"]
    assert names(command, "--select", "SB11") == ["toy-wrong"]
    assert names(command, "--select", "directives") == ["toy-wrong", "toy-guess"]
    assert names(command, "--select", "SB110,toy-guess", "--ignore", "SB110") == ["toy-guess"]
    assert names(command, "--ignore", "SB1", "--extend-select", "toy-guess") == ["toy-guess"]
    assert names(command, "--min-severity", "info") == ["toy-wrong", "toy-guess", "toy-hint"]
    assert names(command, "--min-severity", "error") == ["toy-wrong"]
    assert names(command, "--select", "toy-hint") == ["toy-hint"]
    assert names(command, "--extend-select", "SB170") == ["toy-wrong", "toy-guess", "toy-maybe"]
    assert names(command, "--select", "ALL", "--ignore", "toy_wrong") == ["toy-guess"]


def test_configuration(command: Command) -> None:
    script = f"{HEAD}WRONG GUESS HINT\n"
    command.write("pyproject.toml", '[tool.sbatchlint]\nselect = ["toy-guess", "toy-hint"]\n')
    command.write("a.sbatch", script)
    command.write("sub/a.sbatch", script)
    command.write("sub/deep/a.sbatch", script)
    command.write("sub/.sbatchlint.toml", 'extend = "../site.toml"\nignore = ["toy-hint"]\n')
    command.write("site.toml", 'ignore = ["toy-wrong"]\n[severity]\ntoy-guess = "error"\n')
    assert names(command, "a.sbatch") == ["toy-guess", "toy-hint"]
    found = json.loads(command("sub/deep/a.sbatch", "--output-format", "json").out)
    assert [(each["name"], each["severity"]) for each in found] == [("toy-guess", "error")]
    assert names(command, "a.sbatch", "--isolated") == ["toy-wrong", "toy-guess"]
    assert names(command, "a.sbatch", "--config", "site.toml") == ["toy-guess"]
    assert names(command, "a.sbatch", "--config", 'select = ["SB110"]') == ["toy-wrong"]
    assert names(command, "a.sbatch", "--select", "SB110") == ["toy-wrong"]


def test_per_file_ignores(command: Command) -> None:
    command.write("sbatchlint.toml", '[per-file-ignores]\n"old/*" = ["toy-wrong"]\n')
    command.write("old/a.sbatch", f"{HEAD}WRONG GUESS\n")
    command.write("new/a.sbatch", f"{HEAD}WRONG\n")
    assert names(command, ".") == ["toy-wrong", "toy-guess"]
    assert names(command, "old") == ["toy-guess"]


def test_diff_shows_and_changes_nothing(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG GUESS\n")
    result = command("--diff")
    assert result.code == 1
    assert "-echo WRONG GUESS\n+echo RIGHT GUESS\n" in result.out
    assert "1 finding would be fixed in 1 of 1 script" in result.err
    assert "+echo RIGHT KNOWN" in command("--diff", "--unsafe-fixes", "--fix").out
    assert path.read_text() == f"{HEAD}echo WRONG GUESS\n"
    command.write("a.sbatch", f"{HEAD}echo GUESS\n")
    assert command("--diff").code == 0


def test_a_diff_is_a_patch(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}# \u00e9 \x0c \u2028 x\r\necho WRONG")
    subprocess.run(["git", "init", "-q"], check=True)
    command.write("patch", command("--diff").out)
    subprocess.run(["git", "apply", "-p0", "patch"], check=True)
    assert path.read_bytes().decode() == f"{HEAD}# \u00e9 \x0c \u2028 x\r\necho RIGHT"


def test_unsafe_fixes_alone_say_what_they_need(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}echo GUESS\n")
    assert "--unsafe-fixes repairs nothing without --fix or --diff" in command("--unsafe-fixes").err
    assert "repairs nothing" not in command("--unsafe-fixes", "--diff").err
    assert "repairs nothing" not in command("--unsafe-fixes", "--quiet").err


def test_fix_only_and_show_fixes(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo WRONG WRONG GUESS\n")
    result = command("--fix-only", "--show-fixes")
    assert result.code == 0
    assert "2 x SB110 toy-wrong" in result.out
    assert "toy-guess" not in result.out
    assert path.read_text() == f"{HEAD}echo RIGHT RIGHT GUESS\n"


def test_fixes_that_are_taken_back_are_told(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}echo BREAK\n")
    result = command("--fix")
    assert result.code == 1
    assert "note: a.sbatch:3:6: the fix of SB150 toy-breaker was taken back: the result would not be" in result.err


def test_standard_input(command: Command) -> None:
    script = f"{HEAD}echo WRONG GUESS\n".encode()
    result = command("-", "--stdin-filename", "jobs/a.sbatch", "--output-format", "concise", stdin=script)
    assert result.code == 1
    assert result.out.startswith("jobs/a.sbatch:3:6: error SB110 toy-wrong")
    result = command("-", "--fix", stdin=script)
    assert result.out == f"{HEAD}echo RIGHT GUESS\n"
    assert "toy-guess" in result.err
    assert command("-", "--fix", stdin=HEAD.encode()).out == HEAD
    assert command("-", stdin=b"\0").code == 2


def test_a_fault_of_a_check_is_told_and_the_others_go_on(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}CRASH WRONG\n")
    result = command("a.sbatch")
    assert result.code == 3
    assert "toy-wrong" in result.out
    faults = [line for line in result.err.splitlines() if line.startswith("fault:")]
    assert len(faults) == 1
    assert "toy-crash on a.sbatch (RuntimeError: the check cannot go on); please report this at " in faults[0]
    assert "Traceback" in command("-v", "a.sbatch").err
    assert command("a.sbatch", "--exit-zero").code == 3


def test_a_fix_that_overlaps_itself_is_a_fault_of_its_check(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}OVERLAP WRONG\n")
    result = command("a.sbatch")
    assert result.code == 3
    assert "toy-wrong" in result.out and "toy-crash on a.sbatch (ValueError: overlapping edits)" in result.err


def test_many_files_in_several_processes(command: Command) -> None:
    for number in range(30):
        command.write(f"{number:02}.sbatch", f"{HEAD}echo {'WRONG' if number % 3 else 'fine'}\n")
    one = command("--jobs", "1", "--output-format", "json")
    two = command("--jobs", "2", "--output-format", "json")
    assert len(json.loads(one.out)) == 20
    assert one == two
    assert command("--jobs", "2", "--fix").code == 0
    assert names(command) == []


def test_what_holds_for_old_releases_only(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}OLD\n")
    told = "matters only on Slurm before 23.11; set slurm-version to hide or raise these"
    run = command("a.sbatch", "--output-format", "concise")
    assert run.code == 0 and f"1 of these {told}" in run.out and "1 info finding not shown" in run.out
    shown = command("a.sbatch", "--output-format", "concise", "--min-severity", "info")
    assert f"1 of the findings {told}" in shown.out
    for versions in ("22.05", "22.05-26.05"):
        named = command("a.sbatch", "--output-format", "concise", "--slurm-version", versions)
        assert named.code == 1 and "error SB230" in named.out and "before Slurm 23.11:" not in named.out


def test_statistics(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG GUESS WRONG\n")
    result = command("--statistics")
    assert result.out.splitlines()[:2] == [
        "2 in 1 file error   [*] SB110 toy-wrong",
        "1 in 1 file warning     SB120 toy-guess",
    ]
    found = json.loads(command("--statistics", "--output-format", "json").out)
    assert [(each["count"], each["files"]) for each in found] == [(2, 1), (1, 1)]


def test_output_file_and_quiet(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    result = command("--output-file", "report.json", "--output-format", "json")
    assert (result.code, result.out) == (1, "")
    assert json.loads((command.folder / "report.json").read_text())[0]["name"] == "toy-wrong"
    assert command("--output-file", "no/such/folder").code == 2
    quiet = command("-q", "--output-format", "concise")
    assert quiet.out.count("\n") == 1
    (command.folder / "a.sbatch").write_text(HEAD)
    assert command("-q").out == ""


def test_paths_that_look_like_options(command: Command) -> None:
    """As hooks hand them over: behind `--` everything is a path."""
    for name in ("--fix", "-a.sbatch", "plan"):
        command.write(name, f"{HEAD}WRONG\n")
    result = command("--output-format", "concise", "--", "--fix", "-a.sbatch", "plan")
    assert [line.partition(":")[0] for line in result.out.splitlines()[:-1]] == ["--fix", "-a.sbatch", "plan"]
    assert "WRONG" in (command.folder / "--fix").read_text()


def test_options_may_stand_between_paths(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    command.write("b.sbatch", f"{HEAD}GUESS\n")
    assert names(command, "a.sbatch", "--isolated", "b.sbatch") == ["toy-wrong", "toy-guess"]


def test_verbs_that_lint(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    plain = command("a.sbatch")
    for verb in ("lint", "check"):
        assert command(verb, "a.sbatch") == plain == command(verb)


def test_a_wrong_verb_stops_the_run(command: Command) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    assert command("plam", "a.sbatch") == (
        2, "", "error: there is no command, file or folder plam (did you mean 'plan'?)\n",
    )  # fmt: skip
    found = command("none.sbatch", "a.sbatch")
    assert found.code == 2 and "SB110" in found.out, "a path that is wrong costs the others nothing"


def test_severity_and_format_may_be_set(command: Command) -> None:
    command.write("jobs/a.sbatch", f"{HEAD}echo WRONG\necho GUESS\n")
    command.write("jobs/sbatchlint.toml", 'min-severity = "error"\noutput-format = "concise"\n')
    for path in ("jobs", "jobs/a.sbatch"):
        lines = command(path).out.splitlines()
        assert [line.split(" ")[2] for line in lines[:-1]] == ["SB110"] and "below error not shown" in lines[-1]
    assert "toy-guess" in command("jobs", "--min-severity", "warning").out
    assert json.loads(command("jobs", "--output-format", "json").out)
    assert get_args(Format) == FORMATS


def test_what_is_left_out_is_named(command: Command) -> None:
    for name, text in (
        ("a.sbatch", HEAD), ("plain.sh", "#!/bin/sh\n"), ("page.md", "# Page\n"), ("data.csv", "1,2\n"),
        ("venv/b.sbatch", HEAD), ("old/c.sbatch", HEAD), ("run.log", HEAD), ("binary.sh", b"\0\1"),
        ("built/d.sbatch", HEAD), (".gitignore", "built/\n"),
    ):  # fmt: skip
        command.write(name, text)
    notes = command("-v", "--config", 'extend-exclude = ["old"]').err
    assert sorted(re.findall(r"note: (\S+) is left out", notes)) == [
        "binary.sh", "built", "old", "page.md", "plain.sh", "run.log", "venv",
    ]  # fmt: skip
    assert (
        "note: 2 other files left out" in notes
        and "built is left out: git ignores it" in notes
        and "left out" not in command().err
    )


def test_nothing_on_standard_input(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "sbatchlint", "--isolated", "--output-format", "concise", "-"], input=b"",
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True,
    )  # fmt: skip
    assert found.returncode == 1 and b"<stdin>:1:1: error SB002" in found.stdout


@pytest.mark.skipif(not os.path.exists("/proc/self/mounts"), reason="only Linux tells what is mounted")
def test_file_systems_of_the_kernel_are_not_walked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("/proc", "/proc/self", "/sys"):
        found = command(path)
        assert found.code == 2 and found.err.count("\n") == 1 and "a file system of the kernel" in found.err
    command.write("job.sbatch", HEAD)
    command.write("inner/job.sbatch", HEAD)
    monkeypatch.setattr(discover, "_kernel_folders", lambda: {str(command.folder / "inner"): "proc"})
    assert command("--show-files").out == "job.sbatch\n"


def test_explain_and_checks(command: Command) -> None:
    text = command("explain", "toy-wrong").out
    assert text.startswith("SB110 toy-wrong  error; a fix is always offered; since 0.1.0\n")
    assert "    a WRONG b\n      ^^^^^\n" in text
    value = json.loads(command("explain", "sb110", "--output-format", "json").out)
    assert value["examples"][0]["fixed"] == "a RIGHT b\n"
    assert value["examples"][1]["files"] == [{"path": "lib/more.sh", "text": "fine too\n", "spans": []}]
    assert "  and beside it lib/more.sh:\n    fine too\n" in text
    assert value["examples"][0]["spans"][0]["location"] == {"row": 1, "column": 3}
    assert [each["title"] for each in value["sections"]] == [
        "What you see when it bites",
        "Fix",
        "References",
    ]
    page = command("explain", "SB110", "--output-format", "markdown").out
    assert "# toy-wrong (SB110)" in page
    assert "and beside it `lib/more.sh`:\n\n```bash\nfine too\n```\n" in page
    seen = "Known from: a live run of Slurm 26.05."
    assert seen in command("explain", "SB170").out
    assert seen in command("explain", "SB170", "--output-format", "markdown").out
    assert "Known from" not in text
    group = command("explain", "resources").out
    assert "SB210" in group
    assert "SB110" not in group
    assert len(json.loads(command("checks", "--output-format", "json").out)) == 13
    table = command("checks").out
    assert "SB170  toy-maybe" in table and table.startswith("code ") and "fix?: sometimes" in table


def test_help_and_version(command: Command) -> None:
    from sbatchlint import __version__

    assert command("--version") == (0, f"sbatchlint {__version__}\n", "")
    assert command("-q", "--version").out == f"sbatchlint {__version__}\n"
    for arguments in (["--help"], ["explain", "--help"], ["checks", "--help"]):
        assert "usage: sbatchlint" in command(*arguments).out


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sbatchlint", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    process = started(tmp_path, "checks")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(300) == 141
    assert process.stderr.read() == b""


def unread(pipe: IO[bytes]) -> int:
    """How many bytes wait in a pipe."""
    count = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_interrupt(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    try:
        process = started(tmp_path, "-")
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdin is not None
    process.stdin.write(b"#!/bin/bash\n")
    process.stdin.flush()
    deadline = time.monotonic() + 300
    while unread(process.stdin) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, b"")


def test_the_examples_are_broken_and_their_twins_are_not() -> None:
    names = sorted(path.name for path in (ROOT / "examples" / "fixed").glob("*.sbatch"))
    assert names

    def lint(*paths: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sbatchlint", "--isolated", "--output-format", "json", *map(str, paths)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    broken = lint(*(ROOT / "examples" / name for name in names))
    assert broken.returncode == 1, broken.stderr
    reported = {Path(each["filename"]).name for each in json.loads(broken.stdout)}
    assert reported == set(names)
    fixed = lint(*(ROOT / "examples" / "fixed" / name for name in names))
    assert (fixed.returncode, fixed.stdout) == (0, "[]\n")


@pytest.mark.parametrize("words", [["."], ["--isolated", "-"], ["plan", "-"], ["audit", "."], ["mcp"]])
def test_a_working_folder_that_was_removed(tmp_path: Path, words: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = [sys.executable, "-P", "-m", "sbatchlint", *words]
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command], cwd=gone, input="", capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "error: the working folder was removed: change to another\n")
