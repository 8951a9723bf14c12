"""The job loses its output: it removes its own log.

Slurm has opened the files of `--output` and `--error` before the script begins. `rm -f *.out *.err`, meant for the logs
of earlier runs, removes them too: the job goes on writing into a file without a name, and when it fails there is
nothing to read. In an array, a task removes the logs of all others that run.

An error where the removed files are certainly in the folder of the log, and work follows; a warning where that is a
question of a test, and where only the log of `--error` is removed; advice where the script has changed to a fixed
folder before, from which the job may be submitted.

## Fix

None: name the files of the earlier runs (`rm -f result_*.out`), or write the logs elsewhere: `--output=logs/%j.log`.
A pattern that leaves out the number of this job still removes the logs of the user's other jobs that run.

## References

sbatch(1), --output; unlink(2); live runs of Slurm 22.05.
"""

import posixpath
from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.work import has_work
from sbatchlint.analysis.storage.made_folders import folder_of_shell
from sbatchlint.analysis.storage.written_paths import is_recursive
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import key
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.grammar import patterns
from sbatchlint.source.globs import fits
from sbatchlint.triggers import Commands

CARD = Card(
    "SB723", "own-log-removed", severity="error", fix="never", since="0.1.0", when=Commands("rm"), batch=True,
    certain=True, seen="a review of public scripts",
    unseen="No log at all.",
)  # fmt: skip

# What a log's name may have for a pattern of Slurm: values that no script writes.
_SAMPLES = {"j": "9182736", "A": "9182736", "J": "9182736", "a": "83", "N": "n0417", "n": "0", "t": "0", "s": "batch"}


def check(job: Job) -> Iterator[Finding]:
    if job.request.has_option("chdir"):
        return
    for command in commands_named(job, "rm"):
        if container_of(command) is not None or command.context.handler:
            continue
        logs = [(field, log) for field in command.argv[1:] if (log := _log_among(job, command, field)) is not None]
        if logs:
            field, log = min(logs, key=lambda each: _is_for_errors(job, each[1]))
            yield from _finding(job, command, field, log)


def _finding(job: Job, command: Invocation, field: Pieces, log: str) -> Iterator[Finding]:
    written = shown_text(field)
    if not has_work(job, command.index + 1, len(job.invocations)):
        return  # to leave no log may be the purpose
    folder = folder_of_shell(job, command)
    named = "" if log == written else f" (`{log}`)"
    removes, advice = f"`{written}` also matches the job's own log{named}", "give the log another name"
    if not named:
        removes = f"this removes `{written}`, the job's own log"
        advice = "do not remove it, or give the log another name"
    lost = "its errors are lost" if _is_for_errors(job, log) else "its output is lost"
    where = " when submitted from this folder" if folder else ""
    severity = "warning" if depends_on_test(command) or _is_for_errors(job, log) else None
    yield Finding(span_of(field), f"{removes}{where}, so {lost}; {advice}", "info" if folder else severity)


def _is_for_errors(job: Job, log: str) -> bool:
    """Whether a log has only what goes to standard error."""
    errors, outputs = ([path for _, path in plain_paths(job, option)] for option in ("error", "output"))
    return log in errors and log not in outputs


def _log_among(job: Job, command: Invocation, field: Pieces) -> str | None:
    """The log that a word of a removal names, as written in its directive; None where it names none."""
    if not field or any(piece.text is None for piece in field) or shown_text(field).startswith("-"):
        return None
    folder = folder_of_shell(job, command)
    path = posixpath.normpath(key(field))
    if folder is None or set(path) <= set("./*") and not is_recursive(command):
        return None
    for log, sample in _logs(job):
        if folder and (not folder.startswith("/") or path.startswith("/") or sample.startswith("/") or path == "*"):
            continue
        parts = sample.split("/")
        depth = path.count("/") + 1
        whole = depth == len(parts) or is_recursive(command) and depth < len(parts)
        if whole and all(map(fits, parts, path.split("/"))):
            return log
    return None


def _logs(job: Job) -> Iterator[tuple[str, str]]:
    """The logs of the job as written, and as their names may be."""
    found = [path for _, path in plain_paths(job, "output", "error")]
    if not job.request.has_option("output"):
        found.append("slurm-%A_%a.out" if job.request.has_option("array") else "slurm-%j.out")
    for path in found:
        sample = path
        for use in reversed(patterns.found(path)):
            value = job.request.value("job-name") or "qz" if use.letter == "x" else _SAMPLES.get(use.letter, "qz")
            sample = sample[: use.start] + value + sample[use.end :]
        yield path, posixpath.normpath(sample)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --output=model.out
        #SBATCH --error=model.err
        rm -f core.* «*.out» *.err
        srun ./model
        """
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --output=a.out --error=a.err\nrm -f «a.err»\nsrun ./model > model.txt 2>&1\n",
        severity="warning",
        title="only errors",
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nrm -f «slurm-*.out»\nsrun ./model\n", title="the default name"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --output=logs/%j.log\nrm -f *.out *.err\nsrun ./model\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./model\nrm -f slurm-*.out\n", title="at the end, on purpose"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\ncd $TMPDIR || exit 1\nrm -f *.out\nsrun ./model\n", title="in another folder"
    ),
]
