"""The script goes on without its environment: `conda activate` fails in an uninitialised shell.

`conda activate` is a shell function, which `conda init` puts into `~/.bashrc`. A batch script does not read that file,
and a program that a script starts (`srun bash -c "…"`) does not inherit functions. conda then prints `CondaError: Run
'conda init' before 'conda activate'` (before 23.11.0 `CommandNotFoundError: Your shell has not been properly configured
to use 'conda activate'.`), and what follows runs with the Python that happens to be in PATH.

`source ~/.bashrc` does not help everywhere: on Debian and Ubuntu the file returns at once in a shell that is not
interactive, before what `conda init` wrote.

Nothing is reported where an unknown file is sourced, the shell is a login shell, or the script goes on and activates an
environment by `source activate`, which needs no function. That is advice where nothing in the script puts conda into
PATH: it works only if the submitting shell did.

Advice where a start file of the shell is read first, which suffices on most systems, and where a module of conda or
Python is loaded: at some sites it defines the function (so at NERSC, Princeton and Mila, where it is not reported), at
others it only puts conda into PATH.

conda itself is not found either in a script that calls it above the line that puts it into PATH.

## Fix

Adds `eval "$(conda shell.bash hook)"` before it. Unsafe: conda must be in PATH.

## References

conda/conda#8536, #13191 (`conda.cli.main_mock_activate`, in 23.11.0); /etc/skel/.bashrc of Debian 12
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.sourced import is_unclear_source, reads_startup_files
from sbatchlint.analysis.script.activations import (
    calls_conda_function,
    may_define_conda_function,
    sources_activate,
    sources_startup_file,
)
from sbatchlint.analysis.script.centres import defines_conda_by_module
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import Phase, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.launches import container_of
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB610", "conda-not-initialised", severity="warning", fix="sometimes", since="0.1.0",
    when=Commands("conda", "mamba", "micromamba", "source"), whole_script=True, batch=True,
)  # fmt: skip

PROVIDERS = Regex(r"(?i)conda|mamba|forge|python|pytorch|torch|tensorflow|jupyter|\bR\b|/r\b|open-?ce\b|powerai|wml")
DEFINING = Regex(r"(?:^|/)(?:conda|mamba|micromamba)\.sh$|(?i:conda|mamba|forge)")
# How a command may define conda's function, or activates an environment otherwise.
_SETTING_UP = (may_define_conda_function, sources_activate, is_unclear_source)
_OF_PYTHON = Regex(r"(?i)(?:\w+/)?(?:c?python|anaconda|miniconda)")


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh") or "BASH_ENV" in job.source.text:
        return
    if reads_startup_files(job.interpreter_line[1].split()):
        return
    yield from _early_call(job)
    yield from filter(None, [_plain_source(job)])
    for command in job.invocations:
        if not calls_conda_function(command) or text_of(command.argv[1]) != "activate":
            continue
        if command.context.handler or container_of(command) is not None or command.calls_function:
            continue
        if any(job.span(*each).start < command.span.start for each in job.program.errors):
            return  # a line that bash cannot read may load it: `module load conda mpi/<version>`
        personal, module, may_be_defined = _history(job, command)
        if may_be_defined or _is_activated_after(job, command):
            continue
        name = command.name
        hook = 'eval "$(conda shell.bash hook)"' if name == "conda" else f'eval "$({name} shell hook --shell bash)"'
        above = "above this line"
        if command.context.parent is not None or _continues(job, command):
            above = "before it"
        if module is not None and defines_conda_by_module(job):
            return
        if module is not None:
            row, related = job.line(module.span.start), [(module.span, "may only put conda into PATH")]
            fails = f"at some sites the module on line {row} does not set up `{name} activate`"
            if personal is not None:
                fails = f"the module and .bashrc (lines {row} and {job.line(personal.span.start)}) may not set up "
                fails += f"`{name} activate`"
                related.append((personal.span, "may return at once in a non-interactive shell"))
            yield Finding(
                command.span,
                f"{fails}; add `{hook}` {above}",
                "info",
                related=related,
                fix=_with_hook(job, command, hook),
            )
            return
        if personal is not None:
            # what did not run may be what puts conda into PATH, so that the hook would not be found either
            sets_up = "source CONDA_DIR/etc/profile.d/conda.sh" if name == "conda" else hook
            yield Finding(
                command.span,
                f"`{name} activate` may fail: many `.bashrc` files (line {job.line(personal.span.start)}) return early "
                f"in a job; add `{sets_up}` {above.removesuffix(' this line')}",
                "info",
                related=[(personal.span, "may return at once in a non-interactive shell")],
            )
            return
        alone = all(weight(job, each) is Weight.NONE for each in job.invocations[command.index + 1 :])
        mild = alone or _is_in_path(job, command) or len(command.argv) == 2 and _is_replaced(job, command)
        ends = "the job ends" if command.state.option("errexit") else "the script goes on"
        yield Finding(
            command.span,
            f"`{name} activate` fails because nothing sets conda up in this shell, and {ends}; add `{hook}` {above}",
            "info" if mild and not command.state.option("errexit") else None,
            fix=_with_hook(job, command, hook),
        )
        return


def _is_replaced(job: Job, command: Invocation) -> bool:
    """Whether a module of Python is loaded after the base environment was activated, before any work."""
    for later in job.invocations[command.index + 1 :]:
        if later.name in ("module", "ml"):
            if any(map(_OF_PYTHON.match, later.words[1:])) and "unload" not in later.words:
                return True
        elif weight(job, later) is not Weight.NONE:
            return False
    return False


def _plain_source(job: Job) -> Finding | None:
    """The finding on a `source activate` that finds its file in the PATH of the submission alone."""
    if any(each.name in ("PATH", "CONDA_PREFIX") for each in job.assignments) or job.request.has_option("export"):
        return None
    for command in job.invocations:
        if command.name in ("source", "."):
            if [text_of(each) for each in command.argv[1:2]] != ["activate"] or len(command.argv) != 3:
                return None  # what it reads may put conda into PATH
            if command.context.conditional or command.context.tested or container_of(command) is not None:
                return None
            return Finding(
                command.span,
                "`source activate` works only if conda is in PATH when you run sbatch; write "
                "`source CONDA_DIR/etc/profile.d/conda.sh; conda activate …`",
                "info",
            )
        loads = has_trait(command.name, "module", "software") or has_trait(command.name, "conda")
        if loads or command.calls_function or command.name in ("eval", "bash", "sh"):
            return None
    return None


def _is_in_path(job: Job, command: Invocation) -> bool:
    """Whether the script puts the programs of the environment into PATH itself."""
    name = shown_text(command.argv[-1]).rpartition("/")[2]
    paths = (job.source.slice(each.span) for each in job.assignments if each.name == "PATH")
    return bool(name) and any(f"/{name}/bin" in path for path in paths)


def _early_call(job: Job) -> Iterator[Finding]:
    """The finding on a conda that is called above the line that puts it into PATH."""
    first: Invocation | None = None
    if any(each.name == "PATH" for each in job.assignments):
        return
    for command in job.invocations:
        context = command.context
        if context.parent is not None or context.phase is not Phase.BATCH:
            continue
        own = has_trait(command.name, "conda") and "/" in command.words[0] and "hook" in command.words
        if command.words[1:2] in (["unload"], ["rm"], ["del"]):
            continue  # a module that is taken away adds nothing
        if own or _reads_conda(command) or _is_module(command):
            named = first is not None and first.words[1:] != ["activate"]  # of the base environment
            if first is not None and named and (own or not context.conditional):
                line = job.line(command.span.start)
                adds, puts = ("may add", "may put") if _is_module(command) else ("adds", "puts")
                yield Finding(
                    first.name_span,
                    f"`{first.name}` may not be found here: only line {line} {adds} it to PATH; "
                    "move that line above this one",
                    "info",
                    related=[(command.span, f"{puts} it into PATH")],
                )
            return
        if may_define_conda_function(command) or sources_startup_file(command) or is_unclear_source(command):
            return
        if has_trait(command.name, "conda") and "/" not in command.words[0]:
            if context.conditional or context.tested or context.captured:
                return
            first = first or command


def _history(job: Job, command: Invocation) -> tuple[Invocation | None, Invocation | None, bool]:
    """The user's start file and the module of conda that a command's shell read before; whether it has the function."""
    process = _process(command.context.shell)
    enclosing = [each for each in command.ancestors() if each.text is not None]
    if enclosing and reads_startup_files(map(shown_text, enclosing[0].argv[1:])):
        return None, None, True
    personal = module = None
    for invocation in job.invocations[: command.index]:
        same_process = _process(invocation.context.shell) is process
        if _is_module(invocation) and (invocation.context.shell.depth == 0 or same_process):
            if any(text_of(field) is None for field in invocation.argv[1:]) or invocation.name not in ("module", "ml"):
                return None, None, True
            module = invocation
        elif same_process and sources_startup_file(invocation):
            if not shown_text(invocation.argv[1]).endswith("bashrc"):
                return None, None, True  # a profile does not return early
            personal = invocation
        elif same_process and (_reads_conda(invocation) or any(sets_up(invocation) for sets_up in _SETTING_UP)):
            return None, None, True
    return personal, module, False


def _is_activated_after(job: Job, command: Invocation) -> bool:
    """Whether the same shell goes on, and activates an environment differently before it does any work."""
    process = _process(command.context.shell)
    for after in job.invocations[command.index + 1 :] if not command.state.option("errexit") else ():
        if _process(after.context.shell) is process:
            if sources_activate(after):
                return True
            if weight(job, after) is not Weight.NONE:
                return False
    return False


def _is_module(command: Invocation) -> bool:
    """Whether a command loads a module that is unknown, or may provide conda and its function."""
    if command.name not in ("module", "ml", "spack", "uenv"):
        return False
    if command.words[1:2] == ["use"]:
        return True  # what the modules of a folder define is not known
    return any(text is None or PROVIDERS.search(text) for text in map(text_of, command.argv[1:]))


def _reads_conda(command: Invocation) -> bool:
    return command.name in ("source", ".") and any(DEFINING.search(word) for word in command.words[1:2])


def _process(shell: Shell) -> Shell:
    """The shell of the process: a subshell has the functions of the shell around it."""
    while shell.kind != "program" and shell.parent is not None:
        shell = shell.parent
    return shell


def _continues(job: Job, command: Invocation) -> bool:
    """Whether the line of a command continues the one above, so that no line fits between them."""
    return job.source.text.endswith(("\\\n", "\\\r\n"), 0, job.source.line_of(command.span.start).start)


def _with_hook(job: Job, command: Invocation, hook: str) -> Fix | None:
    line = job.source.line_of(command.span.start)
    spaces = job.source.text[line.start : command.span.start]
    if spaces.strip() or command.context.parent is not None or not has_trait(command.name, "conda"):
        return None
    if _continues(job, command):
        return None
    return Fix("set up conda first", [insert(line.start, f"{spaces}{hook}\n")])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «conda activate train»
        python train.py
        """,
        unsafe_fixed={"conda activate train": 'eval "$(conda shell.bash hook)"\nconda activate train'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        source ~/miniforge3/etc/profile.d/conda.sh
        conda activate train
        srun bash -c '«conda activate train»; python train.py'
        """,
        title="a task is another program, and has no functions of the script",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        source ~/.bashrc
        «conda activate train»
        python train.py
        """,
        severity="info",
        title="not everywhere",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        eval "$(conda shell.bash hook)"
        conda activate train
        """,
        title="set up first",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        module load miniforge
        «conda activate train»
        python train.py
        """,
        severity="info",
        unsafe_fixed={"conda activate train": 'eval "$(conda shell.bash hook)"\nconda activate train'},
        title="a module may do it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «conda» create -y -n train python=3.11
        source ~/miniforge3/etc/profile.d/conda.sh
        conda activate train
        """,
        severity="info",
        title="called before it is set up",
    ),
    Good("#!/bin/bash --login\n#SBATCH --nodes=1\nconda activate train\n", title="a login shell, by its long name"),
    Good("#!/bin/bash -l\n#SBATCH --nodes=1\nconda activate train\n", title="a login shell"),
]
