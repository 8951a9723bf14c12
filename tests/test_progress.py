"""The line that counts on a terminal, on a real one (a pseudo-terminal)."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sbatchlint.cli import progress
from sbatchlint.cli.progress import with_progress


def items(number: int) -> Iterator[int]:
    for index in range(number):
        time.sleep(0.02)
        yield index


def test_a_long_run_counts_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.05)
    monkeypatch.setattr(progress, "AGAIN", 0.0)
    assert list(with_progress(items(10), 1000, time.monotonic())) == list(range(10))
    err = capsys.readouterr().err
    assert "\r5 of 1,000 scripts" in err
    assert err.endswith("\r\x1b[K")


def test_files_are_counted_while_scripts_are_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(with_progress(items(1), None, time.monotonic() - 1)) == [0]
    assert capsys.readouterr().err == "\r1 files looked at\r\x1b[K"


def test_a_short_run_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 3600)
    assert list(with_progress(items(3), 3, time.monotonic())) == [0, 1, 2]
    assert not capsys.readouterr().err


def test_what_went_before_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """A search for scripts that took a second is followed by the count at once."""
    assert list(with_progress(items(1), 3, time.monotonic() - 1)) == [0]
    assert capsys.readouterr().err == "\r1 of 3 scripts\r\x1b[K"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "arguments", "expected"), [("xterm", (), True), ("dumb", (), False), ("xterm", ("-q",), False)]
)
def test_only_a_terminal_shows_it(
    tmp_path: os.PathLike[str], term: str, arguments: tuple[str, ...], expected: bool
) -> None:
    for number in range(3):
        with open(os.path.join(tmp_path, f"{number}.sbatch"), "w") as file:
            file.write("#!/bin/bash\n#SBATCH -n 1\nsrun ./a.out\n")
    # Every run counts as a long one.
    code = (
        "import sys; from sbatchlint.cli import progress; progress.FIRST = 0; "
        "from sbatchlint.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "--isolated", "--no-cache", *arguments, str(tmp_path)]
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": term}, check=False)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # all is read
        pass
    os.close(ours)
    assert (b" of 3 scripts" in shown) is expected
    piped = subprocess.run(command, capture_output=True, env={**os.environ, "TERM": term}, check=False)
    assert b" of 3 scripts\r" not in piped.stderr
