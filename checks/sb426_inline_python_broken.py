"""Python gets a different program: quotes inside `python -c "…"` end the string for bash.

In `python -c "print("done")"` the inner quotes close and open the outer ones: Python reads `print(done)`, which is a
NameError, and if there is a space between them, only the first word is the program, a SyntaxError. The step that should
check the GPUs, prepare the data or choose a port fails, and its output is empty.

Reported where the text as written is a valid program, bash turns it into a different or invalid one, and nothing is
expanded between the quotes: `'"$X"'` is a way to insert a value.

## Fix

The inner quotes become single quotes where the text contains neither these nor a dollar sign; unsafe. By hand: `python
- <<'END'`.

## References

bash(1), "QUOTING"; python(1), `-c`.
"""

import warnings
from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Literal, Simple, Word
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB426", "inline-python-broken", severity="error", fix="sometimes", since="0.1.0", when=Commands("python*"),
    seen="a run of bash 5.2 and Python 3.11",
)  # fmt: skip

_PYTHON = Regex(r"(?:.*/)?python3?(?:\.\d+)?")
_LONGEST = 20_000  # characters; longer programs are not compared


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if ' -c "' not in text.string:
            continue
        for command in nodes_of(program, Simple):
            if text.string.find("-c", command.start, command.end) < 0:
                continue
            words = [each for each in command.words if isinstance(each, Word)]
            at = _code(words)
            if at is None or not _is_plain_text(words[at:]):
                continue
            yield from _of_program(text, words, at)


def _code(words: list[Word]) -> int | None:
    """The index of the word after `python … -c`."""
    plain = [literal_text(each) for each in words]
    name = next((at for at, word in enumerate(plain) if word is not None and _PYTHON.fullmatch(word)), None)
    if name is None or "-c" not in plain[name:-1]:
        return None
    return plain.index("-c", name) + 1


def _is_plain_text(words: list[Word]) -> bool:
    """Whether the quotes were clearly closed by mistake: only literal text is between them."""
    literal = all(isinstance(part, Literal) for word in words for part in word.parts)
    return literal and any(isinstance(part, Literal) and not part.quoted for part in words[0].parts)


def _of_program(text: Text, words: list[Word], at: int) -> Iterator[Finding]:
    """The finding where the text between the first and last quote is a program, and Python gets another."""
    string, start, end = text.string, words[at].start, words[-1].end
    written = string[start + 1 : end - 1]
    if string[start] != '"' or string[end - 1] != '"' or end - start > _LONGEST or UNKNOWN_CHARACTER in written:
        return
    place, inner = text.span(start + 1, end - 1), written.replace('"', "'")
    received = "".join(part.text for part in words[at].parts if isinstance(part, Literal))
    intended = _tree(written)
    if intended is None or "\\" in written or len(written) != place.end - place.start or _tree(received) == intended:
        return
    single = "'" not in written and _tree(inner) == intended
    yield Finding(
        place,
        "the inner quotes end the bash string, so Python gets other code; write single quotes inside",
        fix=Fix("write single quotes inside", [replace(place, inner)], safe=False) if single else None,
    )


def _tree(program: str) -> str | None:
    """The syntax tree of a Python program as a string; None where it is not a valid program."""
    import ast  # takes milliseconds to import, and few scripts get here

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        python -c "«import torch; print("GPUs:", torch.cuda.device_count())»"
        srun python train.py
        """,
        unsafe_fixed={'print("GPUs:",': "print('GPUs:',"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        python -c "print('done')" "$1"
        python -c 'print("done")'
        python -c "print('"$USER"')"
        """
    ),
]
