"""What programs are run with: the environments of their tools, the secrets that they are handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground import Ground

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..bare_torchrun import BareTorchrun
    from ..megatron_path import MissingPath
    from ..repeated_installs import RepeatedInstall
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

    def repeated_installs(self) -> Iterable[RepeatedInstall]:
        """Installs that every task of a step does again, or that miss the container in which the step runs."""
        if not self.steps:
            return ()
        from ..repeated_installs import repeated_installs

        return repeated_installs(self.job)

    def bare_torchruns(self) -> Iterable[BareTorchrun]:
        """Calls of the torchrun on PATH, in a script whose Python lives in the environment of a uv project."""
        from ..bare_torchrun import bare_torchruns

        return bare_torchruns(self.job)

    def missing_paths(self) -> Iterable[MissingPath]:
        """Training scripts of Megatron-LM without its folder on PYTHONPATH."""
        from ..megatron_path import missing_paths

        return missing_paths(self.job)
