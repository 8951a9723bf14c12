"""Triggers, and the index of them; that they silence nothing is seen with the cases (test_checks.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint import card_index as card_index_module
from sbatchlint import triggers
from sbatchlint.card_index import card_index
from sbatchlint.job import Job, Site
from sbatchlint.registry import registry
from sbatchlint.source.text import Source
from sbatchlint.triggers import (
    AnyOf,
    Index,
    Launchers,
    NoGpus,
    Options,
    Steps,
    Variables,
    Written,
)


def job(text: str) -> Job:
    return Job.from_source(Source(f"#!/bin/bash\n{text}\n", "a.sbatch"), Site())


def test_the_index_has_the_triggers_of_the_cards() -> None:
    cards = {check.entry.module: repr(check.card.when) for check in registry().load_all() if check.card.when}
    assert cards == {module: repr(trigger) for module, trigger in card_index().triggers.items()}


def test_the_index_has_the_stages_of_the_cards() -> None:
    stages = {check.entry.module: check.card.stage for check in registry().load_all()}
    assert {module for module, stage in stages.items() if stage != "stable"} == card_index().optional


def test_every_trigger_is_used() -> None:
    kinds = [kind for kind in triggers.Trigger.__subclasses__() if kind.__module__ == triggers.__name__]
    names = {kind.__name__ for kind in kinds if kind is not triggers.AnyOf}
    used = {type(part).__name__ for each in card_index().triggers.values() for part in each.parts}
    assert used == names


def test_triggers_tell_scripts_apart() -> None:
    plain, many = job("#SBATCH --nodes=2\nsrun ./a.out"), job("#SBATCH --gpus=2\nPORT=1\ntorchrun train.py")
    for trigger, holds, fails in (
        (Steps(), plain, many),
        (Launchers(), many, plain),
        (Launchers("torchrun", "mpi"), many, plain),
        (Options("nodes"), plain, many),
        (Variables("PO*"), many, plain),
        (NoGpus(), plain, many),
        (AnyOf(Launchers("mpi"), Steps()), plain, many),
    ):
        assert trigger.holds(job=holds), trigger
        assert not trigger.holds(job=fails), trigger
        index = Index({"this": trigger, "other": Options("array")})
        assert (index.holding(plain), index.holding(many))[holds is many] == {"this"}, trigger
        assert not index.holding(fails), trigger


def test_comments_count_in_the_option_block_alone() -> None:
    assert Written("comments").holds(job("#SBATCH --nodes=1\n# two tasks\nsrun hostname"))
    assert not Written("comments").holds(job("#SBATCH --nodes=1\nsrun --ntasks=2 hostname  # two tasks"))


def test_the_index_of_a_checkout_is_read_again_when_a_file_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    states = ["one", "one", "two", None, None]
    monkeypatch.setattr(card_index_module, "_PACKAGE", str(tmp_path))
    monkeypatch.setattr(card_index_module, "state", lambda: states.pop(0))
    rows = iter("abcde")
    monkeypatch.setattr(card_index_module, "read_cards", lambda: {next(rows): ("stable", [["Steps"]])})
    assert [list(card_index.__wrapped__().triggers) for _ in range(5)] == [["a"], ["a"], ["b"], ["c"], ["d"]]
