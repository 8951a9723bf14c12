"""Triggers, and the index of them; that they silence nothing is seen with the cases (test_checks.py)."""

from __future__ import annotations

from sbatchlint import triggers
from sbatchlint.job import Job, Site
from sbatchlint.registry import registry
from sbatchlint.source.text import Source
from sbatchlint.triggered import STAGES, TRIGGERS
from sbatchlint.triggers import (
    AnyOf,
    Index,
    Launchers,
    NoGpus,
    Options,
    Steps,
    Trigger,
    Variables,
    Written,
)


def job(text: str) -> Job:
    return Job.from_source(Source(f"#!/bin/bash\n{text}\n", "a.sbatch"), Site())


def test_the_index_has_the_triggers_of_the_cards() -> None:
    cards = {check.entry.module: repr(check.card.when) for check in registry().load_all() if check.card.when}
    assert cards == {module: repr(trigger) for module, trigger in TRIGGERS.items()}


def test_the_index_has_the_stages_of_the_cards() -> None:
    stages = {check.entry.module: check.card.stage for check in registry().load_all()}
    assert {module: stage for module, stage in stages.items() if stage != "stable"} == STAGES


def test_every_trigger_is_used() -> None:
    names = {name for name in triggers.__all__ if name not in ("Trigger", "AnyOf", "Index")}
    used = {type(part).__name__ for each in TRIGGERS.values() for part in getattr(each, "triggers", (each,))}
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


def test_a_trigger_is_written_as_it_is_read() -> None:
    for trigger in (Steps(), Options("a", "b") | Steps() | Launchers("mpi")):
        again = eval(repr(trigger), vars(triggers))
        assert isinstance(again, Trigger)
        assert repr(again) == repr(trigger)
