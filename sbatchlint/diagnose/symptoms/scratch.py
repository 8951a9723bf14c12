"""Folders for temporary files: TMPDIR, and the scratch folder that a site makes for each job."""

import re

from sbatchlint.diagnose.clues import matches
from sbatchlint.diagnose.evidence import assigned, containers, containing, matching, options, shown
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named

_NAMES = ("TMPDIR", "TMP", "TEMP", "TEMPDIR", "APPTAINERENV_TMPDIR", "SINGULARITYENV_TMPDIR")


def _in_container(job: Job, event: Event) -> Verdict:
    """The commands and steps that enter a container, in a script that neither mounts nor sets TMPDIR."""
    mounted = r"--(?:bind|mount|volume|container-mounts)[ =]\S*TMPDIR|-[Bv] ?\S*TMPDIR"
    return None if re.search(mounted, job.source.own.text) else shown(containers(job))


def _set(job: Job, event: Event) -> Verdict:
    """Where the script names the folder, and makes none of that name."""
    found = assigned(job, *_NAMES)
    made = commands_named(job, "mkdir", "install", "mktemp")
    text = job.source.text
    values = filter(None, (text[each.start : each.end].split("=", 1)[-1].strip("'\"") for each in found))
    return None if matching(job, made, r"TE?MP") or containing(job, made, *values) else shown(found)


def _made_once(job: Job, event: Event) -> Verdict:
    """Where the batch shell makes the folder, on the first of several nodes."""
    nodes = job.request.nodes
    if nodes is None or nodes.maximum == 1 or not options(job, "nodes", "ntasks"):
        return None
    found = matching(job, commands_named(job, "mkdir", "mktemp"), r"TE?MP|/tmp|/local|/scratch")
    return Shown((*found, *assigned(job, *_NAMES)), None, "likely") if found else None


def _sets_nothing(job: Job, event: Event) -> Verdict:
    return RULED_OUT if assigned(job, *_NAMES) else None


# A folder with a name as sites make it for a job, by its number.
_of_job = matches(r"/(?:\w*scratch\w*|jobfs|local\w*|tmp|lscratch)/(?:\S*[._-])?\d{3,}", above=1, below=1)


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
