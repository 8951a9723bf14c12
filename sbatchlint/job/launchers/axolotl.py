"""`axolotl train` and its other subcommands that run `accelerate launch` or torchrun, as in axolotl 0.8 to 0.17.

src/axolotl/cli/main.py, cli/utils/train.py: `--launcher` (accelerate by default) is the launcher, the words after `--`
are its options, `--num-processes` and `--main-process-port` too. Older releases have `--accelerate` and
`--no-accelerate` instead, and take options of accelerate among their own.
"""

from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import read, syntax
from sbatchlint.job.launchers.accelerate import accelerate
from sbatchlint.job.launchers.model import Call, Launcher
from sbatchlint.job.launchers.torchrun import torchrun

SYNTAX = syntax(
    "launcher num_processes main_process_port cloud sweep ray_num_workers",
    "accelerate no_accelerate debug debug_text_only shard no_shard cleanup_logs",
    underscores=True,
    greedy=True,
)
SPAWNING = frozenset({"train", "evaluate", "inference"})


def axolotl(call: Call) -> Launcher | None:
    """The launcher that `axolotl train` and the like run; None for other subcommands, and where it is plain Python."""
    if call.verb not in SPAWNING:
        return None
    argv = call.argv
    texts = [text_of(each) for each in argv]
    own = texts.index("--") if "--" in texts else len(argv)
    options = {each.name: each for each in read(argv[:own], call.after + 2, SYNTAX).options}
    kind = options["launcher"].text if "launcher" in options else "accelerate"
    if kind not in ("accelerate", "torchrun") or options.keys() & {"no_accelerate", "cloud", "ray_num_workers"}:
        return None
    method = call.subcommand(is_placed=True)
    if kind == "torchrun":
        launcher = torchrun("torchrun", method._replace(after=own + 1))
    else:
        launcher = accelerate(method._replace(after=own + 1))
        for each in ("num_processes", "main_process_port"):
            if each in options:
                launcher.options.setdefault(each, options[each])
                launcher.all_options = (*launcher.all_options, options[each])
    launcher.certain = launcher.certain and all(text is not None for text in texts[method.after + 1 : own])
    launcher.runs_arguments(method)
    return launcher
