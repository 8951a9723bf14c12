"""Option blocks drawn at random from the option table: well-formed ones, and ones with faults.

Left out, since they would do harm or since only a site decides about them:
- `uid`, `gid`: the job of another user, and `get-user-env`: sbatch would start a login shell, for seconds;
- `reservation`, `licenses`, `resources`, `clusters`, `cluster`, `mcs-label`, `bb`, `bbf`: names that a site gives, or
  what it has to be built with; partitions other than `batch`, and names of features and nodes that the cluster does not
  have, for the same reason;
- `hold`: the controller looks less closely at a held job, and it is asked again about jobs that are not;
- `reboot`, `power`: would reboot or switch off nodes if a job ever ran;
- `nodefile`, `export-file`: are about a file beside the script, which there is not;
- `test-only`, `autocomplete` and the words `help` and `list` in values: sbatch prints something and submits nothing;
- jobs that do not exist in `dependency`: there is one that does, ANCHOR;
- times of the past and the present in `begin` and `deadline`: the clock decides;
- `array` beyond 200000, `nodes` beyond 100: sites limit them;
- templates such as `{{ name }}`: that is no option block before it is filled in.
`wait`, `parsable` and what the early pass takes are harmless with LocalSlurm.held.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sbatchlint.slurm.options import Option, table
from sbatchlint.slurm.versions import is_before

from .drawn_values import (
    BROKEN,
    CALM_LINES,
    COMMANDS,
    COMMENTS,
    FOREIGN,
    RIGHT,
    SEPARATORS,
    STRAYS,
    UNKNOWN,
    once_in,
    right_values,
    words,
)

LEFT_OUT = words(
    "uid gid get-user-env reservation licenses resources clusters cluster mcs-label bb bbf reboot power nodefile"
    " export-file test-only autocomplete hold"
)
# What people ask for most, and what depends on one another: drawn as often as all others together.
COMMON = words(
    "nodes ntasks ntasks-per-node cpus-per-task gpus gpus-per-node gpus-per-task gres mem mem-per-cpu mem-per-gpu time"
    " job-name output error array exclusive partition mail-type cpus-per-gpu ntasks-per-gpu gpus-per-socket"
    " tres-per-task oversubscribe sockets-per-node ntasks-per-socket nodelist exclude constraint dependency signal hint"
    " time-min ntasks-per-core threads-per-core distribution export chdir input open-mode requeue no-requeue"
    " extra-node-info tasks-per-node core-spec thread-spec mincpus switches segment"
)
# Groups of options that exclude one another, depend on one another, or add up.
RELATED = (
    "mem mem-per-cpu mem-per-gpu cpus-per-task gpus-per-node",
    "gpus gpus-per-node gpus-per-task gpus-per-socket gres ntasks nodes ntasks-per-node sockets-per-node",
    "cpus-per-task cpus-per-gpu tres-per-task gpus gpus-per-task ntasks",
    "ntasks-per-gpu ntasks-per-tres ntasks-per-node gpus-per-task gpus-per-socket gpus ntasks tres-per-task",
    "nodes ntasks ntasks-per-node tasks-per-node cpus-per-task",
    "exclusive oversubscribe overcommit mem",
    "hint threads-per-core ntasks-per-core extra-node-info cores-per-socket sockets-per-node ntasks-per-socket",
    "nodes nodelist exclude distribution ntasks",
    "time time-min deadline begin",
    "core-spec thread-spec",
    "requeue no-requeue kill-on-invalid-dep dependency",
    "output error input job-name chdir array open-mode",
    "mail-type mail-user",
    "nodes segment switches spread-job use-min-nodes spread-segments consolidate-segments",
)  # fmt: skip

# What Slurm wants beside an option; in blocks without faults it mostly gets it.
COMPANIONS = {
    "gpus-per-socket": ("--sockets-per-node=2", "--sockets-per-node 1"),
    "gpus-per-task": ("--ntasks=4", "-n 2", "--gpus=8"),
    "tres-per-task": ("--ntasks=4", "-n2"),
    "ntasks-per-gpu": ("--gpus=2", "-G 4", "--gpus-per-node=2 -N2"),
    "ntasks-per-tres": ("--gpus=2", "-G 4"),
    "mem-per-gpu": ("--gpus=2", "--gres=gpu:1", "--gpus-per-node=4"),
    "cpus-per-gpu": ("--gpus=2", "--gres=gpu:1", "--gpus-per-node=4"),
    "batch": ("-C blue&green&rack1",),
    "spread-segments": ("--segment=1 -N2",),
    "consolidate-segments": ("--segment=1 -N2",),
}


# What may be odd about the file.
CHANGES: tuple[Callable[[str], str], ...] = (
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n", 2).replace("\r\n", "\n", 1),
    lambda text: "\n" + text,
    lambda text: text.partition("\n")[2],
    lambda text: text.replace("#!/bin/bash", "#! /usr/bin/env python3", 1),
    lambda text: text.replace("echo done\n", "").rstrip("\n"),
    lambda text: text.replace("#!/bin/bash\n", "#!/bin/bash -l\n\n", 1),
)


# Written out: the spellings of one option with its value.
def quoted(value: str, style: str) -> str:
    """The value as a word of a directive, in quotes or with escapes where it needs them, or as the style wants it."""
    plain = value and not set(value) & set(" \t\"'\\#")
    if style == "'" and "'" not in value:
        return f"'{value}'"
    if style == '"' and '"' not in value:
        return f'"{value}"'
    if plain or style == "raw":
        return value
    return "".join(f"\\{each}" if each in " \t\"'\\#" else each for each in value) or "''"


@st.composite
def spelled(draw: st.DrawFn, option: Option, value: str | None, version: str, fair: bool) -> str:
    """`fair`: only spellings that sbatch is meant to understand."""
    names = table("sbatch", version).names
    long = "--" + option.name
    if draw(once_in(10)):
        shorter = [long[:end] for end in range(4, len(long))]
        unique = [each for each in shorter if sum(name.startswith(each[2:]) for name in names) == 1]
        if unique or (shorter and not fair):
            long = draw(st.sampled_from(unique if fair else shorter))
    letter = option.letter if option.letter and draw(st.booleans()) else None
    argument = option.argument(version)
    if not fair and draw(once_in(6)):
        # A value where there must be none, or none where there must be one.
        value = None if value is not None else draw(BROKEN)
    if value is None:
        return f"-{letter}" if letter else long
    word = quoted(value, draw(st.sampled_from(("", "", "", "", "'", '"', *(() if fair else ("raw",))))))
    between: tuple[str, ...]
    if letter:
        between = ("",) if argument == "optional" else ("", " ", " ", "  ")
        between = between if fair else (*between, "=", " = ")
    else:
        between = ("=",) if argument == "optional" else ("=", "=", "=", " ", "  ")
        between = between if fair else (*between, " = ", "= ", " =", "")
    return (f"-{letter}" if letter else long) + draw(st.sampled_from(between)) + word


@st.composite
def options_with_values(draw: st.DrawFn, options: tuple[Option, ...], version: str, fair: bool) -> str:
    """One option with a value as text of a directive."""
    option = draw(st.sampled_from(options))
    argument = option.argument(version)
    value: str | None = None
    if argument == "required" or (argument == "optional" and draw(st.booleans())):
        kind = 0 if fair else draw(st.integers(0, 3))
        if kind <= 1:
            value = draw(right_values(option))
        elif kind == 2:
            value = draw(RIGHT[draw(st.sampled_from(sorted(RIGHT)))])
        else:
            value = draw(BROKEN)
    text = draw(spelled(option, value, version, fair))
    if fair and option.name in COMPANIONS and not draw(once_in(4)):
        text += " " + draw(st.sampled_from(COMPANIONS[option.name]))
    return text


@st.composite
def directive_lines(draw: st.DrawFn, texts: list[str], fair: bool) -> str:
    """A line, of one setting or more, with what may stand around them."""
    rare = ("#SBATCH\t", "#SBATCH   ") if fair else ("#SBATCH", "#SLURM ", "#SBATCH:")
    magic: str = draw(st.sampled_from((*("#SBATCH ",) * 12, *rare)))
    line = magic + draw(st.sampled_from((" ", " ", "  ", "\t"))).join(texts)
    if draw(once_in(7)):
        line += draw(COMMENTS)
    if draw(once_in(10)):
        line += draw(st.sampled_from((" ", "\t", "  ") if fair else (" ", " \\", "\\", "'", '"', ";")))
    return line


@st.composite
def blocks(draw: st.DrawFn, version: str) -> str:
    """A batch script that is hardly more than its option block, of 1 to 12 options."""
    names = table("sbatch", version).names
    allowed = {name: option for name, option in names.items() if name not in LEFT_OUT}
    pools: list[tuple[Option, ...]] = [
        tuple(allowed.values()),
        tuple(allowed[name] for name in COMMON if name in allowed),
        tuple(allowed[name] for name in COMMON if name in allowed),
    ]
    related = draw(st.sampled_from(RELATED)).split()
    pools.append(tuple(allowed[name] for name in related if name in allowed))
    # How much is wrong with it: nothing, one thing, or anything anywhere.
    temper: str = draw(st.sampled_from(("good", "good", "good", "one", "one", "one", "wild")))
    size = draw(st.integers(1, draw(st.sampled_from((3, 6, 12)))))
    odd = draw(st.integers(0, size - 1)) if temper == "one" else -1
    lines: list[str] = []
    waiting: list[str] = []

    def flush(fair: bool) -> None:
        if waiting:
            lines.append(draw(directive_lines(list(waiting), fair)))
            waiting.clear()

    for number in range(size):
        fair = temper == "good" or (temper == "one" and number != odd)
        waiting.append(draw(_piece(draw(st.sampled_from(pools)), version, fair)))
        if not draw(once_in(4)):
            flush(fair)
            if draw(once_in(6)):
                lines.append(draw(CALM_LINES))
            if draw(once_in(25)):
                lines.append(draw(SEPARATORS if fair else st.sampled_from(("#SBATCH hetjob -N2", "#SBATCH -J hetjob"))))
            if not fair and draw(once_in(8)):
                lines.append(draw(COMMANDS))
    flush(temper != "wild")
    if draw(once_in(12)):
        lines.insert(draw(st.integers(0, len(lines))), draw(FOREIGN))
    if draw(once_in(10)):
        lines.append(draw(st.sampled_from(lines)))
    if is_before(version, "23.11") and any("--mail" in line for line in lines):
        # slurmctld 22.05.8 dies of the mail about a heterogeneous job whose later component it refuses.
        lines = [line for line in lines if re.search("hetjob|packjob", line, re.IGNORECASE) is None]
    return draw(_files("\n".join(lines)))


@st.composite
def _piece(draw: st.DrawFn, pool: tuple[Option, ...], version: str, fair: bool) -> str:
    if not fair and draw(once_in(4)):
        return draw(st.one_of(STRAYS, UNKNOWN, UNKNOWN))
    return draw(options_with_values(pool, version, fair))


@st.composite
def _files(draw: st.DrawFn, block: str) -> str:
    script = f"#!/bin/bash\n{block}\necho done\n"
    if not draw(once_in(20)):
        return script
    change: Callable[[str], str] = draw(st.sampled_from(CHANGES))
    return change(script)


def draw_blocks(version: str, number: int, start: int = 0) -> list[str]:
    """So many different option blocks; the same ones for the same arguments."""
    found: dict[str, None] = {}

    # Hypothesis draws some of them again.
    @seed(start)
    @settings(max_examples=3 * number, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(blocks(version))
    def collect(script: str) -> None:
        if len(found) < number:
            found.setdefault(script)

    collect()
    return list(found)
