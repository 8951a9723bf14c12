"""A setting for finding errors slows down every GPU of the job.

With `CUDA_LAUNCH_BLOCKING=1` the program waits for each kernel before it starts the next, so that an error is reported
where it happens: CPU and GPU no longer work at the same time, and copies no longer overlap with kernels. So it is with
`HIP_LAUNCH_BLOCKING=1` and `AMD_SERIALIZE_KERNEL=3` on AMD. `TORCH_DISTRIBUTED_DEBUG=DETAIL` has all ranks compare the
shapes of each collective operation before it runs.

Reported where a Python program or a launcher gets the setting. Advice where a comment on the line or above it says what
it is for, where the job requests no GPUs itself, and where it does not last an hour. Nothing is reported for a job or a
script with "debug", "test" or "profile" in its name.

## Fix

None: remove the line.

## References

CUDA C++ Programming Guide, "Asynchronous Concurrent Execution": "This feature is provided for debugging purposes only
and should not be used as a way to make production software run reliably"; HIP, "Debugging with HIP"; PyTorch,
"torch.distributed", TORCH_DISTRIBUTED_DEBUG: "may have a performance impact"
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import Phase, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.launchers import is_python
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

# By variable, the values that cost time, and what they do.
_SETTINGS = {
    "AMD_SERIALIZE_KERNEL": (("1", "2", "3"), "makes the program wait for each kernel"),
    "CUDA_LAUNCH_BLOCKING": (("1",), "makes the program wait for each kernel"),
    "HIP_LAUNCH_BLOCKING": (("1",), "makes the program wait for each kernel"),
    "TORCH_DISTRIBUTED_DEBUG": (("DETAIL",), "has all ranks compare each collective operation"),
}

CARD = Card(
    "SB629", "debug-setting-left-in", severity="warning", fix="never", since="0.1.0", when=Variables(*_SETTINGS),
    seen="blind reviews of public scripts", unseen="Nothing: the job is slower than it could be.",
)  # fmt: skip

_TRIAL = Regex(r"(?i)debug|dbg|test|trial|smoke|profil|bench|valgrind|sanitize")
_HOUR = 60


def check(job: Job) -> Iterator[Finding]:
    names = [job.request.value(option) or "" for option in ("job-name", "partition", "qos")]
    if _TRIAL.search(f"{' '.join(names)} {job.source.path or ''}"):
        return
    found: dict[str, Span] = {}
    for command in job.invocations:
        if command.phase is Phase.SUBMIT or not command.argv or command.context.guards:
            continue
        if not is_python(command.argv[0]) and job.launcher_of(command) is None:
            continue
        if any(_TRIAL.search(word) for word in command.words):
            continue
        for name, (values, _) in _SETTINGS.items():
            value = exported(command, name)
            if value is not None and text_of(value) in values:
                found.setdefault(name, span_of(value))
    lasts = minutes(job.request.value("time") or "")
    short = lasts is not None and lasts < _HOUR
    unclear = short or not any(job.request.gpu_settings())
    for name, place in found.items():
        written = f"`{name}={job.source.slice(place)}`"
        yield Finding(
            place,
            f"{written} {_SETTINGS[name][1]}, for debugging, which slows the job down; remove it when you are done",
            "info" if unclear or _is_explained(job, place) else None,
        )


def _is_explained(job: Job, place: Span) -> bool:
    """Whether a comment stands on the line of a setting, or on the one above."""
    text = job.source.own.text
    if place.end > len(text):
        return False
    line = job.source.own.line_of(place.start)
    above = text[text.rfind("\n", 0, max(line.start - 1, 0)) + 1 : line.start]
    return "#" in text[place.end : line.end] or above.lstrip()[:1] == "#" and above[:7] != "#SBATCH"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        #SBATCH --time=24:00:00
        export CUDA_LAUNCH_BLOCKING=«1»
        torchrun --nproc_per_node=4 train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        # where does it hang?
        export CUDA_LAUNCH_BLOCKING=«1»
        python train.py
        """,
        severity="info",
        title="explained",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        #SBATCH --job-name=debug-nan
        export CUDA_LAUNCH_BLOCKING=1
        python train.py
        """,
        title="a job that looks for errors",
    ),
    Good("#!/bin/bash\n#SBATCH --gres=gpu:1\nexport CUDA_LAUNCH_BLOCKING=0\npython train.py\n", title="turned off"),
]
