"""Late options: options of srun that stand behind its command, which gets them as its own.

srun's getopt stops at the first word that is no option (optstring `+…`, src/common/slurm_opt.c): all that follows is
the command's. A shell with `-c` takes the words behind its string for $0, $1 …, and drops them without a word; the
argparse of torch and accelerate refuses what it does not know in front of the script (exit status 2; torch 2.13,
accelerate 1.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.repeatable import REPEATABLE
from sbatchlint.bash.interpreter.programs import SHELLS, shell_arguments
from sbatchlint.bash.syntax.tree import Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import Pieces, expansions, known_prefix, shown_text, span_of
from sbatchlint.job.containers import is_pyxis_option
from sbatchlint.job.steps import Step
from sbatchlint.slurm import getopt
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

# What takes the options: a shell's string that reads no argument, a script that reads none, a command that knows
# none of these, a program of its own.
POSITIONAL, UNREAD, REFUSED, PROGRAM = "positional", "unread", "refused", "program"

# Commands that print or look up what they are given, and Slurm's own.
_TALKERS = frozenset({":", ".", "[", "echo", "export", "find", "grep", "module", "printf", "scontrol", "set", "source",
                      "test", "true", "awk", "sed", "env", "ulimit", "unset"})  # fmt: skip
_PLAIN = (REPEATABLE - _TALKERS) | {"lscpu", "whoami", "uptime", "nvcc", "numactl", "taskset"}
# What no program but srun is likely to have.
_OF_SRUN = frozenset({
    "ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "cpus-per-task",
    "gpus-per-task", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "cpu-bind", "gpu-bind", "mem-bind",
    "kill-on-bad-exit", "gres", "het-group", "threads-per-core",
})  # fmt: skip
# What nobody gives to a command that prints something about its node.
_OF_SLURM = _OF_SRUN | {
    "nodes", "nodelist", "exclude", "gpus", "gpus-per-node", "mem", "mpi", "overlap", "exclusive", "partition",
    "export", "label", "distribution", "unbuffered", "account", "qos",
}  # fmt: skip
# Programs that hand such options on to Slurm.
_SUBMITTING = Regex(
    r"submit|sbatch|srun|slurm|launch|snakemake|nextflow|sweep|cluster|dask|parsl|nemo|run_?with|container"
)


class LateOptions(NamedTuple):
    """The options of srun behind one command.

    `span`: from the first to the last. `written`: each as written, without its value. `taker`: the name of what gets
    them. `kind`: POSITIONAL, UNREAD, REFUSED or PROGRAM. `command`: the name of what srun runs. `edits`: moves them in
    front of it, None where that is not certain.
    """

    span: Span
    written: tuple[str, ...]
    taker: str
    kind: str
    command: str
    edits: tuple[Edit, ...] | None


def find_late_options(job: Job) -> list[LateOptions]:
    """Those of a job, one for each command."""
    found: dict[Span, LateOptions] = {}
    for step in job.steps:
        late = None if step.command is None else _of_step(job, step)
        if late is not None:
            found.setdefault(late.span, late)
    return list(found.values())


def _of_step(job: Job, step: Step) -> LateOptions | None:
    last = _last_command(step)
    if last is None or last.name is None or step.command is None:
        return None
    first = len(step.invocation.argv) - len(last.argv)
    if last.name in SHELLS:
        arguments = shell_arguments(last.argv)
        words = [] if arguments is None else _named(last.argv, 1, arguments[1], _OF_SLURM)
        if words:
            return _found(job, step, [first + at for at in words], last.name, REFUSED)
        if arguments is None or arguments[0] == "stdin" or last.text is None or _reads_arguments(job, last):
            return None
        kind = POSITIONAL if arguments[0] == "-c" else UNREAD
        return _behind(job, step, first + arguments[1] + 1, last.name, kind)
    if last.text is not None:  # a script by its own name
        return None if _reads_arguments(job, last) else _behind(job, step, first + 1, last.name, UNREAD)
    for launch in job.launches:
        if launch.invocation is last:
            launcher = launch.launcher
            if launcher.kind in ("torchrun", "torch.distributed.launch", "accelerate") and launcher.certain:
                end = len(last.argv) if launcher.program is None else launcher.program
                words = [at for at in _named(last.argv, launcher.index + 1, end, _OF_SLURM)
                         if not any(each.value_at == at and each.at != at for each in launcher.given)]  # fmt: skip
                if words:
                    return _found(job, step, [first + at for at in words], launcher.name, REFUSED)
            after = launcher.program
            return None if after is None else _of_program(job, step, last, after, first)
    if last.name in _PLAIN:
        words = _named(last.argv, 1, len(last.argv), _OF_SLURM)
        return _found(job, step, [first + at for at in words], last.name, REFUSED) if words else None
    return _of_program(job, step, last, 0, first)


def _last_command(step: Step) -> Invocation | None:
    """The command at the end of srun's words, what starts it (`env`, `timeout`, a container) taken off."""
    argv = step.invocation.argv
    best: Invocation | None = None
    for each in step.program:
        size = len(each.argv)
        if size <= len(argv) and all(a is b for a, b in zip(each.argv, argv[-size:])) and size:
            if best is None or size < len(best.argv):
                best = each
    return best


def _reads_arguments(job: Job, shell: Invocation) -> bool:
    """Whether a shell's program looks at its arguments, or may do so."""
    assert shell.text is not None
    for node in nodes(job.parsed(shell.text.string)):
        if isinstance(node, Parameter) and (node.name in "@*#" or node.name.isdigit()):
            return True
        if isinstance(node, Simple) and node.words and isinstance(node.words[0], Word):
            word = node.words[0]
            if shell.text.string[word.start : word.end] in ("shift", "getopts", "getopt", "source", ".", "eval"):
                return True
    return any(piece.text is None and not piece.expansion for piece in shell.text.field)


def _behind(job: Job, step: Step, start: int, taker: str, kind: str) -> LateOptions | None:
    """Words that srun would read as its options, directly behind a shell's program."""
    argv = step.invocation.argv
    words = [shown_text(field) for field in argv[start:]]
    if not words or words[0][:1] != "-":
        return None
    parsed = getopt.parse(words, "srun", job.versions.majors, job.site.plugin_options)
    if not parsed.options or parsed.options[0].word or any(each.word == 0 for each in parsed.problems):
        return None
    if kind == UNREAD and not any(
        known_prefix(argv[start])[2:].startswith(name) for name in ("no-", *_OF_SLURM, "con")
    ):
        return None
    found: list[int] = []
    for each in parsed.options:
        found.append(start + each.word)
        if each.value_word is not None and each.value_word != each.word:
            found.append(start + each.value_word)
    return _found(job, step, found, taker, kind, [each.written for each in parsed.options])


def _of_program(job: Job, step: Step, last: Invocation, after: int, first: int) -> LateOptions | None:
    """Options among a program's own that hardly any program has."""
    names = " ".join(shown_text(field) for field in last.argv[after : after + 3])
    if _SUBMITTING.search(names.lower()):
        return None
    found = []
    for at in _named(last.argv, after + 1, len(last.argv), _OF_SRUN):
        name, equals, _ = shown_text(last.argv[at])[2:].partition("=")
        value = last.argv[at] if equals else last.argv[at + 1] if at + 1 < len(last.argv) else ()
        told = any(each.name.startswith(("SLURM_", "$((")) for each in expansions(value))
        if not told and step.option(name) is None:
            found.append(first + at)
    return _found(job, step, found, last.name or "", PROGRAM) if found else None


def _named(argv: tuple[Pieces, ...], start: int, end: int, names: frozenset[str]) -> list[int]:
    """Indices of words that are long options with one of these names, or one of pyxis."""
    found = []
    for at in range(start, end):
        prefix = known_prefix(argv[at])
        if prefix[:2] == "--":
            name = prefix[2:].partition("=")[0]
            if name in names or is_pyxis_option(name):
                found.append(at)
    return found


def _found(
    job: Job, step: Step, words: list[int], taker: str, kind: str, written: list[str] | None = None
) -> LateOptions | None:
    argv = step.invocation.argv
    spans = [span_of(argv[at]) for at in words]
    span = Span(spans[0].start, max(spans[0].end, spans[-1].end))
    if written is None:
        written = [known_prefix(argv[at]).partition("=")[0] for at in words]
    assert step.command is not None
    command = shown_text(argv[step.command]).rpartition("/")[2]
    edits = _moved(job, step, words) if kind in (POSITIONAL, REFUSED) else None
    return LateOptions(span, tuple(dict.fromkeys(written)), taker, kind, command, edits)


def _moved(job: Job, step: Step, words: list[int]) -> tuple[Edit, ...] | None:
    """Puts the last words of a command in front of what srun runs."""
    argv = step.invocation.argv
    assert step.command is not None
    if job.is_embedded or words != list(range(words[0], len(argv))):
        return None
    names = {known_prefix(argv[at])[2:].partition("=")[0] for at in words}
    if names & step.options.keys() or not step.certain:
        return None
    from sbatchlint.analysis.launch.step_options import Words

    known = Words(job)
    starts = [argv[step.command], argv[words[0]]]
    if any(not field or field[0].expansion is not None or field[0].text is None for field in starts):
        return None
    target, first = (known.at(field[0].start) for field in starts)
    if target is None or first is None or target is first:
        return None
    if id(target) not in known.simple or id(first) not in known.simple:
        return None
    command, index = known.simple[id(first)]
    if known.simple[id(target)][0] is not command or len(command.words) - index != len(words):
        return None
    moved = command.words[index:]
    gap = job.span(command.words[index - 1].end, moved[-1].end)
    if any(gap.start <= job.span(each.start, each.end).start < gap.end for each in command.redirects):
        return None
    text = " ".join(job.source.slice(job.span(each.start, each.end)) for each in moved)
    place = job.span(target.start, target.end).start
    return Edit(Span(place, place), f"{text} "), Edit(gap, "")
