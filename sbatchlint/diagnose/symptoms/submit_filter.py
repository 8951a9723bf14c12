"""The rules of a site: job_submit and cli_filter plugins, in words of their own."""

from collections.abc import Callable

from sbatchlint.diagnose.clues import group_matches, possible
from sbatchlint.diagnose.evidence import options, shown, step_options
from sbatchlint.diagnose.questions import submits
from sbatchlint.diagnose.subjects import related_options
from sbatchlint.diagnose.symptom import Cause, Event, Symptom, Verdict
from sbatchlint.job import Job


def _objected(job: Job, event: Event) -> Verdict:
    """The options that the words of the site are about."""
    names = sorted(related_options(event))
    extra = ("partition",) if not {"gres", "account", "qos"}.isdisjoint(names) else ()
    spans = options(job, *names) + step_options(job, *names)
    return shown(spans or options(job, *extra))


def _of(name: str) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out if the rule is not about what this option sets."""
    return lambda event: possible(name in related_options(event))


_RULE = "a rule of the site does not allow the job: its message says which"
_ADVICE = "do as the message says; the site's documentation has the rule"


# The reason is an error of the system or of the way to the controller, not one of the job.
_not_for_the_job = group_matches("reason", r"(?i)transport|connect|timed out|bytes were|communicat|I/O|socket|protocol")


# fmt: off
SYMPTOMS = (
    Symptom(
        id="submission-unspecified",
        title="the submission was refused, for a reason given above",
        docs="A plugin of the site refused the job; what it printed is above this line.\n",
        printed_by="sbatch, srun, salloc",
        releases="src/common/slurm_errno.c, all releases",
        role="consequence",
        literals=("Unspecified error", "cli_filter plugin terminated", "job_submit plugin"),
        patterns=(r"(?:submission failed|allocate resources|submit/allocate failed): Unspecified error", r"cli_filter plugin terminated with error"),
        causes=(Cause("rule", "submission", "a plugin of the site refused the job and gave no reason", "ask the site, with the options of the job", script=submits()),),
        matches="""\
sbatch: error: Batch job submission failed: Unspecified error
srun: error: cli_filter plugin terminated with error
""",
    ),
    Symptom(
        id="submission-refused",
        title="the job was not accepted",
        docs="The text after the last colon is the controller's reason (a text of slurm_errno.c).\n",
        printed_by="sbatch, srun, salloc",
        role="consequence",
        literals=("submission failed:", "allocate resources:", "submit/allocate failed:", "Unable to create step for job", "Unable to confirm allocation for job"),
        patterns=(r"(?:submission failed|allocate resources|submit/allocate failed|(?:create step|confirm allocation) for job \d+): (?P<reason>.+)",),
        causes=(
            Cause("disk-of-controller", "cluster", "the controller could not write the script of the job to its own disk (StateSaveLocation), which is usually full", "nothing of the job: tell your administrators, and submit again when there is room", log=group_matches("reason", "writing script/environment")),
            Cause("controller", "cluster", "Slurm could not accept it: {reason}", "try again later; tell your administrators if it persists", log=_not_for_the_job),
            Cause("refused", "submission", "Slurm did not accept it: {reason}", "see sbatch(1) for what the reason is about", script=submits()),
        ),
        matches="""\
sbatch: error: Batch job submission failed: Burst Buffer request invalid
salloc: error: Job submit/allocate failed: Invalid wckey specification
srun: error: Unable to create step for job 7: Step limit reached for this job
""",
        others="sbatch: Submitted batch job 7\n",
    ),
    Symptom(
        id="site-rule",
        title="a rule of the site does not allow the job",
        docs="""\
A site's job_submit or cli_filter plugin prints its own message, usually right above `Batch job submission failed` or
`cli_filter plugin terminated`. What it objects to is a rule of this site, not of Slurm.
""",
        printed_by="job_submit and cli_filter plugins, by way of sbatch, srun, salloc",
        releases="the site's own; `lua:` is printed by slurm.log_user and log_info of the lua plugins",
        literals=("sbatch: error: ", "salloc: error: ", ": lua: ", "slurm_job_submit", "job_submit.lua", "job_submit/lua"),
        patterns=(
            r"(?:^|Error: |was )(?:sbatch|salloc): error: (?!Batch job submission failed|Job submit/allocate|spank|Allocation|slurm_|\w+_\w+: |Unable to|Memory spec|CPU count)(?!.*(?:[Dd]efault(?:ing)? (?:to|is)|[Uu]sing default|[Ss]etting \S+ to|(?:[Nn]ote|NOTE|INFO|[Ii]nfo|[Ww]arning|WARNING)\b))(?P<rule>\S.{5,})",
            r"(?:sbatch|salloc|srun): (?:error: )?lua: (?P<rule>.+)",
            r"slurm_job_submit:? (?:ERROR|error)|job_submit[./]lua: (?P<rule>.+)",
        ),
        causes=(
            Cause("gpus-of-script", "script", "the site requires that GPUs are requested, and the job asks for none", "ask for those that the program uses: --gpus-per-node=N (or --gres=gpu:TYPE:N, where the site requires a type)", codes=("SB201",), log=_of("gres")),
            Cause("time-of-script", "script", "the site requires a time limit that the job does not set as it should", "set --time, in a form that Slurm reads (D-HH:MM:SS)", codes=("SB121", "SB122"), log=_of("time")),
            Cause("rule-and-script", "script", _RULE, _ADVICE, codes=("SB118",), script=_objected),
            Cause("rule", "submission", _RULE, _ADVICE, script=submits()),
        ),
        matches="""\
submitit.core.utils.FailedJobError: sbatch: error: You must name a type of GPU
sbatch: error: Please name a project with --account; see https://docs.example.org/rules
sbatch: error: !!! slurm_job_submit ERROR: 4711 submitted a job to gpu32 without a GPU account.
srun: lua: at most 193250 MB for each GPU may be asked for.
error: slurm_job_submit ERROR: no GPU asked for
slurmctld: job_submit/lua: the partition needs --time
""",
        others="sbatch: error: Batch job submission failed: Unspecified error\nsbatch: Submitted batch job 12\nsbatch: error: spank: x11.so: Plugin file not found\nsbatch: error: No account specified, defaulting to: lab\n",
    ),
)
