"""Programs that simulate: molecules, materials, fluids, weather."""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.clues import matches, possible, says
from sbatchlint.diagnose.evidence import MEMORY, assigned, options, shown, spans_of, worded
from sbatchlint.diagnose.questions import calls, sets_or_lacks
from sbatchlint.diagnose.subjects import launches, named
from sbatchlint.diagnose.symptom import Below, Cause, Event, Symptom, Verdict
from sbatchlint.job import Job


def _two_numbers(job: Job, event: Event) -> Verdict:
    """Where the script sets the number of threads, by the variable and on the command line."""
    return shown(
        (
            *assigned(job, "OMP_NUM_THREADS"),
            *spans_of(each for each in job.invocations if "-ntomp" in map(text_of, each.argv)),
        )
    )


def _scratch_of_script(job: Job, event: Event) -> Verdict:
    return shown(assigned(job, "GAUSS_SCRDIR", "TMPDIR", "SCRATCH", "SCRATCHDIR") or options(job, "tmp"))


_ABSENT = re.compile(r"(?i)not found|cannot open|does not exist|no such file|reading (?:file|xml|inputpp)|opening")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="gromacs-input",
        title="GROMACS rejects its command line",
        docs="A file that is not in the folder where it is looked for, or an option of another build: `-ntmpi` is for one without MPI, `mdrun` of `gmx_mpi` takes its ranks from srun.\n",
        printed_by="GROMACS",
        releases="5.0 and later",
        near_end=400,
        literals=("does not exist or is not accessible", "Unknown command-line option", "only supported with thread-MPI"),
        patterns=(r"^\s*File '(?P<path>[^']+)' does not exist or is not accessible", r"^\s*Unknown command-line option (?P<option>-\S+)", r"only supported with thread-MPI"),
        causes=(
            Cause("threads-of-mpi", "script", "-ntmpi is for GROMACS without MPI, and gmx_mpi gets its ranks from srun or mpirun", "leave -ntmpi out, and ask for as many tasks (--ntasks) with -ntomp threads each", script=lambda job, event: shown(worded(job, "-ntmpi")), log=says("thread-MPI")),
            Cause("file-of-script", "script", "{path}, which the command names, is not in the folder where it runs", "name it by its path, or copy it there before", script=named, log=lambda event: possible("path" in event.groups)),
            Cause("option-of-script", "script", "this release of GROMACS does not know {option}", "look at `gmx mdrun -h` of the release that the job loads", script=named, log=lambda event: possible("option" in event.groups)),
            Cause("command-line", "submission", "GROMACS rejects what its command line names", "look for the file in the folder of the job, and at the options of this release"),
        ),
        matches="    File 'em.gro' does not exist or is not accessible.\n  Unknown command-line option -pinofset\nSetting the number of thread-MPI ranks is only supported with thread-MPI and\n",
    ),
    Symptom(
        id="full-path-wanted",
        title="a program that starts its own ranks has to be called by its full path",
        docs="ORCA starts mpirun for parts of itself, which it finds beside the path by which it was called.\n",
        printed_by="ORCA",
        releases="4 and later",
        literals=("called with full pathname",),
        patterns=(r"has to be called with full pathname",),
        causes=(
            Cause("name-alone", "script", "ORCA was called by its name alone, and does not find its parts in parallel runs", "call it by its full path: $(which orca) mol.inp", script=calls("orca")),
            Cause("call", "submission", "ORCA was called by its name alone, and does not find its parts in parallel runs", "call it by its full path: $(which orca) mol.inp"),
        ),
        matches="[file orca_main/mainchk.cpp, line 130]: Error : For parallel runs ORCA has to be called with full pathname\n",
    ),
    Symptom(
        id="thread-counts-differ",
        title="the number of threads is set twice, to different numbers",
        docs="mdrun takes it from `-ntomp` and from OMP_NUM_THREADS.\n",
        printed_by="GROMACS",
        releases="src/gromacs/taskassignment/resourcedivision.cpp, all releases",
        literals=("number of threads requested",),
        patterns=(r"OMP_NUM_THREADS \(\d+\) and the number of threads requested",),
        causes=(
            Cause("two-numbers", "script", "-ntomp on the command line differs from OMP_NUM_THREADS", "set both from one: -ntomp $SLURM_CPUS_PER_TASK, or leave one of them out", script=_two_numbers),
            Cause("of-submission", "submission", "-ntomp on the command line differs from OMP_NUM_THREADS", "set both to the same, or leave one of them out"),
        ),
        matches="Environment variable OMP_NUM_THREADS (8) and the number of threads requested\n",
    ),
    Symptom(
        id="cells-of-other-number",
        title="the case was decomposed for a different number of processes",
        docs="decomposePar splits the case into as many folders (processor0, processor1, …) as numberOfSubdomains in system/decomposeParDict says; the solver needs as many ranks.\n",
        printed_by="OpenFOAM",
        literals=("but job was started with", "cannot open case directory"),
        patterns=(r"specifies (?P<cut>\d+) processors but job was started with (?P<started>\d+) processors", r"cannot open case directory \"?(?P<folder>\S*processor\d+)"),
        causes=(
            Cause("tasks-of-script", "script", "the number of ranks that the job starts is not the number of parts that decomposePar made", "run decomposePar with numberOfSubdomains as large as --ntasks (`foamDictionary -entry numberOfSubdomains -set $SLURM_NTASKS system/decomposeParDict`), or ask for as many tasks", script=launches),
            Cause("tasks", "submission", "the number of ranks that the job starts is not the number of parts that decomposePar made", "run decomposePar again with numberOfSubdomains as large as the number of tasks"),
        ),
        matches="\"/home/ada/case/system/decomposeParDict\" specifies 16 processors but job was started with 32 processors.\nsimpleFoam: cannot open case directory \"/home/ada/case/processor4\"\n",
    ),
    Symptom(
        id="processor-grid",
        title="the work cannot be divided among so many processes",
        docs="Programs that divide a box, a grid, bands or k-points among their ranks take only numbers that divide them, and at most so many.\n",
        printed_by="Quantum ESPRESSO, GROMACS, LAMMPS, WRF, CP2K, VASP, NAMD, ROMS, CESM",
        literals=("number of pools", "domain decomposition for", "grid of processors", "number of processors", "multiple of number of", "npool", "decomposed", "nproc_x", "submit the job with", "some nodes have no", "many processors", "parallel tiles", "total number of tasks", "total number of PEs", "number of MPI processes", "too many processors", "too few atoms", "number of ranks", "partitions do not match", "size of communicator", "can not subdivide"),
        patterns=(
            r"Processor partitions do not match number of|does not match size of communicator|M_divide: can not subdivide",
            r"invalid number of (?:pools|images|bands groups)|some nodes have no k-points|no domain decomposition for \d+ ranks|Bad grid of processors",
            r"too small for this many processors|inconsistent number of parallel tiles|total number of (?:tasks|PEs) (?:\d+ )?(?:not equal|does)|number of MPI processes (?:is|must|exceeds)|not a multiple of number of processes|(?i:too many processors|(?:minimum|maximum) number of (?:processors|ranks)|nproc_[xy] .*(?:does not|must|too)|number of (?:processors|ranks) (?:is|does|must|should|cannot|exceeds?))",
        ),
        causes=(
            Cause("layout-of-script", "script", "the script gives the program a layout for a different number of ranks from the one it starts", "write numbers that agree", codes=("SB340",)),
            Cause("tasks-of-script", "script", "the program cannot divide its work among as many processes as the script starts", "start a number that divides it (the pools, k-points, cells or devices of the input), or change its own options for that (-npool, -dd, -ntomp, nproc_x)", script=launches),
            Cause("tasks", "submission", "the program cannot divide its work among so many processes", "start fewer ranks with more threads each, or a number that divides the pools, k-points, cells or devices of the input"),
        ),
        matches="     invalid number of pools, out of range\nERROR: Bad grid of processors (../comm.cpp:413)\nThere is no domain decomposition for 32 ranks that is compatible with the\nNumber of devices (4) is not a multiple of number of processes (3).\nERROR: Processor partitions do not match number of allocated processors (../lammps.cpp:558)\nRuntimeError: number of processes (16) does not match size of communicator (64)\nM_divide: can not subdivide 16 nodes by 3\n",
        others="number of processors: 4\nnumber of ranks = 8\n",
    ),
    Symptom(
        id="simulation-unstable",
        title="the simulation itself went wrong",
        docs="Values grew without bound, or an iteration did not converge. More time, memory or nodes do not help; the state before it does.\n",
        printed_by="LAMMPS, GROMACS, NAMD, WRF, VASP, CP2K, Quantum ESPRESSO, OpenFOAM, FDS",
        near_end=60,
        literals=("Lost atoms", "atoms missing", "Non-numeric", "exceeded cfl", "points exceeded", "fatal error in bracketing", "NOT converged", "not converged", "convergence NOT", "did not converge", "LINCS", "SETTLE", "too fast", "blowing up", "blow up", "Numerical instability", "numerical instability", "floating point exception", "sigFpe", "step size too small", "maximum number of iterations", "VERY BAD NEWS"),
        patterns=(
            r"\bLost atoms: original|Bond atoms? \d.* missing|Non-numeric (?:pressure|atom|box)|(?i:rod|atoms?) (?:are )?moving too fast",
            r"\d+ points exceeded (?:cfl|v_cfl)|ZBRENT: fatal error in bracketing|(?i:\bSCF run NOT converged|convergence NOT achieved|SCF .*(?:did not|not) converge)|(?i:system|simulation) (?:is|has|was)? ?(?:blow\w* up|unstable|exploding)|(?i:numerical instability)",
            r"Too many LINCS warnings|Step \d+: One or more water molecules can not be settled|Foam::sigFpe|VERY BAD NEWS",
        ),
        causes=(
            Cause("numerics", "code", "the simulation became unstable, or did not converge", "look at the last steps before it: a shorter time step, a better start (minimise, equilibrate), looser or more iterations; restart from the last good state"),
        ),
        matches="""\
ERROR: Lost atoms: original 4000 current 3982 (src/thermo.cpp:494)
d01 2019-01-01_00:01:00  121 points exceeded cfl=2 in domain d01 at time 2019-01-01_00:01:00 hours
Too many LINCS warnings (1001)
""",
        others="SCF converged in 12 cycles\nSCF run converged in 9 steps\n",
    ),
    Symptom(
        id="quantum-memory",
        title="a program of quantum chemistry could not get the memory that its input names",
        docs="`%mem`, `%maxcore` or `memory` of the input say what the program uses; the job must have somewhat more than that, for all processes together.\n",
        printed_by="Gaussian, ORCA, Molpro, NWChem, Q-Chem, Intel Fortran",
        literals=("could not allocate memory", "insufficient virtual memory", "Out-of-memory error in routine", "not enough memory", "MaxCore", "ga_create failed", "insufficient memory", "Error allocating"),
        patterns=(r"galloc:\s+could not allocate memory|Out-of-memory error in routine|insufficient virtual memory", r"(?i)(?:increase|exceed\w*|please|larger|more) .{0,40}maxcore\b|\bga_create failed"),
        causes=(
            Cause("memory-of-script", "script", "the program takes more memory, by its input, than the job has", "ask for some gigabytes more with --mem than the input names (%mem, %maxcore times processes), or name less there", script=sets_or_lacks(*MEMORY), unproven="possible"),
            Cause("memory", "submission", "the program takes more memory, by its input, than the job has", "ask for some gigabytes more with --mem than the input names (%mem, %maxcore times processes), or name less there"),
        ),
        matches="galloc:  could not allocate memory.\nforrtl: severe (41): insufficient virtual memory\nPlease increase MaxCore\n",
    ),
    Symptom(
        id="scratch-write",
        title="a program could not write its scratch files",
        docs="The disk, or the quota, of the scratch folder is full (GAUSS_SCRDIR, TMPDIR).\n",
        printed_by="Gaussian, Molpro, ORCA",
        literals=("Erroneous write", "Erroneous read", "g_write", "Error writing to"),
        patterns=(r"Erroneous write\. Write -?\d+ instead of|^\s*(?:Bio)?Error writing to (?:scratch|disk|file)",),
        causes=(
            Cause("folder-of-script", "script", "the disk that the script names for scratch files is full", "name a folder with room (GAUSS_SCRDIR), remove what earlier jobs left there, or limit the file (MaxDisk)", script=_scratch_of_script),
            Cause("disk", "cluster", "the disk, or the quota, of the folder for scratch files is full", "name a folder with room (GAUSS_SCRDIR, TMPDIR), remove what earlier jobs left there, or limit the file (MaxDisk)"),
        ),
        matches="Erroneous write. Write -1 instead of 4096.\n",
    ),
    Symptom(
        id="quantum-espresso-error",
        title="a routine of Quantum ESPRESSO stopped",
        docs="The line below the name of the routine has the reason.\n",
        printed_by="Quantum ESPRESSO",
        releases="UtilXlib/error_handler.f90, all releases",
        role="consequence",
        literals=("Error in routine",),
        patterns=(r"^\s*Error in routine\s+(?P<routine>\w+) \((?P<code>\d+)\):",),
        causes=(
            Cause("file", "data", "a file that the input names is not there: pseudopotentials, or the results of the step before", "look at pseudo_dir, outdir and prefix of the input, from the folder in which the job runs", log=matches(_ABSENT)),
            Cause("input", "code", "the program rejects its input, or its calculation failed ({routine})", "look at the line below the name of the routine, and at the input that it mentions"),
        ),
        matches="     Error in routine readpp (1):\n",
        below=Below(r"^\s*(?P<text>\S.*)"),
    ),
)
