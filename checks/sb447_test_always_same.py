"""A test always has the same result: its parts exclude each other, or one of them always holds.

`[ "$MODE" != train ] || [ "$MODE" != eval ]` is true for every MODE: what is `train` is not `eval`. The script prints
its usage and exits each time, or takes the branch for other values always. `[ $N = 1 ] && [ $N = 2 ]` is never true.

## Fix

Writes `&&` for `||`, or `||` for `&&`. Unsafe: until now the branch was run always, or never.

## References

bash(1), "Lists", "CONDITIONAL EXPRESSIONS"
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import AndOr, Literal, Parameter, Simple, Statement, TestCommand, Word
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB447", "test-always-same", severity="error", fix="sometimes", since="0.1.0", stage="preview",
    seen="public scripts",
    unseen="The usage message of the script, or a branch that runs every time.",
)  # fmt: skip

_EQUAL = frozenset({"=", "==", "-eq"})
_DIFFERENT = frozenset({"!=", "-ne"})
_PATTERN = Regex(r"[*?\[]")
# In one `[[ … ]]` or `[ … ]`.
_JOINING = {"||": "||", "-o": "||", "&&": "&&", "-a": "&&"}
_OTHER = {"||": "&&", "&&": "||", "-o": "-a", "-a": "-o"}


class Comparison(NamedTuple):
    """A comparison of a variable with a text: `variable` as it is written without quotes."""

    variable: str
    equal: bool
    value: str


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "[" not in text.string:
            continue
        chains = nodes_of(program, AndOr)
        inner = {id(each.left): each.operator for each in chains}
        for chain in chains:
            if inner.get(id(chain)) != chain.operator:
                yield from _of_chain(text, chain)
        for test in nodes_of(program, TestCommand):
            yield from _of_words(text, list(test.words))
        for command in nodes_of(program, Simple):
            if command.words and literal_text(command.words[0]) == "[":
                yield from _of_words(text, [each for each in command.words[1:-1] if isinstance(each, Word)])


def _of_chain(text: Text, chain: AndOr) -> Iterator[Finding]:
    """The finding on tests that are joined by `||` or `&&`, all of them by the same."""
    tests: list[Comparison | None] = []
    node: Statement = chain
    while isinstance(node, AndOr) and node.operator == chain.operator:
        tests.append(_comparison(text, node.right))
        node = node.left
    tests.append(_comparison(text, node))
    if None not in tests and (excluded := _excluded([each for each in tests if each], chain.operator)) is not None:
        at = text.string.find(chain.operator, chain.left.end)
        yield _finding(text, text.span(node.start, chain.end), chain.operator, at if len(tests) == 2 else -1, excluded)


def _of_words(text: Text, words: list[Word]) -> Iterator[Finding]:
    """The finding on comparisons within one pair of brackets."""
    found: list[Comparison | None] = []
    joints: list[Word] = []
    start = 0
    for at, word in enumerate([*words, None]):
        joint = None if word is None else text.string[word.start : word.end]
        if word is None or joint in _JOINING:
            found.append(_of_three(text, words[start:at]))
            start = at + 1
            if word is not None:
                joints.append(word)
    operators = {text.string[each.start : each.end] for each in joints}
    if len(operators) != 1 or None in found:
        return
    operator = operators.pop()
    excluded = _excluded([each for each in found if each], _JOINING[operator])
    if excluded is not None:
        at = joints[0].start if len(joints) == 1 else -1
        yield _finding(text, text.span(words[0].start, words[-1].end), operator, at, excluded)


def _finding(text: Text, span: Span, operator: str, at: int, excluded: tuple[Comparison, Comparison]) -> Finding:
    """The finding on tests joined by an operator, which is at a place of the text (-1: at several)."""
    always = "true" if _JOINING[operator] == "||" else "false"
    first, second = excluded
    good = _OTHER[operator]
    fix = None
    if at >= 0 and text.is_plain:
        fix = Fix(f"write {good}", [replace(text.span(at, at + len(operator)), good)], safe=False)
    both = f"`{second.value}` and `{first.value}`"
    message = f"this is always {always}: `{first.variable}` cannot be both {both}; write `{good}`"
    return Finding(span, message, fix=fix)


def _excluded(tests: list[Comparison], operator: str) -> tuple[Comparison, Comparison] | None:
    """Two comparisons of one variable that decide the whole: `!= a || != b`, `== a && == b`."""
    wanted = operator == "&&"
    found: dict[str, Comparison] = {}
    for test in tests:
        other = found.get(test.variable)
        if test.equal is wanted and other is not None and other.value != test.value:
            return test, other
        if test.equal is wanted:
            found[test.variable] = test
    return None


def _comparison(text: Text, node: Statement) -> Comparison | None:
    if isinstance(node, TestCommand) and not node.redirects:
        return _of_three(text, list(node.words))
    if isinstance(node, Simple) and len(node.words) == 5 and not node.redirects:
        words = [each for each in node.words if isinstance(each, Word)]
        if len(words) == 5 and literal_text(words[0]) == "[" and literal_text(words[4]) == "]":
            return _of_three(text, words[1:4])
    return None


def _of_three(text: Text, words: list[Word]) -> Comparison | None:
    """The comparison of three words: a variable, an operator, a string that is not a pattern."""
    if len(words) != 3 or len(words[0].parts) != 1 or len(words[2].parts) != 1:
        return None
    left, right = words[0].parts[0], words[2].parts[0]
    operator = literal_text(words[1]) or ""
    if not isinstance(left, Parameter) or not isinstance(right, Literal) or operator not in _EQUAL | _DIFFERENT:
        return None
    if left.operator or not right.quoted and _PATTERN.search(right.text):
        return None
    return Comparison(text.string[left.start : left.end], operator in _EQUAL, right.text)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if «[ "$1" != train ] || [ "$1" != eval ]»; then
            echo "usage: sbatch job.sh train|eval"; exit 1
        fi
        srun ./solver "$1"
        """,
        unsafe_fixed={"||": "&&"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [[ «$MODE != train || $MODE != eval» ]]; then MODE=train; fi
        srun ./solver $MODE
        """,
        unsafe_fixed={"||": "&&"},
        title="in one pair of brackets",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" != train ] && [ "$1" != eval ]; then exit 1; fi
        if [ "$1" = train ] || [ "$1" = eval ] || [ "$2" = all ]; then srun ./solver "$1"; fi
        [[ $1 != train* || $1 != *eval ]] && srun ./solver check
        """
    ),
]
