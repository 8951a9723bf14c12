"""What the evaluation of a script records: every command that would run, where, and with which words."""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.state import State
from sbatchlint.bash.values import Phase, Pieces, Text, shown_text, span_of, text_of
from sbatchlint.bash.variables import NO_GUARDS, PARTLY_EXPORTED, Alternative, Guards, Variable, merge_guards
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span


class Redirection(Record):
    """A redirect of a command: operator, file descriptor, and the target's field (None for heredocs)."""

    operator: str
    fd: str | None
    target: Pieces | None
    span: Span


class Shell:
    """A process that runs commands: the script's own shell, or one that it starts. Compared by identity.

    `kind`: "script", or what makes it a different process from `parent`: "subshell" (`( … )`), "substitution" (`$(…)`,
    `<(…)`), "pipeline" (an element of one), "background" (a statement that ends in `&`, `coproc`), "program" (what a
    command starts: `bash -c`, `srun …`). `span`: what it runs, as it is in the file. `depth`: how many processes are
    around it. As a loop is recorded once, one `Shell` stands for the processes of all its iterations.
    """

    def __init__(self, kind: str, parent: "Shell | None", span: Span) -> None:
        self.kind = kind
        self.parent = parent
        self.span = span
        self.depth: int = 0 if parent is None else parent.depth + 1

    def enclosing_shells(self) -> "Iterator[Shell]":
        """This shell and those around it, innermost first."""
        shell: Shell | None = self
        while shell is not None:
            yield shell
            shell = shell.parent

    @property
    def awaiting(self) -> "Shell":
        """The shell that continues when a command in the foreground of this one has ended."""
        shell = self
        while shell.parent is not None and shell.kind in ("pipeline", "subshell"):
            shell = shell.parent
        return shell


class Context:
    """Where in the flow of the script a command stands.

    `parent`: the invocation whose program it belongs to. `conditional`: it may not run at all. `restricted`: names of
    variables that differ between tasks and were tested before, so that only some tasks run it. `tested`: something
    looks at its exit status; `unheeded`: something in the same program does, so that `set -e` does not count.
    `captured`: its output is a substitution's. `handler`: it is in a `trap`. `depth`: how deep programs are nested in
    values. `calls`: the functions around it, outermost first.

    `shell`: the process that runs it. `loops`: the spans of the loops around it that may have several iterations,
    outermost first. `background`: the shell of the innermost statement around it that ends in `&`, whose `span` is that
    statement with its `&`; None if there is none.

    A bare `wait` awaits a background command if it comes later in `Trace.invocations` and runs in the shell that
    started it: `wait.context.shell is command.context.background.parent`.
    """

    def __init__(self, phase: Phase, shell: Shell | None = None) -> None:
        self.phase = phase
        self.parent: Invocation | None = None
        self.guards: Guards = NO_GUARDS
        self.conditional = False
        self.restricted: frozenset[str] = frozenset()
        self.tested = False
        self.unheeded = False
        self.captured = False
        self.handler = False
        self.depth = 0
        self.calls: tuple[str, ...] = ()
        self.shell = shell or Shell("script", None, Span(0, 0))
        self.loops: tuple[Span, ...] = ()
        self.background: Shell | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether the command may run several times."""
        return bool(self.loops)

    def copy(self) -> "Context":
        """A copy that may be changed, as nothing else has it yet."""
        new = Context.__new__(Context)
        new.__dict__.update(self.__dict__)
        return new

    def replace(self, **changes: object) -> "Context":
        new = self.copy()
        new.__dict__.update(changes)
        return new

    def in_shell(self, kind: str, span: Span) -> "Context":
        """The context inside another process, which this one's shell starts; it may be changed like a copy."""
        new = self.copy()
        new.shell = Shell(kind, self.shell, span)
        if kind == "background":
            new.background = new.shell
        elif kind == "program":
            new.unheeded = False
        return new


class Spawn(Record):
    """How a command starts another one, as the job layer describes it.

    `command`: the index in argv at which the started command begins (None: there is none). `kind`: `srun`, `env`,
    `apptainer` … `phase`: the phase in which it runs, None for that of the command itself. `variables`, `dropped`,
    `cleared` (all but `kept`): changes to its environment; so are `renaming`, beginnings without which the names of
    exported variables stand there too. `prefix`: words before its own. `info`: the job layer's own record. `component`:
    the argv of the next component of the same command, as if that were a command of its own (`srun a : b`); the words
    of the command itself end before it.
    """

    kind: str
    command: int | None
    phase: Phase | None = None
    variables: tuple[tuple[str, Pieces], ...] = ()
    dropped: frozenset[str] = frozenset()
    cleared: bool = False
    info: object = None
    prefix: tuple[Pieces, ...] = ()
    kept: tuple[str, ...] = ()
    component: tuple[Pieces, ...] | None = None
    renaming: tuple[str, ...] = ()


NOTHING = Spawn("", None)
UNREAD = object()


class Invocation:
    """A command that would run: its words, and all that decides what it does.

    `argv`: one field a word. `variables`: `NAME=value` before it. `span`: the command in the file, from its first to
    its last word. `kind`: how its parent starts it ("" for the script's own commands, else `srun`, `bash -c`,
    `env` …). `children`: the commands that it starts. `state`: the shell's state at its start (not to be changed).
    `spawn`: how it starts another command, NOTHING where it starts none. `alternatives`: how many invocations stand for
    this one command, each with other words that it may have. `before`: the component before this one, where a command
    has several (`srun a : b`): each is an invocation with its own words. `reading`: the job layer's own record of what
    it read in the words, UNREAD until then.
    """

    def __init__(
        self,
        argv: tuple[Pieces, ...],
        variables: tuple[tuple[str, Pieces], ...],
        redirects: tuple[Redirection, ...],
        span: Span,
        context: Context,
        state: State,
        guards: Guards,
        kind: str,
    ) -> None:
        self.argv = argv
        # the command's name without its folder, None where it is unknown
        text = text_of(argv[0]) if argv else None
        self.name = None if text is None else text.rpartition("/")[2]
        self.variables = variables
        self.redirects = redirects
        self.span = span
        self.context = context
        self.state = state
        self.guards = guards
        self.kind = kind
        self.children: list[Invocation] = []
        self.spawn = NOTHING
        self.stdin: Text | None = None
        self.index = 0
        self.alternatives = 1
        self.before: Invocation | None = None
        self.text: Text | None = None  # for a shell: the program that it runs, where that is known
        self.piped_from = False
        self.piped_to = False
        self._words: list[str] | None = None
        self.reading: object = UNREAD

    @property
    def words(self) -> list[str]:
        """The texts of `argv`, as `shown_text` gives them; not to be changed."""
        if self._words is None:
            self._words = [shown_text(field) for field in self.argv]
        return self._words

    def end_at(self, number: int, program: tuple[Pieces, ...] = ()) -> None:
        """Drops the words from this one on, which belong to another component of the command.

        `program`: the words of a later component's program that this one runs as well.
        """
        self.argv = self.argv[:number] + program
        self._words = None
        self.reading = UNREAD

    @property
    def phase(self) -> Phase:
        return self.context.phase

    @property
    def parent(self) -> "Invocation | None":
        return self.context.parent

    @property
    def name_span(self) -> Span:
        return span_of(self.argv[0]) if self.argv else self.span

    @property
    def place(self) -> Span:
        """Its name where it is written; all of it where the name is the value of a variable, and stands elsewhere."""
        return self.name_span if self.span.contains(self.name_span) else self.span

    @property
    def inputs(self) -> list[Redirection]:
        """The redirects of its standard input."""
        return [each for each in self.redirects if each.operator[:1] == "<" and each.fd in (None, "0")]

    def gets(self, name: str) -> bool:
        """Whether the script sets a variable before it, or for it alone (`NAME=value` before its name)."""
        return is_set(self, name) or any(name == own for own, _ in self.variables)

    @property
    def calls_function(self) -> bool:
        """Whether the shell calls a function of the script; what that runs are invocations of their own."""
        functions = self.state.functions
        return bool(functions) and not self.kind and bool(self.argv) and (text_of(self.argv[0]) or "") in functions

    def ancestors(self) -> "list[Invocation]":
        """The invocations that started this one, innermost first."""
        found = []
        each = self.context.parent
        while each is not None:
            found.append(each)
            each = each.context.parent
        return found

    def descendants(self) -> "list[Invocation]":
        """The invocations that this one starts, directly or not, in order."""
        found = []
        for child in self.children:
            found.append(child)
            if child.children:
                found.extend(child.descendants())
        return found

    def leaves(self) -> "list[Invocation]":
        """Those of its descendants that start nothing else; itself where it starts nothing."""
        return [each for each in self.descendants() if not each.children] or [self]

    def __repr__(self) -> str:
        words = " ".join("?" if text_of(field) is None else str(text_of(field)) for field in self.argv)
        return f"<{self.phase.name.lower()} {self.kind}: {words}>"


def exported(invocation: Invocation, name: str) -> Pieces | None:
    """The value of a variable in a command's environment, where the script sets it to just one there."""
    variable = invocation.state.variables.get(name)
    if variable is None or not variable.exported or variable.array or PARTLY_EXPORTED in variable.flags:
        return None
    values = values_of(invocation, variable)
    return values[0][0] if len(values) == 1 and values[0] else None


def values_of(invocation: Invocation, variable: Variable) -> list[tuple[Pieces, ...] | None]:
    """What a variable may hold where a command runs; None stands for one that cannot be known."""
    return [each.fields for each in variable.alternatives if merge_guards(invocation.guards, each.guards) is not None]


def is_set(invocation: Invocation, name: str) -> bool:
    """Whether the script sets a variable before a command, exported or not, whatever its value."""
    variable = invocation.state.variables.get(name)
    return variable is not None and bool(variable.alternatives)


class PipelineRun(Record):
    """A pipeline that runs (also of one command), by the invocations of its elements.

    Of an element that is a group or a subshell, the commands inside it stand there. `errexit`, `pipefail`: whether the
    options are on there (None: not certain). `tested`: something looks at its status (`if`, `&&`, `||`, `!`). `order`:
    its place among the pipelines.
    """

    elements: tuple[tuple[Invocation, ...], ...]
    span: Span
    context: Context
    errexit: bool | None
    pipefail: bool | None
    tested: bool
    order: int


class Submission(NamedTuple):
    """A batch script inside the script: given to sbatch on standard input, or written to a file.

    `quoted`: the outer shell expanded nothing in it. `command`: the sbatch that takes it, if one is seen; `rest`: the
    index of its first word that is not an option. `wrapped`: it is the text of --wrap, below a first line that sbatch
    adds. `alone`: no other sbatch takes it too.
    """

    text: Text
    span: Span
    quoted: bool
    command: Invocation | None
    rest: int = 0
    wrapped: bool = False
    alone: bool = True


class Trace:
    """All that was recorded, in the order in which it runs.

    `is_kept`: False in a silent walk, of which only the commands are looked at before everything is discarded.
    `outside`: the commands of branches that no job takes, only a shell of the login node (`[ -z "$SLURM_JOB_ID" ]`);
    they are not among the `invocations`.
    """

    def __init__(self, is_kept: bool = True) -> None:
        self.is_kept = is_kept
        self.invocations: list[Invocation] = []
        self.outside: list[Invocation] = []
        self.pipelines: list[PipelineRun] = []
        self.submissions: list[Submission] = []
        self.status_reads: list[int] = []  # how many `pipelines` had run when `$?` or PIPESTATUS was read
        self.pipe_status_reads: list[int] = []  # the same of PIPESTATUS alone
        self.assignments: list[VariableAssignment] = []
        self.reads: list[VariableRead] = []

    def clear(self) -> None:
        """Drops all that was recorded, so that it can be freed."""
        for records in (self.invocations, self.outside, self.pipelines, self.submissions, self.assignments, self.reads):
            records.clear()

    def record(self, invocation: Invocation) -> None:
        """Records a command, also among the children of its parent."""
        invocation.index = len(self.invocations)
        self.invocations.append(invocation)
        if invocation.context.parent is not None:
            invocation.context.parent.children.append(invocation)

    def record_read(
        self, name: str, start: int, end: int, operator: str, variable: Variable | None, text: Text, context: Context
    ) -> None:
        """Records that a variable is looked up."""
        if self.is_kept:
            order = len(self.invocations)
            self.reads.append(VariableRead(name, start, end, operator, variable, text, context, order))


class VariableAssignment(Record):
    """An assignment that runs. `exported`: whether the variable is exported by then. `order`: how many commands were
    recorded before it. `text`: where the name stands, from `name_start` on."""

    name: str
    alternatives: tuple[Alternative, ...]
    exported: bool
    span: Span
    name_start: int
    text: Text
    context: Context
    order: int

    @property
    def name_span(self) -> Span:
        return self.text.span(self.name_start, self.name_start + len(self.name))

    @property
    def value(self) -> str | None:
        """The value, where it can be only one, of one word that is known; None otherwise."""
        fields = self.alternatives[0].fields if len(self.alternatives) == 1 else None
        return text_of(fields[0]) if fields is not None and len(fields) == 1 else None


class VariableRead(Record):
    """A look-up of a variable by its name; what a condition looks at may be recorded twice.

    `operator`: that of `Parameter`, or `arithmetic` for a name in `$((…))` or `((…))`. `variable`: as its own shell
    held it then, None where that shell had not set it. `order`: how many commands were recorded before it. `start`,
    `end`: where it is in `text`.
    """

    name: str
    start: int
    end: int
    operator: str
    variable: Variable | None
    text: Text
    context: Context
    order: int

    @property
    def span(self) -> Span:
        return self.text.span(self.start, self.end)
