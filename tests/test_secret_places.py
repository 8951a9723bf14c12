"""Where a secret is told by its place alone: values of letters, of words, and short ones; and what looks alike."""

from __future__ import annotations

import random
import string

import pytest

from counting import executed_lines
from sbatchlint.source.secrets import redacted, redacted_source
from sbatchlint.source.text import Source


def _drawn(size: int, of: str = string.ascii_letters) -> str:
    draw = random.Random(size * 1009 + len(of))
    return "".join(draw.choice(of) for _ in range(size))


# What a variable for it is named, and the secret.
KINDS = {
    "letters": ("GHCR_TOKEN", _drawn(12)),
    "small letters": ("CLICKHOUSE_PASSWORD", _drawn(9, string.ascii_lowercase)),
    "words": ("SFTP_PASSWORD", "harvest-candle"),
    "one word": ("JDBC_PASSWORD", "Harvestcandle"),
    "short": ("WEBDAV_PASS", "Y8f" + _drawn(3)),
    "short letters": ("VNC_PASSWORD", "PvtSCDM"),
    "three of a letter": ("FASTLY_API_KEY", "k8VtxXxq" + _drawn(24, string.ascii_letters + string.digits)),
    "long": ("OSF_TOKEN", _drawn(70, string.ascii_letters + string.digits)),
}
PLACES = (
    "srun git clone https://{secret}@example.org/a/b.git",
    "pip install 'git+https://{secret}@git.example.org/a/b.git@main#egg=b'",
    "git clone https://{secret}:x-oauth-basic@github.com/a/b.git",
    "git remote set-url origin https://{secret}:@github.com/a/b.git",
    "srun wget https://{secret}:X@api.example.org/x",
    "git clone https://ada@corp.example.org:{secret}@example.org/a.git",
    "srun curl -s -u {secret}: https://api.example.org/v1",
    'curl --user "{secret}:x-oauth-basic" https://api.example.org/v1',
    "http -a {secret}: https://api.example.org",
    "http --auth ada:{secret} https://api.example.org",
    'git config --global url."https://{secret}@github.com/".insteadOf https://github.com/',
    "conda config --set {lower} {secret}",
    "git config --global my.{lower} '{secret}'",
    "pip config set global.{lower} {secret}",
    "dvc remote modify --local origin {lower} {secret}",
    "echo '{secret}' > ~/.{lower}",
    'echo "{secret}" > $HOME/.secrets/{lower}.txt',
    "printf '%s\\n' '{secret}' > conf/{lower}",
    "echo '{secret}' | tee ~/.{lower}",
    "cat > ~/.{lower} <<EOF\n{secret}\nEOF",
    "cat <<< '{secret}' > ~/.{lower}",
    "export {name}='{secret}'\nsrun ./a x-{secret}-y",
    "{name}='{secret}'\nsrun ./a --path=/data/{secret}/x,b_{secret}.txt",
    "{name}='{secret}'\nwget https://example.org/get/{secret}/file",
    "mysql -e \"CREATE USER 'a'@'%' IDENTIFIED BY '{secret}'\"",
    "psql -c \"ALTER USER a WITH PASSWORD '{secret}'\"",
    "gh secret set {name} --body '{secret}'",
    "rpcclient -U 'ada%{secret}' host -c enumprivs",
    "sed -i 's/__{name}__/{secret}/' conf.yaml",
    "sed -i \"s|@@{name}@@|{secret}|g\" conf.yaml",
    "sed -e 's,<{name}>,{secret},' -e 's/a/b/' conf.yaml",
    "perl -pi -e 's/{name}/{secret}/' conf.yaml",
    "twine upload -u __token__ -p {secret} dist/x.whl",
    "poetry config pypi-token.pypi {secret}",
    "npm config set //registry.npmjs.org/:_authToken {secret}",
    "kaggle config set -n key -v {secret}",
    "rsync --password-file=<(echo {secret}) a b",
    "ftp -n <<< 'user ada {secret}'",
    "keyring set example ada <<< {secret}",
    "echo {secret} | keyring set example ada",
    "unrar x -p{secret} a.rar",
    "yt-dlp -u ada -p '{secret}' https://example.org",
    "cqlsh -u ada -p '{secret}' host",
    "echo '{secret}' | vncpasswd -f > ~/.vnc/passwd",
    "echo '{secret}' | iinit",
    "su - ada -c ls <<< '{secret}'",
    "ftp -n host <<EOF\nuser ada {secret}\nget x\nEOF",
    "AUTH=$(echo -n 'ada:{secret}' | base64)",
    "sqlplus ada/{secret}@db.example.org:1521/x @q.sql",
    "rclone config create r sftp host h user ada pass '{secret}'",
    "rclone obscure '{secret}'",
    "python -c \"syn.login('ada', '{secret}')\"",
    "htpasswd -bc file ada '{secret}'",
    "openssl passwd -6 '{secret}'",
    "sendemail -f a@b -xu ada -xp '{secret}' -m done",
    "pdftotext -upw '{secret}' a.pdf",
    "useradd -m -p '{secret}' ada",
    "swift -A https://h/auth -U ada -K '{secret}' upload c f",
    "curl --cert c.pem:{secret} https://example.org",
    "python - <<E\nimport requests\nrequests.get(url, auth=('ada', '{secret}'))\nE",
    "printf 'machine %s login %s password %s\\n' h ada '{secret}' > ~/.netrc",
    "IFS= read -r {name} <<'E'\n{secret}\nE",
    "export {name}='{secret}' OTHER='{secret}'",
    "if [ \"${name}\" == '{secret}' ]; then ls; fi",
    'expect -c "spawn ssh a@b; expect \\"*assword*\\"; send \\"{secret}\\r\\""',
    "skopeo copy --src-creds ada:{secret} docker://a/b dir:c",
    "podman pull --creds=ada:{secret} reg.example.org/a",
    "oras pull -u ada -p '{secret}' reg/a:1",
    "setup() {{ export {name}=\"${{1}}\"; }}; setup '{secret}'; srun ./a --api-key \"${name}\"",
    "login_to() {{\n  local host=$1\n  {name}=$2 ./log_in\n}}\nlogin_to example.org {secret}",
    "cat > pod.yaml <<E\nenv:\n  - name: {name}\n    value: \"{secret}\"\nE",
    "cat > task.json <<E\n{{\"name\": \"{name}\", \"value\": \"{secret}\"}}\nE",
    "srun ./x 'Driver=SQL;Server=h;Uid=ada;Pwd={secret};'",
    "conda install -c 'https://conda.example.org/t/{secret}/chan' p",
    "echo '{{\"username\":\"ada\",\"key\":\"{secret}\"}}' > ~/.kaggle/kaggle.json",
    "vault login '{secret}'",
    "wandb login --relogin '{secret}'",
    "echo '{secret}|x' | sudo -S ls",
    "echo \"a|{secret}\" | kinit ada",
    "cat > c.yml <<E\n{lower}:\n  {secret}\nE",
    "cat > c.yml <<E\n{lower}: >-\n    {secret}\nhost: h\nE",
    "cat > c.json <<E\n{{\"{lower}\":\n  \"{secret}\"}}\nE",
    "cat > t.py <<E\nheaders = {{'Authorization': f'Bearer {secret}'}}\nE",
    "cat > t.py <<E\n{lower} = b'{secret}'\nE",
    "cat > t.py <<E\nc = pymysql.connect('h', 'ada', '{secret}', 'runs')\nE",
    "python -c \"keyring.set_password('svc', 'ada', '{secret}')\"",
    "perl -e '$ENV{{{name}}} = \"{secret}\"; run()'",
    "psql -c \"ALTER ROLE ada PASSWORD '{secret}'\"",
    "mysql <<E\nSET PASSWORD FOR 'ada' = PASSWORD('{secret}');\nE",
    "while read -r {lower}; do ./log_in; done <<< '{secret}'",
    "lftp <<E\nopen -u ada,{secret} sftp://h\nE",
    "expect <<'E'\nexpect \"Password: \" {{ send \"{secret}\\n\" }}\nE",
    "redis-cli -h h AUTH {secret}",
    "redis-cli <<E\nAUTH {secret}\nE",
    "redis-cli config set requirepass {secret}",
    "cat > ~/.curlrc <<E\nuser = \"ada:{secret}\"\nE",
    "cat > ~/.msmtprc <<E\naccount a\npassword {secret}\nE",
    "cat > ldap.conf <<E\nbindpw {secret}\nE",
    "cat > odbc.ini <<E\nUID=ada\nPWD={secret}\nE",
    "influx write -t {secret} -b runs",
    "cypher-shell -u neo4j -p {secret}",
    "smbget -u ada -p {secret} smb://h/f",
    "gcloud auth activate-refresh-token ada {secret}",
    "mc config host add m https://h ADA {secret}",
    "restic -r r --password-command 'echo {secret}' backup",
    "rar a -hp{secret} a.rar b",
    "xrdcp 'root://h//f?authz=Bearer%20{secret}' .",
    "crudini --set a.ini svc {lower} '{secret}'",
    "nmcli d wifi connect x password '{secret}'",
    "snap set svc x.{lower} {secret}",
    "export URL=\"h?{lower}=\"'{secret}'",
    "smbclient //h/s -U 'ada%{secret}'",
    "smbexec.py 'dom/ada:{secret}@h'",
    "echo 'h:5432:db:ada:{secret}' > ~/.pgpass\nsrun ./a x/{secret}/y",
    "isql 1111 dba '{secret}'",
    "beeline -u jdbc:hive2://h -n ada -p '{secret}'",
    "msmtp --user=ada --passwordeval='echo {secret}'",
    "curl -H 'Ocp-Apim-Subscription-Key: {secret}' https://h",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_tells_a_secret_whatever_it_looks_like(kind: str) -> None:
    name, secret = KINDS[kind]
    shown = []
    for place in PLACES:
        text = place.format(name=name, lower=name.lower(), secret=secret)
        after = redacted_source(Source(f"#!/bin/bash\n{text}\nsrun ./a.out\n")).text
        shown += [(place, after)] if secret in after else []
    assert shown == []


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@github.com:a/b.git",
        "git clone ssh://git@github.com/a/b.git",
        "scp ada@host:path/file .",
        "rsync -a ada@host:/data/x .",
        "docker login --password-stdin -u ada reg",
        "train.py --token-file ~/.token",
        "curl --user ada https://h",
        "PASSWORD=$VAR",
        "API_KEY=hf_xxx",
        "API_KEY=xxxx-xxxx",
        "PASSWORD=$(cat f)",
        'TOKEN="$(< ~/.token)"',
        "API_KEY=/home/ada/key",
        "USE_TOKEN=true",
        "--password-file f",
        "https://git@github.com/a/b.git",
        "sftp://ada@host/x",
        "rsync://ada@host/m",
        "postgres://ada@db/x",
        "https://${TOKEN}@github.com/a/b.git",
        "https://$USER:$TOKEN@github.com/a",
        "https://<token>@github.com/a",
        "https://oauth2:$GITLAB_TOKEN@gitlab.com/a.git",
        "https://x-access-token:${GH}@github.com/a",
        "https://YOUR_TOKEN@github.com/a",
        "https://example.org/@user/x",
        "https://example.org/a@v1.2.3",
        "docker://image@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865",
        "oras://ghcr.io/a/b@sha256:abc",
        "docker://ada@registry.example.org#a/b:1",
        "npm install @scope/pkg@1.2.3",
        "mail -s done ada@example.org",
        "#SBATCH --mail-user=ada@example.org",
        "echo done > status.txt",
        "echo finished > token.log",
        "echo $TOKEN > ~/.token",
        "cat $KEYFILE > ~/.token",
        "echo '<pad>' > pad_token.txt",
        "git config user.email ada@example.org",
        "git config --global credential.helper store",
        "conda config --set ssl_verify false",
        "conda config --set auto_activate_base false",
        "pip config set global.index-url https://pypi.example.org/simple",
        "# config the token before you run it",
        "# modify the password file as you like",
        "git config --global http.sslVerify false",
        "mkdir -p data",
        "srun -p gpu ./a",
        "unzip -q a.zip",
        "curl -u ada https://h",
        "curl -o out:x https://h",
        "ray start --redis-password=$PW",
        "python -c \"open('a','b')\"",
        "python -c \"plot('ada', 'bob')\"",
        "auth=('ada', pw)",
        "user ada group",
        "echo 'user ada is here'",
        "echo -n 'x:y'",
        "echo a | base64",
        "openssl passwd -stdin",
        "sqlplus / as sysdba",
        "sqlplus @q.sql",
        "ls a/b@c",
        "useradd -m ada",
        "htpasswd -c f ada",
        "rclone copy a r:b",
        "-U ada",
        "squeue -U ada%j",
        "sacct -o jobid%20,jobname%30",
        "7z x a.7z -oout",
        "unrar x a.rar",
        "yt-dlp -p",
        "tar -K x",
        "cp -p a b",
        "echo x | su",
        "skopeo copy docker://a/b dir:c",
        "--creds=$U:$P",
        "IDENTIFIED BY '$PW'",
        "the password 'is wanted'",
        "gh secret set NAME < f",
        'gh secret set NAME --body "$X"',
        "https://host:8080/a@b",
        "http://localhost:6006/",
        "git+ssh://git@github.com/a/b.git@v1",
        "ssh ada@host 'cd x; ls y@z'",
        "s3://bucket/a@b",
        "for u in https://a.example.org/x; do wget $u; done",
        "https://raw.githubusercontent.com/a/b/main/c.sh",
        "--cert c.pem",
        "cat > ~/.bashrc <<E\nls\nE",
        "cat > tokens.txt <<E\nhello world\nE",
        "read -r A B <<'E'\nx y\nE",
        "echo 'run wandb login first' | cat",
        "wandb login",
        "vault login -method=ldap username=ada",
        "f() { local TOKEN=$1; }; f $TOKEN",
        "f() { local path=$1; }; f /data/x",
        "name: train\nvalue: 3",
        "A=b; PWD=/x",
        "conda install -c https://conda.anaconda.org/conda-forge p",
        "passwd adalovelace",
        "password:\n  required: true\n  length: 8",
        "tokens:\n  - eos\n  - bos",
        "TOKENS = ['eos', 'bos']",
        "docker run --user=1000:1000 i",
        "c.connect('host', 5432, 'runs')",
        "ax.set_password(a, b)",
        "redis-cli AUTH $PW",
        "influx query -f q.flux",
        "user = \"$USER:$PW\"",
        "curl -H 'X-Key: $KEY' https://h",
        "rar x -hp$PW a.rar",
        "UID=ada\nPWD=/data",
        "echo set password correctly",
        "# set the password carefully",
        "the password is wanted",
        "the api key is read from $HOME/.key",
        "git config set password",
        "set -o token",
        "run.py ada/x:y",
        "isql h ada",
        'f(password="", lr=1)',
        "passphrase: $PW",
    ],
)  # fmt: skip
def test_what_has_no_secret_is_shown(text: str) -> None:
    assert (
        redacted_source(Source(f"#!/bin/bash\n{text}\nsrun ./a.out\n")).text.split("\n", 1)[1]
        == f"{text}\nsrun ./a.out\n"
    )


def test_a_name_of_a_user_is_hidden_in_its_address_only() -> None:
    # without a password it may be a token, and is redacted as pip does
    after = redacted_source(Source("git clone https://adalovelace@example.org/a.git\ncd /home/adalovelace\n")).text
    assert after == "git clone https://***********@example.org/a.git\ncd /home/adalovelace\n"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("the {lower} is {secret}", "Kirschbaum9"),
        ('echo "{name} is {secret}"', "k8VtxXxqLw3P"),
        ("config:\n  gpg_passphrase: {secret}\n  a: 1", "vier graue Katzen 9"),
        ('curl -H "X-Gpg-Passphrase: {secret}" https://h', "vier graue Katzen 9"),
        ("echo {secret} | sudo -S ls", "q7"),
        ("sqlplus ada/{secret}@db @q.sql", "p@ss:w/rd"),
    ],
)
def test_what_is_said_of_a_password_is_redacted(text: str, secret: str) -> None:
    written = text.format(name="DB_PASSWORD", lower="db_password", secret=secret)
    after = redacted(written)
    assert after == written.replace(secret, "*" * len(secret))


@pytest.mark.parametrize(
    "piece",
    [
        "config a token ", "printf 'password %s' a ", "echo abcd > token ", "echo abcd | tee ", "<<< abcd > ",
        "> token <<E\nabcd\nE\n", "read TOKEN <<E\nabcd\n", "curl -u abcd: ", "http -a abcd: ", "--cert a:bc ",
        "--creds=a:b ",
        "-U a%bcde ", "unrar -pa ", "gh secret -b a ", "htpasswd -nb a b ", "openssl passwd -salt a b ",
        "sqlplus a/bcd ",
        "rclone config a pass b ", "rclone obscure a ", "ftp <<E\nuser a b\n", "identified by 'a' ",
        "with password 'abc' ",
        "login('a', 'b'", "auth=('a', 'b'", "://a@b", "https://a@b", "https://a:x@b", "://a@b:c@d",
        "echo a:bcd | base64 ",
        "base64 <<< a:b ", "f() { A_KEY=$1; }; f abcd; ", "A_KEY=$1 ", "a=b;Pwd=c; ",
        "https://h/t/abcdefg/ ", "[ $TOKEN = 'aB1c' ",
        "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "a" * 50, "-----END PRIVATE KEY-----",
        "['a', ", "['a','b'] ", "host='a' ", "host='a' with url: /b ", "GET /a HTTP/1.1\nHost: b\n", "/hooks/a1/",
        "Private-Lines: 1", "/webhook/", "?key=", "['", '["',
        "password:\n  a", "password: |\n", "keys = ['a', ", "keys = [", "user = a:b ", "while read TOKEN; do ",
        "password { send ", "connect('a', ", "connect(", "set_password('a','b',", "user a password ", "password(",
        "password a\n", "bindpw ", "uid=a\nb\n", "open -u a,", "redis-cli AUTH ", "influx -t ", "config host add a b ",
        "$ENV{TOKEN} = ", "rar -hp", "-H 'a-key: ", "'authorization': f'bearer ", "smbget -p ",
        "set a.token b ", "password is ", "passphrase: a ",
        "smbclient -U a%", "a.py b/c:d@", "isql dba ", "passwordeval='echo ", "set ", "password=\"'",
        "password:\n  a", "password: |\n", "keys = ['a', ", "keys = [", "user = a:b ", "while read TOKEN; do ",
        "password { send ", "connect('a', ", "connect(", "set_password('a','b',", "user a password ", "password(",
        "password a\n", "bindpw ", "uid=a\nb\n", "open -u a,", "redis-cli AUTH ", "influx -t ", "config host add a b ",
        "$ENV{TOKEN} = ", "rar -hp", "-H 'a-key: ", "'authorization': f'bearer ", "smbget -p ",
    ],
)  # fmt: skip
def test_work_grows_as_the_text_does(piece: str) -> None:
    def lines(count: int) -> int:
        return executed_lines(lambda: redacted(piece * count))

    lines(10)
    assert lines(2000) < 13 * max(lines(200), 300)
