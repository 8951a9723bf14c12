"""The job never starts: no node of the cluster has such a resource, or such a type of GPU.

By the profile of the cluster (`[site] profile` in the settings, docs/site.md). An unknown name is refused at once
(`Invalid generic resource (gres) specification`), an unknown type as `Requested node configuration is not available`.
Names and types are compared letter by letter.

## Fix

Writes the name that is most like it. Unsafe: another one may be meant.

## References

`gres_job_state_validate()` in src/common/gres.c (src/interfaces/gres.c since 23.02); live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.names import UnknownName, correction, instead_of, nearest, unknown_resources
from sbatchlint.analysis.site.targets import place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB912", "unknown-resource", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    if job.site.profile is not None:
        for request in requests(job):
            # what waits for another limit, or for nodes that it names, is not compared with the nodes
            waits = request.has_option("nodelist") or any(each.waits for each in stops(job))
            for each in unknown_resources(job.site.profile, request):
                yield _finding(job, request, each, waits and each.kind == "type")


def _finding(job: Job, request: Request, unknown: UnknownName, waits: bool) -> Finding:
    meant = nearest(unknown.name, unknown.known)
    fix = correction(job, request, unknown, meant)
    what = "resource" if unknown.kind == "name" else "type of GPU" if "gpu" in unknown.option else "type"
    instead = instead_of(meant, unknown.known, "there are no types")
    effect = "the job waits forever" if waits else "sbatch refuses the job"
    message = f"{effect}: no node of the cluster has a {what} `{unknown.name}`; {instead}"
    return Finding(place(job, request, unknown.option), message, severity(job, waits=waits), fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gres=gpu:a10:2»\nsrun ./train\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p gpu\n#SBATCH --gres=gpu:a100:2\nsrun ./train\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gpus-per-node=h200:2»\nsrun ./train\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH «--gres=nvme:1»\nsrun ./a.out\n", settings=SETTINGS, title="not a GPU"),
    Good("#!/bin/bash\n#SBATCH -p gpu --gpus-per-node=a100:2\nsrun ./train\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p gpu --gres=gpu:2 --cpus-per-task=8\nsrun ./train\n", settings=SETTINGS),
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gpus=rtx6000:1»\nsrun ./train\n",
        settings={"site": {"profile": "pelle"}}, severity="warning", title="a plugin may change the job",
    ),
    Good("#!/bin/bash\n#SBATCH -p gpu --gpus=l40s:10\nsrun ./train\n", settings={"site": {"profile": "pelle"}}),
    Good(
        "#!/bin/bash\n#SBATCH -p small-g --gpus=mi250:1\nsrun ./train\n",
        settings={"site": {"profile": "lumi"}}, title="no types known",
    ),
    Good("#!/bin/bash\n#SBATCH --gres=gpu:h200:2\nsrun ./train\n", title="no profile"),
]  # fmt: skip
