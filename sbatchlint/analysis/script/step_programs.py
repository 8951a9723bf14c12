"""The commands of a step that do its work."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Step
from sbatchlint.programs import programs_with

# Commands that prepare, print, copy or wait, and have no settings, caches or results of their own.
UTILITIES = programs_with("minor", "copies")


def step_programs(step: Step) -> list[Invocation]:
    """The commands of a step that do its work: no shells or wrappers, nor commands that only prepare, print or copy."""
    return [
        command
        for command in step.program
        if not command.children and command.text is None and command.name not in UTILITIES and command.argv
    ]
