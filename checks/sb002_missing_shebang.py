"""The file does not begin with `#!` and an interpreter, so sbatch refuses it.

`sbatch: error: This does not look like a batch script.` sbatch looks at the first two characters of the file, before it
reads any option: a blank line, a comment or a licence above the `#!` line is enough, and so is `!/bin/bash`.

Files that something else completes are left alone: templates that begin with a placeholder, headers without a command,
and files without an option block whose name is not that of a batch script. A script that is fed to sbatch as a
here-document needs its `#!` line too.

## Fix

Moves the `#!` line to the top, or mends its first characters. Safe: sbatch takes no script without it. Where there is
none, `#!/bin/bash` is added, which is unsafe: the interpreter is a guess.

## References

`_get_script_buffer()` in src/sbatch/sbatch.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job

CARD = Card("SB002", "missing-shebang", severity="error", fix="always", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    fault = job.interpreter_fault()
    if fault is None:
        return
    edits = [Edit(job.directives.text.span(start, end), content) for start, end, content in fault.edits]
    span = job.directives.text.span(fault.start, fault.end)
    if fault.kind == "empty":
        said = "is empty!" if not job.text.string else "contains only whitespace!"
        message = f"sbatch refuses the file: `Batch script {said}`; begin it with {fault.line}"
        yield Finding(span, message, fix=Fix(f"add {fault.line}", edits))
    elif fault.kind == "misplaced":
        above = job.source.text[job.directives.text.span(0, 0).start : span.start]
        advice = "move this line to the top" if above.strip() else "remove what stands above it"
        if above.strip(" \t") == "" and above:
            advice = "remove the blanks before it"
        message = f"sbatch wants `#!` at the very beginning of the script and refuses this one; {advice}"
        yield Finding(span, message, fix=Fix(advice, edits, safe=True))
    elif fault.kind == "mistyped":
        message = f"the script must begin with the characters `#!`, so sbatch refuses it; write {fault.line}"
        yield Finding(span, message, fix=Fix(f"write {fault.line}", edits, safe=True))
    else:
        message = f"sbatch refuses a script that does not begin with `#!` and an interpreter; add {fault.line} above"
        start = job.directives.text.span(0, 0).start
        margin = job.source.text[job.source.line_of(start).start : start]
        if edits and margin.strip() == "":  # a here-document that is indented by tabs
            edits = [edit._replace(content=edit.content + margin) for edit in edits]
        yield Finding(span, message, fix=Fix(f"add {fault.line}", edits))


CASES = [
    Bad(
        """\
        «#SBATCH --time=5»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=5
        srun ./a.out
        """,
    ),
    Bad(
        "\n«#!/bin/bash»\n#SBATCH --time=5\nsrun ./a.out\n",
        fixed="#!/bin/bash\n#SBATCH --time=5\nsrun ./a.out\n",
        title="a blank line above",
    ),
    Bad(
        """\
        # Copyright: the authors
        #
        «#!/bin/bash -l»
        #SBATCH --time=5
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash -l
        # Copyright: the authors
        #
        #SBATCH --time=5
        srun ./a.out
        """,
        title="a licence above",
    ),
    Bad(
        """\
        «!/bin/bash»
        #SBATCH --time=5
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=5
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        for n in 1 2; do
            sbatch <<EOF
        «#SBATCH --nodes=$n»
        srun ./a.out
        EOF
        done
        """,
        unsafe_fixed="""\
        #!/bin/bash
        for n in 1 2; do
            sbatch <<EOF
        #!/bin/bash
        #SBATCH --nodes=$n
        srun ./a.out
        EOF
        done
        """,
        title="a script that is fed to sbatch",
    ),
    Good("#! /bin/bash\n#SBATCH --time=5\nsrun ./a.out\n"),
    Good("{{ header }}\n#SBATCH --time=5\nsrun ./a.out\n", title="a template brings its first line"),
    Good("# to be put in front of every job\n#SBATCH --time=5\n#SBATCH --account=x\n", title="a header only"),
]
