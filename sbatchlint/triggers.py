"""Triggers: what a script must contain for a check to report anything.

A card names one (`when=Steps()`), or several of which one suffices (`when=Options("array") | Refused("array")`). A
check is not even imported for a script without it. Triggers only look at facts that the job has anyway, never at the
text of the script. A trigger must not lose findings: the tests run every case with triggers on and off.
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


class Trigger:
    """A property of a job; `words` narrow it down, no words mean any.

    `SLURM_*` stands for all words with that prefix, `*_KEY` for all with that suffix.
    """

    asks = ""
    """The function of a check that is called for each thing that the trigger finds; "" for most triggers."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def found(self, job: "Job") -> "Iterable[object]":
        """What the trigger finds in a job, for the function named by `asks`."""
        raise NotImplementedError

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        """The words of this kind that a job has; None for an unknown one."""
        raise NotImplementedError

    def holds(self, job: "Job") -> bool:
        found = frozenset(self.words_of(job))
        if not self.words:
            return bool(found)
        return any(word in found or any(is_like(each, word) for each in found) for word in self.words)

    @property
    def parts(self) -> "tuple[Trigger, ...]":
        """The triggers of which one suffices: itself, except for `AnyOf`."""
        return (self,)

    def __or__(self, other: "Trigger") -> "AnyOf":
        return AnyOf(*self.parts, *other.parts)

    def __repr__(self) -> str:
        words = ", ".join(f'"{word}"' for word in sorted(self.words))
        return f"{type(self).__name__}({words})"


def is_like(word: str | None, pattern: str) -> bool:
    """Whether a pattern, with a `*` at one end, matches a word."""
    if word is None or "*" not in pattern:
        return False
    return word.startswith(pattern[:-1]) if pattern[-1] == "*" else word.endswith(pattern[1:])


class AnyOf(Trigger):
    """At least one of several triggers."""

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

    asks = "check_step"

    def found(self, job: "Job") -> "Iterable[Step]":
        return job.steps

    def holds(self, job: "Job") -> bool:
        return bool(job.steps)


class Launchers(Trigger):
    """A launcher of one of these kinds is started (`Launcher.kind`: torchrun, accelerate, deepspeed, mpi …)."""

    asks = "check_launch"

    def found(self, job: "Job") -> "Iterable[Launch]":
        return [launch for launch in job.launches if not self.words or launch.launcher.kind in self.words]

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.launcher.kind for each in job.launches)


class Commands(Trigger):
    """A command with one of these names is run, by any shell or wrapper; unknown names do not count.

    Its folder need not be known: `$VENV/bin/pip` is pip. For `check_command` it must be.
    """

    asks = "check_command"

    def found(self, job: "Job") -> "Iterable[Invocation]":
        fits = [name for name in by_program(job) if any(name == word or is_like(name, word) for word in self.words)]
        return commands_named(job, *fits)

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return by_program(job)


class Containers(Trigger):
    """A command or a step enters a container of one of these kinds (`Container.kind`: pyxis, docker, apptainer …)."""

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.kind for each in map(entered, job.invocations) if each is not None)


class Variables(Trigger):
    """A variable with one of these names, in upper or lower case, is assigned, read, or set for a command."""

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        names = {each.name for each in job.assignments} | {each.name for each in job.trace.reads}
        names.update(name for each in job.invocations for name, _ in each.spawn.variables)
        return map(str.upper, names)


class Options(Trigger):
    """One of these options (by canonical name) is set for the job.

    It may be set by a directive, also of PBS or LSF, or on the command line of the job's sbatch.
    """

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        directives, foreign = job.directives, job.directives.foreign
        yield from (each.name for each in directives.every_setting)
        if foreign is not None:
            yield from (each.name for each in foreign.settings)


class Written(Trigger):
    """The directives, or the options of srun, sbatch or salloc on a command line, are written in one of these ways.

    `comment`: text after a `#` on the line of a directive; `comments`: other comment lines among the directives;
    `dropped`: words that sbatch drops, or `hetjob`; `quoted`: a word with quotes or backslashes; `equals`: a word with
    a misplaced `=`; `dashes`: a word with one dash and several letters, or with three dashes; `short`: an abbreviated
    long option; `foreign`: directives of PBS or LSF; `plugin`: an option added by a plugin; `again`: an option that is
    set twice; `glued`: a value that contains `--`; `later`: a value on a later line than its option; `expansion`: a
    value with a `$`, a backquote or a leading `~`; `gpus`: `--gres` together with `--gpus-per-node`, or a list in one.
    """

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
    gpu_settings = [each for each in settings if each.name in ("gres", "gpus-per-node")]
    if len({each.name for each in gpu_settings}) > 1 or any("," in (each.value or "") for each in gpu_settings):
        yield "gpus"


class StepOptions(Trigger):
    """An srun has one of these options (by canonical name). `check_step` is called for all steps."""

    asks = "check_step"

    def found(self, job: "Job") -> "Iterable[Step]":
        return job.steps

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (option.name for step in job.steps for option in step.all_options)


class Problems(Trigger):
    """sbatch or an srun finds a problem of one of these kinds in its options (`Problem.kind`)."""

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        yield from (each.kind for block in option_blocks(job) for each in block.problems)
        yield from (each.kind for step in job.steps for each in step.problems)


class Refused(Trigger):
    """Slurm refuses the value of an option, of the job or on a command line (`Refusal.kind`: one of these)."""

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        return (each.refusal.kind for block in option_blocks(job) for each in block.refused)


class Unread(Trigger):
    """A directive comes after the first command, so sbatch does not read it."""

    def holds(self, job: "Job") -> bool:
        return bool(job.directives.unread)


class KnownCluster(Trigger):
    """The settings have the profile of the cluster."""

    def holds(self, job: "Job") -> bool:
        return job.site.profile is not None


class NoGpus(Trigger):
    """The job certainly requests no GPUs, or is heterogeneous, so that each component has its own request."""

    def holds(self, job: "Job") -> bool:
        return job.request.heterogeneous or job.request.asks_for_gpus is False


class Shebang(Trigger):
    """The first line names one of these interpreters; "" for a script without one."""

    def words_of(self, job: "Job") -> "Iterable[str | None]":
        interpreter, line = job.interpreter_line
        return [interpreter if line and job.text.string[:2] == "#!" else ""]


class IgnoreComments(Trigger):
    """The file has ignore comments. Checks with this trigger run after all others."""

    def holds(self, job: "Job") -> bool:
        return bool(job.ignores)


class SyntaxErrors(Trigger):
    """The shell parser found a syntax error."""

    def holds(self, job: "Job") -> bool:
        return bool(job.program.errors)


class Submitted(Trigger):
    """The job is a batch script inside another script: a heredoc, a generated file, the string of `--wrap`."""

    def holds(self, job: "Job") -> bool:
        return job.submission is not None


class Index:
    """Triggers by class, so that each class is evaluated once for a job. `names`: the checks that have triggers."""

    def __init__(self, triggers: "Mapping[str, Trigger]") -> None:
        self.names = frozenset(triggers)
        self._kinds: dict[type[Trigger], _Kind] = {}
        for name, trigger in triggers.items():
            for part in trigger.parts:
                if type(part) not in self._kinds:
                    self._kinds[type(part)] = _Kind(part)
                self._kinds[type(part)].add(name, part)

    def holding(self, job: "Job") -> set[str]:
        """The names of the checks whose triggers hold for a job."""
        return set().union(*(kind.holding(job) for kind in self._kinds.values()))


class _Kind:
    """The names of the checks with triggers of one class, by their words; `any`: of those without words."""

    def __init__(self, example: Trigger) -> None:
        self.example = example
        self.any: list[str] = []
        self.exact: dict[str | None, list[str]] = {}
        self.patterns: dict[str, list[str]] = {}
        self.like = lru_cache(maxsize=4096)(self._like)  # most scripts use the same variables

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
        """The names of the checks with a pattern that matches this word."""
        return tuple(name for pattern, names in self.patterns.items() if is_like(word, pattern) for name in names)
