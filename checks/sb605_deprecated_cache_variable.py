"""A cache variable has no effect: newer releases no longer read its old name.

Transformers 4 warns of TRANSFORMERS_CACHE (FutureWarning, in every rank), and Transformers 5 does not read it: models
then go to the home folder, where the quota is small, or are not found there on a node without network access. HF_HOME
is the folder for everything that Hugging Face's libraries keep; HF_HUB_CACHE names only the folder of the models, as
TRANSFORMERS_CACHE did.

## Fix

Writes HF_HUB_CACHE for the same folder, everywhere in the script. Unsafe: other programs may read the old name.

## References

transformers/utils/hub.py (4.57 warns of its three names, 5.23 does not read them); constants.py of huggingface_hub 2.4,
which still reads its two old names:
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.once import once
from sbatchlint.triggers import Variables

# The new name for the same folder.
RENAMED = {
    "TRANSFORMERS_CACHE": "HF_HUB_CACHE",
    "PYTORCH_TRANSFORMERS_CACHE": "HF_HUB_CACHE",
    "PYTORCH_PRETRAINED_BERT_CACHE": "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE": "HF_HUB_CACHE",
    "HUGGINGFACE_ASSETS_CACHE": "HF_ASSETS_CACHE",
}
CARD = Card(
    "SB605", "deprecated-cache-variable", severity="info", fix="sometimes", since="0.1.0", when=Variables(*RENAMED),
)  # fmt: skip

_FORMER = "HUGGINGFACE_HUB_CACHE"  # which huggingface_hub still reads where HF_HUB_CACHE is not set


def check(job: Job) -> Iterator[Finding]:
    names = {each.name for each in job.assignments}
    own: dict[tuple[str, str], list[int]] = {}  # where the script sets a new name, by its value
    new_names = {*RENAMED.values(), _FORMER}
    for span, name in sorted({(each.span, each.name) for each in job.assignments if each.name in new_names}):
        own.setdefault((name, _value(job, span)), []).append(span.start)
    for assignment in job.assignments:
        old, new = assignment.name, RENAMED.get(assignment.name)
        if new is None or not assignment.exported or not any(a.fields for a in assignment.alternatives):
            continue
        if "HUGGINGFACE" in old:
            message = f"`{old}` is the deprecated name of `{new}`; use `{new}`"
        else:
            advice = f"use `{new}`, or `HF_HOME` for all such caches"
            if "HF_HOME" in names or "HF_HOME" in _value(job, assignment.span):
                advice = f"to keep this folder rather than `$HF_HOME/hub`, write `{new}`"
            message = f"`{old}` is ignored by Transformers 5 and later; {advice}"
        for name in (new, _FORMER) if old != _FORMER and new == RENAMED[_FORMER] else (new,):
            same = own.get((name, _value(job, assignment.span)), [])
            if same:
                at = same[min(bisect_left(same, assignment.span.start), len(same) - 1)]
                goes = f"line {job.line(at)} already sets `{name}`, so this line can go"
                message = f"{message.partition('; ')[0]}; {goes}"
                break
        # another variable of the script may already have the new name, or would get it too
        taken = new in names or any(RENAMED.get(name) == new for name in names - {old})
        yield Finding(assignment.name_span, message, fix=None if taken else partial(_renamed, job, old, new))


def _value(job: Job, span: Span) -> str:
    """The value of an assignment as written, or the default for one that is set already."""
    name, _, value = job.source.slice(span).partition("=")
    value = value.strip("\"'")
    return value[len(name) + 4 : -1] if value.startswith(f"${{{name}:-") else value


@once
def _renamed(job: Job, old: str, new: str) -> Fix:
    places = re.finditer(rf"{old}(?<!\w{old})\b", job.source.text)  # the literal first: a fast search
    edits = [replace(Span(found.start(), found.end()), new) for found in places]
    return Fix(f"rename it to {new}{' everywhere in the script' if len(edits) > 1 else ''}", edits)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export «TRANSFORMERS_CACHE»=/lustre/team/models
        mkdir -p "$TRANSFORMERS_CACHE"
        srun python train.py
        """,
        unsafe_fixed={
            "TRANSFORMERS_CACHE=/lustre/team/models": "HF_HUB_CACHE=/lustre/team/models",
            '"$TRANSFORMERS_CACHE"': '"$HF_HUB_CACHE"',
        },
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
        unsafe_fixed={"HUGGINGFACE_HUB_CACHE=/lustre/team/hf": "HF_HUB_CACHE=/lustre/team/hf"},
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
