"""Other languages and tools: Java, Fortran, R, Julia, Perl, MATLAB, compilers, workflow programs."""

import re

from sbatchlint.diagnose.clues import begins, group_matches, matches, possible, says
from sbatchlint.diagnose.evidence import assigned, commands, containing, matching, options, shown
from sbatchlint.diagnose.questions import requests, steps
from sbatchlint.diagnose.subjects import GENERAL_CAUSES
from sbatchlint.diagnose.symptom import Below, Cause, Event, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named

# The program that needs it was installed with Slurm or the system.
_of_system_perl = matches(r" at /(?:opt/slurm|usr)/\S*bin/", below=2)


# Of Intel's runtime: numbers of errors of input (files, formats, namelists).
_INPUT_ERRORS = ("9", "17", "18", "19", "24", "29", "30", "39", "59", "61", "62", "64", "67")


def _bad_input(event: Event) -> bool | None:
    """An error of reading, by its number or by its text."""
    said = re.search(
        r"(?i)namelist|end of file|end of record|bad (?:\w+ )?(?:integer|real|value|logical)|cannot open file|conversion|during read",
        event.text,
    )
    return possible(event.groups.get("code") in _INPUT_ERRORS or said)


def _size_of_job(job: Job, event: Event) -> Verdict:
    """The directives for what the step needs too much of."""
    names = ("mem", "mem-per-cpu") if event.groups.get("what") == "memory" else ("cpus-per-task", "ntasks")
    return shown(options(job, *names)) or Shown((), None, "likely")


def _java_module(job: Job, event: Event) -> Verdict:
    """Where the script loads Java, or names its folder."""
    loads = matching(job, commands_named(job, "module", "ml"), r"(?i)java|jdk|jre")
    return shown((*loads, *assigned(job, "JAVA_HOME", "JAVA_CMD")))


def _workers(job: Job, event: Event) -> Verdict:
    """The command with the number of workers that MATLAB refuses, and the CPUs that the job asks for."""
    number = re.search(r"but (\d+) workers were requested", event.text)
    places = matching(job, job.invocations, rf"(?<![\w.]){number[1]}(?![\w.])") if number else ()
    return shown((*options(job, "cpus-per-task"), *places)) if places else None


# The message says that all licences are in use.
_all_taken = matches(r"(?i)maximum number of users|number of users already reached|all licen[cs]es|in use\b", below=4)


# fmt: off
SYMPTOMS = (
    Symptom(
        id="java-memory",
        title="Java has too little memory",
        docs="`-Xmx` is what Java may take for its heap; the job needs some more than that (`--mem`).\n",
        printed_by="Java",
        literals=("java.lang.OutOfMemoryError", "reserve enough space for object heap", "insufficient memory for the Java Runtime", "Could not reserve enough"),
        patterns=(r"java\.lang\.OutOfMemoryError: (?P<what>.+)", r"Could not reserve enough space for|insufficient memory for the Java Runtime"),
        causes=(
            Cause("threads-of-java", "code", "Java could start no further thread: it starts them by the cores of the node, or the limit of processes (`ulimit -u`) is reached", "tell it how many CPUs the job has: export JAVA_TOOL_OPTIONS=\"-XX:ActiveProcessorCount=$SLURM_CPUS_PER_TASK -XX:ParallelGCThreads=$SLURM_CPUS_PER_TASK\"; look at `ulimit -u`", log=says("native thread")),
            Cause("heap-of-script", "script", "Java may take more, or less, memory than the work and the job allow", "set -Xmx somewhat below --mem", script=lambda job, event: shown(containing(job, job.invocations, "-Xm"))),
            Cause("heap", "code", "Java has too little memory for the work", "give it more with -Xmx (JAVA_TOOL_OPTIONS), and the job with --mem"),
        ),
        matches="Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\nError: Could not reserve enough space for 67108864KB object heap\n",
    ),
    Symptom(
        id="fortran-error",
        title="a Fortran program stopped",
        docs="174 is a segmentation fault (a stack that is too small: `ulimit -s unlimited`), 78 the signal of an end from outside, 24 and 29 the input.\n",
        printed_by="ifort, gfortran",
        role="consequence",
        literals=("forrtl: ", "Fortran runtime error", "At line ", "Program received signal SIG"),
        patterns=(r"forrtl: (?:severe|error) \((?P<code>\d+)\): (?P<what>.+)", r"^Fortran runtime error: (?P<text>.+)", r"^Program received signal (?P<signal>SIG\w+)"),
        causes=(
            Cause("ended", "submission", "the program was ended from outside", "look for what comes before it", log=says("SIGTERM", "SIGKILL"), unproven="possible"),
            Cause("input-broken", "data", "the program cannot read its input: a file is not there, ends early, or holds what it does not expect", "look at the file, or the unit, that the message names, and at the line where it stopped; compare a namelist with the release of the program", log=_bad_input),
            *GENERAL_CAUSES,
            Cause("program", "code", "the Fortran program stopped", "see the message; `ulimit -s unlimited` helps where the stack is too small"),
        ),
        matches="forrtl: severe (174): SIGSEGV, segmentation fault occurred\nFortran runtime error: End of file\nProgram received signal SIGSEGV: Segmentation fault - invalid memory reference.\n",
    ),
    Symptom(
        id="language-workers",
        title="worker processes of R or Julia did not start",
        docs="""\
R has room for some 125 connections, and detectCores() counts the cores of the node, not those of the job: a hundred workers share
a few cores then, or do not fit at all. Julia's workers have JULIA_WORKER_TIMEOUT seconds (60) to say where they listen, which
precompiling on a shared file system easily takes.
""",
        printed_by="R (parallel, parallelly, BiocParallel), Julia (Distributed)",
        releases="R 3.0 and later; Julia 1.0 and later",
        literals=("all connections are in use", "workers failed to connect", "connections available", "cannot be opened", "host:port string", "could not connect within", "Failed to launch and connect to R worker"),
        patterns=(
            r"all connections are in use|cannot create \d+ workers?\b.*connections",
            r"\d+ of \d+ workers failed to connect|Failed to launch and connect to R worker",
            r"^\s*port \d+ cannot be opened",
            r"Timed out waiting to read host:port string|Master process \(id 1\) could not connect within",
        ),
        causes=(
            Cause("all-cores-of-node", "code", "the program starts a worker for each core of the node (detectCores), not for each CPU of the job: more than R has connections for, or than the job's CPUs can start in time", "take the number from the job: parallelly::availableCores(), or as.integer(Sys.getenv(\"SLURM_CPUS_PER_TASK\")); where a package counts them itself, look for its argument, or ask for a node with fewer cores", log=lambda event: possible(not re.search(r"port \d+ cannot be opened|host:port|Master process", event.text))),
            Cause("port-taken", "code", "another R on the same node listens at the port for the workers: another element of the array, or another job", "let each take a port of its own: R_PARALLEL_PORT=$((11000 + SLURM_JOB_ID % 1000)) in the script, or parallelly::makeClusterPSOCK(), which chooses one", log=says("cannot be opened")),
            Cause("slow-workers", "code", "the workers of Julia did not report within 60 seconds where they listen: they load or precompile packages from a shared file system, all at once, or the node is overloaded", "precompile first (julia --project -e 'using Pkg; Pkg.instantiate(); Pkg.precompile()'), and export JULIA_WORKER_TIMEOUT=300"),
        ),
        matches="""\
  all connections are in use
  Cluster setup failed. 96 of 96 workers failed to connect.
  port 11043 cannot be opened
    nested task error: Timed out waiting to read host:port string from worker.
""",
    ),
    Symptom(
        id="r-error",
        title="R stopped",
        docs="The line with `Error in`, or the one below it, has the reason.\n",
        printed_by="R",
        role="consequence",
        literals=("Error in ", "cannot allocate vector"),
        patterns=(r"^Error: cannot allocate vector of size (?P<size>.+)", r"^Error in (?!user input|rule |group job |call to target |library\(|loadNamespace|routine)(?P<call>[\w.:({`].*) ?:"),
        causes=(*GENERAL_CAUSES, Cause("program", "code", "the R program stopped", "see the line with `Error in`, and the one below it")),
        matches="Error: cannot allocate vector of size 12.5 Gb\nError in read.csv(f) : object 'f' not found\n",
        below=Below(r"^(?!Calls:|In addition|In file|Execution)\s*\S.*", after=r":\s*$|,\s*:?$|cannot open the connection$"),
    ),
    Symptom(
        id="r-halted",
        title="R stopped",
        docs="The line only says that it ended; what is above it has the reason.\n",
        printed_by="R",
        role="teardown",
        literals=("Execution halted",),
        patterns=(r"^Execution halted",),
        causes=(Cause("program", "code", "the R program stopped", "see the lines above it"),),
        matches="Execution halted\n",
    ),
    Symptom(
        id="julia-error",
        title="Julia stopped",
        docs="The stack below the line says where. Of a failed task, `nested task error` has the reason.\n",
        printed_by="Julia",
        role="consequence",
        literals=("ERROR: ", "ERROR (unhandled", "nested task error", "Error launching "),
        patterns=(r"^ERROR: (?:LoadError: )?(?:[A-Z]\w*(?:Error|Exception)\b|On worker \d+:|syntax: )|^ERROR \(unhandled task failure\)", r"^\s*nested task error: (?P<nested>.+)"),
        causes=(
            Cause("several-drivers", "script", "every task of a step runs the program, and each copy starts workers by srun again", "start the program once, without srun: its SlurmManager starts the workers", script=steps(), log=lambda event: None if any("SlurmManager" in each for each in (*event.above, *event.below)) else False, unproven="possible"),
            Cause("search-path", "submission", "Julia brings its libraries, and LD_LIBRARY_PATH of a module puts others before them", "unset LD_LIBRARY_PATH, or `module purge`, before julia", log=says("could not load library")),
            *GENERAL_CAUSES,
            Cause("program", "code", "the Julia program stopped", "see the message; Pkg.instantiate() on the login node installs packages"),
        ),
        matches="ERROR: LoadError: ArgumentError: Package CUDA not found in current path.\nERROR: SystemError: opening file \"x\": No such file or directory\n    nested task error: BoundsError: attempt to access\n",
        below=Below(r"^\s*nested task error: .+|^[A-Z]\w*(?:Error|Exception)\b.*", after=r"TaskFailedException:?$|On worker \d+:$", instead=True),
    ),
    Symptom(
        id="perl-module",
        title="Perl does not find a module",
        docs="Its environment was not loaded in the job, or PERL5LIB of another one is in the way.\n",
        printed_by="Perl",
        literals=("in @INC", "loadable library and perl binaries are mismatched"),
        patterns=(r"^Can't locate (?P<module>\S+) in @INC|perl binaries are mismatched",),
        causes=(
            Cause("of-system", "cluster", "a program of the system needs the Perl module {module}, which the node does not have", "tell the site", log=_of_system_perl),
            Cause("environment", "code", "the Perl of the job has no {module}", "load or activate its environment inside the job; unset PERL5LIB of another one"),
        ),
        matches="Can't locate Bio/Perl.pm in @INC (you may need to install the Bio::Perl module)\n",
    ),
    Symptom(
        id="license-failed",
        title="no licence was available",
        docs="All are taken, or the node does not reach the licence server. `--licenses` lets Slurm wait for one where the site has set that up.\n",
        printed_by="FlexNet, MATLAB, ANSYS, Abaqus, Gurobi, COMSOL",
        literals=("icense checkout", "icense Manager", "ICENSE MANAGER", "icense server", "icensed number of users", "icense for ", "icense error", "obtain license", "icense file", "valid license", "urobiError", "urobi license", "LM_LICENSE_FILE", "icenses for ", "icense is not", "icense was denied", "CENSE"),
        patterns=(
            r"License [Cc]heckout failed|License Manager Error|LICENSE MANAGER ERROR|Licensed number of users already reached|^\W*License error: -\d+",
            r"(?i)(?:can ?not|can't|could not|couldn't|unable to|fail\w*(?: to)?|error)\b.{0,40}\b(?:check ?(?:ing )?out|obtain|get|connect to|find|acquire|reach|contact)\w*\b.{0,30}\blicen[cs]e|GurobiError: .*[Ll]icense|No (?:Gurobi|valid) licen[cs]e(?: found)?|[Ll]icense for \S+ is not available|licen[cs]e (?:has|is) expired|licen[cs]es? for .{1,40} (?:are|is) (?:all )?in use",
        ),
        below=Below(r"^Maximum number of users for (?P<feature>\S+) reached|^License Manager Error -\d+|^Licensing error|^License server machine", after=r"^License [Cc]heckout failed\W*$", instead=True),
        causes=(
            Cause("all-taken", "cluster", "all licences are taken: more jobs want one than there are, and these jobs do not wait for a free one", "reserve it with the job (--licenses=NAME, as `scontrol show lic` names it), let fewer elements of an array run at once (--array=…%N), or compile the program (MATLAB: mcc), which then needs none", log=_all_taken),
            Cause("not-named", "submission", "the program finds no licence: its file or its server is not named in the environment of the job", "export what the program reads (GRB_LICENSE_FILE, LM_LICENSE_FILE), and keep the file where the nodes see it", log=matches(r"(?i)no \w+ licen[cs]e|licen[cs]e file|hostid")),
            Cause("license", "cluster", "no licence was available: all are taken, or the node does not reach the server", "submit with --licenses where the site offers it, or try again later; where it lasts, ask the site whether nodes reach the licence server"),
        ),
        matches="License checkout failed.\nLicense Manager Error -15\nANSYS LICENSE MANAGER ERROR:\nAbaqus Error: Abaqus/Standard Analysis could not be started: License for standard is not available.\nCould not connect to any license server.\ngurobipy.GurobiError: HostID mismatch (licensed to 1, hostid is 2): license file\n",
    ),
    Symptom(
        id="build-failed",
        title="something could not be compiled",
        docs="The first `error:` of the compiler above it says what.\n",
        printed_by="make, gcc, nvcc, cmake, ninja, cargo",
        role="consequence",
        literals=("make: *** ", "fatal error: ", "CMake Error", "ninja: build stopped", "collect", "undefined reference to", "could not compile `", "Compilation failed"),
        patterns=(r"^make(?:\[\d+\])?: \*\*\* ", r": fatal error: (?P<file>\S+): No such file", r"^CMake Error|^ninja: build stopped|^collect2: error|undefined reference to|^error: could not compile `"),
        causes=(Cause("build", "code", "something could not be compiled in the job", "build it before, on a machine like the nodes, with the modules that it wants"),),
        matches="make: *** [Makefile:12: all] Error 2\nsolver.c:3:10: fatal error: mpi.h: No such file or directory\nninja: build stopped: subcommand failed.\n",
    ),
    Symptom(
        id="workflow-step-failed",
        title="a step of a workflow failed",
        docs="The step's own log has the reason: `.command.err` in Nextflow's work folder, the `log:` of Snakemake's rule. Status 137 usually means memory, 140 or 143 the time, 127 a program that is not found.\n",
        printed_by="Nextflow, Snakemake, Cromwell, Toil",
        role="consequence",
        literals=("Error executing process >", "Error in rule ", "terminated with an error exit status", "because a job execution failed", "terminated for an unknown reason", "Missing output file(s)", "MissingOutputException", "WorkflowError", "terminated by the external system"),
        patterns=(r"terminated with an error exit status \((?P<status>\d+)\)", r"Error executing process > '(?P<step>[^']*)'", r"^Error in (?:rule|group job) (?P<rule>\S+):", r"because a job execution failed|MissingOutputException|^WorkflowError|terminated for an unknown reason"),
        causes=(
            Cause("limits", "submission", "Slurm ended a step of the workflow, usually because its memory or time was used up", "give that step more in the workflow's configuration", log=group_matches("status", "^(?:137|140|143|130)$")),
            Cause("not-found", "submission", "a step of the workflow called a program that is not there, or may not be run (status 126, 127)", "give the step its module, its environment or its container in the workflow's configuration", log=group_matches("status", "^12[67]$")),
            Cause("outputs", "code", "the files that a step should make were not there when the workflow looked for them: its command makes others, or the file system shows them late", "look at the log of that step; --latency-wait 60 where they come late", log=says("MissingOutput", "Missing output")),
            Cause("unknown", "submission", "the job of a step ended without an exit status: Slurm ended it (memory, time, a node, scancel), or its file came late", "look at `sacct -j JOB` of that step, and give it more where its state says so", log=says("unknown reason", "external system"), unproven="possible"),
            Cause("step", "code", "a step of the workflow failed", "look at that step's own log", unproven="possible"),
        ),
        below=Below(r"(?P<why>terminated (?:with|for) .+)", after=r"^.{0,80}Error executing process >", instead=True),
        matches="""\
Process `ALIGN (s1)` terminated with an error exit status (137)
ERROR ~ Error executing process > 'ALIGN (s1)'
Error in rule map:
Exiting because a job execution failed. Look below for error messages
""",
    ),
    Symptom(
        id="workflow-larger-than-job",
        title="a step of a workflow needs more than the job has",
        docs="With `executor = 'local'`, the default, Nextflow runs the steps inside the job that it runs in.\n",
        printed_by="Nextflow",
        literals=("Process requirement exceeds",),
        patterns=(r"Process requirement exceeds (?:available|maximum) (?P<what>memory|CPUs|cpus)",),
        causes=(
            Cause("job", "script", "a step of the workflow needs more {what} than the job has, in which Nextflow runs it", "ask for as much (--mem, --cpus-per-task), let Nextflow submit its steps (executor = 'slurm'), or lower what the step needs (--max_memory, process.memory)", script=_size_of_job),
            Cause("step", "submission", "a step of the workflow needs more {what} than the job has, in which Nextflow runs it", "ask for as much (--mem, --cpus-per-task), let Nextflow submit its steps (executor = 'slurm'), or lower what the step needs (--max_memory, process.memory)"),
        ),
        matches="  Process requirement exceeds available memory -- req: 72 GB; avail: 16 GB\n  Process requirement exceeds available CPUs -- req: 16; avail: 4\n",
    ),
    Symptom(
        id="workflow-incomplete",
        title="files of an earlier run of a workflow are not complete",
        docs="A run that was killed left files that Snakemake had not yet marked as whole, and it does not take them for done.\n",
        printed_by="Snakemake",
        literals=("IncompleteFilesException", "seem to be incomplete"),
        patterns=(r"^IncompleteFilesException|files below seem to be incomplete",),
        causes=(Cause("incomplete", "data", "an earlier run that was killed left files unfinished", "snakemake --rerun-incomplete makes them anew (or delete them); --cleanup-metadata only where they are known to be whole"),),
        matches="IncompleteFilesException:\nThe files below seem to be incomplete. If you are sure\n",
    ),
    Symptom(
        id="workflow-locked",
        title="the folder of a workflow is locked",
        docs="Another run works in it, or one that was killed left its lock behind.\n",
        printed_by="Snakemake, Nextflow",
        literals=("LockException", "Directory cannot be locked", "Unable to acquire lock on session"),
        patterns=(r"^(?:\w+\.)*LockException|Directory cannot be locked|Unable to acquire lock on session",),
        causes=(Cause("elements", "script", "each element of the array runs the workflow in the same folder, and the first one has it locked", "give each element a folder of its own: cd run_$SLURM_ARRAY_TASK_ID before it, and -w", script=lambda job, event: shown((*options(job, "array"), *commands(job, "nextflow", "snakemake"))) if options(job, "array") else None),
            Cause("lock", "submission", "another run of the workflow has the folder, or one that was killed left its lock behind", "wait for the other one, or remove the lock (`snakemake --unlock`; Nextflow: .nextflow/cache), and let each run have a folder of its own"),),
        matches="LockException:\nError: Directory cannot be locked. Please make sure that no other Snakemake process is trying to create the same files\nUnable to acquire lock on session with ID 4d1c\n",
    ),
    Symptom(
        id="java-not-found",
        title="the node has no Java, or not the one that is needed",
        docs="The module or the environment with Java was not loaded in the job.\n",
        printed_by="Nextflow, Spark, GATK, Cromwell, Canu",
        literals=("Cannot find Java", "JAVA_HOME", "UnsupportedClassVersionError", "requires Java", "JAVA_CMD"),
        patterns=(r"Cannot find Java or it's a wrong version|JAVA_HOME is (?:not set|set to an invalid)|JAVA_HOME .{0,40}not (?:set|defined)|UnsupportedClassVersionError|requires Java \d+",),
        causes=(Cause("release-of-script", "script", "the program was built for a newer Java than the one that the script loads: class file version 52 is Java 8, 55 is 11, 61 is 17, 65 is 21", "load that release or a newer one in the script (`module load java/…`, conda's openjdk)", script=_java_module, log=says("UnsupportedClassVersion", "requires Java")),
            Cause("java", "submission", "the job has no Java, or not the release that the program needs", "load it inside the job (`module load java/…`, conda's openjdk), or set JAVA_HOME and PATH there"),),
        matches="ERROR: Cannot find Java or it's a wrong version -- please make sure that Java 11 or later (up to 21) is installed\njava.lang.UnsupportedClassVersionError: x/Main has been compiled by a more recent version\n",
    ),
    Symptom(
        id="parallel-pool",
        title="MATLAB could not start its workers",
        docs="Each session keeps a description of its workers below ~/.matlab, or where JobStorageLocation says: jobs that start at the same time overwrite it.\n",
        printed_by="MATLAB (Parallel Computing Toolbox)",
        releases="R2013b on",
        literals=("Error using parpool", "Parallel pool failed to start", "Error using parallel.", "Failed to start a parallel pool", "storage metadata file"),
        patterns=(r"Error using (?:parpool|parallel\.\S*[Pp]ool)|[Pp]arallel pool failed to start|Failed to start (?:a|the) parallel pool|storage metadata file (?:is corrupt|does not exist)",),
        causes=(
            Cause("workers-of-script", "script", "the script has MATLAB start more workers than the job has CPUs", "ask for as many CPUs with --cpus-per-task, or start as many workers as there are: parpool(str2double(getenv('SLURM_CPUS_PER_TASK')))", script=_workers, log=says("workers requested")),
            Cause("more-than-cpus", "code", "more workers are asked for than the pool may have: MATLAB counts the CPUs of the job", "parpool(str2double(getenv('SLURM_CPUS_PER_TASK'))), or ask for as many CPUs with --cpus-per-task", script=requests("cpus-per-task", "ntasks"), log=says("workers requested")),
            Cause("array", "script", "elements of the array that start at the same time share the folder in which MATLAB describes its workers", "c = parcluster('local'); c.JobStorageLocation = getenv('TMPDIR'); parpool(c, …), with a folder of its own for each element", script=requests("array")),
            Cause("storage", "code", "MATLAB could not start its workers: another job uses the same folder for them, or there are more than CPUs", "c = parcluster('local'); c.JobStorageLocation = getenv('TMPDIR'); parpool(c, N), with N from SLURM_CPUS_PER_TASK"),
        ),
        below=Below(r"storage metadata file|Too many workers requested.*", after=r"^Error using parpool|Parallel pool failed", instead=True),
        matches="Error using parpool (line 113)\nParallel pool failed to start with the following error.\n    The storage metadata file is corrupt.\n",
    ),
    Symptom(
        id="workflow-job-state",
        title="a job that a workflow submitted did not end well",
        docs="The state is Slurm's own word for it (`man sacct`), which the workflow program asked for.\n",
        printed_by="Snakemake, future.batchtools, Nextflow, Parsl",
        releases="states of sacct, all releases of Slurm",
        role="consequence",
        literals=("TIMEOUT", "OUT_OF_ME", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED"),
        patterns=(r"(?i:job|status|state)\b.{0,120}(?<![\w=-])(?P<state>TIMEOUT|OUT_OF_ME\w*|NODE_FAIL|BOOT_FAIL|PREEMPTED)(?![\w-])",),
        causes=(
            Cause("time", "submission", "the time limit that the workflow gave the job was too short", "give that step more time in the workflow's configuration", log=begins("state", "TIMEOUT")),
            Cause("memory", "submission", "the memory that the workflow gave the job was too little", "give that step more memory in the workflow's configuration", log=begins("state", "OUT_OF_ME")),
            Cause("node", "cluster", "a node failed, or its job was preempted ({state})", "submit again; let the workflow retry such jobs"),
        ),
        matches="message: SLURM-job '2254' failed, SLURM status is: 'TIMEOUT'. For further error details see the log\n",
        others="RESULT: TIMEOUT=30 in the job's settings\n",
    ),
    Symptom(
        id="panic",
        title="a program gave up",
        docs="A program in Go or Rust that met what it did not expect.\n",
        printed_by="Go, Rust",
        role="consequence",
        literals=("panic: ", "panicked at", "fatal error: all goroutines"),
        patterns=(r"^panic: (?P<what>.+)", r"thread '[^']*' (?:\(\d+\) )?panicked at", r"^fatal error: all goroutines are asleep"),
        causes=(Cause("program", "code", "the program gave up", "see its message"),),
        matches="panic: runtime error: index out of range [3] with length 3\nthread 'main' panicked at src/main.rs:3:5:\nfatal error: all goroutines are asleep - deadlock!\n",
    ),
)
