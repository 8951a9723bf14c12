"""Which GPUs the job gets, and who sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sbatchlint.analysis.gpus.gpu_bindings import BoundLauncher, BoundRank, SharedGpu
    from sbatchlint.analysis.gpus.gpu_use import GpuNeed, UnseenGpus
    from sbatchlint.analysis.gpus.step_limits import TooManyGpus, TooManyNodes
    from sbatchlint.analysis.gpus.uneven import Uneven
    from sbatchlint.analysis.gpus.visible_devices import DeviceChoice


class GpuRooms(Ground):
    """Which GPUs the job gets, and who sees them."""

    def gpu_need(self) -> GpuNeed | None:
        """GPUs that the job's commands use although none is asked for."""
        if self.request.asks_for_gpus is not False:
            return None
        from sbatchlint.analysis.gpus.gpu_use import find_signs, gpu_need

        signs = list(find_signs(self.job.launches, self.job.invocations, self.job.assigned))
        return gpu_need(self.source.own, self.directives, self.request, signs, self.steps, self.job.launches, self.site)

    def unseen_gpus(self) -> UnseenGpus | None:
        """A step that uses GPUs of an exclusive job which asks for none: the batch shell has them, the step has not."""
        need = self.gpu_need() if self.request.exclusive == "" and self.steps else None
        if need is None:
            return None
        from sbatchlint.analysis.gpus.gpu_use import unseen_gpus

        return unseen_gpus(self.job, need)

    def steps_with_too_many_gpus(self) -> Iterable[TooManyGpus]:
        """Steps that ask for GPUs which the job does not have."""
        if not self.steps or not self.directives.settings:
            return ()
        from sbatchlint.analysis.gpus.step_limits import steps_with_too_many_gpus

        return steps_with_too_many_gpus(self.job)

    def launchers_with_too_many_nodes(self) -> Iterable[TooManyNodes]:
        """Launchers that wait for more nodes than their step has."""
        if not any(launch.step is not None for launch in self.job.launches):
            return ()
        from sbatchlint.analysis.gpus.step_limits import launchers_with_too_many_nodes

        return launchers_with_too_many_nodes(self.job)

    def uneven_gpus(self) -> Uneven | None:
        """A total of GPUs that may fall unevenly on nodes of which each needs its part."""
        if self.request.gpus.total is None or not self.steps:
            return None
        from sbatchlint.analysis.gpus.uneven import uneven_gpus

        return uneven_gpus(self.job)

    def uneven_tasks(self) -> Uneven | None:
        """A total of tasks, one for each GPU, that may fall unevenly on nodes."""
        if self.request.tasks is None or not self.request.asks_for_gpus or not self.steps:
            return None
        from sbatchlint.analysis.gpus.uneven import uneven_tasks

        return uneven_tasks(self.job)

    def device_choices(self) -> Iterable[DeviceChoice]:
        """Where the script itself says which GPUs its programs see."""
        if "_DEVICES" not in self.source.text or not self.request.asks_for_gpus:
            return ()
        from sbatchlint.analysis.gpus.visible_devices import device_choices

        return device_choices(self.job)

    def bound_launchers(self) -> Iterable[BoundLauncher]:
        """Launchers that see fewer GPUs than they start processes, because tasks are bound to GPUs."""
        if not any(launch.step is not None for launch in self.job.launches):
            return ()
        from sbatchlint.analysis.gpus.gpu_bindings import bound_launchers

        return bound_launchers(self.job)

    def bound_ranks(self) -> Iterable[BoundRank]:
        """Programs that take a GPU by their number on the node, where each task sees just its own."""
        from sbatchlint.analysis.gpus.gpu_bindings import bound_ranks

        return bound_ranks(self.job)

    def shared_gpus(self) -> Iterable[SharedGpu]:
        """Steps whose ranks all see the same one GPU of their node."""
        if not any((step.tasks_per_node or 0) > 1 for step in self.steps):
            return ()
        from sbatchlint.analysis.gpus.gpu_bindings import shared_gpus

        return shared_gpus(self.job)
