"""pyxis and enroot: images that are not imported, containers that do not start. enroot's own words stand in pyxis' log."""

import re

from sbatchlint.diagnose.clues import matches, possible, says, says_not
from sbatchlint.diagnose.evidence import containing, options, shown, step_options
from sbatchlint.diagnose.questions import assigns, steps
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_named
from sbatchlint.source.text import Span


def _image_options(job: Job) -> tuple[Span, ...]:
    names = ("container-image", "container-name")
    spans = step_options(job, *names) + options(job, *names)
    return spans or containing(job, commands_named(job, "srun"), "--container-image")


def _image(job: Job, event: Event) -> Verdict:
    """Where the script names the image; not where the message has the address of another one."""
    spans = _image_options(job)
    url = event.groups.get("url", "")
    if not url.startswith("http"):
        return shown(spans)
    text = job.source.text
    parts = [each for each in re.split(r"[/:]", url.split("/v2/")[-1]) if each not in ("manifests", "blobs", "latest")]
    named = tuple(each for each in spans if any(part in text[each.start : each.end] for part in parts if len(part) > 2))
    return shown(named) or (shown(spans) if any("$" in text[each.start : each.end] for each in spans) else None)


def _denied(event: Event) -> bool | None:
    """The registry does not deliver the image to this user."""
    return possible(event.groups.get("code") in ("401", "403") or "uthoriz" in event.text)


def _mounts(job: Job, event: Event) -> Verdict:
    """The mounts of the steps, where one of them has a folder that the message names."""
    names = ("container-mounts", "container-workdir")
    spans = step_options(job, *names) + options(job, *names)
    folder = event.groups.get("source", "").rstrip("/").rsplit("/", 1)[-1]
    text = job.source.text
    named = tuple(each for each in spans if folder and folder in text[each.start : each.end])
    return shown(named) or shown(spans, "possible")


def _blank(job: Job, event: Event) -> Verdict:
    """A blank in a mount: enroot takes it for the end of the source."""
    spans = step_options(job, "container-mounts") + options(job, "container-mounts")
    written = [(span, job.source.text[span.start : span.end]) for span in spans]
    quoted = [(span, text.split("=", 1)[-1].strip("'\" ")) for span, text in written if re.search(r"['\"\\]", text)]
    return shown(tuple(span for span, value in quoted if " " in value.split(" ", 1)[-1]), "certain")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="enroot-mount",
        title="a folder could not be mounted into the container",
        docs="""\
The source has to be there on every node of the step, and to be readable by the user: root is nobody on file systems that squash
it. pyxis and enroot take a blank in a path for its end.
""",
        printed_by="enroot-mount, by way of pyxis",
        releases="enroot 3.0 and later; `--container-mounts: source path does not exist` pyxis 0.24 and later",
        literals=("enroot-mount:", "source path does not exist", "--container-mounts:", "could not add mount entry", "mount source must be", "mount target must be", "couldn't chdir to container cwd"),
        patterns=(
            r"enroot-mount: failed to mount: (?P<source>.+?) at (?P<target>.+): (?P<error>[^:]+)$",
            r"pyxis: --container-mounts: (?:source path does not exist|cannot stat source path|invalid format|argument required):? ?(?P<source>[^:]*)",
            r"pyxis: could not add mount entry: (?P<source>[^:]*):",
            r"enroot-mount: (?:invalid|failed)|pyxis: mount (?:source|target) must be",
            r"pyxis: couldn't chdir to container cwd (?P<source>[^:]*)",
        ),
        causes=(
            Cause("blank", "script", "the mount contains a space, where enroot ends the path", "use a link without spaces", script=_blank),
            Cause("path-of-script", "script", "the folder {source} cannot be mounted: it is not there on the node, or its target is not in the image", "mount what all nodes have", codes=("SB115", "SB507", "SB409", "SB414", "SB417"), script=_mounts, log=says_not("Permission")),
            Cause("not-readable", "submission", "the user of the job may not enter {source} on the node (root is nobody on many network file systems)", "run as the owner, and look at the rights of all folders above", log=lambda event: "Permission denied" in event.text),
            Cause("path", "submission", "the folder {source} cannot be mounted: it is not there on the node", "mount what all nodes have"),
        ),
        matches="""\
slurmstepd: error: pyxis:     enroot-mount: failed to mount: /home/ada/data at /tmp/enroot-data/user-0/pyxis_x/data: Permission denied
slurmstepd: error: pyxis: --container-mounts: source path does not exist: /data/none
slurmstepd: error: pyxis: could not add mount entry: /data:/data
srun: error: pyxis: mount source must be a relative path, an absolute path, "tmpfs" or "umount"
slurmstepd: error: pyxis: couldn't chdir to container cwd /workspace/x: No such file or directory
""",
    ),
    Symptom(
        id="enroot-gpu-hook",
        title="the GPUs could not be put into the container",
        docs="The hook 98-nvidia.sh needs nvidia-container-cli and the driver on the node, and numbers in NVIDIA_VISIBLE_DEVICES that the node has.\n",
        printed_by="enroot (hooks), libnvidia-container",
        literals=("nvidia-container-cli", "nvidia-container-runtime", "could not select device driver", "nvidia_uvm is not loaded", "Unknown NVIDIA driver capability"),
        patterns=(r"Command not found: nvidia-container-cli|nvidia-container-cli: (?P<error>.+)", r"could not select device driver", r"Unknown NVIDIA driver capability"),
        causes=(
            Cause("devices", "script", "the script names GPUs that the node, or the job, does not have", "leave NVIDIA_VISIBLE_DEVICES to Slurm and pyxis", script=assigns("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), log=says("device")),
            Cause("not-installed", "cluster", "NVIDIA's container tools, or the driver, are not right on that node", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="""\
slurmstepd: error: pyxis:     [ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/libnvidia-container
nvidia-container-cli: initialization error: driver error: failed to process request
docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].
[ERROR] Unknown NVIDIA driver capability: foo
""",
    ),
    Symptom(
        id="image-file-as-name",
        title="a file is taken for the name of an image in a registry",
        docs="pyxis takes an image for a file if its name begins with `.` or `/`: `./name.sqsh`. It looks for all others, `images/name.sqsh` too, in docker's registry.\n",
        printed_by="pyxis",
        releases="pyxis 0.8 and later",
        literals=("importing docker image: ",),
        patterns=(r"pyxis: importing docker image: (?P<image>[^./\s#@:][^\s#@:]*\.(?:sqsh|sqfs|squashfs|sif|img|tar))$",),
        causes=(
            Cause("name-of-script", "script", "{image} does not begin with `.` or `/`, so pyxis looks for it in a registry", "write ./{image}, or its full path", codes=("SB505",), script=lambda job, event: shown(_image_options(job), "certain")),
            Cause("name", "submission", "{image} does not begin with `.` or `/`, so pyxis looks for it in a registry", "write ./{image}, or its full path", unproven="certain"),
        ),
        matches="pyxis: importing docker image: hello.sqsh\npyxis: importing docker image: images/x.sqsh\n",
        others="pyxis: importing docker image: ubuntu:22.04\n",
    ),
    Symptom(
        id="enroot-folders",
        title="enroot cannot write where it keeps its containers",
        docs="ENROOT_RUNTIME_PATH, ENROOT_CACHE_PATH, ENROOT_DATA_PATH and ENROOT_TEMP_PATH of the site's configuration: a prolog has to make them for each user.\n",
        printed_by="enroot, pyxis",
        literals=("/run/enroot", "/run/pyxis", "enroot-data", "enroot-cache", "enroot/", "Not enough space left in", "Could not acquire rootfs lock"),
        patterns=(r"mkdir: cannot create directory ['‘](?P<path>[^'’]*(?:enroot|pyxis)[^'’]*)['’]: (?P<error>.+)", r"pyxis: (?:slurmd: )?couldn't (?:mkdir|chown) (?P<path>[^:]+)", r"Not enough space left in (?P<path>\S+)", r"Could not acquire rootfs lock"),
        causes=(
            Cause("exports", "script", "the script sends enroot's folders to a place where they cannot be", "leave them to the site, or name a folder of the node that exists", script=assigns("ENROOT_CACHE_PATH", "ENROOT_DATA_PATH", "ENROOT_TEMP_PATH", "ENROOT_RUNTIME_PATH", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")),
            Cause("site", "cluster", "enroot cannot write to {path}", "a prolog of the site has to make it for the user", unproven="certain"),
        ),
        matches="""\
slurmstepd: error: pyxis:     mkdir: cannot create directory '/run/enroot': Permission denied
slurmstepd: error: pyxis: couldn't mkdir /run/pyxis/1000: No such file or directory
slurmstepd: error: pyxis:     [ERROR] Not enough space left in /tmp/enroot-data
slurmstepd: error: pyxis:     [ERROR] Could not acquire rootfs lock
""",
    ),
    Symptom(
        id="enroot-import",
        title="the image could not be fetched",
        docs="A registry writes as `registry.example.org#path/name:tag` (with `#`); the name of a file begins with `.` or `/`, or enroot looks for it in a registry. 401 and 403 mean that credentials are needed in ~/.config/enroot/.credentials.\n",
        printed_by="enroot, by way of pyxis",
        literals=("returned error code:", "Could not process JSON input", "Invalid image reference", "Could not parse authentication realm", "Could not retrieve digest", "No such file or directory: ", "Invalid image format", "File already exists: ", "Failed to mount: ", "Checksum validation failed", "Unsupported authentication method", "curl: (", "Invalid argument: "),
        patterns=(
            r"\[ERROR\] URL (?P<url>\S+) returned error code: (?P<code>\d+)",
            r"\[ERROR\] (?:Could not process JSON input|Invalid image reference|Could not parse (?:authentication realm|digest)|Could not retrieve digest|Invalid image format|Checksum validation failed|Unsupported authentication method|Failed to mount: )",
            r"\[ERROR\] No such file or directory: (?P<url>\S+)",
            r"\[ERROR\] (?:File already exists|Invalid argument): (?P<url>\S+)",
            r"pyxis:     curl: \(\d+\) ",
        ),
        causes=(
            Cause("exists", "submission", "the file to which the image is imported is there already ({url})", "leave the import out where it is there, or give enroot import --force", log=says("already exists"), unproven="certain"),
            Cause("image-name", "script", "the image is not named as enroot reads it, or is not there", "a file: /path/name.sqsh; a registry: HOST#NAME:TAG", codes=("SB505", "SB409", "SB414", "SB118", "SB115"), script=_image),
            Cause("cut-at-hash", "script", "a `#` in the name of the image begins a comment for sbatch, so pyxis gets only what stands before it", "quote the value, or give the option to srun", codes=("SB105",), script=lambda job, event: RULED_OUT, told="--container-image gets"),
            Cause("rate-limit", "submission", "the registry delivers no more images for now: too many were fetched from this address without an account (429)", "import the image once, before the job (enroot import -o image.sqsh docker://…), and name that file; or log in (~/.config/enroot/.credentials)", log=matches(r"\b429\b|toomanyrequests|rate limit", above=3, below=4)),
            Cause("denied", "submission", "the registry refuses to deliver the image ({url}): it needs credentials, or does not take those that it got", "write a line `machine HOST login USER password TOKEN` into ~/.config/enroot/.credentials, with the host alone and no port, or import the image beforehand", log=_denied),
            Cause("registry", "submission", "the image could not be fetched ({url})", "look at the name, at the credentials in ~/.config/enroot/.credentials, and whether compute nodes reach the registry"),
        ),
        matches="""\
slurmstepd: error: pyxis:     [ERROR] URL https://registry-1.docker.io/v2/library/x.sqsh/manifests/latest returned error code: 401 Unauthorized
slurmstepd: error: pyxis:     [ERROR] Could not process JSON input
slurmstepd: error: pyxis:     [ERROR] No such file or directory: /images/x.sqsh
[ERROR] File already exists: /scratch/x.sqsh
slurmstepd: error: pyxis:     curl: (6) Could not resolve host: nvcr.io
""",
    ),
    Symptom(
        id="enroot-start",
        title="the container could not be started",
        docs="The file system of enroot's data is mounted noexec, the kernel allows no user namespaces, a mount hides the image's /bin, or the image is for another architecture.\n",
        printed_by="enroot-switchroot, enroot-nsenter, pyxis",
        literals=("enroot-switchroot:", "enroot-nsenter:", "enroot-aufs", "enroot-mksquashovlfs", "container exited too soon", "seccomp filter failed", "Could not change directory: ", "couldn't join", "unusual entrypoint"),
        patterns=(r"enroot-(?:switchroot|nsenter|aufs2ovlfs|mksquashovlfs): (?P<error>.+)", r"pyxis: (?:container exited too soon|seccomp filter failed)", r"pyxis: couldn't join \w+ namespace"),
        causes=(
            Cause("mount-over", "script", "a mount of the script hides what the container needs to start", "mount to a folder of its own, not to / or /usr", script=lambda job, event: shown(step_options(job, "container-mounts"), "possible") if "No such file" in event.text else None),
            Cause("node", "cluster", "the container could not be started on that node: noexec, namespaces or architecture", "ask the site about ENROOT_DATA_PATH and user namespaces"),
        ),
        matches="""\
enroot-switchroot: failed to execute: /bin/sh: Permission denied
enroot-nsenter: failed to create user namespace: Operation not permitted
slurmstepd: error: pyxis: container exited too soon
slurmstepd: error: pyxis: couldn't join mount namespace: Operation not permitted
""",
    ),
    Symptom(
        id="enroot-hook",
        title="a hook of enroot failed",
        docs="What it printed is above.\n",
        printed_by="enroot",
        role="consequence",
        literals=("enroot/hooks.d", "exited with return code", "mount hook function failure"),
        patterns=(r"hooks\.d/(?P<hook>\S+) exited with return code",),
        causes=(Cause("hook", "cluster", "enroot's hook {hook} failed", "look at the lines above, and ask the site"),),
        matches="slurmstepd: error: pyxis:     [ERROR] /etc/enroot/hooks.d/98-nvidia.sh exited with return code 1\n",
    ),
    Symptom(
        id="pyxis-options",
        title="the container options of pyxis conflict",
        docs="They apply to one srun; some exclude each other, some need an image.\n",
        printed_by="pyxis",
        releases="pyxis 0.8 and later",
        literals=("pyxis: both --", "pyxis: --container", "pyxis: error: a container with name", "specified multiple times", "neither --container-image nor"),
        patterns=(r"pyxis: both (?P<option>--[\w-]+) and|pyxis: --container-\w+(?: specified multiple times|: (?:argument required|empty name|flag must|invalid format|target is))", r"pyxis: error: a container with name", r"pyxis: ignoring --\S+ because neither"),
        causes=(
            Cause("options-of-script", "script", "the container options of the step conflict", "see the message", codes=("SB502", "SB503", "SB504", "SB517", "SB501", "SB516"), script=steps()),
            Cause("options-of-call", "submission", "the container options of the step conflict", "see the message"),
        ),
        matches="""\
srun: error: pyxis: both --container-writable and --container-readonly were specified
srun: error: pyxis: --container-image specified multiple times
slurmstepd: error: pyxis: error: a container with name "x" does not exist, and --container-image is not set
srun: error: pyxis: ignoring --container-mounts because neither --container-image nor --container-name is set
""",
    ),
    Symptom(
        id="pyxis-failed",
        title="the container of the step failed",
        docs="The reason is in enroot's log, which pyxis prints: the lines with `pyxis:     ` (five spaces).\n",
        printed_by="pyxis",
        role="consequence",
        literals=("container start failed", "failed to import docker image", "couldn't start container", "printing enroot log", "failed to create container filesystem", "pyxis: child", "contents of log file", "importer "),
        patterns=(r"pyxis: (?:container start failed|failed to (?:import docker image|create container filesystem|start container)|couldn't start container|printing \w+ log file|printing contents of log|child \d+ (?:failed|terminated)|importer .*failed|container start error|container was not started|couldn't execute enroot)",),
        causes=(
            Cause("image", "script", "the image could not be imported", "a file: /path/name.sqsh; a registry: HOST#NAME:TAG", codes=("SB505", "SB502", "SB409"), log=says("import", "filesystem")),
            Cause("container", "cluster", "the container of the step did not start", "look at the lines of enroot's log", unproven="possible"),
        ),
        matches="""\
slurmstepd: error: pyxis: container start failed with error code: 1
slurmstepd: error: pyxis: failed to import docker image
slurmstepd: error: pyxis: couldn't start container
slurmstepd: error: pyxis: printing enroot log file:
slurmstepd: error: pyxis: child 12004 failed with error code: 1
""",
    ),
)
