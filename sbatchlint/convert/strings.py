"""Launchers whose words stand in a string: `CMD="torchrun … train.py"`, which `$CMD`, `eval` or `bash -c` runs.

A string that is split into words cannot hold quotes for the shell of a task, so that what is told to the launcher goes
before the variable: `bash -c 'exec "$0" --node_rank="$SLURM_NODEID" "$@"' $CMD`. A string that a shell reads
again holds all of it, with what its own quotes ask for.
"""

from sbatchlint.analysis.editing.options import name_span
from sbatchlint.analysis.editing.words import words_of
from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of
from sbatchlint.convert.wish import NotConvertible
from sbatchlint.job import Job, Launch
from sbatchlint.job.steps import commands_around

READERS = SHELLS | {"eval"}


class Holder:
    """The string that holds the words of a launcher.

    `quote`: `"` or `'`; "" where they stand in no string. `reader`: the shell or `eval` that reads it again; None where
    it is split into words.
    """

    def __init__(self, job: Job, launch: Launch) -> None:
        self.text = job.source.own.text
        self.job = job
        self.words = words_of(job)
        self.reader: Invocation | None = next(
            (each for each in commands_around(launch.invocation) if each.name in READERS), None
        )
        name = name_span(launch)
        program = launch.launcher.program_words
        word = self.words.at(name.start) if name.end <= len(self.text) else None
        self.quote = ""
        if word is not None and program:
            span = job.span(word.start, word.end)
            following = span_of(launch.launcher.argv[min(launch.launcher.index + 1, len(launch.launcher.argv) - 1)])
            inside = program[0] if self.reader is not None else launch.launcher.argv[0]
            quote = self.text[span.start : span.start + 1]
            if (
                quote in ('"', "'")
                and span.start < span_of(inside).start < span.end
                and (self.reader is not None or span.start < following.start < span.end)
            ):
                self.quote = quote

    def escaped(self, content: str) -> str:
        """Content as it has to stand in the string."""
        if self.quote == "'":
            return content.replace("'", "'\\''")
        for letter in '\\"$`':
            content = content.replace(letter, f"\\{letter}")
        return content


def told_in_front(command: Invocation, end: int, options: str) -> str:
    """A shell that passes on the words of a command, with options after the first that stand before `end`."""
    count = next((at for at, field in enumerate(command.argv, 1) if span_of(field).end == end), 0)
    if not count:
        raise NotConvertible("the words that name the launcher are put together of several strings: write them as one")
    if count == 1:
        return f'bash -c \'exec "$0" {options} "$@"\' '
    return f'bash -c \'exec "${{@:1:{count}}}" {options} "${{@:{count + 1}}}"\' bash '
