"""The shape of a plan as plain values, as docs/plan.md describes it; None is for unknown or not set."""

from typing import NotRequired, TypedDict


class Span(TypedDict):
    """The least and the largest number of nodes."""

    min: int
    max: int


class Verdict(TypedDict):
    """Whether a release accepts the script, and what it says if not."""

    accepted: bool | None
    message: str | None


class Option(TypedDict):
    """An option that counts; the value is "" for one without a value."""

    value: str | None
    line: int


class NodeShare(TypedDict):
    """Nodes of one kind that can run a job, and what it takes of each: [taken, there is]."""

    names: str
    count: int
    whole: bool
    takes: dict[str, list[int]]
    idle_gpus: int


class PartitionFit(TypedDict):
    """The nodes of a partition that can run a job, how many more could with less memory, what it comes to at most."""

    name: str
    nodes: list[NodeShare]
    more_nodes: NotRequired[dict[str, int]]
    hours: dict[str, float | str | None] | None


class ClusterFit(TypedDict):
    """What the cluster of the profile makes of a job; `waits`: it is accepted and never starts."""

    accepted: bool
    waits: bool
    reason: str | None
    partitions: list[PartitionFit]


class Component(TypedDict):
    """What one component of a job requests; most jobs have one."""

    nodes: Span | None
    tasks: int | None
    tasks_per_node: int | None
    cpus_per_task: int | None
    time_minutes: int | None
    memory_mb: dict[str, int] | None
    gpus: dict[str, int] | None
    gpu_type: str | None
    job_name: str | None
    partition: str | None
    account: str | None
    output: str | None
    error: str | None
    array: str | None
    dependency: str | None
    exclusive: str | None
    constraint: str | None
    qos: str | None
    reservation: str | None
    chdir: str | None
    export: str | None
    signal: str | None
    mail_type: str | None
    options: dict[str, Option]
    cluster: NotRequired[ClusterFit | None]


class Request(TypedDict):
    """What a script requests, and whether sbatch accepts it."""

    accepted: bool | None
    message: str | None
    by_version: NotRequired[dict[str, Verdict]]
    components: list[Component]


class Part(TypedDict):
    """Which of the components of a step an entry is."""

    number: int
    of: int


class Environment(TypedDict):
    """What tasks get beside the variables of Slurm, where that is not everything."""

    names: list[str]
    by: str


class Container(TypedDict):
    kind: str
    image: str | None


class Rendezvous(TypedDict):
    backend: str
    address: str | int | None


class Launcher(TypedDict):
    kind: str
    line: int
    path: NotRequired[str]
    processes_per_task: int | None
    nnodes: int | None
    node_rank: str | int | None
    rendezvous: Rendezvous | None
    argv: list[str | None]
    refused: NotRequired[str]


class Task(TypedDict):
    """One of the first tasks of a step."""

    task: int
    node: int | None
    local: int | None
    gpus: list[int] | None
    variables: dict[str, str]
    argv: list[str | None] | None
    processes: list[dict[str, str]] | None


class Step(TypedDict):
    line: int
    path: NotRequired[str]
    command: str | None
    phase: str
    nodes: int | None
    tasks: int | None
    tasks_per_node: int | list[int] | None
    component: NotRequired[Part]
    background: bool
    conditional: NotRequired[bool]
    repeated: NotRequired[bool]
    environment: NotRequired[Environment]
    gpus_on_node: int | None
    gpus_per_task: int | None
    container: Container | None
    launcher: Launcher | None
    processes: int | None
    program: str | None
    argv: list[str | None] | None
    by_task: list[Task] | None
    refused: NotRequired[str]


class PlanShape(TypedDict):
    path: str
    slurm_version: str
    request: Request
    steps: list[Step]
    submits: NotRequired[list["PlanShape"]]
