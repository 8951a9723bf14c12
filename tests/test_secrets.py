"""A secret that is written in a script is told by its place, and never shown: in no report, baseline, cache or plan."""

from __future__ import annotations

import html
import json
import random
import re
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ALL
from counting import executed_lines, lines_by_size
from sbatchlint import engine, installation
from sbatchlint.agents.tools import Tools
from sbatchlint.check import Edit, Finding, Fix
from sbatchlint.cli import main
from sbatchlint.registry import registry
from sbatchlint.report import FORMATS
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Settings
from sbatchlint.source.files import InputError
from sbatchlint.source.secret_names import is_secret
from sbatchlint.source.secrets import COVER, masked, redacted, redacted_source, secrets_in, values_in
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


def test_a_token_may_have_a_hyphen_early() -> None:
    assert redacted("srun a.out dckr_pat_uXBF-7qkFkA-Fio3V-lGyOChFhd") == f"srun a.out {36 * '*'}"


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
def test_what_is_redacted_keeps_its_length_and_its_lines(text: str) -> None:
    (secret,) = secrets_in(text)
    after = redacted(text)
    assert len(after) == len(text) and after.count("\n") == text.count("\n")
    assert set(after[secret.span.start : secret.span.end]) <= {COVER, "\n"}
    assert after[: secret.span.start] == text[: secret.span.start]


@pytest.mark.parametrize(
    ("message", "label", "content"),
    [("is x", "is y", "z"), (f"is {TOKEN}", "is y", "z"), ("is x", f"is {TOKEN}", "z"), ("is x", "is y", TOKEN)],
)
def test_each_text_of_a_finding_is_redacted(message: str, label: str, content: str) -> None:
    place = Span(0, 1)
    fix = Fix("write it", [Edit(place, content)])
    check = registry().load(registry().entries[0])
    finding = Finding(place, message, related=[(place, label)], fix=fix)
    others = [engine._diagnostic(Finding(place, "is x"), Source("ab"), "", check, "info", False, ())] * 2
    made = engine._diagnostic(finding, Source("ab"), "", check, "info", False, ())
    first, found, last = engine.without_secrets([others[0], made, others[1]])
    assert [first, last] == others
    assert (found.message, found.related[0].label) == (redacted(message), redacted(label))
    assert (found.fix is None) == (content == TOKEN)


def test_each_of_many_secrets_is_redacted_once() -> None:
    lines = [f"export TOKEN_{number}={TOKEN} # password={TOKEN}" for number in range(20)]
    text = "\n".join(lines)
    after = redacted(text)
    assert len(after) == len(text) and TOKEN not in after
    assert [line.partition("=")[0] for line in after.split("\n")] == [line.partition("=")[0] for line in lines]


@pytest.mark.parametrize(
    "text",
    ["export HF_TOKEN=$TOKEN", "API_KEY=EMPTY", "a password is wanted", "TOKEN: <yours>", "KEY=/home/ada/.key", "pw"],
)
def test_what_is_not_redacted(text: str) -> None:
    assert secrets_in(text) == () and redacted(text) == text


@pytest.mark.parametrize("sign", ["$", '"$', "$8"])
def test_a_stray_dollar_sign_does_not_hide_a_secret(sign: str) -> None:
    key = _drawn(40, _HEX)
    text = f"WANDB_API_KEY={sign}{key}"
    assert key[1:] not in redacted(text)
    assert [secret.name for secret in secrets_in(text)] == ["WANDB_API_KEY"]


# --- every kind of secret, in every place, in every output ----------------------------------------------------


def _drawn(size: int, of: str = string.ascii_letters + string.digits) -> str:
    """Characters that no scanner of a repository takes for a secret, as they are made on each run."""
    draw = random.Random(size * 1009 + len(of))
    return "".join(draw.choice(of) for _ in range(size))


_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
# How a kind is called, what a variable for it is named, and the secret.
KINDS = {
    "huggingface": ("HF_TOKEN", "hf_" + _drawn(34)),
    "github": ("GITHUB_TOKEN", "ghp_" + _drawn(36)),
    "github app": ("GH_TOKEN", "ghs_" + _drawn(36)),
    "github fine": ("GITHUB_PAT", "github_pat_" + _drawn(22) + "_" + _drawn(59)),
    "gitlab": ("GITLAB_TOKEN", "glpat-" + _drawn(20)),
    "gitlab deploy": ("DEPLOY_TOKEN", "gldt-" + _drawn(20)),
    "openai": ("OPENAI_API_KEY", "sk-proj-" + _drawn(60)),
    "openai old": ("OPENAI_API_KEY", "sk-" + _drawn(48)),
    "anthropic": ("ANTHROPIC_API_KEY", "sk-ant-api03-" + _drawn(90)),
    "aws": ("AWS_ACCESS_KEY_ID", "AKIA" + _drawn(16, _UPPER)),
    "aws secret": ("AWS_SECRET_ACCESS_KEY", _drawn(20) + "/" + _drawn(7) + "/" + _drawn(11)),
    "google": ("GOOGLE_API_KEY", "AIza" + _drawn(35)),
    "google client": ("CLIENT_SECRET", "GOCSPX-" + _drawn(28)),
    "azure storage": ("AZURE_STORAGE_KEY", _drawn(86) + "=="),
    "azure client": ("AZURE_CLIENT_SECRET", "abc8Q~" + _drawn(34)),
    "slack": ("SLACK_TOKEN", "xoxb-" + _drawn(12, "0123456789") + "-" + _drawn(24)),
    "slack app": ("SLACK_APP_TOKEN", "xapp-1-A0" + _drawn(9, _UPPER) + "-" + _drawn(40, _HEX)),
    "discord": ("DISCORD_TOKEN", "M" + _drawn(23) + ".G" + _drawn(5) + "." + _drawn(38)),
    "docker": ("DOCKER_TOKEN", "dckr_pat_" + _drawn(27)),
    "pypi": ("PYPI_TOKEN", "pypi-" + _drawn(80)),
    "npm": ("NPM_TOKEN", "npm_" + _drawn(36)),
    "databricks": ("DATABRICKS_TOKEN", "dapi" + _drawn(32, _HEX)),
    "replicate": ("REPLICATE_API_TOKEN", "r8_" + _drawn(37)),
    "cohere": ("COHERE_API_KEY", _drawn(40)),
    "mistral": ("MISTRAL_API_KEY", _drawn(32)),
    "nvidia": ("NVIDIA_API_KEY", "nvapi-" + _drawn(64)),
    "ngc": ("NGC_API_KEY", _drawn(84)),
    "kaggle": ("KAGGLE_KEY", _drawn(32, _HEX)),
    "zenodo": ("ZENODO_TOKEN", _drawn(60)),
    "telegram": ("TELEGRAM_TOKEN", _drawn(10, "123456789") + ":AA" + _drawn(33)),
    "twilio": ("TWILIO_AUTH_TOKEN", "SK" + _drawn(32, _HEX)),
    "sendgrid": ("SENDGRID_API_KEY", "SG." + _drawn(22) + "." + _drawn(43)),
    "stripe": ("STRIPE_API_KEY", "sk_live_" + _drawn(24)),
    "digitalocean": ("DO_TOKEN", "dop_v1_" + _drawn(64, _HEX)),
    "vault": ("VAULT_TOKEN", "hvs." + _drawn(90)),
    "grafana": ("GRAFANA_TOKEN", "glsa_" + _drawn(32) + "_" + _drawn(8, _HEX)),
    "sentry": ("SENTRY_AUTH_TOKEN", "sntrys_" + _drawn(60)),
    "wandb": ("WANDB_API_KEY", _drawn(40, _HEX)),
    "comet": ("COMET_API_KEY", _drawn(25)),
    "neptune": ("NEPTUNE_API_TOKEN", "eyJhcGlf" + _drawn(120) + "=="),
    "azure devops": ("AZURE_DEVOPS_EXT_PAT", _drawn(52, "abcdefghijklmnopqrstuvwxyz234567")),
    "airtable": ("AIRTABLE_PAT", "pat" + _drawn(14) + "." + _drawn(64, _HEX)),
    "onepassword": ("OP_SERVICE_ACCOUNT_TOKEN", "ops_eyJ" + _drawn(400)),
    "groq": ("GROQ_API_KEY", "gsk_" + _drawn(52)),
    "jwt": ("ACCESS_TOKEN", "eyJ" + _drawn(20) + ".eyJ" + _drawn(40) + "." + _drawn(43)),
    "supabase": ("SUPABASE_KEY", "sbp_" + _drawn(40, _HEX)),
    "launchdarkly": ("LD_SDK_KEY", "sdk-{}-{}-{}-{}-{}".format(*[_drawn(size, _HEX) for size in (8, 4, 4, 4, 12)])),
    "linear": ("LINEAR_API_KEY", "lin_api_" + _drawn(40)),
    "terraform": ("TF_API_TOKEN", _drawn(14) + ".atlasv1." + _drawn(67)),
    "postgres": ("POSTGRES_PASSWORD", "p@ss1JgW"),
    "password": ("DB_PASSWORD", "correct-horse"),
    "short password": ("PGPASSWORD", "k9z!x"),
    "password of mysql": ("MYSQL_PWD", "Zx,81#q"),
}  # fmt: skip
# Where a secret is written: {name}, {option} and {secret} are filled in.
PLACES = {
    "argument": "srun python train.py --{option} {secret} --epochs 5",
    "argument with =": "srun python train.py --{option}='{secret}' --epochs 5",
    "export": "export {name}={secret}; srun python train.py",
    "quoted export": 'export {name}="{secret}"\nsrun python train.py',
    "heredoc": "cat > conf.ini <<EOF\n[server]\n{name} = {secret}\nEOF\nsrun python train.py",
    "yaml heredoc": "cat > conf.yml <<'EOF'\nserver:\n  {name}: {secret}\nEOF\nsrun python train.py",
    "directive": "#SBATCH --export=ALL,{name}={secret}\nsrun python train.py",
    "image": "#SBATCH --container-image=docker://ada:{secret}@registry.example.org/team/image:1\nsrun python train.py",
    "image of pyxis": "srun --container-image=ada:{secret}@registry.example.org/team/image:1 python train.py",
    "url": "srun git clone https://ada:{secret}@example.org/team/code.git",
    "query": "srun curl 'https://example.org/files?access_token={secret}&page=2'",
    "function": "login() {{\n  srun server --{option} \"$1\" --{option} {secret}\n}}\nlogin x",
    "array": "options=(--epochs 5 --{option} {secret})\nsrun python train.py \"${{options[@]}}\"",
    "comment": "# {name}={secret}\nsrun python train.py",
    "wrap": "sbatch --nodes=2 --wrap \"{name}={secret} python train.py --{option} {secret}\"",
    "here-string": "read -r {name} <<< '{secret}'\nsrun python train.py",
    "python -c": "srun python -c 'import os; os.environ[\"{name}\"] = \"{secret}\"; serve({lower}=\"{secret}\")'",
    "header": "srun curl -H 'Authorization: Bearer {secret}' -H \"X-API-Key: {secret}\" example.org",
    "default": "srun python train.py ${{{name}:-{secret}}}",
    "container": "srun docker run -e {name}={secret} --network host image python serve.py",
    "printf": "printf '{name}=%s\\n' '{secret}' >> .env\nsrun python train.py",
    "environment of a container": "apptainer exec --env {name}={secret} image.sif python train.py",
    "pipe": "echo {secret} | docker login -u ada --password-stdin registry.example.org",
    "broker": "srun python train.py --broker amqp://ada:{secret}@mq.example.org:5672/jobs",
    "over ssh": "ssh node1 \"export {name}={secret}; python serve.py\"",
    "mysql": "srun mysql -h db -u ada -p'{secret}' team < dump.sql",
    "form": "srun curl -d 'user=ada&{lower}={secret}&a=1' https://example.org",
    "cookie": "srun curl -b 'a=1; session={secret}' https://example.org",
    "netrc": "printf 'machine h\\nlogin ada\\npassword {secret}\\n' > ~/.netrc\nsrun python train.py",
    "block of YAML": "cat > a.yml <<'E'\npassword: |\n  {secret}\nE\nsrun python train.py",
    "two pieces": "export {name}='a1b2c3d4'\"{secret}\"\nsrun python train.py",
    "command": "srun restic --password-command 'echo {secret} x' backup",
}  # fmt: skip
# Each pair takes some twenty runs, so that a slow run looks at one in so many.
SHARE = 1 if ALL else 23
# A telling part of them, which plain runs look at; the others are slow.
FEW = [
    ("wandb", "here-string"), ("short password", "yaml heredoc"), ("comet", "python -c"), ("openai", "wrap"),
    ("password of mysql", "mysql"), ("password", "image"),
]  # fmt: skip


def _script(kind: str, place: str) -> str:
    name, secret = KINDS[kind]
    option = name.lower().replace("_", "-")
    body = PLACES[place].format(name=name, lower=name.lower(), option=option, secret=secret)
    head = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --time=5 --gres=gpu:1\n"
    return f"{head}{body}\ncd $PBS_O_WORKDIR; echo  $SLURM_JOB_ID\nsrun -n2 mpirun a.out\n"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param(kind, place, marks=() if (kind, place) in FEW else pytest.mark.slow)
        for row, kind in enumerate(KINDS)
        for column, place in enumerate(PLACES)
        if (kind, place) in FEW or (row + column) % SHARE == 0
    ],
)
def test_no_output_shows_any_kind_of_secret_in_any_place(
    kind: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")
    secret = KINDS[kind][1]
    Path("job.sh").write_text(_script(kind, place))
    Path("job.log").write_text(f"error: option of {secret} refused\nslurmstepd: error: Detected 1 oom-kill event\n")
    lint = ("job.sh", "--select", "ALL", "--min-severity", "info", "--no-cache")
    lines = [(*lint, "--output-format", form) for form in FORMATS]
    lines += [(*lint, "--diff", "--unsafe-fixes")]
    lines += [("plan", "--output-format", form, "job.sh") for form in ("text", "json", "html", "svg")]
    lines += [("convert", "--nodes", "2", "job.sh", *more) for more in ((), ("--diff",), ("--output-format", "json"))]
    lines += [
        ("diagnose", "--script", "job.sh", "job.log", "--output-format", form) for form in ("text", "json", "github")
    ]
    for line in lines:
        main(list(line))
        shown = "".join(capsys.readouterr())
        assert secret not in shown and html.escape(secret) not in shown, (line, shown)
    script = Path("job.sh").read_text()
    for name in ("check", "plan", "fix", "convert", "diagnose"):  # what an agent is told
        more = {"convert": {"nodes": 2}, "diagnose": {"logs": [Path("job.log").read_text()]}}
        try:
            shown = Tools(None).call(name, {"script": script, **more.get(name, {})})
        except InputError as error:
            shown = masked(str(error), values_in(script))  # as the server says it
        assert secret not in shown and json.dumps(secret)[1:-1] not in shown, (name, shown)


def test_all_kinds_are_redacted_in_all_places() -> None:
    shown = [
        (kind, place, redacted_source(Source(text)).text)
        for kind in KINDS
        for place in PLACES
        for text in [_script(kind, place)]
        if KINDS[kind][1] in redacted_source(Source(text)).text
    ]
    assert shown == []


# Names of words that run together, with values that no form tells; and tokens that tell by their form what they are.
RUN_TOGETHER = {
    "TS_AUTHKEY": _drawn(30), "DBPASS": "correct-horse", "PASSKEY": "k9z!xq", "REFRESHTOKEN": _drawn(60),
    "accessToken": _drawn(40), "DBPASSWORD": "Rt7!qpl2", "MONGOPASS": "pw4mongo", "ROOTPWD": "toor!77",
    "userPwd": "s3cr3t-x", "JUPYTERTOKEN": _drawn(48, _HEX), "RUNPODKEY": _drawn(45), "LICENSEKEY": "AB12C-DE34F-GH56I",
    "CLIENTSECRET": _drawn(32), "csrfToken": _drawn(32), "SSHKEYPASS": "open-sesame9", "APPKEY": _drawn(32, _HEX),
}  # fmt: skip
FORMS = (
    "tskey-auth-k" + _drawn(11) + "-" + _drawn(32), "ntn_" + _drawn(46), "figd_" + _drawn(40),
    "shpat_" + _drawn(32, _HEX), "dp.st.prd." + _drawn(43), "fm2_lJPEC" + _drawn(80), "rnd_" + _drawn(28),
    "pscale_tkn_" + _drawn(43), "nfp_" + _drawn(36), "sk.eyJ1" + _drawn(40) + "." + _drawn(22),
    "NRAK-" + _drawn(27, _UPPER), "tgp_v1_" + _drawn(43), "ATATT3xFfGF0" + _drawn(170), "newvendor-key_" + _drawn(40),
)  # fmt: skip
AROUND = (
    '{{\n  "{0}": "{1}",\n  "a": 5\n}}', "export {0}='{1}'", "srun --export=ALL,{0}={1} a", "-e {0}={1} image",
    "a=([{0}]='{1}')", ": ${{{0}:={1}}}", "curl -d '{{\"{0}\": \"{1}\"}}' h", "# {0}: {1}",
    "wget 'https://h/f?{0}={1}&a=1'", 'os.environ["{0}"] = "{1}"', "a --{0} {1}", '{0} = "{1}"',
    "export {0}=$'{1}'", '{0}=$"{1}" a', "{0}[0]='{1}'", "<{0}>{1}</{0}>", "<p><name>{0}</name><value>{1}</value></p>",
    '<p name="{0}" value="{1}"/>', "put --name {0} --value {1}", "mpiexec -genv {0} {1} -n 4 a", "set -gx {0} {1}",
    "{0}=$(echo {1})", "{0}=`printf '%s' {1}`", '{0}="$(echo -n \'{1}\' | base64 -d)"', "{0}=$(base64 -d <<< '{1}')",
    '{0}="${{1:-{1}}}"', '{0}=${{OTHER-"{1}"}}',
)  # fmt: skip


def test_names_of_words_that_run_together_and_forms_are_redacted() -> None:
    pairs = [*RUN_TOGETHER.items(), *(("notion", form) for form in FORMS)]
    written = [(place.format(name, secret), secret) for name, secret in pairs for place in AROUND]
    assert [text for text, secret in written if secret in redacted(text)] == []


def test_what_tells_that_a_name_is_that_of_a_secret() -> None:
    assert all(map(is_secret, ("TS_AUTHKEY", "DBPASS", "PASSKEY", "REFRESHTOKEN", "accessToken", "hftoken", "DB_PASS")))
    others = "BYPASS COMPASS MONKEY KEYBOARD TOKENIZER TOKENS MAXTOKEN newtoken OLDPWD NOPASSWD max_new_token token"
    assert not any(map(is_secret, others.split()))


@pytest.mark.parametrize(
    "text",
    [
        "git checkout 3f9a1c07be52d84e6a90b7c13fd825e4a6c01b9d",
        "sha256sum -c <<< '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  data.tar'",
        "docker run ubuntu@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "docker://ubuntu:22.04@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "docker://nvcr.io:443/nvidia/pytorch:24.01-py3", "curl http://localhost:8080/x?a=b@c", "ssh ada@host:22",
        "git clone https://ada:$TOKEN@example.org/x", "git clone https://ada:${TOKEN}@example.org/x",
        "git clone https://ada:$(cat ~/.token)@example.org/x", "git clone https://ada:<token>@example.org/x",
        "curl -H \"Authorization: Bearer $TOKEN\"", "curl -H 'Authorization: Bearer <token>'", "mysql -p$PW x",
        "mysql -p x",
        "mysql -P 3306 --port=3306 x", "docker run -p 8080:80 image", "train.py --token $HF_TOKEN --epochs 5",
        "train.py --password ${PASSWORD:?}", "export HF_TOKEN=\"$(cat ~/.cache/huggingface/token)\"",
        "SECRET_FILE=/run/secrets/x", "train.py --tokenizer gpt2 --max-tokens 4096 --keys a,b", "HF_TOKEN=<your token>",
        "PASSWORD={{ password }}", "API_KEY=your_api_key", "token=os.environ['HF_TOKEN']", "the key is: see below",
        "# password: ask ada for it", "tokens: 4096", "EOS_TOKEN=im_end",
        "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
        "--export=ALL,HF_TOKEN", "if [ -z \"$HF_TOKEN\" ]; then echo HF_TOKEN missing; fi", "export HF_TOKEN",
        "AC=1; SK=2", "FILE_PAT=*.csv; LOG_PAT=step-[0-9]*; NAME_PAT=train_of_the_model",
        "keys=$(ls) pass=0", "--bind /data:/data", "export PASSWORD", "pass", "module load key/1.2",
        "ssh-keygen -t rsa", "sort_key=4d7c21ad0b5c03d6099a213cc50287d5", "STAGE_KEY=stage-2-of-the-model-v1",
        "printf 'TOKEN=%s\\n' \"$TOKEN\"", "printf 'token: %s of %s\\n' a b", "git config user.name ada2024lovelace",
        "ssh-keygen -t rsa -N '' -f key", "echo 3 | sudo tee /proc/sys/vm/drop_caches", "echo done | tee login.txt",
        "echo $PW | sudo -S ls", "curl -b cookies.txt example.org", "vault login -method=ldap username=adalovelace",
        "lftp -u ada sftp://host", "PASS_RATE=0.95", "HF_TOKEN_FILE=/run/x", "PAD_TOKEN_2=50256", "step_1 key_2=a",
        "train.py data.sort.key=length2024 model.pad.token=end model.key=loss", "cat <<< login > x", "wandb login",
        "train.py --auth=basic --auth none:", "echo a | grep login", "pass_1=100",
        "BYPASS=proxy-host COMPASS=north HIGHPASS=0.001 BANDPASS=8-12Hz FIRSTPASS=yes-please TRESPASS=warning",
        "MONKEY=capuchin KEYBOARD=qwerty-us TOKENIZER=gpt2-large TOKENS=4096 TURKEY=istanbul-1 HOTKEY=ctrl-a",
        "maxToken=100000 EOSTOKEN=im_end padToken=endoftext subtoken=piece_one OLDPWD=there NOPASSWD: everything",
        "SORTKEY=4d7c21ad0b5c03d6099a213cc50287d5 PUBLICKEY=4d7c21ad0b5c03d6099a213cc50287d5",
        "run_ResNet50ImageNetTrainingConfigurationV2 exp-MyVeryLongExperimentNameWithCamelCase2024",
        "cd /data/password data", "printf -v DB_PASSWORD '%s' \"$X\"", "sed \"s/PASSWORD=.*/PASSWORD=$PW/\" c",
        "jq --arg name adalovelace '.a = $name' f", "setenv PATH /usr/local/bin", "sed 's/token/word/' a",
        "for token in gpt2_a gpt2_b; do", "for key in alpha1 beta2; do", '[ "$HF_TOKEN" = "" ]', '[ -n "$HF_TOKEN" ]',
        "case $KEY in train*) a;;", "TOKEN=$(echo $X)", 'TOKEN="$(echo "$PW")"', "HF_TOKEN=${HF_TOKEN:-}",
        "TOKEN=${1:-$2}",
        "echo done1234 > log", "echo finished > token.log", "mpiexec -env OMP_NUM_THREADS 4 a", "for pw in 500 600; do",
        "if [[ $PASSWORD != $OTHER ]]; then", "the password value is set", "[ ${token} = end ]", "KEY=$(echo a_b)",
        "curl -o user:x h", "unzip -P", 'if [ "$TOKEN" == "none" ]; then', "export HF_TOKEN=$(echo ${OTHER})",
        "gdown 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms", "torch-2.1.0+cu121-cp310-cp310-linux_x86_64.whl",
    ],
)  # fmt: skip
def test_what_is_harmless_is_shown(text: str) -> None:
    assert redacted(text) == text


# `@` is the secret.
COMMANDS = (
    "sshpass -p '@' ssh a@b", "curl --proxy-user ada:@ example.org", "curl -b 'sessionid=@' example.org",
    "curl -H 'Cookie: session=@' example.org", "curl --oauth2-bearer @ example.org", "echo '@' | sudo -S ls",
    "sudo -S ls <<< '@'", "sudo -u b -kS ls <<< @", "kinit ada <<< '@'", "echo @ | kinit ada",
    "printf '%s' @ | kinit a",
    "echo @ | gh auth login --with-token", "gh auth login --with-token <<< @", "echo @ | wandb login",
    "huggingface-cli login <<< @", "echo ada:@ | chpasswd", "echo @ | gpg --passphrase-fd 0 -d a.gpg",
    "ssh-keygen -t rsa -N '@' -f key", "vault login @", "wandb login --relogin @", "lftp -u ada,@ sftp://host",
    "spark-submit --conf spark.hadoop.fs.s3a.secret.key=@ a.py", "train.py +wandb.key=@a",
    "xfreerdp /u:ada /p:@ /v:host",
    "curl https://api.telegram.org/bot123456789:AA@/send", "curl https://discord.com/api/webhooks/123456789012345678/@",
    "expect -c 'spawn ssh a@b; expect \"password:\"; send \"@\\r\"'", "swaks --auth-user ada -ap @",
    "ncftpput -u ada -p @ host", "train.py --auth ada:@", "cat > ~/.pgpass <<EOF\nhost:5432:db:ada:@\nEOF",
    "printf -v DB_PASSWORD '%s' @", "printf -v DB_PASSWORD %s '@'", "sed -i 's/DB_PASSWORD=.*/DB_PASSWORD=@/' conf",
    "sed -i \"s/^password: .*/password: @/\" conf", "sed -e 's|PASSWORD=.*|PASSWORD=@|' conf",
    "sed 's/a/b/;s/PASSWORD=x/PASSWORD=@/g' conf", "setenv DB_PASSWORD @", "ENV DB_PASSWORD @",
    "jq --arg password @ '.a = $password' f", "perl -pi -e 's/TOKEN=.*/TOKEN=@/' f",
    "[[ $DB_PASSWORD == '@' ]]", 'if [ "${DB_PASSWORD}" != "@" ]; then', 'test "$HF_TOKEN" = @',
    "case $DB_PASSWORD in @) a;;",
    'case "${HF_TOKEN}" in\n  x | "@") a ;;\nesac', "for DB_PASSWORD in x '@' y; do", "curl -fsSLu ada:@ example.org",
    "unzip -qP @ a.zip", "ldapsearch -LLxw @ -b x", "printf %s '@' | gh auth login --with-token",
    "echo @ > ~/.hf_token",
    "printf '%s' '@' >> conf/password.txt", "echo -ne @ | docker login --password-stdin", "config set my_pass @",
    "java -Dmatlab.license.key=@ a", "train.py --matlabLicenseKey @",
    "HF_TOKEN_READ=@", "OPENAI_API_KEY_2=@", "export DB_PASSWORD_PROD='@'", "HF_TOKEN2=@ train.py", "--api-key-1 @",
)  # fmt: skip


def test_secrets_of_many_findings_cost_what_they_are() -> None:
    def reported(size: int) -> None:
        lines = [f"echo pw{number}abc | sudo -S ls; [ 3 > 2 ]\n" for number in range(size)]
        source = Source("#!/bin/bash\n#SBATCH --nodes=1\n" + "".join(lines))
        report = Report(engine.inspect(source, Settings.of_table({"select": ["SB420"]})).diagnostics, 1)
        assert renderer("full")(report, Terminal()).count("echo") > size // 2

    reported(2)
    small, large = executed_lines(lambda: reported(20)), executed_lines(lambda: reported(200))
    assert large < 13 * small


def test_secrets_of_commands_are_redacted() -> None:
    drawn = _drawn(33)
    shown = [text for text in COMMANDS if drawn in redacted(re.sub("(?<!\\w)@|(?<=AA)@|@(?=a$)", drawn, text))]
    assert shown == []


@pytest.mark.parametrize("before", ["", "a;", "a,", "x=", "'", "(", "\n"])
def test_a_token_is_found_at_the_start_of_a_line_and_after_a_separator(before: str) -> None:
    (found,) = secrets_in(before + "sk-" + _drawn(48))
    assert found.span == (len(before), len(before) + 51)


@pytest.mark.parametrize(("ci", "is_whole"), [("", True), ("false", True), ("true", False), ("1", False)])
def test_a_patch_is_whole_outside_of_ci(
    ci: str, is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", ci)
    text = f"#!/bin/bash\n#SBATCH --nodes=1\nHF_TOKEN={TOKEN}\ncd $PBS_O_WORKDIR # {KEY}\n{KEY}\nWANDB_API_KEY={KEY}\n"
    Path("job.sh").write_text(text)
    main(["--diff", "job.sh", "--no-cache", "--select", "ALL", "--unsafe-fixes"])
    shown, said = capsys.readouterr()
    assert "\n-cd $PBS_O_WORKDIR # " in shown
    assert (TOKEN in shown) == (KEY in shown) == is_whole
    assert ("note: secrets are shown as ***" in said) == (not is_whole)
    assert said.count("\n") == 2 - is_whole


@pytest.mark.parametrize(
    "piece",
    [
        "TOKEN=", "TOKEN='", 'TOKEN="', "://a:", "://a:b@", "mysql ", "mysql -p", "Authorization: Bearer ", "sk-",
        "eyJ", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----", "a", "\\", "password: ", "--token ",
        "login -p ", "echo ", "curl -u a:", "$(", "${", "TOKEN=${", "key=<", "-", ":AA", "M.G", "login(", "_key", "$",
        "$TOKEN = ", "for TOKEN in ", "for TOKEN in a1b2 ", "${TOKEN} ", "case $TOKEN in a1b2|", "<token>",
        "</token><value>",
        "TOKEN=$(echo ", "TOKEN=${", "echo a1b2c3d4e5", "echo 1>", "TOKEN[0]", "-env TOKEN ", "token --value ",
        "curl -fs",
        "s/TOKEN=", "s/a/TOKEN=", "printf -v TOKEN ", "--arg token ", "setenv token ",
        'f() { ./a --password "$1"; }; f b12cd\n', "P=$P; a --token $P\n", "set -- a b; ", "for a in b ", "A=(a b ",
        "f() { shift\n a --token $1\n", 'IFS=: read a b <<< "a:b" ', 'set -- "${A[@]}"; a --token $1 ', "X=$(echo ",
        '"password=a&b', '"a=b password=', "<<E\npassword: a<b\n",
        ",", "TOKEN,", "stdin|", "printf 'TOKEN=%s' ",
        "printf '", "config a token ", "config ", "--token=x", "bearer ", "bearer=", "TOKEN=a/", "TOKEN=$",
    ],
)  # fmt: skip
def test_work_grows_as_the_text_does(piece: str) -> None:
    lines = lines_by_size(lambda count: redacted(piece * count))
    assert lines(3000) < 13 * max(lines(300), 300)


def test_values_that_begin_alike_cost_what_they_are() -> None:
    def work(size: int) -> None:
        names = [f"abcdefgh{number:05d}" for number in range(size)]
        values = values_in("".join([f"srun a --password {name}\n" for name in names]))
        assert len(values) == size
        assert not any("abcdefgh" in redacted(f"{name} refused, {name[:9]}…", values) for name in names)

    work(5)
    assert executed_lines(lambda: work(300)) < 13 * executed_lines(lambda: work(30))


# How a value reaches the name of a secret in other ways than beside it; `~` is the secret.
THROUGH = (
    'prep() { ./stage --passphrase "$1"; }; prep ~', 'prep() { ./stage --password "$1"; }\nprep ~\n',
    'set -- ~; ./stage --password "$1"', 'set -- u ~; P=$2; ./stage --password "$P"',
    'P=~; ./stage --password "$P"', 'P=~; curl -H "X-Password: $P" h', 'P=~; curl -H "Authorization: Bearer $P" h',
    'for k in ~; do ./stage --password "$k"; done', 'read -r P <<< ~\n./stage --token "$P"',
    "read -r U P <<< 'ada ~'\n./stage --token \"$P\"", 'A=(u ~); ./stage --password "${A[1]}"',
    'A[1]=~; P=${A[1]}; ./stage --password "$P"', 'printf -v P %s ~; ./stage --password "$P"',
    "printf -v P '%s' '~'; ./stage --password $P", './stage --password "${P:-~}"', 'X=${P:-~}; ./stage --password "$X"',
    "P=~; export API_KEY=$P", 'P=~\nQ=$P\nR="$Q"\n./stage --api-key=$R',
    'f() {\n local p=$1\n ./stage --password "$p"\n}\nf ~\n',
    'g() {\n f ada "$1"\n}\nf() {\n ./stage --password "$2"\n}\ng ~\n',
    'g() { f "$@"; }\nf() { ./stage --password "$2"; }\ng ada ~\n', 'function f {\n ./stage --password "$1"\n}\nf ~',
    "P=~; git clone https://ada:$P@h/x", 'P=~; sshpass -p "$P" ssh h', 'P=~; mysql -u a -p"$P" x',
    "P=~\necho $P | docker login --password-stdin", 'P=~\nsudo -S ls <<< "$P"', 'P=~; curl -u "ada:${P}" h',
    'A=(x ~); set -- "${A[@]}"; ./stage --password "$2"', 'while read -r P; do ./a --password "$P"; done <<< ~',
    'while read -r k; do ./a --password "$k"; done <<E\n~\nE\n', 'mapfile -t A <<< ~; ./a --password "${A[0]}"',
    'f() {\n  shift\n  ./a --password "$1"\n}\nf a ~', 'f() { ./a --password "$1"; }\nif f ~; then :; fi',
    'f() { ./a --password "$1"; }\nA=1 f ~', 'f() (\n ./a --password "$1"\n)\nf ~', "P=~; ./a --password ${P%x}",
    "P=a; P+=~; ./a --password $P", "P=$(echo ~); ./a --password $P", "P=$(base64 -d <<< ~); ./a --password $P",
    'IFS=: read -r U P <<< "ada:~"; ./a --password "$P"', 'IFS=, read -ra A <<< "a,~"; ./a --password "${A[1]}"',
    'P=~; wandb login "$P"',
    "P=~\ncat > c.yml <<E\npassword: $P\nE\n",
)  # fmt: skip


@pytest.mark.parametrize("text", THROUGH)
def test_a_value_that_reaches_the_name_of_a_secret_is_redacted(text: str) -> None:
    secret = "Kq7vTz2mWx9b"
    assert secret not in redacted(text.replace("~", secret))


@pytest.mark.parametrize(
    "text",
    [
        'F=/data/pw.txt; ./a --password-file "$F"', "U=ada2024; ./a --user $U",
        'TOKEN_VAR=WANDB_API_KEY; ./a --token "$TOKEN_VAR"', 'f() { ./a --password "$1"; }; f /data/set1/x',
        "for i in 1 2 3; do ./a --pass $i; done", 'M=none; ./a --password "$M"', 'M=basic; ./a --auth "$M"',
        "K=loss; ./a --key $K", "for t in gpt2_a gpt2_b; do ./a --token_type $t; done",
        'f() { ./a --user "$1" --password "$2"; }; f adalovelace1 $X', 'P=$(cat f); ./a --password "$P"',
        "N=50256; ./a --pad-token $N", "D=/home/ada/x1; ./a --pwd $D",
        'f() { ./a --password "$1"; }\nsrun job1234 abc1234', "D=run2024a; P=$D; ./a --password-dir $P",
    ],
)  # fmt: skip
def test_what_reaches_no_name_of_a_secret_is_shown(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("sign", [*"<>&;"])
@pytest.mark.parametrize(
    "text",
    [
        "curl -H 'X-Password: ~' h", 'curl -H "Authorization: Bearer ~" h', "cat > c <<'E'\npassword = ~\nE\n",
        "cat > c <<'E'\npassword: ~\nE\n", "cat > c <<E\nrequirepass ~\nE\n", "cat > c <<E\nbindpw ~\nE\n",
        'psql "host=db password=~ dbname=x"', 'psql "password=~ host=db"', "psql 'host=db user=a password=~'",
        "curl -H 'X-JFrog-Art-Api: ~' h",
    ],
)  # fmt: skip
def test_a_value_is_redacted_past_the_signs_of_a_shell(text: str, sign: str) -> None:
    assert "Ef" not in redacted(text.replace("~", f"ab12{sign}cd34Ef"))


def test_a_part_of_a_value_that_looks_like_a_tag_is_redacted() -> None:
    assert "x9" not in redacted("cat > ldap.conf <<E\nbindpw CgdU<sNp>x9\nE\n")


def test_signs_of_a_shell_end_a_value_where_something_else_follows() -> None:
    texts = (
        'curl "https://h/f?token=~&a=1"', 'curl -d "password=~&user=adalove"', 'bash -c "PASSWORD=~&& ls12"',
        "cat <<E\n<value>password=~</value>\nE\n", "cat <<E\nTOKEN=~ > log12\nE\n", 'a "host=db;password=~;port=5"',
    )  # fmt: skip
    assert [redacted(each.replace("~", "abcd1234")) for each in texts] == [each.replace("~", "*" * 8) for each in texts]


@pytest.mark.parametrize(
    "header",
    [
        "X-JFrog-Art-Api", "X-Gitea-OTP", "X-GitHub-OTP", "X-Forgejo-OTP", "X-Seafile-OTP", "X-Honeycomb-Team",
        "X-Figma-Token", "X-Shopify-Access-Token", "X-Sonar-Passcode", "X-Rundeck-Auth-Token", "X-Consul-Token",
        "X-Nomad-Token", "DD-API-KEY", "Ocp-Apim-Subscription-Key", "x-functions-key", "X-NuGet-ApiKey", "X-TFE-Token",
    ],
)  # fmt: skip
def test_headers_of_services_are_redacted(header: str) -> None:
    for text in ("curl -H '{}: {}' h", 'curl --header="{}:{}" h', 'r.get(u, headers={{"{}": "{}"}})'):
        assert "zz12ud34EfGh" not in redacted(text.format(header, "zz12ud34EfGh"))
