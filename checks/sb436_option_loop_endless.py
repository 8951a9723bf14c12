"""The job hangs: the loop over the script's options never ends.

`while [ $# -gt 0 ]; do case $1 in --size) SIZE=$2; shift 2;; esac; done` drops what it knows from the arguments; a word
that no branch accepts, or whose branch has no `shift`, stays the first one forever. So does an option whose value was
forgotten, as the last word: `shift 2` with one argument left drops nothing in bash. The job then does nothing until its
time limit, and its log is empty.

An error where an option that the script knows has no `shift`; a warning where the branch for other words is missing;
advice where only a forgotten value makes the loop endless, which `set -e` and `set -u` prevent.

## Fix

None: `shift` in that branch, or `*) echo "unknown option $1" >&2; exit 1 ;;` as the last one, and
`shift 2 || exit 1`.

## References

bash(1), `shift` (a run of bash 5.2)
"""

from collections.abc import Iterator, Sequence

from sbatchlint.bash.syntax.tree import Case, Simple, Statement, While, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB436", "option-loop-endless", severity="error", fix="never", since="0.1.0", when=Commands("shift"),
    seen="a review of public scripts",
)  # fmt: skip

_COUNT = Regex(r"\$\{?#\}?(?![\w@*])")
_FIRST = Regex(r"[\"']?\$\{?1\}?[\"']?|[\"']?\$\{1[%#][^{}\s]*\}[\"']?")
_SHIFT = Regex(r"shift\s+[2-9]")
# A loop that begins with two arguments at least, and a script that an error, or the missing value, ends.
_MORE_THAN_ONE = Regex(r"(?:-gt|>)\s*[\"']?[1-9]|(?:-ge|>=)\s*[\"']?[2-9]|-ne\s*[\"']?[1-9]")
_ENDING = Regex(r"(?m)^[^#\n]*\bset\s[^\n]*(?:-\w*[eu]|errexit|nounset)|^#!.*\s-\w*[eu]")
# What changes the arguments, or leaves the loop.
_ADVANCING = frozenset({"shift", "break", "exit", "return", "set", "eval", "source", ".", "exec", "getopts"})


def check(job: Job) -> Iterator[Finding]:
    string = job.text.string
    for loop in nodes_of(job.program, While):
        head = string[loop.condition[0].start : loop.condition[-1].end]
        if loop.negated or not _COUNT.search(head) or "&&" in head or len(loop.body) == 0:
            continue
        cases = [each for each in loop.body if isinstance(each, Case)]
        others = [each for each in loop.body if not isinstance(each, Case)]
        if len(cases) != 1 or _advances(job, others):
            continue
        case = cases[0]
        if not _FIRST.fullmatch(string[case.word.start : case.word.end].strip()):
            continue
        default = False
        for patterns, body, ending in case.items:
            written = [string[each.start : each.end] for each in patterns]
            default = default or "*" in written
            if not _advances(job, body) and ending == ";;":
                place = job.text.span(patterns[0].start, patterns[-1].end)
                what = f"with `{written[0]}`" if "*" not in written else "with any other word"
                message = f"{what} this loop never ends because nothing removes the word; add `shift` to its branch"
                yield Finding(place, message)
                return
        if not default:
            yield Finding(
                job.text.span(case.start, case.word.end),
                "an argument that no branch accepts makes this loop endless; add "
                '`*) echo "unknown option $1" >&2; exit 1 ;;`',
                "warning",
            )
            continue
        shifts = [each for _, body, ending in case.items if ending == ";;" for each in _only_shift(job, body)]
        is_bash = "bash" in string.partition("\n")[0]  # other shells end with an error there
        if shifts and not _MORE_THAN_ONE.search(head) and not _ENDING.search(string) and is_bash:
            yield Finding(
                job.text.span(shifts[0].start, shifts[0].end),
                "if this option comes last, without its value, `shift 2` removes nothing and the loop never ends; "
                "write `shift 2 || exit 1`",
                "info",
            )


def _only_shift(job: Job, body: Sequence[Statement]) -> list[Simple]:
    """The `shift 2` of a branch that does nothing else about the arguments."""
    found = [node for node in nodes_of(tuple(body), Simple) if _advances(job, [node])]
    text = [job.text.string[each.start : each.end] for each in found]
    return found if len(found) == 1 and _SHIFT.fullmatch(text[0]) else []


def _advances(job: Job, body: Sequence[Statement]) -> bool:
    """Whether statements may change the arguments or leave the loop: also by a function, whose end is not looked at."""
    string = job.text.string
    for node in nodes_of(tuple(body), Simple):
        word = node.words[0] if node.words else None
        if isinstance(word, Word):
            name = string[word.start : word.end]
            if name in _ADVANCING or f"{name}()" in string or f"{name} ()" in string or f"function {name}" in string:
                return True
    return False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        while [ $# -gt 0 ]; do
            case "$1" in
                --size) SIZE=$2; shift 2 || exit 1 ;;
                «--fast») FAST=1 ;;
                *) exit 1 ;;
            esac
        done
        srun ./solver --size $SIZE $FAST
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        while (( "$#" )); do
            «case "$1"» in
                --size) SIZE=$2; shift 2 || exit 1 ;;
                -*) echo "unknown option $1" >&2; exit 1 ;;
            esac
        done
        srun ./solver --size $SIZE
        """,
        severity="warning",
        title="other words",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        while [ $# -gt 0 ]; do
            case "$1" in
                --size) SIZE=$2; shift ;;
                --fast) FAST=1 ;;
            esac
            shift
        done
        srun ./solver --size $SIZE $FAST
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        while [ $# -gt 0 ]; do
            case "$1" in
                --size) SIZE=$2; «shift 2» ;;
                *) exit 1 ;;
            esac
        done
        srun ./solver --size $SIZE
        """,
        severity="info",
        title="a forgotten value",
    ),
]
