"""Some mail is not sent: sbatch drops words of `--mail-type` that it does not know.

`--mail-type=BEGIN,END,REQUE` is accepted, and no mail is ever sent on a requeue. Only where it knows none of the words,
sbatch refuses the script: `Invalid --mail-type specification`. The words are BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND,
STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50, ARRAY_TASKS, ALL (which includes no time limits) and
NONE, in any case, separated by commas.

A warning where only some words are dropped; an error where sbatch refuses all of them.

## Fix

Writes the words that were probably meant (`ENDS`: END; `TIMEOUT`: TIME_LIMIT; `END|FAIL`: END,FAIL). A guess, and so
unsafe.

## References

sbatch(1); `parse_mail_type()` in src/common/proc_args.c, Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.directives.wrong_values import span_of_words, wrong_values
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, corrected
from sbatchlint.slurm.grammar import mail
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.triggers import Options, Refused

CARD = Card(
    "SB127", "unknown-mail-type", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Options("mail-type") | Refused("mail-type"),
    seen="NREL/HPC, applications/plexos; live runs of Slurm 22.05 and 26.05",
)  # fmt: skip

EVENTS = "write events such as BEGIN, END, FAIL, REQUEUE or ALL"


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "mail-type"):
        fault = wrong.fault if wrong.instead is not None else f"{wrong.fault}; {EVENTS}"
        yield corrected(wrong.span, fault, wrong.instead, wrong.edits, wrong.versions)
    yield from _dropped_words(job)


def _dropped_words(job: Job) -> Iterator[Finding]:
    """Findings where sbatch accepts a list of events, but ignores some of its words."""
    for setting in job.directives.every_setting:
        text = setting.text
        if setting.name != "mail-type" or not text or typo(job.directives, setting) is not None:
            continue
        read = mail.events(text)
        if read.unknown and (read.events or read.none):
            guesses = [mail.meant(word) for word in read.unknown]
            missing = {each for guess in guesses for each in mail.events(guess or "").events} - {*read.events}
            instead = None if None in guesses else " and ".join(dict.fromkeys(each for each in guesses if each))
            whole = mail.corrected(text)
            is_lost = instead is None or read.none or bool(missing)
            fix = None
            if instead is not None and whole is not None:
                title = f"write {instead}" if is_lost else f"remove {' and '.join(read.unknown)}"
                fix = Fix(title, [replacement(job.directives, setting, whole)])
            predicate = "is not a mail event" if len(read.unknown) == 1 else "are not mail events"
            message = f"sbatch silently drops {_quoted(read.unknown)}, which {predicate}"
            if all(each != each.strip() for each in read.unknown):
                message = f"sbatch silently drops {_quoted(read.unknown)} as there are spaces in the list"
            pronoun, verb = "it" if len(read.unknown) == 1 else "them", "are" if " and " in (instead or "") else "is"
            advice = EVENTS if instead is None else f"write {instead}"
            if not is_lost:
                advice = f"remove {pronoun}, as {instead} {verb} already set"
            span = span_of_words(job.directives, setting, read.unknown)
            yield Finding(span, f"{message}; {advice}", "warning" if is_lost else "info", fix=fix)
        elif read.none:
            others = tuple(word for word in text.split(",") if word and word.upper() != "NONE")
            if others:
                message = f"`NONE` turns off all mail, even for {_quoted(others)}; remove `NONE`"
                yield Finding(span_of_words(job.directives, setting, others), message, "warning")


def _quoted(words: tuple[str, ...]) -> str:
    return " and ".join(f"`{word}`" for word in words)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN,END,«REQUE»
        srun ./a.out
        """,
        unsafe_fixed={"--mail-type=BEGIN,END,REQUE": "--mail-type=BEGIN,END,REQUEUE"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=«ENDS» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"--mail-type=ENDS": "--mail-type=END"},
        title="no word is known: refused",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=«END|FAIL»
        srun ./a.out
        """,
        unsafe_fixed={"--mail-type=END|FAIL": "--mail-type=END,FAIL"},
        title="the separator is a comma",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=FAIL,«TIMEOUT»
        srun ./a.out
        """,
        unsafe_fixed={"--mail-type=FAIL,TIMEOUT": "--mail-type=FAIL,TIME_LIMIT"},
        title="a state of sacct, not an event",
        severity="warning",
    ),
    Bad("#!/bin/bash\n#SBATCH --mail-type=NONE,«FAIL»\nsrun ./a.out\n", title="after NONE", severity="warning"),
    Good("#!/bin/bash\n#SBATCH --mail-type=end,Fail,TIME_LIMIT_80\nsrun ./a.out\n", title="any case"),
    Good("#!/bin/bash\n#SBATCH --mail-type=ALL,ARRAY_TASKS,\nsrun ./a.out\n", title="an empty word is ignored"),
    Good("#!/bin/bash\n#SBATCH --mail-type=NONE\nsrun ./a.out\n"),
]
