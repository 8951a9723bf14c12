"""Hypothesis strategies that write small bash programs: assignments, quoting, expansions, arrays, heredocs, functions.

Every program runs without external commands and ends by itself. What it wants to be seen it prints by `PRINT`, with a
number of its own for each place, so that the words that bash gave can be found again (see test_drawn_programs.py).
The names `u1` to `u3` are set before the program runs, to one of `INPUTS` each (the numbers in its first line); the
evaluator does not know them. `u3`, which is computed with, is one of `NUMBERS`: a text from outside that names other
variables, or assigns to them, is not reckoned with where bash computes (docs/job.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

from shell_grammar import RULES

PRINT = "printf '\\1%s\\2' @"
INPUTS = ("", "a", "b c", "1", "7", "x.y")
NUMBERS = ("", "0", "12", "1", "7", "-2")
UNKNOWN = {"u1": INPUTS, "u2": INPUTS, "u3": NUMBERS}
VALUES = (
    "x", "ab", "a b", " a  b ", "", "1", "007", "10", "-3", "a/b/c.tar.gz", "A:b:C", "x*", "[ab]?", "x=1", "{p,q}",
    "it's", "$a", "a\\b", 'say "y"', "é", "tab\there", "two\nlines", "aXbXc", "k", "n", "--opt=v", "~", "#c", "a;b&c",
    "x,y,,z", "Hello World", "!", "-n", "%d", "0x1F", "b",
)  # fmt: skip
# Characters that need no quotes.
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%")
DEEPEST = 11

RULE = re.compile(r"<([a-z_]+)>")


class Writer:
    """Writes one program; `draw` decides everything."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw
        self.prints = 0
        self.functions: list[str] = []

    def below(self, count: int) -> int:
        return self._draw(st.integers(0, count - 1))

    def write(self, text: str, depth: int = 0) -> str:
        """A text with every rule in it written out."""
        return RULE.sub(lambda match: self.rule(match[1], depth + 1), text)

    def rule(self, name: str, depth: int) -> str:
        own = getattr(self, f"write_{name}", None)
        if own is not None:
            return str(own(depth))
        choices = RULES[name]
        return self.write(choices[0 if depth > DEEPEST else self.below(len(choices))].replace("¶", "\n"), depth)

    def write_bar(self, depth: int) -> str:
        return "|"

    def write_literal(self, depth: int) -> str:
        return self.quoted(VALUES[self.below(len(VALUES))])

    def quoted(self, text: str) -> str:
        """A way to write a text as one word."""
        way = self.below(6)
        if way == 0 and text and set(text) <= SAFE and not text.startswith(("~", "=", "-")):
            return text
        if way == 1:
            return '"' + "".join(["\\" + each if each in '$`"\\' else each for each in text]) + '"'
        if way == 2:
            names = {"\n": "\\n", "\t": "\\t", "'": "\\'", "\\": "\\\\", "é": "\\u00e9", "a": "\\x61", "b": "\\142"}
            return "$'" + "".join([names.get(each, each) for each in text]) + "'"
        if way == 3 and text and "\n" not in text:
            return "".join([each if each.isalnum() else "\\" + each for each in text])
        if way == 4 and len(text) > 1:
            return self.quoted(text[:1]) + self.quoted(text[1:])
        return "'" + text.replace("'", "'\\''") + "'"

    def write_call(self, depth: int) -> str:
        """The name of a function that is there."""
        return self.functions[self.below(len(self.functions))] if self.functions else ":"

    def shown(self, words: str) -> str:
        self.prints += 1
        return f"{PRINT}{self.prints} {words} >&3"

    def write_shown(self, depth: int) -> str:
        return self.shown(self.write("<words>", depth))

    def write_child(self, depth: int) -> str:
        """A process of its own, which has what is exported."""
        names = " ".join([f'\\"\\${{{name}-unset}}\\"' for name in "abcdne"])
        self.prints += 1
        before = self.write(
            ("", "<name>=<literal> ", "f() { local <name>=<literal>; ", "export <name>; ")[self.below(4)]
        )
        after = "; }; f" if before.startswith("f()") else ""
        return f'{before}/bin/bash -c "{PRINT}{self.prints} {names} >&3"{after}'

    def write_printed_counter(self, depth: int) -> str:
        return self.shown('"$n" "$i" ${#v[@]} "$a"')

    def write_seen(self, depth: int) -> str:
        return self.shown('"$e" "$n" "$c" "$d"')

    def write_heredoc(self, depth: int) -> str:
        quote = ("EOF", "'EOF'", '"EOF"', "-EOF", "\\EOF", "-'EOF'")[self.below(6)]
        tab = "\t" if quote[0] == "-" else ""
        lines = [tab + self.write("<heredoc_line>", depth) for _ in range(1 + self.below(2))]
        body = "\n".join((*lines, tab + "EOF", ""))
        return f"read -r -d '' {self.write('<name>')} <<{quote}\n{body}"

    def write_function(self, depth: int) -> str:
        """A definition; what it calls is no function."""
        name = "fg"[self.below(2)]
        known, self.functions = self.functions, []
        body = self.write("<local>\n<lines>\n<function_end>", depth)
        self.functions = sorted({*known, name})
        head = (f"{name}()", f"function {name}", f"{name} ()")[self.below(3)]
        return f"{head} {{\n{body}\n}}"

    def program(self) -> str:
        parts = ["# " + " ".join([str(self.below(len(INPUTS))) for _ in UNKNOWN]), "declare -A m"]
        if self.below(12) == 11:
            parts.append(("set -u", "set -e", "set -eu")[self.below(3)])
        if self.below(3):
            parts.append(self.write(f"<reference> n={self.below(3)} i={self.below(4)}"))
        for _ in range(2 + self.below(8)):
            parts.append(self.write("<statement>"))
            if self.below(5) < 2:
                parts.append(self.write_shown(0))
        every = " ".join([f'"${{{name}-unset}}"' for name in ("a", "b", "c", "d", "n", "i", "z", "l", "p", "1")])
        every += ' "$#" "${v[@]}" . "${w[@]}" . "${!v[@]}" "${#w[@]}" "${m[k]}" "${#m[@]}" "${m[one]-no}"'
        return "\n".join([*parts, self.shown(every)]) + "\n"

    def loops(self, rule: str) -> str:
        """A program of loops whose guards it decides itself, and of the assignments around them."""
        parts = ["# " + " ".join(["0"] * len(UNKNOWN)), f"n={self.below(3)} c= d="]
        parts += [self.write(rule) for _ in range(1 + self.below(3))]
        return "\n".join([*parts, self.shown('"$e" "$n" "$c" "$d" "${w[@]}"')]) + "\n"


@st.composite
def loops(draw: Callable[[st.SearchStrategy[int]], int]) -> str:
    """A program whose loops leave nothing open."""
    return Writer(draw).loops("<guarded>")


@st.composite
def nested_loops(draw: Callable[[st.SearchStrategy[int]], int]) -> str:
    """The same with loops inside of them, of which the guards ask for the variables of both."""
    return Writer(draw).loops("<guarded_twice>")


@st.composite
def programs(draw: Callable[[st.SearchStrategy[int]], int]) -> str:
    """A program, and nothing that bash would not end with by itself."""
    return Writer(draw).program()
