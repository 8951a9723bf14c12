"""A `#SBATCH` line is ignored: it is below the first command.

`sbatch` stops reading options at the first line that is neither blank nor a comment: `set -e`, `module load`, an
assignment. Every `#SBATCH` line below it is a comment. The job runs without those options, with the defaults of the
site, and without any message: too little memory, the wrong partition, one hour instead of a day.

A warning where only mail, a name, the name of a log or the time limit is lost, or the lines contradict directives that
are read. Only advice where the job has what they set anyway, and where each `sbatch` in the script sets the options
itself. Below the last command of the script, where nothing follows but comments, lines are often kept for another time:
that is advice where lines above set the same options, sbatch would refuse them as they are, or other commands of Slurm
and `# SBATCH` lines are kept there as comments, and a warning otherwise. Advice, too, below directives that are read,
for lines that were parked: they set one option to two values, or name nodes by a pattern, which Slurm refuses.
Where most of the lines have other values above, as in two scripts put together, the finding names the others.

Where a `#!` line is above the directives, several scripts were put into one file: one finding says so.

Where the command is what a `\\` at the end of a directive was meant to continue, directive-continuation reports it.

## Fix

Moves the lines up to the end of the option block, with the comments between them and directly above. The job then asks
for something it did not ask for before, so this is unsafe. Lines that only repeat what the block already sets are
removed, which is safe. There is no fix where the block sets the same option to another value, or where sbatch would
refuse the line, or the script with it.

## References

sbatch(1), DESCRIPTION; `_opt_batch_script()` in src/sbatch/opt.c, Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.continuations import continuations
from sbatchlint.analysis.directives.invisible_characters import invisible_characters
from sbatchlint.analysis.directives.lost_options import are_only_told, is_repeated, rivals, severity_of_loss
from sbatchlint.analysis.directives.near_misses import near_misses
from sbatchlint.analysis.directives.typos import EXPANSION
from sbatchlint.analysis.script.conflicts import conflict_marker
from sbatchlint.analysis.script.submit_lines import is_run_by_hand
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, remove
from sbatchlint.job.command_lines import command_lines
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.lines import DirectiveLine
from sbatchlint.slurm.model import Setting, StopLine
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.slurm.script_file import lacks_interpreter
from sbatchlint.source.numbers import all_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Unread

CARD = Card("SB101", "directive-after-command", severity="error", fix="sometimes", since="0.1.0", when=Unread())

SHELLS = ("sh", "bash", "dash", "ksh", "zsh", "ash", "mksh", "rbash")
_FIRST_LINE = Regex(r"(?m)^#![ \t]*/(?:usr/)?bin/")
_COMMAND = Regex(r"(?m)^[^\S\n]*[^\s#]")
OPTION = Regex(r"--?[A-Za-z]")
# A first line with characters before its `#!`, or without the `#`.
_MEANT_FOR_SHEBANG = Regex(r"\s*\w{0,3}#?![ \t]*/\S")


# Options to whose values others of the same name may have been meant to be added.
_ADDED = frozenset({"mail-type", "mail-user", "export", "constraint", "dependency", "licenses", "exclude", "nodelist"})
# A comment that was a command of Slurm, or a directive.
_NOTE = Regex(
    r"(?m)^[ \t]*(?:##+[ \t]*|#[ \t]+)(?:SBATCH[ \t]+-|(?:squeue|sacct|scancel|sbatch|srun|sinfo|salloc|scontrol)\b)"
)
_OF_ANOTHER = 2  # options with another value above


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    stop = directives.stop
    shell, shebang = job.interpreter_line
    if stop is None or not stop.certain or shell not in SHELLS or not (directives.lines or shebang):
        return
    if _has_other_cause(job, stop):
        return
    row = job.source.row(stop.offset)
    heredoc = -1 if job.is_shell else job.source.text.find("<<", stop.offset)
    groups: list[list[DirectiveLine]] = []
    for line in directives.unread:
        # Lines of another script, and bare `#SBATCH` words in banners.
        if not line.tokens or not OPTION.match(line.tokens[0].text) or job.in_quoted_text(line.offset):
            continue
        if job.ended is not None and line.offset >= job.ended:
            continue  # below an `exit`: notes, or another script
        if 0 <= heredoc < line.offset:
            continue  # perhaps in a heredoc: the grammar of this shell is not known here
        if groups and _has_no_command(job.source.text[groups[-1][-1].full.end : line.full.start]):
            groups[-1].append(line)
        else:
            groups.append([line])
    if groups and not directives.lines:
        # No directive is read at all: move the first command.
        lost = [line for lines in groups for line in lines]
        between = job.source.own.text[job.source.line_of(stop.offset).end : lost[0].full.start]
        single = f"the directive on line {job.line(lost[0].offset)} is only a comment"
        many = f"{all_of(len(lost), 'directive')} below it are only comments"
        pronoun = "it" if len(lost) == 1 else "them"
        advice = f"move the command below {pronoun}" if _has_no_command(between) else f"move {pronoun} above this line"
        by_hand = is_run_by_hand(job)  # they are a note, or of an example
        if by_hand or any(command_lines(job)):
            advice = f"remove {pronoun}, or {advice}"
        related = [(Span(lines[0].span.start, lines[-1].span.end), "not read") for lines in groups]
        if _is_told_to_sbatch(job, lost):
            message = "sbatch reads no directives below this line, and the calls of sbatch here set their options; "
            message += "remove the directives"
            yield Finding(stop.span, message, "info", related)
            return
        consequence = f"{single if len(lost) == 1 else many}; {advice}"
        if _has_variables(job, lost):
            consequence += ", and use values, not variables"
        message = f"sbatch stops reading at this line, so {consequence}"
        fix = _fix(job, lost) if len(groups) == 1 and not by_hand else None
        yield Finding(stop.span, message, "info" if by_hand else _severity(job, lost), related, fix)
        return
    text = job.source.own.text
    script = _FIRST_LINE.search(text, stop.offset)  # several scripts in one file
    several = False
    for lines in groups:
        span = Span(lines[0].span.start, lines[-1].span.end)
        kept = _COMMAND.search(text, lines[-1].full.end) is None and not job.is_embedded
        wanted = " if you need them" if kept else ""
        consequence = f"these {len(lines)} are only comments; move them above line {row}{wanted}"
        if len(lines) == 1:
            consequence = f"this one is only a comment; move it above line {row}{wanted.replace('them', 'it')}"
        if not all(job.directives.read_line(line)[1] for line in lines):
            consequence += ", and correct them" if kept else ", and correct those that sbatch refuses"
        elif _has_variables(job, lines):
            consequence += ", and use values, not variables"
        if several:
            continue
        if script is not None and script.end() <= lines[0].offset:
            several = True
            message = (
                f"another script begins on line {job.line(script.start())}, but sbatch reads only the "
                f"directives above line {row}; give each script its own file"
            )
            related = [(stop.span, "the first command, where sbatch stops reading")]
            yield Finding(span, message, _severity(job, lines), related)
            continue
        parked, beside = _parked(job, lines), rivals(job.directives, _settings(job, lines))
        if beside:
            consequence += f", in place of --{beside[0].name}"
        message = f"sbatch stops reading directives at line {row}, so {consequence}"
        if parked:
            message = f"sbatch ignores directives below line {row}; {parked}"
        again, new, other = _set_again(job, lines)
        if again and not kept and not parked and len(lines) > 1:
            message = f"sbatch reads no directives below line {row}, and values above it count instead; "
            message += f"move only {', '.join(new)} above it" if new else "remove these, or change those above"
            if new and other > _OF_ANOTHER:  # their own `--partition` does not go with those values
                message = f"sbatch reads no directives below line {row}, and these seem to belong to another job; "
                message += "give it its own file"
        related = [(stop.span, "the first command, where sbatch stops reading")]
        severity = "info" if parked else _of_kept(job, lines) if kept else _severity(job, lines)
        fix = None if kept or parked or beside or _is_given_up(job, lines) else _fix(job, lines)
        trap = _late_trap(job, lines)
        if trap is not None:  # the signal would end the job before the trap is set
            message += f", and the `trap` of line {job.line(trap.span.start)} too"
            fix = None
        yield Finding(span, message, severity, related, fix)


def _late_trap(job: Job, lines: list[DirectiveLine]) -> Invocation | None:
    """The `trap` for the signal that one of these lines requests, where work runs before it is set."""
    if all(each.name != "signal" for line in lines for each in job.directives.read_line(line)[0]):
        return None
    trap = next(iter(commands_named(job, "trap")), None)
    works = trap is not None and any(weight(job, each) >= Weight.PROGRAM for each in job.invocations[: trap.index])
    return trap if works else None


def _settings(job: Job, lines: list[DirectiveLine]) -> list[Setting]:
    return [setting for line in lines for setting in job.directives.read_line(line)[0]]


def _parked(job: Job, lines: list[DirectiveLine]) -> str:
    """Why lines cannot have been meant to be read together, and what follows; empty where they may have been."""
    values: dict[str, set[str]] = {}
    settings = _settings(job, lines) if job.directives.components == 1 else []
    for each in settings:
        if each.name not in _ADDED and not are_only_told([each.name]):
            values.setdefault(each.name, set()).add(each.text or "")
    twice = next((name for name, found in values.items() if len(found) > 1), None)
    pattern = next((each.name for each in settings if _names_no_node(each)), None)
    of = f"of these {len(lines)}, " if len(lines) > 1 else ""
    reasons = [] if twice is None else [f"--{twice} has two values"]
    reasons += [] if pattern is None else [f"--{pattern} names no node"]
    return f"{of}{' and '.join(reasons)}, so move up only what you need" if reasons else ""


def _names_no_node(setting: Setting) -> bool:
    """Whether Slurm refuses a pattern in place of nodes."""
    return setting.name in ("nodelist", "exclude") and "*" in (setting.text or "")


def _set_again(job: Job, lines: list[DirectiveLine]) -> tuple[bool, list[str], int]:
    """Whether most of the options that these lines set are set above, those that are not, and how many differ."""
    settings = _settings(job, lines)
    names = dict.fromkeys(each.name for each in settings)
    others = {
        each.name
        for each in settings
        if job.directives.last(each.name) is not None and not is_repeated(job.directives, each)
    }
    new = [f"--{name}" for name in names if job.directives.last(name) is None]
    return bool(others) and 2 * len(new) < len(names), new, len(others)


def _is_told_to_sbatch(job: Job, lost: list[DirectiveLine]) -> bool:
    """Whether the script is run by hand, and each sbatch in it sets all of these options itself."""
    names = {setting.name for line in lost for setting in job.directives.read_line(line)[0]}
    calls = [each for each in command_lines(job) if each.command == "sbatch"]
    return bool(names and calls) and all(call.last(name) is not None for call in calls for name in names)


# A comment that says that the directives below it no longer count.
_GIVEN_UP = Regex(r"(?i)\b(?:deprecated|obsolete|no longer|not used)\b")


def _has_variables(job: Job, lines: list[DirectiveLine]) -> bool:
    return any(EXPANSION.search(job.source.slice(line.span)) for line in lines)


def _severity(job: Job, lines: list[DirectiveLine]) -> str | None:
    if _is_given_up(job, lines):
        return "info"
    return severity_of_loss(job, _settings(job, lines), unread=True)


def _of_kept(job: Job, lines: list[DirectiveLine]) -> str:
    """The severity where nothing but comments follows.

    Lines that set what no line above sets were hardly put aside, unless sbatch would refuse one of them: `--exclude`
    without its value is kept for later.
    """
    severity, readings = _severity(job, lines), [job.directives.read_line(line) for line in lines]
    settings = [each for found, _ in readings for each in found]
    new = bool(settings) and all(job.directives.last(each.name) is None for each in settings)
    new = new and all(accepted for _, accepted in readings)
    matters = severity is None or any(each.name == "time" for each in settings)
    return "warning" if matters and new and not _is_among_notes(job, lines) else "info"


def _is_among_notes(job: Job, lines: list[DirectiveLine]) -> bool:
    """Whether other lines below the last command are kept as comments: commands of Slurm, and `# SBATCH` lines."""
    text = job.source.own.text
    start = min(lines[0].full.start, len(text))
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if _COMMAND.match(text, above, start):
            break
        start = above
    return _NOTE.search(text, start) is not None


def _is_given_up(job: Job, lines: list[DirectiveLine]) -> bool:
    """Whether a comment above directives says that they no longer count."""
    text = job.source.own.text
    end = min(lines[0].full.start, len(text))
    while end > 0 and text[end - 1] == "\n":
        end -= 1
    while end > 0 and text.startswith("#", start := text.rfind("\n", 0, end) + 1):
        if _GIVEN_UP.search(text, start, end):
            return True
        end = start - 1
    return False


def _has_other_cause(job: Job, stop: StopLine) -> bool:
    """Whether another check reports why sbatch stops reading: a `#!` line with something before it, a continuation
    line of a directive, a directive without its `#`, a merge conflict, or a line that only looks empty or like a
    comment."""
    directives = job.directives
    if lacks_interpreter(directives.text.string) and _MEANT_FOR_SHEBANG.match(directives.text.string):
        return True  # sbatch refuses the file: missing-shebang
    if conflict_marker(job.source.own.text, stop.offset) is not None:
        return True
    if any(each.swallowed for each in continuations(directives)):
        return True
    if any(each.kind == "no-hash" for each in near_misses(directives)):
        return True
    unseen = (job.span(each.start, each.end) for each in invisible_characters(directives) if each.place != "word")
    return any(span.start <= stop.offset < span.end for span in unseen)


def _has_no_command(between: str) -> bool:
    """Whether these lines are empty or comments."""
    return _COMMAND.search(between) is None


def _fix(job: Job, lines: list[DirectiveLine]) -> Fix | None:
    directives = job.directives
    if not directives.certain or directives.components > 1 or job.directives_expand:
        return None
    repeated = True
    for line in lines:
        settings, accepted = directives.read_line(line)
        if not accepted or line.dropped is not None or EXPANSION.search(job.source.slice(line.span)):
            return None  # sbatch would refuse it, or take a variable literally
        for setting in settings:
            if directives.last(setting.name) is None:
                repeated = False
            elif not is_repeated(directives, setting):
                return None
        repeated = repeated and line.comment is None
    removed = [remove(line.full) for line in lines]
    if repeated:
        return Fix("remove what the directives above already say", removed, safe=True)
    if job.is_embedded:
        text = "".join(job.source.slice(line.span) + job.source.newline for line in lines)
    else:
        block = _with_comments(job, lines)
        text, removed = job.source.slice(block), [remove(block)]
        text += "" if text.endswith("\n") else job.source.newline
    return Fix("move to the directives at the top", [insert(insertion(directives, "").span.start, text), *removed])


def _with_comments(job: Job, lines: list[DirectiveLine]) -> Span:
    """Directives with the comments between them, and those directly above the first."""
    source = job.source.own
    start = lines[0].full.start
    while start > 0 and source.text[(above := source.line_of(start - 1).start) : start].lstrip().startswith("#"):
        start = above
    return Span(start, lines[-1].full.end)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=24:00:00
        #SBATCH --qos=long
        srun ./prepare
        «#SBATCH --partition=short
        #SBATCH --time=0:20:00
        #SBATCH --qos=test»
        srun ./a.out
        """,
        title="two scripts put together",
    ),
    Bad(
        """\
        #!/bin/bash
        «OUT=logs»
        #SBATCH --output=run.out
        for i in 1 2 3; do
            sbatch --output=$OUT/$i.out sample.sh $i
        done
        """,
        severity="info",
        title="a script that submits others",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        module load cuda
        «#SBATCH --qos=long»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --qos=long
        module load cuda
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        «set -euo pipefail»

        #SBATCH --job-name=sft
        #SBATCH --mem=4G  # per node

        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --job-name=sft
        #SBATCH --mem=4G  # per node
        set -euo pipefail


        srun ./a.out
        """,
        title="no directive is read at all",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        module load cuda

        # How long it takes
        «#SBATCH --time=10

        # What it needs
        #SBATCH --mem=4G»

        srun ./a.out
        """,
        unsafe_fixed={"module load cuda\n\n": "", "#SBATCH --mem=4G": "#SBATCH --mem=4G\nmodule load cuda\n"},
        title="with their comments",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export OMP_NUM_THREADS=1
        «#SBATCH -N 2»
        srun ./a.out
        """,
        fixed={"#SBATCH -N 2\n": ""},
        severity="info",
        title="repeats what was read",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        date
        «#SBATCH --nodes=4»
        srun ./a.out
        """,
        severity="warning",
        title="which of the two is meant cannot be known",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=32G
        echo "on $(hostname)"
        «#SBATCH --gres=gpu:1
        #SBATCH --gres=gpu:a100:2
        #SBATCH --cpus-per-task=4»
        srun ./a.out
        """,
        severity="info",
        title="parked: they exclude each other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=32G
        echo "on $(hostname)"
        «#SBATCH --cpus-per-task=4
        #SBATCH --nodelist="gpu*"»
        srun ./a.out
        """,
        severity="info",
        title="parked: Slurm refuses one of them",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=32G
        module load cuda
        «#SBATCH --mem-per-cpu=4G»
        srun ./a.out
        """,
        title="sbatch would refuse it beside what is above",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=32G
        srun ./a.out

        «#SBATCH --constraint=fast»
        # squeue -u $USER
        # SBATCH --output=run-%j.out
        """,
        severity="info",
        title="one of several notes below the last command",
    ),
    Good(
        """\
        #!/bin/bash
        <<<<<<< HEAD
        #SBATCH --time=10
        =======
        #SBATCH --time=20
        >>>>>>> longer
        srun ./a.out
        """,
        title="the conflict is what syntax-error reports",
    ),
    Good("#!/bin/bash\n\n  # blank lines and comments do not end the block\n\n#SBATCH --nodes=2\nsrun ./a.out\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N1
        cat > job.sh <<'EOF'
        #!/bin/bash
        #SBATCH -N2
        srun ./a.out
        EOF
        """,
        title="the block of a script that this one writes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N1
        echo "#!/bin/bash
        #SBATCH -N2
        srun ./a.out" > job.sh
        """,
        title="a script in a string",
    ),
    Good(
        """\
        #!/bin/ksh
        function header {
        if [[ -n $nodes ]] then
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH -N $nodes
        EOF
        fi ; }
        """,
        title="a heredoc in a script that only its own shell can parse",
    ),
    Good("z#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n", title="sbatch refuses the file: missing-shebang"),
    Good(
        """\
        #!/bin/zsh
        print starting
        cat > job.sh <<EOF
        #!/bin/bash
        #SBATCH -N 2
        EOF
        """,
        title="in a heredoc of another shell",
    ),
]
