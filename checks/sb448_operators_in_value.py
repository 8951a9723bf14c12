"""A program gets `>`, `|` or quotes as words: bash reads no operators and no quotes in the value of a variable.

`CMD="python train.py > train.log 2>&1"; $CMD` starts Python with the arguments `>`, `train.log` and `2>&1`: bash has
looked for operators before it expands variables, and afterwards only splits values at spaces. So `CMD="a && b"` gives
`&&` and `b` to a, `OPTIONS="--name 'two words'"` gives `'two` and `words'`, and in `CMD="OMP_NUM_THREADS=4 ./solver"`
the first word is a program that does not exist. Most programs refuse such arguments; others take them for files.

Not reported for what reads its words as a command line again (`eval`, `ssh`, `bash -c`), or only prints them.

An error; a warning where only some jobs meet it.

## Fix

`eval "$CMD"` where the line is only the variable. Unsafe: bash then expands all of the value again. Otherwise write the
command itself, or an array: `OPTIONS=(--name "two words")` and `"${OPTIONS[@]}"`.

## References

bash(1), "EXPANSION", "Quote Removal"; run with bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import enclosing_assignment
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB448", "operators-in-value", severity="error", fix="sometimes", since="0.1.0", stage="preview",
    when=Variables("*"),
    seen="public scripts, run with bash 5.2",
    unseen="`unrecognized arguments: > train.log`, or a file not found; the log file is missing.",
)  # fmt: skip

_OPERATOR = Regex(r"\d?>>?|\d?>&\d|&>>?|\d?<|\|&?|&&|\|\||;|&")
_ASSIGNED = Regex(r"[A-Za-z_]\w*=")
_ALONE = Regex(r"\$\{?(\w+)\}?")
# What reads its words as a command line again, or as operators of its own.
_READS_AGAIN = frozenset(
    {"eval", "ssh", "bash", "sh", "zsh", "dash", "ksh", "su", "parallel", "sbatch", "watch", "trap", "alias", "test"}
    | {"[", "[[", "expr", "find", "export", "local", "declare", "readonly", "typeset", "qsub", "bsub", "swarm", "pdsh"}
    | {"set", "let", "awk", "gawk", "cut", "tr", "sed", "grep", "for"}
)


def check(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        if not command.argv or command.calls_function or command.children:
            continue  # what it starts is looked at
        starters = (each for each in command.ancestors() if each.text is None)
        if any(each.name in _READS_AGAIN for each in (command, *starters)) or has_trait(command.name, "prints"):
            continue
        yield from _of_words(job, command)


def _of_words(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on the first operator, quote or assignment that a command gets from the value of a variable."""
    severity = "warning" if command.context.conditional or command.alternatives > 1 else None
    whole = command.ancestors()[-1] if command.ancestors() else command
    before: Span | None = None
    for at, field in enumerate(command.argv):
        place, word = _value_place(job, whole, field), text_of(field) or ""
        if place is None:
            before = None
            continue
        who, message = f"`{command.name or 'the program'}`", ""
        same = before is not None and job.line(before.start) <= job.line(place.start)
        if at == 0 and not command.kind and _ASSIGNED.match(word) and len(command.argv) > 1:
            name = word.partition("=")[0]
            message = f"bash tries to run `{name}=…` as a command, as it comes from a variable's value"
        elif same and _OPERATOR.fullmatch(word):
            message = f"{who} gets `{word}` as an argument: bash reads no operators in a value"
        elif same and word[:1] in ("'", '"') and word[0] not in word[1:]:  # another word ends the quotes
            message = f"{who} gets the quotes, and the words in them one by one"
        if message:
            yield _finding(job, command, whole, place, message, severity)
            return
        before = place


def _value_place(job: Job, whole: Invocation, field: Pieces) -> Span | None:
    """Where the script assigned a word of a command; None for one that is in the command itself."""
    place = span_of(field)
    if whole.span.contains(place) or any(each.text is None for each in field) or place.start >= whole.span.start:
        return None
    assigned = enclosing_assignment(job, place)
    return place if assigned is not None and assigned.text is job.text else None


def _finding(
    job: Job, command: Invocation, whole: Invocation, place: Span, message: str, severity: str | None
) -> Finding:
    alone = _ALONE.fullmatch(job.source.slice(whole.span))
    fix, advice = None, "write the command itself, or an array"
    if alone is not None and whole is command:
        fix = Fix("use eval", [replace(whole.span, f'eval "${alone[1]}"')], safe=False)
        advice = f'write `eval "${alone[1]}"`'
    return Finding(whole.span, f"{message}; {advice}", severity, related=[(place, "in this value")], fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="python train.py > train.log 2>&1"
        «$CMD»
        """,
        unsafe_fixed={"$CMD": 'eval "$CMD"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OPTIONS="--steps 100 --title 'first run'"
        «srun ./solver $OPTIONS»
        """,
        title="quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="OMP_NUM_THREADS=4 ./solver --steps 100"
        «$CMD»
        """,
        unsafe_fixed={"$CMD": 'eval "$CMD"'},
        title="an assignment",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="python train.py > train.log 2>&1"
        echo $CMD
        eval $CMD
        srun bash -c "$CMD"
        ssh node1 $CMD
        SEPARATOR="|"
        cut -d $SEPARATOR -f 1 table.txt
        """
    ),
]
