"""Whether a launcher refuses its command line in any job: its options, their values, or the lack of a program.

The rules are those of argparse, which exits with `error: …` before anything starts, and of what each launcher checks
afterwards: torch/distributed/run.py and launch.py (torch 2.13), commands/launch.py of accelerate 0.4 to 1.15,
launcher/runner.py of DeepSpeed 0.3 to 0.19, cli/launcher.py of composer, runner/launch.py of horovod 0.28, and
scripts.py of Ray 1 and 2 for `ray start`. Options that only some releases know count as known.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from sbatchlint.bash.values import expansions, known_prefix, shown_text, text_of
from sbatchlint.job.argv import CommandOption, Syntax, is_unknown
from sbatchlint.job.launchers import accelerate, composer, deepspeed, mpi, torchrun
from sbatchlint.job.launchers.model import Launcher, Setting
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.text import Span


class Refusal(NamedTuple):
    """Why a launcher starts nothing. `reason`: words to follow "torchrun refuses this:"; `span`: the place at fault.

    `kind`: for refusals in any job `option`, `value`, `program`, or `typed` (a value is a number of GPUs with their
    type); for those in this job `gpus`, `no-request`, `node-rank`, `hostfile`, `slots`. `advice`: what to do instead.
    """

    kind: str
    reason: str
    span: Span
    advice: str = ""


class Grammar(NamedTuple):
    """What argparse checks. `values`: by option, a function that returns why a value is refused, None if it is not.

    `families`: prefixes of options that differ between releases. `others`: options of old releases.
    """

    options: Syntax
    values: Mapping[str, Callable[[str], str | None]]
    families: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()


def command_line_refusal(launcher: Launcher) -> Refusal | None:
    """Why a launcher refuses its command line in any job; None where it does not, or where that is not known."""
    if launcher.flags.keys() & {"help", "h", "version", "check-build"}:
        return None
    if launcher.kind in _OTHERS:
        return _OTHERS[launcher.kind](launcher)
    grammar = _GRAMMARS.get(launcher.kind)
    if grammar is None:
        return None
    return next(chain(_of_options(launcher, grammar), _of_program(launcher), _of_values(launcher, grammar)), None)


# --- argparse ---------------------------------------------------------------------------------------------


def _of_options(launcher: Launcher, grammar: Grammar) -> Iterator[Refusal]:
    options = grammar.options
    for option in _certain(launcher):
        if option.name in options.values:
            if _lacks_value(launcher, option):
                yield Refusal("option", f"{_option(launcher, option)} has no value", option.span, "add a value")
        elif option.name in options.flags:
            if option.value is not None:
                written = _option(launcher, option)
                yield Refusal("option", f"{written} takes no value", option.span, f"write {written}")
        elif option.name not in grammar.others:
            if not option.name.replace("-", "_").startswith(grammar.families or ("\0",)):
                known = options.values | options.flags | grammar.others
                reason = f"it has no option {_option(launcher, option)}"
                yield Refusal("option", reason, option.span, _meant(option.name, known))


def _option(launcher: Launcher, option: CommandOption) -> str:
    """An option as written, without its value."""
    return shown_text(launcher.argv[option.at]).partition("=")[0]


def _meant(name: str, known: Iterable[str]) -> str:
    """What to write instead of an option that does not exist."""
    if name == "c":
        return "write the code to a file, and its name here"  # as `python -c` has it
    plain = name.replace("-", "_")
    near = min((each for each in known if len(each) > 2), key=lambda each: (edit_distance(plain, each), each))
    if plain in known or len(plain) > 4 and edit_distance(plain, near) <= 2:
        return f"write --{plain if plain in known else near}"
    return "remove it, or pass it to the program"


def _certain(launcher: Launcher) -> Iterator[CommandOption]:
    """The options before the first unknown word."""
    values = {each.value_at for each in launcher.all_options}
    words = range(launcher.index + 1, launcher.all_options[-1].at if launcher.all_options else 0)
    end = next((at for at in words if at not in values and is_unknown(launcher.argv[at])), len(launcher.argv))
    return (each for each in launcher.all_options if each.at < end)


def _lacks_value(launcher: Launcher, option: CommandOption) -> bool:
    """Whether argparse finds an option, or nothing, where the value should be."""
    if option.value is None:
        return launcher.certain and option.at + 1 == len(launcher.argv)
    text = text_of(option.value)
    if option.value_at == option.at or text is None or text[:1] != "-" or " " in text:
        return False
    return re.match(r"-(?!$|-$|\d|\.\d)", text) is not None


def _of_program(launcher: Launcher) -> Iterator[Refusal]:
    if launcher.program is None and launcher.certain:
        yield Refusal("program", "no program follows its options", launcher.span, "name one after them")


def _of_values(launcher: Launcher, grammar: Grammar) -> Iterator[Refusal]:
    if not launcher.certain:
        return
    free = launcher.is_a("torch") and getattr(launcher, "standalone", False)
    for name, judge in grammar.values.items():
        setting = launcher.setting(name)
        text = None if setting is None else setting.text
        if setting is None or text is None or free and name.startswith("rdzv_"):
            continue
        why = judge(text)
        if why is not None:
            reason, _, advice = why.partition("; ")
            typed = any(each.name.startswith("SLURM_GPUS") for each in expansions(setting.value or ()))
            yield Refusal(
                "typed" if typed else "value", f"{_as_written(launcher, setting)} {reason}", setting.span, advice
            )
    yield from _SEMANTICS[launcher.kind](launcher) if launcher.kind in _SEMANTICS else ()


def _as_written(launcher: Launcher, setting: Setting) -> str:
    if setting.at is None:
        return f"{setting.name}={setting.text}"
    word = shown_text(launcher.argv[setting.at])
    return word if "=" in word else f"{word} {setting.text}" if setting.text else f'{word} ""'


# --- values -----------------------------------------------------------------------------------------------


def _whole(string: str) -> str | None:
    is_whole = is_number(string) or re.fullmatch(r"\s*[+-]?\d+(_\d+)*\s*", string)
    return None if is_whole else "is not a whole number; write one"


def _process_count(string: str) -> str | None:
    # a word may be a kind of device that this build of torch supports
    if re.fullmatch(r"[a-z]+", string):
        return None
    if _whole(string):
        return "is not a number of processes; write one, or `gpu`"
    return None if parse_integer(string.strip()) > 0 else "starts no process; write 1 or more"


def _node_range(string: str) -> str | None:
    parts = string.split(":")
    if len(parts) > 2 or any(_whole(each) for each in parts):
        return "is not a number of nodes; write N or MIN:MAX"
    numbers = [parse_integer(each.strip()) for each in parts]
    return None if 0 < numbers[0] <= numbers[-1] else "is not a number of nodes; write N or MIN:MAX"


def _pairs(string: str) -> str | None:
    pairs = [each.partition("=") for each in string.split(",")] if string.strip() else []
    is_list = all(key.strip() and value.strip() for key, _, value in pairs)
    return None if is_list else "is not a list of settings; write NAME=VALUE,…"


def _backend(string: str) -> str | None:
    """Why a backend is refused; None for torch's own, and for names unlike these, which may be installed."""
    known = ("c10d", "static", "etcd", "etcd-v2")
    if string in known:
        return None
    near = [each for each in known if edit_distance(string.lower(), each) < 2]
    return f"is not a rendezvous backend; write {near[0]}" if near else None


def _endpoint(string: str) -> str | None:
    string = string.strip()
    host, colon, port = string.rpartition(":") if not string.endswith("]") else (string, "", "")
    host = host if colon else string
    if colon and not (re.fullmatch(r"[0-9]{1,5}", port) and parse_integer(port) < 1 << 16):
        return "has no port number after its colon; write HOST:PORT"
    return None if not string or re.fullmatch(r"[\w.:-]+", host.strip("[]")) else "names no host; write HOST:PORT"


def _one_of(*words: str) -> Callable[[str], str | None]:
    return lambda text: None if text in words else f"is not a valid value; write {' or '.join(words)}"


_RANKS = dict.fromkeys(("node_rank", "master_port", "max_restarts", "shutdown_timeout"), _whole)
_TORCHRUN = ("torchrun", "torch.distributed.launch")
_OF_TORCHRUN = {
    **_RANKS,
    "start_method": _one_of("spawn", "fork", "forkserver"),
    "nnodes": _node_range,
    "nproc_per_node": _process_count,
    "rdzv_conf": _pairs,
    "rdzv_backend": _backend,
    "rdzv_endpoint": _endpoint,
}
_OF_ACCELERATE = {
    **dict.fromkeys(
        ("num_processes", "num_machines", "machine_rank", "main_process_port", "num_cpu_threads_per_process"), _whole
    ),
    "mixed_precision": _one_of("no", "fp16", "bf16", "fp8"),
}
_OF_DEEPSPEED = dict.fromkeys(("num_nodes", "num_gpus", "master_port", "node_rank", "ssh_port"), _whole)
_OF_COMPOSER = dict.fromkeys(("nproc", "world_size", "base_rank", "node_rank", "master_port"), _whole)


_NODE_RANK = "add `--node_rank=$SLURM_NODEID`, expanded in each task"


# --- conflicting options ------------------------------------------------------------------------------------


def _torchrun(launcher: Launcher) -> Iterator[Refusal]:
    module, plain = launcher.flags.get("module"), launcher.flags.get("no_python")
    if module is not None and plain is not None:
        yield Refusal("option", "it takes either --no_python or -m", plain.span, "remove one")
    rendezvous = launcher.rendezvous
    if rendezvous is None or rendezvous.endpoint is None:
        return
    text, known = rendezvous.endpoint.text, known_prefix(rendezvous.endpoint.value or ())
    if text is None and re.search(r"[^\w.:\[\]-]", known) and not launcher.standalone:
        yield Refusal(
            "value", f"a host's name does not begin with `{known}`", rendezvous.endpoint.span, "write HOST:PORT"
        )
    if rendezvous.backend == "static" and text and ":" not in text and not launcher.standalone:
        reason = f"{_as_written(launcher, rendezvous.endpoint)} has no port"
        yield Refusal("value", reason, rendezvous.endpoint.span, "write HOST:PORT")


def _accelerate(launcher: Launcher) -> Iterator[Refusal]:
    kinds = [name for name in ("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp") if name in launcher.flags]
    if len(kinds) > 1:
        words = " and ".join(f"--{name}" for name in kinds)
        yield Refusal("option", f"{words} exclude each other", launcher.flags[kinds[1]].span, "keep one of them")
    option = launcher.options.get("num_processes")
    number = launcher.setting("num_processes")
    if "multi_gpu" in kinds and option is not None and number is not None and (number.number or 2) < 2:
        yield Refusal("value", "--multi_gpu needs --num_processes of 2 or more", option.span, "remove --multi_gpu")


def _deepspeed(launcher: Launcher) -> Iterator[Refusal]:
    chosen = [launcher.options[name] for name in ("include", "exclude") if name in launcher.options]
    if any(each.text == "" for each in chosen):
        return
    if len(chosen) == 2:
        yield Refusal("option", "--include and --exclude exclude each other", chosen[1].span, "keep one")
    for name in ("num_nodes", "num_gpus"):
        setting = launcher.setting(name)
        if chosen and setting is not None and setting.number is not None and setting.number >= 0:
            yield Refusal("option", f"--{name} and --{chosen[0].name} exclude each other", setting.span, "keep one")
    if "no_ssh" in launcher.flags and launcher.node_rank is None:
        yield Refusal("option", "--no_ssh needs --node_rank", launcher.flags["no_ssh"].span, _NODE_RANK)


def _composer(launcher: Launcher) -> Iterator[Refusal]:
    total, per_task = launcher.total_processes, launcher.processes_per_task
    if total is None or total.number is None or not isinstance(per_task, int):
        return
    if total.number < per_task:
        yield Refusal("value", f"{_as_written(launcher, total)} is less than --nproc", total.span, "count all nodes")
    elif total.number > per_task:
        for names in (("node_rank", "base_rank"), ("master_addr",), ("master_port",)):
            if launcher.setting(*names) is None:
                reason = f"a --world_size above --nproc needs --{names[0]}"
                advice = _NODE_RANK if names[0] == "node_rank" else f"add --{names[0]}"
                yield Refusal("option", reason, total.span, advice)


def _of_ray(launcher: Launcher) -> Refusal | None:
    if not launcher.certain or "head" in launcher.flags or "head" in launcher.options:
        return None
    if launcher.setting("address", "redis-address") is None:
        return Refusal("option", "it needs --head or --address", launcher.span, "add one of them")
    for name in ("port", "redis-shard-ports", "include-dashboard"):
        option = launcher.options.get(name)
        if option is not None:
            reason = f"--{name} is for the head, and --head is missing"
            return Refusal("option", reason, option.span, f"remove --{name}")
    return None


def _of_mpi(launcher: Launcher) -> Refusal | None:
    """The refusal of an mpirun without a program, unless a file names it; None for others."""
    informing = {"app", "configfile", "version", "V", "v", "dvm", "display-map", "display-allocation"}
    known = mpi.SYNTAX.values | mpi.SYNTAX.flags
    names = {each.name for each in launcher.all_options}
    if launcher.joined or not launcher.certain or launcher.program is not None or names & informing or names - known:
        return None
    return Refusal("program", "no program follows its options", launcher.span, "name one after them")


def _of_horovod(launcher: Launcher) -> Refusal | None:
    if not launcher.certain or launcher.total_processes is not None:
        return None
    return Refusal("option", "it needs -np", launcher.span, "add `-np $SLURM_NTASKS`")


_OTHERS: Mapping[str, Callable[[Launcher], Refusal | None]] = {
    "horovod": _of_horovod,
    "mpi": _of_mpi,
    "ray": _of_ray,
}
# Options of other releases than those that the launchers' own modules have.
_OLD_ACCELERATE = """mps min_num_params offload_params sharding_strategy transformer_layer_cls_to_wrap tpu_num_cores
use_env use_tp tp_size xpu_enabled ipex_enabled tpu_name tpu_zone"""
_GRAMMARS = {
    "torchrun": Grammar(torchrun.SYNTAX, _OF_TORCHRUN, ("ft_", "fault_tol", "term_timeout")),
    "torch.distributed.launch": Grammar(torchrun.LAUNCH_SYNTAX, _OF_TORCHRUN, others=frozenset({"logdir"})),
    "accelerate": Grammar(
        accelerate.SYNTAX, _OF_ACCELERATE, ("fsdp_", "megatron_lm_", "fp8_", "parallelism_config_", "dynamo_"),
        frozenset(_OLD_ACCELERATE.split()),
    ),
    "deepspeed": Grammar(deepspeed.SYNTAX, _OF_DEEPSPEED),
    "composer": Grammar(composer.SYNTAX, _OF_COMPOSER),
}  # fmt: skip
_SEMANTICS: Mapping[str, Callable[[Launcher], Iterator[Refusal]]] = {
    "torchrun": _torchrun,
    "torch.distributed.launch": _torchrun,
    "accelerate": _accelerate,
    "deepspeed": _deepspeed,
    "composer": _composer,
}
