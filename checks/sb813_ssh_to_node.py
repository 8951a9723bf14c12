"""Programs run outside the job: the script starts them by ssh, where Slurm does not control them.

What ssh, pdsh or clush starts is a child of the node's sshd: it has neither the job's limits nor its environment and
GPUs, does not appear in its accounting, and keeps running after the job has ended, unless the site adopts such
processes (pam_slurm_adopt). `srun --overlap -N1 -n1 -w NODE` does the same inside the job.

Tunnels (`ssh -N`) and other machines are not reported.

## Fix

None.

## References

srun(1), --overlap and --nodelist; https://slurm.schedmd.com/pam_slurm_adopt.html
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import holder_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.environment import NODE_LISTS, shows_hostnames
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands

# Letters of options that take a value, and of those for tunnels; and the option that names the nodes.
_SSH, _PARALLEL, _TUNNEL = "BbcDEeFIiJLlmOoPpQRSWw", "wxftulghHpoOieAXR", "NfLRDWO"
_NAMING = {"pdsh": "w", "clush": "w", "pssh": "H", "parallel-ssh": "H"}
CARD = Card(
    "SB813", "ssh-to-node", severity="info", fix="never", since="0.1.0", when=Commands("ssh", "rsh", *_NAMING),
    seen="public scripts", batch=True,
)  # fmt: skip

_LONGEST = 20  # characters of a host that a message shows
_QUOTED = "'…'"


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if command.phase is Phase.SUBMIT:
        return
    if any(map(_is_of_job, _hosts(command))):
        outside = f"processes started with {command.name} are outside the job, so Slurm may be unable to"
        forms = [f"{outside} {what} them; write `{_with_srun(job, command)}`" for what in ("limit or end", "end")]
        yield Finding(command.name_span, next((each for each in forms if len(each) <= MOST), forms[-1]))


def _with_srun(job: Job, command: Invocation) -> str:
    """The srun that starts the same in the job."""
    if command.name in _NAMING:
        return "srun --overlap --ntasks-per-node=1 PROGRAM"
    host = _hosts(command)[0]
    place = span_of(host)
    read = None if command.span.contains(place) else holder_of(job, command, host)
    node = job.source.slice(place if read is None else read.span).strip("\"'")
    node = node.rpartition("@")[2] if len(node) < _LONGEST and not set(node) & set(" \n") else "NODE"
    if "$" in node:
        node = f'"{node}"'
    at = next(at for at, each in enumerate(command.argv) if each is host)
    program = [shown_text(each) for each in command.argv[at + 1 :]]
    shell = not program or any(set(word) & set(" ;&|<>") for word in program)
    return f"srun --overlap -N1 -n1 -w {node} {'bash -c ' + _QUOTED if shell else 'PROGRAM'}"


def _hosts(command: Invocation) -> list[Pieces]:
    """The words of a command that name the nodes on which it starts something."""
    naming = _NAMING.get(command.name or "")
    at = 1
    found: list[Pieces] = []
    while at < len(command.argv):
        word = shown_text(command.argv[at])
        if word[:1] != "-":
            return found if naming else [command.argv[at]]
        letter = word[1:2]
        if naming == letter:
            found.append(command.argv[at + 1] if word[2:] == "" and at + 1 < len(command.argv) else command.argv[at])
        if not naming and letter in _TUNNEL:
            return []
        at += 2 if letter in (_PARALLEL if naming else _SSH) and len(word) == 2 else 1
    return found


def _is_of_job(host: Pieces) -> bool:
    """Whether a host name comes from the job's node list."""
    for expansion in expansions(host):
        for source in expansion.all():
            if source.name in NODE_LISTS or "show hostname" in source.name:
                return True
            if any(map(shows_hostnames, source.commands)):
                return True
    return False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
            «ssh» "$node" "cd $PWD && ./agent" &
        done
        wait
        """
    ),
    Bad('#!/bin/bash\n#SBATCH --nodes=4\n«pdsh» -w "$SLURM_JOB_NODELIST" ./agent\n', title="all at once"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\nssh login1 sbatch next.sbatch\n", title="another machine"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
            srun --overlap -N1 -n1 -w "$node" ./agent &
        done
        wait
        """
    ),
]
