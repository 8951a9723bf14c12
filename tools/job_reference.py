"""The text of docs/job-reference.md: everything that a check may ask, with signatures and docstrings as written.

tools/generate_docs.py writes it. docs/job.md, which is written by hand, is what to read first.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent

INTRODUCTION = """\
# Everything that a check may ask

[What a check may ask](job.md) is the part to read. This is the rest, to look things up in: the facts first, simple ones
at the top, then the functions that work something out for several checks. A check imports what it needs from the
module that is named above each list.
"""

# The modules that hold facts, simple ones first.
FACTS = (
    "job",
    "job.request",
    "job.steps",
    "job.srun",
    "job.geometry",
    "job.gpus",
    "job.exports",
    "job.launches",
    "job.launchers.model",
    "job.worlds",
    "job.ranks",
    "job.containers",
    "job.paths",
    "job.argv",
    "job.programs",
    "job.environment",
    "job.included_files",
    "job.once",
    "bash.trace",
    "bash.values",
    "bash.state",
    "bash.limits",
    "slurm.directives",
    "slurm.model",
    "slurm.versions",
    "site",
    "source.text",
    "source.lookups",
    "check",
    "triggers",
)
# The packages whose modules answer questions: each module, in the order of their names.
QUESTIONS = ("analysis", "slurm.grammar")


def reference() -> str:
    """The whole file."""
    package = griffe.load("sbatchlint", search_paths=[ROOT])
    assert isinstance(package, griffe.Module)
    parts = [INTRODUCTION, "## Facts\n"]
    for name in FACTS:
        parts.extend(module_part(package[name]))
    parts.append("## Questions that several checks ask\n")
    for name in QUESTIONS:
        for module in modules_below(package[name]):
            parts.extend(module_part(module))
    return "\n".join(parts).rstrip() + "\n"


def modules_below(module: griffe.Module) -> Iterator[griffe.Module]:
    """A module that defines something, and all modules below it."""
    if any(is_shown(member) for member in module.members.values()):
        yield module
    for _, below in sorted(module.modules.items()):
        yield from modules_below(below)


def module_part(module: griffe.Module) -> Iterator[str]:
    """A module: what it is about, its classes, its functions."""
    yield f"### {module.path}\n\n{docstring(module, every=True)}\n"
    shown = sorted(filter(is_shown, module.members.values()), key=lambda member: member.lineno or 0)
    for member in shown:
        if isinstance(member, griffe.Class):
            yield from class_part(member)
    functions = [f"- `{signature(member)}`{said(member)}\n" for member in shown if isinstance(member, griffe.Function)]
    if functions:
        yield "".join(functions)


def is_shown(member: griffe.Object | griffe.Alias) -> bool:
    """Whether this is a public class or function that is defined in its module."""
    return not member.is_alias and not member.name.startswith("_") and (member.is_class or member.is_function)


def class_part(found: griffe.Class) -> Iterator[str]:
    """A class: what it is, its attributes, and its methods."""
    yield f"**{found.name}**: {docstring(found, every=True)}\n"
    constructor = found.members.get("__init__")
    given = constructor.parameters if isinstance(constructor, griffe.Function) else ()
    types = {str(parameter.name): parameter.annotation for parameter in given}
    lines = []
    for name, member in found.members.items():
        if name.startswith("_") or member.is_alias:
            continue
        if isinstance(member, griffe.Function):
            lines.append(f"- `{signature(member)}`{said(member)}\n")
        elif isinstance(member, griffe.Attribute):
            annotation = member.annotation or types.get(str(member.value))
            lines.append(f"- `{name}{': ' + str(annotation) if annotation else ''}`{said(member)}\n")
    if lines:
        yield "".join(lines)


def signature(function: griffe.Function) -> str:
    """`name(job, step: Step) -> list[Launch]`, as the source has it; whoever reads this knows what a job is."""
    words = []
    for parameter in function.parameters:
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not any(word.startswith("*") for word in words):
            words.append("*")
        star = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(parameter.kind)
        annotation = "" if parameter.name == "job" or not parameter.annotation else f": {parameter.annotation}"
        default = "" if star or parameter.default is None else f" = {parameter.default}"
        words.append(f"{star or ''}{parameter.name}{annotation}{default}")
    return f"{function.name}({', '.join(words)}) -> {function.returns}"


def said(member: griffe.Object) -> str:
    text = docstring(member)
    return f": {text}" if text else ""


def docstring(member: griffe.Object, every: bool = False) -> str:
    """The first paragraph of a docstring on one line, or all of it as written."""
    text = inspect.cleandoc(member.docstring.value if member.docstring else "")
    return text if every else " ".join(re.split(r"\n\s*\n", text)[0].split())
