"""The node on which something happened, as a log says it."""

import re
from collections.abc import Iterable

from sbatchlint.diagnose.symptom import Event

# In what srun and slurmd print; names of nodes also stand as labels before lines.
_NODE = re.compile(
    r"^srun: error: ([\w.-]+): tasks? [\d,-]+:|failed on node ([\w.-]+)|Node failure on ([\w.-]+)|^on node ([\w.-]+)"
)
# Labels before lines that are no nodes.
IS_RANK = re.compile(r"rank|default|trainer|worker")


def node_of(event: Event, others: Iterable[Event] = ()) -> str:
    """The node on which an event happened; '' where the log does not say it.

    `others`: where srun says of one node only that its tasks failed, it was that one.
    """
    named = event.groups.get("node") or _in_line(event.text) or event.label
    if re.match(r"[A-Za-z]", named) and " " not in named and not IS_RANK.match(named):
        return named.split(":")[0]
    nodes = {node for each in others if (node := _in_line(each.text))}
    return next(iter(nodes)) if len(nodes) == 1 else ""


def _in_line(text: str) -> str:
    match = _NODE.search(text)
    return next((each for each in match.groups() if each), "") if match else ""
