"""Options after the script's name have no effect: sbatch passes them to the script.

`sbatch train.sh --time=2:00:00` submits the script with the time limit that it has itself, and gives it the word as
`$1`. sbatch reads options only before the script. Likewise, `sbatch a.sh : b.sh` is one job, whose script gets `b.sh`
as its argument, and not a heterogeneous job. With `--wrap` there is no script, and sbatch refuses arguments.

An error where the script is at hand and reads no argument. A warning where it is not, for words that hardly any
program takes: `--cpus-per-task`, a dependency, a time limit, the range of an array.

## Fix

None: the options belong before the script's name, and those of a script of another language may be its own.

## References

sbatch(1); `process_options_first_pass()` in src/sbatch/opt.c, Slurm 22.05 to 26.05; live runs of 22.05 ("Script
arguments not permitted with --wrap option").
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import reads_arguments
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Text, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.slurm import getopt
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB133", "sbatch-words-after-script", severity="error", fix="never", since="0.1.0", when=Commands("sbatch"),
    seen="live runs of Slurm 22.05",
)  # fmt: skip

# Options that hardly any program has; of others, values that hardly any program takes.
_TELLING = frozenset({
    "ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "cpus-per-task",
    "gpus-per-task", "gpus-per-node", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "gres", "mail-type", "mail-user",
})  # fmt: skip
_VALUES = {
    "array": Regex(r"\d+(?:-\d+)?(?:[,%:]\S*)?"),
    "dependency": Regex(r"(?:after|singleton).*"),
    "mem": Regex(r"\d+[KMGTkmgt]B?"),
    "time": Regex(r"(?:\d+-)?\d+(?::\d+){1,2}|\d+-\d+"),
}


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    words = command.words[1:]
    parsed = getopt.parse(words, "sbatch", job.versions.majors, job.site.plugin_options)
    if parsed.uncertain or parsed.rest >= len(words) or words[parsed.rest] == ":":
        return
    if any(each.name == "wrap" for each in parsed.options):
        message = "sbatch refuses arguments after --wrap, whose text is the whole script; remove them"
        yield Finding(_place(command, parsed.rest, len(words) - 1), message)
        return
    script, after = words[parsed.rest].rpartition("/")[2], parsed.rest + 1
    colon = next((at for at in range(after, len(words)) if words[at] == ":"), None)
    if colon is not None:
        message = f"sbatch submits only {script}, and passes what follows `:` to it as arguments"
        advice = "write `#SBATCH hetjob` between the components in one script"
        yield Finding(_place(command, colon, len(words) - 1), f"{message}; {advice}")
        return
    text = next((each.text for each in job.trace.submissions if each.command is command), None)
    options = _options(job, command, after, text)
    if options:
        names = " and ".join(dict.fromkeys(f"`{words[at].partition('=')[0]}`" for at, _ in options))
        message = f"sbatch ignores options after the script and passes {names} to {script}"
        if text is not None:
            message += ", which reads no arguments"
        place = _place(command, options[0][0], options[-1][1])
        yield Finding(place, f"{message}; write options before {script}", None if text is not None else "warning")


def _options(job: Job, command: Invocation, after: int, text: Text | None) -> list[tuple[int, int]]:
    """The first and the last word of each option that sbatch would read before the script, counted from its name."""
    words = command.words[1:]
    if text is not None:
        parsed = getopt.parse(words[after:], "sbatch", job.versions.majors, job.site.plugin_options)
        is_meant = bool(parsed.options) and not parsed.options[0].word and not reads_arguments(job, text)
        places = [(after + each.word, after + max(each.word, each.value_word or 0)) for each in parsed.options]
        return places if is_meant else []
    found = []
    for at in range(after, len(words)):
        name, equals, value = words[at].partition("=")
        if name[:2] == "--" and (equals or at + 1 < len(words)):
            form = _VALUES.get(name[2:])
            value = value if equals else words[at + 1]
            if name[2:] in _TELLING or form is not None and form.fullmatch(value):
                found.append((at, at if equals else at + 1))
    return found


def _place(command: Invocation, first: int, last: int) -> Span:
    """The place of words of a command, counted from the one after its name."""
    start, end = span_of(command.argv[first + 1]), span_of(command.argv[last + 1])
    return Span(start.start, end.end) if end.end >= start.end and shown_text(command.argv[first + 1]) else start


CASES = [
    Bad(
        """\
        #!/bin/bash
        sbatch train.sh «--dependency=afterok:1234»
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        sbatch -p gpu train.sh «-N 4 --time=2:00:00»
        """,
        files={"train.sh": "#!/bin/bash\n#SBATCH --time=1:00:00\nsrun ./train\n"},
        title="the script reads no argument",
    ),
    Bad(
        """\
        #!/bin/bash
        sbatch server.sh «: client.sh»
        """,
        title="no heterogeneous job",
    ),
    Bad(
        """\
        #!/bin/bash
        sbatch --wrap 'srun hostname' «run.sh -N 2»
        """,
        title="there is no script",
    ),
    Good(
        """\
        #!/bin/bash
        sbatch --time=2:00:00 train.sh --nodes 4 --lr 0.1
        """,
        title="the script's own",
    ),
    Good(
        """\
        #!/bin/bash
        sbatch train.sh --cpus-per-task 4
        """,
        files={"train.sh": '#!/bin/bash\n#SBATCH --time=1:00:00\nsrun ./train "$@"\n'},
        title="the script reads its arguments",
    ),
]
