"""Tasks lack PATH and what the script exports: `--export` names variables without ALL.

`--export=NAME=value` is the whole list of what is passed on, not an addition to it: apart from that the tasks only get
Slurm's variables. srun then does not find a program by its name: `execve(): python: No such file or directory`; and a
program with a path runs without what the script has exported. The same holds for `--export=NONE`.

sbatch passes its own `--export` on to every srun of the job (SLURM_EXPORT_ENV), unless it is ALL. The batch script
itself gets an environment like that of a login, so it works, and only the steps fail: for an sbatch that submits
another file, this is advice unless that starts steps. Nothing is reported in a login shell (`#!/bin/bash
-l`), after a sourced file that cannot be read here, or a site's module for Slurm: they may repair just that.

## Fix

Writes `ALL,` before a list, or adds `--export=ALL` to the sruns of a job that has another one. Safe where the step
cannot start as written; unsafe where it only lacks variables.

## References

sbatch(1) and srun(1), --export; src/sbatch/sbatch.c and src/srun/opt.c of 22.05 to 26.05; live runs of 22.05 and
26.05; https://github.com/Azure/az-hop/issues/1119
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.expansion.sourced import reads_startup_files, unclear_sources
from sbatchlint.analysis.script.activations import calls_conda_function, sources_activate
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.job.exports import exports_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_by_place, commands_named
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands, Options, StepOptions, Variables

CARD = Card(
    "SB609", "export-drops-environment", severity="error", fix="sometimes", since="0.1.0",
    when=Options("export") | StepOptions("export") | Commands("sbatch")
    | Variables("SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV"),
    seen="live runs of Slurm 22.05 and 26.05",
)  # fmt: skip

NOTHING = ("NONE", "NIL")
# A module that sets up Slurm itself; not one of a program built for it (`hpl/2.3-slurm`).
_OF_SLURM = Regex(r"(?i)[^/]*slurm")
_STEP = Regex(r"(?m)^[^#\n]*\bsrun\b")
_WRITTEN = Regex(r"--export[= ]([^\s\"'`;&|()]+)(?=[\s;&|)]|\Z)")
_MOST_BYTES = 1 << 16


class Export(NamedTuple):
    """The part of the environment that a step passes on. `names`: of variables. `place`: of the words that set it.

    `own`: whether these are the srun's own. `at`: the offset of its list; None where there is no list, or its place is
    unknown.
    """

    text: str
    names: frozenset[str]
    place: Span
    own: bool
    at: int | None


class Loss(NamedTuple):
    """What the tasks of a step lack. `program`: the one not found without PATH; '' where it is found."""

    step: Step
    export: Export
    program: str
    variables: list[str]
    environment: str


def check(job: Job) -> Iterator[Finding]:
    inherited: list[Loss] = []
    for step in job.steps:
        export = _export(step)
        loss = None if export is None else _loss(job, step, export)
        if loss is not None and loss.export.own:
            yield _of_srun(job, loss)
        elif loss is not None and not _may_pass_all(job, step):
            inherited.append(loss)
    worst = next((each for each in inherited if each.program), inherited[0] if inherited else None)
    if worst is not None:
        yield _of_job(job, worst, inherited)
    elif not any(each.own for each in filter(None, map(_export, job.steps))):
        yield from _of_sbatch(job)


# --- what is passed on ------------------------------------------------------------------------------------


def _export(step: Step) -> Export | None:
    """The part of the environment that a step passes on; None where it is all, or unknown."""
    exports = exports_of(step)
    text = None if exports.value is None else text_of(exports.value)
    if exports.whole_environment or exports.value is None or exports.span is None or not text or {'"', "'"} & set(text):
        return None
    own = step.option("export") is not None
    at = span_of(exports.value).start if own and text.upper() not in NOTHING else None
    return Export(text, frozenset([*exports.names, *dict(exports.values)]), exports.span, own, at)


def _may_pass_all(job: Job, step: Step) -> bool:
    """Whether something that cannot be read here may have set SLURM_EXPORT_ENV before a step."""
    before = step.invocation.index
    unclear = any(each.index < before for each in unclear_sources(job))
    if unclear or reads_startup_files(job.interpreter_line[1].split()):
        return True
    loads = (each for each in commands_named(job, "module", "ml") if each.index < before)
    return any(_OF_SLURM.match(word) for each in loads for word in each.words[1:])


def _loss(job: Job, step: Step, export: Export) -> Loss | None:
    """What a step lacks, where that certainly matters; None in a container, which has its own environment."""
    command = step.invocation
    if not step.certain or step.command is None or step.container is not None or step.in_other_job:
        return None
    program = text_of(command.argv[step.command])
    if program is None or step.option("preserve-env") is not None:
        return None
    if program and "/" not in program and "PATH" not in export.names:
        return Loss(step, export, program, [], "")
    if export.own and export.text.upper() in NOTHING:
        return None  # on purpose
    if has_trait(program.rpartition("/")[2], "looks"):
        return None  # it only prints facts about its node
    lost = (
        name
        for name, variable in command.state.variables.items()
        if variable.exported and variable.alternatives and name not in export.names and not name.startswith("SLURM_")
        if name != "PYTHONPATH" or not _is_found_anyway(job, program)
    )
    own, loading = list(islice(lost, 4)), _first_loading(job)
    loaded = loading is not None and loading.index < command.index
    environment = job.source.slice(loading.span) if loading is not None and loaded else ""
    return Loss(step, export, "", own, environment) if own or environment else None


def _is_found_anyway(job: Job, program: str) -> bool:
    """Whether PYTHONPATH only names folders of the environment of a program: /envs/md/lib/…, for /envs/md/bin/run."""
    prefix, found, _ = program.rpartition("/bin/")
    set_here = [each for each in job.assignments if each.name == "PYTHONPATH"]
    fields = [field for each in set_here for value in each.alternatives for field in (value.fields or ())]
    folders = [part for field in fields for part in shown_text(field).split(":") if part.strip(UNKNOWN_CHARACTER)]
    return bool(found and prefix and folders) and all(each.startswith(f"{prefix}/lib/") for each in folders)


@once
def _first_loading(job: Job) -> Invocation | None:
    """The first command that changes the script's environment."""
    plain = (each for each in job.invocations if each.parent is None and not each.context.captured)
    return next((each for each in plain if _changes_environment(each)), None)


def _changes_environment(command: Invocation) -> bool:
    """Whether a command loads a module, or activates a conda environment."""
    words = [text_of(field) for field in command.argv[:2]]
    if command.name in ("module", "ml") and len(words) > 1:
        return words[1] in ("load", "add") or command.name == "ml" and words[1] not in ("purge", "list", "unload")
    return calls_conda_function(command) and words[1] == "activate" or sources_activate(command)


# --- findings ---------------------------------------------------------------------------------------------


def _lacks(loss: Loss) -> str:
    if loss.program:
        return f"`{loss.program}` is not found"
    shown = ", ".join(loss.variables[:3]) + (" …" if len(loss.variables) > 3 else "")
    return f"the tasks do not get {shown}" if shown else f"the tasks lack the settings of `{loss.environment}`"


def _of_srun(job: Job, loss: Loss) -> Finding:
    export = loss.export
    why = "leaves the tasks without PATH" if loss.program else "passes only what it names"
    if export.at is not None and job.source.text.startswith(export.text, export.at):
        advice = f"write `--export=ALL,{export.text}`"
        fix = Fix("pass ALL too", [insert(export.at, "ALL,")], safe=bool(loss.program))
    elif export.text.upper() in NOTHING:
        advice, fix = "write the path of the program, or `--export=ALL`", None
    else:
        advice, fix = "put ALL before its list", None
    return Finding(
        export.place,
        f"{_lacks(loss)}: `{shortened('--export=' + export.text)}` {why}; {advice}",
        None if loss.program else "warning",
        related=[(loss.step.place, "starts the tasks")] if not loss.program else [],
        fix=fix,
    )


def _of_job(job: Job, loss: Loss, losses: list[Loss]) -> Finding:
    export, steps = loss.export, [each.step for each in losses]
    safe = all(each.program for each in losses)
    places = list(dict.fromkeys(each.place for each in steps))
    names = export.text.upper() not in NOTHING
    why = "without PATH" if loss.program else "which passes only what it names" if names else ""
    happens = f"{_lacks(loss)}: srun inherits the job's `--export={export.text}`"
    severity = None if loss.program else "warning"
    setting = job.request.setting("export")
    if setting is not None and setting.span == export.place and _only_adds(setting):
        value = f"ALL,{setting.text}"
        fix = Fix("pass ALL too", [replacement(job.directives, setting, value)], safe=safe)
        clauses = ", ".join(filter(None, (happens, why)))
        advice = f"write `--export=ALL,{_as_written(job, setting)}`"
        message = f"{clauses}; {advice}"
        if len(message) > MOST:
            message = f"{clauses.replace(f'`--export={export.text}`', '--export')}; {advice}"
        related = [(each, "starts the tasks") for each in places][:3]
        return Finding(setting.span, message, severity, related=related, fix=fix)
    return Finding(
        loss.step.place,
        f"{happens} (line {job.line(export.place.start)}){why and f', {why}'}; add --export=ALL to the srun",
        severity,
        related=[
            (export.place, "also applies to srun"),
            *((each, "here too") for each in places if each != loss.step.place),
        ][:4],
        fix=with_step_option(job, steps, "--export=ALL", "pass the environment", ("ntasks", "nodes"), safe=safe),
    )


def _of_sbatch(job: Job) -> Iterator[Finding]:
    """Findings for lists with nothing but values, which were meant as additions."""
    for block in option_blocks(job):
        if block.command != "sbatch":
            continue
        setting = block.last("export")
        if setting is None or setting.text is None or not _only_adds(setting):
            continue
        own = block is job.directives
        names = " and ".join(each.partition("=")[0] for each in setting.text.split(",")[:2])
        names += " …" if setting.text.count(",") > 1 else ""
        gets = f"{'this' if own else 'the submitted'} job gets only a fresh login environment and {names}"
        steps = f", and {'its srun' if own else 'an srun in it'} gets no PATH" if job.steps or not own else ""
        advice = f"write `--export=ALL,{_as_written(job, setting)}`"
        message = f"{gets}{steps}; {advice}"
        yield Finding(
            setting.span,
            next((each for each in (message, f"{gets}; {advice}") if len(each) <= MOST), f"{gets}; put `ALL,` first"),
            "info" if own or not _starts_steps(job, setting) else "warning",
        )


def _as_written(job: Job, setting: Setting) -> str:
    """The list as the script has it, with its variables."""
    written = _WRITTEN.match(job.source.text, setting.span.start)
    return setting.text or "" if written is None else written[1]


def _starts_steps(job: Job, setting: Setting) -> bool:
    """Whether the file that an sbatch submits, with this option, starts steps."""
    command = next((each for each in commands_by_place(job).around(setting.span) if each.name == "sbatch"), None)
    if command is None:
        return False
    paths = (job.beside.path(command, field) for field in command.argv[1:])
    files = (lookups.read(path, _MOST_BYTES) or b"" for path in paths if path is not None)
    return any(_STEP.search(each.decode("utf-8", "replace")) for each in files)


def _only_adds(setting: Setting) -> bool:
    items = (setting.text or "").split(",")
    return all("=" in each and each.partition("=")[0].isidentifier() for each in items)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «--export=CACHE=64» python reduce.py
        """,
        fixed={"--export=CACHE=64": "--export=ALL,CACHE=64"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --export=NONE
        module load python
        «srun» python reduce.py
        """,
        fixed={"python reduce.py": "--export=ALL python reduce.py"},
        title="the job's own holds for srun too",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export OMP_NUM_THREADS=8
        srun «--export=CACHE=64» ./reduce
        """,
        unsafe_fixed={"--export=CACHE=64": "--export=ALL,CACHE=64"},
        severity="warning",
        title="what the script exports is lost",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun --export=ALL,CACHE=64 python reduce.py\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --export=NONE\nexport SLURM_EXPORT_ENV=ALL\nsrun python reduce.py\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --export=NONE\nunset SLURM_EXPORT_ENV\nsrun python reduce.py\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --export=NONE\nsrun ./reduce\n", title="a program that needs nothing"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 --export=NONE\n. /opt/site/slurm/begin_job.sh\nsrun python reduce.py\n",
        title="the site's own file may set up the environment of steps",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 --export=NONE\nmodule load slurm_setup python\nsrun python reduce.py\n",
        title="so may its module",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --export=NONE
        source /etc/profile.d/modules.sh
        module load python/3.11-slurm
        source activate tools
        «srun» python reduce.py
        """,
        fixed={"python reduce.py": "--export=ALL python reduce.py"},
        title="modules and conda do not",
    ),
]
