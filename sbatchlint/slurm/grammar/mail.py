"""`--mail-type`: on which events mail is sent (`parse_mail_type()`, src/common/proc_args.c, Slurm 20.11 to 26.05).

Words are separated by commas only, in any case. sbatch silently drops unknown words; it refuses the value only if none
is known.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before

# In the order in which Slurm prints them.
EVENTS = (
    "ARRAY_TASKS", "INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "TIME_LIMIT_50", "TIME_LIMIT_80",
    "TIME_LIMIT_90", "TIME_LIMIT",
)  # fmt: skip
# What `ALL` stands for: neither time limits nor mail for each task of an array.
ALL = frozenset(("BEGIN", "END", "FAIL", "REQUEUE", "INVALID_DEPEND", "STAGE_OUT"))
WORDS = (*EVENTS, "ALL", "NONE")

# Words of other schedulers, states of sacct, and words of similar options.
_MEANT = {
    word: event
    for event, words in {
        "FAIL": "ABORT ABORTED A CANCELLED ERROR ERRORS FAILED FAILURE",
        "BEGIN": "B BEGINS START STARTED",
        "END": "COMPLETE COMPLETED DONE E FINISH FINISHED STOP",
        "NONE": "NEVER NO",
        "TIME_LIMIT": "TIMEOUT TIME_OUT TIME-OUT TIMELIMIT TIME-LIMIT",
        "ALL": "YES",
    }.items()
    for word in words.split()
}


class Mail(NamedTuple):
    """A parsed value.

    `events`: the events it turns on, in the order of Slurm. `unknown`: the words that are dropped, as written. `none`:
    whether it contains NONE, which also undoes the words before it and hides those after it. `hidden`: the words after
    NONE.
    """

    events: tuple[str, ...]
    unknown: tuple[str, ...]
    none: bool
    hidden: tuple[str, ...]


def events(string: str) -> Mail:
    """The events of one value of `--mail-type`."""
    chosen: set[str] = set()
    unknown: list[str] = []
    words = [word for word in string.split(",") if word]
    for index, word in enumerate(words):
        upper = word.upper()
        if upper == "NONE":
            return Mail((), tuple(unknown), True, tuple(words[index + 1 :]))
        if upper == "ALL":
            chosen |= ALL
        elif upper in EVENTS:
            chosen.add(upper)
        else:
            unknown.append(word)
    return Mail(tuple(event for event in EVENTS if event in chosen), tuple(unknown), False, ())


def merged(values: Iterable[str], version: str) -> tuple[str, ...]:
    """The events in effect if the option is set several times, in order.

    Up to 24.11 they add up, and NONE removes nothing; since 25.05 the last value wins.
    """
    read = [events(value) for value in values]
    if not read:
        return ()
    if not is_before(version, "25.05"):
        return read[-1].events
    chosen = {event for mail in read for event in mail.events}
    return tuple(event for event in EVENTS if event in chosen)


def meant(word: str) -> str | None:
    """The word plainly meant by an unknown one, a list for words joined by something other than a comma; else None."""
    upper = word.strip().upper()
    if upper in WORDS:
        return upper
    for sign in "|;:+/& ":
        parts = [part for part in upper.split(sign) if part]
        if len(parts) > 1:
            known = [meant(part) for part in parts]
            return ",".join(dict.fromkeys(each for each in known if each)) if None not in known else None
    if upper in _MEANT:
        return _MEANT[upper]
    folded = upper.replace("-", "_")
    if folded in WORDS:
        return folded
    near = [known for known in WORDS if edit_distance(upper, known) <= _reach(known)]
    if len(near) == 1:
        return near[0]
    begun = [known for known in WORDS if len(upper) > 2 and known.startswith(upper)]
    return begun[0] if len(begun) == 1 else None


def _reach(known: str) -> int:
    return 1 if len(known) < 6 else 2


def corrected(string: str) -> str | None:
    """The value with each unknown word replaced by the one meant; None if that is unknown for one of them."""
    words: list[str] = []
    for word in string.split(","):
        if not word:
            continue
        known = word if word.upper() in WORDS else meant(word)
        if known is None:
            return None
        words += [each for each in known.split(",") if each.upper() not in [before.upper() for before in words]]
    return ",".join(words) or None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`. `arg_set_mail_type()`, src/common/slurm_opt.c."""
    mail = events(value)
    if mail.events or mail.none:
        return None
    if not mail.unknown:
        reason = "no event is named"
    elif len(mail.unknown) == 1:
        reason = f"`{mail.unknown[0]}` is not an event"
    else:
        reason = "none of the words is an event"
    return Refusal("mail-type", "Invalid --mail-type specification", reason, corrected(value))
