"""`trl sft` and its other subcommands that train, which run `accelerate launch`, as in trl 0.12 to 1.0.

trl/cli.py: the words go to trl/scripts/sft.py and the like; some releases take options of accelerate among them, and a
file of options by `--config` or `--accelerate_config`, which may hold the number of processes too.
"""

from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import Argv, Lookup, read, syntax
from sbatchlint.job.launchers.accelerate import accelerate
from sbatchlint.job.launchers.model import Launcher, with_subcommand
from sbatchlint.source.text import Span

SYNTAX = syntax(
    "accelerate_config config config_file machine_rank main_process_ip main_process_port num_machines num_processes",
    underscores=True,
    greedy=True,
)
TRAINING = frozenset({"dpo", "grpo", "kto", "reward", "rloo", "sft"})
_FILES = ("accelerate_config", "config")


def trl(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher that `trl sft` and the like run; None for other subcommands."""
    if after >= len(argv) or text_of(argv[after]) not in TRAINING:
        return None
    reading = read(argv, after + 1, SYNTAX)
    whole, joined = f"{name} {text_of(argv[after])}", with_subcommand(span, argv, after)
    launcher = accelerate(whole, argv, index, len(argv), joined, environment)
    launcher.all_options = tuple(each for each in reading.options if each.name in SYNTAX.values)
    for each in launcher.all_options:
        launcher.options["config_file" if each.name in _FILES else each.name] = each
    launcher.certain = reading.certain
    launcher.program, launcher.program_certain = (after + 1, True) if after + 1 < len(argv) else (None, False)
    launcher.program_kind = "command"
    return launcher
