"""The grammars of times and memory, against what sbatch 22.05.8, 23.11.4, 24.11.7 and 26.05.3 said to each value."""

from __future__ import annotations

import pytest

from grammar_helper import check_table, option, said, words
from sbatchlint.slurm.grammar import refusals, sizes, times
from sbatchlint.slurm.versions import MAJORS

TIMES = words(
    "10 0 00 24:00 1:30 01:00:00 1-0 1-12:30 1-12:30:30 1- -5 -1 0:75:00 99:99:99 0-25:00 00:00:30 infinite Unlimited"
    " 99999999999 100000-0 2-00:00:60 596524:0:0",
)
NO_TIMES = words(
    "1-: 1-:30 1-2: 1-2:3: - : :: 1: 1:2: :10 :10:20 2h 1h30m 1.5 1:00:00:00 1-1:00:00:00 1-2-3 1d-2 INF none 1e3 +5"
    " 0x10 -1-2 --1 1--2 1:-2 1:2-3 -2:00 1,2 12:00:00pm 1_000 \u0663 1:00.5",
)
BLANK_TIMES = ["", " ", " 10", "10 ", "1 day", "1-00:00:00 ", "1 -2"]


@pytest.mark.parametrize("name", ["time", "time-min", "delay-boot"])
def test_limits_of_time(name: str) -> None:
    check_table(name, f"Invalid --{name} specification", TIMES, NO_TIMES + BLANK_TIMES)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("10", 10),
        ("24:00", 24),
        ("1:30", 2),
        ("0:30", 1),
        ("1-0", 1440),
        ("1-", 1440),
        ("1-12:30:30", 2191),
        ("99:99:99", 6041),
        ("0", times.UNLIMITED),
        ("00:00", times.UNLIMITED),
        ("-1", times.UNLIMITED),
        ("INFINITE", times.UNLIMITED),
        ("71582788", times.UNLIMITED),
        ("71582789", 1),
        ("100000-0", 579 * 1440 + 11 * 60 + 4),
        ("-5", 2982611 * 1440 + 4 * 60 + 17),
        ("99999999999", 2981813 * 1440 + 22 * 60 + 48),
        ("0:4294967294", None),
        ("2h", None),
        ("", None),
        (None, None),
    ],
)
def test_minutes_are_those_of_scontrol(text: str | None, minutes: int | None) -> None:
    assert times.minutes(text) == minutes


MOMENTS = words(
    "now today tomorrow midnight noon fika teatime NOON now+1 now+1hour now+2days now+1weeks now-1 today12:00"
    " tomorrowT08:00 tomorrow-08:00 12:00 8:00 23:59:59 1:00PM 12:00am 0:30am 123 1231 123199 0230 1/2 1/2/27 12.31.27"
    " 12/31T12:00 12/31/27-12:00 2027-01-02 2027-01-02T12:00:00 2027-01-02-12:00 2027-02-30 uts1900000000"
    " UTS1900000000 tomorrowT teatimetomorrow 9999-01-01",
    "now + 1hour",
    "now+1 hour",
    "12:00 PM",
    "2027-01-02 12:00",
    "2027-01-02T 12:00",
    "now ",
)
NO_MOMENTS = words(
    "now+1month now+1h now+ now+x now+1.5hours now+hour now+1hourx now1 today+1 midnightx 8 08 24:00 23:60 23:59:60"
    " 13:00pm 1:00p 1:0 1:000 1pm 1234 1332 01/02/2027 2027-1-2 2027-13-02 2027-12-32 2027-12-31T24:00"
    " 2027-12-31T12:00:00Z 2027/01/02 2027 uts5 uts1900000000x T - Tomorrow t1:00 monday 10h 2027-01-02T1:2"
    " 2027-01-02T12 2027-01-02t12:00",
    "",
    " ",
    "12 :00",
)


@pytest.mark.parametrize("name", ["begin", "deadline"])
def test_moments(name: str) -> None:
    check_table(name, f"Invalid --{name} specification", MOMENTS, NO_MOMENTS)


def test_elevenses_came_with_24_05() -> None:
    (refused,) = refusals(option("begin"), "elevenses", MAJORS)
    assert refused.versions == ("20.11", "21.08", "22.05", "23.02", "23.11")
    assert refused.instead == "11:00"


SIZES = words(
    "0 1 4000 4G 4g 4GB 4gb 4K 1025K 4KB 4MB 1T 1TB +4G 010 9223372036854775807 0G -0 2tb 4096MB 8796093022208T",
    " 4G",
    "\t4G",
)
NO_SIZES = words(
    "4Gi 4GiB 1.5G 0.5T .5G 16P 1E 4GG 4BB 4B -1 -4G 0x10 1e3 4G; 4_000 G GB all none 9223372036854775808"
    " 99999999999999999999G 32Go 4G-8G 16GBytes 2TiB 0.5",
    "",
    " ",
    "4 G",
    "4G ",
    "4 GB",
)


@pytest.mark.parametrize("name", ["mem", "mem-per-cpu", "mem-per-gpu", "tmp"])
def test_amounts(name: str) -> None:
    check_table(name, f"Invalid --{name} specification", SIZES, NO_SIZES)


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("0", 0),
        ("4000", 4000),
        ("4G", 4096),
        ("1K", 1),
        ("1025K", 2),
        ("2tb", 2 * 1024**2),
        ("1.5G", None),
        (None, None),
    ],
)
def test_megabytes(text: str | None, megabytes: int | None) -> None:
    assert sizes.megabytes(text) == megabytes


def test_an_overflow_is_seen_by_23_02_alone() -> None:
    (refused,) = refusals(option("mem"), "9007199254740992G", MAJORS)
    assert refused.versions == ("23.02",)


def test_mem_update() -> None:
    for value in ("10@5", "10@1:00", "65535@5", "+10@5", " 10@5", "10@00:30"):
        assert said("mem-update", value, "26.05") == "", value
    for value in (
        "10@",
        "@5",
        "0@5",
        "10@0",
        "10%@5",
        "10@5m",
        "65536@5",
        "10@65536",
        "10@UNLIMITED",
        "10@5@5",
        "10 @5",
    ):
        assert said("mem-update", value, "26.05") == "Invalid --mem-update specification", value
    assert said("mem-update", "10", "26.05") == "--mem-update requires MARGIN@DELAY format"
