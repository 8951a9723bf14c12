"""Jobs that do small work only, one process with one CPU at a time: copying, fetching, packing or removing files."""

from sbatchlint.analysis.script.work import Weight, fetches_by_git, weight
from sbatchlint.analysis.storage.written_paths import is_recursive
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait

_SERIAL_TOOLS = frozenset(
    {"cp", "mv", "rsync", "scp", "wget", "curl", "unzip", "gzip", "gunzip", "bunzip2", "zip", "dd", "ln", "mkdir"}
    | {"aria2c", "fastq-dump", "gdown", "kaggle", "lftp", "prefetch", "sftp"}
)
# Those that are work only where a job does nothing else: they go through folders.
_SWEEPING = frozenset({"find", "du", "md5sum", "sha256sum", "chmod", "chown", "chgrp", "rm"})
_STARTING = ("-exec", "-execdir", "-ok")


@once
def small_work(job: Job) -> list[Invocation]:
    """The commands that are all the work of a job that needs one CPU; none for other jobs."""
    if job.launches or job.program.errors or job.limits.exhausted or any(job.submits):
        return []
    leaves = [each for each in job.invocations if not each.children]
    works = [each for each in leaves if fetches_by_git(each) or weight(job, each) is not Weight.NONE]
    works = works or [each for each in leaves if _sweeps(each)]
    if not works or not all(map(_is_serial_tool, works)):
        return []
    if any(each.context.background is not None for each in works):
        return []
    steps = [enclosing_step(each.context) for each in works]
    if any(each is not None and (each.tasks != 1 or not each.certain or each.in_other_job) for each in steps):
        return []
    within = {id(each) for each in steps}
    return works if all(id(each) in within for each in job.steps) else []


def _sweeps(command: Invocation) -> bool:
    """Whether a command goes through all of a folder: what removes or lists a few files is no work."""
    if command.name in ("find", "du", "md5sum", "sha256sum"):
        return len(command.argv) > 1 and not any(word in _STARTING for word in command.words) and not command.piped_to
    return command.name in _SWEEPING and is_recursive(command)


def _is_serial_tool(command: Invocation) -> bool:
    """Whether a command certainly uses one CPU: it configures a build, or copies, fetches, packs or removes files."""
    words = command.words[1:]
    if any(has_trait(each.name, "repeats", "remote") for each in command.ancestors()):
        return False
    if command.name == "cmake":
        return not any(each.startswith(("--build", "--install", "-E", "-P", "--workflow")) for each in words)
    if command.name == "tar":
        return not any(each.startswith(("-I", "--use-compress")) or "J" in each[:4] for each in words)
    return command.name in _SERIAL_TOOLS or fetches_by_git(command) or _sweeps(command)
