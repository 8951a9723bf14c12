"""Damaged input, and what is fed with it: scripts, documents, configuration, logs, listings of `sbatch --help`.

Used by tests/test_fuzz.py for a short while, and by tools/fuzz.py for a long one.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import drawn_verbs
from dialogues import of_agent
from drawn_verbs import call_tools, run_verbs, speak_as_agent, speak_as_editor
from sbatchlint.analysis.planning.plan import plan_of
from sbatchlint.cli.process import Mode, process
from sbatchlint.configuration import parse
from sbatchlint.convert.conversion import convert
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.diagnose import as_github, as_json
from sbatchlint.diagnose import as_text as diagnosis_as_text
from sbatchlint.diagnose.run import judged
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.engine import Diagnostic, Fault, inspect
from sbatchlint.job import Job
from sbatchlint.keys import KEYS, SITE_KEYS
from sbatchlint.registry import registry
from sbatchlint.report import FORMATS
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report
from sbatchlint.report.plan import as_text
from sbatchlint.report.plan_html import as_html
from sbatchlint.report.plan_svg import as_svg
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver, Settings
from sbatchlint.slurm.options import all_options
from sbatchlint.slurm.plugin_help import NoHelp, options_of_help
from sbatchlint.source.files import InputError
from sbatchlint.source.text import Source, Undecodable

ROOT = Path(__file__).resolve().parent.parent
NAME = "job.sbatch"  # no such file, so that nothing is looked for beside it
EVERYTHING = ("ALL", "rendezvous-missing", "fixed-master-port", "SB322")


@cache
def resolver() -> Resolver:
    return Resolver(Overrides(select=EVERYTHING, min_severity="info", isolated=True))


def check_script(data: bytes, name: str = NAME) -> None:
    """Lints a script, fixes it, and renders the report in every format."""
    outcome = process((name, data), resolver(), Mode(True, True, True, True))
    if not outcome.error:
        raise_faults(outcome.faults)
        render_all(outcome.diagnostics)
        Source.from_bytes(outcome.text)


def check_document(data: bytes) -> None:
    """The same for the scripts in a document of each kind."""
    for name in ("a.md", "a.rst", "a.py"):
        check_script(data, name)


def render_all(diagnostics: list[Diagnostic]) -> None:
    report = Report(diagnostics, 1)
    for name in FORMATS:
        for terminal in (Terminal(40), Terminal(100, True, True)):
            text = renderer(name)(report, terminal)
            text.encode("utf-8", "backslashreplace" if name in ("full", "concise") else "strict")
    json.loads(renderer("json")(report, Terminal()))


def raise_faults(faults: Iterable[Fault]) -> None:
    for fault in faults:
        raise AssertionError(f"{fault.where}: {fault.error}\n{fault.traceback}")


def check_plan(data: bytes) -> None:
    """What `plan` prints, in every format."""
    try:
        source = Source.from_bytes(data, NAME)
    except Undecodable:
        return
    plan = plan_of(Job.from_source(source, Settings.of_table().site))
    json.dumps(plan)
    as_text(plan, Terminal(60, True), {})
    as_svg(plan, {})
    as_html([(plan, {}, [])])


def check_conversion(data: bytes) -> None:
    """Converts a script, to its own launcher and to others."""
    try:
        source = Source.from_bytes(data, NAME)
    except Undecodable:
        return
    for goal in (Goal(2), Goal(4, 8, 64, "torchrun", "c10d"), Goal(2, launcher="srun", container="pyxis")):
        try:
            made = convert(source, goal, Settings.of_table())
        except NotConvertible:
            continue
        Source.from_bytes(Source.encode(made.source.text), NAME)


def check_log(data: bytes) -> None:
    """Diagnoses a log, alone and with a script, and renders that in every format."""
    with TemporaryDirectory() as folder:
        log, script = Path(folder, "job.log"), Path(folder, NAME)
        log.write_bytes(data)
        script.write_text(SHORT)
        for name in (None, str(script)):
            run = judged([str(log)], name, searching=False)
            diagnosis_as_text.render(run, Terminal(60, True))
            json.loads(as_json.render(run))
            as_github.render(run)


def check_configuration(data: bytes) -> None:
    """Reads a configuration file, and lints a script with it."""
    try:
        settings = Settings.of_table(parse(data, "sbatchlint.toml"))
        settings.excluded("a/b.sh", False)
        settings.checks("a/b.sh")
    except InputError:
        return
    raise_faults(inspect(Source(SHORT, NAME), settings).faults)


def check_listing(data: bytes) -> None:
    """Reads what `sbatch --help` prints on a cluster."""
    try:
        options = options_of_help(data.decode("utf-8", "replace"))
        raise_faults(inspect(Source(SHORT, NAME), Settings.of_table({"plugin-options": list(options)})).faults)
    except (NoHelp, InputError):
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    "script": check_script,
    "document": check_document,
    "plan": check_plan,
    "conversion": check_conversion,
    "log": check_log,
    "configuration": check_configuration,
    "listing": check_listing,
    "verbs": run_verbs,
    "editor": speak_as_editor,
    "tools": call_tools,
    "agent": speak_as_agent,
}

SHORT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gres=gpu:4 --container-image=a --mpi=pmix
#SBATCH --output=/tmp/logs/%j.out --mem=4G --time=1:00:00
export MASTER_PORT=29500
source env.sh
srun --gpus=8 torchrun --nnodes=2 --nproc_per_node=8 train.py --token abc
"""

CONFIGURATION = """slurm-version = "23.11-25.05"
select = ["ALL"]
ignore = ["SB1", "launch"]
exclude = ["build/", "*.tmp"]
plugin-options = ["container-image=", "x"]
[severity]
SB101 = "error"
[per-file-ignores]
"tests/*" = ["SB101"]
[site]
shared-paths = ["/data"]
gpus-per-node = 4
gpu-vendor = "nvidia"
pyxis = "0.15.0"
[checks.compile-cache-shared]
"""

LISTING = """Usage: sbatch [OPTIONS(0)...] [ : [OPTIONS(N)...]] script(0) [args(0)...]

Parallel run options:
  -a, --array=indexes         job array index values
      --bbf=<file_name>       burst buffer specification file
  -N, --nodes=N               number of nodes on which to run (N = min[-max])

Options provided by plugins:
      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH
                              [pyxis] the image to use
"""

# Lines as logs hold them, and as they end up in scripts.
LOG = """srun: error: node17: task 3: Exited with exit code 1
slurmstepd: error: *** STEP 123.0 ON node17 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***
[rank3]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error
\x1b[31mTraceback (most recent call last):\x1b[0m\r
  File "/opt/conda/lib/python3.10/site-packages/torch/distributed/run.py", line 806, in main
 12%|#2        | 120/1000 [00:12<01:28,  9.97it/s]\r 13%|#3        | 130/1000 [00:13<01:27,  9.97it/s]
W0501 10:00:00.123456 140 torch/distributed/run.py:757] ****************
"""

# Words that mean something to bash, to Slurm, or to a launcher.
WORDS = r"""
if then elif else fi for in do done while until case esac select function { } ( ) (( )) [[ ]] ! ; ;; ;& & && || | |&
;;& < > >> >| <> <& >& &> << <<- <<< $( ` ${ $(( " ' $' $" \\ # #! $ = += == * ? [ ] ~ @ % ^ , .. {1..9} {1..99999999}
{a,b} $x ${x} ${x[@]} ${x[*]} ${#x} ${!x} ${!x@} ${x:-y} ${x:=y} ${x:?y} ${x:+y} ${x#*/} ${x%%.*} ${x//a/b} ${x^^}
${x,,} ${x@Q} ${x@A} ${x:1:2} ${x:-1} $? $! $$ $# $@ $* $0 $1 ${10} $- $_ x=1 x+=1 x=() x+=($x) x[1]=2 x[$x]=$x
x[99999999]=1 declare -A -a -i -n -r -x -g local export readonly typeset unset eval exec source . trap set -e -u -o
pipefail shopt -s extglob printf -v %s %d %q %b %(%F)T %*d echo -n -e read mapfile -t getopts shift return exit break
continue wait test [ let 1 0 -1 08 0x1f 16#ff 2**63 x++ x?1:0 99999999999999999999 cd pushd popd seq 1 9 3 cat tee sed
awk tr cut xargs -I{} -n1 -P4 sh -c bash -lc python -m python3 env nohup timeout 10 nice sudo time command builtin
exec -a coproc EOF 'EOF' \nEOF\n #SBATCH \n#SBATCH #SBATCH\n #PBS #BSUB #$ ##SBATCH sbatch --wrap= --parsable srun
mpirun mpiexec scontrol show hostnames salloc scancel squeue torchrun accelerate launch deepspeed horovodrun ray start
ipython jupyter docker run singularity apptainer exec podman enroot start module load conda activate uv run nsys
profile ncu numactl python -u train.py $SLURM_JOB_NODELIST $SLURM_PROCID $SLURM_NTASKS \$SLURM_PROCID
$SLURM_ARRAY_TASK_ID $MASTER_ADDR MASTER_PORT=1 %j %A_%a %x --export=ALL,A=1 --export=NONE hetjob : --het-group=0,1
1-00:00:00 1:2:3:4 4G 4GG gpu:a100:4 gpu: --cpu-bind=map_cpu:0x1 afterok:1:2?afterany:3 1-10%2 0-99:4 1,2,,3 USR1@60
B:USR1@ now+1hour 2024-01-01T00:00 (a&b)|c*2 [a|b] node[1-9,10] a,b --nnodes= --nproc_per_node= --node_rank=
--rdzv_endpoint= --master_addr --tensor-model-parallel-size CUDA_VISIBLE_DEVICES=0, HF_HOME= --token hf_x -v /a:/b
--gpus all -it --shm-size= --nv --container-mounts=/a:/b:ro {{x}} {% if %} <%= x %> @x@ <x> \0 \r\n \t \x0b \x1b[31m
\u00a0 \u200b \u2028 \u202e \ufeff \u00b2 \u0663 \u2013\u2013 \xff /dev/zero /proc/self/mem ../../x
"""


@cache
def words() -> tuple[bytes, ...]:
    """The dictionary: the words above, and the options of Slurm."""

    def decoded(word: str) -> bytes:
        return re.sub(r"\\(?:[n0rt]|u\w{4}|x\w\w)", lambda code: ast.literal_eval(f"'{code.group()}'"), word).encode()

    found = [decoded(word) for word in WORDS.split()]
    found += [f"--{option.name}{end}".encode() for option in all_options() for end in ("", "=")]
    return (*found, b" ", b"\n", b"\t", b"\\\n", b"  ", b"\xff")


@cache
def keys() -> tuple[bytes, ...]:
    """The dictionary of configuration files."""
    found = [f"{key} = " for key in (*KEYS, *SITE_KEYS)]
    found += [entry.name for entry in registry().entries] + [entry.code for entry in registry().entries]
    found += [
        "[site]\n",
        "[checks]\n",
        "[severity]\n",
        "true",
        "-1",
        "9" * 30,
        "9" * 5000,
        "1.5",
        "nan",
        "''",
        '""',
        "[",
        "]",
    ]
    found += [
        "2024-01-01",
        '"""',
        "'''",
        "\n",
        ".",
        "=",
        '"',
        "\\u0000",
        "\\",
        "x",
        "[" * 50,
        "a." * 50,
        "**/",
        "[!a-",
        "#",
    ]
    return tuple(each.encode() for each in found)


def seeds_of(target: str, folders: Iterable[Path] = ()) -> list[bytes]:
    """What is damaged: the scripts of the folders, or the examples and the cases of the checks."""
    if target == "configuration":
        return [CONFIGURATION.encode(), b'select = ["SB101"]\n', b"slurm-version = '24.05'\n"]
    if target == "listing":
        return [LISTING.encode()]
    if target in ("verbs", "editor", "tools"):
        return drawn_verbs.seeds()
    if target == "agent":
        return [b"\0" + of_agent(NAME, "job.log", SHORT), b"\0" + of_agent("page.md", ".", LOG)]
    if target == "document":
        return [path.read_bytes() for path in sorted((ROOT / "docs" / "checks").iterdir())]
    if target == "log":
        lines = [line for symptom in symptoms().values() for line in symptom.matches.splitlines()]
        logs = [path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "good_logs").iterdir())]
        return [*logs, LOG.encode(), *("\n".join(lines[at : at + 20]).encode() for at in range(0, len(lines), 20))]
    found = [path.read_bytes() for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    if not found:
        found = [path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.sbatch"))]
        found += [
            case.example.text.encode("utf-8", "surrogateescape")
            for check in registry().load_all()
            for case in check.cases
        ]
    return [*found, LOG.encode(), SHORT.encode()]


def damaged(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds after a few random changes."""
    first = draw.choice(seeds)
    dictionary = keys() if b"slurm-version =" in first or b"select =" in first else words()
    data = bytearray(first)
    for _ in range(draw.choice((1, 1, 2, 3, 5, 8, 20))):
        _change(draw, data, seeds, dictionary)
    return bytes(data)


def _change(draw: random.Random, data: bytearray, seeds: Sequence[bytes], dictionary: Sequence[bytes]) -> None:
    """One random change, at one place."""
    at = draw.randrange(len(data) + 1)
    end = min(at + draw.choice((1, 2, 5, 20, 100, 1000)), len(data))
    kind = draw.randrange(14)
    if kind == 0:
        data[at:end] = b""
    elif kind == 1:
        data[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 4)))
    elif kind == 2:
        data[at:at] = data[at:end] * draw.choice((1, 2, 10, 100) if len(data) < 20_000 else (1,))
    elif kind == 3:
        other = draw.choice(seeds)
        begin = draw.randrange(len(other) + 1)
        data[at:end] = other[begin : begin + draw.choice((10, 100, 1000))]
    elif kind == 4:
        data[at:at] = draw.choice(dictionary) * draw.choice((1, 1, 2, 30, 300) if len(data) < 20_000 else (1,))
    elif kind == 5:
        _replace_word(draw, data, draw.choice(dictionary))
    elif kind == 6:
        lines = bytes(data).split(b"\n")
        if draw.random() < 0.2:
            draw.shuffle(lines)
        else:
            del lines[draw.randrange(len(lines))]
        data[:] = b"\n".join(lines)
    elif kind == 7:
        _replace_number(draw, data)
    elif kind == 8:
        lines, others = bytes(data).split(b"\n"), draw.choice(seeds).split(b"\n")
        where, first = draw.randrange(len(lines)), draw.randrange(len(others))
        lines[where : where + draw.choice((0, 1, 3))] = others[first : first + draw.choice((1, 1, 2, 5, 20))]
        data[:] = b"\n".join(lines)
    elif kind == 9:
        found = re.findall(rb"[^\s=\"'(){};]+", draw.choice(seeds)[:20_000])
        if found:
            _replace_word(draw, data, draw.choice(found))
    elif kind == 10:
        lines = bytes(data).split(b"\n")
        where = draw.randrange(len(lines))
        for number in range(where, min(where + draw.choice((1, 2, 5, 20)), len(lines))):
            lines[number] = draw.choice((b"  ", b"\t", b"> ", b"- ", b"# ", b"", b"    ")) + lines[number].lstrip()
        data[:] = b"\n".join(lines)
    else:
        data[at:at] = b" ".join(draw.choice(dictionary) for _ in range(draw.choice((1, 2, 4, 8))))


NUMBERS = b"0 00 08 -1 1 2 255 65536 2147483648 4294967295 9223372036854775808 1e9 0x1f 1.5 099 1_000 ".split(b" ")


def _replace_number(draw: random.Random, data: bytearray) -> None:
    """Puts another number in the place of one of the text."""
    found = list(re.finditer(rb"\d+", bytes(data[:20_000])))
    if found:
        start, end = draw.choice(found).span()
        data[start:end] = draw.choice(NUMBERS)


def _replace_word(draw: random.Random, data: bytearray, word: bytes) -> None:
    """Puts a word of the dictionary in the place of one of the text."""
    found = list(re.finditer(rb"[^\s=\"'(){};]+", bytes(data[:20_000])))
    if found:
        start, end = draw.choice(found).span()
        data[start:end] = word
