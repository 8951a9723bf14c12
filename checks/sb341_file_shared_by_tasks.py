"""Tasks of a step overwrite each other's file: all of them write the same one.

`srun -n 4 nsys profile -o report ./a.out` starts four profilers, each of which wants to write `report.nsys-rep`: with
`--force-overwrite` the last one to end replaces the files of the others, without it these end with an error. The same
holds for `bash -c "./a.out > out.txt"` under srun: every task empties the file and writes into it, so that the output
of all but one is lost or mixed. (`srun ./a.out > out.txt` is right: there srun alone writes the file.)

Reported where a step certainly has several tasks, and neither the name of the file nor a folder that the tasks enter
differs between them. Files on a node's local disk count where a node has several tasks.

## Fix

None: put the task into the name, `-o report.%q{SLURM_PROCID}` for Nsight's tools, `out.$SLURM_PROCID.txt` in a shell
that the task runs; or use srun's own `--output=out.%t.txt`.

## References

Nsight Systems User Guide, "--output" (`%q{ENV_VAR}`, `%p`); Nsight Compute CLI, "--export"; perf-record(1), "--output";
bash(1), "Redirections"; srun(1), "--output"
"""

from collections.abc import Iterator

from sbatchlint.analysis.storage.written_paths import OVERWRITING, place_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import partition
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import classify
from sbatchlint.job.steps import Step
from sbatchlint.source.numbers import all_of
from sbatchlint.triggers import Steps

CARD = Card(
    "SB341", "file-shared-by-tasks", severity="warning", fix="never", since="0.1.0", when=Steps(), homogeneous=True,
    seen="a review of public scripts",
    unseen="One report or one task's output where there should be one for each task.",
)  # fmt: skip

# Programs that write one file for the process that they start, and the options that name it.
_REPORTS = {
    "nsys": ("-o", "--output"),
    "ncu": ("-o", "--export"),
    "nvprof": ("-o", "--export-profile", "--log-file"),
    "perf": ("-o", "--output"),
    "strace": ("-o", "--output"),
}
# The subcommands with which a program writes such a file.
_VERBS = {"nsys": ("profile",), "perf": ("record",)}


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        tasks = step.tasks
        if tasks is None or tasks < 2 or not step.certain or step.in_other_job or step.geometry.ignored is not False:
            continue
        if "multi-prog" in step.options or "chdir" in step.options:
            continue
        moved = any(each.name in ("cd", "pushd", "popd") for each in step.program)
        for command in step.program:
            context = command.context
            if context.phase is not Phase.TASK or context.restricted or context.conditional or context.captured:
                continue
            if context.background is not None and context.background is not step.invocation.context.background:
                continue
            for path, place in _written(job, command):
                if _is_shared(job, step, command, path, moved):
                    reason, name = step.geometry.reason, shown_text(path).rpartition("/")[2]
                    yield Finding(
                        place,
                        f"{all_of(tasks, 'task')} of this step write `{name}` at once, so only one task's output "
                        f"survives; {_advice(command)}",
                        related=[] if reason is None else [(reason[0], f"{tasks} tasks")],
                    )
                    break


def _written(job: Job, command: Invocation) -> Iterator[tuple[Pieces, Span]]:
    """Each file that a command overwrites, with its place."""
    for redirect in command.redirects:
        if redirect.operator in OVERWRITING and redirect.target and redirect.fd in (None, "1"):
            yield redirect.target, redirect.span
    argv, name = command.argv, command.name or ""
    if name == "tee" and not {"-a", "--append"} & set(command.words):
        for field in argv[1:]:
            yield field, place_of(job, field)
    if name not in _REPORTS or name in _VERBS and not {*command.words[1:2]} & {*_VERBS[name]}:
        return
    end = command.spawn.command if command.children and command.spawn.command is not None else len(argv)
    for number, field in enumerate(argv[:end]):
        option, value = partition(field, "=")
        if shown_text(option) in _REPORTS[name]:
            found = value or (argv[number + 1] if number + 1 < end else None)
            if found:
                yield found, place_of(job, found)


def _is_shared(job: Job, step: Step, command: Invocation, path: Pieces, moved: bool) -> bool:
    """Whether a file is certainly the same one for all tasks, or for all on a node that has several."""
    text = shown_text(path)
    if not text or text.startswith(("/dev/", "/proc/", "-", "&")) or "%" in text:
        return False
    if any(each.phase is Phase.TASK for each in expansions(path)) or UNKNOWN_CHARACTER in text.rpartition("/")[2]:
        return False
    if moved and not text.startswith("/") or container_of(command) is not None:
        return False
    return not classify(path, job.site, None).private or (step.tasks_per_node or 0) > 1


def _advice(command: Invocation) -> str:
    if command.name in ("nsys", "ncu"):
        return "add `%q{SLURM_PROCID}` to the name"
    return "add `$SLURM_PROCID` to the name, in the task's shell"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4
        srun nsys profile -o «fft.nsys» --force-overwrite true ./fft
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=2
        srun bash -c 'python eval.py --part $SLURM_PROCID «> eval.txt»'
        """,
        title="in the shell of each task",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=4\nsrun ./a.out > out.txt\n", title="srun writes it"),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=4\nsrun nsys profile -o fft.%q{SLURM_PROCID} ./fft\n", title="one for each task"
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=4\nsrun bash -c './a.out > out.$SLURM_PROCID'\n", title="one for each task"),
    Good("#!/bin/bash\n#SBATCH --ntasks=4\nsrun -n 1 nsys profile -o fft ./fft\n", title="one task"),
]
