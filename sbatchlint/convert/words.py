"""The words of the command that starts a launcher, as written in the script."""

from collections.abc import Iterable, Iterator

from sbatchlint.analysis.editing.options import lines_above, lines_before, name_span, place_of, remove_step_option
from sbatchlint.analysis.editing.words import reaches_only, words_of
from sbatchlint.analysis.expansion.reads import assignments_by_name
from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of
from sbatchlint.convert.container_differences import written_at
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.user_values import ends_at, may_differ
from sbatchlint.job import Job, Launch
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.steps import Step, enclosing_commands
from sbatchlint.source.edits import Edit, insert, remove
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_READERS = SHELLS | {"eval"}
ADDRESS = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
# The addresses of the own node; at the last a server listens on all of the node's.
LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
_LOOPBACK = Regex(r"(?i)(?:.*[=/@,])?(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/,].*)?")
PORT = "$((20000 + SLURM_JOB_ID % 10000))"
# The text before the default of a variable: `${MASTER_ADDR:-localhost}`.
_DEFAULT = Regex(r"\$\{\w+:?-$")
_EXPANDED = Regex(
    r"--?[\w-]+(?:=|(?:[ \t]|\\\n)+)(\"?\$(?:\w+|\{\w+\}|\(\([^()\n]*\)\)|\([^()\n]*\))\"?)(?=[\s;&|)\"']|$)"
)
_WRITTEN = Regex(
    r"--?[\w-]+(?:=|(?:[ \t]|\\\n)+)"
    r"(\"?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*(?::?-[\w.]*)?\}|\(\([^()\n]*\)\)|\([^()\n\"]*\))\"?)(?=[\s;&|)\"']|$)"
)
_NAME = Regex(r"[A-Za-z_]\w*")
_CONTINUED = Regex(r"[ \t]*\\\n[ \t]*")
_GLOBS = Regex(r"shopt -s [a-z ]*(?:nullglob|failglob)")
_PRODUCT = Regex(r"\$\(\((\w+) \* (\w+)\)\)")
# A command whose output is the value of an option: `--rdzv_id=$(uuidgen)`.
_SUBSTITUTED = Regex(r"\$\([^()\n]*\)")
_VARIABLE = Regex(r'"?\$(?:(\w+)|\{(\w+)\})"?')
_UNQUOTED = Regex(r"\$(?:\w+|\{\w+\})(?=[ \t])")
# Options of srun that the new option block sets.
_GEOMETRY = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus-per-task", "gpus-per-node", "gpus", "gres")


_SPECIAL = frozenset("'\"\\$`\n(){};&|<>")

# From 22.05 to 23.02 srun does not inherit the CPUs per task from the job.
_CPUS = ' --cpus-per-task="$SLURM_CPUS_PER_TASK"'


def names_own_node(text: str) -> bool:
    """Whether a word is, or has after a `=` or the like, an address that is each node's own."""
    return _LOOPBACK.fullmatch(text) is not None


def cpus_of(job: Job) -> str:
    """The option for an srun to get the CPUs per task, with a space before it; "" if the job does not set them."""
    return _CPUS if job.request.has_option("cpus-per-task") else ""


def srun_of(job: Job) -> str:
    """The srun that starts all tasks of the option block."""
    return f"srun --kill-on-bad-exit=1{cpus_of(job)}"


def without_geometry(job: Job, step: Step | None) -> Iterator[Edit]:
    """The edits that remove options from an srun that the option block sets. Raises `NotConvertible`."""
    if step is None:
        return
    if job.request.has_option("cpus-per-task") and not _follows(step, "cpus-per-task"):
        end = step.invocation.name_span.end
        yield insert(end, _CPUS)
    for name in _GEOMETRY:
        option = step.options.get(name)
        if name == "cpus-per-task" and not job.request.has_option(name):
            continue  # nothing else sets it
        if option is not None and not _follows(step, name):
            edit = remove_step_option(job, step, option)
            if edit is None:
                raise NotConvertible(f"--{name} cannot be taken out of its srun: leave it to the #SBATCH lines")
            yield edit


def _follows(step: Step, name: str) -> bool:
    """Whether the value of an srun option comes from Slurm's variables."""
    option = step.options.get(name)
    found = expansions(option.value or ()) if option is not None else ()
    return any(each.name.startswith("SLURM_") for each in found)


def exports_before(job: Job, launch: Launch, lines: list[str], edits: Iterable[Edit] = ()) -> Iterator[Edit]:
    """The edit that adds lines before the command and the edits that read their variables. Raises `NotConvertible`.

    Variables that are already exported with the same value are left out.
    """
    lines = [each for each in lines if not _is_exported(job, launch.invocation, each)]
    if lines:
        places = [edit.span.start for edit in edits if "$MASTER_" in edit.content]
        edit = lines_before(job, launch, lines, places)
        if edit is None:
            raise NotConvertible(
                "no line can be put before the launcher, inside of another command: start it by itself"
            )
        yield edit


def _is_exported(job: Job, command: Invocation, line: str) -> bool:
    name, _, value = line.removeprefix("export ").partition("=")
    known = exported(command, name)
    return known is not None and job.source.slice(span_of(known)) == value


def is_of_daemon(container: object) -> bool:
    """Whether it is a container of a daemon such as docker's, which is not a child of the task."""
    return isinstance(container, Container) and container.kind in ("docker", "podman")


def refuse_daemon(container: Container | None) -> None:
    """Raises `NotConvertible` for a container of a daemon."""
    if container is not None and is_of_daemon(container):
        raise NotConvertible(f"{container.kind} is converted to pyxis or apptainer only; say --container")


def exports_above(job: Job, start: int, lines: list[str]) -> list[Edit]:
    """The edit that adds lines before a command at the start of its line. Raises `NotConvertible`."""
    edit = lines_above(job, start, lines)
    if edit is None and lines:
        raise NotConvertible(
            "no line can be put before the command, which does not begin its own: write it on a line of its own"
        )
    return [edit] if edit is not None and lines else []


def start_of(command: Invocation) -> int:
    """The start of a command, after a leading `exec` or the like."""
    prefixed = command.name in ("exec", "time", "command") and len(command.argv) > 1
    return span_of(command.argv[1]).start if prefixed else command.name_span.start


class CommandWords:
    """The words of a launcher. Raises `NotConvertible` if they are not literally in the script.

    They may be in a string: `CMD="torchrun … train.py"`, run by `$CMD`, `eval` or `bash -c`. A string that is split
    into words cannot contain quotes for the shell of a task, so new options go before the variable: `bash -c 'exec "$0"
    --node_rank="$SLURM_NODEID" "$@"' $CMD`. A string that a shell reads again gets them with the escapes it needs.

    `quote`: the quote of that string; "" if there is none. `reader`: the shell or `eval` that reads it again; None if
    it is split into words.
    """

    def __init__(self, job: Job, launch: Launch) -> None:
        self.job = job
        self.launch = launch
        self.launcher: Launcher = launch.launcher
        self.text = job.source.own.text
        command: Invocation = launch.invocation
        enclosing = list(enclosing_commands(command))
        self.words = words_of(job)
        self.reader: Invocation | None = next((parent for parent in enclosing if parent.name in _READERS), None)
        # strings in a container are handled by `InsideWords`
        self.quote = "" if launch.container is not None else self._quote()
        for parent in enclosing:
            if parent is self.reader and self.quote:
                break
            command = parent
        self.command = command
        name = name_span(launch)
        refuse_daemon(launch.container)
        self.prefix = Span(self.start(command, name), name.end)
        self.srun = "" if launch.step is not None else f"{srun_of(job)} "
        self._moved = ""

    def _quote(self) -> str:
        """The quote of the string that contains the words; "" if there is none."""
        launcher, name = self.launcher, name_span(self.launch)
        word = self.words.at(name.start) if name.end <= len(self.text) else None
        if word is None or not launcher.program_words:
            return ""
        span = self.words.span(word)
        quote, whole = self.text[span.start : span.start + 1], self.launch.invocation.span
        if self.reader is None:  # `$CMD`: its words stand in a string elsewhere
            in_string = not whole.start <= name.start < whole.end and span.start < span_of(launcher.argv[0]).start
        else:
            in_string = span.start < span_of(launcher.program_words[0]).start < span.end
        if self.reader is None and quote not in ('"', "'"):
            is_held = not whole.start <= name.start < whole.end and _VARIABLE.match(self.text, whole.start)
            return '"' if is_held else ""  # `PYTHON=${PYTHON:-python}`, run by `$PYTHON`
        return quote if in_string and quote in ('"', "'") else ""

    def start(self, command: Invocation, name: Span) -> int:
        """The start of the command that starts the launcher."""
        if not command.name_span.start <= name.start < name.end <= len(self.text):
            raise NotConvertible("the launcher's words are not in the command that starts it: write them there")
        if self.written(command.name_span) in ("exec", "time", "command"):
            return name.start if command is self.launch.invocation else command.argv[1][0].start
        return command.name_span.start

    @property
    def indentation(self) -> str:
        line = self.text[self.job.source.line_of(self.prefix.start).start : self.prefix.start]
        return line[: len(line) - len(line.lstrip())]

    @property
    def program_start(self) -> int:
        """The start of the program's words after the launcher's options: its name, or the word that contains it."""
        start = span_of(self.launcher.program_words[0]).start
        whole = self.launch.invocation.span
        if whole.start <= start < whole.end:
            return start
        ends = [span_of(field).end for field in self.launcher.argv[: self.launcher.program]]
        if any(not whole.start <= each <= whole.end for each in ends):
            return start
        end = max(ends)
        if not self.quote:  # `${N:-2}` ends behind its default
            end = next((span.end for span in self._row_of_command() if span.start < end < span.end), end)
        end += self.text[end : end + 1] in ('"', "'")
        return end + len(self.text[end:]) - len(self.text[end:].replace("\\\n", "  ").lstrip())

    def written(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def origin(self, setting: Setting, value: str, variable: str) -> Edit | None:
        """The edit that sets the script's variable after a value to `value`, or the option itself to `variable`."""
        piece = self._literal(setting.value)
        if piece is None:
            whole = self._expanded(setting)
            if whole is None:
                raise NotConvertible(f"the value of {setting.name} is put together of several parts: write it as one")
            return self._replaced(whole, variable)
        line = self.job.source.line_of(piece.start)
        if _DEFAULT.search(self.text[line.start : piece.start]):
            return self._replaced(piece, value)
        if self.text[line.start : piece.start].rstrip("\"'").endswith("="):
            before = self.text[line.start : piece.start].rstrip("\"'").rstrip("=").split()[-1:]
            if before and before[0].isidentifier():
                return self._replaced(piece, value)
        return self._replaced(piece, variable)

    def other_value(self, setting: Setting, value: str) -> Edit | None:
        piece = self._literal(setting.value)
        if piece is None:
            expansions = [each.expansion.name for each in setting.value or () if each.expansion is not None]
            if expansions == ["SLURM_NNODES"] or expansions == ["SLURM_JOB_NUM_NODES"]:
                return None
            piece = self._expanded(setting)
        if piece is None:
            raise NotConvertible(f"the value of {setting.name} is not in the script: write it as a number")
        return self._replaced(piece, value)

    def times_nodes(self, setting: Setting) -> Edit | None:
        """The edit that multiplies a variable in an option by the number of nodes; None for another value."""
        span = self._expanded(setting)
        name = None if span is None else _VARIABLE.fullmatch(self.written(span))
        if span is None or name is None:
            return None
        return self._replaced(span, f"$((SLURM_JOB_NUM_NODES * {name.group(1) or name.group(2)}))")

    def moved(self, setting: Setting) -> str | None:
        """A value as it is written, with variables or a command, to be read above the command; None for others.

        Its variables have to have it there: those that a loop or a function sets do not.
        """
        line = lines_before(self.job, self.launch, ["true"])
        place = place_of(self.launcher, setting).start if setting.at is not None else len(self.text)
        found = _WRITTEN.match(self.text, place) if place < len(self.text) else None
        if found is None or line is None:
            return None
        for name in _NAME.findall(found.group(1)):
            assigned = assignments_by_name(self.job).get(name, ())
            if any(each.span.start > line.span.start for each in assigned):
                return None
            if self.launch.invocation.context.loops and not assigned and name != "RANDOM":
                return None
        self._moved = found.group()
        written: str = found.group(1)
        return written.strip('"')

    def _expanded(self, setting: Setting) -> Span | None:
        """The span of a variable or an arithmetic expansion that is the whole value of an option; None if none."""
        if setting.at is None:
            return None
        start = place_of(self.launcher, setting).start
        found = _EXPANDED.match(self.text, start) if start < len(self.text) else None
        return None if found is None else Span(*found.span(1))

    def _replaced(self, piece: Span, value: str) -> Edit:
        """The edit to a new value, in double quotes if it is not in quotes yet and not a number."""
        quote = self.text[piece.start - 1 : piece.start]
        around = self.words.quote_around(piece.start)
        if self.reader is None and quote == self.text[piece.end : piece.end + 1] == "'":
            return Edit(Span(piece.start - 1, piece.end + 1), f'"{value}"')
        if "'" in (quote, around) and (self.reader is None or around != self.quote):
            raise NotConvertible("a value that has to change is in single quotes: write double ones")
        if around:
            value = _as_one_word(value)
        return Edit(piece, value if quote == '"' or around or value.isdigit() or value == ADDRESS else f'"{value}"')

    def _literal(self, field: Pieces | None) -> Span | None:
        """The span of a value that is literally in the script; None if there is none."""
        if not field or any(piece.text is None or piece.expansion is not None for piece in field):
            return None
        span = Span(field[0].start, field[-1].end)
        text = "".join(piece.text or "" for piece in field)
        return span if span.end <= len(self.text) and self.written(span) == text else None

    def without(self, name: str) -> Edit:
        """The edit that removes an option and its value, up to the next word."""
        options = [each for each in self.launcher.all_options if each.name == name]
        if len(options) != 1:
            raise NotConvertible(f"--{name} is given several times: write it once")
        option, argv = options[0], self.launcher.argv
        start = place_of(self.launcher, Setting(option.value, option.span, option.at, name)).start
        following = max(option.at, option.value_at) + 1
        end = span_of(argv[following]).start if following < len(argv) else start
        later = [span_of(field).start for field in argv[following:]]
        if end <= start or end > len(self.text):  # the next word is written elsewhere
            between = [each for each in later if start < each <= self.job.source.line_of(start).end]
            end = min(between, default=start)
        if not self._is_gap(start, end):  # it is the last word there
            end = self._end_of(span_of(option.value or argv[option.at]))
            start = len(self.text[:start].rstrip(" "))
        if not self._is_gap(start, end):
            raise NotConvertible(f"--{name}, which is for one node alone, cannot be taken out: leave it out")
        if self.text[end - 1] in "\"'" and self.words.quote_around(start):
            end -= 1
        lines = self.job.source.line_of(start).start, self.job.source.line_of(end).start
        if lines[0] < lines[1] and not (self.text[lines[0] : start] + self.text[lines[1] : end]).strip():
            start, end = lines  # it has its own line; the next line keeps its indentation
        return remove(Span(start, end))

    def _is_gap(self, start: int, end: int) -> bool:
        """Whether the range contains only words of one line, which may be continued."""
        gap = self.text[start:end]
        plain = _SUBSTITUTED.sub("", gap)
        return bool(gap) and not ("\n" in gap and "\\\n" not in gap) and not any(each in plain for each in "()")

    def _end_of(self, value: Span) -> int:
        """The end of the word of a value, or of the value itself in a string."""
        word = self.words.at(value.start)
        if word is None or value.end > len(self.text):
            return value.start
        if self.words.quote_around(value.start):
            return value.end
        around = [each for each in self._row_of_command() if each.start <= value.start < each.end]
        return max(each.end for each in [self.job.span(word.start, word.end), *around])

    def _row_of_command(self) -> list[Span]:
        """The words of the command as written; a variable with its default is one, `${N:-2}`."""
        name = self.words.at(self.launch.invocation.name_span.start)
        row = None if name is None else self.words.row(name)
        return [] if row is None else [self.job.span(each.start, each.end) for each in row.words]

    def started(self, rank: str | None, added: list[str]) -> list[Edit]:
        """The edits that start the launcher by srun with more options; `rank`: one that a shell of the task expands."""
        words = "".join(f" {each}" for each in added)
        srun, start, end = self.srun, self.prefix.start, self.prefix.end
        if self.quote:
            return [self._in_string(" ".join(([rank] if rank else []) + added), words if rank is None else "")]
        if rank is None:
            self._must_be_plain(self.prefix)
            return [insert(start, srun), insert(end, words)] if srun else [insert(end, words)]
        return self.wrapped_in_shell("", f" {rank}", words)

    def wrapped_in_shell(self, before: str, after: str = "", words: str = "") -> list[Edit]:
        """The edits that start the launcher by a shell of each task.

        `before`: commands of that shell before it; `after`: options that the shell adds; `words`: other options.
        """
        srun, prefix, inside = self.srun, self.prefix, self._inside()
        first = []
        if self.job.in_quoted_text(prefix.start if inside is None else inside):
            raise NotConvertible(f"{self.launcher.name} cannot be told its node inside this string")
        if inside is not None:
            # The shell runs in the container, so the words before it do not change.
            at = prefix.start
            is_prefixed = at == start_of(self.command) != self.command.name_span.start
            if not is_prefixed and not reaches_only(self.job, at, [each.invocation for each in self.job.launches]):
                at = self.command.span.start  # an array, with which the script starts other commands too
            first, srun = [insert(at, srun)] if srun else [], ""
            prefix = Span(inside, prefix.end)
        self._must_be_plain(prefix)
        command = f'{before}exec {self._on_one_line(prefix)}{after} "$@"'
        start = f"{srun}bash -c '{command}' \\\n{self.indentation}    {self.launcher.kind}{words}"
        return [*first, Edit(prefix, start)]

    def _on_one_line(self, span: Span) -> str:
        return _CONTINUED.sub(" ", self.written(span))

    def _must_be_plain(self, prefix: Span) -> None:
        if _SPECIAL & set(self._on_one_line(prefix)):
            raise NotConvertible(
                "the command of the launcher is written with quotes or variables: write its name as it is"
            )

    def _inside(self) -> int | None:
        """The start of the innermost command that can be put after a shell; None if it is the whole command."""
        each, container, found = self.launch.invocation, self.launch.container, None
        if container is not None and not container.passes("SLURM_NODEID"):
            return None
        while not _SPECIAL & set(self._on_one_line(Span(each.name_span.start, self.prefix.end))):
            found = each.name_span.start
            parent = each.context.parent
            if parent is None or parent.spawn.info is container or each is self.command:
                break
            if parent.name_span.start < self.prefix.start:  # a leading `exec`
                break
            each = parent
        return found if found is not None and found > self.prefix.start else None

    def _in_string(self, options: str, plain: str) -> Edit:
        """The edit that starts a launcher in a string by srun; `plain`: its options if no task has to expand any."""
        if self.reader is None:
            start = self.command.span.start
            if not self.srun or self.command.context.parent is not None:
                raise NotConvertible(
                    "the words of the srun and of the launcher are in different places: write both where they start"
                )
            return self._split_again(options) or insert(
                start, self.srun + _passed_on(self.command, self.prefix.end, options)
            )
        if not self.srun or plain:
            end = Span(self.prefix.end, self.prefix.end)
            if self.srun:
                return Edit(self.prefix, self.escaped(f"{self.srun}{self.written(self.prefix)}{plain}"))
            return Edit(end, self.escaped(f" {options}"))
        command = f'exec {self.written(self.prefix)} {options} "$@"'
        return Edit(self.prefix, self.escaped(f"{self.srun}bash -c '{command}' {self.launcher.kind}"))

    def _split_again(self, options: str) -> Edit | None:
        """The edit for `$PYTHON -m torch.distributed.run`, where the user may set PYTHON to any number of words.

        A shell of the task splits it, as the script does. None where the variable holds the same in each job, or more
        than the name of a launcher.
        """
        start, end = self.command.span.start, self.prefix.end
        word = _UNQUOTED.match(self.text, start)
        held = span_of(self.command.argv[0]).start
        if word is None or not may_differ(self.job, word.group(), held):
            return None
        named = end if start <= end <= self.command.span.end else word.end()
        if named == word.end() and not ends_at(self.text, end):
            return None  # options of the launcher, or its program, stand in the string too
        self._must_be_plain(Span(word.end(), named))
        rest = self._on_one_line(Span(word.end(), named))
        shell = f'{self.srun}bash -c \'exec $0{rest} {options} "$@"\' "{word.group()}"'
        return Edit(Span(start, named), shell)

    def escaped(self, content: str) -> str:
        """The content, escaped for the string, on one line."""
        content = _as_one_word(_CONTINUED.sub(" ", content))
        if "*" in content and _GLOBS.search(self.text):
            raise NotConvertible("the string is split, and with nullglob or failglob words of it are lost: unset them")
        if self.quote == "'":
            return content.replace("'", "'\\''")
        for letter in '\\"$`':
            content = content.replace(letter, f"\\{letter}")
        return content

    @property
    def alternatives(self) -> list[Launch]:
        """The launches of this place: several where an option is there only if some test says so."""
        own = self.launcher.span, written_at(self.launch.invocation)
        return [each for each in self.job.launches if (each.launcher.span, written_at(each.invocation)) == own]

    def replaced(self, shell: str, end: int) -> list[Edit]:
        """The edits that replace the launcher and its options by another start of the program at `end`."""
        options = {tuple(map(shown_text, each.launcher.argv[: each.launcher.program])) for each in self.alternatives}
        if len(options) > 1:
            raise NotConvertible(
                f"the options of {self.launcher.name} depend on a test: write those that it is to have"
            )
        if not self.prefix.end < end <= len(self.text):
            raise NotConvertible("the program is named elsewhere than after the launcher: write both as one command")
        gap = self.text[self.prefix.end : end]
        if self.text[end - 1] in "\"'":
            end -= 1
        if "$(" in gap.replace(self._moved, "").replace("$((", "") or "`" in gap:
            raise NotConvertible("the options of the launcher run commands: set variables to what they print, before")
        before = self.written(Span(self.prefix.start, name_span(self.launch).start))
        if self.command.name in SHELLS:
            if before.replace("'", " ").replace('"', " ").split()[1:] not in (["-c"], ["-c", "exec"]):
                raise NotConvertible(f"{self.command.name} does more than to start the launcher: start that by itself")
            before = ""
        if "\n" in gap.replace("\\\n", ""):
            raise NotConvertible(
                f"{self.launcher.name} and its program are written in two places: write them as one command"
            )
        content = f"{self.srun}{before}{shell}"
        if self.quote and self.reader is None:
            return self._before_string(content, end)
        return [Edit(Span(self.prefix.start, end), self.escaped(content) if self.quote else content)]

    def _before_string(self, content: str, end: int) -> list[Edit]:
        """The edits that put the new start before `$CMD`, and leave the words of the program in the string."""
        at = self.prefix.start
        if self.command.context.parent is not None or self.command.argv[0] != self.launcher.argv[0]:
            raise NotConvertible(
                f"{self.launcher.name} is in a string that is split into words: write its words where it is started"
            )
        if not reaches_only(self.job, at, [self.launch.invocation]):
            raise NotConvertible(f"other commands get the words of {self.launcher.name} from its string, too")
        return [remove(Span(at, end)), insert(self.command.span.start, content)]


def _as_one_word(content: str) -> str:
    """The content with products that stay one word, and match no file, where a string is split before it is read."""
    return _PRODUCT.sub(r"$((\1*\2))", content)


def _passed_on(command: Invocation, end: int, options: str) -> str:
    """A shell that passes on the words of a command, and adds options after those before `end`."""
    count = next((at for at, field in enumerate(command.argv, 1) if span_of(field).end == end), 0)
    if not count:
        raise NotConvertible("the words that name the launcher are put together of several strings: write them as one")
    if count == 1:
        return f'bash -c \'exec "$0" {options} "$@"\' '
    return f'bash -c \'exec "${{@:1:{count}}}" {options} "${{@:{count + 1}}}"\' bash '
