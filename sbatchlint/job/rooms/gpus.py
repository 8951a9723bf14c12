"""Which GPUs the job gets, and who sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground import Ground

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..gpu_sharing import StepGpus
    from ..gpu_use import GpuNeed
    from ..step_limits import TooManyGpus, TooManyNodes
    from ..steps import Step


class GpuRooms(Ground):
    """Which GPUs the job gets, and who sees them."""

    _step_gpus: dict[int, StepGpus] | None = None

    def gpus_of(self, step: Step) -> StepGpus:
        """The GPUs of a step, and which of them each task sees; see `job.gpu_sharing`."""
        known = self._step_gpus
        if known is None:
            known = self._step_gpus = {}
        found = known.get(id(step))
        if found is None:
            from ..gpu_sharing import step_gpus

            found = known[id(step)] = step_gpus(self.job, step)
        return found

    def gpu_need(self) -> GpuNeed | None:
        """GPUs that the job's commands use although none is asked for."""
        if self.request.asks_for_gpus is not False:
            return None
        from ..gpu_use import find_signs, gpu_need

        signs = list(find_signs(self.job.launches, self.job.invocations, self.job.assigned))
        return gpu_need(self.source.own, self.directives, self.request, signs, self.steps, self.job.launches, self.site)

    def steps_with_too_many_gpus(self) -> Iterable[TooManyGpus]:
        """Steps that ask for GPUs which the job does not have."""
        if not self.steps or not self.directives.settings:
            return ()
        from ..step_limits import steps_with_too_many_gpus

        return steps_with_too_many_gpus(self.job)

    def launchers_with_too_many_nodes(self) -> Iterable[TooManyNodes]:
        """Launchers that wait for more nodes than their step has."""
        if not any(launch.step is not None for launch in self.job.launches):
            return ()
        from ..step_limits import launchers_with_too_many_nodes

        return launchers_with_too_many_nodes(self.job)
