"""Secrets that programs take as words, that dialogues and forms have, values like paths and placeholders; and fixes."""

from __future__ import annotations

import base64
import random
import re
from pathlib import Path

import pytest

from counting import lines_by_size
from sbatchlint import api
from sbatchlint.cli import main
from sbatchlint.source.secret_placeholders import is_placeholder
from sbatchlint.source.secrets import redacted, redacted_source, secrets_of
from sbatchlint.source.text import Source

SECRETS = ("Wq4!tR81zNd", "Larchwindow", "p7VbYyMwsKe2QnD")
PROGRAMS = """\
mc admin user add lab ada {secret}
mc --insecure admin user add lab ada '{secret}'
/opt/bin/mc admin user add "$ALIAS" ada "{secret}"
mc alias set lab https://h ada {secret}
rabbitmqctl -n rabbit@h change_password ada '{secret}'
vault login {secret}
wandb login --relogin --host https://h {secret}
vault operator unseal {secret}
glab auth login -t {secret}
influx -username ada -password {secret} -execute x
influx setup -u ada -p {secret} -o x -b y -f
mosquitto_passwd -b f ada {secret}
neo4j-admin dbms set-initial-password {secret}
sqlldr userid=ada/{secret}@h control=x
rman target ada/{secret}@h
isql dsn ada {secret}
db2 connect to runs user ada using {secret}
valkey-cli -a {secret} ping
etcdctl --endpoints h --user ada:{secret} get x
samba-tool user create ada {secret}
net ads join -U ada%{secret}
kadmin -p ada -w {secret} -q listprincs
kadmin.local -q "addprinc -pw {secret} ada"
plink -pw {secret} ada@h ls
snmpget -v3 -u ada -a SHA -A {secret} -X {secret} h x
ipmipower -h h -u ada -p {secret} --on
xh -a ada:{secret} https://h
composer config http-basic.h ada {secret}
p4 -u ada -P {secret} sync
qpdf --encrypt {secret} {secret} 256 -- a.pdf b.pdf
pdftk a.pdf output b.pdf user_pw {secret}
openssl dgst -sha256 -hmac {secret} x
bw login ada@example.org {secret}
keyctl add user x {secret} @u
pulumi config set --secret dbpw {secret}
iinit {secret}
iadmin moduser ada password {secret}
iget -t {secret} /z/x
globusconnectpersonal -setup --setup-key {secret}
globus-connect-personal -setup {secret}
grbgetkey {secret}
openfortivpn h:443 -u ada -p {secret}
synapse -u ada -p {secret} get syn1
ngrok authtoken {secret}
op signin h ada@example.org {secret}
vault unseal {secret}
ccdecrypt --key {secret} x.cpt
msoffcrypto-tool -p {secret} a b
pdftk a.pdf input_pw {secret} output b.pdf
python -m wandb login {secret}
sbatch -N1 --wrap="wandb login {secret}" -J x
ascp -W {secret} ada@h:x .
curl -u :{secret} https://h/x
curl -E c.pem:{secret} https://h/x
NEO4J_AUTH=neo4j/{secret} neo4j start
oidc-add lab --pw-cmd='echo {secret}'
python -c "import comet_ml; comet_ml.init('{secret}')"
python -c "from comet_ml import Experiment; e=Experiment('{secret}', project_name='p')"
python -c "import neptune; neptune.init('a/b', '{secret}')"
python -c "from ftplib import FTP; FTP('h', 'ada', '{secret}')"
python -c "import dagshub; dagshub.auth.add_app_token('{secret}')"
ZIPPW={secret} ./a
ENC_KEY={secret} ./a
BW_SESSION={secret} ./a
MACAROON={secret} ./a
mysqladmin -u root password {secret}
smbclient //h/s {secret} -U ada -c 'get x'
mount.cifs //h/s m -o user=ada%{secret}
CMD=(mc admin user add lab ada '{secret}'); "${CMD[@]}"
$(which mc) admin user add lab ada {secret}
exp userid=ada/{secret} file=x
sshpass -f <(printf '%s\\n' {secret}) ssh h
gh auth login --with-token < <(echo {secret})
curl -u 'ada':'{secret}' https://h
echo "password {secret}" >> ~/.netrc
printf 'AKIAQ3EGRTCO8JMSIGI6\\n{secret}\\nus\\njson\\n' | aws configure
f() { mc admin user add lab ada "$1"; }; f '{secret}'
srun -n 2 bash -c 'rabbitmqctl add_user ada {secret}'
subprocess.run(["rabbitmqctl", "add_user", "ada", "{secret}"])
"""
DIALOGUES = (
    "lftp <<FTP\nopen h\nuser ada {secret}\nmirror x\nFTP",
    'lftp -e "open h; user ada {secret}; mirror x; bye"',
    "printf 'user ada {secret}\\nget x\\n' | ftp -n h",
    "ftp -inv <<FTP\nopen h\nquote USER ada\nquote PASS {secret}\nbye\nFTP",
    '{ echo "user ada {secret}"; echo "get x"; } | ftp -n h',
    "(echo open h; echo user ada {secret}; echo bin) | ftp -n",
    "cat > get.ftp <<E\nopen ftp.example.org\nuser ada {secret}\nget x\nE",
    "mongosh h --eval \"db.auth('ada','{secret}')\"",
    "sqlplus / as sysdba <<E\nALTER USER ada IDENTIFIED BY {secret};\nE",
    "sqlcmd -Q \"ALTER LOGIN ada WITH PASSWORD=N'{secret}'\"",
    "cypher-shell \"ALTER CURRENT USER SET PASSWORD FROM '{secret}' TO '{secret}'\"",
    "influx -execute \"SET PASSWORD FOR ada = '{secret}'\"",
    "redis-cli <<E\nAUTH ada {secret}\nE",
    "printf 'AUTH {secret}\\r\\nPING\\r\\n' | nc h 6379",
    "sqlite3 x.db \"PRAGMA key = '{secret}';\"",
    "python - <<E\nc.expect('password:')\nc.sendline('{secret}')\nE",
    "printf 'a1 LOGIN ada {secret}\\r\\n' | openssl s_client -connect h:993",
    "openssl s_client -connect h:995 <<E\nUSER ada\nPASS {secret}\nSTAT\nE",
    "cvs -d :pserver:ada:{secret}@h:/cvs co x",
    "cat > v.conf <<E\nXauth password {secret}\nE",
    "fetchmail -f - <<E\npoll h user 'ada' password '{secret}'\nE",
    "passwd ada <<< '{secret}'",
    "echo -e '{secret}\\n{secret}' | smbpasswd -s -a ada",
    "aws configure <<E\nAKIAQ3EGRTCO8JMSIGI6\n{secret}\nus-east-1\njson\nE",
    "sqlplus /nolog <<E\nconnect ada/{secret}@h\nE",
    "pass insert -e x <<< {secret}",
    "echo {secret} | jupyter lab password",
    "echo {secret} | rclone obscure -",
    "yes {secret} | kinit ada",
    "clearml-init <<< '{secret}'",
    "ssh-add k <<< {secret}",
    "restic -r r init <<< {secret}",
    "wget --ask-password --user ada https://h <<< {secret}",
    "ktutil <<E\naddent -password -p ada@H -k 1 -e x\n{secret}\nwkt k\nE",
    "cat > ldap.conf <<E\nBINDPW {secret}\nE",
    "cat > f <<E\nPassword     {secret}\nE",
    "cat > wg.conf <<E\nPresharedKey = {secret}\nE",
    "srun mount.cifs //h/s m -o 'user=ada%{secret}'",
    "cat > snmp.conf <<E\ndefAuthPassphrase {secret}\nE",
    "echo \"error: invalid value '{secret}' for '--db-password <PW>'\"",
)
FORMS = """\
curl -G 'http://db1:8086/query?u=ada&p={secret}&q=x'
curl "http://db1:8086/query?db=x&p={secret}&u=ada"
curl -G http://db1:8086/query --data-urlencode u=ada --data-urlencode "p={secret}"
curl -G http://h/q --data-urlencode "p={secret}" --data-urlencode u=ada --data-urlencode "q=SHOW X"
wget 'https://h/l?usr=ada&pwd={secret}'
wget --post-data 'login=ada&pw={secret}' https://h
curl -F u=ada -F 'p={secret}' https://h
http POST https://h u=ada p={secret}
python -c "requests.get('http://h', params={'u': 'ada', 'p': '{secret}'})"
curl -d '{"u":"ada","p":"{secret}"}' https://h
"""


@pytest.mark.parametrize("secret", SECRETS)
def test_words_of_programs_of_dialogues_and_of_forms_are_redacted(secret: str) -> None:
    texts = [each.replace("{secret}", secret) for each in (*PROGRAMS.splitlines(), *DIALOGUES, *FORMS.splitlines())]
    scripts = {each: f"#!/bin/bash\n{each}\nsrun ./a.out\n" for each in texts}
    assert [each for each, script in scripts.items() if secret in redacted_source(Source(script)).text] == []


# What asks for a password may as well read commands: only a value that is none of these is hidden.
ASKED = """\
echo {secret} | mysql -u ada -p runs
psql -U ada -W runs <<< '{secret}'
printf '%s\\n' {secret} | mongosh -u ada
echo -n "{secret}" | sshpass ssh ada@h ls
unbuffer -p ssh ada@h <<< "{secret}"
aws configure <<< {secret}
echo {secret} | 7z x x.7z
echo {secret} | ./login.sh
sed -i 's/__LDAPPASS__/{secret}/' c
./a <<< x; sshpass ssh h <<< {secret}
x=1; kinit ada <<< x; y=2; kinit bob <<< {secret}
expect -f login.exp <<< '{secret}'
gdc-client download -t <(echo {secret}) x
openssl enc -kfile <(printf '{secret}') -in x
python send.py -u ada -p {secret}
./upload.py --user ada -p '{secret}' x
apprise -b done tgram://{secret}/12
wget https://chat.example.org/hooks/{secret}
"""


def test_what_asks_for_a_password_is_given_one() -> None:
    secret = "vFzf2zYTp6q4DT"
    scripts = [f"#!/bin/bash\n{each.replace('{secret}', secret)}\nsrun ./a\n" for each in ASKED.splitlines()]
    assert [each for each in scripts if secret in redacted_source(Source(each)).text] == []


@pytest.mark.parametrize("value", ["udpjms", "83647251", "Qwerty"])
def test_a_short_password_is_hidden_where_a_variable_is_set_to_it(value: str) -> None:
    for text in (
        "X={}\nredis-cli -a $X\n",
        'f() {{\n  sshpass -p "$1" scp x h:\n}}\nf {} 8\n',
        "A=(-p {})\ndocker login ${{A[@]}}\n",
    ):
        assert value not in redacted_source(Source(f"#!/bin/bash\n{text.format(value)}srun ./a\n")).text


HARMLESS = """\
mc admin user add is told by its help
echo "run wandb login first, then vault login again"
# vault login before this
# iinit first, and bw unlock after it
vault login -method=userpass username=ada
mc cp -p a b; mc ls lab
rabbitmqctl add_user ada "$PW"
net use x; net user
isql dsn ada
smbclient //h/s -U ada -c 'get x'
openssl dgst -sha256 x
ipmitool -I lanplus -p 623 -H h power on
glab issue create -t 'a title'
nmcli d wifi connect x
the user ada is here; open the door
user ada group
sacctmgr add user ada account=lab
cat > n.conf <<E\\nuser nginx;\\nE
echo "AUTH failed, PASS x, FAIL y"
PASS tests/a.py
curl 'https://h/list?u=ada&p=3&q=x'
curl 'https://h/list?q=ada&p=blue'
./a --user=ada -p gpu
python t.py u=ada.txt p=0.1
dict = {'u': 'ada', 'page': 'x'}
the secret 'is kept'
read the pragma key of it
set the password for ada = later
cat /etc/passwd | grep passwd
psql -p 5432 x
snmpwalk -c public h
mosquitto_sub -p 1883 -t x
ab -n 100 https://h/
--password=/run/secrets/db
HF_TOKEN=/home/ada2024/.cache/huggingface/token
DB_PASSWORD=/scratch/$USER/pw
--password=/p/project/lab/Keys/db.key
API_KEY=/mnt/lustre/Proj-42/run_17/a.b.txt
WANDB_API_KEY=//nas/lab/key
DB_PASSWORD=conf/pw.txt
HF_TOKEN=YOUR_TOKEN
API_KEY=YourOwnWandbAPIKey
API_KEY=your-api-key-here
DB_PASSWORD=changeme
MAIL_PASSWORD=ada@example.org
--token <your token>
hf_YOUR_TOKEN_HERE
HF_TOKEN=hf_your_token_goes_here_0123456789abcdef
`wandb login …` with the value
squeue -u ada -p gpuA100x4
sacct -u ada -P --format=JobID
sbatch -p gpuA100long job.sh
echo "show databases" | mysql -u ada -p
echo hostname | ssh node12
echo job2.sh | ssh login1 bash -s
echo PING | redis-cli
echo exit | sftp ada@h
echo "select count(*) from Runs2024" | psql runs
echo Chr1Region2 | grep -c x
bcftools view -s <(echo NA12878) x.vcf
bedtools intersect -a <(echo chr1) -b x
grep -f <(echo ENSG00000139618) x
echo y | conda install numpy
yes | apptainer build x.sif docker://ubuntu
echo Model_V2_Final | tee name.txt
python train.py --model Llama2Chat70B --tokenizer GPT2Fast
python train.py --token-type char
wget https://h/hooks/pre-commit.sh
git config core.hooksPath .git/hooks/preCommit2
curl -u : --negotiate https://h/x
curl -E cert.pem https://h/x
ssh-keygen -t ed25519 -f k -C ada
iget -r /zone/home/ada/run12
iadmin lu ada
iinit
ascp -l 100m -T ada@h:x .
ngrok http 8080
op run -- python a.py
FTP('h')
neptune.init_run(project='lab/Runs2024')
comet_ml.Experiment(project_name='Runs2024')
wandb login
wandb login --relogin
enc_key_size=128
ST_KEYS="a b"
export PW_BIN=/opt/qe/bin/pw.x
export NPW=4096
QEPW=/opt/qe/bin/pw.x
MYPWD=$(pwd)
DBPW_FILE=/run/secrets/db
export BW_SESSION_FILE=/home/ada/.bw
slack://channel
mc alias set lab https://s3.uni.edu ada
restic -r /data/r init
echo /data/Run2024/x | restic backup --files-from -
cat list.txt | restic backup --files-from-verbatim -
git checkout 3f2a9c81d0b7e64f5a1c92d8e07b36f4a5c1d2e9
COMMIT=3f2a9c81d0b7e64f5a1c92d8e07b36f4a5c1d2e9
python run.py -u Ada -p 8080
python run.py --user ada -p /data/Run24/x
mpirun -n 4 ./a.out --password-file /etc/pw
x1=train; python main.py --mode $x1
NAME=Alice; mkdir -p out/$NAME
P=gpu; sbatch -p $P job.sh
PORT=8080; ssh -p $PORT h
N=20240101; python a.py --seed $N
D=20240115; echo $D | ssh h
tee log <<< Model2Name9x
cat <<< Run2024FinalX > name
md5sum <<< Run2024FinalX
docker run -v /data/Run24A:/d img
singularity pull docker://user/Image2Name:v1
echo "module load GCC12.3" | ssh h bash
echo "$USER" | mail -s Done2024Run ada@h
mail -s Done ada@h <<< Run24BFinished
echo Run24BFinished | mail -s Done ada@h
echo Run24BFinished | slackcat -c lab
slackcat <<< Run24BFinished
rsync -a x h:/data/Run24A
curl -d status=Run24BDone https://h/x
git commit -F - <<< Fix24Bug
echo Fix24BugNow | git commit -F -
echo Run24BName | openssl dgst -sha256
echo Run24BName | curl -d @- https://h
seq 10 | xargs -n1 -P4 ./a
openssl dgst -sha256 <<< Run24BName
echo AlphaFold2Multimer | docker run -i img
singularity exec img cat <<< Run24BName
echo Chr1Region2 | singularity exec img awk 1
sudo tee /etc/x <<< Node24Group
Password entry below
password change needed soon
wolframscript -file a.wls
echo HG00096Sample | ./login_count
echo "Job24BStarted" | mail -s x a@b
expect login.exp node12
echo KO2Sample9x | rsync --files-from=- a b
gocmd put x
"""


def test_what_looks_alike_is_shown() -> None:
    assert [
        each
        for each in HARMLESS.splitlines()
        if redacted_source(Source(f"{each}\nsrun ./a\n")).text != f"{each}\nsrun ./a\n"
    ] == []


@pytest.mark.parametrize("place", ["INFLUX_TOKEN={}", "./a --password={}", "./a --db-password '{}'", "password: {}"])
def test_base_64_is_no_path(place: str) -> None:
    draw = random.Random(place)
    keys = [base64.b64encode(draw.randbytes(size)).decode() for size in (24, 48, 64) for _ in range(60)]
    keys = [each if number % 2 else f"/{each[1:]}" for number, each in enumerate(keys)]
    keys += ["//Lq7tH+9JBH9/R", "/Xk9!/ab", "/etc!Pw9/x"]
    assert [each for each in keys if each in redacted(place.format(each))] == []


PLACEHOLDERS = (
    *(
        "YOUR_TOKEN",
        "<your token>",
        "your-api-key",
        "yourpassword",
        "YourTokenHere",
        "changeme",
        "ChangeMe",
        "example.org",
    ),
    *("your.email@example.com", "hf_yourtokenhere", "your_token_1", "exampletoken", "xxxxx"),
)
CHOSEN = (
    "4YourEyes0nly!",
    "SjdTpeyOuRRrcg",
    "q7yOuR9!k",
    "Example!9x",
    "kyourz",
    "ForYourEyesOnly",
    "changeme!7",
    "yOuRtOkEn",
)


def test_a_placeholder_is_a_word_by_itself() -> None:
    assert [each for each in PLACEHOLDERS if not is_placeholder(each)] == []
    assert [each for each in CHOSEN if is_placeholder(each) or each in redacted(f"DB_PASSWORD='{each}'")] == []
    drawn = "ghp_Sjd7nbTpeyOuRRrcga9Kq3Zx81LmVt5Wn2Yd"
    assert drawn not in redacted(f"curl h/{drawn}")
    hook = "https://hooks.slack.com/services/T0AB12CD3/B04EF56GH/zyOuR81kLq3Zx81LmVt5Wn2Y"
    assert "yOuR" not in redacted(hook)


# A fix removes the option that tells the secret, which stands in another line as well.
REPEATED = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --export=ALL,MYSQL_PWD=Ab3!xyz91q
#SBATCH --export=ALL,RUN=1
mpirun -n 9 ./prog --x Ab3!xyz91q
"""


def test_what_is_left_after_fixes_is_told_without_the_secrets_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("job.sh", REPEATED), ("a.md", f"# A\n\n```bash\n{REPEATED}```\n")):
        Path(name).write_text(text)
        main([name, "--isolated", "--select=ALL", "--min-severity=info", "--fix", "--unsafe-fixes"])
        shown = "".join(capsys.readouterr())
        assert "MYSQL_PWD" not in Path(name).read_text()
        assert "./prog" in shown and "Ab3!xyz91q" not in shown
    fixed = api.fix(REPEATED, unsafe=True, isolated=True, min_severity="info", settings={"select": ["ALL"]})
    assert "MYSQL_PWD" not in fixed.text
    assert not any("Ab3!xyz91q" in each.message for each in fixed.findings)


def test_a_source_knows_the_secrets_of_what_it_was() -> None:
    source = Source("A_TOKEN=p7VbYyMwsKe2\nsrun ./a p7VbYyMwsKe2\n")
    after = source.with_text("srun ./a p7VbYyMwsKe2\n").with_text("srun ./b p7VbYyMwsKe2\n")
    assert secrets_of(after) == ("p7VbYyMwsKe2",)
    assert redacted_source(after).text == "srun ./b ************\n"


@pytest.mark.parametrize(
    "piece",
    [
        "mc admin user add a b ", "mc admin user add a b\n", "mc ", "mc -a ", "vault login ", "mc admin \\\n",
        "isql a b ",
        "user a b\nget ", "open h; user a b; ", "echo 'user a b' ", "printf 'user ", "ftp <<E\nuser a\n",
        "lftp -e 'user ",
        "user a\npass ", "a LOGIN b ", "AUTH PLAIN a", "AUTH LOGIN\nabcd\n", "AUTH a b\n", "user a password ",
        "set password from a to ", "identified by ", ":pserver:a:b", "-o user=a%", "u=a&p=b&", "?u=a&p=", "-d u=a ",
        "-d u=a -d p=b ", "http u=a ", "'u': 'a', 'p", "password=/a/b/", "password='/a", "TOKEN=your", "password=a/",
        "your_",
        "password') a.send(", "pragma key=", ".logon a,", " ", "'", "\"'", "open ", "-", "\\\n",
        "aws configure <<E\na\n", "sqlplus <<E\nconnect a/", "echo password ", "sshpass -f <(", "userid=a/",
        "curl -u 'a':",
        "invalid value 'a' for ", "net -U a%", "mosquitto_passwd -b ", "createUser a MD5 ",
    ],
)  # fmt: skip
def test_work_grows_as_the_text_does(piece: str) -> None:
    lines = lines_by_size(lambda count: redacted(piece * count))
    assert lines(2000) < 13 * max(lines(200), 300)


def test_no_pattern_reads_a_text_again_and_again() -> None:
    assert re.search(r"\*{3}", redacted("mc admin user add a b " + "q7" * 25_000)) is not None
