"""What stands after a loop that never ends is not reached: loops whose condition always holds, and that nothing leaves.

`S NAME` prints a name: under `REACHED` and `NEVER` stand programs after whose loop `S end` is, or is not, come to.
"""

from __future__ import annotations

import pytest

from test_drawn_programs import prints_of
from test_stale_values import shown

ENDLESS = (
    "while :", "while true", "until false", "for ((;;))", "for ((i = 0; ; i++))", "while sleep 60", "while (( 1 ))",
    "while [ 1 ]", "while [[ a == a ]]", "until [ a = b ]", "while date; true", "while ! false", "for ((i = 1; i; ))",
    "while builtin true", "while sleep 1m",
)  # fmt: skip
# What may be in the body of such a loop and does not leave it.
STAYING = (
    "date; sleep 3", "bash -c exit", "for j in 1 2; do break; done", "continue", "(exit 3)", "( break )",
    "N=$(exit 2)", "f() { break; }",
    "while read -r l; do break; done", "date || exit", "[ -f x ] && exit 0", "{ break; } &",
    "bash -c break", "date | { exit; }",
)  # fmt: skip
LEAVING = (
    "break", "date || break", "[ -f x ] && break", "if grep x y; then break; fi", "for j in 1 2; do break 2; done",
    "case $u1 in a) break ;; esac", 'eval "$u1"', "source ./other", ". ./other", "N=$((N + 1)); [ $N -gt 99 ] && break",
    "{ date && break; }", "while read -r l; do break 2; done", "trap break USR1", "select x in a b; do break 2; done",
)  # fmt: skip
REACHED = (
    *[f"while true; do {each}; done; S end" for each in LEAVING],
    *[f"{each}; do date; break; done; S end" for each in ENDLESS],
    *[f"{each}; do date; done & S end" for each in ENDLESS],
    "( while true; do date; done ) & S end", "f() { while :; do date; done; }; f & S end",
    "while date; do sleep 3; done; S end", "while ! test -f x; do sleep 3; done; S end",
    'while [ "$u1" ]; do date; done; S end', "while $u1; do date; done; S end", "while sleep $u1; do date; done; S end",
    "N=1; while [ $N ]; do N=$(date); done; S end", "N=3; while (( N )); do (( N-- )); done; S end",
    "N=99; until [ $N = 0 ]; do N=$((N - 1)); done; S end", "trap 'break' USR1; while true; do sleep 1; done; S end",
    "[ -f x ] && while true; do date; done; S end", "while true; do date; done | head -n 1; S end",
    "M=$(while true; do date; done | head -n 1); S end", "if grep x y; then while :; do date; done; fi; S end",
    "f() { while :; do date; grep x y && return; done; }; f; S end",
    "timeout 5 bash -c 'while :; do date; done'; S end",
    "cat <(while true; do date; done) | head -n 1; S end", "while true; do exit; done & S end",
    "for i in 1 2; do bash -c break; S end; done",
    "for i in {1..99}; do N=$N$i; date; done; S end", "while sleep 60 < x; do date; done; S end",
    "until sleep 60; do date; done; S end",
)  # fmt: skip
NEVER = (
    *[f"{each}; do date; done; S end" for each in ENDLESS],
    *[f"while true; do {each}; done; S end" for each in STAYING],
    *[f"for ((;;)); do {each}; done; S end" for each in STAYING],
    "f() { while true; do date; done; }; f; S end", "f() { while true; do date; done; S end; }; f",
    "f() { while true; do date; break; done; while :; do date; done; }; f; S end",
    "if grep x y; then while :; do date; done; S end; fi", "while :; do while :; do date; done; S end; break; done",
    "N=1; while [ $N = 1 ]; do date; done; S end", "{ while true; do date; done; }; S end",
    "for i in 1 2; do while :; do date; done; done; S end",
    "while true; do date; done > log; S end", "case $u1 in a) while true; do date; done; S end ;; esac",
)  # fmt: skip


@pytest.mark.parametrize("program", REACHED)
def test_what_may_be_reached(program: str) -> None:
    assert prints_of(f"# 0 0 0\n{shown(program)}\n")[0]


@pytest.mark.parametrize("program", NEVER)
def test_what_is_never_reached(program: str) -> None:
    assert not prints_of(f"# 0 0 0\n{shown(program)}\n")[0]
