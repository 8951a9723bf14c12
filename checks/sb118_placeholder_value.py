"""A placeholder was never filled in: `<account>`, `your_partition`, `CHANGEME`, `HH:MM:SS`.

Slurm takes it literally: `sbatch: error: Batch job submission failed: Invalid account or account/partition combination
specified`, or mails go to `username@uni.edu`. Where a number belongs (`--nodes=NUM_NODES`), and after a space (`-A
<project id>`), sbatch refuses the script. In the commands of the script the shell even reads
`HF_HOME=<SHARED_FS>/cache` as two redirections: `SHARED_FS: No such file or directory`. Where no name follows the
`>` (`wandb login <key>`), it ends the script there with a syntax error.

The same holds for the words of commands: a program, an image, a file to source or to read from, or a folder that is
still `/path/to/x`, `<image>`, `[NAME_OF_FILE]` or `your_script.py` does not exist, and a program takes such an argument
literally.

So does an option whose value was taken out: `--partition=` is refused, and `--account=` names no account. With
`--output=` or `--error=` the job fails before its first line (exit code 0:53), as the log would be the folder itself.

Values that a program fills in (`{{ account }}`, `@[QUEUE]`, `{nodes}`) are not reported; `{ nodes }` is not one of
them, and `{Partition Name}` is advice, as sbatch refuses the file as it lies. An error where sbatch refuses the
script, and otherwise a warning: whoever submits it sees the message, or fills it in first. Where a value was taken
out for the public (`<ANONYMOUS>`), where a comment beside it tells the reader to write one, and in templates, examples
and documentation it is only advice: what counts is the folder and the name of the script in its project, what its first
comments say, and a script beside it that puts values in their place. A script with several things to fill in, one of
them in its directives, or three in commands and a comment on what to write there, is a form, where everything is only
advice; so is one with dots for its options, one with names for its numbers, and one with a variable whose value is its
own name (`DATA=<DATA>`). An account, a partition or an address (`<account>`, `your_account`) in a script that shows no
folder or address of its owner is advice too, and a warning where sbatch refuses it. The same goes for arguments such
as `--data /path/to/data`.

The placeholders of a kind are one finding: those that sbatch refuses, those in other directives, and those in commands,
on the first that makes a command fail.

## Fix

None: only you know the value. A token or a password is not to be written, but read from a file.

## References

sbatch(1); RFC 2606; bash(1), "REDIRECTION".
"""

from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.analysis.directives.placeholders import (
    REDACTED,
    Placeholder,
    enclosing_placeholder,
    find_placeholder,
    may_open_placeholder,
)
from sbatchlint.analysis.directives.positional_words import PositionalWords
from sbatchlint.analysis.directives.typos import HASH, PLACEHOLDER, gap_at_equals, typo
from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.analysis.script.submit_lines import is_filled_in_beside, names_submitter
from sbatchlint.analysis.script.unfilled import IN_SHELL, Unfilled, unfilled_words
from sbatchlint.bash.syntax.tree import Program, Redirect
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span, joined
from sbatchlint.job.once import once
from sbatchlint.slurm.lines import BLANKS, DirectiveLine
from sbatchlint.slurm.model import Setting
from sbatchlint.source.numbers import at_lines
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_names import is_secret
from sbatchlint.source.shortening import MOST

# A `>` that no name of a file follows, but an operator: `<a> <b>`; `> <(…)` and `>>` are redirections.
_WITHOUT_FILE = Regex(r"(?>(?:[ \t]|\\\n)*)(?:[;&|)\n]|\Z|<(?!\())|(?>(?:[ \t]|\\\n)+)>(?!\()")

CARD = Card("SB118", "placeholder-value", severity="error", fix="never", since="0.1.0", alone=True)

# Severities other than an error where Slurm refuses the job for the value, and a warning where it does not.
SEVERITIES = {
    "partition": "warning",
    "job-name": "info",
    "wckey": "info",
}  # the command line may name another partition
# The indexes of an array before the limit of those that run at once, `0-9%`.
_LIMITED = Regex(r"[0-9]%\Z")
_ORDER_OF_SEVERITIES = ("error", "warning", "info")
REFUSED = "Slurm refuses the job"
_OF_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")
CONSEQUENCES = {
    **dict.fromkeys(("partition", "licenses", "clusters", "reservation", "constraint", "nodelist"), REFUSED),
    **dict.fromkeys(("gres", *_OF_GPUS), REFUSED),
    "account": "Slurm refuses the job if the site checks accounts",
    "qos": "Slurm refuses the job if the site checks the QOS",
    "chdir": "the job fails or runs in the wrong folder",
    "mail-user": "mail is lost or goes to a stranger",
}
WANTED = {
    "account": "your account",
    "array": "the indexes",
    "chdir": "the folder to run in",
    "dependency": "the ID of the job to wait for",
    "error": "a file such as %x-%j.err",
    "job-name": "a name",
    "mail-type": "the events, such as END,FAIL",
    "mail-user": "your address",
    "mem": "the memory that the job needs",
    "nodelist": "the names of nodes, or remove it",
    "output": "a file such as %x-%j.out",
    "partition": "a valid partition",
    "qos": "a valid QOS",
    "time": "the time that the job needs",
}
OPENING = frozenset("<{[")
_LONG_OPTION = 25  # an option without a value that a message shows as it stands: `--account=""`
_FEW_LINES = 4  # that a message names
_LOGS = frozenset({"output", "error"})
_NO_VALUE = "has no value"
_NO_LOG = "the job fails at the start, as Slurm cannot open its log"
# What follows from an empty value; Slurm 22.05 and 26.05, live: the other options of a name do without one.
_EMPTIED = {
    **dict.fromkeys(_LOGS, (_NO_LOG, "error")),
    "partition": (REFUSED, "error"),
    **{name: (CONSEQUENCES[name], "warning") for name in ("account", "qos")},
    **dict.fromkeys(_OF_GPUS, ("the job gets no GPU", "warning")),
}
# A placeholder that says that it stands for a secret.
_SECRET = Regex(r"(?i)(?:key|token|passw(?:or)?d|secret)\b")
_ASSIGNED = Regex(r"(?:^|\s)([A-Za-z_]\w*|--?[\w-]+)=[\"']?[^\s=]*$")
# A comment that tells the reader to write something else.
_TO_CHANGE = Regex(r"(?mi)(?:^|[ \t])#(?!SBATCH)[^\n]*\b(?:change|replace|edit|adapt|modify|fill in|insert)\b[^\n]*")
# A comment beside a directive that tells the reader what to write: `# specify the <project>`, `# put your netid here`.
_TO_WRITE = Regex(
    r"(?i)\b(?:change|replace|edit|adapt|modify|fill in|insert|specify|enter|put|provide|update"
    r"|(?:use|write|set|add) your)\b"
)
# Options whose values every user and site has to write.
_QUIETER = {"error": "warning", "warning": "info"}
_OF_READERS = frozenset(("account", "partition", "qos", "reservation", "mail-user"))
_OF_SUBMITTER = frozenset(("account", "partition", "qos"))
_YOURS = Regex(r"(?i)(?<![a-z])your|(?<![a-z])x{3,}(?![a-z])")
# Folders and addresses of a person.
_OF_OWNER = Regex(
    r"/(?:home|users?|scratch\w*|work|gpfs|lustre|projects?|proj|nobackup|storage|data)\d*/(?!path\b|your|user)[\w.-]{2,}"
    r"|--mail-user[= ]\s*(?!user|your|name|my|me@|e?mail|first)[\w.+-]+@[\w-]+\.\w+"
)
# Up to a place in what a variable has where it is not set: `${DATA:-/scratch/`.
_DEFAULT = Regex(r"\$\{\w+:?[-=][^{}]*\Z")
QUOTE_OR_COMMENT = Regex(r"[\"'`]|(?:^|\s)#")


def check(job: Job) -> Iterator[Finding]:
    seen: set[int] = set()  # a word may be read as two settings, by different releases
    for finding in _all(job, seen):
        yield finding._replace(severity="info") if is_sample(job) else finding


def _all(job: Job, seen: set[int]) -> Iterator[Finding]:
    evident: set[Span] = set()
    in_directives = list(_in_directives(job, seen, evident))
    loud = [each for each in in_directives if each.severity != "info"]
    if loud and all(each.span in evident for each in loud) and not _shows_owner(job.source.own.text):
        in_directives = [each._replace(severity=_QUIETER.get(each.severity or "", "info")) for each in in_directives]
    for severity in _ORDER_OF_SEVERITIES:
        yield from _one_of(job, [each for each in in_directives if each.severity == severity])
    yield from _in_commands(job)


def _in_directives(job: Job, seen: set[int], evident: set[Span]) -> Iterator[Finding]:
    """The findings on placeholders in directives. `evident`: gets the places of those that every reader has to fill."""
    string = job.directives.text.string
    for setting in job.directives.settings:
        if setting.value_token is not None and setting.value_line is not None:
            start, end = setting.value_token.part(setting.value_start)
            if start not in seen:
                seen.add(start)
                found = find_placeholder(setting.name, string[start:end])
                if found is not None or not OPENING.isdisjoint(string[start:end]):
                    yield from _in_value(job, setting, setting.value_line, found, start, end, evident)
                elif not setting.text:
                    yield from _without_value(job, setting)
    for problem in job.directives.problems:
        if problem.kind == "stray-word":
            yield from _in_place_of_options(job, PositionalWords(job.directives, problem))


def _in_commands(job: Job) -> Iterator[Finding]:
    redirected = list(_redirected(job))
    places = {each.span.start for each in redirected}
    words = sorted([*unfilled_words(job), *_dots(job)], key=lambda each: each.span)
    paths: list[Unfilled] = []
    failing: list[Unfilled] = []
    others: list[Unfilled] = []
    for word in words:
        if word.span.start in places:
            continue
        is_passed = word.use in ("argument", "environment")
        group = paths if is_passed and word.kind == "path" else failing if word.certain and not is_passed else others
        group.append(word)
    found: list[Finding] = []
    of_secrets: list[Finding] = []  # whose real value the script must not hold
    for word in (*failing, *others):
        finding = _in_word(word)._replace(severity="info") if _is_explained(job, word) else _in_word(word)
        (of_secrets if _is_for_secret(word.owner, word.text) else found).append(finding)
    yield from _one_of(job, [*redirected, *found])
    if of_secrets:
        yield joined(of_secrets, "another placeholder for a secret")
    if paths:
        message = f"`{paths[0].text}` is an example path; write your own"
        further = [Finding(each.span, "", "info") for each in paths[1:]]
        yield from _one_of(job, [Finding(paths[0].span, message, "info"), *further])


def _is_explained(job: Job, found: Unfilled) -> bool:
    """Whether a comment tells the reader to replace a placeholder: it names it, or stands above it or beside it."""
    text = job.source.own.text
    if found.text in _what_to_change(text):
        return True
    if found.span.end > len(text):
        return False
    line = job.source.own.line_of(found.span.start)
    above = text[text.rfind("\n", 0, max(line.start - 1, 0)) + 1 : line.start]
    if _DEFAULT.search(text[line.start : found.span.start]) is not None and _first_to_change(text) < line.start:
        return True  # the environment may have another one
    return any(map(_TO_CHANGE.search, (above if above.lstrip()[:1] == "#" else "", text[found.span.end : line.end])))


@lru_cache(maxsize=8)
def _what_to_change(text: str) -> str:
    """The comments of a file that tell the reader to replace something, each on a line of its own."""
    return "\n".join(_TO_CHANGE.findall(text))


@lru_cache(maxsize=8)
def _first_to_change(text: str) -> int:
    """The offset of the first of these comments; the length of the file if there is none."""
    found = _TO_CHANGE.search(text)
    return len(text) if found is None else found.start()


def _others(job: Job, first: Span, others: list[Span]) -> str:
    """The other placeholders, by their lines: `those on lines 10, 16`."""
    rows = sorted({job.line(each.start) for each in others})
    if rows == [job.line(first.start)]:
        return f"{len(others)} more on this line"
    if len(rows) > _FEW_LINES:
        return f"{len(others)} more (lines {rows[0]} to {rows[-1]})"
    return f"the placeholder{'s' if len(others) > 1 else ''} on {at_lines(rows, 'and')}"


def _one_of(job: Job, findings: list[Finding]) -> Iterator[Finding]:
    """The worst of the findings, which stands for all of them: a script may have dozens."""
    if findings:
        first = min(findings, key=lambda each: _ORDER_OF_SEVERITIES.index(each.severity or "error"))
        others = list(dict.fromkeys(each.span for each in findings if each.span != first.span))
        begin, _, advice = first.message.rpartition("; ")
        if others:
            advice = f"replace it and {_others(job, first.span, others)}"
            whole = f"{advice} with real values"
            if _NO_VALUE in begin:  # no word that could be replaced
                rows = sorted({job.line(each.start) for each in (first.span, *others)})
                advice = f"fill in {at_lines(rows, 'and')}, or remove the empty options"
            else:
                advice = whole if len(begin) + len(whole) + 2 <= MOST else advice
        related = [(span, "another placeholder") for span in others[:7]]
        yield first._replace(message=f"{begin}; {advice}", related=related)


def _in_place_of_options(job: Job, words: PositionalWords) -> Iterator[Finding]:
    """The finding on `#SBATCH <options>`."""
    written = words.string[words.start : words.end]
    found = find_placeholder("", written) if words.setting is None else None
    if found is not None and found.kind == "blank":
        span = job.directives.text.span(words.start, words.end)
        message = f"sbatch refuses the script because of the placeholder `{written}`; write options, or remove it"
        yield Finding(span, message, "error")


def _in_value(
    job: Job, setting: Setting, line: DirectiveLine, found: Placeholder | None, start: int, end: int, evident: set[Span]
) -> Iterator[Finding]:
    string = job.directives.text.string
    first_word = may_open_placeholder(setting.name, string[start:end])
    if typo(job.directives, setting) not in (None, PLACEHOLDER, HASH) or found is not None and found.kind == "template":
        return
    left, right = (start + found.start, start + found.end) if found is not None else (end, end)
    if string[left - 2 : left] == "<<" and string[right : right + 2] == ">>":
        return  # `<<<name>>>`, which a program fills in
    is_slot = False
    spanned = enclosing_placeholder(string, end - 1, line.words_start, line.end) if first_word else None
    if spanned is not None:
        left, right = spanned
        text = string[left:right]
        # `{ name }`, with spaces, is not from a template that a program fills in.
        is_slot = text[0] == "{" and text[1] not in BLANKS
        if text[0] in "@_" or is_slot and (text[1] == "{" or not any(each in BLANKS for each in text)):
            return
    elif found is None:
        return
    elif found.kind == "path":
        message = f"`{found.text}` is an example path; write your own path for --{setting.name}"
        yield Finding(job.directives.text.span(left, right), message, "info")
        return
    if setting.name == "mail-user" and (job.request.value("mail-type") or "").strip().lower() == "none":
        return  # nobody gets a mail
    right = _end_of_words(job, line, end) if found is not None and right == end else right  # `your email`
    refused = right > end or any(each.setting is setting for each in job.directives.refused)
    consequence = "Slurm refuses the script" if refused else CONSEQUENCES.get(setting.name, "Slurm uses it literally")
    certain = refused or CONSEQUENCES.get(setting.name) == REFUSED
    severity = "error" if refused else SEVERITIES.get(setting.name, "error" if certain else "warning")
    wanted = _wanted(job, setting, f"a value for --{setting.name}")
    if setting.name in _LOGS and right - left < end - start and not refused:  # a part of it, such as a folder
        wanted = "the real value"
    message = f"`{string[left:right]}` is a placeholder: {consequence}; write {wanted}"
    if setting.name == "array" and _LIMITED.search(string, start, left) is not None and not refused:
        message = f"`{string[left:right]}` is a placeholder, so Slurm sets no limit; "
        message += "write how many tasks may run at once"
    if setting.name == "mail-user" and not refused and not job.request.has_option("mail-type"):
        consequence, severity = "no mail is sent (no --mail-type)", "info"
        message = f"`{string[left:right]}` is a placeholder: {consequence}; write {wanted}"
    is_template = is_slot or REDACTED.search(string, left, right) is not None
    is_template = is_template or is_filled_in_beside(job, string[left:right]) or not string[left:right].strip("*")
    is_template = is_template or _is_told(string, line, right)
    # the script by which it is submitted may set it
    is_template = is_template or setting.name in _OF_SUBMITTER and not refused and names_submitter(job)
    # what differs for each reader of a script that shows nothing of its owner
    if setting.name in _OF_READERS and (string[left] == "<" or _YOURS.search(string, left, right) is not None):
        evident.add(job.directives.text.span(left, right))
    # an evident blank, with nothing but mail behind it
    is_template = is_template or setting.name == "mail-user" and string[left] == "<" and not refused
    yield Finding(job.directives.text.span(left, right), message, "info" if is_template else severity)


def _wanted(job: Job, setting: Setting, otherwise: str) -> str:
    """What to write for an option; `otherwise` for one that the table does not have."""
    wanted = WANTED.get(setting.name, otherwise)
    # the tasks of an array would share a file without their index
    return wanted.replace("%j", "%A_%a") if job.request.has_option("array") else wanted


@lru_cache(maxsize=4)  # for all jobs in a file
def _shows_owner(text: str) -> bool:
    """Whether a script has a folder or an address of somebody, who may have forgotten a placeholder."""
    return _OF_OWNER.search(text) is not None


def _is_told(string: str, line: DirectiveLine, end: int) -> bool:
    """Whether a comment on the line of a directive, or above it, tells the reader to write a value."""
    above = string[string.rfind("\n", 0, max(line.start - 1, 0)) + 1 : line.start]
    if above[:7] == "#SBATCH" or "your" not in above.lower():
        above = ""
    beside = string[end : line.end].partition("#")[2]
    return _TO_WRITE.search(beside) is not None or above.lstrip()[:1] == "#" and _TO_WRITE.search(above) is not None


def _without_value(job: Job, setting: Setting) -> Iterator[Finding]:
    """The finding on an option whose value was taken out: `--account=`."""
    if setting.text != "" or setting.name not in _EMPTIED or not setting.known:
        return
    if gap_at_equals(job.directives, setting) is not None:
        return  # the value follows after a space, which space-around-equals reports
    if job.directives.last(setting.name, setting.component) is setting:
        consequence, severity = _EMPTIED[setting.name]
        wanted = _wanted(job, setting, "how many")
        written = job.source.slice(setting.span)
        written = written if len(written) < _LONG_OPTION and written[:2] == "--" else f"--{setting.name}="
        message = f"`{written}` {_NO_VALUE}: {consequence}; write {wanted}, or remove it"
        yield Finding(setting.span, message, severity)


def _end_of_words(job: Job, line: DirectiveLine, end: int) -> int:
    """The end of the words that follow a value on its line and that sbatch does not take for an option."""
    stray = {each.span.start for each in job.directives.problems if each.kind == "stray-word"}
    for token in line.tokens:
        if token.start > end:
            if job.directives.text.span(token.start, token.end).start not in stray or not token.text.isalpha():
                break
            end = token.end
    return end


# --- in commands -------------------------------------------------------------------------------------

# What happens to a command with a placeholder, and what to write instead.
USES = {
    "run": ("no such program exists", "write the program to run"),
    "source": ("no such file exists", "write the real path"),
    "folder": ("no such folder exists", "write the real path"),
    "input": ("the command does not run, as no such file exists", "write the real path"),
    "output": ("the command does not run, as no such folder exists", "write the real path"),
    "image": ("no such image exists", "write the image to use"),
    "login": ("the login fails", "read it from a file that only you can read"),
    "argument": ("it is passed on literally", "write the real value"),
    "environment": ("programs read it literally", "write the real value"),
}


@once
def _dots(job: Job) -> list[Unfilled]:
    """The values that are three dots, of variables that something reads."""
    if "..." not in job.text.string:
        return []
    return [
        Unfilled("...", span_of(field), "blank", "environment", assigned.name, not assigned.context.conditional)
        for assigned in job.assignments
        for alternative in assigned.alternatives
        for field in alternative.fields or ()
        if text_of(field) == "..." and (assigned.exported or assigned.name in read_names(job))
    ]


def _in_word(found: Unfilled) -> Finding:
    """The finding on a placeholder in a word of a command."""
    consequence, advice = USES[found.use]
    if found.use in ("argument", "environment"):
        advice = _how_to_write(found.owner, found.text)
    severity = "info" if REDACTED.search(found.text) else "warning"
    return Finding(found.span, f"`{found.text}` is a placeholder: {consequence}; {advice}", severity)


def _is_for_secret(owner: str, text: str) -> bool:
    return is_secret(owner.lstrip("-").replace("-", "_")) or _SECRET.search(text) is not None


def _how_to_write(owner: str, text: str) -> str:
    """What to write for a placeholder in the value of an option or a variable: a secret must not be written down."""
    if not _is_for_secret(owner, text):
        return "write the real value"
    if not owner or owner.startswith("-"):
        return "read it from a file that only you can read"
    return f"write `{owner}=$(cat FILE)`, with a FILE only you can read"


def _redirected(job: Job) -> Iterator[Finding]:
    """Findings where bash certainly reads a placeholder as redirections, also in a string that another shell runs."""
    string = job.text.string
    is_script = string.startswith("#!") or job.is_embedded or bool(job.directives.lines)
    if "<" not in string or not job.is_shell or not is_script or IN_SHELL.search(string) is None:
        return
    for text, program in programs(job):
        for span in _read_as_redirections(text, program):
            written = job.source.slice(span)
            owner = _ASSIGNED.search(job.source.text[job.source.line_of(span.start).start : span.start])
            advice = _how_to_write(owner[1] if owner is not None else "", written)
            taken_out = REDACTED.search(written) is not None
            if _WITHOUT_FILE.match(job.source.text, span.end):  # bash parses a line before it runs it
                message = f"bash ends the script here: the placeholder `{written}` is a syntax error; {advice}"
                yield Finding(span, message, "info" if taken_out else "error" if text is job.text else "warning")
                continue
            message = f"bash reads the placeholder `{written}` as a redirection; {advice}"
            yield Finding(span, message, "info" if taken_out else "warning")


def _read_as_redirections(text: Text, program: Program) -> Iterator[Span]:
    string = text.string
    if "<" not in string or IN_SHELL.search(string) is None:
        return
    opened = {node.start for node in nodes_of(program, Redirect) if node.operator == "<"}
    for match in IN_SHELL.finditer(string):
        if match.start() in opened or _in_error(string, program, match.start()):
            yield text.span(*match.span())


def _in_error(string: str, program: Program, at: int) -> bool:
    """Whether the parser could not read the place, which is outside quotes and comments as far as its line shows."""
    if not any(start <= at < end for start, end in program.errors):
        return False
    line = string.rfind("\n", 0, at) + 1
    return QUOTE_OR_COMMENT.search(string[line:at]) is None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodelist=«<your-node>»
        #SBATCH --time=0:30:00
        srun ./a.out
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodelist=«<your-node>»
        #SBATCH --time=HH:MM:SS
        srun ./a.out
        """,
        severity="info",
        title="a form",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -A «<project id>»\n#SBATCH --chdir=/work/ada/run\nsrun ./a.out\n",
        title="with a space in it",
    ),
    Bad("#!/bin/bash\n#SBATCH -A «<project id>»\nsrun ./a.out\n", severity="warning", title="of nobody's script"),
    Bad("#!/bin/bash\n#SBATCH -A «my_account»\nsrun ./a.out\n", severity="warning", title="not every site looks"),
    Bad("#!/bin/bash\n#SBATCH --chdir=/work/«<project>»\nsrun ./a.out\n", severity="warning", title="a folder"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_HOME=«<SHARED_FS>»/huggingface
        srun ./a.out
        """,
        title="redirections to the shell",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        IMAGE="«<REGISTRY>»/team/train:latest"
        source /path/to/venv/bin/activate
        srun --container-image="$IMAGE" python your_script.py
        """,
        title="what is to be run is not there",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        matlab -batch "addpath('lib'); solve /«path/to/case.json»"
        matlab -nodisplay -r "solve /path/to/case.json"
        Rscript -e "solve('/path/to/case.csv')"
        julia --project -e 'solve("/path/to/case.jl")'
        """,
        title="among the arguments of a function",
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        # An example of a job script: fill in what is yours.
        #SBATCH --partition=«your_partition»
        srun ./a.out
        """,
        severity="info",
        title="an example",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -p «{Partition Name}»\nsrun ./a.out | tee log\n",
        severity="info",
        title="a slot of two words",
    ),
    Good("#!/bin/bash\n#SBATCH --mail-user=your_email --mail-type=none\nsrun ./a.out\n", title="no mail is sent"),
    Good("#!/bin/bash\n#SBATCH --account={{ account }} -p @[QUEUE] --nodes={nodes}\nsrun ./a.out\n", title="templates"),
    Good("#!/bin/bash\n#SBATCH -A example -p test -J todo --output=example.com/%j.out\nsrun ./a.out < in > out\n"),
]
