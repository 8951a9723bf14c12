"""An option has no value unless it is set at submission: nothing in the script sets the variable after it.

`python train.py --lr $LR --epochs $EPOCHS` is right for a job that is submitted with `sbatch --export=ALL,LR=0.1,…`.
With a plain `sbatch job.sh` the words `$LR` and `$EPOCHS` vanish: `--lr` takes `--epochs` for its value, and the last
option has none, so that the program refuses its arguments, or works with a wrong one.

Reported are variables without quotes that are the whole value of an option, and that the script neither sets, tests nor
mentions in a comment, and gives no default. Names that a login, a module or Slurm sets are left out, as is everything
after a sourced file that cannot be read, and a template whose directives have such variables, too. Where the script
shows which variable was meant, it is [SB414](undefined-launcher-variable.md). Always advice, as the submit environment
may set anything.

## Fix

None: only the author knows the value. `${LR:?}` stops the script at once where it is not set, `${LR:-0.1}` is a
default.

## References

bash(1), "Word Splitting" and "Parameter Expansion"; sbatch(1), --export
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.nobody_sets import (
    is_common_name,
    is_lone_lowercase_name,
    is_mentioned,
    is_of_submission,
    may_come_from_files,
    unless_exported,
    unset_reads,
    unusual_names,
)
from sbatchlint.analysis.expansion.reads import stopping
from sbatchlint.bash.trace import Invocation, VariableRead
from sbatchlint.bash.values import Phase, Pieces
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Variables

CARD = Card(
    "SB454", "option-without-value", severity="info", fix="never", since="0.1.0", when=Variables("*"), batch=True,
    whole_script=True, seen="a review of public scripts",
    unseen="`expected one argument`, or another option's value that is the name of the next option.",
)  # fmt: skip

_OPTION = Regex(r"--?[A-Za-z][\w.-]*")
# Variables that hold options of their own: the option before them takes no value.
_OPTIONS = Regex(r"(?i)(?:\w*_)?(?:args?|opts?|options?|flags?|params?|arguments)\d*|extra\w*")
_DIRECTIVE = Regex(r"(?m)^#SBATCH\b(.*)")
_SLOT = Regex(r"\$\{([A-Za-z_]\w*)\}")
# A script that reads more unset names than this is filled in by another program.
_MOST_NAMES = 12


def check(job: Job) -> Iterator[Finding]:
    if may_come_from_files(job) or len(unusual_names(job)) > _MOST_NAMES or _is_filled_in(job):
        return
    reads = {
        each.span: each
        for each in unset_reads(job)
        if is_of_submission(job, each) and not is_lone_lowercase_name(job, each)
    }
    found: dict[str, tuple[VariableRead, _Lost]] = {}
    for command in job.invocations if reads else ():
        if command.phase is Phase.SUBMIT or command.state.option("nounset") is not False or not _takes_options(command):
            continue
        for lost in _lost_values(command):
            if lost.read in reads and not _OPTIONS.fullmatch(reads[lost.read].name):
                found.setdefault(reads[lost.read].name, (reads[lost.read], lost))
    if not found:
        return
    (name, (read, lost)), *others = found.items()
    unless = unless_exported(job, name, read.context.phase).replace("unless you export it", f"unless you export {name}")
    advice = f"set it above, or {stopping(read)}"
    line = job.line(lost.place.start)
    where = f" on line {line}" if line != job.line(read.span.start) else ""
    happens = "may take the next word as its value" if lost.follows else "gets no value"
    message = f"`{lost.option}`{where} {happens} {unless}; {advice}"
    ends = (" to stop the job if it is empty", " to stop if it is empty", "")
    yield Finding(
        read.span,
        next((told for end in ends if len(told := f"{message}{end}") <= MOST), message),
        related=[(other.span, f"`{also.option}` gets none either") for _, (other, also) in others[:3]],
    )


def _is_filled_in(job: Job) -> bool:
    """Whether a program fills in the script, as its directives have slots of the form of variables: `${NODES}`."""
    slots = _SLOT.findall("\n".join(_DIRECTIVE.findall(job.source.text)))
    return any(not is_common_name(name) and not is_mentioned(job, name) for name in slots)


def _takes_options(command: Invocation) -> bool:
    """Whether a command is a program with options of its own, which the words of the script are for."""
    return not command.children and not has_trait(command.name, "prints", "minor") and not command.calls_function


class _Lost(NamedTuple):
    """An option whose whole value is one variable without quotes.

    `place`: where the option is; `read`: where the variable is. `follows`: whether another word follows.
    """

    option: str
    place: Span
    read: Span
    follows: bool


def _lost_values(command: Invocation) -> Iterator[_Lost]:
    """Each option of a command whose whole value is one variable without quotes."""
    before, place = "", command.span
    for number, field in enumerate(command.argv[1:], 2):
        last = field[-1] if field else None
        head = _head(field)
        if last is not None and last.text is None and last.expansion is not None and last.open:
            if len(field) == 1 and before:
                yield _Lost(before, place, last.expansion.span, number < len(command.argv))
            elif head.endswith("=") and _OPTION.fullmatch(head[:-1]):
                yield _Lost(head[:-1], Span(field[0].start, field[0].end), last.expansion.span, False)
        before = (
            head if len(head) > 1 and _OPTION.fullmatch(head) and last is not None and last.text is not None else ""
        )
        place = Span(field[0].start, field[0].end) if field else place


def _head(field: Pieces) -> str:
    """The known text of a word before its last unknown piece; empty where there is another one."""
    known = field[:-1] if field and field[-1].text is None else field
    return "".join(each.text or "\0" for each in known)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        python train.py --data /data/v2 --lr «$LR» --epochs $EPOCHS
        """,
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -n 8\nout=run1\nmpirun ./flow --mesh=«$MESH» --scheme=$SCHEME --out=$out\n",
        title="glued to it",
    ),
    Good('#!/bin/bash\n#SBATCH -n 8\nLR=0.1\npython train.py --lr $LR --epochs "${EPOCHS:-3}"\n'),
    Good(
        "#!/bin/bash\n# sbatch --export=ALL,LR=0.1,EPOCHS=3 job.sh\npython train.py --lr $LR --epochs $EPOCHS\n",
        title="told how",
    ),
    Good("#!/bin/bash\n#SBATCH -n 8\nset -u\npython train.py --lr $LR --epochs $EPOCHS\n", title="stops there"),
    Good(
        "#!/bin/bash\n#SBATCH -n 8\nsource settings.sh\npython train.py --lr $LR --epochs $EPOCHS\n",
        title="set elsewhere",
    ),
]
