"""A container keeps running after the job has ended: docker's daemon runs it, not Slurm.

`docker run` asks the daemon to start the container: its processes belong to the daemon, in a cgroup of their own. The
job's limits on memory, CPUs and devices do not apply to them. scancel, or the end of the time limit, signals the docker
client; if the container's first process ignores SIGTERM (which process 1 does by default), the client is killed 30
seconds later, and the container keeps its GPUs while Slurm gives them to the next job.

`--init` makes SIGTERM end the container, `--cgroup-parent` puts it into a cgroup of the job where the site allows that,
and a trap can stop it by name: bash runs the trap at once where the client is in the background and the script at a
`wait`, else only after the client has ended. A client that ssh starts gets no signal from the job. With `-d` no client
is left to get the signal, so only the trap helps. podman, apptainer and pyxis run containers as processes of the job.

A warning for a detached container (`-d`) that the script never stops, and where the trap is set only after the
container has ended; advice for others, which usually end with their client, or which the script stops if it gets there.

## Fix

None: which of these is right depends on the site.

## References

docker run manual, --init, --sig-proxy and --cgroup-parent; https://github.com/nebius/soperator/issues/563;
https://github.com/codalab/codalab-worksheets/issues/1908
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts
from sbatchlint.analysis.containers.gpu_access import gpu_access
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, shortened
from sbatchlint.job.programs import commands_named
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB514", "container-outlives-job", severity="warning", fix="never", since="0.1.0", when=Containers("docker"),
    whole_script=True,
)  # fmt: skip

_ENDING_OPTION = Regex(r"--(?:init|cgroup-parent)\b")


def check(job: Job) -> Iterator[Finding]:
    stops = [each for each in job.invocations if _is_stop(each)]
    traps = commands_named(job, "trap") if any(each.context.handler for each in stops) else []
    for starts in container_starts(job):
        start = starts[0]
        ends_with_job = any(
            each.flag("init") and not each.flag("detach") or each.container.option("cgroup-parent") for each in starts
        )
        if ends_with_job or not start.by_daemon or start.verb != "run":
            continue
        if traps:
            yield from _before_trap(job, start, traps)
            continue
        if not start.is_certain and _ENDING_OPTION.search(job.source.text):
            continue  # `$EXTRA_ARGS` may contain the option
        if not start.flag("detach") and job.request.asks_for_gpus is False and gpu_access(start).kind == "none":
            continue  # it holds no GPU, and ends with its client or its program
        later_stop = next((each for each in stops if each.index > start.invocation.index), None)
        if start.flag("detach") and later_stop is not None:
            message = (
                "after scancel or the time limit this container keeps running, as line "
                f"{job.line(later_stop.span.start)} is not reached; stop it in a trap"
            )
        elif start.flag("detach"):
            name_advice = "" if start.container.name else "give it a `--name`, and "
            message = (
                "this container keeps running after the job, as docker's daemon runs it; "
                f"{name_advice}stop it in a trap"
            )
        else:
            kept = "its GPUs" if job.request.asks_for_gpus or gpu_access(start).kind != "none" else "running"
            message = f"this container can keep {kept} after scancel or the time limit; {_advice(job, starts)}"
        yield Finding(start.place, message, None if start.flag("detach") and later_stop is None else "info")


def _advice(job: Job, starts: Sequence[ContainerStart]) -> str:
    """What to write so that a container which is not detached ends with the job."""
    start = starts[0]
    name = start.container.name
    stop = f"runs `docker stop {shortened(_name_as_written(job, name))}`" if name else "stops it"
    trap = f"a trap that {stop}"
    runs = [each.invocation for each in starts]
    ssh_words = (span_of(word) for each in commands_named(job, "ssh") for word in each.argv)
    # ssh runs the container: its client gets no signal from the job (the command may be in a variable that ssh gets)
    if start.container.span in ssh_words:
        name_advice = "" if name else "give it a `--name`, and "
        return f"{name_advice}add {trap} on each node, unless the site's epilog does"
    if any(run.context.background is not None for run in runs):
        return f"add `--init`, or {'' if name else 'a `--name` and '}{trap}"
    # bash runs a trap only when the command in the foreground has ended
    waiting = f"`&`, then `wait` with {trap}"
    return f"add `--init`, or {waiting if name else f'`--name` and {waiting}'}"


def _name_as_written(job: Job, name: Pieces) -> str:
    """The name of a container as the script writes it; its known value where it stands elsewhere."""
    written = job.source.slice(span_of(name))
    return shown_text(name) if "\n" in written or not written else written


def _before_trap(job: Job, start: ContainerStart, traps: list[Invocation]) -> Iterator[Finding]:
    """The finding on a container that has already ended when the trap that should stop it is set."""
    run = start.invocation
    if start.flag("detach") or not start.is_certain or run.context.background is not None or run.context.loops:
        return
    if run.context.captured:
        return  # with `-d`, which container-id-is-output advises, it keeps running
    if all(each.index > run.index and not each.context.calls for each in traps) and not run.context.calls:
        name_advice = "" if start.container.name else "give it a `--name`, and "
        yield Finding(
            start.place,
            f"the trap on line {job.line(traps[0].span.start)} is set only after this container has ended, so "
            f"scancel does not stop it; {name_advice}set the trap above this line",
            related=[(traps[0].span, "set too late")],
        )


def _is_stop(command: Invocation) -> bool:
    """Whether a command stops or removes a container."""
    names = ("docker", "nvidia-docker", "sudo", "xargs", "srun")
    return command.name in names and any(text_of(field) in ("stop", "kill", "rm") for field in command.argv[1:4])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun «docker run» --rm --gpus all train:1 python train.py
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        «docker run» -d --name "box-$SLURM_JOB_ID" serve:1
        python bench.py
        docker stop "box-$SLURM_JOB_ID"
        """,
        severity="info",
        title="stopped only if the script reaches its end",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N2 «docker run» -d --name box serve:1 sleep infinity
        docker exec box python train.py
        srun -N2 timeout -k 20 10 docker rm -f box
        """,
        severity="info",
        title="removed on all nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        «docker run» -d --name box serve:1
        python bench.py
        """,
        title="never stopped",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        NAME="train-$SLURM_JOB_ID"
        trap 'docker stop "$NAME"' EXIT TERM INT
        docker run --rm --name "$NAME" --gpus all train:1 python train.py &
        wait $!
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        docker run --rm --init --gpus all train:1 python train.py
        docker run --rm --cgroup-parent="/slurm/job_$SLURM_JOB_ID" --gpus all train:1 python train.py
        podman run --rm --device nvidia.com/gpu=all train:1 python train.py
        """,
        title="ends with the job",
    ),
]
