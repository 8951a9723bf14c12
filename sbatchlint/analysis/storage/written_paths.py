"""Where commands write: the options that name a place for results, and the paths that they create."""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, cut, shown_text, span_of
from sbatchlint.job import Job
from sbatchlint.job.argv import partition
from sbatchlint.job.paths import key
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex, matches
from sbatchlint.source.text import Span

# The operators of redirections that write to a file.
WRITING = frozenset({">", ">>", ">|", "&>", "&>>"})
OVERWRITING = frozenset({">", ">|", "&>"})
# Options and settings of programs that say where results go: `--save DIR`, `exp_manager.exp_dir=DIR`.
_RESULTS = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:save(?:[_-](?:dir|path|folder|directory))?|out(?:put)?[_-]?(?:dir|path|folder|directory)"
    r"|checkpoints?[_-](?:dir|folder|save[_-]dir|save[_-]path)|ckpt[_-](?:dir|save[_-]dir)|default[_-]root[_-]dir"
    r"|work[_-]?dir|results?[_-](?:dir|path)|exp(?:eriment)?[_-]dir|explicit_log_dir|run\.dir)"
)
_LOGS = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:log(?:ging)?[_-]?dir|tensorboard(?:[_-](?:log)?[_-]?dir|[_-]path)|tb[_-](?:log)?[_-]?dir)"
)
# Options of commands that name where they write.
_INTO = {"tar": ("-C", "--directory"), "unzip": ("-d",), "wget": ("-O", "-P"), "curl": ("-o",)}
_RECURSIVE = Regex(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive")


def names_logs(option: str) -> bool:
    """Whether an option takes a folder for logs, judging by its name (with or without dashes)."""
    return matches(_LOGS, option)


def names_output(word: str) -> bool:
    """Whether an option takes a place to write to, judging by its name (with or without dashes or a value)."""
    option = word.partition("=")[0]
    return names_logs(option) or matches(_RESULTS, option)


def words(command: Invocation) -> list[str]:
    """The words after a command's name, as paths that can be compared."""
    return [key(field) for field in command.argv[1:] if field]


def operands(command: Invocation) -> list[str]:
    """The words after a command's name that are not options, as paths that can be compared."""
    return [key(field) for field in command.argv[1:] if field and not shown_text(field).startswith("-")]


def is_recursive(command: Invocation) -> bool:
    """Whether a command has an option that makes it recursive: `-r`, `-rf`, `--recursive`."""
    return any(_RECURSIVE.fullmatch(word) for word in command.words[1:])


def values_in(field: Pieces) -> Iterator[Pieces]:
    """The paths in a word: the word itself, or the value in it (`--out=FILE`, `@FILE`)."""
    name, value = partition(field, "=")
    if value:
        yield value
    elif name:
        yield field
    text = shown_text(field)
    if text.startswith("@"):
        yield cut(field, 1, len(text))


def named_paths(command: Invocation) -> list[str]:
    """The paths among a command's words, including those in the values of options."""
    return [key(each) for field in command.argv[1:] if field for each in values_in(field)]


def redirected_paths(command: Invocation) -> list[str]:
    """The files to which a command's output is redirected."""
    return [key(each.target) for each in command.redirects if each.operator in WRITING and each.target]


def created_paths(command: Invocation) -> list[str]:
    """The paths among its words that a command creates."""
    if command.name in ("mkdir", "touch", "tee", "virtualenv"):
        return operands(command)
    if has_trait(command.name, "places"):
        return operands(command)[-1:]
    if command.name == "git" and operands(command)[:1] == ["clone"]:
        return operands(command)[2:]
    options = _INTO.get(command.name or "", ())
    return [path for option, path in zip(words(command), words(command)[1:]) if option in options]


def place_of(job: Job, field: Pieces) -> Span:
    """The place of a word; its last part where the parts come from several lines."""
    span = span_of(field)
    return field[-1].span if field and "\n" in job.source.slice(span) else span


def place_before_suffix(field: Pieces, text: str) -> int | None:
    """The offset in the text of a script of the suffix of a file's name, or of its end where it has none.

    None if the name is not literal there, or in single quotes.
    """
    word = shown_text(field)
    dot = word.rfind(".", word.rfind("/") + 2)
    index = dot if dot > 0 else len(word)
    at = 0
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if index < at + size or index == at + size and piece is field[-1]:
            if piece.expansion is not None or piece.text is None or size != piece.end - piece.start:
                return None
            if text[piece.start - 1] == "'" or text[piece.end : piece.end + 1] == "'":
                return None
            where = piece.start + index - at
            return where if where < len(text) else None
        at += size
    return None
