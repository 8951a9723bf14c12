"""A directive requests a different time or number from what the comment beside it says.

`--time=0-01:00:00  # 1 day` is one hour, after which the job is killed; `--nodes=1  # 2 nodes for the MPI job` is one
node. One of the two is wrong, and only the author knows which.

A warning where the comment names the same number in another unit, so that the limit was mistyped, or GPUs and the
directive requests none (`--gres=gpu:0  # 1 GPU`) though the script is for them; otherwise advice, as a comment is often
left over from a template. A comment about what a partition allows, what the program usually takes, or about another run
says nothing of the request. For memory, see
[memory-comment-contradicts](memory-comment-contradicts.md).

## Fix

None: the option or the comment is wrong.

## References

sbatch(1), `--time`, `--nodes`, `--ntasks`, `--cpus-per-task`, `--gres`
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.directives.plain_settings import comment_on, plain_limits
from sbatchlint.analysis.gpus.gpu_use import shows_gpus
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.grammar import times
from sbatchlint.slurm.model import Setting
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB225", "request-comment-contradicts", severity="warning", fix="never", since="0.1.0", alone=True,
    when=Options("time", "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus", "gpus-per-node", "gres"),
    seen="a review of public scripts",
    unseen="Nothing, or the end of the job at a limit that nobody meant.",
)  # fmt: skip

_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "twelve": 12}
_LENGTH = Regex(
    r"(?i)(?<![\w.:-])(\d{1,4}(?:\.\d)?|one|two|three|four|five|six|ten|twelve)"
    r"[ -]?(minutes?|mins?|hours?|hrs?|h|days?)\b"
)
# How the option is written: `(hh:mm:ss)`, `D-HH:MM`, `days-hrs:min:sec`.
_UNIT = r"(?:days?|d{1,2}|hours?|hrs?|h{1,2}|minutes?|mins?|m{1,2}|seconds?|secs?|s{1,2})"
_FORMAT = Regex(rf"(?i)[(\[]?\b{_UNIT}(?:[-:]{_UNIT})+\b[)\]]?")
# A length as sbatch reads it: `48:00:00`, `2-00:00:00`.
_CLOCK = Regex(r"(?<![\w.:-])(?:\d{1,2}-)?\d{1,3}:[0-5]\d:[0-5]\d(?![\w.:-])")
# Where else to look says nothing of the limit.
_POINTER = Regex(r"(?i)[.;!,(] *(?:see|read|refer|check|look|consult)\b.*")
_RUNS = Regex(r"(?i)\bruns?\b(?!-)")
_BOUND = Regex(r"(?i)\b(?:max(?:imum)?|at most)\b")
# What joins the parts of one length: `1 day and 12 hours`.
_JOINING = Regex(r"(?:,|,? and)? ?")
# The word `for` before a length says nothing of another run.
_FOR = Regex(
    r"(?i)\b(run(?:s|ning)?|lasts?|asks?|limit|time|requested) for\b"
    r"(?: (?:the|this) (?:whole |entire )?(?:calculation|job|run|simulation|script)\b)?"
)
_MINUTES = {"m": 1, "h": 60, "d": 1440}
_NAMES = {"m": "minute", "h": "hour", "d": "day"}
# About something else than this limit.
_OTHER = Regex(
    r"(?i)\b(?:partition|queue|qos|allow\w*|default\w*|cluster|site|min(?:imum)?|e\.?g|example|or|if|for|than|was|were"
    r"|old|before|instead|per|each|every|up to|rounded|increase|change|recommend\w*|prio\w*)\b|[<>=~:]"
)
# What a comment says of the limit itself, and not of the program.
_CLAIM = Regex(
    r"(?i)\b(?:limit|request|wall|given|run(?:ning)? ?time of|runs?\b(?!-)|at most|max(?:imum)?|set)"
    r"|\brun(?:ning)? ?time\b[ ,-]*$|^[#\W]*$|설정|제한|限制|制限|上限"
)
_ESTIMATE = Regex(r"(?i)\b(?:tak\w+|took|need\w*|about|approx\w*|around|expect\w*|estimat\w*|usual\w*|should|enough)\b")
_COUNTED = {
    "nodes": Regex(r"(?i)(?<![\w.-])(\d{1,4}) (?:whole |full |compute )?(?:nodes?|servers?|machines?|hosts?)\b"),
    "ntasks": Regex(r"(?i)(?<![\w.-])(\d{1,5}) (?:mpi )?(?:tasks?|process(?:es)?|ranks?)\b(?! per)"),
    "ntasks-per-node": Regex(
        r"(?i)(?<![\w.-])(\d{1,4}) (?:mpi )?(?:tasks?|process(?:es)?|ranks?)(?: per (?:compute )?node)?\b"
    ),
    "cpus-per-task": Regex(r"(?i)(?<![\w.-])(\d{1,4}) (?:cpus?|cores?|threads?)(?: per (?:task|process))?\b"),
}
# In a sentence on the whole request: `Run a total of ten tasks on two nodes (that is, five tasks per node)`.
_ON_NODES = Regex(
    r"(?i)\b(?:run|request|use|start|launch|distribute)\w*\b[^.]*"
    rf"\bon (\d{{1,4}}|{'|'.join(list(_NUMBERS)[1:])}) nodes?\b"
)
_MODEL = Regex(r"(?i) of type .*")
_GPUS = Regex(
    r"(?i)(?<![\w.-])(?:(?:a|only) )?(\d{1,4}|single|one|two|three|four|six) (?!not? |of )(?:\w+ )?gpus?\b"
    r"(?! per (?!node))"
)
_OF_GPUS = frozenset({"gpus", "gpus-per-node", "gres"})
_GPU_VALUE = Regex(r"(?:gpu:(?:[A-Za-z][\w.-]*:)?|(?:[A-Za-z][\w.-]*:)?)(\d{1,4})")
_CHOICE = Regex(r"(?i)\b(?:if|or|than|was|were|old|e\.?g|example|instead|at (?:least|most)|up to|max\w*|min\w*)\b")
_OTHER_COUNT = Regex(
    r"(?i)\b(?:partition|queue|max\w*|min\w*|up to|at (?:least|most)|default\w*|has|have|of|or|if|than|was|were|old"
    r"|e\.?g|example|instead|multiple|total|cluster|about|each|every|request \d+ more|there (?:is|are))\b|[<>=~x*/]"
)
# What a number is counted by, where that is not the option's own unit: `2 cores per GPU`.
_PER = Regex(r"(?i)\bper\b")


def check(job: Job) -> Iterator[Finding]:
    for setting, text in plain_limits(job, "time", *_COUNTED, *sorted(_OF_GPUS)):
        if setting.name == "time" and "-" not in text and text.count(":") < 2:
            continue  # ambiguous-time reports it
        if setting.name == "time":
            yield from _of_time(job, setting, text)
        elif setting.name in _OF_GPUS:
            yield from _of_gpus(job, setting, text)
        elif is_number(text):
            yield from _of_count(job, setting, text)


def _of_time(job: Job, setting: Setting, text: str) -> Iterator[Finding]:
    comment, limit = _POINTER.sub("", _FORMAT.sub(" ", comment_on(job, setting))), times.minutes(text)
    found = list(_LENGTH.finditer(comment))
    if limit is not None and limit > 0 and not found:
        yield from _of_clock(setting, limit, comment)
    if limit is None or limit <= 0 or not found or not _are_joined(comment, found):
        return
    numbers = [_number(each[1].lower()) for each in found]
    units = [each[2][0].lower() for each in found]
    meant = round(sum(number * _MINUTES[unit] for number, unit in zip(numbers, units, strict=True)))
    rest = _FOR.sub(
        r"\1", re.sub(r":(?= *$)", "", comment[: found[0].start()]) + _LENGTH.sub(" ", comment[found[0].start() :])
    )
    if not meant or _OTHER.search(rest) or 0.9 * limit <= meant <= 1.1 * limit:
        return
    if meant < limit and (_ESTIMATE.search(rest) or not _CLAIM.search(rest)):
        return
    if meant > limit and _BOUND.search(rest) and not _RUNS.search(rest):
        return
    mistyped = len(found) == 1 and meant > limit and limit in {numbers[0] * each for each in _MINUTES.values()}
    says = " and ".join(
        counted(round(number), _NAMES[unit]) if number == round(number) else f"{number} {_NAMES[unit]}s"
        for number, unit in zip(numbers, units, strict=True)
        if number
    )
    yield Finding(
        setting.value_place,
        f"`{setting.as_written}` is {_shown(limit)}, but the comment says {says}; correct one of them",
        "warning" if mistyped else "info",
    )


def _of_clock(setting: Setting, limit: int, comment: str) -> Iterator[Finding]:
    """The finding on a limit beyond the one that a comment gives as sbatch reads it: `(48:00:00 max)`."""
    found = _CLOCK.findall(comment)
    rest = _FOR.sub(r"\1", _CLOCK.sub(" ", comment))
    if len(found) != 1 or _OTHER.search(rest) or _ESTIMATE.search(rest) or not (bound := _BOUND.search(rest)):
        return
    meant = times.minutes(found[0])
    if meant and limit > 1.1 * meant:
        message = f"`{setting.as_written}` is {_shown(limit)}, but the comment says {found[0]} {bound[0]}"
        yield Finding(setting.value_place, f"{message}; correct one of them", "info")


def _number(written: str) -> float:
    return _NUMBERS.get(written) or float(written)


def _are_joined(comment: str, found: list[re.Match[str]]) -> bool:
    """Whether the lengths that a comment names are the parts of one: `1 day and 12 hours`."""
    between = [comment[one.end() : other.start()] for one, other in pairwise(found)]
    units = [_MINUTES[each[2][0].lower()] for each in found]
    return units == sorted(set(units), reverse=True) and all(map(_JOINING.fullmatch, between))


def _shown(minutes: int) -> str:
    if minutes < 60:
        return counted(minutes, "minute")
    for unit, each in (("day", 1440), ("hour", 60)):
        if minutes >= each and minutes % each == 0:
            return counted(minutes // each, unit)
    return times.duration(minutes * 60)


def _of_count(job: Job, setting: Setting, text: str) -> Iterator[Finding]:
    comment = comment_on(job, setting)
    if (setting.value_line or setting.line).comment is not None:
        found = _COUNTED[setting.name].findall(comment)
        is_clear = not _OTHER_COUNT.search(comment) and sum(each.isdigit() for each in comment.split()) == 1
        is_clear = is_clear and not _PER.search(_COUNTED[setting.name].sub(" ", comment))
    else:  # a line above tells of the whole request
        found = _ON_NODES.findall(comment) if setting.name == "nodes" else []
        is_clear = not _CHOICE.search(comment)
    if len(found) != 1 or not is_clear or _number(found[0].lower()) == parse_integer(text):
        return
    message = f"`{setting.as_written}` contradicts the comment, which says {found[0]}; correct one of them"
    yield Finding(setting.value_place, message, "info")


def _of_gpus(job: Job, setting: Setting, text: str) -> Iterator[Finding]:
    """The finding on another number of GPUs than the comment says: the job has none where that is 0."""
    parts = [each for each in text.split(",") if setting.name != "gres" or each.startswith("gpu:")]
    value = _GPU_VALUE.fullmatch(parts[0]) if len(parts) == 1 else None
    if value is None:
        return
    number, comment = parse_integer(value[1]), _MODEL.sub("", comment_on(job, setting))
    found = _GPUS.findall(comment)
    if len(found) != 1 or sum(each.isdigit() for each in comment.split()) != found[0].isdigit():
        return
    said = parse_integer(found[0]) if found[0].isdigit() else _NUMBERS.get(found[0].lower(), 1)
    # what else such a comment speaks of matters less where the job gets no GPU at all
    if said in (number, 0) or (_CHOICE if number == 0 else _OTHER_COUNT).search(comment):
        return
    asks = f"`{setting.as_written}` requests {counted(number, 'GPU') if number else 'no GPU'}"
    message = f"{asks}, but the comment says {counted(said, 'GPU')}; correct one of them"
    yield Finding(setting.value_place, message, "info" if number or not shows_gpus(job) else "warning")


CASES = [
    Bad("#!/bin/bash\n#SBATCH --time=«0-01:00:00» # time to run (1 day in this case)\nsrun ./a.out\n"),
    Bad(
        "#!/bin/bash\n# Only 1 hour of wall-clock time will be given\n#SBATCH -t «08:00:00»\nsrun ./a.out\n",
        severity="info",
        title="more than the comment says",
    ),
    Bad("#!/bin/bash\n#SBATCH -N «1»  # allocate 2 nodes\nsrun ./a.out\n", severity="info", title="a number of nodes"),
    Bad("#!/bin/bash\n#SBATCH --gres=«gpu:0»  # Request 1 GPU\nsrun python train.py --device cuda\n", title="no GPU"),
    Good("#!/bin/bash\n#SBATCH --time=1-00:00:00  # 24 hours\nsrun ./a.out\n", title="the same in another unit"),
    Good("#!/bin/bash\n#SBATCH --time=08:00:00  # takes about 2 hours\nsrun ./a.out\n", title="what it takes"),
    Good("#!/bin/bash\n#SBATCH --time=08:00:00  # max 7 days in this partition\nsrun ./a.out\n", title="a bound"),
]
