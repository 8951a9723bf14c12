"""Our reading of scripts against the grammar of tree-sitter-bash: where do commands start?

Compared are the starts of commands that have a word. Left out is what one of the two does not read: heredocs, arithmetic,
`[[ ]]`, and its ERROR nodes. Where they differ it must be by a known fault of the grammar, and bash must be on our side.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import Any

import bashlex
import pytest

from bash_referee import bash_accepts, nodes
from sbatchlint.shell import syntax
from sbatchlint.shell.parse import parse
from test_referee import CASES, CORPUS, PROGRAMS, scripts

tree_sitter = pytest.importorskip("tree_sitter", reason="tree-sitter is not installed")
tree_sitter_bash = pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

COMMANDS = {"command", "declaration_command", "unset_command", "test_command"}
RESERVED = set(
    [
        "!",
        "[[",
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "function",
        "if",
        "in",
        "select",
        "then",
        "time",
        "until",
        "while",
        "{",
        "}",
    ]
)

# What tree-sitter-bash 0.25 misreads: how it looks in a script, and programs that show it.
KNOWN = {
    "a value of several parts with an expansion in the middle: its end is a command": (
        r"^\s*\w+=\S*[$\]]\S*\$\S*",
        ["A=$x/$y/z", "A=$x.$y.z", "B=1\nA=$x,$y,$z"],
    ),
    "assignments on one line: the next line is their command": (r"\w=\S*[ \t]+\w+=", ["A=1 B=2\nc"]),
    "reserved words before a pipeline are names of commands": (
        r"\b(?:time|coproc)\b|! !",
        ["time srun a", "time -p a | b", "coproc a b", "time { a; }", "! ! a"],
    ),
    "what follows a heredoc on its line": (
        r"<<-?\s*\w+ *(?:[;)]|<<|\w|2>&1)",
        ["cat <<E; b\nx\nE\n", "cat <<A <<B\n1\nA\n2\nB\n", "( cat <<E )\nb\nE\n", "a <<E 2>&1 | b c\nd\nE\n"],
    ),
    "arithmetic as a default value is a subshell": (r"\$\{\w+:?-\$\(\(", ["echo ${X:-$((1+2))}", "A=${X:-$((a))}"]),
    "several backquotes in default values": (r"\$\{\w+:-`", ["echo ${a:-$(b)} ${a:-`b`} ${a:-${b:-c}}"]),
    "the test of `$#` after `||`": (r"\|\| \[ \$#", ['if [ -z "$a" ] || [ $# -lt 2 ]\nthen\n  b\nfi']),
    "headers of `for` without `in`, or over lines": (
        r"\bfor (?:\w+ do|\w+\nin|\$\w+)",
        ["for i do a; done", "for i\nin a b\ndo c; done"],
    ),
    "functions whose body is a loop, or with a quoted name": (
        r'\w\(\) for|["$]\w+"?\(\)',
        ["f() for i in a; do b; done", '"f"() { a; }'],
    ),
    "arrays as arguments are subshells": (r"\b(?:eval|let|alias|declare) \w+=\(", ["eval a=(b c)", "let a=(1+2)"]),
    "a number for the name of a variable": (r"^\d+=", ["1=b"]),
}


def command_starts(text: str) -> tuple[set[int], set[int]]:
    """Where commands start, as we and as the grammar read it."""
    data = text.encode("utf-8", "surrogateescape")
    blind: list[tuple[int, int]] = []
    mine: set[int] = set()
    for node in nodes(parse(text)):
        if isinstance(node, syntax.Simple) and node.words:
            mine.add(node.start)
        elif isinstance(node, syntax.Heredoc):
            blind.append((node.body.start, node.body.end))
        elif isinstance(node, syntax.Arithmetic | syntax.ArithmeticCommand):
            # In `${X:-$((…))}` the grammar reads commands: that is to be seen.
            if not re.search(r"\{\w+:?-$", text[: node.start]):
                blind.append((node.expression_start, node.expression_end))
        elif isinstance(node, syntax.ArithmeticFor):
            blind.append((node.header_start, node.header_end))
        elif isinstance(node, syntax.Unparsed):
            blind.append((node.start, node.end))
    his: set[int] = set()
    todo: list[Any] = [PARSER.parse(data).root_node]
    while todo:
        node = todo.pop()
        start, end = (len(data[:at].decode("utf-8", "surrogateescape")) for at in (node.start_byte, node.end_byte))
        if node.type in ("ERROR", "heredoc_body"):
            blind.append((start, end))
            continue
        name = node.child_by_field_name("name")
        nameless = name is not None and name.child_count and name.children[0].is_missing
        if node.type in COMMANDS and not nameless and (node.type != "test_command" or text[start:end][:2] != "[["):
            if not text.startswith("((", start):
                his.add(start)
        todo.extend(node.children)
    return tuple({at for at in starts if not any(a <= at < b for a, b in blind)} for starts in (mine, his))  # type: ignore[return-value]


def starts_for_bash(text: str, at: int) -> bool:
    """Whether bash takes another command and an assignment there, and the word is none that it reserves."""
    word = re.match(r"[^\s;&|()<>]*", text[at:])
    probe = text[:at] + "if :; then :; fi; A=1 " + text[at:]
    done = subprocess.run(
        ["bash", "-n"], input=probe.encode("utf-8", "surrogateescape"), capture_output=True, timeout=60
    )
    return done.returncode == 0 and not done.stderr and word is not None and word[0] not in RESERVED


def starts_for_bashlex(text: str) -> set[int] | None:
    """The starts of commands that have a word; None where bashlex cannot read the program."""
    found: set[int] = set()

    class Visitor(bashlex.ast.nodevisitor):  # type: ignore[misc]
        def visitcommand(self, node: Any, parts: Any) -> None:
            if any(part.kind == "word" for part in parts):
                found.add(node.pos[0])

    try:
        for tree in bashlex.parse(text):
            Visitor().visit(tree)
    except Exception:
        # It raises NotImplementedError, AttributeError and others on valid text.
        return None
    return found


def reason(text: str, at: int) -> str | None:
    """The known fault that shows in the lines about a difference."""
    before = text[:at].split("\n")[-5:]
    region = "\n".join(before) + "\n".join(text[at:].split("\n")[:2])
    return next((name for name, (look, _) in KNOWN.items() if re.search(look, region, re.MULTILINE)), None)


@pytest.mark.parametrize("program", [each for _, programs in KNOWN.values() for each in programs])
def test_the_grammar_still_misreads(program: str) -> None:
    mine, his = command_starts(program)
    assert mine != his, "read right now: remove the note"
    truth = starts_for_bashlex(program)
    if truth is not None:
        assert mine == truth
    else:
        assert all(starts_for_bash(program, at) for at in mine)
        assert not any(starts_for_bash(program, at) for at in his - mine)


@pytest.mark.parametrize("text", [*PROGRAMS, *[path.read_bytes().decode() for path in CASES]])
def test_the_grammar_reads_the_same_but_for_known_faults(text: str) -> None:
    text += "\n"
    if not bash_accepts(text) or parse(text).errors:
        return
    mine, his = command_starts(text)
    for at in mine ^ his:
        assert reason(text, at), text[at : at + 60]
        # An assignment is where a command could start; that no word follows it, the first test shows.
        assert re.match(r"\w+=", text[at:]) or starts_for_bash(text, at) == (at in mine), text[at : at + 60]


@pytest.mark.skipif(not CORPUS, reason="SBATCHLINT_CORPUS names no folder")
def test_the_grammar_agrees_on_nearly_every_command_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    compared = 0
    differing: Counter[str | None] = Counter()
    for _, text in scripts(CORPUS or ""):
        if not parse(text).errors:
            mine, his = command_starts(text)
            compared += len(mine | his)
            differing.update(reason(text, at) for at in mine ^ his)
    with capsys.disabled():
        print(f"\n{compared} starts of commands, {differing.total()} differing: {differing.most_common()}")
    assert compared and differing.total() <= 0.03 * compared
