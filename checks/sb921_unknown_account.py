"""sbatch refuses the job: no user of the cluster has this account, or the partition does not take it.

The accounts are those in the profile of the cluster (`[site] profile` in the settings, docs/site.md), if it has the
names of accounts (`sbatchlint site --with-accounts`, `--for-user`). Where Slurm enforces associations
(`AccountingStorageEnforce`), sbatch prints `Invalid account or account/partition combination specified`. Case is
ignored. Whether this user may use the account is known only from a profile made with `--for-user`. A partition that
does not take it (`AllowAccounts`, `DenyAccounts`, with the accounts below since 23.02; `AllowGroups`, in a profile made
with `--for-user`) is refused with `EnforcePartLimits` ALL or ANY, and the job otherwise waits for good
(`AccountNotAllowed`).

## Fix

Writes the name that is most like it. Unsafe: a different one may have been meant.

## References

`assoc_mgr_fill_in_assoc()` in src/common/assoc_mgr.c, `part_policy_valid_acct()` and `validate_group()` in
src/slurmctld/partition_mgr.c; live runs of Slurm 22.05 and 26.05 with slurmdbd
"""

from collections.abc import Iterator

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.names import UnknownName, correction, instead_of, nearest
from sbatchlint.analysis.site.targets import named, place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.site.profile import lists
from sbatchlint.triggers import KnownCluster

CARD = Card(
    "SB921", "unknown-account", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05 with accounting", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    profile = job.site.profile
    for stop in stops(job):
        found = stop.of("account", "group")
        if found is not None:
            request = stop.target.request
            # the command line may name another account
            named_here = request.has_option("account") or job.site.submit_options is not None
            sure = named_here or found[1].kind == "group"
            level = severity(job, stop.target, stop.waits) if sure else "warning"
            yield Finding(place(job, request, "account"), f"{stop.effect}: {stop.sentence(*found)}", level)
    if profile is None or not lists(profile, "accounts") or not profile.accounting_enforce:
        return
    known = sorted({name for each in profile.accounts for name in each.names})
    for request in requests(job):
        name = named(request, "account")
        if not name or name.lower() in known:
            continue
        meant = nearest(name, known)
        fix = correction(job, request, UnknownName("account", name, "name", tuple(known)), meant)
        message = f"sbatch refuses the job: the account `{name}` may not be used here; {instead_of(meant, known)}"
        yield Finding(place(job, request, "account"), message, severity(job), fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p batch\n#SBATCH «--account=geolgy»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p batch\n#SBATCH --account=geology\nsrun ./a.out\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH «-A p1234»\nsrun ./a.out\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p whole\n#SBATCH «--account=teaching»\nsrun ./a.out\n", settings=SETTINGS,
        title="not in this partition"),
    Good("#!/bin/bash\n#SBATCH -p whole --account=geology\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -A Geology\nsrun ./a.out\n", settings=SETTINGS, title="Slurm writes it in lower case"),
    Good("#!/bin/bash\n#SBATCH --account=<account>\nsrun ./a.out\n", settings=SETTINGS, title="to be filled in"),
    Good("#!/bin/bash\nsrun ./a.out\n", settings=SETTINGS, title="the user's default account"),
    Good("#!/bin/bash\n#SBATCH --account=p1234\nsrun ./a.out\n", title="no profile"),
]  # fmt: skip
