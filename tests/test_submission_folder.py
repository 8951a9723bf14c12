"""Whether the folder of the submission is that of the script, and the releases for which a finding holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.api import lint

SCRIPT = '#!/bin/bash\n#SBATCH --ntasks=1\nsource "$(dirname "$0")/env.sh"\n./a.out\n'


@pytest.mark.parametrize(
    ("beside", "text", "fixed"),
    [
        ("train.sh", "#!/bin/bash\n# sbatch --account=<account> cluster/train.sh\n./a.out\n", False),
        ("train.sh", "#!/bin/bash\n# sbatch train.sh\n./a.out\n", True),
        ("train.sh", "#!/bin/bash\n# sbatch other-cluster/train.sh\n./a.out\n", True),
        ("README.md", "Submit it from the top: `sbatch cluster/train.sh`\n", False),
    ],
)
def test_scripts_of_a_folder_are_submitted_from_the_same_place(
    tmp_path: Path, beside: str, text: str, fixed: bool
) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / beside).write_text(text)
    script = folder / "bench.sh"
    script.write_text(SCRIPT)
    (found,) = lint(script, settings={"select": ["SB808"]}, isolated=True)
    assert (found.fix is not None) is fixed
    assert ("write `$SLURM_SUBMIT_DIR`" in found.message) is fixed


@pytest.mark.parametrize(
    ("code", "script", "first"),
    [
        ("SB409", "#SBATCH --gpus-per-task=2 --ntasks=1\nray start --num-gpus $SLURM_GPUS_PER_TASK", "23.11"),
        ("SB701", "#SBATCH --output=logs/%j.out\n./a.out", "22.05"),
    ],
)
def test_findings_name_the_releases_for_which_they_hold(tmp_path: Path, code: str, script: str, first: str) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "job.sh"
    path.write_text(f"#!/bin/bash\n{script}\n")
    (found,) = lint(path, settings={"select": [code], "min-severity": "info"}, isolated=True)
    assert found.releases[:1] == (first,) or found.releases[:1] == [first]
