"""Logs are read whatever they hold: lines, ranks, what a terminal did to them, in linear time and little memory."""

from __future__ import annotations

import io
import random
import tracemalloc
from itertools import product

import pytest

from counting import executed_lines
from sbatchlint.diagnose import findings as findings_module
from sbatchlint.diagnose import reading
from sbatchlint.diagnose.findings import Findings, Symptoms
from sbatchlint.diagnose.lines import read_line
from sbatchlint.diagnose.prefilter import compiled, parts
from sbatchlint.diagnose.reading import read_log
from sbatchlint.diagnose.symptoms import symptoms

READY = Symptoms(symptoms().values())
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"
PORT = "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"
EXIT = "srun: error: node1: task 0: Exited with exit code 1\n"


def found(log: str | bytes) -> Findings:
    findings = Findings(READY)
    data = log.encode() if isinstance(log, str) else log
    findings.lines["log"] = read_log(io.BytesIO(data), "log", 0, findings)
    return findings


def ids(log: str | bytes) -> list[tuple[str, int, int]]:
    """Symptom, row and count of each event."""
    return [(each.symptom.id, each.row, each.count) for each in found(log).events.values()]


@pytest.mark.parametrize(
    ("raw", "text", "label"),
    [
        (b"3: hello", "hello", "3"),
        (b" 12: [rank3]: hello", "hello", "12"),
        (b"[default0]:hello", "hello", "default0"),
        (b"[1,2]<stderr>:hello", "hello", "2"),
        (b"\x1b[36m(Worker pid=71, ip=10.0.0.2)\x1b[0m hello", "hello", "Worker pid=71, ip=10.0.0.2"),
        (b"gpu017: hello", "hello", "gpu017"),
        (b"\x1b]0;title\x07\x1b[1;31mhello\x1b[0m\x00", "hello", ""),
        (b"2024-05-12T10:00:00.123Z hello", "hello", ""),
        (b"[2024-05-12 10:00:00,123] hello", "hello", ""),
        (b"python3: can't open file", "python3: can't open file", ""),
        (b"slurmstepd: error: x", "slurmstepd: error: x", ""),
        (b"caf\xe9", "caf�", ""),
    ],
)
def test_lines_are_freed_of_what_is_not_the_programs(raw: bytes, text: str, label: str) -> None:
    line = read_line(raw)
    assert (line.text, line.label) == (text, label)


def test_rows_and_ranks_are_counted() -> None:
    log = "start\n" + "".join(f"{rank}: {PORT}" for rank in range(1, 8)) + "end\n" + EXIT
    (port, *_) = found(log).events.values()
    assert (port.symptom.id, port.row, port.last, port.count) == ("address-in-use", 2, 8, 7)
    assert port.tasks == {str(rank) for rank in range(1, 8)} and port.groups == {"port": "29500"}


def test_a_progress_bar_hides_nothing() -> None:
    bar = "".join(f"\r{each}%|{'#' * each}" for each in range(9))
    assert ids(f"{bar}\r{OOM}{bar}\n") == [("host-oom", 1, 1)]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_pieces_of_a_log_are_joined(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", size)
    log = "x\n" * 40 + OOM + "y" * 3000 + "\n" + PORT.rstrip("\n")
    assert ids(log) == [("host-oom", 41, 1), ("address-in-use", 43, 1)]


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 1 << 16)
    space = b" " * 300_000
    log = b"a\n" + space + OOM.strip().encode() + space + b"\n" + OOM.encode()
    assert [(name, row) for name, row, _ in ids(log)][:1] == [("host-oom", 2)]


def test_every_literal_is_found_by_its_part() -> None:
    literals = {literal for each in symptoms().values() for literal in (*each.literals, *each.recovery)}
    of = parts(literals)
    expression = compiled(of.values())
    for literal in literals:
        assert of[literal] in literal
        assert expression.search(f"xy {literal} z".encode()), literal


@pytest.mark.parametrize("size", [100, 3_000, 60_000])
def test_the_end_of_a_long_line_is_read(size: int) -> None:
    findings = Findings(READY)
    line = "the address is in use, no server, " * (size // 34) + PORT.strip() + " and more" * (size // 9)
    read_log(io.BytesIO(line.encode()), "log", 0, findings)
    found = [event for event in findings.events.values() if "29500" in event.text]
    assert [event.count for event in found] == [1]


@pytest.mark.slow
def test_reading_a_line_costs_little_and_a_long_log_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """tools/bench.py prints how many megabytes are read in a second."""
    monkeypatch.setattr(reading, "CHUNK", 50_000)
    monkeypatch.setattr(reading, "END", 20_000)
    words = ["loss", "epoch", "grad", "tokens", "memory", "time", "data", "failed", "error", "warning", "step"]
    draw = random.Random(1)
    lines = [f"{n % 8}: 10:00:00 INFO {' '.join(draw.choices(words, k=9))} {draw.random():.4f}" for n in range(2_000)]
    block = "\n".join(lines).encode() + b"\n"

    def read(blocks: int) -> None:
        read_log(data[blocks], "log", 0, Findings(READY))
        data[blocks].seek(0)

    def most_memory(blocks: int) -> int:
        tracemalloc.start()
        read(blocks)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    data = {blocks: io.BytesIO(block * blocks) for blocks in (1, 2, 8)}
    read(1)
    assert executed_lines(lambda: read(1)) < 250 * len(lines)
    assert most_memory(8) < 1.2 * most_memory(2)


def test_what_is_said_a_million_times_is_looked_at_some_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a log, of many lines with the same literals the last one stands for all that follow; other lines
    are looked at wherever they stand, and at the end of the log all are."""
    monkeypatch.setattr(reading, "END", 20_000)
    monkeypatch.setattr(findings_module, "MOST_ALIKE", 50)
    words = [f"w{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(3_000)]
    lines = [f"worker{n}: error: cannot open {word}, connection reset by peer\n" for n, word in enumerate(words)]
    log = "".join([*lines[:1_000], PORT, *lines[1_000:2_999], "worker1: ValueError: no rows in the table\n", lines[-1]])
    some = found(log)
    symptom = next(iter(some.events.values())).symptom
    alike = [each for each in some.events.values() if each.symptom is symptom]
    assert sum(each.count for each in alike) == 3_000
    assert max(each.last for each in alike) == 3_002
    assert {(each.symptom.id, each.row) for each in some.events.values() if each.symptom is not symptom} == {
        ("address-in-use", 1_001), ("python-exception", 3_001)
    }  # fmt: skip
    looked = sum(1 for each in lines[:2_600] if each.encode().translate(None, b"0123456789").rstrip() in some.known)
    assert 50 <= looked < 60


def test_where_much_was_looked_at_the_first_literal_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complaints with their literals in ever other orders are no way around the limit; rare messages are still seen."""
    monkeypatch.setattr(reading, "END", 2_000)
    monkeypatch.setattr(findings_module, "MOST_LOOKED", 100)
    monkeypatch.setattr(findings_module, "FEW_ALIKE", 10)
    said = ("cannot open", "refused by", "denied for", "timed out in", "failed to see")
    lines = [
        f"error: {' '.join(texts)} w{chr(97 + n % 26)}{chr(97 + n // 26)}\n"
        for n, texts in enumerate(product(said, repeat=4))
    ]
    some = found("".join([*lines[:500], PORT, *lines[500:]]))
    assert ("address-in-use", 501) in {(each.symptom.id, each.row) for each in some.events.values()}
    looked = sum(1 for each in lines[:500] if each.encode().rstrip() in some.known)
    assert 100 <= looked <= 115
    assert sum(each.count for each in some.events.values() if each.symptom.id != "address-in-use") == len(lines)


def test_colours_inside_of_a_message() -> None:
    port = PORT.replace("Address already", "Address \x1b[1malr\x1b[0meady")
    assert ids(f"\x1b[32mfine\x1b[0m\nfine\n\x1b[31m{port}\x1b[0mfine\n") == [("address-in-use", 3, 1)]
    findings = found(f"a\n\x1b[1mb\x1b[0m\n{port}")
    (event,) = findings.events.values()
    assert event.offset == len("a\n\x1b[1mb\x1b[0m\n")


def test_a_message_that_a_terminal_has_cut() -> None:
    first = "srun: error: Unable to create step for job 7: More processors requested than per"
    assert len(first) == 80
    assert ("too-many-processors", 2, 1) in ids(f"fine\n{first}\nmitted by it\n")
    assert ("too-many-processors", 2, 1) not in ids(f"fine\n{first} \nmitted by it\n")


def test_a_ruler_is_not_joined_with_what_follows() -> None:
    assert ids("=" * 80 + "\n" + PORT) == [("address-in-use", 2, 1)]
