"""The shell programs of a script: its own, and those that its shells parse; and whether one reads its arguments."""

from sbatchlint.bash.syntax.tree import Parameter, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex


@once
def programs(job: Job) -> list[tuple[Text, Program]]:
    """The script's own program, and each that a shell in it parses: by `bash -c`, `eval`, a heredoc, or from a file."""
    texts = [each.text for each in job.invocations if each.text is not None]
    if len({each.string for each in texts}) < len(texts):  # a program that runs several times is listed once
        texts = list({each.field: each for each in texts}.values())
    return [(job.text, job.program), *((text, job.parsed(text.string)) for text in texts)]


# Files that set up a shell, whatever the arguments.
_PROFILE = Regex(r"(?:^|/)(?:\.?(?:bashrc|bash_profile|profile|zshrc)|activate|(?:conda|mamba|lmod|modules?)\.sh)\"?$")
_READERS = ("shift", "getopts", "getopt", "source", ".", "eval")


def reads_arguments(job: Job, text: Text) -> bool:
    """Whether a program reads its arguments, or may do so in a file that it sources."""
    for node in nodes(job.parsed(text.string)):
        if isinstance(node, Parameter) and (node.name in "@*#" or is_number(node.name) and node.name != "0"):
            return True
        if isinstance(node, Simple) and node.words and isinstance(node.words[0], Word):
            word = node.words[0]
            name, last = text.string[word.start : word.end], node.words[-1]
            sets_up = name in ("source", ".") and _PROFILE.search(text.string[last.start : last.end]) is not None
            if name in _READERS and not sets_up:
                return True
    return any(piece.text is None and not piece.expansion for piece in text.field)
