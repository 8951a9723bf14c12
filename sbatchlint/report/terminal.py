"""The abilities of the output: width, colours and links."""

import os
from typing import TextIO

from sbatchlint.source.numbers import is_number, parse_integer

_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "help": "1;36",
    "gutter": "1;34",
    "bold": "1",
    "dim": "2",
    "added": "32",
    "removed": "31",
    "related": "1;34",
}


# The note on a patch or a script that is shown without its secrets.
REDACTED = "secrets are shown as ***; outside of CI, a file or a pipe gets the whole text"


class Terminal:
    """The abilities of an output; `width` in cells, `colour` and `links`: whether escape sequences may be written.

    `height`: the lines of a screen; 0 for what is not a terminal.
    """

    def __init__(self, width: int = 100, colour: bool = False, links: bool = False, height: int = 0) -> None:
        self.width = width
        self.height = height
        self.colour = colour
        self.links = links

    @classmethod
    def of_stream(cls, stream: TextIO, colour: str = "auto") -> "Terminal":
        """The abilities of a stream. `colour`: auto, always or never; NO_COLOR and FORCE_COLOR affect auto."""
        environment = os.environ
        try:
            is_terminal = stream.isatty()
        except ValueError:  # closed
            is_terminal = False
        width = 0
        if is_number(environment.get("COLUMNS", "")):
            width = parse_integer(environment["COLUMNS"])
        height = 0
        if is_terminal:
            try:
                columns, height = os.get_terminal_size(stream.fileno())
            except (OSError, ValueError):
                columns = 0
            width = width or columns
            height = height or 24
        if colour == "auto":
            if environment.get("NO_COLOR"):
                coloured = False
            elif environment.get("FORCE_COLOR", "") not in ("", "0"):
                coloured = True
            else:
                coloured = is_terminal and environment.get("TERM") != "dumb"
        else:
            coloured = colour == "always"
        return cls(max(width or 100, 40), coloured, coloured and is_terminal and _knows_links(), height)

    def style(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.colour and text else text

    def link(self, url: str, text: str) -> str:
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links else text


def is_read_by_people(stream: TextIO) -> bool:
    """Whether what is written to a stream is shown, on a terminal or in the log of a CI run."""
    try:
        is_terminal = stream.isatty()
    except ValueError:  # closed
        is_terminal = False
    return is_terminal or os.environ.get("CI", "").lower() not in ("", "0", "false")


def _knows_links() -> bool:
    """Whether the terminal is known to understand OSC 8."""
    environment = os.environ
    if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"):
        return True
    if environment.get("TERM", "") in ("xterm-kitty", "alacritty", "foot", "xterm-ghostty"):
        return True
    if any(environment.get(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")):
        return True
    version = environment.get("VTE_VERSION", "")
    return is_number(version) and parse_integer(version) >= 5000
