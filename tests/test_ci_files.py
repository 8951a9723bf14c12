"""The files that CI services read, judged by the schemas these publish, and what they run."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from conftest import ROOT
from sbatchlint import __version__
from sbatchlint.cli.arguments import lint_parser
from sbatchlint.report import FORMATS

FILES = {
    "action.yml": "vendor.github-actions",
    ".github/workflows/ci.yml": "vendor.github-workflows",
    ".github/workflows/release.yml": "vendor.github-workflows",
    ".github/workflows/site.yml": "vendor.github-workflows",
    "docs/ci/gitlab.yml": "vendor.gitlab-ci",
}


@pytest.mark.slow
@pytest.mark.parametrize(("path", "schema"), FILES.items(), ids=FILES)
def test_a_file_follows_its_schema(path: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(ROOT / path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [*FILES, ".pre-commit-hooks.yaml", "docs/ci.md", "docs/pre-commit.md"])
def test_the_options_they_use_exist(path: str) -> None:
    known = lint_parser()._option_string_actions
    for line in (ROOT / path).read_text().splitlines():
        if "sbatchlint" in line and not line.lstrip().startswith(("#", "-   -")):
            for option in re.findall(r"(?<=\s)--[a-z-]+", line.partition("sbatchlint ")[2]):
                assert option in known, line


@pytest.mark.parametrize("path", ["action.yml", ".github/workflows/release.yml", "docs/ci/gitlab.yml"])
def test_the_shell_in_them_parses(path: str) -> None:
    def scripts(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [value[key] for key in ("run", "script") if key in value]
            own = [each if isinstance(each, str) else "\n".join(each) for each in own]
            return own + [script for each in value.values() for script in scripts(each)]
        return [script for each in value for script in scripts(each)] if isinstance(value, list) else []

    found = scripts(yaml.safe_load((ROOT / path).read_text()))
    assert found
    for script in found:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0, script


def test_zizmor_finds_nothing() -> None:
    zizmor = shutil.which("zizmor", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])))
    if zizmor is None:
        pytest.skip("zizmor is not installed")
    command = [zizmor, "--offline", "--quiet", "--no-progress", "--persona=pedantic", "--color=never"]
    files = [str(ROOT / path) for path in FILES if "gitlab" not in path]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_installed_is_this_version() -> None:
    script = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text())["sbatchlint"]["script"]
    assert f"sbatchlint[yaml]=={__version__}" in script[0]


def test_ci_runs_every_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [each.split(" :: ")[-1] for each in project["classifiers"] if "Python :: 3." in each]
    assert yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["run"]["strategy"]["matrix"] == {
        "python": promised
    }


def test_the_page_names_every_format_and_this_version() -> None:
    page = "".join((ROOT / "docs" / name).read_text() for name in ("ci.md", "github.md", "pre-commit.md"))
    assert all(f"`{name}`" in page for name in FORMATS)
    assert set(re.findall(r"sbatchlint@v([\d.]+)|rev: v([\d.]+)", page)) == {(__version__, ""), ("", __version__)}
