"""A shortened option breaks once Slurm adds another that begins the same way.

sbatch reads `--out=x.log` as `--output`, as long as no other option begins with `out`. `--cons` (for `--constraint`)
worked until 25.11 brought `--consolidate-segments`: `sbatch: option '--cons=a' is ambiguous`, and nothing is submitted.
Options of plugins count too. Some beginnings are not read as anyone would expect: `--tasks=4` is `--ntasks-per-node=4`,
`--cores=4` is `--cores-per-socket=4`. A letter with two dashes (`--t=10`) begins many names. Advice where the job is
the same: `--tasks=4` beside `--nodes=1`.

An error where a release refuses the name, or reads it as a different option from what was meant; a warning where two
releases read different options; otherwise advice.

## Fix

Writes the name in full. Safe where all releases that accept the beginning read it as that option; a guess, and so
unsafe, where another option may have been meant.

## References

getopt_long(3); `common_options[]` in src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from collections.abc import Collection, Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.lines import Token
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.options import Option, matches, table
from sbatchlint.triggers import Problems, Written

CARD = Card(
    "SB112", "abbreviated-option", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Problems("ambiguous-option") | Written("short"),
)  # fmt: skip

# Beginnings that sbatch does not read as the option that anyone would expect, with that option.
MISLEADING = {
    "acct": "account",
    "clust": "clusters",
    "cores": "cpus-per-task",
    "cpu": "cpus-per-task",
    "cpus": "cpus-per-task",
    "task": "ntasks",
    "tasks": "ntasks",
    "threads": "cpus-per-task",
}


def check_options(job: Job, block: Directives) -> Iterator[Finding]:
    text, command = block.text, block.command
    for written, token in _shortened(block):
        found = {version: matches(written[2:], command, version) for version in job.versions.majors}
        if not all(found.values()):
            continue  # some releases do not have the option: option-too-new or removed-option report it
        start = text.span(token.start, token.end).start
        span = Span(start, start + len(written))
        message, severity, name, safe = _explain(job, command, written, found)
        if severity == "error" and name == "ntasks" and _is_on_one_node(block, token):
            severity = "info"
        fix = None
        if name and job.source.slice(span) == written:
            fix = Fix(f"write --{name}", [replace(span, f"--{name}")], safe=safe)
        ambiguous = [version for version, options in found.items() if len(options) > 1]
        yield Finding(span, message, severity, fix=fix, versions=ambiguous or None)


def _shortened(block: Directives) -> Iterator[tuple[str, Token]]:
    """Long options that are not written in full, in order; those of plugins are only known in full."""
    found: dict[int, tuple[str, Token]] = {}
    oldest = table(block.command, block.versions.first).names
    for setting in block.settings:
        if setting.plugin is None and setting.written[:2] == "--" and not _is_full(block, setting, oldest):
            found[setting.token.start] = setting.written, setting.token
    for problem in block.problems:
        if problem.kind == "ambiguous-option" and problem.token is not None:
            found[problem.token.start] = problem.written, problem.token
    for start in sorted(found):
        yield found[start]


def _is_on_one_node(block: Directives, token: Token) -> bool:
    """Whether tasks per node equal the total: on one node, where a single task runs in any case."""
    tasks = next((each for each in block.settings if each.token is token), None)
    if tasks is None or block.last("ntasks", tasks.component) is not None:
        return False
    nodes = block.last("nodes", tasks.component)
    return tasks.text == "1" if nodes is None else nodes.text == "1"


def _is_full(block: Directives, setting: Setting, oldest: Collection[str]) -> bool:
    """Whether an option is written in full for all releases that know it.

    Where only newer releases have it, older ones may have read it as the beginning of a longer name.
    """
    name = setting.written[2:]
    if setting.option is None or setting.option.name != name:
        return False
    if name in oldest:
        return True
    readings = [matches(name, block.command, version) for version in block.versions.majors]
    return all(len(options) != 1 or options[0].name == name for options in readings)


def _explain(job: Job, command: str, written: str, found: dict[str, list[Option]]) -> tuple[str, str, str, bool]:
    """The message and its severity, the name to write ('' for none), and whether it is certain to be what was meant.

    `found`: the options that each release may read it as.
    """
    first_read = {options[0].canonical: version for version, options in reversed(found.items()) if len(options) == 1}
    meanings = list(reversed(first_read))  # oldest first
    ambiguous = [version for version, options in found.items() if len(options) > 1]
    candidates = [option.name for option in found[ambiguous[-1]]] if ambiguous else []
    shown = [*(f"--{name}" for name in candidates[:4]), *(["others"] if len(candidates) > 4 else [])]
    names = " or ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
    likely = MISLEADING.get(written[2:], "")
    letter = table(command, job.versions.last).letters.get(written[2:]) if ambiguous else None
    if letter is not None:
        likely = letter.canonical  # `--t` for `-t`
    refused = f"{command} refuses {written}{job.versions.suffix(ambiguous)}: it may mean {names}"
    if not meanings:
        plural = f"{written[2:]}s"
        name = likely or (plural if plural in candidates else "")
        advice = f"--{likely} if you mean that" if likely else "the name in full"
        return f"{refused}; write {advice}", "error", name, False
    if len(meanings) > 1:
        older, newer = meanings[0], meanings[-1]
        message = f"{written} means --{older} before Slurm {first_read[newer]}, and --{newer} from then on"
        return f"{message}; write the full name of the one you want", "warning", "", False
    full = meanings[0]
    if ambiguous:
        return f"{refused}; write --{full}", "error", likely or full, likely in ("", full)
    if likely not in ("", full):
        message = f"{command} reads {written} as --{full}, not as --{likely}; write the full name of the one you want"
        return message, "error", likely, False
    until = f"until Slurm adds another option that starts with {written}"
    message = f"{written} means --{full} only {until}; write --{full}"
    return message, "info", full, True


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--out»=x.log «--license»=matlab
        srun ./a.out
        """,
        fixed={"--out=x.log --license=matlab": "--output=x.log --licenses=matlab"},
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2
        #SBATCH «--gpu»=2
        srun ./a.out
        """,
        unsafe_fixed={"--gpu=2": "--gpus=2"},
        title="the beginning of several options",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--cons»=a100
        srun ./a.out
        """,
        fixed={"--cons=a100": "--constraint=a100"},
        severity="warning",
        title="of several in newer releases",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--extra»=2:8\nsrun ./a.out\n",
        severity="warning",
        title="another option in newer releases",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--tasks»=4
        srun ./a.out
        """,
        unsafe_fixed={"--tasks=4": "--ntasks=4"},
        title="not what it looks like",
    ),
    Good("#!/bin/bash\n#SBATCH --tasks-per-node=8 --cluster=c1 -o x.log\nsrun ./a.out\n", title="second spellings"),
    Good("#!/bin/bash\n#SBATCH --extra=2:8\nsrun ./a.out\n", settings={"slurm-version": "24.05"}),
]
