"""The words of the programs before and after a conversion: none may be lost or become another one unnoticed.

A word is compared by its text, or by the names of what is expanded in it: `"$@"` of the batch script is a different
word from the `"$@"` of a shell in a task, whose words are known.
"""

from collections.abc import Iterator, Sequence

from sbatchlint.bash.interpreter.programs import SHELLS
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Pieces, expansions, known_prefix, shown_text, text_of
from sbatchlint.convert.replacing import module_of
from sbatchlint.convert.starts import only_program, places_of
from sbatchlint.convert.words import LOOPBACK, PORT
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import Argv, basename
from sbatchlint.job.launchers import Launcher, python_command
from sbatchlint.source.regex import Regex

# The ends of the shell scripts that a conversion puts before a program, each with the number of words before those of
# the program.
_WRAPPERS = {'exec "$@"': 4, '"$0" --local_rank="$LOCAL_RANK" "$@"': 3}
# The modules that `axolotl train` and the like run, and that a converted script names.
IMPLIED_MODULES = Regex(r"axolotl\.cli\.\w+|trl\.scripts\.\w+")
# Options that a conversion adds to programs.
_ADDED_OPTIONS = frozenset(
    {"num_nodes", "num-machines", "machine-rank", "dist-url", "distributed-port", "distributed-world-size"}
)
_LOCAL_RANK = "--local_rank="


def words_of_starts(job: Job) -> list[Argv | None]:
    """The words of the programs that launchers or steps start, one for each place; None for unknown ones."""
    launches, steps = places_of(job)
    found = [_launch_words(job, worlds[0].launch) for worlds in launches]
    if not found and not steps:  # such a step has one task per node
        steps = job.steps
    for step in steps:
        program = only_program(step.invocation)
        found.append(None if program is None else _program_words(program.argv))
    return found


def _launch_words(job: Job, launch: Launch) -> Argv | None:
    launcher = launch.launcher
    if launcher.kind != "mpi" or not launch.invocation.children:
        module = module_of(launcher)
        if module:
            return _own_words(launcher)
        words = _program_words(launcher.program_words)
        return (
            words[1:]
            if words and launcher.program_kind == "module" and IMPLIED_MODULES.fullmatch(shown_text(words[0]))
            else words
        )
    program = only_program(launch.invocation)
    return None if program is None else _program_words(program.argv)


def _own_words(launcher: Launcher) -> Argv:
    """The words of `axolotl train` and the like that are not accelerate's."""
    others = {at for each in launcher.options.values() if each.name != "config" for at in (each.at, each.value_at)}
    return [field for at, field in enumerate(launcher.argv) if at >= (launcher.program or 0) and at not in others]


def _program_words(argv: Argv) -> Argv:
    """The words from the script, module or command on, without interpreter or the shells that a conversion adds."""
    while len(argv) > 3 and basename(argv[0]) in SHELLS and text_of(argv[1]) == "-c":
        text = shown_text(argv[2])
        number = next((number for end, number in _WRAPPERS.items() if text.endswith(end)), 0)
        if not number:
            break
        argv = argv[number:]
    python = python_command(argv)
    return argv[python.at :] if python is not None and python.kind in ("script", "module") else argv


def word_differences(before: Sequence[Argv | None], after: Sequence[Argv | None]) -> list[str]:
    """How the words of the programs differ, apart from options for the number of nodes, as clauses of a message."""
    if len(before) != len(after):
        return []  # the number of starts is checked elsewhere
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
    return list(dict.fromkeys(clause for old, new in pairs for clause in _differences(old, new)))


def _differences(old: Argv, new: Argv) -> Iterator[str]:
    if not any(known_prefix(each).startswith(_LOCAL_RANK) for each in old):
        new = [each for each in new if not known_prefix(each).startswith(_LOCAL_RANK)]
    new = list(_without_nodes(old, new))
    if len(new) != len(old):
        keys = {_key(each) for each in (new if len(new) < len(old) else old)}
        other = next((each for each in (old if len(new) < len(old) else new) if _key(each) not in keys), old[-1])
        yield f"the program would get {len(new)} words, not {len(old)}: look at {_shown(other)}"
        return
    for was, now in zip(old, new, strict=True):
        unknown = None in (text_of(was), text_of(now))
        if (
            _key(was) != _key(now)
            and not _follows(was, now)
            and (_names(was) != _names(now) if unknown else _differs_in_letters(was, now))
        ):
            yield f"the program would get {_shown(now)} instead of {_shown(was)}"


def _follows(was: Pieces, now: Pieces) -> bool:
    """Whether a word was the address or the port of one node, and is that of the job."""
    old, names = text_of(was) or "", {each.name for each in expansions(now)}
    return old in LOOPBACK and any("scontrol" in each for each in names) or old.isdigit() and PORT in names


def _differs_in_letters(was: Pieces, now: Pieces) -> bool:
    """Whether two known words differ in more than their numbers, which are told: they may count nodes."""
    old, new = ("".join(each for each in shown_text(field) if not each.isdigit()) for field in (was, now))
    return old != new


def _without_nodes(old: Argv, new: Argv) -> Iterator[Pieces]:
    """The new words without those options for several nodes that only they have."""
    known = {_option(each) for each in old}
    skip = False
    for field in new:
        if skip or _option(field) in _ADDED_OPTIONS - known:
            skip = not skip and "=" not in shown_text(field)
            continue
        yield field


def _option(field: Pieces) -> str:
    return shown_text(field).partition("=")[0].rpartition(".")[2].lstrip("-+")


def _names(field: Pieces) -> set[str]:
    """The names of what is expanded in a word: a number of nodes may be known for one script and not for the other."""
    return {each.name for each in expansions(field)}


def _key(field: Pieces) -> object:
    text = text_of(field)
    if text is not None:
        return text
    return tuple(
        (each.text, "" if each.expansion is None or each.text is not None else each.expansion.name) for each in field
    )


def _shown(field: Pieces) -> str:
    names = [each.expansion.name if each.text is None and each.expansion is not None else "" for each in field]
    shown = shown_text(field)
    for name in filter(None, names):
        shown = shown.replace(UNKNOWN_CHARACTER, name if name.startswith("$") else f"${name}", 1)
    return repr(shown)
