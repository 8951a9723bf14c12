"""Files and file systems: full, gone, locked, not permitted; caches that several ranks write."""

import re

from sbatchlint.diagnose.clues import group_matches, matches, near, possible, says
from sbatchlint.diagnose.evidence import (
    assigned,
    commands,
    containers,
    containing,
    options,
    shown,
    spans_of,
    step_options,
    worded,
)
from sbatchlint.diagnose.questions import requests
from sbatchlint.diagnose.subjects import WRITTEN, of_removed, shares_folder
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named
from sbatchlint.job.worlds import find_worlds
from sbatchlint.programs import has_trait

_CACHES = (
    "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCH_HOME", "UV_CACHE_DIR",
    "PIP_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "WANDB_CACHE_DIR", "APPTAINER_CACHEDIR", "SINGULARITY_CACHEDIR",
    "APPTAINER_TMPDIR", "TMPDIR", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "CONDA_PKGS_DIRS",
)  # fmt: skip


def _in_container(job: Job, event: Event) -> Verdict:
    """The steps in a container of pyxis, whose image is read-only unless the site or an option changes that."""
    found = [step for step in job.steps if step.container is not None and step.container.kind == "pyxis"]
    pyxis = spans_of([each for each in found if "container-writable" not in each.options])
    started = commands_named(job, "apptainer", "singularity", "shifter")  # they mount an image read-only
    writable = containing(job, started, "--writable")
    return shown((*pyxis, *(each.argv[0][0].span for each in started if each.span not in writable)))


def _temporary(job: Job, event: Event) -> Verdict:
    """The script works in /tmp of the node."""
    users = commands_named(job, "mkdir", "cd", "cp", "rsync", "tar")
    return shown((*containing(job, (*job.assignments, *users), "/tmp"), *commands(job, "mktemp")))


def _caches(job: Job, event: Event) -> Verdict:
    """The variables of caches that the script sets; where the message names a path, those whose folder it is in."""
    found = [each for each in job.assignments if each.name in _CACHES]
    path = re.search(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)+", event.text)
    if path is not None:
        text = job.source.text
        values = [(each, text[each.span.start : each.span.end].split("=", 1)[-1].strip("'\"")) for each in found]
        found = [each for each, value in values if "$" in value or path[0].startswith(value.rstrip("/"))]
        if not found and not path[0].startswith("/dev/"):
            return RULED_OUT if job.assignments else None
    return shown(spans_of(found))


# A disk of the node, and none that the user fills elsewhere.
_of_node = matches(r"(?<![\w.~-])/(?:tmp|var|run|dev|local\w*|root)/")


# A message with the path of a cache.
_of_cache = matches(r"/\.cache/|/\.[a-z]+/\S*cache|_cache/")


def _copies(job: Job, event: Event) -> Verdict:
    """Steps of several tasks, and the directives that say how many."""
    steps = tuple(each.span for each in job.steps if (each.tasks or 0) > 1)
    return shown(steps + options(job, "ntasks", "ntasks-per-node")) if steps else None


def _several_ranks(job: Job, event: Event) -> Verdict:
    """Several nodes run ranks that share the cache of the user's home."""
    return shown(spans_of(world for world in find_worlds(job) if world.several_nodes))


def _named(job: Job, event: Event) -> Verdict:
    """A command, or a variable, with the path of the message."""
    path = re.sub("^//+", "", event.groups.get("path", "").strip("'\"`‘’"))  # `//a` is `a`, looked for from the root
    if len(path) < 4 or _is_relative(job, path):
        return None
    return shown((worded(job, path) or containing(job, job.invocations, path))[:3])


def _is_relative(job: Job, path: str) -> bool:
    """Whether a path is looked for where sbatch was called: the script changes no folder, and names it as it is."""
    moves = ("cd", "pushd", "git", "wget", "curl", "tar", "unzip")
    return re.match(r"[\w.+-]+(?:/|\.\w)", path) is not None and not (
        commands(job, *moves) or options(job, "chdir") or step_options(job, "chdir")
    )


def _from_submission(job: Job, event: Event) -> Verdict:
    """The commands that name a relative path, in a script that stays in the folder where sbatch was called."""
    path = event.groups.get("path", "").strip("'\"`‘’")
    if not _is_relative(job, path):
        return RULED_OUT
    if not re.search(rf"(?<![\w/]){re.escape(path)}(?![\w/])", job.source.text):
        return RULED_OUT
    return shown(containing(job, job.invocations, path)[:3])


def _named_in_container(job: Job, event: Event) -> Verdict:
    """The containers whose command names the path, and whose options do not mount a folder of it."""
    path = event.groups.get("path", "").strip("'\"`‘’")
    text = job.source.text
    found = [each for each in job.invocations if has_trait(each.name, "container") and not each.kind]
    named = [text[each.span.start : each.span.end] for each in found]
    top = "/".join(path.split("/")[:3])
    hidden = [
        each
        for each, words in zip(found, named, strict=True)
        if path.startswith("/") and path in words
        if not re.search(rf"(?:-B|--bind|-v|--volume|--mount|--container-mounts)[= ]\S*{re.escape(top)}", words)
    ]
    return shown(spans_of(hidden)[:3])


def _read_by_program(event: Event) -> bool | None:
    """A program wants to read it, and it is neither a program nor settings."""
    if not event.text.startswith("FileNotFoundError") or _started(event) is None:
        return False
    return possible(not WRITTEN.search(event.text))


def _started(event: Event) -> bool | None:
    """It is a program that another one starts: subprocess looks for it."""
    return possible(any("_execute_child" in line for line in event.above[-4:]))


def _of_slurm(event: Event) -> bool | None:
    """A command of Slurm that another program starts."""
    path = event.groups.get("path", "").strip("'\"")
    return possible(_started(event) is None and has_trait(path.rpartition("/")[2], "slurm"))


_TOOLS = r"^(?:/(?:usr/)?s?bin/)?(?:cp|mv|cat|sed|awk|gawk|grep|tar|mkdir|ln|cd|touch|head|tail|sort|rsync|chmod|chown|stat|dirname|readlink|tee|gzip|unzip|diff|wc|install|tr|cut|split)"


# pyxis and enroot unpack an image before the job's own program runs.
_of_image = matches("pyxis|enroot|squashfs", above=3)


# Apptainer makes a folder of an image, or an image of layers.
of_unpacking = matches("rootfs|temporary sandbox|bundle-temp|build-temp|packer failed|/sbuild-", above=3)


def unpacks(job: Job, event: Event) -> Verdict:
    """The commands that run or pull an image, in a script that names no folder for it."""
    if assigned(job, "APPTAINER_TMPDIR", "SINGULARITY_TMPDIR"):
        return None
    return shown(commands(job, "apptainer", "singularity") or commands(job, "nextflow", "snakemake"))


def _of_compile_cache(event: Event) -> bool:
    """Whether the lost file may be one of a compiler's cache: the message names one, or no file at all."""
    said = near(event, above=3)
    is_of_cache = re.search(r"cache|triton|inductor|torch_ext|/\.nv/", said) is not None
    return "tale file" not in said or is_of_cache or "/" not in event.text


# fmt: off
SYMPTOMS = (
    Symptom(
        id="disk-full",
        title="a disk, or a quota, is full",
        docs="Home folders have small quotas, and caches below ~/.cache fill them; /tmp of a node is shared by its jobs, and may be memory. `df -h` and the site's quota command tell which.\n",
        printed_by="the kernel, by way of any program",
        literals=("No space left on device", "Disk quota exceeded", "disk quota exceeded", "ENOSPC", "Quota exceeded", "no space left on device", "not enough space for ", "File too large", "isk space", "DISK SPACE", "isk full", "isk is full"),
        patterns=(r"(?<!create container process: )[Nn]o space left on device|ENOSPC", r"(?:[Dd]isk )?[Qq]uota exceeded", r"there is not enough space for /\S+", r"(?i)\b(?:not enough|insufficient|sufficient|out of|no more|lack of|ran out of) (?:free |local )?disk space|\bdisk (?:is )?full\b"),
        causes=(
            Cause("image-unpacked", "script", "Apptainer (Singularity) unpacks the image in /tmp of the node, which is too small for it", "export APPTAINER_TMPDIR (SINGULARITY_TMPDIR) to a folder that the script makes where there is room, and APPTAINER_CACHEDIR too; or pull the image into a .sif file before the job", script=unpacks, log=of_unpacking),
            Cause("temporary", "script", "/tmp of the node, where the script works, is full", "use the scratch folder that the site gives for jobs", codes=("SB604", "SB817"), script=_temporary, log=matches("/tmp|here-document|temp", above=2, below=2)),
            Cause("cache-unset", "script", "a cache fills the home folder, or the container's own disk: no variable of the script sends it elsewhere", "export its variable (UV_CACHE_DIR, HF_HOME, …) with a folder that has room and that all nodes see", codes=("SB602", "SB605"), log=_of_cache),
            Cause("caches", "script", "the disk, or the quota, is full where the script puts its caches or temporary files", "clear that folder, or name one with room", script=_caches),
            Cause("image-folder", "cluster", "the folder of the node in which images of containers are unpacked is full", "import the image beforehand (`enroot import`), or ask the site for more room there", log=_of_image),
            Cause("shared-memory-file", "cluster", "the node has no room in /tmp or /dev/shm for what processes share", "submit again with --exclude of that node, or name another folder with TMPDIR", log=says("not enough space for ")),
            Cause("node-disk", "cluster", "a disk of the node, or the container's own, is full", "let the program write elsewhere (TMPDIR, XDG_CACHE_HOME), or submit again with --exclude of that node and tell the site", log=_of_node),
            Cause("quota", "data", "a quota is used up: usually that of the home folder, which caches fill, or one that a group or all users share", "see whose quota it is (`quota -s`, `lfs quota`); clear ~/.cache, or send caches elsewhere with XDG_CACHE_HOME, HF_HOME and the like", log=matches("(?i)quota")),
            Cause("home", "data", "a disk or a quota is full: usually the home folder, which caches fill", "clear ~/.cache, or send caches elsewhere with XDG_CACHE_HOME, HF_HOME and the like"),
        ),
        matches="""\
/var/spool/slurmd/job5944119/slurm_script: line 34: cannot create temp file for here-document: No space left on device
mkdir: cannot create directory '/tmp/8e303830': No space left on device
OSError: [Errno 122] Disk quota exceeded
***ERROR: UNABLE TO COMPLETE FILE WRITE. CHECK THAT SUFFICIENT DISK SPACE IS AVAILABLE.
It appears as if there is not enough space for /tmp/ompi.n1.71/pid.1/1/shared_mem_pool (the shared-memory backing
""",
    ),
    Symptom(
        id="cache-race",
        title="several ranks write one cache on a network file system",
        docs="Compilers keep what they built below the home folder (~/.triton, ~/.cache/torch_extensions, ~/.nv): on NFS ranks of several nodes take it from under each other.\n",
        printed_by="Python, Triton, torch, NFS",
        literals=("Stale file handle", "tmp.pid_", ".tmp' ->", "torch_extensions", ".triton/cache", "stale file handle", "torchinductor_", "Error building extension"),
        patterns=(r"[Ss]tale file handle", r"\.(?:triton|nv|inductor)\S*(?:': |: ).*(?:No such file|File exists|cannot open shared object)|(?:No such file|cannot open shared object).*\.triton/", r"\.tmp\S*' -> '\S*(?:cache|triton|torch)", r"torch_extensions\S*\.so: (?:cannot open|undefined|file too short)|Error building extension '(?P<extension>\w+)'", r"tmp\.pid_\d+.*No such file"),
        causes=(
            Cause("shared-compile-cache", "script", "the ranks of several nodes compile into one cache below the home folder", "export TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR to a folder of the node, such as /tmp/$USER-$SLURM_JOB_ID", codes=("SB603", "SB601", "SB416", "SB606"), script=_several_ranks, log=lambda event: possible(_of_compile_cache(event))),
            Cause("file-server", "cluster", "the file server lost a file that was open, or several processes write one cache", "keep caches on the node; tell the site where it happens to other files", log=lambda event: possible(_of_compile_cache(event)), unproven="possible"),
            Cause("stale-handle", "cluster", "what the file server served under that name is gone or was replaced while it was open: another process removed it, or the server was restarted", "submit again; where it lasts, leave that node out, and tell the site", log=lambda event: possible(not _of_compile_cache(event))),
        ),
        matches="""\
ImportError: /home/ada/.triton/cache/0a1b2c/__triton_launcher.so: cannot stat shared object: Stale file handle
FileNotFoundError: [Errno 2] No such file or directory: '/home/ada/.triton/cache/x/matmul.ptx.tmp.pid_7'
OSError: [Errno 116] Stale file handle
FileNotFoundError: [Errno 2] No such file or directory: '/x/a.tmp' -> '/home/ada/.cache/vocab'
RuntimeError: Error building extension 'fused_adam'
tmp.pid_471_2: No such file or directory
""",
    ),
    Symptom(
        id="lock-failed",
        title="a lock could not be acquired",
        docs="Another process has it, one that was killed left its file behind (`*.lock` below ~/.cache/huggingface), or the file system has no locks (error 524, ENOLCK).\n",
        printed_by="filelock, huggingface_hub, uv, HDF5, SQLite",
        literals=("Lock acquisition failed", "(os error ", "ould not acquire lock", "unable to lock file", "No locks available", "database is locked", "could not be acquired", "Waiting to acquire lock", "failed to lock", "Resource busy", "LockError", "nother instance", "nother process", "lock file", "lockfile", ".lock", "left behind by"),
        patterns=(r"(?i)(?:\block ?file\b|\.lock\b)\S* .{0,60}\b(?:exists|stale|is held|left|in use)\b|\b(?:stale|left-?over) lock|LockError: |another (?:instance|process) (?:is|seems|may be|might be|has|holds|of \S+ is)\b", r"[Ll]ock acquisition failed|[Cc]ould not acquire lock|unable to lock file|No locks available|database is locked|The file lock '[^']*' could not be acquired|failed to lock |os error 524\)",),
        causes=(
            Cause("shared-cache", "script", "several processes need one lock of a cache that the script names", "give each node its own, or download before the job", codes=("SB601", "SB606", "SB416", "SB603"), script=_caches),
            Cause("several-copies", "script", "several tasks of a step open one file for writing, and only one of them gets its lock", "start the program once (--ntasks=1), or give each task a file of its own (SLURM_PROCID)", codes=("SB330", "SB724", "SB713"), script=_copies, log=says("unable to lock file", "database is locked")),
            Cause("elements", "script", "elements of the array that run at the same time need one lock", "do once, before the array, what takes the lock; or give each element a folder of its own (SLURM_ARRAY_TASK_ID)", script=requests("array"), log=says("LockError")),
            Cause("stale-lock", "cluster", "the lock belongs to a process that is gone, or the file system has no locks", "remove (delete) the lock file that the message names when no other job uses it; HDF5_USE_FILE_LOCKING=FALSE, UV_CACHE_DIR on the node"),
        ),
        matches="""\
Lock acquisition failed
error: Could not acquire lock for `~/.cache/uv` at `~/.cache/uv/.lock`
BlockingIOError: [Errno 11] Unable to open file (unable to lock file, errno = 11, error message = 'Resource temporarily unavailable')
sqlite3.OperationalError: database is locked
filelock._error.Timeout: The file lock '/home/ada/x.lock' could not be acquired.
  Caused by: failed to lock `~/.cache/uv/.lock`: Unknown error 524 (os error 524)
ERROR: the folder /data/asm/.lock exists, another instance is running
LockError: Failed to acquire lock.
""",
        others="Waiting to acquire lock for /home/ada/.cache/uv\n",
    ),
    Symptom(
        id="cache-permission",
        title="a cache belongs to another user",
        docs="A folder of a fixed name below /tmp belongs to the first user of the node; a shared cache to whoever filled it.\n",
        printed_by="uv, pip, Python",
        literals=("Permission denied (os error", "Permission denied: '/tmp", "Permission denied: '/scratch", "not owned or is not writable", "Permission denied: '/var/tmp"),
        patterns=(r"Permission denied \(os error 13\)", r"Permission denied: '(?P<path>/(?:tmp|var/tmp)/[^']*)'", r"not owned or is not writable by the current user"),
        causes=(
            Cause("fixed-folder", "script", "the script puts a cache into a folder of a fixed name, which belongs to another user", "name it after the user: /tmp/$USER/uv", codes=("SB601",), script=_caches),
            Cause("inherited-folder", "submission", "a cache has a folder of a fixed name, which belongs to another user", "name it after the user: UV_CACHE_DIR=/tmp/$USER/uv"),
        ),
        matches="""\
error: failed to open file `/tmp/uv_cache/sdists-v9/.git`: Permission denied (os error 13)
PermissionError: [Errno 13] Permission denied: '/tmp/ray/session_latest'
WARNING: The directory '/home/ada/.cache/pip' or its parent directory is not owned or is not writable by the current user.
""",
    ),
    Symptom(
        id="file-system-gone",
        title="a file system does not answer as it should",
        docs="It is not mounted on that node, was remounted read-only, or its server is away.\n",
        printed_by="the kernel, by way of any program",
        literals=("Read-only file system", "Input/output error", "Transport endpoint is not connected", "Cannot send after transport endpoint shutdown", "Remote I/O error", "Structure needs cleaning", "Host is down", "disk I/O error", "Connection timed out: '/"),
        patterns=(r"^(?!.*(?:\b(?:srun|sbatch|salloc|slurm\w*): error|slurm_receive)).*Transport endpoint is not connected|Cannot send after transport endpoint shutdown|Remote I/O error|Structure needs cleaning|OperationalError: disk I/O error", r"(?:\[Errno 5\] |: )Input/output error", r"Read-only file system"),
        causes=(
            Cause("read-only-image", "script", "the program writes into the image of a container, which is read-only", "write to a mounted folder; or give pyxis --container-writable, Apptainer --writable-tmpfs", codes=("SB507", "SB604", "SB602"), script=_in_container, log=says("Read-only")),
            Cause("file-system", "cluster", "a file system does not answer on that node", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="""\
OSError: [Errno 30] Read-only file system: '/opt/x'
cat: /scratch/x: Input/output error
ls: cannot access '/data': Transport endpoint is not connected
""",
    ),
    Symptom(
        id="file-damaged",
        title="a file is cut short or damaged",
        docs="A copy or a download that did not end, a disk that was full while it was written, or a file that is not what its name says.\n",
        printed_by="gzip, tar, unzip, xz, Python, Java, htslib, HDF5",
        near_end=200,
        literals=(
            "unexpected end of file", "not in gzip format", "invalid compressed data", "Unexpected EOF in archive", "End-of-central-directory",
            "end-of-stream marker", "zlib.error", "BadZipFile", "BadGzipFile", "ZipException", "end of ZLIB", "EOF marker is absent", "truncated file",
            "file is truncated", "changed as we read", "fewer sequences", "runcated quality", "crc error", "Compressed data is corrupt", "Bad magic number",
        ),
        patterns=(
            r"^(?:\S*/)?(?:gzip|gunzip|zcat|pigz|unpigz|tar|bzip2|bunzip2|bzcat|xz|unxz|xzcat|unzip|zstd|7z\w?): (?P<path>.+?): (?:unexpected end of file|not in gzip format|invalid compressed data.*|.*truncated.*|Compressed data is corrupt)",
            r"^(?:\S*/)?tar: .*: file changed as we read it|^(?:\S*/)?tar: Unexpected EOF in archive|End-of-central-directory signature not found",
            r"^EOFError: Compressed file ended before|^zlib\.error: Error -\d|BadZipFile: |BadGzipFile: |java\.util\.zip\.ZipException: |Unexpected end of ZLIB input stream",
            r"EOF marker is absent|(?:[Tt]runcated (?:file|quality)|file is truncated|has fewer (?:sequences|reads))\b",
        ),
        causes=(
            Cause("shared-write", "script", "several tasks write the file at the same time, or it is removed while it is read", "see the finding", codes=("SB416", "SB811", "SB713", "SB724")),
            Cause("changing", "script", "elements of the array write files while another one packs them: all of them pack the same folder", "pack once, in a job of its own after the array (--dependency=afterok:JOB)", script=lambda job, event: shown((*options(job, "array"), *commands(job, "tar", "zip"))) if options(job, "array") else None, log=says("changed as we read")),
            Cause("still-written", "code", "a file was written while it was packed or copied", "wait for what writes it, before", log=says("changed as we read")),
            Cause("damaged", "data", "a file is cut short, damaged, or not of the form that its name says", "compare its size and checksum with the original, and copy it again; one that an earlier run wrote, or a download left, delete, so that it is made anew"),
        ),
        matches="""\
gzip: reads_1.fq.gz: unexpected end of file
tar: Unexpected EOF in archive
EOFError: Compressed file ended before the end-of-stream marker was reached
[W::bam_hdr_read] EOF marker is absent. The input is probably truncated
""",
        others="tar: Error is not recoverable: exiting now\n",
    ),
    Symptom(
        id="file-not-there",
        title="a file is not there",
        docs="A relative path is looked for in the folder where sbatch was called. /tmp and local scratch are each node's own: what was made on the login node, or on another node, is not there.\n",
        printed_by="coreutils, Python, any program",
        near_end=60,
        role="consequence",
        literals=("No such file or directory", "can't open file", "can't find '__main__' module", "No such file:", "cannot open "),
        patterns=(
            _TOOLS + r"(?:\[\d+\])?: (?:cannot (?:access|stat|open|create directory|create regular file|touch) |can't (?:read|open) |failed to \w+ )?(?P<path>[^:]+): No such file or directory",
            r"^\S*python[\d.]*: can't find '__main__' module in '?(?P<path>[^']+)",
            r"^\S*python[\d.]*: can't open file '?(?P<path>.+?)'?: \[Errno [2]\]",
            r"^FileNotFoundError: \[Errno [2]\] No such file or directory: (?P<path>.+)",
            r"^(?:Rscript|julia|Fatal error|ERROR): .*(?:cannot open file|could not open file) '?(?P<path>[^']+)'?(?:: No such file|$)",
        ),
        causes=(
            Cause("local-path", "script", "{path} is not there for the task: its folder is another one on each node, or in the container", "keep it on a file system that all nodes share, and mount it", codes=("SB507", "SB604", "SB601", "SB808", "SB701", "SB416", "SB618", "SB811", "SB817", "SB520", "SB724")),
            Cause("empty-variable", "script", "the path is made of a variable that is not set", "see the finding", codes=("SB409", "SB414", "SB115", "SB405", "SB419", "SB424", "SB421", "SB708", "SB431", "SB429", "SB435", "SB415", "SB132", "SB432", "SB434", "SB456")),
            Cause("not-mounted", "script", "{path} is not in the container, which sees only the folders that are mounted into it", "mount its folder (apptainer -B, docker -v, --container-mounts)", script=_named_in_container),
            Cause("path-of-script", "script", "{path}, which the script names, is not there on the node", "correct the path; a relative one is looked for where sbatch was called", script=_named),
            Cause("removed-by-another", "script", "the elements of the array work in one folder, and remove or rename each other's files there: {path} was gone already", "give each element a working folder of its own, with SLURM_ARRAY_TASK_ID in its name", script=shares_folder, log=of_removed),
            Cause("slurm-in-container", "script", "{path}, which the program calls, is not in the container in which the script runs it", "start the program outside the container, and let it run its parts in one; or mount Slurm's commands, their libraries, /etc/slurm and the socket of munge into it", codes=("SB515",), script=lambda job, event: shown(containers(job)), log=_of_slurm),
            Cause("slurm-not-there", "submission", "{path}, which the program calls, is not found: Slurm's commands are not installed where it runs, as in a container, or on a machine that is none of the cluster", "start it where they are (a login node, outside the container), or mount them into the container", log=_of_slurm),
            Cause("program", "submission", "{path}, which a program starts, is not found", "load or install in the job what brings it", log=_started),
            Cause("input", "data", "{path}, which the program wants to read, is not there on the node", "look for it from a node, and at the folder in which the job runs", log=_read_by_program),
            Cause("folder-of-submission", "submission", "{path} is looked for in the folder where sbatch was called, and is not there", "submit from the folder in which it lies (cd there, or sbatch --chdir=…), or write its full path in the script", script=_from_submission, log=group_matches("path", r"^['\"`‘]?[\w.+-]")),
            Cause("submit-folder", "submission", "{path} is not there on the node: another folder of submission, or a folder that only the login node has (/tmp)", "submit from the project's folder on a shared file system, or give full paths"),
        ),
        matches="""\
sed: can't read script: No such file or directory
cp: cannot stat '/scratch/ada/in.dat': No such file or directory
python3: can't open file 'train.py': [Errno 2] No such file or directory
python: can't open file ' -c 'import x'': [Errno 2] No such file or directory
/opt/bin/python3: can't find '__main__' module in '/data/project'
FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'
Fatal error: cannot open file 'fit.R': No such file or directory
""",
    ),
    Symptom(
        id="file-not-permitted",
        title="a file may not be read or written",
        docs="Its owner, its group or the mode of a folder above; network file systems do not know root.\n",
        printed_by="coreutils, Python, any program",
        near_end=60,
        role="consequence",
        literals=("Permission denied", "Operation not permitted"),
        patterns=(_TOOLS + r": (?:cannot [\w ]+ )?(?P<path>[^:]+): (?:Permission denied|Operation not permitted)", r"^PermissionError: \[Errno 1?3?\] (?:Permission denied|Operation not permitted): (?P<path>.+)"),
        causes=(
            Cause("path-of-script", "script", "{path}, which the script names, may not be used that way", "name a folder of the user's own", codes=("SB604", "SB507"), script=_named),
            Cause("system", "cluster", "{path} belongs to the system of the node", "tell the site, or let the program write elsewhere", log=group_matches("path", r"^['\"]?/(?:etc|run|sys|proc|dev|var/(?:run|lib|log)|usr)/")),
            Cause("rights", "submission", "the user may not read or write {path} on the node", "look at the rights of it and of all folders above"),
        ),
        matches="mkdir: cannot create directory '/data/x': Permission denied\nPermissionError: [Errno 13] Permission denied: 'out/log.txt'\n",
    ),
)
