"""`--gres=gpu:4` beside `--gpus-per-node=4`: whether the two ask for the same, and how to say it once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.conflicts.gpu_arithmetic import UnknownValue, gpus_of, resources_of
from sbatchlint.slurm.grammar.resources import Item
from sbatchlint.slurm.model import Setting
from sbatchlint.source.edits import Edit

if TYPE_CHECKING:
    from sbatchlint.slurm.conflicts.causes import Cause
    from sbatchlint.slurm.directives import Directives


class TwiceAsked(NamedTuple):
    """GPUs for each node, asked for in both forms.

    `equal`: whether both ask for the same GPUs, a type named by only one of them taken for both; None where that is not
    known. `edits`: what drops the GPUs from `--gres`, where they are equal and nothing else would come to count.
    """

    gres: Setting
    per_node: Setting
    equal: bool | None
    edits: tuple[Edit, ...] | None


def twice_asked(directives: Directives, cause: Cause) -> TwiceAsked | None:
    """The two settings, where they and no others are what does not go together."""
    gres, per_node = cause.setting("gres"), cause.setting("gpus-per-node")
    if len(cause.settings) != 2 or not isinstance(gres, Setting) or not isinstance(per_node, Setting):
        return None
    newest = directives.versions.last
    try:
        in_gres = [item for item in resources_of(gres.text, newest) if item.name == "gpu"]
        in_node = list(gpus_of(per_node.text, newest))
    except UnknownValue:
        return TwiceAsked(gres, per_node, None, None)
    equal = sorted(map(_meant, in_gres)) == sorted(map(_meant, in_node)) or _alike(in_gres, in_node)
    only = len(directives.all("gres", gres.component)) == 1
    return TwiceAsked(gres, per_node, equal, _merged(directives, gres, per_node, in_gres) if equal and only else None)


def _meant(item: Item) -> tuple[str, int]:
    return item.type, item.count


def _alike(first: list[Item], second: list[Item]) -> bool:
    """One item each, of equal number, of which only one names a type."""
    if len(first) != 1 or len(second) != 1 or first[0].count != second[0].count:
        return False
    return not first[0].type or not second[0].type


def _merged(directives: Directives, gres: Setting, per_node: Setting, items: list[Item]) -> tuple[Edit, ...]:
    gpus = {item.text for item in items}
    rest = [part for part in (gres.text or "").split(",") if part and part.removeprefix("gres/") not in gpus]
    edits = [directives.replacement(gres, ",".join(rest))] if rest else directives.removal([gres])
    if len(items) == 1 and items[0].type and items[0].type not in (per_node.text or ""):
        edits = [*edits, directives.replacement(per_node, f"{items[0].type}:{items[0].count}")]
    return tuple(edits)
