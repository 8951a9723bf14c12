"""`trl sft` and its other subcommands that train, which run `accelerate launch`, as in trl 0.12 to 1.0.

trl/cli.py: the words go to trl/scripts/sft.py and the like; some releases take options of accelerate among them, and a
file of options by `--config` or `--accelerate_config`, which may hold the number of processes too.
"""

from sbatchlint.job.argv import syntax
from sbatchlint.job.launchers.accelerate import accelerate
from sbatchlint.job.launchers.model import Call, Launcher

SYNTAX = syntax(
    "accelerate_config config config_file machine_rank main_process_ip main_process_port num_machines num_processes",
    underscores=True,
    greedy=True,
)
TRAINING = frozenset({"dpo", "grpo", "kto", "reward", "rloo", "sft"})
_FILES = ("accelerate_config", "config")


def trl(call: Call) -> Launcher | None:
    """The launcher that `trl sft` and the like run; None for other subcommands."""
    if call.verb not in TRAINING:
        return None
    method = call.subcommand(is_placed=True)
    reading = method.read(SYNTAX)
    launcher = accelerate(method._replace(after=len(call.argv)))
    launcher.all_options = tuple(each for each in reading.options if each.name in SYNTAX.values)
    for each in launcher.all_options:
        launcher.options["config_file" if each.name in _FILES else each.name] = each
    launcher.certain = reading.certain
    launcher.runs_arguments(method)
    return launcher
