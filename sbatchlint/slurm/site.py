"""What the settings say of the site on which the job will run (`[tool.sbatchlint.site]`)."""

from typing import NamedTuple


class Site(NamedTuple):
    """Facts that no script tells. None, and empty tuples: not said.

    `shared_paths`, `local_paths`: folders that all nodes see, or that each node has for itself.
    `gpus_required`: jobs without a GPU request are refused or get none. `gpu_partitions`: partitions whose jobs get
    GPUs without asking. `pyxis_in_sbatch`: whether sbatch takes pyxis options. `container_home_mounted`: whether
    enroot mounts the home folder when no option says so. `plugin_options`: further options of the site's SPANK plugins;
    `plugins_listed`: whether they are all there are, because sbatch itself listed them. `unset`: variables that jobs
    are taken not to get from where they are submitted, `@` for arguments; no setting says so.
    """

    shared_paths: tuple[str, ...] = ()
    local_paths: tuple[str, ...] = ()
    home_is_shared: bool | None = None
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
    unset: frozenset[str] = frozenset()
