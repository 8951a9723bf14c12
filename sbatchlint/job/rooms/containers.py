"""What the containers of the steps are made of, and what is seen in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.containers.container_environment import LostSettings, LostVariables
    from sbatchlint.analysis.containers.container_gpus import Blind, TooMany, WrongOrder
    from sbatchlint.analysis.containers.container_starts import ContainerStart
    from sbatchlint.analysis.containers.device_masks import Mask
    from sbatchlint.analysis.containers.docker import Bridged, LockedMemory, SmallMemory, Terminal
    from sbatchlint.analysis.containers.host_tools import BatchContainer, HostTool, MovedOut


class ContainerRooms(Ground):
    """What the containers of the steps are made of, and what is seen in them."""

    _starts: list[list[ContainerStart]] | None = None

    @property
    def container_starts(self) -> list[list[ContainerStart]]:
        """Commands that start a container, each with all ways in which it runs; see `container_starts`."""
        if self._starts is None:
            from sbatchlint.analysis.containers.container_starts import find_starts

            self._starts = find_starts(self.job)
        return self._starts

    def lost_variables(self) -> list[LostVariables]:
        """Variables that programs in containers read, and do not get."""
        if not self.container_starts:
            return []
        from sbatchlint.analysis.containers.container_environment import lost_variables

        return list(lost_variables(self.job, self.container_starts, self.job.variables.uses))

    def lost_settings(self) -> list[LostSettings]:
        """Settings that the script exports, and that none of its programs gets, as all run in containers."""
        if not self.container_starts:
            return []
        from sbatchlint.analysis.containers.container_environment import lost_settings

        return list(lost_settings(self.job, self.container_starts))

    def blind_containers(self) -> list[Blind]:
        """Containers that see no GPU, though their programs use them and the job has them."""
        if not self.container_starts:
            return []
        from sbatchlint.analysis.containers.container_gpus import blind

        return list(blind(self.job, self.container_starts))

    def handed_masks(self) -> list[Mask]:
        """Steps whose containers get the host's numbers of AMD's GPUs."""
        if not self.steps or not self.request.asks_for_gpus:
            return []
        from sbatchlint.analysis.containers.device_masks import handed_masks

        return list(handed_masks(self.job))

    def wrong_container_orders(self) -> list[WrongOrder]:
        """Sruns inside of containers that they were to start."""
        if not self.container_starts or not self.steps:
            return []
        from sbatchlint.analysis.containers.container_gpus import wrong_orders

        return list(wrong_orders(self.job, self.container_starts))

    def greedy_containers(self) -> list[TooMany]:
        """Containers of docker's daemon that see GPUs of other jobs."""
        if not self.container_starts:
            return []
        from sbatchlint.analysis.containers.container_gpus import too_many

        return list(too_many(self.job, self.container_starts))

    def container_terminals(self) -> list[Terminal]:
        """Containers of docker and podman that ask for a terminal in a batch job."""
        from sbatchlint.analysis.containers.docker import terminals

        return list(terminals(self.container_starts))

    def bridged_launches(self) -> list[Bridged]:
        """Launches over several nodes in containers with a network of their own."""
        from sbatchlint.analysis.containers.docker import bridged

        return list(bridged(self.container_starts))

    def small_memories(self) -> list[SmallMemory]:
        """Processes that share memory in a container that has little of it."""
        from sbatchlint.analysis.containers.docker import small_memory

        return list(small_memory(self.container_starts))

    def locked_memories(self) -> list[LockedMemory]:
        """Containers with InfiniBand devices and docker's limit of locked memory."""
        from sbatchlint.analysis.containers.docker import locked_memory

        return list(locked_memory(self.container_starts))

    def orphaned_containers(self) -> list[ContainerStart]:
        """Containers of docker's daemon, which outlive the job where that is cancelled."""
        from sbatchlint.analysis.containers.docker import orphans

        return list(orphans(self.job, self.container_starts))

    def batch_container(self) -> BatchContainer | None:
        """The container that a directive puts the batch script itself into."""
        from sbatchlint.analysis.containers.host_tools import batch_container

        return batch_container(self.job)

    def tools_in_containers(self) -> list[HostTool]:
        """Programs of Slurm that commands inside the steps' containers call."""
        from sbatchlint.analysis.containers.host_tools import tools_in_containers

        return list(tools_in_containers(self.job))

    def moved_out(self, tool: HostTool) -> MovedOut | None:
        """What one of them finds out, found out by the batch shell instead."""
        from sbatchlint.analysis.containers.host_tools import moved_out

        return moved_out(self.job, tool)
