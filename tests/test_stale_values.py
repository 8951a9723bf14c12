"""What a variable may not be said to hold any more: after an expression that is not known, after a reference that may
lead to it was written, and after a command that the shell gave up.

`S …` prints its words. Bash runs each program once for every value of `$u1`, which is not known here: each of its
prints has to be one of those that are thought possible, whether or not the evaluator doubts that anything ran as it
thinks.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sbatchlint.bash.values import text_of
from shell_programs import INPUTS
from test_drawn_programs import Turn, pattern, prints_of, run_bash, turns

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
    # what is sourced from no file
    "N=3; . <(echo N=2); S $N",
    'N=3 M=1; source <(printf "N[0]=%s; export M+=4" "$u3"); S $N $M',
    'N=3; source /dev/stdin <<< "N=$u1"; S "$N"',
    "N=3 M=2; . /dev/stdin <<< 'M=$N'; S $N $M",
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
    "C=1; D=2; declare -n R=C; declare -n R=D; R+=x; unset -n R; S $C $D",
    "C=1; D=2; for q in C D; do declare -n R=$q; R=n$q; done; unset -n R; S $C $D",
    'C=1; D=2; declare -n R=C; [ "$u1" ] && declare -n R=D; R=new; unset -n R; S $C $D',
    # words that are none beside `"$@"` in the same quotes, and those that stay
    'set --; x=; L=(); S "$@$x" o; S "$x$@" o; S "$@$u1" o; S "$@""$x" o; S "$@"$x o; S "$@$*" o; S "${L[@]}$x${@:1}"',
    'set --; x=; S "$@${x:-}" o; S "$@$(:)" o; S "${L[@]:1}$x" o; S "${L[@]-}" o; S "${@+x}$x" o; S "${!L[@]}$x" o',
    'set -- ""; x=; S "$@$x" o; S "$x$@$x" o; S "$@$u1" o; set -- $u1; S "$@$x" o; S "$x$@$u2" o',
    'L=(x \'y z\' w); M=(v u); S "${L[*]#?}${M[@]}"; S "${M[@]}${L[*]#?}"; S "${L[*]}${M[@]}"',
    'L=(x \'y z\' w); M=(v u); S "${L[*]^}p${M[@]}"; S "${L[*]}p${M[@]}"; S "p$@${L[*]/x/q}"',
    "IFS=; L=(x 'y z' w); S ${L[*]#?} o; S ${L[@]#?} o; S ${L[*]} o; S ${L[@]:1} o; S a${L[*]/x/q}b o",
    'L=(x "y z" w); : ${B=${L[@]}}; S "$B"; echo "p${C=${L[@]}}"; S "$C"; S p${D:=${L[*]}}q; S "$D"',
    # elements with subscripts and braces, and arrays that the environment may begin
    'L=([2]=n{1,2} {a} [0]=q); S "${L[@]}" ${!L[@]}; L=([1]={x,y} z); S "${L[@]}"; L=(a{1,2} [5]=q); S ${!L[@]}',
    'L=([1]={x,y} ${C=z} [n=3]=q $((N=5))); S "$C" $N $n; L=([$u3]=a ${D=z}); S "$D"; L=($u1 [2]=b ${B=z}); S "$B"',
    'unset M; f() { M+=(a b c); S ${#M[@]} "${M[@]:0:2}"; }; f; M+=(d); S ${#M[@]} "${M[@]:1:2}"',
    'V+=(a b); S ${#V[@]}; S "${V[@]:0:1}" "${V[1]}" "${V[-1]}"',
    # output of a shell that ends at a variable that is not set
    'set -u; unset N; C=$(echo a; echo $N; echo b); S "$C"; D=$(f() { echo $9; echo c; }; f 1); S "$D"',
    # empty matches
    "shopt -s extglob; C=AbB; S ${C//*(b)/-} ${C/*(b)/-} ${C/#*(z)/-} ${C/%*(z)/-} ${C//?(q)/-} ${C//+(b)/-}",
    'L=($u1 \'\' $u2); S "${L[@]}x"; L=(a $u1 $u2); S "${L[@]}x"; L=(a $u1 $u2); S ${L[*]}{1,2}',
)

ABANDONED = (
    # `return` where there is nothing to return from
    'C=$(return 2; echo r); S "$C"; D=$(return; echo "s $?"); S "$D"; ( return 3; S "$?" )\nS x',
    # errors at which bash gives up all of the command around them, and goes on with the next line
    'N=1\nif true; then : "${!V}"; N=2; fi\nS $N',
    'N=1\nfor i in 1 2; do : "${N:1:-2}"; N=2; done\nS $N',
    "A=x:y; N=1\nif true; then N=2; : $((A+1)); N=3; fi\nS $N",
    "A=x:y; N=1\nif true; then N=2; : ${N:A:1}; N=3; fi\nS $N",
    "readonly Q=1; N=1\nfor i in 1 2; do N=$i; Q=2; done\nS $N",
    'N=1; f() { N=2; : "${N:1:-3}"; N=3; }\nf; N=4\nS $N',
    'N=1; [ "$u1" ] && : "${N:1:-3}"; N=4\nS $N\nN=5; S $N',
    'N=1\nif true; then N=2; : "${N:1:-3}"; exit; fi\nS $N',
    "N=1; A=(1)\nwhile true; do A[-9]=1; N=2; break; done\nS $N",
    "N=1\nif true; then declare -i I=x:y; N=2; fi\nS $N",
    "N=1; A=(1)\nif true; then declare -A A=([x]=1); N=2; fi\nS $N",
    "N=1\nif true; then : ${1:=x}; N=2; fi\nS $N",
    "N=1\nif true; then : ${N!}; N=2; fi\nS $N",
    'N=1; f() { local N=5; : "${N:1:-3}"; }\nf; g() { N=4; }\nS $N',
    'N=1\nM=$(: "${N:1:-3}"; N=2)$N; ( : "${N:1:-3}"; N=2 )\nS $N $M',
)

# What an expansion makes of a variable that branches leave set or unset, as an array or a text, with attributes or not.
LEFT = (
    'unset L; [ "$u1" ] || unset L',
    'unset L; [ "$u1" ] && L=1',
    'L=1; [ "$u1" ] && unset L',
    'L=1; if [ "$u1" ]; then L=(a b c); fi',
    'L=a; [ "$u1" ] && declare -a L',
    'L=(1 2); [ "$u1" ] && unset L; L=y',
    'unset L; [ "$u1" ] && declare -A L=([k]=v)',
    'declare -a L; [ "$u1" ] && unset L',
    'declare -A L; [ "$u1" ] && L[k]=w',
    "unset L; case $u1 in a) L=x ;; b*) L=(x y) ;; esac",
    'unset L; [ "$u1" ] && export L',
    'unset L; [ "$u1" ] && readonly L=5',
    '[ "$u1" ] && declare -i L; L=2+3',
    'declare -u L=a; [ "$u1" ] && unset L; L=b',
    "unset L; for i in $u1; do unset L; done",
    'L=o; [ "$u1" ] && declare -n R=L; [ "$u1" ] && unset R',
    "L=(z $u1)",
    "L=($u1 z)",
)  # fmt: skip
EXPANDED = (
    'S "x ${!L[@]}"', 'S "${!L[@]}"', "S ${#L[@]}", 'S "${L[@]+d}"', 'S "${L[-1]-d}"', 'S "${L[@]:1}"',
    'S "${L[*]:0:1}"', 'S "${L[@]: -1}"', 'S "${L[@]@Q}"', 'S "${L@a}"', 'S "${L[@]@a}"', 'S "${L@A}"', 'S $L ${L[@]}',
    "[[ -v L ]] && S y", "[[ ! -v L ]] && S n", "[[ -v L[1] ]] && S y1", "set -u; S ${#L[@]}",
    'L[-1]=z; S "${L[@]}"', 'unset "L[-1]"; S "${#L[@]}" "${L[@]}"', "unset L[0]; S ${L-n} ${#L[@]}",
    'L+=(z); S "${L[@]}" "${!L[@]}"', 'L+=4; S "$L"', 'L=w; S "$L"', 'read -ra L <<< "r s"; S "${L[@]}"',
    'mapfile -t L <<< v; S "${L[@]}"', 'f() { local L; S "${L-n}"; }; f', 'M=("${!L[@]}"); S "${M[0]}"',
    'eval "n=(${L[@]})"; S "${#n[@]}"', 'for i in "${!L[@]}"; do S "$i"; done',
)  # fmt: skip
LOCAL = (
    'f() { [ "$u1" ] && local L=x; declare L; S "${L-n}"; }; L=o; f',
    'f() { [ "$u1" ] && local -a L; S "${L[@]:1}" "${L[-1]-d}"; }; L=o; f',
    'f() { [ "$u1" ] && local L; L[-1]=z; S "${L[@]}"; }; L=(o p); f',
    # the environment may set it
    '[ "$u1" ] && OPTX=1; S a; [[ ! -v OPTX ]] && S n',
)

# Arrays and arguments with elements that may be none or several, and how they are joined to text beside them.
COUNTED = (
    'L=($u1 "" "$*")', 'L=("" $u1)', 'L=($u1 "")', "L=($u1 $u2)", 'L=(" " $u1 "x ")', "L=(a $u1 b)", "L=($u1 '' $u2 z)",
    'L=("${u1[@]}" "")', 'L=(x); L+=($u1); L+=("")', 'L=(k "${@:9}" "" $u1)', "L=($u1 b); L[3]=w",
)  # fmt: skip
GLUED = (
    'S " ${L[@]}.txt"', 'S "p${L[@]}"', 'S "${L[@]} "', 'S " ${L[@]} "', 'S a"${L[@]}"b', "S a${L[@]}b",
    'S "a ${L[*]}b"', 'S " ${L[@]:1}."', 'S " ${L[@]:0:2}" c', 'S "x ${L[@]/#/-}y"', 'S " ${L[@]+${L[@]}}."',
    'S "${L[@]} ${L[@]}"', 'M=(" ${L[@]}."); S "${M[@]}" ${#M[@]}', 'M=(c " ${L[@]}" d); S "<${M[@]}>"',
    'M=("${L[@]}" "e"); S "${M[1]}"', 'for i in " ${L[@]}."; do S "$i"; done',
    'n=0; for i in "s ${L[@]}t"; do (( ++n )); done; S $n', 'set -- " ${L[@]}."; S "$#" "$1" "$2"',
    'set -- "${L[@]}"; S "o $@ p"', 'set -- "${L[@]}"; S " ${@:2} p" "$*"', 'f() { S " $@." "$#"; }; f " ${L[@]}x"',
    'f() { local M=("- $@"); S "${M[@]}"; }; f "${L[@]}"', "M=$(printf '[%s]' \" ${L[@]}.\"); S \"$M\"",
    'M=$(echo "q ${L[@]} r"); S "$M" $M', "printf -v M '<%s>' \" ${L[@]}.\"; S \"$M\"",
    'read -r M <<< " ${L[@]}."; S "$M"',
    'read -ra M <<< "${L[@]} v"; S "${M[@]}" ${#M[@]}', 'mapfile -t M <<< " ${L[@]}."; S "${M[@]}"',
    'M=" ${L[@]}."; S "$M" $M', 'case " ${L[@]}" in " ") S y ;; *) S n ;; esac',
    '[[ " ${L[@]} " == *" z "* ]] && S y',
    'eval "M=(\" ${L[@]}.\")"; S "${M[@]}"', 'eval "M=\'y ${L[@]}\'"; S "$M"', 'eval "M=(q ${L[@]} r)"; S "${M[@]}"',
)  # fmt: skip


def shown(program: str) -> str:
    """A program with `S …` as prints of places of their own."""
    places = iter(range(1000))
    return re.sub(
        r"\bS (\S[^;\n|&]*?)(?= \)$|[;\n|&]|\Z)",
        lambda found: f"printf '\\1%s\\2' @{next(places)} {found[1]} >&3",
        program,
        flags=re.MULTILINE,
    )


def unlike(text: str, told: dict[str, list[Turn]]) -> list[str]:
    """What bash prints and was not thought possible."""
    ours, _ = prints_of(text)
    found = []
    for place, every in told.items():
        patterns = [pattern(each.argv[2:]) for each in ours.get(place, [])]
        written = ["".join(f"\1{word}\2" for word in turn) for turn in every]
        found += [each for each in written if not any(own.fullmatch(each) for own in patterns)]
    return found


def test_what_may_have_changed_is_not_said_to_be_as_before(tmp_path: Path) -> None:
    expanded = [f"{each}\n" + "\n".join([f"( {own} )" for own in EXPANDED]) for each in LEFT]
    programs = (*PROGRAMS, *LOCAL, *expanded)
    texts = [f"# {number} 0 {number}\n{shown(each)}\n" for each in programs for number in range(len(INPUTS))]
    found = run_bash(texts, tmp_path)
    assert all(found)
    assert not [(text, fault) for text, told in zip(texts, found, strict=True) if (fault := unlike(text, told))]


def test_what_is_joined_to_an_unknown_number_of_words_is_not_known(tmp_path: Path) -> None:
    programs = [f"{each}\n" + "\n".join([f"( {own} )" for own in GLUED]) for each in COUNTED]
    pairs = ((0, 0), (0, 2), (2, 0), (5, 1))
    texts = [f"# {number} {other} 0\n{shown(each)}\n" for each in programs for number, other in pairs]
    found = run_bash(texts, tmp_path)
    assert all(found)
    assert not [(text, fault) for text, told in zip(texts, found, strict=True) if (fault := unlike(text, told))]


def test_what_a_line_changes_that_bash_gives_up_is_not_known(tmp_path: Path) -> None:
    script = tmp_path / "script"
    for program in ABANDONED:
        for value in ("", "a"):
            text = f"# 0 0 0\n{shown(program).replace('>&3', '')}\n"
            script.write_text(text)
            done = subprocess.run(["bash", str(script)], env={"u1": value}, capture_output=True, check=False)
            told = turns(done.stdout.decode())
            assert told and not unlike(text, told), (program, told)


def test_what_follows_an_error_in_its_line_may_not_run() -> None:
    ours, _ = prints_of(f"# 0 0 0\n{shown('N=1; f() { : ${N:1:-3}; S a; }')}\n{shown('f; S b')}\n")
    assert all(each.state.escaped for commands in ours.values() for each in commands)
    (last,) = prints_of(f"# 0 0 0\nN=1; : ${{N:1:-3}}\n{shown('S c')}\n")[0]["@0"]
    assert not last.state.escaped


# Which values two variables have together, and what a function makes of one that branches define in several ways.
TOGETHER = {
    'A=old; B=old; [ "$u1" = 1 ] && A=new && B=new; S $A $B': {"old old", "new new"},
    'A=old; B=old; [ "$u1" = 1 ] && { A=new; B=new; } || A=two; S $A $B': {"new new", "two old"},
    'A=old; B=old; if [ "$u1" = 1 ]; then A=new; B=new; elif [ "$u2" ]; then A=two; B=two; fi; S $A $B': {
        "old old", "new new", "two two"
    },
    'if [ "$u1" ]; then f() { N=2; }; else f() { N=3; }; fi; N=1; f; S $N': {"2", "3"},
    'f() { N=2; }; N=1; [ "$u1" ] && f() { N=3; }; f; S $N': {"2", "3"},
    'f() { N=1; }; N=1; [ "$u1" ] && f() { N=3; }; f; S $N': {"1", "3"},
    'f() { exit; }; N=1; [ "$u1" ] && f() { N=3; }; f; S $N': {"3"},
}  # fmt: skip


def test_values_that_hold_together(tmp_path: Path) -> None:
    for program, expected in TOGETHER.items():
        texts = [f"# {number} {number} 0\n{shown(program)}\n" for number in range(len(INPUTS))]
        found = run_bash(texts, tmp_path)
        assert not [fault for text, told in zip(texts, found, strict=True) if (fault := unlike(text, told))], program
        ours = prints_of(texts[0])[0]["@0"]
        assert {" ".join(text_of(field) or "" for field in each.argv[3:]) for each in ours} == expected, program


def test_of_calls_with_several_values_none_is_certain() -> None:
    program = 'f() { S p; }; N=1; for i in 1 2; do [ "$u1" ] && continue; N=2; done; f $N'
    calls = prints_of(f"# 0 0 0\n{shown(program)}\n")[0]["@0"]
    assert len(calls) > 1 and all(each.guards or each.context.conditional for each in calls)
    program = 'f() { S "$1"; }; B="${u1:+set}"; f "${u1,,}" $B'
    calls = prints_of(f"# 0 0 0\n{shown(program)}\n")[0]["@0"]
    assert len(calls) > 1 and all(each.context.conditional for each in calls)
