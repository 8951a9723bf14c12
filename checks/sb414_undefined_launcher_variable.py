"""A command is lost or changed: the script reads a variable that nothing sets.

`--nnodes $NNODES` without an NNODES loses its value, takes the next option for it, or becomes `--nnodes=`: the launcher
stops with an error about another option, or starts fewer processes than requested. An array that is never filled leaves
a command without arguments, an unset `$IMAGE` turns the next word into the image. This easily happens when a line is
copied from another script, or a variable is renamed in one place only.

`$true`, `$false` and `$null` are such names as well: what is a value in other languages is an empty variable here.

An assignment that is commented out sets nothing either: `# DATA=/data/v2` above `srun ./train $DATA`. It may have
replaced what comes from elsewhere, so names that Slurm or the site sets for a job, or that another comment or a
directive mentions, are not reported. Advice where a name is only shorter without it (`$model$size`), where nothing but
a handler reads what is made of it, and beside another assignment that is commented out: both are off on purpose.

Under `set -u` bash stops at an unset name, which is the same as `${NAME:?}`: nothing is lost, and only what looks like
a mistyped name is reported.

Names that are set, tested or given a default, that a comment or a directive mentions, that modules or a login provide,
or that a sourced file may set are not reported. Of the others, these are:

- a name that a launcher needs, in a script that sets other variables of the same command;
- a name that is nearly that of a variable that is set and never read, or its beginning (`$OUT` beside `OUTDIR=…`), or
  the beginning of the one that the same option gets elsewhere;
- a name that is only tested, and set in other letters (`Busco=…`, `[ -z "$BUSCO" ]`), or only removed;
- an array, as the environment cannot hold one;
- the only name in small letters that the script does not set;
- `$hostname`, which should be HOSTNAME.

Where there is none of these, one finding names the others, up to four, as advice: the submit environment may set them.
It is a warning for a name with small letters on which the work depends, in a script that sets others of this kind or
says that it is submitted with a plain `sbatch job.sh`. Advice where another variable only takes the value over
(`gpus=$NUM_GPUS`), as a script does that is submitted with it. After a sourced file that cannot be read here, only what
is commented out and `$hostname` are reported, as advice.

An error for a name in small letters where `set -u` ends the script and the variable that was meant is set and never
read, for a mistyped one with small letters in a path, for an array where one of a similar name is set and never read,
and where the same file's name is elsewhere with a variable of a similar name that is set; otherwise a warning, as the
submit environment may set anything; advice where the value is only printed.

## Fix

None: only the author knows the value. `${NNODES:?}` stops the script at once if it is not set.

## References

torch/distributed/run.py: `--nnodes ""` is a ValueError; bash(1), "Parameters".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain

from sbatchlint.analysis.expansion.nobody_sets import (
    folders_of_both,
    glued_name,
    in_same_word,
    is_certain,
    is_common_name,
    is_list,
    is_lone_lowercase_name,
    is_made_of,
    is_mentioned,
    is_misspelt,
    is_of_path,
    is_of_submission,
    is_on_comment,
    is_set_by_site,
    may_come_from_files,
    mentioned_names,
    set_names,
    similar_variable,
    times_written,
    unless_exported,
    unset_reads,
    unusual_names,
)
from sbatchlint.analysis.expansion.reach import Reach, reach_of
from sbatchlint.analysis.expansion.reads import (
    DEFAULTS,
    assigned_names,
    assignments_by_name,
    enclosing_assignment,
    first_uses,
    guarded_names,
    nounset_at,
    read_names,
    reads_of,
    stopping,
    use_of,
)
from sbatchlint.bash.trace import VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job, Launch, Span, joined
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, Variables

CARD = Card(
    "SB414", "undefined-launcher-variable", severity="error", fix="never", since="0.1.0",
    when=Launchers() | Variables("*"), seen="torch/distributed/run.py",
)  # fmt: skip

# Options that every launcher needs: how many processes, which one this is, and where they meet.
_OPTIONS = frozenset(
    {"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "rdzv_endpoint", "num_processes"}
    | {"num_machines", "machine_rank", "main_process_ip", "main_process_port", "num_gpus", "num_nodes", "np", "n"}
)
_SETTING = Regex(r"\s(?:-e|--env)[ =](\w+)=[\"']?$")
# A line that is an assignment but for its `#`.
_COMMENTED = Regex(
    r"(?m)^[ \t]*#+[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)="
    r"(?:\"[^\"\n]+\"|'[^'\n]+'|\$\([^()\n]+\)|`[^`\n]+`|[^\s\"'<]+)[ \t]*(?:#.*)?$"
)
# What a comment says of an assignment that is made where it is wanted.
_OPTIONAL = Regex(r"(?i)#.*\b(?:un-?comment|optional(?:ly)?|enable)\b")
_OF_OPTIONS = Regex(r"=[\"']?-")
# Uses of a variable that need a value.
_NEEDING = frozenset({"argument", "other", "arithmetic", "test"})
_APART = Regex(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]+=[ \t]*(?![=~ \t])[^\s]+[ \t]*$")
_CONSTANTS = frozenset({"true", "false", "null", "none"})
# After a number: `[[ $MEMORY -gt 80000 ]]` is never true without one.
_COMPARED = Regex(r"[\"}]*[ \t]+-(?:eq|ne|lt|le|gt|ge)[ \t]")
_OPTION_BEFORE = Regex(r"(?:^|[ \t])(--?[A-Za-z][\w-]*)[ =]\"?$")
_OPTION_OF_VARIABLE = Regex(r"(--?[A-Za-z][\w-]*)[ =]\"?\$\{?(\w+)")
_PLACE = Regex(r"[A-Z0-9_]+_(?:HOME|ROOT|DIR|PREFIX)")
_ASSIGNING_COMMENT = Regex(r"[ \t]*#+[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*=")
_SHORTEST = 4  # of a name that is tested
# Variables that every login shell sets, and whose names in small letters are not those of usual settings.
_OF_SHELL = frozenset({"HOSTNAME", "HOME", "PWD", "USER", "UID"})
# The words of `timeout` before its duration.
_BEFORE_DURATION = Regex(r"timeout[ \t]+(?>-[ks][ \t]+\S+[ \t]+|-\S+[ \t]+)*\"?")
# What joins a variable to the rest of a name: `run_$LR.log`.
_JOINED = Regex(r"[\w./@=-]")
# A comment that says how the script is submitted, without any options.
_SUBMITTED_PLAINLY = Regex(r"(?m)^[ \t]*#[^\n]*\bsbatch[ \t]+(?!-)[\w./<>-]+[ \t]*$")
_NAME_PART = Regex(r"[\w.-]")
_MOST_OF_SUBMISSION = 4  # names; a script that reads more gets them from elsewhere
# Names of lists of options: a script that sets others of this kind sets them all itself.
_OPTIONS_NAME = Regex(r"(?i)(?!EXTRA|ADD|MORE|USER|CUSTOM|OPT|MY)\w+_(?:ARGS?|OPTS?|OPTIONS?|FLAGS?|PARAMS?)")


def check(job: Job) -> Iterator[Finding]:
    if may_come_from_files(job):
        if job.phase is Phase.BATCH:
            for finding in chain(_commented_out(job), _of_shell_in_other_case(job)):
                yield finding._replace(severity="info")  # the sourced file may set it
        return
    seen: set[Span] = set()
    by_name: dict[str, list[Finding]] = {}
    if job.phase is Phase.BATCH:
        ways = (_of_launchers, _constants, _commented_out, _tested_in_other_case, _of_shell_in_other_case, _removed)
        for finding in chain.from_iterable(find(job) for find in ways):
            seen.add(finding.span)
            yield finding
    assigned_apart, end = _assigned_apart(job), _first_error(job)
    for read in unset_reads(job):
        if read.name in assigned_apart or read.text is job.text and read.start >= end:
            continue  # the assignment is wrong (SB439); bash does not come to this line (SB001)
        if read.span in seen or is_common_name(read.name) and not is_misspelt(job, read.name):
            continue
        if _may_be_from_image(read) or glued_name(job, read) is not None:
            continue
        found = list(_lost(job, read))
        if found and not is_mentioned(job, read.name):
            by_name.setdefault(read.name, []).extend(found)
    if not seen and not by_name and job.phase is Phase.BATCH and job.directives.lines:
        yield from _of_submission(job)
    for found in by_name.values():
        yield joined(found, "also empty")


@once
def _assigned_apart(job: Job) -> frozenset[str]:
    """The names of lines that are assignments but for a space before the sign: `SIZE = 8`."""
    return frozenset(_APART.findall(job.text.string))


def _first_error(job: Job) -> int:
    """Where bash finds the first syntax error, and runs nothing from there on; the script's end without one."""
    return min((start for start, _ in job.program.errors), default=len(job.text.string))


def _of_submission(job: Job) -> Iterator[Finding]:
    """The finding on variables that only the submit environment can set: advice, one for a script."""
    found: dict[str, tuple[VariableRead, str]] = {}
    for read in unset_reads(job):
        if not is_of_submission(job, read) or _OPTIONS_NAME.fullmatch(read.name) or read.context.handler:
            continue
        if _may_be_from_image(read) or nounset_at(job, read) is not False:
            continue
        text, (start, end) = job.source.text, read.span
        use = use_of(job, read)
        alone = not _NAME_PART.match(text, start - 1) and not _NAME_PART.match(text, end)
        if alone and read.name.isupper() and use.kind not in ("print", "test", "arithmetic"):
            continue  # as a site's folders are used: `$MYSCRATCH/run`
        if use.kind == "print":
            happens = "it is empty here"
        elif use.kind == "test" and text[end : end + 1] != "/":
            happens = "this test compares an empty value"
        elif use.kind == "arithmetic":
            happens = "it counts as 0"
        elif text[end : end + 1] == "/" and not _JOINED.search(text[max(start - 1, 0) : start]):
            happens = "this path starts in the root directory"
        elif _JOINED.search(text[max(start - 1, 0) : start]) or _JOINED.match(text[end : end + 1]):
            happens = "it is empty here"
        else:
            continue
        found.setdefault(read.name, (read, happens))
    if not found or len(found) > _MOST_OF_SUBMISSION:
        return
    own = next((name for name, (read, _) in found.items() if not name.isupper() and _counts(job, read)), None)
    taken = own is not None and _is_taken_over(job, own, found[own][0].span)
    plain = not taken and _sets_others(job) or _SUBMITTED_PLAINLY.search(job.source.own.text) is not None
    name = next(iter(found)) if own is None or not plain else own
    (read, happens), others = found.pop(name), list(found.items())
    element = job.source.slice(read.span).startswith(f"${{{name}[$")
    unless = "sbatch passes no arrays on, so" if element else f"{unless_exported(job, name, read.context.phase)},"
    row = min(job.line(each.span.start) for each in job.trace.reads if each.name == name)
    above = "above this line" if row == job.line(read.span.start) else f"above line {row}"
    yield Finding(
        read.span,
        f"`{name}` is not set in this script: {unless} {happens}; set `{name}` {above}",
        # what reads several, gets them from where it is submitted
        "warning" if plain and name == own and all(other.isupper() for other, _ in others) else "info",
        related=[(each.span, f"nothing sets `{other}` either") for other, (each, _) in others[:3]],
    )


def _is_taken_over(job: Job, name: str, place: Span) -> bool:
    """Whether a variable becomes another one as it is (`gpus=$NUM_GPUS`), as a script takes what it is given."""
    kept = enclosing_assignment(job, place)
    written = "" if kept is None else job.source.slice(kept.span).partition("=")[2].strip('"')
    return written in (f"${name}", f"${{{name}}}")


def _counts(job: Job, read: VariableRead) -> bool:
    """Whether the work of the job depends on a read."""
    kind, reach = use_of(job, read).kind, reach_of(job, read)
    return len(read.name) > 1 and kind != "print" and reach not in (Reach.MESSAGE, Reach.LOG)


def _constants(job: Job) -> Iterator[Finding]:
    """Findings on `$true` and the like, which are values in other languages, and empty variables here."""
    found: dict[str, VariableRead] = {}
    for read in job.trace.reads:
        if read.name.lower() in _CONSTANTS and read.variable is None and read.operator not in DEFAULTS:
            found.setdefault(read.name, read)
    for name in found.keys() - set_names(job) - guarded_names(job):
        if use_of(job, found[name]).kind in ("argument", "assignment"):
            assigned = enclosing_assignment(job, found[name].span)
            reads = [] if assigned is None else reads_of(job).get(assigned.name, [])
            tested = any(use_of(job, each).kind == "test" for each in reads)
            advice = " without the dollar" if tested else ", or nothing where the option takes no value"
            message = f"`${name}` is a variable that nothing sets, so it is empty here; write `{name}`{advice}"
            yield Finding(found[name].span, message, "error" if tested else "info")


def _commented_out(job: Job) -> Iterator[Finding]:
    """Findings on variables whose only assignment is commented out, among others that are not."""
    if "#" not in job.text.string or not job.assignments:
        return
    found = {match[1]: match for match in _COMMENTED.finditer(job.text.string) if match[1] not in mentioned_names(job)}
    by_name: dict[str, dict[Span, VariableRead]] = {}
    for read in job.trace.reads if found else ():
        if read.name in found and read.variable is None and read.operator not in DEFAULTS and read.text is job.text:
            by_name.setdefault(read.name, {}).setdefault(read.span, read)
    reported: dict[str | None, list[tuple[str, Finding]]] = {}
    for name, reads in by_name.items():
        match, (read, *others) = found[name], reads.values()
        if is_set_by_site(name) or read.context.handler or read.start < match.start():
            continue
        if nounset_at(job, read) is not False or _is_told_elsewhere(job, name) or is_on_comment(job, read):
            continue
        compared = _COMPARED.match(job.source.text, read.span.end) is not None
        if use_of(job, read).kind not in ("argument", "assignment") and not compared:
            continue  # a list that may be empty, a message
        if _is_switch(job, read, match):
            continue
        off = job.span(match.start(1), match.end(1))
        may_be_empty = _is_dispensable(job, read, match)
        unless = unless_exported(job, read.name, read.context.phase)
        instead = f"{stopping(read)} to stop if it is empty"
        if may_be_empty and not job.source.text.startswith("/", read.span.end):
            instead = f"remove ${name} here"
        finding = Finding(
            read.span,
            f"line {job.line(off.start)} is commented out, so `{name}` is empty {unless}; set it, or {instead}",
            "info" if may_be_empty else "warning",
            related=[(off, "commented out"), *((each.span, "also empty") for each in others[:5])],
        )
        reported.setdefault(finding.severity, []).append((name, finding))
    for (_, first), *later in reported.values():
        beside = [(each.span, f"`{word}` is commented out as well") for word, each in later[:3]]
        yield first._replace(related=[*first.related, *beside])


def _is_switch(job: Job, read: VariableRead, commented: re.Match[str]) -> bool:
    """Whether an assignment is one of options, or optional by a comment, and without it the word is just not there."""
    string = job.text.string
    end = string.rfind("\n", 0, commented.start())
    above = string[string.rfind("\n", 0, max(end, 0)) + 1 : max(end, 0)].lstrip()
    optional = any(_OPTIONAL.search(each) for each in (commented[0], above if above.startswith("#") else ""))
    if not optional and _OF_OPTIONS.search(commented[0]) is None:
        return False
    before = string[max(read.start - 200, 0) : read.start]
    if before[-1:] not in (" ", "\t", "\n") or string[read.end : read.end + 1] not in ("", " ", "\t", "\n", ";"):
        return False
    words = before.replace("\\\n", " ").split()
    return bool(words) and not words[-1].startswith("-")  # `--data $DATA` takes the next word


def _is_dispensable(job: Job, read: VariableRead, commented: re.Match[str]) -> bool:
    """Whether a variable whose assignment is commented out is one that the job probably does without."""
    if _PLACE.fullmatch(read.name) and any(has_trait(each.name, "loads") for each in job.invocations):
        return True  # a module may set it
    string, end = job.text.string, commented.end() + 1
    below, above = string[end : string.find("\n", end)], string[: commented.start()].rpartition("\n")[0]
    if any(_ASSIGNING_COMMENT.match(each) for each in (below, above.rpartition("\n")[2])):
        return True
    if string[read.start - 1] in "}_-" or string[read.start - 1].isalnum():
        return string[read.end : read.end + 1] in ("", " ", "\n", '"')  # `$model$size`
    assigned = enclosing_assignment(job, read.span)
    if assigned is None or read.name == assigned.name or assigned.exported:
        return False
    return all(each.context.handler for each in job.trace.reads if each.name == assigned.name)


def _tested_in_other_case(job: Job) -> Iterator[Finding]:
    """Findings on tests whether a variable is set, of which the script sets one that differs in case alone."""
    guarded = guarded_names(job) - set_names(job)
    if not guarded:
        return
    by_letters: dict[str, list[VariableAssignment]] = {}
    for assigned in job.assignments:
        by_letters.setdefault(assigned.name.replace("_", "").lower(), []).append(assigned)
    reads = [each for each in job.trace.reads if each.name in guarded and each.text is job.text]
    for name, read in {each.name: each for each in reversed(reads)}.items():
        found = by_letters.get(name.replace("_", "").lower(), [])
        if not found or len(name) < _SHORTEST or is_common_name(name) or len({each.name for each in found}) > 1:
            continue
        if any(each.span.start > read.span.start or each.context.conditional for each in found):
            continue  # set as the test says, or in some cases
        if read.variable is not None or any(use_of(job, each).kind != "guard" for each in reads if each.name == name):
            continue
        if len(re.findall(rf"\b{name}\b", job.source.text)) == len({each.span for each in reads if each.name == name}):
            line, meant = job.line(found[0].span.start), found[0].name
            always = f"`{name}` is never set, so this test always has the same result"
            message = f"{always}; did you mean `{meant}` (line {line})?"
            yield Finding(read.span, message, "warning", related=[(found[0].name_span, "set here")])


def _of_shell_in_other_case(job: Job) -> Iterator[Finding]:
    """Findings on `$hostname` and the like, one for each name: the shell sets HOSTNAME."""
    known = set_names(job) | guarded_names(job)
    seen: set[str] = set()
    for read in job.trace.reads:
        name = read.name
        if name.upper() not in _OF_SHELL or not name.islower() or name in seen or name in known:
            continue
        if read.variable is None and read.operator not in DEFAULTS and not is_on_comment(job, read):
            seen.add(name)
            message = f"{_unset(job, read)}; write the shell's `${name.upper()}`"
            yield Finding(read.span, message, "info" if use_of(job, read).kind == "print" else "warning")


def _is_told_elsewhere(job: Job, name: str) -> bool:
    """Whether the file mentions a name other than by expanding it, beside assignments that are commented out."""
    text = _COMMENTED.sub(lambda match: "" if match[1] == name else match[0], job.source.text)
    return re.search(rf"(?<![$\w./-])(?<!\$\{{){name}\b", text) is not None


def _unset(job: Job, read: VariableRead) -> str:
    """What holds of a variable that only the submit environment may set."""
    unless = unless_exported(job, read.name, read.context.phase)
    return f"`{read.name}` is not set in this script: it is empty {unless}"


def _lost(job: Job, read: VariableRead) -> Iterator[Finding]:
    """Findings for a read that was clearly meant to have a value."""
    kind = use_of(job, read).kind
    other = in_same_word(job, read) if kind == "argument" else None
    if other is not None:
        line, written = job.line(other.start), job.source.slice(other)
        yield Finding(
            read.span,
            f"{_unset(job, read)}; did you mean `{written}`, as on line {line}?",
            related=[(other, "the same name with a value")],
        )
        return
    similar = similar_variable(job, read)
    if similar is not None and is_made_of(similar, read.name):
        return  # `DATADIR=$DATA_DIR/raw` is not another spelling of DATA_DIR
    meant = similar or _of_same_setting(job, read) or _of_same_option(job, read)
    stops = nounset_at(job, read) is not False
    unread = meant is not None and meant.name not in read_names(job)
    if meant is not None and not stops and meant.name.rstrip("s") == read.name.rstrip("s") and unread:
        return  # setting-without-effect reports a name with an `s` too much or too little
    lost = meant is not None and not stops and (is_list(job, read) or _is_duration(job, read))
    severity = "info" if kind == "print" and not stops else "error" if lost else "warning"
    nothing = _unset(job, read)
    if stops or is_list(job, read):
        effect = "`set -u` ends the script here" if stops else "it is empty"
        nothing = f"`{read.name}` is not set in this script: {effect}"
    if meant is not None:
        unused = ", never used" if similar is not None and unread else ""
        if unused and nounset_at(job, read) and read.name.islower() and not read.context.conditional:
            severity = "error"  # no environment has such a name
        of_script = not read.name.isupper() and is_certain(meant.name, read.name)  # no environment has it
        if of_script and kind == "argument" and is_of_path(job, read) and not read.context.conditional:
            severity = "error"
        twice = folders_of_both(job, meant, read)
        hint = f"write `${meant.name}` instead of `${read.name}{twice}`" if twice else f"did you mean `{meant.name}`"
        hint += f" (line {job.line(meant.span.start)}{unused}){'' if twice else '?'}"
        yield Finding(read.span, f"{nothing}; {hint}", severity)
    elif stops or kind == "print" and not is_lone_lowercase_name(job, read):
        return
    elif kind == "print":
        use = use_of(job, read)
        of_heredoc = use.command is not None and use.command.stdin is not None
        instead = f"write `\\${read.name}` for the literal text" if of_heredoc else "remove it"
        used = first_uses(job).get(read.name)
        if used is not None and not of_heredoc:  # removed here, it would be missing there
            line = job.line(used.span.start)
            instead = f"{stopping(read)} to stop the job if it is empty, as line {line} needs it"
        yield Finding(read.span, f"{nothing}; set it, or {instead}", severity)
    elif is_list(job, read):
        yield Finding(read.span, f"{nothing}, as an environment passes no arrays; set it, or remove it", severity)
    elif kind in _NEEDING and len(read.name) > 1 and is_lone_lowercase_name(job, read) and _sets_others(job):
        variant = read.name.removesuffix("s") if read.name.endswith("s") else f"{read.name}s"
        if variant in assigned_names(job):
            yield Finding(read.span, f"{nothing}; did you mean `{variant}`?", severity)
            return
        severity = "info" if times_written(job)[read.name] > 1 else severity  # also in comments
        stopped = "the script" if read.context.phase is Phase.SUBMIT else "the job"
        instead = f"{stopping(read)} to stop {stopped} if it is empty"
        if kind == "test":  # which may be the very check of the arguments
            instead = "correct its name in this test"
        yield Finding(read.span, f"{nothing}; set it, or {instead}", severity)
    elif kind in ("argument", "assignment") and _OPTIONS_NAME.fullmatch(read.name) and _sets_options(job):
        yield Finding(read.span, f"{nothing}, and no such options are passed; set it, or remove it", severity)


def _of_same_setting(job: Job, read: VariableRead) -> VariableAssignment | None:
    """The script's own assignment of the variable that an option sets: `-e TOKEN=$HF_TOKEN` where TOKEN is set."""
    before = job.source.text[max(read.span.start - 80, 0) : read.span.start]
    match = _SETTING.search(before)
    if match is None or match[1] == read.name or len(unusual_names(job)) > 1:
        return None
    assigned = assignments_by_name(job).get(match[1], [])
    if any(each.span.contains(read.span) for each in assigned):
        return None  # an assignment of the shell itself
    return next(iter(assigned), None)


def _of_same_option(job: Job, read: VariableRead) -> VariableAssignment | None:
    """The variable that the same option gets elsewhere, and whose name begins as that of an unset one does.

    `--in $STATS/all/a.gz` where another command has `--in $STATSall/a.gz`.
    """
    before = _OPTION_BEFORE.search(job.source.text[max(read.span.start - 80, 0) : read.span.start])
    if before is None or len(read.name) < _SHORTEST or is_set_by_site(read.name):
        return None
    names = _names_of_options(job).get(before[1], [])
    other = next(iter(names[bisect_right(names, read.name) :][:1]), "")
    return next(iter(assignments_by_name(job).get(other, [])), None) if other.startswith(read.name) else None


@once
def _names_of_options(job: Job) -> dict[str, list[str]]:
    """The variables that are set and written after each option, in order of their names."""
    found: dict[str, set[str]] = {}
    for match in _OPTION_OF_VARIABLE.finditer(job.source.text):
        if match[2] in set_names(job):
            found.setdefault(match[1], set()).add(match[2])
    return {option: sorted(names) for option, names in found.items()}


def _removed(job: Job) -> Iterator[Finding]:
    """Findings on variables that nothing sets, and of which all that is done is to remove what they name."""
    for command in commands_named(job, "rm", "rmdir"):
        for field in command.argv[1:]:
            expansion = field[0].expansion if len(field) == 1 and field[0].text is None else None
            if expansion is None or not expansion.name.isidentifier() or command.context.handler:
                continue
            name = expansion.name
            if is_set_by_site(name) or name in mentioned_names(job) or is_mentioned(job, name):
                continue
            reads = reads_of(job).get(name, [])
            place = Span(field[0].start, field[0].end)
            if len(reads) != 1 or reads[0].span != place or reads[0].operator:
                continue
            like = next((each for each in job.assignments if _has_same_beginning(each.name, name)), None)
            if like is not None and command.state.option("nounset") is False:
                line = job.line(like.span.start)
                hint, severity = f"did you mean `{like.name}` (line {line})?", "warning"
                if re.search(rf"\$\{{?{like.name}\b", job.source.slice(command.span)):
                    hint, severity = "set it, or remove it", "info"  # the command removes the other as well
                yield Finding(
                    place,
                    f"`{name}` is not set in this script, so {command.name} removes nothing for it; {hint}",
                    severity,
                    related=[(like.name_span, "a similar name")],
                )


def _has_same_beginning(one: str, other: str) -> bool:
    """Whether two names have the same first word: `SCHEDULER_FILE`, `SCHEDULER_DIR`."""
    first, _, rest = one.partition("_")
    return len(first) >= _SHORTEST and bool(rest) and other.startswith(f"{first}_") and one != other


def _is_duration(job: Job, read: VariableRead) -> bool:
    """Whether `timeout` has no duration without the variable, and so refuses to start the command."""
    command, text = use_of(job, read).command, job.source.text
    if command is None or command.name != "timeout":
        return False
    before, after = text[command.span.start : read.span.start], text[read.span.end : read.span.end + 1]
    return _BEFORE_DURATION.fullmatch(before) is not None and after in (" ", "\t", '"')


def _may_be_from_image(read: VariableRead) -> bool:
    step = enclosing_step(read.context)
    return read.context.phase is Phase.TASK and step is not None and step.container is not None


@once
def _sets_others(job: Job) -> bool:
    """Whether the script sets and reads other variables with lowercase names."""
    return len({each.name for each in job.trace.reads if each.name.islower() and each.name in set_names(job)}) > 1


@once
def _sets_options(job: Job) -> bool:
    """Whether the script reads several lists of options and sets all but one."""
    names = {each.name for each in job.trace.reads if _OPTIONS_NAME.fullmatch(each.name)}
    return len(names) > 1 and len(names - mentioned_names(job)) == 1


def _of_launchers(job: Job) -> Iterator[Finding]:
    for launch in job.launches:
        if not _has_own_variables(job, launch):
            continue  # a script that sets none of them gets all from outside
        for option in launch.launcher.all_options:
            if option.name.replace("-", "_") not in _OPTIONS:
                continue
            unknown = [piece.expansion for piece in option.value or () if piece.text is None and piece.expansion]
            for expansion in unknown:
                name, place = expansion.name, expansion.span
                if _may_be_set(job, name):
                    continue
                if expansion.phase is Phase.TASK and launch.container is not None:
                    continue  # its image may set the variable, or a hook that starts it (MASTER_ADDR by enroot's)
                if launch.invocation.state.option("nounset") is not False:
                    continue  # bash stops there itself
                dashes = "-" if len(option.name) == 1 else "--"
                yield Finding(
                    place,
                    f"`{name}` is not set in this script: {unless_exported(job, name, launch.invocation.phase)}, "
                    f"{dashes}{option.name} is empty; set it, or write `${{{name}:?}}` to stop the job if it is empty",
                    "info" if _is_taken_over(job, name, place) else "warning",
                )


def _has_own_variables(job: Job, launch: Launch) -> bool:
    """Whether an option of a launcher gets its value from a variable that the script sets."""
    return any(
        piece.expansion is not None and piece.expansion.name in assigned_names(job)
        or enclosing_assignment(job, Span(piece.start, piece.start + 1)) is not None
        for option in launch.launcher.all_options
        for piece in option.value or ()
    )  # fmt: skip


def _may_be_set(job: Job, name: str) -> bool:
    """Whether the script, Slurm or a login sets a variable, or the script mentions it other than to expand it."""
    return not name.isidentifier() or is_common_name(name) or name in mentioned_names(job) or is_mentioned(job, name)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        srun torchrun --nnodes «$NNODES» --nproc_per_node $GPUS_PER_NODE train.py
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        HEAD_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        LAUNCHER="torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$HEAD_NODE:«$PORT»"
        srun bash -c "$LAUNCHER train.py"
        """,
        severity="warning",
        title="by way of a string",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        build_modules=(gcc/13 cuda/12.4)
        module load «${cuda_modules[@]}»
        srun make
        """,
        severity="error",
        title="an array under another name",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OUTPUT_DIR=/scratch/runs
        mkdir -p "$OUTPUT_DIR"
        python train.py --out «$OUPUT_DIR»
        """,
        severity="warning",
        title="a letter is missing",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        # usage: NNODES=2 sbatch job.sh
        GPUS_PER_NODE=8
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="meant to be given",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        source settings.sh
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="maybe set by another file",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes $NNODES --nproc_per_node $GPUS train.py\n",
        title="a script that gets everything from outside",
    ),
]
