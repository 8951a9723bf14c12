"""When variables get their values, and who sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.rooms.ground import Ground

if TYPE_CHECKING:
    from sbatchlint.analysis.expansion.early import EarlyUse, Repair
    from sbatchlint.analysis.expansion.literal_dollars import LiteralDollar
    from sbatchlint.analysis.expansion.submit_time import SubmitTime
    from sbatchlint.analysis.expansion.variables import Variables
    from sbatchlint.source.text import Span


class ExpansionRooms(Ground):
    """When variables get their values, and who sees them."""

    _early: tuple[list[EarlyUse], list[EarlyUse]] | None = None
    _dollars: list[LiteralDollar] | None = None
    _variables: Variables | None = None

    def early_uses(self) -> list[EarlyUse]:
        """Variables of a task that the batch shell expands before a step's tasks start, each by its worst use."""
        return self._early_by_kind[0]

    def early_ranks(self) -> list[EarlyUse]:
        """Those of them that the batch shell assigns to a rank variable, once for all tasks of a step."""
        return self._early_by_kind[1]

    @property
    def _early_by_kind(self) -> tuple[list[EarlyUse], list[EarlyUse]]:
        if self._early is None:
            self._early = self._find_early()
        return self._early

    def _find_early(self) -> tuple[list[EarlyUse], list[EarlyUse]]:
        if not self.steps or not any(name in self.source.text for name in TASK_VARIABLES):
            return [], []
        from sbatchlint.analysis.expansion.early import find_early

        return find_early(self.steps, self.job.assigned)

    def early_span(self, use: EarlyUse) -> Span:
        """Where it stands: `$NAME`, or the bare name in arithmetic."""
        span, name, text = use.expansion.span, use.expansion.name, self.source.text
        if span.start < span.end:
            return span
        start = text.find(name, span.start, span.start + 1000)
        return span if start < 0 else span._replace(start=start, end=start + len(name))

    def early_repair(self, use: EarlyUse) -> Repair | None:
        from sbatchlint.analysis.expansion.early import repair

        found = repair(use, self.source.text, self.variables.used_by_batch_shell)
        if found is None or not self.is_embedded:
            return found
        # In a script inside a string or heredoc a backslash more may be one for the shell outside.
        escaped = self.source.text[found.start - 1 : found.start] == "\\"
        return None if escaped or found.kind == "wrap" and self.is_wrapped else found

    @property
    def variables(self) -> Variables:
        """Which variables are expanded too early, are not set, or are not seen by programs."""
        if self._variables is None:
            from sbatchlint.analysis.expansion.variables import Variables

            self._variables = Variables(self.job)
        return self._variables

    def literal_dollars(self) -> list[LiteralDollar]:
        """Variables that reach a program as text, because no shell expands them."""
        if self._dollars is None:
            self._dollars = []
            if "$" in self.source.text:
                from sbatchlint.analysis.expansion.literal_dollars import find_literal_dollars

                self._dollars = list(find_literal_dollars(self.job))
        return self._dollars

    def submit_time(self) -> list[SubmitTime]:
        """What the shell that submits this script expands in it, though only the job can know it."""
        if self.submission is None:
            return []
        from sbatchlint.analysis.expansion.submit_time import find_submit_time

        return find_submit_time(self.job)
