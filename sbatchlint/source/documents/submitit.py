"""The directives that submitit writes for the parameters of an executor (submitit 1.5.4, slurm/slurm.py)."""

import ast

from sbatchlint.source.documents.expressions import Reader, Scope, String, name_of, quoted
from sbatchlint.source.documents.literals import Characters, at_place, span_of

_PREFIX = "slurm_"
# What submitit uses itself.
_NO_OPTIONS = frozenset(
    {"setup", "teardown", "srun_args", "use_srun", "signal_delay_s", "stderr_to_stdout", "array_parallelism"}
    | {"num_gpus"}
)
_MORE = ("slurm_additional_parameters", "additional_parameters")


def directives_of(call: ast.Call, reader: Reader, scope: Scope) -> String | None:
    """The lines for the parameters that a call sets; None for any other call."""
    if name_of(call.func) != "update_parameters":
        return None
    found: Characters = []
    for keyword in call.keywords:
        if keyword.arg in _MORE and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found += _line(key.value, key, value, reader, scope)
        elif keyword.arg is not None and keyword.arg.startswith(_PREFIX) and keyword.arg not in _MORE:
            name = keyword.arg.removeprefix(_PREFIX)
            if name not in _NO_OPTIONS:
                found += _line(name, keyword.value, keyword.value, reader, scope)
    return String(found) if found else None


def _line(name: str, place: ast.expr, value: ast.expr, reader: Reader, scope: Scope) -> Characters:
    if isinstance(value, ast.Constant) and value.value is None:
        return []
    span = span_of(reader.source, place)
    line = at_place(f"#SBATCH --{name.replace('_', '-')}", span)
    if not (isinstance(value, ast.Constant) and value.value is True):
        line += [*at_place("=", span), *quoted(reader.string(value, scope).characters, span)]
    return [*line, *at_place("\n", span)]
