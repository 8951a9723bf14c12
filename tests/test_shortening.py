"""Long words of a script in messages: paths by their last parts, commands by their first words."""

import pytest

from sbatchlint.engine import lint_source
from sbatchlint.settings import Settings
from sbatchlint.source.shortening import MOST, shorten_message, shortened
from sbatchlint.source.text import Source

LONG = "/scratch/projects/group-of-ada/experiments/2024"


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ("logs/run.out", "logs/run.out"),
        (f"{LONG}/logs/run-%j.out", "…/experiments/2024/logs/run-%j.out"),
        (f"--output={LONG}/run-%j.out", "--output=…/experiments/2024/run-%j.out"),
        (f"cd {LONG}/build", "cd …/group-of-ada/experiments/2024/build"),
        (f"python train.py --data {LONG} --epochs 10 --batch 4", "python train.py --data …/experiments/2024 …"),
        ("$(cat a b c d e f g h i j k l m n o p q r s t u v w)", "$(…)"),
        ("a" * 80, "a" * 80),
        (f"/{'a' * 80}", f"/{'a' * 80}"),
    ],
)
def test_shortened(written: str, short: str) -> None:
    assert shortened(written) == short


def test_only_long_messages_and_words_of_the_script_are_shortened() -> None:
    path, more = f"{LONG}/run.out", "so that this message has more characters than one should have. " * 2
    assert shorten_message(f"`{path}` is lost", path) == f"`{path}` is lost"
    assert (
        shorten_message(f"{more}`{path}` is lost", path) == f"{more}`…/group-of-ada/experiments/2024/run.out` is lost"
    )
    assert shorten_message(f"{more}write `{path}`", path) == f"{more}write `{path}`"
    assert shorten_message(f"{more}`{path}` is lost", "") == f"{more}`{path}` is lost"


@pytest.mark.parametrize("folder", ["logs", "logs/of-all-runs/with-their-date"])
def test_the_message_has_the_whole_path_where_it_fits_and_the_fix_always(folder: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --output={LONG}/{folder}/train.log\nsrun ./a.out\n"
    (found,) = lint_source(Source(script, "job.sh"), Settings.of_table({}, select=["log-without-job-id"]))
    assert len(found.message) <= MOST and (LONG in found.message) == (folder == "logs")
    assert found.fix is not None and found.fix.edits[0].content == f"{LONG}/{folder}/train-%j.log"


def test_phrases_are_shortened_only_where_the_message_is_long() -> None:
    message = "if `srun` fails, the job still ends COMPLETED: line 9 sets the exit status; append `|| exit` to it"
    assert shorten_message(message, "") == message
    long = message.replace("fails", "fails" + ", and fails" * 6)
    assert len(long) > MOST and " the job ends COMPLETED" in shorten_message(long, "")
