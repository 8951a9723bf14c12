"""sbatch refuses the script: its first line does not begin with `#!` and an interpreter.

`sbatch: error: This does not look like a batch script.` sbatch looks at the first two characters of the file before it
reads any option: a blank line, a comment or a licence above the `#!` line is enough, and so is `!/bin/bash`. A text in
three quotes is no comment at all: bash would run it as a command, and sbatch would read no directive below it.

Files that something else completes are ignored: templates that begin with a placeholder, headers without a command,
what a script beside it appends to a first line (`echo '#!/bin/bash' > run.sh; cat body.sh >> run.sh`), and files
without an option block whose name is not that of a batch script. A file that starts no program is advice. A script that
is fed to sbatch as a here-document needs its `#!` line too.

## Fix

Moves the `#!` line to the top, or corrects its first characters. Safe: sbatch takes no script without it. Where there
is none, `#!/bin/bash` is added, which is unsafe: the interpreter is a guess.

## References

`_get_script_buffer()` in src/sbatch/sbatch.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.submit_lines import is_completed_beside
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.programs import has_trait
from sbatchlint.slurm.script_file import BLANK, lacks_interpreter
from sbatchlint.source.discover import is_batch_name
from sbatchlint.triggers import Shebang

CARD = Card("SB002", "missing-shebang", severity="error", fix="always", since="0.1.0", when=Shebang(""))

SHEBANG = re.compile(r"#![ \t]*/\S")
MISTYPED = re.compile(
    r"(?:!#|!|#{2,}!|#[ \t]+!|#1|#|\\#!|\"#!|#\\!|\w{1,3}#!|[.,;:]#!|)[ \t]*"
    r"(/(?:\S+/)?(?:env(?:[ \t]+-\S+)*[ \t]+\S+"
    r"|(?:ba|z|k|da|c|tc)?sh|python[\d.]*|Rscript|perl|julia)(?:[ \t]+-\S+)*)[ \t\"]*\r?$",
    re.MULTILINE,
)
# A text in three quotes, as Python has them for comments, above the `#!` line.
QUOTED = re.compile(r"[ \t\n]*('''|\"\"\")[^'\"`$]*\1[ \t]*\n[ \t\n]*(?=#![ \t]*/)")
INTERPRETERS = {"py": "python3", "r": "Rscript", "jl": "julia", "pl": "perl", "rb": "ruby", "lua": "lua"}
# Names of files that something else assembles or fills in before sbatch sees them.
FRAGMENT = re.compile(
    r"(?:^|[^a-z])(?:head(?:er)?s?|preambles?|prologue?s?|footers?|snippets?|fragments?|partials?|templates?|tpl|tmpl"
    r"|includes?|common)(?:[^a-z]|$)|\.(?:j2|jinja2?|envsubst|in|mustache|erb|mako|ejs|hbs|inc|txt|md|rst|html?|xml"
    r"|ya?ml|json|toml|tex|org|cfg|conf|def|el|vim)(?:[._-]|$)"
)
# Commands that only make an environment.
_PREPARING = frozenset({"source", ".", "export", "set", "unset", "alias", "ulimit", "umask"})
STATEMENT = re.compile(r"\{[{%#]|<%|%\(\w+\)s")


def check(job: Job) -> Iterator[Finding]:
    directives, text = job.directives, job.directives.text
    string = text.string
    # text that is not a file, such as standard input, is meant to be a script, even if it is empty
    is_text = not string and job.source.path.startswith("<")
    named = job.is_embedded or is_text or is_batch_name(job.source.path)
    # those in a heredoc belong to another script, which this one writes
    below = any(not job.in_quoted_text(each.span.start) for each in directives.unread)
    if not lacks_interpreter(string) or not (named or directives.lines or below):
        return
    if not string.strip(BLANK):
        if not string and text.whole:
            return  # bytes that cannot be decoded
        error = "contains only whitespace!" if string else "is empty!"
        message = f"sbatch refuses the file: `Batch script {error}`; begin it with #!/bin/bash"
        top = text.span(0, 0)
        yield Finding(top, message, fix=Fix("add #!/bin/bash", [Edit(top, "#!/bin/bash\n")]))
        return
    first = len(string) - len(string.lstrip(BLANK))
    mistyped = MISTYPED.match(string, first) if _end_of_line(string, first) - first < 300 else None
    if mistyped is not None:
        line = "#!" + mistyped.group(1)
        edits = [Edit(text.span(0, first), ""), Edit(text.span(first, mistyped.start(1)), "#!")]
        message = f"sbatch refuses the script: it must begin with `#!`; write {line}"
        span = text.span(first, _end_of_line(string, first))
        yield Finding(span, message, fix=Fix(f"write {line}", edits, safe=True))
        return
    quoted = QUOTED.match(string)
    if quoted is not None and not job.is_embedded:
        yield _below_text(job, quoted.end())
        return
    block = list(_comment_lines(string))
    if not named and not directives.lines or block and STATEMENT.search(string, 0, block[-1][1]):
        return
    for start, end in block:
        if SHEBANG.match(string, start, end):
            yield _misplaced(job, start, end)
            return
    if is_completed_beside(job):
        return
    name = job.source.path.rpartition("/")[2].lower()
    if not named and (directives.stop is None or FRAGMENT.search(name)):
        return
    interpreter = None if job.is_embedded else INTERPRETERS.get(name.rpartition(".")[2])
    line = f"#!/usr/bin/env {interpreter}" if interpreter else "#!/bin/bash"
    top = text.span(0, 0)
    margin = job.source.text[job.source.line_of(top.start).start : top.start]
    margin = "" if margin.strip() else margin  # the indentation of a here-document
    yield Finding(
        text.span(first, _end_of_line(string, first)),
        f"sbatch refuses the script: its first line must be `#!` and an interpreter; add {line} at the top",
        "info" if _only_prepares(job) else None,
        fix=Fix(f"add {line}", [Edit(top, f"{line}\n{margin}")]),
    )


def _only_prepares(job: Job) -> bool:
    """Whether a file starts no program: other scripts probably include it."""
    if job.is_embedded or not job.source.own.text.count("\n"):
        return False
    commands = [each for each in job.invocations if each.name is not None or each.argv]
    return all(each.name in _PREPARING or has_trait(each.name, "loads") for each in commands)


def _misplaced(job: Job, start: int, end: int) -> Finding:
    """The finding on a `#!` line that comes after whitespace or comments."""
    text = job.directives.text
    string = text.string
    above = string[:start]
    if not above.strip(BLANK):
        edits = [Edit(text.span(0, start), "")]
    else:
        begin = string.rfind("\n", 0, start) + 1
        edits = [
            Edit(text.span(0, 0), string[start:end] + "\n"),
            Edit(text.span(begin, string.find("\n", end) + 1 or len(string)), ""),
        ]
    if above.strip():
        advice = "move this line to the top"
    else:
        advice = "remove everything above it" if above.strip(" \t") else "remove the spaces before it"
    message = f"sbatch refuses the script: its first characters must be `#!`; {advice}"
    if job.is_embedded and not above.strip() and "\n" in above:  # the file itself may well begin with `#!`
        begin = text.span(0, 0).start
        advice = f"remove what is above this line from line {job.line(begin)} on"
        if job.source.text[begin - 1 : begin] in ("'", '"'):
            advice = f"write `#!` right after the quote on line {job.line(begin)}"
        message = f"sbatch refuses the file that this text becomes: it begins with an empty line, not `#!`; {advice}"
    related = [(text.span(0, _end_of_line(string, 0)), "the file begins here")] if string[:1].strip(BLANK) else []
    return Finding(text.span(start, end), message, related=related, fix=Fix(advice, edits, safe=True))


def _below_text(job: Job, start: int) -> Finding:
    """The finding on a `#!` line below a text in three quotes, which bash would run as a command."""
    text = job.directives.text
    string = text.string
    end = _end_of_line(string, start)
    at, edits = 0, [Edit(text.span(start, min(end + 1, len(string))), "")]
    top = string[start:end] + "\n"
    for line in string[:start].splitlines(keepends=True):
        if line.strip():
            edits.append(Edit(text.span(at, at), top + "# "))
            top = ""
        at += len(line)
    message = "sbatch refuses the script: its first characters must be `#!`; move this line to the top, and write `#` "
    message += "before the text"
    related = [(text.span(0, _end_of_line(string, 0)), "the file begins here")] if string[:1].strip(BLANK) else []
    return Finding(text.span(start, end), message, related=related, fix=Fix("comment the text", edits, safe=True))


def _comment_lines(string: str) -> Iterator[tuple[int, int]]:
    """The range of each comment line above the first command, without the whitespace around it."""
    at = 0
    while at < len(string):
        end = _end_of_line(string, at)
        body = string[at:end].lstrip(BLANK)
        if body and body[0] != "#":
            return
        if body:
            yield end - len(body), end
        newline = string.find("\n", end)
        at = newline + 1 if newline >= 0 else len(string)


def _end_of_line(string: str, at: int) -> int:
    """The offset after the last non-whitespace character of a line."""
    newline = string.find("\n", at)
    end = newline if newline >= 0 else len(string)
    return at + len(string[at:end].rstrip(BLANK))


CASES = [
    Bad(
        """\
        «#SBATCH --time=5»
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --time=5": "#!/bin/bash\n#SBATCH --time=5"},
    ),
    Bad(
        "\n«#!/bin/bash»\n#SBATCH --time=5\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --time=5\nsrun ./a.out\n",
        title="a blank line above",
    ),
    Bad(
        """\
        # Copyright: the authors
        #
        «#!/bin/bash -l»
        #SBATCH --time=5
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash -l
        # Copyright: the authors
        #
        #SBATCH --time=5
        srun ./a.out
        """,
        title="a licence above",
    ),
    Bad(
        """\
        «!/bin/bash»
        #SBATCH --time=5
        srun ./a.out
        """,
        fixed={"!/bin/bash": "#!/bin/bash"},
    ),
    Bad(
        """\
        #!/bin/bash
        for n in 1 2; do
            sbatch <<EOF
        «#SBATCH --nodes=$n»
        srun ./a.out
        EOF
        done
        """,
        unsafe_fixed={"    sbatch <<EOF": "    sbatch <<EOF\n#!/bin/bash"},
        title="a script that is fed to sbatch",
    ),
    Good("#! /bin/bash\n#SBATCH --time=5\nsrun ./a.out\n"),
    Good("{{ header }}\n#SBATCH --time=5\nsrun ./a.out\n", title="a template provides the first line"),
    Good("# to be put in front of every job\n#SBATCH --time=5\n#SBATCH --account=x\n", title="a header only"),
]
