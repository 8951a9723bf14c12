"""Why a launcher starts no process: because of its command line, in any job, or because of what this job has.

`sbatchlint.job.launchers.refusals` judges the command line alone. What the job must have is from run.py of torch 2.13
(`determine_local_world_size()`), utils/launch.py of accelerate 1.15 (`prepare_multi_gpu_env()`), runner.py of DeepSpeed
0.19 and Open MPI's slots. DeepSpeed's runner reads its hostfile (default /job/hostfile). Without one it uses only its
own node, whatever --launcher says, and refuses --num_nodes above 1. With one it starts the workers of all nodes itself
(pdsh, ssh, mpirun, srun), so one runner is enough. With --no_ssh, each node starts a runner, with --node_rank.
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.mpi_slots import is_open_mpi, too_few_slots
from sbatchlint.analysis.script.submit_lines import is_submitted_with_gpus
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job, Launch
from sbatchlint.job.gpus import FORMS, chosen_devices, devices_chosen, step_gpus
from sbatchlint.job.launchers import Accelerate, DeepSpeed, Mpi, Torchrun
from sbatchlint.job.launchers.refusals import Refusal, command_line_refusal
from sbatchlint.job.once import once
from sbatchlint.job.worlds import LaunchWorld, find_worlds

DEFAULT_HOSTFILE = "/job/hostfile"


def deepspeed_runners(job: Job) -> Iterator[tuple[LaunchWorld, DeepSpeed]]:
    """Runners whose options are all known, and that start the workers of all nodes themselves."""
    for world in find_worlds(job):
        launcher = world.launcher
        if isinstance(launcher, DeepSpeed) and launcher.kind == "deepspeed" and launcher.certain:
            if not launcher.no_ssh and world.isolation != "restricted":
                yield world, launcher


def has_hostfile(job: Job, runner: DeepSpeed) -> bool:
    """Whether a runner has a hostfile: by its option, or because some command names the default one."""
    return runner.hostfile is not None or _names_default_hostfile(job)


@once
def _names_default_hostfile(job: Job) -> bool:
    return any(
        DEFAULT_HOSTFILE in shown_text(field)
        for command in job.invocations
        for field in (
            *command.argv,
            *(redirect.target for redirect in command.redirects if redirect.target is not None),
        )
    )


_SHOW = "make some visible, or write a number"
_ASK = "request some, or write a number"


@once
def launcher_refusal(job: Job, launch: Launch) -> Refusal | None:
    """Why a launcher starts no process; None where it does, or where that is not known."""
    launcher = launch.launcher
    found = command_line_refusal(launcher)
    if found is not None:
        # xargs and the like append words that the script does not show
        appended = any(each.spawn.kind == "xargs" for each in launch.invocation.ancestors())
        return None if appended and found.kind == "program" else found
    if not launcher.certain:
        return None
    if isinstance(launcher, Torchrun):
        return _without_gpus(job, launch)
    if isinstance(launcher, Accelerate):
        return _without_rank(job, launch)
    if isinstance(launcher, DeepSpeed):
        return _without_hosts(job, launcher)
    return _without_slots(job, launch) if isinstance(launcher, Mpi) else None


def is_refused(job: Job, launch: Launch, kind: str) -> bool:
    """Whether a launcher starts no process for a reason of this kind."""
    found = launcher_refusal(job, launch)
    return found is not None and found.kind == kind


def _without_gpus(job: Job, launch: Launch) -> Refusal | None:
    """torchrun's refusal of `--nproc_per_node=gpu` without a GPU (`Cuda is not available`); None if there is none."""
    setting = launch.launcher.setting("nproc_per_node")
    if setting is None or setting.text != "gpu":
        return None
    step, gpus = launch.step, _gpus(job, launch)
    if gpus == 0 and devices_chosen(launch.invocation, step):
        return Refusal("gpus", "--nproc_per_node=gpu finds none: CUDA_VISIBLE_DEVICES is empty", setting.span, _SHOW)
    if gpus == 0:
        return Refusal("gpus", "--nproc_per_node=gpu finds no GPU", setting.span, _ASK)
    if devices_chosen(launch.invocation, step):
        return None
    own = step is not None and any(name in step.options for name in FORMS)
    if job.request.asks_for_gpus is False and job.site.gpus_required and not own and not is_submitted_with_gpus(job):
        return Refusal(
            "no-request", "--nproc_per_node=gpu finds no GPU because the job requests none", setting.span, _ASK
        )
    return None


def _without_rank(job: Job, launch: Launch) -> Refusal | None:
    """accelerate's refusal of several machines without a rank: it runs `int(None)`; None if there is none.

    The user's own configuration file, which the script does not name, may have a rank, the same on all nodes: then
    nothing starts with the static rendezvous, while c10d works.
    """
    launcher = launch.launcher
    machines, total = launcher.machines, launcher.total_processes
    if launcher.config_file is not None or launcher.cpu or launcher.node_rank is not None or machines is None:
        return None
    rendezvous = launcher.rendezvous
    if rendezvous is None or rendezvous.backend != "static":
        return None
    if (machines.number or 0) < 2 or "tpu" in launcher.flags:
        return None
    several = total is not None and (total.number or 0) > 1 and (_gpus(job, launch) or 0) > 1
    if not several and not launcher.flags.keys() & {"multi_gpu", "use_fsdp", "use_megatron_lm", "use_deepspeed"}:
        return None
    reason = "several machines need --machine_rank, unless the configuration file of the user has one"
    return Refusal("node-rank", reason, machines.span)


def _gpus(job: Job, launch: Launch) -> int | None:
    """How many GPUs a launcher sees; None where the script does not tell."""
    if devices_chosen(launch.invocation, launch.step):
        return chosen_devices(launch.invocation)
    return job.request.gpus_per_node() if launch.step is None else step_gpus(job, launch.step).per_task


def _without_hosts(job: Job, runner: DeepSpeed) -> Refusal | None:
    if runner.kind != "deepspeed" or runner.machines is None or (runner.machines.number or 0) < 2:
        return None
    if has_hostfile(job, runner):
        return None
    return Refusal("hostfile", "--num_nodes above 1 needs a hostfile", runner.machines.span)


def _without_slots(job: Job, launch: Launch) -> Refusal | None:
    found = too_few_slots(job, launch)
    if found is None or not is_open_mpi(job, launch):
        return None
    where = " on each node" if found.per_node else ""
    return Refusal("slots", f"{found.processes} processes{where} need as many slots, and there are {found.number}",
                   found.process_setting.span)  # fmt: skip
