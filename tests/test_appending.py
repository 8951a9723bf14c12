"""Where a message says that `|| exit` goes, and that bash then does what it says."""

import subprocess

import pytest

from sbatchlint.analysis.script.appending import last_line, where_to_append
from sbatchlint.job import Job
from sbatchlint.site import Site
from sbatchlint.source.text import Source

# The commands after the directives, with the line and the advice for `false`.
PLACES = [
    ("false", 2, "append `|| exit` to line 2", "false || exit"),
    ("false \\\n  --x 1 \\\n  --y 2", 4, "append `|| exit` to line 4", "false \\\n  --x 1 \\\n  --y 2 || exit"),
    (
        "false \\\n  --x 1 \\\n",
        3,
        "replace the `\\` that ends line 3 with `|| exit`",
        "false \\\n  --x 1 || exit\n",
    ),
    ("false # no", 2, "add `|| exit` before the comment on line 2", "false || exit # no"),
    ("true; false; true", 2, "add `|| exit` after this command", "true; false || exit; true"),
    ("false <<END\ntext\nEND", 2, "append `|| exit` to line 2", "false <<END || exit\ntext\nEND"),
    ("x=$(false)", 2, "add `|| exit` after the `)`", "x=$(false) || exit"),
    ("x=`false`", 2, "add `|| exit` after the last backquote", "x=`false` || exit"),
]


@pytest.mark.parametrize(("script", "line", "advice", "followed"), PLACES)
def test_advice_is_where_bash_takes_it(script: str, line: int, advice: str, followed: str) -> None:
    job = Job.from_source(Source(f"#!/bin/bash\n{script}\necho done\n", "job.sh"), Site())
    command = next(each for each in job.invocations if each.name == "false")
    assert (last_line(job, command), where_to_append(job, "|| exit", command)) == (line, advice)
    done = subprocess.run(["bash", "-c", f"{followed}\necho done\n"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
