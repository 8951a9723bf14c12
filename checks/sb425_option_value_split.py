"""srun runs a part of an option's value as the command: the value is split at its spaces.

`srun --container-mounts=$MOUNTS python train.py` with `MOUNTS="/a:/a /b:/b"`: outside quotes the value is split at the
space, `--container-mounts=/a:/a` is the option, and srun runs a program named `/b:/b`. Where a comment shows a list
with spaces between its words, the same will happen to everybody who follows it.

An error where the script sets the value; a warning where only a comment shows it.

## Fix

`${MOUNTS// /,}` for a list that only a comment shows: unsafe, a space may be part of a name. None for a value that the
script sets: write it with commas.

## References

bash(1), "Word Splitting"; pyxis: `--container-mounts=SRC:DST[:FLAGS][,…]`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB425", "option-value-split", severity="error", fix="sometimes", since="0.1.0", when=Steps(),
    seen="bash(1); a comment in a public script",
)  # fmt: skip

# Options of srun that take a list with commas, given a variable.
_LIST_OPTION = Regex(
    r"--container-(?:mounts|env)[= ]\"?"
    r"(?P<read>\$(?:(?P<bare>\w+)|\{(?P<braced>\w+)\}))"
)
# A comment that shows a value of several words; what it matches ends before the name, so that none hides another.
_SEVERAL_WORDS = Regex(r"^\s*#+\s*(?:export\s+)?(?=(?P<name>\w+)=([\"'])[^\s\"']+ [^\"']*\2)", re.MULTILINE)


def check(job: Job) -> Iterator[Finding]:
    yield from filter(None, (_split(job, step) for step in job.steps))
    for name, read in _lists_with_spaces(job.source.text):
        yield Finding(
            read,
            f"if {name} contains several words, as a comment says, srun runs the second as the program; write "
            f"`${{{name}// /,}}`",
            "warning",
            fix=Fix("join the words with commas", [replace(read, f"${{{name}// /,}}")], safe=False),
        )


@lru_cache(maxsize=2)  # called for each job in a file
def _lists_with_spaces(text: str) -> list[tuple[str, Span]]:
    """Variables that options get as a list, and that have several words in a comment: name and place."""
    found = [(each["bare"] or each["braced"], Span(*each.span("read"))) for each in _LIST_OPTION.finditer(text)]
    shown = {each["name"] for each in _SEVERAL_WORDS.finditer(text)} if found else set()
    return [(name, place) for name, place in found if name in shown]


def _split(job: Job, step: Step) -> Finding | None:
    """The finding on an option whose value was split, and a part of it became the command."""
    if step.command is None or not step.options:
        return None
    argv = step.invocation.argv
    option, first = argv[step.command - 1], argv[step.command]
    if len(option) < 2 or not first or first[0].expansion is not None or option[-1].expansion is not None:
        return None
    before, value, name = option[-2], option[-1], shown_text(option)
    spaces = job.source.text[value.end : first[0].start]
    if not name.startswith("--") or value.end >= first[0].start or spaces.strip(" \t") or before.end == value.start:
        return None
    if step.invocation.span.start <= value.start < step.invocation.span.end:
        return None
    return Finding(
        option[0].span,
        f"the value is split at its spaces, so srun runs its second word, `{shown_text(first)}`, as the program; join "
        "the words with commas",
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        MOUNTS="/data:/data /work:/work"
        srun --container-image=x.sqsh «--container-mounts=»$MOUNTS python train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        MOUNTS=""
        # MOUNTS="/data:/data /work:/work"
        CMD="srun --container-image=x.sqsh"
        if [ -n "$MOUNTS" ]; then
            CMD="$CMD --container-mounts=«$MOUNTS»"
        fi
        $CMD python train.py
        """,
        severity="warning",
        unsafe_fixed={'--container-mounts=$MOUNTS"': '--container-mounts=${MOUNTS// /,}"'},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        MOUNTS="/data:/data,/work:/work"
        # MOUNTS="/data:/data"
        ARGS="--container-image=x.sqsh --container-mounts=$MOUNTS python"
        srun $ARGS train.py
        """
    ),
]
