"""A word in a directive that is neither an option nor a value.

`sbatch: error: Invalid directive found in batch script: Job`: nothing is submitted. Mostly a value with a blank is not
quoted (`--job-name=My Job`), a list has blanks (`BEGIN, END`), a comment has no `#` (`--time=5 (minutes)`), or an
optional value has no `=` (`--exclusive user`). No shell reads a directive, so `#SBATCH $OPTIONS` is a stray word too.

What stands behind an empty word (`--comment ""`), or on the line of a `hetjob`, is not even refused: sbatch drops it
without a sound.

## Fix

By its shape: quotes the value, closes the list, writes `#` before the comment, `=` before an optional value, `--`
before an option's name. All are guesses at what was meant, and so unsafe; only a blank that a backslash joins to the
value, as releases from 24.05 on read it, is quoted safely. There is no fix where the shape says nothing.

## References

sbatch(1); getopt_long(3); `get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace

CARD = Card("SB104", "stray-word-in-directive", severity="error", fix="sometimes", since="0.1.0")

# The word that begins a component, and options behind it (read by releases before 21.08).
_SEPARATOR = re.compile(r"[ \t]*(hetjob|packjob)[ \t]+([^#\s].*)", re.IGNORECASE)


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for stray in job.directives.strays():
        fix = None
        if stray.edits:
            title = {"comment": "write # before the comment", "quote": "quote the value"}.get(
                stray.kind, "mend the word"
            )
            escaped = stray.kind == "escaped-blank" and stray.versions is not None
            fix = Fix(title, stray.edits, safe=escaped)
        message = f"{_fault(job, stray)}; {_advice(stray, job.versions.last)}"
        yield Finding(text.span(stray.start, stray.end), message, fix=fix)
    for line in job.directives.lines:
        if line.dropped is not None:
            backslash = job.source.text[line.dropped.start - 1] == "\\"
            yield from _dropped(job.source.slice(line.dropped), line, backslash)
        elif line.separator:
            yield from _behind_separator(job, line)


def _behind_separator(job: Job, line: Any) -> Iterator[Finding]:
    """Options on the line that begins a component."""
    string = job.directives.text.string
    found = _SEPARATOR.match(string, line.words_start, line.end)
    if found is None:
        return
    span = job.directives.text.span(found.start(2), line.end)
    edit = replace(job.directives.text.span(found.end(1), found.start(2)), f"{job.source.newline}#SBATCH ")
    message = f"sbatch reads nothing behind `{found.group(1)}`, so this is lost; write it on a line of its own"
    yield Finding(span, message, fix=Fix("write two lines", [edit]))


def _dropped(shown: str, line: Any, backslash: bool) -> Iterator[Finding]:
    """What stands behind the end of a line for sbatch."""
    words = shown.strip()
    dropped = line.dropped
    span = Span(dropped.start + len(shown) - len(shown.lstrip()), dropped.start + len(shown.rstrip()))
    if words[:7].lower() in ("hetjob", "packjob") or words[:6].lower() == "hetjob":
        message = (
            f"`{words.split()[0]}` begins a component only as the first word of a directive; write it on its own line"
        )
        yield Finding(span, f"{message}, and the options behind it on another")
    elif words and words[0] != "#" and backslash:
        yield Finding(span, "the backslash ends the line for sbatch, which does not read this; remove it")
    elif words and words[0] != "#":
        last = line.tokens[-1].text if line.tokens else ""
        advice = f"write `{last}=`" if last[:2] == "--" and "=" not in last else "remove the empty quotes"
        yield Finding(span, f"an empty word ends the line for sbatch, which does not read this; {advice}")


def _fault(job: Job, stray: Any) -> str:
    when = job.versions.in_brackets(stray.versions)
    if stray.kind == "escaped-blank":
        return f"a backslash joins a blank to a word only from 24.05 on; here sbatch refuses the script{when}"
    if stray.kind == "colon":
        return f"a word of a directive may not begin with `:`, and sbatch refuses the script{when}"
    if stray.kind == "glued":
        return f"`{stray.word}` is glued to `#SBATCH`, and sbatch refuses the script{when}"
    return f"`{stray.word}` is neither an option nor a value, and sbatch refuses the script{when}"


def _advice(stray: Any, newest: str) -> str:
    instead = stray.instead
    if stray.kind == "comment":
        return "write `#` before a comment"
    if stray.kind == "separator":
        return "remove it: options need nothing but a blank between them"
    if stray.kind == "backslash":
        return "remove the backslash: nothing continues a directive"
    if stray.kind == "placeholder":
        return "replace the placeholder"
    if stray.kind == "no-value":
        option = stray.setting.option
        if option is not None and option.argument(newest) == "optional":
            return f"remove it, or join a value with `=`: {stray.setting.written}=VALUE"
        return f"remove it, as {stray.setting.written} takes no value here"
    if stray.kind == "glued":
        return "write `#SBATCH ` and an option, or `##SBATCH` in front of what is switched off"
    if stray.kind == "expansion":
        return "write the options themselves, as no shell expands them here, or give them on sbatch's command line"
    if instead.strip():
        return f"write `{instead.strip()}`" if stray.kind != "quote" else f"quote the value: `{instead}`"
    if stray.kind == "colon":
        return "remove it, or quote the value that holds it"
    return "quote a value that holds blanks, and write `#` before a comment"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=My «Job»
        #SBATCH --time=5 «(minutes)»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --job-name="My Job"
        #SBATCH --time=5 # (minutes)
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN, «END» --mem=4 «G»
        #SBATCH --array=1-10 «%2»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN,END --mem=4G
        #SBATCH --array=1-10%2
        srun ./a.out
        """,
        title="blanks inside of a value",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --exclusive «user»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --exclusive=user
        srun ./a.out
        """,
        title="an optional value needs the =",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J my\\ «job» -N 2
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH -J "my job" -N 2
        srun ./a.out
        """,
        title="joined only from 24.05 on",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «nodes=2»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./a.out
        """,
    ),
    Good("#!/bin/bash\n#SBATCH -J 'My Job' --comment=\"a, b\"  # (prose)\n#SBATCH --mail-type\n#SBATCH END\n./a\n"),
    Good(
        "#!/bin/bash\n#SBATCH --time = 5\n#SBATCH --account=<project id> -J $(date +%F)\nsrun ./a.out\n",
        title="the cause is another one",
    ),
]
