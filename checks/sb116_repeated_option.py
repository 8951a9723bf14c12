"""An option is set twice: only the last value counts.

sbatch reads all `#SBATCH` lines in order, and a later value silently replaces an earlier one, even where it looks like
a list (`--gres`, `--export`, `--licenses`). Several `--mail-type` lines did add up until 24.11; from 25.05 on only the
last counts, so after an upgrade some mails are no longer sent. The same option set twice to the same value is only
advice, as is `--gres=gpu:1` above `--gres=gpu:a100:1`. Each component of a heterogeneous job has options of its own.

## Fix

Several `--mail-type` become one list, which means the same to every release: safe, unless a comment is beside the last,
which then says too little. Removing an option that is set again to the same value is safe too. Where values differ, the
fix removes the one that has no effect, or merges different items into one list: a guess, and so unsafe. Where the name
of the one log is given as that of the other, the option is renamed.

## References

sbatch(1); `arg_set_mail_type()` and the like in src/common/slurm_opt.c, Slurm 20.11 to 26.05; CHANGELOG of 25.05; pyxis
args.c, 0.11 to 0.24; seen on 22.05 and 26.05.
"""

import re
from collections.abc import Iterator, Sequence

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.command_lines import command_lines
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.grammar.times import limit_seconds
from sbatchlint.slurm.lines import TEMPLATED
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal, replacement
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import at_lines
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Written

CARD = Card("SB116", "repeated-option", severity="warning", fix="sometimes", since="0.1.0", when=Written("again"))

# A variable that mpirun passes on: `-x NCCL_DEBUG=INFO`, `-x PATH`.
_OF_MPIRUN = Regex(r"[A-Z_][A-Z0-9_]*(?:=|$)")
# Options whose settings all count.
ADD_UP = frozenset(
    ("verbose", "quiet", "cpu-bind", "mem-bind", "container-mounts", "container-env", "container-unshare")
)
# Options for which pyxis refuses a second, different value (pyxis args.c, 0.11 to 0.24).
ONCE = frozenset(("container-image", "container-workdir", "container-name", "container-save"))
# Options whose values are lists, so that a second one looks as if it were appended.
LISTS = frozenset(
    (
        "array", "cluster-constraint", "clusters", "constraint", "dependency", "exclude", "export", "gres", "licenses",
        "mail-user", "nodelist", "partition", "profile", "propagate", "reservation", "tres-per-task",
    )
)  # fmt: skip
# Options that change nothing about how the job runs and is logged.
HARMLESS = frozenset(("comment", "job-name", "wckey"))
# The two logs, with the words for the other in a file's name.
OTHER_LOG = {
    "output": ("error", Regex(r"(?i)(?<![a-z])(?:std)?err(?:or)?s?(?![a-z])|\.e(?![a-z])")),
    "error": ("output", Regex(r"(?i)(?<![a-z])(?:std)?out(?:put)?s?(?![a-z])|\.o(?![a-z])")),
}
# A comment that says that one of the lines is an alternative to the other.
ALTERNATIVE = Regex(
    r"\b(?:or|alternative(?:ly)?|instead|overrid\w*|overwrit\w*|replaces?|either|choose|pick|uncomment"
    r"|comment(?:ed)? out|default|fallback|switch)\b",
    re.IGNORECASE,
)
_LONG = 40  # of an option that a message shows whole
_COMMENT_LINE = Regex(r"^#(?!SBATCH).*", re.MULTILINE)


def check(job: Job) -> Iterator[Finding]:
    string = job.directives.text.string
    refused = {id(each.setting) for each in job.directives.refused if each.refusal.versions is None}
    for settings in _by_option(job.directives):
        last = settings[-1]
        alternative = _last_alternative(string, settings[0].line.end, last.line.start)
        templated = [match.start() for match in TEMPLATED.finditer(string, settings[0].line.end, last.line.start)]
        for setting in settings[:-1]:
            two_readings = setting.token.start == last.token.start  # of one word, in different releases
            if id(last) in refused:
                continue  # sbatch gives up at it
            if two_readings or not (_is_meant(job.directives, setting) and _is_meant(job.directives, last)):
                continue
            # a comment beside one of the lines, or above the second, may say that it replaces the other
            if templated and templated[-1] >= setting.line.end:
                continue  # branches of a template
            if alternative <= setting.line.end and not any(_is_alternative(string, each) for each in (setting, last)):
                yield _finding(job, job.directives, setting, settings)
                if setting.name == "mail-type":
                    break  # one edit of all of them fixes it
    for block in command_lines(job):
        yield from _in_command(job, block)


def _in_command(job: Job, block: Directives) -> Iterator[Finding]:
    """The finding on options that a command sets twice in its own words: one for all that are put in again.

    What comes from a variable is meant to be overridden.
    """
    found = list(_repeated_in(job, block))
    order = ("error", None, "info")
    worst = min(found, key=lambda each: order.index(each.severity), default=None)
    if worst is not None:
        others = [each for each in found if each is not worst]
        yield worst._replace(related=[*worst.related, *((each.span, "set again as well") for each in others)])


def _repeated_in(job: Job, block: Directives) -> Iterator[Finding]:
    line = block.lines[0].span
    for settings in _by_option(block):
        written = [each for each in settings if line.start <= each.span.start < each.span.end <= line.end]
        last = written[-1] if written else None
        if last is None or last is not settings[-1] or last.value is None:
            continue
        for setting in written[:-1]:
            is_own = _is_meant(block, setting) and setting.token is not last.token
            if is_own and last.known and job.source.slice(setting.span).startswith(setting.written):
                yield _finding(job, block, setting, written)._replace(fix=None)


def _by_option(directives: Directives) -> Iterator[list[Setting]]:
    """The settings of each option in each component."""
    found: dict[tuple[int, str], list[Setting]] = {}
    for setting in directives.settings:
        early = setting.option is not None and setting.option.early
        if early or setting.name in ADD_UP or setting.plugin not in (None, "pyxis"):
            continue
        settings = found.setdefault((setting.component, setting.name), [])
        if not settings or settings[-1].token is not setting.token or settings[-1].start != setting.start:
            settings.append(setting)
    yield from found.values()


def _is_meant(block: Directives, setting: Setting) -> bool:
    """Whether the value is known, and is not a typo."""
    return setting.known and typo(block, setting) is None


def _finding(job: Job, block: Directives, setting: Setting, settings: Sequence[Setting]) -> Finding:
    last, name = settings[-1], f"--{setting.name}"
    line = job.line(last.span.start)
    place = f"on line {line}" if line != job.line(setting.span.start) else "later on the line"
    related = [(last.span, "set again here" if setting.name == "mail-type" else "this one takes effect")]
    is_first = setting is settings[0]
    title = f"remove the first {name}" if is_first else f"remove {name} on line {job.line(setting.span.start)}"
    fix: Fix | None = Fix(title, removal(block, [setting]))
    shown, kept = _as_it_stands(setting), _as_it_stands(last)
    if setting.name == "mail-type" and not all(_events(each) <= _events(last) for each in settings):
        rows = sorted({job.line(each.span.start) for each in settings[1:]})
        message, fix = _mail_types(block, settings, f"on {at_lines(rows, 'and')}" if len(rows) > 1 else place)
        return Finding(setting.span, message, related=related, fix=fix)
    if setting.name == "mail-type" and any(_events(each) != _events(last) for each in settings):
        message = f"{shown} is redundant: {kept} {place} includes its events; remove it"
        fix = Fix(f"remove {shown}", removal(block, settings[:-1]), safe=True)
        return Finding(setting.span, message, "info", related, fix)
    if setting.name == "gres" and _adds_type(setting, last):
        message = f"{shown} has no effect: {kept} {place} replaces it, with the same count; remove {shown}"
        return Finding(setting.span, message, "info", related, fix)
    if _meaning(setting) == _meaning(last):
        message = f"{name} is set again {place} with the same value; remove one of them"
        fix = Fix(title, removal(block, [setting]), safe=True)
        if setting.written.startswith("--") and not name.startswith(setting.written):  # `--tasks` is not `--ntasks`
            message = f"{block.command} reads `{setting.as_written}` as {name}, which is set again {place} "
            message += "with the same value; "
            meant = f"`--n{setting.as_written[2:]}`" if setting.written == "--tasks" else "the option that you mean"
            message, fix = f"{message}write {meant}, or remove it", None
        return Finding(setting.span, message, "info", related, fix)
    if setting.text is not None and setting.token.text[:2] != "--" and not setting.text.strip(","):
        short = setting.token.text
        message = f"`{short}` is from the heading of a manual (`{short} {name}`), and sets nothing; remove it"
        return Finding(setting.span, message, "info", related, fix)
    if setting.name == "exclude" and _OF_MPIRUN.match(setting.text or ""):
        message = "srun reads `-x NAME` as nodes to exclude (only mpirun takes a variable there); write `export NAME`"
        return Finding(setting.span, message, "error", related)
    if setting.name in ONCE:
        message = f"{name} is set again {place} with another value, which pyxis refuses; remove one of them"
    elif setting.name in LISTS:
        merged = _one_list(setting, last)
        message = f"{name} is set again {place}, and only the last one takes effect"
        mixed = setting.name == "gres" and _mixes_types(setting, last)  # which sbatch refuses in one list
        message += "; write one list" if merged else "; keep one" if mixed else "; keep one, or write one list"
        if merged:
            edits = [*removal(block, [setting]), replacement(block, last, merged)]
            fix = Fix("write one list", edits)
        elif setting.name == "mail-user":
            fix = None  # both may want the mail
    elif (slip := _meant_for_other_log(block, setting, last)) is not None:
        option = f"--{OTHER_LOG[setting.name][0]}"
        message = f"{shown} has no effect: {name} is set again {place}; write `{option}={slip.text}`"
        message += f" {place}" if slip is last and place.startswith("on line") else ""
        fix = Fix(f"write {option}", [replace(slip.option_span, option if slip.written[1] == "-" else option[1:3])])
    else:
        abbreviated = setting.written.startswith("--") and setting.written != name
        why = f"it means {name}, which" if abbreviated else name
        shown = f"`{setting.as_written}`" if abbreviated else shown
        message = f"{shown} has no effect: {why} is set again {place}; remove one of them"
    severity = "info" if setting.name in HARMLESS else None
    return Finding(setting.span, message, severity, related, fix)


def _as_it_stands(setting: Setting) -> str:
    """An option for a message, as the script has it: `-n3`, `-n 3`, `--ntasks=3`; its name alone if that is long."""
    written = setting.token.text
    if setting.value_token is not None and setting.separate:
        written = f"{written} {setting.value_token.text}"
    return f"`{written}`" if written.startswith(setting.written) and len(written) <= _LONG else setting.shown


def _meant_for_other_log(block: Directives, setting: Setting, last: Setting) -> Setting | None:
    """Which of two settings of --output, or of --error, names the other log, that nothing sets; None where unclear."""
    if setting.name not in OTHER_LOG or block.last(OTHER_LOG[setting.name][0]) is not None:
        return None
    found = [each for each in (setting, last) if OTHER_LOG[setting.name][1].search(each.text or "")]
    return found[0] if len(found) == 1 else None


def _adds_type(setting: Setting, last: Setting) -> bool:
    """Whether a later `--gres` requests as many as an earlier one, and says of which type: `gpu:1`, `gpu:a100:1`."""
    earlier, later = (setting.text or "").split(":"), (last.text or "").split(":")
    count = earlier[1] if len(earlier) > 1 else "1"
    return len(earlier) < 3 and len(later) == 3 and later[0] == earlier[0] and later[2] == count


def _mixes_types(setting: Setting, last: Setting) -> bool:
    """Whether two `--gres` name the same resource with a type and without one: `gpu:4`, `gpu:a100:1`."""
    typed: dict[str, set[bool]] = {}
    for item in f"{setting.text or ''},{last.text or ''}".split(","):
        name, *rest = item.split(":")
        typed.setdefault(name, set()).add(len(rest) > 1 or bool(rest) and not rest[0][:1].isdigit())
    return any(len(each) > 1 for each in typed.values())


def _mail_types(block: Directives, settings: Sequence[Setting], place: str) -> tuple[str, Fix | None]:
    """The message and fix for several --mail-type, whose lists add up until 24.11."""
    majors = block.versions.majors
    adding = [each for each in majors if is_before(each, "25.05")]
    message = f"--mail-type is set again {place}"
    if not adding:
        message += ", and only the last takes effect"
    elif len(adding) == len(majors):
        message += ", and Slurm 25.05 and later use only the last"
    else:
        message += ": Slurm before 25.05 merges the lists, later releases use only the last"
    words: dict[str, str] = {}
    for setting in settings:
        for word in (setting.text or "").split(","):
            if not re.fullmatch(r"[A-Za-z0-9_]+", word) or word.upper() == "NONE":
                return f"{message}; write one list", None
            words.setdefault(word.upper(), word)
    merged = f"--mail-type={','.join(words.values())}"
    message += f"; write only {merged}" if len(message) + len(merged) + 13 <= MOST else "; write one list"
    edits = [*removal(block, settings[:-1]), replacement(block, settings[-1], ",".join(words.values()))]
    # a comment beside the list would say less than the list
    return message, Fix("write one list", edits, safe=settings[-1].line.comment is None)


def _events(setting: Setting) -> set[str]:
    words = {word.strip().upper() for word in (setting.text or "").split(",")}
    if "ALL" in words:
        words |= {"BEGIN", "END", "FAIL", "REQUEUE", "INVALID_DEPEND", "STAGE_OUT"}
    return words


def _one_list(setting: Setting, last: Setting) -> str | None:
    """One list of both values, where they clearly name different things; None otherwise."""
    if last.name not in ("exclude", "export", "gres", "licenses"):
        return None
    items = [item for each in (setting, last) for item in (each.text or "").split(",")]
    names = [re.split(r"[:=*/]", item)[0] if last.name != "exclude" else item for item in items]
    fits = all(names) and len(set(names)) == len(names) and not any(set(item) & set("[]\"' ") for item in items)
    return ",".join(items) if fits and not {"NONE", "NIL", "none"} & set(names) else None


def _meaning(setting: Setting) -> object:
    """The meaning of a value: `1:00:00` equals `60`, and `4G` equals `4096`."""
    kind = setting.option.kind if setting.option is not None else ""
    number = None
    if setting.text is not None and kind in ("time", "mem"):
        number = limit_seconds(setting.text) if kind == "time" else megabytes(setting.text)
    return setting.text if number is None else number


def _is_alternative(string: str, setting: Setting) -> bool:
    """Whether the comment on its own line says that one setting replaces another."""
    start = setting.line.comment_start
    return start >= 0 and ALTERNATIVE.search(string, start, setting.line.end) is not None


def _last_alternative(string: str, start: int, end: int) -> int:
    """The offset of the last comment line in the range that names an alternative; -1 if there is none."""
    lines = [match for match in _COMMENT_LINE.finditer(string, start, end) if ALTERNATIVE.search(match[0])]
    return lines[-1].start() if lines else -1


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--output=out/job_%j.log»
        #SBATCH --output=err/job_%j.log
        srun ./a.out
        """,
        unsafe_fixed={"--output=err/job_%j.log": "--error=err/job_%j.log"},
        title="the name of the other log",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-e job.out»
        #SBATCH -e job.err
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH -e job.out": "#SBATCH -o job.out"},
        title="the first is meant for the other",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--time=1:00:00»
        #SBATCH --nodes=2
        #SBATCH -t 4:00:00
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --time=1:00:00\n": ""},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--mail-type=BEGIN»
        #SBATCH --mail-type=END,FAIL
        srun ./a.out
        """,
        fixed={"#SBATCH --mail-type=BEGIN\n#SBATCH --mail-type=END,FAIL": "#SBATCH --mail-type=BEGIN,END,FAIL"},
        title="mails that no longer come after an upgrade",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres=gpu:2»
        #SBATCH --gres=nvme:100
        srun ./a.out
        """,
        unsafe_fixed={"#SBATCH --gres=gpu:2\n#SBATCH --gres=nvme:100": "#SBATCH --gres=gpu:2,nvme:100"},
        title="lists do not add up",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-N 2» --time=60
        #SBATCH --nodes=2
        srun ./a.out
        """,
        fixed={"-N 2 --time=60": "--time=60"},
        severity="info",
        title="the same again",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --mail-type=END
        #SBATCH hetjob
        #SBATCH --nodes=4
        srun ./a.out
        """,
        title="each component has its own",
    ),
    Good("#!/bin/bash\n#SBATCH --container-mounts=/a:/a\n#SBATCH --container-mounts=/b:/b\nsrun ./a.out\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --partition=short
        # uncomment on the new nodes
        #SBATCH --partition=long
        srun ./a.out
        """,
        title="said to be an alternative",
    ),
]
