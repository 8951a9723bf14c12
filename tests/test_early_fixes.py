"""Fixes of what the batch shell expands too early, run by bash: an srun of our own starts two tasks that print.

Before, both tasks get the first one's number. After the fix the first task gets the same words as before, and the
second one the same but for its own number: no fix may change anything else, whatever shape the script has.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from sbatchlint.fix import fix_source
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
SRUN = """\
#!/bin/bash
while [[ $1 == -* ]]; do shift; done
[ -t 0 ] || input=$(cat)
for rank in 0 7; do
    SLURM_PROCID=$rank SLURM_NODEID=$rank SLURM_LOCALID=0 SLURMD_NODENAME=node$rank "$@" <<< "$input"
done
"""
PROGRAM = """\
#!/bin/bash
printf '%s' "$SLURM_PROCID:${0##*/}" >> "$OUT"
printf ' [%s]' "$@" >> "$OUT"
printf ' RANK=%s\\n' "$RANK" >> "$OUT"
"""
NAMES = ("$SLURM_PROCID", "${SLURM_NODEID}", "${SLURM_PROCID:-0}")
# Scripts, with § for the variable.
SHAPES = {
    "words": "srun train --rank § --x 1",
    "words in quotes": 'srun train --rank "§" --name "a b" "$FILE"',
    "glued": "srun train --rank=§ --data=$FILE",
    "split": 'L="train --x 1 --rank § --data $FILE"\nsrun $L main.py',
    "split with quotes": 'L="train --rank §"\nsrun --label $L "--name=a b" $FILE',
    "split, with literal quotes": "L=\"train --rank § --name 'a b'\"\nsrun $L main.py",
    "split, with a pattern": 'L="train --rank § --name *"\nsrun $L main.py',
    "split twice": 'L="train --rank §"\nsrun $L one\nsrun $L two',
    "split, and used by the batch shell": 'L="train --rank §"\n$L check\nsrun $L two',
    "split, and printed": 'L="train --rank §"\necho $L\nsrun $L two',
    "read again, and split": 'L="train --rank §"\nsrun bash -c "$L one"\nsrun $L two',
    "options before": 'A="-l -K"\nL="train --rank §"\nsrun $A $L one',
    "read again": 'L="train --rank §"\nsrun bash -c "$L one; train done"',
    "read again in quotes": "L=\"train --rank '§'\"\nsrun bash -c \"$L one\"",
    "appended": 'L="train"\nL+=" --rank §"\nL="$L --x 1"\nsrun bash -c "$L"',
    "appended and split": 'L="train"\nL+=" --rank §"\nL="$L --x 1"\nsrun $L',
    "default": 'L="train --rank §"\nsrun bash -c "${L:-train}"',
    "default of another": 'srun bash -c "${CMD:-train --rank §}"',
    "array": 'A=(--x 1 --rank §)\nsrun train "${A[@]}" main.py',
    "array in quotes": 'A=(--x "a b" --rank "§")\nsrun train "${A[@]}" main.py',
    "array joined": 'A=(train --rank "§")\nsrun bash -c "${A[*]}"',
    "array appended": 'A=(train)\nA+=(--rank "§")\nsrun "${A[@]}"',
    "array all": 'A=(train --rank=§)\nsrun ${A[@]}',
    "heredoc": "srun bash <<EOF\ntrain --rank §\nEOF",
    "heredoc tabs": "srun bash -s <<-EOF\n\ttrain --rank § --x \"a b\"\n\tEOF",
    "here-string": 'srun bash <<< "train --rank §"',
    "file": "cat > run.sh <<EOF\ntrain --rank §\nEOF\nsrun bash run.sh",
    "file by echo": 'echo "train --rank §" > run.sh\nsrun bash run.sh',
    "file, also for the batch shell": "cat > run.sh <<EOF\ntrain --rank §\nEOF\nbash run.sh\nsrun bash run.sh",
    "file of a file": "cat > a.sh <<EOF\ncat > b.sh <<END\ntrain --rank §\nEND\nEOF\nbash a.sh\nsrun bash b.sh",
    "function": 'run() { srun "$@"; }\nrun train --rank §',
    "function, text": 'run() { srun bash -c "$1"; }\nrun "train --rank §"',
    "function, two": 'run() { srun -l $1 $2; }\nrun train --rank=§',
    "function, local": 'run() {\n    local cmd="train --rank § $*"\n    srun bash -c "$cmd"\n}\nrun one',
    "nested": 'srun bash -c "bash -c \\"train --rank §\\""',
    "nested, single": "srun bash -c \"bash -c 'train --rank §'\"",
    "nested, single in single": "srun bash -c 'bash -c \"train --rank '\"§\"'\"'",
    "splice": "srun bash -c 'train --rank '\"§\"' --x 1'",
    "splice bare": "srun bash -c 'train --rank '§",
    "eval": 'eval "srun train --rank § --x 1"',
    "eval words": "eval srun train --rank § --x 1",
    "eval text": 'eval "srun bash -c \\"train --rank §\\""',
    "eval single": "eval \"srun bash -c 'train --rank §'\"",
    "eval variable": 'C="srun train --rank §"\neval "$C"',
    "eval in task": 'srun bash -c "eval \\"train --rank §\\""',
    "bash -c around": 'bash -c "srun train --rank § --x 1"',
    "bash around": 'bash <<EOF\nsrun bash -c "train --rank §"\nEOF',
    "backslashes": 'srun bash -c "train --rank \\\\\\\\§"',
    "backslash": 'srun bash -c "train --rank \\\\§"',
    "escaped once, read twice": 'eval "srun bash -c \\"train --rank \\§\\""',
    "tests": 'srun bash -c "if [ § -eq 0 ]; then train yes; else train no; fi"',
    "case": 'srun bash -c "case § in 0) train 0;; *) train 7;; esac"',
    "arithmetic": 'srun bash -c "train \\$((0 + §))"',
    "env": "srun env RANK=§ train one",
    "env in text": 'srun bash -c "RANK=§ train one"',
    "export in text": 'srun bash -c "export RANK=§; train one"',
    "before srun": "RANK=§ srun train one",
    "exported": "export RANK=§\nsrun train one",
    "exported, and split": 'export RANK=§\nL="train one"\nsrun $L "a b"',
    "exported, read again": 'export RANK=§\nsrun bash -c "train one"',
    "exported, and an argument": 'export RANK=§\nsrun train --rank "$RANK"',
    "exported, in a text": 'export RANK=§\nsrun bash -c "train --rank $RANK"',
    "a rank, read again": 'RANK=§\nsrun bash -c "train --rank $RANK"',
    "a rank, an argument": "NODE_RANK=§\nsrun train --node_rank $NODE_RANK",
    "a rank in an array": 'NODE_RANK=§\nA=(--node_rank "$NODE_RANK")\nsrun train "${A[@]}"',
    "kept elsewhere": 'X=§\nY="$X"\nsrun bash -c "train --rank $Y"',
    "kept, and used by the batch shell": 'X=§\nmkdir -p "d$X"\nsrun bash -c "train --rank $X"',
    "branches": 'if [ -n "$FILE" ]; then L="train --rank §"; else L="train --rank § --x 1"; fi\nsrun bash -c "$L"',
    "loop": 'for i in 1 2; do\n    srun bash -c "train $i --rank §"\ndone',
    "printf": "printf -v L 'train --rank %s' §\nsrun bash -c \"$L\"",
    "read": 'read -r L <<< "train --rank §"\nsrun bash -c "$L"',
    "replaced": 'L="train,--rank,§"\nsrun ${L//,/ }',
    "replaced, read again": 'L="train,--rank,§"\nsrun bash -c "${L//,/ }"',
    "redirected": 'srun bash -c "train one > out.§; cat out.§; train §"',
    "two in one": 'srun bash -c "train --rank § --other §"',
    "two split": 'L="train --rank § --other §"\nsrun $L main.py',
    "in the background": 'L="train --rank §"\nsrun $L one &\nwait',
    "piped": 'L="train --rank §"\nsrun $L one | tee log > /dev/null',
    "wrapper": 'L="train --rank §"\nsrun nice $L one',
    "exec": 'L="train --rank §"\nexec srun $L one',
    "command in a variable": 'S="srun -l"\nL="train --rank §"\n$S $L one',
    "command in a variable, read again": 'S="srun -l"\nL="train --rank §"\n$S bash -c "$L one"',
}  # fmt: skip


def run(folder: Path, text: str) -> list[str]:
    """What the programs print, in a folder of their own."""
    folder.mkdir()
    for name, content in (("srun", SRUN), ("train", PROGRAM)):
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    (folder / "job.sh").write_text(text)
    out = folder / "out"
    given = {
        "PATH": f"{folder}:{os.environ['PATH']}", "OUT": str(out), "FILE": "data", "SLURM_PROCID": "0",
        "SLURM_NODEID": "0", "SLURM_LOCALID": "0",
    }  # fmt: skip
    work = folder / "work"
    work.mkdir()
    subprocess.run(
        ["bash", str(folder / "job.sh")], cwd=work, env=given, check=False, timeout=300, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    return sorted(out.read_text().splitlines()) if out.exists() else []


def fixed(text: str) -> str:
    overrides = Overrides(isolated=True, select=("SB401", "SB402"), min_severity="info")
    return fix_source(Source(text, "job.sh"), Resolver(overrides).settings("job.sh"), unsafe=True).source.text


@pytest.mark.parametrize(
    ("shape", "name"), [(shape, NAMES[at % 3]) for at, shape in enumerate(SHAPES)], ids=lambda each: each
)
def test_fix_keeps_words(shape: str, name: str, tmp_path: Path) -> None:
    text = HEAD + SHAPES[shape].replace("§", name) + "\n"
    after = fixed(text)
    if after == text:
        return
    old, new = run(tmp_path / "old", text), run(tmp_path / "new", after)
    assert old, "the script as it was runs"
    tasks = {rank: [line.partition(":")[2] for line in old if line.startswith(f"{rank}:")] for rank in "07"}
    now = {rank: [line.partition(":")[2] for line in new if line.startswith(f"{rank}:")] for rank in "07"}
    assert now["0"] == tasks["0"], after
    if shape not in ("tests", "case"):
        assert [line.replace("7", "0") for line in now["7"]] == sorted(tasks["7"]), after
    assert now["7"] != tasks["7"], after
    assert len(list(itertools.chain(*now.values()))) == len(old)
