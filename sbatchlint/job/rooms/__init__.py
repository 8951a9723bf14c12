"""What a job's picture answers beyond what stands in it: each question loads its room only where it has something."""

from __future__ import annotations

from .asked import RequestRooms
from .containers import ContainerRooms
from .expansion import ExpansionRooms
from .gpus import GpuRooms
from .keeping import KeepingRooms
from .launchers import LauncherRooms
from .launching import LaunchRooms
from .script import ScriptRooms
from .tools import ToolRooms
from .training import TrainingRooms


class Rooms(
    ScriptRooms, RequestRooms, ExpansionRooms, LaunchRooms, LauncherRooms, TrainingRooms, GpuRooms, ContainerRooms,
    KeepingRooms, ToolRooms,
):  # fmt: skip
    """The questions; `Job` has the answers' ground, and is the only class of this kind."""
