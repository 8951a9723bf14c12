"""What a variable holds is an expression wherever bash computes: each place × each kind of value, against bash.

bash evaluates the text again, so that it may assign, name another variable that is evaluated in turn, or be wrong.
"""

from __future__ import annotations

import re
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
    'c="$[x]:$[ $x * 2 ]"',
    "c=$[ 2 * $[ x + 1 ] ]",
    "c=$[ v[x] + $((x)) ]",
    "c=$(echo a$[x]b)",
    'c="$(echo "$[x]")"',
    "c=${gone:-$[x]}",
    "v[$[x]]=new",
    "for k in $[x] $[y]; do c+=$k; done",
    "c='$[x]'",
    "c=\\$[x]",
    "read -r c <<< $[x]",
    "read -r c << END\n$[x]\nEND\n",
    "read -r c << 'END'\n$[x]\nEND\n",
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
# Places in which a result is known although `x` is not, so that only an error tells what it is.
DECIDED = (
    "c=$(( 0 * x ))",
    "c=$(( y * (z % x) * 0 ))",
    "(( x || 1 )) && c=t || c=f",
    "(( x && 0 )) && c=t || c=f",
    "c=$(( x ? 2 : 2 ))",
    "c=$(( x, 5 ))",
    "c=$(( 1 || x ))",
    "(( c = 0 * x ))",
    "(( c *= y % x ))",
    "(( x * 0 )) || d=$?",
    "let x c=2",
    "let c=0*x d=3",
    "let 'c = x, 4' y=7",
    "[[ 0*x -eq 0 ]] && c=t || c=f",
    "[[ x -gt 1 || -n k ]] && c=t || c=f",
    "[[ ! x -gt 1 ]] && c=t || c=f",
    "[[ x -ge x ]] && c=t",
    "[[ -z '' && 5 -gt x ]] && c=t",
    "for ((x; i<2; i++)); do c+=k; done",
    "for ((y=0, x; y<2; y++)); do c+=k; done",
    "for ((y=x*0; y<2; y++)); do c+=k; done",
    "for ((i=0; i<2; i++, x)); do c+=k; done",
    "for ((i=0; i<2; i+=1+0*x)); do c+=k; done",
    "for ((i=0; i<2+0*x; i++)); do c+=k; done",
    "declare -i j=0*x; c=$j",
    "declare -i j=2; j+=0*x; c=$j",
    "declare -i j=2; j+=x; c=$j",
    'declare -i j=2 ; read -r j <<< "$x"; c=$j',
    'declare -i j; for j in "$x" 2; do c+=$j; done',
    'declare -i j; printf -v j %s "$x"; c=$j',
    "export -n j; declare -i j; export j=$x; c=$j",
    "c=${v[0*x]}",
    "c=${t:0*x:2}",
    "c=${t:0:2+0*x}",
    "v[0*x]=new",
    "v=([0*x]=new k)",
    "unset 'v[0*x]'",
    "while (( x*0 == 0 && i++<2 )); do c+=k; done",
    "while [[ x*0 -eq 0 && i -lt 2 ]]; do c+=k; (( ++i )); done",
    "if [[ x -gt 1 ]]; then c=t; else c=f; fi",
    "f() { return $(( 0 * x )); }; f; c=$?",
    "f() { c=1; (( x > 1 )); }; f && d=t || d=f",
    "f() { c=$(( 0 * x )); d=in; }; f; d+=out",
    "shift $(( 0 * x + 1 )); c=$1",
    ": $(( c = 5, x ))",
    "(( c = 5, x ))",
    "a=$(( 0*x )) : ; c=$a",
    "c=$(d=$(( 0 * x )); echo in); d=$?",
    "( c=$(( 0*x )); exit 3 ); d=$?",
    "eval 'c=$(( 0 * x )); d=in'; d+=out",
    "{ c=$(( 0*x )); d=in; } || d=or; d+=out",
    "for k in 1 2; do d=$k; c=$(( x * 0 )); c+=k; done",
    "case $(( 0*x )) in 0) c=t ;; *) c=o ;; esac",
    "c=${gone:-$(( 0*x ))}",
    "c=${t:+$(( 0*x ))}",
    "cat() { :; }; cat <<< $(( 0*x )) && c=t",
    'c="${v[@]:0*x:2}"',
    "c=${m[$(( 0*x ))]-no}",
    "c=$(( ${#v[x]} ))",
    "[ $(( 0*x )) = 0 ] && c=t || c=f",
    "printf -v c %d $(( 0*x ))",
    "if (( x )); then c=t; elif [[ x -eq 0 ]]; then c=z; fi",
    "! (( x )) && c=not",
    "(( !x )) && c=not",
    "(( x == x )) && c=same",
    "(( x - x )) || c=same",
    "((x^x)) || c=same",
    "((y = x)); c=$y",
    "c=$(( x & 0 ))",
    "c=$(( 0 / (x*0+1) ))",
    "c=$(( 1 ** (0*x) ))",
    "set -e; (( x )); c=t",
    "set -e; c=$(( 0*x )); d=t",
    "set -u; c=$(( 0*x + gone )); d=t",
    "set -u; (( x )); d=t",
    "local_() { local -i l=0*x; c=$l; }; local_",
    "v=(1 2); (( v[0*x] += 5 ))",
    "(( v[0*x]++, y++ ))",
    "m[k]=$(( 0*x ))",
    "readonly c=$(( 0*x ))",
    "export c=$(( 0*x )) d=$c",
    "declare -n r=c; (( r = 0*x ))",
    "select k in a b; do c=$(( 0*x )); break; done <<< $(( 0*x+1 ))",
    "mapfile -s $(( 0*x )) -t w <<< $'p\\nq'",
    "test $(( 0*x )) -eq 0 -o k && c=t",
    "until [[ x -lt 99 ]]; do c+=k; break; done",
    "trap 'd=$(( 0*x ))' EXIT; c=t",
    "c=`echo $(( 0*x ))`; d=t",
    "echo $(( 0*x )) | read c; d=t",
    "c=$(( 0*x ))$(( y++ ))",
    "c=$(( 0*x )) d=$(( y++ ))",
    "w=($(( 0*x )) k); c=t",
    "c={a,$(( 0*x ))}",
    "c=$(( $(echo x) * 0 ))",
    "[[ $(( 0*x )) == 0 ]] && c=t",
    "[[ -v v[0*x] ]] && c=t || c=f",
    "r='v[0*x]'; c=${!r}",
    "unset x; c=$(( 0*x ))",
)  # fmt: skip
INVALID = (
    "5 apples", "x=", "=", "08 + 1", "1 2 3", "64#@", "37#_", "a b=4", "y=3 4", "$", "`", "1;2", "y=", "y+=", "++",
    "y++ z", "3y", "-", "@", "é", "[1]", "v[", "v[0", "v[1]=", "10#", "0b1", "1_000", "y z", "2#", "65#1", "1#0",
    "7/0", "y%0", "(1", "1)", "?:", "1?2", "1?2:", "-y-", "x", "\\", "{1}",
)  # fmt: skip
# How `x` gets its value, after the numbers of the inputs.
WAYS = (
    ("0 0 0", "x=%s"),
    ("1 0 0", "x=3; [[ $u1 == a ]] && x=%s"),
    ("0 0 0", "x=3; [[ $u1 == a ]] && x=%s"),
    ("0 0 0", "x=%s; [[ $u1 == a ]] && x=2"),
    ("1 0 0", "if [[ $u1 == a ]]; then x=%s y=4; else x=0; fi"),
    ("2 0 0", "case $u1 in a) x=1 ;; *) x=%s ;; esac"),
    ("1 2 1", "x=%s; x=$u3"),
    ("1 2 5", "x=%s; x=$u3"),
)
# Where a place stands: what bash abandons differs. `SHOW` and `END`: prints.
AROUND = (
    "PLACE\nSHOW",
    "( PLACE\nSHOW\n)\nEND",
    "fun() { PLACE\nSHOW\n}\nfun\nEND",
    "for q in 1 2; do PLACE\nSHOW\ndone\nEND",
    "eval QUOTED\nSHOW",
    "fun() { PLACE\nSHOW\n}\n( fun\nEND\n)\nEND",
    "{ PLACE\nSHOW\n} && {\nEND\n}",
    "{ PLACE\nSHOW\n} | :\nEND",
)
SETTINGS = "declare -A m; set -- p q r; y=1 z=2 v=(2 1 0 k z) t=abcdefgh a=b b=y loop=pool pool=loop c= i=0"
SHOWN = '"${x-U}" "${y-U}" "${z-U}" "${c-U}" "${i-U}" "${j-U}" "${gone-U}" "${#v[@]}" "${v[@]}" . "${w[@]}" "${!v[@]}"'


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def enclosed(place: str, value: str, way: tuple[str, str], around: str) -> str:
    """A program with a place in which bash may find a value that is no expression."""
    inputs, setting = way
    numbers = iter(range(1, 9))
    texts = {"PLACE": place, "QUOTED": quoted(place), "SHOW": f'$? {SHOWN} "$d" >&3', "END": f'{SHOWN} "$d" >&3'}

    def text(match: re.Match[str]) -> str:
        shown = f"{PRINT}{next(numbers)} " if match[0] in ("SHOW", "END") else ""
        return shown + texts[match[0]]

    return "\n".join(
        [f"# {inputs}", SETTINGS, setting % quoted(value), re.sub("PLACE|QUOTED|SHOW|END", text, around), ""]
    )


def program(place: str, value: str, apart: bool) -> str:
    """`apart`: the place stands in a subshell, so that an error ends nothing else."""
    shown = f"{PRINT}1 $? {SHOWN} >&3"
    lines = [SETTINGS, f"x={quoted(value)}", f"{place}"]
    inside = f"( {place}\n{shown}\n)\n{PRINT}2 {SHOWN} >&3" if apart else f"{place}\n{shown}"
    return "\n".join(["# 0 0 0", *lines[:2], inside, ""])


@pytest.mark.parametrize("step", [13, pytest.param(1 if ALL else 3, marks=pytest.mark.slow)])
def test_values_are_expressions(tmp_path: Path, step: int) -> None:
    texts = [program(place, value, apart) for place in PLACES for value in VALUES for apart in (False, True)]
    faults, sums = compare(texts[::step], tmp_path)
    faults.sort()
    assert not faults, f"{len(faults)} wrong\n" + "\n\n".join([f"--- {fault}\n{text}" for fault, text in faults[:5]])
    assert sums.words / sums.printed > 0.5


@pytest.mark.parametrize("each", [1, pytest.param(40 if ALL else 8, marks=pytest.mark.slow)])
def test_what_may_be_no_expression_leaves_what_follows_open(tmp_path: Path, each: int) -> None:
    """Each place with so many of the values, ways and surroundings, each of which meets all the others."""
    places, values = DECIDED + PLACES, VALUES + INVALID
    texts = [
        enclosed(place, values[mixed % len(values)], WAYS[mixed // 5 % len(WAYS)], AROUND[mixed // 3 % len(AROUND)])
        for number, place in enumerate(places)
        for mixed in range(number * 31, number * 31 + 37 * each, 37)
    ]
    faults, sums = compare(texts, tmp_path)
    faults.sort()
    assert not faults, f"{len(faults)} wrong\n" + "\n\n".join([f"--- {fault}\n{text}" for fault, text in faults[:5]])
    assert sums.words / sums.printed > 0.1
