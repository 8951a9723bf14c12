"""The batch script as a whole: its first bytes, its line breaks, and the shell it asks for."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT, examples
from sbatchlint.engine import lint_source
from sbatchlint.fix import fix_source
from sbatchlint.settings import Settings
from sbatchlint.slurm import script_file as script
from sbatchlint.slurm.script_file import refusals
from sbatchlint.source.discover import is_batch_script
from sbatchlint.source.text import Source, Undecodable

VERSIONS = ("22.05", "23.11", "24.11", "26.05")
FIRST_LINES = {
    "empty": "Batch script is empty!",
    "blank": "Batch script contains only whitespace!",
    "shebang": "This does not look like a batch script.  The first",
    "nul": "The Slurm controller does not allow scripts that",
    "dos": "Batch script contains DOS line breaks (\\r\\n)",
}
# What `sbatch --test-only` of 22.05.8 and of 26.05.3 said of these files, from a path and from standard input alike.
SEEN: dict[bytes, str | None] = {
    b"#!/bin/bash\ntrue\n": None,
    b"#!": None,
    b"#!\ntrue\n": None,
    b"#!/no/such/shell\ntrue\n": None,
    b"#!/usr/bin/env python3\nprint()\n": None,
    b"#!/bin/sh\ntr\rue\r": None,
    b"": "empty",
    b" \n\t\v\f\r\n": "blank",
    b" \n\0#!/bin/sh\n": "blank",
    b"\0#!/bin/sh\ntrue\n": "blank",
    b"\n#!/bin/sh\ntrue\n": "shebang",
    b" #!/bin/sh\n": "shebang",
    b"  #!/bin/sh\n#SBATCH -N1\n": "shebang",
    b"\xef\xbb\xbf#!/bin/sh\ntrue\n": "shebang",
    b"\xc2\xa0\n": "shebang",
    b"#": "shebang",
    b"# !/bin/sh\n": "shebang",
    b"true\n": "shebang",
    b"#SBATCH --nope\ntrue\n": "shebang",
    b"\r\ntrue\r\n": "shebang",
    b"#\0!\0/\0b\0i\0n\0/\0s\0h\0\n\0": "shebang",
    b"\xff\xfe#\0!\0/\0b\0i\0n\0/\0s\0h\0\n\0": "shebang",
    b"\0#\0!\0/\0b\0i\0n\0/\0s\0h\0\n": "blank",
    b"#!/bin/sh\ntrue\0\n": "nul",
    b"#!/bin/sh\ntrue\n\0": "nul",
    b"#!/bin/sh\r\ntrue\0\n": "nul",
    b"#!/bin/sh\r\ntrue\n": "dos",
    b"#!/bin/sh\ntrue\r\n": "dos",
    b"#!/bin/sh\ntrue\r\r\n": "dos",
    b"#!/bin/sh\ncat <<E\nx\r\nE\n": "dos",
    b"#!/bin/sh\n#SBATCH --nope\r\n": "dos",
}


@pytest.mark.parametrize(("data", "seen"), SEEN.items())
def test_sbatch_refuses_a_file_as_a_whole(data: bytes, seen: str | None) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for version in VERSIONS:
        found = refusals(text, version)
        first = found[0].partition("\n")[0] if found else None
        assert first == (FIRST_LINES[seen] if seen else None)


@pytest.mark.parametrize(
    "head", ["{{ header }}\n", "{% include 'x' %}\n", "<% x %>\n", "${HEADER}\n", "\ue000\n", "#\ue000"]
)
def test_a_beginning_that_is_not_known_is_not_refused(head: str) -> None:
    assert refusals(head + "#SBATCH -N1\nsrun ./a.out\n", "26.05") == ()


def test_all_that_is_wrong_in_the_order_of_sbatch() -> None:
    found = refusals("true\0\r\n", "26.05")
    assert [each.partition("\n")[0] for each in found] == [FIRST_LINES[key] for key in ("shebang", "nul", "dos")]


def test_the_limit_of_the_size_came_with_23_02(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "MOST_BYTES", 20)
    fits, large = "#!/bin/sh\n#" + "é" * 4 + "x", "#!/bin/sh\n#" + "é" * 5
    assert len(large) < len(fits) + 1
    assert not any("too large" in each for version in VERSIONS for each in refusals(fits, version))
    by_version = {version: refusals(large, version, "big.sh") for version in VERSIONS}
    assert by_version["22.05"] == ()
    assert by_version["23.11"] == by_version["26.05"] == ("Script file big.sh is too large",)


# --- reading such files --------------------------------------------------------------------------

SCRIPT = (
    "#!/bin/bash\n#SBATCH -N=2\n#SBATCH --gpu=1\nsrun ./a.out \\\n  --x\n#SBATCH --time=5\ncat <<E | tee x\n$A\nE\n"
)
DEFAULTS = Settings.of_table({})
OWN = Settings.of_table({}, select=["dos-line-endings", "byte-order-mark", "invisible-character"])


BROKEN = [ROOT / "examples" / path.name for path in sorted(ROOT.glob("examples/fixed/*.sbatch"))]


def reported(text: str, *but: str) -> list[tuple[str, str, int, int]]:
    found = lint_source(Source(text, "job.sh"), DEFAULTS)
    return [(each.name, each.message, *each.span) for each in found if each.name not in but]


@pytest.mark.parametrize("path", [None, *BROKEN], ids=lambda path: path and path.name)
def test_a_byte_order_mark_hides_nothing_else(path: Path | None) -> None:
    text = SCRIPT if path is None else path.read_text()
    plain = reported(text)
    marked = reported("\ufeff" + text, "byte-order-mark")
    assert plain
    assert marked == [(name, message, start + 1, end + 1) for name, message, start, end in plain]
    assert [each[0] for each in reported("\ufeff" + text)].count("byte-order-mark") == 1


@pytest.mark.parametrize("path", [None, *BROKEN], ids=lambda path: path and path.name)
def test_dos_line_breaks_hide_nothing_else(path: Path | None) -> None:
    text = SCRIPT if path is None else path.read_text()
    plain = [each[:2] for each in reported(text)]
    assert [each[:2] for each in reported(text.replace("\n", "\r\n"), "dos-line-endings")] == plain


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_script_in_utf_16_is_found_and_told(encoding: str) -> None:
    data = SCRIPT.encode(encoding)
    assert is_batch_script(data, "job.sh")
    source = Source.from_bytes(data, "job.sbatch")
    assert Source.encode(source.text) == data
    assert [each.name for each in lint_source(source, DEFAULTS)] == ["byte-order-mark"]


@pytest.mark.parametrize(
    ("name", "is_script"),
    [
        ("train.out", False), ("logs/train.LOG", False), ("job.err.2", False), ("job.o1234", False),
        ("job.e1234-7", False), ("slurm-1234.txt", False), ("slurm-1234_7", False),
        ("slurm-train", True), ("slurm-2nodes.sh", True), ("log.sh", True), ("outlog", True), ("run.out.sh", True),
    ],
)  # fmt: skip
def test_logs_are_no_scripts(name: str, is_script: bool) -> None:
    assert is_batch_script(b"#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n", name) is is_script


@pytest.mark.parametrize("data", [b"\x7fELF\0", b"\0", b"\xff\xfe\0\0", b"PK\0#SBATCH\n", b"\0#SBATCH -N1\n"])
def test_what_is_no_text_is_not_read(data: bytes) -> None:
    assert not is_batch_script(data, "job.sbatch")
    with pytest.raises(Undecodable):
        Source.from_bytes(data)


PARTS = (
    "#!/bin/sh",
    "#SBATCH -N2 ",
    "\n",
    "\r\n",
    "\r",
    "\0",
    "\ufeff",
    "\u00a0",
    "–",
    "“",
    "srun x",
    "{{",
    "\udcff",
    " ",
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.booleans())
def test_any_file_is_read_and_keeps_its_bytes(text: str, unsafe: bool) -> None:
    text = "#!/bin/sh" + text
    source = Source.from_bytes(Source.encode(text), "job.sbatch")
    assert source.text == text
    assert not fix_source(source, DEFAULTS, unsafe).inspection.faults
    fixed = fix_source(source, OWN, unsafe)
    changed = '\r\ufeff\u00a0 –-“"'
    assert [each for each in text if each not in changed] == [each for each in fixed.source.text if each not in changed]


@given(st.lists(st.sampled_from(("a", "\n", "\r\n", "\r", "\r\r\n")), max_size=12).map("".join))
def test_the_fix_of_dos_line_breaks_takes_nothing_else(text: str) -> None:
    text = "#!/bin/sh\n#SBATCH -N1\n" + text
    fixed = fix_source(Source(text, "job.sh"), Settings.of_table({}, select=["dos-line-endings"]))
    assert fixed.source.text == re.sub(r"\r+\n", "\n", text)


# --- the shell that is asked for -----------------------------------------------------------------

NO_BASHISM = """\
. /dev/null
x=1; x=$x$x
f() { local x=1 y; echo $x; }; f
printf '%s\\n' a b
read -r x < /dev/null
trap : TERM EXIT
set -euxf
set -o errexit
(set -o pipefail 2> /dev/null) && set -o pipefail
kill -0 $$
i=1; : $((i += 1)) $((i ? 2 : 3)) $((i - -i))
ulimit -s unlimited
echo Y >| /dev/null
exec 3>&1
echo Y >&2
unset -v x
export x=1 y=2
umask -S
echo ${x:-y} ${x%%a} ${x#b} ${#x} ${x+z}
[ a = a ] && echo Y
true & wait
echo '{1..3}' "{a,b}" {} \\{a,b} a,b {a}
echo '${x^}' "[[ a ]]" "$'a'"
case a in a) echo Y;; esac
x=$(echo a | cat)
command -v ls
type ls
jobs -p
hash -r\
"""
BASHISMS = """\
[[ -n x ]] && echo Y
((1 + 1)) && echo Y
for ((i = 0; i < 2; i++)); do :; done
a=(1 2)
a[0]=1
x=1; x+=2; echo $x
function f { echo Y; }; f
function f() { echo Y; }; f
my-f() { echo Y; }; my-f
cat <(echo Y)
x=abc; echo ${x^}
x=abc; echo "${x^^}"
x=abc; echo ${x,,}
x=abc; echo ${x/a/b}
x=abc; echo ${x:1:1}
x=abc; y=x; echo ${!y}
x=a; echo ${x@Q}
x=a; echo ${x[0]}
echo "${@:2}"
echo Y &> /dev/null
echo Y >& ./nothing
cat <<< Y
echo Y |& cat
printf '%s' $'a\\tb'
case a in a) echo Y;& b) echo Z;; esac
select x in a b; do break; done < /dev/null
for i in {1..3}; do echo $i; done
echo a{b,c}
[ a == a ] && echo Y
[ -v PATH ] && echo Y
source /dev/null
declare x=1
typeset x=1
shopt -s nullglob
pushd /
let x=1
mapfile -t x < /dev/null
f() { :; }; export -f f
read -a x < /dev/null
read -t 1 x < /dev/null
printf -v x a
printf '%q' 'a b'
trap : ERR
trap : SIGTERM
set -o pipefail
set -euo pipefail
set -o errtrace
true & wait -n
i=1; echo $((i++))
echo $((2 ** 3))
echo $((16#ff))
echo $[1 + 1]
f() { local a=(1); }; f
f() { local -a a; }; f
exec {fd}> /dev/null
exec -a x true
module() { :; }; x=(1); module load y
jobs -r\
"""


def bashisms(lines: str) -> list[str]:
    source = Source(f"#!/bin/sh\n#SBATCH -N1\n{lines}\necho END\n", "job.sh")
    return [each.message for each in lint_source(source, Settings.of_table({}, select=["sh-shebang"]))]


def outcome(shell: str, lines: str, folder: Path) -> tuple[int, str, bool]:
    (folder / "job").write_text(f"{lines}\necho END\n")
    done = subprocess.run(
        [shell, "job"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, bool(done.stderr)


@pytest.mark.parametrize("lines", [*NO_BASHISM.splitlines(), "cat <<'E'\n${x//a/b} [[ a ]] {1..3}\nE"])
def test_what_sh_has_is_not_reported(lines: str, tmp_path: Path) -> None:
    assert bashisms(lines) == []
    if shutil.which("dash") and "set -" not in lines:
        assert outcome("dash", lines, tmp_path) == outcome("bash", lines, tmp_path)


@pytest.mark.parametrize("lines", [*BASHISMS.splitlines(), "cat <<E\n${HOME^^}\nE"])
def test_what_only_bash_has_is_reported_and_breaks_under_dash(lines: str, tmp_path: Path) -> None:
    assert bashisms(lines)
    if shutil.which("dash"):
        assert outcome("dash", lines, tmp_path) != outcome("bash", lines, tmp_path)


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ("srun ./solver\ncd ..\nfor x in 1 2; do\n    touch $x\n    cd .. || exit\ndone\n", [7]),
        ("clean() {\n    rm a\n    rm b\n}\nsrun ./solver\nif [ -e a ]; then\n    clean\nfi\n", [8]),
        ("srun ./solver\ncd ..\n", [4]),
        ("srun ./solver\necho done\nexit 0\n", [5]),
        ("srun ./solver\ncase $1 in\n    a) rm a ;;\nesac\n", []),
    ],
)
def test_where_the_status_of_a_script_is_made(lines: str, rows: list[int]) -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=1\n{lines}"
    options = Settings.of_table({}, select=["exit-status-lost"])
    (finding,) = lint_source(Source(text, "job.sh"), options)
    ends = [each for each in finding.related if each.label == "the script ends with this status"]
    assert [text.count("\n", 0, each.span.start) + 1 for each in ends] == rows
