"""docker fails: `docker run -t` needs a terminal, and a batch job has none.

The standard input of a batch script, and of the tasks that srun starts, is not a terminal. With `-i` and `-t` together
docker refuses before it starts anything: `the input device is not a TTY`, exit status 1. It is a habit from the command
line, where `-it` is right; `srun --pty` and `script` create a terminal, and with `-d` docker does not check.

A warning where the script requests no resources and uses nothing of Slurm, as it may then be meant for a terminal (a
name, a log and a time limit make no script of a cluster), and in a script that has branches for other machines.

podman only warns, and docker accepts `-t` without `-i`: in both cases the container runs, each line of its log ends in
a carriage return, and errors are mixed into the output. There the finding is only advice.

## Fix

Removes `-t`, and `-i` with it unless the container's standard input is a pipe, a heredoc or a file. Safe: as written,
docker could not run anything.

## References

docker/cli cli/command/container/run.go and exec.go (`CheckTty`); runs of docker's client 20.10 and 28.2, and of
podman 4.3; https://github.com/PennLINC/qsiprep/issues/511
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts
from sbatchlint.analysis.editing.options import remove_word
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, joined_alike
from sbatchlint.job import Step
from sbatchlint.job.once import once
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB509", "docker-tty", severity="error", fix="sometimes", since="0.1.0", when=Containers("docker", "podman"),
    seen="runs of docker's client 20.10 and 28.2, and of podman 4.3",
)  # fmt: skip

# Commands that provide a terminal to what they start.
TERMINALS = frozenset({"unbuffer", "script", "tmux", "screen", "expect"})
_ENGINES = frozenset({"docker", "docker-compose", "podman"})
_OF_SLURM = frozenset({"sbatch", "srun", "shifter"})
_MACHINE = Regex(r"(?i)(?<![a-z])(?:hpc|cluster|machine|system|platform|host(?:name)?|site|slurm|uname)(?![a-z])")
# Options that show that a script is meant for sbatch, and not for a terminal with a few directives left in it.
REQUESTS = (
    *("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "exclusive", *GPU_OPTIONS),
    *("partition", "account", "qos", "constraint", "nodelist", "array"),
)


def check(job: Job) -> Iterator[Finding]:
    return joined_alike(_of_starts(job), "the same", fixed_apart=True)


def _of_starts(job: Job) -> Iterator[Finding]:
    """A finding for each start of a container."""
    for ways in container_starts(job):
        start = ways[0]
        if start.container.kind not in ("docker", "podman") or start.engine == "nerdctl":
            continue
        option = start.flag("tty")
        requested = all(each.verb in ("run", "exec") and each.flag("tty") is not None for each in ways)
        if option is None or not requested or not all(map(_has_no_terminal, ways)):
            continue
        if any(each.flag("detach") for each in ways):
            continue
        written = job.source.slice(option.span)
        if not written.startswith("-") or "\n" in written:
            written = "-t"
        edits = _without_terminal(ways)
        unwanted = written if len(edits) == 1 and not edits[0].content and edits[0].span.contains(option.span) else "-t"
        if start.by_daemon and all(_takes_input(each) for each in ways):
            message = (
                f"{start.engine} refuses `{written}` in a batch job, where stdin is not a terminal (`the input device "
                f"is not a TTY`); remove `{unwanted}`"
            )
            elsewhere = any(_is_guarded_by_machine(way.invocation) for way in ways) or _serves_other_machines(job)
            severity = "error" if _is_for_slurm(job) and not elsewhere else "warning"
        else:
            message = (
                f"`{written}` makes docker end each line of the log with a carriage return, as on a terminal; remove "
                f"`{unwanted}`"
            )
            severity = "info"
        fix = Fix("run it without a terminal", edits, safe=True) if edits else None
        yield Finding(option.span, message, severity, fix=fix)


@once
def _is_for_slurm(job: Job) -> bool:
    """Whether the script requests resources, or has a time limit and counts on being a job: it runs a step, or reads
    a variable of Slurm."""
    if job.request.has_any_option(REQUESTS):
        return True
    counts = job.steps or any(each.name.startswith("SLURM_") for each in job.trace.reads)
    return bool(counts) and job.request.has_option("time")


@once
def _serves_other_machines(job: Job) -> bool:
    """Whether a test of the machine chooses between sbatch or srun, and docker: the script runs elsewhere, too."""
    tested = {each.name for each in job.invocations if _is_guarded_by_machine(each)}
    return not tested.isdisjoint(_ENGINES) and not tested.isdisjoint(_OF_SLURM)


def _is_guarded_by_machine(command: Invocation) -> bool:
    """Whether a test of the machine decides if a command runs: on others the script may run without Slurm."""
    branches = (branch for branch, _ in command.context.guards)
    return any(isinstance(each, tuple) and _MACHINE.search(str(each[1:])) for each in branches)


def _has_no_terminal(start: ContainerStart) -> bool:
    """Whether the standard input is certainly not a terminal: in a batch job, unless a command creates one."""
    if start.invocation.phase is Phase.SUBMIT or start.job.phase is not Phase.BATCH:
        return False
    for command in (start.invocation, *start.invocation.ancestors()):
        info = command.spawn.info
        if isinstance(info, Step) and info.option("pty") is not None or command.name in TERMINALS:
            return False
    return True


def _takes_input(start: ContainerStart) -> bool:
    """Whether docker would connect its own standard input to the container."""
    attached = [each.text for each in start.container.options if each.name == "attach"]
    return start.flag("interactive") is not None or "stdin" in attached


def _is_fed(start: ContainerStart) -> bool:
    """Whether the standard input is a pipe, a heredoc or a file."""
    return any(
        command.piped_from or command.stdin is not None or any(each.operator[0] == "<" for each in command.redirects)
        for command in (start.invocation, *start.invocation.ancestors())
    )


def _without_terminal(ways: list[ContainerStart]) -> list[Edit]:
    """Edits that remove `-t`, and `-i` too where the program has no input; empty where they cannot be edited."""
    start = ways[0]
    unwanted = {"tty"} if any(map(_is_fed, ways)) else {"tty", "interactive"}
    words: dict[int, set[str]] = {}
    for option in start.container.options:
        if option.name in ("tty", "interactive"):
            words.setdefault(option.at, set()).add(option.name)
    edits: list[Edit] = []
    for at, names in sorted(words.items()):
        field = start.invocation.argv[at]
        text = text_of(field)
        if text is None:
            return []
        if not names & unwanted:
            continue
        edit = remove_word(start.job, field)
        if edit is None:
            return []
        if not names <= unwanted or not text.startswith("--") and not set(text[1:]) <= {"i", "t"}:
            # remove some letters from a group: `-itd` to `-d`
            if not re.fullmatch(r"-[A-Za-z]+", text):
                return []
            letters = "it" if "interactive" in unwanted else "t"
            edit = Edit(span_of(field), re.sub(f"[{letters}]", "", shown_text(field)))
        edits.append(edit)
    return edits


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        docker run --rm «-it» --gpus all train:1 python train.py
        """,
        fixed={"-it --gpus": "--gpus"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "
            docker run --rm \\\\
                «-it» \\\\
                train:1 \\\\
                python train.py
        "
        docker exec --interactive «--tty» box nvidia-smi
        """,
        fixed={"        -it \\\\\n": "", "--interactive --tty box": "box"},
        title="in a string, and into a container that runs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        docker run «-ti» --rm train:1 bash <<'EOF'
        python train.py
        EOF
        """,
        fixed={"-ti": "-i"},
        title="the program comes through standard input, so that -i stays",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        podman run --rm «-it» train:1 python train.py
        """,
        fixed={"-it train:1": "train:1"},
        severity="info",
        title="podman warns and continues",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        TTY="«-it»"
        docker run $TTY --rm train:1 python train.py
        """,
        title="alone in a variable",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=00:30:00
        docker run --rm «-it» train:1 python train.py --seed $SLURM_JOB_ID
        """,
        fixed={"-it train:1": "train:1"},
        title="it counts on being a job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --pty docker run -it --rm train:1 bash
        docker run -dit --name box train:1 sleep infinity
        docker run -i --rm train:1 python < train.py
        script -qc "docker run -it --rm train:1 python train.py" log
        """,
        title="a terminal is there, or none is needed",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        TTY=""
        if [ -t 0 ]; then TTY=-it; fi
        docker run --rm $TTY train:1 python train.py
        """,
        title="only where there is a terminal",
    ),
]
