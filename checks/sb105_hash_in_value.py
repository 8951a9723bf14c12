"""A value is cut off: an unquoted `#` ends the directive.

`--job-name=run#3` is a job called `run`, and `--container-image=nvcr.io#nvidia/pytorch:24.01-py3` asks for an image
`nvcr.io`. The rest of the line is a comment, including further options: several directives pasted into one line are one
directive and a comment. `#SBATCH -J #3` even reads the first word of the next directive as the job name.

Advice where what is left of the word is what was meant: `--account=abc#the project`. A warning where the comment says
that a value is to be filled in (`-p   # FILLME`), and where only mail or a name is lost.

## Fix

Quotes the value: safe for a container image, whose name is useless without the rest; a guess otherwise. Where a comment
was meant, it gets a space before it, which changes nothing. Directives in one line become lines of their own (unsafe).

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05, seen on 22.05 and 26.05; README of NVIDIA/pyxis.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import severity_of_loss
from sbatchlint.analysis.directives.near_misses import read_as_directive
from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import INVISIBLE, swallowed
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, remove, replace
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, magic_of
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import quote
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import shortened
from sbatchlint.triggers import Written

CARD = Card(
    "SB105", "hash-in-value", severity="error", fix="sometimes", since="0.1.0", alone=True, when=Written("comment"),
)  # fmt: skip

# Kinds of options whose values never contain a `#`.
WITHOUT_HASH = frozenset({
    "array-spec", "count[@time]", "cpu-freq", "dependency", "dist", "enum", "enum-list", "flag", "gpu-freq", "gpu-spec",
    "gres", "int", "int>=0", "int>=1", "mail-type", "mem", "node-count", "rlimit-list", "S[:C[:T]]", "signal-spec",
    "time", "timestamp", "uint16",
})  # fmt: skip
_SLOT = Regex(r"#[A-Z][A-Z0-9_]*#")
_WORDS = Regex(r"\w+")
# Options that take a list of names that have none: what follows the `#` was taken out of it.
LISTS = frozenset({"partition", "nodelist", "exclude", "clusters"})
# Other options that take names that have none.
_NAMES = frozenset({"account", "constraint", "mail-user", "prefer", "qos", "reservation", "wckey"})
# What begins a sentence: `#name of the project`.
_PROSE = Regex(r"#[A-Za-z]+[ \t]+[A-Za-z]")


def check(job: Job) -> Iterator[Finding]:
    settings: dict[int, list[Setting]] = {}
    for setting in job.directives.settings:
        if setting.line.comment is not None and setting.versions is None:
            settings.setdefault(id(setting.line), []).append(setting)
    for line in job.directives.lines:
        if line.comment is None:
            continue
        parts = _directives_in(job, line)
        if parts:
            yield _several_directives(job, line, parts)
        elif line.tokens:
            yield from _missing_value(job, line)
            for setting in settings.get(id(line), ()):
                yield from _shortened_value(job, line, setting)


def _directives_in(job: Job, line: DirectiveLine) -> list[int]:
    """The offsets of the directives in a comment that begins with one; empty where one of them cannot be read."""
    string = job.directives.text.string
    if magic_of(string, line.comment_start) is None:
        return []
    starts = [each.start() for each in re.finditer("#SBATCH", string[: line.end]) if each.start() >= line.comment_start]
    for start, end in zip(starts, [*starts[1:], line.end], strict=True):
        if not read_as_directive(job.directives, start + len("#SBATCH"), end)[0]:
            return []
    return starts


def _several_directives(job: Job, line: DirectiveLine, parts: list[int]) -> Finding:
    """The finding on several directives in one line."""
    text = job.directives.text
    edits = [replace(text.span(_space_start(text.string, part), part), job.source.newline) for part in parts]
    if not line.tokens:
        edits[0] = remove(text.span(line.start, parts[0]))
    message = "sbatch reads the second `#SBATCH` on a line as a comment; put it on a separate line"
    return Finding(text.span(parts[0], line.end), message, fix=Fix("put it on a separate line", edits))


def _missing_value(job: Job, line: DirectiveLine) -> Iterator[Finding]:
    """The finding on `-J #3` at the end of the block, where the option gets no value at all."""
    if job.directives.text.string[line.comment_start + 1 : line.comment_start + 2] in ("", "#", *BLANKS):
        return  # plainly a comment
    for problem in job.directives.problems:
        if problem.kind == "missing-value" and problem.token is line.tokens[-1] and problem.versions is None:
            effect = "has no value and sbatch refuses the script"
            yield _without_value(job, line, problem.candidates[0], effect, quotable=True)


def _without_value(
    job: Job, line: DirectiveLine, name: str, effect: str, quotable: bool, severity: str | None = None
) -> Finding:
    """The finding on `-J #3`: sbatch reads the value of the last option as a comment."""
    text = job.directives.text
    start = line.comment_start
    end = _word_end(text.string, start, line.end)
    word = text.string[start:end]
    advice, fix = "write the value before the `#`", None
    if quotable and word.strip("#") and end == line.end and not set(word) & set("\"'\\"):
        advice = f"write `{line.tokens[-1].text} {quote(word)}`"
        fix = Fix("quote the value", [replace(text.span(start, end), quote(word))])
    written = line.tokens[-1].text.rstrip("=")
    written = written if written[:1] == "-" else f"--{name}"
    message = f"`#` begins a comment, so {written} {effect}; {advice}"
    to_fill_in = any(find_placeholder("account", each) for each in _WORDS.findall(text.string, start, line.end))
    return Finding(text.span(line.tokens[-1].start, end), message, "warning" if to_fill_in else severity, fix=fix)


def _shortened_value(job: Job, line: DirectiveLine, setting: Setting) -> Iterator[Finding]:
    """The finding on an option whose value ends at the `#`, or that takes its value from a later line."""
    text, token, value = job.directives.text, setting.value_token, setting.value
    string, hash_at = text.string, line.comment_start
    if token is None or value is None or not setting.known:
        return
    without_hash = setting.option is not None and (setting.option.kind in WITHOUT_HASH or setting.name in LISTS)
    if setting.value_line is not line:
        if swallowed(setting) and setting.value_line is not None:
            taken = f"takes `{value}` on line {job.line(setting.value_line.offset)} as its value"
            swallower = setting.value_line
            lost, _ = read_as_directive(job.directives, swallower.words_start, swallower.end)
            severity = severity_of_loss(job, [setting, *lost], unread=True)
            yield _without_value(job, line, setting.name, taken, quotable=not without_hash, severity=severity)
        return
    if _SLOT.match(string, hash_at):
        return  # of a template: `--nodes=#NODES#`
    if token.end != hash_at or INVISIBLE.match(string, hash_at - 1) or string[hash_at - 2 : hash_at] == "${":
        return
    start, end = token.part(setting.value_start)[0], _word_end(string, hash_at, line.end)
    rest, following = string[hash_at + 1 : line.end], string[end : line.end].strip(BLANKS)
    settings, accepted = read_as_directive(job.directives, end, line.end)
    option_follows = not rest[:1].strip() and accepted and following[:1] == "-"
    is_comment = rest[:1].isspace() and not option_follows or not rest and string[hash_at - 1] in "\"'"
    # a name that has no `#`, or a sentence, after whose first word no option is lost
    glued = setting.name in _NAMES and rest[:1].isalpha() or _PROSE.match(string, hash_at) is not None
    is_comment = is_comment or glued and bool(value) and " -" not in rest
    if is_comment or without_hash and value:
        said = f"sbatch cuts the value off at `#` and reads only `{value}`; put a space before the comment"
        if setting.name in LISTS and "," in (rest[:1], value[-1:]) and rest.strip(","):  # it may be a slip of the hand
            said = f"sbatch cuts the list off at `#`, and reads only `{shortened(value, 40)}`; remove the `#`, or put "
            said += "a space before it if a comment follows"
        yield Finding(
            text.span(start, hash_at + 1),
            said,
            "info",  # what is read is what was meant
            fix=Fix("put a space before the comment", [insert(text.span(hash_at, hash_at).start, " ")], safe=True),
        )
        return
    span = text.span(start, end)
    advice, fix = "quote the value", None
    plain = string[start:hash_at] == value and rest[:1] != "#" and not set(string[start:end]) & set("\"'\\")
    if plain and not without_hash:
        if (accepted and settings) if following[:1] == "-" else following[:1] in ("", "#"):
            whole = quote(string[start:end])
            advice = f"quote the value: {whole}"
            fix = Fix("quote the value", [replace(span, whole)], safe=setting.name == "container-image")
    if not value and fix is None and setting.option is not None:
        if not set(string[hash_at:end]) - set("#-_/.x"):  # `--account=####-##`
            message = (
                f"sbatch reads the placeholder `{string[hash_at:end]}` as a comment, so {setting.written} gets no "
                f"value; write your {setting.name}"
            )
            yield Finding(span, message, severity_of_loss(job, [setting, *settings]))
            return
        advice = "remove the `#`"
        name = string[hash_at:end].strip("#")
        if string[hash_at:end] == f"##{name}##":  # a template's slot
            advice = f"write the value in place of `##{name}##`"
    gets = f"`{value}`" if value else "an empty value"
    severity = severity_of_loss(job, [setting, *settings])
    message = f"an unquoted `#` begins a comment, so {setting.written} gets {gets}; {advice}"
    yield Finding(span, message, severity, fix=fix)


def _word_end(string: str, start: int, end: int) -> int:
    while start < end and string[start] not in BLANKS:
        start += 1
    return start


def _space_start(string: str, offset: int) -> int:
    """The offset where the whitespace before an offset begins."""
    while string[offset - 1] in " \t":
        offset -= 1
    return offset


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH -p «short,long#»,old
        srun ./a.out
        """,
        fixed={"short,long#,old": "short,long #,old"},
        severity="info",
        title="a partition that was taken out of the list",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --container-image=«nvcr.io#nvidia/pytorch:24.01-py3»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --container-image="nvcr.io#nvidia/pytorch:24.01-py3"
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J «run#3» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"run#3": '"run#3"'},
        title="the rest of the line is lost as well",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J «run#3»
        srun ./a.out
        """,
        unsafe_fixed={"run#3": '"run#3"'},
        severity="warning",
        title="only the name differs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --account=«project_2001736#» the project for billing
        #SBATCH --nodes=«2#»two
        srun ./a.out
        """,
        fixed={"--account=project_2001736#": "--account=project_2001736 #", "--nodes=2#two": "--nodes=2 #two"},
        severity="info",
        title="a comment was meant",
    ),
    Bad(
        '#!/bin/bash\n#SBATCH --constraint=«"a100|v100"#»\nsrun ./a.out\n',
        fixed='#!/bin/bash\n#SBATCH --constraint="a100|v100" #\nsrun ./a.out\n',
        severity="info",
        title="a comment without a word",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=x «#SBATCH --nodes=2 #SBATCH -t 10»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --job-name=x
        #SBATCH --nodes=2
        #SBATCH -t 10
        srun ./a.out
        """,
        title="pasted into one line",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «-J #3»\n#SBATCH --nodes=2\nsrun ./a.out\n",
        unsafe_fixed='#!/bin/bash\n#SBATCH -J "#3"\n#SBATCH --nodes=2\nsrun ./a.out\n',
        title="the job is called `--nodes=2`",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --container-image=nvcr.io\\#nvidia/cuda -J 'run#3' # x\n#SBATCH -N2 # #SBATCH -N4\n./a\n"
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2 #two\n#SBATCH --exclusive# whole nodes\nsrun ./a.out\n", title="comments"),
]
