"""A program gets the name of a variable in braces: the `$` before them is missing.

bash leaves `-I{HDF5_INC}` as it is, since braces without a comma or two dots mean nothing: the compiler looks for a
folder of that very name, and `cp x.log results_{SLURM_JOB_ID}` makes the same file in each job.

Reported are names that the script sets and reads with a `$` elsewhere, and those that Slurm sets. A word in single
quotes, of a program that has braces of its own (`awk`, `find`, `parallel`), or in lower case in double quotes may be
meant for the program. What only prints it is advice.

## Fix

Adds the `$`. Unsafe: perhaps the program fills it in.

## References

bash(1), "Brace Expansion"; run with bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.bash.values import Piece, Pieces
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB456", "dollar-missing", severity="warning", fix="always", since="0.1.0", seen="a review of public scripts",
)  # fmt: skip

_BRACED = Regex(r"(?<![$\\{%@#])(?<!%q)\{([A-Za-z_]\w+)\}(?!\})")
# Programs with braces of their own, or whose words are programs.
_OWN = frozenset(
    {"awk", "gawk", "mawk", "sed", "perl", "jq", "find", "xargs", "parallel", "printf", "docker", "podman", "curl"}
    | {"git", "rename", "sbatch", "ssh", "eval", "fd", "rsync", "aws", "sacct", "squeue", "sinfo"}
)
_CODE = frozenset({"-c", "-e", "-r", "-batch", "--eval", "-E"})
_TEMPLATE = Regex(r"(?i)templ|format|pattern|prompt|text|name_fmt|glob|regex")


def check(job: Job) -> Iterator[Finding]:
    if job.is_embedded or not job.is_shell or _BRACED.search(job.source.own.text) is None:
        return
    places: dict[Span, tuple[bool, str]] = {}  # whether it is only printed, and the name
    for command in job.invocations:
        starters = (command, *command.ancestors())
        if any(each.name in _OWN for each in starters) or command.text is not None:
            continue
        if not _CODE.isdisjoint(command.words):
            continue
        for before, field in zip(("", *command.words), command.argv):
            if not _TEMPLATE.search(before):
                for place, name in _in_field(job, field):
                    places.setdefault(place, (has_trait(command.name, "prints"), name))
    for assigned in job.assignments:
        fields = [field for each in assigned.alternatives for field in each.fields or ()]
        for place, name in [found for field in fields for found in _in_field(job, field)]:
            if name != assigned.name and not _TEMPLATE.search(assigned.name):
                places.setdefault(place, (False, name))
    by_name: dict[str, list[Span]] = {}
    for place, (_, name) in sorted(places.items()):
        by_name.setdefault(name, []).append(place)
    for name, (first, *others) in by_name.items():
        printed = all(places[each][0] for each in (first, *others))
        yield Finding(
            first,
            f"bash leaves `{{{name}}}` as it is, not the value of {name}; write `${{{name}}}`",
            "info" if printed else "warning",
            related=[(each, "the same") for each in others[:5]],
            fix=Fix("add the `$`", [insert(each.start, "$") for each in (first, *others)], safe=False),
        )


def _in_field(job: Job, field: Pieces) -> Iterator[tuple[Span, str]]:
    """The names in braces in the literal parts of a word, with their places."""
    for piece in field:
        if piece.text is None or piece.expansion is not None or "{" not in piece.text:
            continue
        for match in _BRACED.finditer(piece.text):
            place = Span(piece.offset(match.start()), piece.offset(match.end() - 1) + 1)
            if job.source.slice(place) == match[0] and _is_meant(job, piece, place, match[1]):
                yield place, match[1]


def _is_meant(job: Job, piece: Piece, place: Span, name: str) -> bool:
    """Whether the value of a variable was meant, and no slot of the program that gets the word."""
    if name not in _known(job):
        return False
    line = job.source.text[job.source.line_of(place.start).start : place.start]
    if line.count("'") % 2:
        return False
    return name.isupper() or not line.count('"') % 2


@once
def _known(job: Job) -> frozenset[str]:
    """The variables that the script sets and reads elsewhere, and those of Slurm in its braces."""
    own = {each.name for each in job.assignments} & set(read_names(job))
    braced = set(_BRACED.findall(job.source.own.text))
    return frozenset(own | {each for each in braced if each.startswith("SLURM_") and find(each) is not None})


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        HDF5_INC=$HDF5_ROOT/include
        ls $HDF5_INC
        mpicc -I«{HDF5_INC}» -o solver solver.c
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=1:00:00
        HDF5_INC=$HDF5_ROOT/include
        ls $HDF5_INC
        mpicc -I${HDF5_INC} -o solver solver.c
        """,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --time=1:00:00\ncp run.log results_«{SLURM_JOB_ID}»\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --time=1:00:00\ncp run.log results_${SLURM_JOB_ID}\n",
        title="a variable of Slurm",
    ),
    Good("#!/bin/bash\n#SBATCH -n 1\nOUT=a\nls $OUT\nparallel echo {OUT} ::: 1 2\n", title="braces of its own"),
    Good('#!/bin/bash\n#SBATCH -n 1\nstep=a\nls $step\n./train --name "run-{step}"\n', title="a slot"),
    Good("#!/bin/bash\n#SBATCH --time=1:00:00\nA=1\nls $A\n./train {A,B}\n", title="two words"),
]
