"""What stands on a terminal, as a picture."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from typing import NamedTuple

# Of a character of 14 pixels, in pixels.
WIDTH, HEIGHT, BASE = 8.4, 18, 13
# The colours of the terminal: its own, and those with numbers.
TEXT, BACKGROUND = "#d4d4d4", "#1e1e1e"
COLOURS = (
    *("#1e1e1e", "#f14c4c", "#23d18b", "#e5c07b", "#3b8eea", "#d670d6", "#29b8db", "#d4d4d4"),
    *("#808080", "#ff6b6b", "#5af78e", "#f4f99d", "#61afef", "#ff92df", "#9aedfe", "#ffffff"),
)


class Cell(NamedTuple):
    text: str
    colour: str
    background: str
    bold: bool
    underlined: bool


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


def svg(rows: list[list[Cell]], title: str, columns: int) -> str:
    width, height = columns * WIDTH + 20, len(rows) * HEIGHT + 20
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
