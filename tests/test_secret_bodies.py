"""Secrets in forms, cookies, headers, JSON and files of settings, in words of several pieces, and however a log spells
them."""

from __future__ import annotations

import html
import json
import random
import shlex
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from counting import executed_lines
from sbatchlint import api
from sbatchlint.source.secrets import masked, redacted, values_in


def _drawn(size: int, of: str = string.ascii_letters + string.digits) -> str:
    draw = random.Random(size * 1009 + len(of))
    return "".join(draw.choice(of) for _ in range(size))


MIXED, WORDS, LINE = "q7Zk4Wm1" + _drawn(6), "harvest-candle", _drawn(44)
# `@` is a drawn secret, `#` one of words, `&&` a line of a private key.
TEXTS = (
    # queries
    "curl 'https://h/x?private_key=-----BEGIN%20RSA%20PRIVATE%20KEY-----%0A&&%0A-----END%20RSA%20PRIVATE%20KEY-----'",
    "curl 'https://h/x?private_key=-----BEGIN%20PRIVATE%20KEY-----&&'",
    "srun ./a --u 'https://h/x?b=1&token=-@&c=2'", "curl 'https://h/x?private_key=--%20@'",
    "curl 'https://h/x?sig=%2B@%3D'", "curl 'https://h/x?password=%24@'", "curl 'https://h/x?pwd=#&a=1'",
    "curl 'https://h/x#access_token=%2F@&a=1'", "curl 'https://h/x?X-Amz-Security-Token=%2F%2F@&a=1'",
    "curl 'https://h/x?next=https%3A%2F%2Fi%2F%3Fapi_token%3D@'",
    # forms
    "curl -d 'grant_type=password&username=ada&password=#' h", "curl -d user=ada -d password=%2D@ h",
    "curl --data-urlencode 'password=# @' h", "curl --data-urlencode 'client_secret=-@' h", "curl -F 'token=@' h",
    "curl --form 'api_key=-@' h", "wget --post-data='user=ada&password=#' h", 'curl -d "password=# @&a=1" h',
    # JSON
    "curl -d '{\"password\":\"#\\n\"}' h", "echo '{\"password\":\"a\\\"#\"}' > c.json",
    "cat > c.json <<E\n{\"token\": \"\\u0071@\"}\nE", "echo \"{\\\"password\\\":\\\"#\\\\n@\\\"}\" > c.json",
    "cat > c.json <<E\n{\"auths\": {\"r\": {\n\"auth\":\n \"@\"}}}\nE",
    # files of settings
    "cat > c.yml <<E\npassword: '# and @'\nE", "cat > c.yml <<E\npassword: # and @\nhost: h\nE",
    "cat > c.yml <<E\npassword: |\n  #\n  @\nhost: h\nE", "cat > c.yml <<E\n- client_secret: >-\n    # @\nE",
    "cat > c.yml <<E\npassword: \"a\\\"#\"\nE", "cat > c.yml <<E\npassword: 'it''s #'\nE",
    "cat > c.ini <<E\n[s3]\nsecret_access_key = -@\nE", "cat > .env <<E\nDB_PASSWORD=~@\nE",
    "cat > c.toml <<E\npassword = '''#'''\nE", "cat > c.R <<E\npassword <- \"#\"\nE",
    # logins
    "curl -sSu ada:-@ h", "curl -u 'ada:# @' h", "curl -u \"${USER}:#\" h", "cargo login @", "bcp d in f -U sa -P '#'",
    "wandb login --host https://h '@'", "docker login --password-stdin <<E\n@\nE",
    "cat <<E | docker login --password-stdin\n@\nE", "mosquitto_pub -u ada -P # -t x",
    "echo -e \"machine h\\nlogin ada\\npassword #\" > ~/.netrc", "cat > ~/.netrc <<E\ndefault login ada password #\nE",
    "printf 'machine h\\n\\tlogin ada\\n\\tpassword #\\n' > ~/.netrc",
    "cat > ~/.netrc <<E\nmachine h login ada account x password #\nE",
    "cat > ~/.netrc <<E\nmachine h\n  password #\n  login ada\nE",
    "echo \"machine h login \\$oauthtoken password #\" > ~/.credentials", "echo '*:*:*:ada:#' > ~/.pgpass",
    # headers and cookies
    "curl -H 'Authorization: Digest username=\"ada\", response=\"@\"' h",
    "curl -H 'Authorization: AWS4-HMAC-SHA256 Credential=A/2, Signature=@' h", "curl --cookie 'a=1; sessionid=#' h",
    "curl -b 'session=#; csrf=@' h", "curl -H 'Cookie: a=1; session=#' h", "wget --header='Cookie: sid=#; x=@' h",
    # names
    "export AZURE_SAS_SIGNATURE=@%3D", "export AZURE_SAS_SIGNATURE=@%2Bdef%3D", "./a --signature @a1b2",
    "export LDAP_BINDPW=#", "export WIFI_PSK=#", "export VAULT_SECRET_ID=@7xq", "export FERNET_KEY=#",
    # words of several pieces
    "msmtp --passwordeval='echo # @'", "msmtp --passwordeval \"echo # @\"", "restic --password-command='echo # @' b",
    "restic --password-command \"printf '%s' #\" b", "export RESTIC_PASSWORD_COMMAND='echo # @'",
    "export DB_PASSWORD=#\\ @\\ x", "export DB_PASSWORD='#'\"@\"'x'", "export DB_PASSWORD=a1b2c3'#'@",
    "./a --password=a1b2c3'#'",
    "export DB_PASSWORD='it'\\''s # @'", "export DB_PASSWORD='it'\"'\"'s # @'", "export DB_PASSWORD=$'it\\'s # @'",
    "export DB_PASSWORD=it\\'s\\ \\&\\ #",
    # values that begin like something else
    "export DB_PASSWORD='-@'", "./a --password '-@'", "./a --password=-@", "export DB_PASSWORD='~@'",
    "export DB_PASSWORD='@@'", "export DB_PASSWORD='%@'", "export DB_PASSWORD='/@'",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_place_tells_is_redacted_as_a_whole(text: str) -> None:
    written = text.replace("&&", LINE)
    written = written.replace("@@", f"@{MIXED}") if "@@" in written else written.replace("@", MIXED)
    written = written.replace("x#access", "x\0access").replace("#", WORDS).replace("\0", "#")
    after = redacted(f"#!/bin/bash\n{written}\nsrun ./a\n")
    assert len(after) == len(written) + 22
    assert [each for each in (MIXED, MIXED[6:], WORDS, WORDS[-6:], LINE[:9], LINE[-9:]) if each in after] == []


@pytest.mark.parametrize("value", ["id_rsa", "key.pem", "prod.json", "dev", "abc"])
def test_a_variable_for_a_secret_has_it_whatever_it_looks_like(value: str) -> None:
    for name in ("JWT_SECRET", "CLIENT_SECRET", "SECRET_KEY", "DJANGO_SECRET_KEY"):
        assert redacted(f"export {name}={value}") == f"export {name}={'*' * len(value)}"


@pytest.mark.parametrize(
    "text",
    [
        "TOKENIZER=gpt2", "--password-file x", "--password $TOKEN", "max_tokens=4", "--password-command 'pass show x'",
        "--passwordeval='gpg -d f'", "--signature sha256", "signature: v4", "SIG=TERM", "SIG=USR1", "sig=0.1",
        "sigma=0.1",
        "#SBATCH --signal=B:USR1@60", "module load sas/9.4", "export SAS_HOME=/opt/sas", "sas -log a.log",
        "curl 'https://h/x?token=$TOKEN'", "curl 'https://h/x?page=-1&sort=-name'", "curl 'https://h/x?key=-name'",
        "curl 'https://h/x?sig=${SIG}&a=1'", 'curl -H "Cookie: $C" h', "curl -F 'file=@token.txt' h",
        "curl -d @token.json h", "curl -F 'token=<f' h", "curl -d 'token=@f' h", "curl -d 'a=b&page=2' h",
        "cut -d'=' -f2", "awk -F'token=' '{print $2}' f", "password: |\n", "password: ''", "token: -", "token=-1",
        "--token -1", "--password --use-fp16", "--password -x", "private_key=~/.ssh/id_rsa", "PASSWORD=~ada/pw",
        "private_key: ./a.pem", "--token ../t", "DB_PASSWORD=%DB_PASSWORD%", "token=%s", "token=%(token)s",
        "token=%j_%x", "signature_def_key=serving_default", "model_signature: serving_default", "SSH_KEY=id_rsa",
        "JWT_SECRET_FILE=x.pem", "client_secret=creds.json", "token <- readline()",
        "default login node", "machine login: password required", "--gres=gpu:a100:4", "password:\n  host: h",
        "sacct -o token%20,name%30", "curl --cookie cookies.txt h", "conda token set $T", "psk=8", "--psk 4",
        "/opt/anaconda3/bin/python a -t lstm_cell_v2 -e 5",
    ],
)  # fmt: skip
def test_what_only_looks_so_is_shown(text: str) -> None:
    for line in (text, f"srun ./a {text} --lr 1"):
        assert redacted(f"#!/bin/bash\n{line}\nsrun ./a\n") == f"#!/bin/bash\n{line}\nsrun ./a\n"


# --- spellings ------------------------------------------------------------------------------------------------

VALUES = {
    "slash": f"4capBD{_drawn(5)}/q7Zk+m=Rt9", "blank": "harvest candle&7", "quotes": "it's \"hunt<er>2\"",
    "backslash": "ab\\cd$X9!z`q", "not ASCII": "Grüße+9/é%41", "ampersand": "Tr0ub4&dor#3!", "short": "k9/z=",
    "percent": "50%off+Xy9", "dollar": "a$b$c9Zk!x",
}  # fmt: skip


def _ansi(value: str) -> str:
    return "$'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _double(value: str) -> str:
    return '"' + "".join("\\" + each if each in '\\"$`' else each for each in value) + '"'


def _each(form: str) -> Callable[[str], str]:
    """Spells each character that is no letter or digit, or each byte of it, as a format says."""

    def spelled(value: str) -> str:
        parts = [[ord(each)] if "4" in form or "&" in form else each.encode() for each in value]
        codes = ["".join([form % number for number in part]) for part in parts]
        return "".join([each if each.isalnum() else code for each, code in zip(value, codes, strict=True)])

    return spelled


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str, "address": quote, "query": lambda value: quote(value, safe=""), "form": quote_plus,
    "small letters": _each("%%%02x"), "twice": lambda value: quote(quote(value, safe=""), safe=""),
    "html": html.escape, "html of text": lambda value: html.escape(value, False), "entities": _each("&#%d;"),
    "single quotes": shlex.quote, "double quotes": _double, "ansi": _ansi, "hexadecimal": _each("\\x%02x"),
    "octal": _each("\\%03o"),
    "backslashes": lambda value: "".join(each if each.isalnum() else "\\" + each for each in value),
    "json": json.dumps, "json in json": lambda value: json.dumps(json.dumps(value)), "unicode": _each("\\u%04x"),
    "json of text": lambda value: json.dumps(value, ensure_ascii=False), "python": repr,
    "json of javascript": lambda value: json.dumps(value).replace("/", "\\/"),
    "address in json": lambda value: json.dumps("https://h/?a=" + quote(value, safe="")),
}  # fmt: skip
TOLD: tuple[Callable[[str], str], ...] = (
    lambda value: f"export DB_PASSWORD={shlex.quote(value)}",
    lambda value: f"export DB_PASSWORD={_double(value)}",
    lambda value: f"export DB_PASSWORD={_ansi(value)}",
    lambda value: f"export DB_PASSWORD={SPELLINGS['backslashes'](value)}",
    lambda value: f"srun git clone https://ada:{quote(value, safe='')}@h/x.git",
    lambda value: f"cat > c.json <<'E'\n{{\"password\": {json.dumps(value)}}}\nE",
)


def _shown_parts(text: str, secret: str) -> list[str]:
    words = "".join([each if each.isascii() and each.isalnum() else " " for each in secret]).split()
    return [each for each in words if len(each) > 2 and each in text]


@pytest.mark.parametrize("kind", VALUES)
def test_a_secret_of_a_script_is_known_however_a_log_spells_it(kind: str) -> None:
    secret, shown = VALUES[kind], []
    for told in TOLD:
        script = f"#!/bin/bash\n{told(secret)}\nsrun ./a\n"
        shown += [(script, "itself")] if _shown_parts(redacted(script), secret) else []
        values = values_in(script)
        for name, spelled in SPELLINGS.items():
            line = f"OSError: no folder /opt/{spelled(secret)}/run of {spelled(secret)}"
            shown += [(script, name)] if _shown_parts(masked(line, values), secret) else []
    assert shown == []


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("has_script", [True, False])
def test_a_diagnosis_masks_each_spelling(spelling: str, has_script: bool) -> None:
    secret = VALUES["slash"]
    told = f"export DB_PASSWORD={shlex.quote(secret)}\n"
    log = f"slurmstepd: error: execve(): /opt/{SPELLINGS[spelling](secret)}/run: No such file or directory\n"
    if not has_script:
        log = f"DB_PASSWORD={secret}\n{log}"
    found = api.diagnose(log.encode(), script=f"#!/bin/bash\n{told}srun ./a\n" if has_script else None)
    shown = found.text(300) + json.dumps(found.data)
    assert "execve(): /opt/" in shown and _shown_parts(shown, secret) == []


@pytest.mark.parametrize("command", ["echo 'ada:@' | chpasswd", "chpasswd <<< 'ada:@'"])
def test_a_password_after_a_name_is_known_without_it(command: str) -> None:
    script = f"#!/bin/bash\n{command.replace('@', MIXED)}\nsrun ./a\n"
    assert masked(f"no folder /opt/{MIXED}/run", values_in(script)) == "no folder /opt/***/run"


@pytest.mark.parametrize(
    "piece",
    [
        "%41", "a%20b ", "\\n", "\\'", "&amp;", "-d 'a=b' ", "-d 'token=b&", "curl -b 'a=b; ", "Cookie: a=b; ",
        "PASSWORD='a'b",
        "machine a login b ", "password: |\n  a\n", "password: a b\n", "cat <<E\n", "cat <<E\nE\n",
        "password: a1b2 c\n",
        "authorization: x token=a, ", "PASSWORD='a''b", "PASSWORD=a\\ b", "token=\"a\\\"", "passwordeval='echo a ",
        "PASSWORD=-", "docker login <<E\na\n", "cat <<E | docker login\n", "sig=", "PASSWORD=$'\\'",
    ],
)  # fmt: skip
def test_work_grows_as_the_text_does(piece: str) -> None:
    def lines(count: int) -> int:
        return executed_lines(lambda: redacted(piece * count, ("q7Zk4Wm1",)))

    lines(10)
    assert lines(3000) < 13 * max(lines(300), 300)
