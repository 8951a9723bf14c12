"""The script goes on after saying that it stops: an `exit` is missing.

`if [ ! -f "$INPUT" ]; then echo "no input, exiting"; fi` prints that and starts the work without its input: the message
stands somewhere above in the log, and what fails later, or computes something else, is looked at first. The same goes
for `[ -d "$DIR" ] || echo "no folder. Abort."`, and for a usage message where an argument is missing. `return` outside
of a function does not end a script either. `[ -f $INPUT ] || (echo "no input"; exit 1)` ends only the subshell that the
parentheses start, and an `exit` in `find … | while read file; do …; done` only that loop.

A warning, too, for a branch that only prints something and leaves a variable unset that all other branches set. Advice
for a message that only mentions an error, and where the variable is only printed, or the value of an option, which a
program then reports as missing.

## Fix

None: write `exit 1` after the message, as in `test || { echo …; exit 1; }`. `{ …; }` for `( … )` is unsafe, as what the
braces set then stays. A loop reads `done < <(find …)` instead of a pipeline.

## References

bash(1), "Compound Commands"
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.expansion.reads import DEFAULTS, guarded_names, nounset_at, use_of
from sbatchlint.analysis.script.idle_branches import is_in_idle_branch
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import AndOr, Case, Function, Group, If, Pipeline, Simple, Statement, Word
from sbatchlint.bash.syntax.walk import loops_of, nodes_of, unquoted_text
from sbatchlint.bash.trace import Invocation, VariableAssignment, VariableRead
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB725", "announced-exit-missing", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("echo", "printf", "return", "exit"), seen="a review of public scripts", batch=True,
    unseen="The message of the script, and work that goes on after it.",
)  # fmt: skip

_ENDS = Regex(
    r"(?i)\b(?:exiting|aborting|quitting|halting|terminating|bailing out|(?:will|must) (?:exit|quit|abort|halt|stop)"
    r"|(?:exit|quit|abort|halt)(?:ed)?(?=[\s.!\"']*$))\b"
)
_OTHERWISE = Regex(
    r"(?i)\b(?:not|without|before|after|when|until|while|press|type)\s+(?:exit|abort|quit|halt|terminat)"
    r"|\b(?:exit|abort|quit|halt|stop) (?:if|when|unless|after|once)\b|\w+n't\b"
    r"|\bexiting (?:from )?(?:the )?(?:loop|container|environment|conda|screen)"
)
_USAGE = Regex(r"(?i)^[^\w]*(?:echo|printf)\s+(?:-\w+\s+)?[\"']?\s*usage\b")
# A message that begins as one about an error.
_ERROR = Regex(
    r"(?i)(?:echo|printf)\s+(?:-\w+\s+)?[\"'\W]*(?:\\\w*\[[\d;]*m)?[\"'\W]*(?:error|fatal)\b(?!\s*(?:rate|bar|model|log|file))"
)
# A message that all is well.
_IN_ORDER = Regex(
    r"(?i)\b(?:already|skip(?:s|ped|ping)?|exists?|done|finished|completed?|continu\w*|reus\w+|cached"
    r"|defaults?|disabled|assuming|fall(?:s|ing)? ?back)\b"
)
# A message that something is wrong.
_FAULT = Regex(
    r"(?i)\b(?:error|fatal|unknown|invalid|illegal|wrong|bad|not|no|missing|must|should|unsupported|please)\b|\?"
)
# What a login, or the system, sets before the script begins.
_SET_BY_SYSTEM = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "HOSTNAME", "IFS"})
_ARGUMENTS = Regex(r"\$\{?(?:#|[1-9])")
_OTHERWISE_RUN = Regex(r"[ \t]*\|\|")
_LOOKS = Regex(r"[ \t]*(?:\|\||&&|[;\n][^\n]*(?:\$\?|PIPESTATUS)|\|)")


_AFTER_OR = Regex(r"\|\|\s*\Z")
_MOST_BEFORE = 60  # characters
_OPTION_BEFORE = Regex(r"[ \t]--?[A-Za-z][\w-]*[ \t]+\Z")
_OPTION_AFTER = Regex(r"[ \t]+(?:-{1,2}[A-Za-z]|\\\n[ \t]*-)|[ \t]*(?:\n|\Z)")


def check(job: Job) -> Iterator[Finding]:
    string = job.text.string
    inside = [(node.start, node.end) for node in (*nodes_of(job.program, Function), *loops_of(job.program))]
    failing = _always_failing(job)
    for body, test, start in _branches(job):
        last = body[-1]
        if not all(_is_message(string, each) for each in body) or any(a <= last.start < b for a, b in inside):
            continue
        text = string[last.start : last.end]
        usage = _ARGUMENTS.search(test) is not None and any(_USAGE.match(string[e.start : e.end]) for e in body)
        ends = _ENDS.search(text) is not None and not _OTHERWISE.search(text)
        error = any(_ERROR.match(string[each.start : each.end]) for each in body)
        span = job.span(last.start, last.end)
        if any(job.span(start, last.start).contains(each) for each in failing):
            continue  # with `exit 1` no job would get any further
        if (usage or ends or error) and _goes_on(job, last.end) and not is_in_idle_branch(job, span):
            what = "explains the usage" if usage else "says that the script stops" if ends else "reports an error"
            message = f"this message {what}, but the commands below still run; write `exit 1` after the message"
            yield Finding(span, message, "warning" if usage or ends else "info")
    yield from _of_unset(job, inside)
    yield from _of_return(job)
    yield from _in_subshells(job)


def _always_failing(job: Job) -> list[Span]:
    """Where tests stand that fail in any case: `hash $LAUNCHER`, whose value has an option, looks for that as well."""
    commands = (each for each in by_program(job).get("hash", ()) if each.context.parent is None)
    return [each.span for each in commands if any(word[:1] == "-" for word in each.words[2:])]


def _of_unset(job: Job, inside: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Findings on a last branch that only prints, and leaves a variable unset that all others set for what follows."""
    string = job.text.string
    for begin, arms, last in _choices(job):
        if not last or not all(_is_message(string, each) for each in last) or not arms:
            continue
        start, end = arms[0][0].start, last[-1].end
        whole = job.span(begin, end)
        bodies = [job.span(body[0].start, body[-1].end) for body in arms]
        if any(_IN_ORDER.search(string[each.start : each.end]) for each in last):
            continue
        if any(a <= start < b for a, b in inside) or not _goes_on(job, end):
            continue
        sets = [{each.name: each for each in job.assignments if body.contains(each.span)} for body in bodies]
        place = job.span(start, start).start
        for name in (each for each in sets[0] if all(each in other for other in sets[1:])):
            before = any(each.name == name and each.span.start < place for each in job.assignments)
            read = [each.span for each in job.trace.reads if each.name == name and whole.contains(each.span)]
            if any(not any(body.contains(each) for body in bodies) for each in read):
                continue  # a test asks whether it is set, or the message shows it
            after = job.span(end, end).start
            later = [each for each in job.trace.reads if each.name == name and each.span.start >= after]
            around = _around(job, begin)
            later = [each for each in later if not _is_elsewhere(around, each.span)]
            later = [each for each in later if not _is_set_between(job, name, after, each.span.start)]
            if before or not later or name in _SET_BY_SYSTEM or find(name) is not None or name in guarded_names(job):
                continue
            faulty = any(_FAULT.search(string[each.start : each.end]) for each in last)
            if len(sets) == 1 and _is_option(job, sets[0][name]) and not faulty:
                continue  # `FLAGS=-v`, or none
            if later[0].operator in DEFAULTS or nounset_at(job, later[0]) or _keeps_itself(job, name, bodies):
                continue
            span = job.span(last[-1].start, last[-1].end)
            if is_in_idle_branch(job, span):
                break
            message = f"`{name}` stays unset after this message, but the script goes on and uses it"
            alone = not job.source.text[span.end : job.source.line_of(span.end).end].strip()
            message = f"{message}; {'write `exit 1` below this line' if alone else 'append `; exit 1` to it'}"
            shown = all(use_of(job, each).kind in ("print", "arithmetic") for each in later)
            fails = all(use_of(job, each).kind == "print" or _is_value_of_option(job, each) for each in later)
            yield Finding(span, message, "info" if shown or fails else None, related=[(later[0].span, "empty then")])
            break


class Arm(NamedTuple):
    """A branch of an `if` or a `case`: its place, that of the whole, and the number of the arm around that (-1)."""

    start: int
    end: int
    whole: tuple[int, int]
    outer: int


@once
def _arms(job: Job) -> list[Arm]:
    """All branches, by place."""
    places: list[tuple[int, int, tuple[int, int]]] = []
    for node in nodes_of(job.program, If):
        bodies = [*(body for _, body in node.branches), node.otherwise or ()]
        places += [(body[0].start, body[-1].end, (node.start, node.end)) for body in bodies if body]
    for case in nodes_of(job.program, Case):
        places += [(body[0].start, body[-1].end, (case.start, case.end)) for _, body, _ in case.items if body]
    arms: list[Arm] = []
    around: list[int] = []
    for start, end, whole in sorted(places, key=lambda each: (each[0], -each[1])):
        while around and arms[around[-1]].end <= start:
            around.pop()
        arms.append(Arm(start, end, whole, around[-1] if around else -1))
        around.append(len(arms) - 1)
    return arms


def _around(job: Job, place: int) -> list[tuple[Span, Span]]:
    """The branches around a place, each as the whole and the branch: what is in another one does not run after it."""
    arms, found = _arms(job), []
    at = bisect_right(arms, place, key=lambda each: each.start) - 1
    while at >= 0:
        if place < arms[at].end:
            found.append((job.span(*arms[at].whole), job.span(arms[at].start, arms[at].end)))
        at = arms[at].outer
    return found


def _is_elsewhere(around: Sequence[tuple[Span, Span]], span: Span) -> bool:
    return any(whole.contains(span) and not arm.contains(span) for whole, arm in around)


def _is_set_between(job: Job, name: str, start: int, end: int) -> bool:
    return any(each.name == name and start <= each.span.start < end for each in job.assignments)


def _is_value_of_option(job: Job, read: VariableRead) -> bool:
    """Whether a read is the whole of a word after an option, without quotes: empty, the option lacks its value."""
    text, span = job.source.text, read.span
    before = text[max(span.start - _MOST_BEFORE, 0) : span.start]
    return _OPTION_BEFORE.search(before) is not None and _OPTION_AFTER.match(text, span.end) is not None


def _is_option(job: Job, assigned: VariableAssignment) -> bool:
    """Whether a value is an option, which a program may also do without."""
    return job.source.slice(assigned.span).partition("=")[2].lstrip("\"' ").startswith("-")


def _keeps_itself(job: Job, name: str, bodies: Sequence[Span]) -> bool:
    """Whether a branch only adds to the value that a variable has from elsewhere (`FLAGS="$FLAGS -g"`)."""
    added = [each.span for each in job.assignments if each.name == name and any(b.contains(each.span) for b in bodies)]
    if any(job.source.slice(each).startswith(f"{name}+=") for each in added):
        return True
    return any(each.name == name and any(span.contains(each.span) for span in added) for each in job.trace.reads)


def _choices(job: Job) -> Iterator[tuple[int, list[Sequence[Statement]], Sequence[Statement]]]:
    """Statements with branches: where each begins, all bodies but the last, and the one where no test succeeds."""
    for node in nodes_of(job.program, If):
        if node.otherwise:
            yield node.start, [body for _, body in node.branches if body], node.otherwise
    for case in nodes_of(job.program, Case):
        if len(case.items) > 1 and any(job.text.string[each.start : each.end] == "*" for each in case.items[-1][0]):
            yield case.start, [body for _, body, _ in case.items[:-1] if body], case.items[-1][1]


def _of_return(job: Job) -> Iterator[Finding]:
    """The finding on `return` outside functions, which bash refuses, and goes on unless something asks for that."""
    for command in by_program(job).get("return", ()):
        context = command.context
        if context.calls or context.parent is not None or context.handler or context.shell.depth or command.redirects:
            continue
        otherwise = _OTHERWISE_RUN.match(job.text.string, command.span.end)
        decided = otherwise or command.state.option("errexit") is not False
        if command.guards and not decided and _goes_on(job, job.text.string.find("\n", command.span.end)):
            message = "`return` outside a function only prints an error, and the script goes on; write `exit`"
            yield Finding(command.span, message)


def _in_subshells(job: Job) -> Iterator[Finding]:
    """Findings on an `exit` that ends only a subshell, or an element of a pipeline, whose status nothing looks at."""
    groups = [
        each for each in nodes_of(job.program, Group) if each.subshell and isinstance(each.body[-1], Simple | AndOr)
    ]
    pipes = [each for each in nodes_of(job.program, Pipeline) if len(each.commands) > 1]
    for pipe in pipes:
        last, before = pipe.commands[-1], pipe.commands[-2]
        if isinstance(before, Simple) and before.words:
            continue  # piped-into-nothing reports it
        if isinstance(last, Simple) and last.words and unquoted_text(last.words[0]) == "exit" and len(last.words) > 1:
            what = "`|` is a pipe: this ends only its own part of it, and the command before loses its output"
            yield Finding(job.span(last.start, last.end), f"{what}; write `||`")
    for command in by_program(job).get("exit", ()):
        context, shell = command.context, command.context.shell
        if context.calls or context.parent is not None or context.handler or context.background or shell.depth != 1:
            continue
        plain = command.words[1:] in ([], ["0"])
        if plain and shell.kind != "subshell" or command.state.option("errexit") is not False:
            continue
        if shell.kind == "subshell":
            group = next((each for each in groups if job.span(each.start, each.end).contains(command.span)), None)
            if group is None or not command.guards and not context.conditional or _judged(job, group.end):
                continue
            last = _last_of(group)
            if job.span(last.start, last.end) != command.span or not _goes_on(job, group.end):
                continue
            if plain and not (
                isinstance(group.body[-1], AndOr)
                and _AFTER_OR.search(job.text.string, max(group.start - 9, 0), group.start)
            ):
                continue
            start, end = job.span(group.start, group.end)
            braces = [replace(Span(start, start + 1), "{ "), replace(Span(end - 1, end), "; }")]
            message = "`exit` in parentheses ends only that subshell, and the script goes on; write `{ …; }`"
            fix = Fix("use braces", braces, safe=False) if job.source.text[command.span.end : end] == ")" else None
            yield Finding(command.span, message, fix=fix)
        elif shell.kind == "pipeline" and context.loops and (command.guards or context.conditional):
            around = [each for each in pipes if _ends_in_loop_of(job, each, command)]
            if around and not _judged(job, around[0].end) and _goes_on(job, around[0].end):
                message = "`exit` after a pipe ends only the loop, and the script goes on; write `done < <(…)`"
                yield Finding(command.span, message)


def _last_of(group: Group) -> Statement:
    """The last command of a group, also after a message: `(echo "no input" && exit 1)`."""
    last = group.body[-1]
    if isinstance(last, AndOr) and isinstance(last.left, Simple) and last.left.words:
        if last.operator == "&&" and unquoted_text(last.left.words[0]) in ("echo", "printf"):
            return last.right
    return last


def _ends_in_loop_of(job: Job, pipe: Pipeline, command: Invocation) -> bool:
    """Whether a command is in a loop that reads a pipe: the `exit` of a group before one gives it a status."""
    last = job.span(pipe.commands[-1].start, pipe.commands[-1].end)
    return last.contains(command.span) and any(last.contains(each) for each in command.context.loops)


def _judged(job: Job, end: int) -> bool:
    """Whether something looks at the status of what ends at a place: `&&`, `||`, `$?` in the next lines."""
    return _LOOKS.match(job.text.string, end) is not None


def _branches(job: Job) -> Iterator[tuple[Sequence[Statement], str, int]]:
    """The statements that run where a test succeeds, if nothing else does where it fails; the test, and its place."""
    string = job.text.string
    for node in nodes_of(job.program, If):
        if not node.otherwise and len(node.branches) == 1:
            condition, body = node.branches[0]
            if body:
                yield body, "".join(string[each.start : each.end] for each in condition), node.start
    chains = nodes_of(job.program, AndOr)
    inner = {id(each.left) for each in chains}
    for chain in chains:
        if id(chain) not in inner and not isinstance(chain.left, AndOr):
            yield (chain.right,), string[chain.left.start : chain.left.end], chain.start


def _is_message(string: str, node: Statement) -> bool:
    if not isinstance(node, Simple) or not node.words or not isinstance(node.words[0], Word):
        return False
    return string[node.words[0].start : node.words[0].end] in ("echo", "printf", "date")


def _goes_on(job: Job, end: int) -> bool:
    """Whether the script's work comes after a place, and no `exit` right after it."""
    place = job.span(end - 1, end).end
    around, is_first = _around(job, end - 1), True
    for each in job.invocations:
        if each.span.start < place or each.context.handler or _is_elsewhere(around, each.span):
            continue
        if is_first and each.name in ("exit", "return", "kill", "scancel"):
            return False
        is_first = False
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
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = small ]; then
            OPTIONS="--cells 100"
        elif [ "$1" = large ]; then
            OPTIONS="--cells 5000"
        else
            «echo "size $1?"»
        fi
        srun ./solver $OPTIONS
        """,
        title="a variable is not set then",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            echo "input.dat is missing"
            «return 1»
        fi
        srun ./solver input.dat
        """,
        title="return outside of a function",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        [ -f input.dat ] || (echo "no input" >&2; «exit 1»)
        srun ./solver input.dat
        """,
        unsafe_fixed={'(echo "no input" >&2; exit 1)': '{ echo "no input" >&2; exit 1; }'},
        title="exit in a subshell",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ -z ${LIST+x} ]; then LIST=in_list; else echo "LIST is set"; fi
        srun ./solver "$LIST"
        """,
        title="the test asks whether it is set",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            echo "input.dat is missing"
            return || exit
        fi
        python prepare.py || return || exit
        srun ./solver input.dat
        """,
        title="what the failure of return starts",
    ),
    Good(
        """\
        #!/bin/bash -e
        #SBATCH --nodes=1
        if [ ! -f input.dat ]; then
            echo "input.dat is missing"
            return 1
        fi
        srun ./solver input.dat
        """,
        title="errexit ends the script there",
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
