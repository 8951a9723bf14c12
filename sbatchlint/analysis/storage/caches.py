"""The cache folders of a step's programs, and where they are."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.analysis.script.work import step_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, cut, shown_text, span_of
from sbatchlint.bash.variables import is_default, merge_guards
from sbatchlint.job import Site, Step
from sbatchlint.job.argv import program_options
from sbatchlint.job.containers import Container
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import Location, classify
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# `--cache_dir`, `--data-cache-path`, `++model.hub_cache=`, but not `no_cache` and `cache_size`.
_CACHE_OPTION = Regex(
    r"(?:--?|\+{0,2})(?:[\w-]+\.)*((?!no[_-])(?:[a-z0-9]+[_-])*cache(?:[_-](?:dir(?:ectory)?|path|folder|root|home))?)"
)


class CacheSetting(NamedTuple):
    """A cache folder that a command of a step uses.

    `name`: of the variable or the option. `span`: the value in the file. `default`: whether it is only the fallback of
    `${NAME:-…}`.
    """

    name: str
    value: Pieces
    span: Span
    location: Location
    default: bool
    command: Invocation


def cache_settings(step: Step, site: Site, names: Iterable[str]) -> Iterator[CacheSetting]:
    """The cache folders that the script sets for the programs of a step, by one of these variables."""
    for command in step_programs(step):
        container, variables = container_of(command), command.state.variables
        for name in names:
            if variables.get(name) is None and (container is None or name not in container.passed):
                continue
            for value, default, assigned in _values(command, name, container):
                if value:
                    location = classify(value, site, container, None if container is None else container.workdir)
                    yield CacheSetting(name, value, _place(name, value, assigned), location, default, command)


def cache_options(step: Step, site: Site) -> Iterator[CacheSetting]:
    """The cache folders that an option of a step's programs sets: `--cache-dir`, `data.packing_cache=`.

    The name is that of the option, with underscores and without dashes and sections.
    """
    for command in step_programs(step):
        if not any(map(_cache_of, command.words)):
            continue
        container = container_of(command)
        for option, value, field in program_options(command.argv[1:]):
            name = _cache_of(option)
            if name is None:
                continue
            if value is None:
                value = cut(field, len(option) + 1, len(shown_text(field)))
            text = shown_text(value)
            if value and text and "/" in text and text[0] not in "-[{":
                location = classify(value, site, container, None if container is None else container.workdir)
                yield CacheSetting(name, value, span_of(value), location, False, command)


@lru_cache(maxsize=4096)  # programs have the same options again and again
def _cache_of(word: str) -> str | None:
    """The name of the cache that an option sets, with its value or without; None for other words."""
    found = _CACHE_OPTION.fullmatch(word.partition("=")[0])
    return None if found is None else found[1].replace("-", "_")


def _place(name: str, value: Pieces, assigned: Span) -> Span:
    """The place of a value: a part of what follows the `=`, or all of that if the value is partly from elsewhere."""
    span = Span(value[0].start, value[-1].end)
    if len(value) == 1 or assigned.start <= span.start <= span.end <= assigned.end or assigned.start == assigned.end:
        return span
    return Span(min(assigned.start + len(name) + 1, assigned.end), assigned.end)


def _values(command: Invocation, name: str, container: Container | None) -> Iterator[tuple[Pieces, bool, Span]]:
    """The values that a variable may have for a command, whether each is only a default, and where it is assigned."""
    if container is not None and container.passes(name) is not True:
        return
    passed = None if container is None else container.passed.get(name)
    if passed:
        yield passed, False, Span(passed[0].start, passed[-1].end)
    variable = command.state.variables.get(name)
    if passed is not None or variable is None or not variable.exported:
        return
    for alternative in variable.alternatives:
        guards = merge_guards(command.guards, alternative.guards)
        if guards is None or not alternative.fields:
            continue
        default = any(is_default(key) for key, _ in alternative.guards)
        yield alternative.fields[0], default, variable.span
