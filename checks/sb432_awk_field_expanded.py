"""awk does not see its field: the shell expands the `$2` of its program.

awk names its fields as the shell names its arguments. In `sh -c "ps aux | awk '{print $2}'"` the outer shell reads
text in double quotes, in which single quotes protect nothing: it puts its own second argument there, which a batch job
does not have, and awk prints whole lines. The same goes for `awk "{print $2}"`, for `ssh node "…"`, and for a heredoc
without quotes around its word.

## Fix

A backslash before the `$`. Safe: a field was meant, as `print` precedes it in the same awk statement.

## References

bash(1), "Quoting"; awk(1).
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB432", "awk-field-expanded", severity="error", fix="always", since="0.1.0",
    when=Commands("awk", "gawk", "mawk", "nawk"), seen="a py-spy line of a guide for debugging",
)  # fmt: skip

_IN_PRINT = Regex(r"\bprintf?\b[^;{}\n]*$")


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    edits, first = [], None
    for word in command.argv[1:]:
        for expansion in expansions(word):
            written = job.source.slice(expansion.span)
            before = job.source.text[max(expansion.span.start - 80, 0) : expansion.span.start]
            if is_number(expansion.name) and written == f"${expansion.name}" and _IN_PRINT.search(before):
                first = first or expansion
                edits.append(insert(expansion.span.start, "\\"))
    if first is None or command.alternatives > 1:
        return
    yield Finding(
        first.span,
        f"the shell expands `${first.name}` itself, so awk does not get it; write `\\${first.name}`",
        fix=Fix("leave the field to awk", edits, safe=True),
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun --overlap sh -c "pgrep -fl python | awk '{print «$1»}' | xargs -n1 py-spy dump --pid"
        """,
        fixed={"$1}'": "\\$1}'"},
    ),
    Good("#!/bin/bash\n#SBATCH -N1\nsrun sh -c \"df | awk '{print \\$2}'\"\n", title="with a backslash"),
    Good("#!/bin/bash\n#SBATCH -N1\ndf | awk '{print $2}'\n"),
    Good('#!/bin/bash\n#SBATCH -N1\nawk "NR == $1" params.txt\n', title="the argument of the script"),
]
