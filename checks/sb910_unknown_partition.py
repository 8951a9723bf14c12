"""sbatch refuses the job: the partition does not exist, or does not accept this job.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). `sbatch: error: invalid
partition specified: gpux`, and `Invalid partition name specified`: one unknown name among several is enough. A
partition that is drained or inactive takes no jobs (`Required partition not available (inactive or drain)`); one that
is down lets them wait. With `ReqResv=YES` it takes only jobs with a reservation (`Access/permission denied`); with
`RootOnly=YES` only those that root submits, which is a warning.

A warning where a program of the site (`JobSubmitPlugins`) may give the job another partition.

## Fix

Writes the name that is most like it. Unsafe: another one may be meant.

## References

`_get_job_parts()`, `_part_access_check()` and `_valid_job_part()` in src/slurmctld/job_mgr.c; live runs of Slurm 22.05
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.site.fit import CLOSED, stops
from sbatchlint.analysis.site.names import instead_of, nearest, unknown_partitions
from sbatchlint.analysis.site.targets import named_partitions, place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import counted
from sbatchlint.triggers import KnownCluster

if TYPE_CHECKING:
    from sbatchlint.site.model import Profile

CARD = Card(
    "SB910", "unknown-partition", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    profile = job.site.profile
    if profile is None or not profile.partitions:
        return
    for request in requests(job):
        names = named_partitions(request)
        if not names:
            continue
        unknown = unknown_partitions(profile, request)
        closed = [name for name in names if name in profile.partitions and profile.partitions[name].state in CLOSED]
        if unknown:
            yield _unknown(job, request, unknown[0], profile)
        elif closed and len(closed) == len(names):
            state = profile.partitions[closed[0]].state
            yield Finding(
                place(job, request),
                f"sbatch refuses the job: partition `{closed[0]}` accepts no jobs ({state}); name another one",
                severity(job),
            )
    for stop in stops(job):
        found = stop.of("access")
        if found is not None:
            name, obstacle = found
            message = f"sbatch refuses the job: {stop.sentence(name, obstacle)}"
            only_root = stop.target.profile.partitions[name].root_only
            yield Finding(place(job, stop.target.request), message, severity(job, stop.target, only_root))


def _unknown(job: Job, request: Request, name: str, profile: "Profile") -> Finding:
    known = list(profile.partitions)
    setting, meant = request.setting("partition"), nearest(name, known)
    fix = None
    if setting is not None and setting.text and meant is not None and meant not in setting.text.split(","):
        value = ",".join(meant if each == name else each for each in setting.text.split(","))
        fix = Fix(f"write {value}", [replacement(job.directives, setting, value)])
    sizes = {each: counted(one.nodes, "node") for each, one in profile.partitions.items() if one.nodes is not None}
    message = f"sbatch refuses the job: the cluster has no partition `{name}`; {instead_of(meant, known, sizes=sizes)}"
    return Finding(place(job, request), message, severity(job), fix=fix)


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH «--partition=batsh»\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --partition=batch\nsrun ./a.out\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH «-p gpu,fat»\nsrun ./a.out\n", settings=SETTINGS, title="one of two"),
    Bad("#!/bin/bash\n#SBATCH «-p old»\nsrun ./a.out\n", settings=SETTINGS, title="drained"),
    Good("#!/bin/bash\n#SBATCH -p gpu,batch\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -p [partition name]\nsrun ./a.out\n", settings=SETTINGS, title="to be filled in"),
    Good("#!/bin/bash\n#SBATCH --partition=<partition>\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH --partition=batsh\nsrun ./a.out\n", title="no profile"),
    Good("#!/bin/bash\n#SBATCH -M other -p fat\nsrun ./a.out\n", settings=SETTINGS, title="of another cluster"),
    Good("#!/bin/bash\n#SBATCH -p gpu,old\nsrun ./a.out\n", settings=SETTINGS, title="one of them is open"),
]  # fmt: skip
