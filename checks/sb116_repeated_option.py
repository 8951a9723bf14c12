"""An option is given twice in the option block: only the last one counts.

sbatch reads all `#SBATCH` lines in order, and a later value replaces an earlier one without a word, also where it looks
like a list (`--gres`, `--export`, `--licenses`). Several `--mail-type` lines did add up until 24.11; from 25.05 on only
the last counts, so that after an upgrade mails fail to come. The same option given twice with the same value is only
advice. Each component of a heterogeneous job has options of its own.

## Fix

Several `--mail-type` become one list, which means the same to every release: safe. Removing an option that is given
again with the same value is safe too. Where values differ, the fix removes the one that has no effect, or makes one
list of things that differ: a guess, and so unsafe.

## References

sbatch(1); `arg_set_mail_type()` and its likes in src/common/slurm_opt.c, Slurm 20.11 to 26.05; CHANGELOG of 25.05;
pyxis args.c, 0.11 to 0.24; seen on 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.triggers import Options

CARD = Card("SB116", "repeated-option", severity="warning", fix="sometimes", since="0.1.0", when=Options())


def check(job: Job) -> Iterator[Finding]:
    for repeat in job.directives.repeats():
        name, line = f"--{repeat.last.name}", job.line(repeat.last.span.start)
        related = [(repeat.last.span, "this one counts")]
        place = f"on line {line}" if line != job.line(repeat.setting.span.start) else "later on the line"
        severity = None
        fix: Fix | None = Fix(f"remove the first {name}", job.directives.removal([repeat.setting]))
        if repeat.kind == "same":
            message, severity = f"{name} is given again {place}, and says the same; remove one of them", "info"
            fix = Fix(f"remove the first {name}", job.directives.removal([repeat.setting]), safe=True)
        elif repeat.kind == "mail":
            message, fix = _mail(job, repeat, place)
        elif repeat.kind == "once":
            message = f"pyxis refuses {name} with another value {place}; remove one of them"
        elif repeat.is_list:
            merged = _one_list(job, repeat)
            message = f"{name} is given again {place}: the values do not add up, and only the last counts"
            message += "; write one list" if merged else "; keep one of them, or write all of it there"
            fix = merged or fix
        else:
            message = (
                f"this has no effect, as {name} is given again {place}, and the last one counts; remove one of them"
            )
        yield Finding(repeat.setting.span, message, severity, related, fix)


def _mail(job: Job, repeat: Any, place: str) -> tuple[str, Fix | None]:
    adding = repeat.adds_up_in(job.versions.majors)
    if not adding:
        message = f"--mail-type is given again {place}, and only the last counts; write one list"
    elif len(adding) == len(job.versions.majors):
        message = f"--mail-type is given again {place}, and from Slurm 25.05 on only the last counts; write one list"
    else:
        message = f"--mail-type is given again {place}: before 25.05 they add up, since then only the last counts"
        message += "; write one list"
    settings = [each for each in job.directives.settings if each.name == "mail-type"]
    settings = [each for each in settings if each.component == repeat.last.component]
    merged = repeat.merged_mail_type(settings)
    if merged is None:
        return message, None
    edits: list[Edit] = [*job.directives.removal(settings[:-1]), job.directives.replacement(settings[-1], merged)]
    return message, Fix("write one list", edits, safe=True)


def _one_list(job: Job, repeat: Any) -> Fix | None:
    merged = repeat.merged_list()
    if merged is None:
        return None
    edits = [*job.directives.removal([repeat.setting]), job.directives.replacement(repeat.last, merged)]
    return Fix("write one list", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--time=1:00:00»
        #SBATCH --nodes=2
        #SBATCH -t 4:00:00
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH -t 4:00:00
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--mail-type=BEGIN»
        #SBATCH --mail-type=END,FAIL
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN,END,FAIL
        srun ./a.out
        """,
        title="mails that no longer come after an upgrade",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres=gpu:2»
        #SBATCH --gres=nvme:100
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:2,nvme:100
        srun ./a.out
        """,
        title="lists do not add up",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-N 2» --time=60
        #SBATCH --nodes=2
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=60
        #SBATCH --nodes=2
        srun ./a.out
        """,
        severity="info",
        title="the same again",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --mail-type=END
        #SBATCH hetjob
        #SBATCH --nodes=4
        srun ./a.out
        """,
        title="each component has its own",
    ),
    Good("#!/bin/bash\n#SBATCH --container-mounts=/a:/a\n#SBATCH --container-mounts=/b:/b\nsrun ./a.out\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --partition=short
        # uncomment on the new nodes
        #SBATCH --partition=long
        srun ./a.out
        """,
        title="said to be an alternative",
    ),
]
