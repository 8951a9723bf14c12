"""A token, key or password becomes an argument of a command, or a line of the job's log.

The arguments of a process can be read by everybody on its node: `ps` shows `srun bash -c "export HF_TOKEN=…"` and
`wandb login …` with the value in full. Slurm moreover keeps the words of srun and sbatch in its accounting, where
`sacct -o SubmitLine` shows them long after the job. With `set -x` bash writes the value into the job's log.
The environment of a process is its owner's alone: a variable that is exported in the batch script is in the environment
of every step already.

The value itself is never shown here.

## Fix

Takes the value out where the program has the variable anyway: an `export NAME=$NAME` in the text of a step, `=$NAME`
behind docker's `-e NAME` and in `--export`, a `wandb login` whose key is in WANDB_API_KEY. Safe: the program reads the
same variable, with the same value. There is none where the variable is not exported, or reaches the program in no
other way.

## References

proc(5), /proc/pid/cmdline; sacct(1), SubmitLine (since Slurm 21.08); docker run, `--env`; a job whose log showed its
token: https://github.com/NVIDIA/TensorRT-LLM/issues/17114
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB902", "secret-on-command-line", severity="warning", fix="sometimes", since="0.1.0")

INSTEAD = {
    "export": ("leave this export out: a step inherits what the batch script exports", "leave the export to the step"),
    "container": ("write `-e {name}` without a value, and it is taken from the environment", "pass it by its name"),
    "option": ("name {name} in --export without a value, and it is taken from the environment", "pass it by its name"),
    "login": ("leave the login out: wandb reads WANDB_API_KEY from the environment", "leave the login out"),
    "": ("let the program read it from its environment, or from a file that only you can read", ""),
}


def check(job: Job) -> Iterator[Finding]:
    for found in job.exposed_secrets():
        command = found.command.name or "a command"
        kept = ", and `sacct -o SubmitLine` keeps it" if command in ("srun", "sbatch", "salloc") else ""
        instead, title = INSTEAD[found.kind]
        yield Finding(
            found.span,
            f"the value of {found.name} becomes an argument of {command}, which `ps` shows to everybody on the node"
            f"{kept}; {instead.format(name=found.name)}",
            related=[(found.command.name_span, "these arguments")],
            fix=Fix(title, found.edits, safe=True) if found.edits else None,
        )
    for traced in job.traced_secrets():
        yield Finding(
            traced.span,
            f"`{traced.written}` writes the value of {traced.name} (line {job.line(traced.use.start)}) into the job's "
            "log; turn it off before that with `set +x`, and on again behind it",
            related=[(traced.use, "traced")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_TOKEN=$(cat ~/.hf_token)
        srun bash -c "export HF_TOKEN=«$HF_TOKEN» && python train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_TOKEN=$(cat ~/.hf_token)
        srun bash -c "python train.py"
        """,
        title="exported once more in the text of a step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --ntasks-per-node=8 bash -c 'wandb login «$WANDB_API_KEY»; python train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --ntasks-per-node=8 bash -c 'python train.py'
        """,
        title="every task logs in",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        docker run --rm -e HF_TOKEN=«$HF_TOKEN» image python serve.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        docker run --rm -e HF_TOKEN image python serve.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun python train.py --hub-token "«$HF_TOKEN»"
        """,
        title="the program has an option for it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «set -ex»
        export WANDB_API_KEY=$(cat ~/.wandb_key)
        srun python train.py
        """,
        title="the log shows it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_TOKEN=$(cat ~/.hf_token)
        : "${WANDB_API_KEY:?}"
        srun bash -c "python train.py"
        echo "$HF_TOKEN" | docker login --password-stdin
        """,
        title="in the environment, and on standard input",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export TOKENIZER_PATH=/models/tokenizer
        srun python train.py --eos "$EOS_TOKEN" --tokenizer $TOKENIZER_PATH --login ${HF_TOKEN:+yes}
        """,
        title="tokens of a text, and whether there is one",
    ),
]
