"""Arithmetic fails: bash cannot read a value as a whole number: `08`, `12 list.txt`, `0.5`.

A number that begins with 0 is octal, and 08 and 09 are not octal numbers: `$(( $(date +%m) + 1 ))` fails in August and
September, `$(($(date +%N) % 1000))` in one run of ten or so, `for i in {01..12}` with `$((i + 1))` from the eighth
iteration on, a port made of the last digits of the job's id (`tail -c 4`) in one job of twenty, and what `printf %03d`
made in tasks 8 and 9 of an array; 010 counts as 8. `N=$(wc -l list.txt)` is a number and the name of the file. bash has
no decimal numbers. In each case bash prints an error, the command with the arithmetic is not run, and the script goes
on.

A warning where only some runs or values meet it.

## Fix

None: `10#$i` reads a number as decimal, `date +%-m` prints none before it, `wc -l < list.txt` prints no name, and awk
knows decimal numbers.

## References

bash(1), "ARITHMETIC EVALUATION"; seen with bash 5.2: "value too great for base", "syntax error: invalid arithmetic
operator".
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import Arithmetic, ArithmeticCommand, Assignment, For, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB440", "number-not-readable", severity="error", fix="never", since="0.1.0", seen="a run of bash 5.2",
    unseen="`value too great for base` or `invalid arithmetic operator` in the log; the command is not run.",
)  # fmt: skip

_DATE = r"date[ \t]+[\"']?\+[\"']?%(?:[NdmHMSjUyI])[\"']?"
_PADDED_NUMBER = r"printf[ \t]+(?:--[ \t]+)?[\"']?%0\d+[di][\"']?[ \t]+[\"']?\$[\w{}]+[\"']?"
_ID = r"[\"']?\$\{?SLURM_JOB_?ID\}?[\"']?"
_LAST_DIGITS = (
    rf"(?:echo[ \t]+(?:-n[ \t]+)?{_ID}[ \t]*\|[ \t]*|printf[ \t]+[\"']?%s[\"']?[ \t]+{_ID}[ \t]*\|[ \t]*)"
    r"(?:tail[ \t]+-c[ \t]*-?[2-9]|cut[ \t]+-c[ \t]*-?[2-9][0-9-]*)|tail[ \t]+-c[ \t]*-?[2-9][ \t]*<<<[ \t]*" + _ID
)
_PRINTED = rf"(?:{_DATE}|{_PADDED_NUMBER}|{_LAST_DIGITS})"
_PART_OF_ID = r"\$\{SLURM_JOB_?ID:(?:[ \t]*\([ \t]*)?[ \t]*-?[1-9][^}]*\}"
_WITH_ZEROS = rf"(?:\$\([ \t]*{_PRINTED}[ \t]*\)|`[ \t]*{_PRINTED}[ \t]*`|{_PART_OF_ID})"
_OF_ZEROS = Regex(rf"[\"']?{_WITH_ZEROS}[\"']?")
_IN_EXPRESSION = Regex(rf"(?<!#){_WITH_ZEROS}")
_OF_LINES = Regex(r"[\"']?(?:\$\([ \t]*wc[ \t]+-l[ \t]+[^|<>()`\n]+\)|`[ \t]*wc[ \t]+-l[ \t]+[^|<>()`\n]+`)[\"']?")
_DECIMAL = Regex(r"[\"']?-?\d*\.\d+[\"']?")
_PADDED = Regex(r"\{(0\d+)\.\.(\d+)\}|\$\([ \t]*seq[ \t]+-w[ \t]+(\d+)[ \t]+(\d+)\)")
_POINT = Regex(r"(?<![\w.$}])\d+\.\d+(?![\w.])")
_FIRST_FAULT = 8  # the first number that is none with a zero before it
_COMPARING = Regex(r"-(?:eq|ne|lt|le|gt|ge)")


class _Kind(NamedTuple):
    """What is wrong with the values of a variable: what happens, what to write, whether in every run."""

    happens: str
    advice: str
    certain: bool


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh"):
        return  # zsh and ksh know decimal numbers
    string, program = job.text.string, job.program
    arithmetic: list[Arithmetic | ArithmeticCommand] = [*nodes_of(program, Arithmetic)]
    arithmetic += nodes_of(program, ArithmeticCommand)
    comparing = [
        each for each in nodes_of(program, Simple) if each.words and _name(string, each) in ("[", "test", "seq")
    ]
    if not arithmetic and not comparing:
        return
    kinds = _kinds(job)
    for node in arithmetic:
        expression = string[node.expression_start : node.expression_end]
        if job.ended is not None and node.start >= job.ended or "10#" in expression:
            continue
        span = job.span(node.start, node.end)
        if _IN_EXPRESSION.search(expression):
            yield Finding(
                span,
                "a number with a leading 0 is octal in bash, so this fails for values such as 08 and 09; "
                "write `10#$(date …)`",
                "warning",
            )
        elif _POINT.search(expression) and not re.search(r"[`\"']|\$\(", expression):
            yield Finding(span, "bash arithmetic has no decimals, so this fails; use awk or bc")
        else:
            for name in re.findall(r"(?<![\w#.])\$?\{?([A-Za-z_]\w*)\b(?!\()", expression):
                if name in kinds:
                    kind = kinds[name]
                    yield Finding(
                        span, f"{kind.happens}; {kind.advice.format(name)}", None if kind.certain else "warning"
                    )
                    break
    for command in comparing:
        yield from _compared(job, command, kinds)


def _compared(job: Job, command: Simple, kinds: dict[str, _Kind]) -> Iterator[Finding]:
    """The finding on `[ $n -gt 5 ]` and `seq 1 $n` where the variable holds the name of a file, too."""
    string, words = job.text.string, command.words
    numeric = _name(string, command) == "seq" or any(_COMPARING.fullmatch(string[e.start : e.end]) for e in words)
    for word in words[1:] if numeric else ():
        part = word.parts[0] if isinstance(word, Word) and len(word.parts) == 1 else None
        if isinstance(part, Parameter) and not part.operator and part.name in kinds and "wc" in kinds[part.name].advice:
            kind = kinds[part.name]
            yield Finding(job.span(word.start, word.end), f"{kind.happens}; {kind.advice}")
            return


def _name(string: str, command: Simple) -> str:
    return string[command.words[0].start : command.words[0].end]


def _kinds(job: Job) -> dict[str, _Kind]:
    """The variables all of whose values bash cannot read as numbers."""
    string, found = job.text.string, dict[str, _Kind | None]()
    for assigned in nodes_of(job.program, Assignment):
        value = assigned.value if isinstance(assigned.value, Word) else None
        written = string[value.start : value.end] if value is not None else ""
        line = job.line(job.span(assigned.start, assigned.end).start)
        kind = None
        if _OF_ZEROS.fullmatch(written):
            octal = f"the value from line {line} may be 08 or 09, which are not octal, so this fails in some runs"
            kind = _Kind(octal, "write `10#${}`", certain=False)
        elif _OF_LINES.fullmatch(written):
            kind = _Kind(
                f"on line {line} `wc` also prints the file's name, so this is not a number",
                "write `wc -l < FILE`",
                certain=True,
            )
        elif _DECIMAL.fullmatch(written):
            refused = f"the value from line {line} is `{written}`, and bash arithmetic has no decimals"
            kind = _Kind(refused, "use awk or bc", certain=True)
        found[assigned.name] = None if assigned.append or found.get(assigned.name, kind) is None else kind
    for loop in nodes_of(job.program, For):
        words = [string[each.start : each.end] for each in loop.words or ()]
        match = _PADDED.fullmatch(words[0]) if len(words) == 1 else None
        if match is None or loop.name in found:
            found[loop.name] = None
            continue
        first, last = match[1] or match[3], match[2] or match[4]
        low, high = parse_integer(first), parse_integer(last)
        if low is not None and high is not None and low <= _FIRST_FAULT + 1 and high >= _FIRST_FAULT and len(last) > 1:
            text = "0" * (len(last) - 1) + "8" if match[3] else "0" * (len(first) - 1) + "8"
            kind = _Kind(
                f"`{text}` is not an octal number, so this fails from that iteration on", "write `10#${}`", certain=True
            )
            found[loop.name] = kind
    return {name: kind for name, kind in found.items() if kind is not None}


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PORT=«$(($(date +%N) % 30000))»
        srun python train.py --port "$PORT"
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for month in {01..12}; do
            srun ./model "$month" «$((month + 1))»
        done
        """,
        title="a range with zeros",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        n=$(wc -l files.txt)
        for i in $(seq 1 «$n»); do
            srun ./solver "$i"
        done
        """,
        title="with the file's name",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        threshold=5
        export LIMIT=«$((threshold / 10.0))»
        srun ./solver
        """,
        title="a decimal number",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export MASTER_PORT=«$((10000 + $(echo -n $SLURM_JOB_ID | tail -c 4)))»
        srun python train.py
        """,
        severity="warning",
        title="the last digits of the job's id",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        digits=${SLURM_JOB_ID: -3}
        srun ./server --port «$((20000 + digits))»
        """,
        severity="warning",
        title="a part of the job's id",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        part=$(printf '%03d' "$SLURM_ARRAY_TASK_ID")
        ./model "part$part.nc" «$((part + 1))»
        """,
        severity="warning",
        title="a number with zeros from printf",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-20
        part=$(printf '%03d' "$SLURM_ARRAY_TASK_ID")
        PORT=$(expr 10000 + $(echo -n $SLURM_JOB_ID | tail -c 4))
        ./model "part$part.nc" $((10#$part + 1)) $((SLURM_JOB_ID % 1000)) "$PORT" $((${SLURM_JOB_ID%_*} + 1))
        """,
        title="decimal by `10#`, expr, or no zeros",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PORT=$((10#$(date +%N) % 30000 + $(date +%-m) + $(date +%s)))
        n=$(wc -l < files.txt)
        m=$(date +%m)
        srun python train.py --port "$PORT" --lines $((n + 1)) --next $((10#$m + 1))
        """
    ),
]
