"""A path does not exist: a folder is put before a path that is already absolute.

`cd ../$SLURM_SUBMIT_DIR`, `cat ./$HOME/config` and, with `DATA=/home/me/data`, `cp $HOME/$DATA/x .` name the folder
`home` below another one: `..//home/me/…`. There is none, so that the command fails, and after a failed `cd` the
script goes on in the folder where it was.

So it is with `> /results/run.log` in a script that makes `results` in its own folder: nobody may write into a folder of
the root, if there is one, and the log is lost with the program that would have written it.

Reported for files that are read or run and folders that are entered, unless the script copies or makes something under
such a path. An error after `./`, `../` or a folder that is the beginning of the second path; a warning after other
folders, below which somebody may have rebuilt the whole path.

## Fix

Removes the folder before an absolute path where it is `./` or `../`, or the slash before a folder of the script.
Unsafe: perhaps the folder above was meant.

## References

bash(1), "PARAMETERS"; environ(7); path_resolution(7)
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.shell_history import folder_of
from sbatchlint.analysis.storage.needed_paths import needed_paths
from sbatchlint.analysis.storage.written_paths import created_paths, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Piece, Pieces, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove
from sbatchlint.job.once import once
from sbatchlint.job.paths import key
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB460", "prefix-before-absolute-path", severity="error", fix="sometimes", since="0.1.0", batch=True,
    seen="a review of public scripts", unseen="`No such file or directory` in the log.",
)  # fmt: skip

# Variables that hold an absolute path, where nothing is cut from it.
_ABSOLUTE = frozenset(
    {"HOME", "PWD", "OLDPWD", "SLURM_SUBMIT_DIR", "SCRATCH", "TMPDIR", "SLURM_TMPDIR", "PBS_O_WORKDIR"}
)
_WRITTEN = Regex(r"[\"']?(\$\{\w+\}|\$\w+|\$\(pwd\)|`pwd`)")
_WHOLE_PATHS = frozenset({"--parents", "-R", "--relative", "-P", "--absolute-names"})
_REBUILDING = frozenset({"tar", "unzip", "chroot", "mount", "unshare"})
_WHOLE = Regex(r"\$(?:\{(\w+)\}|(\w+))|\$\(pwd\)|`pwd`")
# Folders at the root, with one below: a name such as `/data` may be meant as the end of a path.
_ROOTED = Regex(
    r"/(?:home\d*|users?|scratch\w*|lustre\w*|gpfs\w*|projects?|work\d*|mnt|nfs\w*|beegfs\w*|cluster|global|n|u|tmp|var|opt"
    r"|usr|data\d*|storage\w*|groups?)/[^/]+.*"
)
# A folder of the root, with a file in it; those that many machines have.
_AT_ROOT = Regex(r"/([A-Za-z][\w.-]*)/(?=.)")
_OF_ROOT = frozenset(
    {"bin", "boot", "data", "dev", "etc", "home", "lib", "media", "mnt", "nfs", "opt", "proc", "project", "projects"}
    | {"root", "run", "scratch", "shared", "srv", "storage", "sys", "tmp", "usr", "users", "var", "work", "workspace"}
)
_RELATIVE = Regex(r"(?:\.{1,2}/+){1,3}")
_FOLDER = Regex(r"(?:[\w.~-]|\ue000|/)+/")


def check(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for command in job.invocations:
        for need in needed_paths(command):
            at = _absolute_at(job, need.field)
            if at is None and need.into and need.span not in seen and (found := _of_root(job, command, need.field)):
                seen.add(need.span)
                yield found
            if at is None or need.into or need.span in seen or _is_made(job, command, need.field):
                continue
            seen.add(need.span)
            finding = _finding(job, need.field, at)
            if finding is not None:
                yield finding


def _of_root(job: Job, command: Invocation, field: Pieces) -> Finding | None:
    """The finding on a file in a folder of the root that the script makes in its own folder."""
    begins = _AT_ROOT.match(field[0].text or "")
    if begins is None or field[0].expansion is not None or job.source.text[field[0].start : field[0].start + 1] != "/":
        return None
    name, names = begins[1], _made(job)[0]
    written = {path for path in names if path.startswith(f"/{name}/")}
    if name in _OF_ROOT or written - set(redirected_paths(command)):
        return None
    maker = next((each for each in job.invocations if each.name == "mkdir" and name in created_paths(each)), None)
    folder = None if maker is None else folder_of(job, maker)
    if maker is None or folder is not None and key(folder) == "/" or f"/{name}" in names:
        return None
    place = Span(field[0].start, field[-1].end)
    return Finding(
        place,
        f"`/{name}` is not the `{name}` that line {job.line(maker.span.start)} makes, and the job cannot write there; "
        f"write `{name}/…`",
        related=[(maker.span, "makes it in the working folder")],
        fix=Fix("remove the slash", [remove(Span(place.start, place.start + 1))]),
    )


def _absolute_at(job: Job, field: Pieces) -> int | None:
    """The index of a piece that begins an absolute path after a folder; None where there is none."""
    for number, piece in enumerate(field[1:], 1):
        if _is_absolute(job, piece, field[number - 1]):
            prefix = shown_text(field[:number])
            if _FOLDER.fullmatch(prefix) and prefix.strip("/"):
                return number
    return None


def _is_absolute(job: Job, piece: Piece, before: Piece) -> bool:
    """Whether a piece that an expansion gave, after another piece, begins an absolute path."""
    if piece.text is not None:
        return piece.start != before.end and _ROOTED.fullmatch(piece.text) is not None
    expansion = piece.expansion
    if expansion is None or not _WHOLE.fullmatch(job.source.slice(expansion.span)):
        return False
    return expansion.name in _ABSOLUTE or expansion.name.startswith(("$(pwd", "`pwd"))


def _is_made(job: Job, command: Invocation, field: Pieces) -> bool:
    """Whether the script may make something where a path leads, or runs in the root folder."""
    folder = folder_of(job, command)
    if folder is not None and key(folder) == "/":
        return True
    names, rebuilds = _made(job)
    path = key(field)
    while path and path not in names:
        path = path.rpartition("/")[0]
    return rebuilds or bool(path)


@once
def _made(job: Job) -> tuple[frozenset[str], bool]:
    """The paths that the script makes, and whether a command of it copies whole paths (`cp --parents`)."""
    made: set[str] = set()
    rebuilds = False
    for command in job.invocations:
        made.update(created_paths(command))
        made.update(redirected_paths(command))
        if command.name in _REBUILDING or command.name in ("cp", "rsync", "install") and _keeps_paths(command):
            rebuilds = True
    return frozenset(made), rebuilds


def _keeps_paths(command: Invocation) -> bool:
    options = [word for word in command.words[1:] if word[:1] == "-"]
    return any(each in _WHOLE_PATHS or each[1:2] != "-" and "R" in each for each in options)


def _finding(job: Job, field: Pieces, at: int) -> Finding | None:
    prefix, piece = field[:at], field[at]
    written = shown_text(prefix)
    relative = _RELATIVE.fullmatch(written) is not None
    start, end = prefix[0].start, prefix[-1].end
    name = _WRITTEN.match(job.source.text, end)
    if name is None or written.startswith(".") and not relative:
        return None  # with more `..` it may lead to the root
    first = prefix[0].expansion
    repeated = first is not None and piece.expansion is not None and first.name == piece.expansion.name
    shown = job.source.slice(Span(start, end))
    message = f"`{name[1]}` is an absolute path, so `{shown}{name[1]}` leads nowhere; remove `{shown}`"
    plain = relative and shown == written
    return Finding(
        Span(start, max(name.end(), field[-1].end if field[-1].start >= end else 0)),
        message,
        None if relative or repeated else "warning",
        fix=Fix(f"remove {written}", [remove(Span(start, end))]) if plain else None,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        cd «../$SLURM_SUBMIT_DIR»
        ./model
        """,
        unsafe_fixed={"../$SLURM": "$SLURM"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        DATA=$HOME/data
        cp «$HOME/$DATA/input.nml» .
        ./model
        """,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks=1\nmkdir -p results\n./model > «/results/run.log»\n",
        unsafe_fixed={"> /results": "> results"},
        title="a slash too many",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        OUT=/results
        mkdir -p "$TMPDIR/$PWD"
        cd "$TMPDIR/$PWD"
        cat $HOME/$OUT/list.txt
        """,
        title="the script makes it; `/results` may be meant as the end of a path",
    ),
]
