"""What goes to standard output byte for byte, in any locale, and what is said beside it, in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest

from conftest import ROOT

LOCALES: tuple[dict[str, str], ...] = (
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C.UTF-8"},
)
NAMES = ("größe.sh".encode(), b"raw-\xff.sh")
SCRIPT = (
    b"#!/bin/bash\n#SBATCH -N1 --gpus-per-node=4 --ntasks-per-node=1\n# gr\xc3\xb6\xc3\x9fe \xf0\x9f\x98\x80 \xff\n"
    b"srun -N=1 torchrun --nproc_per_node=4 t.py # \xff\n"
)


def run(
    folder: Path,
    arguments: list[str | bytes],
    locale: Mapping[str, str],
    stdout: IO[bytes] | int = subprocess.PIPE,
    stdin: IO[bytes] | None = None,
    sent: bytes | None = None,
) -> tuple[int, bytes, str]:
    command = [sys.executable, "-m", "sbatchlint", *arguments]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1", **locale}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, stdin=stdin, input=sent,
        check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


@pytest.mark.parametrize("locale", LOCALES)
def test_bytes_stay_as_they_are(tmp_path: Path, locale: dict[str, str]) -> None:
    for name in NAMES:
        (tmp_path / os.fsdecode(name)).write_bytes(SCRIPT)
    assert run(tmp_path, ["--isolated", "--show-files", "."], locale)[1].split() == sorted(NAMES)
    for options in ([], ["--diff"]):
        code, out, said = run(tmp_path, ["convert", "--isolated", "--nodes", "2", *options, NAMES[0]], locale)
        assert code in (0, 1), said
        assert b"# gr\xc3\xb6\xc3\x9fe \xf0\x9f\x98\x80 \xff\n" in out
    for form in ("github", "gitlab", "checkstyle", "junit", "sarif", "json", "rdjson", "markdown"):
        _, out, said = run(tmp_path, ["--isolated", "--output-format", form, NAMES[0]], locale)
        assert not said and out.decode()
        if form == "github":
            assert NAMES[0] in out


def test_a_diff_that_is_lost_or_of_nothing_says_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(SCRIPT)
    os.mkfifo(tmp_path / "fifo")
    locale = LOCALES[1]
    for arguments in (["--diff", "fifo"], ["--diff", "--unsafe-fixes", "no.sh"]):
        code, _, said = run(tmp_path, ["--isolated", *arguments], locale)
        assert (code, said.count("\n")) == (2, 1), said
    with open("/dev/full", "wb") as full:
        for options in (["--diff", "a.sh"], ["--fix", "-"]):
            with open(tmp_path / "a.sh", "rb") as script:
                code, _, said = run(tmp_path, ["--isolated", *options], locale, stdout=full, stdin=script)
            assert (code, said) == (2, "error: cannot write to standard output: no space left on device\n")


PLACE = {"uri": "file:///a.sh"}
WRONG: tuple[bytes | dict[str, object], ...] = (
    b"no json",
    b"\xff\xfe{",
    {"id": 2, "method": "textDocument/formatting", "params": {"textDocument": PLACE, "options": {}}},
    {"id": 2, "method": "textDocument/hover", "params": {"textDocument": PLACE}},
    {"method": "textDocument/didOpen", "params": {}},
    {"method": "textDocument/didChange", "params": {"textDocument": PLACE, "contentChanges": [{"range": 5}]}},
    {"id": {"a": 1}, "method": "textDocument/hover", "params": {}},
    {"id": 2, "method": "workspace/executeCommand", "params": {"command": "none"}},
)


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_of_a_wrong_message_a_server_says_one_line(wrong: bytes | dict[str, object], tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    begin = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
    end = {"id": 9, "method": "shutdown"}, {"method": "exit"}
    bodies = [
        each if isinstance(each, bytes) else json.dumps({"jsonrpc": "2.0", **each}).encode()
        for each in (begin, wrong, *end)
    ]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    code, _, said = run(tmp_path, ["server"], LOCALES[1], sent=sent)
    assert (code, said.count("\n")) == (0, 1), said
