"""Slurm kills the program before it stops cleanly: its own time limit is not below the job's.

Programs that save their state and end before the job's limit have an option for the time: `--exit-duration-in-mins
1190`, `--time_limit 47h`, `trainer.max_time=00:23:30:00`, `gmx mdrun -maxh 23`. They count from their own start, some
minutes after the job's. Where that time is at least the job's limit, the clean end is never reached: everything since
the last checkpoint is lost. It happens when `--time` is shortened and the number further down is forgotten.

A time without a unit counts as seconds, the shortest it can be. `timeout 600 ./solver` in a job of one minute is a
limit of this kind, too: what the script does after it, such as copying what there is, is never reached.

## Fix

None: only you know how long the program needs to save its state.

## References

Megatron-LM, megatron/training/arguments.py (`--exit-duration-in-mins`); lightning/pytorch/callbacks/timer.py;
gmx-mdrun(1); timeout(1)
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.analysis.directives.plain_settings import plain_limits
from sbatchlint.analysis.script.work import UTILITIES
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import Argv, program_options, read, syntax
from sbatchlint.job.launchers import python_of
from sbatchlint.job.programs import commands_named, commands_with_option
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.times import duration, limit_seconds
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB814", "program-limit-beyond-job", severity="warning", fix="never", since="0.1.0", when=Options("time"),
    batch=True, homogeneous=True,
)  # fmt: skip

# The words in names of such options: what is limited, that it is a limit, filler words, and the unit.
_WHAT = frozenset(
    {"time", "timelimit", "maxtime", "duration", "runtime", "walltime", "clock", "run", "training", "train", "job"}
    | {"session", "elapsed"}
)
_LIMITS = frozenset({"max", "maximum", "exit", "stop", "limit", "timelimit", "maxtime", "wall", "walltime", "end"})
# Those that say that a time is meant; after the others the unit has to.
_TIME = frozenset({"time", "timelimit", "maxtime", "duration", "runtime", "walltime", "clock", "elapsed"})
_SMALL = frozenset({"in", "per", "after", "total", "the"})
_UNITS = {"s": 1, "sec": 1, "secs": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minutes": 60,
          "h": 3600, "hr": 3600, "hrs": 3600, "hours": 3600, "d": 86400, "days": 86400}  # fmt: skip
_NUMBER = Regex(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([a-z]*)")
_CLOCK = Regex(r"(?:([0-9]{1,4})[:-])?([0-9]{1,4}):([0-9]{1,2}):([0-9]{1,2})")
_TIMEOUT = syntax(values="k/kill-after kill-after s/signal signal", flags="f/foreground p/preserve-status v/verbose")
_WHO = "`timeout` ends the program"
_DURATION = Regex(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd]?)")
# A program with one of these starts other jobs, which have their own limits.
_OTHER_JOBS = frozenset(("--partition", "--account", "--queue", "--qos"))


class OwnLimit(NamedTuple):
    """The seconds after which a program stops by itself; `span`: the option."""

    seconds: float
    written: str
    span: Span


def check(job: Job) -> Iterator[Finding]:
    if job.request.has_option("signal"):
        return  # a program that gets a signal needs no clock
    commands = commands_with_option(job, _may_limit)
    timeouts = [each for each in commands_named(job, "timeout") if each.phase is not Phase.SUBMIT]
    settings = list(plain_limits(job, "time")) if commands or timeouts else []
    allowed = limit_seconds(settings[0][1]) if len(settings) == 1 else None
    if allowed is None or allowed <= 0:
        return
    beyond: dict[Span, list[OwnLimit | None]] = {}
    for command in timeouts:
        limit = _of_timeout(command)
        if limit is not None:
            beyond.setdefault(limit.span, []).append(limit if limit.seconds > allowed else None)
    for command in commands:
        if command.children or command.phase is Phase.SUBMIT or command.name in UTILITIES:
            continue
        if has_trait(command.name, "slurm", "spreads"):
            continue  # the limit of another job
        for found in _own_limits(job, command):
            beyond.setdefault(found.span, []).append(found if found.seconds >= allowed else None)
    for span, limits in beyond.items():
        if limits[0] is None or None in limits:
            continue  # with some alternative of the option, the limit is below the job's
        setting = settings[0][0]
        stop = _shown(limits[0].seconds, setting.text)
        who = _WHO if limits[0].written.startswith("timeout ") else "the program stops itself"
        kills = f"but Slurm kills the job after {_shown(allowed, setting.text)}"
        if stop == _shown(allowed, setting.text):
            kills = "just when Slurm kills the job"
        yield Finding(
            span,
            f"{who} after {stop} (`{limits[0].written}`), {kills} (line {job.line(setting.span.start)}); "
            "write a smaller value",
            related=[(setting.span, "the job's limit")],
        )


def _shown(seconds: float, written: str | None) -> str:
    """Seconds as a limit, with days only where the job's own limit may have some."""
    text = duration(math.floor(seconds))
    clock = None if "-" in (written or "") else re.fullmatch(r"(\d+)-(\d\d)(:.*)", text)
    return text if clock is None else f"{parse_integer(clock[1]) * 24 + parse_integer(clock[2])}{clock[3]}"


def _of_timeout(command: Invocation) -> OwnLimit | None:
    """The limit that `timeout` sets; None where it is not known."""
    reading = read(command.argv, 1, _TIMEOUT)
    word = command.argv[reading.operand] if reading.certain and reading.operand is not None else ()
    match = _DURATION.fullmatch(text_of(word) or "") if word else None
    if match is None:
        return None
    seconds = float(match[1]) * _UNITS[match[2] or "s"]
    return OwnLimit(seconds, f"timeout {match[0]}", span_of(word)) if seconds else None


@lru_cache(maxsize=4096)  # the same words occur again and again
def _may_limit(word: str) -> bool:
    """Whether a word begins with an option that limits a run in some program."""
    return _unit(word.partition("=")[0], "gmx") is not None


def _own_limits(job: Job, invocation: Invocation) -> Iterator[OwnLimit]:
    options = list(program_options(_words(job, invocation), lambda name: name in _OTHER_JOBS or _may_limit(name)))
    if any(option in _OTHER_JOBS for option, _, _ in options):
        return
    for option, value, field in options:
        if value is None or not option.startswith("-") and "=" not in (text_of(field) or ""):
            continue
        unit = _unit(option, invocation.name)
        seconds = None if unit is None else _seconds(value, unit, option)
        if seconds is not None:
            separator = "=" if "=" in (text_of(field) or "") else " "
            yield OwnLimit(seconds, f"{option}{separator}{text_of(value)}", span_of(field))


def _words(job: Job, invocation: Invocation) -> Argv:
    """The arguments of a program; for a launcher those of the program that it starts."""
    launcher = job.launcher_of(invocation)
    if launcher is not None:
        return launcher.program_words[1:]
    python = python_of(invocation)
    return invocation.argv[1 if python is None else python.after :]


@lru_cache(maxsize=4096)  # the same options occur again and again
def _unit(option: str, program: str | None) -> float | None:
    """The seconds of one unit of an option that limits a run, by the option's name; None for other options."""
    name = option.rpartition(".")[2].lstrip("-+").replace("_", "-").lower()
    if name == "maxh" and (program or "").startswith(("gmx", "mdrun")):
        return 3600 * 0.99  # gmx ends after that share of the time
    words = name.split("-")
    unit = _UNITS.get(words[-1]) if len(words) > 1 else None
    if unit is not None:
        words.pop()
    rest = set(words) - _SMALL
    if not rest <= _WHAT | _LIMITS or not rest & _LIMITS or unit is None and not rest & _WHAT:
        return None
    return unit or 1


def _seconds(value: Pieces, unit: float, option: str) -> float | None:
    """Seconds of `1190`, `47h`, `HH:MM:SS`, `DD:HH:MM:SS`.

    None for a number without a unit where the option's name does not say either that a time is meant.
    """
    text = (text_of(value) or "").strip("'\"").lower()
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        days, hours, minutes, seconds = (parse_integer(each or "0") for each in clock.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    number = _NUMBER.fullmatch(text)
    if number is None or number.group(2) and number.group(2) not in _UNITS:
        return None
    if not number.group(2) and unit == 1 and _TIME.isdisjoint(re.split(r"[-_.]+", option.lower())):
        return None
    return float(number.group(1)) * (_UNITS[number.group(2)] if number.group(2) else unit)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        #SBATCH --time=20:00:00
        torchrun --nproc_per_node=8 pretrain.py --exit-interval 500 «--exit-duration-in-mins» 5990
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=2-00:00:00
        HOURS=48
        srun python train.py «--time_limit=$((HOURS * 3600))»
        """,
        title="as long as the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=04:00:00
        srun python train.py «trainer.max_time=00:04:00:00»
        gmx mdrun -deffnm md «-maxh» 12
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=00:30:00
        timeout -k 30 «40m» srun ./solver
        cp -r out results/
        """,
        title="by timeout",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        #SBATCH --time=20:00:00
        torchrun --nproc_per_node=8 pretrain.py --exit-duration-in-mins 1190 --max-steps 5000000 --timeout 900000
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=01:00:00
        python submit_all.py --partition gpu --time-limit 48:00:00
        """,
        title="the limit of other jobs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=04:00:00 --signal=USR1@300
        srun python train.py --max-time 04:00:00
        """,
        title="a signal tells it in time",
    ),
]
