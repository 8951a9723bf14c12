"""A test does not test what it says: a bracket or an operator is missing, or has no space around it.

`[` is a command, and the closing bracket must be an argument of its own. `[ $x = y]` and `[ $x = a || [ $x = b ]` print
"missing ]" and are false, `[$x = y ]` looks for a program named `[$x`, and the branch is never taken: the job goes on
without it. `[ $x==y ]` is one word, which is true whatever `$x` is, `[ $n -gt4 ]` is not a test, and `[ $n > 4 ]`
writes a file named 4.

`[ $x >= 4 ]` writes a file named `=`, and `[` fails; `[[ $x >= 4 ]]` is worse: bash cannot read it and ends the script
there, with the status of the command before, so that the job is COMPLETED. The same holds for any `[[ … ]]` whose words
are not a test: `[[ $x -gt 1 -a $y -gt 2 ]]`, `[[ $x === y ]]`, `[[ $x $op y ]]`. There are no operators for texts that
are at least as great, and none for numbers with a decimal point.

`-eq`, `-lt` and the like compare whole numbers: `[ $mode -eq fast ]` prints "integer expression expected" and is false,
`[[ $mode -eq fast ]]` takes both texts for 0 and is true whatever `$mode` holds, and a decimal point ends either.

`[[ ${#x} > 16 ]]` compares texts, in which 9 comes after 16: a warning.

A warning where only some jobs come to the test, and where it is false instead of ending the job after wrong use.

`[ -n $x ]` is true even where `$x` is empty: without quotes no word is left of it, and `[ -n ]` asks whether the word
`-n` is empty. A warning, and so are `[ $x==y ]` and `[[ $x -eq y ]]` where `$x` is y (or Y) in this script. Advice
where what follows gets the variable too, and fails without it (`[ -n $pid ] && ps -p $pid`), and for a variable that
every job has (`[ -n $SLURM_JOB_ID ]`) or the script has given a value.

## Fix

Adds spaces around the bracket or the operator; `>` becomes `-gt` before a number, `>=` becomes `-ge`, and `-a` in
`[[ … ]]` becomes `&&`; the variable is quoted. Unsafe: until now the branch was run never, or always. None where the
test decides whether the job ends or files are removed (`then exit 1`), which would happen for the first time.

## References

bash(1), "CONDITIONAL EXPRESSIONS" and `test`; seen with bash 5.2: "[: missing `]'", exit status 2; "syntax
error in conditional expression" ends a script with the status of the command before.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import TypeGuard

from sbatchlint.analysis.expansion.nobody_sets import is_common_name
from sbatchlint.analysis.expansion.reads import assigned_names, assignments_by_name, read_names
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import (
    AndOr,
    CommandSubstitution,
    If,
    Literal,
    Parameter,
    Program,
    Redirect,
    Simple,
    TestCommand,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes_of, unquoted_text
from sbatchlint.bash.trace import Invocation, values_of
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Text, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.job.argv import quoted
from sbatchlint.job.programs import commands_by_place
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import find
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Nested

CARD = Card(
    "SB420", "broken-test", severity="error", fix="sometimes", since="0.1.0", seen="a public script, run with bash 5.2"
)

_GLUED = Regex(r"\[{1,2}(?=[\"'$!-])")
_LONGEST = 40
_ENDING = frozenset({"exit", "kill", "rm", "scancel", "scontrol"})
_OPERATOR = Regex(r"==?|!=")
_COMPARISONS = {">": "-gt", "<": "-lt"}
_AT_LEAST = {">": "-ge", "<": "-le"}
# An operator of two words, where it may run into one of them.
_OF_TWO = Regex(r"(?:==?|!=|-(?:eq|ne|lt|le|gt|ge)(?![a-zA-Z]))")
_DECIMAL = Regex(r"[\"']?\d*\.\d+[\"']?")
_UNARY = Regex(r"-[a-hkprstuwxGLNOSznovR]")
_BINARY = Regex(r"==?|!=|=~|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")
_NUMERIC = Regex(r"-(?:eq|ne|lt|le|gt|ge)")
# What arithmetic of bash cannot contain: text, or a number with a decimal point.
_NO_NUMBER = Regex(r"[\w.+-]*[A-Za-z][\w.+-]*|\d*\.\d+")
# What is a number whatever a script does: a length, a count, arithmetic.
_NUMBER = Regex(r"\"?(?:\$\{#[^{}]+\}|\$#|\$\(\([^()]*\)\)|\$\[[^\[\]]*\])\"?")
_QUOTES = "\"'"
_TESTING = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-z", "-n", "-f", "-d", "-e"})
# What a message says of a redirect that was meant as a comparison of numbers.
_REDIRECTED = Regex(r"is a redirect here.*; write `-(gt|lt) (\d+)`")
_FALSE = "the test is always false"
_UNCOMPARED = "does not compare the words"
_MISSING = f"bash reports a missing `]`, and {_FALSE}"
_READS = "the test reads a file named"  # which is not there, so that it counts as false
_OF_TEXTS = {"-eq": "=", "-ne": "!="}
_JOINING = {"-a": "&&", "-o": "||"}


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        if "[" not in text.string:
            continue
        conditions = Nested(_conditions(text, program))
        lists = Nested((text.span(each.left.start, each.left.end), each) for each in nodes_of(program, AndOr))
        for finding in _in_program(job, text, program):
            severity, choices = finding.severity, list(conditions.around(finding.span))
            if choices and _only_prints(text, choices[0][0]):
                severity = "info"
            ends = _guards_an_end(choices, lists.around(finding.span))
            meant = not ends and _is_meant_anyway(job, finding)
            if severity is None and (meant or _matters_to_some(job, finding, choices)):
                severity = "warning"
            yield finding._replace(severity=severity, fix=None if ends else finding.fix)


def _conditions(text: Text, program: Program) -> Iterator[tuple[Span, tuple[If, int]]]:
    """The places of the conditions of each `if`, with their numbers in it."""
    for choice in nodes_of(program, If):
        for number, (condition, _) in enumerate(choice.branches):
            if condition:
                yield text.span(condition[0].start, condition[-1].end), (choice, number)


def _matters_to_some(job: Job, finding: Finding, choices: list[tuple[If, int]]) -> bool:
    """Whether only some jobs meet a test, or it is false and would only end the job with a message on wrong use.

    `choices`: each `if` in a condition of which the test stands, with the number of that, innermost first.
    """
    test = next(reversed(_tests_around(job, finding.span)), None)
    if test is not None and depends_on_test(test) and not any(number for _, number in choices):
        return True
    for choice, _ in reversed(choices):
        bodies = [*(body for _, body in choice.branches), choice.otherwise or ()]
        if all(_sets_for_nobody(job, each) for body in bodies for each in body):
            return True
        if not choice.otherwise:
            names = [_name(each) for body in bodies for each in body]
            if all(has_trait(each, "tells") for each in names):
                return True
            if not any(each in finding.message for each in (_FALSE, _UNCOMPARED, _READS)):
                return False
            # old files stay, or who submits the job wrongly gets no message
            return all(each in ("exit", "return", "rm", "rmdir") or has_trait(each, "tells") for each in names)
    return False


def _only_prints(text: Text, choice: If) -> bool:
    """Whether all that depends on a test is what the script prints."""
    bodies = [*(body for _, body in choice.branches), choice.otherwise or ()]
    nodes = [each for body in bodies for each in body]
    return all(isinstance(each, Simple) and not each.redirects and has_trait(_name(each), "prints") for each in nodes)


def _name(node: object) -> str | None:
    return unquoted_text(node.words[0]) if isinstance(node, Simple) and node.words else None


def _sets_for_nobody(job: Job, node: object) -> bool:
    """Whether a statement only sets variables that nothing reads."""
    if not isinstance(node, Simple) or node.words or node.redirects:
        return False
    return not any(each.name in read_names(job) for each in node.assignments)


def _is_meant_anyway(job: Job, finding: Finding) -> bool:
    """Whether a test has the result that was meant, though for another reason, or only a job's values decide that."""
    match = _REDIRECTED.search(finding.message)
    if match is None:
        return False
    tests = [each for each in _tests_around(job, finding.span) if each.name == "["]
    if len(tests) != 1 or tests[0].alternatives > 1 or tests[0].context.loops:
        return False
    value = text_of(tests[0].argv[1]) if len(tests[0].argv) > 1 else None
    if value is None or not is_number(value):
        return True
    # `>` writes a file, and the test is true; `<` finds none, and it counts as false
    limit, number = parse_integer(match[2]), parse_integer(value)
    return number > limit if match[1] == "gt" else number >= limit


def _tests_around(job: Job, place: Span) -> list[Invocation]:
    return [each for each in commands_by_place(job).around(place) if each.name in ("[", "[[")]


def _in_program(job: Job, text: Text, program: Program) -> Iterator[Finding]:
    for command in nodes_of(program, Simple):
        if not command.words or command.assignments or text.string[command.words[0].start] != "[":
            continue
        words = [each for each in command.words if isinstance(each, Word)]
        if unquoted_text(words[0]) == "[":
            yield from _bracket(job, text, command, words)
        else:
            yield from _glued(text, words)
    for test in nodes_of(program, TestCommand):
        yield from _of_texts(job, text, list(test.words), "[[")
        yield from _one_word(job, text, test.words, "[[")
        yield from _numbers_as_texts(text, list(test.words))
        if job.ended is None or text is not job.text or test.start < job.ended:
            yield from _unreadable(text, test.words)


def _numbers_as_texts(text: Text, words: list[Word]) -> Iterator[Finding]:
    """`[[ ${#name} > 16 ]]`: a number is compared with another as text, in which 8 comes after 16."""
    for left, operator, right in zip(words, words[1:], words[2:], strict=False):
        sign, number = text.string[operator.start : operator.end], text.string[right.start : right.end]
        counted = text.string[left.start : left.end]
        # as texts, too, all numbers but 0 come after 0, and all but 0 and 1 after 1; few scripts have ten arguments
        if number in ("0", "1") or "$#" in counted and len(number) == 1:
            continue
        if sign in _COMPARISONS and number.isdecimal() and _NUMBER.fullmatch(counted):
            place, good = text.span(operator.start, operator.end), _COMPARISONS[sign]
            message = f"`{sign}` compares strings here, so 9 comes after 10; write `{good}`"
            fix = _fix(f"write {good}", [replace(place, good)], place, text, operator)
            yield Finding(place, message, "warning", fix=fix)


def _guards_an_end(choices: list[tuple[If, int]], lists: Iterator[AndOr]) -> bool:
    """Whether a test decides if the job ends, or loses files: once corrected, it may do so for the first time."""
    decided: list[object] = [each.right for each in lists]
    for choice, _ in choices:
        decided += [body for _, body in choice.branches] + [choice.otherwise or ()]
    commands = chain.from_iterable(nodes_of(each, Simple) for each in decided)
    return any(unquoted_text(each.words[0]) in _ENDING for each in commands if each.words)


def _bracket(job: Job, text: Text, command: Simple, words: list[Word]) -> Iterator[Finding]:
    last = words[-1]
    if unquoted_text(last) == "]":
        yield from _redirected(text, command, last)
        yield from _of_texts(job, text, words[1:-1], "[")
        yield from _one_word(job, text, words[1:-1], "[")
        yield from _two_words(text, words[1:-1])
        yield from _always_true(job, text, command, words[1:-1])
        return
    place = text.span(last.start, last.end)
    glued = len(words) > 1 and text.string[last.end - 1] == "]" and "[" not in text.string[last.start : last.end]
    whole, ending = text.span(command.start, command.end), last.parts[-1] if last.parts else None
    if glued and any(each.span == whole and each.words[-1] == "]" for each in _tests_around(job, whole)):
        return  # a variable before the bracket is empty, so that the bracket is a word: `[ ! -e $NONE]`
    if glued and isinstance(ending, Literal) and not ending.quoted and ending.text.endswith("]"):
        fix = _fix("put a space before the bracket", [insert(place.end - 1, " ")], place, text, last)
        if _comes_out_right(words):
            message = "bash reports a missing `]` unless the value is empty, though the test comes out right"
            yield Finding(place, f"{message}; put a space before the bracket", "info", fix=fix)
            return
        yield Finding(place, f"{_MISSING}; put a space before the bracket", fix=fix)
    elif isinstance(ending, Literal) or len(words) > 1 and unquoted_text(words[-2]) in _TESTING:
        fix = _fix("close the bracket", [insert(place.end, " ]")], place, text, last)
        yield Finding(text.span(command.start, last.end), f"{_MISSING}; close it", fix=fix)


def _comes_out_right(words: list[Word]) -> bool:
    """Whether a test is `[ -z $x]`: of an empty value the bracket is left, which closes it; of others it is false."""
    value = words[2].parts if len(words) == 3 and unquoted_text(words[1]) == "-z" else ()
    return len(value) == 2 and isinstance(value[0], (Parameter, CommandSubstitution))


def _of_texts(job: Job, text: Text, words: list[Word], opening: str) -> Iterator[Finding]:
    """`[[ $mode -eq fast ]]`: numbers are compared, and text is not one."""
    for left, operator, right in zip(words, words[1:], words[2:], strict=False):
        name = unquoted_text(operator) or ""
        if not _NUMERIC.fullmatch(name):
            continue
        for word in (right, left):
            part = word.parts[0] if len(word.parts) == 1 else None
            if not isinstance(part, Literal) or not _NO_NUMBER.fullmatch(part.text):
                continue
            if opening == "[[" and part.text[:2] in ("--", "++"):
                continue  # counts a variable down or up
            variable = part.text.isidentifier()
            if opening == "[[" and variable and (word is left and not part.quoted or _is_variable(job, part.text)):
                continue  # bash reads the variable
            place, instead = text.span(operator.start, operator.end), _OF_TEXTS.get(name)
            happens = f"`{name}` compares numbers, and `{part.text}` is not a number, so {_FALSE}"
            if part.text.replace(".", "").isdigit():
                happens, instead = f"bash compares whole numbers only, and refuses `{part.text}`", None
                advice = "compare with awk, or use whole numbers"
            elif opening == "[" and part.text in assigned_names(job):
                instead, advice = None, f"write `${part.text}`"
            else:
                if opening == "[[" and part.text[:1] == "-":
                    happens = f"`{name}` compares numbers, so bash does arithmetic on `{part.text}`, and {_UNCOMPARED}"
                elif opening == "[[":
                    happens = f"`{name}` compares numbers, and bash treats the text `{part.text}` as 0"
                advice = f"write `{instead}`" if instead else "compare with a number"
            edits = [replace(place, instead or "")]
            other = left if word is right else right
            name_of_other = other.parts[0].name if isinstance(other.parts[0], Parameter) else ""
            is_true = name == "-eq" and opening == "[["
            same = _spelling(job, place, name_of_other, part.text) if is_true else None
            if same not in (None, part.text):  # with `=` alone it would be false
                edits.append(replace(text.span(word.start, word.end), quoted(same or "")))
                advice = f"write `= {same}`"
            fix = _fix(advice.replace("`", ""), edits, place, text, operator) if instead else None
            if len(edits) > 1:
                advice += f", the value of `${name_of_other}`"
            yield Finding(place, f"{happens}; {advice}", None if same is None else "warning", fix=fix)
            break


def _is_variable(job: Job, name: str) -> bool:
    """Whether a name may be that of a variable: the script sets or reads it, or a login or Slurm sets it."""
    return name in assigned_names(job) or name in read_names(job) or is_common_name(name)


def _glued(text: Text, words: list[Word]) -> Iterator[Finding]:
    """`[$x = y ]`: bash looks for a command named `[$x`."""
    first, last = words[0], words[-1]
    written = text.string[first.start : first.end]
    opening = _GLUED.match(written)
    if opening is None or len(words) < 2 or not isinstance(first.parts[0], Literal) or first.parts[0].quoted:
        return
    place, closing = text.span(first.start, first.end), opening[0].replace("[", "]")
    if not text.string[last.start : last.end].endswith(closing):
        return
    edits, advice = [insert(place.start + len(opening[0]), " ")], f"put a space after `{opening[0]}`"
    fix = _fix("put a space after the bracket", edits, place, text, first)
    if text.string[last.start : last.end] != closing:  # `[$x = y]`
        advice += f", and one before `{closing}`"
        edits.append(insert(text.span(last.start, last.end).end - len(closing), " "))
        is_plain = fix is not None and _fix("", [], text.span(last.start, last.end), text, last) is not None
        fix = Fix("put spaces inside the brackets", edits, safe=False) if is_plain else None
    yield Finding(place, f"bash tries to run `{written}` as a command, which does not exist; {advice}", fix=fix)


def _always_true(job: Job, text: Text, command: Simple, words: list[Word]) -> Iterator[Finding]:
    """`[ -n $x ]`: without the variable, the operator is the only word.

    Where a program gets the same variable next (`[ -n $pid ] && ps -p $pid`), that mostly fails without it.
    """
    if len(words) != 2 or unquoted_text(words[0]) != "-n" or len(words[1].parts) != 1:
        return
    part = words[1].parts[0]
    if not isinstance(part, (Parameter, CommandSubstitution)) or part.quoted:
        return
    if isinstance(part, Parameter) and (part.operator in (":-", "-", ":=", "=") or part.name in ("#", "?", "!", "$")):
        return
    place = text.span(words[1].start, words[1].end)
    written = text.string[words[1].start : words[1].end]
    if len(written) > _LONGEST or "\n" in written:
        written = "…"
    edits = [insert(place.start, '"'), insert(place.end, '"')]
    fix = Fix("quote it", edits, safe=False) if text.is_plain else None
    message = f"`[ -n {written} ]` is true even if {written} is empty; put {written} in quotes"
    end_of_line = text.string.find("\n", command.end)
    rest = text.string[command.end : end_of_line if end_of_line >= 0 else None]
    again = isinstance(part, Parameter) and re.match(rf"[ \t]*&&.*\$\{{?{re.escape(part.name)}\b", rest) is not None
    # in a job it is true as it is meant to be
    entry = find(part.name) if isinstance(part, Parameter) and job.phase is Phase.BATCH else None
    meant = again or entry is not None and entry.when == "always" and entry.batch >= set(job.versions.majors)
    meant = meant or _has_value(job, place)
    yield Finding(place, message, "info" if meant else "warning", fix=fix)


def _has_value(job: Job, place: Span) -> bool:
    """Whether the variable of `[ -n $x ]` certainly holds something where the script comes to the test."""
    tests = [each for each in _tests_around(job, place) if each.name == "["]
    values = [text_of(each.argv[2]) if len(each.argv) == 4 and each.alternatives == 1 else None for each in tests]
    return bool(values) and all(values)


def _redirected(text: Text, command: Simple, last: Word) -> Iterator[Finding]:
    """`[ $n > 4 ]`: a redirect."""
    inside = [each for each in command.redirects if each.operator in _COMPARISONS and each.start <= last.start]
    for redirect in inside:
        target = redirect.target
        written = "/" if target is None else text.string[target.start : target.end]
        left = [each for each in command.words if isinstance(each, Word) and each.end <= redirect.start]
        if redirect.fd is not None or "/" in written or not left:  # `> log [ x ]`
            continue
        place = text.span(redirect.start, redirect.end)
        comparison, operator = redirect.operator, _COMPARISONS[redirect.operator]
        name = written.strip("\"'")
        what = f"{'writes' if comparison == '>' else 'reads'} a file named {name}"
        at_least = name.startswith("=")
        if at_least:  # `[ $n >= 4 ]`
            operator = _AT_LEAST[comparison]
            words = [each for each in command.words if isinstance(each, Word) and each.start >= redirect.end]
            written = written[1:] or (text.string[words[0].start : words[0].end] if len(words) > 1 else "")
        other = text.string[left[-1].start : left[-1].end]
        whole_number = written.strip("\"'").isdigit() or "$" in written
        yield Finding(
            place,
            f"`{comparison}` is a redirect here: the test {what} and compares nothing; "
            + _advice(comparison, operator, other, written, at_least),
            fix=_compare(text, redirect, operator) if whole_number and name in (written.strip("\"'"), "=") else None,
        )


def _advice(comparison: str, operator: str, left: str, right: str, at_least: bool) -> str:
    """What to write for a comparison of numbers, of numbers with a decimal point, or of texts."""
    if right.strip("\"'").isdigit() or "$" in right:
        return f"write `{operator} {right}`"
    sign = comparison + ("=" if at_least else "")
    if _DECIMAL.fullmatch(right):
        condition = f"{left} {sign} {right.strip(_QUOTES)}"
        return f'for decimals use `awk "BEGIN {{exit !({condition})}}"`'
    opposite = "<" if comparison == ">" else ">"
    return f"write `! [[ {left} {opposite} {right} ]]`" if at_least else f"write `[[ {left} {comparison} {right} ]]`"


def _compare(text: Text, redirect: Redirect, operator: str) -> Fix | None:
    size = 2 if text.string.startswith("=", redirect.start + 1) else 1
    place = text.span(redirect.start, redirect.start + size)
    space = "" if text.string[redirect.start + size].isspace() else " "
    return Fix(f"write {operator}", [replace(place, operator + space)], safe=False) if text.is_plain else None


def _unreadable(text: Text, words: tuple[Word, ...]) -> Iterator[Finding]:
    """`[[ $x >= 4 ]]`, `[[ -f a -a -f b ]]`: bash ends the script where it reads a word that the test cannot have."""
    plain = [unquoted_text(word) for word in words]
    at = _end_of_test(plain, 0) if words else None
    if at is None or at >= len(words) or UNKNOWN_CHARACTER in text.string[words[0].start : words[-1].end]:
        return
    start, end = words[at].start, words[at].end
    instead, advice = _JOINING.get(plain[at] or ""), "use a valid test operator"
    if plain[at - 1] == "=" and plain[at - 2] in _AT_LEAST and words[at - 2].end == words[at - 1].start:
        left, right = (text.string[each.start : each.end] for each in (words[at - 3], words[at]))
        start, end, sign = words[at - 2].start, words[at - 1].end, plain[at - 2] or ""
        instead, advice = _AT_LEAST[sign], _advice(sign, _AT_LEAST[sign], left, right, at_least=True)
    elif instead is not None:
        advice = f"write `{instead}`"
    place = text.span(start, end)
    exact = text.is_plain and instead is not None and f"`{instead}" in advice
    yield Finding(
        place,
        f"bash ends the script here, with status 0, as it cannot read `{text.string[start:end]}`; {advice}",
        fix=Fix(f"write {instead}", [replace(place, instead or "")], safe=False) if exact else None,
    )


def _end_of_test(words: list[str | None], at: int) -> int | None:
    """The index after the words of one test of `[[`, or of the first word that none can have; None if unclear.

    `cond_expr()` of bash 5.2, parse.y. `words`: those that are one unquoted literal; None for others.
    """
    open_brackets = 0
    while True:
        while at < len(words) and words[at] in ("!", "("):
            open_brackets += words[at] == "("
            at += 1
        if at >= len(words):
            return None
        if words[at] is not None and _UNARY.fullmatch(words[at] or "") and at + 1 < len(words):
            at += 2
        elif at + 1 < len(words) and words[at + 1] is not None and _BINARY.fullmatch(words[at + 1] or ""):
            if at + 2 >= len(words):
                return None
            # a pattern after `=~` may be several words to the parser
            at = len(words) if words[at + 1] == "=~" else at + 3
        else:
            at += 1
        while open_brackets and at < len(words) and words[at] == ")":
            open_brackets -= 1
            at += 1
        if at >= len(words) or words[at] not in ("&&", "||"):
            return at
        at += 1


def _one_word(job: Job, text: Text, words: tuple[Word, ...] | list[Word], opening: str) -> Iterator[Finding]:
    """`[ $x==y ]`: one word that is never empty."""
    if len(words) != 1:
        return
    word = words[0]
    if not isinstance(word.parts[0], Parameter):
        return
    for part in word.parts[1:]:
        found = _OPERATOR.search(part.text) if _is_plain(part) else None
        if found is None or part.start + found.end() == word.end:
            continue
        start, end = part.start + found.start(), part.start + found.end()
        operator, place = found[0], text.span(word.start, word.end)
        edits = [replace(text.span(start, end), f" {operator} ")]
        value, advice = text.string[end : word.end], f"put spaces around `{operator}`"
        same = None if operator == "!=" else _spelling(job, place, word.parts[0].name, value)
        if same not in (None, value.strip(_QUOTES)):  # with spaces alone it would be false
            edits = [replace(text.span(start, word.end), f" {operator} {quoted(same or '')}")]
            advice = f"write `{operator} {same}`"
        message = f"`{opening}` gets one word, which is always true; {advice}"
        fix = _fix("put spaces around it", edits, place, text, word)
        yield Finding(place, message, None if same is None else "warning", fix=fix)
        return


def _two_words(text: Text, words: list[Word]) -> Iterator[Finding]:
    """`[ $x -gt3 ]`, `[ $x= y ]`: an operator without one of its spaces, so that `[` gets two words."""
    if len(words) != 2 or not isinstance(words[0].parts[0], Parameter):
        return
    ends, begins = words[0].parts[-1], words[1].parts[0]
    left, right = (_OF_TWO.search(each.text) if _is_plain(each) else None for each in (ends, begins))
    if left is not None and left.end() == len(getattr(ends, "text", "")):
        word, operator, at = words[0], left[0], ends.start + left.start()
    elif right is not None and right.start() == 0 and begins.start + right.end() < words[1].end:
        word, operator, at = words[1], right[0], begins.start + right.end()
    else:
        return
    place = text.span(word.start, word.end)
    fix = _fix("put a space there", [insert(place.start + at - word.start, " ")], place, text, word)
    where = "before" if word is words[0] else "after"
    yield Finding(
        place, f"`[` does not know this test, prints an error and is false; put a space {where} `{operator}`", fix=fix
    )


def _is_plain(part: object) -> TypeGuard[Literal]:
    return isinstance(part, Literal) and not part.quoted and part.end - part.start == len(part.text)


def _spelling(job: Job, place: Span, name: str, value: str) -> str | None:
    """The value that a variable always has at a test, where it is this one but for capitals: it is true as meant."""
    tests = _tests_around(job, place)
    known = [(test, test.state.variables[name]) for test in tests if name in test.state.variables]
    ways = [fields for test, variable in known for fields in values_of(test, variable)]
    if not tests:  # this job does not reach it
        ways = [way.fields for each in assignments_by_name(job).get(name, ()) for way in each.alternatives]
    values = {text_of(fields[0]) if fields is not None and len(fields) == 1 else None for fields in ways}
    only = values.pop() if len(values) == 1 else None
    return only if only is not None and only.casefold() == value.strip(_QUOTES).casefold() else None


def _fix(title: str, edits: list[Edit], place: Span, text: Text, word: Word) -> Fix | None:
    """A fix, where the word is written in the file just as it was parsed."""
    return Fix(title, edits, safe=False) if place.end - place.start == word.end - word.start and text.is_plain else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = «train]»; then
            srun python train.py
        fi
        """,
        unsafe_fixed={"train];": "train ];"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if «[ "$1" = a» || [ "$1" = b ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed={"||": "] ||"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        if [ $SLURM_NNODES «> 1» ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed={">": "-gt"},
        severity="warning",
        title="only the job's values decide whether it is true as it was meant",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ «$1==train» ]; then
            srun python train.py
        fi
        """,
        unsafe_fixed={"$1==train": "$1 == train"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [[ $1 «-eq» train ]]; then
            srun python train.py
        fi
        """,
        unsafe_fixed={"-eq": "="},
    ),
    Bad(
        '#!/bin/bash\n#SBATCH --nodes=2\nif «["$MPI"» = open ]; then\n    OPTIONS=-v\nfi\nsrun ./a.out\n',
        unsafe_fixed='#!/bin/bash\n#SBATCH --nodes=2\nif [ "$MPI" = open ]; then\n    OPTIONS=-v\nfi\nsrun ./a.out\n',
        severity="warning",
        title="it sets what nothing reads",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ "$1" = train ] || [[ $1 == t* ]]; then
            srun python train.py
        fi
        > log [ "$1" ]
        """
    ),
]
