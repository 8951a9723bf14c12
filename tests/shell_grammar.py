"""The grammar of the bash programs that shell_programs.py writes.

Under the name of each rule stands what it may become, one a line; `<rule>` is another rule, `3*` a line that counts
three times, `¶` a newline, `ε` nothing at all. Where a program gets too deep the first line is taken.
"""

GRAMMAR = r"""
name: a | b | c | d
array: v | w
number: n | i
unknown: u1 | u2 | u3
scalar
    6*<name>
    <unknown>
    <number>
    1
    2
    l
index: 0 | 1 | 2 | -1 | n | i+1 | $n | 5
key: "a b" | one | k | $a | 2 | 'k'
pattern
    5*<text_pattern>
    <class_pattern>
    <quoted_pattern>
text_pattern: * | a* | *b | ? | */ | /* | *. | .* | X | x | ab | o? | b | *:* | l*o | a?c | \* | x\*
class_pattern: [a-c] | [!a]* | [[:digit:]]* | *[0-9] | [[:upper:]] | []x] | *[!0-9] | [^a-z]
quoted_pattern: ' ' | '' | "*" | $a | "$b"
extended
    5*<pattern>
    @(a|b)*
    +([0-9])
    ?(a)b
    *(a|b)
    !(a)
regex
    <plain_regex>
    ^(a|b)
    [0-9]+
    (.)b
    ^-?[0-9]+$
    [[:alpha:]]+$
plain_regex: ^a | b$ | . | ^$ | x.* | "." | $a | a\ b
plain
    $<scalar>
    2*$<scalar>
    2*${<scalar>}
    ${<array>[<index>]}
    ${m[<key>]}
    ${#<counted_name>}
    $<special>
counted_name: a | b | c | v[@] | v[0] | w[*] | m[@] | @ | m[k] | v
special: # | ? | 1 | 2 | @ | *
subject
    7*<scalar>
    <several>
    v[1]
    m[k]
several: v[@] | v[*] | w[@] | @ | *
operated
    ${<scalar>:-<inner>}
    ${<subject><default><inner>}
    ${<subject><default><inner>}
    ${<name><assigning><inner>}
    2*${<subject><removing><extended>}
    2*${<subject><replacing><pattern><replacement>}
    ${<subject><case>}
    2*${<subject><slice>}
    ${<scalar><ending>}
    ${<name>@<transform>}
    ${!<indirect>}
default: :- | - | :+ | +
assigning: := | =
removing: # | ## | % | %%
replacing: / | // | /# | /%
replacement
    2*/-
    /_
    /$b
    /"y z"
    ε
    /&
    /\&
    /'&'
case: ^ | ^^ | , | ,, | ^^[a-m] | ,[A-Z] | ^?
slice: :1 | :0:2 | :2 | : -2 | :n:1 | :$n | : -3:2 | :0 | :1:1 | :(1) | :5
ending: :1:-1 | : -2:-1 | :0:-1
transform: Q | Q | U | L | u | E
indirect: p | p | p | v[@] | m[@] | zz* | zz@ | w[@] | q
inner
    2*<inner_text>
    ε
    <expansion>
    "<inner_quoted>"
    <inner_special>
inner_text: d | z | x y | $b
inner_quoted: y z | $a | ${b:-q} | 's' | ε
inner_special: 'a b' | a b | $a x | it\'s | \$a | - | x$(echo y)z | ~
expansion
    4*<plain>
    4*<operated>
    $((<expression>))
    $(<printing>)
printing
    echo <word>
    <call> <word>
    printf <print_format> <word>
    <name>=<literal>; echo <word>
    echo <echo_option> <word>
    echo <word> <after_echo>
print_format: '%s-' | '%s\n' | %s | '<%3d>' | '%%%c'
echo_option: -n | -e | -- | -ne
after_echo
    >/dev/null
    >&2
    2>/dev/null
    ; false
    && echo t
word
    4*<literal>
    4*"<expansion>"
    2*<expansion>
    "<before><expansion><after>"
    <bare_before><expansion><bare_after>
    "<all>"
    <all_bare>
    <braces>
    <odd>
    <nested>
before: p | ε | it's | \$ | a\b
after: ε | s | '
bare_before: p- | ε | 'q '
bare_after: ε | .s | "" | x
all: ${v[@]} | ${w[*]} | $@ | $* | ${v[@]:1} | p${v[@]}s | ${@:2} | ${m[@]} | $@$<scalar> | <all_mixed>
all_mixed: $<scalar>${v[@]} | ${v[@]}${w[*]} | $@${v[@]} | ${w[*]#?}$@ | ${v[@]#a}$a$b | ${@:1}${c-} | p$@$u1
all_bare: ${v[@]} | ${w[*]} | $@ | $* | ${#v[@]} | ${@:1:1} | $#
braces: {a,b} | x{1..3} | {a,b}{c,d} | {a,b$a} | {3..1} | {a} | {a..c} | p{,q}s | {a,{b,c}} | <more_braces>
more_braces: {1..7..3} | {a,"b c"} | '{a,b}' | {a,b | \{a,b} | ${a}{1,2} | {$a,x} | {c..a} | a{}b | {x,y}{ | {01..03}
nested
    `echo \`echo <bare_literal>\` z`
    "`echo \"\`echo a b\`\"`"
    `echo \$a "\`echo $b\`"`
bare_literal: x | a-b | 1
odd: "" | '' | ~ | 'a'"b"c | a\ b | $'\t' | $"x" | x=~ | [x] | $ | "a$" | = | `echo z` | <glob> | "$(echo x; echo "$z")"
glob: *.q | [pq] | a? | "a"*b | $a*.q | ${z:-*.q} | ${z:+[q]}
words
    <word>
    <word> <word>
    <word> <word> <word>
single
    <literal>
    "<expansion>"
expression
    <operand>
    <operand>
    2*<expression> <operator> <expression>
    <expression> <power> <small>
    <expression> <division> <divisor>
    (<expression>)
    <change>
    <target> <setting> <set_to>
    <expression> ? <expression> : <expression>
operand: 0 | 1 | 2 | 7 | 10 | 0x1f | 010 | 10#08 | 2#101 | n | i | $n | $i | ${#a} | z
operator: + | - | * | < | > | <= | >= | == | != | & | ^ | && | <bar> | <bar><bar>
power: ** | << | >>
small: 0 | 2 | 3
division: / | %
divisor: 3 | 7 | -2
change: n++ | ++n | i-- | --i | -n | !i | ~n | - 3 | +2 | !n | v[0] | v[1]+1
target: n | i | z
setting: = | += | -= | *= | <bar>=
set_to: 1 | 3 | n | $i
assignment
    <name>=<literal>
    6*<name><sets><word>
    <name>=<word><literal>
    <array><sets>(<elements>)
    <array><element><sets><word>
    v=(s t); v[-1]=<word>
    <array>=(<literal> [3]=<literal> <literal>)
    <array>=([2]=n{1,2} <word> [0]=q)
    m[<plain_key>]<sets><word>
    m=([k]=<single> ['a b']=<literal> [one]=<literal>)
    <number>=<counter>
    <declaring> <name>=<declared>
    2*<declaration>
    a=<literal> b=<single>
    <chaining> <name>=<literal> <name>=<chained> <name>=<chained>
    <name>=${<name><assigning><inner>}
    <referring>
    unset <forgotten>
    : ${<name>:=<taken>}
chaining: export | declare | typeset | declare -x | export
chained: $a | "$b" | x$c | ${d-} | "${a:=k}"
referring
    declare -n r1=<name>; r1<sets><word>
    declare -n r2=<array>; r2[1]=<literal>; r2+=(<literal>); c=${#r2[@]}
    declare -n r1=<number>; (( r1 += 2 )); unset -n r1
    declare -n r1=<name>; unset r1; c=${r1-gone}; unset -n r1
    declare -n r1=<name>; declare -n r1=<name>; r1<sets><word>; unset -n r1
    for e in a b; do declare -n r1=$e; r1<sets><literal>; done; unset -n r1
    declare -n r1=<name>; read -r r1 <<< <single>; d=${!r1}$r1
sets: = | = | +=
elements
    ε
    <words>
element: [0] | [1] | [n] | [2] | [5]
plain_key: k | one | "a b" | q$a | 2
counter: 0 | 1 | 2 | 3 | $((n+1)) | ${#a} | $((i*2)) | <uncomputable>
uncomputable: "a b" | 08 | 1.5 | '5 apples' | x= | 2#9 | '1 2' | n | i | 1/0 | n=2 | i++ | 'v[' | z*=i%n
uncomputed
    <number>=<uncomputable>
    <simple_condition> && <number>=<uncomputable>
    2*( <number>=<uncomputable>; <computing>; <shown> ); <shown>
    2*( <simple_condition> && <number>=<uncomputable>; <computing>; <shown> ); <shown>
    a=$( <number>=<uncomputable>; <computing>; echo <literal> ); <shown>
    ( for <number> in 1 <uncomputable>; do <computing>; <shown>; done; <shown> ); <shown>
    ( h() { <computing>; <shown>; }; <number>=<uncomputable>; h && <shown>; <shown> ); <shown>
    { <number>=<uncomputable>; <computing>; } | read d; <shown>
computing
    a=$((<expression>))
    : $((<expression>))
    (( <expression> ))
    (( <expression> )) && c=yes <bar><bar> c=no
    let n
    let "d = n" i+=1
    [[ n -gt 1 ]]
    [[ ! $n -gt i ]] && c=yes <bar><bar> c=no
    [[ n -le 1 <bar><bar> -n x ]] && c=yes
    b=${v[n]}
    v[n]=<literal>
    b=${b:n:1}
    for ((z=n; z<2; z++)); do c+=k; done
    for ((z=0; z<2; z++, n)); do c+=k; done
    declare -i j=n; c=$j
    declare -i j=1; j+=$n; c=$j
    case $((n)) in 2) c=yes ;; *) c=no ;; esac
    if (( n )); then c=yes; else c=no; fi
    while (( n > 1 )); do c+=k; break; done
    read c <<< $((n)) && d=read
    unset "v[n]"
    set -u; (( n + gone ))
    set -e; (( n ))
declaring: export | declare | typeset | declare -x
declared
    3*<single>
    $a
    x$b
    ~
    ${c}
declaration
    declare -i j=n+1; j+=2; c=$j
    declare -u s=abC; c=$s
    declare -l s; s=ABc; d=$s
    declare -i j; j=2*3; d=$j
    declare -a w=(x 'y z')
    declare -A o=([x]=1); c=${o[x]}
    declare -r r=5; c=$r
    <redeclared>
    readonly r2=x; d=${r2}y
    <plain_declaration>
    <ifs>
    <reference>
redeclared
    declare -A <array>
    declare -A <array> <bar><bar> c=no
    declare -a m
    declare -a v; declare -A v; v[k]=x
    declare -A y; y=(p q r); c=${#y[@]}
    read -a m <<< "1 2"
    local a=1
    command export a=<literal>
    p=export; $p b=<literal>
plain_declaration: declare -a v | declare a | export a | export -n b | zz1=1 zz2=2 | declare +x a | b=$a$c
ifs: IFS=, | IFS=: | IFS= | unset IFS | IFS=$' \t\n' | IFS=' ,'
reference: p=a | p=b | p=v[1] | q=m[k] | p=n
forgotten: a | a b | b | c | d | v | w | v[0] | v[1] | 'm[k]' | -v a | n
taken: dd | $b | "e f"
builtin
    printf -v <printed> <text_format> <words>
    printf -v <printed> <number_format> <number_words>
    read <raw><read_names> <<< <single>
    IFS=<read_ifs> read -r <read_names> <<< <single>
    set -- <words>
    shift <shifted>
    eval <evaluated>
    let <computed>
    (( <expression> ))
    mapfile -t <array> <<< <single>
    2*<heredoc>
    <setting_command>
    echo <words> <away>
    a=tmp <with_variable>
printed: a | b | c | d | v[1]
text_format: '%s,%s;' | '%-4s<bar>' | '%5s' | 'a\tb%s\n' | '%b' | '%q' | '%.2s' | '%s%%' | "$a" | '%c' | '\x41%s'
number_format: %d | '%03d' | '%x' | '%i ' | '%u' | '%o' | '%+d' | '%-3d.'
number_words: 7 | n | "$n" | 12 5 | 0x1F | ε
raw: -r | ε
read_names: a | a b | a b c | -a v | -a w -r | -r -d , b | ε
read_ifs: : | , | ', ' | / | ''
shifted: ε | 2 | 1
evaluated: a=<literal> | 'a=$b' | b=1 c=2 | "c=\$a"
computed: n+=1 | n=i+2 | 'i = n * 2' | n++ | i=1 n=2
setting_command
    set -u; set +u
    set -e; set +e
    shopt -s extglob
    set -f -- *.q x
    true
    false
    :
    set --
    <rare_setting>
    <export_setting>
rare_setting: shopt -s nullglob | shopt -u nullglob | set +f | set +B | set -B | shopt -s xpg_echo | SECONDS=0
export_setting: set -a | set +a | set -a; a=k; set +a
away: >/dev/null | >&2
with_variable: : | true | eval b=\$a | read c <<< x
condition
    [[ -n $a ]]
    2*[[ <single> <matching> <extended> ]]
    [[ <single> =~ <regex> ]]
    [[ <is> <single> ]]
    [ <is> <single> ]
    [ <single> <equal> <single> ]
    [[ <compared> <comparing> <operand_here> ]]
    (( <expression> ))
    [[ -v <maybe_set> ]]
    <condition> <then> <condition>
    ! <simple_condition>
    [[ ( <single> <ordering> b <bar><bar> -n $c ) && -z ${d} ]]
    <call> <single>
    2*<simple_condition>
is: -z | -n
matching: == | != | =
equal: = | != | ==
compared: n | $n | 1 | ${#a} | i
comparing: -eq | -ne | -lt | -ge | -gt | -le
operand_here: 1 | $i | n
maybe_set: a | b | c | d | v[1] | zz | m[k] | v
then: && | <bar><bar>
ordering: < | > | ==
simple_condition
    <static_condition>
    [[ $u1 == a ]]
    [[ -n $u2 ]]
    [ "$u1" = 1 ]
    (( u3 > 1 )) 2>/dev/null
    [[ -f nofile ]]
static_condition: true | false | [ ] | test x | [[ x ]] | ! true | [ ! x = y ] | [ 1 -lt 2 -a x ]
lines
    <inner_statement>
    <inner_statement>¶<inner_statement>
compound
    if <condition>; then¶<lines>¶else¶<lines>¶fi
    if <condition>; then¶<lines>¶elif <condition>; then¶<lines>¶fi
    for <looped> in <elements>; do¶<lines>¶done
    for <looped> in <words>; do¶<lines>¶<simple_condition> && <leaving>¶<shown>¶done
    3*<guarded>
    for ((<counting>)); do¶<counted><leave>¶<counted>¶done
    case <single> in¶<items>¶esac
    set -- <arguments>¶while [[ $# -gt 0 ]]; do¶case $1 in¶<argument_items>¶esac¶done
    select <looped> in <words>; do¶<lines>¶<leave_select>¶done <<< <choice>
    k() { local <name>=<literal>; kk; <shown>; }; kk() { <unsets>; }; k; <shown>
    k() { local <name>=<literal>; (( ++n > 2 )) <bar><bar> kk; <shown>; }; kk() { <unsets>; <name>=y; <shown>; }; k; k
    kk() { <unsets>; c+=k; }; <name>=<literal> kk; <shown>
    OPTIND=1¶while getopts <options> o <given> 2>/dev/null; do¶<shown>¶c+=$o${OPTARG-}¶done
    ( <lines>¶)
    { <lines>¶}
    <writer> | <reader>
    <condition> <then> <assignment>
    <condition> <then> <shown>
    <simple_condition> && <simple_assignment> <bar><bar> <simple_assignment>
    n=<small>¶<looping> (( n >= <small> )); do¶<counted>¶(( ++n ))¶[[ $n -gt 6 ]] && break¶done
    while true; do¶<lines>¶(( ++GUARD > 3 )) && break¶<counted>¶done
    while read -r <line_names>; do¶<lines>¶done <<< <single>
guarded
    for e in <few>; do¶<guard>¶<seen>¶done
    for e in <few>; do¶<guard>¶<guarded_step>¶<seen>¶done
    for ((e=0; e<4; e++)); do¶<guard>¶<guarded_step>¶<seen>¶done
    e=0; while (( e < 4 )); do¶(( ++e ))¶<guard>¶<seen>¶done
    for e in <few>; do¶<guard>¶<guard>¶<seen>¶done
guarded_twice
    for n in <orders>; do¶for e in <orders>; do¶<inner_guards>¶<seen>¶done¶<seen>¶done
    for n in <orders>; do¶<inner_step>¶for e in <orders>; do¶<inner_guards>¶<seen>¶done¶<inner_step>¶done
    for n in <orders>; do¶<inner_step>¶for e in <orders>; do¶<inner_guards>¶<seen>¶done¶<seen>¶<inner_step>¶done
orders: 1 2 | 2 1 | 1 2 3 | 3 1 2 | 2 2 1 | 1
inner_guards: <inner_guard> | <inner_guard>¶<inner_guard> | <inner_guard>¶<inner_guard>¶<inner_guard>
inner_guard
    <inner_test> && <inner_leave>
    <inner_test> <bar><bar> <inner_leave>
    if <inner_test>; then <inner_step>; else <inner_step>; fi
    <inner_test> && <inner_step>
    if <inner_test>; then¶<seen>¶<inner_leave>¶fi
    case $n$e in 1*) <inner_step> ;; 21) <inner_leave> ;; *) <seen> ;; esac
inner_test
    [ $n = $e ]
    [ $n -gt $e ]
    (( n + e > 3 ))
    [ $e = 2 ]
    [ $n != 1 ]
    [[ $n$e == 1* ]]
    [ "$c" = lo ]
    (( n == 2 && e == 1 ))
    [ -z "$d" ]
inner_leave: continue | break | continue 2 | break 2
inner_step: c=lo | c=hi | d=$n | d=$e | d=$n$e | c=$d | d= | d=x$c
few: 1 2 4 | 2 1 | 3 4 1 2 | 2 2 1 | 4
departure
    <decided> && <departing>
    <decided> <bar><bar> <departing>
    if <decided>; then¶<departing>¶fi
    if <decided>; then¶<seen>¶elif <decided>; then¶<departing>¶fi
    case $e in 1) <seen> ;; 2 | 3) <departing> ;; esac
guard
    4*<departure>
    if <decided>; then¶<guarded_step>¶else¶<guarded_step>¶fi
    case $e in 1) <guarded_step> ;; 2 | 3) <departing> ;; *) <seen> ;; esac
    case $e in [12]) <guarded_step> ;;& 2) <seen> ;; esac
    <decided> && <guarded_step> <bar><bar> <guarded_step>
    ! <decided> && <decided> && { <seen>; <departing>; }
    <decided> <bar><bar> { <guarded_step>; <departing>; }
decided
    [ $e -gt 2 ]
    [ "$e" = 2 ]
    (( e > 1 ))
    [ $n -gt 1 ]
    [[ $e != 1 ]]
    [[ $e == [14] ]]
    (( e % 2 ))
departing: continue | continue | break | continue 2 | break 2 | return
guarded_step: d=$e | d=x$e | n=$((n+1)) | w+=($e) | c=lo | c=hi | d=$d$e
looped: a | e | n
leave_select: break | [[ -n $c ]] && break | return | :
choice: 1 | 2 | 9 | $'2\n1' | "$a" | ''
unsets: unset <name> | unset <name>; unset <name> | declare -g <name>=<literal> | unset -v a; b=2 | export <name>=z
leaving: break | continue
counting: n=0; n<3; n++ | i=3; i>0; i-- | n=0; n<2; n+=1 | n=5; n<3; n++
leave: ε | ¶[[ $n == 1 ]] && break | ¶[[ $n == 1 ]] && continue
counted
    <printed_counter>
    <simple_assignment>
    v+=(<literal>)
    a="$a$n"
    w[n]=x$n
    v+=($n)
    b+=$i
simple_assignment
    <name><sets><literal>
    <name><sets>"<plain>"
items
    <pattern>)¶<lines>¶<item_end>
    <pattern> | <pattern>)¶<lines>¶<item_end>¶<pattern>)¶<lines>¶;;
    <pattern>)¶<lines>¶;;¶*) <shown> ;;
    <pattern>)¶<lines>¶<item_end>¶<pattern> | b)¶<lines>¶<item_end>¶*) <shown> ;;
item_end: ;; | ;; | ;& | ;;&
arguments: -a 1 x | --k=v -a q | p q | -a 1 -a 2 --z r | $u1 | $a
argument_items
    -a) a=$2; <shown>; shift 2 <bar><bar> break ;;¶--*) b=${1#--}; shift ;;¶*) w+=("$1"); shift ;;
options: ab: | :xa: | ab
given: -a -b 2 x | -ab3 | -x | -b | ε | -a -- -b
writer: echo <single> | printf '%s\n' p q | true | a=1
reader: read a | { read -r b; <shown>; } | while read -r a; do <shown>; done
looping: while | until
line_names: a | a b
local: local l=$1 | local a | local l=${2:-d} b | local -i l=3 | local a=$a | local v=(1 2) | local -a w | : | <linking>
linking: local l=$1 a=$l | local -n l=<name>
function_end
    :
    return 1
    return
    echo "r$1"
    echo $l
    [[ -n $1 ]]
    <name>=$1
inner_statement
    <shown>
    <child>
    2*<assignment>
    <builtin>
    <call> <words>
    <compound>
statement
    6*<assignment>
    4*<shown>
    <child>
    3*<builtin>
    <function>
    <call> <words>
    5*<compound>
    <uncomputed>
heredoc_line: x $a y | '$b' "${c}" | \$a \\ \x | ${a:-'q'} ${v[@]} | $((n + 1)) $(echo s) | a\\ | `echo b` | ε
"""


def rules(text: str) -> dict[str, tuple[str, ...]]:
    """The rules of a grammar, with what each may become."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.strip("\n").split("\n"):
        if line.startswith("    "):
            count, star, rest = line.strip().partition("*")
            current.extend([rest] * int(count) if star and count.isdigit() else [line.strip()])
        elif ": " in line:
            name, _, choices = line.partition(": ")
            found[name] = choices.split(" | ")
        else:
            current = found[line] = []
    return {name: tuple(["" if each == "ε" else each for each in choices]) for name, choices in found.items()}


RULES = rules(GRAMMAR)
