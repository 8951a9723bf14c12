"""Which GPUs the job gets, and who sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ground import Ground

if TYPE_CHECKING:
    from ..gpu_use import GpuNeed


class GpuRooms(Ground):
    """Which GPUs the job gets, and who sees them."""

    def gpu_need(self) -> GpuNeed | None:
        """GPUs that the job's commands use although none is asked for."""
        if self.request.asks_for_gpus is not False:
            return None
        from ..gpu_use import find_signs, gpu_need

        signs = list(find_signs(self.job.launches, self.job.invocations, self.job.assigned))
        return gpu_need(self.source.own, self.directives, self.request, signs, self.steps, self.job.launches, self.site)
