"""sbatch has no such option, and refuses the script.

`sbatch: unrecognized option '--gpu-per-node=8'`: nothing is submitted. Common causes are `_` for `-`, a missing letter,
and the names of other schedulers (`--walltime`, `--queue`).

Options that SPANK plugins add (pyxis, uenv, shifter, EAR) are known; name further ones of your site under
`plugin-options`. Options of srun are reported by step-option-in-directive.

## Fix

Writes the option that was probably meant. Safe where only the case or `_` for `-` differs, or where Slurm itself
renamed the option; a guess, and so unsafe, otherwise.

## References

sbatch(1); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace

CARD = Card("SB111", "unknown-option", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    directives = job.directives
    for problem in directives.problems:
        if problem.kind == "ambiguous-option" and problem.versions is None:
            names = ", ".join(f"--{name}" for name in problem.candidates[:4])
            message = f"{problem.written} may stand for {names}: sbatch refuses the script; write the name in full"
            yield Finding(Span(problem.span.start, problem.span.start + len(problem.written)), message)
        if problem.kind != "unknown-option" or problem.versions is not None or problem.token is None:
            continue
        takers = directives.takers(problem)
        # Other checks: an option of other releases or of srun, and a known name with one dash or three.
        if "sbatch" in takers or "srun" in takers or _misses_dashes(problem.written, problem.token.text):
            continue
        span = problem.span
        if job.source.slice(span).startswith(problem.written):
            span = Span(span.start, span.start + len(problem.written))
        suggestion = directives.suggestion(problem)
        fix = None
        if suggestion is not None:
            advice = f"did you mean {suggestion.written.rstrip('=')}?"
            has_value = "=" in problem.token.text or suggestion.written.endswith("=")
            follows = problem.value_token is not None
            fits = suggestion.argument != "none" if has_value or follows else suggestion.argument != "required"
            fits = fits and not (follows and suggestion.argument == "optional")
            if fits and span.end - span.start == len(problem.written):
                edit = replace(Span(span.start, span.start + suggestion.replaced), suggestion.written)
                fix = Fix(f"write {suggestion.written.rstrip('=')}", [edit], safe=suggestion.sure)
        elif "salloc" in takers:
            advice = "it is an option of salloc; remove it"
        else:
            advice = "remove it, or name it under plugin-options if a plugin of your site adds it"
        yield Finding(span, f"sbatch has no option {problem.written} and refuses the script; {advice}", fix=fix)


def _misses_dashes(written: str, word: str) -> bool:
    """Whether the word is a long name with one dash or three: another check."""
    if written.startswith("---"):
        return True
    return not written.startswith("--") and len(word.partition("=")[0]) > 3


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        #SBATCH «--gpu»=2
        srun ./a.out
        """,
        title="the beginning of several options",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--ntasks_per_node»=8
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --ntasks-per-node=8
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--gpu-per-node» 8
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node 8
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--walltime»=1:00:00
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=1:00:00
        srun ./a.out
        """,
        title="the name of another scheduler",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres:gpu:1»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH «--mem-per-task»=4G\nsrun ./a.out\n", title="nothing is near enough"),
    Good("#!/bin/bash\n#SBATCH --out=x.log --part=gpu --tasks-per-node=8\nsrun ./a.out\n", title="abbreviations"),
    Good("#!/bin/bash\n#SBATCH --uenv=prgenv-gnu/24.7:v3 --view=default\nsrun ./a.out\n", title="a plugin's"),
    Good(
        "#!/bin/bash\n#SBATCH --cuda-mps --beeond=2\nsrun ./a.out\n",
        settings={"plugin-options": ["cuda-mps", "beeond="]},
        title="the site's own",
    ),
]
