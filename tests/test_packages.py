"""What package managers and linters of linters are told of this project (tools/packages)."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
import yaml

from conftest import ROOT
from sbatchlint import __version__
from sbatchlint.cli.arguments import lint_parser
from sbatchlint.cli.schema import schema_value
from sbatchlint.configuration import CONFIGURATION_FILES

FOLDER = ROOT / "tools" / "packages"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def mapping(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return found


def normal(requirement: str) -> str:
    return re.sub(r"\s", "", requirement)


def test_each_names_this_version() -> None:
    for path in FOLDER.rglob("*.*"):
        for version in re.findall(
            r"sbatchlint(?:\[\w+\])?==([\d.]+)|/v(\d[\d.]*)/|^ *version: \"([\d.]+)", path.read_text(), re.M
        ):
            assert set(version) <= {__version__, ""}, path.name


def test_the_recipe_asks_for_what_the_wheel_asks_for() -> None:
    recipe = mapping("conda-forge/recipe.yaml")
    run = {normal(each) for each in recipe["requirements"]["run"]}
    extra = PROJECT["optional-dependencies"]["yaml"]
    assert {each for each in run if not each.startswith("python>=")} == {
        normal(each) for each in PROJECT["dependencies"] + extra
    }
    assert recipe["build"]["python"]["entry_points"] == [f"sbatchlint = {PROJECT['scripts']['sbatchlint']}"]
    assert (recipe["about"]["summary"], recipe["about"]["license"]) == (PROJECT["description"], PROJECT["license"])


def test_the_mirror_has_the_hooks_of_the_project() -> None:
    own = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    mirrored = yaml.safe_load((FOLDER / "pre-commit-mirror" / ".pre-commit-hooks.yaml").read_text())
    assert mirrored == [{key: hook[key] for key in hook if key != "additional_dependencies"} for hook in own]
    project = tomllib.loads((FOLDER / "pre-commit-mirror" / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [f"sbatchlint[yaml]=={__version__}"]
    assert project["requires-python"] == PROJECT["requires-python"]


def test_the_descriptor_for_megalinter() -> None:
    (linter,) = mapping("sbatchlint.megalinter-descriptor.yml")["linters"]
    known = lint_parser()._option_string_actions
    options = [linter["cli_config_arg_name"], linter["cli_lint_fix_arg_name"], linter["cli_lint_extra_args"][0]]
    assert set(options) <= set(known)
    line = "jobs/a.sbatch:4:9: error SB301 launcher-tasks-per-node 8 torchrun"
    assert re.findall(linter["cli_lint_errors_regex"], line, re.M) and not re.findall(
        linter["cli_lint_errors_regex"], "1 finding"
    )
    assert linter["config_file_name"] in CONFIGURATION_FILES


def test_the_entry_for_schemastore() -> None:
    entry = json.loads((FOLDER / "schemastore.json").read_text())
    assert set(entry["fileMatch"]) == set(CONFIGURATION_FILES) - {"pyproject.toml"}
    assert entry["url"].endswith("/sbatchlint.schema.json") and schema_value()["$schema"].startswith(
        "http://json-schema.org/"
    )


def test_the_image_runs_as_nobody_in_particular() -> None:
    lines = [line for line in (FOLDER / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] == 'ENTRYPOINT ["sbatchlint"]' and "USER 1000" in lines
    assert all(":" in line.split()[1] and "latest" not in line for line in lines if line.startswith("FROM"))
    for line in lines:
        for name in line.split()[1:-1] if line.startswith("COPY") and "--from" not in line else []:
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", ["README.md", "docs/start.md"])
def test_it_says_that_nothing_is_published(path: str) -> None:
    """Until there is a release. Then this test goes, and the sentence with it."""
    assert "not on PyPI yet" in " ".join((ROOT / path).read_text().split())
