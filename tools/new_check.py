"""Begins a check: writes checks/sbNNN_name.py and tests/cases/NAME.md, with FILL IN where something is to be written.

    python tools/new_check.py --list Commands pip uv
    python tools/new_check.py SB6xx pip-cache-on-node Commands pip uv
    python tools/new_check.py SB717 log-never-flushed

The code says to which group the check belongs (`sbatchlint checks` lists them); of SB6xx it takes the next free number.
What the check looks at may follow the name: a trigger of docs/job.md and its words. The checks that look at the same
are listed; perhaps one of them is the place for it, or an example. `--list` lists them and writes nothing.
CONTRIBUTING.md tells how to go on. The tests of the check fail until nothing is left to fill in.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sbatchlint import __version__, triggers  # noqa: E402
from sbatchlint.card_index import card_index  # noqa: E402
from sbatchlint.registry import GROUPS, registry  # noqa: E402
from sbatchlint.source.numbers import parse_integer  # noqa: E402
from sbatchlint.triggers import Trigger, is_like  # noqa: E402

CHECK = '''\
"""FILL IN: one sentence that says what is wrong.

FILL IN: why it hurts. What does the user see when it bites, and when?

## Fix

FILL IN: what the fix writes, and why it is safe or is not; without one, what to do by hand.

## References

FILL IN: where the facts come from: a manual page, a source file with its release, a thread.
"""

from collections.abc import Iterator

{imports}

CARD = Card(
    "{code}", "{name}", severity="warning", fix="never", since="{version}",{when}
    seen="FILL IN what it is known from, while no real script has set it off",
)  # fmt: skip


{function}
    # FILL IN: docs/job.md lists what may be asked; `python tools/show_job.py SCRIPT` shows a job with its values.
{body}


CASES = [
    Bad(
        """\\
        #!/bin/bash
        #SBATCH --nodes=2
        «FILL IN»
        """
    ),
    Good("#!/bin/bash\\n#SBATCH --nodes=2\\nFILL IN\\n", title="FILL IN why it is right"),
]
'''

FINDING = 'yield Finding({place}, "FILL IN what happens; what to write instead")'
# By the function that a trigger asks: what it is given, where that is defined, and how the function may begin.
FORMS = {
    "check_command": (
        "command: Invocation",
        "from sbatchlint.bash.trace import Invocation",
        ['if "FILL IN" in command.words:', f"    {FINDING.format(place='command.name_span')}"],
    ),
    "check_step": ("step: Step", "from sbatchlint.job.steps import Step", [FINDING.format(place="step.place")]),
    "check_launch": (
        "launch: Launch", "from sbatchlint.job import Launch", [FINDING.format(place="launch.launcher.span")],
    ),
    "check_options": (
        "block: Directives",
        "from sbatchlint.slurm.directives import Directives",
        ["for setting in block.settings:", f"    {FINDING.format(place='setting.span')}"],
    ),
}  # fmt: skip
PLAIN = ["for step in job.steps:", f"    {FINDING.format(place='step.place')}"]

TRAPS = """\
# {name}

## Bad: FILL IN what is special about this one

```bash
#!/bin/bash
#SBATCH --nodes=2
«FILL IN»
```

## Good: FILL IN what only looks like the fault

```bash
#!/bin/bash
#SBATCH --nodes=2
FILL IN
```
"""


def objection(code: str, name: str) -> str:
    """Why there can be no check of this code and name; empty where there can."""
    known = registry()
    groups = ", ".join(f"{group.prefix}xx {group.name}" for group in GROUPS)
    if not re.fullmatch(r"SB\d{3}", code) or not any(code.startswith(group.prefix) for group in GROUPS):
        return f"'{code}' is no code: SB and three digits, of one of the groups {groups}"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or re.fullmatch(r"sb\d+|all", name):
        return f"'{name}' is no name: words of small letters and digits, with a - between them"
    if any(name == group.name for group in GROUPS):
        return f"'{name}' is the name of a group"
    for key in (code, name):
        entry = known.find(key)
        if entry is not None:
            return f"there is {entry.code} {entry.name} already"
    return ""


def trigger_of(words: list[str]) -> Trigger | None:
    """The trigger that words name, such as `Commands pip`; None for no words. Raises ValueError if there is none."""
    if not words:
        return None
    kinds = {kind.__name__: kind for kind in Trigger.__subclasses__() if kind is not triggers.AnyOf}
    kind = kinds.get(words[0])
    if kind is None:
        raise ValueError(f"'{words[0]}' is not a trigger: docs/job.md lists them")
    trigger: Trigger = kind(*words[1:])
    return trigger


def numbered(code: str) -> str:
    """The next free code of a group that is written `SB6xx`; any other code as it is."""
    if not re.fullmatch(r"SB\dxx", code):
        return code
    used = {entry.code for entry in registry().entries}
    last = max((each for each in used if each.startswith(code[:3])), default=f"{code[:3]}00")
    return f"SB{parse_integer(last[2:]) + 1}"


def looking_at_the_same(trigger: Trigger) -> list[str]:
    """The checks whose cards have a trigger of the same class, and a word in common where both have any."""
    index = card_index().triggers
    found = []
    for entry in registry().entries:
        for part in index[entry.module].parts if entry.module in index else ():
            pairs = [(own, other) for own in trigger.words for other in part.words]
            common = any(own == other or is_like(own, other) or is_like(other, own) for own, other in pairs)
            if type(part) is type(trigger) and (common or not trigger.words):
                found.append(f"{entry.code} {entry.name}: {part!r}")
    return found


def naming(words: list[str]) -> list[str]:
    """The checks whose page has one of the words: what a check looks for may stand in no trigger."""
    if not words:
        return []
    named = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])")
    pages = {entry: ROOT / "docs" / "checks" / f"{entry.name}.md" for entry in registry().entries}
    return [
        f"{entry.code} {entry.name}"
        for entry, page in pages.items()
        if page.exists() and named.search(page.read_text(encoding="utf-8"))
    ]


def begun(code: str, name: str, trigger: Trigger | None) -> str:
    """The file of a check that is asked for each thing that its trigger finds, or else for the job."""
    argument, *imports, body = FORMS.get(trigger.asks if trigger is not None else "", ("", PLAIN))
    imports += ["from sbatchlint.check import Bad, Card, Finding, Good, Job"]
    if trigger is not None:
        imports.append(f"from sbatchlint.triggers import {type(trigger).__name__}")
    function = trigger.asks if trigger is not None and argument else "check"
    return CHECK.format(
        code=code,
        name=name,
        version=__version__,
        imports="\n".join(imports),
        when="" if trigger is None else f"\n    when={trigger!r},",
        function=f"def {function}(job: Job{argument and ', ' + argument}) -> Iterator[Finding]:",
        body="\n".join(f"    {line}" for line in body),
    )


def main(arguments: list[str]) -> int:
    listed = arguments[:1] == ["--list"]
    if len(arguments) < 2 or arguments[0].startswith("-") and not listed:
        print(__doc__)
        return 2
    code, name, *words = arguments if not listed else ["", "", *arguments[1:]]
    code = numbered(code)
    wrong, trigger = "" if listed else objection(code, name), None
    try:
        trigger = trigger_of(words)
    except ValueError as error:
        wrong = wrong or str(error)
    files = {
        ROOT / "checks" / f"{code.lower()}_{name.replace('-', '_')}.py": begun(code, name, trigger),
        ROOT / "tests" / "cases" / f"{name}.md": TRAPS.format(name=name),
    }
    if not wrong and not listed:
        wrong = "; ".join(f"{path.relative_to(ROOT)} exists" for path in files if path.exists())
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    for path, text in files.items() if not listed else ():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    same = looking_at_the_same(trigger) if trigger is not None else []
    if same:
        print("These look at the same:", *same, sep="\n  ")
    elif listed:
        print("No check looks at the same.")
    if listed:
        others = [each for each in naming(words[1:]) if not any(line.startswith(f"{each}:") for line in same)]
        if others:
            print(f"The pages of these name {' or '.join(words[1:])}:", *others, sep="\n  ")
        return 0
    print(f"Fill them in, then run: python -m pytest tests/test_checks.py -k {code}; python tools/generate_docs.py")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
