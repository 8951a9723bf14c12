"""What the settings say of the site on which the job will run (`[tool.sbatchlint.site]`)."""


class Site:
    """Facts that no script tells. None, and empty tuples: not said.

    `shared_paths`, `local_paths`: folders that all nodes see, or that each node has for itself.
    `gpus_required`: jobs without a GPU request are refused or get none. `gpu_partitions`: partitions whose jobs get
    GPUs without asking. `pyxis_in_sbatch`: whether sbatch takes pyxis options. `container_home_mounted`: whether
    enroot mounts the home folder when no option says so. `plugin_options`: further options of the site's SPANK plugins;
    `plugins_listed`: whether they are all there are, because sbatch itself listed them. `unset`: variables that jobs
    are taken not to get from where they are submitted, `@` for arguments; no setting says so.
    """

    __slots__ = (
        "container_home_mounted", "gpu_arch", "gpu_partitions", "gpu_vendor", "gpus_per_node", "gpus_required",
        "home_is_shared", "local_paths", "plugin_options", "plugins_listed", "pyxis", "pyxis_in_sbatch",
        "shared_paths", "slurm_versions", "unset",
    )  # fmt: skip

    def __init__(
        self, shared_paths: tuple[str, ...] = (), local_paths: tuple[str, ...] = (),
        home_is_shared: bool | None = None, gpus_required: bool | None = None, gpu_partitions: tuple[str, ...] = (),
        gpus_per_node: int | None = None, gpu_vendor: str | None = None, gpu_arch: str | None = None,
        pyxis: str | None = None, pyxis_in_sbatch: bool | None = None, container_home_mounted: bool | None = None,
        plugin_options: tuple[str, ...] = (), plugins_listed: bool = False,
        slurm_versions: tuple[str, str] = ("22.05", "26.05"),
    ) -> None:  # fmt: skip
        self.shared_paths = shared_paths
        self.local_paths = local_paths
        self.home_is_shared = home_is_shared
        self.gpus_required = gpus_required
        self.gpu_partitions = gpu_partitions
        self.gpus_per_node = gpus_per_node
        self.gpu_vendor = gpu_vendor
        self.gpu_arch = gpu_arch
        self.pyxis = pyxis
        self.pyxis_in_sbatch = pyxis_in_sbatch
        self.container_home_mounted = container_home_mounted
        self.plugin_options = plugin_options
        self.plugins_listed = plugins_listed
        self.slurm_versions = slurm_versions
        self.unset: frozenset[str] = frozenset()
