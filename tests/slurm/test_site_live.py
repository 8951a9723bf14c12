"""What SB91x, SB920 and SB921 say of a job for a cluster, its controller says too, and the other way round.

The jobs are submitted for later (`--begin`), so that the controller looks at all that it looks at, and none runs. Those
of clusters with QOS need slurmdbd and a database; CI has neither, and compares what was recorded of them
(tests/test_site_recorded.py). SBATCHLINT_SITE_SCRIPTS is the number of scripts for each cluster,
SBATCHLINT_SITE_RECORD a folder for what they came to.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sbatchlint.site.collecting import profile_of
from sbatchlint.site.reading import parsed
from sbatchlint.site.writing import as_toml
from site_verdicts import Answer, disagreements, recorded

from .local_slurm import Unavailable
from .site_scripts import CLUSTERS, scripts
from .sites import SiteSlurm

COUNT = int(os.environ.get("SBATCHLINT_SITE_SCRIPTS", "40"))
SEED = os.environ.get("SBATCHLINT_SITE_SEED", "site")


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_controller_says_the_same(name: str, tmp_path: Path) -> None:
    try:
        asked = CLUSTERS[name]
        cluster = SiteSlurm(asked.lines, asked.accounts, os.environ.get("SBATCHLINT_SLURM_PREFIX") or None)
    except Unavailable as error:
        pytest.skip(f"no Slurm: {error}")
    try:
        try:
            cluster.start()
        except Unavailable as error:
            pytest.skip(f"no Slurm: {error}")
        outputs = cluster.outputs()
        profile = profile_of(outputs, user="daemon" if asked.accounts else None)
        assert parsed(as_toml(profile).encode(), "site.toml") == profile
        drawn = scripts(asked, list(profile.partitions), SEED + name, COUNT)
        answers = [Answer(each, *cluster.delayed(each)) for each in drawn]
        folder = os.environ.get("SBATCHLINT_SITE_RECORD")
        if folder is not None:
            Path(folder, f"{name}-{cluster.version}.jsonl").write_text(recorded(outputs, answers))
        assert not disagreements(profile, answers, tmp_path)
    finally:
        cluster.stop()
