"""Shorter forms of what users wrote, for messages that only tell which word is meant."""

import re

from sbatchlint.source.regex import Regex
from sbatchlint.source.secrets import MASK, redacted

MOST = 140
"""The characters that a message may have before the script's own words in it are shortened."""
_LONG = 45
_COVERED = Regex(r"\*{9,}")
# Code in a message, after a word that asks to write exactly this.
_CODE = Regex(r"(\b(?:write|run|add|append) )?`([^`]*)`")
# Phrases and shorter ones of the same meaning.
_PHRASES = (
    (" the pipeline returns the status of ", " the status is that of "),
    (" other commands) fails", " others) fails"),
    (" the job still ends COMPLETED", " the job ends COMPLETED"),
    ("to each that matters", "to each"),
    (" run one after another", " run one by one"),
    (", and request enough CPUs for all", ", and request enough CPUs"),
    (" a later command in the same shell sets the exit status", " its shell runs another command after it"),
    (" in Slurm 26.05 and later", " from Slurm 26.05 on"),
)


def shortened(written: str, most: int = _LONG) -> str:
    """A path by its last parts, a command by its first words, where they have more than `most` characters.

    It never cuts a word or the name of a file, so the result may still be longer.
    """
    if len(written) <= most:
        return written
    # of what is left of it, nobody would see that it is a secret
    written = _COVERED.sub(MASK, redacted(written))
    if len(written) <= most:
        return written
    if written.startswith("$("):
        return "$(…)"
    first, *others = written.strip("`").split() or [written]
    if others:
        kept = shortened(first, most)
        for word in others:
            kept += f" {_end_of_path(word, most - len(kept) - 1)}"
            if len(kept) > most:
                return f"{kept.rpartition(' ')[0]} …"
        return kept
    option, equals, value = written.partition("=")
    if equals and option.startswith("-"):
        return f"{option}={_end_of_path(value, most - len(option))}"
    return _end_of_path(written, most)


def _end_of_path(path: str, most: int) -> str:
    """The last parts of a path after an ellipsis, and at least the name of the file."""
    if len(path) <= most:
        return path
    at = path.find("/", max(len(path) - most + 1, 0), len(path) - 1)
    if at < 0:
        at = path.rfind("/", 0, len(path) - 1)
    return f"…{path[at:]}".rstrip("\"'" if path[0] in "\"'" else "") if at > 0 else path


def shorten_message(message: str, script: str) -> str:
    """A message of more than `MOST` characters with the long words of the script, and some phrases in it, shortened."""
    if len(message) <= MOST:
        return message

    def code(found: re.Match[str]) -> str:
        asks, written = found.groups()
        return found[0] if asks or written not in script else f"`{shortened(written)}`"

    message = _CODE.sub(code, message)
    for phrase, shorter in _PHRASES:
        if len(message) > MOST:
            message = message.replace(phrase, shorter)
    return message
