"""JUnit XML: a test suite per file with findings, and a failed test per finding.

https://github.com/testmoapp/junitxml
"""

from sbatchlint.report.cells import escape
from sbatchlint.report.identity import repository_path
from sbatchlint.report.model import Report, by_file
from sbatchlint.report.terminal import Terminal
from sbatchlint.report.xml import document, element


def render(report: Report, terminal: Terminal) -> str:
    found = report.diagnostics
    root = element("testsuites", name="sbatchlint", tests=len(found) or 1, failures=len(found), errors=0)
    if not found:
        suite = element("testsuite", root, name="sbatchlint", tests=1, failures=0, errors=0, skipped=0)
        element("testcase", suite, name=f"no findings in {report.scripts} scripts", classname="sbatchlint")
        return document(root)
    for path, members in by_file(found).items():
        shown = repository_path(path)
        numbers = {"tests": len(members), "failures": len(members), "errors": 0, "skipped": 0}
        suite = element("testsuite", root, name=shown, **numbers)
        for member in members:
            row, column = member.source.position(member.span.start)
            name = f"{member.code} {member.name} ({row}:{column})"
            case = element("testcase", suite, name=name, classname=shown, file=shown, line=row)
            failure = element("failure", case, message=escape(member.message), type=member.severity)
            failure.text = escape(
                f"{shown}:{row}:{column}: {member.severity} {member.code} {member.name} {member.message}"
            )
    return document(root)
