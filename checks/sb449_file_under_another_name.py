"""A file is not found: the script writes it under another name, with the same words in another order or spelling.

`scontrol show hostnames > hosts.$SLURM_JOB_ID` and then `-machinefile $SLURM_JOB_ID.hosts` name two files. The second
one does not exist: the program stops, or goes on without its list, its settings or its results.

Reported where the script names the file that it reads nowhere before, and has written one in the same folder whose name
has the same words in another order, or differs only in capitals, in `-`, `_` and `.`, or in an `s`.

An error where the name has the number of the job, so that nothing else can have made the file, and more than the log
needs it; otherwise a warning.

## Fix

None: which of the two names was meant is not known.

## References

A review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.storage.written_paths import created_paths, named_paths, redirected_paths
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.paths import key
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Launchers, Steps

# Programs that read the files that they are given, and change nothing but their copies.
_READERS = frozenset(
    {"cat", "head", "tail", "wc", "sort", "uniq", "less", "cp", "mv", "md5sum", "sha256sum", "gzip", "awk", "cut"}
)
# Those that read a program, and whose further words are unknown.
_INTERPRETERS = frozenset({"source", ".", "bash", "sh", "python", "python3", "Rscript", "perl"})
# Those that only print the file to the log.
_PRINTERS = frozenset({"cat", "head", "tail", "wc", "less"})
# Options whose value is a file that a launcher reads.
_HOSTS = Regex(r"--?(?:machine[-_]?file|host[-_]?file|hostlist|configfile|f|file|conf|config|multi-prog)")

CARD = Card(
    "SB449", "file-under-another-name", severity="error", fix="never", since="0.1.0", batch=True,
    when=Commands(*sorted(_READERS | _INTERPRETERS)) | Launchers() | Steps(), seen="a review of public scripts",
    unseen="`No such file or directory` in the log, and a program without its input.",
)  # fmt: skip

_JOB = Regex(r"\$\{(?:SLURM_JOB_ID|SLURM_JOBID|\$|SLURM_ARRAY_JOB_ID|SLURM_ARRAY_TASK_ID)\}")
_WORD = Regex(r"\$\{[^}]*\}|[A-Za-z]+|\d+")
_SIGN = Regex(r"[-_.]+")
_NO_NAME = Regex(r"[*?\[{=:@ <>(\n]|/dev/")
_LEAST = 4  # letters of a name


def check(job: Job) -> Iterator[Finding]:
    written: dict[str, Span] = {}
    alike: dict[tuple[str, str], list[str]] = {}
    named: set[str] = set()
    for command in job.invocations:
        if command.context.handler or command.alternatives > 1:
            named.update(map(_same_job, named_paths(command)))
            continue
        for field in _read(command):
            path = _same_job(key(field))
            if path in named or path in written or "${}" in path or not _is_whole(field):
                continue
            other = next((each for each in alike.get(_letters(path), ()) if _is_namesake(path, each)), None)
            if other is not None and job.beside.path(command, field) is None:
                line = job.line(written[other].start)
                name = path.rpartition("/")[2].replace("${", "$").replace("}", "")
                message = f"nothing creates `{name}`; did you mean the file that line {line} writes?"
                prints = command.name in _PRINTERS and not command.redirects and not command.piped_to
                certain = _JOB.search(path) and not command.context.conditional and not prints
                severity = None if certain and not command.context.captured else "warning"
                if command.context.captured and _is_told(job, command):
                    severity = "info"  # only a message lacks it
                place = span_of(field) if command.span.contains(span_of(field)) else command.span
                yield Finding(place, message, severity, related=[(written[other], "written here")])
                named.add(path)
        for path in map(_same_job, (*redirected_paths(command), *created_paths(command))):
            if path not in written:
                written[path] = command.span
                alike.setdefault(_letters(path), []).append(path)
        started = {_same_job(path) for child in command.children for path in named_paths(child)}
        named.update(set(map(_same_job, named_paths(command))) - started)


def _is_told(job: Job, command: Invocation) -> bool:
    """Whether a command is in a substitution of a line that only prints."""
    line = job.source.line_of(command.span.start)
    before = job.source.text[line.start : command.span.start].split()
    return bool(before) and has_trait(before[0], "tells")


def _same_job(path: str) -> str:
    """A path with one name for the number of the job."""
    return path.replace("${SLURM_JOBID}", "${SLURM_JOB_ID}").removeprefix("./")


def _is_whole(field: Pieces) -> bool:
    """Whether a word is the name of one file: not `-`, an option, a pattern, a device."""
    text = shown_text(field)
    return len(text) >= _LEAST and text[0] != "-" and not _NO_NAME.search(text)


def _read(command: Invocation) -> Iterator[Pieces]:
    """The files that a command reads."""
    for redirect in command.redirects:
        if redirect.operator == "<" and redirect.target:
            yield redirect.target
    if command.name in ("cp", "mv"):
        yield from [each for each in command.argv[1:-1] if not shown_text(each).startswith("-")]
    elif command.name in _READERS:
        yield from command.argv[1:]
    elif command.name in _INTERPRETERS:
        yield from command.argv[1:2]
    else:
        for option, value in zip(command.argv[1:], command.argv[2:], strict=False):
            if _HOSTS.fullmatch(shown_text(option)):
                yield value


def _letters(path: str) -> tuple[str, str]:
    """What a path has in common with all its namesakes: its folder, and the letters and digits of its name."""
    folder, _, name = path.rpartition("/")
    return folder, "".join(sorted(_SIGN.sub("", "".join(_WORD.findall(name))).lower().replace("s", "")))


def _is_namesake(path: str, other: str) -> bool:
    """Whether two paths in one folder have the same words in another order or spelling."""
    folder, _, name = path.rpartition("/")
    other_folder, _, other_name = other.rpartition("/")
    if folder != other_folder or name == other_name:
        return False
    words, other_words = _WORD.findall(name), _WORD.findall(other_name)
    if len("".join(each for each in words if each.isalpha())) < _LEAST:
        return False
    if len(words) > 1 and sorted(words) == sorted(other_words):
        return True
    plain, other_plain = _SIGN.sub("", name).lower(), _SIGN.sub("", other_name).lower()
    return plain == other_plain or _is_plural(words, other_words)


def _is_plural(words: list[str], others: list[str]) -> bool:
    """Whether one word has an `s` more than the other, and all others are the same."""
    if len(words) != len(others):
        return False
    differing = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    return len(differing) == 1 and any(one + "s" == other or one == other + "s" for one, other in differing)


CASES = [
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir trimmed_fastqs && mv *.fq.gz trimmed_fastqs
        readarray trimmedFastqs < list.txt
        python align.py TRIMMED_FASTQS
        """,
        title="names of arrays, and words of programs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        scontrol show hostnames "$SLURM_JOB_NODELIST" > $SLURM_JOB_ID.machine.file
        cat «machine.file.$SLURM_JOB_ID»
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun hostname | sort > hosts.$SLURM_JOB_ID
        mpirun -machinefile «host.$SLURM_JOBID» ./solver
        """,
        title="a letter more",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        cat head.cfg body.cfg > Run_Settings.cfg
        cp «run-settings.cfg» $SCRATCH
        """,
        severity="warning",
        title="the name alone",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        scontrol show hostnames "$SLURM_JOB_NODELIST" > hosts.$SLURM_JOB_ID
        mpirun -machinefile hosts.$SLURM_JOB_ID ./solver --log log.run
        cat log.run > run.log
        cat run.log part.1 > part.2
        sort list.new.txt > new.list.txt
        """
    ),
]
