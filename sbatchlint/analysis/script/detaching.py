"""Commands that put their own work into the background and return at once: no `wait` of the shell waits for it."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER
from sbatchlint.source.regex import Regex

_ABAQUS = Regex(r"abaqus|abq\d{4}\w*")
_JOB = Regex(r"(?i)-?j(?:ob)?=.*|-j(?:ob)?")
# With another first word it is no analysis: `abaqus cae`, `abaqus fetch job=…`.
_ANALYSIS = Regex(r"(?i)-?(?:j|job|inp|input|cpus|user|double|memory|scratch|analysis)(?:=.*)?")
_INTERACTIVE = Regex(r"(?i)-?int(?:eractive)?")


def returns_at_once(command: Invocation) -> tuple[str, bool] | None:
    """What to write instead of a command that leaves its work in the background, and whether it certainly does."""
    words = command.words[1:]
    if UNKNOWN_CHARACTER in words:
        return None  # which may be the option that decides
    match command.name:
        case "nextflow":
            return ("remove `-bg`", True) if "-bg" in words else None
        case "screen":
            forks = words[:1] in (["-dm"], ["-dmS"], ["-md"], ["-mdS"]) or words[:2] in (["-d", "-m"], ["-m", "-d"])
            return ("run the program without screen", True) if forks else None
        case "tmux":
            forks = words[:1] in (["new"], ["new-session"]) and "-d" in words
            return ("run the program without tmux", True) if forks else None
        case "setsid":
            return ("remove `-f`", True) if words[:1] in (["-f"], ["--fork"]) else None
        case str() as name if _ABAQUS.fullmatch(name):
            runs = words and _ANALYSIS.fullmatch(words[0]) and any(map(_JOB.fullmatch, words))
            if not runs or any(map(_INTERACTIVE.fullmatch, words)):
                return None
            return "append `interactive`", False  # the site's settings may say so
    return None
