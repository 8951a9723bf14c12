"""What the evaluator knows of values, on small programs: each was once wrong or not known here.

Every program prints words with `show`; bash runs them too, and both have to print what stands beside the program.
`?` is a word that is not known here. The costs of long and of nested programs are measured at the end.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from counting import executed_lines
from sbatchlint.bash.interpreter.interpreter import ScriptInterpreter
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.bounds import MOST_NESTED
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.values import Expansion, Phase, Piece, Text, cut, literal, text_of
from sbatchlint.bash.variables import MOST_ALTERNATIVES, LayeredDict
from sbatchlint.source.text import Span
from test_drawn_programs import Alone

# Programs and the words that are shown, with the reason where it is not plain to see.
PROGRAMS: dict[str, str] = {
    # parameters
    'x=ab; show "${x: -3}" "${x:5}" "${x: -2:1}"': "||a",  # an offset before the beginning gives nothing
    'x=; show "${x-d}" "${x:-d}" ${x:+no} "${y-d}"': "|d|d",
    'show ${x:-a b} "${x:-a b}" ${x:-"a b"}': "a|b|a b|a b",  # the default is split like the parameter itself
    'show ${c="y z"} $c': "y|z|y|z",  # what is assigned is expanded anew, its quotes are gone
    'x=aXbXc; show "${x/X/}" "${x//X/-}" "${x/#a/_}" "${x/%c/_}" "${x/#/pre}"': "abXc|a-b-c|_XbXc|aXbX_|preaXbXc",
    'x=aab; show "${x#a*}" "${x##a*}" "${x%a*}" "${x%%a*}" "${x#"a*"}"': "ab||a||aab",  # quoted, `*` is a star
    "x='a*b'; y='*'; show \"${x#$y}\" \"${x#*\"$y\"}\"": "a*b|b",
    'x=hello; show "${x^}" "${x^^[a-l]}" "${x@Q}" "${x@U}"': "Hello|HELLo|'hello'|HELLO",
    "x=\"it's\"; show \"${x@Q}\"; x=$'a\\tb'; show \"${x@Q}\"": "'it'\\''s' $'a\\tb'".replace(" ", "|"),
    'p=x x=1 v=(a b) q="v[1]"; show "${!p}" "${!q}" "${!v[@]}"': "1|b|0|1",
    'x=a\\\\b; show "${x}" "${y-it\\\'s}"': "a\\b|it\\'s",  # the backslash stays, and the apostrophe hides no brace
    ': ${c:=$a}; show "${c-unset}"': "",
    # quotes and fields
    'set -- "a b" "" c; show "$@" "$*" $@ p"$@"s': "a b||c|a b  c|a|b|c|pa b||cs",
    # unquoted elements are joined by the first character of IFS, and split by it
    'v=("" "x y" "" b ""); IFS=,; show ${v[@]}; show ${v[*]}; set -- "${v[@]}"; show a$@b; show ${*#x}': (
        "|x y||b||x y||b|a|x y||b|b|| y||b"
    ),
    "v=('' 'x y' '' b ''); IFS=' ,'; show ${v[@]}; IFS=; show ${v[@]}; IFS=:; v=('' ''); show ${v[@]} e": (
        "x|y|b|x y|b||e"
    ),
    "shopt -s nocasematch; case AB in ab) show 1 ;; *) show 2 ;; esac; [[ AB == a* ]] && show 3; [ a = A ] || show 4": (
        "1|3|4"
    ),
    "shopt -s nocasematch; x=AB; show ${x#a}; shopt -u nocasematch; case $x in ab) show 1 ;; *) show 2 ;; esac": "AB|2",
    'set --; show "$@" "$*" $@ "$@""" "p$@s"': "||ps",  # `"$@"` alone is no word, `"$*"` is an empty one
    'v=(1 "2 3"); IFS=,; show "${v[*]}" ${v[*]} x"${v[@]}"': "1,2 3|1|2 3|x1|2 3",
    'IFS=,; x=,a,,b,; show $x': "|a||b",  # separators that are no blanks have empty fields between them
    "IFS=' ,'; x=' a , b,,c '; show $x": "a|b||c",
    'x=" a "; show p$x"q"$x': "p|a|q|a",
    'v=(1 2); x="${v[@]}"; y=${v[*]}; z="$*"; show "$x" "$y" "$z"': "1 2|1 2|",
    # brace expansion takes what stands between quotes in quoted backquotes for unquoted
    'show "`echo "{a,b}"`" .; show "z`echo "{1..3}"`" .; x="`echo "{a,b}"`"; show "$x"': "?|.|?|.|{a,b}",
    'show "`echo "\\`echo "{a,b}"\\`"`" .; show "`echo \'"{a,b}"\'`" .; show "${x:-"{a,b}"}" .': "?|.|?|.|?|.",
    'v=([1]="`echo "{a,b}"`"); show ${#v[@]}; v=("`echo "{a,b}"`"); show ${#v[@]}': "?|?",
    'export x="`echo "{a,b}"`"; show "$x"; set -- "`echo "{a,b}"`"; show $#': "?|?",
    'show "`echo \'{a,b}\' {c,d}`" "`echo \\"{a,b}\\"`" "$(echo "{a,b}")" `echo "{a,b}"`': (
        "{a,b} c d|{a,b}|{a,b}|{a,b}"
    ),
    'show "`echo "\'{a,b}\'"`" "`echo "{a}"`" {a,b}"`echo "c"`" "`echo "{"`,`echo "}"`"': "'{a,b}'|{a}|ac|bc|{,}",
    'x=1; show "${x}_`echo "$(echo "{a,b}"),..$x"`" "`echo "${x}"`,`echo "$x}"`"': "1_{a,b},..1|1,1}",
    "show {A..c} .; show {Z..a..2} {c..A..2}": "?|.|?|c|a|_|]|[|Y|W|U|S|Q|O|M|K|I|G|E|C|A",
    'declare s={x..x}; show "$s"; export s=a{1..1}; show "$s"; export s={a}; show "$s"; s={x..x}; show "$s"': (
        "?|?|{a}|{x..x}"
    ),
    # `export` after `X=1 f` gives the attributes of a local variable to the one that is hidden
    'f() { local -u u=abc; export u=p; }; u=q f; typeset u=abc; show "$u"; f; typeset u=abc; show "$u"': "?|?",
    'f() { local -i u=5; declare -x u=7; }; u=3 f; typeset u=1+1; show "$u"': "?",
    'f() { local -u u=abc; g; }; g() { export u=p; }; u=q f; typeset u=abc; show "$u"': "?",
    'f() { local -u u=abc; export u=p; }; f; typeset u=abcabc; show "$u"': "abcabc",
    # traps of a substitution that run on their own
    's=$(trap "echo t" EXIT; echo b); show "$s" $?; s=$( (trap "exit 4" 0) ); show "$s" $?': "?|?|?|?",
    's=$(trap "echo t" DEBUG; echo b); show "$s"; s=$(f() { trap "echo t" RETURN; }; f; echo b); show "$s"': "?|?",
    'trap "echo t" EXIT; s=$(echo b); show "$s"; s=$(trap "" EXIT; trap "echo t" USR1; echo b); show "$s"': "b|b",
    # arithmetic that fails whatever is not known: what follows in the line does not run
    'set -- a b; t=%s; for n in 1 2; do v=$((j |= (1 && t))); shift; done\nshow "$1"': "?",
    't=%s; ((j |= (1 && t))); show $?; v=3; ((v /= 0)); show $?; ((0 && (1 2))); show $?; ((1 / 0 * v)); show $?': (
        "1|1|1|1"
    ),
    # arithmetic that fails if a variable is not set leaves the variable that it is assigned to as it was
    'A=(1 2); A+=($((2 * $u1)) 4); show ${#A[@]} "${A[1]}"; A[$((2 * $u1))]=5; show ${#A[@]}': "?|?|?",
    's=a$(($u1 + 1)); show "${s+set}1" $((2 + u1))': "set1|?",
    # a variable whose name is not known, or that a name leads to
    'a=x; r=$u1; read -r "$r" <<< y; show $a; a=x; printf -v "$r" y; show $a; a=x; mapfile -t "$r" <<< q; show $a': (
        "?|?|?"
    ),
    "declare -a 'A=(pq)'; show \"${A[@]}\"; declare 'b=(pq)'; show $b": "?|(pq)",
    # `NAME=value` before a command sees those before it, and appends
    'a=o; a= b=$a eval "c=$a\\$a\\$b"; show "$c"; a=1 a+=2 eval "c=\\$a"; show $c; a+=2 eval "c=\\$a"; show $c $a': (
        "o|12|o2|o"
    ),
    'f() { show $a; a=9; }; a=0; a+=1 f; show $a': "01|0",
    # numbers of `${X:a:b}` are not read where X is not set, or does not reach so far
    'unset b j; : ${b: -2:j=1}; show "${j-u}"; b=a; : ${b: -2:j=2}; show "${j-u}"; : ${b:0:j=3}; show $j': "u|u|3",
    "show {+1..3} {-1..+1} {a..e..+2} {+01..2}": "1|2|3|-1|0|1|a|c|e|1|2",
    "show $'a\\0b'c $'\\cAb' \"${#x}\" $'\\x41\\101\\u0042'; show $'\\xc3\\xa9' $'\\377'": "ac|\1b|0|AAB|?|?",
    "printf -v x '\\303'; show \"$x\"; x=$(echo -e '\\xc3\\xa9'); show \"$x\"; x='\\377'; show \"${x@E}\"": "?|?|?",
    "printf -v x 'a\\0b'; show \"$x\"; x=$(printf -- -n; printf -n; echo a); show $x; printf -n; show $?": "?|-na|2",
    "declare -c n=xyz; show $n; n=ab; show $n": "?|?",
    'declare -A M=([x]=p); M+=([x]+=9); show "${M[x]}"; A=(a b); A+=([0]+=c); show "${A[@]}"': "?|?",
    "readonly R=1; unset R; show $? $R; set -e ''; show $# \"$1\"; set -u '' b; show $#": "1|1|1||2",
    "shopt -s failglob; A=q\nA=(*.none)\nshow $? .": "?|.",
    ": <none; show $?; { a=1; } <none; show $?; : </dev/null; show $?": "?|?|0",
    "shopt -s expand_aliases\nalias al='c=1; :'\nc=2\nal\nshow $c": "?",
    "shopt -s extglob\ncase a in @()a) show 1 ;; *) show 2 ;; esac; x=ab; show \"${x#@()a}\"": "1|b",
    "f@() { show f; }; f@": "f",
    'B=(${c=st}${?:-}); show "${B[*]}"': "st0",
    # `$'…'` in a quoted `${…}`, but not in a heredoc
    "show \"${a-$'t'}\" \"x${a:-$'t\\tq'}\" \"${a-'t'}\" \"${a-\"$'t'\"}\"; a=1; show \"${a/1/$'t'}\" \"${a#$'1'}\"": (
        "t|xt\tq|'t'|$'t'|t|"
    ),
    "read -r a <<E\n${z-$'t'} ${z-'t'}\nE\nshow \"$a\"": "$'t' 't'",
    # of a line that a backslash joins to the one before, `<<-` keeps the tabs
    "read -r -d '' a <<-E\n\ta\\\n\tb\n\t\tc\n\tE\nshow \"$a\"": "a\tb\nc",
    'set 10; unset "@"; show $? "${@: -1}"; unset 1a; show $?; declare ""; show $?; export 1a=5; show $?': "0|10|0|1|1",
    'read "@" <<< a; show $?; printf -v 1a b; show $?; n=3; printf -v n -x; show $? $n; printf -v n -- -x; show $n': (
        "?|2|2|3|-x"
    ),
    'A=(x y z); r=A; export "$r=v"; show "${A[@]}"; declare -A M=([k]=1); r=M; declare "$r=v"; show ${M[0]} ${#M[@]}': (
        "v|y|z|v|2"
    ),
    "declare -A M=([k]=1); b=k; [[ -v 'M[$b]' ]]; show $?; [[ -v M[$b] ]]; show $?": "?|0",
    "mapfile -t <<< 'a b'; show \"${MAPFILE[@]}\"; mapfile -tn1 A <<< $'x\\ny'; show \"${A[@]}\"": "a b|?",
    'A=5; A=("${A[@]:1:2}" x); show "${A[@]}"; A=5; B=("${A[@]:0:2}"); show ${#B[@]}': "x|1",
    'shopt -s nullglob; A=(*.none x); show "${A[@]}" .': "?|x|.",
    "a=f.b; ((n = u1 - a)); show $?; a=1; ((n = u1 - a)); show $?": "1|?",
    # all of a condition is tested, so that `set -e` does not count in it, nor in its substitutions
    "if ( set -e; c=$(false); true ); show $?; then :; fi; x=$(set -e; false; echo b) || :; show $x": "0|b",
    "set -e; if false; true; then show a; fi; while false; [ -z $n ]; do n=1; done; show b": "a|b",
    "x=3; x=1 $z true; show $x": "3",
    "show {a,b}{1..2} x{,y}z {01..03} {a..e..2} {a} '{a,b}' \\{a,b} {a,{b,c}}": (
        "a1|a2|b1|b2|xz|xyz|01|02|03|a|c|e|{a}|{a,b}|{a,b}|a|b|c"
    ),
    # arrays
    'v=(a b); v[5]=z; unset "v[0]"; show "${!v[@]}" "${#v[@]}" "${v[@]:2}" "${v[-1]}" "${v:-none}"': "1|5|2|z|z|none",
    'v=(x [3]=y z); v+=(q); show "${!v[@]}" "${v[3]}${v[5]}"': "0|3|4|5|yq",
    'declare -A m=([a]=1 ["b c"]=2); m[a]+=0; k="b c"; show "${m[a]}" "${m[$k]}" "${#m[@]}"': "10|2|2",
    'v=(a b c); show "${v[@]:1}" "${v[@]: -1}" "${v[@]%b}" "${v[@]/#/-}"': "b|c|c|a||c|-a|-b|-c",
    'declare -i n=2+3; n+=2; declare -u s=abc; declare -l t=ABC; show "$n" "$s" "$t"': "7|ABC|abc",
    "v=x; v[1]=y; v=z; show \"${v[@]}\"": "z|y",
    # arithmetic
    'x=08; show $((10#$x + 1)) $((2#101)) $((0x1f)) $((010)) $((1 << 62)) $((9223372036854775807 + 1))': (
        "9|5|31|8|4611686018427387904|-9223372036854775808"
    ),
    'n=1; a=n+1; show $((a * 2)) $((n++ + ++n)) $n $((0 && n++)) $n $((-7 / 2)) $((-7 % 3))': "4|4|3|0|3|-3|-1",
    'i=0; ((i -= 1 > --i)); show $i': "-1",  # what stands on the left is read before the right side runs
    'v=(1 2); ((v[1] += 5, v[2] = 9)); let "k = v[1] * 2"; show "${v[@]}" $k': "1|7|9|14",
    # conditions decide where the program goes
    'x="a b"; [[ $x == a* && -n $x ]] && show one; [[ $x == "a*" ]] || show two; [ ! -z "$x" ] && show three': (
        "one|two|three"
    ),
    '[[ ab =~ ^(a)(b)$ ]] && show "${BASH_REMATCH[@]}"; [[ a.b =~ "." ]] && show dot; [ 010 -eq 10 ] && show ten': (
        "ab|a|b|dot|ten"
    ),
    '[[ 010 -eq 8 ]] && show eight; [ a b ]; show $?; f() { return 3; }; f; show $?; ! f; show $?': "eight|2|3|0",
    'case ab in a) show 1;; a*) show 2;;& *b) show 3;& x) show 4;; *) show 5;; esac': "2|3|4",
    'false; case a in a) show $?;; esac; if false; then :; else show $?; fi': "1|1",  # neither sets it anew
    '[[ -v x ]] || show no; x=; [[ -v x ]] && show yes; v=(a); [[ -v v[1] ]] || show none': "no|yes|none",
    # loops and arguments
    'for i in a b c; do x+=$i; done; show $x $i': "abc|c",
    'for a in 1 2; do a=b; done; show $a': "b",
    'for ((i = 0; i < 3; i++)); do v+=($i); done; show "${v[@]}" $i': "0|1|2|3",
    'n=0; while true; do ((++n > 3)) && break; x+=$n; done; show $x $n': "123|4",
    'set -- -n 4 --k=v rest; while [[ $# -gt 0 ]]; do case $1 in -n) n=$2; shift 2;; --*=*) k=${1#*=}; shift;; '
    '*) r+=("$1"); shift;; esac; done; show $n $k "${r[@]}" $#': "4|v|rest|0",
    'while IFS=: read -r a b; do x+=$b$a; done <<< "1:2:3"; show "$x"': "2:31",
    'for i in 1 2 3; do [[ $i == 2 ]] && continue; x+=$i; done; show $x': "13",
    # a replay leaves out what the words of commands do not change, and gives up only what would take too long
    'for i in 1 2 3; do a $((n++)) ${d:=$i} "$(b $((m++)))"; x+=$i; done; show $n $d $x ${m-unset}': "3|1|123|unset",
    'for i in 1 2; do { echo "v+=$i"; echo "w=b"; } > f; . ./f; done; show $v $w': "12|b",
    'for i in {1..60}; do x+=$i; a; a; a; a; a; a; a; break; done; show $x': "1",
    'b=break; for i in {1..60}; do x+=$i; a; a; a; a; a; a; a; $b; done; show $x': "1",
    # functions, subshells, substitutions
    'f() { local a=$1 b; a+=x; b=1; c=$a; return 2; }; a=o; f i; show $? $a ${b-unset} $c': "2|o|unset|ix",
    'x=1; (x=2; exit 4); show $x $?; x=3 | true; show $x': "1|4|1",
    'f() { echo "<$1>"; }; show "$(f a; x=2; echo $x)" "$(printf "%s\\n" a b)" "$(echo a >&2)"': "<a>\n2|a\nb|",
    'b=; x="$(echo a; echo "$b")"; show "$x" "$(echo; echo "$b"; echo)"': "a|",  # all final newlines go
    'x=$(false); show $?; x=$(exit 3; true) || show $?; f() { ( return 4 ); show $?; }; f': "1|3|4",
    'f() { a=2; }; a=1 f; show ${a-unset}; a=1 eval "b=\\$a"; show $b ${a-unset}': "unset|1|unset",
    'echo "a b" | read x; show "${x-unset}"; echo "a b" | { read -r x y; show "$y"; }': "unset|b",
    'f() { unset x; }; x=1; f; show ${x-gone}; f() { local x=2; unset x; }; x=1; f; show $x': "gone|1",
    # what a declaration says is expanded before any of it is assigned
    'a=1; export a=2 b=$a; show $a "$b"; f() { local x=$1 y=$x; show "$x" "$y"; }; f 3': "2|1|3|",
    'declare a=1 v=(x $a y) b=$a; show "${v[@]}" "$b"; k=q; export "$k=3" r=$q; show "$r" $q': (
        "x|y|||3"
    ),
    'a=5; readonly a=6 b=$a; show $a $b; typeset -i n=1+1 m=n+1; show $n $m': "6|5|2|3",
    'n=${x:=4}; show $x $n; v=(a); v[1]=${v[0]:=b}${v[2]:=c}; show "${v[@]}"; y+=${y:=1}; show $y': "4|4|a|ac|c|11",
    'export n=${x:=4} m=$x; show $x $n $m; f() { local n=${z:=5}; }; f; show $z': "4|4|4|5",
    # references
    'n=3; declare -n r=n; r=2; r+=1; ((r++)); show $n $r ${!r} ${#r}; r2=$((r * 2)); show $r2': "22|22|n|2|44",
    'f() { local -n out=$1; out=(1 2); out+=("$2"); out[0]=x; }; f v a; show "${v[@]}" ${out-none}': "x|2|a|none",
    'f() { local -n o=$1 p=$2; read -r o <<< z; printf -v p %s- a; }; f a b; show $a $b': "z|a-",
    'declare -n r=n; show "${r:=4}" $n; unset r; show ${n-gone}; r=5; unset -n r; show $n ${r-none}': "4|4|gone|5|none",
    'a=1 b=2; declare -n r; for r in a b; do show $r; done; declare -n q=r; q=7; show $b $q': "?|7|7",
    'declare -A m=([a]=1); declare -n r=m; r[b]=2; show "${r[a]}" "${m[b]}"; export r2=m; show $r2': "1|2|m",
    # what is done to an element through a reference is not followed
    'v=(1 2 3); declare -n r=v[1]; r=x; show "${v[0]}" "$r"': "?|x",
    'v=(1 2 3); declare -n r=v[0]; read -r r <<< q; show "${v[0]}"': "?",
    'f() { local -n o=$1; o=7; }; v=(1 2 3); f v[1]; show "${v[1]}"': "?",
    'n=1; declare -n r=n; f() { local n=5; r=6; show $n; }; f; show $n; [[ -v r ]] && show set': "6|1|set",
    # backquotes in backquotes
    'x=`echo \\`echo a b\\` c`; show "$x"; y="`echo \\"\\`echo a  b\\`\\"`"; show "$y"': "a b c|a b",
    'a=3; x=`echo \\$a \\`echo \\\\\\`echo $a\\\\\\`\\``; show "$x"': "3 3",
    'show "$(< file)" x"$(< file)"': "?|?",  # what a file holds is not known
    # reading and printing
    'IFS=, read -r a b <<< "1,,2,"; read -r c d <<< " x  y z "; show "$a" "$b" "$c" "$d"': "1|,2,|x|y z",
    'read -r -a v <<< "a  b"; mapfile -t w <<< $\'1\\n2\'; show "${v[@]}" "${w[@]}"': "a|b|1|2",
    'read a b <<< "x\\ y z"; show "$a" "$b"': "x y|z",
    'printf -v x "%03d|%-3s|%x|%5.1s" 7 ab 255 xyz; show "$x"; printf -v x "%s," a b; show "$x"': (
        "007|ab |ff|    x".replace("|", "\0") + "|a,b,"
    ),
    "printf -v x '%q' \"it's a\"; printf -v y '%b' 'a\\tb'; show \"$x\" \"$y\"": "it\\'s\\ a|a\tb",
    'x=$(echo -e "a\\tb\\c" no); y=$(echo -n " a "); show "$x" "$y"': "a\tb| a ",
    "read -r -d '' x <<'E'\n $a\n b\nE\nshow \"$x\"": "$a\n b",
    'x=2; read -r -d "" y <<-E\n\t$((x * 2)) \\$x `echo z`\n\tE\nshow "$y"': "4 $x z",
    # what is not known
    'show "$(date)" $$ x"$RANDOM"': "?|?|?",
    'declare -A m=([a]=1 [b]=2); show "${m[@]}"': "?",  # their order is that of bash's table
}  # fmt: skip


def shown_here(program: str) -> str:
    state = State()
    state.positional = ()
    interpreter = ScriptInterpreter(Alone())
    interpreter.run(Text.of_file(program), parse(program), Phase.BATCH, state)
    words = []
    for command in interpreter.trace.invocations:
        if command.name == "show":
            assert command.alternatives == 1 and not command.context.conditional, command
            texts = [text_of(field) for field in command.argv[1:]]
            words += ["?" if text is None else text.replace("|", "\0") for text in texts]
    return "|".join(words)


def shown_by_bash(program: str, folder: Path) -> str:
    prelude = (
        "PATH=/nonexistent; show() { local IFS=' '; local each; for each; do printf '%s\\1' \"$each\" >&3; done; }\n"
    )
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", 'exec 3>&1 >/dev/null; text=$1; set --; eval "$text"', "bash",
         prelude + program],
        env={"LC_ALL": "C.UTF-8"}, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return "|".join(word.replace("|", "\0") for word in done.stdout.split("\x01")[:-1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_values(program: str, tmp_path: Path) -> None:
    expected = PROGRAMS[program]
    assert shown_here(program) == expected
    if "?" not in expected.split("|"):
        assert shown_by_bash(program, tmp_path) == expected


# Programs whose last `show` prints what is not known here, or one of several values.
OPEN = (
    # arithmetic that fails if a variable is not set leaves the variable that it is assigned to as it was
    'B=("$((k * $u1))" x); show "${B[*]+set}1"',
    's="x$((k * $u1))"; show "${s+set}1"',
    'declare t="x$((2 * $u1))"; show "${t+set}1"',
    'n="2 3"; declare -i n+=1\nshow ".$n"',
    # a variable whose name is not known, or to which a value leads
    'a=x; r=$u1; declare "$r=y"; show $a',
    'a=x; r=$u1; getopts x "$r" -x; show $a',
    'a=x; r=$u1; unset "$r"; show "${a-u}"',
    'a=x; r=$u1; wait -p "$r"; show $a',
    'b=x; wait -p b; show "${b-u}"',
    "exec {a}</dev/null; show $a",
    'a=x; eval "$u1=y"; show $a',
    'ab=x; eval "a${u1}=y"; show $ab',
    'eval "c=$u1; d=5"; show "$d"',
    'unset a b; r=a; : "${!r:=z}"; show "${a-u}"',
    'unset a; r=$u1; : "${!r:=z}"; show "${a-u}"',
    'r=\'A[1]\'; declare "$r=v"; show "${A[@]}"',
    'a=1; declare "a+=2"; show $a',
    "n=2; source <(echo '((n++))'); show $n",
    "unset n; n=; source <(echo '((n++))'); show $n",
    "shopt -s expand_aliases\nalias al='c=1; :'\nc=2\nal\nshow $c",
    # a local variable begins with the value that it hides
    "f() { local a; show $a; }; a=1; shopt -s localvar_inherit; f",
    "f() { local -I a; show $a; }; a=1; f",
    "f() { local -I a+=1; show $a; }; a=1; f",
    'f() { show "${a[@]}"; }; a=(1 2); a+=3 f',
    # assignments in numbers that the shell may not read
    'set -- a; : "${@:2:j=1}"; show $j',
    ": ${u1: -2:j=1}; show $j",
    'B=("$(((i = ${u1}) , (n = 9)))" x); show "${n-u}"',
    # a variable before a command that may be none
    "x=3; x=1 $u1; show $x",
    "declare -i 'A[1]=2+2'; A=(b c); show \"${A[1]}\"",
    "declare -A M=(); b=k; printf -v 'M[$b]' x; show \"${M[k]-u}\"",
    'mapfile -t MAPFILE <<< a; mapfile -t -O 1 <<< x; show "${MAPFILE[@]}"',
    # what could not be parsed may set what it names
    "a=1\n) a=2\nshow $a",
)


@pytest.mark.parametrize("program", OPEN)
def test_what_may_be_otherwise_is_not_known(program: str) -> None:
    interpreter = ScriptInterpreter(Alone())
    interpreter.run(Text.of_file(program), parse(program), Phase.BATCH)
    shown = [each for each in interpreter.trace.invocations if each.name == "show"]
    last = [each for each in shown if each.span == shown[-1].span]
    assert len(last) > 1 or any(text_of(field) is None for field in last[0].argv)


# Loops, and the words of each `show` that runs in an iteration.
LONG = "for b in {1..20}; do y=$y$b; for c in 1 2 3 4 5; do z=$z$c; w=$z; done; f() { return; }; f; done"
LOOPS = {
    "for n in 1 2 4; do [ $n -gt 2 ] && continue; show $n; done": "1 2",
    "for n in 1 2 4 5; do [ $n -gt 2 ] && break; show $n; done; show end$n": "1 2 end4",
    "for n in 1 2 4; do [ $n -gt 2 ] && exit; show $n; done; show end": "1 2",
    "for n in 1 2 4; do [ $n -gt 2 ] && exit 1; show $n; done; show end": "1 2",
    "f() { for n in 1 2 4; do [ $n -gt 2 ] && return; show $n; done; show in; }; f; show end": "1 2 end",
    "for n in 1 2 4; do if [ $n -le 2 ]; then show $n; fi; done": "1 2",
    "for n in 1 2 4; do if [[ $n == 1 ]]; then show a$n; elif (( n > 2 )); then show b$n; else show c$n; fi; done": (
        "a1 b4 c2"
    ),
    "for n in 1 2 4; do case $n in 1) show a$n ;; 2) continue ;; *) show b$n ;; esac; show $n; done": "a1 b4 1 4",
    "for n in 1 2 4; do (( n > 2 )) && { show big$n; continue; }; show $n; done": "big4 1 2",
    "for n in 1 2 4; do ! [ $n -gt 1 ] || [ $n -gt 2 ] && show $n; done": "1 4",
    "for n in 1 2 4; do x=big; if [ $n -le 2 ]; then x=small; fi; show $n-$x; done": "1-small 2-small 4-big",
    "for n in 1 2 4; do [ $n -le 2 ] && x=small || x=big; show $n-$x; done": "1-small 2-small 4-big",
    "for n in 1 2 4; do [[ $n == 2 ]] && x=1; show $n-${x:-0}; done": "1-0 2-1 4-1",
    "for n in 1 2 4; do [ $n -le 2 ] || { x=$n; continue; }; show $n; done; show x$x": "1 2 x4",
    "for a in 1 2 3; do for b in x y; do [ $a = 2 ] && continue 2; show $a$b; done; show $a; done": ("1x 1y 3x 3y 1 3"),
    "for a in 1 2; do for b in 1 2 3; do [ $b = 2 ] && continue 2; show $a$b; done; show end; done": "11 21",
    "for a in 1 2 3; do for b in 1 2; do [ $a = 2 ] && break 2; show $a$b; done; done; show $a": "11 12 2",
    "for a in 1 2; do for b in 1 2 3; do (( a == b )) && continue; show $a$b; done; done": "1? 2?",
    "for ((i = 1; i < 5; i++)); do (( i % 2 )) && continue; show $i; done": "2 4",
    "i=0; while (( i < 4 )); do (( ++i )); [ $i = 3 ] && continue; show $i; done": "?",
    "f() { [ $1 -gt 2 ] && return 1; return 0; }; for n in 1 2 4; do f $n || continue; show $n; done": "1 2",
    "for n in 1 2 4; do ( [ $n -gt 2 ] && exit; show $n ); done": "1 2",
    "for p in 1:a 2:b 4:c; do n=${p%%:*}; [ $n -gt 2 ] && continue; show $n-${p#*:}; done": "1-a 2-b",
    "for n in 1 2 4; do [ $n -gt 1 ] && [ -n $(date) ] && continue; show $n; done": "1 2 4",
    "for n in 1 2 3 4 5 6 7 8; do [ $n -gt 2 ] && continue; show $n; done": "?",
    "for n in 1 2 4; do x=$([ $n = 2 ] && echo b || echo c); show $n$x; done": "1c 2b 4c",
    "for n in 1 2 4; do x=$([[ $n != 2 ]] && echo b); show $n-$x; done": "1-b 2- 4-b",
    "for n in 1 2 4; do x=$(case $n in 1) echo a ;; *) echo b ;; esac); show $n$x; done": "1a 2b 4b",
    "for a in 1 2; do x=; for b in 1 2 3; do [ $a = $b ] && x=$b; done; show $a$x; done": "11 22",
    "for a in 3 1 2; do n=0; for b in 1 2 3; do [ $a = $b ] || n=$((n+1)); done; show $a$n; done": "1? 2? 3?",
    "m=0; for a in 1 2; do for b in 2 1; do [ $m = 2 ] && d=$([ $a = 2 ] && echo A); show $a$d; done; m=2; done": (
        "1 2A"
    ),
    # a loop that may be left, around one that is too long to be walked one by one
    f"for a in 1 2; do {LONG}; x=1; if [ -n $(date) ]; then x=2; break; fi; x=9; done; show $x": "2 9",
    f"for a in 1 2; do {LONG}; x=1; if [ -n $(date) ]; then x=2; continue; fi; x=9; done; show $x": "2 9",
    f"f() {{ {LONG}; x=1; if [ -n $(date) ]; then x=2; return; fi; x=9; }}; f; show $x": "2 9",
    # what a later iteration changes, and the first does not
    "n=1 m=a; while read e; do [ $n = 2 ] && m=b; n=2; show $m; done": "a b ?",
    "n=1; while read e; do case $n in 2) n=3 ;; 1) n=2 ;; esac; done; show $n": "1 2 3 ?",
}


@pytest.mark.parametrize("program", LOOPS)
def test_values_in_loops(program: str, tmp_path: Path) -> None:
    expected = LOOPS[program].split()
    interpreter = ScriptInterpreter(Alone())
    interpreter.run(Text.of_file(program), parse(program), Phase.BATCH)
    shows = [each for each in interpreter.trace.invocations if each.name == "show"]
    words = ["".join([piece.text or "?" for piece in each.argv[1]]) for each in shows]
    assert sorted(set(words)) == sorted(set(expected))
    if "?" not in LOOPS[program] and "$(date" not in program:
        assert sorted(set(shown_by_bash(program, tmp_path).split("|"))) == sorted(set(expected))


def test_read_removes_the_whitespace_beside_what_may_be_empty() -> None:
    for body, expected in (
        ("b $(date)", "b?"),
        ("$(date) b c", "?b c"),
        (" $(date) $(date)", "??"),
        ("b\\\\ $(date)c", "?"),
    ):
        raw = "" if "\\" in body else "-r"
        program = f"read {raw} -d '' y <<E\n{body}\nE\nshow \"$y\""
        interpreter = ScriptInterpreter(Alone())
        interpreter.run(Text.of_file(program), parse(program), Phase.BATCH)
        (shown,) = [each for each in interpreter.trace.invocations if each.name == "show"]
        assert "".join([piece.text or "?" for piece in shown.argv[1]]) == expected


# --- what it costs -------------------------------------------------------------------------------

PART = """
OPTIONS_{n}=(--nodes=2 "--ntasks=$TASKS")
if [ -n "$DEBUG" ]; then OPTIONS_{n}+=(--verbose); fi
for host in one two three; do list_{n}+="$host,"; done
case "$MODE" in a) extra=--a ;; *) extra="--b=${{MODE:-none}}" ;; esac
run_{n}() {{ local name=$1; srun "${{OPTIONS_{n}[@]}}" python train.py --name "$name" $extra "${{list_{n}%,}}"; }}
run_{n} "job-$((10#{n} + 1))"
export VALUE_{n}=$(echo "$list_{n}" | tr , ' ')
"""


def script(parts: int) -> str:
    return "#!/bin/bash\n" + "".join(PART.format(n=number) for number in range(parts))


def lines_of(text: str) -> int:
    """How many lines of code it takes to evaluate a script."""
    program = parse(text)

    def evaluate() -> None:
        interpreter = ScriptInterpreter(Alone())
        interpreter.run(Text.of_file(text), program, Phase.BATCH)
        assert not interpreter.limits.exhausted

    return executed_lines(evaluate)


def test_ten_times_the_script_costs_at_most_twelve_times_as_much() -> None:
    lines_of(script(2))
    assert lines_of(script(200)) <= 12 * lines_of(script(20))


def nested(depth: int) -> str:
    opening = "".join(f'if [ "$A{number}" = 1 ]; then X+=" --a{number}"\n' for number in range(depth))
    return f"X=start\n{opening}" + "fi\n" * depth + 'srun x $X "$X"\n'


def in_a_row(count: int) -> str:
    return "X=start\n" + "".join(
        f'if [ "$A{number}" = 1 ]; then X+=" --a{number}"; else X+=" --b{number}"; fi\n' for number in range(count)
    ) + 'srun x $X "$X"\n'  # fmt: skip


@pytest.mark.parametrize("program", [nested(MOST_NESTED), in_a_row(60)], ids=["nested", "in a row"])
def test_many_branches_that_append_to_one_variable(program: str) -> None:
    assert lines_of(program) < 100_000
    interpreter = ScriptInterpreter(Alone())
    interpreter.run(Text.of_file(program), parse(program), Phase.BATCH)
    commands = [each for each in interpreter.trace.invocations if each.name == "srun"]
    assert 1 <= len(commands) <= 2 * MOST_ALTERNATIVES
    # what all ways have in common stays known
    assert all((each.argv[-1][0].text or "").startswith("start") for each in commands)


def test_what_copies_of_variables_changed_is_found_whether_both_did_or_one() -> None:
    first: LayeredDict[object] = LayeredDict({"kept": object(), "gone": object(), "set": object()})
    first["own"] = object()
    second = first.copy()
    assert list(first.changes(second)) == []
    del second["gone"]
    second["set"] = object()
    first["new"] = object()
    assert sorted(first.changes(second)) == sorted(second.changes(first)) == ["gone", "new", "set"]
    del first["gone"]
    assert sorted(first.changes(second)) == ["new", "set"]


def test_a_change_is_seen_by_no_copy_made_before_or_after() -> None:
    first: LayeredDict[str] = LayeredDict({"shared": "1"})
    first["own"] = "1"
    second = first.copy()
    third = second.copy()
    first["own"] = "2"
    second["new"] = "2"
    del third["shared"]
    fourth = third.copy()
    third["own"] = "4"
    assert [dict(each.items()) for each in (first, second, third, fourth)] == [
        {"shared": "1", "own": "2"},
        {"shared": "1", "own": "1", "new": "2"},
        {"own": "4"},
        {"own": "1"},
    ]


def test_variables_among_some_names_are_those_that_are_there() -> None:
    first: LayeredDict[str] = LayeredDict({"shared": "1", "gone": "1", "other": "1"})
    second = first.copy()
    second["own"] = "2"
    second["shared"] = "2"
    del second["gone"]
    names = frozenset({"shared", "gone", "own", "never"})
    assert first.among(names) == [("gone", "1"), ("shared", "1")]
    assert second.among(names) == [("own", "2"), ("shared", "2")]


def test_files_of_one_copy_of_a_state_are_not_those_of_another() -> None:
    first = State()
    first.set_file("job.sh", ())
    second, child = first.copy(), first.child()
    second.set_file("other.sh", ())
    child.set_file("inner.sh", ())
    assert [list(each.files) for each in (first, second, child)] == [
        ["job.sh"], ["job.sh", "other.sh"], ["job.sh", "inner.sh"],
    ]  # fmt: skip


def test_parts_of_a_text_of_several_pieces_are_those_of_the_pieces() -> None:
    known = Expansion("NAME", Span(40, 45), Phase.BATCH)
    field = (
        literal("srun ", 0), Piece("$", 5, 7), literal("a", 7), Piece("value", 40, 45, known), Piece(None, 50, 55),
        literal(" python", 60),
    )  # fmt: skip
    text = Text(field)
    for start in range(len(text.string)):
        for end in range(start + 1, len(text.string) + 1):
            assert text.pieces(start, end) == cut(field, start, end)
            first, last = text.offset(start), text.pieces(start, end)[-1]
            known_place = last.text is not None and last.expansion is None
            after = text.offset(end - 1) + 1 if known_place else last.end
            assert text.span(start, end) == Span(first, after if after >= first else first + 1)
