"""Layouts: the sizes that the command line of a Megatron-like program sets.

There are three dialects. `megatron`: Megatron-LM's own arguments (core 0.4 to 0.20, `allow_abbrev=False`), all with
defaults. `swift`: `megatron sft` and the like of ms-swift (3.3 to 4.6), the same names with defaults of their own.
`recipe`: Megatron Bridge (0.7, scripts/training/run_recipe.py) and NeMo, options and `key=value` overrides on top of a
recipe or configuration file, so that a size which is not set here is not known, unless that file is beside the script.
"""

from functools import cached_property, lru_cache
from typing import NamedTuple

from sbatchlint.analysis.launch.configuration_files import Configuration, configuration_of, names_file, positive
from sbatchlint.analysis.launch.rank_signs import rank_sign
from sbatchlint.analysis.training.parallelism import Indivisible, Sizes, indivisible
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Pieces, cut, is_open, span_of, text_of
from sbatchlint.bash.variables import is_default
from sbatchlint.job import Job
from sbatchlint.job.argv import basename, hides_options, integer
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.launchers import Swift, python_command, python_of
from sbatchlint.job.launches import Launch
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_with_option
from sbatchlint.job.ranks import QUIET
from sbatchlint.job.steps import enclosing_step
from sbatchlint.job.worlds import World, world_of
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex, matches
from sbatchlint.source.text import Span

# Name of the option, without dashes and with `_`, to the field of `Sizes`.
_FIELDS = {
    "tensor_model_parallel_size": "tensor",
    "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context",
    "expert_model_parallel_size": "expert",
    "expert_tensor_parallel_size": "expert_tensor",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch",
    "num_attention_heads": "heads",
    "num_query_groups": "groups",
    "num_layers": "layers",
    "num_experts": "experts",
    "seq_length": "sequence",
}
_SHORT = {"tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "etp": "expert_tensor",
          "mb": "micro_batch", "gb": "global_batch", "sl": "sequence"}  # fmt: skip
# Sections of a configuration that have these fields: of Bridge, NeMo 1, NeMo 2.
_SECTIONS = Regex(r"(?:model|model\.config|train|data|dataset|trainer\.strategy)")
# Those of them in which a configuration file has sizes: NeMo 1 has all of them in the first one.
_BLOCKS = ("model", "train")
# Values by which a file sets nothing.
_NOTHING = (None, "0", "1", "false", "False")
_IN_RECIPES = {**_FIELDS, "num_moe_experts": "experts", "sequence_length": "sequence", "encoder_seq_length": "sequence"}
# Sizes whose product is the number of processes of a replica; their default is 1.
DENSE = ("tensor", "pipeline", "context")
_SPREAD = (*DENSE, "expert", "expert_tensor")
# Options of Megatron's own argument parser; any two of them show it.
_OWN = frozenset(
    {"num_layers", "hidden_size", "num_attention_heads", "max_position_embeddings", "train_iters", "train_samples"}
    | {"transformer_impl", "use_mcore_models", "distributed_backend", "distributed_timeout_minutes", "eval_iters"}
)
_PROGRAM = Regex(r"(?:^|/)pretrain_(?:gpt|gpt2|bert|t5|ict|mamba|hybrid|retro|vlm|vision_\w+|prefix_lm)\.py$")
# Options with which sizes, and more, come from elsewhere: a checkpoint, a file.
_ELSEWHERE = frozenset({"use_checkpoint_args", "yaml_cfg", "use_ray"})
# Any other option with such a name may be a further way to divide the work among processes.
_MORE_AXES = Regex(r"(?:\w*_)?parallel_size|tensor_parallel_num_weight_shards|(?>\w*?gtp_)\w+")
_NO_AXES = {"virtual_pipeline_model_parallel_size", "vllm_tensor_parallel_size", *_FIELDS}
_CHANGING_BATCHES = frozenset(
    {"rampup_batch_size", "decrease_batch_size_if_needed", "step_batch_size_schedule", "batch_size_schedule"}
)
# Options with which layers are not spread evenly, or not counted by --num-layers.
_UNEVEN = Regex(
    r"(?:decoder_(?:first|last)_)?pipeline_(?!model_parallel_size$)\w+|account_for_\w+|hybrid_\w*pattern|\w*layer_list"
    r"|num_layers_in_\w+|noop_\w+|standalone_embedding_stage|encoder_\w+|decoder_\w+|heterogeneous_\w+|deepspeed\w*"
)
# Defaults of swift's arguments (the same from 3.3 to 4.6).
_SWIFT_DEFAULTS = {"micro_batch": 1, "global_batch": 16}


class SizeSetting(NamedTuple):
    """A size that the command line sets. `number`: None where it is not known. `written`: the option or the key."""

    number: int | None
    span: Span
    written: str


class Layout:
    """The sizes of one program.

    `dialect`: see the module. `settings`: what the command line sets, by field of `Sizes`. `flags`: the values of all
    options, by name with `_`; `overrides`: those of all `section.key=value`, by key; `words`: the words of both.
    `certain`: whether no word may hide further options. `world`: of its launcher or step. `wrapped`: whether an unknown
    command starts the program. `names_file`: whether a word may name a configuration file. `file`: the name of that of
    which some sizes come, "" without one; `in_file`: what else that sets.
    """

    def __init__(self, invocation: Invocation, dialect: str, world: World) -> None:
        self.invocation = invocation
        self.dialect = dialect
        self.world = world
        self.settings: dict[str, SizeSetting] = {}
        self.flags: dict[str, Pieces | None] = {}
        self.overrides: dict[str, Pieces | None] = {}
        self.words: dict[str, Pieces] = {}
        self.certain = True
        self.wrapped = False
        self.names_file = False
        self.file = ""
        self.in_file: frozenset[str] = frozenset()

    @property
    def command(self) -> Span:
        """The place of the launcher's name, or of the program's without one."""
        launcher = self.world.launcher
        return self.invocation.name_span if launcher is None else launcher.span

    def has(self, *names: str) -> bool:
        """Whether one of these options is set, and not to `false`."""
        for name in names:
            for values in (self.flags, self.overrides):
                if name in values:
                    value = values[name]
                    if value is None or (text_of(value) or "").lower() not in ("false", "0", "no"):
                        return True
        return False

    def place_of(self, name: str) -> Span:
        """The place of the option of this name; that of the command without one."""
        return span_of(self.words[name]) if name in self.words else self.command

    @property
    def sizes(self) -> Sizes:
        """All sizes, with the defaults of those that are certainly not set."""
        numbers: dict[str, int | None] = {name: each.number for name, each in self.settings.items()}
        absent = self.certain and self.dialect != "recipe"
        if absent:
            for name in (*DENSE, "expert"):
                numbers.setdefault(name, 1)
            if self.dialect == "megatron":
                numbers.setdefault("expert_tensor", numbers["tensor"])
            else:
                for name, number in _SWIFT_DEFAULTS.items():
                    numbers.setdefault(name, number)
        if self.dialect == "megatron" and not self.has("group_query_attention") or self.has("multi_latent_attention"):
            numbers.pop("groups", None)
        if self.dialect != "megatron" or any(matches(_UNEVEN, each) for each in self.flags):
            numbers.pop("layers", None)
        if _CHANGING_BATCHES & self._names:
            numbers.pop("global_batch", None)
        has_more_axes = any(matches(_MORE_AXES, each) for each in self._names - _NO_AXES)
        if has_more_axes and not numbers.keys().isdisjoint((*_SPREAD, "global_batch")):
            for name in _SPREAD:
                numbers.pop(name, None)
            numbers.pop("global_batch", None)
        sequence_parallel = self.dialect == "megatron" and self.has("sequence_parallel")
        return Sizes(self._world(), sequence_parallel=sequence_parallel, **numbers)

    @property
    def _names(self) -> set[str]:
        """The names of all options, overrides and values of the file."""
        return self.flags.keys() | self.overrides.keys() | self.in_file

    def default(self, name: str) -> bool:
        """Whether a size is not set on the command line."""
        return name not in self.settings

    def _world(self) -> int | None:
        """The processes of the world, None if not known or not as many as intended, which other checks report."""
        world = self.world
        launcher = world.launcher
        if world.size is None or world.isolation == "restricted":
            return None
        if launcher is None:
            return self._ranks()
        if world.starts_per_node != 1 and (world.step is not None or world.mpi is not None):
            return None
        nodes = world.nodes if world.step is not None or world.mpi is not None else job_nodes(world.job.request)
        if nodes is None or world.nodes_setting.number != nodes or launcher.standalone and nodes != 1:
            return None
        return world.size

    def _ranks(self) -> int | None:
        """The tasks of a step of which each is one rank; None if they are not, or not known."""
        world, step = self.world, self.world.step
        if step is None or world.mpi is not None:
            return None
        world_size = exported(self.invocation, "WORLD_SIZE")
        if world_size is not None and integer(world_size) != world.size:
            return None
        gpus = world.job.request.gpus_per_node()
        if self.wrapped and (gpus is None or step.nodes is None or step.tasks != step.nodes * gpus):
            return None
        if step.tasks_per_node == 1 and gpus != 1:
            return None  # nothing starts the other ranks of the node, which is another fault
        return world.size

    def is_written(self, name: str) -> bool:
        """Whether a size is set where it can be pointed at: on the command line, or by the name of a file."""
        return name in self.settings and bool(self.settings[name].written)

    def number(self, name: str) -> int:
        """A size, which must be known."""
        found = getattr(self.sizes, name)
        assert isinstance(found, int)
        return found

    def product(self, fault: Indivisible) -> int:
        """The number that has to divide the whole."""
        found = 2 if fault.rule == "context" else 1
        for name in fault.parts:
            found *= self.number(name)
        return found

    def place(self, fault: Indivisible) -> Span:
        """What to change: the whole, or one of its parts, if the command line sets it; else the command."""
        names = fault.parts[::-1] if fault.rule == "world" else (fault.whole, *fault.parts)
        settings = [self.settings[name] for name in names if name in self.settings]
        return next((setting.span for setting in settings if setting.number != 1), self.command)

    @cached_property
    def faults(self) -> list[Indivisible]:
        return indivisible(self.sizes)


@once
def parallel_layouts(job: Job) -> list[list[Layout]]:
    """The layouts of a job's programs: for each place in the script, one for each reading of its words."""
    found: dict[Span, list[Layout]] = {}
    spawned: set[int] = set()
    for launch in job.launches:
        if not launch.launcher.spawns and launch.launcher.kind != "swift" or launch.launcher.kind == "ray":
            continue
        spawned.add(id(launch.invocation))
        layout = _of_launch(job, launch)
        if layout is not None:
            found.setdefault(launch.invocation.span, []).append(layout)
    for invocation in commands_with_option(job, _may_tell_size):
        if enclosing_step(invocation.context) is None or id(invocation) in spawned:
            continue
        layout = None if any(id(each) in spawned for each in invocation.ancestors()) else _of_command(job, invocation)
        if layout is not None:
            found.setdefault(invocation.span, []).append(layout)
    return list(found.values())


def _of_launch(job: Job, launch: Launch) -> Layout | None:
    launcher = launch.launcher
    words = launcher.program_words
    if isinstance(launcher, Swift):
        if not launcher.is_megatron:
            return None
        layout = _read(job, launch.invocation, len(words) - 1, "swift") if launcher.certain else None
        if layout is not None and launcher.method == "export":
            layout.flags["decrease_batch_size_if_needed"] = None  # it has no batches
        return layout
    if not words:
        return None
    if launcher.program_kind == "command":
        command = python_command(words)
        if command is None:
            return None
        return _of_program(job, launch.invocation, words[command.at], len(words) - command.after)
    return _of_program(job, launch.invocation, words[0], len(words) - 1)


def _of_command(job: Job, invocation: Invocation) -> Layout | None:
    """The layout of a program without a launcher, the tasks of whose step are its ranks; None for other commands."""
    command = python_of(invocation)
    if command is None:
        return _of_wrapper(job, invocation)
    if command.kind not in ("script", "module") or command.target is None:
        return None
    sign = rank_sign(job, invocation)
    if sign is None or sign.kind == "jax":
        return None
    return _of_program(job, invocation, command.target, len(invocation.argv) - command.after)


def _of_wrapper(job: Job, invocation: Invocation) -> Layout | None:
    """The layout of `./launch.sh pretrain_gpt.py …`, where the wrapper is not known but passes the sizes on."""
    if invocation.name in QUIET or invocation.children:
        return None
    for at, field in enumerate(invocation.argv):
        name = basename(field) if at else None
        if name is not None and _PROGRAM.search(name):
            layout = _of_program(job, invocation, field, len(invocation.argv) - at - 1)
            if layout is not None:
                layout.wrapped = True
            return layout
    return None


def _of_program(job: Job, invocation: Invocation, program: Pieces, count: int) -> Layout | None:
    """The layout that the last `count` words of a command set for a program; None if there is none."""
    if not count or not any(map(_may_tell_size, invocation.words[-count:])):
        return None
    layout = _read(job, invocation, count, "recipe")
    if layout is None:
        return None
    name = basename(program)
    own = name is not None and _PROGRAM.search(name) is not None
    if own or len(_OWN & layout.flags.keys()) > 1:
        layout.dialect = "megatron"
        return layout if layout.settings else None
    configuration = configuration_of(job, invocation, program, invocation.argv[-count:])
    if configuration is not None and layout.certain:
        _complete(layout, configuration)
    if not any(name in layout.settings for name in _SPREAD):
        return None
    return layout


def _complete(layout: Layout, configuration: Configuration) -> None:
    """Adds the sizes of a configuration file, which the command line overrides."""
    found: dict[str, SizeSetting] = {}
    for block in _BLOCKS:
        for name, value in configuration.block(block).items():
            size, number = _IN_RECIPES.get(name), positive(value)
            if size is not None and value is not None:
                found[size] = SizeSetting(number, configuration.place, f"{block}.{name} in {configuration.name}")
            elif value not in _NOTHING:
                layout.in_file |= {name}
    if "tensor" not in found or "pipeline" not in found:
        return
    model = configuration.block("model")
    if "global_batch_size" in model and "micro_batch_size" in model and "context_parallel_size" not in model:
        found["context"] = SizeSetting(1, configuration.place, "")  # the default of NeMo 1
    layout.file = configuration.name
    layout.settings = found | layout.settings


def _read(job: Job, invocation: Invocation, count: int, dialect: str) -> Layout | None:
    """The layout in the options and overrides among the last `count` words of a command.

    None where they set no sizes, or the sizes come from elsewhere.
    """
    layout = Layout(invocation, dialect, world_of(job, invocation))
    layout.names_file = any(names_file(text.partition("=")[0]) for text in invocation.words[-count:])
    start = len(invocation.argv) - count
    words, texts = invocation.argv[start:], invocation.words[start:]
    overrides: dict[str, SizeSetting] = {}
    before = ""
    for at, (field, text) in enumerate(zip(words, texts, strict=True)):
        option, equals, _ = text.partition("=")
        name = _option_name(option)
        if name is None:
            if not text.strip(UNKNOWN_CHARACTER):
                if hides_options(field) or is_open(field) and not before.startswith("-"):
                    layout.certain = False
            if equals and "." in option and UNKNOWN_CHARACTER not in option:
                value = cut(field, len(option) + 1, len(text))
                layout.overrides[option.rpartition(".")[2]] = value
                layout.words[option.rpartition(".")[2]] = field
                found = _override(option)
                if found is not None:
                    overrides[found] = SizeSetting(positive(text_of(value)), span_of(field), option)
            before = text
            continue
        before = text
        if equals:
            setting: Pieces | None = cut(field, len(option) + 1, len(text))
        else:
            setting = words[at + 1] if at + 1 < len(words) and not texts[at + 1].startswith("-") else None
            before = option if setting is not None else ""
        layout.flags[name] = setting
        layout.words[name] = field
        size = _FIELDS.get(name) or (_SHORT.get(name) if text[:2] != "--" and dialect == "recipe" else None)
        if size is not None and setting is not None:
            span = span_of(field)
            end = span_of(setting).end
            joined = Span(span.start, end) if not equals and end > span.end else span
            layout.settings[size] = SizeSetting(positive(text_of(setting)), joined, option)
    layout.settings.update(overrides)
    if _ELSEWHERE & layout.flags.keys() or not (layout.settings or dialect == "swift" or layout.names_file):
        return None
    return layout


@lru_cache(maxsize=4096)
def _may_tell_size(word: str) -> bool:
    """Whether a word is, up to its `=`, an option or a key that may set a size."""
    if word[:1] != "-" and "." not in word:
        return False
    word = word.partition("=")[0]
    if names_file(word):
        return True
    name = _option_name(word)
    return _override(word) is not None if name is None else name in _FIELDS or name in _SHORT


@lru_cache(maxsize=1024)
def _option_name(word: str) -> str | None:
    """The name of an option with `_` (micro_batch_size for `--micro-batch-size`); None for other words."""
    if word[:1] != "-" or is_number(word[1:2]) or word[1:2] == ".":
        return None
    name = word.lstrip("-")
    return None if not name or UNKNOWN_CHARACTER in name else name.replace("-", "_")


def _override(key: str) -> str | None:
    """The size that a key sets (`tensor` for `++model.tensor_model_parallel_size`); None for other keys."""
    section, _, name = key.lstrip("+").rpartition(".")
    return _IN_RECIPES.get(name) if _SECTIONS.fullmatch(section) else None


def broken_layouts(job: Job, *rules: str) -> list[tuple[Layout, Indivisible, bool]]:
    """Layouts that violate these rules, each with its fault, and whether that is certain.

    If a command has several readings, all of them violate the rule. If only the defaults do, as in `${TP:-3}`, it is
    not certain.
    """
    found: list[tuple[Layout, Indivisible, bool]] = []
    reported: set[tuple[str, Span]] = set()
    for group in parallel_layouts(job):
        for members in (group, [each for each in group if _takes_defaults(each.invocation)]):
            for fault in members[0].faults if members else ():
                key = (fault.rule, members[0].place(fault))
                if fault.rule not in rules or key in reported:
                    continue
                if all(any(own.rule == fault.rule for own in each.faults) for each in members):
                    reported.add(key)
                    found.append((members[0], fault, members is group))
    return found


def _takes_defaults(invocation: Invocation) -> bool:
    """Whether a command has the words of the defaults, as if nobody sets the variables of `${NAME:-default}`."""
    taken = [arm for key, arm in invocation.guards if is_default(key)]
    return bool(taken) and not any(taken)
