"""What holds for every conversion: over drawn scripts, with the real checks."""

from __future__ import annotations

import random
from difflib import unified_diff
from pathlib import Path

import pytest

from in_bash import check
from sbatchlint.convert.conversion import convert
from sbatchlint.convert.goal import Goal
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

BEFORE = (
    "module load cuda", "export HF_HOME=/shared/hf", "cd /shared/proj  # here", "set -euo pipefail",
    "echo 'a  b' | tee x",
)  # fmt: skip
AFTER = ("echo done", "cp log.txt results/", "# the end")
LAUNCHERS = (
    "torchrun --standalone --nproc_per_node={g}", "torchrun --nnodes 1 --nproc-per-node {g}",
    "python -m torch.distributed.run --nproc_per_node={g} --master_port=29501",
    "torchrun --nproc_per_node={g} --nnodes=1 --node_rank=0 --master_addr=localhost --master_port=29500",
    "accelerate launch --num_processes {g}", "accelerate launch --multi_gpu --num_machines=1 --num_processes={g}",
    "deepspeed --num_gpus={g}", "uv run --no-sync torchrun --nproc_per_node={g}",
)  # fmt: skip
PROGRAMS = (
    "train.py", "train.py --lr 1e-4 --name 'a b'", 'train.py --out "$HF_HOME/x y" \\\n    --seed 3', "-m pkg.train -v",
)  # fmt: skip
SHAPES = (
    "{launcher} {program}", "srun {launcher} {program}", 'ARGS=({program})\n{launcher} "${{ARGS[@]}}"',
    "run() {{\n    {launcher} {program}\n}}\nrun", "if [ -f go ]; then\n    {launcher} {program}\nfi",
    'L="{launcher}"\n$L {program}',
)  # fmt: skip
HEADERS = (
    "--gpus-per-node={g} --cpus-per-task=8 --time=5", "-N1 --gres=gpu:{g} -c 8 -t 5",
    "--gpus={g} --exclusive --time=5 -n 1",
)  # fmt: skip


def drawn(seed: int) -> tuple[str, str, int]:
    """A script, the name of its launcher, and the nodes that are wanted."""
    draw = random.Random(seed)
    gpus = draw.choice((2, 4, 8))
    launcher, program = draw.choice(LAUNCHERS).format(g=gpus), draw.choice(PROGRAMS)
    if launcher.startswith("deepspeed"):
        program = program.replace("-m ", "--module ")
    # another launcher does not fit into a string that is split, and finds no --module in an array
    shapes = SHAPES[:2] if launcher.startswith("deepspeed") else SHAPES
    work = draw.choice(shapes).format(launcher=launcher, program=program)
    lines = (*draw.sample(BEFORE, 2), work, draw.choice(AFTER))
    header = draw.choice(HEADERS).format(g=gpus)
    return f"#!/bin/bash\n#SBATCH {header}\n" + "\n".join(lines) + "\n", launcher.split()[0], draw.choice((2, 3, 8))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed % 4 > 0)) for seed in range(40)])
def test_properties_of_conversions(tmp_path: Path, seed: int) -> None:
    script, launcher, nodes = drawn(seed)
    settings = Settings.of_table({})
    made = convert(Source(script, "job.sh"), Goal(nodes), settings)
    text = made.source.text
    assert convert(Source(text, "job.sh"), Goal(nodes), settings).source.text == text
    more = convert(Source(text, "job.sh"), Goal(nodes + 1), settings).source.text
    numbers = [(f"--nodes={nodes}", f"--nodes={nodes + 1}"), (f"-N{nodes}", f"-N{nodes + 1}")]
    assert more in {text.replace(old, new) for old, new in numbers}
    rest = iter(text.splitlines())
    for line in script.splitlines():
        if not line.startswith("#SBATCH") and launcher not in line and not line.startswith("$L"):
            assert line in rest, text
    changes = [line for line in unified_diff(script.splitlines(), text.splitlines()) if line[0] in "+-"]
    assert len(changes) - 2 < 12, text
    if not made.todos:
        for folder in (tmp_path / "work", tmp_path / "work" / "shared"):
            (folder / "results").mkdir(parents=True)
            for name in ("log.txt", "go"):
                (folder / name).touch()
        check(tmp_path, runnable(script), runnable(text), made.before, made.after)


def runnable(script: str) -> str:
    """The script in a folder that is there, with the variable that a program is given."""
    here = script.replace("/shared/proj", "shared")
    return here if "export HF_HOME" in here else here.replace("#!/bin/bash\n", "#!/bin/bash\nexport HF_HOME=/hf\n")


@pytest.mark.parametrize("seed", range(8))
def test_from_one_launcher_to_others_and_back_is_the_same_job(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    words = draw.choice(("--a b", "'x  y' --z", ""))
    source = Source(f"#!/bin/bash\n#SBATCH -c 8 -t 5\ntorchrun --nproc_per_node=2 train.py {words}\n", "job.sh")
    settings = Settings.of_table({})
    made = first = convert(source, Goal(2), settings)
    for target in (*draw.sample(("accelerate", "srun", "deepspeed"), 2), "torchrun"):
        last, made = made, convert(made.source, Goal(2, launcher=target), settings)
        if not made.todos:
            check(tmp_path, last.source.text, made.source.text, last.after, made.after)
    (one,), (other,) = first.after["steps"], made.after["steps"]
    for key in ("nodes", "tasks", "processes", "program", "argv", "gpus_on_node"):
        assert one[key] == other[key], (key, made.source.text)
    for here, there in zip(one["by_task"], other["by_task"], strict=True):
        assert here["processes"] == there["processes"], made.source.text
