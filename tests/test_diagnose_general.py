"""`sbatchlint diagnose` of programs that it has never heard of: their last words, and what these speak of."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint import api
from sbatchlint.diagnose.answers import rows_of
from sbatchlint.diagnose.run import Run, judged
from sbatchlint.settings import Overrides

# Each log: the decisive lines marked `> `, then where it lies.
LOGS = {
    "an exception of no known name, below its frames": (
        """\
Traceback (most recent call last):
  File "fit.py", line 3, in <module>
    fit(rows)
  File "/opt/lib/python3.11/site-packages/fitting/core.py", line 9, in fit
    raise NoConvergence("after 40 rounds")
> fitting.core.NoConvergence: after 40 rounds
srun: error: n1: task 0: Exited with exit code 1
""",
        "code",
    ),
    "a look-up that failed, and what it was for": (
        """\
Traceback (most recent call last):
  File "load.py", line 3, in find
    return KNOWN[name]
KeyError: 'resnet7'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "load.py", line 5, in find
    raise ValueError(f"no such model: {name}")
> ValueError: no such model: resnet7
""",
        "code",
    ),
    "the first of two exceptions": (
        """\
Traceback (most recent call last):
  File "load.py", line 3, in find
    step(rows)
> FloatingPointError: overflow in step 9

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "load.py", line 5, in find
    save()
RuntimeError: no state to save
""",
        "code",
    ),
    "an exception that a logger prints": (
        """\
ERROR 11-24 08:50:34 [core.py:842] Traceback (most recent call last):
ERROR 11-24 08:50:34 [core.py:842]   File "core.py", line 7, in run
> ERROR 11-24 08:50:34 [core.py:842] ValueError: no blocks are left
""",
        "code",
    ),
    "an error that only names its place": (
        """\
> init_grid(): Number of processes exceeds number of cells
    13600    7425
 ERROR in init_mod.F90 at line 175
""",
        "submission",
    ),
    "an error that only points elsewhere": (
        """\
> solver: error: the grid has no points
RuntimeError: worker 3 failed, see the log above for the root cause
""",
        "code",
    ),
    "a failure that the program goes on after": (
        """\
fuse: failed to clone device fd: Inappropriate ioctl for device
fuse: trying to continue without -o clone_fd.
> Fatal error: the box is smaller than the cut-off
""",
        "code",
    ),
    "a heading, and the message below": (
        """\
-------------------------------------------------------
Program:     mdcode, version 3

> Fatal error:
> The number of ranks (31) cannot be cut into a grid of 3 dimensions
-------------------------------------------------------
""",
        "submission",
    ),
    "an input that is cut short": ("> reader: error: mesh.dat: unexpected end of file in block 3\n", "data"),
    "an input that is not there": ("> cannot open the input file: orbit.nc does not exist\n", "data"),
    "an option": ("> solver: error: unknown keyword argument 'cut_of'\n", "submission"),
    "an argument of a call": ("> TypeError: fit() got an unexpected keyword argument 'cut_of'\n", "code"),
    "a variable of the environment": (
        """\
Traceback (most recent call last):
  File "fit.py", line 3, in <module>
    root = os.environ["MESH_ROOT"]
  File "/opt/lib/python3.11/os.py", line 675, in __getitem__
    raise KeyError(key) from None
> KeyError: 'MESH_ROOT'
""",
        "submission",
    ),
    "an input of a Python program": (
        "> FileNotFoundError: [Errno 2] No such file or directory: 'mesh/box.npz'\n",
        "data",
    ),
    "settings of a Python program": (
        "> FileNotFoundError: [Errno 2] No such file or directory: 'box.yaml'\n",
        "submission",
    ),
    "a program that another one starts": ("> solver: execvp failed: No such file or directory\n", "submission"),
    "memory of the node": ("> solver: ERROR: cannot allocate 12 GB\n", "submission"),
    "memory that processes share": ("> solver: ERROR: unable to allocate shared memory\n", "cluster"),
    "a namespace of R": ("> Error: package or namespace load failed for 'fits'\n", "code"),
    "a namespace of the kernel": ("> launcher: ERROR: the user namespace is disabled\n", "cluster"),
    "a program of the image": ("> FATAL:   exec /opt/run.sh failed: permission denied\n", "code"),
    "memory of the GPU": ("> solver: ERROR: cannot allocate 12 GB of device memory\n", "code"),
    "a path with the name of a file system": ("> solver: ERROR: cannot find /lustre/ada/box.msh\n", "data"),
    "a library of a module": (
        "> ./solver: error while loading shared libraries: libhdf5.so.200: cannot open shared object file\n",
        "submission",
    ),
    "a library of the driver": (
        "> ./solver: error while loading shared libraries: libcuda.so.1: cannot open shared object file\n",
        "cluster",
    ),
    "a file of the system": ("> PermissionError: [Errno 13] Permission denied: '/var/log/x'\n", "cluster"),
    "a refusal": ("> sbatch: error: Batch job submission failed: Invalid qos specification\n", "submission"),
    "a refusal that is not for the job": (
        "> sbatch: error: Batch job submission failed: Transport endpoint is not connected\n",
        "cluster",
    ),
    "a script that was submitted by its name": (
        "$ sbatch job.sh\n> sbatch: error: Batch job submission failed: Invalid qos specification\n",
        "submission",
    ),
    "a command line with options": (
        "$ sbatch -q a job.sh\n> sbatch: error: Batch job submission failed: Invalid qos specification\n",
        "submission",
    ),
    "a refusal of what a program submitted": (
        """\
> sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified
Traceback (most recent call last):
  File "/opt/x/submit.py", line 3, in <module>
""",
        "submission",
    ),
    "a program that Python starts": (
        """\
Traceback (most recent call last):
  File "/opt/lib/python3.11/subprocess.py", line 1955, in _execute_child
    raise child_exception_type(errno_num, err_msg, err_filename)
> FileNotFoundError: [Errno 2] No such file or directory: 'solver'
""",
        "submission",
    ),
    "memory for workers": ("> OSError: [Errno 12] Cannot allocate memory\n", "submission"),
    "a job without a script": (
        "> srun: error: Unable to allocate resources: Invalid account or account/partition combination specified\n",
        "submission",
    ),
    "memory of a step of a workflow": (
        """\
localrule align:
    jobid: 0
> slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.
""",
        "submission",
    ),
    "a shell's error in the script": ("> /var/spool/job7/slurm_script: line 3: syntax error near `fi'\n", "script"),
    "a shell's error in another script": ("> /opt/x/run.sh: line 3: syntax error near unexpected token `fi'\n", "code"),
    "a library that Slurm wants": ("> slurmd: error: /usr/lib64/slurm/x.so: undefined symbol: run\n", "cluster"),
    "an option of mpiexec": (
        "> An unrecognized option was included on the mpiexec command line:\n\n>   Option: --hosts\n",
        "submission",
    ),
    "a service": ("> worker: error: the scheduler is down; try later\n", "cluster"),
    "memory of a job": (
        "> slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n",
        "submission",
    ),
    "an account of the node": ("> FATAL: cannot find user information: user id 4711 is not known\n", "cluster"),
    "a peer that went": ("> [7] ERROR: connection reset by peer\n", "code"),
    "a server": ("> worker: error: connection refused: 10.0.0.3\n", "cluster"),
    "a program that submits": ("> RuntimeError: sbatch said: invalid partition\n", "submission"),
    "a complaint in other words than those of errors": (
        "reading the mesh\n> The folder of meshes was not specified!\n",
        "submission",
    ),
    "a complaint in the last line of many": (
        "".join(f"step {n}\n" for n in range(60)) + "> columns mismatch\n",
        "code",
    ),
    "what another program printed": (
        """\
Traceback (most recent call last):
  File "fit.py", line 3, in <module>
    run(command)
Exception: PID=4711, PGID=4711, RC=1
> STDERR=gzip: reads.fq.gz: unexpected end of file
STDOUT=
""",
        "data",
    ),
    "an error without words, and one with them": ("> ERROR: \n> solver: error: the grid has no points\n", "code"),
    "a state that a workflow reports": ("> job 'align' ended in state OUT_OF_MEMORY\n", "submission"),
    "a library of a fabric": (
        """\
libfabric:71:0:cxi:core:cxip_ux_onload_cb():2444<warn> no resources
> Program received signal SIGABRT: Process abort signal.
#3  0x149cb13010da in cxip_ux_onload_cb
""",
        "cluster",
    ),
    "a carriage return": ("> : No such file or directory\n", "script"),
    "C++": (
        "> terminate called after throwing an instance of 'geo::Bad'\n>   what():  the mesh has no cells\n",
        "code",
    ),
    "C": ("> a.out: grid.c:12: build: Assertion `n > 0' failed.\nsrun: error: n1: task 0: Aborted\n", "code"),
    "Fortran": ("> STOP negative density\n", "code"),
    "Fortran, by its library": (
        "> At line 12 of file in.f90 (unit = 10)\n> Fortran runtime error: End of file\nError termination.\n",
        "data",
    ),
    "R": ("> Error in fit(x, y) : \n>   the columns differ\nCalls: main -> fit\nExecution halted\n", "code"),
    "Julia": (
        "ERROR: LoadError: TaskFailedException\n\n>     nested task error: BoundsError: attempt to access 3\n",
        "code",
    ),
    "Java": (
        '> Exception in thread "main" java.lang.IllegalStateException: no reads\n\tat x.Main(Main.java:3)\n',
        "code",
    ),
    "MATLAB": ("> Error using chol\n> Matrix must be positive definite.\nError in fit (line 4)\n", "code"),
    "Perl": ("> the table has no rows at /opt/bin/sum.pl line 12.\n", "code"),
    "a renamed srun": ("> yhrun: error: cn7: task 0: Segmentation fault (core dumped)\n", "code"),
    "a setting of Slurm's that heals itself": (
        """\
slurmstepd: error: Unable to create TMPDIR [/data/tmp]: No such file or directory
slurmstepd: error: Setting TMPDIR to /tmp
> solver: error: the grid has no points
""",
        "code",
    ),
    "capitals among a logger's words": (
        "2024-05-01 10:00:00,120 - trainer - INFO - start\n> 2024-05-01 10:00:09,120 - trainer - ERROR - no batch\n",
        "code",
    ),
}
# The ends of logs of jobs that went well.
WELL = {
    "a default": "the seed is not set; using the default\ndone\n",
    "a request of authors": "Please cite the paper of this program.\n",
    "a guess": "cell size not specified, assuming 1 nm\nfinished in 3 s\n",
    "counts": "PASS: 12 FAIL: 0\n",
}
# A script (lines to blame marked `> `), and the log.
SCRIPTS = {
    "a path of the script": (
        "#!/bin/bash\n#SBATCH --ntasks=1\n> srun solver --mesh inputs/box.msh\n",
        "solver: cannot open inputs/box.msh\n",
    ),
    "an option of the script": (
        "#!/bin/bash\n#SBATCH --ntasks=1\nmodule load solver\n> srun solver --cut-of=3\n",
        "ERROR: unknown option '--cut-of=3'\n",
    ),
    "the number of processes": (
        "#!/bin/bash\n> #SBATCH --ntasks=31\nmodule load md\n> srun md run.in\n",
        "Fatal error: there is no domain decomposition for 31 ranks\n",
    ),
    "nothing was loaded": (
        "#!/bin/bash\n#SBATCH --ntasks=1\n> srun md -in run.in\n",
        "/opt/md/bin/md: error while loading shared libraries: libfftw3.so.3: cannot open shared object file\n",
    ),
    "a file beside the script": (
        '#!/opt/julia/bin/julia\n#SBATCH --ntasks=1\n> include("model.jl")\n',
        "ERROR: LoadError: could not open file /var/spool/slurmd/job00071/model.jl\n",
    ),
    "a line that is cut": (
        "#!/bin/bash\n#SBATCH --ntasks=1\n> srun solver --steps 3\n> --mesh box.msh\n",
        "solver: the mesh was not specified\n",
    ),
    "a step in a job of one task": (
        "#!/bin/bash\nmodule load mpi\n> srun -n 2 ./a.out\n",
        "srun: error: Unable to create job step: More processors requested than permitted\n",
    ),
}


def _judged(folder: Path, log: str, script: str | None = None) -> Run:
    (folder / "job.log").write_text(log)
    if script is not None:
        (folder / "job.sh").write_text(script)
    path = None if script is None else str(folder / "job.sh")
    return judged([str(folder / "job.log")], path, options=Overrides(isolated=True), searching=False)


def _marked(text: str) -> tuple[str, set[int]]:
    lines = text.split("\n")
    return "\n".join(each.removeprefix("> ") for each in lines), {
        row for row, line in enumerate(lines, 1) if line.startswith("> ")
    }


@pytest.mark.parametrize("name", LOGS)
def test_the_last_words_of_a_program(name: str, tmp_path: Path) -> None:
    log, where = LOGS[name]
    text, marked = _marked(log)
    best = _judged(tmp_path, text).diagnosis.answers[0]
    assert set(best.event.rows) <= marked, best
    assert (best.where, best.confidence == "certain") == (where, False), best


@pytest.mark.parametrize("name", WELL)
def test_the_last_words_of_a_job_that_went_well(name: str, tmp_path: Path) -> None:
    assert not _judged(tmp_path, "step 1\nstep 2\n" + WELL[name]).diagnosis.answers


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_has_the_word_of_the_message(name: str, tmp_path: Path) -> None:
    script, log = SCRIPTS[name]
    text, marked = _marked(script)
    run = _judged(tmp_path, log, text)
    best = run.diagnosis.answers[0]
    assert best.where == "script", best
    assert marked <= set(rows_of(best, run.source)), best


def test_an_answer_is_given_once(tmp_path: Path) -> None:
    log = "torchrun: error: the following arguments are required: training_script, training_script_args\n"
    found = [(each.says, each.where) for each in _judged(tmp_path, log).diagnosis.answers]
    assert len(found) > 1 and len(set(found)) == len(found), found


_TIMED_OUT = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout:"
    " WorkNCCL(SeqNum=1423, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)


@pytest.mark.parametrize(
    ("above", "ranks", "cause", "confidence"),
    [
        ("", (3, 5), "one-rank", "possible"),  # nothing tells of the others
        ("", (1, 2, 3), "one-rank", "possible"),  # nor whether there are more
        ("world_size: 4\n", (1, 3), "one-rank", "possible"),
        ("world_size: 8\n", (1, 2, 3), "one-rank", "possible"),
        ("world_size: 4\n", (0, 1, 2), "one-rank", "possible"),
        ("world_size: 4\n", (1, 2, 3), "rank-zero-alone", "likely"),
        ("Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/4\n", (1, 2, 3), "rank-zero-alone", "likely"),
    ],
)
def test_a_rank_is_missed_only_where_all_others_are_known_to_have_come(
    above: str, ranks: tuple[int, ...], cause: str, confidence: str, tmp_path: Path
) -> None:
    log = above + "".join(map(_TIMED_OUT.format, ranks))
    first = _judged(tmp_path, log).diagnosis.answers[0]
    assert (first.cause.key, first.confidence) == (cause, confidence)


def test_a_program_without_its_gpu_is_shown_by_a_job_that_asks_for_one() -> None:
    log = (
        "W tensorflow/stream_executor: Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0\n"
        "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n"
    )
    found = api.diagnose(log.encode(), script="#!/bin/bash\n#SBATCH --gres=gpu:1\npython train.py\n")
    assert "without the GPU that the job has" in found.text(200)
    assert "nothing that is seen in it shows that" not in found.text(200)


def test_of_two_variables_that_srun_takes_the_hostfile_is_named() -> None:
    script = "#!/bin/bash\nexport SLURM_HOSTFILE=hosts\nexport SLURM_DISTRIBUTION=arbitrary\nsrun ./a\n"
    log = "srun: error: SLURM_DISTRIBUTION=arbitrary needs a hostfile: Invalid hostfile\n"
    assert "`unset SLURM_HOSTFILE`" in api.diagnose(log.encode(), script=script).text(200)
