"""The programs that a job runs on its first node alone, and whether they may know of other nodes.

Some find the nodes of the job themselves and start work there; others would be one of several ranks of MPI.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.threads import (
    STARTERS,
    THREAD_VARIABLE,
    counts_elsewhere,
    thread_options,
    threaded_programs,
)
from sbatchlint.analysis.script.work import UTILITIES, Weight, weight
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import program_name
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.job.python.program import python_program
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex

# Programs that find the nodes of the job themselves, and interpreters, whose scripts may do so.
_FINDING_NODES = Regex(
    r"python[\d.]*|R|Rscript|julia|matlab|octave|perl|ruby|java|node|g\d\d|orca|qchem|molpro|ams|abaqus|fluent|cfx5?\w*"
    r"|ansys\w*|star\w*|comsol|lsdyna|nextflow|snakemake|cromwell|h?adoop|make|ninja|ctest|pytest|uv|conda|mamba|pixi"
    r"|docker|podman|apptainer|singularity|vagrant|ansible\w*|jupyter\w*"
)
_NAMING_NODES = Regex(
    r"submit|slurm|spark|parsl|launch|executor|node|host|machine|master|worker|server|(?:^|[/._-])(?:re)?(?:run|start)(?:$|[._-])",
    re.IGNORECASE,
)


def may_find_nodes(command: Invocation) -> bool:
    """Whether a command is a program, or runs a script, that may start work on other nodes, as far as words tell."""
    name = program_name(command)
    if name is None or _FINDING_NODES.fullmatch(name) or "." in name:
        return True
    words = command.words
    return any(_NAMING_NODES.search(each) for each in words[0 if "/" in words[0] else 1 :])


def is_custom_program(command: Invocation) -> bool:
    """Whether a command is a program called by its path, or starts such a program, and knows of no other nodes."""
    if command.phase is not Phase.BATCH or command.children or command.context.captured:
        return False
    name, words = program_name(command), command.words
    if name in UTILITIES or may_find_nodes(command):
        return False
    # `./a.out`, `tracer /opt/app/bin/solve`; not `cat /proc/cpuinfo`, nor a tool with a folder as its argument
    return (
        "/" in words[0]
        or len(words) > 1
        and words[1].startswith(("./", "/"))
        and not has_trait(name, "stages", "screen")
    )


_PROGRAMS = Regex(
    r"lmp(?:_(?!serial)\w+)?|(?:pw|ph|cp|neb|pp|bands|projwfc)\.x|vasp(?:_(?:std|gam|ncl))?|nwchem|siesta|abinit|xhpl|xhpcg"
    r"|(?:sander|pmemd|cpptraj)\.MPI|mdrun_mpi|cp2k\.popt|(?:wrf|real|metgrid|geogrid)\.exe|raxmlHPC-MPI(?:-\w+)?"
    r"|ior|mdtest|osu_\w+|IMB-MPI1|castep\.mpi|raxml-ng-mpi|mb-mpi|hoomd|qmcpack|PeleC\w*|octopus|elk|fleur_MPI"
)
_LAMMPS = Regex(r"lmp(?:_\w+)?")
_HOROVOD = Regex(r"--?(?:use[-_])?(?:horovod|hvd)")
_LAMMPS_THREADS = Regex(r"-(?:sf|suffix) (?:omp|intel|hybrid|kk|kokkos)|-(?:k|kokkos) on|-(?:pk|package) (?:omp|intel)")
# Options with which a program only prints something about itself.
_TELLING = frozenset({"-h", "--help", "-help", "--version", "-v"})


def is_lone_mpi_rank(command: Invocation) -> bool:
    """Whether the batch shell starts a program once that would be one of several ranks."""
    if command.phase is not Phase.BATCH or not _TELLING.isdisjoint(command.words) or command.children:
        return False
    if is_python(command.argv[0]):
        return any(map(_HOROVOD.fullmatch, command.words[1:]))
    if command.name is None or not _PROGRAMS.fullmatch(command.name):
        return False
    words = " ".join(command.words)
    if _LAMMPS.fullmatch(command.name):
        return _LAMMPS_THREADS.search(words) is None
    threads = text_of(exported(command, "OMP_NUM_THREADS") or ())
    return threads in ("", "1")


# Interpreters whose programs run on one node, unless they say more.
SINGLE = frozenset({"Rscript", "R", "matlab", "julia", "octave"})
_MOST_BYTES = 1 << 16
_JULIA_WORKERS = Regex(r"SlurmManager|addprocs_slurm|SlurmClusterManager")
# They say how much a program has of its own node, and nothing of others.
_OF_ONE_NODE = frozenset({"SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_MEM_PER_NODE", "SLURM_GPUS_ON_NODE"})
# Programs that build, whose files of rules often start steps.
_MAKING = Regex(r"g?make|gmx_mpi\w*|mdrun_mpi|ninja|cmake|scons|bazel|scram\w*")
# Options of GNU parallel for other machines.
_OTHER_HOSTS = frozenset({"-S", "--sshlogin", "--sshloginfile", "--slf", "--wc", "srun", "ssh"})
# Words by which a program may learn of other nodes, and names of programs that start work there.
_SPREADING = Regex(
    r"(?i)mpi|slurm|submitit|dask|\bray\b|spark|horovod|cluster|distributed|deepspeed|hosts?file|nodes?\b|nodelist|nnodes|machines?"
    r"|(?<!num)(?<!num[-_])workers|addprocs|(?<!^)parallel|joblib|nextflow|parsl|torchrun|accelerate|executor|launcher|num[-_]nodes|master"
)


def programs_of_first_node(job: Job, *, spread: bool) -> list[Invocation]:
    """The programs that the script runs; none where one of them may start work on other nodes.

    `spread`: only the tasks may need several nodes, so any program counts, even one that could not find others.
    """
    if not all(_is_on_one_node(each) for each in job.steps) or spread and job.steps:
        return []
    works: list[Invocation] = []
    for command in job.invocations:
        if id(command) in _starters(job):
            continue
        local = command.name in STARTERS and not counts_elsewhere(command) and not _MAKING.fullmatch(command.name or "")
        if has_trait(command.name, "spreads", "mpi", "remote", "slurm") and command.name not in ("scontrol", "sbatch"):
            if not local or not _OTHER_HOSTS.isdisjoint(command.words):
                return []
        if command.children or command.calls_function or command.context.captured:
            continue
        if weight(job, command) is Weight.NONE:
            continue
        if local and any(thread_options(command)):
            works.append(command)
            continue
        threads = any(thread_options(command)) and command.name in threaded_programs()
        if weight(job, command) is Weight.STAGING and not is_python(command.argv[0]) or threads:
            works += [command] if threads else []
            continue
        if not is_python(command.argv[0]) and command.name not in SINGLE:
            if not spread or may_find_nodes(command) or is_lone_mpi_rank(command):
                return []
            works.append(command)
            continue
        program = python_program(job, command) if is_python(command.argv[0]) else None
        python = python_of(command) if is_python(command.argv[0]) else None
        if python is not None and python.kind not in ("script", "module"):
            return []
        if program is not None and program.mentions("mpi4py", "slurm", "SLURM", "dask", "ray", "submitit", "horovod"):
            return []
        works.append(command)
    return works


@once
def _starters(job: Job) -> frozenset[int]:
    """The sruns of a job, by identity."""
    return frozenset(id(each.invocation) for each in job.steps)


def _is_on_one_node(step: Step) -> bool:
    """Whether a step certainly runs on one node at a time, the first, or only looks at all nodes."""
    leaves = [each for each in step.program if not each.children]
    if leaves and all(has_trait(each.name, "looks", "node") for each in leaves):
        return True
    if not step.certain or step.in_other_job or step.nodes != 1 or step.invocation.context.background is not None:
        return False
    return not {"nodelist", "exclude", "relative", "nodefile", "het-group"} & step.options.keys()


def _words(job: Job, works: list[Invocation]) -> str:
    """The words that the programs get, with the names of variables in them, and the variables that are exported."""
    commands = [*works, *(outer for each in works for outer in each.ancestors() if outer.name != "srun")]
    commands += [each for each in job.invocations if each.name == "scontrol" or has_trait(each.name, "loads")]
    exports = [each for each in job.assignments if each.exported and not THREAD_VARIABLE.fullmatch(each.name)]
    names = [f"{each.name} {job.source.slice(each.span)}" for each in exports]
    read = {each.name for command in commands for field in command.argv for each in expansions(field)}
    names += [name.removeprefix("SLURM_") for name in sorted(read - _OF_ONE_NODE)]
    return "\n".join([*names, *_written_lists(job), *(" ".join(each.words) for each in commands)])


def _written_lists(job: Job) -> Iterator[str]:
    """The files that the script writes and does not print itself: a program may find a list of nodes there."""
    printed = " ".join(word for each in job.invocations if each.name == "cat" for word in each.words[1:])
    for command in job.invocations:
        for redirect in command.redirects:
            name = shown_text(redirect.target) if redirect.operator in (">", ">>") and redirect.target else ""
            if name and name not in printed:
                yield name.replace("nodefile", "nodelist")


def may_know_nodes(job: Job, works: list[Invocation]) -> bool:
    """Whether words that the programs get, or variables, say that they may use other nodes, ranks or workers.

    So may a script for Julia beside the job that starts workers as a step, with the managers for Slurm.
    """
    if _SPREADING.search(_words(job, works)) is not None:
        return True
    scripts = (job.beside.path(each, field) for each in works if each.name == "julia" for field in each.argv[1:])
    texts = (lookups.read(path, _MOST_BYTES) for path in scripts if path is not None)
    return any(text is not None and _JULIA_WORKERS.search(text.decode("utf-8", "replace")) for text in texts)


def has_threads(command: Invocation, tasks: int) -> bool:
    """Whether a program is told to use several threads: a number, or the number of tasks."""
    if any((option.number or 0) > 1 or _counts_tasks(option.value) for option in thread_options(command)):
        return True
    for name, variable in command.state.variables.items():
        if variable.exported and THREAD_VARIABLE.fullmatch(name):
            value = exported(command, name) or ()
            if text_of(value) == str(tasks) or _counts_tasks(value):
                return True
    return False


def _counts_tasks(value: Pieces) -> bool:
    """Whether a value is made from the number of tasks, or of CPUs."""
    return any(each.name in ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_CPUS_ON_NODE") for each in expansions(value))
