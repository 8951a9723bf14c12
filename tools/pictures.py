"""The pictures of docs/pictures: what Neovim shows with the language server, on a real terminal.

    python tools/pictures.py

It starts nvim within tmux (both have to be installed) on examples/ranks.sbatch, with the settings of docs/editors.md
and the sbatchlint of this tree, takes what stands on the screen, and writes it as SVG. The pictures that need neither
are written by tools/generate_docs.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from terminal_picture import cells, svg

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
COLUMNS, ROWS = 140, 26
LOOK = """
vim.opt.number = true
vim.opt.ruler = false
vim.opt.laststatus = 0
vim.opt.signcolumn = "yes"
vim.opt.swapfile = false
vim.opt.shadafile = "NONE"
vim.cmd("syntax on | set background=dark t_Co=256")
vim.cmd("highlight NormalFloat ctermbg=236 | highlight FloatBorder ctermbg=236 ctermfg=245")
vim.cmd("highlight LspCodeLens ctermfg=245 | highlight SignColumn ctermbg=NONE | highlight LineNr ctermfg=240")
vim.cmd("highlight DiagnosticError ctermfg=9 | highlight DiagnosticWarn ctermfg=11")
vim.diagnostic.config({ float = { border = "single" } })
local function ready()
  return #vim.diagnostic.get(0) > 0
end
local function done()
  vim.fn.writefile({}, "done")
end
"""
# What is done in each picture, once there are findings.
SHOWN = {
    "findings": """
        vim.lsp.codelens.refresh()
        vim.api.nvim_win_set_cursor(0, { 4, 14 })
        vim.defer_fn(function() vim.diagnostic.open_float({ scope = "line", max_width = 100 }); done() end, 3000)
    """,
    "hover": """
        vim.api.nvim_win_set_cursor(0, { 4, 14 })
        vim.lsp.buf.hover()
        vim.defer_fn(done, 3000)
    """,
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, shown in SHOWN.items():
        (FOLDER / f"{name}.svg").write_text(svg(cells(screen(shown)), f"{name} in Neovim", COLUMNS), encoding="utf-8")
        print(f"docs/pictures/{name}.svg")
    return 0


def screen(shown: str) -> str:
    """What stands on the terminal, with the sequences that colour it."""
    settings = re.search(r"^```lua\n(.*?)^```", (ROOT / "docs" / "editors.md").read_text(encoding="utf-8"), re.M | re.S)
    assert settings is not None
    wait = "local timer = vim.loop.new_timer()\ntimer:start(200, 200, vim.schedule_wrap(function()\n"
    wait += f"  if not ready() then return end\n  timer:stop()\n{shown}\nend))\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        program = folder / "bin" / "sbatchlint"
        program.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m sbatchlint \"$@\"\n")
        program.chmod(0o755)
        (folder / "init.lua").write_text(f"{settings[1]}\n{LOOK}\n{wait}")
        (folder / "ranks.sbatch").write_bytes((ROOT / "examples" / "ranks.sbatch").read_bytes())
        path = f"{program.parent}:{os.environ['PATH']}"
        variables = os.environ | {"HOME": name, "XDG_CONFIG_HOME": name, "PATH": path, "TERM": "xterm-256color"}
        tmux = ["tmux", "-L", f"pictures-{os.getpid()}", "-f", os.devnull]
        editor = "nvim -u init.lua -c 'set filetype=sh' ranks.sbatch"
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        subprocess.run([*tmux, "new-session", "-d", *size, editor], cwd=name, env=variables, check=True)
        try:
            for _ in range(600):
                time.sleep(0.1)
                if (folder / "done").exists():
                    break
            time.sleep(1)  # what was drawn last arrives
            command = [*tmux, "capture-pane", "-p", "-e", "-N"]
            return subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
        finally:
            subprocess.run([*tmux, "kill-server"], env=variables, check=False)


if __name__ == "__main__":
    sys.exit(main())
