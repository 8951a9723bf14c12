"""Conversions in real bash, with stubs for srun and the launchers: words, environment and ranks of each task.

What bash makes of a script has to be what its plan says, and the words of the programs have to be the same before and
after. The evaluator, on which plan and proof rest, has no part in the second.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from conftest import Command, Result
from sbatchlint.cli import convert as command_line
from sbatchlint.convert.conversion import Conversion, convert
from sbatchlint.convert.goal import Goal
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source
from stubbed import Record, run

# Words that a conversion adds or changes on purpose.
CHANGED = (
    "--local_rank=", "num_nodes", "--nnodes", "trainer.devices", "--num_processes", "--machine-rank",
    "--num_machines", "--dist-url", "--distributed-port", "--distributed-world-size",
)  # fmt: skip
# Variables of the ranks and the rendezvous, which a task's environment has to hold as the plan says.
VARIABLES = ("NODE_RANK", "PET_NODE_RANK", "RANK", "LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES")
# What a launcher is told of its node, by an option or a variable, and of the number of nodes.
OF_NODE = ("node_rank", "machine_rank", "NODE_RANK", "PET_NODE_RANK")
NODES = ("nnodes", "num_machines", "NNODES", "PET_NNODES")


class Converting(Command):
    """The command line, which runs in bash whatever `convert` says is proven, beside what it was made from."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        made: list[tuple[Source, Conversion]] = []

        def converted(source: Source, goal: Goal, settings: Settings) -> Conversion:
            made.append((source, convert(source, goal, settings)))
            return made[-1][1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(command_line, "converted", converted)
            result = super().__call__(*arguments, stdin=stdin)
        for source, conversion in made if result.code == 0 else ():
            with TemporaryDirectory() as folder:
                shutil.copytree(os.getcwd(), Path(folder, "work"), symlinks=True)
                check(Path(folder), source.text, conversion.source.text, conversion.before, conversion.after)
        return result


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Converting:
    """The command line over the real checks, in a folder with nothing but what a test writes."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return Converting(work, capsys, monkeypatch)


def tasks_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The tasks of a plan's steps that run what a stub stands for, each with its step."""
    tasks = [task | {"step": step} for step in plan["steps"] for task in step["by_task"] or ()]
    return [each for each in tasks if (each["argv"] or [""])[0] not in ("cp", "mkdir", "uv")]


def is_like(words: list[str], argv: list[str | None]) -> bool:
    """Whether words are those of the plan, in which None is one that is not known, or several or none."""
    if not argv:
        return not words
    if argv[0] is None:
        return any(is_like(words[at:], argv[1:]) for at in range(len(words) + 1))
    return bool(words) and words[0] == argv[0] and is_like(words[1:], argv[1:])


def is_planned(record: Record, task: dict[str, Any]) -> bool:
    known = {name: task["variables"][name] for name in VARIABLES if name in task["variables"]}
    argv = task["argv"]  # None where it differs between the values of a variable
    return (argv is None or is_like(record.argv[1:], argv[1:])) and known.items() <= record.environment.items()


def program_words(record: Record, programs: set[str]) -> tuple[str, ...]:
    """The words of a program from its file on, without those that a conversion adds or changes."""
    argv = [f"./{Path(record.argv[0]).name}", *record.argv[1:]]
    at = next((at for at, word in enumerate(argv) if Path(word).name in programs), 0)
    pairs = list(pairwise(["", *argv[at:]]))
    return tuple(
        word
        for last, word in pairs
        if not any(each in f"{last.partition('=')[0]} {word}".lower().replace("num-", "num_") for each in CHANGED)
    )


def options_of(record: Record) -> list[tuple[str, str]]:
    """The options of a launcher by their names with underscores, each with its value; a word alone has no name."""
    found: list[tuple[str, str]] = []
    words = iter([*record.argv[1:], ""])
    word = next(words)
    while word:
        name, equals, value = word.partition("=")
        key = name.lstrip("-").replace("-", "_") if name.startswith("--") else ""
        word = next(words, "")
        if key in (*OF_NODE, *NODES) and not equals:
            value, word = word, next(words, "")
        found.append((key, value or name))
    return found


def told(record: Record, names: tuple[str, ...]) -> str | None:
    """What a launcher is told under one of these names, by an option before a variable."""
    values = [value for name, value in options_of(record) if name in names]
    values += [record.environment[name] for name in names if name in record.environment]
    return values[0] if values else None


def check_ranks(records: list[Record]) -> None:
    """Raises `AssertionError` unless launchers that are told a node's rank start on each node, as many as they say."""
    groups: dict[tuple[tuple[str, str], ...], list[Record]] = defaultdict(list)
    for record in records:
        if told(record, OF_NODE) is not None and told(record, NODES) is not None:
            groups[tuple(each for each in options_of(record) if each[0] not in OF_NODE)].append(record)
    for words, group in groups.items():
        ranks = Counter(told(record, OF_NODE) for record in group)
        (nodes,) = {told(record, NODES) for record in group}
        assert ranks.keys() == set(map(str, range(int(nodes or 0)))), (words, ranks)
        assert len(set(ranks.values())) == 1, (words, ranks)


def check(folder: Path, before: str, after: str, was: dict[str, Any], made: dict[str, Any]) -> list[Record]:
    """Raises `AssertionError` unless both scripts do the same in bash, and the second what its plan says."""
    every, tasks = run(after, folder, made), tasks_of(made)
    # What an mpirun starts once has no tasks of srun.
    others = [step for step in made["steps"] if not step["by_task"] and step["command"] in ("mpirun", "mpiexec")]
    once = [each for each in every if any(each.argv[-len(step["argv"]) :] == step["argv"] for step in others)]
    records = [each for each in every if each not in once]
    assert len(once) == len(others)
    for record in records:
        assert any(is_planned(record, task) for task in tasks), (record.argv, [each["argv"] for each in tasks])
    for task in tasks:
        if "conditional" not in task["step"]:
            assert any(is_planned(record, task) for record in records), task
    if not any(name in step for step in made["steps"] for name in ("conditional", "repeated")):
        assert len(records) == len(tasks)
    check_ranks(records)
    programs = {Path(each["program"].split()[-1]).name for each in was["steps"] if each["program"]}
    old = dict.fromkeys(program_words(each, programs) for each in run(before, folder, was))
    new = dict.fromkeys(program_words(each, programs) for each in every)
    assert list(old) == list(new)
    return records
