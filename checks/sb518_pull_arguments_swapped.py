"""The pull finds no image: its arguments are swapped.

`apptainer pull docker://ubuntu ubuntu.sif` takes the address for the file to write, and the file for an address: it
stops with "no transport type", there is no image, and every command in the container fails. `apptainer build` has the
same order.

## Fix

Swaps them. Safe: as written it cannot work.

## References

apptainer-pull(1): `pull [pull options...] [output file] <URI>`; apptainer-build(1).
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB518", "pull-arguments-swapped", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("apptainer", "singularity"), seen="apptainer-pull(1)",
)  # fmt: skip

_ADDRESS = Regex(r"(?:docker|docker-daemon|library|shub|oras|https?|ipfs)://")
_LAST_TWO = Regex(r"(?<=[ \t])[^\s'\"\\]+[ \t]+[^\s'\"\\]+\Z")


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if len(command.argv) < 4:
        return
    verbs = [text_of(word) for word in command.argv[1:-2]]
    verb = next((each for each in verbs if each in ("pull", "build")), None)
    address, file = command.argv[-2:]
    if verb is None or not _ADDRESS.match(known_prefix(address)) or _ADDRESS.match(known_prefix(file)):
        return
    if known_prefix(file).startswith("-") or not file or file[0].open:
        return
    place = _last_two(job, command)
    fix = None
    if place is not None:
        first, second = job.source.slice(place).split()
        fix = Fix("swap them", [replace(place, f"{second} {first}")], safe=True)
    yield Finding(
        place or command.span,
        f"`{command.name} {verb}` finds no image: it expects the file first, then the address; swap them",
        fix=fix,
    )


def _last_two(job: Job, command: Invocation) -> Span | None:
    """The place of a command's last two words, if they are on one line and contain no spaces or quotes."""
    found = _LAST_TWO.search(job.source.slice(command.span))
    return None if found is None else Span(command.span.start + found.start(), command.span.end)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        image=notebook.sif
        apptainer pull «docker://example/notebook $image»
        apptainer exec $image jupyter lab
        """,
        fixed={"docker://example/notebook $image": "$image docker://example/notebook"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        apptainer pull --force notebook.sif docker://example/notebook
        apptainer pull docker://example/other
        apptainer build other.sif docker://example/other
        """
    ),
]
