"""`convert` takes out variables of one node, with the commands that do nothing without them."""

from __future__ import annotations

import pytest

import in_bash
from in_bash import Converting

command = in_bash.command

HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
START = "torchrun --nproc_per_node=2 train.py"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1 #\n", ""),
        ("export CUDA_VISIBLE_DEVICES=0,1 # the first two\n", ""),
        ("export CUDA_VISIBLE_DEVICES=0,1; # the first two\n", ""),
        ("export MASTER_ADDR=localhost # of this node\n", ""),
        ("export CUDA_VISIBLE_DEVICES='0,1' MASTER_ADDR=localhost # one node\n", ""),
        ("export NCCL_SOCKET_IFNAME=lo CUDA_VISIBLE_DEVICES=0,1\n", ""),
        ("declare -x CUDA_VISIBLE_DEVICES=0,1 # two\n", ""),
        ("typeset -x CUDA_VISIBLE_DEVICES=0,1\n", ""),
        ('readonly CUDA_VISIBLE_DEVICES="0,1" # two\nexport CUDA_VISIBLE_DEVICES\n', "export CUDA_VISIBLE_DEVICES\n"),
        ("export A=1 CUDA_VISIBLE_DEVICES=0,1 # two\n", "export A=1 # two\n"),
        ("export CUDA_VISIBLE_DEVICES=0,1 A=1\n", "export A=1\n"),
        ("export A=1 \\\n    CUDA_VISIBLE_DEVICES=0,1 \\\n    B=2\n", "export A=1 \\\n    B=2\n"),
        ("export A=1 \\\n    CUDA_VISIBLE_DEVICES=0,1\n", "export A=1\n"),
        ("export \\\n    CUDA_VISIBLE_DEVICES=0,1\n", ""),
        ("export CUDA_VISIBLE_DEVICES=0,1 && cd .\n", "cd .\n"),
        ("export CUDA_VISIBLE_DEVICES=0,1 || exit 1\n", ": || exit 1\n"),
        ("true; export CUDA_VISIBLE_DEVICES=0,1; true\n", "true; true\n"),
        ("true; export CUDA_VISIBLE_DEVICES=0,1\n", "true; :\n"),
        ("if true; then export CUDA_VISIBLE_DEVICES=0,1; fi\n", "if true; then :; fi\n"),
        ("if true; then\n  export CUDA_VISIBLE_DEVICES=0,1 # two\nfi\n", "if true; then\n  : # two\nfi\n"),
        ("if export CUDA_VISIBLE_DEVICES=0,1; then true; fi\n", "if :; then true; fi\n"),
        (
            "if true; then\n  export CUDA_VISIBLE_DEVICES=0,1\n  export MASTER_ADDR=localhost\nfi\n",
            "if true; then\n  :\n  :\nfi\n",
        ),
        (
            "if true; then\n  export CUDA_VISIBLE_DEVICES=0,1 # two\n  export B=1\nfi\n",
            "if true; then\n  export B=1\nfi\n",
        ),
        ("use() { export CUDA_VISIBLE_DEVICES=0,1; }\nuse\n", "use() { :; }\nuse\n"),
        ("use() {\n  export CUDA_VISIBLE_DEVICES=0,1 # two\n}\nuse\n", "use() {\n  : # two\n}\nuse\n"),
        ("set -e\nuse() {\n [ -f x ] && . x\n export CUDA_VISIBLE_DEVICES=0,1\n}\nuse\n", " [ -f x ] && . x\n :\n}\n"),
        ("case a in\n  a) export CUDA_VISIBLE_DEVICES=0,1 ;;\nesac\n", "case a in\n  a) : ;;\nesac\n"),
        ("case a in a) export CUDA_VISIBLE_DEVICES=0,1;; esac\n", "case a in a) :;; esac\n"),
        ("{ export CUDA_VISIBLE_DEVICES=0,1; export A=1; }\n", "{ export A=1; }\n"),
    ],
)  # fmt: skip
def test_a_command_goes_with_its_last_variable(command: Converting, before: str, after: str) -> None:
    command.write("job.sh", f"{HEADER}echo begin\n{before}{START}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0, (result.out, result.err)
    made = result.out.partition("echo begin\n")[2]
    lines = made.partition("export MASTER_ADDR=$(")[0]
    assert lines == after if not after.startswith(" ") else after in lines


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"CUDA_VISIBLE_DEVICES=0,1 {START}", "srun "),
        (f"A=1 CUDA_VISIBLE_DEVICES=0,1 {START}", "A=1 srun "),
        (f"CUDA_VISIBLE_DEVICES=0,1 A=1 \\\n  {START}", "A=1 \\\n  srun "),
        (f"env CUDA_VISIBLE_DEVICES=0,1 A=1 {START}", "srun --kill-on-bad-exit=1 "),
        (f"export CUDA_VISIBLE_DEVICES=0,1 && {START}", "srun "),
        (f"(export CUDA_VISIBLE_DEVICES=0,1; {START})", "(srun "),
    ],
)
def test_beside_the_launcher(command: Converting, before: str, after: str) -> None:
    command.write("job.sh", f"{HEADER}{before}\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and f"10000))\n{after}" in result.out, (result.out, result.err)
    assert "CUDA_VISIBLE_DEVICES" not in result.out
