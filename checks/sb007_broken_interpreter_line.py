"""The job ends at once: the interpreter on the first line cannot be started.

sbatch looks only at these two characters. On the node the kernel reads the line: up to the first space it is the path
of a program, and the rest is one single argument, spaces, comments and all. So `#!/bin/bash -l -e` hands bash the
option `-l -e`, `#!/bin/bash # train` makes it look for a file `# train`, and `#!/usr/bin/env bash -l` looks for a
program called `bash -l`. `#!/bin/ bash` is a folder. `#!bash` and `#!~/venv/bin/python` are looked up in the folder in
which the job runs. `#!/bin/Bash` and `#!/usr/bash` do not exist, `#!/usr/bin/env` alone prints the environment, and
`#!/usr/bin/sbatch` submits the script again, and again. The log holds one line (`execve(): …/slurm_script: Permission
denied`, `- : invalid option`), or none.

Not checked: paths that may exist (`#!/opt/site/bin/shell`, `#!./run`), lines that something else fills in, and programs
that read the line themselves, as perl does.

## Fix

Joins the options of a shell (`-le`), names the shell itself instead of `env`, moves a comment to a line of its own, and
corrects a path where only one can be meant. Safe, as no job with that line starts; unsafe where `env -S` is needed,
which GNU coreutils has from 8.30 on.

## References

execve(2), "Interpreter scripts"; load_script() in fs/binfmt_script.c of Linux 5.15 to 6.12; env(1) of coreutils 8.30.
Each line was started by Linux, and in a job of Slurm 22.05.
"""

import re
from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.programs import has_trait
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.source.templates import slots
from sbatchlint.triggers import Shebang

CARD = Card(
    "SB007", "broken-interpreter-line", severity="error", fix="sometimes", since="0.1.0", when=Shebang(),
    seen="threads of users whose jobs ended at once", batch=True,
)  # fmt: skip

# An absolute path, and one argument at most.
VALID = re.compile(r"#![ \t]*/[\w./+@:-]*[\w+](?:[ \t]+[^\s#]\S*)?[ \t]*")
PYTHON = re.compile(r"python[\d.]*")
# Characters that never occur in the name of an interpreter.
INVALID_CHARACTERS = re.compile(r"[*?;,\"'`&|<>(){}\\$]+")
# Beginnings of paths that lack only their leading `/`.
ROOT_FOLDERS = ("bin/", "usr/", "opt/", "home/")


def check(job: Job) -> Iterator[Finding]:
    line = job.text.string.partition("\n")[0]
    if not line.startswith("#!") or VALID.fullmatch(line) and _missing(*_read(line.rstrip())) is None:
        return
    if job.is_wrapped or UNKNOWN in line or any(slots(line)):
        return
    line = line.rstrip()
    path, argument = _read(line)
    fault = _fault(path, argument)
    if fault is None:
        return
    happens = fault if "sbatch" in path else f"the job ends at once: {fault}"
    repaired, safe = _repaired(path, argument)
    span = job.span(0, len(line))
    if repaired is None:
        yield Finding(span, f"{happens}; write {_advice(path, argument)}")
        return
    first = repaired.partition("\n")[0]
    fix = Fix(f"write {first}", [Edit(span, repaired)], safe=safe)
    yield Finding(span, f"{happens}; write {first}", fix=fix)


def _read(line: str) -> tuple[str, str]:
    """The path and the argument, as the kernel reads them."""
    path, *argument = line[2:].strip(" \t").replace("\t", " ").split(" ", 1)
    return path, argument[0].strip(" ") if argument else ""


def _missing(path: str, argument: str) -> str | None:
    """Why a well-formed line starts no shell; None where it may."""
    folder, _, name = path.rpartition("/")
    if name == "sbatch":
        return "with sbatch as its interpreter, every job only submits the script again"
    if name != name.lower() and has_trait(name.lower(), "shell") or folder in ("", "/usr") and has_trait(name, "shell"):
        return f"there is no interpreter `{path}`" if path.startswith("/") else None
    if name == "env" and not argument:
        return "env alone prints the environment, and runs nothing"
    return None


def _fault(path: str, argument: str) -> str | None:
    """Why the kernel cannot start the interpreter; None where it can, or may."""
    name = path.rpartition("/")[2]
    missing = _missing(path, argument) if path else None
    if missing is not None:
        return missing
    if not path:
        return "the line names no interpreter"
    if path.endswith("/"):
        return f"`{path}` is a folder, not a program"
    if path.startswith(("~", "$")):
        return f"nothing expands `~` or variables, so there is no `{path}`"
    if INVALID_CHARACTERS.search(name):
        return f"there is no interpreter `{path}`"
    if path.startswith(ROOT_FOLDERS) or "/" not in path and _is_known(name):
        return f"`{path}` does not begin with `/`, so it is searched for in the job's folder"
    if name == "env":
        if " " in argument and not re.match(r"-\w*S|--split-string", argument):
            return f"env looks for one program named `{argument}`"
        return None
    if argument.startswith("#") and _is_known(name):
        return f"{name} looks for a script file named `{argument}`"
    if " " in argument and _is_known(name):
        return f"{name} reads `{argument}` as one unknown option"
    return None


def _is_known(name: str) -> bool:
    return has_trait(name, "shell") or name == "env" or PYTHON.fullmatch(name) is not None


def _repaired(path: str, argument: str) -> tuple[str | None, bool]:
    """The line that was meant, with its comment below (None where unknown), and whether it works everywhere."""
    words = argument.split()
    at = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    words, comment = words[:at], " ".join(words[at:])
    if _missing(path, argument) is not None:
        name = path.rpartition("/")[2].lower()
        path, words = (f"/bin/{name}", words) if has_trait(name, "shell") else ("/bin/bash", [])
        return " ".join([f"#!{path}", *words]) + (f"\n{comment}" if comment else ""), has_trait(name, "shell")
    path = INVALID_CHARACTERS.sub("", path) if not path.startswith(("~", "$")) else path
    if path.endswith("/") and words and _is_known(words[0]):
        path, words = path + words[0], words[1:]
    if path.startswith(ROOT_FOLDERS):
        path = f"/{path}"
    words = [word.rstrip(";,") for word in words]
    safe = True
    name = path.rpartition("/")[2]
    if name == "env" and len(words) > 1 and words[0] in ("bash", "sh"):
        path, words, name = f"/bin/{words[0]}", words[1:], words[0]
    elif name == "env" and len(words) > 1 and _is_known(words[0]):
        path, safe = f"{path} -S", False
    if "/" not in path and name in ("bash", "sh"):
        path = f"/bin/{path}"
    elif "/" not in path and PYTHON.fullmatch(name) and not words:
        path = f"/usr/bin/env {path}"
    if has_trait(name, "shell") and len(words) > 1 and all(re.fullmatch(r"-[a-np-zA-Z]+", word) for word in words):
        words = ["-" + "".join(word[1:] for word in words)]
    line = " ".join([f"#!{path}", *words])
    if not path or _fault(*_read(line)) is not None or not _is_known(name):
        return None, False
    return (f"{line}\n{comment}" if comment else line), safe


def _advice(path: str, argument: str) -> str:
    """Advice where it is not clear what the line should be."""
    name = path.rpartition("/")[2]
    if has_trait(name, "shell") and argument:
        return f"#!{path}, and `set {argument.partition('#')[0].strip()}` below the directives"
    return "its full path, with one argument at most"


CASES = [
    Bad(
        """\
        «#!/bin/ bash»
        #SBATCH --nodes=1
        srun python train.py
        """,
        fixed={"#!/bin/ bash": "#!/bin/bash"},
    ),
    Bad(
        """\
        «#!/bin/bash -l -e»
        #SBATCH --nodes=1
        srun python train.py
        """,
        fixed={"-l -e": "-le"},
    ),
    Bad(
        """\
        «#!/usr/bin/env bash -l»
        #SBATCH --nodes=1
        srun python train.py
        """,
        fixed={"#!/usr/bin/env bash": "#!/bin/bash"},
    ),
    Bad(
        """\
        «#!/bin/bash # train on two nodes»
        #SBATCH --nodes=2
        srun python train.py
        """,
        fixed={"#!/bin/bash # train on two nodes": "#!/bin/bash\n# train on two nodes"},
    ),
    Bad(
        """\
        «#!/usr/bin/env python3 -u»
        #SBATCH --nodes=1
        print("hello")
        """,
        unsafe_fixed={"python3": "-S python3"},
    ),
    Bad("«#!/bin/bash -e -o pipefail»\n#SBATCH --nodes=1\nsrun python train.py\n"),
    Bad("«#!~/venv/bin/python»\n#SBATCH --nodes=1\nprint()\n"),
    Good("#!/usr/bin/env -S bash -l -e\n#SBATCH --nodes=1\nsrun python train.py\n"),
    Good("#!/bin/bash -le\n#SBATCH --nodes=1\nsrun python train.py\n"),
    Good("#! /bin/bash -l \n#SBATCH --nodes=1\nsrun python train.py\n", title="surrounding spaces"),
    Good("#!./venv/bin/python\n#SBATCH --nodes=1\nprint()\n", title="it may be there"),
    Good("#!{{ shell }} -l -e\n#SBATCH --nodes=1\nsrun python train.py\n", title="a template"),
]
