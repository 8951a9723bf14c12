"""Texts that a script holds for its programs: `python -c`, `Rscript -e`, a here-document, or an input file it writes.

Some say how many threads or workers the program is to use.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.threads import ThreadOption
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Text, shown_text
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# Programs of quantum chemistry that read processors and memory from their input.
GAUSSIAN, ORCA = frozenset({"g03", "g09", "g16"}), frozenset({"orca"})


def written_text(job: Job, command: Invocation, name: str) -> Text | None:
    """What the script writes into a file of this name before a command, if it does so once, and whatever tests say."""
    texts = _writers(job).get(name, [])[:2]
    if not texts or texts[0].index >= command.index or len(texts) > 1 and texts[1].index < command.index:
        return None
    if texts[0].name != "cat" or texts[0].context.conditional or texts[0].context.loops:
        return None
    return texts[0].stdin


@once
def _writers(job: Job) -> dict[str, list[Invocation]]:
    """The commands that redirect into or from a file of each name, in order."""
    found: dict[str, list[Invocation]] = {}
    for command in job.invocations:
        for redirect in command.redirects:
            if redirect.target:
                found.setdefault(shown_text(redirect.target).rpartition("/")[2], []).append(command)
    return found


def chemistry_input(job: Job, command: Invocation) -> Text | None:
    """The input of Gaussian or ORCA, if the script writes it; None for other programs."""
    if command.name not in GAUSSIAN and command.name not in ORCA:
        return None
    if command.stdin is not None:
        return command.stdin
    name = next((word for word in command.words[1:] if word[:1] != "-"), None)
    if name is None:
        sources = [shown_text(each.target) for each in command.redirects if each.operator == "<" and each.target]
        name = sources[0] if len(sources) == 1 else None
    return None if name is None else written_text(job, command, name.rpartition("/")[2])


_PYTHON = Regex(
    r"\bPool\(\s*(?:processes\s*=\s*)?(\d{1,5})\s*[,)]|\bset_num(?:_interop)?_threads\(\s*(\d{1,5})\s*\)"
    r"|\b(?:n_jobs|max_workers|num_workers|n_workers|processes|num_proc|num_threads|nthreads)\s*=\s*(\d{1,5})\b"
)
_R = Regex(
    r"\bmc\.cores\s*=\s*(\d{1,5})|\bmake(?:PSOCK|Fork)?[cC]luster\(\s*(?:spec\s*=\s*)?(\d{1,5})L?\s*[,)]"
    r"|\bregisterDo(?:Parallel|MC)\(\s*(?:cores\s*=\s*)?(\d{1,5})L?\s*\)|\bsetDTthreads\(\s*(\d{1,5})"
    r"|\b(?:Multicore|Snow)Param\(\s*(?:workers\s*=\s*)?(\d{1,5})|\bplan\([^()]*\bworkers\s*=\s*(\d{1,5})"
)
_MATLAB = Regex(
    r"\b(?:parpool|matlabpool)\s*\(\s*(?:(?:'[\w ]*'|\"[\w ]*\"|\w+)\s*,\s*)?(\d{1,5})\s*[,)]"
    r"|\bmatlabpool\s+(?:open\s+)?(?:local\s+)?(\d{1,5})\b|\bmaxNumCompThreads\(\s*(\d{1,5})\s*\)"
)
_GAUSSIAN = Regex(r"(?mi)^[ \t]*%nproc(?:s?hared)?[ \t]*=[ \t]*(\d{1,5})")
_ORCA = Regex(r"(?i)\bPAL(\d{1,3})\b|\bnprocs[ \t]+(\d{1,5})\b")
_JULIA = Regex(r"\baddprocs\(\s*(\d{1,5})\s*[,)]")
# The options whose next word is the program.
_CODE = {
    "Rscript": ("-e", _R), "R": ("-e", _R), "matlab": ("-r -batch", _MATLAB), "julia": ("-e", _JULIA),
}  # fmt: skip


def worker_calls(job: Job, command: Invocation) -> Iterator[ThreadOption]:
    """What sets a number of threads or workers in a command's own program text, or in the input written for it."""
    if command.name in GAUSSIAN or command.name in ORCA:
        yield from _calls(chemistry_input(job, command), _GAUSSIAN if command.name in GAUSSIAN else _ORCA)
        return
    if is_python(command.argv[0]):
        python = python_of(command)
        if python is not None and python.kind == "code" and python.target is not None:
            yield from _calls(Text(python.target), _PYTHON)
        elif python is not None and python.kind == "stdin" or len(command.argv) == 1:
            yield from _calls(command.stdin, _PYTHON)
        return
    if command.name not in _CODE:
        return
    options, pattern = _CODE[command.name]
    for at, word in enumerate(command.words[:-1]):
        if word in options.split():
            yield from _calls(Text(command.argv[at + 1]), pattern)
    if command.stdin is not None and not any(word[:1] != "-" for word in command.words[1:]):
        yield from _calls(command.stdin, pattern)


def _calls(text: Text | None, pattern: Regex) -> Iterator[ThreadOption]:
    if text is None:
        return
    mark = "%" if pattern is _MATLAB else "#"
    for match in pattern.finditer(text.string):
        line = text.string[text.string.rfind("\n", 0, match.start()) + 1 : match.start()]
        number = next(each for each in match.groups() if each is not None)
        if mark not in line:
            yield ThreadOption(match[0].rstrip(", "), text.span(match.start(), match.end()), (), parse_integer(number))
