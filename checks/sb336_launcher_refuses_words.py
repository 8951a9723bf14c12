"""A launcher ends with an error and starts nothing: it refuses its command line.

torchrun, `accelerate launch`, `deepspeed` and `composer` read their options strictly. One that they do not know
(`--epochs` before the program, `--num-gpus` of deepspeed, which wants `_`), one without its value, a value that is not
a number, a command that ends before the program is named (a missing backslash): each ends with `error: …` or a
ValueError in every task, after the job has waited for its nodes. `ray start` needs `--head` or `--address`, and accepts
options of the head only with `--head`. `horovodrun` needs `-np`, and mpirun a program.

## Fix

None: only the author knows what was meant.

## References

torch/distributed/run.py of torch 2.13; commands/launch.py of accelerate 1.15; launcher/runner.py of DeepSpeed 0.19;
composer/cli/launcher.py; ray/scripts/scripts.py
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import unprepared_reads
from sbatchlint.analysis.launch.launcher_refusals import launcher_refusal
from sbatchlint.check import Bad, Card, Finding, Good, Job, Launch, Span
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB336", "launcher-refuses-words", severity="error", fix="never", since="0.1.0",
    when=Launchers(
        "torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "composer", "ray", "horovod", "mpi"
    ),
    seen="runs of torch 2.13, accelerate 1.15 and DeepSpeed 0.19",
)  # fmt: skip

# Other checks report a launcher that does not fit its job.
KINDS = frozenset({"option", "value", "program", "gpus"})


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        found = [launcher_refusal(job, world.launch) for world in place]
        refusals = [each for each in found if each is not None and each.kind in KINDS]
        if not refusals or len(refusals) < len(found):
            continue  # one of its alternatives is right
        refusal, name = refusals[0], place[0].name
        if any(refusal.span.start <= each.span.start <= refusal.span.end + 1 for each in unprepared_reads(job)):
            continue  # a variable that Slurm does not set is the fault
        message = f"`{name}` fails and starts nothing: {refusal.reason}; {refusal.advice}"
        slots = [_empty_slot(job, world.launch) for world in place] if refusal.kind == "program" else []
        slot = next((each for each in slots if each is not None), None)
        if slot is None:
            yield Finding(refusal.span, message)
        else:  # a template, whose users fill it in
            yield Finding(refusal.span, message, "info", [(slot, "empty here")])


def _empty_slot(job: Job, launch: Launch) -> Span | None:
    """The place where the script sets a variable to the empty string that the launcher's line then uses."""
    start = launch.launcher.span.start
    end = job.source.line_of(start).end
    for read in job.trace.reads:
        variable = read.variable
        if variable is not None and start < read.span.start < end and variable.alternatives:
            if all(each.fields == ((),) for each in variable.alternatives):
                return variable.span
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=4
        torchrun --nproc_per_node=4 «--epochs=3» train.py
        """,
        title="an option of the program before the program",
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=4\ndeepspeed «--num-gpus=4» train.py\n"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=4
        «torchrun» --nproc_per_node=4
            train.py --lr 1e-4
        """,
        title="a missing backslash",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gpus-per-node=4\ntorchrun --nproc_per_node=4 train.py --epochs=3\n"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=4\ntorchrun $ARGS --epochs=3\n",
        title="what comes before it is not known",
    ),
]
