"""`config` and `schema`: what holds for a path and where from, and what editors are told of a configuration."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from conftest import HEAD, Command
from sbatchlint.cli.schema import schema_value
from sbatchlint.configuration import merge_tables
from sbatchlint.engine import lint_source
from sbatchlint.keys import KEYS, SITE_KEYS
from sbatchlint.registry import registry
from sbatchlint.settings import Settings
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source
from test_docs import Fence, fences

ODD = 'a"b\\c\té€ \x7f\x85\u2028\u202e\U0001f600/*'


def settings(command: Command, *arguments: str) -> dict[str, Any]:
    result = command("config", *arguments, "--output-format", "json")
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def table(command: Command, *arguments: str) -> dict[str, Any]:
    """The text, read as the TOML that it is."""
    result = command("config", *arguments)
    assert result.code == 0, result.err
    return tomllib.loads(result.out)


@pytest.fixture
def project(command: Command) -> Command:
    command.write("site.toml", 'ignore = ["toy-hint"]\nselect = ["SB1"]\n[site]\ngpus-per-node = 8\npyxis = "0.20"\n')
    command.write(
        "jobs/sbatchlint.toml",
        'extend = "../site.toml"\nignore = ["SB110"]\nfail-on = "error"\n[per-file-ignores]\n"old*" = ["SB120"]\n'
        '[severity]\ntoy-guess = "info"\n[site]\ngpus-per-node = 4\n[checks.toy-limit]\nmost = 3\n',
    )
    command.write("jobs/a.sbatch", HEAD)
    command.write("jobs/old.sbatch", HEAD)
    return command


def from_(found: dict[str, Any], key: str) -> list[tuple[str, object]]:
    return [(part["origin"], part["value"]) for part in found["settings"][key]["from"]]


def test_each_value_says_where_it_comes_from(project: Command) -> None:
    found = settings(project, "jobs/a.sbatch", "--slurm-version", "23.11")
    assert found["files"] == ["jobs/sbatchlint.toml", "site.toml"]
    assert found["settings"].keys() == KEYS.keys() - {"site", "extend"} | {f"site.{key}" for key in SITE_KEYS}
    assert from_(found, "select") == [("site.toml", ["SB1"])]
    assert from_(found, "ignore") == [("site.toml", ["toy-hint"]), ("jobs/sbatchlint.toml", ["SB110"])]
    assert found["settings"]["ignore"]["value"] == ["toy-hint", "SB110"]
    assert from_(found, "site.gpus-per-node") == [("jobs/sbatchlint.toml", 4)]
    assert from_(found, "site.pyxis") == [("site.toml", "0.20")]
    assert from_(found, "slurm-version") == [("command line", "23.11")]
    assert [origin for origin, _ in from_(found, "exclude")] == ["default"]
    assert found["settings"]["site.gpu-arch"] == {"value": None, "from": []}


def test_the_checks_that_run(project: Command) -> None:
    every = settings(project, "jobs", "--isolated")["checks"]
    assert "SB170" not in every and len(every) == len(registry().entries) - 1  # it is optional
    assert settings(project, "jobs", "--config", 'extend-select = ["SB170"]', "--isolated")["checks"] == [
        entry.code for entry in registry().entries
    ]
    jobs = settings(project, "jobs")["checks"]
    assert "SB120" in jobs and not {"SB110", "SB130", "SB210"} & set(jobs)
    assert settings(project, "jobs/old.sbatch")["checks"] == [code for code in jobs if code != "SB120"]


def test_the_text_is_a_configuration_with_the_same_meaning(project: Command) -> None:
    found = table(project, "jobs/a.sbatch")
    read = tomllib.loads(Path("jobs/sbatchlint.toml").read_text())
    merged = merge_tables([tomllib.loads(Path("site.toml").read_text()), read])
    del merged["extend"]
    assert {key: found[key] for key in merged} == merged
    assert Settings.of_table(found).severities == {"SB120": "info"}
    lines = project("config", "jobs/a.sbatch").out.splitlines()
    assert lines[0].startswith("# jobs/a.sbatch: ") and lines[1] == "# read: jobs/sbatchlint.toml, extends site.toml"
    for line in (
        'select = ["SB1"]  # site.toml',
        '    "toy-hint",  # site.toml',
        '    "SB110",  # jobs/sbatchlint.toml',
        "gpus-per-node = 4  # jobs/sbatchlint.toml",
        'toy-guess = "info"  # jobs/sbatchlint.toml',
        "[checks.toy-limit]",
        "most = 3  # jobs/sbatchlint.toml",
        "# not run: SB110 toy-wrong (left out by the settings)",
    ):
        assert line in lines


def test_isolated_and_settings_of_the_command_line(project: Command) -> None:
    alone = settings(project, "jobs", "--isolated", "--config", 'ignore = ["SB2"]')
    assert alone["files"] == [] and from_(alone, "ignore") == [("command line", ["SB2"])]
    other = settings(project, "jobs", "--config", "site.toml", "--config", "site.gpus-per-node = 2")
    assert other["files"] == ["site.toml"] and from_(other, "site.gpus-per-node") == [("command line", 2)]
    assert "# read: no configuration file" in project("config", "--isolated").out


def test_odd_texts_survive(command: Command) -> None:
    command.write("sbatchlint.toml", "[per-file-ignores]\n" + json.dumps("x") + " = []\n")
    key = json.dumps(ODD, ensure_ascii=False).replace("\x7f", "\\u007f")
    pair = f"per-file-ignores = {{{key} = ['SB1']}}"
    assert table(command, "--config", pair)["per-file-ignores"] == {"x": [], ODD: ["SB1"]}
    assert not set("\x7f\x85\u2028\u202e") & set(command("config", "--config", pair).out)


def test_errors(command: Command) -> None:
    assert "there is no file or folder nothing" in command("config", "nothing").err
    command.write("sbatchlint.toml", "selekt = []")
    result = command("config")
    assert (result.code, result.out) == (2, "") and "did you mean 'select'" in result.err
    assert "unknown option" in command("schema", "--fix").err


# --- schema -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    value = schema_value()
    Draft7Validator.check_schema(value)
    return Draft7Validator(value)


@pytest.mark.parametrize("fence", fences("toml"), ids=str)
def test_the_examples_are_valid(validator: Draft7Validator, fence: Fence) -> None:
    table = tomllib.loads(fence.text)
    if "language-server" in table:
        return  # an editor's own
    validator.validate(table.get("tool", {}).get("sbatchlint", table))


@pytest.mark.parametrize(
    "text",
    [
        'select = ["ALL", "SB1", "SB10", "SB101", "launch", "early-task-variable", "SB9"]',
        'slurm-version = "23.11-25.05"',
        '[severity]\nSB1 = "info"\nearly-task-variable = "error"',
        "[checks.early-task-variable]\n[checks.SB101]",
        "[site]\ngpus-per-node = 0\nhome-is-shared = false",
        "",
    ],
)
def test_what_is_right_is_valid(validator: Draft7Validator, text: str) -> None:
    Settings.of_table(tomllib.loads(text))
    validator.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "selekt = []",
        "gpus-per-node = 8",
        'select = "SB1"',
        'select = ["early-task-varible"]',
        'ignore = ["SB1X"]',
        '[per-file-ignores]\n"a/*" = "SB1"',
        '[severity]\nSB101 = "loud"',
        '[severity]\nnobody = "error"',
        'fail-on = "never"',
        'slurm-version = "23.12"',
        'slurm-version = "23"',
        "[site]\ngpus-per-node = -1",
        "[site]\ngpus-per-node = 'x'",
        "[site]\ngpu-vendor = 'voodoo'",
        "[site]\nhome-is-shared = 1",
        "[site]\nx = 1",
        "[checks.nobody]",
        "[checks.SB101]\nx = 1",
        "checks.SB101 = 1",
        "extend = 3",
    ],
)
def test_what_is_wrong_is_not(validator: Draft7Validator, text: str) -> None:
    with pytest.raises(InputError):
        Settings.of_table(tomllib.loads(text))
    assert not validator.is_valid(tomllib.loads(text))


def test_options_of_checks_are_in_the_schema(command: Command) -> None:
    value = json.loads(command("schema").out)
    assert value["$schema"].startswith("http://json-schema.org/") and "sbatchlint" in value["title"]
    check = Draft7Validator(value)
    for key in ("toy-limit", "SB190"):
        assert check.is_valid({"checks": {key: {"most": 3}}})
        assert not check.is_valid({"checks": {key: {"most": "x"}}})
        assert not check.is_valid({"checks": {key: {"mist": 3}}})
    option = value["properties"]["checks"]["properties"]["toy-limit"]["properties"]["most"]
    assert option == {"description": "how many are allowed", "type": "integer", "default": 2}
    for keys, of in ((KEYS, value), (SITE_KEYS, value["definitions"]["Site"])):
        told = {name: each.get("description") for name, each in of["properties"].items()}
        assert {**told, "site": ""} == {**{name: key.help for name, key in keys.items()}, "site": ""}


def test_settings_of_one_process_do_not_mix() -> None:
    source = Source("#!/bin/bash\n#SBATCH --mem=4\nsrun hostname\n", "job.sbatch")
    both = [Settings.of_table({"severity": {"SB124": each}}, ["SB124"]) for each in ("error", "info")]
    found = [each.severity for settings in (*both, *both) for each in lint_source(source, settings)]
    assert found == ["error", "info", "error", "info"]


def test_all_mistakes_are_told_at_once(command: Command) -> None:
    command.write(
        "sbatchlint.toml",
        'selekt = []\nignore = ["toy-wrogn"]\nfail-on = "never"\nslurm-version = "23.12"\n[site]\nx = 1\n'
        '[severity]\nSB110 = "loud"\nSB120 = "quiet"\n[checks.toy-limit]\nmost = "x"\n',
    )
    run = command(".")
    assert run.code == 2 and run.out == ""
    lines = run.err.splitlines()
    assert all(line.startswith("error: sbatchlint.toml: ") for line in lines)
    told = ("selekt", "fail-on", "site.x", "severity.SB110", "severity.SB120", "toy-wrogn", "most", "23.12")
    assert len(lines) == len(told) and all(any(word in line for line in lines) for word in told)
    assert run.err.count("23.12") == 1


@pytest.mark.parametrize("named", ["~/site.toml", "$HOME/site.toml", "${HOME}/site.toml", "our_cluster"])
def test_what_can_be_extended(command: Command, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("HOME", str(command.folder / "home"))
    monkeypatch.syspath_prepend(command.folder / "installed")
    command.write("home/site.toml", 'ignore = ["SB110"]\n')
    command.write("installed/our_cluster/sbatchlint.toml", 'ignore = ["SB110"]\n')
    command.write("installed/our_cluster/__init__.py", "raise SystemExit('it was imported')\n")
    command.write("jobs/sbatchlint.toml", f'extend = "{named}"\nextend-exclude = ["old"]\nignore = ["SB120"]\n')
    command.write("jobs/a.sbatch", f"{HEAD}echo WRONG GUESS STAY\n")
    assert [each["name"] for each in json.loads(command("jobs", "--output-format", "json").out)] == ["toy-stubborn"]


def test_a_package_that_is_not_there(command: Command) -> None:
    command.write("sbatchlint.toml", 'extend = "nobody_has_this"\n')
    assert "no installed package nobody_has_this with a sbatchlint.toml" in command(".").err


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('path = ["a.sh"]\noptions = "-N1"', "unknown key 'submit.path' (did you mean 'submit.paths'?)"),
        ('paths = ["a.sh"]', "submit: a table has no options"),
        ('paths = "a.sh"\noptions = "-N1"', "submit.paths: must be a list of strings, not 'a.sh'"),
    ],
)
def test_a_wrong_table_of_submissions_is_told_by_its_keys(command: Command, table: str, told: str) -> None:
    command.write("sbatchlint.toml", f"[[submit]]\n{table}\n")
    command.write("a.sh", "#!/bin/bash\n#SBATCH -n 1\nsrun ./a.out\n")
    run = command("a.sh")
    assert run.code == 2 and run.err == f"error: sbatchlint.toml: {told}\n"


def test_findings_on_options_of_the_settings_name_them(command: Command) -> None:
    command.write("sbatchlint.toml", '[[submit]]\npaths = ["a.sbatch"]\noptions = "--ntasks=2"\n')
    command.write("a.sbatch", "#!/bin/bash\nsrun ./a.out\n")
    assert "tasks  2  [[submit]] in sbatchlint.toml\n" in command("plan", "a.sbatch").out


MANY = json.dumps([f"a*b*x{number}" for number in range(1001)])
LONG = json.dumps(["[a-c]*" * 400 + str(number) for number in range(21)])


@pytest.mark.parametrize(
    "text",
    [
        *[f"{key} = {patterns}" for key in ("include", "exclude", "extend-exclude") for patterns in (MANY, LONG)],
        "[per-file-ignores]\n" + "\n".join(f'"*a*b*x{number}" = ["SB1"]' for number in range(1001)),
        f'[[submit]]\npaths = {MANY}\noptions = ""',
        "\n".join(f'[[submit]]\npaths = ["x{number}", "y"]\noptions = ""' for number in range(501)),
    ],
)
def test_patterns_are_too_many_to_compare_each_path_with(command: Command, text: str) -> None:
    command.write("sbatchlint.toml", text)
    result = command(".")
    assert result.code == 2 and "write patterns for whole folders" in result.err


def test_thousand_patterns_are_read(command: Command) -> None:
    command.write("sbatchlint.toml", f"extend-exclude = {json.dumps(json.loads(MANY)[1:])}")
    assert command(".").code == 0
