"""What the job asks for, and what does not go together in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.directives.foreign import ForeignEffect
    from sbatchlint.slurm.conflicts.causes import Cause
    from sbatchlint.slurm.conflicts.counts import Counts
    from sbatchlint.slurm.conflicts.gpu_pairs import TwiceAsked

# Options without which there is one task on each node.
_COUNTED = frozenset(("ntasks", "threads-per-core", "cores-per-socket", "sockets-per-node", "extra-node-info", "hint"))


class RequestRooms(Ground):
    """What the job asks for, and what does not go together in it."""

    _conflicts: list[Cause] | None = None

    def foreign_effects(self) -> list[ForeignEffect]:
        """What the script's `#PBS` or `#BSUB` lines change in the job, or why sbatch refuses them."""
        if self.directives.foreign is None:
            return []
        from sbatchlint.analysis.directives.foreign import foreign_effects

        return foreign_effects(self.directives)

    def conflicts(self) -> list[Cause]:
        """Settings that do not go together, of all components, in the order in which sbatch meets them."""
        if self._conflicts is None:
            self._conflicts = []
            own = self.directives
            if own.may_conflict:
                from sbatchlint.slurm.conflicts.causes import causes

                self._conflicts.extend(each for index in range(own.components) for each in causes(own, index))
        return self._conflicts

    def twice_asked_gpus(self, cause: Cause) -> TwiceAsked | None:
        """The GPUs of `--gres` and of `--gpus-per-node`, where these two are what does not go together."""
        from sbatchlint.slurm.conflicts.gpu_pairs import twice_asked

        return twice_asked(self.directives, cause)

    def counts(self) -> list[Counts | None]:
        """The nodes and tasks of each component as the newest release makes them of the options.

        None where they are not known, and where no number of tasks or threads is given.
        """
        directives = self.directives
        given = {each.name for each in directives.settings}
        if not directives.certain or not given & _COUNTED and self.submission is None:
            return [None] * directives.components
        if self.submission is not None and directives.components == 1:
            return [self.request.counts]
        from sbatchlint.slurm.conflicts.causes import values_of
        from sbatchlint.slurm.conflicts.counts import job_counts

        newest = self.versions.last
        each = (values_of(directives, component, newest) for component in range(directives.components))
        return [job_counts(values, newest) for values in each]
