"""Begins a check: writes checks/sbNNN_name.py and tests/cases/NAME.md, with FILL IN where something is to be written.

    python tools/new_check.py SB717 log-never-flushed

The code says to which group the check belongs (`sbatchlint checks` lists them). CONTRIBUTING.md tells how to go on. The
tests of the check fail until nothing is left to fill in.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sbatchlint import __version__  # noqa: E402
from sbatchlint.registry import GROUPS, registry  # noqa: E402

CHECK = '''\
"""FILL IN: one sentence that says what is wrong.

FILL IN: why it hurts. What does the user see when it bites, and when?

## Fix

FILL IN: what the fix writes, and why it is safe or is not; without one, what to do by hand.

## References

FILL IN: where the facts come from: a manual page, a source file with its release, a thread.
"""

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job

CARD = Card(
    "{code}", "{name}", severity="warning", fix="never", since="{version}",
    seen="FILL IN what it is known from, while no real script has set it off",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    # FILL IN: docs/job.md lists what may be asked; `python tools/show_job.py SCRIPT` shows a job with its values.
    for step in job.steps:
        yield Finding(step.place, "FILL IN what happens; what to write instead")


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


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    code, name = arguments
    wrong = objection(code, name)
    files = {
        ROOT / "checks" / f"{code.lower()}_{name.replace('-', '_')}.py": CHECK,
        ROOT / "tests" / "cases" / f"{name}.md": TRAPS,
    }
    if not wrong:
        wrong = "; ".join(f"{path.relative_to(ROOT)} exists" for path in files if path.exists())
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    for path, text in files.items():
        path.write_text(text.format(code=code, name=name, version=__version__), encoding="utf-8")
        print(path.relative_to(ROOT))
    print(f"Fill them in, then run: python -m pytest tests/test_checks.py -k {code}; python tools/generate_docs.py")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
