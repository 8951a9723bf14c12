"""No diagnosis shows a secret that another line of the log tells, whether the script is known or not."""

import html
import json
from pathlib import Path

import pytest

from counting import executed_lines
from sbatchlint import api
from sbatchlint.cli import main
from sbatchlint.diagnose.logged_secrets import MOST_VALUES
from sbatchlint.diagnose.logs import findings_in

KEY = "4f1c9a7be2d85036c4f1a9e7b2d85c360f1e9d7a"
OF_KEY = "QyNTUxOQAAACDp0vX4bq1FzYk2sY5x8Lr3e7mVtQ9nB1cG6hJ4kWdRzwAAAJgXk3qFF5N6"
# What tells a secret, and the secret.
TOLD = {
    "variable": (f"WANDB_API_KEY={KEY}", KEY),
    "trace": (f"+ export WANDB_API_KEY={KEY}", KEY),
    "rank": (f"[rank0]: HF_TOKEN = '{KEY}'", KEY),
    "stamp": (f"2025-01-02 03:04:05,678 INFO api_key: {KEY}", KEY),
    "colour": (f"\x1b[32mWANDB_API_KEY=\x1b[1m{KEY}\x1b[0m", KEY),
    "password": ("DB_PASSWORD=Kirschbaum9", "Kirschbaum9"),
    "address": ("connecting to postgres://ada:Kirschbaum9@db/x", "Kirschbaum9"),
    "option": ("+ mysql -u ada -pKirschbaum9 runs", "Kirschbaum9"),
    "curl": ("+ curl -u ada:Kirschbaum9 https://h/x", "Kirschbaum9"),
    "header": (f"> Authorization: Bearer {KEY}", KEY),
    "json": (f'{{"api_key": "{KEY}", "lr": 0.1}}', KEY),
    "yaml": ("  password: Kirschbaum9x", "Kirschbaum9x"),
    "below": (f"machine api.wandb.ai\n  login user\n  password {KEY}", KEY),
    "netrc": (f"machine api.wandb.ai login user password {KEY}", KEY),
    "private key": (
        f"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n{OF_KEY}\n-----END OPENSSH PRIVATE KEY-----",
        OF_KEY,
    ),
    "arguments": ("Namespace(lr=0.1, password='Kirschbaum9', n=3)", "Kirschbaum9"),
    "progress": (f"loading 10%\rloading 20%\rWANDB_API_KEY={KEY}\rdone", KEY),
    "far in a line": ("x" * 9000 + f" WANDB_API_KEY={KEY} " + "y" * 9000, KEY),
}
# Where else it stands: before, after and in the decisive line.
LOG = """{first}
Traceback (most recent call last):
  File "/home/ada/{secret}/train.py", line 3, in <module>
    main("{secret}")
FileNotFoundError: [Errno 2] No such file or directory: '/data/runs/of/the/project/with/a/long/name/{secret}/{secret}'
{last}
srun: error: n1: task 0: Exited with exit code 1
/usr/bin/ld: cannot find -l{secret}
"""


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.parametrize("comes_first", [True, False])
def test_a_secret_of_one_line_is_shown_in_no_other(
    kind: str, comes_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told, secret = TOLD[kind]
    first, last = (told, "") if comes_first else ("", told)
    Path("job-101.log").write_text(LOG.format(first=first, last=last, secret=secret))
    Path("job-102.log").write_text("slurmstepd: error: Detected 1 oom_kill event\n")
    for form in ("text", "json", "github"):
        for logs in (["job-101.log"], ["job-101.log", "job-102.log"]):
            assert main(["diagnose", *logs, "--output-format", form]) == 1
            shown = "".join(capsys.readouterr())
            flat = "".join(line.strip(" |:") for line in shown.splitlines())
            for text in (shown, flat):
                assert secret not in text and html.escape(secret) not in text, shown
            assert "***" in shown
    found = api.diagnose(Path("job-101.log").read_bytes())
    assert secret not in found.text(60) and secret not in json.dumps(found.data)


@pytest.mark.parametrize("secret", ["q7", "7q", "x9!", "a?", "Z3k", "k4x9", "ab-12"])
@pytest.mark.parametrize("has_script", [True, False])
def test_a_short_value_is_known_by_itself(secret: str, has_script: bool) -> None:
    said = f"OSError: [Errno 98] Address already in use). {secret}\nlogin with {secret}.\n"
    said += f"({secret}) '{secret}' {secret}, x={secret}\n"
    script = f"#!/bin/bash\nROOT_PASSWORD='{secret}'\nsrun ./a\n" if has_script else None
    told = "" if has_script else f"ROOT_PASSWORD={secret}\n"
    found = api.diagnose(f"{told}{said}".encode(), script=script)
    shown = found.text(200) + json.dumps(found.data)
    assert "already in use). ***" in shown and secret not in shown.replace("***", "").replace("Errno", "")


@pytest.mark.parametrize("secret", ["a", "7", "ab", "98", "use", "already"])
def test_a_value_that_stands_in_texts_by_chance_is_redacted_beside_its_name_only(secret: str) -> None:
    log = f"ROOT_PASSWORD={secret}\nOSError: [Errno 98] Address already in use a 7 ab\n"
    shown = api.diagnose(log.encode()).text(200)
    assert "[Errno 98] Address already in use" in shown and f"ROOT_PASSWORD={secret}" not in shown


@pytest.mark.parametrize("secret", ["5e90e6b8-6208-0644-3af7-62c2952c8b57", "KQWu3lghTo9zA01N~wq.Rt5~xx"])
def test_what_a_cause_names_of_a_secret_is_redacted(secret: str) -> None:
    log = f"X-Auth-Token: {secret}\nModuleNotFoundError: No module named '{secret}'\n"
    found = api.diagnose(log.encode(), script="#!/bin/bash\nsrun python t.py\n")
    shown = found.text(200) + json.dumps(found.data)
    assert "does not find ***" in shown and secret[:8] not in shown


@pytest.mark.parametrize(
    ("written", "read"),
    [("Tr0ub4%26dor%233%21", "Tr0ub4&dor#3!"), ("p%40ss%3Aw", "p@ss:w"), ("Gr%C3%BC%C3%9Fe9", "Grüße9")],
)
def test_a_password_of_an_address_is_known_as_programs_read_it(written: str, read: str) -> None:
    script = f"#!/bin/bash\nsrun git clone https://ada:{written}@h/x.git\n"
    shown = api.diagnose(f"OSError: [Errno 98] Address already in use). {read}\n".encode(), script=script).text(200)
    assert "already in use). ***" in shown and read not in shown


def test_json_stays_json_where_a_secret_is_a_number_or_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["DB_PASSWORD=diagnoses", "ADMIN_PASSWORD=submission", "USER_PASSWORD=100001", *["-"] * 99_997]
    Path("job.log").write_text("\n".join([*lines, "slurmstepd: error: Detected 1 oom_kill event", ""]))
    main(["diagnose", "job.log", "--output-format", "json"])
    value = json.loads(capsys.readouterr().out)
    assert value["diagnoses"][0]["log"]["rows"] == [100_001]


def test_what_tells_no_secret_hides_nothing() -> None:
    log = "\n".join(
        [
            *("tokens/s: 8123.5", "eos_token: <|endoftext|>", "pad_token = [PAD]", "token 17 of 40", "pass: a"),
            *("sort_key=train", "primary key: id", "passed: 31", "pass: train", "+ cd /data/train", "+ srun ./a.out"),
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/model'",
        ]
    )  # fmt: skip
    assert findings_in({"job.log": log.encode()}).secrets.values() == ()


def test_a_log_that_is_full_of_secrets_is_read_in_linear_time() -> None:
    names = [f"{first}{second}_API_KEY" for first in "ABCDEFGHIJ" for second in "abcdefghijklmnopqrstuvwxyz"]

    def lines(count: int) -> int:
        every = [(name, number * 260 + at) for number in range(count) for at, name in enumerate(names)]
        text = "\n".join(f"{name}={KEY[:-5]}{number:05x}" for name, number in every)
        return executed_lines(lambda: found.append(findings_in({"job.log": text.encode()}).secrets.values()))

    found: list[tuple[str, ...]] = []
    lines(1)
    small, large = lines(3), lines(30)
    assert large < 13 * small
    assert [len(each) for each in found] == [260, 780, MOST_VALUES]
