"""What SB007 says of a first line, against the kernel and the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sbatchlint.engine import lint_source
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

BROKEN = [
    "#!/bin/ bash", "#!/bin/bash*", "#!/bin/bash;", "#!bash", "#!~/bin/bash", "#!$SHELL", "#!/bin/bash # comment",
    "#!/bin/bash -l -e", "#!/bin/bash -eo pipefail", "#!/bin/bash --login -e", "#!/bin/bash -l # comment",
    "#!/bin/sh -e -u", "#!/usr/bin/env bash -l", "#!/usr/bin/env bash # x", "#!/usr/bin/env -i bash",
    "#!usr/bin/env bash", '#!"/bin/bash"', "#!",
]  # fmt: skip
SOUND = [
    "#!/bin/bash", "#! /bin/bash -l  ", "#!/bin/bash\t-e", "#!/usr/bin/env bash", "#!/bin/bash -", "#!/bin/bash -eu",
]  # fmt: skip


def ran(line: str, folder: Path) -> bool:
    """Whether the command of a script with this first line is run."""
    script = folder / "script"
    script.write_text(f"{line}\necho ran-by-a-shell\n")
    script.chmod(0o755)
    try:
        done = subprocess.run([str(script)], capture_output=True, text=True, timeout=300, cwd=folder, check=False)
    except OSError:
        return False
    return "ran-by-a-shell" in done.stdout


def found(line: str) -> list[str]:
    text = f"{line}\n#SBATCH --nodes=1\nsrun ./a\n"
    settings = Resolver(Overrides(select=("SB007",))).settings("job.sbatch")
    return [each.code for each in lint_source(Source(text, "job.sbatch"), settings)]


@pytest.mark.parametrize("line", BROKEN)
def test_what_is_reported_does_not_start(line: str, tmp_path: Path) -> None:
    assert not ran(line, tmp_path)
    assert found(line) == ["SB007"]


@pytest.mark.parametrize("line", SOUND)
def test_what_starts_is_not_reported(line: str, tmp_path: Path) -> None:
    assert ran(line, tmp_path)
    assert found(line) == []
