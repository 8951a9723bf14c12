"""Writes sbatchlint/slurm/data/options.json, the option table the linter loads, from the table read out of Slurm.

    python tools/build_options.py [--check] [RAW]

RAW is tools/data/slurm-options.json unless named: one object an option, with its releases listed one by one. What is
written holds releases as ranges, and leaves out what only a reader needs. `--check` writes nothing and exits 1 when
the file is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / "tools" / "data" / "slurm-options.json"
OUTPUT = ROOT / "sbatchlint" / "slurm" / "data" / "options.json"

sys.path.insert(0, str(ROOT))

from sbatchlint.slurm.versions import MAJORS, major, shorten  # noqa: E402

KEPT = ("kind", "words", "words_since", "form", "unit", "default", "letters", "forbidden", "aliases")
ARGUMENTS = ("none", "required", "optional")


def releases(value: str | list[str]) -> str:
    return "all" if value == "all" else shorten(value)


def argument(value: str | dict[str, str]) -> str | list[list[str]]:
    """`required`, or [[first release, argument], …] where it changed."""
    if isinstance(value, str):
        if value not in ARGUMENTS:
            raise ValueError(f"unknown argument {value!r}")
        return value
    since = sorted(((major(text.rstrip("+")), name) for name, text in value.items()), key=lambda x: MAJORS.index(x[0]))
    if not all(name in ARGUMENTS for _, name in since):
        raise ValueError(f"unknown argument in {value!r}")
    return [list(pair) for pair in since]


def compact(option: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if "name" in option:
        out["name"] = option["name"]
    if "short" in option:
        out["letter"] = option["short"]
    out["argument"] = argument(option["arg"])
    out["commands"] = {command: releases(value) for command, value in option["commands"].items()}
    if "alias_of" in option:
        out["alias_of"] = option["alias_of"]
    if option.get("ignored_in_script_directive"):
        out["early"] = True
    for key in KEPT:
        if key in option:
            out[key] = option[key]
    if "env" in option:
        out["environment"] = {
            command: {name: releases(value) for name, value in names.items()}
            for command, names in option["env"].items()
        }
    return out


def build(raw: dict[str, Any]) -> str:
    meta = raw["meta"]
    head = {
        "files": ["src/common/slurm_opt.c", "src/sbatch/opt.c", "src/srun/opt.c", "src/salloc/opt.c"],
        "tags": meta["tags"],
        "by_hand": "kind, words and form were read from the arg_set_* and validation functions by hand",
    }
    if tuple(head["tags"]) != MAJORS:
        raise ValueError("the table is of other releases than sbatchlint/slurm/versions.py")
    options = [json.dumps(compact(option), separators=(",", ":"), ensure_ascii=False) for option in raw["options"]]
    return '{"provenance":' + json.dumps(head) + ',\n"options":[\n' + ",\n".join(options) + "\n]}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="builds the option table of sbatch, srun and salloc")
    parser.add_argument("raw", nargs="?", type=Path, default=RAW)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    chosen = parser.parse_args(arguments)
    text = build(json.loads(chosen.raw.read_text(encoding="utf-8")))
    if chosen.check:
        same = OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == text
        if not same:
            print(f"{OUTPUT.relative_to(ROOT)} is not up to date; run tools/build_options.py", file=sys.stderr)
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
