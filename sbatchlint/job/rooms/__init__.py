"""What a job's picture answers beyond what stands in it: each question loads its room only where it has something."""

from __future__ import annotations

from sbatchlint.job.rooms.gpus import GpuRooms


class Rooms(GpuRooms):  # fmt: skip
    """The questions; `Job` has the answers' ground, and is the only class of this kind."""
