"""Options of plugins: those known, those that the settings name, and those that a saved `sbatch --help` lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.analysis.directives.placeholders import find_placeholder, placeholder
from sbatchlint.analysis.directives.unknown_options import GONE, is_plausible, missing_option
from sbatchlint.engine import lint_source
from sbatchlint.registry import registry
from sbatchlint.settings import Overrides, Resolver, Settings
from sbatchlint.slurm.getopt import parse, site_names, site_option
from sbatchlint.slurm.options import plugin_options, table
from sbatchlint.slurm.plugin_help import NoHelp, options_of_help
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source

ALL = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")

HELP = """\
Usage: sbatch [OPTIONS(0)...] [ : [OPTIONS(N)...]] script(0) [args(0)...]

Parallel run options:
  -a, --array=indexes         job array index values
  -J, --job-name=jobname      name of job
  -p, --partition=partition   partition requested

Affinity/Multi-core options: (when the task/affinity plugin is enabled)
      --ntasks-per-core=n     number of tasks to invoke on each core

Options provided by plugins:
      --fast-scratch=size     Reserve this much of the burst buffer,
                              with a suffix --or without one.
      --turbo                 Let the processors run as fast as they can
      --energy-policy=[name]  Policy for the frequencies

      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH
                              [pyxis] the image to use for the container
                              filesystem.
  -q, --quick                 A short form that no plugin can have
      --trace[=file]          Hand-written

GPU scheduling options:
      --cpus-per-gpu=n        number of CPUs required per allocated GPU
  -G, --gpus=n                count of GPUs required for the job
"""


def codes(text: str, table: dict[str, object]) -> list[tuple[str, str]]:
    found = lint_source(Source(text, "job.sh"), Settings.of_table(table, select=["SB111"]))
    return [(text[each.span.start : each.span.end], each.severity) for each in found]


def test_help_of_sbatch() -> None:
    found = options_of_help(HELP)
    assert found == ("fast-scratch", "turbo", "energy-policy", "container-image", "quick", "trace[=]")
    assert options_of_help(HELP.partition("Options provided")[0]) == ()
    # The last option of the list, and one whose explanation begins on its own line.
    end = HELP.index("GPU scheduling") - 1
    assert options_of_help(HELP[:end]) == found
    for wrong in ("", "Usage: srun\n", "{}", "\x7fELF"):
        with pytest.raises(NoHelp):
            options_of_help(wrong)


def test_forms_of_an_option() -> None:
    assert site_option("--turbo") == ("turbo", "any") and site_option(" size= ") == ("size", "required")
    assert site_option("trace[=]") == ("trace", "optional")
    assert site_names(["a=", "--b", "c[=]"]) == {"a", "b", "c"}


def test_a_known_plugin_keeps_its_name() -> None:
    parsed = parse(["--module", "gpu", "--turbo"], "sbatch", ALL, ["module=", "turbo"])
    assert [each.name for each in parsed.options] == ["module", "turbo"]
    first, second = (each.option for each in parsed.options)
    assert first is not None and first.plugin == "shifter" and second is None


def test_shipped_options_are_none_of_slurm() -> None:
    own = {name for version in MAJORS for name in table("sbatch", version).names}
    assert own.isdisjoint(plugin_options())
    unknown = registry().find("unknown-option")
    assert unknown is not None
    synonyms = registry().load(unknown).module.SYNONYMS
    assert own.isdisjoint(GONE) and own.isdisjoint(synonyms)
    targets = {gone.name for gone in GONE.values()} - {None}
    assert targets <= own and set(synonyms.values()) <= own


def test_what_a_plugin_may_be_called() -> None:
    for name in ("cuda-mps", "gpu_cmode", "enable-turbo", "beeond", "container-pull"):
        assert is_plausible(f"--{name}"), name
    for written in ("--mem-per-task", "--cpus-per-node", "--time-per-task", "-g", "--Foo", "--x", "--gres:gpu:1"):
        assert not is_plausible(written), written


def test_why_an_option_is_missing() -> None:
    new = missing_option("--segment", "sbatch", ("22.05", "23.02"))
    assert new is not None and (new.kind, new.since) == ("new", "24.05")
    removed = missing_option("--power", "sbatch", ("24.05", "24.11"))
    assert removed is not None and (removed.kind, removed.since) == ("removed", "24.05")
    gap = missing_option("--export-file", "sbatch", ("23.11",))
    assert gap is not None and gap.kind == "gap"
    old = missing_option("--workdir", "sbatch", ALL)
    assert old is not None and old.gone is not None and old.gone.name == "chdir"
    assert missing_option("--no-such-option", "sbatch", ALL) is None


def test_settings_name_options() -> None:
    script = "#!/bin/bash\n#SBATCH --turbo --fast-scratch=2\n"
    assert codes(script, {}) == [("--turbo", "info"), ("--fast-scratch", "info")]
    assert codes(script, {"plugin-options": ["turbo", "fast-scratch="]}) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sbatch-help.txt").write_text(HELP)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "sbatchlint.toml").write_text('plugin-options-from = "sbatch-help.txt"\n')
    return tmp_path


def of(folder: Path, name: str = "jobs/a.sh") -> Settings:
    return Resolver(Overrides(select=("SB111",))).settings(str(folder / name))


def test_options_from_a_saved_help(folder: Path) -> None:
    settings = of(folder)
    assert settings.site.plugins_listed and settings.site.pyxis_in_sbatch is True
    assert settings.site.plugin_options[:2] == ("fast-scratch", "turbo")
    text = "#!/bin/bash\n#SBATCH --turbo --fast-scratch=4 --energy-policy --container-image=x\n"
    assert lint_source(Source(text, "job.sh"), settings) == []
    # What the help does not list is no plugin's, whatever it is called.
    text = "#!/bin/bash\n#SBATCH --beeond --overdrive\n"
    found = lint_source(Source(text, "job.sh"), settings)
    assert [(text[each.span.start : each.span.end], each.severity) for each in found] == [
        ("--beeond", "error"),
        ("--overdrive", "error"),
    ]


def test_what_is_written_by_hand_wins(folder: Path) -> None:
    (folder / "sbatchlint.toml").write_text(
        'plugin-options-from = "sbatch-help.txt"\nplugin-options = ["turbo[=]", "extra-fast"]\n'
        "[site]\npyxis-in-sbatch = false\n"
    )
    site = of(folder).site
    assert site.plugin_options[:2] == ("turbo[=]", "extra-fast") and "turbo" not in site.plugin_options
    assert site.pyxis_in_sbatch is False


def test_a_help_without_plugins(folder: Path) -> None:
    (folder / "sbatch-help.txt").write_text(HELP.partition("Options provided")[0])
    site = of(folder).site
    assert site.plugins_listed and site.plugin_options == () and site.pyxis_in_sbatch is False


def test_a_help_that_another_file_names(folder: Path) -> None:
    (folder / "jobs" / "sbatchlint.toml").write_text('extend = "../sbatchlint.toml"\n')
    assert "turbo" in of(folder).site.plugin_options


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no file"), ("#!/bin/bash\n#SBATCH -N1\n", "is not what `sbatch --help` prints")],
)
def test_a_help_that_is_none(folder: Path, content: str | None, message: str) -> None:
    if content is None:
        (folder / "sbatch-help.txt").unlink()
    else:
        (folder / "sbatch-help.txt").write_text(content)
    with pytest.raises(InputError, match=message) as error:
        of(folder)
    assert "plugin-options-from" in str(error.value) and "\n" not in str(error.value)


def test_a_help_must_be_a_path() -> None:
    with pytest.raises(InputError, match="plugin-options-from: must be text"):
        Settings.of_table({"plugin-options-from": ["a", "b"]})


def test_pyxis_that_is_too_old_for_sbatch() -> None:
    def of_version(version: str) -> bool | None:
        return Settings.of_table({"site": {"pyxis": version}}).site.pyxis_in_sbatch

    assert [of_version(each) for each in ("0.9", "0.11.1", "v0.11", "0.12.0", "0.20", "1.0", "new")] == [
        False,
        False,
        False,
        None,
        None,
        None,
        None,
    ]
    explicit = {"site": {"pyxis": "0.11", "pyxis-in-sbatch": True}}
    assert Settings.of_table(explicit).site.pyxis_in_sbatch is True


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("account", "<your account>", "<your account>"),
        ("account", "project_46YXXXXXX", "project_46YXXXXXX"),
        ("account", "YourAccount", "YourAccount"),
        ("partition", "gpu,ENTER_ME_HERE", "ENTER_ME_HERE"),
        ("time", '"HH:MM:SS"', "HH:MM:SS"),
        ("mail-user", "first.last@uni.edu", "first.last@uni.edu"),
        ("mail-user", "you@your-institution.edu", "you@your-institution.edu"),
        ("output", "/scratch/your_folder/%j", "your_folder"),
        ("nodes", "<N>", "<N>"),
        ("job-name", "todo", None),
        ("account", "account", None),
        ("account", "six@gpu", None),
        ("partition", "test", None),
        ("constraint", "x86&xlarge", None),
        ("time", "1-00:00:00", None),
        ("time", "UNLIMITED", None),
        ("output", "<%j>", None),
        ("output", "/path/to/%j", None),
        ("comment", "<none>", None),
        ("mail-user", "name@example-lab.org", "name@example-lab.org"),
        ("mail-user", "ada@example-lab.org", None),
    ],
)
def test_placeholders(option: str, value: str, expected: str | None) -> None:
    assert placeholder(option, value) == expected


def test_kinds_of_placeholders() -> None:
    found = [find_placeholder("output", value) for value in ("{log}/x", "@[LOG]", "/path/to/x", "a<b>")]
    assert [each and each.kind for each in found] == ["template", "template", "path", "blank"]
    assert find_placeholder("output", "${LOG}/x") is None
