"""`$USER` stays `$USER`: nothing expands variables in a directive.

sbatch reads `#SBATCH` lines itself, long before a shell sees the script. `--output=$HOME/%j.out` is a path below a
folder named `$HOME`; `--nodes=$N` is refused. `--chdir=$HOME` is the folder `$HOME` below that of the submission: with
an absolute `--output` the job runs in /tmp instead; without one it fails before 23.02, with exit code 0:53 and no log,
and from 23.02 on Slurm creates a folder of that name for the log, in which the job runs. A warning where the site
decides what follows, as for `--account=$ACCOUNT`, or where only a name or an address is wrong: that of the job, or of a
log; advice for an address to which no mail goes, without --mail-type. A blank ends the value also inside `${X:?not
set}`: sbatch refuses the word that is left. Before 23.02 a log in a folder that does not
exist makes the job fail: an error where `slurm-version` names such a release. Variables in `--container-mounts` are
advice, as pyxis before 0.24 writes each mount into a file that a shell reads; a warning where the script itself sets
the variable, which is too late.

## Fix

In `--output`, `--error` and `--input` sbatch has patterns of its own: `$USER` becomes `%u`, `$SLURM_JOB_ID` becomes
`%j`, and so on. Safe: the pattern gives the value that the variable was meant to give. Other options have no patterns,
and no fix.

## References

`enroot_create_start_config()` in pyxis_slurmstepd.c;
sbatch(1), "filename pattern"; `get_argument()` and `_fullpath()` in src/sbatch/opt.c, Slurm 20.11 to 26.05;
a live run of 22.05 with `--chdir=$HOME`.
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.directives.typos import EXPANSION
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.grammar.patterns import VARIABLES
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Written

CARD = Card(
    "SB115", "expansion-in-directive", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Written("expansion"),
)  # fmt: skip

# An expansion that does not end, and a value with complete expansions.
OPEN = Regex(r"\$\([^()]*\Z|\$\{[^}]*\Z")
CLOSED = Regex(r"(?>\$\([^()]{0,500}\)|\$\{[^}]{0,500}\}|`[^`]{0,500}`|[^\s`])*")
HOME = Regex(r"[\"']?~(?:\w*/|[\"']?$)")
TEXTS = ("comment", "extra")
# Options whose values Slurm does not refuse everywhere, and that make no job fail.
UNCHECKED = (*TEXTS, "account", "job-name", "mail-user", "qos", "wckey")
VARIABLE = Regex(r"\$\{?(\w+)\}?")
PATTERNS = {
    **{name: f"%{letter}" for letter, name in VARIABLES.items()},
    **dict.fromkeys(("LOGNAME", "SLURM_JOB_USER"), "%u"),
    **dict.fromkeys(("SLURM_JOBID", "J"), "%j"),
    "HOSTNAME": "%N",
    "SLURM_RESTART_COUNT": "%r",
}
# What is left of an expansion behind a blank: a word that is no option.
STRAY = Regex(r"[ \t]+([^\s#-]\S*)")
LOGS = ("output", "error", "input")
_LONGEST = 40  # characters of a value that a message shows
PATHS = (*LOGS, "chdir", "container", "container-image", "container-mounts", "container-workdir", "container-save")
# Rendered by something else before sbatch sees it.
TEMPLATE = Regex(r"\{\{|\{%|<%|!TBG_|@[A-Z_]+@")
TEMPLATE_FILE = Regex(r"\.(?:j2|jinja2?|tmpl|tpl|template|envsubst|in|mustache|erb|mako|ejs|hbs)$|(?i:template)")


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    if job.directives_expand or TEMPLATE_FILE.search(job.source.path.rpartition("/")[2]):
        return
    if any(TEMPLATE.search(job.source.slice(line.span)) for line in directives.lines):
        return
    for setting in directives.settings:
        option = setting.option
        if setting.value_span is None or option is None or option.early or option.plugin not in (None, "pyxis"):
            continue
        span = _whole_value(job, setting.value_span)
        raw = job.source.slice(span)
        found = [match.group(1) for match in EXPANSION.finditer(raw)]
        if setting.name in TEXTS:
            found = [each for each in found if not is_number(each[1:])]  # `$5` is a price
        if not found:
            if setting.name in PATHS and HOME.match(raw):
                message = f"sbatch does not expand `~`{_effect(setting, '~', raw)}; {_advice(setting, [])}"
                yield Finding(span, message, "warning" if _is_only_misnamed(job, setting, raw) else None)
            continue
        pattern = _pattern(job, raw) if setting.name in LOGS else None
        advice, fix = _advice(setting, found), None
        if pattern is not None:
            advice, fix = f"write {pattern}", Fix("use sbatch's own patterns", [replace(span, pattern)], safe=True)
        shown = found[0] if found[0][0] == "`" else f"`{found[0]}`"
        message = f"sbatch does not expand {shown}{_effect(setting, shown.strip('`'), raw)}; {advice}"
        only_misnamed = span == setting.value_span and _is_only_misnamed(job, setting, raw)
        severity = "warning" if setting.name in UNCHECKED or only_misnamed else None
        stray = STRAY.match(job.source.text, setting.value_span.end, span.end)
        if stray is not None and pattern is None:
            advice = _advice(setting, found).replace(" to sbatch", " instead")
            message, severity = f"the space ends this value, and sbatch refuses `{stray[1]}`; {advice}", None
        if setting.name == "container-mounts":
            # pyxis writes each mount into a file that enroot's shell reads, with the environment of the job
            own = {each.name for each in job.assignments}
            names = [match[1] for match in map(VARIABLE.fullmatch, found) if match is not None]
            severity = "info" if own.isdisjoint(names) else "warning"
            message = f"sbatch does not expand {shown}: only pyxis before 0.24 does; {_advice(setting, found)}"
        if setting.name == "mail-user" and stray is None and not job.request.has_option("mail-type"):
            severity = "info"  # no mail is sent to anybody
        # a script without a command is a header for scripts that another program generates
        yield Finding(span, message, severity if job.program.statements else "info", fix=fix)


def _is_only_misnamed(job: Job, setting: Setting, raw: str) -> bool:
    """Whether a log only gets a literal name, in a folder that is there, or that Slurm creates (from 23.02 on)."""
    found = EXPANSION.search(raw)
    in_folder = "/" in (raw if found is None else raw[found.start(1) :])
    missing = in_folder and job.site.versions_named and is_before(job.versions.majors[0], "23.02")
    return setting.name in ("output", "error") and not missing


def _whole_value(job: Job, value: Span) -> Span:
    """The value with the rest of an expansion that a space or a `#` cuts off: `$(date +%F).out`, `${#list[@]}`."""
    raw = job.source.slice(value)
    if raw.count("`") % 2 == 0 and not OPEN.search(raw):
        return value
    end = job.source.line_of(value.start).end
    whole = CLOSED.match(job.source.text, value.start, end)
    return Span(value.start, max(value.end, whole.end())) if whole is not None else value


def _pattern(job: Job, raw: str) -> str | None:
    """The value with patterns of sbatch instead of variables; None where a variable has no pattern."""
    if "\\" in raw or "~" in raw[:2]:
        return None
    parts: list[str] = []
    at = 0
    for match in EXPANSION.finditer(raw):
        variable = VARIABLE.fullmatch(match.group(1))
        pattern = PATTERNS.get(variable.group(1)) if variable is not None else None
        start = match.start(1)
        if pattern is None or raw[start - 1 : start] == "%":
            return None
        if pattern == "%r" and is_before(job.versions.first, "25.11"):
            return None
        parts += [raw[at:start], pattern]
        at = match.end(1)
    return "".join(parts) + raw[at:]


def _effect(setting: Setting, expansion: str, raw: str) -> str:
    """What sbatch does with a value instead: an expansion in it, and all of it as the script has it."""
    name = setting.name
    if name in LOGS:
        return " and uses it literally in the path"
    if name == "chdir":
        return ", so the job fails or runs in the wrong folder"
    whole = raw if setting.text is None or expansion not in setting.text else setting.text  # without its quotes
    if len(whole) > _LONGEST or "`" in whole:
        return f", so --{name} keeps these characters"
    return f": --{name} is literally `{whole}`"


def _advice(setting: Setting, found: Sequence[str]) -> str:
    if setting.name not in LOGS:
        return f"write the value, or pass --{setting.name} to sbatch"
    variables = [(each, VARIABLE.fullmatch(each)) for each in found]
    named = {PATTERNS.get(match[1], ""): each for each, match in variables if match is not None}
    named.pop("%r", None)  # of new releases only
    known = next(((pattern, each) for pattern, each in named.items() if pattern), None)
    if known is not None:
        return f"write the path itself, with {known[0]} for `{known[1]}`"
    return f"write the path itself, or pass --{setting.name} to sbatch"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH -o «logs/$USER/${SLURM_JOB_NAME}-$SLURM_JOB_ID.out»
        srun ./a.out
        """,
        fixed={"logs/$USER/${SLURM_JOB_NAME}-$SLURM_JOB_ID.out": "logs/%u/%x-%j.out"},
        severity="warning",
    ),
    Bad("#!/bin/bash\n#SBATCH --input=«$SCRATCH/in.txt» --chdir=«${HOME}/run»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=«$NODES»\nsrun ./a.out\n"),
    Bad(
        "#!/bin/bash\n#SBATCH --output=«logs/run_${SLURM_JOB_ID}.out»\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --output=logs/run_%j.out\nsrun ./a.out\n",
        severity="warning",
        title="only the log is misnamed",
    ),
    Bad('#!/bin/bash\n#SBATCH -J «"run-$(date +%F)"» -A «$PROJECT»\nsrun ./a.out\n', severity="warning"),
    Bad("#!/bin/bash\n#SBATCH --error=«~/logs/%j.err»\nsrun ./a.out\n", severity="warning"),
    Bad(
        "#!/bin/bash\n#SBATCH --container-mounts=«$PWD:/work»\nsrun ./a.out\n",
        severity="info",
        title="a shell of pyxis may expand it",
    ),
    Good("#!/bin/bash\n#SBATCH --output=logs/%x-%j.out --comment='costs 5$' -J \\$USER\nsrun ./a.out\n"),
    Good(
        """\
        #!/bin/bash
        sbatch <<EOF
        #!/bin/bash
        #SBATCH --job-name=$1 --output=$HOME/%j.out
        srun ./a.out
        EOF
        """,
        title="the outer shell expands it",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes={{ nodes }} --output=${LOGS}/%j.out\nsrun ./a.out\n", title="a template"),
]
