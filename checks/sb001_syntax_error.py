"""The job fails with a syntax error, mostly after it has run the lines above.

bash reads a script as it goes. A missing `fi`, an unclosed quote or a stray `)` shows only when everything above it has
run, maybe after hours; sbatch does not look at the commands, and accepts the script.

An error is reported where both the parser of sbatchlint and `bash -n`, which reads without running anything, find one.
On a machine without bash nothing is reported. Templates (`{{ … }}`, `<% … %>`) are not scripts yet, and are ignored. So
is what comes after a line with `exit` or `exec PROGRAM`: bash never reads it.

A warning where only a quote, or a message, is left at the end of the script: all work is done then, and only the state
of the job is wrong, unless mail or another job reads it.

## Fix

None: only the author knows what is missing, and where.

## References

bash(1), `-n`.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, pairwise
from subprocess import DEVNULL, PIPE, SubprocessError, run

from sbatchlint.analysis.outcome.state_readers import state_reader, told_by_mail
from sbatchlint.analysis.script.conflicts import conflict_marker
from sbatchlint.analysis.script.unfilled import IN_SHELL
from sbatchlint.bash.syntax.parser import parse_valid
from sbatchlint.bash.syntax.tree import Literal, Unparsed, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source import lookups
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source
from sbatchlint.triggers import SyntaxErrors

CARD = Card("SB001", "syntax-error", severity="error", fix="never", since="0.1.0", when=SyntaxErrors())

# Template markers, and a placeholder such as <your account>, which the shell reads as redirections.
TEMPLATE = re.compile(r"\{\{|\{%|\{#|<%|\$\{\{|@@\w+@@|%%\w+%%")
PLACEHOLDER = re.compile(r"<[A-Za-z][^<>\n]*>")
# A placeholder at the end of a line, where bash finds no file to write to: the error is known without running bash.
AT_END = re.compile(r"[^\n\"'`\\#]*<[A-Za-z][^<>\n\"'`\\#]*>[ \t]*(?:#[^\n]*)?(?=\r?\n|\Z)")

# Error messages of bash on standard error.
ERROR_LINE = re.compile(r"^[^\n]*?: line (\d+): ([^\n]*)", re.MULTILINE)
UNEXPECTED = re.compile(r"^.*?near unexpected token `(.*)'$")
UNCLOSED = re.compile(r"looking for matching `(.)'$")
# A comment after a backslash and a space, with a quote in it.
NO_COMMENT = re.compile(r"\\[ \t]+(#)[^\n]*['\"]")
SECONDS = 10
# Environment variables that change how bash reads a script: BASH_ENV, BASHOPTS, BASH_COMPAT, functions …
BASH_VARIABLE = re.compile(r"BASH|ENV$|SHELLOPTS$|POSIXLY_CORRECT$")

# The maximum number of lines that are tried for what is not closed, of which the text is valid for so many, and of
# characters parsed for all of them together.
MOST_LINES = 12
_PLACES = 5  # where on a line
MOST_VALID = 3
MOST_CHARACTERS = 1 << 18

_SPLICED = Regex(r"\\\n[ \t]*(done|fi|esac|\}|\))[ \t;&|>]*(?:\n|\Z)")
CLOSES = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac", "{": "}", "(": ")"}


def check(job: Job) -> Iterator[Finding]:
    string = job.text.string
    if not job.program.errors or not (job.directives.lines or string.startswith("#!") or job.is_embedded):
        return
    if TEMPLATE.search(job.directives.text.string):  # job.text no longer has the markers
        return
    if AT_END.match(string, min(job.program.errors)[0]) or _is_after_end(job):
        return
    marker = conflict_marker(string, min(job.program.errors)[0])
    if marker is not None:
        message = "bash stops at this merge conflict marker; keep one side, and delete the three marker lines"
        yield Finding(job.span(*marker), message)
        return
    found = _first_error(string.replace("\r\n", "\n"))
    if found is None:
        return
    row, words = found
    lines = string.split("\n")
    row = min(row, len(lines)) - 1
    start, end = _error_place(string, sorted(job.program.errors), sum(len(line) + 1 for line in lines[:row]), words)
    unclosed = UNCLOSED.search(words)
    opening = None if unclosed is None or unclosed[1] == "}" else _unclosed_quote(string, unclosed[1])
    substitution = None if unclosed is None else _unclosed(string, "$(")
    expansion = None if unclosed is None or substitution is not None else _unclosed(string, "${")
    quoted = opening is not None and unclosed is not None and unclosed[1] != ")"
    array = None if substitution is not None or expansion is not None or quoted else _unclosed(string, "=(", row)
    if substitution is not None:
        start, end = substitution, substitution + 2
    elif expansion is not None:
        start, end = expansion, expansion + 2
    elif array is not None:
        start, end = array + 1, array + 2
    elif opening is not None:
        start, end = opening, _line_end(string, opening)
    written = [lines[each] for each in (row, string.count("\n", 0, start))]
    if any(PLACEHOLDER.search(each) or IN_SHELL.search(each) for each in written):
        return
    while end > start + 1 and string[end - 1] in " \t\r":
        end -= 1
    problem = _describe(string[start:end], words, opening is not None)
    if substitution is not None:
        problem = "this `$(` is never closed; add `)`, and check with `bash -n`"
    elif expansion is not None:
        problem = "this `${` is never closed; add `}`, and check with `bash -n`"
    elif opening == start and _is_tripled(string, opening):
        problem = f"`{string[opening] * 3}` makes no comment in bash; begin each line of it with `#`"
    elif array is not None:
        problem = "this `(` is never closed; add `)`, and check with `bash -n`"
    spliced = _spliced(string) if "end of file" in words and substitution is None and array is None else None
    if spliced is not None:
        start, end = spliced.start(), spliced.start() + 1
        problem = f"this backslash makes `{spliced[1]}` on the next line an argument; remove it"
    unexpected = UNEXPECTED.search(words)
    if array is None and unexpected is not None and (opened := _empty_body(string[:start], unexpected[1])) is not None:
        problem = f"there is no command between `{opened}` and `{unexpected[1]}`; write `:` there"
    if len([each for each in _IMPORT.finditer(string, 0, start) if not job.in_quoted_text(each.start())]) > 1:
        message = "bash stops here with a syntax error, as this is Python; write `#!/usr/bin/env python3` in line 1"
        yield Finding(job.span(start, end), message)
        return
    if job.is_embedded:  # `bash -n` takes a here-document for text
        problem = problem.replace(", and check with `bash -n`", "").replace("; check with `bash -n`", "; correct it")
    message = f"{_stops(job, start)}: {problem}"
    mark = None if unclosed is None else NO_COMMENT.search(string, 0, end)
    related = [] if mark is None else [(job.span(mark.start(), mark.end(1)), "not a comment: `\\ ` starts a word")]
    severity = "warning" if quoted and opening == start and _is_left_over(job, start) else "error"
    yield Finding(job.span(start, end), message, severity, related=related)


def _stops(job: Job, start: int) -> str:
    """What the shell does up to an error: it reads a loop or a branch whole before it runs any of it."""
    shell = "sh" if job.interpreter_line[0] == "sh" else "bash"
    if all(isinstance(each, Unparsed) for each in job.program.statements if each.start < start):
        return f"{shell} stops here with a syntax error, before it runs anything"
    return f"{shell} runs the lines above, then stops here with a syntax error"


def _is_tripled(string: str, mark: int) -> bool:
    """Whether a quote is one of three at the start of a line, as Python has them."""
    line = string[string.rfind("\n", 0, mark) + 1 : _line_end(string, mark)].lstrip()
    return line.startswith(string[mark] * 3)


def _is_left_over(job: Job, mark: int) -> bool:
    """Whether the quote that is not closed costs nothing: the shell has run all else, and nobody reads the state."""
    string = job.text.string
    start = string.rfind("\n", 0, mark) + 1
    if _LEFT_OVER.fullmatch(string, start) is None or min(job.program.errors)[0] < start or not job.invocations:
        return False
    return told_by_mail(job) is None and state_reader(job, job.invocations[-1]) is None


# The end of a script: nothing but quotes, or a message, and comments.
_LEFT_OVER = Regex(r"[ \t]*(?:[\"']+[ \t\r]*|(?:echo|printf)[ \t][^\n$`;&|<>]*)(?:\n[ \t\r]*(?:#[^\n]*)?)*")
# Lines of Python, which bash would take for commands.
_IMPORT = Regex(
    r"(?m)^(?:import[ \t]+[A-Za-z_][\w.]*(?:[ \t]+as[ \t]+\w+)?"
    r"|from[ \t]+[A-Za-z_.][\w.]*[ \t]+import[ \t]+[\w*(][^\n]*)$"
)
_LAST_WORD = re.compile(r"(?:^|[\s;])(then|else|do)[ \t]*(?:#[^\n]*)?\Z")


def _empty_body(before: str, token: str) -> str | None:
    """The word that opens a body without any command, where `token` closes it; None if it has one."""
    if token not in ("else", "elif", "fi", "done"):
        return None
    lines = before.split("\n")
    while lines and (not lines[-1].strip() or lines[-1].lstrip()[:1] == "#"):
        lines.pop()
    found = _LAST_WORD.search(lines[-1]) if lines else None
    return None if found is None else found[1]


def _is_after_end(job: Job) -> bool:
    """Whether the shell leaves on a line before the first error, which it then never reads."""
    string = job.text.string
    if job.ended is None:
        return False
    line_end = _line_end(string, job.ended)
    return line_end <= min(job.program.errors)[0] and parse_valid(string[:line_end]) is not None


def _first_error(string: str) -> tuple[int, str] | None:
    """The line (from 1) and the message of the first error that `bash -n` finds; None without an error or bash."""
    bash = lookups.program("bash")
    if bash is None:
        return None
    environment = {name: value for name, value in os.environ.items() if not BASH_VARIABLE.match(name)}
    command = [bash, "--norc", "--noprofile", "-n"]
    try:
        done = run(
            command, input=Source.encode(string), stdout=DEVNULL, stderr=PIPE, env={**environment, "LC_ALL": "C"},
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except (OSError, ValueError, SubprocessError):
        lookups.mark_uncertain()
        return None
    match = ERROR_LINE.search(done.stderr.decode("utf-8", "replace")) if done.returncode else None
    return None if match is None else (parse_integer(match[1]), match[2])


def _error_place(string: str, errors: list[tuple[int, int]], line: int, words: str) -> tuple[int, int]:
    """The range that bash complains about, on one line: the word that it names, or where our parser met an error.

    When the file ends too early, only the parser knows where the unfinished command began.
    """
    line_end = _line_end(string, line)
    start, end = errors[0]
    token = UNEXPECTED.search(words)
    if token is not None:
        named = re.search(rf"(?<!\w){re.escape(token[1])}(?!\w)", string[line:line_end])
        if named is not None:
            return line + named.start(), line + named.end()
        start, end = next((each for each in errors if line <= each[0] < line_end), (line, line_end))
    first_end = string.find("\n", start)
    while start + 1 < end and string[start] in " \t":
        start += 1
    return start, min(end, len(string) if first_end < 0 else first_end)


def _line_end(string: str, at: int) -> int:
    end = string.find("\n", at)
    return len(string) if end < 0 else end


def _unclosed_quote(string: str, mark: str) -> int | None:
    """The offset of the quote that is most likely the unclosed one; None where no candidate makes a valid script.

    bash names the last quote of the file, because an unclosed quote swaps the opening and closing ones after it. The
    likely one is on the line that, when closed at its end, gives a valid script with the least text between quotes.
    """
    found: list[tuple[int, int]] = []
    for end, last in _likely_ends(string, mark)[: _most_tried(string)]:
        program = parse_valid(string[:end] + mark + string[end:])
        if program is not None:
            found.append((sum(map(_quoted_length, nodes_of(program, Word))), last))
        if len(found) == MOST_VALID:
            break
    return min(found)[1] if found else None


def _most_tried(string: str) -> int:
    return min(MOST_LINES, 1 + MOST_CHARACTERS // len(string))


def _likely_ends(string: str, mark: str) -> list[tuple[int, int]]:
    """The ends of lines with an odd number of quotes, each with the last quote before it: that which leaves the least
    text between quotes of this kind first."""
    marks = [each.start() for each in re.finditer(rf"(?<!\\){re.escape(mark)}", string)]
    # the text after the first, third, fifth … quote up to the next one, and after the others
    quoted, others = ([0], [0])
    for number, (one, other) in enumerate(pairwise(marks)):
        quoted.append(quoted[-1] + (0 if number % 2 else other - one))
        others.append(others[-1] + (other - one if number % 2 else 0))
    found: list[tuple[int, int, int]] = []
    at = before = 0
    for line in string.split("\n"):
        after = bisect_left(marks, at + len(line), before)
        if (after - before) % 2:
            end, last = at + len(line.rstrip(" \t\r\\")), marks[after - 1]
            here = end - last if after % 2 else 0
            found.append((quoted[after - 1] + here + others[-1] - others[min(after, len(marks) - 1)], end, last))
        at, before = at + len(line) + 1, after
    return [(end, last) for _, end, last in sorted(found)]


def _unclosed(string: str, opening: str, last: int | None = None) -> int | None:
    """The offset of a `$(`, `${` or `=(` on a line that lacks what closes it; None where adding that does not make a
    valid script.

    `last`: the last line to look at (from 0).

    bash names a quote instead where one precedes what is missing: `A="$(cmd "$x"`.
    """
    left, right = opening[-1], ")" if opening[-1] == "(" else "}"
    at = tried = 0
    for line in string.split("\n")[: None if last is None else last + 1]:
        if opening in line and line.count(left) > line.count(right) and line.lstrip()[:1] != "#":
            end = len(line.rstrip(" \t\r\\"))
            inside = _openings(line)
            places = [end, line.rfind('"'), *(each for each in _places(line) if inside[each][1] == opening)]
            for place in dict.fromkeys(places[:_PLACES]):
                if place <= 0 or (tried := tried + 1) > _most_tried(string):
                    continue
                if parse_valid(f"{string[: at + place]}{right}{string[at + place :]}") is not None:
                    offset, found = inside[place]
                    return at + (offset if found == opening else line.rfind(opening))
        at += len(line) + 1
    return None


def _places(line: str) -> list[int]:
    """Where what is not closed may end: before a quote, a blank or a bracket; the last first."""
    return [at for at in range(len(line) - 1, 0, -1) if line[at] in "\"'` \t])}/;|"]


def _openings(line: str) -> list[tuple[int, str]]:
    """For each place of a line, the innermost opening before it that nothing has closed yet: its offset and itself;
    an empty one where there is none. As bash reads it, in a substitution quotes begin anew."""
    stack: list[tuple[int, str]] = [(0, "")]
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(line):
        top, one, two = stack[-1][1], line[at], line[at : at + 2]
        before, long = stack[-1], False
        if top == "'":
            if one == "'":
                stack.pop()
        elif one == "\\":
            long = True
        elif one == top and one in '"`':
            stack.pop()
        elif two in ("$(", "${") or two == "=(" and top != '"':
            stack.append((at, two))
            long = True
        elif one in '"`' or one in "'(" and top != '"':
            stack.append((at, one))
        elif (one == ")" and top in ("$(", "=(", "(")) or (one == "}" and top == "${"):
            stack.pop()
        found += [before] * (1 + long)
        at += 1 + long
    return [*found[: len(line)], stack[-1]]


def _spliced(string: str) -> re.Match[str] | None:
    """The backslash before a line break that takes a keyword for an argument: without it the script is valid."""
    for match in islice(_SPLICED.finditer(string), _most_tried(string)):
        if parse_valid(f"{string[: match.start()]} {string[match.start() + 1 :]}") is not None:
            return match
    return None


def _quoted_length(word: Word) -> int:
    """An upper bound on the number of quoted characters in a word."""
    literals = [each for each in word.parts if isinstance(each, Literal) and each.quoted]
    return literals[-1].end - literals[0].start if literals else 0


def _describe(shown: str, words: str, found: bool) -> str:
    """The problem with the code at the place, and what to do about it."""
    token, unclosed = UNEXPECTED.search(words), UNCLOSED.search(words)
    if token is not None:
        return f"`{token[1]}` is unexpected; check with `bash -n`"
    if unclosed is not None:
        if found:
            return f"this `{unclosed[1]}` is never closed; close it, and check with `bash -n`"
        return f"`{unclosed[1]}` is missing in or after this command; add it, and check with `bash -n`"
    opening = shown.split(maxsplit=1)[0]
    if "end of file" in words and opening in CLOSES:
        return f"this `{opening}` has no `{CLOSES[opening]}`; add it"
    return f"{words.removeprefix('syntax error: ')}; check with `bash -n`"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./prepare
        for step in 1 2 3; do
            srun ./a.out "$step"
        «fi»
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export OPTIONS="--epochs 3
          --fast"
        srun ./a.out «"$HOME/in»
        for each in 1 2; do
            srun ./b.out "$each"
        done
        """,
        title="bash blames the last quote of the file",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        module load gcc
        «<<<<<<< HEAD»
        srun ./a.out --steps 10
        =======
        srun ./a.out --steps 20
        >>>>>>> longer
        """,
        title="a merge that was not finished",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        echo "[«$(»date "+%s"]: start - $(basename $PWD) - $USER" >> times_$(arch).log
        srun ./a.out
        """,
        title="the one that is open, and not the last on the line",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OUT="«${»SCRATCH:-/tmp/$(date +%s)" # of ${USER}
        srun ./a.out "$OUT"
        """,
        title="a brace that is never closed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./a.out
        ''«'»
        """,
        severity="warning",
        title="all work is done",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --mail-type=FAIL
        #SBATCH --mail-user=ada@site.org
        srun ./a.out
        ''«'»
        """,
        title="mail tells that it failed",
    ),
    Good("#!/bin/bash\n#SBATCH -N1\ncat > notes <<END\n<<<<<<< a\n=======\n>>>>>>> b\nEND\n", title="text in quotes"),
    Good("#!/bin/bash\n#SBATCH -N1\nif true; then\n  srun ./a.out\nfi\n"),
    Good("#!/bin/bash\n#SBATCH -N1\nsrun ./a.out\nexit\nnotes (of the last run)\n", title="never read"),
    Good("#!/bin/ksh\n#SBATCH -N1\nif true; then; srun ./a.out; fi\n", title="a different shell with its own grammar"),
]
