"""The stages and triggers of all checks, without loading the checks.

A wheel contains them in a file that is written when the wheel is built (building.py). In a checkout they are read from
the cards, and cached next to the bytecode until a file of sbatchlint changes.
"""

import json
import os
from functools import lru_cache

from sbatchlint import triggers
from sbatchlint.installation import state
from sbatchlint.registry import Registry, entries, is_checkout
from sbatchlint.source.files import Uninterrupted
from sbatchlint.triggers import AnyOf, Trigger

FILE = "checks.json"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))

# The stage of a check, and the class and words of each trigger on its card.
Row = tuple[str, list[list[str]]]


class CardIndex:
    """The stages and triggers of the checks, by module.

    `optional`: the checks whose stage is not "stable", so that they run only when selected by their own code or name.
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
    packaged = os.path.join(_PACKAGE, FILE)
    if not is_checkout() and os.path.exists(packaged):
        with open(packaged, encoding="utf-8") as file:
            return CardIndex(json.load(file))
    current = state()
    path = os.path.join(_PACKAGE, "__pycache__", FILE)
    try:
        with open(path, encoding="utf-8") as file:
            cached, rows = json.load(file)
    except (OSError, ValueError):
        cached, rows = None, {}
    if current is None or cached != current:
        rows = read_cards()
        if current is not None:
            _save(path, current, rows)
    return CardIndex(rows)


def read_cards() -> dict[str, Row]:
    """The rows of all checks, by module. A check that cannot be loaded is left out, so every run asks it."""
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


def _save(path: str, current: str, rows: dict[str, Row]) -> None:
    new = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with Uninterrupted():
            with open(new, "w", encoding="utf-8") as file:
                json.dump((current, rows), file)
            os.replace(new, path)
    except OSError:
        pass  # a checkout owned by somebody else: the next run reads the cards again
