"""Comments that ignore findings do not change what sbatch reads, wherever docs/ignoring.md says that they may stand."""

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.ignores import with_ignores
from sbatchlint.source.text import Source, Span

from .comparison import compare_all
from .local_slurm import LocalSlurm

COMMENT = "# sbatchlint: ignore[short-option-equals, SB1] a reason, --nodes=7"
PLACES = (
    f"#!/bin/bash\n{COMMENT}\n#SBATCH --nodes=2\n#SBATCH --job-name=kept\nhostname\n",
    f"#!/bin/bash\n#SBATCH --nodes=2\n{COMMENT}\n\n#SBATCH --job-name=kept\nhostname\n",
    f"#!/bin/bash\n#SBATCH --nodes=2 {COMMENT}\n#SBATCH --job-name=kept {COMMENT}\nhostname\n",
    f"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --job-name=kept\n{COMMENT}\nhostname {COMMENT}\n",
)


def test_sbatch_reads_the_same_job(slurm: LocalSlurm) -> None:
    plain = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --job-name=kept\nhostname\n"
    first, *others = compare_all(slurm, [plain, *PLACES])
    assert (first.outcome, first.accepted) == ("accepted", True)
    for compared in others:
        assert compared[1:] == first[1:]


# Each line that says MARK has a finding: in continued commands, strings, heredocs, and a script inside of one.
JOB = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1 --comment=MARK
export A="one
# MARK $SLURM_NTASKS"
srun echo MARK \\
    "$A" \\
    MARK
cat <<EOF
# MARK
EOF
bash <<'EOF' | cat  # MARK
echo inner \\
    MARK
EOF
for each in MARK \\
    b; do echo "$each"; done
srun bash -c '
    echo MARK &&
        echo $SLURM_PROCID
'
"""


def test_comments_that_the_command_writes_change_no_job(slurm: LocalSlurm) -> None:
    source = Source(JOB, "job.sbatch")
    at = [place for place in range(len(JOB)) if JOB.startswith("MARK", place)]
    found = [Diagnostic("SB110", "toy", "error", "", Span(each, each + 4), (), None, source, "") for each in at]
    after = with_ignores(source, found, "a reason").text
    assert after.count("sbatchlint: ignore[toy] a reason") == 7
    slurm.run_ahead([JOB, after])
    plain, commented = slurm.run(JOB), slurm.run(after)
    assert plain.state == "COMPLETED" and plain.output.count("MARK") == 7, plain
    assert commented[1:] == plain[1:]  # all but the number
