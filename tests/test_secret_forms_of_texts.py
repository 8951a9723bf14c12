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


# `@` is where the secret is; each is a command that takes one, with `"` or `'` around it or without.
QUOTED_COMMANDS = (
    "jupyter lab --ServerApp.password=@", "export PGPASSWORD=@", "export WANDB_API_KEY=@", "wandb login @",
    "python a.py --api-key @", "mysql -u ada -p@ -e x", "sshpass -p @ ssh h", "redis-cli -a @ get x",
    "curl -H @Authorization: Bearer #@ h", "curl -u @ada:#@ h", "docker login -u ada -p @", "openssl enc -k @",
    "python -c @import wandb; wandb.login(key=!#!)@", "echo @{!password!: !#!, !user!: !ada!}@ > c.json",
)  # fmt: skip


def _in_double(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in_single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _in_mixed(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _in_ansi(text: str) -> str:
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _in_numbers(text: str) -> str:
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\x27").replace('"', "\\042") + "'"


QUOTINGS = (_in_double, _in_single, _in_mixed, _in_ansi, _in_numbers)


@pytest.mark.parametrize("command", QUOTED_COMMANDS)
def test_a_secret_within_quotes_within_quotes_is_redacted(command: str) -> None:
    shown = []
    for quote, other in ("'\"", "\"'"):
        inner = command.replace("@", quote if "#" in command else f"{quote}#{quote}").replace("!", other)
        text = inner.replace("#", "hunter2Lapwing")
        for first in QUOTINGS:
            once = first(text)
            written = [f"eval {once}", f"CMD={once}\nsrun $CMD", f"ssh h {once}", f"srun bash -c {once}"]
            written += [f"eval {each(f'bash -c {once}')}" for each in QUOTINGS if each in (first, _in_double)]
            shown += [each for each in written if "Lapwing" in redacted(each)]
    assert shown == []


@pytest.mark.parametrize(
    "text",
    [
        "eval 'export PASSWORD='\\'''\\'' USER='\\''ada'\\'''", "eval 'export PASSWORD='\\''$P'\\'''",
        'echo "{\\"password\\": \\"\\", \\"user\\": \\"ada\\"}"', "echo $'it\\'s done: \\'a\\''",
        "ssh h \"awk '{print \\$1}' \\\"f\\\"\"", "sed 's/\\x27//g; s/\\\"a\\\"/b/' f", "printf '%s\\n' 'a'\\''b'",
        "bash -c 'for token in '\\''a'\\'' '\\''b'\\''; do echo; done'", "python -c 'print('\"'\"'key'\"'\"')'",
    ],
)  # fmt: skip
def test_quotes_within_quotes_hide_nothing_else(text: str) -> None:
    assert redacted(text) == text


H, W = "0123456789abcdef", string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + string.digits
FORMS = (
    "key-" + _drawn(32, H), "rubygems_" + _drawn(48, H), "CLOJARS_" + _drawn(60, string.ascii_lowercase),
    "AKCp" + _drawn(69), "cmVmd" + _drawn(59), f"CCIPAT_{_drawn(22)}_{_drawn(40, H)}", "squ_" + _drawn(40, H),
    f"sgp_{_drawn(16, H)}_{_drawn(40, H)}", f"PMAK-{_drawn(24, H)}-{_drawn(34, H)}", "API-" + _drawn(26, CAPITALS),
    "LTAI" + _drawn(20), "sha256~" + _drawn(43), "pul-" + _drawn(40, H), "pnu_" + _drawn(36), "glft-" + _drawn(20),
    f"v1.0-{_drawn(24, H)}-{_drawn(146, H)}", f"dt0c01.{_drawn(24, CAPITALS)}.{_drawn(64, CAPITALS)}",
    "sb_secret_" + _drawn(31), "api_org_" + _drawn(34, string.ascii_letters), "tgp_v1_" + _drawn(43),
    "tvly-" + _drawn(32), "csk-" + _drawn(48, string.ascii_lowercase), "pcsk_" + _drawn(60), "e2b_" + _drawn(40, H),
    f"xkeysib-{_drawn(64, H)}-{_drawn(16)}", "secret_" + _drawn(43), f"pat{_drawn(14)}.{_drawn(64, H)}",
    "ops_eyJ" + _drawn(250), "p8e-" + _drawn(32), "sl." + _drawn(135), "rdme_" + _drawn(70, string.ascii_lowercase),
    "EAAC" + _drawn(120), "sq0atp-" + _drawn(22), "shippo_live_" + _drawn(40, H), "EZAK" + _drawn(54),
    f"access-production-{GUID}", f"{_drawn(14)}.atlasv1.{_drawn(64)}", f"{_drawn(6)}_{_drawn(29)}_mmk",
    f"{_drawn(32, H)}-us12", f"{_drawn(52)}JQQJ99{_drawn(26)}", f"FLWSECK-{_drawn(32, H)}-X",
)  # fmt: skip


@pytest.mark.parametrize("token", FORMS)
def test_tokens_of_services_are_redacted_wherever_they_stand(token: str) -> None:
    written = [f"srun ./a --x {token} --rank=$R", f'./a "{token}"', f"./a x={token},y=1", f"echo '{token}' | ./a"]
    assert [each for each in written if token[-12:-4] in redacted(each)] == []


@pytest.mark.parametrize(
    "text",
    [
        f"cp cache-key-{_drawn(32, H)} x", "key-value-pairs", f"md5-{_drawn(32, H)}", f"sha256:{_drawn(64, H)}",
        "API-2024-DOCUMENTATION", "ls pat1234.tar.gz", "secret_of_the_long_name_of_a_file_that_has_no_digits",
        f"docker pull a@sha256:{_drawn(64, H)}", "region=us-us12", "sq0 EAA1 key-1 sl.txt pn_a bk_a",
    ],
)  # fmt: skip
def test_what_begins_like_a_token_is_shown(text: str) -> None:
    assert redacted(text) == text
