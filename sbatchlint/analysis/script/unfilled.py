"""Words of commands that were left to be filled in: `/path/to/data`, `<image>`, `your_script.py`.

The form of a word shows that it is a placeholder; the command decides what happens because of it.
"""

from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Piece, Pieces, shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_names import is_secret
from sbatchlint.source.text import Span

# Signs of a placeholder, for a word and for a whole script.
_SIGNS = Regex(
    r"<[A-Za-z]|\[[A-Za-z]{2,}[_-]|path/to\b|(?i:path[-_]to[-_]|my[-_]path|user_?name|net_?id|xx[-_:.T]xx|your|change_?me|replace_?me"
    r"|fill_?me|_here\b|fixme|todo|xxx)"
)
_SIGN_STRINGS = (
    *("path/to", "your", "changeme", "change_me", "replaceme", "replace_me", "fillme", "fill_me", "_here", "fixme"),
    *("todo", "xxx", "path-to-", "path_to_", "my-path", "my_path", "username", "user_name", "netid", "net_id"),
    *("xx-xx", "xx_xx", "xx:xx", "xx.xx"),
)
# `<name>`, alone or as part of a path, an address or an option; not an end tag, nor `<|token|>`.
_ANGLED = Regex(r"<[A-Za-z](?:[^<>\n|=\"'@]*[^<>\s|=\"'@/])?>")
# `[NAME_OF_FILE]`, alone or as part of a path. In one word, as two or three letters in brackets are a pattern.
_SQUARE = Regex(r"\[(?:[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]+)+|(?i:your|my|path|insert|enter)[_-][\w.-]+)\]")
_FILE_OPTION = Regex(r"(?i)|-\w|--?[\w-]*(?:file|dir|folder|path|input|output|ref(?:erence)?|data|config|in|out)")
# A lowercase word may just as well be a tag in a text; so may the special tokens of language models.
_MARK = Regex(
    r"<(?:[a-z]+\d*|(?:start|end|begin|bos|eos|extra|mask|pad|unk|img|image|audio|video|tool|think|fim|im|IMG)[_-].*)>"
)
# Options and variables whose values may be any text.
_TEXT_NAMES = Regex(
    r"(?i)(?:.*[-_.]|-*)(?:\w*tokens?|tags?|prompts?|templates?|stop|eos|bos|pad|mask|special|delimiters?|separators?|sep"
    r"|prefix|suffix|text|pattern|regexp?|format|message|title|description|comment|notes?|query|filter)"
)
_PATH = Regex(
    r"(?:^|(?<=[\"':=,@]))(?:(?:\.?/)?path/to(?:/[^\s:,;\"']*|\b)"
    r"|/(?:(?:add|put|insert|enter|set|write)/)?your/[^\s:,;\"']+)"
    r"|(?<=/)path/to(?:/[^\s:,;\"']*)?"
)
_THING = (
    "account|allocation|project|proj|partition|queue|group|user(?:name)?|name|dir(?:ectory)?|folder|path|email|e?mail|host"
    "|script|program|prog|app(?:lication)?|code|command|executable|exe|binary|file|data(?:set)?|input|output|env(?:ironment)?"
    "|image|container|registry|model|token|key|api|password|passwd|secret|id|job|wandb|hf|conda|venv|org(?:ani[sz]ation)?"
)
_WORD = Regex(
    rf"(?:your[-_](?:\w.*)|your(?:{_THING})(?:[-_.].*)?|change[-_]?(?:me|this)|replace[-_]?(?:me|this|with[-_].*)"
    r"|fill[-_]?(?:me|this)?[-_]?in|fill[-_]?me|.+[-_]goes[-_]here|(?:put|insert|enter|add|paste|your|my)[-_].*[-_]here"
    r"|todo|fixme)(?:\.\w+)?",
    2,  # re.IGNORECASE
)
_CROSSES = Regex(r"(?:[a-z]{2,6}[-_])?(?:X{3,}|x{4,})|[xX]{2,}(?:[-_:.T][xX]{2,}){2,}")
# Two words or more: `YOUR SOCKET NAME`.
_CAPITAL_WORDS = Regex(r"YOUR(?: [A-Z]+){1,4}")
# A folder of somebody: `/home/username/data`.
_LOGIN = Regex(
    r"(?i:/(?:home|users?|scratch|work|data|lustre|gpfs|project)/(?:[\w.-]+/){0,2}(user_?name|net_?id))(?=/|$)"
)
# A path that is only told of: `path-to-data`, `my-path`.
_TOLD_PATH = Regex(r"(?i)(?:path[-_]to[-_][\w.-]+|my[-_]path)")
# In East Asian languages: "your …", "replace …", "fill in …"; and any word of them in place of an address.
_EASTERN = Regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_EASTERN_WORD = Regex(r"(?:你的|您的|請?替[换換]|请?替换|填[写寫入]|请填|あなたの|여기에).*")
_ADDRESS = Regex(r"(?i)-*(?:.*[-_])?(?:addr(?:ess)?|host(?:name)?|endpoint|ip|server|url)")
_PARTS = Regex(r"[^/:=,@\s\"']+")

# `<SHARED_FS>` opens a file for reading, and the next word for writing. After `=`, `/` or `:` no redirection is
# meant; nor after a space where no file to write to follows (`cd <folder>`), or an option does (`<DIR> --lr 3`).
IN_SHELL = Regex(
    # The `<` comes first, so that the search is fast.
    r"<(?:(?<=[=/:]<)(?:[A-Za-z](?:[\w .,:'/-]*[\w.?!'])?|\?+|\.{2,}|…|_{2,})>"
    r"|(?<=[ \t]<)[A-Za-z](?:[\w .-]*\w)?>(?=[ \t]*(?:[;&|)\n]|\\\n|\Z|(?<=[ \t])(?:--?[A-Za-z]|[#<])))"
    r"|(?<=[ \t]<)[Yy][Oo][Uu][Rr][\w .-]*\w>)"
)

_USES = {"source": "source", ".": "source", "cd": "folder", "pushd": "folder"}
_INTERPRETERS = frozenset(("bash", "sh", "Rscript", "julia", "octave", "matlab"))
_SCRIPT = Regex(r"\.(?:py|sh|R|jl|pl)\Z")
# Their options with a program in place of a file.
_CODE = {
    "Rscript": ("-e",),
    "julia": ("-e", "-E", "--eval", "--print"),
    "matlab": ("-r", "-batch"),
    "octave": ("--eval",),
}
# After such a word an unknown command, for example a profiler, starts a program.
_STARTERS = frozenset(("srun", "mpirun", "mpiexec"))
# Options of interpreters and starters that take the next word as their value.
_BEFORE_SCRIPT = frozenset(("-m", "-W", "-X", "-o", "-n", "-N", "-np", "-c"))

# Modules of Python that start the script after them.
_STARTING_MODULE = Regex(r"launch|distributed|accelerate|deepspeed|horovod|cProfile|pdb|trace|coverage|mpi4py")


class Unfilled(NamedTuple):
    """A placeholder in a word of a command.

    `text`: as written, `span`: where. `kind`: `blank`, or `path` for `/path/to`. `use`: `run`, `source`, `folder`,
    `image`, `login`, `input`, `output` (redirections): these fail; `argument`; `environment`: exported. `owner`: the
    option or variable that has it as its value. `certain`: the command runs unconditionally.
    """

    text: str
    span: Span
    kind: str
    use: str
    owner: str
    certain: bool


@once
def unfilled_words(job: Job) -> list[Unfilled]:
    """The placeholders in the commands of the script, by place, each with its most important use."""
    code = _code(job) if job.is_shell else ""
    found: dict[tuple[int, int], Unfilled] = {}
    if not _may_have_signs(code):
        return []
    for command in job.invocations:
        _keep_redirected(found, command)
        if not any(map(has_signs, command.words)):
            continue
        certain, image = not command.context.conditional, _image(command)
        for field, use, owner in _fields(command):
            for kind, span, text in (*_in_field(field, owner), *_in_brackets(field, owner)):
                in_image = any(each.start <= span.start and span.end <= each.end for each in image)
                _keep(found, Unfilled(text, span, kind, "image" if in_image else use, owner, certain))
    for assigned in job.assignments:
        if assigned.exported:
            for alternative in assigned.alternatives:
                for field in alternative.fields or ():
                    for kind, span, text in _in_field(field, assigned.name):
                        certain = not assigned.context.conditional
                        _keep(found, Unfilled(text, span, kind, "environment", assigned.name, certain))
    return [found[place] for place in sorted(found)]


def _keep_redirected(found: dict[tuple[int, int], Unfilled], command: Invocation) -> None:
    """Adds the placeholders in the names of files that a command reads from, and in the folders of those it writes."""
    for redirect in command.redirects:
        if redirect.target is None or not has_signs(shown_text(redirect.target)):
            continue
        is_read = redirect.operator == "<"
        if not is_read and redirect.operator[:1] == "<":
            continue  # `<<< "$text"`
        for kind, span, text in (*_in_field(redirect.target, ""), *_in_brackets(redirect.target, "")):
            if is_read or kind == "path" or "/" in shown_text(redirect.target).partition(text)[2]:
                use = "input" if is_read else "output"
                _keep(found, Unfilled(text, span, kind, use, "", not command.context.conditional))


def _in_brackets(field: Pieces, owner: str) -> list[tuple[str, Span, str]]:
    """The placeholders in square brackets of a word: part of a path, or alone where a file is named."""
    whole = shown_text(field)
    if "[" not in whole or _FILE_OPTION.fullmatch(owner) is None:
        return []
    found = []
    at = 0
    for piece in field:
        text = piece.text
        for match in _SQUARE.finditer(text or ""):
            before, after = whole[: at + match.start()], whole[at + match.end() :]
            if before[-1:] == "/" or after[:1] == "/" or not before and not after:
                found.append(("blank", _place(piece, *match.span()), match.group()))
        at += 1 if text is None else len(text)
    return found


def _code(job: Job) -> str:
    """The text that can become words of commands: without the comments above the first command."""
    text, statements = job.source.text, job.program.statements
    return text[job.span(statements[0].start, statements[0].end).start :] if statements and job.outer is None else text


@lru_cache(maxsize=1)  # for all jobs in a file
def _may_have_signs(text: str) -> bool:
    small = text.lower()
    if any(map(small.__contains__, _SIGN_STRINGS)) or _ANGLED.search(text) is not None:
        return True
    if "[" in text and _SQUARE.search(text) is not None:
        return True
    return not text.isascii() and _EASTERN.search(text) is not None


_ORDER = ("environment", "argument", "login", "image", "output", "input", "folder", "source", "run")


def _keep(found: dict[tuple[int, int], Unfilled], new: Unfilled) -> None:
    old = found.get((new.span.start, new.span.end))
    if old is None or (_ORDER.index(old.use), old.certain) < (_ORDER.index(new.use), new.certain):
        found[new.span.start, new.span.end] = new


def _image(command: Invocation) -> Pieces:
    """The image of the container that a command starts."""
    info = command.spawn.info
    container = info.container if isinstance(info, Step) else info
    return container.image or () if isinstance(container, Container) else ()


def _fields(command: Invocation) -> list[tuple[Pieces, str, str]]:
    """The words of a command that name things: each with its use, and the option whose value it is ('' for none)."""
    name, rest = command.name, command.spawn.command
    if not command.argv or command.calls_function or command.text is not None:
        return []  # the command that it runs in turn is an invocation of its own
    if has_trait(name, "text") or name in BUILTINS and name not in _USES and name not in ("exec", "export"):
        return []
    words = command.argv if rest is None else command.argv[:rest]
    found = [(words[0], "run", "")] if words else []
    use = "login" if any(text_of(word) == "login" for word in words[1:4]) else _USES.get(name or "", "argument")
    runs = name is not None and (name in _INTERPRETERS or name.startswith("python"))
    if name is None or bool(words) and words[0] and has_signs(command.words[0]):  # an interpreter is to be filled in
        runs = runs or len(words) > 1 and _SCRIPT.search(command.words[1]) is not None
    owner = ""
    for word, text in zip(words[1:], command.words[1:]):
        option, sign, _ = text.partition("=")
        if runs and owner == "-c":
            break  # a program in the language of its interpreter
        runs = runs and owner not in _CODE.get(name or "", ())
        # the value of a long option, or an argument of a module that starts no script, is no script itself
        is_script = runs and text[:1] != "-" and owner not in _BEFORE_SCRIPT and owner[:2] != "--"
        runs = runs and (owner != "-m" or _STARTING_MODULE.search(text) is not None)
        found.append((word, "run" if is_script else use, option if sign else owner))
        runs = (runs or text in _STARTERS) and not is_script
        use = "argument" if use in ("source", "folder") and text[:1] != "-" else use
        owner = text if text[:1] == "-" and not sign else ""
    return found


def _in_field(field: Pieces, owner: str) -> list[tuple[str, Span, str]]:
    """The placeholders in a word: kind, place and text. `owner`: the option or the variable whose value it is."""
    found: list[tuple[str, Span, str]] = []
    whole = shown_text(field)
    if not has_signs(whole):
        return found
    any_text = _TEXT_NAMES.fullmatch(owner) is not None and not is_secret(owner)
    at = 0
    for piece in field:
        text = piece.text
        size = 1 if text is None else len(text)
        if text and not any_text:
            found.extend(_in_piece(piece, text, whole, at))
            if not text.isascii() and _EASTERN.search(text):
                found.extend(_in_eastern(piece, text, owner))
        at += size
    return found


@lru_cache(maxsize=4096)  # most scripts have the same words
def has_signs(word: str) -> bool:
    if "\n" in word:
        return False  # several lines are prose, or a program
    return _SIGNS.search(word) is not None or not word.isascii() and _EASTERN.search(word) is not None


def _in_piece(piece: Piece, text: str, whole: str, at: int) -> list[tuple[str, Span, str]]:
    found = []
    for match in _ANGLED.finditer(text):
        before, after = whole[: at + match.start()][-1:], whole[at + match.end() :][:1]
        joined = before and before in "/:.@" or after and after in "/:.@"
        alone = before in ("", "=", " ", ",", '"', "'") and after in ("", " ", ",", '"', "'")
        if joined or alone and _MARK.fullmatch(match.group()) is None:
            found.append(("blank", _place(piece, *match.span()), match.group()))
    found += [("path", _place(piece, *match.span()), match.group()) for match in _PATH.finditer(text)]
    if _CAPITAL_WORDS.fullmatch(text) and text == whole:
        found.append(("blank", _place(piece, 0, len(text)), text))
    for match in _LOGIN.finditer(whole):
        if at <= match.start(1) and match.end(1) <= at + len(text):
            found.append(("blank", _place(piece, match.start(1) - at, match.end(1) - at), match[1]))
    for match in _PARTS.finditer(text):
        word = match.group()
        # next to an unknown part the word is longer than what is seen here
        begins = whole[: at + match.start()][-1:]
        ends = whole[at + match.end() :][:1]
        if (begins and begins not in "/:=,@ \"'") or (ends and ends not in "/:=,@ \"'") or " " in text.strip():
            continue
        if (_WORD.fullmatch(word) or _CROSSES.fullmatch(word)) and "path/to" not in text:
            found.append(("blank", _place(piece, *match.span()), word))
        elif _TOLD_PATH.fullmatch(word) and "path/to" not in text:
            found.append(("path", _place(piece, *match.span()), word))
    return found


def _in_eastern(piece: Piece, text: str, owner: str) -> list[tuple[str, Span, str]]:
    """The placeholders in an East Asian language."""
    return [
        ("blank", _place(piece, *match.span()), match.group())
        for match in _PARTS.finditer(text)
        if _EASTERN_WORD.fullmatch(match.group()) or _ADDRESS.fullmatch(owner) and _EASTERN.search(match.group())
    ]


def _place(piece: Piece, start: int, end: int) -> Span:
    if piece.expansion is not None:
        return piece.span
    return Span(piece.offset(start), piece.offset(end - 1) + 1)
