"""What of a script does not follow where its job has another number of nodes, or grows: `plan --nodes N`."""

from collections.abc import Iterator
from typing import Any

from sbatchlint.analysis.planning.plan import Plan
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.convert.sizes import grown_batch, nodes_of, stale_nodes
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex

# How Megatron divides the model: the processes left share the batch (megatron/training/arguments.py, core 0.12).
_PARTS = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
# Batches of all processes and of one, as programs name them; and how often one takes some for a step.
_OF_ALL = Regex(r"(?i)--?(?:global|total)[_-](?:train[_-])?batch(?:[_-]size)?")
_OF_ONE = Regex(r"(?i)--?(?:micro|(?:per[_-](?:gpu|device)[_-](?:train[_-])?))[_-]?batch(?:[_-]size)?")
_WHOLE, _MICRO = "global_batch_size", "micro_batch_size"


def misfits(before: Job, job: Job, old: Plan, plan: Plan, nodes: int) -> list[str]:
    """What does not follow or grows, a sentence each; `before`, `old`: the job as it is written, and its plan."""
    kept = _kept_nodes(job, nodes)
    found = [*stale_nodes(job, nodes, nodes_of(before))]
    found += _steps(old["steps"], plan["steps"], nodes) if kept is None else [kept]
    found += _sizes(before, job)
    found += _arrays(job, nodes)
    return list(dict.fromkeys(found))


def uneven_batches(job: Job) -> Iterator[str]:
    """To-dos for global batches of Megatron that the processes of a job do not divide, or models."""
    sized = [(each.launcher.program_words, each.size) for each in find_worlds(job)]
    launching = {id(each.invocation) for each in job.launches}
    for step in job.steps:
        leaves = (each for each in step.program if not each.children and id(each) not in launching)
        sized += [(each.argv, step.all_tasks) for each in leaves if step.all_tasks not in (None, 1)]
    for words, size in sized:
        found = "" if size is None else _of_megatron(job, words, size) or _uneven(job, words, size)
        if found:
            yield found


def _kept_nodes(job: Job, nodes: int) -> str | None:
    """What keeps the job from so many nodes, as a sentence; None where it gets them, or that is not known."""
    available = job.request.effective_nodes()
    if available is None or available.maximum >= nodes:
        return None
    setting, kept = job.request.setting("ntasks"), counted(available.maximum, "node")
    if setting is None or job.request.tasks != available.maximum:
        return f"the job stays on {kept}"
    return f"line {job.line(setting.span.start)}: --ntasks={job.request.tasks} keeps the job to {kept}"


def _steps(old: list[dict[str, Any]], new: list[dict[str, Any]], nodes: int) -> Iterator[str]:
    if len(old) != len(new):
        return
    for was, now in zip(old, new, strict=True):
        command, line = now["command"], now["line"]
        if command is None or was["command"] != command:
            continue
        if now["nodes"] is not None and now["nodes"] < nodes and now["nodes"] == was["nodes"] and now["nodes"] > 1:
            yield f"line {line}: {command} stays on {now['nodes']} of the {nodes} nodes"
        elif now["tasks"] is not None and now["tasks"] == was["tasks"] and now["tasks"] > 1:
            yield f"line {line}: {command} still starts {now['tasks']} tasks"


def _sizes(before: Job, job: Job) -> Iterator[str]:
    olds, news = ([*find_worlds(each)] for each in (before, job))
    if len(olds) != len(news):
        return
    for was, now in zip(olds, news, strict=True):
        if now.size is None or was.size == now.size:
            continue
        words = now.launcher.program_words
        megatron = _of_megatron(job, words, now.size)
        if megatron:
            yield megatron
            continue
        growth = grown_batch(job, now.invocation, words, was.size, now.size)
        if growth:
            yield f"line {job.line(now.launcher.span.start)}: {was.size} processes become {now.size}{growth}"
    yield from _world_sizes(before, job)


def _of_megatron(job: Job, words: Argv, size: int) -> str:
    """What is wrong with the global batch of Megatron for so many processes; "" if nothing is, or it is not known."""
    sizes, lines = {}, {}
    for option, value, field in program_options(words):
        name = option.lstrip("-").replace("-", "_")
        if name in (*_PARTS, _WHOLE, _MICRO):
            sizes[name], lines[name] = integer(value), job.line(span_of(field).start)
    if sizes.get(_WHOLE) is None or sizes.get(_MICRO) is None or None in sizes.values():
        return ""
    parts = 1
    for name in _PARTS:
        parts *= sizes.get(name) or 1
    if size % parts:
        line = next(lines[name] for name in _PARTS if name in lines)
        return f"line {line}: {size} processes do not divide into parts of {parts}, as the model is divided"
    whole, micro, replicas = sizes[_WHOLE] or 0, sizes[_MICRO] or 0, size // parts
    if micro and whole % (micro * replicas):
        counts = f"{micro} × {replicas} replicas of the model"
        return f"line {lines[_WHOLE]}: a global batch of {whole} is not a multiple of {counts}"
    return ""


def _uneven(job: Job, words: Argv, size: int) -> str:
    """What is wrong with a whole batch beside that of a process, where nothing divides the model; "" if nothing is."""
    sizes: dict[Regex, tuple[int, str, int]] = {}
    for option, value, field in program_options(words):
        name = option.lstrip("-").replace("-", "_")
        if name in _PARTS:
            return ""
        for kind in (_OF_ALL, _OF_ONE):
            if kind.fullmatch(option) and (number := integer(value)):
                sizes[kind] = number, option, job.line(span_of(field).start)
    if len(sizes) < 2:
        return ""
    (whole, option, line), (one, other, _) = sizes[_OF_ALL], sizes[_OF_ONE]
    if whole % (one * size) == 0:
        return ""
    return f"line {line}: {option} {whole} is not a multiple of {other} {one} × {size} processes"


def _world_sizes(before: Job, job: Job) -> Iterator[str]:
    """WORLD_SIZEs of tasks that were right for the job as it is written."""
    for was, now in zip(before.steps, job.steps, strict=False):
        old, new = was.all_tasks, now.all_tasks
        if old is None or new is None or old == new or _has_launcher(job, now.invocation):
            continue
        for command in (now.invocation, *now.program):
            value = exported(command, "WORLD_SIZE")
            if value is not None and integer(value) == old:
                line = job.line(span_of(value).start)
                yield f"line {line}: WORLD_SIZE stays {text_of(value)}, and there are {new} tasks"
                break


def _has_launcher(job: Job, command: Invocation) -> bool:
    return any(each.step is not None and each.step.invocation is command for each in job.launches)


def _arrays(job: Job, nodes: int) -> Iterator[str]:
    value = job.request.value("array")
    if value:
        yield f"each element of --array={value} takes {nodes} nodes"
