"""Every command, setting and workflow that the documentation prints works, and prints what is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from sbatchlint import __version__, triggers
from sbatchlint.api import lint
from sbatchlint.job import Job, Site
from sbatchlint.settings import Settings
from sbatchlint.slurm.notes import notes
from sbatchlint.source.text import Source

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += sorted((ROOT / "docs" / "skills").glob("*/SKILL.md"))
# Parts of a command that cannot run here: they need a network, or are the whole of what a test would be.
ELSEWHERE = re.compile(
    r"git clone \S+|cd sbatchlint|python3 -m venv \.venv|(\.venv/bin/)?pip install .*|\. \.venv/bin/activate|"
    r"pipx install .*|uvx --from .*|gh attestation verify .*|"
    r"(\.venv/bin/)?python -m pytest -q -n auto( --dist worksteal)?|(ruff|mypy|lint-imports)\b.*"
)
OURS = ("sbatchlint", ".venv/bin/sbatchlint", "python tools/", "python -m pytest -q tests/")


class Fence(NamedTuple):
    document: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def fences(*kinds: str) -> list[Fence]:
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        matches = re.finditer(r"^(`{3,})(\w*)\n(.*?)^\1$", text, re.M | re.S)
        found += [
            Fence(document, text.count("\n", 0, match.start()) + 1, match[2], match[3])
            for match in matches
            if match[2] in kinds
        ]
    return found


def test_kinds_of_fences_are_known() -> None:
    # what editors read is tried by tests/test_editors.py
    known = {"markdown", "toml", "yaml", "sh", "console", "bash", "python", "lua", "vim", "lisp", "json"}
    text = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    opened = re.findall(r"^`{3,}(\w*)\n.*?^`{3,}$", text, re.M | re.S)
    assert set(opened) <= known
    assert not re.findall(r"\n\n    \S.*sbatchlint", text), "commands stand in fences"


# --- settings and workflows ---------------------------------------------------------------------


@pytest.mark.parametrize("fence", fences("toml"), ids=str)
def test_settings_are_taken(fence: Fence) -> None:
    table = tomllib.loads(fence.text)
    if fence.document.name == "editors.md":
        return  # those of an editor
    Settings.of_table(table.get("tool", {}).get("sbatchlint", table))


@pytest.mark.parametrize("fence", fences("yaml"), ids=str)
def test_workflows_name_what_there_is(fence: Fence) -> None:
    yaml = pytest.importorskip("yaml")
    value = yaml.safe_load(fence.text)
    if "include" in value:
        (included,) = value["include"]
        _, _, path = included["remote"].partition(f"sbatchlint/sbatchlint/v{__version__}/")
        assert (ROOT / path).is_file()
        return
    if "jobs" in value:
        (value,) = value["jobs"].values()
    if "steps" in value:
        value = [each for each in value["steps"] if "sbatchlint/" in each["uses"]]
    if isinstance(value, list):
        inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
        (step,) = value
        assert step["uses"] == f"sbatchlint/sbatchlint@v{__version__}"
        assert step["with"].keys() <= inputs.keys()
        return
    (repository,) = value["repos"]
    assert repository["rev"] == f"v{__version__}"
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    commented = re.findall(r"#.*\b(sbatchlint[\w-]*)", fence.text)
    assert {hook["id"] for hook in repository["hooks"]} | set(commented) <= hooks


# --- commands -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, as a repository with one commit."""
    copy = tmp_path_factory.mktemp("docs") / "project"
    left_out = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, copy, ignore=left_out)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *identity, *arguments], cwd=copy, check=True, capture_output=True)
    # Bytecode holds for copies too, and to make it anew for each would take longer than all that is run in them.
    kept = Path(os.environ["PYTHONPYCACHEPREFIX"]) / ROOT.relative_to("/")
    for path in [*kept.glob("sbatchlint/**/*.pyc"), *kept.glob("checks/*.pyc")]:
        folder = (copy / path.relative_to(kept)).parent
        if folder.exists():
            (folder / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(path, folder / "__pycache__")
    return copy


class Place:
    """A folder in which the commands of a document are run: a clone of the project for contributors, else a user's."""

    def __init__(self, folder: Path, document: Path, request: pytest.FixtureRequest) -> None:
        self.folder = folder
        self.source = source = ROOT
        if document.name == "CONTRIBUTING.md":
            source = folder / "project"
            shutil.copytree(request.getfixturevalue("committed"), source)
            self.folder = self.source = source
        else:
            shutil.copytree(ROOT / "examples", folder / "examples")
            shutil.copytree(ROOT / "examples", folder / "jobs")
        shown = [fence.text for fence in fences("bash") if fence.document == document]
        script = shown[0] if shown else (ROOT / "examples" / "ranks.sbatch").read_text(encoding="utf-8")
        (self.folder / "job.sbatch").write_text(script, encoding="utf-8")
        self.programs = self.folder / ".venv" / "bin"
        self.programs.mkdir(parents=True)
        for name, arguments in (("python", '"$@"'), ("sbatchlint", '-P -m sbatchlint "$@"')):
            program = self.programs / name
            program.write_text(f"#!/bin/sh\nPYTHONPATH='{source}' exec '{sys.executable}' {arguments}\n")
            program.chmod(0o755)
        if document.name in ("site.md", "administrators.md"):  # on a login node, with what its commands print
            shutil.copy(ROOT / "tests" / "data" / "site" / "24.11.txt", self.folder / "outputs.txt")
            for name in ("scontrol", "sinfo", "sacctmgr", "sbatch"):
                program = self.programs / name
                program.write_text(f"#!/bin/sh\ncat '{ROOT}/tests/data/site/24.11.txt'\n")
                program.chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        if self.source == ROOT:
            variables["PYTHONPYCACHEPREFIX"] = os.environ["PYTHONPYCACHEPREFIX"]
        variables |= {"PATH": f"{self.programs}:{variables['PATH']}", "COLUMNS": "100", "NO_COLOR": "1"}
        return subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=variables, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip


def runnable(text: str) -> list[str]:
    """The commands of a fence that can run here, one by one; whatever is neither run nor known fails."""
    found = []
    for line in text.splitlines():
        for part in line.partition("  #")[0].split("&&"):
            command = part.strip()
            if command.startswith(OURS):
                found.append(command)
            else:
                assert ELSEWHERE.fullmatch(command), f"nobody runs: {command}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("fence", fences("sh"), ids=str)
def test_commands_work(fence: Fence, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = Place(tmp_path, fence.document, request)
    for command in runnable(fence.text):
        done = place.run(command)
        findings_may_be_left = command.startswith(("sbatchlint", ".venv/bin/sbatchlint"))
        assert done.returncode in ((0, 1) if findings_may_be_left else (0,)), f"{command}\n{done.stdout}{done.stderr}"
        assert "error:" not in done.stderr, command


@pytest.mark.parametrize("fence", fences("console"), ids=str)
def test_shown_output_is_true(fence: Fence, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    command, _, output = fence.text.partition("\n")
    assert command.startswith("$ ")
    assert Place(tmp_path, fence.document, request).run(command.removeprefix("$ ")).stdout == output


def test_pictures_show_what_is_said_now() -> None:
    """Of tools/pictures.py, which needs an editor, the words; they are broken where the window ends."""
    pictures = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    shown = {name: re.sub(r"<[^>]*>|\s", "", picture) for name, picture in pictures.items()}
    (found,) = lint((ROOT / "examples" / "ranks.sbatch").read_text(encoding="utf-8"))
    assert found.message.replace(" ", "")[:60] in shown["findings"], "run tools/pictures.py"
    assert "2nodes×8tasks=16" in shown["findings"]
    told = notes("sbatch")["ntasks-per-node"]
    assert all(each.replace(" ", "") in shown["hover"] for each in told), "run tools/pictures.py"
    documents = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert all(f"(pictures/{name}.svg)" in documents for name in pictures)


def test_the_first_questions_have_answers() -> None:
    """What docs/job.md suggests to ask can be asked."""
    script = "#!/bin/bash\n#SBATCH --partition=a -N2\nsleep 1\nsrun torchrun --nnodes=2 --nproc_per_node=8 t.py\n"
    job = Job.from_source(Source(script, "job.sbatch"), Site())
    (launch,) = job.launches
    page = (ROOT / "docs" / "job.md").read_text(encoding="utf-8").partition("## The first questions\n")[2]
    imports, table = re.findall(r"```python\n(.*?)```(.*?)\n## ", page, re.DOTALL)[0]
    names: dict[str, object] = {"job": job, "command": job.invocations[0], "step": job.steps[0], "launch": launch}
    exec(imports, names)
    names["world"] = eval("find_worlds(job)[0]", names)
    answers = re.findall(r"`([^`]+)`", "".join(line.rpartition(" | ")[2] for line in table.splitlines()))
    assert len(answers) > 25
    found = {answer: eval(answer, dict(names)) for answer in answers}
    assert found['job.request.value("partition")'] == "a"
    assert found["text_of(command.argv[1])"] == "1"
    assert found["world.size"] == 16


def test_job_md_names_every_trigger() -> None:
    table = (ROOT / "docs" / "job.md").read_text(encoding="utf-8").partition("## Triggers")[2]
    kinds = [kind for kind in triggers.Trigger.__subclasses__() if kind.__module__ == triggers.__name__]
    assert not [kind for kind in kinds if kind is not triggers.AnyOf and f"`{kind.__name__}(" not in table]


def test_the_two_commands_of_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if "-m venv" in line]
    assert len(commands) == 2
    assert commands[0].endswith("sbatchlint examples")
    assert "pytest" in commands[1] and text.count("pytest") == 1, ".ci/run takes the line that runs pytest"
