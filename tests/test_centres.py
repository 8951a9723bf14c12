"""What the name of a script says of the centre that it is for."""

from sbatchlint.api import lint

SCRIPT = "#!/bin/bash\n#SBATCH -N 1 -n 1 -t 60 -p h100\nexport CUDA_LAUNCH_BLOCKING=1\npython train.py --device cuda\n"


def test_name_of_a_centre_whose_nodes_come_with_their_gpus() -> None:
    for name, reported in (("train.slurm", True), ("train_stampede.slurm", False), ("stampeders.slurm", True)):
        found = [each.code for each in lint(SCRIPT, path=name, isolated=True).findings]
        assert ("SB201" in found) == reported, name
