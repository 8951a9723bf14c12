"""How a script is submitted, according to its comments and the files beside it."""

import os.path
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

_ARRAY = r"(?:--array\b|\s-a[ =\d])"
_GPUS = r"(?:--gpus|--gres|-G\s*\d)"
# An sbatch up to an option, which may be on a continuation line.
_SBATCH = r"\bsbatch\b(?:[^\n]|\\\n)*?"
# What a comment says of the script or the command line that gives this one its values.
_BY_DRIVER = Regex(
    r"(?i)\b(?:set|given|passed|supplied|provided|chosen)\b(?:[ \t]+\w+){0,2}[ \t]+(?:by|in|from|on)\b[^\n]{0,30}"
    r"\b(?:drivers?|wrapper|launcher|submit\w*|sbatch|command[ -]line|caller)\b"
)
_ARRAY_IN_COMMENT = Regex(rf"(?m)^[ \t]*#(?:(?!SBATCH)[^\n])*{_SBATCH}{_ARRAY}")
_ARRAY_IN_LINE = Regex(_ARRAY)
_NAMED_ARRAY = Regex(r"(?i)(?<![a-z])(?:job)?array(?:job)?s?(?![a-z])")
# A comment that says that the job is an array, without a line to submit it.
_SAYS_ARRAY = Regex(
    r"(?im)^[ \t]*#(?!SBATCH|[ \t#]*SBATCH)(?:(?!SBATCH)[^\n])*(?<!-)"
    r"(?:--array\b|\b(?:job|batch|slurm)[ -]arrays?\b|\barray[ -](?:jobs?|tasks?|script)\b)"
)
# A comment that says that the command line makes it one, or the script that submits it.
_ARRAY_BY_COMMAND_LINE = Regex(
    r"(?im)^[ \t]*#(?!SBATCH|[ \t#]*SBATCH)(?:(?!--array)[^\n]){0,200}"
    r"(?:\bcommand[ -]line\b[^\n]{0,80}--array\b|--array\b[^\n]{0,80}\bcommand[ -]line\b"
    r"|--array\b[^\n]{0,40}\b(?:set|passed|given|added|supplied|provided)\b[^\n]{0,40}\b(?:by|from|in)[ \t]+\S*submit)"
)
# A script whose name says that it submits others, in a comment.
_SUBMITTER = Regex(r"(?m)^[ \t]*#(?!SBATCH)[^\n]{0,200}?(?<![\w-])([\w-]{0,40}submit[\w-]{0,40}\.(?:sh|bash|py))\b")
# The pattern begins with the word, so that the rest of the file is skipped quickly.
_GPUS_IN_LINE = Regex(rf"sbatch\b(?<=\bsbatch).*{_GPUS}")
# The variables of array elements, in any language.
_ELEMENT = Regex(r"SLURM_ARRAY_")
# How many files of the script's folder, and how much of each, are searched for the command that submits it.
_MOST_FILES, _MOST_BYTES = 20, 1 << 16
_README = Regex(r"(?i)readme\b")
_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch", ".py", ".md", ".rst", ".txt", "Makefile")


# Options that say how large a job is.
_SIZES = (
    *("nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "nodelist"),
    *("cpus-per-task", "cpus-per-gpu", "mincpus", "exclusive", "mem", "mem-per-cpu", "mem-per-gpu", "tres-per-task"),
    *GPU_OPTIONS,
)


# An option of a size on a line that submits a script, by its letter or its long name, and its value.
_SIZE_SHOWN = Regex(
    r"\s(?:-(?P<letter>[NncG])[ \t]*=?|--(?P<name>nodes|ntasks|ntasks-per-node|cpus-per-task|gpus|gpus-per-node|gres"
    r"|exclusive|mem|mem-per-cpu)(?![\w-])[ \t]*=?[ \t]*)(?P<value>[^\s\"'`)]*)"
)
_LETTERS = {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus"}
_SUBMITTED_FILE = Regex(r"[\w.-]+\.(?:sh|bash|sbatch|slurm|job|sub)\b")


@once
def is_sized_elsewhere(job: Job) -> bool:
    """Whether the command line of sbatch says how large a job is: no directive does, or a comment shows other sizes."""
    known = job.site.submit_options is not None or job.submission is not None and job.submission.command is not None
    if known or job.request.heterogeneous:
        return False
    return not job.request.has_any_option(_SIZES) or _is_shown_in_other_size(job)


def _is_shown_in_other_size(job: Job) -> bool:
    """Whether a comment submits the script with a size that is not that of its directives: `# sbatch -N 8 job.sh`."""
    own, name = job.source.own.text, os.path.basename(job.source.path)
    own_name = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])|\$0")
    for line in own.split("\n") if "sbatch " in own else ():
        before, found, options = line.partition("sbatch ")
        if not found or before.lstrip()[:1] != "#":
            continue
        if _SUBMITTED_FILE.search(options) is None if not name else own_name.search(options) is None:
            continue  # another script, or a directive without its mark: `#sbatch -N 8`
        for shown in _SIZE_SHOWN.finditer(f" {options}"):
            option = shown["name"] or _LETTERS[shown["letter"]]
            if job.request.value(option) != shown["value"]:
                return True
    return False


def is_shown_alone(job: Job) -> bool:
    """Whether a comment shows how the script itself is submitted, and names no array."""
    name = os.path.basename(job.source.path)
    shown = re.findall(r"(?m)^[ \t]*#(?!SBATCH)[^\n]*\bsbatch[ \t]([^\n]*)", job.source.own.text) if name else []
    lines = [line for line in shown if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line)]
    return bool(lines) and not any(_ARRAY_IN_LINE.search(f" {line}") for line in shown)


def may_be_array(job: Job) -> bool:
    """Whether a job without `--array` may be an array: it uses SLURM_ARRAY_ variables, or is submitted as one."""
    return _ELEMENT.search(job.source.own.text) is not None or shows_array(job)


def shows_array(job: Job) -> bool:
    """Whether its own name says that it is one, or a comment or a file beside it submits it as an array."""
    own = job.source.own.text
    if _NAMED_ARRAY.search(os.path.basename(job.source.path)):
        return True
    return "sbatch" in own and _ARRAY_IN_COMMENT.search(own) is not None or _is_shown_beside(job, _ARRAY)


def is_shown_with(job: Job, options: Iterable[str]) -> bool:
    """Whether a comment shows an sbatch with one of these options, by their long names, is one of them alone, or says
    that one of them is set elsewhere, or stands in a list of what a driver passes on.

    `# --cpus-per-task` is in a list of what the command line gives; `# SBATCH --cpus-per-task=4` was turned off.
    """
    own, names = job.source.own.text, [*options]
    written = "|".join(map(re.escape, names))
    letters = "".join(letter for letter, name in _LETTERS.items() if name in names)
    alone = re.compile(rf"#+[ \t]*--(?:{written})(?:=?[ \t]*[<\[({{][^\n]*|[ \t]*(?:[:(,].*)?)")
    given = r"\b(?:set|given|passed|supplied|provided|chosen)[ \t]+(?:by|in)\b"
    told = re.compile(rf"--(?:{written})(?![\w-])[^\n]{{0,80}}{given}")
    named = re.compile(rf"(?<![\w-])--(?:{written})(?![\w-])")
    shown = rf"\s--(?:{written})[=\s]" + (rf"|\s-[{letters}][ =]?[\d$<]" if letters else "")
    below = False  # a line that says that a driver gives what is listed
    for line in own.split("\n") if "#" in own else ():
        text = line.strip()
        if text[:1] != "#" or text[:7] == "#SBATCH":
            below = False
        if text[:1] != "#":
            continue
        below = below or _BY_DRIVER.search(text) is not None
        if below and named.search(text) is not None:
            return True
        if re.search(shown, f" {text.partition('sbatch ')[2]}") or alone.fullmatch(text):
            return True
        if text[:7] != "#SBATCH" and told.search(text) is not None:
            return True
    return False


@once
def names_submitter(job: Job) -> bool:
    """Whether a comment names another script by which this one is submitted, with options that are not known."""
    own, name = job.source.own.text, os.path.basename(job.source.path)
    return "submit" in own and any(each != name for each in _SUBMITTER.findall(own))


@once
def is_array_by_command_line(job: Job) -> bool:
    """Whether a comment says that the command line of sbatch, or who writes it, makes the job an array."""
    own = job.source.own.text
    return "--array" in own and _ARRAY_BY_COMMAND_LINE.search(own) is not None


@once
def is_said_to_be_array(job: Job) -> bool:
    """Whether a comment says that the job is an array, or submits it as one, as a file beside the script may."""
    return _SAYS_ARRAY.search(job.source.own.text) is not None or shows_array(job)


def is_submitted_with_gpus(job: Job) -> bool:
    """Whether a comment shows an sbatch whose options request GPUs; a partition gives none by itself."""
    return _shows_gpus(job.source.own.text)


def is_submitted_with_gpus_elsewhere(job: Job) -> bool:
    """Whether a file beside the script submits it with options that request GPUs."""
    return _is_shown_beside(job, _GPUS)


@lru_cache(maxsize=1)  # for all jobs in a file
def _shows_gpus(text: str) -> bool:
    starts = [match.start() for match in _GPUS_IN_LINE.finditer(text)]
    return any(text[text.rfind("\n", 0, start) + 1 : start].lstrip().startswith("#") for start in starts)


@once
def _is_shown_beside(job: Job, option: str) -> bool:
    """Whether a file in the script's folder submits the script with an option that matches the pattern `option`."""
    return _is_submitted_beside(job, rf"{_SBATCH}{option}(?:[^\n]|\\\n)*%s")


@once
def is_submitted_from_elsewhere(job: Job) -> bool:
    """Whether a comment, or a file in the script's folder, submits it from another folder: `sbatch jobs/run.sh`.

    Then the folder of the submission is not that of the script.
    """
    name = os.path.basename(job.source.path)
    from_elsewhere = rf"{_SBATCH}[\w$}})]/%s"
    own = job.source.own.text
    shown = "sbatch" in own and re.search(from_elsewhere % re.escape(name), own) is not None
    return shown or _is_submitted_beside(job, from_elsewhere) or _are_others_submitted_from_above(job)


def _are_others_submitted_from_above(job: Job) -> bool:
    """Whether a file in the script's folder, or a README, submits another script of it by the folder's name."""
    if not lookups.exists(job.source.path):
        return False
    folder = os.path.dirname(os.path.abspath(job.source.path))
    by_name = rf"{_SBATCH}(?<![\w.-]){re.escape(os.path.basename(folder))}/[\w-]+\.(?:sh|bash|sbatch|slurm|job)\b"
    paths = (os.path.join(folder, each) for each in islice(_searched(lookups.names_in(folder)), _MOST_FILES))
    return _is_in_any(chain(paths, _readmes(folder, job.hooks.files.project)), by_name, b"sbatch")


@once
def is_run_by_hand(job: Job) -> bool:
    """Whether a comment, or a README, has the script run by a shell, outside a job, and none shows it submitted."""
    name, own = os.path.basename(job.source.path), job.source.own.text
    if not name or job.is_embedded:
        return False
    written = re.escape(name)
    by_shell = rf"(?<![\w/])(?:(?:ba)?sh[ \t]+(?:\./)?|\./){written}(?![\w.-])"
    if not re.search(rf"(?m)^[ \t]*#(?!SBATCH|!)[^\n]*{by_shell}", own) and not _is_in_readme(job, by_shell):
        return False
    submitted = rf"\bsbatch\b[^\n]*[\s/]{written}(?![\w.-])"
    return re.search(submitted, own) is None and not _is_submitted_beside(job, rf"{_SBATCH}%s")


def _is_in_readme(job: Job, pattern: str) -> bool:
    """Whether a README in the script's folder, or of its project, matches a pattern."""
    if not lookups.exists(job.source.path):
        return False
    folder = os.path.dirname(os.path.abspath(job.source.path))
    beside = (os.path.join(folder, each) for each in lookups.names_in(folder) if _README.match(each))
    return _is_in_any(chain(beside, _readmes(folder, job.hooks.files.project)), pattern)


@once
def names_dependent(job: Job) -> bool:
    """Whether a file in the script's folder keeps the ID of the job, and submits another that starts if it succeeds."""
    return _is_submitted_beside(job, rf"(?s)(?:\$\(|`|=)[^\n]*{_SBATCH}%s.*\bafter(?:ok|notok|corr)\b")


@once
def is_filled_in_beside(job: Job, word: str) -> bool:
    """Whether a file beside the script, which names and submits it, puts something in place of a word: a template."""
    escaped = re.escape(word).replace("%", "%%")
    return _is_submitted_beside(job, rf"(?:\bsed\b|\breplace\w*\()[^\n]*{escaped}(?:%s)?")


@once
def is_completed_beside(job: Job) -> bool:
    """Whether a file beside the script writes a first line, appends the script to it, and submits what it has made."""
    return _is_submitted_beside(job, r"(?s)\b(?:echo|printf)\b[^\n]*#!/.*\bcat\b[^\n]*%s")


@once
def takes_quoted_arguments(job: Job) -> bool:
    """Whether a comment, or a file beside the script, calls it with an argument that quotes keep in one piece."""
    name, own = os.path.basename(job.source.path), job.source.own.text
    called = rf"(?m)^[ \t]*#[^\n]*(?:\bsbatch\b[^\n]*[\s/]|\./){re.escape(name)}[ \t]+[^\n]*[\"'\\]"
    shown = name in own and re.search(called, own) is not None
    return shown or _is_submitted_beside(job, rf"{_SBATCH}%s[ \t]+[^\n]*([\"'])[^\"'\n]*[ *?][^\"'\n]*\1")


def _is_submitted_beside(job: Job, pattern: str) -> bool:
    """Whether a file beside the script matches a pattern, in which `%s` stands for the script's name.

    These are the files of its folder, and the READMEs of its project's folders above it and of those beside it.
    """
    if not lookups.exists(job.source.path):
        return False
    folder, name = os.path.split(os.path.abspath(job.source.path))
    sought = name.encode("utf-8", "surrogateescape")
    others = (each for each in _searched(lookups.names_in(folder)) if each != name)
    paths = (os.path.join(folder, each) for each in islice(others, _MOST_FILES))
    every = chain(paths, _readmes(folder, job.hooks.files.project))
    return _is_in_any(every, pattern % re.escape(name), b"sbatch", sought)


def _is_in_any(paths: Iterable[str], pattern: str, *needed: bytes) -> bool:
    """Whether one of the files matches a pattern; those without all that is `needed` are not searched."""
    for path in paths:
        data = lookups.read(path, _MOST_BYTES)
        if data is not None and all(each in data for each in needed):
            if re.search(pattern, data.decode("utf-8", "replace")) is not None:
                return True
    return False


def _readmes(folder: str, project: str | None) -> Iterator[str]:
    """The READMEs in the folders of a project above one of them, and in the folders beside it."""
    above = folder
    while project is not None and above != project and above.startswith(project):
        beside, above = above == folder, os.path.dirname(above)
        names = lookups.names_in(above)
        yield from (os.path.join(above, each) for each in names if _README.match(each))
        folders = (os.path.join(above, each) for each in names if "." not in each) if beside else ()
        for other in islice((each for each in folders if each != folder), _MOST_FILES):
            if lookups.is_folder(other):
                yield from (os.path.join(other, each) for each in lookups.names_in(other) if _README.match(each))


@lru_cache(maxsize=16)  # the scripts of a folder look at the same files
def _searched(names: Sequence[str]) -> list[str]:
    """The files of a folder that may submit the script: one more than are searched, as the script may be among them."""
    return list(islice((each for each in names if each.endswith(_ENDINGS)), _MOST_FILES + 1))
