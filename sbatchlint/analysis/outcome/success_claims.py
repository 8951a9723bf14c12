"""Messages after the work that claim its success: `echo "Training completed successfully"`.

What only says that something ended (`finished`, `done`, `job completed`) is true after a failure, too.
"""

from bisect import bisect_right
from operator import itemgetter

from sbatchlint.analysis.outcome.state_readers import NOT_YET, Reader, ends_before
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.bash.variables import branches_in
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_SUCCEEDED = Regex(r"(?i)(?<![\w./=-])(?:successfully|succeeded|success(?:ful)?(?=\W*\Z))(?![\w/=])")
_COMPLETED = Regex(r"(?i)\s*((?:\S+ {1,2}){1,6})completed?(?=[^\w:;@]*\Z|[.!]\s)")
_SAVED = Regex(
    r"(?i)\b(?:result|output|model|checkpoint)s?\b(?: \w+){0,3} (?:saved|written|stored) (?:to|in|at|under)\b"
)
_OF_EACH_RUN = Regex(r"(?i)\b(?:all|every|success\w*|succeeded|saved|written|stored)\b")
_SUBJECT = Regex(r"[^\W\d_]{3}")
_NEUTRAL = Regex(
    r"(?i)\b(?:command|execution|if|iteration|job|job[ _-]?id|not|once|part|process|program|script|stage|starting|step"
    r"|task|time|to|until|when|will)s?\b"
)
# What other commands than the work do.
_PREPARED = Regex(
    r"(?i)\b(?:activat|back(?:ed)?[ -]?up|build|built|clean|compil|connect|copie|copy|delet|download|environment"
    r"|initiali|install|kill|launch|load|module|mov|remov|set[ -]?up|start|stopp|submi|sync|transfer|upload)"
)
_CONDITION = Regex(r"(?i)\?\W*\Z|\b(?:if|whether|when|until|unless|exit (?:code|status))\b")
_SAYING = frozenset({"cat", "curl", "echo", "logger", "mail", "mailx", "printf"})
_FAR = 20  # how many claims after the work are looked at
_MOST_TEXT, _MOST_LINE = 2000, 200  # characters of a message, and of a line of it, that are read


def claims_success(command: Invocation) -> bool:
    """Whether a command prints or sends a text which says that the work succeeded or is complete."""
    return any(map(_is_claim, _lines_said(command)))


def _lines_said(command: Invocation) -> list[str]:
    if command.calls_function or command.name not in _SAYING:
        return []
    text = " ".join(command.words[1:]) if command.stdin is None else command.stdin.string
    return [line[:_MOST_LINE] for line in text[:_MOST_TEXT].replace("\\n", "\n").splitlines()]


def _is_claim(line: str) -> bool:
    if _CONDITION.search(line) or NOT_YET.search(line):
        return False
    completed = _COMPLETED.match(line)
    if completed is not None and _SUBJECT.search(completed[1]) and not _NEUTRAL.search(completed[1]):
        return True
    return _SUCCEEDED.search(line) is not None or _SAVED.search(line) is not None


@once
def _claiming(job: Job) -> list[tuple[int, Invocation, Span]]:
    """The commands of the batch script that say that the work succeeded, with their indices and where that is written:
    in the script's own lines, not in those of a function that prints any text."""
    found, call = [], None
    for command in job.invocations:
        call = call if command.context.calls else command
        if command.phase is Phase.BATCH and not command.context.handler and claims_success(command):
            found.append((command.index, command, (call or command).place))
    return found


def claimed_success(job: Job, work: Invocation) -> Reader | None:
    """The message that says that this work succeeded though it failed; None where a test decides, or there is none."""
    claiming = _claiming(job)
    last = max((each.index for each in work.descendants()), default=work.index)
    first = bisect_right(claiming, last, key=itemgetter(0))
    prepares = weight(job, work) <= Weight.STAGING
    branches = branches_in(work.guards)
    for _, command, place in claiming[first : first + _FAR]:
        decided = not branches_in(command.guards) <= branches or depends_on_test(command, work)
        other = not prepares and any(map(_PREPARED.search, _lines_said(command)))
        other = other or _is_of_loop(work, command)
        if not decided and not other and not ends_before(work, command):
            outcome = f"line {job.line(place.start)} still reports success"
            return Reader(outcome, outcome, place, "reports success all the same")
    return None


def _is_of_loop(work: Invocation, command: Invocation) -> bool:
    """Whether a message only says that the loop is complete in which the work runs, as it is if some of it failed."""
    after = not all(each.contains(command.span) for each in work.context.loops)
    return after and not any(map(_OF_EACH_RUN.search, _lines_said(command)))
