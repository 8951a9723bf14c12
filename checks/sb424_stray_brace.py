"""An extra closing brace after a variable becomes part of the name.

`mkdir -p ${OUT}}` makes a folder whose name ends in a brace; the folder that was meant does not exist, or a program
gets a different name from the one that the next line uses.

## Fix

Removes the brace. Unsafe: the name changes.

## References

bash(1), "Parameter Expansion".
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, remove
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import is_templated

CARD = Card("SB424", "stray-brace", severity="warning", fix="always", since="0.1.0", seen="a public script")

# Commands that do nothing with their words.
_IGNORE_WORDS = (":", "true", "false")
# Signs that a word is code in another language, of which the brace may be a part.
_OTHER_LANGUAGE = Regex(r"[\n{;|<>()]|\\")


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "}}" not in text.string or is_templated(job.source.text):
            continue
        for command in nodes_of(program, Simple):
            name = command.words[0] if command.words else None
            called = text.string[name.start : name.end] if isinstance(name, Word) else ""
            if called in _IGNORE_WORDS or has_trait(called, "prints"):
                continue
            for word in command.words:
                yield from _in_word(text, word)
            for assigned in command.assignments:
                yield from _in_word(text, assigned)


def _in_word(text: Text, word: Word | Assignment) -> Iterator[Finding]:
    value = word.value if isinstance(word, Assignment) else word
    if not isinstance(value, Word):
        return
    if any(isinstance(part, Literal) and _OTHER_LANGUAGE.search(part.text) for part in value.parts):
        return
    for before, part in zip(value.parts, value.parts[1:], strict=False):
        braced = isinstance(before, Parameter) and text.string[before.start : before.start + 2] == "${"
        if braced and isinstance(part, Literal) and part.text.startswith("}") and part.start == before.end:
            place = text.span(part.start, part.start + 1)
            yield Finding(
                place,
                f"this brace closes nothing, so it becomes part of the name; remove it from "
                f"`{text.string[before.start : before.end]}}}`",
                fix=Fix("remove the brace", [remove(place)], safe=False),
            )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OUT=$SCRATCH/run
        mkdir -p ${OUT}«}»
        srun python train.py --out ${OUT}
        """,
        unsafe_fixed={"${OUT}}": "${OUT}"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p {a,b,${OUT}}
        echo "\\"out\\": \\"${OUT}\\"}}"
        : "${LOGS:=$OUT/${SLURM_JOB_ID}}}"
        srun python train.py --set "{\\"out\\": ${OUT}}" ${OUT:-${SCRATCH}}
        """
    ),
]
