"""A launcher does not read an option: it comes after the program, which gets it instead.

`valgrind ./solver --leak-check=full` looks for no leaks, `java -jar tool.jar -Xmx60g` has the default heap, and
`torchrun train.py --nproc_per_node 4` starts one process: each reads its options up to its program, and passes
the rest on. The program ends with an error about an unknown option, or ignores it. So do mpirun, `accelerate launch`,
`nsys profile`, `apptainer exec` and others, and words after the `:::` of GNU parallel are its inputs.

Reported for options that hardly any other program has. A program that the launcher has the option for as well, or whose
text names it, may have its own. An error where the text of the program is known; a warning otherwise.

Of srun, [SB328](srun-option-after-command.md) tells; of GPU options directly after an image,
[SB512](container-without-gpus.md).

## Fix

Moves the option before the program. Unsafe: the program may have an option of this name.

## References

The manuals of the launchers; valgrind(1); java(1); parallel(1); torch/distributed/run.py of torch 2.13
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import remove_word
from sbatchlint.analysis.launch.late_options import NAMES, LateOption, late_options, place
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.triggers import Commands, Launchers

CARD = Card(
    "SB343", "option-after-program", severity="error", fix="sometimes", since="0.1.0",
    when=Commands(*sorted(NAMES)) | Launchers(), seen="a review of public scripts",
    unseen="The program's own error about an option, or nothing.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    by_place: dict[Span, list[LateOption]] = {}
    for each in late_options(job):
        by_place.setdefault(each.command.span, []).append(each)
    for found in by_place.values():
        late = found[0]
        others = [each for each in found if each.command is late.command]
        words = list(dict.fromkeys(each.written for each in others))
        names = " and ".join(filter(None, [", ".join(f"`{each}`" for each in words[:-1]), f"`{words[-1]}`"]))
        it = "it" if len(words) == 1 else "them"
        if late.launcher == "parallel":
            message = f"parallel treats {names} after `:::` as input; move {it} before the command"
        else:
            program = shortened(shown_text(late.command.argv[late.program]).rpartition("/")[2], 30)
            message = f"{late.launcher} does not read {names} after `{program}`, which gets {it} instead; "
            message += f"move {it} before `{program}`"
        severity = None if all(each.known for each in others) else "warning"
        yield Finding(span_of(place(late)), message, severity, fix=_fix(job, others))


def _fix(job: Job, options: list[LateOption]) -> Fix | None:
    """The fix that moves an option before the program."""
    late = options[0]
    argv = late.command.argv
    has_value = "=" in shown_text(argv[late.at]) or late.launcher == "java"
    if len(options) > 1 or not has_value or late.launcher == "parallel":
        return None  # its value may be the next word
    field = argv[late.at]
    removed, start = remove_word(job, field), span_of(argv[late.program]).start
    if removed is None or not late.command.span.start < start < span_of(field).start:
        return None
    if late.launcher == "java" and late.command.words[late.program - 1] == "-jar":
        start = span_of(argv[late.program - 1]).start
    return Fix("move it before the program", [insert(start, f"{job.source.slice(span_of(field))} "), removed])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        valgrind ./solver input.nml «--leak-check=full»
        """,
        severity="warning",
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=1
        valgrind --leak-check=full ./solver input.nml
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus-per-node=4
        torchrun train.py --epochs 3 «--nproc_per_node» 4
        """,
        files={
            "train.py": """\
            import argparse

            parser = argparse.ArgumentParser()
            parser.add_argument("--epochs", type=int)
            args = parser.parse_args()
            """
        },
        title="the program does not have it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=64G
        java -jar picard.jar MarkDuplicates I=a.bam O=b.bam M=m.txt «-Xmx60g»
        """,
        severity="warning",
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mem=64G
        java -Xmx60g -jar picard.jar MarkDuplicates I=a.bam O=b.bam M=m.txt
        """,
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=8
        mpirun -np 8 --bind-to core ./solver --np 4
        """,
        title="the program has its own",
    ),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4\ntorchrun --standalone --nproc_per_node=4 train.py --epochs 3\n"),
]
