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
SHOW = "show() { printf '%s\\1' \"$@\" >&3; printf '\\2' >&3; }\n"

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
    'unset SLURM_NNODES; [ "$U" ] && SLURM_NNODES=4; show "$SLURM_NNODES"',
    'unset ${!SLURM_NN*}; show "$SLURM_NNODES"',
    'for v in $(compgen -e SLURM_); do unset $v; done; show "$SLURM_NNODES" "$SLURM_JOB_ID"',
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


@pytest.mark.parametrize("program", [*UNSET, *GIVEN_UP, *ENDED])
def test_values_are_those_of_bash(program: str, tmp_path: Path) -> None:
    text = f"{HEADER}{program}\n"
    (tmp_path / "job.sh").write_text(SHOW + text)
    job = Job.from_source(Source(text, "job.sh"), Site())
    told = [(pattern(each), each) for each in job.invocations if each.name == "show"]
    for environment in ENVIRONMENTS:
        given = ["".join(f"{word}\0" for word in words) for words in prints(environment, tmp_path)]
        assert not [each for each in given if not any(possible.fullmatch(each) for possible, _ in told)], environment
        certain = [each for each in told if each[1].alternatives == 1 and not may_not_run(each[1])]
        assert not [each for possible, each in certain if not any(map(possible.fullmatch, given))], environment
