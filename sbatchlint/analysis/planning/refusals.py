"""Why srun refuses a step in every release of the range."""

from sbatchlint.analysis.directives.unknown_options import is_plausible, submission_options
from sbatchlint.analysis.gpus.step_limits import too_many_gpus
from sbatchlint.job import Job
from sbatchlint.job.argv import is_unknown
from sbatchlint.job.command_lines import command_lines
from sbatchlint.job.gpus import refuses_gres
from sbatchlint.job.once import once
from sbatchlint.job.request import fixed_nodes
from sbatchlint.job.step_cpus import cpus_per_task, missing_cpus, too_much_memory
from sbatchlint.job.steps import Step, missing_nodes
from sbatchlint.slurm.options import accepting_commands
from sbatchlint.source.numbers import counted


def refusal_of(job: Job, step: Step) -> str | None:
    """Why srun refuses a step in every release of the range; None where it does not, or where that is not known."""
    option_name = _refused_option(job, step)
    if option_name is not None:
        return f"srun does not accept {option_name}"
    value = _refused_values(job).get(step.invocation.span.start)
    if value is not None:
        return f"srun does not accept {value}"
    if all(refuses_gres(step, version) for version in job.versions.majors):
        return "srun does not accept --gres=gpu together with --gpus-per-node"
    if str(job.versions) == "23.11" and "gpus-per-task" in step.options and step.request.has_option("cpus-per-task"):
        # sbatch leaves SLURM_TRES_PER_TASK=cpu=N in the environment (23.11.4; 23.11.11 and 24.11 take both)
        if "SLURM_TRES_PER_TASK" not in step.invocation.state.variables:
            return "srun of 23.11.0 to 23.11.6 does not accept --gpus-per-task in a job with --cpus-per-task"
    lacking = missing_nodes(step)
    if lacking is not None:
        available = "1 node" if lacking[1] == 1 else f"{lacking[1]} nodes"
        return f"the job has {available} and its {len(step.parts)} components request {lacking[0]}"
    gpus = too_many_gpus(job, step)
    if gpus is not None and gpus.setting is not None:
        if gpus.nodes is not None:
            few, all_nodes = gpus.nodes
            where = f"{few} of the job's {all_nodes} nodes {'has' if few == 1 else 'have'}"
            return f"{where} {gpus.available} GPUs at most, and srun requests all {gpus.requested}"
        unit = " a node" if gpus.by == "node" else ""
        return f"the job has {gpus.available} GPUs{unit} and srun requests {gpus.requested}"
    option, nodes = step.option("nodes"), step.request.exact_nodes()
    requested = None if option is None else fixed_nodes(option.text)
    # srun uses fewer nodes where --ntasks is less than their number; --ntasks-per-node does not have this effect
    per_node = step.option("ntasks") is None and not step.request.has_option("ntasks")
    if requested is not None and nodes is not None and (per_node or step.tasks is not None):
        least = requested.minimum if per_node else min(requested.minimum, step.tasks or 1)
        if least > nodes:
            return f"the job has {counted(nodes, 'node')} and srun requests {requested.minimum}"
    conflicts = [cpus_per_task(step, version) for version in job.versions.majors]
    if all(each.conflict and each.variable is not None for each in conflicts):
        first = conflicts[0]
        return f"{first.variable.as_written if first.variable else ''} and {first.conflict} say different numbers"
    cpus = missing_cpus(step, job.versions)
    if cpus is not None and set(job.versions.majors) <= set(cpus.versions or job.versions.majors):
        return f"the job has {cpus.available} CPUs and srun requests {cpus.requested}"
    memory = too_much_memory(step)
    if memory is not None:
        return f"the job has {memory[1].shown} and srun requests {memory[0].as_written}"
    return None


@once
def _refused_values(job: Job) -> dict[int, str]:
    """By the offset of an srun, its first option whose value srun refuses in every release of the range, as written.

    Only where it has one with each of its values.
    """
    majors = set(job.versions.majors)
    found: dict[int, str | None] = {}
    for block in command_lines(job):
        if block.command != "srun":
            continue
        refused = (setting for setting, refusal in block.refused if majors <= set(refusal.versions or majors))
        first, start = next(refused, None), block.lines[0].span.start
        written = None if first is None else first.as_written
        found[start] = found.get(start, written) and written
    return {start: written for start, written in found.items() if written is not None}


def _refused_option(job: Job, step: Step) -> str | None:
    """An option that srun refuses in every release of the range, and that no plugin is likely to have; or None."""
    if not step.problems:
        return None
    majors = job.versions.majors
    unknown = next((at for at, field in enumerate(step.invocation.argv[1:]) if is_unknown(field)), None)
    of_sbatch = {problem.written for problem, _ in submission_options(step, job.versions)}
    for problem in step.problems:
        if unknown is not None and problem.word >= unknown or not set(majors) <= set(problem.versions or majors):
            continue
        if problem.kind != "unknown-option" or problem.written in of_sbatch or not is_plausible(problem.written):
            return problem.written
        others = accepting_commands(problem.written).get("srun")
        if others and set(majors).isdisjoint(others):
            return problem.written
    return None
