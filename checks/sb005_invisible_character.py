"""A directive or an option is misread: a character only looks like a space, a dash or a quote.

Web pages, word processors and chat programs turn `--` into `–`, `"` into `“`, and spaces into no-break spaces. sbatch
knows none of them: `–nodes=2` is a word without an option (`Invalid directive found in batch script`), a no-break space
is part of the value before it, and sbatch stops reading directives at a line that holds nothing else. Text that may
well hold such characters, in a comment, a job name or a file name, is not reported. A warning where only the name of
the job or of its log gets such a character.

Nor does a program know such a dash: `python train.py –lr 0.1` passes a word without an option. A warning for `set –e`,
which sets `$1` instead, and for commands that only show something.

## Fix

Writes the plain character. Safe for spaces and for invisible characters: nothing else can have been meant. Unsafe for
dashes and quotes, of which there are two kinds and several uses.

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sbatchlint.bash.values import span_of, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, replace
from sbatchlint.programs import has_trait
from sbatchlint.slurm.model import Setting
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.analysis.directives.invisible_characters import Invisible

CARD = Card(
    "SB005", "invisible-character", severity="error", fix="sometimes", since="0.1.0", alone=True,
    seen="runs of Slurm 22.05 and 26.05", lasting=True,
)  # fmt: skip

_SEVERAL = {"blank": "spaces", "dash": "hyphens", "quote": "quotes"}
PLAIN = {"blank": "a space", "dash": "a hyphen", "quote": "a quote"}
ADVICE = {
    "blank": "write an ordinary space",
    "unseen": "remove it",
    "dash": "write `-`, or `--` before a long option",
    "quote": "write straight quotes",
}


# An option of a command behind a dash that is none.
_OPTION = Regex("[\u2010-\u2015\u2212]+-?(?=[A-Za-z])")


def check(job: Job) -> Iterator[Finding]:
    if not job.source.text.isascii():
        yield from _in_commands(job)
    text = job.directives.text
    if text.string.isascii():
        return
    # Few option blocks get this far.
    from sbatchlint.analysis.directives.invisible_characters import invisible_characters
    from sbatchlint.analysis.directives.lost_options import severity_of_loss

    for mark in invisible_characters(job.directives):
        name = f"the {mark.name} (U+{ord(mark.characters[0]):04X})"
        severity, at_ends = None, False
        title, edits_made = "replace the special characters", mark.edits or ()
        if mark.place == "magic":
            message = f"{name} hides this directive from sbatch; write a plain `#SBATCH`"
        elif mark.place == "stop":
            message = f"{name} turns this line into a command, so sbatch stops reading directives here; remove it"
        else:
            others = len(mark.characters) - 1
            advice = ADVICE[mark.kind]
            if others and len(set(mark.characters)) == 1:
                several = counted(others + 1, mark.name).replace("dashs", "dashes")
                name = f"the {several} (U+{ord(mark.characters[0]):04X})"
                if mark.kind == "unseen":
                    problem = f"{name} here are invisible, but sbatch reads them as part of words"
                    advice = "remove them"
                else:
                    problem = f"sbatch reads {name} here as part of words, not as {_SEVERAL[mark.kind]}"
            elif others:
                problem = f"sbatch does not read {name} and {counted(others, 'other character')} here as plain ones"
            elif mark.kind == "unseen":
                problem = f"{name} is invisible, but sbatch reads it as part of the word"
            else:
                problem = f"sbatch does not read {name} as {PLAIN[mark.kind]}"
            message = f"{problem}; {advice}"
            if mark.edits is not None:
                corrected = _corrected(text.string[mark.start : mark.end], mark.start, mark.edits)
                if corrected.strip():
                    at_ends = others > 0 and mark.kind != "unseen" and not set(" -\"'") & set(corrected.strip())
                    message = f"{problem}; {'remove them' if at_ends else f'write `{corrected.strip()}`'}"
                misread = _misread(job, mark, corrected)
                if at_ends and len(set(mark.characters)) == 1:
                    if len(misread) == 1:
                        message = f"sbatch takes {name} here as part of the value of --{misread[0].name}; remove them"
                    title, edits_made = "remove the special characters", tuple((*each[:2], "") for each in mark.edits)
                severity = severity_of_loss(job, misread)
        fix = None
        if mark.edits is not None:
            edits = [Edit(text.span(start, end), content) for start, end, content in edits_made]
            fix = Fix(title, edits, safe=mark.safe)
        yield Finding(text.span(mark.start, mark.end), message, severity, fix=fix)


def _in_commands(job: Job) -> Iterator[Finding]:
    """Findings on the options of commands; what is in quotes or only printed may well have such a dash."""
    seen = set[Span]()
    for command in job.invocations:
        if has_trait(command.name, "prints"):
            continue
        for field in command.argv[1:]:
            word = text_of(field)
            dashes = None if word is None else _OPTION.match(word)
            place = span_of(field)
            if dashes is None or place in seen or job.source.slice(place) != word or not _is_bare(job, place):
                continue
            seen.add(place)
            name = word[dashes.end() :]
            plain = "-" if len(name) == 1 else "--"
            mark = f"`{dashes[0]}` (U+{ord(word[0]):04X})"
            yield Finding(
                place,
                f"`{command.name}` does not read {mark} as a hyphen; write `{plain}{name}`",
                # `set –e` sets `$1`, and succeeds
                "warning" if command.name == "set" or has_trait(command.name, "looks") else None,
                fix=Fix("write hyphens", [replace(place, plain + name)]),
            )


def _is_bare(job: Job, place: Span) -> bool:
    """Whether a word begins without a quote."""
    return job.source.text[place.start - 1 : place.start].isspace()


def _misread(job: Job, mark: "Invisible", corrected: str) -> list[Setting]:
    """The settings that sbatch accepts with such characters in their values; none where other options are lost."""
    directives = job.directives
    if directives.problems:
        return []  # sbatch refuses the script
    within = range(mark.start, mark.end)
    found = [each for each in directives.settings if each.value_token and each.value_token.start in within]
    return found if sum(word[0] == "-" for word in corrected.split()) <= len(found) else []


def _corrected(words: str, start: int, edits: Sequence[tuple[int, int, str]]) -> str:
    """The words, which begin at `start`, after the edits."""
    for first, last, content in reversed(edits):
        words = words[: first - start] + content + words[last - start :]
    return words


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «–-time=10»  # from a web page
        srun ./a.out
        """,
        unsafe_fixed={"–-time=10": "--time=10"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -n 1
        srun python train.py «–lr» 0.1 --epochs 3
        """,
        unsafe_fixed={"–lr": "--lr"},
        title="an option of a program",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--nodes=2\u00a0--time=10»\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2 --time=10\nsrun ./a.out\n",
        title="a no-break space",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH«\u00a0-N2»\n#SBATCH «--mem=\u200b4G»\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH -N2\n#SBATCH --mem=4G\nsrun ./a.out\n",
        title="after the magic word, where nothing is visible",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--job-name=“my run”»
        srun ./a.out
        """,
        unsafe_fixed={"--job-name=“my run”": '--job-name="my run"'},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -N2\n«\u00a0»\n#SBATCH --time=10\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH -N2\n\n#SBATCH --time=10\nsrun ./a.out\n",
        title="a line that only looks blank",
    ),
    Bad("#!/bin/bash\n#SBATCH «--account=‘abc»\nsrun ./a.out\n", title="a quote alone"),
    Bad(
        "#!/bin/bash\n#SBATCH«\u200b\u200b» -N2\n#SBATCH «--mem=\u200b\u200b4G»\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH -N2\n#SBATCH --mem=4G\nsrun ./a.out\n",
        title="several of which nothing is visible",
    ),
    Good("#!/bin/bash\n#SBATCH --job-name=Größe --comment='it’s a – b'  # “a – b”\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -o 'Läufe – neu/%j.out'\nsrun ./a.out “x”\n", title="a file's name, a word"),
    Good(
        "#!/bin/bash\n#SBATCH -n 1\necho –lr – end\npython a.py --title '–b' a–b – 2\n",
        title="what is printed, quoted or no option",
    ),
]
