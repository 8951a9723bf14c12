"""Tasks may get only one CPU: srun of Slurm 22.05 and 23.02 does not inherit `--cpus-per-task`.

In these releases srun reads SRUN_CPUS_PER_TASK, which sbatch does not set, and no longer SLURM_CPUS_PER_TASK, which it
does: each task counts as one CPU. Where tasks are bound (with `--exact`, `--cpu-bind=cores`, `--hint` or
`--threads-per-core`, of the step or of the job), eight workers or threads share one core, without a warning. Without
any of these a step has all CPUs of the job on its nodes, and its tasks are not bound; then it only matters at sites
that bind by default (`TaskPluginParam=autobind`), which the profile of the cluster says (docs/site.md). Before
22.05 and from 23.11 on srun inherits the job's number.

Reported once per script, at its main step. Advice, unless the setting `slurm-version` names one of these releases: then
an error where tasks are bound, and a warning elsewhere.

## Fix

Adds `--cpus-per-task=$SLURM_CPUS_PER_TASK` to every such srun, which is right in every release. Safe where
the tasks of the step are those of the job, and the job has no more than it requests. Unsafe for a step with its own
number of tasks, which may rely on all CPUs of the job, and in a job that has whole nodes (`--exclusive`, `--mem=0`):
a step with the option is an exact one, and has only the CPUs of its tasks and their share of the memory, where a plain
srun has the whole node. Where the partition gives whole nodes, add `--mem=0` to the srun if it needs all of the memory.

## References

`env_vars[]` in src/srun/opt.c and src/srun/libsrun/opt.c, Slurm 20.11 to 26.05; `lllp_distribution()` in
src/plugins/task/affinity/dist_tasks.c; live runs of 22.05 with task/affinity, and of
22.05.8 with `--exclusive -c 8` (a plain step: 64 CPUs, 125 GB; with the option: 8 CPUs, 16 GB); srun(1), --cpu-bind
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.directives.conflicts import conflicts
from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.installs import install_of
from sbatchlint.analysis.script.work import step_programs
from sbatchlint.bash.trace import Invocation, exported, is_set
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.step_cpus import NOT_INHERITING
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.triggers import Options

_LONGEST = 102  # characters of what happens, before the advice

CARD = Card(
    "SB804", "cpus-per-task-not-passed", severity="info", fix="sometimes", since="0.1.0",
    when=Options("cpus-per-task"), batch=True, certain=True, absent=True,
)  # fmt: skip

# Options of srun that set the CPUs of a task, or change how it is started.
OWN = ("cpus-per-task", "cpus-per-gpu", "tres-per-task", "whole", "multi-prog")
CLIENTS = ("docker", "apt", "apt-get", "dnf", "yum")
# Values of --cpu-bind: those that bind each task to its own CPUs, and those for verbosity; all others bind otherwise.
BINDING = ("threads", "cores", "rank")
VERBOSITY = ("q", "quiet", "v", "verbose")
# Options that bind tasks to single CPUs: those that srun also inherits from the job, and those of a step only.
BINDING_OPTIONS = ("hint", "threads-per-core")
EXACT_OPTIONS = ("exact", "exclusive", "ntasks-per-core")


def check(job: Job) -> Iterator[Finding]:
    releases = tuple(each for each in job.versions.majors if each in NOT_INHERITING)
    if not releases:
        return
    steps = [step for step in job.steps if _is_short(step)]
    if not steps or any("cpus-per-task" in step.options for step in job.steps):
        return  # a script that sets the CPUs of one step may intend one for the others
    launching = {id(each.step) for each in job.launches}
    dropped = _dropped(job, releases)
    bound = [step for step in steps if _binds(step, dropped)] or steps
    main = next((step for step in bound if id(step) in launching), bound[-1])
    setting, reason = main.request.setting("cpus-per-task"), _binds(main, dropped)
    assert setting is not None
    binds = _site_binds(job)
    if not reason and binds is False:
        return
    others = {step.place: step for step in steps if step.place != main.place}
    each_task = "the task" if main.tasks == 1 else "each task"
    if reason:
        if reason.startswith("--cpu-bind") and main.option("cpu-bind") is None:
            reason = f"SLURM_CPU_BIND={reason.partition('=')[2]}"  # exported
        consequence = f", so `{reason}` binds {each_task} to one CPU"
    elif binds is None:
        consequence = f", so {each_task} may get {'' if others else 'only '}one CPU"
    else:
        consequence = f", so this cluster binds {each_task} to one CPU"
    option = setting.shown if setting.text is None or len(setting.text) > 30 else f"`{setting.as_written}`"
    begins = f"srun in Slurm {' and '.join(releases)} does not inherit {option}"
    if len(begins + consequence) > _LONGEST:
        consequence = consequence.replace(f"`{reason}` binds", "srun binds")
    dollar = "\\$" if job.directives_expand else "$"  # the shell that submits it expands another
    yield Finding(
        main.place,
        f"{begins}{consequence}; add `-c {dollar}SLURM_CPUS_PER_TASK`{' to each srun' * bool(others)}",
        "error" if reason or binds else "warning",
        related=[(setting.span, "the CPUs of one task"), *((place, "here too") for place in others)],
        fix=partial(_fix, job, steps),
        versions=releases,
    )


def _site_binds(job: Job) -> bool | None:
    """Whether the cluster binds tasks where nothing asks for it; None where that is not known."""
    profile = job.site.profile
    if profile is None or profile.task_parameters is None:
        return None
    return "affinity" in profile.task_plugins and any("autobind" in each for each in profile.task_parameters)


def _dropped(job: Job, releases: tuple[str, ...]) -> frozenset[str]:
    """The options of the job that sbatch drops, in all of these releases: a hint beside another option."""
    hints = [each for each in conflicts(job) if each.kind == "hint" and set(releases) <= set(each.ignored)]
    return frozenset({"hint"} if hints else ())


def _binds(step: Step, dropped: frozenset[str]) -> str:
    """The option that binds each of a step's tasks to one CPU, as written; '' where the site decides that.

    `dropped`: the options of the job that sbatch drops.
    """
    bind = step.option("cpu-bind")
    own = _bind_variable(step) if bind is None else bind.text
    if own is not None and any(word in BINDING for word in _words(own)):
        return f"--cpu-bind={own}" if bind is None else bind.as_written
    for name in (*EXACT_OPTIONS, *BINDING_OPTIONS):
        option = step.option(name)
        if option is not None:
            return option.as_written if option.value is not None else option.written
    settings = (step.request.setting(name) for name in BINDING_OPTIONS if name not in dropped)
    return next((each.as_written for each in settings if each is not None), "")


def _bind_variable(step: Step) -> str | None:
    """The value of the script's own SLURM_CPU_BIND; '' where it is not set, None where it is unknown."""
    field = _variable(step, "SLURM_CPU_BIND")
    if field is None:
        return None if is_set(step.invocation, "SLURM_CPU_BIND") else ""
    return text_of(field)


def _variable(step: Step, name: str) -> Pieces | None:
    """The value that an srun gets in a variable, where the script sets it to just one."""
    return dict(step.invocation.variables).get(name) or exported(step.invocation, name)


def _words(text: str) -> list[str]:
    return [word for word in text.lower().split(",") if word and word not in VERBOSITY]


def _is_short(step: Step) -> bool:
    """Whether a step certainly counts one CPU per task, and runs work that needs more."""
    cpus = whole(step.request.value("cpus-per-task"))
    if not cpus or cpus < 2 or not step.certain or step.in_other_job or any(name in step.options for name in OWN):
        return False
    if step.invocation.gets("SRUN_CPUS_PER_TASK") or text_of(_variable(step, "OMP_NUM_THREADS") or ()) == "1":
        return False
    bind = step.option("cpu-bind")
    how = _bind_variable(step) if bind is None else bind.text
    if how is None or any(word not in BINDING for word in _words(how)):
        return False
    if step.program and not any(map(_works_here, step_programs(step))):
        return False
    return _takes_whole_tasks(step, cpus)


def _works_here(command: Invocation) -> bool:
    """Whether a command is work that runs on the CPUs of its task, unlike in a docker container."""
    container, installs = container_of(command), install_of(command)
    if command.name in CLIENTS or container is not None and container.kind == "docker":
        return False
    return installs is None or installs.kind == "uv run"


def _takes_whole_tasks(step: Step, cpus: int) -> bool:
    """Whether the step's tasks are those of the job, and not slots that several steps share."""
    if step.invocation.context.background and any(name in step.options for name in ("exact", "exclusive")):
        return False
    if step.option("ntasks") is None:
        return True
    job, own = step.request.effective_tasks(), step.tasks
    if own is None:
        return step.tasks_per_node == 1 or step.request.has_any_option(("ntasks", "ntasks-per-node"))
    return own == 1 or job is not None and own <= job


def _fix(job: Job, steps: list[Step]) -> Fix | None:
    safe = all("ntasks" not in step.options for step in steps) and not _is_whole(job)
    option, after = "--cpus-per-task=$SLURM_CPUS_PER_TASK", ("ntasks", "ntasks-per-node", "nodes")
    return with_step_option(job, steps, option, "pass --cpus-per-task to each srun", after, safe=safe)


def _is_whole(job: Job) -> bool:
    """Whether a job may have more CPUs or memory on its nodes than those of its tasks."""
    memory = job.request.memory
    return job.request.has_option("exclusive") or memory is not None and not memory.megabytes


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4
        #SBATCH --cpus-per-task=8 --hint=nomultithread
        «srun» python train.py --workers 8
        """,
        fixed={"srun python": "srun --cpus-per-task=$SLURM_CPUS_PER_TASK python"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1
        #SBATCH --cpus-per-task=8
        «srun» python train.py --workers 8
        """,
        fixed={"srun python": "srun --cpus-per-task=$SLURM_CPUS_PER_TASK python"},
        title="where only the site may bind tasks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 -c 16
        «srun» --cpu-bind=cores ./solver input.nml
        """,
        fixed={"srun --cpu-bind=cores": "srun --cpus-per-task=$SLURM_CPUS_PER_TASK --cpu-bind=cores"},
        severity="error",
        settings={"slurm-version": "23.02"},
        title="where 23.02 is what the site has",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive --ntasks=1 -c 8
        «srun» python train.py --workers 8
        """,
        unsafe_fixed={"srun python": "srun --cpus-per-task=$SLURM_CPUS_PER_TASK python"},
        title="the step has the whole node so far",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=1 -c 8\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun python train.py\n",
        title="by the variable that srun reads",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=1 -c 8\nsrun -c $SLURM_CPUS_PER_TASK python train.py\n"),
    Good(
        "#!/bin/bash\n#SBATCH --ntasks=1 -c 8\nsrun python train.py\n",
        settings={"slurm-version": "23.11-26.05"},
        title="releases that take it over",
    ),
    Good("#!/bin/bash\n#SBATCH -n 2 -c 8\nsrun hostname\nsrun --cpu-bind=none ./a.out\n", title="nothing is bound"),
]
