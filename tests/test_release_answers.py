"""Questions about several releases are asked once for all that they cannot tell apart: with the same answers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sbatchlint.bash.values import Text
from sbatchlint.slurm import conflicts, grammar
from sbatchlint.slurm.conflicts.clashing_settings import clashing_settings
from sbatchlint.slurm.directives import read_directives
from sbatchlint.slurm.grammar import refusals
from sbatchlint.slurm.versions import MAJORS, answers, is_before, is_release

MODULES = [path for package in (grammar, conflicts) for path in sorted(Path(package.__path__[0]).glob("*.py"))]

BLOCKS = (
    "--gres=gpu:0,gpu:a100:2|--gpus-per-node=2|--nodes=2",
    "--tres-per-task=cpu:2|--cpus-per-task=2|--gpus-per-task=a100:1|--nodes=2",
    "--exclusive|--oversubscribe|--core-spec=1|--thread-spec=2",
    "--ntasks-per-gpu=2|--gpus=4|--ntasks=3|--nodes=4",
    "--segment=3|--nodes=4|--batch=a|--constraint=b|--wckey=*x",
    "--nodes=2,4|--nodelist=a[1-3]|--exclude=a1|--ntasks=2",
    "--hint=nomultithread|--threads-per-core=2|--ntasks-per-core=4",
    "--mem=9000000000000T|--mem-per-cpu=4G|--signal=B:NOPE@10|--open-mode=x|--time=1-2-3",
    "--mail-type=ARRAY_TASKS,NEVER|--dependency=afterok:1,2|--requeue=x|--profile=Everything",
)


def test_asks_once_for_releases_that_are_not_told_apart() -> None:
    asked: list[str] = []

    def question(version: str) -> bool:
        asked.append(version)
        return is_before(version, "23.11") or is_release(version, "24.11")

    assert [answer for _, answer in answers(question, MAJORS)] == [question(version) for version in MAJORS]
    assert asked[: -len(MAJORS)] == ["20.11", "23.11", "24.11", "25.05"]


@pytest.mark.parametrize("block", BLOCKS)
def test_answers_are_those_of_each_release(block: str) -> None:
    script = "#!/bin/bash\n" + "".join(f"#SBATCH {option}\n" for option in block.split("|"))
    read = read_directives(Text.of_file(script), (MAJORS[0], MAJORS[-1]))
    for setting in read.settings:
        if setting.option is None or setting.value is None:
            continue
        together = refusals(setting.option, setting.value, MAJORS)
        for version in MAJORS:
            alone = refusals(setting.option, setting.value, (version,))
            found = [each for each in together if each.versions is None or version in each.versions]
            assert [each._replace(versions=None) for each in found] == list(alone)
    everywhere = clashing_settings(read)
    for version in MAJORS:
        found_all = [each for each in everywhere if each.versions is None or version in each.versions]
        assert {each._replace(versions=None) for each in found_all} == set(clashing_settings(read, versions=(version,)))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rules_tell_releases_apart_by_asking(path: Path) -> None:
    """`version == "23.02"` would not be noticed by `answers`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
            constants = [each.value for each in compared if isinstance(each, ast.Constant)]
            assert not set(constants) & set(MAJORS), f"line {node.lineno}"
