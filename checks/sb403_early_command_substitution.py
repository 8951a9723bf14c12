"""Every task gets the same output: the batch shell runs a command that was meant for the tasks.

In double quotes and in an unquoted heredoc, `$(hostname)` is run once, by the batch shell on the first node, before
srun starts the tasks. All tasks get the first node's name, address or interface: they claim to be the same node,
compare the wrong name, or write the same file. `$$`, `$RANDOM` and `$(mktemp)` in a file name are the same for all
tasks too.

A warning where a process gets its own node from it (`--local_addr`, `NODE_IP`), where the name is compared, and where
it is part of a file name; advice where it is only printed. What is meant for the whole job is not reported: an address
at which all tasks meet, a date, a port, and the value of a variable of its own.

A warning also for `srun $(train)` where the function does the work itself and writes to a file: the batch shell does
it, on the first node, and srun gets what the function printed as its command.

## Fix

A backslash before the `$` (backquotes become `$(…)`), so that the shell in each task runs the command. Safe where
exactly one shell reads the string again, and the command needs no variable of the batch shell. `$HOSTNAME` becomes
`$SLURMD_NODENAME`, because tasks inherit the first node's HOSTNAME.

## References

Run on Slurm 22.05, 23.11, 24.11 and 26.05: in double quotes all tasks of two nodes print the first node's name.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.early import (
    EarlyUse,
    Question,
    early_exports,
    early_uses,
    is_of_own_variable,
    may_be_expanded_early,
    worst_by_place,
)
from sbatchlint.analysis.expansion.escapes import deferred_to_tasks
from sbatchlint.analysis.expansion.varying import (
    NODE,
    PLACE_VARIABLES,
    VARYING_OUTPUTS,
    of_task,
    variation,
    variation_of_output,
)
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Expansion, Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB403", "early-command-substitution", severity="warning", fix="sometimes", since="0.1.0", when=Steps(),
    seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

CONSEQUENCE = {
    "rank": "claims to be on that node",
    "test": "compares that name",
    "file": "writes the same file",
    "label": "gets the same label",
}
# Options and variables that give a process the name or address of its own node.
_OPTIONS = frozenset(
    {"local-addr", "node-ip", "node-ip-address", "host-ip", "node-name", "nodename", "local-ip", "local-hostname"}
)
_VARIABLES = frozenset(
    {"NODE_IP", "VLLM_HOST_IP", "LOCAL_IP", "NODE_NAME", "NODE_HOSTNAME", "LOCAL_ADDR"}
    | {"LOCAL_HOSTNAME", "MY_NODE", "MY_HOSTNAME", "THIS_NODE", "RAY_NODE_IP_ADDRESS", "NODE_IP_ADDRESS"}
)
# srun with nothing but options, up to the substitution that is its command.
_ONLY_OPTIONS = Regex(r"\S*srun\s+(?:--?[A-Za-z]\S*\s+(?:[\w:,./$][\w:,./$-]*\s+)?)*(?:\$\(|`)\s*")
# What follows a command whose output goes to a file, also after the end of a group.
_INTO_FILE = Regex(r"[^\n>|]*(?:&|(?<![2&]))>>?[ \t]*[^\s&|]")


def _is_of_place(expansion: Expansion) -> bool:
    """Whether the value depends on the node or process that expands it, apart from variables of Slurm's tasks."""
    return not of_task(expansion) and variation(expansion) is not None


@once
def _may_have_places(job: Job) -> bool:
    if may_be_expanded_early(job, PLACE_VARIABLES):
        return True
    substituted = [each for each in job.invocations if each.name in VARYING_OUTPUTS and each.context.captured]
    return any(variation_of_output(list(filter(None, map(text_of, each.argv)))) for each in substituted)


PLACES = Question(_is_of_place, _OPTIONS, _VARIABLES, _may_have_places)


def check(job: Job) -> Iterator[Finding]:
    yield from _work(job)
    # what a step inherits was assigned in the batch shell, to a variable whose name says what it is for
    uses = [use for use in early_uses(job, PLACES) if use.consumer == "rank" or not is_of_own_variable(job, use)]
    for use in worst_by_place(use for use in (*uses, *early_exports(job, PLACES)) if use.is_harmful and _is_fault(use)):
        name = use.expansion.name
        does = f"runs {name}" if name.startswith("$(") else f"expands ${name}"
        repair = deferred_to_tasks(job, use, frozenset())
        fix, advice = None, "run it in each task's own shell"
        if repair is not None:
            fix, advice = Fix("let the task expand it", repair.edits, repair.safe), repair.text
        yield Finding(
            use.expansion.span,
            f"the batch shell {does} on the first node, so every task on line {job.line(use.step.span.start)} "
            f"{CONSEQUENCE[use.consumer]}; {advice}",
            "info" if use.consumer == "label" else "warning",
            related=[(use.step.invocation.name_span, "the tasks start here")],
            fix=fix,
        )


def _work(job: Job) -> Iterator[Finding]:
    """Findings on functions whose work a substitution in place of a step's command does before srun starts."""
    working = [each for each in job.invocations if each.context.calls and _writes_results(job, each)]
    for step in job.steps if working else ():
        for command in working:
            inner, function = command.context.shell.span, command.context.calls[0]
            before = job.source.text[step.invocation.span.start : inner.start]
            if step.invocation.span.contains(inner) and _ONLY_OPTIONS.fullmatch(before):
                starts = f"`{command.name}`" if command.name else "the program"
                # as many as now, and what the function sets must not get out of its subshell
                call = f"`( {function} )`, without srun and `$( )`"
                yield Finding(
                    inner,
                    f"the batch shell itself runs `{function}`, and srun gets only its output; "
                    f"put `srun -N1 -n1` before {starts} in the function, and call it as {call}",
                    "warning",
                    related=[(command.span, "runs in the batch shell")],
                )
                break


def _writes_results(job: Job, command: Invocation) -> bool:
    """Whether a command is work that a substitution does in the batch shell, with its output in a file."""
    context = command.context
    if context.shell.kind != "substitution" or context.phase is not Phase.BATCH or command.calls_function:
        return False
    if weight(job, command) < Weight.PROGRAM:
        return False
    if any(each.operator in (">", ">>", "&>", "&>>", ">|") and each.fd != "2" for each in command.redirects):
        return True
    return _INTO_FILE.match(job.source.text, command.span.end) is not None


def _is_fault(use: EarlyUse) -> bool:
    """Whether the use makes no sense with one value for all tasks; the first node's address, for example, does."""
    found = variation(use.expansion)
    if found is None or found.by == NODE and not use.step.several_nodes:
        return False
    if use.consumer in ("rank", "test"):
        return found.name
    if use.consumer == "file":
        return found.name or found.by != NODE
    return use.consumer == "label" and found.by == NODE


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c "torchrun --nnodes=4 --local_addr=«$(hostname -s)» --rdzv_endpoint=$HEAD:29500 train.py"
        """,
        fixed={"--local_addr=$(hostname": "--local_addr=\\$(hostname"},
        title="each node gets the first one's address",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash <<EOF
        ./monitor > usage.«`hostname`».log
        EOF
        """,
        fixed={"usage.`hostname`.log": "usage.\\$(hostname).log"},
        title="one file for all nodes; backquotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export VLLM_HOST_IP=«$(hostname -i)»
        srun vllm serve model
        """,
        title="a variable that the step inherits",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c "echo «$HOSTNAME» is ready"
        """,
        fixed={"$HOSTNAME": "\\$SLURMD_NODENAME"},
        severity="info",
        title="only printed",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        export MASTER_ADDR=$(hostname)
        srun bash -c "torchrun --nnodes=4 --node_rank=\\$SLURM_NODEID --master_addr=$MASTER_ADDR train.py"
        srun bash -c "torchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py"
        """,
        title="the address of the first node, for all",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        srun bash -c 'torchrun --local_addr=$(hostname -s) train.py > $(hostname).log'
        """,
        title="single quotes",
    ),
]
