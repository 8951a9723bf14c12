"""Scripts that nobody runs as they are: templates, test fixtures, examples.

What decides is the script's path within its project, not how the path was typed, and what the script says of itself.
"""

import os.path
from collections.abc import Sequence

from sbatchlint.analysis.script.forms import is_form, rests_on_blank
from sbatchlint.bash.values import may_have_slots
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.lines import TEMPLATED
from sbatchlint.slurm.model import Setting
from sbatchlint.source.discover import is_batch_name
from sbatchlint.source.regex import Regex, occurrences, occurs
from sbatchlint.source.templates import HASHES, PLAIN_SLOTS
from sbatchlint.source.text import Span, end_of_line

# Words of a path that say what the script is.
FIXTURE = frozenset(("fixture", "fixtures", "testdata", "mock", "mocks"))
TEMPLATE = frozenset(("template", "templates", "tmpl", "tpl", "skeleton", "skeletons", "boilerplate"))
_EXAMPLE = (
    "example examples sample samples tutorial tutorials doc docs documentation demo demos tests readme md mdx rst txt"
    " workshop workshops course courses exercise exercises"
)
EXAMPLE = frozenset(_EXAMPLE.split())
_WORDS = Regex(r"[^A-Za-z]+")
_TEST_DATA = Regex(r"(?i)test_?-?data")
# `job.in`, `job.IN_site`: templates of autoconf, CMake and older engines.
_ENDING = Regex(r"\.(?:in|IN)(?:_\w+)?\Z")
# Slots that a program fills in, in an option block.
_SLOT = Regex(
    r"(?<![\w\\@])@\[?[A-Za-z_]\w*\]|@[A-Z][A-Z0-9_]*@|\$\$\{?[A-Z]"
    r"|(?<![$\\])\{[A-Za-z_][\w.]*(?: [A-Za-z_][\w.]*){0,4}\}|%\{[A-Za-z_]\w*\}|"
    + "|".join((HASHES, *PLAIN_SLOTS.values()))
)
# Lines with a statement of a template engine.
_STATEMENT = Regex(
    r"(?m)^[ \t]*(?:\{%[-+]?\s*(?:if|for|set|block|extends|macro|include|import|from)\b"
    r"|\{\{-?\s*(?:if|range|with|end)\b"
    r"|<%-?\s*(?:if|unless|\w+\.each|for)\b|%\s*(?:if|for)\b[^\n]*:[ \t]*$)"
)
_CAPITALS = Regex(r"[A-Z]{3,}(?:[._-][A-Z]{2,})*")
_NUMERIC = frozenset({"node-count", "int", "int>=0", "int>=1", "mem"})
# The word in commands, and directives of the wrapper ybatch.
_NAMED_SLOT = Regex(r"(?m)^[^#\n]*(?<![A-Za-z_$])PLACEHOLDER(?![A-Za-z])")
_OF_WRAPPER = Regex(r"\n#YBATCH")
_MANY = 3  # values that are the names of their options
# The beginning of a statement that takes a line of its own.
_IN_LINE = Regex(r"%\s*(?:if|for)\b")
# Python's `string.Template`: a variable on a line of its own.
_OF_STRING = Regex(r"(?m)^#SBATCH\b(?=[^\n]*\$)[^\n]*\n(?:#[^\n]*\n|[ \t]*\n)*\$(?:\w+|\{\w+\})[ \t]*$")
# Slots of Linaro (Arm) Forge in its queue templates: `--nodes=NUM_NODES_TAG`, `AUTO_LAUNCH_TAG`.
_TAG = Regex(r"(?<![\w$])[A-Z]+(?:_[A-Z]+)*_TAG\b(?!=)")
# What a script calls itself at its top; `# Example: sbatch job.sh` is about something else.
_SAID = Regex(
    r"(?i)\b(?:template|skeleton|boilerplate)\b"
    r"|\b(?:example|sample|demo)\b(?!:)[^.:\n]{0,40}\b(?:script|job|batch|sbatch|slurm|submission|launcher|file|workflow)\b"
    r"|\b(?:slurm|sbatch|batch|job|submission)(?:[ -](?:job|script|file))?[ -]example\b(?![s:])"
    r"|\bcopy this (?:file|script)\b[^.:\n]{0,20}\b(?:adapt|edit|modify|change|adjust)\b|\bACTION REQUIRED\b"
)
_SEVERAL_COMMANDS = 2  # above it; one may be a text in quotes
_SHEBANG_BELOW = Regex(r"(?m)^#![ \t]*/")
# A template by its own words, and not the output of one.
_TO_ADAPT = Regex(
    r"(?i)\btemplate\b(?:[ \t]+(?:file|script|job))*[ \t]+(?:to|for you to|that you|please)\b[^.\n]{0,20}"
    r"\b(?:adapt|adjust|edit|modif|fill|change|customi[sz])"
)


@once
def is_unfinished(job: Job) -> bool:
    """Whether a script is a template, a fixture, or a form with more than one thing to fill in."""
    return is_template(job) or is_form(job)


def may_be_right_later(job: Job, span: Span | None) -> bool:
    """Whether what is wrong in a script may be right once it is completed: all of a template, and a form's blanks.

    So may what notes have above the script that they show: it is typed by hand.

    `span`: where that is; None where no blank repairs it.
    """
    if is_template(job):
        return True
    return span is not None and (_shows_a_script(job) or is_form(job) and rests_on_blank(job, span))


@once
def is_template(job: Job) -> bool:
    """Whether a script is a template or a fixture, which need not be right before it is completed.

    Its name or folder says so, or the slots of a template engine in its directives, or several values that are only the
    name of their option (`--account=account`, `-p partition`).
    """
    path = _path_in_project(job)
    return (
        not (FIXTURE | TEMPLATE).isdisjoint(_words(path))
        or _TEST_DATA.search(path) is not None
        or _ENDING.search(path) is not None
        or _has_slots(job)
        or sum(map(_is_own_name, job.directives.settings)) >= _MANY
        or _has_capital_slots(job.directives.settings)
        or sum(each.text == "" or (each.text or "")[:1] == "#" for each in job.directives.settings) >= _MANY
        or len(occurrences(_NAMED_SLOT, job.source.own.text)) >= _MANY
        or any(map(_TO_ADAPT.search, _first_comments(job)))
    )


@once
def _shows_a_script(job: Job) -> bool:
    """Whether a file is notes that show a batch script: commands come first, and the `#!` line stands below them."""
    directives, own = job.directives, job.source.own.text
    stop = directives.stop
    if job.is_embedded or directives.lines or not directives.unread or stop is None or own.startswith("#!"):
        return False
    if is_batch_name(job.source.path):
        return False  # it is meant to be submitted, and sbatch refuses it
    shebang = _SHEBANG_BELOW.search(own, stop.offset)
    if shebang is None or shebang.start() > directives.unread[0].offset:
        return False
    return sum(each.start < shebang.start() for each in job.program.statements) >= _SEVERAL_COMMANDS


def _is_own_name(setting: Setting) -> bool:
    """Whether a value is only the name of its option: something else puts a value in its place."""
    return setting.text is not None and setting.text.replace("_", "-") == setting.name


def _has_capital_slots(settings: Sequence[Setting]) -> bool:
    """Whether a number or an address, and a name, are words in capitals: `-J WHAT.TO.RUN --ntasks=NTASKS`."""
    words = [each for each in settings if each.text is not None and _CAPITALS.fullmatch(each.text)]
    certain = any(each.option is not None and each.option.kind in _NUMERIC for each in words)
    certain = certain or any(each.name == "mail-user" for each in words)
    return certain and any(each.name in ("job-name", "output", "error") for each in words)


def may_be_edited(job: Job) -> bool:
    """Whether a fix may change a script: not a template, nor one that a wrapper with directives of its own submits."""
    return not occurs(_OF_WRAPPER, job.source.own.text) and not is_unfinished(job)


def is_sample(job: Job) -> bool:
    """Whether a script is not meant to be run as it is: unfinished, or an example."""
    return is_unfinished(job) or not EXAMPLE.isdisjoint(_words(_path_in_project(job))) or _says_so(job)


def _words(path: str) -> set[str]:
    """The words of a path, in lower case."""
    folder, _, name = path.rpartition(os.sep)
    words = {word.lower() for word in _WORDS.split(name)} - {"sample"}  # a model draws samples in `sample.sbatch`
    return words.union(word.lower() for word in _WORDS.split(folder))


def _path_in_project(job: Job) -> str:
    """The script's path relative to its project's root; outside projects, relative to its folder's parent."""
    path = os.path.abspath(job.source.path)
    root = job.hooks.files.project or os.path.dirname(os.path.dirname(path))
    return path.removeprefix(root).lstrip(os.sep)


def _has_slots(job: Job) -> bool:
    string = job.directives.text.string
    may_be_filled = job.is_embedded or may_have_slots(job.source.own.text) or "$$" in string or "_TAG" in string
    for line in job.directives.lines if may_be_filled else ():
        # the enclosing script has already filled in what it writes
        if TEMPLATED.search(string, line.words_start, line.end) or TEMPLATED.search(job.source.slice(line.span)):
            return True
        if not job.directives_expand and _SLOT.search(string, line.words_start, line.end):
            return True
        if "_TAG" in string[line.words_start : line.end] and _TAG.search(string, line.words_start, line.end):
            return len(set(_TAG.findall(string))) > 1
    own = job.text.string if job.is_embedded else job.source.own.text
    if "\n$" in own and _OF_STRING.search(own) is not None:
        return True
    may_have_statements = "{%" in own or "{{" in own or "<%" in own or _IN_LINE.search(own) is not None
    statements = _STATEMENT.finditer(own) if may_have_statements else ()
    return any(not job.in_quoted_text(each.start()) for each in statements)


@once
def _says_so(job: Job) -> bool:
    """Whether the comments before the first command call the script a template or an example."""
    return any(line[:7] != "#SBATCH" and _SAID.search(line) for line in _first_comments(job))


@once
def _first_comments(job: Job) -> list[str]:
    """The comments before the first command, and the directives."""
    string, found, at = job.text.string, [], 0
    while at < len(string):
        end = end_of_line(string, at)
        line = string[at:end].strip()
        if line and line[0] != "#":
            break
        if line:
            found.append(line)
        at = end + 1
    return found
