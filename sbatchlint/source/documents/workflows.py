"""Options of sbatch in the settings of workflow engines: profiles of Snakemake, and the configuration of Nextflow.

Of YAML, the scalars of a few keys are read, in all of their forms but anchors and tags. Snakemake puts them into a
command line, in which it fills in `{…}`; Nextflow writes `#SBATCH` and `clusterOptions` into each job.
"""

import re

from sbatchlint.source.documents.literals import Characters, at_place, formatted, slot, string_of
from sbatchlint.source.documents.snippet import Character, Snippet
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT, Source, Span

_KEY = Regex(
    r"^(?P<indent>[ ]*)(?:-[ ]+)?(?P<quote>[\"']?)"
    r"(?P<key>cluster|cluster-sync|cluster-generic-submit-cmd|cluster-generic-sync-submit-cmd|slurm_extra)(?P=quote)"
    r"[ ]*(?::(?=[ \n])|=)[ ]*",
    re.MULTILINE,
)
_BLOCK = Regex(r"([|>])[-+0-9]*[ ]*(?:#[^\n]*)?\n")
_SUBMITS = Regex(r"(?:^|[;&|({ \t\n])sbatch(?=[ \t\n]|\Z)")
_NO_SCALAR = Regex(r"[&*!{\[%@`?]|-[ ]|[\w.-]+:[ \n]")
_COMMENT = Regex(r"[ \t]#[^\n]*|[ \t\r]+(?=\n|\Z)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", " ": " "}

_EXECUTOR = Regex(r"\bexecutor\b[^\n]*?[\"'](\w[\w-]*)[\"']|\bexecutor\s*\{[^{}]*?\bname\s*=\s*[\"'](\w[\w-]*)[\"']")
_OPTIONS = Regex(r"^[^\n/]*?\bclusterOptions\s*=?\s*(?:\{\s*)?(?=[\"'\[])", re.MULTILINE)
_GROOVY = Regex(r"\"(?!\"\")((?:[^\"\\\n$]|\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\$\w)*)\"|'(?!'')([^'\\\n]*)'")
_FILLED_IN = Regex(r"\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\$\w[\w.]*")
_END = Regex(r"[ \t]*(?:[};\n]|//|\Z)")


def scripts_in_yaml(source: Source) -> list[Snippet]:
    """The command lines and options of a profile of Snakemake."""
    found = []
    for match in _KEY.finditer(source.text):
        value = _scalar(source.text, match.end(), len(match["indent"]))
        if value is None:
            continue
        if match["key"] == "slurm_extra":
            snippet = _of_extra(source, value)
        else:
            snippet = _command(source, formatted(value)) if _SUBMITS.search(string_of(value)) else None
        if snippet is not None:
            found.append(snippet)
    return found


def _command(source: Source, characters: Characters) -> Snippet:
    return Snippet(source, (), True, characters=characters, special="\\'\"{}#:\n")


def _of_extra(source: Source, value: Characters) -> Snippet | None:
    """The command line with the options of `slurm_extra`, which may be quoted twice, as it is Python to Snakemake."""
    while len(value) > 1 and value[0].string in "'\"" and value[-1].string == value[0].string:
        value = value[1:-1]
    text = string_of(value)
    if not text.lstrip().startswith("-") or "'" in text or '"' in text:
        return None
    first = Span(value[0].span.start, value[0].span.start)
    return _command(source, [*at_place("sbatch ", first), *formatted(value)])


def _scalar(text: str, at: int, indent: int) -> Characters | None:
    """The characters of a scalar; None for another value."""
    block = _BLOCK.match(text, at)
    if block is not None:
        return _block(text, block.end(), indent, folded=block[1] == ">")
    if text[at : at + 1] in "'\"" and at < len(text):
        return _quoted(text, at + 1, text[at])
    if at < len(text) and text[at] == "\n":
        at = _first_of_next(text, at, indent)
    if at < 0 or _NO_SCALAR.match(text, at) or text[at : at + 1] in ("", "\n", "#"):
        return None
    return _plain(text, at, indent)


def _first_of_next(text: str, at: int, indent: int) -> int:
    """Where a value that begins on a later line does; -1 if there is none."""
    while at < len(text) and text[at] == "\n":
        line = at + 1
        at = line
        while text[at : at + 1] in (" ", "\r"):
            at += 1
        if text[at : at + 1] not in ("\n", ""):
            return at if at - line > indent and text[at] != "#" else -1
    return -1


def _written(text: str, start: int, end: int) -> Characters:
    return [Character(text[at], Span(at, at + 1)) for at in range(start, end)]


def _plain(text: str, at: int, indent: int) -> Characters:
    """A scalar without quotes, whose lines are joined by spaces."""
    found: Characters = []
    while True:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        comment = _COMMENT.search(text, at, end)
        found += _written(text, at, comment.start() if comment is not None else end)
        after = _first_of_next(text, end, indent)
        if comment is not None and "#" in comment.group() or after < 0:
            return found
        found.append(Character(" ", Span(end, after), False))
        at = after


def _quoted(text: str, at: int, quote: str) -> Characters | None:
    found: Characters = []
    while at < len(text):
        if text[at] == quote:
            if quote == '"' or text[at + 1 : at + 2] != "'":
                return found
            found.append(Character("'", Span(at, at + 2)))
            at += 2
        elif text[at] == "\\" and quote == '"':
            if text[at + 1 : at + 2] == "\n":  # the line goes on
                after = at + 2
                while text[after : after + 1] in (" ", "\t"):
                    after += 1
                at = after
                continue
            if text[at + 1 : at + 2] not in _ESCAPES:
                return None
            found.append(Character(_ESCAPES[text[at + 1]], Span(at, at + 2)))
            at += 2
        elif text[at] == "\n":
            while found and found[-1].string in " \t\r" and found[-1].span.end - found[-1].span.start == 1:
                found.pop()
            after = at + 1
            while text[after : after + 1] in (" ", "\t"):
                after += 1
            found.append(Character(" ", Span(at, after), False))
            at = after
        else:
            found.append(Character(text[at], Span(at, at + 1)))
            at += 1
    return None


def _block(text: str, at: int, indent: int, folded: bool) -> Characters:
    """A block of lines, as they are or joined by spaces."""
    found: Characters = []
    own = -1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].removesuffix("\r")
        depth = len(line) - len(line.lstrip(" "))
        if line.strip():
            own = depth if own < 0 else own
            if own <= indent or depth < own:
                break
            found += _written(text, at + own, at + len(line))
        found.append(Character(" " if folded else "\n", Span(end, min(end + 1, len(text))), not folded))
        at = end + 1
    while found and found[-1].string.isspace():
        found.pop()
    return found


# --- Nextflow ---------------------------------------------------------------------------------------------------------


def scripts_in_nextflow(source: Source) -> list[Snippet]:
    """The directives of `clusterOptions`, where the jobs of all of a file are those of Slurm."""
    executors = {name for names in _EXECUTOR.findall(source.text) for name in names if name}
    if "slurm" not in executors or executors - {"slurm", "local"}:
        return []
    found = []
    for match in _OPTIONS.finditer(source.text):
        at = match.end()
        is_list = source.text[at] == "["
        at += is_list
        while True:
            literal = _GROOVY.match(source.text, at)
            if literal is None:
                break
            snippet = _directive(source, literal, is_list)
            if snippet is not None:
                found.append(snippet)
            comma = re.compile(r"\s*,\s*").match(source.text, literal.end()) if is_list else None
            if comma is None:
                break
            at = comma.end()
    return found


def _directive(source: Source, literal: re.Match[str], is_part: bool) -> Snippet | None:
    """The directive that Nextflow writes for a string; None for what is not an option."""
    number = 1 if literal[1] is not None else 2
    start, end = literal.span(number)
    found: Characters = []
    at = start
    for filled in _FILLED_IN.finditer(source.text, start, end) if number == 1 else ():
        found += _written(source.text, at, filled.start())
        found.append(slot(Span(*filled.span())))
        at = filled.end()
    found += _written(source.text, at, end)
    if not string_of(found).lstrip().startswith(("-", SLOT)) or not string_of(found).strip():
        return None
    if not is_part and _END.match(source.text, literal.end()) is None:
        found.append(slot(Span(end, end)))  # something is added
    prefix = at_place("#SBATCH ", Span(start, start))
    return Snippet(source, (), True, characters=[*prefix, *found], special="\\'\"$")
