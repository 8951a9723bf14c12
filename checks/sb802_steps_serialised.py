"""Steps run one after another: each claims what the others need, although they start together.

What a step claims is its alone, and another step that needs some of it waits: `step creation temporarily disabled,
retrying (Requested nodes are busy)`, in the log of the job. By default a step claims all CPUs of the job on each of its
nodes, however few tasks it starts; with `--exact` or its own `--cpus-per-task` only those of its tasks. A step also
claims the job's memory and GPUs on its nodes, unless its srun asks for less. So `srun -n1 ./a & srun -n1 ./b &` runs
one after the other, and takes twice the time; after a monitor or a server in the background, which does not end, the
next step never begins; nor does one on all nodes beside a server on one of them. From 23.11 on the job's own
`--cpus-per-task` also has the effect of `--exact`, from 22.05 to 23.02 it does not.

`--overlap` lets a step share everything with others: right for a monitor, wrong for two programs that compute.

Steps that run one after another in the foreground, each with the same program in a part of the job, leave the rest of
the job idle; nothing is reported where one could need what another has created.

A warning, as the work is done, only later; an error where a step never starts because one that does not end has its
resources.

## Fix

Adds `--exact`, and the step's part of the memory; `-c 4` too where the script gives each task four threads, which would
share one CPU otherwise. Unsafe, as it may have been meant to queue. None where the number of threads is not known, or
the job has too few CPUs for all.

## References

srun(1), --exact and --overlap; src/srun/launch.c and src/slurmctld/step_mgr.c of 22.05 to 26.05; live runs of 22.05;
https://github.com/radical-cybertools/radical.pilot/issues/2620
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.background import enclosing_loops, is_started_again
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.loops import loop_counts
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.threads import threads_of
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.job.request import Request
from sbatchlint.job.step_cpus import cpus_in_all, cpus_per_task
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Steps

CARD = Card(
    "SB802", "steps-serialised", severity="error", fix="sometimes", since="0.1.0",
    when=Steps(), seen="live runs of Slurm 22.05", batch=True, certain=True, homogeneous=True,
)  # fmt: skip

# Commands that end or await something in the background.
ENDING = programs_with("kills") | {"wait"}
PLACING = ("nodelist", "exclude", "relative", "nodefile")
_OF_OTHER_NODES = frozenset((*PLACING, "overlap"))
_MOST_CPUS = 64  # of a job that is taken to run on one node
_MOST = 8  # the number of simultaneous steps that are compared with each other
# A loop over the nodes of the job, one step on each.
_OVER_NODES = Regex(r"(?i)node|host")
_JOBS = Regex(r"(?:^|\s)(?:-j|-P|--jobs|--max-procs)[= ]?(\S+)")
# Programs that run until they are stopped.
_ENDLESS = Regex(
    r"nvidia-smi (?:dmon|pmon|.*(?:-l\b|-lms\b|--loop))|dcgmi dmon|tail (?:-\w*[fF]|--follow)|watch |sleep inf|nvtop"
    r"|top -b(?!.*-n)|(?:vmstat|iostat|mpstat|sar) \d+$|htop"
)
_ENDLESS_LOOP = Regex(r"while\s+(?:true|:)\b|until\s+false\b")
_NODE_LIST = Regex(r"(?:-w|--nodelist)(?:=|\s*)([^\s;&|]+)")
# Words that suggest that one run continues where another has ended.
_IN_ORDER = Regex(r"(?i)stage|phase|step|part|resume|restart|continu|checkpoint|ckpt|load|init|input|from")


# --- the claims of a step ----------------------------------------------------------------------------
#
# `launch_common_create_job_step()` of src/srun/launch.c and `_pick_step_nodes()` of src/slurmctld/step_mgr.c, 22.05 to
# 26.05; live runs of 22.05.

_EXACT = ("exact", "exclusive", "cpus-per-task", "cpus-per-gpu")
# Variables by which the script itself changes what a step claims, and options that are not modelled here.
_CHANGING = (
    "SLURM_OVERLAP", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SLURM_WHOLE", "SLURM_STEP_GRES", "SLURM_GRES",
    "SLURM_MEM_PER_CPU", "SLURM_JOB_NUM_NODES",
)  # fmt: skip
_UNCLEAR = ("het-group", "jobid", "overcommit", "cpus-per-gpu", "mem-per-gpu", "tres-per-task", "immediate")
_MORE_CPUS = ("exclusive", "overcommit", "hint", "threads-per-core", "mincpus", "gpus", "gres", "cpus-per-gpu")


class _Claim(NamedTuple):
    """What a step claims for itself alone. `cpus`: of all its tasks; None: all on its nodes; 0: unknown.

    `memory`: megabytes on each node; `gpus`: on each node; 0: none, or unknown.
    """

    cpus: int | None
    memory: int
    gpus: int


class _Resources(NamedTuple):
    """The job's resources: nodes, CPUs in total, memory (megabytes) and GPUs on each node; 0: unknown."""

    nodes: int
    cpus: int
    memory: int
    gpus: int


def _resources_of(job: Job) -> _Resources:
    request = job.request
    # more CPUs than a node has bring more nodes
    tasks = request.effective_tasks() or 1
    several = tasks > 1 and max(_cpus_of(request), tasks * (whole(request.value("cpus-per-task")) or 1)) > _MOST_CPUS
    nodes = job_nodes(request) or (0 if request.has_option("nodes") or several else 1)
    memory = request.memory
    return _Resources(
        nodes,
        _cpus_of(request),
        (memory.megabytes or 0) if memory is not None and memory.per == "node" else 0,
        request.gpus_per_node() or (request.gpus.total or 0 if nodes == 1 else 0),
    )


def _cpus_of(request: Request) -> int:
    """The number of CPUs of the job; 0 where it is unknown."""
    cpus, tasks = cpus_in_all(request), request.effective_tasks()
    if cpus is not None:
        return cpus[0]
    if not tasks or not request.has_option("mem-per-cpu") or request.has_any_option(_MORE_CPUS):
        return 0
    number = tasks * (whole(request.value("cpus-per-task")) or 1)
    return number + number % 2


@once
def _claim_of(job: Job, step: Step, total: _Resources, version: str, exact: bool) -> _Claim | None:
    """What a step claims in a release; None where that is unknown. `exact`: as if it had --exact."""
    options, request, command = step.options, step.request, step.invocation
    if not step.certain or step.in_other_job or any(name in options or request.has_option(name) for name in _UNCLEAR):
        return None
    if any(map(command.gets, _CHANGING)):
        return None
    wanted = cpus_per_task(step, version)
    if wanted.number is None or wanted.conflict:
        return None
    cpus: int | None = None
    if exact or wanted.number or any(name in options for name in _EXACT):
        cpus = (step.tasks or 0) * (wanted.number or 1)
    memory = total.memory
    if "mem" in options:
        memory = megabytes(options["mem"].text) or 0
    elif "mem-per-cpu" in options or command.state.variables.get("SLURM_MEM_PER_NODE") is not None:
        memory = 0
    return _Claim(cpus, memory, (step_gpus(job, step).on_node or 0) if total.gpus else 0)


def _clash(first: _Claim, second: _Claim, total: _Resources) -> set[str]:
    """The resources of which two steps on one node claim more than there are."""
    found = set()
    if first.cpus is None or second.cpus is None:
        found.add("whole")
    elif total.cpus and first.cpus and second.cpus and first.cpus + second.cpus > total.cpus:
        found.add("cpus")
    if total.memory and first.memory and second.memory and first.memory + second.memory > total.memory:
        found.add("memory")
    if total.gpus and first.gpus and second.gpus and first.gpus + second.gpus > total.gpus:
        found.add("gpus")
    return found


class Started(NamedTuple):
    """A step that may still run. `again`: whether it starts several times, by a loop or by `by` (parallel, xargs)."""

    step: Step
    again: bool
    by: Invocation | None = None

    @property
    def place(self) -> Span:
        return self.step.place if self.by is None else self.by.name_span


def check(job: Job) -> Iterator[Finding]:
    yield from _in_a_row(job)
    if not any(each.invocation.context.background or each.invocation.parent for each in job.steps):
        return  # each waits for the one before it
    total = _resources_of(job)
    steps = {id(step.invocation): step for step in job.steps}
    groups: dict[int, dict[Span, Started]] = {}  # by the shell, then by the place of the step
    busy: set[int] = set()  # ids of background statements that did other work before
    for command in job.invocations:
        if command.name in ENDING and command.phase is Phase.BATCH and not depends_on_test(command):
            yield from _finding(job, total, groups.pop(id(command.context.shell), {}).values())
        elif command.name == "wait" and len(command.argv) == 1 and command.phase is Phase.BATCH:
            # in a branch: those that the same branch has started have ended
            running = groups.get(id(command.context.shell), {})
            ended = [place for place, each in running.items() if not depends_on_test(command, each.step.invocation)]
            if ended:
                throttled = any("-n" in each.words for each in commands_named(job, "wait"))  # as many as are meant
                found = [] if throttled else list(_finding(job, total, running.values()))
                yield from found
                for place in list(running) if found else ended:
                    del running[place]
        step, background = steps.get(id(command)), command.context.background
        if step is None and background is not None and command.parent is None and not command.calls_function:
            if weight(job, command) > Weight.NONE:
                busy.add(id(background))
        if step is None or command.phase is not Phase.BATCH or command.context.handler or command.context.captured:
            continue
        if step.program and all(each.name in BUILTINS or has_trait(each.name, "quick") for each in step.program):
            continue  # `srun cd run && mpirun …`: the step is over at once
        by = _several_at_once(command)
        if by is not None:
            yield from _finding(job, total, [Started(step, True, by)])
        elif background is None:
            group = groups.get(id(command.context.shell.awaiting))
            if group and not command.context.loops:
                last = [*islice(reversed(group.values()), _MOST)]
                found = list(_finding(job, total, [*reversed(last), Started(step, False)], only_last=True))
                yield from found
                if found:
                    group.clear()
        elif background.parent is not None and id(background) not in busy:
            group = groups.setdefault(id(background.parent), {})
            known = group.get(step.place)
            if known is None:
                group[step.place] = Started(step, is_started_again(job, command, background))
            elif _is_called_again(known.step, step):
                group[step.place] = Started(step, True)
    for group in groups.values():
        yield from _finding(job, total, group.values())


def _is_called_again(first: Step, later: Step) -> bool:
    """Whether another background statement starts the same step of a function again."""
    one, other = first.invocation, later.invocation
    if one.context.background is None or other.context.background is None:
        return False
    apart = one.context.background.span != other.context.background.span
    return apart and merge_guards(one.guards, other.guards) is not None


def _several_at_once(command: Invocation) -> Invocation | None:
    """The enclosing command that starts it several times at once: parallel, or xargs with -P."""
    for ancestor in command.ancestors():
        if has_trait(ancestor.name, "repeats"):
            words = " ".join(ancestor.words[1:12])
            jobs = _JOBS.search(words)
            number = None if jobs is None else jobs.group(1)
            if number == "1" or ancestor.name == "xargs" and number is None or "--sshlogin" in words:
                return None
            return ancestor
    return None


# --- steps at the same time -------------------------------------------------------------------------------


def _finding(job: Job, total: _Resources, started: Iterable[Started], *, only_last: bool = False) -> Iterator[Finding]:
    """The finding on the first step that has to wait for another, in a group started before any is awaited."""
    group = list(islice(started, _MOST + 1))
    for at, later in enumerate(group):
        if only_last and at < len(group) - 1:
            continue
        for first in group[: at + 1] if later.again else group[:at]:
            releases = _reasons(job, first, later, group, total)
            if releases:
                reasons = set.union(*releases.values())
                if first.step is later.step and _starts_all_each_time(job, first.step):
                    return  # serial-under-srun reports it, with the options for both
                yield _report(job, total, group, first, later, tuple(releases), reasons)
                return


def _reasons(job: Job, first: Started, later: Started, group: list[Started], total: _Resources) -> dict[str, set[str]]:
    """The resources for which one step has to wait for another, by release, where that is certain."""
    same = first.step is later.step
    if "overlap" in first.step.options or "overlap" in later.step.options:
        return {}
    if not same and merge_guards(first.step.invocation.guards, later.step.invocation.guards) is None:
        return {}
    one_node, together = _is_one_node(job, total, first, later), group[: group.index(later) + 1]
    # what never ends keeps its part of some node, and the other step needs each of the nodes
    one_node = one_node or not same and _covers_job(later.step, total) and _never_ends(job, first.step)
    one_node = one_node or _covers_job(first.step, total) and _covers_job(later.step, total)
    counts = _run_counts(job, group, together) if total.nodes > 1 and not one_node else []
    if not one_node and sum(number * (each.step.nodes or 0) for number, each in zip(counts, together)) <= total.nodes:
        return {}  # each has a node of its own
    releases: dict[str, set[str]] = {}
    for version in job.versions.majors:
        one, other = (_claim_of(job, each.step, total, version, False) for each in (first, later))
        reasons = None if one is None or other is None else _clash(one, other, total)
        fits = one_node or _only_looks(later.step) or _would_fit(job, total, together, counts, version)
        if reasons and fits:
            releases[version] = reasons
    return releases


def _covers_job(step: Step, total: _Resources) -> bool:
    """Whether a step runs on all nodes of the job."""
    return total.nodes > 1 and step.nodes == total.nodes and _OF_OTHER_NODES.isdisjoint(step.options)


def _is_one_node(job: Job, total: _Resources, first: Started, later: Started) -> bool:
    """Whether two steps certainly run on the same node."""
    placed = [each.step.option(name) for each in (first, later) for name in PLACING if name in each.step.options]
    if not placed:
        if total.nodes != 1 or job.request.has_option("nodes"):
            return total.nodes == 1
        # the command line of sbatch says how many, where a step is told a part of them
        parts = [each.step.option("nodes") for each in (first, later)]
        over_nodes = any(_OVER_NODES.search(header) for each in (first, later) for header in _headers(job, each))
        return not over_nodes and all(each is None or each.text == "1" for each in parts)
    if first.step is later.step or [each.name for each in placed if each is not None] != ["nodelist"] * 2:
        return False
    words = [_NODE_LIST.match(job.source.text, each.span.start) for each in placed if each is not None]
    if len(words) != 2 or words[0] is None or words[1] is None or words[0].group(1) != words[1].group(1):
        return False
    before, after = first.step.invocation.state.variables, later.step.invocation.state.variables
    return all(before.get(name) is after.get(name) for name in re.findall(r"\$\{?(\w+)", words[0].group(1)))


def _headers(job: Job, started: Started) -> list[str]:
    background = started.step.invocation.context.background
    if background is None:
        return []
    loops = enclosing_loops(started.step.invocation, background)
    return [job.source.slice(each).partition("\n")[0].partition(";")[0] for each in loops]


def _run_counts(job: Job, group: list[Started], together: list[Started]) -> list[int]:
    """How many times each of these steps runs when the last one starts; empty where their nodes are unknown."""
    if not all(_OF_OTHER_NODES.isdisjoint(each.step.options) for each in group):
        return []
    counts: list[int] = []
    for started in together:
        if started.step.nodes is None:
            return []
        number = 1
        if started.again:
            header = "".join(_headers(job, started))
            if "SLURM_NTASKS" not in header or "PER_NODE" in header:
                return []
            number = job.request.effective_tasks() or 0
        counts.append(number)
    return counts


def _only_looks(step: Step) -> bool:
    """Whether a step only inspects nodes, which is meant to happen beside the work."""
    leaves = [each for each in step.program if not each.children]
    return bool(leaves) and all(has_trait(each.name, "looks") for each in leaves)


def _would_fit(job: Job, total: _Resources, together: list[Started], counts: list[int], version: str) -> bool:
    """Whether the job has enough CPUs for what these steps need."""
    cpus = 0
    for number, started in zip(counts, together):
        needed = _claim_of(job, started.step, total, version, True)
        if needed is None or not needed.cpus:
            return False
        cpus += number * needed.cpus
    return 0 < cpus <= total.cpus


def _report(
    job: Job, total: _Resources, group: list[Started], first: Started, later: Started, releases: tuple[str, ...],
    reasons: set[str],
) -> Finding:  # fmt: skip
    setting = job.request.setting("mem")
    claimed = []
    if "whole" in reasons or "cpus" in reasons:
        claimed.append("all CPUs of the job" if total.nodes == 1 else "all the job's CPUs on its node")
    if "memory" in reasons and setting is not None:
        claimed.append(f"the whole `{setting.as_written}` (line {job.line(setting.span.start)})")
    if "gpus" in reasons:
        claimed.append(all_of(total.gpus, "GPU"))
    when = job.versions.suffix(releases).strip()
    severity = "warning"
    if later.by is not None:
        happens = f"the steps that {later.by.name} starts run one after another"
    elif first.step is later.step:
        steps = "the steps of this loop" if later.step.invocation.context.loops else "the steps of this function"
        happens = f"{steps} run one after another"
        if total.nodes > 1 and not _covers_job(first.step, total):
            happens = f"only {total.nodes} of {steps} run at a time"
    elif _never_ends(job, first.step):
        happens = f"this step never starts, as the one on line {job.line(first.place.start)} does not end"
        severity = "warning" if depends_on_test(first.step.invocation) else "error"
    else:
        happens = f"this step waits until the one on line {job.line(first.place.start)} ends"
    looks = _only_looks(later.step)
    beside = first.step is not later.step and _covers_job(later.step, total) and _never_ends(job, first.step)
    options = [] if looks or beside else _advice(job, total, group, first, later, releases[-1], reasons)
    threads = _threads(job, group, releases[-1]) if "--exact" in options else 1
    needed = sum((each.step.tasks or 0) * (threads or 1) for each in (first, later))
    short = threads != 1 and 0 < total.cpus < needed
    if threads is not None and threads > 1:
        options[1:1] = [f"-c {threads}"]
    # srun refuses both together, from 21.08 on
    instead = " instead of `--exclusive`" if "exclusive" in later.step.options else ""
    if "whole" in reasons and total.nodes == 1 and _is_for_one(job) and not beside and not looks:
        when, happens, claimed, options = "", f"the job requests one CPU, so {happens}", [], []
        advice = "request `--ntasks=N` to run N at a time, with `--exact`"
    elif options:
        unsure = short or "whole" in reasons and not total.cpus and job.request.exclusive is None
        advice = f"add `{' '.join(options)}` to each srun" + (", and request enough CPUs for all" if unsure else "")
    elif looks:
        advice = f"add `--overlap`{instead} to it"
    elif beside:
        advice = "add `--overlap`, or `--exclude` the other's node"
    elif first.step is later.step:
        more, own = "GPUs" if reasons == {"gpus"} else "CPUs", " --gres=gpu:1" if "gpus" in reasons else ""
        advice = f"request more {more}, and add `--exact{own}` to each srun"
    elif all((each.step.tasks or 0) > 1 for each in (first, later)):
        advice = "give each fewer tasks, and `--exact`"
    else:
        advice = f"add `--overlap`{instead} to one of them"
    claims = f": each claims {' and '.join(claimed)}" if claimed else ""
    message = f"{when + ' ' if when else ''}{happens}{claims}; {advice}"
    return Finding(
        later.place,
        message if len(message) <= MOST else re.sub(r" \(line \d+\)", "", message),
        severity,
        related=[] if first.step is later.step else [(first.place, "runs until then")],
        fix=None if short or threads is None else _fix(job, group, options),
        versions=releases,
    )


def _is_for_one(job: Job) -> bool:
    """Whether the job requests one task of one CPU: Slurm allocates a core, which may count as two."""
    request = job.request
    one_cpu = (whole(request.value("cpus-per-task")) or 1) == 1
    return one_cpu and cpus_in_all(request) is not None and request.effective_tasks() == 1


def _starts_all_each_time(job: Job, step: Step) -> bool:
    """Whether a loop starts as many steps as the job has tasks, and each of them all tasks."""
    background, tasks = step.invocation.context.background, step.tasks
    if background is None or not tasks or tasks < 2 or tasks != job.request.effective_tasks():
        return False
    if {"ntasks", "nodes", "ntasks-per-node", "multi-prog", "overlap"} & step.options.keys():
        return False
    loops = enclosing_loops(step.invocation, background)
    return len(loops) == 1 and loop_counts(job).get(loops[0]) == tasks


def _never_ends(job: Job, step: Step) -> bool:
    """Whether a step clearly runs until it is stopped: a monitor, a server, or an endless loop."""
    leaves = [each for each in step.program if not each.children]
    if any(_ENDLESS.match(" ".join(each.words)) or server_name(each) is not None for each in leaves):
        return True
    loops = {loop for each in leaves for loop in each.context.loops}
    endless = {loop for loop in loops if _ENDLESS_LOOP.match(job.source.text, loop.start)}
    inside = [each for each in leaves if not endless.isdisjoint(each.context.loops)]
    return bool(inside) and all(has_trait(each.name, "looks") or each.name == "tee" for each in inside)


def _advice(
    job: Job, total: _Resources, group: list[Started], first: Started, later: Started, version: str, reasons: set[str]
) -> list[str]:
    """The options with which each step claims only its part; empty where the steps would not fit even then."""
    number = len(group)
    if any(each.again for each in group):
        iterations = later.step.invocation.alternatives
        number = iterations if iterations > 1 else max(job.request.effective_tasks() or 0, 2)
    options = []
    if reasons & {"whole", "cpus"}:
        claims = [_claim_of(job, each.step, total, version, True) for each in (first, later)]
        needed = sum(each.cpus or 0 for each in claims if each is not None)
        if "cpus" in reasons or total.cpus and needed > total.cpus:
            return []
        options.append("--exact")
    if reasons & {"memory", "gpus"} and len({each.step.tasks for each in group}) > 1:
        return []  # equal parts would not suit steps of different sizes
    if "memory" in reasons:
        part = total.memory // max(-(-number // total.nodes), 2)
        options.append(f"--mem={part // 1024}G" if part % 1024 == 0 and part else f"--mem={part}M")
    if "gpus" in reasons:
        part = total.gpus // max(-(-number // total.nodes), 2)
        if not part:
            return []
        name = next((each for each in ("gpus-per-node", "gpus") if job.request.has_option(each)), None)
        options.append(f"--gres=gpu:{part}" if name is None else f"--{name}={part}")
    return options


def _threads(job: Job, group: list[Started], version: str) -> int | None:
    """How many threads each task of these steps has, where it would get one CPU; None where that is not known."""
    found = {threads_of(job, each.step) for each in group if not cpus_per_task(each.step, version).number}
    if found == {1} or not found:
        return 1
    alike = len(found) == 1 and not any("cpus-per-task" in each.step.options for each in group)
    return found.pop() if alike else None


def _fix(job: Job, group: list[Started], options: list[str]) -> Fix | None:
    if not options:
        return None
    steps = [each.step for each in group]
    return with_step_option(job, steps, " ".join(options), "let each step claim only its part", ("ntasks", "nodes"))


# --- one after the other ---------------------------------------------------------------------------------


def _in_a_row(job: Job) -> Iterator[Finding]:
    """Findings on runs of one program, each in one task and as many as the job has tasks: they could run at once."""
    tasks = job.request.effective_tasks() if len(job.steps) > 1 else None
    if tasks is None or tasks < 2 or len(job.steps) < tasks:
        return
    row: list[Step] = []
    after = -1
    for step in job.steps:
        command = step.invocation
        between = job.invocations[after + 1 : command.index]
        goes_on = row and _is_alike(row[-1], step) and not any(weight(job, each) > Weight.NONE for each in between)
        if not goes_on:
            yield from _of_row(job, row, tasks)
            row = []
        if _is_plain(step):
            row.append(step)
        after = max([command.index, *(each.index for each in step.program)])
    yield from _of_row(job, row, tasks)


def _of_row(job: Job, row: list[Step], tasks: int) -> Iterator[Finding]:
    if len(row) == tasks:
        yield Finding(
            row[1].place,
            f"this step starts only after line {job.line(row[0].place.start)}, and the rest of the job stays idle; add "
            "`&`, `--exact` and `--mem` to each, and `wait` at the end",
            "warning",
            related=[(each.place, "runs after it") for each in row if each is not row[1]][:3],
        )


def _is_plain(step: Step) -> bool:
    """Whether a step of one task runs in the foreground of the script, once."""
    context = step.invocation.context
    if context.background is not None or context.loops or context.handler or context.captured or context.tested:
        return False
    if context.shell.kind != "script" or context.parent is not None or context.conditional:
        return False
    return step.tasks == 1 and "ntasks" in step.options and step.certain and step.invocation.alternatives == 1


def _is_alike(first: Step, second: Step) -> bool:
    """Whether two steps run one program with different arguments, and the second does not continue the first."""
    if not _is_plain(second) or len(first.program) != 1 or len(second.program) != 1:
        return False
    (one,), (other,) = first.program, second.program
    beginning = [text_of(field) for field in one.argv[:2]]
    if len(one.argv) != len(other.argv) or one.words == other.words or len(one.argv) < 2:
        return False
    if None in beginning or beginning != [text_of(field) for field in other.argv[:2]]:
        return False
    differing = [at for at, (word, another) in enumerate(zip(one.words, other.words)) if word != another]
    pairs = [words[at - 1 : at + 1] for at in differing for words in (one.words, other.words)]
    return not any(_IN_ORDER.search(" ".join(pair)) for pair in pairs)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=2
        srun --ntasks=1 ./solve left.inp &
        «srun» --ntasks=1 ./solve right.inp &
        wait
        """,
        unsafe_fixed={
            "srun --ntasks=1 ./solve left.inp": "srun --ntasks=1 --exact ./solve left.inp",
            "srun --ntasks=1 ./solve right.inp": "srun --ntasks=1 --exact ./solve right.inp",
        },
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4 --mem=16G
        for part in 1 2 3 4; do
            «srun» --ntasks=1 --exact ./solve part$part.inp &
        done
        wait
        """,
        unsafe_fixed={"--ntasks=1 --exact": "--ntasks=1 --mem=4G --exact"},
        severity="warning",
        title="each claims the job's memory",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8 --gres=gpu:1
        srun nvidia-smi dmon -f usage.log &
        «srun» python train.py
        """,
        title="after a monitor, which does not end",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8 --gres=gpu:1
        srun --overlap nvidia-smi dmon -f usage.log &
        srun --cpus-per-task=8 python train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        for node in $(scontrol show hostnames); do
            srun --nodes=1 --ntasks=1 --nodelist="$node" ./agent &
        done
        wait
        """,
        title="one on each node",
    ),
]
