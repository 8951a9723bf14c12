"""Secrets in other forms than a command line: keys of several lines, webhooks, lists of words, addresses in parts."""

from __future__ import annotations

import json
import random
import string

import pytest

from sbatchlint.source.secrets import redacted, values_in
from sbatchlint.source.shortening import shortened


def _drawn(size: int, of: str = string.ascii_letters + string.digits) -> str:
    draw = random.Random(size * 1009 + len(of))
    return "".join(draw.choice(of) for _ in range(size))


LINES = [_drawn(size) for size in (64, 65, 66)] + [_drawn(40) + "=="]
HEX = _drawn(40, "0123456789abcdef")
GUID = "-".join(_drawn(size, "0123456789abcdef") for size in (8, 4, 4, 4, 12))


@pytest.mark.parametrize(
    "kind", ["OPENSSH PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("header", ["", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n"])
def test_a_private_key_is_redacted_however_it_is_written(kind: str, header: str) -> None:
    key = f"-----BEGIN {kind}-----\n{header}" + "\n".join(LINES) + f"\n-----END {kind}-----"
    written = [
        key, key.replace("\n", "\r\n"), key.replace("\n", "\\n"), key.replace("\n", "\\\\n"), key.replace("\n", "n"),
        key.replace("\n", " "), key.replace("\n", "\n# "), key.replace("\n", "\n    "), f"KEY={key}",
        key.partition("-----END")[0], "\n".join(f'echo "{line}" >> k' for line in key.split("\n")),
        json.dumps({"k": key}), repr(key.split("\n")), "\n".join(f"[rank0]: {line}" for line in key.split("\n")),
    ]  # fmt: skip
    assert [each for each in written if any(line in redacted(each) for line in LINES)] == []
    assert redacted(f"{key}\nsrun hostname\n").endswith("-----\nsrun hostname\n")


def test_lines_of_a_key_are_redacted_elsewhere() -> None:
    values = values_in("echo '-----BEGIN PRIVATE KEY-----\n" + "\n".join(LINES) + "\n-----END PRIVATE KEY-----\n")
    assert [line for line in LINES if line in redacted(f"runs {line} alone", values)] == []
    assert redacted(f"KEY-----n{'n'.join(LINES)}", values).strip("*n=") == "KEY-----"


# `@` is the secret of each path.
HOOKS = (
    ("hooks.slack.com", "/services/TAB12CD34/BAB12CD34/@"), ("hooks.slack.com", "/triggers/TAB12CD34/123456/@"),
    ("discord.com", "/api/webhooks/123456789012345678/@"), ("mm.example.org", "/hooks/@"),
    ("outlook.office.com", f"/webhook/{GUID}+{GUID}/IncomingWebhook/@/{GUID}"),
    ("corp.webhook.office.com", f"/webhookb2/{GUID}+{GUID}/IncomingWebhook/@/{GUID}/V2"),
    ("chat.googleapis.com", "/v1/spaces/A/messages?key=b&token=@"), ("ntfy.sh", "/@"), ("hc-ping.com", "/@/fail"),
    ("hooks.zapier.com", "/hooks/catch/123456/@/"), ("maker.ifttt.com", "/trigger/done/with/key/@"),
    ("qyapi.weixin.qq.com", "/cgi-bin/webhook/send?key=@"), ("open.feishu.cn", "/open-apis/bot/v2/hook/@"),
)  # fmt: skip


@pytest.mark.parametrize(("host", "path"), HOOKS)
def test_webhooks_are_redacted_in_scripts_and_logs(host: str, path: str) -> None:
    path = path.replace("@", HEX)
    written = [
        f"curl https://{host}{path}", f"srun --export=HOOK=https://{host}{path} a",
        f"HTTPSConnectionPool(host='{host}', port=443): Max retries exceeded with url: {path} (Caused by x)",
        f'https://{host}:443 "POST {path} HTTP/1.1" 404 None', f"> POST {path} HTTP/2\n> Host: {host}\n",
        f"404, message='Not Found', url=URL('https://{host}{path}')", f"['curl', '-X', 'POST', 'https://{host}{path}']",
    ]  # fmt: skip
    assert [each for each in written if HEX in redacted(each)] == []
    assert HEX not in shortened(f"--export=HOOK=https://{host}{path}")


@pytest.mark.parametrize(
    "words",
    [
        ["wandb", "login", HEX], ["curl", "-H", f"Authorization: Bearer {HEX}"], ["curl", "-u", f"ada:{HEX}", "h"],
        ["mysql", f"-p{HEX}"], ["docker", "login", "-u", "ada", "-p", HEX], ["train.py", "--api-key", HEX],
    ],
)  # fmt: skip
def test_lists_of_words_are_read_as_command_lines(words: list[str]) -> None:
    written = [repr(words), json.dumps(words), json.dumps(words, separators=(",", ":")), repr(tuple(words))]
    assert [each for each in written if HEX in redacted(f"CalledProcessError: Command '{each}' failed")] == []


def test_nothing_is_shortened_before_it_is_redacted() -> None:
    first, last = _drawn(24), _drawn(25)
    assert last not in shortened(f"--export=TOKEN={first}/{last}")
    values = values_in(f"TOKEN={first}/{last}\n")
    assert last not in redacted(shortened(f"python {first}/{last} --a-long-option-of-it"), values)


@pytest.mark.parametrize(
    "text",
    [
        "sed -n '/-----BEGIN PRIVATE KEY-----/,/-----END PRIVATE KEY-----/p' f", "grep -c 'BEGIN PRIVATE KEY' f",
        "-----BEGIN PRIVATE KEY-----\nMIIE...\n-----END PRIVATE KEY-----\n", "cp .git/hooks/pre-commit-config-2024 x",
        "curl https://ntfy.sh/$TOPIC", "curl https://hc-ping.com/$UUID", "['python', 'train.py', '--lr', '0.1']",
        "curl https://hooks.slack.com/services/$X", "https://example.org/docs/webhooks/first-steps-2024",
        "HTTPSConnectionPool(host='x.org', port=443): Max retries exceeded with url: /api/models/gpt2 (x)",
    ],
)  # fmt: skip
def test_what_has_no_secret_is_shown(text: str) -> None:
    assert redacted(text) == text
