"""Option blocks drawn at random: what the model says of them beside what sbatch and the controller do.

SBATCHLINT_DRAWN: how many, 150 without it (300 with SBATCHLINT_ALL); SBATCHLINT_SEED: another number draws others.
"""

from __future__ import annotations

import os

from conftest import ALL

from .comparison import compare_all, kinds, report, smallest
from .drawn import draw_blocks
from .local_slurm import LocalSlurm

DRAWN = int(os.environ.get("SBATCHLINT_DRAWN", "300" if ALL else "150"))
SEED = int(os.environ.get("SBATCHLINT_SEED", "0"))
# Of the blocks drawn, as parts of one: fewer would mean that the strategy draws nothing worth comparing.
LEAST_ACCEPTED, LEAST_REFUSED, LEAST_FIELDS = 0.2, 0.2, 3
# More than this undecided, or left to the site, would mean that the model avoids the question.
MOST_UNDECIDED, MOST_SITE = 0.05, 0.1
SHOWN = 10


def test_drawn_blocks(slurm: LocalSlurm) -> None:
    scripts = draw_blocks(slurm.version, DRAWN, SEED)
    results = compare_all(slurm, scripts)
    wrong = [each for each in results if each.wrong]
    counts = kinds(results)
    fields = sum(each.fields for each in results)
    print(f"{len(scripts)} blocks on Slurm {slurm.version}: {counts}, {fields} fields, {len(wrong)} wrong")
    assert not wrong, report([smallest(slurm, each) for each in wrong[:SHOWN]])
    assert counts.get("accepted", 0) > LEAST_ACCEPTED * len(scripts)
    assert counts.get("refused", 0) > LEAST_REFUSED * len(scripts)
    assert fields > LEAST_FIELDS * counts["accepted"]
    assert counts.get("undecided", 0) < MOST_UNDECIDED * len(scripts)
    assert counts.get("site", 0) < MOST_SITE * len(scripts)
