"""apptainer, singularity, docker, podman."""

import re

from sbatchlint.bash.values import span_of, text_of
from sbatchlint.diagnose.clues import matches, possible, says
from sbatchlint.diagnose.evidence import assigned, commands, containing, shown, spans_of, variables, worded
from sbatchlint.diagnose.questions import assigns
from sbatchlint.diagnose.symptom import Cause, Event, Shown, Symptom, Verdict
from sbatchlint.diagnose.symptoms.files import unpacks
from sbatchlint.job import Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.programs import commands_named

_ENGINES = ("apptainer", "singularity")
# Commands that containers are started for; none is the name of an image.
_PROGRAMS = (
    "python", "python3", "bash", "sh", "torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "nvidia-smi", "env",
    "Rscript", "julia", "java",
)  # fmt: skip
# Why an image is not fetched, and why its folder is not made.
_FETCHING = re.compile(
    r"(?i)registry|manifest|unauthorized|dial tcp|lookup|denied:|toomanyrequests|no space|quota|checksum"
)
_BINDS = ("SINGULARITY_BINDPATH", "SINGULARITY_BIND", "APPTAINER_BIND", "APPTAINER_BINDPATH")


def _binds(job: Job, event: Event) -> Verdict:
    """Where the script names the source: in a variable, or in a command."""
    source = event.groups.get("source", "")
    found = containing(job, variables(job, *_BINDS), source)
    found += containing(job, commands_named(job, *_ENGINES), source) if source else ()
    return Shown(found) if found else shown(assigned(job, *_BINDS), "possible")


# The image itself is what is missing, or its registry cannot be reached or does not deliver it.
_no_image_there = matches(
    r"(?i)Unable to find image|pull access|manifest unknown|toomanyrequests|dial tcp|no such host|registry|/v2/",
    below=2,
)


def _image_word(job: Job, event: Event) -> Verdict:
    """The commands of docker and podman with the image that the message names; without a name, all of them."""
    image = re.search(r"Unable to find image '([^']+)'", " ".join((*event.above[-3:], event.text)))
    runs = commands_named(job, "docker", "podman")
    named = [each for each in runs if image and image[1] in map(text_of, each.argv)]
    return shown(spans_of(named or runs))


def _starts(job: Job, event: Event) -> Verdict:
    found = commands(job, *_ENGINES, "docker", "podman")
    program = event.groups.get("program", "")
    return shown(found or (worded(job, program) if program else ()))


def _no_image(event: Event) -> bool | None:
    """The first word of the command stands where the image should: the variable with the image is empty."""
    name = event.groups.get("image", "").rsplit("/", 1)[-1]
    return possible(name in _PROGRAMS)


def _taken_for_image(job: Job, event: Event) -> Verdict:
    """The program that stands in the script where apptainer reads the image."""
    name = event.groups.get("image", "").rsplit("/", 1)[-1]
    images = (each.image for each in map(container_of, job.invocations) if each is not None)
    return shown(tuple(dict.fromkeys(span_of(each) for each in images if each and text_of(each) == name)))


def _image(job: Job, event: Event) -> Verdict:
    name = event.groups.get("image", "").rsplit("/", 1)[-1]
    return shown(worded(job, name)) if name else None


# fmt: off
SYMPTOMS = (
    Symptom(
        id="apptainer-mount",
        title="a folder could not be mounted into the container",
        docs="The source of `--bind` (or of SINGULARITY_BIND, APPTAINER_BIND) is not there on this node, or its target is not in the image and neither overlay nor underlay may make it.\n",
        printed_by="apptainer, singularity",
        releases="`mount source X doesn't exist` in all",
        literals=("mount source ", "while mounting ", "mount hook function failure", "destination doesn't exist in container", "could not mount "),
        patterns=(r"mount source (?P<source>\S+) doesn't exist", r"FATAL:.*(?:while mounting|could not mount|mount hook function failure)[: ]+(?P<source>/\S*)?", r"destination (?P<source>\S+) doesn't exist in container"),
        causes=(
            Cause("bind-of-script", "script", "the script mounts {source}, which is not there on the node or not in the image", "take it out, or name a folder that all nodes have", codes=("SB507", "SB409", "SB414"), script=_binds),
            Cause("bind-of-site", "cluster", "{source} is mounted into every container, and is not there on the node", "look at SINGULARITY_BIND and APPTAINER_BIND, and ask the site"),
        ),
        matches="""\
FATAL:   container creation failed: mount /30days->/30days error: while mounting /30days: mount source /30days doesn't exist
FATAL:   container creation failed: hook function for tag prelayer returns error: could not mount /x: no such file
FATAL:   container creation failed: mount /data->/data error: while mounting /data: destination /data doesn't exist in container
""",
    ),
    Symptom(
        id="apptainer-image",
        title="the image cannot be opened or fetched",
        docs="The path is wrong, the file is incomplete, or a registry was not reached; `docker://` images are converted in APPTAINER_TMPDIR, which needs room.\n",
        printed_by="apptainer, singularity",
        literals=("could not open image", "Unable to handle docker", "Unable to handle ", "image format not recognized", "While making image from oci registry", "While pulling", "failed to get checksum", "failed to pull", "While performing build", "conveyor failed", "Image file already exists"),
        patterns=(r"FATAL:.*could not open image (?P<image>[^\s:]+)", r"FATAL:.*(?:Unable to handle \S+ uri|image format not recognized|While (?:making image|pulling|performing build)|conveyor failed)", r"FATAL:.*Image file already exists: (?P<image>\S+)"),
        causes=(
            Cause("no-image-in-script", "script", "the script names no image before the command, so {image} is taken for it", "write the image between the options of exec and the command", codes=("SB409", "SB414"), script=_taken_for_image, log=_no_image),
            Cause("no-image", "submission", "the command is taken for the image, {image}: the word with the image is empty or missing", "look at the variable or the setting that holds the image", log=_no_image),
            Cause("exists", "submission", "the file to which the image is pulled is there already: {image}", "leave the pull out where it is there, or give it --force", log=says("already exists"), unproven="certain"),
            Cause("no-room", "script", "the image is unpacked or converted in /tmp of the node, which is too small for it", "export APPTAINER_TMPDIR (SINGULARITY_TMPDIR) and APPTAINER_CACHEDIR to folders that the script makes where there is room; or pull the image into a .sif file before the job", script=unpacks, log=matches(r"(?i)no space left|disk quota", below=3)),
            Cause("folder-of-build", "script", "the folder in which apptainer works, of APPTAINER_TMPDIR, is not there on the node", 'make it before: mkdir -p "$APPTAINER_TMPDIR"', script=assigns("APPTAINER_TMPDIR", "SINGULARITY_TMPDIR", "TMPDIR"), log=matches(r"mkdir \S+: no such file or directory")),
            Cause("build", "cluster", "the image cannot be built on the node: the user is not root there, and namespaces or fakeroot do not stand in for it", "build it on a machine where you are root, or as the site says (--fakeroot, a remote builder), and copy the .sif", log=lambda event: possible("performing build" in event.text and not _FETCHING.search(event.text))),
            Cause("image-of-script", "script", "the image that the script names cannot be opened: {image}", "correct the path; pull it before the job", codes=("SB505", "SB518", "SB409", "SB414"), script=_image),
            Cause("image", "submission", "the image cannot be opened or fetched: {image}", "pull it before the job, with APPTAINER_TMPDIR and APPTAINER_CACHEDIR where there is room"),
        ),
        matches="""\
FATAL:   could not open image /scratch/ada/x.sif: failed to retrieve path for /scratch/ada/x.sif: lstat /scratch/ada/x.sif: no such file or directory
FATAL:   Unable to handle docker://ubuntu uri: failed to get checksum for docker://ubuntu: pinging container registry
FATAL:   Image file already exists: "x.sif" - will not overwrite
FATAL:   While performing build: conveyor failed to get: while creating /tmp/b/rootfs/dev/null: operation not permitted
""",
    ),
    Symptom(
        id="command-missing",
        title="a program that starts another one was not told which",
        docs="Its line is cut, or the variable that holds the program is empty: each line needs its own `apptainer exec IMAGE`.\n",
        printed_by="apptainer, singularity (cobra), timeout, nohup (coreutils)",
        literals=("arg(s), only received", "timeout: missing operand", "nohup: missing operand"),
        patterns=(r"requires at least \d+ arg\(s\), only received \d+", r"^(?:timeout|nohup): missing operand"),
        causes=(
            Cause("line-of-script", "script", "there is no program on the line: the line is cut, or a variable is empty", "write the program on the same line, or end the line with a backslash", codes=("SB337", "SB409", "SB414")),
            Cause("no-program", "submission", "the command has no program to start", "look at the variables that hold the program and its options"),
        ),
        matches="""\
Error for command "exec": requires at least 2 arg(s), only received 1
timeout: missing operand
""",
    ),
    Symptom(
        id="apptainer-start",
        title="the container could not be started",
        docs="User namespaces that the kernel does not allow, an image that cannot be mounted (FUSE), a program that the image does not have.\n",
        printed_by="apptainer, singularity",
        literals=("Failed to create user namespace", "Failed to create mount namespace", "Failed to create container process", "newuidmap", "newgidmap", "executable file not found in $PATH", "container creation failed", "failed to exec", "FATAL:   stat /", "FATAL: ", "User namespace required", "Failed to initialize runtime engine", "squashfuse", "Failed to unshare root", "starter-suid doesn't have setuid"),
        patterns=(r"FATAL:.*(?:\"(?P<program>[^\"]+)\": executable file not found in \$PATH|stat (?P<file>\S+): no such file)", r"(?:FATAL|ERROR) *:? +(?:Failed to (?:create|unshare|set|enter)|User namespace required|Installation issue|Failed to initialize runtime engine)", r"(?:FATAL|ERROR) *:? +.{0,3}new[ug]idmap\b", r"FATAL: +(?:container creation failed|failed to execute|exec .* failed)"),
        causes=(
            Cause("not-in-image", "script", "the image has no program {program}", "name one that it has, or mount its folder", codes=("SB507", "SB515", "SB520"), script=_starts, log=says("executable file", "no such file")),
            Cause("not-in-image-given", "submission", "the image has no program {program}", "name one that it has, or mount its folder", log=says("executable file")),
            Cause("home", "script", "the container cannot make the folder of the user's home in the image", "start it with --no-home, or bind a folder that is there (--home, -B)", script=_starts, log=says("base home", "home directory", "failed to create /home")),
            Cause("not-executable", "code", "the program that the image starts cannot be run: its rights, or its libraries, are not right in the image", "build the image anew, or take another release of it", log=matches(r"FATAL: +exec \S+ failed")),
            Cause("kernel", "cluster", "the node does not let the container start: namespaces, FUSE, or the installation", "tell the site, with the name of the node"),
        ),
        matches="""\
FATAL:   "trainer": executable file not found in $PATH
FATAL:   stat /opt/run.sh: no such file or directory
FATAL:   exec /opt/run.sh failed: permission denied
ERROR  : Failed to create user namespace: user namespace disabled
ERROR  : Failed to create container process: No space left on device
FATAL:   newuidmap was not found in PATH (/usr/bin:/bin), required with fakeroot and unprivileged installation
FATAL:   container creation failed: unable to add x to mount list
""",
    ),
    Symptom(
        id="docker-permission",
        title="the user may not use docker on the node",
        docs="Slurm gives a job the user's groups as the controller, or the node, knows them: the user has to be in the group docker there too. Clusters rarely offer docker; apptainer runs the same images.\n",
        printed_by="docker, podman",
        literals=("connect to the Docker daemon", "Cannot connect to the Docker daemon", "connect to the docker API", "unable to connect to Podman socket"),
        patterns=(r"permission denied while trying to connect to the [Dd]ocker|Cannot connect to the Docker daemon|unable to connect to Podman socket",),
        causes=(Cause("group", "cluster", "docker does not run on the node, or the user may not use it there", "ask the site; apptainer or pyxis run images without a daemon", unproven="certain"),),
        matches="""\
docker: Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Post http://x: dial unix
Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
""",
    ),
    Symptom(
        id="docker-refused",
        title="docker could not run the container",
        docs="An image that cannot be pulled, a name that is in use, a terminal that is not there.\n",
        printed_by="docker, podman",
        literals=("the input device is not a TTY", "Unable to find image", "Error response from daemon", "is already in use by container", "manifest unknown", "pull access denied", "toomanyrequests"),
        patterns=(r"the input device is not a TTY", r"Unable to find image '(?P<image>[^']+)' locally", r"[Dd]ocker: Error response from daemon: (?!could not select device)(?P<error>.+)|^Error response from daemon: (?P<more>.+)", r"toomanyrequests|pull access denied|manifest unknown"),
        causes=(
            Cause("tty", "script", "docker is asked for a terminal, and a batch job has none", "leave -t out", codes=("SB509", "SB809"), log=says("TTY")),
            Cause("image-of-script", "script", "the image is not on the node, and cannot be fetched from its registry there", "load it on the node before (docker load, docker pull), or push it to a registry that the nodes reach and name it with that registry", codes=("SB505", "SB118"), script=_image_word, log=_no_image_there),
            Cause("image-not-there", "submission", "the image is not on the node, and cannot be fetched from its registry there", "load it on the node before (docker load, docker pull), or push it to a registry that the nodes reach and name it with that registry", log=_no_image_there),
            Cause("options-of-script", "script", "docker did not start the container as the script asks for it", "see the message", codes=("SB510", "SB511", "SB512", "SB513", "SB505"), script=_starts),
            Cause("daemon", "submission", "docker did not start the container: {error}", "see the message"),
        ),
        recovered_by=r"Status: Downloaded newer image|Pull complete|Digest: sha256",
        recovery=("Downloaded newer image", "Pull complete", "Digest: sha"),
        matches="""\
the input device is not a TTY
Unable to find image 'lab/train:2' locally
docker: Error response from daemon: Conflict. The container name "/x" is already in use by container "4711".
Error response from daemon: pull access denied for x, repository does not exist
ERROR: toomanyrequests: You have reached your pull rate limit.
""",
    ),
)
