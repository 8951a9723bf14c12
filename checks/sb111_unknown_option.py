"""sbatch refuses the script: it does not know an option.

`sbatch: unrecognized option '--gpu-per-node=8'`: nothing is submitted. Common causes are `_` for `-`, a missing letter,
and the names of other schedulers (`--walltime`, `--queue`).

Plugins of a site add options of their own. Many of them are known (pyxis, uenv, shifter, EAR, auks and others); a name
that resembles none of Slurm's is only advice, as your site may have it. List such options under `plugin-options`, or
let sbatch list them: `sbatch --help > sbatch-help.txt` on the cluster, and `plugin-options-from = "sbatch-help.txt"`.
Then every other one is an error. Options of srun are reported by step-option-in-directive, those of older or newer
releases by removed-option and option-too-new, the beginnings of several by abbreviated-option.

## Fix

Writes the option that was probably meant. Safe where only the case or `_` for `-` differs; a guess, and so unsafe,
otherwise.

## References

sbatch(1), spank(7); `common_options[]` in src/common/slurm_opt.c and `spank_option_table_create()` in
src/common/spank.c, Slurm 20.11 to 26.05.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from sbatchlint.analysis.directives.unknown_options import is_plausible, unknown_options
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.job.once import once
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.slurm.getopt import site_names
from sbatchlint.slurm.model import Problem
from sbatchlint.slurm.options import plugin_options, table
from sbatchlint.triggers import Problems, Written

# A name with a value right after it: `--account<project>`, `--mem4G`.
_GLUED = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?=[<\[{\"'\d$/])")
_WRITTEN_VALUE = re.compile(r"=([\"']?)[^\s#'\"`]{1,20}\1(?=\s|\Z)")
# A word after an option that may be its value.
_VALUE = re.compile(r"[ \t]+([^\s#-]\S*)")

CARD = Card(
    "SB111", "unknown-option", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("unknown-option") | Written("plugin"),
)  # fmt: skip

# Names of the same thing in PBS, Grid Engine, LSF, Torque, other commands of Slurm, and launchers.
_OTHER_NAMES = {
    "account": "account-name allocation project",
    "array": "array-spec",
    "chdir": "cwd work-dir working-dir working-directory",
    "constraint": "feature features",
    "cpus-per-gpu": "cpu-per-gpu",
    "cpus-per-task": "cores-per-task cpu-per-task cpus-task ncpus ncpus-per-task",
    "dependency": "depend dependencies",
    "error": "err-file errfile error-file std-err stderr",
    "exclude": "exclude-nodes",
    "export": "env export-env",
    "gpus": "ngpus num-gpus",
    "gpus-per-node": "gpu-per-node ngpus-per-node",
    "gpus-per-task": "gpu-per-task",
    "input": "stdin",
    "job-name": "jobname name",
    "licenses": "licence licences",
    "mail-type": "email-type mail-events",
    "mail-user": "email email-user mail mail-address",
    "mem": "mem-node mem-per-node memory memory-per-node ram",
    "mem-per-cpu": "mem-cpu mem-per-core memory-per-cpu",
    "mem-per-gpu": "mem-gpu memory-per-gpu",
    "nodelist": "hosts include node-list nodes-list",
    "nodes": "nnode nnodes num-nodes",
    "ntasks": "nproc nprocs num-tasks processes",
    "ntasks-per-node": "nproc-per-node nprocs-per-node procs-per-node",
    "output": "log log-file logfile out-file outfile output-file std-out stdout",
    "partition": "queue",
    "qos": "qos-name qosname",
    "requeue": "rerun",
    "reservation": "reserve",
    "time": "duration max-time runtime time-limit timelimit wall-time walltime",
}
SYNONYMS = {name: option for option, names in _OTHER_NAMES.items() for name in names.split()}

# What exists only for another unit.
_PER_TASK = dict.fromkeys(
    ("mem-per-task", "mem-per-job", "memory-per-task"), "memory is requested per node (--mem), per CPU or per GPU"
)

# Parts of names that say the opposite of each other: `--time-max` is not a misspelled `--time-min`.
OPPOSITES = (("min", "max"), ("in", "ex"), ("in", "out"), ("no-", ""))

# First words of options in many plugins.
COMMON = ("no", "disable", "enable", "add", "auto", "power")


def check(job: Job) -> Iterator[Finding]:
    if job.source.path.endswith(".swb"):
        return  # for swbatch, a wrapper with options of its own
    plugins: set[str] = set()  # a site that has one line of them has the others
    for block, problem, commands in unknown_options(job):
        if block.command not in commands and not (block.command != "salloc" and {"srun", "sbatch"} & commands.keys()):
            finding = _finding(job, block, problem, commands)
            if finding.severity is not None and problem.name in plugins:
                continue
            if finding.severity is not None:
                plugins.add(problem.name)
            yield finding
    yield from _unlisted(job)


def _finding(job: Job, block: Directives, problem: Problem, commands: Mapping[str, tuple[str, ...]]) -> Finding:
    written, span = problem.written, problem.span
    if job.source.slice(span).startswith(written):
        span = Span(span.start, span.start + len(written))
    happens = "refuses the script" if block is job.directives else "fails"
    failure = f"{block.command} has no option {written} and {happens}"
    guess = _meant(job, block.command, written)
    if guess is not None:
        name, replaced, certain = guess
        instead = f"--{name}=" if written[replaced - 1] == ":" else f"--{name}"
        fix = None
        if _fits_value(job, block.command, problem, instead) and span.end - span.start == len(written):
            fix = Fix(f"write --{name}", [replace(Span(span.start, span.start + replaced), instead)], safe=certain)
        meant = f"{instead}{written[replaced:]}"
        if certain or SYNONYMS.get(_folded(written)) == name:  # not only similar letters
            follows = _WRITTEN_VALUE.match(job.source.text, span.start + len(written))
            return Finding(span, f"{failure}; write `{meant}{follows[0] if follows is not None else ''}`", fix=fix)
        return Finding(span, f"{failure}; did you mean {meant}?", fix=fix)
    glued = _GLUED.match(written)
    if glued is not None and glued[1] in _names(job, block.command):
        value = written[glued.end() :]
        fix = Fix("write `=` before the value", [insert(span.start + glued.end(), "=")])
        fits = span.end - span.start == len(written)
        return Finding(span, f"{failure}; write `=` before the value: --{glued[1]}={value}", fix=fix if fits else None)
    slip = _other_case(job, block, problem)
    if slip is not None:
        fix = Fix(f"write {slip}", [replace(span, slip)], safe=False) if span.end - span.start == len(written) else None
        return Finding(span, f"{failure}; did you mean {slip}?", fix=fix)
    near = _nearest(_folded(written), _all_names(job, block.command)) if written.startswith("--") else ()
    if near:
        return Finding(span, f"{failure}; did you mean {' or '.join(f'--{name}' for name in near)}?")
    if commands:
        other = next(iter(commands))
        return Finding(span, f"{failure} ({other} has one); {_removal(job, block, span)}")
    if job.site.plugins_listed:
        return Finding(span, f"{failure}, not from a plugin of your site either; remove it")
    if not problem.name.strip("-"):
        return Finding(span, f"{failure}; remove it, or put a space after the `#` of a comment")
    if not is_plausible(written):
        # A plugin cannot add a letter, nor a name that begins with a dash.
        advice = _removal(job, block, span)
        if written[:3] == "---":
            advice = f"write --{problem.name}, with two dashes"
        elif problem.name in _PER_TASK:
            advice = _PER_TASK[problem.name]
        elif written[:2] == "--":
            advice = "remove it, or list it in sbatchlint's `plugin-options` if a plugin adds it"
        return Finding(span, f"{failure}; {advice}")
    plugin = _similar_plugin(problem.name)
    source = f"the {plugin} plugin" if plugin else "a plugin of your site"
    message = (
        f"{block.command} refuses {written} unless {source} adds it; if so, list it in sbatchlint's `plugin-options`"
    )
    return Finding(span, message, "info")


def _other_case(job: Job, block: Directives, problem: Problem) -> str | None:
    """The small letter for a capital that is no option, where the block does not set it: `-P long` for `-p long`."""
    written = problem.written
    if len(written) != 2 or not written[1].isupper():
        return None
    option = table(block.command, job.versions.majors[-1]).letters.get(written[1].swapcase())
    if option is None or option.name not in _names(job, block.command) or block.last(option.name) is not None:
        return None
    return written.swapcase() if _fits_value(job, block.command, problem, f"--{option.name}") else None


def _meant(job: Job, command: str, written: str) -> tuple[str, int, bool] | None:
    """The option that was probably meant, if all releases have it.

    Gives its name, how many characters of the word it replaces, and whether only the case or `_` for `-` differ.
    """
    if not written.startswith("--"):
        return None
    name, newest, names = written[2:], table(command, job.versions.majors[-1]), _names(job, command)
    folded = _folded(written)
    if folded != name and (folded in names or folded in plugin_options()):
        return folded, len(written), True
    head, colon, _ = name.partition(":")
    if colon and head in names:
        return head, len(head) + 3, False
    letter = newest.letters.get(name)
    if letter is not None and letter.name in names:
        return letter.name, len(written), False
    guess = SYNONYMS.get(folded)
    if guess not in names:
        near = _nearest(folded, _all_names(job, command))
        guess = near[0] if len(near) == 1 else None
    return None if guess is None else (guess, len(written), False)


def _folded(written: str) -> str:
    return written[2:].replace("_", "-").lower()


def _all_names(job: Job, command: str) -> tuple[str, ...]:
    return (*_names(job, command), *plugin_options())


@once
def _names(job: Job, command: str) -> list[str]:
    """The options that a command has in all releases."""
    first, *others = [table(command, version).names for version in reversed(job.versions.majors)]
    return [each for each in first if all(each in names for names in others)]


@lru_cache(maxsize=4096)
def _nearest(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The nearest names within two edits (one for short names)."""
    if name.startswith("-"):
        return ()
    limit = 2 if len(name) >= 6 else 1
    best: list[str] = []
    letters = set(name)
    for known in names:
        if len(known) < 3 or len(letters.difference(known)) > limit:
            continue  # each edit adds one letter at most
        distance = edit_distance(name, known)
        if distance > limit:
            continue
        if distance < limit:
            limit, best = distance, []
        best.append(known)
    return () if any(_is_nearer_to_an_opposite(name, known, limit) for known in best) else tuple(best)


def _is_nearer_to_an_opposite(name: str, known: str, distance: int) -> bool:
    """Whether a name resembles the opposite of an option more than the option itself."""
    for pair in OPPOSITES:
        for part, other in (pair, pair[::-1]):
            opposite = known.replace(part, other, 1) if part else other + known
            if opposite != known and edit_distance(name, opposite) < distance:
                return True
    return False


def _fits_value(job: Job, command: str, problem: Problem, instead: str) -> bool:
    """Whether the option that was meant takes the value, or lack of one, after the unknown option."""
    name = instead.strip("-=")
    option = table(command, job.versions.last).names.get(name) or plugin_options()[name]
    argument = option.argument(job.versions.last)
    follows = problem.value_token is not None
    if follows or instead.endswith("=") or problem.token is not None and "=" in problem.token.text:
        return argument == "required" or argument == "optional" and not follows
    return argument != "required"


def _removal(job: Job, block: Directives, span: Span) -> str:
    """The advice to remove an option, with the word after it that would be left alone."""
    value = _VALUE.match(job.source.text, span.end) if block is job.directives else None
    return "remove it" if value is None else f"remove it and `{value[1]}`"


def _similar_plugin(name: str) -> str:
    """The known plugin that has several options with the same first word; '' for none."""
    first = re.split("[-_]", name)[0]
    plugins = [option.plugin or "" for each, option in plugin_options().items() if each.partition("-")[0] == first]
    shared = [plugin for plugin in plugins if plugins.count(plugin) > 1]
    return shared[-1] if shared and first not in COMMON else ""


def _unlisted(job: Job) -> Iterator[Finding]:
    """Findings on options of known plugins that the site's sbatch does not have."""
    settings = [each for each in job.directives.settings if each.plugin not in (None, "site")]
    in_container = any(each.name in ("container-image", "container-name") for each in settings)
    for setting in settings:
        if setting.plugin == "pyxis":
            # Without an image, container-option-in-directive says where the option belongs.
            missing = in_container and job.site.pyxis_in_sbatch is False
        else:
            missing = job.site.plugins_listed and setting.name not in site_names(job.site.plugin_options)
        if missing:
            failure = (
                f"--{setting.name} is an option of the {setting.plugin} plugin, which sbatch of your site does not have"
            )
            advice = "pass it to srun" if setting.plugin == "pyxis" else "remove it"
            yield Finding(setting.option_span, f"sbatch refuses the script: {failure}; {advice}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--ntasks_per_node»=8
        srun ./a.out
        """,
        fixed={"--ntasks_per_node=8": "--ntasks-per-node=8"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--gpu-per-node» 8
        srun ./a.out
        """,
        unsafe_fixed={"--gpu-per-node": "--gpus-per-node"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--walltime»=1:00:00
        srun ./a.out
        """,
        unsafe_fixed={"--walltime=1:00:00": "--time=1:00:00"},
        title="the name of another scheduler",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres:gpu:1»
        srun ./a.out
        """,
        unsafe_fixed={"--gres:gpu:1": "--gres=gpu:1"},
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--tme»=1:00:00\nsrun ./a.out\n",
        title="equally near to two",
    ),
    Bad("#!/bin/bash\n#SBATCH «--mem-per-task»=4G\nsrun ./a.out\n", title="nothing is near enough"),
    Bad(
        "#!/bin/bash\n#SBATCH «--mangohud»=on\nsrun ./a.out\n",
        severity="info",
        title="unlike any option of Slurm: it may be a plugin's",
    ),
    Good("#!/bin/bash\n#SBATCH --out=x.log --part=gpu --tasks-per-node=8\nsrun ./a.out\n", title="abbreviations"),
    Good("#!/bin/bash\n#SBATCH --uenv=prgenv-gnu/24.7:v3 --view=default\nsrun ./a.out\n", title="a plugin's"),
    Good(
        "#!/bin/bash\n#SBATCH --burst --fast-scratch=2\nsrun ./a.out\n",
        settings={"plugin-options": ["burst", "fast-scratch="]},
        title="the site's own",
    ),
]
