"""The setuptools command `build_py` (see pyproject.toml), which adds the index of the checks to a wheel."""

import subprocess
import sys
from pathlib import Path

from setuptools.command.build_py import build_py

# Reads the checks of the wheel; -B, because bytecode does not belong in it.
_PROGRAM = "import json; from sbatchlint.card_index import FILE, read_cards; print(FILE, json.dumps(read_cards()))"


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            command = [sys.executable, "-B", "-c", _PROGRAM]
            done = subprocess.run(command, cwd=self.build_lib, stdout=subprocess.PIPE, text=True, check=True)
            name, _, content = done.stdout.partition(" ")
            Path(self.build_lib, "sbatchlint", name).write_text(content, encoding="utf-8")
