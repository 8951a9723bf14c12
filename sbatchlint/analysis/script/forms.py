"""Forms: scripts that were published for others to fill in.

Whoever submits one is refused, or sees the first command fail, until the blanks are filled in; so what is wrong with it
is wrong for nobody yet.
"""

import re
from collections.abc import Iterable

from sbatchlint.analysis.directives.lost_options import are_only_told
from sbatchlint.analysis.directives.placeholders import (
    REDACTED,
    enclosing_placeholder,
    find_placeholder,
    may_open_placeholder,
)
from sbatchlint.analysis.directives.typos import raw_value, swallowed_option
from sbatchlint.analysis.script.unfilled import IN_SHELL, Unfilled, has_signs, unfilled_words
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.options import Option, find, table
from sbatchlint.source.regex import Regex, occurrences, occurs
from sbatchlint.source.text import Span, end_of_line

# A job runs all the same with placeholders in these, so they are left in scripts that are used.
_SURVIVING = frozenset(("mail-user", "job-name"))
# Options whose own name may stand for the value.
_NAMED = frozenset(("account", "partition", "qos", "reservation", "constraint", "mail-user"))
# Options that nobody writes without a value but to fill it in later.
_NEEDED = frozenset(("account", "cpus-per-task", "gpus-per-node", "mem", "nodes", "ntasks", "partition", "qos", "time"))
# Uses of a word that fail at once where it is a placeholder.
_FAILING = frozenset(("run", "source", "folder", "image", "input", "output"))
# What a form says of itself, in commands and in comments.
_TO_FILL_IN = Regex(
    r"(?i)[<\[](?:(?:your|my|set|insert|enter|put|add|fill in|name of|file|(?:(?:absolute|full)[ _-])?path)[ _-])"
    r"[^<>\[\]\n]*[>\]]"
)
# What is to be entered at an assignment: `USER_NAME="username"  ## <-- enter your name here`.
_TO_ENTER = Regex(
    r"(?mi)^[ \t]*(?:export[ \t]+)?\w+=[^\n#]{0,200}#+[ \t]*(?:<-+[ \t]*)?(?:enter|insert|put|fill in)\b[^\n]*"
)
# In place of a program and its arguments: `srun -n 4 ...`.
_DOTS = Regex(r"(?m)^[ \t]*(?:srun|mpirun|mpiexec|python3?|bash|sh)[ \t][^#\n]*(?<=[ \t])(?:\.{3}|…)[ \t]*$")
# In place of the options that a reader is to write: `#SBATCH ...`.
_LEFT_OUT = Regex(r"[ \t]*(?:\.{3,}|…|\[\.{3}\])[ \t]*")
# An option that lacks its value, and a comment instead: `--partition=  # yours`, `-p   # FILLME`.
_EMPTIED = Regex(r"[ \t](--[a-z][a-z-]*=|-[AaCcDdGJLMmNnopqtw])[ \t]*(?=#(?!SBATCH))")
# A placeholder right after the name of its option: `--account<name>`.
_JOINED = Regex(r"[ \t](--[a-z][a-z-]*)(<[A-Za-z][^<>\n]*>)")
# A remark beside an option that its value is to be written by others.
_REMARK = Regex(
    r"(?i)(?<![a-z])(?:(?:change|fill|replace|edit|set)[_-]?me|(?:change|fill|replace)[ _]this|fill[ _-]in"
    r"|to[ _]be[ _]filled)(?![a-z])"
)
# Names in place of numbers, in options that take nothing else: `-n self.threads`, `--mem=MEMORY`.
_NAME = Regex(r"[A-Za-z]+(?:[._][A-Za-z]+)+|[A-Z]{2,}")
_NUMERIC = frozenset({"node-count", "int", "int>=0", "int>=1", "mem"})
_FEW = 2
_SEVERAL = 3  # different placeholders in commands
# Addresses that stand for anybody's, beside other placeholders: `user@hpc.it`, `abc123@uni.edu`.
_ANYBODY = Regex(r"(?i)(?:user|me|you|name|my[-_.]?name|e?mail|abc\d*|xyz\d*|first[-_.]?last|login)\d*@[\w.-]+")
_ANGLED = Regex(r"<[A-Za-z][^<>\n]*>")
# Folders and files with names of what they are: `output_dir_name/`, `/train_file_path/*.tsv`.
_DESCRIBED = Regex(r"(?<![\w$.{/-])/?(?:[a-z]+_)*(?:dir|file|folder|path)_(?:name|path)/")
# A remark below a placeholder: `# note: members of the project use abc123`.
_NOTE = Regex(r"(?i)\bnote\b|\be\.g\.|\b(?:replace|change|fill in|insert|specify|edit|adapt)\b")
# Directives of other batch systems, which have the same slot.
_OF_OTHERS = r"(?m)^#(?:BSUB|PBS|COBALT|MSUB|OAR|PJM|\$)[^\n]*(?<![\w])%s(?!\w)"
_OFTEN = 3  # words with one placeholder
# A word in capitals that says of itself that it is to be replaced: `IMAGE=TODO_YOUR_IMAGE_DIR/x.sif`.
_MARKED = Regex(r"(?m)^[^#\n]*?[=/ \t\"'](?<![$\w])((?:TODO|FIXME|FILL|CHANGE_?ME|REPLACE|INSERT)_[A-Z_]{3,})(?![\w=])")
# What was taken out of a path before the script was published: `.../data`, `export LICENSE=...`.
_REMOVED = Regex(r"[\"']?(?:[^\s\"']*/)?\.{3}(?:/[^\s\"']*)?[\"']?")
_ASSIGNED = Regex(r"(?m)^[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*=([^\s#]*\.{3}[^\s#]*)[ \t]*$")
# Variables with nothing but dots.
_DOTTED = Regex(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=[\"']?(?:\.{3}|…)[\"']?[ \t]*(?:#[^\n]*)?$")
# What is to be written in place of a comment: `# ... your options here`, `# set flags such as NCCL_DEBUG here`.
_HERE = Regex(
    r"(?mi)^[ \t]*#(?!SBATCH|!)[^\n]{0,60}\b(?:your|set|add|put|insert|write|specify|enter)\b[^\n]{0,60}"
    r"\bhere[ \t.!:]*$"
)
# A variable that lacks its value, and a comment instead: `ROUND = # the current round`.
_EMPTIED_VARIABLE = Regex(
    r"(?m)^[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*[ \t]?=[ \t]*#[ \t]*[`<(]?"
    r"(?i:your|enter|set|path|name|the|fill|insert|put|add|e\.g)\b"
)
# A variable whose value is its own name: `DATA_PATH=<DATA_PATH>`, `ROOT="TODO:ROOT"`.
_NAMED_AFTER = Regex(
    r"(?m)^[ \t]*(?:(?:export|readonly|local|declare(?:[ \t]+-\w+)?)[ \t]+)?([A-Za-z_]\w*)=[\"']?"
    r"(?:<|\{\{?[ ]?|\[|TODO:[ ]?)\1"
    r"(?:>|[ ]?\}\}?|\]|)[\"']?[ \t]*(?:#[^\n]*)?$"
)
# A variable whose value is a slot alone, which the shell cannot read: `ENTITY=<your entity>`.
_SLOT_FOR_VALUE = Regex(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=<[^<>\n]+>[ \t]*(?:#[^\n]*)?$")
# Slots in braces for a reader, and not for a program: `{your-email}`, `{PROJECT DIR HERE}`.
_BRACED = Regex(r"(?<![$\\{])\{(?:(?i:your)[ _-][\w -]+|[A-Z][\w -]*[ _-]HERE)\}")

# Any sign that something is to be filled in.
_BLANK = Regex(
    r"(?<!<)<[A-Za-z?.…_][^<>\n]{0,60}>|\{[A-Za-z][^{}\n$]{0,60}\}|\.{3}|…|\?{3}|[Xx]{3}|path/to\b"
    r"|(?i:your|change_?me|replace_?me|fill_?me|fixme|todo|placeholder|_here\b|\b(?:specify|insert|enter)_)"
    r"|=[ \t]*(?:#|$)"
)


@once
def is_form(job: Job) -> bool:
    """Whether a script is for somebody else to fill in: it has a placeholder in its directives, and another one.

    One alone was forgotten in a script that is somebody's own, unless it stands for all options or for several
    numbers; one that is the whole value of two options was not. Nor were three in commands, one of which fails because
    of it, where a comment says what is to be written in its place, and two variables with dots for their values. An
    address or a name that was never filled in is left in scripts that are used, so beside them two are needed, or one
    with which a command fails. Two variables with values that no shell reads were never set, and a value that is the
    name of its variable was put there for the public.
    """
    own = job.source.own.text
    if len(occurrences(_EMPTIED_VARIABLE, own)) > _FEW or _has_left_out(job) or _names_in_place_of_numbers(job) >= _FEW:
        return True
    if sum(each.text == "<PATH>" for each in unfilled_words(job)) >= _SEVERAL:
        return True  # the folders were taken out before the script was published
    if _has_removed_paths(job) or _has_unfilled_commands(job) or occurs(_NAMED_AFTER, own):
        return True
    if any(len(set(occurrences(slot, own))) >= _FEW for slot in (_BRACED, _SLOT_FOR_VALUE)):
        return True
    values = _in_values(job)
    if not values:
        return False
    parts = {value: _ANGLED.findall(value) for value in values.values()}  # `<user>@<site>.edu` has two
    left = {each for value, found in parts.items() for each in (found if len(found) > 1 else (value,))}
    if any(map(REDACTED.search, left)):
        return False
    enough = 2 if _SURVIVING.issuperset(values) else 1
    alone = {each.name for each in job.directives.settings if each.text in left}  # `--account=<change>`
    if len(left) > enough or len(alone) > enough:
        return True
    if _has_slot_of_others(job, left):
        return True
    left.update(_remarks(job), occurrences(_TO_FILL_IN, own), _redirected(job))
    left.update(_DESCRIBED.findall(job.text.string), _MARKED.findall(job.text.string))
    left.update(_DOTS.findall(job.text.string) + _TO_ENTER.findall(job.text.string))
    if len(left) > enough:
        return True
    words = unfilled_words(job)
    texts = [each.text for each in words]
    often = any(texts.count(each) >= _OFTEN for each in set(texts))
    return any(map(_fails, words)) or often or len(left.union(texts)) > enough


def is_for_several_schedulers(job: Job) -> bool:
    """Whether a placeholder of the directives stands in those of another batch system, too.

    The program that fills it in knows for which of them it is.
    """
    return _has_slot_of_others(job, _in_values(job).values())


def _has_slot_of_others(job: Job, left: Iterable[str]) -> bool:
    own = job.source.own.text
    return any(each.isidentifier() and re.search(_OF_OTHERS % each, own) for each in left)


def rests_on_blank(job: Job, span: Span) -> bool:
    """Whether a finding in a form may be gone once it is filled in: there is something to fill in on its lines, or in
    the values of the command there, or the options are still to be written."""
    if _has_left_out(job) or span.end > len(job.source.own.text):
        return True
    return not _rows_of_blanks(job).isdisjoint((job.line(span.start), job.line(max(span.start, span.end - 1))))


@once
def _rows_of_blanks(job: Job) -> frozenset[int]:
    """The lines with something to fill in, and of the commands that it reaches by a variable."""
    own = job.source.own.text
    rows = {job.line(match.start()) for match in _BLANK.finditer(own)}
    values = _in_values(job)
    for setting in job.directives.settings:
        if setting.name in values or _NAME.fullmatch(setting.text or "") or not setting.text:
            lines = (setting.line, setting.value_line)
            rows.update(job.line(job.directives.text.span(each.start, each.end).start) for each in lines if each)
    rows.update(job.line(each.span.start) for each in job.directives.problems if each.kind == "missing-value")
    places = {each.span for each in unfilled_words(job)}
    places.update(each.span for each in job.invocations if any(map(has_signs, each.words)))
    places.update(each.name_span for each in job.invocations if any(map(_BLANK.search, each.words)))
    for place in places:
        rows.update((job.line(place.start), job.line(place.end)))
    return frozenset(rows)


def _has_unfilled_commands(job: Job) -> bool:
    """Whether the commands alone show that a script was published: several are to be filled in, and one fails so."""
    own = job.source.own.text
    if "..." in own and len(set(occurrences(_DOTTED, own))) >= _FEW:
        return True
    if not occurs(_HERE, own):
        return False
    words, redirected = unfilled_words(job), _redirected(job)
    fails = bool(redirected) or any(map(_fails, words))
    return fails and len({*redirected, *(each.text for each in words)}) >= _SEVERAL


def _fails(word: Unfilled) -> bool:
    """Whether the job certainly meets a placeholder with which a command fails."""
    return word.certain and word.use in _FAILING


def _in_values(job: Job) -> dict[str, str]:
    """The placeholders in the values of the directives, by the option."""
    values: dict[str, str] = {}
    string = job.directives.text.string
    for setting in job.directives.settings:
        raw = raw_value(job.directives, setting)
        if setting.name == raw.lower() and setting.name in _NAMED:
            values[setting.name] = f"{setting.name} by its name"  # `--account=account`
            continue
        found = find_placeholder(setting.name, raw)
        if found is not None and found.kind in ("blank", "path"):
            values[setting.name] = found.text
        elif found is None and may_open_placeholder(setting.name, raw):
            values[setting.name] = _opened(job, setting) or f"{setting.name} {raw}"
        elif setting.value == "" and string[setting.end : setting.line.end].lstrip()[:1] == "<":
            values[setting.name] = string[setting.end : setting.line.end].strip()  # `--mail-user= <address>`
    address = job.directives.last("mail-user", 0)
    if values and address is not None and _ANYBODY.fullmatch(address.text or ""):
        values.setdefault("mail-user", address.text or "")
    for line in job.directives.lines:
        emptied = _EMPTIED.search(string, line.words_start, line.end) if line.comment is not None else None
        if emptied is not None:
            values[emptied[1]] = string[emptied.start() : line.end]
        joined = _JOINED.search(string, line.words_start, line.end)
        if joined is not None:
            values[joined[1]] = joined[2]
    for setting in job.directives.settings:
        if setting.text == "" and setting.name in _NEEDED and string[setting.end : setting.end + 1] != "#":
            values.setdefault(setting.name, f"{setting.name} without a value")
    values.update((each, f"{each} without a value") for each in _valueless(job) if not are_only_told((each,)))
    return values


def _valueless(job: Job) -> set[str]:
    """The options that end their line and lack their value, so that sbatch takes the next word of the block for it."""
    found = {each.candidates[0] for each in job.directives.problems if each.kind == "missing-value"}
    for setting in job.directives.settings:
        if not swallowed_option(setting):
            continue
        found.add(setting.name)
        line, word = setting.value_line, setting.text or ""
        option = _option(job, word) if line is not None and len(line.tokens) == 1 else None
        if option is not None and option.argument(job.versions.last) == "required":
            found.add(option.name)  # `-A` above `-p`: neither has one
    return found


def _option(job: Job, word: str) -> Option | None:
    return find(word[2:]) if word[:2] == "--" else table("sbatch", job.versions.last).letters.get(word[1:])


def _opened(job: Job, setting: Setting) -> str | None:
    """The placeholder with blanks of which a value is the first word: `<project id>`; None without an end."""
    string, token, line = job.directives.text.string, setting.value_token, setting.value_line
    if token is None or line is None:
        return None
    found = enclosing_placeholder(string, token.part(setting.value_start)[1] - 1, line.words_start, line.end)
    return None if found is None else string[found[0] : found[1]]


def _remarks(job: Job) -> list[str]:
    """The comments beside options, and the examples of a value, that tell a reader to write another one."""
    string = job.directives.text.string
    rests = [string[each.words_start : each.end] for each in job.directives.lines]
    found = [each for each in rests if "(e.g." in each or "#" in each and _REMARK.search(each.partition("#")[2])]
    for line in job.directives.lines:
        if _ANGLED.search(string, line.words_start, line.end) is None or string[line.end + 1 : line.end + 2] != "#":
            continue
        following = string[line.end + 1 : end_of_line(string, line.end + 1)]
        if following[:7] != "#SBATCH" and _NOTE.search(following):
            found.append(following)
    return found


def _redirected(job: Job) -> list[str]:
    """The placeholders that the shell reads as redirections, of the lines that are not comments."""
    text = job.source.own.text
    return [
        match.group()
        for match in IN_SHELL.finditer(text)
        if text[job.source.own.line_of(match.start()).start : match.start()].lstrip()[:1] != "#"
    ]


def _has_left_out(job: Job) -> bool:
    """Whether dots stand for the options: `#SBATCH ...`."""
    string = job.directives.text.string
    return any(_LEFT_OUT.fullmatch(string, each.words_start, each.end) for each in job.directives.lines)


def _names_in_place_of_numbers(job: Job) -> int:
    """How many options that take a number have a name instead."""
    return sum(
        each.option is not None and each.option.kind in _NUMERIC and _NAME.fullmatch(each.text or "") is not None
        for each in job.directives.settings
    )


def _has_removed_paths(job: Job) -> bool:
    """Whether dots stand for parts of several values, one of them in a directive."""
    if "..." not in job.source.own.text:
        return False
    found = sum(_REMOVED.fullmatch(raw_value(job.directives, each)) is not None for each in job.directives.settings)
    assigned = sum(_REMOVED.fullmatch(each) is not None for each in _ASSIGNED.findall(job.text.string))
    return found > 0 and found + assigned >= _FEW
