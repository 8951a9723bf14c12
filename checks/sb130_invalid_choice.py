"""An option knows only certain words or forms, needs a value, or takes none.

`--exclusive=yes`, `--hint=no_multithread`, `--distribution=plane:4`, `--kill-on-invalid-dep=true`, `--gres=gpu:`:
sbatch or the controller refuses the script, and nothing is submitted. Some words are known from a later release on:
`--exclusive=topo` (24.05), `--gres=gpu=4` (23.11). `--wait=60` has a value too much. A `--job-name` that ends its line
takes the next word of the block for its value: the job is called `--nodes=2`, and has no such option.
Names that only the site knows (GRES, features, licences) are not judged.

## Fix

Writes the word that was probably meant, or takes the value of an optional one away. A guess, and so unsafe.

## References

sbatch(1); `arg_set_*()` in src/common/slurm_opt.c, src/common/proc_args.c, `slurm_get_next_tres()` in
src/common/slurm_protocol_defs.c, `_feature_string2list()` in src/slurmctld/job_scheduler.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB130", "invalid-choice", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for wrong in job.directives.wrong_values("choice", "resource"):
        option = f"--{wrong.setting.name}"
        if wrong.ends:
            yield Finding(wrong.span, f"{option}={wrong.reason}, so nothing is submitted; remove it")
            continue
        when = job.versions.in_brackets(wrong.versions)
        message = f"{option} does not take this value{when}, `{wrong.says}`: {wrong.reason}"
        fix = None
        if wrong.instead is not None:
            written = f"{option}={wrong.instead}" if wrong.instead else option
            message += f"; write {written}"
            fix = Fix(f"write {written}", wrong.edits)
        yield Finding(wrong.span, message, fix=fix)
    for each in job.directives.missing_values():
        when = job.versions.in_brackets(each.versions)
        if each.taken:
            message = f"--{each.name} has no value, so `{each.taken}` of a later line becomes it; write a value"
            yield Finding(each.span, message)
        elif not each.edits and each.says and "requires" in each.says:
            yield Finding(each.span, f"--{each.name} needs a value, and sbatch refuses the script{when}; write one")
        else:
            message = f"--{each.name} takes no value, and sbatch refuses the script{when}; write --{each.name} alone"
            fix = Fix("take the value away", each.edits) if each.edits else None
            yield Finding(each.span, message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --exclusive=«yes» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --exclusive --nodes=2
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --hint=«no_multithread»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --hint=nomultithread
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -m «plane:4»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -m plane=4
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=«gpu=4»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:4
        srun ./a.out
        """,
        title="`=` before a number, from 23.11 on",
    ),
    Bad("#!/bin/bash\n#SBATCH --constraint=«[a|b»\nsrun ./a.out\n", title="signs that do not match"),
    Bad("#!/bin/bash\n#SBATCH --exclusive=«topo»\nsrun ./a.out\n", title="a word of later releases"),
    Bad("#!/bin/bash\n#SBATCH --gres=«gpu:»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --hint=«help»\nsrun ./a.out\n", title="ends sbatch"),
    Good("#!/bin/bash\n#SBATCH --exclusive=user --open-mode=append --no-kill\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --gres=gpu:a100:4,nvme --gpus=gpu:4\nsrun ./a.out\n", title="names of the site"),
    Good("#!/bin/bash\n#SBATCH -m cyclic:fcyclic,pack\n#SBATCH --propagate=STACK,CORE\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -C '[rack1|rack2]' --licenses=matlab:2,ansys\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --gres=gpu=4\nsrun ./a.out\n", settings={"slurm-version": "23.11-26.05"}),
]
