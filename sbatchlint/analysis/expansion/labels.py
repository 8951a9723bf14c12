"""Words that only name something: a step, a run of a tracker, a rendezvous, the subject of a mail.

Whatever a label says, the job computes the same. Options whose value often names a folder of results as well
(`--run-name`, `--exp-name`) are labels only where the question is which of several tasks gives the name.
"""

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options of Slurm, of launchers and of programs that report to a tracker, without dashes and in small letters.
NAMING_OPTIONS = frozenset(
    {"job-name", "comment", "title", "tag", "tags", "notes", "role", "log-prefix", "rdzv-id", "wckey"}
    | {"wandb-name", "wandb-run-name", "wandb-run", "wandb-group", "wandb-run-group", "wandb-project", "wandb-tags"}
    | {"wandb-notes", "wandb-tag", "wandb-exp-name", "wandb-experiment-name", "wandb-job-type", "wandb-entity"}
    | {"wandb-project-name", "wandb-group-name", "tracker-project-name", "mlflow-run-name", "comet-name"}
)
# These, and options whose value may name a folder too.
LABEL_OPTIONS = NAMING_OPTIONS - {"rdzv-id"} | {"tee", "run-name", "name", "exp-name", "experiment-name", "wandb"}
_NAMING_VARIABLES = frozenset(
    {"WANDB_NAME", "WANDB_RUN_NAME", "WANDB_RUN_GROUP", "WANDB_NOTES", "WANDB_TAGS", "WANDB_JOB_TYPE", "WANDB_PROJECT"}
    | {"MLFLOW_RUN_NAME", "MLFLOW_EXPERIMENT_NAME", "COMET_EXPERIMENT_NAME", "COMET_PROJECT_NAME", "NEPTUNE_NAME"}
    | {"PS1", "PROMPT_COMMAND", "SLURM_JOB_NAME", "TORCHELASTIC_RUN_ID"}
)
# An option up to a place in its value, or the short one of a program for which it is a label.
_OPTION = Regex(r"(?<![^\s\"'])(--?)([A-Za-z][\w-]*)(=|[ \t]+)")
_VALUE = Regex(r"\"[^\"]*|'[^']*|[^\s\"';&|]*")
_VARIABLE = Regex(r"(?:^|[\s\"';])([A-Z][A-Z0-9_]*)=(\"[^\"]*|'[^']*|[^\s\"';&|]*)$")
_OF_SCONTROL = Regex(r"(?i)\bscontrol\b.*\s(?:comment|name|jobname)=(?:\"[^\"]*|'[^']*|[^\s\"';&|]*)$")
_SHORT = {"J": frozenset({"srun", "sbatch", "salloc"}), "s": frozenset({"mail", "mailx", "mutt", "nail"})}
_BEFORE = 300  # characters
_ENDS = " \t\n;&|"
# Commands of a function that prints, and how many are looked at.
_LONGEST = 12
# Programs that only show what is known of a job, and those that tell somebody.
_REPORTING = frozenset(
    {"sacct", "seff", "sstat", "squeue", "sinfo", "reportseff", "jobinfo", "jobstats", "wall", "write", "logger"}
    | {"figlet", "banner", "notify-send"}
)
_TELLING = _REPORTING | {"date", "tee", "cat", "[", "[[", "test", "shift", "return", "hostname", "local", "tput"}


def is_in_label(job: Job, span: Span, *, empty: bool = False) -> bool:
    """Whether a place in the script is in a label. `empty`: nothing may be there, which is a label only beside other
    text, or where the empty word is still the option's value."""
    text = job.source.text
    line = job.source.line_of(span.start)
    before = text[max(line.start, span.start - _BEFORE) : span.start]
    variable = _VARIABLE.search(before)
    if variable is not None and variable[1] in _NAMING_VARIABLES or _OF_SCONTROL.search(before) is not None:
        return True
    for option in _OPTION.finditer(before):
        name, value = option[2].lower().replace("_", "-"), before[option.end() :]
        if _VALUE.fullmatch(value) is None or name not in NAMING_OPTIONS and not _is_short(option[2], before):
            continue
        if not empty or value.strip("\"'") or text[span.end : span.end + 1] not in (*_ENDS, "", '"', "'"):
            return True
        # torchrun draws a name of its own for each node where it gets none
        return name != "rdzv-id" and (option[3] == "=" or value != "")
    return False


def _is_short(option: str, before: str) -> bool:
    """Whether an option of one letter is that of a program that takes a label with it."""
    return option in _SHORT and not _SHORT[option].isdisjoint(before.lower().replace("#", "").split())


def only_tells(job: Job, command: Invocation) -> bool:
    """Whether a command, or the function that it calls, only prints its words, or tells them to somebody."""
    if command.name in _REPORTING or has_trait(command.name, "prints"):
        return True
    if not command.calls_function:
        return False
    depth, prints = len(command.context.calls), False
    for each in job.invocations[command.index + 1 : command.index + 1 + _LONGEST]:
        if len(each.context.calls) <= depth:
            return prints
        prints = prints or has_trait(each.name, "prints")
        if not has_trait(each.name, "prints") and each.name not in _TELLING:
            return False
    return False
