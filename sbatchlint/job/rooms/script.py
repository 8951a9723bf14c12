"""What the script says as text and as a program of the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.directives.invisible_characters import Invisible


class ScriptRooms(Ground):
    """What the script says as text and as a program of the shell."""

    def invisible(self) -> list[Invisible]:
        """Words of directives that hold characters which only look like blanks, dashes or quotes."""
        if self.directives.text.string.isascii():
            return []
        from sbatchlint.analysis.directives.invisible_characters import find_invisible

        return find_invisible(self.directives)
