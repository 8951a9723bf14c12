"""Caches: which folders the programs of a step keep data in, and whether all nodes see the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Pieces, shown_text, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import recognise
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import SHARED, Location, classify, key, under
from sbatchlint.job.site import Site
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# What goes wrong where each node has a cache of its own, by variable: how bad it is, and what happens.
CACHES = {
    "NEMO_HOME": ("error", "what one node prepares there (packed datasets, checkpoints) is missing on the others"),
    "NEMO_DATASETS_CACHE": ("error", "datasets that one node packs there are missing on the others"),
    "MODELSCOPE_CACHE": ("warning", "each node downloads and packs its own copy, and misses what another wrote"),
    "HF_DATASETS_CACHE": ("warning", "each node prepares the datasets again, and misses what another wrote"),
    "HF_HOME": ("info", "each node downloads the models again"),
    "HF_HUB_CACHE": ("info", "each node downloads the models again"),
    "HUGGINGFACE_HUB_CACHE": ("info", "each node downloads the models again"),
    "TRANSFORMERS_CACHE": ("info", "each node downloads the models again"),
    "TORCH_HOME": ("info", "each node downloads the models again"),
    "UV_CACHE_DIR": ("info", "each node downloads and builds the packages again"),
    "PIP_CACHE_DIR": ("info", "each node downloads and builds the packages again"),
}
# Commands that use no cache, whatever is exported.
NEUTRAL = frozenset(
    [
        "echo",
        "printf",
        "mkdir",
        "ls",
        "cd",
        "rm",
        "cat",
        "cp",
        "mv",
        "rsync",
        "tar",
        "chmod",
        "chown",
        "touch",
        "find",
        "df",
        "du",
        "hostname",
        "date",
        "env",
        "printenv",
        "export",
        "true",
        "false",
        "sleep",
        "wait",
        "ulimit",
        "nvidia-smi",
        "rocm-smi",
        "lscpu",
        "free",
        "ps",
        "kill",
        "pkill",
        "sed",
        "awk",
        "grep",
        "head",
        "tail",
        "sort",
        "wc",
        "tee",
        "id",
        "whoami",
        "scontrol",
        "squeue",
        "sacct",
        "sbcast",
        "test",
        "[",
        "[[",
        ":",
        "set",
        "unset",
        "source",
        ".",
        "module",
        "ln",
        "stat",
        "pwd",
        "which",
        "type",
        "exit",
        "return",
        "trap",
        "git",
        "wget",
        "curl",
        "numactl",
        "nproc",
        "uname",
        "read",
    ]
)
COPYING = frozenset({"cp", "rsync", "tar", "sbcast", "dcp", "mv", "ln", "unzip"})
FINETUNING = Regex(r"(?:^|[^a-z])(?:sft|peft|lora|dora|finetune|finetuning|fine_tune)(?:$|[^a-z])", re.IGNORECASE)
NEMO_PROGRAM = Regex(r"nemo(?![_-]?(?:automodel|rl|gym|curator|run))|megatron[._-]?bridge|run_recipe", re.IGNORECASE)
OWN_DATA = Regex(r"dataset_root=|packed\w*path|dataset\.path=|mock", re.IGNORECASE)


class CacheSetting(NamedTuple):
    """A cache folder that a command of a step uses.

    `span`: its value in the file. `default`: it is only the fallback of `${NAME:-…}`. `assigned`: the assignment.
    """

    name: str
    value: Pieces
    span: Span
    location: Location
    default: bool
    assigned: Span
    command: Invocation

    @property
    def severity(self) -> str:
        """How bad it is where nodes do not share it."""
        return CACHES[self.name][0]

    @property
    def consequence(self) -> str:
        """What happens where nodes do not share it."""
        return CACHES[self.name][1]


class UnsetCache(NamedTuple):
    """A cache that a program needs on all nodes, and nobody names."""

    name: str
    span: Span
    command: Invocation
    container: Container | None


def programs_of(step: Step) -> list[Invocation]:
    """The commands of a step that do its work: no shells, no wrappers, nothing that merely prints or copies."""
    return [
        each
        for each in step.program
        if not each.children and each.text is None and each.name not in NEUTRAL and each.argv
    ]


def cache_settings(step: Step, site: Site, names: Iterable[str] = tuple(CACHES)) -> Iterator[CacheSetting]:
    """Every cache folder that the script names for the programs of a step, by one of these variables."""
    for command in programs_of(step):
        container = container_of(command)
        for name in names:
            for value, default, assigned in _values(command, name, container):
                if not value:
                    continue
                location = classify(value, site, container, container.workdir if container is not None else None)
                yield CacheSetting(name, value, _place(name, value, assigned), location, default, assigned, command)


def _place(name: str, value: Pieces, assigned: Span) -> Span:
    """Where a value is written: a part of what is behind the `=`, or all of it where it comes from elsewhere too."""
    span = Span(value[0].start, value[-1].end)
    if len(value) == 1 or assigned.start <= span.start <= span.end <= assigned.end or assigned.start == assigned.end:
        return span
    return Span(min(assigned.start + len(name) + 1, assigned.end), assigned.end)


def _values(command: Invocation, name: str, container: Container | None) -> Iterator[tuple[Pieces, bool, Span]]:
    if container is not None and container.passes(name) is not True:
        return
    passed = None if container is None else container.passed.get(name)
    if passed is not None:
        yield passed, False, Span(passed[0].start, passed[-1].end) if passed else container_span(container)
        return
    variable = command.state.variables.get(name)
    if variable is None or not variable.exported:
        return
    for each in variable.alternatives:
        guards = merge_guards(command.guards, each.guards)
        if guards is None or not each.fields:
            continue
        default = any(isinstance(branch, tuple) and branch[:1] == ("default",) for branch, _ in each.guards)
        yield each.fields[0], default, variable.span


def container_span(container: Container | None) -> Span:
    return container.span if container is not None else Span(0, 0)


def filled_on_every_node(setting: CacheSetting, step: Step, commands: list[Invocation]) -> bool:
    """Whether a step copies something into the folder, on the nodes themselves."""
    folder = key(setting.value)
    for command in commands:
        if command.name not in COPYING or command.context.parent is None and command.name != "sbcast":
            continue
        if any(under(key(field), folder) or under(folder, key(field)) for field in command.argv[1:] if field):
            return True
    return False


def shared_sibling(setting: CacheSetting, step: Step, site: Site) -> str | None:
    """A folder beside another cache of the script that all nodes see, as it is written; None where there is none."""
    for name in CACHES:
        if name == setting.name:
            continue
        value = exported(setting.command, name)
        text = None if value is None else text_of(value)
        if value is None or text is None or "/" not in text.strip("/"):
            continue
        container = container_of(setting.command)
        if classify(value, site, container).kind == SHARED:
            return text.rstrip("/").rpartition("/")[0] + "/" + setting.name.lower()
    return None


def unset_caches(step: Step) -> Iterator[UnsetCache]:
    """Caches that the programs of a step need in common, and that the script does not name."""
    several = step.several_nodes
    for command in programs_of(step):
        container = container_of(command)
        if command.state.sourced or container is not None and container.hidden_environment:
            continue
        words = [shown_text(field) for field in command.argv]
        line = " ".join(words)
        launcher = recognise(command.argv, _nothing)
        if (
            several
            and container is not None
            and _finetunes_with_nemo(line)
            and not _named(command, container, "NEMO_HOME", "NEMO_DATASETS_CACHE")
        ):
            yield UnsetCache("NEMO_HOME", command.name_span, command, container)
        if (
            several
            and launcher is not None
            and launcher.kind == "swift"
            and not _named(command, container, "MODELSCOPE_CACHE")
        ):
            yield UnsetCache("MODELSCOPE_CACHE", command.name_span, command, container)
        if (several or step.geometry.several) and container is not None and words[0].rpartition("/")[2] == "uv":
            if not _named(command, container, "UV_CACHE_DIR", "UV_NO_CACHE") and "--cache-dir" not in line:
                yield UnsetCache("UV_CACHE_DIR", command.name_span, command, container)


def _nothing(name: str) -> Pieces | None:
    return None


def _finetunes_with_nemo(line: str) -> bool:
    return bool(FINETUNING.search(line) and NEMO_PROGRAM.search(line) and not OWN_DATA.search(line))


def _named(command: Invocation, container: Container | None, *names: str) -> bool:
    """Whether the script gives one of the variables, in whatever way."""
    for name in names:
        variable = command.state.variables.get(name)
        if variable is not None and variable.alternatives:
            return True
        if container is not None and name in container.passed:
            return True
        if any(name in shown_text(field) for field in command.argv):
            return True
    return False
