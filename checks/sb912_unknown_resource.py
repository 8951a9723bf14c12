"""The job never starts: the cluster has no such resource, type of GPU or licence.

This is judged by the profile of the cluster (`[site] profile` in the settings, docs/site.md). An unknown name is
refused at once (`Invalid generic resource (gres) specification`), an unknown type as `Requested node configuration is
not available`, an unknown licence as `Invalid license specification`. Names and types are compared letter by letter; a
licence of a server has it in its name, `ansys@server`.

## Fix

Writes the name that is most like it. Unsafe: another one may be meant. None where a number differs, or a letter beside
one: a100, h100 and a10 are different GPUs.

## References

`gres_job_state_validate()` in src/common/gres.c (src/interfaces/gres.c since 23.02); `license_validate()` in
src/slurmctld/licenses.c; live runs of Slurm 22.05
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.site.fit import stops
from sbatchlint.analysis.site.names import UnknownName, correction, instead_of, listing, nearest, unknown_resources
from sbatchlint.analysis.site.targets import named_partitions, place, requests, severity
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.site.profile import gpu_types, gres_of, nodes_of
from sbatchlint.triggers import KnownCluster

if TYPE_CHECKING:
    from sbatchlint.site.model import Nodes

CARD = Card(
    "SB912", "unknown-resource", severity="error", fix="sometimes", since="0.1.0", when=KnownCluster(),
    seen="a live controller of Slurm 22.05", certain=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    if job.site.profile is not None:
        for request in requests(job):
            # what waits for another limit, for nodes that it names, or to be released, is not compared with the nodes
            waits = request.has_any_option(("nodelist", "hold")) or any(each.waits for each in stops(job))
            for each in unknown_resources(job.site.profile, request):
                yield _finding(job, request, each, waits and each.kind == "type")


def _finding(job: Job, request: Request, unknown: UnknownName, waits: bool) -> Finding:
    meant = nearest(unknown.name, unknown.known)
    fix = correction(job, request, unknown, meant)
    effect = "the job waits forever" if waits else "sbatch refuses the job"
    message = f"{effect}: {_missing(unknown)} `{unknown.name}`; {_instead(job, request, unknown, meant)}"
    return Finding(place(job, request, unknown.option), message, severity(job, waits=waits), fix=fix)


def _missing(unknown: UnknownName) -> str:
    if unknown.kind == "licence":
        return "the cluster has no license"
    what = "resource" if unknown.kind == "name" else "type of GPU" if "gpu" in unknown.option else "type"
    return f"no node of the cluster has a {what}"


def _instead(job: Job, request: Request, unknown: UnknownName, meant: str | None) -> str:
    """What to write: of types of GPU, those of the partition."""
    profile = job.site.profile
    names = named_partitions(request) if meant is None and unknown.kind == "type" else None
    if profile is None:
        return instead_of(meant, unknown.known)
    if names and "gpu" in unknown.option:
        own = [each for name in names for each in nodes_of(profile, name)]
        sizes, types = _on_a_node(own), gpu_types(own)
        if types:
            return f"partition `{','.join(names)}` has {listing([f'{each} ({sizes[each]})' for each in types])}"
    sizes = {name: str(number) for name, number in (profile.licenses or {}).items()}
    sizes = _on_a_node(profile.nodes) if unknown.kind == "type" else sizes if unknown.kind == "licence" else {}
    none = "there are no types" if unknown.kind == "type" else "there are none"
    return instead_of(meant, unknown.known, none, sizes)


def _on_a_node(kinds: "Iterable[Nodes]") -> dict[str, str]:
    """How many resources of each type a node has, at most: `4 a node`."""
    found: dict[str, int] = {}
    for each in (one for nodes in kinds for one in gres_of(nodes) if one.type):
        found[each.type] = max(found.get(each.type, 0), each.number)
    return {name: f"{number} a node" for name, number in found.items()}


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gres=gpu:A100:2»\nsrun ./train\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p gpu\n#SBATCH --gres=gpu:a100:2\nsrun ./train\n",
        settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gpus-per-node=h100:2»\nsrun ./train\n", settings=SETTINGS),
    Bad("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH «--gres=gpu:a10:2»\nsrun ./train\n", settings=SETTINGS,
        title="a GPU with a name much like it"),
    Bad(
        "#!/bin/bash\n#SBATCH «--licenses=matlba:2»\nmatlab -batch main\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --licenses=matlab:2\nmatlab -batch main\n", settings=SETTINGS,
    ),
    Bad("#!/bin/bash\n#SBATCH -n 4 «-L matlab,ansys»\nsrun ./a.out\n", settings=SETTINGS),
    Good("#!/bin/bash\n#SBATCH -L matlab:2,ansys@flex\nsrun ./a.out\n", settings=SETTINGS),
    Good(
        "#!/bin/bash\n#SBATCH -p standard -L scratch\nsrun ./a.out\n",
        settings={"site": {"profile": "lumi"}}, title="no licences known",
    ),
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
