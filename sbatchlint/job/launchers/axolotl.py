"""`axolotl train` and its other subcommands that run `accelerate launch` or torchrun, as in axolotl 0.8 to 0.17.

src/axolotl/cli/main.py, cli/utils/train.py: `--launcher` (accelerate by default) is the launcher, the words after `--`
are its options, `--num-processes` and `--main-process-port` too. Older releases have `--accelerate` and
`--no-accelerate` instead, and take options of accelerate among their own.
"""

from sbatchlint.bash.values import text_of
from sbatchlint.job.argv import Argv, Lookup, read, syntax
from sbatchlint.job.launchers.accelerate import accelerate
from sbatchlint.job.launchers.model import Launcher, with_subcommand
from sbatchlint.job.launchers.torchrun import torchrun
from sbatchlint.source.text import Span

SYNTAX = syntax(
    "launcher num_processes main_process_port cloud sweep ray_num_workers",
    "accelerate no_accelerate debug debug_text_only shard no_shard cleanup_logs",
    underscores=True,
    greedy=True,
)
SPAWNING = frozenset({"train", "evaluate", "inference"})


def axolotl(name: str, argv: Argv, index: int, after: int, span: Span, environment: Lookup) -> Launcher | None:
    """The launcher that `axolotl train` and the like run; None for other subcommands, and where it is plain Python."""
    method = text_of(argv[after]) if after < len(argv) else None
    if method not in SPAWNING:
        return None
    texts = [text_of(each) for each in argv]
    own = texts.index("--") if "--" in texts else len(argv)
    options = {each.name: each for each in read(argv[:own], after + 2, SYNTAX).options}
    kind = options["launcher"].text if "launcher" in options else "accelerate"
    if kind not in ("accelerate", "torchrun") or options.keys() & {"no_accelerate", "cloud", "ray_num_workers"}:
        return None
    whole, joined = f"{name} {method}", with_subcommand(span, argv, after)
    if kind == "torchrun":
        launcher = torchrun("torchrun", whole, argv, index, own + 1, joined, environment)
    else:
        launcher = accelerate(whole, argv, index, own + 1, joined, environment)
        for each in ("num_processes", "main_process_port"):
            if each in options:
                launcher.options.setdefault(each, options[each])
                launcher.all_options = (*launcher.all_options, options[each])
    launcher.certain = launcher.certain and all(text is not None for text in texts[after + 2 : own])
    launcher.program, launcher.program_certain = (after + 1, True) if after + 1 < len(argv) else (None, False)
    launcher.program_kind = "command"
    return launcher
