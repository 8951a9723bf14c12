"""Part of the script is not checked: a size limit of sbatchlint is reached.

sbatchlint evaluates a script as bash would, within limits: 10,000 statements (one that repeats, branches or starts
programs counts as several, a script that is submitted, or is one of a document's, as twenty), 500 launchers, 200,000
words and parts of words, values of 400 parts, 20,000 words of a command, programs inside programs 6 levels deep, 128 KB
of `#SBATCH` lines, 20 files beside the script. The scripts of a document share the statements. What exceeds a limit
counts as unknown, and checks ignore what is unknown, so that mistakes there are not found. Of 1,500 real scripts one
is that large.

A word with several possible values is followed in each of them, six for a variable and twelve for a command. Beyond
that each `${X:-d}` counts as its default, and after that a word becomes unknown; it is reported where a launcher loses
words.

The commands of csh, tcsh and fish are not followed at all; those of zsh are followed where bash reads them the same
way.

A warning where statements or options were left out; where only a value was not followed to its end, or a file not read,
it is advice, which is always shown and does not fail the run.

## Fix

None: split the script, or build such values in a separate program.

## References

docs/performance.md
"""

from collections.abc import Iterator

from sbatchlint.bash.state import ZSH
from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card(
    "SB012", "evaluation-cut-short", severity="warning", fix="never", since="0.1.0", seen="generated scripts",
    always_shown=True,
    unseen="Nothing in a log: it is about what sbatchlint evaluates.",
)  # fmt: skip

MESSAGES = {
    "work": "the file is too large, so sbatchlint stopped here: nothing below is checked",
    "value": "this value is too long to evaluate, so nothing that uses it is checked",
    "depth": "commands are nested too deeply here: anything deeper is not checked",
    "options": "there are too many options above: neither this line nor those below are checked",
    "files": "this file is not checked: the script includes more files than sbatchlint reads",
}

# Shells with a grammar of their own, and the one that is read like bash where the two agree.
_OTHER_SHELLS = frozenset({"csh", "tcsh", "fish", "rc", "ksh", ZSH})


def check(job: Job) -> Iterator[Finding]:
    for kind, span in job.limits.met.values():
        yield Finding(span, MESSAGES[kind], "warning" if kind in ("work", "options") else "info")
    shell = job.interpreter_line[0]
    if not job.is_shell and job.directives.lines and shell in _OTHER_SHELLS:
        end = max(len(job.text.string.partition("\n")[0]), 1)
        message = f"sbatchlint does not read {shell} commands: only the directives are checked"
        yield Finding(job.span(0, end), message, "info")
    names = {assignment.name for assignment in job.assignments} if job.launches and shell != ZSH else set()
    for launch in job.launches:
        launcher = launch.launcher
        pieces = [] if launcher.certain else [piece for word in launcher.argv for piece in word if piece.open]
        lost = next((each for each in pieces if each.expansion is not None and each.expansion.name in names), None)
        if lost is not None and lost.expansion is not None:
            message = f"sbatchlint cannot work out the value of `{lost.expansion.name}`"
            message = f"{message}, so it checks {launcher.name} without it; no change is needed"
            apart = job.line(launcher.span.start) != job.line(lost.span.start)
            others = [(launcher.span, f"{launcher.name} gets it here")] if apart else []
            yield Finding(lost.span, message, "info", others)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        A="one two three four five six seven eight"
        A="$A $A"
        A="$A $A"
        A="$A $A"
        A="$A $A"
        A="$A $A"
        A="$A $A"
        A="$A $A"
        A=«"$A $A"»
        A="$A $A"
        srun ./a.out $A
        """,
        title="a value that doubles",
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        all() { half; half; half; half; half; half; half; half; }
        half() { third; third; third; third; third; third; third; third; }
        third() { fourth; fourth; fourth; fourth; fourth; fourth; fourth; fourth; }
        fourth() { fifth; fifth; fifth; fifth; fifth; fifth; fifth; fifth; }
        fifth() { date; «date»; date; date; date; date; date; date; }
        all
        srun ./a.out
        """,
        title="32,768 commands",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for i in {1..100000}; do
            A="$A $i"
            srun ./a.out $A
        done
        """,
        title="the iterations of a loop are looked at once",
    ),
]
