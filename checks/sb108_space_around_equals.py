"""An option loses its value: there is a space next to its `=`.

`--time = 5` gives `--time` the value `=` and leaves a stray word `5`; `--time= 5` gives it an empty value. Most scripts
are refused at submission for the stray word; `--job-name =train` is accepted, and names the job `=train`: a warning.

## Fix

Closes the gap. Safe: no value is meant to be a lone `=`. Plain words that follow a name or a comment are quoted with
it. Unsafe where other words follow, for which sbatch refuses the script all the same.

## References

getopt_long(3); seen on Slurm 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import severity_of_loss
from sbatchlint.analysis.directives.placeholders import enclosing_placeholder
from sbatchlint.analysis.directives.typos import gap_at_equals
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Written

CARD = Card(
    "SB108", "space-around-equals", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Written("equals"), seen="runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


# Options whose value is text for people.
_FREE_TEXT = frozenset({"job-name", "comment", "wckey"})
_PLAIN = Regex(r"[A-Za-z0-9][\w.+-]*(?: +[A-Za-z0-9][\w.+-]*)*")


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for setting in job.directives.settings:
        gap = gap_at_equals(job.directives, setting)
        if gap is None:
            continue
        value = f"the value `{gap.value}`" if gap.value else "an empty value"
        advice, fix, last = "write no spaces around the `=`", None, gap.last
        if gap.end is not None and enclosing_placeholder(text.string, gap.end, gap.end, setting.line.end) is not None:
            advice = "write the value right after the `=`"
        elif gap.end is not None:
            option = f"--{setting.name}" if setting.written[:2] == "--" else setting.written  # in full
            rest = _words_after(setting, gap.last)
            value_of_words = text.string[gap.end : rest or gap.last]
            if rest is not None and setting.name in _FREE_TEXT and _PLAIN.fullmatch(value_of_words):
                value_of_words, last = f'"{value_of_words}"', rest
                edits = [replace(text.span(gap.start, rest), f"{gap.sign}{value_of_words}")]
                fix = Fix("remove the space before the value, and quote it", edits, safe=True)
            else:
                value_of_words = text.string[gap.end : gap.last]
                edits = [replace(text.span(gap.start, gap.end), gap.sign)]
                fix = Fix("remove the spaces", edits, safe=rest is None)
            advice = f"write `{option}{gap.sign or '='}{value_of_words}`"
        span = Span(setting.option_span.start, text.span(gap.start, last).end)
        # What comes after a value that is accepted is a stray word, for which sbatch refuses the script.
        is_accepted = setting.value_token is not None and setting.value_token.end == gap.last
        severity = severity_of_loss(job, [setting]) if is_accepted else None
        message = f"the space ends the option, so --{setting.name} gets {value}"
        if not is_accepted or any(each.setting is setting for each in job.directives.refused):
            message = f"sbatch refuses the script: the space makes --{setting.name} get {value}"
        yield Finding(span, f"{message}; {advice}", severity, fix=fix)


def _words_after(setting: Setting, last: int) -> int | None:
    """The end of the words that follow the value and are not options; None if there are none."""
    end = None
    for token in setting.line.tokens:
        if token.start >= last:
            if token.text[:1] == "-":
                break
            end = token.end
    return end


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--job-name= Conus2.5 Download»
        #SBATCH --nodes=2
        srun ./a.out
        """,
        fixed={"--job-name= Conus2.5 Download": '--job-name="Conus2.5 Download"'},
        title="a name of two words",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--time = 5»
        srun ./a.out
        """,
        fixed={"--time = 5": "--time=5"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 «--ntasks =4»  # tasks
        srun ./a.out
        """,
        fixed={"--ntasks =4": "--ntasks=4"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--output= "logs/my run.out"»
        srun ./a.out
        """,
        fixed={'--output= "logs/my': '--output="logs/my'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-t = 5»
        srun ./a.out
        """,
        fixed={"= 5": "5"},
    ),
    Bad("#!/bin/bash\n#SBATCH «--account= <your» project>\nsrun ./a.out\n", title="a placeholder of two words"),
    Good("#!/bin/bash\n#SBATCH --time=5 -n 4 --nodes 2\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment '= 5' --job-name=\nsrun ./a.out\n", title="quoted, and empty on purpose"),
]
