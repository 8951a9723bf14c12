"""What the steps start, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.bash.values import Phase
from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.launch.idle_nodes import IdleNodes
    from sbatchlint.analysis.launch.lone_ranks import LoneRank

# What starts programs that are one rank of many.
_RANK_PROGRAMS = ("python", "litgpt")


class LaunchRooms(Ground):
    """What the steps start, and how often."""

    @property
    def lone_ranks(self) -> list[LoneRank]:
        """Programs that want one task for each GPU, in steps of one task per node."""
        if not any(step.tasks_per_node == 1 for step in self.steps):
            return []
        from sbatchlint.analysis.launch.lone_ranks import find_lone_ranks

        return find_lone_ranks(self.job)

    def idle_nodes(self) -> list[IdleNodes]:
        """What the batch shell starts on the first node, though it is meant for all nodes of the job."""
        outside = any(launch.step is None for launch in self.job.launches)
        if not outside and not any(
            each.phase is Phase.BATCH and (each.name or "").startswith(_RANK_PROGRAMS)
            for each in self.trace.invocations
        ):
            return []
        from sbatchlint.analysis.launch.idle_nodes import find_idle_nodes

        return find_idle_nodes(self.job)
