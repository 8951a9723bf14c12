"""A failure is ignored: `$?` is read too late, when it is the status of another command.

`$?` is the status of the last command, whatever that was. After `srun ./solver; echo "solver ended"` it is that of
`echo`, which is always 0, and likewise after `export OMP_NUM_THREADS=4` and other assignments; after
`srun ./solver | tee log` it is that of `tee`. The test that was meant to catch a failure never does, and the job goes
on, and ends COMPLETED.

An `if` that tests the first status has a status of its own: 0 if its branch for failures ends in `echo`, and 0 if it
has no such branch.

A warning, as only runs that fail are concerned; advice where the status is only printed.

## Fix

None: `status=$?` right after the command keeps the status; test that variable.

## References

bash(1), Special Parameters
"""

from collections.abc import Iterator

from sbatchlint.analysis.outcome.lost_statuses import has_pipefail, name_of_status
from sbatchlint.analysis.script.appending import last_line
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.exit_status import exit_statuses
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, shortened
from sbatchlint.job.argv import shown_program
from sbatchlint.source.regex import Regex

CARD = Card("SB720", "status-read-too-late", severity="warning", fix="never", since="0.1.0", batch=True)

_KEEPS = Regex(r"\s*\w+=\$\?\s*")


def check(job: Job) -> Iterator[Finding]:
    for late in exit_statuses(job).late:
        severity, test = ("info", "print") if late.use == "printed" else ("warning", "test")
        name = f"`{shown_program(late.work)}`" if late.work.name else "the command"
        if late.by is None:
            run = next(iter(runs_of(job, late.work)), None)
            ends = run.elements[-1][0] if run is not None and len(run.elements) > 1 else None
            if ends is not None and ends.name is not None:
                instead = f"{test} `${{PIPESTATUS[0]}}`, or add `set -o pipefail`"
                if not has_pipefail(job):
                    instead = "run the script with bash and `set -o pipefail`"
                yield Finding(
                    late.read,
                    f"`$?` is the status of `{ends.name}`, which is 0 even if {name} fails; {instead}",
                    severity,
                    related=[(late.work.place, "the intended status"), (ends.name_span, "the status that is read")],
                )
            continue
        line = job.line(late.by.start)
        kept = name_of_status(job)
        instead = f"write `{kept}=$?` below line {last_line(job, late.work)}, and {test} `${kept}`"
        row = job.source.line_of(late.read.start)
        if _KEEPS.fullmatch(job.source.slice(row)):  # it would replace the status that is kept above
            instead = f"move `{job.source.slice(row).strip()}` up, directly below line {last_line(job, late.work)}"
        by = f"line {line}"
        if line == job.line(late.read.start):
            by = f"`{shortened(job.source.slice(late.by), 25)}`"
            if depends_on_test(late.work):  # elsewhere `$status` would be unset
                instead = "read `$?` right after that line"
        yield Finding(
            late.read,
            f"`$?` is the status of {by}, which is 0 even if {name} on line "
            f"{job.line(late.work.span.start)} fails; {instead}",
            severity,
            related=[(late.work.place, "the intended status"), (late.by, "the status that is read")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./solver
        echo "solver has ended"
        if [ «$?» -ne 0 ]; then
            exit 1
        fi
        tar -cf out.tar out
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./check_gpus
        export OMP_NUM_THREADS=4
        if [[ «$?» -eq 0 ]]; then
            srun ./solver
        fi
        """,
        title="after an assignment",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./solver 2>&1 | tee solver.log
        if [ «$?» -eq 0 ]; then
            mv out results
        fi
        """,
        title="of a pipeline",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver\nstatus=$?\necho done\n[ $status -eq 0 ] || exit 1\ntar -cf o out\n"),
    Good('#!/bin/bash\n#SBATCH -N2\nsrun ./solver\necho "ended with $?"\n', title="only printed"),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nsrun ./a\nx=$(./b)\nif [ $? -ne 0 ]; then exit 1; fi\nsrun ./solver $x\n",
        title="an assignment has the status of its substitution",
    ),
]
