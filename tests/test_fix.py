"""Fixes: chosen, applied, proven, taken back; and how files are written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import HEAD, Command, examples
from counting import executed_lines
from sbatchlint.check import Fix, Span, insert, remove, replace
from sbatchlint.engine import belies_comment, drops_comment, lint_source
from sbatchlint.fix import OffsetMap, fix_source, unified_diff
from sbatchlint.registry import Registry
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.files import InputError, write
from sbatchlint.source.text import Source


def fixed(text: str, unsafe: bool = False) -> tuple[str, list[str], list[str]]:
    """The text after fixing, the names of what was applied, and why others were taken back."""
    result = fix_source(Source(text, "job.sbatch"), Settings.of_table(), unsafe)
    return result.source.text, [each.name for each in result.applied], [each.reason for each in result.refused]


def test_only_safe_fixes_without_the_option(toys: Registry) -> None:
    assert fixed(f"{HEAD}echo WRONG GUESS WRONG\n") == (
        f"{HEAD}echo RIGHT GUESS RIGHT\n",
        ["toy-wrong", "toy-wrong"],
        [],
    )
    assert fixed(f"{HEAD}echo WRONG GUESS\n", unsafe=True)[0] == f"{HEAD}echo RIGHT KNOWN\n"


def test_a_fix_whose_finding_remains_is_taken_back(toys: Registry) -> None:
    text, applied, refused = fixed(f"{HEAD}echo STAY WRONG STAY\n")
    assert text == f"{HEAD}echo STAY RIGHT STAY\n"
    assert applied == ["toy-wrong"]
    assert refused == ["its finding would remain"] * 2


def test_a_fix_that_breaks_the_syntax_is_taken_back(toys: Registry) -> None:
    text, _, refused = fixed(f"{HEAD}echo BREAK\n")
    assert text == f"{HEAD}echo BREAK\n"
    assert refused == ["the result would not be valid bash"]


@pytest.mark.parametrize("word", ["STAY", "BREAK"])
def test_one_fix_that_is_taken_back_costs_no_more_among_many(word: str, toys: Registry) -> None:
    """Which of them it is, is known without trying half of them, and half of these."""

    def work(size: int) -> None:
        text, applied, refused = fixed(HEAD + "echo WRONG\n" * size + f"echo {word}\n")
        assert (len(applied), len(refused)) == (size, 1) and text.endswith(f"echo {word}\n")

    work(3)
    assert executed_lines(lambda: work(300)) < 13 * executed_lines(lambda: work(30))


def test_a_fix_is_no_worse_where_bash_could_not_parse_before(toys: Registry) -> None:
    assert fixed(f"{HEAD}if\necho WRONG\n")[0] == f"{HEAD}if\necho RIGHT\n"


def test_a_fix_that_uncovers_an_error_is_kept(toys: Registry) -> None:
    text, applied, refused = fixed(f"{HEAD}echo FATAL TROUBLE\n")
    assert (len(applied), refused) == (1, [])
    assert text != f"{HEAD}echo FATAL TROUBLE\n"


def test_a_directive_that_counts_again_may_uncover_another_fault() -> None:
    text = f"{HEAD}#SBATCH -N=2 --gpus-per-node=4\nsrun torchrun --nproc_per_node=4 train.py\n"
    result = fix_source(Source(text, "job.sbatch"), Settings.of_table(), True)
    assert "-N 2 " in result.source.text
    assert not result.refused
    taken = fix_source(Source(text, "job.sbatch"), Settings.of_table(select=["SB107", "SB303"]), True)
    assert "SB303" in [each.code for each in (*taken.applied, *taken.inspection.diagnostics)]


def test_a_fix_by_which_sbatch_refuses_the_script_is_taken_back() -> None:
    text = f"{HEAD}#SBTACH --time=abc\nsrun ./a.out\n"
    result = fix_source(Source(text, "job.sbatch"), Settings.of_table(), True)
    assert result.source.text == text
    assert [each.reason.partition(":")[0] for each in result.refused] == ["sbatch would refuse the result"]


def test_inserted_newlines_are_those_of_the_file(toys: Registry) -> None:
    assert fixed("#!/bin/bash\r\n#SBATCH -N1\r\nNEWLINE\r\n")[0].count("\r\n") == 4
    assert fixed(f"{HEAD}NEWLINE\n")[0] == f"{HEAD}one\ntwo\n"


def test_a_missing_final_newline_stays_missing(toys: Registry) -> None:
    assert fixed(f"{HEAD}echo WRONG")[0] == f"{HEAD}echo RIGHT"


def test_a_fix_that_drops_a_comment_is_not_safe(toys: Registry) -> None:
    text = f"{HEAD}COMMENTED # a word\n"
    assert fixed(text)[0] == text
    assert fixed(text, unsafe=True)[0] == f"{HEAD}true\n"
    assert fixed(f"{HEAD}COMMENTED\n")[0] == f"{HEAD}true\n"


@pytest.mark.parametrize(
    ("text", "content", "dropped"),
    [
        ("x # why", "", True),
        ("x # why", "# why\nx", False),
        ("# ---", "", False),
        ("#!/bin/sh", "#!/bin/bash", False),
        ("#SBATCH -N2", "", False),
        ("#SBATCH -N2 # two", "#SBATCH -N 2", True),
        ("#SABTCH --nodes=2", "#SBATCH --nodes=2", False),
        ("echo ${x#y} $#", "", False),
    ],
)
def test_what_counts_as_dropping_a_comment(text: str, content: str, dropped: bool) -> None:
    assert drops_comment(text, Fix("", [replace(Span(0, len(text)), content)])) is dropped


@pytest.mark.parametrize(
    ("text", "old", "new", "belied"),
    [
        ("#SBATCH --gpus=8  # GPUs that we reserve\n", "--gpus=8", "--gpus-per-node=4", True),
        ("#SBATCH -n 8 # ranks\n", "8", "1", True),
        ("#SBATCH -n 8 # sbatchlint: ignore[SB301]\n", "8", "1", False),
        ("#SBATCH -N=2 # nodes\n", "-N=2", "-N 2", False),
        ("#SBATCH -n 8\n# eight\n", "8", "1", False),
        ("srun -n 8 # ranks\n", "8", "1", False),
    ],
)
def test_a_fix_that_makes_a_comment_untrue_is_not_safe(text: str, old: str, new: str, belied: bool) -> None:
    text = f"{HEAD}{text}"
    at = text.index(old, len(HEAD))
    assert belies_comment(text, Fix("", [replace(Span(at, at + len(old)), new)])) is belied


def test_hidden_advice_is_not_applied_and_options_reach_the_check(toys: Registry) -> None:
    source = Source(f"{HEAD}echo MANY MANY MANY\n", "job.sbatch")
    assert [each.name for each in lint_source(source, Settings.of_table())] == ["toy-limit"]
    assert not lint_source(source, Settings.of_table({"checks": {"toy-limit": {"most": 3}}}))


def test_offsets_follow_edits() -> None:
    text = "abcdef"
    edits = [Edit(Span(1, 1), "XX"), Edit(Span(2, 4), "")]
    assert apply(text, edits) == "aXXbef"
    offsets = OffsetMap(edits)
    assert [offsets.offset(at) for at in range(7)] == [0, 3, 4, 4, 4, 5, 6]
    assert offsets.offset(1, after=False) == 1


def test_a_diff_says_where_a_newline_is_missing() -> None:
    diff = unified_diff(Source("a\nb"), Source("a\nc"), "job.sh")
    assert diff == (
        "--- job.sh\n+++ job.sh\n@@ -1,2 +1,2 @@\n a\n"
        "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from(["WRONG", "GUESS", "STAY", "FATAL", "x", "\n", "\r\n", "# c\n", "é", '"']),
        max_size=12,
    )
)
def test_fixing_is_stable_and_never_adds_errors(toys: Registry, words: list[str]) -> None:
    before = Source(HEAD + " ".join(words), "job.sbatch")
    chosen = Settings.of_table()
    once = fix_source(before, chosen, unsafe=True)
    again = fix_source(once.source, chosen, unsafe=True)
    assert again.source.text == once.source.text

    def errors(source: Source) -> int:
        return sum(each.severity == "error" for each in lint_source(source, chosen))

    assert errors(once.source) <= errors(before)


def test_writing_keeps_mode_links_and_leaves_nothing_behind(command: Command) -> None:
    path = command.write("jobs/a.sbatch", f"{HEAD}echo WRONG\n")
    path.chmod(0o750)
    link = command.folder / "link.sbatch"
    link.symlink_to(path)
    assert command("--fix", "link.sbatch").code == 0
    assert link.is_symlink()
    assert path.read_text() == f"{HEAD}echo RIGHT\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert os.listdir(path.parent) == ["a.sbatch"]


def test_writing_keeps_hard_links_and_bytes_that_are_not_text(command: Command) -> None:
    path = command.write("a.sbatch", HEAD.encode() + b"# \xff\xfe\r\necho WRONG")
    other = command.folder / "b.data"
    os.link(path, other)
    assert command("--fix", "a.sbatch").code == 0
    assert other.read_bytes() == path.read_bytes() == HEAD.encode() + b"# \xff\xfe\r\necho RIGHT"


def test_a_file_without_fixes_is_not_written(command: Command) -> None:
    path = command.write("a.sbatch", f"{HEAD}echo GUESS\n")
    os.utime(path, (1, 1))
    assert command("--fix", "a.sbatch").code == 1
    assert path.stat().st_mtime == 1


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write(str(tmp_path / "missing" / "a"), b"")


def test_edits_at_one_place_keep_their_order() -> None:
    assert apply("ab", [insert(1, "1"), insert(1, "2"), remove(Span(0, 1))]) == "12b"


def test_a_fix_stays_where_the_next_finding_says_something_else() -> None:
    """Of two pipelines the first one's status is lost afterwards too, but in another way."""
    text = "#!/bin/bash\n#SBATCH -N2\nsrun ./a 2>&1 | tee a.txt\nsrun ./b 2>&1 | tee b.txt\n"
    result = fix_source(Source(text, "job.sh"), Settings.of_table())
    assert result.source.text == text.replace("srun", "set -o pipefail\nsrun", 1)
    assert ([each.code for each in result.applied], result.refused) == (["SB710"], [])
