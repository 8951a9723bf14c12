"""Programs whose values may be unknown here, but must not be wrong, in a folder with files: see test_drawn_programs.

`show` prints its words. Each program stands for a kind of what bash does and what was told wrong once, or for what must
stay known beside it. `KNOWN`: the same where all words have to be known.
"""

from __future__ import annotations

import re
from pathlib import Path

from test_drawn_programs import judge, run_bash

FILES = ("a.txt", "b.txt", ".hidden")

JUDGED = r"""
## kinds of arrays that bash does not make of each other
v=(1 2); declare -A v; v[k]=x; show "${v[@]}" "${v[0]}"
v=(1 2); declare -A v=([k]=x); show "${v[@]}"
f() { local v=(1 2); declare -A v=([a]=b); show "${v[@]}"; }; f
declare -A m=([a]=1); declare -a m=(x y); show "${m[a]}" "${#m[@]}"
v=(1 2); f() { declare -gA v; v[k]=x; show "${v[0]}" "${#v[@]}"; }; f; show "${v[@]}"
set -e; v=(1); declare -A v; show "${v[@]}"
v=(1); if [ "$u1" = q ]; then v=; unset v; fi; declare -A v; v[k]=x; show "${v[k]}"
if [ "$u1" = q ]; then declare -A v; fi; v[k]=x; show "${v[k]}" "${!v[@]}"
if [ "$u1" = q ]; then declare -A v; fi; declare -a v; v[k]=x; show "${v[k]}" "${!v[@]}"
if [ "$u1" = q ]; then declare -A v=([a]=1); fi; v[b]=1; show "${v[0]}" "${v[a]}" "${#v[@]}"
if [ "$u1" = q ]; then declare -A v=([a]=1); else v=(x y); fi; show "${v[1]}" "${v[a]}"
for i in 1 2; do v[$i]=x; declare -A v; v[k]=1; done; show "${#v[@]}"
declare -A m=([a]=1); read -a m <<< "1 2"; show "${#m[@]}" "${m[0]-none}" "${m[a]}"
declare -A m=([a]=1); mapfile -t m <<< "1"; show "${#m[@]}" "${m[0]-none}" "${m[a]}"
declare -A m=([a]=1); for m in x y; do show "$m" "${m[0]}"; done; show "$m" "${#m[@]}"
declare -i n=3; for n in 1+1 2; do show $n; done
declare -u x; for x in a b; do show $x; done; show $x
## what a local variable hides
f() { local x=1; g; show $x; }; g() { unset x; show ${x-none}; x=5; show $x; }; x=0; f; show $x
f() { local x=1; g; show ${x-none}; }; g() { h; show ${x-none}; }; h() { unset x; show ${x-none}; }; x=0; f; show $x
f() { local x=1; g; }; g() { local x=2; h; show $x; }; h() { unset x; show $x; unset x; show $x; unset x; }; x=0; f
f() { local x=1; g; show $x; }; g() { unset -v x; export x=4; }; x=0; f; show $x
f() { local -a v=(1 2); g; show "${v[@]}"; }; g() { unset v; v=q; }; v=(9); f; show "${v[@]}"
f() { local -n r=$1; unset r; }; g() { local x=1; f x; show $x; }; x=0; g; show $x
f() { local x=1; [ "$u1" ] && g; show $x; }; g() { unset x; }; x=0; f; show $x
f() { local x=1; if [ "$u1" = q ]; then g; fi; show $x; }; g() { unset x; x=9; }; x=0; f; show $x
x=0; f() { export x=2; }; x=1 f; show $x; g() { readonly y; }; y=1 g; show ${y-none}
h() { z=2; }; z=1 h; show ${z-none}
x=0; f() { x=1 g; show $x; }; g() { unset x; show $x; x=3; }; f; show $x
f() { local x=1; g; g; show ${x-none}; }; g() { unset x; }; x=0; f; show ${x-none}
shopt -s localvar_inherit; x=0; f() { local x; show ${x-none}; x=4; }; f; show $x
x=0; f() { local -I x; show ${x-none}; x=4; }; f; show $x
f() { local x=1; declare -g x=2; show $x; }; f; show $x
f() { local x=1; g; }; g() { declare -g x=5; show $x; }; x=0; f; show $x
## loops that are left, around some that are too long to be walked one by one
for a in 1 2 3; do for b in {1..20}; do y=$y$b; LONG; done; x=1; [ "$u1" = q ] || { x=2; break; }; x=9; done; show $x
for a in 1 2 3; do for b in {1..20}; do y=$y$b; LONG; done; x=1; [ "$u1" = q ] || { x=2; continue; }; done; show $x
f() { for a in {1..20}; do y=$y$a; LONG; done; x=1; [ "$u1" = q ] || { x=2; return; }; x=9; }; f; show $x
@a 1 2@b 1 2@c 1 2@d 1 2@e 1 2@f 1 2@h 1 2; do x=$a$h; [ "$u1" = q ] || break 3; y=$x@@@@; show $x "$y"@@@; show $x
@a $u1 2@b $u1 2@c 2@d $u1 2@e $u1 2@f $u1 2; do x=$f@; y=$x$e@@@@@; show "$x" "$y"
@a 1 2@b 1 2@c 1 2@d 1 2@e 1 2@f 1 2; do (( n++ ))@@@; x=$a$b@@@; show $x $n
## select
select x in a b c; do show "$x" "$REPLY"; break; done <<< 9
select x in a b c; do case $x in a) show 1;; b) show 2;; esac; break; done <<< 2; show "$x"
select x in a; do show "$x"; done <<< $'1\n1'; show "${x-none}"
set -- p q; select x; do show "$x"; break; done <<< 2; show end
select x in a b; do y=1; done < /dev/null; show "${y-none}" "${x-none}"
f() { select n in 1 2; do return; done <<< 2; }; f; show $n
select x in 4 8; do [ $x -gt 4 ] && exit; break; done <<< 2; show $x
for i in 1 2; do select x in a b; do break; done; show $i "$x"; done <<< $'2\n1'
## files
show *.txt; show *.zip; show "$u1"*.txt; show '*.txt' \*.txt "$u1*.txt"
set -- *.txt; show $# "$1"; shift; show "$#" "$1"
x=*.txt; show "$x"; show $x; v=($x); show ${#v[@]}; set -- $x; show "$1"
x=*.txt; for f in $x; do show "$f"; done; for f in "$x"; do show "$f"; done; for f in *.txt; do show "$f"; done
f() { show "$1" $#; }; f *.txt; f '*.txt'; g() { show $1; }; g '*.txt'
x=$(echo *.txt); show "$x"; x=`echo *.zip`; show "$x"; x=$(printf '%s,' *.txt); show "$x"
printf -v x '%s,' *.txt; show "$x"; printf -v x '*.txt'; show "$x"
[ *.txt = a ]; show $?; [ *.txt = '*.txt' ] && show same || show other; [[ *.txt == '*.txt' ]] && show same
case *.txt in a*) show a;; \**) show star;; esac; read -r x <<< *.txt; show "$x"
echo *.txt | { read a b; show "$a"; }; mapfile -t v < <(echo *.txt); show "${v[0]}"
set -o noglob; show *.txt; set +o noglob; show *.txt; x='a b*'; show $x
show ${x:-*.txt}; x=1; show ${x:+*.txt}; show "${y:-*.txt}"; y=${y:-*.txt}; show "$y"
show a.tx[t] b.tx? [a].txt; x=[a].txt; show $x; GLOBIGNORE=a*; show *.txt
x=(a [5]=*.txt); show "${x[5]}"; v=(*.txt); show ${#v[@]} "${v[0]}"; v=('*.txt' q); show "${v[@]}"; show ${v[@]}
show x[1] x1; x=(5 6); unset x[1]; show "${x[@]}"
## elements of which it is not known how many there are
v=("$@" "$@" x); show "${v[*]}"; v=(x $u1 y); show "${v[*]}"
v=(); for e in $u1 *; do v+=($e); done; show "${v[*]}" "-${v[*]}-"
## options of the shell
shopt -s nullglob; show *.zip x; show a*.txt; show 'a'*z "b"?q e; x=*.zip; show $x end; show "$x"
shopt -s nullglob; set -- *.zip; show $#; v=(*.zip); show ${#v[@]}; f() { show $#; }; f *.zip a
shopt -s nullglob; x=$(echo *.zip y); show "$x"
shopt -s nullglob; v=(x y); unset v[0]; show "${v[@]}"; a=k; show $a*.zip e; show *.zip{1,2} e
shopt -s nullglob; read x[0] <<< 5; show "${x[0]-none}" "$REPLY"
shopt -s nullglob; if [ "$u1" = q ]; then shopt -u nullglob; fi; show *.zip e
(shopt -s nullglob; show *.zip e); show *.zip e; f() { shopt -s nullglob; }; f; show *.zip e
shopt -s failglob; show *.zip; show end
shopt -s failglob¶for f in *.zip; do show $f; done¶show end
shopt -s failglob¶v=(*.zip)¶show "${v[@]}" end
shopt -s failglob; f() { show *.zip; show in; }; f; show end
v=(*.txt); show "${v[@]@Q}" end
v=(*.txt); show "${v[@]^^}" end
set -- *.txt; show "${@^}" "${@/t/x}" end
v=(*t); show "${v[@]/t/x}" end
v=(?."t"*); show "${v[@]%t*}" "${v[@]#?.t}" end
shopt -s nullglob; v=(*.zip); show "${v[@]/z/y}" "${v[@]@U}" end
v=(''); show "${v[@]:+x}" "${v[@]+y}" end; v=(); show "${v[@]:+x}" "${v[@]+y}" end
set -- ''; show "${@:+x}" "p${@:+x}s" end; set --; show "${@:+x}" "p${@:+x}s" end
v=(*.txt); set -f; show "${v[@]}" *.txt; set +f; show "${v[@]}"
set -f -- *.txt; show "$@" *.txt; set +f; show "$@"
x='*.txt'; set -f; v=($x); set +f; show "${v[@]}"; show ${v[@]}
set -u; b=1; show {a,$b}x; show never
set -u; b=1; show ${b}{a,c} "$b"{a,c}; show $b{a,c}; show never
set -u; show "${BASH_REMATCH[1]}"; show never
set -u; [[ ab =~ a(x?)b ]]; show "${BASH_REMATCH[1]}" ; show "${BASH_REMATCH[2]}"; show never
set -e; declare -A m=([k]=1); if [ "$u1" = q ]; then a=k; else a=; fi; show "${m[$a]}"; show never
shopt -s extglob¶show @(a|b).txt¶show +(q)¶v=(+(a|b).txt)¶show ${#v[@]}
shopt -s extglob¶x='@(a|b).txt'¶show $x¶x=$(echo @(a|b).txt)¶show "$x"
shopt -s xpg_echo; x=$(echo 'a\tb'); show "$x"
shopt -s expand_aliases¶alias s='x=5'¶s¶show ${x-none}
alias s='x=5'; shopt -s expand_aliases¶s¶show ${x-none}
enable -n echo; x=$(echo a); show "$x"
set -o posix; x=1; x=2 :; show $x
set -n; show a
shopt -so nounset; show ${nn-d}; show $nn; show end
## what the commands of a trap change
x=0; trap x=1 USR1; kill -USR1 $BASHPID; show $x; if [ $x = 1 ]; then show taken; fi
x=0; h() { x=1; }; trap h USR1; kill -USR1 $BASHPID; show $x; [ $x = 1 ] && show taken
x=0; trap h USR1; h() { x=1; }; kill -USR1 $BASHPID; show $x; [ $x = 1 ] && show taken
x=0; trap x=1 ERR; false; show $x; trap - ERR; x=2; false; show $x
x=0; trap x=1 ERR; for i in 1 2; do show $x; x=$i; false; done; show $x; for x in a b; do show $x; false; done
x=0; f() { trap x=5 ERR; }; f; false; show $x; c=x=7; trap "$c" ERR; false; show $x; trap "x=$u1" ERR; false; show $x
x=0; trap 'x=$((x+1))' DEBUG; true; trap - DEBUG; show $x; set -T; trap x=r RETURN; f() { :; }; f; show $x
trap 'read x <<< 9; v+=(b)' ERR; v=(a); x=1; false; show $x ${#v[@]} "${v[@]}"; printf -v x %d 3; false; show $x
x=1; trap 'unset x' ERR; false; show ${x-none}; x=2; false; show ${x-none}; trap x=4 ERR; unset x; false; show ${x-none}
trap 'exit 3' ERR; show a; false; show never
f() { trap 'return 1' ERR; false; show never; }; f; show $?
for i in 1 2; do trap break ERR; false; show never; done; show $i
## what a substitution captures
x=$( { echo a >&2; echo b; } 2>&1 ); show "$x"; x=$(echo a >&2 2>&1); show "$x"; x=$(echo a 2>&1 >&2); show "$x"
f() { echo a >&2; echo b; }; x=$(f 2>&1 >/dev/null); show "$x"; x=$(f 2>/dev/null); show "$x"; x=$(f 2>&1); show "$x"
x=$(exec 2>&1; echo a >&2); show "$x"; x=$(exec >/dev/null; echo a); show "$x"; x=$(exec 4</dev/null; echo a); show "$x"
x=$(exec 3>&1; echo a >&3; echo b); show "$x"; x=$( { echo a >&3; echo b; } 3>&1 ); show "$x"
x=$(echo a >/dev/stdout); show "$x"; x=$(echo a >/dev/fd/1); show "$x"
x=$(for i in 1 2; do echo $i >&2; done 2>&1); show "$x"
x=$( { { echo a >&2; } | true; echo b; } 2>&1 ); show "$x"
x=$( { y=$(echo a >&2; echo c); echo b; } 2>&1 ); show "$x" "$y"
x=$(n=1; echo a >&$n; echo b); show "$x"; x=$( { echo a >&2 & wait; echo b; } 2>&1 ); show "$x"
x=$(echo a &>/dev/null; echo b &>>/dev/null; echo c >&/dev/null); show "$x"; x=$(eval 'echo a >&2' 2>&1); show "$x"
x=$(for i in $u1 a b; do echo $i; done); show "$x"; x=$(while read -r l; do echo "<$l>"; done <<< "$u1"); show "$x"
false | true; show "${PIPESTATUS[0]}" "${PIPESTATUS[1]}"; true | false; v=("${PIPESTATUS[@]}"); show "${v[1]}" ${#v[@]}
false | true; if [ ${PIPESTATUS[0]} -ne 0 ]; then show failed; fi; f() { show "${FUNCNAME[@]}" "${#FUNCNAME[@]}"; }; f
## what a regular expression found
for d in a1 b2 c33; do [[ $d =~ ^[a-z]([0-9])$ ]] || continue; show ${BASH_REMATCH[1]}; done; show "${BASH_REMATCH[0]}"
for d in x:2 x:4; do [[ $d =~ :([0-9]+)$ ]] && n=${BASH_REMATCH[1]}; show -$n "${#BASH_REMATCH[@]}"; done
for d in a1 b; do if [[ $d =~ ([0-9]) ]]; then x=${BASH_REMATCH[1]}; else x=0; fi; show $x; done; show $x
for d in a1 $u1 c3; do [[ $d =~ ([0-9]) ]]; show "${BASH_REMATCH[1]}"; done; show "${BASH_REMATCH[1]}"
case $u1 in a) d=a1 ;; *) d=b2 ;; esac; [[ $d =~ ([0-9]) ]]; show "${BASH_REMATCH[1]}" "$d"
i=1; while [[ a$i =~ ([0-2])$ ]]; do show ${BASH_REMATCH[1]}; i=$((i + 1)); done; show "${BASH_REMATCH[1]-none}"
## references that are made anew
a=1 b=2; declare -n r=a; declare -n r=b; r=5; show $a $b; f() { local -n q=a; local -n q=b; q=7; }; f; show $a $b
x=(1 2); y=(3 4); for n in x y; do declare -n r=$n; show "${r[1]}" "${#r[@]}"; unset -n r; done
x=1 y=2; for n in x y; do declare -n r=$n; show "$r"; r=9; done; show $x $y
x=1 y=2; f() { local -n r=$1; r=8$r; show "$r"; }; for n in x y; do f $n; done; show $x $y
a=1; declare -n b=a; declare -n c=b; declare -n d=c; show "${!d}" "$d"; d=4; show $a
x=1 y=2; declare -n r; for r in x y; do show $r; done
x=(1 2); y=(3 4); for n in x y; do declare -n r=$n; r+=(5); show "${r[@]}"; done; show "${x[@]}" "${y[@]}"
## arguments of a sourced file
echo 'x=$1 n=$#' > s.sh; set -- main; . ./s.sh a b; show $x $n "$1" $#
echo 'shift; n=$1' > s.sh; set -- a b; . ./s.sh 1 2; show "$n" "$@"; . ./s.sh; show "$n" "$@"
echo 'set -- p q' > s.sh; set -- a; . ./s.sh; show "$@"; set -- a; source ./s.sh x; show "$@"
f() { . ./s.sh 5; show "$@"; }; echo 'x=$1' > s.sh; f a b; show $x
## functions that call themselves
w() { (( $# )) || return; show "$1"; shift; w "$@"; }; w a "b c" d; show end
f() { show $1; [ $1 -gt 1 ] && f $(($1-1)); }; f 3
a() { show a$1; [ $1 -gt 0 ] && b $(($1-1)); }; b() { show b$1; [ $1 -gt 0 ] && a $(($1-1)); }; a 3
d=0; r() { ((d++)); ((d<4)) && r; }; r; show $d
f() { if [ $1 -eq 0 ]; then show done; return; fi; x=$x$1; f $(($1-1)); }; f 4; show $x
f() { [ $1 = 0 ] && { echo 0; return; }; echo $(( $1 + $(f $(($1-1))) )); }; x=$(f 4); show $x
## tildes in patterns and replacements
x=path; show "${x/p/~}" ${x/p/~}; HOME=/h; x=/h/y; show ${x#~} "${x/~/Z}" "${x#"~"}" "${x/h/"~"}"
x=~/a; show "${x#~/}" "${x/#~/q}" "${x/a/~}"
## arrays that nothing sets
show a "${QQ[@]}" b ${QQ[*]} c; show ${#QQ[@]}; v=("${QQ[@]}" k); show "${#v[@]}" "${v[0]}"
[ -f nofile ] && OP+=(--z); show a "${OP[@]}" b; for e in "${OP[@]}"; do show $e; done; show ${#OP[@]}
if [ "$u1" = q ]; then OP=(1 2); fi; show a "${OP[@]}" b ${OP[@]:1}; show "${OP[0]}" "${OP[*]}"
## braces before names, and in the words of declarations
src=in dst=out; show {$src,$dst}_f {"$src",$dst}x {${src},${dst}}_f; dst_f=7; show {$src,$dst}_f p{$src,q}$dst
export X=f{1..3}; show "$X"; declare -x Y={a,b}; show "$Y"; f() { local z={1,2}; show "$z"; }; f; Z={a,b}; show "$Z"
export P{1,2}=x; show "${P1-none}" "${P2-none}"; readonly -a v=(a{1,2}); show "${v[@]}"
## patterns of files that are joined
set -- a *.q b; show "$*" "$@"; A=(x *.q y *.txt); show "${A[*]}"; f() { w=$*; show "$w"; }; f *.q [z]x
## commands after one that fails
set -e; false; show never
set -e; true && false; show never
set -e; false || true; show there; ! true; show there; if false; then :; fi; show there
set -e; f() { false; show never; }; f; show never
set -e; f() { false; show yes; }; f || show no; (false); show never
## variables that are exported in some branches
va=1; if [ "$u1" = zz ]; then export va; fi; show "$va"; bash -c "x=\${va-none}; echo \$x" | { read y; show "$y"; }
va=1; [ "$u1" ] && export va=2; (show "$va"); env | grep -c ^va= | { read y; show "$y"; }; export va; show $va
## others
SECONDS=0; show $SECONDS; RANDOM=1; show $RANDOM; x=$SECONDS; show $x $((SECONDS + 1))
RANDOM=1; if [ $RANDOM = 1 ]; then show same; else show other; fi
v=(a b); show "${v[@]@Q}" "${v[@]@A}" "${v[@]@K}" "${v[@]@k}"
x=1 xa=2; show $x{a,b} ${x}{a,b} "$x"{a,b}
"""
KNOWN = r"""
read -ra v -d ';' <<< "x y;z"; show "${v[@]}"
read -a v -r w <<< 'p\q r'; show "${v[@]}" "${w-unset}"
x=$(for i in 1 2; do echo $i; done); show "$x"; for y in $(for i in {1..9}; do echo $i; done); do z=$z$y; done; show $z
x=$(for i in a b; do for j in 1 2; do printf $i$j,; done; done); show "$x"
for i in p q; do echo $i; done | { read x; show $x; }
trap 'x=1' EXIT; x=2; show $x; trap 'echo bye' ERR USR1; false; show $x; trap 'y=3; exit 1' TERM; y=4; show $y
for a in q; do for b in x$a; do for c in $b$b; do show $a $b $c; break 2; done; show no; done; show $a; done; show $c $?
for a in q; do [ $a = q ] && continue; show no; done; show $a; for a in 1; do false; done; show $?
false; show "$(echo a)" $? `exit 3` $? $(exit 4)$?; show $?
x=$(false) y=$?; show "$x" $y; true; [[ $(false)$? == 1 ]] && show yes; for e in $(exit 5) $?; do show $e; done
f() { local a=$(false) b=$?; show "$a" $b $?; local c=$(exit 2); show $?; }; f; export q=$(false); show $?
f() { show $? "$1"; }; true; f "$(false)"; case $(false)$? in 1) show one ;; esac
true; a[$?]=$(echo q)$?; show "${!a[@]}" "${a[0]}"
v=(1 2); declare -A v || show failed; show "${v[@]}"
declare -a v; declare -A v; v[k]=x; show "${v[k]}" "${!v[@]}"
v=(1 2); f() { declare -A v; v[k]=x; show "${v[k]}" "${#v[@]}"; }; f; show "${v[@]}"
declare -A m=([a]=1); declare -a m; m[b]=2; show "${m[a]}" "${m[b]}" "${#m[@]}"
unset v; v=(1 2); unset v; declare -A v; v[k]=x; show "${v[k]}" "${#v[@]}"
declare -lu x=aB; show $x
local x=1 || show none; show ${x-none}
unset -x a; show $?
f() { local x=1; g; show $x; }; g() { local x=2; unset x; show ${x-none}; x=7; show $x; }; x=0; f; show $x
f() { local x=1; unset x; show ${x-none}; x=3; }; x=0; f; show $x
f() { local x=1; ( unset x; show ${x-none} ); show $x; }; x=0; f; show $x
shopt -s localvar_unset; f() { local x=1; g; show ${x-none}; }; g() { unset x; show ${x-none}; x=5; }; x=0; f; show $x
command export y=6; show $y; \export w=8; show $w; e=export; $e r=10; $e "s=a b"; show $r "$s"; "export" q=9; show $q
set -f; set -- *.txt; show $# "$1"; for f in *.txt; do show $f; done; x=*; show $x
set +B; show {a,b} {1..3}; set -B; show {a,b}
f() { show "$1"; }; f --x=*.txt; f http://a/?b; f v[1]; show '*.txt' \* "[a]"
"""
PROGRAMS = {line: line in KNOWN.splitlines() for line in (JUDGED + KNOWN).splitlines() if line and line[:2] != "##"}


def program(text: str) -> str:
    """A program whose `show` prints, with a number for each place."""
    places = iter(range(1000))
    if text.startswith("@"):  # loops in loops
        text = re.sub(r"@(\w)", r"; do for \1 in", text).replace("@", "; done")[len("; do ") :]
    text = text.replace("LONG", "for c in {1..20}; do z=$z$c; w=$z; done")
    command = re.sub(r"\bshow\b", lambda _: f"printf '\\1%s\\2' @{next(places)}", text.replace("¶", "\n"))
    return "# 0 0 0\nexec 4>&1 >&3\n" + command + "\n"


def test_no_value_is_wrong(tmp_path: Path) -> None:
    texts = list(map(program, PROGRAMS))
    for name in FILES:
        (tmp_path / "empty0").mkdir(exist_ok=True)
        (tmp_path / "empty0" / name).touch()
    wrong = []
    for (text, is_known), source, told in zip(PROGRAMS.items(), texts, run_bash(texts, tmp_path), strict=True):
        verdict = judge(source, told)
        if verdict.fault:
            wrong.append(f"{text}\n    {verdict.fault}")
        elif is_known and verdict.all < verdict.printed:
            wrong.append(f"{text}\n    of {verdict.printed} prints only {verdict.all} are known")
    assert not wrong, "\n".join(wrong)
