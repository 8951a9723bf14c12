"""Every symptom: its examples, and that its text is whole."""

from __future__ import annotations

import re
from io import BytesIO
from string import Formatter

import pytest

from sbatchlint.diagnose.answers import overrides_for, picture_of
from sbatchlint.diagnose.diagnosis import diagnose
from sbatchlint.diagnose.findings import Findings, Symptoms
from sbatchlint.diagnose.reading import add_context, read_log
from sbatchlint.diagnose.symptom import Example, Symptom
from sbatchlint.diagnose.symptom_pages import page
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.registry import registry
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.text import Source

ALL = [pytest.param(each, id=each.id) for each in symptoms().values()]
# What healthy jobs print, and scripts that are echoed.
HEALTHY = """\
Submitted batch job 4711
+ srun --kill-on-bad-exit=1 python train.py --on-error=abort
epoch 3: loss 0.413, error 0.021, accuracy 0.93
OMP_NUM_THREADS environment variable for each process to be 1 in default
srun: job 71 queued and waiting for resources
srun: job 71 has been allocated resources
NCCL INFO Bootstrap : Using ib0:10.0.0.1<0>
NCCL INFO NET/Plugin: No plugin found (libnccl-net.so), using internal implementation
  --timeout SECONDS   raise an error when a connection timed out
# retry when the job was cancelled or the node failed
  if grep -q "command not found" err.log; then
Loading checkpoint shards: 100%|##########| 4/4 [00:05<00:00]
Some weights were not initialized from the checkpoint: ['classifier.weight']
UserWarning: The dataloader does not have many workers which may be a bottleneck.
slurmstepd: pyxis: importing docker image: nvcr.io/nvidia/pytorch:24.05-py3
test_errors.py::test_out_of_memory_is_reported PASSED
Collecting torch==2.4.0
Requirement already satisfied: numpy in ./venv/lib/python3.11/site-packages
node1:1:1 [0] NCCL INFO NET/IB : No device found.
NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
UserWarning: No device id is provided via `init_process_group` or `barrier `.
 [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.
Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered
WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError'
INFO:    gocryptfs not found, will not be able to use gocryptfs
WARNING: There was an error initializing an OpenFabrics device.
Resuming: no checkpoint found, starting from scratch
mkdir: cannot create directory 'out': File exists
0 errors, 0 warnings
Exit code: 0
"""
CODES = {each.code for each in registry().entries}


EXAMPLES = [
    pytest.param(other_symptom, one, id=f"{other_symptom.id}-{number}")
    for other_symptom in symptoms().values()
    for number, one in enumerate(other_symptom.examples)
]
READY = Symptoms(symptoms().values())
SETTINGS = Resolver(overrides_for(Overrides(isolated=True))).settings("job.sh")


def read(log: str) -> Findings:
    findings = Findings(READY)
    stream = BytesIO(log.encode())
    read_log(stream, "job.log", 0, findings)
    add_context(stream, list(findings.events.values()))
    return findings


@pytest.mark.parametrize(("symptom", "example"), EXAMPLES)
def test_examples(symptom: Symptom, example: Example) -> None:
    """The first answer for a log and a script is the cause that the example names, and blames what it marks."""
    findings = read(example.log)
    picture = None
    marked: set[int] = set()
    if example.script is not None:
        lines = example.script.split("\n")
        marked = {row for row, line in enumerate(lines, 1) if "«" in line}
        source = Source(re.sub("[«»]", "", example.script), "job.sh")
        picture = picture_of(source, SETTINGS)
    found = diagnose(findings, picture).answers
    assert found, "nothing was found"
    best = found[0]
    assert (best.event.symptom.id, best.cause.key, best.confidence) == (symptom.id, example.cause, example.confidence)
    blamed = set() if picture is None else {picture.source.row(each.start) for each in best.spans}
    assert blamed == marked


def groups(symptom: Symptom) -> set[str]:
    return {name for pattern in symptom.patterns for name in re.compile(pattern).groupindex}


@pytest.mark.parametrize("symptom", ALL)
def test_lines(symptom: Symptom) -> None:
    """Lines that match are found, by a pattern and by a literal; those that must not are not."""
    assert symptom.matches
    for line in symptom.matches.splitlines():
        assert symptom.search(line), line
    for line in symptom.others.splitlines():
        assert not symptom.search(line), line
    for pattern in symptom.patterns:
        assert any(re.search(pattern, line) for line in symptom.matches.splitlines()), f"no line for {pattern}"


@pytest.mark.parametrize("symptom", ALL)
def test_each_line_alone(symptom: Symptom) -> None:
    """Whatever groups of a pattern a line fills, its causes can be judged: without a script, and with one."""
    script = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8\nsrun python train.py\n"
    for picture in (None, picture_of(Source(script, "job.sh"), SETTINGS)):
        for line in symptom.matches.splitlines():
            for answer in diagnose(read(line), picture).answers:
                assert answer.cause in answer.event.symptom.causes


@pytest.mark.parametrize("symptom", ALL)
def test_words(symptom: Symptom) -> None:
    """A symptom is documented; what its texts name exists."""
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", symptom.id)
    assert symptom.docs.strip() and symptom.printed_by and symptom.releases
    assert symptom.title and not symptom.title.endswith(".")
    for literal in symptom.literals + symptom.recovery:
        assert len(literal) >= 5 and literal.isascii() and literal.isprintable(), literal
        assert not any(map(str.isdigit, literal)), literal
    assert bool(symptom.recovery) == bool(symptom.recovered_by)
    assert symptom.causes or symptom.role in ("teardown", "harmless")
    keys = [each.key for each in symptom.causes]
    assert len(keys) == len(set(keys))
    assert {each.cause for each in symptom.examples} <= set(keys)
    for cause in symptom.causes:
        assert set(cause.codes) <= CODES
        for text in (cause.says, cause.advice):
            assert text and not text.endswith("."), text
            assert {name for _, name, _, _ in Formatter().parse(text) if name} <= groups(symptom), text


def test_one_symptom_for_a_line() -> None:
    """The example of a symptom is that symptom's: none that is asked before it claims the line."""
    for symptom in symptoms().values():
        for line in symptom.matches.splitlines():
            first = next(each for each in symptoms().values() if each.search(line))
            assert first is symptom, f"{first.id} takes a line of {symptom.id}: {line}"


def test_lines_about_messages() -> None:
    """A line that speaks of a message, and is none, has no symptom: an echoed script, a help text, a healthy job."""
    for line in HEALTHY.splitlines():
        found = [each.id for each in symptoms().values() if each.role in ("cause", "consequence") and each.search(line)]
        assert not found, (line, found)


@pytest.mark.parametrize("width", [60, 100])
def test_the_page_of_a_symptom_fits_a_terminal(width: int) -> None:
    text = page("address-in-use", "text", Terminal(width))
    assert max(len(line) for line in text.splitlines() if " " in line.strip()) <= width
    assert "\n    address. The" not in text and "RuntimeError: Port 29500" in text


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_all_symptoms_are_listed(form: str) -> None:
    assert all(name in page("symptoms", form, Terminal()) for name in symptoms())
