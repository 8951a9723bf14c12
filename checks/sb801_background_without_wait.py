"""Slurm kills commands that still run in the background: the script ends without waiting for them.

A job is over when its batch script ends, and Slurm then kills what still runs in it. A background `srun` has usually
not even started its tasks. The job's state is the exit status of the script: COMPLETED 0:0 after a second or two, with
empty logs and no results. `nohup`, `setsid` and `disown` do not help, as Slurm kills all processes in the job's cgroup
(`ProctrackType=proctrack/cgroup`, the default). The shell of a task is no different: the step ends with it.

`wait` waits for the children of the shell that runs it, and for nothing else. What `( … & )`, a loop after a pipe (`… |
while read x; do … & done`) or another program has started is not a child of the script's shell; `wait` belongs inside
those parentheses, that loop's braces, or that program. Nor does it wait for what goes into the background by itself:
`nextflow -bg`, `screen -dm`, `tmux new -d`, `setsid -f`, and `abaqus job=…` without `interactive`, unless the site's
settings say so (a warning).

Nothing is reported where something that may last longer follows: any command not known to be quick, or a polling loop.
A run of the same program is no reason to believe that it lasts longer.

An error where Slurm certainly kills work; a warning where it may have ended before; advice where another program of
Python decides when the job ends.

The log says nothing about it; `sbatchlint diagnose` finds it in the script where a log reports no failure.

## Fix

Adds `wait` after the statement, or the loop. Safe where these are steps, or runs of one program; unsafe where they are
unknown, or where one of several programs may be a server, for which `wait` would wait until the time limit. None where
something else runs at the same time that may never end, such as a monitor, or where the `wait` belongs in another shell
than the script's.

## References

bash(1), wait; slurm.conf(5), ProctrackType; live runs of Slurm 22.05 to 26.05;
https://github.com/RobertsLab/resources/issues/858
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.background import certainly_disowned, returns_at_once
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Background, Heredoc, Statement, Unparsed
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import Phase, expansions, shown_text, text_of
from sbatchlint.bash.variables import Guards, branches_in, merge_guards
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import is_templated

CARD = Card(
    "SB801", "background-without-wait", severity="error", fix="sometimes", since="0.1.0",
    seen="live runs of Slurm 22.05",
)  # fmt: skip

# Commands that run another program or command as a part of the enclosing shell.
_SHELL_NAMES = "apptainer bash dash env eval ksh nice nohup setsid sh singularity source srun time zsh ."
_SHELLS = frozenset(_SHELL_NAMES.split())
_LONGEST_SLEEP = 30  # seconds; no work ends within so short a time
# A loop whose header bounds it: it iterates over words or lines of a file, or counts.
_BOUNDED = Regex(
    r"for\s+\w|for\s*\(\([^;]*;[^;$]*[<>=][^;]*;|while\s+(?:IFS=\S*\s+)?read\b|(?:while|until)\s*\(\([^)$]*[<>][^)$]*\)\)"
    r"|(?:while|until)\s+\[[^]$]*\$\{?\w+\}?\"?\s+-(?:lt|le|gt|ge|ne|eq)\s[^]]*\]"
)
_ENDLESS = Regex(r"while\s+(?:true|:|\[+\s*1|\(\(\s*1\s*\)\))|until\s+false|for\s*\(\(\s*;|for\s*\(\([^;]*;\s*;")
_TEST = Regex(r"!|\[|test\b|\(\(")
_POLLING = Regex(r"while|until")
# A loop until a server answers.
_READINESS = Regex(r"(?:until|while\s+!)\s+(?:curl|wget|nc|nvidia-smi|grep)\b|(?:until|while\s+!)\s+\S*/dev/tcp/")
# Python programs that run for the sake of others.
_SERVING = Regex(
    r"(?i)serv|work(?!flow)|monitor|listen|daemon|broker|sched|dash|logg?er|watch|control|agent|proxy|backup|redis|client"
    r"|simulat|environment|env\b|carla|queue|host|master|head|kill|stop|collect|manager|launch|actor|learner|record|usage|mem"
)
# Commands that feed a loop and may never end.
_FEEDS = frozenset({"inotifywait", "tail", "watch", "dmesg", "journalctl", "nc", "ssh"})


class Abandoned(NamedTuple):
    """A statement in the background that the script does not wait for.

    `shell`: its own; `home`: the one that started it, and that alone can wait for it. `first`: its first command;
    `work`: the one that is lost. `certain`: whether that is surely work, and surely started. `elsewhere`: a `wait` that
    follows in another shell. `race`: a later run of the same program in the foreground, which may end first.
    """

    shell: Shell
    home: Shell
    first: Invocation
    work: Invocation
    certain: bool
    elsewhere: Invocation | None
    race: Invocation | None


def check(job: Job) -> Iterator[Finding]:
    if job.phase is not Phase.BATCH:
        return
    yield from _detached(job)
    if not _backgrounds(job) or not _is_fully_known(job):
        return
    groups: dict[tuple[str, Span], list[Abandoned]] = {}
    outlasted: dict[int, int] = {}
    for shell, commands in reversed(_backgrounds(job).values()):
        lost = _abandoned(job, shell, commands, outlasted)
        if lost is not None:
            groups.setdefault((lost.home.kind, lost.home.span), []).append(lost)
    for group in groups.values():
        group.reverse()
        places = dict.fromkeys(_place(job, each.work) for each in group)
        place = _place(job, group[-1].work)
        others = [(each, "also killed") for each in places if each != place]
        yield Finding(
            place,
            _message(job, group, place),
            severity="error" if group[-1].certain else "info" if _may_be_meant(group[-1]) else "warning",
            related=[*_ampersand(job, group[-1], place), *others][:3],
            fix=_fix(job, group),
        )


def _detached(job: Job) -> Iterator[Finding]:
    """Findings on commands that go into the background by themselves, where nothing that lasts follows."""
    found = [(each, how) for each in job.invocations if (how := returns_at_once(each)) is not None]
    if not found or not _is_fully_known(job) or "run_mode" in job.source.text:
        return
    last = found[-1][0]
    for command in job.invocations[last.index + 1 :]:
        inner = last in command.ancestors() or command.name == "wait" and not _backgrounds(job)
        if not inner and (command.context.loops != last.context.loops or not _is_quick(command)):
            return
    if any(each.context.background is not None for each, _ in found):
        return
    command, (advice, certain) = found[-1]
    if command.phase is not Phase.BATCH or command.kind or command.context.handler or command.context.shell.depth:
        return
    certain = certain and not command.context.conditional and not is_templated(job.source.text)
    place = _place(job, command)
    yield Finding(
        place,
        f"`{job.source.slice(place)}` returns at once: the job ends, and Slurm kills what still runs; {advice}",
        severity="error" if certain else "warning",
        related=[(_place(job, each), "also killed") for each, _ in found[:-1]][:3],
    )


def _may_be_meant(lost: Abandoned) -> bool:
    """Whether it may be a service for what follows: the program of an image, or any other program."""
    race = lost.race
    if race is not None and race.name == "wait":
        return False
    if race is None or race.name in ("singularity", "apptainer") and not race.children:
        return race is not None
    return _program(race) != _program(lost.work)


def _ampersand(job: Job, lost: Abandoned, place: Span) -> Iterator[tuple[Span, str]]:
    """The `&` of a statement that has several lines, and a label."""
    end = lost.shell.span.end
    if job.source.text[end - 1 : end] == "&" and "\n" in job.source.text[place.end : end]:
        yield Span(end - 1, end), "in the background"


# --- what runs in the background -----------------------------------------------------------------------


@once
def _backgrounds(job: Job) -> dict[int, tuple[Shell, list[Invocation]]]:
    """The shells of statements in the background, each with all its commands in the order of execution."""
    found: dict[int, tuple[Shell, list[Invocation]]] = {}
    for command in job.invocations:
        if command.context.background is not None:
            for shell in command.context.shell.enclosing_shells():
                if shell.kind == "background":
                    found.setdefault(id(shell), (shell, []))[1].append(command)
    return found


def _is_fully_known(job: Job) -> bool:
    """Whether everything that the script runs is known, with its shell, and no named pipe can make one wait."""
    if job.program.errors or job.limits.met:
        return False
    if any(nodes_of(program, Unparsed) for _, program in programs(job)):
        return False
    for command in job.invocations:
        if command.name == "mkfifo" or command.name == "shopt" and "lastpipe" in map(text_of, command.argv):
            return False
        background = command.context.background
        if background is not None and job.source.slice(background.span).startswith("coproc"):
            return False
    return True


def _abandoned(job: Job, shell: Shell, commands: list[Invocation], outlasted: dict[int, int]) -> Abandoned | None:
    """What a background statement leaves running when its root shell ends; None where that waits for it.

    `outlasted`: by the id of the shell, the index of the command from which on nothing lasts as long, or -1 where
    something does; for statements that run exactly once, of which the later ones are looked at first.
    """
    first, home = commands[0], shell.parent
    context = first.context
    if home is None or context.handler or context.restricted or first.phase is Phase.SUBMIT:
        return None
    works = [each for each in commands if _is_work(job, each, shell)]
    root = _root(job, first, home) if works else None
    loops = [each for each in context.loops if not shell.span.contains(each)]
    if root is None or not all(_ends(job, each) for each in loops):
        return None
    if any(root in each.context.shell.enclosing_shells() and not _is_quick(each) for each in _exit_handlers(job)):
        return None
    guards = frozenset.intersection(*(each.guards for each in commands))
    tests = branches_in(guards)
    known = {} if loops or tests else outlasted
    until = known.get(id(home), len(job.invocations))
    if until < 0:
        return None
    known[id(home)] = -1  # until the loop below has found otherwise
    inside, own = {id(each) for each in commands}, set(home.enclosing_shells())
    given_up = certainly_disowned(job).get(id(shell))
    elsewhere = race = None
    same = set(filter(None, map(_program, works)))
    serves = any(server_name(each) is not None for each in works)
    for command in job.invocations[0 if tests else first.index : until]:
        if id(command) in inside or command.context.handler or root not in command.context.shell.enclosing_shells():
            continue
        excluded = bool(tests) and merge_guards(tests, branches_in(command.guards)) is None
        if command.index < first.index and not excluded:
            continue
        if excluded and not any(loop in loops for loop in command.context.loops):
            if command.phase is first.phase and not _is_in_background(command, own) and not _is_quick(command, loops):
                return None  # the other branch runs it in the foreground, so the background is intended
        elif _is_in_background(command, own):
            pass  # does not keep the script from ending, unless something awaits it
        elif command.name != "wait":
            around = [job.source.slice(loop) for loop in command.context.loops if loop not in loops]
            polls = any(_POLLING.match(text) and not (serves and _READINESS.match(text)) for text in around)
            if around and not polls and serves and any(map(_READINESS.match, around)):
                continue  # that the server answers does not keep the script from ending
            if not polls and race is None and command.context.shell is home and _may_end_first(command, same):
                race = command
            elif polls or not _is_quick(command, loops) and not (race is not None and race in command.ancestors()):
                return None
        elif command.context.shell is home and given_up is not None and given_up.index < command.index:
            pass  # `wait` knows it no more
        elif command.context.shell is home and _awaits_last(job, command, first, same):
            race = race or command
        elif command.context.shell is home or _awaits_others(job, command, own):
            if _is_for_last(command):
                known.pop(id(home), None)  # it may not await what was started before
            return None
        else:
            elsewhere = command
    known[id(home)] = first.index
    work = next((each for each in works if _is_certain_work(job, each)), works[0])
    certain = first.phase is Phase.BATCH and _is_certain_work(job, work)
    # of all that a loop goes through, what passes its test is lost
    certain = certain and (not _is_tested(work, guards) or bool(loops) and _is_all_work(job))
    certain = certain and (not context.conditional or bool(loops)) and not is_templated(job.source.text)
    return Abandoned(shell, home, first, work, certain and race is None, elsewhere, race)


def _may_end_first(command: Invocation, same: Collection[tuple[str, ...]]) -> bool:
    """Whether a command in the foreground is such work as some in the background, and not what that exists for."""
    program = _program(command)
    if program in same:
        return True
    kinds = {each[0] for each in same if len(each) == 2 and not _SERVING.search(each[1])}
    return program is not None and len(program) == 2 and program[0] in kinds and not _SERVING.search(program[1])


def _program(command: Invocation) -> tuple[str, ...] | None:
    """The program that a command finally runs, with the script or module if that is Python; None where unknown."""
    leaf = command.leaves()[0]
    if not leaf.argv or leaf.name is None or "=" in leaf.name:
        return None
    if not is_python(leaf.argv[0]):
        return None if has_trait(leaf.name, "minor", "serves", "monitors", "quick") else (leaf.name,)
    python = python_of(leaf)
    return None if python is None or not python.text else (python.kind, python.text)


def _is_tested(work: Invocation, outer: Guards) -> bool:
    """Whether a test around its statement (`outer`) or in it decides if a command runs, other than `cd x && work`."""
    tests = branches_in(work.guards)
    return bool(branches_in(outer)) or any(key[0] == "case" or _TEST.match(str(key[1])) for key, _ in tests)


def _ends(job: Job, loop: Span) -> bool:
    """Whether a loop around a background command certainly ends."""
    if not _BOUNDED.match(job.source.slice(loop)):
        return False
    starts = [run.span.start for run in job.pipelines if len(run.elements) > 1 and run.span.contains(loop)]
    with_feeds = Span(min(starts, default=loop.start), loop.end)  # the loop and the pipeline that feeds it
    feeds = [each for each in job.invocations if each.name in _FEEDS and with_feeds.contains(each.span)]
    return all(each.context.shell.kind == "background" for each in feeds)


def _is_in_background(command: Invocation, own: Collection[Shell]) -> bool:
    """Whether a command runs in the background, as seen from a shell and those around it."""
    return any(each.kind == "background" and each not in own for each in command.context.shell.enclosing_shells())


def _awaits_others(job: Job, wait: Invocation, own: Collection[Shell]) -> bool:
    """Whether a `wait` in a shell other than these awaits a background statement of that shell."""
    return any(shell not in own and at < wait.index for shell, at in _started_by(job).get(wait.context.shell, ()))


def _is_for_last(wait: Invocation) -> bool:
    """Whether it is `wait $!`, once."""
    if len(wait.argv) != 2 or wait.context.loops:
        return False
    return [each.name for each in expansions(wait.argv[1]) if wait.span.contains(each.span)] == ["!"]


def _awaits_last(job: Job, wait: Invocation, first: Invocation, same: Collection[tuple[str, ...]]) -> bool:
    """Whether `wait $!` awaits a later statement of this shell, which runs one of the same programs."""
    if not _is_for_last(wait):
        return False
    started = [commands for shell, commands in _backgrounds(job).values() if shell.parent is wait.context.shell]
    later = [commands for commands in started if first.index < commands[0].index < wait.index]
    last = max(later, key=lambda commands: commands[0].index, default=[])
    return any(_program(each) in same for each in last)


@once
def _started_by(job: Job) -> dict[Shell | None, list[tuple[Shell, int]]]:
    """The background statements of each shell, with the index of their first command."""
    found: dict[Shell | None, list[tuple[Shell, int]]] = {}
    for shell, commands in _backgrounds(job).values():
        found.setdefault(shell.parent, []).append((shell, commands[0].index))
    return found


@once
def _exit_handlers(job: Job) -> list[Invocation]:
    """The commands of traps that run when a shell ends."""
    found = []
    for command in job.invocations:
        if command.context.handler:
            trap = next((parent for parent in command.ancestors() if parent.name == "trap"), None)
            if trap is None or any(text_of(field) in ("EXIT", "0", "exit", None) for field in trap.argv[2:]):
                found.append(command)
    return found


def _is_quick(command: Invocation, loops: list[Span] | None = None) -> bool:
    """Whether a following command certainly ends before any work does."""
    name, words = command.name, [text_of(field) for field in command.argv[1:]]
    if command.calls_function:
        return True  # its commands are looked at on their own
    if name == "sleep":
        seconds = words[0] or "" if len(words) == 1 else ""
        brief = is_number(seconds) and parse_integer(seconds) <= _LONGEST_SLEEP
        return brief and all(each in (loops or []) for each in command.context.loops)
    if name == "read":
        return bool(loops) and any(each in (loops or []) for each in command.context.loops)
    if name == "exec":
        return not words
    if name in ("command", "builtin", "eval", "source", "."):
        return bool(command.children) or name in ("source", ".") and not is_unclear_source(command)
    if has_trait(name, "conda"):
        return words[:1] == ["deactivate"]
    if name == "sbatch":
        return not any(each is None or each in ("-W", "--wait") for each in words)
    return has_trait(name, "quick")


def _root(job: Job, first: Invocation, home: Shell) -> Shell | None:
    """The shell whose end is that of the job or task; None where something else may wait for the command.

    A pipe, and the output of a substitution, is read for as long as a process may write to it.
    """
    step = enclosing_step(first.context) if first.phase is Phase.TASK else None
    top = None if step is None else step.invocation.context.shell
    if step is None and first.phase is Phase.TASK:
        return None
    for parent in first.ancestors():
        if parent.name not in _SHELLS:
            return None
        if step is not None and parent is step.invocation:
            break
    for shell in home.enclosing_shells():
        pipelines = [run.span for run in job.pipelines if len(run.elements) > 1] if shell.kind == "pipeline" else []
        is_last = any(span.start < shell.span.start and span.end == shell.span.end for span in pipelines)
        if shell.kind == "substitution" or shell.kind == "pipeline" and not is_last:
            return None
        if shell.parent is top:
            return shell
    return None


# --- work ----------------------------------------------------------------------------------------------


def _is_work(job: Job, command: Invocation, shell: Shell) -> bool:
    """Whether a command is neither quick nor a mere monitor."""
    if command.name == "srun":
        started = [each for each in command.descendants() if not each.children]
        return not started or not all(has_trait(each.name, "monitors") for each in started)
    if not command.argv or command.children or command.calls_function:
        return False
    if any(each.name == "srun" and shell in each.context.shell.enclosing_shells() for each in command.ancestors()):
        return False  # the srun itself counts
    if any(shell.span.contains(loop) and _ENDLESS.match(job.source.slice(loop)) for loop in command.context.loops):
        return False  # it runs for as long as the job
    is_other = has_trait(command.name, "monitors") or command.name in ("wait", "exec", "read")
    return not is_other and not _is_quick(command)


def _is_certain_work(job: Job, command: Invocation) -> bool:
    """Whether a command is a step, a launcher, a container, a Python program, a `./x`, or the only work of all."""
    launchers = [job.launcher_of(each) for each in (command, *command.descendants())]
    if any(launcher is not None and launcher.kind == "ray" for launcher in launchers):
        return False  # a server
    for ancestor in (command, *command.ancestors()):
        if ancestor.name == "srun" or ancestor is not command and ancestor.name not in _SHELLS:
            return True
        if not ancestor.context.background:
            break
    if launchers[0] is not None or command.name in ("Rscript", "julia", "matlab"):
        return True
    if has_trait(command.name, "shell") and len(command.argv) > 1 and not command.words[1].startswith("-"):
        return _is_only_work(job)  # a script that cannot be read
    if is_python(command.argv[0]):
        python = python_of(command)
        return python is None or python.kind in ("script", "module") and python.text not in ("http.server", "pip")
    return (text_of(command.argv[0]) or "").startswith("./")


@once
def _is_all_work(job: Job) -> bool:
    """Whether no command outside the background works."""
    others = (each for each in job.invocations if each.context.background is None)
    return all(weight(job, each) < Weight.PROGRAM for each in others)


@once
def _is_only_work(job: Job) -> bool:
    """Whether the script starts all its work in the background."""
    others = (each for each in job.invocations if each.context.background is None and not each.context.tested)
    return all(weight(job, each) < Weight.PROGRAM for each in others)


def _place(job: Job, work: Invocation) -> Span:
    """The word that names the work, if it is written in the file on one line; otherwise the whole command."""
    for command in (work, *work.ancestors()):
        span = command.name_span
        if span.end > span.start and "\n" not in job.source.slice(span):
            return span
    return work.span


# --- messages and fixes --------------------------------------------------------------------------------


def _message(job: Job, group: list[Abandoned], place: Span) -> str:
    lost, name = group[-1], job.source.slice(place)
    kind = "script" if lost.home.parent is None else lost.home.kind
    still = f"while `{name}` still runs" if lost.certain else f"even if `{name}` still runs"
    begin = f"the job ends{'' if _fails(job, lost) else ' COMPLETED'} {still} in the background, and Slurm kills it"
    if lost.first.phase is Phase.TASK:
        return f"the task ends {still} in the background, and Slurm kills it; end the task's shell with `wait`"
    if lost.elsewhere is not None:
        begin = f"`wait` on line {job.line(lost.elsewhere.span.start)} runs in a different shell from `{name}`, "
        begin += f"so the job ends and Slurm kills `{name}`"
    given_up = certainly_disowned(job).get(id(lost.shell))
    if given_up is not None and any(each.index > given_up.index for each in commands_named(job, "wait")):
        line = job.line(given_up.span.start)
        return f"{begin}: `wait` does not wait after `disown`; leave out line {line}'s `disown`"
    advice = {"subshell": "write `wait` before the `)`", "pipeline": "write `| { …; wait; }`"}
    if kind != "script":
        return f"{begin}; {advice.get(kind, 'write `wait` in the shell that starts it')}"
    if lost.race is not None:
        return f"{begin} after line {job.line(lost.race.span.start)}; write `wait` at the end"
    if server_name(lost.work) is not None:
        return f"{begin}; start what uses it after this, or write `wait` at the end"
    statement = _statement(job, lost)
    if _has_others(job, group):
        alone = len(group) == 1 and isinstance(statement, Background)
        return f"{begin}; {'write `wait $!` after it' if alone else 'keep each `$!` and `wait` for it'}"
    if statement is None:
        return f"{begin}; write `wait` at the end"
    return f"{begin}; write `wait` after line {job.line(job.span(statement.start, statement.end).end - 1)}"


def _statement(job: Job, lost: Abandoned) -> Statement | None:
    """The statement of the script's outermost list that leaves something running."""
    number = bisect_right(job.reached, lost.first.index)
    return job.program.statements[number - 1] if number else None


def _fails(job: Job, lost: Abandoned) -> bool:
    """Whether the script may end with a status other than 0."""
    later = [each for each in commands_named(job, "exit") if each.index > lost.first.index]
    return any(each.words[1:] != ["0"] for each in later)


def _has_others(job: Job, group: list[Abandoned]) -> bool:
    """Whether a bare `wait` would also await something else, which may never end."""
    home, spans = group[-1].home, {each.shell.span for each in group}
    same = set(filter(None, (_program(each.work) for each in group)))  # work of the same kind ends as this does
    bare = [each for each in commands_named(job, "wait") if len(each.argv) == 1 and each.context.shell is home]
    waits = [each for each in bare if not each.context.conditional]
    return any(
        shell.parent is home
        and shell.span not in spans
        and not any(wait.index > commands[0].index for wait in waits)
        and not all(_is_quick(each) or each.name == "sbatch" for each in commands)
        and same.isdisjoint(map(_program, commands))
        for shell, commands in _backgrounds(job).values()
    )


def _fix(job: Job, group: list[Abandoned]) -> Fix | None:
    """The fix that adds `wait` after the last statement that leaves something running, in the script's own shell."""
    last, source = group[-1], job.source.own
    if last.home.parent is not None or last.race is not None or job.is_embedded:
        return None
    if any(server_name(each.work) is not None for each in group):
        return None  # what waits for the server may come after it
    if is_templated(source.text) or _has_others(job, group):
        return None
    statement = _statement(job, last)
    if statement is None or nodes_of(statement, Heredoc):
        return None
    span = job.span(statement.start, statement.end)
    line = source.line_of(span.end)
    after = source.text[span.end : line.end].strip()
    if after and not after.startswith("#"):
        return None
    works = [each.work for each in group]
    names = {tuple(map(shown_text, each.argv[: 1 + is_python(each.argv[0])])) for each in works}
    alike = len(names) == 1 or all(each.name == "srun" for each in works)
    safe = alike and all(each.certain for each in group)
    return Fix("wait for background commands", [insert(line.end, "\nwait")], safe=safe)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=2
        srun -n1 --exact ./model a &
        «srun» -n1 --exact ./model b &
        """,
        fixed={"srun -n1 --exact ./model b &": "srun -n1 --exact ./model b &\nwait"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for f in data/*.csv; do
            «python» process.py "$f" > "$f.log" 2>&1 &
        done
        echo "all done"
        """,
        fixed={'echo "all done"': 'wait\necho "all done"'},
        title="what follows the loop is over at once",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=8
        for d in run_*/; do
            (cd "$d" && «srun» -n1 --exact ./model &)
        done
        wait
        """,
        title="`wait` does not wait for what another shell has started",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=2\nsrun -n1 ./model a &\nsrun -n1 ./model b &\nwait\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        nvidia-smi -l 1 > gpu.log &
        vllm serve "$MODEL" --port 8000 &
        until curl -s localhost:8000/health; do sleep 5; done
        python client.py
        """,
        title="a monitor and a server, killed when the work is done",
    ),
]
