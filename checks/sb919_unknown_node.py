"""sbatch refuses the job: the cluster has no such node.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). `sbatch: error: Batch job
submission failed: Invalid node name specified`, for `--nodelist` as for `--exclude`: one unknown name is enough.

## Fix

None.

## References

`node_name2bitmap()` in src/common/node_conf.c; live runs of Slurm 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.demand import hosts_of
from sbatchlint.analysis.site.names import listing
from sbatchlint.analysis.site.targets import named, place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.site.profile import lists
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.source.numbers import counted
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB919", "unknown-node", severity="error", fix="never", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    profile = job.site.profile
    if profile is None or not lists(profile, "nodes") or not all(each.names for each in profile.nodes):
        return
    known: set[str] = set()
    for request in requests(job):
        for option in ("nodelist", "exclude"):
            listed = hosts(named(request, option)) if request.has_option(option) else None
            if not listed:
                continue
            known = known or hosts_of(profile.nodes)
            unknown = [name for name in listed if name not in known]
            if unknown:
                names = [each.names for each in profile.nodes]
                others = f"its {counted(len(known), 'node')} {'is' if len(known) == 1 else 'are'} {listing(names, 3)}"
                message = f"sbatch refuses the job: the cluster has no node `{unknown[0]}`; {others}"
                yield Finding(place(job, request, option), message, severity(job))


CASES = [
    Bad("#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--nodelist=n[098-102]»\nsrun ./a.out\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p batch «-x node7»\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch -w n001,n002 -x n[003-004]\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --nodelist=node7\nsrun ./a.out\n", title="no profile"),
]
