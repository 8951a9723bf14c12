"""Variables for caches that have other names by now: which they are, and where the script sets them.

Transformers 4.57 warns of its three (utils/hub.py), and 5.23 does not read them any more; huggingface_hub 2.4 still
reads its two old names (constants.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# The new name for the same folder.
RENAMED = {
    "TRANSFORMERS_CACHE": "HF_HUB_CACHE",
    "PYTORCH_TRANSFORMERS_CACHE": "HF_HUB_CACHE",
    "PYTORCH_PRETRAINED_BERT_CACHE": "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE": "HF_HUB_CACHE",
    "HUGGINGFACE_ASSETS_CACHE": "HF_ASSETS_CACHE",
}


class RenamedCache(NamedTuple):
    """A variable under its old name. `span`: the name where it is set. `ignored`: newer releases do not read it.

    `home`: the script sets HF_HOME as well. `edits`: the new name at every place, where that name is free.
    """

    name: str
    new: str
    span: Span
    ignored: bool
    home: bool
    edits: tuple[Edit, ...]


def renamed_caches(job: Job) -> Iterator[RenamedCache]:
    """Each place at which such a variable is exported."""
    names = {each.name for each in job.assigned}
    seen = set()
    for each in job.assigned:
        new = RENAMED.get(each.name)
        if (
            new is None
            or not each.exported
            or each.name_span in seen
            or not any(way.fields for way in each.alternatives)
        ):
            continue
        seen.add(each.name_span)
        edits = () if new in names or _others(names, each.name) else _edits(job, each.name, new)
        yield RenamedCache(each.name, new, each.name_span, "HUGGINGFACE" not in each.name, "HF_HOME" in names, edits)


def _others(names: set[str], name: str) -> bool:
    """Whether another variable of the script would get the same new name."""
    return any(other in names and other != name and RENAMED[other] == RENAMED[name] for other in RENAMED)


def _edits(job: Job, name: str, new: str) -> tuple[Edit, ...]:
    return tuple(Edit(Span(found.start(), found.end()), new) for found in re.finditer(rf"\b{name}\b", job.source.text))
