"""The syntax tree: its shapes, its positions, and what is left of a script with errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bash_referee import nodes
from conftest import examples
from sbatchlint.bash.syntax import tree as syntax
from sbatchlint.bash.syntax import walk
from sbatchlint.bash.syntax.parser import parse, parse_word_text
from sbatchlint.bash.syntax.tree import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    ArrayLiteral,
    Assignment,
    Background,
    Broken,
    Case,
    CommandSubstitution,
    For,
    Function,
    Group,
    Heredoc,
    If,
    Literal,
    Node,
    Parameter,
    Part,
    Pipeline,
    ProcessSubstitution,
    Program,
    Simple,
    Statement,
    Unparsed,
    While,
    Word,
)

PROGRAMS = (Path(__file__).parent / "bash_programs.txt").read_text().split("\n===\n")


def one(text: str) -> Statement:
    program = parse(text)
    assert not program.errors
    (statement,) = program.statements
    return statement


def simple(text: str) -> Simple:
    statement = one(text)
    assert isinstance(statement, Simple)
    return statement


def word(text: str) -> Word:
    first = simple("x " + text).words[1]
    assert isinstance(first, Word)
    return first


def part(text: str) -> Part:
    (only,) = word(text).parts
    return only


def plain(found: Word | Assignment | ArrayLiteral | None) -> str:
    assert isinstance(found, Word)
    return "".join([part.text if isinstance(part, Literal) else f"<{type(part).__name__}>" for part in found.parts])


def names(text: str) -> list[str]:
    """The first words of all simple commands, in the order of the text."""
    found = [node for node in nodes(parse(text)) if isinstance(node, Simple) and node.words]
    return [plain(node.words[0]) for node in sorted(found, key=lambda node: node.start)]


def test_a_plain_command() -> None:
    command = simple("srun -n 2 python a.py")
    assert [plain(each) for each in command.words] == ["srun", "-n", "2", "python", "a.py"]
    assert command.words[4] == Word((Literal("a.py", 17, 21, False),), 17, 21)
    assert (command.start, command.end) == (0, 21)


@pytest.mark.parametrize(
    ("written", "texts", "quoted"),
    [
        ("'a b'", ["a b"], [True]),
        ('"a b"', ["a b"], [True]),
        ("a'b'c", ["a", "b", "c"], [False, True, False]),
        (r"a\ b", ["a", " ", "b"], [False, True, False]),
        (r'"\$a\n"', ["$", "a", "\\", "n"], [True, True, True, True]),
        ("a\\\nb", ["a", "b"], [False, False]),
        ('"a\\\nb"', ["a", "b"], [True, True]),
        (r"$'a\tb\x41\'\101\u00e9'", ["a", "\t", "b", "A", "'", "A", "é"], [True] * 7),
        ('$"a"', ["a"], [True]),
        ("a#b", ["a#b"], [False]),
        ("{a,b}", ["{a,b}"], [False]),
        ("größe", ["größe"], [False]),
        ("\ue000x", ["\ue000x"], [False]),
        ("@(a|b)c", ["@", "(", "a|b", ")", "c"], [False] * 5),
        ("$", ["$"], [False]),
    ],
)
def test_literals(written: str, texts: list[str], quoted: list[bool]) -> None:
    parts = word(written).parts
    assert [each.text for each in parts if isinstance(each, Literal)] == texts
    assert [each.quoted for each in parts if isinstance(each, Literal)] == quoted


def test_empty_quotes_make_a_field() -> None:
    assert word('""') == Word((), 2, 4, True)
    assert word("''$x").quoted_empty
    assert not word("$x").quoted_empty
    assert len(simple('"" a').words) == 2


@pytest.mark.parametrize(
    ("written", "name", "operator", "arguments"),
    [
        ("$a", "a", "", []),
        ("${a}", "a", "", []),
        ("$1", "1", "", []),
        ("${10}", "10", "", []),
        ("$@", "@", "", []),
        ("${#}", "#", "", []),
        ("${#a}", "a", "length", []),
        ("${#@}", "@", "length", []),
        ("${!a}", "a", "indirect", []),
        ("${!a*}", "a", "prefix", []),
        ("${a:-b c}", "a", ":-", ["b c"]),
        ("${a-}", "a", "-", [""]),
        ("${a:=b}", "a", ":=", ["b"]),
        ("${a:?b}", "a", ":?", ["b"]),
        ("${a+b}", "a", "+", ["b"]),
        ("${a##*/}", "a", "##", ["*/"]),
        ("${a%%.*}", "a", "%%", [".*"]),
        ("${a#'}'}", "a", "#", ["}"]),
        ("${a/b/c}", "a", "/", ["b", "c"]),
        ("${a//b}", "a", "//", ["b"]),
        ("${a////_}", "a", "//", ["/", "_"]),
        (r"${a//\//_}", "a", "//", ["/", "_"]),
        ("${a/#/b}", "a", "/#", ["", "b"]),
        ("${a/%b/c/d}", "a", "/%", ["b", "c/d"]),
        ("${a^^}", "a", "^^", [""]),
        ("${a,}", "a", ",", [""]),
        ("${a@Q}", "a", "@", ["Q"]),
        ("${a:1}", "a", ":", ["1"]),
        ("${a: -2:1}", "a", ":", [" -2", "1"]),
        ("${a:b?1:2:3}", "a", ":", ["b?1:2", "3"]),
        ("${a:(1+2):3}", "a", ":", ["(1+2)", "3"]),
        ("${a:-${b:-c}}", "a", ":-", ["<Parameter>"]),
        ("${a:-$(b)}", "a", ":-", ["<CommandSubstitution>"]),
        ('${a:-"b }"}', "a", ":-", ["b }"]),
    ],
)
def test_parameters(written: str, name: str, operator: str, arguments: list[str]) -> None:
    found = part(written)
    assert isinstance(found, Parameter)
    assert (found.name, found.operator, [plain(each) for each in found.arguments]) == (name, operator, arguments)
    assert (found.start, found.end, found.quoted) == (2, 2 + len(written), False)


def test_parameters_with_a_subscript() -> None:
    for written, operator in (("${a[@]}", ""), ("${#a[@]}", "length"), ("${!a[@]}", "indirect"), ("${a[@]:1:2}", ":")):
        found = part(written)
        assert isinstance(found, Parameter)
        assert (found.name, found.operator, plain(found.index)) == ("a", operator, "@")
    nested = part("${a[b[1]+$c]}")
    assert isinstance(nested, Parameter)
    assert plain(nested.index) == "b[1]+<Parameter>"


def test_defaults_between_double_quotes() -> None:
    found = part('''"${a:-it's b}' "c" \\} $d}"''')
    assert isinstance(found, Parameter)
    assert plain(found.arguments[0]) == "it's b}' c } <Parameter>"
    assert found.quoted and all(each.quoted for each in found.arguments[0].parts)
    pattern = part("\"${a#'*'*}\"")
    assert isinstance(pattern, Parameter)
    assert [each.quoted for each in pattern.arguments[0].parts] == [True, False]


def test_a_parameter_without_a_known_name_is_broken() -> None:
    assert part("${a b}") == Broken(2, 8, False)
    assert part('"${}"') == Broken(3, 6, True)
    assert part("$\ue000") == Broken(2, 4, False)


def test_substitutions() -> None:
    found = part('"$(a | b "$(c)")"')
    assert isinstance(found, CommandSubstitution)
    assert found.quoted and not found.backquoted and isinstance(found.body[0], Pipeline)
    assert names('x "$(a | b "$(c ")")")"') == ["x", "a", "b", "c"]
    assert names("x $(case y in a) b;; (c) d;; esac)") == ["x", "b", "d"]
    back = part(r"`sed 's/\.//'`")
    assert isinstance(back, CommandSubstitution)
    assert back.backquoted and isinstance(back.body[0], Simple)
    escaped = part(r"`a \`b\``")
    assert isinstance(escaped, CommandSubstitution)
    assert escaped.body == (Unparsed(3, 10),)
    process = part("<(a; b)")
    assert isinstance(process, ProcessSubstitution)
    assert (process.direction, len(process.body)) == ("<", 2)


def test_arithmetic_and_nested_subshells() -> None:
    assert part("$((10#$x + (2)))") == Arithmetic(5, 16, 2, 18, False)
    assert part("$[1+2]") == Arithmetic(4, 7, 2, 8, False)
    assert isinstance(part("$((a); (b))"), CommandSubstitution)
    assert one("((a<<2))") == ArithmeticCommand(2, 6, (), 0, 8)
    assert isinstance(one("((a); (b))"), Group)
    assert names("((a); (b))") == ["a", "b"]


def test_assignments() -> None:
    command = simple('A=1 B+="$c" D= e')
    assert [(each.name, each.append) for each in command.assignments] == [("A", False), ("B", True), ("D", False)]
    assert command.assignments[2].value is None
    assert plain(command.words[0]) == "e"
    (subscript,) = simple("a[$i+1]=x").assignments
    assert (subscript.name, plain(subscript.index), plain(subscript.value)) == ("a", "<Parameter>+1", "x")
    assert len(simple("echo A=1").words) == 2
    assert names("A=$x/$y/z; b") == ["b"]


def test_arrays() -> None:
    (assignment,) = simple('a=(b # c\n [k y]="d" [e]= f\n)').assignments
    value = assignment.value
    assert isinstance(value, ArrayLiteral)
    assert [plain(each) for each in value.elements] == ["b", "d", "", "f"]
    assert [key and plain(key) for key in value.keys] == [None, "k y", "e", None]


@pytest.mark.parametrize("name", ["declare", "export", "local", "readonly", "typeset"])
def test_declarations_hold_assignments(name: str) -> None:
    command = simple(f"{name} -x A=(1 2) B C=$d")
    kinds = [type(each) for each in command.words]
    assert kinds == [Word, Word, Assignment, Word, Assignment]


def test_redirects() -> None:
    command = simple('a >b 2>&1 <<< "c" &>>d {fd}>e 3<&- 4>|f')
    found = [(each.operator, each.fd, plain(each.target)) for each in command.redirects]
    assert found == [
        (">", None, "b"),
        (">&", "2", "1"),
        ("<<<", None, "c"),
        ("&>>", None, "d"),
        (">", "{fd}", "e"),
        ("<&", "3", "-"),
        (">|", "4", "f"),
    ]
    assert len(simple("a 2 >b").words) == 2
    assert len(simple("a2>b").words) == 1


def heredocs(text: str) -> list[Heredoc]:
    program = parse(text)
    assert not program.errors
    found = [node.heredoc for node in nodes(program) if isinstance(node, syntax.Redirect) and node.heredoc]
    return sorted(found, key=lambda each: each.body.start)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("cat <<E; b\nx $y\nE\nc", ["cat", "b", "c"]),
        ("cat <<E && b\nx $y\nE\nc", ["cat", "b", "c"]),
        ("cat <<E | b\nx $y\nE\nc", ["cat", "b", "c"]),
        ("cat <<E |\nx $y\nE\nb; c", ["cat", "b", "c"]),
        ("cat <<E >f 2>&1\nx $y\nE\nb", ["cat", "b"]),
        ("if a <<E\nx $y\nE\nthen b; fi", ["a", "b"]),
        ("{ a <<E; }\nx $y\nE\nb", ["a", "b"]),
        ("x=$(a <<E\nx $y\nE\n); b", ["a", "b"]),
        ("x=$(a <<E\nx $y\nE); b", ["a", "b"]),
        ("a <<E 'q\nr'\nx $y\nE\nb", ["a", "b"]),
    ],
)
def test_heredocs_begin_at_the_next_line(text: str, commands: list[str]) -> None:
    (heredoc,) = heredocs(text)
    assert plain(heredoc.body) == "x <Parameter>\n"
    assert text[heredoc.body.start : heredoc.body.end] == "x $y\n"
    assert heredoc.closed
    assert names(text) == commands


def test_heredocs_with_quotes_tabs_and_without_end() -> None:
    first, second = heredocs("cat <<'A' <<-B\n$x\\\nA\n\t1\n\t\t$y `z`\n\tB\n")
    assert (plain(first.body), first.quoted) == ("$x\\\n", True)
    assert (plain(second.body), second.strip_tabs) == ("1\n<Parameter> <CommandSubstitution>\n", True)
    (joined,) = heredocs("cat <<A\nx\\\nA\nA\n")
    assert plain(joined.body) == "xA\n"
    (escaped,) = heredocs('cat <<A\n\\$x "\\"" \'\nA')
    assert plain(escaped.body) == '$x "\\"" \'\n'
    (open_end,) = heredocs("cat <<A\nx\n")
    assert (plain(open_end.body), open_end.closed) == ("x\n", False)
    (broken,) = heredocs("cat <<A\nx $(\nA\n")
    assert isinstance(broken.body.parts[-1], Broken)


def test_lists_and_pipelines() -> None:
    last = one("a && b || ! c | d &")
    assert isinstance(last, Background)
    either = last.statement
    assert isinstance(either, AndOr) and either.operator == "||"
    assert isinstance(either.left, AndOr) and either.left.operator == "&&"
    assert isinstance(either.right, Pipeline) and either.right.negated
    timed = one("time -p a")
    assert isinstance(timed, Pipeline) and not timed.negated
    assert names("time srun a") == ["srun"]
    assert isinstance(one("coproc X { a; }"), Background)
    assert names("a; b & c\nd #e; f\ng") == ["a", "b", "c", "d", "g"]


def test_compound_commands() -> None:
    choice = one("if a; then b; elif c; then d; else e; fi > f")
    assert isinstance(choice, If)
    assert (len(choice.branches), len(choice.otherwise or ()), len(choice.redirects)) == (2, 1, 1)
    loop = one('for i in a "$@"; do b; done')
    assert isinstance(loop, For) and loop.words is not None
    assert (loop.name, len(loop.words), len(loop.body)) == ("i", 2, 1)
    bare = one("for i\ndo a; done")
    assert isinstance(bare, For) and bare.words is None
    counted = one("for ((i=0; i<3; i++)) { a; }")
    assert isinstance(counted, ArithmeticFor)
    assert (counted.header_start, counted.header_end) == (6, 19)
    until = one("until a; do b; done < <(c)")
    assert isinstance(until, While) and until.negated and len(until.redirects) == 1
    assert isinstance(one("select i in a; do b; done"), For)
    group = one("( a; b ) 2>&1")
    assert isinstance(group, Group) and group.subshell and len(group.body) == 2


def test_case() -> None:
    found = one("case $x in a|'b c') d;; (*) e ;;& f) esac")
    assert isinstance(found, Case)
    assert [[plain(each) for each in patterns] for patterns, _, _ in found.items] == [["a", "b c"], ["*"], ["f"]]
    assert [len(body) for _, body, _ in found.items] == [1, 1, 0] or found.items[2][2] == ""
    assert [end for _, _, end in found.items] == [";;", ";;&", ""]


@pytest.mark.parametrize("text", ["f() { a; }", "function f { a; }", "function f()\n{ a; }", "f ( ) # c\n(a) >b"])
def test_functions(text: str) -> None:
    found = one(text)
    assert isinstance(found, Function) and isinstance(found.body, Group)
    assert found.name == "f"
    assert names(text) == ["a"]


def test_conditions() -> None:
    found = one("[[ -f $a && ! ( $b =~ ^(x|y z)+$ ) || c < d ]]")
    assert isinstance(found, syntax.TestCommand)
    words = ["-f", "<Parameter>", "&&", "!", "(", "<Parameter>", "=~", "^(x|y z)+$", ")", "||", "c", "<", "d"]
    assert [plain(each) for each in found.words] == words


@pytest.mark.parametrize(
    ("text", "commands", "given_up"),
    [
        ("a\n)\nb", ["a", "b"], [")"]),
        ("a\nfi\nb", ["a", "b"], ["fi"]),
        ("a\nif b; then\nc\n", ["a", "c"], ["if b; then"]),
        ("a\nb 'c\nd", ["a", "d"], ["b 'c"]),
        ("a\nx=<y> # z\nb", ["a", "b"], ["x=<y> # z"]),
        ("f() {\na\nb ( c\nd\n}\ng", ["a", "d", "g"], ["b ( c"]),
        ("if a; then\nb (c)\nelse\nd\nfi\ne", ["a", "d", "e"], ["b (c)"]),
        ("a $(b; (c\nd", ["d"], ["a $(b; (c"]),
        ("a &&& b\nc", ["c"], ["a &&& b"]),
        ("a <<E | | b\nx\nE\nc", ["x", "E", "c"], ["a <<E | | b"]),
    ],
)
def test_what_stands_around_an_error_survives(text: str, commands: list[str], given_up: list[str]) -> None:
    program = parse(text)
    assert [text[start:end] for start, end in program.errors] == given_up
    assert names(text) == commands
    unparsed = [node for node in nodes(program.statements) if isinstance(node, Unparsed)]
    assert sorted((node.start, node.end) for node in unparsed) == list(program.errors)


def test_carriage_returns_before_newlines_are_blanks() -> None:
    assert names("a b\r\nif c\r\nthen d; fi\r\n") == ["a", "c", "d"]
    assert plain(simple("a b\r\n").words[1]) == "b"
    assert plain(simple("a b\rc").words[1]) == "b\rc"


def test_texts_as_words() -> None:
    text = 'x "a $b" \\" `c`'
    double = parse_word_text(text, 3, 7, "double")
    assert (plain(double), double.start, double.end) == ("a <Parameter>", 3, 7)
    assert plain(parse_word_text(text, 0, len(text), "heredoc")) == 'x "a <Parameter>" \\" <CommandSubstitution>'
    assert plain(parse_word_text("a 'b' \"c\"", 0, 9, "index")) == "a b c"
    assert isinstance(parse_word_text("a $(b", 0, 5).parts[-1], Broken)
    assert plain(parse_word_text("$b}", 0, 2)) == "<Parameter>"


def check_positions(program: Program, size: int) -> None:
    """All ranges lie in the text, and those of children in their parents'; bodies of heredocs are outside by nature."""

    def walk(node: object, low: int, high: int) -> None:
        if isinstance(node, Heredoc):
            assert 0 <= node.body.start <= node.body.end <= size
            walk(node.body, 0, size)
        elif isinstance(node, tuple | Node):
            start, end = getattr(node, "start", None), getattr(node, "end", None)
            if isinstance(start, int) and isinstance(end, int):
                assert low <= start <= end <= high, node
                low, high = start, end
            for var in node if isinstance(node, tuple) else vars(node).values():
                walk(var, low, high)

    walk(program.statements, 0, size)
    for start, end in program.errors:
        assert 0 <= start <= end <= size


def check_order(program: Program) -> None:
    at = 0
    for statement in program.statements:
        assert statement.start >= at
        at = statement.end


@pytest.mark.parametrize("text", PROGRAMS)
def test_positions_of_small_programs(text: str) -> None:
    program = parse(text)
    check_positions(program, len(text))
    check_order(program)
    for node in nodes(program):
        if isinstance(node, Literal) and len(node.text) == node.end - node.start:
            assert text[node.start : node.end] == node.text


TOKENS = st.sampled_from(
    (  # noqa: SIM905
        "if then elif else fi for do done while until case esac in select function time coproc { } ! [[ ]] ( ) (( )) "
        "; ;; & && | || |& < > << <<- <<< >& &> >> 2> $( ${ $(( $' $\" ` ' \" \\ = += a= a=( [ ] # $ $x ${x} ${x:- @( "
        "a b E EOF é \ue000 \r \r\n \0 \n \t : - / , ^ % * ? ~ 1"
    ).split(" ")
    + [" "] * 3
    + ["\n"] * 3
)


@settings(max_examples=examples(600), deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(TOKENS, max_size=40).map("".join), st.lists(TOKENS).map(" ".join)))
def test_any_text_is_parsed(text: str) -> None:
    program = parse(text)
    check_positions(program, len(text))
    check_order(program)
    for mode in ("double", "heredoc", "index"):
        body = parse_word_text(text, 0, len(text), mode)
        check_positions(Program((Simple((), (body,), (), 0, len(text)),), ()), len(text))


@pytest.mark.parametrize(
    "text", ["(" * 5000, "$(" * 5000, '"$(' * 3000, "${a:-" * 5000, "if a; then " * 2000, "{ " * 9000]
)
def test_deep_nesting_is_given_up(text: str) -> None:
    program = parse(text + "\nb")
    assert program.errors or program.cut is not None
    check_positions(program, len(text) + 2)


def test_the_nodes_of_a_tree_are_found_by_class_with_or_without_its_words() -> None:
    program = parse('A=1 srun "$B" x${C:-$D} $(date +%s) > "$E"\nfor each in a b; do declare F=$each; done\n')
    names = sorted(node.name for node in walk.nodes_of(program, Parameter))
    assert names == ["B", "C", "D", "E", "each"]
    assert sorted(node.name for node in walk.nodes_of(program, Assignment)) == ["A", "F"]
    assert len(walk.nodes_of(program, Simple)) == 3
    everything = walk.nodes(program)
    words = [node for node in everything if isinstance(node, Word)]
    assert len(words) == len(walk.nodes_of(program, Word)) == 13
    assert sorted(node.name for node in everything if isinstance(node, Parameter)) == names
