"""A branch says that the script ends, and it goes on.

`if [ ! -f "$INPUT" ]; then echo "no input, exiting"; fi` prints that and starts the work without its input: the message
stands somewhere above in the log, and what fails later, or computes something else, is looked at first. The same goes
for `[ -d "$DIR" ] || echo "no folder. Abort."`, and for a usage message where an argument is missing.

## Fix

None: write `exit 1` after the message, as in `test || { echo …; exit 1; }`.

## References

bash(1), "Compound Commands"
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import AndOr, ArithmeticFor, For, Function, If, Simple, Statement, While, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB725", "announced-exit-missing", severity="warning", fix="never", since="0.1.0", when=Commands("echo", "printf"),
    seen="a review of public scripts", batch=True,
)  # fmt: skip

_ENDS = Regex(
    r"(?i)\b(?:exiting|aborting|quitting|halting|terminating|bailing out|(?:will|must) (?:exit|quit|abort|halt|stop)"
    r"|(?:exit|quit|abort|halt)(?:ed)?(?=[\s.!\"']*$))\b"
)
_OTHERWISE = Regex(
    r"(?i)\b(?:not|without|before|after|when|until|while|press|type)\s+(?:exit|abort|quit|halt|terminat)"
    r"|\w+n't\b|\bexiting (?:from )?(?:the )?(?:loop|container|environment|conda|screen)"
)
_USAGE = Regex(r"(?i)^[^\w]*(?:echo|printf)\s+(?:-\w+\s+)?[\"']?\s*usage\b")
_ARGUMENTS = Regex(r"\$\{?(?:#|[1-9])")


def check(job: Job) -> Iterator[Finding]:
    string = job.text.string
    others: list[Function | For | ArithmeticFor | While] = [
        *nodes_of(job.program, Function), *nodes_of(job.program, For), *nodes_of(job.program, ArithmeticFor),
        *nodes_of(job.program, While),
    ]  # fmt: skip
    inside = [(node.start, node.end) for node in others]
    for body, test in _branches(job):
        last = body[-1]
        if not all(_is_message(string, each) for each in body) or any(a <= last.start < b for a, b in inside):
            continue
        text = string[last.start : last.end]
        usage = _ARGUMENTS.search(test) is not None and any(_USAGE.match(string[e.start : e.end]) for e in body)
        if (usage or _ENDS.search(text) and not _OTHERWISE.search(text)) and _goes_on(job, last.end):
            span = job.span(last.start, last.end)
            what = "says how the script is used" if usage else "says that the script ends"
            yield Finding(span, f"this {what}, but it goes on with the commands below; write `exit 1` after it")


def _branches(job: Job) -> Iterator[tuple[Sequence[Statement], str]]:
    """The statements that run where a test succeeds, if nothing else runs where it fails, with that test."""
    string = job.text.string
    for node in nodes_of(job.program, If):
        if not node.otherwise and len(node.branches) == 1:
            condition, body = node.branches[0]
            if body:
                yield body, "".join(string[each.start : each.end] for each in condition)
    chains = nodes_of(job.program, AndOr)
    inner = {id(each.left) for each in chains}
    for chain in chains:
        if id(chain) not in inner and not isinstance(chain.left, AndOr):
            yield (chain.right,), string[chain.left.start : chain.left.end]


def _is_message(string: str, node: Statement) -> bool:
    if not isinstance(node, Simple) or not node.words or not isinstance(node.words[0], Word):
        return False
    return string[node.words[0].start : node.words[0].end] in ("echo", "printf", "date")


def _goes_on(job: Job, end: int) -> bool:
    """Whether the script's work comes after a place, and no `exit` right after it."""
    place = job.span(end - 1, end).end
    later = [each for each in job.invocations if each.span.start >= place and not each.context.handler]
    if not later or later[0].name in ("exit", "return", "kill", "scancel"):
        return False
    for each in later:
        if each.name == "exit" and not each.context.conditional:
            return False
        if weight(job, each) >= Weight.STAGING:
            return True
    return False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            «echo "input.dat is missing, exiting" >&2»
        fi
        srun ./solver input.dat
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        [ -d "$DATA" ] || «echo "No folder $DATA. Abort."»
        srun ./solver "$DATA"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ $# -lt 1 ]; then
            «echo "Usage: sbatch job.sh INPUT"»
        fi
        srun ./solver "$1"
        """,
        title="a usage message",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            echo "input.dat is missing, exiting" >&2
            exit 1
        fi
        srun ./solver input.dat
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            echo "input.dat is missing, exiting"
        else
            srun ./solver input.dat
        fi
        """,
        title="the work runs only otherwise",
    ),
    Good(
        '#!/bin/bash\n#SBATCH -N1\nsrun ./solver\nif [ $? -ne 0 ]; then\n    echo "failed, exiting"\nfi\ndate\n',
        title="nothing follows",
    ),
]
