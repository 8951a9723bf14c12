"""Nobody gets a mail: no event is named.

`--mail-user` says to whom mail is sent; without `--mail-type` there is nothing to send. The other way round it works:
mail goes to the user who submitted the job.

## Fix

Adds `--mail-type=END,FAIL` behind the directives. Unsafe: perhaps other events are wanted, or none.

## References

sbatch(1).
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Options

CARD = Card(
    "SB131", "mail-user-without-type", severity="warning", fix="always", since="0.1.0",
    when=Options("mail-type", "mail-user"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    for setting in directives.unsent_mail():
        fix = Fix("add --mail-type=END,FAIL", [directives.insertion("--mail-type=END,FAIL", setting.component)])
        message = "no mail is sent without --mail-type; add --mail-type=END,FAIL, or remove --mail-user"
        yield Finding(setting.span, message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--mail-user=ada@example.org»
        #SBATCH --nodes=2
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-user=ada@example.org
        #SBATCH --nodes=2
        #SBATCH --mail-type=END,FAIL
        srun ./a.out
        """,
    ),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org --mail-type=ALL\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mail-type=END\nsrun ./a.out\n", title="mail to the submitting user"),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org --mail-type=NONE\nsrun ./a.out\n", title="on purpose"),
    Good(
        "#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n##SBATCH --mail-type=END\nsrun ./a.out\n", title="turned off"
    ),
    Good("#!/bin/bash\n#SBATCH --mail-user=ada@example.org\n#PBS -m ae\nsrun ./a.out\n", title="by a PBS line"),
]
