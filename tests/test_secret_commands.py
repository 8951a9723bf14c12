"""Secrets that end where only a command tells them: through quotes, variables, arrays, parameters; and what stays."""

from __future__ import annotations

import pytest

from counting import executed_lines
from sbatchlint.source.secrets import redacted, values_in

# Where commands take a secret: `@` is the word, or a part of one.
COMMANDS = (
    "docker login -u ada -p @ r.example.org",
    "podman login --username ada -p @ r.example.org",
    "helm registry login -p @ r.example.org",
    "az login --service-principal -u app -p @ --tenant t",
    "redis-cli -h h -a @ PING",
    "mongosh -u ada -p @",
    "mysql -u ada -p@ runs",
    "mysqldump -p@ runs",
    "sshpass -p @ ssh h",
    "smbclient //h/d -U ada%@ -c ls",
    "rpcclient -U ada%@ h",
    "7z x -p@ data.7z",
    "unrar x -p@ a.rar",
    "zip -P @ a.zip a",
    "unzip -P @ a.zip",
    "curl -u ada:@ https://h",
    "curl --user ada:@ https://h",
    "curl https://ada:@@h.example.org/x",
    "git clone https://ada:@@h.example.org/x.git",
    "curl https://hooks.slack.com/services/T0ABCDEF/B0ABCDEF/@",
    "curl https://discord.com/api/webhooks/123456789012/@",
    "aws configure set aws_secret_access_key @",
    "anaconda -t @ upload x",
    "kaggle config set -n key -v @",
    "ldapsearch -x -w @ -b dc=x",
    "ipmitool -U ada -P @ sel",
    "sqlcmd -U ada -P @",
    "bcp t out f -P @",
    "lftp -u ada,@ sftp://h",
    "twine upload -u ada -p @ dist/x.whl",
    "cqlsh -u ada -p @",
    "yt-dlp -u ada -p @ https://h",
    "cypher-shell -u neo4j -p @",
    "swift -U ada -K @ list",
    "openssl enc -k @ -in f",
    "rclone obscure @",
    "htpasswd -bc f ada @",
    "wandb login @",
    "vault login @",
    "./tool --password @",
    "./tool --password=@",
    "DB_PASSWORD=@ ./tool",
    "sed -i s/PASSWORD=.*/PASSWORD=@/ conf",
    "./a | sudo -S ls <<< @",
    "docker login --password-stdin r <<< @",
    "echo @ | docker login --password-stdin r",
    "printf %s @ | kinit ada",
    "cat > ~/.db_password <<E\n@\nE",
    "echo machine h login ada password @ > ~/.netrc",
)
# The words before the command, what it is given, and what may be after it.
WAYS = {
    "as it is": ("", "{value}", ""),
    "in quotes": ("", "'{value}'", ""),
    "partly in quotes": ("", '{value:.5}"{rest}"', ""),
    "in two quotes": ("", "'{value:.5}'\"{rest}\"", ""),
    "ANSI": ("", "$'{value}'", ""),
    "variable": ("X='{value}'\n", '"$X"', ""),
    "without quotes": ("X='{value}'\n", "$X", ""),
    "braces": ('export X="{value}"\n', '"${{X}}"', ""),
    "of another": ("Y='{value}'; X=$Y\n", '"$X"', ""),
    "default": ("", '"${{X:-{value}}}"', ""),
    "set default": ("", '"${{X:={value}}}"', ""),
    "loop": ("for X in ada '{value}'; do\n", '"$X"', "\ndone"),
    "array": ("A=(ada '{value}')\n", '"${{A[1]}}"', ""),
    "associative array": ("declare -A A=([u]=ada [k]='{value}')\n", '"${{A[k]}}"', ""),
    "all elements": ("A=('{value}')\nfor X in \"${{A[@]}}\"; do\n", '"$X"', "\ndone"),
    "nameref": ("X='{value}'; declare -n Y=X\n", '"$Y"', ""),
    "through a nameref": ("declare -n Y=X; Y='{value}'\n", '"$X"', ""),
    "indirect": ("X='{value}'; Y=X\n", '"${{!Y}}"', ""),
    "read": ("read -r Y X <<< \"ada {value}\"\n", '"$X"', ""),
    "read with IFS": ("IFS=: read -r Y X <<< 'ada:{value}'\n", '"$X"', ""),
    "read of a heredoc": ("read -r X <<E\n{value}\nE\n", '"$X"', ""),
    "case": ("case $1 in a) X=none ;; *) X='{value}' ;; esac\n", '"$X"', ""),
    "printf -v": ("printf -v X %s '{value}'\n", '"$X"', ""),
    "echo": ("X=$(echo '{value}')\n", '"$X"', ""),
    "output of a function": ("get() {{ echo '{value}'; }}\nX=$(get)\n", '"$X"', ""),
    "parameter": ("f() {{\n", '"$1"', "\n}}\nf '{value}'"),
    "required parameter": ("f() {{\n", '"${{1:?no password}}"', "\n}}\nf '{value}'"),
    "second parameter": ("f() {{\n  local x=$2\n", '"$x"', "\n}}\nf ada '{value}'"),
    "shift": ("f() {{\n  shift\n", '"$1"', "\n}}\nf ada '{value}'"),
    "shift 2": ("f() {{ shift 2\n", '"$1"', "\n}}\nf ada x '{value}'"),
    "shift in a loop": (
        'f() {{\n  while [ $# -gt 0 ]; do\n    case $1 in -p) X=$2; shift 2 ;; *) shift ;; esac\n  done\n',
        '"$X"', "\n}}\nf -u ada -p '{value}'",
    ),
    "getopts": (
        "f() {{\n  while getopts u:p: o; do case $o in p) X=$OPTARG ;; esac; done\n", '"$X"', "\n}}\nf -p '{value}'"
    ),
    "subshell function": ("f() (\n", '"$1"', "\n)\nf '{value}'"),
    "nested function": ("f() {{\n  g() {{\n    ", '"$1"', "\n  }}\n  g \"$1\"\n}}\nf '{value}'"),
    "all parameters": ("g() {{\n", '"$2"', "\n}}\nf() {{ g \"$@\"; }}\nf ada '{value}'"),
    "parameters of the script": ("set -- ada '{value}'; shift\n", '"$1"', ""),
}  # fmt: skip
VALUES = ("v!D6Zf^VpsrXn", "Xk7_pLq29vRdd")


# The same in further ways, where more than one word is given.
TOGETHER = (
    'OPTS=(-u ada -p "{value}"); docker login "${{OPTS[@]}}" r',
    'P="{value}"; OPTS=(-u ada -p "$P"); docker login "${{OPTS[@]}}" r',
    'OPTS=(-u ada); OPTS+=(-p "{value}"); docker login "${{OPTS[@]}}" r',
    'OPTS="-u ada -p {value}"; docker login $OPTS r',
    'f() {{ docker login "$@" r; }}; f -u ada -p "{value}"',
    'C="ada:{value}"; curl -u "$C" https://h',
    'C="ada%{value}"; smbclient //h/d -U "$C"',
    'T=7z; $T x "-p{value}" a.7z',
    'U=ada; P="{value}"; C="$U:$P"; curl -u "$C" https://h',
    'f() {{ echo "$@"; docker login "$@"; }}\n' + "f -p none\n" * 9 + 'f -u ada -p "{value}"',
    "for c in " + "ada:none " * 9 + '"ada:{value}"; do curl -u "$c" h; done',
    "printf '%s:%s\\n' ada '{value}' | chpasswd",
    "curl -u \"$(printf '%s:%s' ada '{value}')\" https://h",
    "P='{value}'; printf '[client]\\npassword=%s\\n' \"$P\" > my.cnf",
    "read -r p < <(echo '{value}'); redis-cli -a \"$p\"",
    "docker login --password-stdin < <(echo '{value}')",
    "K=password; ./t --$K '{value}'",
    "for k in DB_PASSWORD; do export \"$k\"='{value}'; done",
    'ID=123456789012345678/{value}; curl "https://discord.com/api/webhooks/$ID"',
    'RUN="docker login -u ada"; $RUN -p "{value}" r',
    'LOGIN=(redis-cli -a); "${{LOGIN[@]}}" "{value}" PING',
    'f() {{ eval "export TOKEN=$1"; }}; f "{value}"',
    'f() {{ local -n out=$1; out="{value}"; }}; f P; redis-cli -a "$P"',
    "bash -c 'smbclient -U ada%\"{value}\" //h/d'",
    'f() {{ bash -c "redis-cli -a $1"; }}; f "{value}"',
    'f() {{ redis-cli -a "$1"; }}; if ! f "{value}"; then exit 1; fi',
    'function f {{\n    g() {{\n        redis-cli -a "$1"\n    }}\n    redis-cli PING\n    g "$1"\n}}\nf "{value}"',
    './tool --pass"word" "{value}"',
    "redis-cli -a \"$(echo '{value}')\"",
    'P="{value}"; redis-cli -a "$(printf %s "$P")"',
    'P=$(cat <<E\n{value}\nE\n); redis-cli -a "$P"',
    'N=P; declare "$N={value}"; redis-cli -a "$P"',
    'while IFS=, read -r u p; do redis-cli -a "$p"; done <<E\nada,none\nbob,{value}\nE',
    "printf '%s\\n' '{value}' | while read -r p; do redis-cli -a \"$p\"; done",
    "srun bash -c 'redis-cli -a \"$1\"' _ '{value}'",
    'f() {{ redis-cli -a "$1"; }}; trap "f \'{value}\'" EXIT',
    "A=(); A+=(-a); A+=('{value}'); redis-cli \"${{A[@]}}\"",
    "./tool --pa'ssw'ord=\"{value}\"",
)
# What reaches such a place, or looks so, and is no secret.
ORDINARY = (
    'U=adalovelace; docker login -u "$U" --password-stdin r',
    'f() { docker login -u "$1" -p "$(cat ~/.pw)" r; }; f adalovelace2026x',
    'F=/home/ada/.password; tool --password-file "$F"',
    'F=conf/secret.key; redis-cli -a "$(cat $F)"',
    'P=$(cat ~/.pw); docker login -p "$P" r',
    'P=${PASSWORD:?}; docker login -p "$P" r',
    "P=none; docker login -p $P r",
    "P=5432; mongosh -p $P",
    "P=MY_PASSWORD; docker login -p ${!P} r",
    'D=/data/ada/run_2026_a; sed -i "s/PATH_OF=.*/PATH_OF=$D/" conf',
    'U=adalovelace; curl "https://$U@h.example.org/x"',
    'M=llama-2-7b-chat-hf; echo "token $M"; python a.py --model "$M" --tokenizer="$M"',
    'S=eval_2024_best; model_key="${S}_v2_$SLURM_JOB_ID"',
    'X=run_0017_final; mkdir -p "$X"; cp -p "$X"/a.txt "out/$X"',
    'train() { python train.py -p "$1" --name="$2"; }; train sgd_1e-4_b256 exp-2026-A7',
    'OPTS=(--lr 1e-4 --name "exp-2026-A7"); srun python train.py "${OPTS[@]}"',
    "awk -F'token=' '{print $2}' f",
    'A="$X"_"$Y"_filtered_2024.vcf; ls "$A"',
    'git commit -m"add password: ask ada"',
    'WORK=$(realpath $(pwd)); apptainer exec --pwd "$WORK" a.sif ls',
)


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_redacted_however_it_reaches_its_command(way: str) -> None:
    shown = []
    for number, command in enumerate(COMMANDS):
        value = VALUES[number % 2]
        before, word, after = (part.format(value=value, rest=value[5:]) for part in WAYS[way])
        given = value if "<<E" in command and word[:1] != '"' and "$X" not in word else word  # no quotes in a heredoc
        first, sign, host = command.partition("@@")
        script = (
            f"#!/bin/bash\n{before}{first.replace('@', given)}{f'{given}@{host}' if sign else ''}{after}\nsrun ./a\n"
        )
        after_it = redacted(script, values_in(script))
        shown += [script] if value in after_it or value[5:] in after_it else []
    assert shown == []


@pytest.mark.parametrize("text", TOGETHER)
def test_a_secret_is_redacted_among_several_words(text: str) -> None:
    for value in VALUES:
        script = f"#!/bin/bash\n{text.format(value=value)}\nsrun ./a\n"
        assert value not in redacted(script, values_in(script))


def test_a_secret_that_looks_like_a_pattern_is_redacted() -> None:
    for text in ("P='Xk7_p*q29v?'; redis-cli -a \"$P\"", 'redis-cli -a "${P:-Xk7_p*q29v?}"'):
        assert "q29v" not in redacted(f"#!/bin/bash\n{text}\nsrun ./a\n")


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str) -> None:
    script = f"#!/bin/bash\n{text}\nsrun ./a\n"
    assert redacted(script, values_in(script)) == script


@pytest.mark.parametrize(
    "text",
    [
        "X@='Xk7_pLq29v@'; redis-cli -a \"$X@\"\n",
        'P="$P"; Q=$P; redis-cli -a "$Q"\n',
        "P='Xk7_pLq29v@'; redis-cli -a \"$P\"\n",
        "f() { shift\n redis-cli -a \"$1\"; }; f a 'Xk7_pLq29v@'\n",
        "A+=(-p 'Xk7_pLq29v@'); docker login \"${A[@]}\"\n",
        "f() { while :; do shift; done; docker login \"$@\"; }; f -p 'Xk7_pLq29v@'\n",
        "declare -n X@=Y; X@='Xk7_pLq29v@'; redis-cli -a $Y\n",
        "smbclient -U ada%'Xk7_pLq29v@'\n",
        "f() { g() { redis-cli -a $1; }; g $1; }; f 'Xk7_pLq29v@'\n",
        "set -- a 'Xk7_pLq29v@'; shift; redis-cli -a $1\n",
        'X="-p $X"; docker login $X\n',
        "printf %s 'Xk7_pLq29v@' | read p@; redis-cli -a $p@\n",
        'N=P@; declare "$N=Xk7_pLq29v@"; redis-cli -a $P@\n',
        "while IFS=, read u p; do redis-cli -a $p; done <<E\nada,Xk7_pLq29v@\nE\n",
        "printf '%s:%s' ada 'Xk7_pLq29v@' | chpasswd\n",
        "printf '%s ",
        'printf "%s\\n%s" a b ',
        "cat < <(echo a@) ",
        "K@=password; ./t --$K@ 'Xk7_pLq29v@'\n",
        "bash -c 'redis-cli -a $1' _ 'Xk7_pLq29v@'\n",
        'redis-cli -a "$(echo Xk7_pLq29v@)"\n',
        "A@=(-a 'Xk7_pLq29v@'); redis-cli ${A@[@]}\n",
        "f() { ",
        '"${A[@]}" ',
        "a'b'",
        "'a'b",
        "$X$Y ",
        "X=$X:$Y; ",
    ],
)
def test_work_grows_as_the_text_does(text: str) -> None:
    def lines(count: int) -> int:
        script = "".join([text.replace("@", str(number)) for number in range(count)])
        return executed_lines(lambda: redacted(script))

    lines(10)
    assert lines(600) < 13 * max(lines(60), 300)
