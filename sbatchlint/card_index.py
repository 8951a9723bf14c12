"""The stages and triggers on the cards of all checks, known without loading the checks.

A wheel brings them in a file, which is written when the wheel is built (building.py). In a checkout they are read from
the cards, and kept beside the bytecode for as long as no file of sbatchlint changes.
"""

import json
import os
from functools import lru_cache

from sbatchlint import triggers
from sbatchlint.installation import state
from sbatchlint.registry import Registry, entries, is_checkout
from sbatchlint.triggers import AnyOf, Trigger

FILE = "checks.json"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))

# The stage of a check, and the class and the words of each trigger of which one is enough.
Row = tuple[str, list[list[str]]]


class CardIndex:
    """`optional`: the checks that run only where they are selected by their own code or name, as their stage is not
    "stable"; `triggers`: those that the others have. Both by modules.
    """

    def __init__(self, rows: dict[str, Row]) -> None:
        self.optional = {module for module, (stage, _) in rows.items() if stage != "stable"}
        self.triggers = {module: _trigger(parts) for module, (_, parts) in rows.items() if parts}


def _trigger(rows: list[list[str]]) -> Trigger:
    parts: list[Trigger] = [getattr(triggers, kind)(*words) for kind, *words in rows]
    return parts[0] if len(parts) == 1 else AnyOf(*parts)


@lru_cache(maxsize=1)
def card_index() -> CardIndex:
    """The index of this installation."""
    brought = os.path.join(_PACKAGE, FILE)
    if not is_checkout() and os.path.exists(brought):
        with open(brought, encoding="utf-8") as file:
            return CardIndex(json.load(file))
    current = state()
    path = os.path.join(_PACKAGE, "__pycache__", FILE)
    try:
        with open(path, encoding="utf-8") as file:
            kept, rows = json.load(file)
    except (OSError, ValueError):
        kept, rows = None, {}
    if current is None or kept != current:
        rows = read_cards()
        if current is not None:
            _keep(path, current, rows)
    return CardIndex(rows)


def read_cards() -> dict[str, Row]:
    """The rows of all checks, which this loads. One that cannot be loaded is left out, and so is asked in every run."""
    registry = Registry(entries())
    rows = {}
    for entry in registry.entries:
        try:
            card = registry.load(entry).card
        except Exception:
            continue  # the run that asks it reports why
        parts = () if card.when is None else card.when.parts
        rows[entry.module] = (card.stage, [[type(part).__name__, *part.words] for part in parts])
    return rows


def _keep(path: str, current: str, rows: dict[str, Row]) -> None:
    new = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(new, "w", encoding="utf-8") as file:
            json.dump((current, rows), file)
        os.replace(new, path)
    except OSError:
        pass  # a checkout that others own: they are read again in the next run
