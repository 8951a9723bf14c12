"""The reading of the option block, compared with what Slurm did.

tests/data/directives.jsonl holds scripts and the verdicts of four live Slurms (22.05.8, 23.11.4, 24.11.7 and 26.05.3):
accepted or not, with which message, and the fields of the job that came of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples
from sbatchlint.bash.values import Text
from sbatchlint.job.request import Memory, Nodes, Request, fixed_nodes
from sbatchlint.slurm.directives import UNKNOWN, Directives, read_directives
from sbatchlint.slurm.options import accepting_commands
from sbatchlint.slurm.rewriting import insertion, quote, removal, replacement
from sbatchlint.slurm.verdict import verdict
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.edits import Edit, apply
from shown import is_same, shown

DATA = Path(__file__).parent / "data" / "directives.jsonl"
VERSIONS = ("22.05", "23.11", "24.11", "26.05")


def read(text: str, versions: tuple[str, str] = ("22.05", "26.05"), extra: tuple[str, ...] = ()) -> Directives:
    return read_directives(Text.of_file(text), versions, extra)


def block(*lines: str, versions: tuple[str, str] = ("22.05", "26.05")) -> Directives:
    return read("#!/bin/bash\n" + "".join(f"#SBATCH {line}\n" for line in lines) + "srun ./a.out\n", versions)


def request(*lines: str) -> Request:
    return Request(block(*lines))


def values(directives: Directives) -> list[tuple[str, str | None]]:
    return [(each.name, each.value) for each in directives.settings]


# Why these clusters refused a script that another one takes: what no script tells.
SITE = {
    "its plugins": r"'--(no-)?container-\w+",
    "its names": r"invalid partition|Requested reservation|preferred feature|talking to database",
    "its GRES": r"^error: Invalid generic resource \(gres\) specification$",
    "its preemption": r"Preemption is required",
    "its jobs": r"Job dependency problem",
    "its largest array": r"Invalid job array specification",
}


def verdicts() -> list[tuple[str, str, dict[str, object]]]:
    found = []
    for line in DATA.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for version in VERSIONS:
            verdict = record["slurm"].get(version) or record["slurm"].get("all")
            if verdict is not None:
                found.append((record["script"], version, verdict))
    return found


def same_message(ours: str, theirs: str) -> bool:
    if "is ambiguous" in ours:
        return sorted(re.findall(r"'--[^']*'", ours)) == sorted(re.findall(r"'--[^']*'", theirs))
    return theirs.endswith(ours.partition("\n")[0])


def test_verdicts() -> None:
    """What each sbatch did with each script; left out is what only the site decides, and that is counted."""
    site: Counter[str] = Counter()
    decided: Counter[bool | None] = Counter()
    for script, version, real in verdicts():
        ours = verdict(read(script, (version, version)), version)
        message = str(real.get("message", ""))
        decided[ours.accepted] += 1
        if ours.accepted and not real["accepted"]:
            reason = [name for name, pattern in SITE.items() if re.search(pattern, message)]
            assert len(reason) == 1, (script, version, message)
            site[reason[0]] += 1
        elif "--nodes=0" in script:
            # Taken by --test-only and where the job is held; refused by slurmctld when it looks for nodes.
            assert ours.message == "Batch job submission failed: Node count specification invalid" and real["accepted"]
        elif "--test-only" in script:
            assert ours.accepted is False and "to start at" in message
        else:
            assert ours.accepted == real["accepted"], (script, version, ours, message)
            assert ours.accepted or ours.message is not None and same_message(ours.message, message), (ours, message)
    assert sum(decided.values()) == len(verdicts()) and not decided[None]
    assert dict(site) == OF_THE_SITE


OF_THE_SITE = {
    "its plugins": 12,
    "its names": 16,
    "its GRES": 8,
    "its preemption": 4,
    "its jobs": 3,
    "its largest array": 12,
}


# Fields that the file has for no job, and what a job has that asks for nothing, where our side does not know it.
NOT_KEPT = frozenset({"Exclusive", "Contiguous", "StdErr", "StdIn", "Nice", "WorkDir", "CpusPerTres"})
DEFAULTS = {"TimeLimit": "UNLIMITED"}
# Fields that hang on the time of day, on other jobs, or on numbers of the job.
NOT_TOLD = frozenset({"TimeMin", "Dependency"})


def test_fields_of_the_job() -> None:
    """Every field that the jobs of these scripts show, and the default where they show none."""
    compared: Counter[str] = Counter()
    for script, version, real in verdicts():
        jobs = real.get("jobs")
        if not real["accepted"] or not isinstance(jobs, list):
            continue
        empty = DEFAULTS | shown(read("#!/bin/bash\n", (version, version)), version)[0]
        ours = shown(read(script, (version, version)), version)
        assert len(ours) == len(jobs), (script, version)
        for job, fields in zip(jobs, ours, strict=True):
            for name, value in fields.items():
                theirs = job.get(name, empty.get(name, "(null)"))
                assert name in NOT_KEPT or is_same(name, value, theirs, version), (script, version, name, value, theirs)
            for name, value in job.items():
                told = name in fields or name in NOT_TOLD or name == "StdOut" and "%" in value + script
                assert told, (script, version, name, value)
                compared[name] += name in fields
    assert sum(compared.values()) > 500 and len(compared) > 15, compared


@pytest.mark.parametrize(
    "line, expected",
    [
        ("--nodes=2#c", [("nodes", "2")]),
        ("--comment='x # y' -N2 # -n4", [("comment", "x # y"), ("nodes", "2")]),
        ('-J "" --nodes=2', []),
        ('--comment="" --nodes=2', [("comment", ""), ("nodes", "2")]),
        ("--comment=x\\#y", [("comment", "x#y")]),
        ("--output=\"a b\"/'c d'.out", [("output", "a b/c d.out")]),
        ("\t-N2\r", [("nodes", "2")]),
        ("--nodes=2 \\", [("nodes", "2")]),
        ("-N2 hetjob -n4", [("nodes", "2")]),
        ("--account=$A{{ x }}", [("account", f"$A{UNKNOWN}")]),
    ],
)
def test_words(line: str, expected: list[tuple[str, str | None]]) -> None:
    assert values(read(f"#!/bin/sh\n#SBATCH {line}\n")) == expected


def test_a_value_on_the_next_line() -> None:
    text = "#!/bin/sh\n#SBATCH -J\n# between\n#SBATCH --nodes=2\n"
    (setting,) = read(text).settings
    assert setting.value == "--nodes=2" and setting.value_line is not setting.line
    assert text[slice(*setting.span)] == "-J" and text[slice(*setting.value_span or (0, 0))] == "--nodes=2"


def test_where_reading_stops() -> None:
    text = "#!/bin/sh\n#SBATCH -N2\n\n   # x\n  set -e\n#SBATCH -n4\n#SBATCHX\n #SBATCH -c2\n#SBATCH --mem=3"
    directives = read(text)
    assert directives.stop is not None and text[slice(*directives.stop.span)] == "set -e"
    assert directives.stop.offset == text.index("set -e")
    assert [text[slice(*line.span)] for line in directives.unread] == ["#SBATCH -n4", "#SBATCHX", "#SBATCH --mem=3"]
    assert [(each.name, each.value) for each in directives.read_line(directives.unread[0])[0]] == [("ntasks", "4")]
    assert directives.read_line(directives.unread[1])[1] is False


def test_magic_words() -> None:
    assert values(read("#!/bin/sh\n#SBATCH--nodes=2\n##SBATCH -n1\n# SBATCH -n1\n#sbatch -n1\n#SLURM -c3\n")) == [
        ("nodes", "2"),
        ("cpus-per-task", "3"),
    ]


def test_components() -> None:
    directives = read("#!/bin/sh\n#SBATCH -A a -N1 --mem=1G\n#SBATCH HetJob -c9\n#SBATCH -N2\n#SBATCH -n4\n")
    assert directives.components == 2
    assert [(each.name, each.component) for each in directives.settings][-2:] == [("nodes", 1), ("ntasks", 1)]
    second = Request(directives, 1)
    assert (second.nodes, second.tasks, second.value("account"), second.setting("cpus-per-task")) == (
        Nodes(2, 2), 4, "a", None
    )  # fmt: skip
    assert Request(directives).tasks is None
    old = read("#!/bin/sh\n#SBATCH --job-name=my_hetjob\n#SBATCH -N2\n", ("20.11", "20.11"))
    assert old.components == 2 and values(old) == [("job-name", "my_"), ("nodes", "2")]


def test_releases() -> None:
    directives = block("--job-name=a\\ b --segment=2")
    assert [(each.kind, each.versions) for each in directives.problems] == [
        ("stray-word", ("22.05", "23.02", "23.11")),
        ("unknown-option", ("22.05", "23.02", "23.11")),
    ]
    last = directives.last("job-name")
    assert last is not None and last.value == "a b" and last.versions == ("24.05", "24.11", "25.05", "25.11", "26.05")


def test_the_first_problem_counts() -> None:
    directives = block("foo --gpu=3", "--comment=don't")
    assert [each.kind for each in directives.problems] == ["unmatched-quote", "stray-word", "ambiguous-option"]
    assert not directives.certain


def test_the_value_of_an_unknown_option_is_no_stray_word() -> None:
    (problem,) = block("--gpu-per-node 8 --nodes=2").problems
    assert problem.kind == "unknown-option" and problem.value_token is not None and problem.value_token.text == "8"
    directives = block("--gpu-per-node 8 9 --nodes=2")
    assert [each.kind for each in directives.problems] == ["unknown-option", "stray-word"]
    assert directives.last("nodes") is not None


def test_which_commands_take_an_option() -> None:
    assert set(accepting_commands("--cpu-bind")) == {"srun"} and set(accepting_commands("--bell")) == {"salloc"}


TEMPLATE = """\
#!/bin/bash
{# a comment
   of two lines #}
#SBATCH --nodes={{ nodes }}
{% if gpus %}
#SBATCH --gres=gpu:{{ gpus }}
{% endif %}
srun ./a.out
"""


def test_templates() -> None:
    directives = read(TEMPLATE)
    assert values(directives) == [("nodes", UNKNOWN), ("gres", f"gpu:{UNKNOWN}")]
    assert not directives.certain and directives.stop is not None
    assert Request(directives).nodes is None


EDITED = """\
#!/bin/bash
#SBATCH -vN2 --job-name="a b" -t 10  # hi
#SBATCH --mem=1G  #SBATCH --mem=2G
#SBATCH --output
#SBATCH x.out
#SBATCH "--comment=a b" -c4
#SBATCH -H
srun ./a.out
"""


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("verbose", "-vN2", "-N2"),
        ("nodes", "-vN2", "-v"),
        ("job-name", ' --job-name="a b"', ""),
        ("time", " -t 10", ""),
        ("mem", "#SBATCH --mem=1G  #SBATCH --mem=2G", "# #SBATCH --mem=2G"),
        ("output", "#SBATCH --output\n#SBATCH x.out\n", ""),
        ("comment", ' "--comment=a b"', ""),
        ("cpus-per-task", " -c4", ""),
        ("hold", "#SBATCH -H\n", ""),
    ],
)
def test_removal(name: str, old: str, new: str) -> None:
    directives = read(EDITED)
    setting = directives.last(name)
    assert setting is not None and EDITED.count(old) == 1
    assert apply(EDITED, removal(directives, [setting])) == EDITED.replace(old, new)


def test_removal_of_several() -> None:
    directives = read(EDITED)
    chosen = [each for each in directives.settings if each.name in ("verbose", "nodes", "job-name", "time")]
    assert apply(EDITED, removal(directives, chosen)) == EDITED.replace(
        '#SBATCH -vN2 --job-name="a b" -t 10  # hi', "# hi"
    )


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("nodes", "-vN2", "-vN4"),
        ("job-name", '--job-name="a b"', "--job-name=4"),
        ("time", "-t 10", "-t 4"),
        ("output", "#SBATCH x.out", "#SBATCH 4"),
        ("comment", '"--comment=a b"', "--comment=4"),
        ("hold", "-H", "-H4"),
    ],
)
def test_replacement(name: str, old: str, new: str) -> None:
    directives = read(EDITED)
    setting = directives.last(name)
    assert setting is not None
    assert apply(EDITED, [replacement(directives, setting, "4")]) == EDITED.replace(old, new)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("#!/bin/sh\n#SBATCH -N1\n\nx\n", "#!/bin/sh\n#SBATCH -N1\n#SBATCH -n2\n\nx\n"),
        ("#!/bin/sh\nx\n", "#!/bin/sh\n#SBATCH -n2\nx\n"),
        ("x\n", "#SBATCH -n2\nx\n"),
        ("#!/bin/sh", "#!/bin/sh\n#SBATCH -n2"),
        ("#!/bin/sh\r\n#SBATCH -N1\r\nx\r\n", "#!/bin/sh\r\n#SBATCH -N1\r\n#SBATCH -n2\r\nx\r\n"),
        ("#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n", "#SBATCH -N1\n#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -N2\n"),
    ],
)  # fmt: skip
def test_insertion(text: str, expected: str) -> None:
    assert apply(text, [insertion(read(text), "-n2")]) == expected


@pytest.mark.parametrize(
    "lines, per_node, asks",
    [
        (["-N2", "--gpus-per-node=8"], 8, True),
        (["-N2", "--gpus=8"], None, True),
        (["-N2", "-G2"], 1, True),
        (["-N1 --gpus=a100:8"], 8, True),
        (["--gres=gpu:a100:4,shard:2"], 4, True),
        (["--gres=gpu"], 1, True),
        (["--gres=shard:1"], None, True),
        (["--gres=mps:50"], None, True),
        (["-N2 -n4 --gpus-per-task=1"], None, True),
        (["-N2 --ntasks-per-node=4 --gpus-per-task=2"], 8, True),
        (["-N2 -n8 --ntasks-per-node=4 --gpus-per-task=2"], 8, True),
        (["-N2 -n6 --ntasks-per-node=4 --gpus-per-task=1"], None, True),
        (["-n2 -N1 --tres-per-task=cpu:3,gres/gpu:2"], 4, True),
        (["--gpus-per-node=8 --gres=gpu:4"], None, True),
        (["--gres=none", "--gpus=0"], None, False),
        (["--constraint=gpu"], None, False),
        (["--gres={{ gres }}"], None, None),
        (["{{ options }}"], None, None),
    ],
)
def test_gpus(lines: list[str], per_node: int | None, asks: bool | None) -> None:
    found = request(*lines)
    assert (found.gpus_per_node(), found.asks_for_gpus) == (per_node, asks)


def test_request() -> None:
    found = request("-N 2-4 -n8 -c4 --exclusive=user --requeue --no-requeue -a 1-9 -p gpu -C a100 -t 1-0 --mem=4g")
    assert (found.nodes, found.tasks, found.cpus_per_task, found.tasks_per_node) == (Nodes(2, 4), 8, 4, None)
    assert (found.exclusive, found.requeue, found.array, found.partition) == ("user", False, "1-9", "gpu")
    assert (found.constraint, found.time, found.memory) == ("a100", 1440, Memory(4096, "node"))
    nodes = found.setting("nodes")
    assert nodes is not None and nodes.value == "2-4"
    assert request("--mem-per-gpu=1G").memory == Memory(1024, "gpu")
    assert request("--mem=1G --mem-per-cpu=1G").memory is None
    assert (request("--exclusive").exclusive, request("-n1").exclusive, request("-n1").requeue) == ("", None, None)
    assert request("-n{{ n }}").tasks is None and request("-n 1e3").tasks is None


def test_nodes() -> None:
    counts = {"2": Nodes(2, 2), "2-4": Nodes(2, 4), "1k": Nodes(1024, 1024), "4-2": None, "2,4": None, "0": None}
    assert {text: fixed_nodes(text) for text in counts} == counts
    assert request("-N2 -n1").effective_nodes() == Nodes(1, 1) and request("-N2").effective_tasks() == 2
    assert request("-N2-4").effective_tasks() is None and request("-N2 --ntasks-per-node=4").effective_tasks() == 8
    assert request("-n4").effective_nodes() is None and request("-N2 {{ n }}").effective_tasks() == 2


LINES = st.lists(
    st.one_of(
        st.sampled_from(["#SBATCH ", "#SBATCH", "#SLURM ", "# ", "", "  ", "{% if x %}", "set -e ", "#SBATCH hetjob"]),
        st.text("-=Nnt2 \t\"'\\#:{}ax\r$", max_size=25).map(lambda text: "#SBATCH " + text),
        st.text(max_size=20),
        st.lists(st.sampled_from(["--nodes=2", "-N", "-vn4", "--job-name='a b'", "--output", "x", "--", "# c"])).map(
            lambda words: "#SBATCH " + " ".join(words)
        ),
    ),
    max_size=8,
).map("\n".join)


@settings(max_examples=examples(400))
@given(LINES, st.sampled_from(MAJORS), st.booleans())
def test_any_text(text: str, version: str, wide: bool) -> None:
    directives = read("#!/bin/sh\n" + text if wide else text, (version, "26.05") if wide else (version, version))
    whole = directives.text.string
    spans = [line.full for line in (*directives.lines, *directives.unread)]
    for setting in directives.settings:
        spans += [setting.span, setting.option_span, setting.value_span or setting.span]
        for edit in [*removal(directives, [setting]), replacement(directives, setting, "a b")]:
            spans.append(edit.span)
        assert whole[slice(*setting.option_span)].strip() != ""
    spans += [problem.span for problem in directives.problems]
    assert all(0 <= start <= end <= len(whole) for start, end in spans)
    assert 0 <= insertion(directives, "").span.start <= len(whole)
    Request(directives).gpus_per_node()


@settings(max_examples=examples(300))
@given(LINES, st.data())
def test_edits_do_what_they_say(text: str, data: st.DataObject) -> None:
    """After a removal the setting is gone and all others stay; a replacement changes one value."""
    whole = "#!/bin/sh\n" + text
    before = read(whole, ("26.05", "26.05"))
    if before.problems or not before.settings or any(line.dropped for line in before.lines):
        return
    index = data.draw(st.integers(0, len(before.settings) - 1))
    setting = before.settings[index]
    others = values(before)[:index] + values(before)[index + 1 :]
    assert values(read(apply(whole, removal(before, [setting])), ("26.05", "26.05"))) == others
    if setting.value is not None:
        changed = values(read(apply(whole, [replacement(before, setting, "new 'v#")]), ("26.05", "26.05")))
        assert changed == [*values(before)[:index], (setting.name, "new 'v#"), *values(before)[index + 1 :]]


@given(st.text(st.characters(exclude_characters="\n\ue000{<", exclude_categories=["Cs", "Cc"]), min_size=1))
def test_quote(value: str) -> None:
    assert values(read(f"#!/bin/sh\n#SBATCH --comment={quote(value)}\n")) == [("comment", value)]


def test_edits_are_edits() -> None:
    assert isinstance(insertion(block("-n1"), "-N1"), Edit)
