"""Programs that may find the other nodes of a job themselves, and start work there."""

import re

from sbatchlint.analysis.script.step_programs import UTILITIES
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.job.argv import program_name
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

# Programs that find the nodes of the job themselves, and interpreters, whose scripts may do so.
_FINDING_NODES = Regex(
    r"python[\d.]*|R|Rscript|julia|matlab|octave|perl|ruby|java|node|g\d\d|orca|qchem|molpro|ams|abaqus|fluent|cfx5?\w*"
    r"|ansys\w*|star\w*|comsol|lsdyna|nextflow|snakemake|cromwell|h?adoop|make|ninja|ctest|pytest|uv|conda|mamba|pixi"
    r"|docker|podman|apptainer|singularity|vagrant|ansible\w*|jupyter\w*"
)
_NAMING_NODES = Regex(
    r"submit|slurm|spark|parsl|launch|executor|node|host|machine|master|worker|server|(?:^|[/._-])(?:re)?(?:run|start)(?:$|[._-])",
    re.IGNORECASE,
)


def may_find_nodes(command: Invocation) -> bool:
    """Whether a command is a program, or runs a script, that may start work on other nodes, as far as words tell."""
    name = program_name(command)
    if name is None or _FINDING_NODES.fullmatch(name) or "." in name:
        return True
    words = command.words
    return any(_NAMING_NODES.search(each) for each in words[0 if "/" in words[0] else 1 :])


def is_custom_program(command: Invocation) -> bool:
    """Whether a command is a program called by its path, or starts such a program, and knows of no other nodes."""
    if command.phase is not Phase.BATCH or command.children or command.context.captured:
        return False
    name, words = program_name(command), command.words
    if name in UTILITIES or may_find_nodes(command):
        return False
    # `./a.out`, `tracer /opt/app/bin/solve`; not `cat /proc/cpuinfo`, nor a tool with a folder as its argument
    return (
        "/" in words[0]
        or len(words) > 1
        and words[1].startswith(("./", "/"))
        and not has_trait(name, "stages", "screen")
    )
