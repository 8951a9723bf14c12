"""Compares what the model says of batch scripts with what a live Slurm does with them; nothing is ever run.

    python tools/compare_directives.py [--prefix FOLDER] [--drawn N] [--seed N] [--shown N] [--small] [PATH ...]

Without files it draws N option blocks (300). Every script is submitted as a held job on a private cluster
(tests/slurm/local_slurm.py; needs root and munge), looked at and cancelled. Differences are printed by kind, each with
its shortest script; `--small` leaves out of that what does not matter. Exits 1 where something differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from slurm.comparison import Compared, compare_all, kinds, names_of, smallest, with_anchor  # noqa: E402
from slurm.drawn import draw_blocks  # noqa: E402
from slurm.local_slurm import LocalSlurm, Unavailable  # noqa: E402

WIDTH = 240


def scripts_of(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                yield file.read_bytes().decode("utf-8", "surrogateescape")


def kind_of(what: str, ours: str, theirs: str) -> tuple[str, ...]:
    """Differences with one cause have one kind, mostly."""
    name = what.partition(" of component")[0]
    if name not in ("verdict", "message"):
        return (name,)
    return (name, *(re.sub(r"\d+|\"[^\"]*\"|'[^']*'|\[[^]]*\]", "_", text)[:80] for text in (ours, theirs)))


def by_kind(found: list[Compared]) -> list[tuple[int, Compared]]:
    """How many differences of each kind there are, with the shortest script of each."""
    groups: dict[tuple[str, ...], list[Compared]] = {}
    for compared in found:
        for seen in compared.wrong:
            groups.setdefault(kind_of(*seen), []).append(compared._replace(wrong=(seen,)))
    counted = [(len(group), min(group, key=lambda each: len(each.script))) for group in groups.values()]
    return sorted(counted, key=lambda item: -item[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix")
    parser.add_argument("--drawn", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shown", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    given = list(scripts_of(options.paths))
    try:
        slurm = LocalSlurm(options.prefix, *names_of(given))
    except Unavailable as error:
        print(f"no Slurm: {error}", file=sys.stderr)
        return 2
    try:
        slurm.start()
        return run(slurm, given, options)
    except Unavailable as error:
        print(f"no Slurm: {error}", file=sys.stderr)
        return 2
    finally:
        slurm.stop()


def run(slurm: LocalSlurm, given: list[str], options: argparse.Namespace) -> int:
    scripts = [with_anchor(script) for script in given] or draw_blocks(slurm.version, options.drawn, options.seed)
    results = compare_all(slurm, scripts)
    wrong = [each for each in results if each.wrong]
    fields = sum(each.fields for each in results)
    print(f"Slurm {slurm.version}: {len(results)} scripts, {kinds(results)}, {fields} fields; {len(wrong)} differ")
    for number, compared in by_kind(wrong)[: options.shown]:
        shortest = smallest(slurm, compared) if options.small else compared
        for what, ours, theirs in shortest.wrong or compared.wrong:
            print(f"\n{number} x {what}\n    model: {ours[:WIDTH]!r}\n    Slurm: {theirs[:WIDTH]!r}")
        print("    " + repr(shortest.script)[: 4 * WIDTH])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
