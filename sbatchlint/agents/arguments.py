"""What each tool takes: read by both msgspec, which makes the schemas and checks the values, and mypy."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Detail = Literal["brief", "full"]
Count = Annotated[int, Meta(ge=1, le=100_000)]
Start = Annotated[int, Meta(ge=0, description="from this item on: the `next` of the page before")]
Severity = Literal["error", "warning", "info"]


class Answered(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    detail: Annotated[Detail, Meta(description="brief: up to 2,000 tokens; full: up to 10,000")] = "brief"
    start: Start = 0


class OfScript(Answered, kw_only=True):
    """The arguments of tools that read a script."""

    script: Annotated[str | None, Meta(description="its text")] = None
    path: Annotated[
        str | None, Meta(description="or its file below the allowed folder; with a text: where that will stand")
    ] = None
    slurm_version: Annotated[str | None, Meta(description="the cluster's Slurm: 23.11, or 23.11-25.05")] = None
    settings: Annotated[
        dict[str, Any] | None, Meta(description="keys of sbatchlint.toml, over those of a file near the path")
    ] = None


class Submitted(OfScript, kw_only=True):
    """What if: the options with which it is submitted."""

    sbatch_options: Annotated[str | None, Meta(description="options of the sbatch: --nodes=8 --time=1:00:00")] = None
    nodes: Annotated[Count | None, Meta(description="what if it had so many nodes")] = None


class Check(Submitted, kw_only=True):
    min_severity: Severity | None = None


class Plan(Submitted, kw_only=True):
    pass


class Fix(Submitted, kw_only=True):
    unsafe: Annotated[bool, Meta(description="also fixes that encode a guess")] = False
    checks: Annotated[list[str] | None, Meta(description="only what these find: codes or names")] = None


class Convert(OfScript, kw_only=True):
    nodes: Count
    command: Annotated[str | list[str] | None, Meta(description="instead of a script: a command, or its words")] = None
    gpus_per_node: Annotated[int, Meta(ge=0, le=100_000, description="0: none")] | None = None
    cpus_per_node: Count | None = None
    to: Literal["torchrun", "accelerate", "deepspeed", "srun"] | None = None
    rdzv: Literal["static", "c10d"] | None = None
    options: Annotated[dict[str, str] | None, Meta(description="more of sbatch: {time: 24:00:00}")] = None
    container: Literal["pyxis", "apptainer"] | None = None
    image: str | None = None
    mounts: Annotated[str | None, Meta(description="SOURCE:TARGET,...")] = None


class Diagnose(Submitted, kw_only=True):
    logs: Annotated[list[str], Meta(description="texts of its logs")] = []
    log_paths: Annotated[list[str], Meta(description="files of its logs, below the allowed folder")] = []
    sacct: Annotated[str | None, Meta(description="what sacct or scontrol show job prints of it")] = None


class Explain(Answered, kw_only=True):
    name: Annotated[str, Meta(description="a code, a name, or a symptom of diagnose: SB301, port-in-use")]
