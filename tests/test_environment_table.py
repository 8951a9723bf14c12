"""Slurm's environment by phase and release: the table, names that are not in it, what the model makes of it."""

from __future__ import annotations

import pytest

from sbatchlint.bash.trace import Context
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job, Site
from sbatchlint.job.environment import (
    COUNTING_OPTIONS,
    NODE_COUNTS,
    PER_NODE,
    PER_TASK,
    TASK_COUNTS,
    ZERO_IN_BATCH,
)
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.slurm.environment import Entry, find, known_names, misspelling_of, variables
from sbatchlint.slurm.options import table
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.text import Source

CONDITIONS = {"always", "options", "gpus", "array", "het", "requeue", "maybe"}


def environment(options: str, versions: tuple[str, str] = ("22.05", "26.05")) -> JobEnvironment:
    script = "#!/bin/bash\n" + "".join(f"#SBATCH {option}\n" for option in options.split())
    return JobEnvironment(Job.from_source(Source(script, "job.sbatch"), Site(slurm_versions=versions)).request)


def in_batch(name: str, options: str = "", versions: tuple[str, str] = ("22.05", "26.05")) -> str | bool | None:
    return environment(options, versions).lookup(name, Context(Phase.BATCH))


@pytest.mark.parametrize("entry", variables().values(), ids=lambda entry: entry.name)
def test_an_entry_is_consistent(entry: Entry) -> None:
    assert {entry.when, entry.task_when} <= CONDITIONS
    assert entry.task and entry.batch <= entry.task
    assert entry.varies in ("", "node", "task")
    assert (
        entry.value in ("", "0", "BATCH", "first node", "nodes", "tasks")
        or entry.option in entry.options
        or (entry.name == "SLURM_JOB_NAME")
    )
    assert entry.twin is None or entry.twin == "" or variables()[entry.twin].batch
    # every option that it names is one of Slurm's, in some release
    known = {name for release in MAJORS for name in table("sbatch", release).names}
    known |= {name for release in MAJORS for name in table("srun", release).names}
    assert set(entry.options) <= known
    assert bool(entry.options) or entry.when != "options"


def test_the_sets_that_geometry_needs() -> None:
    assert {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_TASK_PID"} == PER_TASK
    assert {"SLURM_NODEID", "SLURM_GTIDS", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR"} == PER_NODE
    assert {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS"} == ZERO_IN_BATCH
    assert {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"} == NODE_COUNTS
    assert {"SLURM_NTASKS", "SLURM_NPROCS"} == TASK_COUNTS
    assert set(COUNTING_OPTIONS) <= set(variables()["SLURM_NTASKS"].options)


@pytest.mark.parametrize(
    ("name", "meant", "certain"),
    [
        ("SLURM_JOB_NUMNODES", "SLURM_JOB_NUM_NODES", True),
        ("SLURM_NODE_ID", "SLURM_NODEID", True),
        ("SLURM_PROC_ID", "SLURM_PROCID", True),
        ("SLURM_GPU_ON_NODE", "SLURM_GPUS_ON_NODE", True),
        ("SLURM_CPU_PER_TASK", "SLURM_CPUS_PER_TASK", True),
        ("SLURM_NTAKS", "SLURM_NTASKS", True),
        ("SLURM_NTASKS_PERNODE", "SLURM_NTASKS_PER_NODE", True),
        ("SLURM_ARRAYID", "SLURM_ARRAY_TASK_ID", True),
        ("SLURM_JOB_NUM_TASKS", "SLURM_NTASKS", True),
        ("SLURM_NODENAME", "SLURMD_NODENAME", True),
        ("SLURM_JOBNODELISTS", "SLURM_JOB_NODELIST", True),
        ("SLURM_JBO_NODE_LITS", "SLURM_JOB_NODELIST", False),
    ],
)
def test_a_slip_leads_to_the_name_that_was_meant(name: str, meant: str, certain: bool) -> None:
    found = misspelling_of(name)
    assert found is not None
    assert (found.meant, found.certain) == (meant, certain)


@pytest.mark.parametrize(
    "name",
    [
        "SLURM_TMPDIR",
        "SLURM_LOG_DIR",
        "SLURM_ARGS",
        "SLURM_SCRIPT",
        "SLURM_PATH",
        "SLURM_TASKS_PER_JOB",
        "SLURM_JOB_QUEUE",
        "SLURM_OPTS",
        "HOME",
        "SLURM_JOB_ID_HET_GROUP_0",
        "SLURM_JOB_NODELIST_PACK_GROUP_1",
        "SLURM_VERSION_HET_JOB_FIX",
        "SLURM_NODES_HET_GROUP_0",
        "SBATCH_PARTITION",
        "SLURM_CONF",
        "SLURM_CPU_BIND",
        "SLURM_MPI_TYPE",
        "SLURM_HINT",
        "SLURM_TIMELIMIT",
        "SLURM_EXCLUSIVE",
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    assert misspelling_of(name) is None


def test_every_name_of_slurm_is_no_slip() -> None:
    assert [name for name in known_names() if misspelling_of(name) is not None] == []


def test_components_have_variables_of_their_own() -> None:
    entry = find("SLURM_NTASKS_HET_GROUP_1")
    assert entry is not None and (entry.when, entry.options) == ("het", ())
    assert find("SLURM_STRANGE_HET_GROUP_1") is None


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("SLURM_NTASKS", "--nodes=2", False),
        ("SLURM_NTASKS", "--nodes=2 --ntasks-per-node=4", "8"),
        ("SLURM_NTASKS", "--gpus=4 --ntasks-per-gpu=1", None),
        ("SLURM_CPUS_PER_TASK", "--ntasks=2", False),
        ("SLURM_CPUS_PER_TASK", "-c 4", "4"),
        ("SLURM_CPUS_PER_TASK", "--ntasks=2 --tres-per-task=cpu=4", None),
        ("SLURM_GPUS_PER_NODE", "--gres=gpu:8", False),
        ("SLURM_GPUS_PER_NODE", "--gpus-per-node=h100:8", "h100:8"),
        ("SLURM_GPUS_ON_NODE", "--gres=gpu:8", "8"),
        ("SLURM_STEP_NODELIST", "", False),
        ("SLURM_THREADS_PER_CORE", "", False),
        ("SLURM_THREADS_PER_CORE", "--hint=nomultithread", None),
        ("SLURM_ARRAY_TASK_ID", "", None),  # often from the command line
        ("SLURM_MEM_PER_NODE", "", None),  # perhaps by the partition
        ("SLURM_PROCID", "--nodes=2", "0"),
        ("SLURM_STRANGE", "", None),
    ],
)
def test_what_the_batch_shell_has(name: str, options: str, value: str | bool | None) -> None:
    assert in_batch(name, options) == value


def test_releases_differ() -> None:
    options = "--ntasks=4 --gpus-per-task=2"
    assert in_batch("SLURM_GPUS_PER_TASK", options, ("22.05", "23.02")) == "2"
    assert in_batch("SLURM_GPUS_PER_TASK", options, ("22.05", "26.05")) is None
    assert in_batch("SLURM_GPUS_PER_TASK", options, ("23.11", "26.05")) is False
    assert in_batch("SLURM_STEP_ID", "", ("22.05", "25.11")) is False
    assert in_batch("SLURM_STEP_ID", "", ("22.05", "26.05")) is None


def test_a_login_shell_has_nothing_that_is_known() -> None:
    assert environment("--nodes=2").lookup("SLURM_NNODES", Context(Phase.SUBMIT)) is None
