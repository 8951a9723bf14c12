"""A folder of a search path is not found: it lacks its leading slash.

In `LD_LIBRARY_PATH=/opt/x/lib:usr/local/lib` the second folder is looked up in the folder where the program happens to
run. Its libraries and programs are not found, or others are used.

Reported only for a relative folder that begins like one of the root (`usr/`, `opt/`, or the first folder of another in
the list), and comes after others. A `~` within quotes is such a folder, too: bash puts the home folder in its place
only outside quotes. So is `$HOME` in single quotes.

An empty entry of PATH or LD_LIBRARY_PATH (`PATH=:$PATH`, `LD_LIBRARY_PATH=/opt/x/lib:`) is the working folder: a file
there that happens to be called `python`, `test` or `libm.so.6` is used in place of the real one. In LD_LIBRARY_PATH
this is advice, unless the script shows a library in that folder (`cp build/libfast.so .`, `-L.`): few folders of jobs
have one.

## Fix

Adds the slash, writes `$HOME` within double quotes, or removes the colon of an empty entry. Unsafe: the folder is then
searched, or not any more.

## References

ld.so(8), "LD_LIBRARY_PATH"; bash(1), "PATH": "A zero-length (null) directory name in the value of PATH indicates the
current directory"; both run with bash 5.2 and glibc 2.36.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, Heredoc, Literal, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, remove, replace
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex

CARD = Card("SB618", "relative-search-path", severity="warning", fix="sometimes", since="0.1.0", seen="a public script")

# Names of search paths; other names that end in PATH hold one path or an address.
_NAME = Regex(
    r"(?:(?:APPTAINER|SINGULARITY)ENV_)?(?:PREPEND_|APPEND_)?(?:PATH|(?:DY)?LD_(?:RUN_)?(?:LIBRARY_)?PATH|LIBRARY_PATH"
    r"|C(?:PLUS)?(?:_INCLUDE_)?PATH|PYTHONPATH|MANPATH|INFOPATH|MODULEPATH|PKG_CONFIG_PATH|CMAKE_PREFIX_PATH|CLASSPATH)"
)
# In these an empty entry is the working folder.
_CURRENT = frozenset({"PATH", "LD_LIBRARY_PATH"})
# A library in the working folder, or the folder as one of libraries.
_LIBRARY = Regex(
    r"(?m)(?:^|[\s\"'])(?:\./)?[\w.+-]*\.so(?:\.\d+)*(?=[\s\"';]|$)"
    r"|\s-L ?(?:\.|\$\{?PWD\}?|\$\(pwd\)|`pwd`)(?=[\s/\"']|$)"
    r"|\.so[^\s;&|]*[ \t]+(?:\.|\$PWD)/?[ \t]*(?:$|[;&|])"
)
_COLONS = Regex(r":+")
_LINE = Regex(r"(?m)^\s*(?:-\s*)?[\"']?(?P<name>\w*PATH)[\"']?\s*[:=]\s*[\"']?(?P<value>[^\s\"'#]*:[^\s\"'#]*)")
_HOME = Regex(r"(?:^|:)(~|\$HOME|\$\{HOME\})(?=/)")
_PART = Regex(r"[^:\"']+")
_ROOT_NAMES = "usr opt etc bin sbin lib lib64 home mnt scratch gpfs lustre var"
_ROOTS = frozenset(_ROOT_NAMES.split())


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "PATH" not in text.string:
            continue
        appended = {each.name for each in nodes_of(program, Assignment) if each.append}
        for word, name in _words(program):
            for literal in word.parts:
                if isinstance(literal, Literal) and literal.quoted:
                    yield from _unexpanded(text, literal, name)
            if name not in appended:  # `PATH+=:/opt/x/bin` goes on after a colon, or with one
                yield from _empty(job, text, word, name)
        for start, end, name in _lists(text.string, program):
            for part in _relative(text.string, start, end):
                place = text.span(*part)
                yield Finding(
                    place,
                    f"this folder of {name} is relative to the working folder, unlike the others; put a slash "
                    "before it",
                    fix=Fix("put a slash before it", [insert(place.start, "/")], safe=False),
                )


def _words(program: object) -> Iterator[tuple[Word, str]]:
    """The values that search paths get, with the variable's name."""
    for assigned in nodes_of(program, Assignment):
        if assigned.name.endswith("PATH") and isinstance(assigned.value, Word) and _NAME.fullmatch(assigned.name):
            yield assigned.value, assigned.name


def _unexpanded(text: Text, part: Literal, name: str) -> Iterator[Finding]:
    """Findings on `~` and `$HOME` in quotes, where the shell leaves them as they are."""
    written = text.string[part.start : part.end]
    for found in _HOME.finditer(written):
        if written != part.text or text.string[: part.start].endswith("$"):
            continue
        place = text.span(part.start + found.start(1), part.start + found.end(1))
        double = text.string[part.start - 1 : part.start] != "'"
        fix = Fix("write $HOME", [replace(place, "$HOME")], safe=False) if double else None
        yield Finding(
            place,
            f"in single quotes `{found[1]}` is not expanded, so this folder of {name} does not exist; write `$HOME` "
            "in double quotes",
            fix=fix,
        )


@once
def _has_library(job: Job) -> bool:
    """Whether the script shows a library in the working folder."""
    return _LIBRARY.search(job.source.own.text) is not None


def _empty(job: Job, text: Text, word: Word, name: str) -> Iterator[Finding]:
    """The finding on an empty entry of a list, where that is the working folder."""
    written = text.string[word.start : word.end]
    if name not in _CURRENT or "/" not in written and "$" not in written:
        return
    for part in word.parts:
        if not isinstance(part, Literal) or text.string[part.start : part.end].strip("\"'") != part.text:
            continue
        at = text.string.find(part.text, part.start)
        first, last = part is word.parts[0], part is word.parts[-1]
        for found in _COLONS.finditer(part.text):
            begins, ends = first and found.start() == 0, last and found.end() == len(part.text)
            if not begins and not ends and found[0] == ":":
                continue
            start = at + found.start() + (0 if begins or ends else 1)
            place = text.span(start, at + found.end())
            what = "runs" if name == "PATH" else "loads"
            yield Finding(
                place,
                f"an empty entry in {name} is the working folder, from which the job then {what} files; remove the `:`",
                None if name == "PATH" or _has_library(job) else "info",
                fix=Fix("remove the colon", [remove(place)], safe=False),
            )
            return


def _lists(string: str, program: object) -> Iterator[tuple[int, int, str]]:
    """The values of search paths: start, end, and the variable's name."""
    for word, name in _words(program):
        yield word.start, word.end, name
    for heredoc in nodes_of(program, Heredoc):
        for found in _LINE.finditer(string, heredoc.body.start, heredoc.body.end):
            if _NAME.fullmatch(found["name"]):
                yield *found.span("value"), found["name"]


def _relative(string: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges of the folders in a list that lack their slash."""
    parts = [(found[0], found.span()) for found in _PART.finditer(string, start, end)]
    roots = {part.split("/")[1] for part, _ in parts if part.startswith("/") and "/" in part[1:]} - {""}
    if not roots:
        return
    for part, span in parts:
        first, slash, _ = part.partition("/")
        if slash and (first in _ROOTS or first in roots) and "$" not in first and span[0] > start:
            yield span


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export LD_LIBRARY_PATH=/opt/nccl/lib:«usr/local/cuda/lib64»:$LD_LIBRARY_PATH
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        export LD_LIBRARY_PATH=/opt/nccl/lib:/usr/local/cuda/lib64:$LD_LIBRARY_PATH
        srun ./a.out
        """,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\nexport PATH=«:»$PATH:/opt/tools/bin\nsrun ./a.out\n",
        unsafe_fixed={"PATH=:$PATH": "PATH=$PATH"},
        title="an empty entry",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\nexport LD_LIBRARY_PATH=/opt/x/lib«::»\nsrun ./a.out\n",
        unsafe_fixed={"/lib::": "/lib"},
        title="an empty entry of libraries",
        severity="info",
    ),
    Bad(
        "#!/bin/bash\ncp build/libfast.so .\nexport LD_LIBRARY_PATH=/opt/x/lib«:»\n./a.out\n",
        unsafe_fixed={"/lib:": "/lib"},
        title="with a library in the working folder",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export PYTHONPATH=/opt/lib:src/models:$PYTHONPATH
        srun ./a.out
        """
    ),
]
