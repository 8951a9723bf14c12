"""srun does not read an option: it comes after the command, which gets it instead.

srun reads options up to the first word that is not one; everything after it belongs to the program. `bash -c "…"
--nodes=2` gives bash the word as `$0` of its string, which nothing reads: the container, the tasks or the GPUs that
were requested there are silently left out. `hostname --ntasks=8` and `torchrun --gres=gpu:8 train.py` end with an error
about an unknown option. A custom program may do either.

## Fix

Moves the options before the command, where srun reads them. Safe where the command cannot have used them: a shell whose
string reads no argument, or a command that refuses them. There is no fix for a custom program.

## References

srun(1); `slurm_option_table_create()` in src/common/slurm_opt.c: the optstring begins with `+`; exit status 2 of
torchrun (torch 2.13) and `accelerate launch` (1.15) for options that they do not know.
"""

from collections.abc import Iterator
from functools import partial
from operator import is_

from sbatchlint.analysis.editing.words import words_of
from sbatchlint.analysis.script.programs import reads_arguments
from sbatchlint.bash.interpreter.programs import SHELLS, shell_arguments
from sbatchlint.bash.syntax.tree import Simple
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, known_prefix, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, remove
from sbatchlint.job.containers import is_pyxis_option
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.slurm import getopt
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card(
    "SB328", "srun-option-after-command", severity="error", fix="sometimes", since="0.1.0",
    when=Steps(), seen="src/common/slurm_opt.c, whose optstring begins with +; a run of torchrun 2.13",
)  # fmt: skip

# Commands that may have such words as ordinary arguments.
ACCEPTING = frozenset({":", ".", "[", "echo", "export", "find", "grep", "module", "printf", "scontrol", "set", "source",
                     "test", "true", "awk", "sed", "env", "ulimit", "unset"})  # fmt: skip
REFUSING = (programs_with("repeatable") - ACCEPTING) | {"numactl", "nvcc", "taskset"}
# Options that hardly any program but srun has.
OF_SRUN = frozenset({
    "ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "cpus-per-task",
    "gpus-per-task", "cpus-per-gpu", "mem-per-cpu", "mem-per-gpu", "cpu-bind", "gpu-bind", "mem-bind",
    "kill-on-bad-exit", "gres", "het-group", "threads-per-core",
})  # fmt: skip
# Options that make no sense for a command that prints something about its node.
OF_SLURM = OF_SRUN | {
    "nodes", "nodelist", "exclude", "gpus", "gpus-per-node", "mem", "mpi", "overlap", "exclusive", "partition",
    "export", "label", "distribution", "unbuffered", "account", "qos",
}  # fmt: skip
# Those of them that programs for files have too: rsync, tar, du.
OF_FILES = frozenset({"exclude", "export", "label", "partition"})
_WITHOUT_VALUE = frozenset({"kill-on-bad-exit", "overlap", "exclusive", "label", "unbuffered"})
# Names of programs that pass such options on to Slurm.
SUBMITTING = Regex(
    r"submit|sbatch|srun|slurm|launch|snakemake|nextflow|sweep|cluster|dask|parsl|nemo|run_?with|container"
)


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    finding = _finding_on_step(job, step)
    if finding is not None:
        yield finding


def _finding_on_step(job: Job, step: Step) -> Finding | None:
    last = None if step.command is None else _last_command(step)
    if last is None or last.name is None:
        return None
    first = len(step.invocation.argv) - len(last.argv)
    if last.name in SHELLS:
        arguments = shell_arguments(last.argv)
        words = [] if arguments is None else _option_words(last, 1, arguments[1], OF_SLURM)
        if words:
            return _refused(job, step, last.name, [first + at for at in words])
        if arguments is None or arguments[0] == "stdin" or last.text is None:
            return None
        return _unread(job, step, first + arguments[1] + 1, last, of_string=arguments[0] == "-c")
    if last.text is not None:  # a script by its own name
        return _unread(job, step, first + 1, last, of_string=False)
    launcher = job.launcher_of(last)
    if launcher is not None:
        if launcher.is_a("joins") and launcher.certain:
            end = len(last.argv) if launcher.program is None else launcher.program
            values = {each.value_at for each in launcher.all_options if each.value_at != each.at}
            words = [at for at in _option_words(last, launcher.index + 1, end, OF_SLURM) if at not in values]
            if words:
                return _refused(job, step, launcher.name, [first + at for at in words])
        return None if launcher.program is None else _custom_program(step, last, launcher.program, first)
    if last.name in REFUSING:
        of_files = any(has_trait(last.name, trait) for trait in ("copies", "packs", "files"))
        words = _option_words(last, 1, len(last.argv), OF_SLURM - OF_FILES if of_files else OF_SLURM)
        return _refused(job, step, last.name, [first + at for at in words]) if words else None
    return _custom_program(step, last, 0, first)


def _last_command(step: Step) -> Invocation | None:
    """The command at the end of srun's words, without what starts it (`env`, `timeout`, a container)."""
    argv = step.invocation.argv
    best: Invocation | None = None
    for command in step.program:
        size = len(command.argv)
        if 0 < size <= len(argv) and (best is None or size < len(best.argv)):
            if command.argv[-1] is argv[-1] and all(map(is_, command.argv, argv[-size:])):
                best = command
    return best


def _option_words(command: Invocation, start: int, end: int, names: frozenset[str]) -> list[int]:
    """Indices of words that are long options with one of these names, or one of pyxis."""
    found = []
    for at, word in enumerate(command.words[start:end], start):
        if word[:2] == "--":
            name = known_prefix(command.argv[at])[2:].partition("=")[0]
            if name in names or is_pyxis_option(name):
                found.append(at)
    return found


# --- which command gets the options ------------------------------------------------------------------


def _refused(job: Job, step: Step, name: str, words: list[int]) -> Finding:
    """The finding on a command that does not know the options."""
    finding = _finding(step, words, _options(step, words), f"`{name}` gets {{it}} and fails")
    return finding._replace(fix=partial(_moved, job, step, words))


def _unread(job: Job, step: Step, start: int, shell: Invocation, of_string: bool) -> Finding | None:
    """The finding on options of srun directly after a string or script that reads no argument."""
    argv = step.invocation.argv
    words = [shown_text(field) for field in argv[start:]]
    if not words or words[0][:1] != "-" or shell.text is None or reads_arguments(job, shell.text):
        return None
    parsed = getopt.parse(words, "srun", job.versions.majors, job.site.plugin_options)
    if not parsed.options or parsed.options[0].word or any(each.word == 0 for each in parsed.problems):
        return None
    if not of_string and not known_prefix(argv[start])[2:].startswith(("no-", *OF_SLURM, "con")):
        return None
    found: list[int] = []
    for option in parsed.options:
        found.append(start + option.word)
        if option.value_word is not None and option.value_word != option.word:
            found.append(start + option.value_word)
    reader = "its string" if of_string else "the script"
    written = [each.written for each in parsed.options]
    finding = _finding(step, found, written, f"`{shell.name}` gets {{it}}, and {reader} uses no arguments")
    return finding._replace(fix=partial(_moved, job, step, found)) if of_string else finding


def _custom_program(step: Step, last: Invocation, after: int, first: int) -> Finding | None:
    """The finding on options after a program that hardly any program has."""
    at_options = _option_words(last, after + 1, len(last.argv), OF_SRUN)
    if not at_options or SUBMITTING.search(" ".join(last.words[after : min(after + 3, at_options[0])]).lower()):
        return None
    found = []
    for at in at_options:
        name, equals, _ = shown_text(last.argv[at])[2:].partition("=")
        value = last.argv[at] if equals else last.argv[at + 1] if at + 1 < len(last.argv) else ()
        from_job = any(each.name.startswith(("SLURM_", "$((")) for each in expansions(value))
        if not from_job and step.option(name) is None:
            found.append(first + at)
    if not found:
        return None
    return _finding(step, found, _options(step, found), f"`{last.name}` gets {{it}}")._replace(severity="warning")


def _options(step: Step, words: list[int]) -> list[str]:
    return [known_prefix(step.invocation.argv[at]).partition("=")[0] for at in words]


def _finding(step: Step, words: list[int], options: list[str], effect: str) -> Finding:
    """The finding on words of an srun, of which some are options and some their values."""
    argv = step.invocation.argv
    spans = [span_of(argv[at]) for at in words]
    names = [f"`{each}`" for each in dict.fromkeys(options)]
    it = "it" if len(names) == 1 else "them"
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    assert step.command is not None
    command = shown_text(argv[step.command]).rpartition("/")[2]
    effect = effect.replace("{it}", it)
    message = f"srun does not read {listed} after its command: {effect}"
    if all(_is_bare(step, at) for at in words):
        message += f", without a value; remove {it}, or move {it} before `{command}` with a value"
    else:
        message += f"; write {it} before `{command}`"
    return Finding(Span(spans[0].start, max(spans[0].end, spans[-1].end)), message)


def _is_bare(step: Step, at: int) -> bool:
    """Whether a word is an option of srun that needs a value, and has none."""
    argv = step.invocation.argv
    name, equals, _ = shown_text(argv[at])[2:].partition("=")
    known = name in OF_SLURM - _WITHOUT_VALUE
    return known and not equals and (at + 1 == len(argv) or known_prefix(argv[at + 1])[:1] == "-")


def _moved(job: Job, step: Step, words: list[int]) -> Fix | None:
    """The fix that moves the last words of a command before the command of srun."""
    argv = step.invocation.argv
    assert step.command is not None
    if job.is_embedded or words != list(range(words[0], len(argv))):
        return None
    names = {known_prefix(argv[at])[2:].partition("=")[0] for at in words}
    if any(_is_bare(step, at) for at in words):
        return None
    if names & step.options.keys() or not step.certain:
        return None
    known = words_of(job)
    starts = [argv[step.command], argv[words[0]]]
    if any(not field or field[0].expansion is not None or field[0].text is None for field in starts):
        return None
    target, first = (known.at(field[0].start) for field in starts)
    if target is None or first is None or target is first:
        return None
    row, other = known.row(first), known.row(target)
    if row is None or other is None or not isinstance(row.owner, Simple) or other.owner is not row.owner:
        return None
    command, index = row.owner, row.at
    if len(command.words) - index != len(words):
        return None
    moved = command.words[index:]
    gap = job.span(command.words[index - 1].end, moved[-1].end)
    if any(gap.start <= job.span(each.start, each.end).start < gap.end for each in command.redirects):
        return None
    text = " ".join(job.source.slice(job.span(each.start, each.end)) for each in moved)
    place = job.span(target.start, target.end).start
    return Fix("move to srun's options", [insert(place, f"{text} "), remove(gap)], safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=img.sqsh bash -c "nvidia-smi && python train.py" «--no-container-mount-home»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=img.sqsh --no-container-mount-home bash -c "nvidia-smi && python train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c '
            hostname
            python train.py
        ' «--container-image="$IMAGE" \\
          -N 2 --ntasks-per-node=1» > out.log
        """,
        fixed={
            "srun bash": 'srun --container-image="$IMAGE" -N 2 --ntasks-per-node=1 bash',
            "' --container-image=\"$IMAGE\" \\\n  -N 2 --ntasks-per-node=1 > out.log": "' > out.log",
        },
        title="several of them, over lines",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=4\nsrun hostname «--ntasks=8»\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=4\nsrun --ntasks=8 hostname\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py «--ntasks-per-node=8» --lr 1e-4\n",
        severity="warning",
        title="hardly an option of the program",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c 'python launch.py \"$@\"' _ --nodes=2\n",
        title="the string reads its arguments",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py --nodes 2 --gpus 8\n", title="the program's own"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 -c 4\nsrun python train.py --cpus-per-task $SLURM_CPUS_PER_TASK\n",
        title="the program is told what the job has",
    ),
]
