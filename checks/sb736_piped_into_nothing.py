"""A pipe ends in a command that reads nothing: mostly `||` or `&&` was meant.

`./solve | exit 1` runs both at the same time. The `exit` ends only the subshell of its side of the pipe, and the script
goes on; the program dies as soon as it prints something, as nobody reads the pipe. `./solve || exit 1` ends the script
if the program fails. `./list | echo` prints nothing of the list; `cat` does.

Whether a program of the job is cut off depends on what it prints, so this is a warning.

## Fix

Writes `||` in place of the bar before `exit`, `return`, `break` and `continue`. Unsafe: perhaps `;` was meant.

## References

bash(1), "Pipelines"; pipe(7): a write without a reader is SIGPIPE; run with bash 5.2
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Pipeline, Simple
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.triggers import Commands

CARD = Card(
    "SB736", "piped-into-nothing", severity="warning", fix="sometimes", since="0.1.0", batch=True,
    when=Commands("break", "cd", "continue", "date", "echo", "exit", "export", "printf", "return", "sleep"),
    seen="a run of bash 5.2", unseen="A program that ends early, perhaps with `Broken pipe`.",
)  # fmt: skip

_LEAVING = frozenset({"break", "continue", "exit", "return"})
# What lets a substitution read the pipe.
_READING = ("$(", "`", "/dev/stdin")
_DEAF = _LEAVING | {"cd", "date", "echo", "export", "printf", "sleep"}


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        for node in nodes_of(program, Pipeline):
            for before, after in pairwise(node.commands):
                if isinstance(before, Simple) and isinstance(after, Simple) and before.words and after.words:
                    yield from _of_pair(job, text, before, after)


def _of_pair(job: Job, text: Text, before: Simple, after: Simple) -> Iterator[Finding]:
    word, written = after.words[0], text.string[after.start : after.end]
    name = text.string[word.start : word.end]
    reads = any(each.operator[:1] == "<" for each in after.redirects) or any(each in written for each in _READING)
    if name not in _DEAF or reads:
        return
    if name in _LEAVING:
        what = f"after a pipe, `{name}` ends only its side of the pipe, not the script; write `||` instead of `|`"
    elif name in ("cd", "export"):
        what = f"`{name}` in a pipe changes nothing for the script; write `&& {name}`, or put it on its own line"
    else:
        what = f"`{name}` reads nothing from the pipe, so the output before it is lost; remove the pipe"
    bar = text.string[before.end : after.start]
    fix = Fix("write ||", [replace(text.span(before.end, after.start), bar.replace("|", "||"))], safe=False)
    yield Finding(
        text.span(word.start, word.end),
        what,
        "warning",
        fix=fix if name in _LEAVING and bar.strip() == "|" else None,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./solve input.txt | «exit» 1
        srun ./report
        """,
        unsafe_fixed={"input.txt |": "input.txt ||"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        ls results | «echo»
        srun ./report
        """,
        title="nothing is printed",
        severity="warning",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nsrun ./solve input.txt || exit 1\nls results | cat\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        ls results | while read name; do
            ./report $name || exit 1
        done
        ls results | echo $(cat)
        """,
        title="something reads it",
    ),
]
