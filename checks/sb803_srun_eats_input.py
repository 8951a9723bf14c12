"""A loop over lines ends after one iteration: an srun in it reads the remaining lines.

srun passes its standard input on to all of its tasks, whether their programs read it or not, and so reads it to the
end. In `while read x; do srun ./work "$x"; done < list` that is the list: the job works on the first line and ends
COMPLETED.

A warning for a step in the background, which may read only a part of the input. Nothing is reported where a single line
is read (`head -n1 list | while read x`).

## Fix

Adds `--input=none` to the srun, which is safe: a program that should read the rest of the list would not be in a loop.
Unsafe where the srun is in a function. `< /dev/null` after the srun works as well, or a list on another descriptor:
`while read -u 3 x; do …; done 3< list`.

## References

srun(1), --input; live runs of Slurm 22.05: one iteration of three with a file, a pipe and a here-string, all three with
`--input=none` and with `< /dev/null`; a loop that starts the steps with `&` may lose lines, as bash (5.2) gives
/dev/null to a command in the background only where no loop or pipe around it redirects its input. ShellCheck's SC2095
is the same for ssh.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.input import Reader, is_read, readers
from sbatchlint.analysis.script.loops import fed_a_line
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Function, While
from sbatchlint.bash.syntax.walk import loops_of, nodes_of
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import Step
from sbatchlint.triggers import Steps

CARD = Card(
    "SB803", "srun-eats-input", severity="error", fix="sometimes", since="0.1.0",
    when=Steps(), seen="live runs of Slurm 22.05",
    unseen="A job that ends early and well: the loop ran once.",
)  # fmt: skip


_SHELLS = frozenset({"bash", "sh", "zsh", "eval", "ssh", "xargs", "parallel"})


def check(job: Job) -> Iterator[Finding]:
    if not commands_named(job, "read"):
        return
    steps = sorted(job.steps, key=_start_of)
    starts = [_start_of(each) for each in steps]
    for text, program in programs(job):
        of_one_line = set(map(id, fed_a_line(text.string, program)))
        functions = {each.name: each for each in nodes_of(program, Function)}
        for loop in sorted(loops_of(program), key=lambda each: each.start, reverse=True):
            body = [*(loop.condition if isinstance(loop, While) else ()), *loop.body]
            if id(loop) in of_one_line:
                continue
            found = list(readers(body, functions))
            read = next((each for each in found if is_read(text.string, each.command)), None)
            if read is None:
                continue
            for reader in found:
                span = text.span(reader.command.start, reader.command.end)
                for step in filter(_reads, steps[bisect_left(starts, span.start) : bisect_left(starts, span.end)]):
                    yield _finding(job, step, reader, text.span(read.command.start, read.command.end))


def _finding(job: Job, step: Step, reader: Reader, read: Span) -> Finding:
    happens = f"srun may consume input lines of the `read` on line {job.line(read.start)}"
    if not reader.background:
        happens = f"srun consumes the remaining input of the `read` on line {job.line(read.start)}"
        happens = f"{happens}, so the loop ends after this iteration"
    option = step.option("input")
    advice = "add --input=none to srun" if option is None else f"write --input=none in place of `{option.as_written}`"
    return Finding(
        step.place,
        f"{happens}; {advice}",
        "warning" if reader.background else None,
        related=[(read, "reads the same input")],
        fix=None if option is not None else partial(
            with_step_option,
            job,
            [step],
            "--input=none",
            "give srun no input",
            ("ntasks", "nodes"),
            safe=not reader.called,
        ),
    )


def _start_of(step: Step) -> int:
    return step.invocation.span.start


def _reads(step: Step) -> bool:
    """Whether a step of the script reads the standard input of its statement."""
    command = step.invocation
    starters = (command, *command.ancestors())
    if command.phase is Phase.TASK or any(each.name in _SHELLS or each.inputs for each in starters):
        return False
    option = step.option("input")
    passes_on = option is None or option.text is not None and (option.text == "all" or option.text.isdigit())
    is_set_otherwise = command.gets("SLURM_STDINMODE") or command.gets("SRUN_INPUT")
    return step.certain and passes_on and "pty" not in step.options and not is_set_otherwise


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        while read -r file; do
            «srun» --ntasks=1 ./work "$file"
        done < list.txt
        """,
        fixed={"--ntasks=1 ./work": "--ntasks=1 --input=none ./work"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        run() {
            «srun» ./work "$1" > "$1.log"
        }
        find data -name '*.nc' | while IFS= read -r file; do
            run "$file"
        done
        """,
        unsafe_fixed={"srun ./work": "srun --input=none ./work"},
        title="in a function, after a pipe",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=8
        while read -r file; do
            «srun» --ntasks=1 --exact ./work "$file" &
        done < list.txt
        wait
        """,
        fixed={"--ntasks=1 --exact": "--ntasks=1 --input=none --exact"},
        severity="warning",
        title="at the same time",
    ),
    Good("#!/bin/bash\n#SBATCH -n1\nwhile read -r file; do\n    srun ./work $file < /dev/null\ndone < list.txt\n"),
    Good("#!/bin/bash\n#SBATCH -n1\nwhile read -ru 3 file; do\n    srun ./work $file\ndone 3< list.txt\n"),
    Good("#!/bin/bash\n#SBATCH -n1\nfor file in $(cat list.txt); do\n    srun ./work $file\ndone\n", title="no input"),
]
