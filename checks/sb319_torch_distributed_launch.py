"""torch.distributed.launch is deprecated: torchrun replaces it, and passes the rank differently.

`python -m torch.distributed.launch` has been deprecated since torch 1.9 and prints a FutureWarning in every run. It is
the same engine as torchrun, with one difference: without `--use_env` it passes `--local-rank=N` to each worker
(`--local_rank=N` before torch 2.0), and a program that only knows the other spelling, or neither, fails.

## Fix

Writes `torch.distributed.run`, the module of torchrun. With `--use_env` that is the same; the option itself is removed,
as the new module refuses it. Unsafe: torch before 1.9 has no such module. None without `--use_env`: a program that
reads only `--local_rank` would take GPU 0 in each process, so that it has to be changed to read LOCAL_RANK first.

## References

torch/distributed/launch.py (2.13); https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.bash.values import span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, remove, replace
from sbatchlint.job.launchers import Launcher
from sbatchlint.triggers import Launchers

OLD, NEW = "torch.distributed.launch", "torch.distributed.run"

CARD = Card("SB319", "torch-distributed-launch", severity="info", fix="sometimes", since="0.1.0", when=Launchers(OLD))


def check_launch(job: Job, launch: Launch) -> Iterator[Finding]:
    launcher = launch.launcher
    message = f"`{OLD}` is deprecated"
    if "use_env" in launcher.flags:
        message += f"; write `{NEW}`, without `--use_env`"
    else:
        message += f"; write `{NEW}`, once the program reads LOCAL_RANK and not only `--local-rank`"
    yield Finding(launcher.span, message, fix=partial(_fix, job, launcher))


def _fix(job: Job, launcher: Launcher) -> Fix | None:
    source, flag = job.source, launcher.flags.get("use_env")
    if flag is None:
        return None  # what the program reads is not known
    module = span_of(launcher.argv[launcher.index])
    if source.slice(module) != OLD:
        return None
    if source.slice(flag.span) not in ("--use_env", "--use-env"):
        return None
    edits = [replace(module, NEW), remove(_with_whitespace(source.text, flag.span))]
    return Fix(f"write {NEW}", edits, safe=False)


def _with_whitespace(text: str, span: Span) -> Span:
    """The word of an option with the whitespace before it; its whole line where it is alone on a continued one."""
    start = span.start
    while start and text[start - 1] in " \t":
        start -= 1
    after = text[span.end : span.end + 80].partition("\n")[0]
    if start and text[start - 1] == "\n" and after.strip() == "\\":
        return Span(start, span.end + len(after) + 1)
    return Span(start, span.end)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        «python -m torch.distributed.launch» --use_env --nproc_per_node=4 train.py
        """,
        unsafe_fixed={"torch.distributed.launch --use_env": "torch.distributed.run"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        LAUNCHER="«python -m torch.distributed.launch» --nproc_per_node=4"
        srun $LAUNCHER train.py
        """,
        title="the program may read --local_rank alone: no fix",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        «python /opt/lib/torch/distributed/launch.py» --nproc_per_node=4 train.py
        """,
        title="started by its file: no fix",
    ),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4\npython -m torch.distributed.run --nproc_per_node=4 train.py\n"),
    Good(
        "#!/bin/bash\n#SBATCH --gpus-per-node=4\necho 'python -m torch.distributed.launch is old'\n",
        title="in a message",
    ),
]
