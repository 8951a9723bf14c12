"""What programs are run with: the environments of their tools, the secrets that they are handed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sbatchlint.analysis.storage.secrets import Exposed, Secrets, Traced
    from sbatchlint.analysis.tools.bare_torchrun import BareTorchrun
    from sbatchlint.analysis.tools.megatron_path import MissingPath
    from sbatchlint.analysis.tools.repeated_installs import RepeatedInstall


class ToolRooms(Ground):
    """What programs are run with: the environments of their tools, the secrets that they are handed."""

    _secrets: Secrets | None = None

    @property
    def secrets(self) -> Secrets:
        """Which variables hold a secret, and where their values go."""
        if self._secrets is None:
            from sbatchlint.analysis.storage.secrets import Secrets

            self._secrets = Secrets(self.job)
        return self._secrets

    def exposed_secrets(self) -> Iterable[Exposed]:
        """Secrets that become words of a command, where everybody can read them."""
        return self.secrets.exposed()

    def traced_secrets(self) -> Iterable[Traced]:
        """Secrets that the shell writes to the job's log, because it traces its commands."""
        return self.secrets.traced()

    def repeated_installs(self) -> Iterable[RepeatedInstall]:
        """Installs that every task of a step does again, or that miss the container in which the step runs."""
        if not self.steps:
            return ()
        from sbatchlint.analysis.tools.repeated_installs import repeated_installs

        return repeated_installs(self.job)

    def bare_torchruns(self) -> Iterable[BareTorchrun]:
        """Calls of the torchrun on PATH, in a script whose Python lives in the environment of a uv project."""
        from sbatchlint.analysis.tools.bare_torchrun import bare_torchruns

        return bare_torchruns(self.job)

    def missing_paths(self) -> Iterable[MissingPath]:
        """Training scripts of Megatron-LM without its folder on PYTHONPATH."""
        from sbatchlint.analysis.tools.megatron_path import missing_paths

        return missing_paths(self.job)
