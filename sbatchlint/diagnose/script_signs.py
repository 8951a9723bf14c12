"""Signs in a script that explain a message: the folder it changes to, the variable that sets an option, the value
that a path is below, an option that gets nothing, tasks that disturb each other or are not as many as a program is told.

Like those of `signs`, they are looked for where neither a finding nor the log proves what the symptom itself says.
"""

import re
from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.answers import Answer, Picture, other_cause
from sbatchlint.diagnose.evidence import TASKS, asks_for_gpus, options, own_commands, spans_of, variables
from sbatchlint.diagnose.installed import bringing
from sbatchlint.diagnose.subjects import variable_words
from sbatchlint.job import Job
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.options import all_options
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_MISSING = Regex(
    r"(?i)no such file|file ?not ?found|not (?:be )?found|does(?:n't| not) exist|not exist|can(?:no|')t (?:open|find|read|access)"
    r"|could not (?:open|find|read)|unable to (?:open|find|read)|end-of-file during read|cannot stat"
)
# A path as it is in a message, with or without quotes.
_PATH = re.compile(r"(?<![\w./$~-])(/?[\w.+@%-]+(?:/[\w.+@%-]+)*/?)")
_QUOTED = re.compile(r"['\"`‘“<]([^'\"`‘’“”<>\s]{3,200})['\"`’”>]")
_HERE = Regex(r"^(?:\$\{?SLURM_SUBMIT_DIR\}?|\$PWD|\.|\"?\$\(pwd\)\"?)/?$")
# Where a disk, a quota or the rights of a folder are what is wrong.
_OF_FOLDER = Regex(
    r"(?i)no space left|quota exceeded|read-only file system|permission denied|not permitted|enospc|not enough space"
)
# A folder in a value of the script: of an assignment or an option.
_FOLDER = re.compile(
    r"(?m)^(?![ \t]*#)[^\n]{0,400}?(?:(?<![\w$])(?P<name>[A-Za-z_]\w{1,60})=|(?<=\s)(?P<option>--?[A-Za-z][\w-]{0,60})[= ])['\"]?(?P<value>(?:\$\{?[A-Za-z_]\w*\}?|~|/)[^'\"\s;&|<>]*)"
)
_USED = re.compile(r"\$\{?[A-Za-z_]\w*\}?|~")
# Messages of argparse and others about a value that is not there.
_EMPTY = re.compile(
    r"argument (?P<option>-[\w-]+)(?:/\S+)?: (?:expected (?:one|at least one|\d+) argument|invalid \S+ value: ''|invalid choice: '')"
    r"|(?:option|flag) [`'\"]?(?P<other>--?[\w-]+)[`'\"]?.{0,20}(?:requires|needs|expects) (?:an? )?(?:argument|value)"
)
_POSITIONAL = re.compile(r"\$\{?[1-9](?!\d)|\$[@*]")
# The options that Slurm's commands take from variables which are not named after them.
_OTHERS = {"SLURM_HOSTFILE": ("distribution", "nodelist"), "SLURM_NPROCS": ("ntasks",), "SLURM_NNODES": ("nodes",)}
_OF_SLURM = re.compile(r"\b(?P<command>sbatch|srun|salloc)(?:\.bin)?: (?:error|fatal): ")
_NAMED = re.compile(r"(?<![\w-])--([a-z][a-z-]+)|\b((?:SLURM|SBATCH|SRUN|SALLOC)_[A-Z_]+[A-Z])\b|(?i:\b(hostfile)\b)")


def script_signed(first: Answer, picture: Picture | None) -> Answer | None:
    """The answer that the script gives to the message of an answer that is not certain; None without a sign."""
    if picture is None or first.confidence == "certain" or first.findings:
        return None
    return next((found for sign in _SIGNS if (found := sign(first, picture))), None)


def _option_from_variable(first: Answer, picture: Picture) -> Answer | None:
    """A command of Slurm objects to an option, and the script sets the variable by which that command takes it."""
    event = first.event
    refused = _OF_SLURM.search(event.text)
    if refused is None:
        return None
    command = refused["command"]
    names = {name for match in _NAMED.findall(event.text) for name in match if name}
    job = picture.jobs[0]
    found = [each for each in job.assignments if _sets(each.name, command) & names or each.name in names]
    if "hostfile" in map(str.lower, names):  # the last is named
        found += [each for each in job.assignments if each.name == "SLURM_HOSTFILE"]
    later = [
        each for each in own_commands(job) if each.name == command and found and each.span.start > found[0].span.start
    ]
    if found and later:
        variable = found[-1].name
        says = f"the script sets {variable}, which is still set when it calls {command}, and counts there as an option"
        advice = f"`unset {variable}` before that {command}, or set it for the one command that needs it: {variable}=… COMMAND"
        return other_cause(
            first, "option-from-variable", "script", says, advice, (*(each.span for each in found), later[-1].span)
        )
    return None


def _sets(variable: str, command: str) -> set[str]:
    """The options that a command of Slurm takes from a variable, by name."""
    if not variable.startswith(("SLURM_", "SBATCH_", "SALLOC_", "SRUN_")):
        return set()
    found = {each.canonical for each in all_options() if variable in each.environment.get(command, ())}
    return found | set(_OTHERS.get(variable, ()))


def _paths(text: str) -> Iterator[str]:
    """The paths and names of files in a message, those in quotes first."""
    yield from _QUOTED.findall(text)
    for path in _PATH.findall(text):
        if "/" in path or re.search(r"\w\.[A-Za-z]\w{0,5}$", path):
            yield path.rstrip(".,")


# A file by its bare name, in a message that it is not there or cannot be opened.
_BARE = re.compile(r"(?<![\w./$~-])([A-Z]{4,}\w*|[\w+-]+\.[A-Za-z]\w{0,8})(?![\w/(.-])")


def beside_folder(first: Answer, picture: Picture) -> Answer | None:
    """The answer beside another one that the program misses a file, named without a folder, where the script sent it."""
    event = first.event
    if not _MISSING.search(event.text) or _LINKED.search(event.text) or any("/" in each for each in _paths(event.text)):
        return None
    names = [each for each in _BARE.findall(event.text) if each not in ("ERROR", "FATAL", "ABORT", "WARNING")]
    job = picture.jobs[0]
    moves = [each for each in own_commands(job) if each.name in ("cd", "pushd") and len(each.argv) == 2]
    if names and moves and not any(name in job.source.text for name in names):
        says = f"the script changes to {_written(job, moves[-1])}, and the program looks for {names[0]} there"
        advice = "look whether that folder has it, and whether the cd is the right one"
        return other_cause(first, "not-in-folder", "script", says, advice, (moves[-1].span,))
    return None


# The linker looks for libraries in folders of its own.
_LINKED = Regex(r"loading shared libraries|cannot open shared object|symbol lookup error|version `")


def _folder_changed(first: Answer, picture: Picture) -> Answer | None:
    """A file that a command names by a relative path, after the script has changed the folder."""
    event = first.event
    if not _MISSING.search(event.text) or _LINKED.search(event.text):
        return None
    job = picture.jobs[0]
    commands = own_commands(job)
    moves = [each for each in commands if each.name in ("cd", "pushd") and len(each.argv) == 2]
    if not moves:
        return None
    for path in dict.fromkeys(_paths(event.text)):
        found = _named_after_move(job, path, commands, moves)
        if found is not None:
            move, command, word = found
            says = f"{word} is a relative path, and is looked for in {_written(job, move)}, to which the script changed"
            advice = "name it by its full path ($SLURM_SUBMIT_DIR/…), copy it there first, or leave the cd out"
            return other_cause(first, "folder-changed", "script", says, advice, (move.span, command.span))
    return None


def _written(job: Job, move: Invocation) -> str:
    """The folder of a `cd` as the script has it."""
    return job.source.text[move.span.start : move.span.end].split(None, 1)[-1].split("\n")[0][:80].strip("'\" ;")


def _named_after_move(
    job: Job, path: str, commands: list[Invocation], moves: list[Invocation]
) -> tuple[Invocation, Invocation, str] | None:
    """The `cd`, the command after it with a word that ends the path, and that word."""
    for command in commands:
        before = [each for each in moves if each.span.end <= command.span.start]
        if not before or command.name in ("cd", "pushd", "cp", "rsync", "mv", "ln", "mkdir", "git", "wget", "tar"):
            continue
        if _HERE.search(_written(job, before[-1])):
            continue
        for field in command.argv:
            word = (text_of(field) or "").rpartition("=")[2]
            if len(word) < 4 or word.startswith(("/", "-", "$", "~")) or not re.search(r"[/.]", word):
                continue
            plain = word.removeprefix("./")
            if path.removeprefix("./") == plain or (path.startswith("/") and path.endswith("/" + plain)):
                return before[-1], command, word
    return None


def _copied_apart(first: Answer, picture: Picture) -> Answer | None:
    """A file that a program opens by its name, in a folder that the script made and copied other files to."""
    event = first.event
    near = " ".join((event.text, *event.above[-3:]))
    if not _MISSING.search(near):
        return None
    job = picture.jobs[0]
    text = job.source.text
    commands = own_commands(job)
    moves = [each for each in commands if each.name == "cd" and not _HERE.search(_written(job, each))]
    copies = [each for each in commands if each.name in ("cp", "rsync", "ln") and len(each.argv) > 2]
    if not moves or not copies:
        return None
    names = [path.rstrip("/").rpartition("/")[2] for path in _paths(event.text)]
    for name in dict.fromkeys(names):
        if len(name) < 4 or re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text):
            continue
        if any("*" in text[each.span.start : each.span.end] for each in copies):
            continue
        says = f"the program looks for {name} in the folder to which the script changed, and the script copies other files there"
        return other_cause(
            first,
            "not-copied",
            "script",
            says,
            "copy it there too, before the program starts",
            (*(each.span for each in copies[-2:]), moves[-1].span),
        )
    return None


def _below_folder(first: Answer, picture: Picture) -> Answer | None:
    """A path that may not be written, or has no room, below a folder that the script names."""
    event = first.event
    near = " ".join((event.text, *event.below[:2]))
    if not _OF_FOLDER.search(near) or first.event.symptom.id in ("no-such-program-file",):
        return None
    paths = [each for each in _paths(near) if each.startswith("/") and each.count("/") > 1]
    text = picture.source.text
    for path in dict.fromkeys(paths):
        best: tuple[int, re.Match[str]] | None = None
        for match in _FOLDER.finditer(text):
            value = match["value"].rstrip("/")
            fixed = _USED.sub("", value)
            if len(fixed.strip("/")) < 3 or match["name"] in ("PATH", "LD_LIBRARY_PATH"):
                continue
            if re.match(_as_pattern(value) + r"(?:/|$)", path) and (best is None or len(value) > best[0]):
                best = len(value), match
        if best is not None:
            match = best[1]
            span = Span(*match.span("value"))
            if any(each.start < span.end and span.start < each.end for each in first.spans):
                return None  # the symptom itself says so
            name = match["name"] or match["option"]
            reason = (
                "there is no room, or the quota is used up"
                if re.search(r"(?i)space|quota|enospc", near)
                else "the job may not write"
            )
            says = f"{name} of the script sends the program to {match['value']}, where {reason}"
            advice = f"set {name} to a folder with room that is the user's own ($SCRATCH, the job's TMPDIR), and make it before"
            return other_cause(first, "folder-of-script", "script", says, advice, (span,))
    return None


def _as_pattern(value: str) -> str:
    """An expression for what a value with variables may come to."""
    home = r"(?:/[\w.-]+){1,4}"
    parts = _USED.split(value)
    used = _USED.findall(value)
    made = re.escape(parts[0])
    for variable, part in zip(used, parts[1:], strict=True):
        made += (home if variable.strip("${}~") in ("HOME", "") else r"[^\s]{1,80}?") + re.escape(part)
    return made


def _empty_value(first: Answer, picture: Picture) -> Answer | None:
    """An option that got no value, as the variable after it is empty."""
    match = _EMPTY.search(first.event.text)
    if match is None:
        return None
    option = match["option"] or match["other"]
    job = picture.jobs[0]
    text = job.source.text
    used = re.search(rf"(?<![\w-]){re.escape(option)}[= ]+[\"']?\$\{{?(?P<name>\w+)\}}?", text)
    if used is None:
        return None
    name = used["name"]
    spans = [Span(*used.span())]
    made = [each for each in variables(job, name) if each.span.end <= len(text)]
    says = f"{option} gets no value: ${name} is empty"
    advice = f"stop where it is empty: ${{{name}:?not set}}, and look at what it is made of"
    if name.isdigit() or any(_POSITIONAL.search(_value(text, each)) for each in made):
        says += ", as the script was given no such argument"
        advice = (
            f"submit with it (sbatch job.sh VALUE), or give a default: {name}=${{1:-…}}"
            if not name.isdigit()
            else "submit with it: sbatch job.sh VALUE"
        )
    elif any("$(" in _value(text, each) or "`" in _value(text, each) for each in made):
        says += ", as the command that makes it printed nothing"
        if "SLURM_ARRAY_TASK_ID" in " ".join(_value(text, each) for each in made):
            says += " for this element of the array"
    elif not made:
        says += ", as nothing in the script sets it"
    return other_cause(first, "empty-value", "script", says, advice, (*spans, *(each.span for each in made[-1:])))


# Words by which a program objects to a value.
_OBJECTS = Regex(
    r"(?i)\b(?:too (?:small|large|many|few|low|high|long|short)|invalid|unknown|unrecogni[sz]ed|illegal|not (?:valid|allowed|supported|known|recogni[sz]ed|in\b|a\b)"
    r"|must|override|out of range|exceeds?|conflict|is (?:required|missing)|no such (?:key|option|setting))"
)
_WORD = re.compile(r"(?P<dashes>-{0,2})\+{0,2}(?P<name>[A-Za-z][\w.-]{3,60})(?P<value>=|$)")


def _word_objected(first: Answer, picture: Picture) -> Answer | None:
    """An option, or a setting `name=value`, of a command to which the message of its program objects by name."""
    event = first.event
    if first.where != "code" or first.confidence != "possible" or not _OBJECTS.search(event.text):
        return None
    job = picture.jobs[0]
    for command in own_commands(job):
        for field in command.argv[1:]:
            match = _WORD.match(text_of(field) or "")
            if match is None or not (match["dashes"] or match["value"]):
                continue
            if _names(event.text, match["name"]):
                says = f"the program objects to {match['dashes']}{match['name']}, which the script gives it"
                advice = "its message says what it wants; compare with its manual, in the release that the job uses"
                return other_cause(first, "word-objected", "script", says, advice, (field[0].span, command.span))
    return None


def _names(text: str, name: str) -> bool:
    """Whether a message mentions an option: by its dashes, in quotes, or by a name that no sentence has."""
    quoted = rf"['\"`‘“]-{{0,2}}{re.escape(name)}(?:=[^'\"`]{{0,80}})?['\"`’”]|(?<![\w-])--?{re.escape(name)}(?![\w-])"
    if re.search(quoted, text):
        return True
    unlike = re.search(r"[a-z][A-Z]|[_.\d]", name) is not None
    return unlike and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


_NOT_MADE = re.compile(r"mkdir: cannot create directory ['‘`]?(?P<path>/[^'’:]*)")


def _folder_elsewhere(first: Answer, picture: Picture) -> Answer | None:
    """`mkdir -p` fails at a folder high above the one that the script wants: this machine has no such place."""
    match = _NOT_MADE.search(first.event.text)
    if match is None:
        return None
    path = match["path"].rstrip("/")
    job = picture.jobs[0]
    text = job.source.text
    below = re.compile(rf"(?<![\w.$}}/-]){re.escape(path)}/[^\s'\";|&]+")
    makes = [each for each in own_commands(job) if each.name == "mkdir"]
    found = next((each for each in below.finditer(text) if not _in_comment(text, each.start())), None)
    if found is not None and makes:
        says = f"the script works below {path}, which is not there on the node, or where the user may not make folders"
        advice = "name a folder that this cluster has ($SCRATCH, $TMPDIR, /tmp), and stop where it cannot be made: mkdir -p … || exit 1"
        return other_cause(first, "folder-elsewhere", "script", says, advice, (Span(*found.span()), makes[0].span))
    return None


def _in_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _value(text: str, assignment: VariableAssignment) -> str:
    return text[assignment.span.start : assignment.span.end].partition("=")[2]


def _empty_piece(first: Answer, picture: Picture) -> Answer | None:
    """A path of a message that a word of the script comes to only if one of its variables is empty."""
    event = first.event
    if not _MISSING.search(event.text) or _LINKED.search(event.text):
        return None
    job = picture.jobs[0]
    for path in dict.fromkeys(_paths(event.text)):
        for word, values in variable_words(job, path):
            used = re.findall(r"\$\{?(\w+)\}?", word[0])
            name = next((each for each, value in zip(used, values, strict=False) if not value), None)
            if name is not None:
                return _empty_in_path(first, job, path, word, name)
    return None


def _empty_in_path(first: Answer, job: Job, path: str, word: re.Match[str], name: str) -> Answer:
    """The answer for a variable that is empty in a path."""
    made = [each for each in variables(job, name) if each.span.end <= len(job.source.text)]
    values = " ".join(_value(job.source.text, each) for each in made)
    says = f"${name} is empty where the script makes {path} of it"
    advice = f"stop where it is empty: ${{{name}:?not set}}, and look at what it is made of"
    if name.isdigit() or _POSITIONAL.search(values):
        says += ": it was given no such argument"
        advice = "submit with it: sbatch job.sh VALUE; ${1:?which input} stops where it is missing"
    elif "SLURM_ARRAY_TASK_ID" in values:
        says += ": the list has no entry, or an empty one, for this element of the array"
        advice = "let --array have as many elements as the list (`wc -l`), count from the same number (an array of bash from 0, sed from 1)"
    elif "$(" in values or "`" in values:
        says += ": the command that makes it printed nothing"
    elif not made:
        says += ": nothing in the script sets it"
    return other_cause(
        first, "empty-in-path", "script", says, advice, (*(each.span for each in made[-1:]), Span(*word.span()))
    )


# Warnings by which a program says that it goes on without a GPU.
_WITHOUT_GPU = ("cpu-instead-of-gpu", "cuda-library-not-loaded")


def _slow_without_gpu(first: Answer, picture: Picture) -> Answer | None:
    """The time was up for a program that said before that it goes on without the GPU, which the job has."""
    event = first.event
    if event.symptom.id != "time-limit" or not any(each in event.symptoms for each in _WITHOUT_GPU):
        return None
    job = picture.jobs[0]
    if asks_for_gpus(job):
        says = "the program went on without the GPU that the job has, as it said above, and was too slow for the time limit"
        advice = "load the CUDA (and cuDNN) that its build wants, or install a build for what the job loads, and let the job stop where it sees no GPU"
        places = (*bringing(job), *options(job, "time"))
        return other_cause(first, "slow-without-gpu", "script", says, advice, places)._replace(proven=True)
    return None


# A call that removes, renames or makes a file, as a traceback quotes it: of several that do it, one is first.
_TAKES = Regex(
    r"\b(?:os|shutil|pathlib|Path)\S*\.(?:remove|unlink|rename|renames|replace|rmdir|rmtree|move|makedirs|mkdir|symlink)\(|\.(?:unlink|rmdir|rename|symlink_to)\("
)
_GONE = Regex(r"FileNotFoundError|FileExistsError|No such file|File exists|Directory not empty")
# Messages of ranks that do not find each other, or are not those that a collective expects.
_OF_RANKS = frozenset(
    ["nccl-cuda-error", "nccl-system-error", "nccl-connection", "collective-timeout", "collective-mismatch", "rendezvous-timeout", "store-unreachable", "store-lost"]
)  # fmt: skip
_WORLD = re.compile(r"--?(?:[a-z]+[-_])*(?:world[-_]size|n(?:um)?[-_]?ranks)(?:=(?P<value>\d+))?")


def _several(job: Job) -> list[Step]:
    """Steps of several tasks that start a program itself, without a launcher or MPI."""
    launched = {each.step for each in job.launches if each.step is not None}
    return [
        step
        for step in job.steps
        if (step.tasks or 0) > 1
        and step not in launched
        and not any(has_trait(each.name, "mpi") for each in step.program)
    ]


def _copies_disturb(first: Answer, picture: Picture) -> Answer | None:
    """Each task removes, renames or makes the same file, and all but the first fail at it."""
    event = first.event
    if not _GONE.search(event.text) or not any(map(_TAKES.search, event.above[-3:])):
        return None
    job = picture.jobs[0]
    steps = _several(job)
    if steps and len(steps) == len(job.steps):
        says = f"srun starts the program {steps[0].tasks} times, and the copies take the same file from each other"
        advice = "start it once (srun --ntasks=1), give each task a folder of its own (by SLURM_PROCID), or let rank 0 do it alone"
        return other_cause(first, "copies-disturb", "script", says, advice, (*options(job, *TASKS), *spans_of(steps)))
    return None


def _other_world(first: Answer, picture: Picture) -> Answer | None:
    """The program is told another number of processes than srun starts."""
    if first.event.symptom.id not in _OF_RANKS or first.where == "cluster" and first.confidence == "certain":
        return None
    job = picture.jobs[0]
    for step in _several(job):
        for command in step.program:
            words = [text_of(each) or "" for each in command.argv]
            for number, word in enumerate(words):
                match = _WORLD.fullmatch(word)
                told = (match["value"] or "".join(words[number + 1 : number + 2])) if match else ""
                if told.isdecimal() and parse_integer(told) != step.tasks:
                    name = word.partition("=")[0]
                    says = f"{name} tells the program of {told} processes, and srun starts {step.tasks}"
                    advice = f"give {name} the number of tasks: $SLURM_NTASKS"
                    spans = (*options(job, *TASKS), step.span, command.argv[number][0].span)
                    return other_cause(first, "other-world", "script", says, advice, spans)
    return None


_SIGNS = (
    _slow_without_gpu, _option_from_variable, _empty_value, _empty_piece, _folder_elsewhere, _folder_changed, _copied_apart, _below_folder, _word_objected,
    _copies_disturb, _other_world,
)  # fmt: skip
