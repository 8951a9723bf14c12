"""sbatch refuses the script: the value of an option is not valid, is missing, or does not belong there.

`--exclusive=yes`, `--hint=no_multithread`, `--distribution=plane:4`, `--kill-on-invalid-dep=true`, `--gres=gpu:`:
sbatch or the controller refuses the script, and nothing is submitted. Some forms exist only from a later release on:
`--gres=gpu=4` (23.11). `--wait=60` has a needless value. A `--job-name` that ends its line takes the next word of the
block as its value: the job is called `--nodes=2`, and has no such option (a warning where only logs, mail or names are
lost that way). Names that only the site knows (GRES, features, licences) are not checked.

Options of srun, sbatch and salloc on a command line are checked too. Two options without a space between them are one:
`--container-image=train.sqsh--gres=gpu:8` names an image, and no GPUs are requested.

## Fix

Writes the word that was probably meant, or removes the value from an option that takes none. A guess, and so unsafe.

## References

sbatch(1); `arg_set_*()` in src/common/slurm_opt.c, src/common/proc_args.c, `slurm_get_next_tres()` in
src/common/slurm_protocol_defs.c, `_feature_string2list()` in src/slurmctld/job_scheduler.c, Slurm 20.11 to 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import are_only_told
from sbatchlint.analysis.directives.typos import swallowed_option
from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import Problem, Setting
from sbatchlint.slurm.options import find, table
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Problems, Refused, Written

CARD = Card(
    "SB130", "invalid-choice", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Refused("choice", "resource") | Problems("missing-value", "unexpected-value") | Written("later", "glued"),
)  # fmt: skip

# An option within a value, without a space before it.
GLUED = Regex(r"[^-\s,:=/]--([a-z][a-z-]+)(?==)")
# Options whose value was added or removed in some release: their own checks report them.
CHANGED = ("get-user-env", "requeue")


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "choice", "resource"):
        option = f"--{wrong.setting.name}"
        if wrong.reason.endswith(" ends sbatch"):
            yield Finding(wrong.span, f"{option}={wrong.reason}, so nothing is submitted; remove the option")
            continue
        message, fix = wrong.fault, None
        if wrong.instead is not None:
            written = f"{option}={wrong.instead}" if wrong.instead else option
            message = f"{message}; write {written}"
            fix = Fix(f"write {written}", wrong.edits) if wrong.edits else None
        else:
            advice = next((f"; {each}" for end, each in _INSTEAD.items() if wrong.reason.endswith(end)), "")
            if advice and "{" in (wrong.setting.text or ""):  # as in a template
                message = message.replace(" refuses ", " would refuse ", 1)
                advice += ", unless another program fills in the `{…}`"
            message += advice
        # what the site decides
        severity = "warning" if "unless the site" in message else None
        yield Finding(wrong.span, message, severity, fix=fix, versions=wrong.versions)
    for block in option_blocks(job):
        for problem in block.problems:
            if problem.kind == "missing-value":
                yield from _missing(job, block, problem)
            elif problem.kind == "unexpected-value" and problem.candidates[0] not in CHANGED:
                yield _unexpected(job, block, problem)
        yield from _glued(block)
    for setting in job.directives.every_setting:
        if swallowed_option(setting):
            message = f"--{setting.name} has no value, so sbatch reads `{setting.text}` on a later line as its value"
            yield Finding(setting.option_span, f"{message}; write the value", _severity_of_swallowed(job, setting))


# What to write, by what is wrong.
_INSTEAD = {
    "is not a number": "write one",
    "the number is missing": "write it",
    "the type is missing": "write it",
    "a bracket is not closed": "close it",
    "cannot be requested per task": "request it for the job",
    "cannot be part of a name": "remove it",
    "only one pair of brackets is allowed": "write one pair",
    "unless the site sets CpuFreqDef": "append `:OnDemand`",
}


def _severity_of_swallowed(job: Job, setting: Setting) -> str | None:
    """A warning where two options for reports about a job are lost, and nothing is left to be refused."""
    word, line = setting.text or "", setting.value_line
    letters = table("sbatch", job.versions.last).letters
    option = find(word[2:].partition("=")[0]) if word[:2] == "--" else letters.get(word[1:2])
    alone = line is not None and len(line.tokens) == 1
    return "warning" if alone and option is not None and are_only_told((setting.name, option.name)) else None


def _glued(block: Directives) -> Iterator[Finding]:
    """Findings on options that are part of a value, as a space is missing before them: `--output=log--gres=gpu:1`."""
    for setting in block.settings:
        match = None if not setting.value else GLUED.search(setting.value)
        if match is None or setting.value_span is None or find(match[1], block.command) is None:
            continue
        option = f"--{match[1]}"
        yield Finding(
            setting.value_span,
            f"`{option}` becomes part of the value of --{setting.name}; put a space before `{option}`",
        )


def _missing(job: Job, block: Directives, problem: Problem) -> Iterator[Finding]:
    unknown = [each.token for each in block.problems if each.kind == "unknown-option"]
    if any(token is problem.token for token in unknown) or _is_cut_off(block, problem):
        return
    when = job.versions.suffix(problem.versions)
    message = f"--{problem.candidates[0]} needs a value, so {_refuses(job, block)}{when}; write the value"
    yield Finding(problem.span, message, versions=problem.versions)


def _unexpected(job: Job, block: Directives, problem: Problem) -> Finding:
    option, when = f"--{problem.candidates[0]}", job.versions.suffix(problem.versions)
    fix = None
    if problem.token is not None and job.source.slice(problem.span) == problem.token.text:
        surplus = Span(problem.span.start + len(problem.written), problem.span.end)
        fix = Fix("remove the value", [remove(surplus)])
    message = f"{option} takes no value, so {_refuses(job, block)}{when}; write {option} alone"
    return Finding(problem.span, message, fix=fix, versions=problem.versions)


def _refuses(job: Job, block: Directives) -> str:
    return "sbatch refuses the script" if block is job.directives else f"{block.command} refuses it"


def _is_cut_off(block: Directives, problem: Problem) -> bool:
    """Whether a fault of the line keeps sbatch from reading the value: a quote, an empty word, a `#` before it."""
    line = problem.line
    if not line.tokens or line.tokens[-1] is not problem.token:
        return False
    after = line.comment_start + 1
    hidden = line.comment is not None and block.text.string[after : after + 1] not in " \t#\n"
    return line.fault is not None or line.dropped is not None or hidden


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --exclusive=«yes» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"--exclusive=yes": "--exclusive"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --hint=«no_multithread»
        srun ./a.out
        """,
        unsafe_fixed={"--hint=no_multithread": "--hint=nomultithread"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -m «plane:4»
        srun ./a.out
        """,
        unsafe_fixed={"plane:4": "plane=4"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=«gpu=4»
        srun ./a.out
        """,
        unsafe_fixed={"--gres=gpu=4": "--gres=gpu:4"},
        title="`=` before a number, from 23.11 on",
        severity="info",
    ),
    Bad("#!/bin/bash\n#SBATCH --constraint=«[a|b»\nsrun ./a.out\n", title="signs that do not match"),
    Bad("#!/bin/bash\n#SBATCH --gres=«gpu:»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --hint=«help»\nsrun ./a.out\n", title="ends sbatch"),
    Good("#!/bin/bash\n#SBATCH --exclusive=user --open-mode=append --no-kill\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --gres=gpu:a100:4,nvme --gpus=gpu:4\nsrun ./a.out\n", title="names of the site"),
    Good("#!/bin/bash\n#SBATCH -m cyclic:fcyclic,pack\n#SBATCH --propagate=STACK,CORE\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -C '[rack1|rack2]' --licenses=matlab:2,ansys\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --gres=gpu=4\nsrun ./a.out\n", settings={"slurm-version": "23.11-26.05"}),
]
