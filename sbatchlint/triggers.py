"""Triggers: what a script must have for a check to have anything to say.

A card names one (`when=Steps()`), or several of which one is enough (`when=Options("array") | Refused("array")`). A
check is not even imported for a script that lacks it. Each is exact over facts that the job has anyway, and none reads
the script's text. A trigger silences nothing: the tests run every case with the triggers off and on.
"""

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from sbatchlint.job.command_lines import option_blocks
from sbatchlint.job.launches import entered
from sbatchlint.job.programs import by_program, commands_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sbatchlint.job import Invocation, Job, Launch, Step
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Setting

__all__ = [
    "AnyOf",
    "Commands",
    "Containers",
    "IgnoreComments",
    "Index",
    "Launchers",
    "NoGpus",
    "Options",
    "Problems",
    "Refused",
    "Shebang",
    "StepOptions",
    "Steps",
    "Submitted",
    "SyntaxErrors",
    "Trigger",
    "Unread",
    "Variables",
    "Written",
]


class Trigger:
    """A property of a job; `words` narrow it down, and none mean any.

    `SLURM_*` stands for all words with that beginning, `*_KEY` for all with that end.
    """

    __slots__ = ("words",)

    asks = ""
    """The function of a check that is asked once for each thing that the trigger finds; none for most triggers."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def found(self, job: "Job") -> "Iterable[object]":
        """What the trigger finds in a job, for the function that it asks."""
        raise NotImplementedError

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        """The words that fit a job; None is one that is not known."""
        raise NotImplementedError

    def holds(self, job: "Job") -> bool:
        found = frozenset(self.words_of(job))
        if not self.words:
            return bool(found)
        return any(word in found or any(is_like(each, word) for each in found) for word in self.words)

    @property
    def parts(self) -> "tuple[Trigger, ...]":
        """The triggers of which one is enough: itself, but for `AnyOf`."""
        return (self,)

    def __or__(self, other: "Trigger") -> "AnyOf":
        return AnyOf(*self.parts, *other.parts)

    def __repr__(self) -> str:
        words = ", ".join(f'"{word}"' for word in sorted(self.words))
        return f"{type(self).__name__}({words})"


def is_like(word: str | None, pattern: str) -> bool:
    """Whether a pattern, with a `*` at one end, fits a word."""
    if word is None or "*" not in pattern:
        return False
    return word.startswith(pattern[:-1]) if pattern[-1] == "*" else word.endswith(pattern[1:])


class AnyOf(Trigger):
    """At least one of several triggers."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: Trigger) -> None:
        super().__init__()
        self._parts = parts

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self._parts

    def holds(self, job: "Job") -> bool:
        return any(part.holds(job) for part in self._parts)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self._parts))


class Steps(Trigger):
    """The batch script starts a step with srun."""

    __slots__ = ()

    asks = "check_step"

    def found(self, job: "Job") -> "Iterable[Step]":
        return job.steps

    def holds(self, job: "Job") -> bool:
        return bool(job.steps)


class Launchers(Trigger):
    """A launcher of one of these kinds is started (`Launcher.kind`: torchrun, accelerate, deepspeed, mpi …)."""

    __slots__ = ()

    asks = "check_launch"

    def found(self, job: "Job") -> "Iterable[Launch]":
        return [launch for launch in job.launches if not self.words or launch.launcher.kind in self.words]

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.launcher.kind for each in job.launches)


class Commands(Trigger):
    """A command of one of these names is run, by whichever shell or wrapper; unknown names count for none.

    The folder need not be known: `$VENV/bin/pip` is pip. For `check_command` it must be.
    """

    __slots__ = ()

    asks = "check_command"

    def found(self, job: "Job") -> "Iterable[Invocation]":
        fits = [name for name in by_program(job) if any(name == word or is_like(name, word) for word in self.words)]
        return commands_named(job, *fits)

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return by_program(job)


class Containers(Trigger):
    """A command or a step enters a container of one of these kinds (`Container.kind`: pyxis, docker, apptainer …)."""

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.kind for each in map(entered, job.invocations) if each is not None)


class Variables(Trigger):
    """A variable of one of these names is assigned, read, or set for a command; its letters may be of any case."""

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        names = {each.name for each in job.assignments} | {each.name for each in job.trace.reads}
        names.update(name for each in job.invocations for name, _ in each.spawn.variables)
        return map(str.upper, names)


class Options(Trigger):
    """One of these options is set for the job (by its canonical name).

    Be it by a directive, one of PBS or LSF, or on the command line of its own sbatch.
    """

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        directives, foreign = job.directives, job.directives.foreign
        yield from (each.name for each in (*directives.settings, *directives.overriding))
        if foreign is not None:
            yield from (each.name for each in foreign.settings)


class Written(Trigger):
    """The option block, or the options of srun, sbatch or salloc on a command line, are written in one of these ways.

    `comment`: text behind a `#` on a directive's line; `comments`: other comment lines among the directives; `dropped`:
    words that sbatch leaves out, or `hetjob`; `quoted`: a word with quotes or backslashes; `equals`: a word with a `=`
    where none belongs; `dashes`: a word with one dash and more than a letter, or with three; `short`: a long option
    that is not written in full; `foreign`: directives of PBS or LSF; `plugin`: an option that a plugin adds; `again`:
    an option that is given twice; `glued`: a value with `--` inside; `later`: a value on a later line than its option;
    `expansion`: a value with a `$`, a backquote or a `~` at its beginning; `gpus`: `--gres` beside `--gpus-per-node`,
    or a list in one of these.
    """

    __slots__ = ()

    asks = "check_options"

    def found(self, job: "Job") -> "Iterable[Directives]":
        return option_blocks(job)

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        if job.directives.has_comments:
            yield "comments"
        for block in option_blocks(job):
            yield from _ways(block)


def _ways(directives: "Directives") -> "Iterator[str]":
    for line in directives.lines:
        if line.comment is not None:
            yield "comment"
        if line.dropped is not None or line.separator:
            yield "dropped"
        for word, _, _, positions in line.tokens:
            dashed = word[:1] == "-" != word[1:2]
            if positions is not None:
                yield "quoted"
            if word[:1] == "=" or word[-1:] == "=" or dashed and "=" in word:
                yield "equals"
            if dashed and len(word) > 2 or word[:3] == "---":
                yield "dashes"
    if directives.foreign is not None:
        yield "foreign"
    yield from _ways_of_settings(directives.settings)


def _ways_of_settings(settings: "Sequence[Setting]") -> "Iterator[str]":
    for setting in settings:
        value = setting.value
        if setting.written[:2] == "--" and setting.written[2:] != setting.name:
            yield "short"
        if setting.plugin is not None:
            yield "plugin"
        if value is None:
            continue
        if setting.value_line is not setting.line:
            yield "later"
        if value[:1] == "~" or "$" in value or "`" in value:
            yield "expansion"
        if "--" in value[1:]:
            yield "glued"
    if len({each.name for each in settings}) < len(settings):
        yield "again"
    given = [each for each in settings if each.name in ("gres", "gpus-per-node")]
    if len({each.name for each in given}) > 1 or any("," in (each.value or "") for each in given):
        yield "gpus"


class StepOptions(Trigger):
    """An srun has one of these options among its own (by its canonical name). `check_step` is asked for all steps."""

    __slots__ = ()

    asks = "check_step"

    def found(self, job: "Job") -> "Iterable[Step]":
        return job.steps

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (option.name for step in job.steps for option in step.all_options)


class Problems(Trigger):
    """sbatch or an srun meets a problem of one of these kinds when it reads its options (`Problem.kind`)."""

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        yield from (each.kind for block in option_blocks(job) for each in block.problems)
        yield from (each.kind for step in job.steps for each in step.problems)


class Refused(Trigger):
    """Slurm refuses the value of an option, of the job's or on a command line, by a rule of one of these kinds.

    See `Refusal.kind`.
    """

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.refusal.kind for block in option_blocks(job) for each in block.refused)


class Unread(Trigger):
    """A directive stands where sbatch does not read it any more."""

    __slots__ = ()

    def holds(self, job: "Job") -> bool:
        return bool(job.directives.unread)


class NoGpus(Trigger):
    """The job certainly asks for no GPUs, or is heterogeneous, so that each component asks for its own."""

    __slots__ = ()

    def holds(self, job: "Job") -> bool:
        return job.request.heterogeneous or job.request.asks_for_gpus is False


class Shebang(Trigger):
    """The first line names one of these interpreters; "" stands for a script that names none."""

    __slots__ = ()

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        interpreter, line = job.interpreter_line
        return [interpreter if line else ""]


class IgnoreComments(Trigger):
    """The file has comments that switch checks off. Such a check runs after all others."""

    __slots__ = ()

    def holds(self, job: "Job") -> bool:
        return bool(job.ignores)


class SyntaxErrors(Trigger):
    """The parser met text that is no program of the shell."""

    __slots__ = ()

    def holds(self, job: "Job") -> bool:
        return bool(job.program.errors)


class Submitted(Trigger):
    """The job is a batch script inside another script: a heredoc, a generated file, the text of `--wrap`."""

    __slots__ = ()

    def holds(self, job: "Job") -> bool:
        return job.submission is not None


class Index:
    """Triggers by what they want, so that a job is asked once for all of a kind. `names`: whose triggers they are."""

    def __init__(self, triggers: "Mapping[str, Trigger]") -> None:
        self.names = frozenset(triggers)
        self._kinds: dict[type[Trigger], _Kind] = {}
        for name, trigger in triggers.items():
            for part in trigger.parts:
                if type(part) not in self._kinds:
                    self._kinds[type(part)] = _Kind(part)
                self._kinds[type(part)].add(name, part)

    def holding(self, job: "Job") -> set[str]:
        """The names of the triggers that hold for a job."""
        return set().union(*(kind.holding(job) for kind in self._kinds.values()))


class _Kind:
    """The names of the triggers of one class, by their words; `any`: of those without words."""

    def __init__(self, example: Trigger) -> None:
        self.example = example
        self.any: list[str] = []
        self.exact: dict[str | None, list[str]] = {}
        self.patterns: dict[str, list[str]] = {}
        self.like = lru_cache(maxsize=4096)(self._like)  # most scripts name the same variables

    def add(self, name: str, trigger: Trigger) -> None:
        if not trigger.words:
            self.any.append(name)
        for word in trigger.words:
            (self.patterns if "*" in word else self.exact).setdefault(word, []).append(name)

    def holding(self, job: "Job") -> list[str]:
        if not self.exact and not self.patterns:
            return self.any if self.example.holds(job) else []
        found = frozenset(self.example.words_of(job))
        names = self.any[:] if found else []
        for word in self.exact.keys() & found:
            names += self.exact[word]
        if self.patterns:
            names.extend(chain.from_iterable(map(self.like, found)))
        return names

    def _like(self, word: str | None) -> tuple[str, ...]:
        """The names of those that want words like this one."""
        return tuple(name for pattern, names in self.patterns.items() if is_like(word, pattern) for name in names)
