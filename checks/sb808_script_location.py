"""The script does not find its files: its own folder is Slurm's spool folder.

sbatch sends a copy of the script to the first node, where it runs as `/var/spool/slurmd/job04711/slurm_script` or the
like. `$0` and `${BASH_SOURCE[0]}` are that copy, so `cd "$(dirname "$0")"` leads to a folder with nothing else in it,
`source "$DIR/env.sh"` finds no file, and what is written there is lost with the job. It works when the script is run by
hand, which is why it goes unnoticed.

A file that the script sources is not a copy: its own BASH_SOURCE is right. Nothing is reported where a test decides
whether the location is used, as in scripts that run with and without Slurm.

An error where a command certainly needs the folder; a warning elsewhere, for `$(dirname "$0")/..` in PYTHONPATH, as the
modules may be installed as well, and for a `cd` to a folder beside the script's, which fails, so that the job stays
where it was submitted.

## Fix

Writes `$SLURM_SUBMIT_DIR`, the folder in which sbatch was called, with the script's own words as the default where a
comment or a test says that it also runs without Slurm. Unsafe: that need not be the script's folder. None
where it certainly is not: a path goes on with `..`, or a comment or a file beside it submits the script from elsewhere.
`scontrol show job "$SLURM_JOB_ID"` shows the script's own path as `Command=`.

## References

molgenis/vip pull request 44; dask-drmaa issue 87; live runs of Slurm 22.05: `$0` and BASH_SOURCE are both the copy.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.nobody_sets import is_set_by_site
from sbatchlint.analysis.expansion.reads import guarded_names
from sbatchlint.analysis.script.submit_lines import is_submitted_from_elsewhere
from sbatchlint.bash.state import NAME
from sbatchlint.bash.trace import Invocation, values_of
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Phase, Pieces, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.launchers.python import is_python
from sbatchlint.job.launches import container_of
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Variables

CARD = Card(
    "SB808", "script-location", severity="error", fix="sometimes", since="0.1.0", when=Variables("0", "BASH_SOURCE"),
    seen="live runs of Slurm 22.05; public scripts", batch=True,
)  # fmt: skip

_NAMES = frozenset({"0", "BASH_SOURCE"})
# Commands for which a wrong path does not matter, or that only compute it.
_HARMLESS = frozenset(
    {"echo", "printf", ":", "dirname", "basename", "realpath", "readlink", "pwd", "logger", "test"}
    | {"[", "[[", "ls", "cat", "sbatch", "bash", "sh", "cp", "scontrol", "export", "local", "declare"}
    | {"readonly", "eval"}
)
_SELF = r"(?:\$0|\$\{0\}|\$\{?BASH_SOURCE(?:\[0\])?\}?)"
_FILE = rf"\"?(?:{_SELF}|\$\((?:realpath|readlink -f)(?: --)? \"?{_SELF}\"?\))\"?"
_FOLDER = Regex(
    rf"\$\(\s*(?:\\?dirname)(?: --)? {_FILE}\s*\)|`dirname(?: --)? {_FILE}`|\$\{{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}}"
)
_FOLDER_PRINTED = Regex(r"(?:\$\(|`)\s*(?:.*[\s(;&|`])?\\?(?:dirname|cd|pushd)\s")
# Substitutions that print a path they are given, or one beside it; others print what the file holds.
_PATH_PRINTED = Regex(
    r"(?:\$\(|`)\s*\\?(?:dirname|realpath|readlink|echo|printf|ls|which|cd|pushd|command -v|type -p)\s"
)
# A comment that says that the script runs outside a job as well.
_RUN_WITHOUT = Regex(
    r"(?im)^[ \t]*#(?!SBATCH|!)[^\n]*?\b(?:(?:run|used?|called|executed|started)[ \t]+(?:\w+[ \t]+)?"
    r"(?:locally|directly|interactively|by hand|manually|outside|without[ \t]+(?:slurm|sbatch))|run[ \t]+either)\b"
)
# A folder beside that of the script, or beside one above it.
_BESIDE = Regex(r"/\.\./+[^./\s]")
_WRITES, _CHANGES = "writes to that folder", "changes to that folder"
_BESIDE_IT = {_WRITES: "writes beside that folder", _CHANGES: "changes to the folder above it"}
_OPERATOR = Regex(r"\$\{(?:0|BASH_SOURCE(?:\[[0@*]\])?)(?:%|:|/)")


class Use(NamedTuple):
    """A command that needs something in the script's folder. `what`: its part of the message.

    `leaves`: whether its path goes on above that folder (`..`).
    """

    command: Invocation
    what: str
    certain: bool
    leaves: bool


def check(job: Job) -> Iterator[Finding]:
    if not job.directives.every_setting or job.is_wrapped:
        return
    reads = _own_reads(job)
    chosen = _chosen(job, reads) if reads else []
    uses: dict[Span, list[Use]] = {}
    for command in job.invocations if reads else ():
        if command.context.handler or command.alternatives > 1 or command.context.captured:
            continue
        if container_of(command) is not None and command.phase is Phase.TASK:
            continue
        if chosen and any(each.span.contains(place) for place in chosen for each in (command, *command.ancestors())):
            continue
        for at, field in enumerate(command.argv):
            for read in _located(job, field, reads, chosen):
                if command.name in _HARMLESS and at > 0:
                    continue
                what, certain = _what(command, field), not command.context.conditional and not command.context.guards
                if command.name in ("cd", "pushd") and _BESIDE.search(shown_text(field)):
                    # there is no such folder, so the job stays in that of the submission, which may be the right one
                    what, certain = "fails", certain and command.state.option("errexit") is not False
                leaves = _leaves(job, field, read)
                if leaves:
                    what = _BESIDE_IT.get(what, what)
                uses.setdefault(read, []).append(Use(command, what, certain, leaves))
        for name, field in command.variables:
            for read in _located(job, field, reads, chosen):
                uses.setdefault(read, []).append(Use(command, f"gets a wrong {name}", False, True))
    for command, field in _module_paths(job) if reads else ():
        for read in _located(job, field, reads, chosen):
            uses.setdefault(read, []).append(Use(command, "gets a wrong PYTHONPATH", False, True))
    for read, found in uses.items():
        use = next((each for each in found if each.certain), found[0])
        words = _folder_around(job, read)
        other = words is None or is_submitted_from_elsewhere(job) or any(each.leaves for each in found)
        folder = _submission_folder(job, words)
        edits = [] if words is None or other else [replace(words, folder)]
        advice = "build the path from `$SLURM_SUBMIT_DIR`" if other else f"write `{folder}`"
        line = job.line(use.command.span.start)
        message = f"Slurm runs a copy of the script from its spool folder, so line {line} {use.what}"
        message += f"; {advice}" if len(message + advice) <= MOST - 2 else "; use `$SLURM_SUBMIT_DIR`"
        yield Finding(
            read,
            message,
            None if use.certain else "warning",
            related=[(use.command.span, "needs the folder")],
            fix=Fix("use the submission folder", edits, safe=False) if edits else None,
        )


def _module_paths(job: Job) -> Iterator[tuple[Invocation, Pieces]]:
    """The values of PYTHONPATH that the script exports, each with the first Python after them."""
    assigned = [each for each in job.assignments if each.name == "PYTHONPATH" and not each.context.handler]
    for command in job.invocations if assigned else ():
        if command.argv and is_python(command.argv[0]) or job.launcher_of(command) is not None:
            variable = command.state.variables.get("PYTHONPATH")
            if variable is not None and variable.exported and len(variable.alternatives) == 1:
                yield from ((command, field) for fields in values_of(command, variable) for field in fields or ())


def _own_reads(job: Job) -> frozenset[Span]:
    """The places where the script reads its own path, in its own shell and unconditionally."""
    found: set[Span] = set()
    end = len(job.source.own.text)
    replaced = _replaced(job)
    for read in job.trace.reads:
        context = read.context
        if read.name not in _NAMES or context.parent is not None or context.phase is not Phase.BATCH:
            continue
        if not context.guards and (not context.conditional or context.loops) and read.span.end <= end:
            found.add(read.span)
    return frozenset(each for each in found if not any(other.contains(each) for other in replaced))


def _replaced(job: Job) -> list[Span]:
    """The assignments to a variable that gets the path which scontrol shows (`Command=`) after them."""
    if "Command" not in job.source.own.text:
        return []
    last: dict[str, int] = {}
    for each in job.assignments:
        fields = [field for alternative in each.alternatives for field in alternative.fields or ()]
        names = (inner.name for field in fields for found in expansions(field) for inner in found.all())
        if any(name[:2] == "$(" and "scontrol" in name for name in names):
            last[each.name] = each.order
    return [each.span for each in job.assignments if each.order < last.get(each.name, 0)]


def _chosen(job: Job, reads: frozenset[Span]) -> list[Span]:
    """Where the script reads a variable that holds its own path or another one: the first of several that exists."""
    found: list[Span] = []
    for read in job.trace.reads:
        alternatives = () if read.variable is None else read.variable.alternatives
        others = [each.fields or () for each in alternatives if not _holds(each.fields or (), reads)]
        # `${ROOT:-…}`: the environment may have one
        if len(others) < len(alternatives) and not all(map(_is_inherited, others)):
            found.append(read.span)
    return found


def _is_inherited(fields: tuple[Pieces, ...]) -> bool:
    """Whether a value begins with a variable of the environment."""
    first = fields[0][0].expansion if fields and fields[0] else None
    return first is not None and NAME.fullmatch(first.name) is not None and not is_set_by_site(first.name)


def _holds(fields: tuple[Pieces, ...], reads: frozenset[Span]) -> bool:
    return any(each.span in reads for field in fields for found in expansions(field) for each in found.all())


def _located(job: Job, field: Pieces, reads: frozenset[Span], chosen: list[Span]) -> list[Span]:
    """The reads of the script's path by which a word certainly names its folder.

    `chosen`: see `_chosen`.
    """
    found: list[Span] = []
    for at, piece in enumerate(field):
        if piece.expansion is None or not piece.expansion.name:
            continue  # no expansion, or one of several values
        if any(each.span.contains(place) for place in chosen for each in piece.expansion.all()):
            continue
        expansions_of = list(piece.expansion.all())
        printing = [each for each in expansions_of if each.name.startswith(("$(", "`"))]
        others = [e.span for e in printing if not (_PATH_PRINTED.match(e.name) or _FOLDER_PRINTED.match(e.name))]
        own = [each.span for each in expansions_of if each.name in _NAMES and each.span in reads]
        own = [place for place in own if not any(other.contains(place) for other in others)]
        if own and (_is_folder(job, piece.expansion) or shown_text(field[at + 1 :]).startswith("/")):
            found += own
    return found


def _is_folder(job: Job, expansion: Expansion) -> bool:
    return any(
        _FOLDER_PRINTED.match(each.name) or _OPERATOR.match(job.source.slice(each.span)) for each in expansion.all()
    )


def _leaves(job: Job, field: Pieces, read: Span) -> bool:
    """Whether a path goes on above the script's folder: in the word, or where its folder is computed."""
    rest = job.source.text[read.end : job.source.line_of(read.start).end]
    if any("/.." in each.name for found in expansions(field) for each in found.all() if each.name[:2] == "$("):
        return True
    return "/.." in shown_text(field) or re.match(r"\S*\)*[\"']?\s*\)?[\"']?/\.\.", rest) is not None


def _what(command: Invocation, field: Pieces) -> str:
    """What becomes of a command with a path in the wrong folder, as the end of a sentence."""
    if command.name in ("cd", "pushd"):
        return _CHANGES
    if command.name in ("mkdir", "touch", "tee"):
        return _WRITES
    rest = shown_text(field).rpartition(UNKNOWN_CHARACTER)[2]
    rest = rest.strip("/").partition(" ")[0] if rest.startswith("/") and ":" not in rest and "," not in rest else ""
    return f"cannot find `{rest}`" if rest and rest.isprintable() else "gets a wrong path"


def _folder_around(job: Job, read: Span) -> Span | None:
    """The words on one line that come to the script's folder by a read of its path."""
    line = job.source.line_of(read.start)
    places = (Span(*found.span()) for found in _FOLDER.finditer(job.source.text, line.start, line.end))
    return next((place for place in places if place.contains(read)), None)


def _submission_folder(job: Job, words: Span | None) -> str:
    """What to write for the script's folder: with its own words as the default, if it runs without Slurm too."""
    tested = any(each.startswith("SLURM_") for each in guarded_names(job))
    if words is None or not tested and not _RUN_WITHOUT.search(job.source.own.text):
        return "$SLURM_SUBMIT_DIR"
    return f"${{SLURM_SUBMIT_DIR:-{job.source.slice(words)}}}"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        DIR="$(cd "$(dirname "«${BASH_SOURCE[0]}»")" && pwd)"
        source "$DIR/env.sh"
        srun ./a.out
        """,
        unsafe_fixed={'"$(dirname "${BASH_SOURCE[0]}")"': '"$SLURM_SUBMIT_DIR"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        cd "$(dirname "«$0»")"
        srun ./a.out
        """,
        unsafe_fixed={'"$(dirname "$0")"': '"$SLURM_SUBMIT_DIR"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        srun python `dirname «$0»`/train.py
        """,
        unsafe_fixed={"`dirname $0`/train.py": "$SLURM_SUBMIT_DIR/train.py"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        PYTHONPATH="$(dirname «$0»)/..:$PYTHONPATH" srun python tools/train.py
        """,
        severity="warning",
        title="modules",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        echo "usage: $0, $(basename "$0")"
        cp "$0" results/
        [ -e more ] && sbatch "$0"
        NAME=$(basename "$0" .sh)
        WORDS=$(getopt --longoptions "$(printf "%s:," steps case)" --name "$(basename "$0")" -- "$@")
        eval set -- "$WORDS"
        mkdir -p "runs/$NAME" "$(basename "$0").files/1"
        srun ./a.out $WORDS --log="${0##*/}.log"
        """,
        title="the copy will do, and its name is not a path",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        if [ -n "$SLURM_JOB_ID" ]; then
            DIR=$SLURM_SUBMIT_DIR
        else
            DIR=$(dirname "$0")
        fi
        cd "$DIR"
        srun ./a.out
        """,
        title="with and without Slurm",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        ROOT="${SLURM_SUBMIT_DIR:-$(cd "$(dirname "$0")" && pwd)}"
        cd "$ROOT"
        srun bash -c 'cd "$(dirname "$0")"; ./a.out'
        """,
        title="only without Slurm, and in another shell",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=4\nsource ./env.sh\nsrun ./a.out\n",
        files={"env.sh": 'HERE=$(dirname "${BASH_SOURCE[0]}")\nPATH=$HERE/bin:$PATH\nsource "$HERE/more.sh"\n'},
        title="of a sourced file",
    ),
]
