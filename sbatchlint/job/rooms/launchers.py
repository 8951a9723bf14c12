"""What is wrong with single launchers: in which place they are started, and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground import Ground

if TYPE_CHECKING:
    from ..launching.lone_ranks import Refused
    from ..launching.mpi_slots import Mismatch
    from ..launching.nested_launchers import Nested
    from ..launching.totals import Total


class LauncherRooms(Ground):
    """What is wrong with single launchers."""

    def misplaced_totals(self) -> list[Total]:
        """Numbers of accelerate's workers that do not go with the machines; see `job.launching.totals`."""
        if not any(launch.launcher.kind == "accelerate" for launch in self.job.launches):
            return []
        from ..launching.totals import find_totals

        return find_totals(self.job)

    def refused_tasks(self) -> list[Refused]:
        """Tasks of a step that Lightning refuses when it starts; see `job.launching.lone_ranks`."""
        if "trainer" not in self.source.text and "num_nodes" not in self.source.text:
            return []
        from ..launching.lone_ranks import find_refused

        return find_refused(self.job)

    def nested_launchers(self) -> list[Nested]:
        """Launchers that another launcher starts; see `job.launching.nested_launchers`."""
        if not self.job.launches and not self.steps:
            return []
        from ..launching.nested_launchers import find_nested

        return find_nested(self.job)

    def mpi_mismatches(self) -> list[Mismatch]:
        """MPI jobs that are larger or smaller than the tasks of the job; see `job.launching.mpi_slots`."""
        from ..launching.mpi_slots import find_mismatches

        return find_mismatches(self.job)
