"""Files that a script reads into its shell and that are not there to be read: they may set any variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.bash.values import expansions, shown_text
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Files that are sourced everywhere, and set up one tool.
_TOOLS = Regex(r"(?:.*/)?(?:activate|conda\.sh|mamba\.sh|modules?(?:\.\w+)?|lmod\w*)|/etc/.*")
# Those of the user's own shell.
_PERSONAL = Regex(r"(?:.*/)?\.?(?:bashrc|bash_profile|profile)")
_HOOKS = ("conda", "mamba", "module", "spack")


def may_set_variables(job: Job, *, personal: bool = True) -> bool:
    """Whether a file that cannot be read here may set variables of the script's own; `personal`: ~/.bashrc may, too."""
    for command in job.invocations:
        if command.name in ("source", ".") and not command.children and len(command.argv) > 1:
            name = shown_text(command.argv[1]).rpartition("\ue000")[2]
            if not _TOOLS.fullmatch(name) and (personal or not _PERSONAL.fullmatch(name)):
                return True
        elif command.name == "eval" and len(command.argv) > 1 and command.text is None:
            found = " ".join(each.name for field in command.argv[1:] for each in expansions(field))
            if not any(hook in found for hook in _HOOKS):
                return True
    return False
