"""A command never runs: it is an argument of the one before it, as the `&&` between them is missing.

A backslash at the end of a line joins it with the next one: `cd $WORKDIR \\` followed by `uv sync && …` is
`cd $WORKDIR uv sync`, which fails as `cd` takes one folder, so that nothing after its `&&` runs. `mkdir -p logs \\`
followed by `cd logs` makes a folder named `cd`, and `source env.sh \\` followed by `srun …` never starts the srun. In a
text for `bash -c` this is easily overlooked, as its other lines end in `&& \\`.

## Fix

None: `&&` before the backslash, or no backslash.

## References

bash(1), "Quoting"; `cd` of bash 4.4 and later: "too many arguments".
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.unfilled import IN_SHELL
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import is_open, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.programs import programs_with
from sbatchlint.triggers import Commands

# Commands that take folders, files, names or numbers, and never another command.
_PLAIN = ("cd", "pushd", "mkdir", "module", "ml", "source", ".", "conda", "mamba", "sleep", "set", "ulimit")

CARD = Card(
    "SB428", "commands-run-together", severity="error", fix="never", since="0.1.0", when=Commands(*_PLAIN),
    seen="a bash of a live run",
)  # fmt: skip

_SURE = programs_with("mpi", "slurm") | {"bash", "cd", "torchrun"}  # and no names of modules
_STARTERS = _SURE | programs_with("shell", "remote", "installs", "copies", "container") | {"python", "python3"}


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    at = _swallowed(job, command)
    if at is not None:
        place, name = span_of(command.argv[at]), text_of(command.argv[at])
        yield Finding(
            place,
            f"`{name}` is an argument of `{command.name}` on line {job.line(command.name_span.start)} and never runs, "
            "because the line before ends in `\\`; end that line with `&& \\`",
            related=[(command.name_span, "takes it as an argument")],
        )
    elif command.name == "cd":
        folders = [field for field in command.argv[1:] if (text_of(field) or "?")[:1] != "-"]
        words = " ".join(map(shown_text, folders))
        if words[:1] + words[-1:] in ("[]", "{}", "<>"):
            return  # `cd [your folder]` is to be filled in
        if IN_SHELL.search(job.source.slice(job.source.line_of(command.name_span.start))) is not None:
            return  # `cd /data/<your folder>/run` ends at a redirection
        if len(folders) > 1 and all(folders) and not any(map(is_open, folders)):
            message = "`cd` accepts only one folder, so this changes nothing; name one, in quotes if it has spaces"
            yield Finding(span_of(folders[1]), message)


def _swallowed(job: Job, command: Invocation) -> int | None:
    """The index of the first word that was meant as a command: it begins a line that a backslash joins to the last."""
    starters = _SURE if command.name in ("module", "ml") else _STARTERS
    for at in range(1, len(command.argv)):
        field = command.argv[at]
        if len(field) != 1 or field[0].expansion is not None or field[0].text not in starters:
            continue
        if command.name == "conda" and text_of(command.argv[1]) != "activate":
            return None  # `conda run`, `conda install python`
        line = job.source.line_of(field[0].start)
        own = Span(line.start, field[0].start)
        if not job.source.slice(own).strip() and job.source.text[: line.start].endswith("\\\n"):
            return at
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        TRAIN="
        cd /opt/app \\
        «uv» sync && \\
        python train.py
        "
        srun bash -c "$TRAIN"
        """
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsource env.sh \\\n«srun» ./solver\n", title="an srun that never starts"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\ncd /opt/app && \\\nsrun ./solver\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nmodule load gcc \\\n  python \\\n  cuda\nsrun ./solver\n", title="modules"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\ncd {PROJECT DIR HERE}\ncd [your folder]\nsrun ./solver\n", title="slots"),
]
