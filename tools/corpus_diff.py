"""Compares the findings of two states of sbatchlint over a folder of batch scripts, grouped by check.

    python tools/corpus_diff.py FOLDER...                        the last commit, and the working tree
    python tools/corpus_diff.py --before v0.1.0 FOLDER...        another revision, and the working tree
    python tools/corpus_diff.py --before ../other-tree FOLDER...  another checkout, and the working tree
    python tools/corpus_diff.py --fired tests/data/fired.txt FOLDER...   adds the checks that report something to a list

All checks run, preview ones too, and advice is included. `-` is a finding that is gone, `+` a new one, `~` one with
another severity, message, place or fix. Exit code: 0 the findings are the same, 1 they differ, 2 wrong usage, 3 one of
the two could not be run.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# What may change without the finding being another one.
DETAILS = ("severity", "message", "end_location", "related", "fix")
FIRED_NOTE = (
    "# Checks that reported something in real scripts or in re-created failures of real ones; written by\n"
    "# tools/corpus_diff.py --fired over a collection that is not part of this repository.\n"
)

Finding = dict[str, Any]


class CannotRun(Exception):
    """A state of sbatchlint cannot be brought here or run."""


class Run(NamedTuple):
    """What one state says: its findings, and the lines about faults of its own."""

    findings: list[Finding]
    faults: list[str]


class Changes(NamedTuple):
    """The differences of one check."""

    gone: list[Finding]
    new: list[Finding]
    changed: list[tuple[Finding, Finding]]

    def __bool__(self) -> bool:
        return any(self)


@contextmanager
def tree_of(state: str) -> Iterator[Path]:
    """The folder of a state: a checkout is used where it lies, a revision is unpacked for as long as it is needed."""
    if Path(state, "sbatchlint", "__init__.py").is_file():
        yield Path(state).resolve()
        return
    archive = subprocess.run(["git", "archive", "--format=tar", state], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise CannotRun(f"'{state}' is neither a checkout nor a revision: {archive.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory(prefix="sbatchlint-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as members:
            # what else than data an archive could hold is refused from Python 3.11.4 on
            members.extraction_filter = getattr(tarfile, "data_filter", None)
            members.extractall(folder)
        yield Path(folder)


def command(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line of a tree, from the current folder."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "SBATCHLINT_NO_CACHE": "1"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "sbatchlint", *arguments],
        env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip


def run(tree: Path, paths: list[str]) -> Run:
    listed = command(tree, "checks", "--output-format", "json")
    if listed.returncode:
        raise CannotRun(f"{tree}: {listed.stderr.strip()}")
    codes = ",".join(check["code"] for check in json.loads(listed.stdout))
    options = ["--isolated", "--select", codes, "--min-severity", "info", "--output-format", "json"]
    done = command(tree, *options, "--", *paths)
    if done.returncode not in (0, 1, 3):
        raise CannotRun(f"{tree}: {done.stderr.strip()}")
    return Run(json.loads(done.stdout), done.stderr.splitlines() if done.returncode == 3 else [])


def compare(before: list[Finding], after: list[Finding], words: bool = True) -> dict[str, Changes]:
    """The differences by check, for those that have any. `words`: messages, labels and titles count."""
    found = {}
    old, new = by_code(before), by_code(after)
    for code in sorted(old.keys() | new.keys()):
        changes = compare_check(old[code], new[code], words)
        if changes:
            found[code] = changes
    return found


def by_code(findings: Iterable[Finding]) -> defaultdict[str, list[Finding]]:
    groups: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding["code"]].append(finding)
    return groups


def compare_check(before: list[Finding], after: list[Finding], words: bool) -> Changes:
    """First what is wholly the same goes, then what stands at the same place is paired, then on the same line."""
    gone, new = without_common(before, after, words)
    changed: list[tuple[Finding, Finding]] = []
    for place in (exact_place, line):
        waiting: defaultdict[object, list[Finding]] = defaultdict(list)
        for finding in new:
            waiting[place(finding)].append(finding)
        rest = []
        for finding in gone:
            partners = waiting[place(finding)]
            if partners:
                changed.append((finding, partners.pop(0)))
            else:
                rest.append(finding)
        gone, new = rest, [finding for partners in waiting.values() for finding in partners]
    return Changes(gone, new, changed)


def without_common(before: list[Finding], after: list[Finding], words: bool) -> tuple[list[Finding], list[Finding]]:
    common = Counter(content(each, words) for each in before) & Counter(content(each, words) for each in after)
    rests = []
    for findings in (before, after):
        left, rest = common.copy(), []
        for finding in findings:
            key = content(finding, words)
            if left[key]:
                left[key] -= 1
            else:
                rest.append(finding)
        rests.append(rest)
    return rests[0], rests[1]


def content(finding: Finding, words: bool) -> str:
    """All that is compared. A check's name and address may change: its code is what it is known by."""
    value = {name: each for name, each in finding.items() if name not in ("name", "url")}
    if not words:
        del value["message"]
        value["related"] = [{**each, "message": ""} for each in value["related"]]
        value["fix"] = value["fix"] and {**value["fix"], "message": ""}
    return json.dumps(value, sort_keys=True)


def exact_place(finding: Finding) -> object:
    return finding["filename"], finding["location"]["row"], finding["location"]["column"]


def line(finding: Finding) -> object:
    return finding["filename"], finding["location"]["row"]


def shown_place(finding: Finding) -> str:
    return f"{finding['filename']}:{finding['location']['row']}:{finding['location']['column']}"


def shown_fix(fix: Finding | None) -> str:
    if fix is None:
        return "none"
    edits = [
        f"{edit['location']['row']}:{edit['location']['column']}-"
        f"{edit['end_location']['row']}:{edit['end_location']['column']} {edit['content']!r}"
        for edit in fix["edits"]
    ]
    return f"{fix['applicability']}, {fix['message']}: {', '.join(edits)}"


def shown(name: str, value: Any) -> str:
    """One detail of a finding in words."""
    if name == "fix":
        return shown_fix(value)
    if name == "related":
        return "; ".join(f"{each['location']['row']}:{each['location']['column']} {each['message']}" for each in value)
    return f"{value['row']}:{value['column']}" if isinstance(value, dict) else str(value)


def note_fired(path: Path, codes: set[str]) -> None:
    """Adds codes to a list of those that have reported something."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {line for line in lines if not line.startswith("#")}
    path.write_text(FIRED_NOTE + "".join(f"{code}\n" for code in sorted(known | codes)), encoding="utf-8")
    print(f"{len(codes)} checks report something, {', '.join(sorted(codes - known)) or 'none'} for the first time")


def report(changes: dict[str, Changes], names: dict[str, str]) -> Iterator[str]:
    """The lines of the diff."""
    for code, (gone, new, changed) in changes.items():
        yield f"{code} {names[code]}"
        for mark, findings in (("-", gone), ("+", new)):
            for finding in sorted(findings, key=shown_place):
                yield f"  {mark} {shown_place(finding)}  {finding['severity']}: {finding['message']}"
        for old, now in changed:
            moved = "" if exact_place(old) == exact_place(now) else f" (was at {shown_place(old)})"
            yield f"  ~ {shown_place(now)}{moved}  {now['message']}"
            for name in DETAILS:
                was, is_now = shown(name, old[name]), shown(name, now[name])
                if was != is_now:
                    yield f"      {name} - {was}"
                    yield f"      {' ' * len(name)} + {is_now}"
        yield ""


def summary(changes: dict[str, Changes], before: Run, after: Run) -> Iterator[str]:
    """A table: how many findings the checks with differences have, and of what kind these are."""
    old, now = (Counter(each["code"] for each in state.findings) for state in (before, after))
    row = "{:<6}{:>8}{:>8}{:>7}{:>7}{:>9}".format
    yield row("check", "before", "after", "new", "gone", "changed")
    sums: Counter[str] = Counter()
    for code, (gone, new, changed) in changes.items():
        yield row(code, old[code], now[code], len(new), len(gone), len(changed))
        sums.update(new=len(new), gone=len(gone), changed=len(changed))
    yield row("all", old.total(), now.total(), sums["new"], sums["gone"], sums["changed"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="FOLDER", help="folders of batch scripts, or single ones")
    parser.add_argument("--before", default="HEAD", metavar="REVISION|TREE", help="default: HEAD, the last commit")
    parser.add_argument("--after", default=str(ROOT), metavar="REVISION|TREE", help="default: the working tree")
    parser.add_argument("--no-words", action="store_true", help="messages, labels and titles may differ")
    parser.add_argument(
        "--fired",
        metavar="FILE",
        help="add the codes of the checks that report something to a list, and compare nothing",
    )
    options = parser.parse_args(arguments)
    for path in options.paths:
        if not os.path.exists(path):
            parser.error(f"there is no {path}")
    try:
        with tree_of(options.after) as tree:
            after = run(tree, options.paths)
        if options.fired:
            note_fired(Path(options.fired), {finding["code"] for finding in after.findings})
            return 0
        with tree_of(options.before) as tree:
            before = run(tree, options.paths)
    except CannotRun as error:
        print(error, file=sys.stderr)
        return 3
    changes = compare(before.findings, after.findings, words=not options.no_words)
    names = {finding["code"]: finding["name"] for finding in before.findings + after.findings}
    for text in report(changes, names):
        print(text)
    for when, state in (("before", before), ("after", after)):
        for text in state.faults:
            print(f"fault {when}: {text}")
    for text in summary(changes, before, after):
        print(text)
    return 1 if changes or before.faults != after.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
