"""sbatch refuses the script: it holds a byte-order mark or a NUL byte.

Editors on Windows write three bytes, U+FEFF, before the text. They are invisible, but the file no longer begins with
`#!`: `sbatch: error: This does not look like a batch script.` A file in UTF-16, as PowerShell writes it, begins with
such a mark too, and every second byte of it is NUL; a NUL byte alone is refused as well.

## Fix

Removes the mark. Safe: sbatch takes no script with it. NUL bytes and files in UTF-16 are not changed, as only the
author knows where they come from and what was meant: `iconv -f UTF-16 -t UTF-8` converts such a file.

## References

`_get_script_buffer()` in src/sbatch/sbatch.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove

CARD = Card(
    "SB004", "byte-order-mark", severity="error", fix="sometimes", since="0.1.0", seen="runs of Slurm 22.05 and 26.05"
)  # fmt: skip

MARK = "\ufeff"


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text.whole
    if not job.is_embedded and job.source.is_utf_16:
        message = "sbatch cannot read a file in UTF-16; save it in UTF-8: `iconv -f UTF-16 -t UTF-8`"
        yield Finding(Span(0, min(2, len(text))), message)
        return
    if text.startswith(MARK):
        span = job.span(0, 1) if job.is_embedded else Span(0, 1)
        message = "sbatch refuses the script: a byte-order mark (U+FEFF) precedes its `#!`; remove the mark"
        yield Finding(span, message, fix=Fix("remove the byte-order mark", [remove(span)], safe=True))
    if not job.is_embedded and "\0" in text:
        at = text.index("\0")
        row, count = job.line(at), text.count("\0")
        description = f"the NUL byte on line {row}" if count == 1 else f"its {count} NUL bytes, the first on line {row}"
        message = f"sbatch refuses the script because of {description}; remove {'it' if count == 1 else 'them'}"
        yield Finding(Span(at, at + 1), message)


CASES = [
    Bad(
        "«\ufeff»#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n",
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out --name «\0»x\n", title="a NUL byte"),
    Bad(
        "«\ufeff»#!/usr/bin/env python3\n#SBATCH --nodes=2\nprint('é')\n",
        fixed="#!/usr/bin/env python3\n#SBATCH --nodes=2\nprint('é')\n",
        title="a script of another language",
    ),
    Bad(
        "«\ufeff»#!/bin/bash\n#SBATCH --nodes=2\necho «\0»\0\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=2\necho \0\0\nsrun ./a.out\n",
        title="both",
    ),
    Bad(
        "«#\0»!\0/\0b\0i\0n\0/\0s\0h\0\n\0#\0S\0B\0A\0T\0C\0H\0 \0-\0N\0001\0\n\0t\0r\0u\0e\0\n\0",
        title="UTF-16 without a mark",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment=über\nsrun ./a.out 'é' '日本' '🚀'\n", title="other UTF-8"),
    Good("#!/bin/bash\n#SBATCH -N1\nprintf 'a\\0b' | xargs -0 srun ./a.out $'\\0'\n", title="NUL as an escape"),
    Good("#!/bin/bash\n#SBATCH -N1\n# \ufeff further down\nsrun ./a.out\n", title="U+FEFF in a comment"),
    Good("#!/bin/bash\n#SBATCH -N1\nsrun ./a.out '\udce4'\n", title="bytes that are not UTF-8"),
]
