"""No mail arrives: the address has two at signs.

sbatch does not look at the address. The mail program of the site refuses `ada@@physics.edu`, or returns the mail to
the account that Slurm runs as, and nobody hears that the job began, ended or failed.

## Fix

Writes one at sign. Unsafe: perhaps more than that is wrong.

## References

RFC 5321, section 4.1.2; `_mail_proc()` in src/slurmctld/agent.c, Slurm 20.11 to 26.05; a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB134", "invalid-mail-address", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("mail-user"), seen="a review of public scripts",
    unseen="Nothing: no mail arrives.",
)  # fmt: skip

# An address with too many at signs, without what a template or a quoted name may have.
_TWICE = Regex(r"[\w.+-]+@[@\w.-]*@[\w.-]+")
_DOUBLED = Regex(r"@{2,}")


def check(job: Job) -> Iterator[Finding]:
    for component in range(job.directives.components):
        setting = job.directives.last("mail-user", component)
        if setting is None or not setting.text or typo(job.directives, setting) is not None:
            continue
        for address in setting.text.split(","):
            if _TWICE.fullmatch(address):
                good = _DOUBLED.sub("@", address)
                fix = None
                if good.count("@") == 1:
                    value = setting.text.replace(address, good)
                    fix = Fix(f"write {good}", [replacement(job.directives, setting, value)])
                advice = f"write `{good}`" if fix is not None else "write a single address"
                message = f"no mail arrives: `{address}` contains {address.count('@')} `@` signs; {advice}"
                yield Finding(setting.value_place, message, fix=fix)
                break


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=END
        #SBATCH --mail-user=«ada@@physics.edu»
        srun ./a.out
        """,
        unsafe_fixed={"--mail-user=ada@@physics.edu": "--mail-user=ada@physics.edu"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --mail-type=END\n#SBATCH --mail-user=«ada@cs@physics.edu»\nsrun ./a.out\n",
        title="a part that does not belong there",
    ),
    Good("#!/bin/bash\n#SBATCH --mail-type=END --mail-user=ada@physics.edu,bob@cs.physics.edu\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mail-type=END --mail-user=@@MAIL@@\nsrun ./a.out\n", title="in a template"),
]
