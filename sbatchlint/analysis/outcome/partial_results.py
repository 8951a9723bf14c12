"""A part of a result that later work takes for all of it: `vcftools … | bgzip > out.vcf.gz`, and then work on the file.

Where the first program fails, the one after it sees the end of its input, completes the file and succeeds.
"""

from sbatchlint.analysis.outcome.lost_statuses import has_pipefail
from sbatchlint.analysis.outcome.state_readers import Reader
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.status_records import Loss
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.programs import has_trait
from sbatchlint.source.shortening import shortened

_COMPLETING = frozenset({"awk", "bcftools", "bgzip", "samtools"})
_TESTS = frozenset({"[", "[[", "test"})
_FAR = 40  # how many commands after the pipeline are looked at
_SHORT = 24


def read_partial(job: Job, loss: Loss) -> Reader | None:
    """Later work that reads the file into which a pipeline was redirected; None where a test is made of that file."""
    end = loss.filter
    if loss.how != "pipeline" or end is None or not has_pipefail(job):
        return None
    if not has_trait(end.name, "patient") and end.name not in _COMPLETING or end.context.background is not None:
        return None
    path = next((text_of(each.target) for each in end.redirects if each.target and each.operator == ">"), None)
    if not path or path.startswith("/dev/"):
        return None
    reader = None
    for command in job.invocations[end.index + 1 : end.index + 1 + _FAR]:
        if path not in command.words[1:]:
            continue
        if command.name in _TESTS or depends_on_test(command, loss.command):
            return None
        if reader is None and _reads(job, command, path):
            reader = command
    if reader is None or reader.context.loops != loss.command.context.loops:
        return None
    row, name = job.line(reader.span.start), shortened(path.rpartition("/")[2], _SHORT)
    outcome = f"line {row} still reads a part of `{name}`"
    return Reader(outcome, outcome, reader.place, "reads it all the same")


def _reads(job: Job, command: Invocation, path: str) -> bool:
    """Whether work reads a file that it names, and does not only write, move or remove it."""
    if weight(job, command) < Weight.PROGRAM or has_trait(command.name, "places", "packs"):
        return False
    at = command.words.index(path)
    return not command.words[at - 1].startswith(("-o", "--o", "-O", ">")) and at > 0
