"""A command is not found: bash runs a string as a command.

`'''Usage: …'''` is a comment in Python; bash joins the quoted parts and runs all of it as one command, which it does
not find. The job goes on with status 127 in its log, or ends at once under `set -e`. `"$CMD"` with `CMD="python
train.py"` is the same mistake in work that was meant to be done: in quotes the value is one word, the name of a program
with a space in it, which srun, timeout and mpirun do not find either; nor do they find `srun "python train.py"`. And
`$(SLURM_ARRAY_TASK_ID)` is how make writes a variable: bash runs a command of that name, and the word is empty.

The same happens to a note that lost its `#`: `Set the input folder before you run this`.

A line with the sign of another language's comment (`// load data`, `% load data`) or of a prompt (`$ python train.py`)
is a command as well, which is called `//`, `%` or `$`: it fails, and what comes after a prompt is not run. `cd "cd
/data"` looks for a folder of that name.

Advice for prose that was never a command, if the job goes on: it costs a line in the log. A warning where only a
message or a new folder's name lacks the output of the command. Otherwise an error, as where such prose is the last
command: the job then always fails with status 127, or 126 ("File name too long"), where the text has a slash and
4,096 bytes, or 256 before the first slash.

## Fix

None for prose: write it as comment lines, or after `: <<'END'`. A `#` replaces the sign of a comment; a prompt is
removed, which is unsafe, as the command after it then runs. The quotes around a command are removed: unsafe, as
words in it that need their quotes lose them; an array `"${CMD[@]}"` keeps them. A command that needs a shell (`a && b`,
`A=1 b`) is passed to one: unsafe, as the variables in it may not be exported. `${NAME}` for `$(NAME)` is safe.

## References

bash(1), "Word Splitting"; seen with bash 5.2: "No such file or directory", exit status 127; "File name too long", 126.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assigned_names
from sbatchlint.analysis.outcome.state_readers import costs_work
from sbatchlint.analysis.script.pipeline_runs import ends_script, is_last_statement
from sbatchlint.bash.trace import Invocation, values_of
from sbatchlint.bash.values import Phase, Pieces, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, replace, shortened
from sbatchlint.job.launches import runs_own_program
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import find, misspelling_of
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB422", "text-run-as-command", severity="error", fix="sometimes", since="0.1.0",
    seen="a public script, run with bash 5.2",
)  # fmt: skip

_VARIABLE = Regex(r'"\$\{?(\w+)\}?"')
# A word that is quoted as a whole.
_QUOTED = Regex(r"""(?:"[^"\\`(]*"|'[^']*')(?=$|[\s;&|<>()])""")
# A command line, not a sentence or a path with a space in it: a program's name, and words.
_COMMAND_LINE = Regex(r"\s*(?:\w+=\S*\s+\S|[\w.+-]+\s|\S+\s+-)")
# What only a shell understands in a command line.
_NEEDS_SHELL = Regex(r"""[;&|<>()`\n"'$\\]|^\s*\w+=""")
# Arguments of an image's entry point, which may be a shell, and of profilers that may accept a whole command line.
_ACCEPT_COMMAND_LINES = frozenset({"docker", "podman", "nsys profile", "nsys launch", "rocprof"})
# Signs of comments in other languages, and of prompts, with which no command begins.
_SIGNS = frozenset({"//", "%", "%%", "--", "-", "$", "/*", "*", ";;", "==", "===", "----", "====", "<!--"})
# A sentence of words, and the words that hardly any program takes as arguments.
_SENTENCE = Regex(r"[A-Za-z]{2,}(?:[ \t]+(?:[A-Za-z]+[.,:!]?|[=/]|\d+))+")
_OF_ENGLISH = Regex(
    r"(?i)\b(?:the|an?|of|be|to|is|are|this|that|for|with|must|should|and|not|only|will|you|your|on|in)\b"
)
# A command of another language, with slots of its own: `"blastn -query {input} -out {output}"` of Snakemake.
_SLOTS = Regex(r"^[\"'][^$\n]*\s\{(?:input|output|threads|params|wildcards)[.\w\[\]]*\}")
# The lines of such a rule above the command.
_RULE = Regex(r"(?:^|\n)((?:rule|checkpoint)[ \t]+\w+:[ \t]*\n(?:[ \t]+\S[^\n]*\n)*)[ \t]*\Z")
_LONGEST_RULE = 2000
_FEWEST_WORDS = 4
# In bytes, of Linux; a text without a slash is looked for in PATH, and only not found.
_LONGEST_PATH, _LONGEST_NAME = 4096, 255
_PROMPT = Regex(r"\[?[\w.-]+@[\w.-]+(?:[: ]\S*)?\]?[$%#]|\([\w.-]+\)\$")
_CAPITALS = Regex(r"[A-Z_][A-Z0-9_]*")
# Variables that every shell has.
_USUAL = frozenset({"HOME", "USER", "PWD", "HOSTNAME", "PATH", "TMPDIR", "SCRATCH", "WORK"})
# What follows a text that stands for a message: `|| "no input" || exit 3`.
_ALTERNATIVE = Regex(r"\s*\|\|(?:[ \t]*((?:exit|return)(?:[ \t]+\d+)?)(?=[ \t]*(?:[;\n#]|\Z)))?")
_ERREXIT = Regex(r"(?m)^[ \t]*set[ \t]+(?:-\w+[ \t]+)*-(?:\w*e|o[ \t]+errexit)")


def check(job: Job) -> Iterator[Finding]:
    if not job.text.string.startswith("#!"):
        return  # not a shell script
    seen: set[Span] = set()
    for command in job.invocations:
        if command.span in seen:
            continue
        found = [*_variable_as_command(job, command), *_pasted(command)]
        if found:
            seen.add(command.span)
            yield from found
            continue
        first = known_prefix(command.argv[0]) if command.argv else ""
        if _is_sentence(job, command, first):
            seen.add(command.span)
            ends = ends_script(job, command)
            what = "and under `set -e` the job ends here" if ends else "which does not exist"
            message = f"bash tries to run `{first}` as a command, {what}; write `#` before the text"
            severity = "warning" if ends or _is_last(job, command) else "info"  # one line in the log
            yield Finding(command.span, message, "error" if ends and costs_work(job, command) else severity)
            continue
        if _is_sign(job, command, first):
            seen.add(command.span)
            yield _sign(job, command, first)
            continue
        if not (" " in first or "\n" in first) or command.kind in _ACCEPT_COMMAND_LINES:
            continue
        seen.add(command.span)
        written = job.source.slice(command.span)
        if not command.kind and len(command.argv) == 1 and (_is_prose(written) or _SLOTS.search(written)):
            what, severity = "which does not exist", "warning"
            if ends_script(job, command):
                what, severity = "and under `set -e` the job ends here", "error"
            elif _is_last(job, command):
                what, severity = f"and the job ends with status {_status(first)}", "error"
            elif command is not job.invocations[-1] and _is_prose(written) and not _ERREXIT.search(job.source.own.text):
                severity = "info"  # as its author wants, but for a line in the log
            if _is_prose(written) and severity == "error" and not costs_work(job, command):
                severity = "warning"
            message = f"bash tries to run this text as a command, {what}; write `#` before each of its lines"
            place = command.span if _is_prose(written) else _rule_around(job, command.span)
            if not written.strip("'\"\\ \n\t"):
                severity = "warning"
                message = "quotes do not make a comment: bash runs the lines around them, and the text between two as "
                message += "a command; write `#` before the lines"
            yield Finding(place, message, severity)
        elif _COMMAND_LINE.match(first) and _is_certain(command):
            yield from _quoted_command(job, command)


def _status(name: str) -> str:
    """The status that bash has for a command which does not exist, and what it says."""
    whole = name.encode("utf-8", "replace")
    first = whole.lstrip(b"/").partition(b"/")[0]  # the others are only looked at where this one is a folder
    if b"/" in whole and (len(whole) >= _LONGEST_PATH or len(first) > _LONGEST_NAME):
        return "126 (File name too long)"
    return "127 (not found)"


def _rule_around(job: Job, place: Span) -> Span:
    """A command of a rule of Snakemake with the lines of the rule above it; the command alone where there are none."""
    start = max(place.start - _LONGEST_RULE, 0)
    above = _RULE.search(job.source.text[start : place.start])
    return place if above is None else Span(start + above.start(1), place.end)


def _pasted(command: Invocation) -> Iterator[Finding]:
    """`cd "cd /data"`: a command that was pasted into the quotes of its own argument."""
    for field in command.argv[1:] if has_trait(command.name, "names") else ():
        name, _, rest = (text_of(field) or "").partition(" ")
        if name == command.name and rest[:1] in ("/", "~", "."):
            message = f'`{name}` fails, as its argument in quotes repeats the word `{name}`; write `{name} "{rest}"`'
            yield Finding(span_of(field), message)


def _is_sign(job: Job, command: Invocation, first: str) -> bool:
    """Whether a command is called by the sign of a comment or a prompt, as the script has it."""
    if command.kind or len(command.argv) < 2 or not (first in _SIGNS or _PROMPT.fullmatch(first)):
        return False
    return job.source.text.startswith(f"{first} ", command.span.start)


def _is_sentence(job: Job, command: Invocation, first: str) -> bool:
    """Whether a command is a note without its `#`: words of English that begin with a capital."""
    if command.kind or len(command.argv) < _FEWEST_WORDS or not first[:1].isupper() or command.redirects:
        return False
    if command.calls_function or command.piped_to or not first.isalpha():
        return False
    written = job.source.slice(command.span)
    return _SENTENCE.fullmatch(written) is not None and len(_OF_ENGLISH.findall(written)) > 1


def _sign(job: Job, command: Invocation, first: str) -> Finding:
    """The finding on a line that begins with the sign of a comment or a prompt."""
    rest = Span(command.span.start, command.span.start + len(first))
    if first == "$" and _is_work(command.words[1]) or first not in _SIGNS:
        fix = Fix("remove the prompt", [remove(Span(rest.start, rest.end + 1))], safe=False)
        message = f"bash runs `{first}` instead of `{command.words[1]}`; remove the prompt"
        return Finding(rest, message, fix=fix)
    ends = ends_script(job, command)
    what = "and under `set -e` the job ends here" if ends else "which does not exist"
    fix = Fix("write `#`", [replace(rest, "#")], safe=True)
    message = f"bash tries to run `{first}` as a command, {what}; a comment starts with `#`"
    severity = "warning" if ends or _is_last(job, command) else "info"  # one line in the log
    return Finding(rest, message, "error" if ends and costs_work(job, command) else severity, fix=fix)


def _is_work(word: str) -> bool:
    """Whether a word is the name of a program."""
    starts = has_trait(word, "slurm", "mpi", "container", "module", "installs", "conda", "torch")
    return starts or "/" in word or word.startswith("python")


def _is_certain(command: Invocation) -> bool:
    """Whether it certainly is the command: no unknown word of the srun before it may be that instead."""
    step = enclosing_step(command.context) if command.kind == "srun" else None
    return step is None or step.certain


def _quoted_command(job: Job, command: Invocation) -> Iterator[Finding]:
    """A command line that is one word because it, or the variable that holds it, is in quotes."""
    word, written = command.argv[0], job.source.slice(command.span)
    variable = next((each for each in _VARIABLE.finditer(written) if _variable_has_value(command, each[1], word)), None)
    if variable is not None:
        quoted, start, what = variable[0], command.span.start + variable.start(), f"the value of {variable[1]} is"
    else:
        inside = word[0].expansion is None and command.span.contains(span_of(word[:1]))
        literal = _QUOTED.match(job.source.text, word[0].start - 1) if inside else None
        if literal is None:
            if inside and command.kind == "srun" and job.source.text[word[0].start - 1] == '"' and not command.argv[1:]:
                advice = "write `bash -c` before the quotes"  # what the batch shell expands in them stays
                message = f"in quotes the command line is one word, and srun finds no such command; {advice}"
                yield Finding(span_of(word), message)
                return
            if written[:1] in ("'", '"') and not command.kind:  # `"$OPTIONS --more"`
                what = "in quotes this is one word, and no command has that name"
                advice = "assign it, or remove the quotes"
                severity = "warning" if command.context.conditional else "error"
                yield Finding(command.span, f"{what}; {advice}", severity)
            return
        if job.source.text[: literal.start()].rstrip().endswith("||"):
            after = _ALTERNATIVE.match(job.source.text, literal.end())  # which does not run after `echo`
            goes_on = after is not None
            advice = "write `echo` before it"
            if after is not None:
                ends = after[1] or "exit 1"
                both = f"`|| {ends}`" if after[1] else "what follows it"
                advice = f"replace the text and {both} with `{{ echo …; {ends}; }}`"
            message = f"bash tries to run this text as a command, which does not exist; {advice}"
            yield Finding(Span(literal.start(), literal.end()), message, "info" if goes_on else "warning")
            return
        quoted, start, what = literal[0], literal.start(), "the command line is"
        if job.source.text[:start].rstrip(" ").endswith(('",', "',")):
            command_line = shortened(literal[0][1:-1].partition(" ")[0], 25)
            happens = f'the space after `",` ends the value, so bash runs `{command_line} …` as a command'
            message = f'{happens}; replace `", "` with one space'
            yield Finding(Span(literal.start(), literal.end()), message)
            return
    place, instead, advice = Span(start, start + len(quoted)), quoted[1:-1], "remove the quotes"
    if _NEEDS_SHELL.search(shown_text(word)):
        instead = f"bash -c {quoted}" if command.kind else f"eval {quoted}"
        advice = f"write `{instead}`"
        if variable is None:
            advice = f"write `{instead.split(quoted)[0]}` before the quotes"
    elif variable is not None:
        advice = f"write `{instead}`, or make it an array"
    who = command.parent.name if command.kind and command.parent is not None else "bash"
    message = f"in quotes {what} one word, and {who} finds no such command; {advice}"
    starter = command.parent
    if starter is not None and runs_own_program(starter):
        message = f"in quotes, {what} a single argument, and the program that the image runs may not split it; {advice}"
        yield Finding(place, message, "info")  # it may be a shell, run its arguments, or be python
        return
    fix = Fix(advice.partition(",")[0], [replace(place, instead)], safe=False)
    yield Finding(place, message, "warning" if _is_part_of_name(job, command) else None, fix=fix)


def _is_part_of_name(job: Job, command: Invocation) -> bool:
    """Whether only a message, or a folder that is made, lacks the output of a command: `mkdir out/$("echo $ID")`."""
    if not command.context.captured or command.kind:
        return False
    users = (each for each in job.invocations[command.index + 1 :] if each.span.contains(command.span))
    user = next((each for each in users if not each.context.captured), None)
    return user is not None and (user.name == "mkdir" or has_trait(user.name, "tells"))


def _variable_has_value(command: Invocation, name: str, word: Pieces) -> bool:
    """Whether a variable has this value where a command is started."""
    starters = ((each, each.state.variables.get(name)) for each in (command, *command.ancestors()))
    values = (values_of(starter, each) for starter, each in starters if each is not None)
    shown = shown_text(word)
    return any([list(map(shown_text, fields or ())) for fields in each] == [[shown]] for each in values)


def _variable_as_command(job: Job, command: Invocation) -> Iterator[Finding]:
    """`$(NAME)`, or `NAME` in backquotes, where NAME is a variable."""
    name = text_of(command.argv[0]) if command.context.captured and len(command.argv) == 1 else None
    if name is None or command.kind or command.redirects or not _CAPITALS.fullmatch(name):
        return
    meant = misspelling_of(name)
    if name not in assigned_names(job) and name not in _USUAL and find(name) is None and meant is None:
        return
    file, span = job.source.text, command.span
    marks = file[max(span.start - 2, 0) : span.start], file[span.end : span.end + 1]
    opening = 2 if marks == ("$(", ")") else 1 if marks[0][-1:] == "`" == marks[1] else 0
    if job.source.slice(span) != name or not opening:
        return
    place = Span(span.start - opening, span.end + 1)
    instead = f"${{{name if meant is None or name in assigned_names(job) else meant.meant}}}"
    shown = f"`$({name})`" if opening == 2 else f"`{name}` in backquotes"
    message = f"{shown} tries to run a command of that name, which does not exist, so it is empty; write `{instead}`"
    fix = Fix(f"write {instead}", [replace(place, instead)], safe=meant is None)
    yield Finding(place, message, fix=fix)


def _is_prose(written: str) -> bool:
    """Whether it cannot be a program's name: a docstring, or several lines."""
    quoted = written[:1] in ("'", '"') and written[-1:] == written[:1]
    return quoted and (written[:3] in ("'''", '"""') or "\n" in written)


def _is_last(job: Job, command: Invocation) -> bool:
    """Whether the batch script certainly ends with the status of a command."""
    ends = job.phase is Phase.BATCH and command is job.invocations[-1] and not command.context.conditional
    return ends and is_last_statement(job, command)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «'''Usage:
        sbatch job.sh config.yaml
        '''»
        srun python train.py "$1"
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="python train.py --epochs 3"
        «"$CMD"»
        """,
        unsafe_fixed={'"$CMD"': "$CMD"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-1
        OUT=$HOME/runs
        mkdir -p «$(OUT)»/run_«$(SLURM_ARRAY_TASK_ID)»
        srun ./a.out «`OUT`»
        """,
        fixed={"$(OUT)/run_$(SLURM_ARRAY_TASK_ID)": "${OUT}/run_${SLURM_ARRAY_TASK_ID}", "`OUT`": "${OUT}"},
        title="variables as make writes them",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cmake --version || «"CMake is not found. Load it first."» || exit 3
        cmake --build build
        """,
        severity="info",
        title="a message without echo",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OPTIONS="--unique 254 --multi 100"
        while getopts cd option; do
            case $option in
                c) OPTIONS="$OPTIONS --chimeric 1" ;;
                d) «"$OPTIONS --passes 2"» ;;
            esac
        done
        ./align $OPTIONS
        """,
        severity="warning",
        title="an assignment without its name",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        : '
        Usage: sbatch job.sh config.yaml
        '
        CMD=(python train.py "a b")
        "${CMD[@]}"
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PYTHON="apptainer exec torch.sif python3"
        RUNNER=$(realpath on_each_node.sh)
        srun --unbuffered "$RUNNER" "$PYTHON" train.py
        srun --label "$(readlink -f on_each_node.sh)" "$PYTHON" train.py
        srun "$WHATEVER" "$PYTHON" train.py
        srun ./on_each_node.sh "$PYTHON" train.py
        """,
        title="an argument of the program that srun starts",
    ),
]
