"""What programs are run with: the environments of their tools, the secrets that they are handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground import Ground

if TYPE_CHECKING:
    from ..secrets import Exposed, Traced


class ToolRooms(Ground):
    """What programs are run with: the environments of their tools, the secrets that they are handed."""

    def exposed_secrets(self) -> list[Exposed]:
        """Secrets that become words of a command, where everybody can read them."""
        from ..secrets import Secrets

        return list(Secrets(self.job).exposed())

    def traced_secrets(self) -> list[Traced]:
        """Secrets that the shell writes to the job's log, because it traces its commands."""
        if "-x" not in self.source.text and "xtrace" not in self.source.text and " -" not in self.source.text:
            return []
        from ..secrets import Secrets

        return list(Secrets(self.job).traced())
