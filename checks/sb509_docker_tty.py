"""`docker run -it` asks for a terminal, and a batch job has none.

The standard input of a batch script, and of the tasks that srun starts, is no terminal. With `-i` and `-t` together
docker refuses before it has started anything: `the input device is not a TTY`, exit status 1. It is the habit of the
command line, where `-it` is right; `srun --pty` and `script` make a terminal, and with `-d` docker does not look.

A warning where the script asks for no resources, so that it may be meant for a terminal.

podman only warns, and docker takes `-t` without `-i`: there the container runs, each line of its log ends in a carriage
return, and errors are mixed into the output. That is told as advice.

## Fix

Takes `-t` out, and `-i` with it unless a pipe, a heredoc or a file is given to the container's standard input. Safe:
with docker nothing could run as it was.

## References

docker/cli cli/command/container/run.go and exec.go (`CheckTty`); runs of docker's client 20.10 and 28.2, and of
podman 4.3; https://github.com/PennLINC/qsiprep/issues/511
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Commands

CARD = Card(
    "SB509", "docker-tty", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("docker", "podman", "podman-hpc", "nerdctl"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.container_terminals():
        engine = each.start.engine
        written = job.source.slice(each.option.span)
        if not written.startswith("-") or "\n" in written:
            written = "-t"
        if each.refused:
            message = (
                f"{engine} refuses {written} in a batch job, whose input is no terminal: `the input device is not a "
                "TTY`, and nothing starts; leave -t out"
            )
        else:
            message = (
                f"{written} asks for a terminal, which a batch job has not: {engine} makes one nobody types at, that "
                "ends each line of the log in a carriage return; leave -t out"
            )
        yield Finding(
            each.option.span,
            message,
            ("warning" if each.by_hand else "error") if each.refused else "info",
            fix=Fix("run it without a terminal", each.edits, safe=True) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        docker run --rm «-it» --gpus all train:1 python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        docker run --rm --gpus all train:1 python train.py
        """,
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
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "
            docker run --rm \\\\
                train:1 \\\\
                python train.py
        "
        docker exec box nvidia-smi
        """,
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
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        docker run -i --rm train:1 bash <<'EOF'
        python train.py
        EOF
        """,
        title="the program comes through standard input, so that -i stays",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        podman run --rm «-it» train:1 python train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        podman run --rm train:1 python train.py
        """,
        severity="info",
        title="podman warns and goes on",
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
