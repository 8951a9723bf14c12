"""Profiles as TOML, with comments for who reads them."""

import json
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from sbatchlint.site.model import Nodes, Profile
from sbatchlint.site.profile import gpus_of
from sbatchlint.source.numbers import counted

_HEAD = """\
# The cluster{name} as sbatchlint knows it: `[site] profile` in the settings, or --site.
# Memory is in MB, times are as Slurm writes them. What is not said is not known, or without limit.
# By hand may be added: `price` and `watts` to partitions or nodes, `currency` at the top."""
_COMMENTS = {
    "complete": "others do not exist",
    "max-array-size": "the largest index is one less",
    "enforce-part-limits": "NO: a job beyond a limit of its partition waits; ANY, ALL: it is refused",
    "submit-plugins": "may change or refuse a job before Slurm looks at it",
    "gpus-bound": "a job sees only the GPUs that it asked for",
    "plugin-options": "what plugins add to sbatch",
    "whole-nodes": "jobs get their nodes to themselves",
    "default-time": {"NONE": "a job without --time gets the most there is"},
}


def as_toml(profile: Profile) -> str:
    """The profile as a TOML document, which `reading` reads as an equal one."""
    lines = [_HEAD.format(name=f' "{profile.cluster}"' if profile.cluster else "")]
    if profile.source:
        said = f"Made{f' on {profile.date}' if profile.date else ''} from: {', '.join(profile.source)}"
        lines += wrap(said, 110, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
    lines += ["", *_assigned(profile, ("partitions", "nodes", "qos", "any-account", "accounts"))]
    for name, partition in profile.partitions.items():
        lines += ["", f"[partitions.{_key(name)}]", *_assigned(partition)]
    for nodes in profile.nodes:
        lines += ["", f"[[nodes]]  # {_summary(nodes)}", *_assigned(nodes)]
    for name, qos in profile.qos.items():
        lines += ["", f"[qos.{_key(name)}]", *_assigned(qos)]
    if profile.any_account is not None:
        lines += ["", "[any-account]  # what every account is allowed at most", *_assigned(profile.any_account)]
    for accounts in profile.accounts:
        lines += ["", "[[accounts]]", *_assigned(accounts)]
    return "\n".join(lines) + "\n"


def _summary(nodes: Nodes) -> str:
    gpus = gpus_of(nodes)
    parts = [counted(nodes.count, "node") if nodes.count is not None else "nodes"]
    parts += [f"{nodes.cpus} CPUs"] if nodes.cpus is not None else []
    parts += [f"{nodes.memory // 1024} GB"] if nodes.memory is not None else []
    return ", ".join([*parts, *([counted(gpus, "GPU")] if gpus else [])])


def _assigned(table: Struct, without: tuple[str, ...] = ()) -> Iterator[str]:
    for field in fields(table):
        value = getattr(table, field.name)
        name = field.encode_name
        if name in without or value == field.default or value is None or value in ((), {}):
            if value not in ((), {}) or field.default is not None:  # what is empty says that there are none
                continue
        comment = _COMMENTS.get(name, "")
        said = comment.get(value, "") if isinstance(comment, dict) else comment
        yield f"{name} = {_toml(value)}" + (f"  # {said}" if said else "")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(each)}' for key, each in value.items())} }}" if value else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"  # as it was written by hand
    return str(value).lower() if isinstance(value, bool) else str(value)
