"""Exact edits of directive lines."""

from collections.abc import Iterable

from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, Token
from sbatchlint.slurm.model import Problem, Setting
from sbatchlint.source.edits import Edit, insert, remove
from sbatchlint.source.regex import Regex

_PLAIN_VALUE = Regex(r"[^\s\"'\\#]+")
# A comment that would become a directive at the start of a line.
_LIVE_COMMENT = Regex(r"#(?:SBATCH|SLURM|PBS|BSUB|!)")


def quote(value: str) -> str:
    """A value as written in a directive to reach sbatch unchanged."""
    if _PLAIN_VALUE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def insertion(directives: Directives, options: str, component: int = 0) -> Edit:
    """The edit that adds a line `#SBATCH options` after the last one of a component, or else after the shebang.

    For the string of `sbatch --wrap` it adds the options to that command.
    """
    if directives.appended_at is not None:
        return insert(directives.appended_at, f" {options}")
    text = directives.text
    string = text.string
    lines = [line for line in directives.lines if line.component == component]
    if not lines and not string.startswith("#!"):
        where = text.span(0, 0).start
        return insert(where, f"#SBATCH {options}\n")
    at = string.find("\n", lines[-1].end if lines else 0)
    if at < 0:
        where = text.span(len(string), len(string)).start
        return insert(where, f"\n#SBATCH {options}")
    newline = "\r\n" if string[at - 1] == "\r" else "\n"
    where = text.span(at, at + 1).end
    return insert(where, f"#SBATCH {options}{newline}")


def replacement(directives: Directives, setting: Setting, value: str) -> Edit:
    """The edit that gives a setting another value, quoted for sbatch, or for the shell on a command line."""
    if setting in directives.overriding:
        from shlex import quote as shell_quote  # rarely needed

        if setting.value_span is None:
            return insert(setting.option_span.end, f"={shell_quote(value)}")
        return Edit(setting.value_span, shell_quote(value))
    quoted = quote(value)
    if setting.value_token is None or setting.value_span is None:
        equals = "=" if setting.written.startswith("--") else ""
        return insert(setting.option_span.end, equals + quoted)
    token = setting.value_token
    if setting.separate or setting.value_span.start != setting.line.text.span(token.start, token.end).start:
        return Edit(setting.value_span, quoted)
    # A quote that begins before the value: the whole word is overwritten.
    return Edit(setting.value_span, token.text[: setting.value_start] + quoted)


def removal(directives: Directives, settings: Iterable[Setting | Problem]) -> list[Edit]:
    """The edits that remove settings or refused options.

    A line without other words is removed with its newline; its comment stays as a line.
    """
    # By line and word, the indexes of the characters to remove.
    lines: dict[int, tuple[DirectiveLine, dict[Token, set[int]]]] = {}

    def take(line: DirectiveLine, token: Token, indexes: range) -> None:
        lines.setdefault(id(line), (line, {}))[1].setdefault(token, set()).update(indexes)

    edits: list[Edit] = []
    for setting in settings:
        token = setting.token
        if token is None:
            continue
        if setting in directives.overriding:
            edits.append(remove(setting.span))
            continue
        glued = setting.value_token is token or not hasattr(setting, "separate")
        if setting.start == 0:
            take(setting.line, token, range(len(token.text)))
        else:
            take(setting.line, token, range(setting.start, len(token.text) if glued else setting.start + 1))
        if setting.value_token is not None and setting.value_token is not token:
            line = getattr(setting, "value_line", None) or setting.line
            take(line, setting.value_token, range(len(setting.value_token.text)))
    for line, taken in lines.values():
        edits.extend(_cut(directives, line, taken))
    return edits


def _is_gone(token: Token, taken: set[int]) -> bool:
    """Whether nothing of a word is left, or only the dash of its short options."""
    return (
        len(taken) == len(token.text) or token.text[0] == "-" and 0 not in taken and len(taken) == len(token.text) - 1
    )


def _cut(directives: Directives, line: DirectiveLine, taken: dict[Token, set[int]]) -> list[Edit]:
    text = directives.text
    string = text.string
    gone = {token for token, indexes in taken.items() if _is_gone(token, indexes)}
    if len(gone) == len(line.tokens) and line.dropped is None and line.fault is None and not line.separator:
        if line.comment is None:
            return [remove(line.full)]
        comment = string[line.comment_start : line.end].rstrip(BLANKS)
        return [Edit(line.span, f"# {comment}" if _LIVE_COMMENT.match(comment) else comment)]
    edits: list[Edit] = []
    for token, indexes in taken.items():
        if token in gone:
            start = token.start
            while start > line.words_start and string[start - 1] in BLANKS:
                start -= 1
            edits.append(remove(text.span(start, token.end)))
        else:
            first, last = min(indexes), max(indexes)
            end = token.end if last == len(token.text) - 1 else token.offset(last) + 1
            edits.append(Edit(text.span(token.offset(first), end), ""))
    return edits
