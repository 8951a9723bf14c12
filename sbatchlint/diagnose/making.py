"""Failures that make later ones: what was not made, fetched, unpacked or built is not found afterwards.

A shell without `set -e` goes on after them, so that the last failure of a log often only misses what an earlier one
should have made.
"""

import re
from collections.abc import Iterable, Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.diagnose.evidence import own_commands
from sbatchlint.diagnose.symptom import Event
from sbatchlint.job import Job
from sbatchlint.programs import has_trait

# What the message of a program begins with, also of one that a shell runs (`job.sh: line 4: cd: …`) or that a tool
# starts (`tar (child): …`).
_PROGRAM = re.compile(
    r"^\W{0,4}(?:\S*/)?(?:\S+: line \d+: )?(?:\S*/)?(?P<name>[A-Za-z][\w.+-]{1,40})(?:\[[^\]]{1,30}\]|[ ]\(child\))?(?: error)? ?: "
)
# Messages of tools that do not give their names.
_NAMELESS = (
    (re.compile(r"^fatal: .*(?:https?://|git@|[Rr]epository|[Cc]lone|remote|destination path)"), ("git",)),
    (re.compile(r"\bERROR \d{3}: |^(?:Resolving|Connecting to) .*failed"), ("wget",)),
    (re.compile(r"^(?:Host key verification failed|lost connection|.*Permission denied \(publickey)"), ("scp", "rsync", "ssh", "sftp", "git")),
    (re.compile(r"^make(?:\[\d+\])?: \*\*\* |^collect2: |: (?:fatal )?error: |undefined reference|^CMake Error|^ninja: "), ("make", "cmake", "gcc", "g++", "gfortran", "mpicc", "mpicxx", "mpif90", "nvcc", "ninja", "cargo", "icc", "ifort", "ftn", "cc", "CC")),
)  # fmt: skip
# Traits of programs that make, fetch or open files and folders for what comes after them.
_MAKES = ("copies", "packs", "names", "stages", "installs")
# Words by which any program says that it did not make something.
_UNMADE = re.compile(
    r"(?i)\b(?:can ?not|can't|could not|couldn't|unable to|fail(?:ed|ure) (?:to|in|while)|error(?: while| when)?) ?"
    r"(?:creat|mak|writ|download|fetch|clon|cop|extract|unpack|unzip|sav|compil|build|link|mount)\w*"
)
_MISSES = re.compile(
    r"(?i)no such file|not (?:be )?found|does ?n['o]?t exist|does not exist|(?:can ?not|can't|could not|couldn't|unable to|failed to) (?:open|find|read|access|load|stat|execute)"
    r"|not a directory|is not (?:a file|there)|no (?:input )?files?\b|missing (?:input )?file"
)
# What is there already is not missed afterwards.
_THERE = re.compile(r"(?i)file exists|already exists")
_PATH = re.compile(r"(?<![\w.$/-])(/?[\w.+@%-]*[\w+@%-](?:/[\w.+@%-]+)*)/?")
# A frame of a traceback of Python, with the file of the program.
_FRAME = re.compile(r'^ +File "(?:[^"]*/)?([\w.-]+\.py)", line \d+')
_ARCHIVE = re.compile(r"(?:\.tar)?\.(?:tgz|tbz2?|txz|zip|gz|bz2|xz|zst|git|tar)$")
_SHORTEST = 3


def makers(failed: Iterable[Event], job: Job | None) -> Iterator[tuple[Event, list[Event]]]:
    """Those events that say that something was not made, each with the later ones of the same log that miss it."""
    events = sorted(failed, key=lambda each: (each.file, each.offset))
    later = [each for each in events if _MISSES.search(each.text)]
    for event in events:
        after = [each for each in later if each.file == event.file and each.row > event.last]
        if not after or _THERE.search(event.text):
            continue
        names = _unmade(event, job)
        missed = [each for each in after if _names(each, names)]
        if missed:
            yield event, missed


def _unmade(event: Event, job: Job | None) -> set[str]:
    """Paths and names that are not there after a failure: of its message, and of the command of the script that failed."""
    tools = _tools(event)
    made = {
        _stem(each) for each in _PATH.findall(event.text) if len(each) >= _SHORTEST and ("/" in each or _stem(each) != each)
    }  # fmt: skip
    by_trait = any(has_trait(each, *_MAKES) for each in tools)
    found = made if by_trait or _UNMADE.search(event.text) else set()
    for command in _commands(job, tools, event):
        found |= set(_outputs(command, by_trait))
    return {each for each in found if len(each) >= _SHORTEST and not _of_system(each)}


def _of_system(path: str) -> bool:
    return path in ("/tmp", "/dev/null", "bin", "lib", "home", "/home", "data.", "job") or path.startswith(
        ("/dev/", "/proc/")
    )


def _tools(event: Event) -> tuple[str, ...]:
    """The programs that may have printed a message."""
    for pattern, names in _NAMELESS:
        if pattern.search(event.text):
            return names
    match = _PROGRAM.match(event.text)
    return (match["name"],) if match else ()


def _commands(job: Job | None, tools: tuple[str, ...], event: Event) -> list[Invocation]:
    """The commands of the script itself that call one of the programs, or the one whose frames stand above a message."""
    if job is None:
        return []
    files = {match[1] for line in event.above if (match := _FRAME.match(line))}
    return [
        each
        for each in own_commands(job)
        if each.name in tools or files and any(_last(word) in files for word in map(text_of, each.argv))
    ]


def _last(word: str | None) -> str:
    return (word or "").rpartition("/")[2]


def _outputs(command: Invocation, all_words: bool) -> Iterator[str]:
    """What a command makes: where its output goes, its options for that, and the names of what it copies or builds."""
    for redirect in command.redirects:
        if redirect.operator.startswith((">", "&>")) and redirect.target is not None:
            yield from _forms(text_of(redirect.target) or known_prefix(redirect.target))
    words = [text_of(each) or "" for each in command.argv[1:]]
    for number, word in enumerate(words):
        if number and words[number - 1] in ("-o", "-O", "--output", "--out", "-d", "-C", "--output-document"):
            yield from _forms(word)
        elif re.match(r"--?(?:o|out|output|outfile|outdir|prefix)=", word):
            yield from _forms(word.partition("=")[2])
        elif all_words and word and not word.startswith("-"):
            yield from _forms(word)


def _forms(word: str) -> Iterator[str]:
    """A path, its last component, and what an archive or a repository of this name unpacks to."""
    path = word.rpartition(":")[2].rstrip("/") if "://" not in word else word.rstrip("/")
    last = path.rpartition("/")[2].partition("?")[0]
    if "://" not in path:
        yield path
    if last not in (".", "..", ""):
        yield last
        yield _stem(last)


def _stem(name: str) -> str:
    return _ARCHIVE.sub("", name.rstrip("/"))


def _names(event: Event, names: set[str]) -> bool:
    """Whether a message misses one of these names, or something below it."""
    wanted = [each.removeprefix("./") for each in _PATH.findall(event.text)]
    for path in wanted:
        for name in names:
            plain = name.removeprefix("./")
            if path == plain or path.startswith(plain + "/") or path.endswith("/" + plain) or f"/{plain}/" in path:
                return True
    return False
