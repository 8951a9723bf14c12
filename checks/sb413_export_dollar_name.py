"""A variable is not set: a dollar sign precedes its name in the assignment.

`export $GPUS_PER_NODE=8` does not set GPUS_PER_NODE. The shell expands the variable first: if it is empty, `export =8`
is "not a valid identifier"; if it is 8, so is `export 8=8`. The script goes on, and every `$GPUS_PER_NODE` is what it
was before: usually empty, so that `--nproc_per_node $GPUS_PER_NODE --nnodes 2` takes the next option for its value.

Not reported where the variable may hold the name of another one: set by a loop, by `read`, by something unknown.

## Fix

Removes the dollar sign. Safe: as written, the line can only fail.

## References

bash(1), "export"; seen with bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reach import Reach, reach_of_name
from sbatchlint.analysis.expansion.reads import assignments_by_name, reads_of
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.script.work import is_after_all_work
from sbatchlint.bash.interpreter.builtins import DECLARATIONS
from sbatchlint.bash.syntax.tree import Assignment, For, Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_by_place
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB413", "export-dollar-name", severity="error", fix="always", since="0.1.0", seen="a run of bash 5.2",
)  # fmt: skip

# Commands that take the name of the variable to set.
_SETTING = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "local", "declare", "typeset", "unset"})
# Typical names of variables that hold the name of another one; HF_HOME and OMP_NUM_THREADS do not match.
_HOLDS_NAME = Regex(r"\w*[a-z]|\w*(?:VAR|NAME|KEY)|[A-Z\d]{1,5}\Z")
_NAME = Regex(r"[A-Za-z_]\w*")
_SUM = Regex(r"\$(?:\(\(|\[)")


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        for node in nodes_of(program, Simple):
            if not node.words or node.assignments:
                continue
            first = node.words[0]
            command = text.string[first.start : first.end]
            declares = command in DECLARATIONS
            if declares and any(text.string[each.start : each.end] in ("-p", "-f") for each in node.words[1:]):
                continue  # prints variables, or exports functions
            for word in node.words[1:] if declares else node.words[:1]:
                parameter = _dollar_name(word)
                if parameter is None:
                    continue
                values = _values(job, parameter.name)
                if values is not None:
                    place = text.span(parameter.start, parameter.end)
                    found = _finding(job, place, command if declares else "", parameter.name, sorted(values))
                    run = next(reversed([*commands_by_place(job).around(place)]), None)
                    # a branch that only some jobs take, or nothing that depends on the value
                    mild = run is not None and (depends_on_test(run) or is_after_all_work(job, run))
                    mild = mild or not declares and _reaches_little(job, parameter.name, place)
                    yield found._replace(severity="warning") if mild else found


def _reaches_little(job: Job, name: str, place: Span) -> bool:
    """Whether the value is read after a place, and then only for messages and the names of logs."""
    read = any(each.span.start > place.end for each in reads_of(job).get(name, ()))
    return read and reach_of_name(job, name, place.end) <= Reach.LOG


def _finding(job: Job, place: Span, command: str, name: str, values: list[str]) -> Finding:
    runs = f"{command} {values[0] if values else ''}=…".strip()
    what = f"runs `{runs}`"
    if not values and assignments_by_name(job).get(name):  # to something that is not known
        what = f"runs the result, `{f'{command} VALUE=…'.strip()}`"
    return Finding(
        Span(place.start, place.end + 1),
        f"bash expands `{job.source.slice(place)}` first and {what}, which fails and does not set {name}; "
        f"write `{f'{command} {name}=…'.strip()}`",
        fix=Fix("remove the dollar", [replace(place, name)], safe=True),
    )


def _dollar_name(word: Word | Assignment) -> Parameter | None:
    """The `$NAME` of an unquoted `$NAME=…`."""
    if not isinstance(word, Word) or len(word.parts) < 2:
        return None
    name, equals = word.parts[0], word.parts[1]
    if not isinstance(name, Parameter) or name.quoted or name.operator or name.index or not _NAME.fullmatch(name.name):
        return None
    if not isinstance(equals, Literal) or equals.quoted or not equals.text.startswith("="):
        return None
    return name if equals.start == name.end else None


def _values(job: Job, name: str) -> set[str] | None:
    """The values that the script assigns to a variable; None where one may be the name of another variable."""
    values: set[str] = set()
    assigned = [value for each in assignments_by_name(job).get(name, ()) for value in each.alternatives]
    for field in (field for value in assigned for field in value.fields or ()):
        unknown = [each.expansion.name if each.expansion else "" for each in field if not each.text]
        text = text_of(field)
        if text is None and all(map(_SUM.match, unknown)):
            continue  # a number
        if text is None or _NAME.fullmatch(text):
            return None
        values.add(text)
    if name in _set_otherwise(job):
        return None
    if not values and _HOLDS_NAME.match(name) and unclear_sources(job):
        # A sourced file may set it to a name; then nothing else would use the variable itself.
        return None if sum(text.string.count(name) for text, _ in programs(job)) < 2 else values
    return values


@once
def _set_otherwise(job: Job) -> set[str]:
    """Words that may name a variable set by a loop, `read` or the like."""
    found: set[str] = set()
    for text, program in programs(job):
        found.update(node.name for node in nodes_of(program, For))
        for node in nodes_of(program, Simple):
            if node.words and text.string[node.words[0].start : node.words[0].end] in _SETTING:
                found.update(text.string[word.start : word.end] for word in node.words[1:])
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export «$GPUS_PER_NODE=»8
        srun torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 2 train.py
        """,
        fixed={"$GPUS_PER_NODE=8": "GPUS_PER_NODE=8"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «${MASTER_PORT}=»29500
        """,
        fixed={"${MASTER_PORT}=29500": "MASTER_PORT=29500"},
        title="without export",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS=4
        if [ "$1" = all ]; then
            export «$GPUS=»8
        fi
        """,
        fixed={"$GPUS=8": "GPUS=8"},
        title="the variable has a value already",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        for name in NCCL_DEBUG NCCL_IB_DISABLE; do
            export $name=1
        done
        while IFS== read -r key value; do
            export $key=$value
        done < env.txt
        """,
        title="the variable holds a name",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set_default() { export $1=$2; }
        set_default NCCL_DEBUG INFO
        NAME=OMP_NUM_THREADS
        export "$NAME=4" ${NAME}=8
        """,
        title="an argument, a known name",
    ),
]
