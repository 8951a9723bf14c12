"""Options with which a script is submitted are judged like its directives."""

from __future__ import annotations

import re

import pytest

from check_cases import all_cases, in_its_folder
from sbatchlint.api import lint
from sbatchlint.check import Bad
from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.source.files import InputError

# How directives are written, not what they ask for; the shell has read the options of a command line.
LINES = {
    "SB002", "SB005", "SB101", "SB102", "SB104", "SB105", "SB107", "SB108", "SB109", "SB111", "SB112", "SB115", "SB116",
    "SB117", "SB118", "SB119", "SB120", "SB215", "SB225",
}  # fmt: skip
# Of these checks some cases depend on a comment, on the line itself, or are jobs that a script makes on the way.
SOME = {
    "SB124", "SB126", "SB201", "SB202", "SB205", "SB301", "SB502", "SB505", "SB517", "SB701", "SB702", "SB703", "SB706",
    "SB708",
}  # fmt: skip


def test_what_a_check_says_of_a_directive_it_says_of_an_option_of_the_command_line() -> None:
    """Each case whose marks are all in directives, with these lines as options of sbatch."""
    found: set[str] = set()
    lost: set[str] = set()
    for case in all_cases():
        code, text = case.check.entry.code, case.case.example.text
        rows = {text.count("\n", 0, span.start) for span in case.case.example.spans}
        lines = text.split("\n")
        if not isinstance(case.case, Bad) or case.case.missed or code in LINES or not rows:
            continue
        if not all(lines[row].startswith("#SBATCH ") for row in rows):
            continue
        options = " ".join(re.sub(r"\s#.*", "", lines[row])[len("#SBATCH ") :].strip() for row in sorted(rows))
        rest = "\n".join(line for row, line in enumerate(lines) if row not in rows)
        submit = [{"paths": ["**"], "options": options}]
        try:
            settings = Settings.of_table(
                {**(case.case.settings or {}), "submit": submit}, select=[case.check.entry.name]
            )
        except InputError:
            continue  # no release has such an option
        with in_its_folder(case, rest) as source:
            codes = {each.code for each in lint_source(source, settings)}
        (found if code in codes else lost).add(code if code in codes or code in SOME else case.label)
    assert not {each for each in lost if each not in SOME}
    assert len(found) > 50
    assert found >= SOME - {"SB502", "SB505", "SB517"}


@pytest.mark.parametrize(
    ("directives", "options", "code"),
    [
        ("", "--mail-user=ada@uni-x.edu", "SB131"),
        ("--mail-user=ada@uni-x.edu", "--mail-type=END", None),
        ("--mail-type=END", "--mail-user=ada@uni-x.edu", None),
        ("--mem=4G", "--mem-per-cpu=1G", "SB202"),
        ("--nodes=2", "--ntasks=1", "SB204"),
        ("--nodes=2 --ntasks=1", "--ntasks=2", None),
        ("--nodes=1 --ntasks=4 --ntasks-per-node=3", "--ntasks=3", None),
        ("--ntasks-per-node=3", "--nodes=1 --ntasks=4", "SB203"),
        ("--time=1:00:00", "--time-min=2:00:00", "SB202"),
        ("--time=1:00:00 --time-min=2:00:00", "--time=3:00:00", None),
        ("-J a", "--nodes=x", "SB125"),
        ("-J a", "--mail-type=FOO", "SB127"),
        ("-J a", "--array=1-3 -o out.log", "SB702"),
        ("-J a", "--container-mounts=/data:/data", "SB501"),
    ],
)
def test_both_together_are_the_job(directives: str, options: str, code: str | None) -> None:
    head = f"#SBATCH {directives}\n" if directives else ""
    script = f"#!/bin/bash\n{head}srun ./a.out $SLURM_ARRAY_TASK_ID\n"
    done = lint(script, path="job.sh", isolated=True, sbatch_options=options)
    assert [each.code for each in done.findings] == ([] if code is None else [code])
    assert not done.faults


def test_a_finding_names_the_place() -> None:
    done = lint("#!/bin/bash\n#SBATCH --mem=4G\nsrun ./a.out\n", isolated=True, sbatch_options="--mem-per-cpu=1G")
    (found,) = done.findings
    assert "`--mem=4G` (line 2) and `--mem-per-cpu=1G` exclude each other" in found.message
