"""sbatch has no such option, and refuses the script.

`sbatch: unrecognized option '--gpu-per-node=8'`: nothing is submitted. Common causes are `_` for `-`, a missing letter,
and the names of other schedulers (`--walltime`, `--queue`).

Plugins of a site add options of their own. Those of many are known (pyxis, uenv, shifter, EAR, auks and others); a name
that is like none of Slurm's is only warned about, as your site may have it. Name such options under `plugin-options`,
or let sbatch name them: `sbatch --help > sbatch-help.txt` on the cluster, and `plugin-options-from =
"sbatch-help.txt"`. Then every other one is an error. Options of srun are reported by step-option-in-directive, those
of older or newer releases by removed-option and option-too-new, the beginnings of several by abbreviated-option.

## Fix

Writes the option that was probably meant. Safe where only the case or `_` for `-` differs; a guess, and so unsafe,
otherwise.

## References

sbatch(1), spank(7); `common_options[]` in src/common/slurm_opt.c and `spank_option_table_create()` in
src/common/spank.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace

CARD = Card("SB111", "unknown-option", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for unknown in job.directives.unknown_options():
        if "srun" not in unknown.takers and "sbatch" not in unknown.takers:
            yield _finding(job, unknown)
    yield from _unlisted(job)


def _finding(job: Job, unknown: Any) -> Finding:
    problem, suggestion = unknown.problem, unknown.suggestion
    span = problem.span
    if job.source.slice(span).startswith(problem.written):
        span = Span(span.start, span.start + len(problem.written))
    what = f"sbatch has no option {problem.written} and refuses the script"
    if suggestion is not None:
        behind = problem.written[suggestion.replaced :] if suggestion.written.endswith("=") else ""
        advice = f"did you mean {suggestion.written}{behind}?"
        fix = None
        if unknown.suggestion_fits and span.end - span.start == len(problem.written):
            edit = replace(Span(span.start, span.start + suggestion.replaced), suggestion.written)
            fix = Fix(f"write {suggestion.written.rstrip('=')}", [edit], safe=suggestion.sure)
        return Finding(span, f"{what}; {advice}", fix=fix)
    if "salloc" in unknown.takers:
        return Finding(span, f"{what}: it is an option of salloc; remove it")
    if job.site.plugins_listed:
        return Finding(span, f"{what}: neither Slurm nor a plugin of your site adds it; remove it")
    if not problem.name.strip("-"):
        return Finding(span, f"{what}; remove it, or write a blank after the `#` of a comment")
    if not unknown.plausible:
        # A plugin cannot add a letter, nor a name that begins with a dash.
        advice = "remove it"
        if problem.written[:3] == "---":
            advice = f"a long option has two dashes: write --{problem.name}"
        elif problem.written[:2] == "--":
            advice = "remove it, or name it under plugin-options if a plugin of your site adds it"
        return Finding(span, f"{what}; {advice}")
    whose = (
        f"it looks like one of the {unknown.plugin} plugin" if unknown.plugin else "a plugin of your site may add it"
    )
    message = f"sbatch has no option {problem.written}, and refuses the script where no plugin adds one"
    return Finding(span, f"{message}; {whose}: then name it under plugin-options", "warning")


def _unlisted(job: Job) -> Iterator[Finding]:
    """Options of known plugins that the site's sbatch does not have."""
    settings = [each for each in job.directives.settings if each.plugin not in (None, "site")]
    contained = any(each.name in ("container-image", "container-name") for each in settings)
    for setting in settings:
        if setting.plugin == "pyxis":
            # Without an image, container-option-in-directive says where the option belongs.
            missing = contained and job.site.pyxis_in_sbatch is False
        else:
            missing = job.site.plugins_listed and setting.name not in job.directives.site_names
        if missing:
            what = (
                f"--{setting.name} is an option of the {setting.plugin} plugin, which sbatch of your site does not have"
            )
            advice = "give it to srun" if setting.plugin == "pyxis" else "remove it"
            yield Finding(setting.option_span, f"{what}: it refuses the script; {advice}")


CASES = [
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
    Bad(
        "#!/bin/bash\n#SBATCH «--mangohud»=on\nsrun ./a.out\n",
        severity="warning",
        title="like no option of Slurm: it may be a plugin's",
    ),
    Good("#!/bin/bash\n#SBATCH --out=x.log --part=gpu --tasks-per-node=8\nsrun ./a.out\n", title="abbreviations"),
    Good("#!/bin/bash\n#SBATCH --uenv=prgenv-gnu/24.7:v3 --view=default\nsrun ./a.out\n", title="a plugin's"),
    Good(
        "#!/bin/bash\n#SBATCH --burst --fast-scratch=2\nsrun ./a.out\n",
        settings={"plugin-options": ["burst", "fast-scratch="]},
        title="the site's own",
    ),
]
