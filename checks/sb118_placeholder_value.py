"""A value was left to be filled in: `<account>`, `your_partition`, `CHANGEME`, `HH:MM:SS`.

Slurm takes it as it stands: `sbatch: error: Batch job submission failed: Invalid account or account/partition
combination specified`, or mails go to `username@uni.edu`. Where a number belongs (`--nodes=NUM_NODES`), and behind a
blank (`-A <project id>`), sbatch refuses the script. In the commands of the script the shell even takes
`HF_HOME=<SHARED_FS>/cache` for two redirections: `SHARED_FS: No such file or directory`.

Values that a program fills in (`{{ account }}`, `@[QUEUE]`, `{nodes}`) are left alone; `{ nodes }` is none of them. In
files whose path says that they are templates, examples or documentation, and for `/path/to`, it is only advice.

## Fix

None: only you know the value.

## References

sbatch(1); RFC 2606; bash(1), "REDIRECTION".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card("SB118", "placeholder-value", severity="error", fix="never", since="0.1.0")

# Where a value is to be filled in by whoever copies the file.
SAMPLE = re.compile(r"(?i)template|example|tutorial|(?<![a-z])docs?(?![a-z])|\.(?:md|mdx|rst|txt|in|tmpl|tpl)$")
# The job runs all the same.
HARMLESS = frozenset(("job-name", "mail-user"))
KEEPS = {
    "account": "your account",
    "array": "the indexes",
    "dependency": "the id of the job to wait for",
    "job-name": "a name",
    "mail-type": "the events, such as END,FAIL",
    "mail-user": "your address",
    "mem": "the memory that the job needs",
    "partition": "a partition of your site",
    "qos": "a QOS of your site",
    "time": "the time that the job needs",
}


def check(job: Job) -> Iterator[Finding]:
    sample = "info" if SAMPLE.search(job.source.path) else None
    for left in job.directives.placeholders():
        name, text = left.setting.name, left.placeholder.text
        if left.placeholder.kind == "path":
            message = f"{text} is a path of an explanation, not of your site; write the path of --{name}"
            yield Finding(left.span, message, "info")
            continue
        does = "sbatch refuses the script" if left.refused else "Slurm takes it as it stands"
        message = f"{text} was left to be filled in, and {does}; write {_what(name)}"
        runs = name in HARMLESS and not left.refused
        yield Finding(left.span, message, sample or ("warning" if runs else None))
    for span, text in job.shell_placeholders():
        message = f"{text} was left to be filled in: the shell takes it for redirections; write the value"
        yield Finding(span, message, sample)


def _what(name: str) -> str:
    return KEEPS.get(name, f"a value for --{name}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --account=«<your-account>»
        #SBATCH -p «your_partition» --time=«HH:MM:SS»
        srun ./a.out
        """
    ),
    Bad("#!/bin/bash\n#SBATCH -A «<project id>»\nsrun ./a.out\n", title="with a blank in it"),
    Bad(
        "#!/bin/bash\n#SBATCH --mail-type=END --mail-user=«someone@example.com»\nsrun ./a.out\n",
        severity="warning",
        title="an address that nobody has",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export HF_HOME=«<SHARED_FS>»/huggingface
        srun ./a.out
        """,
        title="redirections to the shell",
    ),
    Bad("#!/bin/bash\n#SBATCH --output=«/path/to/»%j.out\nsrun ./a.out\n", severity="info"),
    Good("#!/bin/bash\n#SBATCH --account={{ account }} -p @[QUEUE] --nodes={nodes}\nsrun ./a.out\n", title="templates"),
    Good("#!/bin/bash\n#SBATCH -A example -p test -J todo --output=example.com/%j.out\nsrun ./a.out < in > out\n"),
]
