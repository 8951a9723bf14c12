"""Others can read a token, key or password: it is an argument, in the log, or in another script.

The arguments of a process can be read by everybody on its node: `ps` shows `srun bash -c "export HF_TOKEN=…"` and
`wandb login …` with the value in full. Slurm also keeps the command lines of srun and sbatch in its accounting, where
`sacct -o SubmitLine` shows them long after the job. With `set -x` bash writes the value into the job's log, and a
heredoc without quotes (`cat <<EOF > run.sh`) writes it into the script that it makes. Only its owner can read the
environment of a process: a variable that the batch script exports is already in the environment of every step. The
value itself is never shown here. Advice only for short-lived secrets, such as a registration token, for those that the
job itself generates, and for the token of a server's session which is printed for its user.

## Fix

Removes the value where the program has the variable anyway: an `export NAME=$NAME` in the shell program of a step,
`=$NAME` after docker's `-e NAME` and in `--export`, a `wandb login` whose key is in WANDB_API_KEY. Safe: the program
reads the same variable, with the same value. None where the variable is not exported, or does not reach the program in
another way.

## References

proc(5), /proc/pid/cmdline; sacct(1), SubmitLine (since Slurm 21.08); docker run, `--env`; a job whose log showed its
token: https://github.com/NVIDIA/TensorRT-LLM/issues/17114
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assignments_by_name, holder_of, reads_in
from sbatchlint.analysis.expansion.secret_arguments import is_in_environment, without_record
from sbatchlint.analysis.script.centres import gets_whole_nodes
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.servers import server_name
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Context, Invocation, VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase, Piece, Pieces, shown_text, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, remove
from sbatchlint.job.commands.wrappers import WRAPPERS
from sbatchlint.job.containers import Container
from sbatchlint.job.programs import commands_named, commands_with_option
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_names import is_secret, is_short_lived
from sbatchlint.source.secrets import secrets_in

CARD = Card(
    "SB902", "secret-on-command-line", severity="warning", fix="sometimes", since="0.1.0", lasting=True,
    unseen="Nothing; others may read the secret while the command runs.",
)  # fmt: skip

# Placeholders for a secret, and names of files that contain it.
NO_SECRET = Regex(
    r"|[/~.].*|<.*>|x+|\.+|\*+|\d{1,4}|(?:your|my|insert|enter|replace|change)[\w -]*|none|null|false|true|todo"
    r"|anonymous.*",
    re.I,
)
# Commands whose arguments other processes cannot see.
OWN = frozenset(BUILTINS) | frozenset(
    {"[[", "alias", "bg", "env", "fg", "hash", "help", "jobs", "kill", "logout", "pwd", "times", "type", "ulimit"}
    | {"umask", "unalias", "wait"}
)
# Commands with a login, and the variable from which they also read the key.
LOGINS = {"wandb": "WANDB_API_KEY"}
# Commands that generate a secret.
MAKERS = frozenset({"mcookie", "openssl", "pwgen", "uuidgen"})
# Commands that take a secret from no file or variable, only as an option.
_ONLY_AS_OPTION = (("ray", "start"),)
_PRINTING = frozenset({"echo", "printf", "cat"})
# Values of options and variables with such names that are not secrets: numbers, paths, switches.
NO_LITERAL = Regex(r"|[-/~.@].*|\d{1,4}|(?:none|null|false|true|auto|env|yes|no)|[^{<]*/.*|anonymous.*", re.I)


def check(job: Job) -> Iterator[Finding]:
    secrets = Secrets(job)
    exposed = list(_exposed(secrets))
    yield from exposed
    yield from _written(secrets, [each.span for each in exposed])
    if secrets.reads or secrets.assignments:
        printed = _printed(secrets)
        yield from _traced(secrets, printed)
        yield from _of_printed(secrets, printed)
    if secrets.reads and not commands_named(job, "umask"):
        yield from _in_scripts(job)


class Secrets:
    """The reads and assignments of a job's variables whose names say that they hold a secret."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.reads = [each for each in job.trace.reads if is_secret(each.name)]
        self.assignments = [each for each in job.assignments if is_secret(each.name) and _holds_secret(each)]
        self.reads_by_name: dict[str, list[VariableRead]] = {}
        for read in self.reads:
            self.reads_by_name.setdefault(read.name, []).append(read)
        # the names of variables by the places of pieces of their values, which show where a value is used
        self.places: dict[tuple[int, int], str] = {
            (piece.start, piece.end): assignment.name
            for assignment in self.assignments
            for piece in _pieces(assignment)
            if piece.end > piece.start
        }

    def in_words(self, command: Invocation) -> Iterator[tuple[int, str, Span]]:
        """The secrets among a command's words: the word's index, the variable, and the place of `$NAME`."""
        for number, field in enumerate(command.argv):
            for piece in field:
                name = self.name_of(piece)
                span = None if name is None else self._place(name, piece, command)
                if name is not None and span is not None:
                    yield number, name, span

    def are_generated_here(self, name: str) -> bool:
        """Whether the job itself generates the secret for its own run."""
        assigned = assignments_by_name(self.job).get(name, [])
        pieces = [piece for each in assigned if _holds_secret(each) for piece in _pieces(each)]
        commands = [each.expansion.commands if each.expansion is not None else () for each in pieces]
        return bool(commands) and all(words and words[0][:1] and words[0][0] in MAKERS for words in commands)

    def name_of(self, piece: Piece) -> str | None:
        """The secret variable whose value is a piece of a word; None for other pieces."""
        expansion = piece.expansion
        if expansion is not None and not expansion.inputs and is_secret(expansion.name):
            return expansion.name
        return self.places.get((piece.start, piece.end))

    def _place(self, name: str, piece: Piece, command: Invocation) -> Span | None:
        if piece.expansion is not None and piece.expansion.name == name:
            return piece.expansion.span
        reads = [each.span for each in self.reads_by_name.get(name, []) if each.order <= command.index]
        inside = [each for each in reads if command.span.contains(each)]
        holder = None if inside else holder_of(self.job, command, (piece,))
        if holder is not None:
            held = [each.span for each in assignments_by_name(self.job).get(holder.name, [])]
            inside = [each for each in reads if any(span.contains(each) for span in held)] or [holder.span]
        return inside[0] if inside else reads[-1] if reads else None


def _holds_secret(assigned: VariableAssignment) -> bool:
    """Whether the assigned value may be a secret: not a placeholder, and not the name of a file."""
    for alternative in assigned.alternatives:
        for field in alternative.fields or ():
            value = shown_text(field).strip()
            if value.upper() == assigned.name.upper():
                continue  # a slot: `HF_TOKEN=HF_TOKEN`
            is_path = len(field) > 1 and "/" in value and "://" not in value
            if field and NO_SECRET.fullmatch(value) is None and not is_path:
                return True
    return False


def _pieces(assigned: VariableAssignment) -> Iterator[Piece]:
    for alternative in assigned.alternatives:
        for field in alternative.fields or ():
            yield from field


# --- secrets as words of a command -------------------------------------------------------------------


def _exposed(secrets: Secrets) -> Iterator[Finding]:
    """Findings on the places where a secret becomes an argument of a command."""
    if not secrets.reads:
        return
    seen: set[tuple[str, Span]] = set()
    # nobody else is on the nodes
    alone = secrets.job.request.exclusive == "" or gets_whole_nodes(secrets.job)
    for command in secrets.job.invocations:
        if command.name in OWN or command.calls_function:
            continue
        for number, name, span in secrets.in_words(command):
            if (name, span) in seen:
                continue
            seen.add((name, span))
            instead, fix = _repair(secrets, command, number, name, span)
            inner = command.spawn.command is None or number >= command.spawn.command
            shown = next((each for each in command.descendants() if inner and command.name in WRAPPERS), command)
            starter = shown.name or command.name or "a command"
            kept = ", and `sacct` keeps it" if command.name in ("srun", "sbatch", "salloc") else ""
            message = f"anyone on the node can see `{name}` in `ps`, as an argument of {starter}{kept}; {instead}"
            taker = _without_other_way(secrets, command, span)
            if taker is not None and fix is None:
                if not secrets.are_generated_here(name):
                    message = f"anyone on the node can see `{name}` in `ps`, as {taker.name} takes it only as an option"
                    message += f"; generate one for each job: `{name}=$(uuidgen)`"
                elif not kept:
                    continue  # for one run, and there is no other way
                else:
                    message = without_record(secrets.job, command, taker, name, span)
            yield Finding(
                span,
                message,
                "info" if is_short_lived(name) or secrets.are_generated_here(name) or alone and not kept else None,
                related=[(command.place, "these arguments")],
                fix=fix,
            )


def _without_other_way(secrets: Secrets, command: Invocation, span: Span) -> Invocation | None:
    """The command that takes a secret among a command's words, where it takes one only as an option."""
    for each in (command, *command.descendants()):
        if (each.name, *each.words[1:2]) in _ONLY_AS_OPTION:
            if each is command or any(place == span for _, _, place in secrets.in_words(each)):
                return each
    return None


def _written(secrets: Secrets, exposed: list[Span]) -> Iterator[Finding]:
    """Findings on secrets written out as arguments of a command, or placeholders for them."""
    written = [each.span for each in secrets_in(secrets.job.source.text)]  # none overlaps another
    ends = [each.end for each in written]
    exposed = sorted(exposed)
    seen: set[Span] = set()
    for command in commands_with_option(secrets.job, _names_secret):
        if command.name in OWN or command.calls_function or command.text is not None:
            continue
        rest = command.spawn.command
        words = command.argv if rest is None else command.argv[:rest]
        login = command.name in ("docker", "podman") and any(text_of(word) == "login" for word in words[1:3])
        option = ""
        for word in words[1:]:
            text = _as_written(secrets.job, word)
            name, sign, value = (text or "").rpartition("=") if text and text[:1] != "{" else ("", "", text or "")
            owner = name.rpartition("=")[2] if sign else option
            option = value if value[:1] == "-" and not sign else ""
            if text is None or not _takes_secret(owner, login, bool(sign)) or NO_LITERAL.fullmatch(value):
                continue
            span = _where(secrets, command, word)
            # `--env NAME=$NAME` is one mistake, whatever the variable holds
            if any(each.start <= span.end + 2 for each in exposed[bisect_left(exposed, Span(span.start, 0)) :][:1]):
                continue
            if any(each.start < span.end for each in written[bisect_right(ends, span.start) :][:1]):
                continue  # that it is in the script at all is the worse fault (SB901)
            # the value of a variable is reported where the variable stands
            known = any(piece.expansion is not None or secrets.name_of(piece) is not None for piece in word)
            if span not in seen and not known:
                seen.add(span)
                kept = any(each.name in ("srun", "sbatch", "salloc") for each in (command, *command.ancestors()))
                container = command.spawn.info
                instead = "pass it in the environment or a file"
                if isinstance(container, Container) and owner in container.passed:
                    is_set = owner in assignments_by_name(secrets.job)
                    instead = _by_name(owner, is_set and is_in_environment(command, owner))
                yield Finding(
                    span,
                    "anyone on the node can see this secret in `ps`, as an argument of "
                    f"{command.name or 'a command'}{', and `sacct` keeps it' if kept else ''}; {instead}",
                )


def _names_secret(word: str) -> bool:
    """Whether a secret may be the value of a word, or follow it."""
    return word == "-p" or any(is_secret(_plain_name(part)) for part in word.split("="))


def _plain_name(owner: str) -> str:
    return owner.lstrip("-").replace("-", "_").replace(".", "_")


def _as_written(job: Job, word: Pieces) -> str | None:
    """The text of a word, with template slots as written; None where it has other unknown parts."""
    text = text_of(word)
    if text is None and not any(piece.text is None and piece.expansion is not None for piece in word):
        text = "".join(job.source.slice(piece.span) if piece.text is None else piece.text for piece in word)
    return text


def _takes_secret(owner: str, login: bool, joined: bool) -> bool:
    """Whether an option, or the variable before a `=`, takes a secret."""
    if login and owner in ("-p", "--password"):
        return True
    return (joined or owner[:2] == "--") and is_secret(_plain_name(owner))


def _where(secrets: Secrets, command: Invocation, word: Pieces) -> Span:
    """The place of an argument in the command: the word itself, or the variable that contains it."""
    whole = command.span
    inside = [piece for piece in word if whole.start <= piece.start and piece.end <= whole.end]
    if inside:
        return inside[-1].span
    holder = holder_of(secrets.job, command, word)
    if holder is None:  # a value without quotes, which is several words
        places = [(piece.start, piece.end) for piece in word]
        reads = (each for each in reads_in(secrets.job, whole) if each.variable is not None)
        holder = next((each for each in reads if _is_part(each, places)), None)
    return command.name_span if holder is None else holder.span


def _is_part(read: VariableRead, places: list[tuple[int, int]]) -> bool:
    """Whether a read gives a word, of which these are the places, as a part of its value."""
    ways = () if read.variable is None else read.variable.alternatives
    pieces = [piece for way in ways for field in way.fields or () for piece in field]
    return any(piece.start <= start and end <= piece.end for piece in pieces for start, end in places)


def _repair(secrets: Secrets, command: Invocation, number: int, name: str, span: Span) -> tuple[str, Fix | None]:
    """The advice, and the fix where the program has the variable anyway."""
    job = secrets.job
    has_it = is_in_environment(command, name)
    by_itself = "pass it in the environment or a file"
    container = command.spawn.info
    run = next((each for each in command.descendants() if each.name in ("docker", "podman")), None)
    if run is not None and any(place == span for _, _, place in secrets.in_words(run)):
        container, has_it = run.spawn.info, has_it and _inherits(job, command, run.context)
    if isinstance(container, Container) and container.kind in ("docker", "podman"):
        if name not in container.passed:
            return by_itself, None
        edits = _without_value(job, name, span) if has_it else []
        return _by_name(name, has_it), _fix("pass it by its name", edits)
    if isinstance(container, Container) and container.kind == "apptainer" and not container.inherits:
        if f"{name}=" in shown_text(command.argv[number]) and _is_value_of(command, number, "--env"):
            prefix = "SINGULARITY" if command.name == "singularity" else "APPTAINER"
            return f"export it as `{prefix}ENV_{name}` instead, which the container gets", None
    if command.name in ("srun", "sbatch", "salloc"):
        if f"{name}=" in shown_text(command.argv[number]) and _is_value_of(command, number, "--export"):
            edits = _without_value(job, name, span) if has_it else []
            return f"name `{name}` in `--export` without a value", _fix("pass it by its name", edits)
        export = _export_again(job, command, name, span)
        if export is not None:
            passes = has_it and _inherits(job, command, export.context)
            edits = _without_export(job, export) if passes else []
            return "remove it: steps inherit it", _fix("let the step inherit it", edits)
    if command.name == "curl" and text_of(command.argv[number - 1]) in ("-H", "--header"):
        return "write the header to a private file, and `-H @FILE`", None
    login: Invocation | None = command
    if command.name not in LOGINS or len(command.argv) < 2 or text_of(command.argv[1]) != "login":
        inner = (each for each in command.descendants() if each.name in LOGINS)
        login = next((each for each in inner if each.span.start <= span.start < each.span.end), None)
    if login is None:
        return by_itself, None
    reads_it = login is command or _inherits(job, command, login.context)
    edits = _without_login(job, login) if has_it and reads_it and name == LOGINS[login.name or ""] else []
    return "remove it: wandb reads the variable", _fix("remove the login", edits)


def _by_name(name: str, has_it: bool) -> str:
    """The advice for an option of docker, which passes a variable that it has itself by its name alone."""
    return f"{'' if has_it else 'export it, and '}write `-e {name}` without a value"


def _fix(title: str, edits: list[Edit]) -> Fix | None:
    return Fix(title, edits, safe=True) if edits else None


def _inherits(job: Job, command: Invocation, context: Context) -> bool:
    """Whether a program that an srun starts in this context inherits the environment of the batch shell."""
    step = enclosing_step(context)
    if step is None or command.name != "srun" or "export" in step.options:
        return False
    if job.request.has_option("export") and job.request.value("export") != "ALL":
        return False
    between: Invocation | None = context.parent
    while between is not None and between is not command:
        info = between.spawn.info
        is_closed = isinstance(info, Container) and not info.inherits or between.spawn.cleared
        if is_closed or between.spawn.kind in ("ssh", "sudo", "docker", "podman"):
            return False
        between = between.context.parent
    return True


def _is_value_of(command: Invocation, number: int, option: str) -> bool:
    """Whether a word contains the value of an option."""
    return shown_text(command.argv[number]).startswith(f"{option}=") or text_of(command.argv[number - 1]) == option


def _export_again(job: Job, command: Invocation, name: str, span: Span) -> VariableAssignment | None:
    """The export in the shell program of a task that repeats a variable: `export NAME=$NAME`."""
    for assignment in assignments_by_name(job).get(name, []):
        parent, end = assignment.context.parent, assignment.name_span.end
        if parent is not None and assignment.exported and end <= span.start <= end + 4:
            if command in (parent, *parent.ancestors()):
                return assignment
    return None


def _without_export(job: Job, export: VariableAssignment) -> list[Edit]:
    text, name = job.source.text, re.escape(export.name)
    start = export.name_span.start
    before = re.search(r"export[ \t]+\Z", text[max(start - 24, 0) : start])
    after = re.compile(rf"{name}=(?P<q>\\?[\"']|)\$(?:{name}\b|{{{name}(?::?-)?}})(?P=q)").match(text, start)
    if before is None or after is None:
        return []
    return _without_statement(text, start - len(before.group()), after.end())


def _without_login(job: Job, login: Invocation) -> list[Edit]:
    if not login.argv[-1] or login.redirects or len(login.argv) > 4:
        return []
    text, end = job.source.text, login.span.end
    return _without_statement(text, login.span.start, end + 1 if text[end : end + 1] in "\"'" else end)


def _without_value(job: Job, name: str, span: Span) -> list[Edit]:
    """The edit that removes `=$NAME` after NAME; none where something else is written."""
    text, (start, end) = job.source.text, span
    if text[start - 1 : start] == '"' and text[end : end + 1] == '"':
        start, end = start - 1, end + 1
    if not text[:start].endswith(f"{name}=") or re.match(r"[\w$./:{-]", text[end : end + 1]):
        return []
    return [remove(Span(start - 1, end))]


def _without_statement(text: str, start: int, end: int) -> list[Edit]:
    """The edit that removes a command and the `&&` or `;` after it, with its line if nothing else is on it."""
    separator = re.compile(r"[ \t]*(?:&&|;)[ \t]*").match(text, end)
    stop = end if separator is None else separator.end()
    line = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"\\?\n").match(text, stop)
    if not text[line:start].strip() and rest is not None and (separator is not None or rest.group() == "\n"):
        return [remove(Span(line, rest.end()))]
    return [] if separator is None or rest is not None else [remove(Span(start, stop))]


# --- secrets in the log ------------------------------------------------------------------------------


def _in_scripts(job: Job) -> Iterator[Finding]:
    """Findings on secrets that a heredoc writes out into a script that the job makes."""
    for command in job.invocations:
        target = next((each.target for each in command.redirects if ">" in each.operator and each.target), None)
        if target is None or command.stdin is None or not command.stdin.string.startswith("#!"):
            continue
        for piece in command.stdin.field:
            name = piece.expansion.name if piece.expansion is not None else ""
            if is_secret(name) and not is_short_lived(name):
                message = f"the value of `{name}` goes into {shown_text(target)}, for anyone who can read that file"
                yield Finding(piece.span, f"{message}; write `\\${name}`, which the script reads from its environment")
                break


def _of_printed(secrets: Secrets, printed: dict[str, VariableRead]) -> Iterator[Finding]:
    """Findings on each message in the log that contains a secret which the script sets, with the first place."""
    # the address of a server's session is printed for whoever started it
    is_session = bool(printed) and any(map(server_name, secrets.job.invocations))
    for name, read in printed.items():
        yield Finding(
            read.span,
            f"this prints the value of `{name}` into the job's log, which others can often read; write it to a file "
            "with mode 600",
            "info" if is_session or secrets.are_generated_here(name) else "warning",
        )


def _printed(secrets: Secrets) -> dict[str, VariableRead]:
    """The first read of each secret that the script sets and prints into its log."""
    job, found = secrets.job, dict[str, VariableRead]()
    names = {each.name for each in secrets.assignments}
    for read in secrets.reads:
        command = job.invocations[read.order] if read.order < len(job.invocations) else None
        if command is None or command.name not in _PRINTING or read.name not in names or read.name in found:
            continue
        elsewhere = any(
            each.target is None or each.target and shown_text(each.target) not in "12"
            for each in command.redirects
            if each.operator.startswith((">", "&>"))
        )
        in_heredoc = command.stdin is not None and read.span.start > command.span.end
        if not command.span.contains(read.span) and not (command.name == "cat" and in_heredoc):
            continue
        in_log = not (elsewhere or command.piped_to or command.context.captured or command.phase is Phase.SUBMIT)
        if in_log and not read.operator and read.context.shell.kind != "substitution":
            found[read.name] = read
    return found


def _traced(secrets: Secrets, printed: dict[str, VariableRead]) -> Iterator[Finding]:
    """Findings on each `set -x` that writes a secret to the log, with the first such secret."""
    job = secrets.job
    tracers: list[tuple[Span, str, Invocation | None]] = []
    interpreter, line = job.interpreter_line
    if interpreter in ("bash", "sh") and re.search(r"\s-\w*x", line):
        tracers.append((job.span(0, len(job.text.string.partition("\n")[0])), "-x", None))
    setting = [each for each in commands_named(job, "set") if _tracing(each) and not depends_on_test(each)]
    tracers += [(each.span, "set -x", each) for each in setting]
    for span, written, start in tracers:
        found = _first_traced(secrets, start)
        if found is not None:
            name, use = found
            row = job.line(use.start)
            last = max([row, *(job.line(each.span.start) for each in secrets.reads_by_name.get(name, ()))])
            advice = "write `set +x` before that line, and `set -x` after "
            advice += "it" if last == row else f"line {last}, the last one with it"
            if name in printed:
                other = job.line(printed[name].span.start)
                advice = f"line {other} prints it too: remove that line, and write `set +x` above line {row}"
            yield Finding(
                span,
                f"`{written}` writes the value of `{name}` (line {row}) into the job's log; {advice}",
                "info" if secrets.are_generated_here(name) else None,
                related=[(use, "printed into the log")],
            )


def _first_traced(secrets: Secrets, start: Invocation | None) -> tuple[str, Span] | None:
    """The first secret that a shell writes to the log while it traces, from `start` on (None: from its beginning)."""
    index, parent = (-1, None) if start is None else (start.index, start.context.parent)
    commands = [each for each in secrets.job.invocations if each.index > index and each.context.parent is parent]
    end = next((each.index for each in commands if _tracing(each) is False), len(secrets.job.invocations) + 1)
    uses = [
        (assignment.order, assignment.name, assignment.name_span)
        for assignment in secrets.assignments
        if assignment.context.parent is parent
        and index < assignment.order <= end
        and any(p.text != "" for p in _pieces(assignment))
    ]
    for command in commands if secrets.reads else ():
        if command.index < end:
            uses += [(command.index, name, span) for _, name, span in secrets.in_words(command)]
    return min(uses)[1:] if uses else None


def _tracing(command: Invocation) -> bool | None:
    """Whether a `set` turns tracing on or off; None where it does neither."""
    if command.name != "set":
        return None
    found: bool | None = None
    words = command.words[1:]
    for number, word in enumerate(words):
        if word == "--":
            break
        letters = word[1:] if word[:1] in ("-", "+") else ""
        named = letters.endswith("o") and words[number + 1 : number + 2] == ["xtrace"]
        if letters.isalpha() and ("x" in letters or named):
            found = word[0] == "-"
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «set -x»
        PASSWORD=$(uuidgen)
        export PASSWORD
        srun ./serve
        """,
        title="traced, but for this run alone",
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_TOKEN=$(cat ~/.hf_token)
        srun bash -c "export HF_TOKEN=«$HF_TOKEN» && python train.py"
        """,
        fixed={'"export HF_TOKEN=$HF_TOKEN && python': '"python'},
        title="exported once more in the text of a step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --ntasks-per-node=8 bash -c 'wandb login «$WANDB_API_KEY»; python train.py'
        """,
        fixed={"'wandb login $WANDB_API_KEY; python": "'python"},
        title="every task logs in",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        docker run --rm -e HF_TOKEN=«$HF_TOKEN» image python serve.py
        """,
        fixed={"HF_TOKEN=$HF_TOKEN": "HF_TOKEN"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun python train.py --hub-token "«$HF_TOKEN»"
        """,
        title="the program has an option for it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «set -ex»
        export WANDB_API_KEY=$(cat ~/.wandb_key)
        srun python train.py
        """,
        title="the log shows it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun apptainer run --env «POSTGRES_PASSWORD=correct-horse» db.sif
        """,
        title="written out",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        API_TOKEN="correct-horse-battery"
        apptainer exec --env API_TOKEN=«$API_TOKEN» train.sif python train.py
        """,
        title="its value stands in the script",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PASSWORD=$(openssl rand -base64 15)
        cat <<END
        user: $USER, password: «$PASSWORD»
        END
        PASSWORD=$PASSWORD singularity exec rstudio.sif rserver
        """,
        severity="info",
        title="printed for whoever is to log in, and for others",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_TOKEN=$(cat ~/.hf_token)
        : "${WANDB_API_KEY:?}"
        srun bash -c "python train.py"
        echo "$HF_TOKEN" | docker login --password-stdin
        """,
        title="in the environment, and on standard input",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export TOKENIZER_PATH=/models/tokenizer
        srun python train.py --eos "$EOS_TOKEN" --tokenizer $TOKENIZER_PATH --login ${HF_TOKEN:+yes}
        """,
        title="tokens of a text, and whether there is one",
    ),
]
