"""Secrets: which variables hold one, and where their values become words of a command, or lines of the job's log.

The arguments of a process are there for everybody on its node to read (`ps`, /proc/PID/cmdline), and Slurm keeps those
of srun and sbatch in its accounting (SubmitLine, since 21.08). The environment of a process is its owner's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Assigned, Context, Invocation
from sbatchlint.bash.values import Piece, Pieces, shown_text, text_of
from sbatchlint.job.commands.conditionals import is_asked_for
from sbatchlint.job.containers import Container
from sbatchlint.job.steps import step_around
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

_SERVICES = (
    "WANDB|HF|HUGGING_?FACE|OPENAI|ANTHROPIC|GEMINI|COHERE|MISTRAL|REPLICATE|TOGETHER|COMET|NEPTUNE|NGC|AZURE|AWS|S3"
    "|GITHUB|GITLAB|STORAGE|ACCOUNT|ENCRYPTION|SIGNING|LICENSE"
)
_NAMES = Regex(
    rf"(?:\w*_)?(?:TOKEN|API_?KEY|SECRET(?:_?(?:ACCESS_?)?KEY)?|ACCESS_KEY|AUTH_KEY|(?:{_SERVICES})_KEY|PASSWORD|PASSWD"
    r"|PASSPHRASE|CREDENTIALS?|JWT|(?:GH|GITHUB|GITLAB)_PAT|(?:DB|SQL|MYSQL|PG|POSTGRES|MONGO|REDIS|USER|LDAP)_PASS)"
    r"|SSHPASS|(?:\w+_)?PW",
    re.IGNORECASE,
)
# Tokens of a text, and words that merely end so.
_TEXT_TOKENS = Regex(
    r"(?:\w*_)?(?:EOS|BOS|PAD|MASK|SEP|CLS|UNK|SPECIAL|IMAGE|VIDEO|AUDIO|START|STOP|END|NEW|PER|NUM|N|MAX|MIN|TRAIN|EVAL"
    r"|PROMPT|NEXT|LAST|FIRST|CANCEL|REMOVE|EXTRA|STOPPING|TRIGGER|CHAT|ENTITY|CLASS)_TOKEN",
    re.IGNORECASE,
)
# Values that stand for a secret to be filled in, or name the file that holds it.
_NO_SECRET = Regex(
    r"|[/~.].*|<.*>|x+|\.+|\d{1,4}|(?:your|my|insert|enter|replace|change)[\w -]*|none|null|false|true|todo", re.I
)

# Whose words no other process sees.
_MORE = "[[ alias bg env fg hash help jobs kill logout pwd times type ulimit umask unalias wait"
_OWN = frozenset(BUILTINS) | frozenset(_MORE.split())
# What logs in with a key that its programs read from a variable too.
_LOGINS = {"wandb": "WANDB_API_KEY"}
_SEPARATOR = Regex(r"[ \t]*(?:&&|;)[ \t]*")


class Exposed(NamedTuple):
    """A secret among the words of a command.

    `span`: where it is expanded. `command`: the first command that gets it. `kind`: `export` (the text for a task
    exports it again), `container` (`-e NAME=value`), `option` (`--export=NAME=value`), `login`, or '' for others.
    `edits`: what takes it out, where the program has it anyway.
    """

    name: str
    span: Span
    command: Invocation
    kind: str
    edits: tuple[Edit, ...] = ()


class Traced(NamedTuple):
    """A secret that `set -x` writes to the log. `span`: what turns the tracing on; `use`: the place that is traced."""

    name: str
    span: Span
    written: str
    use: Span


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _NAMES.fullmatch(name) is not None and _TEXT_TOKENS.fullmatch(name) is None and name != "token"


class Secrets:
    """The secrets of a job, found by the names of variables."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.reads = [each for each in job.trace.reads if is_secret(each.name)]
        self.assigned = [each for each in job.assigned if is_secret(each.name) and _holds_secret(each)]
        # pieces of known assignments, by their place: they are found again where the variable is used
        self.places: dict[tuple[int, int], str] = {
            (piece.start, piece.end): each.name
            for each in self.assigned
            for piece in _pieces(each)
            if piece.end > piece.start
        }

    def name_of(self, piece: Piece) -> str | None:
        """The secret variable that a piece of a word is the value of."""
        expansion = piece.expansion
        if expansion is not None and not expansion.inputs and is_secret(expansion.name):
            return expansion.name
        return self.places.get((piece.start, piece.end))

    def exposed(self) -> Iterator[Exposed]:
        """Each place at which a secret becomes a word of a command, once."""
        seen: set[tuple[str, Span]] = set()
        if not self.reads:
            return
        for command in self.job.invocations:
            if command.name in _OWN or command.name in command.state.functions:
                continue
            for number, field in enumerate(command.argv):
                for piece in field:
                    name = self.name_of(piece)
                    if name is None:
                        continue
                    span = self._place(name, piece, command)
                    if span is not None and (name, span) not in seen:
                        seen.add((name, span))
                        yield self._judged(Exposed(name, span, command, ""), number)

    def _place(self, name: str, piece: Piece, command: Invocation) -> Span | None:
        """Where `$NAME` is written for a piece of a command's word."""
        if piece.expansion is not None and piece.expansion.name == name:
            return piece.expansion.span
        reads = [each for each in self.reads if each.name == name and each.order <= command.index]
        inside = [each for each in reads if command.span.start <= each.span.start and each.span.end <= command.span.end]
        return inside[0].span if inside else reads[-1].span if reads else None

    # --- repairs -----------------------------------------------------------------------------

    def _judged(self, found: Exposed, number: int) -> Exposed:
        command, name = found.command, found.name
        has_it = self._in_environment(command, name)
        container = getattr(command.spawn, "info", None)
        if isinstance(container, Container) and container.kind in ("docker", "podman"):
            if name in container.passed:
                return found._replace(kind="container", edits=self._without_value(found) if has_it else ())
            return found
        if command.name in ("srun", "sbatch", "salloc"):
            if f"{name}=" in shown_text(command.argv[number]) and _is_export_option(command, number):
                return found._replace(kind="option", edits=self._without_value(found) if has_it else ())
            element = self._element(found)
            if element is not None:
                passes = has_it and self._inherits(command, element.context)
                return found._replace(kind="export", edits=self._without_export(element) if passes else ())
        if command.name in _LOGINS and len(command.argv) > 1 and text_of(command.argv[1]) == "login":
            edits = self._without_login(command) if name == _LOGINS[command.name] and has_it else ()
            return found._replace(kind="login", edits=edits)
        login = self._login_inside(found)
        if login is None:
            return found
        passes = has_it and name == _LOGINS[login.name or ""] and self._inherits(command, login.context)
        return found._replace(kind="login", edits=self._without_login(login) if passes else ())

    def _in_environment(self, command: Invocation, name: str) -> bool:
        """Whether a command finds the variable in its environment, with the value that is expanded for it."""
        variable = command.state.variables.get(name)
        if variable is None:
            # it came with the job's environment, unless a file that nobody sees here has set it
            return not command.state.sourced
        return variable.exported and bool(variable.alternatives)

    def _inherits(self, command: Invocation, context: Context) -> bool:
        """Whether what an srun starts gets the environment of the batch shell, there where it is wanted."""
        request = self.job.request
        step = step_around(context)
        if step is None or command.name != "srun" or "export" in step.options:
            return False
        if request.asked("export") and request.text("export") != "ALL":
            return False
        between: Invocation | None = context.parent
        while between is not None and between is not command:
            info = getattr(between.spawn, "info", None)
            if isinstance(info, Container) and not info.inherits or getattr(between.spawn, "cleared", False):
                return False
            if getattr(between.spawn, "kind", "") in ("ssh", "sudo", "docker", "podman"):
                return False
            between = between.context.parent
        return True

    def _element(self, found: Exposed) -> Assigned | None:
        """The export in the text for a task that repeats a variable: `export NAME=$NAME`."""
        for each in self.job.assigned:
            if each.name != found.name or each.context.parent is None or not each.exported:
                continue
            starter: Invocation | None = each.context.parent
            while starter is not None and starter is not found.command:
                starter = starter.context.parent
            if starter is not None and each.name_span.end <= found.span.start <= each.name_span.end + 4:
                return each
        return None

    def _without_export(self, element: Assigned) -> tuple[Edit, ...]:
        text, name = self.job.source.text, re.escape(element.name)
        start = element.name_span.start
        before = re.search(r"export[ \t]+\Z", text[max(start - 24, 0) : start])
        after = re.compile(rf"{name}=(?P<q>\\?[\"']|)\$(?:{name}\b|{{{name}(?::?-)?}})(?P=q)").match(text, start)
        if before is None or after is None:
            return ()
        start -= len(before.group())
        return _cut_element(text, start, after.end())

    def _without_login(self, command: Invocation) -> tuple[Edit, ...]:
        last = command.argv[-1]
        if not last or command.redirects or len(command.argv) > 4:
            return ()
        text = self.job.source.text
        end = command.span.end
        if text[end : end + 1] in "\"'":
            end += 1
        return _cut_element(text, command.span.start, end)

    def _without_value(self, found: Exposed) -> tuple[Edit, ...]:
        """Takes `=$NAME` away behind NAME, where just that is written."""
        text = self.job.source.text
        start, end = found.span
        if text[start - 1 : start] == '"' and text[end : end + 1] == '"':
            start, end = start - 1, end + 1
        written = f"{found.name}="
        if text[start - len(written) : start] != written or re.match(r"[\w$./:{-]", text[end : end + 1]):
            return ()
        return (Edit(Span(start - 1, end), ""),)

    def _login_inside(self, found: Exposed) -> Invocation | None:
        for each in found.command.descendants():
            if each.name in _LOGINS and each.span.start <= found.span.start < each.span.end:
                return each
        return None

    # --- tracing -----------------------------------------------------------------------------

    def traced(self) -> Iterator[Traced]:
        """Each `set -x` of the script's own shell, with the first secret that it writes to the log."""
        first, line = self.job.interpreter_line
        if first in ("bash", "sh") and re.search(r"\s-\w*x", line):
            end = self.job.text.string.find("\n")
            found = self._first_traced(-1, None)
            if found is not None:
                yield Traced(found[0], self.job.span(0, end if end >= 0 else len(self.job.text.string)), "-x", found[1])
        for command in self.job.invocations:
            if command.name == "set" and not is_asked_for(command) and _tracing(command) is True:
                found = self._first_traced(command.index, command)
                if found is not None:
                    yield Traced(found[0], command.span, "set -x", found[1])

    def _first_traced(self, index: int, start: Invocation | None) -> tuple[str, Span] | None:
        """The first secret that the shell that traces writes out, before it stops tracing."""
        parent = None if start is None else start.context.parent
        end = len(self.job.invocations) + 1
        for command in self.job.invocations:
            if command.index > index and command.context.parent is parent and _tracing(command) is False:
                end = command.index
                break
        uses = [
            (each.order, each.name, each.name_span)
            for each in self.assigned
            if each.context.parent is parent and index < each.order <= end and not self._repeats(each)
        ]
        for command in self.job.invocations:
            if not index < command.index < end or command.context.parent is not parent:
                continue
            for field in command.argv:
                for piece in field:
                    name = self.name_of(piece)
                    place = None if name is None else self._place(name, piece, command)
                    if name is not None and place is not None:
                        uses.append((command.index, name, place))
        return min(uses)[1:] if uses else None

    @staticmethod
    def _repeats(assigned: Assigned) -> bool:
        return all(piece.text == "" for piece in _pieces(assigned))


def _pieces(assigned: Assigned) -> Iterator[Piece]:
    for each in assigned.alternatives:
        for field in each.fields or ():
            yield from field


def _holds_secret(assigned: Assigned) -> bool:
    """Whether what is assigned may be a secret: no placeholder, no name of a file."""
    for each in assigned.alternatives:
        for field in each.fields or ():
            if field and _NO_SECRET.fullmatch(shown_text(field).strip()) is None and not _is_path(field):
                return True
    return False


def _is_path(field: Pieces) -> bool:
    return len(field) > 1 and "/" in shown_text(field) and "://" not in shown_text(field)


def _is_export_option(command: Invocation, number: int) -> bool:
    """Whether a word holds the value of --export."""
    return shown_text(command.argv[number]).startswith("--export=") or text_of(command.argv[number - 1]) == "--export"


def _tracing(command: Invocation) -> bool | None:
    """Whether a `set` turns tracing on or off; None where it does neither."""
    if command.name != "set":
        return None
    found: bool | None = None
    words = [shown_text(field) for field in command.argv[1:]]
    for number, word in enumerate(words):
        if word == "--":
            break
        letters = word[1:] if word[:1] in ("-", "+") else ""
        named = letters.endswith("o") and words[number + 1 : number + 2] == ["xtrace"]
        if letters.isalpha() and ("x" in letters or named):
            found = word[0] == "-"
    return found


def _cut_element(text: str, start: int, end: int) -> tuple[Edit, ...]:
    """Takes a command and the `&&` or `;` behind it out of a text, with its line where it has one of its own."""
    separator = _SEPARATOR.match(text, end)
    stop = end if separator is None else separator.end()
    line = text.rfind("\n", 0, start) + 1
    alone = not text[line:start].strip()
    rest = re.compile(r"\\?\n").match(text, stop)
    if alone and rest is not None and (separator is not None or rest.group() == "\n"):
        return (Edit(Span(line, rest.end()), ""),)
    if separator is None or rest is not None:
        return ()
    return (Edit(Span(start, stop), ""),)
