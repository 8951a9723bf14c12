"""Only the first element of an array is used: without an index, `$FILES` is `${FILES[0]}`.

`FILES=(a.csv b.csv c.csv); for f in $FILES` runs once, for a.csv; `python train.py $OPTIONS` loses all options but the
first word; `$NAMES[$i]` is the first name with `[2]` appended. A comma between elements belongs to them: `RATES=(0.1,
0.2)` has the elements `0.1,` and `0.2`, and so has `for rate in 0.1, 0.2`.

Not reported where the script also gives the name a plain value, or uses index 0, and in tests whether an array has a
first element. Advice where the value is only printed, and for commas where no number is cut off.

## Fix

Writes `"${FILES[@]}"`, or the braces around the index: `${NAMES[$i]}`; removes commas. Unsafe: the work of the other
elements was not done until now.

## References

bash(1), "Arrays": "Referencing an array variable without a subscript is equivalent to referencing the array with a
subscript of 0."
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import use_of
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, For
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Expansion, Pieces, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, replace
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB450", "array-without-index", severity="error", fix="sometimes", since="0.1.0", when=Variables("*"), batch=True,
    seen="a review of public scripts; run with bash 5.2",
    unseen="Nothing: the work of the first element is done.",
)  # fmt: skip

_INDEXED = Regex(r"\[[^\]\n]*\]")
_NUMBER = Regex(r"-?\d[\d.eE+-]*,")
_LEAST = 2  # elements
_OPTION = Regex(r"--?[A-Za-z][\w-]* \S")


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh"):
        return  # of zsh, `$a` is all elements
    yield from _commas(job)
    arrays = _arrays(job)
    seen: set[Span] = set()
    printed: list[Finding] = []
    for read in job.trace.reads if arrays else ():
        if read.name not in arrays or read.operator or read.text is not job.text or read.span in seen:
            continue
        if read.context.parent is not None and read.context.parent.text is not None or not _has_several(read):
            continue
        seen.add(read.span)
        for finding in _of_read(job, read):
            if finding.severity == "info":
                printed.append(finding)
            else:
                yield finding
    if printed:
        yield printed[0]._replace(related=[(each.span, "this one too") for each in printed[1:6]])


def _arrays(job: Job) -> frozenset[str]:
    """The names to which the script assigns only arrays, and of which it reads no first element by that index."""
    assigned = nodes_of(job.program, Assignment)
    arrays = {each.name for each in assigned if isinstance(each.value, ArrayLiteral)}
    others = {each.name for each in assigned if not isinstance(each.value, ArrayLiteral) and each.index is None}
    return frozenset(arrays - others - {each.name for each in nodes_of(job.program, For)})


def _has_several(read: VariableRead) -> bool:
    """Whether a variable certainly is an array of several elements."""
    variable = read.variable
    if variable is None or not variable.array or "A" in variable.flags or not variable.alternatives:
        return False
    return all(sum(map(_is_element, each.fields or ())) >= _LEAST for each in variable.alternatives)


def _is_element(field: Pieces) -> bool:
    """Whether a word is one for certain: an unquoted variable may be none, as the unset one of `($echo a)` is."""
    return any(piece.text is not None or not piece.open or _is_filled(piece.expansion) for piece in field)


def _is_filled(expansion: Expansion | None) -> bool:
    """Whether an expansion gives words as it is meant: an argument, or what a command prints."""
    return expansion is not None and (bool(expansion.commands) or expansion.name.isdigit())


def _has_options(read: VariableRead) -> bool:
    """Whether an element of an array certainly is an option with its value, as one word: `"--epochs 1"`."""
    alternatives = read.variable.alternatives if read.variable is not None else ()
    return any(_OPTION.match(text_of(field) or "") for each in alternatives for field in each.fields or ())


def _of_read(job: Job, read: VariableRead) -> Iterator[Finding]:
    string = job.text.string
    parameter = string[read.start : read.end]
    if parameter not in (f"${read.name}", f"${{{read.name}}}"):
        return
    use = use_of(job, read)
    if use.kind in ("test", "guard"):
        return
    index = _INDEXED.match(string, read.end) if parameter[1] != "{" else None
    if index is not None:
        whole, good = job.span(read.start, index.end()), f"${{{read.name}{index[0]}}}"
        message = f"bash reads `{parameter}` alone, and appends `{index[0]}` to the first element; write `{good}`"
        yield Finding(whole, message, fix=Fix("use braces", [replace(whole, good)], safe=False))
        return
    if string[read.end : read.end + 1] not in ("", " ", "\t", "\n", ";", '"', ")", "|", "&") or read.start == 0:
        return
    quoted = string[read.start - 1] == '"' and string[read.end] == '"'
    if string[read.start - 1] not in " \t=(" and not quoted or string[read.end : read.end + 1] == '"' and not quoted:
        if use.kind != "print":
            return  # part of a word: one element is meant
    good, shown = f'"${{{read.name}[@]}}"', use.kind == "print"
    one = "" if shown else f", or `${{{read.name}[i]}}` for one"
    message = f"without an index this is only the first element of `{read.name}`; write `{good}`{one}"
    several = not shown and _has_options(read)
    if several:  # each element is several words, which `"${A[@]}"` would keep together
        message = f"without an index this is only the first element of `{read.name}`; write `${{{read.name}[i]}}`"
    start, end = (read.start - 1, read.end + 1) if quoted else (read.start, read.end)
    plain = not (shown or several or string[start - 1] == "=")
    fix = Fix("use all elements", [replace(job.span(start, end), good)], safe=False) if plain else None
    yield Finding(job.span(read.start, read.end), message, "info" if shown else None, fix=fix)


def _commas(job: Job) -> Iterator[Finding]:
    """Findings on numbers of a list that are separated by commas and spaces."""
    arrays = [array.elements for array in nodes_of(job.program, ArrayLiteral)]
    for words in (*arrays, *(loop.words or () for loop in nodes_of(job.program, For))):
        texts = [job.text.string[each.start : each.end] for each in words]
        if len(words) < _LEAST or not all(map(_NUMBER.fullmatch, texts[:-1])) or "," in texts[-1][:-1]:
            continue
        ends = [word.end for word, text in zip(words, texts, strict=True) if text[-1] == ","]
        fix = Fix("remove the commas", [remove(job.span(end - 1, end)) for end in ends], safe=False)
        message = f"the commas belong to the elements: the first one is `{texts[0]}`; remove them"
        yield Finding(job.span(words[0].start, words[-1].end), message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        FILES=(a.csv b.csv c.csv)
        for file in «$FILES»; do
            srun ./solver $file
        done
        """,
        unsafe_fixed={"$FILES;": '"${FILES[@]}";'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-2
        SIZES=(100 200 300)
        srun ./solver --size «$SIZES[$SLURM_ARRAY_TASK_ID]»
        """,
        unsafe_fixed={"$SIZES[$SLURM_ARRAY_TASK_ID]": "${SIZES[$SLURM_ARRAY_TASK_ID]}"},
        title="no braces",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=0-1
        STARTS=("--epochs 1" "--resume best.pt")
        srun python train.py «$STARTS»
        """,
        title="options with their values as elements, so no fix",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        for rate in «0.1, 0.2, 0.3»; do
            srun python train.py --rate $rate
        done
        """,
        unsafe_fixed={"0.1, 0.2,": "0.1 0.2"},
        title="commas",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        OPTIONS=(--steps 100)
        echo "options: «$OPTIONS»"
        srun ./solver "${OPTIONS[@]}"
        """,
        severity="info",
        title="only printed",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        FILES=(in.*.csv)
        if [ -e $FILES ]; then srun ./solver "${FILES[@]}"; fi
        SIZES=(100 200)
        srun ./solver --size ${SIZES[0]} --of ${#SIZES[@]} --out=$SIZES.dat
        for pair in 1,2 3,4; do srun ./solver $pair; done
        """
    ),
]
