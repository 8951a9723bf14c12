"""A sourced file is written for another shell: this one stops in it, or runs only a part of it.

`source ~/.cshrc`, `. compilervars.csh` and `source venv/bin/activate.fish` in a bash script give bash commands that it
does not have (`setenv`, `set path = …`), or syntax errors. The variables that the file sets are not set, and the
programs of its environment are not found. ~/.zshrc is mostly settings of a terminal: bash stops at the first that it
cannot read.

A warning; the file may happen to hold only what both shells understand.

## Fix

None: there is usually a file for bash beside it (`compilervars.sh`, `activate`, ~/.bashrc).

## References

bash(1), "source"
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB453", "file-of-other-shell", severity="warning", fix="never", since="0.1.0", when=Commands("source", "."),
    seen="bash(1)", unseen="`setenv: command not found`, or a syntax error in a file that is sourced.",
)  # fmt: skip

# Files by the shell that reads them.
_FILES = {
    "csh": Regex(r"(?:.*/)?(?:\.t?cshrc|\.login|[^/]*\.t?csh)"),
    "fish": Regex(r"(?:.*/)?[^/]*\.fish"),
    "zsh": Regex(r"(?:.*/)?(?:\.zshrc|\.zshenv|\.zprofile)"),
}


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    shell = job.interpreter_line[0]
    if len(command.argv) < 2 or command.context.tested or command.alternatives > 1 or shell not in ("bash", "sh"):
        return
    path = shown_text(command.argv[1])
    other = next((name for name, pattern in _FILES.items() if pattern.fullmatch(path)), None)
    if other is not None and command.context.parent is None:
        name = path.rpartition("/")[2]
        instead = "`~/.bashrc` instead" if name[:1] == "." else "its version for bash, often beside it"
        message = f"`{name}` is for {other}, and bash may fail on its commands; source {instead}"
        yield Finding(command.span, message)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        «source ~/.cshrc»
        srun ./solver
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        «source venv/bin/activate.fish»
        python train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        source ~/.bashrc
        . /opt/intel/bin/compilervars.sh intel64
        csh -c 'source ~/.cshrc; ./solver'
        """
    ),
]
