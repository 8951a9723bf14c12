"""YAML files of launchers: what is read with the library and without it, and what a file may cost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sbatchlint.source import yaml_files
from sbatchlint.source.yaml_files import DEEPEST, MOST_BYTES, UNKNOWN, read_yaml

# A file, what it holds, and what of it is known without the library: None where nothing is, "same" where all is.
FILES = {
    "a: 1\nb: 'two'  # or three\nc:\nd: null\n": ({"a": "1", "b": "two", "c": None, "d": None}, "same"),
    "# first\n---\na: b c\n\ne: \"\"\n": ({"a": "b c", "e": ""}, "same"),
    "a:\n  b: 1\nc: 2\n": ({"a": {"b": "1"}, "c": "2"}, {"a": UNKNOWN, "c": "2"}),
    "a:\n- 1\n- x: y\n": ({"a": ["1", {"x": "y"}]}, {"a": UNKNOWN}),
    "a: [1, 2]\nb: {c: d}\n": ({"a": ["1", "2"], "b": {"c": "d"}}, {"a": UNKNOWN, "b": UNKNOWN}),
    "{a: 1, 'b': 2}": ({"a": "1", "b": "2"}, None),
    "a: &x 1\nb: *x\n": ({"a": "1", "b": "1"}, {"a": UNKNOWN, "b": UNKNOWN}),
    "a: !python/name:os.system x\nb: 2\n": ({"a": UNKNOWN, "b": "2"}, {"a": UNKNOWN, "b": "2"}),
    "a: &x {b: *x}\n": ({"a": {"b": UNKNOWN}}, {"a": UNKNOWN}),
    "a: {<<: {b: 1}, c: 2}\n": ({"a": UNKNOWN}, {"a": UNKNOWN}),
    "a: |\n  some\n  lines\n": ({"a": "some\nlines\n"}, {"a": UNKNOWN}),
    "a: 1\nb: 2\na: 3\n": (None, None),
    "a: 1\n---\nb: 2\n": (None, None),
    "a: {\nb: 1\n": (None, {"a": UNKNOWN, "b": "1"}),
    "a: \"\\xZZ\"\n": (None, {"a": UNKNOWN}),
    "- a\n- b\n": (None, None),
    "? [a]\n: b\n": (None, None),
    "just words\n": (None, None),
    "": (None, {}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    yaml_files._mapping.cache_clear()
    yield
    yaml_files._mapping.cache_clear()


@pytest.mark.parametrize("text", FILES)
def test_reading(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    expected, without = FILES[text]
    assert read_yaml(str(file)) == expected
    yaml_files._mapping.cache_clear()
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert read_yaml(str(file)) == (expected if without == "same" else without)


BOMB = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefgh", "bcdefghi"))
HOSTILE = {
    "an alias bomb": BOMB.encode(),
    "deep brackets": b"a: " + b"[" * (MOST_BYTES - 10),
    "deep mappings": "".join(f"{' ' * depth}a:\n" for depth in range(DEEPEST + 10)).encode(),
    "a tab": b"a:\n\tb: 1\n",
    "no UTF-8": b"a: \xff\n",
    "UTF-16": "a: 1\n".encode("utf-16"),
    "a NUL": b"a: \0\n",
    "too large": b"a: 1\n" + b"#" * MOST_BYTES,
    "a large escape": b'a: "\\UFFFFFFFF"\n',
    "anchors alone": b"".join(b"a%d: &a%d x\n" % (number, number) for number in range(4000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str, tmp_path: Path) -> None:
    """None of them raises anything; the one that is in order is read, and an alias in it costs nothing."""
    file = tmp_path / "a.yaml"
    file.write_bytes(HOSTILE[name])
    found = read_yaml(str(file))
    assert (found is not None) == (name in ("an alias bomb", "anchors alone"))
    if name == "an alias bomb":
        assert found is not None and found["i"][0] is found["h"]  # type: ignore[index]


LINT = """
import sys
from sbatchlint.cli import main
main(["--no-cache", *sys.argv[1:]])
sys.stderr.write(f"yaml {'yaml' in sys.modules}")
"""
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=4\naccelerate launch {} train.py\n"


@pytest.mark.parametrize(("options", "expected"), [("", False), ("--config_file c.yaml", True)])
def test_library_is_loaded_for_a_yaml_file_alone(options: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n")
    (tmp_path / "a.sbatch").write_text(SCRIPT.format(options))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", LINT, "a.sbatch"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stderr.endswith(f"yaml {expected}")
    assert ("SB310" in done.stdout) == expected


def test_verbose_run_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sbatchlint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sbatch").write_text(SCRIPT.format("--config_file c.yaml"))
    note = "note: PyYAML is not installed: of the YAML files named in 1 script, only plain lines are read"
    main(["--no-cache", "-v", "a.sbatch"])
    assert note not in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "yaml", None)
    main(["--no-cache", "a.sbatch"])
    assert note not in capsys.readouterr().err
    main(["--no-cache", "-v", "a.sbatch"])
    assert note in capsys.readouterr().err
