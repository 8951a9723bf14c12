"""`--export`: which variables a batch script starts with.

sbatch refuses no value. A keyword counts only where it is a whole item; commas split the list, except inside quotes
that reach sbatch (`find_quote_token()` and `env_merge_filter()`, src/common/env.c; `fill_job_desc_from_opts()`,
src/sbatch/sbatch.c, Slurm 20.11 to 26.05).
"""

from __future__ import annotations

from typing import NamedTuple

from sbatchlint.slurm.versions import is_before


class Export(NamedTuple):
    """What a value of `--export` passes on.

    `everything`: whether the environment of the submission is passed on as a whole (ALL, alone or in a list).
    `keyword`: `ALL`, `NONE` or `NIL` where the value is nothing else, else None. `names`: the variables listed, in
    order, with the value given to each, or None where it is passed on as it is.
    """

    everything: bool
    keyword: str | None
    names: tuple[tuple[str, str | None], ...]


def parse(text: str, version: str = "26.05") -> Export:
    """Reads a value of `--export`. NIL is a keyword from 23.02 on (23.02.3); before, it is a variable's name."""
    upper = text.upper()
    if upper == "ALL":
        return Export(True, "ALL", ())
    if upper == "NONE" or upper == "NIL" and not is_before(version, "23.02"):
        return Export(False, upper, ())
    everything = False
    names: list[tuple[str, str | None]] = []
    for item in items(text):
        if item.upper() == "ALL":
            everything = True
            continue
        name, equals, value = item.partition("=")
        names.append((name, value if equals else None))
    return Export(everything, None, tuple(names))


def items(text: str) -> list[str]:
    """Splits a list at its commas; those inside `'…'` or `"…"` do not count, and empty items are left out.

    Quotes around a whole item are taken off, all others stay: `A="1,2"` gives A a value with its quotes.
    """
    found: list[str] = []
    single = double = False
    start = 0
    for at, character in enumerate(text):
        if character == "'":
            single = not single
        elif character == '"':
            double = not double
        elif character == "," and not single and not double:
            found.append(text[start:at])
            start = at + 1
    found.append(text[start:])
    return [_bare(each) for each in found if each]


def _bare(item: str) -> str:
    return item[1:-1] if len(item) > 1 and item[0] in "'\"" and item[-1] == item[0] else item
