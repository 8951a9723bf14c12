"""A list of commands does something other than what was meant: `&&`, `||`, `;` and `&` join the wrong parts.

`./prepare || echo "failed" && exit 1` ends the script whether `./prepare` fails or not: `&&` and `||` have the same
rank, so that the `exit` follows either of the two commands, and `echo` always succeeds. So does
`./prepare || echo "failed"; exit 1`. What stands below never runs.

`cd data & ./model` and `module load gcc &` run in a shell of their own, in the background: the script stays in its
folder, and without the module.

An error; a warning in a function or a loop, or in a branch.

## Fix

Puts what belongs together into `{ …; }`, or doubles the `&`. Unsafe: until now the script went another way.

## References

bash(1), "Lists"
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import AndOr, Background, Group, Program, Simple, Statement, Word
from sbatchlint.bash.syntax.walk import literal_text, loops_of, nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, replace

CARD = Card(
    "SB461", "misread-command-list", severity="error", fix="sometimes", since="0.1.0",
    seen="the manual of bash and ShellCheck's SC2015",
    unseen="Nothing, or a job that ends early with its own message of failure.",
)  # fmt: skip

_LEAVING = frozenset({"exit", "return", "continue", "break"})
_PRINTING = frozenset({"echo", "printf", "true", ":", "date"})
# Commands that change the shell that runs them, and do nothing else.
_CHANGING = frozenset({"cd", "pushd", "popd", "export", "module", "ml", "ulimit", "umask", "unset", "shopt", "unalias"})
_LOADING = frozenset({"load", "add", "use", "purge", "unload", "swap", "restore"})


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "||" in text.string:
            yield from _of_lists(text, program)
        for node in nodes_of(program, Background):
            name = _name(node.statement)
            if name in _CHANGING and isinstance(node.statement, Simple) and _changes(node.statement, name):
                yield _in_background(text, node, program)


def _of_lists(text: Text, program: Program) -> Iterator[Finding]:
    """The findings on lists after which the script leaves, whatever the commands before do."""
    for node in nodes_of(program, AndOr):
        left = node.left
        if node.operator == "&&" and _name(node.right) in _LEAVING and _always_succeeds(left):
            assert isinstance(left, AndOr)
            yield _leaves(text, program, left, node.right)
    # in a branch, the script may be meant to leave in any case
    for body in (program.statements, *(each.body for each in loops_of(program))):
        for first, second in pairwise(body):
            if not _always_succeeds(first) or _name(second) not in ("exit", "return"):
                continue
            assert isinstance(first, AndOr) and isinstance(second, Simple)
            code = literal_text(second.words[1]) if len(second.words) == 2 else None
            between = text.string[first.end : second.start]
            if code not in (None, "0") and "\n" not in between and _name(first.right) in ("echo", "printf"):
                yield _leaves(text, program, first, second)


def _name(node: Statement) -> str | None:
    """The name of a simple command without redirects; None for other statements."""
    if not isinstance(node, Simple) or not node.words or node.redirects or node.assignments:
        return None
    return literal_text(node.words[0])


def _always_succeeds(node: Statement) -> bool:
    """Whether a list succeeds whatever its first command does: `… || echo failed`."""
    if not isinstance(node, AndOr) or node.operator != "||":
        return False
    right = node.right
    if isinstance(right, Group) and not right.redirects and right.body:
        right = right.body[-1]
    if isinstance(right, Simple) and right.redirects and right.words:
        return literal_text(right.words[0]) == "echo" and all(
            each.operator in (">&", "1>&2") for each in right.redirects
        )
    return _name(right) in _PRINTING


def _leaves(text: Text, program: Program, left: AndOr, leaving: Statement) -> Finding:
    shown = text.string[leaving.start : leaving.end]
    at_top = any(
        each.start <= left.start and each.end >= left.end for each in program.statements if each is left
    ) or any(isinstance(each, AndOr) and each.left is left for each in program.statements)
    fix = None
    if text.is_plain and not isinstance(left.right, Group):
        edits = [
            insert(text.span(left.right.start, left.right.end).start, "{ "),
            replace(text.span(left.right.end, leaving.start), "; "),
            insert(text.span(leaving.start, leaving.end).end, "; }"),
        ]
        fix = Fix("put both into braces", edits)
    said = text.string[left.right.start : left.right.end].split(None, 1)[0].strip("{")
    both = f"`|| {{ {said or 'echo'} …; {shown}; }}`"
    return Finding(
        text.span(leaving.start, leaving.end),
        f"`{shown}` runs every time, also when nothing has failed; write {both}",
        None if at_top else "warning",
        fix=fix,
    )


def _changes(command: Simple, name: str | None) -> bool:
    """Whether a command only changes its shell."""
    words = [literal_text(each) for each in command.words]
    if name == "module":
        return len(words) > 1 and words[1] in _LOADING
    if name == "ml":
        return len(words) > 1 and words[1] not in ("list", "avail", "spider", "av", "--help")
    if name == "cd":
        return len(words) > 1
    return all(isinstance(each, Word) for each in command.words[:1])


def _in_background(text: Text, node: Background, program: Program) -> Finding:
    shown = text.string[node.statement.start : node.statement.end]
    ampersand = text.string.find("&", node.statement.end, node.end + 1)
    followed = text.string[ampersand + 1 :].split("\n", 1)[0].split("#", 1)[0].strip()
    advice = f"write `{shown} &&`" if followed else "remove the `&`"
    fix = None
    if text.is_plain and ampersand >= 0:
        place = text.span(ampersand, ampersand + 1)
        fix = Fix("write &&", [insert(place.end, "&")]) if followed else Fix("remove the &", [replace(place, "")])
    message = f"`{shown} &` runs in a shell of its own, so nothing changes in the script; {advice}"
    at_top = any(each is node for each in program.statements)
    return Finding(text.span(node.statement.start, node.end), message, None if at_top else "warning", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        ./prepare || echo "cannot prepare" && «exit 1»
        ./model
        """,
        unsafe_fixed={'echo "cannot prepare" && exit 1': '{ echo "cannot prepare"; exit 1; }'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        ./prepare || { echo "cannot prepare"; } && «exit 1»
        ./model
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        «cd data &» ./model
        """,
        unsafe_fixed={"cd data & ./model": "cd data && ./model"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        ./prepare || { echo "cannot prepare"; exit 1; }
        (cd data && ./model) &
        wait
        """,
    ),
]
