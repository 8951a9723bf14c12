"""A variable is empty: the batch script reads what only the tasks of a step have.

srun gives its tasks variables that describe the step: SLURM_STEP_NODELIST, SLURM_STEP_NUM_NODES, SLURM_STEP_GPUS,
SLURM_LAUNCH_NODE_IPADDR and others. The batch script is not part of any step. There these variables are empty
(SLURM_STEP_ID is -5 in the batch script of Slurm 26.05), so that a host file stays empty or a loop runs over nothing.

Advice where the value is only printed (also by `printenv`) or is part of a label, and a warning where something only
looks it up, and where it only is in the name of a log. Nothing is reported where the script has a default, or tests the
value.

## Fix

None: most have a counterpart for the whole job, such as SLURM_JOB_NODELIST, but only the author knows whether the job
or the step was meant.

## References

env_array_for_step() in src/common/env.c, Slurm 20.11 to 26.05; environments of live jobs on 22.05 to 26.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.reach import Reach, is_told, reach_of
from sbatchlint.analysis.expansion.reads import Use, unprepared_reads, use_of
from sbatchlint.bash.interpreter.redirects import redirects_output
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Text
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_of
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import Entry, variables
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Variables

# Variables that tasks always have, and the batch shell never; SLURM_STEP_ID is -5 there in 26.05.
OF_STEPS = {
    name: entry for name, entry in variables().items() if entry.when in ("always", "gpus") and entry.batch <= {"26.05"}
}

CARD = Card(
    "SB405", "step-variable-in-batch", severity="error", fix="never", since="0.1.0",
    when=Variables(*sorted(OF_STEPS)) | Commands("perl*", "python*", "awk*", "gawk*", "ruby*"), batch=True,
)  # fmt: skip

# Languages of inline programs, and how they read an environment variable without a default.
_LANGUAGES = frozenset({"perl", "python", "awk", "gawk", "ruby"})
_ENVIRONMENT_READ = Regex(r"(?:\bENV\{\s*|\benviron\[\s*|\bENVIRON\[\s*|\bENV\[\s*)[\"']?(SLURM_\w+)[\"']?\s*[\]}]")
# A default right after the read; the variable that gets the value; and a test of that variable.
_DEFAULT = Regex(r"\s*\)?\s*(?:\|\||//|or\b|\?)")
_TARGET = Regex(r"[$@]?\b([A-Za-z_]\w*)\s*=(?![=~])[^=;\n]*\Z")
_TEST = r"(?:\b(?:if|unless|while|until)\b|\?)[^;{{}}\n]{{0,40}}\b{name}\b|\b{name}\s*(?:\|\||//|or\b|\?)"


def check(job: Job) -> Iterator[Finding]:
    for read in unprepared_reads(job):
        entry = OF_STEPS.get(read.name)
        if entry is None or read.context.phase is not Phase.BATCH or job.versions.majors[0] not in entry.task:
            continue
        use = use_of(job, read)
        only_shown = use.kind == "print"
        if use.kind == "argument" and use.command is not None:
            only_shown = has_trait(use.command.name, "looks")
        if use.kind != "guard":
            # what a file, a pipe or `$(…)` makes of it may count
            only_shown = only_shown or reach_of(job, read) is Reach.LOG
            told = is_told(job, use) or only_shown and _lists_variables(use)
            severity = "info" if told else "warning" if only_shown else "error"
            yield _finding(read.span, entry, severity, use.command)
    for span, entry in _in_other_languages(job):
        yield _finding(span, entry, "error")


def _lists_variables(use: Use) -> bool:
    """Whether the command would only print the variable into the log: without a name `printenv` prints all of them."""
    command = use.command
    if command is None or command.name != "printenv" or command.piped_to or command.context.captured:
        return False
    return not redirects_output(command.redirects)


def _in_other_languages(job: Job) -> Iterator[tuple[Span, Entry]]:
    """Where an inline program in another language reads such a variable from its environment."""
    for command in commands_of(job, lambda program: program.rstrip("0123456789.") in _LANGUAGES):
        if command.phase is not Phase.BATCH or command.name is None:
            continue
        words = zip(command.argv[1:], command.words[1:], strict=True)
        texts = [Text(field) for field, word in words if "SLURM_" in word]
        for text in (*texts, *filter(None, [command.stdin])):
            for match in _ENVIRONMENT_READ.finditer(text.string):
                entry = OF_STEPS.get(match[1])
                if entry is not None and not entry.batch and not _is_tested(text.string, match):
                    yield text.span(*match.span(1)), entry


def _is_tested(text: str, read: re.Match[str]) -> bool:
    """Whether a default follows, or a test of the variable that gets the value: `$n = 8 if $n == 0`."""
    if _DEFAULT.match(text, read.end()):
        return True
    target = _TARGET.search(text, max(0, read.start() - 100), read.start())
    if target is None:
        return False
    tested = _TEST.format(name=target[1])
    return re.compile(tested).search(text, read.end()) is not None


def _finding(span: Span, entry: Entry, severity: str, command: Invocation | None = None) -> Finding:
    empty = "empty here (-5 in Slurm 26.05 and later)" if entry.batch else "empty here"
    if command is not None and command.name == "printenv":
        twin = entry.twin or entry.name
        happens = f"{entry.name} is {empty}, so `printenv` prints all variables"
        return Finding(span, f"{happens}; write `printenv {twin}`", severity)
    advice = f"for the whole job write `{entry.twin}`" if entry.twin else "read it in the task"
    return Finding(span, f"{entry.name} exists only in tasks that srun starts, so it is {empty}; {advice}", severity)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        scontrol show hostnames «$SLURM_STEP_NODELIST» > hostfile
        mpirun --hostfile hostfile ./solve
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=4
        gpus=«${SLURM_STEP_GPUS}»
        srun ./train "$gpus"
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "started from «$SLURM_LAUNCH_NODE_IPADDR»"
        """,
        severity="info",
        title="only printed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        hosts=$(perl -e 'print join "\\n", split /,/, $ENV{"«SLURM_STEP_NODELIST»"}')
        mpirun --host "$hosts" ./solve
        """,
        title="perl continues with an empty string",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'echo "step $SLURM_STEP_ID on $SLURM_STEP_NODELIST"'
        """,
        title="in the tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        NODES=${SLURM_STEP_NODELIST:-$SLURM_JOB_NODELIST}
        scontrol show hostnames "$NODES" > hostfile
        """,
        title="with a default",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        perl -e '$n = split /,/, $ENV{"SLURM_STEP_GPUS"};
        $n = 4 if $n == 0;
        print "slots=$n\\n"; print "on ", $ENV{SLURM_STEP_NODELIST} || "any node"' > hostfile
        mpirun --hostfile hostfile ./solve
        """,
        title="perl tests what it has read",
    ),
]
