"""A test does not test what it says: a bracket or an operator is missing, or has no space around it.

`[` is a command, and the closing bracket must be an argument of its own. `[ $x = y]` and `[ $x = a || [ $x = b ]` print
"missing ]" and are false, `[$x = y ]` looks for a program named `[$x`, and the branch is never taken: the job goes on
without it. `[ $x==y ]` is one word, which is true whatever `$x` is, and `[ $n > 4 ]` writes a file named 4.

`[ -n $x ]` is true even where `$x` is empty: without quotes no word is left of it, and `[ -n ]` asks whether the word
`-n` is empty. A warning.

## Fix

Adds spaces around the bracket or the operator; `>` becomes `-gt` before a number; the variable is quoted. Unsafe: until
now the branch was run never, or always.

## References

bash(1), "CONDITIONAL EXPRESSIONS" and `test`; seen with bash 5.2: "[: missing `]'", exit status 2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import CommandSubstitution, Literal, Parameter, Redirect, Simple, TestCommand, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB420", "broken-test", severity="error", fix="sometimes", since="0.1.0", seen="a public script, run with bash 5.2"
)

_GLUED = Regex(r"\[{1,2}(?=[\"'$!-])")
_LONGEST = 40
_OPERATOR = Regex(r"==?|!=")
_COMPARISONS = {">": "-gt", "<": "-lt"}


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "[" not in text.string:
            continue
        for command in nodes_of(program, Simple):
            if not command.words or command.assignments or text.string[command.words[0].start] != "[":
                continue
            words = [each for each in command.words if isinstance(each, Word)]
            if _plain(words[0]) == "[":
                yield from _bracket(text, command, words)
            else:
                yield from _glued(text, words)
        for test in nodes_of(program, TestCommand):
            yield from _one_word(text, test.words, "[[")


def _bracket(text: Text, command: Simple, words: list[Word]) -> Iterator[Finding]:
    last = words[-1]
    if _plain(last) == "]":
        yield from _redirected(text, command, last)
        yield from _one_word(text, words[1:-1], "[")
        yield from _always_true(text, words[1:-1])
        return
    place = text.span(last.start, last.end)
    glued = len(words) > 1 and text.string[last.end - 1] == "]" and "[" not in text.string[last.start : last.end]
    if glued and _ends_plain(last):
        fix = _fix("put a blank before the bracket", [insert(place.end - 1, " ")], place, text, last)
        yield Finding(place, f"{_MISSING}; put a blank before the bracket", fix=fix)
    elif isinstance(last.parts[-1], Literal) or len(words) > 1 and _plain(words[-2]) in _TESTING:
        fix = _fix("close the bracket", [insert(place.end, " ]")], place, text, last)
        yield Finding(text.span(command.start, last.end), f"{_MISSING}; close it", fix=fix)


_MISSING = "bash says that `]` is missing, and the test is false whatever is compared"
_TESTING = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-z", "-n", "-f", "-d", "-e"})


def _glued(text: Text, words: list[Word]) -> Iterator[Finding]:
    """`[$x = y ]`: bash looks for a command named `[$x`."""
    first, last = words[0], words[-1]
    written = text.string[first.start : first.end]
    opening = _GLUED.match(written)
    if (
        opening is None
        or len(words) < 2
        or not text.string[last.start : last.end].endswith(opening[0].replace("[", "]"))
    ):
        return
    if not isinstance(first.parts[0], Literal) or first.parts[0].quoted:
        return
    place = text.span(first.start, first.end)
    fix = _fix("put a blank behind the bracket", [insert(place.start + len(opening[0]), " ")], place, text, first)
    yield Finding(
        place, f"bash runs `{written}` as a command, and does not find it; put a blank behind `{opening[0]}`", fix=fix
    )


def _always_true(text: Text, words: list[Word]) -> Iterator[Finding]:
    """`[ -n $x ]`: without the variable, the operator is the only word."""
    if len(words) != 2 or _plain(words[0]) != "-n" or len(words[1].parts) != 1:
        return
    part = words[1].parts[0]
    if not isinstance(part, (Parameter, CommandSubstitution)) or part.quoted:
        return
    if isinstance(part, Parameter) and (part.operator in (":-", "-", ":=", "=") or part.name in ("#", "?", "!", "$")):
        return
    place = text.span(words[1].start, words[1].end)
    written = text.string[words[1].start : words[1].end]
    if len(written) > _LONGEST or "\n" in written:
        written = "…"
    edits = [insert(place.start, '"'), insert(place.end, '"')]
    fix = Fix("quote it", edits, safe=False) if text.is_plain else None
    message = f"`[ -n {written} ]` is true even where this is empty, as nothing is left of it then; put it in quotes"
    yield Finding(place, message, "warning", fix=fix)


def _redirected(text: Text, command: Simple, last: Word) -> Iterator[Finding]:
    """`[ $n > 4 ]`: a redirect."""
    for redirect in command.redirects:
        target = redirect.target
        if (
            redirect.operator not in _COMPARISONS
            or redirect.fd is not None
            or redirect.start > last.start
            or target is None
        ):
            continue
        written = text.string[target.start : target.end]
        if "/" in written:
            continue
        place = text.span(redirect.start, redirect.end)
        operator = _COMPARISONS[redirect.operator]
        number = written.isdigit() or "$" in written
        advice = f"write `{operator} {written}`" if number else "compare inside of `[[ … ]]`"
        what = f"writes a file named {written}" if redirect.operator == ">" else f"reads a file named {written}"
        yield Finding(
            place,
            f"`{redirect.operator}` is a redirect here: the test {what} and compares nothing; {advice}",
            fix=_compare(text, redirect, operator) if number else None,
        )


def _compare(text: Text, redirect: Redirect, operator: str) -> Fix | None:
    place = text.span(redirect.start, redirect.start + 1)
    space = "" if text.string[redirect.start + 1].isspace() else " "
    return Fix(f"write {operator}", [replace(place, operator + space)], safe=False) if text.is_plain else None


def _one_word(text: Text, words: tuple[Word, ...] | list[Word], opening: str) -> Iterator[Finding]:
    """`[ $x==y ]`: one word that is never empty."""
    if len(words) != 1:
        return
    word = words[0]
    if not isinstance(word.parts[0], Parameter):
        return
    for part in word.parts[1:]:
        if not isinstance(part, Literal) or part.quoted or part.end - part.start != len(part.text):
            continue
        found = _OPERATOR.search(part.text)
        if found is None:
            continue
        start, end = part.start + found.start(), part.start + found.end()
        if end == word.end:
            continue
        operator, place = found[0], text.span(word.start, word.end)
        fix = _fix("put blanks around it", [replace(text.span(start, end), f" {operator} ")], place, text, word)
        yield Finding(
            place,
            f"`{opening}` gets one word, which is true whatever it holds; put blanks around `{operator}`",
            fix=fix,
        )
        return


def _fix(title: str, edits: list[Edit], place: Span, text: Text, word: Word) -> Fix | None:
    """A fix, where the word is written in the file just as it was parsed."""
    return Fix(title, edits, safe=False) if place.end - place.start == word.end - word.start and text.is_plain else None


def _plain(word: Word) -> str | None:
    """The text of a word that is one unquoted literal; None for other words."""
    if len(word.parts) != 1 or not isinstance(word.parts[0], Literal) or word.parts[0].quoted:
        return None
    return word.parts[0].text


def _ends_plain(word: Word) -> bool:
    last = word.parts[-1]
    return isinstance(last, Literal) and not last.quoted and last.text.endswith("]")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = «train]»; then
            srun python train.py
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = train ]; then
            srun python train.py
        fi
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if «[ "$1" = a» || [ "$1" = b ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = a ] || [ "$1" = b ]; then
            srun python train.py
        fi
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if «[$1» = train ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ $1 = train ]; then
            srun python train.py
        fi
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        if [ $SLURM_NNODES «> 1» ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        if [ $SLURM_NNODES -gt 1 ]; then
            srun python train.py
        fi
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ «$1==train» ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ $1 == train ]; then
            srun python train.py
        fi
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = train ] || [[ $1 == t* ]]; then
            srun python train.py
        fi
        """
    ),
]
