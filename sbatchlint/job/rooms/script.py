"""What the script says as text and as a program of the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sbatchlint.bash.values import Phase
from sbatchlint.job.rooms.ground import Ground
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sbatchlint.analysis.directives.invisible_characters import Invisible
    from sbatchlint.analysis.script.broken_commands import Broken
    from sbatchlint.analysis.script.dollar_names import DollarName
    from sbatchlint.analysis.script.exit_status import ExitStatus
    from sbatchlint.analysis.script.generated_files import GeneratedFile
    from sbatchlint.analysis.script.inner_quotes import InnerQuotes

_BREAK = Regex(r"\\|^[ \t]*-", re.MULTILINE)


class ScriptRooms(Ground):
    """What the script says as text and as a program of the shell."""

    def invisible(self) -> list[Invisible]:
        """Words of directives that hold characters which only look like blanks, dashes or quotes."""
        if self.directives.text.string.isascii():
            return []
        from sbatchlint.analysis.directives.invisible_characters import find_invisible

        return find_invisible(self.directives)

    @property
    def may_break_commands(self) -> bool:
        """Whether there is a backslash, or a line that begins with an option; without either no command is cut."""
        return _BREAK.search(self.source.text) is not None

    def broken_commands(self) -> list[Broken]:
        """Commands that end in the middle, because a backslash is missing or has something behind it."""
        if self.phase is Phase.SUBMIT and not self.text.string.startswith("#!"):
            return []
        if not self.may_break_commands:
            return []
        from sbatchlint.analysis.script.broken_commands import find_broken
        from sbatchlint.analysis.script.programs import programs

        file = self.source.text
        return [each for text, program in programs(self.job) for each in find_broken(text, program, file)]

    def dollar_names(self) -> Iterable[DollarName]:
        """Assignments whose name begins with a dollar."""
        if "$" not in self.source.text:
            return ()
        from sbatchlint.analysis.script.dollar_names import find_dollar_names

        return find_dollar_names(self.job)

    def inner_quotes(self) -> Iterable[InnerQuotes]:
        """Double quotes inside of double quotes, which end the string around them."""
        if self.source.text.count('"') < 3:
            return ()
        from sbatchlint.analysis.script.inner_quotes import find_inner_quotes

        return find_inner_quotes(self.job)

    def generated_files(self) -> Iterable[GeneratedFile]:
        """Files of a fixed name that the batch script writes from a heredoc, and uses."""
        if self.phase is not Phase.BATCH or "<<" not in self.text.string:
            return ()
        from sbatchlint.analysis.script.generated_files import find_generated_files

        return find_generated_files(self.job)

    @property
    def exit_status(self) -> ExitStatus:
        """Whose exit status is the job's, and whose is lost."""
        from sbatchlint.analysis.script.exit_status import ExitStatus

        return ExitStatus(self.job)
