"""The job ends COMPLETED although its work failed: another command's exit status is the script's.

The state of a job is the exit status of the last command of its script. `srun … | tee log` ends with that of `tee`, and
`srun …` followed by `tar …` with that of `tar`: Slurm shows COMPLETED 0:0, `--dependency=afterok` starts the next job,
and CI is green. `set -e` alone does not help in a pipeline.

Reported are pipelines that end in a filter (tee, grep, sed, gzip …) and begin with a step, a launcher or a program,
without pipefail or PIPESTATUS; and the last such command of a script where others follow and nothing looks at its
status. That is an advice only where all that follows tells something or tidies up.

## Fix

For a pipeline: `set -o pipefail` behind the directives. Safe where no other pipeline's status matters and the filter
reads to its end (a `grep` that finds nothing, or a `head` that stops early, would fail it too), unsafe otherwise.
For the end of the script: keeps the status and ends with it. Unsafe, as a job that fails may start other things.

## References

bash(1), pipefail and PIPESTATUS; live runs on Slurm 22.05 to 26.05.
https://github.com/NVIDIA/JAX-Toolbox/pull/554, https://github.com/nextflow-io/nextflow/issues/3522
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, insert, replace
from sbatchlint.slurm.rewriting import insertion

CARD = Card("SB710", "exit-status-lost", severity="warning", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    status = job.exit_status
    hidden = status.piped()
    fix = _pipefail(job, hidden) if hidden else None
    advice = "write `set -o pipefail` before it"
    if not _has_pipefail(job):
        advice = "let bash run the script, and " + advice
    for each in hidden:
        place = status.place(each.ran, each.workload)
        what = job.source.slice(place)
        taken = "the test looks at" if each.tested else "the pipeline ends with"
        yield Finding(
            place,
            f"{taken} the exit status of `{each.filter.name}`, not of `{what}`, whose failure goes unseen; {advice}",
            related=[(each.filter.name_span, "its exit status counts")],
            fix=fix,
        )
    masked = status.masked()
    if masked is None:
        return
    place = status.place(masked.ran, masked.workload)
    line = job.line(masked.last.span.start)
    ends = "`exit 0`" if masked.last.name == "exit" else f"the status of `{masked.last.name or 'a command'}`"
    yield Finding(
        place,
        f"the exit status of `{job.source.slice(place)}` is lost: the job ends with {ends} on line {line}, COMPLETED"
        " though this failed; keep it in `status=$?` and end with `exit $status`",
        severity="info" if masked.work is None or masked.workload in [each.workload for each in hidden] else "warning",
        related=[(masked.last.span, "the job's exit status")],
        fix=_keep(job, masked),
    )


def _has_pipefail(job: Job) -> bool:
    return job.directives.interpreter in ("", "bash", "ksh", "zsh")


def _pipefail(job: Job, hidden: list[Any]) -> Fix | None:
    if not _has_pipefail(job):
        return None
    if any(each.ran.context.parent is not None for each in hidden):
        return None  # a shell of its own, whose options are its own
    source = job.source.own
    at = insertion(job.directives, "").span.start
    line = source.line_of(at)
    if at != line.start or at >= len(source.text):
        return None
    if not source.slice(line).strip() and line.end < len(source.text):
        at = source.full_line(source.row(at)).end
    return Fix("set -o pipefail", [insert(at, "set -o pipefail\n")], safe=job.exit_status.pipefail_is_safe(hidden))


def _keep(job: Job, masked: Any) -> Fix | None:
    source = job.source.own
    if masked.ran.span.end > len(source.text):
        return None  # in a file that the script reads
    name = next((each for each in ("status", "rc", "srun_status") if each not in source.text), None)
    if name is None or not job.exit_status.is_alone(masked):
        return None
    start = source.line_of(masked.ran.span.start).start
    indent = source.text[start : masked.ran.span.start]
    line = source.line_of(masked.ran.span.end)
    edits: list[Edit] = [insert(line.end, f"\n{indent}{name}=$?")]
    last = masked.last
    if last.name == "exit":
        if source.slice(last.span) != "exit 0":
            return None
        edits.append(replace(last.span, f'exit "${name}"'))
    else:
        newline = "" if source.text.endswith("\n") else "\n"
        edits.append(insert(len(source.text), f'{newline}exit "${name}"\n'))
    return Fix("keep the status, and end with it", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2

        «srun» python train.py 2>&1 | tee train.log
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2

        set -o pipefail
        srun python train.py 2>&1 | tee train.log
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        «torchrun» --nproc_per_node=8 train.py | grep -v Warning
        tar -czf out.tgz out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        set -o pipefail
        set -e
        torchrun --nproc_per_node=8 train.py | grep -v Warning
        tar -czf out.tgz out
        """,
        title="errexit does not see into a pipeline",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» --label \\
            python train.py
        tar -czf out.tgz out
        echo done
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --label \\
            python train.py
        status=$?
        tar -czf out.tgz out
        echo done
        exit "$status"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» ./solver > solver.log 2>&1
        echo "finished at $(date)"
        exit 0
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./solver > solver.log 2>&1
        status=$?
        echo "finished at $(date)"
        exit "$status"
        """,
        severity="info",
        title="nothing but messages follow",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -o pipefail\nsrun ./solver | tee log\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver | tee log\nexit ${PIPESTATUS[0]}\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./solver\ntar -czf out.tgz out\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver || exit 1\ncp result /data\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nsrun hostname | sort | tee hosts\nN=$(python count.py | tail -n1)\nsrun ./solver\n"
    ),
]
