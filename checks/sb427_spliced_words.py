"""A variable of an inner shell gets only the first of several options: they are not quoted there.

`bash -c '… ARGS='"$ARGS"' …'` closes the quotes of the program, inserts the value, and opens them again. The inner
shell reads `ARGS=-v /data:/data`: an assignment, and a command `/data:/data` that it does not find. With one word all
is well, so the fault shows only with two.

Reported for names that suggest several words: arguments, options, flags.

## Fix

Quotes that the inner shell sees: `ARGS="'"$ARGS"'"`. Unsafe: quotes inside the value would close them.

## References

bash(1), "QUOTING"; seen with bash 5.2: exit status 127.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB427", "spliced-words", severity="warning", fix="always", since="0.1.0", seen="a public script"
)  # fmt: skip

_SHELLS = frozenset({"bash", "sh", "/bin/bash", "/bin/sh"})
# An assignment to a name that suggests several words, at the end of a literal.
_ASSIGNMENT = Regex(r"(?i)(?:^|[\s;])(?P<name>\w*(?:ARG|OPT|OPTION|FLAG|PARAM)S|\w*OVERRIDES|CMD|COMMAND)=\Z")
_SPLICE = Regex(r"'\"\$\{?(?P<name>\w+)(?::?-)?\}?\"'")


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "'\"$" not in text.string:
            continue
        for command in nodes_of(program, Simple):
            plain = [literal_text(each) for each in command.words]
            for shell, option, word in zip(plain, plain[1:], command.words[2:], strict=False):
                if shell in _SHELLS and option in ("-c", "-lc") and isinstance(word, Word):
                    yield from _in_program(job, text, word)


def _in_program(job: Job, text: Text, word: Word) -> Iterator[Finding]:
    for before, value, after in zip(word.parts, word.parts[1:], word.parts[2:], strict=False):
        if not (isinstance(before, Literal) and isinstance(value, Parameter) and isinstance(after, Literal)):
            continue
        assigned = _ASSIGNMENT.search(before.text)
        inner = text.span(value.start, value.end)
        place = Span(inner.start - 2, inner.end + 2)
        if assigned is None or not _SPLICE.fullmatch(job.source.slice(place)):
            continue
        if after.text[:1] not in ("\n", ";"):
            continue
        name, instead = assigned["name"], f'"{job.source.slice(place)}"'
        yield Finding(
            place,
            f"the inner shell sees no quotes here: only the first word goes to {name}, the others run as a command; "
            f"write `{name}={instead}`",
            fix=Fix("quote it for the inner shell", [replace(place, instead)], safe=False),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c '
            DOCKER_ARGS=«'"${DOCKER_ARGS:-}"'»
            docker run --rm $DOCKER_ARGS image python train.py
        '
        """,
        unsafe_fixed={"DOCKER_ARGS='\"${DOCKER_ARGS:-}\"'": 'DOCKER_ARGS="\'"${DOCKER_ARGS:-}"\'"'},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c '
            DOCKER_ARGS="'"${DOCKER_ARGS:-}"'"
            OUT='"$OUT"'
            docker run --rm $DOCKER_ARGS -v $OUT:$OUT image python train.py
        '
        """
    ),
]
