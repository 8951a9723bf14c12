"""The script stops midway: bash cannot read an expansion in braces.

`${$seed}`, `${file.txt}` and `${SLURM_JOB_ID]}` are not expansions. bash sees that only where it comes to it, prints
"bad substitution", and ends the script there with status 1, after everything before it has run; in parentheses, in
`$(…)` or in a pipeline only that part ends, and a heredoc's command does not run. Between the braces belongs a name, or
a name and an operator.

A warning where only some jobs come to it. Templates of Nextflow and others (`${task.cpus}`), and forms with several
such places, are not reported; nor is what bash 5.3 reads as a command (`${ date; }`).

## Fix

`${seed}` for `${$seed}`. Unsafe: perhaps `${!seed}` was meant, the variable whose name `seed` holds.

## References

bash(1), "Parameter Expansion"; runs of bash 5.2.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import (
    AndOr,
    Broken,
    Case,
    CommandSubstitution,
    For,
    Function,
    Group,
    Heredoc,
    If,
    Pipeline,
    ProcessSubstitution,
    Program,
    While,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import is_templated
from sbatchlint.source.text import Nested

CARD = Card(
    "SB455", "bad-substitution", severity="error", fix="sometimes", since="0.1.0", batch=True, stage="preview",
    seen="runs of bash 5.2", unseen="`bad substitution`, as the last line of the log.",
)  # fmt: skip

# What is between the braces: another expansion, a name and something that is not an operator, nothing.
_BAD = Regex(
    r"\$\{(?:\$(?P<name>[A-Za-z_]\w*|\d+)\}|\$[\w{(][^}\n]*\}|(?P<start>[A-Za-z_]\w*)(?P<rest>[^\w\[:=+?#%/^,@~}\n-][^}\n]*)\}|\d+[A-Za-z_.][^}\n]*\}"
    r"|[\"'][^}\n]*\}|\})"
)
_MOST = 2  # distinct ones in a script; more are those of a template
# What runs in some jobs only, or not where it stands.
_CHOOSING: tuple[type[If | Case | Function | For | While | AndOr], ...] = (If, Case, Function, For, While, AndOr)
_ENDS = {
    "here": "this command does not run",
    "part": "this part of the script ends here",
    "some": "the script ends here",
}


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh", "dash") or is_templated(job.source.text):
        return
    found: dict[int, Finding] = {}
    shown: set[str] = set()
    for text, program in programs(job):
        if "${" not in text.string:
            continue
        places = _places(text, program)
        for node in nodes_of(program, Broken):
            match = _BAD.match(text.string, node.start)
            if match is None or job.ended is not None and text is job.text and node.start >= job.ended:
                continue
            shown.add(match[0])
            span = text.span(node.start, match.end())
            kinds = list(places.around(Span(node.start, node.start + 1)))
            ends = _ENDS["here" if "here" in kinds else "part" if "part" in kinds else "some"]
            fix = None
            if match["name"] is not None:
                advice = f"write `${{{match['name']}}}`"
                fix = Fix("remove the inner dollar", [replace(span, f"${{{match['name']}}}")])
            elif match["start"] is not None and match["rest"][0] in "._":
                advice = f"write `${{{match['start']}}}{match['rest']}`"
            else:
                advice = "write a variable's name between the braces"
            found[span.start] = Finding(
                span,
                f"bash cannot read `{match[0]}` (bad substitution), and {ends}; {advice}",
                "warning" if kinds else None,
                fix=fix,
            )
    if len(shown) <= _MOST:
        yield from found.values()


def _places(text: Text, program: Program) -> Nested[str]:
    """Where a bad expansion does not end the script, or not in each job, by what that is."""
    parts: list[CommandSubstitution | ProcessSubstitution | Group | Pipeline]
    parts = [*nodes_of(program, CommandSubstitution), *nodes_of(program, ProcessSubstitution)]
    parts += [each for each in nodes_of(program, Group) if text.string[each.start] == "("]
    parts += [each for each in nodes_of(program, Pipeline) if len(each.commands) > 1]
    some = [each for kind in _CHOOSING for each in nodes_of(program, kind)]
    found = [(Span(each.start, each.end), "part") for each in parts]
    found += [(Span(each.start, each.end), "some") for each in some]
    found += [(Span(each.body.start, each.body.end), "here") for each in nodes_of(program, Heredoc)]
    return Nested(found)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        seed=3
        srun ./beast -seed «${$seed}» in.xml
        """,
        unsafe_fixed={"${$seed}": "${seed}"},
    ),
    Bad("#!/bin/bash\n#SBATCH -N 1\ncase=a\n./relax < «${case.in}» > ${case}.out\n", title="the braces end too late"),
    Good(
        "#!/bin/bash\n#SBATCH -N 1\nx=a; y=(1 2)\n./relax ${!x:-b} ${x/a b/c} ${#y[@]} ${y[0]} ${$} '${a.b}' ${x-a.b}\n"
    ),
]
