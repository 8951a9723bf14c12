"""A file is lost: the shell empties it before the command reads it.

`sort data.txt > data.txt` leaves an empty file: bash opens the file of `>` for writing, and so empties it, before it
starts the command. So do `sed 's/a/b/' run.cfg > run.cfg` and `grep -v x list | sort > list`. `cat head.txt out.txt >
out.txt` refuses ("input file is output file"), or loses out.txt.

## Fix

None: write another file and rename it, `sed -i`, or `sort -o data.txt data.txt`.

## References

bash(1), "REDIRECTION"; run with bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.storage.written_paths import OVERWRITING
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.paths import key
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

# Programs whose operands are files that they read.
_FILTERS = frozenset(
    {"awk", "bcftools", "bedtools", "cat", "cut", "egrep", "fgrep", "gawk", "grep", "head", "join", "jq", "paste"}
    | {"perl", "samtools", "sed", "seqtk", "sort", "tac", "tail", "uniq", "zcat", "column", "fold", "shuf", "seqkit"}
)

CARD = Card(
    "SB452", "file-emptied-before-read", severity="error", fix="never", since="0.1.0", stage="preview", batch=True,
    when=Commands(*sorted(_FILTERS)), seen="bash(1), run with bash 5.2",
    unseen="Nothing: the file is empty.",
)  # fmt: skip

_IN_PLACE = Regex(r"-[a-zA-Z]*i.*|--in-place.*")


def check(job: Job) -> Iterator[Finding]:
    for run in job.pipelines:
        commands = [element[0] for element in run.elements if len(element) == 1]
        for writer in commands:
            for redirect in writer.redirects:
                if redirect.operator not in OVERWRITING or redirect.target is None or redirect.fd not in (None, "1"):
                    continue
                path = key(redirect.target)
                if path.startswith("/dev/") or "${}" in path or writer.alternatives > 1:
                    continue
                reader = next((each for each in commands if _reads(each, path)), None)
                if reader is not None:
                    shown = shown_text(redirect.target)
                    name = f"`{shown}`" if shown.isprintable() else "the file"
                    message = f"bash empties {name} before `{reader.name}` reads it; write another file, and rename it"
                    yield Finding(redirect.span, message, "warning" if writer.context.conditional else None)


def _reads(command: Invocation, path: str) -> bool:
    """Whether a filter gets a file as its input."""
    if command.alternatives > 1 or command.name not in _FILTERS or has_trait(command.name, "prints"):
        return any(each.operator == "<" and each.target and key(each.target) == path for each in command.redirects)
    if any(_IN_PLACE.fullmatch(word) for word in command.words[1:]) and command.name in ("sed", "perl"):
        return False
    inputs = [each.target for each in command.redirects if each.operator == "<" and each.target]
    first = 2 if command.name in ("grep", "egrep", "fgrep", "sed", "awk", "gawk", "jq", "perl") else 1
    return any(key(each) == path for each in (*command.argv[first:], *inputs) if each)


CASES = [
    Bad("#!/bin/bash\n#SBATCH --ntasks=1\nsort data.txt «> data.txt»\nsrun ./solver data.txt\n"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        LIST=samples.txt
        grep -v control $LIST | sort «> $LIST»
        srun ./solver $LIST
        """,
        title="in a pipeline",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        sort data.txt > sorted.txt && mv sorted.txt data.txt
        sort data.txt >> data.txt
        sed -i 's/a/b/' run.cfg > run.log
        grep results.txt < input.txt > results.txt
        cat input.txt > /dev/null
        for name in $(cat names.txt); do sort "$name/a.$name.wig" > "$name/a.$name.bed"; done
        """
    ),
]
