"""The page of a check, as text, Markdown or a JSON value; the documentation is made of the same."""

from collections.abc import Iterator, Sequence

from sbatchlint.check import Bad, Example, Good, Span
from sbatchlint.registry import Check
from sbatchlint.report.cells import wrap
from sbatchlint.report.reasons import sections
from sbatchlint.report.snippet import Label, Line
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

Sections = Sequence[tuple[str, str]]


_OFFERED = {"always": "a fix is always offered", "sometimes": "a fix is sometimes offered", "never": "no fix"}


def facts(check: Check) -> str:
    """Severity, fix, version in one line."""
    card = check.card
    stage = "" if card.stage == "stable" else f", {card.stage}: runs only where it is selected by code or name"
    return f"{card.severity}; {_OFFERED[card.fix]}; since {card.since}{stage}"


def _seen(check: Check) -> str:
    """What a check is known from, as its card says it."""
    return f"Known from: {check.card.seen}."


def card_value(check: Check) -> dict[str, object]:
    """What is known of a check without its text."""
    card = check.card
    return {
        "code": card.code,
        "name": card.name,
        "severity": card.severity,
        "fix": card.fix,
        "stage": card.stage,
        "since": card.since,
        "seen": card.seen,
        "summary": check.summary,
        "url": check.entry.url,
    }


def as_value(check: Check, more: Sections = ()) -> dict[str, object]:
    body, rest = sections(check)
    examples = []
    for case in check.cases:
        files = [{"path": path, "text": file.text, "spans": _places(file)} for path, file in case.files.items()]
        fixes = {"fixed": case.fixed, "unsafe_fixed": case.unsafe_fixed} if isinstance(case, Bad) else {}
        value = {"kind": "bad" if fixes else "good", "title": case.title, "script": case.example.text}
        examples.append(
            {**value, "spans": _places(case.example), "files": files, **fixes, "known_limit": is_limit(case)}
        )
    return {
        **card_value(check),
        "why": body,
        "sections": [{"title": title, "text": text} for title, text in (*more, *rest)],
        "options": [
            {"name": option.name, "default": option.default, "help": option.help} for option in check.card.options
        ],
        "examples": examples,
    }


def _places(example: Example) -> list[dict[str, object]]:
    source = Source(example.text)
    found: list[dict[str, object]] = []
    for span in example.spans:
        start, end = source.position(span.start), source.position(span.end)
        found.append({"location": start._asdict(), "end_location": end._asdict()})
    return found


def is_limit(case: Bad | Good) -> bool:
    return case.missed if isinstance(case, Bad) else case.flagged


def _groups(check: Check) -> list[tuple[str, list[Bad | Good]]]:
    cases = list(check.cases)
    limits = [case for case in cases if is_limit(case)]
    return [
        ("Reported", [case for case in cases if isinstance(case, Bad) and case not in limits]),
        ("Not reported", [case for case in cases if isinstance(case, Good) and case not in limits]),
        ("Known limits", limits),
    ]


def _limit(case: Bad | Good) -> str:
    return "Should be reported, and is not yet." if isinstance(case, Bad) else "Is reported, and should not be."


def as_markdown(check: Check, more: Sections = ()) -> str:
    """A page of Markdown; marked places are underlined by a comment line below them. `more`: sections before the
    others, title and body each."""
    body, rest = sections(check)
    rest = [*more, *rest]
    card = check.card
    lines = [f"# {card.name} ({card.code})", "", check.summary, "", f"*{facts(check)}*", ""]
    if body:
        lines += [body, ""]
    for title, text in rest:
        if title != "References":
            lines += [f"## {title}", "", text, ""]
    if card.options:
        lines += ["## Options", "", f"In `[tool.sbatchlint.checks.{card.name}]`:", ""]
        for option in card.options:
            lines.append(f"- `{option.name}` (default `{_toml(option.default)}`): {option.help}")
        lines.append("")
    for title, cases in _groups(check):
        if cases:
            lines += [f"## {title}", ""]
        for case in cases:
            lines += _example_markdown(case)
    for title, text in rest:
        if title == "References":
            lines += [f"## {title}", "", text, ""]
    if card.seen:
        lines += [_seen(check), ""]
    return "\n".join(lines).rstrip() + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _example_markdown(case: Bad | Good) -> list[str]:
    lines = [f"{_sentence(case.title)}:", ""] if case.title else []
    if is_limit(case):
        lines += [_limit(case), ""]
    if case.settings:
        lines += ["With the settings `" + ", ".join(_settings(case.settings)) + "`:", ""]
    for introduction, text, language in _parts(case, Terminal(), 10_000):
        lines += [introduction, ""] if introduction else []
        lines += _fence(text, language)
    return lines


def _parts(case: Bad | Good, terminal: Terminal, room: int) -> Iterator[tuple[str, str, str]]:
    """What a page shows of an example: how it is introduced, its text in so many cells, and the language of that."""
    beside = ((f"and beside it `{path}`:", file) for path, file in case.files.items())
    for introduction, file in (("", case.example), *beside):
        yield introduction, _underlined(file, terminal, room), "text" if file.spans else "bash"
    if isinstance(case, Bad):
        for option, text in (("--fix", case.fixed), ("--fix --unsafe-fixes", case.unsafe_fixed)):
            if text is not None:
                yield f"`{option}` makes of it:", _visible(text).rstrip("\n"), "bash"


# Names that stay in small letters where a sentence begins with them.
_PROGRAMS = frozenset(
    {"accelerate", "afterany", "apptainer", "bash", "c10d", "deepspeed", "docker", "enroot", "errexit", "exit"}
    | {"mpirun", "perl", "podman", "python", "pyxis", "return", "sbatch", "scontrol", "srun", "torchrun", "uv", "xargs"}
)


def _sentence(title: str) -> str:
    """A title with a capital letter, unless it begins with a name, which has its own letters."""
    first = title.partition(" ")[0].strip(",:;")
    return title[:1].upper() + title[1:] if first.isalpha() and first not in _PROGRAMS else title


def _settings(settings: object, prefix: str = "") -> list[str]:
    found: list[str] = []
    for key, value in settings.items() if isinstance(settings, dict) else ():
        if isinstance(value, dict):
            found.extend(_settings(value, f"{prefix}{key}."))
        else:
            found.append(f"{prefix}{key} = {_toml(value)}")
    return found


def _fence(text: str, language: str) -> list[str]:
    mark = "```"
    while mark in text:
        mark += "`"
    return [f"{mark}{language}", *text.rstrip("\n").split("\n"), mark, ""]


def _visible(text: str) -> str:
    return "\n".join(Line(line, [], 10_000).text for line in text.split("\n"))


def _underlined(example: Example, terminal: Terminal, room: int) -> str:
    source = Source(example.text)
    out = []
    for row in range(1, source.rows + 1):
        line = source.line(row)
        full = source.full_line(row)
        labels = []
        for span in example.spans:
            if span.start < full.end and span.end > line.start or line.start <= span.start == span.end <= line.end:
                start, end = max(span.start, line.start), min(span.end, full.end)
                labels.append(Label(start - line.start, max(end - line.start, start - line.start), "", True))
        shown = Line(source.slice(Span(line.start, full.end)).removesuffix("\n"), labels, room)
        out += [shown.text, *shown.under(terminal)]
    return "\n".join(out)


def as_text(check: Check, terminal: Terminal, more: Sections = ()) -> str:
    """For a terminal."""
    card = check.card
    body, rest = sections(check)
    rest = [*more, *rest]
    name = terminal.style("bold", terminal.link(check.entry.url, f"{card.code} {card.name}"))
    lines = [f"{name}  {terminal.style('dim', facts(check))}", "", *_paragraph(check.summary, terminal), ""]
    if body:
        lines += [*as_paragraphs(body, terminal), ""]
    for title, text in rest:
        if title != "References":
            lines += [terminal.style("bold", title), *as_paragraphs(text, terminal), ""]
    if card.options:
        lines.append(terminal.style("bold", f"Options, in [tool.sbatchlint.checks.{card.name}]"))
        lines += [f"  {option.name} = {_toml(option.default)}  {option.help}" for option in card.options]
        lines.append("")
    for title, cases in _groups(check):
        if cases:
            lines.append(terminal.style("bold", title))
        for case in cases:
            notes = [case.title] if case.title else []
            notes += [_limit(case)] if is_limit(case) else []
            notes += ["with " + ", ".join(_settings(case.settings))] if case.settings else []
            lines += [terminal.style("dim", f"  # {note}") for note in notes]
            for introduction, text, _ in _parts(case, terminal, terminal.width - 4):
                plain = introduction.replace("`", "")
                lines += [terminal.style("dim", f"  {plain}")] if plain else []
                lines += [f"    {line}".rstrip() for line in text.split("\n")]
            lines.append("")
    for title, text in rest:
        if title == "References":
            lines += [terminal.style("bold", title), *as_paragraphs(text, terminal), ""]
    if card.seen:
        lines += [*_paragraph(_seen(check), terminal), ""]
    lines += ["Words of Slurm: docs/glossary.md"]
    return "\n".join(lines).rstrip() + "\n"


def as_paragraphs(markdown: str, terminal: Terminal) -> list[str]:
    """The lines of Markdown for a terminal, wrapped; tables and code stay as they are."""
    lines: list[str] = []
    for block in markdown.split("\n\n"):
        if lines:
            lines.append("")
        if block.startswith(("    ", "```", "|")):
            lines += block.split("\n")
            continue
        items = [""]
        for line in block.split("\n"):
            if line.lstrip().startswith(("- ", "* ")):
                items.append(line.strip())
            else:
                items[-1] = f"{items[-1]} {line.strip()}".strip()
        for item in items:
            if item:
                lines += _paragraph(item, terminal)
    return lines


# A link of Markdown: its text and its address.
_LINK = Regex(r"\[([^\]\n]+)\]\(([^()\s]+)\)")


def _paragraph(text: str, terminal: Terminal) -> list[str]:
    plain = _LINK.sub(lambda link: f"{link[1]} ({link[2]})", text)
    return wrap(plain, min(terminal.width, 110))


def markdown_table(found: list[Check], pages: str) -> str:
    """The rows of every check; `pages`: where their pages lie, for the links."""
    lines = ["| code | name | severity | fix | finds |", "|---|---|---|---|---|"]
    for check in found:
        card = check.card
        summary = check.summary.replace("|", "\\|")
        link = f"[{card.name}]({pages}{card.name}.md)" if pages else card.name
        lines.append(f"| {card.code} | {link} | {card.severity} | {card.fix} | {summary} |")
    return "\n".join(lines) + "\n"
