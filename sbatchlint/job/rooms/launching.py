"""What the steps start, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.job.rooms.ground import Ground
from sbatchlint.job.worlds import find_worlds

if TYPE_CHECKING:
    from sbatchlint.analysis.launch.dead_options import DeadOption
    from sbatchlint.analysis.launch.fixed_ports import FixedPort
    from sbatchlint.analysis.launch.idle_nodes import IdleNodes
    from sbatchlint.analysis.launch.late_options import LateOptions
    from sbatchlint.analysis.launch.lone_ranks import LoneRank
    from sbatchlint.analysis.launch.node_counts import NodeCount, ProgramNodes
    from sbatchlint.analysis.launch.node_ranks import NodeRank
    from sbatchlint.analysis.launch.rendezvous import Meeting, Repair
    from sbatchlint.analysis.launch.surviving import Surviving
    from sbatchlint.analysis.launch.uncounted import Uncounted

# What starts programs that are one rank of many.
_RANK_PROGRAMS = ("python", "litgpt")


class LaunchRooms(Ground):
    """What the steps start, and how often."""

    def late_options(self) -> list[LateOptions]:
        """Options of srun that stand behind its command; see `analysis.launch.late_options`."""
        if not self.steps:
            return []
        from sbatchlint.analysis.launch.late_options import find_late_options

        return find_late_options(self.job)

    def surviving_steps(self) -> list[Surviving]:
        """Steps of a distributed program that go on when one of their tasks has failed; see `launching.surviving`."""
        if not any(step.several_nodes for step in self.steps):
            return []
        from sbatchlint.analysis.launch.surviving import find_surviving

        return find_surviving(self.job)

    def uncounted_steps(self) -> list[Uncounted]:
        """Steps that fill the job's CPUs with tasks, as nobody says how many; see `analysis.launch.uncounted`."""
        asked = self.request.asked("cpus-per-task")
        if not any(asked or "cpus-per-task" in step.options for step in self.steps):
            return []
        from sbatchlint.analysis.launch.uncounted import find_uncounted

        return find_uncounted(self.job)

    @property
    def lone_ranks(self) -> list[LoneRank]:
        """Programs that want one task for each GPU, in steps of one task per node."""
        if not any(step.tasks_per_node == 1 for step in self.steps):
            return []
        from sbatchlint.analysis.launch.lone_ranks import find_lone_ranks

        return find_lone_ranks(self.job)

    # --- several nodes, one world ----------------------------------------------------------------

    @property
    def _meets(self) -> bool:
        """Whether some launcher may be started on several nodes, or is told of several."""
        return any(world.nodes != 1 or world.asked.several is not False for world in find_worlds(self.job))

    def lonely_launchers(self) -> list[NodeCount]:
        """Launchers on several nodes that are told of one."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.node_counts import find_lonely

        return find_lonely(self.job)

    def node_count_mismatches(self) -> list[NodeCount]:
        """Launchers on several nodes that are told of another number of several."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.node_counts import find_mismatches

        return find_mismatches(self.job)

    def standalone_launchers(self) -> list[NodeCount]:
        """Launchers with `--standalone` where several nodes are to take part."""
        if not any(world.launcher is not None and world.launcher.standalone for world in find_worlds(self.job)):
            return []
        from sbatchlint.analysis.launch.node_counts import find_standalone

        return find_standalone(self.job)

    def misled_programs(self) -> list[ProgramNodes]:
        """Programs without a launcher that are told of another number of nodes than their step has."""
        programs = (each for step in self.steps for each in step.program if (each.name or "").startswith("python"))
        if not any("nodes" in shown_text(field) for each in programs for field in each.argv):
            return []
        from sbatchlint.analysis.launch.node_counts import find_programs

        return find_programs(self.job)

    def missing_rendezvous(self) -> list[Meeting]:
        """Launchers of several nodes that are not told where to meet."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.rendezvous import find_missing

        return find_missing(self.job)

    def unshared_rendezvous(self) -> list[Meeting]:
        """Launchers and programs of several nodes that each look for the others at another address."""
        if not self._meets and "MASTER_ADDR" not in self.source.text:
            return []
        from sbatchlint.analysis.launch.rendezvous import find_unshared

        return find_unshared(self.job)

    def differing_rendezvous(self) -> list[Meeting]:
        """Ports and names of a rendezvous that each node chooses for itself."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.rendezvous import find_differing

        return find_differing(self.job)

    def missing_node_ranks(self) -> list[NodeRank]:
        """Launchers of several nodes that are not told which they are on."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.node_ranks import find_missing

        return find_missing(self.job)

    def wrong_node_ranks(self) -> list[NodeRank]:
        """Launchers that take the number of a task, or a fixed one, for that of their node."""
        if not self._meets:
            return []
        from sbatchlint.analysis.launch.node_ranks import find_wrong

        return find_wrong(self.job)

    def dead_rendezvous_options(self) -> list[DeadOption]:
        """Options of a launcher's rendezvous that it does not look at."""
        if not any(each.launcher.kind in ("torchrun", "torch.distributed.launch") for each in self.job.launches):
            return []
        from sbatchlint.analysis.launch.dead_options import find_dead_options

        return find_dead_options(self.job)

    def without_dead_option(self, found: DeadOption) -> Repair | None:
        """Takes one of these out."""
        from sbatchlint.analysis.launch.dead_options import without_dead_option

        return without_dead_option(self.job, found)

    def idle_nodes(self) -> list[IdleNodes]:
        """What the batch shell starts on the first node, though it is meant for all nodes of the job."""
        outside = any(launch.step is None for launch in self.job.launches)
        if not outside and not any(
            each.phase is Phase.BATCH and (each.name or "").startswith(_RANK_PROGRAMS)
            for each in self.trace.invocations
        ):
            return []
        from sbatchlint.analysis.launch.idle_nodes import find_idle_nodes

        return find_idle_nodes(self.job)

    def fixed_ports(self) -> list[FixedPort]:
        """Ports of a rendezvous that are the same in every job, on a node that may be shared."""
        from sbatchlint.analysis.launch.fixed_ports import find_fixed_ports

        return find_fixed_ports(self.job)
