"""What is installed is what lies in the tree; the generated files are up to date; the texts keep their word."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint import __version__
from sbatchlint.registry import registry


def sources() -> set[str]:
    """Every file of the package and of the checks, as an installation names them."""
    found = {f"sbatchlint/{path.relative_to(ROOT / 'sbatchlint')}" for path in (ROOT / "sbatchlint").rglob("*")}
    found |= {f"sbatchlint/checks/{path.relative_to(ROOT / 'checks')}" for path in (ROOT / "checks").rglob("*")}
    return {name for name in found if Path(name).suffix and "__pycache__" not in name}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what belongs to the project, so that building leaves nothing behind."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("sbatchlint", "checks", "editors"):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    """The wheel, built without a network by the setuptools of this environment."""
    pytest.importorskip("build")
    pytest.importorskip("setuptools", minversion="77")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (found,) = (tree / "dist").glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_every_file(wheel: Path) -> None:
    assert wheel.name == f"sbatchlint-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(f"sbatchlint-{__version__}.dist-info/METADATA").decode()
    assert names == sources() | {"sbatchlint/checks.json"}  # and nothing of editors/
    left = {path.name for path in wheel.parent.parent.iterdir()} & {"build", "sbatchlint.egg-info"}
    assert not left, "an installation leaves the clone as it was"
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata


def clean() -> dict[str, str]:
    """The environment without what would lead Python to this checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}


def run(python: Path | str, *arguments: str, cwd: Path, **variables: str) -> str:
    command = [str(python), "-P", "-m", "sbatchlint", *arguments]
    done = subprocess.run(command, cwd=cwd, env={**clean(), **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def codes(text: str) -> list[str]:
    return [each["code"] for each in json.loads(text)]


@pytest.mark.slow
@pytest.mark.parametrize("editable", [False, True])
def test_an_installation_finds_every_check(tree: Path, wheel: Path, tmp_path: Path, editable: bool) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    # the new environment borrows dependencies and build tools from this one, behind its own packages
    site.joinpath("borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", f"--python={python}", "install", "--no-deps"]
    what = ["--no-build-isolation", "-e", str(tree)] if editable else [str(wheel)]
    done = subprocess.run(
        [*pip, "--no-index", "--ignore-installed", *what], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = run(python, "checks", "--output-format", "json", cwd=tmp_path)
    assert codes(found) == [entry.code for entry in registry().entries]
    where = [str(python), "-P", "-c", "import sbatchlint; print(sbatchlint.__file__)"]
    done = subprocess.run(where, cwd=tmp_path, env=clean(), capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(tree if editable else tmp_path)
    assert not (tree / "build").exists() and not (tree / "sbatchlint.egg-info").exists()


def test_a_bare_checkout_finds_every_check(tree: Path, tmp_path: Path) -> None:
    packages = os.pathsep.join([str(tree), *(path for path in sys.path if path.endswith("site-packages"))])
    found = run(sys.executable, "checks", "--output-format", "json", cwd=tmp_path, PYTHONPATH=packages)
    assert codes(found) == [entry.code for entry in registry().entries]


def test_packages_are_listed() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(project["tool"]["setuptools"]["packages"])
    folders = {path.parent for path in (ROOT / "sbatchlint").rglob("*.py")}
    packages = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert listed == packages | {"sbatchlint.checks"}
    assert not [path for path in (ROOT / "checks").rglob("*.py") if path.parent != ROOT / "checks"]


def test_no_pattern_asks_what_old_pythons_get_wrong() -> None:
    """`(a|bc)*+` matches the b of "bd" before Python 3.11.5 (cpython issue 106052); `(?>(a|bc)*)` does not."""
    files = [path for name in ("sbatchlint", "checks", "tools") for path in (ROOT / name).rglob("*.py")]
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+(?!\w)")
    assert possessive.search("(a|bc)*+")
    assert [path.name for path in files if possessive.search(path.read_text())] == []


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_links_of_the_texts_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", path.read_text()):
            if "://" in target or "`" in target or "$" in target:
                continue
            found = path.parent / target if target else path
            assert found.exists(), f"{path.relative_to(ROOT)}: {target}"
            if anchor:
                assert anchor in anchors(found), f"{path.relative_to(ROOT)}: {target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """The headings of a text as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_names_the_version_of_the_package() -> None:
    text = (ROOT / "README.md").read_text()
    assert set(re.findall(r"\bv(\d+\.\d+\.\d+)", text)) == {__version__}
