"""Signs in a message, whatever program printed it, that tell its cause: a variable that nobody expanded, a character that is
not seen, a file that an earlier run left, words that the shell did not part.

They are looked for where neither a finding nor the log proves what the symptom itself says.
"""

import re
from collections.abc import Callable

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.answers import Answer, Picture, other_cause
from sbatchlint.diagnose.evidence import commands
from sbatchlint.diagnose.printed import before, found_by_shell, left_behind, shown_name
from sbatchlint.programs import programs_with
from sbatchlint.source.text import Span

# A path with a variable in it that should not be there any more, or a ~ before it.
_VARIABLE = r"\$(?:[A-Z][A-Z0-9_]{2,}|\{[A-Z][A-Z0-9_]{2,}(?:[%#:/,^][^}\s]*)?\})"
_LITERAL = re.compile(rf"(?:^|['\"`‘“(=: /])(?P<name>{_VARIABLE})/|/(?P<last>{_VARIABLE})(?=['\"`’”/\s:,)]|$)")
_TILDE = re.compile(r"['\"‘“=]~/[\w.-]")
_OF_FILES = re.compile(
    r"(?i)no such file|not found|does ?n[o']t exist|not exist|can(?:no|')t (?:open|read|find|access|create)|unable to|could not"
    r"|failed (?:to|process)|incorrect path|not a directory|permission|mkdir|\bopen(?:ing)?\b|NoSuchFile|ENOENT"
)
_RETURN = re.compile(r"\\r(?=['\"$.\s:/]|$)|\^M|\\x0d|&#13;|\\u000d", re.IGNORECASE)
_MARK = re.compile(r"\\ufeff|\\xef\\xbb\\xbf|\ufeff", re.IGNORECASE)
_LACKS = re.compile(
    r"(?i)\b(?:not found|missing|there (?:is|are) none|no (?:column|field|sample|header)|not (?:in|a valid)|unknown)\b"
)
_OF_TABLE = re.compile(r"(?i)\b(?:column|field|header|sample|row|table|sheet|list|file|csv|tsv)s?\b")
_QUOTED = re.compile(r"['\"`‘“]([\w.-]{2,60})['\"`’”]")
# Symptoms of files that are there and not whole, or not free.
_OF_REST = frozenset(["file-damaged", "checkpoint-broken", "netcdf-error", "lock-failed", "index-missing"])
_USER_SITE = re.compile(r"/\.local/lib/python3[\d.]*/site-packages/")
_OF_PACKAGES = re.compile(
    r"ImportError|ModuleNotFound|AttributeError|undefined symbol|cannot open shared object|version `|dtype size"
)
# Options that take a list after them, and then the script, the image or the program.
_TAKES_SCRIPT = frozenset(["sbatch", "srun", "apptainer", "singularity", "docker", "podman"])
_UNQUOTED = re.compile(r"(?:^|\s)(--?[A-Za-z][\w-]{0,60}(?:=|\s{1,20}))\$\{?([A-Za-z_]\w*)\}?(?=\s|\\?$)")


def signed(first: Answer, picture: Picture | None) -> Answer | None:
    """The answer that a sign in the message of an unproven answer gives; None without a sign."""
    if first.confidence == "certain" or first.findings:
        return None
    return next((found for sign in _SIGNS if (found := sign(first, picture))), None)


def _unseen_character(first: Answer, picture: Picture | None) -> Answer | None:
    text = first.event.text
    if _RETURN.search(text) and first.event.symptom.id != "shell-syntax":
        says = "what the program read has carriage returns: the file was written on Windows, and each line ends in one more character than is seen"
        return other_cause(
            first,
            "carriage-return",
            "data",
            says,
            "dos2unix that file (or `tr -d '\\r'`); `file NAME` says `with CRLF line terminators`",
        )
    if _MARK.search(text):
        says = "the file begins with a byte order mark, an unseen character that the program takes for part of the first name"
        return other_cause(
            first,
            "byte-order-mark",
            "data",
            says,
            "write it without (`dos2unix` removes the BOM), or read it with encoding utf-8-sig",
        )
    return None


def _not_expanded(first: Answer, picture: Picture | None) -> Answer | None:
    event = first.event
    near = event.text
    match = _LITERAL.search(near)
    name = match["name"] or match["last"] if match else "~" if _TILDE.search(near) else ""
    if not name or not _OF_FILES.search(near) or (event.symptom.id in ("unbound-variable", "disk-full")):
        return None
    plain = re.sub(r"^\$\{?|[%#:/,^].*$|\}$", "", name)
    if picture is not None:
        spans = _written_literally(picture.source.text, name, plain)
        if spans:
            says = f"nobody expands {name}: in single quotes, or in a heredoc with a quoted end, the shell leaves it as it is"
            advice = "write it in double quotes"
            if name == "~":
                says = "nobody expands ~: in quotes, and after `--option=`, the shell leaves it as it is"
                advice = "write $HOME/… in double quotes"
            return other_cause(first, "not-expanded", "script", says, advice, spans)
    said = f"the path has {name} as it is written: whoever set it did not expand it, and the program takes it for the name of a folder"
    if match and any(name in line for line in event.early):
        return other_cause(
            first,
            "not-expanded-by-site",
            "cluster",
            said,
            "set the variable that has this value in the script, in full; tell the owner of the module, or of the image, that sets it",
        )
    return other_cause(
        first,
        "not-expanded-in-settings",
        "code",
        said,
        "write the path in full in the settings that name it, or let the script fill it in (envsubst, sed)",
    )


def _written_literally(text: str, name: str, plain: str) -> tuple[Span, ...]:
    """Where a script has a variable in single quotes, or a ~ in quotes or after `=`."""
    if name == "~":
        found = re.finditer(r"['\"]~/[^'\"\s]*|(?<=\w=)~/\S*(?<![;&])", text)
        return tuple(
            Span(*each.span())
            for each in found
            if not re.match(r"\s*(?:export )?\w+=~", text[text.rfind("\n", 0, each.start()) + 1 : each.end()])
        )
    quoted = re.finditer(rf"'[^'\n]*\$\{{?{re.escape(plain)}\b[^'\n]*'", text)
    return tuple(Span(*each.span()) for each in quoted)


def _environment_lost(first: Answer, picture: Picture | None) -> Answer | None:
    """The batch shell found a program that a step does not find."""
    if first.event.symptom.id != "exec-not-found":
        return None
    program = next((each for each in first.event.groups.values() if re.fullmatch(r"[\w.+-]+", each)), "")
    path = found_by_shell(first.event, program) if program else ""
    if not path:
        return None
    says = f"the shell of the job finds {program} ({path}), and the step does not: it is started without the environment of the script (--export=NONE at the submission, or SBATCH_EXPORT, which srun inherits)"
    return other_cause(
        first,
        "environment-lost",
        "submission",
        says,
        "`unset SLURM_EXPORT_ENV` before srun, or srun --export=ALL; or submit with sbatch --export=ALL",
    )


def _left_behind(first: Answer, picture: Picture | None) -> Answer | None:
    event = first.event
    if event.symptom.id not in _OF_REST:
        return None
    line = left_behind(event)
    if not line:
        return None
    says = f"a file that an earlier run left unfinished is taken for done: `{line.strip()[:120]}`"
    return other_cause(
        first,
        "left-behind",
        "data",
        says,
        "delete what that run left (the file of the message, and those made with it), and start the job again",
    )


def _user_site(first: Answer, picture: Picture | None) -> Answer | None:
    """Packages below ~/.local that come before those of an environment or an image."""
    event = first.event
    if not _OF_PACKAGES.search(event.text) or not any(map(_USER_SITE.search, (event.text, *event.above[-6:]))):
        return None
    says = "Python takes packages from ~/.local, which come before those of the image or the environment, and were installed for others"
    advice = "export PYTHONNOUSERSITE=1 before the program (a container inherits it; else apptainer --no-home), or remove the copy below ~/.local"
    spans: tuple[Span, ...] = ()
    if picture is not None:
        job = picture.jobs[0]
        contained = commands(job, *programs_with("container"))
        spans = contained or commands(job, "conda", "mamba", "source", ".", "python", "python3")[:1]
    return other_cause(first, "user-site", "script" if spans else "submission", says, advice, spans)


def _words_as_one(first: Answer, picture: Picture | None) -> Answer | None:
    """An argument with blanks that begins like an option: words that quotes keep together."""
    if picture is None:
        return None
    for job in picture.jobs:
        for command in job.invocations:
            for word in command.argv[1:]:
                text = text_of(word) or ""
                if text.startswith("-") and re.search(r"^-\S+\s\S+", text) and text in first.event.text:
                    says = f"the quotes hand the program `{text}` as one word"
                    return other_cause(
                        first,
                        "one-word",
                        "script",
                        says,
                        'leave the quotes out, or keep the words in an array: ARGS=(…) and "${ARGS[@]}"',
                        (command.span, word[0].span),
                    )
    return None


def _parted(first: Answer, picture: Picture | None) -> Answer | None:
    """An option with an unquoted variable whose value has a blank: its second word is taken for the script or the image."""
    if picture is None or first.event.symptom.id not in ("script-not-opened", "apptainer-image", "docker-refused"):
        return None
    text = picture.source.text
    job = picture.jobs[0]
    for command in job.invocations:
        if command.name in _TAKES_SCRIPT and command.span.end <= len(text):
            found = _value_with_blank(job.source.own.text, command)
            if found is not None:
                name, span = found
                says = f"the value of ${name} has a blank, and without quotes the shell makes two words of it: {command.name} takes the second for what comes next"
                return other_cause(
                    first,
                    "parted",
                    "script",
                    says,
                    f'write "${name}" in quotes, and no blank in the list',
                    (span, command.span),
                )
    return None


def _value_with_blank(text: str, command: Invocation) -> tuple[str, Span] | None:
    """The variable in an option of a command, and where it gets a value with a blank."""
    found = _UNQUOTED.finditer(text[command.span.start : command.span.end])
    for name in dict.fromkeys(match[2] for match in found):
        assigned = re.search(
            rf"(?m)^[ \t]{{0,40}}{name}\+?=(?:\"[^\"\n]{{0,400}}?\s[^\"\n]{{0,400}}\"|'[^'\n]{{0,400}}?\s[^'\n]{{0,400}}')",
            text,
        )
        if assigned:
            return name, Span(*assigned.span())
    return None


def _not_as_it_looks(first: Answer, picture: Picture | None) -> Answer | None:
    """A name that the program does not find in a file which, as the log prints it, has it."""
    event = first.event
    if not _LACKS.search(event.text) or not _OF_TABLE.search(event.text):
        return None
    for name in _QUOTED.findall(event.text):
        line = shown_name(event, name)
        if line:
            says = f"the program does not find {name}, which the file has as the log prints it: an unseen character stands beside it (line ends of Windows, a blank, a byte order mark)"
            return other_cause(
                first, "unseen-character", "data", says, "`cat -A FILE` shows it (^M, M-oM-;M-?); dos2unix removes it"
            )
    return None


# Folders of packages of a release of R or Python, how a module or a log names one, and the languages' names.
_RELEASES = (
    ("R", re.compile(r"-library/(\d\.\d{1,2})/"), re.compile(r"(?<![\w.])(?:R|r|R-bundle\S*|r-base)/(\d\.\d{1,2})\b|\bR version (\d\.\d{1,2})")),
    ("Python", re.compile(r"(?:lib/|lib)python(\d\.\d{1,2})\b"), re.compile(r"(?<![\w.-])[Pp]ython/(\d\.\d{1,2})\b|\bPython (\d\.\d{1,2})\.\d")),
)  # fmt: skip


def _other_release(first: Answer, picture: Picture | None) -> Answer | None:
    """Packages, or an environment, of another release of R or Python than the one that the job loads."""
    event = first.event
    near = "\n".join((event.text, *event.above[-4:], *event.below[:2]))
    if not re.search(
        r"unable to load|shared object|libpython|not installed|ImportError|ModuleNotFound|undefined symbol|namespace",
        near,
    ):
        return None
    for language, folder, loaded in _RELEASES:
        wanted = folder.search(near)
        if wanted is None:
            continue
        text = "" if picture is None else picture.source.text
        lines = (*(line for line in text.splitlines() if re.match(r"\s*(?:module|ml)\s", line)), *before(event))
        for line in lines:
            match = loaded.search(line)
            release = (match[1] or match[2]) if match else wanted[1]
            if match and release != wanted[1]:
                says = f"what is installed is for {language} {wanted[1]}, and the job runs {language} {release}"
                advice = f"load {language} {wanted[1]} in the script, or install again with {language} {release}, in a folder of its own"
                at = text.find(match[0])
                spans = (Span(at, at + len(match[0])),) if at >= 0 else ()
                return other_cause(first, "other-release", "script" if spans else "submission", says, advice, spans)
    return None


Sign = Callable[[Answer, Picture | None], Answer | None]
_SIGNS: tuple[Sign, ...] = (
    _unseen_character, _not_expanded, _environment_lost, _left_behind, _user_site, _words_as_one, _parted, _not_as_it_looks,
    _other_release,
)  # fmt: skip
