"""A command finds no file: the wildcard is in quotes, so it is part of the name.

The shell expands `*` and `?` only outside quotes: `mv "out/*.txt" results/` looks for one file named `*.txt`, and
prints "cannot stat". `rm -f` prints nothing, and removes nothing. Under `set -e` the job ends there, often after all of
its work.

Only commands that take file names literally are looked at: `find -name`, `rsync --include` and the like want their
pattern in quotes.

`~` in quotes is a name as well, and not your home: `cd "~/project"` finds no such folder, and `DATA="~/data"` gives
programs a path that few of them expand.

So is the list of a loop, `for f in "$D/*.bam"`, which runs once, and an element of an array, `A=("*.fq")`: the files
come only where the value is read without quotes.

An error where the command does not do its work, or ends the job; a warning for an `rm` that only leaves old files, for
an array that is only counted, and for a variable with `~` that no command of the script is known to take as the name
of a folder or a file. Advice where that is the name of a script, which the program may give to a shell.

## Fix

Moves only the wildcard out of the quotes: `"$DIR/"*.txt`; writes `$HOME` for `~`. Unsafe: the command then finds files.

## References

bash(1), "Pathname Expansion" and "QUOTING".
"""

from bisect import bisect_left
from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, For, Literal, Parameter, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of, unquoted_text
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Piece, Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, joined, replace
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Variables

# Commands whose operands are file names, with their short options that take another kind of word.
_TAKE_NAMES = {
    "mv": "S", "cp": "S", "rm": "", "ls": "I", "cat": "", "chmod": "", "chown": "", "chgrp": "", "ln": "S",
    "head": "nc", "tail": "nc", "wc": "", "gzip": "S", "gunzip": "S", "bzip2": "", "pigz": "pS", "md5sum": "",
    "sha256sum": "", "dos2unix": "", "rmdir": "", "shred": "",
}  # fmt: skip

CARD = Card(
    "SB421", "quoted-glob", severity="error", fix="sometimes", since="0.1.0",
    when=Commands(*_TAKE_NAMES, *programs_with("names")) | Variables("*"),
    seen="a public script whose last step lost its results",
)  # fmt: skip

_MOST_WORDS = 20
_MOST_READS = 200  # of an array
_SILENT = Regex(r"-\w*f\w*|--force|--ignore-missing")
_PATTERN = Regex(r"[*?]")
# Programs that take paths as they are; some others, in Python, look for `~` themselves.
_LITERAL = frozenset({"java", "samtools", "bcftools", "bedtools", "bwa", "bowtie2", "STAR", "gatk"})
# Commands that expand text again.
_EXPANDING = frozenset({"eval", "envsubst"})
# Commands whose words are patterns.
_WANT_PATTERNS = frozenset(
    {"find", "grep", "egrep", "fgrep", "rsync", "tar", "zip", "compgen", "awk", "sed", "aws", "gsutil", "rclone", "ssh"}
    | {"Rscript", "bash", "sh", "scp", "locate", "julia", "perl", "sbatch", "srun", "matlab", "ncrcat", "parallel"}
    | {"xargs", "unzip", "7z"}
)
# A script that is given to another program, whose shell may expand `~`.
_SCRIPT = Regex(r"\.(?:py|sh|bash|R|pl|jl|m)[\"']?$")
_ONE_VARIABLE = Regex(r'"\$\{?(\w+)\}?"')
_AS_A_PATH = Regex(r"[\w./*?${}\"+:@%=~-]+")


def check(job: Job) -> Iterator[Finding]:
    if '"~/' in job.text.string or "'~/" in job.text.string:
        yield from _homes(job)
    for text, program in programs(job):
        yield from _in_lists(job, text, program)
        for command in nodes_of(program, Simple):
            words = [each for each in command.words if isinstance(each, Word)]
            name = unquoted_text(words[0]) if words else None
            if name in _TAKE_NAMES:
                yield from _in_command(job, text, name, words[1:])


def _homes(job: Job) -> Iterator[Finding]:
    """The findings on `"~/…"`, as the name of a file or the value of a variable."""
    for command in nodes_of(job.program, Simple):
        words = [each for each in command.words if isinstance(each, Word)]
        name = unquoted_text(words[0]) if words else None
        if name in _TAKE_NAMES or has_trait(name, "names"):
            yield from (_home(job, each, f"`{name}` finds nothing", None) for each in words[1:] if _is_home(each))
    if not _EXPANDING.isdisjoint(by_program(job)):
        return
    found: dict[str, list[Finding]] = {}
    for assigned in nodes_of(job.program, Assignment):
        if isinstance(assigned.value, Word) and _is_home(assigned.value) and assigned.name in read_names(job):
            place = job.span(assigned.value.start, assigned.value.end)
            at = bisect_left(_lost_homes(job), (place.start, ""))
            lost = next((each for start, each in _lost_homes(job)[at : at + 1] if start < place.end), None)
            happens = "programs get it literally" if lost is None else f"{lost} finds nothing"
            runs = lost is None and _SCRIPT.search(job.source.slice(place)) is not None
            severity = None if lost is not None else "info" if runs else "warning"
            finding = _home(job, assigned.value, happens, severity)
            found.setdefault(happens, []).append(finding)
    for same in found.values():
        yield joined(sorted(same, key=lambda each: each.span), "the same")


@once
def _lost_homes(job: Job) -> list[tuple[int, str]]:
    """Where a word begins with a quoted `~/` that a command needs as a folder or a file that is there, and which."""
    found: dict[int, str] = {}
    for command in job.invocations:
        if command.name == "mkdir" and any(each.startswith("~/") for each in command.words):
            return []  # a folder of that name is made
        named = command.name in _TAKE_NAMES or has_trait(command.name, "names")
        runs = has_trait(command.name, "shell") or bool(command.argv) and is_python(command.argv[0])
        if command.name in _LITERAL:
            for piece in _homes_in(command):
                found.setdefault(piece.start, f"`{command.name}` (line {job.line(command.span.start)})")
        for number, word in enumerate(command.words[:_MOST_WORDS]):
            needed = number == 0 or named or number == 1 and runs
            if needed and word.startswith("~/") and command.argv[number][0].text:
                name = f"`{command.name}` (line {job.line(command.span.start)})" if number else "bash"
                found.setdefault(command.argv[number][0].start, name)
    return sorted(found.items())


def _homes_in(command: Invocation) -> Iterator[Piece]:
    """The pieces of words that begin with a quoted `~/`, as a word or after a sign: `O=~/out`."""
    for field in command.argv[1:_MOST_WORDS]:
        before = ""
        for piece in field:
            text = piece.text or ""
            if text.startswith("~/") and (not before or before.endswith("=")):
                yield piece
            before += text or UNKNOWN_CHARACTER


def _is_home(word: Word) -> bool:
    first = word.parts[0] if word.parts else None
    return isinstance(first, Literal) and first.quoted and first.text.startswith("~/")


def _home(job: Job, word: Word, happens: str, severity: str | None) -> Finding:
    place = job.span(word.start, word.end)
    tilde = Span(place.start + 1, place.start + 2)
    double = job.source.text[place.start : place.start + 3] == '"~/'
    fix = Fix("write $HOME", [replace(tilde, "$HOME")], safe=False) if double else None
    advice = "write `$HOME`" if double else "write `$HOME`, in double quotes"
    return Finding(
        place, (f"a quoted `~` is not expanded to your home folder, so {happens}; {advice}"), severity, fix=fix
    )


def _in_command(job: Job, text: Text, name: str, words: list[Word]) -> Iterator[Finding]:
    silent = any(_SILENT.fullmatch(text.string[each.start : each.end]) for each in words)
    is_value = False
    for word in words:
        written = text.string[word.start : word.end].replace(UNKNOWN_CHARACTER, "$")
        if is_value or written.startswith("-"):
            is_value = not is_value and len(written) == 2 and written[1] in _TAKE_NAMES[name]
            continue
        quoted = any(isinstance(part, Literal) and part.quoted and _PATTERN.search(part.text) for part in word.parts)
        if not quoted or not _AS_A_PATH.fullmatch(written) or "\\" in written or "'" in written:
            continue
        place = text.span(word.start, word.end)
        instead = _unquoted(job.source.slice(place))
        yield Finding(
            place,
            f"a quoted wildcard is not expanded, so `{name}` finds no files"
            + (f"; write `{instead}`" if instead else "; move it outside the quotes"),
            "warning" if name == "rm" and (silent or not _ends_at_failure(job, place)) else "error",
            fix=Fix(f"write {instead}", [replace(place, instead)], safe=False) if instead else None,
        )


def _in_lists(job: Job, text: Text, program: Program) -> Iterator[Finding]:
    """The findings on a pattern in quotes as the list of a loop, or as the element of an array."""
    assigned: dict[str, list[Assignment]] = {}
    for assignment in nodes_of(program, Assignment) if '"' in text.string else ():
        assigned.setdefault(assignment.name, []).append(assignment)
    for loop in nodes_of(program, For):
        if loop.words is None or len(loop.words) != 1 or loop.selects:
            continue
        word = loop.words[0]
        written, place = text.string[word.start : word.end], text.span(word.start, word.end)
        reads = [each for each in nodes_of(loop.body, Parameter) if each.name == loop.name]
        if not reads or _takes_patterns(text, loop):
            continue
        value, named = _value_in_quotes(written, assigned, loop)
        if value is None:
            if not _is_pattern(text, word):
                continue
            value, instead = written, _unquoted(job.source.slice(place))
        else:
            instead = f"${named}"
        literally = any(each.quoted for each in reads)
        happens = "with the wildcard in it" if literally else "for all files at once"
        fix = Fix(f"write {instead}", [replace(place, instead)], safe=False) if instead else None
        message = f"quotes keep the wildcard from expanding, so the loop runs once, {happens}"
        advice = f"; write `{instead}`" if instead else "; move it outside the quotes"
        yield Finding(place, message + advice, None if literally else "warning", fix=fix)
    yield from _in_arrays(job, text, program, assigned)


def _value_in_quotes(written: str, assigned: dict[str, list[Assignment]], loop: For) -> tuple[str | None, str]:
    """The pattern that a loop over `"$FILES"` or `"${FILES}"` gets as its only word, and the variable; None if none."""
    match = _ONE_VARIABLE.fullmatch(written)
    before = [each for each in assigned.get(match[1], ()) if each.start < loop.start] if match is not None else []
    if match is None or len(before) != 1 or not isinstance(before[0].value, Word) or before[0].append:
        return None, ""
    value = "".join(each.text if isinstance(each, Literal) else "$" for each in before[0].value.parts)
    return (value, match[1]) if _PATTERN.search(value) and _AS_A_PATH.fullmatch(value) else (None, "")


def _in_arrays(job: Job, text: Text, program: Program, assigned: dict[str, list[Assignment]]) -> Iterator[Finding]:
    """The findings on patterns in quotes as elements of an array that is read in quotes, or by a number."""
    reads: dict[str, list[Parameter]] = {}
    every = [each for found in assigned.values() for each in found]
    arrays = [(each, each.value.elements) for each in every if isinstance(each.value, ArrayLiteral)]
    arrays = [(each, words) for each, words in arrays if words and all(_is_pattern(text, word) for word in words)]
    if not arrays:
        return
    wanting = [each for each in nodes_of(program, Simple) if _takes_patterns(text, each)]
    for parameter in nodes_of(program, Parameter):
        reads.setdefault(parameter.name, []).append(parameter)
    for array, elements in arrays:
        own = [each for each in reads.get(array.name, ()) if each.index is not None and each.operator in ("", "length")]
        if any(
            command.start <= each.start < command.end for each in own[:_MOST_READS] for command in wanting[:_MOST_READS]
        ):
            continue
        if len(assigned[array.name]) > 1:
            continue
        index = {id(each): text.string[each.index.start : each.index.end] for each in own if each.index is not None}
        counted = [each for each in own if each.operator == "length" and index[id(each)] in ("@", "*")]
        own = [each for each in own if not each.operator]
        whole = [each for each in own if index[id(each)] in ("@", "*")]
        numbered = [each for each in own if "$" in index[id(each)] or index[id(each)].isidentifier()]
        if any(not each.quoted for each in whole) or not (numbered or whole or counted):
            continue
        if numbered and len(elements) > 1:
            continue  # it chooses one of the patterns
        severity = None if whole or numbered else "warning"
        for word in elements:
            place = text.span(word.start, word.end)
            instead = _unquoted(job.source.slice(place))
            counts = "the array holds the wildcard itself" + ("" if whole or numbered else ", and its length is 1")
            fix = Fix(f"write {instead}", [replace(place, instead)], safe=False) if instead else None
            advice = f"; write `{instead}`" if instead else "; move it outside the quotes"
            yield Finding(place, f"a quoted wildcard is not expanded: {counts}{advice}", severity, fix=fix)


def _is_pattern(text: Text, word: Word) -> bool:
    """Whether a word is the path of files with a wildcard in quotes."""
    written = text.string[word.start : word.end].replace(UNKNOWN_CHARACTER, "$")
    quoted = any(isinstance(part, Literal) and part.quoted and _PATTERN.search(part.text) for part in word.parts)
    path = quoted and _AS_A_PATH.fullmatch(written) and "\\" not in written and "'" not in written
    return bool(path) and ("/" in written or "." in written) and not written.startswith("-")


def _takes_patterns(text: Text, node: For | Simple) -> bool:
    """Whether a command in a loop, or a command itself, may want patterns, or expands them itself."""
    commands = nodes_of(node.body, Simple) if isinstance(node, For) else [node]
    for command in commands:
        words = [each for each in command.words if isinstance(each, Word)]
        name = unquoted_text(words[0]) if words else None
        if name is not None and (name.rpartition("/")[2] in _WANT_PATTERNS or "python" in name or name in _EXPANDING):
            return True
    return False


def _ends_at_failure(job: Job, place: Span) -> bool:
    """Whether the shell may end where the command at a place fails, by `set -e`."""
    commands = [each for each in job.invocations if each.name == "rm" and each.span.contains(place)]
    return not commands or any(each.state.option("errexit") is not False for each in commands)


def _unquoted(written: str) -> str | None:
    """`"$A/*.txt"` as `"$A/"*.txt`; None where it is quoted differently."""
    if len(written) < 3 or written[0] != '"' or written[-1] != '"' or '"' in written[1:-1]:
        return None
    inner = written[1:-1]
    at = _PATTERN.search(inner)
    if at is None or "$" in inner[at.start() :]:
        return None
    slash = inner.rfind("/", 0, at.start()) + 1
    if "$" not in inner[:slash] and "$" in inner or not slash and "$" in inner:
        return None
    return (f'"{inner[:slash]}"' if "$" in inner[:slash] else inner[:slash]) + inner[slash:]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        srun python train.py --out "$SCRATCH/run"
        mv «"$SCRATCH/run/*.json"» results/
        """,
        unsafe_fixed={'"$SCRATCH/run/*.json"': '"$SCRATCH/run/"*.json'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        rm -f «"core.*"»
        srun ./a.out
        """,
        unsafe_fixed={'"core.*"': "core.*"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd «"~/project"»
        srun ./a.out
        """,
        unsafe_fixed={'"~/project"': '"$HOME/project"'},
        title="home",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./a.out
        find . -name "*.tmp" -delete
        mv "$SCRATCH"/run/*.json results/
        """
    ),
]
