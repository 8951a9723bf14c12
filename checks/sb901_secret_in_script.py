"""Anyone who reads the script gets a secret: a token, key or password is written into it.

Whoever can read the file has the secret, and so does everybody who ever sees the repository: removing the line later
does not remove it from the history. Slurm keeps a copy of each batch script as well, which `scontrol write
batch_script` and, where the site stores scripts, `sacct --batch-script` print long after the job.

Reported is what is certainly a secret: tokens with a known form (of Hugging Face, GitHub, AWS, OpenAI and others),
private keys, and random text that is assigned to the name of a secret, passed to `wandb login`, or written after
`Bearer` or in an address. Comments count too: a commented line still shows its content. Placeholders
(`hf_your_token_here`, `<token>`, `xxxx`) do not count.

The value itself is never shown: reports redact it, even where they show its line for another reason.

## Fix

None: a secret that was written down has to be revoked where it was issued. A new one belongs in a file that only you
can read (`chmod 600`), and from there in the environment of the job.

## References

scontrol(1), `write batch_script`; sacct(1), `--batch-script` (since Slurm 21.08); a token in a job script:
https://github.com/NVIDIA-NeMo/Gym/issues/2354
"""

import re
from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.source.secrets import secrets_in

CARD = Card(
    "SB901", "secret-in-script", severity="error", fix="never", since="0.1.0", alone=True,
    unseen="Nothing; others may read the secret.",
)  # fmt: skip

_LOGIN = Regex(r"\bwandb[ \t]+login\b")
# How many characters before a secret tell what its line does.
_NEAR = 2000
_EXPORTED = Regex(r"\bexport\s+(?:\w+=\S*\s+)*\w+=[\"']?$")


def check(job: Job) -> Iterator[Finding]:
    if job.outer is not None:
        return  # the same text is in the file that submits the job
    for secret in secrets_in(job.source.text):
        name = secret.name.lstrip("-")
        variable = re.sub(r"\W", "_", name).upper() if name else "TOKEN"
        text, end = job.source.text, secret.span.start
        begin = max(0, end - _NEAR)
        line = text[max(begin, text.rfind("\n", begin, end) + 1) : end]
        export = "export " if _EXPORTED.search(line) else ""
        advice = f"write `{export}{variable}=$(cat FILE)`, with a FILE only you can read"
        if line.lstrip()[:1] == "#" and line.lstrip()[:7] != "#SBATCH":
            advice = "remove this comment"
        elif not name and _LOGIN.search(line):
            advice = "write `export WANDB_API_KEY=$(cat FILE)` instead, with a FILE only you can read"
        yield Finding(secret.span, f"anyone who can read this file gets the secret; revoke it, and {advice}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export WANDB_API_KEY=«3f9a1c07be52d84e6a90b7c13fd825e4a6c01b9d»
        srun python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        # export HF_TOKEN="«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»"
        srun python train.py
        """,
        title="switched off, and still there",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        git clone https://oauth2:«Zx81kdPqLm29QwBv77Ns»@git.example.org/models.git
        srun python train.py
        """,
        title="in an address",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export WANDB_API_KEY="«0000badc0de70000badc0de70000badc0de70000»"
        srun python train.py
        """,
        title="of the length that such keys have",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567
        export COMET_API_KEY=00000000000000000000000000000000000000ff
        srun python train.py
        """,
        title="counted up",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_TOKEN=$(cat ~/.hf_token)
        : "${WANDB_API_KEY:?}"
        srun python train.py
        """,
        title="from a file, and from the environment",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_TOKEN=hf_your_token_goes_here_0123456789abcdef
        export WANDB_API_KEY=<40 characters>
        export OPENAI_API_KEY=EMPTY
        srun python train.py --eos-token 'im_end_2024_abcdefgh' --cache-key dataset_v2_shard0017_rev3
        """,
        title="what stands for a secret, and other keys and tokens",
    ),
]
