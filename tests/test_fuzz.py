"""Damaged input for a short while, and what longer runs of tools/fuzz.py have found."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from conftest import HEAD, examples
from damage import TARGETS, check_configuration, check_script, damaged, keys, seeds_of, words
from sbatchlint.bash.expansion.patterns import is_affordable, matches, pattern_to_regex, removed_range, replaced
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.configuration import parse as parse_toml
from sbatchlint.source.files import InputError

LIMITS = settings(max_examples=examples(60), deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.deep
@pytest.mark.parametrize(
    "target", [pytest.param(each, marks=[pytest.mark.slow] * (each in ("editor", "agent"))) for each in TARGETS]
)
def test_damaged_input(target: str) -> None:
    draw = random.Random(1)
    seeds = [each for each in seeds_of(target) if len(each) < 3000]
    for _ in range(examples(25)):
        TARGETS[target](damaged(draw, seeds)[:5000])


@seed(1)
@LIMITS
@given(st.binary(max_size=300))
def test_bytes(data: bytes) -> None:
    check_script(b"#!/bin/bash\n#SBATCH " + data)


@seed(1)
@LIMITS
@given(st.lists(st.sampled_from(words()), max_size=60))
def test_words(drawn: list[bytes]) -> None:
    check_script(HEAD.encode() + b" ".join(drawn))


@seed(1)
@LIMITS
@given(st.lists(st.sampled_from(words()), max_size=12))
def test_directives(drawn: list[bytes]) -> None:
    check_script(HEAD.encode() + b"".join(b"#SBATCH " + each + b"\n" for each in drawn) + b"srun a\n")


@seed(1)
@LIMITS
@given(st.lists(st.sampled_from(keys()), max_size=20))
def test_configuration(drawn: list[bytes]) -> None:
    check_configuration(b"".join(drawn))


def test_a_configuration_with_a_number_of_5000_digits() -> None:
    check_configuration(b"[site]\ngpus-per-node = " + b"9" * 5000)
    check_configuration(b"exclude = " + b"[" * 5000)


def test_a_configuration_with_a_key_of_many_parts() -> None:
    for key in (b"a" + b".a" * 15_000, b'"a"' + b' . "b"' * 15_000, b"[" + b"a." * 15_000 + b"a]\n"):
        with pytest.raises(InputError, match="64 parts"):
            parse_toml(key + b" = 1\n", "sbatchlint.toml")
    assert parse_toml(b'exclude = ["' + b"a.b/" * 300 + b'"]\n', "sbatchlint.toml")


def test_brackets_that_nothing_closes() -> None:
    for opening in ("$((", "((", "$[", "a[", "a=(", "${a["):
        assert parse(opening * 5000) is not None


def test_an_empty_word_among_the_options_of_srun() -> None:
    check_script(b'#!/bin/bash\n#SBATCH -N 2\nsrun -N 1 -w "" --export="" ./a.out\n')


def test_a_command_of_characters_that_are_blank_elsewhere() -> None:
    check_script(HEAD.encode() + b"\x0b" * 30 + b"\n./a.out\necho done\n")


def test_what_one_text_matches_is_compared_at_any_length() -> None:
    text = "ab" * 100_000
    assert removed_range(text, "##", "ab") == (2, 200_000)
    assert removed_range(text, "%", "\\ab") == (0, 199_998)
    assert removed_range(text, "#", "x") == removed_range(text, "%", "x") == (0, 200_000)
    assert replaced(text, "//", "b", "") == "a" * 100_000
    assert replaced("aba", "/", "a", "c") == "cba"
    assert replaced("aba", "/#", "a", "c") == "cba" and replaced("aba", "/%", "a", "c") == "abc"
    assert replaced("", "//", "a", "b") == "" and replaced("aba", "/#", "b", "c") == "aba"
    assert replaced(text, "//", "b", "c" * 1000) is None


def test_patterns_that_may_take_for_ever_are_not_matched() -> None:
    assert matches("*.py", "a" * 1000) is False
    assert matches("*a*a*a*a*a*b", "a" * 100) is None
    assert matches("+(+(+(a)))b", "a" * 5, True) is None
    assert matches("+(ab)c", "ababc", True) is True
    assert matches("+(a|aa)b", "a" * 40, True) is None
    for pattern in ("[]a]*[!*]", "@(a|b)?c", r"\*[*]"):
        regex = pattern_to_regex(pattern, True)
        assert regex is not None and is_affordable(regex, 40)


def test_a_directive_below_where_the_text_of_a_plan_ends() -> None:
    script = (
        "#!/bin/bash\n"
        "#SBATCH --job-name=train\n"
        "done#SBATCH --nodes=2\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --gpus-per-node=8\n"
        "#SBATCH --cpus-per-gpu=12\n"
        "#SBATCH --time=24:00:00\n"
        "\n"
        'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
        "export MASTER_ADDR\n"
        "\n"
        "# one task on each node starts one torchrun, and that starts 8 processes\n"
        'srun --kill-on-bad-exit=1 bash -c \'torchrun --nnodes=2 --nproc-per-node=8 --node-rank="$SLURM_NODEID" \\\n'
        '    --master-addr="$MASTER_ADDR" --master-port=29500 train.py\'\n'
    )
    TARGETS["verbs"](b"job.sbatch\0" + script.encode())


@pytest.mark.parametrize("size", ["79.1.5", ".", "1..2", "5." + "9" * 400, "9" * 400])
def test_sizes_in_a_log_that_are_no_numbers(size: str) -> None:
    memory = f"Tried to allocate 2.00 GiB. GPU 0 has a total capacity of {size} GiB of which {size} GiB is free, this"
    TARGETS["log"](
        f"ValueError: Free memory on device cuda:0 (20.5/{size} GiB) on startup is less than desired GPU memory"
        " utilization (0.9, 71.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. {memory} process has {size} GiB memory in use\n".encode()
    )
