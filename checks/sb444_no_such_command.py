"""A command is not found: the word that bash runs is a folder, a mistyped name, or not the name of a program at all.

bash takes the first word of a line for a command. `/scratch/run7/` alone is a folder, which it cannot run ("Is a
directory", 126): `cd` was forgotten. `mkdit out`, `uptime8` and `d $SLURM_SUBMIT_DIR` are found nowhere (127). So is a
line of a notebook, `!pip install numpy`, and a rule of `=====` without its `#`; and `${STEPS:=100}` alone sets STEPS,
then runs `100`. srun, mpirun, timeout, nohup, xargs and the like start the first word that is not an option, and know
no assignments: `srun OMP_NUM_THREADS=4 ./solver` looks for a program named `OMP_NUM_THREADS=4`. The job goes on without
what was meant: in the folder where it was, or without the folder that it needs. Under `set -e` it ends there, and as
the last command it makes every good job FAILED.

bash looks for a name without a slash in PATH only, so `mpicc -o hello hello.c` and then `hello`, or `run.sh` where that
file is beside the script, need `./hello` and `./run.sh`; srun and mpirun look in the folder of the job as well.

A line that begins with a file of data, or a pattern for several (`data/*.csv`), mostly belongs to the command above it,
whose line does not end in a backslash.

Nor is there a program for what an editor left in the file: `~`, which vi shows below the end of a file, and an
invisible character, also in what srun starts or between two words; for `echo"done"` without its space; and for
`lib64:/opt/lib`, the end of a search path that a line break has cut.

A word counts as mistyped only where it is one letter away from a usual command: swapped, doubled, left out or wrong.
A folder counts where the line is only its name, and the script uses the name as a folder elsewhere, or a slash ends it.

An error where the job then works elsewhere, or always ends with this failure before its work is done, or where mail or
another job reads that state; otherwise a warning. A `~`, an invisible character or the rest of a list alone, and a
mistyped command that only prints, are advice where the script goes on.

## Fix

`cd` before a folder, `./` before a file, the usual name, no `!`, `: ` before `${NAME:=value}`, `env` before an
assignment, `#` before a rule, the space after `echo`. Unsafe, as what was meant is a guess; a rule of signs and `~` do
nothing, so a `#` before them is safe, and so is the removal of an invisible character that is all there is.

## References

bash(1), "COMMAND EXECUTION", "EXIT STATUS", "Assign Default Values"; run with bash 5.2.
"""

from collections import Counter
from collections.abc import Iterator

from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.outcome.state_readers import costs_work
from sbatchlint.analysis.script.pipeline_runs import is_last_statement, runs_of
from sbatchlint.analysis.storage.written_paths import values_in
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, remove, replace
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import runs_own_program
from sbatchlint.job.once import once
from sbatchlint.job.paths import key
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait, is_known
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB444", "no-such-command", severity="error", fix="sometimes", since="0.1.0", seen="a review of public scripts",
)  # fmt: skip

# Usual commands, and those whose loss changes what the job does.
_MATTERS = frozenset(
    {"activate", "apptainer", "bash", "chmod", "conda", "export", "gunzip", "mkdir", "module", "mpiexec", "mpirun"}
    | {"python", "python3", "rsync", "sbatch", "scontrol", "singularity", "source", "srun", "unset", "unzip", "xargs"}
)
_USUAL = _MATTERS | frozenset(
    {"date", "deactivate", "echo", "exit", "hostname", "nvidia-smi", "printf", "printenv", "sleep", "touch", "uname"}
    | {"uptime", "wait", "which"}
)
# Other programs that are one letter away from a usual one.
_OTHER = frozenset({"conda2", "conda3", "mkdirp", "modules", "mpirun1", "print", "python2", "pythonw", "uptimed"})
# Shells with a builtin `print`.
_KORN = frozenset({"ksh", "ksh93", "mksh", "pdksh", "zsh"})
_WORD = Regex(r"[A-Za-z][A-Za-z-]*\d?")
_RULE = Regex(r"[=*~_#+-]{4,}|[=~_+-][=*~_#+.-]{2,}")
_NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
_WIDE = "\u00a0\u2003\u2009\u202f\u3000"
_QUOTE = Regex("[\"']")
_INVISIBLE = Regex(f"[{_NO_WIDTH}{_WIDE}]")
# A space of another kind after an option or before one.
_JOINING = Regex(f"^--?[A-Za-z][\\w-]*[{_WIDE}]|[^ ][{_WIDE}]--?[A-Za-z]")
# The name of a command, with the blanks of either kind before it.
_NAMED = Regex(f"[{_NO_WIDTH}{_WIDE} \\t]*[^ \\t\\n]*")
# The end of a search path, or a mount: no program has such a name.
_LIST = Regex(r"[\w.~/+-]*[\w/]:[/~]\S*|/[\w./+-]+:r[ow]|[\w.~/+-]*/[\w.~/+-]*:\$\S*|[\w.~/+:-]+:\$\{?\w*PATH\S*")
_DEFAULT = Regex(r"\"?\$\{\w+:?=\"?(\d[\d.]*)\"?\}\"?")
_NOTEBOOK = Regex(r"![A-Za-z][\w-]*")
_PLACE = Regex(r"(?:/|~|\.\.|\$)")
# The line above the rest of a search path.
_CUT = Regex(r"(?:^|\n)[ \t]*(?:export[ \t]+)?(\w*PATH)=[^\s\"'`\\]*\n[ \t]*\Z")
# Names shorter than this are mistyped only by two letters that changed places.
_SHORT = 5
_MOST_SHOWN = 50
_COMMAND = Regex(r"[A-Za-z./$~][\w./${}+-]*")
# The lines of a rule of Snakemake above its files.
_OF_RULE = Regex(r"(?:input|output|log|params|shell|script|conda|benchmark):")
_MOST_ABOVE = 1000  # characters above a line that are looked at
# Names of files that are no programs.
_DATA = Regex(
    r"(?i)[^\s{}]*\.(?:csv|tsv|txt|fastq|fq|fa|fasta|fna|faa|bam|sam|cram|vcf|bcf|bed|gff3?|gtf|nii|json|ya?ml|toml|h5|hdf5"
    r"|npy|npz|pkl|pth?|ckpt|safetensors|parquet|png|jpe?g|pdf|inp|pdb|gro|mdp|tpr|xyz|mdx?|xml|cfg|ini"
    r"|(?:csv|tsv|txt|fastq|fq|fa|fasta|fna|faa|vcf|bed|gff3?|gtf|nii|sam|tar|json)\.(?:gz|bz2|xz|zst)|gz|tgz|zip|bz2)"
)
_FILE = Regex(r"[A-Za-z_][\w.-]*")
_COMPILER = Regex(
    r"(?:mpi)?(?:g?cc|g\+\+|c\+\+|clang(?:\+\+)?|icp?x?c?|cxx|gfortran|f90|fort|ifort|ifx|nvcc|hipcc)(?:-\d+)?"
)
_ASSIGNED = Regex(r"[A-Za-z_]\w*=")
# Starters that set variables themselves, or whose words a shell reads.
_KNOW_ASSIGNMENTS = frozenset(
    {"env", "sudo", "doas", "ssh", "eval", "conda", "mamba", "micromamba", "parallel", "watch"}
)

# Commands to which the quote of their first argument may stick.
_GLUED = frozenset({"cd", "cp", "mv", "rm", "ls", "cat"}) | _USUAL

# Words with which `module` only prints something, or forgets what the job was submitted with.
_IDLE = frozenset({"list", "avail", "spider", "show", "whatis", "help", "purge"})
_NAME_OF_FILE = Regex(r"[\w.+-]+")


def check(job: Job) -> Iterator[Finding]:
    if not job.is_shell or not job.text.string.startswith("#!"):
        return
    yield from _left_over(job)
    for command in job.invocations:
        context, written = command.context, job.source.slice(command.span)
        if context.parent is not None and command.argv:
            yield from _assignment(job, command, context.parent)
            if context.parent.span.contains(command.name_span):
                yield from _invisible(job, command, job.source.slice(command.name_span))
        yield from _invisible_in_words(job, command)
        if context.parent is not None or context.tested or command.calls_function or not command.argv:
            continue
        if job.source.text[max(command.span.start - 8, 0) : command.span.start].rstrip(" \t").endswith("="):
            continue  # `OUT= /scratch/out`
        default = _DEFAULT.fullmatch(written)
        if default:
            fix = Fix("write `:` before it", [insert(command.span.start, ": ")], safe=False)
            message = (
                f"this also tries to run the value (`{default[1]}` by default) as a command, which does not exist; "
                f"write `: {written}`"
            )
            yield Finding(command.span, message, _severity(job, command), fix=fix)
        elif command.alternatives == 1:
            yield from _glued(job, command, written)
            yield from _folder(job, command, written)
            yield from _word(job, command, written)
            yield from _file(job, command, written)
            yield from _data(job, command, written)


def _is_left_over(written: str) -> bool:
    """Whether a line holds nothing but the tilde of an editor, or invisible characters."""
    return written == "~" or not written.strip(_NO_WIDTH + _WIDE + " \t")


def _left_over(job: Job) -> Iterator[Finding]:
    """The finding on all lines that hold nothing but the tilde of an editor, or invisible characters."""
    found: dict[Span, Invocation] = {}
    for command in job.invocations:
        if command.context.parent is None and len(command.argv) == 1 and not command.calls_function:
            if _is_left_over(job.source.slice(command.span)):
                found.setdefault(command.span, command)
    if not found:
        return
    *others, place = found
    severity = _severity(job, found[place])
    if severity == "warning" and not is_last_statement(job, found[place]):
        severity = "info"  # nothing but a line in the log
    tilde = job.source.slice(place) == "~"
    what = "the home folder" if tilde else f"the invisible character U+{ord(job.source.slice(place)[0]):04X}"
    edits = [insert(each.start, "# ") if job.source.slice(each) == "~" else remove(each) for each in found]
    fix = Fix("put `#` in its place" if tilde else "remove it", edits, safe=True)
    message = f"bash tries to run {what} as a command, which fails; remove {'this line' if tilde else 'it'}"
    yield Finding(place, message, severity, related=[(each, "the same") for each in others[:5]], fix=fix)


def _assignment(job: Job, command: Invocation, starter: Invocation) -> Iterator[Finding]:
    """The finding on an assignment that a starter takes for its program."""
    match = _ASSIGNED.match(known_prefix(command.argv[0]))
    if match is None or not command.kind or starter.text is not None or command.phase is Phase.SUBMIT:
        return
    name, before = starter.name or "", starter.argv[1 : len(starter.argv) - len(command.argv)]
    if name in _KNOW_ASSIGNMENTS or not starter.argv:
        return
    if any(text_of(each) is None for each in before) or starter.calls_function:
        return  # it may be `env`
    if before and (text_of(before[-1]) or "").startswith("-") and command.kind == "mpi":
        return  # perhaps the option's value
    word = command.name_span
    by_image = name in ("docker", "podman") or runs_own_program(starter)
    literal = starter.span.contains(word) and job.source.text.startswith(match[0], word.start)
    fix = Fix("write `env`", [insert(word.start, "env ")], safe=False) if literal else None
    yield Finding(
        Span(word.start, word.start + len(match[0]) - 1) if literal else word,
        f"{name} treats `{match[0]}…` as the program to start, which does not exist; write `env` before it",
        "warning" if by_image or command.alternatives > 1 else None,
        fix=fix,
    )


def _word(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a word that is not the name of a command."""
    word, span = text_of(command.argv[0]) or "", command.span
    if not word or not written.startswith(word):
        return
    place = Span(span.start, span.start + len(word))
    if _NOTEBOOK.fullmatch(word):
        fix = Fix("remove `!`", [remove(Span(span.start, span.start + 1))], safe=False)
        message = f"`{word}` is a command only in notebooks, not in bash; write `{word[1:]}`"
        plain = not (command.redirects or command.piped_to or command.context.captured)
        only_tells = plain and has_trait(word[1:], "tells", "looks", "installs") and word[1:] not in _MATTERS
        severity = _severity(job, command) if only_tells else None
        if severity == "warning" and has_trait(word[1:], "looks", "tells") and not is_last_statement(job, command):
            severity = "info"  # what it would have printed is all that is lost
        yield Finding(place, message, severity, fix=fix)
    elif _RULE.fullmatch(written) and not job.program.errors:
        fix = Fix("write `#`", [insert(span.start, "# ")], safe=True)
        message = "bash tries to run this text as a command, which does not exist; write `#` before it"
        yield Finding(span, message, _severity(job, command), fix=fix)
    elif written.startswith(("http://", "https://")) and len(command.argv) == 1:
        message = "bash tries to run the address as a command; write `#` or `wget` before it"
        yield Finding(span, message, _severity(job, command))
    else:
        meant = _meant(job, command, word, written)
        if meant is not None:
            fix = Fix(f"write {meant}", [replace(place, meant)], safe=False)
            matters = meant in _MATTERS and not _IDLE.intersection(command.words[1:3])
            matters = matters or meant == "cd" and not _is_entered_anyway(job, command)
            severity = "error" if matters else _severity(job, command)
            if severity == "warning" and meant not in _MATTERS and has_trait(meant, "tells", "prints"):
                plain = not (command.redirects or command.piped_to or command.context.captured)
                severity = "info" if plain and not is_last_statement(job, command) else severity
            if meant == "mkdir" and severity == "error" and not _names_again(job, command):
                severity = "warning"  # nothing in the script needs the folder
            yield Finding(place, f"there is no command named `{word}`; write `{meant}`", severity, fix=fix)


def _names_again(job: Job, command: Invocation) -> bool:
    """Whether the script names something that a command gets, again, or that is not known."""
    names = [text_of(field) for field in command.argv[1:]]
    last = {each.rstrip("/").rpartition("/")[2] for each in names if each is not None and each[:1] != "-"}
    return None in names or any(_words_written(job)[each] != 1 for each in last)


@once
def _words_written(job: Job) -> Counter[str]:
    return Counter(_NAME_OF_FILE.findall(job.source.text))


def _invisible(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a name of a command that holds an invisible character."""
    start = command.name_span.start if command.context.parent is not None else command.span.start
    invisible = _INVISIBLE.search(written.partition("\n")[0].split(" ")[0])
    if invisible is None or _is_left_over(written):
        return
    place = Span(start + invisible.start(), start + invisible.end())
    edits, named = [], _NAMED.match(written)
    for character in _INVISIBLE.finditer(written, 0, named.end() if named is not None else 0):
        span = Span(start + character.start(), start + character.end())
        edits.append(replace(span, " ") if character[0] in _WIDE else remove(span))
    message = (
        f"the invisible character U+{ord(invisible[0]):04X} is part of the command's name, which bash does not "
        "find; remove it"
    )
    bare = _INVISIBLE.sub("", command.words[0]) if command.words else ""
    # a job without what these do computes the same
    of_modules = bare in ("module", "ml")
    idle = _IDLE.intersection(command.words[1:3]) if of_modules else has_trait(bare, "tells", "prints")
    severity = "warning" if command.context.conditional or idle else None
    yield Finding(place, message, severity, fix=Fix("remove the character", edits, safe=False))


def _invisible_in_words(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on two words of a command that a space of another kind makes one: `train.py --lr`."""
    if has_trait(command.name, "text", "prints", "tells") or command.children or command.calls_function:
        return
    for at, field in enumerate(command.argv[1:], 1):
        word = text_of(field)
        found = None if word is None else _JOINING.search(word)
        if word is None or found is None or not command.span.contains(span_of(field)):
            continue
        if job.source.slice(span_of(field)) != word or job.source.text[span_of(field).start - 1] in "\"'":
            continue  # in quotes
        at_character = next(number for number in range(found.start(), found.end()) if word[number] in _WIDE)
        start = span_of(field).start + at_character
        place = Span(start, start + 1)
        is_script = at == 1 and is_python(command.argv[0])
        yield Finding(
            place,
            f"U+{ord(word[at_character]):04X} is no space for bash, so `{command.name}` gets one word here; write one",
            None if is_script and not command.context.conditional else "warning",
            fix=Fix("write a space", [replace(place, " ")], safe=False),
        )
        return


def _glued(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a word that holds what no name of a program does: a quote, an invisible character, a list."""
    start = command.span.start
    first = written.split(None, 1)[0] if written.strip() else written
    found = list(_invisible(job, command, written))
    if found:
        yield from found
        return
    name = known_prefix(command.argv[0])
    usual = _QUOTE.split(first, maxsplit=1)[0]
    if usual in _GLUED and name.startswith(usual) and first[len(usual) : len(usual) + 2] not in ("", "''", '""'):
        fix = Fix("add the space", [insert(start + len(usual), " ")], safe=False)
        severity = _severity(job, command) if has_trait(usual, "prints") else None
        message = (
            f"bash looks for a command whose name is `{usual}` with all of this text; "
            f"write `{usual} {first[len(usual)]}…`"
        )
        yield Finding(Span(start, start + len(usual)), message, severity, fix=fix)
    elif _LIST.fullmatch(first) and "://" not in first:
        line = job.source.line_of(start).start
        above = _CUT.search(job.source.text[max(line - 1000, 0) : line])
        if above is not None:
            happens = f"the line break cuts the value of {above[1]}, and bash runs the rest as a command"
            severity = None if above[1] == "PATH" else "warning"
            yield Finding(Span(start, start + len(first)), f"{happens}; join the lines", severity)
        elif "/" in first:
            message = "bash tries to run this list of paths as a command; remove it, or join the lines"
            severity = _severity(job, command)
            alone = all("/" in shown_text(field) for field in command.argv) and not command.piped_to
            if alone and severity == "warning" and not is_last_statement(job, command):
                severity = "info"  # no program is among the words: nothing but a line in the log
            yield Finding(Span(start, start + len(first)), message, severity)


def _data(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a file of data, or several of them, in the place of a command."""
    if not _DATA.fullmatch(shown_text(command.argv[0]).rpartition("/")[2]) or not written.strip():
        return
    first = written.split(None, 1)[0]
    start = command.span.start
    line = job.source.line_of(start).start
    if job.source.text[line:start].strip() or command.context.captured:
        return  # after `then`, `;` or `$(`: another fault
    above = job.source.text[max(line - _MOST_ABOVE, 0) : line].rstrip("\n").rpartition("\n")[2].strip()
    if _OF_RULE.fullmatch(above):
        return  # a rule of Snakemake, which text-run-as-command (SB422) reports as a whole
    word = above.split()[0] if above else ""
    before = job.invocations[command.index - 1] if command.index else command
    if before is not command and before.argv and job.source.line_of(before.span.end).end + 1 >= line:
        if _DATA.fullmatch(shown_text(before.argv[0]).rpartition("/")[2]):
            return  # one of a list, of which the first is reported
    joins = _COMMAND.fullmatch(word) and not above.endswith((":", "\\", ";"))
    advice = "end the line above it with `\\`" if joins else "join it to its command, or remove it"
    shown = first if len(first) < _MOST_SHOWN else "this file"
    message = f"bash tries to run `{shown}` as a command, which is not a program; {advice}"
    severity = "warning" if command.context.conditional else None
    continued = job.source.text[max(line - _MOST_ABOVE, 0) : line].rstrip().endswith("\\")
    if not joins and not continued and len(command.argv) == 1 and not command.redirects and not command.piped_to:
        severity = _severity(job, command)
        if severity == "warning" and not is_last_statement(job, command):
            severity = "info"  # no command lacks it: nothing but a line in the log
    yield Finding(Span(start, start + len(first)), message, severity)


def _is_entered_anyway(job: Job, command: Invocation) -> bool:
    """Whether a mistyped `cd` was to enter the folder in which Slurm starts the job, and nothing has left it."""
    field = command.argv[1] if len(command.argv) == 2 else ()
    submitted = [each.name for each in expansions(field)] == ["SLURM_SUBMIT_DIR"] and len(field) == 1
    if not submitted and text_of(field) != "." or job.request.has_option("chdir"):
        return False
    return not any(each.index < command.index for each in commands_named(job, "cd", "pushd"))


def _file(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a file of the folder of the job that is called by its bare name."""
    name = text_of(command.argv[0]) or ""
    if not _FILE.fullmatch(name) or name in ("test", "time") or not written.startswith(name) or is_known(name):
        return
    if any(each.name == "PATH" for each in job.assignments) or unclear_sources(job):
        return
    if name in command.state.files or _compiled(job).get(name, command.index) < command.index:
        how = "the script makes this file, but bash looks for it in PATH only"
        severity = None if not command.context.conditional else "warning"
    elif "." in name and job.beside.path(command, command.argv[0]) is not None:
        how, severity = "this file lies beside the script, but bash looks for it in PATH only", "warning"
    else:
        return
    place = Span(command.span.start, command.span.start + len(name))
    fix = Fix("write ./", [insert(place.start, "./")], safe=False)
    yield Finding(place, f"{how}; write `./{name}`", severity, fix=fix)


@once
def _compiled(job: Job) -> dict[str, int]:
    """The programs that the script compiles into the folder of the job, with the index of the first such command."""
    found: dict[str, int] = {}
    for command in job.invocations:
        if command.name and _COMPILER.fullmatch(command.name):
            made = [after for word, after in zip(command.words, command.words[1:]) if word == "-o"]
            for name in made or ["a.out"]:
                found.setdefault(name, command.index)
    return found


def _severity(job: Job, command: Invocation) -> str:
    """An error where the job ends with the failure of a command, and more than the state of the job is lost."""
    last = is_last_statement(job, command)
    ends = any(run.errexit and not run.tested for run in runs_of(job, command))
    fails = (last or ends) and job.phase is Phase.BATCH and not command.context.conditional
    return "error" if fails and costs_work(job, command) else "warning"


def _meant(job: Job, command: Invocation, word: str, written: str) -> str | None:
    """The usual command that a word was meant to be; None where it may be a program of its own."""
    if word == "d" and len(command.argv) == 2 and _PLACE.match(written[1:].lstrip()):
        return "cd"
    if word == "print":
        return None if job.interpreter_line[0] in _KORN else "echo"  # of other languages, and it ends the line
    if not _WORD.fullmatch(word) or word in _USUAL or word in _OTHER:
        return None
    if not word[1:].islower():
        return None
    if word[0].isupper():
        return word.lower() if word.lower() in _USUAL else None
    for usual in sorted(_USUAL):
        swapped = sorted(word) == sorted(usual)
        if not swapped and (word[:1] != usual[:1] or min(len(word) + 1, len(usual)) < _SHORT):
            continue
        if abs(len(usual) - len(word)) < 2 and edit_distance(word, usual) == 1:
            return None if is_known(word) or _is_of_module(job, word) else usual
    return None


def _is_of_module(job: Job, word: str) -> bool:
    """Whether a module that the script loads has the name of a word: it brings a program of that name."""
    loads = commands_named(job, "module", "ml")
    return any(text.partition("/")[0].lower() == word.lower() for each in loads for text in each.words[1:])


def _folder(job: Job, command: Invocation, written: str) -> Iterator[Finding]:
    """The finding on a line that is only the name of a folder."""
    piped = command.piped_to or command.piped_from or command.context.captured
    if len(command.argv) != 1 or command.redirects or piped:
        return
    field = command.argv[0]
    text = shown_text(field)
    if "/" not in text.strip("/") or any(each in text for each in "*?[:") or "\n" in written:
        return
    if text.endswith("/") or key(field) in _folders(job):
        fix = Fix("write `cd`", [insert(command.span.start, "cd ")], safe=False)
        shown = written if len(written) < _MOST_SHOWN else "…"
        message = f"bash cannot run a folder, so the script stays where it is; write `cd {shown}`"
        yield Finding(command.span, message, fix=fix)


@once
def _folders(job: Job) -> frozenset[str]:
    """The folders that a script enters or makes, and those in which it names something."""
    found: set[str] = set()
    for command in job.invocations:
        fields = [*command.argv[1:], *(each.target for each in command.redirects if each.target)]
        if command.argv and "/" in shown_text(command.argv[0]):
            fields.append(command.argv[0])
        for field in fields:
            for value in values_in(field):
                path = key(value)
                if command.name in ("cd", "pushd", "mkdir"):
                    found.add(path)
                while "/" in path[1:]:
                    path = path.rpartition("/")[0]
                    found.add(path)
    return frozenset(found)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «/scratch/ada/run7/»
        srun ./solver input.dat
        """,
        unsafe_fixed={"/scratch/ada/run7/": "cd /scratch/ada/run7/"},
        title="a folder",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «mkdit» results
        srun ./solver --out results
        """,
        unsafe_fixed={"mkdit": "mkdir"},
        title="a mistyped name",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «!pip» install numpy
        python train.py
        """,
        unsafe_fixed={"!pip": "pip"},
        severity="warning",
        title="a line of a notebook",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        «${STEPS:=100}»
        srun ./solver --steps $STEPS
        """,
        unsafe_fixed={"${STEPS:=100}": ": ${STEPS:=100}"},
        title="a default",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «=====================»
        srun ./solver
        """,
        fixed={"=====================": "# ====================="},
        severity="warning",
        title="a rule",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --ntasks-per-node=1 «OMP_NUM_THREADS»=4 ./solver input.dat
        """,
        unsafe_fixed={"OMP_NUM_THREADS=4": "env OMP_NUM_THREADS=4"},
        title="an assignment after srun",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun env OMP_NUM_THREADS=4 ./solver
        OMP_NUM_THREADS=4 srun ./solver --size=4 SIZE=4
        time OMP_NUM_THREADS=4 ./solver
        parallel OMP_NUM_THREADS=4 ./solver {} ::: 1 2
        mpirun -x OMP_NUM_THREADS=4 ./solver
        make CC=gcc && srun $WRAPPER OMP_NUM_THREADS=4 ./solver
        """,
        title="assignments that count",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./solver
        «~»
        """,
        fixed={"~": "# ~"},
        severity="warning",
        title="what an editor showed",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nbin/solver\n./run\n$SOLVER\nipython train.py\nusleep 100\n"),
    Good('#!/bin/bash\n#SBATCH --nodes=1\nd() { cd "$1"; }\nd $HOME/run\n: ${STEPS:=100}\n', title="a function"),
]
