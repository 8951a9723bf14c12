"""What is wrong with single launchers: in which place they are started, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.launch.lone_ranks import Refused
    from sbatchlint.analysis.launch.mpi_slots import Mismatch


class LauncherRooms(Ground):
    """What is wrong with single launchers."""

    def refused_tasks(self) -> list[Refused]:
        """Tasks of a step that Lightning refuses when it starts; see `analysis.launch.lone_ranks`."""
        if "trainer" not in self.source.text and "num_nodes" not in self.source.text:
            return []
        from sbatchlint.analysis.launch.lone_ranks import find_refused

        return find_refused(self.job)

    def mpi_mismatches(self) -> list[Mismatch]:
        """MPI jobs that are larger or smaller than the tasks of the job; see `analysis.launch.mpi_slots`."""
        from sbatchlint.analysis.launch.mpi_slots import find_mismatches

        return find_mismatches(self.job)
