"""A program gets the name of a variable, or a lone `$`: a dollar sign is missing.

bash leaves `-I{HDF5_INC}` as it is, since braces without a comma or two dots mean nothing: the compiler looks for a
folder of that very name, and `cp x.log results_{SLURM_JOB_ID}` makes the same file in each job. `kill SERVER_PID` and
`wait SERVER_PID` fail, as neither takes a name: the server runs on, or nothing is awaited. `cd WORKDIR` looks for a
folder of that name. And a `$` at the end of a word stays: `hosts.$`, where `hosts.$$` was meant, is one file for all
jobs.

In `/scratch/#USER` and `run_#{SLURM_JOB_ID}` the `#` stands where the dollar belongs: within a word it begins no
comment, and stays. An error where a command enters, sources or redirects to such a path.

A `wait` that awaits nothing is an error, and a `kill` with which the job ends, which is FAILED then, where mail or
another job reads that state; the rest warns.

Reported are names that the script sets and reads with a `$` elsewhere, and those that Slurm sets. A word in single
quotes, of a program that has braces of its own (`awk`, `find`, `parallel`), or in lower case in double quotes may be
meant for the program. What only prints it is advice.

Names without braces are reported where `kill` or `wait` gets them, and in capitals where a command that enters or
removes folders or sources a file does, and the script makes nothing of that name.

## Fix

Adds the `$`, or writes it for the `#`. Unsafe: perhaps the program fills it in.

## References

bash(1), "Brace Expansion", kill and wait; run with bash 5.2: "arguments must be process or job IDs".
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.reach import word_around
from sbatchlint.analysis.expansion.reads import assigned_names, read_names, reads_of, use_of
from sbatchlint.analysis.outcome.state_readers import costs_work
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB456", "dollar-missing", severity="error", fix="always", since="0.1.0", seen="a review of public scripts",
)  # fmt: skip

_BRACED = Regex(r"(?<![$\\{%@#])(?<!%q)\{([A-Za-z_]\w+)\}(?!\})")
# Programs with braces of their own, or whose words are programs.
_OWN = frozenset(
    {"awk", "gawk", "mawk", "sed", "perl", "jq", "find", "xargs", "parallel", "printf", "docker", "podman", "curl"}
    | {"git", "rename", "sbatch", "ssh", "eval", "fd", "rsync", "aws", "sacct", "squeue", "sinfo"}
)
_CODE = frozenset({"-c", "-lc", "-ic", "-lic", "-ec", "-exc", "-euc", "-xc", "-e", "-r", "-batch", "--eval", "-E"})
_TEMPLATE = Regex(r"(?i)templ|format|pattern|prompt|text|name_fmt|glob|regex")


# Commands that get a folder or a file that is there.
_OF_FILES = frozenset({"cd", "pushd", "rmdir", "source", "."})
_BARE = Regex(r"[A-Za-z_]\w+")
_WRITTEN = Regex(r"(?<!<)>{1,2}[ \t]*[\"']?[^\s;&|<>]*$")
# `#USER` in a path.
_HASH = Regex(r"(?<=[/_.-])#(?:\{([A-Za-z_]\w+)\}|([A-Z][A-Z0-9_]+)\b)")
_OF_LOGIN = frozenset({"USER", "LOGNAME", "HOME", "SCRATCH", "WORK"})
_LONE = Regex(r"[\w.-]*[A-Za-z][._-]\$")


def check(job: Job) -> Iterator[Finding]:
    if job.is_embedded or not job.is_shell:
        return
    yield from _bare_names(job)
    yield from _lone_dollars(job)
    yield from _hashes(job)
    if _BRACED.search(job.source.own.text) is None:
        return
    places: dict[Span, tuple[bool, str]] = {}  # whether it is only printed, and the name
    for command in job.invocations:
        starters = (command, *command.ancestors())
        if any(each.name in _OWN for each in starters) or command.text or not _CODE.isdisjoint(command.words):
            continue
        for before, field in zip(("", *command.words), command.argv):
            if not _TEMPLATE.search(before):
                for place, name in _in_field(job, field):
                    places.setdefault(place, (has_trait(command.name, "prints"), name))
    for assigned in job.assignments:
        fields = [field for each in assigned.alternatives for field in each.fields or ()]
        for place, name in [found for field in fields for found in _in_field(job, field)]:
            if name != assigned.name and not _TEMPLATE.search(assigned.name):
                places.setdefault(place, (False, name))
    by_name: dict[str, list[Span]] = {}
    for place, (_, name) in sorted(places.items()):
        by_name.setdefault(name, []).append(place)
    for name, (first, *others) in by_name.items():
        printed = all(places[each][0] for each in (first, *others))
        yield Finding(
            first,
            f"bash does not replace `{{{name}}}` by the value of {name}; write `${{{name}}}`",
            "info" if printed else "warning",
            related=[(each, "the same") for each in others[:5]],
            fix=Fix("add the `$`", [insert(each.start, "$") for each in (first, *others)], safe=False),
        )


def _bare_names(job: Job) -> Iterator[Finding]:
    """Findings on names of variables where a command wants their values."""
    for command in commands_named(job, "kill", "wait", *_OF_FILES):
        of_processes = command.name in ("kill", "wait")
        if command.alternatives > 1 or command.calls_function:
            continue
        if command.context.parent is not None and command.name != "kill":
            continue  # a builtin of another shell
        for word in command.argv[1:]:
            name, place = text_of(word) or "", span_of(word)
            if not _BARE.fullmatch(name) or name not in assigned_names(job) or job.source.slice(place) != name:
                continue
            happens = f"{command.name} gets the text `{name}`, not the value of {name}"
            if of_processes:
                happens = f"{command.name} fails, as `{name}` is a name, not a process"
                if job.source.text.endswith(("-s ", "-n "), 0, place.start):
                    continue  # a signal
            elif not (name.isupper() and _is_only_set(job, name)):
                continue
            ends = any(job.span(each.start, each.end).contains(command.span) for each in job.program.statements[-1:])
            worst = command.name == "wait" or command.name == "kill" and ends and costs_work(job, command)
            yield Finding(
                place,
                f"{happens}; write `${name}`",
                "error" if worst else "warning",
                fix=Fix("add the `$`", [insert(place.start, "$")], safe=False),
            )


def _is_only_set(job: Job, name: str) -> bool:
    """Whether a name occurs once without its dollar, apart from assignments."""
    return len(re.findall(rf"(?<![$\w{{])(?<!\$\{{){name}\b(?!\+?=)", job.source.own.text)) == 1


def _lone_dollars(job: Job) -> Iterator[Finding]:
    """The finding on a value that ends in a lone `$`, as in `hosts.$`."""
    for assigned in job.assignments:
        written = job.source.slice(assigned.span)
        value = written.partition("=")[2].strip('"')
        if not _LONE.fullmatch(value) or "'" in written or len(assigned.alternatives) != 1:
            continue
        end = assigned.span.end - written.endswith('"')
        reads = reads_of(job).get(assigned.name, ())
        unread = bool(reads) and all(_is_only_written(job, each) for each in reads)
        yield Finding(
            Span(end - 1, end),
            f"a lone `$` stays as it is: {assigned.name} is `{value}` in each job; write `$$` or `$SLURM_JOB_ID`",
            "info" if unread else "warning",
            fix=Fix("write $SLURM_JOB_ID", [insert(end, "SLURM_JOB_ID")], safe=False),
        )


def _hashes(job: Job) -> Iterator[Finding]:
    """Findings on `#` where a dollar belongs: `/scratch/#USER`."""
    if _HASH.search(job.source.own.text) is None:
        return
    fields: list[tuple[Pieces, bool]] = []  # with whether the command fails because of it
    for command in job.invocations:
        if has_trait(command.name, "prints") or command.text or command.name in _OWN:
            continue
        fields += [(field, command.name in _OF_FILES) for field in command.argv[1:]]
        fields += [(each.target, True) for each in command.redirects if each.target is not None]
    fields += [(field, False) for each in job.assignments for one in each.alternatives for field in one.fields or ()]
    found: dict[Span, tuple[str, bool]] = {}
    for field, fails in fields:
        for piece in field:
            if piece.text is None or piece.expansion is not None:
                continue
            for match in _HASH.finditer(piece.text):
                name = match[1] or match[2]
                place = Span(piece.offset(match.start()), piece.offset(match.end() - 1) + 1)
                known = name in _OF_LOGIN or name in _known(job) or find(name) is not None
                if known and job.source.slice(place) == match[0]:
                    found[place] = (name, fails or found.get(place, ("", False))[1])
    if found:
        (place, (name, _)), *others = sorted(found.items())
        yield Finding(
            place,
            f"`{job.source.slice(place)}` stays as it is: `#` does not expand {name}; write `${{{name}}}`",
            "error" if any(fails for _, fails in found.values()) else "warning",
            related=[(each, "the same") for each, _ in others[:5]],
            fix=Fix("write a dollar", [replace(each, f"${{{one}}}") for each, (one, _) in found.items()], safe=False),
        )


def _is_only_written(job: Job, read: VariableRead) -> bool:
    """Whether a value is only printed, or names a file that is written there: nothing is read from it."""
    return use_of(job, read).kind == "print" or _WRITTEN.search(word_around(job, read.span)[0]) is not None


def _in_field(job: Job, field: Pieces) -> Iterator[tuple[Span, str]]:
    """The names in braces in the literal parts of a word, with their places."""
    for piece in field:
        if piece.text is None or piece.expansion is not None or "{" not in piece.text:
            continue
        for match in _BRACED.finditer(piece.text):
            place = Span(piece.offset(match.start()), piece.offset(match.end() - 1) + 1)
            if job.source.slice(place) == match[0] and _is_meant(job, place, match[1]):
                yield place, match[1]


def _is_meant(job: Job, place: Span, name: str) -> bool:
    """Whether the value of a variable was meant, and no slot of the program that gets the word."""
    if name not in _known(job) or job.source.text[place.start - 1 : place.start] in ("$", "\\"):
        return False  # `\\${X}` in double quotes is for a shell that gets the text
    line = job.source.text[job.source.line_of(place.start).start : place.start]
    if line.count("'") % 2:
        return False
    return name.isupper() or not line.count('"') % 2


@once
def _known(job: Job) -> frozenset[str]:
    """The variables that the script sets and reads elsewhere, and those of Slurm in its braces."""
    own = {each.name for each in job.assignments} & set(read_names(job))
    braced = set(_BRACED.findall(job.source.own.text))
    return frozenset(own | {each for each in braced if each.startswith("SLURM_") and find(each) is not None})


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00 --mail-type=FAIL
        ./server &
        SERVER_PID=$!
        srun ./client
        kill «SERVER_PID»
        """,
        unsafe_fixed={"kill SERVER_PID": "kill $SERVER_PID"},
        title="a process",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --time=1:00:00\nHOSTS=hosts.«$»\nsrun hostname > $HOSTS\nmpirun -f $HOSTS ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --time=1:00:00\nHOSTS=hosts.$SLURM_JOB_ID\nsrun hostname > $HOSTS\n"
        "mpirun -f $HOSTS ./a.out\n",
        severity="warning",
        title="a dollar at the end",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --time=1:00:00\nHOSTS=hosts.«$»\nsrun hostname > $HOSTS\npython train.py\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --time=1:00:00\nHOSTS=hosts.$SLURM_JOB_ID\nsrun hostname > $HOSTS\n"
        "python train.py\n",
        severity="info",
        title="a dollar at the end of the name of a file that nothing reads",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        HDF5_INC=$HDF5_ROOT/include
        ls $HDF5_INC
        mpicc -I«{HDF5_INC}» -o solver solver.c
        """,
        unsafe_fixed={"-I{HDF5_INC}": "-I${HDF5_INC}"},
        severity="warning",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --time=1:00:00\ncp run.log results_«{SLURM_JOB_ID}»\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --time=1:00:00\ncp run.log results_${SLURM_JOB_ID}\n",
        severity="warning",
        title="a variable of Slurm",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --time=1:00:00\ncd /scratch/«#USER»/run\n./solver\n",
        unsafe_fixed={"#USER": "${USER}"},
        title="a hash in place of the dollar",
    ),
    Good("#!/bin/bash\n#SBATCH -n 1\nOUT=a\nls $OUT\nparallel echo {OUT} ::: 1 2\n", title="braces of its own"),
    Good('#!/bin/bash\n#SBATCH -n 1\nstep=a\nls $step\n./train --name "run-{step}"\n', title="a slot"),
    Good(
        "#!/bin/bash\n#SBATCH --time=1:00:00\nexport LIBS=$HOME/lib\nls $LIBS\n"
        'apptainer exec a.sif bash -lc "export LIBS=/opt/lib:\\${LIBS}; ./train"\n'
        './run --line "cd \\${LIBS}"\n',
        title="escaped, for the shell that gets the text",
    ),
    Good("#!/bin/bash\n#SBATCH --time=1:00:00\nA=1\nls $A\n./train {A,B}\n", title="two words"),
]
