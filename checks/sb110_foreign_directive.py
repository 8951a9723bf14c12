"""sbatch obeys `#PBS` and `#BSUB` lines too, and they override `#SBATCH` lines.

sbatch translates the directives of two other schedulers after it has read its own, so a leftover `#PBS -l
walltime=1:00:00` replaces `#SBATCH --time`, wherever it is: after commands, in a heredoc, up to the 101st line that
does not begin with `#`. What it cannot translate (`#PBS -P`, `#BSUB -R`) makes it refuse the whole script. Values stay
as written and change their meaning: `#BSUB -W 1:30` is a minute and a half, `#PBS -l walltime=3600` sixty hours.

A line that only adds an option which no `#SBATCH` line sets is advice, as the script may be meant for both schedulers,
and a warning where `#SBATCH` lines size the job as well. One that only changes what is reported about the job, such as
its log, or gives it more time, is a warning. Lines that agree with the `#SBATCH` lines, or that sbatch ignores (`#PBS
-V`), are not reported. Advice where a placeholder stands in the lines for both: the program that fills it in may leave
only those of one scheduler.
Files without an `#SBATCH` line are not checked.

## Fix

Adds `#SBATCH --ignore-pbs`, after which neither kind of line counts; a script for two schedulers needs it too. Unsafe:
until now the job had the other values. Lines that only add an option have no fix.

## References

sbatch(1), `--ignore-pbs`; src/sbatch/xlate.c, Slurm 20.11 to 26.05; some 240 scripts on Slurm 22.05, 23.11, 24.11 and
26.05.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple

from sbatchlint.analysis.directives.conflicts import conflicts
from sbatchlint.analysis.directives.lost_options import are_only_told
from sbatchlint.analysis.script.forms import is_for_several_schedulers
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, shortened
from sbatchlint.slurm.foreign import Foreign
from sbatchlint.slurm.grammar.numbers import node_count, whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.model import ForeignSetting, Setting
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number
from sbatchlint.source.shortening import MOST
from sbatchlint.source.text import Span
from sbatchlint.triggers import Written

CARD = Card(
    "SB110", "foreign-directive", severity="error", fix="sometimes", since="0.1.0",
    when=Written("foreign"), seen="some 240 scripts on Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


class Effect(NamedTuple):
    """What one part of a foreign directive does. `description`: in words.

    `option`: the resulting option of sbatch with its value; '' for none. `block`: the setting of the option
    block that it overrides or conflicts with. `adds`: whether it only sets an option that the block does not set.
    `versions`: the releases in which this holds, None for all.
    """

    span: Span
    option: str
    description: str
    versions: tuple[str, ...] | None
    block: Setting | None = None
    adds: bool = False


# Options that together say how many tasks there are.
_SIZES = frozenset({"nodes", "ntasks", "ntasks-per-node"})


def check(job: Job) -> Iterator[Finding]:
    foreign = job.directives.foreign
    if foreign is None or not job.directives.lines:
        return
    fix = Fix("add --ignore-pbs", [insertion(job.directives, "--ignore-pbs")])
    prepared = is_for_several_schedulers(job)
    effects = sorted(_effects(job, foreign), key=lambda effect: (effect.span, effect.adds))
    for span, group in groupby(effects, key=lambda effect: effect.span):
        parts = list(group)
        descriptions = _joined(list(dict.fromkeys(part.description for part in parts)))
        message = f"sbatch reads #{foreign.dialect} lines too, {_effect_of(descriptions)}"
        if all(part.adds for part in parts):
            advice = "remove this line, or write it as an #SBATCH line if you want it"
            set_here = {each.name for each in foreign.settings if each.span == span}
            sized = set_here & _SIZES and any(job.directives.last(name) is not None for name in _SIZES)
            yield Finding(span, f"{message}; {advice}", "warning" if sized and not prepared else "info")
        else:
            related = [(part.block.span, "set here") for part in parts if part.block is not None]
            advice = "remove this line, or add `#SBATCH --ignore-pbs`"
            if len(message) + len(advice) + 2 > MOST:
                advice = "remove it, or add `#SBATCH --ignore-pbs`"
            names = [part.block.name for part in parts if part.block is not None and not _is_longer(part)]
            replaces = all(" replaces " in part.description for part in parts)
            only_told = replaces and all(part.block is not None for part in parts)
            only_told = only_told and (not names or are_only_told(names))
            severity = "info" if prepared else "warning" if only_told else None
            yield Finding(span, f"{message}; {advice}", severity, related, fix)


def _is_longer(part: Effect) -> bool:
    """Whether a line only gives the job more time than it asks for."""
    if part.block is None or part.block.name != "time":
        return False
    new, old = minutes(part.option.partition("=")[2]), minutes(part.block.value)
    return new is not None and old is not None and new > old > 0


def _effect_of(descriptions: str) -> str:
    """The second half of a sentence, about one of the lines that sbatch reads."""
    if descriptions.startswith("it refuses "):
        return f"and {descriptions.removeprefix('it ')}"
    return f"so {descriptions.replace('it sets', 'this one sets') if descriptions.startswith('it ') else descriptions}"


def _joined(descriptions: list[str]) -> str:
    """What sbatch does, as one clause: `it sets --nodes=1 and --ntasks=1`."""
    if all(each.startswith("it sets ") for each in descriptions):
        return f"it sets {' and '.join(each.removeprefix('it sets ') for each in descriptions)}"
    return ", and ".join(descriptions)


def _effects(job: Job, foreign: Foreign) -> list[Effect]:
    """The effects of all foreign directives, refusals first.

    Where all releases refuse one of the lines, the others have no effect. Nor does a line that agrees with
    the block, or that sbatch ignores.
    """
    refused = [*_refusals(job, foreign), *dict.fromkeys(_conflicts(job))]
    if any(each.versions is None for each in refused):
        return refused
    refused_options = {(each.span.start, each.option) for each in refused}
    others = [effect for effect in (_effect(job, setting) for setting in foreign.settings) if effect is not None]
    return [*refused, *(each for each in others if (each.span.start, each.option) not in refused_options)]


def _refusals(job: Job, foreign: Foreign) -> Iterator[Effect]:
    for problem in foreign.problems:
        effect = f"it refuses the script: {shortened(problem.message.replace('`', ''))}"
        if problem.kind == "unmatched-quote":
            effect = "it refuses the script: a quote on this line is not closed"
        if problem.kind == "unknown-option":
            effect = f"it refuses the script: there is no option {problem.written}"
        effect += job.versions.in_brackets(problem.versions)
        yield Effect(problem.span, "", effect, problem.versions)
    for setting, refusal in foreign.refused:
        when = job.versions.in_brackets(refusal.versions)
        effect = f"it refuses {shortened(_shown(setting))}{when}: `{refusal.message}`"
        yield Effect(setting.span, _shown(setting), effect, refusal.versions)


def _conflicts(job: Job) -> Iterator[Effect]:
    """The effects of foreign settings that conflict with other settings of the job."""
    for conflict in conflicts(job):
        settings = [each for each in conflict.settings if isinstance(each, Setting)]
        others = [each for each in conflict.settings if isinstance(each, ForeignSetting)]
        if not others or not conflict.refused:
            continue
        versions = None if conflict.refused == job.versions.majors else conflict.refused
        when, option = job.versions.in_brackets(versions), _shown(others[-1])
        if settings:
            line = job.line(settings[-1].span.start)
            effect = f"it refuses {option} together with {settings[-1].written} on line {line}{when}"
            yield Effect(others[-1].span, option, effect, versions, settings[-1])
        else:
            effect = f"it refuses {option}{when}: `{conflict.message}`"
            yield Effect(others[-1].span, option, effect, versions)


def _effect(job: Job, setting: ForeignSetting) -> Effect | None:
    """The effect of a setting that sbatch accepts; None where it agrees with the block, or is unknown."""
    directives = job.directives
    if setting.value is not None and setting.text is None:
        return None
    in_block = False
    for component in range(directives.components):
        block = directives.last(setting.name, component)
        if block is None:
            continue
        if not block.known:
            return None
        in_block = True
        versions = setting.versions
        if setting.name == "mail-type" and _includes(block.value, setting.value):
            # Until 24.11 sbatch combined the types of several directives.
            newer = tuple(each for each in job.versions.majors if not is_before(each, "25.05"))
            versions = None if newer == job.versions.majors else newer
        value = setting.applied_to(block.value)
        if versions != () and not _mean_the_same(setting, value, block.value):
            written, line = job.source.slice(block.span), job.line(block.span.start)
            place = f"{written} on line {line}" if len(written) < 25 else f"the one on line {line}"
            effect = f"{shortened(_with_unit(setting, value), 35)} replaces {place}{job.versions.in_brackets(versions)}"
            return Effect(setting.span, _shown(setting, value), effect, versions, block)
    if in_block or not directives.certain or _is_product(job, setting):
        return None
    effect = f"it sets {_with_unit(setting)}{job.versions.in_brackets(setting.versions)}"
    return Effect(setting.span, _shown(setting), effect, setting.versions, adds=True)


# What gives the meaning of a value, by the kind of its option; all others are numbers.
_READERS: dict[str, Callable[[str], object]] = {
    "time": minutes,
    "mem": megabytes,
    "node-count": node_count,
    "mail-type": lambda types: set(types.upper().split(",")),
}


def _mean_the_same(setting: ForeignSetting, new: str | None, old: str | None) -> bool:
    """Whether two values of an option mean the same thing."""
    if new == old:
        return True
    if new is None or old is None or setting.option is None:
        return False
    read = _READERS.get(setting.option.kind, whole)
    return read(new) is not None and read(new) == read(old)


def _includes(old: str | None, new: str | None) -> bool:
    """Whether the old mail types include all of the new ones."""
    types = set((old or "").upper().split(","))
    return "ALL" in types or types >= set((new or "").split(","))


def _is_product(job: Job, setting: ForeignSetting) -> bool:
    """Whether the setting is the number of tasks that `--nodes` and `--ntasks-per-node` of the block give."""
    nodes, per_node = job.directives.last("nodes"), job.directives.last("ntasks-per-node")
    if setting.name != "ntasks" or nodes is None or per_node is None:
        return False
    count, tasks = whole(nodes.text), whole(per_node.text)
    return count is not None and tasks is not None and setting.text == str(count * tasks)


def _shown(setting: ForeignSetting, value: str | None = None) -> str:
    """The option as written for sbatch, with `value` instead of the setting's own if given."""
    if setting.option is None:
        return f"umask {setting.value}"
    shown = setting.value if value is None else value
    return f"--{setting.name}" if shown is None else f"--{setting.name}={shown}"


def _with_unit(setting: ForeignSetting, value: str | None = None) -> str:
    """The option, and the unit of sbatch where PBS and LSF mean seconds, hours and minutes, or bytes."""
    text, unit = setting.text or "", ""
    if setting.name == "time" and is_number(text):
        unit = " (minutes)"
    elif setting.name == "time" and text.count(":") == 1 and "-" not in text:
        unit = " (minutes and seconds)"
    elif setting.name in ("mem", "tmp") and is_number(text):
        unit = " (megabytes)"
    return _shown(setting, value) + unit


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=2:00:00
        #SBATCH --nodes=2
        #PBS -l «walltime=1:00:00»
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --nodes=2": "#SBATCH --nodes=2\n#SBATCH --ignore-pbs"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #BSUB «-R "span[ptile=4]"»
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --time=1:30:00": "#SBATCH --time=1:30:00\n#SBATCH --ignore-pbs"},
        title="what cannot be translated",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #BSUB «-W 1:30»
        srun ./a.out
        """,
        unsafe_fixed={"#BSUB -W 1:30": "#SBATCH --ignore-pbs\n#BSUB -W 1:30"},
        title="a different unit",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=60
        #PBS «-q gpu»
        srun ./a.out
        """,
        severity="info",
        title="an option that no #SBATCH line sets",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ignore-pbs
        #SBATCH --time=2:00:00
        #PBS -l walltime=1:00:00
        srun ./a.out
        """,
        title="for two schedulers on purpose",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=60 --job-name=train
        #PBS -l walltime=01:00:00 -N train
        #PBS -j oe -V
        srun ./a.out
        """,
        title="nothing that changes the job",
    ),
    Good("#!/bin/bash\n#PBS -l nodes=2:ppn=8\nmpirun ./a.out\n", title="a script of PBS"),
]
