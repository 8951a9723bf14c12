"""A command is cut in the middle: the rest runs as a separate command, or is lost.

A backslash at the end of a line continues it only if it is the very last character. Without it, with a space or a
comment after it, with two backslashes, or with a comment line or an empty line in the middle, the command ends there.
The next line, which begins with an option, is run as a command of its own (`--nnodes: command not found`), and the job
goes on with the defaults of all the lost options. The same holds for a string that `bash -c` or `eval` runs: a newline
in it ends the command. In double quotes a backslash at the end of the line joins the lines before comments are
recognized, so the comment swallows all that follows. A space after the backslash also cuts off an indented line that
begins with no option. A warning where nothing is cut off, and the program only gets a space as its last argument. Where
the line before is complete, as `module load mpi` is, the options lack their program.

## Fix

Adds the backslash, removes the spaces or the second backslash after it, or moves the comment above the command. Safe:
no command's name begins with a dash, so the lines were meant to be one command, as a backslash before the end of a line
shows as well. A comment inside a double-quoted string
has to be moved by hand.

## References

bash(1), "QUOTING"; seen with bash 5.2: exit status 127, which only the last line of a script passes on.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, For, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Text
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, remove, replace
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex

CARD = Card("SB411", "command-string-broken", severity="error", fix="sometimes", since="0.1.0")

# An option as the first word of a line: `--nodes=2`, `-task`; not `-` or `--`.
_OPTION = Regex(r"--?[A-Za-z][\w.-]*")
# A line that begins with an option, after a line that does not end in a backslash, that ends in two, or that may
# be a comment (from the last `#` of the line, so that a line with many is read once).
_LOOSE_OPTIONS = tuple(
    Regex(rf"{before}[ \t]*+--?[A-Za-z]") for before in (r"\n(?<!\\\n)", r"\\\\\n", r"#[^\n#]*+\n(?<=\\\n)")
)
_GAP = Regex(r"(?>(?:[ \t\n]++|\\\n|#[^\n]*+)*)")
_COMMENT = Regex(r"#[^\n]*")
_ESCAPED_SPACE = Regex(r"(?<!\\)(?:\\\\)*\\[ \t]\Z")
_REST_OF_LINE = Regex(r"[ \t]*(#[^\n]*)?(?=\n|\Z)")
# A comment that sbatch would read if it were moved among the directives.
_LIVE = Regex(r"#(?:SBATCH|SLURM|PBS|BSUB|!)")


_LEAVING = frozenset({"exit", "return", "break", "continue"})


# Commands that prepare the shell, and take no options on a line of their own.
_SETTING_UP = programs_with("software") | {"cd", "export", "set", "source", ".", "ulimit", "unset"}


class Break(NamedTuple):
    """One place where a command is cut: the command before, and the one that begins with an option.

    `kind`: `newline` (no backslash), `doubled` (two, which are a literal one), `blank` (spaces after the backslash),
    `comment` (a comment after it), `between` (a comment line or an empty line in the middle).
    """

    before: Simple
    after: Simple
    kind: str


MESSAGES = {
    "newline": "the command ends here, {}; end this line with a backslash",
    "doubled": "two backslashes are an argument, so the command ends here, {}; write only one",
    "blank": "the space after the backslash ends the command, {}; remove the space",
    "comment": "with a comment after it, the backslash does not continue the line, {}; put the comment above it",
    "between": "the command ends here, {}; put no comment and no empty line inside a command",
}


def check(job: Job) -> Iterator[Finding]:
    if job.phase is Phase.SUBMIT and not job.text.string.startswith("#!"):
        return
    for text, program in programs(job):
        string = text.string
        escaped = "\\ " in string or "\\\t" in string
        loose = any(option.search(string) is not None for option in _LOOSE_OPTIONS)
        if not escaped and not loose and not _has_joined_comment(text, job.source.text):
            continue  # saves 0.8 %: most programs have neither an escaped space nor a line that begins with an option
        yield from _in_program(job, text, program, escaped)


def _has_joined_comment(text: Text, file: str) -> bool:
    """Whether text may have a comment in it, and lines that backslashes join."""
    return "#" in text.string and any(
        other.start == one.end + 2 and file.startswith("\\\n", one.end) for one, other in pairwise(text.field)
    )


def _in_program(job: Job, text: Text, program: Program, escaped: bool) -> Iterator[Finding]:
    """The faults of one program. `escaped`: whether it contains an escaped space."""
    file = job.source.text
    for node in nodes_of(program, ArrayLiteral) if escaped else ():
        yield from _space_elements(node.elements, text, file, "an element of the array", " (parentheses need none)")
    for loop in nodes_of(program, For) if escaped else ():
        yield from _space_elements(loop.words or (), text, file, "one more word of the loop")
    commands = sorted(nodes_of(program, Simple), key=lambda each: each.end)
    # by the command before, the place where it is cut
    breaks = {id(each.before): each for each in _breaks(commands, text.string)}
    inside = {id(each.after) for each in breaks.values()}
    for head in sorted(breaks.values(), key=lambda each: each.after.start):
        if id(head.before) in inside:
            continue  # a later line of a command that is broken before
        chain = [head]
        while id(chain[-1].after) in breaks:
            chain.append(breaks[id(chain[-1].after)])
        yield _broken(job, chain, text)
    for command in commands:
        if escaped and id(command) not in breaks:
            yield from _lone_space(command, text, file)
        if len(text.field) > 1:
            yield from _swallowed(command, text, file)


def _breaks(commands: list[Simple], string: str) -> Iterator[Break]:
    """Where a command follows that another one was to have: it begins a line with an option, or is indented.

    Only a backslash with a blank after it shows that an indented line without an option was meant to be a part.
    """
    ends = [each.end for each in commands]
    margins: dict[int, int] = {}  # of commands that continue another one: how far that one is indented
    for after in commands:
        if not after.words or after.words[0].start > after.start:
            continue  # an assignment or a redirect comes first
        first = after.words[0]
        number = bisect_right(ends, after.start) - 1
        if number < 0:
            continue
        before = commands[number]
        gap = string[before.end : after.start]
        if not before.words or "\n" not in gap or not _GAP.fullmatch(gap):
            continue
        indent = string[string.rfind("\n", 0, first.start) + 1 : first.start]
        if indent.strip(" \t"):
            continue
        margin = margins.get(id(before), _margin(before, string))
        if not _OPTION.match(string, first.start, first.end):
            ending = _ending(before, string)
            alone = len(ending) == 2 and _ESCAPED_SPACE.search(ending) and gap.count("\n") == 1 and "#" not in gap
            if not alone or len(indent) <= margin:
                continue
        margins[id(after)] = margin
        if _text(before.words[0], string) in _LEAVING:
            continue  # these take no options, and what comes after them is not run
        if string[before.end - 1] == UNKNOWN_CHARACTER:
            continue  # what an outer shell writes here may end in a backslash
        if _false_comment(before, string) is not None:
            yield Break(before, after, "comment")
        elif _ESCAPED_SPACE.search(_ending(before, string)):
            yield Break(before, after, "comment" if "#" in gap.partition("\n")[0] else "blank")
        else:
            plain = gap.count("\n") == 1 and "#" not in gap and "\\" not in gap
            # a literal backslash, written as two, in single quotes or outside quotes
            kind = "doubled" if _ending(before, string) == "\\\\" else "newline"
            yield Break(before, after, kind if plain else "between")


def _margin(command: Simple, string: str) -> int:
    """How far the line in which a command begins is indented, if nothing else is on it before."""
    before = string[string.rfind("\n", 0, command.start) + 1 : command.start]
    return len(before) if before.isspace() else 0


def _ending(command: Simple, string: str) -> str:
    """The word with which a command ends; empty if it ends with a redirect."""
    last = command.words[-1]
    return string[last.start : last.end] if last.end == command.end else ""


def _false_comment(command: Simple, string: str) -> int | None:
    """Where `\\ # comment` begins in a command: its words are arguments, as the first of them is ` #`."""
    return next((word.start for word in command.words if _is_false_comment(string, word.start)), None)


def _is_false_comment(string: str, start: int) -> bool:
    return string.startswith(("\\ #", "\\\t#"), start)


def _backslash(command: Simple, string: str) -> int:
    """The offset of the backslash that does not continue a line."""
    false = _false_comment(command, string)
    return command.end - 2 if false is None else false


# --- commands that end too early ---------------------------------------------------------------------


def _broken(job: Job, chain: list[Break], text: Text) -> Finding:
    first = chain[0]
    option = _OPTION.match(text.string, first.after.start)
    word = first.after.words[0]
    place = text.span(*(option.span() if option is not None else (word.start, word.end)))
    if option is not None and len(chain) == 1 and _is_whole(first, text.string):
        message = f"bash tries to run `{option[0]}` as a command, which does not exist; write its program before it"
        return Finding(place, message)
    lost = f"and bash runs {f'`{option[0]}` on ' if option else ''}line {job.line(place.start)} as a separate command"
    if _text(first.after.words[-1], text.string) == "wait":
        message = MESSAGES[first.kind].format(lost) + ", and write `wait` on a separate line"
        return Finding(_end_of(first, text, job.source.text), message, related=[(place, "this was meant to be a part")])
    edits = _continued(chain, text, job.source.text)
    title = "continue the line"
    if first.kind not in ("newline", "blank", "doubled"):
        gaps = [text.string[each.before.end : each.after.start] for each in chain]
        title += " and move the comment" if any("#" in each for each in gaps) else " and remove the empty lines"
    return Finding(
        _end_of(first, text, job.source.text),
        MESSAGES[first.kind].format(lost),
        related=[(place, "meant to be part of the command")],
        fix=Fix(title, edits, safe=True) if edits else None,
    )


def _is_whole(found: Break, string: str) -> bool:
    """Whether the command before is one line that sets something up (`module load mpi`), and needs no more."""
    before = found.before
    name = _text(before.words[0], string)
    plain = found.kind in ("newline", "between") and "#" not in string[before.end : found.after.start]
    return plain and "\n" not in string[before.start : before.end] and name in _SETTING_UP


def _text(word: Word | Assignment, string: str) -> str:
    return string[word.start : word.end]


def _end_of(found: Break, text: Text, file: str) -> Span:
    """What ends the command: the backslash with what follows it, a comment, or the command's last word."""
    string, before = text.string, found.before
    if found.kind in ("blank", "comment"):
        start = _backslash(before, string)
        line_end = string.find("\n", start)
        return text.span(start, len(string[:line_end].rstrip()) if found.kind == "comment" else line_end)
    comment = _COMMENT.search(string, before.end, found.after.start)
    if found.kind == "between" and comment is not None:
        return text.span(comment.start(), comment.start() + len(comment[0].rstrip()))
    last = max((*before.words, *before.redirects), key=lambda part: part.end)
    span = text.span(last.start, last.end)
    newline = text.offset(string.find("\n", before.end))
    if found.kind not in ("newline", "doubled") or span.end <= newline and not file[span.end : newline].strip(" \t"):
        return span
    return _word_before(newline, file) or span


def _word_before(newline: int, file: str) -> Span | None:
    """The last word of a line of the file, used where the command's own last word is the value of a variable."""
    if file[newline : newline + 1] != "\n":
        return None
    start = file.rfind("\n", 0, newline) + 1
    words = file[start:newline].split()
    if not words:
        return None
    at = file.rindex(words[-1], start, newline)
    return Span(at, at + len(words[-1]))


def _continued(chain: list[Break], text: Text, file: str) -> list[Edit] | None:
    """One edit per break, and one that moves the comments above the command; None where that is impossible."""
    string = text.string
    edits: list[Edit] = []
    comments: list[str] = []
    for cut in chain:
        start = _backslash(cut.before, string) if cut.kind in ("blank", "comment") else cut.before.end
        end = string.rfind("\n", 0, cut.after.start)
        if cut.kind == "doubled":
            if not _is_exact(text, start - 2, end + 1, file):
                return None
            edits.append(remove(text.span(start - 1, end)))
            continue
        if cut.kind == "newline":
            where = text.offset(end)
            if file[where : where + 1] != "\n":
                return None
            edits.append(insert(where, "\\" if file[where - 1] in " \t" else " \\"))
            continue
        found = _COMMENT.findall(string[start:end])
        if not _is_exact(text, start, end + 1, file) or any(_LIVE.match(comment) for comment in found):
            return None
        span = text.span(start, end)
        comments.extend(comment.rstrip() for comment in found)
        edits.append(replace(span, "\\" if file[span.start - 1] in " \t" else " \\"))
    if comments:
        above = _line_above(chain[0].before, text, file)
        if above is None:
            return None
        where, indent = above
        edits.insert(0, insert(where, "".join(f"{indent}{comment}\n" for comment in comments)))
    return edits


def _is_exact(text: Text, start: int, end: int, file: str) -> bool:
    """Whether a range of the text is the same, character by character, in the file."""
    first = text.offset(start)
    return file[first : first + end - start] == text.string[start:end]


def _line_above(command: Simple, text: Text, file: str) -> tuple[int, str] | None:
    """Where a line above a command begins in the file, and the command's indentation."""
    string = text.string
    start = string.rfind("\n", 0, command.start)
    while start > 0 and string[start - 1] == "\\":
        start = string.rfind("\n", 0, start - 1)
    if start < 0 and text.offset(0) != 0 or not _is_exact(text, start + 1, command.end, file):
        return None
    line = string[start + 1 :]
    return text.offset(start + 1), line[: len(line) - len(line.lstrip(" \t"))]


# --- other shapes --------------------------------------------------------------------------------------


def _lone_space(command: Simple, text: Text, file: str) -> Iterator[Finding]:
    """`\\ ` as the last word of a command of several lines: an argument that is a space."""
    string = text.string
    if not command.words:
        return
    false = _false_comment(command, string)
    message = "this backslash does not continue the line: it makes the space after it an argument; remove the backslash"
    if false is not None:
        end = string.find("\n", false)
        end = end if end >= 0 else len(string)
        if string[end - 1] == "\\":  # the line is continued: a comment would end the command
            words = string[false + 2 : end - 1].split()
            span = text.span(false, false + 2 + len(string[false + 2 : end - 1].rstrip()))
            message = f"a comment cannot stand inside a command: `{words[0]}` becomes an argument; remove the comment"
            exact = _is_exact(text, false, end, file)
            edit = remove(text.span(false, end - 1))
            fix = Fix("remove the comment", [edit]) if exact else None
            yield Finding(span, message, "warning", fix=fix)  # some programs ignore what they do not expect
            return
        span = text.span(false, len(string[:end].rstrip()))
        exact = _is_exact(text, false, false + 3, file)
        edit = remove(text.span(false, false + 2))
        yield Finding(span, message, fix=Fix("make it a comment", [edit], safe=True) if exact else None)
        return
    last = command.words[-1]
    rest = _REST_OF_LINE.match(string, command.end)
    ending = _ending(command, string)
    if rest is None or len(ending) != 2 or not _ESCAPED_SPACE.search(ending):
        return
    end_of_next = string.find("\n", rest.end() + 1)
    next_line = string[rest.end() + 1 : end_of_next if end_of_next >= 0 else len(string)]
    written = next_line.lstrip()
    indented = bool(written) and len(next_line) - len(written) > _margin(command, string)
    # an option that is no command here is in a part that bash cannot read
    deeper = indented or _OPTION.match(written) is not None
    if not deeper and "\n" not in string[command.start : command.end]:
        return
    title, edit_span = "remove the backslash", None
    before = string[: last.start].rstrip(" \t")
    if deeper:
        message = "the space after the backslash is an argument, and the command ends here; remove the space"
        title, edit_span = "continue the line", text.span(last.start + 1, rest.end())
    elif not before.endswith("\\\n"):
        edit_span = text.span(len(before), rest.end())
    if rest[1] is not None or not _is_exact(text, last.start - 1, rest.end(), file):
        edit_span = None
    end = rest.end() if rest[1] is None else len(string[: rest.end()].rstrip())
    fix = None if edit_span is None else Fix(title, [remove(edit_span)], safe=True)
    yield Finding(text.span(last.start, end), message, None if deeper else "warning", fix=fix)


def _space_elements(words: Sequence[Word], text: Text, file: str, kind: str, why: str = "") -> Iterator[Finding]:
    """`\\ ` at the ends of lines of an array, which needs no backslashes at all, or of the words of a loop."""
    string = text.string
    spans: list[Span] = []
    edits: list[Edit] = []
    for element in words:
        rest = _REST_OF_LINE.match(string, element.end)
        if _is_false_comment(string, element.start):
            end = string.find("\n", element.start)
            spans.append(text.span(element.start, len(string[:end].rstrip())))
            if _is_exact(text, element.start, element.start + 3, file):
                edits.append(remove(text.span(element.start, element.start + 2)))
        elif rest is not None and string[element.start : element.end] in ("\\ ", "\\\t"):
            spans.append(text.span(element.start, element.end))
            if _is_exact(text, element.start - 1, rest.end(), file):
                start = element.start if rest[1] else len(string[: element.start].rstrip(" \t"))
                edits.append(remove(text.span(start, element.end if rest[1] else rest.end())))
    if spans:
        title = "remove the backslashes" if len(spans) > 1 else "remove the backslash"
        yield Finding(
            spans[0],
            f"the space after this backslash becomes {kind}; remove the backslash{why}",
            related=[(span, "the same here") for span in spans[1:]],
            fix=Fix(title, edits, safe=True) if edits else None,
        )


def _swallowed(command: Simple, text: Text, file: str) -> Iterator[Finding]:
    """A comment in a string of joined lines, with options after it."""
    rest = _REST_OF_LINE.match(text.string, command.end)
    if rest is None or rest[1] is None:
        return
    start = at = rest.start(1)
    before = None
    first_end = -1
    for piece in text.pieces(start, rest.end()):
        if before is not None and piece.expansion is None and file[before : piece.start] == "\\\n":
            first_end = at if first_end < 0 else first_end
            line = str(piece.text)
            option = _OPTION.match(line.lstrip())
            if option is not None:
                where = piece.start + len(line) - len(line.lstrip())
                yield Finding(
                    text.span(start, first_end),
                    f"the backslashes join these lines, so `{option[0]}` becomes a part of this comment; put the "
                    "comment outside of the string",
                    related=[(Span(where, where + option.end()), "this was meant to be a part of the command")],
                )
                return
        before = piece.end if piece.expansion is None else None
        at += 1 if piece.text is None else len(piece.text)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun torchrun \\
            --nnodes=4 «--nproc_per_node=8»
            --rdzv_backend=c10d \\
            train.py
        """,
        fixed={"--nproc_per_node=8": "--nproc_per_node=8 \\"},
        title="no backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        LAUNCHER="python -u -m torch.distributed.run \\
            --nnodes 4 \\
            --node_rank \\«$SLURM_PROCID»
            --rdzv_endpoint $MASTER_ADDR:29500 \\
            "
        srun bash -c "$LAUNCHER train.py"
        """,
        fixed={"\\$SLURM_PROCID": "\\$SLURM_PROCID \\"},
        title="in a string that a shell in the task runs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python train.py \\
            --lr 0.1 «\\ »
            --epochs 3
        """,
        fixed={"\\ ": "\\"},
        title="a space after the backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        python train.py \\
            --lr 0.1 «\\  # found by search»
            --epochs 3
        """,
        fixed={"python train.py \\": "# found by search\npython train.py \\", "\\  # found by search": "\\"},
        title="a comment after the backslash",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="python train.py \\
            --lr 0.1 \\
            «# --dropout 0.2 »\\
            --epochs 3"
        srun bash -c "$CMD"
        """,
        title="a comment in a string of joined lines",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        CMD="
        export NCCL_DEBUG=INFO && \\
        cd $WORKDIR &&
        torchrun --nnodes=4 \\
            --nproc_per_node=8 train.py
        "
        srun bash -c "$CMD"
        """,
        title="newlines between commands",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun ./a.out --check
        exit 0
            --trace \\
            --print
        """,
        title="kept after the end of the script",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        LAUNCHER="torchrun --nnodes=4
            --nproc_per_node=8"
        srun $LAUNCHER train.py
        """,
        title="without quotes a newline is just a space",
    ),
]
