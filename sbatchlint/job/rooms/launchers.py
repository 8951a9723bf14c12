"""What is wrong with single launchers: in which place they are started, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.launch.lone_ranks import Refused


class LauncherRooms(Ground):
    """What is wrong with single launchers."""

    def refused_tasks(self) -> list[Refused]:
        """Tasks of a step that Lightning refuses when it starts; see `analysis.launch.lone_ranks`."""
        if "trainer" not in self.source.text and "num_nodes" not in self.source.text:
            return []
        from sbatchlint.analysis.launch.lone_ranks import find_refused

        return find_refused(self.job)
