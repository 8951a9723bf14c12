"""The output formats by name."""

from collections.abc import Callable

from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

Renderer = Callable[[Report, Terminal], str]


def renderer(output_format: str) -> Renderer:
    """The function that writes a report in one of `FORMATS`; its text ends in a newline, or is empty."""
    # a run needs only one of them
    if output_format == "full":
        from sbatchlint.report.full import render
    elif output_format == "concise":
        from sbatchlint.report.concise import render
    elif output_format == "json":
        from sbatchlint.report.json import render
    elif output_format == "json-lines":
        from sbatchlint.report.json_lines import render
    else:
        from sbatchlint.report.github import render
    return render
