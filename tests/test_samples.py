"""Where a script stands in its project decides whether it is an example, not how its path was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

UNFILLED = "#!/bin/bash\n#SBATCH -p your_partition\n#SBATCH -D /home/ada/run\nsrun ./a.out\n"
LATE = "#!/bin/bash\nset -e\n#SBATCH -N 2\nsrun ./a.out\n"


def severities(text: str, path: str, **table: object) -> set[str]:
    return {each.severity for each in lint_source(Source(text, path), Settings.of_table(table, select=["ALL"]))}


@pytest.mark.parametrize("marked", [True, False])
def test_the_way_a_path_is_typed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: bool) -> None:
    folder = tmp_path / "examples"
    folder.mkdir()
    if marked:
        (tmp_path / ".git").mkdir()
    (folder / "x.sh").write_text(UNFILLED)
    monkeypatch.chdir(folder)
    assert severities(UNFILLED, "x.sh") == severities(UNFILLED, str(folder / "x.sh")) == {"info"}
    monkeypatch.chdir(tmp_path)
    assert severities(UNFILLED, "examples/x.sh") == {"info"}


def test_folders_above_the_project_do_not_count(tmp_path: Path) -> None:
    project = tmp_path / "examples" / "mine"
    (project / ".git").mkdir(parents=True)
    assert "warning" in severities(UNFILLED, str(project / "run.sh"))


@pytest.mark.parametrize(
    "path", ["tests/fixtures/a.sh", "templates/a.sh", "a.sh.in", "job_template.sh", "testdata/a.sh"]
)
def test_all_is_advice_in_templates_and_fixtures(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    assert severities(LATE, str(tmp_path / path)) == {"info"}
    assert "error" in severities(LATE, str(tmp_path / "a.sh"))
    assert "error" in severities(LATE, str(tmp_path / "examples" / "a.sh"))


def test_what_the_settings_say_wins(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = severities(LATE, str(tmp_path / "templates" / "a.sh"), severity={"SB101": "error"})
    assert "error" in found


@pytest.mark.parametrize("slot", ["@QUEUE@", "@[QUEUE]", "{{ queue }}", "$$QUEUE", "%(queue)s", "{queue}", "__QUEUE__"])
def test_slots_in_options_make_a_template(slot: str) -> None:
    assert severities(f"#!/bin/bash\n#SBATCH -p {slot}\nset -e\n#SBATCH -N 2\nsrun ./a.out\n", "a.sh") <= {"info"}


def test_the_tags_of_a_debugger_make_a_template(tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=NUM_NODES_TAG\n#SBATCH --time=LIMIT_TAG\nAUTO_LAUNCH_TAG\n"
    assert severities(text, str(tmp_path / "a.qtf")) == {"info"}
    alone = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=LIMIT_TAG\nsrun ./a.out\n"
    assert "error" in severities(alone, str(tmp_path / "a.sh"))


FORM = "#!/bin/bash\n#SBATCH --account=CHANGEME\n#SBATCH --partition=YOUR_PARTITION\n"


@pytest.mark.parametrize(
    "wrong", ["#SBATCH --cpus-per-task=4x\n", "set -e\n#SBATCH -N 2\n", "if true; then\n", "PATH=/opt/solver/bin\n"]
)
def test_what_no_filling_in_repairs_is_said_in_a_form(tmp_path: Path, wrong: str) -> None:
    assert severities(f"{FORM}srun ./a.out\n", str(tmp_path / "a.sh")) == {"info"}
    assert severities(f"{FORM}{wrong}srun ./a.out\n", str(tmp_path / "a.sh")) & {"error", "warning"}


def test_no_filling_in_hides_a_secret(tmp_path: Path) -> None:
    login = "TOKEN=<your token>\nwandb login $TOKEN\n"
    assert "warning" in severities(f"{FORM}{login}srun ./a.out\n", str(tmp_path / "a.sh"))


@pytest.mark.parametrize(
    "wrong",
    ["#SBATCH --nodes=NODES\n", "#SBATCH ...\n#SBATCH --tme=1\n", "PATH=/path/to/bin\n", "cd <folder> && ./run.sh\n"],
)
def test_what_filling_in_may_repair_is_advice_in_a_form(tmp_path: Path, wrong: str) -> None:
    assert severities(f"{FORM}{wrong}srun ./a.out\n", str(tmp_path / "a.sh")) == {"info"}


def test_notes_that_show_a_script_are_advice_unless_they_are_to_be_submitted(tmp_path: Path) -> None:
    notes = "conda create --name qc\nconda activate qc\nnano qc.sh\n\n#!/bin/bash\n#SBATCH -n 1\nfastqc *.fastq\n"
    assert severities(notes, str(tmp_path / "qc.sh")) == {"info"}
    assert "error" in severities(notes, str(tmp_path / "qc.sbatch"))
