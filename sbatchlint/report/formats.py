"""The output formats by name."""

from collections.abc import Callable
from importlib import import_module

from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

Renderer = Callable[[Report, Terminal], str]


def renderer(output_format: str) -> Renderer:
    """The function that renders a report in one of `FORMATS`; its result ends in a newline, or is empty."""
    module = import_module(f"sbatchlint.report.{output_format.replace('-', '_')}")  # a run needs only one
    found: Renderer = module.render
    return found
