"""The variables of a job: which are expanded too early, which are not set, and which programs do not get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sbatchlint.bash.values import Phase

if TYPE_CHECKING:
    from sbatchlint.analysis.expansion.early import EarlyUse, Repair
    from sbatchlint.analysis.expansion.rank_moves import Move
    from sbatchlint.analysis.expansion.typed_counts import TypedCount
    from sbatchlint.analysis.expansion.undefined import Undefined
    from sbatchlint.analysis.expansion.unexported import Unexported
    from sbatchlint.analysis.expansion.unset_variables import Unset
    from sbatchlint.analysis.expansion.uses import Use, Uses
    from sbatchlint.bash.trace import Read
    from sbatchlint.bash.values import Expansion
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step


class Variables:
    """What a job's variables are, for the checks. Each method loads its room only where the script has use for it."""

    __slots__ = ("_used", "_uses", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        self._used: frozenset[Expansion] | None = None
        self._uses: Uses | None = None

    @property
    def uses(self) -> Uses:
        """What the script reads variables for."""
        if self._uses is None:
            from sbatchlint.analysis.expansion.uses import Uses

            self._uses = Uses(self.job)
        return self._uses

    @property
    def used_by_batch_shell(self) -> frozenset[Expansion]:
        """What commands of the batch shell itself use of what it expands."""
        if self._used is None:
            from sbatchlint.analysis.expansion.early import used_by_batch_shell

            self._used = used_by_batch_shell(self.job.invocations)
        return self._used

    def early_places(self) -> list[EarlyUse]:
        """What depends on the node or the process, and is expanded by the batch shell for all tasks of a step."""
        if not self.job.steps or not any(sign in self.job.source.text for sign in "$`"):
            return []
        from sbatchlint.analysis.expansion.early_commands import early_places

        return early_places(self.job)

    def early_constants(self) -> list[tuple[EarlyUse, Repair]]:
        """Variables of the job that the batch shell expands in a program of the tasks, and how they could do it."""
        if not self.job.steps or "$" not in self.job.source.text:
            return []
        from sbatchlint.analysis.expansion.early_commands import early_constants

        return early_constants(self.job)

    def harmless_ranks(self) -> list[EarlyUse]:
        """Ranks that the batch shell computes for a step of one task, where they are right by chance."""
        if not any(step.tasks == 1 and step.nodes == 1 for step in self.job.steps):
            return []
        from sbatchlint.analysis.expansion.early import early_exports, worst_by_place

        return worst_by_place((use for step in self.job.steps for use in early_exports(step)), harmless=True)

    def moved_rank(self, use: EarlyUse) -> Move | None:
        """How a rank variable is set in the tasks instead of the batch shell."""
        from sbatchlint.analysis.expansion.rank_moves import move

        return move(self.job, use)

    def inherited_hostnames(self) -> list[tuple[Read, Step]]:
        """Reads of HOSTNAME in tasks on several nodes, where it is that of the first one."""
        if not self.job.steps or "HOSTNAME" not in self.job.source.text:
            return []
        from sbatchlint.analysis.expansion.early_commands import inherited_hostnames

        return inherited_hostnames(self.job)

    def of_steps(self) -> list[Unset]:
        """Variables of a step that the batch shell reads."""
        if self.job.phase is not Phase.BATCH or "SLURM_" not in self.job.source.text:
            return []
        from sbatchlint.analysis.expansion.unset_variables import step_variables

        return step_variables(self.job, self.uses)

    def missing(self) -> list[Unset]:
        """Variables of Slurm that no option of the script makes, or that it never sets under such a name."""
        if self.job.phase is not Phase.BATCH:
            return []
        from sbatchlint.analysis.expansion.unset_variables import missing_variables

        return missing_variables(self.job, self.uses)

    def in_launcher(self, use: Use) -> bool:
        """Whether what is read becomes part of a launcher's command line."""
        from sbatchlint.analysis.expansion.unset_variables import in_launcher

        return in_launcher(self.job, use)

    def unexported(self) -> Iterable[Unexported]:
        """Variables that the script does not export, and that a program which it starts reads."""
        if self.job.phase is not Phase.BATCH or not self.job.assigned and not self.job.trace.reads:
            return ()
        from sbatchlint.analysis.expansion.unexported import find_unexported

        return find_unexported(self.job, self.uses)

    def typed_counts(self) -> list[TypedCount]:
        """Typed numbers of GPUs (`h100:8`) where a plain number is wanted."""
        request = self.job.request
        if not any(":" in (request.text(name) or "") for name in ("gpus", "gpus-per-node", "gpus-per-socket")):
            return []
        from sbatchlint.analysis.expansion.typed_counts import typed_counts

        return typed_counts(self.job, self.uses)

    def undefined(self) -> list[Undefined]:
        """Variables in the options of launchers that nothing in the script sets."""
        if not self.job.launches:
            return []
        from sbatchlint.analysis.expansion.undefined import undefined_variables

        return undefined_variables(self.job, self.uses)
