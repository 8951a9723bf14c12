"""A value was left to be filled in: `<account>`, `your_partition`, `CHANGEME`, `HH:MM:SS`.

Slurm takes it as it stands: `sbatch: error: Batch job submission failed: Invalid account or account/partition
combination specified`, or mails go to `username@uni.edu`. Where a number belongs (`--nodes=NUM_NODES`), and behind a
blank (`-A <project id>`), sbatch refuses the script. In the commands of the script the shell even takes
`HF_HOME=<SHARED_FS>/cache` for two redirections: `SHARED_FS: No such file or directory`.

Values that a program fills in (`{{ account }}`, `@[QUEUE]`, `{nodes}`) are left alone; `{ nodes }` is none of them. In
files whose path says that they are templates, examples or documentation, and for `/path/to`, it is only advice.

## Fix

None: only you know the value.

## References

sbatch(1); RFC 2606; bash(1), "REDIRECTION".
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.placeholders import find_placeholder, may_open_placeholder, placeholder_around
from sbatchlint.analysis.directives.typos import HASH, PLACEHOLDER, typo
from sbatchlint.bash.syntax.tree import Redirect
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.lines import BLANKS
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex

CARD = Card("SB118", "placeholder-value", severity="error", fix="never", since="0.1.0")

# Where a value is to be filled in by whoever copies the file.
SAMPLE = Regex(r"(?i)template|example|tutorial|(?<![a-z])docs?(?![a-z])|\.(?:md|mdx|rst|txt|in|tmpl|tpl)$")
# The job runs all the same.
HARMLESS = frozenset(("job-name", "mail-user"))
WANTED = {
    "account": "your account",
    "array": "the indexes",
    "dependency": "the id of the job to wait for",
    "job-name": "a name",
    "mail-type": "the events, such as END,FAIL",
    "mail-user": "your address",
    "mem": "the memory that the job needs",
    "partition": "a partition of your site",
    "qos": "a QOS of your site",
    "time": "the time that the job needs",
}
# `<SHARED_FS>` opens a file for reading, and the next word for writing. Written after `=`, `/` or `:` no redirection is
# meant; behind a blank none is where nothing to write to follows (`cd <folder>`), or an option does (`<DIR> --lr 3`).
IN_SHELL = Regex(
    # The sign comes first, so that the rest of a text is passed by quickly.
    r"<(?:(?<=[=/:]<)[A-Za-z](?:[\w .-]*\w)?>"
    r"|(?<=[ \t]<)[A-Za-z](?:[\w .-]*\w)?>(?=[ \t]*(?:[;&|)\n]|\\\n|\Z|[ \t]--?[A-Za-z]|[ \t]#|[ \t]<))"
    r"|(?<=[ \t]<)[Yy][Oo][Uu][Rr][\w .-]*\w>)"
)
QUOTE_OR_COMMENT = Regex(r"[\"'`]|(?:^|\s)#")


def check(job: Job) -> Iterator[Finding]:
    seen: set[int] = set()  # a word may be read as two settings, by different releases
    for setting in job.directives.settings:
        if setting.value_token is not None and setting.value_token.part(setting.value_start)[0] not in seen:
            seen.add(setting.value_token.part(setting.value_start)[0])
            yield from _in_value(job, setting)
    yield from _in_commands(job)


def _is_sample(job: Job) -> bool:
    return SAMPLE.search(job.source.path) is not None


def _in_value(job: Job, setting: Setting) -> Iterator[Finding]:
    token, line, string = setting.value_token, setting.value_line, job.directives.text.string
    if token is None or line is None:
        return
    start, end = token.part(setting.value_start)
    raw = string[start:end]
    found, first_word = find_placeholder(setting.name, raw), may_open_placeholder(setting.name, raw)
    if found is None and not first_word:
        return
    if typo(job.directives, setting) not in (None, PLACEHOLDER, HASH) or found is not None and found.kind == "template":
        return
    left, right = (start + found.start, start + found.end) if found is not None else (end, end)
    spanned = placeholder_around(string, end - 1, line.words_start, line.end) if first_word else None
    if spanned is not None:
        left, right = spanned
        text = string[left:right]
        # `{ name }`, with blanks, is of no template that a program fills in.
        if text[0] in "@_" or text[0] == "{" and text[1] not in BLANKS:
            return
    elif found is None:
        return
    elif found.kind == "path":
        message = f"`{found.text}` is a path from an example; write the --{setting.name} of your site"
        yield Finding(job.directives.text.span(left, right), message, "info")
        return
    refused = right > end or any(each.setting is setting for each in job.directives.refused)
    does = "Slurm refuses the script" if refused else "Slurm takes it literally"
    wanted = WANTED.get(setting.name, f"a value for --{setting.name}")
    severity = "info" if _is_sample(job) else "warning" if setting.name in HARMLESS and not refused else None
    message = f"`{string[left:right]}` is a placeholder, and {does}; write {wanted}"
    yield Finding(job.directives.text.span(left, right), message, severity)


def _in_commands(job: Job) -> Iterator[Finding]:
    """Where bash certainly reads a placeholder as redirections."""
    string = job.text.string
    is_script = string.startswith("#!") or job.is_embedded or bool(job.directives.lines)
    if "<" not in string or not job.is_shell or not is_script or IN_SHELL.search(string) is None:
        return
    opened = {node.start for node in nodes_of(job.program, Redirect) if node.operator == "<"}
    for match in IN_SHELL.finditer(string):
        if match.start() in opened or _in_error(job, match.start()):
            message = f"`{match.group()}` is a placeholder, but the shell reads redirections; write the value"
            yield Finding(job.span(*match.span()), message, "info" if _is_sample(job) else None)


def _in_error(job: Job, at: int) -> bool:
    """Whether the place is one that the parser could not read, outside of quotes and comments as far as one can see."""
    if not any(start <= at < end for start, end in job.program.errors):
        return False
    line = job.text.string.rfind("\n", 0, at) + 1
    return QUOTE_OR_COMMENT.search(job.text.string[line:at]) is None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --account=«<your-account>»
        #SBATCH -p «your_partition» --time=«HH:MM:SS»
        srun ./a.out
        """
    ),
    Bad("#!/bin/bash\n#SBATCH -A «<project id>»\nsrun ./a.out\n", title="with a blank in it"),
    Bad(
        "#!/bin/bash\n#SBATCH --mail-type=END --mail-user=«someone@example.com»\nsrun ./a.out\n",
        severity="warning",
        title="an address that nobody has",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_HOME=«<SHARED_FS>»/huggingface
        srun ./a.out
        """,
        title="redirections to the shell",
    ),
    Bad("#!/bin/bash\n#SBATCH --output=«/path/to/»%j.out\nsrun ./a.out\n", severity="info"),
    Good("#!/bin/bash\n#SBATCH --account={{ account }} -p @[QUEUE] --nodes={nodes}\nsrun ./a.out\n", title="templates"),
    Good("#!/bin/bash\n#SBATCH -A example -p test -J todo --output=example.com/%j.out\nsrun ./a.out < in > out\n"),
]
