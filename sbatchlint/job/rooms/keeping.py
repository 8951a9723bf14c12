"""Where programs keep what they need and what they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sbatchlint.analysis.storage.caches import CacheSetting, UnsetCache
    from sbatchlint.analysis.storage.compile_caches import SharedCompileCache
    from sbatchlint.analysis.storage.outputs import Output
    from sbatchlint.analysis.storage.removals import Removal
    from sbatchlint.analysis.storage.renamed_caches import RenamedCache
    from sbatchlint.job.steps import Step

# What the programs and containers are called whose caches have to be named.
_CACHING = ("container", "docker", "apptainer", "singularity", "podman", "enroot", "swift", "megatron")


class KeepingRooms(Ground):
    """Where programs keep what they need and what they make."""

    def private_caches(self) -> list[tuple[Step, CacheSetting]]:
        """Caches of steps on several nodes that each node has for itself, and nothing puts there on purpose."""
        found: list[tuple[Step, CacheSetting]] = []
        names_a_cache = "CACHE" in self.source.text or "_HOME" in self.source.text
        if not names_a_cache or not any(step.several_nodes for step in self.steps):
            return found
        from sbatchlint.analysis.storage.caches import cache_settings, filled_on_every_node
        from sbatchlint.job.paths import SHARED

        for step in self.steps:
            if not step.several_nodes:
                continue
            settings = list(cache_settings(step, self.site))
            shared = {each.name for each in settings if each.location.kind == SHARED}
            for each in settings:
                own = each.location.per_node or each.location.per_task
                covered = each.name == "NEMO_HOME" and "NEMO_DATASETS_CACHE" in shared
                if each.location.private and not own and not covered:
                    if not filled_on_every_node(each, step, self.job.invocations):
                        found.append((step, each))
        return found

    def unset_caches(self) -> list[tuple[Step, UnsetCache]]:
        """Caches that a step's programs need in common, and that the script does not name."""
        several = any(step.several_nodes or step.geometry.several for step in self.steps)
        if not several or not any(word in self.source.text for word in _CACHING):
            return []
        from sbatchlint.analysis.storage.caches import unset_caches

        return [(step, each) for step in self.steps for each in unset_caches(step)]

    def shared_sibling(self, step: Step, setting: CacheSetting) -> str | None:
        """A path beside another cache of the script that all nodes see."""
        from sbatchlint.analysis.storage.caches import shared_sibling

        return shared_sibling(setting, step, self.site)

    def shared_compile_caches(self) -> Iterable[SharedCompileCache]:
        """Caches of compiled code that the nodes of a step share, and write to at the same time."""
        if not any(step.several_nodes or step.geometry.several for step in self.steps):
            return ()
        from sbatchlint.analysis.storage.compile_caches import shared_compile_caches

        return shared_compile_caches(self.job)

    def renamed_caches(self) -> Iterable[RenamedCache]:
        """Variables for caches that have other names by now."""
        from sbatchlint.analysis.storage.renamed_caches import renamed_caches

        return renamed_caches(self.job)

    def lost_outputs(self) -> Iterable[Output]:
        """What is written where those who want it do not see it: on one node's disk, in a container."""
        from sbatchlint.analysis.storage.outputs import lost_outputs

        return lost_outputs(self.job)

    def removals(self) -> Iterable[Removal]:
        """What the job removes although it, or another of its tasks, needs it."""
        from sbatchlint.analysis.storage.removals import removals

        return removals(self.job)
