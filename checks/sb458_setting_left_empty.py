"""A setting was left empty, and a command cannot do without it.

`DATA=""` at the top of a script waits for a path, and `python train.py --data $DATA --out $OUT` runs without one: an
empty variable without quotes is no word at all, so that `--data` takes `--out` for its value. After `IMG=''`, the image
of `apptainer exec $IMG python train.py` is `python`. `cd $RUN` goes to the home folder, and `mkdir -p $SCRATCH/run`
makes a folder at the root of the file system, which a user may not do.

Reported are variables that the script only ever sets to nothing, and neither tests nor gives a default, where they are
the value of an option of a similar name (`--data_path $DATA`) or have the name of a path, a file or an image. A
variable that may be empty (`EXTRA_ARGS=""`, `python train.py $EXTRA_ARGS`) is fine. A warning where several are empty
or a comment says what the value is, advice in a template, and where a comment asks for the value: it was left empty on
purpose, for whoever runs the script.

## Fix

None: only you know the value. `${DATA:?}` stops the script where it is empty.

## References

bash(1), "Word Splitting" and "Parameter Expansion", and cd
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import may_come_from_files
from sbatchlint.analysis.expansion.reads import assignments_by_name, guarded_names, read_names, use_of
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.bash.trace import VariableAssignment, VariableRead
from sbatchlint.bash.values import text_of
from sbatchlint.bash.variables import Variable
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB458", "setting-left-empty", severity="error", fix="never", since="0.1.0", when=Variables("*"), batch=True,
    seen="a review of public scripts",
    unseen="`expected one argument`, `permission denied`, or an option with the name of the next one as its value.",
)  # fmt: skip

_AROUND = 160  # characters before and after a read that are looked at
# What stands before the variable that is the whole value of an option, and what comes after it.
_OPTION_BEFORE = Regex(r"(?:^|\s)--?([A-Za-z][\w-]*)[ \t]+$")
_WORD_AFTER = Regex(r"(?=[\s;|&)]|$)")
_END = Regex(r"[ \t]*(?:[;\n&]|#|$)")
_OPTION_AFTER = Regex(r"(?:[ \t]|\\\n)+--?[A-Za-z]")
_PATH_AFTER = Regex(r"/([\w.+-]*)")
_OF_PATH = Regex(
    r"(?i)(?:.*[_-])?\w*(?:dir|path|file|folder|data|dataset|scratch|work|input|output|model|checkpoint|ckpt|config)"
)
_OF_IMAGE = Regex(r"(?i)(?:\w*_)?(?:img|image|sif|simg|container)(?:_\w+)?")
_FOLDERS = frozenset({"cd", "mkdir", "pushd"})
_CONTAINERS = frozenset({"apptainer", "singularity", "docker", "podman"})
_FLAGS = frozenset({"nv", "rocm", "rm", "it", "i", "cleanenv", "e", "c", "containall", "writable-tmpfs", "q"})
# First folders of paths that exist, so that what stands before may be empty.
_ROOTS = frozenset(
    {"", ".", "..", "home", "usr", "opt", "tmp", "var", "etc", "bin", "lib", "dev", "mnt", "data", "scratch", "work"}
    | {"projects", "project", "gpfs", "lustre", "nfs", "shared", "users", "media", "root", "srv"}
)
_PARTS = Regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FEW = 2  # settings that are left empty by mistake
_SHORT = 3  # letters of parts of names that may be similar by chance
# A comment that says that something is to be written.
_TO_WRITE = Regex(
    r"(?i)\b(?:your?|put|(?:path|name|location) (?:to|of)|fill|change|update|assign|enter|insert|specify|todo|set"
    r"|choose|replace|edit|here)\b"
)


def check(job: Job) -> Iterator[Finding]:
    if not job.is_shell or may_come_from_files(job):
        return
    names = {name for name, found in assignments_by_name(job).items() if all(_is_empty(job, each) for each in found)}
    names -= guarded_names(job)
    found: dict[str, tuple[VariableRead, str]] = {}
    filled: set[str] = set()
    for read in job.trace.reads if names else ():
        if read.name not in names or read.name in filled:
            continue
        if not _holds_nothing(read.variable):
            filled.add(read.name)
        elif read.name not in found:
            happens = _harm(job, read)
            if happens:
                found[read.name] = (read, happens)
    harmed = [(name, happens) for name, (_, happens) in found.items() if name not in filled]
    if not harmed:
        return
    (first, happens), *others = harmed
    assigned = assignments_by_name(job)[first][0]
    more = f", and so are {len(others)} more" if len(others) > 1 else f", as is {others[0][0]}" if others else ""
    end = "to stop if empty" if others else "there to stop the job if it is empty"
    stopping = f"write `${{{first}:?}}` {end}"
    message = f"{first} is empty{more}: {happens}; set it, or {stopping}"
    beside, above = _comments_on(job, assigned)
    is_asked_for = any(map(_TO_WRITE.search, (beside, above)))
    is_form = len(names & read_names(job) - filled) > _FEW or beside != ""
    severity = "info" if is_asked_for or is_sample(job) else "warning" if is_form else "error"
    related = [(assignments_by_name(job)[name][0].span, "empty as well") for name, _ in others[:5]]
    yield Finding(assigned.span, message, severity, related=related)


def _is_empty(job: Job, assigned: VariableAssignment) -> bool:
    """Whether an assignment gives a variable nothing, and is written so: `NAME=`, `NAME=""`."""
    end = assigned.span.end
    written, after = job.source.slice(assigned.span), job.source.text[end : end + _AROUND]
    if written.partition("=")[2] not in ("", '""', "''") or not _END.match(after):
        return False
    if assigned.context.conditional or assigned.context.loops or len(assigned.alternatives) != 1:
        return False
    fields = assigned.alternatives[0].fields
    return fields is not None and len(fields) == 1 and text_of(fields[0]) == ""


def _holds_nothing(variable: Variable | None) -> bool:
    if variable is None or variable.array or len(variable.alternatives) != 1:
        return False
    fields = variable.alternatives[0].fields
    return fields is not None and all(text_of(field) == "" for field in fields)


def _harm(job: Job, read: VariableRead) -> str:
    """What goes wrong where an empty variable is read; empty if nothing is known to."""
    use = use_of(job, read)
    command = use.command
    if use.kind != "argument" or command is None or read.operator or has_trait(command.name, "prints"):
        return ""
    # the program behind `timeout 3h` and the like
    started = (each.name for each in (command, *command.descendants()))
    program = next((each for each in started if each in _CONTAINERS or each in _FOLDERS), None)
    text, span = job.source.text, read.span
    before, after = text[max(span.start - _AROUND, 0) : span.start], text[span.end : span.end + _AROUND]
    line = job.line(span.start)
    path = _PATH_AFTER.match(after)
    if path is not None and before[-1:] in (" ", "\t", '"') and program in _FOLDERS:
        if path[1] not in _ROOTS or after[1:2] == "$" and _OF_PATH.fullmatch(read.name):
            verb = "creates" if program == "mkdir" else "enters"
            return f"line {line} {verb} `/{path[1]}…`, at the root"
        return ""
    if not _WORD_AFTER.match(after) or before[-1:] not in (" ", "\t"):
        return ""
    if command.name == "cd" and before.rstrip().endswith("cd"):
        return f"line {line} goes to the home folder"
    option = _OPTION_BEFORE.search(before)
    if program in _CONTAINERS and _OF_IMAGE.fullmatch(read.name):
        if option is None or option[1] in _FLAGS:
            return f"line {line} treats the next word as the image"
    elif option is not None:
        if _OF_PATH.fullmatch(read.name) or _is_similar(option[1], read.name) and _OPTION_AFTER.match(after):
            return f"`{option[0].strip()}` on line {line} gets no value"
    return ""


def _is_similar(option: str, name: str) -> bool:
    """Whether a variable is named after an option, so that it is meant as its value and not for more options."""
    parts = {each.lower() for each in _PARTS.findall(option)}
    return any(len(each) >= _SHORT and each.lower() in parts for each in _PARTS.findall(name))


def _comments_on(job: Job, assigned: VariableAssignment) -> tuple[str, str]:
    """The comments beside an assignment and on the line above it; '' for none."""
    text = job.source.text
    end = text.find("\n", assigned.span.end)
    beside = text[assigned.span.end : end if end >= 0 else len(text)][:_AROUND]
    start = text.rfind("\n", 0, assigned.span.start) + 1
    above = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start][:_AROUND]
    return beside.partition("#")[2].strip(), above.partition("#")[2].strip()


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        «DATA=""»
        OUT=results
        python train.py --data $DATA --out $OUT
        """,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --gres=gpu:1\n«IMG=''» # put the path to your image here\n"
        "singularity run --nv $IMG /data/in\n",
        severity="info",
        title="an image that a comment asks for",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks=4\n«scratch=»\nmkdir -p ${scratch}/sub-01_work\nsrun ./solver\n",
        title="at the root",
    ),
    Bad("#!/bin/bash\n#SBATCH --ntasks=4\n«RUN=''»\ncd $RUN\nsrun ./solver\n", title="the home folder"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        EXTRA=""
        DEBUG=
        python train.py --verbose $EXTRA --data data $DEBUG
        """,
        title="may be empty",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        CKPT=""
        if [ -e last.ckpt ]; then CKPT=last.ckpt; fi
        python train.py --ckpt $CKPT
        """,
        title="set later",
    ),
    Good('#!/bin/bash\n#SBATCH --gres=gpu:1\nNAME=""\npython train.py --name "$NAME"\n', title="an empty word"),
]
