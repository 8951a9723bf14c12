"""What a variable holds is an expression wherever bash computes: each place × each kind of value, against bash.

bash evaluates the text again, so that it may assign, name another variable that is evaluated in turn, or be wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ALL
from shell_programs import PRINT
from test_drawn_programs import compare

# `x` holds the value.
PLACES = (
    "(( x > 1 ))",
    "(( x )) && y=t || y=f",
    "c=$(( x + 1 ))",
    "c=$(( $x + 1 ))",
    "c=$(( y ? x : 4 ))",
    "c=$(( 0 && x ))",
    "c=$(( x++ ))",
    "c=$(( c = x, y ))",
    "c=$[ x + 1 ]",
    "[[ x -gt 1 ]]",
    "[[ $x -eq 3 ]] && y=t || y=f",
    "[[ -n $c || x -eq 3 ]]",
    '[ "$x" -gt 1 ]',
    'test "$x" -eq 3 && y=t || y=f',
    "let x",
    "let c=x y+=1",
    'let "c = x" && y=t',
    "c=${v[x]}",
    'c="${v[$x]}"',
    "c=${v[x+1]-none}",
    "c=${#v[x]}",
    "v[x]=new",
    "v[x]+=more",
    "v=([x]=new)",
    "declare -a w=([x]=new k)",
    "unset 'v[x]'",
    "read -r 'v[x]' <<< new",
    "printf -v 'v[x]' new",
    "[[ -v v[x] ]] && c=t || c=f",
    "r='v[x]'; c=${!r}",
    "c=${t:x:2}",
    "c=${t:$x}",
    "c=${t:0:x}",
    'c="${v[*]:x:1}"',
    'c="${*:x:1}"',
    "for (( i = x; i < 4; i++ )); do c+=$i; done",
    "for (( i = 0; i < x && i < 4; i++ )); do c+=$i; done",
    "declare -i j=x; c=$j",
    "declare -i j; j=$x; c=$j",
    "declare -i j=1; j+=$x; c=$j",
    "f() { local -i j=$x; c=$j; }; f",
    "declare -ai w=(x 2); c=${w[0]}",
    "while (( x < 3 && i++ < 2 )); do c+=k; done",
    "until (( x > 0 )) || (( i++ > 2 )); do c+=k; done",
    "if (( x == 3 )); then c=t; else c=f; fi",
    "case $(( x )) in 3) c=t ;; *) c=o ;; esac",
    "printf -v c %d \"$x\"",
    "printf -v c '%03d' \"$x\"",
    "c=$(( 10#$x ))",
    "c=$(( ${x} * 2 ))",
    "c=$(( v[x] + 1 ))",
    "(( v[x]++ ))",
    "(( v[x] += 2 ))",
    "(( v[x] = y++ ))",
    "(( v[v[x]] -= 1 ))",
    "for (( i = 0; i < 2 && z++ < 4; i += x )); do c+=$i; done",
    "v=(k [x]=new [x+1]=newer l)",
    "v+=([x]=new)",
    "(( c = x )); d=$?",
    "c=$(echo $(( x )))",
    "m[$x]=q; c=${m[$x]}",
)  # fmt: skip
VALUES = (
    "3", "-1", "", " ", "010", "08", "0x1F", "0x", "2#11", "9#9", "1.5", "1e3", "99999999999999999999", "1 2", "'3'",
    '"3"', "b c", "x.y", "1+", "y ==", "(", ")", "a[", "#", "$y", "a", "t", "loop", "gone", "gone=4", "x=2", "y=3",
    "y=z=6", "z++", "--y", "y--1", "v[0]=5", "v[1]", "v[z=1]", "v[08]", "2+2", "y,z", "y?7:8", "!y", "~0", "1/0",
    "2**-1",
)  # fmt: skip
SETTINGS = "declare -A m; set -- p q r; y=1 z=2 v=(2 1 0 k z) t=abcdefgh a=b b=y loop=pool pool=loop c= i=0"
SHOWN = '"${x-U}" "${y-U}" "${z-U}" "${c-U}" "${i-U}" "${j-U}" "${gone-U}" "${#v[@]}" "${v[@]}" . "${w[@]}" "${!v[@]}"'


def program(place: str, value: str, apart: bool) -> str:
    """`apart`: the place stands in a subshell, so that an error ends nothing else."""
    shown = f"{PRINT}1 $? {SHOWN} >&3"
    quoted = "'" + value.replace("'", "'\\''") + "'"
    lines = [SETTINGS, f"x={quoted}", f"{place}"]
    inside = f"( {place}\n{shown}\n)\n{PRINT}2 {SHOWN} >&3" if apart else f"{place}\n{shown}"
    return "\n".join(["# 0 0 0", *lines[:2], inside, ""])


@pytest.mark.parametrize("step", [13, pytest.param(1 if ALL else 3, marks=pytest.mark.slow)])
def test_values_are_expressions(tmp_path: Path, step: int) -> None:
    texts = [program(place, value, apart) for place in PLACES for value in VALUES for apart in (False, True)]
    faults, sums = compare(texts[::step], tmp_path)
    faults.sort()
    assert not faults, f"{len(faults)} wrong\n" + "\n\n".join([f"--- {fault}\n{text}" for fault, text in faults[:5]])
    assert sums.words / sums.printed > 0.5
