"""A secret that is written in a script is told by its place, and never shown: in no report, baseline, cache or plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sbatchlint import engine, installation
from sbatchlint.check import Edit, Finding, Fix
from sbatchlint.cli import main
from sbatchlint.registry import registry
from sbatchlint.report import FORMATS
from sbatchlint.source.secrets import COVER, redacted, secrets_in
from sbatchlint.source.text import Source, Span

KEY, TOKEN = "3f9a1c07be52d84e6a90b7c13fd825e4a6c01b9d", "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"
PASSWORD = "correct-horse"  # not drawn, but in the place of one
SCRIPT = f"""\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --comment=HF_TOKEN={TOKEN} extra
export WANDB_API_KEY={KEY}; cd $PBS_O_WORKDIR
srun python train.py --token {TOKEN} --db-password={PASSWORD} | tee log
#SBATCH --time=5 --comment={TOKEN}
python train.py --wandb-key {KEY} $SLURM_JOB_ID_x WANDB_API_KEY={KEY} | cat
"""


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SBATCHLINT_NO_CACHE", raising=False)
    monkeypatch.setattr(installation, "_JUST_NOW", 0)  # sbatchlint itself may just have been installed
    monkeypatch.setenv("SBATCHLINT_CACHE_DIR", str(folder / "cache"))

    def shown(*arguments: str) -> str:
        assert main(list(arguments)) in (0, 1)
        return "".join(capsys.readouterr())

    return shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(9):  # so many that results are kept
        (tmp_path / f"{number}.sh").write_text(SCRIPT)
    (tmp_path / "page.md").write_text(f"```bash\n{SCRIPT}```\n")
    return tmp_path


@pytest.mark.parametrize(
    ("begin", "size"),
    [
        *(("hf_", 34), ("ghp_", 36), ("npm_", 36), ("r8_", 37), ("gsk_", 40), ("dckr_pat_", 27), ("glpat-", 20)),
        *(("sk-", 40), ("nvapi-", 40), ("pypi-", 60), ("wandb_v1_", 32), ("xoxb-", 24), ("AIza", 35)),
    ],
)
def test_each_form_of_a_token_is_found_by_itself(begin: str, size: int) -> None:
    body = ("tQnWzRkVbXcJmPdLgYhSfAeUo7xTwMqKvB2" * 2)[:size]
    (found,) = secrets_in(f"srun a.out '{begin}{body}'\n")
    assert found.span == (12, 12 + len(begin) + size)


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_shows_a_secret(run: Callable[..., str], form: str) -> None:
    shown = run("0.sh", "page.md", "--output-format", form, "--min-severity", "info")
    assert ("SB901" in shown or "secret-in-script" in shown) and "SB101" in shown
    assert not any(secret in shown for secret in (KEY, TOKEN, PASSWORD)), shown


def test_nothing_that_is_kept_holds_a_secret(run: Callable[..., str], folder: Path) -> None:
    run()
    run("--write-baseline", "baseline.json")
    kept = [each for each in (*(folder / "cache").rglob("*"), folder / "baseline.json") if each.is_file()]
    assert len(kept) >= 2
    for path in kept:
        assert not any(secret.encode() in path.read_bytes() for secret in (KEY, TOKEN, PASSWORD)), path


@pytest.mark.parametrize("form", ["text", "json", "html", "svg"])
def test_no_plan_shows_a_secret(run: Callable[..., str], form: str) -> None:
    shown = run("plan", "--output-format", form, "0.sh")
    assert "train.py" in shown
    assert not any(secret in shown for secret in (KEY, TOKEN, PASSWORD)), shown


@pytest.mark.parametrize(
    "text",
    [
        f"export HF_TOKEN={TOKEN}",
        f"WANDB_API_KEY='{KEY}' python",
        f"wandb login {KEY}",
        f'{{"api_key": "{KEY}"}}',
        "curl -H 'Authorization: Bearer Zx81kdPqLm29QwBv77NsTr'",
        "git clone https://x:Zx81kdPqLm29QwBv77Ns@example.org",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAA\n",
        f"a\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}b api_token={KEY}",
    ],
)
def test_what_is_covered_keeps_its_length_and_its_lines(text: str) -> None:
    (secret,) = secrets_in(text)
    after = redacted(text)
    assert len(after) == len(text) and after.count("\n") == text.count("\n")
    assert set(after[secret.span.start : secret.span.end]) <= {COVER, "\n"}
    assert after[: secret.span.start] == text[: secret.span.start]


@pytest.mark.parametrize(
    ("message", "label", "content"),
    [("is x", "is y", "z"), (f"is {TOKEN}", "is y", "z"), ("is x", f"is {TOKEN}", "z"), ("is x", "is y", TOKEN)],
)
def test_each_text_of_a_finding_is_covered(message: str, label: str, content: str) -> None:
    place = Span(0, 1)
    fix = Fix("write it", [Edit(place, content)])
    check = registry().load(registry().entries[0])
    finding = Finding(place, message, related=[(place, label)], fix=fix)
    others = [engine._diagnostic(Finding(place, "is x"), Source("ab"), "", check, None)] * 2
    made = engine._diagnostic(finding, Source("ab"), "", check, None)
    first, found, last = engine.without_secrets([others[0], made, others[1]])
    assert [first, last] == others
    assert (found.message, found.related[0].label) == (redacted(message), redacted(label))
    assert (found.fix is None) == (content == TOKEN)


def test_each_of_many_secrets_is_covered_once() -> None:
    lines = [f"export TOKEN_{number}={TOKEN} # password={TOKEN}" for number in range(20)]
    text = "\n".join(lines)
    after = redacted(text)
    assert len(after) == len(text) and TOKEN not in after
    assert [line.partition("=")[0] for line in after.split("\n")] == [line.partition("=")[0] for line in lines]


@pytest.mark.parametrize(
    "text",
    ["export HF_TOKEN=$TOKEN", "API_KEY=EMPTY", "a password is wanted", "TOKEN: <yours>", "KEY=/home/ada/.key", "pw"],
)
def test_what_is_not_covered(text: str) -> None:
    assert secrets_in(text) == () and redacted(text) == text
