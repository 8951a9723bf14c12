"""No mail is sent: no event is requested.

`--mail-user` says who gets mail; without `--mail-type` there is nothing to send. The other way round it works: mail
goes to the user who submitted the job. Where `##SBATCH --mail-type=END` is turned off, or the address is a
placeholder, it is only advice.

## Fix

Adds `--mail-type=END,FAIL` after the directives. Unsafe: perhaps other events are wanted, or none.

## References

sbatch(1).
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.near_misses import turned_off
from sbatchlint.analysis.directives.placeholders import find_placeholder
from sbatchlint.analysis.directives.typos import BLANK_AT_EQUALS, PLACEHOLDER, raw_value, typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.triggers import Options

CARD = Card(
    "SB131", "mail-user-without-type", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("mail-user"), seen="neilmunday/slurm-mail#6", certain=True, absent=True,
    unseen="Nothing: no mail arrives.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    off = next((each for each in turned_off(job) if each.name == "mail-type"), None)
    # A directive that sbatch does not read or know, or a comment, may name events.
    if off is None and re.search(r"(?i)mail[-_ ]?type", directives.text.string):
        return
    foreign = directives.foreign
    if foreign is not None and (not foreign.certain or any(each.name == "mail-type" for each in foreign.settings)):
        return
    for component in range(directives.components):
        setting = directives.last("mail-user", component)
        if setting is None or not setting.text or directives.last("mail-type", component) is not None:
            continue
        if typo(directives, setting) in (None, PLACEHOLDER, BLANK_AT_EQUALS):
            if off is not None:
                row = job.line(off.span.start)
                message = f"no mail is sent, as --mail-type on line {row} is commented out; write `#SBATCH` there"
                yield Finding(setting.span, message, "info", related=[(off.span, "a comment")])
                continue
            edits = [insertion(directives, "--mail-type=END,FAIL", component)]
            found = find_placeholder("mail-user", raw_value(directives, setting))
            unfilled = found is not None and "@example." not in setting.text  # what a document shows is complete
            fix = None if unfilled else Fix("add --mail-type=END,FAIL", edits)  # it would send mail to nobody
            message = "no mail is sent without --mail-type; add --mail-type=END,FAIL, or remove --mail-user"
            yield Finding(setting.span, message, "info" if unfilled else None, fix=fix)  # nobody misses it


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--mail-user=ada@example.org»
        #SBATCH --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"srun ./a.out": "#SBATCH --mail-type=END,FAIL\nsrun ./a.out"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--mail-user=username@uni.edu»\n#SBATCH --nodes=2\nsrun ./a.out\n",
        severity="info",
        title="an address that was never filled in has no fix",
    ),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org --mail-type=ALL\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mail-type=END\nsrun ./a.out\n", title="mail to the submitting user"),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org --mail-type=NONE\nsrun ./a.out\n", title="on purpose"),
    Bad(
        "#!/bin/bash\n#SBATCH «--mail-user=ada@example.org»\n##SBATCH --mail-type=END\nsrun ./a.out\n",
        severity="info",
        title="turned off",
    ),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n#PBS -m ae\nsrun ./a.out\n", title="by a PBS line"),
]
