"""Start-up is a feature: the modules that the common runs may load, by name.

A module that is missing here is not forbidden because it is bad, but because it costs every user some milliseconds at
every run: add it only where the run needs it, and import it where it is used otherwise.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from conftest import ROOT
from sbatchlint.card_index import card_index
from sbatchlint.registry import registry

# What `--version` loads of our own, and what the standard library brings with it.
VERSION = {"sbatchlint", "sbatchlint.cli"}

# What linting one file without findings loads besides.
LINT = VERSION | {
    "sbatchlint.card_index",
    "sbatchlint.check",
    "sbatchlint.cli.arguments",
    "sbatchlint.cli.lint",
    "sbatchlint.cli.outcome",
    "sbatchlint.cli.output",
    "sbatchlint.cli.process",
    "sbatchlint.configuration",
    "sbatchlint.diagnostics",
    "sbatchlint.engine",
    "sbatchlint.installation",
    "sbatchlint.linting",
    "sbatchlint.registry",
    "sbatchlint.report",
    "sbatchlint.report.cells",
    "sbatchlint.report.formats",
    "sbatchlint.report.full",
    "sbatchlint.report.model",
    "sbatchlint.report.patch",
    "sbatchlint.report.snippet",
    "sbatchlint.report.summary",
    "sbatchlint.report.terminal",
    "sbatchlint.settings",
    "sbatchlint.site",
    "sbatchlint.triggers",
    "sbatchlint.source",
    "sbatchlint.source.discover",
    "sbatchlint.source.edits",
    "sbatchlint.source.files",
    "sbatchlint.source.lookups",
    "sbatchlint.source.numbers",
    "sbatchlint.source.patterns",
    "sbatchlint.source.records",
    "sbatchlint.source.regex",
    "sbatchlint.source.secret_addresses",
    "sbatchlint.source.secret_commands",
    "sbatchlint.source.secret_dialogues",
    "sbatchlint.source.secret_drawn",
    "sbatchlint.source.secret_fields",
    "sbatchlint.source.secret_flow",
    "sbatchlint.source.secret_forms",
    "sbatchlint.source.secret_hooks",
    "sbatchlint.source.secret_keys",
    "sbatchlint.source.secret_names",
    "sbatchlint.source.secret_lines",
    "sbatchlint.source.secret_places",
    "sbatchlint.source.secret_placeholders",
    "sbatchlint.source.secret_programs",
    "sbatchlint.source.secret_restatements",
    "sbatchlint.source.secret_values",
    "sbatchlint.source.secret_words",
    "sbatchlint.source.secrets",
    "sbatchlint.source.shortening",
    "sbatchlint.source.text",
    "sbatchlint.source.workspace",
    "sbatchlint.checks",
}
# The layers that read the script: all of their modules may be needed by any script.
READING = (
    "sbatchlint.analysis",
    "sbatchlint.bash",
    "sbatchlint.job",
    "sbatchlint.programs",
    "sbatchlint.site.profile",
    "sbatchlint.slurm",
    "sbatchlint.source.templates",
    "sbatchlint.source.yaml_files",
)

# Of the standard library, in any of the Pythons we support.
STANDARD_LIBRARY = {
    "abc", "argparse", "bisect", "codecs", "collections", "collections.abc", "contextlib", "copyreg", "enum",
    "functools", "genericpath", "gettext", "importlib", "importlib.abc", "importlib.machinery",
    "importlib.util", "io", "itertools", "json", "json.decoder", "json.encoder", "json.scanner", "keyword",
    "locale", "math", "operator", "os", "os.path", "re", "reprlib", "stat", "types", "typing", "typing.io",
    "typing.re", "unicodedata", "warnings",
}  # fmt: skip

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8 --cpus-per-gpu=8
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
srun bash -c 'torchrun --nnodes=2 --nproc-per-node=8 --node-rank="$SLURM_NODEID" --master-addr="$MASTER_ADDR" train.py'
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run loads and a bare interpreter does not."""
    program = (
        "import os, sys; before = set(sys.modules)\n"
        "from sbatchlint.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)))\n"
    )
    card_index()  # kept for the run, which loads every check otherwise
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPYCACHEPREFIX")}
    command = [sys.executable, "-S", "-c", program, *arguments]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *packages])
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[1:])


def public(names: set[str]) -> set[str]:
    """Without the private modules of the standard library and what lies inside of the grammar's packages."""
    return {name for name in names if "._" not in f".{name}" and name not in sys.builtin_module_names}


def test_version(tmp_path: Path) -> None:
    assert public(loaded(tmp_path, "--version")) == VERSION


def test_settings_are_typed_where_there_are_some(tmp_path: Path) -> None:
    """msgspec takes about as long to import as all that a short run needs besides."""
    (tmp_path / "job.sbatch").write_text(SCRIPT)
    heavy = {"msgspec", "sbatchlint.keys", "tomllib"}
    others = {"markdown_it", "mdurl", "pathspec", "xml", "yaml"}
    for arguments in (["--help"], ["job.sbatch", "--output-format", "concise"], ["plan", "job.sbatch"], ["checks"]):
        assert not loaded(tmp_path, *arguments) & (heavy | others), arguments
    assert not any(each.startswith("sbatchlint.convert") for each in loaded(tmp_path, "plan", "job.sbatch"))
    assert heavy <= loaded(tmp_path, "job.sbatch", "--config", 'fail-on = "error"')
    (tmp_path / "sbatchlint.toml").write_text('fail-on = "error"\n')
    assert heavy <= loaded(tmp_path, "job.sbatch") and not loaded(tmp_path, "--isolated", "job.sbatch") & heavy


@pytest.mark.parametrize("selected", [True, False])
def test_linting_one_file(tmp_path: Path, selected: bool) -> None:
    """Of the checks, only those that the script gives an occasion for."""
    path = tmp_path / "job.sbatch"
    path.write_text(SCRIPT)
    one = next(entry for entry in registry().entries if entry.name == "early-task-variable")
    names = loaded(tmp_path, "job.sbatch", *(["--select", one.name, "-q"] if selected else ["-q"]))
    own = {name for name in names if name.split(".")[0] == "sbatchlint"}
    reading = {name for name in own if name.startswith(READING)}
    checks = {name for name in own if name.startswith("sbatchlint.checks.")}
    assert own - reading - checks == LINT
    if selected:
        assert checks == {f"sbatchlint.checks.{one.module}"}
    else:
        asked = {f"sbatchlint.checks.{entry.module}" for entry in registry().entries}
        assert f"sbatchlint.checks.{one.module}" in checks < asked and len(checks) < len(asked) * 0.8, checks
    assert public(names - own) - STANDARD_LIBRARY == set()


def test_only_the_server_loads_what_it_needs(tmp_path: Path) -> None:
    """The extras are no part of what everybody installs."""
    (tmp_path / "job.sbatch").write_text(SCRIPT)
    for arguments in (["job.sbatch"], ["plan", "job.sbatch"], ["--fix", "--diff", "job.sbatch"]):
        names = loaded(tmp_path, *arguments)
        assert not {each.partition(".")[0] for each in names} & {
            "pygls", "lsprotocol", "attrs", "cattrs", "asyncio", "mcp", "mcp_types", "pydantic", "anyio", "msgspec",
        }  # fmt: skip
        assert not [
            each for each in names if each.startswith(("sbatchlint.server", "sbatchlint.agents", "sbatchlint.api"))
        ]


def test_what_a_run_never_loads(tmp_path: Path) -> None:
    (tmp_path / "job.sbatch").write_text(SCRIPT)
    names = loaded(tmp_path, "job.sbatch")
    heavy = {
        "asyncio",
        "concurrent",
        "dataclasses",
        "difflib",
        "importlib.metadata",
        "inspect",
        "msgspec",
        "pathspec",
        "subprocess",
    }
    assert not names & (heavy | {"tomllib", "textwrap", "shutil", "tempfile", "logging", "socket"})


def imported_at_once(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names of modules, and of what may be modules, that code imports as soon as it is loaded."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (each.name for each in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield statement.module or ""
            yield from (f"{statement.module}.{each.name}" for each in statement.names)
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from imported_at_once(statement.orelse)
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from imported_at_once(statement.body)
            yield from imported_at_once(getattr(statement, "orelse", ()))


def test_any_module_may_be_the_first() -> None:
    """No module needs one that needs it, whichever is imported first. Raises `CycleError` with the cycle."""
    files = {}
    for folder, package in ((ROOT / "sbatchlint", "sbatchlint"), (ROOT / "checks", "sbatchlint.checks")):
        for path in folder.rglob("*.py"):
            name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
            files[name.removesuffix(".__init__")] = path
    needed = TopologicalSorter[str]()
    for name, path in files.items():
        found = set(imported_at_once(ast.parse(path.read_bytes()).body)) & files.keys()
        # a package is begun before what is in it
        needed.add(name, *(each for each in found if not f"{name}.".startswith(f"{each}.")))
    needed.prepare()
