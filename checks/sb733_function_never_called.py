"""A function never runs: nothing calls it, not even a trap.

`cleanup() { …; }` does nothing by itself: without `trap cleanup EXIT` the files stay, and a server or monitor that
`stop_server` is to end keeps running. And where the only program of a job is in a function that is not called, the job
is COMPLETED at once.

Reported where nothing in the script can call the function: its name is nowhere else, no command's name comes from a
variable or an argument, and no file that cannot be read here is sourced after it. A warning where the job does no other
work, otherwise advice.

## Fix

None: call it, or write `trap cleanup EXIT` after its definition.

## References

bash(1), "Functions" and `trap`
"""

import re
from collections import Counter
from collections.abc import Iterator

from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.work import Weight, has_work
from sbatchlint.bash.syntax.tree import Function, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB733", "function-never-called", severity="warning", fix="never", since="0.1.0", batch=True, whole_script=True,
    seen="a review of public scripts", unseen="Nothing: what the function does is not done.",
)  # fmt: skip

# Names of functions that are meant for a trap.
_HANDLER = Regex(
    r"(?i)(?:\w*_)?(?:clean_?up|on_?(?:exit|error|err|term|signal)|finish|finali[sz]e|handle[rd]?|trap|terminate|shutdown"
    r"|interrupted|sig\w+|(?:exit|error|term|signal)_handler)(?:_\w+)?"
)


_WORD = Regex(r"[\w-]+")
# A comment of several words, which says something and turns nothing off.
_PROSE = Regex(r"(?m)^\s*#(?!!).*[a-z]\w*,? [a-z]\w*,? [a-z]\w*,? .*$")
_FOREIGN = Regex(
    r"(?:^|/)(?:activate|conda\.sh|mamba\.sh|\.?bashrc|\.?bash_profile|\.?profile|setvars\.sh|modules?\.sh|init/\w+)$"
)


def check(job: Job) -> Iterator[Finding]:
    functions = nodes_of(job.program, Function)
    if not functions or any(each.name is None and not each.kind for each in job.invocations):
        return
    if commands_named(job, "eval", "declare", "compgen"):
        return
    sources = sorted(each.span.start for each in unclear_sources(job) if not _is_foreign(each))
    string, numbers = job.text.string, Counter(each.name for each in functions)
    used = {word for each in job.invocations for word in each.words}
    works = has_work(job, 0, len(job.invocations), Weight.STAGING)
    for function in functions:
        name = function.name
        if numbers[name] > 1 or name in used or sources and sources[-1] > job.text.offset(function.start):
            continue
        if _is_mentioned(job, function):
            continue
        programs = [each for each in _programs(job, function) if each != name]  # it may call itself
        first = string.index(name, function.start)
        span = job.text.span(first, first + len(name))
        if programs and not works:
            so, advice = f", so the job ends without `{programs[0]}`", "call it at the end of the script"
        elif _HANDLER.fullmatch(name):
            so, advice = ", and no trap has it, so it never runs", f"write `trap {name} EXIT` below it"
        elif programs:
            so, advice = f", so `{programs[0]}` in it never runs", "call it, or remove it"
        else:
            continue
        severity = "info" if works or not programs else None
        yield Finding(span, f"nothing calls `{name}`{so}; {advice}", severity)


def _is_mentioned(job: Job, function: Function) -> bool:
    """Whether the script has the name of a function outside it, also in a comment that turns a call off."""
    string, name, end = job.text.string, function.name, function.end
    line = string.find("\n", end)
    after = string[end : line if line >= 0 else len(string)]
    if _PROSE.match(after) is not None:
        end += len(after)  # a remark on the function
    if _WORD.fullmatch(name):
        places = _words(job).get(name, [])
    else:
        places = [each.start() for each in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", _told(job))]
    return any(not function.start <= at < end for at in places)


@once
def _words(job: Job) -> dict[str, list[int]]:
    """Where each word of the script is, except in comments that say something."""
    found: dict[str, list[int]] = {}
    for match in _WORD.finditer(_told(job)):
        found.setdefault(match[0], []).append(match.start())
    return found


@once
def _told(job: Job) -> str:
    """The script with spaces for comments that say something."""
    return _PROSE.sub(lambda comment: " " * len(comment[0]), job.text.string)


def _is_foreign(source: Invocation) -> bool:
    """Whether a file that is sourced belongs to the site or an installed program, and calls no function of ours."""
    word = source.words[1] if len(source.words) > 1 else ""
    return word.startswith(("/", "~")) or _FOREIGN.search(word) is not None


def _programs(job: Job, function: Function) -> list[str]:
    """The programs that a function starts, by name."""
    found = []
    for command in nodes_of(function.body, Simple):
        word = command.words[0] if command.words else None
        name = job.text.string[word.start : word.end] if isinstance(word, Word) else ""
        name = name.rpartition("/")[2]
        is_known = name and "$" not in name and not name.startswith("_") and name != "exit"
        if is_known and not has_trait(name, "minor", "stages", "loads"):
            found.append((command.start, name))
    return [name for _, name in sorted(found)]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «cleanup»() {
            rm -rf /scratch/$USER/work
        }
        srun ./model
        """,
        severity="info",
        title="meant for a trap",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        function «train» {
            srun ./model --epochs 3
        }
        echo "training has ended"
        """,
        title="the work of the job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cleanup() { rm -rf /scratch/$USER/work; }
        trap cleanup EXIT
        srun ./model
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        train() { srun ./model --train; }
        evaluate() { srun ./model --evaluate; }
        "$1"
        """,
        title="called by an argument",
    ),
]
