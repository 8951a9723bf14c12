"""The node on which something happened, as a log says it."""

import re
from collections.abc import Iterable

from sbatchlint.diagnose.symptom import Event

# In what srun, slurmd and NCCL print; names of nodes also stand as labels before lines.
_NODE = re.compile(
    r"^srun: error: ([\w.-]+): tasks? [\d,-]+:|failed on node ([\w.-]+)|Node failure on ([\w.-]+)|^on node ([\w.-]+)"
    r"|^([A-Za-z][\w.-]*\d[\w.-]*):\d+:\d+ \[\d+\] "
)
# Labels before lines that are not nodes.
IS_RANK = re.compile(r"rank|default|trainer|worker")
# How a script, or a program, says where it runs: `on gn17`, `hostname: n3`, `node wheeler214`.
_SAYS_WHERE = re.compile(
    r"(?i)(?:\bon|\bhost(?:name)?|\bnodes?)\b(?: (?:host|node|is)\b)?[ :=]{1,20}([a-z][a-z_-]*\d[\w-]*)(?![\w.\[:/(-])"
)


def node_of(event: Event, others: Iterable[Event] = ()) -> str:
    """The node on which an event happened; '' where the log does not say it.

    `others`: where srun says of one node only that its tasks failed, it was that one.
    """
    named = event.groups.get("node") or _in_line(event.text) or event.label
    if re.match(r"[A-Za-z]", named) and " " not in named and not IS_RANK.match(named):
        return named.split(":")[0]
    ended = [each.text for each in others if _in_line(each.text)]
    own = [text for text in ended if not re.search(r": (?:Terminated|Killed)$", text)]  # srun ends the others
    nodes = {_in_line(text) for text in own or ended}
    return next(iter(nodes)) if len(nodes) == 1 else ""


def only_node(event: Event) -> str:
    """The one node that the log names before an event, as that on which it runs; '' for none or several."""
    lines = (*event.early, *event.above)
    if any(re.search(r"[a-z-]\[\d+[,-]", line) for line in lines):  # a list of nodes
        return ""
    found = {match[1] for line in lines for match in _SAYS_WHERE.finditer(line)}
    return next(iter(found)) if len(found) == 1 else ""


def _in_line(text: str) -> str:
    match = _NODE.search(text)
    return next((each for each in match.groups() if each), "") if match else ""
