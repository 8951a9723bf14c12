"""The output formats by name."""

from collections.abc import Callable

from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

Renderer = Callable[[Report, Terminal], str]


def renderer(output_format: str) -> Renderer:
    """The function that writes a report in one of `FORMATS`; its text ends in a newline, or is empty."""
    # a run needs only one of them
    match output_format:
        case "full":
            from sbatchlint.report.full import render
        case "concise":
            from sbatchlint.report.concise import render
        case "json":
            from sbatchlint.report.json import render
        case "json-lines":
            from sbatchlint.report.json_lines import render
        case "sarif":
            from sbatchlint.report.sarif import render
        case "gitlab":
            from sbatchlint.report.gitlab import render
        case "junit":
            from sbatchlint.report.junit import render
        case "checkstyle":
            from sbatchlint.report.checkstyle import render
        case "rdjson":
            from sbatchlint.report.rdjson import render
        case "markdown":
            from sbatchlint.report.markdown import render
        case _:
            from sbatchlint.report.github import render
    return render
