"""The diagnosis of a failure from logs and a script."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.diagnose.answers import Answer, Picture, answers, blaming
from sbatchlint.diagnose.bearing import speaking_of
from sbatchlint.diagnose.complaints import FAILURE, last_complaint
from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.nodes import node_of, only_node
from sbatchlint.diagnose.printed import own_advice
from sbatchlint.diagnose.ranking import (
    EARLIER,
    FOLLOWS,
    LATER,
    TEARDOWN,
    WENT_ON,
    Noise,
    announces_nothing,
    of_earlier_runs,
    points,
    rank,
)
from sbatchlint.diagnose.related import related_places
from sbatchlint.diagnose.script_signs import beside_folder, script_signed
from sbatchlint.diagnose.signs import signed
from sbatchlint.diagnose.silent_faults import silent_answers
from sbatchlint.diagnose.submitters import by_directives, of_own_job, with_command, with_settings
from sbatchlint.diagnose.symptom import Account, Cause, Event
from sbatchlint.diagnose.traceback import FRAME
from sbatchlint.diagnose.unread import off, unread

# The maximum number of alternatives that are named if the cause is not certain.
MOST_ALTERNATIVES = 2


# Of advice that is about one node.
_THAT_NODE = "--exclude of that node"

# Advice that the log must bear out, and what is said instead.
_SEE_TRACEBACK = "see the traceback in the log: its last frame that is the program's own"
_NO_TRACEBACK = "the log has no traceback of it: look for one in the program's other output, or search for the message"


class Diagnosis(NamedTuple):
    """`answers`: the best, then alternatives; `noise`: the other events in the logs."""

    answers: list[Answer]
    noise: list[Noise]


def diagnose(findings: Findings, picture: Picture | None, account: Account | None = None) -> Diagnosis:
    """The diagnosis of the findings in logs."""
    counts: dict[str, int] = {}
    for event in findings.events.values():
        counts[event.symptom.id] = counts.get(event.symptom.id, 0) + event.count
    for event in findings.events.values():
        event.symptoms, event.account = counts, account
    earlier = of_earlier_runs(findings.events.values(), findings.lines)
    ranked = rank(
        [each for each in findings.events.values() if each not in earlier],
        findings,
        picture.jobs[0] if picture else None,
    )
    done = account is not None and account.state.startswith("COMPLETED")
    # a message in the form of an error says more than that a task failed, but not the beginning of a cut traceback
    vague = [
        each for each in ranked.teardown if each.symptom.near_end and not announces_nothing(each) and not points(each)
    ]
    failed = account is not None and account.state != "" and not done
    best: list[Answer] = []
    for events, needs_proof, least in (
        (ranked.causes, done, "possible"),
        (ranked.outlived, True, "possible"),
        (ranked.warnings, True, "possible"),
        (ranked.consequences, done, "likely"),
        (vague, done, "possible"),
        (ranked.consequences, done, "possible"),
        (ranked.warnings, not failed, "likely"),
        (ranked.teardown, done, "possible"),
        (ranked.outlived, not failed, "possible"),
        (ranked.warnings, done or account is None, "possible"),
    ):
        best = _first(events, picture, needs_proof, least == "possible")
        if best:
            break
    if not best and not done and not failed:
        best = _stuck(ranked.warnings, findings, picture) or silent_answers(findings.last, picture)
        best = best or _last_complaint_of(findings.last, picture)
    best = _complained(best, picture) or _before_cut(best, ranked.noise, ranked.teardown) or best
    best = [_with_traceback(_naming_node(each, findings.events.values())) for each in best]
    root = best[0].event if best else None
    if root is not None:
        root.rows = _with_repetition(root, findings.events.values())
    noise = (
        [Noise(each, EARLIER) for each in earlier]
        + ranked.noise
        + _follow(ranked.causes + ranked.warnings + ranked.consequences + ranked.outlived, ranked.teardown, root)
    )
    return Diagnosis(best, sorted(noise, key=lambda each: (each.event.file, each.event.offset)))


def _complained(best: list[Answer], picture: Picture | None) -> list[Answer]:
    """The answers for what a process complained of before its end, where the log otherwise only reports this end."""
    if not best or best[0].proven or best[0].confidence != "possible" or not best[0].event.symptom.tells_end:
        return []
    event = last_complaint(best[0].event)
    return _first([event], picture, False, True) if event is not None else []


def _stuck(warnings: list[Event], findings: Findings, picture: Picture | None) -> list[Answer]:
    """The answers for a warning at the end of a log, as of a wait, whose cause the script shows."""
    last = [each for each in warnings if each.last >= findings.lines.get(each.path, 0)]
    found = _first(last, picture, False, False) if picture is not None else []
    return found if found and found[0].proven and found[0].spans else []


def _last_complaint_of(last: Event | None, picture: Picture | None) -> list[Answer]:
    """The answers for what the last lines of a log complain of, where none of it has the form of an error."""
    event = None if last is None else last_complaint(last, FAILURE)
    return [] if event is None else _first([event], picture, False, True)


# A command that ends too early, as its line is not continued: what its program then lacks.
_CUT = "SB411"
_LACKS = re.compile(
    r"(?i)\b(?:not (?:\w+ )?(?:specified|given|provided|set|defined|supplied)|missing|required?s?"
    r"|no (?:\w+ ){0,2}(?:given|specified)|must|expect\w*|usage:?)\b"
)


def _before_cut(best: list[Answer], noise: Iterable[Noise], teardown: Iterable[Event]) -> list[Answer]:
    """The answers with the earlier message of a program that lacks the words after a line which is not continued."""
    if not best or not any(each.code == _CUT for each in best[0].findings):
        return []
    event = best[0].event
    others = [each for each in (*(item.event for item in noise), *teardown) if each.symptom.near_end]
    before = [each for each in others if each.file == event.file and each.row < event.row and _LACKS.search(each.text)]
    return [best[0]._replace(event=before[0]), *best[1:]] if before else []


def _with_repetition(event: Event, others: Iterable[Event]) -> tuple[int, ...]:
    """The rows of an event, and of the next line that says the same once more in its own way."""
    said = (event.groups.get("text") or re.sub(r"^[\w.]+: ", "", event.text)).strip()
    if len(said) < _SHORTEST_SAID:
        return event.rows
    again = [
        each.row for each in others if each.file == event.file and each.row > event.row and each.text.endswith(said)
    ]
    return (*event.rows, min(again)) if again else event.rows


# A shorter message may be the end of another one by chance.
_SHORTEST_SAID = 20


def _naming_node(answer: Answer, others: Iterable[Event]) -> Answer:
    """The answer with the name of the node that is to be left out, where the log says it."""
    if _THAT_NODE not in answer.advice:
        return answer
    node = node_of(answer.event, others) or only_node(answer.event)
    return answer._replace(advice=answer.advice.replace(_THAT_NODE, f"--exclude={node}")) if node else answer


def _with_traceback(answer: Answer) -> Answer:
    """The answer, which points to a traceback only if the log has one."""
    event = answer.event
    if not answer.advice.startswith(_SEE_TRACEBACK) or "python-traceback" in event.symptoms:
        return answer
    if any(FRAME.match(each) for each in (*event.above, *event.below)):
        return answer
    return answer._replace(advice=answer.advice.replace(_SEE_TRACEBACK, _NO_TRACEBACK, 1))


def _first(events: list[Event], picture: Picture | None, needs_proof: bool, vague: bool) -> list[Answer]:
    """The answers for the event that explains the failure: the first one, unless only a later one is proven.

    `vague`: answers that are only possible count, too; srun may report a task before the output of that task arrives.
    """
    judged = [found for event in events[:40] if (found := _answers(event, picture))]
    proven = [found for found in judged if found[0].proven and found[0].confidence == "certain"]
    if needs_proof:
        judged = [found for found in proven if found[0].spans or picture is not None]
    if not vague:
        judged = [found for found in judged if found[0].confidence != "possible"]
    if not judged:
        return []
    chosen = judged[0]
    if chosen[0].confidence == "possible" and proven:
        chosen = proven[0]
    first = chosen[0]
    if of_own_job(first.event):
        first = with_settings(first, picture)
        return [first, *[each for each in chosen[1:] if each.cause is not first.cause][:MOST_ALTERNATIVES]]
    if picture is not None and not first.findings:
        after = off(first.event, picture)
        if after is not None:
            return [after, first]
    if picture is not None and not (first.proven and (first.spans or first.where != "script")):
        after = unread(first.event, picture) or spoken_of(first, picture)
        if after is not None:
            return [after, first]
    sign = signed(first, picture) or script_signed(first, picture)
    if sign is not None:
        chosen, first = [sign, *chosen], sign
    elsewhere = beside_folder(first, picture) if picture is not None and first.where in ("data", "submission") else None
    if elsewhere is not None:
        chosen = [first, elsewhere, *[each for each in chosen if each is not first]]
    asked = with_command(first) if picture is None else first
    first = with_settings(asked, picture)
    is_own = first is asked
    told = own_advice(first.event) if first.event.symptom.near_end and not first.findings else ""
    if told:
        first = first._replace(advice=f"{first.advice}; its message says: {told}")
    if picture is not None and not first.spans:
        first = first._replace(related=related_places(picture.jobs, first.event, first.where))
    others = [] if first.confidence == "certain" else [each for each in chosen[1:] if each.cause is not first.cause]
    first = by_directives(first, picture) if is_own else first
    others = [each for each in others if (each.says, each.where) != (first.says, first.where)]
    return [first, *others[:MOST_ALTERNATIVES]]


def _answers(event: Event, picture: Picture | None) -> list[Answer]:
    """The answers for an event; what Slurm says of a job that a program submitted does not come from the script."""
    found = answers(event, None if of_own_job(event) else picture)
    elsewhere = [each for each in found if each.where != "script"]
    return elsewhere if elsewhere and of_own_job(event) else found


_SPOKEN_OF = Cause(
    "finding", "script", "the script has a fault in what the message names", "see the finding", unproven="possible"
)


def spoken_of(answer: Answer, picture: Picture) -> Answer | None:
    """The findings that mention what the message of an unproven answer names; None without any."""
    found = speaking_of(answer.event, picture.findings)
    if not found or all(each.severity == "info" for each in found) and answer.confidence != "possible":
        return None
    made = Answer(answer.event, _SPOKEN_OF, "possible", _SPOKEN_OF.says, _SPOKEN_OF.advice)
    return blaming(made, found, picture, "likely" if any(each.severity != "info" for each in found) else "possible")


def _follow(events: list[Event], teardown: list[Event], root: Event | None) -> list[Noise]:
    """All events except the answer, as noise."""
    found = [Noise(each, _why_not(each, root)) for each in events]
    found += [Noise(each, TEARDOWN) for each in teardown]
    return [each for each in found if each.event is not root]


def _why_not(event: Event, root: Event | None) -> str:
    """Why an event is not the answer; a message that names a reason of its own does not follow from another."""
    if root is None:
        return WENT_ON
    if (event.file, event.offset) < (root.file, root.offset):
        return "not the first failure"
    return LATER if event.symptom.role == "cause" and event.symptom is not root.symptom else FOLLOWS
