"""The heap that Java is given, on a command line or in a variable, in a job that has no more memory than that.

SB620 reports heaps that do not fit; that one takes all, or is in a variable of another program, counts once the memory
of the job was used up.
"""

import re

from sbatchlint.diagnose.evidence import options
from sbatchlint.diagnose.symptom import Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span

_MEBIBYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
_HEAP = re.compile(
    r"(?m)^(?!\s*#).*?(?P<option>-Xmx|--driver-memory[= ])\s*(?P<amount>\d{1,6})(?P<unit>[kKmMgGtT])[bB]?\b"
)
# More of the memory of a job than this leaves too little for the rest of Java.
_MOST = 0.9


def heap_of_script(job: Job, event: Event) -> Verdict:
    """The heap that the script gives Java, where it is nearly all of the memory that the job has, or more."""
    settings = [each for each in job.directives.settings if each.name == "mem"]
    memory = re.fullmatch(r"(\d{1,9})([kKmMgGtT]?)[bB]?", settings[-1].value or "") if settings else None
    if memory is None:
        return None
    for heap in _HEAP.finditer(job.source.text):
        if _mebibytes(heap["amount"], heap["unit"]) > _MOST * _mebibytes(memory[1], memory[2] or "m"):
            size = f"{heap['amount']}{heap['unit'].upper()}"
            says = f"the heap of Java may grow to {size}, which with the rest of Java is more than the job has"
            return Shown((*options(job, "mem"), Span(heap.start("option"), heap.end())), says, "likely")
    return None


def _mebibytes(amount: str, unit: str) -> float:
    return (parse_integer(amount) or 0) * _MEBIBYTES[unit.lower()]
