"""What the programs are told of the processes that they are spread over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.training.connections import Connections
    from sbatchlint.analysis.training.layouts import Broken, Layout


class TrainingRooms(Ground):
    """What the programs are told of the processes that they are spread over."""

    _layouts: list[list[Layout]] | None = None

    @property
    def layouts(self) -> list[list[Layout]]:
        """The parallel layouts of Megatron-like programs: for each place in the script those that it may stand for."""
        if self._layouts is None:
            from sbatchlint.analysis.training.layouts import find_layouts

            self._layouts = find_layouts(self.job)
        return self._layouts

    def broken_layouts(self, *rules: str) -> list[Broken]:
        """Sizes of a Megatron-like program that do not divide one another, by these rules of `Indivisible`."""
        from sbatchlint.analysis.training.layouts import broken_layouts

        return broken_layouts(self.job, frozenset(rules))

    def wrong_connections(self) -> list[Connections]:
        """Numbers of CUDA connections that Megatron, or FSDP, refuses or cannot use."""
        from sbatchlint.analysis.training.connections import find_connections

        return find_connections(self.job)
