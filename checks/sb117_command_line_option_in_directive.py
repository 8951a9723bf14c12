"""An option that belongs on sbatch's command line is in the script.

`--wrap`, `--help`, `--version`, `--quiet` and `--verbose` are accepted in a directive and do nothing; for the last two,
which only say how much is printed, that is advice. `--test-only` means that the script can never be submitted: sbatch
prints an estimate and stops. `--uid` and `--gid` are for root, and refused for everybody else. `--parsable` and
`--wait` do take effect, for whoever submits the script: that is advice, too, and not reported where a comment after the
option says so.

## Fix

Deletes the option. Unsafe: with `--test-only` and `--parsable` sbatch then behaves differently. None for `--wait`,
which may well be wanted.

## References

sbatch(1); `sbatch_early_pass` in src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on Slurm 22.05 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal
from sbatchlint.triggers import Options

# What an option does in a directive, and what to do instead; options that are not listed do nothing.
EFFECTS = {
    "test-only": ("keeps the script from ever being submitted", "give it on the command line"),
    "uid": ("is for root, and sbatch refuses the script of anybody else", "remove it"),
    "gid": ("is for root, and sbatch refuses the script of anybody else", "remove it"),
    "wrap": ("does nothing in a directive, the script itself is run", "remove it"),
    "parsable": ("changes what sbatch prints to whoever submits this script", "give it on the command line"),
    "wait": ("makes every sbatch of this script wait for the end of the job", "give it on the command line"),
}
INTENDED = ("parsable", "wait")
HARMLESS = (*INTENDED, "quiet", "verbose")

CARD = Card(
    "SB117", "command-line-option-in-directive", severity="warning", fix="sometimes",
    since="0.1.0", when=Options(*EFFECTS, "help", "quiet", "usage", "verbose", "version"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    found = [each for each in directives.settings if _is_misplaced(job, each)]
    for index, setting in enumerate(found):
        # `-vvv` gives one finding.
        if index and found[index - 1].token is setting.token and found[index - 1].name == setting.name:
            continue
        harmless = setting.name in HARMLESS
        if setting.name in INTENDED and setting.line.comment is not None:
            continue
        instead = "give it on the command line" if setting.name in ("quiet", "verbose") else "remove it"
        effect, instead = EFFECTS.get(setting.name, ("does nothing in a directive", instead))
        # The fix removes all of a line at once, so that the line is removed with them.
        same = [each for each in found if each.line is setting.line and (each.name in HARMLESS) == harmless]
        same = [each for each in same if each.name != "wait"]
        title = "remove " + ", ".join(each.written for each in same)
        fix = Fix(title, removal(directives, same)) if setting in same else None
        severity = "info" if harmless else None
        last = setting
        for other in found[index + 1 :]:
            if other.token is not setting.token or other.name != setting.name:
                break
            last = other
        span = Span(setting.span.start, last.span.end)
        yield Finding(span, f"{setting.written} {effect}; {instead}", severity, fix=fix)


def _is_misplaced(job: Job, setting: Setting) -> bool:
    early = setting.option is not None and setting.option.early
    return (early or setting.name in EFFECTS) and typo(job.directives, setting) is None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--test-only»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--quiet»  # less noise
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2  # less noise
        srun ./a.out
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--wrap="srun ./b.out"»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--wait»
        srun ./a.out
        """,
        severity="info",
        title="takes effect",
    ),
    Good("#!/bin/bash\n#SBATCH -W  # return when it is done\nsrun ./a.out\n", title="on purpose"),
    Good("#!/bin/bash\n#SBATCH --wait-all-nodes=1\nsrun ./a.out\n", title="other options"),
    Good("#!/bin/bash\n#SBATCH --requeue --export=NONE\nsbatch --wait --parsable next.sh\n", title="a command line"),
]
