"""Which variables the tasks of a step have in their environment: by --export, or the variables that replace it.

Without --export, srun reads SRUN_EXPORT_ENV and then SLURM_EXPORT_ENV; sbatch sets the latter to its own --export,
unless that is ALL (src/sbatch/opt.c, src/srun/opt.c, 20.11 to 26.05; live runs).
"""

from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, Spawn
from sbatchlint.bash.values import Phase, Piece, Pieces, span_of, text_of
from sbatchlint.job.argv import assignment_of, split
from sbatchlint.job.srun import own_variable
from sbatchlint.job.steps import Step
from sbatchlint.source.text import Span

# The last one that is set counts.
VARIABLES = ("SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV")


class Exports(NamedTuple):
    """The variables that tasks get.

    `everything`: whether they get srun's whole environment; else only its SLURM* variables and the `names`. `values`:
    variables with a value; with `everything`, a variable that srun already has keeps its value: `A=1 srun
    --export=ALL,A=2` gives 1 (`_build_user_env()` of src/srun/launch.c, 22.05 to 26.05; a live run of 22.05). `said`,
    `span`, `value`: the option or variable that decides this, as one would write it; None if there is none.
    """

    everything: bool
    names: tuple[str, ...] = ()
    values: tuple[tuple[str, Pieces], ...] = ()
    said: str | None = None
    span: Span | None = None
    value: Pieces | None = None


def exports_of(step: Step) -> Exports:
    """The variables that the tasks of a step get; everything where that is not known."""
    option = step.option("export")
    if option is not None:
        return Exports(True) if option.value is None else _read(option.value, option.as_written, option.span)
    for name in reversed(VARIABLES):
        own = own_variable(step.invocation, name)
        if own.how == "set" and own.value is not None:
            return _read(own.value, f"{name}={own.text or '…'}", span_of(own.value))
        if own.how == "unknown":
            return Exports(True)
        if not own.how and name == VARIABLES[0]:
            return _of_job(step)
    return Exports(True)


def _of_job(step: Step) -> Exports:
    """The variables that the job's own --export leaves to the tasks."""
    setting = step.request.setting("export")
    if setting is None or setting.value_span is None or not setting.text or setting.text.upper() == "ALL":
        return Exports(True)
    value = (Piece(setting.text, setting.value_span.start, setting.value_span.end),)
    return _read(value, setting.as_written, setting.span)


def _read(value: Pieces, said: str, span: Span) -> Exports:
    names, values, everything = [], [], False
    for item in split(value, ","):
        name, assignment = text_of(item), assignment_of(item)
        if assignment is not None:
            values.append(assignment)
        elif name is None or name.upper() == "ALL":
            everything = True
        elif name.upper() in ("NONE", "NIL"):
            break
        else:
            names.append(name)
    return Exports(everything, tuple(names), tuple(values), said, span, value)


def _is_exported(invocation: Invocation, name: str) -> bool:
    found = invocation.state.variables.get(name)
    return found is not None and found.exported and bool(found.alternatives)


def spawn_of(step: Step, component: tuple[Pieces, ...] | None) -> Spawn:
    """How srun starts the tasks of a step, and in which environment."""
    exports = exports_of(step)
    invocation = step.invocation
    if exports.everything:
        values = tuple(each for each in exports.values if not _is_exported(invocation, each[0]))
        return Spawn("srun", step.command, Phase.TASK, values, info=step, component=component)
    exported = {name for name in invocation.state.variables if _is_exported(invocation, name)}
    of_slurm = {name for name in exported if name.startswith("SLURM")}
    kept = of_slurm | set(exports.names)
    return Spawn(
        "srun", step.command, Phase.TASK, exports.values, frozenset(exported - kept), True, step, kept=(*kept,),
        component=component,
    )  # fmt: skip
