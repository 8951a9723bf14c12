"""The job is refused, or gets another QOS: the cluster has no such QOS, or not for this partition.

By the profile of the cluster (`[site] profile` in the settings, docs/site.md), which has the QOS that `sacctmgr show
qos` lists. `sbatch: error: Batch job submission failed: Invalid qos specification`. Where Slurm does not enforce QOS
(`AccountingStorageEnforce`), an unknown one has no effect, and is only a warning. Whether the user may use it is not
known here.

## Fix

Writes the name that is most like it. Unsafe: another one may be meant.

## References

`assoc_mgr_fill_in_qos()` in src/common/assoc_mgr.c and `_qos_allowed()` in src/slurmctld/job_mgr.c; sbatch(1), --qos
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.names import instead_of, listing, nearest
from sbatchlint.analysis.site.targets import Target, named, place, requests, severity, targets
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB911", "unknown-qos", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05 with accounting", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    profile = job.site.profile
    if profile is None or profile.accounting_enforce is None:
        return  # without accounting any name is taken
    refused = "qos" in profile.accounting_enforce or "safe" in profile.accounting_enforce
    for request in requests(job):
        for name in (named(request, "qos") or "").split(","):
            if name and name not in profile.qos and "qos" in profile.complete:
                yield _unknown(job, request, name, list(profile.qos), refused)
    for target in targets(job) if refused else ():
        yield from _not_allowed(job, target)


def _unknown(job: Job, request: Request, name: str, known: list[str], refused: bool) -> Finding:
    setting, meant = request.setting("qos"), nearest(name, known)
    fix = None
    if setting is not None and setting.text == name and meant is not None:
        fix = Fix(f"write {meant}", [replacement(job.directives, setting, meant)])
    effect = "sbatch refuses the job" if refused else "the job gets the default QOS"
    level = severity(job) if refused else "warning"
    message = f"{effect}: the cluster has no QOS `{name}`; {instead_of(meant, known)}"
    return Finding(place(job, request, "qos"), message, level, fix=fix)


def _not_allowed(job: Job, target: Target) -> Iterator[Finding]:
    name = target.request.value("qos")
    if not name or "," in name or name not in target.profile.qos:
        return
    found = []
    for partition in target.partitions:
        each = target.profile.partitions[partition]
        if each.allow_qos is not None and name not in each.allow_qos:
            found.append(f"partition `{partition}` takes {listing(each.allow_qos)}")
        elif each.deny_qos is not None and name in each.deny_qos:
            found.append(f"partition `{partition}` takes any but {listing(each.deny_qos)}")
    if len(found) == len(target.partitions):
        message = f"sbatch refuses the job with the QOS `{name}`: {found[0]}"
        yield Finding(place(job, target.request, "qos"), message, severity(job, target))


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--qos=debgu»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p batch\n#SBATCH --qos=debug\nsrun ./a.out\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH «-q premium»\nsrun ./a.out\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p gpu «--qos=debug»\nsrun ./a.out\n", settings=SETTINGS, title="not in this partition"),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=debug\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --qos=<qos>\nsrun ./a.out\n", settings=SETTINGS, title="to be filled in"),
    Good("#!/bin/bash\n#SBATCH --qos=premium\nsrun ./a.out\n", title="no profile"),
]  # fmt: skip
