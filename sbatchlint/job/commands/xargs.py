"""Commands that run another one for each item that they read: `xargs`, GNU `parallel`.

What they read is not known, so the words made from it are not either; all other words are as written. GNU parallel
joins the words of its command with spaces and has a shell run them (parallel(1), 20221122).
"""

from sbatchlint.bash.values import Piece, Pieces, cut, literal, shown_text, span_of, text_of
from sbatchlint.job.argv import Argv, read, syntax

_XARGS = syntax(
    "a/arg-file arg-file d/delimiter delimiter E I L n/max-args max-args P/max-procs max-procs s/max-chars max-chars "
    "process-slot-var",
    "0/null null o/open-tty open-tty p/interactive interactive r/no-run-if-empty no-run-if-empty t/verbose verbose "
    "x/exit exit e i l replace eof max-lines",
)
_PARALLEL = syntax(
    "j/jobs jobs P/max-procs max-procs a/arg-file arg-file n/max-args max-args N/max-replace-args max-replace-args "
    "I C/colsep colsep S/sshlogin sshlogin delay joblog results timeout retries tmpdir halt memfree load workdir env "
    "tagstring header d/delimiter delimiter L/max-lines max-lines s/max-chars max-chars nice wd block",
    "k/keep-order keep-order t/verbose verbose u/ungroup ungroup q/quote quote 0/null null r/no-run-if-empty "
    "no-run-if-empty m X tag line-buffer lb bar progress eta resume resume-failed dry-run will-cite link plus group "
    "no-notice linebuffer",
)
# The words after which the command line has arguments for the command.
SOURCES = frozenset((":::", "::::", ":::+", "::::+"))
_MARKS = ("{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", *(f"{{{number}}}" for number in range(1, 10)))


def operand(argv: Argv) -> int | None:
    """The index at which the command of xargs or parallel begins; None without one, or where that is not known."""
    reading = read(argv, 1, _PARALLEL if text_of(argv[0]) == "parallel" else _XARGS)
    return reading.operand if reading.certain else None


def xargs(argv: Argv) -> tuple[Pieces, ...] | None:
    """The command that `xargs [options] command…` runs, with unknown words after it or (-I) in place of a mark."""
    reading = read(argv, 1, _XARGS)
    if reading.operand is None:
        return None
    more = _unknown(argv)
    marks = [each.text for each in reading.options if each.name in ("I", "i", "replace")]
    words = list(argv[reading.operand :])
    if not marks:
        return (*words, (more.replace(open=True),))
    return tuple(_without_marks(word, (marks[-1] or "{}",), more) for word in words)


def parallel(argv: Argv) -> tuple[Pieces, ...] | None:
    """The shell that runs the command of `parallel [options] command… ::: arguments`; None without a command."""
    reading = read(argv, 1, _PARALLEL)
    if reading.operand is None:
        return None
    words = []
    for word in argv[reading.operand :]:
        if text_of(word) in SOURCES:
            break
        words.append(word)
    if not words:
        return None
    own = [each.text or "{}" for each in reading.options if each.name == "I"]
    marks = (own[-1], *_MARKS[1:]) if own else _MARKS
    if not any(mark in shown_text(word) for word in words for mark in marks):
        words.append((_unknown(argv),))
    more = _unknown(argv)
    program: list[Piece] = []
    for word in words:
        if program:
            program.append(literal(" ", program[-1].end).replace(end=program[-1].end))
        program.extend(_without_marks(word, marks, more))
    at = span_of(argv[0]).start
    return (literal("bash", at),), (literal("-c", at),), tuple(program)


def _unknown(argv: Argv) -> Piece:
    span = span_of(argv[0])
    return Piece(None, span.start, span.end)


def _without_marks(word: Pieces, marks: tuple[str, ...], unknown: Piece) -> Pieces:
    """A word with an unknown piece in place of each mark."""
    parts: list[Piece] = []
    at, text = 0, shown_text(word)
    while True:
        found = min(((text.find(mark, at), mark) for mark in marks if mark in text[at:]), default=None)
        if found is None:
            return (*parts, *cut(word, at, len(text)))
        parts.extend((*cut(word, at, found[0]), unknown))
        at = found[0] + len(found[1])
