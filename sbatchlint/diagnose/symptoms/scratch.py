"""Folders for temporary files: TMPDIR, and the scratch folder that a site makes for each job."""

import re

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.diagnose.evidence import assigned, options, possible, shown, spans_of
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job

_NAMES = ("TMPDIR", "TMP", "TEMP", "TEMPDIR", "APPTAINERENV_TMPDIR", "SINGULARITYENV_TMPDIR")


def _in_container(job: Job, event: Event) -> Verdict:
    """The commands and steps that enter a container, in a script that neither mounts nor sets TMPDIR."""
    text = job.source.own.text
    found = tuple(start.place for ways in container_starts(job) for start in ways)
    found = found or spans_of([each for each in job.steps if each.container is not None])
    if not found or re.search(r"--(?:bind|mount|volume|container-mounts)[ =]\S*TMPDIR|-[Bv] ?\S*TMPDIR", text):
        return None
    return shown(found)


def _set(job: Job, event: Event) -> Verdict:
    """Where the script names the folder, and makes none of that name."""
    found = assigned(job, *_NAMES)
    made = [each for each in job.invocations if each.name in ("mkdir", "install", "mktemp")]
    text = job.source.text
    values = [text[each.start : each.end].split("=", 1)[-1].strip("'\"") for each in found]
    if any(re.search(r"TE?MP", text[each.span.start : each.span.end]) for each in made):
        return None
    if any(value and value in text[each.span.start : each.span.end] for each in made for value in values):
        return None
    return shown(found)


def _made_once(job: Job, event: Event) -> Verdict:
    """Where the batch shell makes the folder, on the first of several nodes."""
    nodes = job.request.nodes
    if nodes is None or nodes.maximum == 1 or not options(job, "nodes", "ntasks"):
        return None
    text = job.source.text
    found = [
        each.span
        for each in job.invocations
        if each.name in ("mkdir", "mktemp")
        and re.search(r"TE?MP|/tmp|/local|/scratch", text[each.span.start : each.span.end])
    ]
    return Shown((*found, *assigned(job, *_NAMES)), None, "likely") if found else None


def _sets_nothing(job: Job, event: Event) -> Verdict:
    return RULED_OUT if assigned(job, *_NAMES) else None


def _of_job(event: Event) -> bool | None:
    """A folder with a name as sites make it for a job, by its number."""
    near = " ".join((event.text, *event.above[-1:], *event.below[:1]))
    return possible(re.search(r"/(?:\w*scratch\w*|jobfs|local\w*|tmp|lscratch)/(?:\S*[._-])?\d{3,}", near))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="temporary-folder",
        title="the folder for temporary files is not there",
        docs="""\
Many programs put temporary files into $TMPDIR. Sites set it to a folder that they make for each job, on each of its nodes. A
container inherits the variable, and does not see the folder unless it is mounted; another node, or a job submitted from inside of
a job, may inherit a name whose folder is gone.
""",
        printed_by="mktemp, sort, Python (tempfile), R, Java, Perl, any program",
        releases="all releases",
        role="cause",
        literals=("via template", "No usable temporary", "temporary file", "temporary director", "temporary folder", "R_TempDir", "temp file", "temp director", "tmp director", "tempfile", "TMPDIR", "tmpdir", "libgkl_", "cannot create temp", "No such file or directory: '"),
        patterns=(
            r"failed to create (?:file|directory) via template [‘'\"]?(?P<path>/[^’'\"]+)[’'\"]?: No such file",
            r"No usable temporary (?:directory|file)",
            r"(?i)\b(?:can ?not|can't|could not|couldn't|unable to|failed to|error) (?:\w+ )?(?:creat|open|mak|writ)\w* (?:a |an |the |new )?(?:temp\w*|tmp) ?(?:file\w*|director\w*|folder\w*)\b(?!.*(?:space|quota|Permission))",
            r"cannot create 'R_TempDir'|NoSuchFileException: (?P<file>/\S*/libgkl_)",
            r"\$?\b(?:TMPDIR|tmpdir)\b.{0,60}\b(?:does not exist|doesn't exist|not exist|no such|not a directory|not writable)|No such file or directory: '(?P<folder>/(?:scratch|localscratch|lscratch|jobfs|local_scratch)/\S*\d{4,}[^/']*)(?:/tmp\w*)?'",
        ),
        causes=(
            Cause("not-mounted", "script", "the container inherits TMPDIR from the job, and the folder that it names is not mounted there", "mount it (`--bind \"$TMPDIR\"`, `--container-mounts=$TMPDIR`), or `unset TMPDIR` before the container starts", script=_in_container),
            Cause("first-node-only", "script", "the folder for temporary files is made on the first node only, and the tasks of the others look for it", "make it on each node: srun --ntasks-per-node=1 mkdir -p \"$TMPDIR\"", script=_made_once),
            Cause("not-made", "script", "the script names a folder for temporary files that is not there", "make it first: mkdir -p \"$TMPDIR\"", script=_set),
            Cause("inherited", "submission", "TMPDIR names a folder that is not there on the node: it came with the environment of the submission, or was removed", "set it in the script: export TMPDIR=$(mktemp -d /tmp/XXXXXX), or `unset TMPDIR`", script=_sets_nothing, log=_of_job),
            Cause("temporary", "submission", "the folder in which the program puts temporary files (TMPDIR, /tmp) is not there, or may not be written", "set it in the script to one that the job makes: export TMPDIR=$(mktemp -d)", script=_sets_nothing),
        ),
        matches="""\
mktemp: failed to create file via template ‘/scratch/71/tmp.XXXXXXXXXX’: No such file or directory
FileNotFoundError: [Errno 2] No usable temporary directory found in ['/scratch/71', '/tmp']
sort: cannot create temporary file in '/localscratch/71': No such file or directory
Fatal error: cannot create 'R_TempDir'
Caused by: java.nio.file.NoSuchFileException: /scratch/71/libgkl_compression.so
ERROR: TMPDIR /scratch/71 does not exist
FileNotFoundError: [Errno 2] No such file or directory: '/localscratch/ada.7142.0/tmpab12'
""",
        others="""\
job.sh: line 3: cannot create temp file for here-document: No space left on device
removing temporary files
Creating temporary folder (/localscratch/71/sct-1)
""",
        examples=(
            Example("mktemp: failed to create file via template ‘/scratch/71/tmp.XXXXXXXXXX’: No such file or directory\n", "#!/bin/bash\n#SBATCH --ntasks=1\n«singularity exec» app.sif annotate x.fa\n", "not-mounted", "likely"),
            Example("sort: cannot create temporary file in '/data/tmp': No such file or directory\n", "#!/bin/bash\n#SBATCH --ntasks=1\n«export TMPDIR=/data/tmp»\nsort -u a > b\n", "not-made", "likely"),
        ),
    ),
)
