"""What the job asks for, and what does not go together in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.directives.foreign import ForeignEffect


class RequestRooms(Ground):
    """What the job asks for, and what does not go together in it."""

    def foreign_effects(self) -> list[ForeignEffect]:
        """What the script's `#PBS` or `#BSUB` lines change in the job, or why sbatch refuses them."""
        if self.directives.foreign is None:
            return []
        from sbatchlint.analysis.directives.foreign import foreign_effects

        return foreign_effects(self.job)
