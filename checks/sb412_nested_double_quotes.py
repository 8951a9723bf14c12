r"""Inner double quotes are lost: they close the string around them.

`"--rdzv_conf "a=b,c=d" --nnodes 2"` is a string, an unquoted part and another string, joined together. The program
never sees the inner quotes, which does no harm as long as they enclose one plain word: advice, and a warning for JSON,
which is invalid without its quotes. If they enclose a space, or a variable whose value contains one, the string ends
there. In `--wrap="…"` sbatch then refuses the job (`Script arguments not permitted with --wrap option`), in an
assignment the rest of the line is run as a command: an error.

Not reported: a variable alone between the quotes (`"run "$NAME" now"`), and strings that reach no program of the job,
such as those of `echo`.

## Fix

Safe where the text between the quotes is plain: removing them changes nothing. Otherwise a backslash before each, which
is unsafe: single quotes may have been meant.

## References

bash(1), "QUOTING"; sbatch(1), "--wrap"; seen with bash 5.2 and Slurm 22.05.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, Literal, Parameter, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, Text, is_open
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, remove
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_by_place
from sbatchlint.source.regex import Regex

CARD = Card("SB412", "nested-double-quotes", severity="error", fix="sometimes", since="0.1.0")

# Between words of one line: spaces, and what ends a command inside the inner quotes (`"a "b;c" d"`).
_BETWEEN = Regex(r"(?>(?:[ \t;&|]++|\\\n)*)")
# A variable for a later shell, alone between the quotes.
_LATE = Regex(r"\\\$\{?\w+\}?")
_GLOB = Regex(r"[*?\[]")
_WRAP = Regex(r"--wrap")

HAPPENS = {
    "lost": "close the outer string, so the program never sees them",
    "plain": "close the outer string, and have no effect",
    "split": "close the outer string, which is split at the space",
    "command": "close the outer string, and bash runs the rest of the line as a command",
    "pattern": "close the outer string, so the shell replaces what is between them with file names",
}


class Part(NamedTuple):
    """A part of a word in one kind of quotes: `"`, `'` or '' for none. `text`: its content as written."""

    kind: str
    start: int
    end: int
    text: str
    word: int  # where the word begins
    assigned: bool  # whether it is in the value of an assignment, which is not split
    nodes: tuple[object, ...]


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        for parts in _inner(_parts(program, text.string), text.string):
            span = Span(text.offset(parts[0].end), text.offset(parts[-1].start - 1) + 1)
            effect = _effect(job, text, parts, span) if _is_written_so(job, span) else None
            if effect is not None:
                yield _finding(job, span, effect, parts)


def _finding(job: Job, span: Span, effect: str, parts: list[Part]) -> Finding:
    first, last = span.start, span.end - 1
    command = _command_at(job, span)
    wraps = command is not None and command.name == "sbatch" and any(map(_WRAP.match, command.words))
    json = _is_json(parts)
    plain = effect == "lost" and _is_plain(parts) and not json
    message = f"these inner quotes {HAPPENS['plain' if plain else effect]}"
    if wraps and effect in ("split", "command"):
        message = (
            "these inner quotes close the string of `--wrap` at the space, and sbatch refuses the rest as script "
            "arguments"
        )
    fix, advice = None, 'write `\\"` for each'
    if plain:  # escaped, they would be part of the word where a variable is not quoted: `srun $CMD`
        advice = "remove them"
        edits = [remove(Span(first, first + 1)), remove(Span(last, last + 1))]
        fix = Fix("remove the inner quotes", edits, safe=True)
    elif job.source.text[first - 1] != "\\":
        fix = Fix("escape the inner quotes", [insert(first, "\\"), insert(last, "\\")])
    severity = "error" if effect != "lost" else "warning" if json else "info"
    return Finding(span, f"{message}; {advice}", severity, fix=fix)


# --- unquoted parts within strings --------------------------------------------------------------------


def _parts(program: Program, string: str) -> list[Part]:
    """The parts of all words in which double quotes begin or end next to other text."""
    parts: list[Part] = []
    count = string.count
    commands = [each for each in nodes_of(program, Simple) if count('"', each.start, each.end) > 1]
    for command in sorted(commands, key=attrgetter("start")):
        for word in (*command.assignments, *command.words):
            value = word.value if isinstance(word, Assignment) else word
            if not isinstance(value, Word):
                continue
            quotes = count('"', value.start, value.end)
            # a word that is one string has no unquoted part
            if quotes and not (quotes == 2 and string[value.start] == '"' == string[value.end - 1]):
                parts.extend(_parts_of(value, string, isinstance(word, Assignment)))
    return parts


def _parts_of(word: Word, string: str, assigned: bool) -> Iterator[Part]:
    """The parts of a word, by their quotes."""
    kind = ""
    start = at = word.start
    within: list[object] = []
    for node in (*word.parts, None):
        end = word.end if node is None else node.start
        while at < end:
            character = string[at]
            if character == "\\":
                at += 2
                continue
            if character in "\"'" and kind in ("", character):
                if at > start or kind:
                    yield Part(kind, start, at, string[start:at], word.start, assigned, tuple(within))
                kind = "" if kind else character
                start = at + 1
                within = []
            at += 1
        if node is not None:
            within.append(node)
            at = max(at, node.end)
    if kind == "" and word.end > start:
        yield Part("", start, word.end, string[start : word.end], word.start, assigned, tuple(within))


def _inner(parts: list[Part], string: str) -> Iterator[list[Part]]:
    """Unquoted parts between two double-quoted strings that are the halves of one, together with both halves."""
    at = 0
    while at < len(parts):
        first = parts[at]
        if first.kind != '"' or not first.text:
            at += 1
            continue
        chain = [first]
        follow = at + 1
        while follow < len(parts) and parts[follow].kind == "" and _joins(chain[-1], parts[follow], string):
            chain.append(parts[follow])
            follow += 1
        last = parts[follow] if follow < len(parts) else None
        if len(chain) > 1 and last is not None and last.kind == '"' and _touch(chain[-1], last):
            if _touch(first, chain[1]) and _are_halves(first, chain[1:], last, string):
                yield [*chain, last]
            at = follow
        else:
            at += 1


def _touch(first: Part, second: Part) -> bool:
    """Whether two parts belong to one word and have one quote between them."""
    return first.word == second.word and first.end + 1 == second.start


def _joins(first: Part, second: Part, string: str) -> bool:
    if first.word == second.word:
        return _touch(first, second)
    return first.kind == "" and _BETWEEN.fullmatch(string, first.end, second.start) is not None


def _are_halves(first: Part, inner: list[Part], last: Part, string: str) -> bool:
    """Whether two strings are the halves of one: the first ends in a space (or `=`), the last begins with one.

    A variable alone between the quotes (`"run "$NAME" now"`) is the usual way to splice one in.
    """
    if not any(isinstance(node, Literal) for part in inner for node in part.nodes) or _LATE.fullmatch(inner[0].text):
        return False
    before, after = first.text[-1], last.text[:1]
    # an odd number of backslashes cannot be here: the quote would be escaped
    space_after = after in ("", " ", "\t", "\n") or last.text.startswith("\\\n")
    if before in " \t\n=" and space_after:
        return bool(after) or string[last.end + 1 : last.end + 2] in ("", " ", "\t", "\n", ";", "&", "|", ")")
    return _is_json([first, *inner, last])


def _is_json(parts: list[Part]) -> bool:
    """Whether the parts form `{"key": 1, "other": 2}`, which is not JSON without its quotes."""
    before, after = parts[0].text, parts[-1].text[:1]
    return after == ":" and (before[-1] in "{," or before[-1] == " " and before.rstrip()[-1:] in ("{", ","))


def _is_written_so(job: Job, span: Span) -> bool:
    """Whether the quotes are written in the file, on one line."""
    written = job.source.slice(span)
    return len(written) > 1 and written[0] == written[-1] == '"' and "\n" not in written


# --- what comes of it ----------------------------------------------------------------------------------


def _effect(job: Job, text: Text, parts: list[Part], span: Span) -> str | None:
    """What the quotes do (a key of `HAPPENS`); None where they are lost, but the string reaches no program."""
    first, middle, last = parts[0], parts[1:-1], parts[-1]
    if others := [part for part in middle if part.word != first.word]:
        ends_command = first.assigned or re.search("[;&|]", text.string[middle[0].end : others[0].start])
        return "command" if ends_command else "split"
    if not first.assigned:
        if any(_GLOB.search(node.text) for part in middle for node in part.nodes if isinstance(node, Literal)):
            return "pattern"
        command = _command_at(job, span)
        if command is not None and _is_split(command, span, text.offset(last.end)):
            return "split"
    return "lost" if _reaches_program(job, span) else None


def _is_plain(parts: list[Part]) -> bool:
    """Whether the text between the quotes means the same within double quotes."""
    first, *middle, _ = parts
    for node in [node for part in middle for node in part.nodes]:
        if not isinstance(node, Literal):
            if not first.assigned or not isinstance(node, Parameter):
                return False
        elif len(node.text) != node.end - node.start or set(node.text) & set("\\`~!"):
            return False
    return True


def _command_at(job: Job, span: Span) -> Invocation | None:
    """The last of the script's own commands that contains a place."""
    own = (command for command in commands_by_place(job).around(span) if not command.kind)
    return max(own, key=lambda command: command.index, default=None)


def _is_split(command: Invocation, span: Span, end: int) -> bool:
    """Whether the value of a variable between the quotes is known to split the string into several words."""
    literal = [(at, each) for at, field in enumerate(command.argv) for each in field if each.expansion is None]
    heads = [at for at, piece in literal if piece.start < span.start <= piece.end]
    tails = [at for at, piece in literal if span.end <= piece.start <= end]
    if not heads or not tails or any(map(is_open, command.argv[heads[-1] : tails[0] + 1])):
        return False
    return heads[-1] != tails[0]


def _reaches_program(job: Job, span: Span) -> bool:
    """Whether what is between the quotes reaches a launcher, a step or another program."""
    starts, ends = _program_places(job)
    at = bisect_right(starts, span.end - 2)
    return any(ends[index] > span.start + 1 for index in range(max(at - 12, 0), at))


@once
def _program_places(job: Job) -> tuple[list[int], list[int]]:
    """The starts and the ends of the ranges of the file that become arguments of such programs."""
    fields: list[Pieces] = [field for launch in job.launches for field in launch.invocation.argv]
    for command in job.invocations:
        if command.phase is Phase.TASK or command.name in ("srun", "sbatch", "eval", "ssh", "mpirun", "mpiexec"):
            fields.extend(command.argv)
        elif command.text is not None:
            fields.append(command.text.field)
    pieces = sorted((piece.start, piece.end) for field in fields for piece in field if piece.expansion is None)
    return [start for start, _ in pieces], [end for _, end in pieces]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        LAUNCHER="python -m torch.distributed.run \\
            --rdzv_conf «"timeout=60,join_timeout=$WAIT"» \\
            --nnodes 2"
        srun bash -c "$LAUNCHER train.py"
        """,
        fixed={'"timeout=60,join_timeout=$WAIT"': "timeout=60,join_timeout=$WAIT"},
        severity="info",
        title="the quotes are lost",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="python train.py --name «"first try"» --lr 0.1"
        srun bash -c "$CMD"
        """,
        unsafe_fixed={'"first try"': '\\"first try\\"'},
        title="the rest of the line is a command of its own",
    ),
    Bad(
        """\
        #!/bin/bash
        EXTRA="--qos long"
        sbatch --time=50 --wrap="snakemake --default-resources «"slurm_extra=$EXTRA"» --jobs 20"
        """,
        unsafe_fixed={'"slurm_extra=$EXTRA"': '\\"slurm_extra=$EXTRA\\"'},
        title="a space in the value of a variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="python train.py --name \\"first try\\" --data '$DATA/my files' --out "$OUT" --lr 0.1"
        srun bash -c "$CMD"
        """,
        title="escaped, other quotes, a variable alone",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "the file "model.pt" is in "/data/run" now"
        srun python train.py --out="$DIR"/run-"$SLURM_JOB_ID".log
        """,
        title="a message; parts that are glued on purpose",
    ),
]
