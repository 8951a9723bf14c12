"""Work whose failure shows though its status is lost: the script's last command needs a file that it writes.

`./solver -o result.h5; ls result.h5` ends with the status of `ls`, which fails if the solver wrote nothing. A file that
exists anyway (`> log`, `mkdir`, an input) shows nothing, nor does a log, which a program creates at once, or a last
command that creates the file.
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.status_records import ExitStatuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import Simple
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Options that name the files that a program writes, or the beginning of their names.
_WRITTEN = Regex(r"(?i)-{1,2}(?:o|\w*[-_]?(?:out|output|save|dest|result|target|prefix|deffnm|dump|write)(?:[-_]?\w*))")
_SHORTEST = 5  # of the name of a program that is looked for in those of files
_MOST_FILES = 200  # in a chain of programs; no more are followed
# Commands that do not read the files that they name, or create them.
_MAKING = frozenset({"touch", "mkdir", "mktemp", "echo", "printf", "export", "declare", "kill", "sleep", ":", "true"})
# Commands after which the files that they name exist.
_BRINGING = frozenset({"mkdir", "touch", "mv", "ln", "tee", "mktemp", "truncate", "mkfifo", "split"})
_PATTERNED = frozenset({"grep", "egrep", "fgrep", "sed", "awk", "jq"})
# Commands that print files.
_SHOWING = ("cat", "grep", "head", "tail")
_ASKING = frozenset({"-f", "-e", "-s", "-d", "-r", "-a"})


@once
def needed_producers(job: Job) -> frozenset[int]:
    """The commands, by identity, without whose files the script's last command, and so the job, fails."""
    found = exit_statuses(job)
    last = found.last
    statements = job.program.statements
    if last is None or not statements or not isinstance(statements[-1], Simple):
        return frozenset()
    if job.span(statements[-1].start, statements[-1].end).end != last.span.end:
        return frozenset()
    needed = {each for each in _needed(last) if not each.endswith((".log", ".err", ".out"))}
    if not needed:
        return frozenset()
    named = [id(each) for each, weight in found.met if weight is not Weight.NONE and _is_named_by(each, last)]
    if named:
        return frozenset(named)
    staging = {id(each) for each, weight in found.met if weight is Weight.STAGING}
    for command in job.invocations[: last.index]:
        if (command.name in _BRINGING or id(command) in staging) and not any(_written(command)):
            needed.difference_update(map(_name, command.argv[1:]))
        needed.difference_update(_name(redirect.target) for redirect in command.redirects if redirect.target)
    plain = last.name == "rm" and not any(each.startswith("-") for each in last.words[1:])
    tied = _makers_of_removed(job, found, last, needed) if plain else set()
    for command, weight in reversed(found.met):
        if (
            command is not last
            and weight is not Weight.NONE
            and any(_is_of(name, needed) for name in _written(command))
        ):
            tied.add(id(command))
            if len(needed) > _MOST_FILES:
                break
            # another command may write the files that it reads
            needed.update(
                _name(field).partition("=")[2] or _name(field) for leaf in command.leaves() for field in leaf.argv[1:]
            )
    return frozenset(tied)


def _makers_of_removed(job: Job, found: ExitStatuses, last: Invocation, needed: set[str]) -> set[int]:
    """The work that names first an intermediate file: one that the script's last command removes, `rm` without `-f`.

    A later command that names it reads it, or writes it anew. What may have been copied there is no such file.
    """
    makers = set()
    places = [_name(each.argv[-1]) for each in job.invocations[: last.index] if has_trait(each.name, "places")]
    folders = tuple(f"{each.rstrip('/')}/" for each in places if each)
    removed = {each for each in needed if "*" not in each and "/" in each and not each.startswith(folders)}
    for command, weight in found.met:
        named = {_name(field) for leaf in command.leaves() for field in leaf.argv[1:]} & removed
        removed -= named
        if named and command is not last and weight is not Weight.NONE:
            makers.add(id(command))
    return makers


def _is_named_by(work: Invocation, last: Invocation) -> bool:
    """Whether the last command needs files by a pattern that names the program which writes them: `*_fastqc.zip`."""
    name = (work.name or "").lower()
    if len(name) < _SHORTEST or last.name not in ("mv", "cp", "ls", "tar", "zip", "cat"):
        return False
    patterns = (each.rpartition("/")[2].lower() for each in _needed(last))
    return any("*" in each and name in each for each in patterns)


def _needed(command: Invocation) -> list[str]:
    """The files without which a command fails."""
    name, words = command.name, [_name(field) for field in command.argv[1:]]
    if name is None or name in _MAKING:
        return []
    if name in ("test", "["):
        return [each for option, each in pairwise(words) if option in _ASKING]
    options = [word for word in words if word.startswith("-")]
    if name == "rm" and any(word == "--force" or word[:2] != "--" and "f" in word for word in options):
        return []
    operands = [word for word in words if word and not word.startswith("-")]
    if has_trait(name, "places"):
        return operands[:-1]
    return operands[1:] if name in _PATTERNED else operands


def _written(command: Invocation) -> Iterator[str]:
    """The files that a command's options name as its output."""
    for leaf in command.leaves():
        words = [_name(field) for field in leaf.argv[1:]]
        for at, word in enumerate(words):
            name, equals, value = word.partition("=")
            if _WRITTEN.fullmatch(name):
                following = words[at + 1] if at + 1 < len(words) else ""
                if equals or following[:1] not in ("", "-"):
                    yield value if equals else following


def _is_of(written: str, needed: set[str]) -> bool:
    """Whether one of the files is the written one, or begins with its name: `run` and `run.log`, `out` and `out/a`.

    Or the reverse, where a program takes only the beginning of the name: `md.tpr` and `md`.
    """
    if not written:
        return False
    prefixes = tuple(written + end for end in "._-/")
    return any(
        name == written or name.startswith(prefixes) or written.startswith(f"{name}.") for name in needed if name
    )


def _name(field: Pieces) -> str:
    """A word as a string, with the names of unknown expansions, so that equal words give equal strings."""
    parts = [
        piece.text if piece.text is not None else f"${piece.expansion.name}" if piece.expansion is not None else "\0"
        for piece in field
    ]
    return "".join(parts).removeprefix("./")


@once
def last_shown(job: Job) -> dict[str, int]:
    """The index of the last command that prints each file."""
    return {word: each.index for each in commands_named(job, *_SHOWING) for word in each.words[1:]}
