"""Our reading of scripts against the grammar of tree-sitter-bash: where do commands start?

Compared are the starts of commands that have a word. Left out is what one of the two does not read: heredocs,
arithmetic, `[[ ]]`, ERROR nodes. Where they differ it must be a known fault of the grammar, and bash be on our side.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from typing import Any

import pytest

from bash_referee import bash_accepts, nodes
from sbatchlint.bash.syntax import tree as syntax
from sbatchlint.bash.syntax.parser import parse
from test_referee import CASES, CORPUS, PROGRAMS, scripts

tree_sitter = pytest.importorskip("tree_sitter", reason="tree-sitter is not installed")
tree_sitter_bash = pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")
bashlex = pytest.importorskip("bashlex", reason="bashlex is not installed")
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

COMMANDS = {"command", "declaration_command", "unset_command", "test_command"}
RESERVED = r"!|\[\[|[{}]|case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while"
reserved = re.compile(rf"(?:{RESERVED})(?![^\s;&|()<>])").match

# What tree-sitter-bash 0.25 misreads: how it looks in a script, and programs that show it, divided by `§`.
KNOWN = {
    "end of a value of parts": (r'^\s*\w+=(?:"[^"]*")?\S*\$\S*\$', """A=$x/$y/z§A=$x.$y.z§A=$x,$y,$z§A="b"c=$x,d=$y"""),
    "line after assignments": (r"\w=\S*[ \t]+\w+=", "A=1 B=2\nc§if a; then A=1  B=2\nelse c; fi"),
    "line after an assignment with a redirect": (r"\w=\S*[<>]", "A=b>c\nd"),
    "reserved word": (r"\b(?:time|coproc)\b|! !", "time srun a§time -p a | b§coproc a b§time { a; }§! ! a"),
    "rest of the line of a heredoc": (
        r"<<-?\w+ ?(?:[;)]| (?:<<|\w))",
        "cat <<E; b\nx\nE\n§cat <<A <<B\n1\nA\n2\nB\n§( cat <<E )\nb\nE\n§a <<E 2>&1 | b c\nd\nE\n",
    ),
    "arithmetic as a default value": (r"\$\{\w+:?-\$\(\(", "echo ${X:-$((1+2))}§A=${X:-$((a))}"),
    "backquotes in default values": (r"\$\{\w+:-`", "echo ${a:-$(b)} ${a:-`b`} ${a:-${b:-c}}"),
    "`for`: no `in`, or on lines": (r"\bfor (?:\w+ do|\w+\nin|\$\w+)", "for i do a; done§for i\nin a b\ndo c; done"),
    "function: a loop, or quoted": (r'\w\(\) for|["$]\w+"?\(\)', """f() for i in a; do b; done§"f"() { a; }"""),
    "array as an argument": (r"\b(?:eval|let|alias|declare) \w+=\(", "eval a=(b c)§let a=(1+2)"),
    "number as a name": (r"^\d+=", "1=b"),
}
# These are seen far below what they come from: after a test of `$#` all from a redirect to the next `]` is lost.
FAR = {
    "delimiter of a heredoc without a command": (r"^<<\w+$", "<<A\nb\nA\nc"),
    "test of `$#`": (r"\[ \$# ", "[ $# -lt 2 ]\na > b\n[ c ]§if [ $# -lt 2 ]\nthen b\nfi > c\nif [ $e ]\nthen f\nfi"),
}
SHOWN = [program for _, programs in (KNOWN | FAR).values() for program in programs.split("§")]


def command_starts(text: str) -> tuple[set[int], set[int], set[int]]:
    """Where commands start, as we and as the grammar read it, and those of both that can be compared."""
    blind: list[tuple[int, int]] = []
    mine: set[int] = set()
    for node in nodes(parse(text)):
        if isinstance(node, syntax.Simple) and node.words:
            mine.add(node.start)
        elif isinstance(node, syntax.Heredoc):
            blind.append((node.body.start, node.body.end))
        elif isinstance(node, syntax.Arithmetic | syntax.ArithmeticCommand | syntax.Unparsed):
            if not re.search(r"\{\w+:?-$", text[: node.start]):  # in default values the grammar reads commands
                blind.append((node.start, node.end))
    data = text.encode("utf-8", "surrogateescape")
    his: set[int] = set()
    todo: list[Any] = [PARSER.parse(data).root_node]
    for node in todo:
        start, end = (len(data[:at].decode("utf-8", "surrogateescape")) for at in (node.start_byte, node.end_byte))
        nameless = (name := node.child_by_field_name("name")) and any(each.is_missing for each in name.children)
        if node.type in COMMANDS and not nameless and text[start : start + 2] not in ("[[", "(("):
            his.add(start)
        if node.type in ("ERROR", "heredoc_body"):
            blind.append((start, end))
        else:
            todo += node.children
    return mine, his, {at for at in mine | his if not any(start <= at < end for start, end in blind)}


def starts_for_bash(text: str, at: int) -> bool:
    """Whether bash takes another command and an assignment there, and the word is none that it reserves."""
    probe = (text[:at] + "if :; then :; fi; A=1 " + text[at:]).encode("utf-8", "surrogateescape")
    done = subprocess.run(["bash", "-n"], input=probe, capture_output=True, check=False, timeout=300)
    return done.returncode == 0 and not done.stderr and not reserved(text, at)


def starts_for_bashlex(text: str) -> set[int] | None:
    """The starts of commands that have a word; None where bashlex cannot read the program."""
    found: set[int] = set()
    try:
        todo: list[Any] = bashlex.parse(text)
    except Exception:
        # It raises NotImplementedError, AttributeError and others on valid text.
        return None
    for node in todo:
        if isinstance(node, bashlex.ast.node):
            if node.kind == "command" and any(part.kind == "word" for part in node.parts):
                found.add(node.pos[0])
            todo += vars(node).values()
        todo += node if isinstance(node, list) else []
    return found


def reason(text: str, at: int) -> str | None:
    """The known fault that shows in the lines about a difference."""
    after = re.match(r"(?:.*\\\n)*.*\n?.*", text[at:])
    region = "\n".join(text[:at].split("\n")[-6:]) + (after[0] if after else "")
    near = (name for name, (look, _) in KNOWN.items() if re.search(look, region, re.MULTILINE))
    far = (name for name, (look, _) in FAR.items() if re.search(look, text[: at + 3], re.MULTILINE))
    return next(near, next(far, None))


@pytest.mark.parametrize("program", SHOWN)
def test_the_grammar_still_misreads(program: str) -> None:
    mine, his, compared = command_starts(program)
    assert compared & (mine ^ his), "read right now: remove the note"
    truth = starts_for_bashlex(program)
    if truth is None or "`" in program:
        # bashlex does not read it, or not all of it: `bash -n` is asked.
        truth = {at for at in mine | his if starts_for_bash(program, at)}
    assert mine == truth


@pytest.mark.parametrize("text", [*[each + "\n" for each in PROGRAMS], *[path.read_text() for path in CASES]])
def test_the_grammar_reads_the_same_but_for_known_faults(text: str) -> None:
    if not bash_accepts(text) or parse(text).errors:
        return
    mine, his, compared = command_starts(text)
    for at in compared & (mine ^ his):
        assert reason(text, at), text[at : at + 60]
        if at in his and re.match(r"\w+=", text[at:]):
            # Something does start there: assignments, which no word follows.
            assert 0 not in (starts_for_bashlex(text[at:].split("\n")[0]) or ()), text[at : at + 60]
        else:
            assert starts_for_bash(text, at) == (at in mine), text[at : at + 60]


@pytest.mark.skipif(not CORPUS, reason="SBATCHLINT_CORPUS names no folder")
def test_the_grammar_agrees_on_nearly_every_command_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    reasons: Counter[str | None] = Counter()
    for _, text in scripts(CORPUS or ""):
        if not parse(text).errors:
            mine, his, compared = command_starts(text)
            reasons.update(reason(text, at) if at in mine ^ his else "the same" for at in compared)
    with capsys.disabled():
        print(f"\n{reasons.total()} starts of commands: {reasons.most_common()}")
    assert reasons["the same"] > 0.97 * reasons.total()
