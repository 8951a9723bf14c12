"""Results are lost: each iteration of a loop writes to the same file.

`for lr in 0.1 0.2; do ./train $lr > out.txt; done` runs the program with each value, and keeps the output of the last
one. In nested loops the same happens where the name has the variable of one of the loops only.

Reported where the command depends on the variable of the loop, the file is written with `>` or `tee`, and nothing else
in the loop may take the file before the next iteration. Advice where the file is a log.

## Fix

None: write the variable into the name, as in `out_$lr.txt`, or `>>`.

## References

bash(1), "Redirecting Output"
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.script.loops import counted_numbers
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.storage.written_paths import OVERWRITING
from sbatchlint.bash.syntax.tree import (
    AndOr,
    Arithmetic,
    Assignment,
    Background,
    For,
    Parameter,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB731", "output-overwritten-in-loop", severity="warning", fix="never", since="0.1.0", batch=True,
    seen="a review of public scripts", unseen="The results of the last iteration alone.",
)  # fmt: skip

# What leaves the loop or the folder.
_LEAVING = frozenset({"break", "exit", "return", "exec", "cd", "pushd", "popd"})
_LOG = Regex(r"(?i).*\.(?:log|err)|.*(?:log|stdout|stderr)[^/]*")
_WRITING = Regex(r">|\btee\b")
_VARIABLE = Regex(r"\$\{\w+\}|\$\w+|[\"']")
# What makes a name another one in each iteration, whatever its variables.
_CHANGING = Regex(r"`|\$[(\[]|\$\$|\$!|RANDOM|SECONDS|EPOCH")
_IN_SUM = Regex(r"[A-Za-z_]\w*")


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        for loop in nodes_of(program, For):
            if not loop.selects and _is_repeated(text, loop):
                yield from _of_loop(job, text, loop)


def _is_repeated(text: Text, loop: For) -> bool:
    """Whether a loop may have several iterations."""
    if loop.words is None or len(loop.words) != 1:
        return True
    numbers = counted_numbers(text, loop)
    if numbers is not None:
        return numbers[1] < numbers[2]
    return not set("$`*?{[").isdisjoint(_written(text, loop.words[0]))


def _written(text: Text, word: Word | Assignment) -> str:
    return text.string[word.start : word.end]


def _of_loop(job: Job, text: Text, loop: For) -> Iterator[Finding]:
    if not _WRITING.search(text.string, loop.start, loop.end):
        return
    commands = nodes_of(loop.body, Simple)
    if not _LEAVING.isdisjoint(_name(text, each) for each in commands):
        return
    own = _made_from(text, loop, {loop.name})
    inner = [each for each in nodes_of(loop.body, For) if each.name not in own]
    free = {each.name for each in inner if own.isdisjoint(_names(text, each.words or ()))}
    changed = {each.name for each in nodes_of(loop.body, Assignment)} | own
    setting = [each for each in commands if _name(text, each) in ("read", "mapfile", "let")]
    changed |= {_written(text, word).partition("=")[0] for each in setting for word in each.words[1:]}
    for command, redirect, target in _outputs(text, loop.body, free):
        file = _written(text, target).strip("\"'")
        used = _names(text, (target,))
        if not used.isdisjoint(changed - free) or _CHANGING.search(file) or file.startswith(("/dev/", "&", "-")):
            continue
        if own.isdisjoint(_names(text, command.words)) and own.isdisjoint(_names(text, command.assignments)):
            continue
        name = _name(text, command)
        if has_trait(name, "minor", "stages") or _may_be_taken(text, loop, command, target, file):
            continue
        shown = file.rpartition("/")[2]
        yield Finding(
            text.span(target.start, target.end),
            f"each iteration of the loop over `{loop.name}` overwrites `{shown}`, so only the last one's output is "
            f"left; put `${loop.name}` into the name",
            "info" if _LOG.fullmatch(shown) else None,
            related=[(text.span(command.start, command.end), "writes it")] if redirect is None else [],
        )


def _outputs(text: Text, body: Sequence[Statement], free: set[str]) -> Iterator[tuple[Simple, Redirect | None, Word]]:
    """The commands that certainly run in each iteration and overwrite a file, with the word for it."""
    for node in body:
        statement = node.statement if isinstance(node, Background) else node
        if isinstance(statement, For) and statement.name in free:
            yield from _outputs(text, statement.body, free)
        last = statement
        if isinstance(statement, Pipeline) and not statement.negated and isinstance(statement.commands[0], Simple):
            last = statement.commands[-1]
            if isinstance(last, Simple) and _name(text, last) == "tee":
                words = [each for each in last.words[1:] if isinstance(each, Word)]
                if words and not any(_written(text, each).startswith("-") for each in words):
                    yield statement.commands[0], None, words[0]
                continue
        if isinstance(statement, Simple):
            for redirect in statement.redirects:
                if redirect.operator in OVERWRITING and redirect.fd in (None, "1") and redirect.target is not None:
                    yield statement, redirect, redirect.target


def _may_be_taken(text: Text, loop: For, command: Simple, target: Word, file: str) -> bool:
    """Whether something else in the loop may read or move the file, or the program may."""
    stem = max(_VARIABLE.split(file.rpartition("/")[2].rpartition(".")[0] or file), key=len)
    if len(stem) < 2 or "*" in stem:
        return True
    own = (target, command)
    words = [each for each in nodes_of(loop.body, Word) if not any(one.start <= each.start < one.end for one in own)]
    if any(stem in _written(text, each) for each in words):
        return True
    later = [each for each in nodes_of(loop.body, Simple) if each.start > command.start and each.words]
    works = any(not has_trait(_name(text, each), "minor") for each in later)
    return works or any(isinstance(each, AndOr) for each in loop.body)


def _name(text: Text, command: Simple) -> str:
    return _written(text, command.words[0]).rpartition("/")[2] if command.words else ""


def _names(text: Text, nodes: object) -> set[str]:
    """The variables that are read, also without a `$` in `$((i + 1))` and `$[i + 1]`."""
    sums = (text.string[each.expression_start : each.expression_end] for each in nodes_of(nodes, Arithmetic))
    return {each.name for each in nodes_of(nodes, Parameter)}.union(*map(_IN_SUM.findall, sums))


def _made_from(text: Text, loop: For, names: set[str]) -> set[str]:
    """The variables that are assigned in a loop from these, and these."""
    found = set(names)
    for _ in range(4):
        assigned = nodes_of(loop.body, Assignment)
        new = {each.name for each in assigned if not found.isdisjoint(_names(text, each.value or ()))}
        new |= {each.name for each in nodes_of(loop.body, For) if not found.isdisjoint(_names(text, each.words or ()))}
        if new <= found:
            break
        found |= new
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for rate in 0.1 0.2 0.4; do
            python train.py --rate $rate > «predictions.txt»
        done
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for rate in 0.1 0.2; do
            for seed in 1 2 3; do
                srun ./train $rate $seed > «out/seed_$seed.csv»
            done
        done
        """,
        title="the name has the variable of one loop",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for file in data/*.fa; do
            name=$(basename $file .fa)
            ./align $file --name $name 2>&1 | tee «align.log»
        done
        """,
        title="a log",
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for rate in 0.1 0.2 0.4; do
            python train.py --rate $rate > predictions_$rate.txt
            ./train $rate >> all.txt
        done
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for rate in 0.1 0.2 0.4; do
            python train.py --rate $rate > predictions.txt
            python score.py >> scores.txt
        done
        """,
        title="a program may read it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for rate in 0.1 0.2 0.4; do
            cd /home/ada/run_$rate
            ./train $rate > out.txt
        done
        """,
        title="in a folder of its own",
    ),
]
