"""The opening that SB001 names is the one that, closed on its line, makes bash read the script."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sbatchlint.api import lint

BASH = shutil.which("bash")
LINES = [
    'echo "[«$(»date "+%s"]: start - $(basename $PWD) - $USER" >> times_$(arch).log',
    'echo "$(date +"%F")[«$(»date "+%s"]: $(basename ${PWD}) done" >> run_$(arch).log',
    'NAME="«$(»basename "$1" .txt"',
    "NAME=«$(»basename $(pwd)",
    'NAME="«$(»basename $(pwd)"',
    'OUT="«${»SCRATCH:-/tmp/$(date +%s)"',
    "OUT=«${»SCRATCH:-/tmp",
    'OUT="${BASE}/«${»NAME/${USER}" # of $(arch)',
]


@pytest.mark.skipif(BASH is None, reason="without bash nothing is reported")
@pytest.mark.parametrize("marked", LINES)
def test_closing_it_repairs_the_script(marked: str) -> None:
    """Of what stands after the opening, one place at least takes the bracket, and the place named is the marked one."""
    line = marked.replace("«", "").replace("»", "")
    start, opening = marked.index("«"), marked[marked.index("«") + 1 : marked.index("»")]
    head = "#!/bin/bash\n#SBATCH --nodes=1\n"
    found = [each for each in lint(f"{head}{line}\nsrun ./a.out\n").findings if each.code == "SB001"]
    assert [(each.start.row, each.start.column) for each in found] == [(3, start + 1)]
    closing = ")" if opening == "$(" else "}"
    places = range(start + 2, len(line) + 1)
    assert any(_is_valid(f"{head}{line[:at]}{closing}{line[at:]}\nsrun ./a.out\n") for at in places)


def _is_valid(script: str) -> bool:
    done = subprocess.run(
        [str(BASH), "--norc", "--noprofile", "-n"], input=script, capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and not done.stderr
