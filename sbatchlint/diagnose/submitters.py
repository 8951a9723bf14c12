"""Programs that submit jobs of their own: which messages are of such a job, and where they take its request from."""

import re

from sbatchlint.diagnose.answers import Answer, Picture
from sbatchlint.diagnose.evidence import CPUS, MEMORY, SIZES, TASKS, options_written
from sbatchlint.diagnose.subjects import related_options
from sbatchlint.diagnose.symptom import Event

# How Nextflow heads what a failed task of its own printed.
_REPORT = re.compile(r"^\s*Command (?:error|output|exit status|executed):")
# Where programs have the account, the queue, the time and the memory of the jobs that they submit.
_SETTINGS = {
    "canu": 'canu: gridOptions="--account=… --partition=… --time=…", or useGrid=false, with which it runs all in this job',
    "nextflow": "Nextflow: queue, time, memory and clusterOptions of the process in nextflow.config (-c FILE), or executor = 'local', with which it runs all in this job",
    "snakemake": "Snakemake: --default-resources slurm_account=… slurm_partition=… runtime=… mem_mb=…, or the profile that it is given",
    "cromwell": "Cromwell: submit and runtime-attributes of the backend in its configuration",
    "cellranger": "Cell Ranger: the template of --jobmode, or --jobmode=local",
}


def of_own_job(event: Event) -> bool:
    """Whether Slurm says a message of a job that a program of the script submitted: it is in the report on that job."""
    by_slurm = any(each in event.symptom.printed_by for each in ("slurmstepd", "slurmctld"))
    return by_slurm and any(map(_REPORT.match, event.above[-40:]))


# A command that submits, after the prompt of a shell that a log shows.
_TYPED = re.compile(
    r"(?:^|[\])~] ?|(?<![\w.-])[\w.-]+@[\w.-]+[^$#%]{0,80})[$#%>] ?(?P<command>(?:sbatch|srun|salloc) .*)"
)
_OPTION = re.compile(
    r"(?<=\s)(?:-(?P<letter>[A-Za-z])[ =]?(?P<value>[^\s-]\S*)|--(?P<name>[a-z][a-z-]+)(?:[= ](?P<long>[^\s-]\S*))?)"
)


def typed_options(event: Event) -> tuple[str, list[str]]:
    """The command by which a log shows that the job was submitted, and its options about what a message objects to."""
    lines = [match for line in (*event.early, *event.above) if (match := _TYPED.search(line))]
    if not lines:
        return "", []
    command = lines[-1]["command"]
    wanted = related_options(event) | frozenset(SIZES) | {"partition", "constraint"}
    found = []
    for match in _OPTION.finditer(command):
        names = options_written(" " + match[0])
        if names & wanted:
            found.append(match[0])
    return command.split()[0], found


def with_command(answer: Answer) -> Answer:
    """The answer with the options of the command that the log shows, where Slurm refuses what was submitted."""
    by_slurm = any(each in answer.event.symptom.printed_by for each in ("slurmctld", "sbatch", "srun"))
    if answer.where != "submission" or not by_slurm:
        return answer
    command, options = typed_options(answer.event)
    if not options:
        return answer
    return answer._replace(advice=f"look at {' '.join(options)} of that {command}; {answer.advice}", proven=True)


# What a job asks for in its directives, by kind.
_ASKED = (frozenset(MEMORY), frozenset(TASKS), frozenset(CPUS), frozenset({"time"}))
_NAMED = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")


def by_directives(answer: Answer, picture: Picture | None) -> Answer:
    """The answer as one about the script, where that has directives, and what to ask for otherwise stands among them.

    Not where the log shows that the command line asks for it, or a program submits jobs or starts steps of its own.
    """
    if picture is None or answer.where != "submission" or "program" in answer.cause.key.split("-"):
        return answer
    options = frozenset(_NAMED.findall(answer.advice))
    asked = [kind for kind in _ASKED if kind & options]
    directives = picture.jobs[0].directives
    if not asked or not directives.certain or not directives.settings or typed_options(answer.event)[1]:
        return answer
    return answer._replace(place="script")


def with_settings(answer: Answer, picture: Picture | None) -> Answer:
    """The answer with where the program of the script that submits takes what it asks for."""
    by_slurm = any(each in answer.event.symptom.printed_by for each in ("slurmstepd", "slurmctld", "sbatch"))
    if picture is None or answer.where != "submission" or not by_slurm:
        return answer
    text = picture.source.text
    for name, told in _SETTINGS.items():
        if re.search(rf"(?m)^(?![ \t]*#)[^\n]{{0,400}}?(?<![\w.-]){name}(?:[-.][\w.]{{1,20}}jar)?(?=\s)", text):
            program = told.partition(":")[0]
            kept = re.sub(rf" \({program}: [^)]*\)", "", answer.advice)
            return answer if program in answer.advice else answer._replace(advice=f"{kept}. {told}")
    return answer
