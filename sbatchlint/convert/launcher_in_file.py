"""A launcher in a file other than the script: `bash train.sh`, `docker run … IMAGE bash train.sh`.

The file is not changed. The script sets the variables that it reads (`--nnodes=${NNODES:-1}`), or that torchrun reads
(PET_NNODES): the node rank in a shell of each task, all others on lines before the command.
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import lines_before_statement
from sbatchlint.analysis.editing.words import words_of
from sbatchlint.bash.values import expansions, span_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.convert.launcher import NAMES, Names, holds_for_all, setting_of
from sbatchlint.convert.words import ADDRESS, PORT, refuse_daemon, srun_of, start_of, without_geometry
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Setting
from sbatchlint.job.steps import enclosing_commands
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The text before the value of a variable, as a default or in an assignment.
_DEFAULT = Regex(r"\$\{(\w+):?-[\"']?$")
_ASSIGNED = Regex(r"(?:^|[\s;\"'])([A-Za-z_]\w*)=[\"']?$")
# The variables that a message suggests for a file, and their defaults for one node.
_VARIABLES = Names("NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "NPROC_PER_NODE")
_NAMES = {"num_processes": "NUM_PROCESSES"}
_DEFAULTS = {"NNODES": "1", "NODE_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


class LauncherInFile:
    """The launcher, and how the script sets its options. Raises `NotConvertible`.

    `command`: the command that starts the file; `first`: the outermost command that encloses it, which srun starts;
    both are in the script itself. `rank`: the variable for the node rank, "" for none.
    """

    def __init__(self, job: Job, launch: Launch, gpus: int) -> None:
        self.job = job
        self.launch = launch
        refuse_daemon(launch.container)
        enclosing = [each for each in enclosing_commands(launch.invocation) if self._is_own(each.name_span)]
        if not enclosing:
            raise self._refuse("is not started by the script itself")
        self.command, self.first = enclosing[0], enclosing[-1]
        container = launch.container
        if container is not None and not container.passes("SLURM_NODEID"):
            raise NotConvertible("its container does not get the environment of the job, and cannot know its node")
        self.edits: list[Edit] = []
        self.lines: list[str] = []
        self.rank = ""
        self._set_options(NAMES[launch.launcher.kind], gpus)

    def _set_options(self, names: Names, gpus: int) -> None:
        launcher = self.launch.launcher
        others = [
            option.name
            for option in launcher.all_options
            if option.name == "standalone" or option.name.startswith("rdzv_")
        ]
        if others:
            raise self._refuse(f"has --{others[0]}, with which it is one of one node: leave that out there")
        workers = f"$((SLURM_JOB_NUM_NODES * {gpus}))" if launcher.kind == "accelerate" else str(gpus)
        values = Names("$SLURM_JOB_NUM_NODES", "$SLURM_NODEID", ADDRESS, PORT, workers)
        missing = []
        for name, suggestion, value in zip(names, _VARIABLES, values, strict=True):
            setting = setting_of(launcher, name)
            if setting is not None and (setting.text == value or self._may_stay(name, names, setting)):
                continue
            variable = launcher.variables.get(name) if setting is None else self._variable(setting)
            if variable is None:
                missing.append(f"--{name}=${{{_NAMES.get(name, suggestion)}:-{_DEFAULTS.get(suggestion, gpus)}}}")
            elif name == names.rank:
                self.rank = variable
            elif setting is not None and (piece := self._assigned(setting)) is not None:
                self.edits.append(Edit(piece, value if self._is_quoted(piece) else _quoted(value)))
            else:
                self.lines.append(f"export {variable}={_quoted(value)}")
        if missing:
            raise self._refuse(f"cannot be told from here what it has to know: write {' '.join(missing)} there")

    def _may_stay(self, name: str, names: Names, setting: Setting) -> bool:
        return name in (names.address, names.port) and holds_for_all(setting, name == names.address)

    def _variable(self, setting: Setting) -> str | None:
        """The variable that a value comes from and that the file does not set itself; None if there is none."""
        if setting.from_environment:
            return setting.name
        found = expansions(setting.value or ())
        if found:
            name = found[0].name
            alone = len(found) == len(setting.value or ()) == 1
            return name if alone and name.isidentifier() and not name.startswith("SLURM_") else None
        span = span_of(setting.value) if setting.value else Span(0, 0)
        before = self._before(span)
        default = _DEFAULT.search(before)
        assigned = _ASSIGNED.search(before) if self._is_own(span) else None
        return default.group(1) if default else assigned.group(1) if assigned else None

    def _assigned(self, setting: Setting) -> Span | None:
        """The literal value that the script itself assigns to the variable; None if there is none."""
        span = span_of(setting.value) if setting.value else Span(0, 0)
        plain = self._is_own(span) and self.job.source.slice(span) == setting.text
        return span if plain and span.end > span.start else None

    def _is_own(self, span: Span) -> bool:
        return span.end <= len(self.job.source.own.text)

    def _is_quoted(self, span: Span) -> bool:
        before = self.job.source.text[span.start - 1 : span.start]
        if before == "'":
            raise NotConvertible("a value that has to change is in single quotes: write double ones")
        return before == '"'

    def _before(self, span: Span) -> str:
        return self.job.source.text[self.job.source.line_of(span.start).start : span.start]

    def _refuse(self, reason: str) -> NotConvertible:
        launcher = self.launch.launcher
        return NotConvertible(f"{launcher.name} on line {self.job.line(launcher.span.start)} {reason}")

    @property
    def notes(self) -> str:
        lines = [each.removeprefix("export ").partition("=")[0] for each in self.lines]
        launcher = self.launch.launcher
        names = ", ".join([*lines, *([self.rank] if self.rank else [])])
        return f"{launcher.name} on line {self.job.line(launcher.span.start)} is told {names}, which it reads"

    def started(self) -> Iterator[Edit]:
        """The edits that start the file on every node."""
        job = self.job
        yield from without_geometry(job, self.launch.step)
        yield from self.edits
        first = start_of(self.first)
        if self.lines:
            edit = lines_before_statement(job, [self.first.span.start], self.lines)
            if edit is None:
                raise NotConvertible(f"no line can be put before {self.first.name}: write it on a line of its own")
            yield edit
        srun = "" if self.launch.step is not None else f"{srun_of(job)} "
        shell = f'bash -c \'export {self.rank}="$SLURM_NODEID"; exec "$@"\' bash ' if self.rank else ""
        start = start_of(self.command)
        if not job.in_quoted_text(start):
            if start == first:
                yield insert(start, srun + shell)
            else:
                yield insert(first, srun)
                yield insert(start, shell)
            return
        if srun:
            yield insert(first, srun)
        if self.rank:
            # expanded by the shell of the task, which reads the string
            dollar = "$" if words_of(job).quote_around(start) == "'" else "\\$"
            yield insert(start, f"{self.rank}={dollar}SLURM_NODEID ")


def _quoted(value: str) -> str:
    return value if value.isdigit() or value.startswith("$(") else f'"{value}"'
