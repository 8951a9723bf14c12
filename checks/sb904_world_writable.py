"""Every user of the system may change files or folders: the script makes them world-writable.

What anybody can write, anybody can replace: a script or an environment there then runs with the rights of whoever uses
it next, and others can change or remove results. On a cluster's file systems that is every user.

## Fix

None: only you know who should write there. A group is usually enough: `chmod -R g+rwX`, with `chgrp` before it.

## References

chmod(1), umask(2), mkdir(1).
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.paths import key
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB904", "world-writable", severity="warning", fix="never", since="0.1.0",
    when=Commands("chmod", "umask", "mkdir", "install"), seen="chmod(1) and umask(2)",
    unseen="Nothing; others may change the files.",
)  # fmt: skip

# Others may write, and no sticky bit keeps them from removing what is not theirs.
OCTAL = Regex(r"0*[0246]?[0-7]{2}[2367]")
SYMBOLIC = Regex(r"(?:[^,]*,)*(?:[ug]*[oa][ugoa]*[+=][rxXst]*w[rwxXst]*)(?:,.*)?")
# Folders that all users share on purpose.
SHARED = Regex(r"/(?:tmp|dev)(?:/.*)?|/var/tmp(?:/.*)?")
_SCRIPT = Regex(r"\.(?:sh|bash|csh|py|pl|R|jl|exe|x|out|run)\Z")
_DEEPEST = 12  # folders of a path
# Commands with a mode among their arguments.
COMMANDS = frozenset({"umask", "chmod", "mkdir", "install"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    words = [text_of(field) for field in command.argv]
    at = _mode(command.name, words)
    if at is None or container_of(command) is not None:
        return
    places = [word is not None and SHARED.fullmatch(word) is not None for word in words[at + 1 :]]
    if command.name != "umask" and places and all(places):
        return
    if command.name == "mkdir" and all(_is_made_before(job, command, each) for each in command.argv[at + 1 :]):
        return
    mode = words[at] or ""
    # to a new folder, `-m g+w` gives what the mask takes from others as well
    advice = "`g+w`" if command.name == "chmod" else f"`-m {mode[:-1]}{0 if mode[-2:-1] == '0' else 5}`"
    message = f"mode `{mode}` lets every user of the system write there; to share with your group only, use {advice}"
    if command.name == "chmod" and _is_run(job, [shown_text(each) for each in command.argv[at + 1 :]]):
        message = f"mode `{mode}` lets every user of the system change this program; to make it executable, use `u+x`"
    if command.name == "umask":
        message = "with this mask anyone can change the job's files; write `umask 027`"
    yield Finding(span_of(command.argv[at]), message)


def _is_run(job: Job, files: list[str]) -> bool:
    """Whether all of some files are programs that the script runs, or look like one."""
    return bool(files) and all(each in _programs(job) or _SCRIPT.search(each) is not None for each in files)


@once
def _programs(job: Job) -> frozenset[str]:
    """The paths of programs and scripts that the script runs, with and without `./`."""
    words = [each.words for each in job.invocations if each.argv]
    found = {word for each in words for word in each[:2] if "/" in word or "." in word}
    return frozenset(found | {each.removeprefix("./") for each in found})


def _is_made_before(job: Job, command: Invocation, field: Pieces) -> bool:
    """Whether the script has made a folder before: its mode is then not changed by `mkdir -m`."""
    if shown_text(field)[:1] == "-":
        return True
    return _made(job).get(key(field), command.index) < command.index


@once
def _made(job: Job) -> dict[str, int]:
    """The folders that the script makes, and those above them, with the index of the first command that does."""
    found: dict[str, int] = {}
    parents: list[tuple[Invocation, str]] = []  # of a file: `mkdir -p $(dirname $FILE)`
    for command in job.invocations:
        if command.name == "dirname" and command.context.captured:
            parents += [(command, key(each).rpartition("/")[0]) for each in command.argv[1:] if each]
        elif command.name == "mkdir":
            paths = [key(each) for each in command.argv[1:] if each]
            paths += [path for each, path in parents if command.span.contains(each.span)]
            parents.clear()
            for path in paths:
                for _ in range(_DEEPEST):
                    found.setdefault(path, command.index)
                    path = path.rpartition("/")[0]
    return found


def _mode(name: str | None, words: list[str | None]) -> int | None:
    """The index of the word with a mode that lets everybody write; None if there is none."""
    if name == "umask":
        return 1 if len(words) == 2 and words[1] in ("0", "00", "000", "0000") else None
    before = None
    for at, word in enumerate(words[1:], 1):
        if name == "chmod" and word is not None and word[:1] != "-":
            return at if OCTAL.fullmatch(word) or SYMBOLIC.fullmatch(word) else None
        if name in ("mkdir", "install") and before == "-m" and word is not None and OCTAL.fullmatch(word):
            return at
        before = word
    return None


CASES = [
    Bad("#!/bin/bash\n#SBATCH -N1\nchmod -R «777» $HOME/shared\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH -N1\nsudo chmod -R «a+w» /opt/tools\n. /opt/tools/env.sh\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH -N1\numask «000»\nmkdir -p -m «0777» /scratch/results\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -N1\numask 022\nchmod 755 run.sh\nchmod -R g+rwX,o-w data\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -N1\nmkdir -p $LOGS/a\nmkdir -m 777 -p $LOGS\nsrun ./a.out\n", title="it is there"),
    Good("#!/bin/bash\n#SBATCH -N1\nchmod 1777 /scratch/drop\nchmod 777 /tmp/socket\nsrun ./a.out\n", title="sticky"),
]
