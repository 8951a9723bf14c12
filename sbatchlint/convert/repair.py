"""Repairs what the checks find at the wanted number of nodes, and did not at that of the script.

A repair counts where the proof is no worse and the finding is gone. Fixes that are a guess in general are none here if
the plan says what was meant: what a program read on its one node has to be on every node.
"""

from collections.abc import Callable

from sbatchlint.convert.proof import Proof
from sbatchlint.convert.staging import staged_on_each_node
from sbatchlint.convert.wish import NotConvertible
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.job import Job
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, edited
from sbatchlint.source.text import Source

_STAGED = "SB817"
_MOST = 12


def proven(
    source: Source, prove: Callable[[Source], Proof], before: list[str], settings: Settings
) -> tuple[Source, Proof, list[str]]:
    """The script without the findings that can be repaired, its proof, and what was done. Raises `NotConvertible`.

    `before`: the codes of what was found in the script as it was.
    """
    proof = prove(source)
    said: list[str] = []
    tried: set[tuple[str, str]] = set()
    while len(tried) < _MOST:
        new = [each for each in proof.new(before) if (each.code, each.message) not in tried]
        if not new:
            break
        tried.add((new[0].code, new[0].message))
        edits = _edits(source, new, settings)
        if not edits:
            continue
        changed = edited(source, edits)
        after = prove(changed)
        if _badness(after, before) < _badness(proof, before):
            source, proof = changed, after
            said.append(f"{new[0].code} repaired: {_title(new[0])}")
    if proof.faults:
        raise NotConvertible("; ".join(dict.fromkeys(proof.faults)))
    return source, proof, said


def _badness(proof: Proof, before: list[str]) -> tuple[int, int]:
    return len(proof.faults), sum(1 for _ in proof.new(before))


def _edits(source: Source, new: list[Diagnostic], settings: Settings) -> list[Edit]:
    first = new[0]
    if first.code == _STAGED:
        return staged_on_each_node(
            Job.from_source(source, settings.site), [each.span for each in new if each.code == _STAGED]
        )
    own = first.fix is not None and first.fix.safe and first.source.path == source.path
    return list(first.fix.edits) if own and first.fix is not None else []


def _title(finding: Diagnostic) -> str:
    if finding.code == _STAGED:
        return "data is brought to the disk of each node, once"
    return "" if finding.fix is None else finding.fix.title
