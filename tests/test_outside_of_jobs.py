"""Branches that no job takes, only a shell of the login node: what stands there is no part of the job."""

import pytest

from sbatchlint.job import Job
from sbatchlint.site import Site
from sbatchlint.source.text import Source

HEADER = "#!/bin/bash\n#SBATCH --ntasks=4\n"

NEVER = [
    'if [ -z "$SLURM_JOB_ID" ]; then work; fi',
    "if [ -z $SLURM_JOB_ID ]; then work; fi",
    "if [[ -z $SLURM_JOBID ]]; then work; fi",
    "if [ -z ${SLURM_SUBMIT_DIR} ]; then work; fi",
    'if test -z "${SLURM_NODELIST:-}"; then work; fi',
    'if [ "$SLURM_JOB_ID" = "" ]; then work; fi',
    'if [[ "$SLURM_JOB_ID" == "" ]]; then work; fi',
    'if [ "x$SLURM_JOB_ID" = x ]; then work; fi',
    'if [ X"$SLURM_JOB_ID" == X"" ]; then work; fi',
    'if ! [ -n "${SLURM_JOB_ID:-}" ]; then work; fi',
    'if [ ! "$SLURM_JOB_ID" ]; then work; fi',
    'if [ -z "${SLURM_JOB_ID+x}" ]; then work; fi',
    "if [ -z ${SLURM_JOB_ID:+set} ]; then work; fi",
    "if [[ ! -v SLURM_JOB_ID ]]; then work; fi",
    'if [ -n "$SLURM_JOB_ID" ]; then :; else work; fi',
    'if [ -n "$SLURM_JOB_ID" ]; then :; elif [ -n "$X" ]; then work; fi',
    '[ -n "$SLURM_JOB_ID" ] || work',
    '[ -z "$SLURM_JOB_ID" ] && work',
    '[ -z "$SLURM_JOB_ID" ] && { work; exit; }',
    "[[ $SLURM_JOB_ID ]] || work",
    'case "$SLURM_JOB_ID" in "") work ;; esac',
    'if [ -n "$PBS_JOBID" ]; then work; fi',
    'if [ "$LSB_JOBID" ]; then work; fi',
    'if [ -z "$SLURM_JOB_ID" ] && [ -z "$LSB_JOBID" ]; then work; fi',
    'if [[ "x${SLURM_JOBID}" == "x" && "x${LSB_JOBID}" == "x" ]]; then work; fi',
    'in_job=0\n[ -n "$SLURM_JOB_ID" ] && in_job=1\nif [ $in_job = 0 ]; then work; fi',
    'outside() { [ -z "$SLURM_JOB_ID" ]; }\nif outside; then work; fi',
    "if ! command -v srun >/dev/null; then work; fi",
    "if ! which sbatch &> /dev/null; then work; fi",
    "type squeue >/dev/null 2>&1 || work",
    "hash scontrol 2>/dev/null || work",
    "[ -t 0 ] && work",
    "if [[ -t 1 ]]; then work; fi",
    'if [ -n "$PS1" ]; then work; fi',
    "bash -c '[ -z \"$SLURM_JOB_ID\" ] && work'",
]

PERHAPS = [
    'if [ -z "$SLURM_ARRAY_TASK_ID" ]; then work; fi',
    'if [ -n "$SLURM_RESTART_COUNT" ]; then work; fi',
    'if [ "$SLURM_JOB_ID" = "$1" ]; then work; fi',
    'if [ -z "$1" ]; then work; fi',
    "if ! command -v module; then work; fi",
    "if command -v srun my-tool; then work; fi",
    "if [ -t 3 ]; then work; fi",
    "[ -n $(scontrol show hostnames) ] || work",
    "env -i bash -c '[ -z \"$SLURM_JOB_ID\" ] && work'",
    "docker run -e A image bash -c '[ -z \"$SLURM_JOB_ID\" ] && work'",
    "case $(hostname) in login*) work ;; esac",
    "mode=local\nwhile getopts s option; do mode=slurm; done\nif [ $mode = local ]; then work; fi",
]

ALWAYS = [
    'if [ -n "$SLURM_JOB_ID" ]; then work; fi',
    'if [ -z "$SLURM_JOB_ID" ]; then :; else work; fi',
    '[ -n "$SLURM_SUBMIT_DIR" ] && work',
    '[ -z "$SLURM_JOB_ID" ] || work',
    "command -v srun && work",
    'if [ -z "$SLURM_JOB_ID" ]; then exit 1; fi\nwork',
    'if [ -z "$SLURM_JOB_ID" ]; then sbatch "$0"; exit; fi\nwork',
]


def works(job: Job) -> list[bool]:
    return [each.context.conditional for each in job.invocations if each.name == "work"]


def job_of(script: str) -> Job:
    return Job.from_source(Source(script, "job.sh"), Site())


@pytest.mark.parametrize("script", NEVER)
def test_what_no_job_runs_is_not_among_its_commands(script: str) -> None:
    job = job_of(f"{HEADER}{script}\n")
    assert works(job) == []
    assert job_of(f"#!/bin/bash\n{script}\n").invocations  # no batch script: nothing is decided


@pytest.mark.parametrize("script", PERHAPS)
def test_what_some_job_may_run_stays(script: str) -> None:
    assert len(works(job_of(f"{HEADER}{script}\n"))) == 1


@pytest.mark.parametrize("script", ALWAYS)
def test_what_every_job_runs_is_unconditional(script: str) -> None:
    assert works(job_of(f"{HEADER}{script}\n")) == [False]


def test_a_script_that_submits_itself() -> None:
    job = job_of(f'{HEADER}if [ -z "$SLURM_JOB_ID" ]; then\n  sbatch --nodes=2 "$0"\n  exit\nfi\nwork\n')
    assert [each.name for each in job.trace.outside] == ["[", "sbatch", "exit"]
    assert works(job) == [False]


def test_a_default_for_other_shells_is_not_taken() -> None:
    job = job_of(f'{HEADER}work "${{SLURM_SUBMIT_DIR:-$(dirname "$0")}}"\n')
    (command,) = [each for each in job.invocations if each.name == "work"]
    assert command.alternatives == 1


def test_a_job_of_another_system() -> None:
    job = job_of('#!/bin/bash\n#PBS -l nodes=2\nif [ -n "$PBS_JOBID" ]; then work; fi\n')
    assert len(works(job)) == 1
