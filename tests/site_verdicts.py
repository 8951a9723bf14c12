"""Whether the checks of a cluster say of scripts what its sbatch said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sbatchlint.linting import inspect_file
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.site.collecting import Output, profile_of
from sbatchlint.site.model import Profile
from sbatchlint.site.writing import as_toml
from sbatchlint.source.text import Source

# Without what is only advice: whole partitions of which a part is requested, small defaults.
_OF_THE_CLUSTER = re.compile("SB91[0-69]|SB92[01]")
# What a profile does not know: the reservations; without names of accounts, who may use which and what these may have.
_UNKNOWN = re.compile("Requested reservation is invalid")
_ACCOUNTS = re.compile("Assoc[A-Z]|Invalid account")
# What a QOS decides; the one that a job has without --qos is not known without accounts.
_BY_QOS = re.compile(
    "accounting/QOS policy|Node count specification|time limit|Invalid qos|partition configuration not available now"
    "|time-min specification"
)
# So many nodes of a feature, which a QOS may not allow.
_COUNTED = re.compile(r"(?m)^#SBATCH -C .*\*[0-9]")
# A QOS that exists, and that the account of the user does not have.
_NOT_OURS = re.compile(r"(?m)^#SBATCH -q secret$")
# In which order the controller has its nodes.
_ORDER = re.compile(r"--contiguous\b")
# 22.05 refuses some jobs that have CPUs or tasks by their GPUs, and counts the memory of the first node of a partition,
# whichever that is, for all memory of one (--mem=0).
_OF_2205 = re.compile(r"--gpus-per-node=4 --cpus-per-gpu=10|--ntasks-per-gpu|--mem=0\b[\s\S]*-q strict")
# Since 23.02, tasks that the GPUs of a job divide are first placed by the CPUs of each GPU, and 26.05.3 keeps to that
# where it does not work out (`_estimate_cpus_per_gres()` in gres_filter.c): by which cores the GPUs are bound to, which
# no profile says.
_TASKS = re.compile(r"(?m)^#SBATCH (?:.* )?-n (\d+)")
_GPUS = re.compile(r"(?m)^#SBATCH (?:.* )?(?:-G |--gpus=)(?:\w+:)?(\d+)")


class Answer(NamedTuple):
    """What sbatch said of a script."""

    script: str
    accepted: bool
    messages: str


def recorded(outputs: Iterable[Output], answers: Iterable[Answer]) -> str:
    """What a cluster and its sbatch said, as a line of JSON for each answer after one for what its commands print."""
    return "".join(f"{json.dumps(each)}\n" for each in (dict(outputs), *answers))


def read_record(path: Path) -> tuple[Profile, list[Answer]]:
    """The same from a file."""
    first, *others = path.read_text().splitlines()
    outputs = [Output(name, text) for name, text in json.loads(first).items()]
    of_user = next((each.name for each in outputs if each.name.startswith("id ")), None)
    profile = profile_of(outputs, private=True, user=of_user.removeprefix("id ") if of_user else None)
    return profile, [Answer(*json.loads(each)) for each in others]


def disagreements(profile: Profile, answers: Iterable[Answer], folder: Path) -> list[tuple[str, str, list[str]]]:
    """The scripts of which sbatch and the checks do not say the same, with what both say."""
    path = folder / "site.toml"
    path.write_text(as_toml(profile))
    settings = Resolver(Overrides(site=str(path), isolated=True)).settings("job.sh")
    wrong = []
    for script, accepted, messages in answers:
        found = inspect_file(Source(script, "job.sh"), settings).diagnostics
        own = [each for each in found if _OF_THE_CLUSTER.match(each.code)]
        said = [f"{each.code} {each.severity}: {each.message}" for each in found]
        if accepted and any(each.severity == "error" for each in own):
            wrong.append((script, "accepted", said))
        elif not accepted and not own and not any("refuse" in each.message for each in found):
            if not _is_open(profile, script, messages):
                wrong.append((script, messages, said))
    return wrong


def _is_open(profile: Profile, script: str, messages: str) -> bool:
    """Whether the profile does not decide that sbatch refuses a script."""
    by_qos = _BY_QOS.search(messages) or _COUNTED.search(script)
    if profile.qos and not profile.any_account:
        if "#SBATCH -q" not in script and by_qos or _ACCOUNTS.search(messages) or _NOT_OURS.search(script):
            return True
    if (profile.release or "") < "23.02":
        return any(each.search(text) for each, text in ((_UNKNOWN, messages), (_ORDER, script), (_OF_2205, script)))
    if "configuration is not available" in messages and _is_placed_by_gpus(script):
        return True
    return bool(_UNKNOWN.search(messages) or _ORDER.search(script))


def _is_placed_by_gpus(script: str) -> bool:
    tasks, gpus = ([int(each) for each in pattern.findall(script)][-1:] for pattern in (_TASKS, _GPUS))
    if not tasks or not gpus or not tasks[0] or not gpus[0] or re.search("--cpus-per-gpu|--overcommit", script):
        return False
    return max(tasks[0], gpus[0]) % min(tasks[0], gpus[0]) == 0
