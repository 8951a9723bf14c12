"""The text of docs/job.md: what a check may ask, from signatures and docstrings. tools/generate_docs.py writes it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

INTRODUCTION = """\
# What a check may ask

A check gets a `Job` and asks it. Facts come first: what a job, a step, a launch or a command is. Then come the
functions that work something out for several checks. `python tools/show_job.py SCRIPT` prints most of it for a script.

`None` among the results means not known, unless the text says otherwise: then a check is silent. `Pieces` is a word of
a command, piece by piece; `text_of` gives its text, or None where a piece of it is unknown. A `Span` is a place in the
file, however the text got where it runs.

A check imports what it asks at its top, from the module that stands above each list.

## The first questions

| | |
|---|---|
| the value of an option of the job; None: not given, or not known | `job.request.text("partition")` |
| where it is written | `job.request.given("partition").span` |
| whether it is given at all | `job.request.asked("partition")` |
| nodes of the job, tasks on each | `job.request.exact_nodes()`, `job.request.tasks_on_each_node()` |
| every `sleep` that would run | `[each for each in job.invocations if each.name == "sleep"]` |
| a word of a command; None: not known | `text_of(command.argv[1])` |
| where this word is written | `span_of(command.argv[1])` |
| whether the batch shell runs it, or each task | `command.phase is Phase.BATCH`, `command.phase is Phase.TASK` |
| whether it only runs if some test says so | `depends_on_test(command)` |
| whether it runs in a loop, in the background | `command.context.looped`, `command.context.background` |
| in which shell process, in which loops | `command.context.shell`, `command.context.loops` |
| what it is started by, and what it starts | `command.parent`, `command.children` |
| a variable in its environment, set by the script | `exported(command, "MASTER_ADDR")` |
| the step in whose tasks it runs, its container | `step_around(command.context)`, `container_of(command)` |
| the steps, and how large each is | `job.steps`, `step.nodes`, `step.tasks_per_node` |
| an option of its srun | `step.option("ntasks")` |
| all commands that run in its tasks | `step.program` |
| launchers, their kind | `job.launches`, `launch.launcher.kind` |
| an option of a launcher, also from the environment | `launch.launcher.setting("nproc_per_node")` |
| how many processes are to find each other | `find_worlds(job)`, `world.nodes`, `world.size` |
| the batch scripts inside the script | `job.submits` |
| for which releases it is asked | `job.versions` |
| the statements of the script, and how many commands ran before each | `job.program.statements`, `job.reached` |
| whether some of the script was not looked at (a card may say `whole_script=True`) | `job.limits.exhausted` |
"""

# Facts, primitives first: a title, the module, and what of it is shown (None: all that is public).
FACTS: list[tuple[str, str, tuple[str, ...] | None]] = [
    ("Job", "sbatchlint.job", ("Job",)),
    ("Request", "sbatchlint.job.request", None),
    ("Step", "sbatchlint.job.steps", None),
    ("Words of an srun", "sbatchlint.job.srun", None),
    ("Nodes and tasks of a step", "sbatchlint.job.geometry", None),
    ("GPUs of a step", "sbatchlint.job.gpus", None),
    ("The environment of a step's tasks", "sbatchlint.job.exports", None),
    ("Launch", "sbatchlint.job.launches", None),
    ("Launcher", "sbatchlint.job.launchers.model", None),
    ("World", "sbatchlint.job.worlds", None),
    ("Ranks", "sbatchlint.job.ranks", None),
    ("Container", "sbatchlint.job.containers", None),
    ("Paths", "sbatchlint.job.paths", None),
    ("Commands", "sbatchlint.bash.trace", None),
    ("Commands of a program", "sbatchlint.job.programs", None),
    ("Words and their values", "sbatchlint.bash.values", None),
    ("Words of a command line", "sbatchlint.job.argv", None),
    ("Variables of a shell", "sbatchlint.bash.state", ("State", "Variable", "Alternative", "merge_guards")),
    ("The environment of the job's shells", "sbatchlint.job.environment", None),
    ("Directives", "sbatchlint.slurm.directives", ("Directives", "Setting", "Directive")),
    ("Releases of Slurm", "sbatchlint.slurm.versions", ("Range",)),
    ("Site", "sbatchlint.slurm.site", None),
    ("Text and places", "sbatchlint.source.text", ("Span", "Position", "Source")),
    ("Files beside the script", "sbatchlint.job.included_files", None),
    ("Bounds of the evaluation", "sbatchlint.bash.limits", ("Limits", "Limit")),
    (
        "What is there beside the script",
        "sbatchlint.source.lookups",
        (
            "exists",
            "is_file",
            "is_folder",
            "is_same_file",
            "real_path",
            "names_in",
            "read",
            "program",
            "doubt",
        ),
    ),
    ("Answers kept for a job", "sbatchlint.job.once", None),
]
FINDINGS = ("Card", "Option", "Finding", "Fix", "Edit", "Bad", "Good", "insert", "remove", "replace", "corrected")


def reference() -> str:
    """The whole file."""
    parts = [INTRODUCTION, "## Facts\n"]
    for title, name, shown in FACTS:
        module = importlib.import_module(name)
        parts.append(f"### {title}\n\n`{name}`\n")
        parts.extend(members(module, shown))
    parts.append("## Questions that several checks ask\n")
    for subject in subjects():
        parts.extend(subject_part(subject))
    parts.append("## Values of options\n")
    parts.extend(subject_part(importlib.import_module("sbatchlint.slurm.grammar")))
    parts.append("## Findings, fixes and cases\n\n`sbatchlint.check`\n")
    parts.extend(members(importlib.import_module("sbatchlint.check"), FINDINGS))
    parts.append("## Triggers\n\n`sbatchlint.triggers`\n")
    parts.extend(trigger_part(importlib.import_module("sbatchlint.triggers")))
    return "\n".join(parts).rstrip() + "\n"


def subjects() -> list[ModuleType]:
    """The folders of sbatchlint/analysis."""
    package = importlib.import_module("sbatchlint.analysis")
    names = sorted(each.name for each in pkgutil.iter_modules(package.__path__) if each.ispkg)
    return [importlib.import_module(f"sbatchlint.analysis.{name}") for name in names]


def subject_part(package: ModuleType) -> Iterator[str]:
    """The modules of one subject, with their public functions."""
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}")
        for each in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name)
    ]
    if not modules:
        return
    if package.__name__.startswith("sbatchlint.analysis"):
        yield f"### {package.__name__.rpartition('.')[2].capitalize()}\n"
    if package.__doc__:
        yield f"{paragraph(package.__doc__)}\n"
    for module in modules:
        if public(module):
            yield f"`{module.__name__}`: {paragraph(module.__doc__ or '')}\n"
            yield from members(module, None)


def members(module: ModuleType, shown: tuple[str, ...] | None) -> Iterator[str]:
    """The classes and functions of a module, in the order in which they stand there."""
    functions = []
    for each in public(module):
        if shown is not None and each.__name__ not in shown:
            continue
        if isinstance(each, type):
            yield from class_part(each)
        else:
            functions.append(f"- `{signature(each)}`{said(each)}\n")
    if functions:
        yield "".join(functions)


def trigger_part(module: ModuleType) -> Iterator[str]:
    yield f"{paragraph(module.__doc__ or '', every=True)}\n"
    yield "| | |\n|---|---|"
    for each in public(module):
        if each.__base__.__name__ == "Trigger":
            yield f"| `{each.__name__}` | {paragraph(each.__doc__)} |"
    yield ""


def public(module: ModuleType) -> list[Any]:
    """The public classes and functions that a module defines itself, or names in `__all__`."""
    exported = getattr(module, "__all__", None)
    found = []
    for name, value in vars(module).items():
        if hasattr(value, "cache_info"):
            value = value.__wrapped__
        of_module = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not isinstance(value, (type, FunctionType)) or value.__name__ != name:
            continue
        if of_module if exported is None else name in exported:
            found.append(value)
    return sorted(found, key=position) if exported is None else found


def position(value: Any) -> int:
    """The line on which something is defined."""
    try:
        return inspect.getsourcelines(inspect.unwrap(value))[1]
    except (OSError, TypeError):
        return 0


def class_part(value: type) -> Iterator[str]:
    """A class: what it is, its fields, and its methods."""
    fields = getattr(value, "_fields", ())
    yield f"**{value.__name__}**{'(' + ', '.join(fields) + ')' if fields else ''}: {text_of_class(value)}\n"
    lines = []
    for name, member in own_members(value):
        if isinstance(member, property):
            result = annotation(inspect.signature(member.fget).return_annotation) if member.fget else ""
            lines.append(f"- `{name}` → `{result}`{said(member.fget)}\n")
        else:
            lines.append(f"- `{signature(member, method=True)}`{said(member)}\n")
    if lines:
        yield "".join(lines)


def own_members(value: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties; those that a base of ours defines come with it."""
    for name, member in vars(value).items():
        if name.startswith("_") or name in getattr(value, "_fields", ()):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            member = member.__func__
        if isinstance(member, cached_property):
            member = property(member.func)
        if isinstance(member, (property, FunctionType)):
            yield name, member


def text_of_class(value: type) -> str:
    text = inspect.cleandoc(value.__doc__ or "")
    return "" if text.startswith(f"{value.__name__}(") else text  # made by NamedTuple


def signature(function: Any, method: bool = False) -> str:
    """`name(job: Job) -> list[Step]` on one line."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())
    if method and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    words = [parameter(each) for each in parameters]
    keywords = [index for index, each in enumerate(parameters) if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if keywords:
        words.insert(keywords[0], "*")
    shown = ", ".join(words)
    return f"{function.__name__}({shown}) -> {annotation(found.return_annotation)}"


def parameter(value: inspect.Parameter) -> str:
    """A parameter as it is written; whoever reads this knows what a job is."""
    if value.name == "job":
        return "job"
    kind = "" if value.annotation is inspect.Parameter.empty else f": {annotation(value.annotation)}"
    if value.default is inspect.Parameter.empty:
        return f"{value.name}{kind}"
    # of a function its name: what Python prints for one holds an address
    default = value.default.__name__ if inspect.isfunction(value.default) else repr(value.default)
    return f"{value.name}{kind} = {default}"


def annotation(value: Any) -> str:
    if value is inspect.Signature.empty:
        return "None"
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def said(function: Any) -> str:
    text = paragraph(function.__doc__ or "")
    return f": {text}" if text else ""


def paragraph(docstring: str, every: bool = False) -> str:
    """The first paragraph of a docstring, or every one, on one line."""
    text = inspect.cleandoc(docstring)
    return " ".join((text if every else re.split(r"\n\s*\n", text)[0]).split())
