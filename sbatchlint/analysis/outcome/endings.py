"""How a script ends: what its last commands do after the work, which files they need, and what it never gets past.

`./solver -o result.h5; ls result.h5` ends with the status of `ls`, which fails if the solver wrote nothing. A file that
exists anyway (`> log`, `mkdir`, an input) shows nothing, nor does a log, which a program creates at once, or a last
command that creates the file. A job that sleeps up to its time limit, follows a file forever or loops without an end is
TIMEOUT, or somebody cancels it: no command's exit status counts.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.status_records import ExitStatuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import Simple, Statement, While
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import variable_name
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Commands at the end of a script that tell nothing of its work, and do not fail.
CANNOT_FAIL = frozenset(
    (
        *(":", ".", "cd", "conda", "date", "deactivate", "echo", "exit", "export", "hostname", "make", "ml", "module"),
        *("my-job-stats", "popd", "printf", "sacct", "scontrol", "seff", "sleep", "source", "sstat", "times", "true"),
        *("unset", "uptime", "wait"),
    )
)
# Others whose status does not depend on the work, whatever it is.
_UNRELATED = CANNOT_FAIL | frozenset(
    (
        *("clear", "df", "env", "free", "id", "jobinfo", "jobstats", "kill", "killall", "lscpu", "mail", "mailx"),
        *("mkdir", "mutt", "nvidia-smi", "pkill", "printenv", "ps", "pwd", "rocm-smi", "sendmail", "set", "shopt"),
        *("sinfo", "squeue", "sync", "touch", "uname", "which", "who"),
    )
)
# Commands that fail without the files that they name, which the work may have written.
_NEEDS_FILES = frozenset(
    (
        *("[", "[[", "awk", "cat", "chgrp", "chmod", "cmp", "cp", "diff", "du", "egrep", "find", "grep", "gunzip"),
        *("gzip", "head", "ln", "ls", "md5sum", "mv", "pigz", "rm", "rmdir", "rsync", "scp", "sed", "sha256sum"),
        *("sort", "stat", "tail", "tar", "test", "unzip", "wc", "zcat", "zip"),
    )
)
# Of those, the ones that do nothing but take files: neither tests nor searches.
_TAKING_FILES = frozenset({"cat", "chmod", "cp", "du", "gzip", "ls", "mv", "rm", "rmdir", "rsync", "scp", "tar"})
_OWN_LOG = Regex(r"(?i)slurm[-_*].*")  # what sbatch names so, where no directive says otherwise
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>"})
_TEMPORARY = Regex(r"(?i)te?mp|core|cache|lock|\.(?:o|err|out|log|pid)$")
_RECURSIVE = Regex(r"-\w*[rR]\w*|--recursive")
_FORCED = Regex(r"-\w*f\w*|--force")


def may_fail_with(last: Invocation) -> bool:
    """Whether a last command fails, and the job with it, where work has not written the files that it names."""
    words = [shown_text(each) for each in last.argv[1:]]
    if last.name == "rm" and any(_FORCED.fullmatch(each) is not None for each in words):
        return False
    return last.name in _NEEDS_FILES and any(not each.startswith("-") for each in words)


def is_unrelated(job: Job, end: Invocation) -> bool:
    """Whether the status of a last command is the same whatever becomes of the work.

    So is that of a command which only names files that are there anyway: made by an earlier command, or the job's log.
    """
    if end.name == "wait":  # another check's matter, where there is something to wait for
        return all(each.context.background is None for each in job.invocations)
    if end.name == "rm" and any(_FORCED.fullmatch(shown_text(each)) is not None for each in end.argv[1:]):
        return True
    if end.name in _UNRELATED:
        return True
    return end.name in _TAKING_FILES and bool(_needed(end)) and not needs_results(job, end)


def needs_results(job: Job, end: Invocation) -> bool:
    """Whether a last command fails without files that only the work may have written."""
    if not may_fail_with(end):
        return False
    needed = {each for each in _needed(end) if not _OWN_LOG.fullmatch(each.rpartition("/")[2])}
    return bool(needed - _made(job, end)) or not _needed(end)


@once
def _copied(job: Job, end: Invocation) -> frozenset[str]:
    """The files and folders that commands before the last one write by copying others."""
    copying = (each for each in job.invocations[: end.index] if has_trait(each.name, "places") and each.argv[1:])
    return frozenset(_name(each.argv[-1]) for each in copying)


@once
def _made(job: Job, end: Invocation) -> frozenset[str]:
    """The files and folders that commands before the last one make certainly, if not by a test."""
    made: set[str] = set()
    for command in job.invocations[: end.index]:
        if command.context.conditional:
            continue
        places = has_trait(command.name, "places")
        if (places or command.name in _BRINGING) and command.argv[1:]:
            brought = command.argv[-1:] if places else command.argv[1:]
            made.update(map(_name, brought))
        made.update(_name(each.target) for each in command.redirects if each.target and each.operator in _WRITING)
    return frozenset(made)


def removes_data_after(job: Job, work: Invocation, last: Invocation) -> bool:
    """Whether the script ends by removing folders, or files by a pattern, right after work that may have read them.

    Not what the script itself has copied there.
    """
    words = [shown_text(each) for each in last.argv[1:]]
    many = any("*" in each or _RECURSIVE.fullmatch(each) is not None for each in words)
    names = {_name(each) for each in last.argv[1:]}
    if {each for each in names if not each.startswith("-")} <= _copied(job, last):
        return False
    return last.name == "rm" and follows(work, last) and many and not any(map(_TEMPORARY.search, words))


_OWN_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"})
# Options of scancel that choose no part of the job, and no other signal.
_OF_ALL = Regex(r"-[fHQvw]+|--(?:full|hurry|quiet|verbose)")


@once
def self_cancel(job: Job) -> Invocation | None:
    """The scancel with which the script always cancels its own job, or the array that the job belongs to.

    Whatever ran before, the job is CANCELLED; what follows, if anything, cannot change that.
    """
    for command in commands_named(job, "scancel"):
        context, fields = command.context, command.argv[1:]
        in_script = not context.depth and not context.conditional and context.background is None
        options = [text_of(each) for each in fields if (text_of(each) or "").startswith("-")]
        if not in_script or not all(map(_OF_ALL.fullmatch, filter(None, options))):
            continue
        if any(variable_name(each) in _OWN_IDS for each in fields):
            return command
    return None


def cancelled_after(job: Job, work: Invocation) -> Invocation | None:
    """The scancel of its own job that the script always runs after some work."""
    command = self_cancel(job)
    return command if command is not None and command.index > work.index else None


def server_before(job: Job, last: Invocation, work: Invocation) -> str | None:
    """The server that runs in the background before the work, and for which a bare `wait` at the end waits."""
    if last.words != ["wait"] or last.context.depth or work.context.depth:
        return None
    if any(each.name in ("kill", "pkill", "killall", "scancel") for each in job.invocations[work.index :]):
        return None
    before = (each for each in job.invocations[: work.index] if each.context.background is not None)
    return next((name for each in before if (name := server_name(each)) is not None), None)


def follows(work: Invocation, last: Invocation) -> bool:
    """Whether a command runs right after work, and what that starts."""
    return last.index - work.index - len(list(work.descendants())) == 1


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


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_FOLLOWING = re.compile(r"-[a-zA-Z]*[fF].*|--follow(?:=.*)?")
_LEAVING = frozenset({"break", "exit", "return", "exec", "kill", "pkill", "scancel", "eval", "source", "."})


@once
def endless_command(job: Job) -> Invocation | None:
    """The first command that the script's shell certainly does not get past within the job's time; None if none."""
    if commands_named(job, "trap"):
        return None  # a signal may end it
    found = [each for each in commands_named(job, "sleep", "tail") if _never_returns(job, each)]
    for statement in job.program.statements:
        if isinstance(statement, While) and _is_endless(job, statement):
            span = job.span(statement.start, statement.end)
            inside = [each for each in job.invocations if span.contains(each.span)]
            if not any(each.calls_function for each in inside):
                found += inside[:1]
    return min((each for each in found if _is_certain(each)), key=lambda each: each.index, default=None)


def _is_certain(command: Invocation) -> bool:
    context = command.context
    in_script = context.parent is None and not context.shell.depth and context.background is None
    return command.phase is Phase.BATCH and in_script and not depends_on_test(command)


def _never_returns(job: Job, command: Invocation) -> bool:
    words = command.words[1:]
    if command.context.loops:
        return False
    if command.name == "tail":
        return any(map(_FOLLOWING.fullmatch, words)) and not any(word.startswith("--pid") for word in words)
    limit = job.request.time
    total = 0.0
    for word in words:
        if word in ("inf", "infinity"):
            return True
        length = _LENGTH.fullmatch(word)
        if length is None:
            return False
        total += float(length[1]) * _UNITS[length[2]]
    return limit is not None and total >= 60 * limit


def _is_endless(job: Job, loop: While) -> bool:
    """Whether a loop has a condition that always holds, and nothing in it leaves it."""
    condition = loop.condition[0] if len(loop.condition) == 1 else None
    if _name_in(condition) not in (("false",) if loop.negated else ("true", ":")):
        return False
    names = [_name_in(each) for each in nodes_of(loop, Simple)]
    return None not in names and _LEAVING.isdisjoint(names)


def _name_in(statement: Statement | None) -> str | None:
    """The name of a plain command, '' for assignments alone; None where it is not known."""
    if not isinstance(statement, Simple):
        return None
    return literal_text(statement.words[0]) if statement.words else ""
