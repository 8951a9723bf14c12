"""sbatch refuses the job: no node of the cluster has a feature that --constraint or --prefer names.

The features are those in the profile of the cluster (`[site] profile` in the settings, docs/site.md). sbatch prints
`sbatch: error: Batch job submission failed: Invalid feature specification`: one unknown name is enough, even after a
`|`.

## Fix

Writes the name that is most like it. Unsafe: a different one may have been meant.

## References

`_valid_feature_list()` in src/slurmctld/node_scheduler.c (job_scheduler.c since 23.02); live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.names import correction, instead_of, nearest, unknown_features
from sbatchlint.analysis.site.targets import place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.site.profile import total
from sbatchlint.source.numbers import counted
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB913", "unknown-feature", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
PELLE = {"site": {"profile": "pelle"}}


def check(job: Job) -> Iterator[Finding]:
    profile = job.site.profile
    if profile is None:
        return
    for request in requests(job):
        for unknown in unknown_features(profile, request):
            meant = nearest(unknown.name, unknown.known)
            fix = correction(job, request, unknown, meant)
            having = {name: [each for each in profile.nodes if name in (each.features or ())] for name in unknown.known}
            sizes = {name: counted(number, "node") for name, each in having.items() if (number := total(each))}
            instead = instead_of(meant, unknown.known, "its nodes have no features", sizes)
            message = f"sbatch refuses the job: no node has the feature `{unknown.name}`; {instead}"
            yield Finding(place(job, request, unknown.option), message, severity(job), fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--constraint=icelak»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p batch\n#SBATCH --constraint=icelake\nsrun ./a.out\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH -p batch «--prefer=haswell»\nsrun ./a.out\n", settings=SETTINGS, title="only preferred"),
    Bad("#!/bin/bash\n#SBATCH -p batch «-C [rome*2|skylake*2]»\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch -C 'rome|icelake'\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -C haswell\nsrun ./a.out\n", settings=PELLE, title="no features known"),
    Good("#!/bin/bash\n#SBATCH -C haswell\nsrun ./a.out\n", title="no profile"),
]  # fmt: skip
