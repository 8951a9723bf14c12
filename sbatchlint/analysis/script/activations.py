"""Commands that activate a conda environment, and those that define the shell function for it.

`conda activate` is a shell function, which `conda.sh` or the output of `conda shell.bash hook` defines; without it,
`conda activate` fails (conda 4.4 and newer). `source activate` reads the file `activate` from PATH and needs no
function.
"""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, shown_text
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

_STARTUP_FILE = Regex(r"(?:.*/)?(?:\.?bashrc|\.?bash_profile|\.?profile|\.?bash\.bashrc)")
_OF_CONDA = Regex(r"(?i)conda|mamba|forge")
_CONDA_ACTIVATE = Regex(r"(?i)(?:.*(?:conda|mamba|forge).*/)?activate")


def calls_conda_function(command: Invocation) -> bool:
    """Whether a command is `conda activate` or `conda deactivate`, or the same of a relative such as mamba."""
    return has_trait(command.name, "conda") and command.words[1:2] in (["activate"], ["deactivate"])


def sources_activate(command: Invocation) -> bool:
    """Whether a command reads conda's `activate` into its shell: `source activate ENV`."""
    if command.name not in ("source", ".") or len(command.argv) < 2:
        return False
    file = shown_text(command.argv[1])
    if file.endswith("/bin/activate"):  # `$CONDA_ROOT/bin/activate`
        written = " ".join(each.name for each in expansions(command.argv[1]))
        if _OF_CONDA.search(written) is not None:
            return True
    return _CONDA_ACTIVATE.fullmatch(file) is not None or len(command.argv) > 2 and file.endswith("/bin/activate")


def sources_startup_file(command: Invocation) -> bool:
    """Whether a command sources a startup file of the user or the system, none of whose commands are known."""
    if command.name not in ("source", ".") or len(command.argv) < 2 or command.children:
        return False
    return _STARTUP_FILE.fullmatch(shown_text(command.argv[1])) is not None


def may_define_conda_function(command: Invocation) -> bool:
    """Whether a command is `eval "$(conda shell.bash hook)"`, or may be."""
    if command.name != "eval":
        return False
    names = " ".join(each.name for field in command.argv[1:] for each in expansions(field))
    return not command.children or any(each in names for each in ("conda", "mamba", "hook"))
