"""What a variable may not be said to hold any more: after an expression that is not known, and after a reference that
may lead to it was written.

`S …` prints its words. Bash runs each program once for every value of `$u1`, which is not known here: each of its
prints has to be one of those that are thought possible, whether or not the evaluator doubts that anything ran as it
thinks.
"""

from __future__ import annotations

import re
from pathlib import Path

from shell_programs import INPUTS
from test_drawn_programs import pattern, prints_of, run_bash

PROGRAMS = (
    # expressions of `let`
    'N=1; let "N=$u3+2"; S $N',
    'N=1; let N=$u3%7+20 M=N; S "$N" "$M"',
    'N=1; let "N=${#u1}"; S $N',
    'N=1; let "N=${u3:-5}"; S $N',
    'N=1; let "N += $u3" && M=2; S $N $M',
    "N=1; for i in 1 2; do let N=u3+$i; done; S $N",
    'a=1; b=1; case $u1 in a | b*) let "$u1=9" ;; esac; S $a $b',
    "a=1; case $u1 in a) (( $u1 = 9 )) ;; esac; S $a",
    "a1=1; a7=1; case $u1 in 1 | 7) M=$(( a$u1 = 9 )) ;; esac; S $a1 $a7",
    # references that may be none, or lead to one of several variables
    'C=q; [ "$u1" = a ] && declare -n R=C; R=new; unset -n R; S $C',
    'C=q; if [ "$u1" = a ]; then declare -n R=C; fi; R=new; S $C $R',
    'C=q; D=r; if [ "$u1" = a ]; then declare -n R=C; else declare -n R=D; fi; R=new; S $C $D',
    "C=q; case $u1 in a) declare -n R=C ;; 1) R=1 ;; esac; R+=new; S $C",
    'C=q; [ "$u1" ] && declare -n R=C; printf -v R x; S $C',
    'C=q; [ "$u1" ] && declare -n R=C; read R <<< x; S $C',
    'C=q; [ "$u1" ] && declare -n R=C; read -a R <<< "a b"; S $C',
    'C=1; [ "$u1" ] && declare -n R=C; (( R = 4 )); S $C',
    'C=1; [ "$u1" ] && declare -n R=C; let R=4; S $C',
    'C=1; [ "$u1" ] && declare -n R=C; R=(a b); S $C',
    'C=1; [ "$u1" ] && declare -n R=C; mapfile -t R <<< z; S $C',
    'C=1; [ "$u1" ] && declare -n R=C; unset R; S "${C-none}"',
    'C=1; [ "$u1" ] && declare -n R=C; export R=5; S $C',
    'C=1; [ "$u1" ] && declare -n R=C; export "R=$u1"; S "$C"',
    'C=; [ "$u1" ] && declare -n R=C; : ${R:=5}; S "$C"',
    'C=(1 2); [ "$u1" ] && declare -n R=C; R[1]=9; S ${C[1]}',
    'declare -A C=([x]=1); [ "$u1" ] && declare -n R=C; R[x]=9; S ${C[x]}',
    'C=1; D=1; [ "$u1" ] && declare -n R=C; for R in C D; do R=3; done; S $C $D',
    'C=1; f() { [ "$u1" ] && local -n R=C; R=5; }; f; S $C',
    'C=1; D=2; f() { if [ "$u1" ]; then local -n R=$1; else local -n R=$2; fi; R=5; }; f C D; S $C $D',
    "a=1; f() { local -n R=$1; R=5; }; case $u1 in a) f $u1 ;; esac; S $a",
    'C=1; declare -n R=C; [ "$u1" ] && unset -n R; R=5; S $C',
)


def shown(program: str) -> str:
    """A program with `S …` as prints of places of their own."""
    places = iter(range(1000))
    return re.sub(r"\bS (\S[^;\n|&]*)", lambda found: f"printf '\\1%s\\2' @{next(places)} {found[1]} >&3", program)


def test_what_may_have_changed_is_not_said_to_be_as_before(tmp_path: Path) -> None:
    texts = [f"# {number} 0 {number}\n{shown(each)}\n" for each in PROGRAMS for number in range(len(INPUTS))]
    faults = []
    for text, told in zip(texts, run_bash(texts, tmp_path), strict=True):
        ours, _ = prints_of(text)
        for place, turns in told.items():
            patterns = [pattern(each.argv[2:]) for each in ours.get(place, [])]
            written = ["".join(f"\1{word}\2" for word in turn) for turn in turns]
            faults += [(text, each) for each in written if not any(own.fullmatch(each) for own in patterns)]
        assert ours and told, text
    assert not faults
