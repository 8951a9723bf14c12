"""Whether the comparison with a live Slurm would notice what is wrong; these tests need none."""

from __future__ import annotations

import pytest

from .comparison import compare, names_of, reduced, says, with_anchor
from .drawn import draw_blocks
from .local_slurm import ANCHOR, Held
from .records import parse_jobs

SHOWN = """\
JobId=4000007 ArrayJobId=4000007 ArrayTaskId=1-4 JobName=a b=C
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=0 Nice=0 Account=my account QOS=(null)
   NumNodes=2-2 NumCPUs=8 NumTasks=8 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Socks/Node=* NtasksPerN:B:S:C=4:0:*:* CoreSpec=*
   Comment=x Y=Z
   StdOut=/tmp/My=x.out

JobId=4000008 JobName=
   NumNodes=1 NumTasks=1
"""
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=8\n#SBATCH --job-name=train --time=1:00:00\n"
JOB = {"JobId": "1", "JobName": "train", "NumNodes": "2-2", "NumTasks": "8", "TimeLimit": "01:00:00", "WorkDir": "."}


def test_records_of_jobs() -> None:
    first, second = parse_jobs(SHOWN)
    assert first["JobName"] == "a b=C" and first["ArrayTaskId"] == "1-4" and first["Account"] == "my account"
    assert first["NtasksPerN:B:S:C"] == "4:0:*:*" and first["CPUs/Task"] == "1"
    assert first["Comment"] == "x Y=Z" and first["StdOut"] == "/tmp/My=x.out"
    assert second == {"JobId": "4000008", "JobName": "", "NumNodes": "1", "NumTasks": "1"}


def wrong(script: str, held: Held) -> list[str]:
    return [what for what, _, _ in compare(script, "26.05", held).wrong]


@pytest.mark.parametrize("field", ["NumNodes", "NumTasks", "TimeLimit", "JobName"])
def test_other_field_is_noticed(field: str) -> None:
    usual = wrong(SCRIPT, Held(True, "", (JOB,)))
    assert field not in usual
    assert field in wrong(SCRIPT, Held(True, "", ({**JOB, field: "9"},)))
    assert field in wrong(SCRIPT, Held(True, "", ({k: v for k, v in JOB.items() if k != field},)))


def test_other_verdict_is_noticed() -> None:
    refused = SCRIPT.replace("--nodes=2", "--nodes=two")
    said = 'error: "two" is not a valid node count\n'
    assert wrong(refused, Held(False, said, ())) == []
    assert wrong(refused, Held(False, 'error: "too" is not a valid node count\n', ())) == ["message"]
    assert wrong(refused, Held(True, "", (JOB,))) == ["verdict"]
    assert wrong(SCRIPT, Held(False, said, ())) == ["verdict"]
    assert wrong(SCRIPT, Held(True, "", (JOB, JOB))) == ["components"]


def test_messages() -> None:
    assert says("sbatch: fatal: job.sh: line 2: Unmatched `'` in ['x]\n", "Unmatched `'` in ['x]")
    assert says("error: a first line\nerror: and another\n", "a first line\nand another")
    assert not says("error: a first line\n", "a first line\nand another")
    assert says("option '--c=1' is ambiguous; possibilities: '--b' '--a'\n", "option '--c=1' is ambiguous; '--a' '--b'")
    assert not says("anything\n", "") and not says("unrecognized option '--nodesx'\n", "unrecognized option '--nodes'")


def test_dependencies_on_the_anchor() -> None:
    script = "#!/bin/bash\n#SBATCH -d afterok:12_[1-3]:13_4?after:14+5 --array=1-3\n#SBATCH --dependency=singleton,99\n"
    assert with_anchor(script) == (
        f"#!/bin/bash\n#SBATCH -d afterok:{ANCHOR}_[1-3]:{ANCHOR}_4?after:{ANCHOR}+5 --array=1-3\n"
        f"#SBATCH --dependency=singleton,{ANCHOR}\n"
    )


def test_names() -> None:
    names = names_of(
        ["#!/bin/sh\n#SBATCH -p gpu,long -C 'a100&[rack1|rack2*2]'\n", "#!/bin/sh\n#SBATCH --partition=x\n"]
    )
    assert names.partitions == {"gpu", "long", "x"} and names.features == {"a100", "rack1", "rack2"}


def test_reduced_script() -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=8 --mem=1G\n#SBATCH -J a\necho done\n"
    assert reduced(script, lambda text: "--ntasks=8" in text).split() == ["#!/bin/bash", "#SBATCH", "--ntasks=8"]


def test_drawn_blocks_are_many_and_the_same() -> None:
    first = draw_blocks("26.05", 12, 1)
    assert first == draw_blocks("26.05", 12, 1) and len(set(first)) == 12
    assert first != draw_blocks("26.05", 12, 2)
