"""The symptoms, in a module for each program or library that prints them."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from sbatchlint.diagnose.symptom import Symptom

# What any program may print, and what every failure leaves: asked where no other symptom has the line.
_GENERAL = ("files", "languages", "programs", "shell", "account", "crashes", "generic")


@cache
def symptoms() -> dict[str, Symptom]:
    """All symptoms by id. Every module of this package has a tuple `SYMPTOMS`; of two that match a line, the first is
    taken: that of the module whose name comes first, those of `_GENERAL` after all others."""
    found: dict[str, Symptom] = {}
    special = sorted({each.name for each in iter_modules(__path__)} - set(_GENERAL))
    for module in (*special, *_GENERAL):
        for symptom in import_module(f"{__name__}.{module}").SYMPTOMS:
            if found.setdefault(symptom.id, symptom) is not symptom:
                raise ValueError(f"two symptoms are called {symptom.id}")
    return found
