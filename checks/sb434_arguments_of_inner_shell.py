"""Arguments are lost: the string of `sh -c` reads some that it does not get, or gets some unread.

In single quotes `$1` and `$@` are left for the inner shell, which has arguments of its own: the words after its text.
In `srun sh -c 'cd /code && python $@'` there are none, so python starts without a program, reads an empty input and
ends with success. The first word after the text is `$0`, not `$1`: `bash -c 'run $1' input.dat` runs `run` alone. The
same goes for a text on standard input (`bash <<'EOF'`) and for `sbatch --wrap`, which takes no arguments.

In double quotes it is the other way round: in `srun bash -c "exec python "$@"" bash train.py` the outer shell replaces
`"$@"` by the arguments of the script, and the words after the text are lost.

## Fix

None: it depends on whose arguments are meant. `sh -c '…' _ "$@"` passes on those of the script.

## References

bash(1), "OPTIONS", `-c`; src/sbatch/opt.c ("Script arguments not permitted with --wrap option"), Slurm 20.11 to 26.05
"""

from collections.abc import Iterator, Sequence

from sbatchlint.bash.interpreter.programs import SHELLS, shell_arguments
from sbatchlint.bash.syntax.tree import Function, Parameter, Program, Simple, TestCommand
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, Text, expansions, is_open, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.numbers import counted, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Submitted

CARD = Card(
    "SB434", "arguments-of-inner-shell", severity="error", fix="never", since="0.1.0",
    when=Commands("sh", "bash", "dash", "zsh", "ksh") | Submitted(), seen="a public script, run with bash 5.2",
)  # fmt: skip

# Commands that change the arguments, or read them with care.
_OWN = frozenset({"set", "shift", "getopts", "getopt", "source", ".", "eval"})
_ARGUMENT = Regex(r"[1-9][0-9]?|[@*]")


def check(job: Job) -> Iterator[Finding]:
    if job.is_wrapped and not job.limits.exhausted:
        yield from _missing(job, job.text, job.program, 0, "the string of --wrap gets no arguments")
    for command in job.invocations:
        # what starts it, too: in one of several words of a launcher the arguments may be missing
        if command.text is not None and all(each.alternatives == 1 for each in (command, *command.ancestors())):
            passed = _passed(command)
            if passed is not None:
                program = job.parsed(command.text.string)
                yield from _missing(job, command.text, program, len(passed[0]), passed[1])
                yield from _lost(job, command, command.text, program, passed[0])


def _passed(command: Invocation) -> tuple[Sequence[Pieces], str] | None:
    """The arguments of a shell's text, and what to say if these are too few; None where they are not known."""
    found = shell_arguments(command.argv)
    if found is None or found[0] == "script" or any(each.spawn.kind == "parallel" for each in command.ancestors()):
        return None  # GNU parallel makes one line of its words, which a shell reads again
    how, at = found
    words = command.argv[at + 1 :] if how == "-c" else command.argv[at:]
    if any(map(is_open, words)):
        return None
    if how == "-c" and len(words) == 1:
        name = shown_text(words[0])
        if name in {"_", *SHELLS, *(each.rpartition("/")[2] for each in shown_text(command.argv[at]).split())}:
            # `_` has arguments follow, here or in what is added later; the name of a shell or a command of the text was
            # meant as `$0`, and what it runs has no arguments
            return None
        return (), f"`{name}` after the string is its `$0`"
    passed = words[1:] if how == "-c" else words
    return passed, f"this {command.name} gets " + (counted(len(passed), "argument") if passed else "no arguments")


def _treats_arguments(text: Text, program: Program) -> bool:
    """Whether a program has a command that changes its arguments, or reads them with care."""
    names = (each.words[0] for each in nodes_of(program, Simple) if each.words)
    return any(text.string[name.start : name.end] in _OWN for name in names)


def _missing(job: Job, text: Text, program: Program, count: int, why: str) -> Iterator[Finding]:
    """The finding on the first parameter for which a shell with that many arguments has no value."""
    if _treats_arguments(text, program):
        return
    careful: list[TestCommand | Function | Simple] = [*nodes_of(program, TestCommand), *nodes_of(program, Function)]
    careful += [each for each in nodes_of(program, Simple) if text.string.startswith(("[ ", "test "), each.start)]
    found = []
    for node in nodes_of(program, Parameter):
        if not _ARGUMENT.fullmatch(node.name):
            if node.name == "#":
                return
            continue
        if node.operator or any(each.start <= node.start < each.end for each in careful):
            return
        if count == 0 if node.name in "@*" else (parse_integer(node.name) > count):
            found.append(node)
    if found:
        first_node = min(found, key=lambda each: each.start)
        written = text.string[first_node.start : first_node.end]
        advice = "" if job.is_wrapped and text is job.text else " pass arguments after it (`sh -c '…' _ \"$@\"`), or"
        yield Finding(
            text.span(first_node.start, first_node.end),
            f"{why}, so `{written}` is empty in the string;{advice} use double quotes",
        )


def _lost(job: Job, command: Invocation, text: Text, program: Program, passed: Sequence[Pieces]) -> Iterator[Finding]:
    """The finding on a parameter of an outer shell, in a text that reads none of the words passed to its own shell."""
    early = [each for each in expansions(text.field) if _ARGUMENT.fullmatch(each.name)]
    if not early or not any(piece.expansion is None for piece in text.field):
        return  # the text is an argument itself
    if all(any(_ARGUMENT.fullmatch(each.name) for each in expansions(field)) for field in passed):
        return  # the outer shell's are passed on, too
    if any(_ARGUMENT.fullmatch(node.name) or node.name == "#" for node in nodes_of(program, Parameter)):
        return
    first = min(early, key=lambda each: each.span)
    if _treats_arguments(text, program) or not job.source.slice(first.span).startswith("$"):
        return
    yield Finding(
        first.span,
        f"an outer shell expands this to its own arguments, so those of this {command.name} "
        f"(`{shown_text(passed[0])}`) are lost; escape its `$`, or use single quotes",
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        srun --container-image=torch.sqsh sh -c 'cd /code && python «$@»'
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        srun bash -c './solver «$1»' input.dat
        """,
        title="the first word is `$0`",
    ),
    Bad(
        """\
        #!/bin/bash
        for lr in 0.1 0.01; do
            sbatch --gpus=1 --wrap='python train.py --lr «$1»'
        done
        """,
        title="--wrap takes no arguments",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=swift.sqsh bash -c "cd /code; exec swift sft «$@»" bash --model base
        """,
        title="expanded too early",
    ),
    Good('#!/bin/bash\n#SBATCH --gpus=1\nsrun sh -c \'cd /code && python "$@"\' sh "$@"\n'),
    Good('#!/bin/bash\n#SBATCH --gpus=1\nsrun sh -c "cd /code && python $@"\n', title="the script's own"),
    Good("#!/bin/bash\n#SBATCH -n4\nls | xargs -n1 sh -c 'wc \"$@\"' _\nls | xargs -n1 sh -c 'wc $0'\n"),
    Good("#!/bin/bash\n#SBATCH -n4\nsrun bash -c 'f() { echo $1; }; f 1; echo ${1:-none}'\n"),
]
