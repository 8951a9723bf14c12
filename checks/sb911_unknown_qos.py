"""The job is refused, or runs without its QOS: the cluster has no such QOS, or not for this partition.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md), which has the QOS that
`sacctmgr show qos` lists. `sbatch: error: Batch job submission failed: Invalid qos specification`. Where Slurm does not
enforce QOS (`AccountingStorageEnforce`), an unknown one has no effect, and is only a warning. A QOS that a partition
does not take (`AllowQos`, `DenyQos`) is refused with `EnforcePartLimits` ALL or ANY, and otherwise waits for good; one
with `RequiresReservation` is refused without a reservation. So is one that the account of the job does not have; with
no account in the script, one that no account has.

## Fix

Writes the name that is most like it. Unsafe: another one may be meant.

## References

`assoc_mgr_fill_in_qos()` in src/common/assoc_mgr.c, `_determine_and_validate_qos()` in src/slurmctld/job_mgr.c and
`part_policy_valid_qos()` in src/slurmctld/partition_mgr.c; live runs of Slurm 22.05 with slurmdbd
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.names import instead_of, listing, nearest
from sbatchlint.analysis.site.targets import account_of, named, place, requests, severity, whose_account
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.site.profile import limit
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.triggers import KnownCluster

if TYPE_CHECKING:
    from sbatchlint.site.model import Profile

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
                yield _unknown(job, request, name, profile, refused)
            elif name and name in profile.qos and "RequiresReservation" in profile.qos[name].flags:
                if not request.has_option("reservation"):
                    message = f"sbatch refuses the job: the QOS `{name}` takes only jobs with a reservation; name yours"
                    yield Finding(place(job, request, "qos"), message, severity(job))
            if name in profile.qos and refused:
                yield from _not_of_account(job, request, name)
    for stop in stops(job):
        found = stop.of("qos")
        if found is not None:
            span = place(job, stop.target.request, "qos")
            yield Finding(span, f"{stop.effect}: {stop.sentence(*found)}", severity(job, stop.target, stop.waits))


def _not_of_account(job: Job, request: Request, name: str) -> Iterator[Finding]:
    account = account_of(job.site.profile, request) if job.site.profile is not None else None
    if account is None or account.qos is None or name in account.qos:
        return
    message = f"sbatch refuses the job: {whose_account(request)} may not use the QOS `{name}`"
    message += f"; available: {listing(account.qos)}"
    yield Finding(place(job, request, "qos"), message, severity(job))


def _unknown(job: Job, request: Request, name: str, profile: "Profile", refused: bool) -> Finding:
    known = list(profile.qos)
    setting, meant = request.setting("qos"), nearest(name, known)
    fix = None
    if setting is not None and setting.text == name and meant is not None:
        fix = Fix(f"write {meant}", [replacement(job.directives, setting, meant)])
    effect = "sbatch refuses the job" if refused else "--qos has no effect"
    level = severity(job) if refused else "warning"
    limits = {each: f"at most {one.max_time}" for each, one in profile.qos.items() if limit(one.max_time) is not None}
    message = f"{effect}: the cluster has no QOS `{name}`; {instead_of(meant, known, sizes=limits)}"
    return Finding(place(job, request, "qos"), message, level, fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--qos=debgu»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p batch\n#SBATCH --qos=debug\nsrun ./a.out\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH «-q premium»\nsrun ./a.out\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p gpu «--qos=debug»\nsrun ./a.out\n", settings=SETTINGS, title="not in this partition"),
    Bad("#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--qos=course»\nsrun ./a.out\n", settings=SETTINGS,
        title="one that needs a reservation"),
    Bad(
        "#!/bin/bash\n#SBATCH -p batch --account=geology\n#SBATCH «--qos=course» --reservation=monday\nsrun ./a.out\n",
        settings=SETTINGS, title="not of this account",
    ),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=course --reservation=monday\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p batch --qos=debug\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --qos=<qos>\nsrun ./a.out\n", settings=SETTINGS, title="to be filled in"),
    Good("#!/bin/bash\n#SBATCH --qos=premium\nsrun ./a.out\n", title="no profile"),
]  # fmt: skip
