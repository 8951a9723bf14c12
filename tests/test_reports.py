"""Output formats, over findings made by hand."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import HEAD, ROOT, Command
from sbatchlint.check import Fix, Span, insert, remove, replace
from sbatchlint.diagnostics import Diagnostic, Related
from sbatchlint.report import FORMATS
from sbatchlint.report.cells import escape, width, wrap
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report
from sbatchlint.report.reasons import check_of, references
from sbatchlint.report.snippet import Label, Line
from sbatchlint.report.summary import statistics
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import Source

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
module load cuda

#SBATCH --time=10
srun --ntasks-per-node=4 torchrun --nproc-per-node=8 train.py
"""


def diagnostic(
    text: str,
    marked: str,
    related: tuple[tuple[str, str], ...] = (),
    severity: str = "error",
    message: str = "this is only a comment; move it above line 3",
    fix: Fix | None = None,
    path: str = "jobs/train.sbatch",
) -> Diagnostic:
    def span(part: str) -> Span:
        return Span(text.index(part), text.index(part) + len(part))

    places = tuple(Related(span(part), label) for part, label in related)
    url = "https://example.org/checks/some-name.md"
    return Diagnostic("SB101", "some-name", severity, message, span(marked), places, fix, Source(text, path), url)


def rendered(output_format: str, *found: Diagnostic, columns: int = 80, scripts: int = 1, **rest: int) -> str:
    return renderer(output_format)(Report(list(found), scripts, **rest), Terminal(columns))


def test_full() -> None:
    directive = "#SBATCH --time=10"
    at = SCRIPT.index("module")
    line = Span(SCRIPT.index(directive), SCRIPT.index(directive) + len(directive) + 1)
    fix = Fix("move it into the option block", [insert(at, directive + "\n"), remove(line)])
    found = diagnostic(SCRIPT, directive, (("module load cuda", "the first command"),), fix=fix)
    assert rendered("full", found, scripts=41) == (
        """\
error[SB101] some-name: this is only a comment; move it above line 3
  --> jobs/train.sbatch:5:1
   |
 3 | module load cuda
   | ---------------- the first command
 4 |
 5 | #SBATCH --time=10
   | ^^^^^^^^^^^^^^^^^
   |
help: move it into the option block (unsafe fix: --fix --unsafe-fixes)
 2 | #SBATCH --nodes=2
 3 + #SBATCH --time=10
 3 | module load cuda
 4 |
 5 - #SBATCH --time=10

1 finding (1 error) in 1 of 41 scripts; 1 fixable with --fix --unsafe-fixes;
  why: `sbatchlint explain SB101`
"""
    )


def test_several_labels_on_one_line() -> None:
    related = (("--ntasks-per-node=4", "four tasks on each node"), ("srun", "the step"))
    found = diagnostic(SCRIPT, "--nproc-per-node=8", related, "warning")
    assert """\
 6 | srun --ntasks-per-node=4 torchrun --nproc-per-node=8 train.py
   | ---- -------------------          ^^^^^^^^^^^^^^^^^^
   | |    |
   | |    four tasks on each node
   | the step
""" in rendered("full", found)


def test_long_lines_are_cut_around_the_label() -> None:
    text = f"srun {'a' * 300} --here {'b' * 300}\n"
    found = diagnostic(text, "--here")
    for columns in (80, 160):
        out = rendered("full", found, columns=columns)
        shown, marks = out.splitlines()[3:5]
        assert shown.startswith(" 1 | ...a")
        assert shown.endswith("b...")
        assert max(len(line) for line in out.splitlines()[:5]) <= columns
        assert marks.index("^") == shown.index("--here")
        assert marks.count("^") == 6


def test_messages_and_titles_are_wrapped() -> None:
    fix = Fix("word " * 30, [replace(Span(0, 1), "x")], safe=True)
    out = rendered("full", diagnostic(SCRIPT, "cuda", message="word " * 40, fix=fix))
    assert max(len(line) for line in out.splitlines()) <= 80


def test_of_a_thousand_findings_alike_the_rest_is_counted() -> None:
    text = "a\n" * 1002
    found = [
        Diagnostic("SB101", "n", "error", "m", Span(at, at + 1), (), None, Source(text, "job.sh"), "")
        for at in range(0, 2004, 2)
    ]
    other = diagnostic(SCRIPT, "module")
    shown = rendered("full", *found, other)
    assert shown.count("--> job.sh:") == 1000 and "--> jobs/train.sbatch:3:1" in shown
    assert "... and 2 more of SB101 in job.sh (--output-format concise lists all)\n" in shown
    assert "1003 findings" in shown
    assert rendered("concise", *found).count("job.sh:") == 1002


def test_wide_and_control_characters() -> None:
    text = 'echo "日本" \x1b[31m "x"\u202e \u00a0\t«é\n'
    out = rendered("full", diagnostic(text, '"x"'))
    shown, marks = out.splitlines()[3:5]
    assert shown == ' 1 | echo "日本" \\x1b[31m "x"<U+202E> <U+00A0>    «é'
    assert "\x1b" not in out
    assert marks.index("^") == len(" 1 | ") + len("echo ") + 6 + 1 + len("\\x1b[31m") + 1


def test_a_label_over_many_rows_shows_its_ends() -> None:
    text = "a\n" + "  b\n" * 8 + "  c\n"
    out = rendered("full", diagnostic(text, text[:-1]))
    shown = [line for line in out.splitlines() if line[2:4] == " |" and line[:2].strip() or line == "..."]
    assert shown == [" 1 | a", " 2 |   b", "...", "10 |   c"]


def test_a_carriage_return_is_shown_where_it_is_the_fault() -> None:
    out = rendered("full", diagnostic("a\r\nb\n", "\r"))
    assert " 1 | a\\r\n   |  ^^\n" in out


def test_a_place_at_the_end_of_the_file() -> None:
    text = "#!/bin/bash\n"
    found = diagnostic(text, "#!")._replace(span=Span(len(text), len(text)))
    assert " 2 |\n   | ^\n" in rendered("full", found)


def test_a_fix_of_line_ends_shows_them() -> None:
    text = "a\r\nb\r\n"
    fix = Fix("write line feeds", [remove(Span(1, 2)), remove(Span(4, 5))], safe=True)
    out = rendered("full", diagnostic(text, "\r", fix=fix))
    assert " 1 - a\\r\n" in out
    assert " 1 + a\n" in out


def test_a_fix_in_two_places_marks_the_lines_between() -> None:
    text = "a\nb\nc\nd\ne\nf\n"
    fix = Fix("move it", [insert(2, "f\n"), remove(Span(10, 12))], safe=True)
    out = rendered("full", diagnostic(text, "f", fix=fix))
    assert " 1 | a\n 2 + f\n...\n 5 | e\n 6 - f\n" in out
    fix = Fix("write them anew", [replace(Span(0, 1), "A"), replace(Span(4, 5), "C")], safe=True)
    assert " 1 + A\n 2 | b\n 3 - c\n 3 + C\n" in rendered("full", diagnostic(text, "f", fix=fix))
    fix = Fix("write them anew", [replace(Span(0, 1), "A"), replace(Span(2, 3), "B")], safe=True)
    assert "|" not in rendered("full", diagnostic(text, "f", fix=fix)).partition("help:")[2]


def test_concise() -> None:
    fix = Fix("x", [insert(0, "x")], safe=True)
    out = rendered("concise", diagnostic(SCRIPT, "cuda", fix=fix), diagnostic(SCRIPT, "srun", severity="info"))
    assert out.splitlines()[:2] == [
        "jobs/train.sbatch:3:13: error SB101 some-name this is only a comment; move it above line 3 [*]",
        "jobs/train.sbatch:6:1: info SB101 some-name this is only a comment; move it above line 3",
    ]


def test_json_has_the_promised_shape() -> None:
    fix = Fix("write it", [replace(Span(12, 19), "#\udcff")])
    found = diagnostic(SCRIPT, "module load cuda\n", (("srun", "there"),), fix=fix)
    (value,) = json.loads(rendered("json", found))
    assert value == {
        "code": "SB101",
        "name": "some-name",
        "severity": "error",
        "message": "this is only a comment; move it above line 3",
        "certainty": "certain",
        "releases": [],
        "summary": check_of(found).summary,
        "source": references(check_of(found)),
        "silence": "# sbatchlint: ignore[some-name]",
        "url": "https://example.org/checks/some-name.md",
        "filename": "jobs/train.sbatch",
        "reached": "",
        "location": {"row": 3, "column": 1},
        "end_location": {"row": 4, "column": 1},
        "related": [{"message": "there", "location": {"row": 6, "column": 1}, "end_location": {"row": 6, "column": 5}}],
        "fix": {
            "applicability": "unsafe",
            "message": "write it",
            "edits": [
                {"content": "#\ufffd", "location": {"row": 2, "column": 1}, "end_location": {"row": 2, "column": 8}}
            ],
        },
    }
    assert value["summary"].endswith(".") and value["source"]
    documented = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8").partition("| key | |")[2]
    assert set(value) == set(
        re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in documented.splitlines()[2:14]))
    )
    assert json.loads(rendered("json", diagnostic(SCRIPT, "cuda")))[0]["fix"] is None
    assert rendered("json") == "[]\n"
    lines = rendered("json-lines", found, found).splitlines()
    assert [json.loads(line) for line in lines] == [value, value]
    assert rendered("json-lines") == ""


def test_github_escapes_and_puts_errors_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    out = rendered(
        "github",
        diagnostic(SCRIPT, "srun", severity="info"),
        diagnostic(SCRIPT, "cuda", message="100%\nsure: a,b", path="a,b:c.sbatch"),
    )
    assert out.splitlines() == [
        (
            "::error file=a%2Cb%3Ac.sbatch,line=3,col=13,endLine=3,endColumn=17,title=some-name (SB101)::"
            "100%25%0Asure: a,b"
        ),
        (
            "::notice file=jobs/train.sbatch,line=6,col=1,endLine=6,endColumn=5,title=some-name (SB101)::"
            "this is only a comment; move it above line 3"
        ),
    ]


def test_annotations_follow_the_report_in_actions(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command.write("a.sbatch", f"{HEAD}WRONG\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    out = command().out
    assert out.index("error[SB110]") < out.index("1 finding (1 error)") < out.index("::error file=a.sbatch,line=3")
    assert "::error" not in command("--output-format", "full").out
    assert command("--output-format", "github").out.startswith("::error")


def test_the_line_that_counts() -> None:
    safe, unsafe = (Fix("x", [insert(0, "x")], safe=each) for each in (True, False))
    found = [
        diagnostic(SCRIPT, "srun", fix=safe),
        diagnostic(SCRIPT, "srun", severity="warning", fix=unsafe),
        diagnostic(SCRIPT, "srun", severity="warning", path="b", fix=safe),
    ]
    assert rendered("concise", *found, scripts=41).splitlines()[-1] == (
        "3 findings (1 error, 2 warnings) in 2 of 41 scripts; 2 fixable with --fix, 1 more with --unsafe-fixes"
    )
    assert rendered("full", scripts=1) == "no findings in 1 script\n"
    assert rendered("full", scripts=2, fixed=3, hidden=4) == (
        "3 fixed; no findings left in 2 scripts; 4 info findings not shown\n  (--min-severity info)\n"
    )
    assert rendered("concise", scripts=2, hidden=4, dated=1).endswith(
        "(--min-severity info); 1 of these matters only on Slurm before 23.11; "
        "set slurm-version to hide or raise these\n"
    )


def test_the_checks_whose_findings_were_repaired_are_named() -> None:
    assert rendered("full", scripts=1, fixed=2, repaired=("SB108", "SB101")).startswith("2 fixed (SB101, SB108); no")
    many = tuple(f"SB10{number}" for number in range(1, 7))
    assert rendered("full", scripts=1, fixed=6, repaired=many).startswith("6 fixed (--show-fixes names them); no")


def test_which_findings_matter_on_old_releases_only() -> None:
    shown = diagnostic(SCRIPT, "srun", severity="info")._replace(dated=True)
    assert "1 of the findings matters only" in " ".join(rendered("concise", shown, dated=1).split())


def test_a_change_at_the_end_of_a_long_line_is_shown() -> None:
    text = f"srun {'a' * 300} train.py --last {'b' * 30}\n"
    change = diagnostic(
        text, "srun", fix=Fix("x", [replace(Span(text.index("--last"), text.index("--last") + 6), "--new")])
    )
    shown = rendered("full", change).splitlines()
    changed = [line for line in shown if line[:3] == " 1 " and line[3] in "-+"]
    assert [line.split(" train.py ")[1] for line in changed] == [f"--last {'b' * 30}", f"--new {'b' * 30}"]
    assert all(line[5:9] == "...a" and len(line) <= 80 for line in changed)


def test_a_change_longer_than_a_row_is_shown_whole() -> None:
    text = "srun train.py\n"
    longer = " ".join(f"--option-{number}" for number in range(40))
    shown = rendered("full", diagnostic(text, "srun", fix=Fix("x", [insert(13, f" {longer}")]))).splitlines()
    assert max(map(len, shown[:-1])) <= 80
    rows = [line[5:] for line in shown if line[3:4] == "+"]
    assert "".join(rows) == f"srun train.py {longer}"
    assert all(row.endswith(" ") for row in rows[:-1])  # broken between words


def test_a_word_longer_than_a_row_is_broken() -> None:
    word = "a" * 300
    shown = rendered("full", diagnostic("srun x\n", "srun", fix=Fix("x", [insert(6, word)]))).splitlines()
    assert max(map(len, shown)) <= 80
    assert "".join(line[5:] for line in shown if line[3:4] == "+") == f"srun x{word}"


def test_a_fix_of_every_line_is_cut() -> None:
    text = "a\n" * 500
    edits = [replace(Span(at, at + 1), "b") for at in range(0, 1000, 2)]
    shown = rendered("full", diagnostic(text, "a", fix=Fix("x", edits))).splitlines()
    assert "... the rest is shown by --diff" in shown[-4:]
    assert len(shown) < 60


def test_links_and_colours() -> None:
    found = Report([diagnostic(SCRIPT, "cuda")], 1)
    out = renderer("full")(found, Terminal(80, colour=True, links=True))
    assert "\x1b]8;;https://example.org/checks/some-name.md\x1b\\some-name\x1b]8;;\x1b\\" in out
    assert "\x1b[1;31merror[SB101]\x1b[0m" in out


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "option", "coloured"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({"TERM": "dumb"}, "auto", False),
        ({}, "never", False),
    ],
)
def test_when_there_is_colour(
    variables: dict[str, str], option: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Terminal.of_stream(Screen(), option).colour is coloured


def test_colour_can_be_forced_and_width_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "132")
    terminal = Terminal.of_stream(io.StringIO())
    assert (terminal.colour, terminal.links, terminal.width) == (True, False, 132)
    monkeypatch.setenv("VTE_VERSION", "6003")
    assert Terminal.of_stream(Screen()).links


TEXTS = st.text(st.characters(exclude_characters="\n"), max_size=60)


@given(TEXTS, st.integers(10, 200))
def test_escaped_texts_hold_no_control_characters(text: str, room: int) -> None:
    from unicodedata import category

    shown = escape(text)
    assert not any(category(character)[0] == "C" for character in shown)
    assert "".join(wrap(shown, room)).replace(" ", "") == shown.replace(" ", "")


def spans(text: str) -> Iterator[Span]:
    for start in range(0, len(text) + 1, 3):
        for end in range(start, len(text) + 1, 5):
            yield Span(start, end)


@given(TEXTS, st.integers(20, 60))
def test_any_label_on_any_line_fits(text: str, room: int) -> None:
    for start, end in spans(text):
        line = Line(text, [Label(start, end, "what", True)], room)
        assert width(line.text) <= room
        marks = line.under(Terminal(room))
        assert all(len(mark) <= room + 4 for mark in marks)
        assert "^" in marks[0]


@given(st.text(max_size=80), st.data())
def test_every_format_shows_any_script(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    fix = Fix("change it", [replace(Span(start, end), "new\ntext")], safe=True)
    found = diagnostic("x", "x", fix=fix)._replace(span=Span(start, end), source=Source(text, "a"))
    for name in FORMATS:
        assert rendered(name, found).endswith("\n")


def test_labels_that_are_far_apart_are_both_shown() -> None:
    text = "srun python train.py " + "--option value " * 10 + "2>&1 | tee main.log"
    at = text.index("tee")
    labels = [Label(0, 4, "", True), Label(at, at + 3, "this exit status counts", False)]
    for room in (60, 76, 116):
        line = Line(text, labels, room)
        under = line.under(Terminal(room))
        (mark,) = re.findall("-+", under[0])
        column = under[0].index(mark)
        assert line.text[column : column + len(mark)] == "tee" and line.text.startswith("srun python")
        assert "..." in line.text and len(line.text) <= room
        assert any("this exit status counts" in each for each in under)
    (whole,) = {Line(text, labels, room).text for room in (len(text), 300)}
    assert whole == text


@pytest.mark.parametrize("space", [" ", "\N{NO-BREAK SPACE}"])
def test_however_far_labels_are_apart_they_are_shown_alike(space: str) -> None:
    shown = set()
    for gap in (1_000, 1_001, 5_000, 100_000):
        text = "srun python train.py" + space * gap + "| tee main.log" + space * 10 * gap
        at = text.index("tee")
        labels = [Label(at, at + 3, "this exit status counts", False), Label(0, 4, "", True)]
        line = Line(text, labels, 76)
        shown.add((line.text, *line.under(Terminal(76))))
    ((text, *_),) = shown
    assert text.startswith("srun python") and "tee" in text


def test_code_is_not_broken_where_it_is_short() -> None:
    message = "the failure of it goes unseen by all; write `set -o pipefail` before it"
    message += ", or `a very long command that no line can hold in one piece`"
    lines = wrap(message, 48)
    assert "`set -o pipefail`" in "".join(line for line in lines if "set -o" in line)
    assert max(map(len, lines)) <= 48 and " ".join(lines) == message
    assert wrap("write `a b c` here", 4) == ["write", "`a b", "c`", "here"]


def test_a_line_beside_an_added_one_is_numbered_as_it_will_be() -> None:
    fix = Fix("add lines", [insert(4, "new\n"), insert(14, "newer\n")])
    text = rendered("full", diagnostic("one\ntwo\nthree\nfour\n", "one", fix=fix))
    rows = [line.split() for line in text.splitlines() if line.split()[1:2] in (["+"], ["|"])]
    assert rows[-5:] == [
        ["1", "|", "one"],
        ["2", "+", "new"],
        ["3", "|", "two"],
        ["4", "|", "three"],
        ["5", "+", "newer"],
    ]


def test_statistics_tell_the_severities_of_a_check_that_has_several() -> None:
    report = Report([diagnostic(SCRIPT, word)._replace(severity=severity) for word, severity in
                     (("--nodes", "error"), ("module", "warning"), ("cuda", "warning"))], 1)  # fmt: skip
    assert statistics(report, Terminal()) == "3 in 1 file error       SB101 some-name (1 error, 2 warnings)\n"
