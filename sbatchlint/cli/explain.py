"""`explain` and `checks`: the documentation of the checks, from their own files."""

import json
import sys

from sbatchlint.cli.arguments import Parser
from sbatchlint.registry import GROUPS, Check, registry
from sbatchlint.report.pages import as_markdown, as_text, as_value, card_value, markdown_table
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.files import InputError

FORMATS = ("text", "markdown", "json")
# What is below a table of checks.
COLUMNS = (
    "severity: the worst that the check reports (docs/severity.md)",
    "fix: there always is one; fix?: sometimes. --fix applies those that are safe, --unsafe-fixes also guesses",
)


def explain_parser() -> Parser:
    made = _parser(
        "explain",
        "Says what a check finds and why it matters, with examples, fix and references; or what a symptom of diagnose "
        "means; `symptoms` lists these.",
    )
    made.add_argument("check", metavar="CODE|NAME|GROUP|SYMPTOM")
    return made


def checks_parser() -> Parser:
    return _parser("checks", "Every check: code, name, severity, fix, and what it finds.")


def _parser(verb: str, description: str) -> Parser:
    made = Parser(verb, description)
    made.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return made


def explain(arguments: list[str]) -> int:
    """Runs `sbatchlint explain CODE|NAME|GROUP|SYMPTOM`; returns the exit code."""
    options = explain_parser().parse_args(arguments)
    terminal = Terminal.of_stream(sys.stdout, options.color)
    if registry().find(options.check) is None and ("-" in options.check or options.check.lower() == "symptoms"):
        from sbatchlint.diagnose.symptom_pages import page  # symptoms are not loaded for checks

        shown = page(options.check, options.output_format, terminal)
        if shown:
            print(shown, end="")
            return 0
    entries = registry().matching(options.check)
    if entries is None:
        from sbatchlint.diagnose.symptom_pages import did_you_mean_any  # as above

        wrong = InputError(f"there is no check and no symptom '{options.check}'{did_you_mean_any(options.check)}")
        wrong.add_note("hint: `sbatchlint checks` lists all checks, `sbatchlint explain symptoms` all symptoms")
        raise wrong
    if not entries:
        raise InputError(f"there is no check in '{options.check}' yet")
    found = [registry().load(entry) for entry in entries]
    single = registry().find(options.check) is not None
    if single or options.output_format != "text":
        from sbatchlint.diagnose.seen import bites  # as above
    if options.output_format == "json":
        values = [as_value(check, bites(check.entry.code)) for check in found]
        print(json.dumps(values[0] if single else values, indent=2))
    elif options.output_format == "markdown":
        print("\n".join(as_markdown(check, bites(check.entry.code)) for check in found), end="")
    elif single:
        print(as_text(found[0], terminal, bites(found[0].entry.code)), end="")
    else:
        print(table(found, terminal), end="")
    return 0


def checks(arguments: list[str]) -> int:
    """Runs `sbatchlint checks`; returns the exit code."""
    options = checks_parser().parse_args(arguments)
    found = list(registry().load_all())
    if options.output_format == "json":
        print(json.dumps([card_value(check) for check in found], indent=2))
    elif options.output_format == "markdown":
        print(markdown_table(found, ""), end="")
    else:
        print(table(found, Terminal.of_stream(sys.stdout, options.color)), end="")
    return 0


def table(found: list[Check], terminal: Terminal) -> str:
    """One line for each check, by group."""
    room = max((len(check.entry.name) for check in found), default=0)
    lines: list[str] = []
    for group in GROUPS:
        members = [check for check in found if check.entry.code.startswith(group.prefix)]
        if members:
            title = terminal.style("bold", f"{group.prefix} {group.name}: {group.summary}")
            lines.append(f"\n{title}" if lines else title)
        for check in members:
            card = check.card
            severity = terminal.style(card.severity, f"{card.severity:<8}")
            name = terminal.link(check.entry.url, check.entry.name) + " " * (room - len(check.entry.name))
            fix = {"always": "fix", "sometimes": "fix?", "never": ""}[card.fix]
            stage = "" if card.stage == "stable" else f" ({card.stage}: runs only where it is selected)"
            summary = plain(check.summary)
            lines.append(f"{check.entry.code}  {name}  {severity} {fix:<4}  {summary}{stage}")
    if not lines:
        return ""
    heading = f"{'code':<5}  {'name':<{room}}  {'severity':<8} fix   what it finds"
    return "\n".join([terminal.style("dim", heading), *lines, "", *COLUMNS]) + "\n"


def plain(markdown: str) -> str:
    """A sentence of Markdown without its backquotes."""
    return markdown.replace("`", "")
