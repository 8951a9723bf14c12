"""Options, variables, properties and settings tell a secret by the same names; what only looks like one is shown."""

from __future__ import annotations

import pytest

from counting import executed_lines
from sbatchlint.source.secrets import redacted

SECRETS = ("u9MMaSu4Hnc2", "q7Zk4Wm1Rt9")
NAMES = (
    "redis auth", "basic auth", "auth", "db password", "api key", "github pat", "admin pw", "user pwd", "sentry dsn",
    "private key", "master key", "deploy key", "pass code", "oauth token", "client secret", "api keys", "smtp pass",
    "passwort", "mot de passe", "secret key base", "token github", "password b64",
)  # fmt: skip
# With words of the name in small letters with underscores, hyphens or dots, in capitals, and run together.
FORMS = (
    "srun python t.py --{hyphens}={secret}",
    "srun python t.py --{hyphens} {secret} --lr 1",
    "srun python t.py --{underscores}='{secret}'",
    "srun python t.py -{hyphens} {secret}",
    "srun ./t --{camel}={secret}",
    "java -Dx.{camel}={secret} -jar a.jar",
    "spark-submit --conf spark.x.{underscores}={secret} a.py",
    "srun python t.py db.{underscores}={secret} lr=1",
    "srun python t.py ++a.b.{underscores}={secret}",
    "helm install --set a.b.{camel}={secret} x",
    "docker run -e {capitals}={secret} image",
    "docker run --env {capitals}={secret} image",
    "singularity exec --env A=1,{capitals}={secret},B=2 image a",
    "#SBATCH --export=ALL,{capitals}={secret}",
    "export {capitals}={secret}",
    "cat > a.ini <<E\n[a]\n{hyphens} = {secret}\nE",
    "cat > a.yml <<E\na:\n  {camel}: {secret}\nE",
    'cat > a.json <<E\n{{"{camel}": "{secret}", "a": 1}}\nE',
    "cat > a.xml <<E\n<{camel}>{secret}</{camel}>\nE",
)


@pytest.mark.parametrize("name", NAMES)
def test_one_rule_of_names_holds_for_all_that_has_a_name(name: str) -> None:
    words = name.split()
    written = {
        "hyphens": "-".join(words),
        "underscores": "_".join(words),
        "capitals": "_".join(words).upper(),
        "camel": words[0] + "".join(map(str.title, words[1:])),
    }
    shown = []
    for form in FORMS:
        for secret in SECRETS:
            text = form.format(secret=secret, **written)
            shown += [text] if secret in redacted(f"#!/bin/bash\n{text}\nsrun ./a\n") else []
    assert shown == []


@pytest.mark.parametrize(
    "text",
    [
        *("REDIS_AUTH=passw0rd2024", "REDIS_AUTH=password123", "SMTP_AUTH=certain77", "PROXY_AUTH=summer-v2"),
        *("PROXY_AUTH=hunter4v2", "db_auth=correcthorse2.5", "PASSWORD=winter.dat", "DB_PASSWORD=hunter2.key"),
        *("PGPASSWORD=Tr0ub4dor.sh", "MY_TOKEN=abc123xyz.secret", "SECRET=id=99aa88bb", "password=type=1a2b3c"),
    ],
)
def test_a_value_that_almost_names_a_method_or_a_file_is_redacted(text: str) -> None:
    assert text.partition("=")[2] not in redacted(f"#!/bin/bash\nexport {text}\nsrun ./a\n")


@pytest.mark.parametrize("name", ["redis.auth", "private.key", "db.password", "fs.s3a.secret.key"])
def test_a_property_is_named_by_its_last_words(name: str) -> None:
    assert redacted(f"java -Dx.{name}=harvest-candle a") == f"java -Dx.{name}=************** a"


@pytest.mark.parametrize(
    "text",
    [
        *("--auth=true", "--auth basic", "--auth=kerberos", "--redis-auth=none", "--redis-auth=scram-sha-256"),
        *("--auth-type basic", "--auth-method=oauth2", "--slurm-auth munge", "--http-auth digest", "--auth user"),
        *("--private-key key.pem", "--ssh-key ~/.ssh/id_rsa", "--private-key id_ed25519", "--ssh-key mykey"),
        *("--credentials creds.json", "--credentials=gcp.prod.json", "--secrets secrets.yaml", "--api-key-file f"),
        *("--primary-key id", "--sort-key time", "--group-key=run_id", "--pat=*.txt", "--compat=yes", "pat=abc"),
        *("--pass 2", "-pass 1", "--num-pass=4", "--by-pass=x1", "--render-pass=diffuse", "first_pass: low"),
        *("--pwd /work", "--pwd work", "--pwd=src/a", "--cookie cookies.txt", "--oauth=google", "--author=adalovelace"),
        *("--db-password $PW", "--db-password=${PW}", "--api-key YOUR_KEY", "--api-key=<key>", "--tokens 300B"),
        *("--max-tokens=1000", "--keys image,label", "--key=image_key", "--secret id=npmrc,src=f", "--session-id 17"),
        *("--hmac sha256", "--dsn=mydb", "--wd=1e-4", "--fwd=ab12cd", "--crowd=12", "--code=abc123", "--pw 3"),
        *("auth: basic", "auth = True", "export AUTH=ldap", "auth_provider=x509", "key_base=/x", "tokens_base=100"),
        *("--set image.pullSecrets=regcred", "-Djava.security.auth.login.config=/x", "-Dauth=simple", "auth:"),
        *("data.key=input_ids", "tokenizer.pad_token=<pad>", "batch=3", "dispatch=4", "kmer_keys=31"),
    ],
)
def test_what_is_named_almost_so_is_shown(text: str) -> None:
    for line in (text, f"srun python t.py {text} --lr 1"):
        assert redacted(f"#!/bin/bash\n{line}\nsrun ./a\n") == f"#!/bin/bash\n{line}\nsrun ./a\n"


@pytest.mark.parametrize(
    "piece", ["--a-auth=b1c2d3 ", "aB", "a.auth=", "auth", "session_id", "--auth ", "a-", "A_PAT="]
)
def test_names_are_read_in_linear_time(piece: str) -> None:
    redacted(piece * 10)
    assert executed_lines(lambda: redacted(piece * 2000)) < 13 * max(executed_lines(lambda: redacted(piece * 200)), 300)
