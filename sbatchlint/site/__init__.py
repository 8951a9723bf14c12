"""What is known of the site: facts of the settings (`[tool.sbatchlint.site]`) and the profile of a cluster."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sbatchlint.site.model import Profile


# Where the administrators of a cluster put its profile for all who log in.
FOUND = "/etc/sbatchlint/site.toml"


class Site(NamedTuple):
    """Facts about a site that a script does not show; None and empty tuples mean unknown.

    `shared_paths`, `local_paths`: folders shared by all nodes, or local to each node. `gpus`: how jobs get GPUs:
    "gres", if they request them, or "whole-node", with nodes that they have to themselves. `gpus_required`: whether
    jobs without a GPU request are refused or get none. `gpu_partitions`: partitions whose jobs get GPUs without a
    request. `pyxis_in_sbatch`: whether sbatch has pyxis options. `container_home_mounted`: whether enroot mounts the
    home folder by default. `plugin_options`: further options of the site's SPANK plugins; `plugins_listed`: whether
    these are all, because they come from sbatch itself. `unset`: variables that jobs are assumed not to inherit from
    the submission, `@` for arguments; not a setting. `versions_named`: whether the settings name the releases.
    `submit_options`: those with which the script is submitted, None where they are not known; `submit_origin`: the
    settings that say so, "" for the command line. `profile`: the cluster,
    as `sbatchlint site` describes it; what it says of the facts above is in them.
    """

    shared_paths: tuple[str, ...] = ()
    local_paths: tuple[str, ...] = ()
    home_is_shared: bool | None = None
    gpus: str | None = None
    gpus_required: bool | None = None
    gpu_partitions: tuple[str, ...] = ()
    gpus_per_node: int | None = None
    gpu_vendor: str | None = None
    gpu_arch: str | None = None
    pyxis: str | None = None
    pyxis_in_sbatch: bool | None = None
    container_home_mounted: bool | None = None
    plugin_options: tuple[str, ...] = ()
    plugins_listed: bool = False
    slurm_versions: tuple[str, str] = ("22.05", "26.05")
    versions_named: bool = False
    submit_options: str | None = None
    submit_origin: str = ""
    unset: frozenset[str] = frozenset()
    profile: "Profile | None" = None
