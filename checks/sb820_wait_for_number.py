"""Nothing waits: `wait 20` waits for the process with ID 20, not for 20 seconds.

`wait` takes process ids and `%job`s. A number written in the script is not one of its children: bash prints `pid 20 is
not a child of this shell`, goes on at once, and the status is 127. As the last command of the script that makes the job
FAILED although all went well; under `set -e` the script ends there. An error in these two cases, but a warning where
nothing reads the state of the job, and otherwise too: the script does not wait.

## Fix

Writes `sleep` instead. Unsafe: perhaps a bare `wait` or `wait "$pid"` is meant.

## References

bash(1), wait; seen with bash 5.2
"""

from collections.abc import Iterator

from sbatchlint.analysis.outcome.state_readers import state_reader
from sbatchlint.analysis.script.pipeline_runs import ends_script
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.source.numbers import is_number
from sbatchlint.triggers import Commands

CARD = Card(
    "SB820", "wait-for-number", severity="error", fix="sometimes", since="0.1.0", when=Commands("wait"), batch=True,
)  # fmt: skip

_FAILED = "the job is FAILED"


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    words = [text_of(field) for field in command.argv[1:]]
    if "wait" in command.state.functions or len(words) != 1 or not is_number(words[0] or ""):
        return
    number = words[0]
    if job.source.slice(command.span).split() != ["wait", number]:
        return  # the value of a variable
    ends = None
    if command is job.invocations[-1] and command.parent is None and not command.context.shell.depth:
        ends = _FAILED
    elif ends_script(job, command):
        ends = "`set -e` ends the script"
    in_background = any(each.context.background is not None for each in job.invocations[: command.index])
    if not ends and not in_background:
        message = f"`wait {number}` waits for a process ID, not for seconds, and returns 127 at once; remove it"
        yield Finding(command.span, message, "info")
        return
    yield Finding(
        command.span,
        f"`wait {number}` waits for a process ID, not for seconds, and returns 127 at "
        f"once{', so ' + ends if ends else ''}; write `sleep {number}`, or a bare `wait`",
        None if ends and (ends != _FAILED or state_reader(job, command) is not None) else "warning",
        fix=Fix("sleep instead", [replace(command.name_span, "sleep")], safe=False),
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --mail-type=FAIL --mail-user=kim@uni.edu
        srun ./solver
        «wait 20»
        """,
        unsafe_fixed={"wait": "sleep"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./server &
        «wait 10»
        srun --overlap ./client
        """,
        severity="warning",
        unsafe_fixed={"wait": "sleep"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun ./solver\n«wait 20»\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --nodes=1\nsrun ./solver\nsleep 20\n",
        severity="warning",
        title="nothing reads the state",
    ),
    Good("#!/bin/bash\n#SBATCH -N1\nsrun ./a &\nwait %1\nsrun ./b &\nwait $!\nsrun ./c &\nwait\n"),
]
