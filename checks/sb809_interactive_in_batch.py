"""A command ends or waits forever: it needs a terminal, and a batch job has none.

Standard input of a batch script is /dev/null. `srun --pty bash` runs a shell that reads nothing and ends at once, and
so do `bash`, `python` and `apptainer shell IMAGE` without a program; `read` returns 1 with an empty value; `salloc`
asks for a second allocation, at once or after a time in the queue, while that of the job is idle; `watch` and `vim`
draw a screen into a log file; `top` ends with an error; `clear` fails where TERM is not set, which ends a script with
`set -e`. `apt-get install` and `yum install` need root, which a user's job is not: they install nothing.

What stands below a shell that was to be entered (`apptainer exec IMAGE bash`, `ssh NODE`, `poetry shell`, and `python
train.py` on the next line) runs outside of it: an error where all the work below runs outside of the container, a
warning for another node or environment.

Nothing is reported where a test decides whether it runs (`[ -t 0 ]`, `[ -z "$SLURM_JOB_ID" ]`), or where the command
has its own input.

## Fix

Removes `--pty` from an srun that starts a program: srun ignores it anyway. None for all others: start interactive work
with `salloc`, or `srun --pty bash`, on the login node.

## References

sbatch(1), --input; srun(1), --pty; live runs of Slurm 22.05: `Not using a pseudo-terminal, disregarding --pty option`
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import remove_step_option
from sbatchlint.analysis.expansion.reads import guarded_names
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.input import is_read, readers
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.script.samples import is_sample
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Function
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_of
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex, occurs
from sbatchlint.triggers import Commands, StepOptions

# Programs that read commands from their input if they get none as arguments.
SHELLS = ("bash", "sh", "zsh", "ksh", "csh", "tcsh", "fish", "python", "python3", "ipython", "R", "julia", "octave")
CONTAINERS = ("apptainer", "singularity")
# Full-screen programs, by the one that behaves the same without a terminal.
SCREENS = {
    "vi": "vim", "vim": "vim", "nano": "top", "emacs": "top", "htop": "top", "nvtop": "top", "top": "top",
    "watch": "watch", "screen": "top", "tmux": "top",
}  # fmt: skip
INSTALLERS = ("apt", "apt-get", "yum", "dnf", "zypper")
_CHANGES = frozenset({"install", "update", "upgrade", "remove", "dist-upgrade"})
# Programs that enter an environment by starting a shell in it; and those that start a program of their words.
_ENTERING = {"poetry": "shell", "pipenv": "shell", "hatch": "shell"}
_STARTERS = frozenset(
    {"srun", "docker", "podman", "conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "env", "time", "nice"}
    | {"numactl", "taskset", "stdbuf", "shifter", "ch-run", *CONTAINERS}
)
_DETACHED = Regex(r"-[a-z]*d[a-z]*|--detach(?:=true)?")
_INPUT = Regex(r"-i|--input\b")
_SSH_FLAGS = Regex(r"-[AaCKkqTtvXxY46]+")
_NAMES = (*INSTALLERS, "read", "ssh", *_ENTERING, "salloc", "clear", "reset", "sudo", *SHELLS, *CONTAINERS, *SCREENS)
_INTERACTIVE = frozenset(_NAMES)
CARD = Card(
    "SB809", "interactive-in-batch", severity="error", fix="sometimes", since="0.1.0",
    when=Commands(*_NAMES) | StepOptions("pty"),
    seen="live runs of Slurm 22.05", batch=True,
)  # fmt: skip

# What a script says whose lines are for a terminal.
_TO_PASTE = Regex(
    r"(?i)paste\b[^\n]{0,60}\b(?:terminal|shell|command line|console|one by one|line by line)\b"
    r"|\b(?:one by one|line by line|step by step)\b[^\n]{0,40}\b(?:terminal|shell|command line|console)\b"
)
# Beginnings of options with which such a program needs no screen.
_WITHOUT_SCREEN = {
    "top": ("-b", "-nb"), "emacs": ("--batch", "-batch", "--script"), "vim": ("-e", "-E", "-s", "-c", "-n"),
    "vi": ("-e", "-s", "-c"), "screen": ("-d", "-D", "-ls", "-X", "-S"),
    "watch": ("-g", "--chgexit", "-q", "--equexit"),
    "tmux": ("new-session", "kill", "ls", "list", "send", "has", "new", "-V"),
}  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    if not job.is_shell or job.request.has_option("input"):
        return
    ptys = {id(step.invocation): step for step in job.steps if "pty" in step.options}
    seen: set[int | str] = set()
    names = _INTERACTIVE | {"srun"} if ptys else _INTERACTIVE
    for command in commands_of(job, names.__contains__):
        entered = command.phase is Phase.TASK and command.parent is not None
        if command.phase is not Phase.BATCH and not entered or command.span.start in seen:
            continue
        step = ptys.get(id(command))
        finding = _of_pty(job, step) if step is not None else _of_command(job, command)
        starters = (command, *command.ancestors())
        if finding is not None and not any(depends_on_test(each) or each.name == "timeout" for each in starters):
            seen.add(command.span.start)
            if _is_typed_by_hand(job):
                finding = finding._replace(severity="info")
            if finding.severity != "info" or command.name not in seen:
                yield finding
            seen.add(command.name or "")


@once
def _is_typed_by_hand(job: Job) -> bool:
    """Whether the lines of a script are meant for a terminal: it says so, or it has several interactive steps."""
    shells = [each for each in job.steps if "pty" in each.options and each.command]
    several = sum(_is_shell(each.invocation.words[each.command :]) for each in shells) > 1
    return several or occurs(_TO_PASTE, job.source.own.text)


@once
def _with_input_of_job(job: Job) -> dict[int, bool]:
    """The offsets of commands that have the standard input of the job, and whether each is a `read`."""
    text, program = programs(job)[0]
    if any(each.name == "exec" and len(each.argv) == 1 and each.redirects for each in job.invocations):
        return {}
    functions = {each.name: each for each in nodes_of(program, Function)}
    return {
        text.span(reader.command.words[0].start, reader.command.end).start: is_read(text.string, reader.command)
        for reader in readers(program.statements, functions)
        if reader.command.words
    }


def _of_pty(job: Job, step: Step) -> Finding | None:
    option = step.options["pty"]
    if option.text is not None or step.invocation.redirects:
        return None
    programs_of = step.invocation.words[step.command :] if step.command else []
    if programs_of and _is_shell(programs_of) and not any(each.children for each in step.program):
        return Finding(
            step.place,
            f"a batch job has no terminal: `{programs_of[0]}` gets no input and ends at once; run this line on the "
            "login node",
            "info" if _is_after_work(job, step.invocation) else "warning",
        )
    edit = remove_step_option(job, step, option)
    return Finding(
        option.span,
        "a batch job has no terminal, so srun ignores --pty; remove it",
        "info",
        fix=None if edit is None else Fix("remove --pty", [edit], safe=True),
    )


def _is_shell(words: list[str]) -> bool:
    """Whether the words start a program that reads commands from standard input."""
    name = words[0].rpartition("/")[2]
    if "#!" in words[0]:
        return False  # a shebang with something before it
    if name in CONTAINERS:
        return "shell" in words[1:3]
    return name in SHELLS and all(each in ("-i", "-l", "-il", "-li", "--login", "-q", "--norc") for each in words[1:])


def _keeps_job_alive(job: Job, command: Invocation) -> bool:
    """Whether work in the background would end with the job if the command did not stand there."""
    started = any(each.context.background is not None for each in job.invocations[: command.index])
    return started and not any(each.name == "wait" for each in job.invocations[command.index :])


@once
def _works(job: Job) -> list[int]:
    """The indexes of the commands that work and are not bare shells."""
    others = (each for each in job.invocations if each.words and not _is_shell(each.words))
    return [each.index for each in others if weight(job, each) >= Weight.PROGRAM]


def _is_after_work(job: Job, command: Invocation) -> bool:
    """Whether all work of the script has run before, so that nothing is lost with the shell."""
    works = [each for each in _works(job) if each != command.index]
    return bool(works) and works[-1] < command.index


def _of_command(job: Job, command: Invocation) -> Finding | None:
    words = command.words
    name = command.name or ""
    happens, severity = "", "warning"
    # in a container, or by another program in front of it
    entered = _is_shell(words) and (command.parent is not None or name in CONTAINERS)
    if command.phase is Phase.TASK or name == "ssh" or name in _ENTERING or entered:
        return _of_entered(job, command)
    if name == "salloc":
        advice = "start the program with srun" if command.children else "remove this salloc"
        happens = f"salloc requests a second allocation, while the job's own stays idle; {advice}"
    elif name in ("clear", "reset") and len(words) == 1:
        severity = "info"
        happens = f"`{name}` writes control characters into the log, and fails if TERM is not set; remove it"
    elif name == "sudo" and not any(each in ("-n", "-S", "-A", "-nE") for each in words[1:3]):
        severity = "info"
        happens = "a batch job has no terminal, so sudo fails if it asks for a password; run this outside the job"
    elif name in INSTALLERS and not _CHANGES.isdisjoint(words[1:3]) and command.parent is None:
        happens = f"`{name}` needs root, which jobs do not have; use a module, conda or a container"
    elif name in SCREENS and command.context.background is None and not _needs_no_screen(name, words):
        kind = SCREENS[name]
        ends = {"vim": "waits for keys that nobody can press", "top": "ends with an error"}.get(kind, "never ends")
        advice = "write `wait` instead" if _keeps_job_alive(job, command) else "remove it"
        happens = f"a batch job has no terminal: `{name}` {ends}; {advice}"
        severity = "info" if is_sample(job) else severity  # a text of commands to follow by hand
    elif name == "read" and _with_input_of_job(job).get(command.span.start):
        if not command.redirects and not command.context.loops and not _has_other_answer(job, command):
            happens = "a batch job has no terminal: `read` returns at once, with an empty value"
            happens = f"{happens}; pass the value as an argument"
    elif words[0][:1] != "!" and _is_shell(words) and command.parent is None and _has_input_of_job(job, command):
        if command.children:
            return None  # `apptainer shell IMAGE -c …`
        happens = f"a batch job has no terminal: `{words[0]}` gets no input and ends at once; remove this command"
        if command.index < max(_works(job), default=-1):
            severity = "info"  # it ends with 0, and what follows is done all the same
    return Finding(command.span, happens, severity) if happens else None


def _has_other_answer(job: Job, command: Invocation) -> bool:
    """Whether the script goes on without the answer to a `read`: `read -t 9 x || x=yes`, `${x:-yes}` below."""
    if job.source.text[command.span.end : command.span.end + 40].lstrip()[:2] == "||":
        return True
    names = [each for each in command.words[1:] if each.isidentifier()]
    return bool(names) and names[-1] in guarded_names(job)


def _of_entered(job: Job, command: Invocation) -> Finding | None:
    """The finding on a shell without input that was to be entered: what stands below it runs outside."""
    starters = [*command.ancestors()]
    outermost = starters[-1] if starters else command
    if command.children or not _has_input_of_job(job, outermost) or not _gets_nothing(command, starters):
        return None
    below = [job.invocations[index] for index in _works(job) if index > command.index]
    works = [each for each in below if not each.children]
    contained = command.name in CONTAINERS or container_of(command) is not None
    outside = [each for each in works if container_of(each) is None]
    shell = " ".join(command.words[:2]) if command.name in (*CONTAINERS, *_ENTERING, "ssh") else command.words[0]
    if not shell.isprintable():
        shell = command.name or "the shell"
    happens = f"`{shell}` gets no input in a batch job and ends at once"
    if not outside:
        severity = "info" if works or _is_after_work(job, command) else "warning"
        return Finding(outermost.span, f"{happens}; remove this command", severity)
    related = [(outside[0].name_span, "runs outside")]
    if contained:
        severity = "error" if len(outside) == len(works) and outermost.name not in ("docker", "podman") else "warning"
        advice = "everything below runs outside the container; use a heredoc"
    elif command.name == "ssh":
        severity, advice = "warning", "everything below runs on this node; pass it to ssh"
    elif command.name in _ENTERING or outermost.name in ("conda", "mamba", "micromamba"):
        severity, advice = "warning", "everything below runs outside; start each command with `run`"
        if outermost is command:
            advice = f"everything below runs outside; write `{command.name} run COMMAND`"
    else:
        severity, advice = "info", "everything below runs in the batch script"
    return Finding(outermost.span, f"{happens}, so {advice}", severity, related=related)


def _gets_nothing(command: Invocation, starters: list[Invocation]) -> bool:
    """Whether a command certainly is a shell that is told nothing: no program, no input, and no tunnel."""
    names = {each.name or "" for each in starters}
    if command.alternatives > 1 or command.context.background is not None or not names <= _STARTERS:
        return False
    if any(each.name == "srun" and any(map(_INPUT.match, each.words[1:])) for each in starters):
        return False
    if names & {"docker", "podman"} and any(_DETACHED.fullmatch(each) for one in starters for each in one.words[1:]):
        return False
    if command.name == "ssh":
        return _is_login(command)
    if command.name in _ENTERING:
        return command.words[1:] == [_ENTERING[command.name]]
    return _is_shell(command.words)


def _is_login(command: Invocation) -> bool:
    """Whether an ssh opens a shell: it gets a host, no command, and no option but for how to log in."""
    at, words = 1, command.words
    while at < len(words) - 1:
        if words[at] in ("-i", "-l", "-p", "-o", "-F"):
            at += 2
        elif _SSH_FLAGS.fullmatch(words[at]):
            at += 1
        else:
            return False
    return at == len(words) - 1 and words[at][:1] != "-" and all(each.text is not None for each in command.argv[at])


def _has_input_of_job(job: Job, command: Invocation) -> bool:
    return not command.redirects and command.span.start in _with_input_of_job(job)


def _needs_no_screen(name: str, words: list[str]) -> bool:
    known = (*_WITHOUT_SCREEN.get(name, ()), "--version", "--help")
    return any(each.startswith(known) for each in words[1:])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        module load python
        «srun» --pty bash -i
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «salloc --nodes=1 ./simulate»
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «read -p "How many steps? " steps»
        srun ./simulate $steps
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        «apptainer exec --nv cuda.sif bash»
        python train.py
        """,
        title="what stands below was meant for the container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun «--pty» python train.py
        """,
        fixed={"--pty python": "python"},
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        if [ -z "$SLURM_JOB_ID" ]; then
            salloc --nodes=1 "$0"
        fi
        srun ./simulate
        """,
        title="not in the job",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nread -r steps < steps.txt\nsrun ./simulate $steps\n", title="from a file"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        singularity shell -B $DATA:/data tools.img -c "cd /data && bash simulate.sh"
        apptainer shell tools.sif simulate.sh
        """,
        title="the shell in the container gets a program",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\ntop -b -d 60 > top.log &\nsrun ./simulate\n", title="for a log"),
]
