"""Words that were in messages once, and that nobody says: they may not come back."""

import ast
import re

import pytest

from conftest import ROOT

# Each with what to write instead.
WORDS = {
    r"goes unseen": "is ignored",
    r"\b(?:last|each|every) turn\b|turn's (?:number|status)": "iteration",
    r"\btakes? over\b": "inherits",
    r"\bthe least severity\b": "the minimum severity",
    r"\blist of texts\b": "list of strings",
    r"\ba fault of sbatchlint\b": "a bug in sbatchlint",
    r"(?<!there )(?<!that )\bis no (?:array|list|name|number|option|part|path|variable)\b": "is not a",
    r"\bbehind (?:it|each|them|that|this|its?) ?[^\w]?": "after it",
    r"\bthe blank (?:behind|after)\b|\bput a blank\b|\bremove the blank\b": "space",
    r"\bmend\b": "correct, or write",
    r"takes itself for node": "assumes that it is",
    r"\banew\b": "again, or overwrites",
    r"\btime-out\b": "timeout",
    r"\bas it stands\b": "literally",
    r"(?<!there )(?<!that )\b(?:is|are) no (?:mail|pattern|multiple)\b": "is not a",
    r"\beverybody\b": "everyone, or anyone",
    r"\bwins? over\b": "overrides",
    r"\b(?:is|are) gone with it\b": "is lost",
    r"\bput a blank\b|\bblanks (?:around|before|after)\b|\ba blank (?:after|before)\b": "space",
    r"\bin front of\b": "before",
    r"\btakes? (?:this|it|them|all of it) for\b": "reads it as",
    r"\b(?:set|is) given again\b": "is set again",
    r"\b(?:job|script|step|program) asks? for\b": "requests",
    r"\bask for (?:GPUs|more|less|fewer)\b": "request",
    r"\bmaybe with other\b|\bas there\?": "name what differs",
    r"\btrains? a copy of its own\b|\bas a command of its own\b": "a separate copy, a separate command",
    r"\bif that is (?:not )?meant\b|\bthose that are meant\b": "if that is intended",
    r"\bnothing reads\b": "is set but never used, or nothing uses",
    r"\bfrom (?:Slurm )?\d\d\.\d\d on\b": "in Slurm 24.05 and later",
    r"\bstands? (?:behind|beside|above|before|after)\b": "follows, precedes, is next to",
    r"\blet awk\b|\bleave it to Slurm\b": "use awk, let Slurm set it",
    r"\bto submit(?:ted)? alone\b|\bgoes to the steps alone\b": "only",
    r"\bseldom\b": "rarely",
    r"\bleave (?:it|this|them) out\b|\bleave .-t. out\b": "remove it",
    r"\bprocesses of yours\b|\bprocess of yours\b": "your processes",
    r"\bas nothing\b|\bas it holds\b": "because, or a colon",
}
SAID = re.compile("|".join(f"(?:{word})" for word in WORDS))
FOLDERS = ("checks", "sbatchlint/cli", "sbatchlint/analysis", "sbatchlint/slurm", "sbatchlint/job")


def _strings(text: str) -> list[tuple[int, str]]:
    """The strings of a program that are neither documentation nor examples, with their lines."""
    tree = ast.parse(text)
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        body = node.body if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) else []
        if body and isinstance(body[0], ast.Expr):
            left_out.add(body[0].value)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "CASES":
            left_out.update(ast.walk(node))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in left_out]
    return [(node.lineno, node.value) for node in found if isinstance(node.value, str)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_such_word_is_said(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for line, text in _strings(path.read_text()):
            found = SAID.search(text)
            assert found is None, f"{path.relative_to(ROOT)}:{line}: {found[0]!r} in {text!r}"
