"""Jobs inside scripts: the text of --wrap, and the options on the command line of their own sbatch.

What is expected was seen with Slurm 22.05: the command line wins over the directives, `#SBATCH` lines in the text of
--wrap are comments, and its shell is /bin/sh.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from sbatchlint.bash.values import Phase
from sbatchlint.engine import inspect
from sbatchlint.job import Job
from sbatchlint.settings import Overrides, Settings
from sbatchlint.site import Site
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source


def submitted(script: str) -> list[Job]:
    return Job.from_source(Source(dedent(script), "submit.sh"), Site()).submits


def geometry(job: Job) -> tuple[int | None, int | None]:
    (step,) = job.steps
    return step.nodes, step.tasks


WRAPPED = {
    "an equals sign": 'sbatch -N2 --ntasks-per-node=4 --wrap="srun hostname"',
    "a word of its own": "sbatch -N2 --ntasks-per-node=4 --wrap 'srun hostname'",
    "options behind the text": "sbatch --wrap='srun hostname' --nodes 2 --ntasks-per-node=4",
    "options in variables": 'OPTS="-N 2"\nEACH=4\nsbatch $OPTS --ntasks-per-node=$EACH --wrap="srun hostname"',
    "the text in a variable": 'CMD="srun hostname"\nsbatch -N2 --ntasks-per-node=4 --wrap="$CMD"',
    "directives in the text are comments": "sbatch -N2 --ntasks-per-node=4 --wrap='#SBATCH --ntasks=7\nsrun hostname'",
    "in a function": 'submit() { sbatch -N2 --ntasks-per-node=4 --wrap="$1"; }\nsubmit "srun hostname"',
}


@pytest.mark.parametrize("command", WRAPPED.values(), ids=WRAPPED)
def test_the_text_of_wrap_is_a_job(command: str) -> None:
    (job,) = submitted(f"#!/bin/bash\n{command}\n")
    assert job.is_wrapped
    assert job.phase is Phase.BATCH
    assert job.interpreter_line[0] == "sh"
    assert job.directives.settings == ()
    assert geometry(job) == (2, 8)
    assert job.source.slice(job.steps[0].span) == "srun hostname"


def test_the_command_line_wins_over_the_directives() -> None:
    (job,) = submitted(
        """\
        #!/bin/bash
        sbatch -N2 --gres=gpu:4 <<EOF
        #!/bin/bash
        #SBATCH -N1
        #SBATCH --ntasks-per-node=2
        srun hostname
        EOF
        """
    )
    assert geometry(job) == (2, 4)
    assert job.request.asks_for_gpus
    assert job.request.gpus_per_node() == 4
    assert [each.name for each in job.directives.settings] == ["nodes", "ntasks-per-node"]


def test_unknown_words_of_the_command_line_make_all_uncertain() -> None:
    known, unknown = submitted(
        """\
        #!/bin/bash
        sbatch -N2 --wrap="srun hostname"
        sbatch -N2 "$@" --wrap="srun hostname"
        """
    )
    assert known.directives.certain
    assert known.request.asks_for_gpus is False
    assert not unknown.directives.certain
    assert unknown.request.asks_for_gpus is None
    assert geometry(unknown)[1] is None


def test_a_file_that_the_script_writes_gets_the_options_of_its_sbatch() -> None:
    (job,) = submitted(
        """\
        #!/bin/bash
        cat > job.sh <<'EOF'
        #!/bin/bash
        srun hostname
        EOF
        sbatch --nodes=3 --ntasks=6 job.sh first second
        """
    )
    assert geometry(job) == (3, 6)
    assert not job.is_wrapped


def test_jobs_that_submit_jobs() -> None:
    (outer,) = submitted(
        """\
        #!/bin/bash
        sbatch -N1 <<'EOF'
        #!/bin/bash
        sbatch --ntasks=5 --wrap='srun hostname'
        EOF
        """
    )
    (inner,) = outer.submits
    assert inner.outer is outer
    assert geometry(inner)[1] == 5


@pytest.mark.parametrize("command", ["sbatch --wrap", 'sbatch --wrap="$X"', "sbatch --wrap=", "sbatch -N2 <<< $X"])
def test_what_is_not_known_is_no_job(command: str) -> None:
    assert submitted(f"#!/bin/bash\n{command}\n") == []


def test_checks_see_the_steps_of_a_wrapped_job() -> None:
    script = """\
        #!/bin/bash
        sbatch -N2 --ntasks-per-node=8 --gpus-per-node=8 --wrap="srun torchrun --nproc_per_node=8 --nnodes=2 train.py"
        """
    source = Source(dedent(script), "submit.sh")
    (found,) = [each for each in inspect(source, Settings.of_table({})).diagnostics if each.code == "SB301"]
    assert source.slice(found.span) == "--ntasks-per-node=8"
    assert source.row(found.span.start) == 2


def test_readmes_of_the_project_say_how_a_script_is_submitted(tmp_path: Path) -> None:
    script = tmp_path / "repo" / "jobs" / "job.sh"
    script.parent.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    script.write_text("#!/bin/bash\n#SBATCH --output=run_%a.out\nsrun ./a.out\n")
    folders = (tmp_path, tmp_path / "repo", tmp_path / "repo" / "docs")

    def codes() -> list[str]:
        source = Source.from_bytes(script.read_bytes(), str(script))
        return [each.code for each in inspect(source, Settings.of_table()).diagnostics]

    for folder, is_read in zip(folders, (False, True, True), strict=True):
        folder.mkdir(exist_ok=True)
        readme = folder / "README.md"
        readme.write_text("Run `sbatch --array=1-10 jobs/job.sh`.\n")
        assert ("SB703" not in codes()) == is_read, folder
        readme.unlink()


@pytest.mark.parametrize(
    ("name", "shown"), [("run_array.sbatch", True), ("JobArray.sh", True), ("bytearrays.sh", False)]
)
def test_the_name_of_a_script_says_that_it_is_an_array(name: str, shown: bool) -> None:
    source = Source("#!/bin/bash\n#SBATCH --output=run_%a.out\nsrun ./a.out\n", name)
    codes = [each.code for each in inspect(source, Settings.of_table()).diagnostics]
    assert ("SB703" not in codes) == shown


SIZELESS = "#!/bin/bash\n#SBATCH --job-name=train\ntorchrun --nnodes=4 --nproc_per_node=4 train.py\n"


def settings_with(options: str, paths: list[str]) -> Settings:
    return Settings.of_table({"submit": [{"paths": paths, "options": options}]})


def test_options_of_the_submission_are_those_of_the_matching_entries() -> None:
    settings = Settings.of_table(
        {
            "submit": [
                {"paths": ["jobs/*.sh"], "options": "--nodes=2"},
                {"paths": ["jobs/big*"], "options": "--nodes=8 --array=1-3"},
            ]
        }
    )
    for path, nodes, array in (("jobs/a.sh", 2, None), ("jobs/big.sh", 8, "1-3"), ("other/a.sh", None, None)):
        job = Job.from_source(Source(SIZELESS, path), settings.site_of(path))
        assert (job.request.value("nodes") or None) == (nodes and str(nodes)) and job.request.array == array


def test_the_command_line_comes_after_the_settings() -> None:
    table = {"submit": [{"paths": ["*.sh"], "options": "--nodes=2 --gpus-per-node=4"}]}
    settings = Settings(table, Overrides(sbatch_options="--nodes=4"), ".")
    job = Job.from_source(Source(SIZELESS, "job.sh"), settings.site_of("job.sh"))
    assert (job.request.value("nodes"), job.request.value("gpus-per-node")) == ("4", "4")
    assert not job.directives.lines[1:]  # the script itself has no more lines than before


def test_findings_about_options_of_the_submission_stand_on_the_first_line() -> None:
    settings = settings_with("--array=1-9 --output=run.log", ["*.sh"])
    found = [each for each in inspect(Source(SIZELESS, "job.sh"), settings).diagnostics if each.code == "SB702"]
    assert [(each.span.start, each.source.path, each.fix, each.reached) for each in found] == [(0, "job.sh", None, "")]


@pytest.mark.parametrize("options", ["--nods=3", "-N 2 job.sh", "--nodes", "2", "--nodes=2\n--ntasks=3"])
def test_options_that_sbatch_would_not_take(options: str) -> None:
    with pytest.raises(InputError, match="sbatch takes no such options"):
        settings_with(options, ["*.sh"])


def test_no_options_are_an_answer() -> None:
    assert settings_with("", ["*.sh"]).site_of("job.sh").submit_options == ""
    severities = {
        each.severity
        for settings in (settings_with("", ["*.sh"]), Settings.of_table())
        for each in inspect(Source(SIZELESS, "job.sh"), settings).diagnostics
        if each.code == "SB201"
    }
    assert severities == {"warning", "info"}
