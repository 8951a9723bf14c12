"""The profile of a cluster: what a job may ask for, and what it gets.

`sbatchlint site` makes one, `sbatchlint.site.reading` reads it, and `job.site.profile` hands it to checks. A value that
is None, empty or not there is not known, or without limit: both say nothing against a job. What is listed completely
(`complete`) has no others. Memory is in MB; times are as Slurm writes them, `UNLIMITED` and `NONE` included.
"""

from msgspec import Struct


class Nodes(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The nodes of one kind: of the same size, with the same features, in the same partitions.

    `names`: a list of hosts, `gpu[01-16]`; "" if not known. `count`: how many there are, None if that is not known.
    `cpus`: those that jobs may have, hardware threads counted. `sockets`, `cores_per_socket`: those of the hardware.
    `memory`: what jobs may have. `tmp_disk`: MB that
    `--tmp` may ask for; 0, as where slurm.conf does not say, takes no job with it. `gres`: in the words of Slurm,
    `gpu:a100:4`. `gpus`: how many there are where GPUs are not a GRES, or the name of the GRES is not known.
    `gres`, `features`: None if they are not known. `watts`, `price`: of a node for an hour, in the `currency` of the
    profile; by hand.
    """

    names: str = ""
    count: int | None = None
    cpus: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int = 1
    memory: int | None = None
    tmp_disk: int | None = None
    gres: tuple[str, ...] | None = None
    gpus: int | None = None
    features: tuple[str, ...] | None = None
    partitions: tuple[str, ...] = ()
    watts: float | None = None
    price: float | None = None


class Partition(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """A partition.

    `default`: it is that of jobs that name none. `whole_nodes`: a job gets its nodes to itself
    (`OverSubscribe=EXCLUSIVE`). `allow_qos`, `deny_qos`: the QOS with which it may be used; None for all, or none.
    `allow_accounts`, `deny_accounts`: the same of accounts, those below them included; `allow_groups`: the groups of
    whose users it is. They have names, and stand there only if asked for. `qos`: its own. `job_defaults`: what a job
    gets for each GPU that it asks for: CPUs, and memory.
    `price`, `watts`: as those of nodes, for all of its nodes that have none.
    """

    nodes: int | None = None
    cpus: int | None = None
    default: bool = False
    state: str = "UP"
    max_time: str | None = None
    default_time: str | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    max_cpus_per_node: int | None = None
    max_cpus_per_socket: int | None = None
    default_memory_per_node: int | None = None
    default_memory_per_cpu: int | None = None
    default_memory_per_gpu: int | None = None
    max_memory_per_node: int | None = None
    max_memory_per_cpu: int | None = None
    default_cpus_per_gpu: int | None = None
    whole_nodes: bool = False
    reservation_required: bool = False
    root_only: bool = False
    qos: str | None = None
    allow_qos: tuple[str, ...] | None = None
    deny_qos: tuple[str, ...] | None = None
    allow_accounts: tuple[str, ...] | None = None
    deny_accounts: tuple[str, ...] | None = None
    allow_groups: tuple[str, ...] | None = None
    watts: float | None = None
    price: float | None = None


class Qos(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """A QOS.

    `max_tres`, `max_tres_per_node`, `min_tres`: of a job, as Slurm writes them, `gres/gpu` = 4; `max_tres_per_user`,
    `max_tres_per_account`, `group_tres`: of all jobs of a user, of an account, with this QOS. `..._minutes`: of these
    times the time of the job. `limit_factor`: the limits of accounts count so many times with this QOS.
    """

    max_time: str | None = None
    group_time: str | None = None
    max_tres: dict[str, int] = {}
    max_tres_per_node: dict[str, int] = {}
    max_tres_per_user: dict[str, int] = {}
    max_tres_per_account: dict[str, int] = {}
    group_tres: dict[str, int] = {}
    min_tres: dict[str, int] = {}
    max_tres_minutes: dict[str, int] = {}
    group_tres_minutes: dict[str, int] = {}
    group_tres_run_minutes: dict[str, int] = {}
    limit_factor: float | None = None
    max_submitted_jobs_per_user: int | None = None
    max_submitted_jobs_per_account: int | None = None
    max_submitted_jobs: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def denies(self) -> bool:
        """Whether a job beyond a limit is refused, rather than left waiting."""
        return "DenyOnLimit" in self.flags


class Accounts(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """What the associations of some accounts allow, each limit that of the user for whom it is the widest.

    `qos`: those that one of the users may use; None: not known. `default_qos`: that of jobs without `--qos`; None if it
    is not the same for all, or not known. `max_...`: of a job, or of the jobs of a user; `group_...`: of all jobs of
    the account, or of one above it, whichever is the least. `differs`: some users may have less.
    """

    names: tuple[str, ...] = ()
    differs: bool = False
    qos: tuple[str, ...] | None = None
    default_qos: str | None = None
    max_time: str | None = None
    group_time: str | None = None
    max_tres: dict[str, int] = {}
    max_tres_per_node: dict[str, int] = {}
    max_tres_minutes: dict[str, int] = {}
    group_tres: dict[str, int] = {}
    group_tres_minutes: dict[str, int] = {}
    group_tres_run_minutes: dict[str, int] = {}
    max_submitted_jobs: int | None = None
    max_submitted_jobs_of_all: int | None = None


class Profile(Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """A cluster. `release`: of Slurm, `23.11.4` or `23.11`. `date`: of what it was made from. `source`: where that is.

    `complete`: what is listed in full, so that another name does not exist: "partitions", "nodes", "qos", "accounts".
    `enforce_part_limits`: what becomes of a job beyond a partition's limit: it waits (`NO`), is refused where all
    (`ANY`) or one (`ALL`) of its partitions refuse it. `accounting_enforce`: what Slurm enforces by its accounting;
    None: there is none. `task_parameters`: `autobind=cores`, where tasks are bound without asking; None: not known.
    `submit_plugins`: programs of the site that may change or refuse a job first.
    `gpus`: "gres", or "whole-node" where nodes have GPUs that no GRES names. `gpus_bound`: a job sees no GPU that it
    did not ask for. `licenses`: those of the cluster, and how many of each; None: not known. `plugin_options`: what
    plugins add to sbatch; None: not known. `x11`: whether `--x11` works. `any_account`: what is true of every account;
    None: not known. `accounts`: with their names, only if asked for. Of a profile for one user: `default_account`, of
    jobs that name none, and `groups`, those of the user.
    """

    format: int
    cluster: str = ""
    release: str | None = None
    date: str = ""
    source: tuple[str, ...] = ()
    complete: tuple[str, ...] = ()
    select_type: str | None = None
    select_parameters: tuple[str, ...] = ()
    task_plugins: tuple[str, ...] = ()
    task_parameters: tuple[str, ...] | None = None
    submit_plugins: tuple[str, ...] | None = None
    enforce_part_limits: str | None = None
    accounting_enforce: tuple[str, ...] | None = None
    max_array_size: int | None = None
    max_tasks_per_node: int | None = None
    default_memory_per_node: int | None = None
    default_memory_per_cpu: int | None = None
    default_memory_per_gpu: int | None = None
    max_memory_per_node: int | None = None
    max_memory_per_cpu: int | None = None
    gres_types: tuple[str, ...] | None = None
    gpus: str | None = None
    gpus_bound: bool | None = None
    licenses: dict[str, int] | None = None
    plugin_options: tuple[str, ...] | None = None
    x11: bool | None = None
    currency: str | None = None
    any_account: Accounts | None = None
    accounts: tuple[Accounts, ...] = ()
    default_account: str | None = None
    groups: tuple[str, ...] | None = None
    partitions: dict[str, Partition] = {}
    nodes: tuple[Nodes, ...] = ()
    qos: dict[str, Qos] = {}

    @property
    def default_partition(self) -> str | None:
        return next((name for name, each in self.partitions.items() if each.default), None)

    def account(self, name: str | None) -> Accounts | None:
        """What is known of an account, or (None) of the one of a job that names none."""
        named = next((each for each in self.accounts if (name or "").lower() in each.names), None)
        return self.any_account if named is None and (name is None or not self.accounts) else named
