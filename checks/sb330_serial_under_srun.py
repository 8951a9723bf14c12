"""Tasks overwrite each other's files: each does the whole work of a program that is unaware of tasks.

srun starts a program once for each task. A program that asks neither MPI nor Slurm for its rank does all of the work in
each of them, at the same time: they overwrite each other's files, `git clone`, `tar -x`, `pip install` and `enroot
import` get in each other's way, and the job costs that many times what it needs.

A Python program counts if its file is next to the script: it and all of its own modules were read, nothing in them asks
for a rank, a task, a host or a process, and it writes a file with a literal name.

As many steps in the background as the job has tasks, each without a number of its own, were meant to have one task
each: every one of them starts all, and they wait for each other ([SB802](steps-serialised.md)). A warning; so are the
tools of GROMACS, as each copy moves the file of the others aside and writes the same again.

## Fix

Starts one task: `srun --ntasks=1 --nodes=1`. Unsafe: perhaps the tasks were intended to share the work.

## References

srun(1)
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.launch.serial_programs import is_serial, written_file
from sbatchlint.analysis.script.background import enclosing_loops
from sbatchlint.analysis.script.loops import loop_counts
from sbatchlint.analysis.script.threads import threaded_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import LOCAL_VARIABLES, classify
from sbatchlint.job.python.program import python_program
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import World
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB330", "serial-under-srun", severity="error", fix="sometimes", since="0.1.0", when=Steps(),
    seen="srun(1)",
)  # fmt: skip

# Programs with threads that know ranks as well, or whose name another program has.
_WITH_RANKS = frozenset({
    "gmx", "gmx_d", "gsnap", "julia", "kma", "mash", "mdrun", "namd2", "namd3", "sga", "umap", "velocyto", "vg",
    "xz", "zstd",
})  # fmt: skip
# Programs of which each copy moves the file of the others aside, and writes the same again.
_GROMACS = ("gmx", "gmx_d", "gmx_mpi", "gmx_mpi_d")
# Tools that write files, each with the arguments with which it does.
_TOOLS: dict[str, Regex] = {
    "git": Regex(r"(?:-C \S+ )?(?:clone|checkout|pull|submodule)\b.*"),
    "tar": Regex(r"(?:-\S+ )*?(?:-?[a-zA-Z]*[xcru][a-zA-Z]*|--extract|--create)\b.*"),
    "unzip": Regex(r".*"),
    "enroot": Regex(r"(?:import|export|create|bundle)\b.*"),
    **dict.fromkeys(("apptainer", "singularity"), Regex(r"(?:-\S+ )*(?:pull|build)\b.*")),
    **dict.fromkeys(("docker", "podman"), Regex(r"(?:pull|build|load|buildx build)\b.*")),
    **dict.fromkeys(("hf", "huggingface-cli"), Regex(r"download\b.*")),
    "rclone": Regex(r"(?:copy|sync|move)\b.*"),
    "svn": Regex(r"(?:checkout|co|update|up|export)\b.*"),
    **dict.fromkeys(("pigz", "unpigz", "zip", "7z"), Regex(r"(?!.*(?:-c|-t|--stdout|--version|--help)\b).+")),
    "wget": Regex(r"(?!.*(?:-\w*O ?-(?: |$)|--spider)).*"),
    **dict.fromkeys(("pip", "pip3"), Regex(r"(?:install|uninstall|download)\b.*")),
    **dict.fromkeys(("conda", "mamba"), Regex(r"(?:install|create|env create|env update|update)\b.*")),
    "make": Regex(r"(?!.*-(?:n|q)\b).*"),
    "cmake": Regex(r"(?!-E|--version|--help).+"),
    **dict.fromkeys(("gunzip", "gzip"), Regex(r"(?!.*(?:-c|-t|--stdout)\b).+")),
    "mvn": Regex(r".*"),
    "npm": Regex(r"(?:install|ci|run)\b.*"),
    "cargo": Regex(r"(?:build|install)\b.*"),
    **dict.fromkeys(("apt", "apt-get"), Regex(r"(?:-\S+ )*(?:install|update|upgrade)\b.*")),
    # programs with threads, but without ranks, and programs with neither
    **dict.fromkeys(
        (
*threaded_programs() - _WITH_RANKS,
            "bowtie2-build", "bcftools", "bedtools", "bismark", "blastn", "blastp", "blastx", "cellranger",
            "diamond", "ffmpeg", "freebayes", "gatk", "macs2", "macs3", "makeblastdb", "nextflow", "picard", "plink",
            "plink2", "prefetch", "snakemake", "spaceranger", "tblastn", "vcftools",
        ),
        Regex(r"(?!-*(?:version|help|h)\b).+"),
    ),
    # GROMACS: all but mdrun do their work in each rank
    **dict.fromkeys(
        _GROMACS,
        Regex(r"(?:-\S+ )*(?:grompp|pdb2gmx|editconf|solvate|genion|trjconv|make_ndx|energy|trjcat|rms|genrestr)\b.*"),
    ),
    # OpenFOAM: programs that share the work only with `-parallel`
    **dict.fromkeys(
        (
            "blockMesh", "checkMesh", "decomposePar", "extrudeMesh", "mapFields", "reconstructPar", "renumberMesh",
            "setFields", "snappyHexMesh", "surfaceFeatureExtract", "topoSet",
        ),
        Regex(r"(?!.*-(?:parallel|help)\b).*"),
    ),
}  # fmt: skip
# Options that set the size of a step.
_SIZED = frozenset({"ntasks", "nodes", "ntasks-per-node", "multi-prog", "het-group", "overlap"})
_SOLVER = Regex(r"[a-z]\w+Foam")


def check(job: Job) -> Iterator[Finding]:
    launching = {id(launch.step) for launch in job.launches}
    yield from _one_for_each(job, launching)
    for step in job.steps:
        tasks = step.tasks
        if tasks is None or tasks < 2 or step.geometry.ignored is not False or job.request.heterogeneous:
            continue
        if id(step) in launching:
            continue
        for command in step.program:
            found = _duplicated_work(job, step, command)
            if found is None or World(job, command, None, step).isolation not in ("", "part"):
                continue
            program, writes = found
            reason = step.geometry.reason
            fix = with_step_option(job, [step], "--nodes=1 --ntasks=1", "start it once") if _is_alone(step) else None
            yield Finding(
                command.name_span,
                f"each of {tasks} tasks (srun, line {job.line(step.span.start)}) does the whole work of {program}: "
                f"they {writes}; write `srun --nodes=1 --ntasks=1`",
                "warning" if command.name in _GROMACS else None,
                related=[] if reason is None else [(reason[0], f"{tasks} tasks")],
                fix=fix,
            )
            break


def _one_for_each(job: Job, launching: set[int]) -> Iterator[Finding]:
    """Findings on steps in the background, as many as the job has tasks, each of which starts all tasks."""
    groups: dict[int, list[Step]] = {}
    for step in job.steps:
        context, tasks = step.invocation.context, step.tasks
        if context.background is None or context.background.parent is None or id(step) in launching:
            continue
        if tasks is None or tasks < 2 or tasks != job.request.effective_tasks() or not step.certain:
            continue
        if _SIZED & step.options.keys() or step.in_other_job or step.geometry.ignored is not False:
            continue
        if any(_depends_on_task(each) or each.children for each in step.program) or len(step.program) != 1:
            continue
        groups.setdefault(id(context.background.parent), []).append(step)
    counts = loop_counts(job) if groups else {}
    for steps in groups.values():
        first, tasks = steps[0], steps[0].tasks or 0
        number = len({each.span for each in steps})
        background = first.invocation.context.background
        if number == 1 and background is not None:
            loops = enclosing_loops(first.invocation, background)
            number = counts.get(loops[-1], 1) if len(loops) == 1 else 1
        if number != tasks or any(each.program[0].name != first.program[0].name for each in steps):
            continue
        yield Finding(
            first.program[0].name_span,
            f"each of these {number} steps starts {all_of(tasks, 'task')} of the job, {number * tasks} in all; "
            "write `srun --nodes=1 --ntasks=1 --exact`",
            "warning",
            related=[] if first.geometry.reason is None else [(first.geometry.reason[0], f"{tasks} tasks")],
            fix=with_step_option(job, steps, "--nodes=1 --ntasks=1 --exact", "start one task in each"),
        )


def _is_alone(step: Step) -> bool:
    """Whether the step runs only one program, and sets no number of tasks itself."""
    return not {"nodes", "ntasks", "ntasks-per-node"} & step.options.keys() and len(step.program) == 1


def _duplicated_work(job: Job, step: Step, command: Invocation) -> tuple[str, str] | None:
    """The name of a command that is not meant to run in several tasks, and what its copies do to each other."""
    context = command.context
    if context.restricted or context.conditional or context.background or context.captured or command.children:
        return None
    name = command.name or ""
    rule = _TOOLS.get("blockMesh" if name[-4:] == "Foam" and _SOLVER.fullmatch(name) else name)
    program = python_program(job, command)
    if program is None and rule is None or _depends_on_task(command):
        return None
    if program is not None:
        call = written_file(program) if is_serial(program) else None
        if call is None:
            return None
        return program.path, f"write the same files (line {call.node.lineno} there)"
    mpi = step.option("mpi")
    if mpi is not None and mpi.text != "none":
        return None  # the script treats it as an MPI program
    if rule is None or not rule.fullmatch(" ".join(command.words[1:])):
        return None
    if step.tasks_per_node == 1:
        return None  # once for each node
    if step.tasks_per_node is None and (container_of(command) is not None or not _is_shared(job, command)):
        return None
    return f"`{command.name}`", "overwrite each other's files"


def _depends_on_task(command: Invocation) -> bool:
    return any(each.phase is Phase.TASK for field in command.argv for each in expansions(field))


def _is_shared(job: Job, command: Invocation) -> bool:
    """Whether a command may work on a shared disk: no word names a local one."""
    shell = command.context.shell
    before = [each for each in job.invocations[: command.index] if each.context.shell is shell and each.name == "cd"]
    fields = [field for each in (command, *before[-1:]) for field in each.argv[1:]]
    if any(classify(field, job.site).private for field in fields):
        return False
    return not any(each.name in LOCAL_VARIABLES for field in fields for each in expansions(field))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=8
        srun «tar» -xzf data.tar.gz
        srun ./simulate
        """,
        unsafe_fixed={"srun tar": "srun --nodes=1 --ntasks=1 tar"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4
        srun «python» analyse.py --year 2020
        """,
        files={
            "analyse.py": """\
            import sys
            import pandas as pd

            table = pd.read_csv("all.csv")
            table[table.year == int(sys.argv[2])].to_csv("out.csv")
            """
        },
        unsafe_fixed={"python": "--nodes=1 --ntasks=1 python"},
        title="a program beside the script",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=32
        for i in {1..64}; do
            srun «python» study.py --trial $i &
        done
        wait
        """,
        severity="warning",
        unsafe_fixed={"python": "--nodes=1 --ntasks=1 --exact python"},
        title="one step for each task",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun tar -xzf data.tar.gz -C /tmp
        srun -n 8 bash -c 'if [ "$SLURM_LOCALID" = 0 ]; then pip install .; fi; python train.py'
        """,
        title="once for each node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4
        srun python analyse.py
        """,
        files={
            "analyse.py": """\
            import os
            import pandas as pd

            part = int(os.environ["SLURM_PROCID"])
            pd.read_csv(f"part{part}.csv").describe().to_csv("out.csv")
            """
        },
        title="each task knows its part",
    ),
]
