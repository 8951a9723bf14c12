"""Programs that are told how much memory to take, in a job that has no more than that."""

import re
from collections.abc import Iterator

from sbatchlint.diagnose.evidence import options
from sbatchlint.diagnose.symptom import Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span

_MEBIBYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
_AMOUNT = r"(?P<amount>\d{1,6})(?P<unit>[kKmMgGtT])"
# What the heap of Java and of Spark's driver may be, on a command line or in a variable that they read.
_HEAP = re.compile(rf"(?:-Xmx|--driver-memory[= ])\s*{_AMOUNT}[bB]?\b")
# Each thread of samtools sort takes what -m says.
_SORT = re.compile(r"\bsamtools\s+sort\b[^|;&\n]*(?:\\\n[^|;&\n]*)*")
_SORT_MEMORY = re.compile(rf"\s-m\s*{_AMOUNT}\b")
_SORT_THREADS = re.compile(r"\s(?:-@|--threads)[= ]?\s*(?P<number>\d{1,4}|\$\{?SLURM_CPUS_PER_TASK\b)")
# More of the memory of a job than this leaves too little for the rest.
_MOST = 0.9


def heap_of_script(job: Job, event: Event) -> Verdict:
    """The memory that programs of the script are told to take, where it is nearly all that the job has, or more."""
    memory = _of_job(job)
    if memory is None:
        return None
    for span, mebibytes, says in _takers(job):
        if mebibytes > _MOST * memory:
            return Shown((*options(job, "mem"), span), says, "likely")
    return None


def _takers(job: Job) -> Iterator[tuple[Span, float, str]]:
    text = job.source.text
    for match in _HEAP.finditer(text):
        if not text[text.rfind("\n", 0, match.start()) + 1 :].lstrip().startswith("#"):
            size = f"{match['amount']}{match['unit'].upper()}"
            says = (
                f"the heap of Java may grow to {size} ({match[0]}), which with the rest of Java"
                " is more than the job has"
            )
            yield Span(*match.span()), _mebibytes(match), says
    for command in _SORT.finditer(text):
        memory, threads = _SORT_MEMORY.search(command[0]), _SORT_THREADS.search(command[0])
        if memory is not None:
            number = _threads(job, threads)
            size = f"{memory['amount']}{memory['unit'].upper()}"
            says = f"samtools sort takes {size} (-m) for each of its {number} threads, together more than the job has"
            yield Span(*command.span()), _mebibytes(memory) * number, says


def _threads(job: Job, match: re.Match[str] | None) -> int:
    if match is None:
        return 1
    if match["number"].isdigit():
        return parse_integer(match["number"]) or 1
    settings = [each for each in job.directives.settings if each.name == "cpus-per-task"]
    return (parse_integer(settings[-1].value or "") if settings else None) or 1


def _mebibytes(match: re.Match[str]) -> float:
    return (parse_integer(match["amount"]) or 0) * _MEBIBYTES[match["unit"].lower()]


def _of_job(job: Job) -> float | None:
    """The memory of a node of the job in MiB, as `--mem` says it; None without one."""
    settings = [each for each in job.directives.settings if each.name == "mem"]
    match = re.fullmatch(r"(\d{1,9})([kKmMgGtT]?)[bB]?", settings[-1].value or "") if settings else None
    return (parse_integer(match[1]) or 0) * _MEBIBYTES[match[2].lower() or "m"] if match else None
