"""What a profile says of the facts that settings may give by hand: the values of `Site`."""

from collections.abc import Iterable

from sbatchlint.site import Site
from sbatchlint.site.model import Nodes, Profile
from sbatchlint.site.profile import gpu_types, gpus_of
from sbatchlint.slurm.getopt import site_names
from sbatchlint.slurm.versions import major

# The beginnings of types of GPU, by the names that sites give them, and the architecture that nvcc knows them by.
_NVIDIA = {
    "p100": "sm_60", "v100": "sm_70", "t4": "sm_75", "rtx_2080": "sm_75", "a100": "sm_80", "a30": "sm_80",
    "a40": "sm_86", "a10": "sm_86", "a6000": "sm_86", "rtx_3090": "sm_86", "l4": "sm_89", "l40": "sm_89",
    "l40s": "sm_89", "rtx_4090": "sm_89", "h100": "sm_90", "h200": "sm_90", "gh200": "sm_90", "b200": "sm_100",
}  # fmt: skip
_AMD = ("mi50", "mi60", "mi100", "mi210", "mi250", "mi250x", "mi300", "mi300a", "mi300x")


def facts_of(profile: Profile) -> dict[str, object]:
    """The facts by the names of the fields of `Site`; only those that are known."""
    found: dict[str, object] = dict(gpu_facts(profile.nodes))
    if profile.release is not None:
        release = major(profile.release)
        found |= {"slurm_versions": (release, release), "versions_named": True}
    if profile.gpus is not None:
        found["gpus"] = profile.gpus
    if profile.gpus == "gres" and profile.gpus_bound:
        found["gpus_required"] = True
    if profile.plugin_options is not None:
        names = site_names(profile.plugin_options)
        found |= {"plugin_options": profile.plugin_options, "plugins_listed": True}
        found["pyxis_in_sbatch"] = "container-image" in names
    return found


def of_partitions(site: Site, partition: str | None) -> Site:
    """The facts for a job in these partitions, whose nodes may be alike where those of the cluster are not."""
    profile = site.profile
    names = [name for name in (partition or "").split(",") if profile is not None and name in profile.partitions]
    if profile is None or not names:
        return site
    everywhere = gpu_facts(profile.nodes)
    own = gpu_facts(each for each in profile.nodes if set(names) & set(each.partitions))
    by_hand = {name for name in own if getattr(site, name) not in (None, everywhere.get(name))}
    return site._replace(**{name: value for name, value in own.items() if name not in by_hand})  # type: ignore[arg-type]


def gpu_facts(nodes: Iterable[Nodes]) -> dict[str, object]:
    """What all of these nodes that have GPUs have in common: how many, who made them, their architecture."""
    with_gpus = [each for each in nodes if gpus_of(each)]
    found: dict[str, object] = {}
    counts = {gpus_of(each) for each in with_gpus}
    if len(counts) == 1:
        found["gpus_per_node"] = counts.pop()
    types = gpu_types(with_gpus)
    if not types or not all(gpu_types([each]) for each in with_gpus):
        return found
    architectures = {_architecture(each) for each in types}
    if None not in architectures:
        found["gpu_vendor"] = "nvidia"
        if len(architectures) == 1:
            found["gpu_arch"] = architectures.pop()
    elif all(any(_is_of(each, name) for name in _AMD) for each in types):
        found["gpu_vendor"] = "amd"
    return found


def _architecture(kind: str) -> str | None:
    return next((arch for name, arch in _NVIDIA.items() if _is_of(kind, name)), None)


def _is_of(kind: str, name: str) -> bool:
    """Whether `nvidia_a100_80gb_pcie`, `a100-80` or `A100` is an a100."""
    words = kind.lower().replace("-", "_")
    return f"_{name}_" in f"_{words.removesuffix('gb')}_"
