"""An option does not work in a script: it belongs on sbatch's command line.

`--wrap`, `--help`, `--version`, `--quiet` and `--verbose` are accepted in a directive and do nothing; for the last two,
which only say how much is printed, that is advice. `--test-only` means that the script can never be submitted: sbatch
prints an estimate and stops. `--uid` and `--gid` are for root, and refused for everybody else. `--parsable` and
`--wait` do take effect, for whoever submits the script: that is advice, too, and not reported where a comment after the
option says so.

`--dependency=afterok:4711` names one job. When the script is submitted again, that job is over: once slurmctld has
forgotten it, releases from 23.11 on refuse the script (`Job dependency problem`), earlier ones never start it, and
`afterany` waits for nothing, which is advice: that job is done.

An error where `--wrap` has the only command, so that the job does nothing and ends COMPLETED.

## Fix

Deletes the option. Unsafe: with `--test-only` and `--parsable` sbatch then behaves differently. None for `--wait`,
which may well be wanted, and for `--dependency`.

## References

sbatch(1); `sbatch_early_pass` in src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on Slurm 22.05 to 26.05; live
runs of `--dependency=afterok:99999` on the same.
"""

from collections.abc import Iterator
from itertools import groupby

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.script.work import weight
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

# What an option does in a directive, and what to do instead; options that are not listed do nothing.
EFFECTS = {
    "test-only": ("keeps the script from ever being submitted", "pass it on the command line"),
    "uid": ("is for root only: sbatch refuses the script of other users", "remove it"),
    "gid": ("is for root only: sbatch refuses the script of other users", "remove it"),
    "wrap": ("has no effect in a directive: sbatch runs the script itself", "remove it"),
    "parsable": ("changes what sbatch prints for everyone who submits this script", "pass it on the command line"),
    "wait": ("makes every submission of this script wait until the job ends", "pass it on the command line"),
}
INTENDED = ("parsable", "wait")
HARMLESS = (*INTENDED, "quiet", "verbose")

CARD = Card(
    "SB117", "command-line-option-in-directive", severity="error", fix="sometimes",
    since="0.1.0", when=Options(*EFFECTS, "dependency", "help", "quiet", "usage", "verbose", "version"),
)  # fmt: skip


# The id of a job in a dependency, with its type.
_OLD_JOB = Regex(r"(?:^|[,?])(?:(after\w*|expand):)?([1-9][0-9]{0,9})(?![0-9_])")


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    yield from _dependency(job)
    found = [each for each in directives.settings if _is_misplaced(job, each)]
    for _, group in groupby(found, key=lambda each: (id(each.token), each.name)):
        settings = list(group)  # `-vvv` gives one finding
        setting = settings[0]
        harmless = setting.name in HARMLESS
        if setting.name in INTENDED and (setting.line.comment is not None or job.is_embedded):
            continue  # the enclosing script, which submits it, reads what is printed, or waits
        instead = "pass it on the command line" if setting.name in ("quiet", "verbose") else "remove it"
        effect, instead = EFFECTS.get(setting.name, ("has no effect in a directive", instead))
        # The fix removes all of a line at once, so that the line is removed with them.
        same = [each for each in found if each.line is setting.line and (each.name in HARMLESS) == harmless]
        same = [each for each in same if each.name != "wait"]
        title = "remove " + ", ".join(each.written for each in same)
        fix = Fix(title, removal(directives, same)) if setting in same else None
        severity = "info" if harmless else "warning"
        if setting.name == "wrap" and _runs_nothing(job):
            effect, instead = "has no effect in a directive, and the script runs nothing", "write its command below"
            severity, fix = "error", None
        span = Span(setting.span.start, settings[-1].span.end)
        yield Finding(span, f"{setting.written} {effect}; {instead}", severity, fix=fix)


@once
def _runs_nothing(job: Job) -> bool:
    return not any(weight(job, each) for each in job.invocations)


def _dependency(job: Job) -> Iterator[Finding]:
    """The finding on a dependency on a job whose id the script has."""
    for component in range(job.directives.components):
        setting = job.directives.last("dependency", component)
        match = None if setting is None or not setting.text else _OLD_JOB.search(setting.text)
        if setting is None or match is None or typo(job.directives, setting) is not None:
            continue
        waits = match[1] in (None, "afterany", "after")
        then = "this job waits for nothing" if waits else "sbatch refuses the script"
        message = f"once Slurm has forgotten job {match[2]}, {then}; pass --dependency on sbatch's "
        # what it had to wait for is done then
        severity = "info" if waits else "warning"
        yield Finding(setting.value_place, f"{message}command line", severity)


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
        unsafe_fixed={"#SBATCH --test-only\n": ""},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--quiet»  # less noise
        srun ./a.out
        """,
        unsafe_fixed={"--quiet ": ""},
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--wrap="srun ./b.out"»
        srun ./a.out
        """,
        unsafe_fixed={'#SBATCH --wrap="srun ./b.out"\n': ""},
        severity="warning",
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
    Bad(
        "#!/bin/bash\n#SBATCH --dependency=«afterok:4711»\nsrun ./a.out\n",
        severity="warning",
        title="for one submission only",
    ),
    Bad("#!/bin/bash\n#SBATCH --dependency=«afterany:4711»\nsrun ./a.out\n", severity="info", title="done by then"),
    Good("#!/bin/bash\n#SBATCH --dependency=singleton\nsbatch --dependency=afterok:4711 next.sh\n", title="for any"),
    Good("#!/bin/bash\n#SBATCH -W  # return when it is done\nsrun ./a.out\n", title="on purpose"),
    Good("#!/bin/bash\n#SBATCH --wait-all-nodes=1\nsrun ./a.out\n", title="other options"),
    Good("#!/bin/bash\n#SBATCH --requeue --export=NONE\nsbatch --wait --parsable next.sh\n", title="a command line"),
]
