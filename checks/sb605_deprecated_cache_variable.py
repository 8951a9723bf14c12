"""A variable names a cache by a name that newer releases have given up.

Transformers 4 warns of TRANSFORMERS_CACHE (FutureWarning, in every rank), and Transformers 5 does not read it: models
then go to the home folder, where the quota is small, or are looked for there in vain on a node without a network.
HF_HOME is the folder for all that Hugging Face's libraries keep; HF_HUB_CACHE names just the folder of the models, as
TRANSFORMERS_CACHE did.

## Fix

Writes HF_HUB_CACHE for the same folder, at every place of the script. Unsafe: other programs may read the old name.

## References

transformers/utils/hub.py (4.57 and 5.23); huggingface_hub, environment variables:
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Variables

CARD = Card(
    "SB605", "deprecated-cache-variable", severity="info", fix="sometimes", since="0.1.0",
    when=Variables("TRANSFORMERS_CACHE", "PYTORCH_*", "HUGGINGFACE_*"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for cache in job.renamed_caches():
        what = (
            f"{cache.name} is an old name, of which Transformers 4 warns and which Transformers 5 does not read"
            if cache.ignored
            else f"{cache.name} is the old name of {cache.new}"
        )
        instead = f"write {cache.new} for the same folder"
        if cache.ignored:
            home = "HF_HOME, which is set too, is enough" if cache.home else "or HF_HOME for all such caches"
            instead = f"{instead}; {home}" if cache.home else f"{instead}, {home}"
        yield Finding(
            cache.span,
            f"{what}; {instead}",
            fix=Fix(f"call it {cache.new}", cache.edits) if cache.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export «TRANSFORMERS_CACHE»=/lustre/team/models
        mkdir -p "$TRANSFORMERS_CACHE"
        srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_HUB_CACHE=/lustre/team/models
        mkdir -p "$HF_HUB_CACHE"
        srun python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_HOME=/lustre/team/hf
        export «PYTORCH_TRANSFORMERS_CACHE»=$HF_HOME/hub
        export HF_HUB_CACHE=$HF_HOME/hub
        srun python train.py
        """,
        title="the new name is there already",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «HUGGINGFACE_HUB_CACHE»=/lustre/team/hf srun python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        HF_HUB_CACHE=/lustre/team/hf srun python train.py
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_HOME=/lustre/team/hf
        unset TRANSFORMERS_CACHE
        srun python train.py --cache "${TRANSFORMERS_CACHE:-}"
        """
    ),
]
