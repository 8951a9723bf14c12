"""Which variables the tasks of a step have in their environment: as --export decides, or the variables that replace it.

Without --export, srun reads SRUN_EXPORT_ENV and then SLURM_EXPORT_ENV; sbatch sets the latter to its own --export,
unless that is ALL (src/sbatch/opt.c, src/srun/opt.c, 20.11 to 26.05; live runs).
"""

from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, Spawn
from sbatchlint.bash.values import Phase, Piece, Pieces, span_of, text_of
from sbatchlint.job.argv import assignment_of, split
from sbatchlint.job.srun import variable_change
from sbatchlint.job.steps import Step
from sbatchlint.source.text import Span

# The last one that is set counts.
EXPORT_VARIABLES = ("SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV")


class Exports(NamedTuple):
    """The variables that tasks get.

    `whole_environment`: whether they get all of srun's environment; else only its SLURM* variables and the `names`.
    `values`: variables with a value; with `whole_environment`, a variable that srun already has keeps its value: `A=1
    srun --export=ALL,A=2` gives 1 (`_build_user_env()` of src/srun/launch.c, 22.05 to 26.05; a live run of 22.05).
    `as_written`, `span`, `value`: the option or variable that decides this, as one would write it; None if there is
    none.
    """

    whole_environment: bool
    names: tuple[str, ...] = ()
    values: tuple[tuple[str, Pieces], ...] = ()
    as_written: str | None = None
    span: Span | None = None
    value: Pieces | None = None


def exports_of(step: Step) -> Exports:
    """The variables that the tasks of a step get; everything where that is not known."""
    option = step.option("export")
    if option is not None:
        return Exports(True) if option.value is None else _parse(option.value, option.as_written, option.span)
    for name in reversed(EXPORT_VARIABLES):
        change = variable_change(step.invocation, name)
        if change.how == "set" and change.value is not None:
            return _parse(change.value, f"{name}={change.text or '…'}", span_of(change.value))
        if change.how == "unknown":
            return Exports(True)
        if not change.how and name == EXPORT_VARIABLES[0]:
            return _exports_of_job(step)
    return Exports(True)


def _exports_of_job(step: Step) -> Exports:
    """The variables that the job's own --export leaves to the tasks."""
    setting = step.request.setting("export")
    if setting is None or setting.value_span is None or not setting.text or setting.text.upper() == "ALL":
        return Exports(True)
    value = (Piece(setting.text, setting.value_span.start, setting.value_span.end),)
    return _parse(value, setting.as_written, setting.span)


def _parse(value: Pieces, as_written: str, span: Span) -> Exports:
    """The variables that a value of --export names."""
    names, values, whole_environment = [], [], False
    for item in split(value, ","):
        name, assignment = text_of(item), assignment_of(item)
        if assignment is not None:
            values.append(assignment)
        elif name is None or name.upper() == "ALL":
            whole_environment = True
        elif name.upper() in ("NONE", "NIL"):
            break
        else:
            names.append(name)
    return Exports(whole_environment, tuple(names), tuple(values), as_written, span, value)


def _is_exported(invocation: Invocation, name: str) -> bool:
    variable = invocation.state.variables.get(name)
    return variable is not None and variable.exported and bool(variable.alternatives)


def spawn_of(step: Step, component: tuple[Pieces, ...] | None) -> Spawn:
    """How srun starts the tasks of a step, and in which environment."""
    exports = exports_of(step)
    invocation = step.invocation
    if exports.whole_environment:
        values = tuple((name, value) for name, value in exports.values if not _is_exported(invocation, name))
        return Spawn("srun", step.command, Phase.TASK, values, info=step, component=component)
    exported = {name for name in invocation.state.variables if _is_exported(invocation, name)}
    slurm_names = {name for name in exported if name.startswith("SLURM")}
    kept = slurm_names | set(exports.names)
    return Spawn(
        "srun", step.command, Phase.TASK, exports.values, frozenset(exported - kept), True, step, kept=(*kept,),
        component=component,
    )  # fmt: skip
