"""Each run overwrites the log of the previous one: its name never changes.

With `--output=train.log` the next job truncates the log of the last one, and two jobs that run at the same time
overwrite each other's lines. `%j` is the id of the job, `%x` its name. The same goes for `| tee train.log > /dev/null`
after the work of the job; without the redirect its text is in Slurm's own log too. Sites may set the default to
appending (`JobFileAppend`), and then the log contains one run after the other.

Advice only: some want to keep just the last run's log. Not reported where the script itself reads or removes the log
(`rm *.out`), with `--open-mode`, and where the log's name contains the job's name, which may come from the command
line. A log that all tasks of an array share has a check of its own (SB702).

## Fix

Puts `%j` into the name (`%A` in an array, `$SLURM_JOB_ID` for tee). Unsafe: something else may look for the file.

## References

sbatch(1), "filename pattern"; CoBrALab/qbatch issue 146; live runs of Slurm 22.05 (tests/slurm).
"""

import posixpath
import re
from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import plain_paths, with_part
from sbatchlint.analysis.expansion.array_elements import is_at_one_place
from sbatchlint.analysis.script.submit_lines import may_be_array
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.storage.written_paths import place_before_suffix
from sbatchlint.bash.values import UNKNOWN_CHARACTER, expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert, shortened
from sbatchlint.job.paths import classify
from sbatchlint.job.programs import by_program
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.globs import fits
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Commands, Options

CARD = Card(
    "SB704", "log-without-job-id", severity="info", fix="sometimes", since="0.1.0",
    when=Options("output", "error") | Commands("tee"), seen="public scripts", batch=True, certain=True,
    unseen="A log that holds the latest run only: what killed an earlier one is overwritten.",
)  # fmt: skip

# Patterns that differ from job to job.
_OWN = frozenset("jJAaS")
# Patterns that differ from node to node.
_OF_NODE = frozenset("nN")
# Variables in file names with the same value in every run.
_FIXED = frozenset({"HOME", "USER", "SLURM_SUBMIT_DIR", "SLURM_JOB_NAME", "SCRATCH", "WORK", "PROJECT", "PWD"})


def check(job: Job) -> Iterator[Finding]:
    if not job.directives.every_setting:
        return
    if job.request.has_option("array"):
        yield from _logs_of_job(job, array=True)
        return
    found = [*_logs_of_job(job), *(_logs_of_work(job) if job.is_shell else ())]
    if found and not may_be_array(job):  # this reads files, so it comes last
        yield from found


def _logs_of_job(job: Job, array: bool = False) -> Iterator[Finding]:
    """The finding on logs without an id; of an array on those that differ between its tasks only by their indexes."""
    own = _OWN - {"a"} if array else _OWN
    if job.request.has_option("open-mode"):
        return  # appended, or overwritten on purpose
    found: list[Setting] = []
    for setting, path in plain_paths(job, "output", "error"):
        if path.endswith("/"):
            continue
        letters = {use.letter for use in patterns.found(path)}
        if "x" in letters and not job.request.has_option("job-name"):
            return  # the name may come from the command line, a different one each time
        if own & letters or array and "a" not in letters or _is_read(job, path):
            return  # one of the two logs is kept for every run, or these very names are needed
        found.append(setting)
    if not found:
        return
    first = found[0]
    texts = [each.text or "" for each in found]
    if array:
        instead = [re.sub(r"(%[0-9]*a)", r"%A_\1", text, count=1) for text in texts]
    else:
        instead = [with_part(text.replace("\\", ""), "%j", "-") for text in texts]
    edits = [replacement(job.directives, each, text) for each, text in zip(found, instead, strict=True)]
    runs = f"every run of this {'array' if array else 'job'}"
    if any(use.letter in _OF_NODE for use in patterns.found(first.text or "")):
        runs = "every run on the same node"
    names, new = dict.fromkeys(f"`{each.text}`" for each in found), dict.fromkeys(f"`{each}`" for each in instead)
    logs = "the previous logs" if len(names) > 1 else "the previous log"
    short = dict.fromkeys(f"`{shortened(each)}`" for each in instead)
    line = job.line(found[-1].span.start)
    both = f" here and on line {line}" if len(found) > len(new) and line != job.line(first.span.start) else ""
    messages = [
        f"{runs} overwrites {' and '.join(names)}; write {' and '.join(new)}{both}",
        f"{runs} overwrites {logs}; write {' and '.join(new)}{both}",
        f"{runs} overwrites {logs}; write {' and '.join(short)}{both}",
        f"{runs} overwrites {logs}; put `{'%A' if array else '%j'}` into the name{'s' * (len(names) > 1)}{both}",
    ]
    yield Finding(
        first.value_place,
        next((each for each in messages if len(each) <= MOST), messages[-1]),
        fix=Fix(f"write {instead[0]}", edits, safe=False),
    )


def _is_read(job: Job, path: str) -> bool:
    """Whether the script names the log elsewhere, or removes files with that name."""
    name = posixpath.basename(path)
    for command in by_program(job).get("rm", ()):
        if any(fits(name, posixpath.basename(word)) for word in command.words[1:] if word[:1] != "-"):
            return True
    lines = [line for line in job.source.text.splitlines() if name in line and not line.startswith("#SBATCH")]
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line) for line in lines)


def _keeps_every_log(job: Job) -> bool:
    """Whether Slurm's own log of each run is kept: it is appended to, or its name has an id, as the default has."""
    if job.request.value("open-mode") in ("append", "a"):
        return True
    setting = job.request.setting("output")
    path = None if setting is None else setting.text
    return setting is None or path is not None and any(use.letter in _OWN for use in patterns.found(path))


def _logs_of_work(job: Job) -> Iterator[Finding]:
    keeps = _keeps_every_log(job)
    for run in job.pipelines if "tee" in by_program(job) else ():
        if len(run.elements) < 2:
            continue
        command = next((each for each in run.elements[-1] if each.name == "tee" and not each.kind), None)
        before = [each for element in run.elements[:-1] for each in element]
        if command is None or not any(weight(job, each) >= Weight.PROGRAM for each in before):
            continue
        together = command.context.background is not None  # Slurm's log has the lines of all of them
        if keeps and not together and not any(each.fd in (None, "1") for each in command.redirects):
            continue  # what tee passes on
        if any(word[:1] == "-" for word in command.words[1:]) or command.context.may_repeat:
            continue
        for field in command.argv[1:]:
            word = shown_text(field)
            if word.startswith("/dev/") or not {each.name for each in expansions(field)} <= _FIXED:
                continue
            if not is_at_one_place(job, command, field):
                continue
            name = word.rpartition("/")[2]
            if UNKNOWN_CHARACTER in name or classify(field, job.site).private:
                continue
            fix = None
            where = place_before_suffix(field, job.source.text)
            if where is not None and job.source.text.count(name) == 1:
                fix = Fix("add the job ID to the name", [insert(where, "-${SLURM_JOB_ID}")], safe=False)
            place = field[-1].span
            yield Finding(
                command.name_span if "\n" in job.source.slice(place) else place,  # a value of a loop above
                f"every run of this job overwrites `{name}`; add `$SLURM_JOB_ID` to the name",
                fix=fix,
            )
            return


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --output=«train.log»\n#SBATCH --error=train.err\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --output=train-%j.log\n#SBATCH --error=train-%j.err\nsrun ./a.out\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -o logs/%x-%j.out\nsrun ./a | tee «a.log» >/dev/null\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -o logs/%x-%j.out\nsrun ./a | tee a-${SLURM_JOB_ID}.log >/dev/null\n",
        title="by tee",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -o logs/%x-%j.out\nsrun python a.py |& tee a.log\n",
        title="Slurm's own log has the same text, and is kept",
    ),
    Good("#!/bin/bash\n#SBATCH --output=%x-%j.log\nsrun python a.py 2>&1 | tee a-$SLURM_JOB_ID.log > /dev/null\n"),
    Good("#!/bin/bash\n#SBATCH --output=train.log --open-mode=append\nsrun ./a.out\n", title="appended"),
    Good("#!/bin/bash\n#SBATCH --output=train.log --open-mode=truncate\nsrun ./a.out\n", title="on purpose"),
    Good("#!/bin/bash\n#SBATCH --time=5\nsrun ./a | tee -a a.log > /dev/null\n", title="Slurm's own name; appended"),
    Good("#!/bin/bash\n#SBATCH --output=train.log\nsrun ./a.out\ngrep loss train.log\n", title="it is wanted"),
]
