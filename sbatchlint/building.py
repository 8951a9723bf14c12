"""Commands of setuptools (see pyproject.toml): a wheel gets the index of the checks, and nothing is left behind."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from setuptools.command.build import build
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

# Reads the checks of the wheel; -B, because bytecode does not belong in it.
_PROGRAM = "import json; from sbatchlint.card_index import FILE, read_cards; print(FILE, json.dumps(read_cards()))"


@cache
def _elsewhere() -> str:
    """A folder for what is made on the way; it goes with this process, so that `pip install .` leaves no trace."""
    folder = tempfile.mkdtemp(prefix="sbatchlint-build-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            command = [sys.executable, "-B", "-c", _PROGRAM]
            done = subprocess.run(command, cwd=self.build_lib, stdout=subprocess.PIPE, text=True, check=True)
            name, _, content = done.stdout.partition(" ")
            Path(self.build_lib, "sbatchlint", name).write_text(content, encoding="utf-8")


class Build(build):
    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = str(Path(_elsewhere(), "build"))


class EggInfo(egg_info):
    def initialize_options(self) -> None:
        super().initialize_options()
        if "sdist" not in self.distribution.commands:  # which has it inside
            self.egg_base = _elsewhere()
