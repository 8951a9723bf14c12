"""Options whose value is one of a few words, or a list of them (`arg_set_*()`, src/common/slurm_opt.c, 20.11 to 26.05).

What depends on the site is accepted: which governors it allows, whether it shares GRES among tasks. The grammars of
frequencies and bindings are in `bindings`.
"""

import re
from collections.abc import Callable, Iterable

from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.grammar import Refusal
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import is_number, parse_integer

# By option, its words and the first release with each.
_WORDS = {
    option: {word: since for since, words in rows.items() for word in words.split()}
    for option, rows in {
        "exclusive": {"20.11": "exclusive oversubscribe user mcs", "24.05": "topo", "26.05": "allocation"},
        "no-kill": {"20.11": "set off no"},
        "kill-on-invalid-dep": {"20.11": "yes no"},
        "requeue": {"25.11": "expedite"},
        "hint": {"20.11": "compute_bound memory_bound multithread nomultithread"},
        "gres-flags": {
            "20.11": "disable-binding enforce-binding",
            "23.11": "multiple-tasks-per-sharing one-task-per-sharing",
        },
        "open-mode": {"20.11": "append truncate"},
        "profile": {"20.11": "all none energy task lustre network"},
        "propagate": {"20.11": "ALL NONE CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS"},
        "distribution": {"20.11": "block cyclic fcyclic plane arbitrary hostfile pack nopack"},
    }.items()
}

# The words in a sentence, the same for all releases.
_KNOWS = {
    "exclusive": "--exclusive takes user, mcs, topo (since Slurm 24.05), or no value",
    "no-kill": "--no-kill takes set, off, no, or no value",
    "kill-on-invalid-dep": "--kill-on-invalid-dep takes yes or no",
    "requeue": "--requeue takes expedite, or no value",
    "gres-flags": "--gres-flags takes disable-binding or enforce-binding",
}

# Options for which an empty value counts as none.
_OPTIONAL = ("exclusive", "no-kill", "requeue")


def _spellings(*rows: tuple[str, str]) -> dict[str, str]:
    return {spelling: word for word, spellings in rows for spelling in spellings.split()}


# Frequent mistakes for a word of an option; '' stands for the option without a value.
_MEANT = {
    "exclusive": _spellings(("", "yes true on 1 node nodes job"), ("user", "users")),
    "no-kill": _spellings(("set", "on yes true 1"), ("off", "false 0")),
    "kill-on-invalid-dep": _spellings(("yes", "true 1 y on"), ("no", "false 0 n off")),
    "hint": _spellings(
        ("compute_bound", "compute"),
        ("memory_bound", "memory"),
        ("nomultithread", "no_multithread nomultithreading no-multithread nomt"),
        ("multithread", "multithreading"),
    ),
    "open-mode": _spellings(("truncate", "w write overwrite")),
    "propagate": _spellings(("NONE", "no false"), ("ALL", "yes true")),
}


def words(option: str, version: str) -> tuple[str, ...]:
    """The words of an option in a release; () for an option without such a list."""
    return tuple(word for word, since in _WORDS.get(option, {}).items() if not is_before(version, since))


def meant(option: str, word: str, version: str) -> str | None:
    """The word plainly meant; '' for the option without a value, None if unknown."""
    known = words(option, version)
    folded = word.lower()
    for name in known:
        if name.lower() in (folded, folded.replace("-", "_"), folded.replace("_", "-")):
            return name
    given = _MEANT.get(option, {}).get(folded)
    if given is not None:
        return given
    distances = sorted((edit_distance(folded, each.lower()), each) for each in known if len(each) > 3)
    if not distances or len(distances) > 1 and distances[0][0] == distances[1][0]:
        return None
    distance, near = distances[0]
    return near if distance <= (2 if len(near) > 6 else 1) else None


def refusal(option: str, value: str, version: str) -> Refusal | None:
    """See `grammar.refusals`."""
    return _JUDGES[option](option, value, version) if option in _JUDGES else None


def _choice(message: str, reason: str, instead: str | None = None, stage: str = "option") -> Refusal:
    return Refusal("choice", message, reason, instead, stage)


def _too_new(message: str, word: str, since: str) -> Refusal:
    return Refusal("release", message, f"{word} came with Slurm {since}")


def _listing(names: Iterable[str]) -> str:
    each = list(names)
    return ", ".join(each[:-1]) + f" or {each[-1]}" if len(each) > 1 else each[0]


def _with_word(words: list[str], index: int, right: str | None) -> str | None:
    """The list with another word in one place; None without one."""
    return ",".join([*words[:index], right, *words[index + 1 :]]) if right else None


def _one_word(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of an option that takes one word, in any case."""
    known = words(option, version)
    if value.lower() in known or not value and option in _OPTIONAL:
        return None
    if option == "requeue" and is_before(version, "26.05"):
        # Up to 25.05 no value is allowed; 25.11 accepts any.
        return None
    since = _WORDS[option].get(value.lower())
    if since is not None:
        return _too_new(f"Invalid --{option} specification", value, since)
    return _choice(f"Invalid --{option} specification", _KNOWS[option], meant(option, value, version))


def _open_mode(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of `--open-mode`, of which only the first letter counts."""
    if value[:1] in ("a", "A", "t", "T"):
        return None
    return _choice(
        "Invalid --open-mode specification", "--open-mode takes append or truncate", meant(option, value, version)
    )


def hints(value: str) -> list[str]:
    """The words of `--hint`, separated by commas except before a digit."""
    return re.split(";|,(?![0-9])", value)


def _hint(option: str, value: str, version: str) -> Refusal | None:
    """`verify_hint()`, src/common/proc_args.c."""
    known = words(option, version)
    given = hints(value)
    for index, word in enumerate(given):
        if word.lower() == "help":
            return _choice("Application hint options:", "help prints a text and ends sbatch", stage="verify")
        if word.lower() not in known:
            message = f'unrecognized --hint argument "{word}", see --hint=help'
            instead = _with_word(given, index, meant(option, word, version))
            return _choice(message, f"--hint takes {_listing(known)}", instead, "verify")
    return None


def _gres_flags(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of `--gres-flags`; srun has one more flag since 23.11.4 (`arg_set_gres_flags()`)."""
    of_srun = option.startswith("srun ")
    option = "gres-flags"
    known = words(option, version)
    if is_before(version, "23.11"):
        # Only one flag.
        if value.lower() in known:
            return None
        given = value.lower().split(",")
        later = {*_WORDS[option], *(("allow-task-sharing",) if of_srun else ())} - {*known}
        if later & {*given} and later | {*known} >= {*given}:
            return _too_new("Invalid --gres-flags specification", value, "23.11")
        return _choice("Invalid --gres-flags specification", _KNOWS[option], meant(option, value, version))
    given = [word for word in value.split(",") if word]
    for index, word in enumerate(given):
        if word.lower() == "allow-task-sharing":
            if of_srun:
                continue
            message = "--gres-flags=allow-task-sharing is only used with srun."
            return _choice(message, "allow-task-sharing is a flag of srun")
        if word.lower() not in known:
            instead = _with_word(given, index, meant(option, word, version))
            return _choice(f"Invalid --gres-flags specification: {word}", _KNOWS[option], instead)
    folded = {word.lower() for word in given}
    for first, second in (
        ("disable-binding", "enforce-binding"),
        ("one-task-per-sharing", "multiple-tasks-per-sharing"),
    ):
        if first in folded and second in folded:
            message = f"Invalid --gres-flags combo: {first} and {second} are mutually exclusive."
            return _choice(message, f"{first} and {second} exclude each other")
    return None


def profiles(value: str) -> frozenset[str]:
    """The words of `--profile`, which may occur anywhere in the value (`acct_gather_profile_from_string()`)."""
    folded = value.lower()
    for word in ("none", "all"):
        if word in folded:
            return frozenset((word,))
    return frozenset(word for word in ("energy", "task", "lustre", "network") if word in folded)


def _profile(option: str, value: str, version: str) -> Refusal | None:
    if profiles(value):
        return None
    known = words(option, version)
    reason = f"--profile takes {_listing(known)}"
    return _choice(f"invalid --profile={value} option", reason, meant(option, value, version))


def _propagate(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of `--propagate`, whose words are in upper case (`parse_rlimits()`, slurm_rlimits_info.c)."""
    if value in ("ALL", "NONE"):
        return None
    limits = words(option, version)[2:]
    given = value.replace("\t", " ").replace("\n", " ").replace(",", " ").split()
    for index, word in enumerate(given):
        if word.removeprefix("RLIMIT_") in limits:
            continue
        right = meant(option, word.upper().removeprefix("RLIMIT_"), version)
        instead = _with_word(given, index, right if len(given) == 1 or right in limits else None)
        if word in ("ALL", "NONE"):
            reason = f"{word} stands alone"
        elif right is not None and right.upper() == word.upper():
            reason = "the words of --propagate are upper case"
        else:
            reason = f"--propagate takes {_listing(('ALL', 'NONE', *limits))}"
        return _choice(f"--propagate={value} is not valid.", reason, instead, "verify")
    return None


# The fields of --distribution, and the flag after the comma.
_NODE_LEVEL = ("block", "cyclic")
_CORE_LEVEL = ("block", "cyclic", "fcyclic")
_PACK = ("pack", "nopack")


def plane_size(value: str) -> int | None:
    """The size of a `--distribution=plane=SIZE`; None for all other values."""
    size = value.partition("=")[2] if value[:5].lower() == "plane" else ""
    digits = size.strip(" \t").removeprefix("+")
    number = parse_integer(digits) if is_number(digits) and len(digits) < 11 else 0
    return number if 0 < number < 2**31 and not size.endswith((" ", "\t")) else None


def distribution(value: str) -> tuple[str, ...] | None:
    """The levels of a distribution (`("block", "cyclic")`), `("plane",)`, `("arbitrary",)`, or () for only a flag.

    None if sbatch refuses it (`verify_dist_type()`, src/common/proc_args.c). `*` is the default of its level.
    """
    if value[:5].lower() == "plane":
        return ("plane",) if plane_size(value) is not None else None
    head, comma, flags = value.partition(",")
    if not head or comma and flags and flags.lower() not in _PACK:
        return None
    fields = [field for field in head.lower().split(":") if field]
    if not fields or len(fields) > 3:
        return None
    if len(fields) == 1 and fields[0] in _PACK:
        return ()
    if len(fields) == 1 and fields[0] in ("arbitrary", "hostfile"):
        return ("arbitrary",)
    for level, field in enumerate(fields):
        if field == "*":
            fields[level] = ("block", "cyclic", fields[1])[level] if level else "block"
    if fields[0] not in _NODE_LEVEL or not set(fields[1:]) <= set(_CORE_LEVEL):
        return None
    return tuple(fields)


def _distribution(option: str, value: str, version: str) -> Refusal | None:
    if distribution(value) is not None:
        return None
    message = "Invalid --distribution specification"
    if value[:5].lower() == "plane":
        # Without `=`, the size comes from SLURM_DIST_PLANESIZE in the environment of sbatch.
        number = value[5:].strip(": ")
        instead = f"plane={number}" if is_number(number) and number.strip("0") else None
        return _choice(message, "plane needs a size above 0, as in plane=4", instead)
    head, comma, flag = value.partition(",")
    right: list[str] = []
    for field in head.split(":"):
        known = field if field in ("*", "") else meant(option, field, version)
        right.append(known or "?")
    instead = ":".join(right) + (comma + (meant(option, flag, version) or "?") if flag else "")
    reason = "--distribution takes block, cyclic, plane=N or arbitrary, then block, cyclic or fcyclic"
    if "?" in instead or distribution(instead) is None or instead == value:
        return _choice(message, reason)
    return _choice(message, reason, instead)


_KINDS = ("energy", "task", "filesystem", "network")


def _acctg_freq(option: str, value: str, version: str) -> Refusal | None:
    """The refusal of `--acctg-freq`; any text may follow a number (`acct_gather_parse_freq()`, acct_gather.c)."""
    for item in value.split(","):
        places = [item, *(item.lower().partition(f"{kind}=")[2] for kind in _KINDS)]
        if item and not any(_is_interval(each) for each in places):
            reason = "a frequency is a number of seconds, or energy=, task=, filesystem= or network= and a number"
            return _choice(f"Invalid --acctg-freq specification: {item}", reason)
    return None


def _is_interval(string: str) -> bool:
    """Whether strtol() reads a number other than -1."""
    found = re.match(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", string, re.ASCII)
    return found is not None and parse_integer(found.group(1)) != -1


_JUDGES: dict[str, Callable[[str, str, str], Refusal | None]] = {
    "acctg-freq": _acctg_freq,
    "distribution": _distribution,
    "exclusive": _one_word,
    "gres-flags": _gres_flags,
    "srun gres-flags": _gres_flags,
    "hint": _hint,
    "kill-on-invalid-dep": _one_word,
    "no-kill": _one_word,
    "open-mode": _open_mode,
    "profile": _profile,
    "propagate": _propagate,
    "requeue": _one_word,
}
