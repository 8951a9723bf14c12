"""The script fails where `sh` is not bash: it uses features that only bash has.

`/bin/sh` is dash on Debian and Ubuntu. There `[[` and `source` are not found, an array ends the script with `Syntax
error: "(" unexpected`, and `module` and `conda activate`, which are functions of bash, do not exist. Most of this is
only a line in the log, and the job runs on without its modules or its environment. On Red Hat, SUSE and most others
`/bin/sh` is bash in its POSIX mode, and the script works until it is moved elsewhere: a warning, an error where the
script asks for dash itself and dash cannot even parse it, and only advice where nothing but `module`, `conda` or
`source` needs bash, as sites also define these for `sh`, or have no dash. Where a path of the script names Debian or
Ubuntu (`/hpc/eb/Debian9`), its nodes have dash, and that is a warning too; where one names Red Hat or SUSE
(`linux-rhel8`) the rest is advice, and `module` and the like are not reported.

Reported once, with the places. Not checked: strings for another shell (`bash -c '…'`), and scripts that test
`BASH_VERSION` or start bash themselves.

## Fix

Names bash instead, with the same arguments. Unsafe: outside its POSIX mode bash differs from `sh` in more than is
reported. None for the command of `sbatch --wrap`, which sbatch always runs with `/bin/sh`.

## References

dash(1); POSIX.1-2024, which has `set -o pipefail`; every construct run under dash 0.5.12 and `bash --posix` 5.2, and
in jobs of Slurm 22.05 and 26.05.
"""

import re
from collections.abc import Iterable, Iterator

from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    ArrayLiteral,
    Assignment,
    Background,
    Case,
    For,
    Function,
    Literal,
    Node,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Redirect,
    Simple,
    TestCommand,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.source.numbers import is_number, listed
from sbatchlint.triggers import Shebang

# A folder of software for nodes with dash.
_OF_BASH = re.compile(r"/[\w.-]*(?:(?:rhel|centos|rocky|alma(?:linux)?|sles?|suse|(?<![a-z])el)[-_]?\d)[\w.-]*/")
_OF_DEBIAN = re.compile(r"/[\w.-]*(?:[Dd]ebian|[Uu]buntu)[\w.-]*/")

CARD = Card(
    "SB006", "sh-shebang", severity="error", fix="sometimes", since="0.1.0", when=Shebang("sh", "dash"),
    batch=True,
)  # fmt: skip

MOST = 3
_LONG = 85  # characters of their names in a message

# What dash does with a construct.
NOT_FOUND = "not found"
SYNTAX = "a syntax error"
BAD_SUBSTITUTION = "a bad substitution, which ends the script"
# Commands that are functions of bash, if nothing else defines them.
FUNCTIONS = ("module", "ml", "conda activate", "conda deactivate")
# Severities: dash stops at the construct, or goes on and does something else.
FATAL, WRONG = "error", "warning"

OPERATORS = {
    "^": "${X^}", "^^": "${X^^}", ",": "${X,}", ",,": "${X,,}", "/": "${X/…/…}", "//": "${X//…/…}", "/#": "${X/#…/…}",
    "/%": "${X/%…/…}", ":": "${X:…}", "@": "${X@…}", "indirect": "${!X}", "prefix": "${!X*}",
}  # fmt: skip
COMMANDS = frozenset({
    "builtin", "caller", "compgen", "complete", "coproc", "declare", "dirs", "disown", "enable", "let", "mapfile",
    "popd", "pushd", "readarray", "shopt", "suspend", "typeset",
})  # fmt: skip
# Option letters that the builtins of dash refuse, and whether the script ends there.
OPTIONS = {
    "export": ("fn", True),
    "read": ("adeiNnstu", False),
    "printf": ("v", False),
    "wait": ("nfp", False),
    "local": ("aAgiIlnrtux", True),
    "exec": ("acl", True),
    "jobs": ("nrsx", False),
}
SET_NAMES = frozenset({
    "braceexpand", "errtrace", "functrace", "hashall", "histexpand", "history", "keyword", "onecmd", "physical",
    "posix",
})  # fmt: skip
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
BRACES = re.compile(r"\{(?:[^{}\x02\s,]*(?:,[^{}\x02\s,]*)+|-?\d+\.\.-?\d+(?:\.\.-?\d+)?|[A-Za-z]\.\.[A-Za-z])\}")
ARITHMETIC = re.compile(r"\+\+|--\s*[A-Za-z_]|\w\s*--|\*\*|(?<![\w{$#])\d+#\w")
# A subshell that tries the option first: `(set -o pipefail) 2>/dev/null && set -o pipefail`.
PIPEFAIL_TRIED = re.compile(r"\(\s*set\s+-\w*o\s+pipefail\b[^()]*\)")
# Variables that a script tests to find out whether it runs in bash.
GUARDS = ("BASH", "BASH_VERSION", "BASH_VERSINFO")

_BRACES_SAID = "brace expansion"  # the name of no command
# A construct: its start and end, its name (`[[ … ]]`), what dash does with it, and FATAL or WRONG.
Bashism = tuple[int, int, str, str, str]


def check(job: Job) -> Iterator[Finding]:
    shell = job.interpreter_line[0]
    if shell not in ("sh", "dash"):
        return
    found = sorted(_bashisms(job))
    if not found:
        return
    spans = [_first_line(job, start, end) for start, end, *_ in found]
    first: dict[str, str] = {}
    for span, (_, _, what, _, _) in zip(spans, found, strict=True):
        first.setdefault(what, f"{_quoted(what)} (line {job.line(span.start)})")
    shown = list(first.values())
    lacking = listed(shown, MOST)
    if len(lacking) > _LONG:
        lacking = listed(shown, MOST - 1)
    fatal = any(severity == FATAL for *_, severity in found)
    if job.is_wrapped:
        yield Finding(
            spans[0],
            f"sbatch runs --wrap with sh, and dash (sh on Debian, Ubuntu) lacks {lacking}; write a #!/bin/bash script",
            # the script did not choose sh, and on most clusters it is bash
            "warning" if fatal else "info",
        )
        return
    # Where sh is bash, as on most clusters, these do what is meant.
    foreign = all(what in FUNCTIONS or what == "source" and shell == "sh" for _, _, what, _, _ in found)
    # a path of the site names the system of its nodes
    of_debian = _OF_DEBIAN.search(job.source.text) is not None
    of_bash = not of_debian and shell == "sh" and _OF_BASH.search(job.source.text) is not None
    if of_bash and foreign:
        return
    line = job.text.string.partition("\n")[0].rstrip()
    where = "in dash" if shell == "dash" else "where sh is dash (Debian, Ubuntu)"
    at = line.rindex("sh", 0, _shell_name_end(line))
    start = at - 2 if shell == "dash" else at
    edit = replace(job.span(start, at + 2), "bash") if shell == "dash" else insert(job.span(at, at).start, "ba")
    instead = line[:start] + "bash" + line[at + 2 :]
    yield Finding(
        job.span(0, len(line)),
        f"{where}, {lacking} {'does' if len(shown) == 1 else 'do'} not work; write {instead}",
        # sh is bash on most clusters
        "info" if foreign and not of_debian or of_bash else "error" if fatal and shell == "dash" else "warning",
        [(spans[at], f"{_quoted(what)} is {effect}") for at, (_, _, what, effect, _) in enumerate(found[:MOST])],
        Fix(f"write {instead}", [edit]),
    )


def _first_line(job: Job, start: int, end: int) -> Span:
    newline = job.text.string.find("\n", start, end)
    return job.span(start, newline if newline > start else end)


def _shell_name_end(line: str) -> int:
    """The offset in the first line after the name of the shell."""
    words = line[2:].split()
    name = next(word for word in words if word.rpartition("/")[2] in ("sh", "dash"))
    return line.index(name) + len(name)


def _quoted(what: str) -> str:
    is_said = what == _BRACES_SAID or what.startswith(("a ", "an ", "the ")) or " in " in what
    return what if is_said else f"`{what}`"


# --- what dash does not understand ---------------------------------------------------------------


def _at(node: Node, what: str, effect: str, severity: str) -> Bashism:
    return node.start, node.end, what, effect, severity  # type: ignore[attr-defined]


def _bashisms(job: Job) -> Iterator[Bashism]:
    """Every construct that only bash has; none where the script tests which shell it runs in."""
    string = job.text.string
    tree = list(nodes(job.program))
    commands = sorted((node for node in tree if isinstance(node, Simple)), key=lambda node: node.start)
    if any(isinstance(node, Parameter) and node.name in GUARDS for node in tree):
        return
    if any(_names(command)[:2] in (["exec", "bash"], ["exec", "/bin/bash"]) for command in commands):
        return
    # `sh` is bash on many clusters, and there all commands of bash exist.
    absent = FATAL if job.interpreter_line[0] == "dash" else WRONG
    functions = {node.name for node in tree if isinstance(node, Function)}
    # `module` and `conda` may be defined by a sourced file, or by the startup files of a login shell.
    defined = re.search(r"\s-\w*l|\s--login", string.partition("\n")[0]) is not None
    for command in commands:
        names = _names(command)
        if names and names[0] not in functions:
            yield from _in_command(command, names, string, absent, defined)
            defined = defined or names[0] in (".", "source", "eval")
    for node in tree:
        for what, effect, severity in _in_node(node, string, absent):
            yield _at(node, what, effect, severity)
        if isinstance(node, For):
            yield from _in_braces(node.words or ())


def _in_command(command: Simple, names: list[str], string: str, absent: str, defined: bool) -> Iterator[Bashism]:
    first, name, words = command.words[0], names[0], names[1:]
    if name == "source":
        yield _at(first, "source", NOT_FOUND, absent)
    elif name in ("module", "ml") and not defined:
        yield _at(command, name, f"{NOT_FOUND}: it is a bash function", absent)
    elif name == "conda" and words[:1] in (["activate"], ["deactivate"]) and not defined:
        yield _at(command, f"conda {words[0]}", "not set up: it needs a bash function", absent)
    elif name in COMMANDS:
        yield _at(first, name, NOT_FOUND, WRONG)
    elif name in ("[", "test"):
        for word, text in zip(command.words, names, strict=True):
            if text in ("==", "-v"):
                yield _at(word, f"{text} in a test", "an unexpected operator, so that the test fails", WRONG)
    elif name == "set":
        for option, text, word in zip(names[1:], names[2:], command.words[2:], strict=False):
            if not re.fullmatch(r"[-+]\w*o", option):
                continue
            if text == "pipefail" and not PIPEFAIL_TRIED.search(string):
                yield _at(word, "set -o pipefail", "an illegal option, which ends the script", WRONG)
            elif text in SET_NAMES:
                yield _at(word, f"set -o {text}", "an illegal option, which ends the script", FATAL)
    elif name == "trap":
        for word, text in list(zip(command.words, names, strict=True))[2:]:
            if text in ("ERR", "DEBUG", "RETURN") or text.startswith("SIG"):
                yield _at(word, f"trap … {text}", "a bad trap, which is not set", WRONG)
    elif name == "kill" and words and words[0].startswith("-SIG"):
        yield _at(command.words[1], f"kill {words[0]}", "an illegal option", WRONG)
    elif name in OPTIONS:
        letters, ends = OPTIONS[name]
        for word, text in zip(command.words[1:], words, strict=True):
            if text[:1] != "-" or len(text) < 2:
                break
            if set(letters) & set(text[1:]):
                yield _at(word, f"{name} {text}", "an illegal option", FATAL if ends else WRONG)
                break
            if name == "read" and text == "-p":
                break
        for directive in ("%q", "%("):
            if name == "printf" and words and directive in words[0].replace("%%", ""):
                yield _at(command.words[1], f"printf {directive}", "an invalid directive", WRONG)
    yield from _in_braces([word for word in command.words if isinstance(word, Word)])


def _in_braces(words: Iterable[Word]) -> Iterator[Bashism]:
    for word in words:
        if BRACES.search("".join(_brace_text(part) for part in word.parts)):
            yield _at(word, _BRACES_SAID, "left unchanged", WRONG)


def _in_node(node: Node, string: str, absent: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, TestCommand):
        yield "[[ … ]]", NOT_FOUND, absent
    elif isinstance(node, ArrayLiteral):
        yield "an array", SYNTAX, FATAL
    elif isinstance(node, Assignment):
        if node.index is not None:
            yield f"{node.name}[…]=", NOT_FOUND, absent
        elif node.append and not isinstance(node.value, ArrayLiteral):
            yield f"{node.name}+=", NOT_FOUND, WRONG
    elif isinstance(node, Parameter):
        if node.index is not None:
            yield "an array", BAD_SUBSTITUTION, FATAL
        elif node.operator in OPERATORS:
            yield OPERATORS[node.operator], BAD_SUBSTITUTION, FATAL
    elif isinstance(node, ProcessSubstitution):
        yield f"{node.direction}( … )" if node.direction in "<>" else "<( … )", SYNTAX, FATAL
    elif isinstance(node, Function):
        if re.match(r"function\s", string[node.start : node.start + 9]):
            yield "function", SYNTAX, FATAL
        elif not IDENTIFIER.fullmatch(node.name):
            yield f"the name {node.name} of a function", SYNTAX, FATAL
    elif isinstance(node, Redirect):
        yield from _redirect(node)
    elif isinstance(node, Pipeline):
        for left, right in zip(node.commands, node.commands[1:], strict=False):
            if string[left.end : right.start].lstrip(" \t").startswith("|&"):
                yield "|&", SYNTAX, FATAL
    elif isinstance(node, ArithmeticCommand):
        yield "(( … ))", "two subshells", WRONG
    elif isinstance(node, ArithmeticFor):
        yield "for (( … ))", SYNTAX, FATAL
    elif isinstance(node, For):
        if string.startswith("select", node.start):
            yield "select", SYNTAX, FATAL
    elif isinstance(node, Case):
        if any(terminator in (";&", ";;&") for _, _, terminator in node.items):
            yield ";&", SYNTAX, FATAL
    elif isinstance(node, Background):
        if string.startswith("coproc", node.start):
            yield "coproc", NOT_FOUND, WRONG
    elif isinstance(node, Arithmetic):
        if string.startswith("$[", node.start):
            yield "$[ … ]", "left unchanged", WRONG
        else:
            operator = ARITHMETIC.search(string[node.expression_start : node.expression_end])
            if operator is not None:
                yield f"{operator.group()} in arithmetic", "an arithmetic error, which ends the script", FATAL
    elif isinstance(node, Literal) and node.quoted and string[max(node.start - 2, 0) : node.start] == "$'":
        yield "$'…'", "a string that begins with $", WRONG


def _redirect(node: Redirect) -> Iterator[tuple[str, str, str]]:
    if node.operator in ("&>", "&>>"):
        yield node.operator, "read as `&`: the command runs in the background", FATAL
    elif node.operator == "<<<":
        yield "<<<", SYNTAX, FATAL
    elif node.fd is not None and node.fd.startswith("{"):
        yield f"{node.fd}{node.operator}", "a word of the command", FATAL
    elif node.operator == ">&" and node.fd is None and node.target is not None:
        name = _literal(node.target)
        if name and name != "-" and not is_number(name):
            yield ">& FILE", SYNTAX, FATAL


def _literal(word: Word | Assignment) -> str:
    """The string of a word, with `\\0` for each expansion in it."""
    if isinstance(word, Assignment):
        return "\0"
    return "".join(part.text if isinstance(part, Literal) else "\0" for part in word.parts)


def _names(command: Simple) -> list[str]:
    return [_literal(word) for word in command.words]


def _brace_text(part: object) -> str:
    """Unquoted text as written, a quoted or escaped part as \\x02, an expansion as \\x01."""
    if not isinstance(part, Literal):
        return "\x01"
    if part.quoted or len(part.text) != part.end - part.start:
        return "\x02"
    return part.text


CASES = [
    Bad(
        """\
        «#!/bin/sh»
        #SBATCH --nodes=1
        module load cuda
        source venv/bin/activate
        srun python train.py
        """,
        unsafe_fixed={"#!/bin/sh": "#!/bin/bash"},
        severity="info",
    ),
    Bad(
        """\
        «#!/bin/sh -e»
        #SBATCH --array=0-3
        seeds=(1 2 3 5)
        if [[ -n "$1" ]]; then echo "$1"; fi
        srun ./a.out "${seeds[$SLURM_ARRAY_TASK_ID]}" &> log
        """,
        unsafe_fixed={"#!/bin/sh": "#!/bin/bash"},
        severity="warning",
    ),
    Bad(
        """\
        «#!/usr/bin/env sh»
        #SBATCH --nodes=1
        for i in {1..4}; do srun ./a.out "$i"; done
        """,
        unsafe_fixed={"sh": "bash"},
        severity="warning",
    ),
    Good(
        """\
        #!/bin/sh
        #SBATCH --nodes=1
        . /etc/profile.d/modules.sh
        module load cuda
        . venv/bin/activate
        [ "$1" = x ] && srun ./a.out "${1:-y}" > log 2>&1
        """,
    ),
    Good("#!/bin/sh\n#SBATCH -N1\nsrun bash -c 'source env.sh; [[ -n $X ]]'\n", title="text for a different shell"),
    Good("#!/bin/bash\n#SBATCH -N1\nif [[ -n $1 ]]; then srun ./a.out; fi\n"),
]
