"""Python ends with an error: `-m` takes the name of a module, and gets that of a file.

`python -m train.py` imports the module `train` and then looks for `py` in it: `Error while finding module specification
for 'train.py' (ModuleNotFoundError: __path__ attribute not found on 'train' while trying to find 'train.py')`. What
stands under `if __name__ == "__main__":` never runs. With a folder, as in `python -m scripts/train`, it is `No module
named scripts/train`. The same holds for `torchrun -m`.

A warning where the file lies beside the script and has no such condition: it does its work when it is imported, and
only the state of the job is that of a failure.

## Fix

Writes the module: `train`, `scripts.train`. Unsafe: with `-m`, Python looks for modules in the working folder, and not
in that of the file.

## References

https://docs.python.org/3/using/cmdline.html#cmdoption-m; run with Python 3.11
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.launchers import python_of
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB457", "module-named-as-file", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("python*", "pypy*", "torchrun"), seen="a public script, run with Python 3.11",
)  # fmt: skip

_FILE = Regex(r"(?:[\w-]+[./])*[\w-]+\.py|(?:[\w-]+/)+[\w-]+")
_MOST_BYTES = 1 << 20
_WITH_MODULE = frozenset({"-m", "--module"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    target = _module(command)
    text = text_of(target) if target is not None else None
    if target is None or text is None or not _FILE.fullmatch(text):
        return
    if lookups.is_folder(text.replace(".", "/")) or lookups.exists(text.replace(".", "/") + ".py"):
        return  # a package with a module `py`
    meant = text.removesuffix(".py").replace("/", ".")
    span = span_of(target)
    written = job.source.slice(span) if command.span.contains(span) else ""
    yield Finding(
        span,
        f"`-m` takes a module, and `{text}` is a file, so Python ends with an error; write `-m {meant}`, or the file "
        "without `-m`",
        "warning" if depends_on_test(command) or _runs_when_imported(job, command, target) else None,
        fix=Fix(f"write {meant}", [replace(span, meant)]) if written == text else None,
    )


def _runs_when_imported(job: Job, command: Invocation, target: Pieces) -> bool:
    """Whether the file lies beside the script and does all of its work when it is imported, before the error."""
    path = job.beside.path(command, target)
    data = None if path is None else lookups.read(path, _MOST_BYTES)
    return data is not None and len(data) < _MOST_BYTES and b"__main__" not in data


def _module(command: Invocation) -> Pieces | None:
    """The word that names the module that a command runs; None where it runs none."""
    python = python_of(command)
    if python is not None:
        return python.target if python.kind == "module" else None
    words = command.words
    at = next((number for number, word in enumerate(words) if word in _WITH_MODULE), None)
    if command.name != "torchrun" or at is None or any(each[:1] != "-" and "=" not in each for each in words[1:at]):
        return None
    return command.argv[at + 1] if at + 1 < len(words) else None


CASES = [
    Bad(
        "#!/bin/bash\n#SBATCH --gpus=1\npython -m «train.py» --epochs 10\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --gpus=1\npython -m train --epochs 10\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --gpus=1\nsrun python -u -m «scripts/train.py»\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --gpus=1\nsrun python -u -m scripts.train\n",
        title="a folder",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node=4 -m «lib.train.py»\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node=4 -m lib.train\n",
        title="torchrun",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --gpus=1\npython -m «fit.py»\n",
        files={"fit.py": "import model\n\nmodel.fit()\n"},
        unsafe_fixed="#!/bin/bash\n#SBATCH --gpus=1\npython -m fit\n",
        severity="warning",
        title="a file that works when it is imported",
    ),
    Good("#!/bin/bash\n#SBATCH --gpus=1\npython -m lib.train --epochs 10\n"),
    Good("#!/bin/bash\n#SBATCH --gpus=1\npython -m pytest tests/test_all.py\n", title="an argument of the module"),
    Good("#!/bin/bash\npython -m lib.py\n#SBATCH -c 2\n", files={"lib/py.py": "print(1)\n"}, title="a module named py"),
]
