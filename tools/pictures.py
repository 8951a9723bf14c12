"""The pictures of docs/pictures: what Neovim shows with the language server, on a real terminal.

    python tools/pictures.py

It starts nvim within tmux (both have to be installed) on examples/ranks.sbatch, with the settings of docs/editors.md
and the sbatchlint of this tree, takes what stands on the screen, and writes it as SVG. The picture of a plan is written
by tools/generate_docs.py, as it needs neither.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
COLUMNS, ROWS = 140, 26
# Of a character of 14 pixels, in pixels.
WIDTH, HEIGHT, BASE = 8.4, 18, 13
# The colours of the terminal: its own, and those with numbers.
TEXT, BACKGROUND = "#d4d4d4", "#1e1e1e"
COLOURS = (
    *("#1e1e1e", "#f14c4c", "#23d18b", "#e5c07b", "#3b8eea", "#d670d6", "#29b8db", "#d4d4d4"),
    *("#808080", "#ff6b6b", "#5af78e", "#f4f99d", "#61afef", "#ff92df", "#9aedfe", "#ffffff"),
)
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


class Cell(NamedTuple):
    text: str
    colour: str
    background: str
    bold: bool
    underlined: bool


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, shown in SHOWN.items():
        (FOLDER / f"{name}.svg").write_text(svg(cells(screen(shown)), f"{name} in Neovim"), encoding="utf-8")
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


def cells(screen: str) -> list[list[Cell]]:
    """The cells of each row."""
    rows = []
    colour, background, bold, underlined, reverse = TEXT, BACKGROUND, False, False, False
    for line in screen.split("\n"):
        row: list[Cell] = []
        for sequence, character in re.findall(r"\x1b\[([\d;:]*)m|(.)", line):
            if character:
                pair = (background, colour) if reverse else (colour, background)
                row.append(Cell(character, *pair, bold, underlined))
                continue
            codes = [int(each or 0) for each in re.split("[;:]", sequence)] or [0]
            while codes:
                code = codes.pop(0)
                if code == 0:
                    colour, background, bold, underlined, reverse = TEXT, BACKGROUND, False, False, False
                elif code in (1, 22):
                    bold = code == 1
                elif code in (4, 24):
                    underlined = code == 4
                elif code in (7, 27):
                    reverse = code == 7
                elif code in (38, 48):
                    found = taken(codes)
                    colour, background = (found, background) if code == 38 else (colour, found)
                elif code in (39, 49):
                    colour, background = (TEXT, background) if code == 39 else (colour, BACKGROUND)
                elif 30 <= code <= 37 or 90 <= code <= 97:
                    colour = COLOURS[code - 30 if code < 90 else code - 82]
                elif 40 <= code <= 47 or 100 <= code <= 107:
                    background = COLOURS[code - 40 if code < 100 else code - 92]
        rows.append(row)
    while rows and not "".join(each.text for each in rows[-1]).strip(" ~"):
        rows.pop()
    return rows


def taken(codes: list[int]) -> str:
    """The colour that a sequence goes on with: of 256, or of red, green and blue."""
    if codes.pop(0) == 2:
        red, green, blue = codes[:3]
        del codes[:3]
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = codes.pop(0)
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return "#" + f"{8 + (number - 232) * 10:02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{levels[each]:02x}" for each in (number // 36, number // 6 % 6, number % 6))


def svg(rows: list[list[Cell]], title: str) -> str:
    width, height = COLUMNS * WIDTH + 20, len(rows) * HEIGHT + 20
    font = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14"'
    named = f'role="img" aria-label="{title}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" {named} {font}>',
        f"<title>{title}</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
    ]
    for number, row in enumerate(rows):
        at = 0
        for look, group in groupby(row, key=lambda each: each[1:]):
            text = "".join(each.text for each in group)
            parts += run(text, at, number, *look)
            at += len(text)
    return "\n".join([*parts, "</svg>\n"])


def run(text: str, column: int, row: int, colour: str, background: str, bold: bool, underlined: bool) -> list[str]:
    """Characters of one look."""
    x, y, length = 10 + column * WIDTH, 10 + row * HEIGHT, len(text) * WIDTH
    found = []
    if background != BACKGROUND:
        found.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{HEIGHT}" fill="{background}"/>')
    if text.strip():
        marks = (' font-weight="bold"' if bold else "") + (' text-decoration="underline"' if underlined else "")
        lead = len(text) - len(text.lstrip())
        shown = text.strip()
        found.append(
            f'<text x="{x + lead * WIDTH:.1f}" y="{y + BASE}" textLength="{len(shown) * WIDTH:.1f}" fill="{colour}"'
            f'{marks} xml:space="preserve">{escape(shown)}</text>'
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
