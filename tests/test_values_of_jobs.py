"""What bash gives `show` in a job is one of the values that are told, and what is said to run for certain does.

Each program runs in bash once for each of `ENVIRONMENTS`, which the evaluator does not know, as a job of two nodes.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sbatchlint.analysis.script.conditionals import may_not_run
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.site import Site
from sbatchlint.source.text import Source

HEADER = "#!/bin/bash\n#SBATCH -N 2\n"
JOB = {"SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "4711"}
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {}, {"U": "", "W": ""}, {"U": "7", "W": "1"}, {"U": "a", "W": "a b"}, {"U": "", "W": "1"},
)  # fmt: skip
SHOW = "show() { printf '%s\\1' \"$@\" >&3; printf '\\2' >&3; }; export -f show\n"

# A variable of the job that is unset in some branches, or from the second iteration on.
UNSET = (
    'if [ -d . ]; then unset SLURM_NNODES; fi; show "$SLURM_NNODES" "${SLURM_NNODES:-x}" "${SLURM_NNODES-y}"',
    'case $U in 7) unset SLURM_NNODES ;; esac; show "$SLURM_NNODES" "${SLURM_NNODES:+z}"',
    '[ -n "$U" ] && unset SLURM_NNODES; show "$SLURM_NNODES"; [ -z "$SLURM_NNODES" ] && show none; show end',
    'f() { [ -n "$W" ] && unset SLURM_NNODES; }; f; show "$SLURM_NNODES"',
    'f() { if [ "$W" ]; then unset SLURM_NNODES; return; fi; }; f; show "$SLURM_NNODES"',
    'for i in $U; do unset SLURM_NNODES; done; show "$SLURM_NNODES"',
    'for i in 1 2; do show "$SLURM_JOB_ID" $i; unset SLURM_JOB_ID; done; show "$SLURM_JOB_ID"',
    'for i in $U b; do show "$SLURM_NNODES"; unset SLURM_NNODES; done',
    'while [ "$U" ]; do show "$SLURM_NNODES"; U=; unset SLURM_NNODES; done; show "$SLURM_NNODES"',
    'for ((i = 0; i < 2; i++)); do show "$SLURM_NNODES" $i; unset SLURM_NNODES; done',
    '[ "$U" ] && unset SLURM_NNODES; SLURM_NNODES+=5; show "$SLURM_NNODES"',
    '[ "$U" ] && unset SLURM_NNODES; show $((SLURM_NNODES + 1)) "${#SLURM_NNODES}"',
    '[ "$U" ] && unset SLURM_NNODES; if [ -z "$SLURM_NNODES" ]; then SLURM_NNODES=9; fi; show $SLURM_NNODES',
    '[ "$U" ] && unset SLURM_NNODES; export SLURM_NNODES; show "$SLURM_NNODES"',
    '[ "$U" ] && unset SLURM_NNODES; case $SLURM_NNODES in 2) show two ;; "") show none ;; esac',
    '[ "$U" ] && unset SLURM_NNODES; SLURM_NNODES=($SLURM_NNODES 3); SLURM_NNODES+=(4); show "${SLURM_NNODES[@]}"',
    # in more ways than are told apart, each without a value
    (
        "for i in 1 2; do if [ -z $SLURM_JOB_ID ] || [[ -v U ]]; then for i in 1 2; do "
        'if [ "x$W" != x ]; then unset SLURM_JOB_ID; fi; done; fi; done; show "$SLURM_JOB_ID"'
    ),
    'unset SLURM_NNODES; [ "$U" ] && SLURM_NNODES=4; show "$SLURM_NNODES"',
    'unset ${!SLURM_NN*}; show "$SLURM_NNODES"',
    'for v in $(compgen -e SLURM_); do unset $v; done; show "$SLURM_NNODES" "$SLURM_JOB_ID"',
)
# What a child process gets of what is exported, comes from the environment, or is taken out of it.
EXPORTED = (
    "SLURM_NNODES=4; show $SLURM_NNODES; bash -c 'show x$SLURM_NNODES'",
    "unset SLURM_NNODES; SLURM_NNODES=4; show $SLURM_NNODES; bash -c 'show x$SLURM_NNODES'",
    "export -n SLURM_NNODES; show $SLURM_NNODES; bash -c 'show x$SLURM_NNODES'",
    "export -n SLURM_NNODES; SLURM_NNODES=5; show $SLURM_NNODES; bash -c 'show x$SLURM_NNODES'",
    "declare +x SLURM_NNODES; bash -c 'show x$SLURM_NNODES'; export SLURM_NNODES; bash -c 'show x$SLURM_NNODES'",
    "f() { local SLURM_NNODES=9; bash -c 'show $SLURM_NNODES'; }; f; bash -c 'show x$SLURM_NNODES'",
    "f() { local SLURM_NNODES; bash -c 'show $SLURM_NNODES'; SLURM_NNODES=9; bash -c 'show $SLURM_NNODES'; }; f",
    "f() { local SLURM_NNODES=9; unset SLURM_NNODES; bash -c 'show $SLURM_NNODES'; }; f; bash -c 'show x$SLURM_NNODES'",
    "for SLURM_NNODES in 7 8; do bash -c 'show $SLURM_NNODES'; done; bash -c 'show $SLURM_NNODES end'",
    "read SLURM_NNODES <<< 6; bash -c 'show x$SLURM_NNODES'",
    "printf -v SLURM_NNODES %d 6; bash -c 'show x$SLURM_NNODES'",
    "(( SLURM_NNODES++ )); bash -c 'show x$SLURM_NNODES'",
    "SLURM_NNODES=(3 4); bash -c 'show \"$SLURM_NNODES\"'",
    "mapfile -t SLURM_NNODES <<< 6; bash -c 'show \"$SLURM_NNODES\"'",
    "export X=1; unset X; X=2; bash -c 'show \"$X\"'",
    "export X=1; declare +x X; X=3; bash -c 'show \"$X\"'",
    "export X=1; f() { local X; bash -c 'show \"$X\"'; X=4; bash -c 'show \"$X\"'; }; f; bash -c 'show \"$X\"'",
    "export X=1; f() { declare X=2; export -n X; bash -c 'show \"$X\"'; }; f; bash -c 'show \"$X\"'",
    "export X; X=5; bash -c 'show $X'",
    '[ "$U" ] && export X; X=5; bash -c \'show "$X"\'',
    'X=1; [ "$U" ] && export X; X=5; bash -c \'show "$X"\'',
    'export X=1; [ "$U" ] && export -n X; X=5; bash -c \'show "$X"\'',
    'export X=1; [ "$U" ] && unset X; X=5; bash -c \'show "$X"\'',
    "for i in 1 2; do X=5; bash -c 'show \"$X\"'; export X; done",
    "for i in 1 2; do X=5; bash -c 'show \"$X\"'; unset X; X=4; export X; done",
    "export X=1; for i in 1 2; do X=5; bash -c 'show \"$X\"'; export -n X; done",
    '[ "$U" ] && unset SLURM_NNODES; SLURM_NNODES=5; bash -c \'show "$SLURM_NNODES"\'',
    '[ "$U" ] && SLURM_NNODES=5; bash -c \'show "$SLURM_NNODES"\'',
    "if [ \"$U\" = 7 ]; then unset SLURM_NNODES; SLURM_NNODES=8; fi; bash -c 'show ${SLURM_NNODES:-none}'",
    "set -a; X=5; set +a; unset X; X=6; bash -c 'show \"$X\"'",
    "declare -i X=5; export X; bash -c 'X=2*3; show \"$X\"'",
    "readonly X=5; export X; bash -c 'X=6; show \"$X\"'",
    "f() { show in; bash -c 'show \"$X\"'; }; X=3 f; X=4; bash -c 'show \"$X\"'",
)
# An error in the middle of a command, at which bash gives up all of it, with some of the values.
GIVEN_UP = (
    'M=0; A=1; [ "$U" ] && A=08\nif true; then B=$((A)); M=1; show in; fi\nshow $M',
    "M=0; A=1; [ \"$U\" ] && A='$N'\nfor i in 1 2; do B=$((A)); M=1; show $i; done\nshow $M",
    'M=0; A=1; [ "$U" ] && A=08\nf() { show $((A + 1)); M=1; show in; }\nf\nshow $M',
    'M=0; A=1; [ "$U" ] && A=08\nif true; then B=$(($A + 1)); M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=0\nif true; then B=$((4 / A)); M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=0\nif true; then B=$((4 % $A)); M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=08\nif true; then L=(1 2); B=${L[A]}; M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=08\nif true; then B=abc; B=${B:A}; M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=08\nif true; then declare -i B=A; M=1; fi\nshow $M',
    'M=0; A=1; [ "$U" ] && A=08\nif true; then (( A > 0 )); M=1; fi\nshow $M',
    'A=1; [ "$U" ] && A=08\nB=$((A))\nshow $B',
    "M=0; A=16p$U\nif true; then B=$((A)); M=1; fi\nshow $M",
    "M=0; A=16p$U\nif true; then B=$(($A + 1)); M=1; fi\nshow $M",
    "M=0; A=--n=4\nif true; then B=$((${#U} ? $A : 1)); M=1; fi\nshow $M",
    "M=0; readonly R=\nif true; then : ${R:=2}; M=1; fi\nshow $M $R",
    "readonly R=\nf() { M=${R:=1}; show in; }\nf\nshow end",
    "M=0; readonly R=1\nif true; then M=$((R++)); M=2; fi\nshow $M $R",
    "M=0; readonly R=1\nif true; then (( R = 4 )); M=2; fi\nshow $M $R",
    "M=0; readonly R=1\nfor R in 1 2; do M=1; show $R; done\nshow $M $R",
    "M=0; readonly R=1\nif true; then for R in 1 2; do M=1; done; M=3; fi\nshow $M $R",
    "readonly R=1\nfor R in $U; do show $R; done\nshow $R",
    "readonly R=1\nfor ((R = 0; R < 2; R++)); do show $R; done\nshow $R",
    "for R in 1 2; do M=$R; readonly R; done\nshow $M $R",
    'M=0; [ "$U" ] && readonly R=1\nfor R in 3 4; do M=1; show $R; done\nshow $M $R',
    'M=0; [ "$U" ] && readonly R=\nif true; then : ${R:=2}; M=1; fi\nshow $M "$R"',
    'M=0; [ "$U" ] && readonly R=1\nif true; then M=$((R++)); M=2; fi\nshow $M "$R"',
    "readonly R=1\nwhile read n R; do show $n; done <<< '4 5'\nread R n <<< '6 7'\nshow $R $n",
    'n=5; [ "$U" ] && readonly R=1\nread R n <<< "6 7"\nshow $R $n',
    "readonly R=1\nf() { show $R; }\nR=4 f",
    "for i in a b; do M=${!U}; [ -f nofile ] || exit 1; done\nshow end",
    "if true; then M=${!U}; [ -f nofile ] || exit 1; fi\nshow end",
    "f() { M=${!U}; [ -f nofile ] || exit 1; }\nf\nshow end",
    "while :; do M=${!U}; [ -f nofile ] || exit 1; break; done\nshow end",
)
# What the script itself decides ends it here: a template, perhaps, but what follows is not certain.
ENDED = (
    "x=64\n[ $x -eq 7 ] || exit 1\nshow end",
    "x=64\n[[ $x =~ ^[a-z] ]] || exit 1\nshow end",
    "[ $SLURM_NNODES -eq 7 ] || exit 1\nshow end",
    "if [ $SLURM_NNODES -ne 7 ]; then exit 1; fi\nshow end",
    'x=\n[ -n "$x" ] || { echo no x; exit 2; }\nshow end',
    'x=\nif [ -z "$x" ]; then exit 1; fi\nshow end',
    'die() { exit 1; }\nx=64\n[ $x -eq 7 ] || die "no"\nshow end',
    "f() { [[ $1 == a ]] || exit 1; show $1; }\nf b\nshow end",
    "x=1\nwhile true; do [ $x = 2 ] || exit 1; show in; break; done\nshow end",
    "( x=1; [ $x = 2 ] || exit 1; show in )\nshow end",
    "x=1\nif [ -d . ]; then [ $x = 2 ] || exit 1; show in; fi\nshow end",
)

# A value that cannot be empty after: no later default is taken, and no test for nothing succeeds.
NEVER_EMPTY = (
    'U=${U:-4}; show ${U:-abc} "${U:+y}"; show ${U:=xyz}; [ -z "$U" ] && show none',
    ': ${U:=5}; show ${U:-abc}; if [ -z "$U" ]; then show none; else show some; fi',
    "export U=${U:-2}; show ${U:-abc} ${U:+y}; bash -c 'show ${U:-8}'",
    'f() { local U=${U:-2}; show ${U:-abc}; [ "$U" = "" ] && show none; }; f; show "${U:-q}"',
    '[ -z "$U" ] && U=2; show "${U:-8}" "$U"; [ -z "$U" ] && show none; show end',
    ': ${U:?no}; show ${U:-8} ${U:+y}; [ -n "$U" ] || show none',
    'set -- "$U"; N=${1:-2}; show ${N:-8}; [ "$N" = "" ] && show none',
    'if [ "$U" = "" ]; then U=3; fi; show ${U:-8}',
    'if [ -n "$U" ]; then show ${U:-8} ${U:+y}; else show none "${U:-8}" ${U:+y}; fi; show any ${U:-8}',
    'if [ ! -z "$U" ]; then show ${U:-8}; fi; if ! [ -z "$U" ]; then show ${U:-9}; fi',
    'case "$U" in "") U=4 ;; esac; show ${U:-8}',
    "case $U in ?*) show some ${U:-8} ;; *) show none ${U:-8} ;; esac",
    'while [ -z "$U" ]; do U=7; done; show ${U:-8}',
    'until [ -n "$U" ]; do U=7; done; show ${U:-8}',
    'f() { [ -z "$1" ] && return 1; show ${1:-8}; }; f "$U"; show end',
    'f() { if [ -z "$U" ]; then U=9; fi; }; f; show ${U:-8}',
    "[[ -z $U ]] && U=2; show ${U:-8}",
    '[ "x$U" = x ] && U=2; show ${U:-8}',
    '[ "$U" ] || U=2; show ${U:-8}',
    'if [ -z "$U" ]; then exit 0; fi; show ${U:-8}; [ -z "$U" ] && show none; show end',
    'if [ -z "${U:-}" ]; then U=3; fi; show ${U:-8}',
    'N=${U:-2}; M=$N; O=${M:-9}; show ${O:-8} "${N:-7}"',
    'A=("${U:-2}" "${W:-3}"); show "${A[0]:-8}" "${A[1]:-9}"',
    "for i in 1 2; do U=${U:-2}; show ${U:-8} $i; done; show ${U:-9}",
    '[ -z "$U" ] && { U=2; N=3; }; show ${U:-8}',
    'if [ -z "$U" ] || [ -z "$W" ]; then U=1; W=1; fi; show ${U:-8} "${W:-9}"',
    'if [ -n "$U" ] && [ -n "$W" ]; then show ${U:-8} "${W:-9}"; fi',
    'if [ "$U" -gt 2 ]; then show ${U:-8}; fi',
    "if (( U > 2 )); then show ${U:-8}; fi",
    'N=${U:-2}; N="$N $W"; show "${N:-8}"',
    'N=${U:-2}; case $N in "") show none ;; *) show some ;; esac',
    'if [ -v U ]; then show "${U-8}"; else show none "${U-8}"; fi',
)
# Here it can be, by then.
MAYBE_EMPTY = (
    'N=${U:-2}; N=${N#7}; show "${N:-8}"',
    'N=${U:-2}; [ "$W" ] && N=; show "${N:-8}"',
    'N=${U:-$W}; show "${N:-8}"',
    '[ -n "$U" ] || exit; [ "$W" ] && unset U; show "${U:-8}"',
    '[ -n "$U" ] || exit; read -r U <<< ""; show "${U:-8}"',
    '[ -n "$U" ] || exit; source <(echo U=); show "${U:-8}"',
    '[ -n "$U" ] || exit; v=U; unset $v; show "${U:-8}"',
    '[ -n "$U" ] || exit; for i in 1 2; do show "${U:-8}"; U=; done',
    'f() { [ -n "$1" ] || return; g ""; show "${1:-8}"; shift; show "${1:-9}"; }; g() { show "${1:-7}"; }; f "$U"',
    'set -- "$U" "$W"; [ -n "$1" ] || exit; show "${1:-8}"; shift; show "${1:-9}"',
    '[ -n "$U" ] || exit; f() { local U; show "${U:-8}"; }; f; show "${U:-9}"',
    'if [ -n "$U" ]; then U=$W; fi; show "${U:-8}"',
    'if [ "$U" ] || [ "$W" ]; then show "${U:-8}"; fi',
    'while [ "$U" ]; do U=$N; done; show "${U:-8}"',
    'N=${U:-"$(echo "${W:-}")"}; show "${N:-8}"',
    'N=${U:- }; N=$(echo $N); show "${N:-8}"',
    'N=${U:- }; A=($N); show "${A[*]:-8}"; read -r M <<< "$N"; show "${M:-9}"',
    'case $U in a) show some ;; ?) U= ;; esac; show "${U:-8}"',
    '[ -n "$U" ] || exit; env -i bash -c \'echo "${U:-8}"\'; env -u U PATH="$PATH" bash -c \'show "${U:-8}"\'',
)


def prints(environment: dict[str, str], folder: Path) -> list[list[str]]:
    """The words that bash gives each `show` of the script in a folder."""
    done = subprocess.run(
        ["bash", "--norc", "-c", 'exec 3>&1 >/dev/null; exec bash "$0"', str(folder / "job.sh")],
        env={**JOB, **environment, "PATH": "/usr/bin:/bin"}, cwd=folder, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return [each.split("\1")[:-1] for each in done.stdout.decode().split("\2")[:-1]]


def pattern(command: Invocation) -> re.Pattern[str]:
    """What the words of a command may be, each with a NUL behind it."""
    words = []
    for field in command.argv[1:]:
        if text_of(field) is None and all(piece.open for piece in field):
            words.append(".*")
            continue
        parts = [re.escape(each.text) if each.text is not None else ".+" if each.filled else ".*" for each in field]
        words.append("".join(parts) + "\0")
    return re.compile("".join(words), re.DOTALL)


def told(text: str) -> list[tuple[re.Pattern[str], Invocation]]:
    """Each `show` of a script, with what its words may be."""
    job = Job.from_source(Source(text, "job.sh"), Site())
    return [(pattern(each), each) for each in job.invocations if each.name == "show"]


def printed(text: str, environment: dict[str, str], folder: Path) -> list[str]:
    """The words that bash gives each `show` of a script, each with a NUL behind it."""
    (folder / "job.sh").write_text(SHOW + text)
    return ["".join(f"{word}\0" for word in words) for words in prints(environment, folder)]


@pytest.mark.parametrize("program", [*UNSET, *EXPORTED, *GIVEN_UP, *ENDED, *NEVER_EMPTY, *MAYBE_EMPTY])
def test_values_are_those_of_bash(program: str, tmp_path: Path) -> None:
    text = f"{HEADER}{program}\n"
    possible = told(text)
    for environment in ENVIRONMENTS:
        given = printed(text, environment, tmp_path)
        assert not [each for each in given if not any(own.fullmatch(each) for own, _ in possible)], environment
        certain = [each for each in possible if each[1].alternatives == 1 and not may_not_run(each[1])]
        assert not [each for own, each in certain if not any(map(own.fullmatch, given))], environment


@pytest.mark.parametrize("program", NEVER_EMPTY)
def test_what_cannot_be_empty_takes_no_default(program: str, tmp_path: Path) -> None:
    text = f"{HEADER}{program}\n"
    given = [each for environment in ENVIRONMENTS for each in printed(text, environment, tmp_path)]
    assert not [each for own, each in told(text) if not any(map(own.fullmatch, given))]
