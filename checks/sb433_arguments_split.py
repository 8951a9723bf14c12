"""Arguments reach a program split at their spaces: `$@` or `$*` has no quotes.

`python train.py $@` passes each argument on after bash has split it at spaces and tabs and expanded `*` and `?` in it:
`sbatch train.sh --name "first run"` becomes `--name first run`, which the program refuses or reads as something else,
and `--pattern 'data/*.h5'` becomes the names of files. An empty argument disappears. `"$@"` passes on what was given.

Nothing is reported where the arguments are the command itself (`srun $@`), which may be given as one string, where they
are only printed, where the shell of another host gets them, and in `eval`, `set`, `getopt` and `[[ … ]]`, which splits
nothing. A warning where a comment, or a file beside the script, calls it with an argument in quotes, unless a function
gets them; otherwise advice, as most arguments are plain options, numbers and paths without a space.

## Fix

Writes `"$@"`. Unsafe: somebody may give several options as one argument, and count on their being split.

## References

bash(1), "Special Parameters".
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.submit_lines import takes_quoted_arguments
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.programs import has_trait

CARD = Card(
    "SB433", "arguments-split", severity="warning", fix="always", since="0.1.0", seen="public scripts",
)  # fmt: skip

_WRITTEN = frozenset({"$@", "$*", "${@}", "${*}"})
# Commands that read their words again, or want them apart.
_APART = frozenset(
    {"eval", "set", "getopt", "expr", "exit", "return", "logger", "command", "exec", "time", "[[", "ssh"}
)


def check(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for command in job.invocations:
        if command.kind or command.parent is not None or command.name in _APART or has_trait(command.name, "prints"):
            continue
        if command.spawn.kind and command.spawn.command is None:
            continue  # the command that it starts may be among the arguments
        programs = {each.argv[0] for each in command.descendants() if each.argv}
        for at, field in enumerate(command.argv):
            if at == 0 or field in programs:
                if _split(job, command, field) is not None:
                    break  # the arguments are the command, and what follows belongs to it
                continue
            span = _split(job, command, field)
            if span is not None and span not in seen:
                seen.add(span)
                written = job.source.slice(span)
                yield Finding(
                    span,
                    f"without quotes, `{written}` splits arguments that contain spaces and drops empty ones; "
                    'write `"$@"`',
                    # a function may put them together again
                    None if takes_quoted_arguments(job) and not command.calls_function else "info",
                    fix=Fix('write "$@"', [replace(span, '"$@"')]),
                )


def _split(job: Job, command: Invocation, field: Pieces) -> Span | None:
    """Where an unquoted `$@` is written that is a whole word; None for other words."""
    expansion = field[0].expansion if len(field) == 1 and field[0].text is None else None
    if expansion is None or expansion.name not in ("@", "*") or not command.span.contains(expansion.span):
        return None
    before = job.source.text[command.span.start : expansion.span.start]
    in_quotes = before.count('"') % 2 == 1
    return expansion.span if job.source.slice(expansion.span) in _WRITTEN and not in_quotes else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        # sbatch job.sh --name "first run"
        #SBATCH --gpus=1
        python train.py --epochs 3 «$@»
        """,
        unsafe_fixed={"$@": '"$@"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --ntasks=2 ./solver «$*»
        """,
        unsafe_fixed={"$*": '"$@"'},
        severity="info",
    ),
    Good('#!/bin/bash\n#SBATCH --gpus=1\npython train.py --epochs 3 "$@"\n'),
    Good("#!/bin/bash\n#SBATCH --gpus=1\nsrun $@\n", title="the arguments are the command"),
    Good("#!/bin/bash\n#SBATCH --gpus=1\necho started with $@\n", title="only printed"),
    Good(
        '#!/bin/bash\n#SBATCH --gpus=1\nif [[ $* == *--debug* ]]; then set -x; fi\npython train.py\n',
        title="a test that splits nothing",
    ),
]
