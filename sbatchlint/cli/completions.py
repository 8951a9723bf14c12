"""`completions`: what completes the command line in bash, zsh and fish, made from the parsers of the verbs."""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sbatchlint.cli import audit, config, convert, diagnose, explain, mcp, plan, schema, server, site, submit
from sbatchlint.cli.arguments import VERBS, Parser, lint_parser
from sbatchlint.registry import GROUPS, registry
from sbatchlint.slurm.versions import MAJORS

SHELLS = ("bash", "zsh", "fish")
LINT = "lint"

# What a value is, where no choices say it: by the metavar of the option.
_KINDS = {
    "CHECKS": "checks", "CODE|NAME|GROUP|SYMPTOM": "check", "FILE": "files", "PATH": "files", "LOG": "files",
    "SCRIPT": "files", "OUT": "files", "FILE|KEY=VALUE": "files",
}  # fmt: skip


class Argument(NamedTuple):
    """An option, or what stands without one (`names` is empty).

    `kind`: of its value: "words" (one of `words`), "check", "checks" (with commas), "files", "text"; "" for none.
    """

    names: tuple[str, ...]
    help: str
    kind: str
    words: tuple[str, ...]
    optional: bool
    repeated: bool


class Verb(NamedTuple):
    name: str
    help: str
    options: list[Argument]
    positional: Argument | None


def parser() -> Parser:
    made = Parser(
        "completions",
        "Prints the completions for a shell; docs/usage.md says where to put them.",
    )
    made.add_argument("shell", choices=SHELLS)
    return made


def completions(arguments: list[str]) -> int:
    """Runs `sbatchlint completions SHELL`; returns the exit code."""
    shell = parser().parse_args(arguments).shell
    print("\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](verbs(), _checks())))
    return 0


def verbs() -> list[Verb]:
    """All verbs, by their parsers."""
    parsers: dict[str, Callable[[], ArgumentParser]] = {
        LINT: lint_parser,
        "plan": plan.parser,
        "diagnose": diagnose.parser,
        "convert": convert.parser,
        "submit": submit.parser,
        "audit": audit.parser,
        "merge": audit.merge_parser,
        "explain": explain.explain_parser,
        "checks": explain.checks_parser,
        "config": config.parser,
        "schema": schema.parser,
        "site": site.parser,
        "server": server.parser,
        "mcp": mcp.parser,
        "completions": parser,
    }
    assert {LINT, *VERBS} == parsers.keys()
    return [_verb(name, make()) for name, make in parsers.items()]


def _verb(name: str, parser: ArgumentParser) -> Verb:
    options, positional = [], None
    for action in parser._actions:
        words = tuple(str(each) for each in action.choices or ())
        metavar = str(action.metavar or "")
        if metavar in ("V|V-W", "V"):
            words = MAJORS
        kind = "" if action.nargs == 0 else "words" if words else _KINDS.get(metavar, "text")
        repeated = action.default == [] or metavar == "CHECKS"
        made = Argument(tuple(action.option_strings), action.help or "", kind, words, action.nargs == "?", repeated)
        if made.names:
            options.append(made)
        else:
            positional = made
    return Verb(name, (parser.description or "").rstrip("."), options, positional)


def _checks() -> dict[str, str]:
    """What --select takes, with what it means."""
    found = {"ALL": "every check"}
    for group in GROUPS:
        found |= dict.fromkeys((group.name, group.prefix), group.summary)
    for check in registry().load_all():
        found |= dict.fromkeys((check.entry.name, check.entry.code), explain.plain(check.summary).rstrip("."))
    return found


# --- bash ---------------------------------------------------------------------------------------

_BASH = r"""# bash completion of sbatchlint, made by: sbatchlint completions bash
_sbatchlint_words() { # PREFIX WORD...: completes the last of the words between commas
    local prefix=$1 each
    shift
    for each; do
        [[ $each == "$cur"* ]] && COMPREPLY+=("$prefix$each")
    done
}
_sbatchlint_files() {
    local each
    compopt -o filenames 2>/dev/null
    while IFS= read -r each; do COMPREPLY+=("$1$each"); done < <(compgen -f -- "$cur")
}
_sbatchlint() {
    local cur=${COMP_WORDS[COMP_CWORD]} option= verb=lint head= checks
    COMPREPLY=()
    ((COMP_CWORD > 1)) && case ${COMP_WORDS[1]} in @VERBS@) verb=${COMP_WORDS[1]} ;; esac
    # Readline makes three words of --option=value, unless COMP_WORDBREAKS was changed.
    if [[ $cur == --*=* ]]; then
        option=${cur%%=*} head=${cur%%=*}= cur=${cur#*=}
    elif [[ $cur == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} cur=
    elif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif ((COMP_CWORD > 1)); then
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    checks=(
@CHECKS@
    )
    case $verb:$option in
@VALUES@
    esac
    if [[ $cur == -* ]]; then
        case $verb in
@OPTIONS@
        esac
        return
    fi
    ((COMP_CWORD == 1)) && _sbatchlint_words '' @NAMES@
    case $verb in
@POSITIONAL@
    esac
}
complete -F _sbatchlint sbatchlint"""


def _bash(verbs: list[Verb], checks: dict[str, str]) -> Iterator[str]:
    names = [verb.name for verb in verbs if verb.name != LINT]
    values, options, positional = [], [], []
    for verb in verbs:
        options.append(f"        {verb.name}) _sbatchlint_words '' {' '.join(_names(verb.options))} ;;")
        for option in verb.options:
            if option.kind and not option.optional:
                labels = " | ".join(f"{verb.name}:{name}" for name in option.names)
                values.append(f"    {labels}) {_bash_value(option)}; return ;;")
        if verb.positional is not None:
            positional.append(f"        {verb.name}) {_bash_value(verb.positional)} ;;")
    parts = {
        "VERBS": " | ".join(names), "NAMES": " ".join(names), "VALUES": "\n".join(values),
        "OPTIONS": "\n".join(options), "POSITIONAL": "\n".join(positional), "CHECKS": " ".join(checks),
    }  # fmt: skip
    yield re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _BASH)


def _bash_value(argument: Argument) -> str:
    return {
        "words": f'_sbatchlint_words "$head" {" ".join(argument.words)}',
        "check": '_sbatchlint_words "$head" "${checks[@]}"',
        "checks": '[[ $cur == *,* ]] && head+=${cur%,*}, cur=${cur##*,}; _sbatchlint_words "$head" "${checks[@]}"',
        "files": '_sbatchlint_files "$head"',
    }.get(argument.kind, ":")


def _names(options: list[Argument]) -> list[str]:
    return [name for option in options for name in option.names]


# --- zsh ----------------------------------------------------------------------------------------

_ZSH = r"""#compdef sbatchlint
# zsh completion of sbatchlint, made by: sbatchlint completions zsh
_sbatchlint_checks() {
    local -a checks=(
@CHECKS@
    )
    compset -P '*,'
    _describe -t checks check checks
}
_sbatchlint_verbs() {
    local -a verbs=(
@VERBS@
    )
    _describe -t commands command verbs
}
_sbatchlint_first() {
    if ((CURRENT == 2)); then
        _alternative 'commands:command:_sbatchlint_verbs' 'files:script:_files'
    else
        _files
    fi
}
_sbatchlint() {
    local verb=lint
    if ((CURRENT > 2)); then
        case $words[2] in (@NAMES@)
            verb=$words[2]
            shift words
            ((CURRENT--)) ;;
        esac
    fi
    case $verb in
@ARGUMENTS@
    esac
}
if [[ $funcstack[1] == _sbatchlint ]]; then
    _sbatchlint "$@"
else
    compdef _sbatchlint sbatchlint
fi"""


def _zsh(verbs: list[Verb], checks: dict[str, str]) -> Iterator[str]:
    named = [verb for verb in verbs if verb.name != LINT]
    arguments = []
    for verb in verbs:
        specs = [spec for option in verb.options for spec in _zsh_specs(option)]
        if verb.positional is not None:
            action = "_sbatchlint_first" if verb.name == LINT else _zsh_action(verb.positional)
            several = "*" if verb.positional.kind == "files" else "1"
            specs.append(_quoted(f"{several}:{_zsh_message(verb.positional)}:{action}"))
        joined = " \\\n            ".join(specs)
        arguments.append(f"    ({verb.name})\n        _arguments -s : \\\n            {joined} ;;")
    parts = {
        "CHECKS": "\n".join(f"        {_quoted(f'{name}:{text}')}" for name, text in checks.items()),
        "VERBS": "\n".join(f"        {_quoted(f'{verb.name}:{verb.help}')}" for verb in named),
        "NAMES": "|".join(verb.name for verb in named),
        "ARGUMENTS": "\n".join(arguments),
    }
    yield re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _ZSH)


def _zsh_specs(option: Argument) -> Iterator[str]:
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    value = f":{_zsh_message(option)}:{_zsh_action(option)}" if option.kind else ""
    for name in option.names:
        assign = "=" if option.kind and name.startswith("--") else ""
        assign += "-" if option.optional else ""
        before = "*" if option.repeated else f"({' '.join(option.names)})" if len(option.names) > 1 else ""
        after = ":" if option.optional else ""
        yield _quoted(f"{before}{name}{assign}[{text}]{after}{value}")


def _zsh_message(argument: Argument) -> str:
    return {"check": "check", "checks": "checks", "files": "file"}.get(argument.kind, "value")


def _zsh_action(argument: Argument) -> str:
    words = f"({' '.join(argument.words)})"
    actions = {"words": words, "check": "_sbatchlint_checks", "checks": "_sbatchlint_checks", "files": "_files"}
    return actions.get(argument.kind, " ")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- fish ---------------------------------------------------------------------------------------


def _fish(verbs: list[Verb], checks: dict[str, str]) -> Iterator[str]:
    named = [verb for verb in verbs if verb.name != LINT]
    yield "# fish completion of sbatchlint, made by: sbatchlint completions fish"
    yield "function __sbatchlint_runs # whether the command is this one"
    yield "    set -l words (commandline -opc)"
    yield "    set -l verb lint"
    yield f'    contains -- "$words[2]" {" ".join(verb.name for verb in named)}; and set verb $words[2]'
    yield "    test $verb = $argv[1]"
    yield "end"
    yield "function __sbatchlint_checks"
    yield "    printf '%s\\t%s\\n' \\"
    yield " \\\n".join(f"        {name} {_fish_quoted(text)}" for name, text in checks.items())
    yield "end"
    for verb in named:
        first = "test (count (commandline -opc)) -eq 1"
        yield f"complete -c sbatchlint -n '{first}' -a {verb.name} -d {_fish_quoted(verb.help)}"
    for verb in verbs:
        start = f"complete -c sbatchlint -n '__sbatchlint_runs {verb.name}'"
        if verb.positional is None or verb.positional.kind != "files":
            yield f"{start} -f{_fish_value(verb.positional) if verb.positional else ''}"
        for option in verb.options:
            names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
            takes = "" if not option.kind or option.optional else " -rF" if option.kind == "files" else " -x"
            value = _fish_value(option) if takes else ""
            yield f"{start}{names}{takes}{value} -d {_fish_quoted(option.help)}"


def _fish_value(argument: Argument) -> str:
    return {
        "words": f" -a {_fish_quoted(' '.join(argument.words))}",
        "check": " -a '(__sbatchlint_checks)'",
        "checks": " -a '(__fish_complete_list , __sbatchlint_checks)'",
    }.get(argument.kind, "")


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
