"""Programs that start the processes of their own node themselves, and are told of the others: fairseq and detectron2.

fairseq takes nodes, ranks and the address from Slurm where it is told a port, with one task on each node
(fairseq/distributed/utils.py, `_infer_slurm_init`). The programs of detectron2 have `--num-machines`, `--machine-rank`
and `--dist-url` beside `--num-gpus` (detectron2/engine/defaults.py, 0.6).
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.replacing import meeting
from sbatchlint.convert.words import PORT, exports_above, srun_of
from sbatchlint.job import Job
from sbatchlint.job.argv import integer, program_options
from sbatchlint.job.launchers import python_of
from sbatchlint.job.python.program import python_program
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

_OF_FAIRSEQ = ("fairseq-train", "fairseq-hydra-train")
_OF_DETECTRON2 = ("--num-machines", "--machine-rank", "--dist-url")


class Spawning(NamedTuple):
    """Such a program: `kind` is `fairseq` or `detectron2`, `devices` its processes on a node, None where not said.

    `certain`: whether its own file, or its name, says what it is.
    """

    kind: str
    devices: int | None
    certain: bool

    @property
    def words(self) -> str:
        return f"{self.kind} starts a process for each"

    @property
    def todos(self) -> list[str]:
        if self.certain:
            return []
        return [f"see that the program has {', '.join(_OF_DETECTRON2)}, as those of detectron2 do"]


def spawning_of(job: Job, command: Invocation) -> Spawning | None:
    """What a command is of these; None for another program."""
    if command.name == _OF_FAIRSEQ[0]:
        return Spawning("fairseq", None, True)
    python = python_of(command)
    if python is None or python.kind != "script":
        return None
    options = {name: value for name, value, _ in program_options(command.argv[python.after :])}
    devices = integer(options.get("--num-gpus"))
    program = python_program(job, command)
    if program is None:
        known = devices is not None and devices > 1 and "--config-file" in options
    else:
        known = program.mentions("detectron2") and program.mentions("default_argument_parser")
    return Spawning("detectron2", devices, program is not None) if known else None


def start_spawning(job: Job, command: Invocation, spawning: Spawning, start: int, gpus: int) -> Iterator[Edit]:
    """The edits that start it once on each node; `start`: of the whole command. Raises `NotConvertible`."""
    if job.in_quoted_text(start) or job.source.own.text.startswith("eval", start):
        raise NotConvertible("the program stands in a string: write its words where it is started")
    given = {name: value for name, value, _ in program_options(command.argv)}
    if spawning.kind == "fairseq":
        yield insert(start, f"{srun_of(job)} ")
        for name in ("--distributed-init-method", "--distributed-rank", "--distributed-no-spawn"):
            if name in given:
                raise NotConvertible(f"fairseq takes {name} from Slurm where it has a --distributed-port: leave it out")
        size = given.get("--distributed-world-size")
        if size is not None:
            raise NotConvertible("fairseq is told --distributed-world-size: leave it out, and it is written anew")
        # releases before 0.10 take the processes of one node for all of them (`infer_init_method`)
        added = f' --distributed-world-size "$((SLURM_JOB_NUM_NODES * {gpus}))"'
        if "--distributed-port" not in given:
            added += f' --distributed-port "{PORT}"'
        yield insert(_end(job, command.argv[0]), added)
        return
    told = [name for name in _OF_DETECTRON2 if name in given]
    if told:
        raise NotConvertible(f"the program is told {told[0]} already: leave out {', '.join(_OF_DETECTRON2)}")
    python = python_of(command)
    assert python is not None
    place = Span(command.name_span.start, _end(job, command.argv[python.at]))
    written = job.source.own.text[place.start : place.end]
    if any(each in written for each in "'\"\\$`\n"):
        raise NotConvertible("the program is named with quotes or variables: write its name as it is")
    yield from exports_above(job, start, meeting(command))
    if start != place.start:
        yield insert(start, f"{srun_of(job)} ")
    srun = f"{srun_of(job)} " if start == place.start else ""
    line = job.source.line_of(start)
    indentation = job.source.own.text[line.start : start]
    indentation = indentation[: len(indentation) - len(indentation.lstrip())]
    shell = f'{srun}bash -c \'exec {written} --machine-rank "$SLURM_NODEID" "$@"\' \\\n{indentation}    '
    nodes = '--num-machines "$SLURM_JOB_NUM_NODES" --dist-url "tcp://$MASTER_ADDR:$MASTER_PORT"'
    yield Edit(place, f"{shell}{shown_text(command.argv[python.at])} {nodes}")


def _end(job: Job, word: Pieces) -> int:
    span, text = span_of(word), job.source.own.text
    if span.end > len(text) or text[span.start : span.end] != text_of(word):
        raise NotConvertible("the program is not named where it is started: write its name there")
    return span.end
