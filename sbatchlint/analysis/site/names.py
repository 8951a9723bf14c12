"""Names that the cluster does not have: resources, their types, features, licences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.site.demand import feature_names
from sbatchlint.analysis.site.targets import named_partitions
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job
from sbatchlint.job.request import GPU_OPTIONS, Request, resource_items
from sbatchlint.site.profile import GPU, gres_of, lists
from sbatchlint.slurm.edit_distance import FAR, edit_distance
from sbatchlint.slurm.grammar.resources import ResourceFault, licences
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.site.model import Profile

# A number, with the letters of a model beside it; of a longer word (`node12`) only the number.
_NUMBER = Regex(r"(?<![a-z])[a-z]{0,3}[0-9]+[a-z]{0,2}(?![a-z])|[0-9]+")
# What a request may name beside GRES: --tres-per-task=cpu=4,license/x=1
TRES = "tres-per-task"
_NO_GRES = ("cpu", "mem", "node", "energy", "billing", "license", "bb", "fs")


class UnknownName(NamedTuple):
    """A name that an option has. `kind`: "name" or "type" of a resource, "feature", "licence". `known`: all."""

    option: str
    name: str
    kind: str
    known: tuple[str, ...]


def unknown_partitions(profile: Profile, request: Request) -> list[str]:
    """The partitions that a component names and the cluster does not have."""
    names = named_partitions(request) or ()
    return [name for name in names if name not in profile.partitions] if lists(profile, "partitions") else []


def unknown_resources(profile: Profile, request: Request) -> list[UnknownName]:
    """The resources that no node has, by name or type, and the licences that the cluster does not have."""
    every = profile.licenses
    asked = {} if every is None else licences_of(request)
    named = request.value("licenses") or ""
    found = [
        UnknownName("licenses" if name in named else TRES, name, "licence", tuple(every or ()))
        for name in asked
        if name not in (every or {})
    ]
    for option in GPU_OPTIONS:
        text = request.value(option)
        for item in (None if text is None else resource_items(option, text, request.version)) or ():
            if item.name.partition("/")[0] in _NO_GRES or item.count == 0:
                continue
            types = _types(profile, item.name)
            if profile.gres_types is not None and item.name not in profile.gres_types:
                found.append(UnknownName(option, item.name, "name", profile.gres_types))
            elif item.type and _names_types(profile, item.name) and item.type not in types:
                found.append(UnknownName(option, item.type, "type", types))
    return found


def licences_of(request: Request) -> dict[str, int]:
    """The licences that a job needs, and how many of each at least; none where it takes one of several (`|`).

    Those of --tres-per-task count for each task (`_set_tot_license_req()` in src/slurmctld/job_mgr.c, since 23.11).
    """
    text, for_tasks = request.value("licenses"), request.value("tres-per-task")
    items = None if text is None or "|" in text else licences(text, request.version)
    found: dict[str, int] = {}
    for item in () if items is None or isinstance(items, ResourceFault) else items:
        if item.count:
            found[item.name] = found.get(item.name, 0) + item.count
    tasks = max(request.counts.ntasks, 1) if request.counts is not None else 1
    every = None if for_tasks is None or "|" in (text or "") else resource_items(TRES, for_tasks, request.version)
    for each in every or ():
        kind, _, name = each.name.partition("/")
        if kind == "license" and name and each.count:
            found[name] = found.get(name, 0) + each.count * tasks
    return found


def _names_types(profile: Profile, name: str) -> bool:
    """Whether the types of a resource are known of all nodes."""
    known = (each.gres is not None or name == GPU and each.gpus == 0 for each in profile.nodes)
    return lists(profile, "nodes") and all(known)


def _types(profile: Profile, name: str) -> tuple[str, ...]:
    every = {each.type for nodes in profile.nodes for each in gres_of(nodes) if each.name == name and each.type}
    return tuple(sorted(every))


def unknown_features(profile: Profile, request: Request) -> list[UnknownName]:
    """The features that no node has."""
    if not lists(profile, "nodes") or any(each.features is None for each in profile.nodes):
        return []
    known = tuple(sorted({each for nodes in profile.nodes for each in nodes.features or ()}))
    return [
        UnknownName(option, name, "feature", known)
        for option in ("constraint", "prefer")
        for name in feature_names(request.value(option))
        if name not in known
    ]


def listing(names: Sequence[str], most: int = 8) -> str:
    """Names in a message, as many as are read at a glance."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def instead_of(
    meant: str | None, known: Sequence[str], none: str = "there are none", sizes: Mapping[str, str] | None = None
) -> str:
    """What to write, in a message.

    `meant`: by `nearest`; `none`: what is said where nothing is known; `sizes`: how many or how much there is of each.
    """
    named = {name: f" ({sizes[name]})" if sizes is not None and sizes.get(name) else "" for name in known}
    if meant is not None:
        return f"write `{meant}`{named.get(meant, '')}, if that is intended"
    said = [f"{name}{size}" for name, size in named.items()]
    return f"available: {listing(said, 3 if any(named.values()) else 8)}" if known else none


def correction(job: Job, request: Request, unknown: UnknownName, meant: str | None) -> Fix | None:
    """The fix that writes the name that is meant; None where the option has the unknown one several times."""
    setting = request.setting(unknown.option)
    if setting is None or not setting.text or meant is None or setting.text.count(unknown.name) != 1:
        return None
    value = setting.text.replace(unknown.name, meant)
    return Fix(f"write {value}", [replacement(job.directives, setting, value)])


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The name that is plainly meant; None if there is none.

    Another number is another thing, and so is another letter beside one: nobody who writes a100 means h100 or a10.
    """
    known = [each for each in known if _numbers(each) == _numbers(name)]
    distance, found = min(((edit_distance(name.lower(), each.lower()), each) for each in known), default=(9, ""))
    return found if distance < FAR and 2 * distance < len(name) else None


def _numbers(name: str) -> list[str]:
    """The numbers and models in a name: `a100` and `80gb` of `nvidia_A100-80GB`."""
    return _NUMBER.findall(name.lower())
